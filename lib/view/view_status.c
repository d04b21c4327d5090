/* One line about a job, for the last row of a terminal and the title of its window. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "schema/human.h"
#include "view/view_draw.h"

enum { PARTS = 6, PART_SIZE = 96, LEAST_NAME = 8, GPUS_NAMED = 4 };

double gt_view_left(const struct gt_view_model *model, const struct gt_view_model *before, bool *is_given)
{
    double earlier = before ? before->whole - model->at : model->earlier - model->at;
    double given = model->time_limit - model->at;
    *is_given = false;
    if (model->state != GT_VIEW_RUNNING || model->is_past)
        return NAN;
    if (!isnan(model->progress.left))
        return model->progress.left;
    if (earlier > 0)
        return earlier;
    *is_given = true;
    return given > 0 ? given : NAN;
}

/* "python /home/me/train.py --epochs 20" is known as train.py. */
static void job_name(char *ret, size_t size, const char *command)
{
    static const char *const interpreters[] = {"python", "bash", "sh", "perl", "Rscript", "julia", "ruby", "node"};
    size_t length = strcspn(command, " ");
    const char *second = command[length] ? command + length + 1 : "", *word = command;
    const char *name = memrchr(command, '/', length);
    name = name ? name + 1 : command;
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++)
        if (strncmp(name, interpreters[i], strlen(interpreters[i])) == 0 && *second && *second != '-')
            word = second;
    length = strcspn(word, " ");
    name = memrchr(word, '/', length);
    name = name && name + 1 < word + length ? name + 1 : word;
    length = strcspn(name, " ");
    snprintf(ret, size, "%.*s", (int)length, *name ? name : "job");
}

static void gpu_text(char *ret, const struct gt_view_model *model)
{
    size_t used = 0;
    double sum = 0, count = 0;
    for (size_t i = 0; i < model->gpu_count; i++)
        if (!isnan(model->gpu[i].busy)) {
            sum += model->gpu[i].busy;
            count++;
        }
    *ret = '\0';
    if (!count)
        return;
    used = (size_t)snprintf(ret, PART_SIZE, "  gpu");
    for (size_t i = 0; i < model->gpu_count && model->gpu_count <= GPUS_NAMED; i++)
        if (!isnan(model->gpu[i].busy))
            used += (size_t)snprintf(ret + used, PART_SIZE - used, " %.0f", model->gpu[i].busy * 100);
    if (model->gpu_count > GPUS_NAMED)
        used += (size_t)snprintf(ret + used, PART_SIZE - used, " %.0f", sum / count * 100);
    snprintf(ret + used, PART_SIZE - used, " %%");
}

/* In the order of the line; where there is little room, without what there is in all. */
static void write_parts(char part[PARTS][PART_SIZE], const struct gt_view_model *model, bool is_short)
{
    char first[GT_HUMAN_SIZE], second[GT_HUMAN_SIZE], name[40];
    bool is_given;
    double left = gt_view_left(model, NULL, &is_given);
    memset(part, 0, PARTS * PART_SIZE);
    snprintf(part[0], PART_SIZE, " %s", gt_human_clock(first, model->at));
    if (!isnan(model->ram))
        snprintf(part[1], PART_SIZE, isnan(model->ram_capacity) || is_short ? "  mem %s" : "  mem %s of %s",
                 gt_human_bytes(first, model->ram), gt_human_bytes(second, model->ram_capacity));
    if (!isnan(model->cpu))
        snprintf(part[2], PART_SIZE, isnan(model->cores) || is_short ? "  cpu %s" : "  cpu %s of %.3g",
                 gt_human_number(first, model->cpu), model->cores);
    gpu_text(part[3], model);
    gt_shorten(name, sizeof name, model->progress.name);
    if (*name)
        snprintf(part[4], PART_SIZE, "  %s %llu/%llu", name, (unsigned long long)model->progress.done,
                 (unsigned long long)model->progress.total);
    if (is_given && !isnan(left))
        snprintf(part[5], PART_SIZE, "  %s left", gt_human_clock(first, left));
    else if (!isnan(left))
        snprintf(part[5], PART_SIZE, "  %s", gt_human_about(first, left));
}

static int width_of(const char *text)
{
    struct gt_view_cell cell[2 * PART_SIZE];
    struct gt_view_grid scratch = {2 * PART_SIZE, 1, cell};
    gt_cells_clear(&scratch);
    return gt_cells_text(&scratch, 0, 0, scratch.columns, GT_VIEW_PLAIN, text);
}

void gt_view_status_draw(const struct gt_view_grid *grid, const struct gt_view_model *model)
{
    static const int rank[PARTS] = {0, 1, 5, 4, 2, 3}; /* the dearest first */
    char part[PARTS][PART_SIZE], name[GT_PROGRESS_NAME];
    bool is_shown[PARTS] = {false};
    job_name(name, sizeof name, model->command);
    int room = grid->columns - 1, wanted = width_of(name);
    int least = wanted < LEAST_NAME ? wanted : LEAST_NAME, all = least;
    write_parts(part, model, false);
    for (int i = 0; i < PARTS; i++)
        all += width_of(part[i]);
    if (all > room)
        write_parts(part, model, true);
    for (int i = 0; i < PARTS; i++) {
        int width = width_of(part[rank[i]]);
        is_shown[rank[i]] = width && width + least <= room;
        room -= is_shown[rank[i]] ? width : 0;
    }
    gt_cells_clear(grid);
    int at = 1 + gt_cells_text(grid, 0, 1, room < wanted ? room : wanted, GT_VIEW_PLAIN, name);
    for (int i = 0; i < PARTS; i++)
        if (is_shown[i])
            at += gt_cells_text(grid, 0, at, grid->columns - at, GT_VIEW_PLAIN, part[i]);
}
