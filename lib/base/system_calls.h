/* Numbers of system calls that headers of older kernels and C libraries lack. From 424 on they are the same on every architecture. */
#ifndef GT_BASE_SYSTEM_CALLS_H
#define GT_BASE_SYSTEM_CALLS_H

#include <sys/syscall.h>

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

#endif
