#include "support/traces.h"

#include "base/grow.h"
#include "support/reports.h"
#include "support/test.h"

struct gt_trace *traces_new(void)
{
    struct gt_trace *trace = calloc(1, sizeof *trace);
    assert_non_null(trace);
    return trace;
}

static uint32_t intern(struct gt_trace *trace, const char *text)
{
    return text ? (uint32_t)gt_strings_add(&trace->strings, text, strlen(text)) : GT_TRACE_NONE;
}

/* Tracks of a file stand together only in real traces; analyses do not ask for that. */
static uint32_t file_of(struct gt_trace *trace, const char *node)
{
    uint32_t string = intern(trace, node);
    for (uint32_t i = 0; i < trace->file_count; i++)
        if (trace->file[i].node == string)
            return i;
    struct gt_trace_file *file = gt_trace_add_file(trace, node, "chrome");
    file->node = string;
    file->clock = GT_CLOCK_RECORD;
    return (uint32_t)trace->file_count - 1;
}

static uint32_t track_of(struct gt_trace *trace, const struct traces_event *event)
{
    uint32_t file = file_of(trace, event->node), name = intern(trace, event->process);
    uint32_t pid = intern(trace, event->pid ? event->pid : event->process), tid = intern(trace, event->thread);
    uint32_t process = 0;
    while (process < trace->process_count &&
           (trace->process[process].file != file || trace->process[process].pid != pid))
        process++;
    if (process == trace->process_count)
        *GT_GROW(trace, process) = (struct gt_trace_process){
            .file = file, .pid = pid, .own = pid, .name = name, .label = GT_TRACE_NONE, .sort = INT64_MAX};
    for (uint32_t i = 0; i < trace->track_count; i++)
        if (trace->track[i].process == process && trace->track[i].tid == tid)
            return i;
    *GT_GROW(trace, track) = (struct gt_trace_track){
        .process = process, .tid = tid, .name = GT_TRACE_NONE, .real_process = GT_TRACE_NONE, .sort = INT64_MAX};
    return (uint32_t)trace->track_count - 1;
}

/* clang-format off */
#define COLUMNS(APPLY) \
    APPLY(start) APPLY(name) APPLY(category) APPLY(track) APPLY(step) APPLY(phase) APPLY(flag)
/* clang-format on */

size_t traces_add(struct gt_trace *trace, struct traces_event event)
{
    struct gt_trace_events *events = &trace->events;
    assert_int_equal(gt_trace_event_room(events), 0);
    size_t at = events->count++;
    events->start[at] = event.start;
    assert_int_equal(gt_trace_set_duration(events, at, event.duration), 0);
    assert_int_equal(gt_trace_set_ids(events, at, event.id ? event.id : GT_TRACE_NO_ID,
                                      event.external ? event.external : GT_TRACE_NO_ID),
                     0);
    events->name[at] = intern(trace, event.name);
    events->category[at] = intern(trace, event.category);
    events->track[at] = track_of(trace, &event);
    events->step[at] = event.step;
    events->phase[at] = 'X';
    events->flag[at] = 0;
    uint32_t file = file_of(trace, event.node); /* which may move them all */
    gt_trace_file_widen(&trace->file[file], event.start, event.start + event.duration);
    return at;
}

void traces_step(struct gt_trace *trace, const char *node, const char *mode, int32_t step, int64_t start, int64_t end)
{
    uint32_t of = intern(trace, node), process = intern(trace, mode);
    *GT_GROW(trace, step) = (struct gt_trace_step){of, process, step, start, end};
    uint32_t file = file_of(trace, node);
    gt_trace_file_widen(&trace->file[file], start, end);
}

void traces_sample(struct gt_trace *trace, const char *node, const char *type, const char *name, const char *dimension,
                   int64_t time, double value)
{
    struct gt_trace_series wanted = {intern(trace, type), intern(trace, name), intern(trace, dimension),
                                     intern(trace, node), file_of(trace, node)};
    struct gt_trace_samples *samples = &trace->samples;
    uint32_t series = 0;
    while (series < trace->series_count && memcmp(&trace->series[series], &wanted, sizeof wanted) != 0)
        series++;
    if (series == trace->series_count)
        *GT_GROW(trace, series) = wanted;
    size_t at = samples->count++;
    samples->time = realloc(samples->time, samples->count * sizeof *samples->time);
    samples->value = realloc(samples->value, samples->count * sizeof *samples->value);
    samples->series = realloc(samples->series, samples->count * sizeof *samples->series);
    assert_true(samples->time && samples->value && samples->series);
    samples->time[at] = time;
    samples->value[at] = value;
    samples->series[at] = series;
    gt_trace_file_widen(&trace->file[wanted.file], time, time);
}

static void swap_values(struct gt_trace_events *events, size_t i, size_t j)
{
    int64_t duration = gt_trace_duration(events, i), bytes = gt_trace_bytes(events, i);
    uint64_t id = gt_trace_id(events, i), external = gt_trace_external(events, i);
    int status = gt_trace_set_duration(events, i, gt_trace_duration(events, j));
    status |= gt_trace_set_ids(events, i, gt_trace_id(events, j), gt_trace_external(events, j));
    status |= gt_trace_set_bytes(events, i, gt_trace_bytes(events, j));
    status |= gt_trace_set_duration(events, j, duration);
    status |= gt_trace_set_ids(events, j, id, external);
    status |= gt_trace_set_bytes(events, j, bytes);
    assert_int_equal(status, 0);
}

void traces_shuffle(struct gt_trace *trace, unsigned seed)
{
    struct gt_trace_events *events = &trace->events;
    for (size_t i = events->count; i > 1; i--) {
        size_t j = (size_t)rand_r(&seed) % i;
#define SWAP(column)                                              \
    {                                                             \
        __typeof__(*events->column) kept = events->column[i - 1]; \
        events->column[i - 1] = events->column[j];                \
        events->column[j] = kept;                                 \
    }
        COLUMNS(SWAP)
#undef SWAP
        swap_values(events, i - 1, j);
    }
}

struct gt_report *traces_report(const char *analysis, const struct gt_trace *trace,
                                const struct gt_profile_options *options)
{
    struct gt_error error = {0};
    struct gt_report *report = NULL;
    const struct gt_analysis *found = gt_analysis_find(analysis, &error);
    if (!found || gt_analysis_run(found, trace, NULL, options, &report, &error) < 0)
        fail_msg("%s: %s", analysis, error.text);
    return report;
}

static const struct gt_table *table_of(const struct gt_report *report, const char *key)
{
    const struct gt_node *node = gt_node_find(&report->root, key);
    if (!node)
        fail_msg("no table %s", key);
    return gt_node_table(node);
}

static size_t column_of(const struct gt_table *table, const char *key)
{
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->column[i].key, key) == 0)
            return i;
    fail_msg("no column %s", key);
    return 0;
}

double traces_number(const struct gt_report *report, const char *key, size_t row, const char *column)
{
    const struct gt_table *table = table_of(report, key);
    size_t at = column_of(table, column);
    assert_true(row < gt_table_rows(table));
    return gt_table_cell_number(table, row, at);
}

const char *traces_text(const struct gt_report *report, const char *key, size_t row, const char *column)
{
    const struct gt_table *table = table_of(report, key);
    assert_true(row < gt_table_rows(table));
    return text_at(table, row, column_of(table, column));
}

size_t traces_rows(const struct gt_report *report, const char *key)
{
    return gt_table_rows(table_of(report, key));
}

size_t traces_find(const struct gt_report *report, const char *key, size_t from, const char *column, const char *text)
{
    const struct gt_table *table = table_of(report, key);
    for (size_t i = from; i < gt_table_rows(table); i++) {
        const char *cell = text_at(table, i, column_of(table, column));
        if (cell && strcmp(cell, text) == 0)
            return i;
    }
    fail_msg("no row %s in %s", text, key);
    return 0;
}

char *traces_json(const struct gt_report *report)
{
    struct gt_buffer text = {0};
    assert_true(gt_report_write(report, "json", &text, NULL) >= 0);
    return text.data;
}
