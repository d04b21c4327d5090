/* Windows of experiments on a machine with two processor packages. */
#include "gpu_tracker.h"
#include "record/aipowermeter.h"
#include "support/fake_proc.h"
#include "support/gpu_machine.h"
#include "support/test.h"

static const pid_t FIRST = 700, SECOND = 701;

/* Package 0 draws 20 W, package 1 60 W; each has one CPU, half of it busy with the job's process and half with others. */
static void put(struct gpu_machine *machine, unsigned second)
{
    gpu_machine_file(machine, "proc/stat", "cpu  %u 0 0 0\ncpu0 %u 0 0 0\ncpu1 %u 0 0 0\nintr 0\n", 200 * second,
                     100 * second, 100 * second);
    gpu_machine_file(machine, "proc/meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB\nBuffers: 0 kB\nCached: 0 kB\n");
    for (int package = 0; package < 2; package++) {
        char path[96];
        snprintf(path, sizeof path, "sys/class/powercap/intel-rapl:%d/name", package);
        gpu_machine_file(machine, path, "package-%d\n", package);
        snprintf(path, sizeof path, "sys/class/powercap/intel-rapl:%d/energy_uj", package);
        gpu_machine_file(machine, path, "%u000000\n", 5 + (package ? 60 : 20) * second);
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", package);
        gpu_machine_file(machine, path, "%d\n", package);
        fake_proc_write(machine->path, &(struct fake_process){.pid = package ? SECOND : FIRST,
                                                              .parent = 1,
                                                              .start = 1ull << 50,
                                                              .cpu_ticks = 50 * second,
                                                              .resident_pages = 10,
                                                              .cpu = package,
                                                              .allowed = "0-1"});
    }
}

/* A tracker's part of it. */
static struct gt_sampler sampler;
static struct gt_combiner combiner;
static struct gt_power_log *power_log;
static char text[8192]; /* the latest record */
static int records;

static int keep_record(void *context, const char *metrics)
{
    (void)context;
    records++;
    snprintf(text, sizeof text, "%s", metrics);
    return 0;
}

/* A figure of the latest record: of the CPUs, or of a process there. */
static double figure(const char *name, pid_t pid)
{
    char key[24];
    const char *at = strstr(text, name);
    snprintf(key, sizeof key, "\"%d\":", (int)pid);
    at = at && pid ? strstr(at, key) : at;
    at = at ? strchr(at, ':') : NULL;
    return at ? strtod(at + 1, NULL) : NAN;
}

static void take_reading(void)
{
    struct gt_error error = {0};
    assert_int_equal(gt_sampler_read(&sampler, 0, &error), 0);
    assert_int_equal(gt_combine_keep(&combiner, &sampler), 0);
}

static void open_log_of(struct gpu_machine *machine, double period, pid_t other)
{
    static const struct gt_experiment_options experiment = {.measurement_period = 0.01, .record = keep_record};
    const struct gt_tracker_options options = {.experiment = &experiment};
    const struct gt_machine described = {.period = 0};
    struct gt_error error = {0};
    records = 0;
    assert_int_equal(gt_sampler_open(&sampler,
                                     &(struct gt_sampler_options){.pid = FIRST,
                                                                  .memory = "rss",
                                                                  .period = period,
                                                                  .machine_root = machine->path,
                                                                  .clock = &machine->clock},
                                     &error),
                     0);
    if (other)
        assert_int_equal(gt_tree_add(&sampler.tree, other), 1);
    gt_combine_init(&combiner, &(struct gt_combine_options){
                                   .detail = true, .core_count = 2, .start_ns = gt_clock_monotonic(&sampler.clock)});
    take_reading();
    assert_int_equal(gt_power_log_open(&power_log, "", &options, &described, &sampler, &combiner, &error), 0);
}

static void take_record(void)
{
    struct gt_error error = {0};
    take_reading();
    assert_int_equal(gt_power_log_read(power_log, false, &error), 0);
}

static void close_log(struct gpu_machine *machine)
{
    assert_int_equal(gt_power_log_close(power_log, NULL), 0);
    gt_combine_release(&combiner);
    gt_sampler_close(&sampler);
    gpu_machine_end(machine);
}

TEST(each_process_has_the_watts_of_its_package)
{
    static struct gpu_machine machine;
    gpu_machine_begin(&machine);
    put(&machine, 0);
    open_log_of(&machine, 1, SECOND);
    for (unsigned second = 1; second <= 2; second++) {
        machine.monotonic_ns += GT_SECOND;
        put(&machine, second);
        take_record();
        assert_close(figure("\"intel_power\"", 0), 80, 1e-6);
        for (pid_t pid = FIRST; pid <= SECOND; pid++) {
            assert_close(figure("absolute_cpu_time_per_pid", pid), 0.5, 1e-9);
            assert_close(figure("rel_intel_power", pid), pid == FIRST ? 10 : 30, 1e-6);
        }
    }
    assert_int_equal(records, 2);
    close_log(&machine);
}

/* What has ended has no memory to read. */
TEST(a_window_in_which_all_ended_has_their_mean_memory)
{
    static struct gpu_machine machine;
    gpu_machine_begin(&machine);
    put(&machine, 0);
    open_log_of(&machine, 1, SECOND);
    for (int ended = 1; ended <= 2; ended++) {
        machine.monotonic_ns += ended == 1 ? GT_SECOND / 200 : GT_SECOND;
        fake_proc_remove(machine.path, ended == 1 ? SECOND : FIRST);
        take_record();
    }
    assert_int_equal(records, 1);
    assert_close(figure("per_process_mem_use_abs", FIRST), 10. * (double)sysconf(_SC_PAGESIZE), 1e-9);
    assert_close(figure("per_process_mem_use_abs", SECOND), 5. * (double)sysconf(_SC_PAGESIZE), 1e-9);
    close_log(&machine);
}

/* A clock under which a package draws 100 W, and each look at the time takes a while. */
static int64_t drawing(void *context)
{
    struct gpu_machine *machine = context;
    machine->monotonic_ns += machine->call_ns;
    gpu_machine_file(machine, "sys/class/powercap/intel-rapl:0/energy_uj", "%lld\n",
                     (long long)(machine->monotonic_ns / 10));
    return machine->monotonic_ns;
}

/* What is read before the counter takes a while, more or less: up to a quarter of the window. */
TEST(watts_are_by_the_time_of_reading_the_counter)
{
    static struct gpu_machine machine;
    gpu_machine_begin(&machine);
    put(&machine, 0);
    gpu_machine_remove(&machine, "sys/class/powercap/intel-rapl:1/name");
    machine.clock.monotonic = drawing;
    drawing(&machine);
    open_log_of(&machine, 0.1, 0);
    for (int i = 1; i <= 40; i++) {
        machine.monotonic_ns += GT_SECOND / 10;
        machine.real_ns += GT_SECOND / 10;
        machine.call_ns = i % 3 * GT_SECOND / 500;
        take_record();
        if (i > 1)
            assert_close(figure("\"intel_power\"", 0), 100, 2);
    }
    assert_int_equal(records, 40);
    close_log(&machine);
}
