/* Rules over ranks: stages of a pipeline, traces that end early, and collectives that hang. Stages exchange data by
 * sends and receives; the one that computes longest sets the pace of all. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/advice/findings.h"
#include "analyse/gpu/collectives.h"
#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "analyse/trace/training.h"
#include "base/buffer.h"
#include "base/number.h"
#include "schema/human.h"

bool gt_is_pipeline(const struct gt_rows *times, size_t row)
{
    int64_t all = gt_rows_wholes(times, "sum")[row];
    return all > 0 && 2 * gt_rows_wholes(times, "to_another")[row] >= all;
}

/* Of a stage that sends by copies the trace has no communication: two others suffice. */
static bool find_pipeline(const struct gt_findings *findings)
{
    struct gt_rows times = gt_communication_times(findings->input, GT_RULE_COLLECTIVES, "node");
    size_t stages = 0;
    for (size_t i = 0; i < times.count; i++)
        stages += gt_is_pipeline(&times, i);
    return stages >= 2;
}

struct stage {
    const struct gt_rank_figures *rank;
    double own, others; /* ns in which a GPU computes: its own, and the median of the others */
};

/* Stages of one pipeline have the same time: what they compute is compared as it is. */
static int find_slowest(const struct gt_findings *findings, struct stage *ret)
{
    struct gt_numbers others = {0};
    size_t at = findings->worst[GT_RANK_COMPUTE];
    int status = 0;
    for (size_t i = 0; i < findings->ranks && at != SIZE_MAX && status >= 0; i++) {
        const struct gt_rank_figures *rank = &findings->rank[i];
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
static void write_cause(const struct gt_findings *findings, const struct gt_rank_figures *rank, char *text, size_t size)
{
    size_t at = (size_t)(rank - findings->rank), all = 0, others = 0;
    double own = rank->figure[GT_RANK_KERNEL];
    double median = gt_ranks_median(findings->rank, findings->ranks, at, GT_RANK_KERNEL);
    for (size_t i = 0; i < findings->ranks; i++) {
        others += i != at && findings->rank[i].has_gpu;
        all += i != at ? findings->rank[i].kernels : 0;
    }
    if (gt_percent(own - median, median) >= 5)
        snprintf(text, size, "its kernels are %.0f %% slower (on average %s, the others' %s)",
                 gt_percent(own - median, median), GT_TIME_WORDS(own), GT_TIME_WORDS(median));
    else
        snprintf(text, size, "it has %zu computing kernels, the others %.0f on average", rank->kernels,
                 (double)all / (double)(others ? others : 1));
}

/* What the others wait for it is no loss of their own: first what they wait in communication, then what they stand
 * still. */
static void attribute_waits(struct gt_findings *findings, const struct stage *slowest)
{
    struct gt_rows work = gt_view_work(findings->input);
    struct gt_rows devices = gt_rows_group(&work, "node device", GT_AGGREGATES({.as = NULL}));
    const uint32_t *node = gt_rows_keys(&devices, "node"), *device = gt_rows_keys(&devices, "device");
    for (size_t i = 0; i < findings->ranks && findings->status >= 0; i++) {
        const struct gt_rank_figures *rank = &findings->rank[i];
        double wait = slowest->own - rank->figure[GT_RANK_COMPUTE] / (double)rank->gpus;
        if (rank == slowest->rank || !rank->has_gpu || !(wait > 0))
            continue;
        double awaited = fmin(wait, rank->figure[GT_RANK_COMMUNICATION] / (double)rank->gpus);
        gt_attribute_time(findings, (struct gt_attributed){GT_CAUSE_HOST, rank->node, wait - awaited});
        for (size_t k = 0; k < devices.count && findings->status >= 0; k++)
            if (node[k] == rank->node && awaited > 0)
                findings->status = gt_spans_add(
                    &findings->awaited,
                    (struct gt_keyed_span){.key = {rank->node, device[k]}, .end = (int64_t)awaited});
    }
}

static void judge_stages(struct gt_findings *findings)
{
    struct stage slowest = {0};
    char cause[200];
    int status = find_slowest(findings, &slowest);
    if (status <= 0) {
        findings->status = status;
        return;
    }
    write_cause(findings, slowest.rank, cause, sizeof cause);
    double whole = slowest.rank->whole / (double)slowest.rank->gpus;
    if (gt_finding_add(
            findings, GT_RULE_SLOW_STAGE, GT_IN_JOB,
            gt_saving_on(findings, GT_TRACE_NONE, slowest.own - slowest.others),
            "%s is the slowest stage of a pipeline: its GPU computes %.0f %% of the time, those of the others %.0f %%, and they wait for it in sends and receives; %s",
            gt_analysis_text(findings->input, slowest.rank->node), gt_percent(slowest.own, whole),
            gt_percent(slowest.others, whole), cause))
        attribute_waits(findings, &slowest);
}

const char *gt_words_apart(const struct gt_findings *findings)
{
    return findings->is_pipeline ? "waiting for the slowest stage" : "what makes the others wait";
}

bool gt_rules_pipeline(struct gt_findings *findings)
{
    findings->is_pipeline = find_pipeline(findings);
    if (findings->is_pipeline)
        judge_stages(findings);
    return findings->is_pipeline;
}

/* ---- ranks that are gone after the last step of all: the others wait for them in a collective ---- */

/* The wait is of no device's own communication. */
static void await(struct gt_findings *findings, const struct gt_rank_figures *gone, double missing)
{
    struct gt_rows times = gt_view_device_times(findings->input);
    const uint32_t *node = gt_rows_keys(&times, "node"), *device = gt_rows_keys(&times, "device");
    for (size_t i = 0; i < times.count && findings->status >= 0; i++)
        if (node[i] != gone->node && !(gt_awaited_time(findings, node[i], device[i]) > 0))
            findings->status = gt_spans_add(
                &findings->awaited, (struct gt_keyed_span){.key = {node[i], device[i]}, .end = (int64_t)missing});
}

void gt_rules_gone(struct gt_findings *findings)
{
    for (size_t i = 0; i < findings->ranks && findings->status >= 0; i++) {
        const struct gt_rank_figures *rank = &findings->rank[i];
        double shortest = INFINITY; /* of the others */
        bool are_waiting = true;
        for (size_t j = 0; j < findings->ranks; j++) {
            const struct gt_rank_figures *other = &findings->rank[j];
            double missing = findings->time[j] - findings->time[i];
            if (i == j)
                continue;
            are_waiting &= other->has_gpu && other->steps == rank->steps &&
                           other->figure[GT_RANK_COMMUNICATION] / (double)other->gpus > missing;
            shortest = fmin(shortest, missing);
        }
        if (!rank->has_gpu || !rank->steps || !are_waiting || isinf(shortest) || shortest < 0.05 * findings->time[i])
            continue;
        if (gt_finding_add(
                findings, GT_RULE_SHORT_TRACE, GT_IN_JOB, gt_saving_on(findings, GT_TRACE_NONE, shortest),
                "the trace of %s ends %s before those of the other ranks, after the same %zu steps, and they wait in communication: the rank stopped, or was recorded for a shorter time",
                gt_analysis_text(findings->input, rank->node), GT_TIME_WORDS(shortest), rank->steps))
            await(findings, rank, shortest);
    }
}

/* ---- ranks whose traces end before those of the others ---- */

static bool is_cut_off(const struct gt_analysis_input *input, uint32_t node)
{
    bool is_cut = false;
    for (size_t i = 0; i < input->trace->file_count; i++)
        is_cut |= input->node[i] == node && input->trace->file[i].damage.cut_off;
    return is_cut;
}

/* Ranks are compared with those of the same mode. */
void gt_rules_ends(struct gt_findings *findings)
{
    struct gt_rows ends = gt_rows_of_steps(findings->input);
    ends = gt_rows_group(&ends, "mode node", GT_AGGREGATES(GT_COUNT("steps"), GT_MAX("last", "step")));
    const uint32_t *node = gt_rows_keys(&ends, "node"), *last = gt_rows_keys(&ends, "last");
    const int64_t *steps = gt_rows_wholes(&ends, "steps");
    const double *others = gt_rows_others(&ends, "others_last", "last", "mode");
    const double *of = gt_rows_others(&ends, "others_steps", "steps", "mode");
    for (size_t i = 0; i < ends.count; i++) {
        bool is_cut = is_cut_off(findings->input, node[i]);
        if (last[i] < others[i] && (double)steps[i] < of[i])
            gt_finding_add(findings, GT_RULE_SHORT_TRACE, GT_ON_NODE(node[i]), GT_NO_SAVING,
                           "its trace %s after step %" PRIu32
                           ", those of the other ranks after step %.0f: it has %zu of %.0f steps; %s",
                           is_cut ? "is cut off" : "ends", last[i], others[i], (size_t)steps[i], of[i],
                           is_cut ? "the file is incomplete"
                                  : "the rank stopped early, or was recorded for a shorter time");
    }
}

/* ---- a job that hangs, in dumps of NCCL's flight recorder ---- */

enum { MOST = 100 }; /* characters of a list of ranks */

struct hangs {
    struct gt_findings *findings;
    size_t open, different; /* collectives so far */
};

/* Only the first one is reported: what follows it cannot go on. */
static void add_open(struct hangs *hangs, const struct gt_flight_call *call)
{
    static const char *const words[GT_FLIGHT_STATES] = {"scheduled by", "running on", "finished by", "not called by"};
    struct gt_buffer ranks = {0};
    for (int state = GT_FLIGHT_STATES; state-- > 0;)
        if (call->ranks[state])
            gt_buffer_printf(&ranks, "%s %s rank %.*s%s", ranks.length ? "," : ":", words[state], MOST,
                             call->ranks[state], strlen(call->ranks[state]) > MOST ? " ..." : "");
    gt_finding_add(hangs->findings, GT_RULE_OPEN_COLLECTIVE, GT_IN_JOB, GT_NO_SAVING,
                   "%s %" PRId64 " of process group %s is not finished by all ranks%s", call->name, call->number,
                   call->group, ranks.length ? ranks.data : "");
    gt_buffer_release(&ranks);
}

static void take_call(void *context, const struct gt_flight_call *call)
{
    struct hangs *hangs = context;
    if (call->is_open && !hangs->open++)
        add_open(hangs, call);
    if (call->differs && !hangs->different++)
        gt_finding_add(hangs->findings, GT_RULE_UNLIKE_COLLECTIVE, GT_IN_JOB, GT_NO_SAVING,
                       "%s %" PRId64 " of process group %s is not the same call on all ranks: its name or sizes differ",
                       call->name, call->number, call->group);
}

void gt_rules_hangs(struct gt_findings *findings)
{
    struct hangs hangs = {.findings = findings};
    int status = gt_flight_visit(findings->input, GT_RULE_FLIGHT, &(struct gt_flight_visitor){take_call, &hangs});
    findings->status = status < 0 ? status : findings->status;
}
