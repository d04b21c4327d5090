/* block NAME -- COMMAND: a command as a code block of the surrounding run. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_tracker.h"
#include "launch.h"
#include "message.h"
#include "privilege.h"
#include "option.h"

static volatile pid_t child;

static void forward(int signal_number)
{
    if (child > 0)
        kill(child, signal_number);
}

/* The terminal sends its signals to the command as well; others are passed on. */
static void take_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = forward, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    sigaction(SIGTERM, &pass, NULL);
    sigaction(SIGHUP, &pass, NULL);
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static int start(char **words)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* none may come between the fork and its being known */
    child = gt_group_fork(NULL);
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(words[0], words);
        _exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
    }
    if (child < 0) {
        say("cannot start '%s': %s", words[0], strerror(errno));
        return EXIT_TRACKER;
    }
    take_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    return 0;
}

static int run(const struct options *options, int count, char **operands)
{
    char **words = operands + 1;
    if (count > 1 && strcmp(words[0], "--") == 0)
        words++;
    if (!words[0])
        return say_usage("block: the command is missing (see gpu-tracker block --help)");
    char path[PATH_MAX];
    int status = launch_check(words[0], path);
    if (status)
        return status;
    const char *folder = getenv(GT_BLOCKS_ENVIRONMENT);
    bool is_inside = folder && *folder, marks = is_inside && !privilege_is_raised();
    if (is_inside && !marks)
        say("block '%s' is not marked: a program with privileges of its own (setuid, setcap) reads no environment of ours",
            operands[0]);
    if (!is_inside)
        say("no surrounding 'gpu-tracker run --blocks': block '%s' is not marked", operands[0]);
    struct gt_block block = {0};
    if (marks)
        block = gt_block_begin_of(operands[0], (uint64_t)options->total);
    if (gt_block_trouble())
        say("block '%s' is not marked: %s", operands[0], gt_block_trouble());
    status = start(words);
    if (status)
        return status;
    int wait_status = 0;
    struct rusage usage = {0};
    while (wait4(child, &wait_status, 0, &usage) < 0 && errno == EINTR)
        continue;
    gt_block_end_with_children(&block, seconds(usage.ru_utime) + seconds(usage.ru_stime));
    return WIFSIGNALED(wait_status) ? EXIT_SIGNAL + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

const struct command command_block = {
    .name = "block",
    .synopsis = "NAME -- COMMAND [ARGUMENT...]",
    .summary = "Run a command as a named code block of the surrounding run",
    .description =
        "Inside gpu-tracker run --blocks it records the start and the end of the command under NAME. Elsewhere it only runs the command.\n\n"
        "The exit status is that of the command.",
    .operand = OPERAND_PROGRAM,
    .least = 2,
    .most = -1,
    .run = run,
};
