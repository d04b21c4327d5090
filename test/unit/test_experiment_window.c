/* Windows of experiments on a machine with two processor packages. */
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
static struct gt_attribution attribution;
static struct gt_experiment_window window;

static void take_reading(void)
{
    struct gt_error error = {0};
    assert_int_equal(gt_sampler_read(&sampler, 0, &error), 0);
    assert_int_equal(gt_attribute_gpus(&attribution, &sampler.snapshot, &sampler.tree), 0);
}

static void open_window(const struct gt_sampler_options *options, pid_t other)
{
    struct gt_error error = {0};
    assert_int_equal(gt_sampler_open(&sampler, options, &error), 0);
    if (other)
        assert_int_equal(gt_tree_add(&sampler.tree, other), 1);
    gt_attribution_init(&attribution, GT_IDLE_SHARE, 1, gt_clock_monotonic(&sampler.clock));
    take_reading();
    assert_int_equal(gt_experiment_window_begin(&window, &sampler, &attribution, false), 0);
}

static void conclude_window(void)
{
    take_reading();
    assert_int_equal(gt_experiment_window_read(&window), 0);
    gt_experiment_window_conclude(&window);
}

static void close_window(void)
{
    gt_experiment_window_release(&window);
    gt_attribution_release(&attribution);
    gt_sampler_close(&sampler);
}

TEST(each_process_has_the_watts_of_its_package)
{
    static struct gpu_machine machine;
    gpu_machine_begin(&machine);
    put(&machine, 0);
    open_window(
        &(struct gt_sampler_options){
            .pid = FIRST, .memory = "rss", .period = 1, .machine_root = machine.path, .clock = &machine.clock},
        SECOND);
    for (unsigned second = 1; second <= 2; second++) {
        machine.monotonic_ns += GT_SECOND;
        put(&machine, second);
        conclude_window();
        assert_close(gt_experiment_watts(&window, GT_CPU_ENERGY), 80, 1e-6);
        for (size_t i = 0; i < 2; i++) {
            const struct gt_experiment_process *process = &window.process[i];
            assert_close(process->cpu_used, 0.5, 1e-9);
            assert_close(gt_experiment_process_watts(&window, process, process->cpu_used, GT_CPU_ENERGY),
                         process->pid == FIRST ? 10 : 30, 1e-6);
        }
        gt_experiment_window_next(&window);
    }
    close_window();
    gpu_machine_end(&machine);
}

/* What has ended has no memory to read. */
TEST(a_window_in_which_all_ended_has_their_mean_memory)
{
    static struct gpu_machine machine;
    gpu_machine_begin(&machine);
    put(&machine, 0);
    open_window(
        &(struct gt_sampler_options){
            .pid = FIRST, .memory = "rss", .period = 1, .machine_root = machine.path, .clock = &machine.clock},
        SECOND);
    for (int ended = 1; ended <= 2; ended++) {
        machine.monotonic_ns += GT_SECOND;
        fake_proc_remove(machine.path, ended == 1 ? SECOND : FIRST);
        gt_sampler_read(&sampler, 0, NULL);
        assert_int_equal(gt_experiment_window_read(&window), 0);
    }
    gt_experiment_window_conclude(&window);
    assert_int_equal(window.process_count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_close(window.process[i].pss, (window.process[i].pid == FIRST ? 10 : 5) * sysconf(_SC_PAGESIZE), 1e-9);
    close_window();
    gpu_machine_end(&machine);
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
    open_window(
        &(struct gt_sampler_options){
            .pid = FIRST, .memory = "rss", .period = 0.1, .machine_root = machine.path, .clock = &machine.clock},
        0);
    double joules = 0;
    int64_t begin = window.begin_real_ns;
    for (int i = 1; i <= 40; i++) {
        machine.monotonic_ns += GT_SECOND / 10;
        machine.real_ns += GT_SECOND / 10;
        machine.call_ns = i % 3 * GT_SECOND / 500;
        conclude_window();
        if (i > 1)
            assert_close(gt_experiment_watts(&window, GT_CPU_ENERGY), 100, 2);
        joules += gt_experiment_watts(&window, GT_CPU_ENERGY) * window.seconds;
        gt_experiment_window_next(&window);
    }
    assert_close(joules, window.at_begin[GT_CPU_ENERGY], 1e-6 * joules);
    assert_true(begin < window.begin_real_ns);
    close_window();
    gpu_machine_end(&machine);
}
