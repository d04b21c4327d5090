/* JSON and pickle have the same shape: a tree of objects, lists and values, told to a sink. */
#ifndef GT_REPORT_TREE_H
#define GT_REPORT_TREE_H

#include "report/report.h"

struct gt_tree_sink {
    void (*object_begin)(void *context);
    void (*object_end)(void *context);
    void (*list_begin)(void *context);
    void (*list_end)(void *context);
    void (*key)(void *context, const char *key);
    void (*number)(void *context, double value); /* NaN: missing */
    void (*integer)(void *context, int64_t value);
    void (*text)(void *context, const char *value); /* NULL: missing */
    void (*boolean)(void *context, bool value);
};

/* Tells the value of `node`, without its key and without parts that only people see. Returns 0 or -ENOMEM. */
int gt_tree_walk(const struct gt_node *node, const struct gt_tree_sink *sink, void *context);
#endif
