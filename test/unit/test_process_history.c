/* The list of processes: names, beginnings and ends, from readings of the tree and from events. */
#include "collect/process/process.h"
#include "sample/process_history.h"
#include "support/fake_proc.h"
#include "support/folder.h"
#include "support/test.h"

#define MS (GT_SECOND / 1000)

struct machine {
    char folder[64];
    struct gt_root root;
    struct gt_tree tree;
    struct gt_process_history *history;
    struct gt_process_records records;
};

static int64_t now_ns; /* of the made-up clock */

static void put_name(const struct machine *machine, pid_t pid, const char *name, const char *words)
{
    char path[64];
    snprintf(path, sizeof path, "proc/%d/comm", (int)pid);
    folder_put(machine->folder, path, name);
    snprintf(path, sizeof path, "proc/%d/cmdline", (int)pid);
    folder_put(machine->folder, path, words);
}

static struct fake_process job(pid_t pid, unsigned long ticks)
{
    return (struct fake_process){
        .pid = pid, .parent = 99, .session = 100, .start = (unsigned)pid, .cpu_ticks = ticks, .resident_pages = 10};
}

static int begin(void **state)
{
    static struct machine machine;
    machine = (struct machine){0};
    fake_proc_create(machine.folder, &machine.root);
    fake_proc_write(machine.folder, &(struct fake_process){.pid = 100, .parent = 1, .session = 100, .start = 100});
    put_name(&machine, 100, "main\n", "main");
    now_ns = 0;
    *state = &machine;
    return gt_tree_open(&machine.tree, &machine.root, 100, false, NULL) < 0 ||
           gt_process_history_new(&machine.history, &machine.root, GT_PROCESS_HISTORY_MOST, false, NULL) < 0;
}

static int finish(void **state)
{
    struct machine *machine = *state;
    gt_process_history_free(machine->history);
    gt_tree_close(&machine->tree);
    gt_process_records_release(&machine->records);
    fake_proc_destroy(machine->folder, &machine->root);
    return 0;
}

#define TEST_OF_MACHINE(name) TEST_OF(struct machine *machine, name, begin, finish)

/* A reading at that second, as the sampler does it. */
static void read_at(struct machine *machine, double seconds)
{
    now_ns = (int64_t)(seconds * 1e9);
    gt_process_history_begin(machine->history, 0);
    gt_tree_discover(&machine->tree, true, now_ns + 100 * GT_SECOND);
    for (size_t i = 0; i < machine->tree.count; i++)
        gt_process_read_slowly(machine->tree.process[i]);
    assert_int_equal(gt_process_history_read(machine->history, &machine->tree, now_ns), 0);
    gt_tree_drop_gone(&machine->tree);
}

static const struct gt_process_record *record_of(struct machine *machine, size_t number)
{
    gt_process_records_release(&machine->records);
    assert_int_equal(gt_process_history_records(machine->history, &machine->records), 0);
    assert_true(number < machine->records.count);
    assert_int_equal(machine->records.record[number].number, number);
    return &machine->records.record[number];
}

static void hear(struct machine *machine, struct gt_event event, bool has_ended)
{
    event.tgid = event.tgid ? event.tgid : event.pid;
    assert_int_equal(gt_process_history_hear(machine->history, &event, has_ended), 0);
}

static void fork_at(struct machine *machine, pid_t pid, int64_t when_ns)
{
    hear(machine, (struct gt_event){.kind = GT_EVENT_FORK, .pid = pid, .parent = 100, .monotonic_ns = when_ns}, false);
}

static void exit_at(struct machine *machine, pid_t pid, int64_t when_ns)
{
    hear(machine, (struct gt_event){.kind = GT_EVENT_EXIT, .pid = pid, .monotonic_ns = when_ns}, true);
}

enum { LARGE = 70000, SMALL = 3000 }; /* KiB */

static void show(struct machine *machine, struct fake_process *process, unsigned long kib, bool is_forked)
{
    process->forked = is_forked;
    process->peak_kib = kib;
    process->cpu_ticks++;
    fake_proc_write(machine->folder, process);
}

/* Make 101 one that has its parent's memory, which it shares (vfork) or of which it has a copy. */
static struct fake_process *fork_large(struct machine *machine)
{
    static struct fake_process process;
    process = job(101, 5);
    show(machine, &process, LARGE, true);
    put_name(machine, 101, "python\n", "python");
    return &process;
}

static struct gt_process *process_of(struct machine *machine, pid_t pid)
{
    struct gt_process *process = gt_tree_find(&machine->tree, pid);
    assert_non_null(process);
    return process;
}

TEST_WITH(a_parents_memory_is_not_the_programs, begin, finish)
{
    for (int is_copied = 0; is_copied < 2; is_copied++) {
        struct machine *machine = *state;
        struct fake_process *process = fork_large(machine);
        process->start += (unsigned)is_copied;
        show(machine, process, LARGE, true);
        size_t number = 1 + (size_t)is_copied;
        read_at(machine, 1 + 10 * is_copied);
        process_of(machine, 101)->alone_ns = is_copied;
        read_at(machine, 2 + 10 * is_copied);
        assert_true(isnan(record_of(machine, number)->ram_peak)); /* what it will be is not known yet */
        show(machine, process, SMALL, false);
        read_at(machine, 3 + 10 * is_copied);
        assert_close(record_of(machine, number)->ram_peak, SMALL * 1024, 0);
        fake_proc_remove(machine->folder, 101);
        read_at(machine, 4 + 10 * is_copied);
        assert_close(record_of(machine, number)->ram_peak, SMALL * 1024, 0);
    }
}

TEST_OF_MACHINE(what_executes_unseen_has_its_own_memory)
{
    read_at(machine, 1);
    fork_at(machine, 101, 1100 * MS);
    fork_large(machine);
    read_at(machine, 2);
    process_of(machine, 101)->is_worker = true;
    read_at(machine, 3);
    assert_close(record_of(machine, 1)->ram_peak, LARGE * 1024, 0);
    hear(machine, (struct gt_event){.kind = GT_EVENT_EXECUTE, .pid = 101}, false);
    exit_at(machine, 101, 3100 * MS);
    struct gt_event record = {.kind = GT_EVENT_RECORD, .pid = 101, .name = "sleep"};
    record.record.peak_rss = SMALL * 1024;
    hear(machine, record, true);
    assert_close(record_of(machine, 1)->ram_peak, SMALL * 1024, 0);
}

TEST_OF_MACHINE(a_worker_has_what_it_was_forked_with_and_later_what_it_took)
{
    struct fake_process *process = fork_large(machine);
    read_at(machine, 1);
    process_of(machine, 101)->is_worker = true;
    process_of(machine, 101)->value[GT_RSS] = LARGE * 1024; /* nearly all of it its parent's */
    show(machine, process, LARGE + 2 * SMALL, true);
    read_at(machine, 2);
    assert_close(record_of(machine, 1)->ram_peak, (LARGE + 2 * SMALL) * 1024, 0);
    show(machine, process, SMALL, false);
    read_at(machine, 3);
    assert_close(record_of(machine, 1)->ram_peak, 2 * SMALL * 1024, 0);
}

TEST_OF_MACHINE(a_fork_that_ends_as_one_has_its_memory)
{
    struct fake_process *process = fork_large(machine);
    read_at(machine, 1);
    process_of(machine, 101)->alone_ns = 1;
    read_at(machine, 2);
    process->state = 'Z';
    show(machine, process, 0, true);
    read_at(machine, 3);
    assert_close(record_of(machine, 1)->ram_peak, LARGE * 1024, 0);
}

TEST_OF_MACHINE(the_last_name_counts)
{
    struct fake_process process = job(101, 5);
    fake_proc_write(machine->folder, &process);
    put_name(machine, 101, "sh\n", "sh");
    read_at(machine, 1);
    process.cpu_ticks = 6;
    fake_proc_write(machine->folder, &process);
    put_name(machine, 101, "a\nb\n", "./program -x");
    read_at(machine, 1.1);
    assert_string_equal(record_of(machine, 1)->name, "a\nb");
    assert_string_equal(record_of(machine, 1)->command, "./program -x");
    put_name(machine, 101, "a\nb\n", "./program -y"); /* the same name again, later: other words */
    process.cpu_ticks = 7;
    fake_proc_write(machine->folder, &process);
    read_at(machine, 9);
    assert_string_equal(record_of(machine, 1)->command, "./program -y");
    put_name(machine, 101, "unread\n", "unread"); /* no CPU time was used: nothing was executed */
    read_at(machine, 20);
    assert_string_equal(record_of(machine, 1)->name, "a\nb");
    hear(machine, (struct gt_event){.kind = GT_EVENT_EXECUTE, .pid = 101}, false); /* but now something was */
    read_at(machine, 20.1);
    assert_string_equal(record_of(machine, 1)->command, "unread");
}

TEST_OF_MACHINE(a_number_used_again_is_another_process)
{
    struct fake_process process = job(101, 5);
    fake_proc_write(machine->folder, &process);
    put_name(machine, 101, "first\n", "first");
    read_at(machine, 1);
    fake_proc_remove(machine->folder, 101);
    read_at(machine, 2);
    process.start = 5000;
    fake_proc_write(machine->folder, &process);
    put_name(machine, 101, "second\n", "second");
    read_at(machine, 3);
    assert_string_equal(record_of(machine, 1)->name, "first");
    assert_close(record_of(machine, 1)->end, 2, 0);
    assert_string_equal(record_of(machine, 2)->name, "second");
    assert_true(isnan(record_of(machine, 2)->end));
    assert_int_equal(record_of(machine, 2)->start, 5000);
}

/* A tick of the fake processes is 0.01 s. The second ends between two ticks, and the records of its threads may lack what it ran last. */
TEST_OF_MACHINE(looks_and_records_together_tell_cpu_time)
{
    struct fake_process process = job(101, 50);
    read_at(machine, 1);
    fork_at(machine, 101, 1500 * MS);
    fake_proc_write(machine->folder, &process);
    put_name(machine, 101, "worker\n", "./worker");
    read_at(machine, 2);
    struct gt_event record = {.kind = GT_EVENT_RECORD, .tgid = 101, .record = {.ran_ns = 200000000}};
    for (int i = 0; i < 2; i++) {
        record.pid = 102 + i;
        hear(machine, record, false);
    }
    exit_at(machine, 101, 2500 * MS);
    assert_close(record_of(machine, 1)->cpu_time, 0.5, 1e-9);
    record.pid = 101;
    hear(machine, record, true);
    assert_close(record_of(machine, 1)->cpu_time, 0.6, 1e-9);
}

/* Children of 100 that a look sees with 0.05 s. */
static void meet(struct machine *machine, pid_t first, pid_t last)
{
    read_at(machine, 1);
    for (pid_t pid = first; pid <= last; pid++) {
        struct fake_process process = job(pid, 5);
        fork_at(machine, pid, 1500 * MS);
        fake_proc_write(machine->folder, &process);
        put_name(machine, pid, "worker\n", "./worker");
    }
    read_at(machine, 2);
}

static void check_cpu_time(struct machine *machine, size_t number, double expected)
{
    assert_close(record_of(machine, number)->cpu_time, expected, 1e-9);
}

TEST_OF_MACHINE(a_parent_tells_what_no_look_saw)
{
    meet(machine, 101, 103);
    exit_at(machine, 101, 2500 * MS);
    gt_process_history_took_over(machine->history, 100, 101, 0.3);
    check_cpu_time(machine, 1, 0.35);
    exit_at(machine, 102, 2700 * MS);
    gt_process_history_took_over(machine->history, 100, 102, NAN);
    check_cpu_time(machine, 2, 0.05);
    exit_at(machine, 103, 2900 * MS);
    gt_process_history_took_over(machine->history, 100, 103, 0.02); /* clock ticks */
    check_cpu_time(machine, 3, 0.05);
}

TEST_OF_MACHINE(one_of_two_children_may_have_used_the_rest)
{
    meet(machine, 101, 102);
    exit_at(machine, 101, 2500 * MS);
    exit_at(machine, 102, 2500 * MS);
    gt_process_history_took_over(machine->history, 100, 102, 0.3);
    gt_process_history_took_over(machine->history, 100, 101, 0);
    check_cpu_time(machine, 1, 0.05);
    check_cpu_time(machine, 2, 0.05);
}

TEST_OF_MACHINE(a_childs_child_may_have_used_the_rest)
{
    meet(machine, 101, 101);
    hear(machine, (struct gt_event){.kind = GT_EVENT_FORK, .pid = 102, .parent = 101, .monotonic_ns = 2100 * MS},
         false);
    exit_at(machine, 102, 2200 * MS);
    exit_at(machine, 101, 2500 * MS);
    gt_process_history_took_over(machine->history, 100, 101, 0.3);
    check_cpu_time(machine, 1, 0.05);
}

TEST_OF_MACHINE(lost_forks_may_have_used_the_rest)
{
    meet(machine, 101, 101);
    gt_process_history_lost(machine->history);
    exit_at(machine, 101, 2500 * MS);
    gt_process_history_took_over(machine->history, 100, 101, 0.3);
    check_cpu_time(machine, 1, 0.05);
}

/* An ordinary user hears of forks and ends, and gets no records. */
TEST_OF_MACHINE(what_is_not_told_is_missing)
{
    read_at(machine, 1);
    fork_at(machine, 200, 1100 * MS);
    exit_at(machine, 200, 1250 * MS);
    read_at(machine, 2);
    const struct gt_process_record *short_record = record_of(machine, 1);
    assert_string_equal(short_record->name, "");
    assert_true(isnan(short_record->cpu_time) && isnan(short_record->ram_peak));
    assert_close(short_record->end, 1.25, 1e-9);
    struct gt_event record = {
        .kind = GT_EVENT_RECORD, .pid = 200, .name = "x"}; /* too short for the scheduler's clock */
    hear(machine, record, true);
    assert_true(isnan(record_of(machine, 1)->cpu_time));
}

TEST_OF_MACHINE(events_and_readings_are_of_one_process)
{
    struct fake_process process = job(101, 5);
    read_at(machine, 1);
    fork_at(machine, 101, 1500 * MS);
    fake_proc_write(machine->folder, &process);
    put_name(machine, 101, "worker\n", "./worker");
    read_at(machine, 2);
    exit_at(machine, 101, 2500 * MS);
    struct gt_event record = {.kind = GT_EVENT_RECORD, .pid = 101, .name = "other"};
    hear(machine, record, true);
    fake_proc_remove(machine->folder, 101);
    read_at(machine, 3);
    assert_int_equal(record_of(machine, 1)->start, 101);
    assert_int_equal(machine->records.count, 2);
    assert_close(record_of(machine, 1)->begin, 1.5, 1e-9);
    assert_close(record_of(machine, 1)->end, 2.5, 1e-9);
    assert_string_equal(record_of(machine, 1)->name, "other"); /* it had executed that since, */
    assert_string_equal(record_of(machine, 1)->command, "");   /* with words that nobody read */
}

TEST_OF_MACHINE(a_fork_under_the_number_of_one_that_seems_to_live)
{
    read_at(machine, 1);
    fork_at(machine, 200, 1100 * MS);
    fork_at(machine, 200, 1105 * MS); /* the first one's end was lost */
    assert_close(record_of(machine, 1)->end, 1.105, 1e-9);
    assert_close(record_of(machine, 2)->begin, 1.105, 1e-9);
    assert_true(isnan(record_of(machine, 2)->end));
    read_at(machine, 2);
    assert_close(record_of(machine, 2)->end, 2, 1e-9); /* no reading meets it */
}

static size_t changes(struct machine *machine, const struct gt_process_record **ret)
{
    size_t count;
    assert_int_equal(gt_process_history_changes(machine->history, ret, &count), 0);
    return count;
}

TEST_OF_MACHINE(each_change_is_told_once)
{
    const struct gt_process_record *changed;
    struct fake_process process = job(101, 5);
    read_at(machine, 1);
    assert_int_equal(changes(machine, &changed), 1);
    assert_string_equal(changed->name, "main");
    read_at(machine, 2);
    assert_int_equal(changes(machine, &changed), 0);
    fake_proc_write(machine->folder, &process);
    put_name(machine, 101, "sh\n", "sh");
    read_at(machine, 3);
    process.cpu_ticks = 6;
    fake_proc_write(machine->folder, &process);
    put_name(machine, 101, "worker\n", "./worker");
    read_at(machine, 3.1);
    assert_int_equal(changes(machine, &changed), 1);
    assert_string_equal(changed->name, "worker");
    gt_process_history_reaped(machine->history, 101, 4 * GT_SECOND);
    gt_process_history_reaped(machine->history, 12345, 4 * GT_SECOND);
    assert_int_equal(changes(machine, &changed), 1);
    assert_close(changed->end, 4, 0);
    assert_int_equal(changes(machine, &changed), 0);
}

TEST_OF_MACHINE(too_many_are_counted)
{
    for (int i = 0; i < GT_PROCESS_HISTORY_MOST + 3; i++) {
        fork_at(machine, 1000 + i, i * MS);
        exit_at(machine, 1000 + i, i * MS + 1);
    }
    read_at(machine, 1); /* the main process is one more, */
    read_at(machine, 2); /* once */
    assert_int_equal(gt_process_history_left_out(machine->history), 4);
    assert_int_equal(record_of(machine, GT_PROCESS_HISTORY_MOST - 1)->pid, 1000 + GT_PROCESS_HISTORY_MOST - 1);
    assert_int_equal(machine->records.count, GT_PROCESS_HISTORY_MOST);
}

static void check_short(const char *text, const char *expected)
{
    char shortened[12];
    gt_shorten(shortened, sizeof shortened, text);
    assert_string_equal(shortened, expected);
}

TEST(texts_are_cut_between_characters)
{
    check_short("", "");
    check_short("eleven char", "eleven char");
    check_short("twelve chars", "twelve c...");
    check_short("1234567\xc3\xa9\xc3\xa9\xc3\xa9", "1234567...");
    check_short("123456\xc3\xa9\xc3\xa9\xc3\xa9", "123456\xc3\xa9...");
}

TEST(lists_are_unified_and_sorted)
{
    static const struct gt_process_record rows[] = {
        {.number = 2, .pid = 1, .begin = 5},   {.number = 0, .pid = 2, .begin = NAN},
        {.number = 2, .pid = 3, .begin = 4},   {.number = 1, .pid = 4, .begin = 4},
        {.number = 0, .pid = 5, .begin = NAN}, {.number = 3, .pid = 6, .begin = -1},
    };
    struct gt_process_records records = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(gt_process_records_add(&records, &rows[i]), 0);
    assert_int_equal(gt_process_records_unify(&records), 0);
    assert_int_equal(records.count, 4);
    gt_process_records_sort(&records);
    static const pid_t expected[] = {6, 4, 3, 5};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(records.record[i].pid, expected[i]);
    gt_process_records_release(&records);
    assert_int_equal(gt_process_records_unify(&records), 0);
    assert_int_equal(records.count, 0);
}
