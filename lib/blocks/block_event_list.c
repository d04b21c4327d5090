/* Lists of the rows of sub-tracking files, and writing them again. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "blocks/block_event.h"
#include "store/sqlite.h"
#include "store/type.h"

enum { COMPLAINTS = 5 };

static int keep(struct gt_block_event_list *list, const struct gt_block_event *event)
{
    struct gt_block_event *place = GT_GROW_LIST(list, event);
    if (!place)
        return -ENOMEM;
    *place = *event;
    return 0;
}

/* Rows that were paired become rows again. */
static int unpair(struct gt_block_event_list *list)
{
    int status = 0;
    struct gt_open_calls *calls = list->calls;
    for (size_t i = 0; i < calls->interval_count && status == 0; i++) {
        struct gt_block_event start, stop;
        gt_open_calls_row(&calls->interval[i], GT_START, &start);
        status = keep(list, &start);
        if (status == 0 && gt_open_calls_row(&calls->interval[i], GT_STOP, &stop))
            status = keep(list, &stop);
    }
    gt_open_calls_release(calls);
    list->calls = NULL;
    return status;
}

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
    if (list->calls) {
        int status = gt_open_calls_add(list->calls, event);
        if (status == 0)
            status = unpair(list);
        if (status != 0)
            return status < 0 ? status : 0;
    }
    return keep(list, event);
}

static void complain(struct gt_block_event_list *list, const struct gt_error *bad)
{
    if (list->bad++ < COMPLAINTS)
        gt_buffer_printf(&list->complaints, "%s\n", bad->text);
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
            complain(list, &bad);
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
    bool has_real = gt_file_real_path(path, real) >= 0;
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
    list->torn += gt_block_event_torn(reader);
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
    static const int codes[] = {EACCES, EBADMSG, EINVAL, EISDIR, ELOOP, ENOENT, EPERM};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (status == -codes[i])
            return true;
    return false;
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
    int status = 0;
    if (list->calls)
        gt_open_calls_take(list->calls, ret);
    else
        status = gt_intervals_pair(ret, list->event, list->count);
    free(list->event);
    list->event = NULL;
    list->count = list->capacity = 0;
    return status;
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
    if (__builtin_mul_overflow((int64_t)event->source, list->last_call + 1, &base) || INT64_MAX - base < event->call)
        return event->call;
    return base + event->call;
}

static void put_number(struct gt_buffer *out, double value)
{
    char text[GT_NUMBER_SIZE];
    if (!isnan(value))
        gt_buffer_append(out, text, gt_number_repr(text, value));
}

static void put_row(struct gt_buffer *out, const struct gt_block_event_list *list, const struct gt_block_event *event)
{
    gt_buffer_printf(out, "%lld,", (long long)event->process);
    gt_csv_field(out, gt_strings_text(&list->names, event->name));
    gt_buffer_printf(out, ",%d,", event->position);
    put_number(out, event->timestamp);
    gt_buffer_char(out, ',');
    if (event->thread >= 0)
        gt_buffer_printf(out, "%lld", (long long)event->thread);
    gt_buffer_char(out, ',');
    if (event->call >= 0)
        gt_buffer_printf(out, "%lld", (long long)call_number(list, event));
    gt_buffer_char(out, ',');
    if (event->total >= 0)
        gt_buffer_printf(out, "%lld", (long long)event->total);
    gt_buffer_char(out, ',');
    put_number(out, event->monotonic);
    gt_buffer_char(out, ',');
    put_number(out, event->cpu_time);
    gt_buffer_text(out, "\r\n");
}

static int flush(int fd, struct gt_buffer *out)
{
    int status = out->failed ? out->failed : gt_file_write_all(fd, out->data, out->length);
    gt_buffer_clear(out);
    return status;
}

static int write_csv(const struct gt_block_event_list *list, int fd, const char *name, struct gt_error *error)
{
    struct gt_buffer out = {0};
    int status = 0;
    for (int i = 0; i < GT_BLOCK_EVENT_COLUMNS; i++)
        gt_buffer_printf(&out, "%s%s", i ? "," : "", gt_block_event_columns[i]);
    gt_buffer_text(&out, "\r\n");
    for (size_t i = 0; i < list->count && status == 0; i++) {
        put_row(&out, list, &list->event[i]);
        if (out.length > 1 << 20)
            status = flush(fd, &out);
    }
    if (status == 0)
        status = flush(fd, &out);
    gt_buffer_release(&out);
    return status < 0 ? gt_error_system(error, -status, "%s", name) : 0;
}

/* ---- writing SQLite ---- */

static void bind_optional(sqlite3_stmt *insert, int column, int64_t value)
{
    if (value < 0)
        sqlite3_bind_null(insert, 1 + column);
    else
        sqlite3_bind_int64(insert, 1 + column, value);
}

static int insert_rows(sqlite3 *database, const struct gt_block_event_list *list)
{
    static const char sql[] = "INSERT INTO blocks VALUES (?,?,?,?,?,?,?,?,?)";
    sqlite3_stmt *insert;
    int status = sqlite3_prepare_v2(database, sql, -1, &insert, NULL);
    for (size_t i = 0; i < list->count && status == SQLITE_OK; i++) {
        const struct gt_block_event *event = &list->event[i];
        sqlite3_bind_int64(insert, 1 + GT_BLOCK_EVENT_PROCESS, event->process);
        gt_sqlite_bind_text(insert, 1 + GT_BLOCK_EVENT_NAME, gt_strings_text(&list->names, event->name));
        sqlite3_bind_int(insert, 1 + GT_BLOCK_EVENT_POSITION, event->position);
        sqlite3_bind_double(insert, 1 + GT_BLOCK_EVENT_TIMESTAMP, event->timestamp);
        bind_optional(insert, GT_BLOCK_EVENT_THREAD, event->thread);
        bind_optional(insert, GT_BLOCK_EVENT_CALL, event->call < 0 ? -1 : call_number(list, event));
        bind_optional(insert, GT_BLOCK_EVENT_TOTAL, event->total);
        gt_sqlite_bind_number(insert, 1 + GT_BLOCK_EVENT_MONOTONIC, event->monotonic, false);
        gt_sqlite_bind_number(insert, 1 + GT_BLOCK_EVENT_CPU_TIME, event->cpu_time, false);
        sqlite3_step(insert);
        status = sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    return status;
}

static int create_tables(sqlite3 *database, bool has_view)
{
    struct gt_buffer sql = {0};
    gt_buffer_text(&sql, "BEGIN; DROP TABLE IF EXISTS blocks; ");
    gt_block_sqlite_tables(&sql, has_view);
    int status = sql.failed ? SQLITE_NOMEM : sqlite3_exec(database, sql.data, NULL, NULL, NULL);
    gt_buffer_release(&sql);
    return status;
}

static int write_sqlite(const struct gt_block_event_list *list, const char *path, bool has_view, struct gt_error *error)
{
    sqlite3 *database;
    int status = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    if (status == SQLITE_OK)
        status = create_tables(database, has_view);
    if (status == SQLITE_OK)
        status = insert_rows(database, list);
    if (status == SQLITE_OK)
        status = sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    int result = status == SQLITE_OK ? 0 : gt_sqlite_error(database, path, error);
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
    status = gt_new_file_place(&file, overwrite);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    close(file.fd);
    return 0;
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

static int path_beside(char *ret, size_t size, const char *tracking_file)
{
    return gt_store_path_beside(ret, size, tracking_file, GT_BLOCKS_SUFFIX);
}

int gt_block_event_list_attach(const struct gt_block_event_list *list, const char *tracking_file,
                               struct gt_error *error)
{
    char path[PATH_MAX];
    const struct gt_block_writer *writer = gt_block_writer_of(tracking_file);
    if (writer == &gt_block_sqlite)
        return write_sqlite(list, tracking_file, false, error);
    if (writer != &gt_block_csv || path_beside(path, sizeof path, tracking_file) < 0)
        return gt_error_set(error, EINVAL, "%s: blocks are kept with .csv and .sqlite tracking files", tracking_file);
    return write_new(list, path, true, error);
}

int gt_block_event_folder(char *ret, size_t size, const char *tracking_file)
{
    return snprintf(ret, size, "%s.blocks", tracking_file) < (int)size ? 0 : -ENAMETOOLONG;
}

static bool has_rows(const char *path)
{
    struct gt_block_event_reader *reader;
    if (gt_block_event_open(&reader, path, NULL) < 0)
        return false;
    gt_block_event_close(reader);
    return true;
}

int gt_block_event_check(const char *tracking_file, bool overwrite, struct gt_error *error)
{
    char path[PATH_MAX];
    struct stat facts;
    bool is_beside = gt_block_writer_of(tracking_file) == &gt_block_csv &&
                     path_beside(path, sizeof path, tracking_file) == 0;
    if (!is_beside || overwrite || lstat(path, &facts) < 0)
        return 0;
    return gt_error_exists(error, path);
}

int gt_block_event_collected(char *ret, size_t size, const char *tracking_file)
{
    struct stat facts;
    bool is_csv = gt_block_writer_of(tracking_file) == &gt_block_csv;
    if (!is_csv && snprintf(ret, size, "%s", tracking_file) < (int)size && has_rows(tracking_file))
        return 0;
    if (path_beside(ret, size, tracking_file) == 0 && access(ret, R_OK) == 0)
        return 0;
    if (gt_block_event_folder(ret, size, tracking_file) < 0 || lstat(ret, &facts) < 0)
        return -ENOENT;
    if (S_ISLNK(facts.st_mode)) /* it was put there instead of the folder that was made */
        return -ELOOP;
    return access(ret, R_OK | X_OK) == 0 ? 0 : -ENOENT; /* the tracker was killed before it collected them */
}
