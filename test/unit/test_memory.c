#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/process/memory.h"
#include "collect/process/pagemap.h"
#include "support/figures.h"
#include "support/scenario.h"
#include "support/sanitized.h"

enum { MEGABYTES = 16 };
#define MB 1048576.0

static struct gt_memory *open_method(const struct gt_root *root, const char *method)
{
    struct gt_memory *memory = NULL;
    struct gt_availability availability;
    struct gt_error error = {0};
    if (gt_memory_open(&memory, root, method, &availability, &error) < 0) {
        print_message("skipped: %s\n", error.text);
        skip();
    }
    assert_int_equal(availability.state, GT_READY);
    return memory;
}

static struct gt_memory_totals walk(const char *method, enum scenario_kind kind, size_t megabytes)
{
    if (scenario_is_distorted()) {
        print_message("skipped: valgrind changes what processes have\n");
        skip();
    }
    struct gt_root root;
    assert_return_code(gt_root_open(&root, NULL, NULL), 0);
    struct gt_memory *memory = open_method(&root, method);
    struct scenario scenario;
    assert_true(scenario_begin(&scenario, kind, megabytes));
    struct gt_memory_process process[8] = {0};
    for (size_t i = 0; i < scenario.count; i++)
        process[i] = (struct gt_memory_process){.pid = scenario.pid[i], .is_main = i == 0};
    struct gt_memory_totals totals;
    assert_int_equal(gt_memory_walk(memory, process, scenario.count, &totals), 0);
    scenario_end(&scenario);
    assert_int_equal(totals.combined.walked, scenario.count);
    gt_memory_close(memory);
    gt_root_close(&root);
    return totals;
}

/* A process goes on after it has reported, and the kernel maps up to 16 pages around each first touch of a file. */
static const double SLACK = 0.5 * MB;

/* What was constructed, without what every such tree has. */
static double measured(const char *method, enum scenario_kind kind)
{
    return walk(method, kind, MEGABYTES).combined.unique - walk(method, kind, 0).combined.unique;
}

static void check(const char *method, enum scenario_kind kind, double tolerance)
{
    double truth = scenario_truth[kind].units * MEGABYTES * MB;
    double value = measured(method, kind);
    if (fabs(value - truth) > tolerance)
        fail_msg("%s, %s: %.2f MB, truth %.2f MB", method, scenario_truth[kind].name, value / MB, truth / MB);
}

static void unique_frames_are_exact(void **state)
{
    (void)state;
    for (enum scenario_kind kind = 0; kind < SCENARIO_COUNT; kind += FEWER(1, 3))
        check("unique", kind, SLACK);
}

static void sums_are_right_without_strangers(void **state)
{
    (void)state;
    for (enum scenario_kind kind = 0; kind < SCENARIO_COUNT; kind += FEWER(1, 3))
        check("pss", kind, 0.02 * scenario_truth[kind].units * MEGABYTES * MB + SLACK);
}

static void private_and_shared_are_told_apart(void **state)
{
    const char *const methods[] = {"unique", "pss"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct gt_memory_totals totals = walk(methods[i], COPY_ON_WRITE, MEGABYTES);
        struct gt_memory_totals base = walk(methods[i], COPY_ON_WRITE, 0);
        double unit = MEGABYTES * MB;
        assert_close((totals.combined.private_bytes - base.combined.private_bytes) / unit, 5, 0.05);
        assert_close((totals.combined.shared_bytes - base.combined.shared_bytes) / unit, 6, 0.1);
        assert_close((totals.main.private_bytes - base.main.private_bytes) / unit, 1, 0.05);
        assert_close((totals.main.unique - base.main.unique) / unit, 7, 0.1);
        assert_close((totals.descendants.unique - base.descendants.unique) / unit, 10, 0.1);
    }
}

static void each_process_agrees_with_its_resident_set(void **state)
{
    (void)state;
    struct gt_root root;
    assert_return_code(gt_root_open(&root, NULL, NULL), 0);
    struct gt_memory *memory = open_method(&root, "unique");
    struct gt_memory *sums = open_method(&root, "pss");
    for (enum scenario_kind kind = 0; kind < SCENARIO_COUNT; kind += FEWER(1, 3)) {
        struct scenario scenario;
        assert_true(scenario_begin(&scenario, kind, MEGABYTES));
        struct gt_memory_process one, other;
        struct gt_memory_totals totals;
        for (int i = 0; i < 10; i++) { /* of a process that a busy machine lets settle between the two */
            one = other = (struct gt_memory_process){.pid = scenario.pid[1]};
            assert_int_equal(gt_memory_walk(memory, &one, 1, &totals), 0);
            assert_int_equal(gt_memory_walk(sums, &other, 1, &totals), 0);
            if (fabs(one.rss - other.rss) <= SLACK)
                break;
        }
        scenario_end(&scenario);
        assert_close(one.rss, other.rss, SLACK);
        assert_close(one.private_bytes, other.private_bytes, SLACK);
        assert_close(one.shared_bytes, other.shared_bytes, SLACK);
    }
    gt_memory_close(memory);
    gt_memory_close(sums);
    gt_root_close(&root);
}

static void huge_address_spaces_are_crossed_quickly(void **state)
{
    (void)state;
    clock_t begin = clock();
    walk("unique", SPARSE, 1);
    assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
}

static void reused_number_is_not_walked(void **state)
{
    (void)state;
    struct gt_root root;
    assert_return_code(gt_root_open(&root, NULL, NULL), 0);
    const char *const methods[] = {"auto", "pss"};
    for (size_t i = 0; i < 2; i++) {
        struct gt_memory *memory = open_method(&root, methods[i]);
        struct gt_memory_process process = {.pid = getpid(), .start = 1};
        struct gt_memory_totals totals;
        assert_int_equal(gt_memory_walk(memory, &process, 1, &totals), 0);
        assert_false(process.ok);
        assert_false(process.is_denied);
        assert_true(isnan(process.private_bytes));
        gt_memory_close(memory);
    }
    gt_root_close(&root);
}

/* In a child that gives up root: other users' processes are denied, page frames are hidden, its own sums stand. */
static int as_nobody(void)
{
    struct gt_root root;
    struct gt_memory *memory = NULL;
    struct gt_availability availability;
    struct gt_memory_totals totals;
    if (setgid(65534) || setuid(65534) || gt_root_open(&root, NULL, NULL))
        return 1;
    if (gt_memory_open(&memory, &root, "unique", &availability, NULL) != -EPERM || availability.state != GT_DENIED)
        return 2;
    if (gt_memory_open(&memory, &root, "auto", &availability, NULL) || gt_memory_method(memory) != GT_MEMORY_PSS)
        return 3;
    prctl(PR_SET_DUMPABLE, 1); /* as after an exec: changing the user made its files root's */
    struct gt_memory_process process[2] = {{.pid = 1, .is_main = true}, {.pid = getpid()}};
    if (gt_memory_walk(memory, process, 2, &totals) || process[0].ok || !process[0].is_denied || !process[1].ok)
        return 4;
    bool adds_up = totals.main.denied == 1 && totals.combined.walked == 1 && totals.combined.unique > 0;
    gt_memory_close(memory);
    gt_root_close(&root);
    return adds_up ? 0 : 5;
}

static void other_users_are_denied(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("skipped: only root can become another user\n");
        skip();
    }
    pid_t pid = fork();
    if (pid == 0)
        _exit(as_nobody());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void unknown_method_is_named(void **state)
{
    (void)state;
    struct gt_root root;
    assert_return_code(gt_root_open(&root, NULL, NULL), 0);
    struct gt_memory *memory = NULL;
    struct gt_availability availability;
    struct gt_error error = {0};
    assert_int_equal(gt_memory_open(&memory, &root, "uss", &availability, &error), -EINVAL);
    assert_non_null(strstr(error.text, "uss"));
    gt_root_close(&root);
}

/* ---- stored machines ---- */

static void store(const char *directory, const char *name, const void *bytes, size_t size, off_t offset)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, offset), (ssize_t)size);
    close(fd);
}

static void store_text(const char *directory, const char *name, const char *text)
{
    store(directory, name, text, strlen(text), 0);
}

static int unlink_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static void discard(const char *directory)
{
    nftw(directory, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void stored_sums_and_the_kernel_without_rollup(void **state)
{
    (void)state;
    char directory[] = "/tmp/gt-memory-XXXXXX";
    assert_non_null(mkdtemp(directory));
    store_text(directory, "proc/10/stat", "10 (a) b) S 1 10 10 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n");
    store_text(directory, "proc/10/smaps_rollup",
               "00400000-7fff00000000 ---p 00000000 00:00 0 [rollup]\nRss: 1000 kB\nPss: 600 kB\nPss_Anon: 160 kB\n"
               "Pss_File: 70 kB\nPss_Shmem: 10 kB\nAnonymous: 250 kB\n"
               "Shared_Clean: 300 kB\nShared_Dirty: 500 kB\nPrivate_Clean: 50 kB\nPrivate_Dirty: 150 kB\n"
               "Shared_Hugetlb: 2048 kB\nSwap: 7 kB\nSwapPss: 3 kB\n");
    store_text(directory, "proc/11/stat", "11 (b) S 10 10 10 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 600 0 0\n");
    store_text(directory, "proc/11/smaps",
               "00400000-00500000 r--p 00000000 fe:00 1 /bin/b\nRss: 400 kB\nPss: 200 kB\nShared_Clean: 400 kB\n"
               "00600000-00700000 rw-p 00000000 00:00 0\nRss: 100 kB\nPss: 100 kB\nPrivate_Dirty: 100 kB\n"
               "Anonymous: 80 kB\n");
    struct gt_root root;
    assert_return_code(gt_root_open(&root, directory, NULL), 0);
    struct gt_memory *memory = open_method(&root, NULL);
    assert_int_equal(gt_memory_method(memory), GT_MEMORY_PSS);
    struct gt_memory_process process[] = {
        {.pid = 10, .start = 500, .is_main = true}, {.pid = 11, .start = 600}, {.pid = 11, .start = 601}, {.pid = 12}};
    struct gt_memory_totals totals;
    assert_int_equal(gt_memory_walk(memory, process, 4, &totals), 0);
    assert_true(process[0].ok && process[1].ok && !process[2].ok && !process[3].ok);
    assert_close(process[0].rss, 1000 * 1024, 0);
    assert_close(process[0].pss, 600 * 1024, 0);
    assert_close(process[0].swap, 7 * 1024, 0);
    assert_close(process[0].anonymous, (200 - 80) * 1024, 0); /* at least: files may have 80 of the private ones */
    assert_close(process[1].anonymous, 0, 0);                 /* all that is private may be of a file */
    assert_close(totals.combined.private_bytes, 300 * 1024, 0);
    assert_close(totals.combined.unique, 1100 * 1024, 0); /* 300 private and the 800 that one of them shares */
    assert_close(totals.descendants.unique, 500 * 1024, 0);
    store_text(directory, "proc/meminfo", "MemTotal: 8000 kB\nMapped: 100 kB\nShmem: 4 kB\n");
    assert_int_equal(gt_memory_walk(memory, process, 2, &totals), 0);
    assert_close(totals.combined.unique, 1100 * 1024,
                 0); /* 80 kB of files and shared memory are no more than the machine has */
    store_text(directory, "proc/13/stat", "13 (c) S 1 13 13 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 700 0 0\n");
    store_text(
        directory, "proc/13/smaps_rollup",
        "00400000-7fff00000000 ---p 00000000 00:00 0 [rollup]\nRss: 50000 kB\nPss: 30000 kB\nPss_Shmem: 30000 kB\n"
        "Shared_Dirty: 30000 kB\nPrivate_Dirty: 20000 kB\nAnonymous: 0 kB\n");
    process[3] = (struct gt_memory_process){.pid = 13, .start = 700};
    assert_int_equal(gt_memory_walk(memory, &process[3], 1, &totals), 0);
    assert_close(process[3].private_bytes, 0, 0);
    assert_close(totals.combined.unique, 50000 * 1024, 0); /* what one has is there */
    gt_memory_close(memory);
    gt_root_close(&root);
    discard(directory);
}

static void stored_page_frames(void **state)
{
    const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62, file = UINT64_C(1) << 61,
                   exclusive = UINT64_C(1) << 56;
    (void)state;
    char directory[] = "/tmp/gt-memory-XXXXXX";
    assert_non_null(mkdtemp(directory));
    const char *maps =
        "00010000-00014000 rw-p 00000000 00:00 0 [heap]\n00020000-00022000 rw-s 00000000 00:05 9 /dev/card\n"
        "00030000-00031000 r--p 00000000 00:00 0 [vvar]\nffffffffff600000-ffffffffff601000 --xp 0 00:00 0 [vsyscall]\n";
    const uint64_t heap[] = {present | exclusive | 1, present | 2, swapped | 77, present | file | 3};
    const uint64_t device[] = {present | 1000, present | file | exclusive | 4}, special = present | 5;
    for (int pid = 10; pid <= 11; pid++) {
        char name[64];
        snprintf(name, sizeof name, "proc/%d/stat", pid);
        store_text(directory, name, "10 (a) S 1 10 10 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n");
        snprintf(name, sizeof name, "proc/%d/maps", pid);
        store_text(directory, name, maps);
        snprintf(name, sizeof name, "proc/%d/pagemap", pid);
        store(directory, name, heap, sizeof heap, 0x10 * 8);
        store(directory, name, device, sizeof device, 0x20 * 8);
        store(directory, name, &special, sizeof special, 0x30 * 8);
    }
    struct gt_root root;
    assert_return_code(gt_root_open(&root, directory, NULL), 0);
    struct gt_memory *memory = open_method(&root, "unique");
    struct gt_memory_process process[] = {{.pid = 10, .start = 500, .is_main = true}, {.pid = 11}};
    struct gt_memory_totals totals;
    assert_int_equal(gt_memory_walk(memory, process, 2, &totals), 0);
    assert_close(process[0].rss, 4 * 4096, 0);
    assert_close(process[0].private_bytes, 4096, 0); /* another may map the one of the shared mapping at any time */
    assert_close(process[0].anonymous, 4096, 0);
    assert_close(process[0].file_bytes, 2 * 4096, 0);
    assert_close(process[0].swap, 4096, 0);
    assert_close(totals.combined.unique, 5 * 4096, 0);
    assert_close(totals.descendants.unique, 4 * 4096, 0);
    assert_int_equal(gt_memory_walk(memory, process, 2, &totals), 0);
    assert_close(totals.combined.unique, 5 * 4096, 0); /* the set begins empty each time */
    gt_memory_close(memory);
    gt_root_close(&root);
    discard(directory);
}

static void page_set_keeps_marks_apart(void **state)
{
    (void)state;
    struct gt_pagemap_set set = {0};
    const uint64_t frames[] = {0, 1, 3, 4, (1 << 18) - 1, 1 << 18, (UINT64_C(1) << 40) - 1};
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        assert_int_equal(gt_pagemap_set_add(&set, frames[i], GT_PAGEMAP_MAIN), 0);
        assert_int_equal(gt_pagemap_set_add(&set, frames[i], GT_PAGEMAP_DESCENDANT), GT_PAGEMAP_MAIN);
        assert_int_equal(gt_pagemap_set_add(&set, frames[i], GT_PAGEMAP_MAIN), GT_PAGEMAP_MAIN | GT_PAGEMAP_DESCENDANT);
    }
    assert_int_equal(gt_pagemap_set_add(&set, 2, GT_PAGEMAP_DESCENDANT), 0);
    assert_int_equal(gt_pagemap_set_add(&set, UINT64_C(1) << 40, GT_PAGEMAP_MAIN), -ERANGE);
    gt_pagemap_set_clear(&set);
    assert_int_equal(gt_pagemap_set_add(&set, 1, GT_PAGEMAP_MAIN), 0);
    gt_pagemap_set_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unique_frames_are_exact),
        cmocka_unit_test(sums_are_right_without_strangers),
        cmocka_unit_test(private_and_shared_are_told_apart),
        cmocka_unit_test(each_process_agrees_with_its_resident_set),
        cmocka_unit_test(huge_address_spaces_are_crossed_quickly),
        cmocka_unit_test(reused_number_is_not_walked),
        cmocka_unit_test(other_users_are_denied),
        cmocka_unit_test(unknown_method_is_named),
        cmocka_unit_test(stored_sums_and_the_kernel_without_rollup),
        cmocka_unit_test(stored_page_frames),
        cmocka_unit_test(page_set_keeps_marks_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
