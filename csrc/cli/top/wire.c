/* wire.c -- a request over a plain socket that never blocks a screen; see wire.h. */
#include "cli/top/wire.h"
#include "cli/top/value.h"

#include "base/error.h"
#include "os/address.h"
#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MS 2000
#define PIECE 65536

int64_t vs_wire_now_ms(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self) / 1000;
}

void vs_wire_close(struct vs_wire *wire) {
    if (wire->fd >= 0) close(wire->fd);
    wire->fd = -1;
    wire->used = 0;
    wire->has_ended = false;
}

void vs_wire_free(struct vs_wire *wire) {
    vs_wire_close(wire);
    free(wire->buf);
    wire->buf = NULL;
    wire->room = 0;
}

bool vs_wire_ask(struct vs_wire *wire, const struct vs_wire_to *to, const char *request, struct vesta_error *err) {
    char text[2048];
    bool has_token = to->token != NULL;
    vs_wire_close(wire);
    int fd = vs_connect(to->address, CONNECT_MS, err);
    if (fd < 0) return false;
    int n = snprintf(text, sizeof text,
                     "%.400s HTTP/1.1\r\nHost: vesta\r\nAccept: application/json, text/event-stream\r\n"
                     "Connection: close\r\n%s%.1200s%s\r\n",
                     request, has_token ? "Authorization: Bearer " : "", has_token ? to->token : "",
                     has_token ? "\r\n" : "");
    wire->fd = fd;
    wire->heard_ms = vs_wire_now_ms();
    if (send(fd, text, (size_t)n, MSG_NOSIGNAL) == n && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) return true;
    vs_wire_close(wire);
    vs_fail(err, VESTA_EIO, "the connection was lost at once");
    return false;
}

static bool has_room(struct vs_wire *wire) {
    if (wire->used + PIECE <= wire->room) return true;
    size_t room = wire->room ? 2 * wire->room : 2 * PIECE;
    char *more = room <= 2 * VS_WIRE_BYTES_MAX ? realloc(wire->buf, room) : NULL;
    if (!more) return false;
    wire->buf = more;
    wire->room = room;
    return true;
}

bool vs_wire_read(struct vs_wire *wire) {
    while (wire->fd >= 0 && !wire->has_ended) {
        if (!has_room(wire)) return false;
        ssize_t n = recv(wire->fd, wire->buf + wire->used, PIECE, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (n <= 0) {
            wire->has_ended = true;
            break;
        }
        wire->used += (size_t)n;
        wire->heard_ms = vs_wire_now_ms();
    }
    return true;
}

/* "HTTP/1.1 200 OK", and lines up to an empty one. */
size_t vs_wire_head(const struct vs_wire *wire, int *status) {
    const char *end = wire->used ? memmem(wire->buf, wire->used, "\r\n\r\n", 4) : NULL;
    *status = 0;
    if (!end) return 0;
    if (end - wire->buf >= 12 && memcmp(wire->buf, "HTTP/1.", 7) == 0 && wire->buf[8] == ' ')
        for (int i = 9; i < 12; i++)
            *status = wire->buf[i] >= '0' && wire->buf[i] <= '9' ? *status * 10 + wire->buf[i] - '0' : 0;
    return (size_t)(end - wire->buf) + 4;
}

int64_t vs_wire_length(const struct vs_wire *wire, size_t head) {
    static const char name[] = "\r\nContent-Length: ";
    const char *at = memmem(wire->buf, head, name, sizeof name - 1);
    if (!at) return -1;
    at += sizeof name - 1;
    return vs_value_number((struct vs_slice){at, (size_t)(wire->buf + head - at)});
}

void vs_wire_drop(struct vs_wire *wire, size_t bytes) {
    memmove(wire->buf, wire->buf + bytes, wire->used - bytes);
    wire->used -= bytes;
}
