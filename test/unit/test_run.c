/* gt_tracker_run: its ends, its hooks, and the children it waits for. */
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "gpu_tracker.h"
#include "support/test.h"

struct listener {
    int samples, last_sample; /* how many, and the status of the last */
    int reaped, main_status;
    pid_t main;
    int result; /* of ready and turn */
    int ready_fd, turns;
};

static void on_sample(void *context, int status, const struct gt_error *error)
{
    struct listener *listener = context;
    (void)error;
    listener->samples++;
    listener->last_sample = status;
}

static void on_reaped(void *context, pid_t pid, int wait_status)
{
    struct listener *listener = context;
    listener->reaped++;
    if (pid == listener->main)
        listener->main_status = wait_status;
}

static int on_ready(void *context, int fd)
{
    struct listener *listener = context;
    listener->ready_fd = fd;
    return listener->result;
}

static int on_turn(void *context, int64_t *wake_ns)
{
    struct listener *listener = context;
    *wake_ns = 0;
    return ++listener->turns < 4 ? 1 : listener->result;
}

static struct gt_run_options hooked(struct listener *listener)
{
    struct gt_run_options options = GT_INIT(struct gt_run_options);
    options.sampled = on_sample;
    options.reaped = on_reaped;
    options.context = listener;
    return options;
}

static void work(double seconds)
{
    clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end)
        continue;
}

/* A main process that leaves a child behind, which works on. Only what is read from `gate` lets it begin. */
static pid_t launch(int gate)
{
    char go;
    pid_t pid = fork();
    if (pid)
        return pid;
    if (read(gate, &go, 1) != 1)
        _exit(99);
    if (fork() == 0) {
        work(0.06);
        _exit(0);
    }
    work(0.03);
    _exit(3);
}

static double cpu_of_children(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* A program of the caller's own gets what the command line has: totals by wait4, also of what the main process left behind. */
TEST(test_children_are_waited_for)
{
    int gate[2];
    struct gt_tracker *tracker = NULL;
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    double before = cpu_of_children();
    options.sleep_time = 100;
    options.launched = 1;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(gate), 0);
    struct listener listener = {.main = launch(gate[0])};
    struct gt_run_options run = hooked(&listener);
    assert_int_equal(gt_tracker_open(&tracker, listener.main, &options, NULL), 0);
    assert_int_equal(write(gate[1], "", 1), 1);
    run.child = listener.main;
    run.until = GT_UNTIL_ALL_END;
    assert_int_equal(gt_tracker_run(tracker, &run, NULL), 1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(listener.reaped, 2);
    assert_int_equal(WEXITSTATUS(listener.main_status), 3);
    assert_int_equal(gt_tracker_finish(tracker, NULL), 0);
    double cpu = gt_tracker_value(tracker, GT_SCOPE_COMBINED, gt_metric_find("cpu_time"));
    assert_close(cpu, cpu_of_children() - before, 1e-2); /* but for what the child used until it was let go */
    gt_tracker_close(tracker);
    close(gate[0]);
    close(gate[1]);
}

TEST(test_a_child_is_waited_for_without_a_tracker)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(5);
    struct listener listener = {.main = pid};
    struct gt_run_options run = hooked(&listener);
    run.child = pid;
    assert_int_equal(gt_tracker_run(NULL, &run, NULL), 1);
    assert_int_equal(listener.samples, 0);
    assert_int_equal(WEXITSTATUS(listener.main_status), 5);
}

/* Of a process that somebody else waits for: its end is noticed at once, however far samples are apart. */
TEST(test_a_process_that_ends)
{
    struct gt_tracker *tracker = NULL;
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    struct listener listener = {.result = 0};
    struct gt_run_options run = hooked(&listener);
    options.sleep_time = 80000;
    for (int until = GT_UNTIL_MAIN_ENDS; until <= GT_UNTIL_ALL_END; until++) {
        pid_t pid = fork();
        if (pid == 0) {
            work(0.05);
            _exit(0);
        }
        run.until = until;
        assert_int_equal(gt_tracker_open(&tracker, pid, &options, NULL), 0);
        assert_int_equal(gt_tracker_run(tracker, &run, NULL), 1);
        assert_true(listener.samples >= 2);
        assert_int_equal(listener.last_sample, 0); /* nothing lives */
        gt_tracker_close(tracker);
        assert_int_equal(waitpid(pid, NULL, 0), pid); /* it was left to us */
    }
}

TEST(test_hooks_end_a_run)
{
    struct gt_tracker *tracker = NULL;
    struct listener listener = {.ready_fd = -1};
    struct gt_run_options run = hooked(&listener);
    const int fds[] = {-1, eventfd(1, 0)};
    assert_int_equal(gt_tracker_open(&tracker, 0, NULL, NULL), 0);
    run.until = GT_UNTIL_TOLD;
    run.turn = on_turn;
    assert_int_equal(gt_tracker_run(tracker, &run, NULL), 0);
    assert_int_equal(listener.turns, 4);
    run.fds = fds;
    run.fd_count = 2;
    run.ready = on_ready;
    listener.turns = 0;
    listener.result = -EPERM;
    assert_int_equal(gt_tracker_run(tracker, &run, NULL), -EPERM);
    assert_int_equal(listener.ready_fd, fds[1]);
    assert_int_equal(listener.turns, 1);
    assert_int_equal(listener.last_sample, 1);
    close(fds[1]);
    gt_tracker_close(tracker);
}

static void close_it(void *context, int status, const struct gt_error *error)
{
    (void)status;
    (void)error;
    gt_tracker_close(*(struct gt_tracker **)context);
}

static void finish_it(void *context, int status, const struct gt_error *error)
{
    (void)status;
    (void)error;
    assert_int_equal(gt_tracker_finish(*(struct gt_tracker **)context, NULL), 0);
}

TEST(test_hooks_close_and_finish)
{
    struct gt_tracker *tracker = NULL;
    struct gt_run_options run = GT_INIT(struct gt_run_options);
    run.until = GT_UNTIL_ALL_END;
    run.context = &tracker;
    assert_int_equal(gt_tracker_open(&tracker, 0, NULL, NULL), 0);
    run.sampled = finish_it;
    assert_int_equal(gt_tracker_run(tracker, &run, NULL), 0);
    gt_tracker_close(tracker);
    assert_int_equal(gt_tracker_open(&tracker, 0, NULL, NULL), 0);
    run.sampled = close_it;
    assert_int_equal(gt_tracker_run(tracker, &run, NULL), -ECANCELED);
}

TEST(test_runs_that_cannot_be)
{
    struct gt_error error = {0};
    struct gt_run_options run = GT_INIT(struct gt_run_options);
    assert_int_equal(gt_tracker_run(NULL, &run, &error), -EINVAL);
    assert_string_equal(error.text, "a run without a tracker and without a child has no end");
    error = (struct gt_error){0};
    run.child = getpid();
    run.fd_count = GT_RUN_FDS + 1;
    assert_int_equal(gt_tracker_run(NULL, &run, &error), -EINVAL);
    assert_string_equal(error.text, "a run takes at most 8 descriptors");
}

static int limit_time(void **state)
{
    (void)state;
    alarm(60); /* a run without an end */
    return 0;
}

ALL_TESTS(limit_time, NULL);
