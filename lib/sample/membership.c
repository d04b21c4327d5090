#include "sample/membership.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/map.h"
#include "collect/process/process.h"
#include "sample/process_history.h"

/* A helper is kept until its child has been looked at. */
enum { SETTLES_OF_HELPERS = 50, SETTLES_LATE = 10 };

struct entry {
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

struct gt_membership {
    const struct gt_root *root;
    struct gt_job_peak *peak;
    pid_t main;    /* 0: not seeded yet */
    pid_t tracker; /* that adopts orphans of the job; 0 */
    bool awaits_records;
    struct gt_process_history *history; /* NULL: nobody listens */
    struct gt_events *marks;            /* whose filter knows the members; NULL: none does */
    struct gt_map processes;            /* process number -> index into `entry` */
    struct gt_map threads;              /* thread number -> index into `entry` */
    struct entry *entry;
    size_t capacity;
    uint32_t entries, free;
    uint32_t ended_kept; /* entries that ended and are not forgotten */
    struct gt_membership_counts counts;
    struct gt_map excluded; /* processes whose records are to come; the values say nothing */
    uint64_t excluded_cpu;
    struct gt_exit_record ended; /* see gt_membership_ended() */
};

int gt_membership_new(struct gt_membership **ret, const struct gt_root *root, struct gt_job_peak *peak,
                      struct gt_error *error)
{
    struct gt_membership *membership = calloc(1, sizeof *membership);
    if (!membership)
        return gt_error_system(error, ENOMEM, "members of the job");
    membership->root = root;
    membership->peak = peak;
    membership->free = GT_MAP_ABSENT;
    membership->counts.is_exact = true;
    *ret = membership;
    return 0;
}

void gt_membership_free(struct gt_membership *membership)
{
    if (!membership)
        return;
    gt_map_release(&membership->processes);
    gt_map_release(&membership->threads);
    gt_map_release(&membership->excluded);
    free(membership->entry);
    free(membership);
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

static int take_entry(struct gt_membership *membership, uint32_t *ret)
{
    if (membership->free != GT_MAP_ABSENT) {
        *ret = membership->free;
        membership->free = membership->entry[*ret].next_free;
        return 0;
    }
    if (GT_GROW_TO(membership->entry, membership->capacity, (size_t)membership->entries + 1) < 0)
        return -ENOMEM;
    *ret = membership->entries++;
    return 0;
}

/* Where `pid` is registered, living or lately ended; NULL for strangers. */
static struct entry *find(const struct gt_membership *membership, pid_t pid)
{
    uint32_t index = gt_map_get(&membership->processes, pid);
    return index == GT_MAP_ABSENT ? NULL : &membership->entry[index];
}

static void tell_peak(struct gt_membership *membership, const struct entry *entry)
{
    bool is_forked = entry->member.seen_from_fork && !entry->has_executed;
    if (entry->member.peak != GT_PEAK_NONE && entry->member.record.peak_rss)
        gt_job_peak_tell(membership->peak, entry->member.peak, (double)entry->member.record.peak_rss, is_forked);
}

static void forget(struct gt_membership *membership, struct entry *entry)
{
    uint32_t index = (uint32_t)(entry - membership->entry);
    if (gt_map_get(&membership->processes, entry->member.pid) == index)
        gt_map_remove(&membership->processes, entry->member.pid);
    if (entry->member.peak != GT_PEAK_NONE) {
        tell_peak(membership, entry);
        gt_job_peak_settle(membership->peak, entry->member.peak,
                           entry->member.records && entry->member.records >= entry->member.tasks_ended);
    }
    *entry = (struct entry){.next_free = membership->free};
    membership->free = index;
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
    const struct entry *main = find(membership, membership->main);
    size_t main_threads = main ? main->member.threads : 0;
    raise_to(&counts->processes_peak, counts->processes);
    raise_to(&counts->threads_peak, counts->threads);
    raise_to(&counts->main_threads_peak, main_threads);
    raise_to(&counts->descendant_threads_peak, counts->threads - main_threads);
}

/* ---- Beginnings and ends ----------------------------------------------------------------------------------------- */

static void remove_threads(struct gt_membership *membership, struct entry *entry)
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

static void end_process(struct gt_membership *membership, struct entry *entry)
{
    remove_threads(membership, entry);
    entry->member.has_ended = true;
    entry->counts_at_end = membership->counts;
    membership->counts.processes--;
    membership->ended_kept++;
    if (entry->member.peak != GT_PEAK_NONE)
        gt_job_peak_end(membership->peak, entry->member.peak);
}

static void end_thread(struct gt_membership *membership, struct entry *entry, pid_t tid)
{
    if (gt_map_get(&membership->threads, tid) == (uint32_t)(entry - membership->entry)) {
        gt_map_remove(&membership->threads, tid);
        entry->member.threads--;
        membership->counts.threads--;
    }
    if (!entry->member.threads && !entry->member.has_ended)
        end_process(membership, entry);
}

static void mark(const struct gt_membership *membership, pid_t task)
{
    if (membership->marks)
        gt_events_mark(membership->marks, task);
}

static int begin_thread(struct gt_membership *membership, struct entry *entry, pid_t tid)
{
    mark(membership, tid);
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
static int begin_process(struct gt_membership *membership, pid_t pid, pid_t parent, struct entry **ret)
{
    uint32_t index;
    int result = take_entry(membership, &index);
    if (result < 0)
        return result;
    struct entry *entry = &membership->entry[index];
    mark(membership, pid);
    gt_map_remove(&membership->excluded, pid); /* another process had the number */
    *entry = (struct entry){
        .member = {.pid = pid, .parent = parent, .seen_from_fork = parent != 0, .peak = GT_PEAK_NONE},
        .counts_before = membership->counts,
    };
    result = gt_map_put(&membership->processes, pid, index);
    if (result < 0) {
        *entry = (struct entry){.next_free = membership->free};
        membership->free = index;
        return result;
    }
    gt_job_peak_begin(membership->peak, &entry->member.peak); /* without memory its peak is not known */
    if (!membership->main)
        membership->main = pid;
    membership->counts.processes++;
    membership->counts.started++;
    *ret = entry;
    return 0;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static bool may_have_forked(const struct entry *entry)
{
    return entry && !entry->number_is_reused;
}

static int hear_process(struct gt_membership *membership, const struct gt_event *event)
{
    struct entry *entry = find(membership, event->pid);
    bool lives = entry && !entry->member.has_ended;
    if (lives && event->monotonic_ns < entry->seeded_ns)
        return 0; /* the seed saw it alive after this fork, so it is this one */
    if (lives)
        end_process(membership, entry); /* the number is used again: its end was lost */
    if (event->parent != membership->tracker && !may_have_forked(find(membership, event->parent))) {
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
        struct entry *entry = find(membership, event->tgid);
        if (entry && !entry->member.has_ended)
            result = begin_thread(membership, entry, event->pid);
    }
    note_peaks(membership);
    return result;
}

static void hear_execute(struct gt_membership *membership, const struct gt_event *event)
{
    struct entry *entry = find(membership, event->tgid);
    if (entry && !entry->member.has_ended)
        entry->has_executed = true;
}

static void hear_exit(struct gt_membership *membership, const struct gt_event *event)
{
    struct entry *entry = find(membership, event->tgid);
    if (!entry || entry->member.has_ended)
        return;
    bool is_leader = event->pid == event->tgid;
    entry->member.tasks_ended++;
    membership->counts.tasks_ended++;
    if (is_leader)
        entry->member.wait_status = event->wait_status;
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

static void lower_peaks(struct gt_membership_counts *counts, const struct entry *entry)
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
static void take_back(struct gt_membership *membership, struct entry *entry)
{
    struct gt_membership_counts *counts = &membership->counts;
    for (uint32_t i = 0; i < membership->entries; i++) {
        struct entry *later = &membership->entry[i];
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
static void leave_out(struct gt_membership *membership, struct entry *entry, bool is_awaited)
{
    if (is_awaited) {
        membership->excluded_cpu += entry->member.record.cpu_ns;
        gt_map_put(&membership->excluded, entry->member.pid, 0); /* without memory its time is not taken off */
    }
    take_back(membership, entry);
}

static void hear_record(struct gt_membership *membership, const struct gt_event *event)
{
    struct entry *entry = find(membership, event->tgid);
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
    switch (event->kind) {
    case GT_EVENT_FORK: return hear_fork(membership, event);
    case GT_EVENT_EXECUTE: hear_execute(membership, event); break;
    case GT_EVENT_EXIT: hear_exit(membership, event); break;
    case GT_EVENT_RECORD: hear_record(membership, event); break;
    case GT_EVENT_LOST:
        membership->counts.lost++;
        if (event->source == GT_EVENTS_FORKS)
            membership->counts.is_exact = false;
        break;
    }
    return 0;
}

void gt_membership_exclude(struct gt_membership *membership, pid_t pid, bool is_awaited)
{
    struct entry *entry = find(membership, pid);
    if (!entry)
        return;
    pid_t helper = entry->has_executed ? 0 : entry->member.parent; /* else it executes what it was forked from */
    leave_out(membership, entry, is_awaited);
    entry = helper && helper != membership->main ? find(membership, helper) : NULL;
    if (entry)
        leave_out(membership, entry, true);
}

uint64_t gt_membership_excluded_cpu(const struct gt_membership *membership)
{
    return membership->excluded_cpu;
}

/* Records come on a way of their own, and may be late; wait4 tells of the main process. */
static uint32_t settles_of(const struct gt_membership *membership, const struct entry *entry)
{
    bool lacks_records = entry->member.records < entry->member.tasks_ended && membership->awaits_records;
    bool is_main = entry->member.pid == membership->main;
    return entry->is_ours ? SETTLES_OF_HELPERS : lacks_records || is_main ? SETTLES_LATE : 1;
}

void gt_membership_settle(struct gt_membership *membership)
{
    for (uint32_t i = 0; membership->ended_kept && i < membership->entries; i++) {
        struct entry *entry = &membership->entry[i];
        if (!entry->member.has_ended || entry->settles++ < settles_of(membership, entry))
            continue;
        if (entry->member.seen_from_fork)
            add_record(&membership->ended, &entry->member.record);
        forget(membership, entry);
    }
}

const struct gt_exit_record *gt_membership_ended(const struct gt_membership *membership)
{
    return &membership->ended;
}

void gt_membership_await_records(struct gt_membership *membership)
{
    membership->awaits_records = true;
}

void gt_membership_mark(struct gt_membership *membership, struct gt_events *events)
{
    membership->marks = events;
}

void gt_membership_adopt(struct gt_membership *membership, pid_t tracker)
{
    membership->tracker = tracker;
    mark(membership, tracker);
}

void gt_membership_listen(struct gt_membership *membership, struct gt_process_history *history)
{
    membership->history = history;
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

static int seed_threads(struct gt_membership *membership, struct entry *entry, DIR *directory)
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
    struct entry *entry = find(membership, seed.pid);
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
        struct entry *entry = &membership->entry[i];
        if (entry->member.pid && !entry->member.has_ended && !(entry->is_seeded && entry->member.threads))
            end_process(membership, entry);
    }
    note_peaks(membership);
    return 0;
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

struct gt_membership_counts gt_membership_counts(const struct gt_membership *membership)
{
    return membership->counts;
}

size_t gt_membership_pids(const struct gt_membership *membership, pid_t *pids, size_t capacity)
{
    size_t count = 0;
    for (uint32_t i = 0; i < membership->entries; i++) {
        const struct gt_member *member = &membership->entry[i].member;
        if (!member->pid || member->has_ended)
            continue;
        if (count < capacity)
            pids[count] = member->pid;
        count++;
    }
    return count;
}

const struct gt_member *gt_membership_find(const struct gt_membership *membership, pid_t pid)
{
    const struct entry *entry = find(membership, pid);
    return entry ? &entry->member : NULL;
}
