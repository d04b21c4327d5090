/* Which rows a scrape has, and their labels. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/exporter.h"
#include "base/grow.h"

static int add_row(struct gt_exporter *exporter, enum gt_scope scope, const double *value)
{
    size_t capacity = exporter->row_capacity; /* of both arrays */
    if (GT_GROW_TO(exporter->row, capacity, exporter->row_count + 1) < 0 ||
        GT_GROW_TO(exporter->row_labels, exporter->row_capacity, exporter->row_count + 1) < 0)
        return -ENOMEM;
    exporter->row[exporter->row_count] = (struct gt_exposition_row){.scope = scope, .value = value};
    exporter->row_labels[exporter->row_count++] = exporter->labels.length;
    return 0;
}

struct label {
    const char *name, *value;
};

static int add(struct gt_exporter *exporter, enum gt_scope scope, const double *value, const struct label *label,
               size_t count)
{
    struct gt_buffer text = {0};
    gt_exposition_label(&text, "host", exporter->host);
    for (size_t i = 0; i < count; i++)
        gt_exposition_label(&text, label[i].name, label[i].value);
    int status = add_row(exporter, scope, value);
    gt_buffer_append(&exporter->labels, text.data ? text.data : "", text.length);
    gt_buffer_char(&exporter->labels, 0);
    status = text.failed ? text.failed : status;
    gt_buffer_release(&text);
    return status;
}

static bool has_any(const double *value)
{
    for (int id = 0; id < GT_METRIC_COUNT; id++)
        if (!isnan(value[id]))
            return true;
    return false;
}

enum { JOB_LABELS = 4 };

/* A job's own figures, and those on each GPU that it uses. */
static int add_job(struct gt_exporter *exporter, const double *value, double (*gpu)[GT_METRIC_COUNT],
                   const struct gt_frame *frame, const struct label of_job[JOB_LABELS])
{
    struct label label[JOB_LABELS + 2];
    memcpy(label, of_job, JOB_LABELS * sizeof *label);
    int status = add(exporter, GT_SCOPE_COMBINED, value, label, JOB_LABELS);
    for (size_t i = 0; i < frame->device_count && status >= 0; i++) {
        const struct gt_device *device = &frame->device[i];
        label[JOB_LABELS] = (struct label){"uuid", device->uuid};
        label[JOB_LABELS + 1] = (struct label){"parent", device->parent < 0 ? "" : frame->device[device->parent].uuid};
        if (has_any(gpu[i]))
            status = add(exporter, GT_SCOPE_COMBINED, gpu[i], label, JOB_LABELS + 2);
    }
    return status;
}

static int add_followed(struct gt_exporter *exporter, const struct gt_exporter_job *job)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)job->pid);
    const struct label label[JOB_LABELS] = {
        {"pid", pid}, {"user", job->user}, {"job_id", job->identity.job}, {"command", job->identity.command}};
    return add_job(exporter, job->value, job->gpu, &job->tracker->recorder.sampler.frame, label);
}

static int add_group(struct gt_exporter *exporter, const struct gt_job_groups_group *group)
{
    bool is_job = exporter->groups.by_slurm;
    struct label label[JOB_LABELS] = {
        {"user", group->user}, {"job_id", group->job}, {"command", group->command}, {"", ""}};
    if (group->is_other)
        label[is_job ? 1 : 2].value = "other";
    return add_job(exporter, group->value, group->gpu, &exporter->sampler.frame, label);
}

static int add_gpus(struct gt_exporter *exporter)
{
    const struct gt_frame *frame = &exporter->sampler.frame;
    int status = 0;
    for (size_t i = GT_FIXED_ROWS; i < exporter->sample.row_count && status >= 0; i++) {
        const struct gt_row *row = &exporter->sample.row[i];
        const struct gt_device *device = &frame->device[row->device];
        const char *parent = device->parent < 0 ? "" : frame->device[device->parent].uuid;
        const struct label label[] = {{"uuid", device->uuid}, {"parent", parent}};
        status = add(exporter, GT_SCOPE_GPU, row->value, label, sizeof label / sizeof *label);
    }
    return status;
}

int gt_exporter_rows(struct gt_exporter *exporter)
{
    exporter->row_count = 0;
    gt_buffer_clear(&exporter->labels);
    int status = add(exporter, GT_SCOPE_SYSTEM, exporter->system, NULL, 0);
    if (status >= 0)
        status = add_gpus(exporter);
    for (size_t i = 0; i < exporter->job_count && status >= 0; i++)
        if (exporter->job[i].tracker)
            status = add_followed(exporter, &exporter->job[i]);
    for (size_t i = 0; exporter->has_crowd && i <= exporter->groups.most && status >= 0; i++)
        if (exporter->groups.group[i].is_used)
            status = add_group(exporter, &exporter->groups.group[i]);
    if (status >= 0)
        status = exporter->labels.failed;
    for (size_t i = 0; i < exporter->row_count && status >= 0; i++)
        exporter->row[i].labels = exporter->labels.data + exporter->row_labels[i];
    return status;
}
