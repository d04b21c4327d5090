/* The program gpu-tracker calls these functions beside those of gpu_tracker.h. */
#ifndef GT_API_PROGRAM_H
#define GT_API_PROGRAM_H

#include <stdbool.h>

#include "analyse/job/job_analysis.h"
#include "analyse/job/job_server.h"
#include "gpu_tracker.h"

/* ---- Recordings and reports
 * ---------------------------------------------------------------------------------------- */
/* Get the path of another file that a recording in CSV consists of, number `index` of "run.gpus.csv" and so on, whether
 * it is there or not. -ENOENT: past the end, or `path` is no CSV file. */
int gt_recording_part(const char *path, size_t index, char *ret, size_t size);
/* Use each recording of a folder; copies of one count once. `trouble` says why a file cannot be read; NULL: it can.
 * Returns 0, what `use` returned where that is negative, or -EINVAL: there is no recording. */
int gt_folder_runs(const char *folder, int (*use)(void *context, const char *path, const char *trouble), void *context,
                   struct gt_error *error);
/* For these, a folder may be the address of a job on a server, with `server` for the login; else `server` may be
 * NULL. */
/* Report a job as gt_folder_report does, with options. Returns 1 while the job goes on (gt_job_goes_on), else 0.
 * -ENOENT: no recording has the metric. -ENODATA: there is no recording yet. */
int gt_folder_view(const char *folder, const struct gt_job_server_options *server,
                   const struct gt_job_report_options *options, struct gt_report **ret, struct gt_error *error);
/* -EINVAL: an option is wrong, or there is no recording. */
int gt_folder_analyse(const struct gt_job_analysis *analysis, const char *folder,
                      const struct gt_job_server_options *server, const struct gt_job_options *options,
                      struct gt_report **ret, struct gt_error *error);
/* Say what to ask for next time, as gt_recording_request does, for a job of several ranks. */
int gt_folder_request(const char *folder, const char *kind, const struct gt_job_server_options *server, char **ret,
                      char **doubt, struct gt_error *error);
/* Tell whether a file holds a recording or code blocks: 1 or 0, which a file that is not there gets. */
int gt_recording_is_at(const char *path);
/* The report of gt_tracker_report with its summary alone, which is made in a tenth of the time. */
int gt_tracker_summary(struct gt_tracker *tracker, struct gt_report **ret, struct gt_error *error);
/* Add a line to the summary of a report of a run, in words. 1: it has one; 0: the report has no summary. */
int gt_report_note(struct gt_report *report, const char *title, const char *text);
/* Add a broken rule to the warnings of a report: the `warn` of gt_tracker_judge and gt_recording_judge. */
void gt_report_broken_rule(void *report, const char *sentence);
/* Keep one table at the top of a report, by its key, or where `name` is NULL the one that stands for it, or the first;
 * unless it is to be alone, why it is empty, too. *rest gets a sentence about what else there was, free with free(), or
 * NULL. 0: done, or there is no table at all and none was asked for; -EINVAL names the tables there are. */
int gt_report_choose_table(struct gt_report *report, const char *name, bool is_alone, char **rest,
                           struct gt_error *error);
/* Return doubt number `index` about the files of a report of traces, NULL if there is none: 0 and 1 name files that may
 * be missing of the first and second path; text has the others, which name damaged files and ranks read twice. *words
 * is its kind, NULL past the last. */
const char *gt_report_doubt(const struct gt_report *report, int index, const char **words);
/* Tell why a report of traces has nothing to tell; NULL: it has something. */
const char *gt_report_reason(const struct gt_report *report);
/* Write the commands by which an administrator would let this user read what is denied, each with what it opens and its
 * risk. Nothing is changed. Free *ret with free(). 1: something is denied, 0: nothing. */
int gt_doctor_fix(const char *machine_root, char **ret, size_t *length, struct gt_error *error);

/* What a tracker records is sent to this address, which outlives it: its report names the job there. */
void gt_tracker_sent_to(struct gt_tracker *tracker, const char *url);

/* ---- Names of recordings
 * ------------------------------------------------------------------------------------------- */

/* Take the name of a recording, the tracking file of `options`, by an empty file that the tracker has to overwrite;
 * where another has it, NAME-2.sqlite, NAME-3.sqlite and so on. `ret` gets it, with its placeholders; %p is not among
 * them. Returns 0, 1 when it is not the one that was given, or negative errno. */
int gt_recording_take_name(char *ret, size_t size, const struct gt_tracker_options *options, struct gt_error *error);
/* Removes the file where nothing was recorded. */
void gt_recording_give_name_back(const char *pattern);

/* ---- Energy counters for users who may not read them
 * --------------------------------------------------------------- */
/* A relay reads energy counters and answers; sockets and privileges are the caller's. It opens all it reads when it is
 * opened, so privileges may be given up then. -ENXIO: there is no energy counter that may be read. */
struct gt_energy_relay;
int gt_energy_relay_open(struct gt_energy_relay **ret, const char *machine_root, struct gt_error *error);
/* Answer one message of a client; the answer is borrowed until the next call. -EINVAL: it is no message. */
int gt_energy_relay_answer(struct gt_energy_relay *relay, const char *request, size_t length, const char **ret,
                           size_t *ret_length);
void gt_energy_relay_close(struct gt_energy_relay *relay);

/* ---- Pages of jobs that run
 * ---------------------------------------------------------------------------------------- */
/* A job from its recording, which is opened for a moment at each update. */
struct gt_live;
int gt_live_open(struct gt_live **ret, const char *path, struct gt_error *error);
/* Read what is new. The first call reads all there is. */
int gt_live_update(struct gt_live *live, struct gt_error *error);
/* Returns 1 where the job has ended, and its recording with it, else 0. */
int gt_live_has_ended(const struct gt_live *live);
/* The page as of the last update, which asks the address `feed` for states. Free with free(). */
int gt_live_page(struct gt_live *live, const char *feed, char **ret, size_t *length, struct gt_error *error);
/* The state as of the last update, one line of JSON. Free with free(). */
int gt_live_state(struct gt_live *live, char **ret, size_t *length, struct gt_error *error);
void gt_live_close(struct gt_live *live);

#endif
