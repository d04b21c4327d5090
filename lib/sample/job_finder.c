#include "sample/job_finder.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static const int64_t LOST_PAUSE_NS = 2 * GT_SECOND;

enum { THOROUGH_PERIOD_MS = 950, LAST_EVENTS_MS = 10 };

int gt_job_finder_open(struct gt_job_finder *follow, const struct gt_root *root, struct gt_error *error)
{
    *follow = (struct gt_job_finder){0};
    unsigned both = 1u << GT_EVENTS_FORKS | 1u << GT_EVENTS_RECORDS;
    int status = gt_events_open(&follow->events, root, both, follow->availability, error);
    if (status >= 0 && follow->events && follow->availability[GT_EVENTS_FORKS].state != GT_READY) {
        gt_events_close(follow->events); /* records of unknown processes are of no use */
        follow->events = NULL;
    }
    if (status >= 0 && follow->events)
        status = gt_membership_new(&follow->membership, root, &follow->peak, error);
    if (status >= 0 && follow->events && gt_events_fd(follow->events, GT_EVENTS_RECORDS) >= 0)
        gt_membership_await_records(follow->membership);
    if (status < 0)
        gt_job_finder_close(follow);
    return status;
}

void gt_job_finder_close(struct gt_job_finder *follow)
{
    gt_events_close(follow->events);
    gt_membership_free(follow->membership);
    gt_slurm_close(follow->slurm);
    gt_job_peak_release(&follow->peak);
    free(follow->pid);
    *follow = (struct gt_job_finder){0};
}

int gt_job_finder_slurm(struct gt_job_finder *follow, const struct gt_root *root, const char *job, const char *mark,
                        struct gt_error *error)
{
    if (!job || !mark)
        return 0;
    int status = gt_slurm_open(&follow->slurm, root, job, getuid(), mark, error);
    return status == -ENOENT ? 0 : status;
}

static int make_room(struct gt_job_finder *follow, size_t count)
{
    if (count <= follow->capacity)
        return 0;
    pid_t *pid = realloc(follow->pid, count * 2 * sizeof *pid);
    if (!pid)
        return -ENOMEM;
    follow->pid = pid;
    follow->capacity = count * 2;
    return 0;
}

static void note_main_peak(const struct gt_job_finder *follow, const struct gt_tree *tree, struct gt_account *account)
{
    const struct gt_member *main = gt_membership_find(follow->membership, tree->main);
    if (main && (double)main->record.peak_rss > account->main_mark_before) /* else it may be of the time before */
        account->main_peak = fmax(account->main_peak, (double)main->record.peak_rss);
}

static int seed(struct gt_job_finder *follow, const struct gt_tree *tree, struct gt_error *error)
{
    int status = make_room(follow, tree->count);
    if (status < 0)
        return gt_error_system(error, -status, "cannot follow the processes");
    for (size_t i = 0; i < tree->count; i++)
        follow->pid[i] = tree->process[i]->pid;
    return gt_membership_seed(follow->membership, follow->pid, tree->count, error);
}

static int add_members(struct gt_job_finder *follow, struct gt_tree *tree)
{
    uint64_t started = gt_membership_counts(follow->membership).started;
    if (started == follow->added)
        return 0;
    follow->added = started;
    size_t count = gt_membership_pids(follow->membership, NULL, 0);
    int status = make_room(follow, count);
    if (status < 0)
        return status;
    count = gt_membership_pids(follow->membership, follow->pid, count);
    for (size_t i = 0; i < count && status >= 0; i++) {
        status = gt_tree_add(tree, follow->pid[i]);
        if (status == 0 && gt_tree_was_left_out(tree, follow->pid[i])) /* it was found before its fork was heard of */
            gt_membership_disown(follow->membership, follow->pid[i], false);
    }
    return status;
}

static void note_left_out(const struct gt_job_finder *follow, struct gt_account *account)
{
    struct gt_membership_counts counts = gt_membership_counts(follow->membership);
    account->left_out = (double)gt_membership_disowned_cpu(follow->membership) / 1e9;
    account->is_lone = counts.started == 1 && counts.is_exact;
}

/* 1: events were lost, or this is the first look, so the tree must be searched. */
static int look_at_events(struct gt_job_finder *follow, struct gt_tree *tree, struct gt_account *account,
                          struct gt_error *error)
{
    int status = gt_membership_update(follow->membership, follow->events, error);
    if (status < 0)
        return status;
    note_main_peak(follow, tree, account);
    note_left_out(follow, account);
    int added = add_members(follow, tree);
    return added < 0 ? gt_error_system(error, -added, "cannot follow the processes") : status;
}

static bool knows_all(const struct gt_job_finder *follow, const struct gt_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        if (!tree->process[i]->is_zombie && !gt_membership_find(follow->membership, tree->process[i]->pid))
            return false;
    return true;
}

static bool knows_task(void *context, pid_t pid)
{
    return gt_tree_find(context, pid);
}

static int take_task(void *context, pid_t pid)
{
    return gt_tree_add(context, pid);
}

/* Where the kernel tells of forks, each is a member by now; else processes begin when they are found. */
static void give_handles(struct gt_job_finder *follow, struct gt_tree *tree)
{
    tree->peak = follow->events ? NULL : &follow->peak;
    for (size_t i = 0; i < tree->count; i++) {
        struct gt_process *process = tree->process[i];
        if (follow->events) {
            const struct gt_member *member = gt_membership_find(follow->membership, process->pid);
            process->peak = member && !member->has_ended ? member->peak : GT_PEAK_NONE;
        } else if (process->peak == GT_PEAK_NONE) {
            const struct gt_process *parent = gt_tree_find(tree, process->parent);
            gt_job_peak_begin(&follow->peak, parent ? parent->peak : GT_PEAK_NONE, &process->peak);
        }
    }
    uint64_t heard = follow->counts.started;
    follow->born = heard > tree->started ? heard : tree->started;
}

int gt_job_finder_look(struct gt_job_finder *follow, struct gt_tree *tree, struct gt_account *account, int64_t now_ns,
                       struct gt_error *error)
{
    bool first = !follow->thorough_ns;
    bool thorough = first || follow->has_lost ||
                    now_ns - follow->thorough_ns >= THOROUGH_PERIOD_MS * (GT_SECOND / 1000);
    int lost = 0, tasks = 0;
    const struct gt_slurm_taker taker = {knows_task, take_task, tree};
    if (follow->slurm && (tasks = gt_slurm_tasks(follow->slurm, now_ns, &taker)) < 0)
        return gt_error_system(error, -tasks, "cannot follow the processes");
    if (follow->events && !first && (lost = look_at_events(follow, tree, account, error)) < 0)
        return lost;
    if (thorough)
        follow->thorough_ns = now_ns;
    if (lost || follow->has_lost)
        follow->lost_ns = now_ns;
    follow->has_lost = false;
    tree->hears_forks = follow->events && (!follow->lost_ns || now_ns - follow->lost_ns > LOST_PAUSE_NS);
    if (thorough || lost || tasks || !follow->events) {
        int status = gt_tree_discover(tree, thorough || lost || tasks, now_ns);
        if (status < 0)
            return gt_error_system(error, -status, "cannot follow the processes");
    }
    if (follow->events && (first || lost || tasks || (thorough && !knows_all(follow, tree)))) {
        int status = seed(follow, tree, error);
        if (status < 0)
            return status;
    }
    if (follow->events)
        follow->counts = gt_membership_counts(follow->membership);
    give_handles(follow, tree);
    return 0;
}

int gt_job_finder_drain(struct gt_job_finder *follow, const struct gt_tree *tree, struct gt_account *account,
                        struct gt_error *error)
{
    if (!follow->events || !follow->thorough_ns)
        return 0;
    int status = gt_membership_update(follow->membership, follow->events, error);
    follow->has_lost |= status == 1; /* search the tree at the next look */
    follow->born = gt_membership_counts(follow->membership).started;
    if (status >= 0)
        note_main_peak(follow, tree, account);
    return status < 0 ? status : 0;
}

int gt_job_finder_fd(const struct gt_job_finder *follow)
{
    return follow->events ? gt_events_fd(follow->events, GT_EVENTS_FORKS) : -1;
}

struct gt_process *gt_job_finder_origin(const struct gt_job_finder *follow, const struct gt_tree *tree,
                                        const struct gt_process *process)
{
    const struct gt_member *member = follow->events ? gt_membership_find(follow->membership, process->pid) : NULL;
    pid_t parent = member && member->parent ? member->parent : process->parent;
    struct gt_process *origin = gt_tree_find(tree, parent);
    return origin ? origin : gt_tree_find(tree, tree->main);
}

void gt_job_finder_leave_out(struct gt_job_finder *follow, struct gt_tree *tree, struct gt_process *process)
{
    if (follow->events) {
        gt_membership_disown(follow->membership, process->pid, gt_tree_find(tree, process->parent));
        follow->counts = gt_membership_counts(follow->membership);
    }
    gt_tree_leave_out(tree, process);
}

static bool has_all_records(const struct gt_job_finder *follow)
{
    const struct gt_membership_counts *counts = &follow->counts;
    return gt_events_fd(follow->events, GT_EVENTS_RECORDS) < 0 || counts->lost ||
           counts->records >= counts->tasks_ended;
}

static void wait_for_last(struct gt_job_finder *follow, struct gt_tree *tree, struct gt_account *account)
{
    for (int ms = 0; ms < LAST_EVENTS_MS; ms++) {
        if (gt_membership_update(follow->membership, follow->events, NULL) < 0)
            return;
        note_main_peak(follow, tree, account);
        follow->counts = gt_membership_counts(follow->membership);
        note_left_out(follow, account);
        if (follow->counts.processes <= tree->count && has_all_records(follow))
            return;
        struct pollfd waiting[] = {{.fd = gt_events_fd(follow->events, GT_EVENTS_FORKS), .events = POLLIN},
                                   {.fd = gt_events_fd(follow->events, GT_EVENTS_RECORDS), .events = POLLIN}};
        poll(waiting, 2, 1);
    }
}

void gt_job_finder_last(struct gt_job_finder *follow, struct gt_tree *tree, struct gt_account *account)
{
    if (!follow->events || !follow->thorough_ns)
        return;
    wait_for_last(follow, tree, account);
    gt_membership_settle(follow->membership);
    gt_membership_settle(follow->membership);
}
