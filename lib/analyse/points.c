/* Values of a recording at given times. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "analyse/display.h"
#include "base/os/clock.h"
#include "base/csv.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "gpu_tracker.h"
#include "report/report.h"
#include "store/store.h"

enum { MOST_COLUMNS = 8 };

/* The columns of "combined_cpu_energy+main_ram". */
struct sum {
    const struct gt_columns *columns; /* of the recording */
    const struct gt_column *column[MOST_COLUMNS];
    size_t count;
    struct { /* the curve of energy is asked for these */
        enum gt_energy_device device;
        enum gt_energy_part part;
    } energy[MOST_COLUMNS];
    size_t energy_count;
};

static int add_column(struct sum *sum, const struct gt_recording *recording, const char *path, const char *name,
                      struct gt_error *error)
{
    int index = gt_store_column_find(sum->columns, name);
    if (index < 0 || !gt_recording_has(recording, sum->columns->column[index].name))
        return gt_error_set(error, ENOENT, "%s has no column \"%s\"", path, name);
    if (sum->count + sum->energy_count == MOST_COLUMNS)
        return gt_error_set(error, E2BIG, "at most %d columns can be added up", MOST_COLUMNS);
    const struct gt_column *column = &sum->columns->column[index];
    size_t last = sum->energy_count;
    if (column->scope >= 0 && gt_energy_column((enum gt_scope)column->scope, column->metric, &sum->energy[last].device,
                                               &sum->energy[last].part))
        sum->energy_count++;
    else
        sum->column[sum->count++] = column;
    return 0;
}

static int choose(struct sum *sum, struct gt_recording *recording, const char *path, const char *names,
                  struct gt_error *error)
{
    const char *wanted[MOST_COLUMNS + 1];
    int status = 0;
    sum->columns = gt_recording_list(recording);
    for (const char *name = names; status == 0 && name; name = strchr(name, '+') ? strchr(name, '+') + 1 : NULL) {
        char one[64];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(name, "+"), name);
        status = add_column(sum, recording, path, one, error);
    }
    for (size_t i = 0; i < sum->count; i++)
        wanted[i] = sum->column[i]->name;
    return status < 0 ? status : gt_recording_columns(recording, wanted, sum->count, error);
}

static double value_of(const struct sum *sum, const struct gt_sample *sample)
{
    double value = 0;
    for (size_t i = 0; i < sum->count; i++)
        value += gt_store_column_measured(sum->column[i], sample);
    return value;
}

/* The recording knows the end of counters, which may lie behind the last sample. */
static int add_end(struct gt_curve *curve, const struct gt_recording *recording, const struct sum *sum)
{
    const struct gt_outcome *outcome = gt_recording_outcome(recording);
    int64_t start_ns = gt_recording_machine(recording)->start_real_ns;
    struct gt_row row[GT_FIXED_ROWS] = {{.scope = GT_SCOPE_SYSTEM}};
    for (size_t i = 0; i < sum->count; i++)
        if (sum->column[i]->scope < 0 || gt_metrics[sum->column[i]->metric].kind != GT_COUNTER)
            return 0;
    if (!outcome || start_ns <= 0 || isnan(outcome->elapsed))
        return 0;
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
        row[scope].scope = (enum gt_scope)scope;
        memcpy(row[scope].value, outcome->value[scope], sizeof row[scope].value);
    }
    double value = value_of(sum, &(struct gt_sample){.row_count = GT_FIXED_ROWS, .row = row});
    double end = gt_seconds(start_ns) + outcome->elapsed;
    bool is_later = curve->count && end > gt_curve_time(curve, curve->count - 1);
    return is_later && !isnan(value) ? gt_curve_add(curve, end, &value) : 0;
}

static int read_curve(struct gt_curve *curve, struct gt_recording *recording, const struct sum *sum, const char *path,
                      struct gt_error *error)
{
    const struct gt_column *time = &sum->columns->column[gt_store_column_find(sum->columns, "timestamp")];
    const struct gt_sample *sample;
    int status;
    while ((status = gt_recording_next(recording, &sample, error)) > 0) {
        double value = value_of(sum, sample);
        if (!isnan(value) && gt_curve_add(curve, gt_store_column_value(time, sample), &value) < 0)
            return gt_error_system(error, ENOMEM, "%s", path);
    }
    gt_curve_finish(curve);
    if (status >= 0 && add_end(curve, recording, sum) < 0)
        return gt_error_system(error, ENOMEM, "%s", path);
    return status;
}

static double energy_at(const struct sum *sum, const struct gt_energy_curve *curve, double time)
{
    double joules = 0;
    for (size_t i = 0; i < sum->energy_count; i++)
        joules += gt_energy_curve_at(curve, sum->energy[i].device, sum->energy[i].part, time);
    return joules;
}

int gt_recording_interpolate(const char *path, const char *column, const double *times, size_t count, double *values,
                             struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    struct sum sum = {0};
    struct gt_curve curve;
    struct gt_energy_curve energy = {0};
    gt_curve_init(&curve, 1);
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = choose(&sum, recording, path, column, error);
    if (status >= 0 && sum.count)
        status = read_curve(&curve, recording, &sum, path, error);
    if (status >= 0 && sum.energy_count)
        status = gt_recording_energy(&energy, path, false, error);
    for (size_t i = 0; status >= 0 && i < count; i++)
        values[i] = (sum.count ? gt_curve_at(&curve, times[i], 0) : 0) + energy_at(&sum, &energy, times[i]);
    gt_recording_close(recording);
    gt_curve_release(&curve);
    gt_energy_curve_release(&energy);
    return status;
}
