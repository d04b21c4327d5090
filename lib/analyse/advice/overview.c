/* The report of a job: what was read, its ranks beside one another, its steps, and what costs the job most. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/findings.h"
#include "analyse/advice/job_brief.h"
#include "analyse/calls/operators.h"
#include "analyse/display.h"
#include "analyse/trace/inputs.h"
#include "analyse/trace/ranks.h"
#include "analyse/views.h"
#include "base/grow.h"
#include "base/number.h"
#include "schema/human.h"

static void choose_ranks(struct gt_overview *job)
{
    job->rank = gt_query_memory(job->input->query, job->findings->ranks, sizeof *job->rank);
    for (size_t i = 0; job->rank && i < job->findings->ranks; i++)
        if (gt_analysis_shows(job->input, job->findings->rank[i].node))
            job->rank[job->ranks++] = job->findings->rank[i];
}

/* ---- tables of which people see times in words ---- */

static void time_column(struct gt_table *table, const char *key, const char *key_us, const char *title)
{
    gt_display_column(table, key_us, title, GT_CELL_NUMBER, "us", GT_COLUMN_ONLY_DATA);
    gt_display_column(table, key, title, GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_PEOPLE | GT_COLUMN_FIGURE);
}

static void time_cells(struct gt_table *table, double ns)
{
    char text[32];
    GT_CELLS(table, ns / 1e3, gt_time_words(ns, text));
}

static void data_column(struct gt_table *table, const char *key, enum gt_cell_kind kind, const char *unit)
{
    gt_display_column(table, key, key, kind, unit, GT_COLUMN_ONLY_DATA);
}

/* ---- sources ---- */

#define ADD_WORDS(out, separator, ...) \
    (gt_buffer_text(out, (out)->length ? (separator) : ""), gt_buffer_printf(out, __VA_ARGS__))

/* An unknown clock matters beside other files alone. */
static void write_trouble(const struct gt_trace_file *file, bool is_one_of_many, struct gt_buffer *out)
{
    const struct gt_trace_damage *damage = &file->damage;
    uint64_t lost = gt_damage_lost(damage);
    if (lost)
        ADD_WORDS(out, ", ", "%" PRIu64 " %s lost", lost, lost == 1 ? "event or sample" : "events or samples");
    if (damage->cut_off)
        ADD_WORDS(out, ", ", "cut off");
    if (damage->unclosed)
        ADD_WORDS(out, ", ", "%" PRIu64 " never end", damage->unclosed);
    if (file->clock == GT_CLOCK_UNKNOWN && is_one_of_many && file->first <= file->last)
        ADD_WORDS(out, ", ", "clock unknown");
    if (!lost && !damage->cut_off && damage->lost_bytes)
        ADD_WORDS(out, ", ", "%" PRIu64 " bytes lost", damage->lost_bytes);
}

/* Of a merged file all may be in its parts. */
static bool is_in_parts(const struct gt_trace *trace, uint32_t file)
{
    bool has_parts = false;
    for (size_t i = 0; i < trace->file_count; i++)
        has_parts |= trace->file[i].part_of == file;
    return has_parts && !trace->file[file].read && !trace->file[file].samples;
}

/* Filters left some out. */
static bool is_filtered(const struct gt_trace *trace)
{
    for (size_t i = 0; i < trace->file_count; i++)
        if (trace->file[i].kept < trace->file[i].read)
            return true;
    return false;
}

static void add_sources(const struct gt_overview *job)
{
    const struct gt_trace *trace = job->input->trace;
    struct gt_table *table = gt_report_table(job->root, "sources", "Sources");
    gt_top_left_out(table, 0);
    char text[200];
    gt_table_column(table, "file", "file", GT_CELL_TEXT, NULL);
    gt_table_column(table, "node", "node", GT_CELL_TEXT, NULL);
    gt_table_column(table, "events", "events", GT_CELL_INTEGER, NULL);
    if (is_filtered(trace))
        gt_table_column(table, "kept", "looked at", GT_CELL_INTEGER, NULL);
    else
        data_column(table, "kept", GT_CELL_INTEGER, NULL);
    data_column(table, "samples", GT_CELL_INTEGER, NULL);
    data_column(table, "format", GT_CELL_TEXT, NULL);
    time_column(table, "time", "duration_us", "time");
    gt_table_column(table, "trouble", "trouble", GT_CELL_TEXT, NULL);
    for (size_t i = 0; i < trace->file_count; i++) {
        const struct gt_trace_file *file = &trace->file[i];
        if (is_in_parts(trace, (uint32_t)i) && !file->damage.bad_events && !file->damage.cut_off)
            continue;
        GT_CELLS(table, file->path, file->node == GT_TRACE_NONE ? NULL : gt_trace_text(trace, file->node), file->read,
                 file->kept, file->samples, file->format);
        time_cells(table, file->first <= file->last ? (double)(file->last - file->first) : NAN);
        struct gt_buffer trouble = {0};
        write_trouble(file, trace->file_count > 1, &trouble);
        gt_table_text(table, trouble.length ? trouble.data : gt_inputs_has_content(trace, file) ? NULL : "no events");
        gt_buffer_release(&trouble);
    }
    if (trace->ignored) {
        snprintf(text, sizeof text,
                 trace->ignored == 1 ? "%" PRIu64 " other file in the folders that is not a trace"
                                     : "%" PRIu64 " other files in the folders that are not traces",
                 trace->ignored);
        gt_report_text(job->root, "ignored", "Not read", text);
    }
}

/* ---- ranks ---- */

static const struct {
    const char *key, *key_us, *title, *worst;
} figures[GT_RANK_FIGURES] = {
    [GT_RANK_STEP] = {"step", "step_us", "step", "step"},
    [GT_RANK_COMPUTE] = {"compute_percent", "compute_us", "compute", "compute"},
    [GT_RANK_COMMUNICATION] = {"communication_percent", "exposed_communication_us", "comm.", "communication"},
    [GT_RANK_IDLE] = {"idle_percent", "idle_us", "idle", "idle"},
    [GT_RANK_LOADING] = {"data_loading_percent", "data_loading_us", "loading", "data loading"},
    [GT_RANK_HOST] = {"host_percent", "host_us", "host", "host"},
    [GT_RANK_KERNEL] = {NULL, NULL, NULL, "kernels"},
};

/* Is it of profiles alone, which have functions, and no ranks? */
static bool is_profile(const struct gt_overview *job)
{
    return !job->ranks && job->input->trace->profile_count;
}

/* Profiles have neither. The reason of the report is that there are no findings. */
static void tell_empty(const struct gt_overview *job, struct gt_table *table, const char *key, const char *reason)
{
    bool is_empty = table && !gt_table_rows(table);
    gt_analysis_empty(job->root, table, NULL);
    if (is_empty && !is_profile(job))
        gt_report_text(job->root, key, gt_table_title(job->root, table), reason);
}

/* Ranks of which nothing is known are no table. */
static bool has_figures(const struct gt_overview *job)
{
    bool found = false;
    for (size_t i = 0; i < job->ranks; i++)
        found |= job->rank[i].steps || !isnan(job->rank[i].whole);
    return found;
}

static struct gt_table *make_rank_table(const struct gt_overview *job)
{
    bool has_gpu = false;
    for (size_t i = 0; i < job->ranks; i++)
        has_gpu |= job->rank[i].has_gpu;
    char title[80] = "Ranks";
    bool any_worst = false;
    for (int figure = 0; figure < GT_RANK_FIGURES; figure++) {
        size_t worst = job->findings->worst[figure];
        any_worst |= worst != SIZE_MAX && gt_analysis_shows(job->input, job->findings->rank[worst].node);
    }
    if (job->ranks)
        snprintf(title, sizeof title, "Ranks (%% of %s%s)", has_gpu ? "the time of their GPUs" : "their time",
                 any_worst ? "; * the worst" : "");
    struct gt_table *table = gt_report_table(job->root, "ranks", title);
    gt_table_column(table, "node", "node", GT_CELL_TEXT, NULL);
    gt_table_column(table, "steps", "steps", GT_CELL_INTEGER, NULL);
    time_column(table, "step", "step_us", "step");
    time_column(table, "step_p95", "step_p95_us", "p95");
    data_column(table, "span_us", GT_CELL_NUMBER, "us");
    data_column(table, "memory_us", GT_CELL_NUMBER, "us");
    for (int i = GT_RANK_COMPUTE; i <= GT_RANK_HOST; i++) {
        data_column(table, figures[i].key_us, GT_CELL_NUMBER, "us");
        data_column(table, figures[i].key, GT_CELL_NUMBER, "%");
        gt_display_column(table, figures[i].key, figures[i].title, GT_CELL_TEXT, NULL,
                          GT_COLUMN_ONLY_PEOPLE | GT_COLUMN_FIGURE);
    }
    data_column(table, "worst", GT_CELL_TEXT, NULL);
    return table;
}

static void write_worst(const size_t *worst, size_t rank, struct gt_buffer *out)
{
    gt_buffer_text(out, "");
    for (int i = 0; i < GT_RANK_FIGURES; i++)
        if (worst[i] == rank)
            gt_buffer_printf(out, "%s%s", out->length ? ", " : "", figures[i].worst);
}

static void add_share(struct gt_table *table, const struct gt_rank_figures *rank, int figure, bool is_worst)
{
    double share = gt_percent(rank->figure[figure], rank->whole);
    char text[32];
    snprintf(text, sizeof text, "%.1f%s", share, is_worst ? " *" : "");
    GT_CELLS(table, rank->figure[figure] / 1e3, share, isnan(share) ? NULL : text);
}

static void add_step(struct gt_table *table, double ns, bool is_worst)
{
    char text[40];
    const char *time = gt_time_words(ns, text);
    gt_table_number(table, ns / 1e3);
    if (is_worst)
        strcat(text, " *");
    gt_table_text(table, time);
}

static void add_ranks(const struct gt_overview *job)
{
    struct gt_table *table = make_rank_table(job);
    const size_t *worst = job->findings->worst;
    for (size_t i = 0; i < job->findings->ranks; i++) {
        const struct gt_rank_figures *rank = &job->findings->rank[i];
        struct gt_buffer words = {0};
        write_worst(worst, i, &words);
        GT_CELLS(table, gt_analysis_text(job->input, rank->node), rank->steps);
        add_step(table, rank->figure[GT_RANK_STEP], worst[GT_RANK_STEP] == i);
        time_cells(table, rank->step_p95);
        GT_CELLS(table, rank->whole / 1e3, rank->memory / 1e3);
        for (int figure = GT_RANK_COMPUTE; figure <= GT_RANK_HOST; figure++)
            add_share(table, rank, figure, worst[figure] == i);
        gt_table_text(table, words.length ? words.data : NULL);
        gt_buffer_release(&words);
    }
    gt_table_flags(table, has_figures(job) ? GT_PAGE_FIRST : GT_ONLY_DATA);
    tell_empty(job, table, "reason_ranks", "none: no events that last, and no steps");
}

/* ---- steps ---- */

enum { SHOWN_OUTLIERS = 5 };

/* Writes the steps of rows from..to that are outliers; returns how many there are. */
static size_t write_outliers(const struct gt_overview *job, const struct gt_rows *steps, size_t from, size_t to,
                             double min, struct gt_buffer *out)
{
    const int64_t *longest = gt_rows_wholes(steps, "longest");
    size_t count = 0;
    for (size_t i = from; i < to; i++)
        if ((double)longest[i] > min && ++count <= SHOWN_OUTLIERS)
            gt_buffer_printf(out, "%s%" PRIu32 " (%s, %s)", out->length ? "; " : "", gt_rows_keys(steps, "step")[i],
                             gt_analysis_text(job->input, gt_rows_keys(steps, "slowest")[i]),
                             GT_TIME_WORDS((double)longest[i]));
    if (count > SHOWN_OUTLIERS)
        gt_buffer_printf(out, "; %zu more", count - SHOWN_OUTLIERS);
    return count;
}

static void add_mode(const struct gt_overview *job, struct gt_table *table, const struct gt_rows *steps, size_t from,
                     size_t to)
{
    struct gt_buffer outliers = {0};
    const char *mode = gt_analysis_text(job->input, gt_rows_keys(steps, "mode")[from]);
    struct gt_step_lengths lengths = gt_step_lengths(steps, from, to);
    size_t count = write_outliers(job, steps, from, to, lengths.outlier, &outliers);
    gt_job_brief_step(job, mode, &lengths, count);
    GT_CELLS(table, mode, lengths.count);
    time_cells(table, lengths.median);
    time_cells(table, lengths.p95);
    time_cells(table, lengths.max);
    time_cells(table, lengths.deviation);
    GT_CELLS(table, count, outliers.length ? outliers.data : NULL);
    gt_buffer_release(&outliers);
}

/* The job's step is that of its slowest rank. */
static struct gt_rows shown_steps(const struct gt_analysis_input *input)
{
    struct gt_rows steps = gt_view_steps(input);
    const uint32_t *node = gt_rows_keys(&steps, "node");
    bool *is_shown = gt_query_memory(steps.query, steps.count, sizeof *is_shown);
    for (size_t i = 0; i < steps.count && is_shown; i++)
        is_shown[i] = gt_analysis_shows(input, node[i]);
    steps = gt_rows_filter(&steps, is_shown);
    gt_rows_sort(&steps, "mode step node");
    return gt_rows_group(&steps, "mode step",
                         GT_AGGREGATES(GT_MAX("longest", "length"), GT_ARG_MAX("slowest", "length", "node")));
}

static void add_steps(const struct gt_overview *job)
{
    struct gt_rows steps = shown_steps(job->input);
    const char *shown = job->input->trace->shown_node;
    struct gt_table *table = gt_report_table(job->root, "steps", shown ? "Steps" : "Steps of the slowest rank");
    gt_top_left_out(table, 0);
    gt_table_column(table, "mode", "mode", GT_CELL_TEXT, NULL);
    gt_table_column(table, "steps", "steps", GT_CELL_INTEGER, NULL);
    time_column(table, "median", "median_us", "median");
    time_column(table, "p95", "p95_us", "p95");
    time_column(table, "max", "max_us", "max");
    time_column(table, "mad", "mad_us", "MAD");
    gt_table_column(table, "outliers", "outliers", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "outlier_steps", "which", GT_CELL_TEXT, NULL);
    gt_table_flags(table, GT_PAGE_FIRST);
    for (size_t from = 0, to; from < steps.count; from = to) {
        to = gt_rows_run(&steps, "mode", from);
        add_mode(job, table, &steps, from, to);
    }
    tell_empty(job, table, "reason_steps", "none: no ProfilerStep, no step numbers, and no range \"step N\"");
}

/* ---- findings ---- */

static const struct gt_rank_figures *rank_of(const struct gt_overview *job, uint32_t node)
{
    for (size_t i = 0; i < job->ranks; i++)
        if (job->rank[i].node == node)
            return &job->rank[i];
    return NULL;
}

/* Returns the findings in their order, the greatest first: number rule own node device percent us. What is of the whole job
 * has its own number, so that it is a group of its own. */
static struct gt_rows rows_of_findings(const struct gt_findings *findings)
{
    static const struct gt_rows_field fields[] = {
        {"rule", GT_KEY, offsetof(struct gt_finding, rule)},
        {"node", GT_KEY, offsetof(struct gt_finding, where.node)},
        {"device", GT_KEY, offsetof(struct gt_finding, where.device)},
        {"percent", GT_REAL, offsetof(struct gt_finding, saving.percent)},
        {"us", GT_REAL, offsetof(struct gt_finding, saving.us)},
        {.name = NULL},
    };
    struct gt_rows rows = gt_rows_of_records(findings->input->query, findings->finding, findings->count,
                                             sizeof *findings->finding, fields);
    const uint32_t *node = gt_rows_keys(&rows, "node");
    uint32_t *number = gt_rows_add_keys(&rows, "number", NULL), *own = gt_rows_add_keys(&rows, "own", NULL);
    for (size_t i = 0; i < rows.count; i++) {
        number[i] = (uint32_t)i;
        own[i] = node[i] == GT_TRACE_NONE ? number[i] : GT_NO_KEY;
    }
    return rows;
}

/* Returns the saving of each rule on each node: the greatest, or of several GPUs all of them, of the time of all. `number`
 * is that of the greatest. */
static struct gt_rows savings_on_nodes(const struct gt_overview *job)
{
    struct gt_rows rows = rows_of_findings(job->findings);
    rows = gt_rows_group(
        &rows, "rule own node device",
        GT_AGGREGATES(GT_FIRST("number", "number"), GT_FIRST("percent", "percent"), GT_FIRST("us", "us")));
    gt_rows_sort(&rows, "number");
    rows = gt_rows_group(&rows, "rule own node",
                         GT_AGGREGATES(GT_COUNT("gpus"), GT_FIRST("number", "number"), GT_FIRST("device", "device"),
                                       GT_FIRST("percent", "percent"), GT_FIRST("us", "us"), GT_SUM("all_us", "us")));
    const uint32_t *node = gt_rows_keys(&rows, "node"), *device = gt_rows_keys(&rows, "device");
    double *percent = gt_rows_reals(&rows, "percent"), *us = gt_rows_reals(&rows, "us");
    const double *all_us = gt_rows_reals(&rows, "all_us");
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_rank_figures *rank = device[i] == GT_TRACE_NONE ? NULL : rank_of(job, node[i]);
        if (!rank || rank->gpus < 2)
            continue;
        struct gt_saving saving = gt_saving_on(job->findings, node[i], all_us[i] * 1e3 / (double)rank->gpus);
        percent[i] = saving.percent;
        us[i] = saving.us;
    }
    gt_rows_sort(&rows, "number");
    return rows;
}

/* Returns a row for each rule, the greatest cost first: own ranks percent us least most worst (a number) gpus (of the worst).
 * What all ranks lose the job loses; what some lose counts for their share of the ranks. */
static struct gt_rows group_findings(const struct gt_overview *job)
{
    struct gt_rows groups = savings_on_nodes(job);
    groups = gt_rows_group(&groups, "rule own",
                           GT_AGGREGATES(GT_COUNT("ranks"), GT_SUM("percent", "percent"), GT_SUM("us", "us"),
                                         GT_MIN("least", "percent"), GT_MAX("most", "percent"),
                                         GT_ARG_MAX("worst", "percent", "number"),
                                         GT_ARG_MAX("gpus", "percent", "gpus"), GT_FIRST("first", "number")));
    const uint32_t *own = gt_rows_keys(&groups, "own");
    const int64_t *ranks = gt_rows_wholes(&groups, "ranks");
    double *percent = gt_rows_reals(&groups, "percent"), *us = gt_rows_reals(&groups, "us");
    double *order = gt_rows_add_reals(&groups, "order");
    for (size_t i = 0; i < groups.count; i++) {
        bool is_shared = own[i] == GT_NO_KEY && job->ranks > 1;
        double share = is_shared ? 1 / fmax((double)job->ranks, (double)ranks[i]) : 1;
        percent[i] *= share;
        us[i] *= share;
        order[i] = -percent[i];
    }
    gt_rows_sort(&groups, "order first");
    return groups;
}

static void write_sentence(const struct gt_overview *job, const struct gt_rows *groups, size_t row,
                           struct gt_buffer *out)
{
    const struct gt_finding *worst = &job->findings->finding[gt_rows_keys(groups, "worst")[row]];
    const struct gt_rank_figures *rank = rank_of(job, worst->where.node);
    double least = gt_rows_reals(groups, "least")[row], most = gt_rows_reals(groups, "most")[row];
    int64_t ranks = gt_rows_wholes(groups, "ranks")[row];
    gt_buffer_text(out, "");
    if (rank && rank->gpus > 1 && worst->where.device != GT_TRACE_NONE && job->ranks < 2)
        gt_buffer_printf(out, "%" PRId64 " of %zu GPUs, most of all ", gt_rows_wholes(groups, "gpus")[row], rank->gpus);
    if (gt_rows_keys(groups, "own")[row] == GT_NO_KEY && job->ranks > 1) {
        gt_buffer_printf(out, "%" PRId64 " of %zu ranks", ranks, job->ranks);
        if (ranks > 1 && round(most) > round(least))
            gt_buffer_printf(out, " (%.0f %% to %.0f %%)", least, most);
        gt_buffer_text(out, ranks > 1 ? ", most of all " : ", ");
    }
    gt_buffer_text(out, worst->sentence);
}

enum { SHOWN = 12 };

static size_t add_findings(const struct gt_overview *job, const struct gt_rows *groups)
{
    char title[400], base[160], whose[140] = "";
    if (job->input->trace->shown_node && job->ranks && job->findings->ranks > 1)
        snprintf(whose, sizeof whose, " of %.100s, and of all ranks", gt_analysis_text(job->input, job->rank->node));
    snprintf(title, sizeof title, "Findings%s, by what they cost%s (%s)", whose, *whose ? "" : " the job",
             gt_findings_base(job->findings, base));
    struct gt_table *table = gt_report_table(job->root, "findings", title);
    size_t shown = gt_list_top(job->input, SHOWN);
    gt_table_column(table, "cost_percent", "cost", GT_CELL_NUMBER, "%");
    time_column(table, "cost_time", "cost_us", "time");
    data_column(table, "ranks", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "advice", "finding", GT_CELL_TEXT, NULL);
    gt_table_column(table, "see", "see profile", GT_CELL_TEXT, NULL);
    gt_table_flags(table, GT_SENTENCES | GT_BRIEF | GT_NOT_ON_PAGE | GT_ALONE);
    gt_top_left_out(table, 0); /* add_left_out reports it with those below 5 % */
    for (size_t i = 0; i < groups->count && i < shown; i++) {
        const char *see = gt_rule_see(job->findings->finding[gt_rows_keys(groups, "worst")[i]].rule);
        struct gt_saving cost = {gt_rows_reals(groups, "percent")[i], gt_rows_reals(groups, "us")[i]};
        struct gt_buffer sentence = {0};
        write_sentence(job, groups, i, &sentence);
        gt_table_number(table, cost.percent);
        time_cells(table, cost.us * 1e3);
        GT_CELLS(table, gt_rows_wholes(groups, "ranks")[i], sentence.data, see);
        gt_job_brief_finding(job, cost, sentence.data, see);
        gt_buffer_release(&sentence);
    }
    gt_analysis_empty(job->root, table, NULL);
    return groups->count > shown ? groups->count - shown : 0;
}

static void add_left_out(const struct gt_overview *job, size_t not_shown)
{
    char text[160] = "";
    if (not_shown)
        snprintf(text, sizeof text, "%zu more findings (--all)", not_shown);
    if (job->findings->minor)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%zu %s a rank less than 5 %%", *text ? ", " : "",
                 job->findings->minor, job->findings->minor == 1 ? "matter that costs" : "matters that cost");
    if (!*text)
        return;
    gt_report_text(job->root, "left_out", "Left out", text);
    gt_brief_warning(job->root->brief, NULL, NULL, "Left out: %s", text);
}

/* ---- what the traces leave unknown ---- */

/* Categories of devices of which only the calls are known. */
static const char *unknown_device(const struct gt_trace *trace)
{
    static const char *const patterns[] = {"mtia_*", "privateuse1_*", "glow_*", "hpu_*", "xpu_*"};
    for (uint32_t i = 0; i < trace->strings.count; i++)
        for (size_t j = 0; j < sizeof patterns / sizeof *patterns; j++)
            if (fnmatch(patterns[j], gt_trace_text(trace, i), 0) == 0 && strchr(gt_trace_text(trace, i), ' ') == NULL)
                return gt_trace_text(trace, i);
    return NULL;
}

static bool has_calls(const struct gt_overview *job)
{
    for (size_t i = 0; i < job->input->trace->events.count; i++)
        if (gt_analysis_work(job->input, i) == GT_WORK_RUNTIME)
            return true;
    return false;
}

static bool tells_time(const struct gt_trace *trace)
{
    bool found = false;
    for (size_t i = 0; i < trace->profile_count; i++)
        found |= trace->profile[i].unit == GT_PROFILE_SECONDS || trace->profile[i].unit == GT_PROFILE_SAMPLES;
    return found;
}

/* The whole report of a lone trace is of one rank. */
static void write_absent(const struct gt_overview *job, struct gt_buffer *out)
{
    struct gt_buffer numbers = {0};
    size_t of = 0, absent = gt_ranks_absent(job->input, &numbers, &of);
    if (!absent) {
        absent = job->findings->absent;
        of = job->findings->absent_of;
    }
    if (absent && job->findings->ranks > 1)
        gt_buffer_printf(out, "%s%zu of %zu ranks %s no trace here%s%s%s%s", out->length ? "; " : "", absent, of,
                         absent == 1 ? "has" : "have", numbers.length ? " (" : "", numbers.length ? numbers.data : "",
                         numbers.length ? ")" : "",
                         job->findings->absent ? ": which part of the communication is waiting for them is not known"
                                               : "");
    gt_buffer_release(&numbers);
}

/* Findings rest on GPUs' work: where there is none, a report without findings says nothing good. */
static void write_limits(const struct gt_overview *job, struct gt_buffer *out)
{
    size_t without = 0, steps = 0;
    const char *example = NULL, *device = unknown_device(job->input->trace);
    for (size_t i = 0; i < job->ranks; i++) {
        without += !job->rank[i].has_gpu;
        example = !job->rank[i].has_gpu && !example ? gt_analysis_text(job->input, job->rank[i].node) : example;
        steps += job->rank[i].steps > 0;
    }
    gt_buffer_text(out, "");
    if (without == job->ranks && device)
        gt_buffer_printf(out, "events of a device that is not known here (%s): what it did is not judged", device);
    else if (without == job->ranks && job->ranks)
        gt_buffer_text(out, has_calls(job)
                                ? "calls of a GPU's runtime, and no work of a GPU: kernels were not recorded, so idle "
                                  "time, computation and communication are not known (record with CUDA activities)"
                                : "no work of a GPU in the traces: all on CPUs, or GPUs were not recorded; idle time, "
                                  "computation and communication are not known");
    else if (without)
        gt_buffer_printf(out, "%zu of %zu ranks have no work of a GPU in their trace (%s)", without, job->ranks,
                         example);
    if (job->ranks && !steps)
        gt_buffer_printf(out, "%sno steps: ranks are compared by their whole time", out->length ? "; " : "");
    write_absent(job, out);
    if (is_profile(job)) {
        if (!tells_time(job->input->trace))
            gt_buffer_text(out, "a profile of memory: it tells no time");
    } else if (!job->ranks) {
        gt_buffer_text(out, "no events that last, and no steps: ranks are not compared");
    }
}

static const char *no_findings(const struct gt_overview *job, bool has_limits)
{
    return has_limits        ? "none, in what the traces tell"
           : is_profile(job) ? "no function takes 25 % of the time itself: profile functions lists them"
                             : "nothing that costs 5 % or more was found";
}

static void add_verdict(const struct gt_overview *job, size_t count)
{
    struct gt_buffer limits = {0};
    write_limits(job, &limits);
    if (limits.length) {
        gt_report_text(job->root, "not_known", "Not known", limits.data);
        gt_brief_line(job->root->brief, "not known", NULL, NULL, "%s", limits.data);
    } else if (!count) {
        gt_brief_line(job->root->brief, "findings", NULL, NULL, "nothing that costs 5 %% or more was found");
    }
    if (!count)
        gt_report_text(job->root, "reason", "Findings", no_findings(job, limits.length > 0));
    gt_buffer_release(&limits);
}

/* ---- the whole ---- */

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_findings findings = {.input = input};
    struct gt_overview job = {.input = input, .root = root, .findings = &findings};
    int status = gt_findings_find(&findings);
    choose_ranks(&job);
    if (status >= 0)
        gt_job_brief_begin(&job);
    status = status < 0 ? status : gt_job_figures(&findings, root);
    if (status >= 0) {
        add_sources(&job);
        add_ranks(&job);
        add_steps(&job);
        gt_job_brief_end(&job);
    }
    status = status < 0 ? status : gt_job_most(&job);
    if (status >= 0) {
        struct gt_rows groups = group_findings(&job);
        size_t not_shown = add_findings(&job, &groups);
        add_verdict(&job, groups.count);
        add_left_out(&job, not_shown);
        status = gt_query_status(input->query);
    }
    gt_findings_release(&findings);
    return status;
}

static const char *const arguments[] = {GT_RULE_ARGUMENTS, NULL};

const struct gt_analysis gt_analysis_overview = {
    .name = "overview",
    .group = "job",
    .help =
        "the report of a job: sources, ranks beside one another, steps, and what costs the job most; what profile does without an analysis",
    .arguments = arguments,
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .joins = true,
    .compares = true,
    .of_calls = true,
    .of_all = true,
    .judges = true,
    .build = build,
};
