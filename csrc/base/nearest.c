/* nearest.c -- see nearest.h. */
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 32 /* letters. No name is suggested for longer words */
#define SLIPS_MAX 2 /* maximum edits between word and suggestion, which are also at most half the name's length */
#define START_MIN 3 /* a prefix of a name needs at least this many letters */

static size_t nearest_least(size_t a, size_t b, size_t c) {
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Returns the edit distance of two words of up to WORD_MAX letters: the number of letters that are inserted, deleted,
 * replaced, or swapped with their neighbour (optimal string alignment). */
static size_t nearest_distance(const char *a, const char *b) {
    size_t rows[3][WORD_MAX + 1], m = strlen(a), n = strlen(b);
    if (m > WORD_MAX || n > WORD_MAX) return WORD_MAX;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            row[j] = nearest_least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && second[j - 2] + 1 < row[j])
                row[j] = second[j - 2] + 1;
        }
    }
    return rows[m % 3][n];
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

#define BETWEEN "|, "
#define LIST_MAX 64 /* further words of a list are ignored */

const char *vs_nearest_hint(const char *word, size_t length, const char *list, char hint[VS_HINT_MAX]) {
    char copy[512], own[WORD_MAX + 1];
    const char *names[LIST_MAX + 1] = {NULL};
    size_t count = 0;
    hint[0] = '\0';
    if (length >= sizeof own) return hint;
    snprintf(own, sizeof own, "%.*s", (int)length, word);
    snprintf(copy, sizeof copy, "%s", list);
    for (char *at = copy + strspn(copy, BETWEEN); *at && count < LIST_MAX; at += strspn(at, BETWEEN)) {
        names[count++] = at;
        at += strcspn(at, BETWEEN);
        if (*at) *at++ = '\0';
    }
    const char *near = vs_nearest(own, names);
    if (near) snprintf(hint, VS_HINT_MAX, ". Did you mean %.*s?", WORD_MAX, near);
    return hint;
}
