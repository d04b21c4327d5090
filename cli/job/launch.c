#include "job/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/file.h"
#include "gpu_tracker.h"
#include "message.h"
#include "schema/unit.h"

/* 0 when `path` can be executed, else the errno that says why not. */
static int executable(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    int code = -gt_access(AT_FDCWD, path, X_OK);
    if (code)
        return code;
    return S_ISREG(status.st_mode) ? 0 : EACCES;
}

/* Looks through PATH as execvp does: a file that is there but not executable counts only when no other is. */
static int search(const char *program, char name[PATH_MAX])
{
    const char *path = getenv("PATH");
    int found = ENOENT;
    if (!path)
        path = "/bin:/usr/bin";
    for (;;) {
        size_t length = strcspn(path, ":");
        int size = snprintf(name, PATH_MAX, "%.*s%s%s", (int)length, path, length ? "/" : "", program);
        int status = size < PATH_MAX ? executable(name) : ENAMETOOLONG;
        if (status == 0)
            return 0;
        if (status == EACCES)
            found = EACCES;
        if (!path[length])
            return found;
        path += length + 1;
    }
}

/* Why people expect that there is such a program; "": not known. */
static const char *hint_for(const char *program)
{
    static const char *const of_shells[] = {"cd",   "export", "source", ".",    "alias", "ulimit", "set",   "eval",
                                            "exec", "wait",   "umask",  "time", "if",    "for",    "while", "module"};
    double factor;
    if (gt_unit_time(program, &factor, NULL) >= 0)
        return ": a number and its unit are one word, as in --sleep-time 100ms";
    if (strchr(program, ' '))
        return ": the command and its arguments are words of their own, without quotes around them";
    for (size_t i = 0; i < sizeof of_shells / sizeof *of_shells; i++)
        if (strcmp(program, of_shells[i]) == 0)
            return ": it is a word of the shell (sh -c '...' is a command)";
    return "";
}

/* "NAME=VALUE", which a shell would take for a variable of the command after it. */
static bool is_assignment(const char *word)
{
    size_t length = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    return length > 0 && word[length] == '=';
}

int launch_check(const char *program, char *path)
{
    snprintf(path, PATH_MAX, "%s", program);
    int status = !*program ? ENOENT : strchr(program, '/') ? executable(program) : search(program, path);
    if (!status)
        return 0;
    if (status == ENOENT && is_assignment(program))
        say("'%s': command not found: did you mean env %s ...?", program, program);
    else if (status == ENOENT)
        say("'%s': command not found%s", program, hint_for(program));
    else
        say("'%s': cannot execute: %s", program, strerror(status));
    return status == ENOENT || status == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Never returns. A gate that closes unopened means that gpu-tracker is gone. */
_Noreturn static void become(char *const *words, int gate, int result, const struct signals *signals)
{
    char go;
    ssize_t length;
    while ((length = read(gate, &go, 1)) < 0 && errno == EINTR)
        continue;
    if (length != 1)
        _exit(EXIT_TRACKER);
    signals_restore(signals);
    execvp(words[0], words);
    int code = errno;
    if (write(result, &code, sizeof code) < 0)
        code = 0;
    _exit(code == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

int launch_fork(struct launch *launch, char *const *words, const struct signals *signals, const struct gt_group *group)
{
    int gate[2] = {-1, -1}, result[2] = {-1, -1};
    *launch = (struct launch){-1, -1, -1};
    if (pipe2(gate, O_CLOEXEC) == 0 && pipe2(result, O_CLOEXEC) == 0)
        launch->pid = gt_group_fork(group);
    if (launch->pid == 0) {
        close(gate[1]);
        gt_group_enter(group); /* outside it the job runs as well */
        become(words, gate[0], result[1], signals);
    }
    int code = launch->pid < 0 ? errno : 0;
    close(gate[0]);
    close(result[1]);
    if (code) {
        close(gate[1]);
        close(result[0]);
        return -code;
    }
    launch->gate = gate[1];
    launch->result = result[0];
    return 0;
}

int launch_release(struct launch *launch)
{
    int code = 0;
    ssize_t length = write(launch->gate, "", 1);
    close(launch->gate);
    if (length == 1)
        while ((length = read(launch->result, &code, sizeof code)) < 0 && errno == EINTR)
            continue;
    close(launch->result);
    launch->gate = launch->result = -1;
    return code;
}

void launch_cancel(struct launch *launch)
{
    close(launch->gate);
    close(launch->result);
    while (waitpid(launch->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

bool privilege_is_raised(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* Inheritable capabilities were the user's before, and the program that is executed may count on them. */
static int clear_capabilities(bool executes)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (syscall(SYS_capget, &header, data) < 0)
        return -errno;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        data[i].effective = data[i].permitted = 0;
        data[i].inheritable = executes ? data[i].inheritable : 0;
    }
    return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* The bounding set can be emptied only with CAP_SETPCAP; where that is missing no_new_privs has the same effect. */
static int drop(bool executes)
{
    for (int number = 0; !executes && prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++)
        prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
    if (setresgid(getgid(), getgid(), getgid()) < 0 || setresuid(getuid(), getuid(), getuid()) < 0)
        return -errno;
    int status = clear_capabilities(executes);
    if (status < 0)
        return status;
    if (!executes && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return 0;
}

int privilege_drop(bool follows_processes, bool executes)
{
    if (!gt_privileged_open(follows_processes))
        return 0;
    int status = drop(executes);
    if (status == 0)
        return 0;
    return say_trouble("the privileges of this program cannot be given up: %s", strerror(-status));
}

void privilege_seal(void)
{
    if (privilege_is_raised())
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

bool signal_asks_for_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

bool signal_stops(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

bool signal_was_sent(const siginfo_t *signal)
{
    return signal->si_code == SI_USER || signal->si_code == SI_QUEUE || signal->si_code == SI_TKILL;
}

static void take(struct signals *signals, const sigset_t *set)
{
    struct sigaction ordinary = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &ordinary, &signals->original_child);
    sigprocmask(SIG_BLOCK, set, &signals->original);
    signals->fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
}

void signals_take_all(struct signals *signals)
{
    /* A fault of this program is its own. */
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&set, own[i]);
    take(signals, &set);
}

void signals_take_ending(struct signals *signals)
{
    sigset_t set;
    sigemptyset(&set);
    for (int number = 1; number < SIGRTMIN; number++)
        if (signal_asks_for_end(number))
            sigaddset(&set, number);
    take(signals, &set);
}

void signals_restore(const struct signals *signals)
{
    sigaction(SIGCHLD, &signals->original_child, NULL);
    sigprocmask(SIG_SETMASK, &signals->original, NULL);
}

bool signals_next(const struct signals *signals, siginfo_t *ret)
{
    struct signalfd_siginfo came;
    if (read(signals->fd, &came, sizeof came) != (ssize_t)sizeof came)
        return false;
    *ret = (siginfo_t){.si_signo = (int)came.ssi_signo, .si_code = came.ssi_code};
    ret->si_pid = (pid_t)came.ssi_pid;
    return true;
}

void signals_close(struct signals *signals)
{
    if (signals->fd >= 0)
        close(signals->fd);
    signals->fd = -1;
}

void signal_stop_self(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* here the process stops */
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* One heap for all threads, and larger blocks straight from the kernel, which gives a page when it is first touched. Where the C library
 * cannot be told (musl), it does the latter by itself. */
void heap_keep_small(void)
{
#ifdef M_ARENA_MAX
    enum { PAGES = 16384 };
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, PAGES);
#endif
}
