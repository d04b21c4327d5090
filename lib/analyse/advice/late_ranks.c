#include "analyse/advice/arrival_replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

struct search {
    const struct gt_collectives *all;
    struct gt_late_ranks *late;
    size_t *collective; /* of each arrival */
    size_t *before;     /* of each arrival: the arrival before it of the same rank; SIZE_MAX: none */
    bool *is_late;      /* each arrival: with the last, and not held */
    int64_t *together;  /* of each collective: who comes from then on comes together with the last */
};

static int by_start(const void *a, const void *b)
{
    return GT_ORDER(*(const int64_t *)a, *(const int64_t *)b);
}

/* Ranks that come within the error of the clocks, or a tenth of what the first waits, come together with the last. So
 * do all behind a pause between two arrivals that is at least half of what the first waits. `start` has room for all
 * arrivals. */
static int64_t find_together(const struct gt_collectives *all, const struct gt_collective *collective, int64_t *start)
{
    enum { HALF = 2 };
    size_t count = collective->to - collective->from;
    int64_t wait = collective->last - collective->first;
    int64_t ret = collective->last - (int64_t)fmax(collective->error, 0.1 * (double)wait);
    for (size_t i = 0; i < count; i++)
        start[i] = all->arrival[collective->from + i].start;
    GT_SORT(start, count, by_start);
    for (size_t i = 1; i < count; i++)
        if (HALF * (start[i] - start[i - 1]) >= wait && start[i] < ret)
            ret = start[i];
    return ret;
}

static void link_arrivals(struct search *search, struct gt_query *query, size_t arrivals)
{
    const struct gt_collectives *all = search->all;
    struct gt_rows rows = gt_rows_new(query, arrivals);
    uint32_t *rank = gt_rows_add_keys(&rows, "rank", NULL), *arrival = gt_rows_add_keys(&rows, "arrival", NULL);
    int64_t *start = gt_rows_add_wholes(&rows, "start");
    for (size_t i = 0; i < all->count && rows.count; i++)
        for (size_t j = all->collective[i].from; j < all->collective[i].to; j++) {
            search->collective[j] = i;
            rank[j] = (uint32_t)gt_late_rank_of(all, &all->arrival[j]);
            arrival[j] = (uint32_t)j;
            start[j] = all->arrival[j].start;
        }
    gt_rows_sort(&rows, "rank start arrival");
    rank = gt_rows_keys(&rows, "rank");
    arrival = gt_rows_keys(&rows, "arrival");
    for (size_t i = 0; i < rows.count; i++)
        search->before[arrival[i]] = i && rank[i - 1] == rank[i] ? arrival[i - 1] : SIZE_MAX;
}

/* ---- who was held ---- */

static bool takes_part(const struct gt_collectives *all, const struct gt_collective *collective, uint32_t node)
{
    bool found = false;
    for (size_t i = collective->from; i < collective->to && !found; i++)
        found = all->arrival[i].node == node;
    return found;
}

static uint32_t earliest(const struct gt_collectives *all, const struct gt_collective *collective)
{
    size_t i = collective->from;
    while (i + 1 < collective->to && all->arrival[i].start > collective->first)
        i++;
    return all->arrival[i].node;
}

/* Returns the collective that a late rank waited in just before for most of what it is late; SIZE_MAX: none. Those that
 * the same one released together are late by themselves. */
static size_t held_by(const struct search *search, const struct gt_collective *collective, size_t arrival,
                      uint32_t earliest_node)
{
    enum { HALF = 2 };
    const struct gt_collectives *all = search->all;
    size_t other = search->before[arrival];
    if (other == SIZE_MAX)
        return SIZE_MAX;
    size_t number = search->collective[other];
    const struct gt_collective *before = &all->collective[number];
    int64_t start = all->arrival[other].start, wait = before->last - start;
    if (start >= search->together[number] || HALF * wait < collective->last - collective->first ||
        takes_part(all, before, earliest_node))
        return SIZE_MAX;
    return number;
}

/* The roots of those before are known. */
static void find_root(struct search *search, size_t number)
{
    const struct gt_collective *collective = &search->all->collective[number];
    uint32_t node = earliest(search->all, collective);
    size_t by = SIZE_MAX;
    bool any = false;
    for (size_t i = collective->from; i < collective->to && gt_is_waited_in(collective); i++) {
        if (search->all->arrival[i].start < search->together[number])
            continue;
        size_t holder = held_by(search, collective, i, node);
        search->is_late[i] = holder == SIZE_MAX;
        search->late->is_held[i] = holder != SIZE_MAX;
        any |= search->is_late[i];
        by = by == SIZE_MAX ? holder : by;
    }
    search->late->root[number] = any || by == SIZE_MAX ? number : search->late->root[by];
}

static void find_roots(struct search *search, struct gt_query *query, size_t arrivals)
{
    struct gt_rows rows = gt_rows_new(query, search->all->count);
    uint32_t *number = gt_rows_add_keys(&rows, "number", NULL);
    int64_t *last = gt_rows_add_wholes(&rows, "last"), *start = gt_query_memory(query, arrivals, sizeof *start);
    for (size_t i = 0; i < rows.count && start; i++) {
        search->together[i] = find_together(search->all, &search->all->collective[i], start);
        search->late->root[i] = i;
        number[i] = (uint32_t)i;
        last[i] = search->all->collective[i].last;
    }
    gt_rows_sort(&rows, "last number");
    for (size_t i = 0; i < rows.count && start; i++)
        find_root(search, gt_rows_keys(&rows, "number")[i]);
}

/* ---- who comes last together ---- */

/* Returns the first of those that are late; SIZE_MAX where nobody is, or most are: then the others are early. */
static size_t first_late(const struct search *search, const struct gt_collective *collective)
{
    enum { HALF = 2 };
    size_t count = 0, first = SIZE_MAX;
    for (size_t i = collective->from; i < collective->to; i++) {
        size_t rank = search->is_late[i] ? gt_late_rank_of(search->all, &search->all->arrival[i]) : SIZE_MAX;
        first = rank < first ? rank : first;
        count += search->is_late[i];
    }
    return HALF * count <= collective->to - collective->from ? first : SIZE_MAX;
}

/* Counts with which first rank each comes last: rank first count, the most frequent first. */
static struct gt_rows count_firsts(const struct search *search, struct gt_query *query, size_t arrivals)
{
    const struct gt_collectives *all = search->all;
    struct gt_rows rows = gt_rows_new(query, arrivals);
    uint32_t *rank = gt_rows_add_keys(&rows, "rank", NULL), *of = gt_rows_add_keys(&rows, "first", NULL);
    size_t count = 0;
    for (size_t i = 0; i < all->count && rows.count; i++) {
        size_t first = first_late(search, &all->collective[i]);
        for (size_t j = all->collective[i].from; j < all->collective[i].to && first != SIZE_MAX; j++) {
            if (!search->is_late[j])
                continue;
            rank[count] = (uint32_t)gt_late_rank_of(all, &all->arrival[j]);
            of[count++] = (uint32_t)first;
        }
    }
    rows.count = count;
    rows = gt_rows_group(&rows, "rank first", GT_AGGREGATES(GT_COUNT("count")));
    gt_rows_sort(&rows, "rank -count");
    return rows;
}

/* A rank belongs to the first of those with which it comes last more than half of the time. */
static void find_blamed(struct search *search, struct gt_query *query, size_t arrivals)
{
    enum { HALF = 2 };
    struct gt_late_ranks *late = search->late;
    struct gt_rows firsts = count_firsts(search, query, arrivals);
    const uint32_t *rank = gt_rows_keys(&firsts, "rank"), *first = gt_rows_keys(&firsts, "first");
    const int64_t *count = gt_rows_wholes(&firsts, "count");
    for (size_t i = 0; i < search->all->ranks; i++)
        late->first[i] = i;
    for (size_t from = 0, to; from < firsts.count; from = to) {
        int64_t all = 0;
        for (to = from; to < firsts.count && rank[to] == rank[from]; to++)
            all += count[to];
        if (HALF * count[from] > all && first[from] < rank[from])
            late->first[rank[from]] = late->first[first[from]];
    }
    for (size_t i = 0; i < search->all->count; i++) {
        size_t of = first_late(search, &search->all->collective[late->root[i]]);
        late->blamed[i] = of == SIZE_MAX ? SIZE_MAX : late->first[of];
    }
}

struct gt_late_ranks gt_late_ranks_find(struct gt_query *query, const struct gt_collectives *all)
{
    size_t arrivals = all->count ? all->collective[all->count - 1].to : 0;
    struct gt_late_ranks late = {
        gt_query_memory(query, all->count, sizeof *late.blamed), gt_query_memory(query, all->count, sizeof *late.root),
        gt_query_memory(query, all->ranks, sizeof *late.first), gt_query_zeros(query, arrivals, sizeof *late.is_held)};
    struct search search = {.all = all,
                            .late = &late,
                            .collective = gt_query_memory(query, arrivals, sizeof *search.collective),
                            .before = gt_query_memory(query, arrivals, sizeof *search.before),
                            .is_late = gt_query_zeros(query, arrivals, sizeof *search.is_late),
                            .together = gt_query_memory(query, all->count, sizeof *search.together)};
    if (!search.together)
        return late;
    link_arrivals(&search, query, arrivals);
    find_roots(&search, query, arrivals);
    if (gt_query_status(query) >= 0)
        find_blamed(&search, query, arrivals);
    return late;
}
