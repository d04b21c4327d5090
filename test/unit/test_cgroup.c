/* Control groups, found in stored machines of every kind. */
#include <sys/stat.h>

#include "base/os/clock.h"
#include "collect/cgroup/cgroup.h"
#include "collect/cgroup/control_group.h"
#include "support/test.h"

extern const struct gt_collector_type gt_collector_cgroup;

struct stored {
    char path[64];
    struct gt_root root;
};

static int open_stored(void **state)
{
    struct stored *stored = calloc(1, sizeof *stored);
    *state = stored;
    strcpy(stored->path, "/tmp/cgroup-XXXXXX");
    return !mkdtemp(stored->path) || gt_root_open(&stored->root, stored->path, NULL);
}

static int close_stored(void **state)
{
    struct stored *stored = *state;
    char command[128];
    gt_root_close(&stored->root);
    snprintf(command, sizeof command, "rm -r %s", stored->path);
    free(stored);
    return system(command);
}

#define TEST_OF_STORED(name) TEST_OF(struct stored *stored, name, open_stored, close_stored)

static void store(const struct stored *stored, const char *name, const char *text)
{
    char path[512], command[600];
    snprintf(path, sizeof path, "%s/%s", stored->path, name);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", path);
    assert_int_equal(system(command), 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct gt_cgroup_place locate(const struct stored *stored, const char *groups, const char *mounts)
{
    struct gt_cgroup_place place;
    store(stored, "proc/7/cgroup", groups);
    store(stored, "proc/self/mountinfo", mounts);
    assert_int_equal(gt_cgroup_locate(&place, &stored->root, 7, NULL), 0);
    return place;
}

TEST_WITH(version_2_is_found, open_stored, close_stored)
{
    struct gt_cgroup_place place = locate(
        *state, "0::/user.slice/user-1000.slice/session-3.scope\n",
        "22 26 0:21 / /proc rw,nosuid - proc proc rw\n"
        "29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    assert_string_equal(place.path[GT_CGROUP_UNIFIED], "sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope");
    assert_string_equal(place.path[GT_CGROUP_MEMORY], "");
    assert_string_equal(place.path[GT_CGROUP_CPUACCT], "");
}

TEST_WITH(version_1_is_found_with_controllers_mounted_together, open_stored, close_stored)
{
    struct gt_cgroup_place place = locate(
        *state,
        "9:cpu,cpuacct:/slice\n"
        "8:memory:/slice/job\n"
        "1:name=systemd:/elsewhere\n",
        "33 25 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "34 25 0:29 / /cg/cpu,cpuacct rw shared:9 master:3 - cgroup none rw,cpu,cpuacct\n");
    assert_string_equal(place.path[GT_CGROUP_UNIFIED], "");
    assert_string_equal(place.path[GT_CGROUP_MEMORY], "sys/fs/cgroup/memory/slice/job");
    assert_string_equal(place.path[GT_CGROUP_CPUACCT], "cg/cpu,cpuacct/slice");
    assert_string_equal(place.path[GT_CGROUP_CPU], "cg/cpu,cpuacct/slice");
    assert_true(place.schedules[GT_CGROUP_CPUACCT]);
    assert_false(place.schedules[GT_CGROUP_MEMORY]);
}

TEST_WITH(a_hybrid_has_both, open_stored, close_stored)
{
    struct gt_cgroup_place place = locate(*state, "4:memory:/a\n2:cpuacct:/\n0::/b\n",
                                          "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                          "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
                                          "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    assert_string_equal(place.path[GT_CGROUP_UNIFIED], "sys/fs/cgroup/unified/b");
    assert_string_equal(place.path[GT_CGROUP_MEMORY], "sys/fs/cgroup/memory/a");
    assert_string_equal(place.path[GT_CGROUP_CPUACCT], "sys/fs/cgroup/cpuacct");
    assert_false(place.schedules[GT_CGROUP_CPUACCT]);
}

/* A container without a namespace of control groups sees long names, and of the hierarchies only its own part. */
TEST_WITH(a_container_sees_its_part, open_stored, close_stored)
{
    struct gt_cgroup_place place = locate(
        *state, "4:memory:/docker/0af3/job\n3:cpuacct:/docker/0af31\n",
        "35 31 0:32 /docker/0af3 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        "36 31 0:33 /docker/0af3 /sys/fs/cgroup/cpuacct ro - cgroup cgroup rw,cpuacct\n");
    assert_string_equal(place.path[GT_CGROUP_MEMORY], "sys/fs/cgroup/memory/job");
    assert_string_equal(place.path[GT_CGROUP_CPUACCT], "");
}

TEST_WITH(a_container_with_a_namespace_sees_a_top, open_stored, close_stored)
{
    struct gt_cgroup_place place = locate(*state, "0::/\n", "35 31 0:32 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    assert_string_equal(place.path[GT_CGROUP_UNIFIED], "sys/fs/cgroup");
}

TEST_OF_STORED(what_cannot_be_reached_has_no_path)
{
    struct gt_cgroup_place place;
    struct gt_error error = {0};
    store(stored, "proc/self/mountinfo", "35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup rw,memory_recursiveprot\n");
    store(stored, "proc/7/cgroup", "0::/../sibling\n");
    assert_int_equal(gt_cgroup_locate(&place, &stored->root, 7, &error), -ENOENT);
    assert_string_equal(error.text, "process 7 has no control group in reach");
    store(stored, "proc/7/cgroup", "0::/removed (deleted)\n4:memory:/a\n");
    assert_int_equal(gt_cgroup_locate(&place, &stored->root, 7, NULL), -ENOENT);
    assert_int_equal(gt_cgroup_locate(&place, &stored->root, 8, NULL), -ENOENT);
}

TEST_WITH(odd_lines_are_passed_over, open_stored, close_stored)
{
    struct gt_cgroup_place place = locate(*state, "nonsense\n:\n0:\n0::relative\n0::/a b\n",
                                          "\n1 2 3\n1 2 0:1 / /x rw\n1 2 0:1 / /x rw - cgroup2\n"
                                          "35 31 0:32 / /mnt/with\\040space\\134 rw - cgroup2 cgroup rw\n");
    assert_string_equal(place.path[GT_CGROUP_UNIFIED], "mnt/with space\\/a b");
}

TEST_OF_STORED(version_2_figures_are_read)
{
    struct gt_cgroup_place place = {.path[GT_CGROUP_UNIFIED] = "cg/job"};
    struct gt_cgroup *cgroup;
    double figure[GT_CGROUP_FIGURES];
    store(stored, "cg/job/memory.current", "1048576\n");
    store(stored, "cg/job/memory.peak", "2097152\n");
    store(stored, "cg/job/cpu.stat", "usage_usecs 9\nuser_usec 1\nusage_usec 1500000\nsystem_usec 2\n");
    assert_int_equal(gt_cgroup_open(&cgroup, &stored->root, &place, NULL), 0);
    gt_cgroup_read(cgroup, figure);
    assert_true(figure[GT_CGROUP_FIGURE_MEMORY] == 1048576);
    assert_true(figure[GT_CGROUP_FIGURE_MEMORY_PEAK] == 2097152);
    assert_true(figure[GT_CGROUP_FIGURE_CPU] == 1.5);
    store(stored, "cg/job/memory.current", "4096\n");
    store(stored, "cg/job/cpu.stat", "user_usec 1\n");
    gt_cgroup_read(cgroup, figure);
    assert_true(figure[GT_CGROUP_FIGURE_MEMORY] == 4096);
    assert_true(isnan(figure[GT_CGROUP_FIGURE_CPU]));
    gt_cgroup_close(cgroup);
}

TEST_OF_STORED(version_1_figures_are_read)
{
    struct gt_cgroup_place place = {.path = {[GT_CGROUP_MEMORY] = "m", [GT_CGROUP_CPUACCT] = "c"}};
    struct gt_cgroup *cgroup;
    double figure[GT_CGROUP_FIGURES];
    store(stored, "m/memory.usage_in_bytes", "8192\n");
    store(stored, "m/memory.max_usage_in_bytes", "16384\n");
    store(stored, "c/cpuacct.usage", "2500000000\n");
    assert_int_equal(gt_cgroup_open(&cgroup, &stored->root, &place, NULL), 0);
    gt_cgroup_read(cgroup, figure);
    assert_true(figure[GT_CGROUP_FIGURE_MEMORY] == 8192 && figure[GT_CGROUP_FIGURE_MEMORY_PEAK] == 16384);
    assert_true(figure[GT_CGROUP_FIGURE_CPU] == 2.5);
    assert_int_equal(gt_cgroup_remove(cgroup, NULL), 0); /* not ours: stays */
    gt_cgroup_read(cgroup, figure);
    assert_true(figure[GT_CGROUP_FIGURE_MEMORY] == 8192);
    gt_cgroup_close(cgroup);
}

TEST_OF_STORED(the_collector_fills_the_job_from_its_own_group_only)
{
    struct gt_cgroup_place place = {.path[GT_CGROUP_UNIFIED] = "cg"};
    struct gt_cgroup *cgroup;
    struct gt_collect_options options = {.root = &stored->root};
    struct gt_availability availability;
    struct gt_snapshot snapshot = {0};
    void *collector;
    gt_values_clear(snapshot.job);
    assert_int_equal(gt_collector_open(&gt_collector_cgroup, &collector, &options, &snapshot, &availability, NULL), 0);
    assert_int_equal(availability.state, GT_ABSENT);
    assert_null(collector);
    store(stored, "cg/cpu.stat", "usage_usec 1\n");
    assert_int_equal(gt_cgroup_open(&cgroup, &stored->root, &place, NULL), 0);
    options.cgroup = cgroup;
    assert_int_equal(gt_collector_open(&gt_collector_cgroup, &collector, &options, &snapshot, &availability, NULL), 0);
    assert_int_equal(availability.state, GT_ABSENT);
    assert_string_equal(availability.remedy, gt_remedy_delegate);
    gt_cgroup_close(cgroup);
    store(stored, "cg/memory.current", "12288\n");
    assert_int_equal(gt_cgroup_open(&cgroup, &stored->root, &place, NULL), 0);
    options.cgroup = cgroup;
    assert_int_equal(gt_collector_open(&gt_collector_cgroup, &collector, &options, &snapshot, &availability, NULL), 0);
    assert_int_equal(availability.state, GT_READY);
    assert_string_equal(availability.source, "control group of the job: memory.current");
    assert_int_equal(gt_collector_cgroup.collect(collector, &snapshot, NULL), 0);
    assert_true(snapshot.job[GT_CGROUP_RAM] == 12288);
    assert_true(isnan(snapshot.job[GT_CGROUP_RAM_PEAK]));
    gt_collector_close(&gt_collector_cgroup, collector);
    gt_cgroup_close(cgroup);
}

TEST_OF_STORED(a_stored_machine_takes_none)
{
    struct gt_cgroup *cgroup;
    struct gt_availability availability;
    assert_int_equal(gt_cgroup_create(&cgroup, &stored->root, "job", &availability, NULL), 0);
    assert_null(cgroup);
    assert_int_equal(availability.state, GT_ABSENT);
    gt_cgroup_close(NULL);
}

static void assert_reading(struct gt_group_memory *memory, struct gt_group_reading expected)
{
    struct gt_group_reading ret = gt_group_memory_read(memory);
    assert_close(ret.anonymous, expected.anonymous, 0);
    assert_close(ret.mapped, expected.mapped, 0);
    assert_close(ret.shmem, expected.shmem, 0);
    assert_close(ret.usage, expected.usage, 0);
    assert_close(ret.peak, expected.peak, 0);
}

static const struct gt_group_reading unknown_memory = {NAN, NAN, NAN, NAN, NAN};

TEST_OF_STORED(memory_of_a_group_of_version_2)
{
    struct gt_group_memory memory;
    store(stored, "proc/7/cgroup", "0::/pod\n");
    store(stored, "proc/7/mountinfo", "35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    store(stored, "sys/fs/cgroup/pod/memory.stat",
          "anon 1000000000\nfile 5\nkernel 3\nshmem 300\nfile_mapped 400\nanon_thp 7\n");
    store(stored, "sys/fs/cgroup/pod/memory.current", "1000000500\n");
    store(stored, "sys/fs/cgroup/pod/memory.peak", "1000000900\n");
    gt_group_memory_open(&memory, &stored->root, 7, "");
    assert_true(memory.is_open);
    assert_false(memory.is_own);
    assert_reading(&memory, (struct gt_group_reading){1e9, 400, 300, NAN, NAN});
    store(stored, "sys/fs/cgroup/pod/memory.stat", "anon 2000\nfile_mapped 500\nshmem 600\n");
    store(stored, "sys/fs/cgroup/pod/memory.current", "2500\n");
    assert_reading(&memory, (struct gt_group_reading){2000, 500, 600, NAN, NAN});
    gt_group_memory_close(&memory);
    gt_group_memory_open(&memory, &stored->root, 7, "sys/fs/cgroup/other");
    assert_false(memory.is_own);
    gt_group_memory_close(&memory);
    gt_group_memory_open(&memory, &stored->root, 7, "sys/fs/cgroup/pod");
    assert_true(memory.is_own);
    assert_reading(&memory, (struct gt_group_reading){2000, 500, 600, 2500, 1e9 + 900});
    gt_group_memory_close(&memory);
}

/* The sums without "total_" are of the group alone, without those below it. */
TEST_OF_STORED(memory_of_a_group_of_version_1)
{
    struct gt_group_memory memory;
    store(stored, "proc/7/cgroup", "4:memory:/job\n0::/\n");
    store(stored, "proc/7/mountinfo",
          "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
          "35 31 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup rw\n");
    store(stored, "sys/fs/cgroup/memory/job/memory.stat",
          "cache 9\nrss 1\nrss_huge 2\nshmem 3\nmapped_file 4\nhierarchical_memory_limit 5\ntotal_cache 6\n"
          "total_rss 500000000\ntotal_rss_huge 7\ntotal_shmem 8\ntotal_mapped_file 10\n");
    store(stored, "sys/fs/cgroup/memory/job/memory.usage_in_bytes", "600000000\n");
    store(stored, "sys/fs/cgroup/memory/job/memory.max_usage_in_bytes", "700000000\n");
    gt_group_memory_open(&memory, &stored->root, 7, "sys/fs/cgroup/memory/job");
    assert_true(memory.is_own);
    assert_reading(&memory, (struct gt_group_reading){5e8, 10, 8, 6e8, 7e8});
    gt_group_memory_close(&memory);
}

TEST_OF_STORED(memory_that_a_group_does_not_show_is_missing)
{
    struct gt_group_memory memory = {0};
    assert_reading(&memory, unknown_memory);             /* it was not opened */
    gt_group_memory_open(&memory, &stored->root, 7, ""); /* there is no such process */
    assert_true(memory.is_open);
    assert_reading(&memory, unknown_memory);
    gt_group_memory_close(&memory);
    store(stored, "proc/7/cgroup", "0::/pod\n");
    store(stored, "proc/7/mountinfo", "35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    store(stored, "sys/fs/cgroup/pod/memory.current", "600\n"); /* without memory.stat nothing is known */
    gt_group_memory_open(&memory, &stored->root, 7, "sys/fs/cgroup/pod");
    assert_reading(&memory, (struct gt_group_reading){NAN, NAN, NAN, 600, NAN});
    gt_group_memory_close(&memory);
    store(stored, "sys/fs/cgroup/pod/memory.stat", "anon 500\nfile 5\n"); /* memory.peak came with Linux 5.19 */
    gt_group_memory_open(&memory, &stored->root, 7, "sys/fs/cgroup/pod");
    assert_reading(&memory, (struct gt_group_reading){500, NAN, NAN, 600, NAN});
    gt_group_memory_close(&memory);
}
