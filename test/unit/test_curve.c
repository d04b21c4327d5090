/* Quantities at moments between samples. */
#include "aggregate/curve.h"
#include "support/folder.h"
#include "support/recorder.h"
#include "support/test.h"

TEST(between_two_points_it_is_linear)
{
    struct gt_curve curve;
    gt_curve_init(&curve, 2);
    assert_int_equal(gt_curve_add(&curve, 10, (double[]){100, 0}), 0);
    assert_int_equal(gt_curve_add(&curve, 14, (double[]){300, -8}), 0);
    assert_int_equal(gt_curve_add(&curve, 12, (double[]){200, -1}), 0); /* the clock was set back */
    assert_int_equal(gt_curve_add(&curve, NAN, (double[]){999, 999}), 0);
    gt_curve_finish(&curve);
    assert_int_equal(curve.count, 3);
    assert_close(gt_curve_at(&curve, 10, 0), 100, 0);
    assert_close(gt_curve_at(&curve, 11, 0), 150, 1e-9);
    assert_close(gt_curve_at(&curve, 13, 1), -4.5, 1e-9);
    assert_close(gt_curve_at(&curve, 14, 1), -8, 0);
    assert_true(isnan(gt_curve_at(&curve, 9.999, 0)));
    assert_true(isnan(gt_curve_at(&curve, 14.001, 0)));
    assert_true(isnan(gt_curve_at(&curve, NAN, 0)));
    gt_curve_release(&curve);
}

TEST(a_curve_without_points_is_nowhere)
{
    struct gt_curve curve;
    gt_curve_init(&curve, 1);
    gt_curve_finish(&curve);
    assert_true(isnan(gt_curve_at(&curve, 0, 0)));
    gt_curve_release(&curve);
}

/* The times at which it is asked are known before: it is as exact there as one that keeps every point. */
TEST(a_bounded_curve_is_exact_at_its_moments)
{
    enum { POINTS = 20 * GT_CURVE_POINTS };
    double time[] = {-5, 17.25, 17.5, 3.1 * GT_CURVE_POINTS, 11 * GT_CURVE_POINTS, POINTS - 1.5, POINTS - 1};
    const struct gt_curve_moments moments = {time, sizeof time / sizeof *time};
    struct gt_curve bounded, whole;
    gt_curve_init(&bounded, 1);
    gt_curve_init(&whole, 1);
    gt_curve_bound(&bounded, &moments, 2);
    for (int i = 0; i < POINTS; i++) {
        double value = sqrt(i) * (i % 7);
        assert_int_equal(gt_curve_add(&bounded, i, &value), 0);
        assert_int_equal(gt_curve_add(&whole, i, &value), 0);
    }
    gt_curve_finish(&bounded);
    assert_true(bounded.count <= GT_CURVE_POINTS && bounded.capacity <= 2 * GT_CURVE_POINTS);
    for (size_t i = 1; i < moments.count; i++) {
        assert_close(gt_curve_at(&bounded, time[i], 0), gt_curve_at(&whole, time[i], 0), 0);
        assert_close(gt_curve_at(&bounded, time[i] - 1.75, 0), gt_curve_at(&whole, time[i] - 1.75, 0), 0);
    }
    assert_true(isnan(gt_curve_at(&bounded, time[0], 0)));
    gt_curve_release(&bounded);
    gt_curve_release(&whole);
}

/* Every point is next to a moment. */
TEST(a_bounded_curve_keeps_what_is_asked)
{
    enum { POINTS = 5 * GT_CURVE_POINTS };
    static double time[POINTS];
    struct gt_curve curve;
    gt_curve_init(&curve, 1);
    gt_curve_bound(&curve, &(struct gt_curve_moments){time, POINTS}, 0);
    for (int i = 0; i < POINTS; i++)
        time[i] = i + 0.5;
    for (int i = 0; i < POINTS; i++)
        assert_int_equal(gt_curve_add(&curve, i, &(double){i}), 0);
    assert_int_equal(curve.count, POINTS);
    gt_curve_release(&curve);
}

static double seconds(int64_t ns)
{
    return (double)(ns / 1000000000) + (double)(ns % 1000000000) / 1e9;
}

static double job_energy(int sample)
{
    return recorder_value(sample, GT_SCOPE_COMBINED, GT_SCOPE_COMBINED, GT_CPU_ENERGY) +
           recorder_value(sample, GT_SCOPE_COMBINED, GT_SCOPE_COMBINED, GT_DRAM_ENERGY) +
           recorder_value(sample, GT_SCOPE_COMBINED, GT_SCOPE_COMBINED, GT_GPU_ENERGY);
}

TEST(a_recording_is_asked_at_other_times)
{
    static const char *const names[] = {"epochs.csv", "epochs.sqlite"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = folder_path(names[i]);
        recorder_write(path, 10, false);
        double first = seconds(recorder_sample(0)->real_ns), last = seconds(recorder_sample(9)->real_ns);
        double begin = job_energy(0), end = job_energy(9);
        double times[] = {last, first + 0.25 * (last - first), first, first - 1, last + 1e6}, values[5];
        struct gt_error error = {0};
        assert_int_equal(gt_recording_interpolate(path, "combined_energy", times, 5, values, &error), 0);
        assert_string_equal(error.text, "");
        assert_close(values[2], begin, 1e-6);
        assert_close(values[0], end, 1e-6);
        assert_true(values[1] > fmin(begin, end) && values[1] < fmax(begin, end));
        assert_true(isnan(values[3]) && isnan(values[4]));
        double parts[5], sum[5];
        assert_int_equal(gt_recording_interpolate(path, "combined_cpu_energy", times, 5, parts, &error), 0);
        assert_int_equal(
            gt_recording_interpolate(path, "combined_cpu_energy+combined_cpu_energy", times, 5, sum, &error), 0);
        assert_close(sum[1], 2 * parts[1], 1e-6);
    }
}

TEST(an_unknown_column_is_named)
{
    const char *path = folder_path("named.csv");
    struct gt_error error = {0};
    double time = 0, value;
    recorder_write(path, 3, false);
    assert_int_equal(gt_recording_interpolate(path, "combined_energy+joules", &time, 1, &value, &error), -ENOENT);
    assert_non_null(strstr(error.text, "\"joules\""));
    error = (struct gt_error){0};
    assert_true(gt_recording_interpolate(folder_path("none.csv"), "main_ram", &time, 1, &value, &error) < 0);
    assert_non_null(strstr(error.text, "none.csv"));
}

ALL_TESTS(folder_make, folder_remove);
