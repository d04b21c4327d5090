#include "job/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "analyse/past_runs.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/number.h"
#include "base/os/root.h"
#include "base/os/secret.h"
#include "blocks/block_progress.h"
#include "message.h"
#include "output.h"
#include "view/view_draw.h"

enum {
    PATIENCE_MS = 50, /* one that sends to each process of a list needs microseconds, if it is not interrupted */
    ANSWER_MS = 1000, /* a witness that was stopped does not answer */
};

struct question {
    int serial, number, patience_ms;
};

struct answer {
    int serial;
    bool is_there;
    int code;     /* si_code */
    pid_t sender; /* 0: outside the namespace */
};

/* ---- In the process of the witness: made without the C library's fork, so only what is safe in a signal handler ---- */

/* The place of this process's arguments in memory: fields 48 and 49 of man 5 proc_pid_stat. */
static char *own_arguments(size_t *length)
{
    enum { FIRST_AFTER_NAME = 3, ARG_START = 48, ARG_END = 49 };
    char text[1024];
    char *rest = gt_root_read_process(NULL, getpid(), "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    unsigned long start = 0, end = 0;
    for (int field = FIRST_AFTER_NAME; rest && (rest = strchr(rest, ' ')) && field <= ARG_END; field++) {
        rest++;
        if (field == ARG_START)
            start = strtoul(rest, NULL, 10);
        if (field == ARG_END)
            end = strtoul(rest, NULL, 10);
    }
    *length = end > start ? end - start : 0;
    return (char *)start; /* NOLINT: the kernel tells an address as a number */
}

/* "signals of: python train.py": the command follows the name of this program among its arguments, so there is room. */
static void take_name(char *const *words)
{
    static const char title[] = "signals of:";
    size_t length, count = 0;
    char *arguments = own_arguments(&length);
    prctl(PR_SET_NAME, "gt-witness");
    while (words[count])
        count++;
    if (!count || words[0] < arguments + sizeof title || words[0] >= arguments + length)
        return;
    size_t kept = (size_t)(arguments + length - words[0]);
    memmove(arguments + sizeof title, words[0], kept);
    memcpy(arguments, title, sizeof title);
    memset(arguments + sizeof title + kept, 0, length - sizeof title - kept);
}

static _Noreturn void bear_witness(int fd, pid_t asker, char *const *words, const struct gt_group *group)
{
    struct question question;
    sigset_t set;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != asker)
        _exit(0);
    take_name(words);
    gt_group_enter(group); /* late: the memory it has is charged to the tracker's group */
    dup2(fd, STDIN_FILENO);
    gt_close_from(STDIN_FILENO + 1);
    if (write(STDIN_FILENO, &(struct answer){0}, sizeof(struct answer)) < 0)
        _exit(0);
    while (read(STDIN_FILENO, &question, sizeof question) == (ssize_t)sizeof question) {
        siginfo_t came = {0};
        sigemptyset(&set);
        sigaddset(&set, question.number);
        bool is_there = sigtimedwait(&set, &came, &(struct timespec){0, question.patience_ms * 1000000L}) > 0;
        struct answer answer = {question.serial, is_there, came.si_code, came.si_pid};
        if (write(STDIN_FILENO, &answer, sizeof answer) < 0)
            break;
    }
    _exit(0);
}

/* ---- In gpu-tracker's ---------------------------------------------------------------------------------------------- */

/* A child that sends no signal when it ends is none that wait(2) tells of without __WCLONE: the job's are waited for beside it. */
void witness_start(struct witness *witness, char *const *words, const struct gt_group *group)
{
    int ends[2];
    pid_t asker = getpid();
    *witness = (struct witness){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    long pid = syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
    if (pid == 0)
        bear_witness(ends[1], asker, words, group);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return;
    }
    witness->pid = (pid_t)pid;
    witness->fd = ends[0];
}

void witness_await(const struct witness *witness)
{
    struct pollfd ready = {witness->fd, POLLIN, 0};
    struct answer in_place;
    if (witness->pid && poll(&ready, 1, ANSWER_MS) > 0)
        recv(witness->fd, &in_place, sizeof in_place, 0);
}

/* Signals to a group are sent under a lock of the kernel's that setpgid(2) takes, too: after it, all have been sent. */
static void wait_for_sender(void)
{
    setpgid(0, getpgrp());
}

/* Was it sent what this process was? Takes up to 50 ms where the answer is no. */
static bool witness_saw(struct witness *witness, const siginfo_t *signal)
{
    bool may_follow = signal_was_sent(signal) &&
                      signal->si_signo < SIGRTMIN; /* those from SIGRTMIN on are counted, and may be many */
    struct question question = {++witness->serial, signal->si_signo, may_follow ? PATIENCE_MS : 0};
    struct answer answer = {0};
    if (!witness->pid)
        return false;
    wait_for_sender();
    if (send(witness->fd, &question, sizeof question, MSG_NOSIGNAL) < 0)
        return false;
    while (answer.serial != question.serial) {
        struct pollfd ready = {witness->fd, POLLIN, 0};
        if (poll(&ready, 1, ANSWER_MS) <= 0 || recv(witness->fd, &answer, sizeof answer, 0) != (ssize_t)sizeof answer)
            return false;
    }
    return answer.is_there && answer.sender == signal->si_pid && answer.code == signal->si_code;
}

/* It is asked no more, and ends while other things are done. */
static void witness_dismiss(const struct witness *witness)
{
    if (witness->pid)
        kill(witness->pid, SIGKILL);
}

static void witness_close(struct witness *witness)
{
    if (!witness->pid)
        return;
    witness_dismiss(witness);
    close(witness->fd);
    waitpid(witness->pid, NULL, __WCLONE);
    *witness = (struct witness){.fd = -1};
}

enum { LINE_SIZE = 2048, LEAST_ROWS = 4, REFRESH_NS = 500000000 };

/* ECMA-48 and DEC's: where the cursor is is kept over what is written in between. */
#define KEEP_CURSOR "\0337"
#define PUT_CURSOR_BACK "\0338"
#define WHOLE_SCREEN "\033[r"
#define TEXT_END "\033\\"
#define KEEP_TITLE "\033[22;2t"
#define PUT_TITLE_BACK "\033]2;" TEXT_END "\033[23;2t"
#define NO_TASKBAR "\033]9;4;0" TEXT_END

/* ---- The line of run --status: the terminal ---------------------------------------------------------------------- */

static void put(const char *text)
{
    gt_file_write_all(STDERR_FILENO, text, strlen(text));
}

static bool is_one_terminal(void)
{
    struct stat out, error;
    return isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) && fstat(STDOUT_FILENO, &out) == 0 &&
           fstat(STDERR_FILENO, &error) == 0 && out.st_rdev == error.st_rdev;
}

static bool is_foreground(void)
{
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* Whole lines are read and shown. Editors, pagers and shells change that before they draw, and then the screen is
 * theirs. */
static bool is_plain(void)
{
    struct termios modes;
    return tcgetattr(STDERR_FILENO, &modes) == 0 && (modes.c_lflag & ICANON) && (modes.c_oflag & OPOST);
}

static bool term_is(const char *name)
{
    const char *term = getenv("TERM");
    return term && !strcmp(term, name);
}

/* OSC 9;4. Other terminals show such a text as a message. */
static bool shows_taskbar(void)
{
    static const char *const programs[] = {"ghostty", "WezTerm", "mintty"};
    const char *program = getenv("TERM_PROGRAM"), *vte = getenv("VTE_VERSION");
    int64_t version = 0;
    if (getenv("TMUX") || getenv("STY"))
        return false;
    for (size_t i = 0; program && i < sizeof programs / sizeof *programs; i++)
        if (!strcmp(program, programs[i]))
            return true;
    return getenv("WT_SESSION") || getenv("ConEmuPID") || (vte && gt_number_i64(vte, &version) == 0 && version >= 7900);
}

/* Tells the guard what it has to set right from now on, or no longer. */
static void tell_guard(struct status *status, char what)
{
    if (status->guard >= 0 && write(status->guard, &what, 1) < 0)
        status->guard = -1;
}

/* The rows above the last one scroll. What stands in the last row moves up by one, and with it the cursor. Where the
 * line stood before the terminal was resized, terminals do not agree: below what the job has written. */
static void reserve(struct status *status, int rows)
{
    char text[64];
    if (status->rows)
        put("\033[J");
    snprintf(text, sizeof text, "\033D\033[A" KEEP_CURSOR "\033[1;%dr" PUT_CURSOR_BACK, rows - 1);
    put(text);
    status->rows = rows;
    tell_guard(status, '+');
}

static void take_title(struct status *status)
{
    if (status->is_titled)
        return;
    status->is_titled = true;
    tell_guard(status, 'T');
    if (status->has_title)
        put(KEEP_TITLE);
}

static void restore_title(struct status *status)
{
    if (!status->is_titled)
        return;
    if (status->has_title)
        put(PUT_TITLE_BACK);
    if (status->has_taskbar)
        put(NO_TASKBAR);
    status->is_titled = false;
    tell_guard(status, 't');
}

/* Where the screen is a program's, its last row is, too. */
static void give_back(struct status *status, bool clears)
{
    char text[64];
    if (!status->rows)
        return;
    snprintf(text, sizeof text, KEEP_CURSOR WHOLE_SCREEN "\033[%d;1H\033[2K" PUT_CURSOR_BACK, status->rows);
    put(clears ? text : KEEP_CURSOR WHOLE_SCREEN PUT_CURSOR_BACK);
    tell_guard(status, '-');
    status->rows = 0;
}

/* ---- The guard --------------------------------------------------------------------------------------------------- */

/* Lives as long as the pipe has its other end: then the terminal is set right, unless that was done. */
static void keep_guard(const struct status *status, int terminal, int pipe)
{
    static const char whole[] = KEEP_CURSOR WHOLE_SCREEN "\033[999;1H\033[2K" PUT_CURSOR_BACK;
    sigset_t all;
    char told;
    bool is_reserved = false, is_titled = false;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid(); /* what ends this job's processes is not for it */
    dup2(terminal, STDERR_FILENO);
    dup2(pipe, STDIN_FILENO);
    close(STDOUT_FILENO);
    gt_close_from(STDERR_FILENO + 1); /* others wait for the ends of theirs */
    if (chdir("/") < 0)
        _exit(1);
    while (read(STDIN_FILENO, &told, 1) == 1) {
        is_reserved = told == '+' || (is_reserved && told != '-');
        is_titled = told == 'T' || (is_titled && told != 't');
    }
    if (is_reserved)
        put(whole);
    if (is_titled && status->has_title)
        put(PUT_TITLE_BACK);
    if (is_titled && status->has_taskbar)
        put(NO_TASKBAR);
    _exit(0);
}

/* No child of this process, or it would be taken for one of the job's. */
static int start_guard(const struct status *status)
{
    int ends[2];
    if (getpid() == 1 || pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            close(ends[1]);
            keep_guard(status, STDERR_FILENO, ends[0]);
        }
        _exit(0);
    }
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    else
        close(ends[1]);
    return child > 0 ? ends[1] : -1;
}

/* ---- The text of the line ---------------------------------------------------------------------------------------- */

struct status_line {
    const struct gt_tracker *tracker;
    struct gt_block_progress *progress; /* NULL: nothing is counted */
    struct gt_view_model model;
    int64_t next_ns; /* CLOCK_MONOTONIC: when blocks are read again */
    bool is_ascii;
};

/* Reading blocks takes at most one part in so many of the time. */
enum { PATIENCE = 100 };

/* NaN if it is not known: a missing estimate needs no message. */
static double earlier_time(const struct gt_machine *machine, char *const *words)
{
    struct gt_buffer command = {0};
    char folder[PATH_MAX];
    double seconds = NAN;
    if (words && gt_secret_hide(&command, words) >= 0 && getcwd(folder, sizeof folder))
        seconds = gt_past_runs_usual(command.data, folder, machine->host);
    gt_buffer_release(&command);
    return seconds;
}

static void line_close(struct status_line *line)
{
    if (!line)
        return;
    gt_block_progress_close(line->progress);
    free(line->model.gpu);
    free(line);
}

/* NULL without memory. `blocks`: the folder of code blocks, or NULL; `words`: the command, of which earlier runs tell
 * how long it takes, or NULL. */
static struct status_line *line_open(const struct gt_tracker *tracker, const char *blocks, char *const *words)
{
    const struct gt_machine *machine = &tracker->recorder.machine;
    struct status_line *line = calloc(1, sizeof *line);
    if (!line)
        return NULL;
    *line = (struct status_line){.tracker = tracker, .is_ascii = output_is_ascii()};
    struct gt_view_model *model = &line->model;
    gt_view_forget_figures(model);
    gt_view_take_limits(model, machine);
    model->state = GT_VIEW_RUNNING;
    model->gpu_count = machine->gpu_length;
    model->gpu = calloc(machine->gpu_length + 1, sizeof *model->gpu);
    if (!model->gpu) {
        line_close(line);
        return NULL;
    }
    snprintf(model->command, sizeof model->command, "%s", machine->command);
    line->progress = blocks ? gt_block_progress_open(blocks) : NULL;
    model->earlier = earlier_time(machine, words);
    return line;
}

static void line_update(struct status_line *line)
{
    struct gt_view_model *model = &line->model;
    struct gt_tracker *tracker = (struct gt_tracker *)line->tracker;
    const struct gt_sample *sample = &tracker->recorder.sample;
    int64_t now = gt_clock_ns(CLOCK_MONOTONIC);
    model->at = (double)(now - tracker->recorder.start_ns) / GT_SECOND;
    pthread_mutex_lock(&tracker->mutex);
    model->ram = gt_recorder_value(&tracker->recorder, GT_SCOPE_COMBINED, GT_RAM);
    model->cpu = gt_recorder_value(&tracker->recorder, GT_SCOPE_COMBINED, GT_CPU_UTILIZATION);
    for (size_t i = GT_FIXED_ROWS; i < sample->row_count; i++) {
        const struct gt_row *row = &sample->row[i];
        if (row->scope == GT_SCOPE_GPU && row->device >= 0 && (size_t)row->device < model->gpu_count)
            model->gpu[row->device].busy = row->value[GT_GPU_UTILIZATION];
    }
    pthread_mutex_unlock(&tracker->mutex);
    if (line->progress && now >= line->next_ns) {
        gt_block_progress_read(line->progress);
        line->next_ns = now + (gt_clock_ns(CLOCK_MONOTONIC) - now) * PATIENCE;
    }
    if (line->progress)
        model->progress = gt_block_progress_at(line->progress, (double)gt_clock_ns(CLOCK_REALTIME) / GT_SECOND);
}

/* Without control characters, of at most `columns` columns, and LINE_SIZE bytes with the NUL at the end. */
static void line_text(struct status_line *line, int columns, char ret[LINE_SIZE])
{
    enum { LONGEST = 500 };
    struct gt_buffer text = {0};
    struct gt_view_cell cells[LONGEST];
    const struct gt_view_grid grid = {columns < LONGEST ? columns : LONGEST, 1, cells};
    line_update(line);
    gt_view_status_draw(&grid, &line->model);
    if (line->is_ascii)
        gt_cells_to_ascii(&grid);
    bool is_written = gt_cells_write(&grid, &text) >= 0;
    snprintf(ret, LINE_SIZE, "%.*s", is_written ? (int)strcspn(text.data, "\n") : 0, is_written ? text.data : "");
    gt_buffer_release(&text);
}

/* The part of the job that is done, from 0 to 1, as of the last text; NaN: not known. */
static double line_share(const struct status_line *line)
{
    bool is_given;
    double left = gt_view_left(&line->model, NULL, &is_given);
    return is_given ? NAN : line->model.at / (line->model.at + left);
}

/* ---- The line itself ---------------------------------------------------------------------------------------------- */

/* Gives the terminal back for good. */
static void status_close(struct status *status)
{
    if (status->next_ns) {
        give_back(status, is_plain());
        restore_title(status);
    }
    if (status->guard >= 0)
        close(status->guard);
    status->guard = -1;
    status->next_ns = 0;
    line_close(status->line);
    status->line = NULL;
}

void status_prepare(struct status *status, bool wanted)
{
    const char *term = getenv("TERM");
    *status = (struct status){.guard = -1};
    if (!wanted || !is_one_terminal() || !term || !*term || term_is("dumb") || !is_foreground() || !is_plain())
        return;
    status->has_title = !term_is("linux");
    status->has_taskbar = shows_taskbar();
    status->guard = start_guard(status);
    status->next_ns = 1;
}

void status_begin(struct status *status, const struct gt_tracker *tracker, const char *blocks, char *const words[])
{
    status->line = status->next_ns && tracker ? line_open(tracker, blocks, words) : NULL;
    if (!status->line) {
        status_close(status);
        return;
    }
    status->next_ns = gt_clock_ns(CLOCK_MONOTONIC) + REFRESH_NS;
}

static void draw_line(struct status *status, const char *line)
{
    take_title(status);
    char text[LINE_SIZE + 200];
    size_t used = (size_t)snprintf(
        text, sizeof text, KEEP_CURSOR "\033[%d;1H\033[0;7m%s\033[0;7m\033[K" PUT_CURSOR_BACK, status->rows, line);
    if (status->has_title)
        used += (size_t)snprintf(text + used, sizeof text - used, "\033]2;%.150s" TEXT_END, line + (*line == ' '));
    double share = line_share(status->line);
    if (status->has_taskbar && !isnan(share))
        snprintf(text + used, sizeof text - used, "\033]9;4;1;%.0f" TEXT_END, share * 100);
    put(text); /* at once: nothing of the job's comes in between */
}

static void status_draw(struct status *status, int64_t now_ns)
{
    struct winsize size;
    char line[LINE_SIZE];
    if (!status->next_ns || !status->line || now_ns < status->next_ns)
        return;
    status->next_ns += (now_ns - status->next_ns) / REFRESH_NS * REFRESH_NS + REFRESH_NS;
    if (!is_foreground() || !is_plain()) { /* the screen is the job's own */
        status_close(status);
        return;
    }
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row < LEAST_ROWS || size.ws_col < 2) {
        give_back(status, true);
        return;
    }
    if (status->rows != size.ws_row)
        reserve(status, size.ws_row);
    line_text(status->line, size.ws_col - 1, line);
    draw_line(status, line);
}

/* Gives the terminal back until the next drawing: the job stops. */
static void status_leave(struct status *status)
{
    give_back(status, true);
    restore_title(status);
}

/* ---- Warnings ---------------------------------------------------------------------------------------------------- */

void watch_warn(void *context, const char *sentence)
{
    struct watch *watch = context;
    if (watch->is_quiet)
        return;
    size_t length = strlen(watch->told);
    if (length + strlen(sentence) + 2 <= sizeof watch->told)
        snprintf(watch->told + length, sizeof watch->told - length, "%s\n", sentence);
    say("%s", sentence);
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

/* A program that makes a process group of its own, as timeout does, would lead ours already and stay in it, had the shell started
 * it: what comes to all of ours is for all of its. 0: it has none. */
static pid_t group_of_its_own(const struct watch *watch)
{
    pid_t group = getpgid(watch->main);
    return group > 1 && group != getpgrp() ? group : 0;
}

static bool comes_from_terminal(int number)
{
    return signal_asks_for_end(number) || signal_stops(number) || number == SIGCONT || number == SIGWINCH;
}

/* Those of the job's own processes were meant for us. */
static bool comes_from_job(const struct watch *watch, pid_t sender)
{
    return sender == getpid() || (watch->tracker && gt_tracker_contains(watch->tracker, sender));
}

/* Returns whom to hand a signal on to, as kill(2) is told it; 0: nobody. What the terminal and others send to the process group has
 * reached the command by itself. */
static pid_t receiver_of(struct watch *watch, const siginfo_t *signal)
{
    bool was_seen = witness_saw(&watch->witness, signal);
    bool leads_session = getsid(0) == getpid(), leads_group = getpgrp() == getpid();
    if (signal->si_signo == SIGHUP && signal->si_code == SI_KERNEL && leads_session)
        return watch->main; /* the terminal has gone: only the leader is told */
    if (signal_was_sent(signal) && comes_from_job(watch, signal->si_pid))
        return 0;
    if (signal_was_sent(signal) && !was_seen)
        return watch->main;
    bool went_to_group = was_seen && (signal_was_sent(signal) || comes_from_terminal(signal->si_signo));
    return went_to_group && leads_group ? -group_of_its_own(watch) : 0;
}

static void handle(struct watch *watch, const siginfo_t *signal)
{
    int number = signal->si_signo;
    if (number == SIGCHLD)
        return;
    if (!watch->is_child || watch->main_ended) {
        watch->interrupted |= signal_asks_for_end(number);
        return;
    }
    if (signal_stops(number))
        watch->stop_received = number;
    if (number == SIGCONT)
        watch->stop_received = 0;
    pid_t receiver = receiver_of(watch, signal);
    if (receiver)
        kill(receiver, number);
}

/* Without a shell of its own a process that stops the terminal's job would leave the terminal to nobody. */
static bool owns_terminal(void)
{
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0)
        return false;
    bool owns = tcgetpgrp(terminal) == getpgrp();
    close(terminal);
    return owns;
}

/* 0 with info->si_pid, which is 0 when there is nothing to tell. */
static int look(const struct watch *watch, int what, siginfo_t *info)
{
    info->si_pid = 0;
    return waitid(P_PID, (id_t)watch->main, info, what | WNOHANG);
}

/* The shell waits for this process: it has to stop for the shell to see that the job has. */
static void follow_stop(struct watch *watch, int number)
{
    siginfo_t info;
    status_leave(&watch->status);
    watch->stop_received = 0;
    signal_stop_self(number);
    pid_t group = group_of_its_own(watch);
    if (look(watch, WCONTINUED, &info) < 0 || info.si_pid == 0)
        kill(group ? -group : watch->main, SIGCONT); /* only this process was continued, or nobody tells */
}

static void follow_stops(struct watch *watch)
{
    siginfo_t info;
    while (look(watch, WSTOPPED | WCONTINUED, &info) == 0 && info.si_pid)
        if (info.si_code != CLD_CONTINUED && (watch->stop_received || owns_terminal()))
            follow_stop(watch, info.si_status);
}

static int take_signals(void *context, int fd)
{
    (void)fd;
    struct watch *watch = context;
    siginfo_t signal;
    while (signals_next(&watch->signals, &signal))
        handle(watch, &signal);
    if (watch->is_child && !watch->main_ended)
        follow_stops(watch);
    return !watch->interrupted;
}

/* ---- The run ----------------------------------------------------------------------------------------------------- */

static int turn(void *context, int64_t *wake_ns)
{
    struct watch *watch = context;
    int64_t now = gt_clock_monotonic(&gt_clock_system);
    status_draw(&watch->status, now);
    if (watch->status.next_ns && watch->status.line && watch->status.next_ns < *wake_ns)
        *wake_ns = watch->status.next_ns;
    return 1;
}

static void note_sample(void *context, int status, const struct gt_error *error)
{
    (void)context;
    if (status >= 0)
        return;
    say("%s; no more samples are taken", error->text);
}

static void note_end(void *context, pid_t pid, int wait_status)
{
    struct watch *watch = context;
    if (pid != watch->main)
        return;
    watch->main_ended = true;
    watch->wait_status = wait_status;
    witness_dismiss(&watch->witness);
}

int watch_run(struct watch *watch)
{
    struct gt_run_options options = GT_INIT(struct gt_run_options);
    bool can_wait_for_all = watch->tracker || watch->owns_children;
    options.until = watch->waits_for_all && can_wait_for_all ? GT_UNTIL_ALL_END : GT_UNTIL_MAIN_ENDS;
    options.child = watch->is_child ? watch->main : 0;
    options.fds = &watch->signals.fd;
    options.fd_count = 1;
    options.ready = take_signals;
    options.turn = turn;
    options.sampled = note_sample;
    options.reaped = note_end;
    options.context = watch;
    int status = gt_tracker_run(watch->tracker, &options, NULL);
    status_close(&watch->status);
    watch->main_ended |= status > 0;
    return status < 0 ? status : 0;
}

void watch_close(struct watch *watch)
{
    status_close(&watch->status);
    witness_close(&watch->witness);
    signals_close(&watch->signals);
    gt_tracker_close(watch->tracker);
}
