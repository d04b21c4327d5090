/* Distributions: exact while small, within their bound when large. */
#include "blocks/distribution.h"
#include "support/test.h"

TEST(test_empty)
{
    struct gt_distribution distribution = {0};
    gt_distribution_add(&distribution, NAN);
    for (int id = 0; id < GT_STATISTICS; id++)
        assert_true(isnan(gt_distribution_statistic(&distribution, id)));
    gt_distribution_release(&distribution);
}

TEST(test_small)
{
    const double value[] = {4, 1, 3, 2};
    struct gt_distribution distribution = {0};
    for (int i = 0; i < 4; i++)
        gt_distribution_add(&distribution, value[i]);
    const double expected[GT_STATISTICS] = {1, 4, 2.5, 1.118033988749895, 2.5, 3.85, 3.97};
    for (int id = 0; id < GT_STATISTICS; id++)
        assert_true(fabs(gt_distribution_statistic(&distribution, id) - expected[id]) < 1e-12);
    gt_distribution_release(&distribution);
}

/* A spread of 1 at 1e9, where a sum of squares would have lost everything. */
TEST(test_small_deviation_of_large_values)
{
    struct gt_distribution distribution = {0};
    gt_distribution_add(&distribution, 0);
    for (int i = 0; i < 100000; i++)
        gt_distribution_add(&distribution, 1e9 + (i % 2 ? 1 : -1));
    gt_distribution_release(&distribution);
    for (int i = 0; i < 100000; i++)
        gt_distribution_add(&distribution, 1e9 + (i % 2 ? 1 : -1));
    assert_true(fabs(gt_distribution_statistic(&distribution, GT_STAT_STD) - 1) < 1e-6);
    gt_distribution_release(&distribution);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double exact_percentile(const double *sorted, size_t count, double percent)
{
    double rank = percent / 100 * (double)(count - 1);
    size_t low = (size_t)floor(rank), high = (size_t)ceil(rank);
    return sorted[low] + (sorted[high] - sorted[low]) * (rank - floor(rank));
}

TEST(test_bound)
{
    enum { COUNT = 20000 };
    static double value[COUNT];
    srand(3);
    for (int shape = 0; shape < 4; shape++) {
        struct gt_distribution distribution = {0};
        for (int i = 0; i < COUNT; i++) {
            double random = (double)rand() / RAND_MAX;
            const double shapes[] = {random, exp(30 * random), random < 0.6 ? 0 : 5.5, -exp(-10 * random)};
            value[i] = shapes[shape];
            assert_int_equal(gt_distribution_add(&distribution, value[i]), 0);
        }
        qsort(value, COUNT, sizeof *value, compare_doubles);
        for (double percent = 0; percent <= 100; percent += 0.5) {
            double want = exact_percentile(value, COUNT, percent),
                   got = gt_distribution_percentile(&distribution, percent);
            assert_true(fabs(got - want) <= fabs(want) / 256 + 1e-300);
        }
        gt_distribution_release(&distribution);
    }
}
