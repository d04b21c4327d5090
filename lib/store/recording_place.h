/* Counts how far a recording was read: rows of the samples, of GPUs and of processes. A file that is written meanwhile is opened anew
 * from time to time, for a moment, and read on from there: who held it open would hold up the tracker's end. */
#ifndef GT_STORE_RECORDING_PLACE_H
#define GT_STORE_RECORDING_PLACE_H

#include <stdint.h>

struct gt_recording_place {
    int64_t row[3];
};

#endif
