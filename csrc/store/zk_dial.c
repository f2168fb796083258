/* zk_dial.c -- makes a connection to one of several ZooKeepers: looks their names up, tries one after the other, says
 * hello.  Runs in a thread of its own, where nobody waits; see errand.h. */
#include "core/core.h"
#include "os/os.h"
#include "store/zk_link.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define DIAL_US 3000000  /* to reach a server */
#define HELLO_US 3000000 /* for its hello, which a server that stands still does not say */
#define PROBE_US 1000000
#define SESSION_MS 30000 /* as long as a connection may be silent; a server may make it less */
#define ADDRESSES_MAX 32
#define HELLO_MAX 512 /* no more than that is an answer to a hello */

static const char none_there[] = "no server can be reached there, or what answers is no ZooKeeper";

static const char too_many[] =
    "it closes connections at once: too many of this address? (maxClientCnxns there, 60 if it is not said)";

/* ------------------------------------------------------------------ bytes, with a deadline */

static bool wait_for(int fd, short events, int64_t until_us) {
    int64_t left_us;
    struct pollfd one = {.fd = fd, .events = events};
    while ((left_us = until_us - vs_monotonic_us()) > 0) {
        int rc = poll(&one, 1, (int)(left_us / 1000) + 1);
        if (rc > 0) return true;
        if (rc < 0 && errno != EINTR) return false;
    }
    errno = ETIMEDOUT;
    return false;
}

static bool write_all(int fd, const char *at, size_t length, int64_t until_us) {
    while (length > 0) {
        ssize_t put = send(fd, at, length, MSG_NOSIGNAL);
        if (put < 0 && errno == EAGAIN && wait_for(fd, POLLOUT, until_us)) continue;
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        at += put;
        length -= (size_t)put;
    }
    return true;
}

/* As many as come before its end: less than asked for is the end, -1 an error. */
static ssize_t read_all(int fd, char *at, size_t length, int64_t until_us) {
    size_t have = 0;
    while (have < length) {
        ssize_t got = recv(fd, at + have, length - have, 0);
        if (got < 0 && errno == EAGAIN && wait_for(fd, POLLIN, until_us)) continue;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

/* ------------------------------------------------------------------ reaching */

static int reach(const struct addrinfo *address) {
    int yes = 1, error = 0;
    socklen_t size = sizeof error;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    bool well = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ||
                (errno == EINPROGRESS && wait_for(fd, POLLOUT, vs_monotonic_us() + DIAL_US) &&
                 getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0);
    if (well) return fd;
    close(fd);
    if (error) errno = error;
    return -1;
}

/* By a server that had let it in, if only for a moment. */
static bool was_closed(void) {
    return errno == ECONNRESET || errno == EPIPE;
}

/* Why a server closed a connection without a hello: it is asked for its state, and says it to whom it lets in. */
static const char *why_closed(const struct addrinfo *address) {
    char said[128] = "";
    int fd = reach(address);
    if (fd < 0) return was_closed() ? too_many : none_there;
    int64_t until_us = vs_monotonic_us() + PROBE_US;
    ssize_t got = write_all(fd, "srvr", 4, until_us) ? read_all(fd, said, sizeof said - 1, until_us) : -1;
    close(fd);
    if (got > 0 && strstr(said, "not currently serving")) return "it has no majority of its servers";
    if (got > 0 && strncmp(said, "Zookeeper version", 17) != 0 && !strstr(said, "srvr")) return none_there;
    /* not even that, or by now: others have left meanwhile */
    return too_many;
}

/* ------------------------------------------------------------------ hello */

/* A frame that is no longer than it may be: its length, or -1. */
static ssize_t read_frame(int fd, char *buf, int64_t until_us) {
    char head[4];
    struct zk_in in = {head, sizeof head, false};
    ssize_t got = read_all(fd, head, sizeof head, until_us);
    if (got == 0) errno = ECONNRESET;
    if (got != sizeof head) return -1;
    int32_t length = vs_zk_take_int(&in);
    errno = EPROTO;
    if (length < 0 || length > HELLO_MAX) return -1;
    return read_all(fd, buf, (size_t)length, until_us) == length ? length : -1;
}

/* A session was opened, by a server that writes. */
static bool is_welcome(const char *frame, ssize_t length) {
    struct zk_in in = {frame, (size_t)length, false};
    size_t password;
    int32_t version = vs_zk_take_int(&in), session_ms = vs_zk_take_int(&in);
    int64_t session = vs_zk_take_long(&in);
    (void)vs_zk_take_bytes(&in, &password);
    bool reads_only = in.left > 0 && vs_zk_take_bool(&in);
    return vs_zk_is_whole(&in) && version == 0 && session_ms > 0 && session != 0 && password == 16 && !reads_only;
}

static bool is_taken(const char *frame, ssize_t length, int32_t *rc) {
    struct zk_in in = {frame, (size_t)length, false};
    int32_t xid = vs_zk_take_int(&in);
    (void)vs_zk_take_long(&in);
    *rc = vs_zk_take_int(&in);
    return vs_zk_is_whole(&in) && xid == -4;
}

static void put_auth(struct zk_out *out, const char *auth) {
    vs_zk_begin_frame(out, -4, ZK_AUTH);
    vs_zk_put_int(out, 0);
    vs_zk_put_text(out, "digest");
    vs_zk_put_text(out, auth);
    vs_zk_end_frame(out);
}

/* True: a session, as who we are. */
static bool say_hello(struct zk_making *making, int fd, const struct addrinfo *address) {
    char frame[HELLO_MAX];
    struct zk_out out = {0};
    const struct zk_place *place = &making->place;
    int64_t until_us = vs_monotonic_us() + HELLO_US;
    int32_t rc = ZK_OK;
    vs_zk_put_hello(&out, SESSION_MS);
    if (place->auth[0]) put_auth(&out, place->auth);
    bool said = !out.is_short && write_all(fd, out.at, out.length, until_us);
    if (out.at) explicit_bzero(out.at, out.length);
    free(out.at);
    ssize_t length = said ? read_frame(fd, frame, until_us) : -1;
    if (length < 0) {
        bool closed = was_closed();
        return vs_answer(&making->reply, VS_STORE_DOWN, "%.60s: %.110s", place->where,
                         closed               ? why_closed(address)
                         : errno == ETIMEDOUT ? "no answer in time to a hello"
                                              : none_there);
    }
    if (!is_welcome(frame, length))
        return vs_answer(&making->reply, VS_STORE_DOWN, "%.60s: %s", place->where, none_there);
    if (!place->auth[0]) return true;
    length = read_frame(fd, frame, until_us);
    if (length < 0 || !is_taken(frame, length, &rc))
        return vs_answer(&making->reply, VS_STORE_DOWN, "%.60s: no answer to who we are", place->where);
    return rc == ZK_OK || vs_answer(&making->reply, VS_STORE_REFUSED, "%.60s: %s", place->where, vs_zk_error(rc));
}

/* ------------------------------------------------------------------ one of several */

struct addresses {
    struct addrinfo *list[ADDRESSES_MAX], *each[ADDRESSES_MAX]; /* list: as they were looked up; each: the addresses */
    int lists, count;
};

static void look_up(struct addresses *all, const char *host, unsigned port) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found;
    char service[16];
    snprintf(service, sizeof service, "%u", port);
    if (all->lists == ADDRESSES_MAX || getaddrinfo(host, service, &hints, &found) != 0) return;
    all->list[all->lists++] = found;
    for (struct addrinfo *at = found; at && all->count < ADDRESSES_MAX; at = at->ai_next)
        all->each[all->count++] = at;
}

static void look_all_up(struct addresses *all, const char *hosts) {
    struct vs_word one, rest = {hosts, strlen(hosts)};
    for (bool more = true; more;) {
        char name[512], host[256];
        unsigned port;
        more = vs_split(rest, ',', &one, &rest);
        if (!more) one = rest;
        snprintf(name, sizeof name, "%.*s", (int)one.length, one.at);
        if (vs_uri_host(name, VS_ZK_PORT, host, sizeof host, &port, NULL) == VESTA_OK) look_up(all, host, port);
    }
}

/* From a place that is drawn, so that many do not all go to the first. */
static void try_all(struct zk_making *making, const struct addresses *all) {
    unsigned dice = 0;
    (void)vs_random(&dice, sizeof dice);
    for (int i = 0; i < all->count && making->fd < 0; i++) {
        const struct addrinfo *address = all->each[(dice + (unsigned)i) % (unsigned)all->count];
        int fd = reach(address);
        if (fd < 0)
            vs_answer(&making->reply, VS_STORE_DOWN, "%.60s: %s", making->place.where,
                      was_closed() ? why_closed(address) : none_there);
        else if (say_hello(making, fd, address))
            making->fd = fd;
        else
            close(fd);
    }
}

void vs_zk_dial(void *work) {
    struct zk_making *making = work;
    struct addresses all = {.count = 0};
    look_all_up(&all, making->place.hosts);
    if (all.count == 0)
        vs_answer(&making->reply, VS_STORE_DOWN,
                  "%.70s: its hosts' names have no address, or nobody who knows it answers", making->place.where);
    try_all(making, &all);
    for (int i = 0; i < all.lists; i++)
        freeaddrinfo(all.list[i]);
}

void vs_zk_drop_making(void *work) {
    struct zk_making *making = work;
    if (making->fd >= 0) close(making->fd);
    explicit_bzero(making->place.auth, sizeof making->place.auth);
    free(making);
}
