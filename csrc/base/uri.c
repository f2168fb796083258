/* uri.c -- see uri.h. */
#include "base/uri.h"

static void uri_split_user(struct vs_uri_parts *out) {
    const char *at = memrchr(out->hosts.at, '@', out->hosts.length);
    if (!at) return;
    struct vs_slice all = out->hosts;
    out->has_user = true;
    out->user = (struct vs_slice){all.at, (size_t)(at - all.at)};
    out->hosts = (struct vs_slice){at + 1, all.length - out->user.length - 1};
    out->has_password = vs_slice_split(out->user, ':', &out->user, &out->password);
}

/* Splits `rest`, the part between the scheme and the query: //authority/path. */
static const char *split_authority(struct vs_slice rest, struct vs_uri_parts *out) {
    out->hosts = (struct vs_slice){rest.at + 2, rest.length - 2};
    if (vs_slice_split(out->hosts, '/', &out->hosts, &out->path))
        out->path = (struct vs_slice){out->path.at - 1, out->path.length + 1};
    if (out->hosts.length && memchr(out->path.at, '@', out->path.length))
        return "has an '@' in its path: write a '/' in a password as %2F, and an '@' in a path as %40";
    uri_split_user(out);
    return NULL;
}

const char *vs_uri_split(struct vs_slice text, struct vs_uri_parts *out) {
    struct vs_slice rest, before, none = {"", 0};
    *out = (struct vs_uri_parts){none, none, none, none, none, none, false, false, false, false};
    if (!vs_slice_split(text, ':', &out->scheme, &rest)) return "has no scheme followed by ':'";
    if (memchr(rest.at, '#', rest.length)) return "has a '#': write it as %23";
    out->has_query = vs_slice_split(rest, '?', &before, &out->query);
    if (out->has_query) rest = before;
    out->has_authority = rest.length >= 2 && memcmp(rest.at, "//", 2) == 0;
    if (!out->has_authority) out->path = rest;
    if (out->has_authority && memchr(out->query.at, '@', out->query.length))
        return "has an '@' after its '?': write a '?' in a password as %3F, and an '@' in an option as %40";
    return out->has_authority ? split_authority(rest, out) : NULL;
}

bool vs_uri_next_key(struct vs_slice *rest, struct vs_slice *key, struct vs_slice *value) {
    struct vs_slice one = *rest, more = {rest->at + rest->length, 0};
    vs_slice_split(*rest, '&', &one, &more);
    *rest = more;
    *key = one;
    *value = (struct vs_slice){one.at + one.length, 0};
    return vs_slice_split(one, '=', key, value);
}

static bool is_mark(char c) {
    return (unsigned char)c < ' ' || c == 0x7f || c == '%' || c == '?' || c == '#';
}

/* Returns whether a character is escaped.  '@' is escaped so that no part of a path is read as a user.  Bytes beyond
 * ASCII are escaped so that messages can quote the path. */
static bool is_special(char c) {
    return is_mark(c) || c == '@' || (unsigned char)c > 0x7f;
}

bool vs_uri_is_plain(const char *path) {
    for (; *path; path++)
        if (is_mark(*path)) return false;
    return true;
}

bool vs_uri_put_path(const char *path, char *out, size_t size) {
    static const char hex[] = "0123456789ABCDEF";
    size_t used = 0;
    for (; *path; path++) {
        bool escapes = is_special(*path);
        if (used + (escapes ? 3 : 1) >= size) return false;
        if (escapes) {
            out[used++] = '%';
            out[used++] = hex[(unsigned char)*path >> 4];
        }
        out[used++] = escapes ? hex[*path & 15] : *path;
    }
    if (used >= size) return false;
    out[used] = '\0';
    return true;
}
