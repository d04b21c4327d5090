/* The energy of stretches of time, from what a recording has of it. */
#include "aggregate/energy_curve.h"
#include "support/test.h"

static struct gt_energy_curve curve;

/* The job has half of what the machine draws. */
static void add(double time, double cpu_joules, double gpu_joules, double cpu_seconds)
{
    struct gt_energy_reading reading;
    gt_energy_reading_clear(&reading);
    reading.device[GT_ENERGY_CPU] = (struct gt_energy){true, 2 * cpu_joules, cpu_joules, NAN, NAN, NAN, NAN};
    reading.device[GT_ENERGY_GPU] = (struct gt_energy){true, 2 * gpu_joules, gpu_joules, NAN, NAN, NAN, NAN};
    reading.cpu_time = cpu_seconds;
    assert_int_equal(gt_energy_curve_add(&curve, time, &reading), 0);
}

/* 10 W, then 30 W, of the CPU; 100 W of the GPU. */
static int begin(void **state)
{
    (void)state;
    struct gt_machine machine = {.energy_source = {[GT_ENERGY_CPU] = {"RAPL", 0.001}, [GT_ENERGY_GPU] = {"NVML", 0.1}}};
    gt_energy_curve_init(&curve, &machine);
    add(100, 0, 0, 0);
    add(101, 10, 100, 0.5);
    add(102, 40, 200, 1.5);
    add(103, 70, 300, 2.5);
    assert_int_equal(gt_energy_curve_finish(&curve), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    gt_energy_curve_release(&curve);
    return 0;
}

static struct gt_spent over(enum gt_energy_device device, double start, double stop)
{
    return gt_energy_curve_over(&curve, device, GT_ENERGY_JOB, &(struct gt_time_stretch){start, stop}, 1);
}

static void expect(struct gt_spent spent, double joules, double error)
{
    assert_close(spent.joules, joules, 1e-6);
    assert_close(spent.error, error, 1e-6);
}

TEST_WITH(whole_gaps_are_as_sure_as_their_readings, begin, end)
{
    expect(over(GT_ENERGY_CPU, 101, 103), 60, 0.03);
    expect(over(GT_ENERGY_CPU, 100, 102), 40, 0.03); /* the larger of both ends */
    expect(over(GT_ENERGY_GPU, 100, 103), 300, 10);
}

TEST_WITH(a_short_stretch_has_a_figure_and_a_bound, begin, end)
{
    expect(over(GT_ENERGY_CPU, 101.5, 101.501), 0.03, 29.97 + 0.03);
    expect(over(GT_ENERGY_GPU, 101.25, 101.75), 50, 50 + 10);
}

TEST_WITH(edges_are_uncertain_and_the_middle_is_not, begin, end)
{
    expect(over(GT_ENERGY_CPU, 100.5, 102.9), 5 + 30 + 27, 5 + 27 + 0.03);
}

TEST_WITH(many_stretches_of_one_gap_share_its_bound, begin, end)
{
    struct gt_time_stretch stretch[10];
    for (int i = 0; i < 10; i++)
        stretch[i] = (struct gt_time_stretch){101 + i * 0.1, 101 + i * 0.1 + 0.04};
    expect(gt_energy_curve_over(&curve, GT_ENERGY_CPU, GT_ENERGY_JOB, stretch, 10), 12, 18 + 0.03);
    for (int i = 0; i < 10; i++)
        stretch[i].stop = 101 + (i + 1) * 0.1;
    expect(gt_energy_curve_over(&curve, GT_ENERGY_CPU, GT_ENERGY_JOB, stretch, 10), 30, 0.03);
}

TEST_WITH(the_gap_between_two_stretches_lags_as_well, begin, end)
{
    const struct gt_time_stretch linked[] = {{100, 101.2}, {101.5, 103}}, apart[] = {{100, 101}, {102, 103}};
    expect(gt_energy_curve_over(&curve, GT_ENERGY_GPU, GT_ENERGY_JOB, linked, 2), 270, 70 + 10 + 10);
    expect(gt_energy_curve_over(&curve, GT_ENERGY_GPU, GT_ENERGY_JOB, apart, 2), 200, 10 + 10);
}

TEST_WITH(outside_of_the_recording_nothing_is_known, begin, end)
{
    assert_true(isnan(over(GT_ENERGY_CPU, 90, 99).joules));
    assert_true(isnan(over(GT_ENERGY_CPU, 104, 105).joules));
    assert_true(isnan(over(GT_ENERGY_DRAM, 101, 102).joules));
    expect(over(GT_ENERGY_CPU, 90, 101), 10, 0.01);
}

TEST_WITH(cpu_energy_follows_cpu_time, begin, end)
{
    /* All of the job's second of CPU time in that gap, within a third of it. */
    expect(gt_energy_curve_of_cpu(&curve, (struct gt_time_stretch){101.3, 101.6}, 1), 30, 0.03);
    /* A tenth of it. */
    expect(gt_energy_curve_of_cpu(&curve, (struct gt_time_stretch){101.3, 101.6}, 0.1), 3, 3 + 0.01);
    /* A process that has half of the job's CPU time in two whole gaps. */
    expect(gt_energy_curve_of_cpu(&curve, (struct gt_time_stretch){101, 103}, 1), 30, 0.015);
    /* Not known: by time. */
    expect(gt_energy_curve_of_cpu(&curve, (struct gt_time_stretch){101, 102}, NAN), 30, 0.03);
}

TEST_WITH(a_reading_that_failed_is_covered_by_the_next, begin, end)
{
    add(104, NAN, 300, 2.5); /* one fails, the other has the same as before */
    add(105, 90, 500, 3.5);
    add(106, 100, 500, 3.5);
    assert_int_equal(gt_energy_curve_finish(&curve), 0);
    expect(over(GT_ENERGY_CPU, 103, 105), 20, 0.01);
    expect(over(GT_ENERGY_CPU, 103, 104), 10, 10 + 0.01);
    expect(over(GT_ENERGY_GPU, 103, 104), 100, 100 + 10);
    expect(over(GT_ENERGY_GPU, 105, 106), 0, 0);
}

TEST_WITH(a_counter_that_is_late_at_the_end_is_not_zero, begin, end)
{
    add(103.08, 70, 300, 2.5); /* within its refresh of the GPU's, after many of the CPU's */
    assert_int_equal(gt_energy_curve_finish(&curve), 0);
    expect(over(GT_ENERGY_GPU, 103.04, 103.06), 2, 6 + 10);
    expect(over(GT_ENERGY_CPU, 103.04, 103.06), 0, 0);
}

TEST_WITH(fast_samples_are_as_slow_as_the_share, begin, end)
{
    add(103.02, 70.6, 302, 2.52);
    add(103.04, 71.2, 304, 2.54);
    assert_int_equal(gt_energy_curve_finish(&curve), 0);
    expect(over(GT_ENERGY_CPU, 103.02, 103.04), 0.6, (0.001 + 0.1 - 0.02) * 30);
    expect(over(GT_ENERGY_GPU, 103.02, 103.04), 2, 0.1 * 100);
}

TEST_WITH(what_is_estimated_has_no_error, begin, end)
{
    curve.device[GT_ENERGY_CPU].is_estimated = true;
    struct gt_spent sum = over(GT_ENERGY_GPU, 101, 102), spent = over(GT_ENERGY_CPU, 101, 102);
    assert_close(spent.joules, 30, 1e-6);
    assert_true(isnan(spent.error) && spent.is_estimated && !sum.is_estimated);
    gt_spent_add(&sum, spent);
    assert_close(sum.joules, 130, 1e-6);
    assert_true(isnan(sum.error) && sum.is_estimated);
}

/* The CPU's counter, of which time is missing; the GPU's is whole. */
static void add_missing(double time, double joules, double missing)
{
    struct gt_energy_reading reading;
    gt_energy_reading_clear(&reading);
    double gpu = 100 * (time - 100);
    reading.device[GT_ENERGY_CPU] = (struct gt_energy){true, joules, joules, NAN, NAN, NAN, NAN};
    reading.device[GT_ENERGY_GPU] = (struct gt_energy){true, gpu, gpu, NAN, NAN, NAN, NAN};
    reading.missing[GT_ENERGY_CPU] = missing;
    assert_int_equal(gt_energy_curve_add(&curve, time, &reading), 0);
}

static void restart(void)
{
    struct gt_machine machine = {.energy_source = {[GT_ENERGY_CPU] = {"RAPL", 0.001}, [GT_ENERGY_GPU] = {"NVML", 0.1}}};
    gt_energy_curve_release(&curve);
    gt_energy_curve_init(&curve, &machine);
}

static void expect_missing(double start, double stop, double joules, double missing)
{
    struct gt_spent spent = over(GT_ENERGY_CPU, start, stop);
    assert_close(spent.missing, missing, 1e-6);
    assert_true(isnan(joules) ? isnan(spent.joules) : fabs(spent.joules - joules) < 1e-6);
    assert_true(isnan(spent.error) == (missing > 0));
}

TEST_WITH(what_is_not_read_to_the_end_is_missing_there, begin, end)
{
    restart();
    add_missing(100, 0, 0);
    add_missing(101, 10, 0);
    add_missing(102, NAN, 1);
    add_missing(103, NAN, 2);
    assert_int_equal(gt_energy_curve_finish(&curve), 0);
    expect_missing(100, 101, 10, 0);
    expect_missing(100.5, 102.5, 5, 0.75);
    expect_missing(101.5, 102.5, NAN, 1);
    assert_true(gt_energy_curve_marks(&curve) & GT_ENERGY_IS_PARTIAL);
}

TEST_WITH(what_is_not_read_at_the_start_is_missing_there, begin, end)
{
    restart();
    add_missing(100, NAN, 0);
    add_missing(101, NAN, 1);
    add_missing(102, 0, 2);
    add_missing(103, 10, 2);
    assert_int_equal(gt_energy_curve_finish(&curve), 0);
    expect_missing(102, 103, 10, 0);
    expect_missing(101, 103, 10, 0.5);
    expect_missing(100.5, 101.5, NAN, 1);
}

/* As a relay whose counter has not made a step yet. */
TEST_WITH(the_first_reading_covers_the_time_before_it, begin, end)
{
    restart();
    add_missing(100, NAN, NAN);
    add_missing(101, 10, 0);
    add_missing(102, 30, 0);
    assert_int_equal(gt_energy_curve_finish(&curve), 0);
    expect_missing(100, 101, 10, 0);
    expect_missing(100.5, 102, 25, 0);
}

TEST_WITH(a_reading_makes_up_for_those_that_failed_before, begin, end)
{
    restart();
    add_missing(100, 0, 0);
    add_missing(101, NAN, 1);
    add_missing(102, 20, 0);
    add_missing(103, 30, 0);
    assert_int_equal(gt_energy_curve_finish(&curve), 0);
    expect_missing(101.5, 103, 15, 0);
    assert_false(gt_energy_curve_marks(&curve) & GT_ENERGY_IS_PARTIAL);
}

/* One part that is missing makes the sum one of a part. */
TEST_WITH(a_sum_with_a_missing_part_is_partial, begin, end)
{
    struct gt_spent sum = {.joules = NAN, .error = NAN};
    gt_spent_add(&sum, (struct gt_spent){.joules = NAN, .error = NAN, .missing = 1});
    gt_spent_add(&sum, (struct gt_spent){.joules = 5, .error = 1});
    assert_close(sum.joules, 5, 0);
    assert_close(sum.missing, 1, 0);
    assert_true(isnan(sum.error));
    sum = (struct gt_spent){.joules = NAN, .error = NAN};
    gt_spent_add(&sum, (struct gt_spent){.joules = NAN, .error = NAN});
    gt_spent_add(&sum, (struct gt_spent){.joules = 5, .error = 1});
    assert_close(sum.missing, 0, 0);
    assert_close(sum.error, 1, 0);
}

TEST_WITH(a_machine_without_counters_has_no_course, begin, end)
{
    struct gt_energy_curve none;
    struct gt_energy_reading nothing;
    gt_energy_reading_clear(&nothing);
    gt_energy_curve_init(&none, &(struct gt_machine){0});
    assert_int_equal(gt_energy_curve_add(&none, 1, &nothing), 0);
    assert_int_equal(gt_energy_curve_add(&none, 2, &nothing), 0);
    assert_int_equal(gt_energy_curve_finish(&none), 0);
    assert_false(gt_energy_curve_is_measured(&none));
    assert_true(isnan(gt_energy_curve_of_cpu(&none, (struct gt_time_stretch){1, 2}, 1).joules));
    gt_energy_curve_release(&none);
    assert_true(gt_energy_curve_is_measured(&curve));
}

TEST_WITH(joules_up_to_a_moment, begin, end)
{
    add(104, 80, 300, 2.5); /* the GPU's counter has not moved: its next figure is of two seconds */
    add(105, 90, 500, 2.5);
    assert_int_equal(gt_energy_curve_finish(&curve), 0);
    assert_close(gt_energy_curve_at(&curve, GT_ENERGY_CPU, GT_ENERGY_JOB, 101.5), 25, 1e-9);
    assert_close(gt_energy_curve_at(&curve, GT_ENERGY_CPU, GT_ENERGY_TOTAL, 101.5), 50, 1e-9);
    assert_close(gt_energy_curve_at(&curve, GT_ENERGY_GPU, GT_ENERGY_JOB, 104), 400, 1e-9);
    assert_close(gt_energy_curve_at(&curve, GT_ENERGY_DEVICES, GT_ENERGY_JOB, 104), 480, 1e-9);
    assert_true(isnan(gt_energy_curve_at(&curve, GT_ENERGY_CPU, GT_ENERGY_OTHER, 101.5)));
    assert_true(isnan(gt_energy_curve_at(&curve, GT_ENERGY_DEVICES, GT_ENERGY_JOB, 99)));
}

TEST_WITH(columns_are_a_view_of_a_reading, begin, end)
{
    double system[GT_METRIC_COUNT], job[GT_METRIC_COUNT];
    struct gt_energy_reading reading, taken;
    enum gt_energy_device device;
    enum gt_energy_part part;
    gt_values_clear(system);
    gt_values_clear(job);
    gt_energy_reading_clear(&reading);
    reading.device[GT_ENERGY_CPU] = (struct gt_energy){true, 10, 4, 3, 2, 1, NAN};
    reading.device[GT_ENERGY_DRAM] = (struct gt_energy){true, 6, 4, 1, 0, 1, NAN};
    reading.missing[GT_ENERGY_DRAM] = 0.5;
    reading.placement_error = 0.25;
    gt_energy_reading_show(&reading, system, job);
    assert_true(job[GT_ENERGY] == 8 && system[GT_CPU_ENERGY_OTHER] == 3 && isnan(system[GT_GPU_ENERGY]));
    gt_energy_reading_take(&taken, system, job);
    for (int i = GT_ENERGY_TOTAL; i < GT_ENERGY_PARTS; i++) {
        assert_true(gt_energy_part(&taken.device[GT_ENERGY_CPU], i) ==
                    gt_energy_part(&reading.device[GT_ENERGY_CPU], i));
        assert_true(gt_energy_part(&taken.device[GT_ENERGY_DRAM], i) ==
                    gt_energy_part(&reading.device[GT_ENERGY_DRAM], i));
    }
    assert_true(taken.missing[GT_ENERGY_DRAM] == 0.5 && taken.placement_error == 0.25 && isnan(taken.share_error));
    assert_true(gt_energy_is_divided(&taken.device[GT_ENERGY_DRAM]) && !taken.device[GT_ENERGY_GPU].is_measured);
    assert_true(gt_energy_column(GT_SCOPE_COMBINED, GT_GPU_ENERGY, &device, &part) && device == GT_ENERGY_GPU);
    assert_int_equal(part, GT_ENERGY_JOB);
    assert_true(gt_energy_column(GT_SCOPE_SYSTEM, GT_CPU_ENERGY_IDLE, &device, &part) && part == GT_ENERGY_IDLE);
    assert_false(gt_energy_column(GT_SCOPE_SYSTEM, GT_CORE_ENERGY, &device, &part));
}
