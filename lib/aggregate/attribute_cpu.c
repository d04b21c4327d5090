#include "aggregate/attribute_cpu.h"

#include <unistd.h>

/* Busy time is counted in ticks of 10 ms for each core: shorter stretches tell little. */
const int64_t gt_cpu_stretch_ns = GT_SECOND / 10;
/* CPUs busier than that are not idle. */
static const double IDLE_BUSY_RATIO = 0.02;
/* From that on a stretch is long: whoever shares a package takes many turns. */
static const double LONG_SECONDS = 0.25;
/* Deviations that a difference may have by chance. */
static const double NOISE = 2;

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

/* Of a window in which some process ran. */
static double idle_energy(struct gt_cpu_share *share, enum gt_idle policy, double joules, double seconds)
{
    double idle = gt_idle_power_take(&share->idle, joules, seconds);
    return policy == GT_IDLE_SHARE ? 0 : idle;
}

struct gt_cpu_stretch gt_cpu_share_stretch(const struct gt_cpu_share *share, const struct gt_cpu_use *use)
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

/* What a window's joules of the job are off by, to either side. Windows of one stretch are off together. */
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

double gt_cpu_share_charge(struct gt_cpu_share *share, const struct gt_attribution *attribution, int core_count,
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
    gt_cpu_share_charge(share, attribution, attribution->core_count, joules, &use, gt_cpu_share_stretch(share, &use));
    attribution->energy[GT_ENERGY_CPU] = share->energy;
    attribution->cpu_joules = share->joules;
    attribution->joules_per_cpu_second = share->joules_per_cpu_second;
}
