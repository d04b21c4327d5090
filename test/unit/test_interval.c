/* The rules by which starts and stops are paired, as a table of small cases. */
#include "blocks/interval.h"
#include "support/test.h"

enum { A = 0, B = 1, C = 2, ROWS = 12, CALLS = 6 };

#define NONE (-1)
#define START(name, at)                        \
    {                                          \
        name, GT_START, 1, NONE, NONE, at, NAN \
    }
#define STOP(name, at)                        \
    {                                         \
        name, GT_STOP, 1, NONE, NONE, at, NAN \
    }
#define START_IN(process, thread, name, at)            \
    {                                                  \
        name, GT_START, process, thread, NONE, at, NAN \
    }
#define STOP_IN(process, thread, name, at)            \
    {                                                 \
        name, GT_STOP, process, thread, NONE, at, NAN \
    }
#define START_CALL(call, name, at)          \
    {                                       \
        name, GT_START, 1, 1, call, at, NAN \
    }
#define STOP_CALL(call, name, at)          \
    {                                      \
        name, GT_STOP, 1, 1, call, at, NAN \
    }
#define START_CLOCK(name, at, clock)          \
    {                                         \
        name, GT_START, 1, 1, NONE, at, clock \
    }
#define STOP_CLOCK(name, at, clock)          \
    {                                        \
        name, GT_STOP, 1, 1, NONE, at, clock \
    }

struct row {
    uint32_t name;
    uint8_t position;
    int64_t process, thread, call;
    double at, clock;
};

struct call {
    uint32_t name;
    double start, stop, self;
    bool unfinished;
};

/* Calls are listed by process, thread and start. What never ended is closed at 100. */
static const struct {
    const char *what;
    struct row row[ROWS];
    size_t rows;
    struct call call[CALLS];
    size_t calls;
    uint64_t orphans;
} cases[] = {
    {"nothing", .rows = 0, .calls = 0},
    {"one call", {START(A, 1), STOP(A, 3)}, 2, {{A, 1, 3, 2, false}}, 1, 0},
    {"rows in any order",
     {STOP(A, 7), STOP(A, 3), START(A, 5), START(A, 1)},
     4,
     {{A, 1, 3, 2, false}, {A, 5, 7, 2, false}},
     2,
     0},
    {"one after the other without a gap",
     {START(A, 1), STOP(A, 2), START(A, 2), STOP(A, 3)},
     4,
     {{A, 1, 2, 1, false}, {A, 2, 3, 1, false}},
     2,
     0},
    {"a call that takes no time", {STOP(A, 2), START(A, 2)}, 2, {{A, 2, 2, 0, false}}, 1, 0},
    {"recursion",
     {START(A, 0), START(A, 0.25), STOP(A, 0.5), STOP(A, 1)},
     4,
     {{A, 0, 1, 0.75, false}, {A, 0.25, 0.5, 0.25, false}},
     2,
     0},
    {"nested blocks: self time",
     {START(A, 0), START(B, 1), STOP(B, 2), START(B, 3), STOP(B, 5), STOP(A, 10)},
     6,
     {{A, 0, 10, 7, false}, {B, 1, 2, 1, false}, {B, 3, 5, 2, false}},
     3,
     0},
    {"blocks that overlap without nesting",
     {START(A, 0), START(B, 1), STOP(A, 2), STOP(B, 3)},
     4,
     {{A, 0, 2, 1, false}, {B, 1, 3, 2, false}},
     2,
     0},
    {"two processes",
     {START_IN(1, 1, A, 0), START_IN(2, 2, A, 1), STOP_IN(1, 1, A, 2), STOP_IN(2, 2, A, 3)},
     4,
     {{A, 0, 2, 2, false}, {A, 1, 3, 2, false}},
     2,
     0},
    {"two threads",
     {START_IN(1, 1, A, 0), START_IN(1, 2, A, 1), STOP_IN(1, 1, A, 2), STOP_IN(1, 2, A, 3)},
     4,
     {{A, 0, 2, 2, false}, {A, 1, 3, 2, false}},
     2,
     0},
    {"call numbers overrule nesting",
     {START_CALL(7, A, 0), START_CALL(8, A, 1), STOP_CALL(7, A, 2), STOP_CALL(8, A, 3)},
     4,
     {{A, 0, 2, 1, false}, {A, 1, 3, 2, false}},
     2,
     0},
    {"a block that never ended",
     {START(A, 1), STOP(A, 2), START(A, 3)},
     3,
     {{A, 1, 2, 1, false}, {A, 3, 100, 97, true}},
     2,
     0},
    {"one that only started", {START(A, 1)}, 1, {{A, 1, 100, 99, true}}, 1, 0},
    {"two starts in a row",
     {START(A, 1), START(A, 2), STOP(A, 3)},
     3,
     {{A, 1, 100, 98, true}, {A, 2, 3, 1, false}},
     2,
     0},
    {"a stop without a start", {STOP(A, 1), START(A, 2), STOP(A, 3)}, 3, {{A, 2, 3, 1, false}}, 1, 1},
    {"calls inside one that never ended, and that one inside another",
     {START(A, 0), START(B, 1), START(C, 2), STOP(C, 4), STOP(A, 10)},
     5,
     {{A, 0, 10, 8, false}, {B, 1, 100, 97, true}, {C, 2, 4, 2, false}},
     3,
     0},
    {"a process that was killed inside",
     {START_IN(1, 1, A, 0), START_IN(2, 2, A, 1), STOP_IN(2, 2, A, 2)},
     3,
     {{A, 0, 100, 100, true}, {A, 1, 2, 1, false}},
     2,
     0},
    {"clock set back, monotonic recorded",
     {START_CLOCK(A, 50, 10), STOP_CLOCK(A, 20, 12)},
     2,
     {{A, 50, 20, 2, false}},
     1,
     0},
    {"clock set back, only the file's order is left",
     {START(A, 1), STOP(A, 2), START(A, 50), STOP(A, 20)},
     4,
     {{A, 1, 2, 1, false}, {A, 50, 20, NAN, false}},
     2,
     0},
};

TEST(test_cases)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gt_block_event event[ROWS];
        for (size_t j = 0; j < cases[i].rows; j++) {
            const struct row *row = &cases[i].row[j];
            event[j] = (struct gt_block_event){.name = row->name,
                                               .position = row->position,
                                               .row = j + 2,
                                               .process = row->process,
                                               .thread = row->thread,
                                               .call = row->call,
                                               .timestamp = row->at,
                                               .monotonic = row->clock,
                                               .cpu_time = NAN};
        }
        struct gt_intervals intervals;
        assert_int_equal(gt_intervals_pair(&intervals, event, cases[i].rows), 0);
        assert_int_equal(gt_intervals_close(&intervals, 100, 100), 0);
        if (intervals.count != cases[i].calls || intervals.orphans != cases[i].orphans)
            fail_msg("%s: %zu calls, %llu orphans", cases[i].what, intervals.count,
                     (unsigned long long)intervals.orphans);
        for (size_t j = 0; j < intervals.count; j++) {
            const struct gt_interval *got = &intervals.interval[j];
            const struct call *want = &cases[i].call[j];
            bool same_self = isnan(want->self) ? isnan(got->self) : fabs(got->self - want->self) < 1e-12;
            if (got->name != want->name || got->start != want->start || got->stop != want->stop || !same_self ||
                got->unfinished != want->unfinished)
                fail_msg("%s: call %zu is %u from %g to %g, self %g", cases[i].what, j, got->name, got->start,
                         got->stop, got->self);
        }
        gt_intervals_release(&intervals);
    }
}

/* Whatever the order of the rows, the pairs are the same. */
TEST(test_order_does_not_matter)
{
    struct gt_block_event event[40], shuffled[40];
    srand(7);
    for (size_t i = 0; i < 40; i++)
        event[i] = (struct gt_block_event){.name = (uint32_t)rand() % 2,
                                           .position = (uint8_t)(rand() % 2),
                                           .row = i,
                                           .process = rand() % 2,
                                           .thread = -1,
                                           .call = -1,
                                           .timestamp = (double)(i / 2),
                                           .monotonic = (double)(i / 2),
                                           .cpu_time = NAN};
    struct gt_intervals one, other;
    memcpy(shuffled, event, sizeof event);
    assert_int_equal(gt_intervals_pair(&one, shuffled, 40), 0);
    assert_int_equal(gt_intervals_close(&one, 100, 100), 0);
    for (int round = 0; round < 50; round++) {
        memcpy(shuffled, event, sizeof event);
        for (size_t i = 39; i > 0; i--) {
            size_t j = (size_t)rand() % (i + 1);
            struct gt_block_event swap = shuffled[i];
            shuffled[i] = shuffled[j];
            shuffled[j] = swap;
        }
        for (size_t i = 0; i < 40; i++)
            shuffled[i].row = i;
        assert_int_equal(gt_intervals_pair(&other, shuffled, 40), 0);
        assert_int_equal(gt_intervals_close(&other, 100, 100), 0);
        assert_int_equal(other.count, one.count);
        assert_int_equal(other.orphans, one.orphans);
        for (size_t i = 0; i < one.count; i++) {
            assert_true(one.interval[i].start == other.interval[i].start);
            assert_true(one.interval[i].stop == other.interval[i].stop);
        }
        gt_intervals_release(&other);
    }
    gt_intervals_release(&one);
}
