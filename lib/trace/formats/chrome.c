/* Any file of the Trace Event Format: PyTorch's profiler (Kineto), chrome://tracing, Perfetto's and TensorBoard's
 * exports. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

#include "trace/formats/smdebug.h"

static size_t skip_blanks(const struct gt_trace_probe *probe, size_t at)
{
    while (at < probe->length && isspace((unsigned char)probe->head[at]))
        at++;
    return at;
}

static bool ends_list(const struct gt_trace_probe *probe)
{
    size_t end = probe->length;
    while (end > 0 && strchr(" \t\r\n", probe->head[end - 1]))
        end--;
    return end > 0 && probe->head[end - 1] == ']';
}

static int probe_chrome(const struct gt_trace_probe *probe)
{
    size_t at = probe->length >= 3 && memcmp(probe->head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    at = skip_blanks(probe, at);
    if (at == probe->length)
        return 0;
    if (probe->head[at] == '[') {
        at = skip_blanks(probe, at + 1);
        if (at < probe->length && probe->head[at] != '{' && probe->head[at] != ']')
            return 0;
        if (strstr(probe->head, "\"ph\""))
            return 50;
        /* A list of objects that are no events. One that was cut off may have been cut within its first event. */
        bool is_other = probe->head[at] == '{' && probe->is_whole && ends_list(probe);
        return is_other ? 0 : 20;
    }
    if (probe->head[at] != '{')
        return 0;
    return strstr(probe->head, "\"traceEvents\"")                                                    ? 60
           : strstr(probe->head, "\"ph\"")                                                           ? 40
           : strstr(probe->head, "\"schemaVersion\"") || strstr(probe->head, "\"deviceProperties\"") ? 40
                                                                                                     : 0;
}

int64_t gt_path_rank(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    for (const char *at = strstr(name, "rank"); at; at = strstr(at + 1, "rank")) {
        const char *digits = at + 4 + strspn(at + 4, "_-");
        int64_t rank = 0;
        if ((at > name && isalpha((unsigned char)at[-1])) || !isdigit((unsigned char)*digits))
            continue;
        for (; isdigit((unsigned char)*digits) && rank < INT32_MAX; digits++)
            rank = rank * 10 + (*digits - '0');
        return rank;
    }
    return -1;
}

struct gt_span gt_path_worker(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *suffix = strstr(name, ".pt.trace.json"), *digits = suffix;
    while (digits && digits > name && isdigit((unsigned char)digits[-1]))
        digits--;
    if (!digits || digits == suffix || digits <= name + 1 || digits[-1] != '.')
        return (struct gt_span){0};
    return (struct gt_span){name, (size_t)(digits - 1 - name)};
}

static int read_chrome(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    int status = gt_timeline_read(reading, path, false, error);
    if (status < 0 || gt_reading_file(reading)->rank >= 0)
        return status;
    int64_t rank = gt_path_rank(path);
    struct gt_span worker = gt_path_worker(path);
    char name[24];
    if (rank < 0)
        return gt_names_file(reading, worker, 0);
    gt_reading_file(reading)->rank = (int32_t)rank;
    snprintf(name, sizeof name, "rank %d", (int)rank);
    return gt_names_file(reading, gt_span_of(name), 0);
}

const struct gt_trace_format gt_trace_chrome = {
    .name = "chrome",
    .help = "Chrome Trace Event JSON: PyTorch profiler (Kineto), Perfetto and chrome://tracing exports; plain or gzip",
    .probe = probe_chrome,
    .read = read_chrome,
};

/* ---- Horovod ----
 * Raw Horovod timelines: a process for each tensor, B and E without threads, ranks that report ready as X named "0",
 * "1", ... Times are monotonic; newer versions say which moment they count from in a record as SMDebug's, older ones do
 * not. */

static int probe_horovod(const struct gt_trace_probe *probe)
{
    const char *text = probe->head + strspn(probe->head, " \t\r\n");
    if (*text != '[' || !strstr(text, "\"ph\""))
        return 0;
    return strstr(text, "\"NEGOTIATE_") || strstr(text, "\"CYCLE_START\"") ? 70 : 0;
}

static int read_horovod(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    return gt_timeline_read(reading, path, false, error);
}

const struct gt_trace_format gt_trace_horovod = {
    .name = "horovod",
    .help = "Horovod timelines",
    .probe = probe_horovod,
    .read = read_horovod,
};

/* ---- TensorFlow ----
 * TensorFlow's <host>.trace.json.gz below plugins/profile/. Their times count from the begin of profiling, which
 * SMDebug writes into the name of an empty file three folders above: <node>_<start us>_<end us>.metadata. */

static int probe_tensorflow(const struct gt_trace_probe *probe)
{
    if (!gt_path_ends(probe->name, "trace.json.gz") && !gt_path_ends(probe->name, "trace.json"))
        return 0;
    if (!strstr(probe->path, "detailed_profiling") && !strstr(probe->path, "plugins/profile"))
        return 0;
    return strchr("[{", *(probe->head + strspn(probe->head, " \t\r\n"))) ? 75 : 0;
}

/* "<node>_<start>_<end>.metadata": its start in ns. */
static bool read_metadata_name(const char *name, int64_t *ret)
{
    if (!gt_path_ends(name, ".metadata"))
        return false;
    const char *end = name + strlen(name) - strlen(".metadata"), *last = end, *start;
    while (last > name && last[-1] != '_')
        last--;
    if (last == name)
        return false;
    for (start = last - 1; start > name && start[-1] != '_';)
        start--;
    struct gt_span number = {start, (size_t)(last - 1 - start)};
    return start > name && gt_span_decimal(number, 3, ret) >= 0;
}

/* The file that names the host wins, else the first by name. */
static bool find_base(const char *path, struct gt_span host, int64_t *ret)
{
    struct gt_span step = gt_path_part(path, 4); /* <step>/plugins/profile/<time>/<host>.trace.json.gz */
    char folder[4096], best[256] = "";
    bool best_names_host = false;
    if (!step.text)
        return false;
    snprintf(folder, sizeof folder, "%.*s", (int)(step.text + step.length - path), path);
    DIR *directory = opendir(folder);
    if (!directory)
        return false;
    for (struct dirent *entry; (entry = readdir(directory));) {
        int64_t start;
        if (!read_metadata_name(entry->d_name, &start))
            continue;
        bool names_host = memmem(entry->d_name, strlen(entry->d_name), host.text, host.length);
        if (*best &&
            (best_names_host > names_host || (best_names_host == names_host && strcmp(best, entry->d_name) <= 0)))
            continue;
        snprintf(best, sizeof best, "%s", entry->d_name);
        best_names_host = names_host;
    }
    closedir(directory);
    return *best && read_metadata_name(best, ret);
}

static int read_tensorflow(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    struct gt_span host = gt_path_part(path, 0);
    const char *dot = memchr(host.text, '.', host.length);
    host.length = dot ? (size_t)(dot - host.text) : host.length;
    int64_t base;
    int status = gt_names_file(reading, host, 1);
    if (status >= 0 && find_base(path, host, &base))
        status = gt_reading_base(reading, base, GT_CLOCK_NAME);
    return status < 0 ? status : gt_timeline_read(reading, path, false, error);
}

const struct gt_trace_format gt_trace_tensorflow = {
    .name = "tensorflow",
    .help = "TensorFlow and TensorBoard trace.json.gz",
    .probe = probe_tensorflow,
    .read = read_tensorflow,
};
