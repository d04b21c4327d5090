#include "api/meter_join.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

int gt_meter_join_open(struct gt_meter_join *ret, const char *name, const struct gt_machine *machine,
                       struct gt_error *error)
{
    *ret = (struct gt_meter_join){.name = name, .begin_ns = machine->start_real_ns};
    return name ? gt_meter_open(&ret->meter, name, error) : 0;
}

void gt_meter_join_close(struct gt_meter_join *join)
{
    gt_meter_close(join->meter);
    free(join->row);
    *join = (struct gt_meter_join){0};
}

const struct gt_sample *gt_meter_join_sample(struct gt_meter_join *join, const struct gt_sample *sample)
{
    if (!join->meter || !sample->row_count)
        return sample;
    if (GT_GROW_TO(join->row, join->capacity, sample->row_count) < 0)
        return NULL;
    if (join->begin_ns <= 0 || join->begin_ns > sample->real_ns)
        join->begin_ns = sample->real_ns; /* the recording does not tell when it began */
    memcpy(join->row, sample->row, sample->row_count * sizeof *join->row);
    join->row[GT_SCOPE_SYSTEM].value[GT_WALL_POWER] = gt_meter_watts(join->meter, sample->real_ns);
    join->row[GT_SCOPE_SYSTEM].value[GT_WALL_ENERGY] = gt_meter_joules(join->meter, join->begin_ns, sample->real_ns);
    join->sample = *sample;
    join->sample.row = join->row;
    join->sample.energy.wall = join->row[GT_SCOPE_SYSTEM].value[GT_WALL_ENERGY];
    return &join->sample;
}

/* Replace the recording's own provenance of these figures. */
static int tell_source(const struct gt_meter_join *join, struct gt_outcome *outcome)
{
    static const enum gt_metric_id metrics[] = {GT_WALL_POWER, GT_WALL_ENERGY};
    enum { METRICS = sizeof metrics / sizeof *metrics };
    struct gt_provenance *all = calloc(outcome->provenance_count + METRICS, sizeof *all);
    size_t count = 0;
    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < outcome->provenance_count; i++)
        if (outcome->provenance[i].metric != GT_WALL_POWER && outcome->provenance[i].metric != GT_WALL_ENERGY)
            all[count++] = outcome->provenance[i];
    for (size_t i = 0; i < METRICS; i++) {
        struct gt_provenance *entry = &all[count++];
        *entry = (struct gt_provenance){.scope = GT_SCOPE_SYSTEM, .metric = metrics[i], .exactness = GT_SAMPLED};
        snprintf(entry->source, sizeof entry->source, "external power meter, %.100s", join->name);
        snprintf(entry->note, sizeof entry->note, "joined afterwards; a line every %.3g s, lines left out: %llu",
                 gt_meter_period(join->meter), (unsigned long long)gt_meter_left_out(join->meter));
    }
    outcome->provenance = all;
    outcome->provenance_count = count;
    return 0;
}

int gt_meter_join_outcome(const struct gt_meter_join *join, int64_t last_ns, struct gt_outcome *outcome,
                          struct gt_error *error)
{
    int64_t end_ns = last_ns;
    if (outcome->complete && !isnan(outcome->elapsed))
        end_ns = join->begin_ns + (int64_t)(outcome->elapsed * 1e9);
    double joules = gt_meter_joules(join->meter, join->begin_ns, end_ns);
    if (isnan(joules))
        return gt_error_set(error, EINVAL, "power meter %s: it has no lines of the time of the recording", join->name);
    outcome->value[GT_SCOPE_SYSTEM][GT_WALL_ENERGY] = joules;
    return tell_source(join, outcome) < 0 ? gt_error_system(error, ENOMEM, "power meter") : 0;
}
