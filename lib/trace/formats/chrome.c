/* Any file of the Trace Event Format: PyTorch's profiler (Kineto), chrome://tracing, Perfetto's and TensorBoard's
 * exports. */
#include <ctype.h>

#include "trace/format.h"

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

/* The number behind "rank" in the file's name: "rank3.json", "trace_rank-12.json.gz". -1 without. */
static int64_t rank_of(const char *path)
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

static int read_chrome(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    int status = gt_timeline_read(reading, path, &(struct gt_timeline_options){0}, error);
    return status < 0 || gt_reading_file(reading)->rank >= 0 ? status : gt_reading_rank(reading, rank_of(path));
}

const struct gt_trace_format gt_trace_chrome = {
    .name = "chrome",
    .help = "Chrome Trace Event JSON: PyTorch profiler (Kineto), Perfetto and chrome://tracing exports; plain or gzip",
    .probe = probe_chrome,
    .read = read_chrome,
};
