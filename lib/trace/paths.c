/* The files there are below the paths asked for, and the format of each. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "trace/source.h"

#define TRACE(entry) extern const struct gt_trace_format gt_trace_##entry;
#include "trace/trace.def"
#undef TRACE

const struct gt_trace_format *const gt_trace_formats[GT_TRACE_FORMAT_COUNT] = {
#define TRACE(entry) &gt_trace_##entry,
#include "trace/trace.def"
#undef TRACE
};

/* ---- search ---- */

enum { HEAD = 64 * 1024, DEEPEST = 32, MOST_FILES = 10 * 1000 * 1000 };

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
    for (size_t i = 0; i < GT_TRACE_FORMAT_COUNT; i++) {
        int sure = gt_trace_formats[i]->probe(probe);
        if (sure > surest) {
            surest = sure;
            best = gt_trace_formats[i];
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

static int add(struct search *search, const char *path, const struct gt_trace_format *format)
{
    struct gt_trace_paths *found = search->found;
    if (found->count >= MOST_FILES)
        return gt_error_set(search->error, E2BIG, "%s: more than %d files", path, MOST_FILES);
    size_t capacity = found->capacity; /* of both arrays */
    if (GT_GROW_TO(found->path, capacity, found->count + 1) < 0 ||
        GT_GROW_TO(found->format, found->capacity, found->count + 1) < 0)
        return gt_error_system(search->error, ENOMEM, "%s", path);
    found->path[found->count] = strdup(path);
    if (!found->path[found->count])
        return gt_error_system(search->error, ENOMEM, "%s", path);
    found->format[found->count++] = format;
    return 0;
}

/* What SMDebug merged, or MergedTimeline, lies beside what it was merged of: it would count everything twice. */
static bool is_merged(const char *path)
{
    return gt_path_ends(path, "_merged_timeline.json") || gt_path_ends(path, "_merged_timeline.json.gz");
}

/* Of a folder: what no format knows is only counted, so is what may not be read. */
static int add_found(struct search *search, const char *path)
{
    int status;
    if (!has_suffix(search, path) || is_merged(path))
        return 0;
    const struct gt_trace_format *format = recognize(search, path, &status, NULL);
    search->found->ignored += !format;
    return format ? add(search, path, format) : 0;
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
    const struct gt_trace_format *format = recognize(search, path, &status, search->error);
    if (!format)
        return status < 0 ? status
                          : gt_error_set(search->error, EINVAL, "%s: no trace or profile of a known format", path);
    return add(search, path, format);
}

static bool is_found(const struct gt_trace_paths *found, const char *path)
{
    struct stat wanted, about;
    if (stat(path, &wanted) < 0)
        return true;
    for (size_t i = 0; i < found->count; i++)
        if (stat(found->path[i], &about) == 0 && about.st_dev == wanted.st_dev && about.st_ino == wanted.st_ino)
            return true;
    return false;
}

/* Code blocks lie beside the recording that they were made with. */
static int add_companions(struct search *search)
{
    char path[PATH_MAX];
    int status = 0;
    for (size_t i = 0, count = search->found->count; i < count && status >= 0; i++) {
        const struct gt_trace_format *format = search->found->format[i];
        if (format->companion && format->companion(path, sizeof path, search->found->path[i]) >= 0 &&
            !is_found(search->found, path))
            status = add_named(search, path);
    }
    return status;
}

struct found {
    char *path;
    const struct gt_trace_format *format;
};

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->path, ((const struct found *)b)->path);
}

/* Sorted, each file once. */
static int sort(struct gt_trace_paths *paths)
{
    struct found *found = calloc(paths->count + 1, sizeof *found);
    size_t count = 0;
    if (!found)
        return -ENOMEM;
    for (size_t i = 0; i < paths->count; i++)
        found[i] = (struct found){paths->path[i], paths->format[i]};
    qsort(found, paths->count, sizeof *found, by_path);
    for (size_t i = 0; i < paths->count; i++) {
        if (count && strcmp(paths->path[count - 1], found[i].path) == 0) {
            free(found[i].path);
            continue;
        }
        paths->path[count] = found[i].path;
        paths->format[count++] = found[i].format;
    }
    paths->count = count;
    free(found);
    return 0;
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
    if (status >= 0 && sort(ret) < 0)
        status = gt_error_system(error, ENOMEM, "finding traces");
    if (status < 0)
        gt_trace_paths_release(ret);
    free(search.head);
    return status;
}

void gt_trace_paths_release(struct gt_trace_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->path[i]);
    free(paths->path);
    free(paths->format);
    *paths = (struct gt_trace_paths){0};
}
