/* Rules over GPUs: their work, their memory, and the ranks that others wait for. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/advice.h"
#include "analyse/calls/operators.h"
#include "analyse/gpu/collectives.h"
#include "analyse/gpu/gpu.h"
#include "analyse/gpu/launches.h"
#include "analyse/gpu/lists.h"
#include "analyse/trace/step_spans.h"
#include "analyse/views.h"
#include "base/number.h"
#include "schema/human.h"

/* ---- work ---- */

static bool is_in_few_steps(const struct gt_host_wait *wait)
{
    enum { HALF = 2 };
    return wait->few && HALF * wait->few <= wait->steps;
}

void gt_advice_waits_in(const struct gt_adviser *adviser, const struct gt_host_waits *waits, uint32_t node, char *text,
                        size_t size)
{
    const struct gt_host_wait *wait = gt_host_wait_of(waits, node);
    *text = '\0';
    if (!wait)
        return;
    const char *name = gt_analysis_text(adviser->input, wait->name);
    const char *range = wait->range == wait->name ? NULL : gt_analysis_text(adviser->input, wait->range);
    char steps[60] = "";
    if (is_in_few_steps(wait))
        snprintf(steps, sizeof steps, ", in %zu of %zu steps", wait->few, wait->steps);
    snprintf(text, size, " (%.0f %% of that %s%.100s%s%.100s%s)", 100 * wait->share, name ? "in " : "between operators",
             name ? name : "", range ? " within " : "", range ? range : "", steps);
}

/* What makes the host's part of idle time smaller. `wait` may be NULL. */
static const char *shorter_waits(const struct gt_adviser *adviser, const struct gt_host_wait *wait, uint32_t node)
{
    if (wait && wait->is_synchronization)
        return adviser->is_pipeline ? "more and smaller micro-batches, if it is the pipeline that fills and drains"
                                    : "fewer synchronizations (.item(), .cpu(), print of a tensor), or later";
    if (wait && (wait->is_pause || is_in_few_steps(wait)))
        return "do that less often, or in another thread while the GPU works";
    return gt_advice_finds(adviser, node, "GraphLaunch")
               ? "fewer synchronizations (.item(), .cpu()), larger batches"
               : "fewer synchronizations (.item(), .cpu()), larger batches, or CUDA graphs";
}

const char *gt_advice_gpu(const char *device)
{
    return strncmp(device, "GPU", 3) == 0 ? "" : "GPU ";
}

/* A device of a view. */
struct device_row {
    uint32_t node, device;
    const char *node_name, *name;
};

static struct device_row device_of(const struct gt_adviser *adviser, const struct gt_rows *rows, size_t row)
{
    struct device_row ret = {.node = gt_rows_keys(rows, "node")[row], .device = gt_rows_keys(rows, "device")[row]};
    ret.node_name = gt_analysis_text(adviser->input, ret.node);
    ret.name = gt_analysis_text(adviser->input, ret.device);
    return ret;
}

static double time_of(const struct gt_rows *rows, const char *name, size_t row)
{
    return (double)gt_rows_wholes(rows, name)[row];
}

static void judge_idle(struct gt_adviser *adviser, const struct gt_host_waits *waits, const struct gt_rows *rows,
                       size_t row)
{
    char owner[320];
    struct device_row of = device_of(adviser, rows, row);
    const char *node = of.node_name, *device = of.name, *kind = gt_advice_gpu(device);
    double whole = time_of(rows, "span", row), idle = time_of(rows, "idle", row), share = gt_percent(idle, whole);
    double loading = time_of(rows, "data_loader", row), other = time_of(rows, "other", row);
    double host = time_of(rows, "host_wait", row) - loading;
    double late_load = fmin(gt_advice_blamed(adviser, of.node, GT_LOSS_LOADING), loading);
    double late_host = gt_advice_blamed(adviser, of.node, GT_LOSS_HOST), left = fmax(host - late_host, 0);
    if (late_host > 0)
        snprintf(owner, sizeof owner, " (%s apart)", gt_advice_apart(adviser));
    else
        gt_advice_waits_in(adviser, waits, of.node, owner, sizeof owner);
    bool is_told = gt_advise(
        adviser, gt_gain_of_gpu(adviser, loading - late_load, of.node, of.device), "idle, dataloader",
        "%s: %s%s idle %.0f %% of the time, %.0f %% of it waiting for the data loader%s: more workers, or a faster source",
        node, kind, device, share, gt_percent(loading - late_load, idle),
        late_load > 0 ? " (what makes the others wait apart)" : "");
    struct gt_loss loss = {GT_LOSS_LOADING, GT_LOSS_OF_DEVICE, of.node};
    gt_advice_is(adviser, is_told, loss);
    is_told = gt_advise(adviser, gt_gain_of_gpu(adviser, left, of.node, of.device), "idle, operators",
                        "%s: %s%s idle %.0f %% of the time, %.0f %% of it waiting for the host to launch work%s: %s",
                        node, kind, device, share, gt_percent(left, idle), owner,
                        shorter_waits(adviser, gt_host_wait_of(waits, of.node), of.node));
    loss.kind = GT_LOSS_HOST;
    gt_advice_is(adviser, is_told, loss);
    gt_advise(
        adviser, gt_gain_of_gpu(adviser, other, of.node, of.device), "idle",
        "%s: %s%s idle %.0f %% of the time, %.0f %% of it with work launched but held back by other streams or events, or launched outside of the trace",
        node, kind, device, share, gt_percent(other, idle));
}

void gt_advise_idle(struct gt_adviser *adviser)
{
    const struct gt_host_waits *waits;
    struct gt_rows devices = gt_view_idle(adviser->input, "node device");
    adviser->status = gt_host_waits_find(adviser->input, &waits);
    for (size_t i = 0; i < devices.count && adviser->status >= 0; i++)
        judge_idle(adviser, waits, &devices, i);
}

static void judge_uses(struct gt_adviser *adviser, const struct gt_rows *times, size_t row, bool is_pipeline)
{
    struct device_row of = device_of(adviser, times, row);
    const char *node = of.node_name, *device = of.name, *kind = gt_advice_gpu(device);
    bool is_pageable = gt_advice_finds(adviser, of.node, "Pageable"),
         is_pinned = gt_advice_finds(adviser, of.node, "Pinned");
    double whole = time_of(times, "span", row), memory = time_of(times, "memory", row);
    double awaited = gt_advice_awaited(adviser, of.node, of.device);
    bool is_named = gt_advice_is_worth_naming(awaited, whole);
    double shown = time_of(times, "communication", row) - awaited;
    double exposed = gt_percent(shown, time_of(times, "all_communication", row));
    struct gt_loss loss = {GT_LOSS_COMMUNICATION, GT_LOSS_OF_DEVICE, of.node};
    struct gt_gain gain = gt_gain_of_gpu(adviser, shown, of.node, of.device);
    bool is_told =
        is_pipeline
            ? gt_advise(
                  adviser, gain, "breakdown",
                  "%s: %s%s %.0f %% of the time in sends and receives that no computation hides%s (%.0f %% of all communication): more and smaller micro-batches, or stages of equal length",
                  node, kind, device, gt_percent(shown, whole),
                  is_named ? ", apart from waiting for the slowest stage" : "", exposed)
            : gt_advise(
                  adviser, gain, "breakdown",
                  "%s: %s%s %.0f %% of the time in communication that no computation hides%s (%.0f %% of all communication): smaller or larger buckets, or communication started earlier",
                  node, kind, device, gt_percent(shown, whole), is_named ? ", apart from waiting for late ranks" : "",
                  exposed);
    gt_advice_is(adviser, is_told, loss);
    is_told = gt_advise(adviser, gt_gain_of_gpu(adviser, memory, of.node, of.device), "breakdown, kernels",
                        "%s: %s%s %.0f %% of the time doing nothing but copying and filling memory: %s", node, kind,
                        device, gt_percent(memory, whole),
                        is_pinned && !is_pageable ? "copies on a stream of their own, or fewer of them"
                                                  : "pinned memory, asynchronous copies");
    loss.kind = GT_LOSS_COPIES;
    gt_advice_is(adviser, is_told, loss);
}

void gt_advise_uses(struct gt_adviser *adviser)
{
    struct gt_rows times = gt_view_device_times(adviser->input);
    struct gt_rows sums = gt_communication_times(adviser->input, GT_ADVICE_COLLECTIVES, "node device");
    gt_rows_join(&times, &sums, "node device", "sum to_another");
    for (size_t i = 0; i < times.count; i++)
        judge_uses(adviser, &times, i, gt_advice_is_pipeline(&times, i));
}

/* ---- launches ---- */

/* What makes fewer launches, and is not there already. */
static const char *fewer_launches(const struct gt_adviser *adviser, uint32_t node)
{
    bool has_graphs = gt_advice_finds(adviser, node, "GraphLaunch");
    bool is_compiled = gt_advice_finds(adviser, node, "triton_") || gt_advice_finds(adviser, node, "Torch-Compiled");
    return has_graphs && is_compiled ? "larger batches"
           : has_graphs              ? "fuse kernels (torch.compile), or larger batches"
           : is_compiled             ? "CUDA graphs, or larger batches"
                                     : "fuse kernels (torch.compile), CUDA graphs, or larger batches";
}

/* Is most work shorter than the call that launches it? Then the CPU sets the pace. */
static void judge_lengths(struct gt_adviser *adviser, const struct gt_rows *launches, size_t from, size_t to)
{
    const int64_t *length = gt_rows_wholes(launches, "call_length"), *work_length = gt_rows_wholes(launches, "work");
    struct device_row of = device_of(adviser, launches, from);
    size_t brief = 0;
    double calls = 0, work = 0, excess = 0;
    for (size_t i = from; i < to; i++) {
        int64_t more = length[i] - work_length[i];
        calls += (double)length[i];
        work += (double)work_length[i];
        brief += more > 0;
        excess += more > 0 ? (double)more : 0;
    }
    if (2 * brief >= to - from)
        gt_advise(
            adviser, gt_gain_of_gpu(adviser, excess, of.node, of.device), "launches",
            "%s: %s%s: %zu of %zu launches take longer on the CPU than their work on the GPU (on average %s and %s): the CPU sets the pace; %s",
            of.node_name, gt_advice_gpu(of.name), of.name, brief, to - from, GT_TIME_WORDS(calls / (double)(to - from)),
            GT_TIME_WORDS(work / (double)(to - from)), fewer_launches(adviser, of.node));
}

static void judge_queue(struct gt_adviser *adviser, const struct gt_rows *changes, size_t from, size_t to)
{
    struct device_row of = device_of(adviser, changes, from);
    struct gt_launch_queue queue = gt_launch_queue(changes, from, to, NULL, NULL);
    double whole = (double)gt_analysis_recorded(adviser->input, of.node, queue.first, queue.last);
    gt_advise(
        adviser, gt_gain_of_gpu(adviser, (double)queue.blocked, of.node, of.device), "launches",
        "%s: %s%s, stream %s: the queue of launches was full (%d) for %.0f %% of the time, up to %lld long: the host is blocked there and feeds nothing else; launch other streams and load data from other threads",
        of.node_name, gt_advice_gpu(of.name), of.name,
        gt_gpu_stream(adviser->input, gt_rows_keys(changes, "stream")[from]), GT_FULL_QUEUE,
        gt_percent((double)queue.blocked, whole), (long long)queue.longest);
}

void gt_advise_launches(struct gt_adviser *adviser)
{
    struct gt_rows launches = gt_view_launches(adviser->input, "node device"),
                   changes = gt_launch_changes(adviser->input);
    for (size_t from = 0, to; from < launches.count; from = to) {
        to = gt_rows_run(&launches, "node device", from);
        judge_lengths(adviser, &launches, from, to);
    }
    for (size_t from = 0, to; from < changes.count; from = to) {
        to = gt_rows_run(&changes, "node device stream", from);
        judge_queue(adviser, &changes, from, to);
    }
}

/* ---- memory, as PyTorch's profiler saw it ---- */

enum { LARGEST = 3, WARM_UP = 2, FEWEST_STEPS = 4 };
static const double NEAR = 90, UNUSED = 30, GROWN = 5, NOTEWORTHY = 256 << 20;

struct device {
    struct gt_adviser *adviser;
    const struct gt_memory_change *change;
    size_t from, to, peak;
    const char *node;
    char name[40];
};

/* ", held by aten::empty (1.0 GiB), aten::conv (20 MiB)": who holds most after the changes up to `to`. */
static void write_holders(struct device *device, size_t to, struct gt_buffer *out)
{
    struct gt_memory_holder *holder = NULL;
    size_t count = 0;
    char bytes[GT_HUMAN_SIZE];
    int status = gt_memory_holders(device->change, device->from, to, &holder, &count);
    gt_buffer_text(out, "");
    for (size_t i = 0; i < count && i < LARGEST; i++) {
        const char *owner = gt_analysis_text(device->adviser->input, holder[i].owner);
        gt_buffer_printf(out, "%s%s (%s)", i ? ", " : ", held by ", owner ? owner : "no operator",
                         gt_human_bytes(bytes, holder[i].bytes));
    }
    free(holder);
    device->adviser->status = status < 0 ? status : out->failed ? out->failed : device->adviser->status;
}

/* Memory of the GPUs of a node; 0: no file tells. */
static double capacity(const struct gt_analysis_input *input, uint32_t node)
{
    for (size_t i = 0; i < input->trace->file_count; i++)
        if (input->node[i] == node && input->trace->file[i].device_bytes > 0)
            return (double)input->trace->file[i].device_bytes;
    return 0;
}

static void judge_reserved(struct device *device)
{
    double reserved = 0, allocated = device->change[device->peak].allocated;
    double whole = capacity(device->adviser->input, device->change[device->from].node);
    char a[GT_HUMAN_SIZE], b[GT_HUMAN_SIZE];
    struct gt_buffer holders = {0};
    for (size_t i = device->from; i < device->to; i++)
        reserved = fmax(reserved, device->change[i].reserved);
    write_holders(device, device->peak + 1, &holders);
    if (gt_percent(reserved, whole) >= NEAR)
        gt_advise(
            device->adviser, GT_NO_GAIN, "memory",
            "%s: %s reserves up to %s of its %s (%.0f %%)%s: little is left before it runs out of memory; smaller batches, checkpointing of activations",
            device->node, device->name, gt_human_bytes(a, reserved), gt_human_bytes(b, whole),
            gt_percent(reserved, whole), holders.length ? holders.data : "");
    if (reserved - allocated >= NOTEWORTHY && gt_percent(reserved - allocated, reserved) >= UNUSED)
        gt_advise(
            device->adviser, GT_NO_GAIN, "memory",
            "%s: %s reserves up to %s for at most %s allocated (%.0f %% for nothing): memory is in fragments; expandable segments (PYTORCH_CUDA_ALLOC_CONF), fewer different sizes",
            device->node, device->name, gt_human_bytes(a, reserved), gt_human_bytes(b, allocated),
            gt_percent(reserved - allocated, reserved));
    gt_buffer_release(&holders);
}

/* The last change at `time` or before it; SIZE_MAX when there is none. */
static size_t change_at(const struct device *device, int64_t time)
{
    size_t low = GT_SEARCH(device->from, device->to, middle, device->change[middle].time <= time);
    return low > device->from ? low - 1 : SIZE_MAX;
}

/* From the end of one step to the end of the next, after the first two, in which optimizers make their state. */
static void judge_growth(struct device *device, const struct gt_spans *steps)
{
    size_t ends = 0, rises = 0, seen = 0, latest = SIZE_MAX;
    double first = NAN, last = NAN;
    int32_t first_step = 0, last_step = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->span[i].key[0] != device->change[device->from].node || ++seen <= WARM_UP)
            continue;
        size_t at = change_at(device, steps->span[i].end);
        if (at == SIZE_MAX || isnan(device->change[at].allocated) || device->change[at].is_summed)
            continue;
        double allocated = device->change[at].allocated;
        first_step = ends ? first_step : (int32_t)steps->span[i].key[2];
        first = ends ? first : allocated;
        rises += ends && allocated > last;
        last = allocated;
        last_step = (int32_t)steps->span[i].key[2];
        latest = at;
        ends++;
    }
    if (ends < FEWEST_STEPS || 5 * rises < 4 * (ends - 1) || gt_percent(last - first, first) < GROWN)
        return;
    char a[GT_HUMAN_SIZE], b[GT_HUMAN_SIZE], each[GT_HUMAN_SIZE];
    struct gt_buffer holders = {0};
    write_holders(device, latest + 1, &holders);
    gt_advise(
        device->adviser, GT_NO_GAIN, "memory",
        "%s: %s: allocated memory grows by %s a step, from %s after step %d to %s after step %d%s: something of each step is kept (losses with their graphs, lists, caches)",
        device->node, device->name, gt_human_bytes(each, (last - first) / (double)(ends - 1)), gt_human_bytes(a, first),
        (int)first_step, gt_human_bytes(b, last), (int)last_step, holders.length ? holders.data : "");
    gt_buffer_release(&holders);
}

static int by_start(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return x->start != y->start ? GT_ORDER(x->start, y->start) : GT_ORDER(x->key[2], y->key[2]);
}

void gt_advise_memory(struct gt_adviser *adviser)
{
    struct gt_memory_change *change = NULL;
    struct gt_spans steps = {0};
    size_t count = 0;
    adviser->status = gt_memory_find(adviser->input, &change, &count);
    if (adviser->status >= 0)
        adviser->status = gt_step_spans(adviser->input, &steps);
    gt_spans_sort_by(&steps, by_start);
    for (size_t from = 0, to; from < count && adviser->status >= 0; from = to) {
        to = gt_memory_run(change, from, count);
        struct device device = {.adviser = adviser,
                                .change = change,
                                .from = from,
                                .to = to,
                                .peak = gt_memory_peak(change, from, to),
                                .node = gt_analysis_text(adviser->input, change[from].node)};
        gt_memory_device(change[from].type, change[from].id, device.name, sizeof device.name);
        if (change[from].type != 0) /* of the host's memory the profiler sees a part alone */
            judge_reserved(&device);
        if (adviser->status >= 0)
            judge_growth(&device, &steps);
    }
    gt_spans_release(&steps);
    free(change);
}

/* ---- ranks that others wait for ---- */

struct rank {
    size_t slowest;
    double late; /* ns over the median of the other ranks, summed over steps: less than 0 where it is mostly faster */
    struct gt_numbers lateness; /* of each step */
};

/* The median of sorted values but for one. */
double gt_advice_median_of_others(const struct gt_numbers *sorted, double own)
{
    size_t others = sorted->count - 1, low = (others - 1) / 2, high = others / 2;
    return (sorted->value[low + (sorted->value[low] >= own)] + sorted->value[high + (sorted->value[high] >= own)]) / 2;
}

static int compare_step(const struct gt_spans *steps, size_t from, size_t to, struct rank *rank,
                        struct gt_numbers *lengths)
{
    int status = gt_list_lengths(lengths, steps, from, to, 1);
    gt_numbers_percentile(lengths, 50); /* sorts them */
    for (size_t i = from; i < to && status >= 0; i++) {
        double length = (double)(steps->span[i].end - steps->span[i].start);
        double late = length - gt_advice_median_of_others(lengths, length);
        rank[steps->span[i].key[2]].late += late;
        status = gt_numbers_add(&rank[steps->span[i].key[2]].lateness, late);
    }
    return status;
}

/* Is a rank late in most steps, by a good part of what that costs in all? */
static bool is_steady(struct gt_numbers *lateness, double cost)
{
    enum { PART = 4 };
    return PART * gt_numbers_percentile(lateness, 50) * (double)lateness->count >= cost;
}

static void judge_steps(struct gt_adviser *adviser)
{
    struct gt_spans steps = {0};
    struct gt_numbers lengths = {0};
    size_t places = adviser->input->trace->strings.count, count = 0;
    struct rank *rank = calloc(places + 1, sizeof *rank);
    double whole = 0;
    adviser->status = rank ? gt_skewed_steps(adviser->input, &steps) : -ENOMEM;
    for (size_t from = 0, to = 0; adviser->status >= 0 && gt_spans_next(&steps, 2, &from, &to);) {
        struct gt_skew skew = gt_step_skew(&steps, from, to);
        if (skew.nodes < 2)
            continue;
        adviser->status = compare_step(&steps, from, to, rank, &lengths);
        rank[skew.slowest].slowest++;
        whole += (double)(skew.shortest + skew.length);
        count++;
    }
    for (size_t i = 0; i < places && adviser->status >= 0; i++)
        if (is_steady(&rank[i].lateness, rank[i].late))
            gt_advise(
                adviser, gt_gain_of_rank(adviser, (uint32_t)i, rank[i].late), "stragglers, steps",
                "%s is the slowest in %zu of %zu steps, and a step of it takes %s longer than the median of the others (%.0f %% of all step time): compare its host, its data and its GPU's clock",
                gt_analysis_text(adviser->input, (uint32_t)i), rank[i].slowest, count,
                GT_TIME_WORDS(rank[i].late / (double)count), gt_percent(rank[i].late, whole));
        else if (rank[i].late > 0)
            gt_advise(
                adviser, gt_gain_of_rank(adviser, (uint32_t)i, rank[i].late), "stragglers, steps",
                "%s has a few long steps: %zu of %zu hold %d %% of what its steps take longer than the median of the others, %.0f %% of all step time; in most it is as fast: look for what else ran on its host then",
                gt_analysis_text(adviser->input, (uint32_t)i), gt_numbers_few(&rank[i].lateness),
                rank[i].lateness.count, GT_FEW_HOLD, gt_percent(rank[i].late, whole));
    for (size_t i = 0; rank && i < places; i++)
        gt_numbers_release(&rank[i].lateness);
    gt_numbers_release(&lengths);
    free(rank);
    gt_spans_release(&steps);
}

/* ---- collectives make all steps equally long; who comes last waits least in them ---- */

/* A rank with fewer steps, or less time without steps, has less communication because its trace is shorter. */
static bool ends_early(const struct gt_adviser *adviser, uint32_t node, const struct gt_rank_figures *longest)
{
    size_t at = GT_SEARCH(0, adviser->ranks, middle, adviser->rank[middle].node < node);
    const struct gt_rank_figures *own = &adviser->rank[at];
    if (at == adviser->ranks || own->node != node)
        return false;
    return longest->steps ? own->steps < longest->steps : own->whole < 0.9 * longest->whole;
}

/* How long a rank waits in sends and receives shows its place in a pipeline, and not whether it is late. */
static void judge_communication(struct gt_adviser *adviser)
{
    struct gt_rows ranks = gt_communication_times(adviser->input, GT_ADVICE_COLLECTIVES, "node");
    const uint32_t *node = gt_rows_keys(&ranks, "node");
    const int64_t *to_another = gt_rows_wholes(&ranks, "to_another");
    int64_t *time = gt_rows_wholes(&ranks, "sum");
    bool *is_compared = gt_query_memory(ranks.query, ranks.count, sizeof *is_compared);
    struct gt_rank_figures longest = {.steps = 0, .whole = 0};
    for (size_t i = 0; i < adviser->ranks; i++) {
        longest.steps = adviser->rank[i].steps > longest.steps ? adviser->rank[i].steps : longest.steps;
        longest.whole = fmax(longest.whole, adviser->rank[i].whole);
    }
    for (size_t i = 0; i < ranks.count && is_compared; i++) {
        time[i] -= to_another[i];
        is_compared[i] = time[i] > 0 && !ends_early(adviser, node[i], &longest);
    }
    ranks = gt_rows_filter(&ranks, is_compared);
    gt_rows_sort(&ranks, "sum node");
    if (ranks.count < 2)
        return;
    uint32_t last = gt_rows_keys(&ranks, "node")[0];
    double own = (double)gt_rows_wholes(&ranks, "sum")[0];
    double others = (double)gt_rows_wholes(&ranks, "sum")[1 + (ranks.count - 2) / 2];
    gt_advise(
        adviser, gt_gain_of_rank(adviser, last, others - own), "stragglers, breakdown",
        "%s comes last to collectives: it spends %s in communication, the median of the other %zu ranks %s, most of it waiting",
        gt_analysis_text(adviser->input, last), GT_TIME_WORDS(own), ranks.count - 1, GT_TIME_WORDS(others));
}

void gt_advise_stragglers(struct gt_adviser *adviser)
{
    bool any_in_common = false;
    if (gt_advise_arrivals(adviser, &any_in_common) || adviser->status < 0)
        return;
    if (!any_in_common && !gt_advise_pipeline(adviser))
        judge_steps(adviser);
    if (adviser->status >= 0)
        judge_communication(adviser);
}
