/* For how much of the time an energy counter is known to have counted. */
#include "aggregate/coverage.h"
#include "base/clock.h"
#include "record/recorder_state.h"
#include "support/test.h"

static const int64_t START = 100 * GT_SECOND;
static struct gt_coverage coverage;

static int begin(void **state)
{
    (void)state;
    gt_coverage_init(&coverage, START, 0.001);
    return 0;
}

static int64_t at(double seconds)
{
    return START + (int64_t)llround(seconds * 1e9);
}

static void add(double seconds, double joules)
{
    gt_coverage_add(&coverage, at(seconds), joules, 0, false);
}

static void expect(double now, double missing, const char *gap)
{
    char text[100];
    struct gt_gap found;
    gt_coverage_gap(&coverage, at(now), &found);
    gt_gap_describe(&found, text, sizeof text);
    assert_close(gt_coverage_missing(&coverage, at(now)), missing, 1e-6);
    assert_string_equal(text, gap);
}

TEST_WITH(a_counter_that_moves_covers_everything, begin, NULL)
{
    for (int i = 1; i <= 20; i++)
        add(0.1 * i, 5.0 * i);
    expect(2, 0, "");
    assert_false(gt_coverage_is_broken(&coverage, at(2)));
    assert_close(coverage.most_watts, 50, 1e-6);
}

TEST_WITH(a_reading_that_failed_is_made_up_for_by_the_next, begin, NULL)
{
    add(1, 10);
    add(2, NAN);
    expect(2, 1, "from 1 s on: its counter could not be read");
    assert_false(gt_coverage_is_broken(&coverage, at(2)));
    add(3, 30);
    expect(3, 0, "");
}

TEST_WITH(time_since_a_reading_long_ago_is_missing_until_the_next, begin, NULL)
{
    add(1, 10);
    expect(1.05, 0, "");
    expect(1.4, 0.4, "from 1 s on: its counter could not be read");
    expect(9, 8, "from 1 s on: its counter could not be read");
    assert_true(gt_coverage_is_waiting(&coverage, at(9)));
    assert_false(gt_coverage_is_broken(&coverage, at(9)));
    add(10, 90);
    expect(10, 0, "");
    assert_false(gt_coverage_is_waiting(&coverage, at(10)));
}

TEST_WITH(time_before_a_late_first_reading_is_missing, begin, NULL)
{
    add(4, 0);
    expect(4, 4, "from 0 s to 4 s: its counter could not be read");
    add(10, 90);
    expect(10, 4, "from 0 s to 4 s: its counter could not be read");
}

TEST_WITH(a_device_that_slept_at_first_is_covered, begin, NULL)
{
    for (int i = 1; i < 10; i++)
        gt_coverage_add(&coverage, at(i), NAN, 0, true);
    add(9.05, 0);
    expect(9.05, 0, "");
}

/* Its driver was opened late: the joules before the first reading are not among those counted. */
TEST_WITH(a_counter_that_begins_late_misses_the_time_before, begin, NULL)
{
    gt_coverage_init(&coverage, at(0), 0.1);
    add(1.5, 0);
    add(2, 10);
    expect(2, 1.5, "from 0 s to 1.5 s: its counter could not be read");
}

TEST_WITH(what_cannot_be_read_any_more_is_missing_to_the_end, begin, NULL)
{
    add(1, 10);
    for (int i = 2; i <= 10; i++)
        add(i, NAN);
    expect(10, 9, "from 1 s on: its counter could not be read");
    assert_true(gt_coverage_is_broken(&coverage, at(10)));
}

TEST_WITH(what_could_not_be_read_at_the_start_is_missing, begin, NULL)
{
    for (int i = 1; i < 5; i++)
        add(i, NAN);
    add(5, 0);
    add(6, 10);
    expect(6, 5, "from 0 s to 5 s: its counter could not be read");
}

TEST_WITH(a_counter_that_stands_still_is_missing_from_its_last_move_on, begin, NULL)
{
    for (int i = 1; i <= 10; i++)
        add(0.1 * i, i);
    for (int i = 11; i <= 14; i++)
        add(0.1 * i, 10);
    expect(1.4, 0, "");
    for (int i = 15; i <= 30; i++)
        add(0.1 * i, 10);
    expect(3, 2, "from 1 s on: its counter stood still");
    add(3.1, 11); /* what it has more may be of all that time */
    expect(3.1, 2.1, "from 1 s to 3.1 s: its counter stood still");
    add(3.2, 12);
    expect(3.2, 2.1, "from 1 s to 3.1 s: its counter stood still");
}

TEST_WITH(a_slow_counter_may_stand_still_for_longer, begin, NULL)
{
    gt_coverage_init(&coverage, START, 0.1);
    add(1, 10);
    for (int i = 1; i <= 15; i++)
        add(1 + 0.1 * i, 10);
    expect(2.5, 0, "");
}

TEST_WITH(a_counter_that_was_set_back_misses_that_time, begin, NULL)
{
    add(1, 10);
    gt_coverage_add(&coverage, at(2), 12, INFINITY, false);
    add(3, 22);
    expect(3, 1, "from 1 s to 2 s: its counter was set back");
}

/* As a relay that was started again: from the figure that was reached before. */
TEST_WITH(a_counter_that_goes_on_from_the_same_figure_misses_that_time, begin, NULL)
{
    gt_coverage_init(&coverage, START, 0.1);
    add(1, 10);
    add(1.5, NAN);
    add(2, NAN);
    gt_coverage_add(&coverage, at(2.4), 10, INFINITY, false);
    add(2.5, 15);
    add(3, 40);
    expect(3, 1.4, "from 1 s to 2.4 s: its counter could not be read");
    assert_true(isfinite(coverage.doubt));
}

TEST_WITH(one_of_several_that_stands_still_is_told_as_such, begin, NULL)
{
    add(1, 10);
    gt_coverage_add(&coverage, at(2), 12, -INFINITY, false);
    gt_coverage_add(&coverage, at(3), 14, -INFINITY, false);
    add(4, 20);
    expect(4, 2, "from 1 s to 3 s: one of its counters stood still");
    assert_true(coverage.doubt == 0);
}

TEST_WITH(several_times_away_are_told_as_one_stretch, begin, NULL)
{
    add(1, 10);
    gt_coverage_add(&coverage, at(2), 12, INFINITY, false);
    add(3, 20);
    gt_coverage_add(&coverage, at(4.5), 22, INFINITY, false);
    add(5, 30);
    expect(5, 2.5, "in 2 stretches from 1 s to 4.5 s: its counter was set back");
    add(6, NAN);
    add(7, NAN);
    expect(7, 4.5, "in 3 stretches from 1 s on: its counter was set back");
}

TEST_WITH(moments_of_long_runs_are_written_out, begin, NULL)
{
    char text[100];
    gt_gap_describe(&(struct gt_gap){12345.6, 98765.4, 1, GT_GAP_STILL, 0, 0}, text, sizeof text);
    assert_string_equal(text, "from 12345.6 s to 98765.4 s: its counter stood still");
    gt_gap_describe(&(struct gt_gap){1.5, NAN, 1, GT_GAP_SILENT, 3, 2}, text, sizeof text);
    assert_string_equal(text, "of gpu 2 and 1 more from 1.5 s on: its driver did not answer");
    gt_gap_describe(&(struct gt_gap){1.5, NAN, NAN, NAN, NAN, NAN}, text, sizeof text); /* of an older recording */
    assert_string_equal(text, "from 1.5 s on");
}

/* ---- what is said meanwhile ---- */

static struct gt_gap_watch watched;

static void expect_said(double now, bool is_end, const char *wanted)
{
    char said[250] = "";
    struct gt_gap gap;
    gt_coverage_gap(&coverage, at(now), &gap);
    bool is_said = gt_gap_watch_look(&watched, "CPU packages", &coverage, &gap, at(now), is_end, said, sizeof said);
    assert_string_equal(said, wanted ? wanted : "");
    assert_int_equal(is_said, wanted != NULL);
}

TEST_WITH(a_counter_that_comes_back_is_told, begin, NULL)
{
    watched = (struct gt_gap_watch){0};
    for (int i = 1; i <= 10; i++)
        add(0.1 * i, i);
    expect_said(1, false, NULL);
    for (int i = 11; i <= 30; i++)
        add(0.1 * i, 10);
    expect_said(
        3, false,
        "Energy of the CPU packages is known for a part of the run only, not from 1 s on: its counter stood still");
    expect_said(3, false, NULL);
    add(3.5, 11);
    add(4, 12);
    expect_said(4, false,
                "Energy of the CPU packages is known again, for 37.5 % of the time up to now: "
                "not from 1 s to 3.5 s: its counter stood still");
    add(5, 20);
    expect_said(5, false, NULL);
    expect_said(5, true, NULL);
    gt_coverage_add(&coverage, at(6), 22, INFINITY, false);
    expect_said(6, false, NULL);
    expect_said(6, true,
                "Energy of the CPU packages is known for a part of the run only, not in 2 stretches from 1 s to 6 s: "
                "its counter stood still");
}

TEST_WITH(a_counter_that_went_on_while_it_was_away_is_told, begin, NULL)
{
    watched = (struct gt_gap_watch){0};
    add(1, 10);
    for (int i = 2; i <= 4; i++)
        add(i, NAN);
    expect_said(4, false,
                "Energy of the CPU packages is known for a part of the run only, not from 1 s on: "
                "its counter could not be read");
    add(5, 50);
    expect_said(5, false,
                "Energy of the CPU packages is known for the whole run again: its counter went on while it was away "
                "from 1 s to 5 s");
    expect_said(5, true, NULL);
}

TEST_WITH(rounds_that_may_have_been_missed_are_counted, begin, NULL)
{
    gt_coverage_add(&coverage, at(600), 1000, 262144, false);
    expect(600, 0, "");
    assert_close(coverage.doubt, 262144, 1e-9);
}

TEST_WITH(a_device_that_sleeps_is_known_to_draw_nothing, begin, NULL)
{
    add(1, 10);
    for (int i = 2; i <= 10; i++)
        gt_coverage_add(&coverage, at(i), i < 6 ? NAN : 10, 0, true);
    expect(10, 0, "");
}
