/* slice.h -- parts of a text.  They are not copied and do not end with a NUL. */
#ifndef VS_SLICE_H
#define VS_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* A view into a text that the caller owns. */
struct vs_slice {
    const char *at;
    size_t length;
};

/* Sets the next slice of *text, which ends at white space, and moves *text after it.  False at the end. */
bool vs_slice_next(const char **text, struct vs_slice *slice);

static inline bool vs_slice_is(struct vs_slice slice, const char *name) {
    return strlen(name) == slice.length && memcmp(slice.at, name, slice.length) == 0;
}

/* Compares without regard to the case of ASCII letters. */
static inline bool vs_slice_is_case(struct vs_slice slice, const char *name) {
    return slice.at && slice.length == strlen(name) && strncasecmp(slice.at, name, slice.length) == 0;
}

/* Skips the byte order mark that some editors write at the start of a file. */
static inline struct vs_slice vs_slice_without_mark(struct vs_slice text) {
    size_t mark = text.length >= 3 && memcmp(text.at, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    return (struct vs_slice){text.at + mark, text.length - mark};
}

/* A name of a namespace or a tag: 1 to `max` of A-Z a-z 0-9 _ . : - and no dot at the start. */
bool vs_slice_is_name(struct vs_slice slice, size_t max);

/* Whether the slice is the secret.  The time it takes reveals only the secret's length. */
bool vs_slice_is_secret(struct vs_slice slice, const char *secret);

/* Splits a slice at the first `mark` into *before and *after.  False if it has no mark. */
bool vs_slice_split(struct vs_slice slice, char mark, struct vs_slice *before, struct vs_slice *after);

/* Decodes the %XX of a URI.  Shape: out[0..size) with its NUL, complete only with VS_DECODED. */
enum vs_decoding {
    VS_DECODED,
    VS_DECODE_HEX,     /* a '%' without two hex digits */
    VS_DECODE_CONTROL, /* a control character, or NUL */
    VS_DECODE_LONG
};
enum vs_decoding vs_slice_decode(struct vs_slice slice, char *out, size_t size);

/* The index of a slice in a list such as "a|b|c", or -1. */
int vs_slice_place(struct vs_slice slice, const char *list, char mark);

#endif
