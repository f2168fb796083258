/* uri.h -- the parts of a URI, by one rule for stores, files and servers.  Pure; decodes and shows nothing.
 *
 *     scheme:[//[user[:password]@]hosts][/path][?key=value[&key=value]]
 *
 * The user ends at the last '@' before the path.  '#' is part of nothing.  Whatever else is special is written as %XX. */
#ifndef VS_URI_H
#define VS_URI_H

#include "base/slice.h"

struct vs_uri_parts {
    struct vs_slice scheme, user, password, hosts, path, query; /* as they were written; the path with its slash */
    bool has_authority, has_user, has_password, has_query; /* "//", "@", ":" before it, "?" */
};

/* Splits a URI.  NULL, or what is wrong, as the end of a sentence that quotes nothing of the text. */
const char *vs_uri_split(struct vs_slice text, struct vs_uri_parts *out);

/* The next key of a query, and its value; `rest` is what follows.  False: it has no '='; *key is all of it. */
bool vs_uri_next_key(struct vs_slice *rest, struct vs_slice *key, struct vs_slice *value);

/* Writes a path with %XX for what a URI would take for something else.  Shape: out[0..size), with its NUL.  False: it
 * does not fit. */
bool vs_uri_put_path(const char *path, char *out, size_t size);
/* Whether a path needs no %XX. */
bool vs_uri_is_plain(const char *path);

#endif
