/* The largest sum to which the high-water marks of processes that lived together can have come: an upper bound of what a job
 * ever had, also between samples and for processes that no sample met.
 *
 * A mark is often told only when its process has ended, and is then added to all the time in which it lived. Time is cut where a
 * living process began and where one ended whose mark is not final yet, and of each such piece only the largest sum is kept, so
 * memory grows with the processes that live and not with those that ever lived. */
#ifndef GT_SAMPLE_PEAK_BOUND_H
#define GT_SAMPLE_PEAK_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A process begins now. *ret is its handle. 0 or -ENOMEM. */
int gt_peak_bound_begin(struct gt_peak_bound *bound, uint32_t *ret);
/* Its mark is at least so many bytes. */
void gt_peak_bound_raise(struct gt_peak_bound *bound, uint32_t process, double mark);
/* It ends now; its mark may still be raised. 0 or -ENOMEM, with which it goes on. */
int gt_peak_bound_end(struct gt_peak_bound *bound, uint32_t process);
/* Its mark is final, and the handle is given back; it has ended. */
void gt_peak_bound_settle(struct gt_peak_bound *bound, uint32_t process);
/* As if it had never been. */
void gt_peak_bound_drop(struct gt_peak_bound *bound, uint32_t process);
/* Bytes. Costs a step for each process that is not settled. */
double gt_peak_bound_value(const struct gt_peak_bound *bound);
void gt_peak_bound_release(struct gt_peak_bound *bound);

#endif
