#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/os/file.h"
#include "base/utf8.h"
#include "message.h"
#include "trace/source.h"

/* ".png" of "folder/a.png"; NULL when the name has none. */
static const char *suffix_of(const char *path)
{
    const char *name = gt_file_name(path);
    return *name ? strrchr(name + 1, '.') : NULL;
}

static const char *const pictures[] = {"svg", "png", "pdf"};

/* The kind of picture that a suffix says; NULL: none. */
static const char *picture_of(const char *suffix)
{
    for (size_t i = 0; suffix && i < sizeof pictures / sizeof *pictures; i++)
        if (strcmp(suffix + 1, pictures[i]) == 0)
            return pictures[i];
    return NULL;
}

static int unknown_suffix(const char *path)
{
    char known[200] = "";
    const char *name, *suffix, *help;
    if (picture_of(suffix_of(path)))
        return say_usage("--output: '%s' is a picture, for which report needs --plot memory,cpu,...", path);
    for (size_t i = 0; gt_format_info(i, &name, &suffix, &help) >= 0; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", suffix);
    }
    return say_usage("--output: no format has the suffix of '%s': give --format, or one of %s", path, known);
}

/* 0, or an exit status. A name without a suffix leaves the format alone. */
static int format_of_suffix(const char *path, const char **format)
{
    const char *name, *suffix, *help, *own = suffix_of(path);
    for (size_t i = 0; own && gt_format_info(i, &name, &suffix, &help) >= 0; i++)
        if (strcmp(own, suffix) == 0) {
            *format = name;
            return 0;
        }
    return own ? unknown_suffix(path) : 0;
}

/* Without a file a picture is SVG. */
static int kind_of_picture(struct output *output, const char *wanted)
{
    const char *suffix = output->path ? suffix_of(output->path) : ".svg";
    output->format = picture_of(suffix);
    if (wanted)
        return say_usage("--plot and --format exclude each other: the suffix of --output says .svg, .png or .pdf");
    return output->format
               ? 0
               : say_usage("--output: '%s' is not the name of a picture: choose .svg, .png or .pdf", output->path);
}

/* The file itself when `path` is a symbolic link to it. */
static void target_of(const char *path, char target[PATH_MAX])
{
    if (!realpath(path, target))
        snprintf(target, PATH_MAX, "%s", path);
}

/* 0, or the errno that a write to `path` would meet; *is_replaced tells whether it is written beside and renamed. */
static int check(const char *path, bool *is_replaced)
{
    char target[PATH_MAX];
    struct stat status;
    target_of(path, target);
    int exists = stat(target, &status) == 0;
    *is_replaced = !exists || S_ISREG(status.st_mode);
    if (exists && S_ISDIR(status.st_mode))
        return EISDIR;
    int code = exists ? -gt_access(AT_FDCWD, target, W_OK) : 0;
    if (code)
        return code;
    const char *folder = dirname(target);
    if (stat(folder, &status) < 0)
        return errno;
    if (*is_replaced && (code = -gt_access(AT_FDCWD, folder, W_OK | X_OK)))
        return code;
    return path[strlen(path) - 1] == '/' ? EISDIR : 0;
}

int output_check(const char *option, const char *path)
{
    bool is_replaced;
    int code = check(path, &is_replaced);
    if (code)
        say("%s: cannot write '%s': %s", option, path, strerror(code));
    return code ? EXIT_TRACKER : 0;
}

int output_prepare(struct output *output, const struct options *options, int fd)
{
    bool is_dash = options->output && strcmp(options->output, "-") == 0;
    const char *path = is_dash ? NULL : options->output;
    *output = (struct output){.format = options->format,
                              .path = path,
                              .fd = is_dash ? STDOUT_FILENO : fd,
                              .page_size = (size_t)(options->html_size * 1e6)};
    output->plot = options->plot;
    output->width = options->width;
    output->font = options->font;
    output->is_explained = options->explain;
    int status = options->plot             ? kind_of_picture(output, options->format)
                 : path && !output->format ? format_of_suffix(path, &output->format)
                                           : 0;
    if (status)
        return status;
    if (!output->format)
        output->format = "text";
    if (path && (status = output_check("--output", path)))
        return status;
    if (path && options->tracking_file && strcmp(path, options->tracking_file) == 0)
        return say_usage("--output and --tracking-file are the same file '%s'", path);
    return 0;
}

int output_spare_inputs(const struct output *output, const char *const *paths, size_t count,
                        const struct options *options, struct gt_error *error)
{
    const char *const *suffixes = (const char *const *)options->suffix.value;
    return output->path ? gt_trace_spare_inputs(output->path, paths, count, suffixes, error) : 0;
}

bool output_is_page(const struct output *output)
{
    return output->plot || strcmp(output->format, "html") == 0;
}

void output_prefer_summary(struct output *output, const struct options *options)
{
    output->is_brief = !options->format && !options->output;
    output->is_quiet = output->is_brief && options->quiet;
    if (output->is_brief)
        output->format = "summary";
}

void output_begin_with_summary(struct output *output, const struct options *options)
{
    output->is_summary_first = true;
    if (isatty(output->fd) && !output->path)
        output_prefer_summary(output, options);
}

/* A pipe without a reader must not hold the command's status back for ever; a socket or a terminal that is none never
 * becomes one. */
static int open_there(const char *path)
{
    static const struct timespec MOMENT = {.tv_nsec = 20000000};
    struct stat facts;
    bool is_pipe = stat(path, &facts) == 0 && S_ISFIFO(facts.st_mode);
    int fd = -1;
    for (int patience = 5 * 50; patience > 0; patience--) {
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd >= 0 || errno != ENXIO || !is_pipe)
            break;
        nanosleep(&MOMENT, NULL);
    }
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

static int write_file(const char *path, const char *text, size_t length)
{
    bool is_replaced;
    int code = check(path, &is_replaced);
    if (code)
        return -code;
    if (is_replaced) {
        char target[PATH_MAX];
        target_of(path, target);
        return gt_new_file_write(target, text, length);
    }
    int fd = open_there(path);
    if (fd < 0)
        return -errno;
    int status = gt_file_write_all(fd, text, length);
    close(fd);
    return status;
}

static int write_stream(int fd, const char *text, size_t length)
{
    fflush(stdout);
    int status = gt_file_write_all(fd, text, length);
    if (status >= 0 && length && text[length - 1] != '\n')
        status = gt_file_write_all(fd, "\n", 1);
    return status;
}

/* Negative errno where nothing was written. */
static int write_text(const struct output *output, const char *text, size_t length)
{
    return output->path ? write_file(output->path, text, length) : write_stream(output->fd, text, length);
}

/* What could not be written goes to standard error; always EXIT_TRACKER. */
static int say_instead(const struct output *output, int code, const char *what, const char *text, size_t length)
{
    if (!output->path && (code == -EPIPE || output->fd == STDERR_FILENO))
        return EXIT_TRACKER; /* the reader has seen enough, or nothing can be said */
    say("cannot write the report to '%s': %s; here %s", output->path ? output->path : "standard output",
        strerror(-code), what);
    write_stream(STDERR_FILENO, text, length);
    return EXIT_TRACKER;
}

int output_text(const struct output *output, const char *text, size_t length)
{
    int status = write_text(output, text, length);
    return status >= 0 ? 0 : say_instead(output, status, "it is", text, length);
}

/* Columns of the terminal that the report goes to; 0: it goes elsewhere. */
static size_t columns_of(const struct output *output)
{
    struct winsize size;
    if (output->path || !isatty(output->fd) || ioctl(output->fd, TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col;
}

/* The first that is set and not empty tells, as in setlocale(3), by its name alone: locales are often not installed where one logs
 * in. Where nothing is said, terminals are taken to be as most are. */
bool output_is_ascii(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *locale = getenv(names[i]);
        if (locale && *locale)
            return !strcasestr(locale, "UTF-8") && !strcasestr(locale, "UTF8");
    }
    return false;
}

/* https://no-color.org: set and not empty. */
static bool takes_colour(const struct output *output)
{
    const char *terminal = getenv("TERM"), *no = getenv("NO_COLOR");
    return !output->path && isatty(output->fd) && terminal && strcmp(terminal, "dumb") != 0 && !(no && *no);
}

static unsigned style_of(const struct output *output)
{
    return (output_is_ascii() ? GT_STYLE_ASCII : 0) | (takes_colour(output) ? GT_STYLE_COLOUR : 0) |
           (output->as_original ? GT_STYLE_ORIGINAL : 0) | (output->is_quiet ? GT_STYLE_ONLY_WARNINGS : 0) |
           (output->is_summary_first ? GT_STYLE_SUMMARY_FIRST : 0);
}

/* Only ends of lines are left as they are: a terminal obeys nothing else of what a name holds. */
static int show_lines(struct gt_buffer *out, char *text)
{
    for (char *line = text, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        bool has_return = length && next > line + length && line[length - 1] == '\r';
        line[length - has_return] = '\0';
        gt_utf8_show(out, line);
        gt_buffer_text(out, has_return ? "\r\n" : next > line + length ? "\n" : "");
    }
    return out->failed;
}

static int output_unreadable(const struct output *output, const struct gt_report *report, const char *text,
                             size_t length)
{
    char *summary = NULL;
    size_t summary_length = 0;
    int status = write_text(output, text, length);
    if (status >= 0)
        return 0;
    gt_report_render(report, "summary", &summary, &summary_length, NULL);
    status = say_instead(output, status, "is its summary", summary ? summary : "", summary_length);
    free(summary);
    return status;
}

/* Text that scrolls away hides its beginning: cut it behind the most lines that a terminal gets. Returns how many more
 * there are. */
static size_t cut_lines(const struct output *output, char *text, size_t *length)
{
    size_t lines = 0, kept = *length;
    if (!output->lines || output->path || strcmp(output->format, "text") != 0 || !isatty(output->fd))
        return 0;
    for (size_t i = 0; i < *length; i++)
        if (text[i] == '\n' && ++lines == output->lines)
            kept = i + 1;
    if (lines <= output->lines + 1) /* the line that says so takes one */
        return 0;
    text[ *length = kept] = '\0';
    return lines - output->lines;
}

/* CSV is exact for programs; people see it in a terminal. */
static int output_rendered(const struct output *output, char *text, size_t length)
{
    struct gt_buffer shown = {0};
    size_t more = cut_lines(output, text, &length);
    if (more) {
        int result = output_text(output, text, length);
        dprintf(output->fd, "... %zu more lines: see --all\n", more);
        return result;
    }
    if (output->path || strcmp(output->format, "csv") != 0 || !isatty(output->fd))
        return output_text(output, text, length);
    int status = show_lines(&shown, text);
    if (status < 0)
        say("standard output: %s", strerror(-status));
    status = status < 0 ? EXIT_TRACKER : shown.data ? output_text(output, shown.data, shown.length) : 0;
    gt_buffer_release(&shown);
    return status;
}

int output_report(const struct output *output, struct gt_report *report)
{
    if (output->is_explained)
        return 0;
    gt_report_set_width(report, columns_of(output));
    gt_report_set_page_size(report, output->page_size);
    gt_report_set_style(report, style_of(output));
    struct gt_error error = {0};
    char *text = NULL;
    size_t length = 0;
    bool is_all = output->plot && strcmp(output->plot, "all") == 0;
    int status = output->plot ? gt_report_set_picture(report, output->width, output->font) : 0;
    if (status >= 0)
        status = output->plot
                     ? gt_report_picture(report, is_all ? NULL : output->plot, output->format, &text, &length, &error)
                     : gt_report_render(report, output->format, &text, &length, &error);
    if (status < 0)
        return say_failure(status, &error);
    /* Unreadable in a terminal, which gets it when its file cannot be written. */
    bool is_for_programs = output_is_page(output) || strcmp(output->format, "pickle") == 0;
    status = is_for_programs ? output_unreadable(output, report, text, length) : output_rendered(output, text, length);
    free(text);
    return status;
}

int output_reading(const struct output *output, int status, struct gt_report *report, const struct gt_error *error,
                   const char *path)
{
    int result = status < 0 ? say_unread(status, error, path) : output_report(output, report);
    gt_report_free(report);
    return result;
}

int output_result(const struct output *output, int status, struct gt_report *report, const struct gt_error *error)
{
    int result = status < 0 ? say_failure(status, error) : output_report(output, report);
    gt_report_free(report);
    return result;
}
