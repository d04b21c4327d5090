/* The list of processes in recordings, and the table that reports make of it. */
#include "store/type.h"
#include "support/folder.h"
#include "support/recorder.h"
#include "support/test.h"

static const char *const names[] = {"a.csv", "a.sqlite"};
enum { NAMES = 2 };

/* As the process history reports them: first by what was known then, at the end all. */
static const struct gt_process_record early[] = {
    {0, 4711, 4710, 123, "sh", "sh -c x", 0, NAN, NAN, NAN, 0},
    {1, 4712, 4711, 0, "", "", 0.5, NAN, NAN, NAN, 0},
    {9, 4719, 4711, 0, "other", "", 0.5, NAN, NAN, NAN, 0}, /* which is then found to be no part of the job */
};
static const struct gt_process_record final[] = {
    {0, 4711, 4710, 123, "python3", "python3 \"a, b\".py\nsecond\xff", 0, NAN, 2048, 1.25, 1},
    {1, 4712, 4711, 0, "ls", "", 0.5, 0.625, 1024, NAN, 8},
    {2, 4713, 0, 0, "", "", -2.5, 0.75, NAN, NAN, 0},
};

static struct gt_store *open_with(const char *path, bool detail)
{
    struct gt_store *store;
    struct gt_error error = {0};
    struct gt_store_options options = {.path = path, .overwrite = true, .detail = detail};
    if (gt_store_open(&store, &options, recorder_machine(true), &error) < 0)
        fail_msg("%s", error.text);
    struct gt_sample sample = *recorder_sample(0);
    sample.record = early;
    sample.record_count = detail ? 3 : 0;
    recorder_send(store, &sample);
    return store;
}

static void write_recording(const char *path)
{
    struct gt_store *store = open_with(path, true);
    struct gt_outcome outcome = recorder_outcome(1);
    outcome.records = (struct gt_process_records){.record = (struct gt_process_record *) final, .count = 3};
    outcome.processes_not_listed = 7;
    assert_int_equal(gt_store_close(store, &outcome, NULL), 0);
}

static struct gt_recording *opened(const char *path)
{
    struct gt_recording *recording;
    struct gt_error error = {0};
    if (gt_recording_open(&recording, path, &error) < 0)
        fail_msg("%s", error.text);
    return recording;
}

static void assert_same(double read, double written)
{
    assert_true(read == written || (isnan(read) && isnan(written)));
}

static void check_record(const struct gt_process_record *read, const struct gt_process_record *written,
                         const char *command)
{
    assert_int_equal(read->number, written->number);
    assert_int_equal(read->pid, written->pid);
    assert_int_equal(read->parent, written->parent);
    assert_int_equal(read->start, written->start);
    assert_string_equal(read->name, written->name);
    assert_string_equal(read->command, command ? command : written->command);
    assert_same(read->begin, written->begin);
    assert_same(read->end, written->end);
    assert_same(read->ram_peak, written->ram_peak);
    assert_same(read->cpu_time, written->cpu_time);
    assert_int_equal(read->rank, written->rank);
}

TEST_WITH(a_finished_recording_has_each_process_once, folder_make, folder_remove)
{
    for (int i = 0; i < NAMES; i++) {
        write_recording(folder_path(names[i]));
        struct gt_recording *recording = opened(folder_path(names[i]));
        const struct gt_process_records *records = gt_recording_process_records(recording);
        assert_int_equal(records->count, 3);
        check_record(&records->record[0], &final[0], "python3 \"a, b\".py\nsecond\xef\xbf\xbd");
        check_record(&records->record[1], &final[1], NULL);
        check_record(&records->record[2], &final[2], NULL);
        assert_int_equal(gt_recording_outcome(recording)->processes_not_listed, 7);
        gt_recording_close(recording);
    }
    FILE *file = fopen(folder_path("a.process_list.csv"), "re");
    char text[400];
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text,
                        "number,pid,parent,start,name,command,began,ended,ram_peak,cpu_time,rank\r\n"
                        "0,4711,4710,123,python3,\"python3 \"\"a, b\"\".py\nsecond\xef\xbf\xbd\",0.0,,2048.0,1.25,0\r\n"
                        "1,4712,4711,,ls,,0.5,0.625,1024.0,,7\r\n"
                        "2,4713,,,,,-2.5,0.75,,,\r\n");
}

/* The tracker was killed: what had been told until then is there, the last of each. */
TEST_WITH(an_unfinished_recording_has_what_was_known, folder_make, folder_remove)
{
    for (int i = 0; i < NAMES; i++) {
        struct gt_store *store = open_with(folder_path(names[i]), true);
        struct gt_sample sample = *recorder_sample(1);
        sample.record = &final[1];
        sample.record_count = 1;
        recorder_send(store, &sample);
        assert_int_equal(gt_store_close(store, NULL, NULL), 0);
        struct gt_recording *recording = opened(folder_path(names[i]));
        const struct gt_process_records *records = gt_recording_process_records(recording);
        assert_null(gt_recording_outcome(recording));
        assert_int_equal(records->count, 3);
        check_record(&records->record[0], &early[0], NULL);
        check_record(&records->record[1], &final[1], NULL);
        check_record(&records->record[2], &early[2], NULL);
        gt_recording_close(recording);
    }
}

TEST_WITH(without_detail_there_is_no_list, folder_make, folder_remove)
{
    for (int i = 0; i < NAMES; i++) {
        struct gt_outcome outcome = recorder_outcome(1);
        assert_int_equal(gt_store_close(open_with(folder_path(names[i]), false), &outcome, NULL), 0);
        struct gt_recording *recording = opened(folder_path(names[i]));
        assert_int_equal(gt_recording_process_records(recording)->count, 0);
        gt_recording_close(recording);
    }
    assert_int_equal(folder_count(), 2);
}

TEST_WITH(an_old_list_is_kept_unless_told, folder_make, folder_remove)
{
    struct gt_store_options options = {.path = folder_path("a.csv"), .detail = true};
    recorder_put(folder_path("a.process_list.csv"), "old", 3);
    assert_int_equal(gt_store_check(&options, NULL), -EEXIST);
    options.detail = false;
    assert_int_equal(gt_store_check(&options, NULL), 0);
}

static size_t records_in(const char *list, int expected)
{
    struct gt_recording *recording = NULL;
    size_t count = 0;
    recorder_put(folder_path("a.process_list.csv"), list, strlen(list));
    assert_int_equal(gt_recording_open(&recording, folder_path("a.csv"), NULL), expected);
    if (recording)
        count = gt_recording_process_records(recording)->count;
    gt_recording_close(recording);
    return count;
}

/* As others may leave it, or a writer that was killed. */
TEST_WITH(odd_lists, folder_make, folder_remove)
{
    write_recording(folder_path("a.csv"));
    assert_int_equal(records_in("", 0), 0);
    assert_int_equal(records_in("number,pid\n", 0), 0);
    assert_int_equal(records_in("pid,other,number\n1,x,0\n2,y,1\n", 0), 2);
    assert_int_equal(records_in("number,pid\n0,1\n1,2", 0), 1);
    assert_int_equal(records_in("number,command\n0,a\n1,\"torn", 0), 1);
    assert_int_equal(records_in("number,pid\n0,1\n1,x\n", -EINVAL), 0);
    assert_int_equal(records_in("number,pid\n0\n", -EINVAL), 0);
    assert_int_equal(records_in("number,pid\n-5,1e300\n1e300,-7\n", 0), 2);
}

static void check_report(const char *path, const char *format, const char *expected)
{
    struct gt_report *report;
    struct gt_error error = {0};
    char *text = NULL;
    size_t length;
    struct gt_recording_options options = GT_INIT(struct gt_recording_options);
    options.ram_unit = "bytes";
    if (gt_recording_report(path, &options, &report, &error) < 0 ||
        gt_report_render(report, format, &text, &length, &error) < 0)
        fail_msg("%s", error.text);
    if (!strstr(text, expected))
        fail_msg("%s is not in %s", expected, text);
    free(text);
    gt_report_free(report);
}

TEST_WITH(reports_list_them_in_order, folder_make, folder_remove)
{
    for (int i = 0; i < NAMES; i++) {
        const char *path = folder_path(names[i]);
        write_recording(path);
        check_report(
            path, "text",
            "Each process:\n"
            "    PID  Parent  Name     Begin (seconds)  End (seconds)  Peak RAM (bytes)  CPU time (seconds)  Command\n"
            "   4713     n/a  n/a                 -2.5           0.75               n/a                 n/a  n/a\n"
            "   4711    4710  python3              0.0            n/a            2048.0                1.25  "
            "python3 \"a, b\".py\\nsecond\xef\xbf\xbd\n"
            "   4712    4711  └ ls                 0.5          0.625            1024.0                 n/a  n/a\n"
            "Further processes: 7\n");
        check_report(path, "json",
                     " \"process_list\": [\n  {\n   \"pid\": 4713,\n   \"parent\": null,\n   \"name\": null,\n"
                     "   \"begin\": -2.5,\n   \"end\": 0.75,\n   \"ram_peak\": null,\n   \"cpu_time\": null,\n"
                     "   \"command\": null\n  },\n");
        check_report(path, "markdown", "| 4712 | 4711 | └ ls | 0.5 | 0.625 | 1024.0 | n/a | n/a |\n");
        check_report(path, "html",
                     "<td class=\"t branch\">└ ls</td><td title=\"0.5 seconds\" data-v=\"0.5\">500 ms</td>");
        check_report(path, "csv", "process_list.2.end,0.625,seconds\n");
        check_report(path, "csv", "process_list.1.end,,seconds\n");
    }
}
