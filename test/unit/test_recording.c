/* Reading recordings that others wrote, or that something has happened to. */
#include <sqlite3.h>

#include "support/folder.h"
#include "support/recorder.h"
#include "support/test.h"

#define STATIC                                                                                                        \
    "ram_unit,gpu_ram_unit,time_unit,ram_system_capacity,gpu_ram_system_capacity,system_core_count,n_expected_cores," \
    "system_gpu_count,n_expected_gpus\r\nmegabytes,gigabytes,hours,25274.793984,0.0,4,2,0,0\r\n"

static const char *put(const char *name, const char *text)
{
    const char *path = folder_path(name);
    recorder_put(path, text, strlen(text));
    return path;
}

/* ---- The original's files ------------------------------------------------------------------------------------ */

TEST_WITH(the_originals_files_are_read, folder_make, folder_remove)
{
    static const struct {
        const char *path;
        int samples;
        double first_ram; /* bytes */
    } files[] = {
        {TEST_SOURCE_DIR "/fixture/original/tracking.csv", 7, 7352320},
        {TEST_SOURCE_DIR "/fixture/original/tracking.sqlite", 6, 46342144},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct gt_recording *recording;
        struct gt_error error = {0};
        if (gt_recording_open(&recording, files[i].path, &error) < 0)
            fail_msg("%s", error.text);
        const struct gt_machine *machine = gt_recording_machine(recording);
        assert_string_equal(machine->ram_unit, "megabytes");
        assert_string_equal(machine->time_unit, "seconds");
        assert_true(machine->ram_capacity == 25274793984.0);
        assert_int_equal(machine->core_count, 2);
        assert_string_equal(machine->command, "");
        assert_null(gt_recording_outcome(recording));
        const struct gt_sample *sample;
        int count = 0;
        while (gt_recording_next(recording, &sample, &error) > 0) {
            if (!count++)
                assert_true(sample->row[GT_SCOPE_MAIN].value[GT_RAM] == files[i].first_ram);
            assert_true(sample->real_ns > INT64_C(1795231800000000000));
            assert_true(sample->monotonic_ns == sample->real_ns);
            assert_true(sample->row[GT_SCOPE_COMBINED].value[GT_THREADS] >= 1);
            assert_true(isnan(sample->row[GT_SCOPE_SYSTEM].value[GT_GPU_RAM])); /* it has 0 there, without a GPU */
            assert_true(isnan(sample->row[GT_SCOPE_COMBINED].value[GT_SWAP]));
        }
        assert_string_equal(error.text, "");
        assert_int_equal(count, files[i].samples);
        gt_recording_close(recording);
    }
}

/* ---- Texts --------------------------------------------------------------------------------------------------- */

TEST_WITH(columns_may_come_in_any_order_and_some_be_missing, folder_make, folder_remove)
{
    const char *path = put("a.csv", STATIC "unknown,timestamp,main_n_threads,cpu_main_hardware_utilization_percent,"
                                           "main_ram\r\n"
                                           "word,1700000000.5,3,45.5,97.112064\r\n"
                                           "\"more, words\",\"1700000001.5\",,nan,\"1e3\"\r\n");
    struct gt_recording *recording;
    const struct gt_sample *sample;
    assert_int_equal(gt_recording_open(&recording, path, NULL), 0);
    assert_int_equal(gt_recording_next(recording, &sample, NULL), 1);
    assert_true(sample->real_ns == INT64_C(1700000000500000000));
    const double *main_value = sample->row[GT_SCOPE_MAIN].value;
    assert_true(main_value[GT_THREADS] == 3);
    assert_true(main_value[GT_CPU_UTILIZATION] == 0.91); /* the sum is told by the share: 45.5 % of two cores */
    assert_true(main_value[GT_RAM] == 97112064);
    assert_true(isnan(sample->row[GT_SCOPE_SYSTEM].value[GT_RAM]));
    assert_int_equal(gt_recording_next(recording, &sample, NULL), 1);
    assert_true(isnan(main_value[GT_THREADS]) && isnan(main_value[GT_CPU_UTILIZATION]));
    assert_true(main_value[GT_RAM] == 1e9);
    assert_int_equal(gt_recording_next(recording, &sample, NULL), 0);
    gt_recording_close(recording);
}

TEST_WITH(a_row_that_was_never_finished_is_left_out_and_counted, folder_make, folder_remove)
{
    static const char whole[] = STATIC "timestamp,main_ram\r\n1.5,1\r\n2.5,2\r\n";
    static const char *const torn[] = {"3.5,123", "3.5,", "3.5", "3", "3.5,12\r"};
    for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
        char text[1000];
        snprintf(text, sizeof text, "%s%s", whole, torn[i]);
        bool has_end = strchr(torn[i], '\r'); /* all of the row is there, and half of the line's end */
        struct gt_recording *recording;
        const struct gt_sample *sample;
        int count = 0;
        assert_int_equal(gt_recording_open(&recording, put("a.csv", text), NULL), 0);
        while (gt_recording_next(recording, &sample, NULL) > 0)
            count++;
        assert_int_equal(count, has_end ? 3 : 2);
        assert_int_equal(gt_recording_unfinished(recording), !has_end);
        gt_recording_close(recording);
    }
}

/* Every length of a recording is some moment of a kill in the middle of a write. */
TEST_WITH(every_prefix_of_a_recording_is_read_or_refused, folder_make, folder_remove)
{
    recorder_write(folder_path("a.csv"), 2, false);
    static char text[20000];
    FILE *file = fopen(folder_path("a.csv"), "re");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_true(size > 3000 && size < sizeof text);
    for (size_t length = 0; length < size; length += 1 + length % 7) {
        struct gt_error error = {0};
        struct gt_recording *recording;
        const struct gt_sample *sample;
        recorder_put(folder_path("b.csv"), text, length);
        if (gt_recording_open(&recording, folder_path("b.csv"), &error) < 0) {
            assert_true(strlen(error.text) > 10);
            continue;
        }
        int status, count = 0;
        while ((status = gt_recording_next(recording, &sample, &error)) > 0) {
            const struct gt_sample *written = recorder_sample(count++);
            assert_true(sample->real_ns == written->real_ns);
            assert_true(sample->row[0].value[GT_PRESSURE_IO_FULL] == written->row[0].value[GT_PRESSURE_IO_FULL]);
        }
        assert_int_equal(status, 0);
        assert_true(count < 2 || text[length - 1] == '\r');
        gt_recording_close(recording);
    }
}

TEST_WITH(bad_rows_are_named_and_may_be_passed_over, folder_make, folder_remove)
{
    static const struct {
        const char *row, *named;
    } rows[] = {
        {"2.5,word", "line 5, column main_ram: \"word\" is not a number"},
        {"2.5,1,3", "line 5: 3 fields where the columns are 2"},
        {"2.5", "line 5: 1 fields where the columns are 2"},
        {"x,1", "line 5, column timestamp: \"x\""},
        {",1", "line 5, column timestamp: no time"},
        {"2.5,0x10", "\"0x10\""},
        {"2.5,1 000", "\"1 000\""},
        {"2.5,inf", "\"inf\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1000];
        snprintf(text, sizeof text, "%stimestamp,main_ram\r\n1.5,1\r\n%s\r\n3.5,3\r\n", STATIC, rows[i].row);
        struct gt_error error = {0};
        struct gt_recording *recording;
        const struct gt_sample *sample;
        assert_int_equal(gt_recording_open(&recording, put("a.csv", text), NULL), 0);
        assert_int_equal(gt_recording_next(recording, &sample, NULL), 1);
        assert_int_equal(gt_recording_next(recording, &sample, &error), -EBADMSG);
        if (!strstr(error.text, rows[i].named) || !strstr(error.text, "a.csv"))
            fail_msg("\"%s\" does not name %s", error.text, rows[i].named);
        assert_int_equal(gt_recording_next(recording, &sample, NULL), 1);
        assert_true(sample->real_ns == INT64_C(3500000000) && sample->row[GT_SCOPE_MAIN].value[GT_RAM] == 3e6);
        assert_int_equal(gt_recording_next(recording, &sample, NULL), 0);
        gt_recording_close(recording);
    }
}

TEST_WITH(what_is_no_recording_is_refused, folder_make, folder_remove)
{
    static const struct {
        const char *name, *text, *named;
    } files[] = {
        {"a.csv", "", "a.csv is empty"},
        {"a.csv", "\r\n\r\n", "a.csv is empty"},
        {"a.csv", "ram_unit,gpu_ram_unit\r\n", "ends before its static data"},
        {"a.csv", "process_id,code_block_name,position,timestamp\r\n1,a,0,1.5\r\n", "not a tracking file"},
        {"a.csv", STATIC "main_ram,system_ram\r\n1,2\r\n", "line 3: no column timestamp"},
        {"a.csv", "ram_unit,gpu_ram_unit,time_unit\r\nparsecs,bytes,hours\r\n", "\"parsecs\""},
        {"a.csv", "ram_unit,gpu_ram_unit,time_unit,system_core_count\r\nbytes,bytes,hours,two\r\n",
         "system_core_count"},
        {"a.csv", "ram_unit,gpu_ram_unit,time_unit,layout\r\nbytes,bytes,hours,2\r\n", "newer"},
        {"a.csv", "ram_unit,gpu_ram_unit,time_unit,gpus\r\nbytes,bytes,hours,{\r\n", "gpus"},
        {"a.sqlite", "", "a.sqlite is empty"},
        {"a.sqlite", "short", "a.sqlite is not an SQLite database"},
        {"a.sqlite", STATIC STATIC, "a.sqlite is not an SQLite database"},
        {"a.json", "{}", ".sqlite or .csv"},
        {"csv", "", ".sqlite or .csv"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct gt_error error = {0};
        struct gt_recording *recording = NULL;
        if (gt_recording_open(&recording, put(files[i].name, files[i].text), &error) >= 0)
            fail_msg("%s with \"%s\" was read", files[i].name, files[i].text);
        assert_null(recording);
        if (!strstr(error.text, files[i].named))
            fail_msg("\"%s\" does not name %s", error.text, files[i].named);
    }
}

TEST_WITH(a_missing_file_is_not_made, folder_make, folder_remove)
{
    static const char *const names[] = {"none.csv", "none.sqlite"};
    for (int i = 0; i < 2; i++) {
        struct gt_error error = {0};
        struct gt_recording *recording;
        assert_int_equal(gt_recording_open(&recording, folder_path(names[i]), &error), -ENOENT);
        assert_non_null(strstr(error.text, names[i]));
    }
    assert_int_equal(folder_count(), 0);
}

/* ---- Databases ----------------------------------------------------------------------------------------------- */

static const char *make_database(const char *sql)
{
    const char *path = folder_path("a.sqlite");
    sqlite3 *database;
    char *problem = NULL;
    unlink(path);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, &problem) != SQLITE_OK)
        fail_msg("%s", problem);
    sqlite3_close(database);
    return path;
}

#define TABLES                                                                                                   \
    "CREATE TABLE static_data (ram_unit, gpu_ram_unit, time_unit, system_core_count INTEGER, system_gpu_count);" \
    "INSERT INTO static_data VALUES ('bytes', 'bytes', 'hours', '4', 0);"

TEST_WITH(column_types_do_not_matter, folder_make, folder_remove)
{
    const char *path = make_database(
        TABLES "CREATE TABLE data (main_ram TEXT, system_ram BLOB, \"combined_swap\" INTEGER, timestamp REAL);"
               "INSERT INTO data VALUES ('1.5', 2, 3.5, 10), (4, NULL, 5, '11.5');");
    struct gt_recording *recording;
    const struct gt_sample *sample;
    struct gt_error error = {0};
    assert_int_equal(gt_recording_open(&recording, path, &error), 0);
    assert_int_equal(gt_recording_machine(recording)->core_count, 4);
    assert_int_equal(gt_recording_next(recording, &sample, &error), 1);
    assert_true(sample->row[GT_SCOPE_MAIN].value[GT_RAM] == 1.5);
    assert_true(sample->row[GT_SCOPE_SYSTEM].value[GT_RAM] == 2);
    assert_true(sample->row[GT_SCOPE_COMBINED].value[GT_SWAP] == 3.5);
    assert_true(sample->real_ns == INT64_C(10000000000));
    assert_int_equal(gt_recording_next(recording, &sample, &error), 1);
    assert_true(sample->row[GT_SCOPE_MAIN].value[GT_RAM] == 4);
    assert_true(isnan(sample->row[GT_SCOPE_SYSTEM].value[GT_RAM]));
    assert_true(sample->real_ns == INT64_C(11500000000));
    assert_int_equal(gt_recording_next(recording, &sample, &error), 0);
    gt_recording_close(recording);
}

TEST_WITH(bad_cells_are_named_and_may_be_passed_over, folder_make, folder_remove)
{
    static const struct {
        const char *row, *named;
    } rows[] = {
        {"'word', 2.5", "row 2, column main_ram: \"word\""},
        {"x'ff00', 2.5", "row 2, column main_ram"},
        {"1, NULL", "row 2, column timestamp: no time"},
        {"1, 'noon'", "row 2, column timestamp: \"noon\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sql[1000];
        snprintf(sql, sizeof sql,
                 "%sCREATE TABLE data (main_ram, timestamp); INSERT INTO data VALUES (1, 1.5), (%s), (3, 3.5);", TABLES,
                 rows[i].row);
        struct gt_error error = {0};
        struct gt_recording *recording;
        const struct gt_sample *sample;
        assert_int_equal(gt_recording_open(&recording, make_database(sql), NULL), 0);
        assert_int_equal(gt_recording_next(recording, &sample, NULL), 1);
        assert_int_equal(gt_recording_next(recording, &sample, &error), -EBADMSG);
        if (!strstr(error.text, rows[i].named) || !strstr(error.text, "a.sqlite"))
            fail_msg("\"%s\" does not name %s", error.text, rows[i].named);
        assert_int_equal(gt_recording_next(recording, &sample, NULL), 1);
        assert_true(sample->row[GT_SCOPE_MAIN].value[GT_RAM] == 3);
        gt_recording_close(recording);
    }
}

TEST_WITH(other_databases_are_refused, folder_make, folder_remove)
{
    static const struct {
        const char *sql, *named;
    } databases[] = {
        {"CREATE TABLE data (process_id, code_block_name, position, timestamp)", "no table static_data"},
        {"CREATE TABLE static_data (ram_unit)", "static_data is empty"},
        {TABLES "CREATE TABLE data (main_ram); INSERT INTO data VALUES (1)", "no column timestamp"},
        {TABLES "PRAGMA user_version = 99", "newer"},
        {TABLES "UPDATE static_data SET gpu_ram_unit = 'crates'", "\"crates\""},
    };
    for (size_t i = 0; i < sizeof databases / sizeof *databases; i++) {
        struct gt_error error = {0};
        struct gt_recording *recording = NULL;
        const struct gt_sample *sample;
        int status = gt_recording_open(&recording, make_database(databases[i].sql), &error);
        if (status >= 0)
            status = gt_recording_next(recording, &sample, &error);
        assert_true(status < 0);
        if (!strstr(error.text, databases[i].named))
            fail_msg("\"%s\" does not name %s", error.text, databases[i].named);
        gt_recording_close(recording);
    }
}

TEST_WITH(a_database_without_samples_is_a_recording, folder_make, folder_remove)
{
    struct gt_recording *recording;
    const struct gt_sample *sample;
    assert_int_equal(gt_recording_open(&recording, make_database(TABLES), NULL), 0);
    assert_int_equal(gt_recording_next(recording, &sample, NULL), 0);
    assert_int_equal(gt_recording_next(recording, &sample, NULL), 0);
    gt_recording_close(recording);
}

/* Pages overwritten in the middle: an error that names the file, or fewer rows, and no crash. */
TEST_WITH(a_damaged_database_is_told, folder_make, folder_remove)
{
    const char *path = folder_path("a.sqlite");
    recorder_write(path, 300, false);
    FILE *file = fopen(path, "r+e");
    assert_non_null(file);
    for (long page = 20; page < 30; page++) {
        fseek(file, page * 4096, SEEK_SET);
        for (int i = 0; i < 4096; i++)
            fputc(0xa5, file);
    }
    fclose(file);
    struct gt_recording *recording;
    struct gt_error error = {0};
    const struct gt_sample *sample;
    assert_int_equal(gt_recording_open(&recording, path, &error), 0);
    int status;
    while ((status = gt_recording_next(recording, &sample, &error)) > 0)
        ;
    assert_int_equal(status, -EIO);
    assert_non_null(strstr(error.text, "a.sqlite"));
    gt_recording_close(recording);
}
