/* The largest memory that a job has had, from looks at its processes and from what the kernel tells of them at their ends.
 *
 * Of each scope three figures:
 *   best   the largest estimate: of a look, or of a moment between two looks at which one process had its high-water mark
 *   least  what it certainly came to: at a look, or in one process alone
 *   most   high-water marks of processes that lived together, added up, see below
 * Marks that the kernel does not tell (without exit records, of processes that end between two looks) are missing in `most`;
 * how many those are is counted. */
#ifndef GT_SAMPLE_JOB_PEAK_H
#define GT_SAMPLE_JOB_PEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/shared_memory.h"

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
    double mark;  /* of the process that begins here, as far as it is known; negative where it ends */
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

/* Begin a process now. *ret is its handle. 0 or -ENOMEM. */
int gt_peak_bound_begin(struct gt_peak_bound *bound, uint32_t *ret);
/* Raise its mark to so many bytes, if it is lower. */
void gt_peak_bound_raise(struct gt_peak_bound *bound, uint32_t process, double mark);
/* End it now; its mark may still be raised. 0 or -ENOMEM, with which it goes on. */
int gt_peak_bound_end(struct gt_peak_bound *bound, uint32_t process);
/* Give back the handle of a process that has ended and whose mark is final. */
void gt_peak_bound_settle(struct gt_peak_bound *bound, uint32_t process);
/* Forget it, as if it had never been. */
void gt_peak_bound_drop(struct gt_peak_bound *bound, uint32_t process);
/* Returns the bound in bytes. It costs a step for each process that is not settled. */
double gt_peak_bound_value(const struct gt_peak_bound *bound);
void gt_peak_bound_release(struct gt_peak_bound *bound);

enum { GT_PEAK_DESCENDANTS, GT_PEAK_COMBINED, GT_PEAK_SCOPES };

struct gt_scope_peak {
    double best, least;   /* bytes; 0: nothing was seen */
    double private_bytes; /* the part of `best` that one process had alone; NaN: not known */
    double counted;       /* the part of it that a walk saw */
    bool is_between;      /* it is no look's figure: a process had its mark between two looks */
};

struct gt_peak_member; /* one process, living or not settled yet */

/* All zero is that of a job that has not begun. */
struct gt_job_peak {
    struct gt_scope_peak scope[GT_PEAK_SCOPES];
    struct gt_peak_bound bound[GT_PEAK_SCOPES];
    struct gt_scope_memory now[GT_PEAK_SCOPES]; /* at the last look, less what has ended since */
    struct gt_peak_member *member;
    size_t member_count, member_capacity;
    uint32_t free; /* 1 + the first unused one; 0: none */
    uint64_t births;
    bool has_main;
    uint64_t looks;
    double largest_file;                  /* bytes of files in any process that was looked at */
    double all_files;                     /* in all processes of a look together, each counted, at most */
    double largest_mark;                  /* the largest that any had at a look */
    uint64_t untold;                      /* processes that ended and whose final mark is not known */
    struct gt_peak_bound untold_together; /* how many of them lived at the same time */
    double least_untold; /* the smallest mark that looks had of any of them, bytes; 0: some were never seen */
    /* No process that the main process or its children waited for had more, bytes; 0: not known. */
    double largest_waited;
};

/* What a look says of a process. */
struct gt_peak_look {
    double rss, file_bytes; /* bytes */
    double own;             /* what would go if it ended */
    double began_with;      /* what it had from its parent, until it executes a program */
    double mark;            /* its high-water mark, as last read; NaN: not read */
    bool is_old;            /* the mark may be from before tracking began */
    bool is_pending;        /* see gt_process_is_pending */
};

void gt_job_peak_release(struct gt_job_peak *peak);
/* The life of a process, in this order: begin; at each look of the sampler look once, and then seen for each process; end, by the
 * membership, when it has ended; tell, when its exit record comes, perhaps several times; settle. Marks are high-water marks in
 * bytes. */

/* Begin a process, the first of them the main process; `parent` is the handle of the one that forked it, or GT_PEAK_NONE. *ret is
 * its handle. 0 or -ENOMEM. */
int gt_job_peak_begin(struct gt_job_peak *peak, uint32_t parent, uint32_t *ret);
/* Take in a look: first what it says of the scopes, the bytes of files that any process has in it at most, and that all have together, then
 * of each process. */
void gt_job_peak_look(struct gt_job_peak *peak, const struct gt_scope_memory *descendants,
                      const struct gt_scope_memory *combined, double largest_file, double all_files);
void gt_job_peak_seen(struct gt_job_peak *peak, uint32_t member, const struct gt_peak_look *look);
/* Raise its mark to what it has had since tracking began, as the main process knows itself. */
void gt_job_peak_rise(struct gt_job_peak *peak, uint32_t member, double mark);
/* End it now; `is_forked`: it never executed a program, as far as is known. */
void gt_job_peak_end(struct gt_job_peak *peak, uint32_t member, bool is_forked);
/* Take in the mark of its exit record; `is_forked`: it never executed a program. */
void gt_job_peak_tell(struct gt_job_peak *peak, uint32_t member, double mark, bool is_forked);
/* Raise what a scope (GT_PEAK_DESCENDANTS, GT_PEAK_COMBINED) certainly came to, in bytes, as wait4 told the accounting. */
void gt_job_peak_certain(struct gt_job_peak *peak, int scope, double bytes);
/* Bound the mark of a process from above, as wait4 told the accounting; that of a process it waited for may be higher. */
void gt_job_peak_limit(struct gt_job_peak *peak, uint32_t member, double mark);
/* Bound what looks missed of processes whose final mark nobody told: at the end of the main process wait4 told that neither it nor any
 * process that was waited for had more than this. */
void gt_job_peak_waited(struct gt_job_peak *peak, double bytes);
/* Give the handle back: nothing more will be told. `is_told`: its exit record has come. */
void gt_job_peak_settle(struct gt_job_peak *peak, uint32_t member, bool is_told);
/* Forget a process that was no part of the job, as if it had never been. */
void gt_job_peak_drop(struct gt_job_peak *peak, uint32_t member);
/* Returns the upper bound of a scope, bytes. */
double gt_job_peak_most(const struct gt_job_peak *peak, int scope);

#endif
