#include "store/place.h"
#include "base/error.h"
#include "base/uri.h"
#include "os/address.h"

#include <stdio.h>

/* The characters that a name or a secret may contain.  Other characters are written as %XX. */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!\"$&'()*+,-.;<=>\\^_`{|}~%"

#define FORM "%s://NAME:SECRET@HOST:PORT, or %ss:// for TLS"

/* Rejects a text that may contain a secret, without quoting it.  `wrong` is the reason, which must not quote the text
 * either. NULL means that the text has no valid form. */
static int fail_hidden(const char *scheme, int number, const char *wrong, struct vesta_error *err) {
    char shown[32] = "the address";
    if (number) snprintf(shown, sizeof shown, "server %d", number);
    if (wrong)
        return vs_fail(err, VESTA_EOPTION, "%s, which is not shown because it may have a secret, %s", shown, wrong);
    return vs_fail(err, VESTA_EOPTION,
                   "%s, which is not shown because it may have a secret, is neither HOST:PORT nor " FORM
                   ", where special characters in a name or a secret are written as %%XX",
                   shown, scheme, scheme);
}

static bool is_tail(unsigned char c) {
    return c >= 0x80 && c <= 0xbf;
}

static bool is_utf8(const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        int more = *at < 0x80                   ? 0
                   : *at >= 0xc2 && *at <= 0xdf ? 1
                   : (*at & 0xf0) == 0xe0       ? 2
                   : *at >= 0xf0 && *at <= 0xf4 ? 3
                                                : -1;
        if (more < 0) return false;
        for (; more > 0; more--)
            if (!is_tail(*++at)) return false;
    }
    return true;
}

static bool is_part(struct vs_slice part, const char *also, char *out, size_t size) {
    for (size_t i = 0; i < part.length; i++)
        if (!part.at[i] || (!strchr(PLAIN, part.at[i]) && !strchr(also, part.at[i]))) return false;
    return vs_slice_decode(part, out, size) == VS_DECODED && is_utf8(out);
}

/* Parses NAME, NAME:SECRET or :SECRET. */
static bool read_user(const struct vs_uri_parts *parts, struct vs_place *out) {
    return is_part(parts->user, "", out->user, sizeof out->user) &&
           is_part(parts->password, ":", out->secret, sizeof out->secret) &&
           (parts->has_password ? *out->secret : *out->user);
}

/* Parses an address.  It cannot contain a secret, so it may be quoted. */
static int read_address(struct vs_slice text, const char *scheme, struct vs_place *out, struct vesta_error *err) {
    if (text.length >= sizeof out->address)
        return vs_fail(err, VESTA_EOPTION, "'%s' is longer than %zu bytes", VS_QUOTE(text.at, text.length),
                       sizeof out->address - 1);
    for (size_t i = 0; i < text.length; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~')
            return vs_fail(err, VESTA_EOPTION, "'%s' is not an address: HOST:PORT, [IPv6]:PORT, unix:PATH, " FORM,
                           VS_QUOTE(text.at, text.length), scheme, scheme);
    memcpy(out->address, text.at, text.length);
    out->address[text.length] = '\0';
    return vs_address_check(out->address, err);
}

/* Parses NAME:SECRET@HOST:PORT/0.  NAME:SECRET@ and /0 are optional. */
static bool read_parts(const struct vs_uri_parts *parts, const char *scheme, struct vs_place *out) {
    struct vesta_error hidden;
    if (!parts->has_authority || (parts->has_user && !read_user(parts, out))) return false;
    if (parts->path.length && !vs_slice_is(parts->path, "/") && !vs_slice_is(parts->path, "/0")) return false;
    return !memmem(parts->hosts.at, parts->hosts.length, "unix:", 5) &&
           read_address(parts->hosts, scheme, out, &hidden) == VESTA_OK;
}

/* Returns whether the slice is the scheme, or the scheme followed by s for TLS. */
static bool is_scheme(struct vs_slice slice, const char *scheme, bool *is_tls) {
    size_t length = strlen(scheme);
    *is_tls = slice.length == length + 1 && slice.at[length] == 's';
    return slice.length == length + *is_tls && memcmp(slice.at, scheme, length) == 0;
}

/* Rejects a query.  Quotes only its key, because its value may contain a secret. */
static int fail_query(struct vs_slice query, const char *scheme, int number, struct vesta_error *err) {
    struct vs_slice key, value;
    char wrong[160];
    (void)vs_uri_next_key(&query, &key, &value);
    snprintf(wrong, sizeof wrong, "has an unknown key '%s': a URI of %s:// has no keys", VS_QUOTE(key.at, key.length),
             scheme);
    return fail_hidden(scheme, number, wrong, err);
}

int vs_place_read(struct vs_slice text, const char *scheme, int number, struct vs_place *out, struct vesta_error *err) {
    memset(out, 0, sizeof *out);
    if (!memchr(text.at, '@', text.length) && !memmem(text.at, text.length, "://", 3))
        return read_address(text, scheme, out, err);
    struct vs_uri_parts parts;
    if (text.length > VS_PLACE_TEXT_MAX) return fail_hidden(scheme, number, NULL, err);
    const char *wrong = vs_uri_split(text, &parts);
    if (!is_scheme(parts.scheme, scheme, &out->is_tls)) return fail_hidden(scheme, number, NULL, err);
    if (wrong) return fail_hidden(scheme, number, wrong, err);
    if (parts.has_query) return fail_query(parts.query, scheme, number, err);
    return read_parts(&parts, scheme, out) ? VESTA_OK : fail_hidden(scheme, number, NULL, err);
}

const char *vs_place_host(const struct vs_place *place, char *buf, size_t size) {
    const char *from = place->address, *end = strrchr(from, ':');
    if (strncmp(from, "unix:", 5) == 0 || !end) end = from;
    if (*from == '[') from++, end--;
    snprintf(buf, size, "%.*s", (int)(end - from), from);
    return buf;
}
