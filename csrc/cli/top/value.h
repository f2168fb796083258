/* value.h -- reads JSON where it stands: members by name, items in turn.  Pure; what is not JSON has no members. */
#ifndef VS_VALUE_H
#define VS_VALUE_H

#include "base/slice.h"

#include <stdint.h>

/* The value of an object's member, or an empty slice. */
struct vs_slice vs_value_member(struct vs_slice object, const char *name);
/* The next item of an array, or value of an object with its name; *from begins with the whole, and goes on behind it.
 * False at the end. */
bool vs_value_next(struct vs_slice *from, struct vs_slice *name, struct vs_slice *value);

/* A number, also one in quotes; 0 where it is none. */
int64_t vs_value_number(struct vs_slice value);
/* A time or a span: no further than that from 0, so that two of them can be subtracted. */
#define VS_VALUE_FAR (INT64_C(1) << 60)
int64_t vs_value_span(struct vs_slice value);
bool vs_value_is_true(struct vs_slice value);
/* A string's text, cut to `size`; "" where it is none.  It may hold anything but NUL: vs_line makes it harmless.
 * Returns buf. */
const char *vs_value_text(struct vs_slice value, char *buf, size_t size);

#endif
