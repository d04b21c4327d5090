/* The library that programs load, linked: ranges from names that may hold anything, its limits, sums, and what a child made by fork
 * begins with. */
#include <dirent.h>
#include <sys/wait.h>
#include <wchar.h>

#include "../../inject/ranges.h"
#include "base/os/clock.h"
#include "blocks/block.h"
#include "blocks/block_event.h"
#include "support/folder.h"
#include "support/test.h"

static struct gt_range_domain *domain(const char *name)
{
    return gt_range_domain(GT_BLOCK_SOURCE_nvtx, name);
}

/* Run in a process of its own whose folder is the test's; returns its exit status. */
static int in_process(void (*work)(void))
{
    setenv(GT_BLOCKS_ENVIRONMENT, folder_path(""), 1);
    pid_t pid = fork();
    if (pid == 0) {
        work();
        exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* All rows of all files; -1 when one of them cannot be read. */
static int rows(int *starts, double *sum)
{
    int count = 0;
    DIR *listing = opendir(folder_path(""));
    *starts = 0;
    *sum = 0;
    for (const struct dirent *entry; count >= 0 && (entry = readdir(listing));) {
        struct gt_block_event_reader *reader;
        struct gt_block_event event;
        const char *name;
        int status = 1;
        if (!strstr(entry->d_name, ".csv"))
            continue;
        if (gt_block_event_open(&reader, folder_path(entry->d_name), NULL) < 0)
            status = count = -1;
        for (; count >= 0 && (status = gt_block_event_next(reader, &event, &name, NULL)) > 0; count++) {
            *starts += event.position == GT_START;
            *sum += event.position == GT_START ? -event.monotonic : event.monotonic;
        }
        if (count >= 0)
            gt_block_event_close(reader);
        if (status < 0)
            count = -1;
    }
    closedir(listing);
    return count;
}

/* ---- cases ---- */

enum { NAMES = FEWER(3000, 300) };

static void any_names(void)
{
    srand(7);
    for (int i = 0; i < NAMES; i++) {
        char text[1500];
        wchar_t wide[64];
        size_t length = (size_t)rand() % (i % 50 ? 40 : sizeof text);
        for (size_t k = 0; k < length; k++)
            text[k] = (char)(rand() % 255 + 1);
        text[length] = '\0';
        for (size_t k = 0; k < 63; k++)
            wide[k] = (wchar_t)((unsigned)rand() * (rand() % 2 ? 1u : 7919u) | 1u);
        wide[rand() % 64] = 0;
        wide[63] = 0;
        struct gt_range_domain *one = i % 3 ? domain(NULL) : domain(text);
        char *narrow = gt_range_narrow(wide);
        gt_range_push(one, gt_range_name(one, i % 2 ? text : narrow));
        free(narrow);
        gt_range_pop(one);
    }
}

TEST_WITH(test_any_names, folder_make, folder_remove)
{
    int starts;
    double sum;
    assert_int_equal(in_process(any_names), 0);
    assert_int_equal(rows(&starts, &sum), 2 * NAMES);
    assert_int_equal(starts, NAMES);
}

static void limited(void)
{
    for (int i = 0; i < 20; i++) {
        gt_range_push(domain(NULL), gt_range_name(domain(NULL), "a"));
        gt_range_pop(domain(NULL));
    }
    for (int i = 0; i < GT_RANGE_LEVELS + 20; i++)
        if (gt_range_push(domain("d"), gt_range_name(domain("d"), "b")) != i)
            exit(1);
    for (int i = GT_RANGE_LEVELS + 20; i-- > 0;)
        if (gt_range_pop(domain("d")) != i)
            exit(2);
    exit(gt_range_pop(domain("d")) != -1);
}

TEST_WITH(test_limits, folder_make, folder_remove)
{
    int starts;
    double sum;
    setenv(GT_BLOCKS_MOST_ENVIRONMENT, "50", 1);
    assert_int_equal(in_process(limited), 0);
    unsetenv(GT_BLOCKS_MOST_ENVIRONMENT);
    assert_int_equal(rows(&starts, &sum), 100);
}

static void handed_over(void)
{
    uint64_t id[1000];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++)
            id[i] = gt_range_start(domain(NULL), gt_range_name(domain(NULL), "any"));
        for (int i = 0; i < 1000; i += 2)
            gt_range_end(id[i]);
        gt_range_end(id[0]); /* once more, and what never was */
        gt_range_end(~0ull);
        gt_range_end(id[1] + ((uint64_t)1 << 32));
        if (fork() == 0) {
            for (int i = 0; i < 1000; i++)
                gt_range_end(id[i]); /* its parent's */
            _exit(0);
        }
        wait(NULL);
        for (int i = 1; i < 1000; i += 2)
            gt_range_end(id[i]);
    }
}

TEST_WITH(test_ranges_that_end_anywhere, folder_make, folder_remove)
{
    int starts;
    double sum;
    assert_int_equal(in_process(handed_over), 0);
    assert_int_equal(rows(&starts, &sum), 6000);
    assert_int_equal(starts, 3000);
}

/* Two functions, called by turns, of 1 and 2 ms each time. */
static void summed(void)
{
    struct gt_range_name *one = gt_range_name(domain(NULL), "one"), *two = gt_range_name(domain(NULL), "two");
    int64_t now = gt_clock_ns(CLOCK_MONOTONIC) - 2000000000;
    for (int i = 0; i < 100; i++) {
        gt_range_sum(domain(NULL), one, now, now + 1000000);
        gt_range_sum(domain(NULL), two, now + 2000000, now + 4000000);
        now += 4000000;
    }
    gt_range_push(domain(NULL), gt_range_name(domain(NULL), "range"));
    gt_range_pop(domain(NULL));
    gt_range_sum(domain(NULL), one, now, now + 100000000);
}

TEST_WITH(test_sums, folder_make, folder_remove)
{
    int starts;
    double sum;
    assert_int_equal(in_process(summed), 0);
    assert_int_equal(rows(&starts, &sum), 8); /* one, two, range, one again */
    assert_true(sum > 0.4 && sum < 0.4 + 0.1);
}

static void nowhere(void)
{
    setenv(GT_BLOCKS_ENVIRONMENT, "/dev/null/nowhere", 1);
    exit(gt_ranges_begin(GT_BLOCK_SOURCE_nvtx) || gt_range_push(domain(NULL), NULL) >= 0 || gt_range_pop(NULL) >= 0 ||
         gt_range_start(domain("x"), gt_range_name(domain("x"), "y")));
}

TEST_WITH(test_nowhere_to_write, folder_make, folder_remove)
{
    assert_int_equal(in_process(nowhere), 0);
}
