/* slice.h -- views of parts of a string, which are not NUL-terminated. */
#ifndef VS_SLICE_H
#define VS_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* A view of bytes that the caller owns. */
struct vs_slice {
    const char *at;
    size_t length;
};

/* Sets *slice to the next word of *text and moves *text past the word.  Words are separated by white space.  Returns
 * false if there is no further word. */
bool vs_slice_next(const char **text, struct vs_slice *slice);

static inline bool vs_slice_is(struct vs_slice slice, const char *name) {
    return strlen(name) == slice.length && memcmp(slice.at, name, slice.length) == 0;
}

/* Returns whether the slice equals the name, ignoring the case of ASCII letters. */
static inline bool vs_slice_is_case(struct vs_slice slice, const char *name) {
    return slice.at && slice.length == strlen(name) && strncasecmp(slice.at, name, slice.length) == 0;
}

/* Skips the byte order mark that some editors write at the start of a file. */
static inline struct vs_slice vs_slice_without_mark(struct vs_slice text) {
    size_t mark = text.length >= 3 && memcmp(text.at, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    return (struct vs_slice){text.at + mark, text.length - mark};
}

/* Returns whether the slice is a valid namespace or tag: 1 to `max` characters of A-Z a-z 0-9 _ . : -, not beginning
 * with a dot. */
bool vs_slice_is_name(struct vs_slice slice, size_t max);

/* Returns whether the slice equals the secret.  The time of the comparison reveals only the secret's length. */
bool vs_slice_is_secret(struct vs_slice slice, const char *secret);

/* Splits a slice at the first `mark` into *before and *after.  Returns false if the slice has no mark. */
bool vs_slice_split(struct vs_slice slice, char mark, struct vs_slice *before, struct vs_slice *after);

/* Decodes the %XX escapes of a URI.
 * Shape: out has `size` bytes, and is a NUL-terminated string only if the result is VS_DECODED. */
enum vs_decoding {
    VS_DECODED,
    VS_DECODE_HEX,     /* a '%' without two hex digits */
    VS_DECODE_CONTROL, /* the result would contain a control character or NUL */
    VS_DECODE_LONG     /* the result does not fit into `size` bytes */
};
enum vs_decoding vs_slice_decode(struct vs_slice slice, char *out, size_t size);

/* Returns the index of the slice in a list of words separated by `mark`, such as "a|b|c", or -1. */
int vs_slice_place(struct vs_slice slice, const char *list, char mark);

#endif
