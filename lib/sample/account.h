/* Counters of a job whose processes come and go.
 *
 * The kernel hands the CPU time, faults and bytes of a child to the parent that waits for it. So the job has used
 *     sum over living members (own + taken over from waited-for children + lost - base) + those that ended without a parent in it.
 * All that vanished children had used must show up in what their parent has taken over since it was admitted; what does
 * not was lost by the kernel (a parent that ignores SIGCHLD) and is kept here. Both are running totals, so neither clock
 * ticks nor the order of readings add up to an error. What wait4 says of a child (gt_account_reaped) is exact and takes the
 * place of all that was added up for it. Where the kernel tells what each task used that ended, what ended and what lives comes to no less
 * than that together, whoever waited for whom. */
#ifndef GT_SAMPLE_ACCOUNT_H
#define GT_SAMPLE_ACCOUNT_H

#include <sys/resource.h>

#include "collect/process/events.h"
#include "sample/job_peak.h"
#include "sample/tree.h"

extern const enum gt_metric_id gt_accounted[GT_ACCOUNTED];

enum { GT_OWN = 5 }; /* the first of gt_accounted, of which a process's own value is its own alone */

struct gt_process_history;

struct gt_account {
    struct gt_process_history
        *history;                /* is told what a process used that no reading of it saw; NULL: nobody listens */
    double ended[GT_ACCOUNTED];  /* of members that ended and whose parent is no member */
    bool measured[GT_ACCOUNTED]; /* some member showed the counter */
    double main_own_cpu;         /* CPU time of the main process alone since tracking began */
    double main_own
        [GT_ACCOUNTED];     /* the same of other counters, where wait4 told of it and it had waited for nobody; or 0 */
    bool is_lone;           /* the main process had no descendants but samplers of trackers, which are left out */
    double main_bound;      /* no less than that, in any case; 0 unknown */
    double main_hwm_before; /* its mark when tracking began, if it is older; 0 */
    double main_hwm_held;   /* its mark while it was held back before its program, bytes; 0 it was not */
    double main_about;      /* its high-water mark or little more, bytes; 0 unknown */
    double main_peak;       /* high-water mark of the main process when wait4 told of it alone, bytes; 0 unknown */
    /* Seconds of processes that turned out to be no part of the job, though a member waited for them. */
    double left_out;
    double
        heard[GT_ACCOUNTED]; /* what exit records tell, and what the living have used, at most: a record may be late */
    double others_cpu;       /* seconds of all but the main process that a look came to: later ones come to no less */
    double others_left_out;  /* left_out then */
    double kept[GT_ACCOUNTED]; /* the same of the other counters, of all processes */
    uint64_t start_tick;       /* members older than this have a base; 0: none has */
};

void gt_account_init(struct gt_account *account, uint64_t start_tick);
/* Call for members added since the last call, after their first slow reading. */
void gt_account_admit(struct gt_account *account, struct gt_process *process);
/* After a snapshot was read: settle what vanished members leave. */
void gt_account_settle(struct gt_account *account, struct gt_tree *tree);
/* wait4 told of `pid`, a child of the tracker. The member is dropped from the tree. */
void gt_account_reaped(struct gt_account *account, struct gt_tree *tree, struct gt_job_peak *peak, pid_t pid,
                       const struct rusage *usage);
/* Take in what exit records tell of the members that have ended; those of the tree that have not have a handle in the job's peak. */
void gt_account_hear(struct gt_account *account, const struct gt_tree *tree, const struct gt_exit_record *ended);
/* Call after each look: what all have used never falls, though what children leave to their parents comes in clock ticks, and late. */
void gt_account_keep(struct gt_account *account, const struct gt_tree *tree);
/* Returns what a member and its ended descendants have used of gt_accounted[k] since tracking began. */
double gt_account_used(const struct gt_process *process, int k);
/* Totals of the job, NaN where nothing was measured. */
void gt_account_totals(const struct gt_account *account, const struct gt_tree *tree, double values[GT_METRIC_COUNT]);

#endif
