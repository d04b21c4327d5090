#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/rapl.h"
#include "support/gpu_machine.h"

extern const struct gt_collector_type gt_collector_rapl;

static const unsigned long long RANGE = 262143328850; /* microjoules, as Intel server packages have it */

static int begin(void **state)
{
    static struct gpu_machine machine;
    gpu_machine_begin(&machine);
    *state = &machine;
    return 0;
}

static int end(void **state)
{
    gpu_machine_end(*state);
    return 0;
}

static void zone_file(struct gpu_machine *machine, const char *zone, const char *file, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "sys/class/powercap/%s/%s", zone, file);
    gpu_machine_file(machine, path, "%s\n", text);
}

static void set(struct gpu_machine *machine, const char *zone, unsigned long long microjoules)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", microjoules);
    zone_file(machine, zone, "energy_uj", text);
}

static void zone(struct gpu_machine *machine, const char *entry, const char *name, unsigned long long microjoules)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", RANGE);
    zone_file(machine, entry, "name", name);
    zone_file(machine, entry, "max_energy_range_uj", text);
    set(machine, entry, microjoules);
}

static double collect(struct gpu_machine *machine, double seconds, enum gt_metric_id metric)
{
    gt_values_clear(machine->frame.system);
    assert_int_equal(gpu_machine_collect(machine, seconds), 0);
    return machine->frame.system[metric];
}

static void two_sockets_are_added_and_each_has_its_memory(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0", 1000000);
    zone(machine, "intel-rapl:0:0", "core", 500000);
    zone(machine, "intel-rapl:0:1", "uncore", 100000);
    zone(machine, "intel-rapl:0:2", "dram", 200000);
    zone(machine, "intel-rapl:1", "package-1", 9000000);
    zone(machine, "intel-rapl:1:0", "dram", 800000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    assert_string_equal(machine->availability.source, "RAPL by powercap");
    set(machine, "intel-rapl:0", 31000000);
    set(machine, "intel-rapl:0:0", 29500000);
    set(machine, "intel-rapl:0:1", 900000);
    set(machine, "intel-rapl:0:2", 4200000);
    set(machine, "intel-rapl:1", 29000000);
    set(machine, "intel-rapl:1:0", 2800000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 30 + 20, 1e-9);
    assert_float_equal(machine->frame.system[GT_DRAM_ENERGY], 4 + 2, 1e-9);
    assert_float_equal(machine->frame.system[GT_CORE_ENERGY], 29, 1e-9);
    assert_float_equal(machine->frame.system[GT_UNCORE_ENERGY], 0.8, 1e-9);
    assert_true(isnan(machine->frame.system[GT_PLATFORM_ENERGY]));
}

static void the_platform_is_not_added_to_the_packages_in_it(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0", 0);
    zone(machine, "intel-rapl:1", "psys", 0);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 10000000);
    set(machine, "intel-rapl:1", 25000000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 10, 1e-9);
    assert_float_equal(machine->frame.system[GT_PLATFORM_ENERGY], 25, 1e-9);
}

static void the_copy_in_mmio_counts_once(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0", 7000000);
    zone(machine, "intel-rapl-mmio:0", "package-0", 3000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 17000000);
    set(machine, "intel-rapl-mmio:0", 13500000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 10, 1e-9);
}

static void mmio_is_read_where_it_is_all_there_is(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl-mmio:0", "package-0", 3000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl-mmio:0", 13500000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 10.5, 1e-9);
}

static void mirrored_dies_are_one_meter(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0-die-0", 5000000000);
    zone(machine, "intel-rapl:1", "package-0-die-1", 5000000100);
    zone(machine, "intel-rapl:2", "package-1-die-0", 5000000050);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 5040000000);
    set(machine, "intel-rapl:1", 5040000200);
    set(machine, "intel-rapl:2", 5015000050);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 40 + 15, 1e-3); /* another socket is no mirror */
}

static void dies_that_part_are_two_meters(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0-die-0", 5000000000);
    zone(machine, "intel-rapl:1", "package-0-die-1", 5000000100);
    zone(machine, "intel-rapl:2", "package-0-die-2", 99000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 5040000000);
    set(machine, "intel-rapl:1", 5030000100);
    set(machine, "intel-rapl:2", 119000000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 40 + 30 + 20, 1e-9);
}

static void a_counter_that_wraps_goes_on(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0", RANGE - 4000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 6000000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 10, 1e-9);
    set(machine, "intel-rapl:0", 16000000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 20, 1e-9);
}

static void a_counter_that_was_set_back_adds_no_range(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0", 90000000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 3000000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 3, 1e-9); /* 172 kJ in a second cannot be */
    char text[200];
    machine->type->describe(machine->state, text, sizeof text);
    assert_non_null(strstr(text, "wraps: 0, resets: 1"));
}

static void without_a_range_a_drop_adds_what_is_sure(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0", RANGE - 4000000);
    gpu_machine_remove(machine, "sys/class/powercap/intel-rapl:0/max_energy_range_uj");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 6000000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 6, 1e-9);
}

static void a_failed_reading_is_none_and_its_energy_is_not_lost(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0", 50000000);
    zone(machine, "intel-rapl:1", "package-1", 50000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    zone_file(machine, "intel-rapl:1", "energy_uj", "");
    set(machine, "intel-rapl:0", 60000000);
    assert_true(isnan(collect(machine, 1, GT_CPU_ENERGY)));
    set(machine, "intel-rapl:0", 70000000);
    set(machine, "intel-rapl:1", 75000000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 20 + 25, 1e-9);
}

static void one_package_that_cannot_be_read_leaves_no_part_of_a_sum(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0", 50000000);
    zone(machine, "intel-rapl:0:0", "dram", 1000000);
    zone(machine, "intel-rapl:1", "package-1", 50000000);
    gpu_machine_remove(machine, "sys/class/powercap/intel-rapl:1/energy_uj");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0:0", 3000000);
    assert_true(isnan(collect(machine, 1, GT_CPU_ENERGY)));
    assert_float_equal(machine->frame.system[GT_DRAM_ENERGY], 2, 1e-9);
}

static void amd_packages_have_no_memory(void **state)
{
    struct gpu_machine *machine = *state;
    zone(machine, "intel-rapl:0", "package-0", 0);
    zone(machine, "intel-rapl:0:0", "core", 0);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 65000000);
    set(machine, "intel-rapl:0:0", 40000000);
    assert_float_equal(collect(machine, 1, GT_CPU_ENERGY), 65, 1e-9);
    assert_true(isnan(machine->frame.system[GT_DRAM_ENERGY]));
}

static void no_counter_is_absent_and_nothing_is_guessed(void **state)
{
    struct gpu_machine *machine = *state;
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_ABSENT);
    gpu_machine_file(machine, "sys/class/powercap/intel-rapl/enabled", "1\n");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_ABSENT);
}

static void a_counter_that_wraps_every_two_seconds_loses_nothing(void **state)
{
    (void)state;
    struct gt_rapl_zone zone = {.unit = 1e-6, .range = 500000000};
    uint64_t truth = 0;
    gt_rapl_advance(&zone, 0, 1);
    for (int i = 1; i <= 1000; i++) {
        truth += 24000000 + (uint64_t)i * 1000;
        gt_rapl_advance(&zone, truth % zone.range, 1 + (int64_t)i * GT_SECOND / 10);
    }
    assert_float_equal(zone.joules, (double)truth / 1e6, 1e-6);
    assert_int_equal(zone.resets, 0);
    assert_int_equal(zone.wraps, truth / zone.range);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(two_sockets_are_added_and_each_has_its_memory),
        TEST(the_platform_is_not_added_to_the_packages_in_it),
        TEST(the_copy_in_mmio_counts_once),
        TEST(mmio_is_read_where_it_is_all_there_is),
        TEST(mirrored_dies_are_one_meter),
        TEST(dies_that_part_are_two_meters),
        TEST(a_counter_that_wraps_goes_on),
        TEST(a_counter_that_was_set_back_adds_no_range),
        TEST(without_a_range_a_drop_adds_what_is_sure),
        TEST(a_failed_reading_is_none_and_its_energy_is_not_lost),
        TEST(one_package_that_cannot_be_read_leaves_no_part_of_a_sum),
        TEST(amd_packages_have_no_memory),
        TEST(no_counter_is_absent_and_nothing_is_guessed),
        TEST(a_counter_that_wraps_every_two_seconds_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
