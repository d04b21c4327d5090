#include "view/view_draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schema/human.h"

enum { CURVE_COLUMN = 16, NARROW = 60, NORMAL = 80, WIDE = 120, LEAST_COMMAND = 26, TAILS = 3 };

/* ---- What the parts share ---------------------------------------------------------------------------------------- */

double gt_view_curve(const struct gt_view_picture *picture, const struct gt_view_model *model, size_t line,
                     bool is_most, int count, double *value)
{
    double begin, end, most = 0;
    gt_view_span(picture, &begin, &end);
    for (int i = 0; i < count; i++) {
        double from = begin + (end - begin) * i / count, to = begin + (end - begin) * (i + 1) / count;
        struct gt_course_span cell = gt_course_between(model->course, line, from, to);
        value[i] = !cell.count || from > model->at ? NAN : is_most ? cell.most : cell.sum / cell.count;
        if (isnan(value[i]) && i && cell.count == 0 && from <= model->at)
            value[i] = value[i - 1]; /* samples are rarer than cells */
        most = isnan(value[i]) ? most : fmax(most, value[i]);
    }
    return most;
}

int gt_view_column_at(const struct gt_view_table *table, int index, int *width)
{
    const struct gt_view_column *column = table->column;
    int fixed = 0, at = table->box.column + 1, found = table->box.column;
    for (int i = 0; i < table->count; i++)
        fixed += column[i].width > 0 ? column[i].width + 1 : column[i].width == 0 ? 1 : 0;
    for (int i = 0; i <= index; i++) {
        int own = column[i].width ? column[i].width : table->box.columns - 1 - fixed;
        if (own < 0)
            own = 0;
        *width = column[i].width < 0 ? 0 : own;
        found = at;
        at += column[i].width < 0 ? 0 : own + 1;
    }
    return found;
}

void gt_view_field(const struct gt_view_table *table, int row, int index, enum gt_view_style style, const char *text)
{
    const struct gt_view_grid *grid = &table->picture->grid;
    int width, at = gt_view_column_at(table, index, &width);
    if (!width || row >= table->box.row + table->box.rows)
        return;
    if (table->column[index].is_left)
        gt_cells_text(grid, row, at, width, style, text);
    else
        gt_cells_print_right(grid, row, at + width, width, style, "%s", text);
}

void gt_view_titles(const struct gt_view_table *table)
{
    const struct gt_view_grid *grid = &table->picture->grid;
    char text[64];
    gt_cells_rule(grid, table->box.row, table->box.column, table->box.columns);
    for (int i = 0; i < table->count; i++) {
        const struct gt_view_column *column = &table->column[i];
        int width, at = gt_view_column_at(table, i, &width);
        if (!width || !*column->title)
            continue;
        snprintf(text, sizeof text, " %s ", column->title);
        if (column->is_left)
            gt_cells_text(grid, table->box.row, at - (i > 0), width + 2, GT_VIEW_TITLE, text);
        else
            gt_cells_print_right(grid, table->box.row, at + width + 1, width + 2, GT_VIEW_TITLE, "%s", text);
    }
}

const char *gt_view_bytes(const struct gt_view_choice *choice, char *ret, double bytes)
{
    return choice->is_binary ? gt_human_binary(ret, bytes) : gt_human_bytes(ret, bytes);
}

/* ---- The first line ---------------------------------------------------------------------------------------------- */

static void state_text(char *text, size_t size, const struct gt_view_model *model, bool is_short,
                       enum gt_view_style *style)
{
    char whole[GT_HUMAN_SIZE], at[GT_HUMAN_SIZE], silence[GT_HUMAN_SIZE], status[GT_HUMAN_STATUS_SIZE];
    gt_human_clock(at, model->at);
    gt_human_clock(whole, model->whole);
    gt_human_clock(silence, model->silence);
    *style = GT_VIEW_BOLD;
    if (model->is_past)
        snprintf(text, size, "at %s of %s", at, whole);
    else if (model->state == GT_VIEW_WAITING)
        snprintf(text, size, "no sample yet");
    else if (model->state == GT_VIEW_RUNNING && model->time_limit > 0)
        snprintf(text, size, "%s of %s%s", at, gt_human_clock(whole, model->time_limit), is_short ? "" : " running");
    else if (model->state == GT_VIEW_RUNNING)
        snprintf(text, size, "%s%s", at, is_short ? "" : " running");
    else if (model->state == GT_VIEW_SILENT)
        snprintf(text, size, "%s, no news for %s", at, silence);
    else if (model->exit_status < 0)
        snprintf(text, size, "%s ended", whole);
    else if (is_short || model->ending == GT_ENDING_UNKNOWN)
        snprintf(text, size, "%s exit %d", whole, model->exit_status);
    else
        snprintf(text, size, "%s %s", whole,
                 gt_human_status(status, model->exit_status, model->ending == GT_ENDED_BY_ITSELF));
    if (model->state == GT_VIEW_SILENT || model->exit_status > 0)
        *style = GT_VIEW_BAD;
}

static bool is_followed_progress(const struct gt_view_picture *picture)
{
    const char *name = picture->model->progress.name;
    return *name && !strcmp(name, picture->choice->follow);
}

/* Tells how far it is, and how long it will still take. What is followed tells how far by itself. */
static void left_text(char *text, size_t size, const struct gt_view_picture *picture)
{
    const struct gt_view_model *model = picture->model;
    const struct gt_progress *progress = &model->progress;
    char name[40] = "", time[GT_HUMAN_SIZE];
    bool is_given;
    double left = gt_view_left(model, picture->before, &is_given);
    *text = '\0';
    bool is_told = is_followed_progress(picture) && (model->is_past || model->state == GT_VIEW_RUNNING);
    if (*progress->name && !is_told && picture->grid.columns >= NARROW) {
        gt_shorten(name, sizeof name, progress->name);
        size_t used = (size_t)snprintf(text, size, "  %s %llu of %llu", name, (unsigned long long)progress->done,
                                       (unsigned long long)progress->total);
        text += used;
        size -= used;
    }
    if (!isnan(left))
        snprintf(text, size, "  %s left%s", is_given ? gt_human_clock(time, left) : gt_human_about(time, left),
                 is_given && picture->grid.columns >= WIDE ? " of what was asked for" : "");
}

/* "epoch, call 10: 1:38", "epoch, call 10 of 20: 1:38". False: no block is followed that has begun, or there is more to tell. */
static bool follow_text(char *text, size_t size, const struct gt_view_picture *picture, enum gt_view_style *style)
{
    const struct gt_view_block *block = gt_view_block_named(picture->model, picture->choice->follow);
    const struct gt_view_model *model = picture->model;
    char time[GT_HUMAN_SIZE], at[GT_HUMAN_SIZE], name[40];
    size_t used = 0;
    if (!block || (!model->is_past && model->state != GT_VIEW_RUNNING))
        return false;
    if (model->is_past)
        used = (size_t)snprintf(text, size, "at %s  ", gt_human_clock(at, model->at));
    *style = GT_VIEW_BOLD;
    gt_shorten(name, sizeof name, block->name);
    used += (size_t)snprintf(text + used, size - used, "%s, call %llu", name,
                             (unsigned long long)(block->calls + block->running));
    if (is_followed_progress(picture))
        used += (size_t)snprintf(text + used, size - used, " of %llu", (unsigned long long)model->progress.total);
    snprintf(text + used, size - used, ": %s",
             gt_human_clock(time, isnan(block->latest_elapsed) ? block->now : block->latest_elapsed));
    return true;
}

static void draw_header(const struct gt_view_picture *picture)
{
    const struct gt_view_model *model = picture->model;
    int columns = picture->grid.columns;
    char state[100], left[160], where[200];
    enum gt_view_style style;
    left_text(left, sizeof left, picture);
    if (!follow_text(state, sizeof state, picture, &style))
        state_text(state, sizeof state, model, *left, &style);
    int begin = gt_cells_print_right(&picture->grid, 0, columns - 1, columns - 2, style, "%s%s", state, left);
    snprintf(where, sizeof where, "%s%s%s", model->host, *model->pid_text ? "  pid " : "", model->pid_text);
    if (columns >= NORMAL && begin - (int)strlen(where) > LEAST_COMMAND)
        begin = gt_cells_print_right(&picture->grid, 0, begin - 2, columns / 3, GT_VIEW_DIM, "%s", where);
    const char *name = model->command; /* the program without its folder, and its arguments */
    for (const char *c = name; *c && *c != ' '; c++)
        if (*c == '/' && c[1] && c[1] != ' ')
            name = c + 1;
    gt_cells_text(&picture->grid, 0, 1, begin - 3, GT_VIEW_BOLD, *name ? name : "a job");
}

/* ---- Memory, processors, power, disk ----------------------------------------------------------------------------- */

struct gauge {
    const char *label;
    enum gt_view_line line;
    bool is_most;
    double least_scale; /* the curve's greatest height is at least this */
    double share;       /* of the bar; NaN: there is none */
    char value[GT_HUMAN_SIZE];
    char tail[TAILS][64]; /* as many of them as there is room for */
};

static int curve_width(int columns)
{
    int width = columns >= WIDE ? 44 + (columns - WIDE) / 2 : columns >= NORMAL ? 22 : columns >= NARROW ? 16 : 11;
    return width > GT_VIEW_CURVE_MOST ? GT_VIEW_CURVE_MOST : width;
}

static void draw_gauge(const struct gt_view_picture *picture, int row, const struct gauge *gauge)
{
    const struct gt_view_grid *grid = &picture->grid;
    double value[GT_VIEW_CURVE_MOST];
    int columns = grid->columns, width = picture->choice->hides_curves ? 0 : curve_width(columns);
    int bar = columns >= WIDE ? 24 : columns >= NORMAL ? 14 : 0, at = CURVE_COLUMN + width + (width > 0);
    gt_cells_text(grid, row, 1, 5, GT_VIEW_DIM, gauge->label);
    gt_cells_text(grid, row, 6, 10, GT_VIEW_BOLD, gauge->value);
    double most = gt_view_curve(picture, picture->model, gauge->line, gauge->is_most, width, value);
    gt_cells_curve(grid, row, CURVE_COLUMN, width, value, fmax(most, gauge->least_scale), GT_VIEW_CURVE);
    if (!isnan(gauge->share) && bar) {
        gt_cells_bar(grid, row, at + 1, bar, gauge->share,
                     gauge->line == GT_VIEW_RAM && gauge->share >= 0.9 ? GT_VIEW_BAD : GT_VIEW_GOOD);
        at += bar + 1;
    }
    at++;
    for (size_t i = 0; i < TAILS; i++) {
        int length = (int)strlen(gauge->tail[i]);
        if (length && at + length < columns)
            at += gt_cells_text(grid, row, at, length, GT_VIEW_PLAIN, gauge->tail[i]) + 2;
    }
}

/* The same figure of the earlier run at this time since its begin. */
static void draw_before(const struct gt_view_picture *picture, int row, const struct gauge *gauge, const char *now,
                        const char *all)
{
    double value[GT_VIEW_CURVE_MOST];
    int width = curve_width(picture->grid.columns);
    double most = gt_view_curve(picture, picture->model, gauge->line, gauge->is_most, width, value);
    double own = gt_view_curve(picture, picture->before, gauge->line, gauge->is_most, width, value);
    gt_cells_text(&picture->grid, row, 1, 5, GT_VIEW_DIM, " was");
    gt_cells_text(&picture->grid, row, 6, 9, GT_VIEW_DIM, now);
    gt_cells_curve(&picture->grid, row, CURVE_COLUMN, width, value, fmax(fmax(most, own), gauge->least_scale),
                   GT_VIEW_DIM);
    gt_cells_text(&picture->grid, row, CURVE_COLUMN + width + 2, picture->grid.columns - CURVE_COLUMN - width - 3,
                  GT_VIEW_DIM, all);
}

static int draw_memory(const struct gt_view_picture *picture, int row)
{
    const struct gt_view_model *model = picture->model, *before = picture->before;
    char capacity[GT_HUMAN_SIZE], peak[GT_HUMAN_SIZE], swap[GT_HUMAN_SIZE];
    struct gauge gauge = {
        .label = "mem", .line = GT_VIEW_RAM, .is_most = true, .share = model->ram / model->ram_capacity};
    gt_view_bytes(picture->choice, gauge.value, model->ram);
    if (!isnan(model->ram_capacity))
        snprintf(gauge.tail[0], sizeof gauge.tail[0], "of %s",
                 gt_view_bytes(picture->choice, capacity, model->ram_capacity));
    snprintf(gauge.tail[1], sizeof gauge.tail[1], "peak %s", gt_view_bytes(picture->choice, peak, model->ram_peak));
    if (model->swap > 0)
        snprintf(gauge.tail[2], sizeof gauge.tail[2], "swapped %s", gt_view_bytes(picture->choice, swap, model->swap));
    draw_gauge(picture, row, &gauge);
    if (!before)
        return 1;
    char was[GT_HUMAN_SIZE], all[100], whole[GT_HUMAN_SIZE];
    snprintf(all, sizeof all, "peak %s by now; %s in all", gt_view_bytes(picture->choice, peak, before->ram_peak),
             before->whole < 60 ? gt_human_seconds(whole, before->whole) : gt_human_clock(whole, before->whole));
    draw_before(picture, row + 1, &gauge, gt_view_bytes(picture->choice, was, before->ram), all);
    return 2;
}

static int draw_cpu(const struct gt_view_picture *picture, int row)
{
    const struct gt_view_model *model = picture->model, *before = picture->before;
    char percent[GT_HUMAN_SIZE], was[GT_HUMAN_SIZE], mean[GT_HUMAN_SIZE];
    struct gauge gauge = {.label = "cpu", .line = GT_VIEW_CPU, .least_scale = 1, .share = model->cpu / model->cores};
    gt_human_number(gauge.value, model->cpu);
    if (!isnan(model->cores))
        snprintf(gauge.tail[0], sizeof gauge.tail[0], "of %.*f core%s", model->cores != round(model->cores),
                 model->cores, model->cores == 1 ? "" : "s");
    snprintf(gauge.tail[1], sizeof gauge.tail[1], "mean %s", gt_human_number(mean, model->cpu_mean));
    if (!isnan(model->cores))
        snprintf(gauge.tail[2], sizeof gauge.tail[2], "%s efficient",
                 gt_human_percent(percent, model->cpu_mean / model->cores));
    draw_gauge(picture, row, &gauge);
    if (!before)
        return 1;
    char all[100];
    snprintf(all, sizeof all, "mean %s by now", gt_human_number(mean, before->cpu_mean));
    draw_before(picture, row + 1, &gauge, gt_human_number(was, before->cpu), all);
    return 2;
}

static int draw_power(const struct gt_view_picture *picture, int row)
{
    const struct gt_view_model *model = picture->model;
    char energy[GT_HUMAN_SIZE];
    struct gauge gauge = {.label = "pow", .line = GT_VIEW_POWER, .share = NAN};
    if (isnan(model->energy))
        return 0;
    if (isnan(model->power))
        strcpy(gauge.value, "n/a");
    else
        snprintf(gauge.value, sizeof gauge.value, "%.*f W", model->power < 9.95 && model->power > 0, model->power);
    snprintf(gauge.tail[0], sizeof gauge.tail[0], "%s", gt_human_energy(energy, model->energy));
    if (!isnan(model->cpu_power) && !isnan(model->gpu_power))
        snprintf(gauge.tail[1], sizeof gauge.tail[1], "cpu %.0f  gpu %.0f W", model->cpu_power, model->gpu_power);
    draw_gauge(picture, row, &gauge);
    return 1;
}

static int draw_disk(const struct gt_view_picture *picture, int row)
{
    const struct gt_view_model *model = picture->model;
    char read[GT_HUMAN_SIZE], written[GT_HUMAN_SIZE], wait[GT_HUMAN_SIZE], rate[GT_HUMAN_SIZE];
    struct gauge gauge = {.label = "disk", .line = GT_VIEW_DISK, .share = NAN};
    if (!(model->disk_read > 0 || model->disk_written > 0))
        return 0;
    snprintf(gauge.value, sizeof gauge.value, isnan(model->disk) ? "n/a" : "%.20s/s",
             gt_view_bytes(picture->choice, rate, model->disk));
    if (!isnan(model->disk_written))
        snprintf(gauge.tail[0], sizeof gauge.tail[0], "%s written",
                 gt_view_bytes(picture->choice, written, model->disk_written));
    if (!isnan(model->disk_read))
        snprintf(gauge.tail[1], sizeof gauge.tail[1], "%s read",
                 gt_view_bytes(picture->choice, read, model->disk_read));
    if (model->disk_wait >= 0.01)
        snprintf(gauge.tail[2], sizeof gauge.tail[2], "waiting %s", gt_human_percent(wait, model->disk_wait));
    draw_gauge(picture, row, &gauge);
    return 1;
}

/* ---- What is amiss ----------------------------------------------------------------------------------------------- */

enum { WARNINGS = 5 };
static const double IDLE = 0.05, IDLE_SECONDS = 60;

/* Returns how long a GPU has been idle until now, seconds. */
static double idle_time(const struct gt_view_model *model, size_t gpu)
{
    double idle = 0, step = gt_course_span_length(model->course);
    for (double to = model->at; to > 0; to -= step) {
        struct gt_course_span cell = gt_course_between(model->course, GT_VIEW_LINES + 2 * gpu, fmax(0, to - step), to);
        if (cell.count && cell.sum / cell.count >= IDLE)
            break;
        if (cell.count)
            idle = fmin(model->at - to + step, model->at);
    }
    return idle;
}

/* "gpu 1 3 5 idle for 31 min": those that have been idle for a minute, and the shortest of their times. */
static size_t warn_of_idle(const struct gt_view_model *model, char *text, size_t size)
{
    char time[GT_HUMAN_SIZE];
    double shortest = INFINITY;
    size_t used = (size_t)snprintf(text, size, "gpu");
    for (size_t i = 0; i < model->gpu_count; i++) {
        double idle = idle_time(model, i);
        if (idle < IDLE_SECONDS)
            continue;
        shortest = fmin(shortest, idle);
        if (used + 40 < size)
            used += (size_t)snprintf(text + used, size - used, " %zu", i);
    }
    snprintf(text + used, size - used, " idle for %s", gt_human_seconds(time, shortest));
    return isfinite(shortest);
}

static void append(char *text, size_t size, const char *format, double number)
{
    size_t used = strlen(text);
    if (number > 0 && used < size)
        snprintf(text + used, size - used, format, used ? ", " : "GPUs: ", number);
}

/* "GPUs: 1 lost, XID 79, 250 ECC errors": these stay in view after the job has ended. */
static size_t warn_of_errors(const struct gt_view_model *model, char *text, size_t size)
{
    *text = '\0';
    append(text, size, "%s%.0f lost", model->gpus_lost);
    append(text, size, "%sXID %.0f", model->gpu_xid);
    append(text, size, "%s%.0f ECC errors", model->gpu_ecc);
    return *text != '\0';
}

/* Finds the warnings of a job that runs, or at a moment of it. */
static size_t find_warnings(const struct gt_view_picture *picture, char text[WARNINGS][120])
{
    const struct gt_view_model *model = picture->model;
    size_t count = warn_of_errors(model, text[0], sizeof text[0]);
    char first[GT_HUMAN_SIZE], second[GT_HUMAN_SIZE];
    if (model->state == GT_VIEW_ENDED && !model->is_past)
        return count;
    if (model->ram / model->ram_capacity >= 0.9)
        snprintf(text[count++], 120, "memory: %s of %s", gt_view_bytes(picture->choice, first, model->ram),
                 gt_view_bytes(picture->choice, second, model->ram_capacity));
    if (model->progress.left > model->time_limit - model->at && model->time_limit > model->at)
        snprintf(text[count++], 120, "%s to go at this pace, and %s left of what was asked for",
                 gt_human_about(first, model->progress.left), gt_human_clock(second, model->time_limit - model->at));
    if (model->swap > 0)
        snprintf(text[count++], 120, "%s of memory is swapped out", gt_view_bytes(picture->choice, first, model->swap));
    return count + warn_of_idle(model, text[count], 120);
}

/* The last lines; returns how many. */
static int draw_footer(const struct gt_view_picture *picture)
{
    const struct gt_view_choice *choice = picture->choice;
    int row = picture->grid.rows, columns = picture->grid.columns;
    char warning[WARNINGS][120];
    if (choice->is_filtering)
        gt_cells_print(&picture->grid, --row, 1, columns - 2, GT_VIEW_BOLD, "show only names with: %s_",
                       choice->filter);
    else if (choice->is_marking)
        gt_cells_print(&picture->grid, --row, 1, columns - 2, GT_VIEW_BOLD, "mark this moment as: %s_", choice->mark);
    else if (choice->message)
        gt_cells_text(&picture->grid, --row, 1, columns - 2, GT_VIEW_BOLD, choice->message);
    else if (!choice->is_still)
        gt_cells_text(&picture->grid, --row, 1, columns - 2, GT_VIEW_DIM,
                      columns >= NORMAL ? "q quit  1-4 panes  t tree  s sort  / find  b block  m mark  h report  ? keys"
                                        : "q quit  / find  b block  ? keys");
    size_t count = find_warnings(picture, warning);
    for (size_t i = 0; i < count; i++)
        gt_cells_print(&picture->grid, --row, 1, columns - 2, GT_VIEW_BAD, "! %s", warning[i]);
    return picture->grid.rows - row;
}

static void draw_help(const struct gt_view_picture *picture)
{
    static const char *const lines[] = {
        "q            leave; the job goes on, no key here ends it",
        "up down      choose a block or a process; PgUp, PgDn; or the mouse",
        "enter        the chosen one alone, with its curves; again: all",
        "b            follow the chosen block: times and curves since its begin",
        "1 2 3 4      GPUs, blocks, processes, curves: show or hide",
        "t            processes as a tree, or by a figure",
        "s S          by CPU, memory, peak, GPU memory, age, name; backwards",
        "c            command lines instead of names",
        "/            show only processes and blocks whose names hold a text",
        "+ -          curves: the last minute, 5, 30, or all",
        "left right   back and forward in time; home, end",
        "space        hold this moment; again: go on",
        "u            memory in MB or MiB",
        "m            mark this moment in the recording, under a name",
        "e h          write the picture as text, a report as HTML",
        "esc          no filter, nothing chosen",
    };
    gt_cells_keys(&picture->grid, lines, sizeof lines / sizeof *lines);
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int greatest(int a, int b)
{
    return a > b ? a : b;
}

static bool has_hint(const struct gt_view_picture *picture)
{
    return !picture->model->has_detail && !picture->choice->hides_processes;
}

/* Side by side where there is room for it: blocks to the left. Else one above the other, with most for the processes. */
static void draw_lists(const struct gt_view_picture *picture, int row, int rows)
{
    int columns = picture->grid.columns;
    if (has_hint(picture))
        gt_cells_text(&picture->grid, row + --rows, 1, columns - 2, GT_VIEW_DIM,
                      "each process and each GPU: recorded by gpu-tracker run --detail");
    int blocks = gt_view_blocks_rows(picture), processes = gt_view_processes_rows(picture);
    if (blocks && processes && columns >= WIDE) {
        int half = columns * 2 / 5;
        gt_view_blocks_draw(picture, (struct gt_view_box){row, 0, rows, half});
        gt_view_processes_draw(picture, (struct gt_view_box){row, half + 1, rows, columns - half - 1});
        return;
    }
    int first = processes ? least(blocks, rows > 10 ? rows / 2 : 3) : least(blocks, rows);
    if (blocks + processes <= rows)
        first = blocks;
    if (first > 1 && first <= rows)
        gt_view_blocks_draw(picture, (struct gt_view_box){row, 0, first, columns});
    else
        first = 0;
    if (processes && rows - first > 1)
        gt_view_processes_draw(picture, (struct gt_view_box){row + first, 0, rows - first, columns});
}

/* Everything below the gauges. Returns the rows that the picture needs. */
static int draw_panes(const struct gt_view_picture *picture, int row)
{
    const struct gt_view_choice *choice = picture->choice;
    int footer = draw_footer(picture), room = picture->grid.rows - footer - row;
    if (choice->is_alone && choice->chosen.kind != GT_VIEW_NOTHING)
        return gt_view_alone_draw(picture, row, room) + footer;
    int blocks = gt_view_blocks_rows(picture), processes = gt_view_processes_rows(picture);
    int lists = has_hint(picture)               ? blocks + 1
                : picture->grid.columns >= WIDE ? greatest(blocks, processes)
                                                : blocks + processes;
    int wanted = gt_view_gpus_rows(picture);
    int gpus = least(wanted, greatest(greatest(room / 2, 2), room - lists));
    gpus = gpus > 1 ? gpus : 0;
    if (gpus)
        gt_view_gpus_draw(picture, (struct gt_view_box){row, 0, gpus, picture->grid.columns});
    if (room > gpus)
        draw_lists(picture, row + gpus, room - gpus);
    return row + wanted + lists + footer;
}

int gt_view_draw_all(const struct gt_view_grid *grid, const struct gt_view_model *model,
                     const struct gt_view_model *before, const struct gt_view_choice *choice,
                     struct gt_view_places *places)
{
    struct gt_view_picture picture = {*grid, model, before, choice, places};
    if (places)
        places->count = 0;
    int row = 1, needed = 1;
    gt_cells_clear(grid);
    draw_header(&picture);
    if (model->state != GT_VIEW_WAITING) {
        row += draw_memory(&picture, row);
        row += draw_cpu(&picture, row);
        row += draw_power(&picture, row);
        row += draw_disk(&picture, row);
        needed = draw_panes(&picture, row);
    }
    if (choice->is_help)
        draw_help(&picture);
    return needed;
}
