/* The process history lists every process of the job by name, from its beginning to its end.
 *
 * Two sources: the processes of the tree, each time they are read; and the kernel's events, where they may be had, which also tell of
 * processes that lived between two readings, with exact moments, and by exit records with their last name, their CPU time and peak. */
#ifndef GT_SAMPLE_PROCESS_HISTORY_H
#define GT_SAMPLE_PROCESS_HISTORY_H

#include "collect/process/events.h"
#include "sample/sample.h"
#include "sample/tree.h"

struct gt_process_history;

/* At most so many are kept; later ones are only counted. */
enum {
    GT_PROCESS_HISTORY_MOST = 100000, /* with detail */
    GT_PROCESS_HISTORY_FEW = 1000,    /* in any other recording */
};

/* `most`: how many it holds. `launched`: the main process was forked by the tracker, and begins when tracking does. -ENOMEM. */
int gt_process_history_new(struct gt_process_history **ret, const struct gt_root *root, size_t most, bool launched,
                           struct gt_error *error);
void gt_process_history_free(struct gt_process_history *history);
/* Times are told in seconds since then, CLOCK_MONOTONIC. */
void gt_process_history_begin(struct gt_process_history *history, int64_t origin_ns);

/* An event about a process of the job. `has_ended`: none of its threads is left. -ENOMEM. */
int gt_process_history_hear(struct gt_process_history *history, const struct gt_event *event, bool has_ended);
/* The tree was read: names and figures; who is gone or a zombie has ended by now, unless the kernel told when. -ENOMEM. */
int gt_process_history_read(struct gt_process_history *history, const struct gt_tree *tree, int64_t now_ns);
/* `parent`, a member that lives or is a zombie, was read after the end of its child `child`. Since that was so before, it has taken over
 * `seconds` of CPU time beyond what was read of the children that ended; NaN: not known. They are the child's if it alone has ended. */
void gt_process_history_took_over(struct gt_process_history *history, pid_t parent, pid_t child, double seconds);
/* Forks went unheard. */
void gt_process_history_lost(struct gt_process_history *history);
/* The tracker has waited for `pid`. */
void gt_process_history_reaped(struct gt_process_history *history, pid_t pid, int64_t now_ns);

/* Those that are new, have another name or have ended since the last call; now and then those whose figures have grown,
 * too. Borrowed until the next call. -ENOMEM. */
int gt_process_history_changes(struct gt_process_history *history, const struct gt_process_record **ret, size_t *count);
/* All so far. -ENOMEM. */
int gt_process_history_records(const struct gt_process_history *history, struct gt_process_records *ret);
/* Those that have ended, into snapshot->past. -ENOMEM. */
int gt_process_history_past(const struct gt_process_history *history, struct gt_snapshot *snapshot);
/* Returns how many there were beyond what it holds. */
uint64_t gt_process_history_left_out(const struct gt_process_history *history);

#endif
