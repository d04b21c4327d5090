/* When what is due, by a clock that is a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample/schedule.h"

#define MS INT64_C(1000000)

/* Do what is due until `end`; counts of each kind. */
static void run(struct gt_schedule *schedule, int64_t end, int count[GT_DUE_SAMPLE + 1])
{
    for (int64_t now; (now = gt_schedule_next(schedule)) <= end;)
        count[gt_schedule_take(schedule, now)]++;
}

static void a_sample_each_period_and_a_reading_each_second(void **state)
{
    (void)state;
    struct gt_schedule schedule;
    int count[GT_DUE_SAMPLE + 1] = {0};
    gt_schedule_start(&schedule, 0, 10000 * MS);
    run(&schedule, 30500 * MS, count);
    assert_int_equal(count[GT_DUE_SAMPLE], 4);
    assert_int_equal(count[GT_DUE_READING], 27);
    assert_int_equal(count[GT_DUE_LOOK], 3); /* after the birth of the job: the first is the first sample */
    assert_int_equal(schedule.missed, 0);
}

static void looks_follow_births(void **state)
{
    (void)state;
    struct gt_schedule schedule;
    gt_schedule_start(&schedule, 0, 1000 * MS);
    int count[GT_DUE_SAMPLE + 1] = {0};
    run(&schedule, 400 * MS, count);
    gt_schedule_births(&schedule, 500 * MS, 1);
    const int64_t expected[] = {500 * MS, 525 * MS, 600 * MS, 800 * MS, 1000 * MS};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(gt_schedule_next(&schedule), expected[i]);
        assert_int_equal(gt_schedule_take(&schedule, expected[i]), i < 4 ? GT_DUE_LOOK : GT_DUE_SAMPLE);
    }
}

static void births_without_end_bring_few_looks(void **state)
{
    (void)state;
    struct gt_schedule schedule;
    int count[GT_DUE_SAMPLE + 1] = {0};
    gt_schedule_start(&schedule, 0, 1000 * MS);
    for (int64_t now = 0; now < 1000 * MS; now += MS) {
        gt_schedule_births(&schedule, now, (uint64_t)(now / MS) + 1);
        if (gt_schedule_next(&schedule) > now)
            continue;
        count[gt_schedule_take(&schedule, now)]++;
        gt_schedule_looked(&schedule, now, MS / 5); /* 0.2 ms: not more than a hundredth of the time */
    }
    assert_in_range(count[GT_DUE_LOOK], 40, 50);
}

static void a_quiet_job_is_left_alone(void **state)
{
    (void)state;
    struct gt_schedule schedule;
    int count[GT_DUE_SAMPLE + 1] = {0};
    gt_schedule_start(&schedule, 0, 1000 * MS);
    gt_schedule_listen(&schedule, true, 0);
    run(&schedule, 999 * MS, count);
    count[GT_DUE_LOOK] = 0;
    run(&schedule, 60000 * MS, count);
    assert_int_equal(count[GT_DUE_LOOK], 0);
    assert_int_equal(count[GT_DUE_READING], 0);
}

static void who_does_not_hear_of_births_looks_for_them(void **state)
{
    (void)state;
    struct gt_schedule schedule;
    int count[GT_DUE_SAMPLE + 1] = {0};
    gt_schedule_start(&schedule, 0, 1000 * MS);
    gt_schedule_listen(&schedule, false, 0);
    run(&schedule, 10000 * MS, count);
    assert_in_range(count[GT_DUE_LOOK], 85, 95);
    gt_schedule_start(&schedule, 0, 50 * MS);
    gt_schedule_listen(&schedule, false, 0);
    assert_int_equal(schedule.poll_ns, 0); /* samples are looks enough */
}

static void memory_that_changes_is_looked_at_again(void **state)
{
    (void)state;
    struct gt_schedule schedule;
    int count[GT_DUE_SAMPLE + 1] = {0};
    gt_schedule_start(&schedule, 0, 1000 * MS);
    run(&schedule, 2000 * MS, count);
    gt_schedule_memory(&schedule, 2000 * MS, 1e6);
    assert_int_equal(gt_schedule_next(&schedule), 2100 * MS);
    assert_int_equal(gt_schedule_take(&schedule, 2100 * MS), GT_DUE_LOOK);
    gt_schedule_memory(&schedule, 2100 * MS, 1.005e6); /* as good as nothing */
    assert_int_equal(gt_schedule_next(&schedule), 3000 * MS);
}

static void missed_samples_are_counted_and_not_made_up_for(void **state)
{
    (void)state;
    struct gt_schedule schedule;
    gt_schedule_start(&schedule, 0, 100 * MS);
    assert_int_equal(gt_schedule_take(&schedule, 0), GT_DUE_SAMPLE);
    assert_int_equal(gt_schedule_take(&schedule, 450 * MS), GT_DUE_SAMPLE);
    assert_int_equal(schedule.missed, 3);
    assert_int_equal(schedule.sample_ns, 500 * MS);
    assert_int_equal(gt_schedule_take(&schedule, 590 * MS), GT_DUE_SAMPLE); /* in the place of the one at 600 */
    assert_int_equal(schedule.sample_ns, 700 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_each_period_and_a_reading_each_second),
        cmocka_unit_test(looks_follow_births),
        cmocka_unit_test(births_without_end_bring_few_looks),
        cmocka_unit_test(a_quiet_job_is_left_alone),
        cmocka_unit_test(who_does_not_hear_of_births_looks_for_them),
        cmocka_unit_test(memory_that_changes_is_looked_at_again),
        cmocka_unit_test(missed_samples_are_counted_and_not_made_up_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
