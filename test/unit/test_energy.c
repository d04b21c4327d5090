/* Energy on a machine of known power: what the whole chain of collectors and shares says, against the truth. */
#include "aggregate/combine.h"
#include "aggregate/energy_curve.h"
#include "support/power_plant.h"
#include "support/test.h"

static const double MOST_APART = 0.005; /* of what the device drew */

/* One machine and one sampler; what it reads is divided under each policy. Runs take long, so one serves many tests. */
static struct run {
    struct power_plant plant;
    struct gt_sampler sampler;
    struct gt_combiner combiner[GT_IDLE_POLICIES];
    struct gt_sample sample; /* under GT_IDLE_SHARE, as is the curve */
    struct gt_energy_curve curve;
    enum plant_layout layout;
    int packages;
    bool is_open;
} run;

static void take_sample(void)
{
    struct gt_error error = {0};
    if (gt_sampler_read(&run.sampler, 0, &error) < 0)
        fail_msg("%s", error.text);
    for (int policy = 0; policy < GT_IDLE_POLICIES; policy++) {
        struct gt_sample sample;
        assert_int_equal(gt_combine(&run.combiner[policy], &run.sampler, &sample), 0);
        if (policy == GT_IDLE_SHARE)
            run.sample = sample;
    }
    assert_int_equal(gt_energy_curve_add(&run.curve, run.plant.second, &run.sample.energy), 0);
}

static void begin_run(enum plant_layout layout, int packages)
{
    static const struct gt_machine machine = {
        .energy_source = {
            [GT_ENERGY_CPU] = {"RAPL", 0.001}, [GT_ENERGY_DRAM] = {"RAPL", 0.001}, [GT_ENERGY_GPU] = {"NVML", 0.1}}};
    struct gt_error error = {0};
    run.layout = layout;
    run.packages = packages;
    run.is_open = true;
    plant_begin_with(&run.plant, layout, packages);
    struct gt_sampler_options options = {.pid = PLANT_FIRST,
                                         .machine_root = run.plant.machine.path,
                                         .clock = &run.plant.machine.clock,
                                         .memory = "rss",
                                         .libraries = run.plant.machine.libraries,
                                         .period = 1};
    if (gt_sampler_open(&run.sampler, &options, &error) < 0)
        fail_msg("%s", error.text);
    for (int policy = 0; policy < GT_IDLE_POLICIES; policy++)
        gt_combine_init(&run.combiner[policy],
                        &(struct gt_combine_options){.detail = true,
                                                     .core_count = PLANT_CORES,
                                                     .period = 1,
                                                     .idle = policy,
                                                     .start_ns = run.plant.machine.monotonic_ns});
    gt_energy_curve_init(&run.curve, &machine);
    take_sample();
}

static int end_run(void **state)
{
    (void)state;
    if (!run.is_open)
        return 0;
    gt_energy_curve_release(&run.curve);
    for (int policy = 0; policy < GT_IDLE_POLICIES; policy++)
        gt_combine_release(&run.combiner[policy]);
    gt_sampler_close(&run.sampler);
    plant_end(&run.plant);
    run.is_open = false;
    return 0;
}

/* Of all PLANT_SECONDS; the run before is used again where it was the same. */
static void whole_run(enum plant_layout layout, int packages)
{
    if (run.is_open && run.plant.second == PLANT_SECONDS && run.layout == layout && run.packages == packages)
        return;
    end_run(NULL);
    begin_run(layout, packages);
    while (run.plant.second < PLANT_SECONDS) {
        plant_step(&run.plant);
        take_sample();
    }
    assert_int_equal(gt_energy_curve_finish(&run.curve), 0);
}

static void expect(const char *what, double measured, double truth, double total)
{
    if (!(fabs(measured - truth) <= MOST_APART * total))
        fail_msg("%s: %.3f J instead of %.3f J, of %.3f J in all", what, measured, truth, total);
}

static void expect_device(enum gt_energy_device device, enum gt_idle_policy policy)
{
    const struct gt_energy *energy = &run.combiner[policy].attribution.energy[device];
    struct gt_energy truth = plant_truth(device, policy, run.plant.second);
    double parts = energy->job + energy->other + energy->idle + energy->unattributed;
    assert_true(energy->is_measured);
    assert_close(energy->total, parts, 1e-6 * energy->total);
    expect("device total", energy->total, truth.total, truth.total);
    expect("job", energy->job, truth.job, truth.total);
    expect("other processes", energy->other, truth.other, truth.total);
    expect("idle", energy->idle, truth.idle, truth.total);
    expect("unattributed", energy->unattributed, 0, truth.total);
}

/* ---- the sums ---- */

TEST(under_every_policy_the_sums_equal_the_truth)
{
    whole_run(PLANT_UNTOLD, 1);
    for (int policy = 0; policy < GT_IDLE_POLICIES; policy++)
        for (int device = 0; device < GT_ENERGY_DEVICES; device++)
            expect_device(device, policy);
}

TEST(counters_wrapped_again_and_again)
{
    whole_run(PLANT_UNTOLD, 1);
    struct gt_energy truth = plant_truth(GT_ENERGY_CPU, GT_IDLE_SHARE, PLANT_SECONDS);
    assert_true(truth.total * 0.4 / 262 > PLANT_SECONDS / 10.0); /* the slower package: every few seconds */
    assert_close(run.combiner[GT_IDLE_SHARE].attribution.energy[GT_ENERGY_CPU].total, truth.total, 1e-4);
}

/* ---- packages ---- */

/* Who moves within a window is counted half here and half there: right in the mean, so that sums over packages are better. */
static const double MOST_APART_MIGRATING = 0.01;

static void expect_packages(enum gt_idle_policy policy, bool is_migrating)
{
    const struct gt_attribution *attribution = &run.combiner[policy].attribution;
    for (size_t i = 0; i < attribution->package_count; i++) {
        const struct gt_energy *energy = &attribution->package[i].cpu.energy;
        struct gt_energy truth = plant_package_truth((int)i, policy, run.plant.second);
        double parts = energy->job + energy->other + energy->idle + energy->unattributed;
        assert_close(energy->total, parts, 1e-6 * energy->total);
        expect("package total", energy->total, truth.total, truth.total);
        double loosely = is_migrating ? MOST_APART / MOST_APART_MIGRATING : 1;
        expect("job on package", energy->job * loosely, truth.job * loosely, truth.total);
        expect("others on package", energy->other * loosely, truth.other * loosely, truth.total);
        expect("idle package", energy->idle, truth.idle, truth.total);
    }
}

TEST(without_a_topology_the_machine_is_one)
{
    whole_run(PLANT_UNTOLD, 1);
    assert_int_equal(run.combiner[GT_IDLE_SHARE].attribution.package_count, 0);
    assert_string_equal(run.sampler.topology.why_no_packages, "the system does not tell on which package each CPU is");
    assert_true(isnan(run.sample.row[GT_SCOPE_COMBINED].value[GT_CPU_ENERGY_PLACEMENT_ERROR]));
}

/* ---- processes ---- */

TEST(processes_and_those_that_ended_make_up_the_job)
{
    double living = 0, truth_of_living = 0, truth_of_ended = 0, dram = 0, gpu = 0;
    whole_run(PLANT_UNTOLD, 1);
    const double *job = run.sample.row[GT_SCOPE_COMBINED].value;
    for (size_t i = 0; i < run.sample.row_count; i++) {
        const struct gt_row *row = &run.sample.row[i];
        if (row->scope != GT_SCOPE_PROCESS)
            continue;
        double truth = plant_truth_of(row->pid - PLANT_FIRST, PLANT_SECONDS);
        assert_close(row->value[GT_CPU_ENERGY], truth, 0.02 * truth + 0.5);
        living += row->value[GT_CPU_ENERGY];
        truth_of_living += truth;
        dram += row->value[GT_DRAM_ENERGY];
        gpu += row->value[GT_GPU_ENERGY];
    }
    for (int process = 0; process < PLANT_JOB; process++)
        truth_of_ended += plant_lives(process, PLANT_SECONDS) ? 0 : plant_truth_of(process, PLANT_SECONDS);
    assert_true(truth_of_ended > 0.02 * truth_of_living);
    expect("living processes", living, truth_of_living, job[GT_CPU_ENERGY]);
    expect("ended processes", job[GT_CPU_ENERGY] - living, truth_of_ended, job[GT_CPU_ENERGY]);
    assert_true(dram > 0.9 * job[GT_DRAM_ENERGY] && dram <= job[GT_DRAM_ENERGY] * 1.000001);
    assert_true(gpu > 0.9 * job[GT_GPU_ENERGY] && gpu <= job[GT_GPU_ENERGY] * 1.000001);
}

/* ---- blocks ---- */

static double truth_between(enum gt_energy_device device, double start, double stop)
{
    return plant_truth(device, GT_IDLE_SHARE, stop).job - plant_truth(device, GT_IDLE_SHARE, start).job;
}

/* What the shares of whole seconds are off by: they rest on the loads of a second, and the truth on those of a tenth. */
static double share_error(enum gt_energy_device device)
{
    return MOST_APART * plant_truth(device, GT_IDLE_SHARE, PLANT_SECONDS).total / PLANT_SECONDS * 10;
}

TEST(blocks_of_any_length_lie_within_their_error)
{
    static const double lengths[] = {0.001, 0.003, 0.01, 0.05, 0.2, 0.999, 1, 2.5, 10};
    whole_run(PLANT_UNTOLD, 1);
    srand(11);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (int n = 0; n < 20; n++) {
            double start = 3 + (rand() % 45000) / 1000.0;
            struct gt_time_stretch stretch = {start, start + lengths[k]};
            for (int device = 0; device < GT_ENERGY_DEVICES; device++) {
                struct gt_spent spent = gt_energy_curve_over(&run.curve, device, GT_ENERGY_JOB, &stretch, 1);
                double truth = truth_between(device, stretch.start, stretch.stop);
                assert_true(spent.joules > 0);
                if (!(fabs(spent.joules - truth) <= spent.error + share_error(device)))
                    fail_msg("%g s from %g s, device %d: %.4f J +- %.4f J, in truth %.4f J", lengths[k], start, device,
                             spent.joules, spent.error, truth);
                if (lengths[k] == 10)
                    assert_close(spent.joules, truth, 0.02 * truth);
            }
        }
}

TEST(blocks_follow_the_cpu_time_of_their_process)
{
    whole_run(PLANT_UNTOLD, 1);
    for (int process = 0; process < 10; process++) {
        struct gt_time_stretch stretch = {5.3 + process, 25.7 + process};
        double used = plant_cpu_seconds(process, stretch.stop) - plant_cpu_seconds(process, stretch.start);
        double truth = plant_truth_of(process, stretch.stop) - plant_truth_of(process, stretch.start);
        struct gt_spent spent = gt_energy_curve_of_cpu(&run.curve, stretch, used);
        assert_close(spent.joules, truth, 0.02 * truth);
        assert_true(fabs(spent.joules - truth) <= spent.error);
    }
}

struct setting {
    enum plant_layout layout;
    int packages;
};

static void expect_division(const struct setting *setting)
{
    for (int policy = 0; policy < GT_IDLE_POLICIES; policy++) {
        assert_int_equal(run.combiner[policy].attribution.package_count, setting->packages);
        expect_device(GT_ENERGY_CPU, policy);
        expect_packages(policy, setting->layout == PLANT_MIGRATING);
    }
}

static void expect_processes_charged_for_where_they_ran(const struct setting *setting)
{
    double living = 0, truth_of_living = 0;
    for (size_t i = 0; i < run.sample.row_count; i++) {
        const struct gt_row *row = &run.sample.row[i];
        if (row->scope != GT_SCOPE_PROCESS)
            continue;
        double truth = plant_truth_of(row->pid - PLANT_FIRST, PLANT_SECONDS);
        double most_apart = setting->layout == PLANT_MIGRATING ? 0.05 : 0.02;
        assert_close(row->value[GT_CPU_ENERGY], truth, most_apart * truth + 0.5);
        living += row->value[GT_CPU_ENERGY];
        truth_of_living += truth;
    }
    expect("living processes", living, truth_of_living, run.sample.row[GT_SCOPE_COMBINED].value[GT_CPU_ENERGY]);
}

static void expect_a_job_alone_to_have_all_of_its_package(void)
{
    const struct gt_package_share *package = run.combiner[GT_IDLE_SHARE].attribution.package;
    double idle = plant_package_truth(0, GT_IDLE_SHARE, PLANT_SECONDS).idle;
    assert_close(package[0].cpu.energy.job, package[0].cpu.energy.total - idle, 1e-3);
    assert_close(package[1].cpu.energy.job, 0, 1e-9);
    assert_close(run.sample.row[GT_SCOPE_COMBINED].value[GT_CPU_ENERGY_PLACEMENT_ERROR], 0, 1e-9);
}

static void expect_an_error_that_covers_what_is_not_known(void)
{
    double error = run.combiner[GT_IDLE_SHARE].attribution.placement_error;
    double job = run.combiner[GT_IDLE_SHARE].attribution.energy[GT_ENERGY_CPU].job;
    double truth = plant_truth(GT_ENERGY_CPU, GT_IDLE_SHARE, PLANT_SECONDS).job;
    assert_true(fabs(job - truth) < error);
    assert_true(error < 0.5 * job);
}

TEST(each_package_is_divided_on_its_own)
{
    static const struct setting settings[] = {
        {PLANT_APART, 2}, {PLANT_APART, 4},     {PLANT_MIXED, 2},
        {PLANT_MIXED, 4}, {PLANT_MIGRATING, 2}, {PLANT_MIGRATING, 4},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i += FEWER(1, 2)) {
        const struct setting *setting = &settings[i];
        print_message("layout %d on %d packages\n", setting->layout, setting->packages);
        whole_run(setting->layout, setting->packages);
        expect_division(setting);
        if (setting->packages > 2)
            continue;
        expect_processes_charged_for_where_they_ran(setting);
        if (setting->layout == PLANT_APART)
            expect_a_job_alone_to_have_all_of_its_package();
        if (setting->layout == PLANT_MIGRATING)
            expect_an_error_that_covers_what_is_not_known();
    }
}

ALL_TESTS(NULL, end_run);
