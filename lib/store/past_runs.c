#include "store/past_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "store/sqlite.h"
#include "store/store.h"

#define WITHIN_STATE "/gpu-tracker/runs.sqlite"

enum { PATIENCE_MS = 500, LAYOUT = 1 };

enum kind { TEXT, REAL, WHOLE };

static const struct column {
    const char *name;
    enum kind kind;
    size_t offset;
} columns[] = {
    {"start", REAL, offsetof(struct gt_past_run, start)},
    {"command", TEXT, offsetof(struct gt_past_run, command)},
    {"folder", TEXT, offsetof(struct gt_past_run, folder)},
    {"host", TEXT, offsetof(struct gt_past_run, host)},
    {"exit_status", WHOLE, offsetof(struct gt_past_run, exit_status)},
    {"elapsed", REAL, offsetof(struct gt_past_run, elapsed)},
    {"ram_peak", REAL, offsetof(struct gt_past_run, ram_peak)},
    {"cpu_time", REAL, offsetof(struct gt_past_run, cpu_time)},
    {"gpu_ram_peak", REAL, offsetof(struct gt_past_run, gpu_ram_peak)},
    {"energy", REAL, offsetof(struct gt_past_run, energy)},
    {"recording", TEXT, offsetof(struct gt_past_run, recording)},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static const char *const types[] = {"TEXT", "REAL", "INTEGER"};

int gt_past_runs_path(char *ret, size_t size, struct gt_error *error)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int length;
    if (state && *state == '/')
        length = snprintf(ret, size, "%s" WITHIN_STATE, state);
    else if (home && *home == '/' && access(home, F_OK) < 0)
        return gt_error_system(error, errno, "cannot create the list of runs: %s", home);
    else if (home && *home == '/')
        length = snprintf(ret, size, "%s/.local/state" WITHIN_STATE, home);
    else
        return gt_error_set(error, ENOENT, "cannot create the list of runs: HOME is not set");
    return (size_t)length < size ? 0 : gt_error_system(error, ENAMETOOLONG, "the list of runs");
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* It is the user's own, a plain file, and nobody else's to read. */
static int make_private(const char *path, struct gt_error *error)
{
    struct stat found;
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EACCES && lstat(path, &found) == 0)
        return gt_error_set(error, EPERM, "%s may not be written (chmod u+w, or --no-history)", path);
    if (fd < 0)
        return gt_error_system(error, errno, "%s", path);
    int code = fstat(fd, &found) < 0 ? errno : 0;
    if (!code && (!S_ISREG(found.st_mode) || found.st_uid != geteuid()))
        code = EPERM;
    if (!code && found.st_mode & 077 && fchmod(fd, 0600) < 0)
        code = errno;
    close(fd);
    return code ? gt_error_system(error, code, "%s", path) : 0;
}

static int set_up(sqlite3 *database, const char *path, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_text(&sql, "CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY AUTOINCREMENT");
    for (size_t i = 0; i < COLUMNS; i++)
        gt_buffer_printf(&sql, ", %s %s", columns[i].name, types[columns[i].kind]);
    gt_buffer_printf(&sql, "); PRAGMA user_version=%d", LAYOUT);
    return gt_sqlite_run_text(database, path, &sql, error);
}

static int open_to_write(sqlite3 **ret, const char *path, struct gt_error *error)
{
    int status = gt_store_make_folders(path, 0700, error);
    if (!status)
        status = make_private(path, error);
    if (status < 0)
        return status;
    if (sqlite3_open_v2(path, ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return gt_sqlite_error(*ret, path, error);
    sqlite3_busy_timeout(*ret, PATIENCE_MS);
    status = gt_sqlite_run(*ret, path, "PRAGMA synchronous=OFF; BEGIN IMMEDIATE", error);
    return status < 0 ? status : set_up(*ret, path, error);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static void bind_run(sqlite3_stmt *insert, int position, const struct column *column, const struct gt_past_run *run)
{
    const void *place = (const char *)run + column->offset;
    const char *text = column->kind == TEXT ? *(char *const *)place : NULL;
    if (column->kind == WHOLE)
        sqlite3_bind_int(insert, position, *(const int *)place);
    else if (column->kind == REAL)
        gt_sqlite_bind_number(insert, position, *(const double *)place, false);
    else
        gt_sqlite_bind_text(insert, position, text);
}

static int insert_row(sqlite3 *database, const char *path, const struct gt_past_run *run, struct gt_error *error)
{
    sqlite3_stmt *insert = NULL;
    int status = gt_sqlite_prepare_row(&insert, database, path, "INSERT", "runs", 1 + COLUMNS, error);
    for (size_t i = 0; !status && i < COLUMNS; i++) /* behind the number, which SQLite gives */
        bind_run(insert, (int)i + 2, &columns[i], run);
    if (!status)
        status = gt_sqlite_step(insert, database, path, error);
    sqlite3_finalize(insert);
    return status;
}

int gt_past_runs_add(const char *path, const struct gt_past_run *run, struct gt_error *error)
{
    char prune[120];
    sqlite3 *database = NULL;
    int status = open_to_write(&database, path, error);
    snprintf(prune, sizeof prune, "DELETE FROM runs WHERE number <= (SELECT max(number) FROM runs) - %d; COMMIT",
             GT_PAST_RUNS_MOST);
    if (!status)
        status = insert_row(database, path, run, error);
    if (!status)
        status = gt_sqlite_run(database, path, prune, error);
    sqlite3_close(database);
    return status;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static int take_row(sqlite3_stmt *select, struct gt_past_runs *runs)
{
    struct gt_past_run *run = GT_GROW_LIST(runs, run);
    if (!run)
        return -ENOMEM;
    *run = (struct gt_past_run){.back = sqlite3_column_int64(select, 0)};
    int status = 0;
    for (int i = 0; i < COLUMNS; i++) {
        void *place = (char *)run + columns[i].offset;
        bool is_missing = sqlite3_column_type(select, i + 1) == SQLITE_NULL;
        if (columns[i].kind == WHOLE)
            *(int *)place = is_missing ? -1 : sqlite3_column_int(select, i + 1);
        else if (columns[i].kind == REAL)
            *(double *)place = is_missing ? NAN : sqlite3_column_double(select, i + 1);
        else if (!is_missing && !(*(char **)place = strdup((const char *)sqlite3_column_text(select, i + 1))))
            status = -ENOMEM;
    }
    return status;
}

static void write_query(struct gt_buffer *sql, const struct gt_past_runs_filter *filter)
{
    gt_buffer_text(sql, "SELECT (SELECT max(number) FROM runs) + 1 - number");
    for (size_t i = 0; i < COLUMNS; i++)
        gt_buffer_printf(sql, ", %s", columns[i].name);
    gt_buffer_text(sql, " FROM runs WHERE 1");
    if (filter->like)
        gt_buffer_text(sql, " AND command IS ? AND folder IS ? AND host IS ? AND exit_status IS ?");
    for (size_t i = 0; i < filter->word_count; i++)
        gt_buffer_text(sql, " AND instr(lower(ifnull(command, '') || char(10) || ifnull(folder, '')), lower(?))");
    if (filter->back)
        gt_buffer_printf(sql, " AND number = (SELECT max(number) FROM runs) + 1 - %lld", (long long)filter->back);
    gt_buffer_printf(sql, " ORDER BY number DESC LIMIT %lld", filter->most ? (long long)filter->most : -1ll);
}

static void bind_filter(sqlite3_stmt *select, const struct gt_past_runs_filter *filter)
{
    int position = 1;
    if (filter->like) {
        const struct gt_past_run *like = filter->like;
        const char *const texts[] = {like->command, like->folder, like->host};
        for (int i = 0; i < 3; i++)
            gt_sqlite_bind_text(select, position++, texts[i]);
        sqlite3_bind_int(select, position++, like->exit_status);
    }
    for (size_t i = 0; i < filter->word_count; i++)
        gt_sqlite_bind_text(select, position++, filter->words[i]);
}

static int read_rows(struct gt_past_runs *ret, sqlite3 *database, const char *path,
                     const struct gt_past_runs_filter *filter, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    sqlite3_stmt *select = NULL;
    write_query(&sql, filter);
    int status = gt_sqlite_prepare_text(&select, database, path, &sql, error);
    if (status < 0)
        return status;
    bind_filter(select, filter);
    int step;
    while ((step = sqlite3_step(select)) == SQLITE_ROW && !status)
        if (take_row(select, ret) < 0)
            status = gt_error_system(error, ENOMEM, "%s", path);
    if (!status && step != SQLITE_DONE)
        status = gt_sqlite_error(database, path, error);
    sqlite3_finalize(select);
    return status;
}

int gt_past_runs_read(struct gt_past_runs *ret, const char *path, const struct gt_past_runs_filter *filter,
                      struct gt_error *error)
{
    sqlite3 *database = NULL;
    struct stat found;
    if ((stat(path, &found) < 0 && errno == ENOENT) || (S_ISREG(found.st_mode) && !found.st_size))
        return 0;
    int status = gt_sqlite_open_existing(&database, path, error);
    if (status < 0)
        return status;
    sqlite3_busy_timeout(database, PATIENCE_MS);
    if (gt_sqlite_has_table(database, "runs"))
        status = read_rows(ret, database, path, filter, error);
    sqlite3_close(database);
    return status;
}

void gt_past_runs_release(struct gt_past_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        for (size_t k = 0; k < COLUMNS; k++)
            if (columns[k].kind == TEXT)
                free(*(char **)((char *)&runs->run[i] + columns[k].offset));
    free(runs->run);
    *runs = (struct gt_past_runs){0};
}
