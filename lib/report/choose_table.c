/* One table of a report, for formats that are one table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

/* The table with this key; where `name` is NULL the one that stands for the report, or the first. `names` gets the keys of all. */
static const struct gt_node *find_table(const struct gt_node *root, const char *name, struct gt_buffer *names)
{
    const struct gt_node *found = NULL;
    gt_buffer_text(names, "");
    for (const struct gt_node *node = root->first; node; node = node->next) {
        if (node->kind != GT_NODE_TABLE)
            continue;
        gt_buffer_printf(names, "%s%s", names->length ? ", " : "", node->key);
        bool is_it = name ? strcmp(name, node->key) == 0 : gt_node_flag_bits(node) & GT_ALONE;
        if (is_it || (!found && !name))
            found = node;
    }
    return found;
}

static bool is_reason(const struct gt_node *node)
{
    return strncmp(node->key, "reason", strlen("reason")) == 0;
}

/* Why a table is empty is told in its place, and why all are with each of them. */
static bool belongs_to(const struct gt_node *root, const struct gt_node *node, const struct gt_node *table)
{
    bool is_of_table = false;
    if (!is_reason(node))
        return false;
    for (const struct gt_node *other = root->first; other; other = other->next)
        is_of_table |= other->kind == GT_NODE_TABLE && strcmp(node->title, other->title) == 0;
    return !is_of_table || strcmp(node->title, table->title) == 0;
}

static void tell_rows(const struct gt_node *node, struct gt_buffer *rest)
{
    size_t rows = gt_table_rows(gt_node_table(node));
    if (rows)
        gt_buffer_printf(rest, "%s%zu %s more with --table %s", rest->length ? "; " : "", rows,
                         rows == 1 ? "row" : "rows", node->key);
}

static void tell(const struct gt_node *node, bool names_tables, bool names_reason, struct gt_buffer *rest)
{
    if (node->kind == GT_NODE_TEXT && gt_node_text(node) && (!is_reason(node) || names_reason))
        gt_buffer_printf(rest, "%s%s: %s", rest->length ? "; " : "", node->title, gt_node_text(node));
    else if (node->kind == GT_NODE_TABLE && names_tables)
        tell_rows(node, rest);
}

static void hide(struct gt_node *node, unsigned from)
{
    if (node->kind == GT_NODE_TABLE)
        gt_table_flags(gt_node_table(node), gt_node_flag_bits(node) | from);
    else
        gt_node_flags(node, gt_node_flag_bits(node) | from);
}

const char *gt_report_doubt(const struct gt_report *report, int index, const char **words)
{
    static const char *const doubts[][2] = {
        {"doubtful", "may be missing"}, {"doubtful_b", "may be missing"}, {"damaged", "damaged"},
        {"damaged_b", "damaged"},       {"twice", "read twice"},          {"twice_b", "read twice"},
    };
    bool is_known = (size_t)index < sizeof doubts / sizeof *doubts;
    const struct gt_node *node = is_known ? gt_node_find(&report->root, doubts[index][0]) : NULL;
    *words = is_known ? doubts[index][1] : NULL;
    return node ? gt_node_text(node) : NULL;
}

const char *gt_report_reason(const struct gt_report *report)
{
    const struct gt_node *node = gt_node_find(&report->root, "reason");
    return node && node->kind == GT_NODE_TEXT ? gt_node_text(node) : NULL;
}

int gt_report_choose_table(struct gt_report *report, const char *name, bool is_alone, char **rest,
                           struct gt_error *error)
{
    const struct gt_node *root = &report->root;
    struct gt_buffer names = {0}, others = {0};
    const struct gt_node *table = find_table(root, name, &names);
    int status = 0;
    *rest = NULL;
    if (!table && name)
        status = gt_error_set(error, EINVAL, "no table '%s': there are %s", name, names.length ? names.data : "none");
    for (const struct gt_node *node = root->first; table && node; node = node->next) {
        bool is_its = belongs_to(root, node, table);
        if (node == table || (is_its && !is_alone))
            continue;
        tell(node, !name, is_its, &others);
        hide((struct gt_node *)(uintptr_t)node, GT_ONLY_PEOPLE | (name ? GT_ONLY_DATA : 0));
    }
    gt_buffer_release(&names);
    if (others.failed)
        status = gt_error_system(error, -others.failed, "choosing a table");
    if (status < 0 || !others.length)
        gt_buffer_release(&others);
    else
        *rest = others.data;
    return status;
}
