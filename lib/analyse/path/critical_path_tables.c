/* What holds each step: shares of its critical path, the names that hold most of it, and what a step would take without them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/gpu/gpu.h"
#include "analyse/path/critical_path.h"
#include "base/number.h"

static const char *const arguments[] = {GT_PATH_ARGUMENTS, NULL};

#define KIND_COLUMNS(unit)                                                                                 \
    "number:loading_" unit " number:operators_" unit " number:calls_" unit " number:synchronization_" unit \
    " number:compute_" unit " number:communication_" unit " number:copies_" unit " number:waiting_" unit   \
    " number:gaps_" unit " number:other_" unit

enum { SHOWN_NAMES = 10 };
static const char all_ranks[] = GT_TOP_ALL;

/* Steps from..to are those of one node, or of the job. */
struct owner {
    size_t from, to;
    int64_t whole, part[GT_PATH_KINDS];
    size_t entry, entry_end; /* its names */
};

struct tables {
    const struct gt_analysis_input *input;
    const struct gt_critical_path *path;
    struct owner *owner;
    size_t owners;
    bool has_job; /* the last owner */
};

static void add_up(const struct gt_critical_path *path, size_t from, size_t to, int64_t part[GT_PATH_KINDS])
{
    memset(part, 0, GT_PATH_KINDS * sizeof *part);
    for (size_t i = from; i < to; i++)
        for (size_t j = path->step[i].piece; j < path->step[i].piece_end; j++)
            part[path->piece[j].kind] += path->piece[j].end - path->piece[j].start;
}

static int find_owners(struct tables *tables)
{
    const struct gt_critical_path *path = tables->path;
    tables->owner = calloc(path->steps + 1, sizeof *tables->owner);
    if (!tables->owner)
        return -ENOMEM;
    for (size_t i = 0; i < path->steps; i++) {
        const struct gt_path_step *step = &path->step[i];
        if (!i || step->span.key[0] != step[-1].span.key[0] || i == path->ranks)
            tables->owner[tables->owners++] = (struct owner){.from = i, .to = i};
        struct owner *owner = &tables->owner[tables->owners - 1];
        owner->to = i + 1;
        owner->whole += step->span.end - step->span.start;
    }
    tables->has_job = path->steps > path->ranks;
    for (size_t i = 0; i < tables->owners; i++)
        add_up(path, tables->owner[i].from, tables->owner[i].to, tables->owner[i].part);
    return 0;
}

static const char *name_of(const struct tables *tables, size_t owner)
{
    return tables->has_job && owner + 1 == tables->owners
               ? all_ranks
               : gt_analysis_text(tables->input, tables->path->step[tables->owner[owner].from].span.key[0]);
}

/* ---- steps ---- */

static void add_owners(const struct tables *tables, struct gt_node *root)
{
    struct gt_table *table = gt_analysis_table(root, "critical_path", "Critical path",
                                               "text:node integer:steps number:mean_step_us " KIND_COLUMNS("percent"));
    for (size_t i = 0; i < tables->owners; i++) {
        const struct owner *owner = &tables->owner[i];
        gt_table_text(table, name_of(tables, i));
        gt_integer_if(table, !tables->path->step[owner->from].is_whole_node, (int64_t)(owner->to - owner->from));
        gt_table_number(table, (double)owner->whole / (double)(owner->to - owner->from) / 1e3);
        for (int kind = 0; kind < GT_PATH_KINDS; kind++)
            gt_table_number(table, gt_percent((double)owner->part[kind], (double)owner->whole));
    }
    gt_analysis_empty(root, table, "no events that last on threads or GPUs");
}

static void add_steps(const struct tables *tables, struct gt_node *root)
{
    struct gt_table *table = gt_analysis_table(
        root, "steps", "Steps",
        "text:node text:mode integer:step number:start_us number:duration_us " KIND_COLUMNS("us"));
    for (size_t i = 0; i < tables->owners; i++)
        for (size_t j = tables->owner[i].from; j < tables->owner[i].to; j++) {
            const struct gt_path_step *step = &tables->path->step[j];
            int64_t part[GT_PATH_KINDS];
            add_up(tables->path, j, j + 1, part);
            GT_CELLS(table, name_of(tables, i), gt_analysis_text(tables->input, step->span.key[1]));
            gt_integer_if(table, !(step->is_whole_node), (int32_t)step->span.key[2]);
            GT_CELLS(table, gt_analysis_us(tables->input, step->span.start),
                     (double)(step->span.end - step->span.start) / 1e3);
            for (int kind = 0; kind < GT_PATH_KINDS; kind++)
                gt_table_number(table, (double)part[kind] / 1e3);
        }
    gt_analysis_empty(root, table, NULL);
}

/* ---- names ---- */

struct entry { /* a name on the path of an owner */
    size_t owner;
    uint32_t name; /* string */
    enum gt_path_kind kind;
    size_t pieces;
    int64_t time;
};

struct entries {
    struct entry *entry; /* by owner, the longest first */
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->owner, y->owner), GT_ORDER(x->name, y->name), GT_ORDER(x->kind, y->kind));
}

static int by_time(const void *a, const void *b, void *context)
{
    const struct entry *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->owner, y->owner), GT_ORDER(y->time, x->time),
                       GT_ORDER(gt_analysis_place(context, x->name), gt_analysis_place(context, y->name)),
                       GT_ORDER(x->kind, y->kind));
}

static bool *hidden_names(const struct gt_analysis_input *input)
{
    const struct gt_trace_events *events = &input->trace->events;
    bool *is_hidden = calloc(input->trace->strings.count + (size_t)1, sizeof *is_hidden);
    for (size_t i = 0; is_hidden && i < events->count; i++)
        if (events->flag[i] & GT_TRACE_HIDDEN)
            is_hidden[events->name[i]] = true;
    return is_hidden;
}

static int find_names(const struct tables *tables, struct entries *ret)
{
    const struct gt_critical_path *path = tables->path;
    bool *is_hidden = hidden_names(tables->input);
    size_t count = 0;
    ret->entry = malloc((path->piece_count + 1) * sizeof *ret->entry);
    if (!ret->entry || !is_hidden) {
        free(is_hidden);
        return -ENOMEM;
    }
    for (size_t i = 0; i < tables->owners; i++)
        for (size_t j = tables->owner[i].from; j < tables->owner[i].to; j++)
            for (size_t k = path->step[j].piece; k < path->step[j].piece_end; k++) {
                const struct gt_path_piece *piece = &path->piece[k];
                if (piece->name != GT_TRACE_NONE && !is_hidden[piece->name])
                    ret->entry[count++] = (struct entry){i, piece->name, piece->kind, 1, piece->end - piece->start};
            }
    free(is_hidden);
    GT_SORT(ret->entry, count, by_name);
    for (size_t i = 0; i < count; i++) {
        struct entry *last = ret->count ? &ret->entry[ret->count - 1] : NULL;
        if (last && by_name(last, &ret->entry[i]) == 0) {
            last->pieces++;
            last->time += ret->entry[i].time;
        } else {
            ret->entry[ret->count++] = ret->entry[i];
        }
    }
    qsort_r(ret->entry, ret->count, sizeof *ret->entry, by_time, (void *)(uintptr_t)tables->input);
    for (size_t i = 0; i < ret->count; i++) {
        struct owner *owner = &tables->owner[ret->entry[i].owner];
        owner->entry = i && ret->entry[i].owner == ret->entry[i - 1].owner ? owner->entry : i;
        owner->entry_end = i + 1;
    }
    return 0;
}

static void add_names(const struct tables *tables, struct gt_node *root, const struct entries *entries)
{
    struct gt_table *table = gt_analysis_table(
        root, "names", "Names on the path",
        "text:node kernel:name text:kind integer:pieces number:total_us number:percent");
    gt_top_shown(table, SHOWN_NAMES);
    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->entry[i];
        GT_CELLS(table, name_of(tables, entry->owner), gt_trace_text(tables->input->trace, entry->name),
                 gt_path_kind_name(entry->kind), entry->pieces, (double)entry->time / 1e3,
                 gt_percent((double)entry->time, (double)tables->owner[entry->owner].whole));
    }
    gt_analysis_empty(root, table, NULL);
}

/* ---- what if ---- */

struct gain {
    size_t owner;
    struct gt_path_what what;
    int64_t on_path, length;
};

static int by_gain(const void *a, const void *b, void *context)
{
    const struct gain *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(x->owner, y->owner), GT_ORDER(x->length, y->length), GT_ORDER(y->on_path, x->on_path),
                       GT_ORDER(x->what.kind, y->what.kind),
                       GT_ORDER(gt_analysis_place(context, x->what.name), gt_analysis_place(context, y->what.name)));
}

struct gains {
    struct gain *gain;
    size_t count;
};

static int64_t on_path(const struct entries *entries, const struct owner *owner, const struct gt_path_what *what)
{
    int64_t time = 0;
    if (what->kind != GT_PATH_KINDS)
        return owner->part[what->kind];
    for (size_t i = owner->entry; i < owner->entry_end; i++)
        time += entries->entry[i].name == what->name ? entries->entry[i].time : 0;
    return time;
}

/* What is not on a path cannot make it shorter. */
static int try_what(const struct tables *tables, const struct entries *entries, const struct gt_path_what *what,
                    bool of_job, int64_t *length, struct gains *gains)
{
    size_t first = of_job ? tables->owners - 1 : 0, last = tables->owners - (tables->has_job && !of_job);
    int64_t any = 0;
    for (size_t i = first; i < last; i++)
        any += on_path(entries, &tables->owner[i], what);
    if (!any)
        return 0;
    int status = gt_critical_path_what_if(tables->path, what, of_job, length);
    for (size_t i = first; i < last && status >= 0; i++) {
        struct gain gain = {i, *what, on_path(entries, &tables->owner[i], what), 0};
        for (size_t j = tables->owner[i].from; j < tables->owner[i].to; j++)
            gain.length += length[j];
        if (gain.length > tables->owner[i].whole) /* a first step that began later for work of GPUs before it */
            gain.length = tables->owner[i].whole;
        if (gain.on_path)
            gains->gain[gains->count++] = gain;
    }
    return status;
}

static int by_total(const void *a, const void *b, void *context)
{
    const struct entry *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->time, x->time),
                       GT_ORDER(gt_analysis_place(context, x->name), gt_analysis_place(context, y->name)));
}

/* The names that hold most of the paths of all ranks, or of the job, and no less than 1 % of them. */
static struct entry *most_names(const struct tables *tables, const struct entries *entries, bool of_job, size_t *count)
{
    struct entry *most = malloc((entries->count + 1) * sizeof *most);
    size_t all = 0, shown = gt_list_top(tables->input, SHOWN_NAMES);
    int64_t whole = 0;
    *count = 0;
    for (size_t i = 0; most && i < entries->count; i++) {
        bool is_job = tables->has_job && entries->entry[i].owner + 1 == tables->owners;
        if (is_job != of_job)
            continue;
        most[all] = entries->entry[i];
        most[all].owner = 0;
        most[all++].kind = GT_PATH_KINDS;
    }
    if (!most)
        return NULL;
    GT_SORT(most, all, by_name);
    for (size_t i = 0; i < all; i++)
        if (*count && most[*count - 1].name == most[i].name)
            most[*count - 1].time += most[i].time;
        else
            most[(*count)++] = most[i];
    qsort_r(most, *count, sizeof *most, by_total, (void *)(uintptr_t)tables->input);
    for (size_t i = 0; i < tables->owners; i++)
        whole += (tables->has_job && i + 1 == tables->owners) == of_job ? tables->owner[i].whole : 0;
    *count = *count < shown ? *count : shown;
    while (*count && most[*count - 1].time * 100 < whole)
        --*count;
    return most;
}

static int try_all(const struct tables *tables, const struct entries *entries, bool of_job, struct gains *gains)
{
    size_t count;
    int64_t *length = malloc((tables->path->steps + 1) * sizeof *length);
    struct entry *name = most_names(tables, entries, of_job, &count);
    int status = length && name ? 0 : -ENOMEM;
    if (status >= 0)
        gains->gain = malloc(((GT_PATH_KINDS + count) * tables->owners + 1) * sizeof *gains->gain);
    status = gains->gain ? status : -ENOMEM;
    for (int kind = 0; kind < GT_PATH_KINDS && status >= 0; kind++)
        status = try_what(tables, entries, &(struct gt_path_what){(enum gt_path_kind)kind, GT_TRACE_NONE}, of_job,
                          length, gains);
    for (size_t i = 0; i < count && status >= 0; i++)
        status = try_what(tables, entries, &(struct gt_path_what){GT_PATH_KINDS, name[i].name}, of_job, length, gains);
    if (status >= 0)
        qsort_r(gains->gain, gains->count, sizeof *gains->gain, by_gain, (void *)(uintptr_t)tables->input);
    free(length);
    free(name);
    return status;
}

static void add_gain(const struct tables *tables, struct gt_table *table, const struct gain *gain)
{
    const struct owner *owner = &tables->owner[gain->owner];
    double whole = (double)owner->whole, steps = (double)(owner->to - owner->from);
    GT_CELLS(table, name_of(tables, gain->owner),
             gain->what.kind != GT_PATH_KINDS ? gt_path_kind_name(gain->what.kind)
                                              : gt_trace_text(tables->input->trace, gain->what.name),
             gain->what.kind != GT_PATH_KINDS ? "kind" : "name", gt_percent((double)gain->on_path, whole),
             (double)gain->length / steps / 1e3, gt_percent(whole - (double)gain->length, whole));
}

static int add_what_if(const struct tables *tables, struct gt_node *root, const struct entries *entries)
{
    struct gt_table *table = gt_analysis_table(root, "what_if", "What if it took no time",
                                               "text:node kernel:without text:is number:path_percent "
                                               "number:mean_step_us number:shorter_percent");
    int status = 0, whose = tables->has_job ? 2 : 1;
    for (int of_job = 0; of_job < whose && status >= 0; of_job++) {
        struct gains gains = {0};
        status = try_all(tables, entries, of_job, &gains);
        for (size_t i = 0; i < gains.count && status >= 0; i++)
            add_gain(tables, table, &gains.gain[i]);
        free(gains.gain);
    }
    gt_analysis_empty(root, table, NULL);
    return status;
}

/* ---- ranks of the job ---- */

static int add_ranks(const struct tables *tables, struct gt_node *root)
{
    const struct gt_critical_path *path = tables->path;
    uint32_t places = tables->input->trace->strings.count;
    int64_t *time = calloc(places + (size_t)1, sizeof *time);
    struct gt_table *table = gt_analysis_table(root, "ranks", "Ranks on the path of all",
                                               "text:node number:total_us number:percent");
    for (size_t i = path->ranks; time && i < path->steps; i++)
        for (size_t j = path->step[i].piece; j < path->step[i].piece_end; j++) {
            uint32_t node = path->graph.lane[path->piece[j].lane].node;
            time[node < places ? node : places] += path->piece[j].end - path->piece[j].start;
        }
    for (uint32_t i = 0; time && i < places && tables->has_job; i++) {
        if (!time[i])
            continue;
        GT_CELLS(table, gt_analysis_text(tables->input, i), (double)time[i] / 1e3,
                 gt_percent((double)time[i], (double)tables->owner[tables->owners - 1].whole));
    }
    gt_analysis_empty(root, table, NULL);
    free(time);
    return time ? 0 : -ENOMEM;
}

/* ---- the whole ---- */

/* What the trace does not tell, and what is taken from times instead. */
static void add_notes(const struct tables *tables, struct gt_node *root)
{
    const struct gt_critical_path *path = tables->path;
    char text[700] = "";
    size_t whole = 0, parts = 0;
    for (size_t i = 0; i < path->ranks; i++) {
        whole += path->step[i].is_whole_node;
        parts += !path->step[i].is_whole_node && gt_is_read_in_part(tables->input->trace, &path->step[i].span);
    }
    if (path->ranks && !path->graph.gpu.count)
        snprintf(text, sizeof text, "no work of GPUs: paths are of the host alone");
    if (whole)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%sno steps%s: the whole trace is one interval",
                 *text ? "; " : "", whole < path->ranks ? " of some nodes" : "");
    if (parts)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%sno step lies within the times that were asked for: of those that reach beyond only a part was read",
                 *text ? "; " : "");
    if (path->graph.inferred)
        snprintf(
            text + strlen(text), sizeof text - strlen(text),
            "%swhich streams wait for which was not recorded (cuda_sync), or not for all work: %zu waits are taken from the last work "
            "that ended before",
            *text ? "; " : "", path->graph.inferred);
    if (path->graph.incomplete)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%sin %zu collectives other ranks took part whose traces are not here: waiting for these counts as "
                 "communication",
                 *text ? "; " : "", path->graph.incomplete);
    if (path->graph.cut)
        snprintf(
            text + strlen(text), sizeof text - strlen(text),
            "%sin %zu collectives a rank has no part, because its trace ends earlier or begins later: waiting for it "
            "counts as communication",
            *text ? "; " : "", path->graph.cut);
    if (*text)
        gt_report_text(root, "not_known", "Not known", text);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_critical_path path;
    struct tables tables = {.input = input, .path = &path};
    struct entries entries = {0};
    int status = gt_critical_path_find(&path, input, 0);
    status = status < 0 ? status : find_owners(&tables);
    status = status < 0 ? status : find_names(&tables, &entries);
    if (status >= 0) {
        add_owners(&tables, root);
        status = add_what_if(&tables, root, &entries);
        add_names(&tables, root, &entries);
        add_steps(&tables, root);
        add_notes(&tables, root);
    }
    status = status < 0 ? status : add_ranks(&tables, root);
    free(entries.entry);
    free(tables.owner);
    gt_critical_path_close(&path);
    return status;
}

const struct gt_analysis gt_analysis_critical_path = {
    .name = "critical_path",
    .help = "what holds each step, of each rank and of all through collectives, and how long it would take without",
    .arguments = arguments,
    .takes = GT_TAKES_PHASES | GT_TAKES_TOP,
    .joins = true,
    .compares = true,
    .build = build,
};
