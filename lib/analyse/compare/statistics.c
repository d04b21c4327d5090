#include "analyse/compare/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/number.h"

/* ---- which of many figures differ ---- */

static const double FINENESS = 1e-3; /* of a figure: differences below say nothing */
static const double TIE = 1e-9;      /* statistics that differ by less than this part are equal: they were rounded */

enum { MOST_DIVISIONS = 20000, RANDOM_DIVISIONS = 9999, FEWEST_DIVISIONS = 1999 };
static const double MOST_WORK = 2e8; /* values looked at: less than a second */

/* Values of one group, as deviations from the mean of both. */
struct group {
    double count, sum, square;
};

struct row {
    double *deviation; /* [runs], NaN where missing */
    struct group all;
    double floor; /* the square of the part of the figure that says nothing */
    double observed;
    size_t exceeded;
    size_t number;
};

struct test {
    struct row *row;           /* those that are tested, the most conspicuous first */
    size_t rows, runs, second; /* `second`: runs in the second group */
    size_t *member;            /* [runs], those of the second group first */
    size_t divisions;
};

static void add(struct group *group, double deviation)
{
    if (isnan(deviation))
        return;
    group->count++;
    group->sum += deviation;
    group->square += deviation * deviation;
}

/* The square of the standard error of the group's mean. */
static double error_of(const struct group *group)
{
    double spread = group->square - group->sum * group->sum / group->count;
    return fmax(spread, 0) / (group->count - 1) / group->count;
}

static double statistic(const struct row *row, const size_t *member, size_t members)
{
    struct group second = {0};
    for (size_t i = 0; i < members; i++)
        add(&second, row->deviation[member[i]]);
    struct group first = {row->all.count - second.count, row->all.sum - second.sum, row->all.square - second.square};
    if (first.count < 2 || second.count < 2)
        return 0;
    double difference = fabs(second.sum / second.count - first.sum / first.count);
    double error = sqrt(error_of(&first) + error_of(&second) + row->floor);
    return difference > 0 && error > 0 ? difference / error : 0;
}

/* Count the rows in which this division is at least as conspicuous as the true one, on any of the rows behind. */
static void try_division(struct test *test)
{
    double largest = 0;
    test->divisions++;
    for (size_t i = test->rows; i-- > 0;) {
        largest = fmax(largest, statistic(&test->row[i], test->member, test->second));
        test->row[i].exceeded += largest >= test->row[i].observed * (1 - TIE);
    }
}

/* ---- divisions ---- */

/* Ways of choosing `members` of `runs`, or more than the most. */
static double ways(size_t runs, size_t members)
{
    double count = 1;
    for (size_t i = 1; i <= members && count <= MOST_DIVISIONS; i++)
        count *= (double)(runs - members + i) / (double)i;
    return count;
}

/* The next choice of ascending numbers; false behind the last. */
static bool next_choice(size_t *member, size_t members, size_t runs)
{
    size_t i = members;
    while (i > 0 && member[i - 1] == runs - members + i - 1)
        i--;
    if (!i)
        return false;
    member[i - 1]++;
    for (; i < members; i++)
        member[i] = member[i - 1] + 1;
    return true;
}

static void try_all(struct test *test)
{
    for (size_t i = 0; i < test->second; i++)
        test->member[i] = i;
    do
        try_division(test);
    while (next_choice(test->member, test->second, test->runs));
}

/* xorshift64*, S. Vigna, ACM Transactions on Mathematical Software 42, 2016. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* The true division, and as many others by chance. */
static void try_some(struct test *test, size_t count)
{
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
    try_division(test);
    while (count--) {
        for (size_t i = 0; i < test->second; i++) {
            size_t other = i + (next_random(&random) >> 32) % (test->runs - i), member = test->member[i];
            test->member[i] = test->member[other];
            test->member[other] = member;
        }
        try_division(test);
    }
}

static void try_divisions(struct test *test)
{
    double each = (double)(test->rows * test->runs), affordable = each > 0 ? MOST_WORK / each : 0;
    double all = ways(test->runs, test->second);
    if (all <= MOST_DIVISIONS && (all <= affordable || all <= FEWEST_DIVISIONS))
        try_all(test);
    else
        try_some(test, (size_t)fmin(fmax(affordable, FEWEST_DIVISIONS), RANDOM_DIVISIONS));
}

/* ---- rows ---- */

static size_t count_values(const double *value, size_t from, size_t to)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++)
        count += !isnan(value[i]);
    return count;
}

static double mean_of(const double *value, size_t runs, bool of_sizes)
{
    double sum = 0;
    for (size_t i = 0; i < runs; i++)
        if (!isnan(value[i]))
            sum += of_sizes ? fabs(value[i]) : value[i];
    return sum / (double)count_values(value, 0, runs);
}

static void set_row(struct test *test, struct row *row, const double *value)
{
    double mean = mean_of(value, test->runs, false), size = mean_of(value, test->runs, true) * FINENESS;
    row->floor = size * size;
    for (size_t i = 0; i < test->runs; i++) {
        row->deviation[i] = value[i] - mean;
        add(&row->all, row->deviation[i]);
    }
    row->observed = statistic(row, test->member, test->second);
}

static int by_observed(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return GT_ORDER_BY(GT_ORDER(y->observed, x->observed), GT_ORDER(x->number, y->number));
}

/* The true division, as which the test begins. */
static void divide(struct test *test, size_t baselines)
{
    for (size_t i = 0; i < test->runs; i++)
        test->member[i] = i < test->second ? baselines + i : i - test->second;
}

static void choose_rows(struct test *test, const double *value, size_t rows, size_t baselines, double *deviation)
{
    for (size_t number = 0; number < rows; number++) {
        const double *values = value + number * test->runs;
        if (count_values(values, 0, baselines) < GT_FEWEST_RUNS ||
            count_values(values, baselines, test->runs) < GT_FEWEST_RUNS)
            continue;
        struct row *row = &test->row[test->rows++];
        *row = (struct row){.number = number, .deviation = deviation + number * test->runs};
        set_row(test, row, values);
    }
    qsort(test->row, test->rows, sizeof *test->row, by_observed);
}

/* A row is not taken for more certain than those before it. */
static void tell(const struct test *test, size_t rows, double *ret_p)
{
    double least = 0;
    for (size_t i = 0; i < rows; i++)
        ret_p[i] = NAN;
    for (size_t i = 0; i < test->rows; i++) {
        least = fmax(least, (double)test->row[i].exceeded / (double)test->divisions);
        ret_p[test->row[i].number] = least;
    }
}

int gt_permutation_test(const double *value, size_t rows, size_t baselines, size_t runs, double *ret_p)
{
    struct test test = {.runs = runs, .second = runs - baselines};
    double *deviation = calloc(rows * runs + 1, sizeof *deviation);
    test.row = calloc(rows + 1, sizeof *test.row);
    test.member = calloc(runs + 1, sizeof *test.member);
    int status = deviation && test.row && test.member ? 0 : -ENOMEM;
    if (status == 0) {
        divide(&test, baselines);
        choose_rows(&test, value, rows, baselines, deviation);
        if (test.rows)
            try_divisions(&test);
        tell(&test, rows, ret_p);
    }
    free(deviation);
    free(test.row);
    free(test.member);
    return status;
}

/* ---- by how much means differ ---- */

static const double TINY = 1e-300;

static double log_gamma(double x)
{
    int sign; /* lgamma would keep it in a global */
    return lgamma_r(x, &sign);
}

/* The coefficient of the continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8). */
static double coefficient(double a, double b, double x, int number)
{
    int m = number / 2;
    if (number % 2)
        return -(a + m) * (a + b + m) * x / ((a + number - 1) * (a + number));
    return m * (b - m) * x / ((a + number - 1) * (a + number));
}

/* Evaluated from the front, by W. Lentz's method (Applied Optics 15, 1976). */
static double fraction(double a, double b, double x)
{
    enum { MOST = 500 };
    double value = 1, up = 1, down = 0;
    for (int number = 1; number < MOST; number++) {
        double next = coefficient(a, b, x, number);
        down = 1 / fmax(1 + next * down, TINY);
        up = 1 + next / up;
        value *= up * down;
        if (fabs(up * down - 1) < 1e-15)
            break;
    }
    return 1 / value;
}

/* The regularised incomplete beta function. */
static double beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x > 0;
    if (x > (a + 1) / (a + b + 2))
        return 1 - beta(b, a, 1 - x);
    double front = a * log(x) + b * log1p(-x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
    return exp(front) * fraction(a, b, x) / a;
}

/* The two-sided quantile of Student's t distribution: a value lies between -t and t with this probability. */
static double student_quantile(double probability, double degrees_of_freedom)
{
    double low = 0, high = 1; /* of the share x = df / (df + t^2) */
    for (int i = 0; i < 200 && high - low > 0; i++) {
        double middle = (low + high) / 2;
        if (middle <= low || middle >= high)
            break;
        if (beta(degrees_of_freedom / 2, 0.5, middle) < 1 - probability)
            low = middle;
        else
            high = middle;
    }
    return sqrt(degrees_of_freedom * (1 - high) / high);
}

struct moments {
    double mean, error; /* the square of the standard error of the mean */
};

static struct moments moments_of(const double *value, size_t count)
{
    struct moments moments = {0};
    for (size_t i = 0; i < count; i++)
        moments.mean += value[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        moments.error += (value[i] - moments.mean) * (value[i] - moments.mean);
    moments.error /= (double)(count - 1) * (double)count;
    return moments;
}

void gt_welch_interval(const double *a, size_t a_count, const double *b, size_t b_count, double *ret_low,
                       double *ret_high)
{
    *ret_low = *ret_high = NAN;
    if (a_count < 2 || b_count < 2)
        return;
    struct moments first = moments_of(a, a_count), second = moments_of(b, b_count);
    double difference = second.mean - first.mean, error = first.error + second.error, half = 0;
    if (error > 0) {
        double freedom = first.error * first.error / (double)(a_count - 1) +
                         second.error * second.error / (double)(b_count - 1);
        half = student_quantile(0.95, error * error / freedom) * sqrt(error);
    }
    *ret_low = difference - half;
    *ret_high = difference + half;
}
