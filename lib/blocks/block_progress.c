#include "blocks/block_progress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/csv.h"
#include "base/grow.h"
#include "base/number.h"
#include "blocks/block.h"

/* These are the limits of each file at a time, and of names that are counted. */
enum { PART = 1 << 18, NAMES = 8, PACE = 10 };

/* A call that takes so many times as long as those before tells that the pace is another now. */
static const double LATE = 3;

/* Calls of one name, of one process or of all. */
struct count {
    uint64_t begun, done;
    double began[PACE + 1]; /* of the latest calls, the oldest first, seconds since the epoch */
    size_t kept;
    double ended; /* the last that has ended */
    bool repeats; /* all were done, and it began again: it tells nothing about the whole */
};

struct file {
    ino_t inode;
    off_t offset;
    int64_t thread;      /* that counted first: others are its helpers */
    struct count *count; /* [NAMES], or NULL: nothing was counted */
};

struct gt_block_progress {
    char folder[PATH_MAX];
    struct file *file;
    size_t file_count, file_capacity;
    char name[NAMES][GT_PROGRESS_NAME]; /* in the order in which they first began: the outer before the inner */
    uint64_t total[NAMES];
    size_t names;
    struct count all[NAMES]; /* of processes that have one call each */
    size_t latest[NAMES];    /* the file of the call that began last */
    double latest_began[NAMES];
    bool is_of_one[NAMES]; /* a process has several calls: each counts for itself */
    char *part;
};

struct gt_block_progress *gt_block_progress_open(const char *folder)
{
    struct gt_block_progress *progress = calloc(1, sizeof *progress);
    if (progress)
        snprintf(progress->folder, sizeof progress->folder, "%s", folder);
    return progress;
}

void gt_block_progress_close(struct gt_block_progress *progress)
{
    if (!progress)
        return;
    for (size_t i = 0; i < progress->file_count; i++)
        free(progress->file[i].count);
    free(progress->file);
    free(progress->part);
    free(progress);
}

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

static void begin(struct count *count, double moment, uint64_t total)
{
    if (count->done >= total)
        *count = (struct count){.repeats = true};
    if (count->kept == PACE + 1) {
        memmove(count->began, count->began + 1, sizeof count->began - sizeof *count->began);
        count->kept--;
    }
    size_t at = count->kept++;
    for (; at && count->began[at - 1] > moment; at--) /* files are read one after the other */
        count->began[at] = count->began[at - 1];
    count->began[at] = moment;
    count->begun++;
}

static void end(struct count *count, double moment)
{
    count->done += count->done < count->begun;
    count->ended = fmax(count->ended, moment);
}

/* What lies inside begins anew with each call of what holds it. */
static void begin_call(struct gt_block_progress *progress, struct file *file, size_t name, double moment)
{
    for (size_t inner = name + 1; inner < progress->names; inner++)
        file->count[inner] = progress->all[inner] = (struct count){0};
    begin(&file->count[name], moment, progress->total[name]);
    begin(&progress->all[name], moment, progress->total[name]);
    progress->is_of_one[name] |= file->count[name].begun > 1;
    if (moment >= progress->latest_began[name]) {
        progress->latest_began[name] = moment;
        progress->latest[name] = (size_t)(file - progress->file);
    }
}

/* Its number; NAMES: it is not counted, or there are too many. */
static size_t find_name(struct gt_block_progress *progress, const char *name, uint64_t total)
{
    size_t found = 0;
    while (found < progress->names && strncmp(progress->name[found], name, GT_PROGRESS_NAME - 1) != 0)
        found++;
    if (found == progress->names && (!total || found == NAMES))
        return NAMES;
    if (found == progress->names)
        snprintf(progress->name[progress->names++], GT_PROGRESS_NAME, "%s", name);
    if (total)
        progress->total[found] = total;
    return found;
}

static void take(struct gt_block_progress *progress, struct file *file, const char *name, bool is_start, double moment,
                 int64_t thread, uint64_t total)
{
    size_t number = find_name(progress, name, is_start ? total : 0);
    if (number == NAMES || (is_start && !total))
        return;
    if (!file->count) {
        file->count = is_start ? calloc(NAMES, sizeof *file->count) : NULL;
        file->thread = thread;
    }
    if (!file->count || file->thread != thread)
        return;
    if (is_start) {
        begin_call(progress, file, number, moment);
    } else if (file->count[number].begun) {
        end(&file->count[number], moment);
        end(&progress->all[number], moment);
    }
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static void take_row(struct gt_block_progress *progress, struct file *file, char *row)
{
    char *field[GT_BLOCK_EVENT_COLUMNS + 1];
    int64_t position, thread, total = 0;
    double moment;
    if (gt_csv_split(row, ',', field, GT_BLOCK_EVENT_COLUMNS + 1) != GT_BLOCK_EVENT_COLUMNS ||
        gt_number_i64(field[GT_BLOCK_EVENT_POSITION], &position) < 0 ||
        gt_number_double(field[GT_BLOCK_EVENT_TIMESTAMP], &moment) < 0 ||
        gt_number_i64(field[GT_BLOCK_EVENT_THREAD], &thread) < 0)
        return; /* the first row, or one of somebody else */
    if (*field[GT_BLOCK_EVENT_TOTAL] && gt_number_i64(field[GT_BLOCK_EVENT_TOTAL], &total) < 0)
        return;
    take(progress, file, field[GT_BLOCK_EVENT_NAME], position == GT_START, moment, thread,
         total > 0 ? (uint64_t)total : 0);
}

/* The end of the row that begins at `at`, behind its "\n"; NULL: it is not there yet. A name may hold line breaks. */
static char *row_end(char *at)
{
    bool is_quoted = false;
    for (; *at; at++) {
        is_quoted ^= *at == '"';
        if (*at == '\n' && !is_quoted)
            return at + 1;
    }
    return NULL;
}

/* Whole rows; what follows them is read again the next time. Returns how many bytes were taken. */
static size_t take_rows(struct gt_block_progress *progress, struct file *file, char *text)
{
    char *at = text;
    for (char *next; (next = row_end(at)); at = next) {
        next[-1] = '\0';
        if (next - at > 1 && next[-2] == '\r')
            next[-2] = '\0';
        take_row(progress, file, at);
    }
    return (size_t)(at - text);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static struct file *file_of(struct gt_block_progress *progress, ino_t inode)
{
    for (size_t i = progress->file_count; i > 0; i--)
        if (progress->file[i - 1].inode == inode)
            return &progress->file[i - 1];
    struct file *file = GT_GROW(progress, file);
    if (file)
        *file = (struct file){.inode = inode};
    return file;
}

static void read_file(struct gt_block_progress *progress, int folder, const char *name)
{
    struct stat facts;
    if (fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(facts.st_mode))
        return;
    struct file *file = file_of(progress, facts.st_ino);
    if (!file || facts.st_size <= file->offset)
        return;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : pread(fd, progress->part, PART, file->offset);
    if (length > 0) {
        progress->part[length] = '\0';
        size_t taken = take_rows(progress, file, progress->part);
        file->offset += taken || length < PART ? (off_t)taken : length; /* a row of that length is none of ours */
    }
    gt_close_fd(fd);
}

void gt_block_progress_read(struct gt_block_progress *progress)
{
    int fd = open(progress->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (!listing) {
        gt_close_fd(fd);
        return;
    }
    if (!progress->part)
        progress->part = malloc(PART + 1);
    for (const struct dirent *entry; progress->part && (entry = readdir(listing));) {
        size_t length = strlen(entry->d_name), suffix = strlen(gt_block_csv.suffix);
        if (*entry->d_name != '.' && length > suffix &&
            strcmp(entry->d_name + length - suffix, gt_block_csv.suffix) == 0)
            read_file(progress, fd, entry->d_name);
    }
    closedir(listing);
}

/* ---- How far, and how long --------------------------------------------------------------------------------------- */

static const struct count *count_of(const struct gt_block_progress *progress, size_t name)
{
    return progress->is_of_one[name] ? &progress->file[progress->latest[name]].count[name] : &progress->all[name];
}

static bool is_open(const struct count *count)
{
    return count->begun > count->done;
}

/* Where the last whole call ended, or the open one began. */
static double reference_of(const struct count *count)
{
    return !count->kept ? NAN : is_open(count) ? count->began[count->kept - 1] : count->ended;
}

/* Seconds from one call to the next. Where none has ended it is what its inner calls will take. */
static double pace_of(const struct gt_block_progress *progress, size_t name)
{
    const struct count *count = count_of(progress, name);
    size_t calls = is_open(count) && count->kept ? count->kept - 1 : count->kept;
    if (calls)
        return (reference_of(count) - count->began[0]) / (double)calls;
    return name + 1 < progress->names ? pace_of(progress, name + 1) * (double)progress->total[name + 1] : NAN;
}

struct gt_progress gt_block_progress_at(const struct gt_block_progress *progress, double now)
{
    struct gt_progress ret = {.left = NAN};
    size_t name = 0;
    while (name < progress->names && count_of(progress, name)->done >= progress->total[name])
        name++;
    if (name == progress->names || !count_of(progress, name)->begun)
        return ret;
    const struct count *count = count_of(progress, name);
    snprintf(ret.name, sizeof ret.name, "%s", progress->name[name]);
    ret.done = count->done;
    ret.total = progress->total[name];
    double pace = pace_of(progress, name), calls = (double)(ret.total - ret.done);
    double spent = fmax(0, now - reference_of(count));
    if (!count->repeats && spent <= LATE * pace)
        ret.left = fmax(0, pace * calls - fmin(spent, pace));
    return ret;
}
