#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/os/clock.h"
#include "collect/process/process.h"
#include "support/fake_proc.h"
#include "support/test.h"

/* A child that sleeps, and at each byte writes memory and begins a thread that stays. */
struct sleeper {
    pid_t pid;
    int ask, answer;
};

enum { BYTES = 4 << 20, FAULTS = BYTES / 65536 }; /* whatever the size of a page */

static void *stay(void *nothing)
{
    pause();
    return nothing;
}

static void serve(int asked, int answer)
{
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(asked, &byte, 1) == 1) {
        pthread_t thread;
        char *memory = malloc(BYTES);
        if (!memory || pthread_create(&thread, NULL, stay, NULL))
            _exit(1);
        memset(memory, 1, BYTES);
        if (write(answer, memory, 1) != 1)
            _exit(1);
    }
    _exit(0);
}

static int begin(void **state)
{
    static struct sleeper sleeper;
    int asks[2], answers[2];
    if (pipe(asks) || pipe(answers) || (sleeper.pid = fork()) < 0)
        return -1;
    if (!sleeper.pid)
        serve(asks[0], answers[1]);
    close(asks[0]);
    close(answers[1]);
    sleeper.ask = asks[1];
    sleeper.answer = answers[0];
    *state = &sleeper;
    return 0;
}

static int end(void **state)
{
    struct sleeper *sleeper = *state;
    kill(sleeper->pid, SIGKILL);
    waitpid(sleeper->pid, NULL, 0);
    close(sleeper->ask);
    close(sleeper->answer);
    return 0;
}

#define TEST_OF_SLEEPER(name) TEST_OF(struct sleeper *sleeper, name, begin, end)

/* It blocks soon after its last instruction for us: from then on it is idle. */
static bool falls_asleep(struct gt_process *process, const struct gt_root *root)
{
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(gt_process_read_slowly(process), 0);
        usleep(10000);
        assert_int_equal(gt_process_read(process, root), 0);
        if (gt_process_was_idle(process))
            return true;
    }
    return false;
}

TEST_OF_SLEEPER(what_sleeps_is_idle_until_it_runs)
{
    struct gt_root root;
    struct gt_process *process;
    char byte = 0;
    assert_int_equal(gt_root_open(&root, NULL, NULL), 0);
    assert_int_equal(gt_process_open(&process, &root, sleeper->pid), 0);
    assert_false(gt_process_was_idle(process));
    assert_int_equal(gt_process_read(process, &root), 0);
    assert_true(falls_asleep(process, &root));
    double faults = process->value[GT_MINOR_FAULTS], threads = process->value[GT_THREADS];
    assert_close(threads, 1, 0);

    assert_int_equal(write(sleeper->ask, &byte, 1), 1);
    assert_int_equal(read(sleeper->answer, &byte, 1), 1);
    assert_int_equal(gt_process_read(process, &root), 0);
    assert_false(gt_process_was_idle(process));
    assert_close(process->value[GT_THREADS], 2, 0);
    assert_true(falls_asleep(process, &root));
    assert_true(process->value[GT_MINOR_FAULTS] >= faults + FAULTS);
    assert_close(process->value[GT_THREADS], 2, 0);
    gt_process_close(process);
    gt_root_close(&root);
}

/* What another takes away does not need the process to run. */
TEST_OF_SLEEPER(a_resident_set_that_shrinks_is_no_idleness)
{
    struct gt_root root;
    struct gt_process *process;
    assert_int_equal(gt_root_open(&root, NULL, NULL), 0);
    assert_int_equal(gt_process_open(&process, &root, sleeper->pid), 0);
    assert_int_equal(gt_process_read(process, &root), 0);
    assert_true(falls_asleep(process, &root));
    process->value[GT_RSS] -= 4096;
    assert_false(gt_process_was_idle(process));
    gt_process_close(process);
    gt_root_close(&root);
}

TEST_OF_SLEEPER(children_are_of_interest_again_once_the_process_has_run)
{
    struct gt_root root;
    struct gt_process *process;
    pid_t pids[4];
    char byte = 0;
    assert_int_equal(gt_root_open(&root, NULL, NULL), 0);
    assert_int_equal(gt_process_open(&process, &root, sleeper->pid), 0);
    assert_int_equal(gt_process_read(process, &root), 0);
    assert_true(falls_asleep(process, &root));
    assert_true(gt_process_may_have_forked(process));
    assert_int_equal(gt_process_children(process, false, pids, 0, 4), 0);
    assert_true(gt_process_may_have_forked(process)); /* another thread may have */
    assert_int_equal(gt_process_children(process, true, pids, 0, 4), 0);
    assert_false(gt_process_may_have_forked(process));

    assert_int_equal(write(sleeper->ask, &byte, 1), 1);
    assert_int_equal(read(sleeper->answer, &byte, 1), 1);
    assert_int_equal(gt_process_read(process, &root), 0);
    assert_true(gt_process_may_have_forked(process));
    gt_process_close(process);
    gt_root_close(&root);
}

/* Two threads of this process: one starts programs as posix_spawn does, the other looks at what it starts all the time. */
enum { LAUNCHES = FEWER(200, 40) };

static pid_t launched;

static void *launch(void *nothing)
{
    (void)nothing;
    for (int i = 0; i < LAUNCHES; i++) {
        pid_t pid = vfork();
        if (!pid) {
            __atomic_store_n(&launched, getpid(), __ATOMIC_RELEASE);
            usleep(2000);
            execl("/bin/sleep", "sleep", "60", NULL);
            _exit(1);
        }
        while (__atomic_load_n(&launched, __ATOMIC_ACQUIRE))
            usleep(100);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    return NULL;
}

/* False: it was taken for a worker that has memory of its own without having executed a program. */
static bool is_followed(pid_t pid, const struct gt_process *self, const struct gt_root *root)
{
    struct gt_process *process;
    assert_int_equal(gt_process_open(&process, root, pid), 0);
    process->met_ns = gt_clock_monotonic(&gt_clock_system) - GT_SECOND;
    while (process->is_forked && !process->is_worker)
        gt_process_look_at_fork(process, self, root, gt_clock_monotonic(&gt_clock_system));
    bool is_right = !process->is_worker;
    gt_process_close(process);
    return is_right;
}

TEST(a_program_that_is_just_executed_is_no_worker)
{
    struct gt_root root;
    struct gt_process *self;
    pthread_t thread;
    int wrong = 0;
    assert_int_equal(gt_root_open(&root, NULL, NULL), 0);
    assert_int_equal(gt_process_open(&self, &root, getpid()), 0);
    assert_int_equal(pthread_create(&thread, NULL, launch, NULL), 0);
    for (int i = 0; i < LAUNCHES; i++) {
        pid_t pid;
        while (!(pid = __atomic_load_n(&launched, __ATOMIC_ACQUIRE)))
            usleep(50);
        wrong += !is_followed(pid, self, &root);
        __atomic_store_n(&launched, 0, __ATOMIC_RELEASE);
    }
    pthread_join(thread, NULL);
    assert_int_equal(wrong, 0);
    gt_process_close(self);
    gt_root_close(&root);
}

/* It executes a program between the reading of its memory and that of its state. */
TEST(memory_read_before_the_program_is_read_again)
{
    char folder[64];
    struct gt_root root;
    struct gt_process *process;
    struct fake_process job = {
        .pid = 100, .parent = 1, .session = 100, .start = 7, .resident_pages = 9000, .forked = 1};
    fake_proc_create(folder, &root);
    fake_proc_write(folder, &job);
    assert_int_equal(gt_process_open(&process, &root, 100), 0);
    assert_int_equal(gt_process_read(process, &root), 0);
    double page = (double)sysconf(_SC_PAGESIZE);
    assert_close(process->value[GT_RAM_PEAK], 9000 * page, 0);
    job.forked = 0;
    job.resident_pages = 40;
    job.peak_kib = 1;
    fake_proc_write(folder, &job);
    gt_process_read_slowly(process);
    assert_close(process->value[GT_RSS], 40 * page, 0);
    assert_close(process->value[GT_RAM_PEAK], 40 * page, 0);
    gt_process_close(process);
    fake_proc_destroy(folder, &root);
}
