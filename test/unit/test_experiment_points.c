/* Curves from elsewhere, sensors, and samples of counters. */
#include <sys/stat.h>

#include "collect/host/host.h"
#include "api/python.h"
#include "analyse/experiment/experiment.h"
#include "gpu_tracker.h"
#include "support/fake_proc.h"
#include "support/folder.h"
#include "support/test.h"

static void remove_tree(const char *folder)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

TEST(curves_are_put_together)
{
    struct gt_experiment *experiment = NULL;
    struct gt_error error = {0};
    const struct gt_experiment_curve power = {"CPU", "intel_power", NULL, 0}, wrong = {"DSP", "x", NULL, 0};
    assert_int_equal(gt_experiment_new(&experiment, &error), 0);
    assert_int_equal(gt_experiment_complete(experiment, "it", &error), -ENODATA);
    assert_string_equal(error.text, "it has no recording of power");
    for (size_t segment = 0; segment < 2; segment++)
        for (int i = 0; i < 2; i++) {
            struct gt_experiment_point point = {(double)segment * 100 + i, 10};
            assert_int_equal(gt_experiment_put(experiment, &power, segment, &point, (double)NAN, NULL), 0);
        }
    error = (struct gt_error){0};
    assert_int_equal(gt_experiment_put(experiment, &wrong, 0, &(struct gt_experiment_point){0, 0}, 1, &error), -EINVAL);
    assert_non_null(strstr(error.text, "\"DSP\""));
    assert_int_equal(gt_experiment_complete(experiment, "it", NULL), 0);
    assert_true(gt_experiment_total_power(experiment, (double)NAN, (double)NAN) == 20);
    assert_true(gt_experiment_total_power(experiment, 100.5, (double)NAN) == 5);
    assert_int_equal(gt_experiment_set_model(experiment, "[1]", NULL), -EINVAL);
    gt_experiment_free(experiment);
}

TEST(sensors_are_read_in_order)
{
    char machine[64];
    struct gt_root root;
    struct gt_temperature found[4];
    fake_proc_create(machine, &root);
    assert_int_equal(gt_temperatures_read(&root, found, 4), 0);
    folder_put(machine, "sys/class/hwmon/hwmon10/name", "nvme\n");
    folder_put(machine, "sys/class/hwmon/hwmon10/temp1_input", "-1500\n");
    folder_put(machine, "sys/class/hwmon/hwmon2/name", "coretemp\n");
    folder_put(machine, "sys/class/hwmon/hwmon2/temp10_input", "40000\n");
    folder_put(machine, "sys/class/hwmon/hwmon2/temp2_input", "45250\n");
    folder_put(machine, "sys/class/hwmon/hwmon2/temp2_label", "Package id 0\n");
    folder_put(machine, "sys/class/hwmon/hwmon2/temp2_crit", "100000\n");
    folder_put(machine, "sys/class/hwmon/hwmon2/temp3_input", "\n");
    folder_put(machine, "sys/class/hwmon/hwmon2/fan1_input", "900\n");
    folder_put(machine, "sys/class/hwmon/hwmon3/temp1_input", "1\n"); /* of no name */
    assert_int_equal(gt_temperatures_read(&root, found, 4), 3);
    assert_string_equal(found[0].chip, "coretemp");
    assert_string_equal(found[0].label, "Package id 0");
    assert_true(found[0].current == 45.25 && found[0].critical == 100 && isnan(found[0].high));
    assert_true(found[1].current == 40 && !*found[1].label);
    assert_string_equal(found[2].chip, "nvme");
    assert_true(found[2].current == -1.5);
    assert_int_equal(gt_temperatures_read(&root, found, 2), 2);
    gt_root_close(&root);
    remove_tree(machine);
}

static void zone(const char *machine, const char *entry, const char *name, const char *microjoules)
{
    static const char *const files[] = {"name", "max_energy_range_uj", "energy_uj"};
    const char *texts[] = {name, "1000000\n", microjoules};
    char path[128];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "sys/class/powercap/%s/%s", entry, files[i]);
        folder_put(machine, path, texts[i]);
    }
}

TEST(samples_have_differences)
{
    char machine[64];
    struct gt_root root;
    struct gt_error error = {0};
    struct gt_energy_sample *first = NULL, *second = NULL, *difference = NULL, *none = NULL;
    struct gt_energy_zone found;
    double seconds;
    fake_proc_create(machine, &root);
    assert_int_equal(gt_energy_sample_take(&first, machine, &error), -ENODEV);
    assert_non_null(strstr(error.text, "powercap"));
    zone(machine, "intel-rapl:0", "package-0\n", "900000\n");
    zone(machine, "intel-rapl:0:0", "dram\n", "100000\n");
    zone(machine, "intel-rapl:1", "package-1\n", "100000\n");
    assert_int_equal(gt_energy_sample_take(&first, machine, NULL), 0);
    zone(machine, "intel-rapl:0", "package-0\n", "400000\n"); /* began again at 1 J */
    zone(machine, "intel-rapl:0:0", "dram\n", "150000\n");
    zone(machine, "intel-rapl:1", "package-1\n", "200000\n");
    usleep(2000);
    assert_int_equal(gt_energy_sample_take(&second, machine, NULL), 0);
    assert_int_equal(gt_energy_sample_between(&none, second, first, NULL), -EINVAL);
    assert_int_equal(gt_energy_sample_between(&difference, first, second, NULL), 0);
    assert_int_equal(gt_energy_sample_between(&none, first, difference, NULL), -EINVAL);
    assert_int_equal(gt_energy_sample_zone(difference, 0, &found), 0);
    assert_string_equal(found.name, "package-0");
    assert_true(fabs(found.joules - 0.5) < 1e-9);
    assert_int_equal(gt_energy_sample_zone(difference, 3, &found), -ENOENT);
    assert_true(gt_energy_sample_time(difference, &seconds) > 1.6e9 && seconds >= 0.002);
    assert_true(fabs(gt_energy_sample_watts(difference, "intel_power") * seconds - 0.6) < 1e-9);
    assert_true(fabs(gt_energy_sample_watts(difference, "dram_power") * seconds - 0.05) < 1e-9);
    assert_true(isnan(gt_energy_sample_watts(difference, "psys_power")));
    assert_true(isnan(gt_energy_sample_watts(difference, "milk")));
    gt_energy_sample_free(first);
    gt_energy_sample_free(second);
    gt_energy_sample_free(difference);
    gt_root_close(&root);
    remove_tree(machine);
}
