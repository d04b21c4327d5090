/* Members of a job by the events of the running kernel. */
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sample/job_finder.h"
#include "support/test.h"
#include "support/valgrind.h"

enum { FORKS = 1 << GT_EVENTS_FORKS, RECORDS = 1 << GT_EVENTS_RECORDS };

static struct gt_root machine;

struct live {
    struct gt_events *events;
    struct gt_membership membership;
    struct gt_job_peak peak;
};

static int open_live(void **state)
{
    struct live *live = calloc(1, sizeof *live);
    live->membership = (struct gt_membership){.root = &machine, .peak = &live->peak};
    *state = live;
    return 0;
}

static int close_live(void **state)
{
    struct live *live = *state;
    gt_events_close(live->events);
    gt_membership_release(&live->membership);
    gt_job_peak_release(&live->peak);
    free(live);
    return 0;
}

#define TEST_OF_LIVE(name) TEST_OF(struct live *live, name, open_live, close_live)

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
    assert_int_equal(gt_membership_seed(&live->membership, &(struct gt_seed){.pid = pid}, 1, NULL), 0);
    close(gate[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(gt_membership_update(&live->membership, live->events, NULL), 0);
        if (!live->membership.counts.processes)
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

TEST_WITH(a_thousand_children_and_grandchildren_are_counted, open_live, close_live)
{
    SKIP_UNDER_VALGRIND();
    struct live *live = *state;
    open_or_skip(live, FORKS);
    run_job(live, fork_a_thousand);
    struct gt_membership_counts counts = live->membership.counts;
    assert_int_equal(counts.started, 1001);
    assert_int_equal(counts.processes, 0);
    assert_int_equal(counts.threads, 0);
    assert_int_equal(counts.tasks_ended, 1001);
    assert_in_range(counts.processes_peak, 3, 4); /* wait returns a moment before the end of a child is told */
    assert_false(counts.has_lost_forks);
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

TEST_OF_LIVE(threads_and_their_peak_are_counted)
{
    open_or_skip(live, FORKS);
    run_job(live, run_ten_threads);
    struct gt_membership_counts counts = live->membership.counts;
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

TEST_OF_LIVE(execve_in_a_thread_is_followed)
{
    open_or_skip(live, FORKS);
    for (int i = 0; i < 20; i++) {
        uint64_t before = live->membership.counts.started;
        run_job(live, execute_in_a_thread);
        struct gt_membership_counts counts = live->membership.counts;
        assert_int_equal(counts.processes, 0);
        assert_int_equal(counts.threads, 0);
        assert_in_range(counts.started - before, 2, 3); /* the shell may execute its last command itself */
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

TEST_OF_LIVE(daemons_stay_members)
{
    open_or_skip(live, FORKS);
    run_job(live, detach_twice);
    assert_int_equal(live->membership.counts.started, 4);
    assert_int_equal(live->membership.counts.processes, 0);
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
        pthread_t thread[3];
        for (int k = 0; k < 3; k++)
            pthread_create(&thread[k], NULL, burn, NULL);
        for (int k = 0; k < 3; k++)
            pthread_join(thread[k], NULL);
    }
    tell_truth();
}

TEST_WITH(cpu_time_of_short_threads_adds_up, open_live, close_live)
{
    SKIP_UNDER_VALGRIND();
    struct live *live = *state;
    open_or_skip(live, FORKS | RECORDS);
    *truth = 0;
    pid_t pid = run_job(live, burn_in_threads);
    gt_membership_update(&live->membership, live->events, NULL);
    struct gt_membership_counts counts = live->membership.counts;
    const struct gt_member *member = gt_membership_find(&live->membership, pid);
    assert_non_null(member);
    double told = (double)member->record.cpu_ns;
    print_message("clocks %.3f ms, records %+.2f %%\n", (double)*truth / 1e6, 100 * (told / (double)*truth - 1));
    assert_int_equal(counts.records, counts.tasks_ended);
    assert_int_equal(counts.records, 1 + 50 * 3);
    assert_true(told >= (double)*truth && told <= (double)*truth * 1.03);
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

TEST_OF_LIVE(the_number_of_an_ended_member_may_be_used_by_a_stranger)
{
    open_or_skip(live, FORKS);
    pid_t pid = run_job(live, nothing);
    if (fork_as(pid) != pid) {
        print_message("skipped: no right to choose a process number\n");
        skip();
    }
    gt_membership_update(&live->membership, live->events, NULL);
    assert_int_equal(live->membership.counts.started, 1);
    assert_int_equal(live->membership.counts.tasks_ended, 1);
    assert_int_equal(live->membership.counts.processes, 0);
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

ALL_TESTS(open_machine, close_machine);
