/* Sub-tracking files: their rows, lists of them, and writing them again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "blocks/block_event.h"
#include "store/sqlite.h"
#include "store/type.h"

/* ---- one file ---- */

/* A CSV file, or the rows of a table. */
struct gt_block_event_reader {
    char *path;
    uint64_t row; /* of a table by its number, of CSV by its line */
    int fd;       /* to close, or -1 */
    struct gt_csv_reader *csv;
    char **field; /* of the row */
    size_t columns;
    int column[GT_BLOCK_EVENT_COLUMNS]; /* its place in the row, or -1 */
    bool has_returns;                   /* the header ended in \r\n, so a row that does not was torn apart */
    uint64_t torn;                      /* rows that are left out because the kill of their process tore them apart */
    sqlite3 *database;
    sqlite3_stmt *select;
};

static int is_not_sub_tracking(const struct gt_block_event_reader *reader, int column, struct gt_error *error)
{
    return gt_error_set(error, EBADMSG, "%s is not a sub-tracking file: it has no column %s", reader->path,
                        gt_block_event_columns[column]);
}

static int read_csv_header(struct gt_block_event_reader *reader, struct gt_error *error)
{
    char **field;
    int status = gt_csv_next(reader->csv, &field, &reader->columns, error);
    if (status < 0)
        return status;
    if (status == 0)
        return gt_error_set(error, EBADMSG, "%s is empty", reader->path);
    reader->has_returns = gt_csv_has_return(reader->csv);
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++) {
        reader->column[i] = -1;
        for (size_t j = 0; j < reader->columns; j++)
            if (strcmp(field[j], gt_block_event_columns[i]) == 0)
                reader->column[i] = (int)j;
        if (i < GT_BLOCK_EVENT_REQUIRED && reader->column[i] < 0)
            return is_not_sub_tracking(reader, i, error);
    }
    return 0;
}

static int has_column(const struct gt_block_event_reader *reader, const char *table, const char *column)
{
    sqlite3_stmt *query;
    const char *sql = "SELECT count(*) FROM pragma_table_info(?) WHERE name = ?";
    if (sqlite3_prepare_v2(reader->database, sql, -1, &query, NULL) != SQLITE_OK)
        return -EIO;
    sqlite3_bind_text(query, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(query, 2, column, -1, SQLITE_STATIC);
    int count = sqlite3_step(query) == SQLITE_ROW ? sqlite3_column_int(query, 0) : -EIO;
    sqlite3_finalize(query);
    return count;
}

/* Columns that the table lacks are NULL. */
static int select_rows(struct gt_block_event_reader *reader, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    int found = has_column(reader, "blocks", gt_block_event_columns[0]);
    const char *table = found ? "blocks" : "data";
    if (found < 0)
        return gt_sqlite_error(reader->database, reader->path, error);
    gt_buffer_text(&sql, "SELECT ");
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++) {
        bool has = has_column(reader, table, gt_block_event_columns[i]) > 0;
        reader->column[i] = i;
        if (!has && i < GT_BLOCK_EVENT_REQUIRED) {
            gt_buffer_release(&sql);
            return is_not_sub_tracking(reader, i, error);
        }
        gt_buffer_printf(&sql, has ? "\"%s\", " : "NULL, ", gt_block_event_columns[i]);
    }
    gt_buffer_printf(&sql, "rowid FROM \"%s\" ORDER BY rowid", table);
    return gt_sqlite_prepare_text(&reader->select, reader->database, reader->path, &sql, error);
}

/* ---- its rows ---- */

static int next_csv_row(struct gt_block_event_reader *reader, const char **name, struct gt_error *error)
{
    size_t count;
    for (;;) {
        int status = gt_csv_next(reader->csv, &reader->field, &count, error);
        if (status <= 0)
            return status;
        if (!reader->has_returns || gt_csv_has_return(reader->csv))
            break;
        reader->torn++;
    }
    reader->row = gt_csv_line(reader->csv);
    if (count != reader->columns)
        return gt_error_set(error, EBADMSG, "%s, line %llu: %zu fields instead of %zu", reader->path,
                            (unsigned long long)reader->row, count, reader->columns);
    *name = reader->field[reader->column[GT_BLOCK_EVENT_NAME]];
    return 1;
}

static int next_sqlite_row(struct gt_block_event_reader *reader, const char **name, struct gt_error *error)
{
    int status = sqlite3_step(reader->select);
    if (status == SQLITE_DONE)
        return 0;
    if (status != SQLITE_ROW) {
        int code = gt_sqlite_error(reader->database, reader->path, error);
        /* not one bad row, but the file */
        return code == -EBADMSG ? gt_error_set(error, EIO, "%s", reader->path) : code;
    }
    *name = (const char *)sqlite3_column_text(reader->select, GT_BLOCK_EVENT_NAME);
    *name = *name ? *name : "";
    reader->row = (uint64_t)sqlite3_column_int64(reader->select, GT_BLOCK_EVENT_COLUMNS);
    return 1;
}

/* NULL for a column that the file lacks and for an empty field. */
static const char *csv_text(const struct gt_block_event_reader *reader, int column)
{
    const char *text = reader->column[column] < 0 ? NULL : reader->field[reader->column[column]];
    return text && !*text && column >= GT_BLOCK_EVENT_REQUIRED ? NULL : text;
}

static int bad_cell(const struct gt_block_event_reader *reader, int column, const char *what, struct gt_error *error)
{
    const char *text = reader->csv ? csv_text(reader, column)
                                   : (const char *)sqlite3_column_text(reader->select, column);
    return gt_error_set(error, EBADMSG, "%s, %s %lld: %s \"%.60s\"", reader->path, reader->csv ? "line" : "row",
                        (long long)reader->row, what, text ? text : "");
}

/* Reads a cell of CSV or of a table. 1; 0: the file has none, which only some columns may lack; -EBADMSG. */
static int read_double(const struct gt_block_event_reader *reader, int column, double *ret, struct gt_error *error)
{
    bool is_number = false;
    if (reader->csv) {
        const char *text = csv_text(reader, column);
        if (!text)
            return 0;
        is_number = gt_number_double(text, ret) == 0;
    } else {
        int type = sqlite3_column_type(reader->select, column);
        if (type == SQLITE_NULL && column >= GT_BLOCK_EVENT_REQUIRED)
            return 0;
        *ret = sqlite3_column_double(reader->select, column);
        is_number = (type == SQLITE_INTEGER || type == SQLITE_FLOAT) && isfinite(*ret);
    }
    return is_number ? 1 : bad_cell(reader, column, gt_block_event_columns[column], error);
}

static int read_integer(const struct gt_block_event_reader *reader, int column, int64_t *ret, struct gt_error *error)
{
    double value;
    const char *text = reader->csv ? csv_text(reader, column) : NULL;
    if (text && gt_number_i64(text, ret) == 0)
        return 1;
    if (!reader->csv && sqlite3_column_type(reader->select, column) == SQLITE_INTEGER) {
        *ret = sqlite3_column_int64(reader->select, column);
        return 1;
    }
    int status = read_double(reader, column, &value, error); /* pandas writes 7 as "7.0" */
    if (status <= 0)
        return status;
    if (value != floor(value) || !(fabs(value) < 9e15))
        return bad_cell(reader, column, gt_block_event_columns[column], error);
    *ret = (int64_t)value;
    return 1;
}

int gt_block_event_next(struct gt_block_event_reader *reader, struct gt_block_event *ret, const char **name,
                        struct gt_error *error)
{
    int64_t position = 0;
    *ret = (struct gt_block_event){.thread = -1, .call = -1, .total = -1, .monotonic = NAN, .cpu_time = NAN};
    int status = reader->csv ? next_csv_row(reader, name, error) : next_sqlite_row(reader, name, error);
    if (status <= 0)
        return status;
    ret->row = reader->row;
    int64_t *const integer[GT_BLOCK_EVENT_COLUMNS] = {
        [GT_BLOCK_EVENT_PROCESS] = &ret->process, [GT_BLOCK_EVENT_POSITION] = &position,
        [GT_BLOCK_EVENT_THREAD] = &ret->thread,   [GT_BLOCK_EVENT_CALL] = &ret->call,
        [GT_BLOCK_EVENT_TOTAL] = &ret->total,
    };
    double *const number[GT_BLOCK_EVENT_COLUMNS] = {
        [GT_BLOCK_EVENT_TIMESTAMP] = &ret->timestamp,
        [GT_BLOCK_EVENT_MONOTONIC] = &ret->monotonic,
        [GT_BLOCK_EVENT_CPU_TIME] = &ret->cpu_time,
    };
    for (int i = 0; status >= 0 && i < GT_BLOCK_EVENT_COLUMNS; i++) {
        if (integer[i])
            status = read_integer(reader, i, integer[i], error);
        else if (number[i])
            status = read_double(reader, i, number[i], error);
        if (i == GT_BLOCK_EVENT_POSITION && status >= 0 && position != GT_START && position != GT_STOP)
            status = bad_cell(reader, i, reader->csv ? "position is neither 0 nor 1:" : gt_block_event_columns[i],
                              error);
    }
    ret->position = (uint8_t)position;
    return status < 0 ? status : 1;
}

/* ---- opening ---- */

int gt_block_event_open_as(struct gt_block_event_reader **ret, int csv, const char *path, struct gt_error *error)
{
    struct gt_block_event_reader *reader = calloc(1, sizeof *reader);
    if (!reader || !(reader->path = strdup(path))) {
        free(reader);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    reader->fd = -1;
    int status = csv < 0 ? gt_sqlite_open_existing(&reader->database, path, error)
                         : gt_csv_open(&reader->csv, csv, path, error);
    if (status >= 0)
        status = csv < 0 ? select_rows(reader, error) : read_csv_header(reader, error);
    if (status < 0)
        gt_block_event_close(reader);
    else
        *ret = reader;
    return status < 0 ? status : 0;
}

int gt_block_event_open(struct gt_block_event_reader **ret, const char *path, struct gt_error *error)
{
    const struct gt_block_writer *writer = gt_block_writer_of(path);
    if (!writer)
        return gt_error_set(error, EINVAL, "%s: a sub-tracking file ends in .csv or .sqlite", path);
    if (access(path, R_OK) < 0)
        return gt_error_system(error, errno, "%s", path);
    if (writer != &gt_block_csv)
        return gt_block_event_open_as(ret, -1, path, error);
    int fd = gt_given_file_open(path, NULL, error);
    int status = fd < 0 ? fd : gt_block_event_open_as(ret, fd, path, error);
    if (status == 0)
        (*ret)->fd = fd;
    else
        gt_close_fd(fd);
    return status;
}

void gt_block_event_close(struct gt_block_event_reader *reader)
{
    if (!reader)
        return;
    gt_csv_close(reader->csv);
    sqlite3_finalize(reader->select);
    sqlite3_close(reader->database);
    gt_close_fd(reader->fd);
    free(reader->path);
    free(reader);
}

/* ---- lists of rows ---- */

enum { COMPLAINTS = 5 };

static double later(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static int append(struct gt_block_event_list *list, const struct gt_block_event *event)
{
    bool is_first = list->rows++ == 0;
    list->last = later(is_first ? NAN : list->last, event->timestamp);
    list->last_monotonic = later(is_first ? NAN : list->last_monotonic, event->monotonic);
    list->last_call = event->call > list->last_call ? event->call : list->last_call;
    return GT_APPEND(list, event, *event);
}

static int read_all(struct gt_block_event_list *list, struct gt_block_event_reader *reader, uint16_t source,
                    struct gt_error *error)
{
    for (;;) {
        struct gt_block_event event;
        const char *name;
        struct gt_error bad = {0};
        int status = gt_block_event_next(reader, &event, &name, &bad);
        if (status == -EBADMSG && list->skip_bad) {
            if (list->bad++ < COMPLAINTS)
                gt_buffer_printf(&list->complaints, "%s\n", bad.text);
            continue;
        }
        if (status < 0)
            return gt_error_copy(error, &bad);
        if (status == 0)
            return 0;
        int64_t number = gt_strings_add(&list->names, name, strlen(name));
        event.name = (uint32_t)number;
        event.source = source;
        if (number < 0 || append(list, &event) < 0)
            return gt_error_system(error, ENOMEM, "code blocks");
    }
}

static int add_file(struct gt_block_event_list *list, const char *path, struct gt_error *error)
{
    char real[PATH_MAX];
    bool has_real = realpath(path, real) != NULL;
    const char *name = has_real ? real : path;
    bool known = has_real && gt_strings_find(&list->files, name, strlen(name)) >= 0;
    int64_t source = known ? -EINVAL : gt_strings_add(&list->files, name, strlen(name));
    if (known)
        return gt_error_set(error, EINVAL, "%s is given twice", path);
    if (source < 0 || source > UINT16_MAX)
        return gt_error_set(error, E2BIG, "more than %d sub-tracking files", UINT16_MAX);
    struct gt_block_event_reader *reader;
    int status = gt_block_event_open(&reader, path, error);
    if (status < 0)
        return status;
    status = read_all(list, reader, (uint16_t)source, error);
    list->torn += reader->torn;
    gt_block_event_close(reader);
    return status;
}

static int is_tracking(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && gt_block_writer_of(entry->d_name);
}

/* No failure of this machine, but of the file. */
static bool is_about_file(int status)
{
    return status == -EACCES || status == -EBADMSG || status == -EINVAL || status == -EISDIR || status == -ELOOP ||
           status == -ENOENT || status == -EPERM;
}

/* One file among those that the processes of a run left. What somebody else has put there costs its own blocks only. */
static int add_left(struct gt_block_event_list *list, const char *path, struct gt_error *error)
{
    struct gt_error bad = {0};
    struct stat facts;
    int status = 0;
    if (lstat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) /* links are not followed, and nobody waits for a pipe */
        status = gt_error_set(&bad, EINVAL, "%s was not written by a process of the run", path);
    if (status == 0)
        status = add_file(list, path, &bad);
    if (status >= 0 || !is_about_file(status))
        return gt_error_copy(error, &bad);
    if (list->foreign++ < COMPLAINTS)
        gt_buffer_printf(&list->complaints, "%s\n", bad.text);
    return 0;
}

static int add_folder(struct gt_block_event_list *list, const char *path, struct gt_error *error)
{
    struct dirent **entry;
    int count = scandir(path, &entry, is_tracking, alphasort);
    if (count < 0)
        return gt_error_system(error, errno, "%s", path);
    int status = count ? 0 : gt_error_set(error, ENOENT, "%s: the folder has no .csv or .sqlite file", path);
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX];
        if (snprintf(file, sizeof file, "%s/%s", path, entry[i]->d_name) >= (int)sizeof file)
            status = gt_error_set(error, ENAMETOOLONG, "%s: the path is too long", path);
        if (status == 0)
            status = list->skip_foreign ? add_left(list, file, error) : add_file(list, file, error);
        free(entry[i]);
    }
    free(entry);
    return status;
}

int gt_block_event_list_add(struct gt_block_event_list *list, const char *path, struct gt_error *error)
{
    struct stat facts;
    if (stat(path, &facts) < 0)
        return gt_error_system(error, errno, "%s", path);
    return S_ISDIR(facts.st_mode) ? add_folder(list, path, error) : add_file(list, path, error);
}

int gt_block_event_list_pair(struct gt_block_event_list *list, struct gt_intervals *ret)
{
    int status = gt_intervals_pair(ret, list->event, list->count);
    free(list->event);
    list->event = NULL;
    list->count = list->capacity = 0;
    return status;
}

void gt_block_event_list_warn(const struct gt_block_event_list *list, void (*warn)(void *context, const char *sentence),
                              void *context)
{
    for (const char *line = list->complaints.data, *end; line && *line; line = end + 1) {
        end = strchr(line, '\n');
        gt_warn(warn, context, "%.*s: left out", (int)(end - line), line);
    }
}

void gt_block_event_list_release(struct gt_block_event_list *list)
{
    free(list->event);
    gt_strings_release(&list->names);
    gt_strings_release(&list->files);
    gt_buffer_release(&list->complaints);
    *list = (struct gt_block_event_list){0};
}

/* ---- writing CSV ---- */

/* The call number in a file made of several: two files may use the same. */
static int64_t call_number(const struct gt_block_event_list *list, const struct gt_block_event *event)
{
    int64_t base;
    if (event->call < 0 || __builtin_mul_overflow((int64_t)event->source, list->last_call + 1, &base) ||
        INT64_MAX - base < event->call)
        return event->call;
    return base + event->call;
}

static void put_number(struct gt_buffer *out, double value)
{
    char text[GT_NUMBER_SIZE];
    if (!isnan(value))
        gt_buffer_append(out, text, gt_number_repr(text, value));
}

static void put_integer(struct gt_buffer *out, int64_t value)
{
    if (value >= 0)
        gt_buffer_printf(out, "%lld", (long long)value);
    gt_buffer_char(out, ',');
}

static void put_row(struct gt_buffer *out, const struct gt_block_event_list *list, const struct gt_block_event *event)
{
    gt_buffer_printf(out, "%lld,", (long long)event->process);
    gt_csv_field(out, gt_strings_text(&list->names, event->name));
    gt_buffer_printf(out, ",%d,", event->position);
    put_number(out, event->timestamp);
    gt_buffer_char(out, ',');
    put_integer(out, event->thread);
    put_integer(out, call_number(list, event));
    put_integer(out, event->total);
    put_number(out, event->monotonic);
    gt_buffer_char(out, ',');
    put_number(out, event->cpu_time);
    gt_buffer_text(out, "\r\n");
}

static int write_csv(const struct gt_block_event_list *list, int fd, const char *name, struct gt_error *error)
{
    struct gt_buffer out = {0};
    int status = 0;
    gt_block_csv_header(&out);
    for (size_t i = 0; i <= list->count && status == 0; i++) {
        if (i < list->count)
            put_row(&out, list, &list->event[i]);
        if (i < list->count && out.length <= 1 << 20)
            continue;
        status = out.failed ? out.failed : gt_file_write_all(fd, out.data, out.length);
        gt_buffer_clear(&out);
    }
    gt_buffer_release(&out);
    return status < 0 ? gt_error_system(error, -status, "%s", name) : 0;
}

/* ---- writing SQLite ---- */

static int write_sqlite(const struct gt_block_event_list *list, const char *path, bool has_view, struct gt_error *error)
{
    sqlite3 *database;
    sqlite3_stmt *insert = NULL;
    struct gt_buffer sql = {0};
    gt_buffer_text(&sql, "BEGIN; DROP TABLE IF EXISTS blocks; ");
    gt_block_sqlite_tables(&sql, has_view);
    int status = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    if (status == SQLITE_OK)
        status = sql.failed ? SQLITE_NOMEM : sqlite3_exec(database, sql.data, NULL, NULL, NULL);
    if (status == SQLITE_OK)
        status = sqlite3_prepare_v2(database, GT_BLOCK_SQLITE_INSERT, -1, &insert, NULL);
    for (size_t i = 0; i < list->count && status == SQLITE_OK; i++) {
        struct gt_block_event event = list->event[i];
        event.call = call_number(list, &event);
        status = gt_block_sqlite_insert(insert, &event, gt_strings_text(&list->names, event.name));
    }
    sqlite3_finalize(insert);
    if (status == SQLITE_OK)
        status = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    int result = status == SQLITE_OK ? 0 : gt_sqlite_error(database, path, error);
    gt_buffer_release(&sql);
    sqlite3_close(database);
    return result;
}

/* ---- files ---- */

static int write_new(const struct gt_block_event_list *list, const char *path, bool overwrite, struct gt_error *error)
{
    struct gt_new_file file;
    int status = gt_new_file_begin(&file, path);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    status = gt_block_writer_of(path) == &gt_block_csv ? write_csv(list, file.fd, path, error)
                                                       : write_sqlite(list, file.hidden, true, error);
    if (status < 0) {
        gt_new_file_drop(&file);
        return status;
    }
    return gt_new_file_finish(&file, overwrite, error);
}

int gt_block_event_list_check(const char *path, bool overwrite, struct gt_error *error)
{
    if (!gt_block_writer_of(path))
        return gt_error_set(error, EINVAL, "%s: a sub-tracking file ends in .csv or .sqlite", path);
    if (!overwrite && access(path, F_OK) == 0)
        return gt_error_exists(error, path);
    return 0;
}

int gt_block_event_list_save(const struct gt_block_event_list *list, const char *path, bool overwrite,
                             struct gt_error *error)
{
    int status = gt_block_event_list_check(path, overwrite, error);
    return status < 0 ? status : write_new(list, path, overwrite, error);
}

int gt_block_event_list_attach(const struct gt_block_event_list *list, const char *tracking_file,
                               struct gt_error *error)
{
    char path[PATH_MAX];
    const struct gt_block_writer *writer = gt_block_writer_of(tracking_file);
    if (writer == &gt_block_sqlite)
        return write_sqlite(list, tracking_file, false, error);
    if (writer != &gt_block_csv || gt_store_path_beside(path, sizeof path, tracking_file, GT_BLOCKS_SUFFIX) < 0)
        return gt_error_set(error, EINVAL, "%s: blocks are kept with .csv and .sqlite tracking files", tracking_file);
    return write_new(list, path, true, error);
}

int gt_block_event_folder(char *ret, size_t size, const char *tracking_file)
{
    return snprintf(ret, size, "%s.blocks", tracking_file) < (int)size ? 0 : -ENAMETOOLONG;
}

int gt_block_event_check(const char *tracking_file, bool overwrite, struct gt_error *error)
{
    char path[PATH_MAX];
    struct stat facts;
    bool is_beside = gt_block_writer_of(tracking_file) == &gt_block_csv &&
                     gt_store_path_beside(path, sizeof path, tracking_file, GT_BLOCKS_SUFFIX) == 0;
    if (!is_beside || overwrite || lstat(path, &facts) < 0)
        return 0;
    return gt_error_exists(error, path);
}

int gt_block_event_collected(char *ret, size_t size, const char *tracking_file)
{
    struct stat facts;
    struct gt_block_event_reader *reader;
    bool is_csv = gt_block_writer_of(tracking_file) == &gt_block_csv;
    if (!is_csv && snprintf(ret, size, "%s", tracking_file) < (int)size &&
        gt_block_event_open(&reader, tracking_file, NULL) >= 0) {
        gt_block_event_close(reader);
        return 0;
    }
    if (gt_store_path_beside(ret, size, tracking_file, GT_BLOCKS_SUFFIX) == 0 && access(ret, R_OK) == 0)
        return 0;
    if (gt_block_event_folder(ret, size, tracking_file) < 0 || lstat(ret, &facts) < 0)
        return -ENOENT;
    if (S_ISLNK(facts.st_mode)) /* it was put there instead of the folder that was made */
        return -ELOOP;
    return access(ret, R_OK | X_OK) == 0 ? 0 : -ENOENT; /* the tracker was killed before it collected them */
}
