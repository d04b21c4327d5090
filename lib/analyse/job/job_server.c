#include "analyse/job/job_server.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job.h"
#include "analyse/job/job_calls.h"
#include "analyse/job/job_name.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/number.h"
#include "engine/server.h"
#include "engine/tables.h"
#include "store/field.h"

enum { BUCKETS_AT_ONCE = 1 << 19 };

/* Where the rows of a tracker are. */
struct tracker {
    char *job;
    uint32_t source;
    pid_t pid;
    int64_t start;
    struct gt_recorded recorded;
    char *recording;
    struct gt_error trouble; /* why it is no rank of the job; "": it is one */
};

struct state {
    char *name;
    struct gt_server *server;
    char *jobs; /* "'alps:4242.0', 'alps:4242.1'" */
    struct gt_engine_listed columns;
    struct tracker *tracker;
    size_t count, capacity;
};

/* ---- Which job --------------------------------------------------------------------------------------------------- */

/* What is pushed as "42" may call itself "alps:42.0". */
static bool is_of_job(const char *own, const char *job)
{
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)gt_job_name_base(job), job);
    return gt_job_name_is_meant(own, name);
}

static int take_job(struct state *state, struct gt_buffer *found, const char *job, const char *first,
                    struct gt_error *error)
{
    if (first && !gt_job_name_is_same(job, first))
        return gt_error_set(error, EINVAL, "%s names several jobs, %.*s and %.*s among them: write the whole name",
                            state->name, (int)gt_job_name_base(first), first, (int)gt_job_name_base(job), job);
    gt_buffer_text(found, first ? ", " : "");
    gt_sql_text(found, job);
    return found->failed;
}

static int find_jobs(struct state *state, const char *name, struct gt_error *error)
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
        status = gt_error_set(error, ENOENT, "%s: there is no such job", state->name);
    state->jobs = found.data;
    gt_buffer_release(&sql);
    gt_buffer_release(&text);
    return status;
}

/* ---- Ranks ------------------------------------------------------------------------------------------------------- */

static int ask(struct state *state, const char *select, const char *rest, struct gt_buffer *text,
               struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_printf(&sql, "%s WHERE job IN (%s) %s", select, state->jobs, rest);
    int status = sql.failed ? gt_error_system(error, ENOMEM, "%s", state->name)
                            : gt_server_ask(state->server, sql.data, text, error);
    gt_buffer_release(&sql);
    return status;
}

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

static int read_fields(struct tracker *tracker, const struct gt_json_value *facts, const char *name,
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

static int read_ranks_below(struct tracker *tracker, const struct gt_json_value *ranks)
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

static int take_facts(struct state *state, struct tracker *tracker, const char *text, struct gt_error *error)
{
    struct gt_json_value *facts = gt_json_parse_text(text, 0, NULL);
    const char *recording = gt_json_text_of(gt_json_member(facts, "recording"));
    gt_outcome_init(&tracker->recorded.outcome);
    int status = 0;
    if (!facts || !gt_json_is_object(facts))
        gt_error_set(&tracker->trouble, EINVAL, "what the server keeps of it (source %u) is no JSON", tracker->source);
    else if (read_fields(tracker, facts, state->name, &tracker->trouble) >= 0 &&
             read_ranks_below(tracker, gt_json_member(facts, "ranks")) < 0)
        status = gt_error_system(error, ENOMEM, "%s", state->name);
    tracker->recording = strdup(recording ? recording : tracker->job);
    gt_json_free(facts);
    tracker->pid = tracker->recorded.machine.pid;
    tracker->start = tracker->recorded.machine.start_real_ns;
    return status >= 0 && !tracker->recording ? gt_error_system(error, ENOMEM, "%s", state->name) : status;
}

static int read_trackers(struct state *state, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_answer answer;
    char *field[3];
    int status = ask(state, "SELECT job, source, argMax(facts, version) FROM trackers",
                     "GROUP BY job, source ORDER BY job, source", &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 3)) {
        struct tracker *tracker = field[2] ? GT_GROW_LIST(state, tracker) : NULL;
        if (tracker)
            *tracker = (struct tracker){.job = strdup(field[0]), .source = (uint32_t)strtoul(field[1], NULL, 10)};
        status = tracker && tracker->job ? take_facts(state, tracker, field[2], error)
                                         : gt_error_system(error, ENOMEM, "%s", state->name);
    }
    gt_buffer_release(&text);
    return status;
}

static struct tracker *find_tracker(const struct state *state, const char *job, const char *source)
{
    uint32_t number = source ? (uint32_t)strtoul(source, NULL, 10) : 0;
    size_t first = 0, end = state->count;
    while (job && first < end) { /* they are in this order */
        size_t middle = first + (end - first) / 2;
        struct tracker *tracker = &state->tracker[middle];
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

static double number_of(const char *field)
{
    double value;
    return field && gt_number_double(field, &value) == 0 ? value : NAN;
}

static int find_scope(const char *name)
{
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        if (strcmp(gt_scope_name((enum gt_scope)scope), name) == 0)
            return scope;
    return -ENOENT;
}

static int read_finals(struct state *state, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_answer answer;
    char *field[5];
    int status = ask(state, "SELECT job, source, scope, metric, argMax(value, version) FROM finals",
                     "GROUP BY job, source, scope, metric", &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 5)) {
        struct tracker *tracker = find_tracker(state, field[0], field[1]);
        int scope = tracker && field[4] ? find_scope(field[2]) : -ENOENT,
            metric = scope < 0 ? scope : gt_metric_find(field[3]);
        if (metric >= 0)
            tracker->recorded.outcome.value[scope][metric] = number_of(field[4]);
    }
    gt_buffer_release(&text);
    return status;
}

static int read_devices(struct state *state, struct gt_error *error)
{
    struct gt_buffer text = {0};
    struct gt_answer answer;
    char *field[7];
    int status = ask(state, "SELECT job, source, device, any(uuid), any(name), any(brand), any(memory) FROM devices",
                     "GROUP BY job, source, device ORDER BY job, source, device", &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 7)) {
        struct tracker *tracker = field[5] ? find_tracker(state, field[0], field[1]) : NULL;
        struct gt_gpu *gpu = tracker ? gt_machine_add_gpu(&tracker->recorded.machine) : NULL;
        if (tracker && !gpu)
            status = gt_error_system(error, ENOMEM, "%s", state->name);
        if (!gpu)
            continue;
        snprintf(gpu->uuid, sizeof gpu->uuid, "%s", field[3]);
        snprintf(gpu->name, sizeof gpu->name, "%s", field[4]);
        snprintf(gpu->brand, sizeof gpu->brand, "%s", field[5]);
        gpu->memory = number_of(field[6]);
        gpu->selected = true;
    }
    gt_buffer_release(&text);
    return status;
}

/* Recordings may be pushed under another job's name than their own: what it is called here counts. One alone among those that are of this
 * job by their own word was put here by mistake. */
static void part_strangers(struct state *state)
{
    bool is_any_of_it = false;
    for (size_t i = 0; i < state->count; i++) {
        const struct tracker *tracker = &state->tracker[i];
        is_any_of_it |= *tracker->recorded.machine.job && is_of_job(tracker->recorded.machine.job, tracker->job);
    }
    for (size_t i = 0; i < state->count; i++) {
        struct tracker *tracker = &state->tracker[i];
        char *own = tracker->recorded.machine.job;
        if (is_any_of_it && *own && !is_of_job(own, tracker->job))
            gt_error_set(&tracker->trouble, EINVAL, "it is of job %s by its own word, and was pushed as %s", own,
                         tracker->job);
        else
            snprintf(own, sizeof tracker->recorded.machine.job, "%s", tracker->job);
    }
}

static int read_ranks(void *context, struct gt_job *job, struct gt_error *error)
{
    struct state *state = context;
    int status = state->count ? 0 : read_trackers(state, error);
    part_strangers(state);
    if (status >= 0)
        status = read_finals(state, error);
    if (status >= 0)
        status = read_devices(state, error);
    for (size_t i = 0; i < state->count && status >= 0; i++) {
        const struct tracker *tracker = &state->tracker[i];
        const struct gt_outcome *outcome = &tracker->recorded.outcome;
        if (*tracker->trouble.text)
            status = gt_job_leave_out(job, tracker->recording, tracker->trouble.text);
        else if (outcome->samples || outcome->complete) /* a command may end before the first */
            status = gt_job_add_rank(job, tracker->recording, &tracker->recorded.machine, outcome);
        else
            status = gt_job_leave_out(job, tracker->recording, "its tracker has sent no figures yet");
        if (status < 0)
            gt_error_system(error, -status, "%s", state->name);
    }
    if (status >= 0 && !job->count)
        status = gt_error_set(error, ENODATA, "%s: no tracker has sent figures yet", state->name);
    return status;
}

static const struct tracker *tracker_of(const struct state *state, const struct gt_job_rank *rank)
{
    for (size_t i = 0; i < state->count; i++) {
        const struct tracker *tracker = &state->tracker[i];
        if (tracker->pid == rank->machine.pid && tracker->start == rank->machine.start_real_ns &&
            strcmp(tracker->recording, rank->path) == 0)
            return tracker;
    }
    return NULL;
}

/* ---- Series ------------------------------------------------------------------------------------------------------ */

/* Some ranks, each with a stretch of the answer for each of its GPUs, or one. */
struct answer {
    const struct gt_job *job;
    const struct gt_job_question *question;
    size_t first, count;
    const struct tracker **tracker; /* [count] */
    size_t *place;                  /* [count + 1]: the first stretch of each rank */
    bool *is_asked;                 /* [count] */
    struct gt_job_bucket *bucket;   /* [stretches][subjects][buckets] */
    bool *is_there;                 /* [stretches] */
};

static bool is_of_gpus(const struct gt_job_question *question)
{
    return question->subject[0].scope == GT_SCOPE_GPU;
}

static void add_subject(struct gt_buffer *sql, const struct state *state, const char *table,
                        const struct gt_job_subject *subject, size_t number)
{
    char column[160];
    bool is_of_gpu = subject->scope == GT_SCOPE_GPU;
    snprintf(column, sizeof column, "%s%s%s", is_of_gpu ? "" : gt_scope_name(subject->scope), is_of_gpu ? "" : "_",
             gt_metrics[subject->metric].name);
    if (!gt_engine_has(&state->columns, table, column))
        gt_buffer_printf(sql, ", CAST(NULL AS Nullable(Int64)) AS x%zu", number);
    else if (subject->bits)
        gt_buffer_printf(sql, ", bitAnd(%s, %u) != 0 AS x%zu", column, subject->bits, number);
    else
        gt_buffer_printf(sql, ", %s AS x%zu", column, number);
}

static void add_sources(struct gt_buffer *sql, const struct answer *answer)
{
    const char *separator = " AND source IN (";
    for (size_t i = 0; i < answer->count; i++)
        if (answer->is_asked[i]) {
            gt_buffer_printf(sql, "%s%u", separator, answer->tracker[i]->source);
            separator = ", ";
        }
    gt_buffer_char(sql, ')');
}

/* The place of a row among the stretches is worked out by the same steps here and in C. */
static void add_bucket(struct gt_buffer *sql, const struct gt_job_question *question, const char *time)
{
    gt_buffer_printf(sql, "toUInt32(greatest(least((%s - %.17g) / %.17g, %.1f), 0.0)) AS bucket", time, question->begin,
                     question->width, (double)question->buckets - 1);
}

static void add_rows(struct gt_buffer *sql, const struct state *state, const struct answer *answer, const char *table)
{
    for (size_t i = 0; i < answer->question->subjects; i++)
        add_subject(sql, state, table, &answer->question->subject[i], i);
    gt_buffer_printf(sql, " FROM %s WHERE job IN (%s)", table, state->jobs);
    add_sources(sql, answer);
}

/* Of a minute with a mean the least and the most are known, else the last stands for all, as in recordings. */
static void add_figures_of_minutes(struct gt_buffer *sql, const struct gt_job_subject *subject, size_t number)
{
    if (gt_metrics[subject->metric].kind == GT_GAUGE)
        gt_buffer_printf(
            sql,
            ", sumIf(weight, statistic = 'mean' AND isNotNull(x%zu)), toFloat64(sumIf(x%zu * weight, statistic = "
            "'mean')), toFloat64(minIf(x%zu, statistic = 'min')), toFloat64(maxIf(x%zu, statistic = 'max')), "
            "toFloat64(argMinIf(x%zu, number, statistic = 'min')), toFloat64(argMaxIf(x%zu, number, statistic = "
            "'last'))",
            number, number, number, number, number, number);
    else
        gt_buffer_printf(sql,
                         ", sumIf(weight, isNotNull(x%zu)), sum(toFloat64(x%zu) * weight), toFloat64(min(x%zu)), "
                         "toFloat64(max(x%zu)), toFloat64(argMin(x%zu, number)), toFloat64(argMax(x%zu, number))",
                         number, number, number, number, number, number);
}

static void add_question_of_minutes(struct gt_buffer *sql, const struct state *state, const struct answer *answer)
{
    gt_buffer_text(sql, "SELECT job, source, bucket");
    for (size_t i = 0; i < answer->question->subjects; i++)
        add_figures_of_minutes(sql, &answer->question->subject[i], i);
    gt_buffer_text(sql, " FROM (SELECT job, source, number, statistic, weight, ");
    add_bucket(sql, answer->question, "toFloat64(intDiv(time, 1000000000))");
    add_rows(sql, state, answer, "minutes");
    gt_buffer_text(sql, ") GROUP BY job, source, bucket");
}

static void add_question(struct gt_buffer *sql, const struct state *state, const struct answer *answer)
{
    const struct gt_job_question *question = answer->question;
    const char *uuid = is_of_gpus(question) ? ", uuid" : "";
    gt_buffer_printf(sql, "SELECT job, source%s, bucket", uuid);
    for (size_t i = 0; i < question->subjects; i++)
        gt_buffer_printf(sql,
                         ", count(x%zu), toFloat64(sum(x%zu)), toFloat64(min(x%zu)), toFloat64(max(x%zu)), "
                         "toFloat64(argMin(x%zu, number)), toFloat64(argMax(x%zu, number))",
                         i, i, i, i, i, i);
    gt_buffer_printf(sql, " FROM (SELECT job, source%s, number, ", uuid);
    add_bucket(sql, question, "toFloat64(intDiv(time, 1000000000)) + toFloat64(time % 1000000000) / 1e9");
    add_rows(sql, state, answer, is_of_gpus(question) ? "gpu_samples" : "samples");
    gt_buffer_printf(sql, ") GROUP BY job, source%s, bucket", uuid);
}

/* The number of the GPU of a tracker that rows call `uuid`. */
static int find_device(const struct tracker *tracker, const char *uuid)
{
    const struct gt_machine *machine = &tracker->recorded.machine;
    const char *colon = strrchr(uuid, ':');
    for (size_t i = 0; i < machine->gpu_length; i++)
        if (*machine->gpu[i].uuid && strcmp(machine->gpu[i].uuid, uuid) == 0)
            return (int)i;
    int device = colon ? atoi(colon + 1) : -1;
    return device >= 0 && (size_t)device < machine->gpu_length && !*machine->gpu[device].uuid ? device : -1;
}

static void take_line(struct answer *answer, const struct tracker *tracker, char **field)
{
    const struct gt_job_question *question = answer->question;
    bool of_gpus = is_of_gpus(question);
    int device = of_gpus && field[2] ? find_device(tracker, field[2]) : 0;
    char **value = field + 2 + of_gpus;
    size_t bucket = *value ? strtoul(*value, NULL, 10) : question->buckets;
    for (size_t i = 0; i < answer->count && device >= 0 && bucket < question->buckets; i++) {
        if (answer->tracker[i] != tracker || !answer->is_asked[i])
            continue;
        size_t stretch = answer->place[i] + (size_t)device;
        struct gt_job_bucket *ret = answer->bucket + stretch * question->subjects * question->buckets + bucket;
        answer->is_there[stretch] = true;
        for (size_t k = 0; k < question->subjects; k++) {
            char **of = value + 1 + 6 * k;
            ret[k * question->buckets] = (struct gt_job_bucket){.count = of[0] ? number_of(of[0]) : 0,
                                                                .sum = number_of(of[1]),
                                                                .least = number_of(of[2]),
                                                                .most = number_of(of[3]),
                                                                .first = number_of(of[4]),
                                                                .last = number_of(of[5])};
        }
    }
}

static int ask_rows(struct state *state, struct answer *answer,
                    void (*add)(struct gt_buffer *sql, const struct state *state, const struct answer *answer),
                    struct gt_error *error)
{
    struct gt_buffer sql = {0}, text = {0};
    struct gt_answer lines;
    char *field[4 + 6 * GT_JOB_SUBJECTS];
    add(&sql, state, answer);
    int status = sql.failed ? gt_error_system(error, ENOMEM, "%s", state->name)
                            : gt_server_ask(state->server, sql.data, &text, error);
    gt_answer_begin(&lines, &text);
    while (status >= 0 && gt_answer_next(&lines, field, sizeof field / sizeof *field)) {
        const struct tracker *tracker = find_tracker(state, field[0], field[1]);
        if (tracker)
            take_line(answer, tracker, field);
    }
    gt_buffer_release(&sql);
    gt_buffer_release(&text);
    return status;
}

/* Minutes of those that have them, which stay when samples are gone; samples of the others. */
static int ask_some(struct state *state, struct answer *answer, struct gt_error *error)
{
    bool is_any = false;
    int status = 0;
    for (size_t i = 0; i < answer->count; i++) {
        const struct gt_job_rank *rank = &answer->job->rank[answer->first + i];
        answer->is_asked[i] = answer->tracker[i] && gt_job_minutes_answer(answer->question, rank);
        is_any |= answer->is_asked[i];
    }
    if (is_any)
        status = ask_rows(state, answer, add_question_of_minutes, error);
    is_any = false;
    for (size_t i = 0; i < answer->count; i++) {
        answer->is_asked[i] = answer->tracker[i] && !(answer->is_asked[i] && answer->is_there[answer->place[i]]);
        is_any |= answer->is_asked[i];
    }
    return status >= 0 && is_any ? ask_rows(state, answer, add_question, error) : status;
}

static int hand_on(const struct answer *answer, int (*take)(void *context, const struct gt_job_series *series),
                   void *context)
{
    const struct gt_job_question *question = answer->question;
    int status = 0;
    for (size_t i = 0; i < answer->count; i++)
        for (size_t at = answer->place[i]; at < answer->place[i + 1] && status >= 0; at++)
            if (answer->is_there[at] || !is_of_gpus(question))
                status = take(context, &(struct gt_job_series){
                                           answer->first + i, is_of_gpus(question) ? (int)(at - answer->place[i]) : -1,
                                           answer->bucket + at * question->subjects * question->buckets});
    return status;
}

static int answer_some(struct state *state, struct answer *answer,
                       int (*take)(void *context, const struct gt_job_series *series), void *context,
                       struct gt_error *error)
{
    const struct gt_job_question *question = answer->question;
    size_t stretches = answer->place[answer->count];
    answer->bucket = calloc(stretches * question->subjects * question->buckets + 1, sizeof *answer->bucket);
    answer->is_there = calloc(stretches + 1, 1);
    int status = answer->bucket && answer->is_there ? 0 : gt_error_system(error, ENOMEM, "%s", state->name);
    if (status >= 0 && stretches)
        status = ask_some(state, answer, error);
    if (status >= 0)
        status = hand_on(answer, take, context);
    free(answer->bucket);
    free(answer->is_there);
    return status;
}

/* As many ranks at once as fit into memory. */
static int read_series(void *context, const struct gt_job *job, const struct gt_job_question *question,
                       int (*take)(void *context, const struct gt_job_series *series), void *taker,
                       struct gt_error *error)
{
    struct state *state = context;
    struct answer answer = {.job = job, .question = question};
    if (question->subject[0].scope == GT_SCOPE_PROCESS) /* its rows of processes do not tell their ranks */
        return 0;
    if (!state->columns.text.length)
        gt_engine_list(&state->columns, state->server);
    size_t each = question->subjects * question->buckets;
    answer.tracker = calloc(job->count + 1, sizeof *answer.tracker);
    answer.place = calloc(job->count + 2, sizeof *answer.place);
    answer.is_asked = calloc(job->count + 1, 1);
    int status = answer.tracker && answer.place && answer.is_asked ? 0
                                                                   : gt_error_system(error, ENOMEM, "%s", state->name);
    for (answer.first = 0; status >= 0 && answer.first < job->count; answer.first += answer.count) {
        answer.count = 0;
        while (answer.first + answer.count < job->count &&
               (!answer.count || answer.place[answer.count] * each < BUCKETS_AT_ONCE)) {
            const struct gt_job_rank *rank = &job->rank[answer.first + answer.count];
            answer.tracker[answer.count] = tracker_of(state, rank);
            answer.place[answer.count + 1] = answer.place[answer.count] +
                                             (is_of_gpus(question) ? rank->machine.gpu_length : 1);
            answer.count++;
        }
        status = answer_some(state, &answer, take, taker, error);
    }
    free(answer.tracker);
    free(answer.place);
    free(answer.is_asked);
    return status;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* Only what the sums need: lengths, and not the moments of the clock that never steps. */
static int take_call(struct gt_calls_of_rank *calls, char **field)
{
    int64_t name = gt_strings_add(&calls->names, field[0], strlen(field[0]));
    struct gt_interval *call = name < 0 ? NULL : GT_GROW(calls, interval);
    if (!call)
        return -ENOMEM;
    double start = number_of(field[2]) / 1e9, length = number_of(field[3]) / 1e9, cpu = number_of(field[5]);
    *call = (struct gt_interval){.name = (uint32_t)name,
                                 .unfinished = isnan(length),
                                 .process = (int64_t)number_of(field[1]),
                                 .start = start,
                                 .stop = isnan(length) ? INFINITY : start + length,
                                 .clock_start = NAN,
                                 .clock_stop = NAN,
                                 .cpu_start = isnan(cpu) ? NAN : 0,
                                 .cpu_stop = cpu};
    call->elapsed = length;
    call->self = number_of(field[4]) / 1e9;
    return 0;
}

static int read_calls_of(void *context, const struct gt_job_rank *rank, struct gt_calls_of_rank *ret,
                         struct gt_error *error)
{
    struct state *state = context;
    const struct tracker *tracker = tracker_of(state, rank);
    struct gt_buffer rest = {0}, text = {0};
    struct gt_answer answer;
    char *field[6];
    if (!tracker)
        return 0;
    gt_buffer_text(&rest, "AND job = ");
    gt_sql_text(&rest, tracker->job);
    gt_buffer_printf(&rest, " AND source = %u ORDER BY number", tracker->source);
    int status = rest.failed ? gt_error_system(error, ENOMEM, "%s", state->name)
                             : ask(state, "SELECT name, pid, start, stop - start, self, toFloat64(cpu_time) FROM calls",
                                   rest.data, &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 6))
        if (field[0] && take_call(ret, field) < 0)
            status = gt_error_system(error, ENOMEM, "%s", state->name);
    gt_buffer_release(&rest);
    gt_buffer_release(&text);
    return status;
}

static int read_calls(void *state, const struct gt_job *job,
                      int (*take)(void *context, const struct gt_job_calls *calls), void *context,
                      struct gt_error *error)
{
    return gt_job_calls_by_name(job, &(struct gt_calls_reader){read_calls_of, state}, take, context, error);
}

static int read_steps(void *state, const struct gt_job *job, int (*take)(void *context, const struct gt_job_step *step),
                      void *context, struct gt_error *error)
{
    return gt_job_calls_by_number(job, &(struct gt_calls_reader){read_calls_of, state}, take, context, error);
}

/* ---- Open and close ---------------------------------------------------------------------------------------------- */

static void close_server(void *context)
{
    struct state *state = context;
    if (!state)
        return;
    for (size_t i = 0; i < state->count; i++) {
        gt_recorded_release(&state->tracker[i].recorded);
        free(state->tracker[i].job);
        free(state->tracker[i].recording);
    }
    gt_server_close(state->server);
    gt_buffer_release(&state->columns.text);
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
    if (status >= 0 && options->explain)
        gt_server_explain(*ret, options->explain, options->context);
    return status;
}

int gt_job_server_open(struct gt_job_source *ret, const char *address, const struct gt_job_server_options *options,
                       struct gt_error *error)
{
    struct gt_address parts;
    struct state *state = calloc(1, sizeof *state);
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
                                  .state = state,
                                  .ranks = read_ranks,
                                  .series = read_series,
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
        "SELECT job, toString(toDateTime(intDiv(min(began), 1000000000), 'UTC')), toString(toDateTime(intDiv(max(told), "
        "1000000000), 'UTC')), count(), sum(done), any(said) FROM (SELECT job, source, argMax(started, version) AS began, "
        "argMax(heard, version) AS told, argMax(complete, version) AS done, argMax(command, version) AS said FROM trackers "
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
