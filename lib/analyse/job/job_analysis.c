#include "analyse/job/job_analysis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- Lists of ranks ---------------------------------------------------------------------------------------------- */

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

/* What is not known stands last. */
static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (isnan(a->value) || isnan(b->value))
        return isnan(a->value) - isnan(b->value);
    return a->value > b->value ? 1 : a->value < b->value ? -1 : (a->row > b->row) - (a->row < b->row);
}

static struct gt_table *begin_table(struct gt_node *root, const struct gt_job_listing *listing, const char *key,
                                    const char *title, unsigned flags)
{
    struct gt_table *table = gt_report_table(root, key, title);
    gt_table_flags(table, GT_BRIEF | GT_FEWER_COLUMNS | flags);
    listing->add_columns(table, listing->context);
    return table;
}

/* Those at the ends, and those to be shown anyway as far as there is room, the least first. */
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
