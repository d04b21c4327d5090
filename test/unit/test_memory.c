/* Sums over the memory of one process: of stored machines, of the running kernel, and of other users. */
#include <sys/prctl.h>
#include <sys/wait.h>

#include "collect/process/memory.h"
#include "collect/process/process.h"
#include "support/fake_proc.h"
#include "support/folder.h"
#include "support/scenario.h"
#include "support/test.h"

enum { MEGABYTES = 16 };
#define MB 1048576.0
#define KIB 1024.0

/* ---- the running kernel ---- */

/* A process goes on after it has reported, and the kernel maps up to 16 pages around each first touch of a file. */
static const double SLACK = 0.5 * MB;

/* The sums of all processes of a scenario. */
static struct gt_smaps add_up(enum scenario_kind kind, size_t megabytes)
{
    struct gt_smaps ret = {0}, one;
    struct gt_root root;
    struct scenario scenario;
    assert_return_code(gt_root_open(&root, NULL, NULL), 0);
    assert_true(scenario_begin(&scenario, kind, megabytes));
    for (size_t i = 0; i < scenario.count; i++) {
        assert_int_equal(gt_smaps_read(&root, scenario.pid[i], 0, &one), 0);
        assert_close(one.rss, one.private_bytes + one.shared_bytes, SLACK);
        assert_close(one.rss, one.anonymous + one.file_bytes, SLACK);
        assert_true(one.faults > 0);
        ret.pss += one.pss;
        ret.private_bytes += one.private_bytes;
        ret.private_anonymous += one.private_anonymous;
        ret.pss_files += one.pss_files;
        ret.pss_shmem += one.pss_shmem;
    }
    scenario_end(&scenario);
    gt_root_close(&root);
    return ret;
}

static void begin_live(void)
{
    if (scenario_is_distorted()) {
        print_message("skipped: valgrind changes what processes have\n");
        skip();
    }
}

TEST(sums_of_shares_are_what_was_constructed)
{
    begin_live();
    for (enum scenario_kind kind = 0; kind < SCENARIO_COUNT; kind += FEWER(1, 3)) {
        if (kind == WITH_STRANGER) /* which has a share */
            continue;
        double truth = scenario_truth[kind].units * MEGABYTES * MB;
        double value = NAN;
        for (int i = 0; i < 5 && !(fabs(value - truth) <= 0.02 * truth + SLACK);
             i++) /* others may share the libraries */
            value = add_up(kind, MEGABYTES).pss - add_up(kind, 0).pss;
        if (fabs(value - truth) > 0.02 * truth + SLACK)
            fail_msg("%s: %.2f MB, truth %.2f MB", scenario_truth[kind].name, value / MB, truth / MB);
    }
}

/* Each of five has written to one unit, and they share two of tmpfs. */
TEST(private_and_shared_memory_are_separate)
{
    begin_live();
    struct gt_smaps sums = add_up(COPY_ON_WRITE, MEGABYTES), base = add_up(COPY_ON_WRITE, 0);
    double unit = MEGABYTES * MB;
    assert_close((sums.private_bytes - base.private_bytes) / unit, 5, 0.05);
    assert_close((sums.private_anonymous - base.private_anonymous) / unit, 5, 0.05);
    if (sums.pss_files + sums.pss_shmem > 0)
        assert_close((sums.pss_shmem - base.pss_shmem) / unit, 2, 0.05);
}

TEST(a_process_of_another_start_is_not_read)
{
    struct gt_root root;
    struct gt_smaps sums;
    assert_return_code(gt_root_open(&root, NULL, NULL), 0);
    assert_int_equal(gt_smaps_read(&root, getpid(), 0, &sums), 0);
    assert_int_equal(gt_smaps_read(&root, getpid(), 1, &sums), -ESRCH);
    gt_root_close(&root);
}

/* In a child that gives up root. */
static int as_nobody(void)
{
    struct gt_root root;
    struct gt_smaps sums;
    if (setgid(65534) || setuid(65534) || gt_root_open(&root, NULL, NULL))
        return 1;
    int status = gt_smaps_read(&root, 1, 0, &sums);
    if (status != -EACCES && status != -EPERM)
        return 2;
    prctl(PR_SET_DUMPABLE, 1); /* as after an exec: changing the user made its files root's */
    if (gt_smaps_read(&root, getpid(), 0, &sums) || !(sums.rss > 0))
        return 3;
    gt_root_close(&root);
    return 0;
}

TEST(other_users_are_denied)
{
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

/* ---- methods ---- */

TEST(methods_are_found_by_name)
{
    assert_int_equal(gt_memory_method_find(NULL, NULL), GT_MEMORY_GROUP);
    assert_int_equal(gt_memory_method_find("auto", NULL), GT_MEMORY_GROUP);
    assert_int_equal(gt_memory_method_find("pss", NULL), GT_MEMORY_FAULTS);
    assert_int_equal(gt_memory_method_find("rss", NULL), GT_MEMORY_RSS);
    for (size_t i = 0; gt_memory_method_name(i); i++)
        assert_true(gt_memory_method_find(gt_memory_method_name(i), NULL) >= 0);
    for (int method = GT_MEMORY_GROUP; method <= GT_MEMORY_RSS; method++)
        assert_true(*gt_memory_method_label(method) && *gt_memory_method_source(method));
}

TEST(unknown_methods_are_named)
{
    struct gt_error error = {0}, another = {0};
    assert_int_equal(gt_memory_method_find("uss", &error), -EINVAL);
    assert_non_null(strstr(error.text, "\"uss\" is not a memory method; choose one of auto, pss, rss"));
    assert_null(strstr(error.text, "unique"));
    assert_int_equal(gt_memory_method_find("unique", &another), -EINVAL);
    assert_non_null(strstr(another.text, "\"auto\" replaces \"unique\""));
}

/* ---- stored machines ---- */

struct machine {
    char folder[64];
    struct gt_root root;
};

static int begin(void **state)
{
    static struct machine machine;
    fake_proc_create(machine.folder, &machine.root);
    fake_proc_write(machine.folder, &(struct fake_process){.pid = 10, .parent = 1, .start = 500, .minor_faults = 77});
    *state = &machine;
    return 0;
}

static int finish(void **state)
{
    struct machine *machine = *state;
    fake_proc_destroy(machine->folder, &machine->root);
    return 0;
}

#define TEST_OF_MACHINE(name) TEST_OF(struct machine *machine, name, begin, finish)

static struct gt_smaps read_stored(const struct machine *machine, const char *name, const char *text)
{
    struct gt_smaps ret;
    folder_put(machine->folder, name, text);
    assert_int_equal(gt_smaps_read(&machine->root, 10, 500, &ret), 0);
    return ret;
}

TEST_OF_MACHINE(the_rollup_is_read)
{
    struct gt_smaps sums = read_stored(
        machine, "proc/10/smaps_rollup",
        "00400000-7fff00000000 ---p 00000000 00:00 0 [rollup]\nRss: 1000 kB\nPss: 240 kB\n"
        "Pss_Dirty: 99 kB\nPss_Anon: 160 kB\nPss_File: 70 kB\nPss_Shmem: 10 kB\nAnonymous: 250 kB\n"
        "Shared_Clean: 300 kB\nShared_Dirty: 500 kB\nPrivate_Clean: 50 kB\nPrivate_Dirty: 150 kB\n"
        "Shared_Hugetlb: 2048 kB\nSwap: 7 kB\nSwapPss: 3 kB\n");
    assert_close(sums.rss, 1000 * KIB, 0);
    assert_close(sums.pss, 240 * KIB, 0);
    assert_close(sums.private_bytes, 200 * KIB, 0);
    assert_close(sums.shared_bytes, 800 * KIB, 0);
    assert_close(sums.swap, 7 * KIB, 0);
    assert_close(sums.anonymous, 250 * KIB, 0);
    assert_close(sums.private_anonymous, 150 * KIB, 0); /* clean pages are of files */
    assert_close(sums.file_bytes, 750 * KIB, 0);
    assert_close(sums.pss_files, 70 * KIB, 0);
    assert_close(sums.pss_shmem, 10 * KIB, 0);
    assert_close(sums.faults, 77, 0);
}

TEST_OF_MACHINE(without_a_rollup_mappings_are_added_up)
{
    struct gt_smaps sums = read_stored(
        machine, "proc/10/smaps",
        "00400000-00500000 r--p 00000000 fe:00 1 /bin/b\nRss: 400 kB\nPss: 200 kB\nShared_Clean: 400 kB\n"
        "00600000-00700000 rw-p 00000000 00:00 0\nRss: 100 kB\nPss: 100 kB\nPrivate_Dirty: 100 kB\n"
        "Anonymous: 80 kB\n");
    assert_close(sums.rss, 500 * KIB, 0);
    assert_close(sums.pss, 300 * KIB, 0);
    assert_close(sums.file_bytes, 420 * KIB, 0);
    assert_close(sums.pss_files, 0, 0);
    assert_close(sums.private_anonymous, 80 * KIB, 0);
}

TEST_OF_MACHINE(never_more_is_private_and_anonymous_than_is_anonymous)
{
    struct gt_smaps sums = read_stored(machine, "proc/10/smaps_rollup",
                                       "Rss: 50000 kB\nPss: 30000 kB\nPss_Shmem: 10000 kB\nShared_Dirty: 30000 kB\n"
                                       "Private_Dirty: 20000 kB\nAnonymous: 4000 kB\n");
    assert_close(sums.private_anonymous, 4000 * KIB, 0);
}

/* Of 10 of files 4 are clean. Of 300 of shared memory one process has 200 alone, and three have the rest. */
TEST_OF_MACHINE(private_pages_of_shared_memory_are_not_anonymous)
{
    struct gt_smaps sums = read_stored(
        machine, "proc/10/smaps_rollup",
        "Rss: 810 kB\nPss: 540 kB\nPss_Anon: 300 kB\nPss_File: 6 kB\nPss_Shmem: 234 kB\nShared_Dirty: 306 kB\n"
        "Private_Clean: 4 kB\nPrivate_Dirty: 500 kB\nAnonymous: 500 kB\n");
    assert_close(sums.private_anonymous, 300 * KIB, 0); /* 300 at most, by the PSS */
    sums = read_stored(machine, "proc/10/smaps_rollup",
                       "Rss: 810 kB\nPss: 640 kB\nPss_Anon: 400 kB\nPss_File: 6 kB\nPss_Shmem: 234 kB\n"
                       "Shared_Dirty: 306 kB\nPrivate_Clean: 4 kB\nPrivate_Dirty: 500 kB\nAnonymous: 500 kB\n");
    assert_close(sums.private_anonymous, (500 - 166) * KIB, 0); /* at least 166 are of shared memory */
}

TEST_OF_MACHINE(what_cannot_be_read_has_its_reason)
{
    struct gt_smaps sums;
    assert_int_equal(gt_smaps_read(&machine->root, 10, 500, &sums), -ENOENT); /* the kernel has neither file */
    assert_int_equal(gt_smaps_read(&machine->root, 12, 0, &sums), -ESRCH);
    folder_put(machine->folder, "proc/10/smaps_rollup", "");
    assert_int_equal(gt_smaps_read(&machine->root, 10, 500, &sums), -ESRCH); /* it has no memory */
    folder_put(machine->folder, "proc/10/smaps_rollup", "Rss: 1 kB\n");
    assert_int_equal(gt_smaps_read(&machine->root, 10, 501, &sums), -ESRCH); /* another process */
    assert_int_equal(gt_smaps_read(&machine->root, 10, 500, &sums), 0);
}
