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
#include "base/os/clock.h"
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

/* A recording joined with the file of an external power meter that ran beside it. */

struct gt_meter_join {
    struct gt_meter *meter; /* NULL: nothing is joined */
    const char *name;
    int64_t begin_ns;
    struct gt_row *row;
    size_t capacity;
    struct gt_sample sample;
};

/* A recording that was read. */
struct recorded {
    struct gt_recording *recording;
    struct gt_summary summary;
    struct gt_meter_join join;
    struct gt_machine machine;
    struct gt_outcome outcome;
    struct gt_provenance *joined; /* provenance that replaces that of the recording, or NULL */
    struct page_blocks blocks;
    struct gt_usage usage; /* what was read */
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
    if (!report->root.brief)
        return 0;
    gt_brief_line(report->root.brief, title, NULL, NULL, "%s", text);
    return gt_report_failed(report) ? gt_error_system(NULL, ENOMEM, "summary") : 1;
}

void gt_report_broken_rule(void *report, const char *sentence)
{
    gt_brief_warning(gt_brief_of_report(report), NULL, NULL, "breaks a rule: %s", sentence);
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
static int tell_source(const struct gt_meter_join *join, struct gt_outcome *outcome, struct gt_provenance **ret)
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
    *ret = outcome->provenance = all;
    outcome->provenance_count = count;
    return 0;
}

/* Joins the outcome of the run with the meter. -EINVAL: the meter has no lines of the time of the run. */
static int meter_join_outcome(struct recorded *recorded, struct gt_error *error)
{
    const struct gt_meter_join *join = &recorded->join;
    struct gt_outcome *outcome = &recorded->outcome;
    int64_t end_ns = recorded->summary.last_real_ns;
    if (outcome->complete && !isnan(outcome->elapsed))
        end_ns = join->begin_ns + (int64_t)(outcome->elapsed * 1e9);
    double joules = gt_meter_joules(join->meter, join->begin_ns, end_ns);
    if (isnan(joules))
        return gt_error_set(error, EINVAL, "power meter %s: it has no lines of the time of the recording", join->name);
    outcome->value[GT_SCOPE_SYSTEM][GT_WALL_ENERGY] = joules;
    return tell_source(join, outcome, &recorded->joined) < 0 ? gt_error_system(error, ENOMEM, "power meter") : 0;
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
    if (gt_block_event_collected(collected, sizeof collected, path) < 0)
        return 0;
    blocks->options = (struct gt_blocks_options){
        .size = sizeof blocks->options, .tracking_file = path, .skip_bad_rows = true};
    int status = gt_block_analysis_begin(&blocks->analysis, &blocks->options, recording, true, &bad);
    blocks->is_there = status >= 0;
    if (status < 0)
        gt_block_analysis_close(&blocks->analysis);
    return status < 0 && status != -ENOENT ? gt_error_copy(error, &bad) : 0;
}

static int summarize(struct recorded *recorded, struct gt_error *error)
{
    const struct gt_sample *sample;
    struct page_blocks *blocks = &recorded->blocks;
    int status = gt_recording_detail(recorded->recording, true); /* for the table of GPUs */
    while (status >= 0 && (status = gt_recording_next(recorded->recording, &sample, error)) > 0) {
        if (blocks->is_there)
            status = gt_block_analysis_add(&blocks->analysis, sample, error);
        sample = meter_join_sample(&recorded->join, sample);
        if (!sample || gt_summary_add(&recorded->summary, sample) < 0)
            return gt_error_system(error, ENOMEM, "report");
    }
    return status >= 0 && blocks->is_there ? gt_block_analysis_end(&blocks->analysis, error) : status;
}

int gt_recording_part(const char *path, size_t index, char *ret, size_t size)
{
    const struct gt_store_type *type = gt_store_type_of(path, NULL);
    const char *suffix = type && !type->is_database ? gt_store_part(index) : NULL;
    return suffix ? gt_store_path_beside(ret, size, path, suffix) : -ENOENT;
}

static int find_outcome(struct recorded *recorded, const struct gt_recording_options *own, const char *path,
                        struct gt_error *error)
{
    const struct gt_outcome *known = gt_recording_outcome(recorded->recording);
    recorded->machine = *gt_recording_machine(recorded->recording);
    if (known)
        recorded->outcome = *known;
    else
        gt_summary_outcome(&recorded->summary, &recorded->outcome);
    recorded->outcome.records = *gt_recording_process_records(recorded->recording);
    recorded->usage = (struct gt_usage){
        .machine = &recorded->machine, .summary = &recorded->summary, .outcome = &recorded->outcome, .recording = path};
    int status = choose(&recorded->machine, own, error);
    return status >= 0 && recorded->join.meter ? meter_join_outcome(recorded, error) : status;
}

static void recorded_close(struct recorded *recorded)
{
    if (!recorded)
        return;
    gt_meter_close(recorded->join.meter);
    free(recorded->join.row);
    free(recorded->joined);
    if (recorded->blocks.is_there)
        gt_block_analysis_close(&recorded->blocks.analysis);
    gt_recording_close(recorded->recording);
    gt_summary_release(&recorded->summary);
    free(recorded);
}

/* Reads a recording, and its code blocks for a page. `options` may be NULL. */
static int recorded_open(struct recorded **ret, const char *path, const struct gt_recording_options *options,
                         struct gt_error *error)
{
    GT_OWN(struct gt_recording_options, own, options);
    struct recorded *recorded = calloc(1, sizeof *recorded);
    if (!recorded)
        return gt_error_system(error, ENOMEM, "%s", path);
    gt_summary_init(&recorded->summary);
    recorded->summary.course.is_fine = own.page;
    recorded->join.name = own.power_meter;
    int status = gt_recording_open(&recorded->recording, path, error);
    if (status >= 0)
        recorded->join.begin_ns = gt_recording_machine(recorded->recording)->start_real_ns;
    if (status >= 0 && own.power_meter)
        status = gt_meter_open(&recorded->join.meter, own.power_meter, error);
    if (status >= 0 && own.page)
        status = begin_blocks(&recorded->blocks, recorded->recording, path, error);
    if (status >= 0)
        status = summarize(recorded, error);
    if (status >= 0)
        status = find_outcome(recorded, &own, path, error);
    if (status < 0) {
        recorded_close(recorded);
        return status;
    }
    *ret = recorded;
    return 0;
}

int gt_recording_report(const char *path, const struct gt_recording_options *options, struct gt_report **ret,
                        struct gt_error *error)
{
    struct recorded *recorded = NULL;
    struct gt_report *report = NULL;
    int status = recorded_open(&recorded, path, options, error);
    if (status >= 0)
        status = gt_usage_report(&report, &recorded->usage, error);
    if (status >= 0 && recorded->blocks.is_there)
        status = gt_blocks_page_add(report, &recorded->blocks.analysis, error);
    recorded_close(recorded);
    if (status < 0)
        gt_report_free(report);
    else
        *ret = report;
    return status;
}

/* ---- What to ask for next time ----------------------------------------------------------------------------------- */

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

/* Returns the kind, or for "auto" that of the scheduler; NULL with an error that names `subject`. */
static const char *kind_of(const char *kind, const char *scheduler, const char *subject, struct gt_error *error)
{
    const char *ret = strcmp(kind, "auto") ? kind : scheduler;
    if (!*ret)
        gt_error_set(error, EINVAL, "%s has no scheduler: choose slurm, k8s, pbs, lsf or docker", subject);
    return *ret ? ret : NULL;
}

static int give_request(const struct gt_next_time *next, const char *kind, char **ret, char **doubt,
                        struct gt_error *error)
{
    struct gt_buffer request = {0}, sentence = {0};
    int status = gt_next_time_request(&request, next, kind);
    gt_next_time_doubt(&sentence, next);
    if (status < 0)
        status = gt_error_set(error, EINVAL, "\"%s\" is not a kind of request", kind);
    else if (request.failed || sentence.failed)
        status = gt_error_system(error, ENOMEM, "request");
    gt_buffer_give(&request, status, ret, NULL);
    gt_buffer_give(&sentence, status, doubt, NULL);
    return status;
}

int gt_recording_request(const char *const paths[], size_t count, const char *kind, char **ret, char **doubt,
                         struct gt_error *error)
{
    struct gt_next_time next;
    char scheduler[sizeof((struct gt_machine *)0)->scheduler] = ""; /* of the last run that has one */
    gt_next_time_init(&next);
    for (size_t i = 0; i < count; i++) {
        struct recorded *recorded;
        int status = recorded_open(&recorded, paths[i], NULL, error);
        if (status < 0)
            return status;
        if (*recorded->machine.scheduler)
            memcpy(scheduler, recorded->machine.scheduler, sizeof scheduler);
        gt_next_time_add(&next, &recorded->usage);
        recorded_close(recorded);
    }
    kind = kind_of(kind, scheduler, paths[0], error);
    return kind ? give_request(&next, kind, ret, doubt, error) : -EINVAL;
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

int gt_rules_check(const char *const *rules, struct gt_error *error)
{
    struct gt_usage_rule rule;
    int status = 0;
    for (; rules && *rules && status >= 0; rules++)
        status = gt_usage_rule_read(&rule, *rules, error);
    return status;
}

/* Returns how many rules are broken. */
static int judge(const struct gt_usage *usage, const char *const *rules,
                 void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error)
{
    struct gt_usage_rule rule;
    char sentence[300];
    int broken = 0;
    for (; rules && *rules; rules++) {
        int status = gt_usage_rule_read(&rule, *rules, error);
        if (status < 0)
            return status;
        if (!gt_usage_rule_is_broken(&rule, usage, sentence, sizeof sentence))
            continue;
        broken++;
        gt_warn(warn, context, "%s", sentence);
    }
    return broken;
}

int gt_tracker_judge(const struct gt_tracker *tracker, const char *const *rules,
                     void (*warn)(void *context, const char *sentence), void *context, struct gt_error *error)
{
    const struct gt_recorder *recorder = &tracker->recorder;
    const struct gt_usage usage = {
        .machine = &recorder->machine, .summary = &recorder->summary, .outcome = &recorder->outcome};
    return judge(&usage, rules, warn, context, error);
}

int gt_recording_judge(const char *path, const char *const *rules, void (*warn)(void *context, const char *sentence),
                       void *context, struct gt_error *error)
{
    struct recorded *recorded = NULL;
    int status = recorded_open(&recorded, path, NULL, error);
    if (status >= 0)
        status = judge(&recorded->usage, rules, warn, context, error);
    recorded_close(recorded);
    return status;
}

/* ---- Scaling ---- */

int gt_recording_scaling(const char *const paths[], size_t count, const char *variable, double size,
                         struct gt_report **ret, struct gt_error *error)
{
    struct gt_scaling_report *report;
    int status = gt_scaling_report_open(&report, variable, count, error);
    if (status < 0)
        return status;
    for (size_t i = 0; i < count && status >= 0; i++) {
        struct recorded *recorded = NULL;
        status = recorded_open(&recorded, paths[i], NULL, error);
        if (status >= 0)
            status = gt_scaling_report_add(report, paths[i], &recorded->usage, error);
        recorded_close(recorded);
    }
    if (status >= 0)
        status = gt_scaling_report_finish(report, size, ret, error);
    gt_scaling_report_close(report);
    return status;
}

/* To most callers what is not there yet is what was wrongly named. */
static int final_status(int status)
{
    return status == -ENODATA ? -EINVAL : status;
}

/* A job, and the source that it is read from. */
struct folder {
    struct gt_job_source source;
    struct gt_job job;
};

static int folder_open(struct folder *folder, const char *name, const struct gt_job_server_options *server,
                       int (*read)(struct gt_job *ret, const struct gt_job_source *source, struct gt_error *error),
                       struct gt_error *error)
{
    static const struct gt_job_server_options none = {0};
    bool is_address = gt_is_address(name);
    if (!is_address && server && server->explain)
        return gt_error_set(error, EINVAL, "%s is not a job on a server: it has no SQL statements", name);
    int status = is_address ? gt_job_server_open(&folder->source, name, server ? server : &none, error)
                            : gt_job_folder_open(&folder->source, name, error);
    if (status < 0)
        return status;
    status = read(&folder->job, &folder->source, error);
    if (status < 0)
        folder->source.close(folder->source.state);
    return status;
}

static void folder_close(struct folder *folder)
{
    gt_job_release(&folder->job);
    folder->source.close(folder->source.state);
}

int gt_folder_view(const char *name, const struct gt_job_server_options *server,
                   const struct gt_job_report_options *options, struct gt_report **ret, struct gt_error *error)
{
    struct folder folder;
    int status = folder_open(&folder, name, server, gt_job_read, error);
    if (status < 0)
        return status;
    status = gt_job_report(ret, &folder.job, options, error);
    if (!status)
        status = gt_job_goes_on(&folder.job, gt_seconds(gt_clock_real(&gt_clock_system)));
    folder_close(&folder);
    return status;
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

int gt_folder_runs(const char *name, int (*use)(void *context, const char *path, const char *trouble), void *context,
                   struct gt_error *error)
{
    struct folder folder;
    int status = folder_open(&folder, name, NULL, gt_job_read_runs, error);
    if (status < 0)
        return final_status(status);
    for (size_t i = 0; i < folder.job.left_out_count && status >= 0; i++)
        status = use(context, folder.job.left_out[i].path, folder.job.left_out[i].why);
    for (size_t i = 0; i < folder.job.count && status >= 0; i++)
        status = use(context, folder.job.rank[i].path, NULL);
    folder_close(&folder);
    return final_status(status);
}

int gt_folder_analyse(const struct gt_job_analysis *analysis, const char *name,
                      const struct gt_job_server_options *server, const struct gt_job_options *options,
                      struct gt_report **ret, struct gt_error *error)
{
    struct folder folder;
    int status = folder_open(&folder, name, server, gt_job_read_ranks, error);
    if (status < 0)
        return final_status(status);
    status = gt_job_analyse(ret, analysis, &folder.job, options, error);
    folder_close(&folder);
    return final_status(status);
}

int gt_folder_request(const char *name, const char *kind, const struct gt_job_server_options *server, char **ret,
                      char **doubt, struct gt_error *error)
{
    struct gt_next_time next;
    struct folder folder;
    int status = folder_open(&folder, name, server, gt_job_read, error);
    if (status < 0)
        return final_status(status);
    kind = kind_of(kind, folder.job.rank[0].machine.scheduler, folder.job.source->name, error);
    if (kind) {
        gt_job_next_time(&next, &folder.job, kind);
        status = give_request(&next, kind, ret, doubt, error);
    }
    folder_close(&folder);
    return kind ? final_status(status) : -EINVAL;
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
