#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/pid_map.h"

static void an_empty_map_holds_nothing(void **state)
{
    (void)state;
    struct gt_pid_map map = {0};
    assert_int_equal(gt_pid_map_get(&map, 1), GT_PID_ABSENT);
    assert_int_equal(gt_pid_map_remove(&map, 1), GT_PID_ABSENT);
    gt_pid_map_clear(&map);
    gt_pid_map_release(&map);
}

/* Against a plain array, with numbers crowded enough that probes run into each other and around the end. */
static void it_agrees_with_an_array(void **state)
{
    (void)state;
    enum { NUMBERS = 500, STEPS = 200000 };
    struct gt_pid_map map = {0};
    uint32_t expected[NUMBERS];
    size_t count = 0;
    srand(1);
    for (size_t i = 0; i < NUMBERS; i++)
        expected[i] = GT_PID_ABSENT;
    for (uint32_t step = 0; step < STEPS; step++) {
        size_t i = (size_t)rand() % NUMBERS;
        pid_t pid = (pid_t)(i * 977 + 1);
        if (rand() % 5 < 2) {
            assert_int_equal(gt_pid_map_put(&map, pid, step), 0);
            count += expected[i] == GT_PID_ABSENT;
            expected[i] = step;
        } else {
            assert_int_equal(gt_pid_map_remove(&map, pid), expected[i]);
            count -= expected[i] != GT_PID_ABSENT;
            expected[i] = GT_PID_ABSENT;
        }
        assert_int_equal(map.count, count);
        for (size_t probe = 0; step % 64 == 0 && probe < NUMBERS; probe++)
            assert_int_equal(gt_pid_map_get(&map, (pid_t)(probe * 977 + 1)), expected[probe]);
    }
    assert_true(map.size <= 1024);
    gt_pid_map_clear(&map);
    assert_int_equal(gt_pid_map_get(&map, 1), GT_PID_ABSENT);
    gt_pid_map_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_holds_nothing),
        cmocka_unit_test(it_agrees_with_an_array),
    };
    return cmocka_run_group_tests_name("pid map", tests, NULL, NULL);
}
