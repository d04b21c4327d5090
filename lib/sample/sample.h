/* A sample is one moment of one recording, as rows. */
#ifndef GT_SAMPLE_SAMPLE_H
#define GT_SAMPLE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sample/energy_reading.h"
#include "sample/process_record.h"
#include "schema/metric.h"

struct gt_row {
    enum gt_scope scope;
    pid_t pid; /* PROCESS rows: its pid, parent and start; else 0 */
    pid_t parent;
    uint64_t start;
    int rank;   /* 1 more than that of the process; 0: it is of none */
    int device; /* GPU rows: index into gt_machine.gpu; else -1 */
    double value[GT_METRIC_COUNT];
};

/* row[0..3] are the scopes SYSTEM, MAIN, DESCENDANTS, COMBINED in that order; then one GPU row for each device; then,
 * when detail was asked for, one PROCESS row for each process. */
struct gt_sample {
    int64_t real_ns; /* since 1970-01-01 UTC: the moment of the readings */
    int64_t monotonic_ns;
    size_t row_count;
    struct gt_row *row;
    struct gt_energy_reading energy;
    size_t record_count;
    /* Of a list: the processes that came, got another name or ended since the last sample. */
    const struct gt_process_record *record;
};

enum { GT_FIXED_ROWS = 4 };

#endif
