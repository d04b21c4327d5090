#include "analyse/trace/shown.h"

#include <errno.h>
#include <stdio.h>
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

static int cut_node(const struct gt_trace *trace, const unsigned char *hidden, struct gt_table *table)
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
            status = cut_node(trace, hidden, table);
    }
    return status;
}

void gt_top_shown(struct gt_table *table, size_t rows)
{
    if (table)
        table->shown = rows;
}

void gt_top_left_out(struct gt_table *table, size_t rows)
{
    gt_top_shown(table, SIZE_MAX);
    if (table)
        table->left_out += rows;
}

/* Is the node of a row that of the row before it? Missing ones are, of all ranks together. */
static bool is_of_same(const struct gt_table *table, size_t row)
{
    size_t length, before;
    bool is_missing = gt_table_is_missing(table, row, 0);
    if (is_missing || gt_table_is_missing(table, row - 1, 0))
        return is_missing == gt_table_is_missing(table, row - 1, 0);
    const char *node = gt_table_cell_bytes(table, row, 0, &length),
               *last = gt_table_cell_bytes(table, row - 1, 0, &before);
    return length == before && memcmp(node, last, length) == 0;
}

static bool is_of_all(const struct gt_table *table, size_t row)
{
    static const char all[] = GT_TOP_ALL;
    size_t length = 0;
    const char *node = gt_table_is_missing(table, row, 0) ? NULL : gt_table_cell_bytes(table, row, 0, &length);
    return !node || (length == sizeof all - 1 && memcmp(node, all, length) == 0);
}

/* How many rows are shown of each node, and of all nodes together. */
struct share {
    size_t node, all;
};

/* The rows asked for are those of all nodes together, where there are so many; else nodes share them, each has one at least. */
static struct share share_out(const struct gt_table *table, size_t asked)
{
    size_t rows = gt_table_rows(table), nodes = 0, of_all = 0;
    for (size_t row = 0; row < rows; row++) {
        bool all = is_of_all(table, row);
        of_all += all;
        nodes += !all && (row == 0 || !is_of_same(table, row));
    }
    if (nodes + of_all == rows) /* one row each */
        return (struct share){1, of_all};
    size_t left = of_all < asked ? asked - of_all : 0;
    return (struct share){!nodes ? asked : of_all ? left / nodes : (left + nodes - 1) / nodes, asked};
}

/* Rows of tables that begin with the node, by which they are sorted, are counted node by node. */
static int cut(struct gt_table *table, size_t shown, bool is_asked)
{
    size_t rows = gt_table_rows(table), kept = 0, count = 0;
    bool by_node = table->column->kind == GT_CELL_TEXT && strcmp(table->column->key, "node") == 0;
    struct share share = by_node && is_asked ? share_out(table, shown) : (struct share){shown, shown};
    bool *is_wanted = malloc((rows + 1) * sizeof *is_wanted);
    for (size_t row = 0; is_wanted && row < rows; row++) {
        count = row && (!by_node || is_of_same(table, row)) ? count + 1 : 0;
        is_wanted[row] = count < (by_node && is_of_all(table, row) ? share.all : share.node);
        kept += is_wanted[row];
    }
    if (is_wanted && kept < rows) {
        gt_table_keep_rows(table, is_wanted);
        table->left_out += rows - kept;
    }
    free(is_wanted);
    return is_wanted ? 0 : -ENOMEM;
}

static void tell(const struct gt_node *root, struct gt_buffer *out)
{
    for (const struct gt_node *node = root->first; node; node = node->next) {
        const struct gt_table *table = gt_node_table(node);
        if (table && table->left_out)
            gt_buffer_printf(out, "%s%zu of %zu rows of \"%s\"", out->length ? ", " : "", table->left_out,
                             table->left_out + gt_table_rows(table), node->title);
    }
}

int gt_top_cut(struct gt_node *root, int top)
{
    struct gt_buffer text = {0};
    int status = 0;
    for (const struct gt_node *node = root->first; node && status >= 0; node = node->next) {
        struct gt_table *table = gt_node_table(node);
        if (!table || !table->columns || table->failed || table->shown == SIZE_MAX)
            continue;
        size_t shown = top > 0 ? (size_t)top : top < 0 || !table->shown ? SIZE_MAX : table->shown;
        status = cut(table, shown, top > 0);
    }
    tell(root, &text);
    if (text.length) {
        gt_buffer_text(&text, " (--all shows them)");
        gt_report_text(root, "not_shown", "Not shown", text.data);
    }
    status = text.failed ? text.failed : status;
    gt_buffer_release(&text);
    return status;
}
