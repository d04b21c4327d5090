/* The collector "placement". */
#include "collect/process/placement.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "collect/collector.h"
#include "collect/host/host.h"
#include "collect/energy/rapl.h"

/* A look takes up to 7 us for each thread: this keeps them below a hundredth of a core. */
static const int64_t LOOK_NS = GT_SECOND / 10 - GT_SECOND / 100, THREAD_NS = GT_SECOND / 1000;
enum { UNKNOWN = -1, MOST_THREADS = 4096, MOST_CPUS = 8192 };

struct gt_placement_thread {
    pid_t id;
    signed char package; /* where it may run, or where it last ran; UNKNOWN */
    bool is_bound;
    bool was_seen;   /* in the present look */
    bool has_rested; /* used nothing before the last look: where it was then tells nothing */
    unsigned long long ticks, growth;
    signed char before; /* its package at the look before */
};

struct state {
    const struct gt_topology *topology;
    const struct gt_root *root;
};

void gt_placement_free(struct gt_placement *placement)
{
    if (placement)
        free(placement->thread);
    free(placement);
}

/* ---- one thread -------------------------------------------------------------------------------------------------- */

static int bound_by_kernel(const struct gt_topology *topology, pid_t thread)
{
    unsigned long mask[MOST_CPUS / (8 * sizeof(unsigned long))];
    enum { BITS = 8 * sizeof *mask };
    int found = UNKNOWN;
    memset(mask, 0, sizeof mask);
    if (sched_getaffinity(thread, sizeof mask, (cpu_set_t *)mask) < 0)
        return UNKNOWN;
    for (int cpu = 0; cpu < (int)topology->cpu_capacity && cpu < MOST_CPUS; cpu++) {
        int package = mask[cpu / BITS] >> cpu % BITS & 1 ? gt_package_of_cpu(topology, cpu) : UNKNOWN;
        if (package != UNKNOWN && found != UNKNOWN && package != found)
            return UNKNOWN;
        found = package == UNKNOWN ? found : package;
    }
    return found;
}

static ssize_t read_file_of(const struct gt_root *root, pid_t pid, pid_t thread, const char *name, char *text,
                            size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "proc/%d/task/%d/%s", (int)pid, (int)thread, name);
    return gt_root_read(root, path, text, size);
}

/* A stored machine's kernel cannot be asked. */
static int bound_by_status(const struct gt_topology *topology, const struct gt_root *root, pid_t pid, pid_t thread)
{
    static const char key[] = "Cpus_allowed_list:\t";
    char text[4096];
    if (read_file_of(root, pid, thread, "status", text, sizeof text) <= 0)
        return UNKNOWN;
    const char *line = strstr(text, key);
    return line ? gt_package_of_list(topology, line + strlen(key)) : UNKNOWN;
}

/* Field `number` of stat, from 3 on. */
static const char *field_of(const char *text, int number)
{
    const char *at = strrchr(text, ')'); /* names may hold blanks and brackets */
    at = at && at[1] == ' ' ? at + 2 : NULL;
    for (int field = 3; at && field < number; field++) {
        at = strchr(at, ' ');
        at += at != NULL;
    }
    return at;
}

static void read_stat(struct gt_placement_thread *thread, const struct gt_topology *topology,
                      const struct gt_root *root, pid_t pid)
{
    enum { USER_TIME = 14, PROCESSOR = 39 };
    char text[1024], *end;
    if (read_file_of(root, pid, thread->id, "stat", text, sizeof text) <= 0)
        return;
    const char *times = field_of(text, USER_TIME), *processor = field_of(text, PROCESSOR);
    if (!times || !processor)
        return;
    unsigned long long ticks = strtoull(times, &end, 10);
    ticks += strtoull(end, NULL, 10);
    thread->growth = ticks > thread->ticks ? ticks - thread->ticks : 0;
    thread->ticks = ticks;
    thread->has_rested = thread->growth == 0;
    if (!thread->is_bound)
        thread->package = (signed char)gt_package_of_cpu(topology, atoi(processor));
}

/* ---- the threads of a process ------------------------------------------------------------------------------------ */

static struct gt_placement_thread *find_thread(struct gt_placement *placement, pid_t id, size_t likely)
{
    size_t count = placement->thread_count;
    for (size_t tried = 0; tried < count; tried++) { /* the order hardly changes */
        struct gt_placement_thread *thread = &placement->thread[(likely + tried) % count];
        if (thread->id == id)
            return thread;
    }
    struct gt_placement_thread *added = GT_GROW(placement, thread);
    if (added)
        *added = (struct gt_placement_thread){.id = id, .package = UNKNOWN, .before = UNKNOWN};
    return added;
}

static int see(struct gt_placement *placement, const struct gt_topology *topology, const struct gt_root *root,
               pid_t pid, pid_t id, size_t number)
{
    struct gt_placement_thread *thread = find_thread(placement, id, number);
    if (!thread)
        return -ENOMEM;
    int bound = root->is_machine ? bound_by_kernel(topology, id) : bound_by_status(topology, root, pid, id);
    thread->before = thread->has_rested || placement->has_rested ? UNKNOWN : thread->package;
    thread->has_rested = false;
    thread->growth = 0;
    thread->is_bound = bound != UNKNOWN;
    if (thread->is_bound)
        thread->package = (signed char)bound;
    thread->was_seen = true;
    return 0;
}

static int list_threads(struct gt_placement *placement, const struct gt_topology *topology, const struct gt_root *root,
                        const struct gt_process *process)
{
    if (!(process->value[GT_THREADS] > 1))
        return see(placement, topology, root, process->pid, process->pid, 0);
    char path[64];
    snprintf(path, sizeof path, "proc/%d/task", (int)process->pid);
    int status = 0;
    DIR *tasks = gt_root_list(root, path);
    if (!tasks)
        return errno == ENOMEM ? -ENOMEM : 0;
    size_t number = 0;
    for (struct dirent *entry; !status && number < MOST_THREADS && (entry = readdir(tasks));)
        if (entry->d_name[0] != '.')
            status = see(placement, topology, root, process->pid, (pid_t)atoi(entry->d_name), number++);
    closedir(tasks);
    return status;
}

static void forget_ended(struct gt_placement *placement)
{
    size_t kept = 0;
    for (size_t i = 0; i < placement->thread_count; i++)
        if (placement->thread[i].was_seen) {
            placement->thread[kept] = placement->thread[i];
            placement->thread[kept++].was_seen = false;
        }
    placement->thread_count = kept;
}

/* The package that no thread may leave, nor was on another at the look before; UNKNOWN. */
static int common_package(const struct gt_placement *placement)
{
    int package = placement->thread_count ? placement->thread[0].package : UNKNOWN;
    for (size_t i = 0; i < placement->thread_count; i++) {
        const struct gt_placement_thread *thread = &placement->thread[i];
        bool has_moved = thread->before != UNKNOWN && thread->before != thread->package;
        if (!thread->is_bound || has_moved || thread->package != package)
            return UNKNOWN;
    }
    return package;
}

/* ---- the split --------------------------------------------------------------------------------------------------- */

static void clear_split(struct gt_placement *placement)
{
    memset(placement->split, 0, sizeof placement->split);
    memset(placement->bound_split, 0, sizeof placement->bound_split);
    memset(placement->moved_split, 0, sizeof placement->moved_split);
}

static void add_thread(struct gt_placement *placement, const struct gt_placement_thread *thread, double part)
{
    int before = thread->before == UNKNOWN ? thread->package : thread->before;
    placement->split[thread->package] += part / 2;
    placement->split[before] += part / 2;
    if (before != thread->package) {
        placement->moved_split[thread->package] += part / 2;
        placement->moved_split[before] += part / 2;
    } else if (thread->is_bound) {
        placement->bound_split[thread->package] += part;
    }
}

/* By what each thread used since the last look. When none of it shows yet, for threads count in clock ticks, each thread counts
 * the same at the first look, and later the split of the last stays. */
static void split_by_threads(struct gt_placement *placement)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < placement->thread_count; i++) {
        bool is_placed = placement->thread[i].package != UNKNOWN;
        sum += is_placed ? (double)placement->thread[i].growth : 0;
        count += is_placed;
    }
    if (count == 0 || (sum == 0 && placement->is_known))
        return;
    clear_split(placement);
    for (size_t i = 0; i < placement->thread_count; i++) {
        const struct gt_placement_thread *thread = &placement->thread[i];
        if (thread->package != UNKNOWN)
            add_thread(placement, thread, sum > 0 ? (double)thread->growth / sum : 1 / count);
    }
    placement->is_known = true;
}

static int look(struct gt_placement *placement, const struct gt_topology *topology, const struct gt_root *root,
                const struct gt_process *process)
{
    int status = list_threads(placement, topology, root, process);
    placement->has_rested = false;
    forget_ended(placement);
    int package = common_package(placement);
    if (package != UNKNOWN) {
        clear_split(placement);
        placement->split[package] = placement->bound_split[package] = 1;
        placement->is_known = true;
        return status;
    }
    for (size_t i = 0; i < placement->thread_count; i++)
        read_stat(&placement->thread[i], topology, root, process->pid);
    split_by_threads(placement);
    return status;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* CPU time from before tracking is nobody's business here. */
static struct gt_placement *placement_of(struct gt_process *process)
{
    if (process->placement)
        return process->placement;
    process->placement = calloc(1, sizeof *process->placement);
    if (process->placement)
        process->placement->seconds = process->baseline.own_base;
    return process->placement;
}

/* One that has not run since was nowhere: nothing is read for it. */
static int place(const struct state *state, const struct gt_snapshot *snapshot, struct gt_process *process)
{
    struct gt_placement *placement = placement_of(process);
    if (!placement)
        return -ENOMEM;
    double growth = fmax(0, process->value[GT_CPU_TIME] - placement->seconds);
    int64_t pause = LOOK_NS + (int64_t)placement->thread_count * THREAD_NS;
    bool is_due = !placement->is_known || snapshot->monotonic_ns - placement->looked_ns >= pause;
    int status = 0;
    memset(placement->recent, 0, sizeof placement->recent);
    memset(placement->recent_bound, 0, sizeof placement->recent_bound);
    memset(placement->recent_moved, 0, sizeof placement->recent_moved);
    placement->has_rested |= is_due && growth == 0;
    if (is_due && !process->is_gone && !process->is_zombie && (growth > 0 || !placement->is_known)) {
        placement->looked_ns = snapshot->monotonic_ns;
        status = look(placement, state->topology, state->root, process);
    }
    if (!placement->is_known || !(growth > 0))
        return status;
    for (size_t i = 0; i < snapshot->package_count; i++) {
        placement->recent[i] = growth * placement->split[i];
        placement->recent_bound[i] = growth * placement->bound_split[i];
        placement->recent_moved[i] = growth * placement->moved_split[i];
    }
    placement->seconds += growth;
    return status;
}

static int placement_collect(void *opaque, struct gt_snapshot *snapshot, struct gt_error *error)
{
    const struct state *state = opaque;
    int status = 0;
    for (size_t i = 0; i < snapshot->process_count && snapshot->package_count; i++)
        if (place(state, snapshot, snapshot->process[i]) < 0)
            status = gt_error_system(error, ENOMEM, "threads of process %d", (int)snapshot->process[i]->pid);
    return status;
}

static int placement_open(void *opaque, const struct gt_collect_options *options, struct gt_snapshot *snapshot,
                          struct gt_availability *availability, struct gt_error *error)
{
    (void)error;
    struct state *state = opaque;
    const char *why = options->topology->why_no_packages;
    const struct gt_collector_type *owner = snapshot->owner[GT_CPU_ENERGY]; /* RAPL says so itself */
    if (!snapshot->package_count && owner && owner != &gt_collector_rapl && gt_packages_are_several(options->root))
        gt_packages_forget(snapshot, options->topology, "the source of their energy adds them up");
    if (!snapshot->package_count)
        return gt_unavailable(availability, GT_ABSENT, NULL, "%s",
                              *why ? why : "no two processor packages have energy counters of their own");
    *state = (struct state){options->topology, options->root};
    return 0;
}

const struct gt_collector_type gt_collector_placement = {
    .name = "placement",
    .help = "on which processor package the processes use their CPU time",
    .source = "CPU affinity, /proc/PID/task/TID/stat",
    .state_size = sizeof(struct state),
    .open = placement_open,
    .collect = placement_collect,
};
