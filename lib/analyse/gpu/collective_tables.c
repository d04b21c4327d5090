/* What ranks do together: each kind of collective on each communicator, and what each rank does to the others. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyse/gpu/collectives.h"
#include "base/number.h"

static const char *const arguments[] = {GT_COLLECTIVE_ARGUMENTS, NULL};

/* Collectives of one communicator, kind and size make a row. */
static double known(double value)
{
    return isnan(value) ? -1 : value;
}

/* Numbers of strings follow the order of the file; places that of the texts. */
static uint32_t place_of(const struct gt_analysis_input *input, uint32_t group)
{
    return group == GT_TRACE_NONE ? GT_TRACE_NONE : gt_analysis_place(input, group);
}

static int by_row(const void *a, const void *b, void *input)
{
    const struct gt_collective *x = *(const struct gt_collective *const *)a,
                               *y = *(const struct gt_collective *const *)b;
    return GT_ORDER_BY(GT_ORDER(place_of(input, x->group), place_of(input, y->group)), GT_ORDER(x->kind, y->kind),
                       GT_ORDER(known(y->bytes), known(x->bytes)), GT_ORDER(known(x->size), known(y->size)),
                       GT_ORDER(x->from, y->from));
}

static bool is_of_row(const struct gt_collective *x, const struct gt_collective *y)
{
    return x->group == y->group && x->kind == y->kind && known(x->bytes) == known(y->bytes) &&
           known(x->size) == known(y->size);
}

/* Counts how often each rank came last, of collectives from..to; returns the most. */
static size_t count_last(const struct gt_collectives *all, struct gt_collective *const *list, size_t from, size_t to,
                         size_t *count)
{
    size_t most = 0;
    for (size_t i = 0; i < all->ranks; i++)
        count[i] = 0;
    for (size_t i = from; i < to; i++)
        if (list[i]->latest != GT_TRACE_NONE)
            count[gt_collectives_rank(all, list[i]->latest) - all->rank]++;
    for (size_t i = 0; i < all->ranks; i++)
        most = count[i] > most ? count[i] : most;
    return most;
}

enum { NAMED = 3 };

/* Several may come last as often as each other. */
static void write_last(const struct gt_analysis_input *input, const struct gt_collectives *all, const size_t *count,
                       size_t most, struct gt_buffer *out)
{
    size_t ranks = 0;
    for (size_t i = 0; i < all->ranks && most; i++)
        if (count[i] == most && ranks++ < NAMED)
            gt_buffer_printf(out, "%s%s", ranks > 1 ? ", " : "", gt_analysis_text(input, all->rank[i].node));
    if (ranks > NAMED)
        gt_buffer_printf(out, " and %zu more", ranks - NAMED);
}

struct rows {
    const struct gt_analysis_input *input;
    const struct gt_collectives *all;
    struct gt_collective **list;
    size_t *count;
    struct gt_table *table;
    struct gt_numbers skew;
};

static int add_row(struct rows *rows, size_t from, size_t to)
{
    const struct gt_collective *first = rows->list[from];
    double transfer = 0;
    size_t whole = 0;
    struct gt_buffer last = {0};
    int status = 0;
    gt_numbers_clear(&rows->skew);
    for (size_t i = from; i < to && status >= 0; i++) {
        whole += !rows->list[i]->absent;
        transfer += rows->list[i]->absent ? 0 : (double)gt_collective_transfer(rows->list[i]);
        status = gt_numbers_add(&rows->skew, (double)(rows->list[i]->last - rows->list[i]->first) / 1e3);
    }
    size_t times = count_last(rows->all, rows->list, from, to, rows->count);
    write_last(rows->input, rows->all, rows->count, times, &last);
    double bandwidth = transfer > 0 ? first->bytes * (double)whole / transfer : NAN; /* bytes a ns: GB/s */
    const char *group = first->group == GT_TRACE_NONE ? NULL : gt_trace_text(rows->input->trace, first->group);
    GT_CELLS(rows->table, gt_collective_kind_name(first->kind), group,
             (int64_t)(isnan(first->size) ? (double)(first->to - first->from) : first->size), to - from, first->bytes,
             whole ? transfer / (double)whole / 1e3 : NAN, bandwidth);
    GT_CELLS(rows->table, bandwidth * gt_collective_bus_factor(first), gt_numbers_mean(&rows->skew),
             gt_numbers_percentile(&rows->skew, 95), gt_numbers_percentile(&rows->skew, 100), times ? last.data : NULL,
             100 * (double)times / (double)(to - from));
    status = last.failed ? last.failed : status;
    gt_buffer_release(&last);
    return status;
}

static int add_collectives(struct rows *rows)
{
    size_t count = rows->all->count;
    int status = 0;
    rows->list = malloc((count + 1) * sizeof(struct gt_collective *));
    rows->count = calloc(rows->all->ranks + 1, sizeof *rows->count);
    if (!rows->list || !rows->count)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        rows->list[i] = &rows->all->collective[i];
    qsort_r(rows->list, count, sizeof(struct gt_collective *), by_row, (void *)(uintptr_t)rows->input);
    for (size_t from = 0, to; from < count && status >= 0; from = to) {
        for (to = from; to < count && is_of_row(rows->list[from], rows->list[to]);)
            to++;
        status = add_row(rows, from, to);
    }
    return status;
}

static void add_ranks(const struct gt_analysis_input *input, struct gt_node *root, const struct gt_collectives *all)
{
    struct gt_table *table = gt_analysis_table(
        root, "arrivals", "Arrivals",
        "text:node integer:collectives integer:last number:last_percent number:waited_us "
        "number:kept_waiting_us number:clock_ahead_us number:clock_error_us");
    for (size_t i = 0; i < all->ranks; i++) {
        const struct gt_rank_clock *rank = &all->rank[i];
        GT_CELLS(table, gt_analysis_text(input, rank->node), rank->collectives, rank->latest,
                 gt_percent((double)rank->latest, (double)rank->collectives), rank->waited / 1e3,
                 rank->kept_waiting / 1e3, (double)rank->offset / 1e3, rank->error / 1e3);
    }
    gt_analysis_empty(root, table, NULL);
}

static void add_left_out(struct gt_node *root, const struct gt_collectives *all)
{
    char text[300];
    if (!all->alone && !all->unlike && !all->to_another)
        return;
    snprintf(text, sizeof text,
             "kernels of communication: %zu in the trace of one rank alone, %zu that differ from the other ranks' at "
             "their place, %zu sends and receives",
             all->alone, all->unlike, all->to_another);
    gt_report_text(root, "left_out", "Left out", text);
}

/* A rank that was not traced may have come last. */
static void add_absent(struct gt_node *root, const struct gt_collectives *all)
{
    char text[400], ranks[120] = "a rank has no part, for its trace ends earlier or begins later";
    size_t incomplete = 0, of = 0, most = gt_collectives_absent(all, &of);
    for (size_t i = 0; i < all->count; i++)
        incomplete += all->collective[i].absent > 0;
    if (!incomplete)
        return;
    if (most)
        snprintf(ranks, sizeof ranks, "up to %zu of %zu ranks have no trace here", most, of);
    snprintf(text, sizeof text,
             "in %zu of %zu collectives %s: when the last one came is not known "
             "there, so they have no transfer and no bandwidth, and their skew is at least this",
             incomplete, all->count, ranks);
    gt_report_text(root, "not_known", "Not known", text);
}

static int build(const struct gt_analysis_input *input, struct gt_node *root)
{
    const struct gt_collectives *all;
    int status = gt_collectives_find(input, 0, &all);
    if (status < 0)
        return status;
    struct rows rows = {.input = input, .all = all};
    rows.table = gt_analysis_table(
        root, "collectives", "Collectives",
        "text:collective text:communicator integer:ranks integer:count number:size_bytes number:transfer_us "
        "number:algorithm_gb_per_s number:bus_gb_per_s number:mean_skew_us number:p95_skew_us number:max_skew_us "
        "text:last number:last_percent");
    status = add_collectives(&rows);
    gt_analysis_empty(
        root, rows.table,
        "none that two ranks have in common: give the traces of several ranks, with kernels of NCCL or RCCL");
    add_ranks(input, root, all);
    add_left_out(root, all);
    add_absent(root, all);
    gt_numbers_release(&rows.skew);
    free(rows.list);
    free(rows.count);
    return status;
}

const struct gt_analysis gt_analysis_collectives = {
    .name = "collectives",
    .group = "ranks",
    .help =
        "collectives matched over ranks: who comes last, how long others wait, transfer apart from waiting, bandwidth",
    .arguments = arguments,
    .joins = true,
    .of_all = true,
    .compares = true,
    .takes = GT_TAKES_TOP,
    .build = build,
};
