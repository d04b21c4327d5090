#include "query/rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
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

static struct order read_order(const struct gt_rows *rows, const char *operator, const char * list)
{
    struct order order = {.count = 0};
    size_t length;
    for (const char *name; order.count < GT_COLUMNS && (name = gt_rows_next_name(&list, &length)); order.count++) {
        bool is_descending = *name == '-';
        order.is_descending[order.count] = is_descending;
        order.by[order.count] = gt_rows_need(rows, operator, name + is_descending, length - is_descending);
    }
    return order;
}

/* Orders cells of two columns of one type. Missing keys and real numbers are last, missing whole numbers first. */
static int compare_cells(const struct gt_rows_column *a, size_t row, const struct gt_rows_column *b, size_t other)
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
        result = compare_cells(order->by[i], a, order->by[i], b);
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
static const uint32_t *find_order(const struct gt_rows *rows, const char *operator, const char * list)
{
    enum { FEW = 1024 };
    struct order order = read_order(rows, operator, list);
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

/* Takes these rows, in this order. */
static void gather(struct gt_rows *rows, const uint32_t *order, size_t count)
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

static void sort(struct gt_rows *rows, const char *operator, const char * columns)
{
    const uint32_t *order = find_order(rows, operator, columns);
    if (order)
        gather(rows, order, rows->count);
    if (gt_query_status(rows->query))
        rows->count = 0;
}

void gt_rows_sort(struct gt_rows *rows, const char *columns)
{
    sort(rows, __func__, columns);
}

struct gt_rows gt_rows_filter(const struct gt_rows *rows, const bool *is_wanted)
{
    struct gt_rows ret = *rows;
    uint32_t *order = gt_query_memory(rows->query, rows->count, sizeof *order);
    size_t count = 0;
    for (size_t i = 0; order && i < rows->count; i++)
        if (is_wanted[i])
            order[count++] = (uint32_t)i;
    gather(&ret, order, count);
    return ret;
}

/* Keep the rows whose cell is in from..to, which a missing one never is. */
static struct gt_rows keep_range(const struct gt_rows *rows, const char *operator, const char * column, double from,
                                 double to)
{
    const struct gt_rows_column *of = gt_rows_need(rows, operator, column, strlen(column));
    bool *is_wanted = gt_query_memory(rows->query, rows->count, sizeof *is_wanted);
    for (size_t i = 0; i < rows->count && is_wanted; i++)
        is_wanted[i] = gt_rows_number(of, i) >= from && gt_rows_number(of, i) <= to;
    return gt_rows_filter(rows, is_wanted);
}

struct gt_rows gt_rows_where(const struct gt_rows *rows, const char *column, double value)
{
    return keep_range(rows, __func__, column, value, value);
}

struct gt_rows gt_rows_above(const struct gt_rows *rows, const char *column, double value)
{
    return keep_range(rows, __func__, column, nextafter(value, INFINITY), INFINITY);
}

struct gt_rows gt_rows_known(const struct gt_rows *rows, const char *column)
{
    return keep_range(rows, __func__, column, -INFINITY, INFINITY);
}

/* Returns true for two rows with the same keys. */
static bool is_same(const struct gt_rows_column *const *key, int keys, size_t a, size_t b)
{
    for (int i = 0; i < keys; i++)
        if (compare_cells(key[i], a, key[i], b))
            return false;
    return true;
}

size_t gt_rows_run(const struct gt_rows *rows, const char *keys, size_t from)
{
    const struct gt_rows_column *key[GT_COLUMNS];
    int count = gt_rows_list(rows, __func__, keys, key);
    size_t to = gt_query_status(rows->query) ? rows->count : from;
    while (to < rows->count && is_same(key, count, from, to))
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

static double total_of(const struct grouping *grouping, size_t from, size_t to)
{
    double sum = NAN;
    for (size_t i = from; i < to; i++)
        gt_add_known(&sum, gt_rows_number(grouping->of, row_at(grouping, i)));
    return sum;
}

static void add_up(const struct grouping *grouping, size_t from, size_t to, struct gt_rows_column *ret, size_t group)
{
    const struct gt_rows_column *of = grouping->of;
    bool is_known = false;
    double sum = 0;
    int64_t whole = 0;
    for (size_t i = from; i < to; i++) {
        size_t row = row_at(grouping, i);
        if (gt_rows_is_missing(of, row))
            continue;
        is_known = true;
        if (of->type == GT_REAL)
            sum += of->real[row];
        else
            whole += of->type == GT_WHOLE ? of->whole[row] : of->key[row];
    }
    if (of->type == GT_REAL)
        ret->real[group] = is_known ? sum : NAN;
    else
        ret->whole[group] = is_known ? whole : GT_NO_WHOLE;
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
        int order = gt_rows_is_missing(of, best) ? 2 : compare_cells(of, row, of, best);
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
    case GT_AGGREGATE_TOTAL: ret->real[group] = total_of(grouping, from, to); break;
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
    case GT_AGGREGATE_TOTAL:
    case GT_AGGREGATE_MEAN:
    case GT_AGGREGATE_QUANTILE: return GT_REAL;
    default: return grouping->value->type;
    }
}

/* Returns where groups begin, and at [*count] where the last one ends. */
static size_t *find_groups(const struct gt_rows *rows, const uint32_t *order, const char *keys, size_t *count)
{
    const struct gt_rows_column *key[GT_COLUMNS];
    int key_count = gt_rows_list(rows, "gt_rows_group", keys, key);
    size_t *begin = gt_query_memory(rows->query, rows->count + 1, sizeof *begin);
    *count = 0;
    for (size_t i = 0; begin && i < rows->count; i++)
        if (!i || !is_same(key, key_count, order ? order[i - 1] : i - 1, order ? order[i] : i))
            begin[(*count)++] = i;
    if (begin)
        begin[*count] = rows->count;
    return begin;
}

static void add_keys(struct gt_rows *ret, const struct gt_rows *rows, const uint32_t *order, const size_t *begin,
                     const char *keys)
{
    const struct gt_rows_column *key[GT_COLUMNS];
    int count = gt_rows_list(rows, "gt_rows_group", keys, key);
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
    const uint32_t *order = find_order(rows, __func__, keys);
    size_t count = 0, *begin = find_groups(rows, order, keys, &count);
    struct gt_rows ret = gt_rows_new(rows->query, begin ? count : 0);
    struct grouping grouping = {.rows = rows, .order = order};
    add_keys(&ret, rows, order, begin, keys);
    for (const struct gt_aggregate *wanted = aggregates; wanted->as; wanted++) {
        grouping.of = wanted->of ? gt_rows_need(rows, __func__, wanted->of, strlen(wanted->of)) : NULL;
        grouping.value = wanted->value ? gt_rows_need(rows, __func__, wanted->value, strlen(wanted->value))
                                       : grouping.of;
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

/* Returns the median of sorted values but for one, which is none of them where it is NaN. */
static double median_without(const double *sorted, size_t count, double own)
{
    size_t at = isnan(own) ? count : GT_SEARCH(0, count, i, sorted[i] < own), others = count - (at < count);
    if (!others)
        return NAN;
    size_t low = (others - 1) / 2, high = others / 2;
    return (sorted[low + (low >= at)] + sorted[high + (high >= at)]) / 2;
}

double *gt_rows_others(struct gt_rows *rows, const char *as, const char *of, const char *keys)
{
    const uint32_t *order = find_order(rows, __func__, keys);
    size_t count = 0, *begin = find_groups(rows, order, keys, &count);
    struct grouping grouping = {
        .rows = rows, .order = order, .of = gt_rows_need(rows, __func__, of, strlen(of)), .unit = 1};
    double *ret = gt_rows_add_reals(rows, as), *sorted = gt_query_memory(rows->query, rows->count, sizeof *sorted);
    for (size_t group = 0; group < count && sorted; group++) {
        size_t known = begin[group + 1] - begin[group];
        sort_values(&grouping, sorted, begin[group], begin[group + 1]);
        while (known && isnan(sorted[known - 1]))
            known--;
        for (size_t i = begin[group]; i < begin[group + 1]; i++)
            ret[row_at(&grouping, i)] = median_without(sorted, known,
                                                       gt_rows_number(grouping.of, row_at(&grouping, i)));
    }
    return ret;
}

/* ---- Tables that belong together ---------------------------------------------------------------------------------- */

static int compare_keys(const struct gt_rows_column *const *a, size_t row, const struct gt_rows_column *const *b,
                        size_t other, int count)
{
    int result = 0;
    for (int i = 0; i < count && !result; i++)
        result = compare_cells(a[i], row, b[i], other);
    return result;
}

/* Keys of two tables whose rows are brought together. */
struct pairing {
    const struct gt_rows_column *key[GT_COLUMNS], *with[GT_COLUMNS];
    int keys;
    size_t at; /* the last row of `with` that was found: the next one is often the same, or the one behind it */
};

static struct pairing pair(const char *operator, const struct gt_rows * rows, const struct gt_rows *with,
                           const char *keys)
{
    struct pairing pairing = {.keys = gt_rows_list(rows, operator, keys, pairing.key)};
    gt_rows_list(with, operator, keys, pairing.with);
    return pairing;
}

/* Returns the first row of `with` that has the keys of `row`, or SIZE_MAX. */
static size_t find_pair(struct pairing *pairing, const struct gt_rows *with, size_t row)
{
    for (size_t step = 0; step < 2 && pairing->at + step < with->count; step++) {
        size_t at = pairing->at + step;
        bool is_first = !at || compare_keys(pairing->with, at - 1, pairing->with, at, pairing->keys);
        if (is_first && !compare_keys(pairing->with, at, pairing->key, row, pairing->keys))
            return pairing->at = at;
    }
    size_t at = GT_SEARCH(0, with->count, i, compare_keys(pairing->with, i, pairing->key, row, pairing->keys) < 0);
    if (at == with->count || compare_keys(pairing->with, at, pairing->key, row, pairing->keys))
        return SIZE_MAX;
    return pairing->at = at;
}

void gt_rows_join(struct gt_rows *rows, const struct gt_rows *with, const char *keys, const char *columns)
{
    struct pairing pairing = pair(__func__, rows, with, keys);
    size_t *match = gt_query_memory(rows->query, rows->count, sizeof *match), length;
    for (size_t i = 0; match && i < rows->count; i++)
        match[i] = find_pair(&pairing, with, i);
    for (const char *name; (name = gt_rows_next_name(&columns, &length));) {
        const struct gt_rows_column *from = gt_rows_need(with, __func__, name, length);
        struct gt_rows_column *column = gt_rows_add(rows, name, length, from->type);
        column->words = from->words;
        for (size_t i = 0; i < rows->count; i++)
            if (match[i] != SIZE_MAX)
                gt_rows_copy(column, i, from, match[i]);
            else
                gt_rows_set(column, i, NAN);
    }
}

void gt_rows_fill(struct gt_rows *rows, const char *columns)
{
    size_t length;
    for (const char *name; (name = gt_rows_next_name(&columns, &length));) {
        struct gt_rows_column *column = gt_rows_find_of(rows, name, length);
        if (!column)
            gt_rows_need(rows, __func__, name, length);
        for (size_t i = 0; column && i < rows->count; i++)
            if (gt_rows_is_missing(column, i))
                gt_rows_set(column, i, 0);
    }
}

struct gt_rows gt_rows_union(const struct gt_rows *rows, const struct gt_rows *others, const char *keys)
{
    const struct gt_rows_column *key[GT_COLUMNS], *other[GT_COLUMNS];
    int count = gt_rows_list(rows, __func__, keys, key);
    struct gt_rows all = gt_rows_new(rows->query, rows->count + others->count);
    gt_rows_list(others, __func__, keys, other);
    for (int i = 0; i < count; i++) {
        struct gt_rows_column *column = gt_rows_add(&all, key[i]->name, strlen(key[i]->name), key[i]->type);
        column->words = key[i]->words;
        for (size_t row = 0; row < all.count; row++)
            gt_rows_copy(column, row, row < rows->count ? key[i] : other[i],
                         row < rows->count ? row : row - rows->count);
    }
    return gt_rows_group(&all, keys, GT_AGGREGATES({.as = NULL}));
}

struct gt_rows gt_rows_complete(const struct gt_rows *rows, const char *one, const char *other)
{
    struct gt_rows ones = gt_rows_group(rows, one, GT_AGGREGATES({.as = NULL}));
    struct gt_rows others = gt_rows_group(rows, other, GT_AGGREGATES({.as = NULL}));
    struct gt_rows ret = gt_rows_new(rows->query, ones.count * others.count);
    const struct gt_rows_column *a = gt_rows_need(&ones, __func__, one, strlen(one)),
                                *b = gt_rows_need(&others, __func__, other, strlen(other));
    struct gt_rows_column *first = gt_rows_add(&ret, one, strlen(one), a->type),
                          *second = gt_rows_add(&ret, other, strlen(other), b->type);
    char keys[128];
    first->words = a->words;
    second->words = b->words;
    for (size_t i = 0; i < ret.count; i++) {
        gt_rows_copy(first, i, a, i / others.count);
        gt_rows_copy(second, i, b, i % others.count);
    }
    if (strlen(one) + strlen(other) + sizeof " " > sizeof keys) {
        gt_query_fail(rows->query, -EINVAL);
        return ret;
    }
    strcat(strcat(strcpy(keys, one), " "), other);
    struct gt_rows sorted = *rows;
    gt_rows_sort(&sorted, keys);
    for (int i = 0; i < sorted.columns; i++)
        if (!gt_rows_find(&ret, sorted.column[i].name))
            gt_rows_join(&ret, &sorted, keys, sorted.column[i].name);
    for (int i = 2; i < ret.columns; i++)
        gt_rows_fill(&ret, ret.column[i].name);
    return ret;
}

int64_t *gt_rows_difference(struct gt_rows *rows, const char *as, const char *of, const char *less)
{
    const int64_t *one = gt_rows_wholes(rows, of), *other = gt_rows_wholes(rows, less);
    int64_t *difference = gt_rows_add_wholes(rows, as);
    for (size_t i = 0; i < rows->count; i++)
        difference[i] = one[i] == GT_NO_WHOLE || other[i] == GT_NO_WHOLE ? GT_NO_WHOLE : one[i] - other[i];
    return difference;
}

double *gt_rows_percent(struct gt_rows *rows, const char *as, const char *part, const char *whole)
{
    const struct gt_rows_column *column = gt_rows_need(rows, __func__, part, strlen(part)),
                                *all = gt_rows_need(rows, __func__, whole, strlen(whole));
    double *percent = gt_rows_add_reals(rows, as);
    for (size_t i = 0; i < rows->count; i++)
        percent[i] = gt_rows_number(all, i) > 0 ? 100 * gt_rows_number(column, i) / gt_rows_number(all, i) : NAN;
    return percent;
}

void gt_rows_share(struct gt_rows *rows, const char *as, const char *of, const char *keys)
{
    struct gt_rows sums = gt_rows_group(rows, keys, GT_AGGREGATES(GT_SUM("sum", of)));
    const struct gt_rows_column *column = gt_rows_need(rows, __func__, of, strlen(of)),
                                *sum = gt_rows_need(&sums, __func__, "sum", strlen("sum"));
    struct pairing pairing = pair(__func__, rows, &sums, keys);
    double *share = gt_rows_add_reals(rows, as);
    for (size_t i = 0; i < rows->count && sums.count; i++) {
        double whole = gt_rows_number(sum, find_pair(&pairing, &sums, i));
        share[i] = whole > 0 ? 100 * gt_rows_number(column, i) / whole : NAN;
    }
}

/* ---- Intervals ---------------------------------------------------------------------------------------------------- */

/* Sorts by "KEYS REST". */
static void sort_with(struct gt_rows *rows, const char *operator, const char * keys, const char *rest)
{
    char columns[256];
    if (strlen(keys) + strlen(rest) + sizeof " " > sizeof columns) {
        gt_query_fail(rows->query, -EINVAL);
        return;
    }
    sort(rows, operator, strcat(strcat(strcpy(columns, keys), " "), rest));
}

struct gt_rows gt_rows_unite(const struct gt_rows *rows, const char *keys)
{
    struct gt_rows sorted = *rows, ret = {.query = rows->query};
    sort_with(&sorted, __func__, keys, "start");
    const struct gt_rows_column *key[GT_COLUMNS];
    int count = gt_rows_list(&sorted, __func__, keys, key);
    const int64_t *start = gt_rows_wholes(&sorted, "start"), *end = gt_rows_wholes(&sorted, "end");
    uint32_t *first = gt_query_memory(rows->query, sorted.count, sizeof *first);
    int64_t *last = gt_query_memory(rows->query, sorted.count, sizeof *last);
    for (size_t i = 0; last && i < sorted.count; i++) {
        bool is_new = !ret.count || start[i] > last[ret.count - 1] || !is_same(key, count, first[ret.count - 1], i);
        if (is_new) {
            first[ret.count] = (uint32_t)i;
            last[ret.count++] = end[i];
        } else if (end[i] > last[ret.count - 1]) {
            last[ret.count - 1] = end[i];
        }
    }
    for (int i = 0; i < count; i++) {
        struct gt_rows_column *column = gt_rows_add(&ret, key[i]->name, strlen(key[i]->name), key[i]->type);
        column->words = key[i]->words;
        for (size_t row = 0; row < ret.count; row++)
            gt_rows_copy(column, row, key[i], first[row]);
    }
    int64_t *from = gt_rows_add_wholes(&ret, "start"), *to = gt_rows_add_wholes(&ret, "end");
    for (size_t row = 0; row < ret.count; row++) {
        from[row] = start[first[row]];
        to[row] = last[row];
    }
    return ret;
}

/* Add X_before for each column X of a list. */
static void add_before(struct gt_rows *ret, const struct gt_rows *sorted, const uint32_t *behind, const char *list)
{
    size_t length;
    for (const char *name; (name = gt_rows_next_name(&list, &length));) {
        const struct gt_rows_column *from = gt_rows_need(sorted, "gt_rows_gaps", name, length);
        char before[64];
        if (length + sizeof "_before" > sizeof before) {
            gt_query_fail(ret->query, -EINVAL);
            return;
        }
        int size = snprintf(before, sizeof before, "%.*s_before", (int)length, name);
        struct gt_rows_column *column = gt_rows_add(ret, before, (size_t)size, from->type);
        column->words = from->words;
        for (size_t i = 0; i < ret->count; i++)
            gt_rows_copy(column, i, from, behind[i] - 1);
    }
}

struct gt_rows gt_rows_gaps(const struct gt_rows *rows, const char *keys, const char *kept)
{
    struct gt_rows sorted = *rows;
    const struct gt_rows_column *key[GT_COLUMNS];
    char rest[64];
    snprintf(rest, sizeof rest, "start end %.*s", (int)strcspn(kept, " "), kept);
    sort_with(&sorted, __func__, keys, rest);
    int count = gt_rows_list(&sorted, __func__, keys, key);
    const int64_t *start = gt_rows_wholes(&sorted, "start"), *end = gt_rows_wholes(&sorted, "end");
    uint32_t *behind = gt_query_memory(rows->query, sorted.count, sizeof *behind);
    int64_t *from = gt_query_memory(rows->query, sorted.count, sizeof *from), latest = 0;
    size_t gaps = 0;
    for (size_t i = 0; from && i < sorted.count; i++) {
        bool is_first = !i || !is_same(key, count, i - 1, i);
        if (!is_first && start[i] > latest) {
            behind[gaps] = (uint32_t)i;
            from[gaps++] = latest;
        }
        latest = is_first || end[i] > latest ? end[i] : latest;
    }
    struct gt_rows ret = sorted;
    gather(&ret, behind, gaps);
    int64_t *begin = gt_rows_add_wholes(&ret, "from"), *until = gt_rows_add_wholes(&ret, "to");
    for (size_t i = 0; i < ret.count; i++) {
        begin[i] = from[i];
        until[i] = start[behind[i]];
    }
    add_before(&ret, &sorted, behind, kept);
    return ret;
}

int64_t *gt_rows_overlap(struct gt_rows *rows, const char *as, const char *from, const char *to,
                         const struct gt_rows *with, const char *keys)
{
    struct pairing pairing = pair(__func__, rows, with, keys);
    const int64_t *begin = gt_rows_wholes(rows, from), *until = gt_rows_wholes(rows, to);
    const int64_t *start = gt_rows_wholes(with, "start"), *end = gt_rows_wholes(with, "end");
    int64_t *ret = gt_rows_add_wholes(rows, as);
    for (size_t i = 0; i < rows->count; i++) {
        size_t at = GT_SEARCH(0, with->count, k,
                              compare_keys(pairing.with, k, pairing.key, i, pairing.keys) < 0 ||
                                  (!compare_keys(pairing.with, k, pairing.key, i, pairing.keys) && end[k] <= begin[i]));
        for (; at < with->count && start[at] < until[i]; at++) {
            if (compare_keys(pairing.with, at, pairing.key, i, pairing.keys))
                break;
            int64_t first = start[at] > begin[i] ? start[at] : begin[i], last = end[at] < until[i] ? end[at] : until[i];
            ret[i] += last > first ? last - first : 0;
        }
    }
    return ret;
}
