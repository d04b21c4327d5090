#include "analyse/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocks/distribution.h"
#include "analyse/compare/compare_parts.h"
#include "analyse/blocks/results.h"
#include "analyse/compare/welch.h"

void gt_compare_warn(const struct gt_comparison *comparison, const char *format, ...)
{
    char sentence[4096];
    va_list arguments;
    if (!comparison->options->warn)
        return;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    comparison->options->warn(comparison->options->context, sentence);
}

/* ---- figures ---- */

/* What is about GPUs in a run on a machine without one. */
static bool has_no_gpu(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run)
{
    static const char *const count[] = {"static_data", "system_gpu_count", NULL};
    bool is_of_gpus = figure->keys[1] && strstr(figure->keys[1], "gpu_");
    return is_of_gpus && gt_results_number(comparison->run[run], count) == 0;
}

/* What tells how much of the time a figure of energy covers. */
static struct gt_figure coverage_of(const struct gt_figure *figure)
{
    bool is_of_device = figure->keys[1] && figure->keys[2];
    if (figure->slot)
        return (struct gt_figure){.slot = figure->slot, .keys = {"energy", figure->keys[1], "energy_covered"}};
    if (!strcmp(figure->keys[0], "energy") && is_of_device)
        return (struct gt_figure){.keys = {"energy", figure->keys[1], "covered"}};
    return (struct gt_figure){.keys = {"energy", "covered"}};
}

static bool is_of_energy(const struct gt_figure *figure)
{
    bool is_of_job = !figure->slot && figure->keys[1] && strstr(figure->keys[1], "energy");
    return !strcmp(figure->keys[0], "energy") || is_of_job;
}

double gt_compare_covered(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run)
{
    if (!is_of_energy(figure))
        return 100;
    struct gt_figure coverage = coverage_of(figure);
    const struct gt_json_value *tree = figure->slot ? figure->slot->block[run] : comparison->run[run];
    double percent = tree ? gt_results_number(tree, coverage.keys) : NAN;
    return isnan(percent) ? 100 : percent;
}

double gt_compare_session_covered(const struct gt_comparison *comparison, const struct gt_figure *figure,
                                  size_t session)
{
    double least = 100;
    for (size_t i = 0; i < comparison->runs; i++)
        if (comparison->session_of_run[i] == session)
            least = fmin(least, gt_compare_covered(comparison, figure, i));
    return least;
}

double gt_compare_run(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t run)
{
    const struct gt_json_value *tree = figure->slot ? figure->slot->block[run] : comparison->run[run];
    double value = tree ? gt_results_number(tree, figure->keys) : NAN;
    if (value == 0 && !figure->as_original && has_no_gpu(comparison, figure, run))
        return NAN;
    if (!comparison->options->allow_partial && gt_compare_covered(comparison, figure, run) < 100)
        return NAN;
    return value * (figure->factor > 0 ? figure->factor : 1);
}

double gt_compare_value(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session,
                        size_t *ret_runs)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < comparison->runs; i++) {
        double value = comparison->session_of_run[i] == session ? gt_compare_run(comparison, figure, i) : NAN;
        if (isnan(value))
            continue;
        sum += value;
        count++;
    }
    if (ret_runs)
        *ret_runs = count;
    return count ? sum / (double)count : NAN;
}

size_t gt_compare_values(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t session,
                         double *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->runs; i++) {
        double value = comparison->session_of_run[i] == session ? gt_compare_run(comparison, figure, i) : NAN;
        if (!isnan(value))
            ret[count++] = value;
    }
    return count;
}

int gt_compare_interval(const struct gt_comparison *comparison, const struct gt_figure *figure, size_t baseline,
                        size_t session, double *ret_low, double *ret_high)
{
    double *value = calloc(2 * comparison->runs, sizeof *value);
    *ret_low = *ret_high = NAN;
    if (!value)
        return -ENOMEM;
    double *other = value + comparison->runs;
    size_t values = gt_compare_values(comparison, figure, baseline, value);
    size_t others = gt_compare_values(comparison, figure, session, other);
    gt_welch_interval(value, values, other, others, ret_low, ret_high);
    free(value);
    return 0;
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

static int load_run(struct gt_comparison *comparison, const char *mapping, struct gt_error *error)
{
    const struct gt_compare_options *options = comparison->options;
    size_t length = strcspn(mapping, "=");
    if (!length || !mapping[length] || !mapping[length + 1])
        return gt_error_set(error, EINVAL, "'%s' is not NAME=FILE", mapping);
    struct gt_json_value *tree = NULL;
    int status = gt_results_load(&tree, mapping + length + 1, options->warn, options->context, error);
    if (status < 0)
        return status;
    struct gt_session *session = session_named(comparison, mapping, length);
    if (!session) {
        gt_json_free(tree);
        return gt_error_system(error, ENOMEM, "%s", mapping);
    }
    session->runs++;
    comparison->session_of_run[comparison->runs] = (size_t)(session - comparison->session);
    comparison->run[comparison->runs++] = tree;
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
    comparison->session_of_run = calloc(count, sizeof *comparison->session_of_run);
    if (!comparison->session || !comparison->run || !comparison->session_of_run)
        return gt_error_system(error, ENOMEM, "sessions");
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = load_run(comparison, mapping[i], error);
    return status;
}

/* Figures of different units cannot be compared. */
static int check_units(const struct gt_comparison *comparison, struct gt_error *error)
{
    static const char *const keys[] = {"ram_unit", "gpu_ram_unit"};
    for (size_t i = 0; i < 2 * comparison->runs; i++) {
        const char *one = gt_json_text_of(
            gt_json_member(gt_json_member(comparison->run[0], "static_data"), keys[i % 2]));
        const char *other = gt_json_text_of(
            gt_json_member(gt_json_member(comparison->run[i / 2], "static_data"), keys[i % 2]));
        if (one && other && strcmp(one, other) != 0)
            return gt_error_set(error, EINVAL, "%s: session \"%s\" is in %s, session \"%s\" in %s", keys[i % 2],
                                comparison->session[comparison->session_of_run[0]].name, one,
                                comparison->session[comparison->session_of_run[i / 2]].name, other);
    }
    return 0;
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

static void release(struct gt_comparison *comparison)
{
    for (size_t i = 0; i < comparison->slots; i++) {
        free(comparison->slot[i].label);
        free(comparison->slot[i].block);
    }
    for (size_t i = 0; i < comparison->runs; i++)
        gt_json_free(comparison->run[i]);
    for (size_t i = 0; i < comparison->sessions; i++)
        free(comparison->session[i].name);
    free(comparison->slot);
    free(comparison->run);
    free(comparison->session_of_run);
    free(comparison->session);
}

int gt_compare_report(struct gt_report **ret, const struct gt_compare_options *options, struct gt_error *error)
{
    struct gt_comparison comparison = {.options = options};
    struct gt_report *report = NULL;
    int status = choose_statistic(&comparison, error);
    if (status == 0)
        status = load(&comparison, error);
    if (status == 0)
        status = check_units(&comparison, error);
    if (status == 0)
        status = gt_compare_match(&comparison, error);
    if (status == 0)
        status = gt_report_new(&report, "comparison_results", error);
    if (status >= 0 && (gt_compare_build(report, &comparison) < 0 || gt_report_failed(report)))
        status = gt_error_system(error, ENOMEM, "comparison");
    if (status >= 0)
        status = gt_compare_judge(&comparison, gt_report_root(report), error);
    release(&comparison);
    if (status < 0)
        gt_report_free(report);
    else
        *ret = report;
    return status;
}
