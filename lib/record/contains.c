/* The kernel is asked whether a process belongs to the job: samples may be far apart. */
#include <unistd.h>

#include "record/recorder.h"
#include "collect/process/process.h"

enum { LONGEST_LINE_OF_ANCESTORS = 1024 };

static pid_t parent_of(const struct gt_root *root, pid_t pid)
{
    struct gt_process_stat stat;
    if (gt_process_stat_of(root, pid, &stat) < 0)
        return 0;
    return stat.parent;
}

/* As a subreaper the tracker's process is the ancestor of everything it has launched, and of nothing else. */
bool gt_recorder_contains(const struct gt_recorder *recorder, pid_t pid)
{
    for (int i = 0; i < LONGEST_LINE_OF_ANCESTORS && pid > 0; i++) {
        if (gt_tree_find(&recorder->sampler.tree, pid))
            return true;
        pid = parent_of(&recorder->sampler.root, pid);
        if (recorder->options.tracker->launched && pid == getpid())
            return true;
    }
    return false;
}
