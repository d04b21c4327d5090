#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/job/job_calls.h"
#include "analyse/job/job_server_state.h"
#include "base/grow.h"

/* ---- One call --------------------------------------------------------------------------------------------------- */

/* Only what the sums need: lengths, and not the moments of the clock that never steps. */
static int take_call(struct gt_calls_of_rank *calls, char **field)
{
    int64_t name = gt_strings_add(&calls->names, field[0], strlen(field[0]));
    struct gt_interval *call = name < 0 ? NULL : GT_GROW(calls, interval);
    if (!call)
        return -ENOMEM;
    double start = gt_job_server_number(field[2]) / 1e9, length = gt_job_server_number(field[3]) / 1e9,
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

static int count_calls(struct batch *batch, struct gt_error *error)
{
    struct gt_job_server *state = batch->state;
    struct gt_buffer text = {0};
    struct gt_answer answer;
    char *field[3];
    int status = gt_job_server_ask(state, "SELECT job, source, count() FROM calls", "GROUP BY job, source", &text,
                                   error);
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
            take_call(&batch->calls[tracker->rank], field + 2) < 0)
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
                     : gt_job_server_ask(
                           state,
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

int gt_job_server_calls(void *state, const struct gt_job *job,
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

int gt_job_server_steps(void *state, const struct gt_job *job,
                        int (*take)(void *context, const struct gt_job_step *step), void *context,
                        struct gt_error *error)
{
    struct batch batch;
    int status = begin(&batch, state, job, error);
    if (status >= 0)
        status = gt_job_calls_by_number(job, &(struct gt_calls_reader){read_calls_of, &batch}, take, context, error);
    release(&batch);
    return status;
}
