/* Rules over the memory of GPUs, as PyTorch's profiler saw it. */
#include <stdlib.h>

#include "analyse/advice/advice.h"
#include "analyse/trace/memory.h"
#include "analyse/trace/steps.h"

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
    char bytes[32];
    int status = gt_memory_holders(device->change, device->from, to, &holder, &count);
    gt_buffer_text(out, "");
    for (size_t i = 0; i < count && i < LARGEST; i++) {
        const char *owner = gt_analysis_text(device->adviser->input, holder[i].owner);
        gt_buffer_printf(out, "%s%s (%s)", i ? ", " : ", held by ", owner ? owner : "no operator",
                         gt_advice_bytes(holder[i].bytes, bytes));
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
    char a[32], b[32];
    struct gt_buffer holders = {0};
    for (size_t i = device->from; i < device->to; i++)
        reserved = fmax(reserved, device->change[i].reserved);
    write_holders(device, device->peak + 1, &holders);
    if (gt_percent(reserved, whole) >= NEAR)
        gt_advise(
            device->adviser, GT_NO_GAIN, "memory",
            "%s: %s reserves up to %s of its %s (%.0f %%)%s: little is left before it runs out of memory; smaller batches, checkpointing of activations",
            device->node, device->name, gt_advice_bytes(reserved, a), gt_advice_bytes(whole, b),
            gt_percent(reserved, whole), holders.length ? holders.data : "");
    if (reserved - allocated >= NOTEWORTHY && gt_percent(reserved - allocated, reserved) >= UNUSED)
        gt_advise(
            device->adviser, GT_NO_GAIN, "memory",
            "%s: %s reserves up to %s for at most %s allocated (%.0f %% for nothing): memory is in fragments; expandable segments (PYTORCH_CUDA_ALLOC_CONF), fewer different sizes",
            device->node, device->name, gt_advice_bytes(reserved, a), gt_advice_bytes(allocated, b),
            gt_percent(reserved - allocated, reserved));
    gt_buffer_release(&holders);
}

/* The last change at `time` or before it; SIZE_MAX when there is none. */
static size_t change_at(const struct device *device, int64_t time)
{
    size_t low = device->from, high = device->to;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (device->change[middle].time <= time)
            low = middle + 1;
        else
            high = middle;
    }
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
        if (at == SIZE_MAX || isnan(device->change[at].allocated))
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
    char a[32], b[32], each[32];
    struct gt_buffer holders = {0};
    write_holders(device, latest + 1, &holders);
    gt_advise(
        device->adviser, GT_NO_GAIN, "memory",
        "%s: %s: allocated memory grows by %s a step, from %s after step %d to %s after step %d%s: something of each step is kept (losses with their graphs, lists, caches)",
        device->node, device->name, gt_advice_bytes((last - first) / (double)(ends - 1), each),
        gt_advice_bytes(first, a), (int)first_step, gt_advice_bytes(last, b), (int)last_step,
        holders.length ? holders.data : "");
    gt_buffer_release(&holders);
}

static int by_start(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
                                : (x->key[2] > y->key[2]) - (x->key[2] < y->key[2]);
}

void gt_advise_memory(struct gt_adviser *adviser)
{
    struct gt_memory_change *change = NULL;
    struct gt_spans steps = {0};
    size_t count = 0;
    adviser->status = gt_memory_find(adviser->input, &change, &count);
    if (adviser->status >= 0)
        adviser->status = gt_step_spans(adviser->input, &steps);
    if (steps.count)
        qsort(steps.span, steps.count, sizeof *steps.span, by_start);
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
