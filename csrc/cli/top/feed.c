/* feed.c -- the stream of a server's admin listener; see feed.h. */
#include "cli/top/feed.h"

#include "os/address.h"
#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AGAIN_MS 1000
#define SILENT_MS 10000 /* a server says something each second */
#define CONNECT_MS 2000
#define PIECE 65536

static int64_t boot_ms(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self) / 1000;
}

static void lose(struct vs_feed *feed, const char *why) {
    if (feed->fd >= 0) close(feed->fd);
    feed->fd = -1;
    feed->used = 0;
    feed->has_head = feed->has_ended = false;
    snprintf(feed->trouble, sizeof feed->trouble, "%.255s", why);
}

void vs_feed_close(struct vs_feed *feed) {
    lose(feed, "");
    free(feed->buf);
    free(feed->event);
    feed->buf = feed->event = NULL;
    feed->room = 0;
}

void vs_feed_connect(struct vs_feed *feed) {
    struct vesta_error err;
    char request[1500];
    if (feed->fd >= 0 && boot_ms() > feed->heard_ms + SILENT_MS) lose(feed, "nothing came for 10 s");
    if (feed->fd >= 0 || (feed->tried_ms && boot_ms() < feed->tried_ms + AGAIN_MS)) return;
    feed->tried_ms = boot_ms();
    int fd = vs_connect(feed->address, CONNECT_MS, &err);
    if (fd < 0) {
        lose(feed, err.text);
        return;
    }
    int n = snprintf(request, sizeof request, "GET /admin/events HTTP/1.1\r\nHost: vesta\r\n%s%.1200s%s\r\n",
                     feed->token ? "Authorization: Bearer " : "", feed->token ? feed->token : "",
                     feed->token ? "\r\n" : "");
    feed->fd = fd;
    feed->heard_ms = feed->tried_ms;
    if (send(fd, request, (size_t)n, MSG_NOSIGNAL) != n || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        lose(feed, "the connection was lost at once");
}

/* ------------------------------------------------------------------ what comes */

static bool has_room(struct vs_feed *feed) {
    if (feed->used + PIECE <= feed->room) return true;
    size_t room = feed->room ? 2 * feed->room : 2 * PIECE;
    char *more = room <= 2 * VS_FEED_BYTES_MAX ? realloc(feed->buf, room) : NULL;
    if (!more) return false;
    feed->buf = more;
    feed->room = room;
    return true;
}

static void read_all(struct vs_feed *feed) {
    while (feed->fd >= 0) {
        if (!has_room(feed)) {
            lose(feed, "an event is longer than any of a server's");
            return;
        }
        ssize_t n = recv(feed->fd, feed->buf + feed->used, PIECE, 0);
        if (n > 0) {
            feed->used += (size_t)n;
            feed->heard_ms = boot_ms();
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        feed->has_ended = true;
        return;
    }
}

static void drop(struct vs_feed *feed, size_t bytes) {
    memmove(feed->buf, feed->buf + bytes, feed->used - bytes);
    feed->used -= bytes;
}

/* "HTTP/1.1 200 OK", and lines up to an empty one. */
static void take_head(struct vs_feed *feed) {
    char why[200];
    const char *end = memmem(feed->buf, feed->used, "\r\n\r\n", 4);
    if (!end) return;
    if (memmem(feed->buf, (size_t)(end - feed->buf), " 200 ", 5)) {
        feed->has_head = true;
        drop(feed, (size_t)(end - feed->buf) + 4);
        return;
    }
    bool is_token = memmem(feed->buf, (size_t)(end - feed->buf), " 401 ", 5);
    snprintf(why, sizeof why,
             is_token ? "the token is missing or wrong: --token-file, VESTA_ADMIN_TOKEN or -c"
                      : "it is no admin listener of a server that streams: it answers %.*s",
             (int)strcspn(feed->buf, "\r\n") > 60 ? 60 : (int)strcspn(feed->buf, "\r\n"), feed->buf);
    feed->is_refused = true;
    lose(feed, why);
}

/* The newest event that is whole; those before it are old. */
bool vs_feed_read(struct vs_feed *feed, struct vs_slice *data) {
    read_all(feed);
    if (feed->fd >= 0 && !feed->has_head && feed->used) take_head(feed);
    if (feed->has_ended) lose(feed, "the server closed the connection");
    if (!feed->has_head) return false;
    const char *last = NULL, *at = feed->buf, *end;
    size_t left = feed->used, length = 0;
    while ((end = memmem(at, left, "\n\n", 2))) {
        const char *from = memmem(at, (size_t)(end - at), "data: ", 6);
        if (from) last = from + 6, length = (size_t)(end - from) - 6;
        left -= (size_t)(end - at) + 2;
        at = end + 2;
    }
    if (!last) return false;
    free(feed->event);
    feed->event = strndup(last, length);
    *data = (struct vs_slice){feed->event ? feed->event : "", feed->event ? strlen(feed->event) : 0};
    drop(feed, (size_t)(at - feed->buf));
    feed->trouble[0] = '\0';
    return data->length > 0;
}
