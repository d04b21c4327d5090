/* The running jobs of this user that are recorded: a symbolic link for each in $XDG_RUNTIME_DIR/gpu-tracker, or in
 * /dev/shm/gpu-tracker-UID (where that cannot be, in /tmp), named by the pid of the tracker, to the recording. */
#ifndef CLI_SERVE_JOBS_H
#define CLI_SERVE_JOBS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Announce the recording of this process, and take that back. Unless quiet, say when the folder is somebody else's;
 * other failures are not reported, because only viewers need it. */
void jobs_announce(const char *recording, bool is_quiet);
void jobs_withdraw(void);

struct job {
    pid_t tracker;
    char recording[PATH_MAX];
};
/* Say when the folder cannot be used because it is somebody else's. */
void jobs_check(void);
/* Those that run, up to `most`; returns how many. Links of trackers that are gone are removed. */
size_t jobs_list(struct job *ret, size_t most);

#endif
