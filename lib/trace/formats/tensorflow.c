/* TensorFlow's <host>.trace.json.gz below plugins/profile/. Their times count from the begin of profiling, which
 * SMDebug writes into the name of an empty file three folders above: <node>_<start us>_<end us>.metadata. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "trace/formats/smdebug_names.h"

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

/* Of several the one that names the host, else the first by name. */
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
    int status = gt_names_node(reading, host);
    if (status >= 0 && find_base(path, host, &base))
        status = gt_reading_base(reading, base, GT_CLOCK_NAME);
    return status < 0 ? status : gt_timeline_read(reading, path, &(struct gt_timeline_options){0}, error);
}

const struct gt_trace_format gt_trace_tensorflow = {
    .name = "tensorflow",
    .help = "TensorFlow and TensorBoard trace.json.gz",
    .probe = probe_tensorflow,
    .read = read_tensorflow,
};
