/* nearest.h -- suggests a known name for a misspelt word. */
#ifndef VS_NEAREST_H
#define VS_NEAREST_H

#include <stddef.h>

/* Returns the name that `word` probably misspells, or NULL if none is similar.  The array `names` ends with NULL. */
const char *vs_nearest(const char *word, const char *const *names);

/* Writes a suggestion to append to an error about an unknown word, such as ". Did you mean b?".  The list contains the
 * known words, as in "a|b|c", "a, b, c" or "a b c".  The suggestion is "" if no word is similar.
 * Shape: hint has VS_HINT_MAX bytes and is returned. */
#define VS_HINT_MAX 64
const char *vs_nearest_hint(const char *word, size_t length, const char *list, char hint[VS_HINT_MAX]);

#endif
