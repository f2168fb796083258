/* feed.h -- the events of /admin/events: the server's state once a second, made once for all who watch, and for those
 * who want all, what else there is news of. */
#ifndef VS_FEED_H
#define VS_FEED_H

#include "proto/json.h"
#include "server/room.h"
#include "server/server.h"

#define VS_VIEWERS_MAX 32

struct vs_feed;
struct vs_viewer;

/* NULL: no memory. */
struct vs_feed *vs_feed_new(void);
void vs_feed_free(struct vs_feed *feed);

/* One more who watches; wants_all: histories, worker numbers and segments, too.  NULL: there are VS_VIEWERS_MAX. */
struct vs_viewer *vs_feed_enter(struct vs_feed *feed, bool wants_all);
void vs_feed_leave(struct vs_feed *feed, struct vs_viewer *viewer);
/* How many watch. */
int vs_feed_viewers(const struct vs_feed *feed);

/* Appends the events that the viewer has not had yet and that there is room for.  Where the newest is of an earlier
 * second, a new one is made; so the others find it made.  Threads: any, while loops run. */
void vs_feed_put(struct vs_feed *feed, struct vs_server *server, struct vs_viewer *viewer, struct vs_out *out);

#endif
