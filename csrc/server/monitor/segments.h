/* segments.h -- how the tags stand, as JSON: for /v1/segments, and for who watches the server. */
#ifndef VS_SEGMENTS_H
#define VS_SEGMENTS_H

#include "proto/json.h"
#include "server/tags.h"

/* One tag, as an element. */
void vs_put_segment(struct vs_out *out, const struct vs_server *server, const struct vs_served_tag *tag);
/* The member "segments": those from an index on, as many as fit so many bytes; and "next", where more are left. */
void vs_put_segments(struct vs_out *out, const struct vs_server *server, const struct vs_tag_set *tags, size_t from,
                     size_t bytes_max);
/* Members: what is told of the tables. */
void vs_put_tables(struct vs_out *out, struct vs_server *server);

#endif
