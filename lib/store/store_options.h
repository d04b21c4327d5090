/* The options of a store are told when it is opened. */
#ifndef GT_STORE_STORE_OPTIONS_H
#define GT_STORE_STORE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct gt_sampler;
struct gt_attribution;

/* The tracking file is a folder of records as AIPowerMeter's, for our own programs. */
struct gt_experiment_options {
    double measurement_period; /* seconds that a record tells of at least */
    bool all_gpu_users;        /* all processes on GPUs count as the job's */
    /* May be NULL. Instead of that folder: called with the "metrics" of each record as JSON, on the thread that samples, which
     * holds a lock: it may call no function of the tracker. Negative errno: the record cannot be taken, and there are no more. */
    int (*record)(void *context, const char *metrics);
};

/* The tracker's readings, for a store that tells more than samples do. */
struct gt_store_readings {
    const struct gt_sampler *sampler;
    const struct gt_attribution *attribution;
    struct gt_experiment_options experiment;
    void *context; /* for what is handed over */
};

struct gt_store_options {
    const char *path; /* after gt_store_path() */
    bool overwrite;
    bool detail;                              /* keep PROCESS and GPU rows too */
    bool names;                               /* keep a list of processes where the format has a place for it */
    const struct gt_store_readings *readings; /* NULL: there are none; what they name outlives the store */
};

/* Recordings may wait in a folder until a server has them (engine/spool.h). As long as one is written a file with this end lies beside
 * it, and as long as this file is in the folder there is no room for more samples: minutes and final figures alone are written. */
#define GT_SPOOL_LOCK ".lock"
#define GT_SPOOL_FULL ".full"

/* Counts how far a recording was read: rows of the samples, of GPUs and of processes. A file that is written meanwhile is opened anew
 * from time to time, for a moment, and read on from there: who held it open would hold up the tracker's end. */

struct gt_recording_place {
    int64_t row[3];
};

#endif
