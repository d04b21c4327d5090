#include "analyse/job/job_analysis.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "analyse/display.h"
#include "blocks/distribution.h"

static const struct gt_job_analysis *const analyses[] = {&gt_job_utilization, &gt_job_stragglers, &gt_job_health};

const struct gt_job_analysis *gt_job_analysis_number(size_t index)
{
    return index < sizeof analyses / sizeof *analyses ? analyses[index] : NULL;
}

const struct gt_job_analysis *gt_job_analysis_find(const char *name)
{
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses; i++)
        if (strcmp(analyses[i]->name, name) == 0)
            return analyses[i];
    return NULL;
}

static int check(const struct gt_job_analysis *analysis, const struct gt_job_options *options, struct gt_error *error)
{
    const char *refused = options->metric && !analysis->has_metric   ? "metric"
                          : options->select && !analysis->has_blocks ? "select"
                                                                     : NULL;
    return refused ? gt_error_set(error, EINVAL, "%s of a job takes no %s", analysis->name, refused) : 0;
}

void gt_job_add_dropped(struct gt_node *section, const struct gt_job *job)
{
    double samples;
    size_t ranks = gt_job_dropped(&samples, job);
    gt_node_flags(gt_report_integer(section, "dropped", "Samples lost in recording", (int64_t)samples, NULL),
                  ranks ? 0 : GT_ONLY_DATA);
}

static void add_job(struct gt_node *root, const struct gt_job *job)
{
    struct gt_node *section = gt_report_section(root, "job", "Job");
    struct gt_buffer names = {0};
    gt_job_names(&names, job);
    gt_report_text(section, "name", "Name", names.length ? names.data : NULL);
    gt_buffer_release(&names);
    gt_report_integer(section, "recordings", "Recordings", (int64_t)job->count, NULL);
    gt_report_integer(section, "nodes", "Nodes", (int64_t)job->nodes, NULL);
    gt_report_number(section, "elapsed", "Time", job->end - job->begin, "seconds");
    gt_job_add_dropped(section, job);
    gt_node_hide_missing(section);
}

int gt_job_report_end(struct gt_report **ret, struct gt_report *report, const struct gt_job *job, int status,
                      struct gt_error *error)
{
    if (status >= 0)
        status = gt_report_failed(report) ? -ENOMEM : gt_query_status(job->query);
    if (status == -ENOMEM)
        gt_error_system(error, ENOMEM, "%s", job->source->name);
    if (status < 0)
        gt_report_free(report);
    else
        *ret = report;
    return status < 0 ? status : 0;
}

int gt_job_analyse(struct gt_report **ret, const struct gt_job_analysis *analysis, const struct gt_job *job,
                   const struct gt_job_options *options, struct gt_error *error)
{
    struct gt_report *report;
    int status = check(analysis, options, error);
    if (status >= 0)
        status = gt_report_new(&report, analysis->type, error);
    if (status < 0)
        return status;
    report->layout = GT_LAYOUT_AMOUNTS;
    add_job(&report->root, job);
    status = analysis->build(&report->root, job, options, error);
    return gt_job_report_end(ret, report, job, status, error);
}

/* ---- What analyses share ---- */

void gt_job_hide_empty(struct gt_table *table)
{
    if (table && !gt_table_rows(table))
        gt_table_flags(table, GT_ONLY_DATA);
}

void gt_job_verdict(struct gt_node *root, struct gt_table *findings, const char *none)
{
    if (gt_table_rows(findings))
        return;
    gt_job_hide_empty(findings);
    gt_node_flags(gt_report_text(root, "verdict", "Verdict", none), GT_ONLY_PEOPLE);
}

void gt_job_put_rank(struct gt_buffer *out, const struct gt_job *job, size_t member)
{
    int number = gt_job_member_number(job, member);
    if (number < 0)
        gt_buffer_text(out, job->rank[job->member[member].rank].path);
    else
        gt_buffer_printf(out, "rank %d", number);
    if (number >= 0)
        gt_job_put_launch(out, job, gt_job_member_launch(job, member));
    gt_buffer_printf(out, " on %s", gt_job_member_node_name(job, member));
}

/* ---- Utilization: how much of a metric each rank had, and the spread over the ranks ---- */

enum { COLUMNS = 1024, USUAL = 4 };
static const char *const usual[USUAL] = {"gpu_utilization", "cpu_utilization", "ram", "gpu_ram"};

/* Returns the mean of each rank of all metrics: metric mean. */
static struct gt_rows all_means(const struct gt_job_course *course, size_t count)
{
    size_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += course[i].rows.count;
    struct gt_rows rows = gt_rows_new(course->job->query, all);
    uint32_t *metric = gt_rows_add_keys(&rows, "metric", NULL);
    double *mean = gt_rows_add_reals(&rows, "mean");
    for (size_t i = 0, row = 0; i < count && rows.count; i++)
        for (size_t k = 0; k < course[i].rows.count; k++, row++) {
            metric[row] = (uint32_t)i;
            mean[row] = gt_rows_reals(&course[i].rows, "mean")[k];
        }
    return rows;
}

static void add_spread(struct gt_node *root, const struct gt_job_course *course, size_t count)
{
    static const struct gt_job_column columns[] = {
        {"metric", "Metric", NULL, GT_COLUMN_ONLY_DATA, "name"},
        {"metric", "Metric", NULL, GT_COLUMN_ONLY_PEOPLE, "words"},
        {"unit", "Unit", NULL, GT_COLUMN_ONLY_DATA, NULL},
        {"unit", "Unit", NULL, GT_COLUMN_UNIT, NULL},
        {"ranks", "Ranks", NULL, 0, "count"},
        GT_JOB_SPREAD_COLUMNS(0),
        {"imbalance", "Imbalance (most / mean - 1)", NULL, GT_COLUMN_AS_IS, NULL},
        {NULL, NULL, NULL, 0, NULL}};
    struct gt_rows means = all_means(course, count), rows = gt_job_spread(&means, "metric", "mean");
    const uint32_t *metric = gt_rows_keys(&rows, "metric");
    const char **name = gt_job_add_texts(&rows, "name"), **words = gt_job_add_texts(&rows, "words"),
               **unit = gt_job_add_texts(&rows, "unit");
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_job_course *of = &course[metric[i]];
        struct gt_buffer shown = {0};
        char text[GT_JOB_WORDS];
        gt_buffer_printf(&shown, *of->unit ? "%s (%s)" : "%s", gt_job_metric_words(text, of->subject.metric), of->unit);
        name[i] = of->name;
        words[i] = gt_job_keep_text(course->job, &shown);
        unit[i] = of->unit;
    }
    gt_job_table(root, course->job, "spread", "Means of the ranks", GT_KEYED | GT_BRIEF, &rows, columns);
}

/* Add percentiles over the time of each rank. */
static void add_percentiles(struct gt_rows *rows, const struct gt_job_course *course)
{
    double *p50 = gt_rows_add_reals(rows, "p50"), *p95 = gt_rows_add_reals(rows, "p95");
    for (size_t i = 0; i < rows->count; i++) {
        struct gt_distribution values = {0};
        for (size_t k = 0; k < course->columns; k++)
            gt_distribution_add(&values, course->column[i * course->columns + k]);
        p50[i] = gt_distribution_percentile(&values, 50);
        p95[i] = gt_distribution_percentile(&values, 95);
        gt_distribution_release(&values);
    }
}

static void add_ranks(struct gt_node *root, const struct gt_job_course *course, int top)
{
    static const char *const off[] = {"", "alone", "with its node"};
    const char *unit = *course->unit ? course->unit : NULL;
    unsigned scale = strcmp(course->unit, "bytes") ? 0 : GT_COLUMN_SCALED;
    const struct gt_job_column columns[] = {GT_JOB_RANK_COLUMNS,
                                            {"mean", "Mean", unit, scale, "value"},
                                            {"p50", "Median", unit, scale, NULL},
                                            {"p95", "p95", unit, scale, NULL},
                                            {"most", "Most", unit, scale, NULL},
                                            {"ratio", "Times the median rank", NULL, 0, NULL},
                                            {"off", "Off", NULL, 0, NULL},
                                            {NULL, NULL, NULL, 0, NULL}};
    bool is_of_nodes = course->subject.scope == GT_SCOPE_SYSTEM;
    struct gt_rows rows = course->rows;
    char words[GT_JOB_WORDS], title[2 * GT_JOB_WORDS], few[2 * GT_JOB_WORDS];
    gt_job_metric_words(words, course->subject.metric);
    snprintf(title, sizeof title, "%s by %s", words, is_of_nodes ? "node" : "rank");
    snprintf(few, sizeof few, "%s: the least, the most, and those that are off", words);
    gt_rows_rename(&rows, "mean", "value");
    gt_job_score(&rows, is_of_nodes ? "" : "job", course->column, course->columns);
    add_percentiles(&rows, course);
    struct gt_rows_column *column = gt_rows_find_of(&rows, "off", strlen("off"));
    if (column)
        column->words = off;
    gt_job_list(root, course->job,
                &(struct gt_job_listing){
                    .key = "ranks", .title = title, .few_title = few, .order = "value", .shown = "off", .top = top},
                &rows, columns);
}

/* Add the spread of each usual metric, and the ranks of the first; or both of one metric. */
static int build(struct gt_node *root, const struct gt_job *job, const struct gt_job_options *options,
                 struct gt_error *error)
{
    struct gt_job_course course[USUAL];
    struct gt_job_subject subject[USUAL];
    size_t count = options->metric ? 1 : USUAL, first = 0;
    int status = 0;
    for (size_t i = 0; i < count && status >= 0; i++)
        status = gt_job_subject_named(&subject[i], job, options->metric ? options->metric : usual[i], error);
    if (status >= 0)
        status = gt_job_courses_read(course, count, job, subject, COLUMNS, error);
    if (status >= 0 && options->metric && !course->rows.count)
        status = gt_job_course_absent(job, options->metric, error);
    if (status < 0)
        return status;
    add_spread(root, course, count);
    while (first < count && !course[first].rows.count)
        first++;
    if (first < count)
        add_ranks(root, &course[first], options->top);
    if (!options->metric && gt_job_too_short(job))
        gt_node_flags(gt_report_text(root, "reason", "No utilization", gt_job_too_short(job)), GT_ONLY_PEOPLE);
    return 0;
}

const struct gt_job_analysis gt_job_utilization = {
    .name = "utilization", .type = "profile_utilization", .has_metric = true, .build = build};
