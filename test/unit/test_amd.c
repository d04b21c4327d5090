/* AMD GPUs by AMD SMI, and the known faults of its values. */
#include "support/gpu_machine.h"
#include "support/test.h"

extern const struct gt_collector_type gt_collector_amd;

#define CARD                                                                                                 \
    "device 0\nname Fake MI300X\nuuid ee-0001\nbdf 0 195 0 0\nvram 200000000000 3000000000\nactivity 42 7\n" \
    "temperature 0 55\nclock 0 2100\nclock 4 1300\npower 300 n/a\n"

static struct gpu_machine machine;

static int setup(void **state)
{
    *state = &machine;
    gpu_machine_begin(&machine);
    gpu_machine_initial_namespace(&machine);
    gpu_machine_process(&machine, 100);
    gpu_machine_process(&machine, 200);
    return 0;
}

static enum gt_source_state open_amdsmi(const char *data)
{
    gpu_machine_library(&machine, "amdsmi", "amdsmi", "GT_FAKE_AMDSMI", data);
    return gpu_machine_open(&machine, &gt_collector_amd);
}

static double value(int device, enum gt_metric_id metric)
{
    return gpu_machine_device(&machine, device, metric);
}

TEST_WITH(reads_every_state, setup, gpu_machine_teardown)
{
    assert_int_equal(open_amdsmi(CARD "energy 1000000 15.3\nframe\ndevice 0\nenergy 2000000 15.3\n"), GT_READY);
    assert_string_equal(machine.availability.source, "AMD SMI (libamdsmi.so)");
    const struct gt_device *device = &machine.snapshot.device[0];
    assert_string_equal(device->name, "Fake MI300X");
    assert_string_equal(device->uuid, "ee-0001");
    assert_string_equal(device->pci, "0000:c3:00.0");
    assert_string_equal(device->brand, "amd");
    assert_true(device->memory == 200e9);
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(value(0, GT_GPU_RAM) == 3e9);
    assert_true(value(0, GT_GPU_UTILIZATION) == 0.42);
    assert_true(value(0, GT_GPU_MEMORY_UTILIZATION) == 0.07);
    assert_true(value(0, GT_GPU_TEMPERATURE) == 55);
    assert_true(value(0, GT_GPU_CLOCK) == 2100e6);
    assert_true(value(0, GT_GPU_MEMORY_CLOCK) == 1300e6);
    assert_true(value(0, GT_GPU_POWER) == 300);
    assert_true(value(0, GT_GPU_ENERGY) == 0);
    gpu_machine_step(&machine, "amdsmi", 1);
    gpu_machine_collect(&machine, 0.05);
    assert_true(fabs(value(0, GT_GPU_ENERGY) - 15.3) < 1e-4); /* a million counts of 15.3 uJ */
}

#define ERRORS "errors 1 7 1\nerrors 4 2 0\nerrors 0x20 100 100\nerrors 0x80 3 1\nreplays 12\n"

/* Once a minute and at the end: links apart from memory, and PCI Express only by its own counter. */
TEST_WITH(tells_errors, setup, gpu_machine_teardown)
{
    assert_int_equal(open_amdsmi("device 0\nbdf 0 195 0 0\n" ERRORS "frame\ndevice 0\nerrors 1 8 1\nreplays 13\n"),
                     GT_READY);
    gpu_machine_collect(&machine, 1);
    assert_true(value(0, GT_GPU_ECC_CORRECTED) == 9 && value(0, GT_GPU_ECC_UNCORRECTED) == 1);
    assert_true(value(0, GT_GPU_XGMI_ERRORS) == 4 && value(0, GT_GPU_PCIE_REPLAYS) == 12);
    assert_true(isnan(value(0, GT_GPU_ECC_CORRECTED_TOTAL)) && isnan(value(0, GT_GPU_NVLINK_ERRORS)));
    gpu_machine_step(&machine, "amdsmi", 1);
    gpu_machine_collect(&machine, 50);
    assert_true(value(0, GT_GPU_ECC_CORRECTED) == 9);
    gpu_machine_collect(&machine, 20);
    assert_true(value(0, GT_GPU_ECC_CORRECTED) == 8 && value(0, GT_GPU_PCIE_REPLAYS) == 13);
    assert_true(isnan(value(0, GT_GPU_XGMI_ERRORS))); /* the driver does not tell it any more */
}

TEST_WITH(tells_errors_at_the_end, setup, gpu_machine_teardown)
{
    open_amdsmi(CARD "replays 1\nframe\ndevice 0\nreplays 2\n");
    gpu_machine_collect(&machine, 1);
    gpu_machine_step(&machine, "amdsmi", 1);
    machine.snapshot.is_last = true;
    gpu_machine_collect(&machine, 1);
    assert_true(value(0, GT_GPU_PCIE_REPLAYS) == 2);
    assert_true(isnan(value(0, GT_GPU_ECC_CORRECTED)));
}

/* A structure of the kernel, with words of 32 bits in it. */
struct kernel_metrics {
    unsigned size, format, content;
    struct {
        size_t offset;
        uint32_t word;
    } at[8];
};

static double throttle_after(const struct kernel_metrics *metrics)
{
    static unsigned char file[4096];
    char path[512];
    uint16_t size = (uint16_t)metrics->size;
    memset(file, 0, sizeof file);
    memcpy(file, &size, sizeof size);
    file[2] = (unsigned char)metrics->format;
    file[3] = (unsigned char)metrics->content;
    for (int i = 0; i < 8; i++)
        if (metrics->at[i].offset)
            memcpy(file + metrics->at[i].offset, &metrics->at[i].word, 4);
    gpu_machine_file(&machine, "sys/bus/pci/devices/0000:c3:00.0/gpu_metrics", "%s", "");
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:c3:00.0/gpu_metrics", machine.path);
    FILE *stream = fopen(path, "we");
    assert_int_equal(fwrite(file, 1, size, stream), size);
    fclose(stream);
    gpu_machine_collect(&machine, 10);
    return value(0, GT_GPU_THROTTLE);
}

TEST_WITH(tells_why_it_is_held_back, setup, gpu_machine_teardown)
{
    static const struct {
        double expected;
        uint32_t low, high;
    } bits[] = {{0, 0, 0},       {1, 1, 0},        {1, 1u << 16, 0}, {2, 0, 1u << 2},  {8, 0, 1u << 4},
                {2, 0, 1u << 6}, {4, 0, 1u << 12}, {4, 0, 1u << 15}, {8, 0, 1u << 24}, {15, 1, 1 | 1u << 14 | 1u << 25},
                {NAN, ~0u, ~0u}};
    open_amdsmi(CARD);
    gpu_machine_collect(&machine, 1);
    assert_true(isnan(value(0, GT_GPU_THROTTLE))); /* there is no such file */
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        double found = throttle_after(&(struct kernel_metrics){120, 1, 3, {{112, bits[i].low}, {116, bits[i].high}}});
        assert_true(isnan(bits[i].expected) ? isnan(found) : found == bits[i].expected);
    }
}

TEST_WITH(tells_for_what_it_was_held_back, setup, gpu_machine_teardown)
{
    static const struct {
        unsigned size, content;
        size_t first;
    } revisions[] = {{1664, 6, 36}, {2208, 7, 44}};
    static const double reasons[] = {4, 1, 2, 2, 2};
    for (int i = 0; i < 2; i++) {
        gpu_machine_teardown(state);
        setup(state);
        open_amdsmi(CARD);
        struct kernel_metrics metrics = {revisions[i].size, 1, revisions[i].content, {{revisions[i].first - 4, 5}}};
        for (size_t cause = 0; cause < 5; cause++) {
            metrics.at[1 + cause].offset = revisions[i].first + 4 * cause;
            metrics.at[1 + cause].word = 100;
        }
        assert_true(isnan(throttle_after(&metrics)));
        metrics.at[0].word = 1000; /* the time in which they are counted */
        assert_true(throttle_after(&metrics) == 0);
        for (int cause = 0; cause < 5; cause++) {
            metrics.at[1 + cause].word++;
            assert_true(throttle_after(&metrics) == reasons[cause]);
        }
        metrics.at[1].word++;
        metrics.at[2].word++;
        assert_true(throttle_after(&metrics) == 5);
        for (int cause = 0; cause < 5; cause++)
            metrics.at[1 + cause].word = UINT32_MAX;
        assert_true(isnan(throttle_after(&metrics)));
    }
}

TEST_WITH(does_not_guess_what_an_unknown_structure_holds, setup, gpu_machine_teardown)
{
    static const struct kernel_metrics unknown[] = {{120, 1, 4, {{112, 1}}},
                                                    {128, 1, 3, {{112, 1}}},
                                                    {120, 2, 3, {{112, 1}}},
                                                    {3000, 1, 8, {{112, 1}}},
                                                    {4, 1, 3, {{0, 0}}}};
    open_amdsmi(CARD);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_true(isnan(throttle_after(&unknown[i])));
}

TEST_WITH(finds_power_in_each_release, setup, gpu_machine_teardown)
{
    static const char *const data[] = {
        "version 23\ndevice 0\npower 95 11\n",    "version 24\ndevice 0\npower 95 n/a\n",
        "version 25\ndevice 0\npower 95 n/a\n",   "version 26\ndevice 0\npower n/a 95\n",
        "version 24\ndevice 0\npower 65535 95\n", "version 23 4\ndevice 0\npower n/a 95\n"};
    for (int i = 0; i < 6; i++) {
        gpu_machine_teardown(state);
        setup(state);
        assert_int_equal(open_amdsmi(data[i]), GT_READY);
        gpu_machine_collect(&machine, 1);
        assert_true(value(0, GT_GPU_POWER) == 95);
    }
}

TEST_WITH(figures_that_are_not_available, setup, gpu_machine_teardown)
{
    open_amdsmi("device 0\nbdf 1 2 3 0\nactivity n/a 65535\npower n/a n/a\nvram 0 0\ntemperature 1 61\n");
    assert_string_equal(machine.snapshot.device[0].uuid, "pci-0001:02:03.0");
    assert_true(isnan(machine.snapshot.device[0].memory));
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(isnan(value(0, GT_GPU_UTILIZATION)) && isnan(value(0, GT_GPU_MEMORY_UTILIZATION)));
    assert_true(isnan(value(0, GT_GPU_POWER)) && isnan(value(0, GT_GPU_ENERGY)));
    assert_true(value(0, GT_GPU_TEMPERATURE) == 61); /* the edge sensor is missing: the hot spot */
}

TEST_WITH(the_second_die_has_no_power, setup, gpu_machine_teardown)
{
    open_amdsmi(CARD "energy 1000 15.3\ndevice 1\nuuid ee-0002\npower n/a 0\nenergy 0 15.3\nactivity 3 1\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(value(0, GT_GPU_ENERGY) == 0);
    assert_true(isnan(value(1, GT_GPU_ENERGY)) && isnan(value(1, GT_GPU_POWER)));
    assert_true(value(1, GT_GPU_UTILIZATION) == 0.03);
}

TEST_WITH(a_package_is_not_added_to_its_cores, setup, gpu_machine_teardown)
{
    static const struct gt_collector_type other;
    static const char data[] = "device 0\nname Fake MI300A\nuuid ee-0001\ntype 6\npower 300 n/a\nenergy 0 1\n"
                               "frame\ndevice 0\nenergy 290000000 1\n";
    for (int has_other = 0; has_other < 2; has_other++) {
        char text[300];
        machine.snapshot.owner[GT_CPU_ENERGY] = has_other ? &other : NULL;
        machine.snapshot.device_count = 0;
        assert_int_equal(open_amdsmi(data), GT_READY);
        assert_ptr_equal(machine.snapshot.owner[GT_CPU_ENERGY], has_other ? &other : machine.type);
        gpu_machine_collect(&machine, 1);
        gpu_machine_step(&machine, "amdsmi", 1);
        gpu_machine_collect(&machine, 1);
        machine.type->describe(machine.state, text, sizeof text);
        if (has_other)
            assert_true(isnan(value(0, GT_GPU_ENERGY)));
        else
            assert_close(value(0, GT_GPU_ENERGY), 290, 1e-6);
        assert_int_equal(strstr(text, "left out") != NULL, has_other);
        gt_collector_close(machine.type, machine.state);
        machine.state = NULL;
    }
}

TEST_WITH(a_sleeping_card_is_not_asked, setup, gpu_machine_teardown)
{
    static const char status[] = "sys/bus/pci/devices/0000:c3:00.0/power/runtime_status";
    open_amdsmi(CARD);
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(value(0, GT_GPU_POWER) == 300);
    gpu_machine_file(&machine, status, "suspending\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(isnan(value(0, GT_GPU_POWER)) && isnan(value(0, GT_GPU_UTILIZATION)));
    gpu_machine_file(&machine, status, "active\n");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_true(value(0, GT_GPU_POWER) == 300);
}

static void expect_rows(const char *row)
{
    char data[600];
    snprintf(data, sizeof data,
             "row %s\n" CARD "process 100 11000000 0 0\nprocess 200 22000000 0 0\nprocess 999 5 0 0\n", row);
    assert_int_equal(open_amdsmi(data), GT_READY);
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_int_equal(machine.snapshot.share_count, 2);
    assert_true(gpu_machine_share(&machine, 0, 100, GT_GPU_RAM) == 11e6);
    assert_true(gpu_machine_share(&machine, 0, 200, GT_GPU_RAM) == 22e6);
    assert_true(isnan(gpu_machine_share(&machine, 0, 200, GT_GPU_UTILIZATION))); /* no engine time is counted */
}

TEST_WITH(process_rows_of_each_release, setup, gpu_machine_teardown)
{
    static const char *const rows[] = {"32 16", "32 48", "64 16", "64 48", "256 16", "256 48"};
    for (int i = 0; i < 6; i++) {
        gpu_machine_teardown(state);
        setup(state);
        expect_rows(rows[i]);
    }
}

TEST_WITH(many_process_rows, setup, gpu_machine_teardown)
{
    char *data = calloc(1, 65536);
    size_t used = (size_t)sprintf(data, CARD);
    for (int i = 0; i < 500; i++)
        used += (size_t)sprintf(data + used, "process %d 1000 0 0\n", 3000 + i);
    sprintf(data + used, "process 100 77 0 0\n");
    open_amdsmi(data);
    free(data);
    gpu_machine_collect(&machine, 1);
    assert_true(gpu_machine_share(&machine, 0, 100, GT_GPU_RAM) == 77);
}

TEST_WITH(unknown_process_rows, setup, gpu_machine_teardown)
{
    char text[200];
    open_amdsmi("row 100 24\n" CARD "process 100 11 0 0\nprocess 200 22 0 0\n");
    gpu_machine_collect(&machine, 1);
    assert_int_equal(machine.snapshot.share_count, 0);
    machine.type->describe(machine.state, text, sizeof text);
    assert_string_equal(text, "the library lists processes in an unknown form");
}

TEST_WITH(engine_time_becomes_utilization, setup, gpu_machine_teardown)
{
    open_amdsmi(CARD "process 100 1000 1000000000 500000000\n"
                     "frame\ndevice 0\nprocess 100 1000 1500000000 700000000\n");
    gpu_machine_collect(&machine, 1);
    assert_true(isnan(gpu_machine_share(&machine, 0, 100, GT_GPU_UTILIZATION)));
    gpu_machine_step(&machine, "amdsmi", 1);
    gpu_machine_collect(&machine, 2);
    assert_true(fabs(gpu_machine_share(&machine, 0, 100, GT_GPU_UTILIZATION) - 0.25) < 1e-9);
    assert_true(fabs(gpu_machine_share(&machine, 0, 100, GT_GPU_ENCODER) - 0.1) < 1e-9);
}

TEST_WITH(tells_why_it_is_not_ready, setup, gpu_machine_teardown)
{
    assert_int_equal(open_amdsmi("init 10\n"), GT_DENIED);
    gpu_machine_file(&machine, "GT_FAKE_AMDSMI", "init 18\n");
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_amd), GT_ABSENT);
    gpu_machine_file(&machine, "sys/module/amdgpu/refcnt", "1\n");
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_amd), GT_BROKEN);
    gpu_machine_file(&machine, "GT_FAKE_AMDSMI", "# no device\n");
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_amd), GT_ABSENT);
    machine.options.gpu_brand = "intel";
    gpu_machine_file(&machine, "GT_FAKE_AMDSMI", CARD);
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_amd), GT_ABSENT);
    machine.options.gpu_brand = "AMD";
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_amd), GT_READY);
}

TEST_WITH(processors_that_are_no_gpus_are_left_out, setup, gpu_machine_teardown)
{
    open_amdsmi("device 0\ntype 2\n"
                "device 1\nuuid ee-0002\ntype 1\n");
    assert_int_equal(machine.snapshot.device_count, 1);
    assert_string_equal(machine.snapshot.device[0].uuid, "ee-0002");
}

/* The pace is 10 s by then. */
TEST_WITH(the_last_reading_is_always_taken, setup, gpu_machine_teardown)
{
    assert_int_equal(open_amdsmi(CARD "frame\ndevice 0\ntemperature 0 80\n"), GT_READY);
    machine.call_ns = 10000000;
    for (int i = 0; i < 60; i++)
        gpu_machine_collect(&machine, 0.5);
    gpu_machine_step(&machine, "amdsmi", 1);
    gpu_machine_collect(&machine, 0.01);
    assert_true(machine.snapshot.device[0].is_old && value(0, GT_GPU_TEMPERATURE) == 55);
    machine.snapshot.is_last = true;
    gpu_machine_collect(&machine, 0.01);
    assert_true(!machine.snapshot.device[0].is_old && value(0, GT_GPU_TEMPERATURE) == 80);
}
