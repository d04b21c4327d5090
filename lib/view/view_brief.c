#include "view/view_brief.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/store.h"
#include "view/view_model.h"

const char *const gt_view_brief_titles[GT_VIEW_BRIEF_COLUMNS] = {"time", "memory", "peak", "cpu", "gpu", "state"};

static void state_of(char ret[GT_HUMAN_SIZE], const struct gt_view_model *model)
{
    char silence[GT_HUMAN_SIZE];
    if (model->state == GT_VIEW_WAITING)
        snprintf(ret, GT_HUMAN_SIZE, "no sample yet");
    else if (model->state == GT_VIEW_RUNNING)
        snprintf(ret, GT_HUMAN_SIZE, "running");
    else if (model->state == GT_VIEW_SILENT)
        snprintf(ret, GT_HUMAN_SIZE, "silent %.20s", gt_human_clock(silence, model->silence));
    else if (model->exit_status < 0)
        snprintf(ret, GT_HUMAN_SIZE, "ended");
    else
        snprintf(ret, GT_HUMAN_SIZE, "exit %d", model->exit_status);
}

void gt_view_brief_fill(struct gt_view_brief *ret, const struct gt_view_model *model)
{
    char(*text)[GT_HUMAN_SIZE] = ret->text;
    bool is_now = model->state != GT_VIEW_ENDED;
    memset(text, 0, sizeof ret->text);
    snprintf(ret->command, sizeof ret->command, "%s", model->command);
    state_of(text[GT_VIEW_BRIEF_STATE], model);
    if (model->state != GT_VIEW_WAITING && !isnan(model->at))
        gt_human_clock(text[GT_VIEW_BRIEF_TIME], model->at);
    if (!isnan(model->ram_peak))
        gt_human_bytes(text[GT_VIEW_BRIEF_PEAK], model->ram_peak);
    if (is_now && !isnan(model->ram))
        gt_human_bytes(text[GT_VIEW_BRIEF_MEMORY], model->ram);
    if (is_now && !isnan(model->cpu))
        gt_human_number(text[GT_VIEW_BRIEF_CPU], model->cpu);
    if (is_now && !isnan(model->gpu_busy))
        gt_human_percent(text[GT_VIEW_BRIEF_GPU], model->gpu_busy);
}

int gt_view_brief_read(struct gt_view_brief *ret, const char *path, struct gt_error *error)
{
    struct gt_recording *recording;
    struct gt_view_model model = {.state = GT_VIEW_ENDED, .exit_status = -1, .at = NAN};
    int status = gt_recording_open(&recording, path, error);
    if (status < 0)
        return status;
    const struct gt_outcome *outcome = gt_recording_outcome(recording);
    gt_view_forget_figures(&model);
    snprintf(model.command, sizeof model.command, "%s", gt_recording_machine(recording)->command);
    if (outcome && outcome->complete) {
        model.exit_status = outcome->exit_status;
        model.at = outcome->elapsed;
        model.ram_peak = outcome->value[GT_SCOPE_COMBINED][GT_RAM_PEAK];
    }
    gt_recording_close(recording);
    gt_view_brief_fill(ret, &model);
    return 0;
}

void gt_view_brief_draw(const struct gt_view_grid *grid, const struct gt_view_brief *brief)
{
    enum { NAME = 8, GAP = 1, LEAST_COMMAND = 10 };
    static const int width[GT_VIEW_BRIEF_COLUMNS] = {8, 8, 8, 5, 6, 13};
    /* In a narrow terminal these columns are left out, one after the other. */
    static const int dispensable[GT_VIEW_BRIEF_COLUMNS] = {GT_VIEW_BRIEF_GPU,    GT_VIEW_BRIEF_PEAK,
                                                           GT_VIEW_BRIEF_CPU,    GT_VIEW_BRIEF_TIME,
                                                           GT_VIEW_BRIEF_MEMORY, GT_VIEW_BRIEF_STATE};
    enum gt_view_style style = brief ? GT_VIEW_PLAIN : GT_VIEW_DIM;
    bool is_shown[GT_VIEW_BRIEF_COLUMNS];
    int rest = grid->columns - NAME - 2 * GAP, at = grid->columns;
    gt_cells_clear(grid);
    for (int i = 0; i < GT_VIEW_BRIEF_COLUMNS; i++) {
        is_shown[i] = true;
        rest -= width[i] + GAP;
    }
    for (int i = 0; i < GT_VIEW_BRIEF_COLUMNS && rest < LEAST_COMMAND; i++) {
        is_shown[dispensable[i]] = false;
        rest += width[dispensable[i]] + GAP;
    }
    for (int i = GT_VIEW_BRIEF_COLUMNS - 1; i >= 0; i--) {
        if (!is_shown[i])
            continue;
        const char *text = brief ? brief->text[i] : gt_view_brief_titles[i];
        at -= width[i];
        if (i == GT_VIEW_BRIEF_STATE)
            gt_cells_text(grid, 0, at, width[i], style, text);
        else
            gt_cells_print_right(grid, 0, at + width[i], width[i], style, "%s", text);
        at -= GAP;
    }
    gt_cells_print_right(grid, 0, NAME, NAME, style, "%s", brief ? brief->name : "job");
    gt_cells_text(grid, 0, NAME + GAP, at - NAME - GAP, style, brief ? brief->command : "command");
}
