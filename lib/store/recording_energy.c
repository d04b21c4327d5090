#include "store/recording_energy.h"

#include <errno.h>

#include "base/clock.h"
#include "store/store.h"

/* Few columns of a wide file are read much faster. */
static int want_columns(struct gt_recording *recording, struct gt_error *error)
{
    struct gt_columns columns;
    const char *name[GT_METRIC_COUNT];
    size_t count = 0;
    gt_store_columns(&columns, gt_recording_machine(recording));
    for (size_t i = 0; i < columns.count; i++) {
        const struct gt_column *column = &columns.column[i];
        bool is_row = column->scope == GT_SCOPE_SYSTEM || column->scope == GT_SCOPE_COMBINED;
        if (is_row && count < GT_METRIC_COUNT && gt_energy_reading_uses(column->metric) &&
            gt_recording_has(recording, column->name))
            name[count++] = column->name;
    }
    return gt_recording_columns(recording, name, count, error);
}

struct last {
    struct gt_energy_reading reading;
    double time;
    int64_t real_ns;
};

static int add_samples(struct gt_energy_curve *curve, struct gt_recording *recording, bool is_monotonic,
                       struct last *last, struct gt_error *error)
{
    const struct gt_sample *sample;
    int status;
    while ((status = gt_recording_next(recording, &sample, error)) > 0) {
        last->time = gt_seconds(is_monotonic ? sample->monotonic_ns : sample->real_ns);
        last->real_ns = sample->real_ns;
        gt_energy_reading_update(&last->reading, &sample->energy);
        if (gt_energy_curve_add(curve, last->time, &sample->energy) < 0)
            return gt_error_system(error, ENOMEM, "energy");
    }
    return status;
}

/* The run ended after its last sample. */
static int add_outcome(struct gt_energy_curve *curve, const struct gt_recording *recording, struct last *last)
{
    const struct gt_outcome *outcome = gt_recording_outcome(recording);
    int64_t start_ns = gt_recording_machine(recording)->start_real_ns;
    double after = outcome && start_ns > 0 ? gt_seconds(start_ns) + outcome->elapsed - gt_seconds(last->real_ns) : NAN;
    struct gt_energy_reading end;
    if (!(after > 0) || isnan(last->time))
        return 0;
    gt_energy_reading_take(&end, outcome->value[GT_SCOPE_SYSTEM], outcome->value[GT_SCOPE_COMBINED]);
    gt_energy_reading_update(&last->reading, &end);
    return gt_energy_curve_add(curve, last->time + after, &last->reading);
}

int gt_recording_energy(struct gt_energy_curve *ret, const char *path, bool is_monotonic, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    struct last last = {.time = NAN};
    gt_energy_curve_init(ret, &(struct gt_machine){0});
    gt_energy_reading_clear(&last.reading);
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0) {
        gt_energy_curve_init(ret, gt_recording_machine(recording));
        status = want_columns(recording, error);
    }
    if (status >= 0)
        status = add_samples(ret, recording, is_monotonic, &last, error);
    if (status >= 0 && (add_outcome(ret, recording, &last) < 0 || gt_energy_curve_finish(ret) < 0))
        status = gt_error_system(error, ENOMEM, "%s", path);
    gt_recording_close(recording);
    return status;
}
