#include "sample/walker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"

enum {
    PAUSE = 100,       /* of a process, in times of its walk */
    QUIET_SHARE = 100, /* all walks: one part in so many of a core */
    CHANGING_SHARE = 20,
    STILL_SHARE = 1000,
    STILL_FILES_SHARE = 300,
    STACK_BYTES = 256 * 1024,
};

static const double CHANGE = 0.01;
static const int64_t MOST_KEPT_NS = GT_SECOND / 20, SOONEST_NS = GT_SECOND / 4 - GT_SECOND / 50;
static const int64_t PERIOD_NS = GT_SECOND - GT_SECOND / 20; /* a sample once a second may come a little early */
static const int64_t STILL_PERIOD_NS = 10 * GT_SECOND, STILL_FILES_PERIOD_NS = 2 * GT_SECOND;
static const double MUCH_OF_FILES = 64e6, PART_OF_FILES = 0.1;
static const double MUCH_GROWTH = 4e6, LATE_GROWTH = 1e6; /* for each CPU: see gt_memory_mapped() */

/* One thread hands this to the other: the walking thread owns it while `is_asked`, which is under the lock. */
struct task {
    bool is_asked;
    bool is_stopping;
    bool is_whole;
    struct gt_memory_process *process;
    size_t count, capacity;
    struct gt_memory_totals totals;
    int result;
    int64_t end_ns, duration_ns, cpu_ns;
};

struct gt_walker {
    struct gt_memory *memory;
    const struct gt_root *root;
    const struct gt_clock *clock;
    pthread_t thread;
    bool has_thread;
    bool is_walking; /* asked for, and not yet taken over */
    pthread_mutex_t lock;
    pthread_cond_t wake, finished;
    struct task task;
    struct gt_shared_memory sharing;
    int64_t asked_ns;  /* of the last walk */
    int64_t budget_ns; /* CPU time that walks may use; below 0: to be waited for */
    int64_t budget_at_ns;
    bool is_busy; /* no CPU of the machine was idle lately */
    double cpus;  /* online when it was opened */
    int64_t busy_at_ns;
    double busy_seconds; /* of all CPUs by then */
    int64_t moment_ns, duration_ns, cpu_ns;
    int64_t last_cpu_ns; /* of the last whole walk */
    uint64_t walks;
};

static void walk(struct gt_walker *walker)
{
    struct task *task = &walker->task;
    int64_t cpu = gt_clock_thread_cpu(walker->clock), begin = gt_clock_monotonic(walker->clock);
    task->result = gt_memory_walk(walker->memory, task->process, task->count, &task->totals);
    task->end_ns = gt_clock_monotonic(walker->clock);
    task->duration_ns = task->end_ns - begin;
    task->cpu_ns = gt_clock_thread_cpu(walker->clock) - cpu;
}

static void *run(void *argument)
{
    struct gt_walker *walker = argument;
    prctl(PR_SET_TIMERSLACK, 1);
    pthread_mutex_lock(&walker->lock);
    while (!walker->task.is_stopping) {
        if (!walker->task.is_asked) {
            pthread_cond_wait(&walker->wake, &walker->lock);
            continue;
        }
        pthread_mutex_unlock(&walker->lock);
        walk(walker);
        pthread_mutex_lock(&walker->lock);
        walker->task.is_asked = false;
        pthread_cond_signal(&walker->finished);
    }
    pthread_mutex_unlock(&walker->lock);
    return NULL;
}

/* Signals are the program's: none may be delivered to a thread it does not know. */
static int start_thread(struct gt_walker *walker)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result)
        return -result;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    result = pthread_create(&walker->thread, &attributes, run, walker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    walker->has_thread = result == 0;
    return -result;
}

int gt_walker_open(struct gt_walker **ret, const struct gt_root *root, const struct gt_clock *clock, const char *method,
                   struct gt_availability *availability, struct gt_error *error)
{
    struct gt_walker *walker = calloc(1, sizeof *walker);
    if (!walker)
        return gt_error_system(error, ENOMEM, "memory accounting");
    int result = gt_memory_open(&walker->memory, root, method, availability, error);
    if (result < 0) {
        free(walker);
        return result;
    }
    walker->root = root;
    walker->clock = clock;
    walker->sharing.mapped_seen = gt_memory_method(walker->memory) == GT_MEMORY_RSS ? NAN : gt_memory_mapped(root);
    walker->cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    walker->budget_ns = MOST_KEPT_NS;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&walker->lock, NULL);
    pthread_cond_init(&walker->wake, NULL);
    pthread_cond_init(&walker->finished, &attributes);
    pthread_condattr_destroy(&attributes);
    *ret = walker;
    return 0;
}

void gt_walker_close(struct gt_walker *walker)
{
    if (!walker)
        return;
    if (walker->has_thread) {
        gt_memory_cancel(walker->memory);
        pthread_mutex_lock(&walker->lock);
        walker->task.is_stopping = true;
        pthread_cond_signal(&walker->wake);
        pthread_mutex_unlock(&walker->lock);
        pthread_join(walker->thread, NULL);
    }
    pthread_mutex_destroy(&walker->lock);
    pthread_cond_destroy(&walker->wake);
    pthread_cond_destroy(&walker->finished);
    gt_memory_close(walker->memory);
    gt_shared_memory_release(&walker->sharing);
    free(walker->task.process);
    free(walker);
}

/* True when the walk has ended. The patience is real time, whatever clock the schedule has. */
static bool await(struct gt_walker *walker, int64_t patience_ns)
{
    int64_t until = gt_clock_monotonic(&gt_clock_system) + patience_ns;
    const struct timespec deadline = {until / GT_SECOND, until % GT_SECOND};
    pthread_mutex_lock(&walker->lock);
    while (walker->task.is_asked && patience_ns > 0)
        if (pthread_cond_timedwait(&walker->finished, &walker->lock, &deadline))
            break;
    bool has_ended = !walker->task.is_asked;
    pthread_mutex_unlock(&walker->lock);
    return has_ended;
}

/* Take over the walk in progress once it has ended. */
static void harvest(struct gt_walker *walker, int64_t patience_ns)
{
    struct task *task = &walker->task;
    if (!await(walker, patience_ns))
        return;
    walker->is_walking = false;
    walker->budget_ns -= task->cpu_ns;
    walker->cpu_ns += task->cpu_ns;
    walker->walks++;
    if (task->result < 0)
        return;
    gt_shared_memory_learn(&walker->sharing, task->process, task->count, &task->totals, task->is_whole, task->end_ns,
                           PAUSE);
    if (task->is_whole) {
        walker->moment_ns = task->end_ns;
        walker->duration_ns = task->duration_ns;
        walker->last_cpu_ns = task->cpu_ns;
    }
}

/* Returns how much there is for a walk to do. */
struct walk_need {
    bool has_new;          /* a process that was never walked, and may be */
    bool has_changed;      /* what the last walk said is out of date */
    bool may_have_changed; /* it may be out of date */
    bool has_files;        /* much of it is of files, or memory that programs share as files */
    int64_t allowed_ns;
};

static struct walk_need find_need(const struct gt_walker *walker, int64_t now)
{
    const struct gt_shared_memory *sharing = &walker->sharing;
    struct walk_need need = {.has_changed = sharing->has_left};
    double change = 0, whole = 0, files = 0;
    for (size_t i = 0; i < sharing->count; i++) {
        const struct gt_shared_memory_record *record = &sharing->record[i];
        if (record->is_denied || record->rss == 0 || record->is_pending)
            continue;
        need.has_new |= !record->has_walk && now >= record->allowed_ns;
        need.has_changed |= !record->has_walk || record->is_alone;
        need.may_have_changed |= record->rss != record->asked_rss || record->faults != record->asked_faults;
        change += fabs(record->rss - record->seen) + gt_shared_memory_copied(record);
        whole += record->rss;
        files += record->file_bytes;
        int64_t allowed_ns = gt_shared_memory_allowed(record, now);
        if (allowed_ns > need.allowed_ns)
            need.allowed_ns = allowed_ns;
    }
    need.has_changed |= change > CHANGE * whole;
    need.has_files = files > MUCH_OF_FILES && files > PART_OF_FILES * whole;
    return need;
}

/* A share of the time since the last look, whatever was done with it. */
static void earn(struct gt_walker *walker, int64_t now, bool has_changed)
{
    int64_t passed = walker->budget_at_ns ? now - walker->budget_at_ns : 0;
    walker->budget_ns += passed / (has_changed && !walker->is_busy ? CHANGING_SHARE : QUIET_SHARE);
    walker->budget_ns = walker->budget_ns < MOST_KEPT_NS ? walker->budget_ns : MOST_KEPT_NS;
    walker->budget_at_ns = now;
}

static int64_t still_period(const struct gt_walker *walker, bool has_files)
{
    int64_t least = has_files ? STILL_FILES_PERIOD_NS : STILL_PERIOD_NS;
    int64_t shared = (has_files ? STILL_FILES_SHARE : STILL_SHARE) * walker->last_cpu_ns;
    return shared > least ? shared : least;
}

enum due { NOTHING, ONLY_NEW, WHOLE };

static enum due what_is_due(struct gt_walker *walker, int64_t now)
{
    if (gt_memory_method(walker->memory) == GT_MEMORY_RSS || !walker->sharing.count)
        return NOTHING;
    struct walk_need need = find_need(walker, now);
    earn(walker, now, need.has_changed);
    if (walker->budget_ns < 0)
        return NOTHING;
    bool is_still = !need.may_have_changed && gt_memory_method(walker->memory) == GT_MEMORY_UNIQUE;
    int64_t period = is_still ? still_period(walker, need.has_files) : PERIOD_NS;
    if (walker->walks && now < walker->asked_ns + SOONEST_NS)
        return NOTHING;
    bool is_time = !walker->walks || need.has_changed || now >= walker->asked_ns + period;
    if (is_time && now >= need.allowed_ns)
        return WHOLE;
    return need.has_new ? ONLY_NEW : NOTHING;
}

static int reserve(struct task *task, size_t count)
{
    return GT_GROW_TO(task->process, task->capacity, count);
}

static int ask(struct gt_walker *walker, enum due due, int64_t now)
{
    struct task *task = &walker->task;
    int result = reserve(task, walker->sharing.count);
    if (result >= 0 && !walker->has_thread)
        result = start_thread(walker);
    if (result < 0)
        return result;
    task->count = gt_shared_memory_ask(&walker->sharing, task->process, due == ONLY_NEW);
    task->is_whole = due == WHOLE;
    walker->asked_ns = now;
    walker->is_walking = true;
    pthread_mutex_lock(&walker->lock);
    task->is_asked = true;
    pthread_cond_signal(&walker->wake);
    pthread_mutex_unlock(&walker->lock);
    return 0;
}

static void fill_processes(struct gt_walker *walker, struct gt_frame *frame, struct gt_walker_result *ret)
{
    const struct gt_shared_memory_record *record = walker->sharing.record;
    for (size_t i = 0; i < frame->process_count; i++) {
        double *value = frame->process[i]->value;
        value[GT_RAM] = value[GT_RSS];
        value[GT_RAM_PRIVATE] = record[i].private_bytes;
        value[GT_RAM_SHARED] = record[i].shared_bytes;
        ret->denied += record[i].is_denied;
    }
}

/* Without walks: the sum of resident sets, as was asked for. */
static void count_shared_again(struct gt_scope_memory *memory)
{
    memory->ram = memory->rss;
    memory->private_bytes = memory->anonymous = memory->shared_bytes = NAN;
    memory->counted = 0;
}

static void fill(struct gt_walker *walker, struct gt_frame *frame, struct gt_group_anonymous anonymous, int64_t now,
                 struct gt_walker_result *ret)
{
    bool has_walks = gt_memory_method(walker->memory) != GT_MEMORY_RSS;
    gt_shared_memory_update(&walker->sharing);
    bool has_grown = walker->sharing.grown > MUCH_GROWTH + LATE_GROWTH * walker->cpus;
    walker->sharing.mapped = has_walks && has_grown ? gt_memory_mapped(walker->root) : NAN;
    fill_processes(walker, frame, ret);
    for (int scope = GT_SCOPE_MAIN; scope <= GT_SCOPE_COMBINED; scope++) {
        ret->scope[scope] = gt_shared_memory_scope(&walker->sharing, (enum gt_scope)scope);
        if (!has_walks)
            count_shared_again(&ret->scope[scope]);
    }
    if (has_walks && !isnan(anonymous.least))
        gt_shared_memory_correct(&walker->sharing, anonymous, ret->scope);
    ret->is_estimate = !has_walks || ret->denied || find_need(walker, now).has_changed;
    ret->moment_ns = walker->moment_ns;
    ret->duration_ns = walker->duration_ns;
    ret->cpu_ns = walker->cpu_ns;
    ret->walks = walker->walks;
}

/* Returns true where walks take their time from somebody. The machine counts in clock ticks, so some time has to pass. */
static void look_at_machine(struct gt_walker *walker, const struct gt_frame *frame, int64_t now)
{
    static const double BUSY = 0.9;
    double seconds = frame->system[GT_CPU_TIME], passed = (double)(now - walker->busy_at_ns) / GT_SECOND;
    if (walker->busy_at_ns && passed < 0.25)
        return;
    walker->is_busy = walker->busy_at_ns && seconds - walker->busy_seconds > BUSY * walker->cpus * passed;
    walker->busy_at_ns = now;
    walker->busy_seconds = seconds;
}

int gt_walker_apply(struct gt_walker *walker, struct gt_frame *frame, struct gt_group_anonymous anonymous,
                    int64_t patience_ns, struct gt_walker_result *ret)
{
    int64_t now = gt_clock_monotonic(walker->clock);
    int result = gt_shared_memory_follow(&walker->sharing, frame, now);
    *ret = (struct gt_walker_result){0};
    if (result < 0)
        return result;
    look_at_machine(walker, frame, now);
    if (walker->is_walking)
        harvest(walker, 0);
    if (!walker->is_walking) {
        enum due due = what_is_due(walker, now);
        if (due != NOTHING && ask(walker, due, now) == 0) /* without a thread the figures stay estimates */
            harvest(walker, patience_ns);
    }
    fill(walker, frame, anonymous, now, ret);
    return 0;
}

const char *gt_walker_method(const struct gt_walker *walker)
{
    return gt_memory_label(walker->memory);
}

const struct gt_shared_memory_record *gt_walker_record(const struct gt_walker *walker, size_t index)
{
    return &walker->sharing.record[index];
}
