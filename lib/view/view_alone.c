/* The row that is chosen, and one block or process alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/human.h"
#include "view/view_draw.h"

/* ---- Rows that can be chosen ------------------------------------------------------------------------------------- */

bool gt_view_item_is(const struct gt_view_item *item, const struct gt_view_item *other)
{
    return item->kind == other->kind && item->pid == other->pid && !strcmp(item->name, other->name);
}

void gt_view_row_done(const struct gt_view_picture *picture, struct gt_view_box box, int row,
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

struct gt_view_item gt_view_block_item(const struct gt_view_block *block)
{
    struct gt_view_item item = {.kind = GT_VIEW_BLOCK};
    snprintf(item.name, sizeof item.name, "%s", block->name);
    return item;
}

struct gt_view_item gt_view_process_item(const struct gt_view_process *process)
{
    return (struct gt_view_item){.kind = GT_VIEW_PROCESS, .pid = process->pid};
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

/* One below the other, each with a line of its name and its greatest value. */
static void draw_areas(const struct gt_view_picture *picture, int row, int rows, const struct area *area, int count)
{
    int height = count ? rows / count - 1 : 0, width = picture->grid.columns - 2;
    height = height > TALLEST ? TALLEST : height;
    width = width > GT_VIEW_CURVE_MOST ? GT_VIEW_CURVE_MOST : width;
    for (int i = 0; i < count && height > 0; i++, row += height + 1) {
        gt_cells_print(&picture->grid, row, 1, width, GT_VIEW_DIM, "%s, up to %s", area[i].title, area[i].text);
        gt_cells_area(&picture->grid, row + 1, 1, width, height, area[i].value, area[i].most, GT_VIEW_CURVE);
    }
}

static int area_width(const struct gt_view_picture *picture)
{
    int width = picture->grid.columns - 2;
    return width > GT_VIEW_CURVE_MOST ? GT_VIEW_CURVE_MOST : width < 0 ? 0 : width;
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

static int draw_process(const struct gt_view_picture *picture, int row, int rows)
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

static int draw_block(const struct gt_view_picture *picture, int row, int rows)
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
    return picture->choice->chosen.kind == GT_VIEW_BLOCK ? draw_block(picture, row, rows)
                                                         : draw_process(picture, row, rows);
}
