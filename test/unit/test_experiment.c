/* An experiment on a stored machine with two sockets: what is recorded, read back, is what the counters say. */
#include <sys/mman.h>
#include <sys/stat.h>

#include "analyse/experiment/experiment.h"
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

static double total(const struct gt_experiment *experiment, const char *name)
{
    struct gt_experiment_figures figures;
    const struct gt_experiment_line *line = gt_experiment_find(experiment, name, NULL);
    if (!line)
        return -1;
    gt_experiment_figures(experiment, (size_t)(line - experiment->line), (double)NAN, (double)NAN, &figures);
    return figures.total;
}

TEST(joules_are_what_the_counters_say)
{
    char machine[64], folder[100], command[200];
    struct gt_root root;
    struct gt_error error = {0};
    struct gt_tracker *tracker = NULL;
    struct gt_experiment *experiment = NULL;
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
    error = (struct gt_error){0};
    assert_int_equal(gt_experiment_open(&experiment, folder, &error), 0);
    assert_close(total(experiment, "intel_power"), 2 * 15, 1e-6);
    assert_close(total(experiment, "total_cpu_power"), 7.5, 1e-6);
    assert_close(total(experiment, "psys_power"), -1, 0); /* there is none */
    gt_experiment_free(experiment);
    snprintf(command, sizeof command, "rm -rf %s/out %s/sys", machine, machine);
    assert_int_equal(system(command), 0);
    fake_proc_destroy(machine, &root);
}

enum { LONG = 100 << 20, PIECE = 64 << 10 };

static long long bytes_read(void)
{
    long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "rchar: %lld", &bytes), 1);
    fclose(file);
    return bytes;
}

/* How much of a long text is read before it is refused. */
static void check_long(const char *begin, int (*read)(struct gt_experiment *, const char *, struct gt_error *),
                       int status)
{
    static char piece[PIECE];
    struct gt_experiment experiment = {0};
    struct gt_error error = {0};
    char path[64];
    int fd = memfd_create("long", MFD_CLOEXEC);
    assert_true(fd >= 0 && write(fd, begin, strlen(begin)) > 0);
    memset(piece, 'x', sizeof piece);
    for (int i = 0; i < LONG / PIECE; i++)
        assert_int_equal(write(fd, piece, sizeof piece), sizeof piece);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    long long before = bytes_read();
    assert_int_equal(read(&experiment, path, &error), status);
    assert_in_range(bytes_read() - before, 60 << 20, 70 << 20);
    assert_non_null(strstr(error.text, status == -EFBIG ? "too large" : "longer than"));
    close(fd);
}

TEST_WITH(a_line_without_end_is_not_read_whole, folder_make, folder_remove)
{
    SKIP_UNDER_VALGRIND();
    check_long("{\"date\": \"", gt_experiment_read_power, -EFBIG);
    check_long("{\"date\": \"", gt_experiment_read_results, -EBADMSG);
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
