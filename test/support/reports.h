/* Reports made by hand, and what formats write of them. */
#ifndef TEST_SUPPORT_REPORTS_H
#define TEST_SUPPORT_REPORTS_H

#include "report/report.h"

/* An empty report; a failure fails the test. Free with gt_report_free. */
struct gt_report *report_of(const char *type);
/* The report in that format is exactly this text. */
void assert_writes(const struct gt_report *report, const char *format, const char *expected);
/* The text of a cell, until seven further calls; NULL when it is missing. */
const char *text_at(const struct gt_table *table, size_t row, size_t column);
/* The text in the row whose first text is `row`, in the column with that key; NULL when there is none. */
const char *text_of(const struct gt_table *table, const char *row, const char *column);

#endif
