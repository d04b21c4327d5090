/* Small traces made by hand, and reports of them. */
#ifndef TEST_SUPPORT_TRACES_H
#define TEST_SUPPORT_TRACES_H

#include "analyse/trace/analysis.h"

/* An empty trace; close with gt_trace_close. */
struct gt_trace *traces_new(void);

/* An event; names of node, process, thread and category as texts (NULL: none). Times in ns. */
struct traces_event {
    const char *node, *process, *thread, *category, *name;
    int64_t start, duration;
    int32_t step; /* 0 is a step: GT_TRACE_NO_STEP for none */
    uint64_t id, external;
    const char *pid; /* NULL: the process's name */
};
/* id and external are GT_TRACE_NO_ID when 0. Returns its number. */
size_t traces_add(struct gt_trace *trace, struct traces_event event);
void traces_step(struct gt_trace *trace, const char *node, const char *mode, int32_t step, int64_t start, int64_t end);
void traces_sample(struct gt_trace *trace, const char *node, const char *type, const char *name, const char *dimension,
                   int64_t time, double value);
/* Put the events in another order. */
void traces_shuffle(struct gt_trace *trace, unsigned seed);

/* The report of an analysis; a failure fails the test. Free with gt_report_free. */
struct gt_report *traces_report(const char *analysis, const struct gt_trace *trace,
                                const struct gt_profile_options *options);
/* Cells of a table of the root, by key; a missing one fails the test. */
double traces_number(const struct gt_report *report, const char *table, size_t row, const char *column);
const char *traces_text(const struct gt_report *report, const char *table, size_t row, const char *column);
size_t traces_rows(const struct gt_report *report, const char *table);
/* The first row whose cell in `column` is `text`, from row `from` on; fails the test when there is none. */
size_t traces_find(const struct gt_report *report, const char *table, size_t from, const char *column,
                   const char *text);
/* The whole report as JSON; free(). */
char *traces_json(const struct gt_report *report);

#endif
