/* GPUs by the kernel's drivers: /sys/class/drm and /proc/PID/fdinfo of made-up machines. */
#include "collect/gpu/drm.h"
#include "support/gpu_machine.h"
#include "support/test.h"

extern const struct gt_collector_type gt_collector_drm, gt_collector_amd;

static struct gpu_machine machine;

static int setup(void **state)
{
    *state = &machine;
    gpu_machine_begin(&machine);
    gpu_machine_process(&machine, 100);
    gpu_machine_process(&machine, 200);
    return 0;
}

static void put(const char *directory, const char *file, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    gpu_machine_file(&machine, path, "%s\n", text);
}

static void put_card(int number, const char *driver, const char *pci, const char *vendor)
{
    char directory[64], text[128];
    snprintf(directory, sizeof directory, "sys/class/drm/card%d/device", number);
    snprintf(text, sizeof text, "DRIVER=%s\nPCI_CLASS=30000\nPCI_SLOT_NAME=%s", driver, pci);
    put(directory, "uevent", text);
    put(directory, "vendor", vendor);
    put(directory, "device", "0x73bf");
}

static void put_amdgpu(void)
{
    static const char directory[] = "sys/class/drm/card1/device";
    put_card(1, "amdgpu", "0000:03:00.0", "0x1002");
    put(directory, "mem_info_vram_total", "17163091968");
    put(directory, "mem_info_vram_used", "1073741824");
    put(directory, "gpu_busy_percent", "63");
    put(directory, "mem_busy_percent", "21");
    put(directory, "unique_id", "8f2ab1c3d4e5f607");
    put(directory, "hwmon/hwmon4/temp1_input", "51500");
    put(directory, "hwmon/hwmon4/power1_average", "120000000");
    put(directory, "hwmon/hwmon4/freq1_input", "2400000000");
    put(directory, "hwmon/hwmon4/freq2_input", "1000000000");
}

static void put_xe(void)
{
    put_card(0, "xe", "0000:00:02.0", "0x8086");
    put("sys/class/drm/card0/device/hwmon/hwmon2", "energy1_input", "5000000");
    put("sys/class/drm/card0/device/tile0/gt0/freq0", "act_freq", "1850");
}

static void put_client(pid_t pid, int fd, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%d/fd/%d", (int)pid, fd);
    gpu_machine_link(&machine, path, "/dev/dri/renderD128");
    snprintf(path, sizeof path, "proc/%d/fdinfo/%d", (int)pid, fd);
    gpu_machine_file(&machine, path, "pos:\t0\nflags:\t02100002\n%s", text);
}

#define AMD_CLIENT(id, gfx, vram)                                                           \
    "drm-driver:\tamdgpu\ndrm-client-id:\t" id "\ndrm-pdev:\t0000:03:00.0\npasid:\t32771\n" \
    "drm-memory-vram:\t" vram " KiB\ndrm-memory-gtt:\t8888 KiB\ndrm-memory-cpu:\t77 KiB\n"  \
    "drm-engine-gfx:\t" gfx " ns\ndrm-engine-compute:\t0 ns\ndrm-engine-enc:\t250000000 ns\n"

static double value(int device, enum gt_metric_id metric)
{
    return gpu_machine_device(&machine, device, metric);
}

static double share(pid_t pid, enum gt_metric_id metric)
{
    return gpu_machine_share(&machine, 0, pid, metric);
}

static void expect(double got, double wanted)
{
    if (isnan(wanted) ? !isnan(got) : !(fabs(got - wanted) < 1e-9 * fmax(1, fabs(wanted))))
        fail_msg("%.12g instead of %.12g", got, wanted);
}

TEST_WITH(reads_an_amd_card, setup, gpu_machine_teardown)
{
    put_amdgpu();
    put("sys/class/drm/card1-HDMI-A-1", "status", "connected");
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_drm), GT_READY);
    assert_int_equal(machine.snapshot.device_count, 1);
    const struct gt_device *device = &machine.snapshot.device[0];
    assert_string_equal(device->uuid, "GPU-8f2ab1c3d4e5f607");
    assert_string_equal(device->brand, "amd");
    assert_string_equal(device->name, "amdgpu 0x1002 0x73bf");
    assert_string_equal(device->pci, "0000:03:00.0");
    expect(device->memory, 17163091968.0);
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    expect(value(0, GT_GPU_RAM), 1073741824);
    expect(value(0, GT_GPU_UTILIZATION), 0.63);
    expect(value(0, GT_GPU_MEMORY_UTILIZATION), 0.21);
    expect(value(0, GT_GPU_TEMPERATURE), 51.5);
    expect(value(0, GT_GPU_POWER), 120);
    expect(value(0, GT_GPU_CLOCK), 2.4e9);
    expect(value(0, GT_GPU_MEMORY_CLOCK), 1e9);
    expect(value(0, GT_GPU_ENERGY), 0); /* no counter: power is added up */
    assert_int_equal(gpu_machine_collect(&machine, 2), 0);
    expect(value(0, GT_GPU_ENERGY), 240);
}

TEST_WITH(reads_an_intel_card, setup, gpu_machine_teardown)
{
    put_xe();
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_drm), GT_READY);
    assert_string_equal(machine.snapshot.device[0].uuid, "pci-0000:00:02.0");
    assert_string_equal(machine.snapshot.device[0].brand, "intel");
    assert_true(isnan(machine.snapshot.device[0].memory));
    gpu_machine_collect(&machine, 1);
    expect(value(0, GT_GPU_ENERGY), 0);
    expect(value(0, GT_GPU_CLOCK), 1850e6);
    expect(value(0, GT_GPU_UTILIZATION), NAN);
    put("sys/class/drm/card0/device/hwmon/hwmon2", "energy1_input", "7500000");
    gpu_machine_collect(&machine, 1);
    expect(value(0, GT_GPU_ENERGY), 2.5);
}

TEST_WITH(the_energy_of_a_card_is_not_that_of_its_package_or_tiles, setup, gpu_machine_teardown)
{
    put_xe();
    put("sys/class/drm/card0/device/hwmon/hwmon2", "energy2_input", "900000000"); /* of the package: a part */
    put_card(2, "i915", "0000:4d:00.0", "0x8086");
    for (int i = 5; i < 9; i++) {
        char directory[80];
        snprintf(directory, sizeof directory, "sys/class/drm/card2/device/hwmon/hwmon%d", i);
        put(directory, "name", i == 6 ? "i915" : "i915_gt0");
        put(directory, "energy1_input", i == 6 ? "10000000" : "70000000");
    }
    put_card(3, "xe", "0000:5d:00.0", "0x8086");
    put("sys/class/drm/card3/device/hwmon/hwmon9", "energy2_input", "2000000"); /* the card has none */
    gpu_machine_open(&machine, &gt_collector_drm);
    gpu_machine_collect(&machine, 1);
    put("sys/class/drm/card0/device/hwmon/hwmon2", "energy1_input", "7500000");
    put("sys/class/drm/card0/device/hwmon/hwmon2", "energy2_input", "990000000");
    put("sys/class/drm/card2/device/hwmon/hwmon6", "energy1_input", "14000000");
    put("sys/class/drm/card3/device/hwmon/hwmon9", "energy2_input", "5000000");
    gpu_machine_collect(&machine, 1);
    expect(value(0, GT_GPU_ENERGY), 2.5);
    expect(value(1, GT_GPU_ENERGY), 4);
    expect(value(2, GT_GPU_ENERGY), 3);
}

/* What amdgpu tells of such a processor contains its cores, which RAPL counts. */
TEST_WITH(the_power_of_a_package_is_not_added_up, setup, gpu_machine_teardown)
{
    put_amdgpu();
    put("sys/class/drm/card1/device/hwmon/hwmon4", "power1_label", "PPT");
    gpu_machine_open(&machine, &gt_collector_drm);
    gpu_machine_collect(&machine, 1);
    gpu_machine_collect(&machine, 1);
    expect(value(0, GT_GPU_ENERGY), 120); /* a card of its own */
    static const char *const files[][2] = {{"in1_input", "900"}, {"power1_label", "slowPPT"}};
    for (int i = 0; i < 2; i++) {
        char path[80];
        put("sys/class/drm/card1/device/hwmon/hwmon4", files[i][0], files[i][1]);
        gt_collector_close(machine.type, machine.state);
        machine.snapshot.device_count = 0;
        gpu_machine_open(&machine, &gt_collector_drm);
        gpu_machine_collect(&machine, 1);
        gpu_machine_collect(&machine, 1);
        expect(value(0, GT_GPU_POWER), 120);
        expect(value(0, GT_GPU_ENERGY), NAN);
        snprintf(path, sizeof path, "sys/class/drm/card1/device/hwmon/hwmon4/%s", files[i][0]);
        gpu_machine_remove(&machine, path);
    }
}

TEST_WITH(a_file_that_fails_for_a_while_is_tried_again, setup, gpu_machine_teardown)
{
    put_amdgpu();
    put("sys/class/drm/card1/device", "gpu_busy_percent", "busy");
    gpu_machine_open(&machine, &gt_collector_drm);
    gpu_machine_collect(&machine, 1);
    expect(value(0, GT_GPU_UTILIZATION), NAN);
    put("sys/class/drm/card1/device", "gpu_busy_percent", "104");
    gpu_machine_collect(&machine, 1);
    expect(value(0, GT_GPU_UTILIZATION), NAN);
    put("sys/class/drm/card1/device", "gpu_busy_percent", "0");
    gpu_machine_collect(&machine, 1);
    expect(value(0, GT_GPU_UTILIZATION), 0);
}

TEST_WITH(a_sleeping_card_is_not_woken, setup, gpu_machine_teardown)
{
    put_amdgpu();
    put("sys/class/drm/card1/device/power", "runtime_status", "suspended");
    gpu_machine_open(&machine, &gt_collector_drm);
    static const enum gt_metric_id read[] = {GT_GPU_UTILIZATION, GT_GPU_POWER, GT_GPU_TEMPERATURE,
                                             GT_GPU_CLOCK,       GT_GPU_RAM,   GT_GPU_ENERGY};
    static const char *const states[] = {"suspended", "suspending"};
    for (int i = 0; i < 2; i++) {
        put("sys/class/drm/card1/device/power", "runtime_status", states[i]);
        gpu_machine_collect(&machine, 1);
        for (size_t k = 0; k < sizeof read / sizeof *read; k++)
            expect(value(0, read[k]), NAN);
    }
    put("sys/class/drm/card1/device/power", "runtime_status", "active");
    gpu_machine_collect(&machine, 1);
    expect(value(0, GT_GPU_UTILIZATION), 0.63);
    put("sys/class/drm/card1/device/power", "runtime_status", "suspended");
    gpu_machine_collect(&machine, 1);
    put("sys/class/drm/card1/device/power", "runtime_status", "active");
    gpu_machine_collect(&machine, 10); /* it slept nearly all that time */
    gpu_machine_collect(&machine, 1);
    assert_true(value(0, GT_GPU_ENERGY) < 120 * 7);
}

TEST_WITH(engine_time_becomes_utilization, setup, gpu_machine_teardown)
{
    put_amdgpu();
    gpu_machine_open(&machine, &gt_collector_drm);
    put_client(100, 5, AMD_CLIENT("7", "1000000000", "2048"));
    gpu_machine_collect(&machine, 1);
    expect(share(100, GT_GPU_RAM), 2048 * 1024);
    expect(share(100, GT_GPU_UTILIZATION), NAN); /* one reading is no rate */
    put_client(100, 5, AMD_CLIENT("7", "1500000000", "4096"));
    gpu_machine_collect(&machine, 2);
    expect(share(100, GT_GPU_RAM), 4096 * 1024);
    expect(share(100, GT_GPU_UTILIZATION), 0.25);
    expect(share(100, GT_GPU_ENCODER), 0);
    expect(share(100, GT_GPU_DECODER), NAN);
    put_client(100, 5, AMD_CLIENT("7", "1400000000", "4096")); /* counters may step back */
    gpu_machine_collect(&machine, 1);
    expect(share(100, GT_GPU_UTILIZATION), 0);
}

TEST_WITH(a_new_client_counts_from_its_opening, setup, gpu_machine_teardown)
{
    put_amdgpu();
    gpu_machine_open(&machine, &gt_collector_drm);
    gpu_machine_collect(&machine, 1);
    put_client(200, 3, AMD_CLIENT("9", "300000000", "10"));
    gpu_machine_collect(&machine, 1);
    expect(share(200, GT_GPU_UTILIZATION), 0.3);
    expect(share(200, GT_GPU_ENCODER), 0.25);
}

TEST_WITH(duplicated_and_inherited_descriptors_count_once, setup, gpu_machine_teardown)
{
    put_amdgpu();
    gpu_machine_open(&machine, &gt_collector_drm);
    gpu_machine_collect(&machine, 1);
    for (int fd = 5; fd < 8; fd++)
        put_client(100, fd, AMD_CLIENT("7", "500000000", "1000"));
    put_client(200, 5, AMD_CLIENT("7", "500000000", "1000"));
    put_client(200, 6, AMD_CLIENT("8", "100000000", "500"));
    put_client(200, 7, AMD_CLIENT("9", "200000000", "500"));
    gpu_machine_collect(&machine, 1);
    assert_int_equal(machine.snapshot.share_count, 2);
    expect(share(100, GT_GPU_RAM), 1000 * 1024);
    expect(share(100, GT_GPU_UTILIZATION), 0.5);
    expect(share(200, GT_GPU_RAM), 1000 * 1024);
    expect(share(200, GT_GPU_UTILIZATION), 0.3);
}

static const char xe_client[] = "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:00:02.0\n"
                                "drm-total-vram0:\t23992 KiB\ndrm-resident-vram0:\t16 MiB\ndrm-resident-gtt:\t192 KiB\n"
                                "drm-cycles-rcs:\t%d\ndrm-total-cycles-rcs:\t%d\n"
                                "drm-cycles-ccs:\t%d\ndrm-total-cycles-ccs:\t%d\ndrm-engine-capacity-ccs:\t4\n"
                                "drm-cycles-vcs:\t%d\ndrm-total-cycles-vcs:\t%d\ndrm-engine-capacity-vcs:\t2\n"
                                "drm-cycles-bcs:\t%d\ndrm-total-cycles-bcs:\t%d\n";

TEST_WITH(cycles_and_capacity, setup, gpu_machine_teardown)
{
    char text[1000];
    put_xe();
    gpu_machine_open(&machine, &gt_collector_drm);
    snprintf(text, sizeof text, xe_client, 0, 1000, 0, 1000, 0, 1000, 0, 1000);
    put_client(100, 4, text);
    gpu_machine_collect(&machine, 1);
    snprintf(text, sizeof text, xe_client, 100, 2000, 2000, 2000, 300, 2000, 999, 2000);
    put_client(100, 4, text);
    put_client(200, 4,
               "drm-driver:\txe\ndrm-client-id:\t4\ndrm-pdev:\t0000:00:02.0\n"
               "drm-cycles-rcs:\t77\ndrm-total-cycles-rcs:\t2000\n");
    gpu_machine_collect(&machine, 1);
    expect(share(200, GT_GPU_UTILIZATION), NAN); /* since when is not known: cycles go by without it, too */
    expect(share(100, GT_GPU_RAM), 16 * 1048576.0);
    expect(share(100, GT_GPU_UTILIZATION), 0.5); /* 2000 of 1000 cycles on 4 engines; copying is no computing */
    expect(share(100, GT_GPU_DECODER), 0.15);
}

TEST_WITH(a_card_without_memory_uses_the_machines, setup, gpu_machine_teardown)
{
    put_card(0, "i915", "0000:00:02.0", "0x8086");
    gpu_machine_open(&machine, &gt_collector_drm);
    put_client(100, 4,
               "drm-driver:\ti915\ndrm-client-id:\t39\ndrm-pdev:\t0000:00:02.0\n"
               "drm-total-system0:\t6044 KiB\ndrm-resident-system0:\t6000 KiB\ndrm-resident-stolen-system0:\t44\n"
               "drm-engine-render:\t346249 ns\n");
    gpu_machine_collect(&machine, 1);
    expect(share(100, GT_GPU_RAM), 6000 * 1024.0 + 44);
}

TEST_WITH(other_files_and_other_cards_are_left_alone, setup, gpu_machine_teardown)
{
    put_amdgpu();
    gpu_machine_open(&machine, &gt_collector_drm);
    put_client(100, 4, "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\n");                     /* no client */
    put_client(100, 5, "drm-driver:\tnouveau\ndrm-client-id:\t1\ndrm-pdev:\t0000:0a:00.0\n"); /* no such card */
    put_client(100, 6, "");
    gpu_machine_file(&machine, "proc/200/fdinfo/0", AMD_CLIENT("7", "1", "1")); /* its descriptor is /dev/null */
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_int_equal(machine.snapshot.share_count, 0);
}

TEST_WITH(processes_that_vanish_are_no_error, setup, gpu_machine_teardown)
{
    put_amdgpu();
    gpu_machine_open(&machine, &gt_collector_drm);
    put_client(100, 5, AMD_CLIENT("7", "1", "1"));
    gpu_machine_collect(&machine, 1);
    assert_int_equal(machine.snapshot.share_count, 1);
    machine.process[1].pid = 4000; /* not in /proc */
    gpu_machine_remove(&machine, "proc/100/fdinfo/5");
    assert_int_equal(gpu_machine_collect(&machine, 1), 0);
    assert_int_equal(machine.snapshot.share_count, 0);
}

TEST_WITH(a_card_of_another_collector_is_not_told_twice, setup, gpu_machine_teardown)
{
    put_amdgpu();
    put_xe();
    gpu_machine_library(&machine, "amdsmi", "amdsmi", "GT_FAKE_AMDSMI", "device 0\nuuid ee-1\nbdf 0 3 0 0\n");
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_amd), GT_READY);
    void *amd = machine.state;
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_drm), GT_READY);
    gt_collector_close(&gt_collector_amd, amd);
    assert_int_equal(machine.snapshot.device_count, 2);
    assert_string_equal(machine.snapshot.device[0].uuid, "ee-1");
    assert_string_equal(machine.snapshot.device[1].brand, "intel");
}

TEST_WITH(brands_and_machines_without_a_card, setup, gpu_machine_teardown)
{
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_drm), GT_ABSENT);
    assert_string_equal(machine.availability.reason, "no graphics card");
    put_card(2, "ast", "0000:05:00.0", "0x1a03"); /* the screen of a server's management chip */
    put_card(3, "nvidia", "0000:06:00.0", "0x10de");
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_drm), GT_ABSENT);
    put_amdgpu();
    put_xe();
    machine.options.gpu_brand = "intel";
    assert_int_equal(gpu_machine_open(&machine, &gt_collector_drm), GT_READY);
    assert_int_equal(machine.snapshot.device_count, 1);
    assert_string_equal(machine.snapshot.device[0].pci, "0000:00:02.0");
}

TEST_WITH(parses_without_overrunning, setup, gpu_machine_teardown)
{
    struct drm_client client;
    char text[4096] = "drm-driver: x\ndrm-client-id: 1\n";
    for (int i = 0; i < 40; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "drm-engine-%d-with-a-name-that-is-far-too-long: %d ns\n", i, i);
    }
    assert_true(gt_drm_parse(text, &client));
    assert_true(client.engine_count <= DRM_MOST_ENGINES);
    for (size_t length = strlen(text); length > 0; length -= length > 50 ? 7 : 1) {
        char *copy = strndup(text, length); /* the sanitizer sees reads behind its end */
        gt_drm_parse(copy, &client);
        free(copy);
    }
    assert_false(gt_drm_parse("", &client));
    assert_false(gt_drm_parse("drm-driver:", &client));
    assert_false(gt_drm_parse("drm-driver: i915\ndrm-memory-vram: ", &client));
}
