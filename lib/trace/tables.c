/* Tables of samples and events with SMDebug's columns, made of a trace, and a trace made of such tables. */
#include "trace/tables.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"
#include "trace/format.h"
#include "trace/source.h"
#include "trace/trace.h"

/* ---- the rows that a caller wants ---- */

enum { UNKNOWN, WANTED, UNWANTED };

/* The step an event bears itself. Of SMDebug's timelines that is what the file says; elsewhere the window it starts
 * in. */
static int32_t row_step(const struct gt_trace *trace, size_t event)
{
    if (trace->events.flag[event] & GT_TRACE_IN_STEP && strcmp(gt_trace_file_of(trace, event)->format, "smdebug") == 0)
        return GT_TRACE_NO_STEP;
    return trace->events.step[event];
}

static unsigned char *verdicts(const struct gt_row_filter *filter, size_t request)
{
    return filter->verdict + request * (filter->trace->strings.count + (size_t)1);
}

static void judge(struct gt_row_filter *filter, size_t request, const regex_t *expression)
{
    const struct gt_trace *trace = filter->trace;
    unsigned char *verdict = verdicts(filter, request);
    for (uint32_t i = 0; i < trace->strings.count; i++)
        if (verdict[i] != WANTED)
            verdict[i] = regexec(expression, gt_trace_text(trace, i), 0, NULL, 0) == 0 ? WANTED : UNWANTED;
}

static int take_names(struct gt_row_filter *filter, size_t request, struct gt_error *error)
{
    const struct gt_trace_rows *rows = &filter->rows[request];
    const struct gt_trace *trace = filter->trace;
    unsigned char *verdict = verdicts(filter, request);
    memset(verdict, rows->names ? UNWANTED : WANTED, trace->strings.count + (size_t)1);
    for (const char *const *name = rows->names; name && *name; name++) {
        regex_t expression;
        if (!rows->are_patterns) {
            uint32_t string = gt_trace_find(trace, *name);
            if (string != GT_TRACE_NONE)
                verdict[string] = WANTED;
        } else if (regcomp(&expression, *name, REG_EXTENDED | REG_NOSUB)) {
            return gt_error_set(error, EINVAL, "\"%s\" is not a regular expression", *name);
        } else {
            judge(filter, request, &expression);
            regfree(&expression);
        }
    }
    return 0;
}

/* The time that the events of a request take. */
static struct gt_row_span hull_of(const struct gt_trace *trace, const struct gt_trace_rows *rows)
{
    const struct gt_trace_events *events = &trace->events;
    struct gt_row_span hull = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < events->count; i++) {
        int32_t step = row_step(trace, i);
        if (step < rows->start || step > rows->end || !gt_trace_is_slice(trace, i))
            continue;
        int64_t end = events->start[i] + gt_trace_duration(events, i);
        hull.start = events->start[i] < hull.start ? events->start[i] : hull.start;
        hull.end = end > hull.end ? end : hull.end;
    }
    return hull;
}

int gt_row_filter_open(struct gt_row_filter *ret, const struct gt_trace *trace, const struct gt_trace_rows *rows,
                       size_t count, struct gt_error *error)
{
    *ret = (struct gt_row_filter){.trace = trace, .rows = rows, .count = count};
    ret->verdict = calloc(count + 1, trace->strings.count + (size_t)1);
    ret->hull = calloc(count + 1, sizeof *ret->hull);
    int status = ret->verdict && ret->hull ? 0 : gt_error_system(error, ENOMEM, "choosing rows");
    for (size_t i = 0; i < count && status >= 0; i++) {
        status = take_names(ret, i, error);
        ret->hull[i] = rows[i].by_step ? hull_of(trace, &rows[i]) : (struct gt_row_span){rows[i].start, rows[i].end};
    }
    if (status < 0)
        gt_row_filter_release(ret);
    return status;
}

void gt_row_filter_release(struct gt_row_filter *filter)
{
    free(filter->verdict);
    free(filter->hull);
    *filter = (struct gt_row_filter){0};
}

static bool is_wanted(const struct gt_row_filter *filter, size_t request, uint32_t name, uint32_t other)
{
    const unsigned char *verdict = verdicts(filter, request);
    return !filter->rows[request].names || (name != GT_TRACE_NONE && verdict[name] == WANTED) ||
           (other != GT_TRACE_NONE && verdict[other] == WANTED);
}

bool gt_row_filter_event(const struct gt_row_filter *filter, size_t event)
{
    const struct gt_trace *trace = filter->trace;
    const struct gt_trace_events *events = &trace->events;
    if (!gt_trace_is_slice(trace, event))
        return false;
    for (size_t i = 0; i < filter->count; i++) {
        const struct gt_trace_rows *rows = &filter->rows[i];
        int32_t step = row_step(trace, event);
        bool inside = rows->by_step ? rows->start <= step && step <= rows->end
                                    : events->start[event] <= rows->end &&
                                          events->start[event] + gt_trace_duration(events, event) >= rows->start;
        if (inside && is_wanted(filter, i, events->name[event], gt_trace_process_of(trace, event)->name))
            return true;
    }
    return !filter->count;
}

bool gt_row_filter_sample(const struct gt_row_filter *filter, size_t sample)
{
    const struct gt_trace *trace = filter->trace;
    const struct gt_trace_series *series = &trace->series[trace->samples.series[sample]];
    int64_t time = trace->samples.time[sample];
    for (size_t i = 0; i < filter->count; i++)
        if (filter->hull[i].start <= time && time <= filter->hull[i].end &&
            is_wanted(filter, i, series->name, series->dimension))
            return true;
    return !filter->count;
}

/* The full second in which the trace begins: a float that counts microseconds from the epoch has no place for their parts. */
static int64_t first_second(const struct gt_trace *trace)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < trace->file_count; i++) {
        if (strncmp(trace->file[i].format, "smdebug", 7) == 0)
            return 0;
        first = trace->file[i].first < first ? trace->file[i].first : first;
    }
    return first == INT64_MAX || first < 0 ? 0 : first / 1000000000 * 1000000000;
}

/* SMDebug counts from the full minute in the name of its first file of system metrics, in seconds. */
int64_t gt_trace_origin(const struct gt_trace *trace)
{
    int64_t origin = INT64_MAX;
    for (size_t i = 0; i < trace->file_count; i++) {
        const char *name = strrchr(trace->file[i].path, '/');
        name = name ? name + 1 : trace->file[i].path;
        if (strcmp(trace->file[i].format, "smdebug-system") != 0 || strspn(name, "0123456789") != 10)
            continue;
        int64_t seconds = strtoll(name, NULL, 10);
        origin = seconds < origin ? seconds : origin;
    }
    return origin == INT64_MAX ? first_second(trace) : origin * 1000000000;
}

/* ---- cells ---- */

static void put_string(struct gt_table *data, const struct gt_trace *trace, uint32_t string)
{
    gt_table_choice(data, string, gt_trace_text(trace, string));
}

static void put_us(struct gt_table *data, int64_t time)
{
    gt_table_number(data, gt_trace_us(time));
}

/* ---- samples ---- */

static const struct gt_column_kind sample_columns[] = {
    {"timestamp", GT_CELL_TIME, false},     {"timestamp_us", GT_CELL_NUMBER, true}, {"value", GT_CELL_NUMBER, false},
    {"system_metric", GT_CELL_TEXT, false}, {"dimension", GT_CELL_TEXT, false},     {"nodeID", GT_CELL_TEXT, false},
    {"type", GT_CELL_TEXT, false},
};
enum { SAMPLE_COLUMNS = sizeof sample_columns / sizeof *sample_columns };

static int by_time(const void *a, const void *b, void *context)
{
    const int64_t *time = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return GT_ORDER_BY(GT_ORDER(time[x], time[y]), GT_ORDER(x, y));
}

static void put_sample(struct gt_table *data, const struct gt_trace *trace, int64_t origin, size_t sample)
{
    const struct gt_trace_series *series = &trace->series[trace->samples.series[sample]];
    gt_table_time(data, trace->samples.time[sample]);
    put_us(data, trace->samples.time[sample] - origin);
    gt_table_number(data, trace->samples.value[sample]);
    put_string(data, trace, series->name);
    put_string(data, trace, series->dimension);
    put_string(data, trace, series->node);
    put_string(data, trace, series->type);
}

int gt_trace_samples_table(const struct gt_trace *trace, const struct gt_trace_rows *rows, size_t count,
                           struct gt_table **ret, struct gt_error *error)
{
    const struct gt_trace_samples *samples = &trace->samples;
    int64_t origin = gt_trace_origin(trace);
    struct gt_row_filter filter;
    int status = gt_row_filter_open(&filter, trace, rows, count, error);
    if (status < 0)
        return status;
    struct gt_table *data = gt_table_new();
    uint32_t *order = malloc((samples->count + 1) * sizeof *order);
    size_t kept = 0;
    for (size_t i = 0; order && i < samples->count; i++)
        if (gt_row_filter_sample(&filter, i))
            order[kept++] = (uint32_t)i;
    gt_table_add_columns(data, sample_columns, SAMPLE_COLUMNS);
    if (kept)
        qsort_r(order, kept, sizeof *order, by_time, samples->time);
    for (size_t i = 0; i < kept; i++)
        put_sample(data, trace, origin, order[i]);
    bool has_memory = order;
    free(order);
    gt_row_filter_release(&filter);
    if (has_memory)
        return gt_table_finish_columns(ret, data, sample_columns, SAMPLE_COLUMNS, "profile", error);
    gt_table_free(data);
    return gt_error_system(error, ENOMEM, "profile");
}

/* ---- events ---- */

static const struct gt_column_kind event_columns[] = {
    {"start_time", GT_CELL_TIME, false},
    {"end_time", GT_CELL_TIME, false},
    {"start_time_us", GT_CELL_NUMBER, true},
    {"end_time_us", GT_CELL_NUMBER, true},
    {"tid", GT_CELL_TEXT, false},
    {"pid", GT_CELL_TEXT, false},
    {"framework_metric", GT_CELL_TEXT, false},
    {"step", GT_CELL_INTEGER, false},
    {"bytes", GT_CELL_INTEGER, false},
    {"process", GT_CELL_TEXT, false},
    {"nodeID", GT_CELL_TEXT, false},
};
static const struct gt_column_kind loader_columns[] = {
    {"start_time", GT_CELL_TIME, false},       {"end_time", GT_CELL_TIME, false},
    {"start_time_us", GT_CELL_NUMBER, true},   {"end_time_us", GT_CELL_NUMBER, true},
    {"duration_us", GT_CELL_NUMBER, true},     {"pid", GT_CELL_TEXT, false},
    {"framework_metric", GT_CELL_TEXT, false}, {"step", GT_CELL_INTEGER, false},
    {"worker_id", GT_CELL_INTEGER, false},     {"num_workers", GT_CELL_INTEGER, false},
    {"pin_memory", GT_CELL_TEXT, false},       {"process", GT_CELL_TEXT, false},
    {"node_id", GT_CELL_TEXT, false},
};

/* How the rows of events are written. */
struct event_table {
    const struct gt_column_kind *column;
    size_t columns;
    bool of_loader, tid_is_number, pid_is_number;
    int64_t origin;
};

/* An event without a thread gets the number of its track, which does not change from reading to reading. */
static uint32_t tid_of(const struct gt_trace *trace, size_t event)
{
    return trace->track[trace->events.track[event]].tid;
}

static uint32_t pid_of(const struct gt_trace *trace, size_t event)
{
    const struct gt_trace_track *track = &trace->track[trace->events.track[event]];
    return track->real_process != GT_TRACE_NONE ? track->real_process : trace->process[track->process].pid;
}

static bool is_number(const struct gt_trace *trace, uint32_t string)
{
    const char *text = gt_trace_text(trace, string);
    size_t length = strlen(text);
    return length && length < 18 && strspn(text + (*text == '-'), "0123456789") + (*text == '-') == length;
}

static bool is_thread(const struct gt_trace *trace, uint32_t string)
{
    return !*gt_trace_text(trace, string) || is_number(trace, string);
}

static void put_id(struct gt_table *data, const struct gt_trace *trace, uint32_t string, bool as_number, uint32_t track)
{
    const char *text = gt_trace_text(trace, string);
    if (as_number)
        gt_table_integer(data, *text ? strtoll(text, NULL, 10) : track);
    else
        put_string(data, trace, string);
}

int64_t gt_table_integer_of(const struct gt_trace *trace, size_t event, uint32_t key)
{
    const struct gt_trace_argument *argument = gt_trace_argument(trace, event, key);
    if (!argument)
        return -1;
    if (argument->text != GT_TRACE_NONE)
        return is_number(trace, argument->text) ? strtoll(gt_trace_text(trace, argument->text), NULL, 10) : -1;
    return fabs(argument->number) < 9e15 ? (int64_t)argument->number : -1;
}

static void put_loader(struct gt_table *data, const struct gt_trace *trace, size_t event)
{
    static const char *const texts[] = {"False", "True", "NA"};
    const struct gt_trace_argument *pinned = gt_trace_argument(trace, event, GT_TABLE_PIN_MEMORY);
    uint32_t pin = !pinned ? 2 : pinned->text == GT_TRACE_NONE && pinned->number == 1;
    gt_table_integer(data, gt_table_integer_of(trace, event, GT_TABLE_WORKER_ID));
    gt_table_integer(data, gt_table_integer_of(trace, event, GT_TABLE_NUM_WORKERS));
    gt_table_choice(data, pin, texts[pin]);
}

static void put_event(struct gt_table *data, const struct gt_trace *trace, const struct event_table *table,
                      size_t event)
{
    const struct gt_trace_events *events = &trace->events;
    int64_t start = events->start[event], end = start + gt_trace_duration(events, event);
    gt_table_time(data, start);
    gt_table_time(data, end);
    put_us(data, start - table->origin);
    put_us(data, end - table->origin);
    if (table->of_loader)
        put_us(data, end - start);
    else
        put_id(data, trace, tid_of(trace, event), table->tid_is_number, events->track[event]);
    put_id(data, trace, pid_of(trace, event), table->pid_is_number, 0);
    put_string(data, trace, events->name[event]);
    gt_table_integer(data, row_step(trace, event));
    if (table->of_loader)
        put_loader(data, trace, event);
    else
        gt_table_integer(data, gt_trace_bytes(events, event));
    put_string(data, trace, gt_trace_process_of(trace, event)->name);
    put_string(data, trace, gt_trace_node_of(trace, gt_trace_process_of(trace, event)->file));
}

static struct gt_table *table_of(const struct gt_trace *trace, struct event_table *table, const uint32_t *order,
                                 size_t count)
{
    struct gt_table *data = gt_table_new();
    table->tid_is_number = table->pid_is_number = true;
    table->origin = gt_trace_origin(trace);
    for (size_t i = 0; i < count; i++) {
        table->tid_is_number = table->tid_is_number && is_thread(trace, tid_of(trace, order[i]));
        table->pid_is_number = table->pid_is_number && is_number(trace, pid_of(trace, order[i]));
    }
    for (size_t i = 0; i < table->columns; i++) {
        const char *name = table->column[i].name;
        bool is_id = (strcmp(name, "tid") == 0 && table->tid_is_number) ||
                     (strcmp(name, "pid") == 0 && table->pid_is_number);
        gt_table_column(data, name, name, is_id ? GT_CELL_INTEGER : table->column[i].kind, NULL);
    }
    for (size_t i = 0; i < count; i++)
        put_event(data, trace, table, order[i]);
    return data;
}

static int make_table(const struct gt_trace *trace, const struct gt_trace_rows *rows, size_t count,
                      struct event_table *table, struct gt_table **ret, struct gt_error *error)
{
    struct gt_row_filter filter;
    int status = gt_row_filter_open(&filter, trace, rows, count, error);
    if (status < 0)
        return status;
    uint32_t *order = gt_trace_order(trace);
    size_t kept = 0;
    for (size_t i = 0; order && i < trace->events.count; i++)
        if (gt_row_filter_event(&filter, order[i]))
            order[kept++] = order[i];
    gt_row_filter_release(&filter);
    if (!order)
        return gt_error_system(error, ENOMEM, "profile");
    struct gt_table *data = table_of(trace, table, order, kept);
    free(order);
    return gt_table_finish_columns(ret, data, table->column, table->columns, "profile", error);
}

int gt_trace_events_table(const struct gt_trace *trace, const struct gt_trace_rows *rows, size_t count,
                          struct gt_table **ret, struct gt_error *error)
{
    struct event_table table = {event_columns, sizeof event_columns / sizeof *event_columns, .of_loader = false};
    return make_table(trace, rows, count, &table, ret, error);
}

int gt_trace_loader_table(const struct gt_trace *trace, const struct gt_trace_rows *rows, size_t count,
                          struct gt_table **ret, struct gt_error *error)
{
    struct event_table table = {loader_columns, sizeof loader_columns / sizeof *loader_columns, .of_loader = true};
    return make_table(trace, rows, count, &table, ret, error);
}

/* ---- a trace made of tables, so that analyses work on rows that a caller has chosen ---- */

/* One column of numbers or of texts, whose strings are known by number. */
struct source {
    const struct gt_table_column *column;
    uint32_t *string; /* of each choice */
};

struct builder {
    struct gt_trace *trace;
    struct gt_keys files, processes, series;
    struct gt_error *error;
};

static const struct gt_table_column *find_column(const struct gt_table *table, const char *name)
{
    for (size_t i = 0; i < table->columns; i++)
        if (strcmp(table->column[i].key, name) == 0)
            return &table->column[i];
    return NULL;
}

static bool holds_numbers(const struct gt_table_column *column)
{
    return column->kind == GT_CELL_NUMBER || column->kind == GT_CELL_INTEGER;
}

/* A column of no rows may have any kind: who makes tables does not know better. */
static int open_numbers(const struct gt_table *table, const char *name, struct source *ret, struct gt_error *error)
{
    ret->column = find_column(table, name);
    if (!ret->column)
        return gt_error_set(error, EINVAL, "the table has no column \"%s\"", name);
    return !gt_table_rows(table) || holds_numbers(ret->column)
               ? 0
               : gt_error_set(error, EINVAL, "column \"%s\" holds no numbers", name);
}

static int intern(struct builder *builder, const char *text, int64_t length, uint32_t *ret)
{
    int64_t number = gt_strings_add(&builder->trace->strings, length ? text : "", (size_t)length);
    if (number < 0)
        return gt_error_system(builder->error, (int)-number, "profile");
    *ret = (uint32_t)number;
    return 0;
}

static int open_texts(struct builder *builder, const struct gt_table *table, const char *name, struct source *ret)
{
    const struct gt_table_column *column = ret->column = find_column(table, name);
    if (!column)
        return gt_error_set(builder->error, EINVAL, "the table has no column \"%s\"", name);
    if (gt_table_rows(table) && column->kind != GT_CELL_TEXT && column->kind != GT_CELL_PLAIN_TEXT)
        return gt_error_set(builder->error, EINVAL, "column \"%s\" holds no texts", name);
    size_t texts = column->texts;
    ret->string = calloc(texts + 1, sizeof *ret->string);
    int status = ret->string ? 0 : gt_error_system(builder->error, ENOMEM, "profile");
    for (size_t i = 0; i < texts && status >= 0; i++) {
        int64_t from = column->begin[i];
        status = intern(builder, column->text + from, column->begin[i + 1] - from, &ret->string[i]);
    }
    return status;
}

static double number_at(const struct source *source, size_t row)
{
    const struct gt_table_column *column = source->column;
    return column->kind == GT_CELL_INTEGER ? (double)column->integer[row] : column->number[row];
}

static uint32_t string_at(const struct source *source, size_t row)
{
    if (source->column->kind == GT_CELL_PLAIN_TEXT)
        return source->string[row];
    int32_t choice = source->column->choice[row];
    return choice < 0 ? GT_TRACE_NONE : source->string[choice];
}

/* Microseconds as ns, exact for whole ones. */
static bool time_at(const struct source *source, size_t row, int64_t *ret)
{
    double us = number_at(source, row), whole = floor(us);
    if (!(fabs(us) < 9e15))
        return false;
    *ret = (int64_t)whole * 1000 + llround((us - whole) * 1e3);
    return true;
}

/* Each node is a file. */
static int64_t file_of(struct builder *builder, uint32_t node)
{
    struct gt_trace *trace = builder->trace;
    int64_t at = gt_keys_add(&builder->files, (struct gt_key){{node, 0, 0, 0}}, (uint32_t)trace->file_count);
    if (at != (int64_t)trace->file_count)
        return at;
    struct gt_trace_file *file = gt_trace_add_file(trace, "", "tables");
    if (!file)
        return -ENOMEM;
    file->node = node;
    file->clock = GT_CLOCK_RECORD;
    return at;
}

/* ---- samples ---- */

/* Devices of one kind are taken together; what is no device keeps its name. */
static uint32_t device_of(const struct gt_trace *trace, uint32_t name, uint32_t type)
{
    return strstr(gt_trace_text(trace, name), "Percent") ? name : type;
}

static int64_t series_of(struct builder *builder, const struct source text[4], size_t row)
{
    struct gt_trace *trace = builder->trace;
    uint32_t dimension = string_at(&text[1], row), node = string_at(&text[2], row), type = string_at(&text[3], row);
    uint32_t name = device_of(trace, string_at(&text[0], row), type);
    struct gt_key key = {{name, dimension, node, type}};
    int64_t file = file_of(builder, node), at = gt_keys_add(&builder->series, key, (uint32_t)trace->series_count);
    if (file < 0 || at != (int64_t)trace->series_count)
        return file < 0 ? file : at;
    struct gt_trace_series *series = GT_GROW(trace, series);
    if (!series)
        return -ENOMEM;
    *series = (struct gt_trace_series){type, name, dimension, node, (uint32_t)file};
    return at;
}

static int add_samples(struct builder *builder, const struct source number[2], const struct source text[4], size_t rows)
{
    struct gt_trace *trace = builder->trace;
    for (size_t row = 0; row < rows; row++) {
        int64_t time, series = series_of(builder, text, row);
        double value = number_at(&number[1], row);
        if (series < 0)
            return (int)series;
        if (isnan(value) || !time_at(&number[0], row, &time))
            continue;
        if (gt_trace_add_sample(&trace->samples, (uint32_t)series, time, value) < 0)
            return -ENOMEM;
        struct gt_trace_file *file = &trace->file[file_of(builder, trace->series[series].node)];
        file->samples++;
        gt_trace_file_widen(file, time, time);
    }
    return 0;
}

static int take_samples(struct builder *builder, const struct gt_table *table)
{
    static const char *const numbers[] = {"timestamp_us", "value"};
    static const char *const texts[] = {"system_metric", "dimension", "nodeID", "type"};
    struct source number[2] = {0}, text[4] = {0};
    int status = 0;
    for (size_t i = 0; i < 2 && status >= 0; i++)
        status = open_numbers(table, numbers[i], &number[i], builder->error);
    for (size_t i = 0; i < 4 && status >= 0; i++)
        status = open_texts(builder, table, texts[i], &text[i]);
    if (status >= 0 && add_samples(builder, number, text, gt_table_rows(table)) < 0)
        status = gt_error_system(builder->error, ENOMEM, "profile");
    for (size_t i = 0; i < 4; i++)
        free(text[i].string);
    return status;
}

/* ---- events ---- */

enum { START, END, STEP, NUMBERS };
enum { METRIC, PROCESS, NODE, TEXTS };

/* A process has one track. */
static int64_t track_of(struct builder *builder, uint32_t name, uint32_t node)
{
    struct gt_trace *trace = builder->trace;
    int64_t file = file_of(builder, node);
    struct gt_key key = {{(uint32_t)file, name, 0, 0}};
    int64_t at = file < 0 ? file : gt_keys_add(&builder->processes, key, (uint32_t)trace->track_count);
    if (at < 0 || at != (int64_t)trace->track_count)
        return at;
    struct gt_trace_process *process = GT_GROW(trace, process);
    struct gt_trace_track *track = process ? GT_GROW(trace, track) : NULL;
    if (!track)
        return -ENOMEM;
    *process = (struct gt_trace_process){(uint32_t)file, GT_TRACE_NONE, GT_TRACE_NONE, name, GT_TRACE_NONE, INT64_MAX};
    *track = (struct gt_trace_track){.process = (uint32_t)at,
                                     .tid = GT_TRACE_NONE,
                                     .name = GT_TRACE_NONE,
                                     .real_process = GT_TRACE_NONE,
                                     .sort = INT64_MAX};
    return at;
}

/* The mode of a step: its process, or "ProfilerStep" of "ProfilerStep#12". */
static int note_step(struct builder *builder, size_t event, uint32_t file)
{
    static const char profiler_step[] = "ProfilerStep";
    struct gt_trace *trace = builder->trace;
    const struct gt_trace_events *events = &trace->events;
    uint32_t mode = trace->process[events->track[event]].name;
    if (strncmp(gt_trace_text(trace, events->name[event]), profiler_step, sizeof profiler_step - 1) == 0 &&
        intern(builder, profiler_step, sizeof profiler_step - 1, &mode) < 0)
        return -ENOMEM;
    struct gt_trace_step *step = GT_GROW(trace, step);
    if (!step)
        return -ENOMEM;
    *step = (struct gt_trace_step){file, mode, events->step[event], events->start[event],
                                   events->start[event] + gt_trace_duration(events, event)};
    return 0;
}

static int add_event(struct builder *builder, const struct source *number, const struct source *text, size_t row)
{
    struct gt_trace *trace = builder->trace;
    struct gt_trace_events *events = &trace->events;
    size_t at = events->count;
    int64_t start, end, track = track_of(builder, string_at(&text[PROCESS], row), string_at(&text[NODE], row));
    double step = number_at(&number[STEP], row);
    if (track < 0)
        return (int)track;
    if (!time_at(&number[START], row, &start) || !time_at(&number[END], row, &end) || end < start)
        return 0;
    int status = gt_trace_event_room(events);
    if (status >= 0)
        status = gt_trace_set_duration(events, at, end - start);
    if (status >= 0)
        status = gt_trace_set_ids(events, at, GT_TRACE_NO_ID, GT_TRACE_NO_ID);
    if (status < 0)
        return status;
    uint32_t file = trace->process[track].file;
    events->start[at] = start;
    events->name[at] = string_at(&text[METRIC], row);
    events->category[at] = GT_TRACE_NONE;
    events->track[at] = (uint32_t)track;
    events->step[at] = step >= 0 && step < INT32_MAX ? (int32_t)step : GT_TRACE_NO_STEP;
    events->phase[at] = 'X';
    events->flag[at] = 0;
    events->count++;
    trace->file[file].read++;
    trace->file[file].kept++;
    gt_trace_file_widen(&trace->file[file], start, end);
    return events->step[at] >= 0 ? note_step(builder, at, file) : 0;
}

static int take_events(struct builder *builder, const struct gt_table *table)
{
    static const char *const numbers[] = {"start_time_us", "end_time_us", "step"};
    static const char *const texts[] = {"framework_metric", "process", "nodeID"};
    struct source number[NUMBERS] = {0}, text[TEXTS] = {0};
    int status = 0;
    for (size_t i = 0; i < NUMBERS && status >= 0; i++)
        status = open_numbers(table, numbers[i], &number[i], builder->error);
    for (size_t i = 0; i < TEXTS && status >= 0; i++)
        status = open_texts(builder, table, texts[i], &text[i]);
    for (size_t row = 0; row < gt_table_rows(table) && status >= 0; row++)
        status = add_event(builder, number, text, row);
    for (size_t i = 0; i < TEXTS; i++)
        free(text[i].string);
    return status == -ENOMEM ? gt_error_system(builder->error, ENOMEM, "profile") : status;
}

int gt_trace_of_tables(struct gt_trace **ret, const struct gt_table *samples, const struct gt_table *events,
                       struct gt_error *error)
{
    struct gt_trace *trace = calloc(1, sizeof *trace);
    struct builder builder = {.trace = trace, .error = error};
    int status = trace ? take_samples(&builder, samples) : gt_error_system(error, ENOMEM, "profile");
    if (status >= 0)
        status = take_events(&builder, events);
    if (status >= 0 && (gt_steps_combine(trace) < 0 || gt_steps_assign(trace) < 0))
        status = gt_error_system(error, ENOMEM, "profile");
    gt_keys_release(&builder.files);
    gt_keys_release(&builder.processes);
    gt_keys_release(&builder.series);
    if (status >= 0)
        *ret = trace;
    else
        gt_trace_close(trace);
    return status;
}

/* ---- events as their files have them ---- */

static const struct gt_column_kind raw_columns[] = {
    {"start_us", GT_CELL_NUMBER, true},  {"duration_us", GT_CELL_NUMBER, true}, {"name", GT_CELL_PLAIN_TEXT, false},
    {"args", GT_CELL_PLAIN_TEXT, false}, {"ph", GT_CELL_PLAIN_TEXT, false},     {"pid", GT_CELL_TEXT, false},
    {"tid", GT_CELL_TEXT, false},        {"process", GT_CELL_TEXT, false},      {"node", GT_CELL_TEXT, false},
    {"file", GT_CELL_TEXT, false},
};
enum { RAW_COLUMNS = sizeof raw_columns / sizeof *raw_columns };

struct raw {
    const struct gt_trace *trace;
    struct gt_table *table;
    struct gt_buffer name;
};

static void put_raw_string(struct raw *raw, uint32_t string)
{
    gt_table_choice(raw->table, string, gt_trace_text(raw->trace, string));
}

static int take_raw_event(void *context, const struct gt_trace_event *event, struct gt_error *error)
{
    struct raw *raw = context;
    const struct gt_trace_track *track = &raw->trace->track[event->track];
    const struct gt_trace_process *process = &raw->trace->process[track->process];
    const struct gt_raw_event *item = event->item;
    if ((event->phase != 'X' && event->phase != 'i') || event->flag & GT_TRACE_NO_TIME)
        return 0;
    gt_buffer_clear(&raw->name);
    if (gt_span_unescape(item->name, &raw->name) < 0)
        return gt_error_system(error, ENOMEM, "reading traces");
    gt_table_number(raw->table, gt_trace_us(event->start));
    gt_table_number(raw->table, gt_trace_us(event->duration));
    gt_table_text_of(raw->table, raw->name.length ? raw->name.data : "", raw->name.length);
    if (item->args.text && *item->args.text == '{')
        gt_table_text_of(raw->table, item->args.text, item->args.length);
    else
        gt_table_missing(raw->table);
    gt_table_text_of(raw->table, &event->phase, 1);
    put_raw_string(raw, process->pid);
    put_raw_string(raw, track->tid);
    put_raw_string(raw, process->name);
    put_raw_string(raw, gt_trace_node_of(raw->trace, process->file));
    gt_table_text(raw->table, raw->trace->file[process->file].path);
    return 0;
}

/* Files are surveyed first, so that none begins again once its rows are there. */
int gt_trace_raw_table(const char *const paths[], size_t count, const struct gt_trace_options *options,
                       struct gt_table **ret, struct gt_error *error)
{
    struct gt_trace_source *source;
    int status = gt_trace_source_open(&source, paths, count, options, error);
    if (status < 0)
        return status;
    struct raw raw = {gt_trace_source_trace(source), gt_table_new(), {0}};
    struct gt_trace_sink sink = {.context = &raw, .event = take_raw_event};
    gt_table_add_columns(raw.table, raw_columns, RAW_COLUMNS);
    status = gt_trace_source_read(source, NULL, NULL, error);
    if (status >= 0)
        status = gt_trace_source_read(source, &sink, NULL, error);
    gt_buffer_release(&raw.name);
    gt_trace_source_close(source);
    if (status >= 0)
        return gt_table_finish_columns(ret, raw.table, raw_columns, RAW_COLUMNS, "profile", error);
    gt_table_free(raw.table);
    return status;
}
