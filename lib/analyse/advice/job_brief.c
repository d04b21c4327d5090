#include "analyse/advice/job_brief.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/advice/job_figures.h"
#include "analyse/gpu/collectives.h"
#include "schema/human.h"

/* The parts of a page on which a finding is seen, by the first analysis that tells more of it. */
static const char *part_of(const struct gt_job_brief *job, const char *see)
{
    static const char *const parts[][2] = {
        {"collectives", GT_JOB_LAST}, {"stragglers", GT_JOB_STEPS},   {"breakdown", GT_JOB_TIME},
        {"idle", GT_JOB_COURSE},      {"api", GT_JOB_COURSE},         {"launches", GT_JOB_COURSE},
        {"dataloader", GT_JOB_TIME},  {"critical_path", GT_JOB_PATH},
    };
    size_t length = strcspn(see, ",");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strlen(parts[i][0]) == length && !strncmp(parts[i][0], see, length) && gt_node_find(job->root, parts[i][1]))
            return parts[i][1];
    return gt_node_find(job->root, GT_JOB_TIME) ? GT_JOB_TIME : "ranks";
}

void gt_job_brief_finding(const struct gt_job_brief *job, struct gt_gain cost, const char *sentence, const char *see)
{
    char detail[160] = "", time[32];
    if (!isnan(cost.percent))
        snprintf(detail, sizeof detail, "costs %.1f %%%s, %s; ", cost.percent,
                 job->input->trace->shown_node ? "" : " of the job", gt_time_words(cost.us * 1e3, time));
    snprintf(detail + strlen(detail), sizeof detail - strlen(detail), "more: gpu-tracker profile %.*s PATH...",
             (int)strcspn(see, ","), see);
    gt_brief_finding(job->node, sentence, detail, part_of(job, see));
}

/* The mean over the ranks that have the figure, in percent of the time of their GPUs; *most is the rank with the most of it. */
static double mean_share(const struct gt_job_brief *job, enum gt_rank_figure figure, size_t *most)
{
    double sum = 0, greatest = -1;
    size_t count = 0;
    for (size_t i = 0; i < job->ranks; i++) {
        double share = gt_percent(job->rank[i].figure[figure], job->rank[i].whole);
        if (isnan(share))
            continue;
        sum += share;
        count++;
        *most = share > greatest ? i : *most;
        greatest = fmax(greatest, share);
    }
    return count ? sum / (double)count : NAN;
}

static void brief_share(const struct gt_job_brief *job, const char *title, enum gt_rank_figure figure,
                        const char *words)
{
    size_t most = 0;
    double share = mean_share(job, figure, &most);
    char value[32], text[200];
    if (isnan(share))
        return;
    snprintf(value, sizeof value, "%.1f %%", share);
    snprintf(text, sizeof text, "%s", words);
    if (job->ranks > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), "; the most on %.80s: %.1f %%",
                 gt_analysis_text(job->input, job->rank[most].node),
                 gt_percent(job->rank[most].figure[figure], job->rank[most].whole));
    gt_brief_line(job->node, &(struct gt_brief_line){.title = title, .value = value, .words = text});
}

struct gt_brief_curve gt_job_brief_curve(const struct gt_numbers *lengths)
{
    struct gt_brief_curve curve;
    double most = 0;
    for (int i = 0; i < GT_BRIEF_CELLS; i++)
        curve.cell[i] = NAN;
    for (size_t i = 0; i < lengths->count; i++) {
        double *cell = &curve.cell[i * GT_BRIEF_CELLS / lengths->count];
        *cell = fmax(isnan(*cell) ? 0 : *cell, lengths->value[i]);
        most = fmax(most, lengths->value[i]);
    }
    for (int i = 0; i < GT_BRIEF_CELLS; i++)
        curve.cell[i] /= most;
    return curve;
}

void gt_job_brief_step(const struct gt_job_brief *job, const struct gt_job_step *step)
{
    char value[32], text[200], words[32];
    snprintf(text, sizeof text, "%.60s: the median of %zu, 95 %% within %s, %zu outlier%s",
             step->mode ? step->mode : "", step->count, gt_time_words(step->p95, words), step->outliers,
             step->outliers == 1 ? "" : "s");
    gt_brief_line(job->node, &(struct gt_brief_line){.title = "step",
                                                     .value = gt_time_words(step->median, value),
                                                     .curve = step->count >= GT_BRIEF_CELLS ? step->curve : NULL,
                                                     .words = text});
}

static void brief_idle(const struct gt_job_brief *job)
{
    size_t most = 0;
    double loading = mean_share(job, GT_RANK_LOADING, &most), host = mean_share(job, GT_RANK_HOST, &most);
    char words[120];
    snprintf(words, sizeof words, "data loading %.1f %%, host %.1f %%", loading, host);
    if (isnan(mean_share(job, GT_RANK_IDLE, &most)))
        brief_share(job, "loading", GT_RANK_LOADING, "of all time waiting for data");
    else
        brief_share(job, "idle", GT_RANK_IDLE, words);
}

static void brief_traces(const struct gt_job_brief *job)
{
    const struct gt_trace *trace = job->input->trace;
    int64_t first = INT64_MAX, last = INT64_MIN;
    struct gt_collectives all;
    int status = gt_collectives_find(job->input, GT_ADVICE_COLLECTIVES, &all);
    uint64_t events = 0;
    char value[32], text[120];
    for (size_t i = 0; i < trace->file_count; i++) {
        const struct gt_trace_file *file = &trace->file[i];
        const struct gt_rank_clock *clock = status < 0 ? NULL : gt_collectives_rank(&all, job->input->node[i]);
        int64_t ahead = clock ? clock->offset : 0;
        events += file->read;
        if (file->first > file->last)
            continue;
        first = file->first - ahead < first ? file->first - ahead : first;
        last = file->last - ahead > last ? file->last - ahead : last;
    }
    gt_collectives_release(&all);
    snprintf(text, sizeof text, "from the first to the last of %" PRIu64 " events in %zu %s", events,
             (size_t)trace->file_count, trace->file_count == 1 ? "file" : "files");
    if (first <= last)
        gt_brief_line(job->node, &(struct gt_brief_line){.title = "traces",
                                                         .value = gt_time_words((double)(last - first), value),
                                                         .words = text});
}

/* The folder of several files, or the file. */
static void write_name(const struct gt_trace *trace, char *text, size_t size)
{
    const char *path = trace->file_count ? trace->file[0].path : "", *slash = strrchr(path, '/');
    if (trace->file_count > 1 && slash && slash > path) {
        const char *begin = slash;
        while (begin > path && begin[-1] != '/')
            begin--;
        snprintf(text, size, "%.*s", (int)(slash - begin), begin);
    } else {
        snprintf(text, size, "%s", slash ? slash + 1 : path);
    }
}

void gt_job_brief_begin(struct gt_job_brief *job, const struct gt_analysis_input *input, struct gt_node *root,
                        const struct gt_rank_figures *rank, size_t ranks)
{
    *job = (struct gt_job_brief){input, root, rank, ranks, NULL};
    size_t most = 0;
    double compute = mean_share(job, GT_RANK_COMPUTE, &most);
    char name[200], title[260], outcome[120];
    write_name(job->input->trace, name, sizeof name);
    snprintf(title, sizeof title, "%s", name);
    if (job->ranks && input->trace->shown_node)
        snprintf(title, sizeof title, "%s: %.50s", name, gt_analysis_text(input, rank->node));
    else if (job->ranks)
        snprintf(title, sizeof title, "%s: %zu rank%s", name, job->ranks, job->ranks == 1 ? "" : "s");
    if (isnan(compute))
        snprintf(outcome, sizeof outcome, "%s",
                 !job->ranks && input->trace->profile_count ? "a profile of functions" : "what GPUs did is not known");
    else
        snprintf(outcome, sizeof outcome, "GPUs compute %.1f %% of their time", compute);
    job->node = gt_brief_add(job->root, title, outcome, false);
}

void gt_job_brief_end(const struct gt_job_brief *job)
{
    brief_share(job, "compute", GT_RANK_COMPUTE, "of the time between the first and last work of a GPU");
    brief_share(job, "comm.", GT_RANK_COMMUNICATION, "exposed communication: no computation hides it");
    brief_idle(job);
    brief_traces(job);
    gt_brief_more(job->node, "all figures: gpu-tracker profile PATH... -o job.html");
}

void gt_job_brief_left_out(const struct gt_job_brief *job, const char *what)
{
    char sentence[200];
    snprintf(sentence, sizeof sentence, "Left out: %s", what);
    gt_brief_warning(job->node, sentence, NULL);
}

void gt_job_brief_limits(const struct gt_job_brief *job, const char *limits, size_t findings)
{
    if (limits)
        gt_brief_line(job->node, &(struct gt_brief_line){.title = "not known", .words = limits});
    else if (!findings)
        gt_brief_line(job->node, &(struct gt_brief_line){.title = "findings",
                                                         .words = "nothing that costs 5 % or more was found"});
}
