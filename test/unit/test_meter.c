#include "collect/energy/meter.h"
#include "collect/energy/model.h"
#include "support/gpu_machine.h"
#include "support/test.h"

extern const struct gt_collector_type gt_collector_meter, gt_collector_estimate;

static const int64_t T0 = 1700000000 * GT_SECOND;

static const char *path_of(const struct gpu_machine *machine, const char *file)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", machine->path, file);
    return path;
}

static struct gt_meter *open_meter(struct gpu_machine *machine, const char *text, const char *columns)
{
    char name[160];
    struct gt_meter *meter = NULL;
    gpu_machine_file(machine, "meter.csv", "%s", text);
    snprintf(name, sizeof name, "%s%s", path_of(machine, "meter.csv"), columns);
    assert_int_equal(gt_meter_open(&meter, name, NULL), 0);
    return meter;
}

static void wrong(struct gpu_machine *machine, const char *text, const char *columns, const char *message)
{
    char name[160];
    struct gt_meter *meter = NULL;
    struct gt_error error = {0};
    gpu_machine_file(machine, "wrong.csv", "%s", text);
    snprintf(name, sizeof name, "%s%s", path_of(machine, "wrong.csv"), columns);
    assert_int_equal(gt_meter_open(&meter, name, &error), -EINVAL);
    assert_null(meter);
    assert_non_null(strstr(error.text, message));
    assert_null(strchr(error.text, '\n'));
}

TEST_WITH(omegawatt_channels_are_added_and_bad_frames_left_out, gpu_machine_setup, gpu_machine_teardown)
{
    struct gt_meter *meter = open_meter(*state,
                                        "omegawatt wattmeter\n"
                                        "#timestamp,#frame_is_ok,#L1,#L2\n"
                                        "1700000000.0,true,100.0,20.0\n"
                                        "1700000001.0,false,9999.0,20.0\n"
                                        "1700000002.0,true,140.0,20.0\n"
                                        "1700000003.0,true,140",
                                        "");
    assert_close(gt_meter_watts(meter, T0), 120, 1e-9);
    assert_close(gt_meter_watts(meter, T0 + GT_SECOND), 140, 1e-9);
    assert_close(gt_meter_joules(meter, T0, T0 + 2 * GT_SECOND), 280, 1e-6);
    assert_close(gt_meter_joules(meter, T0 + GT_SECOND / 2, T0 + 3 * GT_SECOND / 2), 140, 1e-6);
    assert_int_equal(gt_meter_left_out(meter), 1); /* the line that is cut off is yet to come */
    gt_meter_close(meter);
}

TEST_WITH(columns_are_found_by_their_names, gpu_machine_setup, gpu_machine_teardown)
{
    static const struct {
        const char *text, *columns;
        double watts;
    } cases[] = {
        {"1700000000,50\n1700000001,50\n", "", 50},
        {"time,power\n1700000000,50\n", "", 50},
        {"Time;Temp (C);Power (W)\n1700000000;21,5;50,5\n", "", 50.5},
        {"\"Time\", \"Power, all phases (W)\"\n\"1700000000\", \"50.5\"\n", "", 50.5},
        {"volts\tdate\tpower [mW]\n230\t2023-11-14T22:13:20Z\t50000\n", "", 50},
        {"date,total kW\n2023-11-14 23:13:20.0+01:00,0.05\n", "", 50},
        {"timestamp,cpu_w,gpu_w\n1700000000000,20,30\n", "", 50},
        {"timestamp,cpu_w,gpu_w\n1700000000000,20,30\n", ":gpu_w", 30},
        {"timestamp,a,b,c\n1700000000,1,2,4\n", ":a,c", 5},
        {"\"timestamp\",\"reading\"\r\n\"1700000000\",\"50\"\r\n", "", 50},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gt_meter *meter = open_meter(*state, cases[i].text, cases[i].columns);
        assert_close(gt_meter_watts(meter, T0), cases[i].watts, 1e-9);
        gt_meter_close(meter);
    }
}

TEST_WITH(bad_files_are_told_in_one_line, gpu_machine_setup, gpu_machine_teardown)
{
    wrong(*state, "\n\n\n\n\n\n", "", "not a CSV file of time and watts");
    wrong(*state, "timestamp,a,b\n1700000000,1,2\n", "", "name it");
    wrong(*state, "timestamp,a,b\n1700000000,1,2\n", ":d", "no column named");
    wrong(*state, "time,watts\n0.0,50\n0.1,50\n", "", "line 2"); /* a clock that began at 0 */
    wrong(*state, "time,watts\n1700000000,fifty\n", "", "line 2");
    wrong(*state, "time,watts\n1700000000,nan\n", "", "line 2");
    wrong(*state, "time,watts\n1700000000,-50\n", "", "line 2");
    wrong(*state, "time,watts\n1700000000,50x\n", "", "line 2");
}

TEST_WITH(nothing_is_made_up_where_the_meter_has_nothing, gpu_machine_setup, gpu_machine_teardown)
{
    struct gt_meter *meter = open_meter(*state,
                                        "time,watts\n1700000010,50\n1700000011,60\n1700000012,50\n1700000012,9\n", "");
    assert_true(isnan(gt_meter_watts(meter, T0)));
    assert_close(gt_meter_joules(meter, T0 + 9 * GT_SECOND, T0 + 13 * GT_SECOND), 50 + 55 + 55 + 50, 1e-6);
    assert_true(isnan(gt_meter_joules(meter, T0 + 7 * GT_SECOND, T0 + 12 * GT_SECOND)));
    assert_true(isnan(gt_meter_joules(meter, T0 + 10 * GT_SECOND, T0 + 15 * GT_SECOND)));
    assert_int_equal(gt_meter_left_out(meter), 1);
    gt_meter_close(meter);
}

static void append(struct gpu_machine *machine, const char *text)
{
    FILE *file = fopen(path_of(machine, "meter.csv"), "ae");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

TEST_ON_MACHINE(a_file_is_followed_while_it_grows)
{
    char name[160];
    machine->real_ns = T0;
    gpu_machine_file(machine, "meter.csv", "%s", "");
    snprintf(name, sizeof name, "%s", path_of(machine, "meter.csv"));
    machine->options.power_meter = name;
    assert_int_equal(gpu_machine_open(machine, &gt_collector_meter), GT_READY);
    gt_values_clear(machine->snapshot.system);
    assert_int_equal(gpu_machine_collect(machine, 1), 0);
    assert_true(isnan(machine->snapshot.system[GT_WALL_ENERGY]));
    append(machine, "time,watts\n1700000000,100\n1700000001,100\n170000");
    assert_int_equal(gpu_machine_collect(machine, 0), 0);
    assert_close(machine->snapshot.system[GT_WALL_ENERGY], 100, 1e-6);
    append(machine, "0002,200\nnonsense\n1700000003,200\n");
    assert_int_equal(gpu_machine_collect(machine, 2), -EINVAL); /* one warning, and the rest counts */
    assert_non_null(strstr(machine->error.text, "line 5"));
    assert_close(machine->snapshot.system[GT_WALL_ENERGY], 100 + 150 + 200, 1e-6);
    assert_close(machine->snapshot.system[GT_WALL_POWER], 200, 1e-6);
    append(machine, "more nonsense\n");
    assert_int_equal(gpu_machine_collect(machine, 0), 0);
}

TEST_ON_MACHINE(a_model_is_a_curve)
{
    struct gt_model model;
    struct gt_error error = {0};
    gpu_machine_file(machine, "model", "# a laptop\nidle_watts = 10\npoint = 0.5 40\nmax_watts=60\n");
    assert_int_equal(gt_model_read(&model, path_of(machine, "model"), 0, NULL), 0);
    assert_string_equal(model.name, "model");
    assert_close(gt_model_watts(&model, 0.25), 25, 1e-9);
    assert_close(gt_model_watts(&model, 0.75), 50, 1e-9);
    assert_close(gt_model_watts(&model, 7), 60, 1e-9);
    static const char *const texts[] = {"idle_watts = 10\n",
                                        "max_watts = 5\n",
                                        "idle_watts = x\nmax_watts = 1\n",
                                        "idle_watts=1\nmax_watts=2\npoint=0.5\n",
                                        "idle_watts=1\nmax_watts=2\npoint=2 5\n",
                                        "idle_watts=1\nmax_watts=-2\n",
                                        "color = blue\n",
                                        "idle_watts=1\nidle_watts=2\n",
                                        "tdp_watts=0\n",
                                        "tdp_watts=65\nidle_watts=2\n",
                                        "tdp_watts=65\ndram_watts=1\ndram_watts=1\n",
                                        "max_watts\n",
                                        ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        gpu_machine_file(machine, "model", "%s", texts[i]);
        assert_int_equal(gt_model_read(&model, path_of(machine, "model"), 0, i ? NULL : &error), -EINVAL);
    }
    assert_non_null(strstr(error.text, "needs idle_watts and max_watts"));
}

TEST_ON_MACHINE(a_model_may_be_json)
{
    struct gt_model model;
    gpu_machine_file(machine, "model", "%s",
                     "\n{\"name\": \"a\\nlaptop\", \"idle_watts\": 10, \"points\": [[0.5, 40], [0.25, 30.5]],"
                     " \"max_watts\": 60, \"dram_watts\": 2}\n");
    assert_int_equal(gt_model_read(&model, path_of(machine, "model"), 0, NULL), 0);
    assert_string_equal(model.name, "a laptop");
    assert_close(gt_model_watts(&model, 0.25), 30.5, 1e-9);
    assert_close(gt_model_watts(&model, 0.75), 50, 1e-9);
    assert_close(model.dram_watts, 2, 1e-9);
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"{", "model: line 1: "},
        {"{\"idle_watts\": 1,\n \"idle_watts\": 2}", "model: line 2: duplicate object key"},
        {"{\"idle_watts\": 10}", "needs idle_watts and max_watts, or tdp_watts"},
        {"{\"color\": 3}", "\"color\" is not a setting"},
        {"{\"max_watts\": \"60\"}", "\"max_watts\" is not a setting of a power model, or its value is wrong"},
        {"{\n\"two\nlines\": 1}", "model: line 2: "},
        {"{\"two\\nlines\": 1}", "\"two lines\" is not a setting"},
        {"{\"max_watts\": -1}", "\"max_watts\""},
        {"{\"name\": 1}", "\"name\""},
        {"{\"points\": 1}", "\"points\""},
        {"{\"points\": [[1]]}", "\"points\""},
        {"{\"points\": [[1, null]]}", "\"points\""},
        {"{\"points\": [[1, 2, 3]]}", "\"points\""},
        {"{\"points\": [[1.1, 2]]}", "\"points\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct gt_error error = {0};
        gpu_machine_file(machine, "model", "%s", bad[i].text);
        assert_int_equal(gt_model_read(&model, path_of(machine, "model"), 0, &error), -EINVAL);
        if (!strstr(error.text, bad[i].why) || strchr(error.text, '\n'))
            fail_msg("%s: %s", bad[i].text, error.text);
    }
}

TEST_WITH(a_tdp_is_a_published_curve, gpu_machine_setup, gpu_machine_teardown)
{
    static const double expected[][2] = {{0, 12}, {0.05, 22}, {0.1, 32}, {0.3, 53.5}, {0.5, 75}, {1, 102}};
    struct gpu_machine *machine = *state;
    struct gt_model model;
    assert_int_equal(gt_model_read(&model, NULL, 100, NULL), 0);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_close(gt_model_watts(&model, expected[i][0]), expected[i][1], 1e-9);
    gpu_machine_file(machine, "model", "tdp_watts = 200\ndram_watts = 3\n");
    assert_int_equal(gt_model_read(&model, path_of(machine, "model"), 0, NULL), 0);
    assert_close(gt_model_watts(&model, 0.5), 150, 1e-9);
    assert_int_equal(gt_model_read(&model, NULL, NAN, NULL), -EINVAL);
    assert_int_equal(gt_model_read(&model, NULL, 0, NULL), -EINVAL);
}

TEST_ON_MACHINE(nothing_is_estimated_unasked_or_where_a_counter_is)
{
    assert_int_equal(gpu_machine_open(machine, &gt_collector_estimate), GT_ABSENT);
    machine->options.cpu_tdp = 80;
    gpu_machine_file(machine, "sys/devices/system/cpu/online", "0-3\n");
    assert_true(gt_snapshot_claim(&machine->snapshot, GT_CPU_ENERGY, &gt_collector_meter));
    assert_int_equal(gpu_machine_open(machine, &gt_collector_estimate), GT_ABSENT);
    assert_non_null(strstr(machine->availability.reason, "a counter has"));
    machine->snapshot.owner[GT_CPU_ENERGY] = NULL;
    assert_int_equal(gpu_machine_open(machine, &gt_collector_estimate), GT_READY);
    assert_non_null(strstr(machine->availability.source, "estimated"));
    gt_values_clear(machine->snapshot.system);
    machine->snapshot.system[GT_CPU_TIME] = 2; /* of 4 cores for a second */
    assert_int_equal(gpu_machine_collect(machine, 1), 0);
    assert_close(machine->snapshot.system[GT_CPU_ENERGY], 80 * 0.75, 1e-6);
    assert_true(isnan(machine->snapshot.system[GT_DRAM_ENERGY]));
}
