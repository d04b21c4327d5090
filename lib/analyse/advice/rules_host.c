/* Rules over hosts: data loaders, functions, calls of the CUDA or HIP runtime, and samples of a machine. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/findings.h"
#include "analyse/calls/api.h"
#include "analyse/calls/functions.h"
#include "analyse/trace/dataloader.h"
#include "analyse/trace/phases.h"
#include "analyse/trace/utilization.h"
#include "analyse/views.h"
#include "base/number.h"
#include "schema/human.h"

/* ---- data loaders ---- */

/* Returns how many workers an event of the loader names: by its argument, or 0 by PyTorch's name of the iterator; -1
 * unknown. */
static int workers_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_argument *argument = gt_trace_argument(input->trace, event, GT_RULE_NUM_WORKERS);
    if (argument && !isnan(argument->number))
        return (int)argument->number;
    if (argument && argument->text != GT_TRACE_NONE)
        return atoi(gt_trace_text(input->trace, argument->text));
    return strstr(gt_trace_text(input->trace, input->trace->events.name[event]), "SingleProcess") ? 0 : -1;
}

struct part {
    size_t count, outliers;
    double total, excess, median; /* ns; excess: of outliers over the median */
    int workers;
};

/* Parts of loaders: node part workers count total outliers excess median. */
static struct gt_rows measure_parts(const struct gt_analysis_input *input)
{
    struct gt_rows parts = gt_loader_parts(input);
    const uint32_t *event = gt_rows_keys(&parts, "event"), *is_outlier = gt_rows_keys(&parts, "is_outlier");
    const int64_t *length = gt_rows_wholes(&parts, "length");
    const double *median = gt_rows_reals(&parts, "median");
    int64_t *workers = gt_rows_add_wholes(&parts, "workers");
    double *excess = gt_rows_add_reals(&parts, "excess");
    for (size_t i = 0; i < parts.count; i++) {
        workers[i] = workers_of(input, event[i]);
        excess[i] = is_outlier[i] ? (double)length[i] - median[i] : 0;
    }
    return gt_rows_group(&parts, "node part",
                         GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"), GT_MAX("workers", "workers"),
                                       GT_SUM("outliers", "is_outlier"), GT_SUM("excess", "excess"),
                                       GT_FIRST("median", "median")));
}

static struct part part_of(const struct gt_rows *parts, size_t row)
{
    return (struct part){.count = (size_t)gt_rows_wholes(parts, "count")[row],
                         .outliers = (size_t)gt_rows_wholes(parts, "outliers")[row],
                         .total = (double)gt_rows_wholes(parts, "total")[row],
                         .excess = gt_rows_reals(parts, "excess")[row],
                         .median = gt_rows_reals(parts, "median")[row],
                         .workers = (int)gt_rows_wholes(parts, "workers")[row]};
}

static void judge_loader(struct gt_findings *findings, uint32_t node, const struct part part[GT_LOADER_PARTS],
                         double waits)
{
    const struct part *start = &part[GT_LOADER_INITIALIZATION], *next = &part[GT_LOADER_NEXT];
    struct gt_where where = GT_ON_NODE(node);
    int64_t first, last;
    char workers[60] = "";
    if (!gt_node_range(findings->input, node, &first, &last))
        return;
    double whole = (double)gt_analysis_recorded(findings->input, node, first, last);
    int most = start->workers > next->workers ? start->workers : next->workers;
    if (most >= 0)
        snprintf(workers, sizeof workers,
                 most ? " with %d workers" : " without workers, in the training process itself", most);
    double late = fmin(gt_attributed_time(findings, node, GT_CAUSE_LOADING), waits);
    if (next->count && !gt_findings_has_gpu_work(findings, node)) /* else GT_RULE_IDLE_LOADING is more exact */
        gt_finding_add(findings, GT_RULE_LOADING, where, gt_saving_on(findings, node, waits - late),
                       "%.0f %% of the time waiting for data%s, %s in the median of %zu fetches%s: %s",
                       gt_saving_of(waits - late, whole).percent,
                       gt_is_worth_naming(late, whole) ? " (what makes the others wait apart)" : "",
                       GT_TIME_WORDS(next->median), next->count, workers,
                       most == 0 ? "load in workers (num_workers)" : "more workers, or a faster source");
    if (start->count)
        gt_finding_add(
            findings, GT_RULE_ITERATORS, where, gt_saving_on(findings, node, start->total),
            "%.0f %% of the time making iterators of the data loader, %s, %s in the median: keep the workers between epochs (persistent_workers)",
            gt_saving_of(start->total, whole).percent, GT_TIMES(start->count), GT_TIME_WORDS(start->median));
    if (next->outliers)
        gt_finding_add(
            findings, GT_RULE_SLOW_FETCHES, where, gt_saving_on(findings, node, next->excess),
            "%zu of %zu fetches take at least twice the median of %s, and %.0f %% of the time more than it: samples of uneven cost, or storage that stalls; a longer prefetch",
            next->outliers, next->count, GT_TIME_WORDS(next->median), gt_saving_of(next->excess, whole).percent);
}

void gt_rules_loader(struct gt_findings *findings)
{
    struct gt_rows parts = measure_parts(findings->input), waits = gt_view_loading(findings->input);
    waits = gt_rows_group(&waits, "node", GT_AGGREGATES(GT_TOTAL("waits", "length")));
    gt_rows_join(&parts, &waits, "node", "waits");
    for (size_t from = 0, to; from < parts.count; from = to) {
        struct part part[GT_LOADER_PARTS] = {{.workers = -1}, {.workers = -1}, {.workers = -1}};
        double waited = gt_rows_reals(&parts, "waits")[from];
        to = gt_rows_run(&parts, "node", from);
        for (size_t i = from; i < to; i++)
            part[gt_rows_keys(&parts, "part")[i]] = part_of(&parts, i);
        judge_loader(findings, gt_rows_keys(&parts, "node")[from], part, isnan(waited) ? 0 : waited);
    }
}

/* ---- functions ---- */

/* A function that takes this part of what its profiler measured. */
struct hot {
    const char *title, *caller; /* caller: that most of the time came from; NULL: not known */
    enum gt_trace_profiler profiler;
    double amount, calls, total;
};

static void tell_function(struct gt_findings *findings, const struct hot *hot, enum gt_profile_unit unit)
{
    bool is_python = hot->profiler == GT_PROFILER_CPROFILE || hot->profiler == GT_PROFILER_PYINSTRUMENT;
    bool is_time = unit == GT_PROFILE_SECONDS;
    double share = gt_percent(hot->amount, hot->total);
    struct gt_buffer words = {0};
    if (is_time)
        gt_buffer_printf(&words, "%s of %s", GT_TIME_WORDS(hot->amount * 1e9), GT_TIME_WORDS(hot->total * 1e9));
    else
        gt_buffer_printf(&words, "%.0f of %.0f", hot->amount, hot->total);
    if (!isnan(hot->calls))
        gt_buffer_printf(&words, hot->calls > 1 ? " in %.0f calls" : " in %.0f call", hot->calls);
    gt_finding_add(findings, GT_RULE_FUNCTION, GT_IN_JOB, (struct gt_saving){share, is_time ? hot->amount * 1e6 : NAN},
                   "%.0f %% of the %s in %s itself (%s, by %s)%s%s", share,
                   !is_time    ? "samples"
                   : is_python ? "Python time"
                               : "time",
                   hot->title, words.data ? words.data : "",
                   hot->profiler == GT_PROFILER_CPROFILE ? "cProfile" : gt_trace_profiler_names[hot->profiler],
                   hot->caller ? ", mostly for " : "", hot->caller ? hot->caller : "");
    gt_buffer_release(&words);
}

static void judge_functions(struct gt_findings *findings, enum gt_profile_unit unit)
{
    static const double HOT = 25;
    const struct gt_analysis_input *input = findings->input;
    struct gt_rows of_dumps = gt_functions_of_dumps(input, GT_DUMPS_ALL, unit, NULL);
    struct gt_rows rows = gt_functions_sum(&of_dumps);
    struct gt_rows totals = gt_rows_group(&rows, "profiler", GT_AGGREGATES(GT_SUM("total", "tottime")));
    gt_rows_join(&rows, &totals, "profiler", "total");
    gt_rows_percent(&rows, "share", "tottime", "total");
    rows = gt_rows_above(&rows, "share", nextafter(HOT, 0));
    struct gt_rows callers = gt_function_callers(input, &of_dumps, &rows);
    gt_function_titles(input, &callers, "caller");
    callers = gt_rows_group(&callers, "item", GT_AGGREGATES(GT_ARG_MAX("caller", "cumtime", "caller")));
    gt_rows_join(&rows, &callers, "item", "caller");
    const char **title = gt_function_titles(input, &rows, "title");
    const uint32_t *caller = gt_rows_keys(&rows, "caller"), *profiler = gt_rows_keys(&rows, "profiler");
    const char *const *words = gt_rows_find(&rows, "caller")->words;
    const double *amount = gt_rows_reals(&rows, "tottime"), *calls = gt_rows_reals(&rows, "ncalls");
    const double *total = gt_rows_reals(&rows, "total");
    for (size_t i = 0; i < rows.count; i++)
        tell_function(findings,
                      &(struct hot){title[i], caller[i] == GT_NO_KEY ? NULL : words[caller[i]],
                                    (enum gt_trace_profiler)profiler[i], amount[i], calls[i], total[i]},
                      unit);
    findings->status = gt_query_status(input->query);
}

void gt_rules_functions(struct gt_findings *findings)
{
    judge_functions(findings, GT_PROFILE_SECONDS);
    if (findings->status >= 0)
        judge_functions(findings, GT_PROFILE_SAMPLES);
}

/* ---- calls of the runtime ---- */

static bool is_call(const struct gt_analysis_input *input, size_t event)
{
    return gt_analysis_work(input, event) == GT_WORK_RUNTIME && gt_trace_is_slice(input->trace, event);
}

/* Allocations, and copies that return when they are made. */
static void judge_calls(struct gt_findings *findings)
{
    const struct gt_analysis_input *input = findings->input;
    int64_t *host = gt_api_host_times(input);
    struct gt_rows calls = gt_rows_of_events(input, is_call);
    calls = gt_rows_group(&calls, "node name", GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length")));
    const uint32_t *name = gt_rows_keys(&calls, "name");
    uint32_t *kind = gt_rows_add_keys(&calls, "kind", NULL);
    for (size_t i = 0; i < calls.count; i++)
        kind[i] = gt_api_kind(gt_analysis_text(input, name[i]));
    calls = gt_rows_group(&calls, "node kind",
                          GT_AGGREGATES(GT_SUM("count", "count"), GT_SUM("total", "total"),
                                        GT_ARG_MAX("longest", "total", "name"),
                                        GT_ARG_MAX("count_of_longest", "total", "count")));
    const uint32_t *node = gt_rows_keys(&calls, "node"), *longest = gt_rows_keys(&calls, "longest");
    const int64_t *total = gt_rows_wholes(&calls, "total"), *count = gt_rows_wholes(&calls, "count");
    const int64_t *of_longest = gt_rows_wholes(&calls, "count_of_longest");
    kind = gt_rows_keys(&calls, "kind");
    findings->status = gt_query_status(input->query);
    for (size_t i = 0; i < calls.count; i++) {
        if (node[i] == GT_TRACE_NONE)
            continue;
        const char *words = gt_analysis_text(input, longest[i]);
        double share = gt_percent((double)total[i], (double)host[node[i]]);
        struct gt_saving saving = gt_saving_of_idle(findings, GT_ON_NODE(node[i]), (double)total[i]);
        if (kind[i] == GT_API_ALLOCATION)
            gt_finding_add(
                findings, GT_RULE_ALLOCATION_CALLS, GT_ON_NODE(node[i]), saving,
                "%zu calls that allocate or free memory take %.0f %% of the host's time, most of it %s (%s): each may wait for the GPU; allocate once, let the allocator keep what it has (no empty_cache() in the loop), sizes that repeat",
                (size_t)count[i], share, words, GT_TIMES((size_t)of_longest[i]));
        else if (kind[i] == GT_API_COPY)
            gt_finding_add(
                findings, GT_RULE_BLOCKING_COPIES, GT_ON_NODE(node[i]), saving,
                "%zu copies that hold the host until they are made (%s) take %.0f %% of its time: pinned memory and asynchronous copies (non_blocking=True)",
                (size_t)count[i], words, share);
    }
}

static void judge_pageable(struct gt_findings *findings)
{
    struct gt_rows work = gt_view_work(findings->input), times = gt_view_device_times(findings->input);
    const uint32_t *event = gt_rows_keys(&work, "event");
    int64_t *bytes = gt_rows_add_wholes(&work, "bytes");
    bool *is_wanted = gt_query_memory(work.query, work.count, sizeof *is_wanted);
    for (size_t i = 0; i < work.count && is_wanted; i++) {
        int64_t size = gt_trace_bytes(&findings->input->trace->events, event[i]);
        is_wanted[i] = gt_api_is_pageable(findings->input, event[i]);
        bytes[i] = size > 0 ? size : 0;
    }
    struct gt_rows copies = gt_rows_filter(&work, is_wanted);
    copies = gt_rows_group(&copies, "node device",
                           GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"), GT_SUM("bytes", "bytes")));
    gt_rows_join(&copies, &times, "node device", "span");
    const uint32_t *node = gt_rows_keys(&copies, "node"), *device = gt_rows_keys(&copies, "device");
    const int64_t *count = gt_rows_wholes(&copies, "count"), *total = gt_rows_wholes(&copies, "total");
    const int64_t *sum = gt_rows_wholes(&copies, "bytes"), *span = gt_rows_wholes(&copies, "span");
    for (size_t i = 0; i < copies.count; i++) {
        char text[60] = "their sizes are unknown", size[GT_HUMAN_SIZE];
        if (sum[i] > 0)
            snprintf(text, sizeof text, "%s, %.1f GB/s", gt_human_bytes(size, (double)sum[i]),
                     (double)sum[i] / (double)total[i]);
        gt_finding_add(
            findings, GT_RULE_PAGEABLE_COPIES, (struct gt_where){node[i], device[i]},
            gt_saving_on(findings, node[i], (double)total[i]),
            ": %zu copies from or to pageable memory take %.0f %% of the time (%s): pinned memory (pin_memory=True) is faster, and only then do they run beside computation",
            (size_t)count[i], gt_percent((double)total[i], (double)span[i]), text);
    }
}

void gt_rules_api(struct gt_findings *findings)
{
    judge_calls(findings);
    judge_pageable(findings);
}

/* ---- samples ---- */

/* The samples of one resource; shares in percent. */
struct summary {
    uint32_t node;
    const char *type, *name, *dimension; /* may be NULL */
    double mean, max, first, last;       /* first and last: the values at the earliest and the latest time */
    int64_t begin, end;
    size_t count, hot; /* hot: samples of gpu_throttle with heat or hardware slowdown */
};

struct summaries {
    struct summary *summary;
    size_t count;
};

static struct gt_rows summarize_samples(const struct gt_analysis_input *input)
{
    enum { HEAT = 2, SLOWDOWN = 4 };
    struct gt_rows samples = gt_rows_of_samples(input);
    const double *value = gt_rows_reals(&samples, "value");
    int64_t *hot = gt_rows_add_wholes(&samples, "hot");
    for (size_t i = 0; i < samples.count; i++)
        hot[i] = value[i] > 0 && value[i] < 1 << 20 && ((unsigned)value[i] & (HEAT | SLOWDOWN));
    return gt_rows_group(&samples, GT_RESOURCE_KEYS,
                         GT_AGGREGATES(GT_COUNT("count"), GT_SUM("hot", "hot"), GT_MEAN("mean", "value"),
                                       GT_MAX("max", "value"), GT_MIN("begin", "time"), GT_MAX("end", "time"),
                                       GT_ARG_MIN("first", "time", "value"), GT_ARG_MAX("last", "time", "value")));
}

static struct summaries summarize(const struct gt_analysis_input *input)
{
    struct gt_rows rows = summarize_samples(input);
    struct summaries ret = {gt_query_memory(input->query, rows.count, sizeof *ret.summary), 0};
    for (size_t i = 0; i < rows.count && ret.summary; i++)
        ret.summary[ret.count++] = (struct summary){
            .node = gt_rows_keys(&rows, "node")[i],
            .type = gt_analysis_text(input, gt_rows_keys(&rows, "resource")[i]),
            .name = gt_analysis_text(input, gt_rows_keys(&rows, "device")[i]),
            .dimension = gt_analysis_text(input, gt_rows_keys(&rows, "dimension")[i]),
            .mean = gt_rows_reals(&rows, "mean")[i],
            .max = gt_rows_reals(&rows, "max")[i],
            .first = gt_rows_reals(&rows, "first")[i],
            .last = gt_rows_reals(&rows, "last")[i],
            .begin = gt_rows_wholes(&rows, "begin")[i],
            .end = gt_rows_wholes(&rows, "end")[i],
            .count = (size_t)gt_rows_wholes(&rows, "count")[i],
            .hot = (size_t)gt_rows_wholes(&rows, "hot")[i],
        };
    return ret;
}

static bool is_of(const struct summary *summary, const char *type, const char *dimension)
{
    return summary->dimension && strcmp(summary->dimension, dimension) == 0 && summary->type &&
           strcmp(summary->type, type) == 0;
}

/* Returns a summary of the node and of the name, if one is given; NULL: there is none. */
static const struct summary *find_summary(const struct summaries *all, uint32_t node, const char *name,
                                          const char *type, const char *dimension)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->summary[i].node == node && is_of(&all->summary[i], type, dimension) &&
            (!name || all->summary[i].name == name))
            return &all->summary[i];
    return NULL;
}

static void judge_gpu(struct gt_findings *findings, const struct summaries *all, const struct summary *summary)
{
    struct gt_where where = GT_ON_NODE(summary->node);
    double whole = (double)(summary->end - summary->begin), hot = (double)summary->hot, count = (double)summary->count;
    char words[60] = "";
    if (is_of(summary, "gpu", "gpu_throttle") && summary->hot)
        gt_finding_add(findings, GT_RULE_THROTTLED, where, (struct gt_saving){gt_percent(hot, count), NAN},
                       "%s lowered its clock for heat or by hardware slowdown in %zu of %zu samples: cooling",
                       summary->name, summary->hot, summary->count);
    if (summary->mean >= 80 || (!is_of(summary, "gpu", "GPUUtilization") && !is_of(summary, "gpu", "gpu_utilization")))
        return;
    const struct summary *memory = find_summary(all, where.node, summary->name, "gpu", "GPUMemoryUtilization");
    memory = memory ? memory : find_summary(all, where.node, summary->name, "gpu", "gpu_memory_utilization");
    if (memory)
        snprintf(words, sizeof words, ", its memory %.0f %%", memory->mean);
    gt_finding_add(findings, GT_RULE_LOW_USE, where, gt_saving_of((100 - summary->mean) / 100 * whole, whole),
                   "%s used %.0f %% on average over %zu samples%s%s", summary->name, summary->mean, summary->count,
                   words, memory && memory->mean < 50 ? ": a larger batch may fit" : "");
}

/* "I/OWaitPercentage", "iowait": only letters are compared. */
static bool is_waiting_for_storage(const char *dimension)
{
    char letters[40];
    size_t length = 0;
    for (; dimension && *dimension && length + 1 < sizeof letters; dimension++)
        if (isalpha((unsigned char)*dimension))
            letters[length++] = (char)tolower((unsigned char)*dimension);
    letters[length] = '\0';
    return strncmp(letters, "iowait", strlen("iowait")) == 0;
}

/* Pressure (PSI) is in seconds since tracking began. */
static void judge_host(struct gt_findings *findings, const struct summary *summary)
{
    static const struct {
        enum gt_rule rule;
        const char *dimension, *sentence;
    } pressures[] = {
        {GT_RULE_PRESSURE_IO, "pressure_io", "waited for storage: faster storage, a cache, or more prefetch"},
        {GT_RULE_PRESSURE_CPU, "pressure_cpu", "waited for a CPU: fewer workers and threads, or more cores"},
        {GT_RULE_PRESSURE_MEMORY, "pressure_memory", "waited for memory: less of it in use, or more of it"},
    };
    struct gt_where where = GT_ON_NODE(summary->node);
    double whole = (double)(summary->end - summary->begin), waited = (summary->last - summary->first) * 1e9;
    if (is_waiting_for_storage(summary->dimension) || is_waiting_for_storage(summary->name))
        gt_finding_add(
            findings, GT_RULE_STORAGE_WAIT, where, gt_saving_of(summary->mean / 100 * whole, whole),
            "CPUs waited for storage %.0f %% of the time on average over %zu samples: faster storage, a cache, or more prefetch",
            summary->mean, summary->count);
    if (summary->name && strcmp(summary->name, "MemoryUsedPercent") == 0 && summary->max >= 95)
        gt_finding_add(findings, GT_RULE_FULL_MEMORY, where, GT_NO_SAVING,
                       "main memory up to %.0f %% in use: processes may be killed", summary->max);
    for (size_t i = 0; i < sizeof pressures / sizeof *pressures; i++)
        if (is_of(summary, "system", pressures[i].dimension))
            gt_finding_add(findings, pressures[i].rule, where, gt_saving_of(waited, whole),
                           "%.0f %% of the time (%.3g of %.3g s) some process %s", gt_percent(waited, whole),
                           waited / 1e9, whole / 1e9, pressures[i].sentence);
}

/* CPUs that are busy to the limit while a GPU of the node is not hold it up. */
static void judge_cpus(struct gt_findings *findings, const struct summaries *all, uint32_t node)
{
    double cpu = 0, lowest = 100;
    size_t cpus = 0, gpus = 0;
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < all->count; i++) {
        const struct summary *summary = &all->summary[i];
        if (summary->node == node && is_of(summary, "cpu", "CPUUtilization")) {
            cpu += summary->mean;
            cpus++;
            begin = summary->begin < begin ? summary->begin : begin;
            end = summary->end > end ? summary->end : end;
        } else if (summary->node == node && is_of(summary, "gpu", "GPUUtilization")) {
            lowest = fmin(lowest, summary->mean);
            gpus++;
        }
    }
    double whole = cpus ? (double)(end - begin) : 0;
    if (cpus && gpus && cpu / (double)cpus >= 90 && lowest < 80)
        gt_finding_add(
            findings, GT_RULE_BUSY_CPUS, GT_ON_NODE(node), gt_saving_of((100 - lowest) / 100 * whole, whole),
            "%zu CPUs busy to %.0f %% while a GPU is used %.0f %%: the CPUs hold it up; less preprocessing, or on the GPU",
            cpus, cpu / (double)cpus, lowest);
}

static void judge_energy(struct gt_findings *findings, const struct summaries *all, uint32_t node)
{
    static const char *const kinds[][3] = {{"gpu_energy", "gpu_energy_idle", "GPUs"},
                                           {"cpu_energy", "cpu_energy_idle", "processors"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct summary *all_energy = find_summary(all, node, NULL, "system", kinds[i][0]);
        const struct summary *idle_energy = find_summary(all, node, NULL, "system", kinds[i][1]);
        if (!all_energy || !idle_energy)
            continue;
        double drawn = all_energy->last - all_energy->first, idle = idle_energy->last - idle_energy->first;
        if (gt_percent(idle, drawn) >= 20)
            gt_finding_add(findings, GT_RULE_IDLE_ENERGY, GT_ON_NODE(node),
                           (struct gt_saving){gt_percent(idle, drawn), NAN},
                           "the %s drew %.3g of %.3g J (%.0f %%) while they had nothing to do", kinds[i][2], idle,
                           drawn, gt_percent(idle, drawn));
    }
}

void gt_rules_samples(struct gt_findings *findings)
{
    struct summaries all = summarize(findings->input);
    for (size_t i = 0; i < all.count; i++) {
        const struct summary *summary = &all.summary[i];
        judge_gpu(findings, &all, summary);
        judge_host(findings, summary);
        if (!i || summary[-1].node != summary->node) {
            judge_cpus(findings, &all, summary->node);
            judge_energy(findings, &all, summary->node);
        }
    }
}
