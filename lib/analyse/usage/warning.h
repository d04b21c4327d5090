/* Warnings tell what is remarkable about a run: one table of rules, each with the figure that it rests on. */
#ifndef GT_ANALYSE_USAGE_WARNING_H
#define GT_ANALYSE_USAGE_WARNING_H

#include "analyse/usage/figures.h"

enum { GT_WARNINGS = 20 };

struct gt_warning {
    const char *name;   /* "out_of_memory" */
    char sentence[256]; /* "the kernel killed python (pid 4711, 15.7 GB) at the limit of 16.0 GB" */
    char detail[160];   /* a further sentence; "": none */
    double value;       /* the figure that it rests on, in base units */
    bool is_of_others;  /* about other programs, not about the job */
};

/* Returns how many there are; the dearest come first. `ret` has room for GT_WARNINGS. */
size_t gt_warnings(const struct gt_usage *usage, struct gt_warning *ret);

/* The job ended because memory ran out: not, as far as can be told, or as the kernel said. */
enum gt_out_of_memory { GT_MEMORY_SUFFICED, GT_MEMORY_PROBABLY_RAN_OUT, GT_MEMORY_RAN_OUT };
enum gt_out_of_memory gt_usage_out_of_memory(const struct gt_usage *usage);
/* The bytes at which the kernel kills; NaN: none are known, or the job stayed far below it and thus was killed somewhere else. */
double gt_usage_memory_limit_met(const struct gt_usage *usage);
/* The job is told to be held back from this share of the periods of a quota on. */
#define GT_THROTTLED_SHARE 0.05
/* Returns what the job was given; NaN: nobody says. */
double gt_usage_given(const struct gt_usage *usage, enum gt_limit_kind kind);

/* Returns the cores that other programs used, if these disturbed the run; else NaN. */
double gt_usage_others(const struct gt_usage *usage);

/* The sections "limits" and "warnings" of the report. */
void gt_usage_limits_section(const struct gt_usage *usage, struct gt_node *root);
void gt_usage_warnings_table(const struct gt_usage *usage, struct gt_node *root);

#endif
