/* slice.h -- pieces of a text where they stand: nothing is copied, nothing ends with a zero byte. */
#ifndef VS_SLICE_H
#define VS_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* A view into somebody's text. */
struct vs_slice {
    const char *at;
    size_t length;
};

/* The next slice of *text, up to white space; moves *text behind it.  False at the end. */
bool vs_slice_next(const char **text, struct vs_slice *slice);

static inline bool vs_slice_is(struct vs_slice slice, const char *name) {
    return strlen(name) == slice.length && memcmp(slice.at, name, slice.length) == 0;
}

/* ASCII letters in either case. */
static inline bool vs_slice_is_case(struct vs_slice slice, const char *name) {
    return slice.at && slice.length == strlen(name) && strncasecmp(slice.at, name, slice.length) == 0;
}

/* Without the byte order mark that some editors put in front of a text. */
static inline struct vs_slice vs_slice_without_mark(struct vs_slice text) {
    size_t mark = text.length >= 3 && memcmp(text.at, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    return (struct vs_slice){text.at + mark, text.length - mark};
}

/* A name that people give to a namespace or a tag: 1 to `max` of A-Z a-z 0-9 _ . : - and no dot in front. */
bool vs_slice_is_name(struct vs_slice slice, size_t max);

/* In a time that says nothing about the secret but its length. */
bool vs_slice_is_secret(struct vs_slice slice, const char *secret);

/* Splits a slice at the first `mark`: *before and *after are its sides.  False where it has none. */
bool vs_slice_split(struct vs_slice slice, char mark, struct vs_slice *before, struct vs_slice *after);

/* Undoes the %XX of a URI.  Shape: out[0..size), with its NUL, whole only if it is DECODED. */
enum vs_decoding {
    VS_DECODED,
    VS_DECODE_HEX,     /* a '%' without two hex digits */
    VS_DECODE_CONTROL, /* a control character, or NUL */
    VS_DECODE_LONG
};
enum vs_decoding vs_slice_decode(struct vs_slice slice, char *out, size_t size);

/* The place of a slice in a list such as "a|b|c", from 0 on; -1: it is not there. */
int vs_slice_place(struct vs_slice slice, const char *list, char mark);

#endif
