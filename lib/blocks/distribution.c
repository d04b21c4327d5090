#include "blocks/distribution.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/number.h"

const char *const gt_statistic_names[GT_STATISTICS] = {"min", "max", "mean", "std", "p50", "p95", "p99"};

/* ---- buckets ---- */

enum { PAGE_BITS = 8, PAGE_SIZE = 1 << PAGE_BITS, MANTISSA_BITS = 52 };

/* Counts of the values whose sign and exponent are `key`, by the leading bits of their mantissa. */
struct gt_distribution_page {
    int key; /* rises with the values: negative for negative ones */
    uint64_t count[PAGE_SIZE];
};

static int page_key(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> MANTISSA_BITS & 0x7ff);
    return bits >> 63 ? -1 - exponent : exponent;
}

static unsigned bucket_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (unsigned)(bits >> (MANTISSA_BITS - PAGE_BITS)) & (PAGE_SIZE - 1);
}

/* The middle of a bucket. */
static double bucket_value(int key, unsigned bucket)
{
    uint64_t exponent = (uint64_t)(key < 0 ? -1 - key : key);
    uint64_t bits = exponent << MANTISSA_BITS | (uint64_t)bucket << (MANTISSA_BITS - PAGE_BITS);
    if (bits)
        bits |= UINT64_C(1) << (MANTISSA_BITS - PAGE_BITS - 1);
    bits |= key < 0 ? UINT64_C(1) << 63 : 0;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static struct gt_distribution_page *page_of(struct gt_distribution *distribution, int key)
{
    size_t at = 0;
    while (at < distribution->pages && distribution->page[at]->key < key)
        at++;
    if (at < distribution->pages && distribution->page[at]->key == key)
        return distribution->page[at];
    bool has_room = GT_GROW_BY_ONE(distribution->page, distribution->pages);
    struct gt_distribution_page *page = has_room ? calloc(1, sizeof *page) : NULL, **list = distribution->page;
    if (!page)
        return NULL;
    page->key = key;
    memmove(list + at + 1, list + at, (distribution->pages - at) * sizeof *list);
    list[at] = page;
    distribution->pages++;
    return page;
}

/* ---- mean and deviation ---- */

static struct gt_moments moments_of(const double *value, size_t count)
{
    struct gt_moments moments = {.count = count, .min = value[0], .max = value[0]};
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        moments.min = value[i] < moments.min ? value[i] : moments.min;
        moments.max = value[i] > moments.max ? value[i] : moments.max;
        sum += value[i];
    }
    moments.mean = fmin(fmax(sum / (double)count, moments.min), moments.max); /* rounding may carry it outside */
    for (size_t i = 0; i < count; i++)
        moments.m2 += (value[i] - moments.mean) * (value[i] - moments.mean);
    return moments;
}

static struct gt_moments join(const struct gt_moments *a, const struct gt_moments *b)
{
    if (!a->count || !b->count)
        return a->count ? *a : *b;
    double count = (double)(a->count + b->count), share = (double)b->count / count, apart = b->mean - a->mean;
    return (struct gt_moments){
        .count = a->count + b->count,
        .min = fmin(a->min, b->min),
        .max = fmax(a->max, b->max),
        .mean = a->mean + apart * share,
        .m2 = a->m2 + b->m2 + apart * apart * share * (double)a->count,
    };
}

static struct gt_moments total(const struct gt_distribution *distribution)
{
    if (!distribution->values)
        return distribution->before;
    struct gt_moments last = moments_of(distribution->value, distribution->values);
    return join(&distribution->before, &last);
}

/* ---- values ---- */

/* Evaluate the buffer and empty it. Values differ little in their exponents, so pages found once are kept at hand. */
static int empty_buffer(struct gt_distribution *distribution)
{
    struct gt_distribution_page *found[16] = {0};
    distribution->before = total(distribution);
    for (uint32_t i = 0; i < distribution->values; i++) {
        double value = distribution->value[i] + 0.0; /* -0 counts as 0 */
        int key = page_key(value);
        struct gt_distribution_page **page = &found[key & 15];
        if (!*page || (*page)->key != key)
            *page = page_of(distribution, key);
        if (!*page)
            return -ENOMEM;
        (*page)->count[bucket_of(value)]++;
    }
    distribution->values = 0;
    return 0;
}

static int make_room(struct gt_distribution *distribution)
{
    if (distribution->capacity == GT_DISTRIBUTION_EXACT)
        return empty_buffer(distribution);
    size_t capacity = distribution->capacity;
    int status = GT_GROW_TO(distribution->value, capacity, capacity + 1);
    distribution->capacity = (uint32_t)capacity;
    return status;
}

int gt_distribution_add(struct gt_distribution *distribution, double value)
{
    if (isnan(value))
        return 0;
    if (distribution->values == distribution->capacity && make_room(distribution) < 0)
        return -ENOMEM;
    distribution->value[distribution->values++] = value;
    return 0;
}

uint64_t gt_distribution_count(const struct gt_distribution *distribution)
{
    return distribution->before.count + distribution->values;
}

double gt_distribution_total(const struct gt_distribution *distribution)
{
    struct gt_moments all = total(distribution);
    return all.mean * (double)all.count;
}

/* ---- percentiles ---- */

/* The value of a whole rank, from 0. */
static double ranked(const struct gt_distribution *distribution, uint64_t rank)
{
    if (!distribution->pages)
        return distribution->value[rank];
    uint64_t below = 0;
    for (uint32_t i = 0; i < distribution->pages; i++) {
        const struct gt_distribution_page *page = distribution->page[i];
        for (unsigned j = 0; j < PAGE_SIZE; j++) {
            unsigned bucket = page->key < 0 ? PAGE_SIZE - 1 - j : j;
            below += page->count[bucket];
            if (below > rank)
                return fmin(fmax(bucket_value(page->key, bucket), distribution->before.min), distribution->before.max);
        }
    }
    return distribution->before.max;
}

double gt_distribution_percentile(struct gt_distribution *distribution, double percent)
{
    if (!gt_distribution_count(distribution))
        return NAN;
    if (!distribution->pages)
        qsort(distribution->value, distribution->values, sizeof *distribution->value, gt_order_doubles);
    else if (distribution->values && empty_buffer(distribution) < 0)
        return NAN;
    double rank = percent / 100 * (double)(gt_distribution_count(distribution) - 1);
    double low = ranked(distribution, (uint64_t)floor(rank)), high = ranked(distribution, (uint64_t)ceil(rank));
    return low + (high - low) * (rank - floor(rank));
}

double gt_distribution_statistic(struct gt_distribution *distribution, enum gt_statistic_id id)
{
    struct gt_moments all = total(distribution);
    if (!all.count)
        return NAN;
    switch (id) {
    case GT_STAT_MIN: return all.min;
    case GT_STAT_MAX: return all.max;
    case GT_STAT_MEAN: return all.mean;
    case GT_STAT_STD: return sqrt(all.m2 / (double)all.count);
    case GT_STAT_P50: return gt_distribution_percentile(distribution, 50);
    case GT_STAT_P95: return gt_distribution_percentile(distribution, 95);
    case GT_STAT_P99: return gt_distribution_percentile(distribution, 99);
    default: return NAN;
    }
}

void gt_distribution_release(struct gt_distribution *distribution)
{
    for (uint32_t i = 0; i < distribution->pages; i++)
        free(distribution->page[i]);
    free(distribution->page);
    free(distribution->value);
    memset(distribution, 0, sizeof *distribution);
}
