/* Faulty machines: checks of each node and each GPU against its peers. A check is one line of a table. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job_analysis.h"
#include "base/grow.h"

enum { BUCKETS = 240 };

enum rule {
    SHARE,  /* the share of samples that have one of the bits is above the limit */
    LOW,    /* while the GPU is busy the value is below the median of its peers by more than the limit, a ratio */
    BESIDE, /* the counter rises by more than the limit in a second, and twice as fast as the median of its peers */
    ABOVE,  /* the value was above the limit in some sample */
    RISES,  /* the counter rises at all: errors */
    TRACKER /* the value of a tracker, see figure_of_tracker, is above the limit */
};

enum { HEAT = 2, HARDWARE = 4 };       /* of gpu_throttle */
static const double LEAST_TICKS = 100; /* of the schedule, before missed ones are checked */
static const double BUSY = 0.5;        /* utilization of a GPU, above which its clock is checked */

enum { NODES = 1, GPUS = 2, BOTH = NODES | GPUS }; /* trackers record some counters of GPUs for the machine */

/* A new counter of errors is one line with RISES. */
static const struct check {
    const char *key, *title, *words; /* words: "... throttled by heat or hardware" */
    unsigned of;
    enum gt_metric_id metric; /* GT_METRIC_COUNT: a value of a tracker */
    enum rule rule;
    double limit;
    unsigned bits;
    const char *unit;
} checks[] = {
    {"throttled", "Throttled", "was throttled by heat or hardware", GPUS, GT_GPU_THROTTLE, SHARE, 0.01, HEAT | HARDWARE,
     NULL},
    {"clock_under_load", "Clock while busy", "runs slower while busy than others of its name", GPUS, GT_GPU_CLOCK, LOW,
     0.05, 0, "hertz"},
    {"ecc_uncorrected", "ECC errors not corrected", "had errors of GPU memory that ECC could not correct", BOTH,
     GT_GPU_ECC_UNCORRECTED, RISES, 0, 0, NULL},
    {"remap_pending", "Rows to be replaced", "has a GPU that waits for a reset to replace rows of its memory", BOTH,
     GT_GPU_REMAP_PENDING, ABOVE, 0, 0, NULL},
    {"remap_failed", "Rows not replaced", "has a GPU with a row of memory that could not be replaced", BOTH,
     GT_GPU_REMAP_FAILED, ABOVE, 0, 0, NULL},
    {"pcie_replays", "PCIe replays", "sends packets again over PCI Express", BOTH, GT_GPU_PCIE_REPLAYS, BESIDE, 1. / 60,
     0, "1/s"},
    {"nvlink_errors", "NVLink errors", "had errors on NVLinks", BOTH, GT_GPU_NVLINK_ERRORS, RISES, 0, 0, NULL},
    {"xgmi_errors", "XGMI errors", "had errors on XGMI links", BOTH, GT_GPU_XGMI_ERRORS, RISES, 0, 0, NULL},
    {"xids", "XIDs", "had errors that the driver reported (XID)", BOTH, GT_GPU_XIDS, ABOVE, 0, 0, NULL},
    {"lost", "GPUs lost", "has a GPU that its driver lost", BOTH, GT_GPU_LOST, ABOVE, 0, 0, NULL},
    {"pressure_cpu", "Waits for CPU", "has tasks that wait for a CPU", NODES, GT_PRESSURE_CPU, BESIDE, 0.1, 0, "s/s"},
    {"pressure_memory", "Waits for memory", "has tasks that wait for memory", NODES, GT_PRESSURE_MEMORY, BESIDE, 0.02,
     0, "s/s"},
    {"pressure_io", "Waits for storage", "has tasks that wait for storage", NODES, GT_PRESSURE_IO, BESIDE, 0.1, 0,
     "s/s"},
    {"missed", "Samples missed", "was too busy to be sampled as often as asked", NODES, GT_METRIC_COUNT, TRACKER, 0.05,
     0, NULL},
    {"clock_error", "Clock off by at most", "has a clock that may be off", NODES, GT_METRIC_COUNT, TRACKER, 0.1, 0,
     "seconds"},
};
enum { CHECKS = sizeof checks / sizeof *checks };

/* A node, or a GPU of one. */
struct place {
    size_t node, rank;
    int device;
    double value[CHECKS];
    double temperature; /* the highest */
};

struct health {
    const struct gt_job *job;
    struct place *place;
    size_t place_count, place_capacity;
    struct gt_job_question question;
    int subject[CHECKS]; /* of the question; -1: it is not asked */
    int use, temperature;
    bool of_gpus;
    unsigned of; /* the same */
    struct gt_table *found;
};

/* ---- Values ---- */

static double share_of(const struct gt_job_bucket *bucket, size_t count)
{
    double sum = 0, samples = 0;
    for (size_t i = 0; i < count; i++) {
        sum += bucket[i].count ? bucket[i].sum : 0;
        samples += bucket[i].count;
    }
    return samples ? sum / samples : NAN;
}

static double mean_while_busy(const struct gt_job_bucket *bucket, const struct gt_job_bucket *use, size_t count)
{
    double sum = 0, samples = 0;
    for (size_t i = 0; i < count; i++)
        if (bucket[i].count && use[i].count && use[i].sum / use[i].count >= BUSY) {
            sum += bucket[i].sum;
            samples += bucket[i].count;
        }
    return samples ? sum / samples : NAN;
}

/* Returns the increase from the first sample to the last one, or to the value `final` (NaN: unknown) at the end of the
 * run. */
static double rise_of(const struct gt_job_bucket *bucket, size_t count, double width, bool is_rate, double final)
{
    size_t first = count, last = 0;
    for (size_t i = 0; i < count; i++)
        if (bucket[i].count) {
            first = first == count ? i : first;
            last = i;
        }
    if (first == count)
        return NAN;
    double rise = fmax(bucket[last].last, final) - bucket[first].first;
    return is_rate ? rise / ((double)(last - first + 1) * width) : rise;
}

static double most_of(const struct gt_job_question *question, const struct gt_job_series *series, size_t subject)
{
    double most = NAN;
    for (size_t i = 0; i < question->buckets; i++) {
        const struct gt_job_bucket *bucket = gt_job_bucket(question, series, subject, i);
        most = bucket->count ? fmax(most, bucket->most) : most;
    }
    return most;
}

static double value_of(const struct health *health, const struct gt_job_series *series, size_t number)
{
    const struct gt_job_question *question = &health->question;
    const struct gt_job_bucket *bucket = gt_job_bucket(question, series, (size_t)health->subject[number], 0);
    double final = !health->of_gpus ? health->job->rank[series->rank].system[checks[number].metric] : NAN;
    switch (checks[number].rule) {
    case SHARE: return share_of(bucket, question->buckets);
    case LOW:
        return mean_while_busy(bucket, gt_job_bucket(question, series, (size_t)health->use, 0), question->buckets);
    case BESIDE: return rise_of(bucket, question->buckets, question->width, true, NAN);
    case RISES: return rise_of(bucket, question->buckets, question->width, false, final);
    case ABOVE: return fmax(most_of(question, series, (size_t)health->subject[number]), final);
    case TRACKER: break;
    }
    return NAN;
}

/* Returns the worst value of all trackers of the node. The offset from the server's clock counts like the kernel's
 * error. */
static double figure_of_tracker(const struct health *health, const struct place *place, const struct check *check)
{
    const struct gt_job_node *node = &health->job->node[place->node];
    double worst = NAN;
    for (size_t i = node->first; i < node->first + node->count; i++) {
        const struct gt_job_rank *rank = &health->job->rank[i];
        double ticks = rank->samples + rank->missed, error = fmax(rank->machine.clock_error, fabs(rank->clock_shift));
        if (!strcmp(check->key, "missed"))
            worst = ticks >= LEAST_TICKS ? fmax(worst, rank->missed / ticks) : worst;
        else
            worst = error > 0 ? fmax(worst, error) : worst;
    }
    return worst;
}

/* The first of several trackers that see a GPU reports it. */
static bool is_known(const struct health *health, size_t rank, int device)
{
    const struct gt_job_rank *ranks = health->job->rank;
    for (size_t i = 0; i < health->place_count; i++) {
        const struct place *place = &health->place[i];
        if (place->node == ranks[rank].node &&
            !strcmp(ranks[place->rank].machine.gpu[place->device].uuid, ranks[rank].machine.gpu[device].uuid))
            return true;
    }
    return false;
}

static int take_series(void *context, const struct gt_job_series *series)
{
    struct health *health = context;
    if (health->of_gpus ? is_known(health, series->rank, series->part)
                        : !gt_job_tells_of_node(health->job, series->rank))
        return 0;
    struct place *place = GT_GROW(health, place);
    if (!place)
        return -ENOMEM;
    *place = (struct place){
        .node = health->job->rank[series->rank].node, .rank = series->rank, .device = series->part, .temperature = NAN};
    if (health->temperature >= 0)
        place->temperature = most_of(&health->question, series, (size_t)health->temperature);
    for (size_t i = 0; i < CHECKS; i++)
        place->value[i] = health->subject[i] >= 0               ? value_of(health, series, i)
                          : checks[i].metric != GT_METRIC_COUNT ? NAN
                                                                : figure_of_tracker(health, place, &checks[i]);
    return 0;
}

static int ask(struct gt_job_question *question, enum gt_scope scope, enum gt_metric_id metric, unsigned bits)
{
    gt_job_ask(question, (struct gt_job_subject){scope, metric, bits});
    return (int)question->subjects - 1;
}

static int read_places(struct health *health, bool of_gpus, struct gt_error *error)
{
    enum gt_scope scope = of_gpus ? GT_SCOPE_GPU : GT_SCOPE_SYSTEM;
    const struct gt_job_source *source = health->job->source;
    health->of_gpus = of_gpus;
    health->of = of_gpus ? GPUS : NODES;
    health->place_count = 0;
    gt_job_question_init(&health->question, health->job, BUCKETS);
    for (size_t i = 0; i < CHECKS; i++)
        health->subject[i] = checks[i].of & health->of && checks[i].metric != GT_METRIC_COUNT
                                 ? ask(&health->question, scope, checks[i].metric, checks[i].bits)
                                 : -1;
    health->use = of_gpus ? ask(&health->question, scope, GT_GPU_UTILIZATION, 0) : -1;
    health->temperature = of_gpus ? ask(&health->question, scope, GT_GPU_TEMPERATURE, 0) : -1;
    return source->series(source->state, health->job, &health->question, take_series, health, error);
}

/* ---- Verdicts ---- */

static const struct gt_gpu *gpu_of(const struct health *health, const struct place *place)
{
    return place->device < 0 ? NULL : &health->job->rank[place->rank].machine.gpu[place->device];
}

/* Find the median of peers: all nodes, or the GPUs with the same name. */
static int median_of_peers(const struct health *health, const struct place *place, size_t check, double *ret)
{
    struct gt_spread spread;
    double *value = calloc(health->place_count, sizeof *value);
    const struct gt_gpu *gpu = gpu_of(health, place);
    if (!value)
        return -ENOMEM;
    for (size_t i = 0; i < health->place_count; i++) {
        const struct gt_gpu *other = gpu_of(health, &health->place[i]);
        value[i] = gpu && strcmp(gpu->name, other->name) != 0 ? NAN : health->place[i].value[check];
    }
    int status = gt_spread_of(&spread, value, health->place_count);
    *ret = spread.count > 1 ? spread.median : NAN;
    free(value);
    return status;
}

static bool is_sick(const struct check *check, double value, double peers)
{
    switch (check->rule) {
    case LOW: return value < (1 - check->limit) * peers;
    case BESIDE: return value > check->limit && value > 2 * peers;
    case RISES: return value > 0;
    case ABOVE:
    case SHARE:
    case TRACKER: return value > check->limit;
    }
    return false;
}

static struct gt_table *begin_found(struct gt_node *root)
{
    struct gt_table *table = gt_report_table(root, "findings", "Sick");
    gt_table_flags(table, GT_BRIEF);
    gt_table_column(table, "node", "Node", GT_CELL_TEXT, NULL);
    gt_table_column(table, "gpu", "GPU", GT_CELL_INTEGER, NULL);
    gt_job_column(table, "uuid", "UUID", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_DATA);
    gt_job_column(table, "check", "Check", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_DATA);
    gt_table_column(table, "what", "What", GT_CELL_TEXT, NULL);
    gt_job_column(table, "unit", "Unit", GT_CELL_TEXT, NULL, GT_COLUMN_UNIT);
    gt_table_column(table, "value", "Value", GT_CELL_NUMBER, NULL);
    gt_table_column(table, "peers", "Median of all", GT_CELL_NUMBER, NULL);
    return table;
}

static int judge(const struct health *health)
{
    int status = 0;
    for (size_t i = 0; i < health->place_count; i++)
        for (size_t k = 0; k < CHECKS && !status; k++) {
            const struct place *place = &health->place[i];
            double peers = NAN, value = place->value[k];
            if (isnan(value) || !(checks[k].of & health->of))
                continue;
            status = median_of_peers(health, place, k, &peers);
            if (status || !is_sick(&checks[k], value, peers))
                continue;
            const struct gt_gpu *gpu = gpu_of(health, place);
            gt_table_text(health->found, health->job->node[place->node].name);
            place->device < 0 ? gt_table_missing(health->found) : gt_table_integer(health->found, place->device);
            gt_table_text(health->found, gpu ? gpu->uuid : NULL);
            gt_table_text(health->found, checks[k].key);
            gt_table_text(health->found, checks[k].words);
            gt_table_text(health->found, checks[k].unit);
            gt_table_number(health->found, value);
            gt_table_number(health->found, peers);
        }
    return status;
}

/* ---- Tables ---- */

static void add_columns(struct gt_table *table, const void *context)
{
    const struct health *health = context;
    gt_table_column(table, "node", "Node", GT_CELL_TEXT, NULL);
    if (health->of_gpus) {
        gt_table_column(table, "gpu", "GPU", GT_CELL_INTEGER, NULL);
        gt_table_column(table, "name", "Name", GT_CELL_TEXT, NULL);
        gt_job_column(table, "uuid", "UUID", GT_CELL_TEXT, NULL, GT_COLUMN_ONLY_DATA);
        gt_table_column(table, "temperature", "Hottest", GT_CELL_NUMBER, "celsius");
    } else {
        gt_table_column(table, "ranks", "Ranks", GT_CELL_INTEGER, NULL);
    }
    for (size_t i = 0; i < CHECKS; i++)
        if (checks[i].of & health->of)
            gt_table_column(table, checks[i].key, checks[i].title, GT_CELL_NUMBER, checks[i].unit);
}

static void add_row(struct gt_table *table, const void *context, size_t row)
{
    const struct health *health = context;
    const struct place *place = &health->place[row];
    const struct gt_job_node *node = &health->job->node[place->node];
    gt_table_text(table, node->name);
    if (health->of_gpus) {
        const struct gt_gpu *gpu = gpu_of(health, place);
        gt_table_integer(table, place->device);
        gt_table_text(table, gpu->name);
        gt_table_text(table, gpu->uuid);
        gt_table_number(table, place->temperature);
    } else {
        gt_table_integer(table, (int64_t)node->count);
    }
    for (size_t i = 0; i < CHECKS; i++)
        if (checks[i].of & health->of)
            gt_table_number(table, place->value[i]);
}

/* Rows are ordered by the first known check. */
static int add_table(struct gt_node *root, const struct health *health, int top)
{
    double *value = calloc(health->place_count + 1, sizeof *value);
    if (!value)
        return -ENOMEM;
    for (size_t i = 0; i < health->place_count; i++) {
        value[i] = NAN;
        for (size_t k = 0; k < CHECKS && isnan(value[i]); k++)
            value[i] = health->place[i].value[k];
    }
    int status = gt_job_list(
        root, &(struct gt_job_listing){.job = health->job,
                                       .key = health->of_gpus ? "gpus" : "nodes",
                                       .title = health->of_gpus ? "GPUs" : "Nodes",
                                       .few_title = health->of_gpus ? "GPUs, both ends" : "Nodes, both ends",
                                       .count = health->place_count,
                                       .value = value,
                                       .top = top,
                                       .add_columns = add_columns,
                                       .add_row = add_row,
                                       .context = health});
    free(value);
    return status;
}

/* A clock without a time service may be right, so it is not a finding. */
static void add_clocks(struct gt_node *root, const struct gt_job *job)
{
    int64_t count = 0;
    for (size_t i = 0; i < job->nodes; i++) {
        bool is_set = false;
        for (size_t k = job->node[i].first; k < job->node[i].first + job->node[i].count; k++)
            is_set |= job->rank[k].machine.clock_error > 0;
        count += !is_set;
    }
    gt_report_integer(root, "clocks_not_set", "Nodes without a time service (NTP), as far as is known", count, NULL);
}

#define HELP \
    "of a folder with a recording of each rank: machines and GPUs that were throttled, slow, short of something, or off the clock"

static int build(struct gt_node *root, const struct gt_job *job, const struct gt_job_options *options,
                 struct gt_error *error)
{
    struct health health = {.job = job, .found = begin_found(root)};
    int status = 0;
    for (int of_gpus = 0; of_gpus < 2 && status >= 0; of_gpus++) {
        status = read_places(&health, of_gpus, error);
        if (status >= 0)
            status = judge(&health);
        if (status >= 0 && health.place_count)
            status = add_table(root, &health, options->top);
    }
    if (status >= 0) {
        add_clocks(root, job);
        gt_job_verdict(root, health.found, "No check finds a machine sick.");
    }
    free(health.place);
    return status;
}

const struct gt_job_analysis gt_job_health = {
    .name = "health", .type = "profile_health", .group = "ranks", .help = HELP, .build = build};
