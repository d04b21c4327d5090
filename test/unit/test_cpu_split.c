/* CPU time between two samples: pieces that are known exactly, and the rest. */
#include "analyse/blocks/cpu_split.h"
#include "support/test.h"

static const struct gt_time_stretch ALL = {-INFINITY, INFINITY};

static void count(struct gt_cpu_split *split, const double (*sample)[2], size_t samples)
{
    gt_cpu_split_init(split, NULL);
    for (size_t i = 0; i < samples; i++)
        assert_int_equal(gt_cpu_split_count(split, sample[i][0], sample[i][1]), 0);
}

static double all(const struct gt_cpu_split *split, double start, double stop)
{
    return gt_cpu_split_all(split, (struct gt_time_stretch){start, stop});
}

static double rest(const struct gt_cpu_split *split, double start, double stop)
{
    return gt_cpu_split_rest(split, (struct gt_time_stretch){start, stop});
}

TEST(without_pieces_all_is_even)
{
    struct gt_cpu_split split;
    count(&split, (const double[][2]){{0, 0}, {1, 0.5}, {3, 0.5}, {4, 1.5}}, 4);
    assert_int_equal(gt_cpu_split_finish(&split, NULL, 0), 0);
    assert_close(all(&split, 0.5, 3.5), 0.75, 1e-12);
    assert_close(rest(&split, 0.5, 3.5), 0.75, 1e-12);
    assert_close(gt_cpu_split_all(&split, ALL), 1.5, 1e-12);
    gt_cpu_split_release(&split);
}

TEST(a_piece_is_where_it_was_used)
{
    struct gt_cpu_split split;
    count(&split, (const double[][2]){{0, 0}, {1, 1}, {2, 1.5}}, 3);
    /* at even speed it is 0.8 in the first second, but there is room for it in neither second alone */
    assert_int_equal(gt_cpu_split_know(&split, 0.2, 1.2, 1.3), 0);
    assert_int_equal(gt_cpu_split_finish(&split, NULL, 0), 0);
    assert_close(all(&split, 0.2, 1.2), 1.3 + rest(&split, 0.2, 1.2), 1e-9);
    assert_close(rest(&split, 0, 2), 0.2, 1e-9);
    assert_close(all(&split, 1.2, 2), rest(&split, 1.2, 2), 1e-9);
    assert_close(all(&split, 0, 2), 1.5, 1e-9);
    gt_cpu_split_release(&split);
}

TEST(counters_may_be_late)
{
    struct gt_cpu_split split;
    count(&split, (const double[][2]){{0, 0}, {1, 0}, {2, 0.9}, {3, 1}}, 4);
    assert_int_equal(gt_cpu_split_know(&split, 0.1, 0.9, 0.8), 0);
    assert_int_equal(gt_cpu_split_finish(&split, NULL, 0), 0);
    assert_close(all(&split, 0.1, 0.9), 0.8, 1e-9);
    assert_close(all(&split, 1, 2), 0.1, 1e-9);
    assert_close(rest(&split, 0, 3), 0.2, 1e-9);
    gt_cpu_split_release(&split);
}

TEST(who_is_there_at_once_shares_the_rest)
{
    struct gt_cpu_split split;
    count(&split, (const double[][2]){{0, 0}, {4, 4}}, 2);
    const struct gt_time_stretch sharer[] = {{1, 3}, {2, 3}};
    assert_int_equal(gt_cpu_split_finish(&split, sharer, 2), 0);
    assert_close(rest(&split, 1, 3), 1.5, 1e-12);
    assert_close(rest(&split, 2, 3), 0.5, 1e-12);
    assert_close(rest(&split, 0, 1), 1, 1e-12);
    gt_cpu_split_release(&split);
}

TEST(what_is_not_known_stays_so)
{
    struct gt_cpu_split split;
    count(&split, (const double[][2]){{0, 0}, {1, NAN}, {2, 2}}, 3);
    assert_int_equal(gt_cpu_split_finish(&split, NULL, 0), 0);
    assert_true(isnan(all(&split, 0, 1)) && isnan(rest(&split, 0, 1)));
    gt_cpu_split_release(&split);
    count(&split, NULL, 0);
    assert_int_equal(gt_cpu_split_finish(&split, NULL, 0), 0);
    assert_true(isnan(all(&split, 0, 1)));
    gt_cpu_split_release(&split);
}

static double random_up_to(double most)
{
    return most * rand() / RAND_MAX;
}

/* Whatever is known, all and the rest only grow, and neither is ever more than the samples tell. */
TEST(parts_are_never_above_the_whole)
{
    enum { SAMPLES = 20, PIECES = 40, TIMES = 200, PARTS = 37 };
    srand(1);
    for (int time = 0; time < TIMES; time++) {
        struct gt_cpu_split split;
        double whole = 0;
        gt_cpu_split_init(&split, NULL);
        for (int i = 0; i < SAMPLES; i++)
            assert_int_equal(gt_cpu_split_count(&split, i, whole += rand() % 3 ? random_up_to(2) : 0), 0);
        whole -= gt_curve_value(&split.counted, 0, 0);
        double known = 0, seconds, sum = 0, unknown = 0, before = -INFINITY;
        for (int i = 0; i < PIECES; i++) {
            double start = random_up_to(SAMPLES), stop = start + (rand() % 4 ? random_up_to(4) : 0);
            known += seconds = random_up_to(1);
            assert_int_equal(gt_cpu_split_know(&split, start, stop, seconds), 0);
        }
        assert_int_equal(gt_cpu_split_finish(&split, NULL, 0), 0);
        for (int i = 1; i <= PARTS; i++) {
            double until = i == PARTS ? INFINITY : (double)SAMPLES * i / PARTS;
            sum += all(&split, before, until);
            unknown += rest(&split, before, until);
            before = until;
        }
        assert_close(sum, whole, 1e-6);
        assert_true(unknown <= whole + 1e-6 && unknown >= whole - known - 1e-6);
        gt_cpu_split_release(&split);
    }
}
