#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "store/minutes.h"
#include "store/sqlite.h"
#include "store/store.h"

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
    struct gt_error problem; /* the first error; nothing is done after it */
    struct output data;
    struct output detail[GT_DETAIL_COUNT];
    sqlite3_stmt *records; /* with names */
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

/* ---- Statements: after an error they do nothing ---------------------------------------------------------------- */

static void run(struct sqlite_writer *writer, const char *sql)
{
    if (!writer->problem.code)
        gt_sqlite_run(writer->database, writer->path, sql, &writer->problem);
}

static void run_text(struct sqlite_writer *writer, struct gt_buffer *sql)
{
    if (!writer->problem.code)
        gt_sqlite_run_text(writer->database, writer->path, sql, &writer->problem);
    gt_buffer_release(sql);
}

/* Returns NULL after an error, which the functions of SQLite accept. */
static sqlite3_stmt *prepare(struct sqlite_writer *writer, const char *verb, const char *table, size_t columns)
{
    sqlite3_stmt *ret = NULL;
    if (!writer->problem.code)
        gt_sqlite_prepare_row(&ret, writer->database, writer->path, verb, table, columns, &writer->problem);
    return ret;
}

static void step(struct sqlite_writer *writer, sqlite3_stmt *statement)
{
    if (!writer->problem.code)
        gt_sqlite_step(statement, writer->database, writer->path, &writer->problem);
}

/* Returns the status of all that was done. */
static int status_of(struct sqlite_writer *writer, struct gt_error *error)
{
    return gt_error_copy(error, &writer->problem);
}

static void bind_field(sqlite3_stmt *insert, int position, const struct gt_field *field, const void *object)
{
    if (field->kind == GT_FIELD_TEXT)
        gt_sqlite_bind_text(insert, position, gt_field_text(field, object));
    else
        gt_sqlite_bind_number(insert, position, gt_field_number(field, object), field->kind == GT_FIELD_INTEGER);
}

/* A row with a column for each field, from the position `first` on. */
static void insert_fields(struct sqlite_writer *writer, sqlite3_stmt *insert, int first, const struct gt_fields *fields,
                          const void *object)
{
    for (size_t i = 0; i < fields->count; i++)
        bind_field(insert, first + (int)i, &fields->field[i], object);
    step(writer, insert);
}

/* A row replaces an earlier one of the same number. */
static void insert_records(struct sqlite_writer *writer, const struct gt_process_record *record, size_t count)
{
    for (size_t i = 0; writer->records && i < count; i++)
        insert_fields(writer, writer->records, 1, &gt_process_record_fields, &record[i]);
}

/* ---- Creating ------------------------------------------------------------------------------------------------ */

/* `first`: columns before those of the output. */
static void create_output(struct sqlite_writer *writer, const struct gt_columns *columns, const char *table,
                          const char *first)
{
    struct gt_buffer sql = {0};
    gt_buffer_printf(&sql, "CREATE TABLE %s (%s", table, first);
    for (size_t i = 0; i < columns->count; i++) {
        gt_buffer_text(&sql, i ? ", " : "");
        gt_sqlite_name(&sql, columns->column[i].name);
        gt_buffer_text(&sql, columns->column[i].is_integer ? " INTEGER" : " FLOAT");
    }
    gt_buffer_char(&sql, ')');
    run_text(writer, &sql);
}

/* A table of fields, one column each. `key` follows the first. */
static void create_fields(struct sqlite_writer *writer, const char *table, const struct gt_fields *fields,
                          const char *key)
{
    static const char *const types[] = {"VARCHAR", "INTEGER", "FLOAT"};
    struct gt_buffer sql = {0};
    gt_buffer_printf(&sql, "CREATE TABLE %s (", table);
    for (size_t i = 0; i < fields->count; i++)
        gt_buffer_printf(&sql, "%s%s %s%s", i ? ", " : "", fields->field[i].name, types[fields->field[i].kind],
                         i ? "" : key);
    gt_buffer_char(&sql, ')');
    run_text(writer, &sql);
}

static void insert_machine(struct sqlite_writer *writer, const struct gt_machine *machine)
{
    sqlite3_stmt *insert = prepare(writer, "INSERT", "static_data", gt_machine_fields.count);
    insert_fields(writer, insert, 1, &gt_machine_fields, machine);
    sqlite3_finalize(insert);
    insert = prepare(writer, "INSERT", "gpu", 1 + gt_gpu_fields.count);
    for (size_t i = 0; i < machine->gpu_length; i++) {
        sqlite3_bind_int64(insert, 1, (sqlite3_int64)i);
        insert_fields(writer, insert, 2, &gt_gpu_fields, &machine->gpu[i]);
    }
    sqlite3_finalize(insert);
}

static void create_tables(struct sqlite_writer *writer, const struct gt_machine *machine)
{
    struct gt_columns *columns = &writer->data.columns;
    gt_store_columns(columns, machine);
    run(writer, "BEGIN");
    create_fields(writer, "static_data", &gt_machine_fields, "");
    create_output(writer, columns, "data", "");
    create_output(writer, columns, GT_MINUTES_TABLE, minute_columns);
    for (size_t i = 0; writer->has_detail && i < GT_DETAIL_COUNT; i++) {
        gt_detail_columns(&writer->detail[i].columns, gt_details[i].scope);
        create_output(writer, &writer->detail[i].columns, gt_details[i].table, "");
    }
    if (writer->has_names)
        create_fields(writer, GT_PROCESS_RECORD_TABLE, &gt_process_record_fields, " PRIMARY KEY");
    run(writer, schema);
    insert_machine(writer, machine);
    run(writer, "COMMIT");
}

static void close_database(struct sqlite_writer *writer)
{
    sqlite3_stmt **const statements[] = {&writer->data.insert, &writer->detail[0].insert, &writer->detail[1].insert,
                                         &writer->records, &writer->minutes};
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        sqlite3_finalize(*statements[i]);
        *statements[i] = NULL;
    }
    sqlite3_close(writer->database);
    writer->database = NULL;
}

/* `path` is writer->path, or the hidden file. Without WAL a reader may keep the writer from its change as long as it reads. */
static void open_database(struct sqlite_writer *writer, const char *path, const char *settings)
{
    const char *system = writer->has_locks ? NULL : "unix-none";
    if (sqlite3_open_v2(path, &writer->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, system) != SQLITE_OK)
        gt_sqlite_error(writer->database, writer->path, &writer->problem);
    sqlite3_extended_result_codes(writer->database, 1);
    sqlite3_busy_timeout(writer->database, writer->uses_wal ? 1000 : 60000);
    run(writer, settings);
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
static void reopen(struct sqlite_writer *writer, const struct stat *file)
{
    open_database(writer, writer->path,
                  writer->uses_wal ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-500"
                                   : "PRAGMA journal_mode=DELETE; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-500");
    if (!has_its_name(writer, file))
        gt_error_set(&writer->problem, EEXIST, "%s was replaced while it was made", writer->path);
    writer->data.insert = prepare(writer, "INSERT", "data", writer->data.columns.count);
    for (size_t i = 0; writer->has_detail && i < GT_DETAIL_COUNT; i++)
        writer->detail[i].insert = prepare(writer, "INSERT", gt_details[i].table, writer->detail[i].columns.count);
    if (writer->has_names)
        writer->records = prepare(writer, "REPLACE", GT_PROCESS_RECORD_TABLE, gt_process_record_fields.count);
}

/* Let the file appear, and go on in it. After any error nothing of it is left. */
static void place(struct sqlite_writer *writer, struct gt_new_file *file, bool replace)
{
    struct gt_error *problem = &writer->problem;
    struct stat own, found;
    if (fstat(file->fd, &own) < 0)
        gt_error_system(problem, errno, "%s", writer->path);
    if (!problem->code && (replace || lstat(writer->path, &found) < 0))
        gt_sqlite_clear_logs(writer->path, replace, problem);
    /* The log that follows does not contain what is here already. */
    if (!problem->code && fdatasync(file->fd) < 0 && errno != EINVAL)
        gt_error_system(problem, errno, "%s", writer->path);
    if (problem->code) {
        gt_new_file_drop(file);
        return;
    }
    if (gt_store_place(file, writer->path, replace, problem) < 0)
        return;
    close(file->fd);
    reopen(writer, &own);
    if (!problem->code)
        return;
    close_database(writer);
    if (has_its_name(writer, &own) && gt_sqlite_clear_logs(writer->path, true, NULL) == 0)
        unlink(writer->path);
}

/* The hidden file has no journal on the disk, which it would have under its name. */
static void make(struct sqlite_writer *writer, const struct gt_store_options *options, const struct gt_machine *machine)
{
    struct gt_new_file file;
    char settings[100];
    int status = gt_new_file_begin(&file, writer->path);
    if (status < 0) {
        gt_error_system(&writer->problem, -status, "%s", writer->path);
        return;
    }
    writer->has_locks = gt_file_has_locks(file.fd);
    writer->uses_wal = writer->uses_wal && writer->has_locks && !gt_file_is_on_network(file.fd);
    snprintf(settings, sizeof settings, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA user_version=%d",
             GT_RECORDING_VERSION);
    open_database(writer, file.hidden, settings);
    create_tables(writer, machine);
    if (writer->uses_wal)
        run(writer, "PRAGMA journal_mode=WAL");
    close_database(writer);
    if (!writer->problem.code) {
        place(writer, &file, options->overwrite);
        return;
    }
    gt_sqlite_clear_logs(file.hidden, true, NULL);
    gt_new_file_drop(&file);
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
    if (find_spool(writer) < 0)
        gt_error_system(&writer->problem, ENOMEM, "%s", path);
    else
        make(writer, options, machine);
    struct gt_error problem = writer->problem;
    if (problem.code && writer->uses_wal) { /* perhaps because nothing can be shared in memory here */
        writer->uses_wal = false;
        writer->problem = (struct gt_error){0};
        make(writer, options, machine);
    }
    if (!writer->problem.code && gt_minute_init(&writer->minute, writer->data.columns.count) < 0)
        gt_error_system(&problem, ENOMEM, "%s", path);
    if (writer->problem.code || !writer->minute.figure) {
        release(writer);
        return gt_error_copy(error, &problem);
    }
    *ret = writer;
    return 0;
}

/* ---- Samples ------------------------------------------------------------------------------------------------- */

static void write_detail(struct sqlite_writer *writer, size_t index, const struct gt_sample *sample)
{
    struct output *output = &writer->detail[index];
    for (size_t r = GT_FIXED_ROWS; r < sample->row_count; r++) {
        if (sample->row[r].scope != gt_details[index].scope)
            continue;
        for (size_t i = 0; i < output->columns.count; i++) {
            const struct gt_column *column = &output->columns.column[i];
            gt_sqlite_bind_number(output->insert, (int)i + 1, gt_detail_value(column, sample, &sample->row[r]),
                                  column->is_integer);
        }
        step(writer, output->insert);
    }
}

/* The rows of the minute; the next one begins. */
static void write_minute(struct sqlite_writer *writer)
{
    struct gt_minute *minute = &writer->minute;
    const struct gt_columns *columns = &writer->data.columns;
    if (minute->weight && !writer->minutes)
        writer->minutes = prepare(writer, "INSERT", GT_MINUTES_TABLE, MINUTE_COLUMNS + columns->count);
    for (int statistic = 0; minute->weight && statistic < GT_MINUTE_STATISTICS; statistic++) {
        sqlite3_bind_int64(writer->minutes, 1, minute->begin_s);
        sqlite3_bind_int64(writer->minutes, 2, (sqlite3_int64)minute->number);
        sqlite3_bind_text(writer->minutes, 3, gt_minute_statistic_names[statistic], -1, SQLITE_STATIC);
        sqlite3_bind_int64(writer->minutes, MINUTE_COLUMNS, minute->weight);
        for (size_t i = 0; i < columns->count; i++)
            gt_sqlite_bind_number(writer->minutes, (int)i + MINUTE_COLUMNS + 1,
                                  gt_minute_value(minute, columns, i, statistic), columns->column[i].is_integer);
        step(writer, writer->minutes);
    }
    gt_minute_next(minute);
}

int gt_sqlite_write(void *state, const struct gt_sample *sample, struct gt_error *error)
{
    struct sqlite_writer *writer = state;
    const struct output *data = &writer->data;
    if (!writer->in_transaction) {
        writer->is_full = writer->full && access(writer->full, F_OK) == 0;
        run(writer, "BEGIN");
    }
    writer->in_transaction = true;
    for (size_t i = 0; writer->has_detail && !writer->is_full && i < GT_DETAIL_COUNT; i++)
        write_detail(writer, i, sample);
    insert_records(writer, sample->record, sample->record_count);
    if (gt_minute_is_over(&writer->minute, sample->real_ns))
        write_minute(writer);
    gt_minute_begin_sample(&writer->minute, sample->real_ns);
    for (size_t i = 0; i < data->columns.count; i++) {
        const struct gt_column *column = &data->columns.column[i];
        double value = gt_store_column_value(column, sample);
        gt_sqlite_bind_number(data->insert, (int)i + 1, value, column->is_integer);
        gt_minute_add(&writer->minute, i, column->is_zero ? NAN : value);
    }
    if (!writer->is_full)
        step(writer, data->insert);
    writer->left_out += writer->is_full;
    return status_of(writer, error);
}

int gt_sqlite_flush(void *state, struct gt_error *error)
{
    struct sqlite_writer *writer = state;
    if (writer->in_transaction)
        run(writer, "COMMIT");
    writer->in_transaction = false;
    int status = status_of(writer, error);
    return status < 0 ? status : writer->left_out > 0;
}

/* ---- The end ------------------------------------------------------------------------------------------------- */

static void insert_outcome(struct sqlite_writer *writer, const struct gt_outcome *outcome)
{
    sqlite3_stmt *insert = prepare(writer, "INSERT", "outcome", 2);
    for (size_t i = 0; i < gt_outcome_fields.count; i++) {
        gt_sqlite_bind_text(insert, 1, gt_outcome_fields.field[i].name);
        bind_field(insert, 2, &gt_outcome_fields.field[i], outcome);
        step(writer, insert);
    }
    sqlite3_finalize(insert);
}

static void insert_final(struct sqlite_writer *writer, const struct gt_outcome *outcome)
{
    sqlite3_stmt *insert = prepare(writer, "INSERT", "final", 3);
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        for (int scope = 0; scope < GT_FIXED_ROWS; scope++) {
            if (isnan(outcome->value[scope][metric]))
                continue;
            gt_sqlite_bind_text(insert, 1, gt_scope_name(scope));
            gt_sqlite_bind_text(insert, 2, gt_metrics[metric].name);
            gt_sqlite_bind_number(insert, 3, outcome->value[scope][metric], false);
            step(writer, insert);
        }
    sqlite3_finalize(insert);
}

static void insert_packages(struct sqlite_writer *writer, const struct gt_outcome *outcome)
{
    sqlite3_stmt *insert = outcome->package_count ? prepare(writer, "INSERT", "package", 3) : NULL;
    for (size_t i = 0; i < outcome->package_count; i++)
        for (int figure = 0; figure < GT_PACKAGE_FIGURES; figure++) {
            gt_sqlite_bind_number(insert, 1, outcome->package[i].number, true);
            gt_sqlite_bind_text(insert, 2, gt_package_figure_names[figure]);
            gt_sqlite_bind_number(insert, 3, outcome->package[i].value[figure], false);
            step(writer, insert);
        }
    sqlite3_finalize(insert);
}

static void insert_ranks(struct sqlite_writer *writer, const struct gt_outcome *outcome)
{
    create_fields(writer, GT_RANKS_TABLE, &gt_local_rank_fields, "");
    sqlite3_stmt *insert = prepare(writer, "INSERT", GT_RANKS_TABLE, gt_local_rank_fields.count);
    for (size_t i = 0; i < outcome->rank_count; i++)
        insert_fields(writer, insert, 1, &gt_local_rank_fields, &outcome->rank[i]);
    sqlite3_finalize(insert);
}

static void insert_provenance(struct sqlite_writer *writer, const struct gt_outcome *outcome)
{
    sqlite3_stmt *insert = prepare(writer, "INSERT", "provenance", 5);
    for (size_t i = 0; i < outcome->provenance_count; i++) {
        const struct gt_provenance *provenance = &outcome->provenance[i];
        gt_sqlite_bind_text(insert, 1, gt_scope_name(provenance->scope));
        gt_sqlite_bind_text(insert, 2, gt_metrics[provenance->metric].name);
        gt_sqlite_bind_text(insert, 3, gt_exactness_name(provenance->exactness));
        gt_sqlite_bind_text(insert, 4, provenance->source);
        gt_sqlite_bind_text(insert, 5, provenance->note);
        step(writer, insert);
    }
    sqlite3_finalize(insert);
}

/* The last minute is short. After a failed write it may have samples that are not in the recording. */
static void write_outcome(struct sqlite_writer *writer, const struct gt_outcome *outcome, bool whole)
{
    run(writer, "BEGIN");
    if (whole)
        write_minute(writer);
    insert_final(writer, outcome);
    insert_packages(writer, outcome);
    if (outcome->rank_count)
        insert_ranks(writer, outcome);
    insert_provenance(writer, outcome);
    if (writer->records)
        run(writer, "DELETE FROM " GT_PROCESS_RECORD_TABLE);
    insert_records(writer, outcome->records.record, outcome->records.count);
    insert_outcome(writer, outcome);
    run(writer, "COMMIT");
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
    writer->problem = (struct gt_error){0};
    if (outcome) {
        struct gt_outcome all = *outcome;
        all.dropped += writer->left_out;
        write_outcome(writer, &all, whole);
    }
    int status = status_of(writer, error);
    if (!status && writer->uses_wal)
        sqlite3_exec(writer->database, leave_wal, NULL, NULL, NULL);
    release(writer);
    return status;
}
