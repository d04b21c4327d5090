/* Results from elsewhere (an unpickled object, one that a program has put together) as a report again. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyse/blocks/results.h"

static double number_of(const struct gt_json_value *value)
{
    return gt_json_is_number(value) ? gt_json_number_of(value) : NAN;
}

static void add_fact(struct gt_node *parent, const char *key, const char *title, const struct gt_json_value *value)
{
    if (gt_json_is_text(value))
        gt_report_text(parent, key, title, gt_json_text_of(value));
    else if (gt_json_is_integer(value))
        gt_report_integer(parent, key, title, gt_json_integer_of(value), NULL);
    else
        gt_report_number(parent, key, title, number_of(value), NULL);
}

/* {"min": 1, "max": 2}: a row of facts. */
static void add_row(struct gt_node *parent, const char *key, const char *title, struct gt_json_value *values)
{
    struct gt_node *row = gt_report_section(parent, key, title);
    const char *name;
    struct gt_json_value *value;
    gt_node_flags(row, GT_ROW);
    gt_json_foreach_member (values, name, value) {
        add_fact(row, name, name, value);
    }
}

/* {"main_ram": {"min": 1, "max": 2}}: a row for each measurement. */
static void add_frame(struct gt_node *parent, const char *key, const char *title, struct gt_json_value *rows)
{
    struct gt_node *table = gt_report_table(parent, key, title);
    struct gt_json_value *columns, *row, *ignored;
    const char *measurement, *name;
    gt_json_next_member(rows, NULL, &columns); /* every row has the same */
    gt_node_flags(table, GT_KEYED);
    gt_table_column(table, "column", "", GT_CELL_TEXT, NULL);
    gt_json_foreach_member (columns, name, ignored) {
        gt_table_column(table, name, name, GT_CELL_NUMBER, NULL);
    }
    gt_json_foreach_member (rows, measurement, row) {
        gt_table_text(table, measurement);
        gt_json_foreach_member (columns, name, ignored) {
            gt_table_number(table, number_of(gt_json_member(row, name)));
        }
    }
}

static void add_block(struct gt_node *parent, struct gt_json_value *block)
{
    static const char *const facts[] = {"name", "num_timepoints", "num_calls", "num_non_empty_calls"};
    char title[32];
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        gt_results_title(title, sizeof title, facts[i]);
        add_fact(parent, facts[i], title, gt_json_member(block, facts[i]));
    }
    add_row(parent, "compute_time", "Compute Time", gt_json_member(block, "compute_time"));
    add_frame(parent, "resource_usage", "Resource Usage", gt_json_member(block, "resource_usage"));
}

static void add_session(struct gt_node *root, struct gt_json_value *tree)
{
    size_t i;
    struct gt_json_value *block;
    add_frame(root, "overall", "Overall", gt_json_member(tree, "overall"));
    add_row(root, "static_data", "Static Data", gt_json_member(tree, "static_data"));
    struct gt_node *list = gt_report_section(root, "code_block_results", "Code Block Results");
    gt_node_flags(list, GT_LIST);
    gt_json_foreach_item (gt_json_member(tree, "code_block_results"), i, block) {
        add_block(gt_report_section(list, "code_block", ""), block);
    }
}

static void add_rows(struct gt_node *parent, struct gt_json_value *rows, bool are_measurements)
{
    const char *name;
    struct gt_json_value *values;
    gt_json_foreach_member (rows, name, values) {
        char title[128];
        gt_results_title(title, sizeof title, name);
        add_row(parent, name, are_measurements ? title : name, values);
    }
}

static void add_comparison(struct gt_node *root, struct gt_json_value *tree)
{
    const char *measurement;
    struct gt_json_value *blocks;
    add_rows(gt_report_section(root, "overall_resource_usage", "Overall Resource Usage"),
             gt_json_member(tree, "overall_resource_usage"), true);
    struct gt_node *usage = gt_report_section(root, "code_block_resource_usage", "Code Block Resource Usage");
    gt_json_foreach_member (gt_json_member(tree, "code_block_resource_usage"), measurement, blocks) {
        char title[128];
        gt_results_title(title, sizeof title, measurement);
        add_rows(gt_report_section(usage, measurement, title), blocks, false);
    }
    add_rows(gt_report_section(root, "code_block_compute_time", "Code Block Compute Time"),
             gt_json_member(tree, "code_block_compute_time"), false);
}

static const struct {
    const char *type;
    void (*add)(struct gt_node *root, struct gt_json_value *tree);
} types[] = {
    {"sub_tracking_results", add_session},
    {"code_block_results", add_block},
    {"comparison_results", add_comparison},
};

static int build(struct gt_report **ret, const char *type, struct gt_json_value *tree, struct gt_error *error)
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
    struct gt_json_trouble problem;
    struct gt_json_value *tree = gt_json_parse_text(json, GT_JSON_UNIQUE_NAMES, &problem);
    if (!tree)
        return gt_error_set(error, EBADMSG, "the results are not JSON: %s", problem.text);
    int status = build(ret, type, tree, error);
    gt_json_free(tree);
    return status;
}
