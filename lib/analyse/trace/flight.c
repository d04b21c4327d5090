#include "analyse/trace/flight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/lists.h"
#include "analyse/views.h"
#include "base/grow.h"
#include "base/number.h"

enum { STATE, GROUP, NUMBER, IS_MESSAGE, SIZES, ARGUMENTS };
static const char *const arguments[ARGUMENTS + 1] = {GT_FLIGHT_ARGUMENTS, NULL};

/* What one rank says of one collective. */
struct call {
    uint32_t group, name, sizes, file; /* strings; the file tells the rank */
    int64_t number, start, duration;
    bool is_message;
    enum gt_flight_state state;
};

struct calls {
    uint32_t first; /* number of the first argument */
    struct call *call;
    size_t count, capacity;
};

static int by_number(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->is_message, y->is_message), GT_ORDER(x->group, y->group),
                       GT_ORDER(x->number, y->number), GT_ORDER(x->file, y->file));
}

static enum gt_flight_state state_of(const char *text)
{
    return strcmp(text, "completed") == 0 ? GT_FLIGHT_COMPLETED
           : strcmp(text, "started") == 0 ? GT_FLIGHT_STARTED
                                          : GT_FLIGHT_SCHEDULED;
}

static int collect(const struct gt_trace *trace, struct calls *calls)
{
    uint32_t category = gt_trace_find(trace, "nccl_flight");
    for (size_t i = 0; category != GT_TRACE_NONE && i < trace->events.count; i++) {
        double number = gt_argument_number(trace, i, calls->first + NUMBER);
        if (trace->events.category[i] != category || !gt_trace_is_slice(trace, i) || !(number >= 0))
            continue;
        struct call call = {.group = gt_argument_text(trace, i, calls->first + GROUP),
                            .name = trace->events.name[i],
                            .sizes = gt_argument_text(trace, i, calls->first + SIZES),
                            .file = gt_trace_process_of(trace, i)->file,
                            .number = (int64_t)number,
                            .start = trace->events.start[i],
                            .duration = gt_trace_duration(&trace->events, i),
                            .is_message = gt_argument_number(trace, i, calls->first + IS_MESSAGE) > 0,
                            .state = state_of(gt_trace_text(trace, gt_argument_text(trace, i, calls->first + STATE)))};
        if (GT_APPEND(calls, call, call) < 0)
            return -ENOMEM;
    }
    GT_SORT(calls->call, calls->count, by_number);
    return 0;
}

/* ---- ranks of a group ---- */

struct member {
    uint32_t file;
    int64_t first, last, done; /* numbers that its dump holds; the last that it completed, -1: none */
};

struct members {
    uint32_t first; /* number of the first argument */
    struct member *member;
    size_t count, capacity;
};

static struct member *member_of(struct members *members, uint32_t file)
{
    for (size_t i = 0; i < members->count; i++)
        if (members->member[i].file == file)
            return &members->member[i];
    struct member *member = GT_GROW_LIST(members, member);
    if (member)
        *member = (struct member){file, INT64_MAX, -1, -1};
    return member;
}

static int by_file(const void *a, const void *b)
{
    return GT_ORDER(((const struct member *)a)->file, ((const struct member *)b)->file);
}

/* Ranks that belong to the group without having called anything in it. */
static int find_silent(const struct gt_trace *trace, uint32_t group, struct members *members)
{
    uint32_t category = gt_trace_find(trace, "nccl_group");
    for (size_t i = 0; category != GT_TRACE_NONE && i < trace->events.count; i++)
        if (trace->events.category[i] == category && gt_argument_text(trace, i, members->first + GROUP) == group &&
            !member_of(members, gt_trace_process_of(trace, i)->file))
            return -ENOMEM;
    return 0;
}

static int find_members(const struct gt_trace *trace, const struct call *call, size_t count, struct members *members)
{
    members->count = 0;
    if (!call->is_message && find_silent(trace, call->group, members) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct member *member = member_of(members, call[i].file);
        if (!member)
            return -ENOMEM;
        member->first = call[i].number < member->first ? call[i].number : member->first;
        member->last = call[i].number > member->last ? call[i].number : member->last;
        if (call[i].state == GT_FLIGHT_COMPLETED && call[i].number > member->done)
            member->done = call[i].number;
    }
    GT_SORT(members->member, members->count, by_file);
    return 0;
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

/* Ranks whose dump ends before the number have not called it; one that begins behind it forgot it. */
static void visit_call(const struct gt_trace *trace, const struct gt_flight_visitor *visitor, const struct call *call,
                       size_t count, const struct members *members)
{
    struct gt_buffer ranks[GT_FLIGHT_STATES] = {0};
    struct gt_flight_call found = {.group = gt_trace_text(trace, call->group),
                                   .name = gt_trace_text(trace, call->name),
                                   .sizes = call->sizes == GT_TRACE_NONE ? NULL : gt_trace_text(trace, call->sizes),
                                   .number = call->number};
    for (size_t i = 0; i < count; i++) {
        write_rank(trace, call[i].file, &ranks[call[i].state]);
        found.is_open |= call[i].state != GT_FLIGHT_COMPLETED;
        found.differs |= call[i].name != call->name || (!call->is_message && call[i].sizes != call->sizes);
    }
    for (size_t i = 0; i < members->count; i++)
        if (members->member[i].last < call->number && !call->is_message) {
            write_rank(trace, members->member[i].file, &ranks[GT_FLIGHT_NOT_CALLED]);
            found.is_open = true;
        }
    for (int state = 0; state < GT_FLIGHT_STATES; state++)
        found.ranks[state] = ranks[state].data;
    if (found.is_open || found.differs)
        visitor->call(visitor->context, &found);
    for (int state = 0; state < GT_FLIGHT_STATES; state++)
        gt_buffer_release(&ranks[state]);
}

static void visit_group(const struct gt_trace *trace, const struct gt_flight_visitor *visitor, const struct call *call,
                        size_t count, const struct members *members)
{
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && call[to].number == call[from].number;)
            to++;
        visit_call(trace, visitor, call + from, to - from, members);
    }
}

static size_t group_end(const struct calls *calls, size_t from)
{
    const struct call *call = &calls->call[from];
    size_t to = from + 1;
    while (to < calls->count && calls->call[to].group == call->group && calls->call[to].is_message == call->is_message)
        to++;
    return to;
}

int gt_flight_visit(const struct gt_analysis_input *input, uint32_t first, const struct gt_flight_visitor *visitor)
{
    struct calls calls = {.first = first};
    struct members members = {.first = first};
    int status = collect(input->trace, &calls);
    for (size_t from = 0, to; from < calls.count && status >= 0; from = to) {
        to = group_end(&calls, from);
        status = find_members(input->trace, &calls.call[from], to - from, &members);
        if (status >= 0)
            visit_group(input->trace, visitor, &calls.call[from], to - from, &members);
    }
    free(calls.call);
    free(members.member);
    return status;
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

static void add_ranks(const struct gt_analysis_input *input, struct gt_table *table, const struct call *call,
                      const struct members *members)
{
    for (size_t i = 0; i < members->count; i++) {
        const struct member *member = &members->member[i];
        struct gt_buffer rank = {0};
        if (!gt_analysis_shows(input, input->node[member->file]))
            continue;
        write_rank(input->trace, member->file, &rank);
        GT_CELLS(table, gt_trace_text(input->trace, call->group), call->is_message ? "messages" : "collectives",
                 rank.data);
        const int64_t numbers[] = {member->first == INT64_MAX ? -1 : member->first, member->done, member->last};
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++)
            gt_integer_if(table, numbers[j] >= 0, numbers[j]);
        gt_buffer_release(&rank);
    }
}

/* How long those took that ended. */
static void put_durations(const struct gt_analysis_input *input, struct gt_node *root, const struct calls *calls)
{
    struct gt_rows rows = gt_rows_new(input->query, calls->count);
    uint32_t *name = gt_rows_add_keys(&rows, "name", NULL);
    int64_t *length = gt_rows_add_wholes(&rows, "length");
    for (size_t i = 0; i < rows.count; i++) {
        name[i] = gt_analysis_place(input, calls->call[i].name);
        length[i] = calls->call[i].state == GT_FLIGHT_COMPLETED ? calls->call[i].duration : 0;
    }
    rows = gt_rows_above(&rows, "length", 0);
    rows = gt_rows_group(&rows, "name",
                         GT_AGGREGATES(GT_COUNT("count"), GT_SUM("total", "length"), GT_STATISTICS_US("length")));
    gt_rows_put(input, root, "durations", "Durations", &rows,
                "text:name integer:count number:total_us " GT_NUMBERS_COLUMNS_US, NULL);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct calls calls = {0};
    struct members members = {0};
    struct gt_table *open = gt_analysis_table(
        root, "unfinished", "Not finished by all ranks",
        "text:process_group integer:number text:name text:sizes text:scheduled text:started text:completed "
        "text:not_called text:differs");
    struct gt_table *ranks = gt_analysis_table(
        root, "ranks", "Ranks",
        "text:process_group text:kind text:rank integer:first integer:last_completed integer:last_called");
    int status = gt_flight_visit(input, 0, &(struct gt_flight_visitor){add_open, open});
    status = status < 0 ? status : collect(input->trace, &calls);
    for (size_t from = 0, to; from < calls.count && status >= 0; from = to) {
        to = group_end(&calls, from);
        status = find_members(input->trace, &calls.call[from], to - from, &members);
        if (status >= 0)
            add_ranks(input, ranks, &calls.call[from], &members);
    }
    gt_analysis_empty(root, open,
                      calls.count ? "every rank has finished what it called"
                                  : "no dump of NCCL's flight recorder in these files");
    gt_analysis_empty(root, ranks, NULL);
    put_durations(input, root, &calls);
    free(calls.call);
    free(members.member);
    return status < 0 ? status : gt_query_status(input->query);
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
