/* The largest memory that a job has had, of each scope.
 *
 *   best   the largest value of a sample or of a confirmed reading, or the high-water mark of one process where that is more
 *   most   high-water marks of the processes that lived together, added up: an upper bound
 * The kernel's exit records have the marks of all processes. Without them the marks of processes that ended between two readings are
 * unknown, and there is no bound. */
#ifndef GT_SAMPLE_JOB_PEAK_H
#define GT_SAMPLE_JOB_PEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/job_memory.h"

/* The largest sum to which the high-water marks of processes that lived together can have come: an upper bound of what a job
 * ever had, also between samples and for processes that no sample met.
 *
 * A mark is often told only when its process has ended, and is then added to all the time in which it lived. Time is cut where a
 * living process began and where one ended whose mark is not final yet, and of each such piece only the largest sum is kept, so
 * memory grows with the processes that live and not with those that ever lived. */

/* A piece of time: from where a process began, or ended, to the next piece. */
struct gt_peak_piece {
    double most;  /* largest sum of final marks in it, less those that `more` of this and the pieces before has */
    double more;  /* final marks that count in this piece and all behind it */
    double hwm;   /* of the process that begins here, as far as it is known; negative where it ends */
    uint32_t end; /* the piece that begins where the process ended; GT_PEAK_NONE: it lives */
    uint32_t previous, next;
};

/* All zero is an empty one. */
struct gt_peak_bound {
    struct gt_peak_piece *piece; /* [0] is the time before the first process */
    size_t capacity;
    uint32_t count;
    uint32_t last, free;
    double more; /* of all pieces */
};

#define GT_PEAK_NONE UINT32_MAX

enum { GT_PEAK_DESCENDANTS, GT_PEAK_COMBINED, GT_PEAK_SCOPES };

struct gt_scope_peak {
    double best;          /* bytes; 0: nothing was seen */
    double private_bytes; /* the part of `best` that one process had alone; NaN: not known */
};

struct gt_peak_member; /* one process, living or not settled yet */

/* All zero is that of a job that has not begun. */
struct gt_job_peak {
    struct gt_scope_peak scope[GT_PEAK_SCOPES];   /* of confirmed readings and settled processes */
    struct gt_scope_peak pending[GT_PEAK_SCOPES]; /* of readings since */
    double pending_guess[GT_PEAK_SCOPES],
        between_guess;      /* the parts that a reading may correct; NaN: it may correct all */
    double pending_between; /* the same of the group's mark */
    struct gt_peak_bound bound[GT_PEAK_SCOPES];
    struct gt_peak_member *member;
    size_t member_count, member_capacity;
    uint32_t free; /* 1 + the first unused one; 0: none */
    bool has_main;
    double between;     /* the most that the group's mark had between two readings, bytes */
    double largest_hwm; /* the largest of any process at a reading */
    double group;       /* upper bound by the job's own control group, bytes; 0: not known */
    uint64_t unknown;   /* processes that ended and whose final mark is not known */
};

void gt_job_peak_release(struct gt_job_peak *peak);
/* The life of a process, in this order: begin; seen, at each reading; end, by the membership, when it has ended; tell, when its exit
 * record comes, perhaps several times; settle. Marks are high-water marks in bytes. */

/* Begin a process, the first of them the main process. *ret is its handle. 0 or -ENOMEM. */
int gt_job_peak_begin(struct gt_job_peak *peak, uint32_t *ret);
/* Take in the estimate of a reading in a scope. It counts at once if it is certain, otherwise when it is confirmed. */
void gt_job_peak_reading(struct gt_job_peak *peak, int scope, const struct gt_scope_memory *memory, bool is_certain);
/* Count the uncertain readings of a scope since the last call, which were too high by `excess` bytes, but by no more than their guesses
 * were above the guess of now. */
void gt_job_peak_confirm(struct gt_job_peak *peak, int scope, double excess, double guess);
/* Raise the largest value of a scope by what another counter had between two readings. */
void gt_job_peak_raise(struct gt_job_peak *peak, int scope, double bytes);
/* Take in what the mark of the job's own group had between two readings. The marks of its processes limit their part of it; the rest was
 * shared memory that no process mapped. `is_certain`: as above. */
void gt_job_peak_between(struct gt_job_peak *peak, double bytes, double guess, bool is_certain);
/* Take in the mark of a process, or its resident set where that is more. `is_old`: the mark may be from before tracking began, and is
 * but a bound until it rises. */
void gt_job_peak_seen(struct gt_job_peak *peak, uint32_t member, double rss, double hwm, bool is_old);
/* End it now; its mark may still come. */
void gt_job_peak_end(struct gt_job_peak *peak, uint32_t member);
/* Take in its mark: of its exit record, or as the main process knows itself. `is_copy`: it never executed a program; unless a
 * reading met it, its mark is its parent's. */
void gt_job_peak_tell(struct gt_job_peak *peak, uint32_t member, double hwm, bool is_copy);
/* Take in the largest mark of a process and of the children that it waited for, as wait4 has it: a bound for this one. */
void gt_job_peak_limit(struct gt_job_peak *peak, uint32_t member, double hwm);
/* Give the handle back: nothing more will come. `has_mark`: its exit record has come. */
void gt_job_peak_settle(struct gt_job_peak *peak, uint32_t member, bool has_hwm);
/* Forget a process that was no part of the job, as if it had never been. */
void gt_job_peak_drop(struct gt_job_peak *peak, uint32_t member);
/* Returns the largest value of a scope. It costs a step for each process that is not settled. */
struct gt_scope_peak gt_job_peak_best(const struct gt_job_peak *peak, int scope);
/* Returns the part of what the group's mark had between two readings that no process had, bytes; 0: none is known. */
double gt_job_peak_unmapped(const struct gt_job_peak *peak);
/* Returns the upper bound of a scope, bytes; NaN: not known. */
double gt_job_peak_most(const struct gt_job_peak *peak, int scope);

#endif
