/* Files found below paths, and read into a trace as often as is needed. */
#include "trace/source.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "store/address.h"
#include "trace/input/zip.h"
#include "trace/profile_maker.h"
#include "trace/trace.h"

/* The files there are below the paths asked for, and the format of each. */

#define TRACE(entry) extern const struct gt_trace_format gt_trace_##entry;
#include "trace/trace.def"
#undef TRACE

static const struct gt_trace_format *const formats[] = {
#define TRACE(entry) &gt_trace_##entry,
#include "trace/trace.def"
#undef TRACE
};

enum { NAME_SIZE = 32 };

struct found_file {
    char *path;                           /* as people know it */
    const struct gt_trace_format *format; /* NULL: none knows it */
    const char *about;                    /* what it is then, where something tells */
    bool is_broken;
    char *copy;  /* what is read instead, of what came through a pipe; else NULL */
    int copy_fd; /* or -1 */
};

struct found_files {
    struct found_file *file;
    size_t count, capacity;
};

/* The files below the paths asked for, sorted, each once. */
struct found_paths {
    struct found_files traces;
    struct found_files passed; /* files of folders that no format knows: a rank of the job may be among them */
    uint64_t ignored;
    struct gt_trace_unreadable unreadable, doubtful;
};

/* Takes the path of a new file; NULL without memory. */
static struct found_file *add_file(struct found_files *files, const char *path, const struct found_file *about)
{
    struct found_file *file = GT_GROW_LIST(files, file);
    if (!file)
        return NULL;
    *file = *about;
    file->path = strdup(path);
    return file->path ? file : NULL;
}

static void release_file(struct found_file *file)
{
    if (file->copy_fd >= 0)
        close(file->copy_fd);
    free(file->copy);
    free(file->path);
}

static void release_files(struct found_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        release_file(&files->file[i]);
    free(files->file);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct found_file *)a)->path, ((const struct found_file *)b)->path);
}

/* Sorted, each file once. */
static void sort(struct found_files *files)
{
    size_t count = 0;
    if (files->count)
        qsort(files->file, files->count, sizeof *files->file, by_path);
    for (size_t i = 0; i < files->count; i++) {
        if (count && by_path(&files->file[count - 1], &files->file[i]) == 0)
            release_file(&files->file[i]);
        else
            files->file[count++] = files->file[i];
    }
    files->count = count;
}

void gt_name_doubtful(struct gt_trace_unreadable *doubtful, const char *path, const char *about)
{
    size_t used = strlen(doubtful->first);
    if (doubtful->count++ < GT_TRACE_NAMED)
        snprintf(doubtful->first + used, sizeof doubtful->first - used, "%s%s: %s", used ? "; " : "", path, about);
}

/* One of several traces may be compressed. */
static size_t length_uncompressed(const char *path)
{
    static const char *const suffixes[] = {".gz", ".xz", ".bz2", ".zst"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (gt_path_ends(path, suffixes[i]))
            return strlen(path) - strlen(suffixes[i]);
    return strlen(path);
}

bool gt_paths_alike(const char *a, const char *b)
{
    const char *end_a = a + length_uncompressed(a), *end_b = b + length_uncompressed(b);
    while (a < end_a && b < end_b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return a == end_a && b == end_b;
}

/* ---- search ---- */

enum { HEAD = 64 * 1024, DEEPEST = 32, MOST_FILES = 10 * 1000 * 1000, MOST_PASSED = 10000 };

struct search {
    struct found_paths *found;
    const char *const *suffixes;
    char *head;
    const char *about; /* what the latest file is that no format knows; NULL: nothing tells */
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
    search->about = format || length < 0 ? NULL : gt_unread_about(&probe);
    gt_input_close(input);
    return format;
}

/* Its descriptor stays open, so that it can be opened by this name. */
static void name_copy(int copy, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "/proc/self/fd/%d", copy);
}

/* `copy` is a descriptor of what came through a pipe, which the list closes, or -1; `member` the part of an archive that it is. */
static int add_path(struct search *search, const char *path, const struct gt_trace_format *format, int copy,
                    const char *member)
{
    char name[NAME_SIZE];
    if (search->found->traces.count >= MOST_FILES)
        return gt_error_set(search->error, E2BIG, "%s: more than %d files", path, MOST_FILES);
    struct found_file *file = add_file(&search->found->traces, path,
                                       &(struct found_file){.format = format, .copy_fd = copy});
    name_copy(copy, name);
    if (!file || (copy >= 0 && asprintf(&file->copy, "%s%s%s", name, member ? "/" : "", member ? member : "") < 0))
        return gt_error_system(search->error, ENOMEM, "%s", path);
    return 0;
}

static int pass_over(struct search *search, const char *path, const char *about, bool is_broken)
{
    struct found_files *passed = &search->found->passed;
    const struct found_file file = {.about = about, .is_broken = is_broken, .copy_fd = -1};
    if (passed->count >= MOST_PASSED)
        search->found->ignored++;
    else if (!add_file(passed, path, &file))
        return gt_error_system(search->error, ENOMEM, "%s", path);
    return 0;
}

/* ---- archives: each member is a file of its own, archive.zip/member ---- */

static bool is_archive(struct search *search, const char *path)
{
    struct gt_input *input = NULL;
    if (gt_input_open(&input, path, 0, NULL) < 0)
        return false;
    ssize_t length = gt_input_read(input, search->head, 4, NULL);
    gt_input_close(input);
    return length == 4 && gt_zip_begins(search->head, 4);
}

/* Reads `from`, and tells of it as `path`. */
static int add_member(struct search *search, const char *path, const char *from, const char *member, int copy)
{
    char *shown = NULL, *read = NULL;
    int status = asprintf(&shown, "%s/%s", path, member) < 0 || asprintf(&read, "%s/%s", from, member) < 0 ? -ENOMEM
                                                                                                           : 0;
    const struct gt_trace_format *format = status < 0 ? NULL : recognize(search, read, &status, NULL);
    if (format && has_suffix(search, member)) {
        int own = copy < 0 ? -1 : fcntl(copy, F_DUPFD_CLOEXEC, 0);
        status = copy >= 0 && own < 0 ? gt_error_system(search->error, errno, "%s", path)
                                      : add_path(search, shown, format, own, own < 0 ? NULL : member);
        status = status < 0 ? status : 1;
    } else {
        status = status == -ENOMEM ? gt_error_system(search->error, ENOMEM, "%s", path)
                 : format          ? 0
                                   : pass_over(search, shown, search->about, status < 0);
    }
    free(shown);
    free(read);
    return status;
}

/* Returns how many members are traces. */
static int add_archive(struct search *search, const char *path, const char *from, int copy)
{
    struct gt_zip zip = {0};
    struct stat about;
    int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK), added = 0;
    int status = fd < 0 || fstat(fd, &about) < 0 ? -errno : gt_zip_list(&zip, fd, (uint64_t)about.st_size);
    if (fd >= 0)
        close(fd);
    if (status < 0)
        return gt_error_set(search->error, -status,
                            "%s: a zip archive without a readable directory, as when it is cut off: copy it again, or "
                            "repair it (zip -FF)",
                            path);
    for (size_t i = 0; i < zip.member_count && status >= 0; i++) {
        status = add_member(search, path, from, zip.member[i].name, copy);
        added += status > 0;
    }
    gt_zip_release(&zip);
    return status < 0 ? status : added;
}

static int add_named_archive(struct search *search, const char *path, const char *from, int copy)
{
    int added = add_archive(search, path, from, copy);
    return added ? added
                 : gt_error_set(search->error, EINVAL,
                                "%s: no file in this archive is a trace or profile of a known format", path);
}

/* A file that SMDebug or MergedTimeline merged lies beside its sources: it would count everything twice. */
static bool is_merged(const char *path)
{
    return gt_path_ends(path, "_merged_timeline.json") || gt_path_ends(path, "_merged_timeline.json.gz");
}

/* JAX writes the same events again as perfetto_trace.json.gz beside <host>.trace.json.gz. */
static bool is_copy_of_jax(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    bool found = false;
    if (!slash || strcmp(slash, "/perfetto_trace.json.gz") != 0)
        return false;
    snprintf(folder, sizeof folder, "%.*s/", (int)(slash - path), path);
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && !found && (entry = readdir(directory));)
        found = gt_path_ends(entry->d_name, ".trace.json.gz");
    if (directory)
        closedir(directory);
    return found;
}

/* What the system does not let us read may be a rank of the job: it is told, unlike what is no trace. */
static void add_unreadable(struct search *search, const char *path, int code)
{
    struct gt_trace_unreadable *unreadable = &search->found->unreadable;
    if (!unreadable->count++)
        snprintf(unreadable->first, sizeof unreadable->first, "%s: %s", path, strerror(code));
}

static bool is_denied(int status)
{
    static const int codes[] = {EACCES, EPERM, EIO, ESTALE, ELOOP, ENOENT};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (status == -codes[i])
            return true;
    return false;
}

static int add_found_archive(struct search *search, const char *path)
{
    struct gt_error *error = search->error;
    search->error = NULL;
    int status = add_archive(search, path, path, -1);
    search->error = error;
    if (status == -ENOMEM)
        return gt_error_system(error, ENOMEM, "%s", path);
    return status < 0 ? pass_over(search, path, "a zip archive that is cut off, or empty", true) : 0;
}

static int add_found(struct search *search, const char *path)
{
    int status;
    if (!has_suffix(search, path) || is_merged(path) || is_copy_of_jax(path))
        return 0;
    const struct gt_trace_format *format = recognize(search, path, &status, NULL);
    if (is_denied(status)) {
        add_unreadable(search, path, -status);
        return 0;
    }
    if (!format && is_archive(search, path))
        return add_found_archive(search, path);
    return format ? add_path(search, path, format, -1, NULL) : pass_over(search, path, search->about, status < 0);
}

static int walk_folder(struct search *search, const char *path, int depth)
{
    DIR *folder = opendir(path);
    if (!folder && depth)
        add_unreadable(search, path, errno);
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
    char name[NAME_SIZE];
    int status = 0, copy = gt_given_file_open(path, NULL, search->error);
    if (copy < 0)
        return copy;
    if (fstat(copy, &about) < 0 || S_ISFIFO(about.st_mode))
        status = gt_error_set(search->error, EINVAL, "%s: this is a pipe, and the system gives no memory to keep it in",
                              path);
    name_copy(copy, name);
    const struct gt_trace_format *format = status < 0 ? NULL : recognize(search, name, &status, search->error);
    if (format)
        return add_path(search, path, format, copy, NULL);
    bool has_members = status >= 0 && is_archive(search, name);
    if (has_members)
        status = add_named_archive(search, path, name, copy);
    close(copy);
    return status < 0 || has_members
               ? status
               : gt_error_set(search->error, EINVAL,
                              "%s: no trace or profile that is known without its name, as recordings are not", path);
}

static int add_named(struct search *search, const char *path)
{
    struct stat about = {0};
    int status = gt_refuse_address(path, search->error);
    if (status < 0)
        return status;
    if (stat(path, &about) < 0 && errno != ENOTDIR) /* a member of an archive is named so */
        return gt_error_system(search->error, errno, "%s", path);
    if (S_ISDIR(about.st_mode))
        return walk_folder(search, path, 0);
    if (!has_suffix(search, path))
        return 0;
    if (S_ISFIFO(about.st_mode))
        return add_pipe(search, path);
    const struct gt_trace_format *format = recognize(search, path, &status, search->error);
    if (!format && status >= 0 && is_archive(search, path))
        return add_named_archive(search, path, path, -1);
    if (!format)
        return status < 0 ? status
                          : gt_error_set(search->error, EINVAL, "%s: no trace or profile of a known format%s%s", path,
                                         search->about ? ": " : "", search->about ? search->about : "");
    return add_path(search, path, format, -1, NULL);
}

static bool is_found(const struct found_paths *found, const char *path)
{
    struct stat wanted, about;
    if (stat(path, &wanted) < 0)
        return true;
    for (size_t i = 0; i < found->traces.count; i++)
        if (stat(found->traces.file[i].path, &about) == 0 && about.st_dev == wanted.st_dev &&
            about.st_ino == wanted.st_ino)
            return true;
    return false;
}

/* Code blocks lie beside the recording that they were made with. */
static int add_companions(struct search *search)
{
    char path[PATH_MAX];
    int status = 0;
    for (size_t i = 0, count = search->found->traces.count; i < count && status >= 0; i++) {
        const struct found_file *file = &search->found->traces.file[i];
        if (file->format->companion && file->format->companion(path, sizeof path, file->path) >= 0 &&
            !is_found(search->found, path))
            status = add_named(search, path);
    }
    return status;
}

/* ---- files that were passed over, and are no traces by mistake ---- */

/* In sorted paths, those that are alike stand together. */
static bool is_like_traces(const struct found_files *traces, const char *path)
{
    enum { AROUND = 16 };
    size_t low = GT_SEARCH(0, traces->count, middle, strcmp(traces->file[middle].path, path) < 0);
    for (size_t i = low < AROUND ? 0 : low - AROUND; i < traces->count && i < low + AROUND; i++)
        if (gt_paths_alike(traces->file[i].path, path))
            return true;
    return false;
}

/* A rank may be missing where a file is broken, or called like those that are traces: these are named, others counted. */
static void judge_passed(struct found_paths *paths)
{
    sort(&paths->passed);
    for (size_t i = 0; i < paths->passed.count; i++) {
        const struct found_file *file = &paths->passed.file[i];
        if (file->is_broken || is_like_traces(&paths->traces, file->path))
            gt_name_doubtful(&paths->doubtful, file->path,
                             file->about       ? file->about
                             : file->is_broken ? "damaged"
                                               : "no trace or profile of a known format");
        else
            paths->ignored++;
    }
}

static void release_paths(struct found_paths *paths)
{
    release_files(&paths->traces);
    release_files(&paths->passed);
    *paths = (struct found_paths){0};
}

static int find_paths(struct found_paths *ret, const char *const paths[], size_t count, const char *const *suffixes,
                      struct gt_error *error)
{
    struct search search = {ret, suffixes, malloc(HEAD + 1), NULL, error};
    int status = search.head ? 0 : gt_error_system(error, ENOMEM, "finding traces");
    *ret = (struct found_paths){0};
    for (size_t i = 0; i < count && status >= 0; i++)
        status = add_named(&search, paths[i]);
    if (status >= 0)
        status = add_companions(&search);
    if (status >= 0) {
        sort(&ret->traces);
        judge_passed(ret);
    } else {
        release_paths(ret);
    }
    free(search.head);
    return status;
}

/* A member of an archive is found as archive.zip/member: what counts is the archive. */
static bool stat_found(const char *path, struct stat *about)
{
    char file[PATH_MAX];
    snprintf(file, sizeof file, "%s", path);
    while (stat(file, about) < 0) {
        char *slash = errno == ENOTDIR ? strrchr(file, '/') : NULL;
        if (!slash || slash == file)
            return false;
        *slash = '\0';
    }
    return true;
}

/* What comes through a pipe is left in it. */
static bool reads_below(const char *path, const char *const *suffixes, const struct stat *wanted)
{
    struct found_paths found = {0};
    struct stat about;
    if (!stat_found(path, &about) || S_ISFIFO(about.st_mode))
        return false;
    bool is_read = about.st_dev == wanted->st_dev && about.st_ino == wanted->st_ino;
    if (is_read || find_paths(&found, &path, 1, suffixes, NULL) < 0)
        return is_read;
    for (size_t i = 0; i < found.traces.count && !is_read; i++)
        is_read = stat_found(found.traces.file[i].path, &about) && about.st_dev == wanted->st_dev &&
                  about.st_ino == wanted->st_ino;
    release_paths(&found);
    return is_read;
}

int gt_trace_spare_inputs(const char *output, const char *const paths[], size_t count, const char *const *suffixes,
                          struct gt_error *error)
{
    struct stat wanted;
    if (stat(output, &wanted) < 0 || !S_ISREG(wanted.st_mode))
        return 0;
    for (size_t i = 0; i < count; i++)
        if (reads_below(paths[i], suffixes, &wanted))
            return gt_error_set(error, EINVAL, "%s is one of the files that are read: it is not written over", output);
    return 0;
}

bool gt_trace_is_at(const char *path)
{
    struct found_paths found = {0};
    struct stat about;
    if (stat(path, &about) < 0 || !S_ISREG(about.st_mode) || find_paths(&found, &path, 1, NULL, NULL) < 0)
        return false;
    bool is_trace = found.traces.count > 0;
    release_paths(&found);
    return is_trace;
}

/* ---- readings ---- */

enum { MOST_RESTARTS = 3 }; /* base, rank, node */

struct gt_trace_source {
    struct found_paths paths;
    struct gt_trace_options options;
    struct gt_trace *trace;
    struct gt_reading reading;
    bool is_surveyed;
};

int gt_trace_source_open(struct gt_trace_source **ret, const char *const paths[], size_t count,
                         const struct gt_trace_options *options, struct gt_error *error)
{
    struct gt_trace_source *source = calloc(1, sizeof *source);
    struct gt_trace *trace = calloc(1, sizeof *trace);
    if (!source || !trace) {
        free(source);
        free(trace);
        return gt_error_system(error, ENOMEM, "reading traces");
    }
    source->trace = trace;
    source->options = *options;
    source->reading = (struct gt_reading){.trace = trace, .options = &source->options};
    int status = find_paths(&source->paths, paths, count, options->suffixes, error);
    for (size_t i = 0; i < source->paths.traces.count && status >= 0; i++) {
        const struct found_file *file = &source->paths.traces.file[i];
        if (!gt_trace_add_file(trace, file->path, file->format->name) ||
            gt_strings_add(&trace->strings, file->path, strlen(file->path)) < 0)
            status = gt_error_system(error, ENOMEM, "%s", file->path);
    }
    trace->ignored = source->paths.ignored;
    trace->unreadable = source->paths.unreadable;
    trace->doubtful = source->paths.doubtful;
    if (status < 0)
        gt_trace_source_close(source);
    else
        *ret = source;
    return status;
}

struct gt_trace *gt_trace_source_trace(struct gt_trace_source *source)
{
    return source->trace;
}

static void forget_counts(struct gt_trace_file *file)
{
    file->first = INT64_MAX;
    file->last = INT64_MIN;
    file->read = file->kept = file->samples = file->bytes = 0;
    file->damage = (struct gt_trace_damage){0};
}

static void begin_file(struct gt_reading *reading)
{
    struct gt_trace *trace = reading->trace;
    struct gt_trace_file *file = gt_reading_file(reading);
    forget_counts(file);
    for (size_t i = trace->file_count;
         i-- > 0 && trace->file[i].part_of != GT_TRACE_NONE;) /* parts stand behind files */
        if (trace->file[i].part_of == reading->file)
            forget_counts(&trace->file[i]);
    for (uint32_t i = 0; i < file->tracks; i++)
        trace->track[file->track + i].read = 0;
    for (size_t i = reading->first_step; i < trace->step_count; i++) {
        trace->step[i].start = INT64_MAX;
        trace->step[i].end = INT64_MIN;
    }
    while (trace->profile_count && trace->profile[trace->profile_count - 1].file == reading->file)
        gt_trace_profile_release(&trace->profile[--trace->profile_count]);
    reading->has_begun = false;
    reading->rounds.count = 0;
    memset(reading->cache, 0, sizeof reading->cache);
}

/* Profiles that lie outside of what was asked for are taken away again. */
static void filter_profiles(struct gt_reading *reading)
{
    struct gt_trace *trace = reading->trace;
    size_t kept = trace->profile_count;
    while (kept && trace->profile[kept - 1].file == reading->file)
        kept--;
    for (size_t i = kept; i < trace->profile_count; i++) {
        struct gt_trace_profile *profile = &trace->profile[i];
        bool wanted = !reading->options->no_profiles && !reading->is_other_node &&
                      profile->start <= reading->filter->end && profile->end >= reading->filter->start;
        if (wanted)
            trace->profile[kept++] = *profile;
        else
            gt_trace_profile_release(profile);
    }
    trace->profile_count = kept;
}

static int read_file(struct gt_reading *reading, const struct gt_trace_format *format, const char *path,
                     struct gt_error *error)
{
    int status = -EAGAIN;
    reading->first_step = (uint32_t)reading->trace->step_count;
    reading->is_other_node = false;
    gt_reading_judge_node(reading);
    for (int i = 0; status == -EAGAIN && i <= MOST_RESTARTS; i++) {
        begin_file(reading);
        status = 0;
        if (reading->sink && reading->sink->file)
            status = reading->sink->file(reading->sink->context, reading->file, error);
        if (status >= 0)
            status = format->read(reading, path, error);
    }
    if (status >= 0 && reading->sink)
        filter_profiles(reading);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

/* What is said about a copy is said about the pipe. */
static int read_path(struct gt_reading *reading, const struct found_file *file, struct gt_error *error)
{
    struct gt_error trouble = {0};
    bool is_copy = file->copy;
    int status = read_file(reading, file->format, is_copy ? file->copy : file->path, &trouble);
    if (status >= 0)
        return status;
    return is_copy && trouble.path_length
               ? gt_error_set(error, trouble.code, "%s%s", file->path, trouble.text + trouble.path_length)
               : gt_error_copy(error, &trouble);
}

int gt_trace_source_read(struct gt_trace_source *source, const struct gt_trace_sink *sink, const int64_t *shift,
                         struct gt_error *error)
{
    struct gt_reading *reading = &source->reading;
    struct gt_filter filter = {0};
    struct gt_trace *trace = source->trace;
    int status = 0;
    if (sink && gt_filter_needs_survey(&source->options) && !source->is_surveyed)
        status = gt_trace_source_read(source, NULL, NULL, error);
    if (status >= 0 && sink)
        status = gt_filter_open(&filter, &source->options, trace, error);
    reading->sink = sink;
    reading->filter = &filter;
    reading->shift = shift;
    reading->error = error;
    trace->step_count = 0;
    while (trace->profile_count)
        gt_trace_profile_release(&trace->profile[--trace->profile_count]);
    gt_keys_clear(&reading->steps);
    for (size_t i = 0; i < source->paths.traces.count && status >= 0; i++) {
        reading->file = (uint32_t)i;
        status = read_path(reading, &source->paths.traces.file[i], error);
    }
    if (status >= 0 && gt_steps_combine(trace) < 0)
        status = gt_error_system(error, ENOMEM, "reading traces");
    source->is_surveyed = true;
    gt_filter_release(&filter);
    return status;
}

struct gt_trace_options *gt_trace_source_options(struct gt_trace_source *source)
{
    return &source->options;
}

static void release_tables(struct gt_trace_source *source)
{
    gt_keys_release(&source->reading.tracks);
    gt_keys_release(&source->reading.processes);
    gt_keys_release(&source->reading.steps);
    gt_keys_release(&source->reading.series);
    free(source->reading.rounds.round);
    gt_buffer_release(&source->reading.scratch);
    gt_buffer_release(&source->reading.label);
    release_paths(&source->paths);
}

void gt_trace_source_close(struct gt_trace_source *source)
{
    if (!source)
        return;
    gt_trace_close(source->trace);
    release_tables(source);
    free(source);
}

int gt_trace_load(struct gt_trace **ret, const char *const paths[], size_t count,
                  const struct gt_trace_options *options, struct gt_error *error)
{
    struct gt_trace_source *source;
    int status = gt_trace_source_open(&source, paths, count, options, error);
    if (status < 0)
        return status;
    struct gt_columns_sink columns = {.trace = source->trace, .options = options};
    struct gt_trace_sink sink = gt_columns_sink(&columns);
    status = gt_trace_source_read(source, &sink, NULL, error);
    if (status >= 0)
        gt_nodes_join(source->trace);
    if (status >= 0 && (gt_steps_assign(source->trace) < 0 || gt_profiles_settle_lines(source->trace) < 0))
        status = gt_error_system(error, ENOMEM, "reading traces");
    if (status >= 0) {
        *ret = source->trace;
        source->trace = NULL;
    }
    gt_trace_source_close(source);
    return status;
}
