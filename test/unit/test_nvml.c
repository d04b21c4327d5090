/* NVML: devices, their states and counters, MIG, drivers that lack functions or fail. */
#include "support/gpu_machine.h"
#include "support/test.h"

extern const struct gt_collector_type gt_collector_nvml;

#define BOARD(number, letter)                                                                            \
    "device " number "\n"                                                                                \
    "uuid GPU-" letter letter letter letter "\nname Fake H100\npci 0 " number " 0\nminor " number "\n"   \
    "memory 80000000000 500000000 1000000000\nutilization 37 12\nencoder 5\ndecoder 6\ntemperature 41\n" \
    "clock 1980 2619\nreasons 0\nfield 186 0 350500\nfield 185 0 349000\npower_usage 340000\nenergy 5000000\n"

static struct gpu_machine machine;

static int setup(void **state)
{
    *state = &machine;
    gpu_machine_begin(&machine);
    gpu_machine_initial_namespace(&machine);
    return 0;
}

static enum gt_source_state open_with(const char *file, const char *data)
{
    gpu_machine_library(&machine, "nvml", file, "GT_FAKE_NVML", data);
    return gpu_machine_open(&machine, &gt_collector_nvml);
}

static double value(int device, enum gt_metric_id metric)
{
    return gpu_machine_device(&machine, device, metric);
}

TEST_WITH(reads_every_state, setup, gpu_machine_teardown)
{
    assert_int_equal(open_with("nvml", "version 12.550.54\ndriver 550.54\n" BOARD("0", "a")), GT_READY);
    assert_string_equal(machine.availability.source, "NVML 12.550.54, driver 550.54 (libnvml.so)");
    const struct gt_device *device = &machine.snapshot.device[0];
    assert_string_equal(device->uuid, "GPU-aaaa");
    assert_string_equal(device->name, "Fake H100");
    assert_string_equal(device->brand, "nvidia");
    assert_string_equal(device->pci, "0000:00:00.0");
    assert_int_equal(device->parent, -1);
    assert_true(device->memory == 80e9);
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(value(0, GT_GPU_RAM) == 1e9);
    assert_true(value(0, GT_GPU_UTILIZATION) == 0.37);
    assert_true(value(0, GT_GPU_MEMORY_UTILIZATION) == 0.12);
    assert_true(value(0, GT_GPU_ENCODER) == 0.05);
    assert_true(value(0, GT_GPU_DECODER) == 0.06);
    assert_true(value(0, GT_GPU_TEMPERATURE) == 41);
    assert_true(value(0, GT_GPU_CLOCK) == 1980e6);
    assert_true(value(0, GT_GPU_MEMORY_CLOCK) == 2619e6);
    assert_true(value(0, GT_GPU_THROTTLE) == 0);
    assert_true(value(0, GT_GPU_POWER) == 350.5);
    assert_true(value(0, GT_GPU_ENERGY) == 0);
}

TEST_WITH(energy_counts_from_the_first_reading, setup, gpu_machine_teardown)
{
    open_with("nvml", "device 0\nuuid GPU-a\nenergy 5000000\n"
                      "frame\ndevice 0\nenergy 5000250\n"
                      "frame\ndevice 0\nenergy 100\n"
                      "frame\ndevice 0\nenergy 1100\n"
                      "frame\ndevice 0\nfail nvmlDeviceGetTotalEnergyConsumption 999\n"
                      "frame\ndevice 0\nfail -\nenergy 3100\n");
    static const double expected[] = {0, 0.25, 0.25, 1.25, NAN, 3.25}; /* the drop adds nothing */
    for (int i = 0; i < 6; i++) {
        gpu_machine_step(&machine, "nvml", i);
        assert_int_equal(gpu_machine_collect(&machine, 1), 0);
        double joules = value(0, GT_GPU_ENERGY);
        assert_true(isnan(expected[i]) ? isnan(joules) : fabs(joules - expected[i]) < 1e-9);
    }
}

static double doubted; /* by what run_counter has read */

/* A board that tells 300 W for 20 s; its counter goes on by `joules` each second, by `last` in the last one. */
static int run_counter(double joules, double last)
{
    static char data[8192];
    int warnings = 0;
    double before = 0, counter = 1e6;
    snprintf(data, sizeof data, "device 0\nuuid GPU-a\nname Fake\nfield 186 0 300000\nenergy %.0f\n", counter * 1e3);
    for (int i = 1; i <= 20; i++) {
        size_t used = strlen(data);
        counter += i < 20 ? joules : last;
        snprintf(data + used, sizeof data - used, "frame\ndevice 0\nenergy %.0f\n", counter * 1e3);
    }
    open_with("nvml", data);
    doubted = 0;
    for (int i = 0; i <= 20; i++) {
        gpu_machine_step(&machine, "nvml", i);
        warnings += gpu_machine_collect(&machine, 1) == -EIO;
        doubted += machine.snapshot.device[0].doubt;
        double now = value(0, GT_GPU_ENERGY);
        assert_true(now >= before && now <= 400.0 * i);
        before = now;
    }
    return warnings;
}

static void said(const char *text)
{
    char description[500];
    machine.type->describe(machine.state, description, sizeof description);
    if (!strstr(description, text))
        fail_msg("\"%s\" is not in \"%s\"", text, description);
}

TEST_WITH(a_counter_is_held_against_power, setup, gpu_machine_teardown)
{
    assert_int_equal(run_counter(290, 290), 0);
    assert_close(value(0, GT_GPU_ENERGY), 20 * 290, 1e-6);
    said("counter 5800 J, power added up 6000 J in 20 s: they agree, the counter is used");
    assert_true(doubted == 0);
}

TEST_WITH(a_counter_somewhat_apart_is_used_and_that_is_said, setup, gpu_machine_teardown)
{
    assert_int_equal(run_counter(172, 172), 1);
    assert_close(value(0, GT_GPU_ENERGY), 20 * 172, 1e-6);
    said("they disagree, the counter is used");
    assert_close(doubted, 20 * (300 - 172), 1e-6);
}

TEST_WITH(a_counter_that_stands_still_is_not_used, setup, gpu_machine_teardown)
{
    assert_int_equal(run_counter(0, 0), 1);
    assert_close(value(0, GT_GPU_ENERGY), 20 * 300, 1e-6);
    said("they disagree, the power is used");
}

TEST_WITH(a_counter_in_a_wrong_unit_is_not_used, setup, gpu_machine_teardown)
{
    assert_int_equal(run_counter(300e3, 300e3), 1);
    assert_close(value(0, GT_GPU_ENERGY), 20 * 300, 1e-6);
}

TEST_WITH(power_stands_in_where_a_counter_was_set_back, setup, gpu_machine_teardown)
{
    assert_int_equal(run_counter(290, -900e3), 0);
    assert_close(value(0, GT_GPU_ENERGY), 19 * 290 + 300, 1e-6);
    said("set back 1 times");
}

TEST_WITH(the_power_of_the_memory_is_a_part, setup, gpu_machine_teardown)
{
    open_with("nvml", "device 0\nuuid GPU-a\nfield 186 0 400000\nfield 185 2 60000\nenergy 0\n"
                      "device 1\nuuid GPU-b\nfield 186 0 400000\nfield 186 2 70000\nfield 185 2 60000\nenergy 0\n"
                      "device 2\nuuid GPU-c\nfield 186 0 400000\nfield 185 2 0\nfield 186 1 0\nenergy 0\n"
                      "frame\ndevice 2\nenergy 390000\n");
    gpu_machine_collect(&machine, 1);
    gpu_machine_step(&machine, "nvml", 1);
    gpu_machine_collect(&machine, 1);
    assert_true(value(0, GT_GPU_MEMORY_POWER) == 60 && value(0, GT_GPU_POWER) == 400);
    assert_true(value(1, GT_GPU_MEMORY_POWER) == 70);
    assert_true(isnan(value(2, GT_GPU_MEMORY_POWER))); /* 0 W is no power */
    assert_close(value(2, GT_GPU_ENERGY), 390, 1e-6);  /* no module: its counter is the GPU's */
}

/* Any call would tell here that the board is lost. */
TEST_WITH(a_sleeping_board_is_not_asked, setup, gpu_machine_teardown)
{
    static const char status[] = "sys/bus/pci/devices/0000:00:00.0/power/runtime_status";
    open_with("nvml", BOARD("0", "a") "frame\ndevice 0\nfail nvmlDeviceGetTemperature 15\n"
                                      "frame\ndevice 0\nfail -\nenergy 5100000\n"
                                      "frame\ndevice 0\nenergy 5450000\n");
    gpu_machine_file(&machine, status, "active\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(value(0, GT_GPU_TEMPERATURE) == 41);
    gpu_machine_step(&machine, "nvml", 1);
    gpu_machine_file(&machine, status, "suspended\n");
    assert_int_equal(gpu_machine_collect(&machine, 1000), 0);
    assert_true(isnan(value(0, GT_GPU_TEMPERATURE)) && isnan(value(0, GT_GPU_POWER)) && isnan(value(0, GT_GPU_ENERGY)));
    gpu_machine_step(&machine, "nvml", 2);
    gpu_machine_file(&machine, status, "active\n");
    assert_int_equal(gpu_machine_collect(&machine, 0.1), 0);
    gpu_machine_step(&machine, "nvml", 3);
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(value(0, GT_GPU_TEMPERATURE) == 41);
    char text[500];
    machine.type->describe(machine.state, text, sizeof text);
    assert_null(strstr(text, "disagree")); /* its sleep is no difference between power and counter */
}

TEST_WITH(maps_throttle_reasons, setup, gpu_machine_teardown)
{
    static const struct {
        const char *reasons;
        double bits;
    } cases[] = {{"0x1", 0}, {"0x4", 1},  {"0x80", 1},  {"0x20", 2}, {"0x40", 2},
                 {"0x8", 4}, {"0x10", 8}, {"0x105", 9}, {"0x48", 6}, {"0x400", 8}};
    char data[4096] = BOARD("0", "a");
    for (int i = 0; i < 10; i++) {
        size_t used = strlen(data);
        snprintf(data + used, sizeof data - used, "frame\ndevice 0\nreasons %s\n", cases[i].reasons);
    }
    open_with("nvml", data);
    for (int i = 0; i < 10; i++) {
        gpu_machine_step(&machine, "nvml", i + 1);
        gpu_machine_collect(&machine, 1);
        assert_true(value(0, GT_GPU_THROTTLE) == cases[i].bits);
    }
}

TEST_WITH(memory_falls_back_and_may_be_missing, setup, gpu_machine_teardown)
{
    open_with("nvml_v1", BOARD("0", "a") "device 1\nuuid GPU-spark\n"
                                         "device 2\nuuid GPU-zero\nmemory 0 0 0\n");
    gpu_machine_collect(&machine, 1);
    assert_true(value(0, GT_GPU_RAM) == 1.5e9); /* the older function adds what is reserved */
    assert_true(isnan(machine.snapshot.device[1].memory) && isnan(value(1, GT_GPU_RAM)));
    assert_true(isnan(machine.snapshot.device[2].memory) && isnan(value(2, GT_GPU_RAM)));
}

TEST_WITH(utilization_above_100_is_no_reading, setup, gpu_machine_teardown)
{
    open_with("nvml", BOARD("0", "a") "frame\ndevice 0\nutilization 4294967295 101\n");
    gpu_machine_step(&machine, "nvml", 1);
    gpu_machine_collect(&machine, 1);
    assert_true(isnan(value(0, GT_GPU_UTILIZATION)) && isnan(value(0, GT_GPU_MEMORY_UTILIZATION)));
    assert_true(value(0, GT_GPU_TEMPERATURE) == 41);
}

/* A superchip whose CPU another source counts: the energy of the module would count it again. */
TEST_WITH(a_module_is_not_added_to_its_cpu, setup, gpu_machine_teardown)
{
    char text[300];
    static const struct gt_collector_type other;
    machine.snapshot.owner[GT_CPU_ENERGY] = &other;
    open_with("nvml", "device 0\nuuid GPU-a\nfield 186 1 500000\nenergy 1000\n"
                      "device 1\nuuid GPU-b\nfield 186 0 300000\nfield 186 1 500000\nenergy 1000\n"
                      "frame\ndevice 0\nenergy 501000\ndevice 1\nenergy 501000\n");
    gpu_machine_step(&machine, "nvml", 1);
    gpu_machine_collect(&machine, 1);
    assert_true(isnan(value(0, GT_GPU_ENERGY)));
    assert_true(fabs(value(1, GT_GPU_ENERGY) - 300) < 1e-6); /* the GPU's own power, not the module's counter */
    machine.type->describe(machine.state, text, sizeof text);
    assert_non_null(strstr(text, "left out"));
}

TEST_WITH(tells_over_what_time_power_is_averaged, setup, gpu_machine_teardown)
{
    static const struct {
        const char *capability;
        double refresh;
        const char *text;
    } cases[] = {{"8 0", 0.1, "25 of each 100 ms"}, {"8 6", 1, "1 s average"}, {"7 0", 0.1, "added up"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char data[200], text[300];
        snprintf(data, sizeof data, "device 0\nuuid GPU-a\npower_usage 90000\ncapability %s\n", cases[i].capability);
        open_with("nvml", data);
        assert_close(machine.availability.refresh, cases[i].refresh, 1e-9);
        machine.type->describe(machine.state, text, sizeof text);
        assert_non_null(strstr(text, cases[i].text));
        gt_collector_close(machine.type, machine.state);
        machine.state = NULL;
    }
}

TEST_WITH(chooses_the_scope_of_power, setup, gpu_machine_teardown)
{
    char text[300];
    open_with("nvml", "device 0\nuuid GPU-a\nfield 186 0 100000\npower_usage 90000\n"
                      "device 1\nuuid GPU-b\npower_usage 90000\nfield 186 1 500000\n"
                      "device 2\nuuid GPU-c\nfield 186 1 500000\n"
                      "device 3\nuuid GPU-d\n");
    gpu_machine_collect(&machine, 1);
    assert_true(value(0, GT_GPU_POWER) == 100);
    assert_true(value(1, GT_GPU_POWER) == 90);
    assert_true(value(2, GT_GPU_POWER) == 500);
    assert_true(isnan(value(3, GT_GPU_POWER)));
    assert_true(fabs(value(0, GT_GPU_ENERGY) - 100) < 1e-6);
    assert_true(fabs(value(1, GT_GPU_ENERGY) - 90) < 1e-6);
    assert_true(fabs(value(2, GT_GPU_ENERGY) - 500) < 1e-6);
    assert_true(isnan(value(3, GT_GPU_ENERGY)));
    assert_ptr_equal(machine.snapshot.owner[GT_CPU_ENERGY],
                     machine.type); /* its CPU is in the module's: none is added */
    machine.type->describe(machine.state, text, sizeof text);
    assert_string_equal(
        text, "energy is power added up; power may be the driver's 1 s average; power is of the module, CPU included");
}

TEST_WITH(finds_peaks_between_readings, setup, gpu_machine_teardown)
{
    /* the clock begins at 1700000000 s; samples from before are not of this recording */
    open_with("nvml", BOARD("0", "a") "sample 1 1699999999900000 99\nsample 0 1699999999900000 990000\n"
                                      "sample 1 1700000000100000 20\nsample 1 1700000000300000 85\n"
                                      "sample 1 1700000000600000 10\n"
                                      "sample 0 1700000000200000 400000\nsample 0 1700000000700000 120000\n"
                                      "frame\ndevice 0\nsample 1 1700000000300000 85\nsample 1 1700000001500000 30\n");
    gpu_machine_collect(&machine, 1);
    assert_true(value(0, GT_GPU_UTILIZATION_PEAK) == 0.85);
    assert_true(value(0, GT_GPU_POWER_PEAK) == 400);
    gpu_machine_step(&machine, "nvml", 1);
    gpu_machine_collect(&machine, 1);
    assert_true(value(0, GT_GPU_UTILIZATION_PEAK) == 0.30);
    assert_true(isnan(value(0, GT_GPU_POWER_PEAK)));
}

TEST_WITH(takes_long_rings_of_samples, setup, gpu_machine_teardown)
{
    char *data = calloc(1, 64 * 2000);
    size_t used = (size_t)sprintf(data, BOARD("0", "a"));
    for (int i = 0; i < 1500; i++)
        used += (size_t)sprintf(data + used, "sample 0 %lld %d\n", 1700000000000001LL + i, i == 1400 ? 700000 : 1000);
    open_with("nvml", data);
    free(data);
    gpu_machine_collect(&machine, 1);
    assert_true(value(0, GT_GPU_POWER_PEAK) == 700);
}

TEST_WITH(slices_are_devices_with_a_parent, setup, gpu_machine_teardown)
{
    machine.snapshot.process_count = 0;
    gpu_machine_process(&machine, 100);
    open_with("nvml",
              BOARD("0", "a") "mig 1\nprocess 0 100 n/a 1 0\nprocess 0 200 n/a 2 0\n"
                              "device 0.0\nuuid MIG-one\nname Slice\ninstance 1 0\nmemory 20000000000 0 3000000\n"
                              "process 0 100 2000000 1 0\n"
                              "device 0.3\nuuid MIG-two\ninstance 2 0\nmemory 10000000000 0 4000000\n");
    assert_int_equal(machine.snapshot.device_count, 3);
    const struct gt_device *slice = &machine.snapshot.device[2];
    assert_string_equal(slice->uuid, "MIG-two");
    assert_int_equal(slice->parent, 0);
    assert_int_equal(slice->gpu_instance, 2);
    assert_int_equal(slice->compute_instance, 0);
    assert_true(slice->memory == 10e9);
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(value(2, GT_GPU_RAM) == 4e6);
    assert_true(isnan(value(2, GT_GPU_POWER)) && isnan(value(2, GT_GPU_ENERGY)));
    assert_true(value(0, GT_GPU_POWER) == 350.5);
    assert_true(gpu_machine_share(&machine, 1, 100, GT_GPU_RAM) == 2e6);
    assert_true(isnan(gpu_machine_share(&machine, 1, 100, GT_GPU_UTILIZATION)));
    assert_int_equal(machine.snapshot.share_count, 1); /* the board's own list says the same again */
}

TEST_WITH(slices_without_lists_take_the_boards, setup, gpu_machine_teardown)
{
    gpu_machine_process(&machine, 100);
    gpu_machine_process(&machine, 200);
    open_with("nvml_v3", BOARD("0", "a") "mig 1\nprocess 0 100 7000000 1 0\nprocess 0 200 8000000 2 0\n"
                                         "process 0 200 1000000 1 0\n"
                                         "device 0.0\nuuid MIG-one\ninstance 1 0\n"
                                         "fail nvmlDeviceGetComputeRunningProcesses_v3 3\n"
                                         "fail nvmlDeviceGetGraphicsRunningProcesses_v3 3\n"
                                         "fail nvmlDeviceGetMPSComputeRunningProcesses_v3 3\n"
                                         "device 0.1\nuuid MIG-two\ninstance 2 0\n"
                                         "fail nvmlDeviceGetComputeRunningProcesses_v3 3\n"
                                         "fail nvmlDeviceGetGraphicsRunningProcesses_v3 3\n"
                                         "fail nvmlDeviceGetMPSComputeRunningProcesses_v3 3\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(gpu_machine_share(&machine, 1, 100, GT_GPU_RAM) == 7e6);
    assert_true(gpu_machine_share(&machine, 2, 200, GT_GPU_RAM) == 8e6);
    assert_true(gpu_machine_share(&machine, 1, 200, GT_GPU_RAM) == 1e6);
}

TEST_WITH(a_lost_gpu_is_reported_once, setup, gpu_machine_teardown)
{
    open_with("nvml", BOARD("0", "a") BOARD("1", "b") "frame\ndevice 0\nfail nvmlDeviceGetTotalEnergyConsumption 15\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    gpu_machine_step(&machine, "nvml", 1);
    assert_int_equal(gpu_machine_collect(&machine, 1), -EIO);
    assert_non_null(strstr(machine.error.text, "GPU 0 (Fake H100, GPU-aaaa) is lost"));
    assert_true(isnan(value(0, GT_GPU_RAM)) && isnan(value(0, GT_GPU_POWER)));
    assert_true(value(1, GT_GPU_RAM) == 1e9 && value(1, GT_GPU_POWER) == 350.5);
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(isnan(value(0, GT_GPU_TEMPERATURE)) && value(1, GT_GPU_TEMPERATURE) == 41);
}

TEST_WITH(all_gpus_that_are_lost_at_once_are_named, setup, gpu_machine_teardown)
{
    open_with("nvml", BOARD("0", "a") BOARD("1", "b")
                          BOARD("2", "c") "frame\n"
                                          "device 0\nfail nvmlDeviceGetTotalEnergyConsumption 15\nxid 79\n"
                                          "device 2\nfail nvmlDeviceGetTotalEnergyConsumption 15\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    gpu_machine_step(&machine, "nvml", 1);
    assert_int_equal(gpu_machine_collect(&machine, 1), -EIO);
    assert_string_equal(machine.error.text,
                        "GPU 0 (Fake H100, GPU-aaaa), GPU 2 (Fake H100, GPU-cccc) are lost to their driver "
                        "and not measured any more");
    assert_true(value(0, GT_GPU_LOST) == 1 && value(1, GT_GPU_LOST) == 0 && value(2, GT_GPU_LOST) == 1);
    assert_true(value(0, GT_GPU_XID) == 79 && value(0, GT_GPU_XIDS) == 1 && value(1, GT_GPU_XIDS) == 0);
}

TEST_WITH(missing_functions_cost_only_their_metrics, setup, gpu_machine_teardown)
{
    assert_int_equal(open_with("nvml_minimal", BOARD("0", "a")), GT_READY);
    assert_int_equal(machine.snapshot.device_count, 1);
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        assert_true(metric == GT_GPU_LOST ? value(0, metric) == 0 : isnan(value(0, metric)));
}

TEST_WITH(tells_why_it_is_not_ready, setup, gpu_machine_teardown)
{
    assert_int_equal(open_with("nvml", "init 9\n"), GT_ABSENT);
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_nvml), GT_ABSENT);
    gpu_machine_file(&machine, "GT_FAKE_NVML", "init 18\n");
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_nvml), GT_BROKEN);
    assert_string_equal(machine.availability.reason, "Driver/library version mismatch");
    gpu_machine_file(&machine, "GT_FAKE_NVML", "init 4\n");
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_nvml), GT_DENIED);
    assert_true(machine.availability.remedy[0]);
    gpu_machine_file(&machine, "GT_FAKE_NVML", "# no device\n");
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_nvml), GT_ABSENT);
    gpu_machine_file(&machine, "GT_FAKE_NVML", "device 0\nfail nvmlDeviceGetHandleByIndex_v2 4\n");
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_nvml), GT_DENIED);
}

TEST_WITH(other_brands_and_wrong_paths, setup, gpu_machine_teardown)
{
    machine.libraries[0] = "nvml=/nowhere/libnvml.so";
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_nvml), GT_BROKEN);
    assert_non_null(strstr(machine.availability.reason, "/nowhere/libnvml.so"));
    machine.options.gpu_brand = "amd";
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_nvml), GT_ABSENT);
    assert_int_equal(machine.snapshot.device_count, 0);
}

/* Driver calls that take 10 ms may not come more often than a part of a core allows: 10 samples a second for 20 s. */
TEST_WITH(slow_drivers_are_asked_less_often, setup, gpu_machine_teardown)
{
    char data[65536] = BOARD("0", "a");
    size_t used = strlen(data);
    for (int i = 1; i < 64; i++)
        used += (size_t)snprintf(data + used, sizeof data - used, "frame\ndevice 0\nutilization %d 0\n", i);
    open_with("nvml", data);
    machine.call_ns = 10000000;
    int changes = 0;
    double last = -1;
    for (int i = 0; i < 60; i++) {
        gpu_machine_step(&machine, "nvml", i);
        gpu_machine_collect(&machine, 0.1);
        changes += value(0, GT_GPU_UTILIZATION) != last;
        last = value(0, GT_GPU_UTILIZATION);
        assert_false(isnan(last)); /* between two readings the last one stands */
    }
    assert_in_range(changes, 2, 6);
}

/* The pace is 10 s by then. */
TEST_WITH(the_last_reading_is_always_taken, setup, gpu_machine_teardown)
{
    open_with("nvml", BOARD("0", "a") "frame\ndevice 0\ntemperature 80\n");
    machine.call_ns = 10000000;
    for (int i = 0; i < 60; i++)
        gpu_machine_collect(&machine, 0.5);
    gpu_machine_step(&machine, "nvml", 1);
    gpu_machine_collect(&machine, 0.5);
    assert_true(machine.snapshot.device[0].is_old && value(0, GT_GPU_TEMPERATURE) == 41);
    machine.snapshot.is_last = true;
    gpu_machine_collect(&machine, 0.5);
    assert_true(!machine.snapshot.device[0].is_old && value(0, GT_GPU_TEMPERATURE) == 80);
}
