#include "analyse/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/blocks/results.h"
#include "analyse/compare/statistics.h"
#include "analyse/usage/usage.h"
#include "base/os/file.h"
#include "base/grow.h"
#include "base/number.h"
#include "blocks/distribution.h"
#include "schema/unit.h"
#include "store/store.h"

/* ---- figures ---- */

const json_t *gt_compare_measurements(const struct gt_comparison *comparison, const char *key)
{
    return json_object_get(comparison->run[0].results, key);
}

/* The results of the run, or of the figure's block in it; NULL when the run has no such block. */
static const json_t *results_of(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run)
{
    return figure->slot ? figure->slot->block[run] : comparison->run[run].results;
}

/* Returns the figure that tells how much of the time a figure of energy covers. */
static struct gt_figure coverage_of(const struct gt_figure *figure)
{
    bool is_of_device = figure->keys[1] && figure->keys[2];
    if (figure->slot)
        return (struct gt_figure){.slot = figure->slot, .keys = {"energy", figure->keys[1], "energy_covered"}};
    if (!strcmp(figure->keys[0], "energy") && is_of_device)
        return (struct gt_figure){.keys = {"energy", figure->keys[1], "covered"}};
    return (struct gt_figure){.keys = {"energy", "covered"}};
}

/* Returns the least part of the time, in percent, for which a figure of energy was measured in a run; 100 for other
 * figures. */
static double covered(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run)
{
    bool is_of_job = !figure->slot && figure->keys[1] && strstr(figure->keys[1], "energy");
    if (strcmp(figure->keys[0], "energy") != 0 && !is_of_job)
        return 100;
    struct gt_figure coverage = coverage_of(figure);
    double percent = gt_results_number(results_of(comparison, figure, run), coverage.keys);
    return isnan(percent) ? 100 : percent;
}

double gt_compare_session_covered(const struct gt_comparison *comparison, const struct gt_figure *figure,
                                  size_t session)
{
    double least = 100;
    for (size_t i = 0; i < comparison->runs; i++)
        if (comparison->run[i].session == session)
            least = fmin(least, covered(comparison, figure, i));
    return least;
}

const char *gt_compare_memory_unit(const struct gt_comparison *comparison, size_t run, const char *key,
                                   double *ret_bytes)
{
    const char *name = key ? gt_results_static(comparison->run[run].results, key) : NULL;
    *ret_bytes = 1;
    return name && gt_unit_memory(name, ret_bytes, NULL) >= 0 ? name : NULL;
}

/* Returns what a figure of a run is multiplied by to have it in the unit of the first one: the original's columns of memory are in
 * units of each run's choice. */
static double unit_factor(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run)
{
    const char *column = figure->keys[1];
    bool is_column = !strcmp(figure->keys[0], "overall") || !strcmp(figure->keys[0], "resource_usage");
    if (!run || !column || !is_column)
        return 1;
    const char *key = strstr(column, "gpu_ram") ? "gpu_ram_unit" : "ram_unit";
    double first, own;
    gt_compare_memory_unit(comparison, 0, key, &first);
    gt_compare_memory_unit(comparison, run, key, &own);
    if (own == first)
        return 1;
    struct gt_column found;
    bool has_unit = gt_store_column_named(&found, column, NULL) == 0 && found.is_original &&
                    gt_metrics[found.metric].unit == GT_BYTES;
    return has_unit ? own / first : 1;
}

double gt_compare_run(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run)
{
    const struct gt_run *of = &comparison->run[run];
    bool is_of_gpus = figure->keys[1] && strstr(figure->keys[1], "gpu_");
    double value = gt_results_number(results_of(comparison, figure, run), figure->keys);
    if (value == 0 && !figure->as_original && is_of_gpus && of->has_no_gpu)
        return NAN;
    if (!comparison->options->allow_partial && covered(comparison, figure, run) < 100)
        return NAN;
    if (figure->is_rate)
        value = of->duration > 0 ? value / of->duration : NAN;
    return value * (figure->factor > 0 ? figure->factor : 1) * unit_factor(comparison, figure, run);
}

/* Puts the values of a session's runs that have the figure into `ret`, and returns how many there are. */
static size_t values_of(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session,
                        double *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->runs; i++) {
        double value = comparison->run[i].session == session ? gt_compare_run(comparison, figure, i) : NAN;
        if (!isnan(value))
            ret[count++] = value;
    }
    return count;
}

static double mean_of(const double *value, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += value[i];
    return count ? sum / (double)count : NAN;
}

double gt_compare_value(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session)
{
    return mean_of(comparison->scratch, values_of(comparison, figure, session, comparison->scratch));
}

struct gt_compared gt_compare_session(const struct gt_comparison *comparison, const struct gt_figure *figure,
                                      size_t session)
{
    double *own = comparison->scratch, *baseline = own + comparison->runs;
    size_t runs = values_of(comparison, figure, session, own);
    struct gt_compared ret = {mean_of(own, runs), runs, NAN, NAN, NAN};
    if (session)
        gt_welch_interval(baseline, values_of(comparison, figure, 0, baseline), own, runs, &ret.low, &ret.high);
    return ret;
}

/* ---- runs that failed ---- */

size_t gt_compare_failed_runs(const struct gt_comparison *comparison, size_t session, int *ret_status)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->runs; i++) {
        const struct gt_run *run = &comparison->run[i];
        if (run->session == session && run->failed && !count++)
            *ret_status = run->failed;
    }
    return count;
}

int gt_compare_failure(const struct gt_comparison *comparison, size_t session, size_t other)
{
    for (size_t i = 0; i < comparison->runs; i++) {
        const struct gt_run *run = &comparison->run[i];
        bool is_matched = false;
        for (size_t k = 0; k < comparison->runs; k++)
            is_matched |= comparison->run[k].session == other && comparison->run[k].failed == run->failed;
        if (run->session == session && run->failed && !is_matched)
            return run->failed;
    }
    return 0;
}

/* ---- energy ---- */

struct gt_figure gt_compare_job_energy(const char *device)
{
    return device ? (struct gt_figure){.keys = {"energy", device, "job"}}
                  : (struct gt_figure){.keys = {"energy", "job"}};
}

struct gt_figure gt_compare_block_energy(const struct gt_slot *slot, const char *device)
{
    return (struct gt_figure){.slot = slot, .keys = {"energy", device, "energy"}};
}

struct gt_figure gt_compare_block_cpu_time(const struct gt_comparison *comparison, const struct gt_slot *slot)
{
    struct gt_figure own = {.slot = slot, .keys = {"cpu_time", "total"}};
    struct gt_figure sampled = {.slot = slot, .keys = {"counters", "combined_cpu_time", "total"}};
    for (size_t i = 0; i < comparison->runs; i++)
        if (isnan(gt_compare_run(comparison, &own, i)) && !isnan(gt_compare_run(comparison, &sampled, i)))
            return sampled;
    return own;
}

static bool cpu_time_is_estimated(const struct gt_comparison *comparison, const struct gt_figure *figure)
{
    static const char *const keys[] = {"cpu_time", "known", NULL};
    for (size_t i = 0; i < comparison->runs; i++) {
        const char *known = json_string_value(gt_results_find(results_of(comparison, figure, i), keys));
        bool is_exact = known && !strcmp(known, "exact");
        if (!is_exact && !isnan(gt_compare_run(comparison, figure, i)))
            return true;
    }
    return false;
}

bool gt_compare_session_is_estimated(const struct gt_comparison *comparison, size_t session)
{
    bool any = false;
    for (size_t i = 0; i < comparison->runs; i++)
        if (comparison->run[i].session == session)
            any |= comparison->run[i].is_estimated;
    return any;
}

bool gt_compare_is_estimated(const struct gt_comparison *comparison)
{
    bool any = false;
    for (size_t i = 0; i < comparison->runs; i++)
        any |= comparison->run[i].is_estimated;
    return any;
}

/* ---- sessions ---- */

static struct gt_session *session_named(struct gt_comparison *comparison, const char *name, size_t length)
{
    for (size_t i = 0; i < comparison->sessions; i++)
        if (strlen(comparison->session[i].name) == length && !strncmp(comparison->session[i].name, name, length))
            return &comparison->session[i];
    struct gt_session *session = &comparison->session[comparison->sessions];
    session->name = strndup(name, length);
    comparison->sessions += session->name != NULL;
    return session->name ? session : NULL;
}

static bool is_same_file(const char *one, const char *other)
{
    struct stat first, second;
    return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Verdicts rest on runs that are independent: one that a session has twice would count as two. */
static bool is_given_already(const struct gt_comparison *comparison, size_t index)
{
    const char *const *given = comparison->options->sessions;
    const char *name = given[index];
    size_t length = strcspn(name, "=");
    if (!name[length])
        return false;
    for (size_t i = 0; i < index; i++) {
        bool is_in_session = !strncmp(name, given[i], length + 1);
        if (!is_in_session || !is_same_file(name + length + 1, given[i] + length + 1))
            continue;
        GT_COMPARE_WARN(comparison, "%s: session \"%.*s\" has the same file already: it counts once", name + length + 1,
                        (int)length, name);
        return true;
    }
    return false;
}

/* The final values of a recording tell it; results have no such values. */
static double others_in(const char *path)
{
    struct gt_recording *recording = NULL;
    double others = NAN;
    if (gt_given_file_check(path, NULL) < 0 || gt_recording_open(&recording, path, NULL) < 0) /* a pipe is read once */
        return NAN;
    const struct gt_outcome *outcome = gt_recording_outcome(recording);
    if (outcome && isfinite(outcome->value[GT_SCOPE_SYSTEM][GT_CPU_TIME]) &&
        isfinite(outcome->value[GT_SCOPE_COMBINED][GT_CPU_TIME]))
        others = gt_usage_others(&(struct gt_usage){.machine = gt_recording_machine(recording), .outcome = outcome});
    gt_recording_close(recording);
    return others;
}

static int load_run(struct gt_comparison *comparison, const char *mapping, struct gt_error *error)
{
    const struct gt_compare_options *options = comparison->options;
    size_t length = strcspn(mapping, "=");
    if (!length || !mapping[length] || !mapping[length + 1])
        return gt_error_set(error, EINVAL, "'%s' is not NAME=FILE", mapping);
    json_t *results = NULL;
    int status = gt_results_load(&results, mapping + length + 1, NULL, options->warn, options->context, error);
    if (status < 0)
        return status;
    struct gt_session *session = session_named(comparison, mapping, length);
    if (!session) {
        json_decref(results);
        return gt_error_system(error, ENOMEM, "%s", mapping);
    }
    const char *estimated = json_string_value(json_object_get(json_object_get(results, "energy"), "estimated"));
    double failed = gt_json_number_or_nan(json_object_get(results, "exit_status"));
    session->runs++;
    comparison->run[comparison->runs++] = (struct gt_run){
        .results = results,
        .session = (size_t)(session - comparison->session),
        .duration = gt_json_number_or_nan(json_object_get(results, "duration")),
        .failed = failed > 0 ? (int)failed : 0,
        .has_no_gpu = gt_results_number(results, (const char *const[]){"static_data", "system_gpu_count", NULL}) == 0,
        .is_estimated = estimated,
        .others = others_in(mapping + length + 1),
    };
    return 0;
}

static int load(struct gt_comparison *comparison, struct gt_error *error)
{
    const char *const *mapping = comparison->options->sessions;
    size_t count = 0;
    while (mapping && mapping[count])
        count++;
    if (!count)
        return gt_error_set(
            error, EINVAL,
            "A mapping of tracking session name to file path must be provided either through the -m option "
            "or a config file");
    comparison->session = calloc(count, sizeof *comparison->session);
    comparison->run = calloc(count, sizeof *comparison->run);
    comparison->order = calloc(count, sizeof *comparison->order);
    comparison->scratch = calloc(2 * count, sizeof *comparison->scratch);
    if (!comparison->session || !comparison->run || !comparison->scratch || !comparison->order)
        return gt_error_system(error, ENOMEM, "sessions");
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = is_given_already(comparison, i) ? 0 : load_run(comparison, mapping[i], error);
    return status;
}

static int choose_statistic(struct gt_comparison *comparison, struct gt_error *error)
{
    const char *wanted = comparison->options->statistic ? comparison->options->statistic : "mean";
    for (int id = 0; id < GT_STATISTICS; id++)
        if (strcmp(gt_statistic_names[id], wanted) == 0) {
            comparison->statistic = gt_statistic_names[id];
            return 0;
        }
    return gt_error_set(error, EINVAL, "Invalid summary statistic '%s'. Valid values are min max mean std p50 p95 p99",
                        wanted);
}

/* ---- which blocks of the runs are the same ----
 * Names match names. Where names have the form path:line, the blocks of one path are matched in the order of their
 * lines when both runs have the same number of them, since editing a file moves its lines; else only equal names
 * match. Strict matching is the original's: all blocks in order, one for one. */

/* The digits after the last colon, or NULL. */
static const char *line_of(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")] ? colon + 1 : NULL;
}

static size_t group_length(const char *name)
{
    const char *line = line_of(name);
    return line ? (size_t)(line - name) : strlen(name);
}

static int compare_groups(const char *a, const char *b)
{
    size_t x = group_length(a), y = group_length(b);
    int order = memcmp(a, b, x < y ? x : y);
    return order ? order : (x > y) - (x < y);
}

static int compare_names(const char *a, const char *b)
{
    int order = compare_groups(a, b);
    const char *x = line_of(a), *y = line_of(b);
    if (order || !x || !y)
        return order ? order : (x != NULL) - (y != NULL);
    x += strspn(x, "0");
    y += strspn(y, "0");
    size_t length = strlen(x), other = strlen(y);
    return length != other ? (length > other) - (length < other) : strcmp(x, y);
}

static int compare_slots(const void *a, const void *b)
{
    return compare_names(((const struct gt_slot *)a)->name, ((const struct gt_slot *)b)->name);
}

const char *gt_compare_block_name(const json_t *block)
{
    return json_string_value(json_object_get(block, "name"));
}

static int compare_blocks(const void *a, const void *b)
{
    return compare_names(gt_compare_block_name(*(const json_t *const *)a),
                         gt_compare_block_name(*(const json_t *const *)b));
}

struct blocks {
    const json_t **block; /* sorted */
    size_t count;
};

static int sort_blocks(struct blocks *ret, const json_t *results)
{
    const json_t *list = json_object_get(results, "code_block_results");
    *ret = (struct blocks){.count = json_array_size(list)};
    ret->block = calloc(ret->count + 1, sizeof *ret->block);
    if (!ret->block)
        return -ENOMEM;
    for (size_t i = 0; i < ret->count; i++)
        ret->block[i] = json_array_get(list, i);
    qsort(ret->block, ret->count, sizeof *ret->block, compare_blocks);
    return 0;
}

static const char *session_name(const struct gt_comparison *comparison, size_t run)
{
    return comparison->session[comparison->run[run].session].name;
}

static void put(struct gt_comparison *comparison, struct gt_slot *slot, size_t reference, size_t run,
                const json_t *block)
{
    slot->block[run] = block;
    if (strcmp(slot->name, gt_compare_block_name(block)) != 0)
        GT_COMPARE_WARN(
            comparison,
            "Code block name \"%s\" of tracking session \"%s\" matched with code block name \"%s\" of tracking "
            "session \"%s\" but they differ by line number. If these code blocks were not meant to match, their "
            "comparison will not be valid and their names must be disambiguated.",
            slot->name, session_name(comparison, reference), gt_compare_block_name(block),
            session_name(comparison, run));
}

static int add_slot(struct gt_comparison *comparison, size_t run, const json_t *block)
{
    struct gt_slot *slot = GT_GROW_BY_ONE(comparison->slot, comparison->slots);
    if (!slot)
        return -ENOMEM;
    *slot = (struct gt_slot){.name = gt_compare_block_name(block),
                             .block = calloc(comparison->runs, sizeof *slot->block)};
    if (!slot->block)
        return -ENOMEM;
    slot->block[run] = block;
    comparison->slots++;
    return 0;
}

static int match_strictly(struct gt_comparison *comparison, size_t reference, size_t run, const struct blocks *blocks,
                          struct gt_error *error)
{
    if (blocks->count != comparison->slots)
        return gt_error_set(
            error, EBADMSG,
            "All sub-tracking results must have the same number of code blocks. The first has %zu code blocks "
            "but tracking session \"%s\" has %zu code blocks.",
            comparison->slots, session_name(comparison, run), blocks->count);
    for (size_t i = 0; i < blocks->count; i++) {
        const char *one = comparison->slot[i].name, *other = gt_compare_block_name(blocks->block[i]);
        if (compare_groups(one, other) != 0 || !line_of(one) != !line_of(other))
            return gt_error_set(
                error, EBADMSG,
                "Code block name \"%s\" of tracking session \"%s\" does not match code block name \"%s\" of "
                "tracking session \"%s\"",
                one, session_name(comparison, reference), other, session_name(comparison, run));
        put(comparison, &comparison->slot[i], reference, run, blocks->block[i]);
    }
    return 0;
}

/* Two groups of the same path: slots [slot, slot_end) and blocks [block, block_end). */
static int match_group(struct gt_comparison *comparison, size_t reference, size_t run, const struct blocks *blocks,
                       size_t slot, size_t slot_end, size_t block, size_t block_end)
{
    bool in_order = slot_end - slot == block_end - block;
    int status = 0;
    while (block < block_end && status == 0) {
        int order = in_order ? 0
                    : slot < slot_end
                        ? compare_names(comparison->slot[slot].name, gt_compare_block_name(blocks->block[block]))
                        : 1;
        if (order == 0)
            put(comparison, &comparison->slot[slot++], reference, run, blocks->block[block++]);
        else if (order < 0)
            slot++;
        else
            status = add_slot(comparison, run, blocks->block[block++]);
    }
    return status;
}

static int match_run(struct gt_comparison *comparison, size_t reference, size_t run, const struct blocks *blocks)
{
    size_t slots = comparison->slots, slot = 0, block = 0;
    int status = 0;
    while (block < blocks->count && status == 0) {
        const char *name = gt_compare_block_name(blocks->block[block]);
        size_t slot_end, block_end = block;
        while (slot < slots && compare_groups(comparison->slot[slot].name, name) < 0)
            slot++;
        for (slot_end = slot; slot_end < slots && compare_groups(comparison->slot[slot_end].name, name) == 0;)
            slot_end++;
        while (block_end < blocks->count && compare_groups(gt_compare_block_name(blocks->block[block_end]), name) == 0)
            block_end++;
        status = match_group(comparison, reference, run, blocks, slot, slot_end, block, block_end);
        slot = slot_end;
        block = block_end;
    }
    if (comparison->slots)
        qsort(comparison->slot, comparison->slots, sizeof *comparison->slot, compare_slots);
    return status;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int make_label(struct gt_slot *slot, size_t runs)
{
    const char **name = calloc(runs, sizeof *name);
    struct gt_buffer label = {0};
    size_t count = 0;
    for (size_t i = 0; name && i < runs; i++)
        if (slot->block[i])
            name[count++] = gt_compare_block_name(slot->block[i]);
    if (name)
        qsort(name, count, sizeof *name, compare_texts);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(name[i], name[i - 1]) != 0)
            gt_buffer_printf(&label, "%s%s", i ? " -> " : "", name[i]);
    free(name);
    slot->label = label.data;
    return label.data && !label.failed ? 0 : -ENOMEM;
}

static int match(struct gt_comparison *comparison, size_t reference, size_t run, struct gt_error *error)
{
    struct blocks blocks;
    int status = sort_blocks(&blocks, comparison->run[run].results);
    if (status < 0)
        return gt_error_system(error, ENOMEM, "code blocks");
    if (run == reference)
        for (size_t i = 0; i < blocks.count && status == 0; i++)
            status = add_slot(comparison, run, blocks.block[i]);
    else if (comparison->options->strict)
        status = match_strictly(comparison, reference, run, &blocks, error);
    else
        status = match_run(comparison, reference, run, &blocks);
    free(blocks.block);
    return status == -ENOMEM ? gt_error_system(error, ENOMEM, "code blocks") : status;
}

static int match_blocks(struct gt_comparison *comparison, struct gt_error *error)
{
    size_t reference = 0; /* as in the original, the session whose name sorts first */
    for (size_t i = 1; i < comparison->runs; i++)
        if (strcmp(session_name(comparison, i), session_name(comparison, reference)) < 0)
            reference = i;
    int status = match(comparison, reference, reference, error);
    for (size_t i = 0; i < comparison->runs && status == 0; i++)
        if (i != reference)
            status = match(comparison, reference, i, error);
    for (size_t i = 0; i < comparison->slots && status == 0; i++)
        if (make_label(&comparison->slot[i], comparison->runs) < 0)
            status = gt_error_system(error, ENOMEM, "code blocks");
    return status;
}

/* ---- the whole ---- */

void gt_comparison_close(struct gt_comparison *comparison)
{
    for (size_t i = 0; i < comparison->slots; i++) {
        free(comparison->slot[i].label);
        free(comparison->slot[i].block);
    }
    for (size_t i = 0; i < comparison->runs; i++)
        json_decref(comparison->run[i].results);
    for (size_t i = 0; i < comparison->sessions; i++)
        free(comparison->session[i].name);
    free(comparison->slot);
    free(comparison->run);
    free(comparison->scratch);
    free(comparison->order);
    free(comparison->session);
}

int gt_comparison_open(struct gt_comparison *comparison, const struct gt_compare_options *options,
                       struct gt_error *error)
{
    *comparison = (struct gt_comparison){.options = options};
    int status = choose_statistic(comparison, error);
    if (status == 0)
        status = load(comparison, error);
    return status == 0 ? match_blocks(comparison, error) : status;
}

/* ---- lines of the summary ---- */

enum { KEYS = 4 };

/* A figure stands in results of the run and of a block under these keys, and rules name it there. */
static const struct measure {
    const char *title, *unit, *unit_key; /* `unit_key` names in "static_data" what people see bytes in */
    bool is_original;                    /* of memory: in that unit in results, too */
    const char *run[KEYS], *run_name;
    const char *block[KEYS], *block_name;
} measures[] = {
/* A statistic of a column of samples. */
#define COLUMN(name, statistic) \
    {"overall", name, statistic}, name "." statistic, {"resource_usage", name, statistic}, name "." statistic
#define COUNTER(name) \
    {"overall_counters", name, "total"}, "counters." name, {"counters", name, "total"}, "counters." name
    {"Time", "seconds", NULL, false, {"duration"}, "duration", {"compute_time", "total"}, "compute_time.total"},
    {"CPU time", "seconds", NULL, false, COUNTER("combined_cpu_time")},
    {"Mean CPU", "percent", NULL, false, COLUMN("cpu_combined_sum_utilization_percent", "mean")},
    {"Peak RAM", "bytes", "ram_unit", false, {"peaks", "combined_ram_peak"}, "combined_ram_peak", {NULL}, NULL},
    /* what samples saw: for the whole job only where a session has no peak */
    {"Max RAM", "bytes", "ram_unit", true, COLUMN("combined_ram", "max")},
    {"Max GPU RAM", "bytes", "gpu_ram_unit", true, COLUMN("combined_gpu_ram", "max")},
    {"Mean GPU", "percent", NULL, false, COLUMN("gpu_sum_utilization_percent", "mean")},
    {"Energy", "joules", NULL, false, {"energy", "job"}, "energy.total", {"energy", "total", "energy"}, "energy.total"},
};

enum { MEASURES = sizeof measures / sizeof *measures, TIME = 0, CPU_TIME, MEAN_CPU, PEAK_RAM, MAX_RAM };

static struct gt_compare_line make_line(const struct gt_comparison *comparison, const struct measure *measure,
                                        const struct gt_slot *slot)
{
    double bytes;
    const char *display_unit = gt_compare_memory_unit(comparison, 0, measure->unit_key, &bytes);
    struct gt_compare_line line = {.slot = slot,
                                   .title = measure->title,
                                   .name = slot ? measure->block_name : measure->run_name,
                                   .unit = measure->unit,
                                   .display_unit = display_unit ? display_unit : measure->unit,
                                   .display_factor = 1 / bytes,
                                   .figure = {.slot = slot, .factor = measure->is_original ? bytes : 1}};
    memcpy(line.figure.keys, slot ? measure->block : measure->run, sizeof measure->run);
    return line;
}

/* Short runs have no sample of utilization, and all have their CPU time: the mean of a run is that over its length. */
static void choose_exact(struct gt_compare_line *line, const struct gt_comparison *comparison,
                         const struct measure *measure)
{
    struct gt_figure exact = {
        .keys = {"overall_counters", "combined_cpu_time", "total"}, .factor = 100, .is_rate = true};
    if (line->slot || measure != &measures[MEAN_CPU])
        return;
    for (size_t i = 0; i < comparison->runs; i++)
        if (isnan(gt_compare_run(comparison, &exact, i)))
            return;
    line->figure = exact;
}

static void choose_cpu_time(struct gt_compare_line *line, const struct gt_comparison *comparison,
                            const struct measure *measure)
{
    if (!line->slot || measure != &measures[CPU_TIME])
        return;
    line->figure = gt_compare_block_cpu_time(comparison, line->slot);
    line->is_estimated = cpu_time_is_estimated(comparison, &line->figure);
    if (strcmp(line->figure.keys[0], measure->block[0]) != 0)
        line->name = "cpu_time.total";
}

/* Results have 0.0 also for GPUs that are not there: a figure that is 0 in every session says nothing. */
static bool is_worth_a_line(const struct gt_comparison *comparison, const struct gt_figure *figure)
{
    for (size_t i = 0; figure->keys[0] && i < comparison->sessions; i++) {
        double value = gt_compare_value(comparison, figure, i);
        if (!isnan(value) && value != 0)
            return true;
    }
    return false;
}

static void choose(struct gt_compare_lines *lines, const struct gt_comparison *comparison,
                   const struct measure *measure, const struct gt_slot *slot)
{
    struct gt_compare_line line = make_line(comparison, measure, slot);
    choose_exact(&line, comparison, measure);
    choose_cpu_time(&line, comparison, measure);
    if (is_worth_a_line(comparison, &line.figure))
        lines->line[lines->count++] = line;
}

static bool is_known_to_all(const struct gt_comparison *comparison, const struct measure *measure)
{
    struct gt_compare_line line = make_line(comparison, measure, NULL);
    for (size_t i = 0; i < comparison->sessions; i++)
        if (isnan(gt_compare_value(comparison, &line.figure, i)))
            return false;
    return true;
}

/* ---- blocks, the longest first ---- */

struct rank {
    double time;
    const struct gt_slot *slot;
};

static int by_longest(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->time, x->time), GT_ORDER(x->slot, y->slot));
}

static struct rank *rank_slots(const struct gt_comparison *comparison)
{
    struct rank *rank = calloc(comparison->slots + 1, sizeof *rank);
    for (size_t i = 0; rank && i < comparison->slots; i++) {
        struct gt_compare_line time = make_line(comparison, &measures[TIME], &comparison->slot[i]);
        rank[i].slot = &comparison->slot[i];
        for (size_t j = 0; j < comparison->sessions; j++)
            rank[i].time = fmax(rank[i].time, gt_compare_value(comparison, &time.figure, j));
    }
    if (rank)
        qsort(rank, comparison->slots, sizeof *rank, by_longest);
    return rank;
}

static int choose_all(struct gt_compare_lines *lines, const struct gt_comparison *comparison)
{
    struct rank *rank = rank_slots(comparison);
    lines->line = calloc((comparison->slots + 1) * MEASURES, sizeof *lines->line);
    if (!rank || !lines->line) {
        free(rank);
        return -ENOMEM;
    }
    bool has_peaks = is_known_to_all(comparison, &measures[PEAK_RAM]);
    for (size_t i = 0; i < MEASURES; i++)
        if (i != (has_peaks ? MAX_RAM : PEAK_RAM))
            choose(lines, comparison, &measures[i], NULL);
    for (size_t i = 0; i < comparison->slots; i++)
        for (size_t j = 0; j < MEASURES; j++)
            choose(lines, comparison, &measures[j], rank[i].slot);
    free(rank);
    return 0;
}

/* ---- what differs ---- */

/* All lines of one session against the baseline are tested together. */
static int judge_session(struct gt_compare_lines *lines, const struct gt_comparison *comparison, size_t session)
{
    size_t first = comparison->session[0].runs, runs = first + comparison->session[session].runs;
    double *value = calloc(lines->count * runs + 1, sizeof *value), *p = calloc(lines->count + 1, sizeof *p);
    int status = value && p ? 0 : -ENOMEM;
    for (size_t i = 0; i < lines->count && status == 0; i++) {
        double *baseline = value + i * runs, *own = baseline + first;
        for (size_t run = 0; run < comparison->runs; run++)
            if (comparison->run[run].session == 0)
                *baseline++ = gt_compare_run(comparison, &lines->line[i].figure, run);
            else if (comparison->run[run].session == session)
                *own++ = gt_compare_run(comparison, &lines->line[i].figure, run);
    }
    if (status == 0)
        status = gt_permutation_test(value, lines->count, first, runs, p);
    for (size_t i = 0; i < lines->count && status == 0; i++)
        lines->line[i].session[session].p = p[i];
    free(value);
    free(p);
    return status;
}

int gt_compare_lines(struct gt_compare_lines *ret, const struct gt_comparison *comparison)
{
    *ret = (struct gt_compare_lines){0};
    int status = choose_all(ret, comparison);
    for (size_t i = 0; i < ret->count && status == 0; i++) {
        struct gt_compare_line *line = &ret->line[i];
        if (!(line->session = calloc(comparison->sessions, sizeof *line->session)))
            status = -ENOMEM;
        for (size_t session = 0; session < comparison->sessions && line->session; session++)
            line->session[session] = gt_compare_session(comparison, &line->figure, session);
    }
    for (size_t i = 1; i < comparison->sessions && status == 0; i++)
        status = judge_session(ret, comparison, i);
    if (status < 0)
        gt_compare_lines_release(ret);
    return status;
}

void gt_compare_lines_release(struct gt_compare_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->line[i].session);
    free(lines->line);
    *lines = (struct gt_compare_lines){0};
}

const char *gt_compare_verdict(const struct gt_compare_line *line, size_t session)
{
    const struct gt_compared *own = &line->session[session];
    if (!own->runs || !line->session[0].runs)
        return NULL;
    return isnan(own->p) ? "too few runs" : own->p <= 0.05 ? "yes" : "no";
}
