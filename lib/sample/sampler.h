/* One reading of everything: the tree, its counters, the collectors, the walks over shared memory. */
#ifndef GT_SAMPLE_SAMPLER_H
#define GT_SAMPLE_SAMPLER_H

#include "collect/collector.h"
#include "sample/account.h"
#include "sample/sample.h"
#include "sample/tree.h"

struct gt_sampler_source {
    const struct gt_collector_type *type;
    void *state; /* NULL: not ready */
    struct gt_availability availability;
};

/* Resident memory of the scopes MAIN, DESCENDANTS and COMBINED, shared pages counted once. */
struct gt_job_memory {
    double ram[GT_FIXED_ROWS], private[GT_FIXED_ROWS], shared[GT_FIXED_ROWS], rss[GT_FIXED_ROWS];
    bool is_lower_bound; /* a process was not walked yet */
};

struct gt_sampler {
    struct gt_root root;
    struct gt_clock clock;
    struct gt_frame frame;
    struct gt_tree tree;
    struct gt_account account;
    struct gt_sampler_source *source;
    size_t source_count;
    struct gt_job_memory memory;
    int64_t thorough_ns; /* last search through every thread */
};

struct gt_sampler_options {
    pid_t pid;
    bool launched;
    const char *machine_root;
    const struct gt_clock *clock; /* NULL: the system's */
    const char *gpu_brand;
    const char *memory;
    const char *const *libraries;
    double period;
};

int gt_sampler_open(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error);
/* Read everything into sampler->frame. Vanished processes are settled and dropped. */
int gt_sampler_read(struct gt_sampler *sampler, int64_t patience_ns, struct gt_error *error);
void gt_sampler_close(struct gt_sampler *sampler);

/* Open the collectors alone, for `doctor`. */
int gt_sampler_probe(struct gt_sampler *sampler, const struct gt_sampler_options *options, struct gt_error *error);

#endif
