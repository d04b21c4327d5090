#include "query/rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
/* ---- Tables that belong together ---------------------------------------------------------------------------------- */

static int compare_keys(const struct gt_rows_column *const *a, size_t row, const struct gt_rows_column *const *b,
                        size_t other, int count)
{
    int result = 0;
    for (int i = 0; i < count && !result; i++)
        result = gt_rows_compare(a[i], row, b[i], other);
    return result;
}

/* Keys of two tables whose rows are brought together. */
struct pairing {
    const struct gt_rows_column *key[GT_COLUMNS], *with[GT_COLUMNS];
    int keys;
    size_t at; /* the last row of `with` that was found: the next one is often the same, or the one behind it */
};

static struct pairing pair(const struct gt_rows *rows, const struct gt_rows *with, const char *keys)
{
    struct pairing pairing = {.keys = gt_rows_list(rows, keys, pairing.key)};
    gt_rows_list(with, keys, pairing.with);
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
    struct pairing pairing = pair(rows, with, keys);
    size_t *match = gt_query_memory(rows->query, rows->count, sizeof *match), length;
    for (size_t i = 0; match && i < rows->count; i++)
        match[i] = find_pair(&pairing, with, i);
    for (const char *name; (name = gt_rows_next_name(&columns, &length));) {
        const struct gt_rows_column *from = gt_rows_need(with, name, length);
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
            gt_query_fail(rows->query, -EINVAL);
        for (size_t i = 0; column && i < rows->count; i++)
            if (gt_rows_is_missing(column, i))
                gt_rows_set(column, i, 0);
    }
}

struct gt_rows gt_rows_union(const struct gt_rows *rows, const struct gt_rows *others, const char *keys)
{
    const struct gt_rows_column *key[GT_COLUMNS], *other[GT_COLUMNS];
    int count = gt_rows_list(rows, keys, key);
    struct gt_rows all = gt_rows_new(rows->query, rows->count + others->count);
    gt_rows_list(others, keys, other);
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
    const struct gt_rows_column *a = gt_rows_need(&ones, one, strlen(one)),
                                *b = gt_rows_need(&others, other, strlen(other));
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
    const struct gt_rows_column *column = gt_rows_need(rows, part, strlen(part)),
                                *all = gt_rows_need(rows, whole, strlen(whole));
    double *percent = gt_rows_add_reals(rows, as);
    for (size_t i = 0; i < rows->count; i++)
        percent[i] = gt_rows_number(all, i) > 0 ? 100 * gt_rows_number(column, i) / gt_rows_number(all, i) : NAN;
    return percent;
}

void gt_rows_share(struct gt_rows *rows, const char *as, const char *of, const char *keys)
{
    struct gt_rows sums = gt_rows_group(rows, keys, GT_AGGREGATES(GT_SUM("sum", of)));
    const struct gt_rows_column *column = gt_rows_need(rows, of, strlen(of)),
                                *sum = gt_rows_need(&sums, "sum", strlen("sum"));
    struct pairing pairing = pair(rows, &sums, keys);
    double *share = gt_rows_add_reals(rows, as);
    for (size_t i = 0; i < rows->count && sums.count; i++) {
        double whole = gt_rows_number(sum, find_pair(&pairing, &sums, i));
        share[i] = whole > 0 ? 100 * gt_rows_number(column, i) / whole : NAN;
    }
}

uint32_t *gt_rows_asof(struct gt_rows *rows, const char *as, const char *time, const struct gt_rows *with,
                       const char *keys, const char *begin)
{
    struct pairing pairing = pair(rows, with, keys);
    const int64_t *at = gt_rows_wholes(rows, time), *from = gt_rows_wholes(with, begin);
    uint32_t *ret = gt_rows_add_keys(rows, as, NULL);
    for (size_t i = 0; i < rows->count; i++) {
        size_t behind = GT_SEARCH(
            0, with->count, k,
            compare_keys(pairing.with, k, pairing.key, i, pairing.keys) < 0 ||
                (!compare_keys(pairing.with, k, pairing.key, i, pairing.keys) && from[k] <= at[i]));
        bool is_found = behind && !compare_keys(pairing.with, behind - 1, pairing.key, i, pairing.keys);
        ret[i] = is_found ? (uint32_t)(behind - 1) : GT_NO_KEY;
    }
    return ret;
}

/* ---- Intervals ---------------------------------------------------------------------------------------------------- */

/* Sorts by "KEYS REST". */
static void sort_with(struct gt_rows *rows, const char *keys, const char *rest)
{
    char columns[256];
    if (strlen(keys) + strlen(rest) + sizeof " " > sizeof columns) {
        gt_query_fail(rows->query, -EINVAL);
        return;
    }
    gt_rows_sort(rows, strcat(strcat(strcpy(columns, keys), " "), rest));
}

struct gt_rows gt_rows_unite(const struct gt_rows *rows, const char *keys)
{
    struct gt_rows sorted = *rows, ret = {.query = rows->query};
    sort_with(&sorted, keys, "start");
    const struct gt_rows_column *key[GT_COLUMNS];
    int count = gt_rows_list(&sorted, keys, key);
    const int64_t *start = gt_rows_wholes(&sorted, "start"), *end = gt_rows_wholes(&sorted, "end");
    uint32_t *first = gt_query_memory(rows->query, sorted.count, sizeof *first);
    int64_t *last = gt_query_memory(rows->query, sorted.count, sizeof *last);
    for (size_t i = 0; last && i < sorted.count; i++) {
        bool is_new = !ret.count || start[i] > last[ret.count - 1] ||
                      !gt_rows_is_same(key, count, first[ret.count - 1], i);
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
        const struct gt_rows_column *from = gt_rows_need(sorted, name, length);
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
    sort_with(&sorted, keys, rest);
    int count = gt_rows_list(&sorted, keys, key);
    const int64_t *start = gt_rows_wholes(&sorted, "start"), *end = gt_rows_wholes(&sorted, "end");
    uint32_t *behind = gt_query_memory(rows->query, sorted.count, sizeof *behind);
    int64_t *from = gt_query_memory(rows->query, sorted.count, sizeof *from), latest = 0;
    size_t gaps = 0;
    for (size_t i = 0; from && i < sorted.count; i++) {
        bool is_first = !i || !gt_rows_is_same(key, count, i - 1, i);
        if (!is_first && start[i] > latest) {
            behind[gaps] = (uint32_t)i;
            from[gaps++] = latest;
        }
        latest = is_first || end[i] > latest ? end[i] : latest;
    }
    struct gt_rows ret = sorted;
    gt_rows_gather(&ret, behind, gaps);
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
    struct pairing pairing = pair(rows, with, keys);
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

uint32_t *gt_rows_nest(struct gt_rows *rows, const char *as, const char *keys)
{
    const struct gt_rows_column *key[GT_COLUMNS];
    sort_with(rows, keys, "start -end");
    int count = gt_rows_list(rows, keys, key);
    const int64_t *end = gt_rows_wholes(rows, "end");
    uint32_t *parent = gt_rows_add_keys(rows, as, NULL), around = GT_NO_KEY;
    for (size_t i = 0; i < rows->count; i++) {
        if (i && !gt_rows_is_same(key, count, i - 1, i))
            around = GT_NO_KEY;
        while (around != GT_NO_KEY && end[around] < end[i])
            around = parent[around];
        parent[i] = around;
        around = (uint32_t)i;
    }
    return parent;
}
