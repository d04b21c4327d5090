/* The sweep against a join by brute force, on random intervals and samples. */
#include "blocks/block_join.h"
#include "support/test.h"

enum { BLOCKS = 5, MAX_CALLS = 40, MAX_SAMPLES = 60, ROUNDS = 2000 };

struct data {
    struct gt_interval interval[MAX_CALLS];
    size_t calls;
    double time[MAX_SAMPLES], gauge[MAX_SAMPLES], counter[MAX_SAMPLES];
    size_t samples;
};

/* Coarse times, so that borders and samples often fall on each other. */
static void make(struct data *data, bool in_order)
{
    memset(data, 0, sizeof *data);
    data->calls = (size_t)rand() % MAX_CALLS;
    data->samples = (size_t)rand() % MAX_SAMPLES;
    for (size_t i = 0; i < data->calls; i++) {
        double start = rand() % 50;
        data->interval[i] = (struct gt_interval){.name = (uint32_t)rand() % BLOCKS,
                                                 .start = start,
                                                 .stop = start + rand() % 6,
                                                 .clock_start = NAN,
                                                 .clock_stop = NAN};
        if (rand() % 20 == 0) {
            data->interval[i].unfinished = true;
            data->interval[i].stop = INFINITY;
        }
    }
    double time = 5, counter = 1000;
    for (size_t i = 0; i < data->samples; i++) {
        double before = time;
        time = in_order ? time + rand() % 3 : rand() % 60;
        data->time[i] = time;
        data->gauge[i] = rand() % 10 == 0 ? NAN : rand() % 100;
        data->counter[i] = counter += time > before ? rand() % 5 : 0; /* one time, one count */
    }
}

/* Blocks from BLOCKS on: the calls of those before that never ended. */
static bool covers(const struct data *data, size_t block, double time)
{
    for (size_t i = 0; i < data->calls; i++)
        if (data->interval[i].name == block % BLOCKS && data->interval[i].unfinished == (block >= BLOCKS) &&
            data->interval[i].start <= time && time <= data->interval[i].stop)
            return true;
    return false;
}

/* The counter at any time, by definition. */
static double counter_at(const struct data *data, double time)
{
    size_t last = data->samples - 1;
    if (time < data->time[0])
        return data->counter[0];
    for (size_t i = 0; i < last; i++)
        if (data->time[i] <= time && time < data->time[i + 1])
            return data->counter[i] + (data->counter[i + 1] - data->counter[i]) * (time - data->time[i]) /
                                          (data->time[i + 1] - data->time[i]);
    return data->counter[last];
}

/* Whole and half seconds are all the times there are, so a step of a quarter finds every covered stretch. */
static double counted(const struct data *data, size_t block)
{
    double sum = 0;
    for (double time = 0; time < 200; time += 0.5)
        if (covers(data, block, time) && covers(data, block, time + 0.5) && covers(data, block, time + 0.25))
            sum += counter_at(data, time + 0.5) - counter_at(data, time);
    return sum;
}

static void check_block(const struct data *data, struct gt_block_join *join, size_t block, bool in_order)
{
    struct gt_block_total total = block < BLOCKS ? gt_block_join_block(join, block)
                                                 : gt_block_join_unfinished(join, block - BLOCKS);
    double minimum = INFINITY, maximum = -INFINITY, sum = 0, squares = 0;
    uint64_t inside = 0, count = 0;
    for (size_t i = 0; i < data->samples; i++) {
        if (!covers(data, block, data->time[i]))
            continue;
        inside++;
        if (isnan(data->gauge[i]))
            continue;
        count++;
        minimum = fmin(minimum, data->gauge[i]);
        maximum = fmax(maximum, data->gauge[i]);
        sum += data->gauge[i];
        squares += data->gauge[i] * data->gauge[i];
    }
    assert_int_equal(total.timepoints, inside);
    if (count) {
        double mean = sum / (double)count;
        assert_true(gt_distribution_statistic(&total.gauge[0], GT_STAT_MIN) == minimum);
        assert_true(gt_distribution_statistic(&total.gauge[0], GT_STAT_MAX) == maximum);
        assert_true(fabs(gt_distribution_statistic(&total.gauge[0], GT_STAT_MEAN) - mean) < 1e-9);
        assert_true(fabs(gt_distribution_statistic(&total.gauge[0], GT_STAT_STD) -
                         sqrt(fmax(0, squares / (double)count - mean * mean))) < 1e-6);
    }
    if (in_order && data->samples && total.counter) {
        assert_true(fabs(total.counter[0] - counted(data, block)) < 1e-9);
        assert_true(total.counter_samples >= inside && total.counter_samples <= data->samples);
    }
}

static void check_calls(const struct data *data)
{
    for (size_t i = 0; i < data->calls; i++) {
        uint64_t inside = 0;
        for (size_t j = 0; j < data->samples; j++)
            inside += data->interval[i].start <= data->time[j] && data->time[j] <= data->interval[i].stop;
        assert_int_equal(data->interval[i].timepoints, inside);
    }
}

static void compare(bool in_order, unsigned seed)
{
    srand(seed);
    struct data data;
    const struct gt_block_join_shape shape = {.blocks = BLOCKS, .gauges = 1, .counters = 1};
    for (int round = 0; round < ROUNDS; round++) {
        make(&data, in_order);
        struct gt_intervals intervals = {.interval = data.interval, .count = data.calls};
        struct gt_block_join *join;
        assert_int_equal(gt_block_join_open(&join, &shape, &intervals, false), 0);
        for (size_t i = 0; i < data.samples; i++)
            assert_int_equal(gt_block_join_add(join, data.time[i], &data.gauge[i], &data.counter[i]), 0);
        gt_block_join_finish(join);
        for (size_t block = 0; block < 2 * BLOCKS; block++)
            check_block(&data, join, block, in_order);
        check_calls(&data);
        assert_int_equal(gt_block_join_overall(join).timepoints, data.samples);
        gt_block_join_close(join);
    }
}

TEST(test_in_order)
{
    compare(true, 1);
}

TEST(test_any_order)
{
    compare(false, 2);
}

/* 10 a second from second 0 to 10, of which samples saw 3 to 7. */
TEST(test_known_begin_and_end)
{
    struct gt_interval call[] = {
        {.name = 0, .start = 1, .stop = 2}, {.name = 1, .start = 6, .stop = 8}, {.name = 2, .start = 9, .stop = 20}};
    struct gt_intervals intervals = {.interval = call, .count = 3};
    const struct gt_block_join_shape shape = {.blocks = 3, .gauges = 1, .counters = 2};
    struct gt_block_join *join;
    assert_int_equal(gt_block_join_open(&join, &shape, &intervals, false), 0);
    gt_block_join_begin(join, 0);
    for (int second = 3; second <= 7; second++)
        assert_int_equal(gt_block_join_add(join, second, (double[]){1}, (double[]){second * 10, 5}), 0);
    gt_block_join_end(join, 10, (double[]){100, NAN});
    gt_block_join_finish(join);
    const double expected[] = {10, 20, 10};
    const uint64_t samples[] = {1, 2, 1};
    for (size_t block = 0; block < 3; block++) {
        assert_true(fabs(gt_block_join_block(join, block).counter[0] - expected[block]) < 1e-9);
        assert_int_equal(gt_block_join_block(join, block).counter_samples, samples[block]);
    }
    assert_true(gt_block_join_overall(join).counter[0] == 100);
    assert_true(gt_block_join_overall(join).counter[1] == 5);
    assert_int_equal(gt_block_join_overall(join).timepoints, 5);
    gt_block_join_close(join);
}
