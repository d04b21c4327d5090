#include "store/minutes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/sqlite.h"
#include "store/type.h"

const char *const gt_minute_statistic_names[GT_MINUTE_STATISTICS] = {"mean", "min", "max", "last"};

static const int64_t LENGTH_S = 60;

static int64_t begin_of(int64_t real_ns)
{
    int64_t seconds = real_ns / GT_SECOND;
    return seconds - seconds % LENGTH_S;
}

int gt_minute_init(struct gt_minute *minute, size_t columns)
{
    *minute = (struct gt_minute){.count = columns, .figure = calloc(columns, sizeof *minute->figure)};
    return minute->figure ? 0 : -ENOMEM;
}

void gt_minute_release(struct gt_minute *minute)
{
    free(minute->figure);
    *minute = (struct gt_minute){0};
}

bool gt_minute_is_over(const struct gt_minute *minute, int64_t real_ns)
{
    return minute->weight && begin_of(real_ns) != minute->begin_s;
}

void gt_minute_next(struct gt_minute *minute)
{
    minute->number++;
    minute->weight = 0;
    memset(minute->figure, 0, minute->count * sizeof *minute->figure);
}

void gt_minute_begin_sample(struct gt_minute *minute, int64_t real_ns)
{
    minute->begin_s = begin_of(real_ns);
    minute->weight++;
}

void gt_minute_add(struct gt_minute *minute, size_t column, double value)
{
    struct gt_minute_figure *figure = &minute->figure[column];
    if (isnan(value))
        return;
    if (!figure->count++)
        figure->min = figure->max = value;
    else if (value < figure->min)
        figure->min = value;
    else if (value > figure->max)
        figure->max = value;
    figure->sum += value;
    figure->last = value;
}

static bool has_only_last(const struct gt_column *column)
{
    return column->scope >= 0 && gt_metrics[column->metric].kind != GT_GAUGE;
}

double gt_minute_value(const struct gt_minute *minute, const struct gt_columns *columns, size_t column,
                       enum gt_minute_statistic statistic)
{
    const struct gt_minute_figure *figure = &minute->figure[column];
    if (!figure->count || (statistic != GT_MINUTE_LAST && has_only_last(&columns->column[column])))
        return NAN;
    switch (statistic) {
    case GT_MINUTE_MEAN: return figure->sum / figure->count;
    case GT_MINUTE_MIN: return figure->min;
    case GT_MINUTE_MAX: return figure->max;
    default: return figure->last;
    }
}

enum { OWN_COLUMNS = 3 };

struct reader {
    sqlite3 *database;
    sqlite3_stmt *select;
    struct gt_columns columns;
    const struct gt_column *wanted[sizeof((struct gt_columns *)0)->column / sizeof(struct gt_column)];
    int count;
    struct gt_row row[GT_FIXED_ROWS];
    struct gt_sample sample;
};

static int prepare(struct reader *reader, const char *path, const struct gt_minutes_use *use, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_text(&sql, "SELECT time, statistic, weight");
    for (size_t i = 0; i < reader->columns.count; i++) {
        const struct gt_column *column = &reader->columns.column[i];
        if (column->scope < 0 || !use->wants(use->context, column) ||
            sqlite3_table_column_metadata(reader->database, NULL, GT_MINUTES_TABLE, column->name, NULL, NULL, NULL,
                                          NULL, NULL) != SQLITE_OK)
            continue;
        gt_buffer_text(&sql, ", ");
        gt_sqlite_name(&sql, column->name);
        reader->wanted[reader->count++] = column;
    }
    gt_buffer_text(&sql, " FROM " GT_MINUTES_TABLE " ORDER BY rowid");
    return gt_sqlite_prepare_text(&reader->select, reader->database, path, &sql, error);
}

static int find_statistic(const char *name)
{
    for (int i = 0; name && i < GT_MINUTE_STATISTICS; i++)
        if (!strcmp(gt_minute_statistic_names[i], name))
            return i;
    return -1;
}

static void take_row(struct reader *reader, const struct gt_minutes_use *use)
{
    int statistic = find_statistic((const char *)sqlite3_column_text(reader->select, 1));
    if (statistic < 0)
        return;
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        gt_values_clear(reader->row[scope].value);
    for (int i = 0; i < reader->count; i++)
        if (sqlite3_column_type(reader->select, i + OWN_COLUMNS) != SQLITE_NULL)
            gt_store_column_assign(reader->wanted[i], sqlite3_column_double(reader->select, i + OWN_COLUMNS),
                                   &reader->sample);
    use->take(use->context, &(struct gt_minute_row){.begin_s = sqlite3_column_int64(reader->select, 0),
                                                    .statistic = (enum gt_minute_statistic)statistic,
                                                    .weight = sqlite3_column_double(reader->select, 2),
                                                    .sample = &reader->sample});
}

static int read_rows(struct reader *reader, const char *path, const struct gt_minutes_use *use, struct gt_error *error)
{
    int result;
    bool has_any = false;
    reader->sample = (struct gt_sample){.row_count = GT_FIXED_ROWS, .row = reader->row};
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        reader->row[scope].scope = (enum gt_scope)scope;
    while ((result = sqlite3_step(reader->select)) == SQLITE_ROW) {
        take_row(reader, use);
        has_any = true;
    }
    return result == SQLITE_DONE ? has_any ? 0 : -ENOTSUP : gt_sqlite_error(reader->database, path, error);
}

int gt_minutes_read(const char *path, const struct gt_machine *machine, const struct gt_minutes_use *use,
                    struct gt_error *error)
{
    const struct gt_store_type *type = gt_store_type_of(path, NULL);
    if (!type || strcmp(type->suffix, ".sqlite") != 0)
        return -ENOTSUP;
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return gt_error_system(error, ENOMEM, "%s", path);
    int status = gt_sqlite_open_existing(&reader->database, path, error);
    if (status >= 0 && !gt_sqlite_has_table(reader->database, GT_MINUTES_TABLE))
        status = -ENOTSUP;
    if (status >= 0) {
        gt_store_columns(&reader->columns, machine);
        status = prepare(reader, path, use, error);
    }
    if (status >= 0)
        status = read_rows(reader, path, use, error);
    sqlite3_finalize(reader->select);
    sqlite3_close(reader->database);
    free(reader);
    return status;
}
