/* The time of GPUs by what they did, and why they stood still. */
#include "analyse/gpu/gpu.h"
#include "analyse/views.h"

/* ---- breakdown ----
 * The time of each GPU by what it did: compute, communication, memory, nothing.
 *
 * Between the first start and the last end of GPU work of a device, each moment counts once: as compute when a
 * computing kernel runs, else as communication when a collective does, else as memory when only copies or fills do,
 * else as idle. The four sum to the span (the temporal breakdown of Holistic Trace Analysis, with its non-compute
 * part cut in two). Overlap is the part of all communication (memory) time during which computation ran, too. */

static int build_breakdown(const struct gt_analysis_input *input, struct gt_node *root)
{
    static const char *const parts[][3] = {
        {"idle_percent", "idle", "span"},
        {"compute_percent", "compute", "span"},
        {"communication_percent", "communication", "span"},
        {"memory_percent", "memory", "span"},
        {"communication_overlap_percent", "hidden_communication", "all_communication"},
        {"memory_overlap_percent", "hidden_memory", "all_memory"},
    };
    struct gt_rows rows = gt_view_device_times(input);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        gt_rows_percent(&rows, parts[i][0], parts[i][1], parts[i][2]);
    gt_rows_put(
        input, root, "breakdown", "Breakdown", &rows,
        "text:node text:device number:span_us number:idle_us number:compute_us number:communication_us number:memory_us "
        "number:idle_percent number:compute_percent number:communication_percent number:memory_percent "
        "number:all_communication_us number:communication_overlap_percent number:memory_overlap_percent",
        GT_NO_GPU_WORK);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_breakdown = {
    .name = "breakdown",
    .help = "idle, compute, communication and memory time of each GPU, and their overlap",
    .of_selected = true,
    .build = build_breakdown,
};

/* ---- idle GPUs ----
 * Why GPUs stood still. A gap lies between the latest end of work so far and the start of the next work, of a device or of one
 * stream. Its cause is read from the runtime call that launched the next work (as Holistic Trace Analysis does for streams):
 *
 *   waiting for the host   the call began after the gap had: the GPU had nothing to do. Part of it may lie in the data loader
 *   between kernels        launched before, and no longer than 30 ns: what the GPU takes from one kernel to the next
 *   other                  launched before: waits for an event or another stream; or the launch is not known
 */

#define COLUMNS                                                                           \
    "number:span_us number:idle_us number:idle_percent integer:gaps number:host_wait_us " \
    "number:between_kernels_us number:other_us number:data_loader_us"

static struct gt_table *put_idle(const struct gt_analysis_input *input, struct gt_node *root, const char *keys,
                                 const char *key, const char *title, const char *columns)
{
    struct gt_rows rows = gt_view_idle(input, keys);
    gt_rows_percent(&rows, "idle_percent", "idle", "span");
    return gt_rows_put(input, root, key, title, &rows, columns, NULL);
}

static int build_idle(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_table *devices = put_idle(input, root, "node device", "devices", "Devices",
                                        "text:node text:device " COLUMNS);
    put_idle(input, root, "node device stream", "streams", "Streams", "text:node text:device text:stream " COLUMNS);
    gt_analysis_empty(root, devices, GT_NO_GPU_WORK);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_idle = {
    .name = "idle",
    .help = "why GPUs stood still: waiting for the host (and its data loader), between kernels, other",
    .joins = true,
    .takes = GT_TAKES_TOP,
    .of_selected = true,
    .build = build_idle,
};
