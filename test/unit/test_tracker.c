/* What the caller of a tracker may do, and what it is told. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "gpu_tracker.h"
#include "support/test.h"

struct listener {
    struct gt_tracker *tracker;
    enum { ASKS, STOPS, FINISHES, CLOSES } what;
    atomic_int heard;
    double ram;
};

/* Whatever it calls, it must not wait for a lock that its own call holds. */
static void listen_to(void *context, const char *sentence)
{
    struct listener *listener = context;
    struct gt_report *report = NULL;
    if (!strstr(sentence, "run.csv"))
        return;
    listener->ram = gt_tracker_value(listener->tracker, GT_SCOPE_MAIN, gt_metric_find("ram"));
    gt_tracker_processes(listener->tracker, NULL, 0);
    if (listener->what == ASKS && gt_tracker_report(listener->tracker, &report, NULL) >= 0)
        gt_report_free(report);
    if (listener->what == STOPS)
        gt_tracker_stop(listener->tracker, NULL);
    if (listener->what == FINISHES)
        gt_tracker_finish(listener->tracker, NULL);
    if (listener->what == CLOSES)
        gt_tracker_close(listener->tracker);
    listener->heard++;
}

/* The folder around that of the recording is gone when the first sample is taken, which makes a sentence. */
static void open_tracker(struct listener *listener)
{
    char folder[] = "/tmp/gpu-tracker-test-XXXXXX", path[64];
    struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/folder/run.csv", folder);
    options.sleep_time = 0.01;
    options.tracking_file = path;
    options.warn = listen_to;
    options.context = listener;
    assert_int_equal(gt_tracker_open(&listener->tracker, getpid(), &options, NULL), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void wait_for(struct listener *listener)
{
    for (int i = 0; i < 2000 && !listener->heard; i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    assert_int_equal(listener->heard, 1);
    assert_true(listener->ram > 1e5);
}

TEST(test_a_callback_asks)
{
    struct listener listener = {.what = ASKS};
    open_tracker(&listener);
    assert_int_equal(gt_tracker_sample(listener.tracker, NULL), 1);
    assert_int_equal(listener.heard, 1);
    assert_int_equal(gt_tracker_sample(listener.tracker, NULL), 1);
    assert_int_equal(listener.heard, 1); /* once is enough */
    struct gt_error error = {0};
    assert_int_equal(gt_tracker_finish(listener.tracker, &error), -ENOENT);
    assert_non_null(strstr(error.text, "run.csv"));
    gt_tracker_close(listener.tracker);
}

TEST(test_a_callback_on_the_sampling_thread)
{
    for (int what = ASKS; what <= FINISHES; what++) {
        struct listener listener = {.what = what};
        open_tracker(&listener);
        assert_int_equal(gt_tracker_start(listener.tracker, NULL), 0);
        wait_for(&listener);
        gt_tracker_close(listener.tracker);
    }
}

TEST(test_a_callback_closes)
{
    struct listener listener = {.what = CLOSES};
    open_tracker(&listener);
    assert_int_equal(gt_tracker_sample(listener.tracker, NULL), -ECANCELED);
    assert_int_equal(listener.heard, 1);
    listener = (struct listener){.what = CLOSES};
    open_tracker(&listener);
    assert_int_equal(gt_tracker_start(listener.tracker, NULL), 0);
    wait_for(&listener);
}

TEST(test_a_thread_after_a_stop)
{
    struct listener listener = {.what = STOPS};
    open_tracker(&listener);
    assert_int_equal(gt_tracker_start(listener.tracker, NULL), 0);
    wait_for(&listener);
    assert_int_equal(gt_tracker_stop(listener.tracker, NULL), 0);
    assert_int_equal(gt_tracker_start(listener.tracker, NULL), 0);
    assert_int_equal(gt_tracker_stop(listener.tracker, NULL), 0);
    gt_tracker_close(listener.tracker);
}

/* A number is that of the process that has it now; one that has ended and was not waited for has nothing to follow. */
/* For this thread and those that it starts. */
static void forbid_waiting(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_create1, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ppoll, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        _exit(77);
}

static double cpu_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

TEST(test_a_thread_that_may_not_wait_for_several_sleeps)
{
    pid_t child = fork();
    if (!child) {
        struct gt_tracker_options options = GT_INIT(struct gt_tracker_options);
        struct gt_tracker *tracker = NULL;
        options.sleep_time = 30;
        forbid_waiting();
        if (gt_tracker_open(&tracker, getpid(), &options, NULL) < 0 || gt_tracker_start(tracker, NULL) < 0)
            _exit(2);
        double before = cpu_seconds();
        sleep(2);
        double used = cpu_seconds() - before;
        gt_tracker_close(tracker);
        _exit(used < 0.1 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(test_a_process_that_has_ended)
{
    struct gt_tracker *tracker = NULL;
    struct gt_error error = {0};
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(gt_tracker_open(&tracker, pid, NULL, &error), -ESRCH);
    assert_non_null(strstr(error.text, "has ended"));
    waitpid(pid, NULL, 0);
}

static int limit_time(void **state)
{
    (void)state;
    alarm(60); /* a lock that is never free */
    return 0;
}

ALL_TESTS(limit_time, NULL);
