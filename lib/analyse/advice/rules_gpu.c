/* Rules over GPUs: their work, their memory, and the ranks that others wait for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/findings.h"
#include "analyse/calls/operators.h"
#include "analyse/gpu/launches.h"
#include "analyse/trace/training.h"
#include "analyse/views.h"
#include "base/number.h"
#include "schema/human.h"

/* ---- work ---- */

static bool is_in_few_steps(const struct gt_host_wait *wait)
{
    enum { HALF = 2 };
    return wait->few && HALF * wait->few <= wait->steps;
}

static const struct gt_host_wait *host_wait_of(const struct gt_findings *findings, uint32_t node)
{
    const struct gt_host_waits *waits;
    int status = gt_host_waits_find(findings->input, &waits);
    if (status < 0)
        gt_query_fail(findings->input->query, status);
    return status < 0 ? NULL : gt_host_wait_of(waits, node);
}

void gt_write_host_wait(const struct gt_findings *findings, uint32_t node, char *text, size_t size)
{
    const struct gt_host_wait *wait = host_wait_of(findings, node);
    *text = '\0';
    if (!wait)
        return;
    const char *name = gt_analysis_text(findings->input, wait->name);
    const char *range = wait->range == wait->name ? NULL : gt_analysis_text(findings->input, wait->range);
    char steps[60] = "";
    if (is_in_few_steps(wait))
        snprintf(steps, sizeof steps, ", in %zu of %zu steps", wait->few, wait->steps);
    snprintf(text, size, " (%.0f %% of that %s%.100s%s%.100s%s)", 100 * wait->share, name ? "in " : "between operators",
             name ? name : "", range ? " within " : "", range ? range : "", steps);
}

/* What makes the host's part of idle time smaller. */
static const char *shorter_waits(const struct gt_findings *findings, uint32_t node)
{
    const struct gt_host_wait *wait = host_wait_of(findings, node);
    if (wait && wait->is_synchronization)
        return findings->is_pipeline ? "more and smaller micro-batches, if it is the pipeline that fills and drains"
                                     : "fewer synchronizations (.item(), .cpu(), print of a tensor), or later";
    if (wait && (wait->is_pause || is_in_few_steps(wait)))
        return "do that less often, or in another thread while the GPU works";
    return gt_findings_has_name(findings, node, "GraphLaunch")
               ? "fewer synchronizations (.item(), .cpu()), larger batches"
               : "fewer synchronizations (.item(), .cpu()), larger batches, or CUDA graphs";
}

static struct gt_where where_of(const struct gt_rows *rows, size_t row)
{
    return (struct gt_where){gt_rows_keys(rows, "node")[row], gt_rows_keys(rows, "device")[row]};
}

static double time_of(const struct gt_rows *rows, const char *name, size_t row)
{
    return (double)gt_rows_wholes(rows, name)[row];
}

static void judge_idle(struct gt_findings *findings, const struct gt_rows *rows, size_t row)
{
    char owner[320];
    struct gt_where where = where_of(rows, row);
    double idle = time_of(rows, "idle", row), share = gt_percent(idle, time_of(rows, "span", row));
    double loading = time_of(rows, "data_loader", row), other = time_of(rows, "other", row);
    double host = time_of(rows, "host_wait", row) - loading;
    double late_load = fmin(gt_attributed_time(findings, where.node, GT_CAUSE_LOADING), loading);
    double late_host = gt_attributed_time(findings, where.node, GT_CAUSE_HOST), left = fmax(host - late_host, 0);
    if (late_host > 0)
        snprintf(owner, sizeof owner, " (%s apart)", gt_words_apart(findings));
    else
        gt_write_host_wait(findings, where.node, owner, sizeof owner);
    gt_finding_add(
        findings, GT_RULE_IDLE_LOADING, where, gt_saving_on(findings, where.node, loading - late_load),
        " idle %.0f %% of the time, %.0f %% of it waiting for the data loader%s: more workers, or a faster source",
        share, gt_percent(loading - late_load, idle), late_load > 0 ? " (what makes the others wait apart)" : "");
    gt_finding_add(findings, GT_RULE_IDLE_HOST, where, gt_saving_on(findings, where.node, left),
                   " idle %.0f %% of the time, %.0f %% of it waiting for the host to launch work%s: %s", share,
                   gt_percent(left, idle), owner, shorter_waits(findings, where.node));
    gt_finding_add(
        findings, GT_RULE_IDLE_OTHER, where, gt_saving_on(findings, where.node, other),
        " idle %.0f %% of the time, %.0f %% of it with work launched but held back by other streams or events, or launched outside of the trace",
        share, gt_percent(other, idle));
}

void gt_rules_idle(struct gt_findings *findings)
{
    struct gt_rows devices = gt_view_idle(findings->input, "node device");
    for (size_t i = 0; i < devices.count; i++)
        judge_idle(findings, &devices, i);
}

static void judge_uses(struct gt_findings *findings, const struct gt_rows *times, size_t row)
{
    struct gt_where where = where_of(times, row);
    bool is_pinned = gt_findings_has_name(findings, where.node, "Pinned") &&
                     !gt_findings_has_name(findings, where.node, "Pageable");
    double whole = time_of(times, "span", row), memory = time_of(times, "memory", row);
    double awaited = gt_awaited_time(findings, where.node, where.device);
    double shown = time_of(times, "communication", row) - awaited;
    double exposed = gt_percent(shown, time_of(times, "all_communication", row));
    struct gt_saving saving = gt_saving_on(findings, where.node, shown);
    bool is_named = gt_is_worth_naming(awaited, whole);
    if (gt_is_pipeline(times, row))
        gt_finding_add(
            findings, GT_RULE_EXPOSED_SENDS, where, saving,
            " %.0f %% of the time in sends and receives that no computation hides%s (%.0f %% of all communication): more and smaller micro-batches, or stages of equal length",
            gt_percent(shown, whole), is_named ? ", apart from waiting for the slowest stage" : "", exposed);
    else
        gt_finding_add(
            findings, GT_RULE_EXPOSED_COMMUNICATION, where, saving,
            " %.0f %% of the time in communication that no computation hides%s (%.0f %% of all communication): smaller or larger buckets, or communication started earlier",
            gt_percent(shown, whole), is_named ? ", apart from waiting for late ranks" : "", exposed);
    gt_finding_add(findings, GT_RULE_EXPOSED_COPIES, where, gt_saving_on(findings, where.node, memory),
                   " %.0f %% of the time doing nothing but copying and filling memory: %s", gt_percent(memory, whole),
                   is_pinned ? "copies on a stream of their own, or fewer of them"
                             : "pinned memory, asynchronous copies");
}

void gt_rules_uses(struct gt_findings *findings)
{
    struct gt_rows times = gt_view_device_times(findings->input);
    struct gt_rows sums = gt_communication_times(findings->input, GT_RULE_COLLECTIVES, "node device");
    gt_rows_join(&times, &sums, "node device", "sum to_another");
    for (size_t i = 0; i < times.count; i++)
        judge_uses(findings, &times, i);
}

/* ---- launches ---- */

/* What makes fewer launches, and is not there already. */
static const char *fewer_launches(const struct gt_findings *findings, uint32_t node)
{
    bool has_graphs = gt_findings_has_name(findings, node, "GraphLaunch");
    bool is_compiled = gt_findings_has_name(findings, node, "triton_") ||
                       gt_findings_has_name(findings, node, "Torch-Compiled");
    return has_graphs && is_compiled ? "larger batches"
           : has_graphs              ? "fuse kernels (torch.compile), or larger batches"
           : is_compiled             ? "CUDA graphs, or larger batches"
                                     : "fuse kernels (torch.compile), CUDA graphs, or larger batches";
}

/* Are most kernels shorter than the call that launches them? Then the CPU sets the pace. A call that copies may last
 * because it waits. */
static void judge_lengths(struct gt_findings *findings)
{
    struct gt_rows launches = gt_view_launches(findings->input, "node device use");
    const uint32_t *use = gt_rows_keys(&launches, "use");
    bool *is_kernel = gt_query_memory(launches.query, launches.count, sizeof *is_kernel);
    for (size_t i = 0; i < launches.count && is_kernel; i++)
        is_kernel[i] = use[i] != GT_USE_MEMORY;
    launches = gt_rows_filter(&launches, is_kernel);
    int64_t *excess = gt_rows_difference(&launches, "excess", "call_length", "work");
    int64_t *brief = gt_rows_add_wholes(&launches, "brief");
    for (size_t i = 0; i < launches.count; i++) {
        brief[i] = excess[i] > 0;
        excess[i] = excess[i] > 0 ? excess[i] : 0;
    }
    struct gt_rows devices = gt_rows_group(&launches, "node device",
                                           GT_AGGREGATES(GT_COUNT("count"), GT_SUM("brief", "brief"),
                                                         GT_SUM("excess", "excess"), GT_MEAN("call", "call_length"),
                                                         GT_MEAN("work", "work")));
    for (size_t i = 0; i < devices.count; i++) {
        struct gt_where where = where_of(&devices, i);
        int64_t count = gt_rows_wholes(&devices, "count")[i], shorter = gt_rows_wholes(&devices, "brief")[i];
        if (2 * shorter >= count)
            gt_finding_add(
                findings, GT_RULE_SHORT_WORK, where, gt_saving_of_idle(findings, where, time_of(&devices, "excess", i)),
                ": %zu of %zu launches of kernels take longer on the CPU than the kernels on the GPU (on average %s and %s): the CPU sets the pace; %s",
                (size_t)shorter, (size_t)count, GT_TIME_WORDS(gt_rows_reals(&devices, "call")[i]),
                GT_TIME_WORDS(gt_rows_reals(&devices, "work")[i]), fewer_launches(findings, where.node));
    }
}

static void judge_queue(struct gt_findings *findings, const struct gt_rows *changes, size_t from, size_t to)
{
    struct gt_where where = where_of(changes, from);
    struct gt_launch_queue queue = gt_launch_queue(changes, from, to, NULL, NULL);
    double whole = (double)gt_analysis_recorded(findings->input, where.node, queue.first, queue.last);
    gt_finding_add(
        findings, GT_RULE_FULL_QUEUE, where, gt_saving_on(findings, where.node, (double)queue.blocked),
        ", stream %s: the queue of launches was full (%d) for %.0f %% of the time, up to %lld long: the host is blocked there and feeds nothing else; launch other streams and load data from other threads",
        gt_gpu_stream(findings->input, gt_rows_keys(changes, "stream")[from]), GT_FULL_QUEUE,
        gt_percent((double)queue.blocked, whole), (long long)queue.longest);
}

void gt_rules_launches(struct gt_findings *findings)
{
    struct gt_rows changes = gt_launch_changes(findings->input);
    judge_lengths(findings);
    for (size_t from = 0, to; from < changes.count; from = to) {
        to = gt_rows_run(&changes, "node device stream", from);
        judge_queue(findings, &changes, from, to);
    }
}

/* ---- memory, as PyTorch's profiler saw it ---- */

enum { LARGEST = 3, WARM_UP = 2, FEWEST_STEPS = 4 };
static const double NEAR = 90, UNUSED = 30, GROWN = 5, NOTEWORTHY = 256 << 20;

struct device {
    struct gt_findings *findings;
    const struct gt_memory_change *change;
    size_t from, to, peak;
    uint32_t node;
    char name[40];
};

/* ", held by aten::empty (1.0 GiB), aten::conv (20 MiB)": who holds most after the changes up to `to`. */
static void write_holders(struct device *device, size_t to, struct gt_buffer *out)
{
    size_t count;
    char bytes[GT_HUMAN_SIZE];
    struct gt_query *query = device->findings->input->query;
    const struct gt_memory_holder *holder = gt_memory_holders(query, device->change, device->from, to, &count);
    gt_buffer_text(out, "");
    for (size_t i = 0; i < count && i < LARGEST; i++) {
        const char *owner = gt_analysis_text(device->findings->input, holder[i].owner);
        gt_buffer_printf(out, "%s%s (%s)", i ? ", " : ", held by ", owner ? owner : "no operator",
                         gt_human_bytes(bytes, holder[i].bytes));
    }
    device->findings->status = out->failed ? out->failed : gt_query_status(query);
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
    double whole = capacity(device->findings->input, device->node);
    char a[GT_HUMAN_SIZE], b[GT_HUMAN_SIZE];
    struct gt_buffer holders = {0};
    for (size_t i = device->from; i < device->to; i++)
        reserved = fmax(reserved, device->change[i].reserved);
    write_holders(device, device->peak + 1, &holders);
    if (gt_percent(reserved, whole) >= NEAR)
        gt_finding_add(
            device->findings, GT_RULE_LITTLE_MEMORY, GT_ON_NODE(device->node), GT_NO_SAVING,
            "%s reserves up to %s of its %s (%.0f %%)%s: little is left before it runs out of memory; smaller batches, checkpointing of activations",
            device->name, gt_human_bytes(a, reserved), gt_human_bytes(b, whole), gt_percent(reserved, whole),
            holders.length ? holders.data : "");
    if (reserved - allocated >= NOTEWORTHY && gt_percent(reserved - allocated, reserved) >= UNUSED)
        gt_finding_add(
            device->findings, GT_RULE_FRAGMENTS, GT_ON_NODE(device->node), GT_NO_SAVING,
            "%s reserves up to %s for at most %s allocated (%.0f %% for nothing): memory is in fragments; expandable segments (PYTORCH_CUDA_ALLOC_CONF), fewer different sizes",
            device->name, gt_human_bytes(a, reserved), gt_human_bytes(b, allocated),
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
        if (steps->span[i].key[0] != device->node || ++seen <= WARM_UP)
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
    gt_finding_add(
        device->findings, GT_RULE_GROWTH, GT_ON_NODE(device->node), GT_NO_SAVING,
        "%s: allocated memory grows by %s a step, from %s after step %d to %s after step %d%s: something of each step is kept (losses with their graphs, lists, caches)",
        device->name, gt_human_bytes(each, (last - first) / (double)(ends - 1)), gt_human_bytes(a, first),
        (int)first_step, gt_human_bytes(b, last), (int)last_step, holders.length ? holders.data : "");
    gt_buffer_release(&holders);
}

static int by_start(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return x->start != y->start ? GT_ORDER(x->start, y->start) : GT_ORDER(x->key[2], y->key[2]);
}

void gt_rules_memory(struct gt_findings *findings)
{
    size_t count;
    const struct gt_memory_change *change = gt_memory_find(findings->input, &count);
    struct gt_spans steps = gt_step_spans(findings->input);
    findings->status = gt_query_status(findings->input->query);
    gt_spans_sort_by(&steps, by_start);
    for (size_t from = 0, to; from < count && findings->status >= 0; from = to) {
        to = gt_memory_run(change, from, count);
        struct device device = {.findings = findings,
                                .change = change,
                                .from = from,
                                .to = to,
                                .peak = gt_memory_peak(change, from, to),
                                .node = change[from].node};
        gt_memory_device(change[from].type, change[from].id, device.name, sizeof device.name);
        if (change[from].type != 0) /* of the host's memory the profiler sees a part alone */
            judge_reserved(&device);
        if (findings->status >= 0)
            judge_growth(&device, &steps);
    }
}

/* ---- ranks that others wait for ---- */

/* Steps of several ranks, by mode and step: late, in ns over the median of the others, and slowest, the node of which is
 * the longest. Adds up the longest ones, and counts them. */
static struct gt_rows compare_steps(const struct gt_findings *findings, double *whole, size_t *count)
{
    struct gt_rows steps = gt_view_steps(findings->input);
    gt_rows_sort(&steps, "mode step node");
    gt_rows_others(&steps, "others", "length", "mode step");
    steps = gt_rows_known(&steps, "others");
    struct gt_rows longest = gt_rows_group(
        &steps, "mode step", GT_AGGREGATES(GT_MAX("longest", "length"), GT_ARG_MAX("slowest", "length", "node")));
    gt_rows_join(&steps, &longest, "mode step", "slowest");
    const int64_t *length = gt_rows_wholes(&steps, "length");
    double *late = gt_rows_add_reals(&steps, "late"), *others = gt_rows_reals(&steps, "others");
    for (size_t i = 0; i < steps.count; i++)
        late[i] = (double)length[i] - others[i];
    *count = longest.count;
    for (size_t i = 0; i < longest.count; i++)
        *whole += (double)gt_rows_wholes(&longest, "longest")[i];
    return steps;
}

static void judge_steps(struct gt_findings *findings)
{
    enum { PART = 4 };
    size_t count = 0;
    double whole = 0;
    struct gt_rows steps = compare_steps(findings, &whole, &count);
    gt_rows_sort(&steps, "node");
    for (size_t from = 0, to; from < steps.count; from = to) {
        uint32_t node = gt_rows_keys(&steps, "node")[from];
        size_t slowest = 0;
        double late = 0;
        to = gt_rows_run(&steps, "node", from);
        struct gt_numbers lateness = {.value = gt_rows_reals(&steps, "late") + from, .count = to - from};
        for (size_t i = from; i < to; i++) {
            late += lateness.value[i - from];
            slowest += gt_rows_keys(&steps, "slowest")[i] == node;
        }
        const char *name = gt_analysis_text(findings->input, node);
        struct gt_saving saving = gt_saving_on(findings, node, late);
        if (PART * gt_numbers_percentile(&lateness, 50) * (double)lateness.count >= late) /* in most steps */
            gt_finding_add(
                findings, GT_RULE_SLOW_STEPS, GT_IN_JOB, saving,
                "%s is the slowest in %zu of %zu steps, and a step of it takes %s longer than the median of the others (%.0f %% of all step time): compare its host, its data and its GPU's clock",
                name, slowest, count, GT_TIME_WORDS(late / (double)count), gt_percent(late, whole));
        else if (late > 0)
            gt_finding_add(
                findings, GT_RULE_FEW_LONG_STEPS, GT_IN_JOB, saving,
                "%s has a few long steps: %zu of %zu hold %d %% of what its steps take longer than the median of the others, %.0f %% of all step time; in most it is as fast: look for what else ran on its host then",
                name, gt_numbers_few(&lateness), lateness.count, GT_FEW_HOLD, gt_percent(late, whole));
    }
}

/* ---- collectives make all steps equally long; who comes last waits least in them ---- */

/* A rank with fewer steps, or less time, has less communication because its trace is shorter. */
static bool ends_early(const struct gt_findings *findings, uint32_t node, const struct gt_rank_figures *longest)
{
    size_t at = GT_SEARCH(0, findings->ranks, middle, findings->rank[middle].node < node);
    const struct gt_rank_figures *own = &findings->rank[at];
    if (at == findings->ranks || own->node != node)
        return false;
    return own->steps < longest->steps || own->whole < 0.9 * longest->whole;
}

/* How long a rank waits in sends and receives shows its place in a pipeline, and not whether it is late. */
static void judge_communication(struct gt_findings *findings)
{
    struct gt_rows ranks = gt_communication_times(findings->input, GT_RULE_COLLECTIVES, "node");
    const uint32_t *node = gt_rows_keys(&ranks, "node");
    const int64_t *to_another = gt_rows_wholes(&ranks, "to_another");
    int64_t *time = gt_rows_wholes(&ranks, "sum");
    bool *is_compared = gt_query_memory(ranks.query, ranks.count, sizeof *is_compared);
    struct gt_rank_figures longest = {.steps = 0, .whole = 0};
    for (size_t i = 0; i < findings->ranks; i++) {
        longest.steps = findings->rank[i].steps > longest.steps ? findings->rank[i].steps : longest.steps;
        longest.whole = fmax(longest.whole, findings->rank[i].whole);
    }
    for (size_t i = 0; i < ranks.count && is_compared; i++) {
        time[i] -= to_another[i];
        is_compared[i] = time[i] > 0 && !ends_early(findings, node[i], &longest);
    }
    ranks = gt_rows_filter(&ranks, is_compared);
    gt_rows_sort(&ranks, "sum node");
    if (ranks.count < 2)
        return;
    uint32_t last = gt_rows_keys(&ranks, "node")[0];
    double own = (double)gt_rows_wholes(&ranks, "sum")[0];
    double others = (double)gt_rows_wholes(&ranks, "sum")[1 + (ranks.count - 2) / 2];
    gt_finding_add(
        findings, GT_RULE_LAST_BY_TIME, GT_IN_JOB, gt_saving_on(findings, last, others - own),
        "%s comes last to collectives: it spends %s in communication, the median of the other %zu ranks %s, most of it waiting",
        gt_analysis_text(findings->input, last), GT_TIME_WORDS(own), ranks.count - 1, GT_TIME_WORDS(others));
}

void gt_rules_stragglers(struct gt_findings *findings)
{
    bool any_in_common = false;
    if (gt_rules_arrivals(findings, &any_in_common) || findings->status < 0)
        return;
    if (!any_in_common && !gt_rules_pipeline(findings))
        judge_steps(findings);
    if (findings->status >= 0)
        judge_communication(findings);
}
