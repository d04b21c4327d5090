/* Reports of recordings, for those who see only the public header. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/blocks/blocks.h"
#include "analyse/usage/next_time.h"
#include "analyse/usage/usage.h"
#include "api/own.h"
#include "api/recorded.h"
#include "api/meter_join.h"
#include "sample/cost.h"
#include "schema/unit.h"
#include "store/type.h"

static int choose_unit(char *unit, size_t size, const char *wanted,
                       int (*check)(const char *, double *, struct gt_error *), struct gt_error *error)
{
    double factor;
    if (!wanted)
        return 0;
    int status = check(wanted, &factor, error);
    if (status >= 0) {
        strncpy(unit, wanted, size - 1);
        unit[size - 1] = '\0';
    }
    return status;
}

/* The file's facts, with what the caller wants otherwise. */
static int choose(struct gt_machine *machine, const struct gt_recording_options *options, struct gt_error *error)
{
    struct gt_cost cost = {options->carbon_intensity, options->carbon_file, options->price};
    int status = choose_unit(machine->ram_unit, sizeof machine->ram_unit, options->ram_unit, gt_unit_memory, error);
    if (status >= 0)
        status = choose_unit(machine->gpu_ram_unit, sizeof machine->gpu_ram_unit, options->gpu_ram_unit, gt_unit_memory,
                             error);
    if (status >= 0)
        status = choose_unit(machine->time_unit, sizeof machine->time_unit, options->time_unit, gt_unit_time, error);
    return status < 0 ? status : gt_cost_read(machine, &cost, error);
}

static int add_to_page(struct gt_report *report, const char *path, struct gt_error *error)
{
    struct gt_blocks_options blocks = {.size = sizeof blocks, .tracking_file = path, .skip_bad_rows = true};
    return gt_blocks_page(report, &blocks, error);
}

static int summarize(struct gt_summary *summary, struct gt_recording *recording, struct gt_meter_join *join,
                     struct gt_error *error)
{
    const struct gt_sample *sample;
    int status = gt_recording_detail(recording, true); /* for the table of GPUs */
    while (status >= 0 && (status = gt_recording_next(recording, &sample, error)) > 0) {
        sample = gt_meter_join_sample(join, sample);
        if (!sample || gt_summary_add(summary, sample) < 0)
            return gt_error_system(error, ENOMEM, "report");
    }
    return status;
}

int gt_recording_part(const char *path, size_t index, char *ret, size_t size)
{
    const struct gt_store_type *type = gt_store_type_of(path, NULL);
    const char *suffix = type && type->has_detail_files ? gt_store_part(index) : NULL;
    return suffix ? gt_store_path_beside(ret, size, path, suffix) : -ENOENT;
}

static int use_outcome(struct gt_recording *recording, struct gt_summary *summary, struct gt_meter_join *join,
                       const struct gt_recording_options *own, const char *path, const struct gt_recorded_use *use,
                       struct gt_error *error)
{
    struct gt_machine machine = *gt_recording_machine(recording);
    struct gt_outcome outcome;
    const struct gt_outcome *recorded = gt_recording_outcome(recording);
    if (recorded)
        outcome = *recorded;
    else
        gt_summary_outcome(summary, &outcome);
    outcome.lives = *gt_recording_lives(recording);
    struct gt_provenance *provenance = outcome.provenance;
    int status = choose(&machine, own, error);
    if (status >= 0 && join->meter)
        status = gt_meter_join_outcome(join, summary->last_real_ns, &outcome, error);
    struct gt_usage_sources sources = {&machine, summary, &outcome, path};
    if (status >= 0)
        status = use->of(&sources, use->context, error);
    if (outcome.provenance != provenance)
        free(outcome.provenance);
    return status;
}

int gt_recorded_use(const char *path, const struct gt_recording_options *options, const struct gt_recorded_use *use,
                    struct gt_error *error)
{
    GT_OWN(struct gt_recording_options, own, options);
    struct gt_recording *recording = NULL;
    struct gt_summary *summary = malloc(sizeof *summary);
    if (!summary)
        return gt_error_system(error, ENOMEM, "%s", path);
    struct gt_meter_join join = {0};
    gt_summary_init(summary);
    if (own.page && !(summary->course = gt_whole_course_new())) {
        free(summary);
        return gt_error_system(error, ENOMEM, "%s", path);
    }
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        status = gt_meter_join_open(&join, own.power_meter, gt_recording_machine(recording), error);
    if (status >= 0)
        status = summarize(summary, recording, &join, error);
    if (status >= 0)
        status = use_outcome(recording, summary, &join, &own, path, use, error);
    gt_meter_join_close(&join);
    gt_recording_close(recording);
    gt_summary_release(summary);
    free(summary);
    return status;
}

static int report_of(const struct gt_usage_sources *sources, void *ret, struct gt_error *error)
{
    return gt_usage_report(ret, sources, error);
}

int gt_recording_report(const char *path, const struct gt_recording_options *options, struct gt_report **ret,
                        struct gt_error *error)
{
    GT_OWN(struct gt_recording_options, own, options);
    int status = gt_recorded_use(path, options, &(struct gt_recorded_use){report_of, ret}, error);
    if (status >= 0 && own.page && (status = add_to_page(*ret, path, error)) < 0) {
        gt_report_free(*ret);
        *ret = NULL;
    }
    return status;
}

/* ---- What to ask for next time ----------------------------------------------------------------------------------- */

static int add_run(const struct gt_usage_sources *sources, void *next, struct gt_error *error)
{
    (void)error;
    gt_next_time_add(next, &(struct gt_usage){.machine = sources->machine,
                                              .summary = sources->summary,
                                              .outcome = sources->outcome,
                                              .recording = sources->recording});
    return 0;
}

const char *gt_request_kind(size_t index)
{
    size_t count = 0;
    while (gt_request_kinds[count])
        count++;
    return index < count ? gt_request_kinds[index] : NULL;
}

int gt_recording_request(const char *const paths[], size_t count, const char *kind, char **ret, char **doubt,
                         struct gt_error *error)
{
    struct gt_next_time next;
    struct gt_buffer request = {0}, sentence = {0};
    int status = 0;
    gt_next_time_init(&next);
    for (size_t i = 0; i < count && status >= 0; i++)
        status = gt_recorded_use(paths[i], NULL, &(struct gt_recorded_use){add_run, &next}, error);
    if (status < 0)
        return status;
    status = gt_next_time_request(&request, &next, kind);
    gt_next_time_doubt(&sentence, &next);
    if (status < 0)
        gt_error_set(error, EINVAL, "\"%s\" is no kind of request", kind);
    else if (request.failed || sentence.failed)
        status = gt_error_system(error, ENOMEM, "request");
    if (status < 0) {
        gt_buffer_release(&request);
        gt_buffer_release(&sentence);
        return status == -ENOENT ? -EINVAL : status;
    }
    *ret = request.data;
    *doubt = sentence.data;
    return 0;
}
