#include "blocks/block_event.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/given_file.h"
#include "base/grow.h"
#include "base/new_file.h"
#include "store/type.h"

static bool has_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path), tail = strlen(suffix);
    return length > tail && strcmp(path + length - tail, suffix) == 0;
}

static bool has_known_suffix(const char *path)
{
    return has_suffix(path, gt_block_csv.suffix) || has_suffix(path, gt_block_sqlite.suffix);
}

int gt_block_event_open_csv(struct gt_block_event_reader **ret, int fd, const char *name, struct gt_error *error)
{
    struct gt_block_event_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return gt_error_system(error, ENOMEM, "%s", name);
    reader->fd = -1;
    int status = gt_block_event_csv_start(reader, fd, name, error);
    if (status < 0) {
        free(reader);
        return status;
    }
    *ret = reader;
    return 0;
}

static int open_csv_file(struct gt_block_event_reader **ret, const char *path, struct gt_error *error)
{
    int fd = gt_given_file_open(path, NULL, error);
    if (fd < 0)
        return fd;
    int status = gt_block_event_open_csv(ret, fd, path, error);
    if (status < 0)
        close(fd);
    else
        (*ret)->fd = fd;
    return status;
}

static int open_sqlite_file(struct gt_block_event_reader **ret, const char *path, struct gt_error *error)
{
    struct gt_block_event_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return gt_error_system(error, ENOMEM, "%s", path);
    reader->fd = -1;
    int status = gt_block_event_sqlite_start(reader, path, error);
    if (status < 0)
        free(reader);
    else
        *ret = reader;
    return status;
}

int gt_block_event_open(struct gt_block_event_reader **ret, const char *path, struct gt_error *error)
{
    if (!has_known_suffix(path))
        return gt_error_set(error, EINVAL, "%s: a sub-tracking file ends in .csv or .sqlite", path);
    if (access(path, R_OK) < 0)
        return gt_error_system(error, errno, "%s", path);
    return has_suffix(path, gt_block_csv.suffix) ? open_csv_file(ret, path, error) : open_sqlite_file(ret, path, error);
}

int gt_block_event_next(struct gt_block_event_reader *reader, struct gt_block_event *ret, const char **name,
                        struct gt_error *error)
{
    return reader->source->next(reader->state, ret, name, error);
}

uint64_t gt_block_event_torn(const struct gt_block_event_reader *reader)
{
    return reader->source->torn(reader->state);
}

void gt_block_event_close(struct gt_block_event_reader *reader)
{
    if (!reader)
        return;
    reader->source->close(reader->state);
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader);
}

/* ---- lists ---- */

enum { COMPLAINTS = 5 };

static int append(struct gt_block_event_list *list, const struct gt_block_event *event)
{
    struct gt_block_event *place = GT_GROW_LIST(list, event);
    if (!place)
        return -ENOMEM;
    *place = *event;
    list->last_call = event->call > list->last_call ? event->call : list->last_call;
    return 0;
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
    char *real = realpath(path, NULL);
    const char *name = real ? real : path;
    bool known = real && gt_strings_find(&list->files, name, strlen(name)) >= 0;
    int64_t source = known ? -EEXIST : gt_strings_add(&list->files, name, strlen(name));
    free(real);
    if (known)
        return gt_error_set(error, EEXIST, "%s is given twice", path);
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
    return entry->d_name[0] != '.' && has_known_suffix(entry->d_name);
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
            status = add_file(list, file, error);
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

void gt_block_event_list_release(struct gt_block_event_list *list)
{
    free(list->event);
    gt_strings_release(&list->names);
    gt_strings_release(&list->files);
    gt_buffer_release(&list->complaints);
    *list = (struct gt_block_event_list){0};
}

/* ---- writing ---- */

int64_t gt_block_event_call(const struct gt_block_event_list *list, const struct gt_block_event *event)
{
    int64_t base;
    if (__builtin_mul_overflow((int64_t)event->source, list->last_call + 1, &base) || INT64_MAX - base < event->call)
        return event->call;
    return base + event->call;
}

static int write_new(const struct gt_block_event_list *list, const char *path, bool overwrite, struct gt_error *error)
{
    struct gt_new_file file;
    bool is_csv = has_suffix(path, gt_block_csv.suffix);
    int status = gt_new_file_begin(&file, path);
    if (status < 0)
        return gt_error_system(error, -status, "%s", path);
    status = is_csv ? gt_block_event_write_csv(list, file.fd, path, error)
                    : gt_block_event_write_sqlite(list, file.hidden, "data", error);
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
    if (!has_known_suffix(path))
        return gt_error_set(error, EINVAL, "%s: a sub-tracking file ends in .csv or .sqlite", path);
    if (!overwrite && access(path, F_OK) == 0)
        return gt_error_set(error, EEXIST, "Cannot create sub-tracking file %s. File already exists", path);
    return 0;
}

int gt_block_event_list_save(const struct gt_block_event_list *list, const char *path, bool overwrite,
                             struct gt_error *error)
{
    int status = gt_block_event_list_check(path, overwrite, error);
    return status < 0 ? status : write_new(list, path, overwrite, error);
}

static int beside_csv(char *ret, size_t size, const char *tracking_file)
{
    return gt_store_path_beside(ret, size, tracking_file, GT_BLOCKS_SUFFIX);
}

int gt_block_event_list_attach(const struct gt_block_event_list *list, const char *tracking_file,
                               struct gt_error *error)
{
    char path[PATH_MAX];
    if (has_suffix(tracking_file, gt_block_sqlite.suffix))
        return gt_block_event_write_sqlite(list, tracking_file, GT_BLOCK_EVENT_TABLE_OF_RECORDING, error);
    if (!has_suffix(tracking_file, gt_block_csv.suffix) || beside_csv(path, sizeof path, tracking_file) < 0)
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
    bool is_beside = has_suffix(tracking_file, gt_block_csv.suffix) &&
                     beside_csv(path, sizeof path, tracking_file) == 0;
    if (!is_beside || overwrite || lstat(path, &facts) < 0)
        return 0;
    return gt_error_set(error, EEXIST, "%s exists; it is replaced only when overwriting is asked for", path);
}

int gt_block_event_collected(char *ret, size_t size, const char *tracking_file)
{
    bool is_csv = has_suffix(tracking_file, gt_block_csv.suffix);
    if (is_csv && beside_csv(ret, size, tracking_file) == 0 && access(ret, R_OK) == 0)
        return 0;
    if (!is_csv && snprintf(ret, size, "%s", tracking_file) < (int)size && has_rows(tracking_file))
        return 0;
    if (gt_block_event_folder(ret, size, tracking_file) == 0 && access(ret, R_OK | X_OK) == 0)
        return 0; /* the tracker was killed before it collected them */
    return -ENOENT;
}
