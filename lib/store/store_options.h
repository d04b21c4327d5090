/* The options of a store are told when it is opened. */
#ifndef GT_STORE_STORE_OPTIONS_H
#define GT_STORE_STORE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct gt_store_options {
    const char *path; /* after gt_store_path() */
    bool overwrite;
    bool detail; /* keep PROCESS and GPU rows too */
    bool names;  /* keep a list of processes where the format has a place for it */
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
