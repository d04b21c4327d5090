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
};

/* ---- Values ---- */

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

/* Returns the seconds from the first to the last bucket with samples. */
static double time_of(const struct gt_job_bucket *bucket, const struct gt_job_question *question)
{
    size_t first = 0, last = question->buckets - 1;
    while (first < last && !bucket[first].count)
        first++;
    while (last > first && !bucket[last].count)
        last--;
    return (double)(last - first + 1) * question->width;
}

/* The value at the end of the run counts like the last sample. */
static double value_of(const struct health *health, const struct gt_job_series *series, size_t number)
{
    const struct gt_job_question *question = &health->question;
    size_t subject = (size_t)health->subject[number];
    const struct gt_job_bucket *bucket = gt_job_bucket(question, series, subject, 0);
    const struct gt_job_bucket whole = gt_job_whole(question, series, subject);
    double final = !health->of_gpus ? health->job->rank[series->rank].system[checks[number].metric] : NAN;
    switch (checks[number].rule) {
    case SHARE: return whole.count ? whole.sum / whole.count : NAN;
    case LOW:
        return mean_while_busy(bucket, gt_job_bucket(question, series, (size_t)health->use, 0), question->buckets);
    case BESIDE: return (whole.last - whole.first) / time_of(bucket, question);
    case RISES: return fmax(whole.last, final) - whole.first;
    case ABOVE: return fmax(whole.most, final);
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
        place->temperature = gt_job_whole(&health->question, series, (size_t)health->temperature).most;
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

/* Returns the places as rows: node_name rank_count gpu name uuid temperature, and a column for each check. */
static struct gt_rows place_rows(const struct health *health)
{
    struct gt_rows_field fields[CHECKS + 2] = {{"temperature", GT_REAL, offsetof(struct place, temperature)}};
    for (size_t i = 0; i < CHECKS; i++)
        fields[i + 1] = (struct gt_rows_field){checks[i].key, GT_REAL,
                                               offsetof(struct place, value) + i * sizeof(double)};
    fields[CHECKS + 1].name = NULL;
    struct gt_rows rows = gt_rows_of_records(health->job->query, health->place, health->place_count,
                                             sizeof *health->place, fields);
    const char **node = gt_job_add_texts(&rows, "node"), **name = gt_job_add_texts(&rows, "name"),
               **uuid = gt_job_add_texts(&rows, "uuid");
    int64_t *gpu = gt_rows_add_wholes(&rows, "gpu"), *ranks = gt_rows_add_wholes(&rows, "ranks");
    for (size_t i = 0; i < rows.count; i++) {
        const struct place *place = &health->place[i];
        const struct gt_job_node *of = &health->job->node[place->node];
        const struct gt_gpu *device = place->device < 0 ? NULL
                                                        : &health->job->rank[place->rank].machine.gpu[place->device];
        node[i] = of->name;
        name[i] = device ? device->name : "";
        uuid[i] = device ? device->uuid : NULL;
        gpu[i] = device ? place->device : GT_NO_WHOLE;
        ranks[i] = (int64_t)of->count;
    }
    return rows;
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

/* Number the texts of a column, so that equal ones have one number. */
static void unite_texts(struct gt_rows *rows, const char *of)
{
    struct gt_rows_column *column = gt_rows_find_of(rows, of, strlen(of));
    for (size_t i = 0; i < rows->count; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(column->words[column->key[k]], column->words[column->key[i]])) {
                column->key[i] = column->key[k];
                break;
            }
}

/* Returns the checks that places do not pass: node gpu uuid check what unit value peers. Peers are all nodes, or the GPUs with the same
 * name, of which there are several. */
static struct gt_rows judge(const struct health *health, struct gt_rows *places)
{
    struct gt_rows rows = gt_rows_new(health->job->query, places->count * CHECKS);
    uint32_t *place = gt_rows_add_keys(&rows, "place", NULL), *check = gt_rows_add_keys(&rows, "check", NULL),
             *name = gt_rows_add_keys(&rows, "name", NULL);
    const char **key = gt_job_add_texts(&rows, "key"), **what = gt_job_add_texts(&rows, "what"),
               **unit = gt_job_add_texts(&rows, "unit");
    double *value = gt_rows_add_reals(&rows, "value");
    uint32_t *number = gt_rows_add_keys(places, "place", NULL);
    unite_texts(places, "name");
    const uint32_t *named = gt_rows_keys(places, "name");
    for (size_t i = 0; i < rows.count; i++) {
        const struct check *of = &checks[i % CHECKS];
        place[i] = number[i / CHECKS] = (uint32_t)(i / CHECKS);
        check[i] = (uint32_t)(i % CHECKS);
        name[i] = named[i / CHECKS];
        key[i] = of->key;
        what[i] = of->words;
        unit[i] = of->unit;
        value[i] = of->of & health->of ? health->place[i / CHECKS].value[i % CHECKS] : NAN;
    }
    rows = gt_rows_above(&rows, "value", -INFINITY);
    struct gt_rows medians = gt_rows_group(&rows, "check name",
                                           GT_AGGREGATES(GT_COUNT("count"), GT_QUANTILE("peers", "value", 0.5)));
    medians = gt_rows_above(&medians, "count", 1);
    gt_rows_join(&rows, &medians, "check name", "peers");
    gt_rows_join(&rows, places, "place", "node gpu uuid");
    const uint32_t *of = gt_rows_keys(&rows, "check");
    const double *own = gt_rows_reals(&rows, "value"), *peers = gt_rows_reals(&rows, "peers");
    bool *is_found = gt_query_memory(rows.query, rows.count, sizeof *is_found);
    for (size_t i = 0; i < rows.count && is_found; i++)
        is_found[i] = is_sick(&checks[of[i]], own[i], peers[i]);
    return gt_rows_filter(&rows, is_found);
}

/* ---- Tables ---- */

/* Rows are ordered by the first known check. */
static void add_table(struct gt_node *root, const struct health *health, struct gt_rows *places, int top)
{
    static const struct gt_job_column of_gpus[] = {{"node", "Node", NULL, 0, NULL},
                                                   {"gpu", "GPU", NULL, 0, NULL},
                                                   {"name", "Name", NULL, 0, NULL},
                                                   {"uuid", "UUID", NULL, GT_COLUMN_ONLY_DATA, NULL},
                                                   {"temperature", "Hottest", "celsius", 0, NULL}},
                                      of_nodes[] = {{"node", "Node", NULL, 0, NULL}, {"ranks", "Ranks", NULL, 0, NULL}};
    struct gt_job_column columns[sizeof of_gpus / sizeof *of_gpus + CHECKS + 1] = {{0}};
    size_t count = health->of_gpus ? sizeof of_gpus / sizeof *of_gpus : sizeof of_nodes / sizeof *of_nodes;
    memcpy(columns, health->of_gpus ? of_gpus : of_nodes, count * sizeof *columns);
    for (size_t i = 0; i < CHECKS; i++)
        if (checks[i].of & health->of)
            columns[count++] = (struct gt_job_column){checks[i].key, checks[i].title, checks[i].unit, 0, NULL};
    double *order = gt_rows_add_reals(places, "order");
    for (size_t i = 0; i < places->count; i++) {
        order[i] = NAN;
        for (size_t k = 0; k < CHECKS && isnan(order[i]); k++)
            order[i] = health->place[i].value[k];
    }
    gt_job_list(root, health->job,
                &(struct gt_job_listing){.key = health->of_gpus ? "gpus" : "nodes",
                                         .title = health->of_gpus ? "GPUs" : "Nodes",
                                         .few_title = health->of_gpus ? "GPUs, both ends" : "Nodes, both ends",
                                         .order = "order",
                                         .top = top},
                places, columns);
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
    static const struct gt_job_column columns[] = {{"node", "Node", NULL, 0, NULL},
                                                   {"gpu", "GPU", NULL, 0, NULL},
                                                   {"uuid", "UUID", NULL, GT_COLUMN_ONLY_DATA, NULL},
                                                   {"check", "Check", NULL, GT_COLUMN_ONLY_DATA, "key"},
                                                   {"what", "What", NULL, 0, NULL},
                                                   {"unit", "Unit", NULL, GT_COLUMN_UNIT, NULL},
                                                   {"value", "Value", NULL, 0, NULL},
                                                   {"peers", "Median of all", NULL, 0, NULL},
                                                   {NULL, NULL, NULL, 0, NULL}};
    struct health of[2] = {{.job = job}, {.job = job}};
    struct gt_rows places[2], found[2];
    int status = read_places(&of[0], false, error);
    if (status >= 0)
        status = read_places(&of[1], true, error);
    if (status >= 0) {
        for (int i = 0; i < 2; i++) {
            places[i] = place_rows(&of[i]);
            found[i] = judge(&of[i], &places[i]);
        }
        struct gt_table *table = gt_job_table(root, job, "findings", "Sick", GT_BRIEF, &found[0], columns);
        gt_job_put_rows(table, job, &found[1], columns);
        for (int i = 0; i < 2; i++)
            if (of[i].place_count)
                add_table(root, &of[i], &places[i], options->top);
        add_clocks(root, job);
        gt_job_verdict(root, table, "No check finds a machine sick.");
    }
    free(of[0].place);
    free(of[1].place);
    return status;
}

const struct gt_job_analysis gt_job_health = {
    .name = "health", .type = "profile_health", .group = "ranks", .help = HELP, .build = build};
