/* listener.c -- who comes in: accepting from the listening sockets, turning away at once who is one too many, resting
 * where there is no descriptor.  Knows no protocol but each one's "too many". */
#include "log/log.h"
#include "server/net/net.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEPALIVE_S 60
#define IN_A_ROW_MAX 32 /* clients let in before those who are there have their turn */
#define REST_MS 50
#define UNSENT_MAX                                                                                                     \
    (64 << 10) /* bytes that the kernel keeps for a client which does not read; more is kept here, and counted */
#define TELL_MS 10000

/* ------------------------------------------------------------------ turning away */

/* What came with the client is read, or closing the socket would tear up the answer before it is seen; nothing is
 * waited for. */
static void turn_away(struct listener *listener, int fd, const struct vs_peer *peer, enum vs_turned why) {
    struct vs_counts *counts = listener->loop->scratch.counts;
    vs_add(&counts->accepted[listener->protocol], 1);
    vs_add(&counts->turned[listener->protocol][why], 1);
    vs_roster_note(listener->loop->server->opts->app, listener->loop->scratch.loop,
                   VS_LAST_TURNED + (int)listener->protocol, peer);
    vs_add(&counts->closed[listener->protocol], 1);
    if (!listener->is_secure) vs_refusal_send(&vs_too_many, listener->protocol, fd); /* who awaits a handshake would not read it */
    recv(fd, listener->loop->in, sizeof listener->loop->in, MSG_DONTWAIT);
    close(fd);
}

/* ------------------------------------------------------------------ resting */

static void on_rested(struct loop *loop);

/* The socket stays readable, and a loop that asked again at once would do nothing else. */
static void rest(struct listener *listener) {
    struct loop *loop = listener->loop;
    vs_poll_forget(loop, listener->fd);
    listener->resting = true;
    vs_add(&loop->scratch.counts->rests, 1);
    if (!loop->timer[VS_TIMER_REST].then) vs_poll_timer(loop, VS_TIMER_REST, REST_MS, on_rested);
}

/* Of the loops that wait one is woken for a client, not all. */
static int watch(struct listener *listener) {
    return vs_poll_watch(listener->loop, listener->fd, &listener->watched, EPOLLIN | EPOLLEXCLUSIVE);
}

static void on_rested(struct loop *loop) {
    for (int i = 0; i < VS_LISTENERS_MAX; i++) {
        struct listener *listener = &loop->listener[i];
        if (!listener->listening || !listener->resting) continue;
        listener->resting = false;
        if (watch(listener) != 0) rest(listener);
    }
}

/* ------------------------------------------------------------------ letting in */

static bool is_balancer(const struct vs_serve_opts *opts, const struct vs_peer *peer) {
    for (int i = 0; i < opts->proxy_count; i++)
        if (vs_network_has(&opts->proxy[i], peer->family, peer->at)) return true;
    return false;
}

/* Whether the next may be asked for at once. */
static bool none_came(struct listener *listener) {
    switch (errno) {
    case EAGAIN: return false;
    case EINVAL: vs_listener_close(listener); return false; /* another loop has shut the socket */
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM: return true; /* of that client alone */
    default: rest(listener); return false;
    }
}

static bool let_in(struct listener *listener) {
    struct loop *loop = listener->loop;
    struct sockaddr_storage address = {.ss_family = AF_UNIX};
    socklen_t length = sizeof address;
    if (!loop->spare && !(loop->spare = calloc(1, sizeof *loop->spare))) return rest(listener), false;
    int fd = accept4(listener->fd, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return none_came(listener);
    struct vs_peer peer = vs_peer_of(&address);
    const struct vs_serve_opts *opts = loop->server->opts;
    struct conn *c = loop->spare;
    bool brings_header = is_balancer(opts, &peer);
    enum vs_turned why =
        ledger_enter(opts->app->ledger, &c->session.entry, listener->protocol, &peer, brings_header);
    if (why != VS_LET_IN) return turn_away(listener, fd, &peer, why), true;
    if (brings_header && !vs_header_expect(c)) {
        ledger_leave(opts->app->ledger, &c->session.entry, loop->scratch.now_us);
        return turn_away(listener, fd, &peer, VS_TURNED_TOTAL), true;
    }
    loop->spare = NULL;
    c->fd = fd;
    c->peer = peer;
    c->is_secure = listener->is_secure;
    c->session.protocol = listener->protocol;
    vs_conn_place(c, loop);
    return true;
}

static void let_all_in(struct listener *listener) {
    for (int i = 0; i < IN_A_ROW_MAX; i++)
        if (!let_in(listener)) return;
}

static void on_clients(struct watched *of, uint32_t events) {
    (void)events;
    let_all_in((struct listener *)of);
}

/* A loop that was woken for a client may be held up before it comes to that, and no other is woken for the same. */
void vs_listener_look(struct listener *listener) {
    if (listener->listening && !listener->resting) let_all_in(listener);
}

/* ------------------------------------------------------------------ listening */

/* What each connection takes over from the socket that it comes from. */
static void prepare(int fd) {
    int on = 1, keepalive_s = KEEPALIVE_S, unsent_max = UNSENT_MAX;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_max, sizeof unsent_max);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &keepalive_s, sizeof keepalive_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){1}, sizeof(int)); /* then ten looks, one a second */
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){10}, sizeof(int));
}

int vs_listener_open(struct loop *loop, struct listener *listener, const struct vs_listener *from) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(from->fd, (struct sockaddr *)&address, &length) != 0) return EINVAL;
    if (address.ss_family != AF_UNIX) prepare(from->fd);
    /* the service manager's may block: several loops accept, and all but one find nobody */
    if (fcntl(from->fd, F_SETFL, fcntl(from->fd, F_GETFL) | O_NONBLOCK) != 0) return errno;
    int own = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return errno;
    *listener = (struct listener){.watched = {on_clients},
                                  .fd = own,
                                  .loop = loop,
                                  .protocol = from->protocol,
                                  .listening = true,
                                  .handed = from->handed,
                                  .is_secure = from->is_secure};
    return watch(listener) == 0 ? 0 : errno;
}

void vs_listener_close(struct listener *listener) {
    if (!listener->listening) return;
    if (!listener->handed) shutdown(listener->fd, SHUT_RDWR);
    vs_poll_forget(listener->loop, listener->fd);
    close(listener->fd);
    listener->listening = false;
}

/* ------------------------------------------------------------------ telling */

uint64_t vs_untold(struct told *told, uint64_t count, uint64_t now_ms) {
    uint64_t more = count - told->count;
    if (more == 0 || (told->at_ms && now_ms - told->at_ms < TELL_MS)) return 0;
    *told = (struct told){now_ms, count};
    return more;
}

static uint64_t turned(const struct vs_app *app, enum vs_protocol protocol, enum vs_turned why) {
    return vs_total(app, &app->counts[0]->turned[protocol][why]);
}

/* To whom it happened last. */
static const char *last_address(struct server *server, int what, char buf[VS_PEER_TEXT_MAX]) {
    struct vs_peer peer = {.family = 0};
    return vs_roster_last(server->opts->app, what, &peer) ? vs_peer_host(&peer, buf) : NULL;
}

/* One event a protocol: the log takes the same sentence once a second only. */
static void tell_turned(struct server *server, enum vs_protocol protocol, uint64_t now_ms) {
    char last[VS_PEER_TEXT_MAX];
    static const char *const sentences[VS_PROTOCOLS] = {
        [VS_RESP] = "clients of the Redis protocol were turned away: there are too many connections",
        [VS_HTTP] = "HTTP clients were turned away: there are too many connections",
        [VS_ADMIN] = "clients of the admin routes were turned away: there are too many connections"};
    const struct vs_app *app = server->opts->app;
    const struct vs_limits *limits = ledger_limits(app->ledger);
    uint64_t address = turned(app, protocol, VS_TURNED_ADDRESS), proto = turned(app, protocol, VS_TURNED_PROTO),
             all = turned(app, protocol, VS_TURNED_TOTAL), *was = &server->told_address[protocol],
             more = vs_untold(&server->told_turned[protocol], address + proto + all, now_ms);
    if (more == 0) return;
    vs_log(VS_LOG_WARN, sentences[protocol], "turned_away", VS_DIGITS((int64_t)more), "of_one_address",
           VS_DIGITS((int64_t)(address - *was)), "limit_of_one_address", VS_DIGITS(limits->of_address[protocol]),
           "connections", VS_DIGITS(ledger_open(app->ledger, protocol)), "limit",
           VS_DIGITS(limits->proto_max[protocol]), "limit_over_tcp", VS_DIGITS(limits->tcp_max[protocol]),
           "limit_of_all", VS_DIGITS(limits->connections_max), "last_address",
           last_address(server, VS_LAST_TURNED + (int)protocol, last), NULL);
    *was = address;
}

static uint64_t total_shed(const struct vs_app *app) {
    uint64_t sum = 0;
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        sum += vs_total(app, &app->counts[0]->shed[protocol]);
    return sum;
}

void vs_listeners_tell(struct server *server, uint64_t now_ms) {
    const struct vs_app *app = server->opts->app;
    char last[VS_PEER_TEXT_MAX];
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        tell_turned(server, (enum vs_protocol)protocol, now_ms);
    uint64_t shed = vs_untold(&server->told_shed, total_shed(app), now_ms);
    if (shed)
        vs_log(VS_LOG_WARN, "connections were closed: clients held too much memory", "closed", VS_DIGITS((int64_t)shed),
               "memory_mib", VS_DIGITS(ledger_limits(app->ledger)->memory_max >> 20), "last_address",
               last_address(server, VS_LAST_SHED, last), NULL);
    uint64_t rests = vs_untold(&server->told_rests, vs_total(app, &app->counts[0]->rests), now_ms);
    if (rests)
        vs_log(VS_LOG_WARN, "new connections had to wait: this process or this machine has run out of file descriptors",
               "rests", VS_DIGITS((int64_t)rests), NULL);
}
