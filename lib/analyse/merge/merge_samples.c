/* Samples in a merged file: a counter for each, and marks where GPUs had little to do. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/merge/merge_parts.h"
#include "base/json_write.h"
#include "base/number.h"
#include "base/order.h"

#define NEAR INT64_C(20000000) /* a mark tells the samples within 20 ms */
static const char mark_name[] = "sys_metrics_bottlenecks";

struct sample {
    int64_t time;
    double value;
    uint32_t series;
};

struct counters {
    struct gt_merge *merge;
    struct sample *sample;
    size_t count;
    char **key;   /* of each series; NULL: not wanted */
    int64_t *pid; /* of each series */
    int64_t mark_pid;
};

static int by_time(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return GT_ORDER(x->series, y->series);
}

/* "gpu0_GPUUtilization_algo-1" */
static char *key_of(const struct gt_trace *trace, const struct gt_trace_series *series)
{
    const char *parts[] = {gt_trace_text(trace, series->name), gt_trace_text(trace, series->dimension),
                           gt_trace_text(trace, series->node)};
    char *key;
    if (asprintf(&key, "%s%s%s%s%s", parts[0], *parts[0] ? "_" : "", parts[1], *parts[2] ? "_" : "", parts[2]) < 0)
        return NULL;
    return key;
}

/* One process for the counters of each node, behind all others. */
static int name_series(struct counters *counters, const regex_t *wanted, struct gt_keys *nodes)
{
    const struct gt_trace *trace = counters->merge->trace;
    counters->key = calloc(trace->series_count + 1, sizeof *counters->key);
    counters->pid = calloc(trace->series_count + 1, sizeof *counters->pid);
    if (!counters->key || !counters->pid)
        return -ENOMEM;
    counters->mark_pid = 2000000;
    for (size_t i = 0; i < trace->series_count; i++) {
        counters->key[i] = key_of(trace, &trace->series[i]);
        if (!counters->key[i])
            return -ENOMEM;
        struct gt_key node = {{trace->series[i].node, 0, 0, 0}};
        int64_t number = gt_keys_add(nodes, node, (uint32_t)nodes->count);
        if (number < 0)
            return (int)number;
        counters->pid[i] = counters->mark_pid + 1 + number;
        if (wanted && regexec(wanted, counters->key[i], 0, NULL, 0) != 0) {
            free(counters->key[i]);
            counters->key[i] = NULL;
        }
    }
    return 0;
}

static int collect(struct counters *counters)
{
    const struct gt_trace_samples *samples = &counters->merge->trace->samples;
    counters->sample = malloc((samples->count + 1) * sizeof *counters->sample);
    if (!counters->sample)
        return -ENOMEM;
    for (size_t i = 0; i < samples->count; i++)
        if (counters->key[samples->series[i]])
            counters->sample[counters->count++] = (struct sample){samples->time[i], samples->value[i],
                                                                  samples->series[i]};
    qsort(counters->sample, counters->count, sizeof *counters->sample, by_time);
    return 0;
}

static void write_number(struct gt_buffer *out, double value)
{
    char text[GT_NUMBER_SIZE];
    gt_number_repr(text, value);
    gt_buffer_text(out, value - value == 0 ? text : "null");
}

static int write_counters(struct counters *counters, struct gt_error *error)
{
    struct gt_merge *merge = counters->merge;
    struct gt_buffer *out = gt_merged_file_text(merge->file);
    int64_t told = 0;
    for (size_t i = 0; i < merge->trace->series_count; i++)
        if (counters->key[i] && counters->pid[i] > told) {
            told = counters->pid[i];
            gt_merge_process(merge, told, "System metrics", gt_trace_text(merge->trace, merge->trace->series[i].node));
        }
    for (size_t i = 0; i < counters->count; i++) {
        const struct sample *sample = &counters->sample[i];
        gt_merge_begin_event(merge);
        gt_buffer_text(out, "{\"name\": ");
        gt_json_quote(out, counters->key[sample->series]);
        gt_buffer_printf(out, ", \"ph\": \"C\", \"pid\": %" PRId64 ", \"ts\": ", counters->pid[sample->series]);
        gt_merge_time(out, sample->time - merge->base);
        gt_buffer_text(out, ", \"args\": {\"value\": ");
        write_number(out, sample->value);
        gt_buffer_text(out, "}}");
        gt_merge_touch(merge, sample->time, sample->time);
        merge->counters++;
        int status = gt_merged_file_flush(merge->file, error);
        if (status < 0)
            return status;
    }
    return 0;
}

/* Use of the processors, not of the memory; percent. */
static bool is_low(const struct counters *counters, const struct sample *sample)
{
    const struct gt_trace *trace = counters->merge->trace;
    const struct gt_trace_series *series = &trace->series[sample->series];
    const char *dimension = gt_trace_text(trace, series->dimension);
    double percent = strcmp(dimension, "GPUUtilization") == 0    ? sample->value
                     : strcmp(dimension, "gpu_utilization") == 0 ? sample->value * 100
                                                                 : 100;
    return strcmp(gt_trace_text(trace, series->type), "gpu") == 0 && percent < counters->merge->options->low_gpu;
}

/* Every series once, by its sample nearest to the mark. */
static void write_mark(struct counters *counters, size_t from, size_t to, int64_t time, size_t *nearest)
{
    struct gt_merge *merge = counters->merge;
    struct gt_buffer *out = gt_merged_file_text(merge->file);
    bool any = false;
    memset(nearest, 0, merge->trace->series_count * sizeof *nearest);
    for (size_t i = from; i < to; i++) {
        size_t *best = &nearest[counters->sample[i].series];
        if (!*best || llabs(counters->sample[i].time - time) < llabs(counters->sample[*best - 1].time - time))
            *best = i + 1;
    }
    gt_merge_begin_event(merge);
    gt_buffer_printf(out, "{\"name\": \"%s\", \"ph\": \"i\", \"s\": \"g\", \"pid\": %" PRId64 ", \"ts\": ", mark_name,
                     counters->mark_pid);
    gt_merge_time(out, time - merge->base);
    gt_buffer_text(out, ", \"args\": {");
    for (size_t i = 0; i < merge->trace->series_count; i++) {
        if (!nearest[i])
            continue;
        gt_buffer_text(out, any ? ", " : "");
        gt_json_quote(out, counters->key[i]);
        gt_buffer_text(out, ": ");
        write_number(out, counters->sample[nearest[i] - 1].value);
        any = true;
    }
    gt_buffer_text(out, "}}");
    merge->marks++;
}

/* Low samples that an earlier mark tells are not marked again. */
static int write_marks(struct counters *counters, struct gt_error *error)
{
    struct gt_merge *merge = counters->merge;
    size_t *nearest = calloc(merge->trace->series_count + 1, sizeof *nearest), from = 0, to = 0;
    int64_t last = INT64_MIN;
    int status = nearest ? 0 : gt_error_system(error, ENOMEM, "merging");
    for (size_t i = 0; i < counters->count && status >= 0; i++) {
        int64_t time = counters->sample[i].time;
        if (!is_low(counters, &counters->sample[i]) || (last != INT64_MIN && time - last <= NEAR))
            continue;
        if (last == INT64_MIN)
            gt_merge_process(merge, counters->mark_pid, mark_name, "");
        for (; from < counters->count && counters->sample[from].time < time - NEAR; from++)
            ;
        for (; to < counters->count && counters->sample[to].time <= time + NEAR; to++)
            ;
        write_mark(counters, from, to, time, nearest);
        last = time;
        status = gt_merged_file_flush(merge->file, error);
    }
    free(nearest);
    return status;
}

int gt_merge_samples(struct gt_merge *merge, struct gt_error *error)
{
    struct counters counters = {.merge = merge};
    struct gt_keys nodes = {0};
    int status = name_series(&counters, merge->metrics, &nodes);
    gt_keys_release(&nodes);
    if (status >= 0)
        status = collect(&counters);
    if (status < 0)
        gt_error_system(error, -status, "merging");
    if (status >= 0)
        status = write_counters(&counters, error);
    if (status >= 0 && merge->options->low_gpu > 0)
        status = write_marks(&counters, error);
    for (size_t i = 0; counters.key && i < merge->trace->series_count; i++)
        free(counters.key[i]);
    free(counters.key);
    free(counters.pid);
    free(counters.sample);
    return status;
}
