/* Runs of one program are called different seldom enough whatever their figures look like, and real differences are found. */
#include "analyse/compare/statistics.h"
#include "support/test.h"

enum { MOST_ROWS = 32, MOST_RUNS = 24 };

/* ---- random figures ---- */

static uint64_t random_state;

static double uniform(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(random_state >> 11) / 0x1p53;
}

static double normal(void)
{
    return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

static double of_normal_noise(void)
{
    return 1 + 0.03 * normal();
}

static double with_a_heavy_tail(void) /* Student's t with 2 degrees of freedom: infinite variance */
{
    double x = normal(), y = normal();
    return 1 + 0.02 * normal() / sqrt((x * x + y * y) / 2);
}

static double skewed(void)
{
    return 0.9 + 0.1 * exp(normal());
}

static double with_outliers(void)
{
    return 1 + 0.02 * normal() + (uniform() < 0.1 ? uniform() : 0);
}

static double of_two_kinds(void)
{
    return 1 + (uniform() < 0.5 ? 0.2 : 0) + 0.001 * normal();
}

static double of_two_values(void)
{
    return uniform() < 0.5 ? 1 : 1.1;
}

static double of_a_few_pages(void)
{
    return 1 + 0.0004 * nearbyint(normal());
}

static double constant(void)
{
    return 1;
}

typedef double figure_function(void);

static figure_function *const noises[] = {of_normal_noise, with_a_heavy_tail, skewed,       of_a_few_pages,
                                          constant,        with_outliers,     of_two_kinds, of_two_values};
enum { NOISES = sizeof noises / sizeof *noises, ORDINARY = 5 };

/* A table of runs, its rows of the first `kinds` noises by turns, or all of one. Every second row of normal noise depends on
 * the others: a slow run is slow everywhere. */
static void make_runs(double *value, size_t rows, size_t runs, size_t kinds, figure_function *noise)
{
    for (size_t run = 0; run < runs; run++) {
        double common = 0.03 * normal();
        for (size_t row = 0; row < rows; row++) {
            figure_function *of_row = noise ? noise : noises[row % kinds];
            value[row * runs + run] = of_row() + (row % 2 && of_row == of_normal_noise ? common : 0);
        }
    }
}

/* ---- exactly ---- */

TEST(p_counts_divisions)
{
    static const double separate[] = {1, 2, 3, 4, 11, 12, 13, 14}, alike[] = {5, 5, 5, 5, 5, 5, 5, 5};
    static const double mirrored[] = {1, 4, 11, 14, 2, 3, 12, 13};
    static const double unequal[] = {1, 2, 3, 4, 11, 12, 13, 14, 15};
    double p;
    assert_int_equal(gt_permutation_test(separate, 1, 4, 8, &p), 0);
    assert_close(p, 2.0 / 70, 1e-12); /* itself, and its mirror image */
    assert_int_equal(gt_permutation_test(alike, 1, 4, 8, &p), 0);
    assert_close(p, 1, 0);
    assert_int_equal(gt_permutation_test(mirrored, 1, 4, 8, &p), 0);
    assert_close(p, 1, 0); /* the means are the same */
    assert_int_equal(gt_permutation_test(unequal, 1, 4, 9, &p), 0);
    assert_close(p, 1.0 / 126, 1e-12);
}

TEST(few_runs_tell_nothing)
{
    double value[] = {1, 2, 3,  11, 12, 13, 14, /* 3 against 4 */
                      1, 2, 11, 12, 13, 14, 15};
    double p[2] = {0};
    assert_int_equal(gt_permutation_test(value, 2, 3, 7, p), 0);
    assert_true(isnan(p[0]) && isnan(p[1]));
    double gap[] = {1, 2, 3, NAN, 11, 12, 13, 14, 1, 2, 3, 4, 11, 12, 13, 14};
    assert_int_equal(gt_permutation_test(gap, 2, 4, 8, p), 0);
    assert_true(isnan(p[0])); /* one run lacks the figure */
    assert_close(p[1], 2.0 / 70, 1e-12);
    assert_int_equal(gt_permutation_test(value, 0, 4, 7, p), 0);
}

TEST(many_runs_are_divided_by_chance)
{
    double value[2 * MOST_RUNS], p[2], again[2];
    random_state = 3;
    make_runs(value, 2, MOST_RUNS, NOISES, of_normal_noise);
    for (size_t run = MOST_RUNS / 2; run < MOST_RUNS; run++)
        value[run] += 0.2;
    assert_int_equal(gt_permutation_test(value, 2, MOST_RUNS / 2, MOST_RUNS, p), 0);
    assert_true(p[0] > 0 && p[0] <= 0.001 && p[1] > 0.05);
    assert_int_equal(gt_permutation_test(value, 2, MOST_RUNS / 2, MOST_RUNS, again), 0);
    assert_memory_equal(p, again, sizeof p);
}

/* ---- intervals ---- */

TEST(intervals_hold_the_difference)
{
    enum { TRIALS = FEWER(20000, 2000) };
    static const struct {
        size_t a, b;
        double wider;
    } cases[] = {{2, 2, 1}, {3, 3, 1}, {3, 3, 3}, {8, 4, 2}};
    random_state = 7;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t held = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double a[8], b[8], low, high;
            for (size_t k = 0; k < cases[i].a; k++)
                a[k] = 10 + normal();
            for (size_t k = 0; k < cases[i].b; k++)
                b[k] = 12 + cases[i].wider * normal();
            gt_welch_interval(a, cases[i].a, b, cases[i].b, &low, &high);
            held += low <= 2 && 2 <= high;
        }
        assert_in_range(held * 100 / TRIALS, 93, 98);
    }
}
