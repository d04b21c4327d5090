/* The running jobs of this user that are recorded: a symbolic link for each in $XDG_RUNTIME_DIR/gpu-tracker, or in
 * /dev/shm/gpu-tracker-UID (where that cannot be, in /tmp), named by the pid of the tracker, to the recording. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Announce the recording of this process, and take that back. What hinders it is not told: it is for viewers only. */
void jobs_announce(const char *recording);
void jobs_withdraw(void);

struct job {
    pid_t tracker;
    char recording[PATH_MAX];
};
/* Those that run, up to `most`; returns how many. Links of trackers that are gone are removed. */
size_t jobs_list(struct job *ret, size_t most);

#endif
