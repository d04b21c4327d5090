/* Whether a process belongs to the job, asked of the kernel: samples may be far apart. */
#include <unistd.h>

#include "api/tracker.h"
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
static bool descends(const struct gt_tracker *tracker, pid_t pid)
{
    for (int i = 0; i < LONGEST_LINE_OF_ANCESTORS && pid > 0; i++) {
        if (gt_tree_find(&tracker->sampler.tree, pid))
            return true;
        pid = parent_of(&tracker->sampler.root, pid);
        if (tracker->options.launched && pid == getpid())
            return true;
    }
    return false;
}

int gt_tracker_contains(const struct gt_tracker *tracker, pid_t pid)
{
    struct gt_tracker *locked = (struct gt_tracker *)tracker;
    pthread_mutex_lock(&locked->mutex);
    bool found = descends(tracker, pid);
    pthread_mutex_unlock(&locked->mutex);
    return found;
}
