/* Processes as a tree. */
#include "sample/sample.h"
#include "support/test.h"

/* "7<1" is process 7 with parent 1; they begin one after the other. */
static struct gt_process_records records_of(struct gt_process_record *record, const char *text)
{
    size_t count = 0;
    int used;
    for (int pid, parent; sscanf(text, "%d<%d %n", &pid, &parent, &used) == 2; text += used, count++)
        record[count] = (struct gt_process_record){
            .number = count, .pid = pid, .parent = parent, .begin = (double)count};
    return (struct gt_process_records){.record = record, .count = count};
}

static void expect(const char *text, const char *drawn)
{
    struct gt_process_record record[32];
    struct gt_process_records records = records_of(record, text);
    struct gt_process_tree_row *place;
    char all[1000] = "", branch[GT_PROCESS_TREE_BRANCH_SIZE];
    gt_process_records_sort(&records);
    assert_int_equal(gt_process_tree(&place, &records), 0);
    for (size_t i = 0; i < records.count; i++) {
        gt_process_tree_branch(branch, &place[i]);
        sprintf(all + strlen(all), "%s%d\n", branch, (int)record[place[i].record].pid);
    }
    free(place);
    assert_string_equal(all, drawn);
}

TEST(test_none_is_later_than_the_job)
{
    struct gt_process_record record[] = {
        {.begin = 0, .end = 2.005}, {.begin = 1, .end = NAN}, {.begin = 2.003, .end = 2.004}};
    struct gt_process_records records = {.record = record, .count = 3};
    gt_process_records_end(&records, 2);
    assert_true(record[0].begin == 0 && record[0].end == 2);
    assert_true(record[1].begin == 1 && isnan(record[1].end));
    assert_true(record[2].begin == 2 && record[2].end == 2);
}

TEST(test_what_all_used)
{
    struct gt_process_record record[] = {{.cpu_time = 1.5}, {.cpu_time = NAN}, {.cpu_time = 0.25}};
    struct gt_process_records records = {.record = record, .count = 3};
    assert_true(gt_process_records_cpu(&records) == 1.75);
    assert_true(gt_process_records_cpu(&(struct gt_process_records){0}) == 0);
}

TEST(test_ends_are_shared_out_by_memory)
{
    struct gt_process_record record[] = {{.pid = 1, .cpu_time = 1, .end = 3},
                                         {.pid = 2, .cpu_time = 1, .end = NAN},
                                         {.pid = 3, .cpu_time = 1, .end = 2, .ram_peak = NAN},
                                         {.pid = 4, .cpu_time = 1, .end = 2, .ram_peak = 8e6}};
    struct gt_process_records records = {.record = record, .count = 4};
    gt_process_records_share_ends(&records, 1, 1);
    assert_true(record[0].cpu_time == 1 && record[1].cpu_time == 1);
    assert_true(record[2].cpu_time == 1.25 && record[3].cpu_time == 1.75);
    record[2].cpu_time = NAN;
    gt_process_records_share_ends(&records, 1, 1);
    assert_true(record[3].cpu_time == 1.75);
}

TEST(test_a_tree)
{
    expect("1<0 2<1 3<2 4<1 5<2 6<4", "1\n├ 2\n│ ├ 3\n│ └ 5\n└ 4\n  └ 6\n");
    expect("", "");
    expect("1<0 2<0 3<1 4<2", "1\n└ 3\n2\n└ 4\n");
}

TEST(test_odd_parents)
{
    expect("5<5", "5\n");                                         /* its own */
    expect("2<3 3<2", "2\n└ 3\n");                                /* each other's */
    expect("1<0 7<1 8<7 7<1 9<7", "1\n├ 7\n│ └ 8\n└ 7\n  └ 9\n"); /* a number that was used again */
    expect("9<777", "9\n");                                       /* one that was never seen */
}

TEST(test_deep_trees)
{
    enum { DEEP = 100000 };
    struct gt_process_records records = {calloc(DEEP, sizeof *records.record), DEEP, DEEP};
    struct gt_process_tree_row *place;
    char branch[GT_PROCESS_TREE_BRANCH_SIZE];
    for (int i = 0; i < DEEP; i++)
        records.record[i] = (struct gt_process_record){.number = (uint64_t)i, .pid = i + 1, .parent = i, .begin = i};
    assert_int_equal(gt_process_tree(&place, &records), 0);
    assert_int_equal(place[DEEP - 1].depth, DEEP - 1);
    gt_process_tree_branch(branch, &place[DEEP - 1]);
    assert_string_equal(branch, "                      └ ");
    free(place);
    free(records.record);
}
