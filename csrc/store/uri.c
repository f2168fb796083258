/* uri.c -- the URIs of stores that are elsewhere, and where their secrets come from.  Reads one file, knows no store.
 * A URI may hold a password, so no message quotes what stands before its host. */
#include "base/error.h"
#include "base/slice.h"
#include "store/reply.h"
#include "store/secret.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Undoes %XX; control characters and NUL are no part of a name. */
static int decode(struct vs_slice slice, char *out, size_t size, const char *what, struct vesta_error *err) {
    switch (vs_slice_decode(slice, out, size)) {
    case VS_DECODED: return VESTA_OK;
    case VS_DECODE_HEX:
        return vs_fail(err, VESTA_EOPTION, "the store's %s has a '%%' without two hex digits after it", what);
    case VS_DECODE_CONTROL: return vs_fail(err, VESTA_EOPTION, "the store's %s has a control character", what);
    default: return vs_fail(err, VESTA_EOPTION, "the store's %s is longer than %zu bytes", what, size - 1);
    }
}

/* ------------------------------------------------------------------ scheme://user:password@hosts/path?key=value */

static int take_option(struct vs_slice slice, const char *const *keys, struct vs_uri *out, struct vesta_error *err) {
    struct vs_slice key, value;
    if (!vs_slice_split(slice, '=', &key, &value))
        return vs_fail(err, VESTA_EOPTION, "'%s' in the store's URI is not key=value",
                       VS_QUOTE(slice.at, slice.length));
    for (int i = 0; keys[i]; i++) {
        if (!vs_slice_is(key, keys[i])) continue;
        assert(i < VS_URI_KEYS_MAX); /* a backend has more keys than there is room for */
        if (out->value[i][0]) return vs_fail(err, VESTA_EOPTION, "the store's URI has %s twice", keys[i]);
        if (value.length == 0) return vs_fail(err, VESTA_EOPTION, "%s in the store's URI has no value", keys[i]);
        return decode(value, out->value[i], sizeof out->value[i], keys[i], err);
    }
    char known[160] = "";
    for (int i = 0; keys[i]; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", keys[i]);
    assert(strlen(known) + 1 < sizeof known);
    return vs_fail(err, VESTA_EOPTION, "the store's URI has an unknown key '%s': it may have %s",
                   VS_QUOTE(key.at, key.length), known);
}

static int take_options(struct vs_slice rest, const char *const *keys, struct vs_uri *out, struct vesta_error *err) {
    struct vs_slice one = rest, more;
    int rc = VESTA_OK;
    while (rc == VESTA_OK && vs_slice_split(rest, '&', &one, &more)) {
        rc = take_option(one, keys, out, err);
        rest = more;
    }
    return rc == VESTA_OK ? take_option(rest, keys, out, err) : rc;
}

static int take_user(struct vs_slice slice, struct vs_uri *out, struct vesta_error *err) {
    struct vs_slice user = slice, password = {"", 0};
    vs_slice_split(slice, ':', &user, &password);
    int rc = decode(user, out->user, sizeof out->user, "user name", err);
    return rc == VESTA_OK ? decode(password, out->password, sizeof out->password, "password", err) : rc;
}

/* At the last '@': a password may hold one that was not written as %40. */
static bool split_user(struct vs_slice slice, struct vs_slice *user, struct vs_slice *hosts) {
    const char *at = memrchr(slice.at, '@', slice.length);
    if (!at) return false;
    *user = (struct vs_slice){slice.at, (size_t)(at - slice.at)};
    *hosts = (struct vs_slice){at + 1, slice.length - user->length - 1};
    return true;
}

int vs_uri_parse(const char *text, const char *const *keys, struct vs_uri *out, struct vesta_error *err) {
    memset(out, 0, sizeof *out);
    const char *slashes = strstr(text, "://");
    if (!slashes) return vs_fail(err, VESTA_EOPTION, "the store's URI has no '//' after its scheme");
    struct vs_slice rest = {slashes + 3, strlen(slashes + 3)}, options, hosts, path, user;
    int rc = VESTA_OK;
    if (vs_slice_split(rest, '?', &hosts, &options)) {
        rest = hosts;
        rc = memchr(options.at, '@', options.length)
                 ? vs_fail(err, VESTA_EOPTION,
                           "the store's URI has an '@' after its '?': write a '?' in a password as "
                           "%%3F, and an '@' in an option as %%40")
                 : take_options(options, keys, out, err);
    }
    hosts = rest;
    /* the user part ends before the path begins, so a '/' in a password must be %2F */
    if (vs_slice_split(rest, '/', &hosts, &path)) {
        path = (struct vs_slice){path.at - 1, path.length + 1};
        if (rc == VESTA_OK) rc = decode(path, out->path, sizeof out->path, "path", err);
    }
    if (rc == VESTA_OK && strchr(out->path, '@'))
        rc = vs_fail(err, VESTA_EOPTION, "the store's URI has an '@' in its path: write a '/' in a password as %%2F");
    if (rc == VESTA_OK && split_user(hosts, &user, &hosts)) rc = take_user(user, out, err);
    if (rc == VESTA_OK) rc = decode(hosts, out->hosts, sizeof out->hosts, "host", err);
    if (rc == VESTA_OK && (out->hosts[0] == '\0' || strpbrk(out->hosts, " \"'\\")))
        rc = vs_fail(err, VESTA_EOPTION, "the store's URI names no host, or an impossible one");
    assert(!out->path[0] || out->path[0] == '/'); /* which is what its readers leave out */
    return rc;
}

static bool read_port(const char *text, unsigned *port) {
    unsigned value = 0;
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 5 || text[length]) return false;
    for (size_t i = 0; i < length; i++)
        value = value * 10 + (unsigned)(text[i] - '0');
    *port = value;
    return value > 0 && value < 65536;
}

int vs_uri_host(const char *text, char *host, size_t size, unsigned *port, struct vesta_error *err) {
    bool is_v6 = text[0] == '[';
    const char *end = is_v6 ? strchr(text, ']') : text + strcspn(text, ":");
    const char *begin = text + is_v6, *rest = end ? end + is_v6 : NULL;
    bool well = rest && !strchr(text, ',') && end > begin && (size_t)(end - begin) < size &&
                (rest[0] == '\0' || (rest[0] == ':' && read_port(rest + 1, port)));
    if (!well) /* what stands behind a colon and is no port may be a password */
        return vs_fail(err, VESTA_EOPTION,
                       "'%s' is not a HOST:PORT of a store; a user and a password go before an @: USER:PASSWORD@HOST",
                       VS_QUOTE(text, is_v6 && end ? (size_t)(end - text) : strcspn(text, ":")));
    snprintf(host, size, "%.*s", (int)(end - begin), begin);
    assert(host[end - begin] == '\0'); /* whole, or another host would be asked */
    return VESTA_OK;
}

/* ------------------------------------------------------------------ secrets and paths */

int vs_secret_of_file(const char *what, const char *path, char *buf, size_t size, struct vesta_error *err) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, buf, size);
    int why = errno;
    if (fd >= 0) close(fd);
    if (got < 0) return vs_fail(err, VESTA_EIO, "cannot read %s %.120s: %s", what, path, strerror(why));
    size_t length = 0;
    while (length < (size_t)got && buf[length] != '\n' && buf[length] != '\r')
        length++;
    if (length == 0 || length == size || memchr(buf, '\0', length))
        return vs_fail(err, VESTA_EIO,
                       "%s %.120s has no secret in its first line, or one longer than %zu bytes", what, path, size - 1);
    buf[length] = '\0';
    return VESTA_OK;
}

int vs_uri_secret(const struct vs_secret *from, char *buf, size_t size, struct vesta_error *err) {
    if (!from->given && from->file[0]) return vs_secret_of_file("the store's secret_file", from->file, buf, size, err);
    const char *secret = from->given ? from->given : from->own;
    if (strlen(secret) >= size)
        return vs_fail(err, VESTA_EOPTION, "the store's secret is longer than %zu bytes", size - 1);
    snprintf(buf, size, "%s", secret);
    return VESTA_OK;
}

int vs_uri_path(const struct vs_store_ops *ops, const char *uri, const char **path, struct vesta_error *err) {
    size_t length = strlen(ops->scheme);
    assert(strncmp(uri, ops->scheme, length) == 0); /* another backend's: see vs_store_of */
    assert(uri[length] == ':');
    *path = uri + length + 1;
    if (**path == '/') return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "the store '%s' needs an absolute path: %s", VS_QUOTE(uri, strlen(uri)),
                   ops->form);
}
