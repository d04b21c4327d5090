/* Times as people read them: in the unit that suits their size. */
#ifndef GT_ANALYSE_TRACE_TIME_WORDS_H
#define GT_ANALYSE_TRACE_TIME_WORDS_H

#include <stdint.h>

struct gt_time_unit {
    double ns;
    const char *name; /* "s", "ms", "us", "ns" */
};

/* Returns the greatest unit that `ns` has at least one of. */
struct gt_time_unit gt_time_unit_of(double ns);
/* Returns `text`, "12.3 ms"; NULL for NaN. */
const char *gt_time_words(double ns, char text[32]);
#define GT_TIME_WORDS(ns) \
    gt_time_words(ns, (char[32]){""}) /* as an argument: it lives as long as the block around it */
/* Returns `text`, "2026-01-31 12:00:00.250000 UTC" of ns since 1970; "5.12 s by a clock of its own" before 2000, for no trace is so old. */
const char *gt_moment_words(int64_t ns, char text[48]);

#endif
