/* uri.h -- splits a URI.  Stores, files and servers use the same rule.  This code decodes no escapes and prints
 * nothing.
 *
 *     scheme:[//[user[:password]@]hosts][/path][?key=value[&key=value]]
 *
 * The user ends at the last '@' before the path.  '#' is not allowed.  Other special characters are written as %XX. */
#ifndef VS_URI_H
#define VS_URI_H

#include "base/slice.h"

struct vs_uri_parts {
    struct vs_slice scheme, user, password, hosts, path, query; /* not decoded; the path includes its slash */
    /* Whether the URI has "//", an "@", a ":" before that "@", and a "?". */
    bool has_authority, has_user, has_password, has_query;
};

/* Splits a URI.  Returns NULL, or a description of the fault that completes the sentence "the URI ...".  The
 * description does not quote the URI, which may contain a password. */
const char *vs_uri_split(struct vs_slice text, struct vs_uri_parts *out);

/* Takes the next key=value from the query `rest`.  Returns false if the item has no '='.  In this case *key is the
 * whole item, and *value is empty. */
bool vs_uri_next_key(struct vs_slice *rest, struct vs_slice *key, struct vs_slice *value);

/* Writes a path with special characters escaped as %XX.  Returns false if the result does not fit into `size` bytes
 * with its NUL. */
bool vs_uri_put_path(const char *path, char *out, size_t size);
/* Returns whether a path can be used in a URI without escaping. */
bool vs_uri_is_plain(const char *path);

#endif
