/* Energy over the ranks of one machine of known power: what each tracker saw on its own adds up to what was drawn, whoever is charged with
 * idle energy. */
#include "aggregate/combine.h"
#include "analyse/job/job.h"
#include "store/field.h"
#include "support/power_plant.h"
#include "support/test.h"

enum { RANKS = 4, SECONDS = 30 };
static const double MOST_APART =
    0.01; /* of what the device drew: in the second in which work begins it is not known when */

static struct {
    struct power_plant plant;
    struct gt_sampler sampler[RANKS];
    struct gt_combiner combiner[RANKS][GT_IDLE_POLICIES];
    struct gt_outcome outcome[RANKS][GT_IDLE_POLICIES]; /* the last figures */
    struct gt_job job;
} run;

static void take_samples(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        struct gt_error error = {0};
        if (gt_sampler_read(&run.sampler[rank], 0, &error) < 0)
            fail_msg("%s", error.text);
        for (int policy = 0; policy < GT_IDLE_POLICIES; policy++) {
            struct gt_sample sample;
            assert_int_equal(gt_combine(&run.combiner[rank][policy], &run.sampler[rank], &sample), 0);
            for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
                memcpy(run.outcome[rank][policy].value[scope], sample.row[scope].value, sizeof sample.row[scope].value);
        }
    }
}

static void open_rank(int rank)
{
    struct gt_error error = {0};
    struct gt_sampler_options options = {.pid = PLANT_FIRST + rank,
                                         .machine_root = run.plant.machine.path,
                                         .clock = &run.plant.machine.clock,
                                         .memory = "rss",
                                         .libraries = run.plant.machine.libraries,
                                         .period = 1};
    if (gt_sampler_open(&run.sampler[rank], &options, &error) < 0)
        fail_msg("%s", error.text);
    for (int policy = 0; policy < GT_IDLE_POLICIES; policy++) {
        gt_outcome_init(&run.outcome[rank][policy]);
        gt_combine_init(
            &run.combiner[rank][policy],
            &(struct gt_combine_options){
                .core_count = PLANT_CORES, .period = 1, .idle = policy, .start_ns = run.plant.machine.monotonic_ns});
    }
}

static void run_plant(enum plant_layout layout, int packages, int seconds)
{
    plant_begin_ranks(&run.plant, layout, packages, RANKS);
    for (int rank = 0; rank < RANKS; rank++)
        open_rank(rank);
    take_samples();
    while (run.plant.second < seconds) {
        plant_step(&run.plant);
        take_samples();
    }
}

static void end_plant(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        for (int policy = 0; policy < GT_IDLE_POLICIES; policy++)
            gt_combine_release(&run.combiner[rank][policy]);
        gt_sampler_close(&run.sampler[rank]);
    }
    plant_end(&run.plant);
}

/* As if each rank had left a recording. */
static void join(enum gt_idle_policy policy)
{
    run.job = (struct gt_job){0};
    struct gt_gpu gpu[PLANT_GPUS] = {0};
    for (int i = 0; i < PLANT_GPUS; i++) {
        snprintf(gpu[i].uuid, sizeof gpu[i].uuid, "GPU-%d", i);
        gpu[i].selected = true;
    }
    for (int rank = 0; rank < RANKS; rank++) {
        char name[16];
        struct gt_machine machine = {.pid = PLANT_FIRST + rank,
                                     .rank = rank + 1,
                                     .world = RANKS,
                                     .start_real_ns = GT_SECOND,
                                     .launcher = "test",
                                     .node = "boot",
                                     .gpu = gpu,
                                     .gpu_length = PLANT_GPUS};
        snprintf(name, sizeof name, "%d", rank);
        snprintf(machine.idle_policy, sizeof machine.idle_policy, "%s", gt_idle_policy_names[policy]);
        run.outcome[rank][policy].complete = true;
        run.outcome[rank][policy].elapsed = run.plant.second;
        assert_int_equal(gt_job_add_rank(&run.job, name, &machine, &run.outcome[rank][policy]), 0);
    }
    assert_int_equal(gt_job_sort(&run.job, NULL), 0);
    assert_int_equal(run.job.nodes, 1);
    assert_int_equal(gt_job_count_once(&run.job, NULL), 0);
}

static void expect(const char *what, double found, double truth, double drawn)
{
    if (!(fabs(found - truth) <= MOST_APART * drawn))
        fail_msg("%s: %.3f J instead of %.3f J, of %.3f J in all", what, found, truth, drawn);
}

static void expect_device(int device, enum gt_idle_policy policy)
{
    struct gt_job_energy energy;
    struct gt_energy truth = plant_truth(device, policy, run.plant.second);
    gt_job_energy(&energy, &run.job, device);
    double idle = isnan(energy.idle) ? 0 : energy.idle, apart = MOST_APART * truth.total;
    double sum = energy.job + energy.others + idle + energy.unattributed;
    if (!(fabs(sum - energy.drawn) <= 1e-6 * energy.drawn))
        fail_msg("device %d, %s: %.3f J of %.3f J", device, gt_idle_policy_names[policy], sum, energy.drawn);
    expect("drawn", energy.drawn, truth.total, truth.total);
    expect("others", energy.others, truth.other, truth.total);
    if (energy.job_least > truth.job + apart || truth.job > energy.job + apart)
        fail_msg("device %d, %s: the job has %.3f J, not %.3f to %.3f J", device, gt_idle_policy_names[policy],
                 truth.job, energy.job_least, energy.job);
    assert_false(energy.is_exceeded);
    if (policy != GT_IDLE_ALL || device != GT_ENERGY_GPU) { /* which boards a rank was charged with is not recorded */
        expect("job", energy.job, truth.job, truth.total);
        expect("job, at least", energy.job_least, truth.job, truth.total);
        expect("idle", idle, truth.idle, truth.total);
    }
}

static void it_adds_up_under_every_policy(enum plant_layout layout, int packages)
{
    run_plant(layout, packages, SECONDS);
    for (int policy = 0; policy < GT_IDLE_POLICIES; policy++) {
        join(policy);
        for (int device = 0; device < GT_ENERGY_DEVICES; device++)
            expect_device(device, policy);
        gt_job_release(&run.job);
    }
    end_plant();
}

TEST(on_one_package)
{
    it_adds_up_under_every_policy(PLANT_UNTOLD, 1);
}

TEST(on_packages_that_are_told_apart)
{
    if (!SANITIZED) /* the same code */
        it_adds_up_under_every_policy(PLANT_APART, 2);
}
