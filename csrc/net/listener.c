/* listener.c -- accepts clients, rejects them if there are too many, and hands them to the least loaded loop.  Pauses
 * if no descriptor is left.
 *
 * The first loop to wake accepts a whole burst of clients.  Without the handover it would also serve all of them.
 * Every loop accepts, so clients do not depend on a single loop. */
#include "net/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEPALIVE_S 60
#define IN_A_ROW_MAX 32 /* clients accepted before other connections are served */
#define REST_MS 50
#define UNSENT_MAX                                                                                                     \
    (64 << 10) /* unsent bytes of a connection in the kernel (vesta buffers and counts further bytes) */
#define SILENT_MS 3000 /* a loop that has not swept for this long is given no more clients */

/* ------------------------------------------------------------------ which loop serves a client */

/* Guards the choice of a loop, and `arrived` and `takes` of each loop.  It is never held during a blocking call. */
static pthread_mutex_t net_handing = PTHREAD_MUTEX_INITIALIZER;

static int net_load_of(const struct net_loop *loop) {
    return atomic_load_explicit(&loop->load, memory_order_relaxed); /* relaxed: a count that orders no other memory */
}

static bool net_is_silent(const struct net_loop *loop, uint64_t now_ms) {
    return atomic_load_explicit(&loop->beat_ms, memory_order_relaxed) + SILENT_MS < now_ms;
}

/* The caller must hold the lock, because loops that accept at the same time must see each other's choices. */
static struct net_loop *net_least_loaded(struct net_loop *own) {
    struct net_loop *best = own;
    int least = net_load_of(own);
    for (int i = 0; i < own->server->count; i++) {
        struct net_loop *loop = own->server->loops[i];
        int load = net_load_of(loop);
        if (load >= least || !loop->takes || net_is_silent(loop, own->now_ms)) continue;
        best = loop;
        least = load;
    }
    return best;
}

static void net_hand_over(struct net_conn *c, struct net_loop *own) {
    pthread_mutex_lock(&net_handing);
    struct net_loop *to = net_least_loaded(own);
    atomic_fetch_add_explicit(&to->load, 1, memory_order_relaxed);
    if (to != own) {
        TAILQ_INSERT_TAIL(&to->arrived, c, all);
        net_poll_call(to, NET_CALL_ARRIVAL);
    }
    pthread_mutex_unlock(&net_handing);
    if (to == own) net_begin(c, own);
}

static void net_on_arrival(struct net_loop *loop) {
    struct net_conns arrived = TAILQ_HEAD_INITIALIZER(arrived);
    struct net_conn *c;
    pthread_mutex_lock(&net_handing);
    TAILQ_CONCAT(&arrived, &loop->arrived, all);
    pthread_mutex_unlock(&net_handing);
    while ((c = TAILQ_FIRST(&arrived))) {
        TAILQ_REMOVE(&arrived, c, all);
        net_begin(c, loop);
    }
}

void net_handover_init(struct net_loop *loop) {
    TAILQ_INIT(&loop->arrived);
    loop->on_call[NET_CALL_ARRIVAL] = net_on_arrival;
    pthread_mutex_lock(&net_handing);
    loop->takes = true;
    pthread_mutex_unlock(&net_handing);
}

bool net_handover_end(struct net_loop *loop) {
    pthread_mutex_lock(&net_handing);
    if (TAILQ_EMPTY(&loop->arrived)) loop->takes = false;
    bool ended = !loop->takes;
    pthread_mutex_unlock(&net_handing);
    return ended;
}

/* ------------------------------------------------------------------ rejecting and pausing */

/* Reads the client's bytes before closing, because unread bytes cause a reset, which discards the reply.  Does not wait
 * for bytes.  Sends no reply on a TLS listener, because a TLS client could not read it. */
static void net_turn_away(struct net_door *door, int fd) {
    struct net_loop *loop = door->loop;
    if (!door->is_secure) net_refuse_plain(loop, fd, door->kind, NET_FULL);
    recv(fd, loop->in, sizeof loop->in, MSG_DONTWAIT);
    close(fd);
}

static void net_on_rested(struct net_loop *loop);

/* Stops watching the listener for REST_MS, because its socket stays readable and the loop would spin. */
static void net_rest(struct net_door *door) {
    struct net_loop *loop = door->loop;
    net_poll_forget(loop, door->fd);
    door->resting = true;
    vs_add(&loop->upper.counts->rests, 1);
    if (!loop->timer[NET_TIMER_REST].then) net_poll_timer(loop, NET_TIMER_REST, REST_MS, net_on_rested);
}

/* EPOLLEXCLUSIVE wakes one loop per client, not all loops. */
static int net_door_watch(struct net_door *door) {
    return net_poll_watch(door->loop, door->fd, &door->watched, EPOLLIN | EPOLLEXCLUSIVE);
}

static void net_on_rested(struct net_loop *loop) {
    for (int i = 0; i < NET_LISTENERS_MAX; i++) {
        struct net_door *door = &loop->door[i];
        if (!door->listening || !door->resting) continue;
        door->resting = false;
        if (net_door_watch(door) != 0) net_rest(door);
    }
}

/* ------------------------------------------------------------------ accepting */

static bool net_is_balancer(const struct net_opts *opts, const struct vs_peer *peer) {
    for (int i = 0; i < opts->proxy_count; i++)
        if (vs_network_has(&opts->proxy[i], peer->family, peer->at)) return true;
    return false;
}

/* Handles a failed accept.  Returns whether another accept should follow immediately. */
static bool net_none_came(struct net_door *door) {
    switch (errno) {
    case EAGAIN: return false;
    case EINVAL: net_door_close(door); return false; /* another loop has shut the socket */
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case EPERM: return true; /* only that client failed */
    default: net_rest(door); return false;
    }
}

static bool net_let_in(struct net_door *door) {
    struct net_loop *loop = door->loop;
    const struct net_opts *opts = loop->opts;
    struct sockaddr_storage address = {.ss_family = AF_UNIX};
    socklen_t length = sizeof address;
    if (!loop->spare && !(loop->spare = calloc(1, sizeof *loop->spare + opts->of_size))) return net_rest(door), false;
    int fd = accept4(door->fd, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return net_none_came(door);
    struct vs_peer peer = vs_peer_of(&address);
    bool is_proxied = net_is_balancer(opts, &peer);
    struct net_conn *c = loop->spare;
    if (!loop->calls->admit(c->of, loop->upper.loop, door->kind, &peer, is_proxied))
        return net_turn_away(door, fd), true;
    loop->spare = NULL;
    c->fd = fd;
    c->kind = door->kind;
    c->peer = peer;
    c->is_proxied = c->has_header = c->is_unnamed = is_proxied;
    c->is_secure = door->is_secure;
    net_hand_over(c, loop);
    return true;
}

static void net_let_all_in(struct net_door *door) {
    for (int i = 0; i < IN_A_ROW_MAX; i++)
        if (!net_let_in(door)) return;
}

static void net_on_clients(struct net_watched *of, uint32_t events) {
    (void)events;
    net_let_all_in((struct net_door *)of);
}

/* A loop that was woken for a client may be delayed before it accepts, and epoll wakes no other loop for that
 * client. */
void net_door_look(struct net_door *door) {
    if (door->listening && !door->resting) net_let_all_in(door);
}

/* ------------------------------------------------------------------ listening */

/* Options that a connection inherits from its listening socket. */
static void net_prepare(int fd) {
    int on = 1, keepalive_s = KEEPALIVE_S, unsent_max = UNSENT_MAX;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_max, sizeof unsent_max);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &keepalive_s, sizeof keepalive_s);
    /* After that, ten probes, one per second (KEEPCNT). */
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){10}, sizeof(int));
}

int net_door_open(struct net_loop *loop, struct net_door *door, const struct net_listener *from) {
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(from->fd, (struct sockaddr *)&address, &length) != 0) return EINVAL;
    if (address.ss_family != AF_UNIX) net_prepare(from->fd);
    /* a socket from a service manager may be blocking, but several loops accept, and all but one find no client */
    if (fcntl(from->fd, F_SETFL, fcntl(from->fd, F_GETFL) | O_NONBLOCK) != 0) return errno;
    int own = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return errno;
    *door = (struct net_door){.watched = {net_on_clients},
                              .fd = own,
                              .loop = loop,
                              .kind = from->kind,
                              .listening = true,
                              .handed = from->handed,
                              .is_secure = from->is_secure};
    return net_door_watch(door) == 0 ? 0 : errno;
}

void net_door_close(struct net_door *door) {
    if (!door->listening) return;
    if (!door->handed) shutdown(door->fd, SHUT_RDWR);
    net_poll_forget(door->loop, door->fd);
    close(door->fd);
    door->listening = false;
}
