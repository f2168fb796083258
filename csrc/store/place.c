/* place.c -- where a server is and who asks it; see place.h.  Pure, but for the error's words. */
#include "store/place.h"
#include "base/error.h"
#include "os/address.h"

#include <stdio.h>

/* Of a name and a secret; all else is written as %XX. */
#define PLAIN                                                                                                          \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!\"$&'()*+,-.;<=>\\^_`{|}~%"

#define FORM "%s://NAME:SECRET@HOST:PORT, or %ss:// for TLS"

static int fail_hidden(const char *scheme, int number, struct vesta_error *err) {
    char shown[32] = "the address";
    if (number) snprintf(shown, sizeof shown, "server %d", number);
    return vs_fail(err, VESTA_EOPTION,
                   "%s, which is not shown because it may have a secret, is neither HOST:PORT nor " FORM
                   ", where what is special in a name or a secret is written as %%XX",
                   shown, scheme, scheme);
}

static bool is_tail(unsigned char c) {
    return c >= 0x80 && c <= 0xbf;
}

static bool is_utf8(const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        int more = *at < 0x80 ? 0 : *at >= 0xc2 && *at <= 0xdf ? 1 : (*at & 0xf0) == 0xe0 ? 2 : *at >= 0xf0 && *at <= 0xf4 ? 3 : -1;
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

static bool read_user(struct vs_slice who, struct vs_place *out) {
    struct vs_slice user = who, secret = {"", 0};
    bool has_secret = vs_slice_split(who, ':', &user, &secret);
    return is_part(user, "", out->user, sizeof out->user) && is_part(secret, ":", out->secret, sizeof out->secret) &&
           (has_secret ? *out->secret : *out->user);
}

/* An address that can have no secret, and may be shown. */
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

/* Behind the scheme: NAME:SECRET@HOST:PORT/0, of which HOST:PORT must be there. */
static bool read_rest(struct vs_slice rest, const char *scheme, struct vs_place *out) {
    struct vs_slice who, where = rest, path;
    struct vesta_error hidden;
    if (vs_slice_split(rest, '@', &who, &where) && !read_user(who, out)) return false;
    if (vs_slice_split(where, '/', &where, &path) && !vs_slice_is(path, "") && !vs_slice_is(path, "0")) return false;
    bool is_odd = memchr(where.at, '@', where.length) || memmem(where.at, where.length, "unix:", 5);
    return !is_odd && read_address(where, scheme, out, &hidden) == VESTA_OK;
}

/* The length of the scheme in front, with its "://"; 0: it has none of these. */
static size_t read_scheme(struct vs_slice text, const char *scheme, bool *is_tls) {
    size_t length = strlen(scheme);
    if (text.length < length + 4 || memcmp(text.at, scheme, length) != 0) return 0;
    *is_tls = text.at[length] == 's';
    length += *is_tls;
    return text.length >= length + 3 && memcmp(text.at + length, "://", 3) == 0 ? length + 3 : 0;
}

int vs_place_read(struct vs_slice text, const char *scheme, int number, struct vs_place *out, struct vesta_error *err) {
    memset(out, 0, sizeof *out);
    if (!memchr(text.at, '@', text.length) && !memmem(text.at, text.length, "://", 3))
        return read_address(text, scheme, out, err);
    size_t length = text.length <= VS_PLACE_TEXT_MAX ? read_scheme(text, scheme, &out->is_tls) : 0;
    bool is_one = length && read_rest((struct vs_slice){text.at + length, text.length - length}, scheme, out);
    return is_one ? VESTA_OK : fail_hidden(scheme, number, err);
}

const char *vs_place_host(const struct vs_place *place, char *buf, size_t size) {
    const char *from = place->address, *end = strrchr(from, ':');
    if (strncmp(from, "unix:", 5) == 0 || !end) end = from;
    if (*from == '[') from++, end--;
    snprintf(buf, size, "%.*s", (int)(end - from), from);
    return buf;
}
