#include "analyse/job/job_analysis.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
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

int gt_job_analyse(struct gt_report **ret, const struct gt_job_analysis *analysis, const struct gt_job *job,
                   const struct gt_job_options *options, struct gt_error *error)
{
    struct gt_report *report;
    int status = check(analysis, options, error);
    if (status < 0)
        return status;
    status = gt_report_new(&report, analysis->type, error);
    if (status < 0)
        return status;
    gt_report_layout(report, GT_LAYOUT_AMOUNTS);
    add_job(gt_report_root(report), job);
    status = analysis->build(gt_report_root(report), job, options, error);
    if (status >= 0 && gt_report_failed(report))
        status = -ENOMEM;
    if (status == -ENOMEM)
        gt_error_system(error, ENOMEM, "%s", job->source->name);
    if (status < 0)
        gt_report_free(report);
    else
        *ret = report;
    return status < 0 ? status : 0;
}

/* ---- Lists of ranks ---- */

enum { FEW = 10, RANKS_IN_TEXT = 32 };

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

void gt_job_column(struct gt_table *table, const char *key, const char *title, enum gt_cell_kind kind, const char *unit,
                   unsigned flags)
{
    gt_table_column(table, key, title, kind, unit);
    gt_table_column_flags(table, flags);
}

void gt_job_spread_columns(struct gt_table *table, unsigned flags)
{
    static const char *const columns[][2] = {{"least", "Least"},        {"quarter", "p25"}, {"median", "Median"},
                                             {"three_quarters", "p75"}, {"most", "Most"},   {"mean", "Mean"}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        gt_job_column(table, columns[i][0], columns[i][1], GT_CELL_NUMBER, NULL, flags);
}

void gt_job_spread_cells(struct gt_table *table, const struct gt_spread *spread)
{
    const double cells[] = {spread->least,          spread->quarter, spread->median,
                            spread->three_quarters, spread->most,    spread->mean};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        gt_table_number(table, cells[i]);
}

void gt_job_launch_column(struct gt_table *table, const struct gt_job *job)
{
    if (job->launches > 1)
        gt_table_column(table, "job", "Job", GT_CELL_TEXT, NULL);
}

void gt_job_launch_cell(struct gt_table *table, const struct gt_job *job, size_t launch)
{
    if (job->launches > 1)
        gt_table_text(table, job->launch[launch]);
}

void gt_job_rank_columns(struct gt_table *table, const struct gt_job *job)
{
    gt_table_column(table, "rank", "Rank", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "node", "Node", GT_CELL_TEXT, NULL);
    gt_job_launch_column(table, job);
}

void gt_job_rank_cells(struct gt_table *table, const struct gt_job *job, size_t member)
{
    int number = gt_job_member_number(job, member);
    number < 0 ? gt_table_missing(table) : gt_table_integer(table, number);
    gt_table_text(table, gt_job_member_node_name(job, member));
    gt_job_launch_cell(table, job, gt_job_member_launch(job, member));
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

struct place {
    double value;
    size_t row;
};

/* Unknown values are last. */
static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    return GT_ORDER_BY(isnan(a->value) - isnan(b->value), GT_ORDER(a->value, b->value), GT_ORDER(a->row, b->row));
}

static struct gt_table *begin_table(struct gt_node *root, const struct gt_job_listing *listing, const char *key,
                                    const char *title, unsigned flags)
{
    struct gt_table *table = gt_report_table(root, key, title);
    gt_table_flags(table, GT_BRIEF | GT_FEWER_COLUMNS | flags);
    listing->add_columns(table, listing->context);
    return table;
}

/* Add the rows at both ends, and up to RANKS_IN_TEXT of those to be shown anyway, in the order of values. */
static int add_few(struct gt_node *root, const struct gt_job_listing *listing)
{
    struct place *place = calloc(listing->count, sizeof *place);
    struct gt_buffer key = {0};
    size_t top = (size_t)(listing->top ? listing->top : FEW), known = 0, shown = 0;
    if (!place)
        return -ENOMEM;
    for (size_t i = 0; i < listing->count; i++) {
        place[i] = (struct place){listing->value[i], i};
        known += !isnan(listing->value[i]);
    }
    qsort(place, listing->count, sizeof *place, compare_places);
    gt_buffer_printf(&key, "%s_at_the_ends", listing->key);
    struct gt_table *table = key.failed ? NULL
                                        : begin_table(root, listing, key.data, listing->few_title,
                                                      GT_ONLY_PEOPLE | GT_NOT_ON_PAGE);
    for (size_t i = 0; i < listing->count && table; i++) {
        bool is_end = i < known && (i < top || i + top >= known);
        bool is_shown = !is_end && listing->is_shown && listing->is_shown[place[i].row] && shown++ < RANKS_IN_TEXT;
        if (is_end || is_shown)
            listing->add_row(table, listing->context, place[i].row);
    }
    gt_buffer_release(&key);
    free(place);
    return table ? 0 : -ENOMEM;
}

int gt_job_list(struct gt_node *root, const struct gt_job_listing *listing)
{
    bool is_whole = listing->top < 0 || listing->count <= RANKS_IN_TEXT;
    struct gt_table *all = begin_table(root, listing, listing->key, listing->title, is_whole ? 0 : GT_NOT_IN_TEXT);
    for (size_t i = 0; i < listing->count; i++)
        listing->add_row(all, listing->context, i);
    return is_whole ? 0 : add_few(root, listing);
}

/* ---- Utilization: how much of a metric each rank had, and the spread over the ranks ---- */

enum { COLUMNS = 1024 };

static struct gt_table *begin_spread(struct gt_node *root)
{
    struct gt_table *table = gt_report_table(root, "spread", "Means of the ranks");
    gt_table_flags(table, GT_KEYED | GT_BRIEF);
    gt_job_column(table, "metric", "Metric", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_DATA);
    gt_job_column(table, "metric", "Metric", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_PEOPLE);
    gt_job_column(table, "unit", "Unit", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_DATA);
    gt_job_column(table, "unit", "Unit", GT_CELL_TEXT, NULL, GT_COLUMN_UNIT);
    gt_table_column(table, "ranks", "Ranks", GT_CELL_INTEGER, NULL);
    gt_job_spread_columns(table, 0);
    gt_job_column(table, "imbalance", "Imbalance (most / mean - 1)", GT_CELL_NUMBER, NULL, GT_COLUMN_AS_IS);
    return table;
}

static double *means_of(const struct gt_job_course *course)
{
    double *mean = calloc(course->count + 1, sizeof *mean);
    for (size_t i = 0; i < course->count && mean; i++)
        mean[i] = course->row[i].mean;
    return mean;
}

static void add_names(struct gt_table *table, const struct gt_job_course *course)
{
    char words[GT_JOB_WORDS], shown[2 * GT_JOB_WORDS];
    const char *unit = gt_job_course_unit(course);
    gt_job_metric_words(words, course->subject.metric);
    snprintf(shown, sizeof shown, "%s%s%.40s%s", words, *unit ? " (" : "", unit, *unit ? ")" : "");
    gt_table_text(table, course->name);
    gt_table_text(table, shown);
    gt_table_text(table, unit);
    gt_table_text(table, unit);
}

static int add_spread(struct gt_table *table, const struct gt_job_course *course)
{
    struct gt_spread spread;
    double *mean = means_of(course);
    int status = mean ? gt_spread_of(&spread, mean, course->count) : -ENOMEM;
    free(mean);
    if (status < 0)
        return status;
    add_names(table, course);
    gt_table_integer(table, (int64_t)spread.count);
    gt_job_spread_cells(table, &spread);
    gt_table_number(table, gt_spread_imbalance(&spread));
    return 0;
}

struct by_rank {
    const struct gt_job_course *course;
    const struct gt_rank_score *score;
};

static void add_columns(struct gt_table *table, const void *context)
{
    const struct by_rank *by = context;
    const char *unit = gt_job_course_unit(by->course);
    static const char *const columns[][2] = {{"mean", "Mean"}, {"p50", "Median"}, {"p95", "p95"}, {"most", "Most"}};
    gt_job_rank_columns(table, by->course->job);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gt_job_column(table, columns[i][0], columns[i][1], GT_CELL_NUMBER, *unit ? unit : NULL,
                      strcmp(unit, "bytes") ? 0 : GT_COLUMN_SCALED);
    }
    gt_table_column(table, "ratio", "Times the median rank", GT_CELL_NUMBER, NULL);
    gt_table_column(table, "off", "Off", GT_CELL_TEXT, NULL);
}

static void add_row(struct gt_table *table, const void *context, size_t number)
{
    const struct by_rank *by = context;
    const struct gt_job_course_row *row = &by->course->row[number];
    const struct gt_rank_score *score = &by->score[number];
    struct gt_distribution values = {0};
    for (size_t i = 0; i < by->course->columns; i++)
        gt_distribution_add(&values, row->column[i]);
    gt_job_rank_cells(table, by->course->job, row->member);
    gt_table_number(table, row->mean);
    gt_table_number(table, gt_distribution_percentile(&values, 50));
    gt_table_number(table, gt_distribution_percentile(&values, 95));
    gt_table_number(table, row->most);
    gt_table_number(table, score->ratio);
    gt_table_text(table, score->with_node ? "with its node" : score->is_off ? "alone" : "");
    gt_distribution_release(&values);
}

static int list_ranks(struct gt_node *root, const struct gt_job_course *course, const struct gt_rank_score *score,
                      const double *mean, const bool *is_off, int top)
{
    struct by_rank by = {course, score};
    struct gt_buffer title = {0}, few = {0};
    char words[GT_JOB_WORDS];
    gt_job_metric_words(words, course->subject.metric);
    gt_buffer_printf(&title, "%s by %s", words, course->subject.scope == GT_SCOPE_SYSTEM ? "node" : "rank");
    gt_buffer_printf(&few, "%s: the least, the most, and those that are off", words);
    int status = title.failed || few.failed ? -ENOMEM : 0;
    if (!status)
        status = gt_job_list(root, &(struct gt_job_listing){.job = course->job,
                                                            .key = "ranks",
                                                            .title = title.data,
                                                            .few_title = few.data,
                                                            .count = course->count,
                                                            .value = mean,
                                                            .is_shown = is_off,
                                                            .top = top,
                                                            .add_columns = add_columns,
                                                            .add_row = add_row,
                                                            .context = &by});
    gt_buffer_release(&title);
    gt_buffer_release(&few);
    return status;
}

/* Score nodes, or ranks within their steps. */
static int find_scores(struct gt_rank_score *ret, const struct gt_job_course *course, const double *mean,
                       const size_t *node)
{
    const struct gt_job *job = course->job;
    size_t *launch = calloc(course->count + 1, sizeof *launch);
    for (size_t i = 0; i < course->count && launch && course->subject.scope != GT_SCOPE_SYSTEM; i++)
        launch[i] = gt_job_member_launch(job, course->row[i].member);
    const struct gt_rank_figures figures = {course->count, course->columns, job->nodes,   mean, course->columns_of_all,
                                            node,          launch,          job->launches};
    int status = launch ? gt_rank_scores(&figures, NULL, ret, NULL) : -ENOMEM;
    free(launch);
    return status;
}

static int add_ranks(struct gt_node *root, const struct gt_job_course *course, int top)
{
    double *mean = means_of(course);
    size_t *node = calloc(course->count + 1, sizeof *node);
    bool *is_off = calloc(course->count + 1, sizeof *is_off);
    struct gt_rank_score *score = calloc(course->count + 1, sizeof *score);
    int status = mean && node && is_off && score ? 0 : -ENOMEM;
    for (size_t i = 0; i < course->count && !status; i++)
        node[i] = gt_job_member_node(course->job, course->row[i].member);
    if (!status)
        status = find_scores(score, course, mean, node);
    for (size_t i = 0; i < course->count && !status; i++)
        is_off[i] = score[i].is_off;
    if (!status)
        status = list_ranks(root, course, score, mean, is_off, top);
    free(mean);
    free(node);
    free(is_off);
    free(score);
    return status;
}

static const char *const usual[] = {"gpu_utilization", "cpu_utilization", "ram", "gpu_ram"};
enum { USUAL = sizeof usual / sizeof *usual };

static int add_courses(struct gt_node *root, const struct gt_job_course *course, size_t count, int top)
{
    struct gt_table *table = begin_spread(root);
    const struct gt_job_course *first = NULL;
    int status = 0;
    for (size_t i = 0; i < count && status >= 0; i++) {
        if (!course[i].count)
            continue;
        first = first ? first : &course[i];
        status = add_spread(table, &course[i]);
    }
    return status < 0 ? status : first ? add_ranks(root, first, top) : 0;
}

/* Add the spread of each usual metric, and the ranks of the first; or both of one metric. */
static int build(struct gt_node *root, const struct gt_job *job, const struct gt_job_options *options,
                 struct gt_error *error)
{
    struct gt_job_course course[USUAL] = {0};
    struct gt_job_subject subject[USUAL];
    size_t count = options->metric ? 1 : USUAL;
    int status = 0;
    for (size_t i = 0; i < count && status >= 0; i++)
        status = gt_job_subject_named(&subject[i], job, options->metric ? options->metric : usual[i], error);
    if (status >= 0)
        status = gt_job_courses_read(course, count, job, subject, COLUMNS, error);
    if (status >= 0 && options->metric && !course[0].count)
        status = gt_job_course_absent(job, options->metric, error);
    if (status >= 0)
        status = add_courses(root, course, count, options->top);
    if (!options->metric && gt_job_too_short(job))
        gt_node_flags(gt_report_text(root, "reason", "No utilization", gt_job_too_short(job)), GT_ONLY_PEOPLE);
    for (size_t i = 0; i < count; i++)
        gt_job_course_release(&course[i]);
    return status;
}

const struct gt_job_analysis gt_job_utilization = {
    .name = "utilization", .type = "profile_utilization", .has_metric = true, .build = build};
