/* nearest.h -- what somebody who misspelt a name probably meant. */
#ifndef VS_NEAREST_H
#define VS_NEAREST_H

#include <stddef.h>

/* The entry of `names` (ended by NULL) that `word` was probably meant to be, or NULL. */
const char *vs_nearest(const char *word, const char *const *names);

/* The end of an error about a word that is not in a list such as "a|b|c", "a, b, c" or "a b c": "; did you mean b?", or
 * "" if none is near.  Shape: hint of VS_HINT_MAX bytes, and returns it. */
#define VS_HINT_MAX 64
const char *vs_nearest_hint(const char *word, size_t length, const char *list, char hint[VS_HINT_MAX]);

#endif
