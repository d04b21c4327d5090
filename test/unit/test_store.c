#include <sys/stat.h>
#include <time.h>

#include "store/type.h"
#include "support/folder.h"
#include "support/recorder.h"
#include "support/test.h"

static const char *const names[] = {"a.csv", "a.sqlite", "it's \"one\"; 100%?#x.csv", "it's \"one\"; 100%?#x.sqlite"};
enum { NAMES = sizeof names / sizeof *names };

static bool is_near(double read, double written)
{
    return (isnan(read) && isnan(written)) || fabs(read - written) <= 1e-9 + fabs(written) * 1e-14;
}

/* ---- Columns ------------------------------------------------------------------------------------------------- */

static const char original_columns[] =
    "main_ram,descendants_ram,combined_ram,system_ram,main_gpu_ram,descendants_gpu_ram,combined_gpu_ram,system_gpu_ram,"
    "gpu_sum_utilization_percent,gpu_hardware_utilization_percent,main_n_threads,descendants_n_threads,"
    "combined_n_threads,cpu_system_sum_utilization_percent,cpu_system_hardware_utilization_percent,"
    "cpu_main_sum_utilization_percent,cpu_main_hardware_utilization_percent,cpu_descendants_sum_utilization_percent,"
    "cpu_descendants_hardware_utilization_percent,cpu_combined_sum_utilization_percent,"
    "cpu_combined_hardware_utilization_percent,timestamp,";

TEST(the_columns_begin_as_the_originals_and_cover_every_metric)
{
    static struct gt_columns columns;
    gt_store_columns(&columns, NULL);
    char joined[2000] = "";
    for (size_t i = 0; i < columns.original_count; i++)
        strcat(strcat(joined, columns.column[i].name), ",");
    assert_string_equal(joined, original_columns);
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int metric = 0; metric < GT_METRIC_COUNT; metric++) {
            int found = 0;
            for (size_t i = 0; i < columns.count; i++)
                found += columns.column[i].scope == scope && (int)columns.column[i].metric == metric &&
                         !columns.column[i].per_unit;
            assert_int_equal(found, gt_metric_has(metric, scope));
        }
    assert_true(gt_store_column_find(&columns, "combined_swap") >= (int)columns.original_count);
    assert_int_equal(gt_store_column_find(&columns, "combined_ram "), -ENOENT);
}

static double value_of(const char *name, const struct gt_sample *sample, const struct gt_machine *machine)
{
    static struct gt_columns columns;
    gt_store_columns(&columns, machine);
    int index = gt_store_column_find(&columns, name);
    assert_true(index >= 0);
    return gt_store_column_value(&columns.column[index], sample);
}

TEST(values_are_in_the_units_of_the_file)
{
    struct gt_row rows[GT_FIXED_ROWS];
    for (int i = 0; i < GT_FIXED_ROWS; i++)
        gt_values_clear(rows[i].value);
    struct gt_sample sample = {.real_ns = 1700000000123456789, .monotonic_ns = 1500000000, .row_count = 4, .row = rows};
    rows[GT_SCOPE_MAIN].value[GT_RAM] = 97112064;
    rows[GT_SCOPE_COMBINED].value[GT_GPU_RAM] = 1500000000;
    rows[GT_SCOPE_SYSTEM].value[GT_GPU_UTILIZATION] = 1.5;
    rows[GT_SCOPE_SYSTEM].value[GT_CPU_UTILIZATION] = 2;
    rows[GT_SCOPE_COMBINED].value[GT_CPU_UTILIZATION] = 1.5;
    rows[GT_SCOPE_COMBINED].value[GT_SWAP] = 12345678901;
    const struct gt_machine *machine = recorder_machine(true);
    assert_true(value_of("main_ram", &sample, machine) == 97.112064);
    assert_true(value_of("combined_gpu_ram", &sample, machine) == 1.5);
    assert_true(value_of("gpu_sum_utilization_percent", &sample, machine) == 150);
    assert_true(value_of("gpu_hardware_utilization_percent", &sample, machine) == 100); /* of one expected */
    assert_true(value_of("cpu_system_hardware_utilization_percent", &sample, machine) == 50);
    assert_true(value_of("cpu_combined_sum_utilization_percent", &sample, machine) == 150);
    assert_true(value_of("cpu_combined_hardware_utilization_percent", &sample, machine) == 50);
    assert_true(value_of("combined_swap", &sample, machine) == 12345678901);
    assert_true(value_of("timestamp", &sample, machine) == 1700000000.123456);
    assert_true(value_of("monotonic", &sample, machine) == 1.5);
    assert_true(isnan(value_of("system_ram", &sample, machine)));
    assert_true(isnan(value_of("main_gpu_ram", &sample, machine)));
    struct gt_machine originals = *machine;
    originals.start_real_ns = 0; /* its files have what it measured */
    assert_true(value_of("gpu_hardware_utilization_percent", &sample, &originals) == 150);
    assert_true(value_of("combined_gpu_ram", &sample, recorder_machine(false)) == 0);
    assert_true(value_of("gpu_hardware_utilization_percent", &sample, recorder_machine(false)) == 0);
    assert_true(isnan(value_of("system_swap", &sample, recorder_machine(false))));
}

/* ---- There and back ------------------------------------------------------------------------------------------ */

static void check_machine(const struct gt_machine *read)
{
    const struct gt_machine *written = recorder_machine(true);
    assert_string_equal(read->ram_unit, written->ram_unit);
    assert_string_equal(read->gpu_ram_unit, written->gpu_ram_unit);
    assert_string_equal(read->time_unit, written->time_unit);
    assert_true(read->ram_capacity == written->ram_capacity);
    assert_true(read->gpu_ram_capacity == written->gpu_ram_capacity);
    assert_int_equal(read->core_count, 4);
    assert_int_equal(read->expected_cores, 3);
    assert_int_equal(read->gpu_count, 2);
    assert_int_equal(read->expected_gpus, 1);
    assert_string_equal(read->host, written->host);
    assert_string_equal(read->command, written->command);
    assert_int_equal(read->pid, 4711);
    assert_true(read->period == 0.125);
    assert_true(read->start_real_ns == written->start_real_ns);
    assert_string_equal(read->ram_method, written->ram_method);
    assert_int_equal(read->gpu_length, 2);
    assert_string_equal(read->gpu[0].name, written->gpu[0].name);
    assert_string_equal(read->gpu[1].uuid, "GPU-0002");
    assert_true(read->gpu[0].memory == 85899345920.0 && isnan(read->gpu[1].memory));
    assert_true(read->gpu[0].selected && !read->gpu[1].selected);
}

static void check_row(const struct gt_row *read, const struct gt_row *written)
{
    assert_int_equal(read->scope, written->scope);
    assert_int_equal(read->device, written->device);
    assert_int_equal(read->pid, written->pid);
    assert_int_equal(read->parent, written->parent);
    assert_true(read->start == written->start);
    for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
        if (!is_near(read->value[metric], written->value[metric]))
            fail_msg("%s %s: read %.17g, written %.17g", gt_scope_name(read->scope), gt_metrics[metric].name,
                     read->value[metric], written->value[metric]);
}

static void check_outcome(const struct gt_outcome *read, int samples, bool has_provenance)
{
    assert_non_null(read);
    struct gt_outcome written = recorder_outcome(samples);
    assert_true(read->complete);
    assert_true(read->elapsed == written.elapsed && read->own_cpu_time == 0.25 && isnan(read->slowest_sample));
    assert_int_equal(read->exit_status, 137);
    assert_int_equal(read->ending, GT_ENDED_BY_SIGNAL);
    assert_int_equal(read->samples, samples);
    assert_int_equal(read->missed, 2);
    assert_int_equal(read->dropped, 0);
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        for (int metric = 0; metric < GT_METRIC_COUNT; metric++)
            if (gt_metrics[metric].kind != GT_GAUGE)
                assert_true(is_near(read->value[scope][metric], written.value[scope][metric]));
    assert_int_equal(read->provenance_count, has_provenance ? 2 : 0);
    if (!has_provenance)
        return;
    assert_int_equal(read->provenance[0].metric, GT_RAM_PEAK);
    assert_int_equal(read->provenance[0].exactness, GT_EXACT);
    assert_string_equal(read->provenance[0].note, written.provenance[0].note);
    assert_int_equal(read->provenance[1].scope, GT_SCOPE_SYSTEM);
}

static void check_recording(const char *path, int count, bool detail)
{
    struct gt_error error = {0};
    struct gt_recording *recording;
    if (gt_recording_open(&recording, path, &error) < 0)
        fail_msg("%s", error.text);
    gt_recording_detail(recording, detail);
    check_machine(gt_recording_machine(recording));
    check_outcome(gt_recording_outcome(recording), count, strstr(path, ".sqlite"));
    const struct gt_sample *sample;
    int status, number = 0;
    while ((status = gt_recording_next(recording, &sample, &error)) > 0) {
        const struct gt_sample *written = recorder_sample(number++);
        assert_true(sample->real_ns == written->real_ns && sample->monotonic_ns == written->monotonic_ns);
        assert_int_equal(sample->row_count, detail ? RECORDER_ROWS : GT_FIXED_ROWS);
        for (size_t i = 0; i < sample->row_count; i++)
            check_row(&sample->row[i], &written->row[i]);
    }
    if (status < 0)
        fail_msg("%s", error.text);
    assert_int_equal(number, count);
    assert_int_equal(gt_recording_next(recording, &sample, &error), 0);
    assert_int_equal(gt_recording_unfinished(recording), 0);
    gt_recording_close(recording);
}

TEST_WITH(what_was_written_is_read_back, folder_make, folder_remove)
{
    for (int i = 0; i < NAMES; i++) {
        const char *path = folder_path(names[i]);
        recorder_write(path, 150, false);
        check_recording(path, 150, false);
    }
    assert_int_equal(folder_count(), NAMES); /* one file each */
}

TEST_WITH(details_are_read_back, folder_make, folder_remove)
{
    for (int i = 0; i < NAMES; i++) {
        const char *path = folder_path(names[i]);
        recorder_write(path, 50, true);
        check_recording(path, 50, true);
        check_recording(path, 50, false);
    }
    assert_int_equal(folder_count(), 2 + 2 * 4);
    assert_int_equal(access(folder_path("a.gpus.csv"), F_OK), 0);
    assert_int_equal(access(folder_path("a.processes.csv"), F_OK), 0);
}

TEST_WITH(a_recording_without_samples_is_one, folder_make, folder_remove)
{
    for (int i = 0; i < 2; i++) {
        const char *path = folder_path(names[i]);
        recorder_write(path, 0, false);
        check_recording(path, 0, false);
    }
}

static int arrived(const char *path)
{
    struct gt_recording *recording;
    assert_int_equal(gt_recording_open(&recording, path, NULL), 0);
    assert_null(gt_recording_outcome(recording));
    const struct gt_sample *sample;
    int count = 0;
    while (gt_recording_next(recording, &sample, NULL) > 0)
        count++;
    gt_recording_close(recording);
    return count;
}

TEST_WITH(samples_arrive_soon_and_before_the_end, folder_make, folder_remove)
{
    for (int i = 0; i < 2; i++) {
        struct gt_store_options options = {.path = folder_path(names[i]), .overwrite = true};
        struct gt_store *store;
        assert_int_equal(gt_store_open(&store, &options, recorder_machine(true), NULL), 0);
        for (int number = 0; number < 10; number++)
            recorder_send(store, recorder_sample(number));
        for (int waits = 0; arrived(options.path) < 10; waits++) {
            assert_in_range(waits, 0, 1000);
            usleep(10000);
        }
        assert_int_equal(arrived(options.path), 10);
        assert_null(gt_store_trouble(store));
        assert_int_equal(gt_store_close(store, NULL, NULL), 0);
    }
    assert_int_equal(folder_count(), 2);
}

TEST_WITH(chosen_columns_alone_are_read, folder_make, folder_remove)
{
    static const char *const wanted[] = {"combined_swap", "cpu_main_hardware_utilization_percent"};
    static const char *const unknown[] = {"combined_ram", "combined_rams"};
    for (int i = 0; i < 2; i++) {
        recorder_write(folder_path(names[i]), 5, false);
        struct gt_recording *recording;
        struct gt_error error = {0};
        assert_int_equal(gt_recording_open(&recording, folder_path(names[i]), NULL), 0);
        assert_int_equal(gt_recording_columns(recording, unknown, 2, &error), -ENOENT);
        assert_non_null(strstr(error.text, "\"combined_rams\""));
        assert_int_equal(gt_recording_columns(recording, wanted, 2, NULL), 0);
        const struct gt_sample *sample;
        for (int number = 0; gt_recording_next(recording, &sample, NULL) > 0; number++) {
            const struct gt_sample *written = recorder_sample(number);
            assert_true(sample->real_ns == written->real_ns && sample->monotonic_ns == written->monotonic_ns);
            for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
                for (int metric = 0; metric < GT_METRIC_COUNT; metric++) {
                    bool is_wanted = (scope == GT_SCOPE_COMBINED && metric == GT_SWAP) ||
                                     (scope == GT_SCOPE_MAIN && metric == GT_CPU_UTILIZATION);
                    assert_true(
                        is_near(sample->row[scope].value[metric], is_wanted ? written->row[scope].value[metric] : NAN));
                }
        }
        gt_recording_close(recording);
    }
}

/* ---- Queue and speed ----------------------------------------------------------------------------------------- */

static double cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int count_samples(const char *path, const char *column)
{
    struct gt_recording *recording;
    const struct gt_sample *sample;
    int count = 0;
    assert_int_equal(gt_recording_open(&recording, path, NULL), 0);
    if (column)
        assert_int_equal(gt_recording_columns(recording, &column, 1, NULL), 0);
    while (gt_recording_next(recording, &sample, NULL) > 0)
        count++;
    gt_recording_close(recording);
    return count;
}

TEST_WITH(a_full_queue_drops_samples_and_says_how_many, folder_make, folder_remove)
{
    enum { BATCHES = 3 };
    const int written = 30000;
    for (int i = 0; i < 2; i++) {
        struct gt_store_options options = {.path = folder_path(names[i]), .overwrite = true};
        struct gt_outcome outcome = recorder_outcome(written);
        struct gt_error error = {0};
        struct gt_store *store;
        assert_int_equal(gt_store_open(&store, &options, recorder_machine(true), NULL), 0);
        struct gt_sample sample = *recorder_sample(1);
        struct gt_sample_batch batch[BATCHES] = {{0}};
        sample.row_count = GT_FIXED_ROWS;
        for (int number = 0; number < written; number++)
            assert_int_equal(gt_sample_batch_add(&batch[number % BATCHES], &sample), 0);
        for (int k = 0; k < BATCHES; k++) {
            gt_store_send(store, &batch[k]);
            free(batch[k].bytes);
        }
        const char *trouble = gt_store_trouble(store);
        assert_non_null(trouble);
        assert_non_null(strstr(trouble, "not recorded"));
        assert_int_equal(gt_store_close(store, &outcome, &error), -EOVERFLOW);
        struct gt_recording *recording;
        assert_int_equal(gt_recording_open(&recording, options.path, NULL), 0);
        uint64_t dropped = gt_recording_outcome(recording)->dropped;
        gt_recording_close(recording);
        assert_true(dropped > 0);
        assert_int_equal(count_samples(options.path, NULL) + (int)dropped, written);
    }
}

/* The speed of this machine and build: the CPU time of a million numbers printed by the C library. */
static double print_numbers(void)
{
    char text[40];
    double before = cpu_seconds();
    for (int i = 0; i < 1000000; i++)
        snprintf(text, sizeof text, "%.9g", i * 1.1);
    return cpu_seconds() - before;
}

/* Without the queue, which may drop samples on a busy machine. */
static void write_directly(const char *path, int count)
{
    const struct gt_store_type *type = gt_store_type_of(path, NULL);
    struct gt_store_options options = {.path = path, .overwrite = true};
    struct gt_outcome outcome = recorder_outcome(count);
    void *writer;
    assert_int_equal(type->create(&writer, &options, recorder_machine(true), NULL), 0);
    for (int i = 0; i < count; i++) {
        assert_int_equal(type->write(writer, recorder_sample(i), NULL), 0);
        if (i % 100 == 99)
            assert_int_equal(type->flush(writer, NULL), 0);
    }
    assert_int_equal(type->flush(writer, NULL), 0);
    assert_int_equal(type->finish(writer, &outcome, true, NULL), 0);
}

/* A row is about 80 numbers. The limits are generous; exact figures are for the benchmarks. */
TEST_WITH(a_hundred_thousand_rows_are_quick, folder_make, folder_remove)
{
    enum { ROWS = FEWER(100000, 10000) };
    double unit = print_numbers();
    for (int i = 0; i < 2; i++) {
        const char *path = folder_path(names[i]);
        double before = cpu_seconds();
        write_directly(path, ROWS);
        double between = cpu_seconds();
        assert_int_equal(count_samples(path, "combined_ram"), ROWS);
        double after = cpu_seconds();
        print_message("%s: %.1f us to make and write a row, %.2f us to read a column of it\n", names[i],
                      (between - before) * 1e6 / ROWS, (after - between) * 1e6 / ROWS);
        if (between - before > 12 * unit || after - between > 2 * unit)
            fail_msg("%.2f s of CPU to write, %.2f s to read; the unit is %.2f s", between - before, after - between,
                     unit);
    }
}
