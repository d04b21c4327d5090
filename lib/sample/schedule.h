/* The times of readings. Arithmetic only. Times are CLOCK_MONOTONIC, ns.
 *
 * A sample is taken at the period asked for; between samples that are far apart everything is read once a second. While a job has several
 * processes, which share memory, only their memory is read every 50 ms, or less often where that would take more than 0.5 % of a core over
 * 10 s; then the job's own control group alone is read every 50 ms. */
#ifndef GT_SAMPLE_SCHEDULE_H
#define GT_SAMPLE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum gt_due {
    GT_DUE_NOTHING,
    GT_DUE_POLL,    /* of the memory of the job's own control group */
    GT_DUE_LOOK,    /* at the processes and their memory */
    GT_DUE_READING, /* of everything, not recorded */
    GT_DUE_SAMPLE,  /* recorded */
};

struct gt_schedule {
    int64_t period_ns;
    int64_t sample_ns, reading_ns; /* when they are due next */
    int64_t looked_ns, polled_ns;  /* the last times; any reading is a look, and any look a poll */
    int64_t allowed_ns;            /* the next look, by the CPU time that looks used */
    int64_t quiet_until_ns;        /* no look before */
    bool hears;                    /* births are heard of as they happen; else they have to be looked for */
    bool has_birth, has_several, has_group;
    uint64_t born;   /* processes of the job so far */
    uint64_t missed; /* samples whose time was past when they could be taken */
};

void gt_schedule_start(struct gt_schedule *schedule, int64_t now_ns, int64_t period_ns, bool hears);
/* The job has had `born` processes so far. */
void gt_schedule_births(struct gt_schedule *schedule, uint64_t born);
/* A look or a reading found that the job has several processes, and whether it has a control group of its own. */
void gt_schedule_processes(struct gt_schedule *schedule, bool has_several, bool has_group);
int64_t gt_schedule_next(const struct gt_schedule *schedule);
/* Take what is due now, the larger thing where several are; it counts as done. */
enum gt_due gt_schedule_take(struct gt_schedule *schedule, int64_t now_ns);
/* A look has used so much CPU time. */
void gt_schedule_looked(struct gt_schedule *schedule, int64_t now_ns, int64_t used_ns);

#endif
