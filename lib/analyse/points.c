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

/* The file of moments: its cells row by row. */
struct points {
    const char *path;
    char **name;
    size_t columns;
    char **cell;
    size_t cells, cell_capacity, line_capacity;
    uint64_t *line; /* of each row */
    double *time;   /* seconds since the epoch */
    size_t rows;
};

/* The recording's time, and how sure its energy is. */
struct base {
    struct gt_columns columns;
    struct gt_machine machine;
    struct gt_energy_curve curve;
    double begin; /* of the run, seconds since the epoch */
};

/* ---- the file of moments ---- */

static void release(struct points *points)
{
    for (size_t i = 0; i < points->columns; i++)
        free(points->name[i]);
    for (size_t i = 0; i < points->cells; i++)
        free(points->cell[i]);
    free(points->name);
    free(points->cell);
    free(points->line);
    free(points->time);
}

static int take_header(struct points *points, char **fields, size_t count)
{
    points->name = calloc(count + 1, sizeof *points->name);
    for (size_t i = 0; points->name && i < count; i++)
        if ((points->name[points->columns] = strdup(fields[i])))
            points->columns++;
    return points->name && points->columns == count ? 0 : -ENOMEM;
}

static int take_row(struct points *points, char **fields, uint64_t line)
{
    if (GT_GROW_TO(points->cell, points->cell_capacity, points->cells + points->columns) < 0 ||
        GT_GROW_TO(points->line, points->line_capacity, points->rows + 1) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < points->columns; i++)
        if (!(points->cell[points->cells] = strdup(fields[i])))
            return -ENOMEM;
        else
            points->cells++;
    points->line[points->rows++] = line;
    return 0;
}

static int read_rows(struct points *points, struct gt_csv_reader *csv, struct gt_error *error)
{
    char **fields;
    size_t count;
    int status = gt_csv_next(csv, &fields, &count, error);
    if (status == 0)
        return gt_error_set(error, EINVAL, "%s is empty", points->path);
    if (status < 0)
        return status;
    int taken = status > 0 ? take_header(points, fields, count) : 0;
    while (taken == 0 && (status = gt_csv_next(csv, &fields, &count, error)) > 0) {
        if (count == 1 && !*fields[0])
            continue;
        if (count != points->columns)
            return gt_error_set(error, EINVAL, "%s: line %llu has %zu fields instead of %zu", points->path,
                                (unsigned long long)gt_csv_line(csv), count, points->columns);
        taken = take_row(points, fields, gt_csv_line(csv));
    }
    return taken < 0 ? gt_error_system(error, -taken, "%s", points->path) : status;
}

static int read_points(struct points *points, struct gt_error *error)
{
    struct gt_csv_reader *csv = NULL;
    int fd = gt_given_file_open(points->path, NULL, error);
    if (fd < 0)
        return fd;
    int status = gt_csv_open(&csv, fd, points->path, error);
    if (status >= 0)
        status = read_rows(points, csv, error);
    gt_csv_close(csv);
    close(fd);
    return status;
}

static size_t time_column(const struct points *points)
{
    static const char *const names[] = {"timestamp", "time", "wall time", "wall_time", "seconds"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t column = 0; column < points->columns; column++)
            if (!strcasecmp(points->name[column], names[i]))
                return column;
    return 0;
}

static int read_times(struct points *points, double begin, struct gt_error *error)
{
    size_t column = time_column(points);
    points->time = calloc(points->rows + 1, sizeof *points->time);
    if (!points->time)
        return gt_error_system(error, ENOMEM, "%s", points->path);
    for (size_t row = 0; row < points->rows; row++) {
        const char *text = points->cell[row * points->columns + column];
        int64_t at_ns;
        double seconds;
        if (gt_time_read(text, &at_ns))
            points->time[row] = gt_seconds(at_ns);
        else if (gt_number_double(text, &seconds) == 0)
            points->time[row] = begin + seconds;
        else
            return gt_error_set(error, EINVAL, "%s: line %llu: \"%s\" in column \"%s\" is not a time", points->path,
                                (unsigned long long)points->line[row], text, points->name[column]);
    }
    return 0;
}

/* ---- the recording ---- */

static int read_base(struct base *base, const char *path, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    const struct gt_sample *sample;
    int status = gt_recording_energy(&base->curve, path, false, error);
    if (status >= 0)
        status = gt_recording_open(&recording, path, error);
    if (status < 0)
        return status;
    base->machine = *gt_recording_machine(recording);
    base->machine.gpu = NULL;
    base->begin = (double)base->machine.start_real_ns / 1e9;
    gt_store_columns(&base->columns, &base->machine);
    if (!(base->begin > 0)) {
        status = gt_recording_next(recording, &sample, error);
        base->begin = status > 0 ? (double)sample->real_ns / 1e9 : NAN;
    }
    gt_recording_close(recording);
    return status < 0 ? status : 0;
}

/* The device whose energy a column has, for the job; GT_ENERGY_DEVICES: of all; -1: another column. */
static int device_of(const struct base *base, const char *name)
{
    int index = gt_store_column_find(&base->columns, name);
    const struct gt_column *column = index < 0 ? NULL : &base->columns.column[index];
    enum gt_energy_device device;
    enum gt_energy_part part;
    bool is_job = column && column->scope == GT_SCOPE_COMBINED;
    return is_job && gt_energy_column(GT_SCOPE_COMBINED, column->metric, &device, &part) ? (int)device : -1;
}

static double error_at(const struct base *base, int device, double time)
{
    struct gt_spent sum = {.joules = NAN, .error = NAN};
    struct gt_time_stretch stretch = {-INFINITY, time};
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        if (device == GT_ENERGY_DEVICES || device == i)
            gt_spent_add(&sum, gt_energy_curve_over(&base->curve, i, GT_ENERGY_JOB, &stretch, 1));
    return sum.error;
}

/* ---- the table ---- */

struct figure {
    char name[200];
    int device;
    double *value; /* of each row */
};

enum { MOST_FIGURES = 32 };

struct figures {
    struct figure figure[MOST_FIGURES];
    size_t count;
};

static int add_figure(struct figures *figures, const struct base *base, const struct points *points, const char *path,
                      const char *name, struct gt_error *error)
{
    if (figures->count == MOST_FIGURES)
        return gt_error_set(error, E2BIG, "at most %d columns", MOST_FIGURES);
    struct figure *figure = &figures->figure[figures->count++];
    snprintf(figure->name, sizeof figure->name, "%s", name);
    figure->device = device_of(base, name);
    figure->value = calloc(points->rows + 1, sizeof *figure->value);
    if (!figure->value)
        return gt_error_system(error, ENOMEM, "%s", path);
    return gt_recording_interpolate(path, name, points->time, points->rows, figure->value, error);
}

static bool any_known(const struct figures *figures, size_t rows)
{
    const double *value = figures->figure[figures->count - 1].value;
    bool any = false;
    for (size_t row = 0; row < rows; row++)
        any |= !isnan(value[row]);
    return any;
}

static int add_figures(struct figures *figures, const struct base *base, const struct points *points, const char *path,
                       const char *columns, struct gt_error *error)
{
    static const char *const usual[] = {"combined_energy",     "combined_cpu_energy", "combined_dram_energy",
                                        "combined_gpu_energy", "combined_cpu_time",   "combined_ram",
                                        "combined_gpu_ram"};
    int status = 0;
    for (size_t i = 0; !columns && i < sizeof usual / sizeof *usual && status >= 0; i++) {
        status = add_figure(figures, base, points, path, usual[i], NULL);
        bool is_empty = status == -ENOENT || (status >= 0 && !any_known(figures, points->rows));
        if (is_empty)
            free(figures->figure[--figures->count].value);
        status = is_empty ? 0 : status;
    }
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    for (const char *name = columns; name && status >= 0; name = strchr(name, ',') ? strchr(name, ',') + 1 : NULL) {
        char one[sizeof figures->figure->name];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(name, ","), name);
        status = add_figure(figures, base, points, path, one, error);
    }
    return status;
}

static const char *unit_of(const struct base *base, const char *name)
{
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(name, "+"), name);
    int index = gt_store_column_find(&base->columns, first);
    return index < 0 ? NULL : gt_store_column_unit(&base->columns.column[index], &base->machine);
}

static enum gt_cell_kind kind_of(const struct points *points, size_t column)
{
    enum gt_cell_kind kind = GT_CELL_INTEGER;
    for (size_t row = 0; row < points->rows; row++) {
        const char *text = points->cell[row * points->columns + column];
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

static bool is_estimated(const struct base *base, const struct figure *figure)
{
    if (figure->device == GT_ENERGY_DEVICES)
        return gt_energy_curve_marks(&base->curve) & GT_ENERGY_IS_ESTIMATED;
    return figure->device >= 0 && base->curve.device[figure->device].is_estimated;
}

static bool any_estimated(const struct base *base, const struct figures *figures)
{
    bool any = false;
    for (size_t i = 0; i < figures->count; i++)
        any |= is_estimated(base, &figures->figure[i]);
    return any;
}

static void add_columns(struct gt_table *table, const struct points *points, const struct base *base,
                        const struct figures *figures)
{
    for (size_t i = 0; i < points->columns; i++)
        gt_table_column(table, points->name[i], points->name[i], kind_of(points, i), NULL);
    for (size_t i = 0; i < figures->count; i++) {
        const struct figure *figure = &figures->figure[i];
        char title[sizeof figure->name + 20], error[sizeof figure->name + 20];
        snprintf(title, sizeof title, "%s%s", figure->name, is_estimated(base, figure) ? " (estimated)" : "");
        snprintf(error, sizeof error, "%s_error", figure->name);
        gt_table_column(table, figure->name, title, GT_CELL_NUMBER, unit_of(base, figure->name));
        if (figure->device >= 0)
            gt_table_column(table, error, error, GT_CELL_NUMBER, "joules");
    }
    if (any_estimated(base, figures))
        gt_table_column(table, "energy_certainty", "Energy is", GT_CELL_TEXT, NULL);
}

static void add_row(struct gt_table *table, const struct points *points, const struct base *base,
                    const struct figures *figures, size_t row)
{
    for (size_t i = 0; i < points->columns; i++) {
        const char *text = points->cell[row * points->columns + i];
        double number = NAN;
        int64_t integer;
        if (table->column[i].kind == GT_CELL_TEXT)
            gt_table_text(table, text);
        else if (table->column[i].kind == GT_CELL_INTEGER && gt_number_i64(text, &integer) == 0)
            gt_table_integer(table, integer);
        else
            gt_table_number(table, gt_number_double(text, &number) < 0 ? NAN : number);
    }
    for (size_t i = 0; i < figures->count; i++) {
        const struct figure *figure = &figures->figure[i];
        gt_table_number(table, figure->value[row]);
        if (figure->device >= 0)
            gt_table_number(table, isnan(figure->value[row]) ? NAN : error_at(base, figure->device, points->time[row]));
    }
    if (any_estimated(base, figures))
        gt_table_text(table, "estimated");
}

static int build(struct gt_report **ret, const struct points *points, const struct base *base,
                 const struct figures *figures, struct gt_error *error)
{
    struct gt_report *report;
    int status = gt_report_new(&report, "points", error);
    if (status < 0)
        return status;
    struct gt_table *table = gt_report_table(&report->root, "points", "Points");
    add_columns(table, points, base, figures);
    for (size_t row = 0; row < points->rows; row++)
        add_row(table, points, base, figures, row);
    return gt_display_end(ret, report, 0, points->path, error);
}

int gt_recording_points(const char *path, const char *points_path, const char *columns, struct gt_report **ret,
                        struct gt_error *error)
{
    struct points points = {.path = points_path};
    struct figures figures = {.count = 0};
    struct base *base = calloc(1, sizeof *base);
    int status = base ? read_base(base, path, error) : gt_error_system(error, ENOMEM, "%s", path);
    if (status >= 0)
        status = read_points(&points, error);
    if (status >= 0)
        status = read_times(&points, base->begin, error);
    if (status >= 0)
        status = add_figures(&figures, base, &points, path, columns, error);
    if (status >= 0)
        status = build(ret, &points, base, &figures, error);
    for (size_t i = 0; i < figures.count; i++)
        free(figures.figure[i].value);
    if (base)
        gt_energy_curve_release(&base->curve);
    free(base);
    release(&points);
    return status < 0 ? status : 0;
}
