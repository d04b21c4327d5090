/* Recordings: writing them while the job runs, and reading them back, whoever wrote them.
 *
 * A store type is one file format. Writing: each sample is in the page cache, whole, within 100 ms of
 * gt_store_write, whatever becomes of this process afterwards; gt_store_write itself never waits for the disk (a writer
 * thread does). A full disk ends the recording, not the job: later writes return 0 and gt_store_trouble tells. */
#ifndef GT_STORE_STORE_H
#define GT_STORE_STORE_H

#include "sample/sample.h"

struct gt_store;

struct gt_store_options {
    const char *path;     /* after gt_store_path() */
    bool overwrite;
    bool detail;          /* keep PROCESS and GPU rows too */
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
/* NULL, or one sentence about why the recording stopped early. */
const char *gt_store_trouble(const struct gt_store *store);
/* Writes what is queued and the outcome (may be NULL), and closes. One file remains. */
int gt_store_close(struct gt_store *store, const struct gt_outcome *outcome, struct gt_error *error);

/* Reading. Values come back in base units whatever the units of the file; columns that the file lacks are NaN.
 * Never creates a file. Reads the recordings of the original gpu_tracker too, and unfinished ones. */
struct gt_recording;
int gt_recording_open(struct gt_recording **ret, const char *path, struct gt_error *error);
const struct gt_machine *gt_recording_machine(const struct gt_recording *recording);
/* NULL when the file has none (an original's file, or a killed tracker's). */
const struct gt_outcome *gt_recording_outcome(const struct gt_recording *recording);
/* 1 a sample in file order, 0 the end, negative an error naming file and line or row. Borrowed until the next call.
 * GPU and PROCESS rows are there only when the recording has them and `detail` was asked for. */
int gt_recording_next(struct gt_recording *recording, const struct gt_sample **ret, struct gt_error *error);
int gt_recording_detail(struct gt_recording *recording, bool wanted); /* before the first next */
void gt_recording_close(struct gt_recording *recording);

/* One format. The functions beyond open/close run on the writer thread. */
struct gt_store_type {
    const char *suffix;   /* ".csv" */
    const char *help;
    int (*create)(void **ret, const struct gt_store_options *, const struct gt_machine *, struct gt_error *);
    int (*write)(void *state, const struct gt_sample *sample, struct gt_error *error);
    int (*flush)(void *state, struct gt_error *error); /* make what was written durable against kill -9 */
    int (*finish)(void *state, const struct gt_outcome *outcome, struct gt_error *error); /* also frees */
    int (*open)(void **ret, const char *path, struct gt_machine *, struct gt_outcome *, bool *has_outcome, struct gt_error *);
    int (*next)(void *state, struct gt_sample *sample, struct gt_error *error);
    void (*close)(void *state);
};

/* The columns that gpu_tracker's own files have, then ours: one list for every format. */
struct gt_column {
    char name[64];          /* "main_ram", "cpu_main_sum_utilization_percent", "combined_swap", "timestamp" */
    int scope;              /* -1: the timestamp */
    enum gt_metric_id metric;
    bool per_unit;          /* "hardware": divided by cores or GPUs */
    bool is_seed;           /* one of the original's 22 columns: written as 0 where it was not measured */
};
/* All columns in file order; *seed_count is how many at the front are the original's. */
const struct gt_column *gt_store_columns(size_t *count, size_t *seed_count);
int gt_store_column_find(const char *name); /* index or -ENOENT */
/* The value of a column in the file's units (see gt_machine), and back. NaN when missing. */
double gt_store_column_value(const struct gt_column *column, const struct gt_sample *sample, const struct gt_machine *machine);
void gt_store_column_assign(const struct gt_column *column, double value, struct gt_sample *sample, const struct gt_machine *machine);

#endif
