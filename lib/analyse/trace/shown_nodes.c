#include "analyse/trace/shown_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool gt_has_node(const struct gt_trace *trace, const char *wanted)
{
    bool found = false;
    for (size_t i = 0; i < trace->file_count; i++)
        found |= gt_is_node(trace, &trace->file[i], wanted);
    for (size_t i = 0; i < trace->series_count; i++)
        found |= strcmp(wanted, gt_trace_text(trace, trace->series[i].node)) == 0;
    return found;
}

void gt_shown_nodes_need_one(struct gt_trace *trace)
{
    if (!trace->shown_node || gt_has_node(trace, trace->shown_node))
        return;
    gt_trace_events_cut(&trace->events, 0);
    trace->samples.count = trace->step_count = 0;
}

bool gt_shows_name(const struct gt_trace *trace, const unsigned char *hidden, const char *name, size_t length)
{
    int64_t string = trace->shown_node ? gt_strings_find(&trace->strings, name, length) : -1;
    return string < 0 || !hidden[string];
}

static int cut(const struct gt_trace *trace, const unsigned char *hidden, struct gt_table *table)
{
    size_t rows = gt_table_rows(table), length;
    bool *is_wanted = malloc((rows + 1) * sizeof *is_wanted);
    for (size_t row = 0; is_wanted && row < rows; row++) {
        const char *node = gt_table_is_missing(table, row, 0) ? NULL : gt_table_cell_bytes(table, row, 0, &length);
        is_wanted[row] = !node || gt_shows_name(trace, hidden, node, length);
    }
    if (is_wanted)
        gt_table_keep_rows(table, is_wanted);
    free(is_wanted);
    return is_wanted ? 0 : -ENOMEM;
}

int gt_shown_nodes_cut(const struct gt_trace *trace, const unsigned char *hidden, struct gt_node *root)
{
    int status = 0;
    for (const struct gt_node *node = root->first; node && status >= 0 && trace->shown_node; node = node->next) {
        struct gt_table *table = gt_node_table(node);
        if (table && table->columns && !table->failed && table->column->kind == GT_CELL_TEXT &&
            strcmp(table->column->key, "node") == 0)
            status = cut(trace, hidden, table);
    }
    return status;
}
