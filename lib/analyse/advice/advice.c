/* Advice tells where to look first: sentences with the numbers they rest on and the analysis that shows them,
 * ordered by the time that could be won at most; what no time can be told for stands behind. What costs less than 5
 * % is not told. */
#include "analyse/advice/advice.h"
#include "schema/human.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/functions.h"
#include "analyse/calls/operators.h"
#include "analyse/gpu/gpu.h"
#include "analyse/gpu/lists.h"
#include "analyse/trace/dataloader.h"
#include "analyse/trace/phases.h"
#include "analyse/trace/utilization.h"
#include "base/grow.h"
#include "base/number.h"

/* ---- sentences ---- */

static const double LEAST = 5;

bool gt_advice_names_node(const char *matter)
{
    return strncmp(matter, "%s: ", 4) == 0;
}

bool gt_advise(struct gt_adviser *adviser, struct gt_gain gain, const char *see, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    bool is_shown = !gt_advice_names_node(format) || gt_analysis_shows_name(adviser->input, va_arg(list, const char *));
    va_end(list);
    adviser->minor += is_shown && gain.percent > 0 && gain.percent < LEAST;
    if (gain.percent < LEAST || adviser->status < 0)
        return false;
    struct gt_advice *advice = GT_GROW_LIST(adviser, advice);
    if (!advice) {
        adviser->status = -ENOMEM;
        return false;
    }
    *advice = (struct gt_advice){.gain = gain, .see = see, .matter = format, .is_hidden = !is_shown};
    va_start(list, format);
    if (vasprintf(&advice->sentence, format, list) < 0) {
        adviser->status = -ENOMEM;
        adviser->count--;
    }
    va_end(list);
    return adviser->status >= 0;
}

void gt_advice_is(struct gt_adviser *adviser, bool told, struct gt_loss loss)
{
    if (told)
        adviser->advice[adviser->count - 1].loss = loss;
}

double gt_advice_awaited(const struct gt_adviser *adviser, uint32_t node, uint32_t device)
{
    const struct gt_spans *awaited = &adviser->awaited;
    for (size_t i = 0; i < awaited->count; i++)
        if (awaited->span[i].key[0] == node && awaited->span[i].key[1] == device)
            return (double)awaited->span[i].end;
    return 0;
}

const char *gt_advice_times(size_t count, char text[32])
{
    snprintf(text, 32, "%zu times", count);
    return count == 1 ? "once" : text;
}

struct gt_gain gt_gain_of(double part, double whole)
{
    part = part < whole ? part : whole;
    double percent = gt_percent(part, whole);
    return (struct gt_gain){isnan(percent) ? 0 : percent, part / 1e3, 0};
}

static double time_of_rank(const struct gt_adviser *adviser, const struct gt_rank_figures *rank)
{
    int64_t first, last;
    if (rank->has_gpu)
        return fmax(rank->whole / (double)rank->gpus, isnan(rank->step_total) ? 0 : rank->step_total);
    if (!gt_node_range(adviser->input, rank->node, &first, &last))
        return NAN;
    return (double)gt_analysis_recorded(adviser->input, rank->node, first, last);
}

struct gt_gain gt_gain_of_rank(const struct gt_adviser *adviser, uint32_t node, double part)
{
    double longest = NAN;
    for (size_t i = 0; i < adviser->ranks; i++)
        if (node == GT_TRACE_NONE || adviser->rank[i].node == node)
            longest = fmax(longest, adviser->time[i]);
    return gt_gain_of(part, longest);
}

struct gt_gain gt_gain_of_gpu(const struct gt_adviser *adviser, double part, uint32_t node, uint32_t device)
{
    struct gt_gain gain = gt_gain_of_rank(adviser, node, part);
    gain.gpu = device + 1;
    return gain;
}

const char *gt_advice_base(const struct gt_adviser *adviser, char text[160])
{
    bool has_gpu = false, others = false, samples = false, functions = false;
    for (size_t i = 0; i < adviser->ranks; i++)
        has_gpu |= adviser->rank[i].has_gpu;
    for (size_t i = 0; i < adviser->count; i++) {
        bool of_samples = strncmp(adviser->advice[i].see, "utilization", strlen("utilization")) == 0;
        bool of_functions = strcmp(adviser->advice[i].see, "functions") == 0;
        samples |= of_samples;
        functions |= of_functions;
        others |= !of_samples && !of_functions;
    }
    snprintf(text, 160, "%s%s%s%s%s",
             others || (!samples && !functions) ? has_gpu ? "% of the time of GPUs or steps" : "% of the time recorded"
                                                : "",
             samples ? others ? "; of samples " : "" : "", samples ? "% of what was sampled" : "",
             functions ? others || samples ? "; of functions " : "" : "", functions ? "% of the time profiled" : "");
    return text;
}

/* Parts of names that rules look for; the last bit is work of GPUs. */
static const char *const parts[] = {"GraphLaunch", "Pageable", "Pinned", "triton_", "Torch-Compiled"};
enum { PARTS = sizeof parts / sizeof *parts, GPU_WORK = 1 << PARTS };

static unsigned parts_of(const char *name)
{
    unsigned found = 0;
    for (size_t i = 0; i < PARTS; i++)
        found |= strstr(name, parts[i]) ? 1u << i : 0;
    return found;
}

static int find_parts(struct gt_adviser *adviser)
{
    const struct gt_trace *trace = adviser->input->trace;
    unsigned char *of_name = calloc(trace->strings.count + (size_t)1, 1);
    adviser->found = calloc(trace->strings.count + (size_t)1, 1);
    for (uint32_t i = 0; of_name && i < trace->strings.count; i++)
        of_name[i] = (unsigned char)parts_of(gt_trace_text(trace, i));
    for (size_t i = 0; of_name && adviser->found && i < trace->events.count; i++) {
        uint32_t node = gt_analysis_node(adviser->input, i);
        if (node != GT_TRACE_NONE)
            adviser->found[node] |= (unsigned char)(of_name[trace->events.name[i]] |
                                                    (gt_gpu_is_work(adviser->input, i) ? GPU_WORK : 0));
    }
    int status = of_name && adviser->found ? 0 : -ENOMEM;
    free(of_name);
    return status;
}

bool gt_advice_finds(const struct gt_adviser *adviser, uint32_t node, const char *part)
{
    return node != GT_TRACE_NONE && adviser->found[node] & parts_of(part);
}

/* ---- data loaders ---- */

/* Returns how many workers an event of the loader names: by its argument, or 0 by PyTorch's name of the iterator; -1 not
 * told. */
static int workers_of(const struct gt_analysis_input *input, size_t event)
{
    const struct gt_trace_argument *argument = gt_trace_argument(input->trace, event, GT_ADVICE_NUM_WORKERS);
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

static int measure(const struct gt_analysis_input *input, const struct gt_spans *spans, size_t from, size_t to,
                   struct part *ret)
{
    struct gt_numbers lengths = {0};
    int status = 0;
    *ret = (struct part){.count = to - from, .workers = -1};
    for (size_t i = from; i < to && status >= 0; i++) {
        int workers = workers_of(input, spans->span[i].event);
        ret->workers = workers > ret->workers ? workers : ret->workers;
        status = gt_numbers_add(&lengths, (double)(spans->span[i].end - spans->span[i].start));
    }
    ret->median = gt_numbers_percentile(&lengths, 50);
    ret->total = gt_numbers_total(&lengths);
    double least = NAN;
    if (status >= 0)
        status = gt_loader_outlier(&lengths, &least);
    for (size_t i = 0; i < lengths.count && least > 0; i++)
        if (lengths.value[i] >= least) {
            ret->outliers++;
            ret->excess += lengths.value[i] - ret->median;
        }
    gt_numbers_release(&lengths);
    return status;
}

/* If there is a GPU trace of the node, the rule over idle GPUs reports more exactly what waiting costs. */
static bool has_gpu_work(const struct gt_adviser *adviser, uint32_t node)
{
    return node != GT_TRACE_NONE && adviser->found[node] & GPU_WORK;
}

static void judge_node(struct gt_adviser *adviser, uint32_t node, const struct part part[GT_LOADER_PARTS], double waits)
{
    const char *name = gt_analysis_text(adviser->input, node);
    const struct part *start = &part[GT_LOADER_INITIALIZATION], *next = &part[GT_LOADER_NEXT];
    struct gt_gain gain;
    int64_t first, last;
    char workers[60] = "";
    if (!gt_node_range(adviser->input, node, &first, &last))
        return;
    double whole = (double)gt_analysis_recorded(adviser->input, node, first, last);
    int most = start->workers > next->workers ? start->workers : next->workers;
    if (most >= 0)
        snprintf(workers, sizeof workers,
                 most ? " with %d workers" : " without workers, in the training process itself", most);
    double late = fmin(gt_advice_blamed(adviser, node, GT_LOSS_LOADING), waits);
    waits -= late;
    gain = gt_gain_of_rank(adviser, node, waits);
    struct gt_loss loss = {GT_LOSS_LOADING, GT_LOSS_OF_DEVICE, node}, part_of_it = loss;
    part_of_it.detail = GT_LOSS_OF_PART;
    if (next->count && !has_gpu_work(adviser, node)) {
        bool told = gt_advise(adviser, gain, "dataloader",
                              "%s: %.0f %% of the time waiting for data%s, %s in the median of %zu fetches%s: %s", name,
                              gt_gain_of(waits, whole).percent,
                              gt_advice_is_worth_naming(late, whole) ? " (what makes the others wait apart)" : "",
                              GT_TIME_WORDS(next->median), next->count, workers,
                              most == 0 ? "load in workers (num_workers)" : "more workers, or a faster source");
        gt_advice_is(adviser, told, loss);
    }
    gain = gt_gain_of_rank(adviser, node, start->total);
    if (start->count) {
        bool told = gt_advise(
            adviser, gain, "dataloader",
            "%s: %.0f %% of the time making iterators of the data loader, %s, %s in the median: keep the workers between epochs (persistent_workers)",
            name, gt_gain_of(start->total, whole).percent, GT_TIMES(start->count), GT_TIME_WORDS(start->median));
        gt_advice_is(adviser, told, part_of_it);
    }
    gain = gt_gain_of_rank(adviser, node, next->excess);
    if (next->outliers) {
        bool told = gt_advise(
            adviser, gain, "dataloader",
            "%s: %zu of %zu fetches take at least twice the median of %s, and %.0f %% of the time more than it: samples of uneven cost, or storage that stalls; a longer prefetch",
            name, next->outliers, next->count, GT_TIME_WORDS(next->median), gt_gain_of(next->excess, whole).percent);
        gt_advice_is(adviser, told, part_of_it);
    }
}

static void advise_loader(struct gt_adviser *adviser)
{
    struct gt_spans spans = {0}, waits = {0};
    adviser->status = gt_loader_spans(adviser->input, &spans);
    if (adviser->status >= 0)
        adviser->status = gt_loader_waits(adviser->input, &waits);
    for (size_t from = 0, to = 0; adviser->status >= 0 && gt_spans_next(&spans, 1, &from, &to);) {
        struct part part[GT_LOADER_PARTS] = {{.workers = -1}, {.workers = -1}, {.workers = -1}};
        for (size_t i = from, next; i < to && adviser->status >= 0; i = next) {
            next = gt_spans_run(&spans, i, 2);
            adviser->status = measure(adviser->input, &spans, i, next, &part[spans.span[i].key[1]]);
        }
        if (adviser->status >= 0)
            judge_node(adviser, spans.span[from].key[0], part, gt_spans_total_of(&waits, spans.span[from].key[0]));
    }
    gt_spans_release(&spans);
    gt_spans_release(&waits);
}

/* ---- Python functions ---- */

static const double HOT = 25;

/* ", mostly called by f": the caller that most of the time came from. */
static void write_caller(struct gt_adviser *adviser, const struct gt_function_sums *sums,
                         const struct gt_function_sum *sum, struct gt_buffer *out)
{
    size_t count = 0, most = 0;
    struct gt_buffer title = {0};
    struct gt_function_sum *caller = gt_function_callers(adviser->input, sums, sum, &count);
    for (size_t i = 1; caller && i < count; i++)
        if (caller[i].figure[GT_CUMULATIVE_TIME] > caller[most].figure[GT_CUMULATIVE_TIME])
            most = i;
    gt_buffer_text(out, "");
    if (caller && count)
        gt_buffer_printf(out, ", mostly for %s", gt_function_title(adviser->input, &caller[most], &title));
    gt_buffer_release(&title);
    free(caller);
}

/* "0.1 s of 3 s in 40 calls", "120 of 400" samples. */
static void write_amount(const struct gt_function_sum *sum, enum gt_profile_unit unit, double total,
                         struct gt_buffer *out)
{
    double amount = sum->figure[GT_TOTAL_TIME], calls = sum->figure[GT_TOTAL_CALLS];
    if (unit == GT_PROFILE_SECONDS)
        gt_buffer_printf(out, "%s of %s", GT_TIME_WORDS(amount * 1e9), GT_TIME_WORDS(total * 1e9));
    else
        gt_buffer_printf(out, "%.0f of %.0f", amount, total);
    if (!isnan(calls))
        gt_buffer_printf(out, calls > 1 ? " in %.0f calls" : " in %.0f call", calls);
}

static void judge_function(struct gt_adviser *adviser, const struct gt_function_sums *sums,
                           const struct gt_function_sum *sum, enum gt_profile_unit unit, double total)
{
    enum gt_trace_profiler profiler = (enum gt_trace_profiler)sum->key[1];
    bool is_python = profiler == GT_PROFILER_CPROFILE || profiler == GT_PROFILER_PYINSTRUMENT;
    const char *name = profiler == GT_PROFILER_CPROFILE ? "cProfile" : gt_trace_profiler_name(profiler);
    double seconds = sum->figure[GT_TOTAL_TIME], share = gt_percent(seconds, total);
    struct gt_buffer title = {0}, caller = {0}, amount = {0};
    bool is_time = unit == GT_PROFILE_SECONDS;
    if (!(share >= HOT))
        return;
    write_caller(adviser, sums, sum, &caller);
    write_amount(sum, unit, total, &amount);
    gt_advise(adviser, (struct gt_gain){share, is_time ? seconds * 1e6 : NAN, 0}, "functions",
              "%.0f %% of the %s in %s itself (%s, by %s)%s", share,
              !is_time    ? "samples"
              : is_python ? "Python time"
                          : "time",
              gt_function_title(adviser->input, sum, &title), amount.data ? amount.data : "", name,
              caller.length ? caller.data : "");
    gt_buffer_release(&title);
    gt_buffer_release(&caller);
    gt_buffer_release(&amount);
}

static void judge_functions(struct gt_adviser *adviser, enum gt_profile_unit unit)
{
    struct gt_function_sums sums = {0};
    double total[GT_PROFILERS] = {0};
    adviser->status = gt_functions_sum(adviser->input, GT_DUMPS_ALL, unit, NULL, &sums);
    for (size_t i = 0; i < sums.count; i++)
        if (sums.sum[i].figure[GT_TOTAL_TIME] > 0)
            total[sums.sum[i].key[1]] += sums.sum[i].figure[GT_TOTAL_TIME];
    for (size_t i = 0; i < sums.count && adviser->status >= 0; i++)
        judge_function(adviser, &sums, &sums.sum[i], unit, total[sums.sum[i].key[1]]);
    gt_functions_release(&sums);
}

static void advise_functions(struct gt_adviser *adviser)
{
    judge_functions(adviser, GT_PROFILE_SECONDS);
    if (adviser->status >= 0)
        judge_functions(adviser, GT_PROFILE_SAMPLES);
}

/* ---- samples of SMDebug's system metrics, and of our own recordings ---- */

static const double LOW_GPU = 80, BUSY_CPU = 90, FULL_MEMORY = 95, IDLE_ENERGY = 20;

/* A summary of the samples of one resource; shares in percent. */
struct summary {
    double sum, largest, first, last; /* first and last: the values at the earliest and the latest time */
    int64_t begin, end;
    size_t count, hot; /* hot: samples of gpu_throttle with heat or hardware slowdown */
};

struct summaries {
    struct gt_resources resources;
    struct summary *of;
};

static void take_sample(struct summary *summary, int64_t time, double value)
{
    enum { HEAT = 2, SLOWDOWN = 4 };
    if (!summary->count || time < summary->begin) {
        summary->begin = time;
        summary->first = value;
    }
    if (!summary->count || time >= summary->end) {
        summary->end = time;
        summary->last = value;
    }
    summary->largest = summary->count && summary->largest > value ? summary->largest : value;
    summary->hot += value > 0 && value < 1 << 20 && ((unsigned)value & (HEAT | SLOWDOWN));
    summary->sum += value;
    summary->count++;
}

static int summarize(const struct gt_analysis_input *input, struct summaries *ret)
{
    const struct gt_trace_samples *samples = &input->trace->samples;
    int status = gt_resources_find(input, &ret->resources);
    ret->of = calloc(ret->resources.count + 1, sizeof *ret->of);
    if (status < 0 || !ret->of)
        return -ENOMEM;
    for (size_t i = 0; i < samples->count; i++) {
        uint32_t number = ret->resources.of_series[samples->series[i]];
        take_sample(&ret->of[number], samples->time[i],
                    gt_resource_value(input, &ret->resources.resource[number], samples->value[i]));
    }
    return 0;
}

static void release_summaries(struct summaries *summaries)
{
    gt_resources_release(&summaries->resources);
    free(summaries->of);
}

static bool is_of(const struct gt_analysis_input *input, const struct gt_resource *resource, const char *type,
                  const char *dimension)
{
    const char *own_type = gt_analysis_text(input, resource->type);
    const char *own = gt_analysis_text(input, resource->dimension);
    return own && strcmp(own, dimension) == 0 && (!type || (own_type && strcmp(own_type, type) == 0));
}

/* The mean of another dimension of the same device; NaN without. */
static double beside(const struct gt_analysis_input *input, const struct summaries *summaries,
                     const struct gt_resource *of, const char *dimension)
{
    for (size_t i = 0; i < summaries->resources.count; i++) {
        const struct gt_resource *other = &summaries->resources.resource[i];
        if (other->node == of->node && other->name == of->name && is_of(input, other, "gpu", dimension) &&
            summaries->of[i].count)
            return summaries->of[i].sum / (double)summaries->of[i].count;
    }
    return NAN;
}

static void judge_gpu(struct gt_adviser *adviser, const struct summaries *summaries, size_t i)
{
    const struct gt_analysis_input *input = adviser->input;
    const struct gt_resource *resource = &summaries->resources.resource[i];
    const struct summary *summary = &summaries->of[i];
    const char *node = gt_analysis_text(input, resource->node), *name = gt_analysis_text(input, resource->name);
    double mean = summary->sum / (double)summary->count, whole = (double)(summary->end - summary->begin);
    if (is_of(input, resource, "gpu", "gpu_throttle") && summary->hot)
        gt_advise(adviser, (struct gt_gain){gt_percent((double)summary->hot, (double)summary->count), NAN, 0},
                  "utilization",
                  "%s: %s lowered its clock for heat or by hardware slowdown in %zu of %zu samples: cooling", node,
                  name, summary->hot, summary->count);
    if (mean >= LOW_GPU ||
        (!is_of(input, resource, "gpu", "GPUUtilization") && !is_of(input, resource, "gpu", "gpu_utilization")))
        return;
    double memory = beside(input, summaries, resource, "GPUMemoryUtilization");
    memory = isnan(memory) ? beside(input, summaries, resource, "gpu_memory_utilization") : memory;
    struct gt_buffer apart = {0};
    gt_buffer_text(&apart, "");
    if (!isnan(memory))
        gt_buffer_printf(&apart, ", its memory %.0f %%", memory);
    gt_advise(adviser, gt_gain_of((100 - mean) / 100 * whole, whole), "utilization, devices",
              "%s: %s used %.0f %% on average over %zu samples%s%s", node, name, mean, summary->count,
              apart.length ? apart.data : "", memory < 50 ? ": a larger batch may fit" : "");
    gt_buffer_release(&apart);
}

static void advise_gpu_samples(struct gt_adviser *adviser)
{
    struct summaries summaries = {0};
    adviser->status = summarize(adviser->input, &summaries);
    for (size_t i = 0; i < summaries.resources.count && adviser->status >= 0; i++)
        if (summaries.of[i].count)
            judge_gpu(adviser, &summaries, i);
    release_summaries(&summaries);
}

/* ---- the host ---- */

/* "I/OWaitPercentage", "iowait": compared without what is no letter. */
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

/* Seconds of pressure (PSI) since tracking began, over the time passed. */
static void judge_pressure(struct gt_adviser *adviser, const struct gt_resource *resource,
                           const struct summary *summary)
{
    static const struct {
        const char *dimension, *sentence;
    } kinds[] = {
        {"pressure_io", "waited for storage: faster storage, a cache, or more prefetch"},
        {"pressure_cpu", "waited for a CPU: fewer workers and threads, or more cores"},
        {"pressure_memory", "waited for memory: less of it in use, or more of it"},
    };
    double whole = (double)(summary->end - summary->begin), waited = (summary->last - summary->first) * 1e9;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_of(adviser->input, resource, "system", kinds[i].dimension))
            gt_advise(adviser, gt_gain_of(waited, whole), "utilization",
                      "%s: %.0f %% of the time (%.3g of %.3g s) some process %s",
                      gt_analysis_text(adviser->input, resource->node), gt_percent(waited, whole), waited / 1e9,
                      whole / 1e9, kinds[i].sentence);
}

static void judge_host(struct gt_adviser *adviser, const struct gt_resource *resource, const struct summary *summary)
{
    const struct gt_analysis_input *input = adviser->input;
    const char *node = gt_analysis_text(input, resource->node), *name = gt_analysis_text(input, resource->name);
    double mean = summary->sum / (double)summary->count, whole = (double)(summary->end - summary->begin);
    if (is_waiting_for_storage(gt_analysis_text(input, resource->dimension)) || is_waiting_for_storage(name))
        gt_advise(
            adviser, gt_gain_of(mean / 100 * whole, whole), "utilization",
            "%s: CPUs waited for storage %.0f %% of the time on average over %zu samples: faster storage, a cache, or more prefetch",
            node, mean, summary->count);
    if (name && strcmp(name, "MemoryUsedPercent") == 0 && summary->largest >= FULL_MEMORY)
        gt_advise(adviser, GT_NO_GAIN, "utilization", "%s: main memory up to %.0f %% in use: processes may be killed",
                  node, summary->largest);
    judge_pressure(adviser, resource, summary);
}

/* CPUs busy to the limit while a GPU of the node is not: the CPUs hold it up. */
static void judge_cpus(struct gt_adviser *adviser, const struct summaries *summaries, uint32_t node)
{
    double cpu = 0, lowest = 100;
    size_t cpus = 0, gpus = 0;
    int64_t begin = INT64_MAX, end = INT64_MIN;
    for (size_t i = 0; i < summaries->resources.count; i++) {
        const struct gt_resource *resource = &summaries->resources.resource[i];
        const struct summary *summary = &summaries->of[i];
        if (resource->node != node || !summary->count)
            continue;
        double mean = summary->sum / (double)summary->count;
        if (is_of(adviser->input, resource, "cpu", "CPUUtilization")) {
            cpu += mean;
            cpus++;
            begin = summary->begin < begin ? summary->begin : begin;
            end = summary->end > end ? summary->end : end;
        } else if (is_of(adviser->input, resource, "gpu", "GPUUtilization")) {
            lowest = mean < lowest ? mean : lowest;
            gpus++;
        }
    }
    if (cpus && gpus && cpu / (double)cpus >= BUSY_CPU && lowest < LOW_GPU)
        gt_advise(
            adviser, gt_gain_of((100 - lowest) / 100 * (double)(end - begin), (double)(end - begin)), "utilization",
            "%s: %zu CPUs busy to %.0f %% while a GPU is used %.0f %%: the CPUs hold it up; less preprocessing, or on the GPU",
            gt_analysis_text(adviser->input, node), cpus, cpu / (double)cpus, lowest);
}

/* ---- energy ---- */

static double drawn(const struct gt_analysis_input *input, const struct summaries *summaries, uint32_t node,
                    const char *dimension)
{
    for (size_t i = 0; i < summaries->resources.count; i++)
        if (summaries->resources.resource[i].node == node &&
            is_of(input, &summaries->resources.resource[i], "system", dimension) && summaries->of[i].count)
            return summaries->of[i].last - summaries->of[i].first;
    return NAN;
}

static void judge_energy(struct gt_adviser *adviser, const struct summaries *summaries, uint32_t node)
{
    static const char *const kinds[][3] = {{"gpu_energy", "gpu_energy_idle", "GPUs"},
                                           {"cpu_energy", "cpu_energy_idle", "processors"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double all = drawn(adviser->input, summaries, node, kinds[i][0]);
        double idle = drawn(adviser->input, summaries, node, kinds[i][1]);
        if (gt_percent(idle, all) >= IDLE_ENERGY)
            gt_advise(adviser, (struct gt_gain){gt_percent(idle, all), NAN, 0}, "utilization",
                      "%s: the %s drew %.3g of %.3g J (%.0f %%) while they had nothing to do",
                      gt_analysis_text(adviser->input, node), kinds[i][2], idle, all, gt_percent(idle, all));
    }
}

static void advise_host_samples(struct gt_adviser *adviser)
{
    struct summaries summaries = {0};
    adviser->status = summarize(adviser->input, &summaries);
    for (size_t i = 0; i < summaries.resources.count && adviser->status >= 0; i++) {
        const struct gt_resource *resource = &summaries.resources.resource[i];
        if (summaries.of[i].count)
            judge_host(adviser, resource, &summaries.of[i]);
        if (i && resource[-1].node == resource->node)
            continue;
        judge_cpus(adviser, &summaries, resource->node);
        judge_energy(adviser, &summaries, resource->node);
    }
    release_summaries(&summaries);
}

/* ---- the whole ---- */

static const char *const arguments[] = {GT_ADVICE_ARGUMENTS, NULL};

static void (*const rules[])(struct gt_adviser *adviser) = {
    gt_advise_stragglers, gt_advise_api,       gt_advise_idle,          gt_advise_uses, gt_advise_launches,
    gt_advise_memory,     advise_loader,       gt_advise_critical_path, gt_advise_ends, gt_advise_hangs,
    advise_gpu_samples,   advise_host_samples, advise_functions,
};

static int compare_gains(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return GT_ORDER(b, a);
}

static int compare(const void *a, const void *b)
{
    const struct gt_advice *x = a, *y = b;
    int order = compare_gains(x->gain.percent, y->gain.percent);
    if (!order)
        order = compare_gains(x->gain.us, y->gain.us);
    return order ? order : strcmp(x->sentence, y->sentence);
}

static int find_ranks(struct gt_adviser *adviser)
{
    int status = gt_ranks_find(adviser->input, &adviser->rank, &adviser->ranks);
    adviser->time = status < 0 ? NULL : malloc((adviser->ranks + 1) * sizeof *adviser->time);
    for (size_t i = 0; i < adviser->ranks && adviser->time; i++)
        adviser->time[i] = time_of_rank(adviser, &adviser->rank[i]);
    return status < 0 || adviser->time ? status : -ENOMEM;
}

/* ---- one loss is told once ---- */

static bool is_of_same(const struct gt_loss *x, const struct gt_loss *y)
{
    return x->kind == y->kind && (x->node == y->node || x->node == GT_TRACE_NONE || y->node == GT_TRACE_NONE);
}

/* What findings with more detail tell of a loss, in percent: of a rank the greatest, of the job the mean over ranks; what a rank
 * makes the others wait is of all of them, and has been taken out of what its devices lose. */
static double told_in_detail(const struct gt_adviser *adviser, const struct gt_loss *loss)
{
    double most = 0, sum = 0;
    for (size_t i = 0; i < adviser->count; i++) {
        const struct gt_advice *advice = &adviser->advice[i];
        bool is_apart = advice->loss.detail == GT_LOSS_OF_STRAGGLER && loss->detail == GT_LOSS_OF_DEVICE;
        if (advice->loss.detail <= loss->detail || is_apart || !is_of_same(loss, &advice->loss))
            continue;
        bool is_of_all = loss->node != GT_TRACE_NONE || advice->loss.detail == GT_LOSS_OF_STRAGGLER;
        double percent = advice->gain.percent;
        sum += is_of_all ? 0 : percent / (double)adviser->ranks;
        most = is_of_all ? fmax(most, percent) : most;
    }
    return fmax(most, sum);
}

/* A finding is no other loss while those with more detail tell of half of it. What is of other nodes than that asked for goes, too. */
static void drop_untold(struct gt_adviser *adviser)
{
    enum { HALF = 2 };
    size_t kept = 0;
    for (size_t i = 0; i < adviser->count; i++) {
        struct gt_advice *advice = &adviser->advice[i];
        bool is_told = advice->loss.kind && HALF * told_in_detail(adviser, &advice->loss) >= advice->gain.percent;
        advice->is_repeated = is_told;
    }
    for (size_t i = 0; i < adviser->count; i++) {
        if (adviser->advice[i].is_repeated || adviser->advice[i].is_hidden)
            free(adviser->advice[i].sentence);
        else
            adviser->advice[kept++] = adviser->advice[i];
    }
    adviser->count = kept;
}

int gt_advise_all(struct gt_adviser *adviser)
{
    adviser->status = find_ranks(adviser);
    adviser->status = adviser->status < 0 ? adviser->status : find_parts(adviser);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && adviser->status >= 0; i++)
        rules[i](adviser);
    adviser->status = adviser->status < 0 ? adviser->status : gt_query_status(adviser->input->query);
    drop_untold(adviser);
    GT_SORT(adviser->advice, adviser->count, compare);
    return adviser->status;
}

void gt_adviser_release(struct gt_adviser *adviser)
{
    for (size_t i = 0; i < adviser->count; i++)
        free(adviser->advice[i].sentence);
    free(adviser->advice);
    gt_spans_release(&adviser->awaited);
    free(adviser->blame);
    free(adviser->held);
    free(adviser->rank);
    free(adviser->time);
    free(adviser->found);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_adviser adviser = {.input = input};
    char title[200], base[160];
    gt_advise_all(&adviser);
    snprintf(title, sizeof title, "Advice (cost: %s)", gt_advice_base(&adviser, base));
    struct gt_table *table = gt_analysis_table(root, "advice", adviser.count ? title : "Advice",
                                               "number:cost_percent number:could_win_us text:advice text:see");
    gt_table_flags(table, GT_SENTENCES);
    gt_top_shown(table, GT_LIST_SHOWN);
    for (size_t i = 0; i < adviser.count; i++) {
        GT_CELLS(table, adviser.advice[i].gain.percent, adviser.advice[i].gain.us, adviser.advice[i].sentence,
                 adviser.advice[i].see);
    }
    gt_adviser_release(&adviser);
    gt_analysis_empty(root, table, "nothing that costs 5 % or more was found");
    return adviser.status;
}

const struct gt_analysis gt_analysis_advice = {
    .name = "advice",
    .group = "job",
    .help = "what to look at first, in words, with the numbers it rests on and the analysis that shows them",
    .arguments = arguments,
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .joins = true,
    .compares = true,
    .of_calls = true,
    .of_all = true,
    .judges = true,
    .build = build,
};
