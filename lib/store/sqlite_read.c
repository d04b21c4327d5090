#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"
#include "store/sqlite.h"

bool gt_sqlite_has_table(sqlite3 *database, const char *table)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v2(database, "SELECT 1 FROM sqlite_schema WHERE name = ?", -1, &statement, NULL);
    sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    bool found = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return found;
}

static const char *text_of(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text ? (const char *)text : "";
}

static double number_of(sqlite3_stmt *statement, int column)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL ? NAN : sqlite3_column_double(statement, column);
}

static void set_field(const struct gt_field *field, void *object, sqlite3_stmt *statement, int column)
{
    if (field->kind == GT_FIELD_TEXT)
        gt_field_set_text(field, object, text_of(statement, column));
    else
        gt_field_set_number(field, object, number_of(statement, column));
}

/* Columns that are not known are passed over. */
static void take_fields(sqlite3_stmt *statement, const struct gt_fields *fields, void *object)
{
    for (int column = 0; column < sqlite3_column_count(statement); column++) {
        const struct gt_field *field = gt_field_find(fields, sqlite3_column_name(statement, column));
        if (field)
            set_field(field, object, statement, column);
    }
}

static int read_machine_field(sqlite3_stmt *statement, int column, struct gt_machine *machine,
                              const struct gt_field *field, const char *path, struct gt_error *error)
{
    int type = sqlite3_column_type(statement, column);
    if (field->kind == GT_FIELD_TEXT || type == SQLITE_TEXT || type == SQLITE_BLOB)
        return gt_machine_field_read(machine, field, text_of(statement, column), path, error);
    gt_field_set_number(field, machine, number_of(statement, column));
    return 0;
}

static int read_static(sqlite3 *database, const char *path, struct gt_machine *machine, struct gt_error *error)
{
    sqlite3_stmt *statement = NULL;
    int status = gt_sqlite_prepare(&statement, database, path, "SELECT * FROM static_data LIMIT 1", error);
    if (status < 0)
        return status;
    if (sqlite3_step(statement) != SQLITE_ROW)
        status = gt_error_set(error, EINVAL, "%s: its table static_data is empty", path);
    for (size_t i = 0; !status && i < gt_machine_fields.count; i++)
        for (int column = 0; !status && column < sqlite3_column_count(statement); column++)
            if (!strcmp(sqlite3_column_name(statement, column), gt_machine_fields.field[i].name))
                status = read_machine_field(statement, column, machine, &gt_machine_fields.field[i], path, error);
    sqlite3_finalize(statement);
    return status;
}

/* Call `row` for each row of a query. */
static int each_row(sqlite3 *database, const char *path, const char *sql,
                    int (*row)(sqlite3_stmt *, struct gt_recorded *), struct gt_recorded *recorded,
                    struct gt_error *error)
{
    sqlite3_stmt *statement = NULL;
    int status = gt_sqlite_prepare(&statement, database, path, sql, error);
    int stepped = SQLITE_DONE;
    while (!status && (stepped = sqlite3_step(statement)) == SQLITE_ROW)
        if (row(statement, recorded) < 0)
            status = gt_error_system(error, ENOMEM, "%s", path);
    if (!status && stepped != SQLITE_DONE)
        status = gt_sqlite_error(database, path, error);
    sqlite3_finalize(statement);
    return status;
}

static int take_gpu(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    struct gt_gpu *gpu = gt_machine_add_gpu(&recorded->machine);
    if (!gpu)
        return -ENOMEM;
    take_fields(statement, &gt_gpu_fields, gpu);
    return 0;
}

static int take_outcome(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    const struct gt_field *field = gt_field_find(&gt_outcome_fields, text_of(statement, 0));
    recorded->has_outcome |= field != NULL;
    if (field)
        set_field(field, &recorded->outcome, statement, 1);
    return 0;
}

/* The column of this name is a figure, which an earlier version may have called otherwise. */
static bool find_renamed(const char *scope_name, const char *metric_name, enum gt_scope *scope,
                         enum gt_metric_id *metric)
{
    char name[128];
    struct gt_column column;
    snprintf(name, sizeof name, "%s_%s", scope_name, metric_name);
    if (gt_store_column_named(&column, name, NULL) < 0 || column.scope < 0)
        return false;
    *scope = column.scope;
    *metric = column.metric;
    return true;
}

/* The number of a scope and metric by their names in columns 0 and 1; false for those of another version. */
static bool find_figure(sqlite3_stmt *statement, enum gt_scope *scope, enum gt_metric_id *metric)
{
    int found = gt_metric_find(text_of(statement, 1));
    if (found < 0)
        return find_renamed(text_of(statement, 0), text_of(statement, 1), scope, metric);
    for (int i = 0; found >= 0 && i < GT_SCOPE_COUNT; i++)
        if (!strcmp(gt_scope_name(i), text_of(statement, 0))) {
            *scope = i;
            *metric = found;
            return true;
        }
    return false;
}

static int take_final(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    enum gt_scope scope;
    enum gt_metric_id metric;
    if (find_figure(statement, &scope, &metric) && (int)scope < GT_FIXED_ROWS)
        recorded->outcome.value[scope][metric] = number_of(statement, 2);
    return 0;
}

static struct gt_package_figures *find_package(struct gt_outcome *outcome, int number)
{
    for (size_t i = 0; i < outcome->package_count; i++)
        if (outcome->package[i].number == number)
            return &outcome->package[i];
    if (outcome->package_count == GT_PACKAGES)
        return NULL;
    struct gt_package_figures *package = &outcome->package[outcome->package_count++];
    package->number = number;
    for (int figure = 0; figure < GT_PACKAGE_FIGURES; figure++)
        package->value[figure] = NAN;
    return package;
}

static int take_package(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    struct gt_package_figures *package = find_package(&recorded->outcome, sqlite3_column_int(statement, 0));
    for (int figure = 0; package && figure < GT_PACKAGE_FIGURES; figure++)
        if (!strcmp(gt_package_figure_names[figure], text_of(statement, 1)))
            package->value[figure] = number_of(statement, 2);
    return 0;
}

static enum gt_exactness find_exactness(const char *name)
{
    for (int i = GT_MISSING; i <= GT_AT_LEAST; i++)
        if (!strcmp(gt_exactness_name(i), name))
            return i;
    return GT_MISSING;
}

static int take_provenance(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    struct gt_provenance entry = {.exactness = find_exactness(text_of(statement, 2))};
    if (!find_figure(statement, &entry.scope, &entry.metric))
        return 0;
    snprintf(entry.source, sizeof entry.source, "%s", text_of(statement, 3));
    snprintf(entry.note, sizeof entry.note, "%s", text_of(statement, 4));
    struct gt_outcome *outcome = &recorded->outcome;
    struct gt_provenance *place = GT_GROW_BY_ONE(outcome->provenance, outcome->provenance_count);
    if (!place)
        return -ENOMEM;
    *place = entry;
    outcome->provenance_count++;
    return 0;
}

static int take_record(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    struct gt_process_record record;
    gt_process_record_init(&record);
    take_fields(statement, &gt_process_record_fields, &record);
    return gt_process_records_add(&recorded->outcome.records, &record);
}

static int take_rank(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    struct gt_outcome *outcome = &recorded->outcome;
    struct gt_local_rank *rank = GT_GROW_BY_ONE(outcome->rank, outcome->rank_count);
    if (!rank)
        return -ENOMEM;
    *rank = (struct gt_local_rank){0};
    outcome->rank_count++;
    take_fields(statement, &gt_local_rank_fields, rank);
    return 0;
}

static int take_version(sqlite3_stmt *statement, struct gt_recorded *recorded)
{
    (void)recorded;
    return sqlite3_column_int(statement, 0) > GT_RECORDING_VERSION ? -ENOTSUP : 0;
}

/* Read the static data, GPUs, outcome, final values and provenance. */
static int sqlite_read_fields(sqlite3 *database, const char *path, struct gt_recorded *recorded, struct gt_error *error)
{
    static const struct {
        const char *table, *sql;
        int (*take)(sqlite3_stmt *, struct gt_recorded *);
    } further[] = {
        {"gpu", "SELECT * FROM gpu ORDER BY device", take_gpu},
        {"outcome", "SELECT key, value FROM outcome", take_outcome},
        {"final", "SELECT scope, metric, value FROM final", take_final},
        {"package", "SELECT package, key, value FROM package", take_package},
        {GT_RANKS_TABLE, "SELECT * FROM " GT_RANKS_TABLE, take_rank},
        {GT_PROCESS_RECORD_TABLE, "SELECT * FROM " GT_PROCESS_RECORD_TABLE, take_record},
        {"provenance", "SELECT scope, metric, exactness, source, note FROM provenance", take_provenance},
    };
    if (!gt_sqlite_has_table(database, "static_data"))
        return gt_error_set(error, EINVAL, "%s is not a tracking file: it has no table static_data", path);
    gt_outcome_init(&recorded->outcome);
    int status = each_row(database, path, "PRAGMA user_version", take_version, recorded, NULL);
    if (status < 0)
        return gt_recording_version_check(GT_RECORDING_VERSION + 1, path, error);
    status = read_static(database, path, &recorded->machine, error);
    for (size_t i = 0; !status && i < sizeof further / sizeof *further; i++)
        if (gt_sqlite_has_table(database, further[i].table))
            status = each_row(database, path, further[i].sql, further[i].take, recorded, error);
    return status;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------- */

/* A query over one table. */
struct table {
    const char *name;
    sqlite3_stmt *select; /* NULL: no such table, or at its end */
    const struct gt_column *const *source;
    int source_count;
    uint64_t row;
};

struct sqlite_recording {
    sqlite3 *database;
    char *path;
    struct table table[GT_TABLES];
};

static bool has_column(sqlite3 *database, const char *table, const char *column)
{
    return sqlite3_table_column_metadata(database, NULL, table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

/* Returns the name that the table has for the column; NULL: none. */
static const char *name_in(sqlite3 *database, const char *table, const char *column)
{
    const char *before = gt_store_name_before(column);
    if (has_column(database, table, column))
        return column;
    return before && has_column(database, table, before) ? before : NULL;
}

static void sqlite_close(void *state)
{
    struct sqlite_recording *recording = state;
    if (!recording)
        return;
    for (int i = 0; i < GT_TABLES; i++)
        sqlite3_finalize(recording->table[i].select);
    sqlite3_close(recording->database);
    free(recording->path);
    free(recording);
}

static int sqlite_open(void **ret, const char *path, struct gt_recorded *recorded, struct gt_error *error)
{
    struct sqlite_recording *recording = calloc(1, sizeof *recording);
    if (!recording || !(recording->path = strdup(path))) {
        free(recording);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    int status = gt_sqlite_open_existing(&recording->database, path, error);
    if (!status)
        status = sqlite_read_fields(recording->database, path, recorded, error);
    if (status < 0)
        sqlite_close(recording);
    else
        *ret = recording;
    return status;
}

static bool sqlite_has(const void *state, const char *column)
{
    const struct sqlite_recording *recording = state;
    return has_column(recording->database, "data", column);
}

static int sqlite_begin(void *state, enum gt_stored_table index, const struct gt_columns *columns, const bool wanted[],
                        int64_t after, const struct gt_column *source[], struct gt_error *error)
{
    struct sqlite_recording *recording = state;
    struct table *table = &recording->table[index];
    struct gt_buffer sql = {0};
    table->name = index ? gt_details[index - 1].table : "data";
    table->source = source;
    if (!gt_sqlite_has_table(recording->database, table->name))
        return 0; /* of details; or the original's recording, killed before its first sample */
    if (!index && !has_column(recording->database, "data", "timestamp"))
        return gt_error_set(error, EINVAL, "%s: its table data has no column timestamp", recording->path);
    /* All tables are read in one transaction, so that they agree while a tracker still writes. */
    int status = index ? 0 : gt_sqlite_run(recording->database, recording->path, "BEGIN", error);
    if (status < 0)
        return status;
    for (size_t i = 0; i < columns->count; i++) {
        const struct gt_column *column = &columns->column[i];
        const char *written = !wanted || wanted[i] ? name_in(recording->database, table->name, column->name) : NULL;
        if (!written)
            continue;
        gt_buffer_text(&sql, table->source_count ? ", " : "SELECT ");
        gt_sqlite_name(&sql, written);
        source[table->source_count++] = column;
    }
    if (!table->source_count)
        return 0;
    gt_buffer_printf(&sql, " FROM %s", table->name);
    if (after > 0)
        gt_buffer_printf(&sql, " WHERE rowid > %lld", (long long)after);
    gt_buffer_text(&sql, " ORDER BY rowid");
    status = gt_sqlite_prepare_text(&table->select, recording->database, recording->path, &sql, error);
    return status < 0 ? status : table->source_count;
}

static int bad_number(const struct sqlite_recording *recording, const struct table *table, int position,
                      struct gt_error *error)
{
    const char *text = (const char *)sqlite3_column_text(table->select, position);
    const char *column = table->source[position]->name;
    if (!text)
        return gt_error_set(error, EBADMSG, "%s, table %s, row %llu, column %s: no time", recording->path, table->name,
                            (unsigned long long)table->row, column);
    return gt_error_set(error, EBADMSG, "%s, table %s, row %llu, column %s: \"%s\" is not a number", recording->path,
                        table->name, (unsigned long long)table->row, column, text);
}

/* Columns may hold texts whatever their declared type: numbers written as text are taken, others refused. */
static int read_number(const struct sqlite_recording *recording, const struct table *table, int position, double *ret,
                       struct gt_error *error)
{
    *ret = NAN;
    switch (sqlite3_column_type(table->select, position)) {
    case SQLITE_INTEGER:
    case SQLITE_FLOAT: *ret = sqlite3_column_double(table->select, position); return 0;
    case SQLITE_NULL:
        return table->source[position]->scope == GT_COLUMN_REAL ? bad_number(recording, table, position, error) : 0;
    case SQLITE_TEXT:
        if (gt_number_double((const char *)sqlite3_column_text(table->select, position), ret) == 0)
            return 0;
        break;
    default: break;
    }
    return bad_number(recording, table, position, error);
}

static int sqlite_row(void *state, enum gt_stored_table index, double value[], struct gt_error *error)
{
    struct sqlite_recording *recording = state;
    struct table *table = &recording->table[index];
    int result = table->select ? sqlite3_step(table->select) : SQLITE_DONE;
    if (result == SQLITE_DONE) {
        sqlite3_finalize(table->select); /* a further step would begin again */
        table->select = NULL;
        return 0;
    }
    if (result != SQLITE_ROW)
        return gt_sqlite_error(recording->database, recording->path, error);
    table->row++;
    for (int i = 0; i < table->source_count; i++)
        if (read_number(recording, table, i, &value[i], error) < 0)
            return -EBADMSG;
    return 1;
}

const struct gt_store_type gt_store_sqlite = {
    .suffix = ".sqlite",
    .is_database = true,
    .check = gt_sqlite_check_logs,
    .create = gt_sqlite_create,
    .write = gt_sqlite_write,
    .flush = gt_sqlite_flush,
    .finish = gt_sqlite_finish,
    .open = sqlite_open,
    .has = sqlite_has,
    .begin = sqlite_begin,
    .row = sqlite_row,
    .can_begin_after = true,
    .close = sqlite_close,
};
