#include "aggregate/spread.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const gt_statistic_names[GT_STATISTICS] = {"min", "max", "mean", "std", "p50", "p95", "p99"};

enum { PAGE_BITS = 8, PAGE_SIZE = 1 << PAGE_BITS, MANTISSA_BITS = 52 };

/* Counts of the values whose sign and exponent are `key`, by the leading bits of their mantissa. */
struct gt_spread_page {
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

static struct gt_spread_page *page_of(struct gt_spread *spread, int key)
{
    size_t at = 0;
    while (at < spread->pages && spread->page[at]->key < key)
        at++;
    if (at < spread->pages && spread->page[at]->key == key)
        return spread->page[at];
    struct gt_spread_page **list = realloc(spread->page, (spread->pages + 1) * sizeof *list);
    if (!list)
        return NULL;
    spread->page = list;
    struct gt_spread_page *page = calloc(1, sizeof *page);
    if (!page)
        return NULL;
    page->key = key;
    memmove(list + at + 1, list + at, (spread->pages - at) * sizeof *list);
    list[at] = page;
    spread->pages++;
    return page;
}

static int sort_in(struct gt_spread *spread, double value, uint64_t times)
{
    value += 0.0; /* -0 counts as 0 */
    int key = page_key(value);
    if (!spread->recent || spread->recent->key != key)
        spread->recent = page_of(spread, key);
    if (!spread->recent)
        return -ENOMEM;
    spread->recent->count[bucket_of(value)] += times;
    return 0;
}

static int keep(struct gt_spread *spread, double value)
{
    if (spread->values == spread->capacity) {
        uint32_t capacity = spread->capacity ? spread->capacity * 2 : 8;
        double *list = realloc(spread->value, capacity * sizeof *list);
        if (!list)
            return -ENOMEM;
        spread->value = list;
        spread->capacity = capacity;
    }
    spread->value[spread->values++] = value;
    return 0;
}

static int begin_buckets(struct gt_spread *spread)
{
    int status = 0;
    for (uint32_t i = 0; i < spread->values && status == 0; i++)
        status = sort_in(spread, spread->value[i], 1);
    free(spread->value);
    spread->value = NULL;
    spread->values = spread->capacity = 0;
    return status;
}

static int count_in_bucket(struct gt_spread *spread, double value)
{
    if (value == spread->last && spread->run) {
        spread->run++;
        return 0;
    }
    int status = spread->run ? sort_in(spread, spread->last, spread->run) : 0;
    spread->last = value;
    spread->run = 1;
    return status;
}

int gt_spread_add(struct gt_spread *spread, double value)
{
    if (isnan(value))
        return 0;
    if (!spread->count++) {
        spread->min = spread->max = spread->mean = value;
        return keep(spread, value);
    }
    spread->min = value < spread->min ? value : spread->min;
    spread->max = value > spread->max ? value : spread->max;
    double away = value - spread->mean;
    spread->mean += away / (double)spread->count;
    spread->m2 += away * (value - spread->mean);
    if (spread->count > GT_SPREAD_EXACT + 1)
        return count_in_bucket(spread, value);
    if (spread->count <= GT_SPREAD_EXACT)
        return keep(spread, value);
    int status = begin_buckets(spread);
    return status < 0 ? status : count_in_bucket(spread, value);
}

double gt_spread_min(const struct gt_spread *spread)
{
    return spread->count ? spread->min : NAN;
}

double gt_spread_max(const struct gt_spread *spread)
{
    return spread->count ? spread->max : NAN;
}

double gt_spread_mean(const struct gt_spread *spread)
{
    return spread->count ? spread->mean : NAN;
}

double gt_spread_deviation(const struct gt_spread *spread)
{
    return spread->count ? sqrt(spread->m2 / (double)spread->count) : NAN;
}

double gt_spread_total(const struct gt_spread *spread)
{
    return spread->mean * (double)spread->count;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value of a whole rank, from 0. */
static double ranked(const struct gt_spread *spread, uint64_t rank)
{
    if (spread->values)
        return spread->value[rank];
    uint64_t below = 0;
    for (uint32_t i = 0; i < spread->pages; i++) {
        const struct gt_spread_page *page = spread->page[i];
        for (unsigned j = 0; j < PAGE_SIZE; j++) {
            unsigned bucket = page->key < 0 ? PAGE_SIZE - 1 - j : j;
            below += page->count[bucket];
            if (below > rank)
                return fmin(fmax(bucket_value(page->key, bucket), spread->min), spread->max);
        }
    }
    return spread->max;
}

double gt_spread_percentile(struct gt_spread *spread, double percent)
{
    if (!spread->count)
        return NAN;
    if (spread->values)
        qsort(spread->value, spread->values, sizeof *spread->value, compare_doubles);
    else if (spread->run && sort_in(spread, spread->last, spread->run) == 0)
        spread->run = 0;
    double rank = percent / 100 * (double)(spread->count - 1);
    double low = ranked(spread, (uint64_t)floor(rank)), high = ranked(spread, (uint64_t)ceil(rank));
    return low + (high - low) * (rank - floor(rank));
}

double gt_spread_statistic(struct gt_spread *spread, enum gt_statistic_id id)
{
    switch (id) {
    case GT_MIN: return gt_spread_min(spread);
    case GT_MAX: return gt_spread_max(spread);
    case GT_MEAN: return gt_spread_mean(spread);
    case GT_STD: return gt_spread_deviation(spread);
    case GT_P50: return gt_spread_percentile(spread, 50);
    case GT_P95: return gt_spread_percentile(spread, 95);
    case GT_P99: return gt_spread_percentile(spread, 99);
    default: return NAN;
    }
}

void gt_spread_release(struct gt_spread *spread)
{
    for (uint32_t i = 0; i < spread->pages; i++)
        free(spread->page[i]);
    free(spread->page);
    free(spread->value);
    memset(spread, 0, sizeof *spread);
}
