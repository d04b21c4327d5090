/* A minute sums up the samples of one minute of the clock, column by column, for stores that keep rows of minutes beside those of
 * samples. Counters and peaks have only a last value: their mean would say nothing. */
#ifndef GT_STORE_MINUTES_H
#define GT_STORE_MINUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample/machine.h"
#include "sample/sample.h"
#include "store/column.h"

#define GT_MINUTES_TABLE "minutes" /* in SQLite */

enum gt_minute_statistic { GT_MINUTE_MEAN, GT_MINUTE_MIN, GT_MINUTE_MAX, GT_MINUTE_LAST, GT_MINUTE_STATISTICS };
extern const char *const gt_minute_statistic_names[GT_MINUTE_STATISTICS];

struct gt_minute_figure {
    double sum, min, max, last;
    uint32_t count; /* samples that had it */
};

struct gt_minute {
    int64_t begin_s; /* since 1970-01-01 UTC */
    uint64_t number; /* of the minutes before it */
    uint32_t weight; /* samples; 0: none yet */
    size_t count;    /* columns */
    struct gt_minute_figure *figure;
};

/* Returns 0 or -ENOMEM. */
int gt_minute_init(struct gt_minute *minute, size_t columns);
void gt_minute_release(struct gt_minute *minute);
/* Returns true where it has samples and this moment is of another minute, be it one before because somebody set the clock. */
bool gt_minute_is_over(const struct gt_minute *minute, int64_t real_ns);
/* Begin the next one, without samples. */
void gt_minute_next(struct gt_minute *minute);
/* Take in the sample of this moment; gt_minute_add then takes the value of each column, in its units. */
void gt_minute_begin_sample(struct gt_minute *minute, int64_t real_ns);
void gt_minute_add(struct gt_minute *minute, size_t column, double value);
/* Returns NaN where nothing was measured, or the column has no such statistic. */
double gt_minute_value(const struct gt_minute *minute, const struct gt_columns *columns, size_t column,
                       enum gt_minute_statistic statistic);

/* ---- The minutes of a finished recording, read back ---- */

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
