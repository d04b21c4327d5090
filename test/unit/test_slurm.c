/* The tasks of srun: found by the control groups of the job and the mark in their environment, and no others. */
#include <sys/stat.h>

#include "collect/cgroup/slurm.h"
#include "sample/job_finder.h"
#include "support/fake_proc.h"
#include "support/test.h"

#define VERSION_1 "sys/fs/cgroup/freezer/slurm_node/uid_1000/job_7"
#define VERSION_2 "sys/fs/cgroup/system.slice/node_slurmstepd.scope/job_7"

struct machine {
    char folder[64];
    struct gt_root root;
};

static void write_file(const char *folder, const char *path, const char *text, size_t length)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", folder, path);
    for (char *slash = whole + strlen(folder); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(whole, 0755);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fwrite(text, 1, length, file);
    fclose(file);
}

static void list(const struct machine *machine, const char *group, const char *pids)
{
    char path[256];
    snprintf(path, sizeof path, "%s/cgroup.procs", group);
    write_file(machine->folder, path, pids, strlen(pids));
}

static void process(const struct machine *machine, pid_t pid, pid_t parent, const char *marks)
{
    char path[64], text[256] = "HOME=/root";
    fake_proc_write(machine->folder,
                    &(struct fake_process){.pid = pid, .parent = parent, .start = 5, .resident_pages = 10});
    snprintf(path, sizeof path, "proc/%d/environ", (int)pid);
    size_t length = strlen(text) + 1;
    if (marks)
        length += (size_t)snprintf(text + length, sizeof text - length, "GPU_TRACKER_RUN=%s", marks) + 1;
    write_file(machine->folder, path, text, length);
}

static void begin(struct machine *machine)
{
    fake_proc_create(machine->folder, &machine->root);
    process(machine, 100, 1, NULL);                /* the batch script */
    process(machine, 200, 1, NULL);                /* slurmstepd */
    process(machine, 201, 200, "m.1");             /* our task */
    process(machine, 202, 201, "m.1");             /* and its child */
    process(machine, 203, 200, "m.2");             /* another's */
    process(machine, 204, 200, NULL);              /* started without a tracker */
    process(machine, 205, 200, "m.0 m.1 m.3");     /* of a tracker inside ours */
    process(machine, 207, 200, "m.11 xm.1 m.1.2"); /* of others, whose marks only contain ours */
}

static void end(struct machine *machine)
{
    fake_proc_destroy(machine->folder, &machine->root);
}

static bool knows(void *context, pid_t pid)
{
    (void)context;
    return pid == 202;
}

static int take(void *context, pid_t pid)
{
    *(int *)context += pid;
    return 1;
}

static void expect_tasks(const struct machine *machine, const char *mark, int count, int sum)
{
    struct gt_slurm *slurm;
    int seen = 0;
    const struct gt_slurm_taker taker = {knows, take, &seen};
    assert_int_equal(gt_slurm_open(&slurm, &machine->root, "7", 1000, mark, NULL), 0);
    assert_int_equal(gt_slurm_tasks(slurm, 1, &taker), count);
    assert_int_equal(seen, sum);
    assert_int_equal(gt_slurm_tasks(slurm, 2, &taker), 0); /* not so soon again */
    assert_int_equal(gt_slurm_tasks(slurm, 1000000000, &taker), count);
    gt_slurm_close(slurm);
}

TEST(test_version_1)
{
    struct machine machine;
    begin(&machine);
    list(&machine, VERSION_1, "100\n");
    list(&machine, VERSION_1 "/step_batch", "100\n");
    list(&machine, VERSION_1 "/step_0", "200\n201\n202\n");
    list(&machine, VERSION_1 "/step_1", "203\n204\n205\n206\n207\n");
    expect_tasks(&machine, "m.1", 2, 201 + 205);
    expect_tasks(&machine, "m.2", 1, 203);
    expect_tasks(&machine, "m.9", 0, 0);
    end(&machine);
}

TEST(test_version_2)
{
    struct machine machine;
    begin(&machine);
    list(&machine, VERSION_2 "/step_0/slurm", "200\n");
    list(&machine, VERSION_2 "/step_0/user/task_0", "201\n202\n");
    list(&machine, VERSION_2 "/step_0/user/task_1", "203\n");
    expect_tasks(&machine, "m.1", 1, 201);
    end(&machine);
}

/* Slurm 26.05 names the groups of a job otherwise. */
TEST(test_own_group)
{
    struct machine machine;
    static const char own[] =
        "1:name=systemd:/x\n0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_batch/user/task_0\n";
    begin(&machine);
    write_file(machine.folder, "proc/self/cgroup", own, strlen(own));
    list(&machine, "sys/fs/cgroup/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0", "201\n202\n");
    list(&machine, "sys/fs/cgroup/system.slice/slurmstepd.scope/sOTHER/step_0/user/task_0", "205\n");
    expect_tasks(&machine, "m.1", 1, 201);
    end(&machine);
}

TEST(test_no_groups)
{
    struct machine machine;
    struct gt_slurm *slurm;
    struct gt_error error = {0};
    begin(&machine);
    list(&machine, "sys/fs/cgroup/freezer/slurm_node/uid_1000/job_70", "100\n");
    assert_int_equal(gt_slurm_open(&slurm, &machine.root, "7", 1000, "m.1", &error), -ENOENT);
    assert_string_equal(error.text, "Slurm keeps no control groups of job 7 on this machine");
    assert_int_equal(gt_slurm_open(&slurm, &machine.root, "../7", 1000, "m.1", &error), -ENOENT);
    end(&machine);
}

/* Tasks that begin later, and their children, are members from the next look on. */
TEST(test_tasks_become_members)
{
    struct machine machine;
    struct gt_job_finder finder;
    struct gt_tree tree;
    struct gt_account account;
    begin(&machine);
    list(&machine, VERSION_1 "/step_batch", "100\n");
    gt_account_init(&account, 0);
    assert_int_equal(gt_job_finder_open(&finder, &machine.root, NULL), 0);
    assert_int_equal(gt_slurm_open(&finder.slurm, &machine.root, "7", 1000, "m.1", NULL), 0);
    assert_int_equal(gt_tree_open(&tree, &machine.root, 100, false, NULL), 0);
    assert_int_equal(gt_job_finder_look(&finder, &tree, &account, 1, NULL), 0);
    assert_int_equal(tree.count, 1);
    list(&machine, VERSION_1 "/step_0", "200\n201\n");
    assert_int_equal(gt_job_finder_look(&finder, &tree, &account, 2000000000, NULL), 0);
    assert_int_equal(tree.count, 3);
    assert_non_null(gt_tree_find(&tree, 201));
    assert_non_null(gt_tree_find(&tree, 202));
    gt_tree_close(&tree);
    gt_job_finder_close(&finder);
    end(&machine);
}
