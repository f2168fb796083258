/* uri.h -- splits a URI, by one rule for stores, files and servers.  It decodes and prints nothing.
 *
 *     scheme:[//[user[:password]@]hosts][/path][?key=value[&key=value]]
 *
 * The user ends at the last '@' before the path.  '#' is not allowed.  Other special characters are written as %XX. */
#ifndef VS_URI_H
#define VS_URI_H

#include "base/slice.h"

struct vs_uri_parts {
    struct vs_slice scheme, user, password, hosts, path, query; /* as written; the path includes its slash */
    bool has_authority, has_user, has_password, has_query;      /* whether it has "//", "@", ":" before the "@", "?" */
};

/* Splits a URI.  Returns NULL, or the fault as the end of a sentence, which quotes nothing of the text. */
const char *vs_uri_split(struct vs_slice text, struct vs_uri_parts *out);

/* Sets the next key of a query and its value, and `rest` to the remainder.  False if there is no '=': *key is all of
 * it. */
bool vs_uri_next_key(struct vs_slice *rest, struct vs_slice *key, struct vs_slice *value);

/* Writes a path and escapes special characters as %XX.  Shape: out[0..size) with its NUL.  False if it does not fit. */
bool vs_uri_put_path(const char *path, char *out, size_t size);
/* Whether a path needs no escaping. */
bool vs_uri_is_plain(const char *path);

#endif
