/* chi.h -- the chi-square test of n counts, whose sum is `total`, against equal counts. */
#ifndef VS_CHI_H
#define VS_CHI_H

#include <stddef.h>
#include <stdint.h>

double vs_chi_square(const uint64_t *counts, size_t n, uint64_t total);
/* Returns p: the probability that equally likely outcomes have at least this chi-square. */
double vs_chi_square_p(double chi_square, double degrees);

#endif
