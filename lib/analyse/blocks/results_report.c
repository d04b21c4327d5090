/* Results from elsewhere (an unpickled object, one that a program has put together) as a report again. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyse/blocks/results.h"

static double number_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void add_fact(struct gt_node *parent, const char *key, const char *title, const json_t *value)
{
    if (json_is_string(value))
        gt_report_text(parent, key, title, json_string_value(value));
    else if (json_is_integer(value))
        gt_report_integer(parent, key, title, json_integer_value(value), NULL);
    else
        gt_report_number(parent, key, title, number_of(value), NULL);
}

/* {"min": 1, "max": 2}: a row of facts. */
static void add_row(struct gt_node *parent, const char *key, const char *title, json_t *values)
{
    struct gt_node *row = gt_report_section(parent, key, title);
    const char *name;
    json_t *value;
    gt_node_flags(row, GT_ROW);
    json_object_foreach (values, name, value) {
        add_fact(row, name, name, value);
    }
}

/* {"main_ram": {"min": 1, "max": 2}}: a row for each measurement. */
static void add_frame(struct gt_node *parent, const char *key, const char *title, json_t *rows)
{
    struct gt_node *table = gt_report_table(parent, key, title);
    json_t *columns = json_object_iter_value(json_object_iter(rows)), *row, *ignored;
    const char *measurement, *name;
    gt_node_flags(table, GT_KEYED);
    gt_table_column(table, "column", "", GT_CELL_TEXT, NULL);
    json_object_foreach (columns, name, ignored) {
        gt_table_column(table, name, name, GT_CELL_NUMBER, NULL);
    }
    json_object_foreach (rows, measurement, row) {
        gt_table_text(table, measurement);
        json_object_foreach (columns, name, ignored) {
            gt_table_number(table, number_of(json_object_get(row, name)));
        }
    }
}

static void add_block(struct gt_node *parent, json_t *block)
{
    static const char *const facts[] = {"name", "num_timepoints", "num_calls", "num_non_empty_calls"};
    char title[32];
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        gt_results_title(title, sizeof title, facts[i]);
        add_fact(parent, facts[i], title, json_object_get(block, facts[i]));
    }
    add_row(parent, "compute_time", "Compute Time", json_object_get(block, "compute_time"));
    add_frame(parent, "resource_usage", "Resource Usage", json_object_get(block, "resource_usage"));
}

static void add_session(struct gt_node *root, json_t *tree)
{
    size_t i;
    json_t *block;
    add_frame(root, "overall", "Overall", json_object_get(tree, "overall"));
    add_row(root, "static_data", "Static Data", json_object_get(tree, "static_data"));
    struct gt_node *list = gt_report_section(root, "code_block_results", "Code Block Results");
    gt_node_flags(list, GT_LIST);
    json_array_foreach (json_object_get(tree, "code_block_results"), i, block) {
        add_block(gt_report_section(list, "code_block", ""), block);
    }
}

static void add_rows(struct gt_node *parent, json_t *rows, bool are_measurements)
{
    const char *name;
    json_t *values;
    json_object_foreach (rows, name, values) {
        char title[128];
        gt_results_title(title, sizeof title, name);
        add_row(parent, name, are_measurements ? title : name, values);
    }
}

static void add_comparison(struct gt_node *root, json_t *tree)
{
    const char *measurement;
    json_t *blocks;
    add_rows(gt_report_section(root, "overall_resource_usage", "Overall Resource Usage"),
             json_object_get(tree, "overall_resource_usage"), true);
    struct gt_node *usage = gt_report_section(root, "code_block_resource_usage", "Code Block Resource Usage");
    json_object_foreach (json_object_get(tree, "code_block_resource_usage"), measurement, blocks) {
        char title[128];
        gt_results_title(title, sizeof title, measurement);
        add_rows(gt_report_section(usage, measurement, title), blocks, false);
    }
    add_rows(gt_report_section(root, "code_block_compute_time", "Code Block Compute Time"),
             json_object_get(tree, "code_block_compute_time"), false);
}

static const struct {
    const char *type;
    void (*add)(struct gt_node *root, json_t *tree);
} types[] = {
    {"sub_tracking_results", add_session},
    {"code_block_results", add_block},
    {"comparison_results", add_comparison},
};

static int build(struct gt_report **ret, const char *type, json_t *tree, struct gt_error *error)
{
    struct gt_report *report = NULL;
    size_t i = 0;
    while (i < sizeof types / sizeof *types && strcmp(types[i].type, type) != 0)
        i++;
    if (i == sizeof types / sizeof *types)
        return gt_error_set(error, EINVAL, "there are no results of the type %s", type);
    int status = gt_report_new(&report, type, error);
    if (status < 0)
        return status;
    gt_report_layout(report, GT_LAYOUT_ANALYSIS);
    types[i].add(gt_report_root(report), tree);
    if (gt_report_failed(report)) {
        gt_report_free(report);
        return gt_error_system(error, ENOMEM, "results");
    }
    *ret = report;
    return 0;
}

int gt_results_report(struct gt_report **ret, const char *type, const char *json, struct gt_error *error)
{
    json_error_t problem;
    json_t *tree = json_loads(json, JSON_REJECT_DUPLICATES, &problem);
    if (!tree)
        return gt_error_set(error, EBADMSG, "the results are not JSON: %s", problem.text);
    int status = build(ret, type, tree, error);
    json_decref(tree);
    return status;
}
