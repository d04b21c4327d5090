/* A line about a job that is tracked here. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/past_runs.h"
#include "api/program.h"
#include "api/tracker.h"
#include "base/clock.h"
#include "base/secret.h"
#include "view/view_draw.h"

struct gt_status {
    const struct gt_tracker *tracker;
    struct gt_block_progress *progress; /* NULL: nothing is counted */
    struct gt_view_model model;
    int64_t begin_ns, next_ns; /* CLOCK_MONOTONIC: of the job, and when its blocks are read again */
    bool is_ascii;
};

/* Reading blocks takes one part in so many of the time at most. */
enum { PATIENCE = 100, LONGEST_LINE = 2000 };

static int describe(struct gt_view_model *model, const struct gt_machine *machine)
{
    gt_view_forget_figures(model);
    gt_view_take_limits(model, machine);
    model->state = GT_VIEW_RUNNING;
    model->gpu_count = machine->gpu_length;
    model->gpu = calloc(machine->gpu_length + 1, sizeof *model->gpu);
    snprintf(model->command, sizeof model->command, "%s", machine->command);
    return model->gpu ? 0 : -ENOMEM;
}

/* What hinders it is not told: there is no time to tell then. */
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

int gt_status_open(struct gt_status **ret, const struct gt_tracker *tracker, const struct gt_status_options *options,
                   struct gt_error *error)
{
    const struct gt_machine *machine = &tracker->recorder.machine;
    struct gt_status *status = calloc(1, sizeof *status);
    if (!status || describe(&status->model, machine) < 0) {
        free(status);
        return gt_error_system(error, ENOMEM, "status");
    }
    status->tracker = tracker;
    status->begin_ns = tracker->recorder.start_ns;
    status->is_ascii = options->ascii;
    status->progress = options->blocks ? gt_block_progress_open(options->blocks) : NULL;
    status->model.earlier = earlier_time(machine, options->words);
    *ret = status;
    return 0;
}

static void take_gpus(struct gt_view_model *model, const struct gt_sample *sample)
{
    for (size_t i = GT_FIXED_ROWS; i < sample->row_count; i++) {
        const struct gt_row *row = &sample->row[i];
        if (row->scope == GT_SCOPE_GPU && row->device >= 0 && (size_t)row->device < model->gpu_count)
            model->gpu[row->device].busy = row->value[GT_GPU_UTILIZATION];
    }
}

static void update(struct gt_status *status)
{
    struct gt_view_model *model = &status->model;
    struct gt_tracker *tracker = (struct gt_tracker *)status->tracker;
    int64_t now = gt_clock_ns(CLOCK_MONOTONIC);
    model->at = (double)(now - status->begin_ns) / GT_SECOND;
    pthread_mutex_lock(&tracker->mutex);
    model->ram = gt_recorder_value(&tracker->recorder, GT_SCOPE_COMBINED, GT_RAM);
    model->cpu = gt_recorder_value(&tracker->recorder, GT_SCOPE_COMBINED, GT_CPU_UTILIZATION);
    take_gpus(model, &tracker->recorder.sample);
    pthread_mutex_unlock(&tracker->mutex);
    if (status->progress && now >= status->next_ns) {
        gt_block_progress_read(status->progress);
        status->next_ns = now + (gt_clock_ns(CLOCK_MONOTONIC) - now) * PATIENCE;
    }
    if (status->progress)
        model->progress = gt_block_progress_at(status->progress, (double)gt_clock_ns(CLOCK_REALTIME) / GT_SECOND);
}

void gt_status_text(struct gt_status *status, int columns, char *ret, size_t size)
{
    struct gt_buffer text = {0};
    struct gt_view_cell cells[LONGEST_LINE / 4];
    struct gt_view_grid grid = {columns, 1, cells};
    if (columns > LONGEST_LINE / 4)
        grid.columns = LONGEST_LINE / 4;
    update(status);
    gt_view_status_draw(&grid, &status->model);
    if (status->is_ascii)
        gt_cells_to_ascii(&grid);
    int failed = gt_cells_write(&grid, &text);
    size_t length = failed < 0 ? 0 : strcspn(text.data, "\n");
    snprintf(ret, size, "%.*s", (int)length, failed < 0 ? "" : text.data);
    gt_buffer_release(&text);
}

double gt_status_share(const struct gt_status *status)
{
    bool is_given;
    double left = gt_view_left(&status->model, NULL, &is_given);
    return is_given ? NAN : status->model.at / (status->model.at + left);
}

void gt_status_close(struct gt_status *status)
{
    if (!status)
        return;
    gt_block_progress_close(status->progress);
    free(status->model.gpu);
    free(status);
}
