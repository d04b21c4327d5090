/* Memory of devices over time, and who holds it at the highest total: the blocks not released by then, under the name of the innermost
 * operator that was running on the thread when they were allocated. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/trace/lists.h"
#include "analyse/trace/memory_changes.h"

static const char *const arguments[] = {GT_MEMORY_ARGUMENTS, NULL};

struct tables {
    struct gt_table *memory, *holders;
    struct gt_node *series;
};

static int add_holders(const struct gt_analysis_input *input, struct gt_table *table,
                       const struct gt_memory_change *change, size_t from, size_t to, const char *device)
{
    struct gt_memory_holder *holder = NULL;
    size_t count = 0;
    int status = gt_memory_holders(change, from, to, &holder, &count);
    for (size_t i = 0; i < count && i < gt_list_top(input, 20); i++) {
        gt_table_text(table, gt_analysis_text(input, change[from].node));
        gt_table_text(table, device);
        gt_table_text(table, gt_analysis_text(input, holder[i].owner));
        gt_table_integer(table, (int64_t)holder[i].blocks);
        gt_table_number(table, holder[i].bytes);
    }
    free(holder);
    return status;
}

static int add_device(const struct gt_analysis_input *input, const struct tables *tables,
                      const struct gt_memory_change *change, size_t from, size_t to)
{
    double most_reserved = NAN;
    char device[40], title[340];
    const char *node = gt_analysis_text(input, change[from].node);
    size_t peak = gt_memory_peak(change, from, to);
    gt_memory_device(change[from].type, change[from].id, device, sizeof device);
    snprintf(title, sizeof title, "%s %s allocated", node, device);
    int allocated = gt_series_line(tables->series, title, title);
    snprintf(title, sizeof title, "%s %s reserved", node, device);
    int reserved = gt_series_line(tables->series, title, title);
    for (size_t i = from; i < to; i++) {
        most_reserved = fmax(most_reserved, change[i].reserved);
        gt_series_point(tables->series, allocated, gt_analysis_us(input, change[i].time), change[i].allocated);
        gt_series_point(tables->series, reserved, gt_analysis_us(input, change[i].time), change[i].reserved);
    }
    gt_table_text(tables->memory, node);
    gt_table_text(tables->memory, device);
    gt_table_integer(tables->memory, (int64_t)(to - from));
    gt_table_number(tables->memory, change[peak].allocated);
    gt_table_number(tables->memory, gt_analysis_us(input, change[peak].time));
    gt_table_number(tables->memory, most_reserved);
    gt_table_number(tables->memory, change[to - 1].allocated);
    return add_holders(input, tables->holders, change, from, peak + 1, device);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root, struct gt_error *error)
{
    (void)error;
    struct gt_memory_change *change = NULL;
    size_t count = 0;
    struct tables tables = {
        gt_analysis_table(root, "memory", "Memory",
                          "text:node text:device integer:changes number:peak_allocated_bytes number:peak_at_us "
                          "number:peak_reserved_bytes number:last_allocated_bytes"),
        gt_analysis_table(root, "holders", "Holders at the peak",
                          "text:node text:device text:operator integer:blocks number:held_bytes"),
        gt_report_series(root, "memory_over_time", "Memory over time", "us", "bytes"),
    };
    int status = gt_memory_find(input, &change, &count);
    for (size_t from = 0, to; from < count && status >= 0; from = to) {
        to = gt_memory_run(change, from, count);
        status = add_device(input, &tables, change, from, to);
    }
    gt_analysis_empty(root, tables.memory, "no [memory] events (torch.profiler with profile_memory=True)");
    if (!gt_table_rows(tables.holders))
        gt_table_flags(tables.holders, GT_ONLY_DATA);
    if (!count)
        gt_node_flags(tables.series, GT_ONLY_DATA);
    free(change);
    return status;
}

const struct gt_analysis gt_analysis_memory = {
    .name = "memory",
    .help = "memory allocated and reserved on devices over time, and the biggest holders at the peak",
    .arguments = arguments,
    .takes = GT_TAKES_TOP,
    .build = build,
};
