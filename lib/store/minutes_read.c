#include "store/minutes_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/sqlite.h"
#include "store/type.h"

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
