/* Rules over ranks: stages of a pipeline, traces that end early, and collectives that hang. Stages exchange data by sends and receives;
 * the one that computes longest sets the pace of all. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/advice.h"
#include "analyse/gpu/collectives.h"
#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "analyse/trace/step_spans.h"
#include "base/buffer.h"
#include "base/number.h"
#include "schema/human.h"

bool gt_advice_is_pipeline(const struct gt_rows *times, size_t row)
{
    int64_t all = gt_rows_wholes(times, "sum")[row];
    return all > 0 && 2 * gt_rows_wholes(times, "to_another")[row] >= all;
}

/* Of a stage that sends by copies the trace has no communication: two others suffice. */
static bool find_pipeline(const struct gt_adviser *adviser)
{
    struct gt_rows times = gt_communication_times(adviser->input, GT_ADVICE_COLLECTIVES, "node");
    size_t stages = 0;
    for (size_t i = 0; i < times.count; i++)
        stages += gt_advice_is_pipeline(&times, i);
    return stages >= 2;
}

struct stage {
    const struct gt_rank_figures *rank;
    double own, others; /* ns in which a GPU computes: its own, and the median of the others */
};

/* Stages of one pipeline have the same time: what they compute is compared as it is. */
static int find_slowest(const struct gt_adviser *adviser, struct stage *ret)
{
    struct gt_numbers others = {0};
    size_t at = gt_ranks_worst(adviser->rank, adviser->ranks, GT_RANK_COMPUTE);
    int status = 0;
    for (size_t i = 0; i < adviser->ranks && at != SIZE_MAX && status >= 0; i++) {
        const struct gt_rank_figures *rank = &adviser->rank[i];
        double computing = rank->figure[GT_RANK_COMPUTE] / (double)rank->gpus;
        if (i == at)
            *ret = (struct stage){rank, computing, 0};
        else if (rank->has_gpu)
            status = gt_numbers_add(&others, computing);
    }
    if (at != SIZE_MAX)
        ret->others = gt_numbers_percentile(&others, 50);
    gt_numbers_release(&others);
    return status < 0 ? status : at != SIZE_MAX;
}

/* "its kernels are 100 % slower (...)", or how many more there are of them. */
static void write_cause(const struct gt_adviser *adviser, const struct gt_rank_figures *rank, char *text, size_t size)
{
    size_t at = (size_t)(rank - adviser->rank), all = 0, others = 0;
    double own = rank->figure[GT_RANK_KERNEL];
    double median = gt_ranks_median(adviser->rank, adviser->ranks, at, GT_RANK_KERNEL);
    for (size_t i = 0; i < adviser->ranks; i++) {
        others += i != at && adviser->rank[i].has_gpu;
        all += i != at ? adviser->rank[i].kernels : 0;
    }
    if (gt_percent(own - median, median) >= 5)
        snprintf(text, size, "its kernels are %.0f %% slower (on average %s, the others' %s)",
                 gt_percent(own - median, median), GT_TIME_WORDS(own), GT_TIME_WORDS(median));
    else
        snprintf(text, size, "it has %zu computing kernels, the others %.0f on average", rank->kernels,
                 (double)all / (double)(others ? others : 1));
}

/* On each GPU of a rank. */
static int put_awaited(struct gt_adviser *adviser, uint32_t rank, double awaited)
{
    struct gt_rows work = gt_view_work(adviser->input);
    struct gt_rows devices = gt_rows_group(&work, "node device", GT_AGGREGATES({.as = NULL}));
    const uint32_t *node = gt_rows_keys(&devices, "node"), *device = gt_rows_keys(&devices, "device");
    int status = 0;
    for (size_t i = 0; i < devices.count && status >= 0; i++)
        if (node[i] == rank && awaited > 0)
            status = gt_spans_add(&adviser->awaited,
                                  (struct gt_keyed_span){.key = {rank, device[i]}, .end = (int64_t)awaited});
    return status;
}

/* What the others wait for it is no loss of their own: first what they wait in communication, then what they stand still. */
static int put_waits(struct gt_adviser *adviser, const struct stage *slowest)
{
    int status = 0;
    for (size_t i = 0; i < adviser->ranks && status >= 0; i++) {
        const struct gt_rank_figures *rank = &adviser->rank[i];
        double wait = slowest->own - rank->figure[GT_RANK_COMPUTE] / (double)rank->gpus;
        if (rank == slowest->rank || !rank->has_gpu || !(wait > 0))
            continue;
        double awaited = fmin(wait, rank->figure[GT_RANK_COMMUNICATION] / (double)rank->gpus);
        if (GT_APPEND_TO(adviser, blame,
                         (struct gt_blame){{GT_LOSS_HOST, GT_LOSS_OF_STRAGGLER, rank->node}, wait - awaited}) < 0)
            return -ENOMEM;
        status = put_awaited(adviser, rank->node, awaited);
    }
    return status;
}

static void judge_stages(struct gt_adviser *adviser)
{
    struct stage slowest = {0};
    char cause[200];
    int status = find_slowest(adviser, &slowest);
    if (status <= 0) {
        adviser->status = status;
        return;
    }
    write_cause(adviser, slowest.rank, cause, sizeof cause);
    double whole = slowest.rank->whole / (double)slowest.rank->gpus;
    bool told = gt_advise(
        adviser, gt_gain_of_rank(adviser, GT_TRACE_NONE, slowest.own - slowest.others), "breakdown, kernels",
        "%s is the slowest stage of a pipeline: its GPU computes %.0f %% of the time, those of the others %.0f %%, and they wait for it in sends and receives; %s",
        gt_analysis_text(adviser->input, slowest.rank->node), gt_percent(slowest.own, whole),
        gt_percent(slowest.others, whole), cause);
    if (told)
        adviser->status = put_waits(adviser, &slowest);
}

const char *gt_advice_apart(const struct gt_adviser *adviser)
{
    return adviser->is_pipeline ? "waiting for the slowest stage" : "what makes the others wait";
}

bool gt_advise_pipeline(struct gt_adviser *adviser)
{
    adviser->is_pipeline = find_pipeline(adviser);
    if (adviser->is_pipeline)
        judge_stages(adviser);
    return adviser->is_pipeline;
}

/* ---- ranks whose traces end before those of the others ---- */

struct rank_end {
    uint32_t node, last; /* last: number of its last step */
    size_t steps;
};

static bool is_cut_off(const struct gt_analysis_input *input, uint32_t node)
{
    bool is_cut = false;
    for (size_t i = 0; i < input->trace->file_count; i++)
        is_cut |= input->node[i] == node && input->trace->file[i].damage.cut_off;
    return is_cut;
}

/* Ends are those of one mode. */
static void judge_ends(struct gt_adviser *adviser, const struct rank_end *end, size_t count)
{
    struct gt_numbers last = {0}, steps = {0};
    for (size_t i = 0; i < count && adviser->status >= 0; i++) {
        adviser->status = gt_numbers_add(&last, end[i].last);
        if (adviser->status >= 0)
            adviser->status = gt_numbers_add(&steps, (double)end[i].steps);
    }
    gt_numbers_percentile(&last, 50); /* sorts them */
    gt_numbers_percentile(&steps, 50);
    for (size_t i = 0; i < count && count > 1 && adviser->status >= 0; i++) {
        double others = gt_advice_median_of_others(&last, end[i].last);
        double of = gt_advice_median_of_others(&steps, (double)end[i].steps);
        const char *node = gt_analysis_text(adviser->input, end[i].node);
        bool is_cut = is_cut_off(adviser->input, end[i].node);
        if (!(end[i].last < others && (double)end[i].steps < of))
            continue;
        gt_advise(adviser, GT_NO_GAIN, "steps",
                  "%s: its trace %s after step %" PRIu32
                  ", those of the other ranks after step %.0f: it has %zu of %.0f steps; %s",
                  node, is_cut ? "is cut off" : "ends", end[i].last, others, end[i].steps, of,
                  is_cut ? "the file is incomplete" : "the rank stopped early, or was recorded for a shorter time");
    }
    gt_numbers_release(&last);
    gt_numbers_release(&steps);
}

void gt_advise_ends(struct gt_adviser *adviser)
{
    struct gt_spans steps = {0};
    size_t count = 0;
    adviser->status = gt_step_spans(adviser->input, &steps);
    struct rank_end *end = calloc(steps.count + 1, sizeof *end);
    for (size_t i = 0; i < steps.count; i++) { /* mode, node, number */
        uint32_t node = steps.span[i].key[0];
        steps.span[i].key[0] = steps.span[i].key[1];
        steps.span[i].key[1] = node;
    }
    gt_spans_sort(&steps);
    adviser->status = adviser->status < 0 || end ? adviser->status : -ENOMEM;
    for (size_t from = 0, to = 0; adviser->status >= 0 && gt_spans_next(&steps, 2, &from, &to);) {
        end[count++] = (struct rank_end){steps.span[from].key[1], steps.span[to - 1].key[2], to - from};
        if (to < steps.count && steps.span[to].key[0] == steps.span[from].key[0])
            continue;
        judge_ends(adviser, end, count);
        count = 0;
    }
    free(end);
    gt_spans_release(&steps);
}

/* ---- What dumps of NCCL's flight recorder tell of a job that hangs ---- */

enum { MOST = 100 }; /* characters of a list of ranks */

struct hangs {
    struct gt_adviser *adviser;
    size_t open, different; /* collectives so far */
};

/* The first one is told: what follows it cannot go on. */
static void tell_open(struct hangs *hangs, const struct gt_flight_call *call)
{
    static const char *const words[GT_FLIGHT_STATES] = {"scheduled by", "running on", "finished by", "not called by"};
    struct gt_buffer ranks = {0};
    if (hangs->open++)
        return;
    for (int state = GT_FLIGHT_STATES; state-- > 0;)
        if (call->ranks[state])
            gt_buffer_printf(&ranks, "%s %s rank %.*s%s", ranks.length ? "," : ":", words[state], MOST,
                             call->ranks[state], strlen(call->ranks[state]) > MOST ? " ..." : "");
    gt_advise(hangs->adviser, GT_NO_GAIN, "flight", "%s %" PRId64 " of process group %s is not finished by all ranks%s",
              call->name, call->number, call->group, ranks.length ? ranks.data : "");
    gt_buffer_release(&ranks);
}

static void take_call(void *context, const struct gt_flight_call *call)
{
    struct hangs *hangs = context;
    if (call->is_open)
        tell_open(hangs, call);
    if (call->differs && !hangs->different++)
        gt_advise(hangs->adviser, GT_NO_GAIN, "flight",
                  "%s %" PRId64 " of process group %s is not the same call on all ranks: its name or sizes differ",
                  call->name, call->number, call->group);
}

void gt_advise_hangs(struct gt_adviser *adviser)
{
    struct hangs hangs = {.adviser = adviser};
    int status = gt_flight_visit(adviser->input, GT_ADVICE_FLIGHT, &(struct gt_flight_visitor){take_call, &hangs});
    adviser->status = status < 0 ? status : adviser->status;
}
