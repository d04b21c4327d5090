/* How far a program is: rows of sub-tracking files as they are written. */
#include "blocks/block.h"
#include "blocks/block_progress.h"
#include "support/folder.h"
#include "support/test.h"

struct fixture {
    struct gt_block_progress *progress;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    void *folder;
    int status = folder_make(&folder);
    fixture->progress = gt_block_progress_open(test_folder);
    *state = fixture;
    return status;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    gt_block_progress_close(fixture->progress);
    free(fixture);
    return folder_remove(NULL);
}

#define TEST_OF_FIXTURE(name) TEST_OF(struct fixture *fixture, name, set_up, tear_down)

static void write_text(int process, const char *text)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%d.csv", test_folder, process);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    bool is_new = !ftell(file); /* it was opened at its end */
    for (int i = 0; is_new && i < GT_BLOCK_EVENT_COLUMNS; i++)
        fprintf(file, "%s%s", gt_block_event_columns[i], i + 1 < GT_BLOCK_EVENT_COLUMNS ? "," : "\r\n");
    fputs(text, file);
    fclose(file);
}

/* total: 0 is left out, as our writer does. */
static void mark(int process, const char *name, int position, double moment, int total)
{
    char row[300], number[20] = "";
    if (total)
        snprintf(number, sizeof number, "%d", total);
    snprintf(row, sizeof row, "%d,%s,%d,%.3f,%d,7,%s,%.3f,0.1\r\n", process, name, position, moment, process, number,
             moment);
    write_text(process, row);
}

static void call(int process, const char *name, double from, double to, int total)
{
    mark(process, name, GT_START, from, total);
    mark(process, name, GT_STOP, to, 0);
}

static void expect(const struct fixture *fixture, double now, const char *name, uint64_t done, uint64_t total,
                   double left)
{
    gt_block_progress_read(fixture->progress);
    struct gt_progress progress = gt_block_progress_at(fixture->progress, now);
    assert_string_equal(progress.name, name);
    assert_int_equal(progress.done, done);
    assert_int_equal(progress.total, total);
    if (isnan(left))
        assert_true(isnan(progress.left));
    else
        assert_close(progress.left, left, 0.01);
}

TEST_OF_FIXTURE(test_epochs)
{
    expect(fixture, 1000, "", 0, 0, NAN);
    call(1, "load", 1000, 1001, 0); /* not counted */
    mark(1, "epoch", GT_START, 1002, 10);
    expect(fixture, 1003, "epoch", 0, 10, NAN);
    mark(1, "epoch", GT_STOP, 1011, 0);
    mark(1, "epoch", GT_START, 1012, 10); /* ten seconds from begin to begin */
    expect(fixture, 1012, "epoch", 1, 10, 90);
    expect(fixture, 1016, "epoch", 1, 10, 86);
    expect(fixture, 1027, "epoch", 1, 10, 80);  /* late, and the others are still to come */
    expect(fixture, 1099, "epoch", 1, 10, NAN); /* so late that nobody knows */
    mark(1, "epoch", GT_STOP, 1022, 0);
    expect(fixture, 1022, "epoch", 2, 10, 80);
    for (int i = 2; i < 10; i++)
        call(1, "epoch", 1002 + 10 * i, 1012 + 10 * i, 10);
    expect(fixture, 1102, "", 0, 0, NAN);
}

TEST_OF_FIXTURE(test_the_pace_is_that_of_the_last_calls)
{
    call(1, "epoch", 0, 1000, 100);
    for (int i = 0; i < 12; i++)
        call(1, "epoch", 1000 + i, 1001 + i, 100);
    expect(fixture, 1012, "epoch", 13, 100, 87);
}

TEST_OF_FIXTURE(test_inner_blocks_tell_before_the_first_has_ended)
{
    mark(1, "epoch", GT_START, 1000, 3);
    for (int i = 0; i < 4; i++)
        call(1, "step", 1000 + 2 * i, 1002 + 2 * i, 10);
    expect(fixture, 1008, "epoch", 0, 3, 52);
    for (int i = 4; i < 10; i++)
        call(1, "step", 1000 + 2 * i, 1002 + 2 * i, 10);
    mark(1, "epoch", GT_STOP, 1020, 0);
    mark(1, "epoch", GT_START, 1020, 3);
    call(1, "step", 1020, 1022, 10);
    expect(fixture, 1022, "epoch", 1, 3, 38);
}

/* What is done in every round of something that is not counted tells of the round only. */
TEST_OF_FIXTURE(test_what_begins_anew_tells_no_time)
{
    for (int i = 0; i < 5; i++)
        call(1, "step", 1000 + i, 1001 + i, 4);
    expect(fixture, 1005, "step", 1, 4, NAN);
}

/* Each of `gpu-tracker block --total` is a process of its own; ranks of a training have all epochs each. */
TEST_OF_FIXTURE(test_processes)
{
    for (int i = 0; i < 3; i++)
        call(10 + i, "part", 1000 + i, 1001 + i, 6);
    expect(fixture, 1003, "part", 3, 6, 3);
    for (int epoch = 0; epoch < 4; epoch++)
        for (int rank = 0; rank < 8; rank++)
            call(100 + rank, "part", 2000 + 5 * epoch, 2005 + 5 * epoch, 6);
    expect(fixture, 2020, "part", 4, 6, 10);
}

TEST_OF_FIXTURE(test_threads_beside_the_first_do_not_count)
{
    call(1, "epoch", 1000, 1001, 5);
    write_text(1, "1,epoch,0,1000.5,999,8,5,1000.5,0.1\r\n1,epoch,1,1000.6,999,8,,1000.6,0.1\r\n");
    expect(fixture, 1001, "epoch", 1, 5, 4);
}

TEST_OF_FIXTURE(test_rows_as_they_come)
{
    write_text(1, "1,\"a \"\"b\"\",\nc\",0,1000,1,7,4,1000,0.1\r\n1,\"a \"\"b\"\",\nc\",1,10");
    expect(fixture, 1000, "a \"b\",\nc", 0, 4, NAN);
    write_text(1, "02,1,7,,1002,0.1\r\n");
    expect(fixture, 1002, "a \"b\",\nc", 1, 4, 6);
    write_text(1, "nonsense\r\n1,a,x,y,z,1,2,3,4\r\n,,,,,,,,,,,,\r\n1,b,0,1003,1,8,-5,1,1\r\n\"");
    expect(fixture, 1002, "a \"b\",\nc", 1, 4, 6);
}
