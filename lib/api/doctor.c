/* Every metric, where it comes from on this machine, and what would enable the rest. */
#include <math.h>

#include "api/tracker.h"
#include "report/report.h"

static const char *state_name(enum gt_state state)
{
    static const char *const names[] = {"ready", "absent", "denied", "broken"};
    return names[state];
}

static void add_columns(struct gt_node *table)
{
    gt_table_column(table, "metric", "Metric", GT_CELL_TEXT, "");
    gt_table_column(table, "collector", "Collector", GT_CELL_TEXT, "");
    gt_table_column(table, "state", "State", GT_CELL_TEXT, "");
    gt_table_column(table, "source", "Source", GT_CELL_TEXT, "");
    gt_table_column(table, "refresh", "Refresh", GT_CELL_NUMBER, "seconds");
    gt_table_column(table, "reason", "Reason", GT_CELL_TEXT, "");
    gt_table_column(table, "remedy", "Would enable it", GT_CELL_TEXT, "");
}

static void add_row(struct gt_node *table, const char *metric, const char *collector,
                    const struct gt_availability *availability)
{
    gt_table_text(table, metric);
    gt_table_text(table, collector);
    gt_table_text(table, state_name(availability->state));
    gt_table_text(table, availability->source);
    gt_table_number(table, availability->refresh);
    gt_table_text(table, availability->reason);
    gt_table_text(table, availability->remedy);
}

static void add_metric(struct gt_node *table, const struct gt_sampler *sampler, enum gt_metric_id id)
{
    for (size_t i = 0; i < sampler->source_count; i++) {
        const struct gt_sampler_source *source = &sampler->source[i];
        for (size_t k = 0; k < source->type->metric_count; k++)
            if (source->type->metrics[k] == id)
                add_row(table, gt_metrics[id].name, source->type->name, &source->availability);
    }
}

/* How memory shared in the tree is counted once: no collector, but a source like any other. */
static void add_walks(struct gt_node *table, const struct gt_sampler *sampler, const struct gt_tracker_options *options)
{
    static const enum gt_metric_id walked[] = {GT_RAM_PRIVATE, GT_RAM_SHARED};
    struct gt_memory *memory = NULL;
    struct gt_availability availability = {0};
    gt_memory_open(&memory, &sampler->root, options ? options->memory : NULL, &availability, NULL);
    gt_memory_close(memory);
    for (size_t i = 0; i < sizeof walked / sizeof *walked; i++)
        add_row(table, gt_metrics[walked[i]].name, "memory", &availability);
}

/* Exact counts of processes and threads, and peaks of processes that ended. */
static void add_events(struct gt_node *table, const struct gt_sampler *sampler)
{
    static const enum gt_metric_id counted[] = {GT_PROCESSES_STARTED, GT_PROCESSES_PEAK, GT_THREADS_PEAK};
    struct gt_follow follow;
    if (gt_follow_open(&follow, &sampler->root, NULL) < 0)
        return;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        add_row(table, gt_metrics[counted[i]].name, "events", &follow.availability[GT_EVENTS_FORKS]);
    add_row(table, gt_metrics[GT_RAM_PEAK].name, "events", &follow.availability[GT_EVENTS_RECORDS]);
    gt_follow_close(&follow);
}

int gt_doctor_report(const struct gt_tracker_options *options, struct gt_report **ret, struct gt_error *error)
{
    struct gt_sampler sampler;
    struct gt_sampler_options probe = {
        .machine_root = options ? options->machine_root : NULL,
        .gpu_brand = options ? options->gpu_brand : NULL,
        .libraries = options ? options->libraries : NULL,
        .period = 1,
    };
    int status = gt_sampler_probe(&sampler, &probe, error);
    if (status < 0)
        return status;
    struct gt_report *report = NULL;
    status = gt_report_new(&report, "doctor", error);
    if (status >= 0) {
        struct gt_node *table = gt_report_table(gt_report_root(report), "metrics", "Metrics");
        add_columns(table);
        for (int id = 0; id < GT_METRIC_COUNT; id++)
            add_metric(table, &sampler, id);
        add_walks(table, &sampler, options);
        add_events(table, &sampler);
        *ret = report;
    }
    gt_sampler_close(&sampler);
    return status;
}
