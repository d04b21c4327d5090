#include "analyse/trace/flight.h"

#include <string.h>

#include "analyse/gpu/lists.h"
#include "analyse/views.h"

enum { STATE, GROUP, NUMBER, IS_MESSAGE, SIZES, ARGUMENTS };
static const char *const arguments[ARGUMENTS + 1] = {GT_FLIGHT_ARGUMENTS, NULL};

/* What dumps hold, a rank's part in each call: is_message group number file, and name state sizes done length. Ranks that belong to a
 * group without having called anything in it have a row without a number. `file` tells the rank. */
struct dumps {
    struct gt_rows calls;
    struct gt_rows
        members; /* ranks of each group: is_message group file first last done, of numbers that its dump holds */
};

static enum gt_flight_state state_of(const char *text)
{
    return strcmp(text, "completed") == 0 ? GT_FLIGHT_COMPLETED
           : strcmp(text, "started") == 0 ? GT_FLIGHT_STARTED
                                          : GT_FLIGHT_SCHEDULED;
}

static bool is_dumped(const struct gt_analysis_input *input, size_t event)
{
    const char *category = gt_trace_text(input->trace, input->trace->events.category[event]);
    return strcmp(category, "nccl_group") == 0 ||
           (strcmp(category, "nccl_flight") == 0 && gt_trace_is_slice(input->trace, event));
}

static struct gt_rows find_calls(const struct gt_analysis_input *input, uint32_t first)
{
    const struct gt_trace *trace = input->trace;
    struct gt_rows rows = gt_rows_of_events(input, is_dumped);
    const uint32_t *event = gt_rows_keys(&rows, "event");
    uint32_t *is_message = gt_rows_add_keys(&rows, "is_message", NULL), *group = gt_rows_add_keys(&rows, "group", NULL);
    uint32_t *file = gt_rows_add_keys(&rows, "file", NULL), *state = gt_rows_add_keys(&rows, "state", NULL);
    uint32_t *sizes = gt_rows_add_keys(&rows, "sizes", NULL);
    int64_t *number = gt_rows_add_wholes(&rows, "number"), *done = gt_rows_add_wholes(&rows, "done");
    for (size_t i = 0; i < rows.count; i++) {
        double told = gt_argument_number(trace, event[i], first + NUMBER);
        is_message[i] = gt_argument_number(trace, event[i], first + IS_MESSAGE) > 0;
        group[i] = gt_argument_text(trace, event[i], first + GROUP);
        file[i] = gt_trace_process_of(trace, event[i])->file;
        state[i] = state_of(gt_trace_text(trace, gt_argument_text(trace, event[i], first + STATE)));
        sizes[i] = gt_argument_text(trace, event[i], first + SIZES);
        number[i] = told >= 0 ? (int64_t)told : GT_NO_WHOLE;
        done[i] = state[i] == GT_FLIGHT_COMPLETED ? number[i] : GT_NO_WHOLE;
    }
    gt_rows_sort(&rows, "is_message group number file");
    return rows;
}

static struct dumps find_dumps(const struct gt_analysis_input *input, uint32_t first)
{
    struct dumps dumps = {.calls = find_calls(input, first)};
    dumps.members = gt_rows_group(
        &dumps.calls, "is_message group file",
        GT_AGGREGATES(GT_MIN("first", "number"), GT_MAX("last", "number"), GT_MAX("done", "done")));
    dumps.calls = gt_rows_known(&dumps.calls, "number");
    struct gt_rows groups = gt_rows_group(&dumps.calls, "is_message group", GT_AGGREGATES(GT_COUNT("calls")));
    gt_rows_join(&dumps.members, &groups, "is_message group", "calls");
    dumps.members = gt_rows_known(&dumps.members, "calls");
    return dumps;
}

static void write_rank(const struct gt_trace *trace, uint32_t file, struct gt_buffer *out)
{
    const char *path = trace->file[file].path, *slash = strrchr(path, '/');
    gt_buffer_text(out, out->length ? ", " : "");
    if (trace->file[file].rank >= 0)
        gt_buffer_printf(out, "%d", (int)trace->file[file].rank);
    else
        gt_buffer_text(out, slash ? slash + 1 : path);
}

/* ---- what not all have finished ---- */

/* Ranks whose dump ends before the number have not called it; one that begins behind it forgot it. The call is in rows from..to, the
 * ranks of its group are members first..last. */
static void visit_call(const struct gt_trace *trace, const struct gt_flight_visitor *visitor, const struct dumps *dumps,
                       size_t from, size_t to, size_t first, size_t last)
{
    const uint32_t *name = gt_rows_keys(&dumps->calls, "name"), *sizes = gt_rows_keys(&dumps->calls, "sizes");
    const uint32_t *file = gt_rows_keys(&dumps->calls, "file"), *state = gt_rows_keys(&dumps->calls, "state");
    const uint32_t *event = gt_rows_keys(&dumps->calls, "event"), *member = gt_rows_keys(&dumps->members, "file");
    const int64_t *called = gt_rows_wholes(&dumps->members, "last");
    bool is_message = gt_rows_keys(&dumps->calls, "is_message")[from];
    struct gt_buffer ranks[GT_FLIGHT_STATES] = {0};
    struct gt_flight_call found = {.group = gt_trace_text(trace, gt_rows_keys(&dumps->calls, "group")[from]),
                                   .name = gt_trace_text(trace, trace->events.name[event[from]]),
                                   .sizes = sizes[from] == GT_TRACE_NONE ? NULL : gt_trace_text(trace, sizes[from]),
                                   .number = gt_rows_wholes(&dumps->calls, "number")[from]};
    for (size_t i = from; i < to; i++) {
        write_rank(trace, file[i], &ranks[state[i]]);
        found.is_open |= state[i] != GT_FLIGHT_COMPLETED;
        found.differs |= name[i] != name[from] || (!is_message && sizes[i] != sizes[from]);
    }
    for (size_t i = first; i < last && !is_message; i++)
        if (called[i] < found.number) {
            write_rank(trace, member[i], &ranks[GT_FLIGHT_NOT_CALLED]);
            found.is_open = true;
        }
    for (int k = 0; k < GT_FLIGHT_STATES; k++)
        found.ranks[k] = ranks[k].data;
    if (found.is_open || found.differs)
        visitor->call(visitor->context, &found);
    for (int k = 0; k < GT_FLIGHT_STATES; k++)
        gt_buffer_release(&ranks[k]);
}

/* Calls and members have the same groups in the same order. */
static void visit(const struct gt_trace *trace, const struct dumps *dumps, const struct gt_flight_visitor *visitor)
{
    size_t group_end = 0, first = 0, last = 0;
    for (size_t from = 0, to; from < dumps->calls.count; from = to) {
        to = gt_rows_run(&dumps->calls, "is_message group number", from);
        if (from == group_end) {
            group_end = gt_rows_run(&dumps->calls, "is_message group", from);
            first = last;
            last = gt_rows_run(&dumps->members, "is_message group", first);
        }
        visit_call(trace, visitor, dumps, from, to, first, last);
    }
}

int gt_flight_visit(const struct gt_analysis_input *input, uint32_t first, const struct gt_flight_visitor *visitor)
{
    if (gt_trace_find(input->trace, "nccl_flight") == GT_TRACE_NONE)
        return 0;
    struct dumps dumps = find_dumps(input, first);
    visit(input->trace, &dumps, visitor);
    return gt_query_status(input->query);
}

/* ---- tables ---- */

static void add_open(void *context, const struct gt_flight_call *call)
{
    struct gt_table *table = context;
    GT_CELLS(table, call->group, call->number, call->name, call->sizes);
    for (int state = 0; state < GT_FLIGHT_STATES; state++)
        gt_table_text(table, call->ranks[state]);
    gt_table_text(table, call->differs ? "yes" : "no");
}

static void add_ranks(const struct gt_analysis_input *input, struct gt_table *table, const struct gt_rows *members)
{
    static const char *const columns[] = {"first", "done", "last"};
    const uint32_t *file = gt_rows_keys(members, "file"), *group = gt_rows_keys(members, "group");
    const uint32_t *is_message = gt_rows_keys(members, "is_message");
    for (size_t i = 0; i < members->count; i++) {
        struct gt_buffer rank = {0};
        if (!gt_analysis_shows(input, input->node[file[i]]))
            continue;
        write_rank(input->trace, file[i], &rank);
        GT_CELLS(table, gt_trace_text(input->trace, group[i]), is_message[i] ? "messages" : "collectives", rank.data);
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
            int64_t number = gt_rows_wholes(members, columns[k])[i];
            gt_integer_if(table, number != GT_NO_WHOLE, number);
        }
        gt_buffer_release(&rank);
    }
}

/* How long those took that ended. */
static void put_durations(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_rows *calls)
{
    struct gt_rows rows = gt_rows_known(calls, "done");
    rows = gt_rows_above(&rows, "length", 0);
    rows = gt_rows_group(&rows, "name",
                         GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"), GT_STATISTICS_US("length")));
    gt_rows_put(input, root, "durations", "Durations", &rows,
                "text:name integer:count number:total_us " GT_NUMBERS_COLUMNS_US, NULL);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_table *open = gt_analysis_table(
        root, "unfinished", "Not finished by all ranks",
        "text:process_group integer:number text:name text:sizes text:scheduled text:started text:completed "
        "text:not_called text:differs");
    struct gt_table *ranks = gt_analysis_table(
        root, "ranks", "Ranks",
        "text:process_group text:kind text:rank integer:first integer:last_completed integer:last_called");
    struct dumps dumps = find_dumps(input, 0);
    visit(input->trace, &dumps, &(struct gt_flight_visitor){add_open, open});
    add_ranks(input, ranks, &dumps.members);
    gt_analysis_empty(root, open,
                      dumps.calls.count ? "every rank has finished what it called"
                                        : "no dump of NCCL's flight recorder in these files");
    gt_analysis_empty(root, ranks, NULL);
    put_durations(input, root, &dumps.calls);
    return gt_query_status(input->query);
}

const struct gt_analysis gt_analysis_flight = {
    .name = "flight",
    .group = "ranks",
    .help =
        "dumps of NCCL's flight recorder: collectives that ranks have not called, begun or finished, or that differ",
    .arguments = arguments,
    .takes = GT_TAKES_TOP,
    .compares = true,
    .build = build,
};
