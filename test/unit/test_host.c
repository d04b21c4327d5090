#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "collect/cgroup/control_group.h"
#include "collect/host/host.h"
#include "support/gpu_machine.h"
#include "support/test.h"

extern const struct gt_collector_type gt_collector_host, gt_collector_pressure, gt_collector_network;

static int begin(void **state)
{
    static struct gpu_machine machine;
    gpu_machine_begin(&machine);
    gt_values_clear(machine.snapshot.system);
    gt_values_clear(machine.snapshot.job);
    *state = &machine;
    return 0;
}

#define TEST_OF_MACHINE(name) TEST_OF(struct gpu_machine *machine, name, begin, gpu_machine_teardown)

static double system_value(const struct gpu_machine *machine, enum gt_metric_id metric)
{
    return machine->snapshot.system[metric];
}

/* ---- memory and CPU ---- */

static void write_memory(struct gpu_machine *machine, long unused, long cached)
{
    gpu_machine_file(
        machine, "proc/meminfo",
        "MemTotal:  1000000 kB\nMemFree:  %ld kB\nMemAvailable:  500000 kB\nBuffers:  1000 kB\n"
        "Cached:  %ld kB\nSwapCached:  5 kB\nSwapTotal:  2000 kB\nSwapFree:  1500 kB\nSReclaimable:  3000 kB\n",
        unused, cached);
}

TEST_OF_MACHINE(memory_is_used_as_the_original_has_it)
{
    write_memory(machine, 600000, 20000);
    gpu_machine_file(machine, "proc/stat", "cpu  100 20 30 4000 50 6 7 8 90 10\ncpu0 0 0\n");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_host), GT_READY);
    gpu_machine_collect(machine, 1);
    assert_close(system_value(machine, GT_RAM), (1000000 - 600000 - 1000 - 20000 - 3000) * 1024.0, 0);
    assert_close(system_value(machine, GT_SWAP), 500 * 1024, 0);
    write_memory(machine, 990000, 20000); /* the machine's cache beside a container's total */
    gpu_machine_collect(machine, 1);
    assert_close(system_value(machine, GT_RAM), 10000 * 1024, 0);
}

TEST_OF_MACHINE(busy_time_counts_from_the_start_and_guests_once)
{
    write_memory(machine, 600000, 20000);
    gpu_machine_file(machine, "proc/stat", "cpu  100 20 30 4000 50 6 7 8 90 10\n");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_host), GT_READY);
    gpu_machine_collect(machine, 1);
    assert_close(system_value(machine, GT_CPU_TIME), 0, 0);
    gpu_machine_file(machine, "proc/stat", "cpu  200 40 60 9000 90 16 27 38 190 20\n");
    gpu_machine_collect(machine, 1);
    assert_close(system_value(machine, GT_CPU_TIME), (100 + 20 + 30 + 10 + 20 + 30) / (double)sysconf(_SC_CLK_TCK),
                 1e-9);
}

TEST_OF_MACHINE(nothing_to_read_is_absent)
{
    assert_int_equal(gpu_machine_open(machine, &gt_collector_host), GT_ABSENT);
    assert_string_equal(machine->availability.reason, "/proc/meminfo is not there");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_pressure), GT_ABSENT);
    assert_string_equal(machine->availability.reason, "this kernel has no /proc/pressure");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_network), GT_ABSENT);
    assert_string_equal(machine->availability.reason, "/proc/1/net/dev is not there");
}

TEST_OF_MACHINE(one_file_missing_leaves_the_other)
{
    gpu_machine_file(machine, "proc/stat", "cpu  1 1 1 1\n");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_host), GT_READY);
    gpu_machine_collect(machine, 1);
    assert_true(isnan(system_value(machine, GT_RAM)) && isnan(system_value(machine, GT_SWAP)));
    assert_close(system_value(machine, GT_CPU_TIME), 0, 0);
}

/* ---- pressure ---- */

static void write_pressure(struct gpu_machine *machine, const char *resource, long some, long full)
{
    char path[64];
    snprintf(path, sizeof path, "proc/pressure/%s", resource);
    gpu_machine_file(
        machine, path,
        "some avg10=0.10 avg60=0.00 avg300=0.00 total=%ld\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=%ld\n", some,
        full);
}

TEST_OF_MACHINE(pressure_counts_from_the_start)
{
    write_pressure(machine, "cpu", 1000000, 0);
    write_pressure(machine, "memory", 2000000, 1000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_pressure), GT_READY);
    write_pressure(machine, "cpu", 1500000, 0);
    write_pressure(machine, "memory", 2250000, 1125000);
    gpu_machine_collect(machine, 1);
    assert_close(system_value(machine, GT_PRESSURE_CPU), 0.5, 1e-9);
    assert_close(system_value(machine, GT_PRESSURE_MEMORY), 0.25, 1e-9);
    assert_close(system_value(machine, GT_PRESSURE_MEMORY_FULL), 0.125, 1e-9);
    assert_true(isnan(system_value(machine, GT_PRESSURE_IO)));
    write_pressure(machine, "cpu", 2500000, 0);
    gpu_machine_collect(machine, 0.9); /* read once a second at most */
    assert_close(system_value(machine, GT_PRESSURE_CPU), 0.5, 1e-9);
    gpu_machine_collect(machine, 0.1);
    assert_close(system_value(machine, GT_PRESSURE_CPU), 1.5, 1e-9);
    write_pressure(machine, "cpu", 2600000, 0);
    machine->snapshot.is_last = true; /* and at the end */
    gpu_machine_collect(machine, 0.001);
    assert_close(system_value(machine, GT_PRESSURE_CPU), 1.6, 1e-9);
}

/* ---- network ---- */

static void write_network(struct gpu_machine *machine, unsigned long long received, unsigned long long sent,
                          bool has_other)
{
    gpu_machine_file(machine, "proc/1/net/dev",
                     "Inter-|   Receive                                                |  Transmit\n"
                     " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n"
                     "    lo: 999999 9 0 0 0 0 0 0 999999 9 0 0 0 0 0 0\n"
                     "  eth0:%llu 9 0 0 0 0 0 0 %llu 9 0 0 0 0 0 0\n%s",
                     received, sent, has_other ? "veth1: 500 9 0 0 0 0 0 0 700 9 0 0 0 0 0 0\n" : "");
}

TEST_OF_MACHINE(network_counts_without_loopback)
{
    write_network(machine, 1000, 2000, false);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_network), GT_READY);
    gpu_machine_collect(machine, 1);
    assert_close(machine->snapshot.system[GT_NETWORK_NAMESPACE_RECEIVED], 0, 0);
    write_network(machine, 1100, 2300, true); /* an interface made since counts in full */
    gpu_machine_collect(machine, 1);
    assert_close(machine->snapshot.system[GT_NETWORK_NAMESPACE_RECEIVED], 600, 0);
    assert_close(machine->snapshot.system[GT_NETWORK_NAMESPACE_SENT], 1000, 0);
    write_network(machine, 1100, 2300, false); /* and keeps what it had when it is gone */
    gpu_machine_collect(machine, 1);
    assert_close(machine->snapshot.system[GT_NETWORK_NAMESPACE_RECEIVED], 600, 0);
    write_network(machine, 50, 10, false); /* made anew: counts from 0 */
    gpu_machine_collect(machine, 1);
    assert_close(machine->snapshot.system[GT_NETWORK_NAMESPACE_RECEIVED], 650, 0);
    assert_close(machine->snapshot.system[GT_NETWORK_NAMESPACE_SENT], 1010, 0);
    write_network(machine, 60, 10, false); /* read once a second at most, and at the end */
    gpu_machine_collect(machine, 0.1);
    assert_close(machine->snapshot.system[GT_NETWORK_NAMESPACE_RECEIVED], 650, 0);
    machine->snapshot.is_last = true;
    gpu_machine_collect(machine, 0.1);
    assert_close(machine->snapshot.system[GT_NETWORK_NAMESPACE_RECEIVED], 660, 0);
}

TEST(the_namespace_outlives_its_process)
{
    int ready[2];
    char byte;
    struct gt_root root;
    struct gt_snapshot snapshot = {0};
    struct gt_availability availability;
    void *collector;
    assert_int_equal(gt_root_open(&root, NULL, NULL), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool is_apart = unshare(CLONE_NEWNET) == 0;
        if (write(ready[1], is_apart ? "y" : "n", 1) == 1)
            pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    struct gt_topology topology = {0};
    struct gt_collect_options options = {.root = &root, .clock = &gt_clock_system, .topology = &topology, .pid = pid};
    assert_int_equal(gt_collector_open(&gt_collector_network, &collector, &options, &snapshot, &availability, NULL), 0);
    assert_int_equal(availability.state, GT_READY);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    gt_values_clear(snapshot.job);
    assert_int_equal(gt_collector_network.collect(collector, &snapshot, NULL), 0);
    assert_false(isnan(snapshot.system[GT_NETWORK_NAMESPACE_RECEIVED]));
    if (byte == 'y')
        assert_close(snapshot.system[GT_NETWORK_NAMESPACE_SENT], 0, 0);
    gt_collector_close(&gt_collector_network, collector);
    gt_root_close(&root);
    close(ready[0]);
    close(ready[1]);
}

/* ---- capacity ---- */

static double capacity(const struct gpu_machine *machine)
{
    struct gt_control_group groups[GT_CONTROLLERS];
    gt_control_groups_find(&machine->root, 1, groups);
    return gt_limit_capacity(&(struct gt_limit){0}, &machine->root, groups);
}

TEST_OF_MACHINE(capacity_without_groups_is_the_machine)
{
    assert_true(isnan(capacity(machine)));
    assert_int_equal(gt_capacity_cores(&machine->root), 0);
    write_memory(machine, 1, 1);
    gpu_machine_file(machine, "proc/stat", "cpu  1 1 1 1\ncpu0 1\ncpu1 1\ncpu10 1\nctxt 5\n");
    assert_close(capacity(machine), 1000000 * 1024.0, 0);
    assert_int_equal(gt_capacity_cores(&machine->root), 3);
    gpu_machine_file(machine, "sys/devices/system/cpu/online", "0-3,8,10-11\n");
    assert_int_equal(gt_capacity_cores(&machine->root), 7);
}

TEST_OF_MACHINE(the_smallest_limit_above_binds)
{
    write_memory(machine, 1, 1);
    gpu_machine_file(machine, "sys/devices/system/cpu/online", "0-7\n");
    gpu_machine_file(machine, "proc/1/cgroup", "0::/slurm/job:1/step\n");
    gpu_machine_file(
        machine, "proc/1/mountinfo",
        "30 23 0:26 / /proc rw - proc proc rw\n31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    gpu_machine_file(machine, "sys/fs/cgroup/slurm/job:1/step/memory.max", "max\n");
    gpu_machine_file(machine, "sys/fs/cgroup/slurm/job:1/memory.max", "524288000\n");
    gpu_machine_file(machine, "sys/fs/cgroup/slurm/memory.max", "734003200\n");
    assert_close(capacity(machine), 524288000, 0);
    assert_close(gt_capacity_memory(&machine->root), 1000000 * 1024.0, 0);
    gpu_machine_file(machine, "sys/fs/cgroup/slurm/job:1/memory.max", "9223372036854771712\n");
    gpu_machine_file(machine, "sys/fs/cgroup/slurm/memory.max", "max\n");
    assert_close(capacity(machine), 1000000 * 1024.0, 0);
}

TEST_OF_MACHINE(limits_of_groups_with_spaces_in_their_names)
{
    write_memory(machine, 1, 1);
    gpu_machine_file(machine, "sys/devices/system/cpu/online", "0-7\n");
    gpu_machine_file(machine, "proc/1/cgroup", "0::/my jobs/job\n");
    gpu_machine_file(machine, "proc/1/mountinfo",
                     "31 23 0:27 /my\\040jobs /sys/fs/c\\040g rw shared:4 - cgroup2 cgroup2 rw\n");
    gpu_machine_file(machine, "sys/fs/c g/job/memory.max", "524288000\n");
    assert_close(capacity(machine), 524288000, 0);
}

TEST_OF_MACHINE(version_one_and_containers)
{
    write_memory(machine, 1, 1);
    gpu_machine_file(machine, "sys/devices/system/cpu/online", "0-7\n");
    gpu_machine_file(machine, "proc/1/cgroup",
                     "9:cpu,cpuacct:/docker/ab\n4:memory:/docker/ab\n1:name=systemd:/\n0::/\n");
    gpu_machine_file(machine, "proc/1/mountinfo",
                     "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                     "32 23 0:28 /docker/ab /sys/fs/cgroup/memory ro,nosuid master:9 - cgroup cgroup rw,memory\n"
                     "33 23 0:29 /docker/ab /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n");
    gpu_machine_file(machine, "sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
    struct gt_control_group group[GT_CONTROLLERS];
    gt_control_groups_find(&machine->root, 1, group);
    assert_int_equal(group[GT_CONTROLLER_MEMORY].version, 1);
    assert_string_equal(group[GT_CONTROLLER_MEMORY].path, "sys/fs/cgroup/memory");
    assert_false(gt_control_group_up(&group[GT_CONTROLLER_MEMORY]));
    assert_int_equal(group[GT_CONTROLLER_CPU].version, 1);
    assert_string_equal(group[GT_CONTROLLER_CPU].path, "sys/fs/cgroup/cpu,cpuacct");
    assert_close(capacity(machine), 104857600, 0);
}
