/* The report model and its formats. */

#include "report/format.h"
#include "support/reports.h"
#include "support/test.h"

static struct gt_report *sample_report(void)
{
    struct gt_report *report = report_of("sample");
    struct gt_node *root = &report->root;
    struct gt_node *ram = gt_report_section(root, "max_ram", "Max RAM");
    gt_report_text(ram, "unit", "Unit", "gigabytes");
    gt_report_number(ram, "system_capacity", "System capacity", 67.254165504, "");
    struct gt_node *main_process = gt_report_section(ram, "main", "Main");
    gt_report_number(main_process, "total_rss", "Total RSS", 0.0004, "");
    gt_report_number(main_process, "private_rss", "Private RSS", NAN, "");
    gt_report_integer(ram, "threads", "Threads", 3, "");
    gt_report_count(ram, "processes", "Processes", NAN, "");
    gt_report_bool(ram, "complete", "Complete", true);
    gt_node_flags(gt_report_text(root, "advice", "Advice", "Sleep more"), GT_ONLY_PEOPLE);
    gt_node_flags(gt_report_text(root, "origin", "Origin", NULL), GT_ONLY_DATA);
    struct gt_table *table = gt_report_table(root, "gpus", "GPUs");
    gt_table_column(table, "name", "Name", GT_CELL_TEXT, "");
    gt_table_column(table, "memory", "Memory", GT_CELL_NUMBER, "bytes");
    gt_table_column(table, "index", "Index", GT_CELL_INTEGER, "");
    gt_table_text(table, "a, \"b\"");
    gt_table_number(table, 1.5);
    gt_table_integer(table, 7);
    gt_table_text(table, NULL);
    gt_table_number(table, NAN);
    gt_table_number(table, NAN);
    assert_false(gt_report_failed(report));
    return report;
}

TEST(test_markdown_escapes)
{
    struct gt_report *report = report_of("sample");
    gt_report_text(&report->root, "name", "Na|me", "<b>*x*</b>\n`y`");
    assert_writes(report, "markdown", "| | |\n| --- | ---: |\n| Na\\|me | &lt;b>\\*x\\*&lt;/b>\\\\n\\`y\\` |\n\n");
    gt_report_free(report);
}

/* The shape of the original's analysis, whose tables are those of pandas. */
static struct gt_buffer html_of(const struct gt_report *report)
{
    struct gt_buffer out = {0};
    assert_int_equal(gt_report_write(report, "html", &out, NULL), 0);
    return out;
}

TEST(test_pickle)
{
    struct gt_report *report = report_of("sample");
    struct gt_node *root = &report->root;
    gt_report_integer(root, "a", "A", -2, "");
    gt_report_integer(root, "b", "B", INT64_C(1) << 40, "");
    gt_report_number(root, "c", "C", 1.5, "");
    gt_report_text(root, "d", "D", NULL);
    gt_report_bool(root, "e", "E", true);
    gt_node_flags(gt_report_section(root, "f", "F"), GT_LIST);
    static const char expected[] = "\x80\x02"
                                   "cgpu_tracker._results\nfrom_tree\nX\6\0\0\0sample}("
                                   "X\1\0\0\0aJ\xfe\xff\xff\xff"
                                   "X\1\0\0\0b\x8a\x08\0\0\0\0\0\1\0\0"
                                   "X\1\0\0\0cG\x3f\xf8\0\0\0\0\0\0"
                                   "X\1\0\0\0dNX\1\0\0\0e\x88X\1\0\0\0f](eu\x86R.";
    struct gt_buffer out = {0};
    assert_int_equal(gt_report_write(report, "pickle", &out, NULL), 0);
    assert_int_equal(out.length, sizeof expected - 1);
    assert_memory_equal(out.data, expected, out.length);
    gt_buffer_release(&out);
    gt_report_free(report);
}

TEST(test_html_charts)
{
    struct gt_report *report = report_of("timeline");
    struct gt_node *series = gt_report_series(&report->root, "ram", "RAM <b>", "seconds", "bytes", 0);
    gt_series_line(series, "main", "Main");
    gt_series_line(series, "none", "None");
    /* A long line, so that points are left out, with one spike that must stay, and a gap. */
    for (int i = 0; i <= 100000; i++)
        gt_series_point(series, 0, i, i == 33333 ? 1000 : i > 50000 && i < 60000 ? NAN : 10);
    gt_series_band(series, 0, "load\"", 0, 50000);
    gt_series_band(series, 0, "step", 60000, 70000);
    gt_series_band(series, 0, "load\"", 70000, 80000);
    struct gt_buffer page = html_of(report);
    char *data = strstr(page.data, "<script type=\"application/json\"");
    if (data) {
        assert_non_null(strstr(data, "\"title\": \"RAM \\u003cb>\""));
        *data = '\0'; /* the scripts have all kinds of things in them */
    }
    assert_non_null(strstr(page.data, "RAM &lt;b&gt;"));
    assert_null(strstr(page.data, "<b>"));
    assert_non_null(strstr(page.data, "role=\"img\""));
    assert_non_null(strstr(page.data, "Main: from 10 to 1000 "));
    assert_non_null(strstr(page.data, "L292 10")); /* the spike, a third of the way, at the top */
    const char *path = strstr(page.data, "<path class=\"line0\" d=\"M");
    assert_non_null(path);
    const char *second = strchr(path + 30, 'M'), *quote = strchr(path + 30, '"');
    assert_true(second && second < quote); /* the gap begins a new stroke */
    assert_true(strlen(page.data) < 100000);
    assert_non_null(strstr(page.data, "<rect class=\"fill0\" x=\"64\""));
    assert_non_null(strstr(page.data, "<rect class=\"fill1\""));
    assert_null(strstr(page.data, "<rect class=\"fill2\""));
    assert_null(strstr(page.data, "nan"));
    assert_null(strstr(page.data, "inf"));
    gt_buffer_release(&page);
    gt_report_free(report);
}

TEST(test_residues_of_sums_are_no_parts_of_a_bar)
{
    struct gt_report *report = report_of("timeline");
    struct gt_node *series = gt_report_series(&report->root, "time", "Time", "", "%", GT_STACKS);
    gt_series_band(series, 0, "", 0, 100);
    for (int part = 0; part < 3; part++) {
        gt_series_line(series, "rank 0", (const char *[]){"compute", "other", "host"}[part]);
        gt_series_point(series, part, 0, (const double[]){99.5, 8.4e-5, 0.5}[part]);
    }
    struct gt_buffer page = html_of(report);
    assert_non_null(strstr(page.data, "<title>rank 0: compute 99.5 %, host 0.5 %</title>"));
    gt_buffer_release(&page);
    gt_report_free(report);
}

/* The points of a line with a course are means, between which its extremes are lost. */
TEST(test_a_picture_is_described_by_its_data)
{
    struct gt_report *report = report_of("timeline");
    struct gt_node *series = gt_report_series(&report->root, "cpu", "CPU", "seconds", "cores", 0);
    struct gt_course *course = gt_course_new(1000000000, 16, 1, false);
    assert_non_null(course);
    for (int i = 0; i < 8; i++)
        assert_int_equal(gt_course_take(course, i * (int64_t)1000000000, &(double){i == 3 ? 40 : i == 5 ? 4 : 20}), 0);
    gt_series_line(series, "main", "Main");
    gt_series_point(series, 0, 2, 12.5);
    gt_series_point(series, 0, 6, 8);
    gt_series_course(series, 0, course, 0, 2);
    struct gt_buffer page = html_of(report);
    assert_non_null(strstr(page.data, "Main: from 2 to 20 "));
    gt_buffer_release(&page);
    gt_report_free(report);
    gt_course_release(course);
}

TEST(test_series)
{
    struct gt_report *report = report_of("timeline");
    struct gt_node *series = gt_report_series(&report->root, "ram", "RAM", "seconds", "bytes", 0);
    assert_int_equal(gt_series_line(series, "main", "Main"), 0);
    assert_int_equal(gt_series_line(series, "combined", "Combined"), 1);
    assert_int_equal(gt_series_point(series, 1, 0.5, 2.0), 0);
    assert_int_equal(gt_series_point(series, 2, 0.5, 2.0), -EINVAL);
    assert_int_equal(gt_series_band(series, 0, "load", 0.25, 0.75), 0);
    assert_writes(report, "json",
                  "{\n \"ram\": {\n  \"x_unit\": \"seconds\",\n  \"unit\": \"bytes\",\n  \"lines\": {\n"
                  "   \"main\": [],\n   \"combined\": [\n    [\n     0.5,\n     2.0\n    ]\n   ]\n  },\n"
                  "  \"bands\": [\n   {\n    \"name\": \"load\",\n    \"start\": 0.25,\n    \"stop\": 0.75\n   }\n  ]\n"
                  " }\n}\n");
    assert_writes(report, "csv", "key,value,unit\nram.combined.0.x,0.5,seconds\nram.combined.0.y,2.0,bytes\n");
    gt_report_free(report);
}

TEST(test_unknown_format)
{
    struct gt_report *report = sample_report();
    struct gt_error error = {0};
    struct gt_buffer out = {0};
    assert_int_equal(gt_report_write(report, "jsn", &out, &error), -EINVAL);
    assert_non_null(strstr(error.text, "\"jsn\" is not an output format; choose text, json, "));
    gt_report_free(report);
}

static struct gt_report *one_fact(const char *title, int64_t value)
{
    struct gt_report *report = report_of("sample");
    gt_report_integer(&report->root, "fact", title, value, "");
    return report;
}

TEST(test_join)
{
    struct gt_report *part[] = {one_fact("First", 1), one_fact("Second", 2)}, *joined, *alone;
    const char *names[] = {"a.csv", "b.csv"};
    assert_int_equal(gt_report_join(&joined, part, names, 2, NULL), 0);
    gt_report_free(part[0]);
    gt_report_free(part[1]);
    assert_writes(joined, "text", "a.csv:\n   First: 1\n\nb.csv:\n   Second: 2\n\n");
    assert_writes(joined, "json",
                  "[\n {\n  \"recording\": \"a.csv\",\n  \"fact\": 1\n },\n"
                  " {\n  \"recording\": \"b.csv\",\n  \"fact\": 2\n }\n]\n");
    assert_writes(joined, "csv", "key,value,unit\n0.recording,a.csv,\n0.fact,1,\n1.recording,b.csv,\n1.fact,2,\n");
    gt_report_free(joined);
    alone = report_of("empty");
    assert_int_equal(gt_report_join(&joined, &alone, names, 1, NULL), 0);
    assert_writes(joined, "json", "[\n {\n  \"recording\": \"a.csv\"\n }\n]\n");
    gt_report_free(joined);
    gt_report_table(&alone->root, "table", "Table")->failed = -ENOMEM;
    assert_int_equal(gt_report_join(&joined, &alone, names, 1, NULL), -ENOMEM);
    gt_report_free(alone);
    assert_int_equal(gt_report_join(&joined, NULL, NULL, 0, NULL), -EINVAL);
}
