/* The times of readings: samples at the period asked for; between samples that are far apart a reading of everything each second; and
 * looks at the processes' memory alone, soon after each birth and while memory changes. Arithmetic only. Times are CLOCK_MONOTONIC, ns. */
#ifndef GT_SAMPLE_SCHEDULE_H
#define GT_SAMPLE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum gt_due {
    GT_DUE_NOTHING,
    GT_DUE_LOOK,    /* at the processes and their memory */
    GT_DUE_READING, /* of everything, not recorded */
    GT_DUE_SAMPLE,  /* recorded */
};

enum { GT_LOOKS_A_BIRTH = 4 };

struct gt_schedule {
    int64_t period_ns;
    int64_t sample_ns, reading_ns;     /* when they are due next */
    int64_t look_ns[GT_LOOKS_A_BIRTH]; /* the same of looks, each so long after a birth; 0: none is */
    int64_t change_ns;                 /* the same while memory changes */
    int64_t poll_ns;                   /* births are not heard of: when to look for them; 0: they are */
    int64_t quiet_until_ns;            /* no look before */
    int64_t birth_ns;                  /* the last */
    uint64_t born;                     /* processes of the job so far */
    double memory;                     /* of the job at the last look, bytes */
    uint64_t missed;                   /* samples whose time was past when they could be taken */
};

void gt_schedule_start(struct gt_schedule *schedule, int64_t now_ns, int64_t period_ns);
/* Births are heard of as they happen (`hears`), or have to be looked for. */
void gt_schedule_listen(struct gt_schedule *schedule, bool hears, int64_t now_ns);
/* The job has had `born` processes by now. */
void gt_schedule_births(struct gt_schedule *schedule, int64_t now_ns, uint64_t born);
/* A look or a reading found so many bytes of memory. */
void gt_schedule_memory(struct gt_schedule *schedule, int64_t now_ns, double bytes);
int64_t gt_schedule_next(const struct gt_schedule *schedule);
/* Take what is due now, the larger thing where several are; it counts as done. */
enum gt_due gt_schedule_take(struct gt_schedule *schedule, int64_t now_ns);
/* A look has used so much CPU time: the next waits until looks use no more than a hundredth of a core. */
void gt_schedule_looked(struct gt_schedule *schedule, int64_t now_ns, int64_t used_ns);

#endif
