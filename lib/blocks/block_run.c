/* The code blocks of a run: the folder in which its processes leave them until it ends, and their way into the recording. The folder
 * holds a mark, so that only a folder that was made so is ever emptied; and of what lies in it only what processes wrote there goes.
 * Links are never followed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blocks/block_run.h"
#include "base/buffer.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "blocks/block.h"
#include "blocks/block_event.h"
#include "blocks/block_notes.h"
#include "store/sqlite.h"
#include "store/store.h"

#define MARK ".gpu-tracker-blocks"
#define DIGITS "0123456789"

enum { MARK_SIZE = 80 };

enum kind { FOREIGN, NOTES, PART, ROWS };

/* By its name: PID.notes, PID.csv or PID-N.csv, and a part of a file that a killed process was making: see base/file.c. */
static enum kind named_as(const char *name)
{
    static const char hidden[] = ".gpu-tracker-";
    bool is_part = strncmp(name, hidden, strlen(hidden)) == 0;
    const char *at = is_part ? name + strlen(hidden) : name;
    size_t digits = strspn(at, DIGITS), further = at[digits] == '-' ? strspn(at + digits + 1, DIGITS) : 0;
    const char *end = at + digits + (further ? further + 1 : 0);
    if (digits && is_part)
        return further && !strcmp(end, ".part") ? PART : FOREIGN;
    if (digits && !further && !strcmp(end, GT_BLOCK_NOTES_SUFFIX))
        return NOTES;
    return digits && !strcmp(end, gt_block_csv.suffix) ? ROWS : FOREIGN;
}

/* One that was being made may be empty. */
static bool begins_so(int fd, bool may_be_empty)
{
    struct gt_buffer line = {0};
    char text[256];
    gt_block_csv_header(&line);
    ssize_t length = pread(fd, text, sizeof text, 0);
    bool is = !line.failed && length >= (ssize_t)line.length && memcmp(text, line.data, line.length) == 0;
    gt_buffer_release(&line);
    return is || (may_be_empty && length == 0);
}

static enum kind kind_of(int folder, const char *name)
{
    struct stat facts;
    enum kind kind = named_as(name);
    int fd = kind ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    bool is = fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
              (kind == NOTES ? gt_block_notes_are(fd) : begins_so(fd, kind == PART));
    gt_close_fd(fd);
    return is ? kind : FOREIGN;
}

/* Goes through the folder, without its mark. Puts the name of a foreign file into `foreign`; removes the others if
 * asked to. Returns how many there are, without notes and parts, which have no blocks; or negative errno. */
static int look(int folder, bool removes, char *foreign, size_t size)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing) {
        int code = errno;
        gt_close_fd(fd);
        return -code;
    }
    for (struct dirent *entry; (entry = readdir(listing));) {
        const char *name = entry->d_name;
        if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, MARK))
            continue;
        enum kind kind = kind_of(folder, name);
        count += kind == FOREIGN || kind == ROWS;
        if (kind == FOREIGN)
            snprintf(foreign, size, "%s", name);
        else if (removes)
            unlinkat(folder, name, 0);
    }
    closedir(listing);
    return count;
}

static bool has_mark(int folder)
{
    struct stat mark;
    return fstatat(folder, MARK, &mark, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(mark.st_mode);
}

static int open_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Remove the folder where nothing else is in it than the mark, and with `removes` the files that processes left. 1: it is gone. */
static int drop(const char *path, bool removes)
{
    char foreign[NAME_MAX + 1] = "";
    int folder = open_folder(path), is_gone = 0;
    if (folder < 0)
        return 0;
    if (has_mark(folder)) {
        int count = look(folder, removes, foreign, sizeof foreign);
        if (count == 0)
            look(folder, true, foreign, sizeof foreign);
        if (count == 0 || (count > 0 && removes && !*foreign)) {
            unlinkat(folder, MARK, 0);
            is_gone = rmdir(path) == 0;
        }
    }
    close(folder);
    return is_gone;
}

/* The folder of an earlier run, whose tracker was killed. */
static int remove_earlier(const char *path, int folder, struct gt_error *error)
{
    char foreign[NAME_MAX + 1] = "";
    if (!has_mark(folder))
        return gt_error_set(error, EEXIST, "%s exists and is not a folder for code blocks; it was left unchanged",
                            path);
    int status = look(folder, false, foreign, sizeof foreign);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    if (*foreign)
        return gt_error_set(error, EEXIST, "%s holds %s, which no run has left there; it is left alone", path, foreign);
    look(folder, true, foreign, sizeof foreign);
    unlinkat(folder, MARK, 0);
    return rmdir(path) < 0 ? gt_error_system(error, errno, "%s", path) : 0;
}

static int settle(const char *path, bool overwrite, struct gt_error *error)
{
    if (rmdir(path) == 0) /* an empty one has nothing to lose */
        return 0;
    int folder = open_folder(path);
    if (folder == -ENOENT)
        return 0;
    if (folder == -ELOOP || folder == -ENOTDIR)
        return gt_error_set(error, EEXIST, "%s exists and is not a folder; it was left unchanged", path);
    if (folder < 0)
        return gt_error_system(error, -folder, "%s", path);
    int status = overwrite || drop(path, false) > 0
                     ? 0
                     : gt_error_set(error, EEXIST,
                                    "%s holds the code blocks of an earlier run; use --overwrite to empty it", path);
    if (status >= 0 && overwrite)
        status = remove_earlier(path, folder, error);
    close(folder);
    return status;
}

/* Says whose it is, and that it is no copy. */
static int describe(int folder, char text[MARK_SIZE])
{
    struct stat facts;
    if (fstat(folder, &facts) < 0)
        return -errno;
    return snprintf(text, MARK_SIZE, "%d %llu %llu\n", (int)getpid(), (unsigned long long)facts.st_dev,
                    (unsigned long long)facts.st_ino);
}

static int put_mark(int folder)
{
    char text[MARK_SIZE];
    int length = describe(folder, text), status = 0;
    int mark = openat(folder, MARK, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (mark < 0)
        return -errno;
    if (length < 0 || write(mark, text, (size_t)length) < 0)
        status = length < 0 ? length : -errno;
    close(mark);
    return status;
}

static int check_folder(const char *path, struct gt_error *error)
{
    char wanted[MARK_SIZE] = "", found[MARK_SIZE] = "";
    int folder = open_folder(path);
    int mark = folder < 0 ? -1 : openat(folder, MARK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool is_same = mark >= 0 && describe(folder, wanted) > 0 && read(mark, found, sizeof found - 1) > 0 &&
                   !strcmp(wanted, found);
    gt_close_fd(mark);
    gt_close_fd(folder);
    if (is_same)
        return 0;
    return folder == -ENOENT
               ? gt_error_set(error, ENOENT, "%s was removed meanwhile: the code blocks in it are lost", path)
               : gt_error_set(error, EEXIST,
                              "%s was replaced meanwhile: its code blocks are lost, and what is there "
                              "now is left alone",
                              path);
}

/* One of that name is -EEXIST, or emptied with `overwrite` where nothing but such files of an earlier run is in it. */
static int make_folder(const char *path, bool overwrite, struct gt_error *error)
{
    int status = settle(path, overwrite, error);
    if (status < 0)
        return status;
    if (mkdir(path, 0777) < 0)
        return gt_error_system(error, errno, "%s", path);
    int folder = open_folder(path);
    status = folder < 0 ? folder : put_mark(folder);
    if (status < 0)
        gt_error_system(error, -status, "%s", path);
    gt_close_fd(folder);
    return status;
}

/* ---- from the begin to the end of a run ---- */

int gt_blocks_prepare(char *folder, size_t size, const char *tracking_file, int overwrite, struct gt_error *error)
{
    char file[PATH_MAX], path[PATH_MAX];
    int status = gt_store_path(file, sizeof file, tracking_file, getpid(), error);
    if (status >= 0 && gt_block_event_folder(path, sizeof path, file) < 0)
        status = gt_error_system(error, ENAMETOOLONG, "%s", file);
    if (status >= 0)
        status = gt_block_event_check(file, overwrite, error);
    if (status >= 0)
        status = gt_store_make_folder(file, error);
    if (status >= 0)
        status = make_folder(path, overwrite, error);
    if (status < 0)
        return status;
    status = realpath(path, file) ? 0 : -errno; /* the processes may change their folder */
    if (status >= 0 && snprintf(folder, size, "%s", file) >= (int)size)
        status = -ENAMETOOLONG;
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

int gt_blocks_collect(const char *folder, const char *tracking_file, pid_t pid,
                      void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error)
{
    char file[PATH_MAX];
    struct gt_block_event_list list = {.skip_bad = true, .skip_foreign = true};
    int status = check_folder(folder, error);
    if (status < 0)
        return status;
    if (drop(folder, false) > 0)
        return 0; /* no process marked a block */
    status = gt_store_path(file, sizeof file, tracking_file, pid, error);
    if (status >= 0)
        status = gt_block_event_list_add(&list, folder, error);
    gt_block_event_list_warn(&list, warn, context);
    if (status >= 0)
        status = gt_block_event_list_attach(&list, file, error);
    int count = list.count < INT_MAX ? (int)list.count : INT_MAX;
    gt_block_event_list_release(&list);
    if (status < 0)
        return status;
    drop(folder, true);
    return count;
}

void gt_blocks_cancel(const char *folder)
{
    drop(folder, false);
}

/* ---- the memory of PyTorch ---- */

static const char create[] =
    "BEGIN; DROP TABLE IF EXISTS block_memory; CREATE TABLE block_memory (code_block_name VARCHAR, "
    "allocated INTEGER, reserved INTEGER, peak_at_least INTEGER, peak_at_most INTEGER)";
static const char insert[] = "INSERT INTO block_memory VALUES (?, ?, ?, ?, nullif(?, -1))";
static const char query[] = "SELECT code_block_name, allocated, reserved, peak_at_least, ifnull(peak_at_most, -1) "
                            "FROM block_memory ORDER BY 1";

static struct gt_block_memory *add(struct gt_block_memories *memories, const char *name)
{
    for (size_t i = 0; i < memories->count; i++)
        if (strcmp(memories->memory[i].name, name) == 0)
            return &memories->memory[i];
    char *copy = strdup(name);
    struct gt_block_memory *memory = copy ? GT_GROW_LIST(memories, memory) : NULL;
    if (memory)
        *memory = (struct gt_block_memory){.name = copy};
    else
        free(copy);
    return memory;
}

void gt_block_memory_release(struct gt_block_memories *memories)
{
    for (size_t i = 0; i < memories->count; i++)
        free(memories->memory[i].name);
    free(memories->memory);
    *memories = (struct gt_block_memories){0};
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void take_note(void *context, pid_t process, const char *line)
{
    long long allocated, reserved, least, most;
    int end = 0;
    (void)process;
    if (sscanf(line, "memory %lld %lld %lld %lld %n", &allocated, &reserved, &least, &most, &end) != 4 || !end)
        return;
    struct gt_block_memory *memory = add(context, line + end);
    if (!memory)
        return;
    memory->allocated = greater(memory->allocated, allocated);
    memory->reserved = greater(memory->reserved, reserved);
    memory->least = greater(memory->least, least);
    memory->most = most < 0 || memory->most < 0 ? -1 : greater(memory->most, most);
}

static int write_rows(const char *path, const struct gt_block_memories *memories, struct gt_error *error)
{
    sqlite3 *database;
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL);
    status = status == SQLITE_OK ? 0 : gt_sqlite_error(database, path, error);
    if (status >= 0)
        status = gt_sqlite_run(database, path, create, error);
    if (status >= 0)
        status = gt_sqlite_prepare(&statement, database, path, insert, error);
    for (size_t i = 0; i < memories->count && status >= 0; i++) {
        const struct gt_block_memory *memory = &memories->memory[i];
        gt_sqlite_bind_text(statement, 1, memory->name);
        sqlite3_bind_int64(statement, 2, memory->allocated);
        sqlite3_bind_int64(statement, 3, memory->reserved);
        sqlite3_bind_int64(statement, 4, memory->least);
        sqlite3_bind_int64(statement, 5, memory->most);
        status = gt_sqlite_step(statement, database, path, error);
    }
    sqlite3_finalize(statement);
    if (status >= 0)
        status = gt_sqlite_run(database, path, "COMMIT", error);
    sqlite3_close(database);
    return status;
}

int gt_block_memory_collect(const char *folder, const char *tracking_file, pid_t pid, struct gt_error *error)
{
    char path[PATH_MAX];
    struct gt_block_memories memories = {0};
    gt_block_notes_read(folder, take_note, &memories);
    int status = memories.count ? gt_store_path(path, sizeof path, tracking_file, pid, error) : 0;
    if (status >= 0 && memories.count)
        status = write_rows(path, &memories, error);
    gt_block_memory_release(&memories);
    return status;
}

static int read_rows(struct gt_block_memories *ret, sqlite3 *database, const char *path, struct gt_error *error)
{
    sqlite3_stmt *statement;
    int status = gt_sqlite_prepare(&statement, database, path, query, error), step = SQLITE_DONE;
    if (status < 0)
        return status;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        struct gt_block_memory *memory = add(ret, name ? name : "");
        if (!memory)
            break;
        memory->allocated = sqlite3_column_int64(statement, 1);
        memory->reserved = sqlite3_column_int64(statement, 2);
        memory->least = sqlite3_column_int64(statement, 3);
        memory->most = sqlite3_column_int64(statement, 4);
    }
    status = step == SQLITE_DONE  ? 0
             : step == SQLITE_ROW ? gt_error_system(error, ENOMEM, "%s", path)
                                  : gt_sqlite_error(database, path, error);
    sqlite3_finalize(statement);
    return status;
}

int gt_block_memory_load(struct gt_block_memories *ret, const char *tracking_file, struct gt_error *error)
{
    sqlite3 *database;
    *ret = (struct gt_block_memories){0};
    if (gt_block_writer_of(tracking_file) != &gt_block_sqlite)
        return 0;
    int status = sqlite3_open_v2(tracking_file, &database, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
                         gt_sqlite_has_table(database, "block_memory")
                     ? read_rows(ret, database, tracking_file, error)
                     : 0;
    sqlite3_close(database);
    return status;
}
