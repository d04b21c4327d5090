/* The distribution of one quantity, one value at a time and in bounded memory. Values wait in a small buffer and are
 * evaluated together.
 *
 * Mean and variance of a bufferful are taken in two passes, mean = sum x / n and M2 = sum (x - mean)^2, and joined to those
 * of the values before by the pairwise rule of Chan, Golub and LeVeque (The American Statistician 37, 1983). The standard
 * deviation is the population's, sqrt(M2 / n) (ddof 0).
 *
 * Percentiles interpolate linearly between the closest ranks: rank p (n - 1), from 0 (type 7 of Hyndman and Fan, The
 * American Statistician 50, 1996; numpy's default). They are exact up to GT_DISTRIBUTION_EXACT values. Beyond, values are
 * counted in buckets of equal relative width, 256 to each power of two, and the relative error of a percentile is at most
 * 1/512. */
#ifndef GT_BLOCKS_DISTRIBUTION_H
#define GT_BLOCKS_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

enum { GT_DISTRIBUTION_EXACT = 512 };

struct gt_distribution_page;

struct gt_moments {
    uint64_t count;
    double min, max, mean, m2;
};

struct gt_distribution {
    struct gt_moments before; /* of the values that have left the buffer */
    double *value;            /* the buffer */
    uint32_t values, capacity, pages;
    struct gt_distribution_page **page; /* counts of those that have left it, by rising value */
};

/* Add a value. A distribution begins as all zero. NaN is not counted. 0 or -ENOMEM. */
int gt_distribution_add(struct gt_distribution *distribution, double value);
uint64_t gt_distribution_count(const struct gt_distribution *distribution);
double gt_distribution_total(const struct gt_distribution *distribution); /* mean times count; 0 of none */
/* Returns NaN while the distribution is empty. */
double gt_distribution_percentile(struct gt_distribution *distribution, double percent);
void gt_distribution_release(struct gt_distribution *distribution);

/* The names under which reports show these statistics, one list for all: min max mean std p50 p95 p99. */
enum gt_statistic_id {
    GT_STAT_MIN,
    GT_STAT_MAX,
    GT_STAT_MEAN,
    GT_STAT_STD,
    GT_STAT_P50,
    GT_STAT_P95,
    GT_STAT_P99,
    GT_STATISTICS
};
enum { GT_ORIGINAL_STATISTICS = GT_STAT_P50 }; /* those before are gpu_tracker's own */
extern const char *const gt_statistic_names[GT_STATISTICS];
double gt_distribution_statistic(struct gt_distribution *distribution, enum gt_statistic_id id);

#endif
