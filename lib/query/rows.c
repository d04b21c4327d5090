#include "query/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"

/* ---- Order -------------------------------------------------------------------------------------------------------- */

struct order {
    const struct gt_rows_column *by[GT_COLUMNS];
    bool is_descending[GT_COLUMNS];
    int count;
};

static struct order read_order(const struct gt_rows *rows, const char *list)
{
    struct order order = {.count = 0};
    size_t length;
    for (const char *name; order.count < GT_COLUMNS && (name = gt_rows_next_name(&list, &length)); order.count++) {
        bool is_descending = *name == '-';
        order.is_descending[order.count] = is_descending;
        order.by[order.count] = gt_rows_need(rows, name + is_descending, length - is_descending);
    }
    return order;
}

int gt_rows_compare(const struct gt_rows_column *a, size_t row, const struct gt_rows_column *b, size_t other)
{
    switch (a->type) {
    case GT_KEY: return GT_ORDER(a->key[row], b->key[other]);
    case GT_WHOLE: return GT_ORDER(a->whole[row], b->whole[other]);
    case GT_REAL: break;
    }
    double x = a->real[row], y = b->real[other];
    return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : GT_ORDER(x, y);
}

static int compare_rows(const struct order *order, size_t a, size_t b)
{
    int result = 0;
    for (int i = 0; i < order->count && !result; i++) {
        result = gt_rows_compare(order->by[i], a, order->by[i], b);
        result = order->is_descending[i] ? -result : result;
    }
    return result;
}

static int compare_indices(const void *a, const void *b, void *context)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int result = compare_rows(context, x, y);
    return result ? result : GT_ORDER(x, y);
}

/* A number whose order is that of the cells; of real numbers their bits. */
static uint64_t rank_of(const struct gt_rows_column *column, size_t row, bool is_descending)
{
    uint64_t bits = column->type == GT_KEY ? column->key[row] : (uint64_t)column->whole[row];
    if (column->type == GT_REAL)
        bits = isnan(column->real[row]) ? UINT64_MAX
               : column->real[row] == 0 ? UINT64_C(1) << 63
               : bits >> 63             ? ~bits
                                        : bits | UINT64_C(1) << 63;
    else if (column->type == GT_WHOLE)
        bits ^= UINT64_C(1) << 63;
    return is_descending ? ~bits : bits;
}

/* Sort stably by one column: by its digits of 11 bits from the least on, but for those that all rows share. */
static void sort_by_digits(const struct gt_rows_column *by, bool is_descending, size_t count, uint64_t *rank,
                           uint32_t **order, uint32_t **other)
{
    enum { BITS = 11, DIGITS = 1 << BITS };
    uint64_t differs = 0;
    for (size_t i = 0; i < count; i++) {
        rank[i] = rank_of(by, i, is_descending);
        differs |= rank[i] ^ rank[0];
    }
    for (unsigned shift = 0; shift < 64; shift += BITS) {
        uint32_t begin[DIGITS + 1] = {0};
        if (!(differs >> shift & (DIGITS - 1)))
            continue;
        for (size_t i = 0; i < count; i++)
            begin[(rank[i] >> shift & (DIGITS - 1)) + 1]++;
        for (int i = 0; i < DIGITS; i++)
            begin[i + 1] += begin[i];
        for (size_t i = 0; i < count; i++)
            (*other)[begin[rank[(*order)[i]] >> shift & (DIGITS - 1)]++] = (*order)[i];
        uint32_t *swap = *order;
        *order = *other;
        *other = swap;
    }
}

/* Returns row numbers in the order wanted; NULL: the rows have it already, or the query has failed. */
static const uint32_t *find_order(const struct gt_rows *rows, const char *list)
{
    enum { FEW = 1024 };
    struct order order = read_order(rows, list);
    size_t count = gt_query_status(rows->query) ? 0 : rows->count, sorted = 1;
    while (sorted < count && compare_rows(&order, sorted - 1, sorted) <= 0)
        sorted++;
    if (sorted >= count)
        return NULL;
    uint32_t *ret = gt_query_memory(rows->query, count, sizeof *ret);
    uint32_t *other = gt_query_memory(rows->query, count > FEW ? count : 0, sizeof *other);
    uint64_t *rank = gt_query_memory(rows->query, count > FEW ? count : 0, sizeof *rank);
    if (!rank)
        return NULL;
    for (size_t i = 0; i < count; i++)
        ret[i] = (uint32_t)i;
    if (count <= FEW)
        qsort_r(ret, count, sizeof *ret, compare_indices, &order);
    else
        for (int i = order.count; i-- > 0;)
            sort_by_digits(order.by[i], order.is_descending[i], count, rank, &ret, &other);
    return ret;
}

/* Take these rows, in this order. */
void gt_rows_gather(struct gt_rows *rows, const uint32_t *order, size_t count)
{
    for (int c = 0; c < rows->columns; c++) {
        struct gt_rows_column *column = &rows->column[c];
        void *cell = gt_query_memory(rows->query, count, gt_rows_width(column->type));
        if (!cell) {
            rows->count = 0;
            return;
        }
        if (column->type == GT_KEY)
            for (size_t i = 0; i < count; i++)
                ((uint32_t *)cell)[i] = column->key[order[i]];
        else
            for (size_t i = 0; i < count; i++)
                ((int64_t *)cell)[i] = column->whole[order[i]];
        column->cell = cell;
    }
    rows->count = count;
}

void gt_rows_sort(struct gt_rows *rows, const char *columns)
{
    const uint32_t *order = find_order(rows, columns);
    if (order)
        gt_rows_gather(rows, order, rows->count);
    if (gt_query_status(rows->query))
        rows->count = 0;
}

struct gt_rows gt_rows_filter(const struct gt_rows *rows, const bool *is_wanted)
{
    struct gt_rows ret = *rows;
    uint32_t *order = gt_query_memory(rows->query, rows->count, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; order && i < rows->count; i++)
        if (is_wanted[i])
            order[count++] = (uint32_t)i;
    gt_rows_gather(&ret, order, count);
    return ret;
}

struct gt_rows gt_rows_above(const struct gt_rows *rows, const char *column, double value)
{
    const struct gt_rows_column *of = gt_rows_need(rows, column, strlen(column));
    bool *is_above = gt_query_memory(rows->query, rows->count, sizeof *is_above);
    for (size_t i = 0; i < rows->count && is_above; i++)
        is_above[i] = gt_rows_number(of, i) > value;
    return gt_rows_filter(rows, is_above);
}

bool gt_rows_is_same(const struct gt_rows_column *const *key, int keys, size_t a, size_t b)
{
    for (int i = 0; i < keys; i++)
        if (gt_rows_compare(key[i], a, key[i], b))
            return false;
    return true;
}

size_t gt_rows_run(const struct gt_rows *rows, const char *keys, size_t from)
{
    const struct gt_rows_column *key[GT_COLUMNS];
    int count = gt_rows_list(rows, keys, key);
    size_t to = from;
    while (to < rows->count && gt_rows_is_same(key, count, from, to))
        to++;
    return to;
}

/* ---- Groups ------------------------------------------------------------------------------------------------------- */

/* Rows from..to of `order` are one group. */
struct grouping {
    const struct gt_rows *rows;
    const uint32_t *order; /* NULL: as they are */
    const struct gt_rows_column *of, *value;
    double *sorted; /* values of each group of a column; NULL: of none yet */
    const struct gt_rows_column *sorted_of;
    double unit, sorted_unit;
};

static size_t row_at(const struct grouping *grouping, size_t i)
{
    return grouping->order ? grouping->order[i] : i;
}

static double mean_of(const struct grouping *grouping, size_t from, size_t to)
{
    double sum = 0;
    int64_t whole = 0, count = 0;
    for (size_t i = from; i < to; i++) {
        size_t row = row_at(grouping, i);
        if (gt_rows_is_missing(grouping->of, row))
            continue;
        count++;
        if (grouping->of->type == GT_WHOLE)
            whole += grouping->of->whole[row];
        else
            sum += gt_rows_number(grouping->of, row);
    }
    return count ? (sum + (double)whole) / ((double)count * grouping->unit) : NAN;
}

static void add_up(const struct grouping *grouping, size_t from, size_t to, struct gt_rows_column *ret, size_t group)
{
    const struct gt_rows_column *of = grouping->of;
    double sum = 0;
    int64_t whole = 0;
    for (size_t i = from; i < to; i++) {
        size_t row = row_at(grouping, i);
        if (gt_rows_is_missing(of, row))
            continue;
        if (of->type == GT_REAL)
            sum += of->real[row];
        else
            whole += of->type == GT_WHOLE ? of->whole[row] : of->key[row];
    }
    if (of->type == GT_REAL)
        ret->real[group] = sum;
    else
        ret->whole[group] = whole;
}

static double quantile_of(const double *sorted, size_t count, double part)
{
    if (!count)
        return NAN;
    double rank = part * (double)(count - 1), below = floor(rank);
    double low = sorted[(size_t)below], high = sorted[(size_t)ceil(rank)];
    return low + (high - low) * (rank - below);
}

/* Missing values are behind the others, as NaN. */
static void sort_values(const struct grouping *grouping, double *values, size_t from, size_t to)
{
    size_t known = 0;
    for (size_t i = from; i < to; i++)
        if (!gt_rows_is_missing(grouping->of, row_at(grouping, i)))
            values[known++] = gt_rows_number(grouping->of, row_at(grouping, i)) / grouping->unit;
    qsort(values, known, sizeof *values, gt_order_doubles);
    for (size_t i = known; i < to - from; i++)
        values[i] = NAN;
}

/* The row of the group with the least or greatest value; the first where all are missing. */
static size_t find_extreme(const struct grouping *grouping, size_t from, size_t to, bool is_min)
{
    const struct gt_rows_column *of = grouping->of;
    size_t best = row_at(grouping, from);
    for (size_t i = from + 1; i < to; i++) {
        size_t row = row_at(grouping, i);
        if (gt_rows_is_missing(of, row))
            continue;
        int order = gt_rows_is_missing(of, best) ? 2 : gt_rows_compare(of, row, of, best);
        if (order == 2 || (is_min ? order < 0 : order > 0))
            best = row;
    }
    return best;
}

static void aggregate(const struct grouping *grouping, enum gt_aggregate_kind kind, size_t from, size_t to,
                      struct gt_rows_column *ret, size_t group)
{
    switch (kind) {
    case GT_AGGREGATE_COUNT: ret->whole[group] = (int64_t)(to - from); break;
    case GT_AGGREGATE_SUM: add_up(grouping, from, to, ret, group); break;
    case GT_AGGREGATE_MEAN: ret->real[group] = mean_of(grouping, from, to); break;
    case GT_AGGREGATE_FIRST: gt_rows_copy(ret, group, grouping->of, row_at(grouping, from)); break;
    case GT_AGGREGATE_MIN:
    case GT_AGGREGATE_MAX:
        gt_rows_copy(ret, group, grouping->value, find_extreme(grouping, from, to, kind == GT_AGGREGATE_MIN));
        break;
    case GT_AGGREGATE_QUANTILE: break; /* see add_quantiles */
    }
}

static enum gt_rows_type type_of(const struct gt_aggregate *wanted, const struct grouping *grouping)
{
    switch (wanted->kind) {
    case GT_AGGREGATE_COUNT: return GT_WHOLE;
    case GT_AGGREGATE_SUM: return grouping->of->type == GT_REAL ? GT_REAL : GT_WHOLE;
    case GT_AGGREGATE_MEAN:
    case GT_AGGREGATE_QUANTILE: return GT_REAL;
    default: return grouping->value->type;
    }
}

/* Returns where groups begin, and at [*count] where the last one ends. */
static size_t *find_groups(const struct gt_rows *rows, const uint32_t *order, const char *keys, size_t *count)
{
    const struct gt_rows_column *key[GT_COLUMNS];
    int key_count = gt_rows_list(rows, keys, key);
    size_t *begin = gt_query_memory(rows->query, rows->count + 1, sizeof *begin);
    *count = 0;
    for (size_t i = 0; begin && i < rows->count; i++)
        if (!i || !gt_rows_is_same(key, key_count, order ? order[i - 1] : i - 1, order ? order[i] : i))
            begin[(*count)++] = i;
    if (begin)
        begin[*count] = rows->count;
    return begin;
}

static void add_keys(struct gt_rows *ret, const struct gt_rows *rows, const uint32_t *order, const size_t *begin,
                     const char *keys)
{
    const struct gt_rows_column *key[GT_COLUMNS];
    int count = gt_rows_list(rows, keys, key);
    for (int i = 0; i < count; i++) {
        struct gt_rows_column *column = gt_rows_add(ret, key[i]->name, strlen(key[i]->name), key[i]->type);
        column->words = key[i]->words;
        for (size_t group = 0; group < ret->count; group++)
            gt_rows_copy(column, group, key[i], order ? order[begin[group]] : begin[group]);
    }
}

/* The values of each group are sorted once, for all quantiles of a column that follow each other. */
static void add_quantiles(struct grouping *grouping, const struct gt_aggregate *wanted, const size_t *begin,
                          struct gt_rows_column *ret, size_t groups)
{
    bool is_new = !grouping->sorted || grouping->sorted_of != grouping->of || grouping->sorted_unit != grouping->unit;
    if (is_new)
        grouping->sorted = gt_query_memory(grouping->rows->query, grouping->rows->count, sizeof *grouping->sorted);
    grouping->sorted_of = grouping->of;
    grouping->sorted_unit = grouping->unit;
    for (size_t group = 0; group < groups && grouping->sorted; group++) {
        double *values = grouping->sorted + begin[group];
        size_t count = begin[group + 1] - begin[group];
        if (is_new)
            sort_values(grouping, values, begin[group], begin[group + 1]);
        while (count && isnan(values[count - 1]))
            count--;
        ret->real[group] = quantile_of(values, count, wanted->part);
    }
}

struct gt_rows gt_rows_group(const struct gt_rows *rows, const char *keys, const struct gt_aggregate *aggregates)
{
    const uint32_t *order = find_order(rows, keys);
    size_t count = 0, *begin = find_groups(rows, order, keys, &count);
    struct gt_rows ret = gt_rows_new(rows->query, begin ? count : 0);
    struct grouping grouping = {.rows = rows, .order = order};
    add_keys(&ret, rows, order, begin, keys);
    for (const struct gt_aggregate *wanted = aggregates; wanted->as; wanted++) {
        grouping.of = wanted->of ? gt_rows_need(rows, wanted->of, strlen(wanted->of)) : NULL;
        grouping.value = wanted->value ? gt_rows_need(rows, wanted->value, strlen(wanted->value)) : grouping.of;
        grouping.unit = wanted->unit > 0 ? wanted->unit : 1;
        struct gt_rows_column *column = gt_rows_add(&ret, wanted->as, strlen(wanted->as), type_of(wanted, &grouping));
        column->words = column->type == GT_KEY ? grouping.value->words : NULL;
        if (wanted->kind == GT_AGGREGATE_QUANTILE)
            add_quantiles(&grouping, wanted, begin, column, ret.count);
        for (size_t group = 0; group < ret.count && wanted->kind != GT_AGGREGATE_QUANTILE; group++)
            aggregate(&grouping, wanted->kind, begin[group], begin[group + 1], column, group);
    }
    if (gt_query_status(rows->query))
        ret.count = 0;
    return ret;
}
