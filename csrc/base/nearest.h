/* nearest.h -- what somebody who misspelt a name probably meant. */
#ifndef VS_NEAREST_H
#define VS_NEAREST_H

/* The entry of `names` (ended by NULL) that `word` was probably meant to be, or NULL. */
const char *vs_nearest(const char *word, const char *const *names);

#endif
