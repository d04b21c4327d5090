#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregate/attribute.h"
#include "collect/process/placement.h"

/* The time between two moments. */
struct gt_cpu_stretch {
    double seconds;   /* of the stretch that the ratio is taken over */
    double busy, job; /* CPU seconds in it; NaN: not known */
    double firm;      /* at most `job` */
};

void gt_idle_power_init(struct gt_idle_power *power, int64_t start_ns)
{
    *power = (struct gt_idle_power){.watts = NAN, .since_ns = start_ns, .is_begun = true};
}

static void begin_stretch(struct gt_idle_power *power, int64_t now_ns, double joules, double busy)
{
    power->since_ns = now_ns;
    power->joules = joules;
    power->busy = busy;
    power->is_begun = true;
}

void gt_idle_power_see(struct gt_idle_power *power, int64_t now_ns, double joules, double busy, bool is_idle,
                       double least, double allowance)
{
    bool has_moved = joules > power->shown;
    power->shown = joules;
    if (!is_idle)
        power->is_begun = false;
    if (joules <= 0)
        begin_stretch(power, now_ns, joules, busy);
    if (!has_moved)
        return;
    double seconds = (double)(now_ns - power->since_ns) / 1e9;
    if (power->is_begun && seconds < least)
        return;
    if (power->is_begun && busy - power->busy <= allowance * seconds)
        power->watts = fmin(power->watts, (joules - power->joules) / seconds);
    begin_stretch(power, now_ns, joules, busy);
}

double gt_idle_power_take(struct gt_idle_power *power, double joules, double seconds)
{
    double idle = power->watts * (power->untaken += seconds);
    if (!(joules > 0))
        return 0;
    power->untaken = 0;
    return isnan(idle) ? 0 : fmin(joules, idle);
}

/* Busy time is counted in ticks of 10 ms for each core: shorter stretches tell little. */
const int64_t gt_cpu_stretch_ns = GT_SECOND / 10;
/* CPUs busier than that are not idle. */
static const double IDLE_BUSY_RATIO = 0.02;
/* From that on a stretch is long: whoever shares a package takes many turns. */
static const double LONG_SECONDS = 0.25;
/* Deviations that a difference may have by chance. */
static const double NOISE = 2;

double gt_energy_advance(struct gt_energy *energy, double joules)
{
    double growth = fmax(0, joules - energy->total);
    energy->total += growth;
    energy->is_measured = true;
    return growth;
}

double gt_energy_divide(struct gt_energy *energy, enum gt_idle_policy policy, double joules, double idle, double ratio,
                        bool takes_idle)
{
    double to_job = (joules - idle) * ratio;
    energy->other += joules - idle - to_job;
    if (policy == GT_IDLE_ALL && takes_idle) {
        to_job += idle;
        energy->idle_job += idle;
    } else {
        energy->idle += idle;
    }
    energy->job += to_job;
    return to_job;
}

void gt_cpu_share_init(struct gt_cpu_share *share, int64_t now_ns)
{
    *share = (struct gt_cpu_share){.at_ns = now_ns};
    gt_idle_power_init(&share->idle, now_ns);
    share->anchor[0].at_ns = share->anchor[1].at_ns = share->looked.at_ns = now_ns;
    for (int i = 0; i < 2; i++)
        share->look[i] = (struct gt_cpu_look){NAN, NAN, NAN};
}

/* The next stretch begins here. CPU time of the job above the busy time became known late (ticks, children waited for): the next
 * stretch is charged with it. */
static void move_anchors(struct gt_cpu_share *share, const struct gt_cpu_use *use)
{
    struct gt_cpu_use *anchor = share->anchor;
    if (use->at_ns - anchor[1].at_ns < gt_cpu_stretch_ns)
        return;
    double surplus = fmax(0, (use->job - anchor[1].job) - (use->busy - anchor[1].busy));
    anchor[0] = anchor[1];
    anchor[1] = *use;
    anchor[1].job -= surplus;
}

/* The window is one in which some process ran. */
static double idle_energy(struct gt_cpu_share *share, enum gt_idle_policy policy, double joules, double seconds)
{
    double idle = gt_idle_power_take(&share->idle, joules, seconds);
    return policy == GT_IDLE_SHARE ? 0 : idle;
}

/* The stretch that ends with a reading. */
static struct gt_cpu_stretch cpu_share_stretch(const struct gt_cpu_share *share, const struct gt_cpu_use *use)
{
    const struct gt_cpu_use *since = &share->anchor[use->at_ns - share->anchor[1].at_ns >= gt_cpu_stretch_ns];
    struct gt_cpu_stretch stretch = {.seconds = (double)(use->at_ns - since->at_ns) / 1e9, .busy = NAN, .job = NAN};
    if (isnan(use->busy) || isnan(use->job))
        return stretch;
    stretch.busy = fmax(0, use->busy - since->busy);
    stretch.job = fmax(0, use->job - since->job);
    stretch.firm = fmin(stretch.job, fmax(0, use->firm - since->firm));
    return stretch;
}

/* ---- how far off ---- */

double gt_tick_seconds(void)
{
    return 1.0 / (double)sysconf(_SC_CLK_TCK);
}

static double squared(double x)
{
    return x * x;
}

/* The variance of busy time that was counted in ticks, as a part of it. Of N ticks a part p found a CPU busy: as many as N p, give
 * or take sqrt(N p (1 - p)); and the ends lie anywhere between two ticks, and between the counter and what was read after it. */
static double variance_of_ticks(double busy, double seconds, int core_count, double late)
{
    double tick = gt_tick_seconds(), part = fmin(1, busy / (core_count * seconds));
    return fmin(1, (1 - part) * tick / busy + squared((tick + late) / seconds) / 6);
}

/* A window's joules of the job err to either side. Windows of one stretch err together. */
static void add_variance(struct gt_cpu_share *share, int core_count, double growth, double seconds,
                         const struct gt_cpu_use *use, struct gt_cpu_stretch stretch)
{
    double busy = fmax(stretch.busy, stretch.job);
    if (!(busy > 0) || !(stretch.seconds > 0))
        return;
    double most = growth * fmin(1, stretch.job / busy);
    share->variance += squared(most) * variance_of_ticks(busy, stretch.seconds, core_count, use->late) *
                       fmax(1, stretch.seconds / seconds);
}

/* The part of a difference that ticks do not explain. */
static double beyond(double difference, double noise)
{
    return fmax(0, fabs(difference) - noise);
}

/* Who shares a package may do so in turns that are shorter than a window, and power may follow them: then CPU time alone does not
 * tell the share. Where the job's part has changed from one stretch to the next it may have changed within each. In a short one a
 * change of part and power together is the most that counts; what happens in a long one is not known, and all of its energy
 * may follow. */
static double leaning_of(const struct gt_cpu_look look[3], double seconds, double noise)
{
    double ratio = 0, rate = 0;
    for (int i = 1; i < 3; i++) {
        ratio = fmax(ratio, beyond(look[i].ratio - look[0].ratio, noise * look[0].ratio));
        rate = fmax(rate, beyond(look[i].rate - look[0].rate, noise * look[0].rate));
    }
    return seconds < LONG_SECONDS ? ratio * rate * look[0].busy : ratio * look[0].rate * look[0].busy;
}

static void add_leaning(struct gt_cpu_share *share, int core_count, const struct gt_cpu_use *use)
{
    double busy = use->busy - share->looked.busy, joules = share->energy.total - share->looked_joules;
    double seconds = (double)(use->at_ns - share->looked.at_ns) / 1e9;
    if (use->at_ns - share->looked.at_ns < gt_cpu_stretch_ns)
        return;
    struct gt_cpu_look now = {0, 0, busy};
    if (busy > 0) {
        double noise = NOISE * sqrt(2 * variance_of_ticks(busy, seconds, core_count, use->late));
        now.rate = joules / busy;
        now.ratio = fmin(1, fmax(0, use->job - share->looked.job) / busy);
        const struct gt_cpu_look looks[3] = {now, share->look[0], share->look[1]};
        share->leaning += leaning_of(looks, seconds, noise);
    }
    share->look[1] = share->look[0];
    share->look[0] = now;
    share->looked = *use;
    share->looked_joules = share->energy.total;
}

/* Divide the joules up to a reading, and begin the next stretch when this one is long enough; joules that are divided by CPU time. */
static double cpu_share_charge(struct gt_cpu_share *share, const struct gt_attribution *attribution, int core_count,
                               double joules, const struct gt_cpu_use *use, struct gt_cpu_stretch stretch)
{
    double growth = gt_energy_advance(&share->energy, joules), seconds = (double)(use->at_ns - share->at_ns) / 1e9;
    share->at_ns = use->at_ns;
    share->joules = 0;
    if (isnan(stretch.busy)) {
        share->energy.unattributed += growth;
        return 0;
    }
    double busy = stretch.busy, job = fmin(stretch.job, busy);
    gt_idle_power_see(&share->idle, use->at_ns, share->energy.total, use->busy, true,
                      attribution->idle_seconds[GT_ENERGY_CPU], IDLE_BUSY_RATIO * core_count);
    add_variance(share, core_count, growth, seconds, use, stretch);
    add_leaning(share, core_count, use);
    double used = idle_energy(share, attribution->policy, growth, seconds), idle = busy > 0 ? used : growth;
    share->joules = gt_energy_divide(&share->energy, attribution->policy, growth, idle, busy > 0 ? job / busy : 0,
                                     true);
    share->joules_per_cpu_second = job > 0 ? share->joules / (job * seconds / stretch.seconds) : 0;
    move_anchors(share, use);
    return growth - idle;
}

void gt_attribute_cpu(struct gt_attribution *attribution, double joules, struct gt_cpu_use use)
{
    struct gt_cpu_share *share = &attribution->cpu;
    attribution->cpu_joules = 0;
    if (isnan(joules) || use.at_ns <= share->at_ns)
        return;
    cpu_share_charge(share, attribution, attribution->core_count, joules, &use, cpu_share_stretch(share, &use));
    attribution->energy[GT_ENERGY_CPU] = share->energy;
    attribution->cpu_joules = share->joules;
    attribution->joules_per_cpu_second = share->joules_per_cpu_second;
}

/* ---- several packages -------------------------------------------------------------------------------------------- */

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

/* The part of the CPU time of threads that were not seen to move that is taken to have been where it seems. */
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
        window->stretch[i] = cpu_share_stretch(&package->cpu, &window->use[i]);
    }
}

/* The job's CPU time in a stretch beyond that for which a package was busy. Time of ended processes, and clock ticks, that
 * became known late are none: the counters of n CPUs are off by some times sqrt(n) ticks together. */
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
    sum->idle_job += part->idle_job;
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
        window.active[i] = cpu_share_charge(&package->cpu, attribution, frame->package[i].cpus,
                                            frame->package[i].value[GT_CPU_ENERGY], &window.use[i], window.stretch[i]);
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
