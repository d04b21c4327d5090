#include "analyse/views.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
#include "analyse/trace/training.h"

/* Returns a view, which is made when it is first asked for. */
static struct gt_rows view_of(const struct gt_analysis_input *input, enum gt_view view,
                              struct gt_rows (*make)(const struct gt_analysis_input *input))
{
    if (!input->view[view].query)
        input->view[view] = make(input);
    return input->view[view];
}

struct gt_rows gt_rows_of_events(const struct gt_analysis_input *input,
                                 bool (*is_wanted)(const struct gt_analysis_input *input, size_t event))
{
    const struct gt_trace_events *events = &input->trace->events;
    size_t count = 0, row = 0;
    for (size_t i = 0; i < events->count; i++)
        count += is_wanted(input, i);
    struct gt_rows rows = gt_rows_new(input->query, count);
    uint32_t *node = gt_rows_add_keys(&rows, "node", NULL), *track = gt_rows_add_keys(&rows, "track", NULL);
    uint32_t *name = gt_rows_add_keys(&rows, "name", NULL), *event = gt_rows_add_keys(&rows, "event", NULL);
    int64_t *start = gt_rows_add_wholes(&rows, "start"), *end = gt_rows_add_wholes(&rows, "end");
    int64_t *length = gt_rows_add_wholes(&rows, "length");
    for (size_t i = 0; i < events->count && row < rows.count; i++) {
        if (!is_wanted(input, i))
            continue;
        node[row] = gt_analysis_node(input, i);
        track[row] = events->track[i];
        name[row] = gt_analysis_place(input, events->name[i]);
        event[row] = (uint32_t)i;
        start[row] = events->start[i];
        length[row] = gt_trace_duration(events, i);
        end[row] = start[row] + length[row];
        row++;
    }
    return rows;
}

/* ---- Work of GPUs ------------------------------------------------------------------------------------------------- */

static const char *const use_names[GT_USES] = {"compute", "communication", "memory"};

static struct gt_rows make_work(const struct gt_analysis_input *input)
{
    const struct gt_trace *trace = input->trace;
    struct gt_rows rows = gt_rows_of_events(input, gt_gpu_is_work);
    const uint32_t *event = gt_rows_keys(&rows, "event");
    uint32_t *device = gt_rows_add_keys(&rows, "device", NULL), *stream = gt_rows_add_keys(&rows, "stream", NULL);
    uint32_t *use = gt_rows_add_keys(&rows, "use", use_names), *recording = gt_rows_add_keys(&rows, "recording", NULL);
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_trace_track *track = &trace->track[trace->events.track[event[i]]];
        device[i] = gt_analysis_place(input, trace->process[track->process].own);
        stream[i] = gt_analysis_place(input, track->tid);
        use[i] = gt_gpu_use(input, event[i]);
        recording[i] = gt_analysis_recording(input, event[i]);
    }
    return rows;
}

struct gt_rows gt_view_work(const struct gt_analysis_input *input)
{
    return view_of(input, GT_VIEW_WORK, make_work);
}

static struct gt_rows make_launched_work(const struct gt_analysis_input *input)
{
    struct gt_rows rows = gt_view_work(input);
    const uint32_t *event = gt_rows_keys(&rows, "event");
    struct gt_spans work = {0};
    int status = 0;
    for (size_t i = 0; i < rows.count && status >= 0; i++)
        status = gt_spans_add(&work, (struct gt_keyed_span){.event = event[i]});
    if (status < 0)
        gt_query_fail(input->query, status);
    const size_t *found = gt_gpu_launches(input, &work);
    uint32_t *call = gt_rows_add_keys(&rows, "call", NULL);
    int64_t *launched = gt_rows_add_wholes(&rows, "launched");
    for (size_t i = 0; i < rows.count && found; i++) {
        call[i] = found[i] == SIZE_MAX ? GT_NO_KEY : (uint32_t)found[i];
        launched[i] = found[i] == SIZE_MAX ? GT_NO_WHOLE : input->trace->events.start[found[i]];
    }
    gt_spans_release(&work);
    return rows;
}

struct gt_rows gt_view_launched_work(const struct gt_analysis_input *input)
{
    return view_of(input, GT_VIEW_LAUNCHED_WORK, make_launched_work);
}

struct gt_rows gt_view_launches(const struct gt_analysis_input *input, const char *keys)
{
    const struct gt_trace_events *events = &input->trace->events;
    struct gt_rows rows = gt_view_launched_work(input);
    char list[80];
    rows = gt_rows_known(&rows, "call");
    snprintf(list, sizeof list, "%s call", keys);
    rows = gt_rows_group(&rows, list, GT_AGGREGATES(GT_MIN("begin", "start"), GT_SUM("work", "length")));
    const uint32_t *call = gt_rows_keys(&rows, "call");
    const int64_t *begin = gt_rows_wholes(&rows, "begin");
    int64_t *length = gt_rows_add_wholes(&rows, "call_length"), *delay = gt_rows_add_wholes(&rows, "delay");
    for (size_t i = 0; i < rows.count; i++) {
        length[i] = gt_trace_duration(events, call[i]);
        int64_t returned = events->start[call[i]] + length[i];
        delay[i] = begin[i] > returned ? begin[i] - returned : 0;
    }
    return rows;
}

/* ---- Time of GPUs ------------------------------------------------------------------------------------------------ */

/* Work begins or ends. */
static struct gt_rows edges_of(const struct gt_analysis_input *input)
{
    struct gt_rows work = gt_view_work(input), edges = gt_rows_new(input->query, 2 * work.count);
    static const char *const names[] = {"node", "device", "use", "recording"};
    const int64_t *start = gt_rows_wholes(&work, "start"), *end = gt_rows_wholes(&work, "end");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const uint32_t *from = gt_rows_keys(&work, names[k]);
        uint32_t *to = gt_rows_add_keys(&edges, names[k], NULL);
        for (size_t i = 0; i < edges.count; i++)
            to[i] = from[i / 2];
    }
    int64_t *time = gt_rows_add_wholes(&edges, "time"), *change = gt_rows_add_wholes(&edges, "change");
    for (size_t i = 0; i < edges.count; i++) {
        time[i] = i % 2 ? end[i / 2] : start[i / 2];
        change[i] = i % 2 ? -1 : 1;
    }
    gt_rows_sort(&edges, "node device time");
    return edges;
}

static struct gt_rows make_pieces(const struct gt_analysis_input *input)
{
    struct gt_rows edges = edges_of(input), rows = gt_rows_new(input->query, edges.count);
    const uint32_t *of = gt_rows_keys(&edges, "node"), *on = gt_rows_keys(&edges, "device");
    const uint32_t *use = gt_rows_keys(&edges, "use"), *recording = gt_rows_keys(&edges, "recording");
    const int64_t *time = gt_rows_wholes(&edges, "time"), *change = gt_rows_wholes(&edges, "change");
    uint32_t *node = gt_rows_add_keys(&rows, "node", NULL), *device = gt_rows_add_keys(&rows, "device", NULL);
    uint32_t *uses = gt_rows_add_keys(&rows, "uses", NULL);
    int64_t *start = gt_rows_add_wholes(&rows, "start"), *end = gt_rows_add_wholes(&rows, "end");
    int64_t *length = gt_rows_add_wholes(&rows, "length"), running[GT_USES] = {0};
    struct gt_step_hull hull = {0};
    size_t count = 0;
    for (size_t i = 0; i < rows.count; i++) {
        bool is_first = !i || of[i] != of[i - 1] || on[i] != on[i - 1];
        unsigned set = 0;
        if (is_first)
            hull = gt_step_hull(input, of[i]);
        for (int k = 0; k < GT_USES; k++)
            set |= running[k] > 0 ? 1u << k : 0;
        node[count] = of[i];
        device[count] = on[i];
        uses[count] = set;
        start[count] = is_first ? time[i] : time[i - 1];
        end[count] = time[i];
        if (!set)
            gt_step_hull_cut(&hull, &start[count], &end[count]);
        length[count] = end[count] - start[count];
        count += length[count] > 0 && (set || recording[i] == recording[i - 1]);
        running[use[i]] += change[i]; /* of edges at one time an end may come first */
    }
    rows.count = count;
    return rows;
}

struct gt_rows gt_view_pieces(const struct gt_analysis_input *input)
{
    return view_of(input, GT_VIEW_PIECES, make_pieces);
}

static struct gt_rows make_device_times(const struct gt_analysis_input *input)
{
    enum { COMPUTE = 1 << GT_USE_COMPUTE, COMMUNICATION = 1 << GT_USE_COMMUNICATION, MEMORY = 1 << GT_USE_MEMORY };
    static const struct {
        const char *name;
        unsigned with, without;
    } times[] = {
        {"span", 0, 0},
        {"idle", 0, COMPUTE | COMMUNICATION | MEMORY},
        {"compute", COMPUTE, 0},
        {"communication", COMMUNICATION, COMPUTE},
        {"memory", MEMORY, COMPUTE | COMMUNICATION},
        {"all_communication", COMMUNICATION, 0},
        {"hidden_communication", COMMUNICATION | COMPUTE, 0},
        {"all_memory", MEMORY, 0},
        {"hidden_memory", MEMORY | COMPUTE, 0},
    };
    enum { TIMES = sizeof times / sizeof *times };
    struct gt_rows pieces = gt_view_pieces(input);
    const uint32_t *uses = gt_rows_keys(&pieces, "uses");
    const int64_t *length = gt_rows_wholes(&pieces, "length");
    struct gt_aggregate sums[TIMES + 1] = {{.as = NULL}};
    for (int k = 0; k < TIMES; k++) {
        int64_t *part = gt_rows_add_wholes(&pieces, times[k].name);
        for (size_t i = 0; i < pieces.count; i++)
            part[i] = (uses[i] & times[k].with) == times[k].with && !(uses[i] & times[k].without) ? length[i] : 0;
        sums[k] = (struct gt_aggregate)GT_SUM(times[k].name, times[k].name);
    }
    return gt_rows_group(&pieces, "node device", sums);
}

struct gt_rows gt_view_device_times(const struct gt_analysis_input *input)
{
    return view_of(input, GT_VIEW_DEVICE_TIMES, make_device_times);
}

enum { BETWEEN_KERNELS = 30 }; /* ns that a GPU takes from one kernel to the next */

/* The cause is read from the call that launched the work behind the gap, as Holistic Trace Analysis does for streams. */
static enum gt_idle_cause cause_of(int64_t launched, int64_t from, int64_t to)
{
    return launched == GT_NO_WHOLE        ? GT_IDLE_OTHER
           : launched > from              ? GT_IDLE_HOST
           : to - from <= BETWEEN_KERNELS ? GT_IDLE_KERNEL
                                          : GT_IDLE_OTHER;
}

static struct gt_rows make_gaps(const struct gt_analysis_input *input, const char *keys)
{
    struct gt_rows work = gt_view_launched_work(input), loading = gt_view_loading(input);
    struct gt_rows rows = gt_rows_gaps(&work, keys, "event recording call");
    const uint32_t *node = gt_rows_keys(&rows, "node"), *recording = gt_rows_keys(&rows, "recording");
    const uint32_t *recording_before = gt_rows_keys(&rows, "recording_before");
    const int64_t *launched = gt_rows_wholes(&rows, "launched");
    int64_t *from = gt_rows_wholes(&rows, "from"), *to = gt_rows_wholes(&rows, "to");
    int64_t *idle = gt_rows_add_wholes(&rows, "idle"), *pause = gt_rows_add_wholes(&rows, "pause");
    uint32_t *cause = gt_rows_add_keys(&rows, "cause", NULL);
    struct gt_step_hull hull = {0};
    for (size_t i = 0; i < rows.count; i++) {
        if (!i || node[i] != node[i - 1])
            hull = gt_step_hull(input, node[i]);
        bool is_apart = recording[i] != recording_before[i];
        pause[i] = is_apart ? to[i] - from[i] : gt_step_hull_cut(&hull, &from[i], &to[i]);
        idle[i] = is_apart ? 0 : to[i] - from[i];
        cause[i] = cause_of(launched[i], from[i], to[i]);
    }
    int64_t *loads = gt_rows_overlap(&rows, "loading", "from", "to", &loading, "node");
    for (size_t i = 0; i < rows.count; i++)
        loads[i] = idle[i] && cause[i] == GT_IDLE_HOST ? loads[i] : 0;
    return rows;
}

static struct gt_rows make_device_gaps(const struct gt_analysis_input *input)
{
    return make_gaps(input, "node device");
}

struct gt_rows gt_view_gaps(const struct gt_analysis_input *input, const char *keys)
{
    return strcmp(keys, "node device") == 0 ? view_of(input, GT_VIEW_GAPS, make_device_gaps) : make_gaps(input, keys);
}

struct gt_rows gt_view_idle(const struct gt_analysis_input *input, const char *keys)
{
    static const char *const causes[GT_IDLE_CAUSES] = {"host_wait", "between_kernels", "other"};
    struct gt_rows work = gt_view_work(input), gaps = gt_view_gaps(input, keys);
    const uint32_t *cause = gt_rows_keys(&gaps, "cause");
    const int64_t *idle = gt_rows_wholes(&gaps, "idle");
    int64_t *is_gap = gt_rows_add_wholes(&gaps, "is_gap");
    for (int k = 0; k < GT_IDLE_CAUSES; k++) {
        int64_t *part = gt_rows_add_wholes(&gaps, causes[k]);
        for (size_t i = 0; i < gaps.count; i++)
            part[i] = cause[i] == (uint32_t)k ? idle[i] : 0;
    }
    for (size_t i = 0; i < gaps.count; i++)
        is_gap[i] = idle[i] > 0;
    struct gt_rows rows = gt_rows_group(&work, keys, GT_AGGREGATES(GT_MIN("first", "start"), GT_MAX("last", "end")));
    struct gt_rows sums = gt_rows_group(&gaps, keys,
                                        GT_AGGREGATES(GT_SUM("idle", "idle"), GT_SUM("pause", "pause"),
                                                      GT_SUM("gaps", "is_gap"), GT_SUM(causes[0], causes[0]),
                                                      GT_SUM(causes[1], causes[1]), GT_SUM(causes[2], causes[2]),
                                                      GT_SUM("data_loader", "loading")));
    gt_rows_join(&rows, &sums, keys, "idle pause gaps host_wait between_kernels other data_loader");
    gt_rows_fill(&rows, "idle pause gaps host_wait between_kernels other data_loader");
    const int64_t *first = gt_rows_wholes(&rows, "first"), *last = gt_rows_wholes(&rows, "last");
    const int64_t *pause = gt_rows_wholes(&rows, "pause");
    int64_t *span = gt_rows_add_wholes(&rows, "span");
    for (size_t i = 0; i < rows.count; i++)
        span[i] = last[i] - first[i] - pause[i];
    return rows;
}

/* ---- The host ----------------------------------------------------------------------------------------------------- */

/* Spans with keys of these names as rows. */
static struct gt_rows rows_of_spans(const struct gt_analysis_input *input, const struct gt_spans *spans,
                                    const char *const *names)
{
    struct gt_rows rows = gt_rows_new(input->query, spans->count);
    for (int k = 0; names[k]; k++) {
        uint32_t *key = gt_rows_add_keys(&rows, names[k], NULL);
        for (size_t i = 0; i < rows.count; i++)
            key[i] = spans->span[i].key[k];
    }
    int64_t *start = gt_rows_add_wholes(&rows, "start"), *end = gt_rows_add_wholes(&rows, "end");
    int64_t *length = gt_rows_add_wholes(&rows, "length");
    for (size_t i = 0; i < rows.count; i++) {
        start[i] = spans->span[i].start;
        end[i] = spans->span[i].end;
        length[i] = end[i] - start[i];
    }
    return rows;
}

struct gt_rows gt_rows_of_steps(const struct gt_analysis_input *input)
{
    static const char *const names[] = {"node", "mode", "step", NULL};
    struct gt_spans spans = gt_step_spans(input);
    return rows_of_spans(input, &spans, names);
}

static bool is_comparable(const struct gt_analysis_input *input, uint32_t node)
{
    for (size_t i = 0; i < input->trace->file_count; i++)
        if (input->node[i] == node && input->counted[i])
            return true;
    return false;
}

static struct gt_rows make_steps(const struct gt_analysis_input *input)
{
    struct gt_rows rows = gt_rows_of_steps(input);
    const uint32_t *node = gt_rows_keys(&rows, "node");
    bool *is_wanted = gt_query_memory(input->query, rows.count, sizeof *is_wanted);
    for (size_t i = 0; i < rows.count && is_wanted; i++)
        is_wanted[i] = is_comparable(input, node[i]);
    rows = gt_rows_filter(&rows, is_wanted);
    gt_rows_sort(&rows, "mode step node start end");
    return rows;
}

struct gt_rows gt_view_steps(const struct gt_analysis_input *input)
{
    return view_of(input, GT_VIEW_STEPS, make_steps);
}

static struct gt_rows make_loading(const struct gt_analysis_input *input)
{
    static const char *const names[] = {"node", NULL};
    struct gt_spans spans = {0};
    int status = gt_loader_waits(input, &spans);
    if (status < 0)
        gt_query_fail(input->query, status);
    struct gt_rows rows = rows_of_spans(input, &spans, names);
    gt_spans_release(&spans);
    return rows;
}

struct gt_rows gt_view_loading(const struct gt_analysis_input *input)
{
    return view_of(input, GT_VIEW_LOADING, make_loading);
}

/* ---- Tables ------------------------------------------------------------------------------------------------------- */

void gt_rows_sort_list(const struct gt_analysis_input *input, struct gt_rows *rows, const char *first, const char *last)
{
    static const char *const orders[] = {"total", "count", "mean", "max", "name", GT_LIST_SELF};
    const char *key = input->options->key ? input->options->key : orders[0];
    char columns[160], names[80] = "";
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        char column[16] = "";
        snprintf(column, sizeof column, "%s", orders[i]);
        if (!gt_rows_find(rows, column))
            snprintf(column, sizeof column, "%s_us", orders[i]);
        bool is_name = strcmp(orders[i], "name") == 0, is_there = is_name || gt_rows_find(rows, column);
        if (is_there && strcmp(orders[i], key) == 0) {
            snprintf(columns, sizeof columns, "%s %s%s %s", first, is_name ? "" : "-", is_name ? "" : column, last);
            gt_rows_sort(rows, columns);
            return;
        }
        if (is_there)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", orders[i]);
    }
    gt_error_set(input->error, EINVAL, "key '%s' is not one of %s", key, names);
    gt_query_fail(rows->query, -EINVAL);
}

/* A column of a table, and how its cells are shown. */
struct shown {
    const struct gt_rows_column *column;
    bool is_integer, is_time, is_stream;
};

static const char *text_of(const struct gt_analysis_input *input, const struct shown *shown, size_t row)
{
    uint32_t key = shown->column->key[row];
    if (shown->column->words)
        return key == GT_NO_KEY ? NULL : shown->column->words[key];
    return shown->is_stream ? gt_gpu_stream(input, key) : gt_analysis_text(input, key);
}

static void put_cell(const struct gt_analysis_input *input, struct gt_table *table, const struct shown *shown,
                     size_t row)
{
    double number = gt_rows_number(shown->column, row);
    if (!shown->is_integer && shown->column->type == GT_KEY)
        gt_table_text(table, text_of(input, shown, row));
    else if (!shown->is_integer)
        gt_table_number(table, shown->is_time ? number / 1e3 : number);
    else if (number == number)
        gt_table_integer(table, shown->column->type == GT_WHOLE ? shown->column->whole[row] : (int64_t)number);
    else
        gt_table_missing(table);
}

static struct shown find_shown(const struct gt_rows *rows, const char *kind, const char *key)
{
    struct shown shown = {
        .column = gt_rows_find(rows, key), .is_integer = *kind == 'i', .is_stream = !strcmp(key, "stream")};
    char name[64];
    size_t length = strlen(key);
    shown.is_time = !shown.column && length > 3 && length < sizeof name && !strcmp(key + length - 3, "_us");
    if (shown.is_time) {
        snprintf(name, sizeof name, "%.*s", (int)length - 3, key);
        shown.column = gt_rows_find(rows, name);
    }
    if (!shown.column)
        shown.column = gt_rows_need(rows, "gt_rows_put", key, length);
    return shown;
}

static int find_all_shown(const struct gt_rows *rows, const char *columns, struct shown shown[GT_COLUMNS])
{
    int count = 0, read;
    char kind[16], name[64];
    for (; count < GT_COLUMNS && sscanf(columns, " %15[^:]:%63s%n", kind, name, &read) == 2; columns += read)
        shown[count++] = find_shown(rows, kind, name);
    return count;
}

struct gt_table *gt_rows_put(const struct gt_analysis_input *input, struct gt_node *root, const char *key,
                             const char *title, const struct gt_rows *rows, const char *columns, const char *reason)
{
    struct gt_table *table = gt_analysis_table(root, key, title, columns);
    struct shown shown[GT_COLUMNS];
    int count = find_all_shown(rows, columns, shown);
    for (size_t row = 0; row < rows->count && !gt_query_status(rows->query); row++)
        for (int i = 0; i < count; i++)
            put_cell(input, table, &shown[i], row);
    gt_analysis_empty(root, table, reason);
    return table;
}

void gt_rows_put_row(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_rows *rows,
                     size_t row, const char *columns)
{
    struct shown shown[GT_COLUMNS];
    int count = find_all_shown(rows, columns, shown);
    for (int i = 0; i < count && !gt_query_status(rows->query); i++)
        put_cell(input, table, &shown[i], row);
}

size_t gt_rows_behind(const struct gt_rows *rows, uint32_t node, int64_t time)
{
    const uint32_t *of = gt_rows_keys(rows, "node");
    const int64_t *start = gt_rows_wholes(rows, "start");
    return GT_SEARCH(0, rows->count, i, of[i] < node || (of[i] == node && start[i] <= time));
}
