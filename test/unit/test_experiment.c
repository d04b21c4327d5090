/* An experiment on a stored machine with two sockets: what is recorded, read back, is what the counters say. */
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "record/aipowermeter.h"
#include "store/store.h"
#include "support/fake_proc.h"
#include "support/folder.h"
#include "support/test.h"
#include "support/valgrind.h"

static void zone(const char *folder, const char *entry, const char *name, long microjoules)
{
    char path[128], text[32];
    snprintf(path, sizeof path, "sys/class/powercap/%s/name", entry);
    folder_put(folder, path, name);
    snprintf(path, sizeof path, "sys/class/powercap/%s/max_energy_range_uj", entry);
    folder_put(folder, path, "262143328850\n");
    snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", entry);
    snprintf(text, sizeof text, "%ld\n", microjoules);
    folder_put(folder, path, text);
}

static void energy(const char *folder, long package)
{
    zone(folder, "intel-rapl:0", "package-0\n", 1000000 + package);
    zone(folder, "intel-rapl:0:0", "core\n", 500000 + package / 2);
    zone(folder, "intel-rapl:1", "package-1\n", 7000000 + package);
}

/* Add up watts of a name over the windows of the records. */
static double total(const char *folder, const char *name)
{
    char path[120];
    struct gt_buffer line = {0};
    double sum = 0;
    snprintf(path, sizeof path, "%s/power_metrics.json", folder);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (gt_file_line(file, &line, 1 << 20) > 0) {
        struct gt_json_value *record = gt_json_parse(line.data, line.length, GT_JSON_ANY_VALUE, NULL);
        const struct gt_json_value *cpu = gt_json_member(gt_json_member(record, "metrics"), "cpu");
        double joules = gt_json_number_or_nan(gt_json_member(cpu, name)) *
                        gt_json_number_or_nan(gt_json_member(record, "window"));
        sum += isnan(joules) ? 0 : joules;
        gt_json_free(record);
    }
    fclose(file);
    gt_buffer_release(&line);
    return sum;
}

TEST(joules_are_what_the_counters_say)
{
    char machine[64], folder[100], command[200];
    struct gt_root root;
    struct gt_error error = {0};
    struct gt_tracker *tracker = NULL;
    struct gt_recording *recording = NULL;
    pid_t pid = 700;
    SKIP_UNDER_VALGRIND(); /* too slow: counters that stand still for 50 ms are taken as dead */
    fake_proc_create(machine, &root);
    struct fake_process job = {.pid = pid, .parent = 1, .start = 5, .cpu_ticks = 100, .resident_pages = 1000};
    fake_proc_write(machine, &job);
    folder_put(machine, "proc/stat", "cpu  1000 0 0 9000 0 0 0 0 0 0\n");
    folder_put(machine, "proc/meminfo", "MemTotal: 1000000 kB\nMemFree: 500000 kB\nBuffers: 0 kB\nCached: 0 kB\n");
    energy(machine, 0);
    snprintf(folder, sizeof folder, "%s/out", machine);
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    options.tracking_file = folder;
    options.sleep_time = 0.001;
    const struct gt_experiment_options experiment_options = {.measurement_period = 0.001};
    options.experiment = &experiment_options;
    options.memory = "rss";
    options.machine_root = machine;
    assert_int_equal(gt_tracker_open(&tracker, pid, &options, &error), 0);
    assert_int_equal(gt_tracker_sample(tracker, &error), 1);
    for (long step = 1; step <= 3; step++) {
        usleep(5000);
        energy(machine, step * 5000000);
        assert_int_equal(gt_tracker_sample(tracker, &error), 1);
    }
    assert_int_equal(gt_tracker_finish(tracker, &error), 0);
    gt_tracker_close(tracker);
    assert_int_equal(gt_recording_open(&recording, folder, &error), -EINVAL); /* no samples */
    assert_close(total(folder, "intel_power"), 2 * 15, 1e-6);
    assert_close(total(folder, "total_cpu_power"), 7.5, 1e-6);
    assert_true(total(folder, "psys_power") <= 0); /* -1: there is none */
    snprintf(command, sizeof command, "rm -rf %s/out %s/sys", machine, machine);
    assert_int_equal(system(command), 0);
    fake_proc_destroy(machine, &root);
}

static int count_records(void *context, const char *metrics)
{
    ++*(int *)context;
    return strstr(metrics, "\"total_mem_use\"") ? 0 : -EINVAL;
}

static int refuse_records(void *context, const char *metrics)
{
    (void)context;
    (void)metrics;
    return -EIO;
}

/* Without a folder; and one that cannot be taken ends the recording, not the measuring. */
TEST(records_are_handed_over)
{
    for (int refuses = 0; refuses < 2; refuses++) {
        int count = 0;
        struct gt_error error = {0};
        struct gt_tracker *tracker = NULL;
        struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
        options.memory = "rss";
        struct gt_experiment_options experiment = {.record = refuses ? refuse_records : count_records};
        options.experiment = &experiment;
        options.context = &count;
        assert_int_equal(gt_tracker_open(&tracker, 0, &options, &error), -EINVAL);
        assert_non_null(strstr(error.text, "measurement period"));
        error = (struct gt_error){0};
        options.sleep_time = experiment.measurement_period = 0.001;
        assert_int_equal(gt_tracker_open(&tracker, 0, &options, &error), 0);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(gt_tracker_sample(tracker, &error), 1);
            usleep(2000);
        }
        assert_int_equal(gt_tracker_finish(tracker, &error), refuses ? -EIO : 0);
        assert_int_equal(count, refuses ? 0 : 3);
        assert_true(gt_tracker_value(tracker, GT_SCOPE_COMBINED, gt_metric_find("cpu_time")) > 0);
        gt_tracker_close(tracker);
    }
}
