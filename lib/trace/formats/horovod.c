/* Raw Horovod timelines: a process for each tensor, B and E without threads, ranks that report ready as X named "0",
 * "1", ... Times are monotonic; newer versions say which moment they count from in a record as SMDebug's, older ones do
 * not. */
#include "trace/format.h"

static int probe_horovod(const struct gt_trace_probe *probe)
{
    const char *text = probe->head + strspn(probe->head, " \t\r\n");
    if (*text != '[' || !strstr(text, "\"ph\""))
        return 0;
    return strstr(text, "\"NEGOTIATE_") || strstr(text, "\"CYCLE_START\"") ? 70 : 0;
}

static int read_horovod(struct gt_reading *reading, const char *path, struct gt_error *error)
{
    return gt_timeline_read(reading, path, &(struct gt_timeline_options){0}, error);
}

const struct gt_trace_format gt_trace_horovod = {
    .name = "horovod",
    .help = "Horovod timelines",
    .probe = probe_horovod,
    .read = read_horovod,
};
