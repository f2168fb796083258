/* feed.h -- the stream of a server's admin listener, GET /admin/events: a connection that comes again by itself. */
#ifndef VS_FEED_H
#define VS_FEED_H

#include "base/slice.h"
#include "command/command.h"

#define VS_FEED_BYTES_MAX (4 << 20) /* of an event */

struct vs_feed {
    const char *address, *token; /* token: NULL, none */
    int fd;                      /* -1: not connected */
    int64_t tried_ms, heard_ms;  /* of the clock since the boot: when it was tried to connect, and last heard of */
    char *buf;
    size_t used, room;
    char *event; /* the last that was given */
    bool has_head, has_ended;
    bool is_refused;   /* the server answers, and does not give it: waiting is of no use */
    char trouble[256]; /* why there is nothing; "" while there is */
};

/* Connects, where it is not, and a second has passed since the last try; gives up what is silent for ten. */
void vs_feed_connect(struct vs_feed *feed);
/* Reads what is there.  Where an event is whole: true, and *data is its JSON, which lives until the next call. */
bool vs_feed_read(struct vs_feed *feed, struct vs_slice *data);
void vs_feed_close(struct vs_feed *feed);

#endif
