#include "analyse/compare/welch.h"

#include <math.h>

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

double gt_student_quantile(double probability, double degrees_of_freedom)
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
        half = gt_student_quantile(0.95, error * error / freedom) * sqrt(error);
    }
    *ret_low = difference - half;
    *ret_high = difference + half;
}
