/* Recordings: writing them while the job runs, and reading them back, whoever wrote them.
 *
 * A store type is one file format. Writing: each sample is in the page cache, whole, within 100 ms of
 * gt_store_write, whatever becomes of this process afterwards; gt_store_write itself never waits for the disk (a writer
 * thread does). A full disk ends the recording, not the job: later writes return 0 and gt_store_trouble tells. */
#ifndef GT_STORE_STORE_H
#define GT_STORE_STORE_H

#include "sample/sample.h"

struct gt_store;
struct gt_sampler;
struct gt_attribution;

/* The tracker's readings, for a store that tells more than samples do. */
struct gt_store_readings {
    const struct gt_sampler *sampler;
    const struct gt_attribution *attribution;
    double seconds; /* that a record tells of at least */
    bool everyone;  /* all processes on GPUs count as the job's */
    /* May be NULL: records are handed over as JSON, and there is no folder. */
    int (*record)(void *context, const char *metrics);
    void *context;
};

struct gt_store_options {
    const char *path; /* after gt_store_path() */
    bool overwrite;
    bool detail;                              /* keep PROCESS and GPU rows too */
    const struct gt_store_readings *readings; /* NULL: there are none; what they name outlives the store */
};

/* Fill in placeholders (%p pid, %h host, %j job id, %r rank, %% percent) and the suffix .sqlite when there is none.
 * -EINVAL names an unknown suffix or placeholder. */
int gt_store_path(char *ret, size_t size, const char *pattern, pid_t pid, struct gt_error *error);
/* May a recording be made at `path`? -EEXIST without overwrite, -EACCES, -ENOENT (folder) ...; creates nothing. */
int gt_store_check(const struct gt_store_options *options, struct gt_error *error);

/* Creates the file (replacing an older one only now) and writes the static data. */
int gt_store_open(struct gt_store **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                  struct gt_error *error);
int gt_store_write(struct gt_store *store, const struct gt_sample *sample, struct gt_error *error);
/* NULL, or one sentence about what the recording lost and why: it stopped early, or samples were dropped. */
const char *gt_store_trouble(struct gt_store *store);
/* Writes what is queued and the outcome (may be NULL), and closes. One file remains (with CSV and detail: four).
 * Negative when the recording is not whole, also when gt_store_trouble told so before. */
int gt_store_close(struct gt_store *store, const struct gt_outcome *outcome, struct gt_error *error);

/* Reading. Values come back in base units whatever the units of the file; columns that the file lacks are NaN, and so
 * are a machine's GPU figures when it had no GPU; without a monotonic clock it is the wall clock. Never creates a file.
 * Reads the recordings of the original gpu_tracker too, and unfinished ones. */
struct gt_recording;
int gt_recording_open(struct gt_recording **ret, const char *path, struct gt_error *error);
const struct gt_machine *gt_recording_machine(const struct gt_recording *recording);
/* NULL when the file has none (an original's file, or a killed tracker's). CSV files hold no provenance. */
const struct gt_outcome *gt_recording_outcome(const struct gt_recording *recording);
/* With detail: the processes that the job had, also of an unfinished recording. */
const struct gt_lives *gt_recording_lives(const struct gt_recording *recording);
/* Has the file a column of this name? */
bool gt_recording_has(const struct gt_recording *recording, const char *column);
/* Before the first next: read only these columns, and the two clocks; the others are NaN. Reading few columns of a wide
 * file is much faster. -ENOENT names a column that no recording has. */
int gt_recording_columns(struct gt_recording *recording, const char *const names[], size_t count,
                         struct gt_error *error);
/* Before the first next: GPU and PROCESS rows as well, when the recording has them. */
int gt_recording_detail(struct gt_recording *recording, bool wanted);
/* 1 a sample in file order, 0 the end, negative an error naming file and line or row. Borrowed until the next call.
 * -EBADMSG is a bad row: the next call goes on behind it. */
int gt_recording_next(struct gt_recording *recording, const struct gt_sample **ret, struct gt_error *error);
/* Samples left out so far because they were never finished: 1 at most, at the end of a file whose writer was killed. */
uint64_t gt_recording_unfinished(const struct gt_recording *recording);
void gt_recording_close(struct gt_recording *recording);

/* The columns that gpu_tracker's own files have, then ours: one list for every format. */
enum { GT_COLUMN_REAL = -1, GT_COLUMN_MONOTONIC = -2 }; /* instead of a scope: the two clocks */

struct gt_column {
    char name[64]; /* "main_ram", "cpu_main_sum_utilization_percent", "combined_swap", "timestamp" */
    int scope;     /* enum gt_scope, or one of the clocks above */
    enum gt_metric_id metric;
    bool per_unit;    /* "hardware": divided by cores or GPUs */
    bool is_integer;  /* whole numbers are written without a point */
    bool is_original; /* one of the original's 22 columns: the file's units, percentages */
    bool is_zero;     /* a GPU column of the original's on a machine without a GPU: 0 there, as the original has it */
    double multiply, divide; /* from base units to the column's, */
    double most;             /* and no more: 100 % of the hardware; the original's files have what it measured */
};

struct gt_columns {
    size_t count, original_count; /* the original's come first */
    struct gt_column column[24 + GT_FIXED_ROWS * GT_METRIC_COUNT];
};

/* The machine tells the units; NULL is enough for the names alone. */
void gt_store_columns(struct gt_columns *ret, const struct gt_machine *machine);
/* Index or -ENOENT; also by the name that a column had in earlier recordings. */
int gt_store_column_find(const struct gt_columns *columns, const char *name);
/* What a column of earlier recordings is called now: `name` itself unless it was another. And the other way round: NULL where it
 * never had another. */
const char *gt_store_name_now(const char *name);
const char *gt_store_name_before(const char *name);
/* The unit of its values, for people: "joules", "megabytes", "percent". */
const char *gt_store_column_unit(const struct gt_column *column, const struct gt_machine *machine);
/* The value of a column in the file's units, rounded to 9 decimals (a nanosecond). NaN when missing. */
double gt_store_column_value(const struct gt_column *column, const struct gt_sample *sample);
/* The same, but NaN for a column that is zero. */
double gt_store_column_measured(const struct gt_column *column, const struct gt_sample *sample);
/* And back; the sample has its fixed rows. A column that is zero leaves its metric missing. */
void gt_store_column_assign(const struct gt_column *column, double value, struct gt_sample *sample);

#endif
