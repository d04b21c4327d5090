#include "support/reports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
