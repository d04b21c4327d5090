#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include "collect/process/process.h"
#include "gpu_tracker.h"
#include "support/folder.h"
#include "support/test.h"

/* The running machine's root, as far as the library knows, with a /proc of our making. */
static struct gt_root made_up(const char *number, const char *status)
{
    char self[100];
    struct gt_root root = {.fd = open(test_folder, O_PATH | O_DIRECTORY | O_CLOEXEC), .is_machine = true};
    snprintf(self, sizeof self, "%s/proc/self", test_folder);
    snprintf(root.path, sizeof root.path, "proc/%s/status", number);
    folder_put(test_folder, root.path, status);
    root.path[0] = '\0';
    folder_put(test_folder, "proc/stat", "cpu 1 1 1 1\n");
    unlink(self);
    assert_int_equal(symlink(number, self), 0);
    return root;
}

static int verdict(const char *number, const char *status)
{
    struct gt_root root = made_up(number, status);
    int ret = gt_pid_namespace_check(&root, NULL);
    gt_root_close(&root);
    return ret;
}

TEST_WITH(a_second_number_tells_of_another_namespace, folder_make, folder_remove)
{
    char own[16], other[16], status[100];
    snprintf(own, sizeof own, "%d", (int)getpid());
    snprintf(other, sizeof other, "%d", (int)getpid() + 1);
    snprintf(status, sizeof status, "Name:\tx\nNSpid:\t%s\nNSpgid:\t1\t2\n", own);
    assert_int_equal(verdict(own, status), 0);
    snprintf(status, sizeof status, "Name:\tx\nNSpid:\t%s\t%s\nNSpgid:\t1\n", own, own);
    assert_int_equal(verdict(own, status), -ENOTSUP);
    snprintf(status, sizeof status, "Name:\tx\nNSpid:\t%s\nNSpgid:\t1\n", other);
    assert_int_equal(verdict(other, status), -ENOTSUP);
    assert_int_equal(verdict(own, "Name:\tx\n"), 0); /* an old kernel */
    assert_int_equal(verdict(other, "Name:\tx\n"), -ENOTSUP);
}

TEST_WITH(a_stored_machine_is_never_foreign, folder_make, folder_remove)
{
    struct gt_root root = made_up("1", "NSpid:\t1\t2\n");
    root.is_machine = false;
    assert_int_equal(gt_pid_namespace_check(&root, NULL), 0);
    gt_root_close(&root);
}

TEST(this_machine_is_its_own)
{
    struct gt_root root;
    struct gt_error error = {0};
    assert_int_equal(gt_root_open(&root, NULL, &error), 0);
    assert_int_equal(gt_pid_namespace_check(&root, &error), 0);
    gt_root_close(&root);
}

/* In a child: what gt_tracker_open says in a namespace that has no /proc of its own. */
static int tried_inside(bool forks)
{
    struct gt_tracker *tracker = NULL;
    struct gt_error error = {0};
    int wait_status = 0;
    if (unshare(CLONE_NEWPID) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
        return 77;
    pid_t child = forks ? fork() : 0;
    if (child)
        return waitpid(child, &wait_status, 0) == child ? WEXITSTATUS(wait_status) : 1;
    int status = gt_tracker_open(&tracker, 0, NULL, &error);
    _exit(status == -ENOTSUP && !tracker && strstr(error.text, "unshare -pf --mount-proc") ? 0 : 1);
}

static void trackers_are_refused(bool forks)
{
    int wait_status;
    pid_t child = fork();
    if (child == 0)
        _exit(tried_inside(forks));
    assert_int_equal(waitpid(child, &wait_status, 0), child);
    assert_true(WIFEXITED(wait_status));
    if (WEXITSTATUS(wait_status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(wait_status), 0);
}

TEST(trackers_are_refused_in_a_namespace_without_its_proc)
{
    trackers_are_refused(true);
}

TEST(trackers_are_refused_where_children_go_elsewhere)
{
    trackers_are_refused(false);
}
