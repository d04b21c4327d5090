/* The request says what to ask a scheduler for next time, from what one run used, or from the most that several did. */
#ifndef GT_ANALYSE_USAGE_NEXT_TIME_H
#define GT_ANALYSE_USAGE_NEXT_TIME_H

#include "analyse/usage/figures.h"
#include "report/report.h"

/* The largest of each over the runs so far. NaN: no run can tell. */
struct gt_next_time {
    size_t runs;
    double memory;  /* bytes */
    double cores;   /* not rounded */
    double gpus;    /* 0: none was used */
    double gpu_ram; /* bytes, of the card that had the most in use */
    double seconds;
    double killed_at;    /* bytes at which a run was killed for memory, which then cannot tell; NaN: none was */
    double throttled_at; /* cores of the quota that held a run back, which then cannot tell; NaN: none was */
    bool is_by_core;     /* Slurm is asked for memory for each core: by all of the runs */
    size_t nodes;        /* the figures are those of one of so many; 0 and 1: there is one */
    int tasks;           /* among which Slurm divides cores; 1 where runs differ */
    int failed_with;     /* the exit status of the last run that failed; 0: none did */
    bool is_unfinished;  /* the recording of a run is: its tracker was killed, or goes on */
};

void gt_next_time_init(struct gt_next_time *next);
void gt_next_time_add(struct gt_next_time *next, const struct gt_usage *usage);
/* Instead of what the runs used, so many bytes and seconds are expected. */
void gt_next_time_expect(struct gt_next_time *next, double memory, double seconds);

/* It was killed at so many bytes: twice as much is asked for. NaN: it was not. */
void gt_next_time_kill(struct gt_next_time *next, double bytes);

/* "slurm", "k8s", "pbs", "lsf", "docker"; NULL behind the last. */
extern const char *const gt_request_kinds[];
/* Appends the request in the words and units of that scheduler; 0, or -ENOENT for a kind that there is not. */
int gt_next_time_request(struct gt_buffer *out, const struct gt_next_time *next, const char *kind);
/* Adds the requests of all kinds to a section. */
void gt_next_time_requests(struct gt_node *section, const struct gt_next_time *next);
/* Appends what a run that was killed or throttled or failed, or a recording that was not finished, leaves open: "more than 16.0 GB; the
 * limit ended the run before its peak"; nothing where there is none. */
void gt_next_time_doubt(struct gt_buffer *out, const struct gt_next_time *next);
/* Appends what to try where no scheduler has to be asked, "805 MB": the figures alone that a limit hid; nothing where there is none. */
void gt_next_time_try(struct gt_buffer *out, const struct gt_next_time *next);

/* The section "next_time", for programs. */
void gt_next_time_section(const struct gt_usage *usage, struct gt_node *root);

#endif
