#include "support/test.h"

enum { MOST_TESTS = 200 };
static struct CMUnitTest tests[MOST_TESTS];
static size_t count;
static CMFixtureFunction before_all, after_all;

void test_add(const char *name, CMUnitTestFunction function, CMFixtureFunction before, CMFixtureFunction after)
{
    if (count == MOST_TESTS)
        abort();
    tests[count++] = (struct CMUnitTest){name, function, before, after, NULL};
}

void test_group(CMFixtureFunction before, CMFixtureFunction after)
{
    before_all = before;
    after_all = after;
}

int test_run(const char *pattern)
{
    if (pattern)
        cmocka_set_test_filter(pattern);
    return _cmocka_run_group_tests("tests", tests, count, before_all, after_all);
}

/* A program that also has other tasks has its own. */
__attribute__((weak)) int main(int argc, char **argv)
{
    return test_run(argc > 1 ? argv[1] : NULL);
}
