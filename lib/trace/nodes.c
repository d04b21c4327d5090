/* Whose steps a file without steps of its own goes with: Horovod's and TensorFlow's timelines are written by one process of a
 * host, or name the host alone. */
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

/* "algo-1-33" is process 33 of host algo-1, "33-worker" of host worker; other names are hosts. */
struct place {
    const char *host;
    size_t length;
    int64_t number; /* -1: not told */
};

static struct place place_of(const char *node)
{
    static const char algorithm[] = "algo-";
    const size_t digits = strspn(node, "0123456789");
    struct place place = {node, strlen(node), -1};
    if (digits && node[digits] == '-' && node[digits + 1])
        return (struct place){node + digits + 1, place.length - digits - 1, strtoll(node, NULL, 10)};
    if (strncmp(node, algorithm, sizeof algorithm - 1) != 0)
        return place;
    size_t end = sizeof algorithm - 1 + strspn(node + sizeof algorithm - 1, "0123456789");
    const char *rest = node + end;
    if (*rest == '-' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1)) {
        place.number = strtoll(rest + 1, NULL, 10);
        place.length = end;
    }
    return place;
}

static bool may_join(const struct gt_trace_file *file)
{
    static const char *const formats[] = {"smdebug", "horovod", "tensorflow"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(file->format, formats[i]) == 0)
            return file->read;
    return false;
}

static bool has_steps(const struct gt_trace *trace, uint32_t node)
{
    for (size_t i = 0; i < trace->step_count; i++)
        if (trace->step[i].node == node)
            return true;
    return false;
}

/* The same rank or process of the host, else the first of the host. Steps stand node by node. */
static uint32_t find(const struct gt_trace *trace, const char *name)
{
    struct place wanted = place_of(name), best = {0};
    uint32_t found = GT_TRACE_NONE;
    for (size_t i = 0; i < trace->step_count; i++) {
        uint32_t node = trace->step[i].node;
        struct place place = place_of(gt_trace_text(trace, node));
        if (place.length != wanted.length || memcmp(place.host, wanted.host, place.length) != 0)
            continue;
        bool is_same = wanted.number >= 0 && place.number == wanted.number;
        if (found == GT_TRACE_NONE || is_same || (place.number < best.number && best.number != wanted.number)) {
            found = node;
            best = place;
        }
    }
    return found;
}

/* Rank 0 writes the timeline of Horovod, which names no node itself. */
static uint32_t first_rank(const struct gt_trace *trace, const struct gt_trace_file *of)
{
    if (strcmp(of->format, "horovod") != 0 || of->clock == GT_CLOCK_UNKNOWN)
        return GT_TRACE_NONE;
    for (size_t i = 0; i < trace->file_count; i++)
        if (trace->file[i].rank == 0 && trace->file[i].node != GT_TRACE_NONE && has_steps(trace, trace->file[i].node))
            return trace->file[i].node;
    return GT_TRACE_NONE;
}

void gt_nodes_join(struct gt_trace *trace)
{
    for (uint32_t i = 0; i < trace->file_count; i++) {
        struct gt_trace_file *file = &trace->file[i];
        if (!may_join(file) || (file->node != GT_TRACE_NONE && has_steps(trace, file->node)))
            continue;
        uint32_t node = file->node == GT_TRACE_NONE ? first_rank(trace, file)
                                                    : find(trace, gt_trace_text(trace, file->node));
        file->node = node != GT_TRACE_NONE ? node : file->node;
    }
}
