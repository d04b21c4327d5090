#include "aggregate/attribute.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/grow.h"
#include "collect/process/placement.h"

const char *const gt_idle_policy_names[GT_IDLE_POLICIES] = {"share", "exclude", "all"};

/* A shorter time has too few ticks, and too few steps of the counter. */
static const double IDLE_SECONDS = 0.05, IDLE_REFRESHES = 5;
/* CPU times are compared over at least this time: busy time is counted in ticks of 10 ms for each core. */
static const int64_t WINDOW_NS = GT_SECOND / 10;
/* CPUs busier than that are not idle. */
static const double IDLE_BUSY_RATIO = 0.02;
/* From that on a window is long: programs that share a package take many turns in it. */
static const double LONG_SECONDS = 0.25;
/* Deviations that a difference may have by chance. */
static const double NOISE = 2;
/* Power over shorter times would mostly be errors of clocks. */
static const double LEAST_SECONDS = 0.01;

int gt_idle_policy_find(const char *name)
{
    for (int i = 0; i < GT_IDLE_POLICIES; i++)
        if (!strcmp(gt_idle_policy_names[i], name))
            return i;
    return -EINVAL;
}

const char *gt_energy_method(enum gt_energy_device device, bool by_package)
{
    static const char *const methods[GT_ENERGY_DEVICES] = {
        [GT_ENERGY_CPU] = "energy x CPU time of the job / busy CPU time of the machine",
        [GT_ENERGY_DRAM] = "energy x memory of the job / memory in use",
        [GT_ENERGY_GPU] = "each GPU: all when only the job uses it, else by share of SM time",
    };
    if (device == GT_ENERGY_CPU && by_package)
        return "each package: energy x CPU time of the job on it / busy CPU time of the package; CPU time counts where "
               "threads may run, else where they last ran";
    return methods[device];
}

double gt_energy_share_seconds(enum gt_energy_device device)
{
    return device == GT_ENERGY_CPU ? (double)WINDOW_NS / 1e9 : 0;
}

static void begin_share(struct gt_cpu_share *share, int64_t now_ns)
{
    *share = (struct gt_cpu_share){.at_ns = now_ns,
                                   .idle = {.watts = NAN, .since_ns = now_ns, .is_begun = true},
                                   .before = {{NAN, NAN, NAN}, {NAN, NAN, NAN}}};
    share->window_start[0].at_ns = share->window_start[1].at_ns = now_ns;
}

void gt_attribution_init(struct gt_attribution *attribution, enum gt_idle_policy policy, int core_count, int64_t now_ns)
{
    *attribution = (struct gt_attribution){.policy = policy, .core_count = core_count, .start_ns = now_ns};
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        gt_coverage_init(&attribution->coverage[i], now_ns, 0);
        attribution->idle_seconds[i] = IDLE_SECONDS;
    }
    attribution->now_ns = now_ns;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        attribution->job_power[i].at_ns = now_ns;
    begin_share(&attribution->cpu, now_ns);
    attribution->memory_ratio = NAN;
    attribution->placement_error = NAN;
}

void gt_attribution_refresh(struct gt_attribution *attribution, const double refresh[GT_ENERGY_DEVICES])
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        if (!isnan(attribution->coverage[i].joules))
            continue;
        gt_coverage_init(&attribution->coverage[i], attribution->start_ns, refresh[i]);
        if (refresh[i] > 0)
            attribution->idle_seconds[i] = fmax(IDLE_SECONDS, IDLE_REFRESHES * refresh[i]);
    }
}

void gt_attribution_release(struct gt_attribution *attribution)
{
    free(attribution->gpu);
    free(attribution->share_joules);
    free(attribution->package);
    *attribution = (struct gt_attribution){0};
}

/* ---- Joules ------------------------------------------------------------------------------------------------------- */

/* Returns joules since the last reading. A counter never goes back. */
static double advance(struct gt_energy *energy, double joules)
{
    double growth = fmax(0, joules - energy->total);
    energy->total += growth;
    energy->is_measured = true;
    return growth;
}

/* Divides joules, of which the job has `ratio` of the active part. Returns the job's. */
static double divide(struct gt_energy *energy, double idle, double active, double ratio, bool job_takes_idle)
{
    double to_job = active * ratio;
    energy->other += active - to_job;
    if (job_takes_idle) {
        to_job += idle;
        energy->idle_job += idle;
    } else {
        energy->idle += idle;
    }
    energy->job += to_job;
    return to_job;
}

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

/* ---- Idle power --------------------------------------------------------------------------------------------------- */

static void begin_idle_interval(struct gt_idle_power *power, int64_t now_ns, double joules, double busy)
{
    power->since_ns = now_ns;
    power->joules = joules;
    power->busy = busy;
    power->is_begun = true;
}

/* Takes a reading: joules and busy CPU seconds since the start. `is_idle`: the device was idle since the reading before, as far as that
 * is known without the busy time. The interval must have `least` seconds, and at most `allowance` busy CPU seconds for each. */
static void see_idle_power(struct gt_idle_power *power, int64_t now_ns, double joules, double busy, bool is_idle,
                           double least, double allowance)
{
    bool has_moved = joules > power->shown;
    power->shown = joules;
    if (!is_idle)
        power->is_begun = false;
    if (joules <= 0)
        begin_idle_interval(power, now_ns, joules, busy);
    if (!has_moved)
        return;
    double seconds = (double)(now_ns - power->since_ns) / 1e9;
    if (power->is_begun && seconds < least)
        return;
    if (power->is_begun && busy - power->busy <= allowance * seconds)
        power->watts = fmin(power->watts, (joules - power->joules) / seconds);
    begin_idle_interval(power, now_ns, joules, busy);
}

/* Returns idle energy in the joules that a counter shows after `seconds` more; 0 where idle power is not known. */
static double take_idle_energy(struct gt_idle_power *power, double joules, double seconds)
{
    double idle = power->watts * (power->untaken += seconds);
    if (!(joules > 0))
        return 0;
    power->untaken = 0;
    return isnan(idle) ? 0 : fmin(joules, idle);
}

/* ---- CPUs --------------------------------------------------------------------------------------------------------- */

double gt_tick_seconds(void)
{
    return 1.0 / (double)sysconf(_SC_CLK_TCK);
}

/* CPU seconds in a window; NaN: not known. */
struct window {
    double seconds, busy, job;
    double uncertain; /* at most `job` */
};

static struct window window_until(const struct gt_cpu_share *share, const struct gt_cpu_use *use)
{
    const struct gt_cpu_use *start = &share->window_start[use->at_ns - share->window_start[1].at_ns >= WINDOW_NS];
    struct window window = {.seconds = (double)(use->at_ns - start->at_ns) / 1e9, .busy = NAN, .job = NAN};
    if (isnan(use->busy) || isnan(use->job))
        return window;
    window.busy = fmax(0, use->busy - start->busy);
    window.job = fmax(0, use->job - start->job + start->surplus);
    window.uncertain = fmin(window.job, fmax(0, use->uncertain - start->uncertain));
    return window;
}

/* The variance of busy time that was counted in ticks, as a part of it. Of N ticks a part p found a CPU busy: N p of them, give
 * or take sqrt(N p (1 - p)); and the ends lie anywhere between two ticks, and between the counter and what was read after it. */
static double variance_of_ticks(double busy, double seconds, int core_count, double late)
{
    double tick = gt_tick_seconds(), part = fmin(1, busy / (core_count * seconds)), ends = (tick + late) / seconds;
    return fmin(1, (1 - part) * tick / busy + ends * ends / 6);
}

/* A reading's joules of the job err to either side. Readings in one window err together. */
static void add_variance(struct gt_cpu_share *share, int core_count, double growth, double seconds, double late,
                         struct window window)
{
    double busy = fmax(window.busy, window.job);
    if (!(busy > 0) || !(window.seconds > 0))
        return;
    double most = growth * fmin(1, window.job / busy);
    share->variance += most * most * variance_of_ticks(busy, window.seconds, core_count, late) *
                       fmax(1, window.seconds / seconds);
}

/* Programs that share a package may do so in turns that are shorter than a window, and power may follow them: then CPU time alone
 * does not tell the share. Where the job's part has changed from one window to the next it may have changed within each. In a
 * short one a change of part and power together is the most that counts; in a long one all of its energy may follow. What ticks
 * explain is no change. */
static void add_bias(struct gt_cpu_share *share, int core_count, const struct gt_cpu_use *use)
{
    const struct gt_cpu_use *start = &share->window_start[1];
    double seconds = (double)(use->at_ns - start->at_ns) / 1e9, busy = use->busy - start->busy;
    struct gt_cpu_window now = {0, 0, busy};
    if (busy > 0) {
        double noise = NOISE * sqrt(2 * variance_of_ticks(busy, seconds, core_count, use->late)), ratio = 0, rate = 0;
        now.rate = (share->energy.total - start->joules) / busy;
        now.ratio = fmin(1, fmax(0, use->job - start->job) / busy);
        for (int i = 0; i < 2; i++) {
            ratio = fmax(ratio, fabs(share->before[i].ratio - now.ratio) - noise * now.ratio);
            rate = fmax(rate, fabs(share->before[i].rate - now.rate) - noise * now.rate);
        }
        share->bias += ratio * busy * (seconds < LONG_SECONDS ? rate : now.rate);
    }
    share->before[1] = share->before[0];
    share->before[0] = now;
}

/* The next window begins here. CPU time of the job above the busy time became known late (ticks, children waited for): the next
 * window is charged with it. */
static void end_window(struct gt_cpu_share *share, int core_count, const struct gt_cpu_use *use)
{
    struct gt_cpu_use *start = share->window_start;
    if (use->at_ns - start[1].at_ns < WINDOW_NS)
        return;
    double surplus = fmax(0, (use->job - start[1].job + start[1].surplus) - (use->busy - start[1].busy));
    add_bias(share, core_count, use);
    start[0] = start[1];
    start[1] = *use;
    start[1].surplus = surplus;
    start[1].joules = share->energy.total;
}

/* Divides the joules up to a reading. Returns those that are divided by CPU time. */
static double charge(struct gt_cpu_share *share, const struct gt_attribution *attribution, int core_count,
                     double joules, const struct gt_cpu_use *use, struct window window)
{
    double growth = advance(&share->energy, joules), seconds = (double)(use->at_ns - share->at_ns) / 1e9;
    share->at_ns = use->at_ns;
    share->joules = 0;
    if (isnan(window.busy)) {
        share->energy.unattributed += growth;
        return 0;
    }
    double job = fmin(window.job, window.busy), ratio = window.busy > 0 ? job / window.busy : 0;
    see_idle_power(&share->idle, use->at_ns, share->energy.total, use->busy, true,
                   attribution->idle_seconds[GT_ENERGY_CPU], IDLE_BUSY_RATIO * core_count);
    add_variance(share, core_count, growth, seconds, use->late, window);
    double idle = take_idle_energy(&share->idle, growth, seconds);
    if (attribution->policy == GT_IDLE_SHARE)
        idle = 0;
    if (!(window.busy > 0))
        idle = growth;
    share->joules = divide(&share->energy, idle, growth - idle, ratio, attribution->policy == GT_IDLE_ALL);
    share->joules_per_cpu_second = job > 0 ? share->joules / (job * seconds / window.seconds) : 0;
    end_window(share, core_count, use);
    return growth - idle;
}

void gt_attribute_cpu(struct gt_attribution *attribution, double joules, struct gt_cpu_use use)
{
    struct gt_cpu_share *share = &attribution->cpu;
    attribution->cpu_joules = 0;
    if (isnan(joules) || use.at_ns <= share->at_ns)
        return;
    charge(share, attribution, attribution->core_count, joules, &use, window_until(share, &use));
    attribution->energy[GT_ENERGY_CPU] = share->energy;
    attribution->cpu_joules = share->joules;
    attribution->joules_per_cpu_second = share->joules_per_cpu_second;
}

/* ---- Several packages --------------------------------------------------------------------------------------------- */

static int begin_packages(struct gt_attribution *attribution, const struct gt_snapshot *snapshot)
{
    if (attribution->package)
        return 0;
    attribution->package = calloc(snapshot->package_count, sizeof *attribution->package);
    if (!attribution->package)
        return -ENOMEM;
    attribution->package_count = snapshot->package_count;
    attribution->placement_error = 0;
    for (size_t i = 0; i < snapshot->package_count; i++) {
        attribution->package[i].number = snapshot->package[i].number;
        begin_share(&attribution->package[i].cpu, attribution->start_ns);
    }
    return 0;
}

static void add_use(struct gt_package_share *package, double seconds, double bound, double uncertain)
{
    package->recent += seconds;
    package->recent_bound += bound;
    package->job += seconds;
    package->bound += bound;
    package->uncertain += uncertain;
}

/* The part of the CPU time of threads that may leave a package in which one was seen to move. */
static double moving_part(const struct gt_attribution *attribution)
{
    return attribution->unbound > 0 ? attribution->moved / attribution->unbound : 0;
}

static void place_processes(struct gt_attribution *attribution, const struct gt_tree *tree)
{
    size_t packages = attribution->package_count;
    for (size_t i = 0; i < tree->count * packages; i++) {
        const struct gt_placement *placement = tree->process[i / packages]->placement;
        attribution->unbound += placement ? placement->recent[i % packages] - placement->recent_bound[i % packages] : 0;
        attribution->moved += placement ? placement->recent_moved[i % packages] : 0;
    }
    for (size_t i = 0; i < tree->count * packages; i++) {
        const struct gt_placement *placement = tree->process[i / packages]->placement;
        size_t package = i % packages;
        if (!placement)
            continue;
        double bound = placement->recent_bound[package], moved = placement->recent_moved[package];
        double unmoved = placement->recent[package] - bound - moved;
        add_use(&attribution->package[package], placement->recent[package], bound,
                moved + unmoved * moving_part(attribution));
    }
}

/* Ways to divide CPU time that was seen in no living process, the best first. */
enum way { AS_THOSE_THAT_ENDED, AS_THE_REST_NOW, AS_SO_FAR, AS_THE_LIVING, AS_THE_MACHINE, WAYS };

struct weights {
    double on[GT_PACKAGES], bound[GT_PACKAGES];
    double sum;
};

static struct weights weights_of(enum way way, const struct gt_attribution *attribution,
                                 const struct gt_snapshot *snapshot, const struct gt_tree *tree)
{
    struct weights weights = {.sum = 0};
    for (size_t i = 0; i < attribution->package_count; i++) {
        const struct gt_package_share *package = &attribution->package[i];
        double living = 0, living_bound = 0;
        for (size_t k = 0; k < tree->count; k++) {
            const struct gt_placement *placement = tree->process[k]->placement;
            living += placement && placement->is_known ? placement->split[i] : 0;
            living_bound += placement && placement->is_known ? placement->bound_split[i] : 0;
        }
        const double on[WAYS] = {tree->left_on[i] - attribution->left_on[i], package->recent, package->job, living,
                                 snapshot->package[i].value[GT_CPU_TIME]};
        const double bound[WAYS] = {tree->left_bound[i] - attribution->left_bound[i], package->recent_bound,
                                    package->bound, living_bound, 0};
        weights.on[i] = on[way];
        weights.bound[i] = bound[way];
        weights.sum += on[way] > 0 ? on[way] : 0;
    }
    return weights;
}

/* The sum over packages is the job's CPU time. If processes seemed to have used more, that is made up for later. */
static void place_rest(struct gt_attribution *attribution, const struct gt_snapshot *snapshot,
                       const struct gt_tree *tree, double job)
{
    struct weights weights = {.sum = 0};
    double rest = job;
    for (size_t i = 0; i < attribution->package_count; i++)
        rest -= attribution->package[i].job;
    int way = -1;
    while (weights.sum <= 0 && ++way < WAYS)
        weights = weights_of(way, attribution, snapshot, tree);
    double part = way == AS_THE_MACHINE ? 1 : moving_part(attribution);
    for (size_t i = 0; i < attribution->package_count && rest > 0 && weights.sum > 0; i++) {
        double seconds = rest * weights.on[i] / weights.sum, bound = rest * weights.bound[i] / weights.sum;
        if (seconds > 0)
            add_use(&attribution->package[i], seconds, bound, (seconds - bound) * part);
    }
}

static void place_job(struct gt_attribution *attribution, const struct gt_snapshot *snapshot,
                      const struct gt_tree *tree, double job)
{
    for (size_t i = 0; i < attribution->package_count; i++)
        attribution->package[i].recent = attribution->package[i].recent_bound = 0;
    if (snapshot->monotonic_ns > attribution->placed_ns)
        place_processes(attribution, tree);
    place_rest(attribution, snapshot, tree, job);
    memcpy(attribution->left_on, tree->left_on, sizeof attribution->left_on);
    memcpy(attribution->left_bound, tree->left_bound, sizeof attribution->left_bound);
    attribution->placed_ns = snapshot->monotonic_ns;
}

/* A reading of all packages. */
struct packages {
    size_t count;
    struct gt_cpu_use use[GT_PACKAGES];
    struct window window[GT_PACKAGES];
    double rate[GT_PACKAGES]; /* joules for each busy CPU second */
};

static void read_packages(struct packages *all, const struct gt_attribution *attribution,
                          const struct gt_snapshot *snapshot, bool has_job)
{
    all->count = attribution->package_count;
    for (size_t i = 0; i < all->count; i++) {
        const struct gt_package_share *package = &attribution->package[i];
        all->use[i] = (struct gt_cpu_use){.at_ns = snapshot->monotonic_ns,
                                          .busy = snapshot->package[i].value[GT_CPU_TIME],
                                          .job = has_job ? package->job : NAN,
                                          .uncertain = package->uncertain,
                                          .late = snapshot->read_seconds};
        all->window[i] = window_until(&package->cpu, &all->use[i]);
    }
}

static void move(struct gt_attribution *attribution, struct packages *all, size_t package, double seconds)
{
    attribution->package[package].job += seconds;
    attribution->package[package].recent = fmax(0, attribution->package[package].recent + seconds);
    all->use[package].job += seconds;
    all->window[package].job += seconds;
}

/* The job cannot have used a package more than it was busy: threads were elsewhere between two polls, where there was room. Time of
 * ended processes, and ticks, may become known late: the counters of n CPUs are off by some times sqrt(n) ticks together. */
static void fit(struct gt_attribution *attribution, struct packages *all, const struct gt_snapshot *snapshot)
{
    for (size_t from = 0; from < all->count; from++) {
        const struct gt_package_share *package = &attribution->package[from];
        double excess = all->window[from].job - all->window[from].busy;
        if (!(excess > 2 * gt_tick_seconds() * sqrt(snapshot->package[from].cpus)))
            continue;
        excess = fmin(excess, package->recent - package->recent_bound);
        for (size_t to = 0; to < all->count && excess > 0; to++) {
            double seconds = fmin(excess, all->window[to].busy - all->window[to].job);
            if (to == from || !(seconds > 0))
                continue;
            move(attribution, all, from, -seconds);
            move(attribution, all, to, seconds);
            excess -= seconds;
        }
    }
}

/* How much more of the uncertain CPU time a package can have had, as far as it was busy. */
static double room_on(const struct packages *all, size_t package, double uncertain)
{
    const struct window *window = &all->window[package];
    return fmax(0, fmin(uncertain - window->uncertain, window->busy - window->job));
}

/* The error if all uncertain CPU time was used where it costs most, or least. */
static double error_of(const struct packages *all)
{
    size_t most = SIZE_MAX, least = SIZE_MAX;
    double uncertain = 0;
    for (size_t i = 0; i < all->count; i++) {
        uncertain += all->window[i].uncertain;
        if (!(all->window[i].busy > 0))
            continue;
        most = most == SIZE_MAX || all->rate[i] > all->rate[most] ? i : most;
        least = least == SIZE_MAX || all->rate[i] < all->rate[least] ? i : least;
    }
    if (most == SIZE_MAX)
        return 0;
    return (all->rate[most] - all->rate[least]) * fmax(room_on(all, most, uncertain), room_on(all, least, uncertain));
}

int gt_attribute_packages(struct gt_attribution *attribution, const struct gt_snapshot *snapshot,
                          const struct gt_tree *tree, double job)
{
    struct packages all;
    struct gt_energy sum = {0};
    double seconds = 0;
    int status = begin_packages(attribution, snapshot);
    if (status < 0)
        return status;
    attribution->cpu_joules = 0;
    place_job(attribution, snapshot, tree, job);
    if (isnan(snapshot->system[GT_CPU_ENERGY]) || snapshot->monotonic_ns <= attribution->package[0].cpu.at_ns)
        return 0;
    read_packages(&all, attribution, snapshot, !isnan(job));
    fit(attribution, &all, snapshot);
    for (size_t i = 0; i < all.count; i++) {
        struct gt_package_share *package = &attribution->package[i];
        double active = charge(&package->cpu, attribution, snapshot->package[i].cpus,
                               snapshot->package[i].value[GT_CPU_ENERGY], &all.use[i], all.window[i]);
        all.rate[i] = all.window[i].busy > 0 ? active / all.window[i].busy : 0;
        seconds += package->recent;
        attribution->cpu_joules += package->cpu.joules;
        add_energy(&sum, &package->cpu.energy);
    }
    attribution->placement_error += isnan(job) ? 0 : error_of(&all);
    attribution->energy[GT_ENERGY_CPU] = sum;
    attribution->joules_per_cpu_second = seconds > 0 ? attribution->cpu_joules / seconds : 0;
    return 0;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

void gt_attribute_memory(struct gt_attribution *attribution, double joules, double job_bytes, double used_bytes)
{
    struct gt_energy *energy = &attribution->energy[GT_ENERGY_DRAM];
    attribution->memory_joules = 0;
    if (isnan(joules))
        return;
    double growth = advance(energy, joules), before = attribution->memory_ratio;
    double now = used_bytes > 0 && job_bytes >= 0 ? fmin(1, job_bytes / used_bytes) : NAN;
    double ratio = isnan(now) ? before : isnan(before) ? now : (before + now) / 2;
    if (isnan(ratio))
        energy->unattributed += growth;
    else
        attribution->memory_joules = divide(energy, 0, growth, ratio, false);
    attribution->memory_ratio = isnan(now) ? before : now;
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

struct gt_gpu_use {
    int64_t read_ns; /* of the latest reading, */
    int64_t at_ns;   /* and of the latest that had a value */
    struct gt_energy energy;
    struct gt_coverage coverage;
    double ratio;   /* the job's part when it was last in use, NaN: never, or not known */
    uint64_t users; /* which processes were on it at the last reading; 0: none */
    struct gt_idle_power idle;
};

/* These are on a GPU now. */
struct users {
    size_t job, other;
    double job_sm, other_sm; /* shares of SM time */
    uint64_t set;            /* differs between different sets of processes; 0: none */
};

static int make_room(struct gt_attribution *attribution, const struct gt_snapshot *snapshot)
{
    while (attribution->gpu_count < snapshot->device_count) {
        struct gt_gpu_use *gpu = GT_GROW_BY_ONE(attribution->gpu, attribution->gpu_count);
        if (!gpu)
            return -ENOMEM;
        *gpu = (struct gt_gpu_use){.at_ns = attribution->start_ns,
                                   .coverage = attribution->coverage[GT_ENERGY_GPU],
                                   .ratio = NAN,
                                   .idle = {.watts = NAN, .since_ns = attribution->start_ns, .is_begun = true}};
        attribution->gpu_count++;
    }
    return GT_GROW_TO(attribution->share_joules, attribution->share_capacity, snapshot->share_count);
}

/* A slice has no energy counter of its own: its users are users of the board. */
static bool is_on(const struct gt_snapshot *snapshot, const struct gt_share *share, int board)
{
    int parent = snapshot->device[share->device].parent;
    return (parent < 0 ? share->device : parent) == board;
}

static double sm_of(const struct gt_share *share)
{
    return share->value[GT_GPU_UTILIZATION] > 0 ? share->value[GT_GPU_UTILIZATION] : 0;
}

static struct users find_users(const struct gt_snapshot *snapshot, const struct gt_tree *tree, int board)
{
    struct users users = {0};
    for (size_t i = 0; i < snapshot->share_count; i++) {
        const struct gt_share *share = &snapshot->share[i];
        if (!is_on(snapshot, share, board))
            continue;
        users.set += ((uint64_t)share->pid + 1) * UINT64_C(0x9E3779B97F4A7C15); /* in any order */
        bool is_ours = gt_tree_find(tree, share->pid) != NULL;
        *(is_ours ? &users.job : &users.other) += 1;
        *(is_ours ? &users.job_sm : &users.other_sm) += sm_of(share);
    }
    return users;
}

/* Returns the job's part of the active energy; NaN: unknown. */
static double ratio_of(const struct users *users)
{
    if (!users->other || !users->job)
        return users->other ? 0 : 1;
    double sum = users->job_sm + users->other_sm;
    return sum > 0 ? users->job_sm / sum : NAN;
}

static void share_out(struct gt_attribution *attribution, const struct gt_snapshot *snapshot,
                      const struct gt_tree *tree, int board, const struct users *users, double joules)
{
    for (size_t i = 0; i < snapshot->share_count; i++) {
        const struct gt_share *share = &snapshot->share[i];
        if (is_on(snapshot, share, board) && gt_tree_find(tree, share->pid))
            attribution->share_joules[i] = joules *
                                           (users->job_sm > 0 ? sm_of(share) / users->job_sm : 1 / (double)users->job);
    }
}

/* One window of one GPU: returns the joules charged to the job. */
static double attribute_window(const struct gt_attribution *attribution, struct gt_gpu_use *gpu,
                               const struct gt_device *device, const struct users *users, double joules, double seconds)
{
    double utilization = device->value[GT_GPU_UTILIZATION];
    bool in_use = users->job + users->other > 0;
    bool was_in_use = gpu->users != 0;
    double now = ratio_of(users), ratio = in_use ? now : was_in_use ? gpu->ratio : NAN;
    if (in_use && was_in_use && users->set != gpu->users && !isnan(now) && !isnan(gpu->ratio))
        ratio = (gpu->ratio + now) / 2;
    bool is_idle = utilization > 0 ? false : !in_use && !was_in_use;
    see_idle_power(&gpu->idle, gpu->at_ns, gpu->energy.total, 0, is_idle, attribution->idle_seconds[GT_ENERGY_GPU], 0);
    gpu->users = users->set;
    if (in_use)
        gpu->ratio = now;
    double taken = take_idle_energy(&gpu->idle, joules, seconds);
    if (is_idle)
        return divide(&gpu->energy, joules, 0, 0, attribution->policy == GT_IDLE_ALL);
    if (isnan(ratio)) {
        *(utilization == 0 ? &gpu->energy.idle : &gpu->energy.unattributed) += joules;
        return 0;
    }
    double idle = attribution->policy == GT_IDLE_SHARE ? 0 : taken;
    return divide(&gpu->energy, idle, joules - idle, ratio, attribution->policy == GT_IDLE_ALL && ratio > 0);
}

/* Between two readings of the counter: a process may come and go. */
static void note_users(struct gt_gpu_use *gpu, const struct users *users)
{
    if (!users->set)
        return;
    gpu->users = users->set;
    gpu->ratio = ratio_of(users);
}

static void attribute_device(struct gt_attribution *attribution, const struct gt_snapshot *snapshot,
                             const struct gt_tree *tree, int board)
{
    const struct gt_device *device = &snapshot->device[board];
    struct gt_gpu_use *gpu = &attribution->gpu[board];
    double joules = device->value[GT_GPU_ENERGY];
    /* A slow driver answers in a later snapshot than it was asked in. */
    int64_t now_ns = device->read_ns && device->read_ns < snapshot->monotonic_ns ? device->read_ns
                                                                                 : snapshot->monotonic_ns;
    bool is_resting = device->is_resting || device->value[GT_GPU_POWER] == 0;
    struct users users = find_users(snapshot, tree, board);
    gpu->coverage.is_silent |= device->is_silent;
    if (device->is_old) {
        note_users(gpu, &users);
        return;
    }
    if (now_ns > gpu->read_ns)
        gt_coverage_add(&gpu->coverage, gpu->read_ns = now_ns, joules, device->doubt, is_resting);
    /* What was drawn after the end is not the job's. */
    int64_t until_ns = snapshot->end_ns && snapshot->end_ns < now_ns ? snapshot->end_ns : now_ns;
    if (isnan(joules) || until_ns <= gpu->at_ns)
        return;
    double seconds = (double)(until_ns - gpu->at_ns) / 1e9, part = seconds * 1e9 / (double)(now_ns - gpu->at_ns);
    double growth = part * fmax(0, joules - gpu->energy.total);
    gpu->energy.total += growth;
    gpu->energy.is_measured = true;
    gpu->at_ns = until_ns;
    double to_job = attribute_window(attribution, gpu, device, &users, growth, seconds);
    share_out(attribution, snapshot, tree, board, &users, to_job);
}

const struct gt_energy *gt_attribution_gpu(const struct gt_attribution *attribution, size_t device)
{
    return device < attribution->gpu_count ? &attribution->gpu[device].energy : NULL;
}

int gt_attribute_gpus(struct gt_attribution *attribution, const struct gt_snapshot *snapshot,
                      const struct gt_tree *tree)
{
    if (make_room(attribution, snapshot) < 0)
        return -ENOMEM;
    struct gt_energy sum = {0};
    for (size_t i = 0; i < snapshot->share_count; i++)
        attribution->share_joules[i] = 0;
    for (size_t i = 0; i < snapshot->device_count; i++) {
        if (snapshot->device[i].parent >= 0 || !snapshot->device[i].selected)
            continue;
        attribute_device(attribution, snapshot, tree, (int)i);
        add_energy(&sum, &attribution->gpu[i].energy);
    }
    attribution->energy[GT_ENERGY_GPU] = sum;
    return 0;
}

/* ---- Coverage ---------------------------------------------------------------------------------------------------- */

/* As of the reading before: its joules were not yet there when that was looked at. */
static void note_job_power(struct gt_job_power *power, double joules, int64_t now_ns)
{
    double seconds = (double)(now_ns - power->at_ns) / 1e9;
    if (!(joules > power->joules) || seconds < LEAST_SECONDS)
        return;
    power->most_watts = fmax(power->most_watts, (joules - power->joules) / seconds);
    power->joules = joules;
    power->at_ns = now_ns;
}

void gt_attribution_cover(struct gt_attribution *attribution, const struct gt_snapshot *snapshot)
{
    if (snapshot->monotonic_ns <= attribution->now_ns)
        return;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        note_job_power(&attribution->job_power[i], attribution->energy[i].job, attribution->now_ns);
    attribution->now_ns = snapshot->monotonic_ns;
    for (int i = 0; i < GT_ENERGY_GPU; i++)
        gt_coverage_add(&attribution->coverage[i], snapshot->monotonic_ns, snapshot->system[gt_energy_metrics[i]],
                        snapshot->doubt[gt_energy_metrics[i]], false);
}

const struct gt_coverage *gt_attribution_coverage(const struct gt_attribution *attribution,
                                                  enum gt_energy_device device)
{
    const struct gt_coverage *worst = &attribution->coverage[device];
    for (size_t i = 0; device == GT_ENERGY_GPU && i < attribution->gpu_count; i++) {
        const struct gt_coverage *one = &attribution->gpu[i].coverage;
        if (attribution->gpu[i].energy.is_measured &&
            (worst == &attribution->coverage[device] ||
             gt_coverage_missing(one, attribution->now_ns) > gt_coverage_missing(worst, attribution->now_ns)))
            worst = one;
    }
    return worst;
}

/* GPUs that were never read have no part in it. */
static struct gpu_gaps {
    size_t measured, missing; /* GPUs */
    double seconds;           /* of all that are missing */
} gpu_gaps(const struct gt_attribution *attribution)
{
    struct gpu_gaps gaps = {0};
    for (size_t i = 0; i < attribution->gpu_count; i++) {
        double seconds = gt_coverage_missing(&attribution->gpu[i].coverage, attribution->now_ns);
        if (!attribution->gpu[i].energy.is_measured)
            continue;
        gaps.measured++;
        gaps.missing += seconds > 0;
        gaps.seconds += seconds;
    }
    return gaps;
}

void gt_attribution_gap(const struct gt_attribution *attribution, enum gt_energy_device device, struct gt_gap *ret)
{
    const struct gt_coverage *worst = gt_attribution_coverage(attribution, device);
    gt_coverage_gap(worst, attribution->now_ns, ret);
    struct gpu_gaps gaps = device == GT_ENERGY_GPU ? gpu_gaps(attribution) : (struct gpu_gaps){0};
    ret->gpus = (double)gaps.missing;
    for (size_t i = 0; gaps.missing < gaps.measured && i < attribution->gpu_count; i++)
        if (worst == &attribution->gpu[i].coverage)
            ret->gpu = (double)i + 1;
}

void gt_attribution_show_counter(const struct gt_attribution *attribution, enum gt_energy_device device,
                                 struct gt_counter_fields *ret)
{
    const struct gt_coverage *worst = gt_attribution_coverage(attribution, device);
    struct gt_job_power job = attribution->job_power[device];
    note_job_power(&job, attribution->energy[device].job, attribution->now_ns);
    *ret = (struct gt_counter_fields){worst->most_watts, job.most_watts, worst->doubt, {.began = NAN, .ended = NAN}};
    if (!attribution->energy[device].is_measured)
        return;
    for (size_t i = 0; device == GT_ENERGY_GPU && i < attribution->gpu_count; i++) {
        const struct gt_coverage *one = &attribution->gpu[i].coverage;
        ret->most_watts += one == worst ? 0 : one->most_watts;
        ret->doubt += one == worst ? 0 : one->doubt;
    }
    gt_attribution_gap(attribution, device, &ret->gap);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static double share_error(const struct gt_attribution *attribution)
{
    double variance = attribution->cpu.variance, bias = attribution->cpu.bias;
    for (size_t i = 0; i < attribution->package_count; i++) {
        variance += attribution->package[i].cpu.variance;
        bias += attribution->package[i].cpu.bias;
    }
    return bias + 2 * sqrt(variance);
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

/* Seconds; of several GPUs the mean. */
static double missing(const struct gt_attribution *attribution, enum gt_energy_device device)
{
    struct gpu_gaps gaps = device == GT_ENERGY_GPU ? gpu_gaps(attribution) : (struct gpu_gaps){0};
    if (gaps.measured)
        return gaps.seconds / (double)gaps.measured;
    return gt_coverage_missing(gt_attribution_coverage(attribution, device), attribution->now_ns);
}

void gt_attribution_show_package(const struct gt_attribution *attribution, const struct gt_snapshot *snapshot,
                                 size_t package, struct gt_package_figures *ret)
{
    const struct gt_package_share *share = &attribution->package[package];
    const double *counted = snapshot->package[package].value;
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

void gt_attribution_read(const struct gt_attribution *attribution, struct gt_energy_reading *ret)
{
    for (int i = 0; i < GT_ENERGY_DEVICES; i++) {
        bool is_measured = attribution->energy[i].is_measured;
        ret->device[i] = is_measured ? attribution->energy[i] : (struct gt_energy){false, NAN, NAN, NAN, NAN, NAN, NAN};
        ret->missing[i] = is_measured ? missing(attribution, i) : NAN;
        if (attribution->policy != GT_IDLE_ALL) /* under the others none is charged to the job alone */
            ret->device[i].idle_job = NAN;
    }
    ret->share_error = attribution->energy[GT_ENERGY_CPU].is_measured ? share_error(attribution) : NAN;
    ret->placement_error = attribution->placement_error;
}
