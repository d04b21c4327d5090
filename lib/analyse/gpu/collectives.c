#include "analyse/gpu/collectives.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
#include "analyse/views.h"
#include "base/grow.h"
#include "base/number.h"

enum { NAME, GROUP, DESCRIPTION, RANKS, SEQUENCE, SIZE, ELEMENTS_IN, ELEMENTS_OUT, TYPE };

/* ---- what a kernel is ---- */

/* The first that the letters of a name hold counts. */
static const struct {
    const char *letters;
    enum gt_collective_kind kind;
} kinds[] = {
    {"allreduce", GT_ALLREDUCE}, {"reducescatter", GT_REDUCE_SCATTER}, {"allgather", GT_ALLGATHER},
    {"alltoall", GT_ALLTOALL},   {"broadcast", GT_BROADCAST},          {"barrier", GT_BARRIER},
    {"reduce", GT_REDUCE},
};

const char *const gt_collective_kind_names[GT_COLLECTIVE_KINDS] = {
    "allreduce", "allgather", "reduce_scatter", "alltoall", "broadcast", "reduce", "barrier", "other"};

static void letters_of(const char *name, char *letters, size_t size)
{
    size_t length = 0;
    for (; *name && length + 1 < size; name++)
        if (isalpha((unsigned char)*name))
            letters[length++] = (char)tolower((unsigned char)*name);
    letters[length] = '\0';
}

static enum gt_collective_kind kind_of(const char *letters)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(letters, kinds[i].letters))
            return kinds[i].kind;
    return GT_OTHER_COLLECTIVE;
}

static bool tells_of_another(const char *letters)
{
    return strstr(letters, "sendrecv") || strncmp(letters, "gloosend", 8) == 0 ||
           strncmp(letters, "gloorecv", 8) == 0 || strncmp(letters, "send", 4) == 0 || strncmp(letters, "recv", 4) == 0;
}

/* Names of PyTorch ("Float", "BFloat16", "float32"); NaN for others. */
static double bytes_of_type(const char *type)
{
    static const struct {
        const char *name;
        int bytes;
    } types[] = {{"Float", 4},   {"Half", 2},    {"BFloat16", 2}, {"Double", 8},  {"Long", 8},
                 {"Int", 4},     {"Short", 2},   {"Char", 1},     {"Byte", 1},    {"Bool", 1},
                 {"float32", 4}, {"float16", 2}, {"bfloat16", 2}, {"float64", 8}, {"int64", 8},
                 {"int32", 4},   {"int16", 2},   {"int8", 1},     {"uint8", 1},   {"bool", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return types[i].bytes;
    return strncmp(type, "Float8", 6) == 0 || strncmp(type, "float8", 6) == 0 ? 1 : NAN;
}

/* ---- the parts that ranks take ---- */

struct part {
    uint32_t group, ranks, node; /* strings that tell the communicator, and a place */
    uint32_t shown;              /* string */
    enum gt_collective_kind kind;
    int64_t sequence; /* -1: it is not told */
    int64_t order;    /* among those of one sequence number, or of the communicator */
    int64_t start, end;
    double elements, size, bytes;
    size_t event;       /* SIZE_MAX: none lasts as long */
    bool is_comparable; /* its clock agrees with the others' */
};

struct parts {
    struct part *part;
    size_t count, capacity;
};

/* Numbers may be written as texts. */
static double number_of(const struct gt_analysis_input *input, size_t event, uint32_t key)
{
    const struct gt_trace_argument *argument = gt_trace_argument(input->trace, event, key);
    if (!argument || argument->text == GT_TRACE_NONE)
        return argument ? argument->number : NAN;
    char *end;
    const char *text = gt_trace_text(input->trace, argument->text);
    double number = strtod(text, &end);
    return end > text && !*end ? number : NAN;
}

static struct part part_of(const struct gt_analysis_input *input, size_t event, uint32_t first, const char *letters)
{
    const struct gt_trace_events *events = &input->trace->events;
    uint32_t type = gt_argument_text(input->trace, event, first + TYPE);
    double sequence = number_of(input, event, first + SEQUENCE), in = number_of(input, event, first + ELEMENTS_IN);
    double most = fmax(in, number_of(input, event, first + ELEMENTS_OUT));
    double told = most * (type == GT_TRACE_NONE ? NAN : bytes_of_type(gt_trace_text(input->trace, type)));
    int64_t bytes = gt_trace_bytes(events, event); /* used where the event has no element count */
    struct part part = {.group = gt_argument_text(input->trace, event, first + GROUP),
                        .ranks = gt_argument_text(input->trace, event, first + RANKS),
                        .node = gt_analysis_node(input, event),
                        .shown = gt_argument_text(input->trace, event, first + DESCRIPTION),
                        .kind = kind_of(letters),
                        .sequence = sequence >= 0 && sequence < 1e15 ? (int64_t)sequence : -1,
                        .start = events->start[event],
                        .end = events->start[event] + gt_trace_duration(events, event),
                        .elements = in,
                        .size = number_of(input, event, first + SIZE),
                        .bytes = isnan(told) && bytes >= 0 ? (double)bytes : told,
                        .event = event,
                        .is_comparable = input->counted[gt_trace_process_of(input->trace, event)->file]};
    if (part.shown == GT_TRACE_NONE || !*gt_trace_text(input->trace, part.shown) ||
        strcmp(gt_trace_text(input->trace, part.shown), "undefined") == 0)
        part.shown = part.group;
    return part;
}

/* Gloo has no kernels: a range of the host lasts from the arrival of its rank to the end. */
static bool is_of_host(const struct gt_analysis_input *input, size_t event)
{
    enum gt_work work = gt_analysis_work(input, event);
    return (work == GT_WORK_ANNOTATION || work == GT_WORK_OPERATOR) &&
           strncmp(gt_trace_text(input->trace, input->trace->events.name[event]), "gloo:", 5) == 0;
}

/* The letters of what it is: of its argument, else of its name. */
static void read_letters(const struct gt_analysis_input *input, size_t event, uint32_t first, char letters[80])
{
    uint32_t name = gt_argument_text(input->trace, event, first + NAME);
    letters_of(gt_trace_text(input->trace, name == GT_TRACE_NONE ? input->trace->events.name[event] : name), letters,
               80);
}

bool gt_is_to_another(const struct gt_analysis_input *input, uint32_t first, size_t event)
{
    char letters[80];
    read_letters(input, event, first, letters);
    return tells_of_another(letters);
}

struct gt_rows gt_communication_times(const struct gt_analysis_input *input, uint32_t first, const char *keys)
{
    struct gt_rows work = gt_view_work(input);
    const uint32_t *use = gt_rows_keys(&work, "use"), *event = gt_rows_keys(&work, "event");
    const int64_t *length = gt_rows_wholes(&work, "length");
    int64_t *communication = gt_rows_add_wholes(&work, "communication"),
            *to_another = gt_rows_add_wholes(&work, "to_another");
    for (size_t i = 0; i < work.count; i++) {
        communication[i] = use[i] == GT_USE_COMMUNICATION ? length[i] : 0;
        to_another[i] = communication[i] && gt_is_to_another(input, first, event[i]) ? length[i] : 0;
    }
    return gt_rows_group(&work, keys,
                         GT_AGGREGATES(GT_SUM("sum", "communication"), GT_SUM("to_another", "to_another")));
}

static int collect(const struct gt_analysis_input *input, uint32_t first, struct parts *parts, size_t *to_another)
{
    const struct gt_trace_events *events = &input->trace->events;
    for (size_t i = 0; i < events->count; i++) {
        char letters[80];
        bool is_of_gpu = gt_analysis_work(input, i) == GT_WORK_KERNEL &&
                         input->usage[events->name[i]] == GT_USE_COMMUNICATION;
        if ((!is_of_gpu && !is_of_host(input, i)) || !gt_trace_lasts(input->trace, i))
            continue;
        read_letters(input, i, first, letters);
        if (tells_of_another(letters)) {
            ++*to_another;
            continue;
        }
        struct part *part = GT_GROW_LIST(parts, part);
        if (!part)
            return -ENOMEM;
        *part = part_of(input, i, first, letters);
        if (!is_of_gpu)
            part->group = part->shown = events->name[i]; /* one group: they tell none, and keep their order by kind */
    }
    return 0;
}

/* ---- Horovod's timelines ----
 * They contain when each rank has a tensor ready: within NEGOTIATE_ALLREDUCE, ticks named by the ranks' numbers; the
 * operation itself follows on the same track. All times are those of the rank that wrote the file. */

struct horovod_arrival {
    uint32_t track, rank; /* index, and the string of its number */
    uint32_t name;        /* string: "NEGOTIATE_ALLREDUCE" */
    int64_t number;       /* of the negotiation on its track, from 0 */
    int64_t start, end;   /* when it was ready, and when the operation had ended */
};

/* What an event is, in the order in which those that begin at one moment follow one another. */
enum { NEGOTIATION, TICK, OPERATION };

static bool is_number(const char *name)
{
    while (isdigit((unsigned char)*name))
        name++;
    return !*name;
}

static bool is_negotiation(const char *name)
{
    return strncmp(name, "NEGOTIATE_", strlen("NEGOTIATE_")) == 0;
}

static bool has_negotiations(const struct gt_trace *trace)
{
    for (uint32_t i = 0; i < trace->strings.count; i++)
        if (is_negotiation(gt_trace_text(trace, i)))
            return true;
    return false;
}

/* Keys: track, and what it is; by track and time. A tick's own duration means nothing. */
static int collect_negotiations(const struct gt_analysis_input *input, struct gt_spans *spans)
{
    const struct gt_trace_events *events = &input->trace->events;
    int status = 0;
    for (size_t i = 0; i < events->count && status >= 0; i++) {
        const char *name = gt_trace_text(input->trace, events->name[i]);
        bool is_tick = *name && is_number(name);
        uint32_t what = is_negotiation(name) ? NEGOTIATION : is_tick ? TICK : OPERATION;
        if (events->phase[i] == 'X' && events->category[i] == GT_TRACE_NONE)
            status = gt_spans_add_event(spans, input->trace, i, GT_SPAN_KEY(events->track[i], 0, 0, what));
    }
    return status;
}

static int by_time(const void *a, const void *b)
{
    const struct gt_keyed_span *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->key[0], y->key[0]), GT_ORDER(x->start, y->start), GT_ORDER(x->key[3], y->key[3]),
                       GT_ORDER(y->end, x->end), GT_ORDER(x->event, y->event));
}

/* The operation that follows the negotiation before the next one does; SIZE_MAX: none does. */
static size_t operation_of(const struct gt_spans *spans, size_t negotiation, size_t to)
{
    for (size_t i = negotiation + 1; i < to && spans->span[i].key[3] != NEGOTIATION; i++)
        if (spans->span[i].key[3] == OPERATION && spans->span[i].start >= spans->span[negotiation].end)
            return i;
    return SIZE_MAX;
}

static int take_ticks(const struct gt_analysis_input *input, const struct gt_spans *spans, size_t at, size_t to,
                      struct horovod_arrival arrival, int (*take)(void *context, const struct horovod_arrival *arrival),
                      void *context)
{
    const uint32_t *name = input->trace->events.name;
    int64_t until = spans->span[at].end;
    int status = 0;
    arrival.name = name[spans->span[at].event];
    for (size_t i = at + 1; i < to && spans->span[i].start <= until && status >= 0; i++) {
        if (spans->span[i].key[3] != TICK)
            continue;
        arrival.rank = name[spans->span[i].event];
        arrival.start = spans->span[i].start;
        status = take(context, &arrival);
    }
    return status;
}

static int horovod_arrivals(const struct gt_analysis_input *input,
                            int (*take)(void *context, const struct horovod_arrival *arrival), void *context)
{
    struct gt_spans spans = {0};
    int status = has_negotiations(input->trace) ? collect_negotiations(input, &spans) : 0;
    gt_spans_sort_by(&spans, by_time);
    for (size_t from = 0, to = 0; status >= 0 && gt_spans_next(&spans, 1, &from, &to);) {
        int64_t number = 0;
        for (size_t i = from; i < to && status >= 0; i++) {
            size_t operation = spans.span[i].key[3] == NEGOTIATION ? operation_of(&spans, i, to) : SIZE_MAX;
            if (operation == SIZE_MAX)
                continue;
            struct horovod_arrival arrival = {
                .track = spans.span[i].key[0], .number = number, .end = spans.span[operation].end};
            number++;
            status = take_ticks(input, &spans, i, to, arrival, take, context);
        }
    }
    gt_spans_release(&spans);
    return status;
}

struct horovod {
    const struct gt_analysis_input *input;
    struct parts *parts;
};

/* The tensor of a track is a communicator of its own, which has no name that people know. */
static int take_horovod(void *context, const struct horovod_arrival *arrival)
{
    const struct horovod *horovod = context;
    char letters[80];
    letters_of(gt_trace_text(horovod->input->trace, arrival->name), letters, sizeof letters);
    return GT_APPEND(horovod->parts, part,
                     (struct part){.group = GT_TRACE_NONE - 1,
                                   .ranks = arrival->track,
                                   .node = gt_analysis_place(horovod->input, arrival->rank),
                                   .shown = GT_TRACE_NONE,
                                   .kind = kind_of(letters),
                                   .sequence = arrival->number,
                                   .start = arrival->start,
                                   .end = arrival->end,
                                   .elements = NAN,
                                   .size = NAN,
                                   .bytes = NAN,
                                   .event = SIZE_MAX});
}

static int by_rank(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->group, y->group), GT_ORDER(x->ranks, y->ranks), GT_ORDER(x->node, y->node),
                       GT_ORDER(x->sequence, y->sequence), GT_ORDER(x->start, y->start), GT_ORDER(x->end, y->end));
}

static int by_order(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->group, y->group), GT_ORDER(x->ranks, y->ranks), GT_ORDER(x->sequence, y->sequence),
                       GT_ORDER(x->order, y->order), GT_ORDER(x->node, y->node));
}

static bool is_of_group(const struct part *x, const struct part *y)
{
    return x->group == y->group && x->ranks == y->ranks;
}

static void number_parts(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->part[i], *before = i ? part - 1 : NULL;
        bool follows = before && is_of_group(before, part) && before->node == part->node &&
                       before->sequence == part->sequence;
        part->order = follows ? before->order + 1 : 0;
    }
}

/* Elements are the same on all ranks, unless each sends as many as it likes. */
static bool is_alike(const struct part *x, const struct part *y)
{
    bool any_size = x->kind == GT_ALLTOALL || x->kind == GT_OTHER_COLLECTIVE || x->kind == GT_BARRIER ||
                    isnan(x->elements) || isnan(y->elements);
    return x->kind == y->kind && (any_size || x->elements == y->elements);
}

/* ---- traces without sequence numbers, of which one begins or ends earlier ---- */

enum { MOST_SHIFTS = 4096, COMPARED = 64 };

struct fit {
    size_t alike;
    double distance;
};

static struct fit fit_of(const struct part *longer, const struct part *shorter, size_t count, size_t shift)
{
    struct fit fit = {0, 0};
    size_t step = count > COMPARED ? count / COMPARED : 1;
    for (size_t i = 0; i < count; i += step) {
        const struct part *other = &longer[i + shift];
        fit.alike += is_alike(&shorter[i], other);
        if (shorter[i].is_comparable && other->is_comparable)
            fit.distance += fabs((double)(shorter[i].end - other->end));
    }
    return fit;
}

/* Where a rank has fewer collectives than the one with the most, they follow one another as there; where they do so in several
 * places, the place that is nearest in time counts. */
static void shift_rank(const struct part *longer, size_t most, struct part *shorter, size_t count)
{
    size_t best = 0;
    struct fit best_fit = fit_of(longer, shorter, count, 0);
    for (size_t shift = 1; shift <= most - count && shift <= MOST_SHIFTS; shift++) {
        struct fit fit = fit_of(longer, shorter, count, shift);
        if (fit.alike > best_fit.alike || (fit.alike == best_fit.alike && fit.distance < best_fit.distance)) {
            best = shift;
            best_fit = fit;
        }
    }
    for (size_t i = 0; i < count; i++)
        shorter[i].order += (int64_t)best;
}

static size_t run_of_rank(const struct parts *parts, size_t from, size_t end)
{
    size_t to = from;
    while (to < end && parts->part[to].node == parts->part[from].node)
        to++;
    return to;
}

/* Parts from..to are of one communicator, without sequence numbers. */
static void shift_group(struct parts *parts, size_t from, size_t to)
{
    size_t longest = from, most = 0;
    for (size_t i = from, next; i < to; i = next) {
        next = run_of_rank(parts, i, to);
        if (next - i > most) {
            longest = i;
            most = next - i;
        }
    }
    for (size_t i = from, next; i < to; i = next) {
        next = run_of_rank(parts, i, to);
        if (next - i < most)
            shift_rank(&parts->part[longest], most, &parts->part[i], next - i);
    }
}

static void shift_groups(struct parts *parts)
{
    for (size_t from = 0, to; from < parts->count; from = to) {
        bool has_sequence = false;
        for (to = from; to < parts->count && is_of_group(&parts->part[from], &parts->part[to]); to++)
            has_sequence |= parts->part[to].sequence >= 0;
        if (!has_sequence)
            shift_group(parts, from, to);
    }
}

/* ---- matching ---- */

static bool is_of_collective(const struct part *x, const struct part *y)
{
    return is_of_group(x, y) && x->sequence == y->sequence && x->order == y->order;
}

/* How many ranks took part whose traces do not tell it; `most` is how many are known of the communicator. */
static size_t absent_from(const struct part *part, size_t ranks, size_t most)
{
    double size = isnan(part->size) ? (double)most : part->size;
    return size > (double)ranks && size < UINT32_MAX ? (size_t)size - ranks : 0;
}

/* `known` ranks of the communicator have a trace: if no other takes part, the trace of one of them ends earlier or
 * begins later. */
static void count_absent(struct gt_collectives *ret, const struct part *part, size_t ranks, size_t known)
{
    bool is_alone = ranks < 2;
    if (absent_from(part, known, known) || (is_alone && known < 2 && part->size != 1))
        ret->incomplete++;
    else if (is_alone ? known > 1 && part->size != 1 : absent_from(part, ranks, known) > 0)
        ret->cut++;
}

static void add_collective(struct gt_collectives *ret, const struct parts *parts, size_t from, size_t to, size_t most)
{
    const struct part *first = &parts->part[from];
    size_t absent = absent_from(first, to - from, most);
    bool alike = true;
    for (size_t i = from + 1; i < to; i++)
        alike &= is_alike(first, &parts->part[i]);
    if (to - from < 2 || !alike) {
        *(alike ? &ret->alone : &ret->unlike) += to - from;
        if (alike)
            count_absent(ret, first, to - from, most);
        return;
    }
    count_absent(ret, first, to - from, most);
    struct gt_collective *collective = &ret->collective[ret->count++];
    size_t at = collective == ret->collective ? 0 : collective[-1].to;
    *collective = (struct gt_collective){.kind = first->kind,
                                         .group = first->shown,
                                         .from = at,
                                         .to = at + to - from,
                                         .size = first->size,
                                         .absent = absent,
                                         .untraced = absent_from(first, most, most),
                                         .bytes = first->bytes,
                                         .latest = GT_TRACE_NONE};
    for (size_t i = from; i < to; i++) {
        const struct part *part = &parts->part[i];
        collective->bytes = fmax(collective->bytes, part->bytes);
        ret->arrival[at++] = (struct gt_arrival){part->node, part->start, part->end, part->event};
    }
}

static size_t end_of_collective(const struct parts *parts, size_t from)
{
    size_t to = from;
    while (to < parts->count && is_of_collective(&parts->part[from], &parts->part[to]))
        to++;
    return to;
}

/* How many ranks are at most in one collective of the communicator. */
static size_t most_ranks(const struct parts *parts, size_t from)
{
    size_t most = 0;
    for (size_t i = from, to; i < parts->count && is_of_group(&parts->part[from], &parts->part[i]); i = to) {
        to = end_of_collective(parts, i);
        most = to - i > most ? to - i : most;
    }
    return most;
}

static int match(struct gt_collectives *ret, struct parts *parts)
{
    ret->collective = malloc((parts->count / 2 + 1) * sizeof *ret->collective);
    ret->arrival = malloc((parts->count + 1) * sizeof *ret->arrival);
    if (!ret->collective || !ret->arrival)
        return -ENOMEM;
    for (size_t from = 0, to, most = 0; from < parts->count; from = to) {
        if (!from || !is_of_group(&parts->part[from - 1], &parts->part[from]))
            most = most_ranks(parts, from);
        to = end_of_collective(parts, from);
        add_collective(ret, parts, from, to, most);
    }
    return 0;
}

/* ---- clocks ---- */

static int compare_ranks(const void *a, const void *b)
{
    const struct gt_rank_clock *x = a, *y = b;
    return GT_ORDER(x->node, y->node);
}

static struct gt_rank_clock *rank_of(const struct gt_collectives *collectives, uint32_t node)
{
    struct gt_rank_clock wanted = {.node = node};
    return collectives->ranks ? bsearch(&wanted, collectives->rank, collectives->ranks, sizeof wanted, compare_ranks)
                              : NULL;
}

const struct gt_rank_clock *gt_collectives_rank(const struct gt_collectives *collectives, uint32_t node)
{
    return rank_of(collectives, node);
}

static int list_ranks(const struct gt_analysis_input *input, struct gt_collectives *ret)
{
    size_t places = input->trace->strings.count, parts = ret->count ? ret->collective[ret->count - 1].to : 0;
    size_t *count = calloc(places + 1, sizeof *count);
    for (size_t i = 0; count && i < parts; i++) {
        if (ret->arrival[i].node < places)
            ret->ranks += count[ret->arrival[i].node]++ == 0;
    }
    ret->rank = count ? calloc(ret->ranks + 1, sizeof *ret->rank) : NULL;
    for (size_t i = 0, at = 0; ret->rank && i < places; i++)
        if (count[i])
            ret->rank[at++] = (struct gt_rank_clock){.node = (uint32_t)i, .collectives = count[i], .error = NAN};
    free(count);
    return ret->rank ? 0 : -ENOMEM;
}

/* All ranks leave these together; the root of a broadcast goes as soon as it has sent. */
static bool ends_together(const struct gt_collective *collective)
{
    return collective->kind != GT_BROADCAST && collective->kind != GT_REDUCE;
}

/* How far clocks are ahead, by each collective that a rank shares with one whose clock is known. */
static int compare_clocks(const struct gt_collectives *all, const bool *is_known, struct gt_numbers *ahead)
{
    int status = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct gt_collective *collective = &all->collective[i];
        const struct gt_arrival *known = NULL;
        for (size_t j = collective->from; j < collective->to && !known; j++)
            if (is_known[rank_of(all, all->arrival[j].node) - all->rank])
                known = &all->arrival[j];
        for (size_t j = collective->from; j < collective->to && known && ends_together(collective); j++) {
            size_t rank = (size_t)(rank_of(all, all->arrival[j].node) - all->rank);
            double distance = (double)(all->arrival[j].end - known->end + rank_of(all, known->node)->offset);
            if (!is_known[rank])
                status = gt_numbers_add(&ahead[rank], distance);
            if (status < 0)
                return status;
        }
    }
    return 0;
}

static int take_clock(struct gt_rank_clock *rank, struct gt_numbers *ahead)
{
    struct gt_numbers distances = {0};
    double median = gt_numbers_percentile(ahead, 50);
    int status = 0;
    rank->offset = (int64_t)llround(median);
    for (size_t i = 0; i < ahead->count && status >= 0; i++)
        status = gt_numbers_add(&distances, fabs(ahead->value[i] - median));
    rank->error = gt_numbers_percentile(&distances, 95);
    gt_numbers_release(&distances);
    gt_numbers_clear(ahead);
    return status;
}

/* Each rank whose clock is known makes those known that it shares collectives with, until nothing more is found. */
static int spread_clocks(struct gt_collectives *all, bool *is_known, struct gt_numbers *ahead)
{
    bool found = true;
    int status = 0;
    while (found && status >= 0) {
        found = false;
        status = compare_clocks(all, is_known, ahead);
        for (size_t i = 0; i < all->ranks && status >= 0; i++) {
            if (!ahead[i].count)
                continue;
            status = take_clock(&all->rank[i], &ahead[i]);
            is_known[i] = found = true;
        }
    }
    return status;
}

static int find_clocks(struct gt_collectives *all)
{
    bool *is_known = calloc(all->ranks + 1, sizeof *is_known);
    struct gt_numbers *ahead = calloc(all->ranks + 1, sizeof *ahead);
    int status = is_known && ahead ? 0 : -ENOMEM;
    for (size_t root = 0; root < all->ranks && status >= 0; root++) {
        if (is_known[root])
            continue;
        is_known[root] = true;
        status = spread_clocks(all, is_known, ahead);
    }
    for (size_t i = 0; ahead && i < all->ranks; i++)
        gt_numbers_release(&ahead[i]);
    free(is_known);
    free(ahead);
    return status;
}

/* ---- arrivals ---- */

static void read_arrivals(struct gt_collectives *all, struct gt_collective *collective)
{
    uint32_t latest = GT_TRACE_NONE;
    double error = 0;
    collective->first = INT64_MAX;
    collective->last = collective->next = INT64_MIN;
    for (size_t i = collective->from; i < collective->to; i++) {
        struct gt_arrival *arrival = &all->arrival[i];
        const struct gt_rank_clock *clock = rank_of(all, arrival->node);
        arrival->start -= clock->offset;
        arrival->end -= clock->offset;
        error = fmax(error, clock->error); /* not known of the rank that the others are compared with */
        collective->first = arrival->start < collective->first ? arrival->start : collective->first;
        if (arrival->start > collective->last) {
            collective->next = collective->last;
            collective->last = arrival->start;
            latest = arrival->node;
        } else if (arrival->start > collective->next) {
            collective->next = arrival->start;
        }
    }
    collective->error = error;
    double ahead = (double)(collective->last - collective->next);
    collective->latest = ahead > error ? latest : GT_TRACE_NONE;
}

/* Adds up who waited, and for whom. */
static int add_waits(struct gt_collectives *all, struct gt_collective *collective, struct gt_numbers *scratch)
{
    int status = 0;
    gt_numbers_clear(scratch);
    for (size_t i = collective->from; i < collective->to && status >= 0; i++)
        status = gt_numbers_add(scratch, (double)(all->arrival[i].end - collective->first));
    collective->end = collective->first + llround(gt_numbers_percentile(scratch, 50));
    gt_numbers_clear(scratch);
    for (size_t i = collective->from; i < collective->to && status >= 0; i++) {
        const struct gt_arrival *arrival = &all->arrival[i];
        rank_of(all, arrival->node)->waited += (double)(collective->last - arrival->start);
        if (arrival->node != collective->latest)
            status = gt_numbers_add(scratch, (double)(collective->last - arrival->start));
    }
    struct gt_rank_clock *latest = collective->latest == GT_TRACE_NONE ? NULL : rank_of(all, collective->latest);
    if (latest) {
        latest->latest++;
        latest->kept_waiting += gt_numbers_percentile(scratch, 50);
    }
    return status;
}

static int judge_arrivals(struct gt_collectives *all)
{
    struct gt_numbers scratch = {0};
    int status = 0;
    for (size_t i = 0; i < all->count && status >= 0; i++) {
        read_arrivals(all, &all->collective[i]);
        status = add_waits(all, &all->collective[i], &scratch);
    }
    gt_numbers_release(&scratch);
    return status;
}

/* ---- the whole ---- */

static int find_all(const struct gt_analysis_input *input, uint32_t first, struct gt_collectives *ret)
{
    struct parts parts = {0};
    struct horovod horovod = {input, &parts};
    int status = collect(input, first, &parts, &ret->to_another);
    status = status < 0 ? status : horovod_arrivals(input, take_horovod, &horovod);
    if (status >= 0 && parts.count)
        GT_SORT(parts.part, parts.count, by_rank);
    number_parts(&parts);
    shift_groups(&parts);
    if (status >= 0 && parts.count)
        GT_SORT(parts.part, parts.count, by_order);
    status = status < 0 ? status : match(ret, &parts);
    free(parts.part);
    status = status < 0 ? status : list_ranks(input, ret);
    status = status < 0 ? status : find_clocks(ret);
    status = status < 0 ? status : judge_arrivals(ret);
    return status;
}

static void release(void *object)
{
    struct gt_collectives *collectives = object;
    free(collectives->collective);
    free(collectives->arrival);
    free(collectives->rank);
    free(collectives);
}

int gt_collectives_find(const struct gt_analysis_input *input, uint32_t first, const struct gt_collectives **ret)
{
    static const struct gt_collectives none;
    struct gt_collectives *all = gt_query_kept(input->query, GT_KEPT_COLLECTIVES);
    int status = 0;
    if (!all) {
        all = calloc(1, sizeof *all);
        status = all ? find_all(input, first, all) : -ENOMEM;
        if (all && status >= 0)
            gt_query_keep(input->query, GT_KEPT_COLLECTIVES, all, release);
        else if (all)
            release(all);
    }
    *ret = status < 0 ? &none : all;
    return status;
}

struct gt_rows gt_collective_ranks(const struct gt_analysis_input *input, uint32_t first)
{
    static const struct gt_rows_field fields[] = {
        GT_FIELD(GT_KEY, struct gt_rank_clock, node),          GT_FIELD(GT_WHOLE, struct gt_rank_clock, collectives),
        GT_FIELD(GT_WHOLE, struct gt_rank_clock, latest),      GT_FIELD(GT_REAL, struct gt_rank_clock, waited),
        GT_FIELD(GT_REAL, struct gt_rank_clock, kept_waiting), GT_FIELD(GT_WHOLE, struct gt_rank_clock, offset),
        GT_FIELD(GT_REAL, struct gt_rank_clock, error),        {.name = NULL}};
    const struct gt_collectives *all;
    int status = gt_collectives_find(input, first, &all);
    if (status < 0)
        gt_query_fail(input->query, status);
    return gt_rows_of_records(input->query, all->rank, all->ranks, sizeof *all->rank, fields);
}

size_t gt_collectives_absent(const struct gt_collectives *collectives, size_t *of)
{
    size_t most = 0;
    for (size_t i = 0; i < collectives->count; i++) {
        const struct gt_collective *collective = &collectives->collective[i];
        if (collective->untraced > most) {
            most = collective->untraced;
            *of = collective->to - collective->from + collective->absent;
        }
    }
    return most;
}

double gt_collective_bus_factor(const struct gt_collective *collective)
{
    double n = isnan(collective->size) ? (double)(collective->to - collective->from) : collective->size;
    switch (collective->kind) {
    case GT_ALLREDUCE: return 2 * (n - 1) / n;
    case GT_ALLGATHER:
    case GT_REDUCE_SCATTER:
    case GT_ALLTOALL: return (n - 1) / n;
    default: return 1;
    }
}
