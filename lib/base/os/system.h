/* What processes of ours ask of the kernel: system calls without a name yet, memory that a child does not inherit, and their own names. */
#ifndef GT_BASE_OS_SYSTEM_H
#define GT_BASE_OS_SYSTEM_H

#include <stddef.h>
#include <sys/syscall.h>

/* Numbers of system calls that headers of older kernels and C libraries lack. From 424 on they are the same on every architecture. */

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

/* Return memory that a child made by fork finds all zero, and that is never freed, or NULL. `forget` is called in the child where the
 * kernel does not clear it (before 4.14), and has to do so. */
void *gt_fork_memory(size_t size, void (*forget)(void));

/* The kernel knows our processes by these names. A sampler of a tracker in another process (`gpu-tracker agent`, see
 * cli/agent.h), and the process that starts it, give themselves a name of their own: they are no part of any job. */

#define GT_PROGRAM_NAME "gpu-tracker"
#define GT_SAMPLER_WORD "agent" /* on their command line, before they have the name */
#define GT_SAMPLER_NAME "gt-sampler"

#endif
