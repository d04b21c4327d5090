/* Recordings are written while the job runs, and read back, whoever wrote them.
 *
 * A store type is one file format. Each sample is whole in the page cache within 100 ms of gt_store_write, whatever becomes of this
 * process afterwards. gt_store_write itself never waits for the disk: a writer thread does. A full disk ends the recording and not
 * the job; later writes return 0, and gt_store_trouble tells of it. */
#ifndef GT_STORE_STORE_H
#define GT_STORE_STORE_H

#include "aggregate/energy_curve.h"
#include "sample/sample.h"

struct gt_store;
struct gt_sampler;
struct gt_attribution;

/* The tracker's readings, for a store that tells more than samples do. */
struct gt_store_readings {
    const struct gt_sampler *sampler;
    const struct gt_attribution *attribution;
    double seconds;     /* that a record tells of at least */
    bool all_gpu_users; /* all processes on GPUs count as the job's */
    /* May be NULL: records are handed over as JSON, and there is no folder. */
    int (*record)(void *context, const char *metrics);
    void *context;
};

struct gt_store_options {
    const char *path; /* after gt_store_path() */
    bool overwrite;
    bool detail;                              /* keep PROCESS and GPU rows too */
    bool names;                               /* keep a list of processes where the format has a place for it */
    const struct gt_store_readings *readings; /* NULL: there are none; what they name outlives the store */
};

/* Fill in placeholders (%p pid, %h host, %j job id, %r rank, %% percent) and the suffix .sqlite when there is none.
 * -EINVAL names an unknown suffix or placeholder. */
int gt_store_path(char *ret, size_t size, const char *pattern, pid_t pid, struct gt_error *error);
/* Check that a recording may be made at `path`: -EEXIST without overwrite, -EACCES, -ENOENT (the folder around its own) ...; creates nothing. */
int gt_store_check(const struct gt_store_options *options, struct gt_error *error);
/* Make the folder that `path` stands in where it is missing; a thousand ranks may do so at once. The folder around it is not made: it
 * would hide a mistyped name. */
int gt_store_make_folder(const char *path, struct gt_error *error);

/* Create the file with the static data. An older file is replaced only now. */
int gt_store_open(struct gt_store **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                  struct gt_error *error);
int gt_store_write(struct gt_store *store, const struct gt_sample *sample, struct gt_error *error);
/* Returns NULL, or one sentence about what the recording lost and why: it stopped early, or samples were dropped. */
const char *gt_store_trouble(struct gt_store *store);
/* Write all queued samples and the outcome, which may be NULL, and close. One file remains, or four of CSV with detail. Returns
 * negative errno when the recording is not whole, also when gt_store_trouble told so before. */
int gt_store_close(struct gt_store *store, const struct gt_outcome *outcome, struct gt_error *error);

/* Reading. Values come back in base units whatever the units of the file; columns that the file lacks are NaN, and so
 * are a machine's GPU figures when it had no GPU; without a monotonic clock it is the wall clock. Never creates a file.
 * Reads the recordings of the original gpu_tracker too, and unfinished ones. */
struct gt_recording;
int gt_recording_open(struct gt_recording **ret, const char *path, struct gt_error *error);
const struct gt_machine *gt_recording_machine(const struct gt_recording *recording);
/* Returns the outcome; NULL when the file has none (an original's file, or a killed tracker's). CSV files hold no provenance. */
const struct gt_outcome *gt_recording_outcome(const struct gt_recording *recording);
/* Returns the processes that the job had, for a recording with detail, also an unfinished one. */
const struct gt_lives *gt_recording_lives(const struct gt_recording *recording);
/* Returns true where the file has a column of this name. */
bool gt_recording_has(const struct gt_recording *recording, const char *column);
/* Read only these columns and the two clocks; the others are NaN. This is called before the first gt_recording_next, and makes
 * reading a wide file much faster. -ENOENT names a column that no recording has. */
int gt_recording_columns(struct gt_recording *recording, const char *const names[], size_t count,
                         struct gt_error *error);
/* Read GPU and PROCESS rows as well, when the recording has them. This is called before the first gt_recording_next. */
int gt_recording_detail(struct gt_recording *recording, bool wanted);
/* Counts how far a recording was read: rows of the samples, of GPUs and of processes. A file that is written meanwhile is opened anew from time to time, for
 * a moment, and read on from there: who held it open would hold up the tracker's end. */
struct gt_recording_place {
    int64_t row[3];
};
/* Begin behind `place`. This is called before the first gt_recording_next. -ENOTSUP: a recording of this kind is read from its start. */
int gt_recording_begin_after(struct gt_recording *recording, const struct gt_recording_place *place);
/* Tells the place behind the last sample. */
void gt_recording_place(const struct gt_recording *recording, struct gt_recording_place *ret);
/* Returns 1 and the next sample in the order of the file, 0 at the end, or negative errno with file and line or row. The sample is
 * borrowed until the next call. After -EBADMSG, a bad row, the next call goes on behind it. */
int gt_recording_next(struct gt_recording *recording, const struct gt_sample **ret, struct gt_error *error);
/* Returns how many samples were left out so far because they were never finished: 1 at most, at the end of a file whose writer was killed. */
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
/* Returns the index, or -ENOENT. The name may be one that the column had in earlier recordings. */
int gt_store_column_find(const struct gt_columns *columns, const char *name);
/* The first translates a column's name in earlier recordings to the present one, or returns `name`. The second returns the name
 * that a column had before, or NULL. */
const char *gt_store_name_now(const char *name);
const char *gt_store_name_before(const char *name);
/* Returns the unit of its values as people read it: "joules", "megabytes", "percent". */
const char *gt_store_column_unit(const struct gt_column *column, const struct gt_machine *machine);
/* Returns the value of a column in the file's units, rounded to 9 decimals (a nanosecond); NaN when it is missing. */
double gt_store_column_value(const struct gt_column *column, const struct gt_sample *sample);
/* Do the same, but return NaN for a column with is_zero. */
double gt_store_column_measured(const struct gt_column *column, const struct gt_sample *sample);
/* Set the figure that a column's value stands for, in a sample that has its fixed rows. A column with is_zero sets none. */
void gt_store_column_assign(const struct gt_column *column, double value, struct gt_sample *sample);

/* Read all samples, and what is known of the end, into a curve; its moments are seconds since the epoch, or of the monotonic clock.
 * The caller releases it, also after an error. */
int gt_recording_energy(struct gt_energy_curve *ret, const char *path, bool is_monotonic, struct gt_error *error);

#endif
