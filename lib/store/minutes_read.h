/* The minutes of a finished recording, read back. */
#ifndef GT_STORE_MINUTES_READ_H
#define GT_STORE_MINUTES_READ_H

#include "sample/machine.h"
#include "sample/sample.h"
#include "store/minute.h"

/* One statistic of one minute. The sample has its fixed rows, with what the minute has of the wanted columns; NaN elsewhere. */
struct gt_minute_row {
    int64_t begin_s;
    enum gt_minute_statistic statistic;
    double weight; /* samples */
    const struct gt_sample *sample;
};

struct gt_minutes_use {
    void *context;
    bool (*wants)(const void *context, const struct gt_column *column);
    void (*take)(void *context, const struct gt_minute_row *row);
};

/* In the order of the file. The machine is that of the recording. -ENOTSUP: it has no minutes. */
int gt_minutes_read(const char *path, const struct gt_machine *machine, const struct gt_minutes_use *use,
                    struct gt_error *error);

#endif
