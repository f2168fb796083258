/* feed.c -- events for viewers: the server's state each second, and changes of lists.
 *
 * The first viewer in a second creates the event under the lock, and the other viewers copy it.  Without viewers, no
 * event is created.  A viewer stores the numbers of the newest events that it received, so that it receives each event
 * once. */
#include "server/monitor/feed.h"
#include "server/monitor/clients.h"
#include "server/monitor/history.h"
#include "server/monitor/segments.h"
#include "server/monitor/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_US 900000 /* loops sweep twice a second, but not exactly */
#define SEGMENTS_EVERY_US 4900000
#define CLIENTS_EVERY_US 1900000
#define CONNECTIONS_SHOWN 20 /* number of listed connections (those with the most ids) */
#define EVENT_MAX (VS_REPLY_MAX - 64)
#define HISTORY_MAX (2 * VS_HISTORY_STEPS * 21 + 512) /* bytes of a namespace's history event */

/* An event that is the same for all viewers. */
struct shared {
    uint64_t number; /* serial number (0: no event yet) */
    int64_t made_us; /* boot_us */
    struct vs_out out;
    char text[EVENT_MAX];
};

struct vs_viewer {
    bool is_in, wants_all;
    uint64_t status, segments, clients;            /* numbers of the last received events (0: none) */
    int64_t stretch[VS_NAMESPACES_TOLD + 1];       /* last received history step of each namespace, and of their sum */
    struct vs_holders_seen holders[VS_NAMESPACES_TOLD];
};

struct vs_feed {
    pthread_mutex_t lock;
    struct shared status, segments, clients;
    struct vs_out fresh; /* the current segments, compared with the last event */
    char fresh_text[EVENT_MAX];
    atomic_int viewers; /* written under the lock */
    struct vs_viewer viewer[VS_VIEWERS_MAX];
};

_Static_assert(VS_HOLDERS_BYTES_MAX + 512 + EVENT_MAX <= VS_OUT_MAX, "an event of either kind fits in addition to the status");

struct vs_feed *vs_feed_new(void) {
    struct vs_feed *feed = calloc(1, sizeof *feed);
    if (!feed) return NULL;
    pthread_mutex_init(&feed->lock, NULL);
    feed->status.out = (struct vs_out){.at = feed->status.text, .size = EVENT_MAX};
    feed->clients.out = (struct vs_out){.at = feed->clients.text, .size = EVENT_MAX};
    feed->segments.out = (struct vs_out){.at = feed->segments.text, .size = EVENT_MAX};
    feed->fresh = (struct vs_out){.at = feed->fresh_text, .size = EVENT_MAX};
    return feed;
}

void vs_feed_free(struct vs_feed *feed) {
    if (!feed) return;
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}

struct vs_viewer *vs_feed_enter(struct vs_feed *feed, bool wants_all) {
    struct vs_viewer *found = NULL;
    pthread_mutex_lock(&feed->lock);
    for (int i = 0; i < VS_VIEWERS_MAX && !found; i++)
        if (!feed->viewer[i].is_in) found = &feed->viewer[i];
    if (found) {
        *found = (struct vs_viewer){.is_in = true, .wants_all = wants_all};
        atomic_fetch_add(&feed->viewers, 1);
    }
    pthread_mutex_unlock(&feed->lock);
    return found;
}

void vs_feed_leave(struct vs_feed *feed, struct vs_viewer *viewer) {
    pthread_mutex_lock(&feed->lock);
    viewer->is_in = false;
    atomic_fetch_sub(&feed->viewers, 1);
    pthread_mutex_unlock(&feed->lock);
}

int vs_feed_viewers(const struct vs_feed *feed) {
    return atomic_load(&feed->viewers);
}

/* ------------------------------------------------------------------ events for all viewers, under the lock */

static void make_status(struct shared *status, const struct vs_server *server, int64_t now_us) {
    if (status->number != 0 && now_us - status->made_us < EVERY_US) return;
    status->out.used = 0;
    status->number++;
    status->made_us = now_us;
    vs_put_text(&status->out, "event: status\nid: ");
    vs_put_uint(&status->out, status->number);
    vs_put_text(&status->out, "\ndata: ");
    vs_put_status(&status->out, server, -1, false); /* a drain ends the stream, so draining is always false */
    vs_put_text(&status->out, "\n\n");
}

/* Creates an event only if the tags differ from the last event. */
static void make_segments(struct vs_feed *feed, struct vs_server *server, int64_t now_us) {
    struct shared *segments = &feed->segments;
    struct vs_out *fresh = &feed->fresh;
    if (segments->made_us != 0 && now_us - segments->made_us < SEGMENTS_EVERY_US) return;
    segments->made_us = now_us;
    fresh->used = 0;
    vs_put_text(fresh, "event: segments\ndata: {");
    vs_put_segments(fresh, server, vs_tags_now(&server->tags), 0, EVENT_MAX - 1024, true); /* all viewers may operate the server */
    vs_put_tables(fresh, server);
    vs_put_text(fresh, "}\n\n");
    if (segments->out.used == fresh->used && memcmp(segments->text, fresh->at, fresh->used) == 0) return;
    segments->number++;
    segments->out.used = 0;
    vs_put(&segments->out, fresh->at, fresh->used);
}

static void make_clients(struct shared *clients, struct vs_server *server, int64_t now_us) {
    if (clients->number != 0 && now_us - clients->made_us < CLIENTS_EVERY_US) return;
    clients->out.used = 0;
    clients->number++;
    clients->made_us = now_us;
    vs_put_text(&clients->out, "event: clients\ndata: {");
    vs_put_clients(&clients->out, server);
    (void)vs_put_connections(&clients->out, server, &(struct vs_wanted){.ids = NULL}, CONNECTIONS_SHOWN, true);
    vs_put_text(&clients->out, "}\n\n");
}

static bool has_room(const struct vs_out *out, size_t bytes) {
    return out->size - out->used >= bytes;
}

static void put_shared(const struct shared *event, uint64_t *seen, struct vs_out *out) {
    if (event->number == *seen || !has_room(out, event->out.used)) return;
    vs_put(out, event->out.at, event->out.used);
    *seen = event->number;
}

/* ------------------------------------------------------------------ events of one namespace */

static void put_history(struct vs_viewer *viewer, const struct vs_server *server, int ns, struct vs_out *out) {
    size_t before = out->used;
    if (!has_room(out, HISTORY_MAX)) return;
    vs_put_text(out, "event: history\ndata: {");
    bool is_news =
        vs_history_put(server->monitor.history, server, ns, &viewer->stretch[ns < 0 ? VS_NAMESPACES_TOLD : ns], out);
    vs_put_text(out, "}\n\n");
    if (!is_news) out->used = before;
}

static void put_holders(struct vs_viewer *viewer, const struct vs_server *server, int ns, struct vs_out *out) {
    size_t before = out->used;
    if (!has_room(out, VS_HOLDERS_BYTES_MAX + 512)) return;
    vs_put_text(out, "event: workers\ndata: {");
    vs_json_text(out, "namespace", server->names.at[ns].name);
    bool is_news = server->above.holders(server->above.holders_self, ns, &viewer->holders[ns], out);
    vs_put_text(out, "}\n\n");
    if (!is_news) out->used = before;
}

void vs_feed_put(struct vs_feed *feed, struct vs_server *server, struct vs_viewer *viewer, struct vs_out *out) {
    int64_t now_us = server->clock->boot_us(server->clock->self);
    pthread_mutex_lock(&feed->lock);
    make_status(&feed->status, server, now_us);
    put_shared(&feed->status, &viewer->status, out);
    if (viewer->wants_all) {
        make_segments(feed, server, now_us);
        put_shared(&feed->segments, &viewer->segments, out);
        make_clients(&feed->clients, server, now_us);
        put_shared(&feed->clients, &viewer->clients, out);
    }
    pthread_mutex_unlock(&feed->lock);
    for (int ns = -1; viewer->wants_all && ns < vs_told(&server->names); ns++)
        put_history(viewer, server, ns, out);
    for (int ns = 0; viewer->wants_all && server->above.holders && ns < vs_told(&server->names); ns++)
        put_holders(viewer, server, ns, out);
}
