/* What a job was given, and what the kernel did to it: stored machines of both versions of control groups, and of Slurm. */
#include "collect/cgroup/control_group.h"
#include "collect/host/host.h"
#include "record/machine.h"
#include "support/folder.h"
#include "support/test.h"

enum { PID = 71 };

struct machine {
    struct gt_root root;
};

static void put(const struct machine *machine, const char *path, const char *text)
{
    (void)machine;
    folder_put(test_folder, path, text);
}

static void begin(struct machine *machine)
{
    void *made;
    assert_int_equal(folder_make(&made), 0);
    put(machine, "proc/71/status", "Name:\tjob\nCpus_allowed_list:\t0-15\n");
    put(machine, "proc/meminfo", "MemTotal:       65536000 kB\n");
    put(machine, "proc/vmstat", "nr_free_pages 1\noom_kill 2\n");
    assert_int_equal(gt_root_open(&machine->root, test_folder, NULL), 0);
}

static void end(struct machine *machine)
{
    gt_root_close(&machine->root);
    folder_remove(NULL);
}

static void begin_v2(struct machine *machine)
{
    begin(machine);
    put(machine, "proc/71/cgroup", "0::/jobs/one/step\n");
    put(machine, "proc/71/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put(machine, "sys/fs/cgroup/jobs/one/step/memory.max", "max\n");
    put(machine, "sys/fs/cgroup/jobs/one/memory.max", "16000000000\n");
    put(machine, "sys/fs/cgroup/jobs/memory.max", "32000000000\n");
    put(machine, "sys/fs/cgroup/jobs/one/step/cpu.max", "max 100000\n");
    put(machine, "sys/fs/cgroup/jobs/one/cpu.max", "250000 100000\n");
    put(machine, "sys/fs/cgroup/jobs/one/step/memory.events",
        "low 0\nhigh 0\nmax 9\noom 0\noom_kill 3\noom_group_kill 7\n");
    put(machine, "sys/fs/cgroup/jobs/one/memory.events", "max 9\noom_kill 5\n");
    put(machine, "sys/fs/cgroup/jobs/one/step/cpu.stat",
        "usage_usec 5\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
    put(machine, "sys/fs/cgroup/jobs/one/cpu.stat",
        "usage_usec 5\nnr_periods 100\nnr_throttled 40\nthrottled_usec 2500000\n");
}

TEST(test_version_2)
{
    struct machine machine;
    struct gt_limit limit;
    struct gt_control_group groups[GT_CONTROLLERS];
    struct gt_group_events events;
    begin_v2(&machine);
    gt_control_groups_find(&machine.root, PID, groups);
    gt_limit_memory(&limit, &machine.root, groups);
    assert_true(limit.value == 16e9);
    assert_string_equal(limit.source, "memory.max");
    gt_limit_cores(&limit, &machine.root, groups, PID, 16);
    assert_true(limit.value == 2.5);
    assert_string_equal(limit.source, "cpu.max");
    gt_group_events_read(groups, &machine.root, &events);
    assert_true(events.oom_kills == 3 && events.oom_kills_above == 5 + 2);
    assert_true(events.throttled == 2.5 && events.periods == 100 && events.throttled_periods == 40);
    end(&machine);
}

TEST(test_version_1)
{
    struct machine machine;
    struct gt_limit limit;
    struct gt_control_group groups[GT_CONTROLLERS];
    struct gt_group_events events;
    begin(&machine);
    put(&machine, "proc/71/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n0::/\n");
    put(&machine, "proc/71/mountinfo",
        "36 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n37 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    put(&machine, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "300000000\n");
    put(&machine, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(&machine, "sys/fs/cgroup/memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    put(&machine, "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
    put(&machine, "sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    put(&machine, "sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 10\nnr_throttled 5\nthrottled_time 1500000000\n");
    gt_control_groups_find(&machine.root, PID, groups);
    gt_limit_memory(&limit, &machine.root, groups);
    assert_true(limit.value == 3e8);
    assert_string_equal(limit.source, "memory.limit_in_bytes");
    gt_limit_cores(&limit, &machine.root, groups, PID, 16);
    assert_true(isnan(limit.value));
    gt_limit_cores(&limit, &machine.root, groups, PID, 32); /* it may run on 16 of them */
    assert_true(limit.value == 16);
    gt_group_events_read(groups, &machine.root, &events);
    assert_true(events.oom_kills == 1 && events.oom_kills_above == 2 && events.throttled == 1.5);
    end(&machine);
}

/* Without control groups nothing is known, and nothing is zero. */
TEST(test_without)
{
    struct machine machine;
    struct gt_limit limit;
    struct gt_control_group groups[GT_CONTROLLERS];
    struct gt_group_events events;
    begin(&machine);
    gt_control_groups_find(&machine.root, PID, groups);
    gt_limit_memory(&limit, &machine.root, groups);
    assert_true(isnan(limit.value));
    gt_group_events_read(groups, &machine.root, &events);
    assert_true(isnan(events.oom_kills) && isnan(events.oom_kills_above) && isnan(events.throttled));
    end(&machine);
}

static struct gt_machine allocation_of(struct machine *machine, const char *environment, size_t length)
{
    struct gt_machine ret = {.pid = PID, .core_count = 16, .start_real_ns = 1000000000000};
    struct gt_control_group groups[GT_CONTROLLERS];
    FILE *file = fopen(folder_path("proc/71/environ"), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(environment, 1, length, file), length);
    fclose(file);
    gt_control_groups_find(&machine->root, PID, groups);
    struct gt_limit limit;
    ret.ram_capacity = gt_limit_capacity(&limit, &machine->root, groups);
    if (limit.value > 0)
        ret.limit[GT_LIMIT_GROUP_MEMORY] = limit;
    gt_allocation_read(&ret, &machine->root, groups);
    return ret;
}

#define ALLOCATION(machine, environment) allocation_of(machine, environment, sizeof(environment))

TEST(test_slurm)
{
    struct machine machine;
    begin_v2(&machine);
    struct gt_machine job = ALLOCATION(&machine, "A=B\0SLURM_JOB_ID=7\0SLURM_MEM_PER_NODE=4096\0SLURM_CPUS_PER_TASK=8\0"
                                                 "SLURM_CPUS_ON_NODE=16\0SLURM_JOB_GPUS=0,3\0SLURM_JOB_END_TIME=4600");
    assert_string_equal(job.scheduler, "slurm");
    assert_true(job.limit[GT_LIMIT_MEMORY].value == 4294967296.0);
    assert_string_equal(job.limit[GT_LIMIT_MEMORY].source, "SLURM_MEM_PER_NODE");
    assert_true(job.limit[GT_LIMIT_GROUP_MEMORY].value == 16e9);
    assert_true(job.limit[GT_LIMIT_CORES].value == 8);
    assert_true(job.limit[GT_LIMIT_GPUS].value == 2);
    assert_true(job.limit[GT_LIMIT_TIME].value == 3600);
    job = ALLOCATION(
        &machine,
        "SLURM_JOB_ID=7\0SLURM_MEM_PER_CPU=1024\0SLURM_CPUS_ON_NODE=4\0SLURM_NTASKS=4\0SLURM_CPUS_PER_TASK=1");
    assert_true(job.limit[GT_LIMIT_MEMORY].value == 4294967296.0);
    assert_true(job.limit[GT_LIMIT_CORES].value == 4);
    assert_true(job.tasks == 4 && job.asks_by_core);
    end(&machine);
}

/* Of eight tasks on two nodes of eight and four cores each has what its node gives it. */
TEST(test_cores_of_a_task_of_srun)
{
    struct machine machine;
    begin_v2(&machine);
    struct gt_machine job = ALLOCATION(
        &machine,
        "SLURM_JOB_ID=7\0SLURM_STEP_ID=0\0SLURM_NTASKS=8\0SLURM_STEP_TASKS_PER_NODE=4(x2)\0SLURM_CPUS_ON_NODE=4");
    assert_true(job.limit[GT_LIMIT_CORES].value == 1);
    job = ALLOCATION(&machine, "SLURM_JOB_ID=7\0SLURM_STEP_ID=0\0SLURM_NTASKS=9\0SLURM_NODEID=2\0"
                               "SLURM_STEP_TASKS_PER_NODE=4(x2),1\0SLURM_CPUS_ON_NODE=4");
    assert_true(job.limit[GT_LIMIT_CORES].value == 4);
    job = ALLOCATION(&machine, "SLURM_JOB_ID=7\0SLURM_STEP_ID=0\0SLURM_NTASKS=8\0SLURM_CPUS_PER_TASK=2\0"
                               "SLURM_STEP_TASKS_PER_NODE=4(x2)\0SLURM_CPUS_ON_NODE=8");
    assert_true(job.limit[GT_LIMIT_CORES].value == 2);
    end(&machine);
}

/* A batch script holds the tasks of its node, a step one; a job of an array is one. */
TEST(test_tasks_of_slurm)
{
    struct machine machine;
    begin_v2(&machine);
    struct gt_machine job = ALLOCATION(&machine, "SLURM_JOB_ID=7\0SLURM_NTASKS=9\0SLURM_TASKS_PER_NODE=4(x2),1");
    assert_true(job.tasks == 4 && job.asks_by_core);
    job = ALLOCATION(&machine, "SLURM_JOB_ID=7\0SLURM_STEP_ID=0\0SLURM_NTASKS=9\0SLURM_TASKS_PER_NODE=4(x2),1");
    assert_true(job.tasks == 1 && job.asks_by_core);
    job = ALLOCATION(&machine, "SLURM_JOB_ID=7\0SLURM_ARRAY_JOB_ID=5\0SLURM_MEM_PER_NODE=4096");
    assert_true(job.tasks == 1 && job.asks_by_core);
    job = ALLOCATION(&machine, "SLURM_JOB_ID=7\0SLURM_MEM_PER_NODE=4096\0SLURM_NTASKS=1");
    assert_true(job.tasks == 1 && !job.asks_by_core);
    job = ALLOCATION(&machine, "PBS_JOBID=7.server\0SLURM_NTASKS=9");
    assert_true(job.tasks == 0 && !job.asks_by_core);
    end(&machine);
}

TEST(test_other_schedulers)
{
    struct machine machine;
    begin_v2(&machine);
    struct gt_machine job = ALLOCATION(&machine, "PBS_JOBID=7.server\0NCPUS=12\0PBS_WALLTIME=600");
    assert_string_equal(job.scheduler, "pbs");
    assert_true(job.limit[GT_LIMIT_CORES].value == 12 && job.limit[GT_LIMIT_TIME].value == 600);
    assert_true(job.limit[GT_LIMIT_MEMORY].value == 16e9);
    job = ALLOCATION(&machine, "LSB_JOBID=7\0LSB_DJOB_NUMPROC=6");
    assert_string_equal(job.scheduler, "lsf");
    assert_true(job.limit[GT_LIMIT_CORES].value == 6);
    job = ALLOCATION(&machine, "KUBERNETES_SERVICE_HOST=10.0.0.1");
    assert_string_equal(job.scheduler, "k8s");
    assert_true(job.limit[GT_LIMIT_CORES].value == 2.5);
    job = ALLOCATION(&machine, "CUDA_VISIBLE_DEVICES=0,1\0NCPUS=3"); /* nobody was asked for anything */
    assert_string_equal(job.scheduler, "");
    assert_true(job.limit[GT_LIMIT_GPUS].value == 0 && job.limit[GT_LIMIT_CORES].value == 2.5);
    end(&machine);
}
