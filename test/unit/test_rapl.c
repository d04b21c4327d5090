
#include "collect/energy/rapl.h"
#include "support/gpu_machine.h"
#include "support/test.h"

static const unsigned long long RANGE = 262143328850; /* microjoules, as Intel server packages have it */

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

static double doubt_of(const struct gpu_machine *machine)
{
    return machine->snapshot.doubt[GT_CPU_ENERGY];
}

static unsigned long long microjoules(double joules)
{
    return (unsigned long long)llround(joules * 1e6);
}

/* Counters in joules before and after one reading, and what is told of the machine: what no case names is missing. */
static const struct {
    const char *name;
    struct {
        const char *entry, *name;
        double before, after;
    } zone[6];
    double cpu, dram, core, uncore, platform;
} layouts[] = {
    {"two sockets",
     {{"intel-rapl:0", "package-0", 1, 31},
      {"intel-rapl:0:0", "core", 0.5, 29.5},
      {"intel-rapl:0:1", "uncore", 0.1, 0.9},
      {"intel-rapl:0:2", "dram", 0.2, 4.2},
      {"intel-rapl:1", "package-1", 9, 29},
      {"intel-rapl:1:0", "dram", 0.8, 2.8}},
     30 + 20,
     4 + 2,
     29,
     0.8,
     NAN},
    {"AMD", {{"intel-rapl:0", "package-0", 0, 65}, {"intel-rapl:0:0", "core", 0, 40}}, 65, NAN, 40, NAN, NAN},
    {"a platform and a package in it",
     {{"intel-rapl:0", "package-0", 0, 10}, {"intel-rapl:1", "psys", 0, 25}},
     10,
     NAN,
     NAN,
     NAN,
     25},
    {"a platform that each package shows",
     {{"intel-rapl:0", "package-0", 0, 10},
      {"intel-rapl:1", "psys", 0, 45},
      {"intel-rapl:2", "package-1", 0, 20},
      {"intel-rapl:3", "psys-1", 0, 45}},
     30,
     NAN,
     NAN,
     NAN,
     45},
    {"a copy in MMIO",
     {{"intel-rapl:0", "package-0", 7, 17}, {"intel-rapl-mmio:0", "package-0", 3, 13.5}},
     10,
     NAN,
     NAN,
     NAN,
     NAN},
    {"MMIO alone", {{"intel-rapl-mmio:0", "package-0", 3, 13.5}}, 10.5, NAN, NAN, NAN, NAN},
    {"mirrored dies", /* another socket is no mirror */
     {{"intel-rapl:0", "package-0-die-0", 5000, 5040},
      {"intel-rapl:1", "package-0-die-1", 5000.0001, 5040.0002},
      {"intel-rapl:2", "package-1-die-0", 5000.00005, 5015.00005}},
     40 + 15,
     NAN,
     NAN,
     NAN,
     NAN},
    {"dies that part",
     {{"intel-rapl:0", "package-0-die-0", 5000, 5040},
      {"intel-rapl:1", "package-0-die-1", 5000.0001, 5030.0001},
      {"intel-rapl:2", "package-0-die-2", 99, 119}},
     40 + 30 + 20,
     NAN,
     NAN,
     NAN,
     NAN},
};

TEST(counters_of_every_layout_are_added_up)
{
    static const enum gt_metric_id metric[] = {GT_CPU_ENERGY, GT_DRAM_ENERGY, GT_CORE_ENERGY, GT_UNCORE_ENERGY,
                                               GT_PLATFORM_ENERGY};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct gpu_machine machine;
        const double expected[] = {layouts[i].cpu, layouts[i].dram, layouts[i].core, layouts[i].uncore,
                                   layouts[i].platform};
        gpu_machine_begin(&machine);
        for (int k = 0; k < 6 && layouts[i].zone[k].entry; k++)
            zone(&machine, layouts[i].zone[k].entry, layouts[i].zone[k].name, microjoules(layouts[i].zone[k].before));
        assert_int_equal(gpu_machine_open(&machine, &gt_collector_rapl), GT_READY);
        assert_string_equal(machine.availability.source, "RAPL by powercap");
        for (int k = 0; k < 6 && layouts[i].zone[k].entry; k++)
            set(&machine, layouts[i].zone[k].entry, microjoules(layouts[i].zone[k].after));
        gpu_machine_system(&machine, 1, GT_CPU_ENERGY);
        for (int k = 0; k < 5; k++)
            if (!is_close(machine.snapshot.system[metric[k]], expected[k], 1e-3))
                fail_msg("%s: metric %d is %g", layouts[i].name, k, machine.snapshot.system[metric[k]]);
        gpu_machine_end(&machine);
    }
}

/* One counter in joules, read each second: what it has added since the start, and whether something is lost. */
static const struct {
    const char *name;
    double start;
    struct {
        double shown, joules;
        bool is_in_doubt;
    } step[6];
} drops[] = {
    {"set back", 900, {{910, 10, false}, {3, 10, true}, {13, 20, false}, {13, 20, false}}},
    {"set back: 172 kJ in a second cannot be", 90000, {{90050, 50, false}, {3, 50, true}, {63, 110, false}}},
    /* to what it was set back nobody knows: what it shows was drawn at any time */
    {"set to half", 1000, {{1050, 50, false}, {550, 50, true}, {520, 50, true}, {570, 100, false}}},
    {"a jump that no power explains", 50, {{60, 10, false}, {200000, 10, true}, {80000, 10, true}, {80020, 30, false}}},
    {"the only one, which the figure itself shows to stand still",
     1,
     {{2, 1, false}, {2, 1, false}, {2, 1, false}, {2, 1, false}, {2, 1, false}, {2, 1, false}}},
};

TEST(what_a_counter_cannot_have_counted_is_no_energy)
{
    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++) {
        struct gpu_machine machine;
        gpu_machine_begin(&machine);
        zone(&machine, "intel-rapl:0", "package-0", microjoules(drops[i].start));
        assert_int_equal(gpu_machine_open(&machine, &gt_collector_rapl), GT_READY);
        for (int k = 0; k < 6 && drops[i].step[k].shown != 0; k++) {
            set(&machine, "intel-rapl:0", microjoules(drops[i].step[k].shown));
            double joules = gpu_machine_system(&machine, 1, GT_CPU_ENERGY);
            double doubt = drops[i].step[k].is_in_doubt ? INFINITY : 0;
            if (!is_close(joules, drops[i].step[k].joules, 1e-9) || !is_close(doubt_of(&machine), doubt, 0))
                fail_msg("%s: step %d has %g J, in doubt %g", drops[i].name, k, joules, doubt_of(&machine));
        }
        gpu_machine_end(&machine);
    }
}

TEST_ON_MACHINE(each_package_has_its_own_counters_and_parts)
{
    zone(machine, "intel-rapl:0", "package-2-die-0", 1000000);
    zone(machine, "intel-rapl:0:0", "dram", 200000);
    zone(machine, "intel-rapl:1", "package-2-die-1", 400000000);
    zone(machine, "intel-rapl:2", "package-5-die-0", 900000000);
    zone(machine, "intel-rapl:2:0", "dram", 800000);
    zone(machine, "intel-rapl:3", "psys", 0);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    assert_int_equal(machine->snapshot.package_count, 2);
    assert_int_equal(machine->snapshot.package[0].number, 2);
    assert_int_equal(machine->snapshot.package[1].number, 5);
    set(machine, "intel-rapl:0", 11000000);
    set(machine, "intel-rapl:0:0", 3200000);
    set(machine, "intel-rapl:1", 402000000);
    set(machine, "intel-rapl:2", 920000000);
    set(machine, "intel-rapl:2:0", 1800000);
    set(machine, "intel-rapl:3", 50000000);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 32, 1e-9);
    const struct gt_package *package = machine->snapshot.package;
    assert_close(package[0].value[GT_CPU_ENERGY], 12, 1e-9);
    assert_close(package[1].value[GT_CPU_ENERGY], 20, 1e-9);
    assert_close(package[0].value[GT_DRAM_ENERGY], 3, 1e-9);
    assert_close(package[1].value[GT_DRAM_ENERGY], 1, 1e-9);
    assert_true(isnan(package[0].value[GT_PLATFORM_ENERGY]));
}

TEST_ON_MACHINE(one_of_several_that_stands_still_is_told)
{
    zone(machine, "intel-rapl:0", "package-0", 1000000);
    zone(machine, "intel-rapl:1", "package-1", 1000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 2000000);
    set(machine, "intel-rapl:1", 2000000);
    assert_close(gpu_machine_system(machine, 0.1, GT_CPU_ENERGY), 2, 1e-9);
    assert_close(doubt_of(machine), 0, 0);
    for (int i = 0; i < 7; i++) {
        set(machine, "intel-rapl:1", 3000000ull + (unsigned)i * 1000000);
        gpu_machine_system(machine, 0.1, GT_CPU_ENERGY);
    }
    assert_true(isinf(doubt_of(machine)) && doubt_of(machine) < 0);
}

TEST_ON_MACHINE(a_counter_that_runs_backwards_does_not_stand_still)
{
    char text[200];
    zone(machine, "intel-rapl:0", "package-0", 200000000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    for (unsigned i = 1; i < 9; i++) {
        set(machine, "intel-rapl:0", 200000000000 - i * 5000000ull);
        assert_true(isnan(gpu_machine_system(machine, 0.3, GT_CPU_ENERGY)));
    }
    machine->type->explain(machine->state, GT_CPU_ENERGY, text, sizeof text);
    assert_string_equal(text, "its energy counter runs backwards");
}

TEST_WITH(a_counter_that_cannot_be_read_at_first_is_not_taken_for_a_virtual_one, gpu_machine_setup,
          gpu_machine_teardown)
{
    struct gpu_machine *machine = *state;
    char text[200];
    zone(machine, "intel-rapl:0", "package-0", 1000000);
    zone_file(machine, "intel-rapl:0", "energy_uj", "");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    for (int i = 0; i < 5; i++)
        assert_true(isnan(gpu_machine_system(machine, 0.5, GT_CPU_ENERGY)));
    machine->type->explain(machine->state, GT_CPU_ENERGY, text, sizeof text);
    assert_string_equal(text, "one of its energy counters cannot be read");
    set(machine, "intel-rapl:0", 5000000);
    assert_true(isnan(gpu_machine_system(machine, 0.1, GT_CPU_ENERGY)));
    set(machine, "intel-rapl:0", 8000000);
    assert_close(gpu_machine_system(machine, 0.1, GT_CPU_ENERGY), 3, 1e-9);
    assert_true(isinf(doubt_of(machine)));
}

/* 262 kJ are gone round in 524 s at 500 W; with what it shows, 600 s are enough for one more round or not. */
TEST_ON_MACHINE(readings_too_far_apart_are_told)
{
    char text[300];
    zone(machine, "intel-rapl:0", "package-0", 1000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 90000000000);
    gpu_machine_system(machine, 500, GT_CPU_ENERGY);
    machine->type->describe(machine->state, text, sizeof text);
    assert_null(strstr(text, "unseen"));
    assert_close(machine->snapshot.doubt[GT_CPU_ENERGY], 0, 1e-9);
    set(machine, "intel-rapl:0", 140000000000);
    gpu_machine_system(machine, 600, GT_CPU_ENERGY);
    assert_close(machine->snapshot.doubt[GT_CPU_ENERGY], 0, 1e-9);
    set(machine, "intel-rapl:0", 170000000000);
    gpu_machine_system(machine, 600, GT_CPU_ENERGY);
    assert_close(machine->snapshot.doubt[GT_CPU_ENERGY], (double)RANGE / 1e6, 1e-6);
    machine->type->describe(machine->state, text, sizeof text);
    assert_non_null(strstr(text, "1 readings were so far apart that a counter may have gone round unseen"));
}

/* "Garbage" in the file is a reading that failed: the next one covers its time. */
TEST_ON_MACHINE(what_is_no_count_in_range_is_no_reading)
{
    static const char *const wrong[] = {"-12", "12x", "", "nan", "262143328851", "18446744073709551615"};
    zone(machine, "intel-rapl:0", "package-0", 50000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 60000000);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 10, 1e-9);
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        zone_file(machine, "intel-rapl:0", "energy_uj", wrong[i]);
        assert_true(isnan(gpu_machine_system(machine, 1, GT_CPU_ENERGY)));
        set(machine, "intel-rapl:0", 80000000 + i * 20000000);
        assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 30 + i * 20, 1e-9);
        assert_close(doubt_of(machine), 0, 0);
    }
}

/* `left`: what the old file shows from then on. */
static void replace_counter(struct gpu_machine *machine, const char *left)
{
    zone(machine, "intel-rapl:0", "package-0", 50000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 60000000);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 10, 1e-9);
    zone_file(machine, "intel-rapl:0", "energy_uj", left);
    gpu_machine_system(machine, 1, GT_CPU_ENERGY);
    gpu_machine_remove(machine, "sys/class/powercap/intel-rapl:0/energy_uj");
    gpu_machine_system(machine, 1, GT_CPU_ENERGY);
    zone(machine, "intel-rapl:0", "package-0", 90000000);
    gpu_machine_system(machine, 1, GT_CPU_ENERGY);
    assert_true(fabs(gpu_machine_system(machine, 1, GT_CPU_ENERGY) - 40) < 1e-9); /* false of NaN */
    set(machine, "intel-rapl:0", 95000000);
    assert_true(fabs(gpu_machine_system(machine, 1, GT_CPU_ENERGY) - 45) < 1e-9);
}

TEST_WITH(a_counter_of_which_an_old_file_is_left_is_opened_anew, gpu_machine_setup, gpu_machine_teardown)
{
    replace_counter(*state, "60000000\n");
}

/* It would be taken for one that goes round every 12 microjoules. */
TEST_ON_MACHINE(a_range_that_is_no_number_is_not_known)
{
    zone(machine, "intel-rapl:0", "package-0", 50000000);
    zone_file(machine, "intel-rapl:0", "max_energy_range_uj", "12x");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 60000000);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 10, 1e-9);
    assert_close(doubt_of(machine), 0, 0);
}

TEST_ON_MACHINE(a_failed_reading_is_none_and_its_energy_is_not_lost)
{
    zone(machine, "intel-rapl:0", "package-0", 50000000);
    zone(machine, "intel-rapl:1", "package-1", 50000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    zone_file(machine, "intel-rapl:1", "energy_uj", "");
    set(machine, "intel-rapl:0", 60000000);
    assert_true(isnan(gpu_machine_system(machine, 1, GT_CPU_ENERGY)));
    set(machine, "intel-rapl:0", 70000000);
    set(machine, "intel-rapl:1", 75000000);
    assert_close(gpu_machine_system(machine, 1, GT_CPU_ENERGY), 20 + 25, 1e-9);
}

TEST_ON_MACHINE(one_package_that_cannot_be_read_leaves_no_part_of_a_sum)
{
    zone(machine, "intel-rapl:0", "package-0", 50000000);
    zone(machine, "intel-rapl:0:0", "dram", 1000000);
    zone(machine, "intel-rapl:1", "package-1", 50000000);
    gpu_machine_remove(machine, "sys/class/powercap/intel-rapl:1/energy_uj");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0:0", 3000000);
    assert_true(isnan(gpu_machine_system(machine, 1, GT_CPU_ENERGY)));
    assert_close(machine->snapshot.system[GT_DRAM_ENERGY], 2, 1e-9);
}

TEST_ON_MACHINE(no_counter_is_absent_and_nothing_is_guessed)
{
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_ABSENT);
    gpu_machine_file(machine, "sys/class/powercap/intel-rapl/enabled", "1\n");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_ABSENT);
}

TEST_WITH(a_counter_that_wraps_every_two_seconds_loses_nothing, gpu_machine_setup, gpu_machine_teardown)
{
    struct gt_rapl_zone zone = {.unit = 1e-6, .range = 500000000};
    uint64_t truth = 0;
    gt_rapl_advance(&zone, 0, 1);
    for (int i = 1; i <= 1000; i++) {
        truth += 24000000 + (uint64_t)i * 1000;
        gt_rapl_advance(&zone, truth % zone.range, 1 + (int64_t)i * GT_SECOND / 10);
    }
    assert_close(zone.joules, (double)truth / 1e6, 1e-6);
    assert_int_equal(zone.resets, 0);
    assert_int_equal(zone.wraps, truth / zone.range);
}

TEST_ON_MACHINE(registers_are_not_read)
{
    gpu_machine_file(machine, "dev/cpu/0/msr", "%s", "");
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_ABSENT);
    assert_non_null(strstr(machine->availability.reason, "registers (MSR) are not read"));
    assert_string_equal(machine->availability.remedy, "sudo modprobe -a rapl intel_rapl_msr");
}

TEST_ON_MACHINE(a_counter_that_stands_still_has_no_figure)
{
    zone(machine, "intel-rapl:0", "package-0", 5000000);
    zone(machine, "intel-rapl:0:0", "dram", 5000000);
    zone(machine, "intel-rapl:0:1", "uncore", 5000000);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    assert_true(isnan(gpu_machine_system(machine, 0.001, GT_CPU_ENERGY)));
    set(machine, "intel-rapl:0", 5010000);
    assert_close(gpu_machine_system(machine, 0.001, GT_CPU_ENERGY), 0.01, 1e-9);
    assert_true(isnan(machine->snapshot.system[GT_DRAM_ENERGY]));
    assert_close(machine->snapshot.system[GT_UNCORE_ENERGY], 0, 0); /* a graphics unit may sleep */
    gpu_machine_system(machine, 1, GT_CPU_ENERGY);
    char text[200];
    machine->type->explain(machine->state, GT_DRAM_ENERGY, text, sizeof text);
    assert_non_null(strstr(text, "does not change"));
    gpu_machine_system(machine, 1, GT_CPU_ENERGY);
    set(machine, "intel-rapl:0:0", 6000000); /* one that wakes late counts from then on */
    assert_close(gpu_machine_system(machine, 1, GT_DRAM_ENERGY), 1, 1e-9);
}

TEST_ON_MACHINE(a_platform_below_its_packages_is_left_out)
{
    zone(machine, "intel-rapl:0", "package-0", 0);
    zone(machine, "intel-rapl:1", "psys", 0);
    assert_int_equal(gpu_machine_open(machine, &gt_collector_rapl), GT_READY);
    set(machine, "intel-rapl:0", 40000000);
    set(machine, "intel-rapl:1", 1000000);
    gpu_machine_system(machine, 1, GT_CPU_ENERGY);
    set(machine, "intel-rapl:1", 900000000);
    assert_true(isnan(gpu_machine_system(machine, 1, GT_PLATFORM_ENERGY)));
    assert_close(machine->snapshot.system[GT_CPU_ENERGY], 40, 1e-9);
    char text[200];
    machine->type->explain(machine->state, GT_PLATFORM_ENERGY, text, sizeof text);
    assert_non_null(strstr(text, "less than"));
}
