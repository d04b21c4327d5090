/* All processes in a bounded number of groups: counters that never fall, what ended and what nobody saw included. */
#include <sys/stat.h>

#include "aggregate/combine.h"
#include "aggregate/job_groups.h"
#include "support/fake_proc.h"
#include "support/test.h"

static const unsigned long long OLD = 100, NEW = 1ull << 50; /* ticks: before and after counting began */

struct machine {
    char folder[64];
    struct gt_root root;
    struct gt_sampler sampler;
    struct gt_combiner combiner;
    struct gt_all_processes processes;
    struct gt_job_groups groups;
    struct gt_clock clock;
    int64_t now;
};

static int64_t clock_now(void *context)
{
    return ((struct machine *)context)->now;
}

static void put(const struct machine *machine, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", machine->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void folders(const struct machine *machine, const char *path)
{
    char text[512];
    int length = snprintf(text, sizeof text, "%s/", machine->folder);
    for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/') {
        length += snprintf(text + length, sizeof text - (size_t)length, "%.*s/", (int)strcspn(at, "/"), at);
        mkdir(text, 0755);
    }
}

/* A process of user 1000 (alice) or 2000 (no name) with its program and control group. */
static void process(const struct machine *machine, struct fake_process process, int uid, const char *group)
{
    char name[64], text[256];
    fake_proc_write(machine->folder, &process);
    snprintf(name, sizeof name, "proc/%d/status", (int)process.pid);
    snprintf(text, sizeof text, "Name:\t%s\nUid:\t%d\t%d\t%d\t%d\n", process.name, uid, uid, uid, uid);
    put(machine, name, text);
    snprintf(name, sizeof name, "proc/%d/cgroup", (int)process.pid);
    snprintf(text, sizeof text, "0::%s\n", group);
    put(machine, name, text);
}

static void begin_machine(struct machine *machine)
{
    memset(machine, 0, sizeof *machine);
    fake_proc_create(machine->folder, &machine->root);
    folders(machine, "etc");
    put(machine, "etc/passwd", "root:x:0:0::/:/bin/sh\nalice:x:1000:1000:,,,:/home/alice:/bin/sh\n");
    machine->now = 1000 * GT_SECOND;
    machine->clock = (struct gt_clock){.real = clock_now, .monotonic = clock_now, .context = machine};
}

static void begin_crowd(struct machine *machine, bool by_slurm, size_t most)
{
    struct gt_sampler_options options = {.machine_root = machine->folder, .clock = &machine->clock, .period = 1};
    assert_int_equal(gt_sampler_open_machine(&machine->sampler, &options, NULL), 0);
    gt_combine_init(&machine->combiner,
                    &(struct gt_combine_options){.core_count = 4, .period = 1, .start_ns = machine->now});
    assert_int_equal(gt_job_groups_init(&machine->groups, by_slurm, most, 4, 0), 0);
}

static void begin(struct machine *machine, bool by_slurm, size_t most)
{
    begin_machine(machine);
    begin_crowd(machine, by_slurm, most);
}

static void look(struct machine *machine)
{
    struct gt_sample sample;
    machine->now += GT_SECOND;
    assert_int_equal(gt_sampler_read_machine(&machine->sampler, &machine->processes, NULL), 0);
    assert_int_equal(gt_job_groups_count(&machine->groups, &machine->sampler), 0);
    gt_sampler_settle_machine(&machine->sampler);
    assert_int_equal(gt_combine(&machine->combiner, &machine->sampler, &sample), 0);
    gt_job_groups_show(&machine->groups, &machine->sampler, &machine->combiner.attribution);
}

static void end(struct machine *machine)
{
    gt_job_groups_release(&machine->groups);
    gt_all_processes_release(&machine->processes);
    gt_combine_release(&machine->combiner);
    gt_sampler_close(&machine->sampler);
    fake_proc_destroy(machine->folder, &machine->root);
}

static const struct gt_job_groups_group *group(const struct machine *machine, const char *user, const char *job,
                                               const char *command)
{
    for (size_t i = 0; i < machine->groups.most; i++) {
        const struct gt_job_groups_group *one = &machine->groups.group[i];
        if (one->is_used && !strcmp(one->user, user) && !strcmp(one->job, job) && !strcmp(one->command, command))
            return one;
    }
    return NULL;
}

static double cpu(const struct gt_job_groups_group *one)
{
    assert_non_null(one);
    return one->value[GT_CPU_TIME];
}

TEST(groups_are_by_user_job_and_program)
{
    static struct machine machine;
    begin(&machine, false, 10);
    process(&machine, (struct fake_process){.pid = 10, .name = "python", .start = OLD, .cpu_ticks = 500}, 1000, "/");
    process(&machine, (struct fake_process){.pid = 11, .name = "python", .start = OLD, .cpu_ticks = 900}, 1000, "/");
    process(&machine, (struct fake_process){.pid = 12, .name = "python", .start = OLD}, 2000, "/");
    process(&machine, (struct fake_process){.pid = 13, .name = "sshd", .start = OLD}, 0, "/system.slice/ssh.service");
    look(&machine);
    assert_int_equal(group(&machine, "alice", "", "python")->processes, 2);
    assert_close(cpu(group(&machine, "alice", "", "python")), 0, 0); /* since counting began */
    assert_non_null(group(&machine, "2000", "", "python"));
    assert_non_null(group(&machine, "root", "ssh.service", "sshd"));
    process(&machine, (struct fake_process){.pid = 10, .name = "python", .start = OLD, .cpu_ticks = 550}, 1000, "/");
    process(&machine, (struct fake_process){.pid = 14, .name = "python", .start = NEW, .cpu_ticks = 30}, 1000, "/");
    look(&machine);
    assert_close(cpu(group(&machine, "alice", "", "python")), 0.8, 1e-9);
    assert_close(group(&machine, "alice", "", "python")->value[GT_CPU_UTILIZATION], 0.8, 1e-9);
    end(&machine);
}

TEST(what_ended_stays_and_counts_once)
{
    static struct machine machine;
    begin(&machine, false, 10);
    process(&machine, (struct fake_process){.pid = 10, .name = "make", .start = OLD, .cpu_ticks = 100}, 1000, "/");
    look(&machine);
    process(&machine, (struct fake_process){.pid = 20, .parent = 10, .name = "cc", .start = NEW, .cpu_ticks = 70}, 1000,
            "/");
    look(&machine);
    assert_close(cpu(group(&machine, "alice", "", "cc")), 0.7, 1e-9);
    fake_proc_remove(machine.folder, 20);
    /* make has waited for cc, which had used 0.1 s more by its end, and for another that no reading saw: 0.3 s */
    process(&machine,
            (struct fake_process){.pid = 10, .name = "make", .start = OLD, .cpu_ticks = 100, .reaped_cpu_ticks = 110},
            1000, "/");
    look(&machine);
    look(&machine);
    const struct gt_job_groups_group *cc = group(&machine, "alice", "", "cc");
    assert_close(cpu(cc), 0.7, 1e-9);
    assert_int_equal(cc->processes, 0);
    assert_close(cpu(group(&machine, "alice", "", "make")), 0.4, 1e-9);
    machine.now += GT_JOB_GROUPS_KEPT_NS;
    look(&machine);
    assert_null(group(&machine, "alice", "", "cc"));
    assert_close(cpu(group(&machine, "alice", "", "make")), 0.4, 1e-9);
    end(&machine);
}

TEST(a_fork_that_becomes_another_program_moves)
{
    static struct machine machine;
    begin(&machine, false, 10);
    process(&machine, (struct fake_process){.pid = 10, .name = "bash", .start = OLD}, 1000, "/");
    process(&machine, (struct fake_process){.pid = 11, .name = "bash", .start = NEW, .cpu_ticks = 5}, 1000, "/");
    look(&machine);
    process(&machine, (struct fake_process){.pid = 11, .name = "train", .start = NEW, .cpu_ticks = 105}, 1000, "/");
    look(&machine);
    assert_close(cpu(group(&machine, "alice", "", "bash")), 0.05, 1e-9);
    assert_close(cpu(group(&machine, "alice", "", "train")), 1.0, 1e-9);
    end(&machine);
}

TEST(the_number_of_groups_is_bounded)
{
    static struct machine machine;
    begin(&machine, false, 2);
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        process(&machine,
                (struct fake_process){.pid = 10 + i, .name = name, .start = OLD, .cpu_ticks = 10u * (unsigned)i}, 1000,
                "/");
    }
    look(&machine);
    assert_non_null(group(&machine, "alice", "", "p5")); /* the busiest have figures of their own */
    assert_non_null(group(&machine, "alice", "", "p4"));
    assert_true(machine.groups.group[2].is_other);
    assert_int_equal(machine.groups.group[2].processes, 4);
    fake_proc_remove(machine.folder, 15);
    machine.now += GT_JOB_GROUPS_KEPT_NS;
    look(&machine);
    look(&machine);
    assert_int_equal(machine.groups.group[2].processes, 4); /* who is there stays there: the counter must not fall */
    process(&machine, (struct fake_process){.pid = 30, .name = "late", .start = NEW}, 1000, "/");
    look(&machine);
    assert_non_null(group(&machine, "alice", "", "late"));
    end(&machine);
}

TEST(jobs_of_slurm_have_their_control_group)
{
    static const char job[] = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_77";
    static struct machine machine;
    char path[256];
    begin(&machine, true, 10);
    folders(&machine, job);
    folders(&machine, "proc/self");
    put(&machine, "proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    snprintf(path, sizeof path, "%s/memory.current", job);
    put(&machine, path, "12345678\n");
    snprintf(path, sizeof path, "%s/cpu.stat", job);
    put(&machine, path, "usage_usec 4000000\nuser_usec 1\nsystem_usec 1\n");
    process(&machine, (struct fake_process){.pid = 10, .name = "python", .start = OLD, .cpu_ticks = 300}, 1000,
            "/system.slice/slurmstepd.scope/job_77/step_0/user/task_0");
    process(&machine, (struct fake_process){.pid = 9, .name = "slurmstepd", .start = OLD, .cpu_ticks = 900}, 0,
            "/system.slice/slurmstepd.scope/job_77/step_0/slurm");
    process(&machine, (struct fake_process){.pid = 11, .name = "sshd", .start = OLD}, 0, "/system.slice/ssh.service");
    look(&machine);
    const struct gt_job_groups_group *one = group(&machine, "alice", "77", "");
    assert_non_null(one);
    assert_int_equal(one->processes, 2); /* one job, whoever's its processes are */
    assert_null(group(&machine, "root", "77", ""));
    assert_null(group(&machine, "root", "ssh.service", ""));
    assert_close(one->value[GT_CGROUP_RAM], 12345678, 0);
    assert_close(cpu(one), 0, 0);
    put(&machine, path, "usage_usec 6500000\nuser_usec 1\nsystem_usec 1\n"); /* more than any process shows */
    look(&machine);
    assert_close(cpu(one), 2.5, 1e-9);
    end(&machine);
}

TEST(jobs_of_slurm_in_version_1)
{
    static const char memory[] = "sys/fs/cgroup/memory/slurm/uid_1000/job_5";
    static const char cpu_path[] = "sys/fs/cgroup/cpuacct/slurm/uid_1000/job_5";
    static struct machine machine;
    char path[256];
    begin(&machine, true, 10);
    folders(&machine, memory);
    folders(&machine, cpu_path);
    folders(&machine, "proc/self");
    put(&machine, "proc/self/mountinfo",
        "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "31 23 0:27 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n");
    snprintf(path, sizeof path, "%s/memory.usage_in_bytes", memory);
    put(&machine, path, "4096000\n");
    snprintf(path, sizeof path, "%s/cpuacct.usage", cpu_path);
    put(&machine, path, "7000000000\n");
    process(&machine, (struct fake_process){.pid = 10, .name = "python", .start = OLD}, 1000, "/");
    put(&machine, "proc/10/cgroup", "5:memory:/slurm/uid_1000/job_5/step_0\n4:cpuacct:/slurm/uid_1000/job_5/step_0\n");
    look(&machine);
    put(&machine, path, "9500000000\n");
    look(&machine);
    const struct gt_job_groups_group *one = group(&machine, "alice", "5", "");
    assert_close(cpu(one), 2.5, 1e-9);
    assert_close(one->value[GT_CGROUP_RAM], 4096000, 0);
    end(&machine);
}

TEST(threads_of_the_kernel_are_nobody)
{
    static struct machine machine;
    begin(&machine, false, 10);
    folders(&machine, "proc/2");
    put(&machine, "proc/2/stat", "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 7 0 0 20 0 1 0 3 0 0 0\n");
    put(&machine, "proc/2/status", "Name:\tkthreadd\nUid:\t0\t0\t0\t0\n");
    put(&machine, "proc/2/statm", "0 0 0 0 0 0 0\n");
    process(&machine, (struct fake_process){.pid = 10, .name = "init", .start = OLD}, 0, "/");
    look(&machine);
    look(&machine);
    assert_non_null(group(&machine, "root", "", "init"));
    assert_null(group(&machine, "root", "", "kthreadd"));
    end(&machine);
}

/* The machine's busy CPU time and its energy counter. */
static void draw(const struct machine *machine, unsigned busy_ticks, double joules)
{
    char text[256];
    snprintf(text, sizeof text, "cpu  %u 0 0 100000 0 0 0 0 0 0\n", busy_ticks);
    put(machine, "proc/stat", text);
    snprintf(text, sizeof text, "%.0f\n", joules * 1e6);
    put(machine, "sys/class/powercap/intel-rapl:0/energy_uj", text);
}

TEST(groups_share_the_energy_by_cpu_time)
{
    static struct machine machine;
    begin_machine(&machine);
    folders(&machine, "sys/class/powercap/intel-rapl:0");
    put(&machine, "sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put(&machine, "sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    draw(&machine, 0, 10);
    begin_crowd(&machine, false, 10);
    draw(&machine, 0, 11); /* a counter that stands still would be none */
    struct fake_process busy = {.pid = 10, .name = "busy", .start = OLD},
                        half = {.pid = 11, .name = "half", .start = OLD};
    process(&machine, busy, 1000, "/");
    process(&machine, half, 1000, "/");
    look(&machine);
    for (unsigned second = 1; second <= 5; second++) {
        draw(&machine, 200 * second, 11 + 40 * second); /* 2 cores busy, 40 W */
        busy.cpu_ticks = 100 * second;
        half.cpu_ticks = 50 * second;
        process(&machine, busy, 1000, "/");
        process(&machine, half, 1000, "/");
        look(&machine);
    }
    const struct gt_energy *energy = &machine.combiner.attribution.energy[GT_ENERGY_CPU];
    assert_close(energy->total, 201, 1e-6);
    assert_close(energy->job + energy->other + energy->idle + energy->unattributed, 201, 1e-6);
    assert_close(group(&machine, "alice", "", "busy")->value[GT_CPU_ENERGY], 100, 1e-6);
    assert_close(group(&machine, "alice", "", "half")->value[GT_CPU_ENERGY], 50, 1e-6);
    end(&machine);
}

/* Two packages with a CPU each. */
static void draw_apart(const struct machine *machine, unsigned first_ticks, unsigned second_ticks, double first_joules,
                       double second_joules)
{
    char text[256];
    snprintf(text, sizeof text, "cpu  %u 0 0 0\ncpu0 %u 0 0 0\ncpu1 %u 0 0 0\nintr 0\n", first_ticks + second_ticks,
             first_ticks, second_ticks);
    put(machine, "proc/stat", text);
    for (int package = 0; package < 2; package++) {
        char name[64];
        snprintf(name, sizeof name, "sys/class/powercap/intel-rapl:%d/energy_uj", package);
        snprintf(text, sizeof text, "%.0f\n", 1e6 * (package ? second_joules : first_joules));
        put(machine, name, text);
    }
}

static void make_packages(const struct machine *machine)
{
    for (int package = 0; package < 2; package++) {
        char name[96], text[32];
        snprintf(name, sizeof name, "sys/class/powercap/intel-rapl:%d", package);
        folders(machine, name);
        snprintf(name, sizeof name, "sys/class/powercap/intel-rapl:%d/name", package);
        snprintf(text, sizeof text, "package-%d\n", package);
        put(machine, name, text);
        snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/topology", package);
        folders(machine, name);
        snprintf(name, sizeof name, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", package);
        snprintf(text, sizeof text, "%d\n", package);
        put(machine, name, text);
    }
}

TEST(groups_are_charged_for_their_own_package)
{
    static struct machine machine;
    begin_machine(&machine);
    make_packages(&machine);
    draw_apart(&machine, 0, 0, 10, 10);
    begin_crowd(&machine, false, 10);
    struct fake_process cold = {.pid = 10, .name = "cold", .start = OLD, .allowed = "0"},
                        hot = {.pid = 11, .name = "hot", .start = OLD, .allowed = "0-1", .cpu = 1};
    draw_apart(&machine, 0, 0, 10.5, 10.5);
    process(&machine, cold, 1000, "/");
    process(&machine, hot, 1000, "/");
    look(&machine);
    for (unsigned second = 1; second <= 5; second++) {
        draw_apart(&machine, 100 * second, 100 * second, 10.5 + 20 * second, 10.5 + 90 * second);
        cold.cpu_ticks = hot.cpu_ticks = 100 * second;
        process(&machine, cold, 1000, "/");
        process(&machine, hot, 1000, "/");
        look(&machine);
    }
    assert_close(machine.combiner.attribution.energy[GT_ENERGY_CPU].total, 551, 1e-6);
    assert_close(group(&machine, "alice", "", "cold")->value[GT_CPU_ENERGY], 100, 1e-6);
    assert_close(group(&machine, "alice", "", "hot")->value[GT_CPU_ENERGY], 450, 1e-6);
    end(&machine);
}

TEST(control_groups_name_jobs)
{
    static const struct {
        const char *text;
        enum gt_job_kind kind;
        const char *job;
    } cases[] = {
        {"0::/system.slice/node7_slurmstepd.scope/job_12/step_batch/user/task_0\n", GT_JOB_SLURM, "12"},
        {"0::/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0\n", GT_JOB_SLURM, "sEKNKTV3WPV500"},
        {"0::/system.slice/slurmstepd.scope/system\n", GT_JOB_UNIT, "slurmstepd.scope"},
        {"9:memory:/slurm/uid_1000/job_4711/step_0\n1:name=systemd:/system.slice/slurmd.service\n", GT_JOB_SLURM,
         "4711"},
        {"0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope\n",
         GT_JOB_CONTAINER, "0123456789ab"},
        {"0::/kubepods/burstable/podx/fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210\n",
         GT_JOB_CONTAINER, "fedcba987654"},
        {"0::/user.slice/user-1000.slice/session-3.scope\n", GT_JOB_UNIT, "session-3.scope"},
        {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.service\n", GT_JOB_UNIT, "a.service"},
        {"0::/system.slice/slurmd.service\n", GT_JOB_UNIT, "slurmd.service"},
        {"0::/job_5\n", GT_JOB_NONE, ""},
        {"0::/slurm/job_5x\n", GT_JOB_NONE, ""},
        {"0::/\n", GT_JOB_NONE, ""},
        {"", GT_JOB_NONE, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gt_identity identity;
        gt_identity_job(cases[i].text, &identity);
        assert_int_equal(identity.kind, cases[i].kind);
        assert_string_equal(identity.job, cases[i].job);
    }
}

TEST(the_number_of_a_job_is_in_the_environment)
{
    struct machine machine;
    struct gt_identity identity;
    begin_machine(&machine);
    process(&machine, (struct fake_process){.pid = 7, .parent = 1, .name = "train"}, 1000,
            "/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0/user/task_0");
    assert_int_equal(gt_identity_read(&machine.root, 7, &identity), 0);
    assert_string_equal(identity.job, "sEKNKTV3WPV500");
    put(&machine, "proc/7/environ", "HOME=/x");
    assert_int_equal(gt_identity_read(&machine.root, 7, &identity), 0);
    assert_string_equal(identity.job, "sEKNKTV3WPV500");
    put(&machine, "proc/7/environ", "SLURM_JOB_ID=884213");
    assert_int_equal(gt_identity_read(&machine.root, 7, &identity), 0);
    assert_int_equal(identity.kind, GT_JOB_SLURM);
    assert_string_equal(identity.job, "884213");
    fake_proc_destroy(machine.folder, &machine.root);
}
