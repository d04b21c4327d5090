/* Which ranks of a job are off: a planted one is found, and healthy jobs of a thousand ranks have none. */
#include "analyse/job/job_analysis.h"
#include "support/test.h"

enum { RANKS = 1000, PARTS = 60, NODE = 8, NODES = RANKS / NODE };

static double value[RANKS], part[RANKS * PARTS];
static size_t node[RANKS];
static struct gt_rank_score ranks[RANKS], nodes[NODES];
static struct gt_spread spread;

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
    const struct gt_rank_figures figures = {RANKS, PARTS, NODES, value, part, node, NULL, 0};
    assert_int_equal(gt_rank_scores(&figures, &spread, ranks, nodes), 0);
}

static size_t count_off(const struct gt_rank_score *scores, size_t count)
{
    size_t off = 0;
    for (size_t i = 0; i < count; i++)
        off += scores[i].is_off;
    return off;
}

TEST(no_healthy_job_has_one_that_is_off)
{
    for (uint64_t job = 1; job <= FEWER(100, 10); job++) {
        make_job(job);
        judge();
        assert_int_equal(count_off(ranks, RANKS), 0);
        assert_int_equal(count_off(nodes, NODES), 0);
    }
}

TEST(a_slow_rank_is_the_only_one_that_is_off)
{
    for (uint64_t job = 1; job <= FEWER(20, 3); job++) {
        size_t which = (size_t)job * 37;
        make_job(job);
        slow(which, 0.8, 0);
        judge();
        assert_true(ranks[which].is_off && !ranks[which].with_node);
        assert_int_equal(count_off(ranks, RANKS), 1);
        assert_true(ranks[which].share_off > 0.9 && ranks[which].deviations < -5);
        assert_true(ranks[which].ratio > 0.75 && ranks[which].ratio < 0.85);
        assert_int_equal(count_off(nodes, NODES), 0);
    }
}
