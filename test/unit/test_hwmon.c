#include "support/gpu_machine.h"
#include "support/test.h"

extern const struct gt_collector_type gt_collector_hwmon, gt_collector_battery;

static void sensor(struct gpu_machine *machine, int number, const char *file, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "sys/class/hwmon/hwmon%d/%s", number, file);
    gpu_machine_file(machine, path, "%s\n", text);
}

static void supply(struct gpu_machine *machine, const char *name, const char *file, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "sys/class/power_supply/%s/%s", name, file);
    gpu_machine_file(machine, path, "%s\n", text);
}

static void grace_meter(struct gpu_machine *machine, int number, const char *label, const char *microwatts)
{
    sensor(machine, number, "name", "power_meter");
    sensor(machine, number, "power1_oem_info", label);
    sensor(machine, number, "power1_average_interval", "50");
    sensor(machine, number, "power1_average", microwatts);
}

TEST_ON_MACHINE(sockets_of_amd_are_added_and_not_their_cores)
{
    sensor(machine, 0, "name", "amd_energy");
    sensor(machine, 0, "energy1_label", "Ecore000");
    sensor(machine, 0, "energy1_input", "1000000");
    sensor(machine, 0, "energy2_label", "Esocket0");
    sensor(machine, 0, "energy2_input", "5000000");
    sensor(machine, 0, "energy3_label", "Esocket1");
    sensor(machine, 0, "energy3_input", "7000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_READY);
    sensor(machine, 0, "energy1_input", "31000000");
    sensor(machine, 0, "energy2_input", "65000000");
    sensor(machine, 0, "energy3_input", "27000000");
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 60 + 20, 1e-9);
    assert_true(isnan(machine->snapshot.system[GT_CORE_ENERGY]));
    sensor(machine, 0, "energy2_input", "");
    assert_true(isnan(gpu_machine_system(machine, 1, GT_CPU_ENERGY)));
    sensor(machine, 0, "energy2_input", "66000000");
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 61 + 20, 1e-9);
}

TEST_ON_MACHINE(a_module_holds_grace_and_grace_its_cpu)
{
    grace_meter(machine, 0, "Module Power Socket 0", "500000000");
    grace_meter(machine, 1, "Grace Power Socket 0", "200000000");
    grace_meter(machine, 2, "CPU Power Socket 0", "90000000");
    grace_meter(machine, 3, "SysIO Power Socket 0", "40000000");
    grace_meter(machine, 4, "Grace Power Socket 1", "100000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_READY);
    assert_close(machine->availability.refresh, 0.05, 1e-9);
    grace_meter(machine, 1, "Grace Power Socket 0", "300000000");
    assert_close(gpu_machine_system(machine, 2, GT_CPU_ENERGY), 500 + 200, 1e-6);
    assert_close(machine->snapshot.system[GT_CORE_ENERGY], 180, 1e-6);
    assert_close(machine->snapshot.system[GT_PLATFORM_ENERGY], 1000, 1e-6);
    char text[200];
    machine->type->describe(machine->state, text, sizeof text);
    assert_non_null(strstr(text, "average of 0.05 s"));
}

/* Up to Linux 6.14 the files of ACPI meters were below "device", and that of the name with them. */
TEST_ON_MACHINE(meters_of_older_kernels_are_below_their_device)
{
    static const char *const labels[] = {"Module Power Socket 0", "Grace Power Socket 0", "CPU Power Socket 0",
                                         "SysIO Power Socket 0"};
    static const char *const microwatts[] = {"500000000", "200000000", "90000000", "40000000"};
    for (int i = 0; i < 4; i++) {
        sensor(machine, i, "device/name", "power_meter");
        sensor(machine, i, "device/power1_oem_info", labels[i]);
        sensor(machine, i, "device/power1_average_interval", "50");
        sensor(machine, i, "device/power1_average", microwatts[i]);
    }
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_READY);
    assert_close(machine->availability.refresh, 0.05, 1e-9);
    assert_close(gpu_machine_system(machine, 2, GT_CPU_ENERGY), 400, 1e-6);
    assert_close(machine->snapshot.system[GT_CORE_ENERGY], 180, 1e-6);
    assert_close(machine->snapshot.system[GT_PLATFORM_ENERGY], 1000, 1e-6);
}

TEST_ON_MACHINE(a_meter_of_a_battery_is_not_the_platform)
{
    sensor(machine, 0, "name", "power_meter");
    sensor(machine, 0, "power1_average", "25000000");
    sensor(machine, 0, "power1_is_battery", "1");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_ABSENT);
    sensor(machine, 0, "power1_is_battery", "0");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_READY);
}

TEST_ON_MACHINE(the_cpu_rail_stands_for_the_socket_where_there_is_no_other)
{
    grace_meter(machine, 0, "CPU Power Socket 0", "90000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_READY);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 90, 1e-6);
    assert_true(isnan(machine->snapshot.system[GT_CORE_ENERGY]));
}

TEST_ON_MACHINE(one_acpi_meter_is_the_platform_and_several_are_nothing)
{
    sensor(machine, 0, "name", "power_meter");
    sensor(machine, 0, "power1_average", "250000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_READY);
    assert_close(gpu_machine_system(machine, 4, GT_PLATFORM_ENERGY), 1000, 1e-6);
    sensor(machine, 0, "power1_average", "4294967295000000"); /* all ones: no reading */
    assert_true(isnan(gpu_machine_system(machine, 1, GT_PLATFORM_ENERGY)));
    sensor(machine, 0, "power1_average", "250000000");
    assert_close(gpu_machine_system(machine, 1, GT_PLATFORM_ENERGY), 1500, 1e-6);
    sensor(machine, 1, "name", "power_meter");
    sensor(machine, 1, "power1_average", "100000000");
    machine->snapshot.owner[GT_PLATFORM_ENERGY] = NULL;
    gt_collector_close(machine->type, machine->state);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_BROKEN);
}

TEST_ON_MACHINE(a_figure_that_another_has_is_left_to_it)
{
    sensor(machine, 0, "name", "ibmaem");
    sensor(machine, 0, "energy1_input", "1000000");
    assert_true(gt_snapshot_claim(&machine->snapshot, GT_PLATFORM_ENERGY, &gt_collector_battery));
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_ABSENT);
    machine->snapshot.owner[GT_PLATFORM_ENERGY] = NULL;
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_READY);
    assert_true(isnan(gpu_machine_system(machine, 1, GT_PLATFORM_ENERGY))); /* it stands still */
    sensor(machine, 0, "energy1_input", "301000000");
    assert_close(gpu_machine_system(machine, 1, GT_PLATFORM_ENERGY), 300, 1e-6);
}

TEST_ON_MACHINE(sensors_nobody_knows_are_named_and_not_counted)
{
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_ABSENT);
    sensor(machine, 0, "name", "i915");
    sensor(machine, 0, "energy1_input", "1000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_ABSENT);
    sensor(machine, 2, "name", "i915_gt0");
    sensor(machine, 2, "energy1_input", "1000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_ABSENT);
    assert_null(strstr(machine->availability.reason, "i915"));
    sensor(machine, 1, "name", "newchip");
    sensor(machine, 1, "energy1_input", "1000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_ABSENT);
    assert_non_null(strstr(machine->availability.reason, "newchip"));
}

TEST_ON_MACHINE(a_battery_counts_while_it_discharges)
{
    assert_int_equal(gpu_machine_open(machine, &gt_collector_battery), GT_ABSENT);
    supply(machine, "AC", "type", "Mains");
    supply(machine, "hid-mouse", "type", "Battery");
    supply(machine, "hid-mouse", "scope", "Device");
    supply(machine, "hid-mouse", "status", "Discharging");
    supply(machine, "hid-mouse", "power_now", "9000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_battery), GT_ABSENT);
    supply(machine, "BAT0", "type", "Battery");
    supply(machine, "BAT0", "status", "Full");
    supply(machine, "BAT0", "power_now", "12000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_battery), GT_ABSENT);
    assert_non_null(strstr(machine->availability.reason, "mains"));
    supply(machine, "BAT0", "status", "Discharging");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_battery), GT_READY);
    assert_close(gpu_machine_system(machine, 10, GT_PLATFORM_ENERGY), 120, 1e-6);
    supply(machine, "BAT0", "status", "Charging");
    assert_true(isnan(gpu_machine_system(machine, 10, GT_PLATFORM_ENERGY)));
    supply(machine, "BAT0", "status", "Discharging"); /* what was drawn from mains in between is not known */
    assert_true(isnan(gpu_machine_system(machine, 10, GT_PLATFORM_ENERGY)));
}

TEST_ON_MACHINE(current_times_voltage_is_power)
{
    supply(machine, "BAT0", "type", "Battery");
    supply(machine, "BAT0", "status", "Discharging");
    supply(machine, "BAT0", "current_now", "-1500000");
    supply(machine, "BAT0", "voltage_now", "12000000");
    supply(machine, "BAT1", "type", "Battery");
    supply(machine, "BAT1", "status", "Not charging");
    supply(machine, "BAT1", "power_now", "5000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_battery), GT_READY);
    assert_close(gpu_machine_system(machine, 2, GT_PLATFORM_ENERGY), 36, 1e-6);
}

TEST_ON_MACHINE(what_is_no_number_in_range_is_no_reading)
{
    static const char *const wrong[] = {"-12", "12x", "", "nan"};
    sensor(machine, 0, "name", "amd_energy");
    sensor(machine, 0, "energy1_label", "Esocket0");
    sensor(machine, 0, "energy1_input", "5000000");
    sensor(machine, 1, "name", "ibmaem");
    sensor(machine, 1, "energy1_input", "9000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_READY);
    sensor(machine, 0, "energy1_input", "15000000");
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 10, 1e-9);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sensor(machine, 0, "energy1_input", wrong[i]);
        assert_true(isnan(gpu_machine_system(machine, 1, GT_CPU_ENERGY)));
    }
    sensor(machine, 0, "energy1_input", "35000000");
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 30, 1e-9);
    assert_close(machine->snapshot.doubt[GT_CPU_ENERGY], 0, 0);
    sensor(machine, 0, "energy1_input", "18446744073709551615");
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 30, 1e-9);
    assert_true(isinf(machine->snapshot.doubt[GT_CPU_ENERGY]));
}

/* A gap is made up for by what was measured around it only while it is short. */
TEST_ON_MACHINE(power_that_was_not_told_for_long_is_not_made_up)
{
    grace_meter(machine, 0, "Grace Power Socket 0", "100000000");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_hwmon), GT_READY);
    grace_meter(machine, 0, "Grace Power Socket 0", "-100000000");
    assert_true(isnan(gpu_machine_system(machine, 1, GT_CPU_ENERGY)));
    grace_meter(machine, 0, "Grace Power Socket 0", "100000000");
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 200, 1e-6);
    assert_close(machine->snapshot.doubt[GT_CPU_ENERGY], 0, 0);
    grace_meter(machine, 0, "Grace Power Socket 0", "100x");
    for (int i = 0; i < 10; i++)
        assert_true(isnan(gpu_machine_system(machine, 1, GT_CPU_ENERGY)));
    grace_meter(machine, 0, "Grace Power Socket 0", "100000000");
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 200, 1e-6);
    assert_true(isinf(machine->snapshot.doubt[GT_CPU_ENERGY]));
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 300, 1e-6);
    assert_close(machine->snapshot.doubt[GT_CPU_ENERGY], 0, 0);
}

TEST_ON_MACHINE(a_battery_that_tells_nonsense_gave_no_reading)
{
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "BAT1" : "BAT0";
        supply(machine, name, "type", "Battery");
        supply(machine, name, "status", "Discharging");
        supply(machine, name, "power_now", "10000000");
    }
    assert_int_equal(gpu_machine_open(machine, &gt_collector_battery), GT_READY);
    static const char *const wrong[] = {"12x", "inf", "9e30", "99999999999999999", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        supply(machine, "BAT0", "power_now", wrong[i]); /* the other is not all */
        assert_true(isnan(gpu_machine_system(machine, 0.5, GT_PLATFORM_ENERGY)));
    }
    supply(machine, "BAT0", "power_now", "10000000");
    assert_close(gpu_machine_system(machine, 0.5, GT_PLATFORM_ENERGY), 60, 1e-6);
    supply(machine, "BAT0", "status", "");
    assert_true(isnan(gpu_machine_system(machine, 1, GT_PLATFORM_ENERGY)));
    supply(machine, "BAT0", "status", "Discharging");
    assert_close(gpu_machine_system(machine, 1, GT_PLATFORM_ENERGY), 100, 1e-6);
}
