/* GPUs, blocks and processes, each a table in a part of the screen; the row that is chosen, and one block or process alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/human.h"
#include "view/view_draw.h"

enum { NARROW = 60, NORMAL = 76, WIDE = 110 };

static const char *or_dash(const char *text)
{
    return strcmp(text, "n/a") ? text : "-";
}

static char *whole(char *text, double value)
{
    if (isnan(value))
        return strcpy(text, "-");
    snprintf(text, GT_HUMAN_SIZE, "%.0f", value);
    return text;
}

/* ---- Rows that can be chosen ------------------------------------------------------------------------------------- */

bool gt_view_item_is(const struct gt_view_item *item, const struct gt_view_item *other)
{
    return item->kind == other->kind && item->pid == other->pid && !strcmp(item->name, other->name);
}

/* A row about `item` has been drawn: it is marked if it is the chosen one. */
static void row_done(const struct gt_view_picture *picture, struct gt_view_box box, int row,
                     const struct gt_view_item *item)
{
    struct gt_view_places *places = picture->places;
    if (places && places->count < GT_VIEW_PLACES)
        places->place[places->count++] = (struct gt_view_place){row, box.column, box.columns, *item};
    if (!gt_view_item_is(item, &picture->choice->chosen))
        return;
    gt_cells_text(&picture->grid, row, box.column, 1, GT_VIEW_CHOSEN, ">");
    gt_cells_restyle(&picture->grid, row, box.column, box.columns, GT_VIEW_CHOSEN);
}

static struct gt_view_item item_of(enum gt_view_kind kind, const void *row)
{
    struct gt_view_item item = {.kind = kind};
    if (kind == GT_VIEW_BLOCK)
        snprintf(item.name, sizeof item.name, "%s", ((const struct gt_view_block *)row)->name);
    else
        item.pid = ((const struct gt_view_process *)row)->pid;
    return item;
}

static bool is_found(const char *name, const char *filter)
{
    return !*filter || strcasestr(name, filter);
}

static double key_of(const struct gt_view_process *process, enum gt_view_sort sort)
{
    double key = sort == GT_VIEW_BY_CPU    ? isnan(process->cpu) ? process->cpu_time : process->cpu
                 : sort == GT_VIEW_BY_RAM  ? process->ram
                 : sort == GT_VIEW_BY_PEAK ? process->peak
                 : sort == GT_VIEW_BY_GPU  ? process->gpu_ram
                                           : process->age;
    return isnan(key) ? -1 : key;
}

static int compare(const void *a, const void *b, void *context)
{
    const struct gt_view_process *first = *(struct gt_view_process *const *)a,
                                 *second = *(struct gt_view_process *const *)b;
    const struct gt_view_choice *choice = context;
    double x = key_of(first, choice->sort), y = key_of(second, choice->sort);
    int order = choice->sort == GT_VIEW_BY_NAME ? strcmp(first->name, second->name) : (x < y) - (x > y);
    order = order ? order : (first->pid > second->pid) - (first->pid < second->pid);
    return choice->is_backwards ? -order : order;
}

/* The blocks or processes that the filter leaves, in the order that was chosen; NULL without memory. */
static const void **list_of(const struct gt_view_picture *picture, enum gt_view_kind kind, size_t *count)
{
    const struct gt_view_model *model = picture->model;
    const char *filter = picture->choice->filter;
    const void **list = malloc((model->block_count + model->process_count + 1) * sizeof *list);
    *count = 0;
    for (size_t i = 0; list && kind == GT_VIEW_BLOCK && i < model->block_count; i++)
        if (is_found(model->block[i].name, filter))
            list[(*count)++] = &model->block[i];
    for (size_t i = 0; list && kind == GT_VIEW_PROCESS && i < model->process_count; i++)
        if (is_found(model->process[i].name, filter) || is_found(model->process[i].command, filter))
            list[(*count)++] = &model->process[i];
    if (list && kind == GT_VIEW_PROCESS && picture->choice->is_flat)
        qsort_r(list, *count, sizeof *list, compare, (void *)picture->choice);
    return list;
}

/* With a row of titles. */
static int rows_of(const struct gt_view_picture *picture, enum gt_view_kind kind)
{
    size_t count;
    free(list_of(picture, kind, &count));
    return 1 + (int)(count < 1000 ? count : 1000);
}

/* The page of the chosen row, or the first, and a line about those that have no room. */
static void draw_list(const struct gt_view_table *table, enum gt_view_kind kind, const void *const *list, size_t count,
                      void (*draw)(const struct gt_view_table *table, int row, const void *of),
                      void (*draw_rest)(const struct gt_view_table *table, int row, const void *const *list,
                                        size_t count))
{
    const struct gt_view_box box = table->box;
    size_t room = (size_t)box.rows - 1, fits = count > room ? room - 1 : room, first = 0;
    for (size_t i = 0; i < count && fits; i++) {
        const struct gt_view_item item = item_of(kind, list[i]);
        if (gt_view_item_is(&item, &table->picture->choice->chosen))
            first = i / fits * fits;
    }
    size_t shown = count - first < fits ? count - first : fits;
    for (size_t i = first; i < first + shown; i++) {
        const struct gt_view_item item = item_of(kind, list[i]);
        int row = box.row + 1 + (int)(i - first);
        draw(table, row, list[i]);
        row_done(table->picture, box, row, &item);
    }
    if (first + shown < count)
        draw_rest(table, box.row + box.rows - 1, list + first + shown, count - first - shown);
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

enum gpu_column { GPU_NUMBER, GPU_BUSY, GPU_CURVE, GPU_RAM, GPU_BAR, GPU_POWER, GPU_HEAT, GPU_SLOWED, GPU_COLUMNS };

int gt_view_gpus_rows(const struct gt_view_picture *picture)
{
    return picture->choice->hides_gpus || !picture->model->gpu_count ? 0 : 1 + (int)picture->model->gpu_count;
}

static const char *slowed(double throttle)
{
    unsigned bits = isnan(throttle) ? 0 : (unsigned)throttle;
    return isnan(throttle) ? "-" : bits & 2 ? "heat" : bits & 1 ? "power" : bits ? "yes" : "no";
}

/* An error is shown in place of the reason for which a GPU is slow. */
static const char *trouble(const struct gt_view_gpu *gpu, char text[GT_HUMAN_SIZE])
{
    if (gpu->lost > 0)
        return "lost";
    snprintf(text, GT_HUMAN_SIZE, "XID %.0f", gpu->xid);
    return gpu->xid > 0 ? text : gpu->ecc > 0 ? "ECC" : NULL;
}

static void draw_gpu_memory(const struct gt_view_table *table, int row, const struct gt_view_gpu *gpu)
{
    const struct gt_view_choice *choice = table->picture->choice;
    char used[GT_HUMAN_SIZE], all[GT_HUMAN_SIZE], text[2 * GT_HUMAN_SIZE + 4];
    gt_view_bytes(choice, used, gpu->ram);
    gt_view_bytes(choice, all, gpu->capacity);
    snprintf(text, sizeof text, isnan(gpu->capacity) || table->box.columns < NARROW ? "%s" : "%s / %s", or_dash(used),
             all);
    gt_view_field(table, row, GPU_RAM, GT_VIEW_PLAIN, text);
    int width, at = gt_view_column_at(table, GPU_BAR, &width);
    gt_cells_bar(&table->picture->grid, row, at, width, gpu->ram / gpu->capacity, GT_VIEW_GOOD);
}

static void draw_gpu(const struct gt_view_table *table, int row, size_t index)
{
    const struct gt_view_picture *picture = table->picture;
    const struct gt_view_gpu *gpu = &picture->model->gpu[index];
    char text[GT_HUMAN_SIZE];
    double value[GT_VIEW_CURVE_MOST];
    int width, at = gt_view_column_at(table, GPU_CURVE, &width);
    width = width > GT_VIEW_CURVE_MOST ? GT_VIEW_CURVE_MOST : width;
    snprintf(text, sizeof text, "%zu", index);
    gt_view_field(table, row, GPU_NUMBER, GT_VIEW_BOLD, text);
    gt_view_field(table, row, GPU_BUSY, GT_VIEW_PLAIN, or_dash(gt_human_percent(text, gpu->busy)));
    gt_view_curve(picture, picture->model, GT_VIEW_LINES + 2 * index, false, width, value);
    if (!picture->choice->hides_curves)
        gt_cells_curve(&picture->grid, row, at, width, value, 1, GT_VIEW_CURVE);
    draw_gpu_memory(table, row, gpu);
    gt_view_field(table, row, GPU_POWER, GT_VIEW_PLAIN, whole(text, gpu->power));
    gt_view_field(table, row, GPU_HEAT, GT_VIEW_PLAIN, whole(text, gpu->temperature));
    const char *error = trouble(gpu, text);
    gt_view_field(table, row, GPU_SLOWED, error || gpu->throttle > 0 ? GT_VIEW_BAD : GT_VIEW_PLAIN,
                  error ? error : slowed(gpu->throttle));
}

/* Those that are used least come first where there is no room for all: they are what is looked for. */
static size_t idlest(const struct gt_view_model *model, const bool *drawn)
{
    size_t found = model->gpu_count;
    for (size_t i = 0; i < model->gpu_count; i++)
        if (!drawn[i] && (found == model->gpu_count || model->gpu[i].busy < model->gpu[found].busy))
            found = i;
    return found;
}

void gt_view_gpus_draw(const struct gt_view_picture *picture, struct gt_view_box box)
{
    const struct gt_view_model *model = picture->model;
    const bool is_narrow = box.columns < NARROW;
    const struct gt_view_column column[GPU_COLUMNS] = {
        {"gpu", 3, true},
        {"busy", 6, false},
        {"", 0, true},
        {is_narrow ? "mem" : "memory",
         is_narrow                    ? 9
         : picture->choice->is_binary ? 19
                                      : 17,
         false},
        {"", box.columns >= NORMAL ? 8 : -1, true},
        {"W", is_narrow ? -1 : 4, false},
        {"\u00b0C", is_narrow ? -1 : 3, false},
        {"slowed", box.columns >= NORMAL ? 7 : -1, false},
    };
    size_t room = (size_t)box.rows - 1, count = model->gpu_count <= room ? model->gpu_count : room - 1;
    bool *drawn = calloc(model->gpu_count + 1, sizeof *drawn);
    const struct gt_view_table table = {picture, box, column, GPU_COLUMNS};
    gt_view_titles(&table);
    for (size_t i = 0; drawn && i < count; i++) {
        size_t index = count == model->gpu_count ? i : idlest(model, drawn);
        drawn[index] = true;
        draw_gpu(&table, box.row + 1 + (int)i, index);
    }
    double busy = 0;
    for (size_t i = 0; drawn && i < model->gpu_count; i++)
        busy += drawn[i] || isnan(model->gpu[i].busy) ? 0 : model->gpu[i].busy;
    if (count < model->gpu_count)
        gt_cells_print(&picture->grid, box.row + box.rows - 1, box.column + 1, box.columns - 2, GT_VIEW_DIM,
                       "%zu more, busier: %.0f %% in the mean", model->gpu_count - count,
                       busy * 100 / (double)(model->gpu_count - count));
    free(drawn);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

enum block_column { BLOCK_NAME, BLOCK_NOW, BLOCK_CALLS, BLOCK_MEAN, BLOCK_SHARE, BLOCK_LAST, BLOCK_COLUMNS };

int gt_view_blocks_rows(const struct gt_view_picture *picture)
{
    int rows = picture->choice->hides_blocks ? 0 : rows_of(picture, GT_VIEW_BLOCK);
    return rows > 1 ? rows : 0;
}

static char *time_text(char *text, double seconds)
{
    return seconds >= 60 ? gt_human_clock(text, seconds) : gt_human_seconds(text, seconds);
}

static void draw_block(const struct gt_view_table *table, int row, const void *of)
{
    const struct gt_view_block *block = of;
    char text[GT_HUMAN_SIZE], name[GT_PROCESS_TREE_BRANCH_SIZE + sizeof block->name],
        branch[GT_PROCESS_TREE_BRANCH_SIZE];
    gt_process_tree_branch(branch, &(struct gt_process_tree_row){0, block->depth, block->open});
    snprintf(name, sizeof name, "%s%s", branch, block->name);
    gt_view_field(table, row, BLOCK_NAME, block->running ? GT_VIEW_BOLD : GT_VIEW_PLAIN, name);
    gt_view_field(table, row, BLOCK_NOW, GT_VIEW_BOLD, block->running ? time_text(text, block->now) : "");
    snprintf(text, sizeof text, "%llu", (unsigned long long)block->calls);
    gt_view_field(table, row, BLOCK_CALLS, GT_VIEW_PLAIN, text);
    gt_view_field(table, row, BLOCK_MEAN, GT_VIEW_PLAIN,
                  block->calls ? time_text(text, block->total / (double)block->calls) : "-");
    double open = isnan(block->now) ? 0 : block->now;
    gt_view_field(table, row, BLOCK_SHARE, GT_VIEW_PLAIN,
                  gt_human_percent(text, fmin(1, (block->total + open) / table->picture->model->block_at)));
    int width, at = gt_view_column_at(table, BLOCK_LAST, &width);
    double most = 0;
    for (size_t i = 0; i < block->last_count; i++)
        most = fmax(most, block->last[i]);
    if (width)
        gt_cells_curve(&table->picture->grid, row, at, (int)block->last_count, block->last, most, GT_VIEW_CURVE);
}

static void draw_other_blocks(const struct gt_view_table *table, int row, const void *const *list, size_t count)
{
    (void)list;
    gt_cells_print(&table->picture->grid, row, table->box.column + 1, table->box.columns - 2, GT_VIEW_DIM, "%zu more",
                   count);
}

void gt_view_blocks_draw(const struct gt_view_picture *picture, struct gt_view_box box)
{
    const struct gt_view_column column[BLOCK_COLUMNS] = {
        {"block", 0, true},
        {"now", 8, false},
        {"calls", 6, false},
        {"mean", 7, false},
        {"of time", box.columns >= 46 ? 7 : -1, false},
        {"last 10", box.columns >= NARROW ? GT_VIEW_LAST_CALLS : -1, true},
    };
    const struct gt_view_table table = {picture, box, column, BLOCK_COLUMNS};
    size_t count;
    const void **list = list_of(picture, GT_VIEW_BLOCK, &count);
    gt_view_titles(&table);
    draw_list(&table, GT_VIEW_BLOCK, list, count, draw_block, draw_other_blocks);
    free(list);
}

/* ---- Processes --------------------------------------------------------------------------------------------------- */

enum process_column {
    PROCESS_PID,
    PROCESS_NAME,
    PROCESS_CPU,
    PROCESS_RAM,
    PROCESS_PEAK,
    PROCESS_GPU,
    PROCESS_THREADS,
    PROCESS_READ,
    PROCESS_WRITTEN,
    PROCESS_AGE,
    PROCESS_COLUMNS
};

int gt_view_processes_rows(const struct gt_view_picture *picture)
{
    return picture->choice->hides_processes || !picture->model->process_count ? 0 : rows_of(picture, GT_VIEW_PROCESS);
}

typedef char *write_figure(char *ret, double value);

static void draw_process(const struct gt_view_table *table, int row, const void *of)
{
    const struct gt_view_process *process = of;
    const struct gt_view_picture *picture = table->picture;
    char text[GT_HUMAN_SIZE], branch[GT_PROCESS_TREE_BRANCH_SIZE] = "", name[sizeof branch + GT_PROCESS_RECORD_COMMAND];
    const bool is_live = !picture->model->has_ended_processes;
    write_figure *bytes = picture->choice->is_binary ? gt_human_binary : gt_human_bytes;
    const struct {
        enum process_column column;
        double value;
        write_figure *write;
    } figures[] = {
        {PROCESS_CPU, is_live ? process->cpu : process->cpu_time, is_live ? gt_human_percent : time_text},
        {PROCESS_RAM, process->ram, bytes},
        {PROCESS_PEAK, process->peak, bytes},
        {PROCESS_GPU, process->gpu_ram, bytes},
        {PROCESS_THREADS, process->threads, whole},
        {PROCESS_READ, process->read, bytes},
        {PROCESS_WRITTEN, process->written, bytes},
        {PROCESS_AGE, process->age, time_text},
    };
    int width;
    gt_view_column_at(table, PROCESS_NAME, &width);
    snprintf(text, sizeof text, "%d", (int)process->pid);
    gt_view_field(table, row, PROCESS_PID, GT_VIEW_DIM, text);
    const char *own_name = *process->name ? process->name : "?";
    bool shows_command = *process->command && (picture->choice->shows_command || width >= 40 || !*process->name);
    if (!picture->choice->is_flat)
        gt_process_tree_branch(branch, &(struct gt_process_tree_row){0, process->depth, process->open});
    snprintf(name, sizeof name, "%s%s", branch, shows_command ? process->command : own_name);
    gt_view_field(table, row, PROCESS_NAME, GT_VIEW_PLAIN, name);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        gt_view_field(table, row, (int)figures[i].column, GT_VIEW_PLAIN,
                      or_dash(figures[i].write(text, figures[i].value)));
}

static void draw_other_processes(const struct gt_view_table *table, int row, const void *const *list, size_t count)
{
    char text[GT_HUMAN_SIZE + 20];
    double cpu = 0, cpu_time = 0, ram = 0;
    for (size_t i = 0; i < count; i++) {
        const struct gt_view_process *process = list[i];
        cpu += isnan(process->cpu) ? 0 : process->cpu;
        cpu_time += isnan(process->cpu_time) ? 0 : process->cpu_time;
        ram += isnan(process->ram) ? 0 : process->ram;
    }
    snprintf(text, sizeof text, "%zu more", count);
    gt_view_field(table, row, PROCESS_NAME, GT_VIEW_DIM, text);
    gt_view_field(table, row, PROCESS_CPU, GT_VIEW_DIM,
                  table->picture->model->has_ended_processes ? time_text(text, cpu_time) : gt_human_percent(text, cpu));
    gt_view_field(table, row, PROCESS_RAM, GT_VIEW_DIM, gt_view_bytes(table->picture->choice, text, ram));
}

/* A filter leaves some of them. In a narrow box there is room for a small number alone. */
static void write_title(char *title, size_t size, const struct gt_view_picture *picture, int columns, size_t count)
{
    size_t all = picture->model->process_count;
    if (columns < NARROW && (count > 99 || *picture->choice->filter))
        snprintf(title, size, "process");
    else if (columns < NARROW)
        snprintf(title, size, "process (%zu)", count);
    else if (*picture->choice->filter)
        snprintf(title, size, "process (%zu of %zu)", count, all);
    else
        snprintf(title, size, picture->model->has_ended_processes ? "process (%zu in all)" : "process (%zu)", count);
}

void gt_view_processes_draw(const struct gt_view_picture *picture, struct gt_view_box box)
{
    const bool has_gpus = picture->model->gpu_count > 0, is_live = !picture->model->has_ended_processes;
    char title[40];
    size_t count;
    const void **list = list_of(picture, GT_VIEW_PROCESS, &count);
    write_title(title, sizeof title, picture, box.columns, count);
    const struct gt_view_column column[PROCESS_COLUMNS] = {
        {"pid", 7, false},
        {title, 0, true},
        {is_live ? "cpu" : "cpu time", is_live ? 6 : 8, false},
        {"memory", picture->model->has_ended_processes ? -1 : 8, false},
        {"peak", box.columns >= NARROW || picture->model->has_ended_processes ? 8 : -1, false},
        {"gpu mem", has_gpus && is_live && box.columns >= NARROW ? 8 : -1, false},
        {"threads", is_live && box.columns >= 72 ? 7 : -1, false},
        {"read", is_live && box.columns >= WIDE ? 8 : -1, false},
        {"written", is_live && box.columns >= WIDE ? 8 : -1, false},
        {is_live ? "age" : "lived", box.columns >= 96 || (!is_live && box.columns >= NARROW) ? 8 : -1, false},
    };
    const struct gt_view_table table = {picture, box, column, PROCESS_COLUMNS};
    gt_view_titles(&table);
    draw_list(&table, GT_VIEW_PROCESS, list, count, draw_process, draw_other_processes);
    free(list);
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

size_t gt_view_items(const struct gt_view_picture *picture, struct gt_view_item **ret)
{
    const bool hides[] = {picture->choice->hides_blocks, picture->choice->hides_processes};
    const enum gt_view_kind kinds[] = {GT_VIEW_BLOCK, GT_VIEW_PROCESS};
    size_t count = 0, own;
    struct gt_view_item *item = calloc(picture->model->block_count + picture->model->process_count + 1, sizeof *item);
    for (int kind = 0; item && kind < 2; kind++) {
        const void **list = list_of(picture, kinds[kind], &own);
        for (size_t i = 0; i < own && !hides[kind]; i++)
            item[count++] = item_of(kinds[kind], list[i]);
        free(list);
    }
    *ret = item;
    return count;
}

/* ---- The block that is followed ---------------------------------------------------------------------------------- */

const struct gt_view_block *gt_view_block_named(const struct gt_view_model *model, const char *name)
{
    for (size_t i = 0; *name && i < model->block_count; i++)
        if (!strcmp(model->block[i].name, name))
            return &model->block[i];
    return NULL;
}

void gt_view_span(const struct gt_view_picture *picture, double *begin, double *end)
{
    const struct gt_view_choice *choice = picture->choice;
    const struct gt_view_block *block = gt_view_block_named(picture->model, choice->follow);
    *end = picture->model->at;
    *begin = choice->window > 0 && *end > choice->window ? *end - choice->window : 0;
    if (!block || isnan(block->latest))
        return;
    *begin = block->latest;
    if (!isnan(block->latest_elapsed))
        *end = fmin(*end, block->latest + block->latest_elapsed);
    if (*end - *begin < picture->model->period)
        *begin = fmax(0, *end - fmax(picture->model->period, 0.01));
}

/* ---- One alone --------------------------------------------------------------------------------------------------- */

struct area {
    const char *title;
    double value[GT_VIEW_CURVE_MOST];
    double most;
    char text[GT_HUMAN_SIZE]; /* the most */
};

enum { AREAS = 3, TALLEST = 10 };

static int area_width(const struct gt_view_picture *picture)
{
    int width = picture->grid.columns - 2;
    return width > GT_VIEW_CURVE_MOST ? GT_VIEW_CURVE_MOST : width < 0 ? 0 : width;
}

/* One below the other, each with a line of its name and its greatest value. */
static void draw_areas(const struct gt_view_picture *picture, int row, int rows, const struct area *area, int count)
{
    int height = count ? rows / count - 1 : 0, width = area_width(picture);
    height = height > TALLEST ? TALLEST : height;
    for (int i = 0; i < count && height > 0; i++, row += height + 1) {
        gt_cells_print(&picture->grid, row, 1, width, GT_VIEW_DIM, "%s, up to %s", area[i].title, area[i].text);
        gt_cells_area(&picture->grid, row + 1, 1, width, height, area[i].value, area[i].most, GT_VIEW_CURVE);
    }
}

/* A line of the course; false where nothing of it is known. */
static bool take_area(const struct gt_view_picture *picture, struct area *area, const char *title, size_t line,
                      bool is_bytes)
{
    *area = (struct area){.title = title};
    area->most = gt_view_curve(picture, picture->model, line, is_bytes, area_width(picture), area->value);
    if (is_bytes)
        gt_view_bytes(picture->choice, area->text, area->most);
    else
        gt_human_percent(area->text, area->most);
    return area->most > 0;
}

static int draw_process_alone(const struct gt_view_picture *picture, int row, int rows)
{
    const struct gt_view_model *model = picture->model;
    const struct gt_view_process *process = NULL;
    char cpu[GT_HUMAN_SIZE], ram[GT_HUMAN_SIZE], peak[GT_HUMAN_SIZE], age[GT_HUMAN_SIZE];
    size_t line = GT_VIEW_LINES + 2 * model->gpu_count;
    struct area area[AREAS];
    int count = 0, width = picture->grid.columns - 2;
    for (size_t i = 0; i < model->process_count && !process; i++)
        process = model->process[i].pid == picture->choice->chosen.pid ? &model->process[i] : NULL;
    gt_cells_print(&picture->grid, row, 1, width, GT_VIEW_TITLE, " process %d ", (int)picture->choice->chosen.pid);
    if (!process) {
        gt_cells_text(&picture->grid, row + 1, 1, width, GT_VIEW_PLAIN, "it does not live at this moment");
        return row + 2;
    }
    gt_cells_text(&picture->grid, row + 1, 1, width, GT_VIEW_PLAIN,
                  *process->command ? process->command : process->name);
    gt_human_percent(cpu, process->cpu);
    if (model->has_ended_processes)
        gt_human_seconds(cpu, process->cpu_time);
    gt_cells_print(&picture->grid, row + 2, 1, width, GT_VIEW_BOLD, "cpu %s   memory %s   peak %s   %s %s", cpu,
                   gt_view_bytes(picture->choice, ram, process->ram),
                   gt_view_bytes(picture->choice, peak, process->peak), model->has_ended_processes ? "lived" : "age",
                   gt_human_seconds(age, process->age));
    count += take_area(picture, &area[count], "cpu", line + GT_VIEW_ALONE_CPU, false);
    count += take_area(picture, &area[count], "memory", line + GT_VIEW_ALONE_RAM, true);
    count += take_area(picture, &area[count], "GPU memory", line + GT_VIEW_ALONE_GPU, true);
    draw_areas(picture, row + 4, rows - 4, area, count);
    return row + rows;
}

/* Takes how long each of its calls took. */
static void take_calls(const struct gt_view_picture *picture, struct area *area)
{
    const struct gt_view_model *model = picture->model;
    size_t width = (size_t)area_width(picture), count = model->call_count < width ? model->call_count : width;
    *area = (struct area){.title = "how long each call took"};
    for (size_t i = 0; i < width; i++)
        area->value[i] = i < count ? model->call[model->call_count - count + i] : NAN;
    for (size_t i = 0; i < count; i++)
        area->most = fmax(area->most, area->value[i]);
    gt_human_seconds(area->text, area->most);
}

static int draw_block_alone(const struct gt_view_picture *picture, int row, int rows)
{
    const struct gt_view_block *block = gt_view_block_named(picture->model, picture->choice->chosen.name);
    char mean[GT_HUMAN_SIZE], least[GT_HUMAN_SIZE], most[GT_HUMAN_SIZE], now[GT_HUMAN_SIZE];
    struct area area[AREAS];
    int count = 1, width = picture->grid.columns - 2;
    gt_cells_print(&picture->grid, row, 1, width, GT_VIEW_TITLE, " block %s ", picture->choice->chosen.name);
    if (!block) {
        gt_cells_text(&picture->grid, row + 1, 1, width, GT_VIEW_PLAIN, "it has not yet begun at this moment");
        return row + 2;
    }
    gt_cells_print(&picture->grid, row + 1, 1, width, GT_VIEW_BOLD,
                   "now %s   %llu calls   mean %s   least %s   most %s",
                   block->running ? gt_human_seconds(now, block->now) : "-", (unsigned long long)block->calls,
                   gt_human_seconds(mean, block->calls ? block->total / (double)block->calls : NAN),
                   gt_human_seconds(least, block->least), gt_human_seconds(most, block->most));
    take_calls(picture, &area[0]);
    struct gt_view_choice choice = *picture->choice;
    struct gt_view_picture latest = *picture;
    snprintf(choice.follow, sizeof choice.follow, "%s", block->name);
    latest.choice = &choice;
    count += take_area(&latest, &area[count], "memory of the job in the latest call", GT_VIEW_RAM, true);
    count += take_area(&latest, &area[count], "cpu of the job in the latest call", GT_VIEW_CPU, false);
    draw_areas(picture, row + 3, rows - 3, area, count);
    return row + rows;
}

int gt_view_alone_draw(const struct gt_view_picture *picture, int row, int rows)
{
    gt_cells_rule(&picture->grid, row, 0, picture->grid.columns);
    return picture->choice->chosen.kind == GT_VIEW_BLOCK ? draw_block_alone(picture, row, rows)
                                                         : draw_process_alone(picture, row, rows);
}
