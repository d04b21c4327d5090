/* Traces kept in memory, and their tables of samples and events with SMDebug's columns. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "api/own.h"
#include "api/profile.h"
#include "api/request.h"
#include "base/order.h"

/* ---- opening ---- */

/* SMDebug counts from the full minute in the name of its first file of system metrics, in seconds. */
static int64_t find_origin(const struct gt_trace *trace)
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
    return origin == INT64_MAX ? 0 : origin * 1000000000;
}

int gt_profile_open(struct gt_profile **ret, const char *const *paths, size_t count,
                    const struct gt_trace_request *request, struct gt_error *error)
{
    static const char *const arguments[] = {"worker_id", "num_workers", "pin_memory", NULL};
    struct gt_trace_options options;
    int status = gt_trace_request_read(request, &options, error);
    if (status < 0)
        return status;
    struct gt_profile *profile = calloc(1, sizeof *profile);
    if (!profile)
        return gt_error_system(error, ENOMEM, "profile");
    options.arguments = arguments;
    status = gt_trace_load(&profile->trace, paths, count, &options, error);
    if (status < 0) {
        free(profile);
        return status;
    }
    profile->origin = find_origin(profile->trace);
    *ret = profile;
    return 0;
}

void gt_profile_close(struct gt_profile *profile)
{
    if (!profile)
        return;
    gt_trace_close(profile->trace);
    free(profile);
}

int64_t gt_profile_origin(const struct gt_profile *profile)
{
    return profile->origin;
}

int gt_profile_analyse(const struct gt_profile *profile, const char *name, const struct gt_profile_options *options,
                       struct gt_report **ret, struct gt_error *error)
{
    GT_OWN(struct gt_profile_options, own, options);
    const struct gt_analysis *analysis = gt_analysis_find(name, error);
    if (!analysis)
        return -EINVAL;
    if (analysis->inputs > 1)
        return gt_error_set(error, EINVAL, "profile %s takes two paths, not a trace", name);
    return gt_analysis_run(analysis, profile->trace, NULL, &own, ret, error);
}

/* ---- cells ---- */

static void put_string(struct gt_table *data, const struct gt_trace *trace, uint32_t string)
{
    gt_table_choice(data, string, gt_trace_text(trace, string));
}

static void put_us(struct gt_table *data, int64_t time)
{
    gt_table_number(data, (double)time / 1e3);
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
    if (time[x] != time[y])
        return time[x] < time[y] ? -1 : 1;
    return GT_ORDER(x, y);
}

static void put_sample(struct gt_table *data, const struct gt_profile *profile, size_t sample)
{
    const struct gt_trace *trace = profile->trace;
    const struct gt_trace_series *series = &trace->series[trace->samples.series[sample]];
    gt_table_time(data, trace->samples.time[sample]);
    put_us(data, trace->samples.time[sample] - profile->origin);
    gt_table_number(data, trace->samples.value[sample]);
    put_string(data, trace, series->name);
    put_string(data, trace, series->dimension);
    put_string(data, trace, series->node);
    put_string(data, trace, series->type);
}

int gt_profile_samples(const struct gt_profile *profile, const struct gt_profile_rows *rows, size_t count,
                       struct gt_table **ret, struct gt_error *error)
{
    const struct gt_trace_samples *samples = &profile->trace->samples;
    struct gt_row_filter filter;
    int status = gt_row_filter_open(&filter, profile, rows, count, error);
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
        put_sample(data, profile, order[i]);
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
};

/* What a file gives no thread for has the number of its track, which does not change from reading to reading. */
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

static int64_t integer_argument(const struct gt_trace *trace, size_t event, uint32_t key)
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
    const struct gt_trace_argument *pinned = gt_trace_argument(trace, event, GT_PROFILE_PIN_MEMORY);
    uint32_t pin = !pinned ? 2 : pinned->text == GT_TRACE_NONE && pinned->number == 1;
    gt_table_integer(data, integer_argument(trace, event, GT_PROFILE_WORKER_ID));
    gt_table_integer(data, integer_argument(trace, event, GT_PROFILE_NUM_WORKERS));
    gt_table_choice(data, pin, texts[pin]);
}

static void put_event(struct gt_table *data, const struct gt_profile *profile, const struct event_table *table,
                      size_t event)
{
    const struct gt_trace *trace = profile->trace;
    const struct gt_trace_events *events = &trace->events;
    int64_t start = events->start[event], end = start + events->duration[event];
    gt_table_time(data, start);
    gt_table_time(data, end);
    put_us(data, start - profile->origin);
    put_us(data, end - profile->origin);
    if (table->of_loader)
        put_us(data, end - start);
    else
        put_id(data, trace, tid_of(trace, event), table->tid_is_number, events->track[event]);
    put_id(data, trace, pid_of(trace, event), table->pid_is_number, 0);
    put_string(data, trace, events->name[event]);
    gt_table_integer(data, gt_profile_step(trace, event));
    if (table->of_loader)
        put_loader(data, trace, event);
    else
        gt_table_integer(data, events->bytes[event]);
    put_string(data, trace, gt_trace_process_of(trace, event)->name);
    put_string(data, trace, gt_trace_node_of(trace, gt_trace_process_of(trace, event)->file));
}

static struct gt_table *table_of(const struct gt_profile *profile, struct event_table *table, const uint32_t *order,
                                 size_t count)
{
    struct gt_table *data = gt_table_new();
    table->tid_is_number = table->pid_is_number = true;
    for (size_t i = 0; i < count; i++) {
        table->tid_is_number = table->tid_is_number && is_thread(profile->trace, tid_of(profile->trace, order[i]));
        table->pid_is_number = table->pid_is_number && is_number(profile->trace, pid_of(profile->trace, order[i]));
    }
    for (size_t i = 0; i < table->columns; i++) {
        const char *name = table->column[i].name;
        bool is_id = (strcmp(name, "tid") == 0 && table->tid_is_number) ||
                     (strcmp(name, "pid") == 0 && table->pid_is_number);
        gt_table_column(data, name, name, is_id ? GT_CELL_INTEGER : table->column[i].kind, NULL);
    }
    for (size_t i = 0; i < count; i++)
        put_event(data, profile, table, order[i]);
    return data;
}

static int make_table(const struct gt_profile *profile, const struct gt_profile_rows *rows, size_t count,
                      struct event_table *table, struct gt_table **ret, struct gt_error *error)
{
    struct gt_row_filter filter;
    int status = gt_row_filter_open(&filter, profile, rows, count, error);
    if (status < 0)
        return status;
    uint32_t *order = gt_trace_order(profile->trace);
    size_t kept = 0;
    for (size_t i = 0; order && i < profile->trace->events.count; i++)
        if (gt_row_filter_event(&filter, order[i]))
            order[kept++] = order[i];
    gt_row_filter_release(&filter);
    if (!order)
        return gt_error_system(error, ENOMEM, "profile");
    struct gt_table *data = table_of(profile, table, order, kept);
    free(order);
    return gt_table_finish_columns(ret, data, table->column, table->columns, "profile", error);
}

int gt_profile_events(const struct gt_profile *profile, const struct gt_profile_rows *rows, size_t count,
                      struct gt_table **ret, struct gt_error *error)
{
    struct event_table table = {event_columns, sizeof event_columns / sizeof *event_columns, false, false, false};
    return make_table(profile, rows, count, &table, ret, error);
}

int gt_profile_loader_events(const struct gt_profile *profile, const struct gt_profile_rows *rows, size_t count,
                             struct gt_table **ret, struct gt_error *error)
{
    struct event_table table = {loader_columns, sizeof loader_columns / sizeof *loader_columns, true, false, false};
    return make_table(profile, rows, count, &table, ret, error);
}
