#include "support/test.h"

TEST(what_is_missing_is_close_to_what_is_missing_only)
{
    assert_true(is_close(NAN, NAN, 1));
    assert_false(is_close(NAN, 1, 1e9) || is_close(1, NAN, 1e9) || is_close(0, NAN, INFINITY));
    assert_true(is_close(INFINITY, INFINITY, 0));
    assert_false(is_close(INFINITY, 1, 1e9) || is_close(INFINITY, -INFINITY, 1e9));
}

TEST(doubles_are_compared_as_doubles)
{
    assert_true(is_close(1, 1, 0) && is_close(1, 2, 1) && is_close(2, 1, 1));
    assert_false(is_close(1, 1 + 1e-12, 0) || is_close(1, 2.1, 1));
    assert_false(is_close(1e9, 1e9 + 1, 0.5));
}
