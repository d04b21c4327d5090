/* What was recorded of one run, and what the parts of its report share. */
#ifndef GT_ANALYSE_USAGE_USAGE_PARTS_H
#define GT_ANALYSE_USAGE_USAGE_PARTS_H

#include "aggregate/summary.h"
#include "report/report.h"
#include "sample/machine.h"

struct gt_usage_sources {
    const struct gt_machine *machine;
    const struct gt_summary *summary;
    const struct gt_outcome *outcome;
    const char *recording; /* the path of the tracking file; NULL: there is none */
    const char *address;   /* of its job on a server, to which it is sent; NULL: it stays where it is */
};

/* The same with the units of the report, as its parts take them. */
struct gt_usage {
    const struct gt_machine *machine;
    const struct gt_summary *summary;
    const struct gt_outcome *outcome;
    const char *recording;                    /* the path of its tracking file; NULL: there is none */
    const char *address;                      /* of its job on a server; NULL: it stays where it is */
    double ram_unit, gpu_ram_unit, time_unit; /* bytes and seconds in one of the report's units */
};

/* ---- Figures of a run that several parts of its report rest on. NaN: not known ---- */

/* The largest memory of a scope, bytes: the best estimate, and what it certainly was not above. */
double gt_usage_scope_peak(const struct gt_usage *usage, enum gt_scope scope);
double gt_usage_peak(const struct gt_usage *usage); /* of the whole job */
double gt_usage_peak_bound(const struct gt_usage *usage);
/* Cores busy in the mean, no more than there are. */
double gt_usage_cores(const struct gt_usage *usage, enum gt_scope scope);
/* Cores that the job may use: what it was given, or all there are. */
double gt_usage_cores_given(const struct gt_usage *usage);
/* The most memory charged to its own control group, page cache included. */
double gt_usage_group_peak(const struct gt_usage *usage);
/* A counter or a peak at the end. */
double gt_usage_final(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* A counter of seconds as a share of the time of the run. */
double gt_usage_share(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* The energy at the end. */
void gt_usage_energy(const struct gt_usage *usage, struct gt_energy_reading *ret);

/* ---- The report tells where each figure comes from, and why others are missing ---- */

/* Returns a clause that says why a metric was not measured. */
const char *gt_usage_reason_missing(const struct gt_usage *usage, enum gt_scope scope, enum gt_metric_id metric);
/* Adds the tables "provenance" and "missing", for programs only. */
void gt_usage_provenance(const struct gt_usage *usage, struct gt_node *root);

/* ---- Warnings tell what is remarkable about a run: one table of rules, each with the figure that it rests on ---- */

enum { GT_WARNINGS = 20 };

struct gt_warning {
    const char *name;   /* "out_of_memory" */
    char sentence[256]; /* "the kernel killed python (pid 4711, 15.7 GB) at the limit of 16.0 GB" */
    char detail[160];   /* a further sentence; "": none */
    double value;       /* the figure that it rests on, in base units */
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

/* The sections "limits" and "warnings" of the report. */
void gt_usage_limits_section(const struct gt_usage *usage, struct gt_node *root);
void gt_usage_warnings_table(const struct gt_usage *usage, struct gt_node *root);

/* ---- The brief of a run: how it ended, a line for each resource that it used, what is remarkable, what to ask for next time ---- */

/* The code blocks of a run in a few words: which took the most of its time, and which one never ended. */

struct gt_block_brief {
    char shares[160];    /* "train 72 %   load 17 %"; "": there are none */
    char unfinished[80]; /* the block that had begun last of those that never ended; "": there is none */
};

/* Reads what the run collected with its recording. What cannot be read is not told: sub-track analyze tells why. */
void gt_block_brief(struct gt_block_brief *ret, const struct gt_usage *usage);

/* Runs that were shorter get one line without any utilisation: the kernel counts in ticks of 10 ms. */
#define GT_BRIEF_SHORTEST 0.05

void gt_usage_brief(const struct gt_usage *usage, struct gt_node *root);

#endif
