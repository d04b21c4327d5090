#include "analyse/trace/diff_steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/calls/call_tree.h"
#include "analyse/trace/diff_words.h"
#include "analyse/trace/host_waits.h"
#include "analyse/trace/step_spans.h"

struct host {
    const struct gt_analysis_input *input;
    struct gt_spans self; /* key 0: name, as a place; end: ns */
    size_t steps;
    double length; /* of a step, in ns */
};

bool gt_is_profiler_step(const char *name)
{
    return name && strncmp(name, GT_PROFILER_STEP "#", strlen(GT_PROFILER_STEP "#")) == 0;
}

static int find_steps(struct host *host)
{
    struct gt_spans steps = {0};
    int status = gt_step_spans(host->input, &steps);
    double sum = 0;
    for (size_t i = 0; i < steps.count; i++)
        sum += (double)(steps.span[i].end - steps.span[i].start);
    host->steps = steps.count;
    host->length = steps.count ? sum / (double)steps.count : 0;
    gt_spans_release(&steps);
    return status;
}

static bool waits_for_gpu(const struct gt_analysis_input *input, size_t event)
{
    return gt_analysis_work(input, event) == GT_WORK_RUNTIME &&
           gt_is_synchronization(gt_trace_text(input->trace, input->trace->events.name[event]));
}

static int find_self_times(struct host *host)
{
    const struct gt_trace_events *events = &host->input->trace->events;
    struct gt_call_tree tree;
    uint32_t step = GT_TRACE_NONE; /* all of them have one name */
    int status = gt_call_tree_open(&tree, host->input);
    for (size_t i = 0; i < tree.spans.count && status >= 0; i++) {
        size_t event = tree.spans.span[i].event;
        uint32_t name = gt_analysis_place(host->input, events->name[event]);
        if (events->step[event] < 0 || tree.self[i] <= 0 || waits_for_gpu(host->input, event))
            continue;
        if (gt_is_profiler_step(gt_trace_text(host->input->trace, events->name[event])))
            name = step = step == GT_TRACE_NONE ? name : step;
        status = gt_spans_add(&host->self, (struct gt_keyed_span){.key = {name}, .end = tree.self[i]});
    }
    gt_call_tree_close(&tree);
    gt_spans_sort(&host->self);
    return status;
}

static const char *name_at(const struct host *host, size_t span)
{
    const char *name = gt_analysis_text(host->input, host->self.span[span].key[0]);
    return gt_is_profiler_step(name) ? GT_PROFILER_STEP : name ? name : "";
}

static void take(struct gt_diff_change *change, const struct host *host, int side, size_t *at)
{
    size_t to = gt_spans_run(&host->self, *at, 1);
    const char *name = name_at(host, *at);
    change->name = strcmp(name, GT_PROFILER_STEP) == 0 ? "the host outside of operators and calls" : name;
    change->count[side] = to - *at;
    for (; *at < to; ++*at)
        change->us[side] += (double)host->self.span[*at].end / 1e3 / (double)host->steps;
}

/* Both sides are sorted by name alike. */
static size_t match(const struct host host[2], struct gt_diff_change *change)
{
    size_t count = 0, at[2] = {0, 0};
    while (at[0] < host[0].self.count || at[1] < host[1].self.count) {
        int order = at[0] == host[0].self.count   ? 1
                    : at[1] == host[1].self.count ? -1
                                                  : strverscmp(name_at(&host[0], at[0]), name_at(&host[1], at[1]));
        if (order <= 0)
            take(&change[count], &host[0], 0, &at[0]);
        if (order >= 0)
            take(&change[count], &host[1], 1, &at[1]);
        count++;
    }
    return count;
}

static int write_words(const struct host host[2], struct gt_buffer *out)
{
    struct gt_diff_change *change = calloc(host[0].self.count + host[1].self.count + 1, sizeof *change);
    if (!change)
        return -ENOMEM;
    size_t count = match(host, change);
    struct gt_diff_whole step = {"A step takes", "", {host[0].length / 1e3, host[1].length / 1e3}};
    gt_diff_words(change, count, &step, " a step", out);
    free(change);
    return count ? 2 : 1;
}

int gt_diff_step_words(const struct gt_analysis_input *const inputs[2], struct gt_buffer *out)
{
    struct host host[2] = {{.input = inputs[0]}, {.input = inputs[1]}};
    int status = 0;
    for (int i = 0; i < 2 && status >= 0; i++) {
        status = find_steps(&host[i]);
        status = status < 0 ? status : find_self_times(&host[i]);
    }
    if (status >= 0 && host[0].length > 0 && host[1].length > 0)
        status = write_words(host, out);
    gt_spans_release(&host[0].self);
    gt_spans_release(&host[1].self);
    return status;
}
