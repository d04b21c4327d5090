#include "analyse/trace/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Rows of tables that begin with the node, by which they are sorted, are counted node by node. */
static int cut(struct gt_table *table, size_t shown)
{
    size_t rows = gt_table_rows(table), kept = 0, count = 0;
    bool by_node = table->column->kind == GT_CELL_TEXT && strcmp(table->column->key, "node") == 0;
    bool *is_wanted = malloc((rows + 1) * sizeof *is_wanted);
    for (size_t row = 0; is_wanted && row < rows; row++) {
        count = row && (!by_node || is_of_same(table, row)) ? count + 1 : 0;
        is_wanted[row] = count < shown;
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
    for (const struct gt_node *node = gt_node_child(root); node; node = gt_node_next(node)) {
        const struct gt_table *table = gt_node_table(node);
        if (table && table->left_out)
            gt_buffer_printf(out, "%s%zu of %zu rows of \"%s\"", out->length ? ", " : "", table->left_out,
                             table->left_out + gt_table_rows(table), gt_node_title(node));
    }
}

int gt_top_cut(struct gt_node *root, int top)
{
    struct gt_buffer text = {0};
    int status = 0;
    for (const struct gt_node *node = gt_node_child(root); node && status >= 0; node = gt_node_next(node)) {
        struct gt_table *table = gt_node_table(node);
        if (!table || !table->columns || table->failed || table->shown == SIZE_MAX)
            continue;
        size_t shown = top > 0 ? (size_t)top : top < 0 || !table->shown ? SIZE_MAX : table->shown;
        status = cut(table, shown);
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
