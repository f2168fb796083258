/* feed.h -- the events of /admin/events: the server's state once a second, made once for all who watch. */
#ifndef VS_FEED_H
#define VS_FEED_H

#include "server/reply.h"
#include "server/server.h"

#define VS_VIEWERS_MAX 32

struct vs_feed;

/* NULL: no memory. */
struct vs_feed *vs_feed_new(void);
void vs_feed_free(struct vs_feed *feed);

/* One more who watches.  false: there are VS_VIEWERS_MAX. */
bool vs_feed_enter(struct vs_feed *feed);
void vs_feed_leave(struct vs_feed *feed);

/* Appends the newest event, if it is not the one numbered *seen, which it is from then on.  Where the newest is of an
 * earlier second, a new one is made; so the others find it made.  Threads: any, while loops run. */
void vs_feed_put(struct vs_feed *feed, const struct vs_app *app, uint64_t *seen, struct vs_out *out);

#endif
