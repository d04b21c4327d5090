/* The data loader: how long initialization, workers, fetching and whole batches take, and which stand out. */
#include "analyse/trace/dataloader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/views.h"
#include "base/number.h"
#include "trace/tables.h"

/* ---- events ---- */

static const char *const part_names[GT_LOADER_PARTS] = {"initialization", "worker", "get_next", "batch"};

/* In SMDebug's timelines a process is a phase, and the node tells the process, unless the event tells it itself. */
static uint32_t process_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_track *track = &input->trace->track[input->trace->events.track[event]];
    if (track->real_process != GT_TRACE_NONE)
        return gt_analysis_place(input, track->real_process);
    if (strcmp(gt_trace_file_of(input->trace, event)->format, "smdebug") == 0)
        return GT_TRACE_NONE;
    return gt_analysis_place(input, input->trace->process[track->process].own);
}

static bool is_loader_event(const struct gt_analysis_input *input, size_t event)
{
    return gt_loader_part(input, event) != GT_LOADER_BATCH && gt_trace_is_slice(input->trace, event);
}

/* The columns of gt_rows_of_events, and process part recording. */
static struct gt_rows find_events(const struct gt_analysis_input *input)
{
    struct gt_rows rows = gt_rows_of_events(input, is_loader_event);
    const uint32_t *event = gt_rows_keys(&rows, "event");
    uint32_t *process = gt_rows_add_keys(&rows, "process", NULL), *part = gt_rows_add_keys(&rows, "part", part_names);
    uint32_t *recording = gt_rows_add_keys(&rows, "recording", NULL);
    for (size_t i = 0; i < rows.count; i++) {
        process[i] = process_of(input, event[i]);
        part[i] = gt_loader_part(input, event[i]);
        recording[i] = gt_analysis_recording(input, event[i]);
    }
    return rows;
}

/* ---- ends of epochs, which tools do not write down ---- */

/* Finds which fetches, in the order of tracks and times, have operators in them. */
static void find_operators(const struct gt_analysis_input *input, struct gt_rows *fetches)
{
    const struct gt_trace_events *events = &input->trace->events;
    const uint32_t *track = gt_rows_keys(fetches, "track");
    const int64_t *start = gt_rows_wholes(fetches, "start"), *end = gt_rows_wholes(fetches, "end");
    uint32_t *has_operators = gt_rows_add_keys(fetches, "has_operators", NULL);
    for (size_t i = 0; i < events->count && fetches->count; i++) {
        if (gt_analysis_work(input, i) != GT_WORK_OPERATOR || !gt_trace_lasts(input->trace, i))
            continue;
        uint32_t on = events->track[i];
        int64_t time = events->start[i];
        size_t behind = GT_SEARCH(0, fetches->count, k, track[k] < on || (track[k] == on && start[k] <= time));
        if (behind && track[behind - 1] == on && time < end[behind - 1])
            has_operators[behind - 1] = true;
    }
}

/* Finds the step that each fetch begins in. */
static void find_steps(const struct gt_analysis_input *input, struct gt_rows *fetches)
{
    struct gt_rows steps = gt_rows_of_steps(input);
    gt_rows_sort(&steps, "node start");
    const uint32_t *node = gt_rows_keys(fetches, "node"), *of = gt_rows_keys(&steps, "node");
    const int64_t *time = gt_rows_wholes(fetches, "start"), *end = gt_rows_wholes(&steps, "end");
    uint32_t *step = gt_rows_add_keys(fetches, "step", NULL);
    for (size_t i = 0; i < fetches->count; i++) {
        size_t behind = gt_rows_behind(&steps, node[i], time[i]);
        bool is_in = behind && of[behind - 1] == node[i] && end[behind - 1] > time[i];
        step[i] = is_in ? (uint32_t)behind - 1 : GT_NO_KEY;
    }
}

/* Fetches from..to are of one process. Where most of them do work (that of workers is elsewhere), one that does none had nothing to
 * fetch; where most steps have one fetch, one that is followed by another in its step had none either. */
static void judge_fetches(const struct gt_analysis_input *input, const struct gt_rows *fetches, size_t from, size_t to)
{
    const uint32_t *has_operators = gt_rows_keys(fetches, "has_operators"), *step = gt_rows_keys(fetches, "step");
    const uint32_t *name = gt_rows_keys(fetches, "name");
    uint32_t *is_end = gt_rows_keys(fetches, "is_end");
    size_t working = 0, alone = 0, followed = 0;
    for (size_t i = from; i < to; i++) {
        bool is_followed = i + 1 < to && step[i] == step[i + 1];
        working += has_operators[i] && !strstr(gt_analysis_text(input, name[i]), "MultiProcessing");
        followed += step[i] != GT_NO_KEY && is_followed;
        alone += step[i] != GT_NO_KEY && !is_followed;
    }
    for (size_t i = from; i < to; i++)
        is_end[i] = 2 * working > to - from
                        ? !has_operators[i]
                        : alone > 2 * followed && step[i] != GT_NO_KEY && i + 1 < to && step[i] == step[i + 1];
}

/* Adds to events which of them are fetches that found nothing more: the epoch ended. */
static void find_ends(const struct gt_analysis_input *input, struct gt_rows *events)
{
    struct gt_rows fetches = gt_rows_where(events, "part", GT_LOADER_NEXT);
    gt_rows_sort(&fetches, "track start");
    find_operators(input, &fetches);
    find_steps(input, &fetches);
    gt_rows_add_keys(&fetches, "is_end", NULL);
    gt_rows_sort(&fetches, "node process start end event");
    for (size_t from = 0, to; from < fetches.count; from = to) {
        to = gt_rows_run(&fetches, "node process", from);
        judge_fetches(input, &fetches, from, to);
    }
    gt_rows_sort(&fetches, "event");
    gt_rows_join(events, &fetches, "event", "is_end");
    gt_rows_fill(events, "is_end");
}

/* ---- parts ---- */

struct piece {
    uint32_t node, part, event, ended_by;
    int64_t start, end;
};

static struct gt_rows rows_of_pieces(struct gt_query *query, const struct piece *piece, size_t count)
{
    static const struct gt_rows_field fields[] = {
        GT_FIELD(GT_KEY, struct piece, node),     GT_FIELD(GT_KEY, struct piece, event),
        GT_FIELD(GT_KEY, struct piece, ended_by), GT_FIELD(GT_WHOLE, struct piece, start),
        GT_FIELD(GT_WHOLE, struct piece, end),    {.name = NULL}};
    struct gt_rows rows = gt_rows_of_records(query, piece, count, sizeof *piece, fields);
    uint32_t *part = gt_rows_add_keys(&rows, "part", part_names);
    for (size_t i = 0; i < rows.count; i++)
        part[i] = piece[i].part;
    gt_rows_difference(&rows, "length", "end", "start");
    return rows;
}

/* A batch is what lies between two fetches that are neighbours: the end of an epoch, and the making of an iterator, part them. */
static struct gt_rows find_parts(const struct gt_analysis_input *input)
{
    struct gt_rows events = find_events(input);
    find_ends(input, &events);
    gt_rows_sort(&events, "node process start part event");
    const uint32_t *node = gt_rows_keys(&events, "node"), *process = gt_rows_keys(&events, "process");
    const uint32_t *part = gt_rows_keys(&events, "part"), *event = gt_rows_keys(&events, "event");
    const uint32_t *recording = gt_rows_keys(&events, "recording"), *is_end = gt_rows_keys(&events, "is_end");
    const int64_t *start = gt_rows_wholes(&events, "start"), *end = gt_rows_wholes(&events, "end");
    struct piece *piece = gt_query_memory(input->query, 2 * events.count, sizeof *piece);
    size_t count = 0, last = SIZE_MAX;
    for (size_t i = 0; i < events.count && piece; i++) {
        if (!is_end[i])
            piece[count++] = (struct piece){node[i], part[i], event[i], GT_NO_KEY, start[i], end[i]};
        if (part[i] == GT_LOADER_WORKER)
            continue;
        bool is_same = last != SIZE_MAX && node[last] == node[i] && process[last] == process[i] &&
                       recording[last] == recording[i];
        if (is_same && part[last] == GT_LOADER_NEXT && !is_end[last] && part[i] == GT_LOADER_NEXT)
            piece[count++] = (struct piece){node[i], GT_LOADER_BATCH, event[last], event[i], start[last], start[i]};
        last = i;
    }
    return rows_of_pieces(input->query, piece, count);
}

/* The least length of an outlier is twice the median, and beyond three deviations above it, where lengths vary by
 * themselves (the median absolute deviation, in units of a normal distribution's deviation; C. Leys et al., Journal of
 * Experimental Social Psychology 49, 2013). */
static void find_outliers(struct gt_rows *parts)
{
    const double deviations = 3 * 1.4826;
    struct gt_rows medians = gt_rows_group(parts, "node part", GT_AGGREGATES(GT_QUANTILE("median", "length", 0.5)));
    gt_rows_join(parts, &medians, "node part", "median");
    const int64_t *length = gt_rows_wholes(parts, "length");
    const double *median = gt_rows_reals(parts, "median");
    double *distance = gt_rows_add_reals(parts, "distance");
    for (size_t i = 0; i < parts->count; i++)
        distance[i] = fabs((double)length[i] - median[i]);
    struct gt_rows spread = gt_rows_group(parts, "node part", GT_AGGREGATES(GT_QUANTILE("deviation", "distance", 0.5)));
    gt_rows_join(parts, &spread, "node part", "deviation");
    const double *deviation = gt_rows_reals(parts, "deviation");
    uint32_t *is_outlier = gt_rows_add_keys(parts, "is_outlier", NULL);
    for (size_t i = 0; i < parts->count; i++)
        is_outlier[i] = median[i] > 0 &&
                        (double)length[i] >= fmax(2 * median[i], median[i] + deviations * deviation[i]);
}

struct gt_rows gt_loader_parts(const struct gt_analysis_input *input)
{
    struct gt_rows parts = find_parts(input);
    find_outliers(&parts);
    gt_rows_sort(&parts, "node part start end event");
    return parts;
}

/* ---- the report ---- */

static const char *const arguments[] = {GT_TABLE_ARGUMENTS, NULL};

/* A number as text, or NULL. */
static const char *argument_text(const struct gt_analysis_input *input, size_t event, uint32_t key, char text[32])
{
    const struct gt_trace_argument *argument = gt_trace_argument(input->trace, event, key);
    if (!argument || (argument->text == GT_TRACE_NONE && isnan(argument->number)))
        return NULL;
    if (argument->text != GT_TRACE_NONE)
        return gt_trace_text(input->trace, argument->text);
    if (key == GT_TABLE_PIN_MEMORY)
        return argument->number != 0 ? "true" : "false";
    snprintf(text, 32, "%.0f", argument->number);
    return text;
}

static void add_outliers(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_rows *parts)
{
    struct gt_table *table = gt_analysis_table(
        root, "outliers", "Outliers",
        "text:node text:part number:start_us number:end_us number:duration_us text:worker_id");
    struct gt_rows outliers = gt_rows_where(parts, "is_outlier", true);
    const uint32_t *event = gt_rows_keys(&outliers, "event");
    const int64_t *start = gt_rows_wholes(&outliers, "start"), *end = gt_rows_wholes(&outliers, "end");
    for (size_t i = 0; i < outliers.count; i++) {
        char text[32];
        gt_rows_put_row(input, table, &outliers, i, "text:node text:part");
        GT_CELLS(table, gt_analysis_us(input, start[i]), gt_analysis_us(input, end[i]),
                 (double)(end[i] - start[i]) / 1e3, argument_text(input, event[i], GT_TABLE_WORKER_ID, text));
    }
    gt_analysis_empty(root, table, "none: nothing takes twice the median and more than others vary");
}

static void add_iterators(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_rows *parts)
{
    struct gt_table *table = gt_analysis_table(
        root, "iterators", "Iterators",
        "text:node text:iterator number:start_us number:duration_us text:num_workers text:pin_memory");
    struct gt_rows iterators = gt_rows_where(parts, "part", GT_LOADER_INITIALIZATION);
    const uint32_t *event = gt_rows_keys(&iterators, "event");
    const int64_t *start = gt_rows_wholes(&iterators, "start"), *length = gt_rows_wholes(&iterators, "length");
    for (size_t i = 0; i < iterators.count; i++) {
        char text[32];
        gt_rows_put_row(input, table, &iterators, i, "text:node");
        GT_CELLS(table, gt_trace_text(input->trace, input->trace->events.name[event[i]]),
                 gt_analysis_us(input, start[i]), (double)length[i] / 1e3,
                 argument_text(input, event[i], GT_TABLE_NUM_WORKERS, text),
                 argument_text(input, event[i], GT_TABLE_PIN_MEMORY, text));
    }
    gt_analysis_empty(root, table, NULL);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows parts = gt_loader_parts(input);
    struct gt_rows sums = gt_rows_group(&parts, "node part",
                                        GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"),
                                                      GT_SUM("outliers", "is_outlier"), GT_STATISTICS_US("length")));
    gt_rows_put(input, root, "dataloader", "Data loader", &sums,
                "text:node text:part integer:count number:total_us integer:outliers " GT_NUMBERS_COLUMNS_US,
                "no events of a data loader");
    add_outliers(input, root, &parts);
    add_iterators(input, root, &parts);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_dataloader = {
    .name = "dataloader",
    .group = "host",
    .help = "initialization, workers, fetching and batches of the data loader, and outliers",
    .arguments = arguments,
    .takes = GT_TAKES_TOP,
    .build = build,
};

/* ---- outliers as a table ---- */

static const struct gt_column_kind outlier_columns[] = {
    {"previous_start", GT_CELL_TIME, false}, {"start_time", GT_CELL_TIME, false},
    {"end_time", GT_CELL_TIME, false},       {"duration_us", GT_CELL_NUMBER, true},
    {"worker_id", GT_CELL_INTEGER, false},   {"framework_metric", GT_CELL_TEXT, false},
    {"nodeID", GT_CELL_TEXT, false},
};

/* A batch is told by the fetch that ends it. */
static void put_row(struct gt_table *data, const struct gt_trace *trace, const struct gt_rows *parts, size_t row)
{
    const struct gt_trace_events *events = &trace->events;
    uint32_t ended_by = gt_rows_keys(parts, "ended_by")[row];
    size_t event = ended_by == GT_NO_KEY ? gt_rows_keys(parts, "event")[row] : ended_by;
    uint32_t node = gt_trace_node_of(trace, gt_trace_process_of(trace, event)->file);
    gt_table_time(data, gt_rows_wholes(parts, "start")[row]);
    gt_table_time(data, events->start[event]);
    gt_table_time(data, events->start[event] + gt_trace_duration(events, event));
    GT_CELLS(data, gt_trace_us(gt_rows_wholes(parts, "length")[row]),
             gt_table_integer_of(trace, event, GT_TABLE_WORKER_ID));
    gt_table_choice(data, events->name[event], gt_trace_text(trace, events->name[event]));
    gt_table_choice(data, node, gt_trace_text(trace, node));
}

static int part_number(const char *part, struct gt_error *error)
{
    for (int i = 0; i < GT_LOADER_PARTS; i++)
        if (strcmp(part_names[i], part) == 0)
            return i;
    return gt_error_set(error, EINVAL, "a data loader has no part '%s': initialization, worker, get_next, batch", part);
}

int gt_loader_outliers(const struct gt_trace *trace, const char *part, struct gt_table **ret, struct gt_error *error)
{
    static const struct gt_profile_options defaults = {.size = sizeof defaults};
    enum { COLUMNS = sizeof outlier_columns / sizeof *outlier_columns };
    struct gt_analysis_input input;
    struct gt_table *data = gt_table_new();
    int number = part_number(part, error);
    int status = number < 0 ? number : gt_analysis_open(&input, trace, &defaults);
    gt_table_add_columns(data, outlier_columns, COLUMNS);
    if (status >= 0) {
        struct gt_rows parts = gt_loader_parts(&input);
        parts = gt_rows_where(&parts, "part", number);
        parts = gt_rows_where(&parts, "is_outlier", true);
        gt_rows_sort(&parts, "-length start node");
        for (size_t i = 0; i < parts.count; i++)
            put_row(data, trace, &parts, i);
        status = gt_query_status(input.query);
    }
    if (number >= 0)
        gt_analysis_close(&input);
    if (status >= 0)
        return gt_table_finish_columns(ret, data, outlier_columns, COLUMNS, "profile", error);
    gt_table_free(data);
    return number < 0 ? number : gt_error_system(error, -status, "profile");
}
