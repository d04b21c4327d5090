/* Interfaces that older kernels lack: without them each value is measured all the same, some later. */
#ifndef GT_COLLECT_PROCESS_KERNEL_H
#define GT_COLLECT_PROCESS_KERNEL_H

#include <sys/types.h>

#include "collect/collector.h"

/* Report whether this kernel has pidfd, and what is later without. */
void gt_pidfd_survey(struct gt_availability *ret);
/* Returns a descriptor that becomes readable at the end of the process, or -1: the kernel has none (before Linux 5.3), forbids it, or
 * the process is gone. */
int gt_pidfd_open(pid_t pid);

#endif
