/* top: a job from its recording, in a terminal or as text. */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "api/program.h"
#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "base/os/root.h"
#include "serve/jobs.h"
#include "message.h"
#include "option.h"
#include "output.h"
#include "job/track.h"
#include "view/view.h"

/* A row of a list of jobs. */
struct screen_job {
    struct gt_view *view; /* of a running job; NULL: it has ended */
    struct gt_view_brief brief;
    const char *recording;
};

/* ---- The terminal ------------------------------------------------------------------------------------------------ */

#ifndef GT_HAVE_NCURSES
static const bool has_screen = false;

static bool screen_takes_utf8(void)
{
    return true;
}

static int screen_run(struct gt_view *view)
{
    (void)view;
    return say_trouble("top: this gpu-tracker was built without ncurses, and draws single pictures only: top --once");
}

static int screen_choose(struct screen_job *jobs, size_t count, bool is_ascii, size_t *ret)
{
    (void)jobs;
    (void)is_ascii;
    *ret = count;
    return EXIT_TRACKER;
}

#else

#define NCURSES_WIDECHAR 1
#include <curses.h>

static const bool has_screen = true;

/* Has the C library a locale with which other characters than ASCII can be drawn? */
static bool screen_takes_utf8(void)
{
    return (setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0) || setlocale(LC_CTYPE, "C.UTF-8");
}

static const int64_t FRAME_NS = GT_SECOND;
/* Reading takes one part in so many of the time at most. */
enum { PATIENCE = 100, LONGEST_FRAMES = 30 };

struct screen {
    struct gt_view *view;
    struct gt_view_cell *cells;
    size_t capacity;
    attr_t style[GT_VIEW_STYLES];
    int64_t next_ns; /* when it is read again */
    bool has_failed; /* to be read */
};

static void set_styles(struct screen *screen)
{
    const char *refused = getenv("NO_COLOR");
    screen->style[GT_VIEW_DIM] = A_DIM;
    screen->style[GT_VIEW_BOLD] = screen->style[GT_VIEW_TITLE] = A_BOLD;
    screen->style[GT_VIEW_BAD] = A_BOLD;
    screen->style[GT_VIEW_CHOSEN] = A_REVERSE;
    if ((refused && *refused) || !has_colors())
        return;
    start_color();
    use_default_colors();
    init_pair(1, COLOR_CYAN, -1);
    init_pair(2, COLOR_GREEN, -1);
    init_pair(3, COLOR_RED, -1);
    screen->style[GT_VIEW_CURVE] = COLOR_PAIR(1);
    screen->style[GT_VIEW_GOOD] = COLOR_PAIR(2);
    screen->style[GT_VIEW_BAD] = COLOR_PAIR(3) | A_BOLD;
}

static void put_cell(const struct screen *screen, int row, int column, const struct gt_view_cell *cell)
{
    cchar_t character;
    wchar_t text[] = {(wchar_t)cell->character, L'\0'};
    attr_t style = cell->style < GT_VIEW_STYLES ? screen->style[cell->style] : A_NORMAL;
    if (!cell->character)
        return; /* the right half of the one before */
    if (setcchar(&character, text, style, (short)PAIR_NUMBER(style), NULL) == OK)
        mvadd_wch(row, column, &character);
}

static void draw(struct screen *screen)
{
    int rows, columns;
    getmaxyx(stdscr, rows, columns);
    if (GT_GROW_TO(screen->cells, screen->capacity, (size_t)rows * (size_t)columns) < 0)
        return;
    gt_view_draw(screen->view, columns, rows, screen->cells);
    erase();
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            put_cell(screen, row, column, &screen->cells[row * columns + column]);
    refresh();
}

static unsigned key_of(int kind, wint_t key)
{
    static const struct {
        int curses;
        unsigned key;
    } keys[] = {
        {KEY_UP, GT_VIEW_KEY_UP},         {KEY_DOWN, GT_VIEW_KEY_DOWN},
        {KEY_LEFT, GT_VIEW_KEY_LEFT},     {KEY_RIGHT, GT_VIEW_KEY_RIGHT},
        {KEY_HOME, GT_VIEW_KEY_HOME},     {KEY_END, GT_VIEW_KEY_END},
        {KEY_PPAGE, GT_VIEW_KEY_PAGE_UP}, {KEY_NPAGE, GT_VIEW_KEY_PAGE_DOWN},
        {KEY_ENTER, GT_VIEW_KEY_ENTER},   {KEY_BACKSPACE, GT_VIEW_KEY_BACKSPACE},
    };
    for (size_t i = 0; kind == KEY_CODE_YES && i < sizeof keys / sizeof *keys; i++)
        if ((wint_t)keys[i].curses == key)
            return keys[i].key;
    if (kind == KEY_CODE_YES)
        return 0;
    return key == 27                    ? GT_VIEW_KEY_ESCAPE
           : key == '\n' || key == '\r' ? GT_VIEW_KEY_ENTER
           : key == 127 || key == 8     ? GT_VIEW_KEY_BACKSPACE
                                        : key;
}

static void name_now(char *ret, size_t size, const char *suffix)
{
    char moment[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(moment, sizeof moment, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    snprintf(ret, size, "gpu-tracker-top-%s.%s", moment, suffix);
}

/* The picture as it is, as a file of text in the current folder. */
static void save(const struct screen *screen)
{
    char name[60], message[100], *text = NULL;
    name_now(name, sizeof name, "txt");
    int status = gt_view_text(screen->view, COLS, LINES, &text, NULL);
    if (status >= 0)
        status = gt_new_file_write(name, text, strlen(text));
    free(text);
    snprintf(message, sizeof message, status < 0 ? "%s: %s" : "written to %s", name, strerror(-status));
    gt_view_say(screen->view, message);
}

/* Run this program for a report of the recording; what it has to say of its own goes nowhere. */
static int write_report(const char *recording, const char *name)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
        for (int fd = STDIN_FILENO; nowhere >= 0 && fd <= STDERR_FILENO; fd++)
            dup2(nowhere, fd);
        execl("/proc/self/exe", "gpu-tracker", "report", recording, "--output", name, (char *)NULL);
        _exit(EXIT_TRACKER);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 && WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static void save_report(const struct screen *screen)
{
    char name[60], message[150];
    name_now(name, sizeof name, "html");
    int status = access(name, F_OK) < 0 ? write_report(gt_view_path(screen->view), name) : -EEXIST;
    snprintf(message, sizeof message, status < 0 ? "%s: the report could not be written" : "written to %s", name);
    gt_view_say(screen->view, message);
}

/* What is dear to read is read seldom. What cannot be read now, a file that is being replaced say, may be there the next time. */
static void screen_update(struct screen *screen)
{
    struct gt_error error = {0};
    int64_t begin = gt_clock_ns(CLOCK_MONOTONIC);
    int status = gt_view_update(screen->view, &error);
    int64_t end = gt_clock_ns(CLOCK_MONOTONIC), pause = (end - begin) * PATIENCE;
    pause = pause < FRAME_NS ? FRAME_NS : pause > LONGEST_FRAMES * FRAME_NS ? LONGEST_FRAMES * FRAME_NS : pause;
    screen->next_ns = end + pause;
    if (status < 0)
        gt_view_say(screen->view, error.text);
    else if (screen->has_failed)
        gt_view_say(screen->view, NULL);
    screen->has_failed = status < 0;
}

static int milliseconds_left(const struct screen *screen)
{
    int64_t left = (screen->next_ns - gt_clock_ns(CLOCK_MONOTONIC)) / 1000000;
    return left < 10 ? 10 : (int)left;
}

static void take_mouse(struct gt_view *view)
{
    MEVENT event;
    if (getmouse(&event) != OK)
        return;
    if (event.bstate & BUTTON4_PRESSED)
        gt_view_key(view, GT_VIEW_KEY_WHEEL_UP);
    else if (event.bstate & BUTTON5_PRESSED)
        gt_view_key(view, GT_VIEW_KEY_WHEEL_DOWN);
    else if (event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
        gt_view_click(view, event.y, event.x);
}

/* Returns false when the user leaves. */
static bool take_key(struct screen *screen, int kind, wint_t pressed)
{
    unsigned key = key_of(kind, pressed);
    if (kind == KEY_CODE_YES && pressed == KEY_RESIZE) {
        clearok(stdscr, TRUE); /* terminals break lines anew in their own ways */
        return true;
    }
    if (kind == KEY_CODE_YES && pressed == KEY_MOUSE) {
        take_mouse(screen->view);
        return true;
    }
    gt_view_say(screen->view, NULL);
    if ((key == 'e' || key == 'h') && !gt_view_takes_text(screen->view)) {
        if (key == 'e')
            save(screen);
        else
            save_report(screen);
        return true;
    }
    int result = key ? gt_view_key(screen->view, key) : 0;
    return result != -ECANCELED;
}

static void loop(struct screen *screen)
{
    bool goes_on = true;
    while (goes_on) {
        wint_t key;
        draw(screen);
        timeout(milliseconds_left(screen));
        int kind = get_wch(&key);
        if (kind != ERR)
            goes_on = take_key(screen, kind, key);
        if (goes_on && (kind != ERR || gt_clock_ns(CLOCK_MONOTONIC) >= screen->next_ns))
            screen_update(screen);
    }
}

/* NULL: nothing can be drawn on this terminal, which is said. */
static SCREEN *open_terminal(void)
{
    unsetenv("COLUMNS"); /* they would hold after the terminal is resized */
    unsetenv("LINES");
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    const char *name = getenv("TERM"), *move = terminal ? tigetstr((char *)(uintptr_t) "cup") : NULL;
    if (terminal && (!move || move == (const char *)-1)) { /* it cannot move the cursor: one of Emacs, or of a job */
        endwin();
        delscreen(terminal);
        terminal = NULL;
    }
    if (!terminal) {
        say("top: nothing can be drawn on this terminal (TERM is '%s'): TERM=xterm-256color gpu-tracker top, "
            "or gpu-tracker top --once",
            name ? name : "");
        return NULL;
    }
    set_escdelay(50);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    mouseinterval(0); /* a click is told at once */
    return terminal;
}

static void close_terminal(SCREEN *terminal)
{
    endwin();
    delscreen(terminal);
}

/* Show it until its user leaves. Returns an exit status. */
static int screen_run(struct gt_view *view)
{
    struct screen screen = {.view = view};
    SCREEN *terminal = open_terminal();
    if (!terminal)
        return EXIT_TRACKER;
    set_styles(&screen);
    loop(&screen);
    close_terminal(terminal);
    free(screen.cells);
    return 0;
}

/* ---- One of several ---------------------------------------------------------------------------------------------- */

enum { LIST_ROW = 3, LIST_COLUMN = 2 };

struct picker {
    struct screen screen;
    struct screen_job *job;
    size_t count, chosen, first; /* first: the job in the uppermost row */
    bool is_ascii, is_help;
};

static void put_row(struct picker *picker, int row, int column, const struct gt_view_grid *grid)
{
    if (picker->is_ascii)
        gt_cells_to_ascii(grid);
    for (int i = 0; i < grid->columns; i++)
        put_cell(&picker->screen, row, column + i, &grid->cell[i]);
}

static void draw_picker_help(struct picker *picker)
{
    static const char *const lines[] = {
        "up down      choose a job; or the mouse",
        "enter        show the chosen job",
        "q esc        leave; no key here ends a job",
    };
    gt_cells_keys(&(struct gt_view_grid){COLS, LINES, picker->screen.cells}, lines, sizeof lines / sizeof *lines);
    for (int row = 0; row < LINES; row++)
        put_row(picker, row, 0, &(struct gt_view_grid){COLS, 1, picker->screen.cells + row * COLS});
}

static void draw_list(struct picker *picker)
{
    struct gt_view_grid grid = {COLS - LIST_COLUMN, 1, picker->screen.cells};
    size_t rows = LINES > LIST_ROW ? (size_t)(LINES - LIST_ROW) : 1;
    if (picker->chosen < picker->first)
        picker->first = picker->chosen;
    if (picker->chosen >= picker->first + rows)
        picker->first = picker->chosen - rows + 1;
    attron(A_BOLD);
    mvaddnstr(0, 1, "Which job?  up, down, enter; ? keys, q quit", COLS - 1);
    attroff(A_BOLD);
    if (grid.columns <= 0)
        return;
    gt_view_brief_draw(&grid, NULL);
    put_row(picker, LIST_ROW - 1, LIST_COLUMN, &grid);
    for (size_t i = picker->first; i < picker->count && i < picker->first + rows; i++) {
        int row = LIST_ROW + (int)(i - picker->first);
        gt_view_brief_draw(&grid, &picker->job[i].brief);
        if (i == picker->chosen)
            gt_cells_restyle(&grid, 0, 0, grid.columns, GT_VIEW_CHOSEN);
        put_row(picker, row, LIST_COLUMN, &grid);
        mvaddstr(row, 0, i == picker->chosen ? ">" : " ");
    }
}

static void draw_picker(struct picker *picker)
{
    struct screen *screen = &picker->screen;
    if (GT_GROW_TO(screen->cells, screen->capacity, (size_t)LINES * (size_t)COLS) < 0)
        return;
    erase();
    if (picker->is_help)
        draw_picker_help(picker);
    else
        draw_list(picker);
    refresh();
}

/* Choose the row that was clicked. Returns false for other rows and buttons. */
static bool take_click(struct picker *picker)
{
    MEVENT event;
    bool is_row = getmouse(&event) == OK && (event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED)) &&
                  event.y >= LIST_ROW && picker->first + (size_t)(event.y - LIST_ROW) < picker->count;
    if (is_row)
        picker->chosen = picker->first + (size_t)(event.y - LIST_ROW);
    return is_row;
}

static void update_list(struct picker *picker)
{
    for (size_t i = 0; i < picker->count; i++)
        if (picker->job[i].view && gt_view_update(picker->job[i].view, NULL) >= 0)
            gt_view_brief(picker->job[i].view, &picker->job[i].brief);
}

/* Returns false when the user has chosen, or leaves: then picker->chosen is the count. */
static bool take_choice(struct picker *picker, int kind, wint_t pressed)
{
    unsigned key = key_of(kind, pressed);
    if (picker->is_help) {
        picker->is_help = kind == KEY_CODE_YES && pressed == KEY_RESIZE;
        return true;
    }
    if (kind == KEY_CODE_YES && pressed == KEY_MOUSE)
        return !take_click(picker);
    if (key == 'q' || key == GT_VIEW_KEY_ESCAPE) {
        picker->chosen = picker->count;
        return false;
    }
    if ((key == GT_VIEW_KEY_UP || key == 'k') && picker->chosen)
        picker->chosen--;
    if ((key == GT_VIEW_KEY_DOWN || key == 'j') && picker->chosen + 1 < picker->count)
        picker->chosen++;
    picker->is_help = key == '?';
    return key != GT_VIEW_KEY_ENTER;
}

/* Let the user choose among several; *ret is `count` when they leave without. 0 or an exit status. */
static int screen_choose(struct screen_job *jobs, size_t count, bool is_ascii, size_t *ret)
{
    struct picker picker = {.job = jobs, .count = count, .is_ascii = is_ascii};
    SCREEN *terminal = open_terminal();
    if (!terminal)
        return EXIT_TRACKER;
    set_styles(&picker.screen);
    for (bool goes_on = true; goes_on;) {
        wint_t pressed;
        draw_picker(&picker);
        timeout(1000);
        int kind = get_wch(&pressed);
        if (kind == ERR)
            update_list(&picker);
        else
            goes_on = take_choice(&picker, kind, pressed);
    }
    close_terminal(terminal);
    free(picker.screen.cells);
    *ret = picker.chosen;
    return 0;
}
#endif

/* ---- As text ------------------------------------------------------------------------------------------------------ */

enum {
    MOST_JOBS = 100,
    MOST_RECENT = 10,
    NAMES_TRIED = 30,
    ROWS = 60,
    COLUMNS = 80,
    LEAST_COLUMNS = 20,
    MOST_COLUMNS = 1000
};

static int columns_of_output(void)
{
    struct winsize size;
    int64_t columns = 0;
    const char *wanted = getenv("COLUMNS");
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        columns = size.ws_col;
    else if (!wanted || gt_number_i64(wanted, &columns) < 0)
        columns = COLUMNS;
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns > MOST_COLUMNS ? MOST_COLUMNS : (int)columns;
}

static int print_text(struct gt_view *view, int rows)
{
    char *text = NULL;
    struct gt_error error = {0};
    const struct output output = {.fd = STDOUT_FILENO};
    int status = gt_view_text(view, columns_of_output(), rows, &text, &error);
    status = status < 0 ? say_failure(status, &error) : output_text(&output, text, strlen(text));
    free(text);
    return status;
}

/* A recording has its first sample a moment after its tracker has begun. */
static int open_view(struct gt_view **ret, const char *path, const struct gt_view_options *options, bool is_running,
                     struct gt_error *error)
{
    static const struct timespec MOMENT = {.tv_nsec = 50000000};
    int status;
    for (int patience = is_running ? 40 : 0; (status = gt_view_open(ret, path, options, NULL)) < 0 && patience;
         patience--)
        nanosleep(&MOMENT, NULL);
    return status < 0 ? gt_view_open(ret, path, options, error) : status;
}

static bool is_live(const struct options *options)
{
    return !options->once && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
}

static int show(const struct options *options, const char *path, bool is_running, bool is_ascii)
{
    struct gt_error error = {0};
    struct gt_view *view = NULL;
    const struct gt_view_options wanted = {
        .against = options->against, .moment = options->seek, .ascii = is_ascii, .is_still = !is_live(options)};
    int status = open_view(&view, path, &wanted, is_running, &error);
    if (status < 0)
        return say_unread(status, &error, path);
    status = is_live(options) ? screen_run(view) : print_text(view, ROWS);
    gt_view_close(view);
    return status;
}

/* ---- Which job --------------------------------------------------------------------------------------------------- */

struct list {
    struct screen_job job[MOST_JOBS + MOST_RECENT];
    size_t count;
    bool is_ascii;
};

static void add_running(struct list *list, const struct job *jobs, size_t count)
{
    const struct gt_view_options wanted = {.is_still = 1};
    for (size_t i = 0; i < count; i++) {
        struct screen_job *job = &list->job[list->count];
        if (gt_view_open(&job->view, jobs[i].recording, &wanted, NULL) < 0)
            continue;
        job->recording = gt_view_path(job->view);
        list->count++;
        snprintf(job->brief.name, sizeof job->brief.name, "%d", (int)jobs[i].tracker);
        gt_view_brief(job->view, &job->brief);
    }
}

static bool is_listed(const struct list *list, const char *recording)
{
    bool is_known = false;
    for (size_t i = 0; i < list->count; i++)
        is_known = is_known || !strcmp(list->job[i].recording, recording);
    return is_known;
}

/* Past runs whose recordings still exist, the latest first. */
static void add_recent(struct list *list)
{
    size_t most = list->count + MOST_RECENT;
    for (int back = 1; back <= NAMES_TRIED && list->count < most; back++) {
        struct screen_job *job = &list->job[list->count];
        char *recording = NULL;
        if (past_recording(back, &recording, NULL) < 0)
            continue;
        snprintf(job->brief.name, sizeof job->brief.name, "@%d", back);
        if (is_listed(list, recording) || gt_view_brief_read(&job->brief, recording, NULL) < 0) {
            free(recording);
            continue;
        }
        job->recording = recording;
        list->count++;
    }
}

static void release_list(struct list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!list->job[i].view)
            free((char *)list->job[i].recording);
        gt_view_close(list->job[i].view);
    }
    free(list);
}

static int print_row(const struct gt_view_brief *brief, bool is_ascii)
{
    struct gt_view_cell cell[MOST_COLUMNS];
    const struct gt_view_grid grid = {columns_of_output(), 1, cell};
    const struct output output = {.fd = STDOUT_FILENO};
    struct gt_buffer text = {0};
    gt_view_brief_draw(&grid, brief);
    if (is_ascii)
        gt_cells_to_ascii(&grid);
    int status = gt_cells_write(&grid, &text);
    if (!status)
        status = output_text(&output, text.data, text.length);
    gt_buffer_release(&text);
    return status < 0 ? EXIT_TRACKER : status;
}

static int print_list(const struct list *list)
{
    say("%zu jobs run: name one by the number in front, or its recording", list->count);
    int status = print_row(NULL, list->is_ascii);
    for (size_t i = 0; i < list->count && !status; i++)
        status = print_row(&list->job[i].brief, list->is_ascii);
    return status;
}

/* Let the user choose a job in the terminal; elsewhere print the running ones. */
static int show_list(const struct options *options, const struct job *jobs, size_t count, bool is_ascii)
{
    struct list *list = calloc(1, sizeof *list);
    size_t number = 0;
    if (!list)
        return say_trouble("out of memory");
    list->is_ascii = is_ascii;
    add_running(list, jobs, count);
    bool can_choose = is_live(options) && has_screen;
    if (can_choose)
        add_recent(list);
    int status = can_choose ? screen_choose(list->job, list->count, is_ascii, &number) : print_list(list);
    if (can_choose && !status && number < list->count)
        status = show(options, list->job[number].recording, list->job[number].view != NULL, is_ascii);
    release_list(list);
    return status;
}

/* The fourth field of man 5 proc_pid_stat; 0: not known. */
static pid_t parent_of(pid_t pid)
{
    char text[512];
    int parent = 0;
    const char *behind = gt_root_read_process(NULL, pid, "stat", text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
    return behind && sscanf(behind, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* The job with this tracker or this process, or NULL. */
static const struct job *find_job(const struct job *jobs, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].tracker == pid || (parent_of(pid) == jobs[i].tracker && jobs[i].tracker > 1))
            return &jobs[i];
    return NULL;
}

/* ---- A process that nobody follows -------------------------------------------------------------------------------- */

/* What it says goes to a file: it is told where nothing comes of it. */
static pid_t start_sampler(const char *path, const char *said, const char *pid)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(said, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0)
            dup2(fd, STDERR_FILENO);
        execl("/proc/self/exe", "gpu-tracker", "attach", "--detail", "--disable-logs", "--tracking-file", path,
              "--output", "/dev/null", pid, (char *)NULL);
        _exit(EXIT_TRACKER);
    }
    return child;
}

/* Is there a recording with a sample or two? What the sampler had to say it has said. */
static bool wait_for_samples(pid_t sampler, const char *path)
{
    static const struct timespec MOMENT = {.tv_nsec = 50000000};
    struct timespec two_samples = {.tv_sec = 1, .tv_nsec = 200000000};
    siginfo_t info = {0};
    for (int patience = 200; patience > 0 && access(path, R_OK) < 0; patience--) {
        if (waitid(P_PID, (id_t)sampler, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
            return false;
        nanosleep(&MOMENT, NULL);
    }
    nanosleep(&two_samples, NULL);
    return access(path, R_OK) == 0;
}

static void tell(const char *said)
{
    char line[1024];
    FILE *file = fopen(said, "re");
    while (file && fgets(line, sizeof line, file))
        fputs(line, stderr);
    if (file)
        fclose(file);
}

static int follow(const struct options *options, const char *pid, bool is_ascii)
{
    const char *place = getenv("TMPDIR");
    char folder[PATH_MAX - 32], path[PATH_MAX], said[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/gpu-tracker-top-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(folder))
        return say_trouble("top: cannot make a folder like %s: %s", folder, strerror(errno));
    snprintf(path, sizeof path, "%s/top.sqlite", folder);
    snprintf(said, sizeof said, "%s/said", folder);
    int status = EXIT_TRACKER, ended;
    pid_t sampler = start_sampler(path, said, pid);
    if (sampler > 0) {
        if (wait_for_samples(sampler, path))
            status = show(options, path, true, is_ascii);
        else
            tell(said);
        kill(sampler, SIGTERM); /* it ends; the process it follows goes on */
        waitpid(sampler, &ended, 0);
    }
    unlink(path);
    unlink(said);
    rmdir(folder);
    return status;
}

/* ---- The command -------------------------------------------------------------------------------------------------- */

static int show_running(const struct options *options, const struct job *jobs, size_t count, bool is_ascii)
{
    if (!count) {
        jobs_check();
        return say_usage(
            "top: no recorded job of yours runs here: start one with gpu-tracker run --tracking-file FILE -- "
            "COMMAND, or name a recording");
    }
    return count > 1 ? show_list(options, jobs, count, is_ascii) : show(options, jobs[0].recording, true, is_ascii);
}

static int run(const struct options *options, int count, char **operands)
{
    int64_t pid = 0;
    struct job *jobs = calloc(MOST_JOBS, sizeof *jobs);
    size_t running = jobs ? jobs_list(jobs, MOST_JOBS) : 0;
    bool is_ascii = options->ascii || output_is_ascii() || (is_live(options) && !screen_takes_utf8());
    bool is_pid = count && gt_number_i64(operands[0], &pid) == 0;
    const struct job *job = is_pid ? find_job(jobs, running, (pid_t)pid) : NULL;
    int status;
    if (!count)
        status = show_running(options, jobs, running, is_ascii);
    else if (job)
        status = show(options, job->recording, true, is_ascii);
    else if (is_pid)
        status = follow(options, operands[0], is_ascii);
    else
        status = show(options, operands[0], false, is_ascii);
    free(jobs);
    return status;
}

const struct command command_top = {
    .name = "top",
    .synopsis = "[FILE|PID]",
    .summary = "Show a job live in the terminal, or replay a recording",
    .description =
        "Shows memory, CPU, GPUs, code blocks and processes of a recording. The job may still run, also on another machine that writes to a shared file system. The arrow keys move in time. Without a name it shows your running recorded job. PID shows the job of that process, or the process from now on. Processes and single GPUs need --detail of run, code blocks need --blocks.\n\n"
        "Keys never end the job. ? lists them, q quits. With --once, or if standard output is not a terminal, it prints one picture as text. NO_COLOR is respected.",
    .operand = OPERAND_FILE,
    .most = 1,
    .run = run,
};
