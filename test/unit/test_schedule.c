/* When what is due, by a clock that is a number. */
#include "sample/sampler.h"
#include "support/test.h"

#define MS INT64_C(1000000)

/* Do what is due until `end`; counts of each kind. */
static void run(struct gt_schedule *schedule, int64_t end, int count[GT_DUE_SAMPLE + 1])
{
    for (int64_t now; (now = gt_schedule_next(schedule)) <= end;)
        count[gt_schedule_take(schedule, now)]++;
}

TEST(a_sample_each_period_and_a_reading_each_second)
{
    struct gt_schedule schedule;
    int count[GT_DUE_SAMPLE + 1] = {0};
    gt_schedule_start(&schedule, 0, 10000 * MS, true);
    run(&schedule, 30500 * MS, count);
    assert_int_equal(count[GT_DUE_SAMPLE], 4);
    assert_int_equal(count[GT_DUE_READING], 27);
    assert_int_equal(count[GT_DUE_LOOK], 0);
    assert_int_equal(count[GT_DUE_POLL], 0);
    assert_int_equal(schedule.missed, 0);
}

TEST(a_birth_brings_one_look_at_once)
{
    struct gt_schedule schedule;
    int count[GT_DUE_SAMPLE + 1] = {0};
    gt_schedule_start(&schedule, 0, 1000 * MS, true);
    run(&schedule, 400 * MS, count);
    gt_schedule_births(&schedule, 1);
    assert_true(gt_schedule_next(&schedule) <= 500 * MS);
    assert_int_equal(gt_schedule_take(&schedule, 500 * MS), GT_DUE_LOOK);
    gt_schedule_looked(&schedule, 500 * MS, MS / 5);
    gt_schedule_births(&schedule, 1); /* the same one */
    assert_int_equal(gt_schedule_next(&schedule), 1000 * MS);
    gt_schedule_births(&schedule, 2);
    assert_int_equal(gt_schedule_next(&schedule), 502 * MS);
    assert_int_equal(gt_schedule_take(&schedule, 501 * MS), GT_DUE_NOTHING);
    assert_int_equal(gt_schedule_take(&schedule, 502 * MS), GT_DUE_LOOK);
    gt_schedule_looked(&schedule, 502 * MS, 51 * MS); /* 200 times that, less the 10 s that are saved at most */
    gt_schedule_births(&schedule, 3);
    gt_schedule_take(&schedule, 1000 * MS);
    gt_schedule_births(&schedule, 4);
    assert_int_equal(gt_schedule_next(&schedule), 500 * MS + (MS / 5 + 51 * MS) * 200 - 10000 * MS);
}

TEST(births_without_end_keep_to_the_budget)
{
    struct gt_schedule schedule;
    int count[GT_DUE_SAMPLE + 1] = {0};
    gt_schedule_start(&schedule, 0, 1000 * MS, true);
    for (int64_t now = 0; now < 20000 * MS; now += MS) {
        gt_schedule_births(&schedule, (uint64_t)(now / MS) + 1);
        if (gt_schedule_next(&schedule) > now)
            continue;
        count[gt_schedule_take(&schedule, now)]++;
        gt_schedule_looked(&schedule, now, MS / 5); /* 0.5 % of a core: one each 40 ms, and 250 for 10 s before */
    }
    assert_int_equal(count[GT_DUE_LOOK] + count[GT_DUE_READING] + count[GT_DUE_SAMPLE], 500 + 250);
}

TEST(a_look_that_costs_nothing_is_not_repeated_at_once)
{
    struct gt_schedule schedule;
    gt_schedule_start(&schedule, 0, 1000 * MS, true);
    assert_int_equal(gt_schedule_take(&schedule, 0), GT_DUE_SAMPLE);
    gt_schedule_looked(&schedule, 0, 0);
    gt_schedule_births(&schedule, 1);
    assert_int_equal(gt_schedule_next(&schedule), 2 * MS);
}

TEST(a_single_process_brings_no_looks)
{
    struct gt_schedule schedule;
    int count[GT_DUE_SAMPLE + 1] = {0};
    gt_schedule_start(&schedule, 0, 1000 * MS, true);
    gt_schedule_processes(&schedule, false, true);
    run(&schedule, 60000 * MS, count);
    assert_int_equal(count[GT_DUE_SAMPLE], 61);
    assert_int_equal(count[GT_DUE_READING], 0);
    assert_int_equal(count[GT_DUE_LOOK], 0);
    assert_int_equal(count[GT_DUE_POLL], 0);
}

/* Counts of a time in which the job has several processes and a look takes `used_ns`. */
static void run_several(int64_t period_ns, int64_t end, bool has_group, int64_t used_ns, int count[GT_DUE_SAMPLE + 1])
{
    struct gt_schedule schedule;
    gt_schedule_start(&schedule, 0, period_ns, true);
    gt_schedule_processes(&schedule, true, has_group);
    for (int64_t now; (now = gt_schedule_next(&schedule)) < end;) {
        enum gt_due due = gt_schedule_take(&schedule, now);
        count[due]++;
        if (due >= GT_DUE_LOOK)
            gt_schedule_looked(&schedule, now, used_ns);
    }
}

TEST(several_processes_are_looked_at_every_50_ms)
{
    for (int has_group = 0; has_group < 2; has_group++) {
        int count[GT_DUE_SAMPLE + 1] = {0};
        run_several(10000 * MS, 1000 * MS, has_group, MS / 5, count);
        assert_int_equal(count[GT_DUE_SAMPLE], 1);
        assert_int_equal(count[GT_DUE_LOOK], 19);
        assert_int_equal(count[GT_DUE_POLL], 0); /* any look reads the group, too */
    }
}

/* A look of 1 ms is made every 200 ms, and 50 looks at the beginning are saved from 10 s before. */
TEST(looks_that_cost_more_are_rarer_and_the_group_is_polled_meanwhile)
{
    for (int has_group = 0; has_group < 2; has_group++) {
        int count[GT_DUE_SAMPLE + 1] = {0};
        run_several(10000 * MS, 20000 * MS, has_group, MS, count);
        assert_int_equal(count[GT_DUE_LOOK] + count[GT_DUE_READING] + count[GT_DUE_SAMPLE], 100 + 50);
        assert_in_range(count[GT_DUE_POLL], has_group ? 200 : 0, has_group ? 260 : 0);
    }
}

TEST(samples_that_are_close_enough_need_no_looks)
{
    int count[GT_DUE_SAMPLE + 1] = {0};
    run_several(50 * MS, 1000 * MS, true, 0, count);
    assert_int_equal(count[GT_DUE_SAMPLE], 20);
    assert_int_equal(count[GT_DUE_LOOK], 0);
    assert_int_equal(count[GT_DUE_POLL], 0);
}

TEST(births_that_are_not_reported_are_searched_for)
{
    struct gt_schedule schedule;
    int count[GT_DUE_SAMPLE + 1] = {0};
    gt_schedule_start(&schedule, 0, 1000 * MS, false);
    run(&schedule, 10000 * MS, count);
    assert_int_equal(count[GT_DUE_LOOK], 90); /* every 100 ms, less the samples */
    gt_schedule_start(&schedule, 0, 100 * MS, false);
    memset(count, 0, sizeof count);
    run(&schedule, 10000 * MS, count);
    assert_int_equal(count[GT_DUE_LOOK], 0); /* samples are looks enough */
}

TEST(missed_samples_are_counted_and_not_made_up_for)
{
    struct gt_schedule schedule;
    gt_schedule_start(&schedule, 0, 100 * MS, true);
    assert_int_equal(gt_schedule_take(&schedule, 0), GT_DUE_SAMPLE);
    assert_int_equal(gt_schedule_take(&schedule, 450 * MS), GT_DUE_SAMPLE);
    assert_int_equal(schedule.missed, 3);
    assert_int_equal(schedule.sample_ns, 500 * MS);
    assert_int_equal(gt_schedule_take(&schedule, 590 * MS), GT_DUE_SAMPLE); /* in the place of the one at 600 */
    assert_int_equal(schedule.sample_ns, 700 * MS);
}
