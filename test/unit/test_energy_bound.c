/* Is the stated error a bound? Of figures of made-up runs, at least 95 of 100 must lie within theirs: whole runs and blocks, of CPU and
 * GPU, over twelve shapes of power, five loads and three periods. And the bound must be worth something. */
#include "support/power_trial.h"
#include "support/test.h"

static const double periods[] = {0.01, 0.1, 1};
enum { PERIODS = 3, BLOCKS = 12, SHORT_BLOCKS = 40 };

enum kind { CPU_RUN, CPU_JOB, CPU_BLOCK, CPU_SUM, GPU_RUN, GPU_BLOCK, GPU_SUM, KINDS };
static const char *const kind_names[KINDS] = {
    "CPU, run",    "CPU, job's share",         "CPU, blocks", "CPU, sums of short blocks", "GPU, run",
    "GPU, blocks", "GPU, sums of short blocks"};

static struct {
    unsigned figures, within;
    double off, stated, truth; /* sums */
} tally[KINDS][PERIODS];

/* The share of a job that has all cores, which is all of it. */
static struct {
    double stated, truth;
} alone[PERIODS];

static void judge(enum kind kind, int period, const struct trial *trial, double figure, double error, double truth)
{
    bool is_within = fabs(figure - truth) <= error;
    tally[kind][period].figures++;
    tally[kind][period].within += is_within;
    tally[kind][period].off += figure - truth;
    tally[kind][period].stated += error;
    tally[kind][period].truth += truth;
    if (!is_within && getenv("GT_TRIALS"))
        print_message("%s, %s, %s, %g s: %.4f J +- %.4f J, in truth %.4f J\n", kind_names[kind],
                      trial_shape_names[trial->setting.shape], trial_load_names[trial->setting.load], periods[period],
                      figure, error, truth);
}

static void judge_run(const struct trial *trial, int period)
{
    double end = trial->seconds;
    bool is_alone = trial->setting.load == 0;
    for (int device = 0; device < GT_ENERGY_DEVICES; device += GT_ENERGY_GPU) {
        struct gt_energy_run run = {.source = &trial->machine.energy_source[device],
                                    .counter = &trial->counter[device],
                                    .device = device,
                                    .end = &trial->reading,
                                    .seconds = end,
                                    .period = periods[period]};
        bool is_gpu = device == GT_ENERGY_GPU;
        judge(is_gpu ? GPU_RUN : CPU_RUN, period, trial, trial->reading.device[device].total,
              gt_energy_run_error(&run, false), trial_at(is_gpu ? trial->gpu : trial->cpu, end));
        if (!is_gpu)
            judge(CPU_JOB, period, trial, trial->reading.device[GT_ENERGY_CPU].job, gt_energy_run_error(&run, true),
                  trial_at(trial->cpu_job, end));
        alone[period].stated += !is_gpu && is_alone ? gt_energy_run_error(&run, true) : 0;
        alone[period].truth += !is_gpu && is_alone ? trial_at(trial->cpu_job, end) : 0;
    }
}

static double between(const double sum[TRIAL_MS + 1], struct gt_time_stretch stretch)
{
    return trial_at(sum, stretch.stop) - trial_at(sum, stretch.start);
}

static struct gt_spent cpu_of(const struct trial *trial, struct gt_time_stretch stretch)
{
    return gt_energy_curve_of_cpu(&trial->curve, stretch, between(trial->thread_seconds, stretch));
}

static void judge_block(struct trial *trial, int period, double length)
{
    double start = 0.1 + trial_random(trial) * (trial->seconds - length - 0.2);
    struct gt_time_stretch stretch = {start, start + length};
    struct gt_spent cpu = cpu_of(trial, stretch);
    struct gt_spent gpu = gt_energy_curve_over(&trial->curve, GT_ENERGY_GPU, GT_ENERGY_JOB, &stretch, 1);
    judge(CPU_BLOCK, period, trial, cpu.joules, cpu.error, between(trial->cpu_thread, stretch));
    judge(GPU_BLOCK, period, trial, gpu.joules, gpu.error, between(trial->gpu, stretch));
}

/* Many calls of a short block, one after the other. */
static void judge_sum(struct trial *trial, int period, double length)
{
    struct gt_time_stretch stretch[SHORT_BLOCKS];
    struct gt_spent cpu = {.joules = NAN, .error = NAN};
    double truth = 0, gpu_truth = 0;
    for (int i = 0; i < SHORT_BLOCKS; i++) {
        double start = 0.1 + i * (trial->seconds - 0.2) / SHORT_BLOCKS + trial_random(trial) * 0.05;
        stretch[i] = (struct gt_time_stretch){start, start + length};
        gt_spent_add(&cpu, cpu_of(trial, stretch[i]));
        truth += between(trial->cpu_thread, stretch[i]);
        gpu_truth += between(trial->gpu, stretch[i]);
    }
    struct gt_spent gpu = gt_energy_curve_over(&trial->curve, GT_ENERGY_GPU, GT_ENERGY_JOB, stretch, SHORT_BLOCKS);
    judge(CPU_SUM, period, trial, cpu.joules, cpu.error, truth);
    judge(GPU_SUM, period, trial, gpu.joules, gpu.error, gpu_truth);
}

static int try_all(void **state)
{
    (void)state;
    static struct trial trial;
    for (int period = 0; period < PERIODS; period++)
        for (int shape = 0; shape < TRIAL_SHAPES; shape++)
            for (int load = 0; load < TRIAL_LOADS; load++) {
                unsigned seed = 7919u * (unsigned)(1 + period * 100 + shape * 10 + load);
                trial_run(&trial, (struct trial_setting){shape, load, periods[period], seed});
                judge_run(&trial, period);
                for (int i = 0; i < BLOCKS; i++)
                    judge_block(&trial, period, 0.005 * pow(2, i * 0.8));
                judge_sum(&trial, period, 0.01);
                judge_sum(&trial, period, 0.05);
                trial_end(&trial);
            }
    for (int kind = 0; kind < KINDS; kind++)
        for (int period = 0; period < PERIODS; period++)
            print_message("%-26s %5g s: %4u of %4u within; off by %+6.2f %%, stated %6.2f %%\n", kind_names[kind],
                          periods[period], tally[kind][period].within, tally[kind][period].figures,
                          100 * tally[kind][period].off / tally[kind][period].truth,
                          100 * tally[kind][period].stated / tally[kind][period].truth);
    return 0;
}

TEST(of_100_figures_95_lie_within_their_error)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int period = 0; period < PERIODS; period++)
            if (tally[kind][period].within * 100 < tally[kind][period].figures * 95)
                fail_msg("%s, sampled each %g s: only %u of %u", kind_names[kind], periods[period],
                         tally[kind][period].within, tally[kind][period].figures);
}

/* Of a job alone the error is ticks and refreshes, of one that shares the package with others more. */
TEST(the_error_is_not_far_from_what_figures_are_off_by)
{
    static const double most[KINDS] = {0.001, 0.15, 1.5, 2, 0.03, 3, 12};
    for (int kind = 0; kind < KINDS; kind++)
        for (int period = 0; period < PERIODS; period++) {
            double stated = tally[kind][period].stated / tally[kind][period].truth;
            if (!(stated < most[kind]))
                fail_msg("%s, sampled each %g s: +- %.1f %%", kind_names[kind], periods[period], 100 * stated);
        }
    for (int period = 0; period < PERIODS; period++)
        assert_true(alone[period].stated < 0.025 * alone[period].truth);
}

TEST(sums_of_short_blocks_lean_to_neither_side)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int period = 0; period < PERIODS && (kind == CPU_SUM || kind == GPU_SUM); period++)
            assert_true(fabs(tally[kind][period].off) < 0.01 * tally[kind][period].truth);
}

ALL_TESTS(try_all, NULL);
