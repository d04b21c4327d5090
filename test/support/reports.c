#include "support/reports.h"
#include "support/test.h"

struct gt_report *report_of(const char *type)
{
    struct gt_report *report;
    assert_int_equal(gt_report_new(&report, type, NULL), 0);
    return report;
}

void assert_writes(const struct gt_report *report, const char *format, const char *expected)
{
    struct gt_buffer out = {0};
    struct gt_error error = {0};
    if (gt_report_write(report, format, &out, &error) < 0)
        fail_msg("%s", error.text);
    assert_string_equal(out.data, expected);
    gt_buffer_release(&out);
}

const char *text_at(const struct gt_table *table, size_t row, size_t column)
{
    static char texts[8][1024];
    static size_t next;
    char *text = texts[next++ % 8];
    struct gt_buffer buffer = {0};
    const char *found = gt_table_cell_text(table, row, column, &buffer);
    if (found)
        snprintf(text, sizeof *texts, "%s", found);
    gt_buffer_release(&buffer);
    return found ? text : NULL;
}

const char *text_of(const struct gt_table *table, const char *row, const char *column)
{
    for (size_t i = 0; i < gt_table_rows(table); i++)
        for (size_t k = 0; k < table->columns && !strcmp(text_at(table, i, 0), row); k++)
            if (!strcmp(table->column[k].key, column))
                return text_at(table, i, k);
    return NULL;
}
