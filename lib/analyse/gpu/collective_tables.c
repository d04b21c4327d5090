/* What ranks do together: each kind of collective on each communicator, and what each rank does to the others. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/gpu/collectives.h"
#include "analyse/views.h"

static const char *const arguments[] = {GT_COLLECTIVE_ARGUMENTS, NULL};

/* Collectives of one communicator, kind and size make a row. Sizes that are not known are -1 meanwhile. */
#define KEYS "group kind size_bytes size"

static double known(double value)
{
    return isnan(value) ? -1 : value;
}

static struct gt_rows find_each(const struct gt_analysis_input *input, const struct gt_collectives *all)
{
    struct gt_rows rows = gt_rows_new(input->query, all->count);
    uint32_t *group = gt_rows_add_keys(&rows, "group", NULL), *latest = gt_rows_add_keys(&rows, "latest", NULL);
    uint32_t *kind = gt_rows_add_keys(&rows, "kind", gt_collective_kind_names);
    double *bytes = gt_rows_add_reals(&rows, "size_bytes"), *size = gt_rows_add_reals(&rows, "size");
    double *factor = gt_rows_add_reals(&rows, "factor");
    int64_t *ranks = gt_rows_add_wholes(&rows, "ranks"), *skew = gt_rows_add_wholes(&rows, "skew");
    int64_t *whole = gt_rows_add_wholes(&rows, "whole"), *transfer = gt_rows_add_wholes(&rows, "transfer");
    for (size_t i = 0; i < rows.count; i++) {
        const struct gt_collective *collective = &all->collective[i];
        group[i] = gt_analysis_place(input, collective->group);
        latest[i] = collective->latest;
        kind[i] = collective->kind;
        bytes[i] = known(collective->bytes);
        size[i] = known(collective->size);
        factor[i] = gt_collective_bus_factor(collective);
        ranks[i] = size[i] < 0 ? (int64_t)(collective->to - collective->from) : (int64_t)size[i];
        skew[i] = collective->last - collective->first;
        whole[i] = !collective->absent;
        transfer[i] = collective->absent ? GT_NO_WHOLE : gt_collective_transfer(collective);
    }
    return rows;
}

enum { NAMED = 3 };

/* Add the ranks that came last most often, several where they did so as often as each other, and how often. */
static void add_last(const struct gt_analysis_input *input, struct gt_rows *rows, const struct gt_rows *each)
{
    struct gt_rows ranks = gt_rows_known(each, "latest");
    ranks = gt_rows_group(&ranks, KEYS " latest", GT_AGGREGATES(GT_COUNT("times")));
    struct gt_rows most = gt_rows_group(&ranks, KEYS, GT_AGGREGATES(GT_MAX("most", "times")));
    const char **words = gt_query_memory(input->query, rows->count, sizeof *words);
    uint32_t *number = gt_rows_add_keys(rows, "last", words);
    for (size_t i = 0; i < rows->count; i++)
        number[i] = (uint32_t)i;
    gt_rows_join(rows, &most, KEYS, "most");
    gt_rows_fill(rows, "most");
    gt_rows_join(&ranks, rows, KEYS, "last most");
    gt_rows_difference(&ranks, "fewer", "most", "times");
    ranks = gt_rows_where(&ranks, "fewer", 0);
    const uint32_t *of = gt_rows_keys(&ranks, "last"), *node = gt_rows_keys(&ranks, "latest");
    for (size_t i = 0, at = 0; i < rows->count; i++) {
        struct gt_buffer text = {0};
        size_t from = at;
        for (; at < ranks.count && of[at] == i; at++)
            if (at - from < NAMED)
                gt_buffer_printf(&text, "%s%s", at > from ? ", " : "", gt_analysis_text(input, node[at]));
        if (at - from > NAMED)
            gt_buffer_printf(&text, " and %zu more", at - from - NAMED);
        char *copy = gt_query_memory(input->query, text.length + 1, 1);
        words[i] = copy && text.length ? memcpy(copy, text.data, text.length + 1) : NULL;
        gt_buffer_release(&text);
    }
}

static void put_collectives(const struct gt_analysis_input *input, struct gt_node *root,
                            const struct gt_collectives *all)
{
    struct gt_rows each = find_each(input, all);
    struct gt_rows rows = gt_rows_group(
        &each, KEYS,
        GT_AGGREGATES(GT_FIRST("ranks", "ranks"), GT_FIRST("factor", "factor"), GT_COUNT("count"),
                      GT_SUM("whole", "whole"), GT_SUM("transfer", "transfer"), GT_MEAN_US("transfer_us", "transfer"),
                      GT_MEAN_US("mean_skew_us", "skew"), GT_QUANTILE_US("p95_skew_us", "skew", 0.95),
                      GT_MAX("max_skew", "skew")));
    add_last(input, &rows, &each);
    gt_rows_sort(&rows, "group kind -size_bytes size");
    const int64_t *whole = gt_rows_wholes(&rows, "whole"), *transfer = gt_rows_wholes(&rows, "transfer");
    double *bytes = gt_rows_reals(&rows, "size_bytes"), *algorithm = gt_rows_add_reals(&rows, "algorithm_gb_per_s");
    double *bus = gt_rows_add_reals(&rows, "bus_gb_per_s"), *factor = gt_rows_reals(&rows, "factor");
    for (size_t i = 0; i < rows.count; i++) {
        bytes[i] = bytes[i] < 0 ? NAN : bytes[i];
        algorithm[i] = transfer[i] > 0 ? bytes[i] * (double)whole[i] / (double)transfer[i] : NAN; /* bytes a ns */
        bus[i] = algorithm[i] * factor[i];
    }
    gt_rows_percent(&rows, "last_percent", "most", "count");
    gt_rows_rename(&rows, "kind", "collective");
    gt_rows_rename(&rows, "group", "communicator");
    gt_rows_put(
        input, root, "collectives", "Collectives", &rows,
        "text:collective text:communicator integer:ranks integer:count number:size_bytes number:transfer_us "
        "number:algorithm_gb_per_s number:bus_gb_per_s number:mean_skew_us number:p95_skew_us number:max_skew_us "
        "text:last number:last_percent",
        "none that two ranks have in common: give the traces of several ranks, with kernels of NCCL or RCCL");
}

static void put_ranks(const struct gt_analysis_input *input, struct gt_node *root)
{
    struct gt_rows ranks = gt_collective_ranks(input, 0);
    gt_rows_percent(&ranks, "last_percent", "latest", "collectives");
    gt_rows_rename(&ranks, "latest", "last");
    gt_rows_rename(&ranks, "offset", "clock_ahead");
    gt_rows_rename(&ranks, "error", "clock_error");
    gt_rows_put(input, root, "arrivals", "Arrivals", &ranks,
                "text:node integer:collectives integer:last number:last_percent number:waited_us "
                "number:kept_waiting_us number:clock_ahead_us number:clock_error_us",
                NULL);
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
    put_collectives(input, root, all);
    put_ranks(input, root);
    add_left_out(root, all);
    add_absent(root, all);
    return gt_query_status(input->query);
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
