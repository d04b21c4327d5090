/* Control groups, made on the running machine where that is allowed. */
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#include "collect/cgroup/cgroup.h"
#include "support/test.h"
#include "support/valgrind.h"

struct live {
    struct gt_root root;
    struct gt_cgroup *cgroup;
};

static int open_live(void **state)
{
    struct live *live = calloc(1, sizeof *live);
    struct gt_availability availability;
    char name[64];
    *state = live;
    snprintf(name, sizeof name, "gpu-tracker-test-%d", (int)getpid());
    if (gt_root_open(&live->root, NULL, NULL) ||
        gt_cgroup_create(&live->cgroup, &live->root, name, &availability, NULL))
        return -1;
    if (!live->cgroup)
        print_message("no control group: %s\n", availability.reason);
    return (availability.state == GT_READY) != (live->cgroup != NULL);
}

static int close_live(void **state)
{
    struct live *live = *state;
    int result = 0;
    for (int i = 0; live->cgroup && i < 1000 && (result = gt_cgroup_remove(live->cgroup, NULL)) == -EBUSY; i++)
        usleep(1000);
    gt_cgroup_close(live->cgroup);
    gt_root_close(&live->root);
    free(live);
    return result;
}

/* A child that enters the group as a launched job does, runs `work`, says so, and waits to be killed. */
static pid_t launch(const struct live *live, void (*work)(void))
{
    int told[2];
    char byte;
    int directory = gt_cgroup_directory(live->cgroup);
    struct clone_args arguments = {.flags = directory >= 0 ? CLONE_INTO_CGROUP : 0,
                                   .exit_signal = SIGCHLD,
                                   .cgroup = directory >= 0 ? (uint64_t)directory : 0};
    assert_int_equal(pipe(told), 0);
    pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
    if (pid == 0) {
        if (gt_cgroup_enter_self(live->cgroup))
            _exit(1);
        work();
        if (write(told[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(told[1]);
    assert_true(pid > 0);
    assert_int_equal(read(told[0], &byte, 1), 1);
    close(told[0]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* How many processes are in the group, and one of them. */
static int processes_in(struct live *live, pid_t *ret)
{
    const struct gt_cgroup_place *place = gt_cgroup_place(live->cgroup);
    char path[PATH_MAX], text[4096];
    int count = 0;
    for (int i = 0; i < GT_CGROUP_HIERARCHIES; i++) {
        snprintf(path, sizeof path, "%s/cgroup.procs", place->path[i]);
        if (!*place->path[i] || gt_root_read(&live->root, path, text, sizeof text) < 0)
            continue;
        for (char *at = text; *at; at += strcspn(at, "\n") + 1, count++)
            *ret = atoi(at);
        break;
    }
    return count;
}

/* Seconds that a living process has used, by its own clock. */
static double cpu_time_of(pid_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
        return NAN;
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void touch_and_burn(void)
{
    enum { SIZE = 100 << 20 };
    char *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    munmap(memory, SIZE);
    struct timespec time;
    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    } while (time.tv_sec == 0 && time.tv_nsec < 200000000);
}

TEST_WITH(the_group_tells_what_its_processes_use, open_live, close_live)
{
    SKIP_UNDER_VALGRIND();
    struct live *live = *state;
    double figure[GT_CGROUP_FIGURES];
    pid_t inside = 0;
    if (!live->cgroup)
        skip();
    gt_cgroup_read(live->cgroup, figure);
    assert_false(figure[GT_CGROUP_FIGURE_CPU] > 0);
    pid_t pid = launch(live, touch_and_burn);
    int count = processes_in(live, &inside);
    double cpu = cpu_time_of(pid);
    gt_cgroup_read(live->cgroup, figure);
    end(pid);
    assert_int_equal(count, 1);
    assert_int_equal(inside, pid);
    if (!isnan(figure[GT_CGROUP_FIGURE_MEMORY])) {
        double megabyte = 1 << 20;
        assert_true(figure[GT_CGROUP_FIGURE_MEMORY] < 20 * megabyte);
        assert_true(figure[GT_CGROUP_FIGURE_MEMORY_PEAK] >= 100 * megabyte);
        assert_true(figure[GT_CGROUP_FIGURE_MEMORY_PEAK] < 120 * megabyte);
    }
    if (!isnan(figure[GT_CGROUP_FIGURE_CPU]))
        assert_true(fabs(figure[GT_CGROUP_FIGURE_CPU] - cpu) < 0.01 * cpu);
}

static void nothing(void)
{
}

TEST_WITH(an_occupied_group_stays, open_live, close_live)
{
    SKIP_UNDER_VALGRIND();
    struct live *live = *state;
    struct gt_error error = {0};
    if (!live->cgroup)
        skip();
    pid_t pid = launch(live, nothing);
    int result = gt_cgroup_remove(live->cgroup, &error);
    pid_t inside;
    int count = processes_in(live, &inside);
    end(pid);
    assert_int_equal(result, -EBUSY);
    assert_int_equal(error.code, EBUSY);
    assert_int_equal(count, 1);
}

TEST_WITH(ended_processes_still_count, open_live, close_live)
{
    SKIP_UNDER_VALGRIND();
    struct live *live = *state;
    double figure[GT_CGROUP_FIGURES];
    if (!live->cgroup)
        skip();
    end(launch(live, touch_and_burn));
    gt_cgroup_read(live->cgroup, figure);
    if (!isnan(figure[GT_CGROUP_FIGURE_CPU]))
        assert_true(figure[GT_CGROUP_FIGURE_CPU] > 0.15);
    pid_t inside;
    assert_int_equal(processes_in(live, &inside), 0);
}

/* What a killed tracker left behind under the same number does not count. */
TEST_WITH(a_left_over_group_is_replaced, open_live, close_live)
{
    SKIP_UNDER_VALGRIND();
    struct live *live = *state;
    struct gt_cgroup *again;
    struct gt_availability availability;
    double figure[GT_CGROUP_FIGURES];
    char name[64];
    if (!live->cgroup)
        skip();
    end(launch(live, touch_and_burn));
    snprintf(name, sizeof name, "gpu-tracker-test-%d", (int)getpid());
    int result = -1;
    for (int i = 0; i < 1000 && result; i++) { /* an ended process may occupy its group for some microseconds */
        assert_int_equal(gt_cgroup_create(&again, &live->root, name, &availability, NULL), 0);
        result = again ? 0 : -1;
    }
    assert_non_null(again);
    gt_cgroup_read(again, figure);
    assert_false(figure[GT_CGROUP_FIGURE_CPU] > 0);
    assert_false(figure[GT_CGROUP_FIGURE_MEMORY_PEAK] > 0);
    assert_int_equal(gt_cgroup_remove(again, NULL), 0);
    gt_cgroup_close(again);
}

static void write_file(const char *directory, const char *name, const char *text)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file))
        _exit(3);
}

/* In a group that is its own and marked as systemd does: memory is told, and everything is as before at the end. */
static void measure_in_delegated_group(const char *group)
{
    struct live live = {0};
    struct gt_availability availability;
    double figure[GT_CGROUP_FIGURES];
    char path[1200], text[128] = "";
    snprintf(text, sizeof text, "%d", (int)getpid());
    write_file(group, "cgroup.procs", text);
    if (gt_root_open(&live.root, NULL, NULL) || gt_cgroup_create(&live.cgroup, &live.root, "job", &availability, NULL))
        _exit(4);
    pid_t pid = launch(&live, touch_and_burn);
    gt_cgroup_read(live.cgroup, figure);
    end(pid);
    if (!(figure[GT_CGROUP_FIGURE_MEMORY] < 20 << 20) || !(figure[GT_CGROUP_FIGURE_CPU] > 0.15) ||
        figure[GT_CGROUP_FIGURE_MEMORY_PEAK] < 100 << 20)
        _exit(5);
    for (int i = 0; i < 1000 && gt_cgroup_remove(live.cgroup, NULL) < 0; i++)
        usleep(1000);
    gt_cgroup_close(live.cgroup);
    snprintf(path, sizeof path, "%s/cgroup.subtree_control", group + 1);
    if (gt_root_read(&live.root, path, text, sizeof text) < 0 || strcmp(text, "\n") > 0)
        _exit(6);
    snprintf(path, sizeof path, "%s/cgroup.procs", group + 1);
    if (gt_root_read(&live.root, path, text, sizeof text) < 0 || atoi(text) != getpid())
        _exit(7);
    gt_root_close(&live.root);
    _exit(0);
}

TEST_WITH(a_delegated_group_gives_memory, open_live, close_live)
{
    SKIP_UNDER_VALGRIND();
    struct live *live = *state;
    struct gt_cgroup_place own;
    char group[GT_CGROUP_PATH + 64], path[GT_CGROUP_PATH + 128], text[256] = "";
    if (gt_cgroup_locate(&own, &live->root, getpid(), NULL) || *own.path[GT_CGROUP_MEMORY])
        skip();
    snprintf(group, sizeof group, "/%s/gpu-tracker-delegated-%d", own.path[GT_CGROUP_UNIFIED], (int)getpid());
    if (mkdir(group, 0755))
        skip();
    snprintf(path, sizeof path, "%s/cgroup.controllers", group + 1);
    int status = 0;
    bool possible = gt_root_read(&live->root, path, text, sizeof text) > 0 && strstr(text, "memory") &&
                    setxattr(group, "user.delegate", "1", 1, 0) == 0;
    if (possible) {
        pid_t pid = fork();
        if (pid == 0)
            measure_in_delegated_group(group);
        waitpid(pid, &status, 0);
    } else {
        print_message("skipped: no memory controller below the present group\n");
    }
    for (int i = 0; i < 1000 && rmdir(group); i++)
        usleep(1000);
    assert_int_not_equal(access(group, F_OK), 0);
    assert_int_equal(status, 0);
    if (!possible)
        skip();
}

TEST(a_user_without_the_right_is_told_so)
{
    if (geteuid() != 0)
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        struct gt_root root;
        struct gt_cgroup *cgroup;
        struct gt_availability availability;
        if (setgid(65534) || setuid(65534) || gt_root_open(&root, NULL, NULL) ||
            gt_cgroup_create(&cgroup, &root, "gpu-tracker-test", &availability, NULL))
            _exit(2);
        bool right = !cgroup && availability.reason[0] &&
                     (availability.state == GT_DENIED) == (*availability.remedy != 0);
        gt_cgroup_close(cgroup);
        gt_root_close(&root);
        _exit(!right);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}
