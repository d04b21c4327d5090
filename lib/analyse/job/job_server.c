#include "analyse/job/job_server.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job.h"
#include "analyse/job/job_calls.h"
#include "analyse/job/job_server_state.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/number.h"

/* ---- Calls of blocks ---- */

/* ---- One call --------------------------------------------------------------------------------------------------- */

/* Only what the sums need: lengths, and not the moments of the clock that never steps. */
static int take_call(struct gt_calls_of_rank *calls, char **field, double clock_shift)
{
    int64_t name = gt_strings_add(&calls->names, field[0], strlen(field[0]));
    struct gt_interval *call = name < 0 ? NULL : GT_GROW(calls, interval);
    if (!call)
        return -ENOMEM;
    double start = gt_job_server_number(field[2]) / 1e9 + clock_shift, length = gt_job_server_number(field[3]) / 1e9,
           cpu = gt_job_server_number(field[5]);
    *call = (struct gt_interval){.name = (uint32_t)name,
                                 .unfinished = isnan(length),
                                 .process = (int64_t)gt_job_server_number(field[1]),
                                 .start = start,
                                 .stop = isnan(length) ? INFINITY : start + length,
                                 .clock_start = NAN,
                                 .clock_stop = NAN,
                                 .cpu_start = isnan(cpu) ? NAN : 0,
                                 .cpu_stop = cpu};
    call->elapsed = length;
    call->self = gt_job_server_number(field[4]) / 1e9;
    return 0;
}

/* ---- Of many ranks at once --------------------------------------------------------------------------------------- */

enum { CALLS_AT_ONCE = 1 << 17 };

/* The calls of ranks that follow each other, in one answer. */
struct batch {
    struct gt_job_server *state;
    const struct gt_job *job;
    uint64_t *rows;                 /* of each rank on the server */
    size_t end;                     /* the first rank that has not been asked for yet */
    struct gt_calls_of_rank *calls; /* of each rank; of those before it was taken nothing is left */
};

/* Ask `select` of the rows of the job, with `rest` behind that condition. */
static int ask(struct gt_job_server *state, const char *select, const char *rest, struct gt_buffer *text,
               struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_printf(&sql, "%s WHERE job IN (%s) %s", select, state->jobs, rest);
    int status = sql.failed ? gt_error_system(error, ENOMEM, "%s", state->name)
                            : gt_server_ask(state->server, sql.data, text, error);
    gt_buffer_release(&sql);
    return status;
}

static int count_calls(struct batch *batch, struct gt_error *error)
{
    struct gt_job_server *state = batch->state;
    struct gt_buffer text = {0};
    struct gt_answer answer;
    char *field[3];
    int status = ask(state, "SELECT job, source, count() FROM calls", "GROUP BY job, source", &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 3)) {
        const struct gt_job_tracker *tracker = field[2] ? gt_job_server_tracker(state, field[0], field[1]) : NULL;
        if (tracker && tracker->rank < batch->job->count)
            batch->rows[tracker->rank] = strtoull(field[2], NULL, 10);
    }
    gt_buffer_release(&text);
    return status;
}

/* Returns the rank behind the last of a batch that begins with rank `first`. */
static size_t name_sources(const struct batch *batch, size_t first, struct gt_buffer *rest)
{
    const char *separator = "AND source IN (";
    uint64_t rows = 0;
    size_t rank, ranks = 0;
    for (rank = first; rank < batch->job->count && ranks < GT_JOB_RANKS_AT_ONCE; rank++) {
        const struct gt_job_tracker *tracker = batch->state->of_rank[rank];
        if (!batch->rows[rank])
            continue;
        if (ranks && rows + batch->rows[rank] > CALLS_AT_ONCE)
            break;
        rows += batch->rows[rank];
        ranks++;
        gt_buffer_printf(rest, "%s%u", separator, tracker->source);
        separator = ", ";
    }
    gt_buffer_text(rest, ") ORDER BY job, source, number");
    return rank;
}

/* Steps of a job have the same sources, which may be of other batches. */
static int take_calls(struct batch *batch, size_t first, struct gt_buffer *text)
{
    struct gt_answer answer;
    char *field[8];
    gt_answer_begin(&answer, text);
    while (gt_answer_next(&answer, field, 8)) {
        const struct gt_job_tracker *tracker = gt_job_server_tracker(batch->state, field[0], field[1]);
        if (tracker && field[2] && tracker->rank >= first && tracker->rank < batch->end &&
            take_call(&batch->calls[tracker->rank], field + 2, tracker->clock_shift) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int ask_calls(struct batch *batch, size_t first, struct gt_error *error)
{
    struct gt_job_server *state = batch->state;
    struct gt_buffer rest = {0}, text = {0};
    batch->end = name_sources(batch, first, &rest);
    int status = rest.failed
                     ? gt_error_system(error, ENOMEM, "%s", state->name)
                     : ask(state,
                           "SELECT job, source, name, pid, start, stop - start, self, toFloat64(cpu_time) FROM calls",
                           rest.data, &text, error);
    if (status >= 0 && take_calls(batch, first, &text) < 0)
        status = gt_error_system(error, ENOMEM, "%s", state->name);
    gt_buffer_release(&rest);
    gt_buffer_release(&text);
    return status;
}

static int read_calls_of(void *context, const struct gt_job_rank *rank, struct gt_calls_of_rank *ret,
                         struct gt_error *error)
{
    struct batch *batch = context;
    size_t number = (size_t)(rank - batch->job->rank);
    int status = number >= batch->end && batch->rows[number] ? ask_calls(batch, number, error) : 0;
    *ret = batch->calls[number];
    batch->calls[number] = (struct gt_calls_of_rank){0};
    return status;
}

static int begin(struct batch *ret, struct gt_job_server *state, const struct gt_job *job, struct gt_error *error)
{
    *ret = (struct batch){.state = state, .job = job};
    int status = gt_job_server_place(state, job, error);
    ret->rows = calloc(job->count + 1, sizeof *ret->rows);
    ret->calls = calloc(job->count + 1, sizeof *ret->calls);
    if (status >= 0 && !(ret->rows && ret->calls))
        status = gt_error_system(error, ENOMEM, "%s", state->name);
    return status < 0 ? status : count_calls(ret, error);
}

static void release(struct batch *batch)
{
    for (size_t i = 0; i < batch->job->count && batch->calls; i++) {
        free(batch->calls[i].interval);
        gt_strings_release(&batch->calls[i].names);
    }
    free(batch->calls);
    free(batch->rows);
}

static int read_calls(void *state, const struct gt_job *job,
                      int (*take)(void *context, const struct gt_job_calls *calls), void *context,
                      struct gt_error *error)
{
    struct batch batch;
    int status = begin(&batch, state, job, error);
    if (status >= 0)
        status = gt_job_calls_by_name(job, &(struct gt_calls_reader){read_calls_of, &batch}, take, context, error);
    release(&batch);
    return status;
}

static int read_steps(void *state, const struct gt_job *job, int (*take)(void *context, const struct gt_job_step *step),
                      void *context, struct gt_error *error)
{
    struct batch batch;
    int status = begin(&batch, state, job, error);
    if (status >= 0)
        status = gt_job_calls_by_number(job, &(struct gt_calls_reader){read_calls_of, &batch}, take, context, error);
    release(&batch);
    return status;
}

/* ---- Which job --------------------------------------------------------------------------------------------------- */

/* What is pushed as "42" may call itself "alps:42.0". */
static bool is_of_job(const char *own, const char *job)
{
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)gt_job_name_base(job), job);
    return gt_job_name_is_meant(own, name);
}

static int take_job(struct gt_job_server *state, struct gt_buffer *found, const char *job, const char *first,
                    struct gt_error *error)
{
    if (first && !gt_job_name_is_same(job, first))
        return gt_error_set(error, EINVAL, "%s names several jobs, %.*s and %.*s among them: write the whole name",
                            state->name, (int)gt_job_name_base(first), first, (int)gt_job_name_base(job), job);
    gt_buffer_text(found, first ? ", " : "");
    gt_sql_text(found, job);
    return found->failed;
}

static int find_jobs(struct gt_job_server *state, const char *name, struct gt_error *error)
{
    struct gt_buffer sql = {0}, text = {0}, found = {0};
    struct gt_answer answer;
    char *job;
    const char *first = NULL;
    gt_buffer_text(&sql, "SELECT job FROM trackers WHERE position(job, ");
    gt_sql_text(&sql, name);
    gt_buffer_text(&sql, ") > 0 GROUP BY job ORDER BY job");
    int status = sql.failed ? gt_error_system(error, ENOMEM, "%s", state->name)
                            : gt_server_ask(state->server, sql.data, &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, &job, 1)) {
        if (!job || !gt_job_name_is_meant(job, name))
            continue;
        status = take_job(state, &found, job, first, error);
        first = first ? first : job;
    }
    if (status >= 0 && !first)
        status = gt_error_set(error, ENOENT, "%s: unknown job", state->name);
    state->jobs = found.data;
    gt_buffer_release(&sql);
    gt_buffer_release(&text);
    return status;
}

/* ---- Ranks ------------------------------------------------------------------------------------------------------- */

static void read_figures(const struct gt_field *fields, size_t count, void *object, const struct gt_json_value *facts)
{
    for (size_t i = 0; i < count; i++) {
        const struct gt_json_value *value = gt_json_member(facts, fields[i].name);
        if (gt_json_text_of(value))
            gt_field_set_text(&fields[i], object, gt_json_text_of(value));
        else if (value)
            gt_field_set_number(&fields[i], object, gt_json_number_or_nan(value));
    }
}

static int read_fields(struct gt_job_tracker *tracker, const struct gt_json_value *facts, const char *name,
                       struct gt_error *error)
{
    const struct gt_json_value *machine = gt_json_member(facts, "machine"), *outcome = gt_json_member(facts, "outcome");
    for (size_t i = 0; i < gt_machine_field_count; i++) {
        const struct gt_field *field = &gt_machine_fields[i];
        const struct gt_json_value *value = gt_json_member(machine, field->name);
        const char *text = gt_json_text_of(value);
        if (text && gt_machine_field_read(&tracker->recorded.machine, field, text, name, error) < 0)
            return -EINVAL;
        if (value && !text)
            gt_field_set_number(field, &tracker->recorded.machine, gt_json_number_or_nan(value));
    }
    read_figures(gt_outcome_fields, gt_outcome_field_count, &tracker->recorded.outcome, outcome);
    return 0;
}

static int read_ranks_below(struct gt_job_tracker *tracker, const struct gt_json_value *ranks)
{
    struct gt_outcome *outcome = &tracker->recorded.outcome;
    for (size_t i = 0; i < gt_json_count(ranks); i++) {
        const struct gt_json_value *item = gt_json_item(ranks, i);
        struct gt_local_rank *rank = GT_GROW_BY_ONE(outcome->rank, outcome->rank_count);
        if (!rank)
            return -ENOMEM;
        *rank = (struct gt_local_rank){0};
        outcome->rank_count++;
        read_figures(gt_local_rank_fields, gt_local_rank_field_count, rank, item);
    }
    return 0;
}

static int take_facts(struct gt_job_server *state, struct gt_job_tracker *tracker, const char *text,
                      struct gt_error *error)
{
    struct gt_json_value *facts = gt_json_parse_text(text, 0, NULL);
    const char *recording = gt_json_text_of(gt_json_member(facts, "recording"));
    gt_outcome_init(&tracker->recorded.outcome);
    int status = 0;
    if (!facts || !gt_json_is_object(facts))
        gt_error_set(&tracker->trouble, EINVAL, "the server has invalid JSON for it (source %u)", tracker->source);
    else if (read_fields(tracker, facts, state->name, &tracker->trouble) >= 0 &&
             read_ranks_below(tracker, gt_json_member(facts, "ranks")) < 0)
        status = gt_error_system(error, ENOMEM, "%s", state->name);
    tracker->recording = strdup(recording ? recording : tracker->job);
    gt_json_free(facts);
    tracker->pid = tracker->recorded.machine.pid;
    tracker->start = tracker->recorded.machine.start_real_ns;
    return status >= 0 && !tracker->recording ? gt_error_system(error, ENOMEM, "%s", state->name) : status;
}

static int read_trackers(struct gt_job_server *state, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_answer answer;
    char *field[4];
    int status = ask(state, "SELECT job, source, argMax(facts, version), argMax(clock_server, version) FROM trackers",
                     "GROUP BY job, source ORDER BY job, source", &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 4)) {
        struct gt_job_tracker *tracker = field[2] ? GT_GROW_LIST(state, tracker) : NULL;
        if (tracker)
            *tracker = (struct gt_job_tracker){.job = strdup(field[0]),
                                               .source = (uint32_t)strtoul(field[1], NULL, 10),
                                               .clock_offset = gt_job_server_number(field[3])};
        status = tracker && tracker->job ? take_facts(state, tracker, field[2], error)
                                         : gt_error_system(error, ENOMEM, "%s", state->name);
    }
    gt_buffer_release(&text);
    return status;
}

struct gt_job_tracker *gt_job_server_tracker(const struct gt_job_server *state, const char *job, const char *source)
{
    uint32_t number = source ? (uint32_t)strtoul(source, NULL, 10) : 0;
    size_t first = 0, end = state->count;
    while (job && first < end) { /* they are in this order */
        size_t middle = first + (end - first) / 2;
        struct gt_job_tracker *tracker = &state->tracker[middle];
        int order = strcmp(tracker->job, job);
        order = order ? order : GT_ORDER(tracker->source, number);
        if (!order)
            return tracker;
        if (order < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

double gt_job_server_number(const char *field)
{
    double value;
    return field && gt_number_double(field, &value) == 0 ? value : NAN;
}

/* Trackers of one boot have one clock. Between machines, what is off by less than a second is left as it is: the offset itself is measured
 * over a network. */
static void correct_clocks(struct gt_job_server *state)
{
    static const double LEAST_OFFSET = 1;
    bool has_others = false;
    for (size_t i = 1; i < state->count && !has_others; i++)
        has_others = strcmp(state->tracker[i].recorded.machine.node, state->tracker[0].recorded.machine.node) != 0;
    for (size_t i = 0; i < state->count && has_others; i++) {
        struct gt_job_tracker *tracker = &state->tracker[i];
        const struct gt_job_tracker *first = state->tracker; /* of its machine, that knows */
        while (first < tracker && (isnan(first->clock_offset) ||
                                   strcmp(first->recorded.machine.node, tracker->recorded.machine.node) != 0))
            first++;
        if (!(fabs(first->clock_offset) >= LEAST_OFFSET))
            continue;
        tracker->clock_shift = first->clock_offset;
        tracker->recorded.machine.start_real_ns += (int64_t)(tracker->clock_shift * 1e9);
        tracker->start = tracker->recorded.machine.start_real_ns;
    }
}

static int find_scope(const char *name)
{
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        if (strcmp(gt_scope_name((enum gt_scope)scope), name) == 0)
            return scope;
    return -ENOENT;
}

static int read_finals(struct gt_job_server *state, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_answer answer;
    char *field[5];
    int status = ask(state, "SELECT job, source, scope, metric, argMax(value, version) FROM finals",
                     "GROUP BY job, source, scope, metric", &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 5)) {
        struct gt_job_tracker *tracker = gt_job_server_tracker(state, field[0], field[1]);
        int scope = tracker && field[4] ? find_scope(field[2]) : -ENOENT,
            metric = scope < 0 ? scope : gt_metric_find(field[3]);
        if (metric >= 0)
            tracker->recorded.outcome.value[scope][metric] = gt_job_server_number(field[4]);
    }
    gt_buffer_release(&text);
    return status;
}

static int read_devices(struct gt_job_server *state, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_answer answer;
    char *field[7];
    int status = ask(state, "SELECT job, source, device, any(uuid), any(name), any(brand), any(memory) FROM devices",
                     "GROUP BY job, source, device ORDER BY job, source, device", &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 7)) {
        struct gt_job_tracker *tracker = field[5] ? gt_job_server_tracker(state, field[0], field[1]) : NULL;
        struct gt_gpu *gpu = tracker ? gt_machine_add_gpu(&tracker->recorded.machine) : NULL;
        if (tracker && !gpu)
            status = gt_error_system(error, ENOMEM, "%s", state->name);
        if (!gpu)
            continue;
        snprintf(gpu->uuid, sizeof gpu->uuid, "%s", field[3]);
        snprintf(gpu->name, sizeof gpu->name, "%s", field[4]);
        snprintf(gpu->brand, sizeof gpu->brand, "%s", field[5]);
        gpu->memory = gt_job_server_number(field[6]);
        gpu->selected = true;
    }
    gt_buffer_release(&text);
    return status;
}

/* Recordings may be pushed under another job's name than their own: what it is called here counts. One alone among those that are of this
 * job by their own word was put here by mistake. */
static void part_strangers(struct gt_job_server *state)
{
    bool is_any_of_it = false;
    for (size_t i = 0; i < state->count; i++) {
        const struct gt_job_tracker *tracker = &state->tracker[i];
        is_any_of_it |= *tracker->recorded.machine.job && is_of_job(tracker->recorded.machine.job, tracker->job);
    }
    for (size_t i = 0; i < state->count; i++) {
        struct gt_job_tracker *tracker = &state->tracker[i];
        char *own = tracker->recorded.machine.job;
        if (is_any_of_it && *own && !is_of_job(own, tracker->job))
            gt_error_set(&tracker->trouble, EINVAL, "it is of job %s by its own word, and was pushed as %s", own,
                         tracker->job);
        else
            snprintf(own, sizeof tracker->recorded.machine.job, "%s", tracker->job);
    }
}

static int add_rank(struct gt_job *job, const struct gt_job_tracker *tracker)
{
    const struct gt_recorded *recorded = &tracker->recorded;
    int status = gt_job_add_rank(job, tracker->recording, &recorded->machine, &recorded->outcome);
    if (status >= 0)
        job->rank[job->count - 1].clock_shift = tracker->clock_shift;
    return status;
}

static int read_ranks(void *context, struct gt_job *job, struct gt_error *error)
{
    struct gt_job_server *state = context;
    bool is_read = state->count;
    int status = is_read ? 0 : read_trackers(state, error);
    if (!is_read)
        correct_clocks(state);
    part_strangers(state);
    if (status >= 0)
        status = read_finals(state, error);
    if (status >= 0)
        status = read_devices(state, error);
    for (size_t i = 0; i < state->count && status >= 0; i++) {
        const struct gt_job_tracker *tracker = &state->tracker[i];
        const struct gt_outcome *outcome = &tracker->recorded.outcome;
        if (*tracker->trouble.text)
            status = gt_job_leave_out(job, tracker->recording, tracker->trouble.text);
        else if (outcome->samples || outcome->complete) /* a command may end before the first */
            status = add_rank(job, tracker);
        else
            status = gt_job_leave_out(job, tracker->recording, "its tracker has sent no figures yet");
        if (status < 0)
            gt_error_system(error, -status, "%s", state->name);
    }
    if (status >= 0 && !job->count)
        status = gt_error_set(error, ENODATA, "%s: no tracker has sent figures yet", state->name);
    return status;
}

static struct gt_job_tracker *tracker_of(const struct gt_job_server *state, const struct gt_job_rank *rank)
{
    for (size_t i = 0; i < state->count; i++) {
        struct gt_job_tracker *tracker = &state->tracker[i];
        if (tracker->pid == rank->machine.pid && tracker->start == rank->machine.start_real_ns &&
            strcmp(tracker->recording, rank->path) == 0)
            return tracker;
    }
    return NULL;
}

int gt_job_server_place(struct gt_job_server *state, const struct gt_job *job, struct gt_error *error)
{
    free(state->of_rank);
    if (!(state->of_rank = calloc(job->count + 1, sizeof *state->of_rank)))
        return gt_error_system(error, ENOMEM, "%s", state->name);
    for (size_t i = 0; i < state->count; i++)
        state->tracker[i].rank = SIZE_MAX;
    for (size_t i = 0; i < job->count; i++) {
        struct gt_job_tracker *tracker = tracker_of(state, &job->rank[i]);
        state->of_rank[i] = tracker;
        if (tracker)
            tracker->rank = i;
    }
    return 0;
}

/* ---- Open and close ---------------------------------------------------------------------------------------------- */

static void close_server(void *context)
{
    struct gt_job_server *state = context;
    if (!state)
        return;
    for (size_t i = 0; i < state->count; i++) {
        gt_recorded_release(&state->tracker[i].recorded);
        free(state->tracker[i].job);
        free(state->tracker[i].recording);
    }
    gt_server_close(state->server);
    gt_buffer_release(&state->columns.text);
    free(state->of_rank);
    free(state->tracker);
    free(state->jobs);
    free(state->name);
    free(state);
}

static int open_server(struct gt_server **ret, struct gt_address *address, const char *text,
                       const struct gt_job_server_options *options, struct gt_error *error)
{
    int status = gt_address_read(address, text, error);
    if (status >= 0)
        status = gt_server_open(ret, address, &options->files, error);
    if (status >= 0)
        gt_server_watch(*ret);
    if (status >= 0 && options->explain)
        gt_server_explain(*ret, options->explain, options->context);
    return status;
}

int gt_job_server_open(struct gt_job_source *ret, const char *address, const struct gt_job_server_options *options,
                       struct gt_error *error)
{
    struct gt_address parts;
    struct gt_job_server *state = calloc(1, sizeof *state);
    if (!state || !(state->name = strdup(address))) {
        free(state);
        return gt_error_system(error, ENOMEM, "%s", address);
    }
    int status = open_server(&state->server, &parts, address, options, error);
    if (status >= 0 && (!*parts.jobs || strchr(parts.jobs, ',')))
        status = gt_error_set(error, EINVAL, "%s: name one job: clickhouse://HOST/DATABASE/JOB", address);
    if (status >= 0)
        status = find_jobs(state, parts.jobs, error);
    if (status < 0) {
        close_server(state);
        return status;
    }
    *ret = (struct gt_job_source){.name = address,
                                  .keeps = "tracker",
                                  .left_out = "Trackers left out",
                                  .state = state,
                                  .ranks = read_ranks,
                                  .series = gt_job_server_series,
                                  .calls = read_calls,
                                  .steps = read_steps,
                                  .close = close_server};
    return 0;
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

static int list(struct gt_report *report, struct gt_server *server, size_t most, struct gt_error *error)
{
    struct gt_buffer sql = {0}, text = {0};
    struct gt_answer answer;
    char *field[6];
    struct gt_table *table = gt_report_table(gt_report_root(report), "jobs", "Jobs");
    gt_table_flags(table, GT_KEYED);
    gt_table_column(table, "job", "Job", GT_CELL_TEXT, NULL);
    gt_table_column(table, "started", "Started", GT_CELL_TEXT, NULL);
    gt_table_column(table, "heard", "Last heard", GT_CELL_TEXT, NULL);
    gt_table_column(table, "trackers", "Trackers", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "ended", "Ended", GT_CELL_INTEGER, NULL);
    gt_table_column(table, "command", "Command", GT_CELL_TEXT, NULL);
    gt_buffer_printf(
        &sql,
        "SELECT job, toString(toDateTime(intDiv(min(began), 1000000000), 'UTC')), toString(toDateTime(intDiv(max(last), "
        "1000000000), 'UTC')), count(), sum(done), any(said) FROM (SELECT job, source, argMax(started, version) AS began, "
        "argMax(heard, version) AS last, argMax(complete, version) AS done, argMax(command, version) AS said FROM trackers "
        "GROUP BY job, source) GROUP BY job ORDER BY min(began) DESC LIMIT %zu",
        most);
    int status = sql.failed ? gt_error_system(error, ENOMEM, "%s", gt_server_name(server))
                            : gt_server_ask(server, sql.data, &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 6)) {
        for (int i = 0; i < 3; i++)
            gt_table_text(table, field[i]);
        gt_table_integer(table, field[3] ? atoll(field[3]) : 0);
        gt_table_integer(table, field[4] ? atoll(field[4]) : 0);
        gt_table_text(table, field[5]);
    }
    gt_buffer_release(&sql);
    gt_buffer_release(&text);
    return status;
}

int gt_job_server_list(struct gt_report **ret, const char *address, size_t most,
                       const struct gt_job_server_options *options, struct gt_error *error)
{
    struct gt_address parts;
    struct gt_server *server = NULL;
    struct gt_report *report = NULL;
    int status = open_server(&server, &parts, address, options, error);
    if (status >= 0)
        status = gt_report_new(&report, "jobs", error);
    if (status >= 0)
        status = list(report, server, most, error);
    if (status >= 0 && gt_report_failed(report))
        status = gt_error_system(error, ENOMEM, "%s", address);
    gt_server_close(server);
    if (status < 0)
        gt_report_free(report);
    else
        *ret = report;
    return status;
}
