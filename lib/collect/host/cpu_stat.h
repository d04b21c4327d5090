/* Busy CPU time of the machine, and where the frame has packages, of each of them, from one reading of /proc/stat.
 *
 * A CPU that goes offline loses its line, and keeps its counter: what it had used until then is counted when it is back. One
 * that is new counts from its first reading on. */
#ifndef GT_COLLECT_CPU_STAT_H
#define GT_COLLECT_CPU_STAT_H

#include "collect/collector.h"

struct gt_cpu_stat {
    struct gt_topology *topology;
    const struct gt_root *root;
    int fd; /* negative errno: it cannot be read */
    char *text;
    size_t size;
    double *last; /* of each CPU, seconds; NaN: not seen yet */
    size_t cpu_capacity;
    double busy[GT_PACKAGES]; /* seconds since opening */
    int cpus[GT_PACKAGES];    /* online at the last reading */
};

/* Forgets the frame's packages where it is not known on which every CPU is. -ENOMEM. */
int gt_cpu_stat_open(struct gt_cpu_stat *stat, const struct gt_collect_options *options, struct gt_frame *frame);
/* Seconds since the machine started, NaN without. Fills the packages' CPU_TIME. */
double gt_cpu_stat_read(struct gt_cpu_stat *stat, struct gt_frame *frame);
/* Show the packages' last reading again. */
void gt_cpu_stat_show(const struct gt_cpu_stat *stat, struct gt_frame *frame);
void gt_cpu_stat_close(struct gt_cpu_stat *stat);

#endif
