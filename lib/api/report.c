/* Reports of recordings, code blocks, parallel jobs and traces, for the public headers. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/blocks/blocks.h"
#include "analyse/compare/compare.h"
#include "analyse/export/export.h"
#include "analyse/merge/merge.h"
#include "analyse/trace/analysis.h"
#include "analyse/usage/scaling.h"
#include "analyse/usage/usage.h"
#include "analyse/usage/usage_rule.h"
#include "api/program.h"
#include "api/python.h"
#include "api/tracker.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/number.h"
#include "base/utf8.h"
#include "blocks/block_event.h"
#include "blocks/distribution.h"
#include "collect/energy/meter.h"
#include "gpu_tracker.h"
#include "report/brief.h"
#include "report/format.h"
#include "report/page/picture.h"
#include "sample/cost.h"
#include "sample/machine.h"
#include "sample/outcome.h"
#include "sample/sample.h"
#include "schema/unit.h"
#include "store/address.h"
#include "store/store.h"
#include "store/type.h"
#include "trace/input/walk.h"

/* The code blocks of a recording, for its page. */
struct page_blocks {
    bool is_there;
    struct gt_blocks_options options;
    struct gt_block_analysis analysis;
};

struct recorded_use {
    int (*of)(const struct gt_usage *usage, void *context, struct gt_error *error);
    void *context;
    struct page_blocks *blocks; /* analysed in the same pass; NULL: none */
};

/* A recording joined with the file of an external power meter that ran beside it. */

struct gt_meter_join {
    struct gt_meter *meter; /* NULL: nothing is joined */
    const char *name;
    int64_t begin_ns;
    struct gt_row *row;
    size_t capacity;
    struct gt_sample sample;
};

char *gt_text_show(const char *text)
{
    struct gt_buffer out = {0};
    char *ret = NULL;
    gt_buffer_text(&out, "");
    gt_buffer_give(&out, gt_utf8_show(&out, text), &ret, NULL);
    return ret;
}

int gt_report_note(struct gt_report *report, const char *title, const char *text)
{
    struct gt_node *brief = (struct gt_node *)gt_brief_of(gt_report_root(report));
    if (!brief)
        return 0;
    gt_brief_line(brief, &(struct gt_brief_line){.title = title, .words = text});
    return gt_report_failed(report) ? gt_error_system(NULL, ENOMEM, "summary") : 1;
}

int gt_format_info(size_t index, const char **name, const char **suffix, const char **help)
{
    if (index >= gt_format_count)
        return -ENOENT;
    *name = gt_formats[index]->name;
    *suffix = gt_formats[index]->suffix;
    *help = gt_formats[index]->help;
    return 0;
}

int gt_report_render(const struct gt_report *report, const char *format, char **ret, size_t *length,
                     struct gt_error *error)
{
    struct gt_buffer text = {0};
    int status = gt_report_write(report, format, &text, error);
    return gt_buffer_give(&text, status, ret, length);
}

int gt_report_picture(const struct gt_report *report, const char *charts, const char *kind, char **ret, size_t *length,
                      struct gt_error *error)
{
    struct gt_buffer picture = {0};
    int status = gt_picture_write(report, charts, kind, &picture, error);
    return gt_buffer_give(&picture, status, ret, length);
}

/* Returns the sample with power and energy at the wall, borrowed until the next call; NULL without memory. */
static const struct gt_sample *meter_join_sample(struct gt_meter_join *join, const struct gt_sample *sample)
{
    if (!join->meter || !sample->row_count)
        return sample;
    if (GT_GROW_TO(join->row, join->capacity, sample->row_count) < 0)
        return NULL;
    if (join->begin_ns <= 0 || join->begin_ns > sample->real_ns)
        join->begin_ns = sample->real_ns; /* the recording does not tell when it began */
    memcpy(join->row, sample->row, sample->row_count * sizeof *join->row);
    join->row[GT_SCOPE_SYSTEM].value[GT_WALL_POWER] = gt_meter_watts(join->meter, sample->real_ns);
    join->row[GT_SCOPE_SYSTEM].value[GT_WALL_ENERGY] = gt_meter_joules(join->meter, join->begin_ns, sample->real_ns);
    join->sample = *sample;
    join->sample.row = join->row;
    join->sample.energy.wall = join->row[GT_SCOPE_SYSTEM].value[GT_WALL_ENERGY];
    return &join->sample;
}

/* Replace the recording's own provenance of these figures. */
static int tell_source(const struct gt_meter_join *join, struct gt_outcome *outcome)
{
    static const enum gt_metric_id metrics[] = {GT_WALL_POWER, GT_WALL_ENERGY};
    enum { METRICS = sizeof metrics / sizeof *metrics };
    struct gt_provenance *all = calloc(outcome->provenance_count + METRICS, sizeof *all);
    size_t count = 0;
    if (!all)
        return -ENOMEM;
    for (size_t i = 0; i < outcome->provenance_count; i++)
        if (outcome->provenance[i].metric != GT_WALL_POWER && outcome->provenance[i].metric != GT_WALL_ENERGY)
            all[count++] = outcome->provenance[i];
    for (size_t i = 0; i < METRICS; i++) {
        struct gt_provenance *entry = &all[count++];
        *entry = (struct gt_provenance){.scope = GT_SCOPE_SYSTEM, .metric = metrics[i], .exactness = GT_SAMPLED};
        snprintf(entry->source, sizeof entry->source, "external power meter, %.100s", join->name);
        snprintf(entry->note, sizeof entry->note, "joined afterwards; a line every %.3g s, lines left out: %llu",
                 gt_meter_period(join->meter), (unsigned long long)gt_meter_left_out(join->meter));
    }
    outcome->provenance = all;
    outcome->provenance_count = count;
    return 0;
}

/* Do the same to the outcome of the run, whose last sample is of `last_ns`. Its provenance is replaced by
 * one that the caller frees. -EINVAL: the meter has no lines of the time of the run. */
static int meter_join_outcome(const struct gt_meter_join *join, int64_t last_ns, struct gt_outcome *outcome,
                              struct gt_error *error)
{
    int64_t end_ns = last_ns;
    if (outcome->complete && !isnan(outcome->elapsed))
        end_ns = join->begin_ns + (int64_t)(outcome->elapsed * 1e9);
    double joules = gt_meter_joules(join->meter, join->begin_ns, end_ns);
    if (isnan(joules))
        return gt_error_set(error, EINVAL, "power meter %s: it has no lines of the time of the recording", join->name);
    outcome->value[GT_SCOPE_SYSTEM][GT_WALL_ENERGY] = joules;
    return tell_source(join, outcome) < 0 ? gt_error_system(error, ENOMEM, "power meter") : 0;
}

static int choose_unit(char *unit, size_t size, const char *wanted,
                       int (*check)(const char *, double *, struct gt_error *), struct gt_error *error)
{
    double factor;
    if (!wanted)
        return 0;
    int status = check(wanted, &factor, error);
    if (status >= 0) {
        strncpy(unit, gt_unit_full_name(wanted), size - 1);
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

/* A job that runs may not have marked any yet. */
static int begin_blocks(struct page_blocks *blocks, struct gt_recording *recording, const char *path,
                        struct gt_error *error)
{
    char collected[PATH_MAX];
    struct gt_error bad = {0};
    if (!blocks || gt_block_event_collected(collected, sizeof collected, path) < 0)
        return 0;
    blocks->options = (struct gt_blocks_options){
        .size = sizeof blocks->options, .tracking_file = path, .skip_bad_rows = true};
    int status = gt_block_analysis_begin(&blocks->analysis, &blocks->options, recording, true, &bad);
    blocks->is_there = status >= 0;
    if (status < 0)
        gt_block_analysis_close(&blocks->analysis);
    return status < 0 && status != -ENOENT ? gt_error_copy(error, &bad) : 0;
}

static int summarize(struct gt_summary *summary, struct gt_recording *recording, struct gt_meter_join *join,
                     struct page_blocks *blocks, struct gt_error *error)
{
    const struct gt_sample *sample;
    bool has_blocks = blocks && blocks->is_there;
    int status = gt_recording_detail(recording, true); /* for the table of GPUs */
    while (status >= 0 && (status = gt_recording_next(recording, &sample, error)) > 0) {
        if (has_blocks)
            status = gt_block_analysis_add(&blocks->analysis, sample, error);
        sample = meter_join_sample(join, sample);
        if (!sample || gt_summary_add(summary, sample) < 0)
            return gt_error_system(error, ENOMEM, "report");
    }
    return status >= 0 && has_blocks ? gt_block_analysis_end(&blocks->analysis, error) : status;
}

int gt_recording_part(const char *path, size_t index, char *ret, size_t size)
{
    const struct gt_store_type *type = gt_store_type_of(path, NULL);
    const char *suffix = type && !type->is_database ? gt_store_part(index) : NULL;
    return suffix ? gt_store_path_beside(ret, size, path, suffix) : -ENOENT;
}

static int use_outcome(struct gt_recording *recording, struct gt_summary *summary, struct gt_meter_join *join,
                       const struct gt_recording_options *own, const char *path, const struct recorded_use *use,
                       struct gt_error *error)
{
    struct gt_machine machine = *gt_recording_machine(recording);
    struct gt_outcome outcome;
    const struct gt_outcome *recorded = gt_recording_outcome(recording);
    if (recorded)
        outcome = *recorded;
    else
        gt_summary_outcome(summary, &outcome);
    outcome.records = *gt_recording_process_records(recording);
    struct gt_provenance *provenance = outcome.provenance;
    int status = choose(&machine, own, error);
    if (status >= 0 && join->meter)
        status = meter_join_outcome(join, summary->last_real_ns, &outcome, error);
    struct gt_usage usage = {.machine = &machine, .summary = summary, .outcome = &outcome, .recording = path};
    if (status >= 0)
        status = use->of(&usage, use->context, error);
    if (outcome.provenance != provenance)
        free(outcome.provenance);
    return status;
}

/* Read the recording and hand it on; what was read is borrowed for the call. `options` may be NULL. */
static int recorded_use(const char *path, const struct gt_recording_options *options, const struct recorded_use *use,
                        struct gt_error *error)
{
    GT_OWN(struct gt_recording_options, own, options);
    struct gt_recording *recording = NULL;
    struct gt_summary *summary = malloc(sizeof *summary);
    if (!summary)
        return gt_error_system(error, ENOMEM, "%s", path);
    struct gt_meter_join join = {0};
    gt_summary_init(summary);
    summary->course.is_fine = own.page;
    int status = gt_recording_open(&recording, path, error);
    if (status >= 0)
        join = (struct gt_meter_join){.name = own.power_meter,
                                      .begin_ns = gt_recording_machine(recording)->start_real_ns};
    if (status >= 0 && own.power_meter)
        status = gt_meter_open(&join.meter, own.power_meter, error);
    if (status >= 0)
        status = begin_blocks(use->blocks, recording, path, error);
    if (status >= 0)
        status = summarize(summary, recording, &join, use->blocks, error);
    if (status >= 0)
        status = use_outcome(recording, summary, &join, &own, path, use, error);
    gt_meter_close(join.meter);
    free(join.row);
    if (use->blocks && use->blocks->is_there)
        gt_block_analysis_close(&use->blocks->analysis);
    gt_recording_close(recording);
    gt_summary_release(summary);
    free(summary);
    return status;
}

struct built {
    struct gt_report *report;
    struct page_blocks blocks;
};

static int report_of(const struct gt_usage *usage, void *context, struct gt_error *error)
{
    struct built *built = context;
    int status = gt_usage_report(&built->report, usage, error);
    if (status >= 0 && built->blocks.is_there)
        status = gt_blocks_page_add(built->report, &built->blocks.analysis, error);
    return status;
}

int gt_recording_report(const char *path, const struct gt_recording_options *options, struct gt_report **ret,
                        struct gt_error *error)
{
    GT_OWN(struct gt_recording_options, own, options);
    struct built built = {0};
    struct recorded_use use = {report_of, &built, own.page ? &built.blocks : NULL};
    int status = recorded_use(path, options, &use, error);
    if (status < 0)
        gt_report_free(built.report);
    else
        *ret = built.report;
    return status;
}

/* ---- What to ask for next time ----------------------------------------------------------------------------------- */

struct runs {
    struct gt_next_time next;
    char scheduler[16]; /* of the last run that has one */
};

static int add_run(const struct gt_usage *usage, void *context, struct gt_error *error)
{
    struct runs *runs = context;
    (void)error;
    if (*usage->machine->scheduler)
        memcpy(runs->scheduler, usage->machine->scheduler, sizeof runs->scheduler);
    gt_next_time_add(&runs->next, usage);
    return 0;
}

int gt_recording_is_at(const char *path)
{
    struct gt_recording *recording = NULL;
    struct gt_block_event_reader *blocks = NULL;
    struct stat facts;
    bool may_be = stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
    bool is_one = may_be &&
                  (gt_recording_open(&recording, path, NULL) >= 0 || gt_block_event_open(&blocks, path, NULL) >= 0);
    gt_recording_close(recording);
    gt_block_event_close(blocks);
    return is_one;
}

int gt_recording_request(const char *const paths[], size_t count, const char *kind, char **ret, char **doubt,
                         struct gt_error *error)
{
    struct runs runs = {0};
    struct gt_buffer request = {0}, sentence = {0};
    int status = 0;
    gt_next_time_init(&runs.next);
    for (size_t i = 0; i < count && status >= 0; i++)
        status = recorded_use(paths[i], NULL, &(struct recorded_use){.of = add_run, .context = &runs}, error);
    if (status < 0)
        return status;
    if (!strcmp(kind, "auto") && !*runs.scheduler)
        return gt_error_set(error, EINVAL, "%s has no scheduler: choose slurm, k8s, pbs, lsf or docker", paths[0]);
    status = gt_next_time_request(&request, &runs.next, strcmp(kind, "auto") ? kind : runs.scheduler);
    gt_next_time_doubt(&sentence, &runs.next);
    if (status < 0)
        gt_error_set(error, EINVAL, "\"%s\" is not a kind of request", kind);
    else if (request.failed || sentence.failed)
        status = gt_error_system(error, ENOMEM, "request");
    gt_buffer_give(&request, status, ret, NULL);
    gt_buffer_give(&sentence, status, doubt, NULL);
    return status == -ENOENT ? -EINVAL : status;
}

int gt_blocks_analyze(const struct gt_blocks_options *options, struct gt_report **ret, struct gt_error *error)
{
    GT_OWN(struct gt_blocks_options, own, options);
    return gt_blocks_report(ret, &own, own.blocks_optional, error);
}

int gt_blocks_compare(const struct gt_compare_options *options, struct gt_report **ret, struct gt_error *error)
{
    GT_OWN(struct gt_compare_options, own, options);
    return gt_compare_report(ret, &own, error);
}

int gt_blocks_combine(const char *path, const char *const *files, int skip_bad_rows, int overwrite,
                      struct gt_error *error)
{
    struct gt_block_event_list list = {.skip_bad = skip_bad_rows};
    int status = gt_block_event_list_check(path, overwrite, error);
    for (; status == 0 && *files; files++)
        status = gt_block_event_list_add(&list, *files, error);
    if (status == 0)
        status = gt_block_event_list_save(&list, path, overwrite, error);
    gt_block_event_list_release(&list);
    return status;
}

/* ---- Rules ---- */

/* Rules for runs, for those who see only the public header. */

int gt_rules_check(const char *const *rules, struct gt_error *error)
{
    struct gt_usage_rule rule;
    int status = 0;
    for (; rules && *rules && status >= 0; rules++)
        status = gt_usage_rule_read(&rule, *rules, error);
    return status;
}

struct judge {
    const char *const *rules;
    void (*warn)(void *context, const char *sentence);
    void *context;
};

/* Returns how many rules are broken. */
static int judge(const struct judge *judge, const struct gt_usage *usage, struct gt_error *error)
{
    struct gt_usage_rule rule;
    char sentence[300];
    int broken = 0;
    for (const char *const *text = judge->rules; text && *text; text++) {
        int status = gt_usage_rule_read(&rule, *text, error);
        if (status < 0)
            return status;
        if (!gt_usage_rule_is_broken(&rule, usage, sentence, sizeof sentence))
            continue;
        broken++;
        gt_warn(judge->warn, judge->context, "%s", sentence);
    }
    return broken;
}

int gt_tracker_judge(const struct gt_tracker *tracker, const char *const *rules,
                     void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error)
{
    const struct gt_recorder *recorder = &tracker->recorder;
    const struct gt_usage usage = {
        .machine = &recorder->machine, .summary = &recorder->summary, .outcome = &recorder->outcome};
    return judge(&(struct judge){rules, warn, context}, &usage, error);
}

static int judge_recorded(const struct gt_usage *usage, void *context, struct gt_error *error)
{
    return judge(context, usage, error);
}

int gt_recording_judge(const char *path, const char *const *rules, void (*warn)(void *context, const char *sentence),
                       void *context, struct gt_error *error)
{
    struct judge rules_of = {rules, warn, context};
    return recorded_use(path, NULL, &(struct recorded_use){.of = judge_recorded, .context = &rules_of}, error);
}

/* ---- Scaling ---- */

struct scaled_run {
    struct gt_scaling_report *report;
    const char *path;
};

static int add_scaled_run(const struct gt_usage *usage, void *context, struct gt_error *error)
{
    const struct scaled_run *run = context;
    return gt_scaling_report_add(run->report, run->path, usage, error);
}

int gt_recording_scaling(const char *const paths[], size_t count, const char *variable, double size,
                         struct gt_report **ret, struct gt_error *error)
{
    struct gt_scaling_report *report;
    int status = gt_scaling_report_open(&report, variable, count, error);
    if (status < 0)
        return status;
    for (size_t i = 0; i < count && status >= 0; i++)
        status = recorded_use(
            paths[i], NULL,
            &(struct recorded_use){.of = add_scaled_run, .context = &(struct scaled_run){report, paths[i]}}, error);
    if (status >= 0)
        status = gt_scaling_report_finish(report, size, ret, error);
    gt_scaling_report_close(report);
    return status;
}

static int open_source(struct gt_job_source *ret, const char *name, const struct gt_job_server_options *server,
                       struct gt_error *error)
{
    if (gt_is_address(name))
        return gt_job_server_open(ret, name, server, error);
    if (server->explain)
        return gt_error_set(error, EINVAL, "%s is not a job on a server: it has no SQL statements", name);
    return gt_job_folder_open(ret, name, error);
}

/* To most callers what is not there yet is what was wrongly named. */
static int final_status(int status)
{
    return status == -ENODATA ? -EINVAL : status;
}

/* A job is read for the call of `use`. */
struct reading {
    int (*read)(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error);
    int (*use)(const struct gt_job *job, const void *context, struct gt_error *error);
    const void *context;
};

static int read_job(const char *name, const struct gt_job_server_options *server, const struct reading *reading,
                    struct gt_error *error)
{
    static const struct gt_job_server_options none = {0};
    struct gt_job_source source;
    struct gt_job job;
    int status = open_source(&source, name, server ? server : &none, error);
    if (status < 0)
        return status;
    status = reading->read(&job, &source, error);
    if (status >= 0) {
        status = reading->use(&job, reading->context, error);
        gt_job_release(&job);
    }
    source.close(source.state);
    return status;
}

struct view {
    struct gt_report **ret;
    const struct gt_job_report_options *options;
};

static int view(const struct gt_job *job, const void *context, struct gt_error *error)
{
    const struct view *view = context;
    int status = gt_job_report(view->ret, job, view->options, error);
    return status ? status : gt_job_goes_on(job, gt_seconds(gt_clock_real(&gt_clock_system)));
}

int gt_folder_view(const char *name, const struct gt_job_server_options *server,
                   const struct gt_job_report_options *options, struct gt_report **ret, struct gt_error *error)
{
    return read_job(name, server, &(struct reading){gt_job_read, view, &(struct view){ret, options}}, error);
}

int gt_folder_report(const char *folder, struct gt_report **ret, struct gt_error *error)
{
    int status = gt_folder_view(folder, NULL, NULL, ret, error);
    return status < 0 ? final_status(status) : 0;
}

int gt_folder_recordings(const char *folder, int (*use)(void *context, const char *path, struct gt_error *error),
                         void *context, struct gt_error *error)
{
    return gt_job_each_file(folder, use, context, error);
}

struct folder_runs {
    int (*use)(void *context, const char *path, const char *trouble);
    void *context;
};

static int use_runs(const struct gt_job *job, const void *context, struct gt_error *error)
{
    const struct folder_runs *runs = context;
    int status = 0;
    (void)error;
    for (size_t i = 0; i < job->left_out_count && status >= 0; i++)
        status = runs->use(runs->context, job->left_out[i].path, job->left_out[i].why);
    for (size_t i = 0; i < job->count && status >= 0; i++)
        status = runs->use(runs->context, job->rank[i].path, NULL);
    return status;
}

int gt_folder_runs(const char *folder, int (*use)(void *context, const char *path, const char *trouble), void *context,
                   struct gt_error *error)
{
    const struct reading reading = {gt_job_read_runs, use_runs, &(struct folder_runs){use, context}};
    return final_status(read_job(folder, NULL, &reading, error));
}

struct analysis {
    const struct gt_job_analysis *analysis;
    const struct gt_job_options *options;
    struct gt_report **ret;
};

static int analyse(const struct gt_job *job, const void *context, struct gt_error *error)
{
    const struct analysis *analysis = context;
    return gt_job_analyse(analysis->ret, analysis->analysis, job, analysis->options, error);
}

int gt_folder_analyse(const struct gt_job_analysis *analysis, const char *name,
                      const struct gt_job_server_options *server, const struct gt_job_options *options,
                      struct gt_report **ret, struct gt_error *error)
{
    const struct reading reading = {gt_job_read_ranks, analyse, &(struct analysis){analysis, options, ret}};
    return final_status(read_job(name, server, &reading, error));
}

struct request {
    const char *kind;
    struct gt_buffer *text, *doubt;
};

static int request_of(const struct gt_job *job, const void *context, struct gt_error *error)
{
    const struct request *request = context;
    struct gt_next_time next;
    const char *kind = strcmp(request->kind, "auto") ? request->kind : job->rank[0].machine.scheduler;
    if (!*kind)
        return gt_error_set(error, EINVAL, "%s has no scheduler: choose slurm, k8s, pbs, lsf or docker",
                            job->source->name);
    if (gt_job_request(request->text, job, kind) < 0)
        return gt_error_set(error, EINVAL, "\"%s\" is not a kind of request", request->kind);
    gt_job_next_time(&next, job, kind);
    gt_next_time_doubt(request->doubt, &next);
    return request->text->failed || request->doubt->failed ? gt_error_system(error, ENOMEM, "request") : 0;
}

int gt_folder_request(const char *name, const char *kind, const struct gt_job_server_options *server, char **ret,
                      char **doubt, struct gt_error *error)
{
    struct gt_buffer text = {0}, sentence = {0};
    const struct reading reading = {gt_job_read, request_of, &(struct request){kind, &text, &sentence}};
    int status = read_job(name, server, &reading, error);
    gt_buffer_give(&text, status, ret, NULL);
    gt_buffer_give(&sentence, status, doubt, NULL);
    return final_status(status);
}

/* ---- a caller's request as the readers' options ---- */

static int read_step(const char *name, const char *text, int32_t *ret, struct gt_error *error)
{
    int64_t number;
    if (gt_number_i64(text, &number) < 0 || number < -1 || number > INT32_MAX)
        return gt_error_set(error, EINVAL, "%s: \"%s\" is not a step number", name, text);
    *ret = (int32_t)number;
    return 0;
}

static int read_time(const char *name, const char *text, bool *from_first, int64_t *ret, struct gt_error *error)
{
    *from_first = *text == '+';
    const char *digits = text + *from_first;
    if (*digits == '+' || *digits == '"' ||
        gt_span_decimal((struct gt_span){digits, strlen(digits)}, *from_first ? 9 : 3, ret) < 0)
        return gt_error_set(error, EINVAL,
                            "%s: \"%s\" is neither microseconds since the epoch nor +SECONDS after the begin", name,
                            text);
    return 0;
}

static int read_times(const struct gt_trace_request *request, struct gt_trace_options *ret, struct gt_error *error)
{
    bool start_from_first = false, end_from_first = false;
    int status = 0;
    if (request->start)
        status = read_time("start", request->start, &start_from_first, &ret->start, error);
    if (status >= 0 && request->end)
        status = read_time("end", request->end, &end_from_first, &ret->end, error);
    if (status >= 0 && request->start && request->end && start_from_first != end_from_first)
        return gt_error_set(error, EINVAL,
                            "start and end: both count from the epoch, or both from the begin (+SECONDS)");
    if (status >= 0 && ret->start > ret->end)
        return gt_error_set(error, EINVAL, "start and end: %s is behind %s", request->start, request->end);
    ret->from_first = start_from_first || end_from_first;
    return status;
}

static int read_steps(const struct gt_trace_request *request, struct gt_trace_options *ret, struct gt_error *error)
{
    ret->by_step = request->start || request->end;
    ret->start_step = -1;
    ret->end_step = INT32_MAX;
    int status = request->start ? read_step("start", request->start, &ret->start_step, error) : 0;
    if (status >= 0 && request->end)
        status = read_step("end", request->end, &ret->end_step, error);
    if (status >= 0 && ret->start_step > ret->end_step)
        return gt_error_set(error, EINVAL, "start and end: step %s is behind step %s", request->start, request->end);
    return status;
}

int gt_trace_request_read(const struct gt_trace_request *request, struct gt_trace_options *ret, struct gt_error *error)
{
    GT_OWN(struct gt_trace_request, own, request);
    *ret = GT_TRACE_OPTIONS;
    ret->select = own.select;
    ret->node = own.node;
    ret->suffixes = own.suffixes;
    ret->threads = own.threads;
    return own.by_step ? read_steps(&own, ret, error) : read_times(&own, ret, error);
}

/* ---- timelines ---- */

int gt_timeline_info(const char *const *paths, size_t count, const struct gt_trace_request *request,
                     struct gt_report **ret, struct gt_error *error)
{
    struct gt_trace_options options;
    int status = gt_trace_request_read(request, &options, error);
    return status < 0 ? status : gt_trace_info(ret, paths, count, &options, error);
}

int gt_timeline_merge(const char *const *paths, size_t count, const struct gt_trace_request *request,
                      const struct gt_merge_request *merge, struct gt_report **ret, struct gt_error *error)
{
    struct gt_merge_options options = {0};
    gt_own(&options.request, sizeof options.request, merge);
    double low_gpu = options.request.low_gpu;
    if (!(low_gpu >= 0 && low_gpu <= 100))
        return gt_error_set(error, EINVAL, "low_gpu: %g is not a percentage from 0 to 100", low_gpu);
    int status = gt_trace_request_read(request, &options.trace, error);
    return status < 0 ? status : gt_merge(ret, paths, count, &options, error);
}

int gt_timeline_export(const char *const *paths, size_t count, const struct gt_trace_request *request,
                       const struct gt_export_request *what, struct gt_report **ret, struct gt_error *error)
{
    struct gt_export_options options = {0};
    gt_own(&options.request, sizeof options.request, what);
    int status = gt_trace_request_read(request, &options.trace, error);
    return status < 0 ? status : gt_export(ret, paths, count, &options, error);
}

/* ---- profiles ---- */

int gt_analysis_info(size_t index, const char **name, const char **help)
{
    if (index >= gt_analysis_count)
        return -ENOENT;
    *name = gt_analyses[index]->name;
    *help = gt_analyses[index]->help;
    return 0;
}

int gt_profile_report(const char *name, const char *const *paths, size_t count, const struct gt_trace_request *request,
                      const struct gt_profile_options *options, struct gt_report **ret, struct gt_error *error)
{
    GT_OWN(struct gt_profile_options, own, options);
    struct gt_trace_options reading;
    int status = gt_trace_request_read(request, &reading, error);
    return status < 0 ? status : gt_analysis_of_files(name, paths, count, &reading, &own, ret, error);
}
