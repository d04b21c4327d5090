#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/root.h"
#include "schema/unit.h"
#include "store/store.h"
#include "store/type.h"

enum { COLUMNS = sizeof((struct gt_columns *)0)->column / sizeof(struct gt_column) };

/* The columns that are read of a table. */
struct source {
    const struct gt_column *column[COLUMNS];
    int count;
};

/* A table of details. The row at hand belongs to the sample with its timestamp. */
struct detail {
    struct gt_columns columns;
    struct source source;
    bool has_row;
    struct gt_sample moment; /* only its time is used */
    struct gt_row row;
};

struct gt_recording {
    const struct gt_store_type *type;
    void *state;
    char *path;
    struct gt_recorded recorded;
    struct gt_columns columns;
    bool wanted[COLUMNS];
    bool detail, begun, has_monotonic;
    struct source samples;
    struct detail *details[GT_DETAIL_COUNT]; /* NULL: not wanted, or not there */
    double value[COLUMNS];
    struct gt_recording_place place; /* behind the rows that were read */
    struct gt_sample_copy copy;
};

static int check_units(const struct gt_recording *recording, struct gt_error *error)
{
    const struct gt_machine *machine = &recording->recorded.machine;
    struct gt_error problem = {0};
    double factor;
    if (gt_unit_memory(machine->ram_unit, &factor, &problem) < 0 ||
        gt_unit_memory(machine->gpu_ram_unit, &factor, &problem) < 0 ||
        gt_unit_time(machine->time_unit, &factor, &problem) < 0)
        return gt_error_set(error, EINVAL, "%s: %s", recording->path, problem.text);
    return 0;
}

static int prepare(struct gt_recording *recording, struct gt_error *error)
{
    int status = check_units(recording, error);
    for (int scope = 0; !status && scope < GT_FIXED_ROWS; scope++)
        if (!gt_sample_copy_add(&recording->copy, scope))
            status = gt_error_system(error, ENOMEM, "%s", recording->path);
    if (status < 0)
        return status;
    gt_store_columns(&recording->columns, &recording->recorded.machine);
    memset(recording->wanted, true, recording->columns.count);
    return 0;
}

static const char *const suffixes[] = {
#define STORE(name) "." #name,
#include "store/store.def"
};

int gt_recording_open(struct gt_recording **ret, const char *path, struct gt_error *error)
{
    struct gt_error problem = {0};
    const struct gt_store_type *type = gt_store_type_of(path, &problem);
    if (!type && access(path, F_OK) < 0 && errno == ENOENT) {
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
            char near[PATH_MAX];
            if (snprintf(near, sizeof near, "%s%s", path, suffixes[i]) < (int)sizeof near && !access(near, F_OK))
                return gt_error_set(error, ENOENT, "%s: No such file or directory: did you mean %s?", path, near);
        }
        return gt_error_system(error, ENOENT, "%s", path);
    }
    if (!type)
        return gt_error_copy(error, &problem);
    struct gt_recording *recording = calloc(1, sizeof *recording);
    if (!recording || !(recording->path = strdup(path))) {
        free(recording);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    recording->type = type;
    int status = type->open(&recording->state, path, &recording->recorded, error);
    if (status >= 0)
        status = prepare(recording, error);
    if (status < 0)
        gt_recording_close(recording);
    else
        *ret = recording;
    return status;
}

const struct gt_machine *gt_recording_machine(const struct gt_recording *recording)
{
    return &recording->recorded.machine;
}

const struct gt_outcome *gt_recording_outcome(const struct gt_recording *recording)
{
    return recording->recorded.has_outcome ? &recording->recorded.outcome : NULL;
}

const struct gt_process_records *gt_recording_process_records(const struct gt_recording *recording)
{
    return &recording->recorded.outcome.records;
}

int64_t gt_recording_clock_set(const struct gt_machine *machine, int64_t epoch_ns)
{
    struct gt_root root;
    char boot[sizeof machine->node];
    if (!*machine->node || !epoch_ns || gt_root_open(&root, NULL, NULL) < 0)
        return 0;
    gt_root_read_line(&root, boot, sizeof boot, "proc/sys/kernel/random/boot_id");
    gt_root_close(&root);
    if (strcmp(boot, machine->node) != 0)
        return 0;
    return gt_clock_real(&gt_clock_system) - gt_clock_monotonic(&gt_clock_system) - epoch_ns;
}

const struct gt_columns *gt_recording_list(const struct gt_recording *recording)
{
    return &recording->columns;
}

bool gt_recording_has(const struct gt_recording *recording, const char *column)
{
    const char *now = gt_store_name_now(column), *before = gt_store_name_before(now);
    return recording->type->has(recording->state, now) || (before && recording->type->has(recording->state, before));
}

int gt_recording_columns(struct gt_recording *recording, const char *const names[], size_t count,
                         struct gt_error *error)
{
    bool wanted[sizeof recording->wanted] = {false};
    for (size_t i = 0; i < count; i++) {
        int index = gt_store_column_find(&recording->columns, names[i]);
        if (index < 0)
            return gt_error_set(error, ENOENT, "%s: recordings have no column \"%s\"", recording->path, names[i]);
        wanted[index] = true;
    }
    for (size_t i = 0; i < recording->columns.count; i++)
        recording->wanted[i] = wanted[i] || recording->columns.column[i].scope < 0;
    return 0;
}

int gt_recording_detail(struct gt_recording *recording, bool wanted)
{
    recording->detail = wanted;
    return 0;
}

/* Two columns tell one metric, the sum over cores and its share of all: the sum is read when it is there. Its index; -1: none. */
static int find_sum(const struct gt_recording *recording, const struct gt_column *column)
{
    for (size_t i = 0; column->per_unit && i < recording->columns.original_count; i++) {
        const struct gt_column *sum = &recording->columns.column[i];
        if (sum->scope == column->scope && sum->metric == column->metric && !sum->per_unit)
            return recording->type->has(recording->state, sum->name) ? (int)i : -1;
    }
    return -1;
}

static void choose(struct gt_recording *recording)
{
    const struct gt_columns *columns = &recording->columns;
    for (size_t i = 0; i < columns->original_count; i++) {
        int sum = recording->wanted[i] ? find_sum(recording, &columns->column[i]) : -1;
        if (sum < 0)
            continue;
        recording->wanted[i] = false;
        recording->wanted[sum] = true;
    }
}

int gt_recording_begin_after(struct gt_recording *recording, const struct gt_recording_place *place)
{
    if (!recording->type->can_begin_after)
        return -ENOTSUP;
    recording->place = *place;
    return 0;
}

/* A row of details that was read ahead is read again. */
void gt_recording_place(const struct gt_recording *recording, struct gt_recording_place *ret)
{
    *ret = recording->place;
    for (size_t i = 0; i < GT_DETAIL_COUNT; i++)
        ret->row[i + 1] -= recording->details[i] && recording->details[i]->has_row;
}

static int begin_table(struct gt_recording *recording, enum gt_stored_table table, struct source *source,
                       const struct gt_columns *columns, const bool wanted[], struct gt_error *error)
{
    source->count = recording->type->begin(recording->state, table, columns, wanted, recording->place.row[table],
                                           source->column, error);
    return source->count;
}

static int begin(struct gt_recording *recording, struct gt_error *error)
{
    choose(recording);
    int status = begin_table(recording, GT_TABLE_SAMPLES, &recording->samples, &recording->columns, recording->wanted,
                             error);
    for (size_t i = 0; status >= 0 && recording->detail && i < GT_DETAIL_COUNT; i++) {
        struct detail *detail = calloc(1, sizeof *detail);
        if (!detail)
            return gt_error_system(error, ENOMEM, "%s", recording->path);
        gt_detail_columns(&detail->columns, gt_details[i].scope);
        status = begin_table(recording, (enum gt_stored_table)i + 1, &detail->source, &detail->columns, NULL, error);
        if (status > 0)
            recording->details[i] = detail;
        else
            free(detail);
    }
    recording->begun = status >= 0;
    recording->has_monotonic = recording->type->has(recording->state, "monotonic");
    return status;
}

static int next_row(struct gt_recording *recording, enum gt_stored_table table, struct gt_error *error)
{
    int status = recording->type->row(recording->state, table, recording->value, error);
    recording->place.row[table] += status > 0 || status == -EBADMSG;
    return status;
}

static int next_detail(struct gt_recording *recording, size_t index, struct gt_error *error)
{
    struct detail *detail = recording->details[index];
    int status = detail->has_row ? 1 : next_row(recording, (enum gt_stored_table)index + 1, error);
    if (status <= 0 || detail->has_row)
        return status;
    detail->row = (struct gt_row){.scope = gt_details[index].scope, .device = -1};
    gt_values_clear(detail->row.value);
    for (int i = 0; i < detail->source.count; i++)
        gt_detail_assign(detail->source.column[i], recording->value[i], &detail->moment, &detail->row);
    detail->has_row = true;
    return 1;
}

/* Add the rows of the sample to it. Rows of samples that are not there are ignored. */
static int take_details(struct gt_recording *recording, size_t index, struct gt_error *error)
{
    struct detail *detail = recording->details[index];
    bool found = false;
    int status;
    while ((status = next_detail(recording, index, error)) > 0) {
        int64_t ahead = detail->moment.real_ns - recording->copy.sample.real_ns;
        if (ahead > 0 || (ahead < 0 && found)) /* the next sample's, perhaps behind a clock that was set back */
            return 0;
        detail->has_row = false;
        if (ahead < 0)
            continue;
        found = true;
        struct gt_row *row = gt_sample_copy_add(&recording->copy, detail->row.scope);
        if (!row)
            return gt_error_system(error, ENOMEM, "%s", recording->path);
        *row = detail->row;
    }
    return status;
}

int gt_recording_next(struct gt_recording *recording, const struct gt_sample **ret, struct gt_error *error)
{
    struct gt_sample *sample = &recording->copy.sample;
    int status = recording->begun ? 0 : begin(recording, error);
    if (status < 0)
        return status;
    sample->row_count = GT_FIXED_ROWS;
    status = next_row(recording, GT_TABLE_SAMPLES, error);
    if (status <= 0)
        return status;
    for (int i = 0; i < recording->samples.count; i++)
        gt_store_column_assign(recording->samples.column[i], recording->value[i], sample);
    if (!recording->has_monotonic)
        sample->monotonic_ns = sample->real_ns;
    for (size_t i = 0; status >= 0 && i < GT_DETAIL_COUNT; i++)
        status = recording->details[i] ? take_details(recording, i, error) : status;
    if (status < 0)
        return status;
    gt_energy_reading_take(&sample->energy, sample->row[GT_SCOPE_SYSTEM].value, sample->row[GT_SCOPE_COMBINED].value);
    *ret = sample;
    return 1;
}

uint64_t gt_recording_unfinished(const struct gt_recording *recording)
{
    return recording->type->unfinished ? recording->type->unfinished(recording->state) : 0;
}

void gt_recording_close(struct gt_recording *recording)
{
    if (!recording)
        return;
    if (recording->state)
        recording->type->close(recording->state);
    for (size_t i = 0; i < GT_DETAIL_COUNT; i++)
        free(recording->details[i]);
    gt_recorded_release(&recording->recorded);
    gt_sample_copy_release(&recording->copy);
    free(recording->path);
    free(recording);
}

/* Few columns of a wide file are read much faster. */
static int want_columns(struct gt_recording *recording, struct gt_error *error)
{
    const struct gt_columns *columns = gt_recording_list(recording);
    const char *name[GT_METRIC_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < columns->count; i++) {
        const struct gt_column *column = &columns->column[i];
        bool is_row = column->scope == GT_SCOPE_SYSTEM || column->scope == GT_SCOPE_COMBINED;
        if (is_row && count < GT_METRIC_COUNT && gt_energy_reading_uses(column->metric) &&
            gt_recording_has(recording, column->name))
            name[count++] = column->name;
    }
    return gt_recording_columns(recording, name, count, error);
}

/* `reading` and `time` are those of the last sample, NaN without. The run ended after it. */
static int add_outcome(struct gt_energy_curve *curve, const struct gt_recording *recording,
                       struct gt_energy_reading *reading, double time)
{
    const struct gt_outcome *outcome = gt_recording_outcome(recording);
    int64_t start_ns = gt_recording_machine(recording)->start_real_ns, last_ns = recording->copy.sample.real_ns;
    double after = outcome && start_ns > 0 ? gt_seconds(start_ns) + outcome->elapsed - gt_seconds(last_ns) : NAN;
    struct gt_energy_reading end;
    if (!(after > 0) || isnan(time))
        return 0;
    gt_energy_reading_take(&end, outcome->value[GT_SCOPE_SYSTEM], outcome->value[GT_SCOPE_COMBINED]);
    gt_energy_reading_update(reading, &end);
    return gt_energy_curve_add(curve, time + after, reading);
}

int gt_recording_energy(struct gt_energy_curve *ret, const char *path, bool is_monotonic, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    const struct gt_sample *sample;
    struct gt_energy_reading last;
    double time = NAN;
    gt_energy_curve_init(ret, &(struct gt_machine){0});
    gt_energy_reading_clear(&last);
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0) {
        gt_energy_curve_init(ret, gt_recording_machine(recording));
        status = want_columns(recording, error);
    }
    while (status >= 0 && (status = gt_recording_next(recording, &sample, error)) > 0) {
        time = gt_seconds(is_monotonic ? sample->monotonic_ns : sample->real_ns);
        gt_energy_reading_update(&last, &sample->energy);
        if (gt_energy_curve_add(ret, time, &sample->energy) < 0)
            status = gt_error_system(error, ENOMEM, "%s", path);
    }
    if (status >= 0 && (add_outcome(ret, recording, &last, time) < 0 || gt_energy_curve_finish(ret) < 0))
        status = gt_error_system(error, ENOMEM, "%s", path);
    gt_recording_close(recording);
    return status;
}
