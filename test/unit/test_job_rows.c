/* Which ranks of a job are off: a planted one is found, and healthy jobs of a thousand ranks have none. */
#include "analyse/job/job_analysis.h"
#include "support/test.h"

enum { RANKS = 1000, PARTS = 60, NODE = 8 };

static double value[RANKS], part[RANKS * PARTS];
static size_t node[RANKS];
static struct gt_query *query;
static struct gt_rows rows;

static uint64_t seed;

static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* Each rank differs by 1 %, each of its minutes by 3 %; one minute in a hundred is disturbed by something else. One rank in a hundred
 * ended in the middle. */
static void make_job(uint64_t number)
{
    seed = number;
    for (size_t i = 0; i < RANKS; i++) {
        double own = 1 + 0.01 * normal(), sum = 0;
        size_t count = uniform() < 0.01 ? PARTS / 2 : PARTS;
        node[i] = i / NODE;
        for (size_t k = 0; k < PARTS; k++) {
            part[i * PARTS + k] = own * (1 + 0.03 * normal()) * (uniform() < 0.01 ? 0.5 : 1);
            sum += k < count ? part[i * PARTS + k] : 0;
            part[i * PARTS + k] = k < count ? part[i * PARTS + k] : NAN;
        }
        value[i] = sum / (double)count;
    }
}

/* It has `factor` of what it had from part `from` on. */
static void slow(size_t rank, double factor, size_t from)
{
    double sum = 0, count = 0;
    for (size_t k = 0; k < PARTS; k++) {
        double *of = &part[rank * PARTS + k];
        *of *= k < from ? 1 : factor;
        sum += isnan(*of) ? 0 : *of;
        count += !isnan(*of);
    }
    value[rank] = sum / count;
}

static void judge(void)
{
    gt_query_free(query);
    query = gt_query_new();
    rows = gt_rows_new(query, RANKS);
    gt_rows_add_keys(&rows, "job", NULL);
    uint32_t *on = gt_rows_add_keys(&rows, "node", NULL);
    double *of = gt_rows_add_reals(&rows, "value");
    for (size_t i = 0; i < RANKS; i++) {
        on[i] = (uint32_t)node[i];
        of[i] = value[i];
    }
    gt_job_score(&rows, "job", part, PARTS);
    assert_int_equal(gt_query_status(query), 0);
}

static uint32_t off(size_t rank)
{
    return gt_rows_keys(&rows, "off")[rank];
}

static double score(const char *of, size_t rank)
{
    return gt_rows_reals(&rows, of)[rank];
}

static size_t count_off(uint32_t least)
{
    size_t count = 0;
    for (size_t i = 0; i < RANKS; i++)
        count += off(i) >= least;
    return count;
}

TEST(no_healthy_job_has_one_that_is_off)
{
    for (uint64_t job = 1; job <= FEWER(100, 10); job++) {
        make_job(job);
        judge();
        assert_int_equal(count_off(1), 0);
    }
}

TEST(a_slow_rank_is_the_only_one_that_is_off)
{
    for (uint64_t job = 1; job <= FEWER(20, 3); job++) {
        size_t which = (size_t)job * 37;
        make_job(job);
        slow(which, 0.8, 0);
        judge();
        assert_int_equal(off(which), 1);
        assert_int_equal(count_off(1), 1);
        assert_true(score("share_off", which) > 0.9 && score("deviations", which) < -5);
        assert_true(score("ratio", which) > 0.75 && score("ratio", which) < 0.85);
    }
}

TEST(a_short_trouble_is_none)
{
    make_job(1);
    slow(5, 0.2, PARTS - PARTS / 4); /* a quarter of the time, 20 % of its mean */
    judge();
    assert_true(score("deviations", 5) < -5 && !off(5));
    assert_true(score("since_start", 5) < -0.1);
    slow(5, 0.5, PARTS / 4);
    judge();
    assert_true(off(5));
}

TEST(ranks_are_slow_with_their_node)
{
    make_job(3);
    for (size_t i = 0; i < NODE; i++)
        slow(7 * NODE + i, 0.8, 0);
    slow(3, 0.8, 0);
    judge();
    assert_int_equal(count_off(1), NODE + 1);
    for (size_t i = 0; i < RANKS; i++)
        assert_int_equal(off(i), i / NODE == 7 ? 2 : i == 3);
}

TEST(the_spread_of_a_few)
{
    static const double few[] = {4, NAN, 1, 2, 3, 10};
    struct gt_query *own = gt_query_new();
    struct gt_rows values = gt_rows_new(own, 6);
    double *cell = gt_rows_add_reals(&values, "value");
    for (size_t i = 0; i < 6; i++)
        cell[i] = few[i];
    struct gt_rows of = gt_job_spread(&values, "", "value");
    assert_int_equal(of.count, 1);
    assert_int_equal(*gt_rows_wholes(&of, "count"), 5);
    assert_close(*gt_rows_reals(&of, "median"), 3, 0);
    assert_close(*gt_rows_reals(&of, "quarter"), 2, 0);
    assert_close(*gt_rows_reals(&of, "mean"), 4, 0);
    assert_close(*gt_rows_reals(&of, "deviation"), 1, 0);
    assert_close(*gt_rows_reals(&of, "imbalance"), 1.5, 1e-12);
    assert_false(gt_job_is_off(5, 3, 1, 10)); /* seven away, and five deviations are 7.4 */
    assert_true(gt_job_is_off(5, 3, 1, 10.5));
    cell[0] = NAN;
    values.count = 2;
    assert_int_equal(gt_job_spread(&values, "", "value").count, 0);
    gt_query_free(own);
}
