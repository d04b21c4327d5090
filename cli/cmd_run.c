/* run, attach, a command of one string (--execute), and block. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_tracker.h"
#include "job/launch.h"
#include "message.h"
#include "option.h"
#include "job/track.h"

static int run(const struct options *options, int count, char **operands)
{
    (void)count;
    return track_command(options, operands, false);
}

const struct command command_run = {
    .name = "run",
    .synopsis = "-- COMMAND [ARGUMENT...]",
    .summary = "Run a command and report what it used",
    .description =
        "The words after -- are the command and its arguments. No quotes are needed. Standard output belongs to the command. At the end a summary of at most 25 lines is printed to standard error. The whole report is written to the file of --output or, with --format, to standard error.\n\n"
        "The exit status is that of the command.",
    .operand = OPERAND_PROGRAM,
    .least = 1,
    .most = -1,
    .run = run,
};

static int attach(const struct options *options, int count, char **operands)
{
    (void)count;
    pid_t pid;
    if (!option_pid(operands[0], &pid))
        return say_usage("'%s' is not a process number (gpu-tracker run -- %s ... tracks a program; see gpu-tracker "
                         "attach --help)",
                         operands[0], operands[0]);
    return track_process(options, pid);
}

const struct command command_attach = {
    .name = "attach",
    .synopsis = "PID",
    .summary = "Track a running process until it ends or until Ctrl-C",
    .description =
        "Tracks the process and its descendants from now on. Ctrl-C, SIGTERM, SIGHUP and SIGQUIT end the tracking, not the process. The summary is printed to standard error.\n\n"
        "The exit status is 0. Only the parent of a process learns how it ended.",
    .operand = OPERAND_PROCESS,
    .least = 1,
    .most = 1,
    .run = attach,
};

/* ---- words of a command line ----
 * A command line in one string, split as a shell would: blanks separate; '...' and "..." quote; \ escapes; nothing is
 * expanded and no shell is started. POSIX.1-2017 Shell Command Language, 2.2 Quoting. */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Copy a quoted part, quotes taken away; `text` is after the opening quote. Returns what follows the closing one. */
static const char *take_single(const char *text, char **out)
{
    while (*text && *text != '\'')
        *(*out)++ = *text++;
    return *text ? text + 1 : NULL;
}

/* Inside double quotes a backslash is itself unless it is before one of these. */
static const char *take_double(const char *text, char **out)
{
    while (*text && *text != '"') {
        if (*text == '\\' && text[1] == '\n') {
            text += 2;
            continue;
        }
        if (*text == '\\' && text[1] && strchr("$`\"\\", text[1]))
            text++;
        *(*out)++ = *text++;
    }
    return *text ? text + 1 : NULL;
}

/* One word from `text` into `out`; returns the rest, or NULL after setting *complaint. */
static const char *take_word(const char *text, char *out, const char **complaint)
{
    while (text && *text && !is_blank(*text)) {
        if (*text == '\'') {
            text = take_single(text + 1, &out);
            *complaint = "a single quote is not closed";
        } else if (*text == '"') {
            text = take_double(text + 1, &out);
            *complaint = "a double quote is not closed";
        } else if (*text == '\\' && !text[1]) {
            text = NULL;
            *complaint = "a backslash at the end escapes nothing";
        } else if (*text == '\\' && text[1] == '\n') {
            text += 2;
        } else {
            text += *text == '\\';
            *out++ = *text++;
        }
    }
    *out = '\0';
    return text;
}

static const char *skip_blanks(const char *text)
{
    while (is_blank(*text) || (*text == '\\' && text[1] == '\n'))
        text += *text == '\\' ? 2 : 1;
    return text;
}

static void words_free(char **words)
{
    if (!words)
        return;
    free(words[0]);
    free(words);
}

/* One block holds every word: no word is longer than its text, and each ends where at least a blank was. */
static char **words_split(const char *text, const char **complaint)
{
    size_t length = strlen(text);
    char **words = calloc(length / 2 + 2, sizeof *words);
    char *storage = malloc(length + 1);
    size_t count = 0;
    char *out = storage;
    *complaint = "out of memory";
    if (!words || !storage)
        goto fail;
    for (text = skip_blanks(text); *text; text = skip_blanks(text)) {
        text = take_word(text, out, complaint);
        if (!text)
            goto fail;
        words[count++] = out;
        out += strlen(out) + 1;
    }
    *complaint = "it is empty";
    if (count)
        return words;
fail:
    free(storage);
    free(words);
    return NULL;
}

/* ---- the command ---- */

/* The first word that would mean something to a shell only. */
static const char *sign_of_shell(char **words)
{
    static const char *const signs[] = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1"};
    for (; *words; words++)
        for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
            if (strcmp(*words, signs[i]) == 0)
                return *words;
    return NULL;
}

static int execute(const struct options *options, int count, char **operands)
{
    (void)count;
    (void)operands;
    if (!options->execute)
        return say_usage("nothing to track: give --execute=COMMAND or a command's name (see gpu-tracker --help)");
    const char *complaint;
    char **words = words_split(options->execute, &complaint);
    if (!words)
        return say_usage("--execute: cannot split '%s': %s", options->execute, complaint);
    const char *sign = options->disable_logs ? NULL : sign_of_shell(words);
    if (sign)
        say("--execute starts no shell: '%s' goes to the command as a word (sh -c '...' is a command)", sign);
    int status = track_command(options, words, true);
    words_free(words);
    return status;
}

const struct command command_execute = {
    .name = "",
    .synopsis = "",
    .summary = "Run a command that is given as one word, and report what it used",
    .description =
        "Tracks a command and all its descendants. At the end the report is printed to standard output, after the output of the command. gpu-tracker run leaves standard output to the command.\n\n"
        "The exit status is that of the command.",
    .operand = OPERAND_NONE,
    .run = execute,
};

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
    if (child < 0)
        return say_trouble("cannot start '%s': %s", words[0], strerror(errno));
    take_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    return 0;
}

static int block(const struct options *options, int count, char **operands)
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
    .run = block,
};
