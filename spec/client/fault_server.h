/* fault_server.h -- a server of blocks that behaves as a test requests: correctly, or with one of the faults of
 * servers and networks.  Ids in a faulty reply are in a range that no good reply uses, so a client that uses it is
 * detected. */
#ifndef FAULT_SERVER_H
#define FAULT_SERVER_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum fault {
    GOOD,
    SILENT,     /* accepts connections, and never replies */
    HALF,       /* half a reply, then the connection is closed */
    STALLED,    /* half a reply, then nothing */
    LATE,       /* the reply comes after the client's deadline, on the same connection */
    DRIPPING,   /* one byte now and then */
    OTHER_NAME, /* the reply to another client's request */
    OTHER_KIND,
    TOLD_AGAIN, /* the last good reply once more */
    NO_IDS,
    TOO_MANY,     /* one id more than requested */
    HUGE_COUNT,   /* 2^63 */
    OVERFLOWING,  /* the last tick exceeds 64 bits */
    BASE_IN_TIME, /* the base has bits in the time field */
    WIDE_SHIFT,
    TWICE,   /* two replies to one request */
    UNASKED, /* a good reply, followed by an unsolicited one if the server has another fault */
    NUMBER,  /* :1 */
    NIL,
    NESTED,
    HUGE_ARRAY,  /* *2147483647 */
    HUGE_STRING, /* $2147483647 */
    ENDLESS,     /* an endless text */
    HTTP,
    NOISE,
    REFUSING, /* -ERR */
    BUSY,     /* -TRYAGAIN */
    FAULTS
};

#define POISON (UINT64_C(1) << 44) /* set in every tick of a faulty reply */
#define SEQ_BITS 20
#define TIME_SHIFT 30
#define SEQ_SHIFT 10

struct fault_server {
    int fd, port;
    char address[32];
    pthread_t thread;
    _Atomic int fault;
    _Atomic uint64_t blocks, requests, connections; /* good replies, and all requests */
    _Atomic uint64_t most;                          /* highest number of ids requested at once */
    _Atomic uint64_t unasked;                       /* unsolicited replies */
    uint64_t base;                                  /* distinguishes servers */
    const char *_Atomic layout;                     /* in its replies.  NULL: none */
    atomic_bool is_ended;
    _Atomic uint64_t live;                   /* open connections */
    _Atomic uint64_t last_first, last_count; /* of the last good reply */
    _Atomic uint64_t *ticks;                 /* start of the next grant.  Servers of one name share it */
};

struct fault_link {
    struct fault_server *server;
    int fd;
};

/* False: the client closed the connection. */
static bool fault_send(int fd, const char *text, size_t length) {
    while (length > 0) {
        ssize_t sent = send(fd, text, length, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        text += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* One name and value of a reply. */
static int fault_pair(char *to, size_t size, const char *name, uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    return snprintf(to, size, "$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(name), name, strlen(digits), digits);
}

struct fault_grant {
    const char *name, *kind, *layout;
    uint64_t base, first, count, time_shift;
};

static int fault_reply(char *to, size_t size, const struct fault_grant *g) {
    const struct {
        const char *name;
        uint64_t value;
    } pairs[] = {{"base", g->base},
                 {"first", g->first},
                 {"count", g->count},
                 {"seq_bits", SEQ_BITS},
                 {"time_shift", g->time_shift},
                 {"seq_shift", SEQ_SHIFT},
                 {"low_bits", 0},
                 {"low_shift", 0}};
    int used = snprintf(to, size,
                        "*22\r\n$2\r\nns\r\n$%zu\r\n%s\r\n$4\r\nkind\r\n$%zu\r\n%s\r\n$6\r\nlayout\r\n$%zu\r\n%s\r\n",
                        strlen(g->name), g->name, strlen(g->kind), g->kind, strlen(g->layout), g->layout);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        used += fault_pair(to + used, size - (size_t)used, pairs[i].name, pairs[i].value);
    return used;
}

static const char *fault_text(int fault) {
    switch (fault) {
    case NUMBER: return ":1\r\n";
    case NIL: return "$-1\r\n";
    case NESTED: return "*2\r\n*2\r\n$2\r\nns\r\n$1\r\nx\r\n$1\r\ny\r\n";
    case HUGE_ARRAY: return "*2147483647\r\n$2\r\nns\r\n";
    case HUGE_STRING: return "*2\r\n$2147483647\r\nxx";
    case HTTP: return "HTTP/1.1 400 Bad Request\r\n\r\n";
    case NOISE: return "\xff\xfe\r\n\x80%n%s\r\n*-7\r\n";
    case REFUSING: return "-ERR there is no namespace 'orders'\r\n";
    case BUSY: return "-TRYAGAIN full\r\n";
    default: return NULL;
    }
}

static void fault_endless(int fd) {
    char piece[1024];
    memset(piece, '7', sizeof piece);
    fault_send(fd, "$", 1);
    for (int i = 0; i < 1000 && fault_send(fd, piece, sizeof piece); i++)
        ;
}

static void fault_drip(int fd, const char *reply, size_t length) {
    for (size_t i = 0; i < length && fault_send(fd, reply + i, 1); i++)
        usleep(20000);
}

static struct fault_grant fault_grant(struct fault_server *s, int fault, uint64_t n) {
    struct fault_grant g = {"orders", "ticks", s->layout ? s->layout : "", s->base, 0, n, TIME_SHIFT};
    g.first = atomic_fetch_add(s->ticks, n) | (fault == GOOD ? 0 : POISON);
    if (fault == GOOD) atomic_store(&s->last_first, g.first), atomic_store(&s->last_count, g.count);
    if (fault == TOLD_AGAIN) g.first = atomic_load(&s->last_first), g.count = atomic_load(&s->last_count);
    if (fault == OTHER_NAME) g.name = "other";
    if (fault == OTHER_KIND) g.kind = "beads";
    if (fault == NO_IDS) g.count = 0;
    if (fault == TOO_MANY) g.count = n + 1;
    if (fault == HUGE_COUNT) g.count = UINT64_C(1) << 63;
    if (fault == OVERFLOWING) g.first = UINT64_MAX - 1;
    if (fault == BASE_IN_TIME) g.base |= UINT64_C(1) << (TIME_SHIFT + 44 - SEQ_BITS);
    if (fault == WIDE_SHIFT) g.time_shift = 64;
    return g;
}

static void fault_answer(struct fault_link *link, int fault, uint64_t n) {
    char reply[2048];
    struct fault_server *s = link->server;
    struct fault_grant g = fault_grant(s, fault, n);
    size_t length = (size_t)fault_reply(reply, sizeof reply, &g), half = length / 2;
    const char *text = fault_text(fault);
    if (text) {
        fault_send(link->fd, text, strlen(text));
        return;
    }
    switch (fault) {
    case SILENT: return;
    case ENDLESS: fault_endless(link->fd); return;
    case HALF:
        fault_send(link->fd, reply, half);
        shutdown(link->fd, SHUT_RDWR);
        return;
    case STALLED: fault_send(link->fd, reply, half); return;
    case LATE: usleep(400000); break;
    case DRIPPING: fault_drip(link->fd, reply, length); return;
    case TWICE: /* together, so that the client reads both */
        memcpy(reply + length, reply, length);
        length *= 2;
        break;
    case UNASKED:
        fault_answer(link, GOOD, n);
        while (atomic_load(&s->fault) == UNASKED)
            usleep(1000);
        fault_send(link->fd, reply, length);
        atomic_fetch_add(&s->unasked, 1);
        return;
    default: break;
    }
    fault_send(link->fd, reply, length);
    if (fault == GOOD) atomic_fetch_add(&s->blocks, 1);
}

/* Commands arrive completely, one at a time, because the client waits for each reply. */
static void *fault_serve(void *arg) {
    struct fault_link *link = arg;
    struct fault_server *s = link->server;
    char bytes[1024];
    ssize_t got;
    while ((got = recv(link->fd, bytes, sizeof bytes - 1, 0)) > 0 ||
           (got < 0 && errno == EAGAIN && !atomic_load(&s->is_ended))) {
        if (got < 0) continue; /* no data yet */
        bytes[got] = '\0';
        int fault = atomic_load(&s->fault);
        char *block = strstr(bytes, "VESTA.BLOCK"), *count = strrchr(bytes, '$');
        if (!block && fault != SILENT) fault_send(link->fd, "+OK\r\n", 5);
        if (!block) continue;
        uint64_t n = strtoull(strchr(count, '\n') + 1, NULL, 10);
        atomic_fetch_add(&s->requests, 1);
        if (n > atomic_load(&s->most)) atomic_store(&s->most, n);
        fault_answer(link, fault, n);
    }
    close(link->fd);
    free(link);
    atomic_fetch_sub(&s->live, 1);
    return NULL;
}

static void *fault_accept(void *arg) {
    struct fault_server *s = arg;
    int fd;
    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        struct fault_link *link = malloc(sizeof *link);
        pthread_t thread;
        struct timeval look = {.tv_usec = 100000};
        int at_once = 1; /* data is sent at once */
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof look);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
        *link = (struct fault_link){s, fd};
        atomic_fetch_add(&s->connections, 1);
        atomic_fetch_add(&s->live, 1);
        if (pthread_create(&thread, NULL, fault_serve, link) == 0) pthread_detach(thread);
    }
    return NULL;
}

static void fault_server_begin(struct fault_server *s, _Atomic uint64_t *ticks, uint64_t number) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    memset(s, 0, sizeof *s);
    s->ticks = ticks;
    s->base = number;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(s->fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(s->fd, 64) != 0 ||
        getsockname(s->fd, (struct sockaddr *)&at, &length) != 0)
        abort();
    s->port = ntohs(at.sin_port);
    snprintf(s->address, sizeof s->address, "127.0.0.1:%d", s->port);
    if (pthread_create(&s->thread, NULL, fault_accept, s) != 0) abort();
}

/* Call it after its clients are closed.  When it returns, its threads have ended. */
static void fault_server_end(struct fault_server *s) {
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    atomic_store(&s->is_ended, true);
    AWAIT(atomic_load(&s->live) == 0);
}

#endif
