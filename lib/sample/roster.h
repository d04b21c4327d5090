/* A roster lists who belonged to the job: every process by name, from its beginning to its end.
 *
 * Two sources: the processes of the tree, each time they are read; and the kernel's events, where they may be had, which also tell of
 * processes that lived between two readings, with exact moments, and by exit records with their last name, their CPU time and peak. */
#ifndef GT_SAMPLE_ROSTER_H
#define GT_SAMPLE_ROSTER_H

#include "collect/process/events.h"
#include "sample/life.h"
#include "sample/tree.h"

struct gt_roster;

/* At most so many are kept; later ones are only counted. */
enum {
    GT_ROSTER_MOST = 100000, /* with detail */
    GT_ROSTER_FEW = 1000,    /* in any other recording */
};

/* `most`: how many it holds. `launched`: the main process was forked by the tracker, and begins when tracking does. -ENOMEM. */
int gt_roster_new(struct gt_roster **ret, const struct gt_root *root, size_t most, bool launched,
                  struct gt_error *error);
void gt_roster_free(struct gt_roster *roster);
/* Times are told in seconds since then, CLOCK_MONOTONIC. */
void gt_roster_begin(struct gt_roster *roster, int64_t origin_ns);

/* An event about a process of the job. `has_ended`: none of its threads is left. -ENOMEM. */
int gt_roster_hear(struct gt_roster *roster, const struct gt_event *event, bool has_ended);
/* The tree was read: names and figures; who is gone or a zombie has ended by now, unless the kernel told when. -ENOMEM. */
int gt_roster_read(struct gt_roster *roster, const struct gt_tree *tree, int64_t now_ns);
/* `parent`, a member that lives or is a zombie, was read after the end of its child `child`. Since that was so before, it has taken over
 * `seconds` of CPU time beyond what was read of the children that ended; NaN: not known. They are the child's if it alone has ended. */
void gt_roster_took_over(struct gt_roster *roster, pid_t parent, pid_t child, double seconds);
/* Forks went unheard. */
void gt_roster_lost(struct gt_roster *roster);
/* The tracker has waited for `pid`. */
void gt_roster_reaped(struct gt_roster *roster, pid_t pid, int64_t now_ns);

/* Those that are new, have another name or have ended since the last call; now and then those whose figures have grown,
 * too. Borrowed until the next call. -ENOMEM. */
int gt_roster_changes(struct gt_roster *roster, const struct gt_life **ret, size_t *count);
/* All so far. -ENOMEM. */
int gt_roster_lives(const struct gt_roster *roster, struct gt_lives *ret);
/* Those that have ended, into frame->past. -ENOMEM. */
int gt_roster_past(const struct gt_roster *roster, struct gt_frame *frame);
/* Returns how many there were beyond what it holds. */
uint64_t gt_roster_left_out(const struct gt_roster *roster);

#endif
