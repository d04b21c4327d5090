/* In another PID namespace than that of /proc, system calls take other numbers of processes than /proc shows. */
#ifndef GT_COLLECT_PROCESS_PID_NAMESPACE_H
#define GT_COLLECT_PROCESS_PID_NAMESPACE_H

#include <stdbool.h>

#include "base/root.h"

struct gt_pid_namespace_fault {
    int code; /* ENOTSUP, or ENOENT without a /proc */
    const char *reason, *remedy;
};

/* Returns true in the first PID namespace, whose numbers all processes of the machine have. */
bool gt_pid_namespace_is_initial(const struct gt_root *root);
/* Returns NULL on a stored machine, and where /proc is of this process's own PID namespace, and its children's. */
const struct gt_pid_namespace_fault *gt_pid_namespace_fault(const struct gt_root *root);
/* Returns 0, or the negative code with the reason and the remedy as an error. */
int gt_pid_namespace_check(const struct gt_root *root, struct gt_error *error);

#endif
