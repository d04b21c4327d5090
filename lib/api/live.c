/* A job that runs, as a page: its recording is read on from where it was read to, into figures of bounded size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "aggregate/summary.h"
#include "analyse/blocks/blocks.h"
#include "analyse/usage/usage.h"
#include "api/program.h"
#include "report/page/page.h"
#include "store/store.h"

struct gt_live {
    char *path;
    struct stat file;
    struct gt_recording_place place;
    struct gt_summary summary;
    struct gt_report *report; /* as of the last update */
    bool has_begun, has_ended;
};

/* All that was read. The spans alone are kept of the course: they do not grow. */
static void begin_anew(struct gt_live *live)
{
    gt_summary_release(&live->summary);
    gt_summary_init(&live->summary);
    live->has_begun = false;
    live->summary.course.is_fine = live->summary.course.is_bounded = true;
}

int gt_live_open(struct gt_live **ret, const char *path, struct gt_error *error)
{
    struct gt_live *live = calloc(1, sizeof *live);
    if (live)
        gt_summary_init(&live->summary);
    if (!live || !(live->path = strdup(path))) {
        free(live);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    begin_anew(live);
    *ret = live;
    return 0;
}

void gt_live_close(struct gt_live *live)
{
    if (!live)
        return;
    gt_report_free(live->report);
    gt_summary_release(&live->summary);
    free(live->path);
    free(live);
}

static bool is_another_file(struct gt_live *live)
{
    struct stat file;
    if (stat(live->path, &file) < 0)
        return false; /* opening it says why */
    bool is_another = live->has_begun && (file.st_ino != live->file.st_ino || file.st_dev != live->file.st_dev);
    live->file = file;
    return is_another;
}

/* To where it was read to last time; a recording in CSV is read from its start. */
static int seek(struct gt_live *live, struct gt_recording *recording)
{
    int status = gt_recording_detail(recording, true);
    if (status >= 0 && live->has_begun && gt_recording_begin_after(recording, &live->place) < 0)
        begin_anew(live);
    return status;
}

static int read_samples(struct gt_live *live, struct gt_recording *recording, struct gt_error *error)
{
    const struct gt_sample *sample;
    struct gt_error bad = {0};
    int status;
    while ((status = gt_recording_next(recording, &sample, &bad)) > 0 || status == -EBADMSG) {
        if (status < 0)
            continue;
        if (gt_summary_add(&live->summary, sample) < 0)
            return gt_error_system(error, ENOMEM, "%s", live->path);
        gt_recording_place(recording, &live->place);
        live->has_begun = true;
    }
    return status < 0 ? gt_error_copy(error, &bad) : 0;
}

static int build_report(struct gt_live *live, struct gt_recording *recording, struct gt_error *error)
{
    const struct gt_outcome *recorded = gt_recording_outcome(recording);
    struct gt_outcome outcome;
    if (recorded)
        outcome = *recorded;
    else
        gt_summary_outcome(&live->summary, &outcome);
    outcome.records = *gt_recording_process_records(recording);
    live->has_ended = recorded && recorded->complete;
    gt_report_free(live->report);
    live->report = NULL;
    struct gt_usage usage = {.machine = gt_recording_machine(recording),
                             .summary = &live->summary,
                             .outcome = &outcome,
                             .recording = live->path};
    int status = gt_usage_report(&live->report, &usage, error);
    struct gt_blocks_options blocks = {.size = sizeof blocks, .tracking_file = live->path, .skip_bad_rows = true};
    return status < 0 ? status : gt_blocks_page(live->report, &blocks, error);
}

int gt_live_update(struct gt_live *live, struct gt_error *error)
{
    struct gt_recording *recording = NULL;
    if (is_another_file(live))
        begin_anew(live);
    int status = gt_recording_open(&recording, live->path, error);
    if (status >= 0 && (status = seek(live, recording)) < 0)
        gt_error_system(error, -status, "%s", live->path);
    if (status >= 0)
        status = read_samples(live, recording, error);
    if (status >= 0)
        status = build_report(live, recording, error);
    gt_recording_close(recording);
    return status;
}

int gt_live_has_ended(const struct gt_live *live)
{
    return live->has_ended;
}

int gt_live_page(struct gt_live *live, const char *feed, char **ret, size_t *length, struct gt_error *error)
{
    if (!live->report)
        return gt_error_set(error, EINVAL, "%s: it was not read yet", live->path);
    live->report->feed = gt_report_keep(live->report, feed);
    return gt_report_render(live->report, "html", ret, length, error);
}

int gt_live_state(struct gt_live *live, char **ret, size_t *length, struct gt_error *error)
{
    struct gt_buffer text = {0};
    if (!live->report)
        return gt_error_set(error, EINVAL, "%s: it was not read yet", live->path);
    int status = gt_page_state(live->report, &text);
    gt_buffer_give(&text, status, ret, length);
    return status < 0 ? gt_error_system(error, -status, "%s", live->path) : 0;
}
