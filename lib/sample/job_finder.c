#include "sample/job_finder.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "collect/process/process.h"

static const int64_t LOST_PAUSE_NS = 2 * GT_SECOND;

enum { THOROUGH_PERIOD_MS = 950, LAST_EVENTS_MS = 10 };

int gt_job_finder_open(struct gt_job_finder *finder, const struct gt_root *root, struct gt_error *error)
{
    *finder = (struct gt_job_finder){0};
    unsigned both = 1u << GT_EVENTS_FORKS | 1u << GT_EVENTS_RECORDS;
    int status = gt_events_open(&finder->events, root, both, finder->availability, error);
    if (status >= 0 && finder->events && finder->availability[GT_EVENTS_FORKS].state != GT_READY) {
        gt_events_close(finder->events); /* records of unknown processes are of no use */
        finder->events = NULL;
    }
    if (status >= 0 && finder->events)
        status = gt_membership_new(&finder->membership, root, &finder->peak, error);
    if (status >= 0 && finder->events)
        gt_membership_mark(finder->membership, finder->events);
    if (status >= 0 && finder->events && gt_events_fd(finder->events, GT_EVENTS_RECORDS) >= 0)
        gt_membership_await_records(finder->membership);
    if (status < 0)
        gt_job_finder_close(finder);
    return status;
}

void gt_job_finder_close(struct gt_job_finder *finder)
{
    gt_events_close(finder->events);
    gt_membership_free(finder->membership);
    gt_slurm_close(finder->slurm);
    gt_job_peak_release(&finder->peak);
    free(finder->pid);
    *finder = (struct gt_job_finder){0};
}

int gt_job_finder_slurm(struct gt_job_finder *finder, const struct gt_root *root, const char *job, const char *mark,
                        struct gt_error *error)
{
    if (!job || !mark)
        return 0;
    int status = gt_slurm_open(&finder->slurm, root, job, getuid(), mark, error);
    return status == -ENOENT ? 0 : status;
}

static int make_room(struct gt_job_finder *finder, size_t count)
{
    return GT_GROW_TO(finder->pid, finder->capacity, count);
}

static void note_main_peak(const struct gt_job_finder *finder, const struct gt_tree *tree, struct gt_account *account)
{
    const struct gt_member *main = gt_membership_find(finder->membership, tree->main);
    if (main && (double)main->record.peak_rss > account->main_hwm_before) /* else it may be of the time before */
        account->main_peak = fmax(account->main_peak, (double)main->record.peak_rss);
}

static int seed(struct gt_job_finder *finder, const struct gt_tree *tree, struct gt_error *error)
{
    struct gt_seed *seeds = malloc((tree->count + 1) * sizeof *seeds);
    if (!seeds)
        return gt_error_system(error, ENOMEM, "cannot follow the processes");
    for (size_t i = 0; i < tree->count; i++) {
        const struct gt_process *process = tree->process[i];
        bool is_single = !process->is_zombie && !process->leader_exited && process->value[GT_THREADS] == 1 &&
                         gt_process_has_rested(process);
        seeds[i] = (struct gt_seed){process->pid, is_single};
    }
    int status = gt_membership_seed(finder->membership, seeds, tree->count, error);
    free(seeds);
    finder->may_narrow = status >= 0;
    return status;
}

/* 1: events were lost. */
static int take_events(struct gt_job_finder *finder, struct gt_error *error)
{
    int status = gt_membership_update(finder->membership, finder->events, error);
    if (status >= 0 && finder->may_narrow)
        gt_events_narrow(finder->events, true);
    finder->may_narrow = false;
    return status;
}

static int add_members(struct gt_job_finder *finder, struct gt_tree *tree)
{
    uint64_t started = gt_membership_counts(finder->membership).started;
    if (started == finder->added)
        return 0;
    finder->added = started;
    size_t count = gt_membership_pids(finder->membership, NULL, 0);
    int status = make_room(finder, count);
    if (status < 0)
        return status;
    count = gt_membership_pids(finder->membership, finder->pid, count);
    for (size_t i = 0; i < count && status >= 0; i++) {
        status = gt_tree_add(tree, finder->pid[i]);
        if (status == 0 && gt_tree_was_left_out(tree, finder->pid[i])) /* it was found before its fork was heard of */
            gt_membership_exclude(finder->membership, finder->pid[i], false);
    }
    return status;
}

static void note_left_out(const struct gt_job_finder *finder, struct gt_account *account)
{
    struct gt_membership_counts counts = gt_membership_counts(finder->membership);
    account->left_out = (double)gt_membership_excluded_cpu(finder->membership) / 1e9;
    account->is_lone = counts.started == 1 && counts.is_exact;
}

/* 1: events were lost, or this is the first look, so the tree must be searched. */
static int look_at_events(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_account *account,
                          struct gt_error *error)
{
    if (!gt_events_may_wait(finder->events) && !finder->may_narrow) {
        gt_membership_settle(finder->membership);
        return 0;
    }
    int status = take_events(finder, error);
    if (status < 0)
        return status;
    note_main_peak(finder, tree, account);
    note_left_out(finder, account);
    int added = add_members(finder, tree);
    return added < 0 ? gt_error_system(error, -added, "cannot follow the processes") : status;
}

static bool knows_all(const struct gt_job_finder *finder, const struct gt_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++)
        if (!tree->process[i]->is_zombie && !gt_membership_find(finder->membership, tree->process[i]->pid))
            return false;
    return true;
}

/* After a search. */
static int take_found(struct gt_job_finder *finder, const struct gt_tree *tree, bool is_needed, struct gt_error *error)
{
    if (is_needed || !knows_all(finder, tree))
        return seed(finder, tree, error);
    gt_events_narrow(finder->events, true);
    return 0;
}

static bool knows_task(void *context, pid_t pid)
{
    return gt_tree_find(context, pid);
}

static int take_task(void *context, pid_t pid)
{
    return gt_tree_add(context, pid);
}

void gt_job_finder_account(const struct gt_job_finder *finder, const struct gt_tree *tree, struct gt_account *account)
{
    if (finder->events)
        gt_account_hear(account, tree, gt_membership_ended(finder->membership));
}

/* Where the kernel tells of forks, each is a member by now; else processes begin when they are found. */
static void give_handles(struct gt_job_finder *finder, struct gt_tree *tree)
{
    tree->peak = finder->events ? NULL : &finder->peak;
    for (size_t i = 0; i < tree->count; i++) {
        struct gt_process *process = tree->process[i];
        if (finder->events) {
            const struct gt_member *member = gt_membership_find(finder->membership, process->pid);
            process->peak = member && !member->has_ended ? member->peak : GT_PEAK_NONE;
        } else if (process->peak == GT_PEAK_NONE) {
            gt_job_peak_begin(&finder->peak, &process->peak);
        }
    }
    uint64_t heard = finder->counts.started;
    finder->born = heard > tree->started ? heard : tree->started;
}

int gt_job_finder_look(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_account *account, int64_t now_ns,
                       struct gt_error *error)
{
    bool first = !finder->thorough_ns;
    bool thorough = first || finder->has_lost ||
                    now_ns - finder->thorough_ns >= THOROUGH_PERIOD_MS * (GT_SECOND / 1000);
    int lost = 0, tasks = 0;
    const struct gt_slurm_taker taker = {knows_task, take_task, tree};
    if (finder->slurm && (tasks = gt_slurm_tasks(finder->slurm, now_ns, &taker)) < 0)
        return gt_error_system(error, -tasks, "cannot follow the processes");
    if (finder->events && first && tree->tracker)
        gt_membership_adopt(finder->membership, tree->tracker->pid);
    if (finder->events && !first && (lost = look_at_events(finder, tree, account, error)) < 0)
        return lost;
    if (thorough)
        finder->thorough_ns = now_ns;
    if (lost || finder->has_lost)
        finder->lost_ns = now_ns;
    finder->has_lost = false;
    tree->hears_forks = finder->events && (!finder->lost_ns || now_ns - finder->lost_ns > LOST_PAUSE_NS);
    bool searches = thorough || lost || tasks || !finder->events;
    if (searches && finder->events)
        gt_events_narrow(finder->events, false); /* what somebody forks who is found now has to be heard of */
    int status = searches ? gt_tree_discover(tree, thorough || lost || tasks, now_ns) : 0;
    if (status < 0)
        return gt_error_system(error, -status, "cannot follow the processes");
    if (searches && finder->events)
        status = take_found(finder, tree, first || lost || tasks, error);
    if (status < 0)
        return status;
    if (finder->events)
        finder->counts = gt_membership_counts(finder->membership);
    give_handles(finder, tree);
    return 0;
}

int gt_job_finder_drain(struct gt_job_finder *finder, const struct gt_tree *tree, struct gt_account *account,
                        struct gt_error *error)
{
    if (!finder->events || !finder->thorough_ns)
        return 0;
    int status = take_events(finder, error);
    finder->has_lost |= status == 1; /* search the tree at the next look */
    finder->born = gt_membership_counts(finder->membership).started;
    if (status >= 0)
        note_main_peak(finder, tree, account);
    return status < 0 ? status : 0;
}

int gt_job_finder_fd(const struct gt_job_finder *finder)
{
    return finder->events ? gt_events_fd(finder->events, GT_EVENTS_FORKS) : -1;
}

struct gt_process *gt_job_finder_origin(const struct gt_job_finder *finder, const struct gt_tree *tree,
                                        const struct gt_process *process)
{
    const struct gt_member *member = finder->events ? gt_membership_find(finder->membership, process->pid) : NULL;
    pid_t parent = member && member->parent ? member->parent : process->parent;
    struct gt_process *origin = gt_tree_find(tree, parent);
    return origin ? origin : gt_tree_find(tree, tree->main);
}

void gt_job_finder_leave_out(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_process *process)
{
    if (finder->events) {
        gt_membership_exclude(finder->membership, process->pid, gt_tree_find(tree, process->parent));
        finder->counts = gt_membership_counts(finder->membership);
    }
    gt_tree_leave_out(tree, process);
}

bool gt_job_finder_hears_all(const struct gt_job_finder *finder)
{
    bool has_records = finder->events && gt_events_fd(finder->events, GT_EVENTS_RECORDS) >= 0;
    bool is_single = finder->counts.is_exact && finder->counts.started == 1;
    return is_single || (has_records && !finder->counts.lost);
}

static bool has_all_records(const struct gt_job_finder *finder)
{
    const struct gt_membership_counts *counts = &finder->counts;
    return gt_events_fd(finder->events, GT_EVENTS_RECORDS) < 0 || counts->lost ||
           counts->records >= counts->tasks_ended;
}

static void wait_for_last(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_account *account)
{
    for (int ms = 0; ms < LAST_EVENTS_MS; ms++) {
        if (gt_membership_update(finder->membership, finder->events, NULL) < 0)
            return;
        note_main_peak(finder, tree, account);
        finder->counts = gt_membership_counts(finder->membership);
        note_left_out(finder, account);
        if (finder->counts.processes <= tree->count && has_all_records(finder))
            return;
        struct pollfd waiting[] = {{.fd = gt_events_fd(finder->events, GT_EVENTS_FORKS), .events = POLLIN},
                                   {.fd = gt_events_fd(finder->events, GT_EVENTS_RECORDS), .events = POLLIN}};
        poll(waiting, 2, 1);
    }
}

void gt_job_finder_last(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_account *account)
{
    if (!finder->events || !finder->thorough_ns)
        return;
    wait_for_last(finder, tree, account);
    gt_membership_settle(finder->membership);
    gt_membership_settle(finder->membership);
    give_handles(finder, tree);
    gt_job_finder_account(finder, tree, account);
}
