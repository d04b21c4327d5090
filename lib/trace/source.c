/* Files read into a trace, as often as is needed. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trace/source.h"
#include "trace/steps.h"

enum { MOST_RESTARTS = 3 }; /* base, rank, node */

struct gt_trace_source {
    struct gt_trace_paths paths;
    struct gt_trace_options options;
    struct gt_trace *trace;
    struct gt_reading reading;
    bool is_surveyed;
};

static int add_file(struct gt_trace *trace, const char *path, const struct gt_trace_format *format)
{
    struct gt_trace_file *file = GT_GROW(trace, file);
    char *copy = strdup(path);
    if (!file || !copy || gt_strings_add(&trace->strings, path, strlen(path)) < 0) {
        free(copy);
        trace->file_count -= file != NULL;
        return -ENOMEM;
    }
    *file = (struct gt_trace_file){.path = copy, .format = format->name, .node = GT_TRACE_NONE, .rank = -1};
    return 0;
}

int gt_trace_source_open(struct gt_trace_source **ret, const char *const paths[], size_t count,
                         const struct gt_trace_options *options, struct gt_error *error)
{
    struct gt_trace_source *source = calloc(1, sizeof *source);
    struct gt_trace *trace = calloc(1, sizeof *trace);
    if (!source || !trace) {
        free(source);
        free(trace);
        return gt_error_system(error, ENOMEM, "reading traces");
    }
    source->trace = trace;
    source->options = *options;
    source->reading = (struct gt_reading){.trace = trace, .options = &source->options};
    int status = gt_trace_paths_find(&source->paths, paths, count, options->suffixes, error);
    for (size_t i = 0; i < source->paths.count && status >= 0; i++)
        if (add_file(trace, source->paths.file[i].path, source->paths.file[i].format) < 0)
            status = gt_error_system(error, ENOMEM, "%s", source->paths.file[i].path);
    trace->ignored = source->paths.ignored;
    if (status < 0)
        gt_trace_source_close(source);
    else
        *ret = source;
    return status;
}

struct gt_trace *gt_trace_source_trace(struct gt_trace_source *source)
{
    return source->trace;
}

static void begin_file(struct gt_reading *reading)
{
    struct gt_trace *trace = reading->trace;
    struct gt_trace_file *file = gt_reading_file(reading);
    file->first = INT64_MAX;
    file->last = INT64_MIN;
    file->read = file->kept = file->samples = file->bytes = 0;
    file->damage = (struct gt_trace_damage){0};
    for (uint32_t i = 0; i < file->tracks; i++)
        trace->track[file->track + i].read = 0;
    for (size_t i = reading->first_step; i < trace->step_count; i++) {
        trace->step[i].start = INT64_MAX;
        trace->step[i].end = INT64_MIN;
    }
    while (trace->profile_count && trace->profile[trace->profile_count - 1].file == reading->file)
        gt_trace_profile_release(&trace->profile[--trace->profile_count]);
    reading->has_begun = false;
    memset(reading->cache, 0, sizeof reading->cache);
}

/* Profiles that lie outside of what was asked for are taken away again. */
static void filter_profiles(struct gt_reading *reading)
{
    struct gt_trace *trace = reading->trace;
    size_t kept = trace->profile_count;
    while (kept && trace->profile[kept - 1].file == reading->file)
        kept--;
    for (size_t i = kept; i < trace->profile_count; i++) {
        struct gt_trace_profile *profile = &trace->profile[i];
        bool wanted = !reading->options->no_profiles && !reading->is_other_node &&
                      profile->start <= reading->filter->end && profile->end >= reading->filter->start;
        if (wanted)
            trace->profile[kept++] = *profile;
        else
            gt_trace_profile_release(profile);
    }
    trace->profile_count = kept;
}

static int read_file(struct gt_reading *reading, const struct gt_trace_format *format, const char *path,
                     struct gt_error *error)
{
    int status = -EAGAIN;
    reading->first_step = (uint32_t)reading->trace->step_count;
    reading->is_other_node = false;
    gt_reading_judge_node(reading);
    for (int i = 0; status == -EAGAIN && i <= MOST_RESTARTS; i++) {
        begin_file(reading);
        status = 0;
        if (reading->sink && reading->sink->file)
            status = reading->sink->file(reading->sink->context, reading->file, error);
        if (status >= 0)
            status = format->read(reading, path, error);
    }
    if (status >= 0 && reading->sink)
        filter_profiles(reading);
    return status < 0 ? gt_error_system(error, -status, "%s", path) : 0;
}

/* What is said about a copy is said about the pipe. */
static int read_path(struct gt_reading *reading, const struct gt_trace_path *file, struct gt_error *error)
{
    struct gt_error trouble = {0};
    bool is_copy = *file->copy;
    int status = read_file(reading, file->format, is_copy ? file->copy : file->path, &trouble);
    if (status >= 0)
        return status;
    return is_copy && trouble.path_length
               ? gt_error_set(error, trouble.code, "%s%s", file->path, trouble.text + trouble.path_length)
               : gt_error_copy(error, &trouble);
}

int gt_trace_source_read(struct gt_trace_source *source, const struct gt_trace_sink *sink, const int64_t *shift,
                         struct gt_error *error)
{
    struct gt_reading *reading = &source->reading;
    struct gt_filter filter = {0};
    struct gt_trace *trace = source->trace;
    int status = 0;
    if (sink && gt_filter_needs_survey(&source->options) && !source->is_surveyed)
        status = gt_trace_source_read(source, NULL, NULL, error);
    if (status >= 0 && sink)
        status = gt_filter_open(&filter, &source->options, trace, error);
    reading->sink = sink;
    reading->filter = &filter;
    reading->shift = shift;
    reading->error = error;
    trace->step_count = 0;
    while (trace->profile_count)
        gt_trace_profile_release(&trace->profile[--trace->profile_count]);
    gt_keys_clear(&reading->steps);
    for (size_t i = 0; i < source->paths.count && status >= 0; i++) {
        reading->file = (uint32_t)i;
        status = read_path(reading, &source->paths.file[i], error);
    }
    if (status >= 0 && gt_steps_combine(trace) < 0)
        status = gt_error_system(error, ENOMEM, "reading traces");
    source->is_surveyed = true;
    gt_filter_release(&filter);
    return status;
}

struct gt_trace_options *gt_trace_source_options(struct gt_trace_source *source)
{
    return &source->options;
}

static void release_tables(struct gt_trace_source *source)
{
    gt_keys_release(&source->reading.tracks);
    gt_keys_release(&source->reading.processes);
    gt_keys_release(&source->reading.steps);
    gt_keys_release(&source->reading.series);
    gt_buffer_release(&source->reading.scratch);
    gt_trace_paths_release(&source->paths);
}

void gt_trace_source_close(struct gt_trace_source *source)
{
    if (!source)
        return;
    gt_trace_close(source->trace);
    release_tables(source);
    free(source);
}

int gt_trace_load(struct gt_trace **ret, const char *const paths[], size_t count,
                  const struct gt_trace_options *options, struct gt_error *error)
{
    struct gt_trace_source *source;
    int status = gt_trace_source_open(&source, paths, count, options, error);
    if (status < 0)
        return status;
    struct gt_columns_sink columns = {.trace = source->trace, .options = options};
    struct gt_trace_sink sink = gt_columns_sink(&columns);
    status = gt_trace_source_read(source, &sink, NULL, error);
    if (status >= 0 && gt_steps_assign(source->trace) < 0)
        status = gt_error_system(error, ENOMEM, "reading traces");
    if (status >= 0) {
        *ret = source->trace;
        source->trace = NULL;
    }
    gt_trace_source_close(source);
    return status;
}
