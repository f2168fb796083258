/* feed.c -- the server's state, an event a second for all who watch.  Knows no socket.
 *
 * Whoever asks first in a second makes the event, under the lock; the others copy it.  Nothing is made while nobody
 * watches. */
#include "server/monitor/feed.h"
#include "server/monitor/status.h"

#include <pthread.h>
#include <stdlib.h>

#define EVERY_US 900000 /* loops look twice a second, not exactly */
#define EVENT_MAX (VS_REPLY_MAX - 64)

struct vs_feed {
    pthread_mutex_t lock;
    int viewers;
    uint64_t number; /* of the event in `out`; 0: none was made */
    int64_t made_us; /* boot_us */
    struct vs_out out;
    char text[EVENT_MAX];
};

struct vs_feed *vs_feed_new(void) {
    struct vs_feed *feed = calloc(1, sizeof *feed);
    if (!feed) return NULL;
    pthread_mutex_init(&feed->lock, NULL);
    feed->out = (struct vs_out){.at = feed->text, .size = sizeof feed->text};
    return feed;
}

void vs_feed_free(struct vs_feed *feed) {
    if (!feed) return;
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}

bool vs_feed_enter(struct vs_feed *feed) {
    pthread_mutex_lock(&feed->lock);
    bool is_in = feed->viewers < VS_VIEWERS_MAX;
    feed->viewers += is_in;
    pthread_mutex_unlock(&feed->lock);
    return is_in;
}

void vs_feed_leave(struct vs_feed *feed) {
    pthread_mutex_lock(&feed->lock);
    feed->viewers--;
    pthread_mutex_unlock(&feed->lock);
}

/* With the lock held. */
static void make(struct vs_feed *feed, const struct vs_app *app, int64_t now_us) {
    feed->out.used = 0;
    feed->number++;
    feed->made_us = now_us;
    vs_put_text(&feed->out, "event: status\nid: ");
    vs_put_uint(&feed->out, feed->number);
    vs_put_text(&feed->out, "\ndata: ");
    vs_put_status(&feed->out, app, false); /* who drains ends the connection: that is what viewers see */
    vs_put_text(&feed->out, "\n\n");
}

void vs_feed_put(struct vs_feed *feed, const struct vs_app *app, uint64_t *seen, struct vs_out *out) {
    int64_t now_us = app->clock->boot_us(app->clock->self);
    pthread_mutex_lock(&feed->lock);
    if (feed->number == 0 || now_us - feed->made_us >= EVERY_US) make(feed, app, now_us);
    if (feed->number != *seen) vs_put(out, feed->out.at, feed->out.used);
    *seen = feed->number;
    pthread_mutex_unlock(&feed->lock);
}
