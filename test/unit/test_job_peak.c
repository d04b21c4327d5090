/* The peak of a job from made-up readings, beginnings, ends and marks; and its upper bound against the sum of every moment. */
#include "sample/job_peak.h"
#include "support/test.h"

static struct gt_job_peak peak;

static int begin(void **state)
{
    (void)state;
    peak = (struct gt_job_peak){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    gt_job_peak_release(&peak);
    return 0;
}

static uint32_t born(void)
{
    uint32_t member;
    assert_int_equal(gt_job_peak_begin(&peak, &member), 0);
    return member;
}

static void read_all(double descendants, double combined)
{
    const struct gt_scope_memory below = {.ram = descendants, .private_bytes = descendants / 2},
                                 all = {.ram = combined, .private_bytes = combined / 2};
    gt_job_peak_reading(&peak, GT_PEAK_DESCENDANTS, &below, true);
    gt_job_peak_reading(&peak, GT_PEAK_COMBINED, &all, true);
}

static void seen(uint32_t member, double rss, double mark)
{
    gt_job_peak_seen(&peak, member, rss, mark, false);
}

static double best(int scope)
{
    return gt_job_peak_best(&peak, scope).best;
}

TEST_WITH(the_largest_reading_counts, begin, end)
{
    uint32_t main = born(), child = born();
    read_all(50, 150);
    seen(main, 100, 100);
    seen(child, 50, 50);
    read_all(20, 120);
    assert_close(best(GT_PEAK_COMBINED), 150, 0);
    assert_close(gt_job_peak_best(&peak, GT_PEAK_COMBINED).private_bytes, 75, 0);
    assert_close(best(GT_PEAK_DESCENDANTS), 50, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 150, 0);
}

TEST_WITH(an_estimate_counts_when_it_is_confirmed_and_without_its_excess, begin, end)
{
    const struct gt_scope_memory estimate = {.ram = 400, .private_bytes = 390, .guess = NAN}, lower = {.ram = 250};
    born();
    read_all(50, 150);
    gt_job_peak_reading(&peak, GT_PEAK_COMBINED, &estimate, false);
    gt_job_peak_between(&peak, 410, NAN, false);
    assert_close(best(GT_PEAK_COMBINED), 150, 0);
    gt_job_peak_confirm(&peak, GT_PEAK_COMBINED, 100, NAN);
    assert_close(best(GT_PEAK_COMBINED), 300, 0);
    assert_close(gt_job_peak_best(&peak, GT_PEAK_COMBINED).private_bytes, 300, 0);
    assert_close(peak.between, 310, 0);
    gt_job_peak_reading(&peak, GT_PEAK_COMBINED, &lower, false);
    gt_job_peak_confirm(&peak, GT_PEAK_COMBINED, 0, NAN);
    assert_close(best(GT_PEAK_COMBINED), 300, 0);
}

/* The group counts the rest exactly. */
TEST_WITH(an_excess_lowers_no_more_than_was_guessed, begin, end)
{
    const struct gt_scope_memory exact = {.ram = 400, .private_bytes = 390, .guess = 30};
    born();
    read_all(50, 150);
    gt_job_peak_reading(&peak, GT_PEAK_COMBINED, &exact, false);
    gt_job_peak_between(&peak, 420, 20, false);
    gt_job_peak_confirm(&peak, GT_PEAK_COMBINED, 100, 20);
    assert_close(peak.scope[GT_PEAK_COMBINED].best, 390, 0);
    assert_close(peak.between, 420, 0);
}

TEST_WITH(what_is_missing_raises_nothing, begin, end)
{
    born();
    read_all(NAN, NAN);
    gt_job_peak_raise(&peak, GT_PEAK_COMBINED, NAN);
    assert_close(best(GT_PEAK_COMBINED), 0, 0);
    read_all(50, 150);
    read_all(NAN, NAN);
    assert_close(best(GT_PEAK_COMBINED), 150, 0);
}

/* What is beside the high-water mark of one process is not known at that moment. */
TEST_WITH(a_spike_of_one_process_between_readings_counts_alone, begin, end)
{
    uint32_t main = born(), one = born(), two = born();
    read_all(20, 30);
    seen(main, 10, 10);
    seen(one, 10, 10);
    seen(two, 10, 10);
    read_all(20, 30);
    seen(one, 10, 100);
    seen(two, 10, 90);
    assert_close(best(GT_PEAK_COMBINED), 100, 0);
    assert_close(best(GT_PEAK_DESCENDANTS), 100, 0);
    assert_close(gt_job_peak_best(&peak, GT_PEAK_COMBINED).private_bytes, 15 + 70, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 200, 0);
}

TEST_WITH(the_main_process_is_no_descendant, begin, end)
{
    uint32_t main = born(), child = born();
    seen(main, 10, 500);
    seen(child, 10, 20);
    assert_close(best(GT_PEAK_COMBINED), 500, 0);
    assert_close(best(GT_PEAK_DESCENDANTS), 20, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_DESCENDANTS), 20, 0);
}

TEST_WITH(exit_records_give_a_bound, begin, end)
{
    uint32_t main = born(), one = born(), two = born();
    read_all(40, 50);
    seen(main, 10, 10);
    seen(one, 20, 20);
    seen(two, 20, 20);
    gt_job_peak_end(&peak, one);
    gt_job_peak_end(&peak, two);
    gt_job_peak_tell(&peak, two, 70, false);
    gt_job_peak_tell(&peak, one, 60, false);
    gt_job_peak_settle(&peak, one, true);
    gt_job_peak_settle(&peak, two, true);
    assert_close(best(GT_PEAK_COMBINED), 70, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 140, 0);
    assert_int_equal(peak.unknown, 0);
}

TEST_WITH(without_an_exit_record_there_is_no_bound, begin, end)
{
    uint32_t main = born(), one = born();
    read_all(20, 30);
    seen(main, 10, 10);
    seen(one, 20, 20);
    gt_job_peak_settle(&peak, one, false); /* it may have had any amount since */
    assert_int_equal(peak.unknown, 1);
    assert_close(best(GT_PEAK_COMBINED), 30, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), NAN, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_DESCENDANTS), NAN, 0);
}

TEST_WITH(what_wait4_reports_is_a_bound, begin, end)
{
    uint32_t main = born(), one = born();
    read_all(20, 30);
    seen(main, 10, 10);
    gt_job_peak_limit(&peak, one, 500);
    gt_job_peak_settle(&peak, one, false);
    assert_int_equal(peak.unknown, 0);
    assert_close(best(GT_PEAK_COMBINED), 30, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_DESCENDANTS), 500, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 510, 0);
}

TEST_WITH(the_high_water_mark_of_the_group_is_a_bound, begin, end)
{
    uint32_t main = born(), one = born();
    read_all(20, 30);
    seen(main, 100, 100);
    seen(one, 100, 100);
    peak.group = 120;
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 120, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_DESCENDANTS), 100, 0);
    gt_job_peak_settle(&peak, one, false);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 120, 0); /* also where marks are unknown */
    assert_close(gt_job_peak_most(&peak, GT_PEAK_DESCENDANTS), 120, 0);
    peak.group = 5; /* never less than what was there */
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 100, 0);
}

TEST_WITH(marks_limit_what_the_group_had_between_two_readings, begin, end)
{
    uint32_t main = born();
    read_all(0, 10);
    seen(main, 10, 10);
    gt_job_peak_between(&peak, 600, NAN, true);
    assert_close(best(GT_PEAK_COMBINED), 10, 0);
    assert_close(gt_job_peak_unmapped(&peak), 590, 0);
    uint32_t one = born();
    seen(main, 10, 200);
    seen(one, 20, 300);
    assert_close(best(GT_PEAK_COMBINED), 500, 0);
    assert_close(gt_job_peak_unmapped(&peak), 100, 0);
    gt_job_peak_settle(&peak, one, false);
    assert_close(best(GT_PEAK_COMBINED), 600, 0);
    assert_close(gt_job_peak_unmapped(&peak), 0, 0);
}

TEST_WITH(a_process_that_no_reading_met_counts, begin, end)
{
    uint32_t main = born();
    read_all(0, 100);
    seen(main, 100, 100);
    uint32_t short_lived = born();
    gt_job_peak_end(&peak, short_lived);
    gt_job_peak_tell(&peak, short_lived, 300, false);
    gt_job_peak_settle(&peak, short_lived, true);
    assert_close(best(GT_PEAK_COMBINED), 300, 0);
    assert_close(best(GT_PEAK_DESCENDANTS), 300, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 400, 0);
}

/* A fork that never executed a program begins with the mark of its parent. */
TEST_WITH(a_copy_of_the_main_process_is_no_descendants_memory, begin, end)
{
    uint32_t main = born();
    read_all(0, 1000);
    seen(main, 1000, 1000);
    uint32_t child = born();
    gt_job_peak_end(&peak, child);
    gt_job_peak_tell(&peak, child, 1020, true);
    gt_job_peak_settle(&peak, child, true);
    assert_close(best(GT_PEAK_COMBINED), 1020, 0);
    assert_close(best(GT_PEAK_DESCENDANTS), 0, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_DESCENDANTS), 1020, 0); /* it may have written to all of it */
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 2020, 0);
}

TEST_WITH(a_copy_that_a_reading_met_has_its_mark, begin, end)
{
    uint32_t main = born(), child = born();
    seen(main, 1000, 1000);
    seen(child, 500, 500);
    gt_job_peak_end(&peak, child);
    gt_job_peak_tell(&peak, child, 700, true);
    gt_job_peak_settle(&peak, child, true);
    assert_close(best(GT_PEAK_DESCENDANTS), 700, 0);
}

/* A mark from before tracking began says nothing until it rises. */
TEST_WITH(an_old_mark_is_a_bound_only, begin, end)
{
    uint32_t main = born();
    read_all(0, 100);
    gt_job_peak_seen(&peak, main, 100, 500, true);
    assert_close(best(GT_PEAK_COMBINED), 100, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 500, 0);
    gt_job_peak_seen(&peak, main, 100, 500, true);
    assert_close(best(GT_PEAK_COMBINED), 100, 0);
    gt_job_peak_seen(&peak, main, 100, 600, true);
    assert_close(best(GT_PEAK_COMBINED), 600, 0);
}

TEST_WITH(a_helper_that_is_left_out_leaves_nothing, begin, end)
{
    uint32_t main = born(), helper = born();
    gt_job_peak_limit(&peak, helper, 5000);
    seen(helper, 50, 200);
    assert_close(best(GT_PEAK_COMBINED), 200, 0);
    gt_job_peak_drop(&peak, helper);
    uint32_t next = born(); /* with the same handle */
    assert_int_equal(next, helper);
    seen(main, 10, 10);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_DESCENDANTS), 0, 0);
    assert_int_equal(peak.unknown, 0);
    assert_close(best(GT_PEAK_COMBINED), 10, 0);
    assert_close(best(GT_PEAK_DESCENDANTS), 0, 0);
}

/* ---- the upper bound against the sum of every moment ---- */

enum { LIVES = 300, MOMENTS = 2 * LIVES };

struct life {
    uint32_t handle;
    int begin, end; /* moments; end MOMENTS: it lives */
    int settled;    /* when its mark is final */
    double known, mark;
};

/* The largest sum of the marks known by now over all moments. */
static double largest_sum(const struct life *life, int count, int now)
{
    double largest = 0;
    for (int moment = 0; moment <= now; moment++) {
        double sum = 0;
        for (int i = 0; i < count; i++)
            if (life[i].begin <= moment && moment < life[i].end)
                sum += life[i].known;
        largest = fmax(largest, sum);
    }
    return largest;
}

static void step(struct life *life, int i, int now)
{
    if (life[i].begin == now)
        life[i].handle = born();
    if (life[i].begin > now || life[i].settled < now)
        return;
    if (rand() % 4 == 0 || life[i].settled == now) {
        life[i].known = life[i].settled == now ? life[i].mark : fmax(life[i].known, floor(life[i].mark * 0.7));
        gt_job_peak_tell(&peak, life[i].handle, life[i].known, false);
    }
    if (life[i].end == now)
        gt_job_peak_end(&peak, life[i].handle);
    if (life[i].settled == now)
        gt_job_peak_settle(&peak, life[i].handle, true);
}

TEST(the_bound_is_that_of_all_moments)
{
    for (unsigned seed = 1; seed <= 20; seed++) {
        static struct life life[LIVES];
        srand(seed);
        for (int i = 0; i < LIVES; i++) {
            int begin = i ? life[i - 1].begin + rand() % 3 : 0, length = 1 + rand() % (rand() % 8 ? 10 : 200);
            life[i] = (struct life){.begin = begin, .end = begin + length, .mark = 1 + rand() % 1000};
            life[i].settled = life[i].end + rand() % 5;
        }
        for (int now = 0; now < MOMENTS; now++) {
            for (int i = 0; i < LIVES; i++) /* ends come before beginnings of the same moment */
                if (life[i].begin < now)
                    step(life, i, now);
            for (int i = 0; i < LIVES; i++)
                if (life[i].begin == now)
                    step(life, i, now);
            if (now % 37 == 0 || now == MOMENTS - 1)
                assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), largest_sum(life, LIVES, now), 0);
        }
        gt_job_peak_release(&peak);
    }
}

TEST_WITH(processes_one_after_the_other_are_not_added_up, begin, end)
{
    gt_job_peak_tell(&peak, born(), 10, false);
    for (int i = 0; i < 1000; i++) {
        uint32_t child = born();
        gt_job_peak_end(&peak, child);
        gt_job_peak_tell(&peak, child, 100, false); /* after its end, when the next has begun */
        if (i % 2)
            gt_job_peak_settle(&peak, child, true);
    }
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 110, 0);
}

TEST_WITH(what_never_was_leaves_nothing, begin, end)
{
    gt_job_peak_tell(&peak, born(), 10, false);
    for (int i = 0; i < 3; i++) {
        uint32_t other = born();
        gt_job_peak_tell(&peak, other, 50, false);
        if (i == 1)
            gt_job_peak_end(&peak, other);
        gt_job_peak_drop(&peak, other);
    }
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 10, 0);
    assert_true(peak.bound[GT_PEAK_COMBINED].count <= 4); /* pieces are used again */
}
