/* The rules, and the findings that they make. */
#include "analyse/advice/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/operators.h"
#include "analyse/trace/phases.h"
#include "analyse/views.h"
#include "base/grow.h"
#include "base/number.h"

/* ---- rules ---- */

static const struct {
    const char *see;
    enum gt_cause cause;
    enum gt_finding_detail detail;
} rules[GT_RULES] = {
    [GT_RULE_LOADING] = {"dataloader", GT_CAUSE_LOADING, GT_DETAIL_DEVICE},
    [GT_RULE_ITERATORS] = {"dataloader", GT_CAUSE_LOADING, GT_DETAIL_PART},
    [GT_RULE_SLOW_FETCHES] = {"dataloader", GT_CAUSE_LOADING, GT_DETAIL_PART},
    [GT_RULE_FUNCTION] = {.see = "functions"},
    [GT_RULE_ALLOCATION_CALLS] = {"api", GT_CAUSE_HOST, GT_DETAIL_PART},
    [GT_RULE_BLOCKING_COPIES] = {"api", GT_CAUSE_HOST, GT_DETAIL_PART},
    [GT_RULE_PAGEABLE_COPIES] = {"api", GT_CAUSE_COPIES, GT_DETAIL_PART},
    [GT_RULE_THROTTLED] = {.see = "utilization"},
    [GT_RULE_LOW_USE] = {.see = "utilization, devices"},
    [GT_RULE_STORAGE_WAIT] = {.see = "utilization"},
    [GT_RULE_FULL_MEMORY] = {.see = "utilization"},
    [GT_RULE_PRESSURE_IO] = {.see = "utilization"},
    [GT_RULE_PRESSURE_CPU] = {.see = "utilization"},
    [GT_RULE_PRESSURE_MEMORY] = {.see = "utilization"},
    [GT_RULE_BUSY_CPUS] = {.see = "utilization"},
    [GT_RULE_IDLE_ENERGY] = {.see = "utilization"},
    [GT_RULE_IDLE_LOADING] = {"idle, dataloader", GT_CAUSE_LOADING, GT_DETAIL_DEVICE},
    [GT_RULE_IDLE_HOST] = {"idle, operators", GT_CAUSE_HOST, GT_DETAIL_DEVICE},
    [GT_RULE_IDLE_OTHER] = {.see = "idle"},
    [GT_RULE_EXPOSED_SENDS] = {"breakdown", GT_CAUSE_COMMUNICATION, GT_DETAIL_DEVICE},
    [GT_RULE_EXPOSED_COMMUNICATION] = {"breakdown", GT_CAUSE_COMMUNICATION, GT_DETAIL_DEVICE},
    [GT_RULE_EXPOSED_COPIES] = {"breakdown, kernels", GT_CAUSE_COPIES, GT_DETAIL_DEVICE},
    [GT_RULE_SHORT_WORK] = {"launches", GT_CAUSE_HOST, GT_DETAIL_PART},
    [GT_RULE_FULL_QUEUE] = {.see = "launches"},
    [GT_RULE_LITTLE_MEMORY] = {.see = "memory"},
    [GT_RULE_FRAGMENTS] = {.see = "memory"},
    [GT_RULE_GROWTH] = {.see = "memory"},
    [GT_RULE_SLOW_STEPS] = {.see = "stragglers, steps"},
    [GT_RULE_FEW_LONG_STEPS] = {.see = "stragglers, steps"},
    [GT_RULE_LAST_BY_TIME] = {.see = "stragglers, breakdown"},
    [GT_RULE_SLOW_STAGE] = {.see = "breakdown, kernels"},
    [GT_RULE_LATE_RANKS] = {"collectives, stragglers", GT_CAUSE_OTHER, GT_DETAIL_STRAGGLER},
    [GT_RULE_POOLED_LATE] = {.see = "collectives, stragglers"},
    [GT_RULE_UNEVEN] = {.see = "collectives, stragglers"},
    [GT_RULE_SHORT_TRACE] = {.see = "steps"},
    [GT_RULE_OPEN_COLLECTIVE] = {.see = "flight"},
    [GT_RULE_UNLIKE_COLLECTIVE] = {.see = "flight"},
    [GT_RULE_PATH + GT_PATH_LOADING] = {"critical_path", GT_CAUSE_LOADING, GT_DETAIL_PATH},
    [GT_RULE_PATH + GT_PATH_OPERATORS] = {"critical_path", GT_CAUSE_HOST, GT_DETAIL_PATH},
    [GT_RULE_PATH + GT_PATH_CALLS] = {"critical_path", GT_CAUSE_HOST, GT_DETAIL_PATH},
    [GT_RULE_PATH + GT_PATH_SYNCHRONIZATION] = {"critical_path", GT_CAUSE_HOST, GT_DETAIL_PATH},
    [GT_RULE_PATH + GT_PATH_COMMUNICATION] = {"critical_path", GT_CAUSE_COMMUNICATION, GT_DETAIL_PATH},
    [GT_RULE_PATH + GT_PATH_COPIES] = {"critical_path", GT_CAUSE_COPIES, GT_DETAIL_PATH},
    [GT_RULE_PATH + GT_PATH_WAITING] = {.see = "critical_path"},
    [GT_RULE_PATH + GT_PATH_GAPS] = {.see = "critical_path"},
    [GT_RULE_PATH + GT_PATH_OTHER] = {"critical_path", GT_CAUSE_HOST, GT_DETAIL_PATH},
    [GT_RULE_PATH_WITH_ABSENT] = {"critical_path", GT_CAUSE_COMMUNICATION, GT_DETAIL_PART},
};

static void (*const searches[])(struct gt_findings *findings) = {
    gt_rules_stragglers, gt_rules_api,  gt_rules_idle, gt_rules_uses,  gt_rules_launches, gt_rules_memory,
    gt_rules_loader,     gt_rules_path, gt_rules_ends, gt_rules_hangs, gt_rules_samples,  gt_rules_functions,
};

const char *gt_rule_see(enum gt_rule rule)
{
    return rules[rule].see;
}

/* ---- findings ---- */

static const double MIN_PERCENT = 5;

/* Devices of some tools' traces are named "GPU 0", others have numbers. */
static void write_where(const struct gt_analysis_input *input, struct gt_where where, struct gt_buffer *out)
{
    const char *device = gt_analysis_text(input, where.device);
    gt_buffer_text(out, "");
    if (where.node != GT_TRACE_NONE)
        gt_buffer_printf(out, "%s: ", gt_analysis_text(input, where.node));
    if (device)
        gt_buffer_printf(out, "%s%s", strncmp(device, "GPU", 3) == 0 ? "" : "GPU ", device);
}

struct gt_finding *gt_finding_add(struct gt_findings *findings, enum gt_rule rule, struct gt_where where,
                                  struct gt_saving saving, const char *format, ...)
{
    struct gt_buffer sentence = {0};
    bool is_shown = gt_analysis_shows(findings->input, where.node);
    findings->minor += is_shown && saving.percent > 0 && saving.percent < MIN_PERCENT;
    if (saving.percent < MIN_PERCENT || findings->status < 0)
        return NULL;
    char *text = NULL;
    va_list list;
    va_start(list, format);
    int length = vasprintf(&text, format, list);
    va_end(list);
    struct gt_finding *finding = length < 0 ? NULL : GT_GROW_LIST(findings, finding);
    if (finding) {
        write_where(findings->input, where, &sentence);
        gt_buffer_text(&sentence, text);
        *finding = (struct gt_finding){rule, where, saving, rules[rule].cause, where.node, sentence.data, false};
    }
    free(length < 0 ? NULL : text);
    if (!finding || sentence.failed)
        findings->status = -ENOMEM;
    return findings->status < 0 ? NULL : finding;
}

struct gt_saving gt_saving_of(double part, double whole)
{
    part = part < whole ? part : whole;
    double percent = gt_percent(part, whole);
    return (struct gt_saving){isnan(percent) ? 0 : percent, part / 1e3};
}

struct gt_saving gt_saving_on(const struct gt_findings *findings, uint32_t node, double part)
{
    double longest = NAN;
    for (size_t i = 0; i < findings->ranks; i++)
        if (node == GT_TRACE_NONE || findings->rank[i].node == node)
            longest = fmax(longest, findings->time[i]);
    return gt_saving_of(part, longest);
}

struct gt_saving gt_saving_of_idle(const struct gt_findings *findings, struct gt_where where, double part)
{
    struct gt_rows times = gt_view_device_times(findings->input);
    const uint32_t *node = gt_rows_keys(&times, "node"), *device = gt_rows_keys(&times, "device");
    const int64_t *idle = gt_rows_wholes(&times, "idle");
    double most = -1;
    for (size_t i = 0; i < times.count; i++)
        if (node[i] == where.node && (where.device == GT_TRACE_NONE || device[i] == where.device))
            most = fmax(most, (double)idle[i]);
    return gt_saving_on(findings, where.node, most < 0 ? part : fmin(part, most));
}

double gt_awaited_time(const struct gt_findings *findings, uint32_t node, uint32_t device)
{
    const struct gt_spans *awaited = &findings->awaited;
    for (size_t i = 0; i < awaited->count; i++)
        if (awaited->span[i].key[0] == node && awaited->span[i].key[1] == device)
            return (double)awaited->span[i].end;
    return 0;
}

double gt_attributed_time(const struct gt_findings *findings, uint32_t node, enum gt_cause cause)
{
    double ns = 0;
    for (size_t i = 0; i < findings->attributed_count; i++)
        if (findings->attributed[i].cause == cause && findings->attributed[i].node == node)
            ns += findings->attributed[i].ns;
    return ns;
}

void gt_attribute_time(struct gt_findings *findings, struct gt_attributed attributed)
{
    if (GT_APPEND_TO(findings, attributed, attributed) < 0)
        findings->status = -ENOMEM;
}

const char *gt_times_words(size_t count, char text[32])
{
    snprintf(text, 32, "%zu times", count);
    return count == 1 ? "once" : text;
}

const char *gt_findings_base(const struct gt_findings *findings, char text[160])
{
    bool has_gpu = false, others = false, samples = false, functions = false;
    for (size_t i = 0; i < findings->ranks; i++)
        has_gpu |= findings->rank[i].has_gpu;
    for (size_t i = 0; i < findings->count; i++) {
        enum gt_rule rule = findings->finding[i].rule;
        bool of_samples = rule >= GT_RULE_THROTTLED && rule <= GT_RULE_IDLE_ENERGY;
        samples |= of_samples;
        functions |= rule == GT_RULE_FUNCTION;
        others |= !of_samples && rule != GT_RULE_FUNCTION;
    }
    snprintf(text, 160, "%s%s%s%s%s",
             others || (!samples && !functions) ? has_gpu ? "% of the time of GPUs or steps" : "% of the time recorded"
                                                : "",
             samples ? others ? "; of samples " : "" : "", samples ? "% of what was sampled" : "",
             functions ? others || samples ? "; of functions " : "" : "", functions ? "% of the time profiled" : "");
    return text;
}

/* ---- names that rules look for ---- */

static const char *const parts[] = {"GraphLaunch", "Pageable", "Pinned", "triton_", "Torch-Compiled"};
enum { PARTS = sizeof parts / sizeof *parts, GPU_WORK = 1 << PARTS };

static unsigned parts_of(const char *name)
{
    unsigned found = 0;
    for (size_t i = 0; i < PARTS; i++)
        found |= strstr(name, parts[i]) ? 1u << i : 0;
    return found;
}

static void find_parts(struct gt_findings *findings)
{
    const struct gt_analysis_input *input = findings->input;
    const struct gt_trace *trace = input->trace;
    unsigned char *of_name = gt_query_memory(input->query, trace->strings.count, 1);
    findings->found = gt_query_memory(input->query, trace->strings.count, 1);
    for (uint32_t i = 0; findings->found && i < trace->strings.count; i++) {
        of_name[i] = (unsigned char)parts_of(gt_trace_text(trace, i));
        findings->found[i] = 0;
    }
    for (size_t i = 0; findings->found && i < trace->events.count; i++) {
        uint32_t node = gt_analysis_node(input, i);
        if (node != GT_TRACE_NONE)
            findings->found[node] |= (unsigned char)(of_name[trace->events.name[i]] |
                                                     (gt_gpu_is_work(input, i) ? GPU_WORK : 0));
    }
}

bool gt_findings_has_name(const struct gt_findings *findings, uint32_t node, const char *part)
{
    return node != GT_TRACE_NONE && findings->found[node] & parts_of(part);
}

bool gt_findings_has_gpu_work(const struct gt_findings *findings, uint32_t node)
{
    return node != GT_TRACE_NONE && findings->found[node] & GPU_WORK;
}

/* ---- one cause is reported once ---- */

static bool is_of_same(const struct gt_finding *x, const struct gt_finding *y)
{
    return x->cause == y->cause &&
           (x->cause_node == y->cause_node || x->cause_node == GT_TRACE_NONE || y->cause_node == GT_TRACE_NONE);
}

/* Returns what findings with more detail have of a cause, in percent: of a rank the greatest, of the job the mean over
 * ranks. What a rank makes the others wait is of all of them, and has been taken out of what its devices lose. */
static double reported_in_detail(const struct gt_findings *findings, const struct gt_finding *finding)
{
    double max = 0, sum = 0;
    enum gt_finding_detail own = rules[finding->rule].detail;
    for (size_t i = 0; i < findings->count; i++) {
        const struct gt_finding *other = &findings->finding[i];
        enum gt_finding_detail detail = rules[other->rule].detail;
        bool is_apart = detail == GT_DETAIL_STRAGGLER && own == GT_DETAIL_DEVICE;
        if (detail <= own || is_apart || !is_of_same(finding, other))
            continue;
        bool is_of_all = finding->cause_node != GT_TRACE_NONE || detail == GT_DETAIL_STRAGGLER;
        double percent = other->saving.percent;
        sum += is_of_all ? 0 : percent / (double)findings->ranks;
        max = is_of_all ? fmax(max, percent) : max;
    }
    return fmax(max, sum);
}

/* Drop findings of which those with more detail report half, and those of nodes that are not shown. */
static void drop_repeated(struct gt_findings *findings)
{
    enum { HALF = 2 };
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        struct gt_finding *finding = &findings->finding[i];
        finding->is_repeated = finding->cause &&
                               HALF * reported_in_detail(findings, finding) >= finding->saving.percent;
    }
    for (size_t i = 0; i < findings->count; i++) {
        struct gt_finding *finding = &findings->finding[i];
        if (finding->is_repeated || !gt_analysis_shows(findings->input, finding->where.node))
            free(finding->sentence);
        else
            findings->finding[kept++] = *finding;
    }
    findings->count = kept;
}

/* ---- the whole ---- */

static double time_of_rank(const struct gt_findings *findings, const struct gt_rank_figures *rank)
{
    int64_t first, last;
    if (rank->has_gpu)
        return fmax(rank->whole / (double)rank->gpus, isnan(rank->step_total) ? 0 : rank->step_total);
    if (!gt_node_range(findings->input, rank->node, &first, &last))
        return NAN;
    return (double)gt_analysis_recorded(findings->input, rank->node, first, last);
}

static int descending(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : GT_ORDER(b, a);
}

static int by_saving(const void *a, const void *b)
{
    const struct gt_finding *x = a, *y = b;
    return GT_ORDER_BY(descending(x->saving.percent, y->saving.percent), descending(x->saving.us, y->saving.us),
                       strcmp(x->sentence, y->sentence));
}

int gt_findings_find(struct gt_findings *findings)
{
    struct gt_query *query = findings->input->query;
    findings->rank = gt_ranks_find(findings->input, &findings->ranks);
    findings->time = gt_query_memory(query, findings->ranks, sizeof *findings->time);
    for (size_t i = 0; i < findings->ranks && findings->time; i++)
        findings->time[i] = time_of_rank(findings, &findings->rank[i]);
    for (int i = 0; i < GT_RANK_FIGURES; i++)
        findings->worst[i] = gt_ranks_worst(findings->rank, findings->ranks, (enum gt_rank_figure)i);
    find_parts(findings);
    for (size_t i = 0; i < sizeof searches / sizeof *searches && findings->status >= 0; i++) {
        findings->status = gt_query_status(query);
        if (findings->status >= 0)
            searches[i](findings);
    }
    findings->status = findings->status < 0 ? findings->status : gt_query_status(query);
    drop_repeated(findings);
    GT_SORT(findings->finding, findings->count, by_saving);
    return findings->status;
}

void gt_findings_release(struct gt_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        free(findings->finding[i].sentence);
    free(findings->finding);
    gt_spans_release(&findings->awaited);
    free(findings->attributed);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_findings findings = {.input = input};
    char title[200], base[160];
    int status = gt_findings_find(&findings);
    snprintf(title, sizeof title, "Advice (cost: %s)", gt_findings_base(&findings, base));
    struct gt_table *table = gt_analysis_table(root, "advice", findings.count ? title : "Advice",
                                               "number:cost_percent number:could_win_us text:advice text:see");
    gt_table_flags(table, GT_SENTENCES);
    gt_top_shown(table, GT_LIST_SHOWN);
    for (size_t i = 0; i < findings.count; i++) {
        const struct gt_finding *finding = &findings.finding[i];
        GT_CELLS(table, finding->saving.percent, finding->saving.us, finding->sentence, gt_rule_see(finding->rule));
    }
    gt_findings_release(&findings);
    gt_analysis_empty(root, table, "nothing that costs 5 % or more was found");
    return status;
}

static const char *const arguments[] = {GT_RULE_ARGUMENTS, NULL};

const struct gt_analysis gt_analysis_advice = {
    .name = "advice",
    .group = "job",
    .help = "what to look at first, in words, with the numbers it rests on and the analysis that shows them",
    .arguments = arguments,
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .joins = true,
    .compares = true,
    .of_calls = true,
    .of_all = true,
    .judges = true,
    .build = build,
};
