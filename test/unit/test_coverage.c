/* For how much of the time an energy counter is known to have counted. */
#include "aggregate/coverage.h"
#include "base/os/clock.h"
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

#define UNREAD "its counter could not be read"
#define STILL "its counter stood still"

/* Readings, and what is known after those that have a text: for how long the counter has not counted, and when. */
static const struct {
    const char *name;
    double refresh;
    struct reading {
        double at, joules, doubt, missing;
        const char *gap;
    } reading[12];
} coverage_cases[] = {
    {"moves", 0.001, {{0.5, 25, 0, 0, ""}, {1, 50, 0, 0, ""}, {2, 100, 0, 0, ""}}},
    {"fails once, which the next reading makes up for",
     0.001,
     {{1, 10, 0, 0, ""}, {2, NAN, 0, 1, "from 1 s on: " UNREAD}, {3, 30, 0, 0, ""}}},
    {"is read late", 0.001, {{4, 0, 0, 4, "from 0 s to 4 s: " UNREAD}, {10, 90, 0, 4, "from 0 s to 4 s: " UNREAD}}},
    /* its driver was opened late: the joules before the first reading are not among those counted */
    {"begins late", 0.1, {{1.5, 0, 0, 0, NULL}, {2, 10, 0, 1.5, "from 0 s to 1.5 s: " UNREAD}}},
    {"cannot be read any more",
     0.001,
     {{1, 10, 0, 0, ""}, {2, NAN, 0, 1, NULL}, {10, NAN, 0, 9, "from 1 s on: " UNREAD}}},
    {"could not be read at the start",
     0.001,
     {{1, NAN, 0, 0, NULL}, {4, NAN, 0, 0, NULL}, {5, 0, 0, 0, NULL}, {6, 10, 0, 5, "from 0 s to 5 s: " UNREAD}}},
    {"stands still: what it has more may be of all that time",
     0.001,
     {{0.9, 9, 0, 0, ""},
      {1, 10, 0, 0, ""},
      {1.1, 10, 0, 0, NULL},
      {1.2, 10, 0, 0, NULL},
      {1.3, 10, 0, 0, NULL},
      {1.4, 10, 0, 0, ""},
      {1.5, 10, 0, 0, NULL},
      {2, 10, 0, 0, NULL},
      {3, 10, 0, 2, "from 1 s on: " STILL},
      {3.1, 11, 0, 2.1, "from 1 s to 3.1 s: " STILL},
      {3.2, 12, 0, 2.1, "from 1 s to 3.1 s: " STILL}}},
    {"is slow, and may stand still for longer", 0.1, {{1, 10, 0, 0, NULL}, {1.5, 10, 0, 0, NULL}, {2.5, 10, 0, 0, ""}}},
    {"was set back",
     0.001,
     {{1, 10, 0, 0, ""}, {2, 12, INFINITY, 0, NULL}, {3, 22, 0, 1, "from 1 s to 2 s: its counter was set back"}}},
    /* as a relay that was started again */
    {"goes on from the figure that was reached before",
     0.1,
     {{1, 10, 0, 0, NULL},
      {1.5, NAN, 0, 0, NULL},
      {2, NAN, 0, 0, NULL},
      {2.4, 10, INFINITY, 0, NULL},
      {2.5, 15, 0, 0, NULL},
      {3, 40, 0, 1.4, "from 1 s to 2.4 s: " UNREAD}}},
    {"is one of several that stands still",
     0.001,
     {{1, 10, 0, 0, ""},
      {2, 12, -INFINITY, 0, NULL},
      {3, 14, -INFINITY, 0, NULL},
      {4, 20, 0, 2, "from 1 s to 3 s: one of its counters stood still"}}},
    {"is away several times",
     0.001,
     {{1, 10, 0, 0, ""},
      {2, 12, INFINITY, 0, NULL},
      {3, 20, 0, 0, NULL},
      {4.5, 22, INFINITY, 0, NULL},
      {5, 30, 0, 2.5, "in 2 stretches from 1 s to 4.5 s: its counter was set back"},
      {6, NAN, 0, 0, NULL},
      {7, NAN, 0, 4.5, "in 3 stretches from 1 s on: its counter was set back"}}},
    {"may have gone round", 0.001, {{600, 1000, 262144, 0, ""}}},
};

TEST(time_that_a_counter_has_not_counted_is_known)
{
    for (size_t i = 0; i < sizeof coverage_cases / sizeof *coverage_cases; i++) {
        gt_coverage_init(&coverage, START, coverage_cases[i].refresh);
        print_message("a counter that %s\n", coverage_cases[i].name);
        for (const struct reading *one = coverage_cases[i].reading; one->at > 0; one++) {
            gt_coverage_add(&coverage, at(one->at), one->joules, one->doubt, false);
            if (one->gap)
                expect(one->at, one->missing, one->gap);
        }
        assert_close(coverage.doubt, i == sizeof coverage_cases / sizeof *coverage_cases - 1 ? 262144 : 0, 1e-9);
    }
}

TEST_WITH(a_counter_that_does_not_answer_is_waited_for_and_then_broken, begin, NULL)
{
    add(1, 10);
    expect(1.05, 0, "");
    expect(1.4, 0.4, "from 1 s on: " UNREAD);
    expect(9, 8, "from 1 s on: " UNREAD);
    assert_true(gt_coverage_is_waiting(&coverage, at(9)));
    assert_false(gt_coverage_is_broken(&coverage, at(9)));
    add(10, 90);
    expect(10, 0, "");
    assert_false(gt_coverage_is_waiting(&coverage, at(10)));
    for (int i = 11; i <= 20; i++)
        add(i, NAN);
    assert_true(gt_coverage_is_broken(&coverage, at(20)));
    assert_close(coverage.most_watts, 10, 1e-6);
}

TEST_WITH(a_device_that_sleeps_is_known_to_draw_nothing, begin, NULL)
{
    for (int i = 1; i <= 10; i++)
        gt_coverage_add(&coverage, at(i), i < 6 ? NAN : 10, 0, true);
    add(10.05, 10);
    expect(10.05, 0, "");
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
