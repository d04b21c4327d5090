/* A trace made of tables, so that analyses work on rows that a caller has chosen. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/profile.h"
#include "trace/source.h"
#include "base/grow.h"
#include "trace/steps.h"

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

static bool is_number(const struct gt_table_column *column)
{
    return column->kind == GT_CELL_NUMBER || column->kind == GT_CELL_INTEGER;
}

/* A column of no rows may have any kind: who makes tables does not know better. */
static int open_numbers(const struct gt_table *table, const char *name, struct source *ret, struct gt_error *error)
{
    ret->column = find_column(table, name);
    if (!ret->column)
        return gt_error_set(error, EINVAL, "the table has no column \"%s\"", name);
    return !gt_table_rows(table) || is_number(ret->column)
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
    double us = number_at(source, row);
    if (!(fabs(us) < 9e15))
        return false;
    *ret = source->column->kind == GT_CELL_INTEGER ? source->column->integer[row] * 1000 : llround(us * 1e3);
    return true;
}

/* Each node is a file. */
static int64_t file_of(struct builder *builder, uint32_t node)
{
    struct gt_trace *trace = builder->trace;
    int64_t at = gt_keys_add(&builder->files, (struct gt_key){{node, 0, 0, 0}}, (uint32_t)trace->file_count);
    if (at != (int64_t)trace->file_count)
        return at;
    struct gt_trace_file *file = GT_GROW(trace, file);
    if (!file)
        return -ENOMEM;
    *file = (struct gt_trace_file){.path = strdup(""),
                                   .format = "tables",
                                   .node = node,
                                   .rank = -1,
                                   .clock = GT_CLOCK_RECORD,
                                   .first = INT64_MAX,
                                   .last = INT64_MIN};
    return file->path ? at : -ENOMEM;
}

static void widen(struct gt_trace_file *file, int64_t start, int64_t end)
{
    file->first = start < file->first ? start : file->first;
    file->last = end > file->last ? end : file->last;
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
    struct gt_trace_samples *samples = &trace->samples;
    samples->time = calloc(rows + 1, sizeof *samples->time);
    samples->value = calloc(rows + 1, sizeof *samples->value);
    samples->series = calloc(rows + 1, sizeof *samples->series);
    if (!samples->time || !samples->value || !samples->series)
        return -ENOMEM;
    for (size_t row = 0; row < rows; row++) {
        int64_t time, series = series_of(builder, text, row);
        double value = number_at(&number[1], row);
        if (series < 0)
            return (int)series;
        if (isnan(value) || !time_at(&number[0], row, &time))
            continue;
        samples->time[samples->count] = time;
        samples->value[samples->count] = value;
        samples->series[samples->count++] = (uint32_t)series;
        struct gt_trace_file *file = &trace->file[file_of(builder, trace->series[series].node)];
        file->samples++;
        widen(file, time, time);
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
    *process = (struct gt_trace_process){(uint32_t)file, GT_TRACE_NONE, name, GT_TRACE_NONE, INT64_MAX};
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
                                   events->start[event] + events->duration[event]};
    return 0;
}

static int allocate_events(struct gt_trace_events *events, size_t rows)
{
#define COLUMN(name) !(events->name = calloc(rows + 1, sizeof *events->name))
    bool failed = COLUMN(start) || COLUMN(duration) || COLUMN(id) || COLUMN(external) || COLUMN(bytes) ||
                  COLUMN(name) || COLUMN(category) || COLUMN(track) || COLUMN(step) || COLUMN(argument) ||
                  COLUMN(phase) || COLUMN(flag);
#undef COLUMN
    return failed ? -ENOMEM : 0;
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
    uint32_t file = trace->process[track].file;
    events->start[at] = start;
    events->duration[at] = end - start;
    events->id[at] = events->external[at] = GT_TRACE_NO_ID;
    events->bytes[at] = -1;
    events->name[at] = string_at(&text[METRIC], row);
    events->category[at] = GT_TRACE_NONE;
    events->track[at] = (uint32_t)track;
    events->step[at] = step >= 0 && step < INT32_MAX ? (int32_t)step : GT_TRACE_NO_STEP;
    events->phase[at] = 'X';
    events->count++;
    trace->file[file].read++;
    trace->file[file].kept++;
    widen(&trace->file[file], start, end);
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
    if (status >= 0)
        status = allocate_events(&builder->trace->events, gt_table_rows(table));
    for (size_t row = 0; row < gt_table_rows(table) && status >= 0; row++)
        status = add_event(builder, number, text, row);
    for (size_t i = 0; i < TEXTS; i++)
        free(text[i].string);
    return status == -ENOMEM ? gt_error_system(builder->error, ENOMEM, "profile") : status;
}

int gt_profile_of_tables(struct gt_profile **ret, const struct gt_table *samples, const struct gt_table *events,
                         struct gt_error *error)
{
    struct gt_profile *profile = calloc(1, sizeof *profile);
    struct builder builder = {.error = error};
    if (profile)
        builder.trace = profile->trace = calloc(1, sizeof *profile->trace);
    int status = builder.trace ? take_samples(&builder, samples) : gt_error_system(error, ENOMEM, "profile");
    if (status >= 0)
        status = take_events(&builder, events);
    if (status >= 0 && (gt_steps_combine(builder.trace) < 0 || gt_steps_assign(builder.trace) < 0))
        status = gt_error_system(error, ENOMEM, "profile");
    gt_keys_release(&builder.files);
    gt_keys_release(&builder.processes);
    gt_keys_release(&builder.series);
    if (status >= 0)
        *ret = profile;
    else
        gt_profile_close(profile);
    return status;
}
