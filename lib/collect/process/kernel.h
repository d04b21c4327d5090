/* Interfaces that older kernels lack: without them every figure comes about all the same, some later or less exact. */
#ifndef GT_COLLECT_PROCESS_KERNEL_H
#define GT_COLLECT_PROCESS_KERNEL_H

#include <sys/types.h>

#include "collect/collector.h"

enum gt_kernel_interface { GT_KERNEL_PIDFD, GT_KERNEL_SCAN, GT_KERNEL_INTERFACES };

/* Say whether this kernel has it, and what is less exact where not. */
void gt_kernel_survey(enum gt_kernel_interface interface, struct gt_availability *ret);
/* Returns a descriptor that becomes readable at the end of the process, or -1: the kernel has none (before Linux 5.3), forbids it, or
 * the process is gone. */
int gt_pidfd_open(pid_t pid);

#endif
