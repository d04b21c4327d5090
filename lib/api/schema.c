/* The list of all metrics, and the meaning of the columns of a tracking file. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpu_tracker.h"
#include "report/report.h"
#include "schema/metric.h"
#include "schema/unit.h"
#include "store/store.h"

static void add_scopes(struct gt_buffer *out, unsigned scopes)
{
    for (int scope = 0; scope < GT_SCOPE_COUNT; scope++)
        if (scopes & (1u << scope)) {
            gt_buffer_text(out, out->length ? " " : "");
            gt_buffer_text(out, gt_scope_name((enum gt_scope)scope));
        }
}

static void add_metrics(struct gt_node *root)
{
    struct gt_table *table = gt_report_table(root, "metrics", "Metrics");
    gt_table_flags(table, GT_KEYED);
    static const char *const columns[][2] = {
        {"name", "Name"},    {"unit", "Unit"}, {"kind", "Kind"}, {"scopes", "Scopes"}, {"job", "Of several trackers"},
        {"help", "Meaning"},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        gt_table_column(table, columns[i][0], columns[i][1], GT_CELL_TEXT, NULL);
    struct gt_buffer scopes = {0};
    for (int id = 0; id < GT_METRIC_COUNT; id++) {
        const struct gt_metric *metric = &gt_metrics[id];
        gt_buffer_clear(&scopes);
        add_scopes(&scopes, metric->scopes);
        gt_table_text(table, metric->name);
        gt_table_text(table, gt_unit_name(metric->unit));
        gt_table_text(table, gt_kind_name(metric->kind));
        gt_table_text(table, scopes.data);
        gt_table_text(table, gt_job_rule_name(metric->job));
        gt_table_text(table, metric->help);
    }
    gt_buffer_release(&scopes);
}

/* The original's columns have the units that the file names; ours have base units. */
static const char *column_unit(const struct gt_column *column)
{
    const struct gt_metric *metric = &gt_metrics[column->metric];
    if (column->scope < 0)
        return "seconds";
    if (!column->is_original)
        return gt_unit_name(metric->unit);
    if (metric->unit == GT_BYTES)
        return column->metric == GT_GPU_RAM ? "gpu_ram_unit" : "ram_unit";
    return metric->unit == GT_RATIO ? "percent" : gt_unit_name(metric->unit);
}

static void column_help(const struct gt_column *column, char *text, size_t size)
{
    const char *divided = column->scope == GT_SCOPE_SYSTEM && column->metric != GT_GPU_UTILIZATION
                              ? ", divided by all cores"
                              : ", divided by what is expected to be used; at most 100";
    if (column->scope == GT_COLUMN_REAL)
        snprintf(text, size, "Time of the readings since 1970-01-01 UTC");
    else if (column->scope == GT_COLUMN_MONOTONIC)
        snprintf(text, size, "Time of the readings on the clock that never steps");
    else
        snprintf(text, size, "%s%s", gt_metrics[column->metric].help, column->per_unit ? divided : "");
}

static int add_columns(struct gt_node *root)
{
    struct gt_columns *columns = malloc(sizeof *columns);
    if (!columns)
        return -ENOMEM;
    gt_store_columns(columns, NULL);
    struct gt_table *table = gt_report_table(root, "columns", "Columns of tracking files");
    gt_table_flags(table, GT_KEYED);
    static const char *const titles[][2] = {
        {"name", "Name"}, {"unit", "Unit"}, {"scope", "Scope"}, {"metric", "Metric"}, {"help", "Meaning"},
    };
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        gt_table_column(table, titles[i][0], titles[i][1], GT_CELL_TEXT, NULL);
    for (size_t i = 0; i < columns->count; i++) {
        const struct gt_column *column = &columns->column[i];
        char help[256];
        column_help(column, help, sizeof help);
        gt_table_text(table, column->name);
        gt_table_text(table, column_unit(column));
        gt_table_text(table, column->scope < 0 ? NULL : gt_scope_name((enum gt_scope)column->scope));
        gt_table_text(table, column->scope < 0 ? NULL : gt_metrics[column->metric].name);
        gt_table_text(table, help);
    }
    free(columns);
    return 0;
}

int gt_schema_report(struct gt_report **ret, struct gt_error *error)
{
    struct gt_report *report;
    int status = gt_report_new(&report, "schema", error);
    if (status < 0)
        return status;
    add_metrics(&report->root);
    if (add_columns(&report->root) < 0 || gt_report_failed(report)) {
        gt_report_free(report);
        return gt_error_system(error, ENOMEM, "schema");
    }
    *ret = report;
    return 0;
}

int gt_metric_info(size_t metric, struct gt_metric_info *ret)
{
    if (metric >= GT_METRIC_COUNT)
        return -ENOENT;
    const struct gt_metric *m = &gt_metrics[metric];
    *ret = (struct gt_metric_info){m->name, gt_unit_name(m->unit), gt_kind_name(m->kind), m->scopes, m->help};
    return 0;
}

const char *gt_version(void)
{
    return GT_VERSION;
}
