/* A recording joined with the file of an external power meter that ran beside it. */
#ifndef GT_API_METER_JOIN_H
#define GT_API_METER_JOIN_H

#include "collect/energy/meter.h"
#include "sample/sample.h"

struct gt_meter_join {
    struct gt_meter *meter; /* NULL: nothing is joined */
    const char *name;
    int64_t begin_ns;
    struct gt_row *row;
    size_t capacity;
    struct gt_sample sample;
};

/* `name` NULL: samples and outcomes stay as they are. */
int gt_meter_join_open(struct gt_meter_join *ret, const char *name, const struct gt_machine *machine,
                       struct gt_error *error);
/* The sample with power and energy at the wall, borrowed until the next call; NULL without memory. */
const struct gt_sample *gt_meter_join_sample(struct gt_meter_join *join, const struct gt_sample *sample);
/* The same of the whole run; `last_ns` is the moment of the last sample. Its provenance is replaced by
 * one that the caller frees. -EINVAL: the meter has no lines of the time of the run. */
int gt_meter_join_outcome(const struct gt_meter_join *join, int64_t last_ns, struct gt_outcome *outcome,
                          struct gt_error *error);
void gt_meter_join_close(struct gt_meter_join *join);

#endif
