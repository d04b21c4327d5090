#include "analyse/past_runs.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyse/display.h"
#include "base/number.h"
#include "sample/sample.h"
#include "schema/human.h"

/* ---- What has changed -------------------------------------------------------------------------------------------- */

static const struct figure {
    const char *name;
    size_t offset;
    double least; /* a change of less is not worth telling, in the unit of the figure */
} figures[] = {
    {"peak memory", offsetof(struct gt_past_run, ram_peak), 5e6},
    {"time", offsetof(struct gt_past_run, elapsed), 0.2},
    {"CPU time", offsetof(struct gt_past_run, cpu_time), 0.2},
    {"GPU memory", offsetof(struct gt_past_run, gpu_ram_peak), 5e6},
    {"energy", offsetof(struct gt_past_run, energy), 1},
};

enum { FIGURES = sizeof figures / sizeof *figures };
static const double DEVIATIONS = 3, LEAST_CHANGE = 0.05;
static const double NORMAL = 1.4826; /* the standard deviation of normal noise for each median deviation */

static double value_of(const struct gt_past_run *run, const struct figure *figure)
{
    return *(const double *)(const void *)((const char *)run + figure->offset);
}

/* Returns how much more it is than it was, as a ratio; 0: no more than what runs differ by. */
static double change_of(double now, double *before, size_t count, double least)
{
    double distance[GT_CHANGE_RUNS_MOST] = {0};
    double middle = gt_median(before, count);
    for (size_t i = 0; i < count; i++)
        distance[i] = fabs(before[i] - middle);
    bool is_outside = now < before[0] || now > before[count - 1];
    double change = now - middle;
    if (!is_outside || fabs(change) < least || !(middle > 0) || fabs(change) < LEAST_CHANGE * middle ||
        fabs(change) <= DEVIATIONS * NORMAL * gt_median(distance, count))
        return 0;
    return change / middle;
}

static double change_in(const struct figure *figure, const struct gt_past_run *run, const struct gt_past_runs *earlier)
{
    double before[GT_CHANGE_RUNS_MOST], now = value_of(run, figure);
    size_t count = 0;
    for (size_t i = 0; i < earlier->count && count < GT_CHANGE_RUNS_MOST; i++)
        if (!isnan(value_of(&earlier->run[i], figure)))
            before[count++] = value_of(&earlier->run[i], figure);
    if (isnan(now) || count < GT_CHANGE_RUNS_LEAST || count < earlier->count)
        return 0;
    return change_of(now, before, count, figure->least);
}

int gt_past_runs_change(struct gt_buffer *out, const struct gt_past_run *run, const struct gt_past_runs *earlier)
{
    bool is_first = true;
    for (size_t i = 0; i < FIGURES; i++) {
        double change = change_in(&figures[i], run, earlier);
        if (change == 0)
            continue;
        gt_buffer_printf(out, "%s%s %+.0f %%", is_first ? "" : ", ", figures[i].name, change * 100);
        is_first = false;
    }
    if (!is_first)
        gt_buffer_printf(out, " against your last %zu runs", earlier->count);
    return out->failed;
}

/* ---- How long it takes ------------------------------------------------------------------------------------------- */

enum { USUAL = 5, ASKED = 100 };

static bool is_same(const struct gt_past_run *run, const char *command, const char *host)
{
    return run->exit_status == 0 && run->command && !strcmp(run->command, command) && run->host &&
           !strcmp(run->host, host) && run->elapsed > 0;
}

double gt_past_runs_usual(const char *command, const char *folder, const char *host)
{
    char path[PATH_MAX];
    double elapsed[USUAL] = {0};
    size_t count = 0;
    struct gt_past_runs runs = {0};
    struct gt_past_run like = {.command = (char *)command, .folder = (char *)folder, .host = (char *)host};
    struct gt_past_runs_filter filter = {.words = &command, .word_count = 1, .most = ASKED};
    if (folder)
        filter = (struct gt_past_runs_filter){.like = &like, .most = USUAL};
    if (*command && gt_past_runs_path(path, sizeof path, NULL) >= 0)
        gt_past_runs_read(&runs, path, &filter, NULL);
    for (size_t i = 0; i < runs.count && count < USUAL; i++)
        if (is_same(&runs.run[i], command, host))
            elapsed[count++] = runs.run[i].elapsed;
    gt_past_runs_release(&runs);
    return count ? gt_median(elapsed, count) : NAN;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

enum { SHOWN = 81 }; /* bytes of a command that people see, and a NUL */

static void add_columns(struct gt_table *table)
{
    const unsigned people = GT_COLUMN_ONLY_PEOPLE, data = GT_COLUMN_ONLY_DATA;
    gt_display_column(table, "name", "Run", GT_CELL_TEXT, NULL, people);
    gt_display_column(table, "run", "Run", GT_CELL_INTEGER, NULL, data);
    gt_display_column(table, "began", "Began", GT_CELL_TEXT, NULL, people);
    gt_display_column(table, "start", "Start", GT_CELL_NUMBER, "seconds", data);
    gt_display_column(table, "status", "Exit", GT_CELL_TEXT, NULL, people | GT_COLUMN_STATE);
    gt_display_column(table, "exit_status", "Exit status", GT_CELL_INTEGER, NULL, data);
    gt_display_column(table, "time", "Time", GT_CELL_TEXT, NULL, people);
    gt_display_column(table, "elapsed", "Time", GT_CELL_NUMBER, "seconds", data);
    gt_display_column(table, "memory", "Memory", GT_CELL_TEXT, NULL, people);
    gt_display_column(table, "ram_peak", "Peak memory", GT_CELL_NUMBER, "bytes", data);
    gt_display_column(table, "cores", "Cores", GT_CELL_TEXT, NULL, people);
    gt_display_column(table, "cpu_time", "CPU time", GT_CELL_NUMBER, "seconds", data);
    gt_display_column(table, "gpu_memory", "GPU memory", GT_CELL_TEXT, NULL, people);
    gt_display_column(table, "gpu_ram_peak", "GPU memory", GT_CELL_NUMBER, "bytes", data);
    gt_display_column(table, "drawn", "Energy", GT_CELL_TEXT, NULL, people);
    gt_display_column(table, "energy", "Energy", GT_CELL_NUMBER, "joules", data);
    gt_display_column(table, "kept", "Kept", GT_CELL_TEXT, NULL, people);
    gt_display_column(table, "recording", "Recording", GT_CELL_TEXT, NULL, data);
    gt_display_column(table, "host", "Host", GT_CELL_TEXT, NULL, data);
    gt_display_column(table, "folder", "Folder", GT_CELL_TEXT, NULL, data);
    gt_display_column(table, "words", "Command", GT_CELL_TEXT, NULL, people);
    gt_display_column(table, "command", "Command", GT_CELL_TEXT, NULL, data);
}

static void put_began(struct gt_table *table, double start)
{
    char text[32];
    struct tm local, today;
    time_t moment = (time_t)start, now = time(NULL);
    bool is_known = start > 0 && localtime_r(&moment, &local) && localtime_r(&now, &today);
    const char *format = is_known && local.tm_year == today.tm_year && local.tm_yday == today.tm_yday ? "today %H:%M"
                                                                                                      : "%d %b %H:%M";
    if (is_known && local.tm_year != today.tm_year)
        format = "%d %b %Y";
    gt_table_text(table, is_known && strftime(text, sizeof text, format, &local) ? text : NULL);
}

typedef char *write_figure(char *ret, double value);

/* People see the first, data have the second. */
static void put_figure(struct gt_table *table, double shown, double value, write_figure *write)
{
    char text[GT_HUMAN_SIZE];
    GT_CELLS(table, isnan(shown) ? NULL : write(text, shown), value);
}

static void put_status(struct gt_table *table, int status)
{
    char text[16];
    snprintf(text, sizeof text, "%d", status);
    gt_table_text(table, status < 0 ? NULL : text);
    gt_integer_if(table, status >= 0, status);
}

static void put_run(struct gt_table *table, const struct gt_past_run *run)
{
    char name[24], words[SHOWN];
    snprintf(name, sizeof name, "@%lld", (long long)run->back);
    gt_shorten(words, sizeof words, run->command ? run->command : "");
    GT_CELLS(table, name, run->back);
    put_began(table, run->start);
    gt_table_number(table, run->start);
    put_status(table, run->exit_status);
    put_figure(table, run->elapsed, run->elapsed, gt_human_seconds);
    put_figure(table, run->ram_peak, run->ram_peak, gt_human_bytes);
    put_figure(table, run->cpu_time / run->elapsed, run->cpu_time, gt_human_number);
    put_figure(table, run->gpu_ram_peak > 0 ? run->gpu_ram_peak : NAN, run->gpu_ram_peak, gt_human_bytes);
    put_figure(table, run->energy, run->energy, gt_human_energy);
    GT_CELLS(table, run->recording ? "yes" : "no", run->recording, run->host, run->folder, run->command ? words : NULL,
             run->command);
}

int gt_past_runs_table(struct gt_report **ret, const struct gt_past_runs *runs, struct gt_error *error)
{
    struct gt_report *report;
    int status = gt_report_new(&report, "runs", error);
    if (status < 0)
        return status;
    struct gt_table *table = gt_report_table(&report->root, "runs", "Runs");
    add_columns(table);
    gt_table_flags(table, GT_FEWER_COLUMNS);
    if (!runs->count) {
        gt_table_flags(table, GT_ONLY_DATA);
        struct gt_node *none = gt_report_text(&report->root, "none", "Runs", "none is listed");
        gt_node_flags(none, GT_ONLY_PEOPLE);
    }
    for (size_t i = 0; i < runs->count; i++)
        put_run(table, &runs->run[i]);
    return gt_display_end(ret, report, 0, "list of runs", error);
}
