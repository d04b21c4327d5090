#include <errno.h>

#include "report/node.h"

/* What memory was short of counts for the report that a node belongs to. */
static void give(struct gt_node *node, struct gt_report *report)
{
    node->report = report;
    for (struct gt_node *child = node->first; child; child = child->next)
        give(child, report);
}

static void move_children(struct gt_node *from, struct gt_node *to)
{
    if (!from->first)
        return;
    if (to->last)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    from->first = from->last = NULL;
    give(to, to->report);
}

int gt_report_join(struct gt_report **ret, struct gt_report *const reports[], const char *const names[], size_t count,
                   struct gt_error *error)
{
    struct gt_report *joined;
    if (!count)
        return gt_error_set(error, EINVAL, "there is no report to join");
    int status = gt_report_new(&joined, gt_report_type(reports[0]), error);
    if (status < 0)
        return status;
    gt_report_layout(joined, gt_report_layout_of(reports[0]));
    gt_node_flags(gt_report_root(joined), GT_LIST);
    for (size_t i = 0; i < count; i++) {
        struct gt_node *part = gt_report_section(gt_report_root(joined), "report", names[i]);
        gt_node_flags(gt_report_text(part, "recording", "Recording", names[i]), GT_ONLY_DATA);
        if (gt_report_failed(reports[i]))
            gt_node_fail(part);
        if (part)
            move_children(gt_report_root(reports[i]), part);
    }
    if (gt_report_failed(joined)) {
        gt_report_free(joined);
        return gt_error_system(error, ENOMEM, "reports");
    }
    *ret = joined;
    return 0;
}
