#include "base/map.h"
#include "support/test.h"

TEST(an_empty_map_holds_nothing)
{
    struct gt_map map = {0};
    assert_int_equal(gt_map_get(&map, 1), GT_MAP_ABSENT);
    assert_int_equal(gt_map_remove(&map, 1), GT_MAP_ABSENT);
    gt_map_clear(&map);
    gt_map_release(&map);
}

/* Against a plain array, with numbers crowded enough that probes run into each other and around the end. */
TEST(it_agrees_with_an_array)
{
    enum { NUMBERS = 500, STEPS = 200000 };
    struct gt_map map = {0};
    uint32_t expected[NUMBERS];
    size_t count = 0;
    srand(1);
    for (size_t i = 0; i < NUMBERS; i++)
        expected[i] = GT_MAP_ABSENT;
    for (uint32_t step = 0; step < STEPS; step++) {
        size_t i = (size_t)rand() % NUMBERS;
        pid_t pid = (pid_t)(i * 977 + 1);
        if (rand() % 5 < 2) {
            assert_int_equal(gt_map_put(&map, pid, step), 0);
            count += expected[i] == GT_MAP_ABSENT;
            expected[i] = step;
        } else {
            assert_int_equal(gt_map_remove(&map, pid), expected[i]);
            count -= expected[i] != GT_MAP_ABSENT;
            expected[i] = GT_MAP_ABSENT;
        }
        assert_int_equal(map.count, count);
        for (size_t probe = 0; step % 64 == 0 && probe < NUMBERS; probe++)
            assert_int_equal(gt_map_get(&map, (pid_t)(probe * 977 + 1)), expected[probe]);
    }
    assert_true(map.size <= 1024);
    gt_map_clear(&map);
    assert_int_equal(gt_map_get(&map, 1), GT_MAP_ABSENT);
    gt_map_release(&map);
}

static bool is_seventh(const void *context, uint32_t value)
{
    return value % 10 == 7 && value / 10 == *(const uint32_t *)context;
}

/* Every key has ten values, and the keys are so few apart that the probes of one run through those of others. */
TEST(a_key_may_have_several_values)
{
    struct gt_map map = {0};
    for (uint32_t value = 0; value < 10000; value++)
        assert_int_equal(gt_map_add(&map, value / 10, value), 0);
    for (uint32_t key = 0; key < 1000; key++) {
        uint32_t other = key + 1;
        assert_int_equal(gt_map_find(&map, key, is_seventh, &key), 10 * key + 7);
        assert_int_equal(gt_map_find(&map, key, is_seventh, &other), GT_MAP_ABSENT);
    }
    assert_int_equal(map.count, 10000);
    gt_map_release(&map);
}

/* 0 is a key, and the largest value is one below GT_MAP_ABSENT. */
TEST(the_ends_of_the_ranges_are_kept)
{
    struct gt_map map = {0};
    assert_int_equal(gt_map_get(&map, 0), GT_MAP_ABSENT);
    assert_int_equal(gt_map_put(&map, 0, GT_MAP_ABSENT - 1), 0);
    assert_int_equal(gt_map_put(&map, UINT32_MAX, 0), 0);
    assert_int_equal(gt_map_get(&map, 0), GT_MAP_ABSENT - 1);
    assert_int_equal(gt_map_get(&map, UINT32_MAX), 0);
    assert_int_equal(gt_map_remove(&map, 0), GT_MAP_ABSENT - 1);
    assert_int_equal(gt_map_get(&map, 0), GT_MAP_ABSENT);
    assert_int_equal(map.count, 1);
    gt_map_release(&map);
}

TEST(hashes_differ_in_both_halves)
{
    struct gt_map low = {0}, high = {0};
    for (uint32_t i = 0; i < 10000; i++) {
        uint64_t hash = gt_hash(&i, sizeof i);
        gt_map_put(&low, (uint32_t)hash, i);
        gt_map_put(&high, (uint32_t)(hash >> 32), i);
    }
    assert_true(low.count > 9990);
    assert_true(high.count > 9990);
    assert_true(gt_hash("a", 1) != gt_hash("a\0", 2));
    gt_map_release(&low);
    gt_map_release(&high);
}
