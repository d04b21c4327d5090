/* Replays collectives with earlier arrivals. Computation hides a wait only for a while: the stream of communication
 * stays behind, and later collectives on it end later. */
#include "analyse/advice/arrival_replay.h"

#include <stdlib.h>

#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "base/number.h"

enum { BLOCKED = 10000 }; /* ns; a collective that begins this soon after the one before it was blocked by it */

/* A rank's part in a collective. */
struct gt_replay_part {
    int64_t ready;            /* its rank has computed what it needs */
    int64_t exposed;          /* ns in which it runs and the device computes nothing */
    size_t before, on_stream; /* the part before it on its device, and on its stream; SIZE_MAX: none */
    bool is_blocked;
    uint32_t rank; /* its place in gt_collectives.rank: each replay asks for it */
    int64_t begin; /* in the replay */
    int64_t ahead; /* its end in the replay is earlier by this */
    int64_t saved; /* ns that the device has saved after it */
};

/* ---- when a rank has computed what a collective needs ---- */

/* Computing kernels by node, device and launch: `end` is the last end so far. */
static struct gt_rows list_ends(const struct gt_analysis_input *input)
{
    struct gt_rows ends = gt_view_launched_work(input);
    ends = gt_rows_where(&ends, "use", GT_USE_COMPUTE);
    ends = gt_rows_known(&ends, "launched");
    gt_rows_sort(&ends, "node device launched");
    int64_t *end = gt_rows_wholes(&ends, "end");
    for (size_t from = 0, to; from < ends.count; from = to) {
        to = gt_rows_run(&ends, "node device", from);
        for (size_t i = from + 1; i < to; i++)
            end[i] = end[i - 1] > end[i] ? end[i - 1] : end[i];
    }
    return ends;
}

/* The time when a device has ended all computing kernels that were launched before `time`; `time` itself without any. */
static int64_t end_of_launched(const struct gt_rows *ends, uint32_t node, uint32_t device, int64_t time)
{
    const uint32_t *of = gt_rows_keys(ends, "node"), *on = gt_rows_keys(ends, "device");
    const int64_t *launched = gt_rows_wholes(ends, "launched"), *end = gt_rows_wholes(ends, "end");
    size_t behind = GT_SEARCH(0, ends->count, i,
                              GT_ORDER_BY(GT_ORDER(of[i], node), GT_ORDER(on[i], device), GT_ORDER(launched[i], time)) <
                                  0);
    bool is_known = behind && of[behind - 1] == node && on[behind - 1] == device;
    return is_known && end[behind - 1] > time ? end[behind - 1] : time;
}

/* Parts that another on their stream blocked were ready earlier: when their call was made, and the work before it
 * done. */
static void find_ready(struct gt_replay *replay, const struct gt_analysis_input *input, const struct gt_rows *arrivals)
{
    struct gt_rows ends = list_ends(input);
    const uint32_t *node = gt_rows_keys(arrivals, "node"), *device = gt_rows_keys(arrivals, "device");
    const int64_t *launched = gt_rows_wholes(arrivals, "launched"), *start = gt_rows_wholes(arrivals, "start");
    for (size_t i = 0; i < arrivals->count; i++) {
        if (!replay->part[i].is_blocked || launched[i] == GT_NO_WHOLE)
            continue;
        int64_t ready = end_of_launched(&ends, node[i], device[i], launched[i]);
        replay->part[i].ready -= ready < start[i] ? start[i] - ready : 0;
    }
}

/* ---- parts ---- */

uint32_t gt_arrival_device(const struct gt_analysis_input *input, const struct gt_arrival *arrival)
{
    bool is_of_gpu = arrival->event != SIZE_MAX && gt_analysis_work(input, arrival->event) == GT_WORK_KERNEL;
    return is_of_gpu ? gt_analysis_place(input, gt_trace_process_of(input->trace, arrival->event)->own) : GT_TRACE_NONE;
}

/* What computes: kernels of a device; operators on the host, as these hide a collective of hosts. */
static bool is_computing(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    bool is_gpu = work == GT_WORK_KERNEL || work == GT_WORK_COPY || work == GT_WORK_SET;
    return (work == GT_WORK_OPERATOR || (is_gpu && gt_gpu_use(input, event) == GT_USE_COMPUTE)) &&
           gt_trace_lasts(input->trace, event);
}

static struct gt_rows find_computing(const struct gt_analysis_input *input)
{
    struct gt_rows rows = gt_rows_of_events(input, is_computing);
    const uint32_t *event = gt_rows_keys(&rows, "event");
    uint32_t *device = gt_rows_add_keys(&rows, "device", NULL);
    for (size_t i = 0; i < rows.count; i++)
        device[i] = gt_analysis_work(input, event[i]) == GT_WORK_OPERATOR
                        ? GT_NO_KEY
                        : gt_analysis_place(input, gt_trace_process_of(input->trace, event[i])->own);
    return gt_rows_unite(&rows, "node device");
}

struct gt_rows gt_arrival_rows(const struct gt_analysis_input *input, const struct gt_collectives *all)
{
    struct gt_rows computing = find_computing(input), work = gt_view_launched_work(input);
    struct gt_rows rows = gt_rows_new(input->query, all->count ? all->collective[all->count - 1].to : 0);
    uint32_t *node = gt_rows_add_keys(&rows, "node", NULL), *device = gt_rows_add_keys(&rows, "device", NULL);
    uint32_t *stream = gt_rows_add_keys(&rows, "stream", NULL), *part = gt_rows_add_keys(&rows, "part", NULL);
    uint32_t *event = gt_rows_add_keys(&rows, "event", NULL);
    int64_t *last = gt_rows_add_wholes(&rows, "last"), *start = gt_rows_add_wholes(&rows, "start");
    int64_t *end = gt_rows_add_wholes(&rows, "end"), *met = gt_rows_add_wholes(&rows, "met");
    for (size_t i = 0; i < all->count; i++)
        for (size_t j = all->collective[i].from; j < all->collective[i].to && rows.count; j++) {
            const struct gt_arrival *arrival = &all->arrival[j];
            bool is_event = arrival->event != SIZE_MAX; /* of Horovod it is none: its tensors do not block each other */
            int64_t length = arrival->end > arrival->start ? arrival->end - arrival->start : 0;
            node[j] = arrival->node;
            device[j] = gt_arrival_device(input, arrival);
            stream[j] = is_event ? input->trace->events.track[arrival->event] : GT_NO_KEY;
            part[j] = (uint32_t)j;
            event[j] = is_event ? (uint32_t)arrival->event : GT_NO_KEY;
            last[j] = all->collective[i].last;
            start[j] = is_event ? input->trace->events.start[arrival->event] : 0;
            end[j] = is_event ? start[j] + length : 0;
            met[j] = is_event ? start[j] + last[j] - arrival->start : 0;
        }
    gt_rows_join(&rows, &work, "event", "launched");
    gt_rows_overlap(&rows, "computed", "start", "end", &computing, "node device");
    gt_rows_overlap(&rows, "computed_wait", "start", "met", &computing, "node device");
    return rows;
}

/* Rows are sorted by keys, and in the order of collectives. */
static void link_parts(struct gt_replay *replay, const struct gt_rows *rows, bool is_stream)
{
    const uint32_t *number = gt_rows_keys(rows, "part");
    for (size_t from = 0, to; from < rows->count; from = to) {
        to = gt_rows_run(rows, is_stream ? "node device stream" : "node device", from);
        for (size_t i = from; i < to; i++) {
            size_t before = i > from ? number[i - 1] : SIZE_MAX;
            struct gt_replay_part *part = &replay->part[number[i]];
            const struct gt_arrival *arrival = &replay->all->arrival[number[i]];
            if (!is_stream) {
                part->before = before;
                continue;
            }
            part->on_stream = arrival->event == SIZE_MAX ? SIZE_MAX : before;
            part->is_blocked = part->on_stream != SIZE_MAX &&
                               arrival->start - replay->all->arrival[before].end < BLOCKED;
        }
    }
}

static void find_parts(struct gt_replay *replay, struct gt_rows rows)
{
    const int64_t *computed = gt_rows_wholes(&rows, "computed");
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_arrival *arrival = &replay->all->arrival[i];
        int64_t length = arrival->end > arrival->start ? arrival->end - arrival->start : 0;
        replay->part[i].ready = arrival->start;
        replay->part[i].rank = (uint32_t)gt_late_rank_of(replay->all, arrival);
        replay->part[i].exposed = length - computed[i];
    }
    gt_rows_sort(&rows, "node device stream last part");
    link_parts(replay, &rows, true);
    gt_rows_sort(&rows, "node device last part");
    link_parts(replay, &rows, false);
}

static int by_time(const void *a, const void *b, void *all)
{
    const struct gt_collective *x = &((const struct gt_collectives *)all)->collective[*(const size_t *)a];
    const struct gt_collective *y = &((const struct gt_collectives *)all)->collective[*(const size_t *)b];
    return GT_ORDER_BY(GT_ORDER(x->last, y->last), GT_ORDER(x->from, y->from));
}

void gt_replay_open(struct gt_replay *replay, const struct gt_analysis_input *input, const struct gt_collectives *all,
                    const struct gt_rows *arrivals)
{
    size_t parts = all->count ? all->collective[all->count - 1].to : 0;
    *replay = (struct gt_replay){.all = all,
                                 .parts = parts,
                                 .part = gt_query_memory(input->query, parts, sizeof *replay->part),
                                 .order = gt_query_memory(input->query, all->count, sizeof *replay->order),
                                 .saved = gt_query_memory(input->query, all->ranks, sizeof *replay->saved)};
    if (gt_query_status(input->query) < 0)
        return;
    for (size_t i = 0; i < all->count; i++)
        replay->order[i] = i;
    qsort_r(replay->order, all->count, sizeof *replay->order, by_time, (void *)(uintptr_t)all);
    find_parts(replay, *arrivals);
    find_ready(replay, input, arrivals);
}

/* ---- the replay ---- */

/* What the device had saved by the parts that had ended at `time`. */
static int64_t saved_at(const struct gt_replay *replay, size_t part, int64_t time)
{
    while (part != SIZE_MAX && replay->all->arrival[part].end > time)
        part = replay->part[part].before;
    return part == SIZE_MAX ? 0 : replay->part[part].saved;
}

static int64_t begin_of(const struct gt_replay *replay, size_t number)
{
    const struct gt_replay_part *part = &replay->part[number];
    int64_t start = replay->all->arrival[number].start;
    int64_t begin = part->ready - saved_at(replay, part->before, part->ready);
    if (part->on_stream != SIZE_MAX) {
        int64_t free = (part->is_blocked ? start : replay->all->arrival[part->on_stream].end) -
                       replay->part[part->on_stream].ahead;
        begin = free > begin ? free : begin;
    }
    return begin < start ? begin : start;
}

static void end_part(struct gt_replay *replay, size_t number, int64_t ahead)
{
    struct gt_replay_part *part = &replay->part[number];
    int64_t saved = part->before == SIZE_MAX ? 0 : replay->part[part->before].saved;
    int64_t more = ahead > saved ? ahead - saved : 0;
    part->ahead = ahead;
    part->saved = saved + (more < part->exposed ? more : part->exposed);
}

static void replay_collective(struct gt_replay *replay, const struct gt_collective *collective,
                              enum gt_replay_kind kind, const bool *is_left_out)
{
    bool is_waited = gt_is_waited_in(collective);
    int64_t last = INT64_MIN, least = INT64_MAX;
    double sum = 0;
    size_t count = 0;
    for (size_t i = collective->from; i < collective->to; i++) {
        const struct gt_arrival *arrival = &replay->all->arrival[i];
        int64_t begin = begin_of(replay, i), ahead = arrival->start - begin;
        replay->part[i].begin = begin;
        if (is_left_out && is_left_out[replay->part[i].rank])
            continue;
        last = begin > last ? begin : last;
        least = ahead < least ? ahead : least;
        sum += (double)(begin - collective->first);
        count++;
    }
    if (kind == GT_REPLAY_EVEN && count)
        last = collective->first + (int64_t)(sum / (double)count);
    for (size_t i = collective->from; i < collective->to; i++) {
        int64_t begin = kind == GT_REPLAY_ALONE ? replay->part[i].begin : last;
        int64_t own = replay->all->arrival[i].start - replay->part[i].begin;
        int64_t ahead = !count ? 0 : is_waited ? collective->last - begin : kind == GT_REPLAY_ALONE ? own : least;
        end_part(replay, i, ahead > 0 ? ahead : 0);
    }
}

const double *gt_replay(struct gt_replay *replay, enum gt_replay_kind kind, const bool *is_left_out)
{
    for (size_t i = 0; i < replay->all->ranks; i++)
        replay->saved[i] = 0;
    for (size_t i = 0; i < replay->all->count; i++)
        replay_collective(replay, &replay->all->collective[replay->order[i]], kind, is_left_out);
    for (size_t i = 0; i < replay->parts; i++) {
        double *saved = &replay->saved[replay->part[i].rank];
        *saved = fmax(*saved, (double)replay->part[i].saved);
    }
    return replay->saved;
}
