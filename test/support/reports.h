/* Reports made by hand, and what formats write of them. */
#ifndef TEST_SUPPORT_REPORTS_H
#define TEST_SUPPORT_REPORTS_H

#include "report/report.h"

/* An empty report; a failure fails the test. Free with gt_report_free. */
struct gt_report *report_of(const char *type);
/* The report in that format is exactly this text. */
void assert_writes(const struct gt_report *report, const char *format, const char *expected);

#endif
