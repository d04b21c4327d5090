#include "analyse/job/job_server.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/number.h"
#include "engine/server.h"
#include "engine/tables.h"
#include "store/field.h"

/* Limits of one question: ranks, because servers take statements of 256 kB; calls; buckets. */
enum { RANKS_AT_ONCE = 10000, CALLS_AT_ONCE = 1 << 17, BUCKETS_AT_ONCE = 1 << 19 };

/* A tracker, and where its rows are. */
struct tracker {
    char *job;
    uint32_t source;
    double clock_offset; /* seconds by which the server's clock was ahead; NaN: unknown */
    double clock_shift;  /* seconds to add to its times */
    struct gt_recorded recorded;
    char *recording;
    struct gt_error trouble; /* why it is left out; "": it is not */
    size_t rank;             /* index into gt_job.rank after place_ranks; SIZE_MAX: none */
};

struct server_job {
    char *name;
    struct gt_server *server;
    char *jobs; /* "'alps:4242.0', 'alps:4242.1'" */
    struct gt_answer columns;
    struct tracker *tracker; /* by job, then by source */
    size_t count, capacity;
    /* Calls. One question asks for those of consecutive ranks. */
    uint64_t *rows;                 /* of each rank on the server */
    struct gt_calls_of_rank *calls; /* of each rank; moved to the reader */
    size_t ranks, asked;            /* in these; ranks before `asked` were asked for */
};

/* Returns NaN for NULL. */
static double number_of(const char *field)
{
    double value;
    return field && gt_number_double(field, &value) == 0 ? value : NAN;
}

/* Returns the tracker of a row by its first two fields; NULL: unknown. */
static struct tracker *find_tracker(const struct server_job *state, char *const field[])
{
    uint32_t source = field[1] ? (uint32_t)strtoul(field[1], NULL, 10) : 0;
    size_t i = state->count;
    if (field[0])
        i = GT_SEARCH(0, state->count, at,
                      strcmp(state->tracker[at].job, field[0]) < 0 ||
                          (strcmp(state->tracker[at].job, field[0]) == 0 && state->tracker[at].source < source));
    bool is_it = i < state->count && state->tracker[i].source == source && !strcmp(state->tracker[i].job, field[0]);
    return is_it ? &state->tracker[i] : NULL;
}

/* Ask `select` of the rows of the job; `rest` follows that condition. */
static int ask(struct server_job *state, const char *select, const char *rest, struct gt_answer *answer,
               struct gt_error *error)
{
    struct gt_buffer sql = {0};
    gt_buffer_printf(&sql, "%s WHERE job IN (%s) %s", select, state->jobs, rest);
    return gt_server_query(state->server, &sql, answer, error);
}

/* ---- Which job ---- */

/* What is pushed as "42" may call itself "alps:42.0". */
static bool is_of_job(const char *own, const char *job)
{
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)gt_job_name_base(job), job);
    return gt_job_name_is_meant(own, name);
}

static int find_jobs(struct server_job *state, const char *name, struct gt_error *error)
{
    struct gt_buffer sql = {0}, found = {0};
    struct gt_answer answer;
    char *job;
    const char *first = NULL;
    gt_buffer_text(&sql, "SELECT job FROM trackers WHERE position(job, ");
    gt_sql_text(&sql, name);
    gt_buffer_text(&sql, ") > 0 GROUP BY job ORDER BY job");
    int status = gt_server_query(state->server, &sql, &answer, error);
    while (status >= 0 && gt_answer_next(&answer, &job, 1)) {
        if (!job || !gt_job_name_is_meant(job, name))
            continue;
        if (first && !gt_job_name_is_same(job, first))
            status = gt_error_set(error, EINVAL,
                                  "%s names several jobs, %.*s and %.*s among them: write the whole name", state->name,
                                  (int)gt_job_name_base(first), first, (int)gt_job_name_base(job), job);
        gt_buffer_text(&found, first ? ", " : "");
        gt_sql_text(&found, job);
        first = first ? first : job;
    }
    if (status >= 0 && (!first || found.failed))
        status = found.failed ? gt_error_system(error, ENOMEM, "%s", state->name)
                              : gt_error_set(error, ENOENT, "%s: unknown job", state->name);
    state->jobs = found.data;
    gt_answer_release(&answer);
    return status;
}

/* ---- Ranks ---- */

static int read_machine(struct gt_machine *machine, const json_t *facts, const char *name, struct gt_error *error)
{
    for (size_t i = 0; i < gt_machine_fields.count; i++) {
        const struct gt_field *field = &gt_machine_fields.field[i];
        const json_t *value = json_object_get(facts, field->name);
        const char *text = json_string_value(value);
        if (text && gt_machine_field_read(machine, field, text, name, error) < 0)
            return -EINVAL;
        if (value && !text)
            gt_field_set_number(field, machine, gt_json_number_or_nan(value));
    }
    return 0;
}

static int read_facts(struct gt_recorded *recorded, const json_t *facts)
{
    struct gt_outcome *outcome = &recorded->outcome;
    const json_t *ranks = json_object_get(facts, "ranks");
    gt_fields_take(&gt_outcome_fields, outcome, json_object_get(facts, "outcome"));
    for (size_t i = 0; i < json_array_size(ranks); i++) {
        struct gt_local_rank *rank = GT_GROW_BY_ONE(outcome->rank, outcome->rank_count);
        if (!rank)
            return -ENOMEM;
        *rank = (struct gt_local_rank){0};
        outcome->rank_count++;
        gt_fields_take(&gt_local_rank_fields, rank, json_array_get(ranks, i));
    }
    return 0;
}

static int take_facts(struct server_job *state, struct tracker *tracker, const char *text, struct gt_error *error)
{
    json_t *facts = json_loads(text, 0, NULL);
    const char *recording = json_string_value(json_object_get(facts, "recording"));
    struct gt_recorded *recorded = &tracker->recorded;
    int status = 0;
    gt_outcome_init(&recorded->outcome);
    if (!facts || !json_is_object(facts))
        gt_error_set(&tracker->trouble, EINVAL, "the server has invalid JSON for it (source %u)", tracker->source);
    else if (read_machine(&recorded->machine, json_object_get(facts, "machine"), state->name, &tracker->trouble) >= 0)
        status = read_facts(recorded, facts);
    tracker->recording = strdup(recording ? recording : tracker->job);
    json_decref(facts);
    return status >= 0 && tracker->recording ? 0 : gt_error_system(error, ENOMEM, "%s", state->name);
}

static int read_trackers(struct server_job *state, struct gt_error *error)
{
    struct gt_answer answer;
    char *field[4];
    int status = ask(state, "SELECT job, source, argMax(facts, version), argMax(clock_server, version) FROM trackers",
                     "GROUP BY job, source ORDER BY job, source", &answer, error);
    while (status >= 0 && gt_answer_next(&answer, field, 4)) {
        struct tracker *tracker = field[2] ? GT_GROW_LIST(state, tracker) : NULL;
        if (tracker)
            *tracker = (struct tracker){.job = strdup(field[0]),
                                        .source = (uint32_t)strtoul(field[1], NULL, 10),
                                        .clock_offset = number_of(field[3])};
        status = tracker && tracker->job ? take_facts(state, tracker, field[2], error)
                                         : gt_error_system(error, ENOMEM, "%s", state->name);
    }
    gt_answer_release(&answer);
    return status;
}

/* Trackers of one boot share a clock. Offsets below a second are not corrected, because they are measured over a
 * network. */
static void correct_clocks(struct server_job *state)
{
    bool has_others = false;
    for (size_t i = 1; i < state->count && !has_others; i++)
        has_others = strcmp(state->tracker[i].recorded.machine.node, state->tracker[0].recorded.machine.node) != 0;
    for (size_t i = 0; i < state->count && has_others; i++) {
        struct tracker *tracker = &state->tracker[i];
        const struct tracker *first = state->tracker; /* of this machine with an offset */
        while (first < tracker && (isnan(first->clock_offset) ||
                                   strcmp(first->recorded.machine.node, tracker->recorded.machine.node) != 0))
            first++;
        if (!(fabs(first->clock_offset) >= 1))
            continue;
        tracker->clock_shift = first->clock_offset;
        tracker->recorded.machine.start_real_ns += (int64_t)(tracker->clock_shift * 1e9);
    }
}

static int find_scope(const char *name)
{
    for (int scope = 0; scope < GT_FIXED_ROWS; scope++)
        if (strcmp(gt_scope_name((enum gt_scope)scope), name) == 0)
            return scope;
    return -ENOENT;
}

static int read_finals(struct server_job *state, struct gt_error *error)
{
    struct gt_answer answer;
    char *field[5];
    int status = ask(state, "SELECT job, source, scope, metric, argMax(value, version) FROM finals",
                     "GROUP BY job, source, scope, metric", &answer, error);
    while (status >= 0 && gt_answer_next(&answer, field, 5)) {
        struct tracker *tracker = find_tracker(state, field);
        int scope = tracker && field[4] ? find_scope(field[2]) : -ENOENT,
            metric = scope < 0 ? scope : gt_metric_find(field[3]);
        if (metric >= 0)
            tracker->recorded.outcome.value[scope][metric] = number_of(field[4]);
    }
    gt_answer_release(&answer);
    return status;
}

static int read_devices(struct server_job *state, struct gt_error *error)
{
    struct gt_answer answer;
    char *field[7];
    int status = ask(state, "SELECT job, source, device, any(uuid), any(name), any(brand), any(memory) FROM devices",
                     "GROUP BY job, source, device ORDER BY job, source, device", &answer, error);
    while (status >= 0 && gt_answer_next(&answer, field, 7)) {
        struct tracker *tracker = field[5] ? find_tracker(state, field) : NULL;
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
    gt_answer_release(&answer);
    return status;
}

/* Recordings may be pushed under another job's name than their own. But if others have this job's name by their own
 * word, it is a mistake. */
static void part_strangers(struct server_job *state)
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
    struct server_job *state = context;
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
        const struct tracker *tracker = &state->tracker[i];
        const struct gt_outcome *outcome = &tracker->recorded.outcome;
        size_t before = job->count;
        if (*tracker->trouble.text)
            status = gt_job_leave_out(job, tracker->recording, tracker->trouble.text);
        else if (outcome->samples || outcome->complete) /* a command may end before the first sample */
            status = gt_job_add_rank(job, tracker->recording, &tracker->recorded.machine, outcome);
        else
            status = gt_job_leave_out(job, tracker->recording, "its tracker has sent no figures yet");
        if (status < 0)
            gt_error_system(error, -status, "%s", state->name);
        else if (job->count > before) {
            job->rank[before].clock_shift = tracker->clock_shift;
            job->rank[before].tracker = i;
        }
    }
    if (status >= 0 && !job->count)
        status = gt_error_set(error, ENODATA, "%s: no tracker has sent figures yet", state->name);
    return status;
}

static const struct tracker *tracker_of(const struct server_job *state, const struct gt_job *job, size_t rank)
{
    return &state->tracker[job->rank[rank].tracker];
}

/* Tell each tracker its rank. */
static void place_ranks(struct server_job *state, const struct gt_job *job)
{
    for (size_t i = 0; i < state->count; i++)
        state->tracker[i].rank = SIZE_MAX;
    for (size_t i = 0; i < job->count; i++)
        state->tracker[job->rank[i].tracker].rank = i;
}

/* ---- Series ---- */

/* The answer for some ranks. Each has a range for each of its GPUs or ranks below it, or one range. */
struct answer {
    const struct gt_job *job;
    const struct gt_job_question *question;
    size_t first, count;
    double clock_shift;           /* of the ranks in this question */
    size_t *place;                /* [count + 1]: the first range of each rank */
    bool *is_asked;               /* [count] */
    struct gt_job_bucket *bucket; /* [ranges][subjects][buckets] */
    bool *is_there;               /* [ranges] */
};

/* Returns the column that names the parts of a rank; NULL: it is not divided. */
static const char *part_column(const struct gt_job_question *question)
{
    switch (question->subject[0].scope) {
    case GT_SCOPE_GPU: return "uuid";
    case GT_SCOPE_PROCESS: return "rank";
    default: return NULL;
    }
}

static enum gt_engine_table table_of(const struct gt_job_question *question)
{
    switch (question->subject[0].scope) {
    case GT_SCOPE_GPU: return GT_ENGINE_GPU_SAMPLES;
    case GT_SCOPE_PROCESS: return GT_ENGINE_PROCESS_SAMPLES;
    default: return GT_ENGINE_SAMPLES;
    }
}

/* Append the bucket of each row and its subjects, x0 and so on. Buckets are computed by the same steps as in C. */
static void add_rows(struct gt_buffer *sql, const struct server_job *state, const struct answer *answer,
                     const char *table, const char *time)
{
    const struct gt_job_question *question = answer->question;
    const char *separator = " AND source IN (";
    gt_buffer_printf(sql, "toUInt32(greatest(least((%s - %.17g) / %.17g, %.1f), 0.0)) AS bucket", time,
                     question->begin - answer->clock_shift, question->width, (double)question->buckets - 1);
    for (size_t i = 0; i < question->subjects; i++) {
        const struct gt_job_subject *subject = &question->subject[i];
        char column[160];
        snprintf(column, sizeof column, "%s%s%s", part_column(question) ? "" : gt_scope_name(subject->scope),
                 part_column(question) ? "" : "_", gt_metrics[subject->metric].name);
        if (!gt_engine_has(&state->columns, table, column))
            gt_buffer_printf(sql, ", CAST(NULL AS Nullable(Int64)) AS x%zu", i);
        else if (subject->bits)
            gt_buffer_printf(sql, ", bitAnd(%s, %u) != 0 AS x%zu", column, subject->bits, i);
        else
            gt_buffer_printf(sql, ", %s AS x%zu", column, i);
    }
    gt_buffer_printf(sql, " FROM %s WHERE job IN (%s)", table, state->jobs);
    for (size_t i = 0; i < answer->count; i++)
        if (answer->is_asked[i]) {
            gt_buffer_printf(sql, "%s%u", separator, tracker_of(state, answer->job, answer->first + i)->source);
            separator = ", ";
        }
    gt_buffer_char(sql, ')');
}

/* Minutes of gauges have a mean, a minimum and a maximum. Those of other metrics have only the last value, as in
 * recordings. */
static void add_minutes(struct gt_buffer *sql, const struct server_job *state, const struct answer *answer)
{
    gt_buffer_text(sql, "SELECT job, source, bucket");
    for (size_t i = 0; i < answer->question->subjects; i++)
        gt_buffer_printf(
            sql,
            gt_metrics[answer->question->subject[i].metric].kind == GT_GAUGE
                ? ", sumIf(weight, statistic = 'mean' AND isNotNull(x%zu)), toFloat64(sumIf(x%zu * weight, statistic = "
                  "'mean')), toFloat64(minIf(x%zu, statistic = 'min')), toFloat64(maxIf(x%zu, statistic = 'max')), "
                  "toFloat64(argMinIf(x%zu, number, statistic = 'min')), toFloat64(argMaxIf(x%zu, number, statistic = "
                  "'last'))"
                : ", sumIf(weight, isNotNull(x%zu)), sum(toFloat64(x%zu) * weight), toFloat64(min(x%zu)), "
                  "toFloat64(max(x%zu)), toFloat64(argMin(x%zu, number)), toFloat64(argMax(x%zu, number))",
            i, i, i, i, i, i);
    gt_buffer_text(sql, " FROM (SELECT job, source, number, statistic, weight, ");
    add_rows(sql, state, answer, "minutes", "toFloat64(intDiv(time, 1000000000))");
    gt_buffer_text(sql, ") GROUP BY job, source, bucket");
}

/* The processes of a rank are added up for each moment first. */
static void add_samples(struct gt_buffer *sql, const struct server_job *state, const struct answer *answer)
{
    const struct gt_job_question *question = answer->question;
    const char *part = part_column(question), *comma = part ? ", " : "";
    bool is_of_processes = question->subject[0].scope == GT_SCOPE_PROCESS;
    part = part ? part : "";
    gt_buffer_printf(sql, "SELECT job, source%s%s, bucket", comma, part);
    for (size_t i = 0; i < question->subjects; i++)
        gt_buffer_printf(sql,
                         ", count(x%zu), toFloat64(sum(x%zu)), toFloat64(min(x%zu)), toFloat64(max(x%zu)), "
                         "toFloat64(argMin(x%zu, number)), toFloat64(argMax(x%zu, number))",
                         i, i, i, i, i, i);
    if (is_of_processes) {
        gt_buffer_text(sql, " FROM (SELECT job, source, rank, bucket, place AS number");
        for (size_t i = 0; i < question->subjects; i++)
            gt_buffer_printf(sql, ", sum%zu AS x%zu", i, i);
        gt_buffer_text(sql, " FROM (SELECT job, source, rank, bucket, min(number) AS place");
        for (size_t i = 0; i < question->subjects; i++)
            gt_buffer_printf(sql, ", sum(x%zu) AS sum%zu", i, i);
    }
    gt_buffer_printf(sql, " FROM (SELECT job, source%s%s, number, %s", comma, part,
                     is_of_processes ? "time, clock, " : "");
    add_rows(sql, state, answer, gt_engine_table_name(table_of(question)),
             "toFloat64(intDiv(time, 1000000000)) + toFloat64(time % 1000000000) / 1e9");
    gt_buffer_text(sql,
                   is_of_processes ? " AND isNotNull(rank)) GROUP BY job, source, rank, bucket, time, clock))" : ")");
    gt_buffer_printf(sql, " GROUP BY job, source%s%s, bucket", comma, part);
}

/* Returns the part of a rank that a row names, or -1. */
static int find_part(const struct answer *answer, size_t index, const char *name)
{
    const struct gt_job_rank *rank = &answer->job->rank[answer->first + index];
    const struct gt_machine *machine = &rank->machine;
    const char *colon = strrchr(name, ':');
    if (answer->question->subject[0].scope == GT_SCOPE_PROCESS) {
        for (size_t i = 0; i < rank->below_count; i++)
            if (rank->below[i].rank == atoi(name))
                return (int)i;
        return -1;
    }
    for (size_t i = 0; i < machine->gpu_length; i++)
        if (*machine->gpu[i].uuid && strcmp(machine->gpu[i].uuid, name) == 0)
            return (int)i;
    int device = colon ? atoi(colon + 1) : -1; /* "host:0" is a GPU without a UUID */
    return device >= 0 && (size_t)device < machine->gpu_length && !*machine->gpu[device].uuid ? device : -1;
}

static void take_line(struct answer *answer, const struct tracker *tracker, char **field)
{
    const struct gt_job_question *question = answer->question;
    bool is_divided = gt_job_is_divided(question);
    char **value = field + 2 + is_divided;
    size_t bucket = *value ? strtoul(*value, NULL, 10) : question->buckets;
    size_t rank = tracker->rank - answer->first;
    if (bucket >= question->buckets || rank >= answer->count || !answer->is_asked[rank])
        return;
    int part = is_divided && field[2] ? find_part(answer, rank, field[2]) : 0;
    if (part < 0)
        return;
    size_t range = answer->place[rank] + (size_t)part;
    struct gt_job_bucket *ret = answer->bucket + range * question->subjects * question->buckets + bucket;
    bool has_any = question->subject[0].scope != GT_SCOPE_PROCESS;
    for (size_t i = 0; i < question->subjects; i++, ret += question->buckets) {
        char **number = value + 1 + 6 * i;
        *ret = (struct gt_job_bucket){number[0] ? number_of(number[0]) : 0,
                                      number_of(number[1]),
                                      number_of(number[2]),
                                      number_of(number[3]),
                                      number_of(number[4]),
                                      number_of(number[5])};
        has_any |= ret->count > 0;
    }
    answer->is_there[range] |= has_any;
}

static int ask_rows(struct server_job *state, struct answer *answer,
                    void (*add)(struct gt_buffer *sql, const struct server_job *state, const struct answer *answer),
                    struct gt_error *error)
{
    struct gt_buffer sql = {0};
    struct gt_answer lines;
    char *field[4 + 6 * GT_JOB_SUBJECTS];
    add(&sql, state, answer);
    int status = gt_server_query(state->server, &sql, &lines, error);
    while (gt_answer_next(&lines, field, sizeof field / sizeof *field)) {
        const struct tracker *tracker = find_tracker(state, field);
        if (tracker)
            take_line(answer, tracker, field);
    }
    gt_answer_release(&lines);
    return status;
}

static double shift_of(const struct answer *answer, size_t index)
{
    return answer->job->rank[answer->first + index].clock_shift;
}

/* Ask for the marked ranks, with one question for all with the same clock shift. */
static int ask_marked(struct server_job *state, struct answer *answer, const bool *is_marked,
                      void (*add)(struct gt_buffer *sql, const struct server_job *state, const struct answer *answer),
                      struct gt_error *error)
{
    int status = 0;
    for (size_t first = 0; first < answer->count && status >= 0; first++) {
        bool is_met = !is_marked[first];
        answer->clock_shift = shift_of(answer, first);
        for (size_t i = 0; i < answer->count; i++) {
            answer->is_asked[i] = is_marked[i] && fabs(shift_of(answer, i) - answer->clock_shift) <= 0;
            is_met |= answer->is_asked[i] && i < first;
        }
        if (!is_met)
            status = ask_rows(state, answer, add, error);
    }
    return status;
}

/* Ask for minutes where they exist, because samples expire, and for samples of the other ranks. */
static int ask_some(struct server_job *state, struct answer *answer, struct gt_error *error)
{
    bool *is_marked = calloc(answer->count + 1, sizeof *is_marked);
    if (!is_marked)
        return gt_error_system(error, ENOMEM, "%s", state->name);
    for (size_t i = 0; i < answer->count; i++)
        is_marked[i] = gt_job_minutes_answer(answer->question, &answer->job->rank[answer->first + i]);
    int status = ask_marked(state, answer, is_marked, add_minutes, error);
    for (size_t i = 0; i < answer->count; i++)
        is_marked[i] = answer->place[i] < answer->place[i + 1] && !(is_marked[i] && answer->is_there[answer->place[i]]);
    if (status >= 0)
        status = ask_marked(state, answer, is_marked, add_samples, error);
    free(is_marked);
    return status;
}

static int answer_some(struct server_job *state, struct answer *answer,
                       int (*take)(void *context, const struct gt_job_series *series), void *context,
                       struct gt_error *error)
{
    bool is_divided = gt_job_is_divided(answer->question);
    size_t ranges = answer->place[answer->count], size = answer->question->subjects * answer->question->buckets;
    answer->bucket = calloc(ranges * size + 1, sizeof *answer->bucket);
    answer->is_there = calloc(ranges + 1, 1);
    int status = answer->bucket && answer->is_there ? 0 : gt_error_system(error, ENOMEM, "%s", state->name);
    if (status >= 0 && ranges)
        status = ask_some(state, answer, error);
    for (size_t i = 0; i < answer->count; i++)
        for (size_t at = answer->place[i]; at < answer->place[i + 1] && status >= 0; at++)
            if (answer->is_there[at] || !is_divided)
                status = take(context,
                              &(struct gt_job_series){answer->first + i, is_divided ? (int)(at - answer->place[i]) : -1,
                                                      answer->bucket + at * size});
    free(answer->bucket);
    free(answer->is_there);
    return status;
}

/* Ask for as many ranks at once as fit into memory. */
static int read_series(void *state, const struct gt_job *job, const struct gt_job_question *question,
                       int (*take)(void *context, const struct gt_job_series *series), void *context,
                       struct gt_error *error)
{
    struct server_job *server = state;
    struct answer answer = {.job = job, .question = question};
    if (!server->columns.text.length)
        gt_engine_list(&server->columns, server->server, NULL);
    if (part_column(question) &&
        !gt_engine_has(&server->columns, gt_engine_table_name(table_of(question)), part_column(question)))
        return 0; /* tables of earlier versions have no ranks of processes */
    size_t each = question->subjects * question->buckets;
    answer.place = calloc(job->count + 2, sizeof *answer.place);
    answer.is_asked = calloc(job->count + 1, 1);
    int status = answer.place && answer.is_asked ? 0 : gt_error_system(error, ENOMEM, "%s", server->name);
    place_ranks(server, job);
    for (answer.first = 0; status >= 0 && answer.first < job->count; answer.first += answer.count) {
        answer.count = 0;
        while (answer.first + answer.count < job->count && answer.count < RANKS_AT_ONCE &&
               (!answer.count || answer.place[answer.count] * each < BUCKETS_AT_ONCE)) {
            const struct gt_job_rank *rank = &job->rank[answer.first + answer.count];
            answer.place[answer.count + 1] = answer.place[answer.count] +
                                             (part_column(question) ? gt_job_parts(question, rank) : 1);
            answer.count++;
        }
        status = answer_some(server, &answer, take, context, error);
    }
    free(answer.place);
    free(answer.is_asked);
    return status;
}

/* ---- Calls of blocks ---- */

/* Sums need lengths, but no moments of the monotonic clock. */
static int take_call(struct gt_calls_of_rank *calls, char **field, double clock_shift)
{
    int64_t name = gt_strings_add(&calls->names, field[0], strlen(field[0]));
    struct gt_interval *call = name < 0 ? NULL : GT_GROW(calls, interval);
    if (!call)
        return -ENOMEM;
    double start = number_of(field[2]) / 1e9 + clock_shift, length = number_of(field[3]) / 1e9,
           cpu = number_of(field[5]);
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

static void release_calls(struct server_job *state)
{
    for (size_t i = 0; i < state->ranks; i++) {
        free(state->calls[i].interval);
        gt_strings_release(&state->calls[i].names);
    }
    free(state->calls);
    free(state->rows);
    state->calls = NULL;
    state->rows = NULL;
    state->ranks = state->asked = 0;
}

static int count_calls(struct server_job *state, const struct gt_job *job, struct gt_error *error)
{
    struct gt_answer answer;
    char *field[3];
    release_calls(state);
    place_ranks(state, job);
    state->rows = calloc(job->count + 1, sizeof *state->rows);
    state->calls = calloc(job->count + 1, sizeof *state->calls);
    if (!state->rows || !state->calls)
        return gt_error_system(error, ENOMEM, "%s", state->name);
    state->ranks = job->count;
    int status = ask(state, "SELECT job, source, count() FROM calls", "GROUP BY job, source", &answer, error);
    while (gt_answer_next(&answer, field, 3)) {
        const struct tracker *tracker = field[2] ? find_tracker(state, field) : NULL;
        if (tracker && tracker->rank < job->count)
            state->rows[tracker->rank] = strtoull(field[2], NULL, 10);
    }
    gt_answer_release(&answer);
    return status;
}

/* Ask for ranks from `first` on. Steps of a job have the same sources, so the answer may have rows of other batches. */
static int ask_calls(struct server_job *state, const struct gt_job *job, size_t first, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    struct gt_answer answer;
    char *field[8];
    uint64_t rows = 0;
    size_t ranks = 0;
    gt_buffer_printf(&sql,
                     "SELECT job, source, name, pid, start, stop - start, self, toFloat64(cpu_time) FROM calls WHERE "
                     "job IN (%s) AND source IN (",
                     state->jobs);
    for (state->asked = first; state->asked < state->ranks && ranks < RANKS_AT_ONCE; state->asked++) {
        if (ranks && rows + state->rows[state->asked] > CALLS_AT_ONCE)
            break;
        rows += state->rows[state->asked];
        if (state->rows[state->asked])
            gt_buffer_printf(&sql, "%s%u", ranks++ ? ", " : "", tracker_of(state, job, state->asked)->source);
    }
    gt_buffer_text(&sql, ") ORDER BY job, source, number");
    int status = gt_server_query(state->server, &sql, &answer, error);
    while (status >= 0 && gt_answer_next(&answer, field, 8)) {
        const struct tracker *tracker = find_tracker(state, field);
        if (tracker && field[2] && tracker->rank >= first && tracker->rank < state->asked &&
            take_call(&state->calls[tracker->rank], field + 2, tracker->clock_shift) < 0)
            status = gt_error_system(error, ENOMEM, "%s", state->name);
    }
    gt_answer_release(&answer);
    return status;
}

static int read_calls(void *context, const struct gt_job *job, size_t rank, struct gt_calls_of_rank *ret,
                      struct gt_error *error)
{
    struct server_job *state = context;
    int status = rank ? 0 : count_calls(state, job, error);
    if (status >= 0 && rank >= state->asked && state->rows[rank])
        status = ask_calls(state, job, rank, error);
    if (status < 0)
        return status;
    *ret = state->calls[rank];
    state->calls[rank] = (struct gt_calls_of_rank){0};
    return 0;
}

/* ---- Open and close ---- */

static void close_server(void *context)
{
    struct server_job *state = context;
    if (!state)
        return;
    for (size_t i = 0; i < state->count; i++) {
        gt_recorded_release(&state->tracker[i].recorded);
        free(state->tracker[i].job);
        free(state->tracker[i].recording);
    }
    release_calls(state);
    gt_server_close(state->server);
    gt_answer_release(&state->columns);
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
    if (status >= 0) {
        (*ret)->explain = options->explain;
        (*ret)->context = options->context;
    }
    return status;
}

int gt_job_server_open(struct gt_job_source *ret, const char *address, const struct gt_job_server_options *options,
                       struct gt_error *error)
{
    struct gt_address parts;
    struct server_job *state = calloc(1, sizeof *state);
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
                                  .series = read_series,
                                  .calls = read_calls,
                                  .close = close_server};
    return 0;
}

/* ---- Jobs ---- */

static const struct {
    const char *name, *title;
    enum gt_cell_kind kind;
} columns[] = {{"job", "Job", GT_CELL_TEXT},          {"started", "Started", GT_CELL_TEXT},
               {"heard", "Last heard", GT_CELL_TEXT}, {"trackers", "Trackers", GT_CELL_INTEGER},
               {"ended", "Ended", GT_CELL_INTEGER},   {"command", "Command", GT_CELL_TEXT}};

static int list(struct gt_report *report, struct gt_server *server, size_t most, struct gt_error *error)
{
    struct gt_buffer sql = {0};
    struct gt_answer answer;
    char *field[6];
    struct gt_table *table = gt_report_table(&report->root, "jobs", "Jobs");
    gt_table_flags(table, GT_KEYED);
    for (int i = 0; i < 6; i++)
        gt_table_column(table, columns[i].name, columns[i].title, columns[i].kind, NULL);
    gt_buffer_printf(
        &sql,
        "SELECT job, toString(toDateTime(intDiv(min(began), 1000000000), 'UTC')), toString(toDateTime(intDiv(max(last), "
        "1000000000), 'UTC')), count(), sum(done), any(said) FROM (SELECT job, source, argMax(started, version) AS began, "
        "argMax(heard, version) AS last, argMax(complete, version) AS done, argMax(command, version) AS said FROM trackers "
        "GROUP BY job, source) GROUP BY job ORDER BY min(began) DESC LIMIT %zu",
        most);
    int status = gt_server_query(server, &sql, &answer, error);
    while (status >= 0 && gt_answer_next(&answer, field, 6)) {
        for (int i = 0; i < 3; i++)
            gt_table_text(table, field[i]);
        gt_table_integer(table, field[3] ? atoll(field[3]) : 0);
        gt_table_integer(table, field[4] ? atoll(field[4]) : 0);
        gt_table_text(table, field[5]);
    }
    gt_answer_release(&answer);
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
