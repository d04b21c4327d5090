/* RAPL counters by perf events, alone and beside powercap. */
#include <fcntl.h>

#include "collect/energy/rapl.h"
#include "support/gpu_machine.h"
#include "support/test.h"

static const char SCALE[] = "2.3283064365386962890625e-10"; /* 2^-32 J */

static void describe_event(struct gpu_machine *machine, const char *name, const char *event, const char *unit,
                           const char *scale)
{
    char path[128];
    snprintf(path, sizeof path, "sys/bus/event_source/devices/power/events/%s", name);
    gpu_machine_file(machine, path, "%s\n", event);
    snprintf(path, sizeof path, "sys/bus/event_source/devices/power/events/%s.unit", name);
    gpu_machine_file(machine, path, "%s\n", unit);
    snprintf(path, sizeof path, "sys/bus/event_source/devices/power/events/%s.scale", name);
    gpu_machine_file(machine, path, "%s\n", scale);
}

/* The folder of the events of a machine with two packages of four CPUs. */
static void events(struct gpu_machine *machine, const char *cpus)
{
    gpu_machine_file(machine, "sys/bus/event_source/devices/power/type", "21\n");
    gpu_machine_file(machine, "sys/bus/event_source/devices/power/cpumask", "%s\n", cpus);
    for (int cpu = 0; cpu < 8; cpu++) {
        char path[128];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        gpu_machine_file(machine, path, "%d\n", cpu / 4);
    }
    describe_event(machine, "energy-pkg", "event=0x02", "Joules", SCALE);
}

enum { CORES = 1, PACKAGE = 2, PLATFORM = 5 };

static void count(struct gpu_machine *machine, int event, int cpu, double joules)
{
    char file[64], path[128];
    uint64_t counts = (uint64_t)(joules * 4294967296.0);
    snprintf(file, sizeof file, "perf/21/%d/%d", event, cpu);
    snprintf(path, sizeof path, "%s/%s", machine->path, file);
    if (access(path, F_OK) < 0)
        gpu_machine_file(machine, file, "%s", "");
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, &counts, sizeof counts), sizeof counts);
    close(fd);
}

static void powercap(struct gpu_machine *machine, const char *entry, const char *name, double joules)
{
    char path[128];
    snprintf(path, sizeof path, "sys/class/powercap/%s/name", entry);
    gpu_machine_file(machine, path, "%s\n", name);
    snprintf(path, sizeof path, "sys/class/powercap/%s/max_energy_range_uj", entry);
    gpu_machine_file(machine, path, "262143328850\n");
    snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", entry);
    gpu_machine_file(machine, path, "%.0f\n", joules * 1e6);
}

static void says(const struct gpu_machine *machine, const char *text)
{
    char said[400];
    machine->type->describe(machine->state, said, sizeof said);
    if (!strstr(said, text))
        fail_msg("\"%s\" is not in \"%s\"", text, said);
}

/* One package that both show, 100 J on; by perf events at 0. */
static void both(struct gpu_machine *machine)
{
    events(machine, "0");
    count(machine, PACKAGE, 0, 0);
    powercap(machine, "intel-rapl:0", "package-0", 100);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    assert_string_equal(machine->availability.source, "RAPL by perf events and powercap");
}

TEST_ON_MACHINE(events_of_each_package_are_added)
{
    events(machine, "0,4");
    describe_event(machine, "energy-psys", "event=0x05", "Joules", SCALE);
    count(machine, PACKAGE, 0, 7);
    count(machine, PACKAGE, 4, 8);
    count(machine, PLATFORM, 0, 9);
    count(machine, PLATFORM, 4, 9);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    assert_string_equal(machine->availability.source, "RAPL by perf events");
    count(machine, PACKAGE, 0, 7 + 50);
    count(machine, PACKAGE, 4, 8 + 20);
    count(machine, PLATFORM, 0, 9 + 100);
    count(machine, PLATFORM, 4, 9 + 100);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 70, 1e-6);
    assert_close(machine->snapshot.system[GT_PLATFORM_ENERGY], 100, 1e-6);
}

TEST_ON_MACHINE(dies_of_amd_read_one_counter)
{
    gpu_machine_file(machine, "proc/cpuinfo", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n");
    events(machine, "0,2,4-5");
    for (int cpu = 0; cpu < 6; cpu++)
        count(machine, PACKAGE, cpu, 0);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    for (int cpu = 0; cpu < 6; cpu++)
        count(machine, PACKAGE, cpu, (cpu < 4 ? 60 : 40) + 2 * (cpu % 4)); /* read a little later */
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 60 + 40, 1e-6);
}

TEST_ON_MACHINE(dies_of_intel_have_a_counter_each)
{
    gpu_machine_file(machine, "proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n");
    events(machine, "0,2");
    count(machine, PACKAGE, 0, 0);
    count(machine, PACKAGE, 2, 0);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    count(machine, PACKAGE, 0, 60);
    count(machine, PACKAGE, 2, 50);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 60 + 50, 1e-6);
}

TEST_ON_MACHINE(what_agrees_comes_from_perf_events)
{
    both(machine);
    count(machine, PACKAGE, 0, 50);
    powercap(machine, "intel-rapl:0", "package-0", 151);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 50, 1e-6);
    says(machine, "perf events and powercap agree on cpu_energy: 50 J and 51 J in 1 s, 2.0 % apart");
    count(machine, PACKAGE, 0, 90);
    powercap(machine, "intel-rapl:0", "package-0", 500); /* it is closed by now */
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 90, 1e-6);
}

TEST_ON_MACHINE(what_disagrees_is_said)
{
    both(machine);
    count(machine, PACKAGE, 0, 50);
    powercap(machine, "intel-rapl:0", "package-0", 160);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 50, 1e-6);
    says(machine, "disagree on cpu_energy: 50 J and 60 J in 1 s, 16.7 % apart; perf events are used");
}

TEST_ON_MACHINE(packages_below_their_cores_are_not_believed)
{
    events(machine, "0");
    describe_event(machine, "energy-cores", "event=0x01", "Joules", SCALE);
    count(machine, PACKAGE, 0, 0);
    count(machine, CORES, 0, 0);
    powercap(machine, "intel-rapl:0", "package-0", 100);
    powercap(machine, "intel-rapl:0:0", "core", 100);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    count(machine, PACKAGE, 0, 20);
    count(machine, CORES, 0, 60);
    powercap(machine, "intel-rapl:0", "package-0", 180);
    powercap(machine, "intel-rapl:0:0", "core", 160);
    gpu_machine_system(machine, 1, GT_CPU_ENERGY);
    says(machine, "disagree on cpu_energy: 20 J and 80 J in 1 s, 75.0 % apart; powercap is used");
    count(machine, PACKAGE, 0, 40);
    powercap(machine, "intel-rapl:0", "package-0", 260);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 160, 1e-6); /* all of it: the first second, too */
}

TEST_ON_MACHINE(no_package_draws_kilowatts)
{
    both(machine);
    count(machine, PACKAGE, 0, 50 * 65536.0); /* a scale of 2^-16 taken for 2^-32 */
    powercap(machine, "intel-rapl:0", "package-0", 150);
    double before = gpu_machine_system(machine, 1, GT_CPU_ENERGY);
    says(machine, "powercap is used");
    count(machine, PACKAGE, 0, 100 * 65536.0);
    powercap(machine, "intel-rapl:0", "package-0", 200);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY) - before, 50, 1e-6);
}

TEST_ON_MACHINE(a_denied_event_leaves_powercap)
{
    gpu_machine_file(machine, "proc/sys/kernel/perf_event_paranoid", "2\n");
    events(machine, "0");
    count(machine, PACKAGE, 0, 0);
    struct gt_availability each[GT_RAPL_INTERFACES], availability;
    gt_rapl_survey(&machine->root, each, &availability);
    assert_int_equal(each[GT_RAPL_PERF].state, GT_DENIED);
    assert_non_null(strstr(each[GT_RAPL_PERF].remedy, "cap_perfmon"));
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_DENIED);
    powercap(machine, "intel-rapl:0", "package-0", 100);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    assert_string_equal(machine->availability.source, "RAPL by powercap");
    powercap(machine, "intel-rapl:0", "package-0", 130);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 30, 1e-6);
    gt_rapl_survey(&machine->root, each, &availability);
    assert_string_equal(availability.reason, "only powercap can read the processor packages");
}

TEST_ON_MACHINE(one_denied_package_leaves_no_part_of_a_sum)
{
    events(machine, "0,4");
    count(machine, PACKAGE, 0, 0); /* that of CPU 4 is not there */
    powercap(machine, "intel-rapl:0", "package-0", 100);
    powercap(machine, "intel-rapl:1", "package-1", 100);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    assert_string_equal(machine->availability.source, "RAPL by powercap");
    count(machine, PACKAGE, 0, 20);
    powercap(machine, "intel-rapl:0", "package-0", 120);
    powercap(machine, "intel-rapl:1", "package-1", 130);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 50, 1e-6);
}

TEST_ON_MACHINE(an_event_that_stands_still_leaves_powercap)
{
    both(machine);
    powercap(machine, "intel-rapl:0", "package-0", 130);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 30, 1e-6);
    powercap(machine, "intel-rapl:0", "package-0", 160);
    count(machine, PACKAGE, 0, 1000); /* too late */
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 60, 1e-6);
}

TEST_WITH(odd_events_are_not_counted, gpu_machine_setup, gpu_machine_teardown)
{
    static const struct {
        const char *event, *unit, *scale;
    } odd[] = {
        {"event=0x02", "Watts", SCALE},          {"event=0x02", "Joules per tick", SCALE},
        {"event=0x02", "Joules", "0"},           {"event=0x02", "Joules", "-1e-10"},
        {"event=0x02", "Joules", "inf"},         {"event=0x02", "Joules", "1e-10 or so"},
        {"event=0x02", "Joules", "1e6"},         {"event=0x02", "Joules", ""},
        {"event=0x02,umask=1", "Joules", SCALE}, {"config=2", "Joules", SCALE},
    };
    struct gpu_machine *machine = *state;
    events(machine, "0");
    count(machine, PACKAGE, 0, 0);
    struct gt_availability each[GT_RAPL_INTERFACES], both;
    gt_rapl_survey(&machine->root, each, &both);
    assert_int_equal(each[GT_RAPL_PERF].state, GT_READY);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        describe_event(machine, "energy-pkg", odd[i].event, odd[i].unit, odd[i].scale);
        gt_rapl_survey(&machine->root, each, &both);
        assert_int_equal(each[GT_RAPL_PERF].state, GT_ABSENT);
    }
}

static void judge(struct gpu_machine *machine, double perf, double other, struct gt_availability *availability)
{
    struct gt_rapl_zones zones = {.count = 0};
    events(machine, "0");
    count(machine, PACKAGE, 0, 0);
    powercap(machine, "intel-rapl:0", "package-0", 100);
    gt_rapl_find(&zones, &machine->root);
    gt_rapl_read(&zones, 0);
    count(machine, PACKAGE, 0, perf);
    powercap(machine, "intel-rapl:0", "package-0", 100 + other);
    gt_rapl_read(&zones, GT_SECOND / 5);
    gt_rapl_judge(&zones, 0.2, availability);
    gt_rapl_close(&zones);
}

TEST_WITH(the_doctor_tells_the_difference, gpu_machine_setup, gpu_machine_teardown)
{
    struct gt_availability each[GT_RAPL_INTERFACES], availability;
    gt_rapl_survey(&((struct gpu_machine *)*state)->root, each, &availability);
    assert_int_equal(availability.state, GT_ABSENT);
    assert_non_null(strstr(availability.reason, "neither"));
    judge(*state, 10, 10.2, &availability);
    assert_int_equal(availability.state, GT_READY);
    assert_string_equal(availability.reason,
                        "perf events and powercap agree on cpu_energy: 10 J and 10.2 J in 0.2 s, 2.0 % apart");
    judge(*state, 10, 40, &availability);
    assert_int_equal(availability.state, GT_BROKEN);
    assert_non_null(strstr(availability.reason, "disagree on cpu_energy: 10 J and 40 J"));
    judge(*state, 0, 40, &availability);
    assert_int_equal(availability.state, GT_BROKEN);
    assert_string_equal(availability.reason, "by perf events the counters stand still, by powercap they do not");
    judge(*state, 40, 0, &availability);
    assert_string_equal(availability.reason, "by powercap the counters stand still, by perf events they do not");
    judge(*state, 0, 0, &availability);
    assert_non_null(strstr(availability.reason, "in both"));
}
