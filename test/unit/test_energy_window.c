/* What is drawn between two readings, now. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "aggregate/energy_window.h"

static struct gt_energy_window window;
static struct gt_energy_source sources[GT_ENERGY_DEVICES];

static int begin(void **state)
{
    (void)state;
    window = (struct gt_energy_window){0};
    sources[GT_ENERGY_CPU] = (struct gt_energy_source){"RAPL by powercap", 0.001};
    sources[GT_ENERGY_GPU] = (struct gt_energy_source){"NVML", 0.1};
    return 0;
}

/* Of either device the job has half, others a quarter; nothing is idle. */
static void add(double time, double cpu, double gpu)
{
    double system[GT_METRIC_COUNT], job[GT_METRIC_COUNT];
    gt_values_clear(system);
    gt_values_clear(job);
    job[GT_CPU_ENERGY] = cpu / 2;
    job[GT_GPU_ENERGY] = gpu / 2;
    system[GT_CPU_ENERGY] = cpu;
    system[GT_GPU_ENERGY] = gpu;
    system[GT_CPU_ENERGY_OTHER] = system[GT_CPU_ENERGY_UNATTRIBUTED] = cpu / 4;
    system[GT_GPU_ENERGY_OTHER] = system[GT_GPU_ENERGY_UNATTRIBUTED] = gpu / 4;
    system[GT_CPU_ENERGY_IDLE] = system[GT_GPU_ENERGY_IDLE] = 0;
    gt_energy_window_add(&window, time, system, job);
}

static struct gt_window_energy end(double total, double error, double job_error)
{
    struct gt_window_energy energy = gt_energy_window_end(&window, sources);
    const double *part = energy.part;
    assert_float_equal(part[GT_ENERGY_TOTAL], total, 1e-9);
    assert_float_equal(part[GT_ENERGY_JOB], total / 2, 1e-9);
    assert_float_equal(part[GT_ENERGY_OTHER] + part[GT_ENERGY_IDLE] + part[GT_ENERGY_UNATTRIBUTED], total / 2, 1e-9);
    assert_float_equal(energy.error, error, 1e-9);
    assert_float_equal(energy.job_error, job_error, 1e-9);
    return energy;
}

static void readings_that_moved_are_as_sure_as_the_refresh(void **state)
{
    (void)state;
    add(0, 0, NAN);
    add(1, 10, NAN);
    end(10, 0.01, 0.005);
    add(2, 40, NAN);
    add(3, 60, NAN);
    end(50, 0.03, 0.015); /* 30 W at the begin, 20 W at the end */
}

static void a_window_shorter_than_the_refresh_is_not_zero(void **state)
{
    (void)state;
    add(0, NAN, 0);
    add(1, NAN, 100);
    end(100, 10, 5);
    add(1.02, NAN, 100);
    end(2, 10, 5); /* with the power before */
    add(1.04, NAN, 110);
    end(5, 5 + 25, 2.5 + 12.5); /* half of what was drawn in the gap */
}

static void a_counter_that_stands_still_for_long_stands_still(void **state)
{
    (void)state;
    add(0, NAN, 0);
    add(1, NAN, 100);
    end(100, 10, 5);
    add(2, NAN, 100);
    end(10, 10, 5);
    add(3, NAN, 100);
    end(0, 10, 5);
}

static void fast_readings_are_as_slow_as_the_share(void **state)
{
    (void)state;
    add(0, 0, NAN);
    add(0.02, 1, NAN);
    end(1, 0.001 * 50, (0.001 + 0.08) * 25);
}

static void devices_are_added_and_estimates_told(void **state)
{
    (void)state;
    add(0, 0, 0);
    add(1, 10, 100);
    assert_false(end(110, 10.01, 5.005).is_estimated);
    sources[GT_ENERGY_CPU] = (struct gt_energy_source){"estimated by CPU use", 0};
    add(2, 20, 200);
    struct gt_window_energy energy = gt_energy_window_end(&window, sources);
    assert_true(energy.is_estimated && isnan(energy.error));
    assert_float_equal(energy.part[GT_ENERGY_TOTAL], 110, 1e-9);
}

static void without_counters_nothing_is_known(void **state)
{
    (void)state;
    add(0, NAN, NAN);
    add(1, NAN, NAN);
    struct gt_window_energy energy = gt_energy_window_end(&window, sources);
    assert_true(isnan(energy.part[GT_ENERGY_TOTAL]) && isnan(energy.error) && !energy.is_estimated);
}

static void add_cpu(double time, double joules, double missing)
{
    double system[GT_METRIC_COUNT], job[GT_METRIC_COUNT];
    gt_values_clear(system);
    gt_values_clear(job);
    system[GT_CPU_ENERGY] = job[GT_CPU_ENERGY] = joules;
    system[GT_CPU_ENERGY_OTHER] = system[GT_CPU_ENERGY_UNATTRIBUTED] = system[GT_CPU_ENERGY_IDLE] = isnan(joules) ? NAN
                                                                                                                  : 0;
    system[gt_missing_metrics[GT_ENERGY_CPU]] = missing;
    gt_energy_window_add(&window, time, system, job);
}

/* A window in which a counter was never read drew not nothing; at the end of a gap only a part is known. */
static void what_is_missing_is_not_zero(void **state)
{
    (void)state;
    add_cpu(0, 0, 0);
    add_cpu(1, 10, 0);
    assert_float_equal(gt_energy_window_end(&window, sources).part[GT_ENERGY_TOTAL], 10, 1e-9);
    add_cpu(2, NAN, 1);
    assert_true(isnan(gt_energy_window_end(&window, sources).part[GT_ENERGY_TOTAL]));
    add_cpu(3, 30, 0); /* it makes up for the one that failed */
    struct gt_window_energy energy = gt_energy_window_end(&window, sources);
    assert_float_equal(energy.part[GT_ENERGY_TOTAL], 10, 1e-9);
    assert_false(isnan(energy.error));
    add_cpu(4, NAN, 1);
    add_cpu(4.5, 40, 1);
    energy = gt_energy_window_end(&window, sources);
    assert_true(energy.part[GT_ENERGY_TOTAL] > 0 && isnan(energy.error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(readings_that_moved_are_as_sure_as_the_refresh, begin),
        cmocka_unit_test_setup(a_window_shorter_than_the_refresh_is_not_zero, begin),
        cmocka_unit_test_setup(a_counter_that_stands_still_for_long_stands_still, begin),
        cmocka_unit_test_setup(fast_readings_are_as_slow_as_the_share, begin),
        cmocka_unit_test_setup(devices_are_added_and_estimates_told, begin),
        cmocka_unit_test_setup(without_counters_nothing_is_known, begin),
        cmocka_unit_test_setup(what_is_missing_is_not_zero, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
