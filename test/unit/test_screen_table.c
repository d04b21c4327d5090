/* Tables that are never wider than the terminal. */
#include "gpu_tracker.h"
#include "support/reports.h"
#include "support/test.h"

static struct gt_table *table_of(struct gt_report *report, const char *name)
{
    struct gt_table *table = gt_report_table(gt_report_root(report), "rows", "Rows");
    gt_table_column(table, "name", name, GT_CELL_TEXT, NULL);
    return table;
}

/* Rows of nothing and columns of nothing are named in a line of their own. */
TEST(test_what_says_nothing_is_folded)
{
    struct gt_report *report = report_of("fold");
    struct gt_table *table = table_of(report, "");
    gt_table_flags(table, GT_KEYED);
    gt_table_column(table, "mean", "mean", GT_CELL_NUMBER, NULL);
    gt_table_column(table, "p95", "p95", GT_CELL_NUMBER, NULL);
    const char *const name[] = {"ram", "swap", "gpu_ram"};
    const double mean[] = {2.5, 0, NAN};
    for (int i = 0; i < 3; i++) {
        gt_table_text(table, name[i]);
        gt_table_number(table, mean[i]);
        gt_table_number(table, NAN);
    }
    gt_report_set_width(report, 40);
    assert_writes(report, "text",
                  "Rows:\n        mean\n   ram   2.5\n   0 or not measured: swap, gpu_ram\n   not measured: p95\n");
    gt_report_set_width(report, 0);
    assert_writes(
        report, "text",
        "Rows:\n            mean  p95\n   ram       2.5  n/a\n   swap      0.0  n/a\n   gpu_ram   n/a  n/a\n");
    gt_report_free(report);
}

static struct gt_report *trace(size_t width)
{
    struct gt_report *report = report_of("trace");
    struct gt_table *table = table_of(report, "node");
    gt_table_column(table, "operator", "operator", GT_CELL_TEXT, NULL);
    gt_table_column(table, "count", "count", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "total", "total time", GT_CELL_NUMBER, "us");
    for (int i = 0; i < 2; i++) {
        gt_table_text(table, "runs/trace.json");
        gt_table_text(table, i ? "aten::threshold_backward" : "aten::mm");
        gt_table_integer(table, i + 1);
        gt_table_number(table, 9.5 - i);
    }
    gt_report_set_width(report, width);
    return report;
}

/* What all rows have in common goes first, then titles take several lines, then texts. */
TEST(test_narrower_and_narrower)
{
    struct gt_report *report = trace(50);
    assert_writes(report, "text",
                  "Rows:\n"
                  "   node: runs/trace.json, in all rows\n"
                  "   operator                  count  total\n"
                  "                                     time\n"
                  "                                     (us)\n"
                  "   aten::mm                      1    9.5\n"
                  "   aten::threshold_backward      2    8.5\n");
    gt_report_set_width(report, 38);
    assert_writes(report, "text",
                  "Rows:\n"
                  "   node: runs/trace.json, in all rows\n"
                  "   operator               count  total\n"
                  "                                  time\n"
                  "                                  (us)\n"
                  "   aten::mm                   1    9.5\n"
                  "   aten::threshold_           2    8.5\n"
                  "   backward\n");
    gt_report_free(report);
}

/* Where no columns fit, rows become paragraphs. */
TEST(test_cards)
{
    struct gt_report *report = trace(24);
    assert_writes(report, "text",
                  "Rows:\n"
                  "   node:\n"
                  "     runs/trace.json, in\n"
                  "     all rows\n"
                  "   aten::mm\n"
                  "      count: 1\n"
                  "      total time (us):\n"
                  "         9.5\n"
                  "   aten::threshold_\n"
                  "     backward\n"
                  "      count: 2\n"
                  "      total time (us):\n"
                  "         8.5\n");
    gt_report_free(report);
}

/* A name of very many lines loses its middle, a sentence nothing. */
/* A name of a function stands behind the other columns, and above them where rows are cards. */
TEST(test_functions_name_cards)
{
    struct gt_report *report;
    assert_int_equal(gt_report_new(&report, "rows", NULL), 0);
    struct gt_table *table = gt_report_table(gt_report_root(report), "rows", "Rows");
    gt_table_column(table, "name", "name", GT_CELL_TEXT, NULL);
    gt_table_column_flags(table, GT_COLUMN_FUNCTION);
    gt_table_column(table, "type", "type", GT_CELL_TEXT, NULL);
    gt_table_column(table, "count", "count", GT_CELL_INTEGER, NULL);
    static const char *const names[] = {"void a::f<1, g<2> >(int)", "h"}, *const types[] = {"compute", "memory"};
    for (int i = 0; i < 2; i++) {
        gt_table_text(table, names[i]);
        gt_table_text(table, types[i]);
        gt_table_integer(table, 1234567 + i);
    }
    gt_report_set_width(report, 80);
    assert_writes(report, "text",
                  "Rows:\n"
                  "   type       count  name\n"
                  "   compute  1234567  f<1, g<…>>\n"
                  "   memory   1234568  h\n");
    gt_report_set_width(report, 19);
    assert_writes(report, "text",
                  "Rows:\n"
                  "   f<1, g<…>>\n"
                  "      type: compute\n"
                  "      count:\n"
                  "         1234567\n"
                  "   h\n"
                  "      type: memory\n"
                  "      count:\n"
                  "         1234568\n");
    gt_report_free(report);
}

TEST(test_long_names)
{
    struct gt_report *report = report_of("long");
    struct gt_table *table = table_of(report, "file");
    gt_table_column(table, "size", "size", GT_CELL_INTEGER, NULL);
    gt_table_text(table, "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg");
    gt_table_integer(table, 1);
    gt_report_set_width(report, 24);
    gt_report_set_style(report, GT_STYLE_ASCII);
    assert_writes(report, "text",
                  "Rows:\n"
                  "   file             size\n"
                  "   aaaaaaaaaabbbbb     1\n"
                  "   bbbbbc...efffff\n"
                  "   fffffgggggggggg\n");
    gt_report_free(report);
}

/* Words of trouble and exit statuses are coloured where a terminal takes that; the words stay. */
TEST(test_colours)
{
    struct gt_report *report = report_of("colours");
    struct gt_table *table = table_of(report, "run");
    gt_table_column(table, "state", "state", GT_CELL_TEXT, NULL);
    gt_table_column_flags(table, GT_COLUMN_STATE);
    const char *const states[] = {"ready", "denied", "broken", "0", "137"};
    for (int i = 0; i < 5; i++) {
        gt_table_text(table, "a");
        gt_table_text(table, states[i]);
    }
    gt_report_set_width(report, 40);
    gt_report_set_style(report, GT_STYLE_COLOUR);
    assert_writes(report, "text",
                  "\033[1mRows:\033[0m\n"
                  "   \033[2mrun\033[0m  \033[2mstate\033[0m\n"
                  "   a    ready\n"
                  "   a    \033[33mdenied\033[0m\n"
                  "   a    \033[31mbroken\033[0m\n"
                  "   a    0\n"
                  "   a    \033[31m137\033[0m\n");
    gt_report_free(report);
}
