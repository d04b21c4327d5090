#include "aggregate/attribute_cpu.h"

/* Busy time is counted in ticks of 10 ms for each core: shorter stretches tell little. */
const int64_t gt_cpu_stretch_ns = GT_SECOND / 10;
/* CPUs busier than that are not idle; a window shorter than that has too few ticks of either kind. */
static const double IDLE_BUSY_RATIO = 0.02, IDLE_SECONDS = 0.05;

void gt_cpu_share_init(struct gt_cpu_share *share, int64_t now_ns)
{
    *share = (struct gt_cpu_share){.at_ns = now_ns, .idle_watts = NAN};
    share->anchor[0].at_ns = share->anchor[1].at_ns = now_ns;
}

static double least(double a, double b)
{
    return isnan(a) || b < a ? b : a;
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

static double idle_energy(const struct gt_attribution *attribution, double joules, double watts, double seconds)
{
    if (attribution->policy == GT_IDLE_SHARE || isnan(watts))
        return 0;
    return fmin(joules, watts * seconds);
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
    bool is_idle = busy <= IDLE_BUSY_RATIO * stretch.seconds * core_count && seconds >= IDLE_SECONDS;
    if (is_idle)
        share->idle_watts = least(share->idle_watts, growth / seconds);
    double idle = busy > 0 ? idle_energy(attribution, growth, share->idle_watts, seconds) : growth;
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
