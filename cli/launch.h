/* Starting the command: found in PATH before anything else happens, forked, held until the tracker is armed, executed.
 * It gets the signal mask, dispositions, descriptors, terminal and process group that gpu-tracker was started with. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <sys/types.h>

struct gt_group;
struct signals;

struct launch {
    pid_t pid;
    int gate;   /* writing here lets the child execute the command */
    int result; /* what execvp said; nothing when it succeeded */
};

/* Find the file of `program` in PATH, into `path` of PATH_MAX bytes. 0, or EXIT_NOT_FOUND or EXIT_NOT_EXECUTABLE after saying why it cannot
 * be executed. */
int launch_check(const char *program, char *path);
/* Fork the child, which enters `group` (NULL: none) and waits. 0 or negative errno. */
int launch_fork(struct launch *launch, char *const *words, const struct signals *signals, const struct gt_group *group);
/* Let it execute the command: 0, or the errno of execvp (the child has ended then). */
int launch_release(struct launch *launch);
/* End a child that still waits. */
void launch_cancel(struct launch *launch);

#endif
