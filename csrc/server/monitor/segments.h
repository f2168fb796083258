/* segments.h -- the tags as JSON, for /v1/segments and the feed. */
#ifndef VS_SEGMENTS_H
#define VS_SEGMENTS_H

#include "proto/json.h"
#include "server/tags.h"

/* Appends one tag as an element of an array.  Unless `unmasks`, the members of a masked tag that show its numbers,
 * their count or their rate are left out. */
void vs_put_segment(struct vs_out *out, const struct vs_server *server, const struct vs_served_tag *tag, bool unmasks);
/* Appends the member "segments": as many tags as fit in bytes_max, beginning with the tag at index `from`.  If more
 * tags follow, appends "next", the last listed name. */
void vs_put_segments(struct vs_out *out, const struct vs_server *server, const struct vs_tag_set *tags, size_t from,
                     size_t bytes_max, bool unmasks);
/* Appends members about the tables of tags. */
void vs_put_tables(struct vs_out *out, struct vs_server *server);

#endif
