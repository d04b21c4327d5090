/* The peak of a job from made-up looks, beginnings, ends and marks; and its upper bound against adding up every moment. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sample/job_peak.h"
#include "support/figures.h"

/* ---- the upper bound ---- */

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

static void step(struct gt_peak_bound *bound, struct life *life, int i, int now)
{
    if (life[i].begin == now)
        assert_int_equal(gt_peak_bound_begin(bound, &life[i].handle), 0);
    if (life[i].begin > now || life[i].settled < now)
        return;
    if (rand() % 4 == 0 || life[i].settled == now) {
        life[i].known = life[i].settled == now ? life[i].mark : fmax(life[i].known, floor(life[i].mark * 0.7));
        gt_peak_bound_raise(bound, life[i].handle, life[i].known);
    }
    if (life[i].end == now)
        assert_int_equal(gt_peak_bound_end(bound, life[i].handle), 0);
    if (life[i].settled == now)
        gt_peak_bound_settle(bound, life[i].handle);
}

static void the_bound_is_that_of_all_moments(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        static struct life life[LIVES];
        struct gt_peak_bound bound = {0};
        srand(seed);
        for (int i = 0; i < LIVES; i++) {
            int begin = i ? life[i - 1].begin + rand() % 3 : 0, length = 1 + rand() % (rand() % 8 ? 10 : 200);
            life[i] = (struct life){.begin = begin, .end = begin + length, .mark = 1 + rand() % 1000};
            life[i].settled = life[i].end + rand() % 5;
        }
        for (int now = 0; now < MOMENTS; now++) {
            for (int i = 0; i < LIVES; i++) /* ends come before beginnings of the same moment */
                if (life[i].begin < now)
                    step(&bound, life, i, now);
            for (int i = 0; i < LIVES; i++)
                if (life[i].begin == now)
                    step(&bound, life, i, now);
            if (now % 37 == 0 || now == MOMENTS - 1)
                assert_close(gt_peak_bound_value(&bound), largest_sum(life, LIVES, now), 0);
        }
        gt_peak_bound_release(&bound);
    }
}

static void processes_one_after_the_other_are_not_added_up(void **state)
{
    (void)state;
    struct gt_peak_bound bound = {0};
    uint32_t shell, child;
    gt_peak_bound_begin(&bound, &shell);
    gt_peak_bound_raise(&bound, shell, 10);
    for (int i = 0; i < 1000; i++) {
        gt_peak_bound_begin(&bound, &child);
        gt_peak_bound_end(&bound, child);
        gt_peak_bound_raise(&bound, child, 100); /* told after its end, when the next has begun */
        if (i % 2)
            gt_peak_bound_settle(&bound, child);
    }
    assert_close(gt_peak_bound_value(&bound), 110, 0);
    gt_peak_bound_release(&bound);
}

static void what_never_was_leaves_nothing(void **state)
{
    (void)state;
    struct gt_peak_bound bound = {0};
    uint32_t main, other;
    gt_peak_bound_begin(&bound, &main);
    gt_peak_bound_raise(&bound, main, 10);
    for (int i = 0; i < 3; i++) {
        gt_peak_bound_begin(&bound, &other);
        gt_peak_bound_raise(&bound, other, 50);
        if (i == 1)
            gt_peak_bound_end(&bound, other);
        gt_peak_bound_drop(&bound, other);
    }
    assert_close(gt_peak_bound_value(&bound), 10, 0);
    assert_true(bound.count <= 4); /* pieces are used again */
    gt_peak_bound_release(&bound);
}

/* ---- the peak ---- */

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

static uint32_t born(uint32_t parent)
{
    uint32_t member;
    assert_int_equal(gt_job_peak_begin(&peak, parent, &member), 0);
    return member;
}

static void look_with_files(double descendants, double combined, double files)
{
    const struct gt_scope_memory below = {.rss = descendants, .ram = descendants, .private_bytes = descendants},
                                 all = {.rss = combined, .ram = combined, .private_bytes = combined};
    gt_job_peak_look(&peak, &below, &all, files, files);
}

static void look(double descendants, double combined)
{
    look_with_files(descendants, combined, 0);
}

static void seen(uint32_t member, double rss, double mark)
{
    gt_job_peak_seen(&peak, member, &(struct gt_peak_look){.rss = rss, .own = rss, .mark = mark});
}

static double best(int scope)
{
    return peak.scope[scope].best;
}

static void the_largest_look_counts(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE), child = born(main);
    look(50, 150);
    seen(main, 100, 100);
    seen(child, 50, 50);
    look(20, 120);
    assert_close(best(GT_PEAK_COMBINED), 150, 0);
    assert_close(best(GT_PEAK_DESCENDANTS), 50, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 150, 0);
    assert_false(peak.scope[GT_PEAK_COMBINED].is_between);
}

/* Two that spike between the same two looks may have done so one after the other. */
static void a_spike_between_two_looks_counts_once(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE), one = born(main), two = born(main);
    look(20, 30);
    seen(main, 10, 10);
    seen(one, 10, 10);
    seen(two, 10, 10);
    look(20, 30);
    seen(one, 10, 100);
    seen(two, 10, 90);
    assert_close(best(GT_PEAK_COMBINED), 120, 0);
    assert_close(best(GT_PEAK_DESCENDANTS), 110, 0);
    assert_close(peak.scope[GT_PEAK_COMBINED].least, 100, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 200, 0);
    assert_true(peak.scope[GT_PEAK_COMBINED].is_between);
}

static void the_mark_told_at_the_end_counts_with_those_around(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE), one = born(main), two = born(main);
    look(40, 50);
    seen(main, 10, 10);
    seen(one, 20, 20);
    seen(two, 20, 20);
    gt_job_peak_end(&peak, one, false);
    gt_job_peak_end(&peak, two, false);
    gt_job_peak_tell(&peak, two, 70, false); /* when the first had gone */
    assert_close(best(GT_PEAK_COMBINED), 80, 0);
    gt_job_peak_tell(&peak, one, 60, false); /* beside the second */
    assert_close(best(GT_PEAK_COMBINED), 90, 0);
    gt_job_peak_settle(&peak, one, true);
    gt_job_peak_settle(&peak, two, true);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 140, 0);
    assert_int_equal(peak.untold, 0);
}

static void a_process_that_no_look_met_counts(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE);
    look_with_files(0, 100, 5);
    gt_job_peak_seen(&peak, main, &(struct gt_peak_look){.rss = 100, .own = 100, .file_bytes = 5, .mark = 100});
    uint32_t short_lived = born(main);
    gt_job_peak_end(&peak, short_lived, false);
    gt_job_peak_tell(&peak, short_lived, 300, false);
    gt_job_peak_settle(&peak, short_lived, true);
    assert_close(best(GT_PEAK_COMBINED), 395, 0); /* its files may be those of the others */
    assert_close(best(GT_PEAK_DESCENDANTS), 300, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 400, 0);
}

/* It had its parent's memory, and 20 of its own. */
static void a_fork_that_no_look_met_has_its_parents_memory_once(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE);
    look(0, 1000);
    seen(main, 1000, 1000);
    uint32_t child = born(main);
    gt_job_peak_end(&peak, child, true);
    gt_job_peak_tell(&peak, child, 1020, true);
    assert_close(best(GT_PEAK_COMBINED), 1020, 0);
    assert_close(best(GT_PEAK_DESCENDANTS), 1020, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 2020, 0);
}

static void what_its_parent_had_is_as_of_the_look_that_says_what_others_had(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE);
    look(0, 10);
    seen(main, 10, 10);
    uint32_t child = born(main); /* its parent had 1000 by then */
    look(0, 1000);
    seen(main, 1000, 1000);
    gt_job_peak_end(&peak, child, true);
    gt_job_peak_tell(&peak, child, 1020, true);
    assert_close(best(GT_PEAK_COMBINED), 1020, 0);
}

static void what_exits_loses_what_it_began_with(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE), child = born(main);
    look(0, 1000);
    seen(main, 1000, 1000);
    gt_job_peak_seen(&peak, child, &(struct gt_peak_look){.began_with = 1000, .mark = 1001});
    assert_close(best(GT_PEAK_COMBINED), 1001, 0);
    gt_job_peak_end(&peak, child, true);
    gt_job_peak_tell(&peak, child, 1003, true);
    assert_close(best(GT_PEAK_COMBINED), 1003, 0);
}

static void what_grew_may_be_files_that_another_of_the_same_look_has(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE), one = born(main), two = born(main);
    look_with_files(120, 130, 90);
    seen(main, 10, 10);
    gt_job_peak_seen(&peak, one,
                     &(struct gt_peak_look){.rss = 20, .own = 20, .mark = 100}); /* the mark is read a little later */
    gt_job_peak_seen(&peak, two, &(struct gt_peak_look){.rss = 100, .own = 10, .file_bytes = 90, .mark = 100});
    assert_close(best(GT_PEAK_COMBINED), 130, 0);
}

/* It was looked at when it might have been about to execute one, and the kernel tells no mark. */
static void a_fork_that_ends_without_a_program_counts(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE), child = born(main);
    look(0, 1000);
    seen(main, 1000, 1000);
    gt_job_peak_seen(&peak, child, &(struct gt_peak_look){.rss = 950, .mark = 950, .is_pending = true});
    gt_job_peak_end(&peak, child, true);
    assert_close(best(GT_PEAK_DESCENDANTS), 950, 0);
    assert_close(best(GT_PEAK_COMBINED), 1000, 0);
}

static void what_is_about_to_execute_a_program_does_not_count(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE), child = born(main);
    look(0, 1000);
    seen(main, 1000, 1000);
    gt_job_peak_seen(&peak, child, &(struct gt_peak_look){.rss = 1000, .mark = 1000, .is_pending = true});
    look(2, 1002);
    seen(child, 2, 2);
    assert_close(best(GT_PEAK_DESCENDANTS), 2, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 1002, 0);
}

static void marks_that_are_not_told_are_counted(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE), one = born(main), two = born(main);
    look(20, 30);
    seen(one, 10, 10);
    gt_job_peak_settle(&peak, one, false);
    gt_job_peak_limit(&peak, two, 500);
    gt_job_peak_settle(&peak, two, false);
    assert_int_equal(peak.untold, 1);
    assert_close(best(GT_PEAK_COMBINED), 30, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_DESCENDANTS), 510, 0);
}

/* A mark from before tracking began says nothing until it rises. */
static void an_old_mark_is_a_bound_only(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE);
    look(0, 100);
    gt_job_peak_seen(&peak, main, &(struct gt_peak_look){.rss = 100, .own = 100, .mark = 500, .is_old = true});
    assert_close(best(GT_PEAK_COMBINED), 100, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 500, 0);
    look(0, 100);
    gt_job_peak_seen(&peak, main, &(struct gt_peak_look){.rss = 100, .own = 100, .mark = 600, .is_old = true});
    assert_close(best(GT_PEAK_COMBINED), 600, 0);
}

static void a_helper_that_is_left_out_leaves_nothing(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE), helper = born(main);
    gt_job_peak_tell(&peak, helper, 5000, false);
    gt_job_peak_drop(&peak, helper);
    look(0, 10);
    seen(main, 10, 10);
    assert_close(best(GT_PEAK_COMBINED), 10, 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 10, 0);
    assert_int_equal(peak.untold, 0);
}

/* Three live together and end unseen, one of them late; the largest that anybody waited for bounds what looks missed. */
static void what_was_waited_for_bounds_what_nobody_told(void **state)
{
    (void)state;
    uint32_t main = born(GT_PEAK_NONE), child[3];
    for (int i = 0; i < 3; i++)
        child[i] = born(main);
    look(190, 200);
    seen(main, 10, 10);
    for (int i = 0; i < 3; i++)
        seen(child[i], 50 + 10 * i, 50 + 10 * i);
    for (int i = 0; i < 3; i++) {
        gt_job_peak_end(&peak, child[i], false);
        gt_job_peak_settle(&peak, child[i], false);
    }
    assert_int_equal(peak.untold, 3);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 200, 0);
    gt_job_peak_waited(&peak, 100);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_DESCENDANTS), 180 + 3 * (100 - 50), 0);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_COMBINED), 190 + 3 * (100 - 50), 0);
    uint32_t later = born(main); /* alone */
    gt_job_peak_end(&peak, later, false);
    gt_job_peak_settle(&peak, later, false);
    assert_close(gt_job_peak_most(&peak, GT_PEAK_DESCENDANTS), 180 + 3 * 100, 0);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_bound_is_that_of_all_moments),
        TEST(processes_one_after_the_other_are_not_added_up),
        TEST(what_never_was_leaves_nothing),
        TEST(the_largest_look_counts),
        TEST(a_spike_between_two_looks_counts_once),
        TEST(the_mark_told_at_the_end_counts_with_those_around),
        TEST(a_process_that_no_look_met_counts),
        TEST(a_fork_that_no_look_met_has_its_parents_memory_once),
        TEST(what_its_parent_had_is_as_of_the_look_that_says_what_others_had),
        TEST(what_exits_loses_what_it_began_with),
        TEST(what_grew_may_be_files_that_another_of_the_same_look_has),
        TEST(a_fork_that_ends_without_a_program_counts),
        TEST(what_is_about_to_execute_a_program_does_not_count),
        TEST(marks_that_are_not_told_are_counted),
        TEST(an_old_mark_is_a_bound_only),
        TEST(what_was_waited_for_bounds_what_nobody_told),
        TEST(a_helper_that_is_left_out_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
