#include "sample/job_finder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/grow.h"
#include "base/map.h"
#include "collect/process/process.h"
#include "sample/process_history.h"

/* A helper is kept until its child has been looked at. */
enum { SETTLES_OF_HELPERS = 50, SETTLES_LATE = 10 };

struct gt_member_entry {
    struct gt_member member; /* pid 0: a free entry */
    bool has_executed;       /* a program, since it was forked */
    bool is_ours; /* a program of our name: its child may turn out to be a sampler, and it the helper that forked it */
    bool leader_ended;
    bool end_was_heard;                                       /* all its threads' EXIT came */
    bool number_is_reused;                                    /* by a process that is no member, since this one ended */
    bool is_seeded;                                           /* named by the seed that is under way */
    int64_t seeded_ns;                                        /* when a seed saw it alive; 0: never */
    struct gt_membership_counts counts_before, counts_at_end; /* when it began and ended */
    size_t threads_most;
    uint32_t settles; /* how many settles it has outlived its end */
    uint32_t next_free;
};

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

/* Where `pid` is registered, living or lately ended; NULL for strangers. */
static struct gt_member_entry *find(const struct gt_membership *membership, pid_t pid)
{
    uint32_t index = gt_map_get(&membership->processes, pid);
    return index == GT_MAP_ABSENT ? NULL : &membership->entry[index];
}

const struct gt_member *gt_membership_find(const struct gt_membership *membership, pid_t pid)
{
    const struct gt_member_entry *entry = find(membership, pid);
    return entry ? &entry->member : NULL;
}

void gt_membership_release(struct gt_membership *membership)
{
    gt_map_release(&membership->processes);
    gt_map_release(&membership->threads);
    gt_map_release(&membership->excluded);
    free(membership->entry);
    *membership = (struct gt_membership){0};
}

static void tell_peak(struct gt_membership *membership, const struct gt_member_entry *entry)
{
    bool is_forked = entry->member.seen_from_fork && !entry->has_executed;
    if (entry->member.peak != GT_PEAK_NONE && entry->member.record.peak_rss)
        gt_job_peak_tell(membership->peak, entry->member.peak, (double)entry->member.record.peak_rss, is_forked);
}

static void forget(struct gt_membership *membership, struct gt_member_entry *entry)
{
    uint32_t index = (uint32_t)(entry - membership->entry);
    if (gt_map_get(&membership->processes, entry->member.pid) == index)
        gt_map_remove(&membership->processes, entry->member.pid);
    if (entry->member.peak != GT_PEAK_NONE) {
        tell_peak(membership, entry);
        gt_job_peak_settle(membership->peak, entry->member.peak,
                           entry->member.records && entry->member.records >= entry->member.tasks_ended);
    }
    *entry = (struct gt_member_entry){.next_free = membership->free};
    membership->free = index + 1;
    membership->ended_kept--;
}

/* ---- Sums -------------------------------------------------------------------------------------------------------- */

static void add_record(struct gt_exit_record *sum, const struct gt_exit_record *record)
{
    sum->cpu_ns += record->cpu_ns;
    sum->ran_ns += record->ran_ns;
    sum->minor_faults += record->minor_faults;
    sum->major_faults += record->major_faults;
    sum->voluntary_switches += record->voluntary_switches;
    sum->involuntary_switches += record->involuntary_switches;
    sum->read_bytes += record->read_bytes;
    sum->written_bytes += record->written_bytes;
    sum->read_characters += record->read_characters;
    sum->written_characters += record->written_characters;
    if (record->peak_rss > sum->peak_rss)
        sum->peak_rss = record->peak_rss;
}

static void raise_to(size_t *peak, size_t value)
{
    if (value > *peak)
        *peak = value;
}

static void note_peaks(struct gt_membership *membership)
{
    struct gt_membership_counts *counts = &membership->counts;
    const struct gt_member_entry *main = find(membership, membership->main);
    size_t main_threads = main ? main->member.threads : 0;
    raise_to(&counts->processes_peak, counts->processes);
    raise_to(&counts->threads_peak, counts->threads);
    raise_to(&counts->main_threads_peak, main_threads);
    raise_to(&counts->descendant_threads_peak, counts->threads - main_threads);
}

/* ---- Beginnings and ends ----------------------------------------------------------------------------------------- */

static void remove_threads(struct gt_membership *membership, struct gt_member_entry *entry)
{
    uint32_t index = (uint32_t)(entry - membership->entry);
    for (size_t i = 0; entry->member.threads && i < membership->threads.size;) {
        struct gt_map_slot slot = membership->threads.slot[i];
        if (slot.value_and_one != index + 1) {
            i++;
            continue;
        }
        gt_map_remove(&membership->threads, slot.key); /* may move another entry into this slot: look again */
        membership->counts.threads--;
        entry->member.threads--;
    }
}

static void end_process(struct gt_membership *membership, struct gt_member_entry *entry)
{
    remove_threads(membership, entry);
    entry->member.has_ended = true;
    entry->counts_at_end = membership->counts;
    membership->counts.processes--;
    membership->ended_kept++;
    if (entry->member.peak != GT_PEAK_NONE)
        gt_job_peak_end(membership->peak, entry->member.peak);
}

static void end_thread(struct gt_membership *membership, struct gt_member_entry *entry, pid_t tid)
{
    if (gt_map_get(&membership->threads, tid) == (uint32_t)(entry - membership->entry)) {
        gt_map_remove(&membership->threads, tid);
        entry->member.threads--;
        membership->counts.threads--;
    }
    if (!entry->member.threads && !entry->member.has_ended)
        end_process(membership, entry);
}

static int begin_thread(struct gt_membership *membership, struct gt_member_entry *entry, pid_t tid)
{
    if (membership->marks)
        gt_events_mark(membership->marks, tid);
    uint32_t index = (uint32_t)(entry - membership->entry);
    uint32_t holder = gt_map_get(&membership->threads, tid);
    if (holder == index)
        return 0;
    if (holder != GT_MAP_ABSENT) /* the number is used again: the end of its last user was not heard of */
        end_thread(membership, &membership->entry[holder], tid);
    int result = gt_map_put(&membership->threads, tid, index);
    if (result < 0)
        return result;
    entry->member.threads++;
    membership->counts.threads++;
    if (entry->member.threads > entry->threads_most)
        entry->threads_most = entry->member.threads;
    return 0;
}

/* A new member; an entry that ended under the same number stays until it is forgotten, but is found no longer. */
static int begin_process(struct gt_membership *membership, pid_t pid, pid_t parent, struct gt_member_entry **ret)
{
    uint32_t index = membership->free ? membership->free - 1 : membership->entries;
    if (GT_GROW_TO(membership->entry, membership->capacity, (size_t)index + 1) < 0 ||
        gt_map_put(&membership->processes, pid, index) < 0)
        return -ENOMEM;
    struct gt_member_entry *entry = &membership->entry[index];
    if (membership->free)
        membership->free = entry->next_free;
    else
        membership->entries++;
    if (membership->marks)
        gt_events_mark(membership->marks, pid);
    gt_map_remove(&membership->excluded, pid); /* another process had the number */
    *entry = (struct gt_member_entry){
        .member = {.pid = pid, .parent = parent, .seen_from_fork = parent != 0, .peak = GT_PEAK_NONE},
        .counts_before = membership->counts,
    };
    gt_job_peak_begin(membership->peak, &entry->member.peak); /* without memory its peak is not known */
    if (!membership->main)
        membership->main = pid;
    membership->counts.processes++;
    membership->counts.started++;
    *ret = entry;
    return 0;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static int hear_process(struct gt_membership *membership, const struct gt_event *event)
{
    struct gt_member_entry *entry = find(membership, event->pid);
    bool lives = entry && !entry->member.has_ended;
    if (lives && event->monotonic_ns < entry->seeded_ns)
        return 0; /* the seed saw it alive after this fork, so it is this one */
    if (lives)
        end_process(membership, entry); /* the number is used again: its end was lost */
    const struct gt_member_entry *parent = find(membership, event->parent);
    if (event->parent != membership->tracker && (!parent || parent->number_is_reused)) {
        if (entry)
            entry->number_is_reused = true;
        return 0;
    }
    int result = begin_process(membership, event->pid, event->parent, &entry);
    return result < 0 ? result : begin_thread(membership, entry, event->pid);
}

static int hear_fork(struct gt_membership *membership, const struct gt_event *event)
{
    int result = 0;
    if (event->pid == event->tgid) {
        result = hear_process(membership, event);
    } else {
        struct gt_member_entry *entry = find(membership, event->tgid);
        if (entry && !entry->member.has_ended)
            result = begin_thread(membership, entry, event->pid);
    }
    note_peaks(membership);
    return result;
}

static void hear_exit(struct gt_membership *membership, const struct gt_event *event)
{
    struct gt_member_entry *entry = find(membership, event->tgid);
    if (!entry || entry->member.has_ended)
        return;
    bool is_leader = event->pid == event->tgid;
    entry->member.tasks_ended++;
    membership->counts.tasks_ended++;
    /* A thread that calls execve takes the number of the first thread, which ends. So when the "first thread" ends for the
     * second time, nothing is left of the process, although a thread under the old number seems to live. */
    if (is_leader && entry->leader_ended)
        end_process(membership, entry);
    else
        end_thread(membership, entry, event->pid);
    entry->leader_ended |= is_leader;
    entry->end_was_heard = entry->member.has_ended;
}

/* A peak that rose after its end was reached without it. */
static void lower(size_t *peak, size_t before, size_t at_end, size_t count)
{
    if (*peak > before && *peak <= at_end)
        *peak = *peak > before + count ? *peak - count : before;
}

static void lower_peaks(struct gt_membership_counts *counts, const struct gt_member_entry *entry)
{
    const struct gt_membership_counts *before = &entry->counts_before, *end = &entry->counts_at_end;
    bool has_ended = entry->member.has_ended;
    size_t threads = entry->threads_most;
    lower(&counts->processes_peak, before->processes_peak, has_ended ? end->processes_peak : SIZE_MAX, 1);
    lower(&counts->threads_peak, before->threads_peak, has_ended ? end->threads_peak : SIZE_MAX, threads);
    lower(&counts->descendant_threads_peak, before->descendant_threads_peak,
          has_ended ? end->descendant_threads_peak : SIZE_MAX, threads);
    raise_to(&counts->threads_peak, counts->main_threads_peak);
    raise_to(&counts->threads_peak, counts->descendant_threads_peak);
    counts->started--;
}

/* Peaks since it began have counted it, too, and so has what they were when later ones began. */
static void take_back(struct gt_membership *membership, struct gt_member_entry *entry)
{
    struct gt_membership_counts *counts = &membership->counts;
    for (uint32_t i = 0; i < membership->entries; i++) {
        struct gt_member_entry *later = &membership->entry[i];
        if (!later->member.pid || later->counts_before.started <= entry->counts_before.started)
            continue;
        lower_peaks(&later->counts_before, entry);
        if (later->member.has_ended)
            lower_peaks(&later->counts_at_end, entry);
    }
    lower_peaks(counts, entry);
    if (entry->member.peak != GT_PEAK_NONE)
        gt_job_peak_drop(membership->peak, entry->member.peak);
    entry->member.peak = GT_PEAK_NONE;
    if (!entry->member.has_ended) {
        remove_threads(membership, entry);
        counts->processes--;
        membership->ended_kept++;
    }
    forget(membership, entry);
}

/* The CPU time it leaves to its parent is in its record, which may be still to come. */
static void leave_out(struct gt_membership *membership, struct gt_member_entry *entry, bool is_awaited)
{
    if (is_awaited) {
        membership->excluded_cpu += entry->member.record.cpu_ns;
        gt_map_put(&membership->excluded, entry->member.pid, 0); /* without memory its time is not taken off */
    }
    take_back(membership, entry);
}

static void hear_record(struct gt_membership *membership, const struct gt_event *event)
{
    struct gt_member_entry *entry = find(membership, event->tgid);
    if (!entry && gt_map_get(&membership->excluded, event->tgid) != GT_MAP_ABSENT)
        membership->excluded_cpu += event->record.cpu_ns;
    if (!entry || (entry->end_was_heard && entry->member.records >= entry->member.tasks_ended))
        return; /* a stranger, perhaps one that has the number of a member that ended and whose records are all here */
    add_record(&entry->member.record, &event->record);
    entry->member.records++;
    membership->counts.records++;
    entry->is_ours |= event->is_ours;
    if (!event->is_ours && !event->is_sampler)
        tell_peak(membership, entry);
    if (event->is_sampler && event->tgid != membership->main) /* it came and went, and nobody looked */
        leave_out(membership, entry, find(membership, event->parent));
}

int gt_membership_feed(struct gt_membership *membership, const struct gt_event *event)
{
    struct gt_member_entry *entry = find(membership, event->tgid);
    switch (event->kind) {
    case GT_EVENT_FORK: return hear_fork(membership, event);
    case GT_EVENT_EXECUTE:
        if (entry && !entry->member.has_ended)
            entry->has_executed = true;
        break;
    case GT_EVENT_EXIT: hear_exit(membership, event); break;
    case GT_EVENT_RECORD: hear_record(membership, event); break;
    case GT_EVENT_LOST:
        membership->counts.lost++;
        membership->counts.has_lost_forks |= event->source == GT_EVENTS_FORKS;
        break;
    }
    return 0;
}

void gt_membership_exclude(struct gt_membership *membership, pid_t pid, bool is_awaited)
{
    struct gt_member_entry *entry = find(membership, pid);
    if (!entry)
        return;
    pid_t helper = entry->has_executed ? 0 : entry->member.parent; /* else it executes what it was forked from */
    leave_out(membership, entry, is_awaited);
    entry = helper && helper != membership->main ? find(membership, helper) : NULL;
    if (entry)
        leave_out(membership, entry, true);
}

/* Records come on a way of their own, and may be late; wait4 tells of the main process. */
static uint32_t settles_of(const struct gt_membership *membership, const struct gt_member_entry *entry)
{
    bool lacks_records = entry->member.records < entry->member.tasks_ended && membership->awaits_records;
    bool is_main = entry->member.pid == membership->main;
    return entry->is_ours ? SETTLES_OF_HELPERS : lacks_records || is_main ? SETTLES_LATE : 1;
}

void gt_membership_settle(struct gt_membership *membership)
{
    for (uint32_t i = 0; membership->ended_kept && i < membership->entries; i++) {
        struct gt_member_entry *entry = &membership->entry[i];
        if (!entry->member.has_ended || entry->settles++ < settles_of(membership, entry))
            continue;
        if (entry->member.seen_from_fork)
            add_record(&membership->ended, &entry->member.record);
        forget(membership, entry);
    }
}

/* What was fed is told on if it was about a member: `records` is how many there were before. */
static int tell_history(struct gt_membership *membership, const struct gt_event *event, uint64_t records)
{
    bool is_fork = event->kind == GT_EVENT_FORK, is_record = event->kind == GT_EVENT_RECORD;
    const struct gt_member *member = gt_membership_find(membership, is_fork ? event->pid : event->tgid);
    if (!member || (is_fork && member->has_ended) || (is_record && membership->counts.records == records))
        return 0;
    return gt_process_history_hear(membership->history, event, member->has_ended);
}

int gt_membership_update(struct gt_membership *membership, struct gt_events *events, struct gt_error *error)
{
    struct gt_event event;
    bool lost = false;
    int result;
    while ((result = gt_events_next(events, &event, error)) == 1) {
        lost |= event.kind == GT_EVENT_LOST && event.source == GT_EVENTS_FORKS;
        if (lost && membership->history)
            gt_process_history_lost(membership->history);
        uint64_t records = membership->counts.records;
        result = gt_membership_feed(membership, &event);
        if (result == 0 && membership->history)
            result = tell_history(membership, &event, records);
        if (result < 0)
            return gt_error_system(error, -result, "members of the job");
    }
    gt_membership_settle(membership);
    return result < 0 ? result : lost;
}

/* ---- Seeding ----------------------------------------------------------------------------------------------------- */

static int seed_threads(struct gt_membership *membership, struct gt_member_entry *entry, DIR *directory)
{
    struct dirent *item;
    while ((item = readdir(directory))) {
        pid_t tid = isdigit((unsigned char)*item->d_name) ? (pid_t)strtol(item->d_name, NULL, 10) : 0;
        if (tid == entry->member.pid && entry->leader_ended)
            continue; /* it stays listed after its end, as a zombie, while others live */
        int result = tid > 0 ? begin_thread(membership, entry, tid) : 0;
        if (result < 0)
            return result;
    }
    return 0;
}

/* NULL: it has gone, or is a zombie. */
static DIR *open_task(const struct gt_root *root, pid_t pid, bool *leader_ended)
{
    char path[64];
    struct gt_process_stat stat;
    snprintf(path, sizeof path, "proc/%d/task", (int)pid);
    if (pid <= 0 || gt_process_stat_of(root, pid, &stat) < 0 || gt_process_stat_is_zombie(&stat))
        return NULL;
    *leader_ended = gt_process_stat_leader_exited(&stat);
    return gt_root_list(root, path);
}

static int seed_process(struct gt_membership *membership, struct gt_seed seed)
{
    bool leader_ended = false;
    DIR *directory = seed.is_single ? NULL : open_task(membership->root, seed.pid, &leader_ended);
    if (!directory && !seed.is_single)
        return 0;
    struct gt_member_entry *entry = find(membership, seed.pid);
    int result = 0;
    if (!entry || entry->member.has_ended)
        result = begin_process(membership, seed.pid, 0, &entry);
    if (result == 0) {
        entry->is_seeded = true;
        entry->leader_ended |= leader_ended;
        result = directory ? seed_threads(membership, entry, directory) : begin_thread(membership, entry, seed.pid);
        entry->seeded_ns = gt_clock_monotonic(&gt_clock_system);
    }
    if (directory)
        closedir(directory);
    return result;
}

/* All threads are looked up anew: some may have ended unheard. */
static void begin_seed(struct gt_membership *membership)
{
    gt_map_clear(&membership->threads);
    membership->counts.threads = 0;
    for (uint32_t i = 0; i < membership->entries; i++) {
        membership->entry[i].is_seeded = false;
        membership->entry[i].member.threads = 0;
    }
}

int gt_membership_seed(struct gt_membership *membership, const struct gt_seed *seed, size_t count,
                       struct gt_error *error)
{
    begin_seed(membership);
    for (size_t i = 0; i < count; i++) {
        int result = seed_process(membership, seed[i]);
        if (result < 0)
            return gt_error_system(error, -result, "members of the job");
    }
    for (uint32_t i = 0; i < membership->entries; i++) {
        struct gt_member_entry *entry = &membership->entry[i];
        if (entry->member.pid && !entry->member.has_ended && !(entry->is_seeded && entry->member.threads))
            end_process(membership, entry);
    }
    note_peaks(membership);
    return 0;
}

/* ---- Members by events and by the tree --------------------------------------------------------------------------- */

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
    finder->members = (struct gt_membership){
        .root = root,
        .peak = &finder->peak,
        .marks = finder->events,
        .awaits_records = finder->events && gt_events_fd(finder->events, GT_EVENTS_RECORDS) >= 0,
    };
    if (status < 0)
        gt_job_finder_close(finder);
    return status;
}

void gt_job_finder_close(struct gt_job_finder *finder)
{
    gt_events_close(finder->events);
    gt_membership_release(&finder->members);
    gt_slurm_close(finder->slurm);
    gt_job_peak_release(&finder->peak);
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

static void note_main_peak(const struct gt_job_finder *finder, const struct gt_tree *tree, struct gt_account *account)
{
    const struct gt_member *main = gt_membership_find(&finder->members, tree->main);
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
    int status = gt_membership_seed(&finder->members, seeds, tree->count, error);
    free(seeds);
    finder->may_narrow = status >= 0;
    return status;
}

/* 1: events were lost. */
static int take_events(struct gt_job_finder *finder, struct gt_error *error)
{
    int status = gt_membership_update(&finder->members, finder->events, error);
    if (status >= 0 && finder->may_narrow)
        gt_events_narrow(finder->events, true);
    finder->may_narrow = false;
    return status;
}

static int add_members(struct gt_job_finder *finder, struct gt_tree *tree)
{
    struct gt_membership *members = &finder->members;
    int status = 0;
    if (members->counts.started == finder->added)
        return 0;
    finder->added = members->counts.started;
    for (uint32_t i = 0; i < members->entries && status >= 0; i++) {
        const struct gt_member *member = &members->entry[i].member;
        if (!member->pid || member->has_ended)
            continue;
        status = gt_tree_add(tree, member->pid);
        if (status == 0 && gt_tree_was_left_out(tree, member->pid)) /* it was found before its fork was heard of */
            gt_membership_exclude(members, member->pid, false);
    }
    return status;
}

static void note_left_out(const struct gt_job_finder *finder, struct gt_account *account)
{
    const struct gt_membership_counts *counts = &finder->members.counts;
    account->left_out = (double)finder->members.excluded_cpu / 1e9;
    account->is_lone = counts->started == 1 && !counts->has_lost_forks;
}

/* 1: events were lost, or this is the first look, so the tree must be searched. */
static int look_at_events(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_account *account,
                          struct gt_error *error)
{
    if (!gt_events_may_wait(finder->events) && !finder->may_narrow) {
        gt_membership_settle(&finder->members);
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
        if (!tree->process[i]->is_zombie && !gt_membership_find(&finder->members, tree->process[i]->pid))
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
        gt_account_hear(account, tree, &finder->members.ended);
}

/* Where the kernel tells of forks, each is a member by now; else processes begin when they are found. */
static void give_handles(struct gt_job_finder *finder, struct gt_tree *tree)
{
    tree->peak = finder->events ? NULL : &finder->peak;
    for (size_t i = 0; i < tree->count; i++) {
        struct gt_process *process = tree->process[i];
        if (finder->events) {
            const struct gt_member *member = gt_membership_find(&finder->members, process->pid);
            process->peak = member && !member->has_ended ? member->peak : GT_PEAK_NONE;
        } else if (process->peak == GT_PEAK_NONE) {
            gt_job_peak_begin(&finder->peak, &process->peak);
        }
    }
    uint64_t heard = finder->members.counts.started;
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
    if (finder->events && first && tree->tracker) {
        finder->members.tracker = tree->tracker->pid;
        gt_events_mark(finder->events, tree->tracker->pid);
    }
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
    finder->born = finder->members.counts.started;
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
    const struct gt_member *member = finder->events ? gt_membership_find(&finder->members, process->pid) : NULL;
    pid_t parent = member && member->parent ? member->parent : process->parent;
    struct gt_process *origin = gt_tree_find(tree, parent);
    return origin ? origin : gt_tree_find(tree, tree->main);
}

void gt_job_finder_leave_out(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_process *process)
{
    if (finder->events)
        gt_membership_exclude(&finder->members, process->pid, gt_tree_find(tree, process->parent));
    gt_tree_leave_out(tree, process);
}

bool gt_job_finder_hears_all(const struct gt_job_finder *finder)
{
    bool has_records = finder->events && gt_events_fd(finder->events, GT_EVENTS_RECORDS) >= 0;
    const struct gt_membership_counts *counts = &finder->members.counts;
    bool is_single = !counts->has_lost_forks && counts->started == 1;
    return is_single || (has_records && !counts->lost);
}

static void wait_for_last(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_account *account)
{
    const struct gt_membership_counts *counts = &finder->members.counts;
    struct pollfd waiting[] = {{.fd = gt_events_fd(finder->events, GT_EVENTS_FORKS), .events = POLLIN},
                               {.fd = gt_events_fd(finder->events, GT_EVENTS_RECORDS), .events = POLLIN}};
    for (int ms = 0; ms < LAST_EVENTS_MS; ms++) {
        if (gt_membership_update(&finder->members, finder->events, NULL) < 0)
            return;
        note_main_peak(finder, tree, account);
        note_left_out(finder, account);
        bool has_records = waiting[1].fd < 0 || counts->lost || counts->records >= counts->tasks_ended;
        if (counts->processes <= tree->count && has_records)
            return;
        poll(waiting, 2, 1);
    }
}

void gt_job_finder_last(struct gt_job_finder *finder, struct gt_tree *tree, struct gt_account *account)
{
    if (!finder->events || !finder->thorough_ns)
        return;
    wait_for_last(finder, tree, account);
    gt_membership_settle(&finder->members);
    gt_membership_settle(&finder->members);
    give_handles(finder, tree);
    gt_job_finder_account(finder, tree, account);
}
