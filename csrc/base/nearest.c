/* nearest.c -- what a misspelt word was probably meant to be.  Knows no command, no option, no key. */
#include "base/nearest.h"

#include <string.h>

#define WORD_MAX 32 /* a word longer than this resembles nothing */
#define SLIPS_MAX 2 /* of the pen, and fewer in short names */
#define START_MIN 3 /* so many letters that begin a name resemble it */

static size_t nearest_least(size_t a, size_t b, size_t c) {
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein's distance, of words up to WORD_MAX. */
static size_t nearest_distance(const char *a, const char *b) {
    size_t row[WORD_MAX + 1], m = strlen(a), n = strlen(b);
    if (m > WORD_MAX || n > WORD_MAX) return WORD_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j];
            row[j] = nearest_least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

const char *vs_nearest(const char *word, const char *const *names) {
    const char *best = NULL, *begun = NULL;
    size_t best_distance = SLIPS_MAX + 1;
    size_t length = strlen(word);
    for (; *names; names++) {
        size_t d = nearest_distance(word, *names);
        if (d < best_distance && d * 2 <= strlen(*names)) {
            best = *names;
            best_distance = d;
        }
        if (length >= START_MIN && strncmp(word, *names, length) == 0) begun = *names;
    }
    return best ? best : begun;
}
