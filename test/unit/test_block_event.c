/* Reading and writing sub-tracking files, good and bad. */
#include "blocks/block_event.h"
#include "support/folder.h"
#include "support/test.h"

static int enter_folder(void **state)
{
    return folder_make(state) == 0 && chdir(test_folder) == 0 ? 0 : -1;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

#define HEADER "process_id,code_block_name,position,timestamp\n"
#define OURS "process_id,code_block_name,position,timestamp,thread_id,call,monotonic,cpu_time\r\n"

static const struct {
    const char *what, *text;
    int status;
    size_t rows, torn;
    const char *message; /* part of it */
} files[] = {
    {"the original's", HEADER "1,a,0,5.5\n1,a,1,6\n", 0, 2, 0, NULL},
    {"columns in another order, and one more", "x,timestamp,position,code_block_name,process_id\n0,5,0,a,1\n", 0, 1, 0,
     NULL},
    {"blank lines", HEADER "\n\n1,a,0,5\n\n\n", 0, 1, 0, NULL},
    {"no row", HEADER, 0, 0, 0, NULL},
    {"no end of the last line", HEADER "1,a,0,5", 0, 1, 0, NULL},
    {"integers as pandas writes them with gaps", HEADER "1.0,a,0.0,5\n", 0, 1, 0, NULL},
    {"ours, torn apart", OURS "1,a,0,5.000000000,1,81,2.0,0.1\r\n1,a,1,6.0000\n\n\n", 0, 1, 1, NULL},
    {"ours, torn apart at the end of the file", OURS "1,a,0,5.000000000,1,81,2.0,0.1\r\n1,a,1,6.00000000,1,81,3.0,0.",
     0, 1, 1, NULL},
    {"empty", "", -EBADMSG, 0, 0, "is empty"},
    {"another file", "a,b\n1,2\n", -EBADMSG, 0, 0, "no column process_id"},
    {"a missing column", "process_id,code_block_name,position\n1,a,0\n", -EBADMSG, 0, 0, "no column timestamp"},
    {"a word for a number", HEADER "1,a,0,5\n1,a,1,soon\n", -EBADMSG, 0, 0, "line 3: timestamp \"soon\""},
    {"no number", HEADER ",a,0,5\n", -EBADMSG, 0, 0, "line 2: process_id \"\""},
    {"not finite", HEADER "1,a,0,nan\n", -EBADMSG, 0, 0, "line 2: timestamp \"nan\""},
    {"position 2", HEADER "1,a,2,5\n", -EBADMSG, 0, 0, "line 2: position is neither 0 nor 1: \"2\""},
    {"too few fields", HEADER "1,a,0\n", -EBADMSG, 0, 0, "line 2: 3 fields instead of 4"},
    {"a quote without end", HEADER "1,\"a,0,5\n", -EBADMSG, 0, 0, "line 2: a quoted field has no end"},
};

TEST(test_files)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_file("file.csv", files[i].text);
        struct gt_block_event_list list = {0};
        struct gt_error error = {0};
        int status = gt_block_event_list_add(&list, "file.csv", &error);
        if (status != files[i].status)
            fail_msg("%s: %d, %s", files[i].what, status, error.text);
        if (status == 0 && (list.count != files[i].rows || list.torn != files[i].torn))
            fail_msg("%s: %zu rows, %zu torn", files[i].what, list.count, (size_t)list.torn);
        if (files[i].message && (!strstr(error.text, files[i].message) || !strstr(error.text, "file.csv")))
            fail_msg("%s: %s", files[i].what, error.text);
        gt_block_event_list_release(&list);
    }
}

TEST(test_skipping_bad_rows)
{
    write_file("file.csv", HEADER "1,a,0,5\n1,a,7,6\n1,a,1\n1,a,1,7\n");
    struct gt_block_event_list list = {.skip_bad = true};
    assert_int_equal(gt_block_event_list_add(&list, "file.csv", NULL), 0);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.bad, 2);
    assert_non_null(strstr(list.complaints.data, "file.csv, line 3"));
    assert_non_null(strstr(list.complaints.data, "file.csv, line 4"));
    gt_block_event_list_release(&list);
}

TEST(test_names_and_paths)
{
    struct gt_block_event_list list = {0};
    struct gt_error error = {0};
    assert_int_equal(gt_block_event_list_add(&list, "missing.sqlite", &error), -ENOENT);
    assert_int_equal(access("missing.sqlite", F_OK), -1);
    write_file("file.txt", HEADER);
    assert_int_equal(gt_block_event_list_add(&list, "file.txt", NULL), -EINVAL);
    write_file("file.csv", HEADER "1,a,0,5\n");
    assert_int_equal(gt_block_event_list_add(&list, "file.csv", NULL), 0);
    error = (struct gt_error){0};
    assert_int_equal(gt_block_event_list_add(&list, "./file.csv", &error), -EINVAL);
    assert_non_null(strstr(error.text, "given twice"));
    write_file("broken.sqlite", "this is not a database, whatever its name says");
    assert_int_equal(gt_block_event_list_add(&list, "broken.sqlite", NULL), -EINVAL);
    gt_block_event_list_release(&list);
}

/* Two files of one process and with the same call numbers, saved as one and read back. */
static void round_trip(const char *path)
{
    write_file(
        "one.csv", OURS
        "1,\"it's, \"\"a\"\"\nblock é\",0,5.25,1,81,2.5,0.125\r\n1,\"it's, \"\"a\"\"\nblock é\",1,6,1,81,3,0.25\r\n");
    write_file("two.csv", OURS "1,b,0,5,1,81,2,0.5\r\n");
    write_file("three.csv", HEADER "9,c,1,7\n");
    struct gt_block_event_list list = {0}, again = {0};
    assert_int_equal(gt_block_event_list_add(&list, "one.csv", NULL), 0);
    assert_int_equal(gt_block_event_list_add(&list, "two.csv", NULL), 0);
    assert_int_equal(gt_block_event_list_add(&list, "three.csv", NULL), 0);
    assert_int_equal(gt_block_event_list_save(&list, path, false, NULL), 0);
    assert_int_equal(gt_block_event_list_save(&list, path, false, NULL), -EEXIST);
    assert_int_equal(gt_block_event_list_save(&list, path, true, NULL), 0);
    assert_int_equal(gt_block_event_list_add(&again, path, NULL), 0);
    assert_int_equal(again.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct gt_block_event *a = &list.event[i], *b = &again.event[i];
        assert_string_equal(gt_strings_text(&list.names, a->name), gt_strings_text(&again.names, b->name));
        assert_int_equal(a->process, b->process);
        assert_int_equal(a->thread, b->thread);
        assert_int_equal(a->position, b->position);
        assert_true(a->timestamp == b->timestamp);
        assert_true(a->monotonic == b->monotonic || (isnan(a->monotonic) && isnan(b->monotonic)));
        assert_true(a->cpu_time == b->cpu_time || (isnan(a->cpu_time) && isnan(b->cpu_time)));
    }
    assert_int_equal(again.event[0].call, again.event[1].call);
    assert_int_not_equal(again.event[0].call, again.event[2].call);
    assert_int_equal(again.event[3].call, -1);
    gt_block_event_list_release(&list);
    gt_block_event_list_release(&again);
}

TEST(test_round_trip)
{
    round_trip("combined.csv");
    round_trip("combined.sqlite");
}

TEST(test_pairing)
{
    static const struct {
        const char *more;
        size_t rows, calls;
        uint64_t orphans;
    } of[] = {
        {"", 3, 2, 0},
        {"1,b,0,8,1,90,5.0,0.3\r\n1,b,1,9,1,90,6.0,0.3\r\n", 5, 3, 0},
        {"1,b,0,8,1,20,5.0,0.3\r\n1,b,1,9,1,20,6.0,0.3\r\n", 5, 3, 0},
        {"1,b,1,9,1,95,6.0,0.3\r\n", 4, 2, 1},
        {"1,b,0,8,1,,,\r\n", 4, 3, 0},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char text[500];
        snprintf(text, sizeof text, "%s%s%s", OURS,
                 "1,a,0,5,1,81,2.0,0.1\r\n1,b,0,6,1,82,3.0,0.1\r\n1,b,1,7,1,82,4.0,0.2\r\n", of[i].more);
        write_file("file.csv", text);
        struct gt_intervals intervals;
        struct gt_block_event_list list = {0};
        assert_int_equal(gt_block_event_list_add(&list, "file.csv", NULL), 0);
        assert_int_equal(list.rows, of[i].rows);
        assert_int_equal(gt_block_event_list_pair(&list, &intervals), 0);
        assert_int_equal(intervals.count, of[i].calls);
        assert_int_equal(intervals.orphans, of[i].orphans);
        assert_int_equal(gt_intervals_close(&intervals, 100, NAN), 0);
        assert_true(intervals.interval[0].unfinished && intervals.interval[0].call == 81);
        assert_true(intervals.interval[1].elapsed == 1 && intervals.interval[1].cpu_stop == 0.2);
        gt_intervals_release(&intervals);
        gt_block_event_list_release(&list);
    }
}

ALL_TESTS(enter_folder, folder_remove);
