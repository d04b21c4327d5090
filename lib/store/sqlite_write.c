#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "store/minutes.h"
#include "store/sqlite.h"
#include "store/store.h"

static void bind_field(sqlite3_stmt *insert, int position, const struct gt_field *field, const void *object)
{
    if (field->kind == GT_FIELD_TEXT)
        gt_sqlite_bind_text(insert, position, gt_field_text(field, object));
    else
        gt_sqlite_bind_number(insert, position, gt_field_number(field, object), field->kind == GT_FIELD_INTEGER);
}

static void bind_life(sqlite3_stmt *insert, int position, const struct gt_field *field, const struct gt_life *life)
{
    if (field->kind == GT_FIELD_TEXT && !*gt_field_text(field, life))
        sqlite3_bind_null(insert, position);
    else
        bind_field(insert, position, field, life);
}

/* A row replaces an earlier one of the same number. */
static int sqlite_lives_write(sqlite3_stmt *insert, const char *path, const struct gt_life *life, size_t count,
                              struct gt_error *error)
{
    int status = 0;
    for (size_t k = 0; !status && k < count; k++) {
        for (size_t i = 0; i < gt_life_field_count; i++)
            bind_life(insert, (int)i + 1, &gt_life_fields[i], &life[k]);
        status = gt_sqlite_step(insert, sqlite3_db_handle(insert), path, error);
    }
    return status;
}

/* What a row of minutes has before the columns of samples. */
static const char minute_columns[] = "time INTEGER, number INTEGER, statistic VARCHAR, weight INTEGER, ";
enum { MINUTE_COLUMNS = 4 };

/* A table that rows of numbers go into. */
struct output {
    struct gt_columns columns;
    sqlite3_stmt *insert;
};

struct sqlite_writer {
    bool uses_wal, has_locks;
    sqlite3 *database;
    char *path;
    struct output data;
    struct output detail[GT_DETAIL_COUNT];
    sqlite3_stmt *lives;   /* with names */
    sqlite3_stmt *minutes; /* NULL: no minute was over yet */
    struct gt_minute minute;
    bool has_detail, has_names, in_transaction;
    char *full; /* in a spool: the file that says that it is full; NULL: it is in none */
    bool is_full;
    uint64_t left_out; /* samples, as it was full */
};

static const char schema[] =
    "CREATE TABLE outcome (key VARCHAR PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE final (scope VARCHAR, metric VARCHAR, value FLOAT);"
    "CREATE TABLE provenance (scope VARCHAR, metric VARCHAR, exactness VARCHAR, source VARCHAR, note VARCHAR);"
    "CREATE TABLE package (package INTEGER, key VARCHAR, value FLOAT);"
    "CREATE TABLE gpu (device INTEGER PRIMARY KEY, uuid VARCHAR, name VARCHAR, brand VARCHAR, memory FLOAT,"
    " selected INTEGER);";

/* ---- Statements ---------------------------------------------------------------------------------------------- */

static int step(struct sqlite_writer *writer, sqlite3_stmt *statement, struct gt_error *error)
{
    return gt_sqlite_step(statement, writer->database, writer->path, error);
}

static int prepare_insert(struct sqlite_writer *writer, sqlite3_stmt **ret, const char *table, size_t columns,
                          struct gt_error *error)
{
    return gt_sqlite_prepare_row(ret, writer->database, writer->path, "INSERT", table, columns, error);
}

/* ---- Creating ------------------------------------------------------------------------------------------------ */

static void list_columns(struct gt_buffer *sql, const struct gt_columns *columns)
{
    for (size_t i = 0; i < columns->count; i++) {
        const struct gt_column *column = &columns->column[i];
        gt_buffer_text(sql, i ? ", " : "");
        gt_sqlite_name(sql, column->name);
        gt_buffer_text(sql, column->is_integer ? " INTEGER" : " FLOAT");
    }
}

/* `first`: columns before those of the output. */
static int create_output(struct sqlite_writer *writer, const struct output *output, const char *table,
                         const char *first, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_printf(&sql, "CREATE TABLE %s (%s", table, first);
    list_columns(&sql, &output->columns);
    gt_buffer_char(&sql, ')');
    return gt_sqlite_run_text(writer->database, writer->path, &sql, error);
}

static int create_minutes(struct sqlite_writer *writer, struct gt_error *error)
{
    int status = create_output(writer, &writer->data, GT_MINUTES_TABLE, minute_columns, error);
    if (!status && gt_minute_init(&writer->minute, writer->data.columns.count) < 0)
        status = gt_error_system(error, ENOMEM, "%s", writer->path);
    return status;
}

/* A table of fields, one column each. `key` follows the first. */
static int create_fields(struct sqlite_writer *writer, const char *table, const struct gt_field *fields, size_t count,
                         const char *key, struct gt_error *error)
{
    static const char *const types[] = {"VARCHAR", "INTEGER", "FLOAT"};
    struct gt_buffer sql = {0};
    gt_buffer_printf(&sql, "CREATE TABLE %s (", table);
    for (size_t i = 0; i < count; i++)
        gt_buffer_printf(&sql, "%s%s %s%s", i ? ", " : "", fields[i].name, types[fields[i].kind], i ? "" : key);
    gt_buffer_char(&sql, ')');
    return gt_sqlite_run_text(writer->database, writer->path, &sql, error);
}

static void bind_fields(sqlite3_stmt *insert, const struct gt_field *fields, size_t count, const void *object)
{
    for (size_t i = 0; i < count; i++)
        bind_field(insert, (int)i + 1, &fields[i], object);
}

static int create_static(struct sqlite_writer *writer, const struct gt_machine *machine, struct gt_error *error)
{
    sqlite3_stmt *insert = NULL;
    int status = create_fields(writer, "static_data", gt_machine_fields, gt_machine_field_count, "", error);
    if (!status)
        status = prepare_insert(writer, &insert, "static_data", gt_machine_field_count, error);
    if (!status) {
        bind_fields(insert, gt_machine_fields, gt_machine_field_count, machine);
        status = step(writer, insert, error);
    }
    sqlite3_finalize(insert);
    return status;
}

static int insert_gpus(struct sqlite_writer *writer, const struct gt_machine *machine, struct gt_error *error)
{
    sqlite3_stmt *insert = NULL;
    int status = prepare_insert(writer, &insert, "gpu", 6, error);
    for (size_t i = 0; !status && i < machine->gpu_length; i++) {
        const struct gt_gpu *gpu = &machine->gpu[i];
        sqlite3_bind_int64(insert, 1, (sqlite3_int64)i);
        gt_sqlite_bind_text(insert, 2, gpu->uuid);
        gt_sqlite_bind_text(insert, 3, gpu->name);
        gt_sqlite_bind_text(insert, 4, gpu->brand);
        gt_sqlite_bind_number(insert, 5, gpu->memory, false);
        sqlite3_bind_int(insert, 6, gpu->selected);
        status = step(writer, insert, error);
    }
    sqlite3_finalize(insert);
    return status;
}

static int create_tables(struct sqlite_writer *writer, const struct gt_machine *machine, struct gt_error *error)
{
    int status = gt_sqlite_run(writer->database, writer->path, "BEGIN", error);
    if (!status)
        status = create_static(writer, machine, error);
    gt_store_columns(&writer->data.columns, machine);
    if (!status)
        status = create_output(writer, &writer->data, "data", "", error);
    if (!status)
        status = create_minutes(writer, error);
    for (size_t i = 0; !status && writer->has_detail && i < GT_DETAIL_COUNT; i++) {
        gt_detail_columns(&writer->detail[i].columns, gt_details[i].scope);
        status = create_output(writer, &writer->detail[i], gt_details[i].table, "", error);
    }
    if (!status && writer->has_names)
        status = create_fields(writer, GT_LIFE_TABLE, gt_life_fields, gt_life_field_count, " PRIMARY KEY", error);
    if (!status)
        status = gt_sqlite_run(writer->database, writer->path, schema, error);
    if (!status)
        status = insert_gpus(writer, machine, error);
    return status < 0 ? status : gt_sqlite_run(writer->database, writer->path, "COMMIT", error);
}

static void close_database(struct sqlite_writer *writer)
{
    sqlite3_stmt **const statements[] = {&writer->data.insert, &writer->detail[0].insert, &writer->detail[1].insert,
                                         &writer->lives, &writer->minutes};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        sqlite3_finalize(*statements[i]);
        *statements[i] = NULL;
    }
    sqlite3_close(writer->database);
    writer->database = NULL;
}

/* `path` is writer->path, or the hidden file. Without WAL a reader may keep the writer from its change as long as it reads. */
static int open_database(struct sqlite_writer *writer, const char *path, const char *settings, struct gt_error *error)
{
    const char *system = writer->has_locks ? NULL : "unix-none";
    if (sqlite3_open_v2(path, &writer->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, system) != SQLITE_OK)
        return gt_sqlite_error(writer->database, writer->path, error);
    sqlite3_extended_result_codes(writer->database, 1);
    sqlite3_busy_timeout(writer->database, writer->uses_wal ? 1000 : 60000);
    return gt_sqlite_run(writer->database, writer->path, settings, error);
}

static void release(struct sqlite_writer *writer)
{
    close_database(writer);
    gt_minute_release(&writer->minute);
    free(writer->path);
    free(writer->full);
    free(writer);
}

/* SQLite opens by name, and would follow a link that somebody puts there meanwhile. */
static bool has_its_name(const struct sqlite_writer *writer, const struct stat *file)
{
    struct stat found;
    return lstat(writer->path, &found) == 0 && found.st_dev == file->st_dev && found.st_ino == file->st_ino;
}

/* The file under its name, whole except for what is to come. */
static int reopen(struct sqlite_writer *writer, const struct stat *file, struct gt_error *error)
{
    int status = open_database(writer, writer->path,
                               writer->uses_wal
                                   ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-500"
                                   : "PRAGMA journal_mode=DELETE; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-500",
                               error);
    if (!status && !has_its_name(writer, file))
        status = gt_error_set(error, EEXIST, "%s was replaced while it was made", writer->path);
    if (!status)
        status = prepare_insert(writer, &writer->data.insert, "data", writer->data.columns.count, error);
    for (size_t i = 0; !status && writer->has_detail && i < GT_DETAIL_COUNT; i++)
        status = prepare_insert(writer, &writer->detail[i].insert, gt_details[i].table, writer->detail[i].columns.count,
                                error);
    if (!status && writer->has_names)
        status = gt_sqlite_prepare_row(&writer->lives, writer->database, writer->path, "REPLACE", GT_LIFE_TABLE,
                                       gt_life_field_count, error);
    return status;
}

/* Let the file appear, and go on in it. After any error nothing of it is left. */
static int place(struct sqlite_writer *writer, struct gt_new_file *file, bool replace, struct gt_error *error)
{
    struct stat own, found;
    int status = fstat(file->fd, &own) < 0 ? gt_error_system(error, errno, "%s", writer->path) : 0;
    if (!status && (replace || lstat(writer->path, &found) < 0))
        status = gt_sqlite_clear_logs(writer->path, replace, error);
    /* The log that follows does not contain what is here already. */
    if (!status && fdatasync(file->fd) < 0 && errno != EINVAL)
        status = gt_error_system(error, errno, "%s", writer->path);
    if (status < 0) {
        gt_new_file_drop(file);
        return status;
    }
    status = gt_store_place(file, writer->path, replace, error);
    if (status < 0)
        return status;
    close(file->fd);
    status = reopen(writer, &own, error);
    if (status < 0) {
        close_database(writer);
        if (has_its_name(writer, &own) && gt_sqlite_clear_logs(writer->path, true, NULL) == 0)
            unlink(writer->path);
    }
    return status;
}

/* The hidden file has no journal on the disk, which it would have under its name. */
static int make(struct sqlite_writer *writer, const struct gt_store_options *options, const struct gt_machine *machine,
                struct gt_error *error)
{
    struct gt_new_file file;
    char settings[100];
    int status = gt_new_file_begin(&file, writer->path);
    if (status < 0)
        return gt_error_system(error, -status, "%s", writer->path);
    writer->has_locks = gt_file_has_locks(file.fd);
    writer->uses_wal = writer->uses_wal && writer->has_locks && !gt_file_is_on_network(file.fd);
    snprintf(settings, sizeof settings, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA user_version=%d",
             GT_RECORDING_VERSION);
    status = open_database(writer, file.hidden, settings, error);
    if (!status)
        status = create_tables(writer, machine, error);
    if (!status && writer->uses_wal)
        status = gt_sqlite_run(writer->database, writer->path, "PRAGMA journal_mode=WAL", error);
    close_database(writer);
    if (status < 0) {
        gt_sqlite_clear_logs(file.hidden, true, NULL);
        gt_new_file_drop(&file);
        return status;
    }
    return place(writer, &file, options->overwrite, error);
}

static int find_spool(struct sqlite_writer *writer)
{
    char lock[PATH_MAX];
    if (snprintf(lock, sizeof lock, "%s" GT_SPOOL_LOCK, writer->path) >= (int)sizeof lock || access(lock, F_OK) < 0)
        return 0;
    int folder = (int)(gt_file_name(writer->path) - writer->path);
    return asprintf(&writer->full, "%.*s" GT_SPOOL_FULL, folder, writer->path) < 0 ? -ENOMEM : 0;
}

int gt_sqlite_create(void **ret, const struct gt_store_options *options, const struct gt_machine *machine,
                     struct gt_error *error)
{
    struct sqlite_writer *writer = calloc(1, sizeof *writer);
    char *path = strdup(options->path);
    if (!writer || !path) {
        free(writer);
        free(path);
        return gt_error_system(error, ENOMEM, "%s", options->path);
    }
    writer->path = path;
    writer->has_detail = options->detail;
    writer->has_names = options->detail || options->names;
    writer->uses_wal = true;
    struct gt_error problem = {0};
    int status = find_spool(writer) < 0 ? gt_error_system(&problem, ENOMEM, "%s", path)
                                        : make(writer, options, machine, &problem);
    if (status < 0 && writer->uses_wal) { /* perhaps because nothing can be shared in memory here */
        writer->uses_wal = false;
        gt_minute_release(&writer->minute);
        status = make(writer, options, machine, NULL);
    }
    if (status < 0) {
        release(writer);
        return gt_error_copy(error, &problem);
    }
    *ret = writer;
    return 0;
}

/* ---- Samples ------------------------------------------------------------------------------------------------- */

static int write_detail(struct sqlite_writer *writer, size_t index, const struct gt_sample *sample,
                        struct gt_error *error)
{
    struct output *output = &writer->detail[index];
    int status = 0;
    for (size_t r = GT_FIXED_ROWS; !status && r < sample->row_count; r++) {
        if (sample->row[r].scope != gt_details[index].scope)
            continue;
        for (size_t i = 0; i < output->columns.count; i++) {
            const struct gt_column *column = &output->columns.column[i];
            gt_sqlite_bind_number(output->insert, (int)i + 1, gt_detail_value(column, sample, &sample->row[r]),
                                  column->is_integer);
        }
        status = step(writer, output->insert, error);
    }
    return status;
}

/* The rows of the minute; the next one begins. */
static int write_minute(struct sqlite_writer *writer, struct gt_error *error)
{
    struct gt_minute *minute = &writer->minute;
    const struct gt_columns *columns = &writer->data.columns;
    int status = 0;
    if (minute->weight && !writer->minutes)
        status = prepare_insert(writer, &writer->minutes, GT_MINUTES_TABLE, MINUTE_COLUMNS + columns->count, error);
    for (int statistic = 0; !status && minute->weight && statistic < GT_MINUTE_STATISTICS; statistic++) {
        sqlite3_bind_int64(writer->minutes, 1, minute->begin_s);
        sqlite3_bind_int64(writer->minutes, 2, (sqlite3_int64)minute->number);
        sqlite3_bind_text(writer->minutes, 3, gt_minute_statistic_names[statistic], -1, SQLITE_STATIC);
        sqlite3_bind_int64(writer->minutes, MINUTE_COLUMNS, minute->weight);
        for (size_t i = 0; i < columns->count; i++)
            gt_sqlite_bind_number(writer->minutes, (int)i + MINUTE_COLUMNS + 1,
                                  gt_minute_value(minute, columns, i, statistic), columns->column[i].is_integer);
        status = step(writer, writer->minutes, error);
    }
    if (!status)
        gt_minute_next(minute);
    return status;
}

static int write_data(struct sqlite_writer *writer, const struct gt_sample *sample, struct gt_error *error)
{
    const struct output *data = &writer->data;
    gt_minute_begin_sample(&writer->minute, sample->real_ns);
    for (size_t i = 0; i < data->columns.count; i++) {
        const struct gt_column *column = &data->columns.column[i];
        double value = gt_store_column_value(column, sample);
        gt_sqlite_bind_number(data->insert, (int)i + 1, value, column->is_integer);
        gt_minute_add(&writer->minute, i, column->is_zero ? NAN : value);
    }
    writer->left_out += writer->is_full;
    return writer->is_full ? 0 : step(writer, data->insert, error);
}

int gt_sqlite_write(void *state, const struct gt_sample *sample, struct gt_error *error)
{
    struct sqlite_writer *writer = state;
    int status = 0;
    if (!writer->in_transaction) {
        writer->is_full = writer->full && access(writer->full, F_OK) == 0;
        status = gt_sqlite_run(writer->database, writer->path, "BEGIN", error);
    }
    writer->in_transaction = !status;
    for (size_t i = 0; !status && writer->has_detail && !writer->is_full && i < GT_DETAIL_COUNT; i++)
        status = write_detail(writer, i, sample, error);
    if (!status && writer->lives)
        status = sqlite_lives_write(writer->lives, writer->path, sample->life, sample->life_count, error);
    if (!status && gt_minute_is_over(&writer->minute, sample->real_ns))
        status = write_minute(writer, error);
    return status < 0 ? status : write_data(writer, sample, error);
}

int gt_sqlite_flush(void *state, struct gt_error *error)
{
    struct sqlite_writer *writer = state;
    if (!writer->in_transaction)
        return 0;
    writer->in_transaction = false;
    return gt_sqlite_run(writer->database, writer->path, "COMMIT", error);
}

uint64_t gt_sqlite_left_out(const void *state)
{
    return ((const struct sqlite_writer *)state)->left_out;
}

/* ---- The end ------------------------------------------------------------------------------------------------- */

static int insert_outcome(struct sqlite_writer *writer, const struct gt_outcome *outcome, struct gt_error *error)
{
    sqlite3_stmt *insert = NULL;
    int status = prepare_insert(writer, &insert, "outcome", 2, error);
    for (size_t i = 0; !status && i < gt_outcome_field_count; i++) {
        gt_sqlite_bind_text(insert, 1, gt_outcome_fields[i].name);
        bind_field(insert, 2, &gt_outcome_fields[i], outcome);
        status = step(writer, insert, error);
    }
    sqlite3_finalize(insert);
    return status;
}

static int insert_final(struct sqlite_writer *writer, const struct gt_outcome *outcome, struct gt_error *error)
{
    sqlite3_stmt *insert = NULL;
    int status = prepare_insert(writer, &insert, "final", 3, error);
    for (int metric = 0; !status && metric < GT_METRIC_COUNT; metric++)
        for (int scope = 0; !status && scope < GT_FIXED_ROWS; scope++) {
            if (isnan(outcome->value[scope][metric]))
                continue;
            gt_sqlite_bind_text(insert, 1, gt_scope_name(scope));
            gt_sqlite_bind_text(insert, 2, gt_metrics[metric].name);
            gt_sqlite_bind_number(insert, 3, outcome->value[scope][metric], false);
            status = step(writer, insert, error);
        }
    sqlite3_finalize(insert);
    return status;
}

static int insert_packages(struct sqlite_writer *writer, const struct gt_outcome *outcome, struct gt_error *error)
{
    sqlite3_stmt *insert = NULL;
    int status = outcome->package_count ? prepare_insert(writer, &insert, "package", 3, error) : 0;
    for (size_t i = 0; !status && i < outcome->package_count; i++)
        for (int figure = 0; !status && figure < GT_PACKAGE_FIGURES; figure++) {
            gt_sqlite_bind_number(insert, 1, outcome->package[i].number, true);
            gt_sqlite_bind_text(insert, 2, gt_package_figure_names[figure]);
            gt_sqlite_bind_number(insert, 3, outcome->package[i].value[figure], false);
            status = step(writer, insert, error);
        }
    sqlite3_finalize(insert);
    return status;
}

static int insert_ranks(struct sqlite_writer *writer, const struct gt_outcome *outcome, struct gt_error *error)
{
    sqlite3_stmt *insert = NULL;
    int status = create_fields(writer, GT_RANKS_TABLE, gt_local_rank_fields, gt_local_rank_field_count, "", error);
    if (!status)
        status = prepare_insert(writer, &insert, GT_RANKS_TABLE, gt_local_rank_field_count, error);
    for (size_t i = 0; !status && i < outcome->rank_count; i++) {
        bind_fields(insert, gt_local_rank_fields, gt_local_rank_field_count, &outcome->rank[i]);
        status = step(writer, insert, error);
    }
    sqlite3_finalize(insert);
    return status;
}

static int insert_provenance(struct sqlite_writer *writer, const struct gt_outcome *outcome, struct gt_error *error)
{
    sqlite3_stmt *insert = NULL;
    int status = prepare_insert(writer, &insert, "provenance", 5, error);
    for (size_t i = 0; !status && i < outcome->provenance_count; i++) {
        const struct gt_provenance *provenance = &outcome->provenance[i];
        gt_sqlite_bind_text(insert, 1, gt_scope_name(provenance->scope));
        gt_sqlite_bind_text(insert, 2, gt_metrics[provenance->metric].name);
        gt_sqlite_bind_text(insert, 3, gt_exactness_name(provenance->exactness));
        gt_sqlite_bind_text(insert, 4, provenance->source);
        gt_sqlite_bind_text(insert, 5, provenance->note);
        status = step(writer, insert, error);
    }
    sqlite3_finalize(insert);
    return status;
}

/* The last minute is short. After a failed write it may have samples that are not in the recording. */
static int write_outcome(struct sqlite_writer *writer, const struct gt_outcome *outcome, bool whole,
                         struct gt_error *error)
{
    int status = gt_sqlite_run(writer->database, writer->path, "BEGIN", error);
    if (!status && whole)
        status = write_minute(writer, error);
    if (!status)
        status = insert_final(writer, outcome, error);
    if (!status)
        status = insert_packages(writer, outcome, error);
    if (!status && outcome->rank_count)
        status = insert_ranks(writer, outcome, error);
    if (!status)
        status = insert_provenance(writer, outcome, error);
    if (!status && writer->lives)
        status = gt_sqlite_run(writer->database, writer->path, "DELETE FROM " GT_LIFE_TABLE, error);
    if (!status && writer->lives)
        status = sqlite_lives_write(writer->lives, writer->path, outcome->lives.life, outcome->lives.count, error);
    if (!status)
        status = insert_outcome(writer, outcome, error);
    return status < 0 ? status : gt_sqlite_run(writer->database, writer->path, "COMMIT", error);
}

/* What leaving WAL mode changes lies in one sector of the first page, so no journal on the disk is needed for it. */
static const char leave_wal[] = "PRAGMA journal_mode=MEMORY";

/* After a failed write only what is committed counts; SQLite keeps the log beside the file when there is no room to fold
 * it in. A reader that holds the file at this moment keeps it in WAL mode, which is no failure. */
int gt_sqlite_finish(void *state, const struct gt_outcome *outcome, bool whole, struct gt_error *error)
{
    struct sqlite_writer *writer = state;
    if (!whole)
        sqlite3_exec(writer->database, "ROLLBACK", NULL, NULL, NULL);
    struct gt_outcome all;
    if (outcome) {
        all = *outcome;
        all.dropped += writer->left_out;
    }
    int status = outcome ? write_outcome(writer, &all, whole, error) : 0;
    if (!status && writer->uses_wal)
        sqlite3_exec(writer->database, leave_wal, NULL, NULL, NULL);
    release(writer);
    return status;
}
