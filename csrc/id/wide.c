/* wide.c -- ids of 128 bits as text, and the time in UUIDs of any origin. */
#include "id/wide.h"

#include "base/error.h"
#include "id/id.h"

#define HEX_DIGITS 32
#define UUID_LENGTH 36
#define ULID_LENGTH 26
#define TYPEID_SUFFIX_MEANT 20 /* a suffix from which on a text is meant as a TypeID, so that errors name it */

/* ------------------------------------------------------------------ bytes */

static uint64_t wide_load(const uint8_t *bytes) {
    uint64_t half = 0;
    for (int i = 0; i < 8; i++)
        half = half << 8 | bytes[i];
    return half;
}

static void wide_store(uint64_t half, uint8_t *bytes) {
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(half >> (56 - 8 * i));
}

struct vs_wide vs_wide_of(const uint8_t bytes[16]) {
    return (struct vs_wide){wide_load(bytes), wide_load(bytes + 8)};
}

void vs_wide_bytes(struct vs_wide id, uint8_t bytes[16]) {
    wide_store(id.high, bytes);
    wide_store(id.low, bytes + 8);
}

/* ------------------------------------------------------------------ reading */

/* The groups of a UUID: the position of each in the 36 characters, and in the 32 digits. */
static const struct {
    unsigned char at, digit, length;
} groups[] = {{0, 0, 8}, {9, 8, 4}, {14, 12, 4}, {19, 16, 4}, {24, 20, 12}};

static int wide_no(struct vs_slice text, struct vesta_error *err, const char *why) {
    return vs_fail(err, VESTA_EID, "'%s' %s", VS_QUOTE(text.at, text.length), why);
}

static bool wide_take_digits(const char *digits, struct vs_wide *id) {
    struct vs_wide read;
    if (vesta_parse(VESTA_HEX, digits, 16, &read.high) != VESTA_OK ||
        vesta_parse(VESTA_HEX, digits + 16, 16, &read.low) != VESTA_OK)
        return false;
    *id = read;
    return true;
}

/* Reads the 36 characters of a UUID. */
static bool wide_take_canonical(struct vs_slice text, struct vs_wide *id) {
    char digits[HEX_DIGITS];
    if (text.length != UUID_LENGTH) return false;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (groups[i].at > 0 && text.at[groups[i].at - 1] != '-') return false;
        memcpy(digits + groups[i].digit, text.at + groups[i].at, groups[i].length);
    }
    return wide_take_digits(digits, id);
}

/* Reads 26 digits of base32, which are 130 bits, so the first digit must not exceed 7.  vesta_parse also accepts I, L
 * and O as Crockford's look-alikes, but the specifications of ULID and TypeID do not. */
static const char *wide_trouble_in_base32(struct vs_slice text, struct vs_wide *id) {
    uint64_t first, middle, last;
    if (text.length != ULID_LENGTH) return "must have 26 characters";
    for (size_t i = 0; i < ULID_LENGTH; i++)
        if (memchr("ILOilo", text.at[i], 6)) return "must not contain the letters I, L, O and U";
    if (vesta_parse(VESTA_BASE32, text.at, 2, &first) != VESTA_OK ||
        vesta_parse(VESTA_BASE32, text.at + 2, 12, &middle) != VESTA_OK ||
        vesta_parse(VESTA_BASE32, text.at + 14, 12, &last) != VESTA_OK)
        return "must consist of digits and of letters other than I, L, O and U";
    if (first >> 8) return "is larger than 128 bits hold: its first character must be 0 to 7";
    *id = (struct vs_wide){first << 56 | middle >> 4, middle << 60 | last};
    return NULL;
}

static bool is_prefix_letter(char c) {
    return c >= 'a' && c <= 'z';
}

int vs_typeid_check(struct vs_slice prefix, struct vesta_error *err) {
    const char *why = NULL;
    for (size_t i = 0; i < prefix.length && !why; i++)
        if (!is_prefix_letter(prefix.at[i]) && prefix.at[i] != '_')
            why = "may contain only the characters a to z and _";
    if (prefix.length > VS_TYPEID_PREFIX_MAX)
        why = "has more than 63 characters";
    else if (!why && prefix.length > 0 && (*prefix.at == '_' || prefix.at[prefix.length - 1] == '_'))
        why = "must begin and end with a letter";
    if (!why) return VESTA_OK;
    return vs_fail(err, VESTA_EFIELD, "the TypeID prefix '%s' %s. Use a prefix such as order or line_item",
                   VS_QUOTE(prefix.at, prefix.length), why);
}

int vs_typeid_read(struct vs_slice text, struct vs_wide_found *out, struct vesta_error *err) {
    struct vs_wide_found found = {.text = VS_WIDE_TYPEID};
    struct vs_slice suffix = text;
    struct vesta_error why;
    const char *mark = text.length > 0 ? memrchr(text.at, '_', text.length) : NULL;
    if (mark) {
        found.prefix = (struct vs_slice){text.at, (size_t)(mark - text.at)};
        suffix = (struct vs_slice){mark + 1, text.length - found.prefix.length - 1};
        if (found.prefix.length == 0)
            return wide_no(text, err, "is not a TypeID: without a prefix it must not begin with _");
        if (vs_typeid_check(found.prefix, &why) != VESTA_OK)
            return vs_fail(err, VESTA_EID, "'%s' is not a TypeID: %s", VS_QUOTE(text.at, text.length), why.text);
    }
    const char *trouble = wide_trouble_in_base32(suffix, &found.id);
    for (size_t i = 0; i < suffix.length && !trouble; i++)
        if (suffix.at[i] >= 'A' && suffix.at[i] <= 'Z') trouble = "must be in lower case";
    if (trouble)
        return vs_fail(err, VESTA_EID, "'%s' is not a TypeID: its suffix '%s' %s", VS_QUOTE(text.at, text.length),
                       VS_QUOTE(suffix.at, suffix.length), trouble);
    *out = found;
    return VESTA_OK;
}

/* Removes urn:uuid: or the braces around a UUID.  Returns whether the text has either. */
static bool wide_unwrap(struct vs_slice *text) {
    static const char urn[] = "urn:uuid:";
    size_t length = sizeof urn - 1;
    if (text->length > length && strncasecmp(text->at, urn, length) == 0) {
        *text = (struct vs_slice){text->at + length, text->length - length};
        return true;
    }
    if (text->length < 2 || *text->at != '{' || text->at[text->length - 1] != '}') return false;
    *text = (struct vs_slice){text->at + 1, text->length - 2};
    return true;
}

struct vs_slice vs_wide_trace_id(struct vs_slice text) {
    bool is_header = text.length == 55 && text.at[2] == '-' && text.at[35] == '-' && text.at[52] == '-';
    return is_header ? (struct vs_slice){text.at + 3, 32} : text;
}

int vs_wide_read(struct vs_slice text, struct vs_wide_found *out, struct vesta_error *err) {
    static const char shape[] = "is not a UUID: write 32 hexadecimal digits as 8-4-4-4-12, such as "
                                "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
    struct vs_wide_found found = {.text = VS_WIDE_UUID};
    struct vs_slice inner = text;
    if (text.length > 0 && memchr(text.at, '_', text.length)) return vs_typeid_read(text, out, err);
    if (wide_unwrap(&inner) || (text.length > 0 && memchr(text.at, '-', text.length))) {
        if (!wide_take_canonical(inner, &found.id)) return wide_no(text, err, shape);
    } else if (text.length == HEX_DIGITS) {
        found.text = VS_WIDE_HEX32;
        if (!wide_take_digits(text.at, &found.id))
            return wide_no(text, err, "is not a 128-bit id: its 32 characters must be hexadecimal digits");
    } else if (text.length == ULID_LENGTH) {
        found.text = VS_WIDE_ULID;
        const char *trouble = wide_trouble_in_base32(text, &found.id);
        if (trouble)
            return vs_fail(err, VESTA_EID, "'%s' is not a ULID: it %s", VS_QUOTE(text.at, text.length), trouble);
    } else {
        return vs_fail(err, VESTA_EID,
                       "'%s' is not a 128-bit id: it has %zu characters. A UUID has 36, 32 hexadecimal digits have no "
                       "hyphens, a ULID has 26, and a TypeID is a prefix, _ and 26",
                       VS_QUOTE(text.at, text.length), text.length);
    }
    *out = found;
    return VESTA_OK;
}

bool vs_wide_is_meant(struct vs_slice text) {
    struct vs_slice inner = text;
    size_t hyphens = 0;
    if (wide_unwrap(&inner)) return true;
    for (size_t i = 0; i < text.length; i++)
        hyphens += text.at[i] == '-';
    const char *mark = text.length > 0 ? memrchr(text.at, '_', text.length) : NULL;
    return hyphens == 4 || text.length == HEX_DIGITS || text.length == ULID_LENGTH ||
           (mark && (size_t)(text.at + text.length - mark - 1) >= TYPEID_SUFFIX_MEANT);
}

/* ------------------------------------------------------------------ writing */

static size_t wide_write_digits(struct vs_wide id, char *buf) {
    vesta_format(VESTA_HEX, id.high, buf);
    vesta_format(VESTA_HEX, id.low, buf + 16);
    return HEX_DIGITS;
}

static size_t wide_write_canonical(struct vs_wide id, char *buf) {
    char digits[HEX_DIGITS + 1];
    wide_write_digits(id, digits);
    memset(buf, '-', UUID_LENGTH);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        memcpy(buf + groups[i].at, digits + groups[i].digit, groups[i].length);
    buf[UUID_LENGTH] = '\0';
    return UUID_LENGTH;
}

/* vesta_format writes 13 digits, of which the last 2 or 12 are used. */
static size_t wide_write_base32(struct vs_wide id, char *buf) {
    const uint64_t sixty = (UINT64_C(1) << 60) - 1;
    char digits[VESTA_FORMAT_MAX];
    vesta_format(VESTA_BASE32, id.high >> 56, digits);
    memcpy(buf, digits + 11, 2);
    vesta_format(VESTA_BASE32, (id.high << 4 | id.low >> 60) & sixty, digits);
    memcpy(buf + 2, digits + 1, 12);
    vesta_format(VESTA_BASE32, id.low & sixty, digits);
    memcpy(buf + 14, digits + 1, 13);
    return ULID_LENGTH;
}

size_t vs_typeid_write(struct vs_slice prefix, struct vs_wide id, char *buf) {
    char *at = buf;
    if (prefix.length > 0) {
        at = (char *)memcpy(at, prefix.at, prefix.length) + prefix.length;
        *at++ = '_';
    }
    size_t length = wide_write_base32(id, at);
    for (size_t i = 0; i < length; i++)
        at[i] = (char)(at[i] >= 'A' ? at[i] | 0x20 : at[i]);
    return (size_t)(at - buf) + length;
}

size_t vs_wide_write(enum vs_wide_text text, struct vs_wide id, char *buf) {
    switch (text) {
    case VS_WIDE_ULID: return wide_write_base32(id, buf);
    case VS_WIDE_HEX32: return wide_write_digits(id, buf);
    case VS_WIDE_TYPEID: return vs_typeid_write((struct vs_slice){0}, id, buf);
    default: return wide_write_canonical(id, buf);
    }
}

/* ------------------------------------------------------------------ time */

/* The time of versions 1 and 6 counts 100 ns from 1582-10-15, this long before 1970. */
#define GREGORIAN INT64_C(122192928000000000)

int vs_wide_time_us(const struct vs_wide_found *found, int64_t *unix_us, struct vesta_error *err) {
    struct vs_wide id = found->id;
    char text[VS_WIDE_TEXT_MAX];
    uint64_t hundred_ns;
    if (found->text != VS_WIDE_ULID) {
        vs_wide_write(VS_WIDE_UUID, id, text);
        if (vs_wide_variant(id) != VS_WIDE_VARIANT)
            return vs_fail(
                err, VESTA_EID,
                "%s contains no known time: its variant bits are %u%u, not the 10 of RFC 9562. Use a UUID of "
                "version 1, 6 or 7, or a ULID",
                text, vs_wide_variant(id) >> 1, vs_wide_variant(id) & 1);
        switch (vs_wide_version(id)) {
        case 7: break;
        case 1:
            hundred_ns = (id.high & 0xfff) << 48 | (id.high >> 16 & 0xffff) << 32 | id.high >> 32;
            *unix_us = ((int64_t)hundred_ns - GREGORIAN) / 10;
            return VESTA_OK;
        case 6:
            hundred_ns = id.high >> 16 << 12 | (id.high & 0xfff);
            *unix_us = ((int64_t)hundred_ns - GREGORIAN) / 10;
            return VESTA_OK;
        default:
            return vs_fail(err, VESTA_EID,
                           "%s contains no known time: its version is %u. Use a UUID of version 1, 6 or 7, or a ULID",
                           text, vs_wide_version(id));
        }
    }
    *unix_us = (int64_t)(id.high >> 16) * 1000;
    return VESTA_OK;
}

int vs_wide_range(enum vesta_shape shape, const struct vesta_layout *layout, int64_t from_ms, int64_t until_ms,
                  struct vs_wide out[2], struct vesta_error *err) {
    const int64_t ms_max = (INT64_C(1) << 48) - 1;
    uint64_t version = shape == VESTA_UUID7 ? 7 : shape == VESTA_UUID8 ? 8 : 0;
    char iso[VESTA_ISO_MAX];
    if (from_ms > layout->epoch_ms) from_ms = vs_time_ms(layout, vs_time_in(layout, from_ms));
    int64_t last_ms = until_ms > from_ms ? until_ms - 1 : from_ms;
    if (from_ms < 0 || last_ms > ms_max) {
        vesta_iso(from_ms < 0 ? from_ms : until_ms, iso);
        return vs_fail(err, VESTA_EEPOCH,
                       "no %s has the time %s: use times from 1970-01-01T00:00:00Z to 10889-08-02T05:31:50.655Z",
                       vesta_shape_name(shape), iso);
    }
    out[0] = (struct vs_wide){(uint64_t)from_ms << 16, 0};
    out[1] = (struct vs_wide){(uint64_t)last_ms << 16 | 0xffff, UINT64_MAX};
    for (int i = 0; i < 2 && version; i++) {
        out[i].high = (out[i].high & ~UINT64_C(0xf000)) | version << 12;
        out[i].low = out[i].low >> 2 | (uint64_t)VS_WIDE_VARIANT << 62;
    }
    return VESTA_OK;
}

/* ------------------------------------------------------------------ the public functions */

size_t vesta_uuid_format(enum vesta_shape shape, const unsigned char *uuid, char *buf) {
    return vs_wide_write(vs_wide_text_of(shape), vs_wide_of(uuid), buf);
}

int vesta_typeid_format(const char *prefix, const unsigned char *uuid, char *buf, struct vesta_error *err) {
    struct vs_slice slice = {prefix, strlen(prefix)};
    int rc = vs_typeid_check(slice, err);
    if (rc == VESTA_OK) vs_typeid_write(slice, vs_wide_of(uuid), buf);
    return rc;
}

int vesta_uuid_parse(const char *text, size_t length, unsigned char *uuid, struct vesta_error *err) {
    struct vs_wide_found found;
    int rc = vs_wide_read((struct vs_slice){text, length}, &found, err);
    if (rc == VESTA_OK) vs_wide_bytes(found.id, uuid);
    return rc;
}

int vesta_uuid_unix_us(const unsigned char *uuid, int64_t *unix_us, struct vesta_error *err) {
    struct vs_wide_found found = {.id = vs_wide_of(uuid), .text = VS_WIDE_UUID};
    return vs_wide_time_us(&found, unix_us, err);
}
