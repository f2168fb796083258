/* wide.h -- ids of 128 bits as text: UUID, ULID, 32 hex digits, TypeID.  Pure. */
#ifndef VS_WIDE_H
#define VS_WIDE_H

#include "base/slice.h"
#include "vesta_uuid.h"

/* The 16 bytes of an id as two numbers, so that ids compare as numbers.  `high` has the first eight bytes, the first of
 * them in its highest bits (RFC 9562). */
struct vs_wide {
    uint64_t high, low;
};

static inline int vs_wide_compare(struct vs_wide a, struct vs_wide b) {
    if (a.high != b.high) return a.high < b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

struct vs_wide vs_wide_of(const uint8_t bytes[16]);
void vs_wide_bytes(struct vs_wide id, uint8_t bytes[16]);

enum vs_wide_text {
    VS_WIDE_UUID,   /* 017f22e2-79b0-7cc3-98c4-dc0c0c07398f (RFC 9562) */
    VS_WIDE_ULID,   /* 01FWHE4YDGFK1SHH6W1G60EECF (github.com/ulid/spec) */
    VS_WIDE_HEX32,  /* 017f22e279b07cc398c4dc0c0c07398f (W3C Trace Context) */
    VS_WIDE_TYPEID, /* order_01fwhe4ydgfk1shh6w1g60eecf (TypeID 0.3) */
    VS_WIDE_TEXTS
};

#define VS_TYPEID_PREFIX_MAX 63
#define VS_WIDE_TEXT_MAX VESTA_UUID_TEXT_MAX
_Static_assert(VS_WIDE_TEXT_MAX == VS_TYPEID_PREFIX_MAX + 1 + 26 + 1, "the longest TypeID fits a text");

struct vs_wide_found {
    struct vs_wide id;
    enum vs_wide_text text;
    struct vs_slice prefix; /* of a TypeID, in the text that was read */
};

/* Reads an id in any of the texts.  A UUID may be in upper case, in braces, or follow urn:uuid:.  A ULID may be in
 * lower case, so a TypeID without a prefix is read as a ULID of the same bits.  A TypeID must be in lower case.
 * Errors: VESTA_EID with the text, and what it should be. */
int vs_wide_read(struct vs_slice text, struct vs_wide_found *out, struct vesta_error *err);

/* Returns the trace id in the header traceparent of W3C Trace Context, 00-TRACEID-PARENTID-01, or all of the text. */
struct vs_slice vs_wide_trace_id(struct vs_slice text);

/* Like vs_wide_read, but accepts only a TypeID, which may lack a prefix. */
int vs_typeid_read(struct vs_slice text, struct vs_wide_found *out, struct vesta_error *err);

/* Returns whether a text has the form of an id of 128 bits, so that vs_wide_read explains its fault better than a
 * parser of 64-bit ids would. */
bool vs_wide_is_meant(struct vs_slice text);

/* Checks the prefix of a TypeID.  Errors: VESTA_EFIELD with the prefix, and what it should be. */
int vs_typeid_check(struct vs_slice prefix, struct vesta_error *err);

/* Writes an id in canonical form, and returns the length without the NUL.  For a TypeID, this is only the 26 characters
 * of its suffix.  Shape: buf has VS_WIDE_TEXT_MAX bytes. */
size_t vs_wide_write(enum vs_wide_text text, struct vs_wide id, char *buf);
/* Writes prefix, separator and suffix.  The prefix must have passed vs_typeid_check. */
size_t vs_typeid_write(struct vs_slice prefix, struct vs_wide id, char *buf);

/* The fields that RFC 9562 defines for every UUID.  The variant of all its versions is 2 (the bits 10). */
static inline unsigned vs_wide_version(struct vs_wide id) {
    return (unsigned)(id.high >> 12 & 15);
}
static inline unsigned vs_wide_variant(struct vs_wide id) {
    return (unsigned)(id.low >> 62);
}
#define VS_WIDE_VARIANT 2

/* Sets the time of an id in Unix microseconds, which a ULID and a UUID of version 1, 6 and 7 contain.  Versions 1 and 6
 * count from 1582, so the time can be negative.
 * Errors: VESTA_EID if the id contains no time, with its version or variant. */
int vs_wide_time_us(const struct vs_wide_found *found, int64_t *unix_us, struct vesta_error *err);

/* Returns the text in which ids of a shape are written. */
static inline enum vs_wide_text vs_wide_text_of(enum vesta_shape shape) {
    return shape == VESTA_ULID ? VS_WIDE_ULID : shape == VESTA_HEX32 ? VS_WIDE_HEX32 : VS_WIDE_UUID;
}

/* Computes the smallest and the largest id of a shape with a time from from_ms to before until_ms, which are times of
 * ids of the layout: from_ms is rounded down to its time unit.  If from_ms == until_ms, the interval is the time unit
 * that contains this millisecond.  Errors: VESTA_EEPOCH if a time is before 1970 or after 48 bits of milliseconds. */
int vs_wide_range(enum vesta_shape shape, const struct vesta_layout *layout, int64_t from_ms, int64_t until_ms,
                  struct vs_wide out[2], struct vesta_error *err);

/* ------------------------------------------------------------------ facts */

/* Returns what a version of RFC 9562 contains, or NULL if it does not define the version. */
const char *vs_wide_about(unsigned version);
/* Returns whether version and variant are those of a UUID.  About 1 of 8 random ids has them. */
bool vs_wide_is_uuid(struct vs_wide id);

/* The facts that an id of 128 bits contains. */
#define VS_WIDE_KIND_MAX 16
struct vs_wide_facts {
    char kind[VS_WIDE_KIND_MAX]; /* uuid1 to uuid8, uuid (no version of RFC 9562), ulid, hex32, nil or max */
    bool has_time;
    int64_t unix_ms;        /* if it contains a time */
    enum vesta_shape shape; /* the shape and the layout with which `parts` were read (0: none) */
    struct vesta_layout layout;
    const char *layout_name;
    struct vesta_uuid_parts parts;
    struct vesta_parts fields;   /* of parts.id, if parts.has_id */
    char why[256];               /* why the id was not issued with the caller's layout, or "" */
    char text[VS_WIDE_TEXT_MAX]; /* the canonical form of the text that was read */
    char uuid[VS_WIDE_TEXT_MAX], ulid[VS_WIDE_TEXT_MAX];
};

/* Reads an id that vesta issued with a layout, or that another program made.  `layout` is NULL if it is unknown.  For a
 * UUID of version 8, all presets are tried too, because it contains its layout's fingerprint.  The strings of *out live
 * as long as `name`. */
void vs_wide_facts_of(const struct vs_wide_found *found, const struct vesta_layout *layout, const char *name,
                      struct vs_wide_facts *out);

#endif
