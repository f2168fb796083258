/* feed.h -- the events of /admin/events: the server's state once a second, and for viewers with wants_all also
 * histories, worker ids, tags and clients.  An event is created once for all viewers. */
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

/* Adds a viewer.  wants_all: the viewer also receives histories, worker ids, tags and clients.  Returns NULL if there
 * are already VS_VIEWERS_MAX viewers. */
struct vs_viewer *vs_feed_enter(struct vs_feed *feed, bool wants_all);
void vs_feed_leave(struct vs_feed *feed, struct vs_viewer *viewer);
int vs_feed_viewers(const struct vs_feed *feed);

/* Appends the events that the viewer has not received yet, as many as fit.  Creates the event of this second if it does
 * not exist yet.  Threads: any, while loops run. */
void vs_feed_put(struct vs_feed *feed, struct vs_server *server, struct vs_viewer *viewer, struct vs_out *out);

#endif
