/* How figures grow with the size of what runs were given: lines, powers, odd runs, and what too few runs cannot tell. */
#include "analyse/usage/scaling.h"
#include "support/test.h"

enum { RUNS = 8 };

static void is_near(double value, double expected, double share)
{
    if (!(fabs(value / expected - 1) <= share))
        fail_msg("%g is not near %g", value, expected);
}

TEST(test_line)
{
    struct gt_scaling_point point[RUNS];
    struct gt_scaling scaling;
    for (int i = 0; i < RUNS; i++)
        point[i] = (struct gt_scaling_point){100 * (i + 1), 5e8 + 2e6 * 100 * (i + 1) * (1 + 0.01 * (i % 2 ? 1 : -1))};
    point[3].y *= 3; /* an odd one */
    assert_int_equal(gt_scaling_fit(&scaling, point, RUNS), 0);
    assert_false(scaling.is_power);
    is_near(scaling.slope, 2e6, 0.03);
    assert_true(scaling.slope_low < 2e6 && scaling.slope_high > 2e6);
    struct gt_scaling_range far = gt_scaling_at(&scaling, 5000), near = gt_scaling_at(&scaling, 500);
    is_near(far.best, 5e8 + 2e6 * 5000, 0.05);
    assert_true(far.low < far.best && far.best < far.high);
    assert_true(far.high - far.low > near.high - near.low);
}

TEST(test_power)
{
    struct gt_scaling_point point[RUNS];
    struct gt_scaling scaling;
    for (int i = 0; i < RUNS; i++)
        point[i] = (struct gt_scaling_point){pow(2, i), 3 * pow(2, 2 * i) * (1 + 0.02 * (i % 3 - 1))};
    assert_int_equal(gt_scaling_fit(&scaling, point, RUNS), 0);
    assert_true(scaling.is_power);
    is_near(scaling.slope, 2, 0.02);
    is_near(gt_scaling_at(&scaling, 512).best, 3 * 512.0 * 512, 0.1);
}

/* Every run lies in the interval at its own size. */
TEST(test_interval_holds_the_runs)
{
    struct gt_scaling_point point[RUNS];
    struct gt_scaling scaling;
    for (int i = 0; i < RUNS; i++)
        point[i] = (struct gt_scaling_point){10 + i * i, 7 + 3 * i + (i * 37 % 11)};
    assert_int_equal(gt_scaling_fit(&scaling, point, RUNS), 0);
    for (int i = 0; i < RUNS; i++) {
        struct gt_scaling_range range = gt_scaling_at(&scaling, point[i].x);
        assert_true(point[i].y >= range.low - 1e-9 && point[i].y <= range.high + 1e-9);
    }
}

TEST(test_too_few)
{
    static const struct gt_scaling_point point[] = {{1, 1}, {2, 2}, {1, 1}, {2, 2}, {3, 3}};
    struct gt_scaling scaling;
    assert_int_equal(gt_scaling_fit(&scaling, point, 0), -EDOM);
    assert_int_equal(gt_scaling_fit(&scaling, point, 4), -EDOM); /* of two sizes */
    assert_int_equal(gt_scaling_fit(&scaling, point + 2, 3), -EDOM);
    assert_int_equal(gt_scaling_fit(&scaling, point, 5), 0);
    is_near(gt_scaling_at(&scaling, 10).best, 10, 1e-9);
}
