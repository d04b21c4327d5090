#include "store/minutes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
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

/* ---- Reading ------------------------------------------------------------------------------------------------------ */

enum { OWN_COLUMNS = 3 };

/* The columns of a query behind the first three. */
struct wanted {
    struct gt_columns columns;
    const struct gt_column *column[sizeof((struct gt_columns *)0)->column / sizeof(struct gt_column)];
    int count;
};

static int prepare(sqlite3_stmt **ret, sqlite3 *database, const char *path, struct wanted *wanted,
                   const struct gt_minutes_use *use, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_text(&sql, "SELECT time, statistic, weight");
    for (size_t i = 0; i < wanted->columns.count; i++) {
        const struct gt_column *column = &wanted->columns.column[i];
        if (column->scope < 0 || !use->wants(use->context, column) ||
            sqlite3_table_column_metadata(database, NULL, GT_MINUTES_TABLE, column->name, NULL, NULL, NULL, NULL,
                                          NULL) != SQLITE_OK)
            continue;
        gt_buffer_text(&sql, ", ");
        gt_sqlite_name(&sql, column->name);
        wanted->column[wanted->count++] = column;
    }
    gt_buffer_text(&sql, " FROM " GT_MINUTES_TABLE " ORDER BY rowid");
    return gt_sqlite_prepare_text(ret, database, path, &sql, error);
}

static void take_row(sqlite3_stmt *select, const struct wanted *wanted, const struct gt_minutes_use *use)
{
    const char *name = (const char *)sqlite3_column_text(select, 1);
    struct gt_row row[GT_FIXED_ROWS];
    struct gt_sample sample = {.row_count = GT_FIXED_ROWS, .row = row};
    int statistic = 0;
    while (statistic < GT_MINUTE_STATISTICS && (!name || strcmp(gt_minute_statistic_names[statistic], name) != 0))
        statistic++;
    if (statistic == GT_MINUTE_STATISTICS)
        return;
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
        row[scope] = (struct gt_row){.scope = (enum gt_scope)scope};
        gt_values_clear(row[scope].value);
    }
    for (int i = 0; i < wanted->count; i++)
        if (sqlite3_column_type(select, i + OWN_COLUMNS) != SQLITE_NULL)
            gt_store_column_assign(wanted->column[i], sqlite3_column_double(select, i + OWN_COLUMNS), &sample);
    use->take(use->context, &(struct gt_minute_row){.begin_s = sqlite3_column_int64(select, 0),
                                                    .statistic = (enum gt_minute_statistic)statistic,
                                                    .weight = sqlite3_column_double(select, 2),
                                                    .sample = &sample});
}

static int read_rows(sqlite3 *database, const char *path, const struct gt_machine *machine,
                     const struct gt_minutes_use *use, struct gt_error *error)
{
    sqlite3_stmt *select = NULL;
    struct wanted *wanted = calloc(1, sizeof *wanted);
    if (!wanted)
        return gt_error_system(error, ENOMEM, "%s", path);
    gt_store_columns(&wanted->columns, machine);
    int step = SQLITE_DONE, status = prepare(&select, database, path, wanted, use, error);
    bool has_any = false;
    while (!status && (step = sqlite3_step(select)) == SQLITE_ROW) {
        take_row(select, wanted, use);
        has_any = true;
    }
    if (!status)
        status = step != SQLITE_DONE ? gt_sqlite_error(database, path, error) : has_any ? 0 : -ENOTSUP;
    sqlite3_finalize(select);
    free(wanted);
    return status;
}

int gt_minutes_read(const char *path, const struct gt_machine *machine, const struct gt_minutes_use *use,
                    struct gt_error *error)
{
    sqlite3 *database = NULL;
    const struct gt_store_type *type = gt_store_type_of(path, NULL);
    if (!type || !type->is_database)
        return -ENOTSUP;
    int status = gt_sqlite_open_existing(&database, path, error);
    if (status >= 0)
        status = gt_sqlite_has_table(database, GT_MINUTES_TABLE) ? read_rows(database, path, machine, use, error)
                                                                 : -ENOTSUP;
    sqlite3_close(database);
    return status;
}
