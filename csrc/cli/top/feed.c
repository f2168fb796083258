/* feed.c -- the stream of a server's admin listener, or its state each second; see feed.h. */
#include "cli/top/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_MS 1000
#define SILENT_MS 10000 /* a server says something each second */

static void lose(struct vs_feed *feed, const char *why) {
    vs_wire_close(&feed->wire);
    feed->has_head = false;
    snprintf(feed->trouble, sizeof feed->trouble, "%.255s", why);
}

void vs_feed_close(struct vs_feed *feed) {
    vs_wire_free(&feed->wire);
    free(feed->event);
    feed->event = NULL;
}

void vs_feed_connect(struct vs_feed *feed) {
    struct vesta_error err;
    int64_t now_ms = vs_wire_now_ms();
    if (feed->wire.fd >= 0 && now_ms > feed->wire.heard_ms + SILENT_MS) lose(feed, "nothing came for 10 s");
    if (feed->wire.fd >= 0 || (feed->tried_ms && now_ms < feed->tried_ms + AGAIN_MS)) return;
    feed->tried_ms = now_ms;
    if (!vs_wire_ask(&feed->wire, &feed->to, feed->polls ? "GET /admin/status" : "GET /admin/events", &err)) {
        lose(feed, err.text);
        feed->polls = false; /* who comes back may be a newer one */
    }
}

/* ------------------------------------------------------------------ what comes */

/* A server that has no stream, because it is older or because as many watch as may, still says how it is. */
static void take_refusal(struct vs_feed *feed, int status) {
    char why[200];
    int line = (int)strcspn(feed->wire.buf, "\r\n");
    if (status != 401 && !feed->polls) {
        feed->polls = true;
        feed->tried_ms = 0;
        lose(feed, "");
        return;
    }
    snprintf(why, sizeof why,
             status == 401 ? "the token is missing or wrong: --token-file, VESTA_ADMIN_TOKEN or -c"
                           : "it is no admin listener of a server: it answers %.*s",
             line > 60 ? 60 : line, feed->wire.buf);
    feed->is_refused = status < 500; /* what is in front of it may lack it for a while */
    lose(feed, why);
}

static void take_head(struct vs_feed *feed) {
    int status;
    size_t length = vs_wire_head(&feed->wire, &status);
    if (length == 0) return;
    if (status != 200) {
        take_refusal(feed, status);
        return;
    }
    feed->has_head = true;
    feed->length = vs_wire_length(&feed->wire, length);
    vs_wire_drop(&feed->wire, length);
}

/* The one before stays until there is another: who was given it still reads it. */
static bool give(struct vs_feed *feed, const char *at, size_t length, struct vs_slice *data) {
    char *event = strndup(at, length);
    if (!event || !*event) {
        free(event);
        return false;
    }
    free(feed->event);
    feed->event = event;
    *data = (struct vs_slice){event, strlen(event)};
    return true;
}

/* A state that ends before its length was cut. */
static bool take_state(struct vs_feed *feed, struct vs_slice *data) {
    bool is_whole = feed->length < 0 || (size_t)feed->length == feed->wire.used;
    bool is_there = is_whole && give(feed, feed->wire.buf, feed->wire.used, data);
    lose(feed, is_there ? "" : "the server closed the connection before its answer was whole");
    return is_there;
}

/* The newest event that is whole; those before it are old. */
static bool take_event(struct vs_feed *feed, struct vs_slice *data) {
    const char *last = NULL, *at = feed->wire.buf, *end;
    size_t left = feed->wire.used, length = 0;
    while (left && (end = memmem(at, left, "\n\n", 2))) {
        const char *from = memmem(at, (size_t)(end - at), "data: ", 6);
        if (from && from + 6 < end) last = from + 6, length = (size_t)(end - from) - 6;
        left -= (size_t)(end - at) + 2;
        at = end + 2;
    }
    if (!last || !give(feed, last, length, data)) return false;
    vs_wire_drop(&feed->wire, feed->wire.used - left);
    feed->trouble[0] = '\0';
    return true;
}

bool vs_feed_read(struct vs_feed *feed, struct vs_slice *data) {
    bool fits = vs_wire_read(&feed->wire), is_there;
    if (!fits) lose(feed, "an event is longer than any of a server's");
    if (feed->wire.fd >= 0 && !feed->has_head) take_head(feed);
    if (feed->has_head && feed->polls) return feed->wire.has_ended && take_state(feed, data);
    is_there = feed->has_head && take_event(feed, data);
    if (feed->wire.has_ended) lose(feed, "the server closed the connection");
    return is_there;
}
