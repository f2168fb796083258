/* chi.c -- the chi-square test.  Pure. */
#include "main/ids/chi.h"

#include <assert.h>
#include <math.h>

#define TERMS_MAX 100000 /* both sums below need about sqrt(a) terms */
#define PRECISION 1e-15
#define TINY 1e-300

/* The regularized lower incomplete gamma function P(a, x), by its series.  For x < a + 1. */
static double chi_lower(double a, double x, double scale) {
    double term = 1 / a, sum = term;
    for (int n = 1; n < TERMS_MAX && term > sum * PRECISION; n++)
        sum += term *= x / (a + n);
    return sum * scale;
}

/* The upper one, Q(a, x) = 1 - P(a, x), by its continued fraction (Lentz's method).  For x >= a + 1. */
static double chi_upper(double a, double x, double scale) {
    double b = x + 1 - a, c = 1 / TINY, d = 1 / b, fraction = d, factor = 0;
    for (int n = 1; n < TERMS_MAX && fabs(factor - 1) > PRECISION; n++) {
        double an = -n * (n - a);
        b += 2;
        d = an * d + b;
        d = 1 / (fabs(d) < TINY ? TINY : d);
        c = b + an / c;
        if (fabs(c) < TINY) c = TINY;
        fraction *= factor = d * c;
    }
    return fraction * scale;
}

double vs_chi_square_p(double chi_square, double degrees) {
    double a = degrees / 2, x = chi_square / 2;
    assert(degrees > 0);
    if (x <= 0) return 1;
    double scale = exp(a * log(x) - x - lgamma(a));
    return x < a + 1 ? 1 - chi_lower(a, x, scale) : chi_upper(a, x, scale);
}

double vs_chi_square(const uint64_t *counts, size_t n, uint64_t total) {
    double expected = (double)total / (double)n, sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return sum;
}
