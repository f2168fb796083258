/* nearest.h -- finds the name that was probably meant by a misspelt one. */
#ifndef VS_NEAREST_H
#define VS_NEAREST_H

#include <stddef.h>

/* Returns the name from `names` (ended by NULL) that `word` was probably meant to be, or NULL. */
const char *vs_nearest(const char *word, const char *const *names);

/* Returns the end of an error about a word that is missing from a list such as "a|b|c", "a, b, c" or "a b c": "; did
 * you mean b?", or "" if no name is near.  Shape: hint has VS_HINT_MAX bytes and is returned. */
#define VS_HINT_MAX 64
const char *vs_nearest_hint(const char *word, size_t length, const char *list, char hint[VS_HINT_MAX]);

#endif
