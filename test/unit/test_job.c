/* Trees of processes and their accounts, over a stored machine. */
#include "aggregate/combine.h"
#include "collect/process/process.h"
#include "support/fake_proc.h"
#include "support/test.h"

#define SHOW(...) fake_proc_write(folder, &(struct fake_process){__VA_ARGS__})

static char folder[64];
static struct gt_root root;
static struct gt_tree tree;

static int set_up(void **state)
{
    (void)state;
    fake_proc_create(folder, &root);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gt_tree_close(&tree);
    fake_proc_destroy(folder, &root);
    return 0;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%.12g, expected %.12g", value, expected);
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

TEST_WITH(stat_names_may_hold_anything, set_up, tear_down)
{
    struct gt_process_stat stat;
    assert_int_equal(
        gt_process_parse_stat("42 (a) b (c)) R 7 42 9 34816 -1 4194304 11 22 33 44 100 50 200 100 20 0 3 0 "
                              "777 1000 5 18446744073709551615\n",
                              &stat),
        0);
    assert_int_equal(stat.pid, 42);
    assert_int_equal(stat.parent, 7);
    assert_int_equal(stat.session, 9);
    assert_int_equal(stat.state, 'R');
    assert_int_equal(stat.start, 777);
    assert_near(stat.minor_faults, 11);
    assert_near(stat.reaped_minor_faults, 22);
    assert_near(stat.major_faults, 33);
    assert_near(stat.reaped_major_faults, 44);
    assert_near(stat.cpu_time, 150.0 / (double)sysconf(_SC_CLK_TCK));
    assert_near(stat.reaped_cpu_time, 300.0 / (double)sysconf(_SC_CLK_TCK));
    assert_near(stat.threads, 3);
}

TEST_WITH(broken_stat_is_refused, set_up, tear_down)
{
    static const char *const broken[] = {"", "1", "1 (x", "1 (x)", "1 (x) ", "1 (x) R 1 2 3"};
    struct gt_process_stat stat;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        assert_int_equal(gt_process_parse_stat(broken[i], &stat), -22);
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

static int64_t tick;

static void open_tree(void)
{
    assert_int_equal(gt_tree_open(&tree, &root, 100, false, NULL), 0);
}

static void discover(void)
{
    tick += 2 * GT_SECOND;
    assert_int_equal(gt_tree_discover(&tree, true, tick), 0);
}

TEST_WITH(generations_are_found_and_strangers_are_not, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10);
    SHOW(.pid = 99, .parent = 102, .start = 13); /* lower number than its parent */
    SHOW(.pid = 102, .parent = 100, .start = 11);
    SHOW(.pid = 300, .parent = 1, .start = 5);
    open_tree();
    discover();
    assert_int_equal(tree.count, 3);
    assert_non_null(gt_tree_find(&tree, 99));
    assert_null(gt_tree_find(&tree, 300));
    assert_true(tree.process[0]->is_main);
}

TEST_WITH(members_stay_when_they_get_another_parent, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10);
    SHOW(.pid = 101, .parent = 100, .start = 11);
    open_tree();
    discover();
    SHOW(.pid = 101, .parent = 1, .start = 11);
    SHOW(.pid = 102, .parent = 101, .start = 12);
    discover();
    assert_int_equal(tree.count, 3);
}

TEST_WITH(the_session_of_an_attached_leader_belongs_to_the_job, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .session = 100, .start = 10);
    SHOW(.pid = 105, .parent = 1, .session = 100, .start = 12);
    SHOW(.pid = 106, .parent = 1, .session = 106, .start = 12);
    open_tree();
    discover();
    assert_int_equal(tree.count, 2);
    assert_non_null(gt_tree_find(&tree, 105));
}

TEST_WITH(a_number_used_again_is_another_process, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10);
    SHOW(.pid = 101, .parent = 100, .start = 11);
    open_tree();
    discover();
    fake_proc_remove(folder, 101);
    SHOW(.pid = 101, .parent = 1, .start = 50);
    struct gt_process *old = gt_tree_find(&tree, 101);
    assert_int_equal(gt_process_read(old, &root), -3);
    gt_tree_drop_gone(&tree);
    discover();
    assert_int_equal(tree.count, 1);
}

TEST_WITH(thousands_of_processes, set_up, tear_down)
{
    enum { MANY = FEWER(4200, 420) };
    SHOW(.pid = 100, .parent = 1, .start = 10);
    for (int i = 1; i <= MANY; i++)
        SHOW(.pid = 1000 + i, .parent = i % 7 ? 100 : 999 + i, .start = 11);
    open_tree();
    discover();
    assert_int_equal(tree.count, MANY + 1);
    for (int i = 1; i <= MANY; i++)
        assert_non_null(gt_tree_find(&tree, 1000 + i));
}

TEST_WITH(a_missing_main_process_is_named, set_up, tear_down)
{
    struct gt_error error = {0};
    assert_int_equal(gt_tree_open(&tree, &root, 4711, false, &error), -3);
    assert_string_equal(error.text, "process 4711 does not exist");
}

/* ---- accounts ---------------------------------------------------------------------------------------------------- */

static struct gt_account account;
static struct gt_job_peak peak;

static void finder(unsigned long long start_tick)
{
    gt_account_init(&account, start_tick);
    open_tree();
}

static void read_all(size_t known)
{
    discover();
    for (size_t i = 0; i < tree.count; i++)
        if (gt_process_read(tree.process[i], &root) == 0)
            gt_process_read_slowly(tree.process[i]);
    for (size_t i = known; i < tree.count; i++)
        gt_account_admit(&account, tree.process[i]);
    gt_account_settle(&account, &tree);
    gt_account_keep(&account, &tree);
}

static void begin_job(void)
{
    finder(0);
    read_all(0);
}

/* 100 with 5 ticks and its child 101 with 40, read once. */
static void follow_two(void)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5);
    SHOW(.pid = 101, .parent = 100, .start = 11, .cpu_ticks = 40);
    begin_job();
}

static double total(enum gt_metric_id id)
{
    double values[GT_METRIC_COUNT];
    gt_values_clear(values);
    gt_account_totals(&account, &tree, values);
    return values[id];
}

static double ticks(double count)
{
    return count / (double)sysconf(_SC_CLK_TCK);
}

TEST_WITH(a_waited_for_child_counts_once, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5);
    SHOW(.pid = 101, .parent = 100, .start = 11, .cpu_ticks = 40, .minor_faults = 9);
    begin_job();
    assert_near(total(GT_CPU_TIME), ticks(45));
    fake_proc_remove(folder, 101);
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 6, .reaped_cpu_ticks = 42, .reaped_minor_faults = 12);
    read_all(2);
    assert_near(total(GT_CPU_TIME), ticks(48));
    assert_near(total(GT_MINOR_FAULTS), 12);
}

TEST_WITH(a_child_never_seen_counts, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5);
    begin_job();
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 6, .reaped_cpu_ticks = 70);
    read_all(1);
    assert_near(total(GT_CPU_TIME), ticks(76));
}

/* Children that nobody met have used 3.9 ticks, of which the parent shows 3, and 101 1.05: that makes 4, and then it is not seen. */
TEST_WITH(what_comes_in_clock_ticks_takes_nothing_back, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .reaped_cpu_ticks = 0);
    begin_job();
    SHOW(.pid = 100, .parent = 1, .start = 10, .reaped_cpu_ticks = 3);
    SHOW(.pid = 101, .parent = 100, .start = 11, .cpu_ticks = 1);
    read_all(1);
    assert_near(total(GT_CPU_TIME), ticks(4));
    fake_proc_remove(folder, 101);
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 2, .reaped_cpu_ticks = 3);
    read_all(2);
    assert_near(total(GT_CPU_TIME), ticks(6));
    assert_near(total(GT_CPU_TIME) - account.main_own_cpu, ticks(4));
}

/* Its parent had its time a moment before it was gone. */
TEST_WITH(what_was_counted_twice_is_taken_back, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5);
    begin_job();
    SHOW(.pid = 101, .parent = 100, .start = 11, .cpu_ticks = 70);
    read_all(1);
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5, .reaped_cpu_ticks = 70);
    read_all(2);
    fake_proc_remove(folder, 101);
    read_all(2);
    assert_near(total(GT_CPU_TIME), ticks(75));
}

/* Whatever is read: a recording says that these only grow. */
TEST_WITH(no_counter_falls, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .minor_faults = 50, .written_bytes = 6000);
    begin_job();
    SHOW(.pid = 100, .parent = 1, .start = 10, .minor_faults = 40, .written_bytes = 5000);
    read_all(1);
    assert_near(total(GT_MINOR_FAULTS), 50);
    assert_near(total(GT_WRITTEN_BYTES), 6000);
}

TEST_WITH(what_is_left_out_is_taken_back, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5);
    begin_job();
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5, .reaped_cpu_ticks = 9);
    read_all(1);
    assert_near(total(GT_CPU_TIME), ticks(14));
    account.left_out = ticks(8); /* of a sampler, whose record has come now */
    gt_account_keep(&account, &tree);
    assert_near(total(GT_CPU_TIME), ticks(6));
}

/* Children that nobody waits for leave nothing to their parent: who heard of their ends knows what they had used. */
TEST_WITH(exit_records_tell_of_children_that_nobody_met, set_up, tear_down)
{
    const struct gt_exit_record ended = {.cpu_ns = 1000000000,
                                         .ran_ns = 1002000000, /* with what it ran after the last clock tick */
                                         .read_bytes = 8192,
                                         .written_bytes = 4096,
                                         .read_characters = 9000,
                                         .written_characters = 5000};
    SHOW(.pid = 100, .parent = 1, .start = 10, .written_bytes = 1024);
    begin_job();
    gt_account_hear(&account, &tree, &ended);
    assert_near(total(GT_CPU_TIME), 1.002);
    assert_near(total(GT_READ_BYTES), 8192);
    assert_near(total(GT_WRITTEN_BYTES), 4096 + 1024);
    assert_near(total(GT_READ_CHARACTERS), 9000 + 10);
    assert_near(total(GT_WRITTEN_CHARACTERS), 5000 + 20);
}

/* Who has waited for nobody has nobody else's bytes. */
TEST_WITH(what_was_lost_counts_beside_what_the_main_process_wrote, set_up, tear_down)
{
    const struct gt_exit_record ended = {.cpu_ns = 1, .ran_ns = 1, .minor_faults = 7, .written_bytes = 16384};
    SHOW(.pid = 100, .parent = 1, .start = 10, .minor_faults = 5, .written_bytes = 4096);
    begin_job();
    gt_account_hear(&account, &tree, &ended);
    assert_near(total(GT_WRITTEN_BYTES), 16384 + 4096);
    SHOW(.pid = 100, .parent = 1, .start = 10, .state = 'Z', .minor_faults = 5, .written_bytes = 4096);
    read_all(1);
    struct rusage usage = {.ru_minflt = 9, .ru_nivcsw = 3, .ru_oublock = 24};
    gt_account_reaped(&account, &tree, &peak, 100, &usage);
    gt_account_hear(&account, &tree, &ended);
    assert_near(total(GT_WRITTEN_BYTES), 16384 + 24 * 512);
    assert_near(total(GT_MINOR_FAULTS), 7 + 9);
    assert_near(total(GT_INVOLUNTARY_SWITCHES), 3);
}

TEST_WITH(what_a_process_wrote_last_is_told_by_its_zombie, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .written_bytes = 1000);
    begin_job();
    SHOW(.pid = 100, .parent = 1, .start = 10, .state = 'Z', .written_bytes = 9000);
    read_all(1);
    assert_near(total(GT_WRITTEN_BYTES), 9000);
}

TEST_WITH(a_child_nobody_waited_for_keeps_its_time, set_up, tear_down)
{
    follow_two();
    fake_proc_remove(folder, 101);
    read_all(2);
    assert_near(total(GT_CPU_TIME), ticks(45));
    read_all(1);
    assert_near(total(GT_CPU_TIME), ticks(45));
}

TEST_WITH(an_orphan_keeps_its_time, set_up, tear_down)
{
    follow_two();
    SHOW(.pid = 101, .parent = 1, .start = 11, .cpu_ticks = 50);
    fake_proc_remove(folder, 100);
    read_all(2);
    assert_int_equal(tree.count, 1);
    assert_near(total(GT_CPU_TIME), ticks(55));
    fake_proc_remove(folder, 101);
    read_all(1);
    assert_near(total(GT_CPU_TIME), ticks(55));
}

/* The adopter, 100, is a subreaper: 101 ends, which leaves it 102, which sleeps. */
TEST_WITH(an_orphan_that_another_process_adopts_counts_once, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5);
    SHOW(.pid = 101, .parent = 100, .start = 11, .cpu_ticks = 6);
    SHOW(.pid = 102, .parent = 101, .start = 12, .cpu_ticks = 40);
    begin_job();
    SHOW(.pid = 102, .parent = 100, .start = 12, .cpu_ticks = 40);
    fake_proc_remove(folder, 101);
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5, .reaped_cpu_ticks = 6);
    assert_int_equal(gt_process_read(gt_tree_find(&tree, 101), &root), -3);
    gt_account_settle(&account, &tree);
    assert_near(total(GT_CPU_TIME), ticks(51));
    fake_proc_remove(folder, 102);
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5, .reaped_cpu_ticks = 46);
    assert_int_equal(gt_process_read(gt_tree_find(&tree, 102), &root), -3);
    assert_int_equal(gt_process_read(gt_tree_find(&tree, 100), &root), 0);
    gt_account_settle(&account, &tree);
    assert_near(total(GT_CPU_TIME), ticks(51));
}

/* The adopter, 100, has a child, 101, that outlives the orphan, 103, and its parent, 102. */
TEST_WITH(an_orphan_that_ends_with_its_parent_counts_once, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5);
    SHOW(.pid = 101, .parent = 100, .start = 11, .cpu_ticks = 6);
    SHOW(.pid = 102, .parent = 101, .start = 12, .cpu_ticks = 50);
    SHOW(.pid = 103, .parent = 102, .start = 13, .cpu_ticks = 40);
    begin_job();
    fake_proc_remove(folder, 102);
    fake_proc_remove(folder, 103);
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5, .reaped_cpu_ticks = 40);
    SHOW(.pid = 101, .parent = 100, .start = 11, .cpu_ticks = 6, .reaped_cpu_ticks = 50);
    read_all(4);
    assert_near(total(GT_CPU_TIME), ticks(101));
}

TEST_WITH(what_was_used_before_tracking_is_left_out, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 500, .reaped_cpu_ticks = 100);
    SHOW(.pid = 101, .parent = 100, .start = 11, .cpu_ticks = 40);
    finder(1000);
    read_all(0);
    assert_near(total(GT_CPU_TIME), 0);
    fake_proc_remove(folder, 101);
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 507, .reaped_cpu_ticks = 143);
    read_all(2);
    assert_near(total(GT_CPU_TIME), ticks(10)); /* 7 of its own, 3 of the child after tracking began */
}

TEST_WITH(many_vanish_at_once, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 1);
    for (int i = 0; i < 50; i++)
        SHOW(.pid = 200 + i, .parent = i ? 199 + i : 100, .start = 20 + (unsigned)i, .cpu_ticks = 2);
    begin_job();
    assert_near(total(GT_CPU_TIME), ticks(101));
    for (int i = 0; i < 50; i++)
        fake_proc_remove(folder, 200 + i);
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 1, .reaped_cpu_ticks = 110);
    read_all(51);
    assert_near(total(GT_CPU_TIME), ticks(111));
}

TEST_WITH(wait4_takes_the_place_of_what_was_read, set_up, tear_down)
{
    follow_two();
    fake_proc_remove(folder, 101);
    fake_proc_remove(folder, 100);
    struct rusage usage = {.ru_utime = {0, 600000}, .ru_stime = {0, 12345}, .ru_minflt = 77};
    gt_account_reaped(&account, &tree, &peak, 100, &usage);
    assert_int_equal(tree.count, 0);
    assert_near(total(GT_CPU_TIME), 0.612345);
    assert_near(total(GT_MINOR_FAULTS), 77);
}

static void write_with_bytes(pid_t pid, pid_t parent, unsigned long long bytes, char process_state)
{
    SHOW(.pid = pid, .parent = parent, .start = (unsigned)pid, .written_bytes = bytes, .state = process_state);
}

TEST_WITH(bytes_of_others_hide_none_of_a_childs, set_up, tear_down)
{
    write_with_bytes(100, 1, 0, 'S');
    write_with_bytes(101, 100, 200, 'S');
    begin_job();
    write_with_bytes(100, 1, 1050, 'S'); /* its own, and a child's that nobody met */
    read_all(2);
    assert_near(total(GT_WRITTEN_BYTES), 1250);
    write_with_bytes(100, 1, 1250, 'Z'); /* those of what has ended are not read */
    fake_proc_remove(folder, 101);
    read_all(2);
    assert_near(total(GT_WRITTEN_BYTES), 1250);
    struct rusage usage = {.ru_oublock = 3};
    gt_account_reaped(&account, &tree, &peak, 100, &usage);
    assert_near(total(GT_WRITTEN_BYTES), 3 * 512);
}

TEST_WITH(a_child_that_ends_before_its_parent_is_read_counts_once, set_up, tear_down)
{
    write_with_bytes(100, 1, 0, 'S');
    write_with_bytes(102, 100, 10, 'S');
    write_with_bytes(99, 102, 500, 'S');
    finder(0);
    assert_int_equal(gt_tree_add(&tree, 99), 1);
    read_all(0);
    assert_near(total(GT_WRITTEN_BYTES), 510);
    assert_int_equal(gt_process_read_slowly(gt_tree_find(&tree, 99)), 0);
    fake_proc_remove(folder, 99);
    write_with_bytes(102, 100, 520, 'S');
    assert_int_equal(gt_process_read_slowly(gt_tree_find(&tree, 102)), 0);
    gt_account_settle(&account, &tree);
    assert_near(total(GT_WRITTEN_BYTES), 520);
    read_all(2);
    assert_near(total(GT_WRITTEN_BYTES), 520);
}

TEST_WITH(a_child_that_ends_before_its_parent_is_read_again_counts_once, set_up, tear_down)
{
    write_with_bytes(100, 1, 0, 'S');
    write_with_bytes(101, 100, 200, 'S');
    write_with_bytes(102, 100, 300, 'S');
    begin_job();
    fake_proc_remove(folder, 101);
    assert_int_equal(gt_process_read(gt_tree_find(&tree, 101), &root), -3);
    fake_proc_remove(folder, 102); /* which was just read */
    write_with_bytes(100, 1, 510, 'S');
    gt_account_settle(&account, &tree);
    assert_near(total(GT_WRITTEN_BYTES), 510);
    read_all(1);
    assert_near(total(GT_WRITTEN_BYTES), 510);
}

TEST_WITH(wait4_of_an_orphan_never_seen_counts, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5);
    begin_job();
    struct rusage usage = {.ru_utime = {1, 0}, .ru_maxrss = 5000};
    gt_account_reaped(&account, &tree, &peak, 555, &usage);
    assert_near(total(GT_CPU_TIME), 1 + ticks(5));
    assert_near(peak.scope[GT_PEAK_COMBINED].best, 5000 * 1024);
    assert_int_equal(tree.started, 2);
}

TEST_WITH(denied_files_are_missing_not_zero, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .cpu_ticks = 5, .denied = 1);
    begin_job();
    assert_true(isnan(total(GT_READ_BYTES)));
    assert_near(total(GT_CPU_TIME), ticks(5));
}

/* ---- rates and peaks --------------------------------------------------------------------------------------------- */

TEST_WITH(rates_cover_whole_intervals, set_up, tear_down)
{
    struct gt_rate rate = {0};
    assert_true(isnan(gt_rate_next(&rate, 1, 1 * GT_SECOND, 0, 2)));
    assert_near(gt_rate_next(&rate, 1.5, 2 * GT_SECOND, 0, 2), 0.5);
    assert_true(isnan(gt_rate_next(&rate, 1.6, 2 * GT_SECOND + 1000, GT_SECOND / 2, 2))); /* too short: goes on */
    assert_near(gt_rate_next(&rate, 2.5, 3 * GT_SECOND, GT_SECOND / 2, 2), 1.0);
    assert_true(isnan(gt_rate_next(&rate, NAN, 4 * GT_SECOND, 0, 2)));
}

TEST_WITH(no_interval_uses_more_than_all_cores, set_up, tear_down)
{
    struct gt_rate rate = {0};
    gt_rate_next(&rate, 0, GT_SECOND, 0, 2);
    assert_near(gt_rate_next(&rate, 5, 2 * GT_SECOND, 0, 2), 2); /* 3 s of earlier work became known */
    assert_near(gt_rate_next(&rate, 5, 3 * GT_SECOND, 0, 2), 2);
    assert_near(gt_rate_next(&rate, 5, 4 * GT_SECOND, 0, 2), 1);
    assert_near(gt_rate_next(&rate, 5, 5 * GT_SECOND, 0, 2), 0);
}

static void write_two_with_marks(int main_kib, int child_kib)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .resident_pages = 1000, .peak_kib = main_kib);
    SHOW(.pid = 101, .parent = 100, .start = 11, .resident_pages = 2000, .peak_kib = child_kib);
}

/* Processes that are older than the tracking: their marks tell nothing until they rise. */
TEST_WITH(peaks_come_from_high_water_marks_that_rise, set_up, tear_down)
{
    write_two_with_marks(500000, 90000);
    struct gt_sampler sampler;
    struct gt_sampler_options options = {.pid = 100, .machine_root = folder, .period = 1};
    assert_int_equal(gt_sampler_open(&sampler, &options, NULL), 0);
    struct gt_combiner combiner;
    struct gt_sample sample;
    double page = (double)sysconf(_SC_PAGESIZE), kib = 1024;
    gt_combine_init(&combiner, &(struct gt_combine_options){.detail = true, .core_count = 2, .period = 1});
    assert_int_equal(gt_sampler_read(&sampler, 0, NULL), 0);
    assert_int_equal(gt_combine(&combiner, &sampler, &sample), 0);
    assert_near(sample.row[GT_SCOPE_COMBINED].value[GT_RSS], 3000 * page);
    assert_near(sample.row[GT_SCOPE_MAIN].value[GT_RAM_PEAK], 1000 * page);
    assert_near(sample.row[GT_SCOPE_MAIN].value[GT_RAM_PEAK_BOUND], 500000 * kib);
    assert_near(sample.row[GT_SCOPE_DESCENDANTS].value[GT_RAM_PEAK], 2000 * page);
    assert_near(sample.row[GT_SCOPE_COMBINED].value[GT_RAM_PEAK], 2990 * page); /* 10 pages are files, counted once */
    assert_near(sample.row[GT_SCOPE_COMBINED].value[GT_RAM_PEAK_BOUND], 590000 * kib);
    write_two_with_marks(510000, 90000);
    sampler.snapshot.is_last = true; /* so that all files are read */
    assert_int_equal(gt_sampler_read(&sampler, 0, NULL), 0);
    assert_int_equal(gt_combine(&combiner, &sampler, &sample), 0);
    assert_near(sample.row[GT_SCOPE_MAIN].value[GT_RAM_PEAK], 510000 * kib);
    assert_near(sample.row[GT_SCOPE_DESCENDANTS].value[GT_RAM_PEAK], 2000 * page);
    assert_near(sample.row[GT_SCOPE_COMBINED].value[GT_RAM_PEAK], 510000 * kib); /* what was beside it is not known */
    assert_near(sample.row[GT_SCOPE_COMBINED].value[GT_RAM_PEAK_BOUND], 600000 * kib);
    assert_near(sample.row[GT_SCOPE_COMBINED].value[GT_PROCESSES], 2);
    assert_int_equal(sample.row_count, GT_FIXED_ROWS + sampler.snapshot.device_count + 2);
    assert_int_equal(sample.row[sample.row_count - 1].pid, 101);
    gt_combine_release(&combiner);
    gt_sampler_close(&sampler);
}

TEST_WITH(a_zombie_has_no_memory_and_is_not_counted, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .resident_pages = 1000);
    SHOW(.pid = 101, .parent = 100, .start = 11, .state = 'Z', .cpu_ticks = 30);
    struct gt_sampler sampler;
    struct gt_sampler_options options = {.pid = 100, .machine_root = folder, .period = 1, .launched = false};
    assert_int_equal(gt_sampler_open(&sampler, &options, NULL), 0);
    struct gt_combiner combiner;
    struct gt_sample sample;
    gt_combine_init(&combiner, &(struct gt_combine_options){.detail = false, .core_count = 2, .period = 1});
    assert_int_equal(gt_sampler_read(&sampler, 0, NULL), 0);
    assert_int_equal(gt_combine(&combiner, &sampler, &sample), 0);
    assert_near(sample.row[GT_SCOPE_COMBINED].value[GT_PROCESSES], 1);
    assert_near(sample.row[GT_SCOPE_COMBINED].value[GT_THREADS], 1);
    gt_combine_release(&combiner);
    gt_sampler_close(&sampler);
}

/* It lives, with the others. */
TEST_WITH(a_process_whose_first_thread_has_ended_is_no_zombie, set_up, tear_down)
{
    SHOW(.pid = 100, .parent = 1, .start = 10, .state = 'Z', .threads = 3, .cpu_ticks = 30);
    struct gt_sampler sampler;
    struct gt_sampler_options options = {.pid = 100, .machine_root = folder, .period = 1, .launched = false};
    assert_int_equal(gt_sampler_open(&sampler, &options, NULL), 0);
    struct gt_combiner combiner;
    struct gt_sample sample;
    gt_combine_init(&combiner, &(struct gt_combine_options){.detail = false, .core_count = 2, .period = 1});
    assert_int_equal(gt_sampler_read(&sampler, 0, NULL), 0);
    assert_int_equal(gt_combine(&combiner, &sampler, &sample), 0);
    assert_near(sample.row[GT_SCOPE_COMBINED].value[GT_PROCESSES], 1);
    gt_combine_release(&combiner);
    gt_sampler_close(&sampler);
}
