/* The files there are below the paths asked for, and the format of each. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/given_file.h"
#include "base/grow.h"
#include "trace/source.h"

#define TRACE(entry) extern const struct gt_trace_format gt_trace_##entry;
#include "trace/trace.def"
#undef TRACE

static const struct gt_trace_format *const formats[] = {
#define TRACE(entry) &gt_trace_##entry,
#include "trace/trace.def"
#undef TRACE
};

/* ---- search ---- */

enum {
    HEAD = 64 * 1024,
    DEEPEST = 32,
    MOST_FILES = 10 * 1000 * 1000,
    COPY_SIZE = sizeof(((struct gt_trace_path *)0)->copy)
};

struct search {
    struct gt_trace_paths *found;
    const char *const *suffixes;
    char *head;
    struct gt_error *error;
};

static bool has_suffix(const struct search *search, const char *path)
{
    if (!search->suffixes)
        return true;
    for (const char *const *suffix = search->suffixes; *suffix; suffix++)
        if (gt_path_ends(path, *suffix))
            return true;
    return false;
}

static const struct gt_trace_format *best_format(const struct gt_trace_probe *probe)
{
    const struct gt_trace_format *best = NULL;
    int surest = 0;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        int sure = formats[i]->probe(probe);
        if (sure > surest) {
            surest = sure;
            best = formats[i];
        }
    }
    return best;
}

/* NULL: none knows it, or it cannot be read, which *status tells. */
static const struct gt_trace_format *recognize(struct search *search, const char *path, int *status,
                                               struct gt_error *error)
{
    struct gt_input *input = NULL;
    *status = gt_input_open(&input, path, 0, error);
    if (*status < 0)
        return NULL;
    ssize_t length = gt_input_read(input, search->head, HEAD, error);
    const char *slash = strrchr(path, '/');
    struct gt_trace_probe probe = {.path = path,
                                   .name = slash ? slash + 1 : path,
                                   .head = search->head,
                                   .length = length < 0 ? 0 : (size_t)length,
                                   .size = gt_input_size(input),
                                   .is_whole = length >= 0 && length < HEAD};
    search->head[probe.length] = '\0';
    const struct gt_trace_format *format = length < 0 ? NULL : best_format(&probe);
    *status = length < 0 ? (int)length : 0;
    gt_input_close(input);
    return format;
}

/* Its descriptor stays open, so that it can be opened by this name. */
static void name_copy(int copy, char name[COPY_SIZE])
{
    snprintf(name, COPY_SIZE, "/proc/self/fd/%d", copy);
}

/* `copy` is a descriptor of what came through a pipe, which the list closes, or -1. */
static int add(struct search *search, const char *path, const struct gt_trace_format *format, int copy)
{
    struct gt_trace_paths *found = search->found;
    bool is_full = found->count >= MOST_FILES;
    struct gt_trace_path *file = is_full ? NULL : GT_GROW_LIST(found, file);
    if (!file && copy >= 0)
        close(copy);
    if (is_full)
        return gt_error_set(search->error, E2BIG, "%s: more than %d files", path, MOST_FILES);
    if (!file)
        return gt_error_system(search->error, ENOMEM, "%s", path);
    *file = (struct gt_trace_path){.path = strdup(path), .format = format, .copy_fd = copy};
    if (copy >= 0)
        name_copy(copy, file->copy);
    return file->path ? 0 : gt_error_system(search->error, ENOMEM, "%s", path);
}

/* A file that SMDebug or MergedTimeline merged lies beside its sources: it would count everything twice. */
static bool is_merged(const char *path)
{
    return gt_path_ends(path, "_merged_timeline.json") || gt_path_ends(path, "_merged_timeline.json.gz");
}

/* Files of a folder that no format knows, or that may not be read, are only counted. */
static int add_found(struct search *search, const char *path)
{
    int status;
    if (!has_suffix(search, path) || is_merged(path))
        return 0;
    const struct gt_trace_format *format = recognize(search, path, &status, NULL);
    search->found->ignored += !format;
    return format ? add(search, path, format, -1) : 0;
}

static int walk_folder(struct search *search, const char *path, int depth)
{
    DIR *folder = opendir(path);
    if (!folder)
        return depth ? 0 : gt_error_system(search->error, errno, "%s", path);
    int status = 0;
    for (struct dirent *entry; status >= 0 && (entry = readdir(folder));) {
        struct stat about;
        char *child;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || gt_path_ends(entry->d_name, ".tmp"))
            continue;
        if (asprintf(&child, "%s%s%s", path, gt_path_ends(path, "/") ? "" : "/", entry->d_name) < 0) {
            status = gt_error_system(search->error, ENOMEM, "%s", path);
            break;
        }
        /* Links to folders are not followed, so that none is walked in circles. */
        if (fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0) {
            if (S_ISDIR(about.st_mode) && depth < DEEPEST)
                status = walk_folder(search, child, depth + 1);
            else if (S_ISREG(about.st_mode) || S_ISLNK(about.st_mode))
                status = add_found(search, child);
        }
        free(child);
    }
    closedir(folder);
    return status;
}

/* Files are read more than once, so what comes through a pipe is kept. */
static int add_pipe(struct search *search, const char *path)
{
    struct stat about;
    char name[COPY_SIZE];
    int status = 0, copy = gt_given_file_open(path, NULL, search->error);
    if (copy < 0)
        return copy;
    if (fstat(copy, &about) < 0 || S_ISFIFO(about.st_mode))
        status = gt_error_set(search->error, EINVAL, "%s: this is a pipe, and the system gives no memory to keep it in",
                              path);
    name_copy(copy, name);
    const struct gt_trace_format *format = status < 0 ? NULL : recognize(search, name, &status, search->error);
    if (format)
        return add(search, path, format, copy);
    close(copy);
    return status < 0
               ? status
               : gt_error_set(search->error, EINVAL,
                              "%s: no trace or profile that is known without its name, as recordings are not", path);
}

static int add_named(struct search *search, const char *path)
{
    struct stat about;
    int status;
    if (stat(path, &about) < 0)
        return gt_error_system(search->error, errno, "%s", path);
    if (S_ISDIR(about.st_mode))
        return walk_folder(search, path, 0);
    if (!has_suffix(search, path))
        return 0;
    if (S_ISFIFO(about.st_mode))
        return add_pipe(search, path);
    const struct gt_trace_format *format = recognize(search, path, &status, search->error);
    if (!format)
        return status < 0 ? status
                          : gt_error_set(search->error, EINVAL, "%s: no trace or profile of a known format", path);
    return add(search, path, format, -1);
}

static bool is_found(const struct gt_trace_paths *found, const char *path)
{
    struct stat wanted, about;
    if (stat(path, &wanted) < 0)
        return true;
    for (size_t i = 0; i < found->count; i++)
        if (stat(found->file[i].path, &about) == 0 && about.st_dev == wanted.st_dev && about.st_ino == wanted.st_ino)
            return true;
    return false;
}

/* Code blocks lie beside the recording that they were made with. */
static int add_companions(struct search *search)
{
    char path[PATH_MAX];
    int status = 0;
    for (size_t i = 0, count = search->found->count; i < count && status >= 0; i++) {
        const struct gt_trace_path *file = &search->found->file[i];
        if (file->format->companion && file->format->companion(path, sizeof path, file->path) >= 0 &&
            !is_found(search->found, path))
            status = add_named(search, path);
    }
    return status;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct gt_trace_path *)a)->path, ((const struct gt_trace_path *)b)->path);
}

static void release(struct gt_trace_path *file)
{
    if (file->copy_fd >= 0)
        close(file->copy_fd);
    free(file->path);
}

/* Sorted, each file once. */
static void sort(struct gt_trace_paths *paths)
{
    size_t count = 0;
    if (paths->count)
        qsort(paths->file, paths->count, sizeof *paths->file, by_path);
    for (size_t i = 0; i < paths->count; i++) {
        if (count && strcmp(paths->file[count - 1].path, paths->file[i].path) == 0)
            release(&paths->file[i]);
        else
            paths->file[count++] = paths->file[i];
    }
    paths->count = count;
}

int gt_trace_paths_find(struct gt_trace_paths *ret, const char *const paths[], size_t count,
                        const char *const *suffixes, struct gt_error *error)
{
    struct search search = {ret, suffixes, malloc(HEAD + 1), error};
    int status = search.head ? 0 : gt_error_system(error, ENOMEM, "finding traces");
    *ret = (struct gt_trace_paths){0};
    for (size_t i = 0; i < count && status >= 0; i++)
        status = add_named(&search, paths[i]);
    if (status >= 0)
        status = add_companions(&search);
    if (status >= 0)
        sort(ret);
    else
        gt_trace_paths_release(ret);
    free(search.head);
    return status;
}

void gt_trace_paths_release(struct gt_trace_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        release(&paths->file[i]);
    free(paths->file);
    *paths = (struct gt_trace_paths){0};
}
