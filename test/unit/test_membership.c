/* Members of a job by events: made up ones for the odd cases, and the running kernel's. */
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample/membership.h"
#include "support/valgrind.h"

enum { FORKS = 1 << GT_EVENTS_FORKS, RECORDS = 1 << GT_EVENTS_RECORDS };

static struct gt_root machine;

/* ---- Made up events on a stored machine --------------------------------------------------------------------------- */

struct job {
    struct gt_root root;
    char path[64];
    struct gt_membership *membership;
};

static void store_text(const char *directory, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Process `pid` with `threads` threads numbered from `pid` on. */
static void store_process(struct job *job, pid_t pid, int threads, char process_state)
{
    char path[128], text[160];
    snprintf(path, sizeof path, "%s/proc/%d/task", job->path, (int)pid);
    snprintf(text, sizeof text, "mkdir -p %s", path);
    assert_int_equal(system(text), 0);
    for (int i = 0; i < threads; i++) {
        snprintf(path, sizeof path, "%s/proc/%d/task/%d", job->path, (int)pid, (int)pid + i);
        mkdir(path, 0755);
    }
    snprintf(path, sizeof path, "%s/proc/%d", job->path, (int)pid);
    snprintf(text, sizeof text, "%d (a ) name) %c 1 1 1", (int)pid, process_state);
    store_text(path, "stat", text);
}

static int open_job(void **state)
{
    struct job *job = calloc(1, sizeof *job);
    strcpy(job->path, "/tmp/membership-XXXXXX");
    if (!mkdtemp(job->path) || gt_root_open(&job->root, job->path, NULL))
        return -1;
    if (gt_membership_new(&job->membership, &job->root, NULL))
        return -1;
    store_process(job, 100, 1, 'S');
    *state = job;
    return gt_membership_seed(job->membership, &(pid_t){100}, 1, NULL);
}

static int close_job(void **state)
{
    struct job *job = *state;
    char command[128];
    gt_membership_free(job->membership);
    gt_root_close(&job->root);
    snprintf(command, sizeof command, "rm -r %s", job->path);
    int result = system(command);
    free(job);
    return result;
}

static void feed(struct job *job, struct gt_event event)
{
    event.monotonic_ns = INT64_MAX; /* after every seed */
    assert_int_equal(gt_membership_feed(job->membership, &event), 0);
}

static void fork_of(struct job *job, pid_t parent, pid_t child)
{
    feed(job, (struct gt_event){.kind = GT_EVENT_FORK, .pid = child, .tgid = child, .parent = parent});
}

static void thread_of(struct job *job, pid_t process, pid_t thread)
{
    feed(job, (struct gt_event){.kind = GT_EVENT_FORK, .pid = thread, .tgid = process, .parent = 1});
}

static void exit_of(struct job *job, pid_t process, pid_t thread)
{
    feed(job, (struct gt_event){.kind = GT_EVENT_EXIT, .pid = thread, .tgid = process});
}

static void record_of(struct job *job, pid_t process, pid_t thread, uint64_t cpu_ns, uint64_t peak)
{
    feed(job, (struct gt_event){.kind = GT_EVENT_RECORD,
                                .pid = thread,
                                .tgid = process,
                                .record = {.cpu_ns = cpu_ns, .minor_faults = 1, .peak_rss = peak}});
}

static void lose(struct job *job, enum gt_event_source source)
{
    feed(job, (struct gt_event){.kind = GT_EVENT_LOST, .source = source});
}

static bool lives(const struct job *job, pid_t pid)
{
    const struct gt_member *member = gt_membership_find(job->membership, pid);
    return member && !member->has_ended;
}

static void expect(const struct job *job, size_t processes, size_t threads)
{
    struct gt_membership_counts counts = gt_membership_counts(job->membership);
    pid_t pids[64];
    assert_int_equal(counts.processes, processes);
    assert_int_equal(counts.threads, threads);
    assert_int_equal(gt_membership_pids(job->membership, pids, 64), processes);
    for (size_t i = 0; i < processes; i++)
        assert_true(lives(job, pids[i]));
}

static void descendants_are_members_and_strangers_are_not(void **state)
{
    struct job *job = *state;
    expect(job, 1, 1);
    fork_of(job, 100, 101);
    fork_of(job, 101, 102);
    fork_of(job, 7, 103);
    fork_of(job, 103, 104);
    expect(job, 3, 3);
    assert_true(lives(job, 102));
    assert_null(gt_membership_find(job->membership, 103));
    exit_of(job, 101, 101); /* its child stays */
    fork_of(job, 102, 105);
    exit_of(job, 103, 103);
    expect(job, 3, 3);
    struct gt_membership_counts counts = gt_membership_counts(job->membership);
    assert_int_equal(counts.started, 4);
    assert_int_equal(counts.processes_peak, 3);
    assert_true(counts.is_exact);
}

static void a_process_lives_as_long_as_its_last_thread(void **state)
{
    struct job *job = *state;
    thread_of(job, 100, 110);
    thread_of(job, 100, 111);
    thread_of(job, 100, 111);
    thread_of(job, 9, 112);
    expect(job, 1, 3);
    exit_of(job, 100, 100);
    exit_of(job, 100, 110);
    expect(job, 1, 1);
    fork_of(job, 100, 120);
    exit_of(job, 100, 111);
    expect(job, 1, 1);
    assert_true(lives(job, 120));
    assert_int_equal(gt_membership_counts(job->membership).threads_peak, 3);
}

/* A thread other than the first calls execve: it ends the others and goes on under the number of the first. */
static void execve_by_a_thread_does_not_end_the_process(void **state)
{
    struct job *job = *state;
    thread_of(job, 100, 110);
    thread_of(job, 100, 111);
    exit_of(job, 100, 111);
    exit_of(job, 100, 100);
    expect(job, 1, 1);
    thread_of(job, 100, 112);
    expect(job, 1, 2);
    exit_of(job, 100, 112);
    exit_of(job, 100, 100);
    expect(job, 0, 0);
}

static void a_number_used_again_is_another_process(void **state)
{
    struct job *job = *state;
    fork_of(job, 100, 101);
    exit_of(job, 101, 101);
    fork_of(job, 7, 101); /* a stranger */
    fork_of(job, 101, 102);
    expect(job, 1, 1);
    fork_of(job, 100, 101); /* a member again */
    thread_of(job, 101, 103);
    expect(job, 2, 3);
    assert_int_equal(gt_membership_counts(job->membership).started, 3);
    fork_of(job, 7, 101); /* its end was lost */
    expect(job, 1, 1);
    assert_false(lives(job, 101));
}

static void records_of_ended_members_add_up(void **state)
{
    struct job *job = *state;
    fork_of(job, 100, 101);
    thread_of(job, 101, 102);
    record_of(job, 101, 102, 1000, 50);
    exit_of(job, 101, 102);
    assert_int_equal(gt_membership_ended(job->membership)->cpu_ns, 0); /* its process lives */
    assert_int_equal(gt_membership_find(job->membership, 101)->record.cpu_ns, 1000);
    exit_of(job, 101, 101);
    assert_int_equal(gt_membership_ended(job->membership)->cpu_ns, 1000);
    gt_membership_settle(job->membership);
    record_of(job, 101, 101, 500, 70);    /* comes one round late */
    record_of(job, 101, 101, 9999, 9999); /* a stranger's, who has the number now */
    record_of(job, 77, 77, 9999, 9999);
    const struct gt_exit_record *ended = gt_membership_ended(job->membership);
    assert_int_equal(ended->cpu_ns, 1500);
    assert_int_equal(ended->minor_faults, 2);
    assert_int_equal(ended->peak_rss, 70);
    assert_int_equal(gt_membership_find(job->membership, 101)->record.peak_rss, 70);
    gt_membership_settle(job->membership);
    assert_null(gt_membership_find(job->membership, 101));
    struct gt_membership_counts counts = gt_membership_counts(job->membership);
    assert_int_equal(counts.records, 2);
    assert_int_equal(counts.tasks_ended, 2);
}

static void after_a_loss_a_seed_sets_it_right(void **state)
{
    struct job *job = *state;
    fork_of(job, 100, 101);
    fork_of(job, 100, 300);
    thread_of(job, 100, 110);
    lose(job, GT_EVENTS_RECORDS);
    assert_true(gt_membership_counts(job->membership).is_exact);
    lose(job, GT_EVENTS_FORKS); /* 101 and 110 ended, 200 with three threads began, 400 is a zombie */
    store_process(job, 200, 3, 'R');
    store_process(job, 300, 1, 'S');
    store_process(job, 400, 1, 'Z');
    assert_int_equal(gt_membership_seed(job->membership, (pid_t[]){100, 200, 300, 400, 500}, 5, NULL), 0);
    expect(job, 3, 5);
    assert_false(lives(job, 101));
    assert_true(gt_membership_find(job->membership, 300)->seen_from_fork);
    assert_false(gt_membership_find(job->membership, 200)->seen_from_fork);
    exit_of(job, 200, 201);
    fork_of(job, 200, 401);
    expect(job, 4, 5);
    struct gt_membership_counts counts = gt_membership_counts(job->membership);
    assert_false(counts.is_exact);
    assert_int_equal(counts.lost, 2);
    assert_int_equal(counts.started, 5);
}

/* The fork of a process that a seed found may wait unread. */
static void a_fork_older_than_the_seed_changes_nothing(void **state)
{
    struct job *job = *state;
    struct gt_event old = {.kind = GT_EVENT_FORK, .pid = 100, .tgid = 100, .parent = 1, .monotonic_ns = 1};
    assert_int_equal(gt_membership_feed(job->membership, &old), 0);
    expect(job, 1, 1);
    fork_of(job, 1, 100);
    expect(job, 0, 0);
}

static void a_storm_needs_no_more_room(void **state)
{
    struct job *job = *state;
    for (pid_t i = 0; i < 100000; i++) {
        fork_of(job, 100, 1000 + i % 30000);
        record_of(job, 1000 + i % 30000, 1000 + i % 30000, 10, 5);
        exit_of(job, 1000 + i % 30000, 1000 + i % 30000);
        if (i % 10 == 9)
            gt_membership_settle(job->membership);
    }
    expect(job, 1, 1);
    assert_int_equal(gt_membership_counts(job->membership).started, 100001);
    assert_int_equal(gt_membership_counts(job->membership).processes_peak, 2);
    assert_int_equal(gt_membership_ended(job->membership)->cpu_ns, 1000000);
    size_t known = 0;
    for (pid_t pid = 1000; pid < 31000; pid++)
        known += gt_membership_find(job->membership, pid) != NULL;
    assert_int_equal(known, 10);
}

/* ---- The running kernel ------------------------------------------------------------------------------------------ */

struct live {
    struct gt_events *events;
    struct gt_membership *membership;
};

static int open_live(void **state)
{
    struct live *live = calloc(1, sizeof *live);
    *state = live;
    return gt_membership_new(&live->membership, &machine, NULL);
}

static int close_live(void **state)
{
    struct live *live = *state;
    gt_events_close(live->events);
    gt_membership_free(live->membership);
    free(live);
    return 0;
}

static void open_or_skip(struct live *live, unsigned wanted)
{
    struct gt_availability availability[GT_EVENTS_SOURCES];
    assert_int_equal(gt_events_open(&live->events, &machine, wanted, availability, NULL), 0);
    for (int source = 0; source < GT_EVENTS_SOURCES; source++) {
        if (wanted & 1u << source && availability[source].state != GT_READY) {
            print_message("skipped: %s: %s\n", availability[source].source, availability[source].reason);
            skip();
        }
    }
}

/* Run `work` as a job of its own and wait until the kernel has told of its end. */
static pid_t run_job(struct live *live, void (*work)(void))
{
    int gate[2];
    char byte;
    assert_int_equal(pipe(gate), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        if (read(gate[0], &byte, 1) == 0)
            work();
        _exit(0);
    }
    close(gate[0]);
    assert_int_equal(gt_membership_seed(live->membership, &pid, 1, NULL), 0);
    close(gate[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(gt_membership_update(live->membership, live->events, NULL), 0);
        if (!gt_membership_counts(live->membership).processes)
            break;
        usleep(1000);
    }
    return pid;
}

static void fork_a_thousand(void)
{
    for (int i = 0; i < 250; i++) {
        if (fork() == 0) {
            for (int k = 0; k < 3; k++) {
                if (fork() == 0)
                    _exit(0);
                wait(NULL);
            }
            _exit(0);
        }
        wait(NULL);
    }
}

static void a_thousand_children_and_grandchildren_are_counted(void **state)
{
    SKIP_UNDER_VALGRIND();
    struct live *live = *state;
    open_or_skip(live, FORKS);
    run_job(live, fork_a_thousand);
    struct gt_membership_counts counts = gt_membership_counts(live->membership);
    assert_int_equal(counts.started, 1001);
    assert_int_equal(counts.processes, 0);
    assert_int_equal(counts.threads, 0);
    assert_int_equal(counts.tasks_ended, 1001);
    assert_in_range(counts.processes_peak, 3, 4); /* wait returns a moment before the end of a child is told */
    assert_true(counts.is_exact);
}

static pthread_barrier_t all_there;

static void *meet(void *unused)
{
    pthread_barrier_wait(&all_there);
    return unused;
}

static void run_ten_threads(void)
{
    pthread_t thread[9];
    pthread_barrier_init(&all_there, NULL, 10);
    for (int i = 0; i < 9; i++)
        pthread_create(&thread[i], NULL, meet, NULL);
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < 9; i++)
        pthread_join(thread[i], NULL);
}

static void threads_and_their_peak_are_counted(void **state)
{
    struct live *live = *state;
    open_or_skip(live, FORKS);
    run_job(live, run_ten_threads);
    struct gt_membership_counts counts = gt_membership_counts(live->membership);
    assert_int_equal(counts.threads_peak, 10);
    assert_int_equal(counts.processes_peak, 1);
    assert_int_equal(counts.tasks_ended, 10);
}

static void *replace_process(void *unused)
{
    execl("/bin/sh", "sh", "-c", "/bin/true; /bin/true; exit 3", NULL);
    return unused;
}

static void execute_in_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, replace_process, NULL);
    pthread_join(thread, NULL);
}

static void execve_in_a_thread_is_followed(void **state)
{
    struct live *live = *state;
    open_or_skip(live, FORKS);
    for (int i = 0; i < 20; i++) {
        uint64_t before = gt_membership_counts(live->membership).started;
        pid_t pid = run_job(live, execute_in_a_thread);
        const struct gt_member *member = gt_membership_find(live->membership, pid);
        struct gt_membership_counts counts = gt_membership_counts(live->membership);
        assert_int_equal(counts.processes, 0);
        assert_int_equal(counts.threads, 0);
        assert_in_range(counts.started - before, 2, 3); /* the shell may execute its last command itself */
        assert_true(!member || WEXITSTATUS(member->wait_status) == 3);
    }
}

static void detach_twice(void)
{
    int done[2];
    char byte;
    if (pipe(done))
        return;
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            usleep(20000);
            if (fork() == 0)
                _exit(0);
        }
        _exit(0);
    }
    close(done[1]);
    while (read(done[0], &byte, 1) > 0)
        ;
}

static void daemons_stay_members(void **state)
{
    struct live *live = *state;
    open_or_skip(live, FORKS);
    run_job(live, detach_twice);
    assert_int_equal(gt_membership_counts(live->membership).started, 4);
    assert_int_equal(gt_membership_counts(live->membership).processes, 0);
}

static uint64_t *truth;

/* Each thread adds what its own clock says at its end: the kernel's work of ending it is in no record. */
static void tell_truth(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    __atomic_fetch_add(truth, (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec, __ATOMIC_RELAXED);
}

static void *burn(void *unused)
{
    struct timespec time;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    } while (time.tv_nsec < 2000000);
    tell_truth();
    return unused;
}

static void burn_in_threads(void)
{
    for (int i = 0; i < 50; i++) {
        if (fork() == 0) {
            pthread_t thread[3];
            for (int k = 0; k < 3; k++)
                pthread_create(&thread[k], NULL, burn, NULL);
            for (int k = 0; k < 3; k++)
                pthread_join(thread[k], NULL);
            tell_truth();
            _exit(0);
        }
        wait(NULL);
    }
    tell_truth();
}

static void cpu_time_of_short_threads_adds_up(void **state)
{
    SKIP_UNDER_VALGRIND();
    struct live *live = *state;
    open_or_skip(live, FORKS | RECORDS);
    *truth = 0;
    run_job(live, burn_in_threads);
    gt_membership_update(live->membership, live->events, NULL);
    struct gt_membership_counts counts = gt_membership_counts(live->membership);
    double told = (double)gt_membership_ended(live->membership)->cpu_ns;
    print_message("clocks %.3f ms, records %+.2f %%\n", (double)*truth / 1e6, 100 * (told / (double)*truth - 1));
    assert_int_equal(counts.records, counts.tasks_ended);
    assert_int_equal(counts.records, 1 + 50 * 4);
    assert_true(told >= (double)*truth && told <= (double)*truth * 1.01);
}

/* Start a child under a given number; 0 when this user may not. */
static pid_t fork_as(pid_t pid)
{
    struct clone_args arguments = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};
    long result = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (result == 0)
        _exit(0);
    if (result > 0)
        waitpid((pid_t)result, NULL, 0);
    return result > 0 ? (pid_t)result : 0;
}

static void nothing(void)
{
}

static void the_number_of_an_ended_member_may_be_used_by_a_stranger(void **state)
{
    struct live *live = *state;
    open_or_skip(live, FORKS);
    pid_t pid = run_job(live, nothing);
    if (fork_as(pid) != pid) {
        print_message("skipped: no right to choose a process number\n");
        skip();
    }
    gt_membership_update(live->membership, live->events, NULL);
    assert_int_equal(gt_membership_counts(live->membership).started, 1);
    assert_int_equal(gt_membership_counts(live->membership).tasks_ended, 1);
    assert_int_equal(gt_membership_counts(live->membership).processes, 0);
}

static int open_machine(void **state)
{
    (void)state;
    truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return truth == MAP_FAILED ? -1 : gt_root_open(&machine, NULL, NULL);
}

static int close_machine(void **state)
{
    (void)state;
    gt_root_close(&machine);
    return munmap(truth, sizeof *truth);
}

int main(void)
{
#define MADE_UP(name) cmocka_unit_test_setup_teardown(name, open_job, close_job)
#define LIVE(name) cmocka_unit_test_setup_teardown(name, open_live, close_live)
    const struct CMUnitTest tests[] = {
        MADE_UP(descendants_are_members_and_strangers_are_not),
        MADE_UP(a_process_lives_as_long_as_its_last_thread),
        MADE_UP(execve_by_a_thread_does_not_end_the_process),
        MADE_UP(a_number_used_again_is_another_process),
        MADE_UP(records_of_ended_members_add_up),
        MADE_UP(after_a_loss_a_seed_sets_it_right),
        MADE_UP(a_fork_older_than_the_seed_changes_nothing),
        MADE_UP(a_storm_needs_no_more_room),
        LIVE(a_thousand_children_and_grandchildren_are_counted),
        LIVE(threads_and_their_peak_are_counted),
        LIVE(execve_in_a_thread_is_followed),
        LIVE(daemons_stay_members),
        LIVE(cpu_time_of_short_threads_adds_up),
        LIVE(the_number_of_an_ended_member_may_be_used_by_a_stranger),
    };
    return cmocka_run_group_tests_name("membership", tests, open_machine, close_machine);
}
