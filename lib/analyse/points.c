/* Moments of another time base, joined with what a recording has at them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "analyse/display.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "gpu_tracker.h"
#include "report/report.h"
#include "store/store.h"

/* ---- the columns of a recording at given moments ---- */

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

/* ---- a file of moments, joined with them ---- */

enum { MOST_FIGURES = 32 };

struct figure {
    char name[200];
    int device;    /* whose energy of the job it is; GT_ENERGY_DEVICES: of all; -1: another column */
    double *value; /* of each row */
};

struct join {
    const char *path;
    struct gt_recording *recording;
    struct gt_energy_curve curve;
    double begin; /* of the run, seconds since the epoch */
    const char *points_path;
    struct gt_table *cells; /* of the file of moments, as texts */
    double *time;           /* of each row, seconds since the epoch */
    size_t rows, capacity;
    struct figure figure[MOST_FIGURES];
    size_t figures;
};

static int read_recording(struct join *join, struct gt_error *error)
{
    const struct gt_sample *sample;
    int status = gt_recording_energy(&join->curve, join->path, false, error);
    if (status >= 0)
        status = gt_recording_open(&join->recording, join->path, error);
    if (status < 0)
        return status;
    join->begin = gt_seconds(gt_recording_machine(join->recording)->start_real_ns);
    if (join->begin > 0)
        return 0;
    status = gt_recording_next(join->recording, &sample, error);
    join->begin = status > 0 ? gt_seconds(sample->real_ns) : NAN;
    return status;
}

/* ---- the file of moments ---- */

static size_t time_column(char *const *names, size_t count)
{
    static const char *const known[] = {"timestamp", "time", "wall time", "wall_time", "seconds"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t column = 0; column < count; column++)
            if (!strcasecmp(names[column], known[i]))
                return column;
    return 0;
}

static int add_row(struct join *join, char *const *fields, size_t time_at, uint64_t line, struct gt_error *error)
{
    const char *text = fields[time_at];
    int64_t at_ns;
    double seconds;
    if (GT_GROW_TO(join->time, join->capacity, join->rows + 1) < 0)
        return gt_error_system(error, ENOMEM, "%s", join->points_path);
    if (gt_time_read(text, &at_ns))
        join->time[join->rows++] = gt_seconds(at_ns);
    else if (gt_number_double(text, &seconds) == 0)
        join->time[join->rows++] = join->begin + seconds;
    else
        return gt_error_set(error, EINVAL, "%s: line %llu: \"%s\" in column \"%s\" is not a time", join->points_path,
                            (unsigned long long)line, text, join->cells->column[time_at].key);
    for (size_t i = 0; i < join->cells->columns; i++)
        gt_table_text(join->cells, fields[i]);
    return 0;
}

static int read_rows(struct join *join, struct gt_csv_reader *csv, struct gt_error *error)
{
    char **fields;
    size_t count;
    int status = gt_csv_next(csv, &fields, &count, error);
    if (status == 0)
        return gt_error_set(error, EINVAL, "%s is empty", join->points_path);
    size_t time_at = status > 0 ? time_column(fields, count) : 0, columns = count;
    for (size_t i = 0; status > 0 && i < columns; i++)
        gt_table_column(join->cells, fields[i], fields[i], GT_CELL_PLAIN_TEXT, NULL);
    while (status >= 0 && (status = gt_csv_next(csv, &fields, &count, error)) > 0) {
        if (count == 1 && !*fields[0])
            continue;
        if (count != columns)
            return gt_error_set(error, EINVAL, "%s: line %llu has %zu fields instead of %zu", join->points_path,
                                (unsigned long long)gt_csv_line(csv), count, columns);
        status = add_row(join, fields, time_at, gt_csv_line(csv), error);
    }
    return status;
}

static int read_points(struct join *join, struct gt_error *error)
{
    struct gt_csv_reader *csv = NULL;
    int fd = gt_given_file_open(join->points_path, NULL, error);
    if (fd < 0)
        return fd;
    join->cells = gt_table_new();
    int status = join->cells ? gt_csv_open(&csv, fd, join->points_path, error)
                             : gt_error_system(error, ENOMEM, "%s", join->points_path);
    if (status >= 0)
        status = read_rows(join, csv, error);
    gt_csv_close(csv);
    close(fd);
    return status;
}

/* ---- the figures at them ---- */

static int device_of(const struct join *join, const char *name)
{
    const struct gt_columns *columns = gt_recording_list(join->recording);
    int index = gt_store_column_find(columns, name);
    const struct gt_column *column = index < 0 ? NULL : &columns->column[index];
    enum gt_energy_device device;
    enum gt_energy_part part;
    bool is_job = column && column->scope == GT_SCOPE_COMBINED;
    return is_job && gt_energy_column(GT_SCOPE_COMBINED, column->metric, &device, &part) ? (int)device : -1;
}

static int add_figure(struct join *join, const char *name, size_t length, struct gt_error *error)
{
    if (join->figures == MOST_FIGURES)
        return gt_error_set(error, E2BIG, "at most %d columns", MOST_FIGURES);
    struct figure *figure = &join->figure[join->figures++];
    snprintf(figure->name, sizeof figure->name, "%.*s", (int)length, name);
    figure->device = device_of(join, figure->name);
    figure->value = calloc(join->rows + 1, sizeof *figure->value);
    if (!figure->value)
        return gt_error_system(error, ENOMEM, "%s", join->path);
    return gt_recording_interpolate(join->path, figure->name, join->time, join->rows, figure->value, error);
}

/* What most want to see, as far as it was recorded. */
static int add_usual_figures(struct join *join, struct gt_error *error)
{
    static const char *const usual[] = {"combined_energy",     "combined_cpu_energy", "combined_dram_energy",
                                        "combined_gpu_energy", "combined_cpu_time",   "combined_ram",
                                        "combined_gpu_ram"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        bool is_known = false;
        int status = add_figure(join, usual[i], strlen(usual[i]), NULL);
        double *value = join->figure[join->figures - 1].value;
        for (size_t row = 0; row < join->rows && status >= 0; row++)
            is_known |= !isnan(value[row]);
        if (status < 0 && status != -ENOENT)
            return gt_error_system(error, -status, "%s", join->path);
        if (is_known)
            continue;
        free(value);
        join->figures--;
    }
    return 0;
}

/* ---- the table ---- */

static double error_at(const struct join *join, int device, double time)
{
    struct gt_spent sum = {.joules = NAN, .error = NAN};
    struct gt_time_stretch stretch = {-INFINITY, time};
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        if (device == GT_ENERGY_DEVICES || device == i)
            gt_spent_add(&sum, gt_energy_curve_over(&join->curve, i, GT_ENERGY_JOB, &stretch, 1));
    return sum.error;
}

static bool is_estimated(const struct join *join, const struct figure *figure)
{
    if (figure->device == GT_ENERGY_DEVICES)
        return gt_energy_curve_marks(&join->curve) & GT_ENERGY_IS_ESTIMATED;
    return figure->device >= 0 && join->curve.device[figure->device].is_estimated;
}

/* Integers, other numbers, or texts. */
static enum gt_cell_kind kind_of(const struct join *join, size_t column, struct gt_buffer *scratch)
{
    enum gt_cell_kind kind = GT_CELL_INTEGER;
    for (size_t row = 0; row < join->rows; row++) {
        const char *text = gt_table_cell_text(join->cells, row, column, scratch);
        double number;
        int64_t integer;
        if (gt_number_i64(text, &integer) == 0)
            continue;
        if (*text && gt_number_double(text, &number) < 0)
            return GT_CELL_TEXT;
        kind = GT_CELL_NUMBER;
    }
    return kind;
}

static const char *unit_of(const struct join *join, const char *name)
{
    const struct gt_columns *columns = gt_recording_list(join->recording);
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, "+"), name);
    int index = gt_store_column_find(columns, first);
    return index < 0 ? NULL : gt_store_column_unit(&columns->column[index], gt_recording_machine(join->recording));
}

/* Returns whether energy of a figure is estimated. */
static bool add_columns(struct gt_table *table, const struct join *join, struct gt_buffer *scratch)
{
    bool any_estimated = false;
    for (size_t i = 0; i < join->cells->columns; i++) {
        const char *name = join->cells->column[i].key;
        gt_table_column(table, name, name, kind_of(join, i, scratch), NULL);
    }
    for (size_t i = 0; i < join->figures; i++) {
        const struct figure *figure = &join->figure[i];
        char title[sizeof figure->name + 20], error[sizeof figure->name + 20];
        bool is_estimate = is_estimated(join, figure);
        any_estimated |= is_estimate;
        snprintf(title, sizeof title, "%s%s", figure->name, is_estimate ? " (estimated)" : "");
        snprintf(error, sizeof error, "%s_error", figure->name);
        gt_table_column(table, figure->name, title, GT_CELL_NUMBER, unit_of(join, figure->name));
        if (figure->device >= 0)
            gt_table_column(table, error, error, GT_CELL_NUMBER, "joules");
    }
    if (any_estimated)
        gt_table_column(table, "energy_certainty", "Energy is", GT_CELL_TEXT, NULL);
    return any_estimated;
}

static void put_row(struct gt_table *table, const struct join *join, size_t row, struct gt_buffer *scratch)
{
    for (size_t i = 0; i < join->cells->columns; i++) {
        const char *text = gt_table_cell_text(join->cells, row, i, scratch);
        double number = NAN;
        int64_t integer;
        if (table->column[i].kind == GT_CELL_TEXT)
            gt_table_text(table, text);
        else if (table->column[i].kind == GT_CELL_INTEGER && gt_number_i64(text, &integer) == 0)
            gt_table_integer(table, integer);
        else
            gt_table_number(table, gt_number_double(text, &number) < 0 ? NAN : number);
    }
    for (size_t i = 0; i < join->figures; i++) {
        const struct figure *figure = &join->figure[i];
        gt_table_number(table, figure->value[row]);
        if (figure->device >= 0)
            gt_table_number(table, isnan(figure->value[row]) ? NAN : error_at(join, figure->device, join->time[row]));
    }
}

static int build(struct gt_report **ret, const struct join *join, struct gt_error *error)
{
    struct gt_report *report;
    struct gt_buffer scratch = {0};
    int status = gt_report_new(&report, "points", error);
    if (status < 0)
        return status;
    struct gt_table *table = gt_report_table(&report->root, "points", "Points");
    bool any_estimated = add_columns(table, join, &scratch);
    for (size_t row = 0; row < join->rows; row++) {
        put_row(table, join, row, &scratch);
        if (any_estimated)
            gt_table_text(table, "estimated");
    }
    gt_buffer_release(&scratch);
    return gt_display_end(ret, report, 0, join->points_path, error);
}

int gt_recording_points(const char *path, const char *points_path, const char *columns, struct gt_report **ret,
                        struct gt_error *error)
{
    struct join join = {.path = path, .points_path = points_path};
    int status = read_recording(&join, error);
    if (status >= 0)
        status = read_points(&join, error);
    if (status >= 0 && !columns)
        status = add_usual_figures(&join, error);
    for (const char *name = columns; name && status >= 0; name = strchr(name, ',') ? strchr(name, ',') + 1 : NULL)
        status = add_figure(&join, name, strcspn(name, ","), error);
    if (status >= 0)
        status = build(ret, &join, error);
    for (size_t i = 0; i < join.figures; i++)
        free(join.figure[i].value);
    gt_recording_close(join.recording);
    gt_energy_curve_release(&join.curve);
    gt_table_free(join.cells);
    free(join.time);
    return status < 0 ? status : 0;
}
