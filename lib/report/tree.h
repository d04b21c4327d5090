/* JSON and pickle have the same shape: a tree of objects, lists and values, told piece by piece. */
#ifndef GT_REPORT_TREE_H
#define GT_REPORT_TREE_H

#include "report/report.h"

struct gt_tree_piece {
    enum {
        GT_TREE_OBJECT,
        GT_TREE_OBJECT_END,
        GT_TREE_LIST,
        GT_TREE_LIST_END,
        GT_TREE_KEY,
        GT_TREE_NUMBER,
        GT_TREE_INTEGER,
        GT_TREE_TEXT,
        GT_TREE_BOOL
    } kind;
    union {
        const char *text; /* also of KEY; NULL: missing */
        double number;    /* NaN: missing */
        int64_t integer;
        bool boolean;
    };
};

/* Tells the value of `node`, without its key and without parts that only people see. Returns 0 or -ENOMEM. */
int gt_tree_walk(const struct gt_node *node, void (*take)(void *context, struct gt_tree_piece piece), void *context);

#endif
