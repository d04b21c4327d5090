/* Tables of a report as data sets. */
#include <errno.h>
#include <math.h>

#include "base/dataset.h"
#include "report/report.h"
#include "api/datasets.h"

static const enum gt_dataset_kind kinds[] = {
    [GT_CELL_NUMBER] = GT_DATASET_NUMBER,
    [GT_CELL_INTEGER] = GT_DATASET_INTEGER,
    [GT_CELL_TEXT] = GT_DATASET_CHOICE,
};

/* Missing texts have no key; others are told apart by their row. */
static void put_cell(struct gt_dataset *data, const struct gt_node *table, size_t row, size_t column)
{
    bool missing = gt_table_cell_missing(table, row, column);
    switch (gt_table_column_kind(table, column)) {
    case GT_CELL_NUMBER: gt_dataset_number(data, missing ? NAN : gt_table_cell_number(table, row, column)); break;
    case GT_CELL_INTEGER: gt_dataset_integer(data, gt_table_cell_integer(table, row, column)); break;
    case GT_CELL_TEXT:
        gt_dataset_choice(data, missing ? UINT32_MAX : (uint32_t)row,
                          missing ? "" : gt_table_cell_text(table, row, column));
        break;
    }
}

int gt_report_table_data(const struct gt_report *report, size_t index, const char **key, struct gt_dataset **ret,
                         struct gt_error *error)
{
    const struct gt_node *node = gt_node_child(gt_report_top(report));
    for (; node; node = gt_node_next(node))
        if (gt_node_kind(node) == GT_NODE_TABLE && !index--)
            break;
    if (!node)
        return -ENOENT;
    struct gt_dataset *data = gt_dataset_new();
    for (size_t column = 0; column < gt_table_columns(node); column++)
        gt_dataset_add_column(data, gt_table_column_key(node, column), kinds[gt_table_column_kind(node, column)]);
    for (size_t row = 0; row < gt_table_rows(node); row++)
        for (size_t column = 0; column < gt_table_columns(node); column++)
            put_cell(data, node, row, column);
    *key = gt_node_key(node);
    return gt_dataset_finish(ret, data, *key, error);
}
