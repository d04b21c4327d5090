/* CPU energy of machines with several packages. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/attribute_cpu.h"
#include "collect/process/placement.h"

static int begin(struct gt_attribution *attribution, const struct gt_frame *frame)
{
    if (attribution->package)
        return 0;
    attribution->package = calloc(frame->package_count, sizeof *attribution->package);
    if (!attribution->package)
        return -ENOMEM;
    attribution->package_count = frame->package_count;
    attribution->placement_error = 0;
    for (size_t i = 0; i < frame->package_count; i++) {
        attribution->package[i].number = frame->package[i].number;
        gt_cpu_share_init(&attribution->package[i].cpu, attribution->start_ns);
    }
    return 0;
}

/* ---- the job's CPU time ------------------------------------------------------------------------------------------ */

static void add(struct gt_package_share *package, double seconds, double bound, double firm)
{
    package->recent += seconds;
    package->recent_bound += bound;
    package->job += seconds;
    package->bound += bound;
    package->firm += firm;
}

/* Of CPU time of threads that were not seen to move, the part that is taken to have been where it seems. */
static double stayed(const struct gt_attribution *attribution)
{
    return attribution->unbound > 0 ? 1 - attribution->moved / attribution->unbound : 1;
}

static void note_moves(struct gt_attribution *attribution, const struct gt_tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        const struct gt_placement *placement = tree->process[i]->placement;
        for (size_t k = 0; placement && k < attribution->package_count; k++) {
            attribution->unbound += placement->recent[k] - placement->recent_bound[k];
            attribution->moved += placement->recent_moved[k];
        }
    }
}

static void place_processes(struct gt_attribution *attribution, const struct gt_tree *tree)
{
    note_moves(attribution, tree);
    for (size_t i = 0; i < tree->count; i++) {
        const struct gt_placement *placement = tree->process[i]->placement;
        for (size_t k = 0; placement && k < attribution->package_count; k++) {
            double bound = placement->recent_bound[k], unbound = placement->recent[k] - bound;
            double firm = bound + (unbound - placement->recent_moved[k]) * stayed(attribution);
            add(&attribution->package[k], placement->recent[k], bound, firm);
            attribution->package[k].recent_loose += unbound;
        }
    }
}

/* Ways to divide CPU time that was seen in no living process, the best first. */
enum way { AS_THOSE_THAT_ENDED, AS_THE_REST_NOW, AS_SO_FAR, AS_WHO_LIVES, AS_THE_MACHINE, WAYS };

struct weights {
    double on[GT_PACKAGES], bound[GT_PACKAGES];
    double sum;
};

static double split_of_living(const struct gt_tree *tree, size_t package, bool is_bound)
{
    double sum = 0;
    for (size_t i = 0; i < tree->count; i++) {
        const struct gt_placement *placement = tree->process[i]->placement;
        if (placement && placement->is_known)
            sum += (is_bound ? placement->bound_split : placement->split)[package];
    }
    return sum;
}

static struct weights weights_of(enum way way, const struct gt_attribution *attribution, const struct gt_frame *frame,
                                 const struct gt_tree *tree)
{
    struct weights weights = {.sum = 0};
    for (size_t i = 0; i < attribution->package_count; i++) {
        const struct gt_package_share *package = &attribution->package[i];
        const double on[WAYS] = {tree->left_on[i] - attribution->left_on[i], package->recent, package->job,
                                 split_of_living(tree, i, false), frame->package[i].value[GT_CPU_TIME]};
        const double bound[WAYS] = {tree->left_bound[i] - attribution->left_bound[i], package->recent_bound,
                                    package->bound, split_of_living(tree, i, true), 0};
        weights.on[i] = on[way];
        weights.bound[i] = bound[way];
        weights.sum += on[way] > 0 ? on[way] : 0;
    }
    return weights;
}

/* The sum over packages is the job's CPU time. What processes seemed to have used and had not is made up for later. */
static void place_rest(struct gt_attribution *attribution, const struct gt_frame *frame, const struct gt_tree *tree,
                       double job)
{
    struct weights weights = {.sum = 0};
    double rest = job;
    for (size_t i = 0; i < attribution->package_count; i++)
        rest -= attribution->package[i].job;
    int way = -1;
    while (weights.sum <= 0 && ++way < WAYS)
        weights = weights_of(way, attribution, frame, tree);
    double known = way == AS_THE_MACHINE ? 0 : stayed(attribution);
    for (size_t i = 0; i < attribution->package_count && rest > 0 && weights.sum > 0; i++) {
        double seconds = rest * weights.on[i] / weights.sum, bound = rest * weights.bound[i] / weights.sum;
        if (seconds > 0)
            add(&attribution->package[i], seconds, bound, bound + (seconds - bound) * known);
    }
}

static void place_job(struct gt_attribution *attribution, const struct gt_frame *frame, const struct gt_tree *tree,
                      double job)
{
    bool is_new = frame->monotonic_ns > attribution->placed_ns;
    for (size_t i = 0; i < attribution->package_count; i++)
        attribution->package[i].recent = attribution->package[i].recent_bound = attribution->package[i].recent_loose =
            0;
    if (is_new)
        place_processes(attribution, tree);
    place_rest(attribution, frame, tree, job);
    memcpy(attribution->left_on, tree->left_on, sizeof attribution->left_on);
    memcpy(attribution->left_bound, tree->left_bound, sizeof attribution->left_bound);
    attribution->placed_ns = frame->monotonic_ns;
}

/* ---- one window -------------------------------------------------------------------------------------------------- */

/* A reading of all packages. */
struct window {
    size_t count;
    struct gt_cpu_use use[GT_PACKAGES];
    struct gt_cpu_stretch stretch[GT_PACKAGES];
    double active[GT_PACKAGES]; /* joules that were divided by CPU time */
};

static void open_window(struct window *window, const struct gt_attribution *attribution, const struct gt_frame *frame,
                        bool is_job_known)
{
    window->count = attribution->package_count;
    for (size_t i = 0; i < window->count; i++) {
        const struct gt_package_share *package = &attribution->package[i];
        window->use[i] = (struct gt_cpu_use){.at_ns = frame->monotonic_ns,
                                             .busy = frame->package[i].value[GT_CPU_TIME],
                                             .job = is_job_known ? package->job : NAN,
                                             .firm = package->firm,
                                             .late = frame->read_seconds};
        window->stretch[i] = gt_cpu_share_stretch(&package->cpu, &window->use[i]);
    }
}

/* Of the job's CPU time in a stretch, what is more than a package was busy, and not because it became known late: what ended
 * processes had used does, and clock ticks. The counters of n CPUs are off by some times sqrt(n) ticks together. */
static double excess_of(const struct window *window, const struct gt_frame *frame, size_t package, double loose)
{
    const struct gt_cpu_stretch *stretch = &window->stretch[package];
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    double excess = stretch->job - stretch->busy;
    return excess > 2 * tick * sqrt(frame->package[package].cpus) ? fmin(excess, loose) : 0;
}

static void move(struct gt_attribution *attribution, struct window *window, size_t package, double seconds)
{
    attribution->package[package].job += seconds;
    attribution->package[package].recent = fmax(0, attribution->package[package].recent + seconds);
    window->use[package].job += seconds;
    window->stretch[package].job += seconds;
}

/* Nobody used a package more than it was busy: threads were elsewhere between two looks, where there was room for them. */
static void fit(struct gt_attribution *attribution, struct window *window, const struct gt_frame *frame)
{
    for (size_t from = 0; from < window->count; from++) {
        double excess = excess_of(window, frame, from, attribution->package[from].recent_loose);
        for (size_t to = 0; to < window->count && excess > 0; to++) {
            double room = window->stretch[to].busy - window->stretch[to].job;
            double seconds = fmin(excess, room);
            if (to == from || !(seconds > 0))
                continue;
            move(attribution, window, from, -seconds);
            move(attribution, window, to, seconds);
            excess -= seconds;
        }
    }
}

/* ---- how far off ------------------------------------------------------------------------------------------------- */

static double rate_of(const struct window *window, size_t package)
{
    const struct gt_cpu_stretch *stretch = &window->stretch[package];
    return stretch->busy > 0 ? window->active[package] / stretch->busy : 0;
}

/* The job's joules when all of its time that is not firm was where it costs most (`sign` 1) or least (-1). */
static double extreme(const struct window *window, double loose, int sign)
{
    bool is_full[GT_PACKAGES] = {false};
    double joules = 0;
    for (size_t i = 0; i < window->count; i++)
        joules += rate_of(window, i) * window->stretch[i].firm;
    for (size_t turn = 0; turn < window->count && loose > 0; turn++) {
        size_t best = window->count;
        for (size_t i = 0; i < window->count; i++)
            if (!is_full[i] && (best == window->count || sign * rate_of(window, i) > sign * rate_of(window, best)))
                best = i;
        double seconds = fmin(loose, fmax(0, window->stretch[best].busy - window->stretch[best].firm));
        joules += rate_of(window, best) * seconds;
        loose -= seconds;
        is_full[best] = true;
    }
    return joules;
}

static double error_of(const struct window *window)
{
    double joules = 0, loose = 0;
    for (size_t i = 0; i < window->count; i++) {
        double job = fmin(window->stretch[i].job, window->stretch[i].busy);
        joules += rate_of(window, i) * job;
        loose += fmax(0, job - window->stretch[i].firm);
    }
    return loose > 0 ? fmax(0, fmax(extreme(window, loose, 1) - joules, joules - extreme(window, loose, -1))) : 0;
}

/* ---- all packages ------------------------------------------------------------------------------------------------ */

static void add_energy(struct gt_energy *sum, const struct gt_energy *part)
{
    sum->is_measured |= part->is_measured;
    sum->total += part->total;
    sum->job += part->job;
    sum->other += part->other;
    sum->idle += part->idle;
    sum->unattributed += part->unattributed;
}

static void sum_up(struct gt_attribution *attribution, double seconds)
{
    struct gt_energy *sum = &attribution->energy[GT_ENERGY_CPU];
    *sum = (struct gt_energy){0};
    for (size_t i = 0; i < attribution->package_count; i++) {
        add_energy(sum, &attribution->package[i].cpu.energy);
        attribution->cpu_joules += attribution->package[i].cpu.joules;
    }
    attribution->joules_per_cpu_second = seconds > 0 ? attribution->cpu_joules / seconds : 0;
}

int gt_attribute_packages(struct gt_attribution *attribution, const struct gt_frame *frame, const struct gt_tree *tree,
                          double job)
{
    struct window window;
    double seconds = 0;
    int status = begin(attribution, frame);
    if (status < 0)
        return status;
    attribution->cpu_joules = 0;
    place_job(attribution, frame, tree, job);
    if (isnan(frame->system[GT_CPU_ENERGY]) || frame->monotonic_ns <= attribution->package[0].cpu.at_ns)
        return 0;
    open_window(&window, attribution, frame, !isnan(job));
    fit(attribution, &window, frame);
    for (size_t i = 0; i < window.count; i++) {
        struct gt_package_share *package = &attribution->package[i];
        window.active[i] = gt_cpu_share_charge(&package->cpu, attribution, frame->package[i].cpus,
                                               frame->package[i].value[GT_CPU_ENERGY], &window.use[i],
                                               window.stretch[i]);
        seconds += package->recent;
    }
    attribution->placement_error += isnan(job) ? 0 : error_of(&window);
    sum_up(attribution, seconds);
    return 0;
}

void gt_attribution_show_package(const struct gt_attribution *attribution, const struct gt_frame *frame, size_t package,
                                 struct gt_package_figures *ret)
{
    const struct gt_package_share *share = &attribution->package[package];
    const double *counted = frame->package[package].value;
    *ret = (struct gt_package_figures){.number = share->number,
                                       .value = {
                                           [GT_PACKAGE_TOTAL] = share->cpu.energy.total,
                                           [GT_PACKAGE_JOB] = share->cpu.energy.job,
                                           [GT_PACKAGE_OTHER] = share->cpu.energy.other,
                                           [GT_PACKAGE_IDLE] = share->cpu.energy.idle,
                                           [GT_PACKAGE_UNATTRIBUTED] = share->cpu.energy.unattributed,
                                           [GT_PACKAGE_CORE] = counted[GT_CORE_ENERGY],
                                           [GT_PACKAGE_UNCORE] = counted[GT_UNCORE_ENERGY],
                                           [GT_PACKAGE_DRAM] = counted[GT_DRAM_ENERGY],
                                           [GT_PACKAGE_BUSY_TIME] = counted[GT_CPU_TIME],
                                           [GT_PACKAGE_JOB_TIME] = share->job,
                                           [GT_PACKAGE_BOUND_TIME] = share->bound,
                                       }};
}
