#include "sample/process_history.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/grow.h"
#include "base/map.h"
#include "base/os/secret.h"
#include "collect/process/process.h"
#include "sample/rank_finder.h"

/* A program is executed right after the fork, if at all; later words are only looked at now and then, unless the name is another. */
static const int64_t YOUNG_NS = GT_SECOND, WORDS_PERIOD_NS = GT_SECOND - GT_SECOND / 20;
static const int64_t NEVER = INT64_MIN;
/* Figures of those that live are told on so often, where they differ by more than that: who reads a recording while it is written, or when
 * its tracker was killed, finds them. */
static const int64_t REFRESH_NS = 2 * GT_SECOND;
static const double CPU_STEP = 0.01, PEAK_STEP = 0.01;
enum { LEFT_OUT = GT_PROCESS_HISTORY_MOST }; /* instead of an index */

struct entry {
    struct gt_process_record record; /* without its times; figures as last read */
    int64_t begin_ns, end_ns;
    int64_t met_ns, words_ns; /* when it was first read, and its words last */
    double cpu_when_named;
    double told_cpu, told_peak;     /* as of the last list of changes */
    double rest;                    /* CPU seconds beyond what looks saw, as its parent has them */
    uint32_t ends, ends_told;       /* of its children; so many when it was last read after one */
    double record_cpu, record_peak; /* what exit records tell: a sum, and a mark that is NaN without them */
    char kernel_name[16];           /* when its name was read last */
    bool was_forked;                /* then it had not executed a program yet */
    double forked_peak;             /* what looks saw of it since it was forked and before it executed a program; NaN */
    double inherited; /* anonymous bytes when it was first read, most of them its parent's; NaN: not read */
    bool is_worker;   /* that was its own, not of one that is about to execute a program */
    bool heard_fork;  /* so records tell all that it used */
    bool is_changed;  /* and so in the list of those */
    uint64_t round;   /* of the last reading that met it */
};

struct gt_process_history {
    const struct gt_root *root;
    size_t most;
    bool launched;
    int64_t origin_ns, refreshed_ns;
    int64_t boot_ns; /* CLOCK_BOOTTIME less CLOCK_MONOTONIC */
    struct entry *entry;
    size_t entry_count, entry_capacity;
    struct gt_map latest;       /* process number -> index of the last entry that had it */
    uint32_t *living, *changed; /* indices */
    size_t living_count, living_capacity, changed_count, changed_capacity;
    uint64_t round, left_out;
    bool has_lost; /* forks: there may be processes that are not listed */
    struct gt_process_records changes;
};

int gt_process_history_new(struct gt_process_history **ret, const struct gt_root *root, size_t most, bool launched,
                           struct gt_error *error)
{
    struct gt_process_history *history = calloc(1, sizeof *history);
    if (!history)
        return gt_error_system(error, ENOMEM, "names of the processes");
    history->root = root;
    history->most = most;
    history->launched = launched;
    history->boot_ns = gt_clock_ns(CLOCK_BOOTTIME) - gt_clock_ns(CLOCK_MONOTONIC);
    history->origin_ns = gt_clock_ns(CLOCK_MONOTONIC);
    history->refreshed_ns = NEVER;
    *ret = history;
    return 0;
}

void gt_process_history_free(struct gt_process_history *history)
{
    if (!history)
        return;
    gt_map_release(&history->latest);
    gt_process_records_release(&history->changes);
    free(history->living);
    free(history->changed);
    free(history->entry);
    free(history);
}

void gt_process_history_begin(struct gt_process_history *history, int64_t origin_ns)
{
    if (history)
        history->origin_ns = origin_ns;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

static struct entry *find(const struct gt_process_history *history, pid_t pid)
{
    uint32_t index = gt_map_get(&history->latest, pid);
    return index >= LEFT_OUT ? NULL : &history->entry[index];
}

/* Without memory for the list a change is told when the next one of the entry is. */
static void note_change(struct gt_process_history *history, struct entry *entry)
{
    uint32_t *changed = entry->is_changed ? NULL : GT_GROW(history, changed);
    if (!changed)
        return;
    *changed = (uint32_t)(entry - history->entry);
    entry->is_changed = true;
}

/* One more than the list takes: it is counted, once. 0 or -ENOMEM. */
static int leave_out(struct gt_process_history *history, pid_t pid)
{
    if (gt_map_get(&history->latest, pid) != LEFT_OUT)
        history->left_out++;
    return gt_map_put(&history->latest, pid, LEFT_OUT);
}

static struct entry *extend(struct gt_process_history *history, pid_t pid)
{
    uint32_t index = (uint32_t)history->entry_count, *living = GT_GROW(history, living);
    struct entry *entry = living ? GT_GROW(history, entry) : NULL;
    if (entry && gt_map_put(&history->latest, pid, index) == 0) {
        *living = index;
        return entry;
    }
    history->living_count -= living != NULL;
    history->entry_count -= entry != NULL;
    return NULL;
}

/* NULL when there are too many; *status tells whether memory was short. */
static struct entry *add(struct gt_process_history *history, pid_t pid, pid_t parent, int64_t begin_ns, int *status)
{
    if (history->entry_count == history->most) {
        *status = leave_out(history, pid);
        return NULL;
    }
    struct entry *entry = extend(history, pid);
    *status = entry ? 0 : -ENOMEM;
    if (!entry)
        return NULL;
    *entry = (struct entry){
        .record = {.number = history->entry_count - 1, .pid = pid, .parent = parent, .ram_peak = NAN, .cpu_time = NAN},
        .begin_ns = begin_ns,
        .end_ns = NEVER,
        .words_ns = NEVER,
        .cpu_when_named = NAN,
        .record_peak = NAN,
        .forked_peak = NAN,
        .inherited = NAN,
    };
    note_change(history, entry);
    return entry;
}

static void end(struct gt_process_history *history, struct entry *entry, int64_t when_ns)
{
    struct entry *parent = find(history, entry->record.parent);
    if (parent)
        parent->ends++;
    entry->end_ns = when_ns;
    note_change(history, entry);
}

/* Returns true where the name is another than before. */
static bool rename_to(char *old, size_t size, const char *text)
{
    char shortened[GT_PROCESS_RECORD_COMMAND];
    gt_shorten(shortened, size, text);
    if (!*shortened || !strcmp(old, shortened))
        return false;
    strcpy(old, shortened);
    return true;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* A tick of the clock by which /proc tells of beginnings, and one for rounding. */
static bool is_same_begin(const struct entry *entry, int64_t when_ns)
{
    int64_t tolerance = 2 * GT_SECOND / sysconf(_SC_CLK_TCK);
    return entry->begin_ns != NEVER && llabs(entry->begin_ns - when_ns) <= tolerance;
}

static int hear_fork(struct gt_process_history *history, const struct gt_event *event)
{
    int status = 0;
    struct entry *entry = find(history, event->pid);
    bool is_same = entry && !entry->heard_fork && is_same_begin(entry, event->monotonic_ns);
    if (entry && entry->end_ns == NEVER && !is_same)
        end(history, entry, event->monotonic_ns); /* the number is used again: its end was not heard of */
    if (!entry || entry->end_ns != NEVER)
        entry = add(history, event->pid, event->parent, event->monotonic_ns, &status);
    if (!entry)
        return status;
    entry->begin_ns = event->monotonic_ns;
    entry->heard_fork = true;
    return 0;
}

static void hear_record(struct gt_process_history *history, struct entry *entry, const struct gt_event *event)
{
    entry->record_cpu += (double)event->record.ran_ns / 1e9; /* one for each of its threads */
    if (entry->heard_fork || history->launched)              /* else the mark may be of the time before tracking */
        entry->record_peak = fmax(entry->record_peak, (double)event->record.peak_rss);
    bool is_first = event->pid == event->tgid; /* other threads have names of their own */
    if (is_first && *event->name && rename_to(entry->record.name, sizeof entry->record.name, event->name))
        *entry->record.command = '\0'; /* those words may be of the program before */
    note_change(history, entry);
}

/* What it had before was mostly its parent's: its own is what it took beyond that. */
static void leave_fork(struct entry *entry)
{
    if (entry->is_worker)
        entry->record.ram_peak = fmax(entry->record.ram_peak, entry->forked_peak - entry->inherited);
    entry->forked_peak = NAN;
    entry->is_worker = false;
}

int gt_process_history_hear(struct gt_process_history *history, const struct gt_event *event, bool has_ended)
{
    if (event->kind == GT_EVENT_FORK)
        return event->pid == event->tgid ? hear_fork(history, event) : 0;
    struct entry *entry = find(history, event->tgid);
    if (entry && event->kind == GT_EVENT_EXIT && has_ended)
        end(history, entry, event->monotonic_ns);
    if (entry && event->kind == GT_EVENT_EXECUTE) {
        leave_fork(entry);
        entry->words_ns = NEVER; /* those are of the program before */
    }
    if (entry && event->kind == GT_EVENT_RECORD)
        hear_record(history, entry, event);
    return 0;
}

/* ---- Readings ---------------------------------------------------------------------------------------------------- */

static int64_t begin_of(const struct gt_process_history *history, const struct gt_process *process)
{
    int64_t tick = sysconf(_SC_CLK_TCK);
    if (!history->root->is_machine || !process->start) /* when a stored machine was started is not known */
        return NEVER;
    if (history->launched && process->is_main)
        return history->origin_ns;
    int64_t begin_ns = (int64_t)(process->start / (uint64_t)tick) * GT_SECOND +
                       (int64_t)(process->start % (uint64_t)tick) * (GT_SECOND / tick) - history->boot_ns;
    /* The ticks are rounded down: nothing of a job began before its first process. */
    return history->launched && begin_ns < history->origin_ns ? history->origin_ns : begin_ns;
}

static bool read_name(struct gt_process_record *record, const struct gt_process *process)
{
    char text[4 * GT_PROCESS_RECORD_NAME];
    ssize_t length = gt_process_read_text(process, "comm", text, sizeof text);
    if (length <= 0)
        return false;
    text[length - (text[length - 1] == '\n')] = '\0';
    return rename_to(record->name, sizeof record->name, text);
}

/* The words of the command with blanks between them. A zombie has none. */
static bool read_words(struct gt_process_record *record, const struct gt_process *process)
{
    char text[4 * GT_PROCESS_RECORD_COMMAND];
    ssize_t length = gt_process_read_text(process, "cmdline", text, sizeof text);
    if (length <= 0)
        return false;
    struct gt_buffer shown = {0};
    bool is_new = gt_secret_hide_line(&shown, text, (size_t)length) == 0 &&
                  rename_to(record->command, sizeof record->command, shown.data);
    gt_buffer_release(&shown);
    return is_new;
}

static bool has_executed(const struct entry *entry, const struct gt_process *process)
{
    return strncmp(entry->kernel_name, process->name, sizeof process->name) != 0 ||
           (entry->was_forked && !process->is_forked);
}

/* Only a process that runs executes another program. */
static void read_names(struct gt_process_history *history, struct entry *entry, const struct gt_process *process,
                       int64_t now_ns)
{
    bool is_new = entry->words_ns == NEVER;
    if (!is_new && process->value[GT_CPU_TIME] == entry->cpu_when_named)
        return;
    if (history->most < GT_PROCESS_HISTORY_MOST && !is_new && !has_executed(entry, process))
        return; /* a list that nobody asked for costs next to nothing */
    memcpy(entry->kernel_name, process->name, sizeof entry->kernel_name);
    entry->was_forked = process->is_forked;
    entry->cpu_when_named = process->value[GT_CPU_TIME];
    bool is_renamed = read_name(&entry->record, process);
    if (is_new || is_renamed || now_ns - entry->met_ns < YOUNG_NS || now_ns - entry->words_ns >= WORDS_PERIOD_NS) {
        is_renamed |= read_words(&entry->record, process);
        entry->words_ns = now_ns;
    }
    if (is_renamed)
        note_change(history, entry);
}

/* Until it executes a program, its memory is its parent's (vfork) or begins with that (fork). A process that the tracker launched executes
 * one; a zombie that never did was what it was forked to be. */
static void read_peak(const struct gt_process_history *history, struct entry *entry, const struct gt_process *process)
{
    double peak = process->is_zombie ? NAN : fmax(process->value[GT_RAM_PEAK], process->value[GT_RSS]);
    bool is_itself = process->is_main ? !history->launched : process->is_worker || process->is_zombie;
    if (!process->is_forked) {
        leave_fork(entry);
        entry->record.ram_peak = fmax(entry->record.ram_peak, peak);
        return;
    }
    entry->is_worker |= is_itself;
    if (is_itself || process->alone_ns)
        entry->forked_peak = fmax(entry->forked_peak, peak);
    if (isnan(entry->inherited))
        entry->inherited = process->value[GT_RSS] - process->file_bytes;
}

static void read_process(struct gt_process_history *history, struct entry *entry, const struct gt_process *process,
                         int64_t now_ns)
{
    struct gt_process_record *record = &entry->record;
    record->start = process->start;
    record->parent = record->parent ? record->parent : process->parent;
    read_peak(history, entry, process);
    record->cpu_time = process->value[GT_CPU_TIME] - process->baseline.own_base;
    if (process->rank && record->rank != process->rank->figures.rank + 1) {
        record->rank = process->rank->figures.rank + 1;
        note_change(history, entry);
    }
    if (!process->is_gone)
        read_names(history, entry, process, now_ns);
}

static bool is_of(const struct entry *entry, const struct gt_process *process, int64_t begin_ns)
{
    if (entry->record.start && entry->record.start == process->start)
        return true;
    if (entry->heard_fork && begin_ns != NEVER)
        return is_same_begin(entry, begin_ns);
    return !entry->record.start && (entry->end_ns == NEVER || is_same_begin(entry, begin_ns));
}

/* The entry of a process of the tree, an old one's or a new one. NULL also for a process that has gone and whose number was heard to
 * be used again. */
static struct entry *entry_of(struct gt_process_history *history, const struct gt_process *process, int64_t now_ns,
                              int *status)
{
    struct entry *entry = find(history, process->pid);
    int64_t begin_ns = begin_of(history, process);
    bool is_same = entry && is_of(entry, process, begin_ns);
    if (entry && !is_same && entry->heard_fork && begin_ns < entry->begin_ns)
        return NULL;
    if (entry && !is_same && entry->end_ns == NEVER)
        end(history, entry, now_ns);
    if (!is_same)
        entry = add(history, process->pid, process->parent, begin_ns, status);
    if (entry && entry->words_ns == NEVER)
        entry->met_ns = now_ns;
    return entry;
}

/* Who lived before this reading and was not met in it has ended since the last. */
static void end_others(struct gt_process_history *history, int64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < history->living_count; i++) {
        struct entry *entry = &history->entry[history->living[i]];
        if (entry->end_ns == NEVER && entry->round != history->round)
            end(history, entry, now_ns);
        if (entry->end_ns == NEVER)
            history->living[kept++] = history->living[i];
    }
    history->living_count = kept;
}

void gt_process_history_reaped(struct gt_process_history *history, pid_t pid, int64_t now_ns)
{
    struct entry *entry = history ? find(history, pid) : NULL;
    if (entry && entry->end_ns == NEVER)
        end(history, entry, now_ns);
}

/* CPU time of children comes in clock ticks, in two parts. */
static bool is_above_ticks(double seconds)
{
    return seconds * (double)sysconf(_SC_CLK_TCK) > 2;
}

void gt_process_history_took_over(struct gt_process_history *history, pid_t parent, pid_t child, double seconds)
{
    struct entry *from = find(history, child), *to = find(history, parent);
    if (!from || !to)
        return;
    bool is_alone = to->ends == to->ends_told + 1 && from->ends == from->ends_told && from->end_ns != NEVER;
    bool are_all_listed = from->heard_fork && !history->has_lost && !history->left_out;
    to->ends_told = to->ends;
    if (!is_alone || !are_all_listed || !is_above_ticks(seconds))
        return;
    from->rest = seconds;
    note_change(history, from);
}

void gt_process_history_lost(struct gt_process_history *history)
{
    history->has_lost = true;
}

/* ---- What is known of one ---------------------------------------------------------------------------------------- */

static double seconds_since(const struct gt_process_history *history, int64_t when_ns)
{
    return when_ns == NEVER ? NAN : (double)((when_ns - history->origin_ns) / 1000) / 1e6;
}

static struct gt_process_record record_of(const struct gt_process_history *history, const struct entry *entry)
{
    struct gt_process_record record = entry->record;
    record.begin = seconds_since(history, entry->begin_ns);
    if (history->launched && record.begin < 0) /* the first of them was there a moment before tracking began */
        record.begin = 0;
    record.end = seconds_since(history, entry->end_ns);
    record.ram_peak = fmax(fmax(record.ram_peak, entry->record_peak), entry->is_worker ? entry->forked_peak : NAN);
    /* Records may lack what threads used last, and looks what was used since. 0: too short for the scheduler to tell. */
    if (entry->end_ns != NEVER && entry->heard_fork && entry->record_cpu > 0)
        record.cpu_time = fmax(record.cpu_time, entry->record_cpu);
    else if (entry->end_ns != NEVER)
        record.cpu_time += entry->rest;
    return record;
}

/* ---- A reading of the tree ---------------------------------------------------------------------------------------- */

static bool is_out_of_date(const struct gt_process_history *history, const struct entry *entry)
{
    struct gt_process_record record = record_of(history, entry);
    bool has_grown = record.ram_peak > entry->told_peak * (1 + PEAK_STEP) ||
                     record.cpu_time > entry->told_cpu + CPU_STEP;
    return has_grown || isnan(record.ram_peak) != isnan(entry->told_peak) ||
           isnan(record.cpu_time) != isnan(entry->told_cpu);
}

static void refresh(struct gt_process_history *history, int64_t now_ns)
{
    if (history->refreshed_ns != NEVER && now_ns - history->refreshed_ns < REFRESH_NS)
        return;
    history->refreshed_ns = now_ns;
    for (size_t i = 0; i < history->living_count; i++) {
        struct entry *entry = &history->entry[history->living[i]];
        if (!entry->is_changed && is_out_of_date(history, entry))
            note_change(history, entry);
    }
}

int gt_process_history_read(struct gt_process_history *history, const struct gt_tree *tree, int64_t now_ns)
{
    int status = 0;
    history->round++;
    history->boot_ns = gt_clock_ns(CLOCK_BOOTTIME) - gt_clock_ns(CLOCK_MONOTONIC); /* more after a suspend */
    for (size_t i = 0; i < tree->count && status >= 0; i++) {
        const struct gt_process *process = tree->process[i];
        struct entry *entry = entry_of(history, process, now_ns, &status);
        if (!entry)
            continue;
        read_process(history, entry, process, now_ns);
        if (!process->is_gone && !process->is_zombie)
            entry->round = history->round;
    }
    if (status >= 0)
        end_others(history, now_ns);
    refresh(history, now_ns);
    return status;
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

int gt_process_history_changes(struct gt_process_history *history, const struct gt_process_record **ret, size_t *count)
{
    history->changes.count = 0;
    for (size_t i = 0; i < history->changed_count; i++) {
        struct entry *entry = &history->entry[history->changed[i]];
        struct gt_process_record record = record_of(history, entry);
        if (gt_process_records_add(&history->changes, &record) < 0)
            return -ENOMEM;
        entry->is_changed = false;
        entry->told_cpu = record.cpu_time;
        entry->told_peak = record.ram_peak;
    }
    history->changed_count = 0;
    *ret = history->changes.record;
    *count = history->changes.count;
    return 0;
}

int gt_process_history_records(const struct gt_process_history *history, struct gt_process_records *ret)
{
    for (size_t i = 0; i < history->entry_count; i++) {
        struct gt_process_record record = record_of(history, &history->entry[i]);
        if (gt_process_records_add(ret, &record) < 0)
            return -ENOMEM;
    }
    return 0;
}

int gt_process_history_past(const struct gt_process_history *history, struct gt_snapshot *snapshot)
{
    snapshot->past_count = 0;
    for (size_t i = 0; i < history->entry_count; i++) {
        const struct entry *entry = &history->entry[i];
        if (entry->begin_ns == NEVER || entry->end_ns == NEVER)
            continue;
        struct gt_past_process *past = GT_GROW(snapshot, past);
        if (!past)
            return -ENOMEM;
        *past = (struct gt_past_process){entry->record.pid, entry->begin_ns, entry->end_ns};
    }
    return 0;
}

uint64_t gt_process_history_left_out(const struct gt_process_history *history)
{
    return history->left_out;
}
