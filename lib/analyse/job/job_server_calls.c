#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyse/job/job_calls.h"
#include "analyse/job/job_server_state.h"
#include "base/grow.h"

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

static int read_calls_of(void *context, const struct gt_job_rank *rank, struct gt_calls_of_rank *ret,
                         struct gt_error *error)
{
    struct gt_job_server *state = context;
    const struct gt_job_tracker *tracker = gt_job_server_tracker_of(state, rank);
    struct gt_buffer rest = {0}, text = {0};
    struct gt_answer answer;
    char *field[6];
    if (!tracker)
        return 0;
    gt_buffer_text(&rest, "AND job = ");
    gt_sql_text(&rest, tracker->job);
    gt_buffer_printf(&rest, " AND source = %u ORDER BY number", tracker->source);
    int status = rest.failed
                     ? gt_error_system(error, ENOMEM, "%s", state->name)
                     : gt_job_server_ask(state,
                                         "SELECT name, pid, start, stop - start, self, toFloat64(cpu_time) FROM calls",
                                         rest.data, &text, error);
    gt_answer_begin(&answer, &text);
    while (status >= 0 && gt_answer_next(&answer, field, 6))
        if (field[0] && take_call(ret, field) < 0)
            status = gt_error_system(error, ENOMEM, "%s", state->name);
    gt_buffer_release(&rest);
    gt_buffer_release(&text);
    return status;
}

int gt_job_server_calls(void *state, const struct gt_job *job,
                        int (*take)(void *context, const struct gt_job_calls *calls), void *context,
                        struct gt_error *error)
{
    return gt_job_calls_by_name(job, &(struct gt_calls_reader){read_calls_of, state}, take, context, error);
}

int gt_job_server_steps(void *state, const struct gt_job *job,
                        int (*take)(void *context, const struct gt_job_step *step), void *context,
                        struct gt_error *error)
{
    return gt_job_calls_by_number(job, &(struct gt_calls_reader){read_calls_of, state}, take, context, error);
}
