#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job_server_state.h"

enum { BUCKETS_AT_ONCE = 1 << 19 };

/* Some ranks, each with a stretch of the answer for each of its GPUs or of the ranks below it, or one. */
struct answer {
    const struct gt_job *job;
    const struct gt_job_question *question;
    size_t first, count;
    const struct gt_job_tracker *const *tracker; /* [count] */
    double clock_shift;                          /* of the ranks that are asked for */
    size_t *place;                               /* [count + 1]: the first stretch of each rank */
    bool *is_asked;                              /* [count] */
    struct gt_job_bucket *bucket;                /* [stretches][subjects][buckets] */
    bool *is_there;                              /* [stretches] */
};

/* What the parts of a rank are called in rows; NULL: it is not divided. */
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

static void add_subject(struct gt_buffer *sql, const struct gt_job_server *state, const char *table,
                        const struct gt_job_subject *subject, size_t number)
{
    char column[160];
    bool is_alone = subject->scope == GT_SCOPE_GPU || subject->scope == GT_SCOPE_PROCESS; /* in its table */
    snprintf(column, sizeof column, "%s%s%s", is_alone ? "" : gt_scope_name(subject->scope), is_alone ? "" : "_",
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
static void add_bucket(struct gt_buffer *sql, const struct answer *answer, const char *time)
{
    const struct gt_job_question *question = answer->question;
    gt_buffer_printf(sql, "toUInt32(greatest(least((%s - %.17g) / %.17g, %.1f), 0.0)) AS bucket", time,
                     question->begin - answer->clock_shift, question->width, (double)question->buckets - 1);
}

static void add_rows(struct gt_buffer *sql, const struct gt_job_server *state, const struct answer *answer,
                     const char *table)
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

static void add_question_of_minutes(struct gt_buffer *sql, const struct gt_job_server *state,
                                    const struct answer *answer)
{
    gt_buffer_text(sql, "SELECT job, source, bucket");
    for (size_t i = 0; i < answer->question->subjects; i++)
        add_figures_of_minutes(sql, &answer->question->subject[i], i);
    gt_buffer_text(sql, " FROM (SELECT job, source, number, statistic, weight, ");
    add_bucket(sql, answer, "toFloat64(intDiv(time, 1000000000))");
    add_rows(sql, state, answer, "minutes");
    gt_buffer_text(sql, ") GROUP BY job, source, bucket");
}

static const char time_of_sample[] = "toFloat64(intDiv(time, 1000000000)) + toFloat64(time % 1000000000) / 1e9";

static void add_figures(struct gt_buffer *sql, const struct gt_job_question *question)
{
    for (size_t i = 0; i < question->subjects; i++)
        gt_buffer_printf(sql,
                         ", count(x%zu), toFloat64(sum(x%zu)), toFloat64(min(x%zu)), toFloat64(max(x%zu)), "
                         "toFloat64(argMin(x%zu, number)), toFloat64(argMax(x%zu, number))",
                         i, i, i, i, i, i);
}

static void add_question(struct gt_buffer *sql, const struct gt_job_server *state, const struct answer *answer)
{
    const struct gt_job_question *question = answer->question;
    const char *part = part_column(question);
    const char *comma = part ? ", " : "";
    part = part ? part : "";
    gt_buffer_printf(sql, "SELECT job, source%s%s, bucket", comma, part);
    add_figures(sql, question);
    gt_buffer_printf(sql, " FROM (SELECT job, source%s%s, number, ", comma, part);
    add_bucket(sql, answer, time_of_sample);
    add_rows(sql, state, answer, gt_engine_table_name(table_of(question)));
    gt_buffer_printf(sql, ") GROUP BY job, source%s%s, bucket", comma, part);
}

/* The processes of a rank at one moment are added up first. */
static void add_question_of_processes(struct gt_buffer *sql, const struct gt_job_server *state,
                                      const struct answer *answer)
{
    const struct gt_job_question *question = answer->question;
    gt_buffer_text(sql, "SELECT job, source, rank, bucket");
    add_figures(sql, question);
    gt_buffer_text(sql, " FROM (SELECT job, source, rank, bucket, place AS number");
    for (size_t i = 0; i < question->subjects; i++)
        gt_buffer_printf(sql, ", sum%zu AS x%zu", i, i);
    gt_buffer_text(sql, " FROM (SELECT job, source, rank, bucket, min(number) AS place");
    for (size_t i = 0; i < question->subjects; i++)
        gt_buffer_printf(sql, ", sum(x%zu) AS sum%zu", i, i);
    gt_buffer_text(sql, " FROM (SELECT job, source, rank, number, time, clock, ");
    add_bucket(sql, answer, time_of_sample);
    add_rows(sql, state, answer, gt_engine_table_name(table_of(question)));
    gt_buffer_text(sql, " AND isNotNull(rank)) GROUP BY job, source, rank, bucket, time, clock)) GROUP BY job, source, "
                        "rank, bucket");
}

/* The number of the GPU of a tracker that rows call `uuid`. */
static int find_device(const struct gt_job_tracker *tracker, const char *uuid)
{
    const struct gt_machine *machine = &tracker->recorded.machine;
    const char *colon = strrchr(uuid, ':');
    for (size_t i = 0; i < machine->gpu_length; i++)
        if (*machine->gpu[i].uuid && strcmp(machine->gpu[i].uuid, uuid) == 0)
            return (int)i;
    int device = colon ? atoi(colon + 1) : -1;
    return device >= 0 && (size_t)device < machine->gpu_length && !*machine->gpu[device].uuid ? device : -1;
}

static int find_below(const struct gt_job_rank *rank, int number)
{
    for (size_t i = 0; i < rank->below_count; i++)
        if (rank->below[i].rank == number)
            return (int)i;
    return -1;
}

/* The number of the part of a rank that a row is of; 0 where ranks are not divided. */
static int find_part(const struct answer *answer, size_t rank, const char *name)
{
    if (!name)
        return 0;
    if (answer->question->subject[0].scope == GT_SCOPE_PROCESS)
        return find_below(&answer->job->rank[answer->first + rank], atoi(name));
    return find_device(answer->tracker[rank], name);
}

/* Figures of a subject in an answer. Returns true where it has one. */
static bool take_figures(struct gt_job_bucket *ret, char **field)
{
    *ret = (struct gt_job_bucket){.count = field[0] ? gt_job_server_number(field[0]) : 0,
                                  .sum = gt_job_server_number(field[1]),
                                  .least = gt_job_server_number(field[2]),
                                  .most = gt_job_server_number(field[3]),
                                  .first = gt_job_server_number(field[4]),
                                  .last = gt_job_server_number(field[5])};
    return ret->count > 0;
}

static void take_line(struct answer *answer, const struct gt_job_tracker *tracker, char **field)
{
    const struct gt_job_question *question = answer->question;
    bool is_divided = gt_job_is_divided(question);
    char **value = field + 2 + is_divided;
    size_t bucket = *value ? strtoul(*value, NULL, 10) : question->buckets;
    size_t rank = tracker->rank - answer->first;
    if (bucket >= question->buckets || rank >= answer->count || !answer->is_asked[rank])
        return;
    int part = find_part(answer, rank, is_divided ? field[2] : NULL);
    if (part < 0)
        return;
    size_t stretch = answer->place[rank] + (size_t)part;
    struct gt_job_bucket *ret = answer->bucket + stretch * question->subjects * question->buckets + bucket;
    bool has_any = false;
    for (size_t i = 0; i < question->subjects; i++)
        has_any |= take_figures(&ret[i * question->buckets], value + 1 + 6 * i);
    answer->is_there[stretch] |= has_any || question->subject[0].scope != GT_SCOPE_PROCESS;
}

static int ask_rows(struct gt_job_server *state, struct answer *answer,
                    void (*add)(struct gt_buffer *sql, const struct gt_job_server *state, const struct answer *answer),
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
        const struct gt_job_tracker *tracker = gt_job_server_tracker(state, field[0], field[1]);
        if (tracker)
            take_line(answer, tracker, field);
    }
    gt_buffer_release(&sql);
    gt_buffer_release(&text);
    return status;
}

static bool is_same_clock(const struct answer *answer, size_t one, size_t other)
{
    return fabs(answer->tracker[one]->clock_shift - answer->tracker[other]->clock_shift) <= 0;
}

/* Ask for the ranks that are marked, those whose clocks are off by the same together. */
static int ask_marked(struct gt_job_server *state, struct answer *answer, const bool *is_marked,
                      void (*add)(struct gt_buffer *sql, const struct gt_job_server *state,
                                  const struct answer *answer),
                      struct gt_error *error)
{
    int status = 0;
    for (size_t first = 0; first < answer->count && status >= 0; first++) {
        bool is_met = !is_marked[first];
        for (size_t i = 0; i < first && !is_met; i++)
            is_met = is_marked[i] && is_same_clock(answer, i, first);
        if (is_met)
            continue;
        answer->clock_shift = answer->tracker[first]->clock_shift;
        for (size_t i = 0; i < answer->count; i++)
            answer->is_asked[i] = is_marked[i] && is_same_clock(answer, i, first);
        status = ask_rows(state, answer, add, error);
    }
    return status;
}

/* Minutes of those that have them, which stay when samples are gone; samples of the others. */
static int ask_some(struct gt_job_server *state, struct answer *answer, struct gt_error *error)
{
    bool is_of_processes = answer->question->subject[0].scope == GT_SCOPE_PROCESS;
    bool *is_marked = calloc(answer->count + 1, sizeof *is_marked);
    if (!is_marked)
        return gt_error_system(error, ENOMEM, "%s", state->name);
    for (size_t i = 0; i < answer->count; i++)
        is_marked[i] = answer->tracker[i] &&
                       gt_job_minutes_answer(answer->question, &answer->job->rank[answer->first + i]);
    int status = ask_marked(state, answer, is_marked, add_question_of_minutes, error);
    for (size_t i = 0; i < answer->count; i++)
        is_marked[i] = answer->tracker[i] && answer->place[i] < answer->place[i + 1] &&
                       !(is_marked[i] && answer->is_there[answer->place[i]]);
    if (status >= 0)
        status = ask_marked(state, answer, is_marked, is_of_processes ? add_question_of_processes : add_question,
                            error);
    free(is_marked);
    return status;
}

static int hand_on(const struct answer *answer, int (*take)(void *context, const struct gt_job_series *series),
                   void *context)
{
    const struct gt_job_question *question = answer->question;
    bool is_divided = gt_job_is_divided(question);
    int status = 0;
    for (size_t i = 0; i < answer->count; i++)
        for (size_t at = answer->place[i]; at < answer->place[i + 1] && status >= 0; at++)
            if (answer->is_there[at] || !is_divided)
                status = take(context,
                              &(struct gt_job_series){answer->first + i, is_divided ? (int)(at - answer->place[i]) : -1,
                                                      answer->bucket + at * question->subjects * question->buckets});
    return status;
}

static int answer_some(struct gt_job_server *state, struct answer *answer,
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
int gt_job_server_series(void *state, const struct gt_job *job, const struct gt_job_question *question,
                         int (*take)(void *context, const struct gt_job_series *series), void *context,
                         struct gt_error *error)
{
    struct gt_job_server *server = state;
    struct answer answer = {.job = job, .question = question};
    if (!server->columns.text.length)
        gt_engine_list(&server->columns, server->server);
    if (part_column(question) &&
        !gt_engine_has(&server->columns, gt_engine_table_name(table_of(question)), part_column(question)))
        return 0; /* a table of an earlier version does not tell the ranks of processes */
    size_t each = question->subjects * question->buckets;
    answer.place = calloc(job->count + 2, sizeof *answer.place);
    answer.is_asked = calloc(job->count + 1, 1);
    int status = answer.place && answer.is_asked ? gt_job_server_place(server, job, error)
                                                 : gt_error_system(error, ENOMEM, "%s", server->name);
    for (answer.first = 0; status >= 0 && answer.first < job->count; answer.first += answer.count) {
        answer.count = 0;
        answer.tracker = server->of_rank + answer.first;
        while (answer.first + answer.count < job->count && answer.count < GT_JOB_RANKS_AT_ONCE &&
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
