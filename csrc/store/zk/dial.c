/* dial.c -- opens a session with one of several ZooKeeper servers, and finds out why it fails.  The client library
 * looks up names, tries one server after another forever, and does not report why they fail.  So this code runs in a
 * separate thread (errand.h). */
#include "base/slice.h"
#include "os/thread.h"
#include "store/zk/link.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define SESSION_MS 4000 /* the client library abandons an unresponsive server after two thirds of this time */
#define DIAL_MS 8000    /* limit for all servers together */
#define EARLY_MS 150    /* by then, a nearby server has answered.  If none has, the servers are asked for the reason */
#define REACH_US 3000000
#define PROBE_US 1000000
#define ADDRESSES_MAX 32
_Static_assert(SESSION_MS < DIAL_MS, "a silent server is left for the next one before the deadline");
_Static_assert(REACH_US + PROBE_US < DIAL_MS * 1000, "the reason is known before the deadline");

struct zk_why {
    enum vs_fault fault;
    const char *words;
};
static const struct zk_why none_there = {VS_FAULT_UNREACHABLE, "no server is reachable there"};
static const struct zk_why stranger = {VS_FAULT_STRANGER, "a program other than ZooKeeper listens there"};
static const struct zk_why too_many = {
    VS_FAULT_CONNECTIONS,
    "it closes connections at once, as with too many connections from this address (maxClientCnxns, 60 by default)"};
static const struct zk_why no_majority = {VS_FAULT_MAJORITY, "a majority of its servers is missing"};
static const struct zk_why read_only = {VS_FAULT_MAJORITY,
                                        "it is in read-only mode, because a majority of its servers is missing"};

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

static bool zk_write_all(int fd, const char *at, size_t length, int64_t until_us) {
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

/* Reads `length` bytes.  Returns fewer if the peer closes the connection, or -1 after an error. */
static ssize_t zk_read_all(int fd, char *at, size_t length, int64_t until_us) {
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

static int zk_reach(const struct addrinfo *address) {
    int error = 0;
    socklen_t size = sizeof error;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    bool well = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ||
                (errno == EINPROGRESS && wait_for(fd, POLLOUT, vs_monotonic_us() + REACH_US) &&
                 getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0);
    if (well) return fd;
    close(fd);
    if (error) errno = error;
    return -1;
}

/* Returns whether the server closed the connection after it had accepted it. */
static bool was_closed(void) {
    return errno == ECONNRESET || errno == EPIPE;
}

/* Finds out why a server does not open a session, from its reply to "srvr".  Returns NULL if the server may still open
 * one. */
static const struct zk_why *zk_dial_why_none(const struct addrinfo *address) {
    char said[1024] = "";
    int fd = zk_reach(address);
    if (fd < 0) return was_closed() ? &too_many : errno == ETIMEDOUT ? NULL : &none_there;
    int64_t until_us = vs_monotonic_us() + PROBE_US;
    errno = 0;
    ssize_t got = zk_write_all(fd, "srvr", 4, until_us) ? zk_read_all(fd, said, sizeof said - 1, until_us) : -1;
    bool is_silent = got < 0 && errno == ETIMEDOUT;
    close(fd);
    if (!said[0]) return is_silent ? NULL : &too_many;
    if (strstr(said, "not currently serving")) return &no_majority;
    if (strstr(said, "Mode: read-only")) return &read_only;
    return strncmp(said, "Zookeeper version", 17) == 0 || strstr(said, "srvr") ? NULL : &stranger;
}

/* ------------------------------------------------------------------ one of several servers */

struct addresses {
    /* list: results of the lookups.  each: the single addresses */
    struct addrinfo *list[ADDRESSES_MAX], *each[ADDRESSES_MAX];
    int lists, count;
};

static void zk_look_up(struct addresses *all, const char *host, unsigned port) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found;
    char service[16];
    assert(all->lists <= ADDRESSES_MAX);
    assert(all->count <= ADDRESSES_MAX);
    snprintf(service, sizeof service, "%u", port);
    if (all->lists == ADDRESSES_MAX || getaddrinfo(host, service, &hints, &found) != 0) return;
    all->list[all->lists++] = found;
    for (struct addrinfo *at = found; at && all->count < ADDRESSES_MAX; at = at->ai_next)
        all->each[all->count++] = at;
}

/* Returns the next host and its port.  Returns false after the last one. */
static bool next_host(struct vs_slice *rest, char *host, size_t size, unsigned *port) {
    char name[512];
    struct vs_slice one;
    if (!rest->at) return false;
    bool more = vs_slice_split(*rest, ',', &one, rest);
    if (!more) one = *rest;
    if (!more) rest->at = NULL;
    assert(one.length < sizeof name); /* a truncated name would be another host */
    snprintf(name, sizeof name, "%.*s", (int)one.length, one.at);
    *port = VS_ZK_PORT;
    return vs_uri_host(name, host, size, port, NULL) == VESTA_OK;
}

static void look_all_up(struct addresses *all, const char *hosts) {
    char host[256];
    unsigned port;
    struct vs_slice rest = {hosts, strlen(hosts)};
    while (next_host(&rest, host, sizeof host, &port))
        zk_look_up(all, host, port);
}

/* Finds out why none of the servers opens a session.  Returns NULL if one of them may still open one. */
static const struct zk_why *why_no_session(const char *hosts) {
    struct addresses all = {.count = 0};
    const struct zk_why *why = &none_there;
    look_all_up(&all, hosts);
    for (int i = 0; why && i < all.count; i++) {
        const struct zk_why *now = zk_dial_why_none(all.each[i]);
        if (now != &none_there) why = now;
    }
    for (int i = 0; i < all.lists; i++)
        freeaddrinfo(all.list[i]);
    return why;
}

/* ------------------------------------------------------------------ the session */

/* Writes the list of servers in the client library's form, each with its port. */
static void write_servers(char *servers, size_t size, const char *hosts) {
    char host[256];
    unsigned port;
    struct vs_slice rest = {hosts, strlen(hosts)};
    size_t length = 0;
    servers[0] = '\0';
    while (next_host(&rest, host, sizeof host, &port)) {
        length += (size_t)snprintf(servers + length, size - length, "%s%s:%u", length ? "," : "", host, port);
        assert(length < size); /* a truncated list would have wrong or missing servers */
    }
}

static void await_session(struct zk_making *making, struct zk_session *session) {
    static const struct zk_why broken = {VS_FAULT_SILENT, "the connection broke"};
    static const struct zk_why silent = {VS_FAULT_SILENT, "no reply to the connection request before the deadline"};
    const char *hosts = making->place.hosts;
    const struct zk_why *why = NULL;
    bool is_up = vs_zk_wait(session, &session->is_up, EARLY_MS);
    if (!is_up) {
        why = why_no_session(hosts);
        is_up = vs_zk_wait(session, &session->is_up, why ? 0 : DIAL_MS);
    }
    if (is_up && vs_zk_session_name(session, making->place.auth)) {
        making->session = session;
        return;
    }
    if (is_up || !why) why = is_up ? &broken : &silent;
    vs_answer_fault(&making->reply, VS_STORE_DOWN, why->fault, "%.60s: %s", making->place.where, why->words);
}

void vs_zk_dial(void *work) {
    struct zk_making *making = work;
    /* Each host has at least one byte and a comma, and gets a port if the URI has none. */
    char servers[sizeof making->place.hosts + sizeof making->place.hosts / 2 * (sizeof ":65535" - 1)];
    assert(!making->session);
    assert(making->reply.outcome == VS_STORE_DOWN);
    write_servers(servers, sizeof servers, making->place.hosts);
    struct zk_session *session = vs_zk_session_begin(servers, SESSION_MS);
    bool no_address = errno == ENOENT || errno == EINVAL; /* the client library sets this errno if getaddrinfo fails */
    if (session)
        await_session(making, session);
    else
        vs_answer_fault(&making->reply, VS_STORE_DOWN, no_address ? VS_FAULT_NAME : vs_fault_of_errno(errno),
                        "%.70s: %.80s", making->place.where,
                        no_address ? "its host names cannot be resolved" : strerror(errno));
    if (session && !making->session) vs_zk_session_end(session);
}

void vs_zk_drop_making(void *work) {
    struct zk_making *making = work;
    if (making->session) vs_zk_session_end(making->session);
    explicit_bzero(making->place.auth, sizeof making->place.auth);
    free(making);
}
