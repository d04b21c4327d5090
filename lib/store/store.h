/* Recordings are written while the job runs, and read back, whoever wrote them.
 *
 * A store type is one file format. A thread writes each batch as soon as it is handed over: its samples are then whole in the page cache,
 * whatever becomes of this process. These functions never wait for the disk. A full disk ends the recording and not the job, and
 * gt_store_trouble says so. */
#ifndef GT_STORE_STORE_H
#define GT_STORE_STORE_H

#include "aggregate/energy_curve.h"
#include "sample/machine.h"
#include "sample/outcome.h"
#include "sample/sample.h"
#include "store/sample_batch.h"
#include "store/column.h"

struct gt_store;

struct gt_store_options {
    const char *path; /* after gt_store_path() */
    bool overwrite;
    bool detail; /* keep PROCESS and GPU rows too */
    bool names;  /* keep a list of processes where the format has a place for it */
};

/* Recordings may wait in a folder until a server has them (engine/spool.h). As long as one is written a file with this end lies beside
 * it, and as long as this file is in the folder there is no room for more samples: minutes and final figures alone are written. */
#define GT_SPOOL_LOCK ".lock"
#define GT_SPOOL_FULL ".full"

/* Counts how far a recording was read: rows of the samples, of GPUs and of processes. A file that is written meanwhile is opened anew
 * from time to time, for a moment, and read on from there: who held it open would hold up the tracker's end. */

struct gt_recording_place {
    int64_t row[3];
};

/* Fill in placeholders (%p pid, %h host, %j job id, %s step, %r rank, %% percent) and the suffix .sqlite when there is none.
 * -EINVAL names an unknown suffix or placeholder. */
int gt_store_path(char *ret, size_t size, const char *pattern, pid_t pid, struct gt_error *error);
/* Fill in placeholders alone. */
int gt_store_fill(char *ret, size_t size, const char *pattern, pid_t pid, struct gt_error *error);
/* Check that a recording may be made at `path`: -EEXIST without overwrite, -EACCES, -ENOENT (the folder around its own) ...; creates
 * nothing. */
int gt_store_check(const struct gt_store_options *options, struct gt_error *error);
/* Make the folder that `path` stands in where it is missing; a thousand ranks may do so at once. The folder around it is not made: it
 * would hide a mistyped name. */
int gt_store_make_folder(const char *path, struct gt_error *error);
/* Make all folders around `path` that are missing. What may not be made shows when the file is. */
int gt_store_make_folders(const char *path, mode_t mode, struct gt_error *error);
struct gt_new_file;
/* As gt_new_file_place. -EEXIST: another has made one at `path` since it was checked. */
int gt_store_place(struct gt_new_file *file, const char *path, bool replace, struct gt_error *error);

/* Create the file with the static data. An older file is replaced only now. */
int gt_store_open(struct gt_store **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                  struct gt_error *error);
/* Hand over all samples of a batch, which is empty afterwards. */
void gt_store_send(struct gt_store *store, struct gt_sample_batch *batch);
/* Returns NULL, or one sentence about what the recording lost and why, once: it stopped early, or samples were dropped. */
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
const struct gt_process_records *gt_recording_process_records(const struct gt_recording *recording);
/* Returns the nanoseconds by which the clock of this machine was set since it began a recording whose time of day is `epoch_ns` ahead of
 * the monotonic clock: times of its samples do not follow. 0 for a recording of another machine or boot. */
int64_t gt_recording_clock_set(const struct gt_machine *machine, int64_t epoch_ns);
/* Returns all columns that a recording may have, in the units of this one. */
const struct gt_columns *gt_recording_list(const struct gt_recording *recording);
/* Returns true where the file has a column of this name. */
bool gt_recording_has(const struct gt_recording *recording, const char *column);
/* Read only these columns and the two clocks; the others are NaN. This is called before the first gt_recording_next, and makes
 * reading a wide file much faster. -ENOENT names a column that no recording has. */
int gt_recording_columns(struct gt_recording *recording, const char *const names[], size_t count,
                         struct gt_error *error);
/* Read GPU and PROCESS rows as well, when the recording has them. This is called before the first gt_recording_next. */
int gt_recording_detail(struct gt_recording *recording, bool wanted);
/* Begin behind `place`. This is called before the first gt_recording_next. -ENOTSUP: a recording of this kind is read from its start. */
int gt_recording_begin_after(struct gt_recording *recording, const struct gt_recording_place *place);
/* Tells the place behind the last sample. */
void gt_recording_place(const struct gt_recording *recording, struct gt_recording_place *ret);
/* Returns 1 and the next sample in the order of the file, 0 at the end, or negative errno with file and line or row. The sample is
 * borrowed until the next call. After -EBADMSG, a bad row, the next call goes on behind it. */
int gt_recording_next(struct gt_recording *recording, const struct gt_sample **ret, struct gt_error *error);
/* Returns how many samples were left out so far because they were never finished: 1 at most, at the end of a file whose writer was
 * killed. */
uint64_t gt_recording_unfinished(const struct gt_recording *recording);
void gt_recording_close(struct gt_recording *recording);

/* Read all samples, and what is known of the end, into a curve; its moments are seconds since the epoch, or of the monotonic clock.
 * The caller releases it, also after an error. */
int gt_recording_energy(struct gt_energy_curve *ret, const char *path, bool is_monotonic, struct gt_error *error);

#endif
