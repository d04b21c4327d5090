#include "analyse/trace/trace_energy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "sample/machine.h"
#include "store/store.h"

struct gt_node_energy {
    uint32_t node;             /* place */
    struct gt_machine machine; /* its counters; carbon and price are of the options */
    struct gt_energy_curve curve;
    int64_t time, first; /* ns */
    bool is_begun;
    double system[GT_METRIC_COUNT], job[GT_METRIC_COUNT]; /* at `time` */
    struct gt_energy_reading reading;                     /* of these */
};

/* ---- samples to courses ---- */

static double seconds(const struct gt_trace_energy *energy, int64_t time)
{
    return (double)(time - energy->input->origin) / 1e9;
}

static struct gt_node_energy *find_node(const struct gt_trace_energy *energy, uint32_t node)
{
    for (size_t i = 0; i < energy->count; i++)
        if (energy->node[i].node == node)
            return &energy->node[i];
    return NULL;
}

/* The recording tells which sensors counted, and by what rule idle energy was divided. */
static void take_sources(struct gt_machine *machine, const char *path)
{
    struct gt_recording *recording = NULL;
    if (gt_recording_open(&recording, path, NULL) >= 0) {
        const struct gt_machine *recorded = gt_recording_machine(recording);
        memcpy(machine->energy_source, recorded->energy_source, sizeof machine->energy_source);
        memcpy(machine->idle_policy, recorded->idle_policy, sizeof machine->idle_policy);
    }
    gt_recording_close(recording);
}

static struct gt_node_energy *add_node(struct gt_trace_energy *energy, uint32_t node, const char *path)
{
    struct gt_node_energy *added = GT_GROW_BY_ONE(energy->node, energy->count);
    if (!added)
        return NULL;
    energy->count++;
    *added = (struct gt_node_energy){.node = node};
    added->machine = energy->machine;
    take_sources(&added->machine, path);
    gt_energy_curve_init(&added->curve, &added->machine);
    gt_values_clear(added->system);
    gt_values_clear(added->job);
    return added;
}

/* The metric of a series of our recordings; GT_METRIC_COUNT: none that matters here. */
struct meaning {
    int metric;
    bool is_job;
};

static struct meaning meaning_of(const struct gt_trace *trace, const struct gt_trace_series *series)
{
    const char *dimension = gt_trace_text(trace, series->dimension), *type = gt_trace_text(trace, series->type);
    int metric = dimension && type ? gt_metric_find(dimension) : -1;
    bool is_job = metric >= 0 && strcmp(type, gt_scope_name(GT_SCOPE_COMBINED)) == 0;
    bool is_system = metric >= 0 && strcmp(type, gt_scope_name(GT_SCOPE_SYSTEM)) == 0;
    bool matters = (is_job || is_system) && gt_energy_reading_uses((enum gt_metric_id)metric);
    return (struct meaning){matters ? metric : GT_METRIC_COUNT, is_job};
}

static uint32_t node_of(const struct gt_analysis_input *input, const struct gt_trace_series *series)
{
    return series->node != GT_TRACE_NONE ? gt_analysis_place(input, series->node) : input->node[series->file];
}

static int flush(struct gt_trace_energy *energy, struct gt_node_energy *node)
{
    gt_energy_reading_take(&node->reading, node->system, node->job);
    return node->is_begun ? gt_energy_curve_add(&node->curve, seconds(energy, node->time), &node->reading) : 0;
}

/* The values of one moment come one after the other. */
static int take(struct gt_trace_energy *energy, size_t sample, struct meaning meaning)
{
    const struct gt_trace_samples *samples = &energy->input->trace->samples;
    const struct gt_trace_series *series = &energy->input->trace->series[samples->series[sample]];
    uint32_t place = node_of(energy->input, series);
    struct gt_node_energy *node = find_node(energy, place);
    if (!node)
        node = add_node(energy, place, energy->input->trace->file[series->file].path);
    if (!node)
        return -ENOMEM;
    if (node->is_begun && samples->time[sample] != node->time && flush(energy, node) < 0)
        return -ENOMEM;
    if (!node->is_begun)
        node->first = samples->time[sample];
    node->is_begun = true;
    node->time = samples->time[sample];
    (meaning.is_job ? node->job : node->system)[meaning.metric] = samples->value[sample];
    return 0;
}

static int take_all(struct gt_trace_energy *energy)
{
    const struct gt_trace *trace = energy->input->trace;
    struct meaning *meaning = calloc(trace->series_count + 1, sizeof *meaning);
    int status = meaning ? 0 : -ENOMEM;
    for (size_t i = 0; meaning && i < trace->series_count; i++)
        meaning[i] = meaning_of(trace, &trace->series[i]);
    for (size_t i = 0; i < trace->samples.count && status >= 0; i++) {
        struct meaning of = meaning[trace->samples.series[i]];
        if (of.metric != GT_METRIC_COUNT)
            status = take(energy, i, of);
    }
    for (size_t i = 0; i < energy->count && status >= 0; i++)
        if (flush(energy, &energy->node[i]) < 0 || gt_energy_curve_finish(&energy->node[i].curve) < 0)
            status = -ENOMEM;
    free(meaning);
    return status;
}

/* Nodes whose recordings know nothing of energy, and those that are not shown, are forgotten. */
static void keep_measured(struct gt_trace_energy *energy)
{
    size_t kept = 0;
    for (size_t i = 0; i < energy->count; i++)
        if (gt_energy_curve_is_measured(&energy->node[i].curve) &&
            gt_analysis_shows(energy->input, energy->node[i].node))
            energy->node[kept++] = energy->node[i];
        else
            gt_energy_curve_release(&energy->node[i].curve);
    energy->count = kept;
}

static uint32_t only_node_of(const struct gt_analysis_input *input)
{
    uint32_t only = GT_TRACE_NONE;
    for (size_t i = 0; i < input->trace->events.count; i++) {
        uint32_t node = gt_analysis_node(input, i);
        if (!gt_analysis_shows(input, node))
            continue;
        if (only != GT_TRACE_NONE && node != only)
            return GT_TRACE_NONE;
        only = node;
    }
    return only;
}

int gt_trace_energy_open(struct gt_trace_energy *energy, const struct gt_analysis_input *input)
{
    const struct gt_profile_options *options = input->options;
    struct gt_cost cost = {options->carbon_intensity, options->carbon_file, options->price};
    *energy = (struct gt_trace_energy){.input = input, .only_node = only_node_of(input)};
    int status = gt_cost_read(&energy->machine, &cost, input->error);
    if (status >= 0 && take_all(energy) < 0)
        status = gt_error_system(input->error, ENOMEM, "energy");
    if (status < 0)
        gt_trace_energy_close(energy);
    else
        keep_measured(energy);
    return status;
}

void gt_trace_energy_close(struct gt_trace_energy *energy)
{
    for (size_t i = 0; i < energy->count; i++)
        gt_energy_curve_release(&energy->node[i].curve);
    free(energy->node);
    energy->node = NULL;
    energy->count = 0;
}

/* ---- figures ---- */

static unsigned marks_of(const struct gt_trace_energy *energy)
{
    unsigned marks = 0;
    for (size_t i = 0; i < energy->count; i++)
        marks |= gt_energy_curve_marks(&energy->node[i].curve);
    return marks;
}

void gt_trace_energy_columns(const struct gt_trace_energy *energy, struct gt_table *table)
{
    if (energy->count)
        gt_energy_columns(table, &energy->machine, marks_of(energy));
}

static int spend(const struct gt_trace_energy *energy, const struct gt_node_energy *node, const int64_t *start,
                 const int64_t *end, size_t count, struct gt_spent spent[GT_ENERGY_DEVICES])
{
    struct gt_time_stretch *stretch = calloc(count + 1, sizeof *stretch);
    if (!stretch)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        stretch[i] = (struct gt_time_stretch){seconds(energy, start[i]), seconds(energy, end[i])};
    count = gt_time_stretches_merge(stretch, count);
    for (int device = 0; device < GT_ENERGY_DEVICES; device++)
        spent[device] = gt_energy_curve_over(&node->curve, device, GT_ENERGY_JOB, stretch, count);
    free(stretch);
    return 0;
}

int gt_trace_energy_cells(const struct gt_trace_energy *energy, struct gt_table *table, uint32_t place,
                          const int64_t *start, const int64_t *end, size_t count)
{
    struct gt_spent spent[GT_ENERGY_DEVICES] = {
        {.joules = NAN, .error = NAN}, {.joules = NAN, .error = NAN}, {.joules = NAN, .error = NAN}};
    const struct gt_node_energy *node = find_node(energy, place);
    int status = 0;
    if (!energy->count)
        return 0;
    if (!node && energy->count == 1 && energy->only_node != GT_TRACE_NONE)
        node = energy->node;
    if (node)
        status = spend(energy, node, start, end, count, spent);
    gt_energy_cells(table, &energy->machine, marks_of(energy), gt_energy_sum(spent));
    return status;
}

void gt_trace_energy_section(const struct gt_trace_energy *energy, struct gt_node *root)
{
    const struct gt_node_energy *node = energy->node;
    if (energy->count == 1)
        gt_energy_section(root, &(struct gt_energy_figures){.machine = &node->machine,
                                                            .parts = GT_ENERGY_BY_TIME,
                                                            .end = &node->reading,
                                                            .seconds = (double)(node->time - node->first) / 1e9});
}
