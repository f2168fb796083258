/* feed.h -- how a server is, each second: the stream of its admin listener, which comes again by itself. */
#ifndef VS_FEED_H
#define VS_FEED_H

#include "cli/top/wire.h"

struct vs_feed {
    struct vs_wire_to to;
    struct vs_wire wire;
    int64_t tried_ms; /* of the clock since the boot; 0: never */
    char *event;      /* the last that was given */
    bool has_head;
    int64_t length;   /* of what is behind the head; -1: it does not say */
    bool polls;        /* it has no stream, or none left: its state is asked for each second instead */
    bool is_refused;   /* the server answers, and does not give it: waiting is of no use */
    char trouble[256]; /* why there is nothing; "" while there is */
};

/* Connects, where it is not, and a second has passed since the last try; gives up what is silent for ten. */
void vs_feed_connect(struct vs_feed *feed);
/* Reads what is there.  Where an event is whole: true, and *data is its JSON, which lives until the next that is. */
bool vs_feed_read(struct vs_feed *feed, struct vs_slice *data);
void vs_feed_close(struct vs_feed *feed);

#endif
