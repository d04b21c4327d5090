#include "status.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "analyse/past_runs.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "base/secret.h"
#include "blocks/block_progress.h"
#include "output.h"
#include "view/view_draw.h"

enum { LINE_SIZE = 2048, LEAST_ROWS = 4, REFRESH_NS = 500000000 };

/* ECMA-48 and DEC's: where the cursor is is kept over what is written in between. */
#define KEEP_CURSOR "\0337"
#define PUT_CURSOR_BACK "\0338"
#define WHOLE_SCREEN "\033[r"
#define TEXT_END "\033\\"
#define KEEP_TITLE "\033[22;2t"
#define PUT_TITLE_BACK "\033]2;" TEXT_END "\033[23;2t"
#define NO_TASKBAR "\033]9;4;0" TEXT_END

/* ---- The terminal ------------------------------------------------------------------------------------------------ */

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

/* ---- The line ---------------------------------------------------------------------------------------------------- */

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

void status_draw(struct status *status, int64_t now_ns)
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

void status_leave(struct status *status)
{
    give_back(status, true);
    restore_title(status);
}

void status_close(struct status *status)
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
