/* Control groups that a job makes for its own processes: stored machines of both versions, in which the kernel kills. */
#include "record/kernel_watch.h"
#include "support/fake_proc.h"
#include "support/folder.h"
#include "support/test.h"

enum { MAIN = 100, CHILD = 101, OTHER = 102 };

struct machine {
    char folder[64];
    struct gt_root root;
    struct gt_tree tree;
    struct gt_kernel_watch watch;
    struct gt_kernel_events events;
};

static void put(const struct machine *machine, const char *path, const char *text)
{
    folder_put(machine->folder, path, text);
}

static void put_process(const struct machine *machine, pid_t pid, pid_t parent, const char *name)
{
    char path[64];
    fake_proc_write(machine->folder,
                    &(struct fake_process){.pid = pid, .parent = parent, .session = MAIN, .start = (unsigned)pid});
    snprintf(path, sizeof path, "proc/%d/comm", (int)pid);
    put(machine, path, name);
}

static void put_group(const struct machine *machine, pid_t pid, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%d/cgroup", (int)pid);
    put(machine, path, text);
}

static void put_mounts(const struct machine *machine, const char *text)
{
    for (pid_t pid = MAIN; pid <= OTHER; pid++) {
        char path[64];
        snprintf(path, sizeof path, "proc/%d/mountinfo", (int)pid);
        put(machine, path, text);
    }
}

static void remove_group(const struct machine *machine, const char *path)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%s", machine->folder, path);
    assert_int_equal(unlink(name), 0);
}

static void begin(struct machine *machine)
{
    *machine = (struct machine){0};
    fake_proc_create(machine->folder, &machine->root);
    put_process(machine, MAIN, 1, "main\n");
    put_process(machine, CHILD, MAIN, "child\n");
    put_process(machine, OTHER, MAIN, "other\n");
    put(machine, "proc/vmstat", "oom_kill 2\n");
}

static void watch(struct machine *machine)
{
    struct gt_error error;
    assert_int_equal(gt_tree_open(&machine->tree, &machine->root, MAIN, false, &error), 0);
    assert_int_equal(gt_tree_add(&machine->tree, CHILD), 1);
    assert_int_equal(gt_tree_add(&machine->tree, OTHER), 1);
    machine->watch.lines_hash = gt_control_groups_find(&machine->root, MAIN, machine->watch.groups);
    gt_kernel_watch_begin(&machine->watch, &machine->root);
}

static void look(struct machine *machine, double main_ram, double child_ram, double other_ram)
{
    gt_tree_find(&machine->tree, MAIN)->value[GT_RSS] = main_ram;
    if (gt_tree_find(&machine->tree, CHILD))
        gt_tree_find(&machine->tree, CHILD)->value[GT_RSS] = child_ram;
    gt_tree_find(&machine->tree, OTHER)->value[GT_RSS] = other_ram;
    gt_kernel_watch_look(&machine->watch, &machine->tree);
}

static void end_child(struct machine *machine)
{
    gt_tree_find(&machine->tree, CHILD)->is_gone = true;
    gt_tree_drop_gone(&machine->tree);
}

static const struct gt_kernel_events *told(struct machine *machine)
{
    gt_kernel_watch_read(&machine->watch, &machine->tree, &machine->events);
    return &machine->events;
}

static void end(struct machine *machine)
{
    gt_kernel_watch_release(&machine->watch);
    gt_tree_close(&machine->tree);
    fake_proc_destroy(machine->folder, &machine->root);
}

#define JOB "sys/fs/cgroup/memory/job/"

static void begin_v1(struct machine *machine)
{
    begin(machine);
    put_mounts(machine, "36 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    for (pid_t pid = MAIN; pid <= OTHER; pid++)
        put_group(machine, pid, "4:memory:/job\n0::/\n");
    put(machine, JOB "memory.limit_in_bytes", "9000000000\n");
    put(machine, JOB "memory.oom_control", "under_oom 0\noom_kill 0\n");
    put(machine, JOB "small/memory.limit_in_bytes", "300000000\n");
    put(machine, JOB "small/memory.oom_control", "under_oom 0\noom_kill 4\n");
    watch(machine);
}

/* It is met in the job's own group, and moves before it grows. */
TEST(test_version_1)
{
    struct machine machine;
    begin_v1(&machine);
    look(&machine, 2e9, 3e6, 5e6);
    put_group(&machine, CHILD, "4:memory:/job/small\n0::/\n");
    look(&machine, 2e9, 40e6, 5e6);
    look(&machine, 2e9, 250e6, 5e6);
    assert_true(isnan(told(&machine)->limit_met) && machine.events.oom_kills == 0);
    assert_int_equal(machine.events.largest_pid, MAIN);
    put(&machine, JOB "small/memory.oom_control", "under_oom 0\noom_kill 5\n");
    end_child(&machine);
    look(&machine, 2e9, 0, 5e6);
    told(&machine);
    assert_true(machine.events.oom_kills == 1 && machine.events.limit_met == 3e8);
    assert_true(machine.events.largest_pid == CHILD && machine.events.largest_is_gone &&
                machine.events.largest_ram == 250e6);
    assert_string_equal(machine.events.largest_name, "child");
    end(&machine);
}

/* A script takes the group away at once. What is left is the kernel's count for the machine. */
TEST(test_taken_away)
{
    struct machine machine;
    for (int kills = 2; kills < 4; kills++) {
        begin_v1(&machine);
        put_group(&machine, CHILD, "4:memory:/job/small\n0::/\n");
        look(&machine, 2e9, 250e6, 5e6);
        put(&machine, "proc/vmstat", kills == 2 ? "oom_kill 2\n" : "oom_kill 3\n");
        remove_group(&machine, JOB "small/memory.oom_control");
        end_child(&machine);
        look(&machine, 2e9, 0, 5e6);
        told(&machine);
        assert_true(machine.events.oom_kills == 0);
        if (kills == 2)
            assert_true(isnan(machine.events.limit_met) && machine.events.largest_pid == MAIN);
        else
            assert_true(machine.events.limit_met == 3e8 && machine.events.largest_pid == CHILD);
        end(&machine);
    }
}

static void begin_v2(struct machine *machine, const char *child)
{
    begin(machine);
    put_mounts(machine, "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put_group(machine, MAIN, "0::/user/job\n");
    put_group(machine, OTHER, "0::/user/job\n");
    put_group(machine, CHILD, child);
    put(machine, "sys/fs/cgroup/user/job/memory.max", "9000000000\n");
    put(machine, "sys/fs/cgroup/user/job/memory.events", "max 0\noom_kill 0\n");
    put(machine, "sys/fs/cgroup/user/memory.max", "100000000\n"); /* of both */
    put(machine, "sys/fs/cgroup/user/memory.events", "max 0\noom_kill 0\n");
    watch(machine);
}

/* Below the job's own group, which counts the kill, too. */
TEST(test_version_2_below)
{
    struct machine machine;
    begin_v2(&machine, "0::/user/job/outer/inner\n");
    put(&machine, "sys/fs/cgroup/user/job/outer/memory.max", "300000000\n");
    put(&machine, "sys/fs/cgroup/user/job/outer/inner/memory.max", "max\n");
    put(&machine, "sys/fs/cgroup/user/job/outer/inner/memory.events", "max 0\noom_kill 0\n");
    look(&machine, 2e9, 250e6, 5e6);
    put(&machine, "sys/fs/cgroup/user/job/outer/inner/memory.events", "max 9\noom_kill 1\n");
    put(&machine, "sys/fs/cgroup/user/job/memory.events", "max 9\noom_kill 1\n");
    end_child(&machine);
    look(&machine, 2e9, 0, 5e6);
    told(&machine);
    assert_true(machine.events.oom_kills == 1 && machine.events.limit_met == 3e8);
    assert_int_equal(machine.events.largest_pid, CHILD);
    end(&machine);
}

/* Beside it, as systemd-run makes scopes. */
TEST(test_version_2_beside)
{
    struct machine machine;
    begin_v2(&machine, "0::/user/scope\n");
    put(&machine, "sys/fs/cgroup/user/scope/memory.max", "300000000\n");
    put(&machine, "sys/fs/cgroup/user/scope/memory.events", "max 0\noom_kill 0\n");
    look(&machine, 2e9, 250e6, 5e6);
    put(&machine, "sys/fs/cgroup/user/scope/memory.events", "max 9\noom_kill 2\n");
    told(&machine);
    assert_true(machine.events.oom_kills == 2 && machine.events.limit_met == 3e8);
    assert_true(machine.events.largest_pid == CHILD && !machine.events.largest_is_gone);
    end(&machine);
}

/* A process of the group that ended by itself hides none that is killed later and had less. */
TEST(test_the_one_that_was_killed)
{
    struct machine machine;
    begin_v1(&machine);
    put_group(&machine, CHILD, "4:memory:/job/small\n0::/\n");
    put_group(&machine, OTHER, "4:memory:/job/small\n0::/\n");
    look(&machine, 2e9, 250e6, 5e6);
    end_child(&machine);
    look(&machine, 2e9, 0, 100e6);
    put(&machine, JOB "small/memory.oom_control", "under_oom 0\noom_kill 5\n");
    gt_tree_find(&machine.tree, OTHER)->is_zombie = true;
    look(&machine, 2e9, 0, 0);
    told(&machine);
    assert_true(machine.events.largest_pid == OTHER && machine.events.largest_ram == 100e6);
    end(&machine);
}

/* The main process goes into a group of its own just after it was met, or whenever it likes. */
TEST(test_the_main_process_moves)
{
    struct machine machine;
    begin_v1(&machine);
    put_group(&machine, MAIN, "4:memory:/job/own\n0::/\n"); /* since its groups were found */
    put(&machine, JOB "own/memory.limit_in_bytes", "9223372036854771712\n");
    put(&machine, JOB "own/memory.oom_control", "oom_kill 0\n");
    look(&machine, 2e9, 3e6, 5e6);
    put(&machine, JOB "own/memory.oom_control", "oom_kill 1\n");
    gt_tree_find(&machine.tree, MAIN)->is_zombie = true;
    look(&machine, 0, 3e6, 5e6);
    told(&machine);
    assert_true(machine.events.oom_kills == 1 && isnan(machine.events.limit_met));
    assert_true(machine.events.largest_pid == MAIN && machine.events.largest_is_gone);
    end(&machine);
}

/* As many processes in as many groups cost a bounded number of them. */
TEST(test_more_groups_than_are_watched)
{
    struct machine machine;
    begin_v1(&machine);
    for (int i = 0; i < 3 * GT_MADE_GROUPS; i++) {
        char text[64], path[96];
        snprintf(text, sizeof text, "4:memory:/job/%d\n", i);
        snprintf(path, sizeof path, JOB "%d/memory.oom_control", i);
        put(&machine, path, "oom_kill 0\n");
        put_group(&machine, CHILD, text);
        gt_tree_find(&machine.tree, CHILD)->made.was_asked = false;
        look(&machine, 2e9, 5e6, 5e6);
    }
    assert_int_equal(machine.watch.made.count, GT_MADE_GROUPS);
    assert_int_equal(machine.watch.made.memberships, GT_MADE_MEMBERSHIPS);
    assert_true(told(&machine)->oom_kills == 0);
    end(&machine);
}
