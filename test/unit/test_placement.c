/* Packages: who is on which, what each of them was busy, and where processes use their CPU time. */
#include "collect/host/host.h"
#include "collect/process/placement.h"
#include "support/gpu_machine.h"
#include "support/test.h"

extern const struct gt_collector_type gt_collector_host;

enum {
    PID = 500,
    FIRST = 3,
    SECOND = 7 /* the packages' numbers; CPUs 0 and 1 are on the first, 2 and 3 on the second */
};

static struct gpu_machine machine;

static void topology(int cpu, int package)
{
    char path[96];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    gpu_machine_file(&machine, path, "%d\n", package);
}

static int begin(void **state)
{
    (void)state;
    gpu_machine_begin(&machine);
    for (int cpu = 0; cpu < 4; cpu++)
        topology(cpu, cpu < 2 ? FIRST : SECOND);
    gpu_machine_file(&machine, "proc/meminfo", "MemTotal: 1000 kB\n");
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (size_t i = 0; i < machine.snapshot.process_count; i++)
        gt_placement_free(machine.process[i].placement);
    gpu_machine_end(&machine);
    return 0;
}

static void declare(void)
{
    assert_int_equal(gt_packages_declare(&machine.snapshot, &machine.topology, (int[]){FIRST, SECOND}, 2), 0);
}

/* ---- busy time --------------------------------------------------------------------------------------------------- */

/* Ticks of each CPU; a negative one is offline. */
static void stat(const int ticks[4])
{
    char text[512];
    int length = 0, sum = 0;
    for (int cpu = 0; cpu < 4; cpu++) {
        sum += ticks[cpu] > 0 ? ticks[cpu] : 0;
        if (ticks[cpu] >= 0)
            length += snprintf(text + length, sizeof text - (size_t)length, "cpu%d %d 0 1 1000 0 0 1 0 0 0\n", cpu,
                               ticks[cpu]);
    }
    gpu_machine_file(&machine, "proc/stat", "cpu  %d 0 4 4000 0 0 4 0 0 0\n%sintr 1 2 3\n", sum, length ? text : "");
}

static void expect_busy(double first, double second)
{
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    gt_packages_clear(&machine.snapshot);
    gpu_machine_collect(&machine, 1);
    assert_close(machine.snapshot.package[0].value[GT_CPU_TIME], first * tick, 1e-9);
    assert_close(machine.snapshot.package[1].value[GT_CPU_TIME], second * tick, 1e-9);
}

TEST_WITH(each_package_has_the_busy_time_of_its_cpus, begin, end)
{
    declare();
    stat((int[]){100, 200, 300, 400});
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_host), GT_READY);
    expect_busy(0, 0);
    stat((int[]){110, 205, 301, 402});
    expect_busy(15, 3);
    assert_int_equal(machine.snapshot.package[0].cpus, 2);
    assert_close(machine.snapshot.system[GT_CPU_TIME], 18.0 / (double)sysconf(_SC_CLK_TCK), 1e-9);
}

TEST_WITH(a_cpu_that_was_offline_goes_on_where_it_was, begin, end)
{
    declare();
    stat((int[]){100, 200, 300, 400});
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_host), GT_READY);
    stat((int[]){100, 200, 310, -1});
    gpu_machine_remove(&machine, "sys/devices/system/cpu/cpu3/topology/physical_package_id");
    expect_busy(0, 10);
    assert_int_equal(machine.snapshot.package[1].cpus, 1);
    stat((int[]){101, 200, 320, 404});
    expect_busy(1, 24);
    assert_int_equal(machine.snapshot.package[1].cpus, 2);
}

TEST_WITH(a_cpu_that_is_new_counts_from_then_on, begin, end)
{
    declare();
    stat((int[]){100, 200, 300, -1});
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_host), GT_READY);
    stat((int[]){100, 200, 300, 5000});
    expect_busy(0, 0);
    stat((int[]){100, 200, 300, 5007});
    expect_busy(0, 7);
}

TEST_WITH(cpus_of_unknown_package_make_the_machine_one, begin, end)
{
    declare();
    gpu_machine_remove(&machine, "sys/devices/system/cpu/cpu3/topology/physical_package_id");
    stat((int[]){100, 200, 300, 400});
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_host), GT_READY);
    assert_int_equal(machine.snapshot.package_count, 0);
    assert_string_equal(machine.topology.why_no_packages, "the system does not tell on which package each CPU is");
    stat((int[]){110, 200, 300, 400});
    gpu_machine_collect(&machine, 1);
    assert_close(machine.snapshot.system[GT_CPU_TIME], 10.0 / (double)sysconf(_SC_CLK_TCK), 1e-9);
    gt_collector_close(machine.type, machine.state);
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_placement), GT_ABSENT);
    assert_string_equal(machine.availability.reason, machine.topology.why_no_packages);
}

TEST_WITH(a_package_without_cpus_makes_the_machine_one, begin, end)
{
    declare();
    stat((int[]){100, 200, -1, -1});
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_host), GT_READY);
    assert_int_equal(machine.snapshot.package_count, 0);
}

TEST_WITH(a_source_that_adds_packages_up_is_told_of, begin, end)
{
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_placement), GT_ABSENT);
    assert_string_equal(machine.topology.why_no_packages, "");
    assert_true(gt_snapshot_claim(&machine.snapshot, GT_CPU_ENERGY, &gt_collector_host));
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_placement), GT_ABSENT);
    assert_string_equal(machine.topology.why_no_packages, "the source of their energy adds them up");
    topology(2, FIRST);
    topology(3, FIRST);
    machine.topology.why_no_packages[0] = '\0';
    gpu_machine_open(&machine, &gt_collector_placement);
    assert_string_equal(machine.topology.why_no_packages, "");
}

/* ---- lists of CPUs ----------------------------------------------------------------------------------------------- */

static void learn(void)
{
    declare();
    for (int cpu = 0; cpu < 4; cpu++)
        assert_int_equal(gt_package_learn(&machine.topology, &machine.root, cpu), cpu / 2);
}

TEST_WITH(lists_of_cpus_lie_in_one_package_or_in_several, begin, end)
{
    learn();
    assert_int_equal(gt_package_of_list(&machine.topology, "0-1\n"), 0);
    assert_int_equal(gt_package_of_list(&machine.topology, "3\n"), 1);
    assert_int_equal(gt_package_of_list(&machine.topology, "2-3,128-255\n"), 1); /* CPUs that are not there */
    assert_int_equal(gt_package_of_list(&machine.topology, "1-2\n"), -1);
    assert_int_equal(gt_package_of_list(&machine.topology, "0,3\n"), -1);
    assert_int_equal(gt_package_of_list(&machine.topology, "0-99999999999\n"), -1);
    assert_int_equal(gt_package_of_list(&machine.topology, "\n"), -1);
    assert_int_equal(gt_package_of_cpu(&machine.topology, -1), -1);
    assert_int_equal(gt_package_of_cpu(&machine.topology, 99999), -1);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static void thread(int id, int cpu, unsigned ticks, const char *allowed)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%d/task/%d/stat", PID, id);
    gpu_machine_file(
        &machine, path,
        "%d (a) b (c) S 1 1 1 0 -1 0 0 0 0 0 %u %u 0 0 20 0 1 0 99 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 17 %d 0 0\n", id,
        ticks / 2, ticks - ticks / 2, cpu);
    snprintf(path, sizeof path, "proc/%d/task/%d/status", PID, id);
    gpu_machine_file(&machine, path, "Name:\ta\nCpus_allowed_list:\t%s\nMems_allowed_list:\t0-1\n", allowed);
}

static struct gt_process *job(double threads)
{
    learn();
    gpu_machine_process(&machine, PID);
    machine.snapshot.process = machine.processes;
    machine.processes[0]->value[GT_THREADS] = threads;
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_placement), GT_READY);
    return machine.processes[0];
}

static void collect(double seconds)
{
    machine.snapshot.monotonic_ns = machine.monotonic_ns + (int64_t)(seconds * 1e9);
    assert_int_equal(gpu_machine_collect(&machine, seconds), 0);
}

static void use(struct gt_process *process, double cpu_time, double first, double second, double bound)
{
    process->value[GT_CPU_TIME] = cpu_time;
    collect(1);
    const struct gt_placement *placement = process->placement;
    assert_close(placement->recent[0], first, 1e-9);
    assert_close(placement->recent[1], second, 1e-9);
    assert_close(placement->recent_bound[0] + placement->recent_bound[1], bound, 1e-9);
}

TEST_WITH(a_bound_process_is_known_to_be_where_it_is, begin, end)
{
    struct gt_process *process = job(1);
    thread(PID, 0, 0, "2-3"); /* last ran where it may not run any more: that does not count */
    use(process, 1, 0, 1, 1);
    use(process, 1.5, 0, 0.5, 0.5);
}

TEST_WITH(others_count_where_they_last_ran_and_in_halves_when_they_moved, begin, end)
{
    struct gt_process *process = job(1);
    thread(PID, 1, 100, "0-3");
    use(process, 1, 1, 0, 0);
    thread(PID, 2, 200, "0-3");
    use(process, 2, 0.5, 0.5, 0);
    thread(PID, 3, 300, "0-3");
    use(process, 3, 0, 1, 0);
}

TEST_WITH(who_rested_is_where_it_is_found, begin, end)
{
    struct gt_process *process = job(1);
    thread(PID, 1, 100, "0-3");
    use(process, 1, 1, 0, 0);
    use(process, 1, 0, 0, 0);
    thread(PID, 2, 200, "0-3");
    use(process, 2, 0, 1, 0);
}

TEST_WITH(threads_count_by_what_each_used, begin, end)
{
    struct gt_process *process = job(3);
    thread(PID, 0, 10, "0-3");
    thread(PID + 1, 3, 20, "2-3");
    thread(PID + 2, 3, 10, "0-3");
    use(process, 0.4, 0.1, 0.3, 0.2);
    thread(PID, 0, 10, "0-3");
    thread(PID + 1, 3, 20, "2-3");
    thread(PID + 2, 3, 90, "0-3");
    use(process, 1.2, 0, 0.8, 0);
}

TEST_WITH(a_mask_that_was_changed_is_not_exact, begin, end)
{
    struct gt_process *process = job(1);
    thread(PID, 0, 100, "0-1");
    use(process, 1, 1, 0, 1);
    thread(PID, 2, 200, "2-3");
    use(process, 2, 0.5, 0.5, 0);
    use(process, 3, 0, 1, 1);
}

TEST_WITH(between_looks_and_after_its_threads_a_process_stays_divided, begin, end)
{
    struct gt_process *process = job(1);
    thread(PID, 3, 100, "0-3");
    use(process, 1, 0, 1, 0);
    thread(PID, 0, 150, "0-3");
    process->value[GT_CPU_TIME] = 1.01;
    collect(0.01); /* too early for another look */
    assert_close(process->placement->recent[1], 0.01, 1e-9);
    process->is_gone = true;
    use(process, 2.01, 0, 1, 0);
}

TEST_WITH(time_from_before_tracking_is_left_out, begin, end)
{
    struct gt_process *process = job(1);
    process->baseline.own_base = 100;
    thread(PID, 3, 10000, "0-3");
    use(process, 100, 0, 0, 0);
    use(process, 101, 0, 1, 0);
}
