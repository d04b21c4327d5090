/* Energy since the last question, up to now. */
#include "aggregate/energy_curve.h"
#include "support/test.h"

static struct gt_energy_curve curve;

static int begin(void **state)
{
    (void)state;
    static const struct gt_machine machine = {
        .energy_source = {[GT_ENERGY_CPU] = {"RAPL by powercap", 0.001}, [GT_ENERGY_GPU] = {"NVML", 0.1}}};
    gt_energy_curve_follow(&curve, &machine, 0);
    return 0;
}

static int release(void **state)
{
    (void)state;
    for (int i = 0; i < GT_ENERGY_DEVICES; i++)
        assert_true(curve.device[i].curve.count <= 5); /* however long it is followed */
    gt_energy_curve_release(&curve);
    return 0;
}

/* Of either device the job has half, others a quarter; nothing is idle. */
static void add(double time, double cpu, double gpu)
{
    struct gt_energy_reading reading;
    gt_energy_reading_clear(&reading);
    reading.device[GT_ENERGY_CPU] = (struct gt_energy){true, cpu, cpu / 2, cpu / 4, 0, cpu / 4, NAN};
    reading.device[GT_ENERGY_GPU] = (struct gt_energy){true, gpu, gpu / 2, gpu / 4, 0, gpu / 4, NAN};
    assert_int_equal(gt_energy_curve_add(&curve, time, &reading), 0);
}

static struct gt_energy_drawn end(double total, double error, double job_error)
{
    struct gt_energy_drawn energy;
    gt_energy_curve_take(&curve, &energy);
    assert_close(energy.total, total, 1e-9);
    assert_close(energy.job, total / 2, 1e-9);
    assert_close(energy.other + energy.idle + energy.unattributed, total / 2, 1e-9);
    assert_close(energy.error, error, 1e-9);
    assert_close(energy.job_error, job_error, 1e-9);
    return energy;
}

TEST_WITH(a_counter_that_stands_still_for_long_stands_still, begin, release)
{
    add(0, NAN, 0);
    add(1, NAN, 100);
    end(100, 10, 5);
    add(2, NAN, 100);
    end(10, 10, 5);
    add(3, NAN, 100);
    end(0, 10, 5);
}

TEST_WITH(devices_are_added_and_estimates_told, begin, release)
{
    add(0, 0, 0);
    add(1, 10, 100);
    assert_false(end(110, 10.01, 5.005).is_estimated);
    curve.device[GT_ENERGY_CPU].is_estimated = true;
    add(2, 20, 200);
    struct gt_energy_drawn energy;
    gt_energy_curve_take(&curve, &energy);
    assert_true(energy.is_estimated && isnan(energy.error));
    assert_close(energy.total, 110, 1e-9);
}

TEST_WITH(a_long_stretch_is_asked_for_in_little_memory, begin, release)
{
    for (int i = 0; i <= 1000; i++)
        add(i * 0.1, i, 10.0 * i);
    end(11000, 0.001 * 10 + 0.1 * 100, 0.001 * 5 + 0.1 * 50);
    for (int i = 1; i <= 100; i++)
        add(100 + i, 1000 + 2 * i, 10000);
    end(200 + 10, 0.002 + 10, 0.001 + 5);
}

/* The last reading was at 1 s: what it drew after that is not known. */
TEST_WITH(a_counter_that_is_lost_has_no_error, begin, release)
{
    struct gt_energy_reading lost;
    struct gt_energy_drawn energy;
    add(0, 0, NAN);
    add(1, 10, NAN);
    gt_energy_reading_clear(&lost);
    lost.missing[GT_ENERGY_CPU] = 3;
    assert_int_equal(gt_energy_curve_add(&curve, 4, &lost), 0);
    gt_energy_curve_take(&curve, &energy);
    assert_close(energy.total, 10 + 0.001 * 10, 1e-9);
    assert_true(isnan(energy.error) && isnan(energy.job_error));
}
