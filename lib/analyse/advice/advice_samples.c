/* Rules over samples: SMDebug's system metrics, and our own recordings. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/adviser.h"
#include "analyse/trace/utilization.h"

static const double LOW_GPU = 80, BUSY_CPU = 90, FULL_MEMORY = 95, IDLE_ENERGY = 20;

/* What the samples of one resource come to; shares in percent. */
struct summary {
    double sum, largest, first, last; /* first and last: the values at the earliest and the latest time */
    int64_t begin, end;
    size_t count, hot; /* hot: samples of gpu_throttle with heat or hardware slowdown */
};

struct summaries {
    struct gt_resources resources;
    struct summary *of;
};

static void take(struct summary *summary, int64_t time, double value)
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
        take(&ret->of[number], samples->time[i],
             gt_resource_value(input, &ret->resources.resource[number], samples->value[i]));
    }
    return 0;
}

static void release(struct summaries *summaries)
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
        gt_advise(adviser, (struct gt_gain){gt_percent((double)summary->hot, (double)summary->count), NAN},
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

void gt_advise_gpu_samples(struct gt_adviser *adviser)
{
    struct summaries summaries = {0};
    adviser->status = summarize(adviser->input, &summaries);
    for (size_t i = 0; i < summaries.resources.count && adviser->status >= 0; i++)
        if (summaries.of[i].count)
            judge_gpu(adviser, &summaries, i);
    release(&summaries);
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
            gt_advise(adviser, (struct gt_gain){gt_percent(idle, all), NAN}, "utilization",
                      "%s: the %s drew %.3g of %.3g J (%.0f %%) while they had nothing to do",
                      gt_analysis_text(adviser->input, node), kinds[i][2], idle, all, gt_percent(idle, all));
    }
}

void gt_advise_host_samples(struct gt_adviser *adviser)
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
    release(&summaries);
}
