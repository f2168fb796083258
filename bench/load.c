/* load.c -- a client that loads id servers. In a closed load, each connection sends its next request after the
 * reply. In an open load, requests follow the clock regardless of replies, so that a stalled server does not hide
 * how many requests would have arrived.
 *
 *     bench_load ADDRESS REQUEST CONNECTIONS PIPELINE RATE MILLISECONDS REQUESTS
 *
 * ADDRESS is HOST:PORT or unix:PATH. REQUEST is an HTTP path, which begins with /, or a Redis command. RATE is
 * requests per second of all connections, or 0 for a closed load with PIPELINE requests at once. The client ends
 * after MILLISECONDS, or when REQUESTS (0: no limit) were sent and answered. It prints one JSON object. Latencies
 * start when a request was due. */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECTIONS_MAX 8192
#define WAITING_MAX 4096 /* per connection, a power of two; a connection with more waiting requests fails */
#define REPEATED 64      /* copies of the request in one buffer */
#define REQUEST_MAX 256
#define READ_MAX 65536
#define DRAIN_NS 2000000000
#define STEPS 64 /* per octave, so latencies are exact to 1.6 % */
#define BUCKETS (40 * STEPS)

static struct load {
    bool http;
    int epoll, connections;
    unsigned pipeline;
    double rate;
    int64_t begin_ns, end_ns;
    uint64_t most, sent, answered, refused, counts[BUCKETS];
    char request[REPEATED * 2 * REQUEST_MAX];
    size_t request_len;
    struct conn {
        int fd;
        size_t owed, at, have; /* bytes to send and their offset, and bytes of an incomplete reply */
        unsigned head, tail;
        int64_t due_ns[WAITING_MAX];
        char rest[1024];
    } *conn;
} load;

/* ------------------------------------------------------------------ latencies */

static unsigned bucket_of(uint64_t ns) {
    unsigned octave = ns < STEPS ? 0 : 63 - (unsigned)__builtin_clzll(ns) - 5;
    unsigned at = octave ? octave * (STEPS / 2) + (unsigned)(ns >> octave) : (unsigned)ns;
    return at < BUCKETS ? at : BUCKETS - 1;
}

static double ns_of(unsigned bucket) {
    unsigned octave = bucket < STEPS ? 0 : bucket / (STEPS / 2) - 1;
    return (double)((uint64_t)(bucket - octave * (STEPS / 2)) << octave);
}

static double quantile_us(const struct load *l, double part) {
    uint64_t seen = 0, want = (uint64_t)((double)l->answered * part);
    for (unsigned i = 0; i < BUCKETS; i++)
        if ((seen += l->counts[i]) > want) return ns_of(i) / 1000;
    return 0;
}

/* ------------------------------------------------------------------ requests */

static void flush(struct load *l, struct conn *c) {
    while (c->owed > 0) {
        size_t most = l->request_len * REPEATED - c->at, n = c->owed < most ? c->owed : most;
        ssize_t did = send(c->fd, l->request + c->at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (did < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (did < 0) bench_die("a request was not taken");
        c->owed -= (size_t)did;
        c->at = (c->at + (size_t)did) % (l->request_len * REPEATED);
    }
}

static void ask(struct load *l, struct conn *c, int64_t due_ns) {
    if (c->tail - c->head == WAITING_MAX) {
        errno = 0;
        bench_die("the server is behind by thousands of answers: ask it for less");
    }
    c->due_ns[c->tail++ % WAITING_MAX] = due_ns;
    c->owed += l->request_len;
    l->sent++;
}

static bool may_ask(const struct load *l, int64_t now_ns) {
    return now_ns < l->end_ns && (l->most == 0 || l->sent < l->most);
}

/* ------------------------------------------------------------------ answers */

/* Returns the length of the reply at p, or 0 if it is incomplete. */
static size_t http_answer(const char *p, size_t n, bool *good) {
    const char *end = memmem(p, n, "\r\n\r\n", 4), *length;
    if (!end) return 0;
    length = memmem(p, (size_t)(end - p), "Content-Length: ", 16);
    if (!length) length = memmem(p, (size_t)(end - p), "content-length: ", 16);
    if (!length) bench_die("an answer of unknown length");
    size_t all = (size_t)(end - p) + 4 + strtoul(length + 16, NULL, 10);
    *good = memcmp(p + 9, "200", 3) == 0;
    return all <= n ? all : 0;
}

static size_t resp_answer(const char *p, size_t n, bool *good) {
    const char *end = memchr(p, '\n', n);
    if (!end) return 0;
    size_t all = (size_t)(end - p) + 1;
    *good = *p == ':' || (*p == '$' && p[1] != '-');
    if (*p == '$' && p[1] != '-') all += strtoul(p + 1, NULL, 10) + 2;
    return all <= n ? all : 0;
}

static void answered(struct load *l, struct conn *c, bool good, int64_t now_ns) {
    if (c->head == c->tail) bench_die("an answer to nothing");
    int64_t ns = now_ns - c->due_ns[c->head++ % WAITING_MAX];
    l->counts[bucket_of(ns > 0 ? (uint64_t)ns : 0)]++;
    l->answered++;
    l->refused += !good;
}

static void take_answers(struct load *l, struct conn *c) {
    static char buf[READ_MAX];
    memcpy(buf, c->rest, c->have);
    ssize_t got = recv(c->fd, buf + c->have, sizeof buf - c->have, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) bench_die("the server hung up");
    int64_t now_ns = bench_now_ns();
    size_t have = c->have + (size_t)got, at = 0, len;
    bool good = false;
    while (at < have && (len = (l->http ? http_answer : resp_answer)(buf + at, have - at, &good)) > 0) {
        answered(l, c, good, now_ns);
        at += len;
    }
    c->have = have - at;
    if (c->have > sizeof c->rest) bench_die("an answer is too long");
    memcpy(c->rest, buf + at, c->have);
}

/* ------------------------------------------------------------------ loops */

/* Sends the next batch when the last one was answered, like redis-benchmark. */
static void ask_again(struct load *l, struct conn *c) {
    int64_t now_ns = bench_now_ns();
    if (c->head != c->tail) return;
    for (unsigned i = 0; i < l->pipeline && may_ask(l, now_ns); i++)
        ask(l, c, now_ns);
}

static void ask_what_is_due(struct load *l, int64_t now_ns) {
    double gap_ns = 1e9 / l->rate;
    for (;;) {
        int64_t due_ns = l->begin_ns + (int64_t)((double)l->sent * gap_ns);
        if (due_ns > now_ns || !may_ask(l, due_ns)) return;
        struct conn *c = &l->conn[l->sent % (unsigned)l->connections];
        ask(l, c, due_ns);
        flush(l, c);
    }
}

static void turn(struct load *l, int wait_ms) {
    struct epoll_event events[512];
    int n = epoll_wait(l->epoll, events, 512, wait_ms);
    for (int i = 0; i < n; i++) {
        struct conn *c = events[i].data.ptr;
        take_answers(l, c);
        if (l->rate == 0) ask_again(l, c);
        flush(l, c);
        if (l->rate > 0) ask_what_is_due(l, bench_now_ns());
    }
}

static void run(struct load *l, int64_t ms) {
    int64_t now_ns = l->begin_ns = bench_now_ns();
    l->end_ns = now_ns + ms * 1000000;
    for (int i = 0; i < l->connections && l->rate == 0; i++) {
        ask_again(l, &l->conn[i]);
        flush(l, &l->conn[i]);
    }
    while (may_ask(l, now_ns) || l->answered < l->sent) {
        if (now_ns > l->end_ns + DRAIN_NS) bench_die("requests were not answered");
        turn(l, l->rate > 0 && may_ask(l, now_ns) ? 0 : 10);
        now_ns = bench_now_ns();
        if (l->rate > 0) ask_what_is_due(l, now_ns);
    }
    l->end_ns = now_ns;
}

/* ------------------------------------------------------------------ start */

static int connected(const char *address) {
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in in = {.sin_family = AF_INET};
    const char *colon = strrchr(address, ':');
    bool is_local = strncmp(address, "unix:", 5) == 0;
    int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, rc;
    if (fd < 0 || !colon) bench_die("an address");
    if (is_local) {
        snprintf(local.sun_path, sizeof local.sun_path, "%s", address + 5);
        rc = connect(fd, (void *)&local, sizeof local);
    } else {
        char host[64];
        snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
        in.sin_port = htons((uint16_t)atoi(colon + 1));
        if (inet_pton(AF_INET, host, &in.sin_addr) != 1) bench_die(address);
        setsockopt(fd, 6 /* TCP */, 1 /* NODELAY */, &one, sizeof one);
        rc = connect(fd, (void *)&in, sizeof in);
    }
    if (rc != 0) bench_die(address);
    return fd;
}

static void connect_all(struct load *l, const char *address) {
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->conn = calloc((size_t)l->connections, sizeof *l->conn);
    if (l->epoll < 0 || !l->conn) bench_die("memory");
    for (int i = 0; i < l->connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &l->conn[i]};
        l->conn[i].fd = connected(address);
        if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->conn[i].fd, &event) != 0) bench_die("epoll");
    }
}

static void write_requests(struct load *l, const char *text) {
    char one[2 * REQUEST_MAX], words[REQUEST_MAX], *rest = words, *word;
    int n = 0, count = 1;
    l->http = *text == '/';
    if (strlen(text) > REQUEST_MAX / 4) bench_die("the request is too long");
    if (l->http) {
        n = sprintf(one, "GET %s HTTP/1.1\r\nHost: bench\r\n\r\n", text);
    } else {
        for (const char *p = strcpy(words, text); *p; p++)
            count += *p == ' ';
        n = sprintf(one, "*%d\r\n", count);
        while ((word = strsep(&rest, " ")))
            n += sprintf(one + n, "$%zu\r\n%s\r\n", strlen(word), word);
    }
    l->request_len = (size_t)n;
    for (int i = 0; i < REPEATED; i++)
        memcpy(l->request + i * n, one, (size_t)n);
}

int main(int argc, char **argv) {
    struct load *l = &load;
    if (argc != 8) {
        fputs("usage: bench_load ADDRESS REQUEST CONNECTIONS PIPELINE RATE MILLISECONDS REQUESTS (see load.c)\n", stderr);
        return 2;
    }
    l->connections = atoi(argv[3]);
    l->pipeline = (unsigned)atoi(argv[4]);
    l->rate = atof(argv[5]);
    l->most = strtoull(argv[7], NULL, 10);
    if (l->connections < 1 || l->connections > CONNECTIONS_MAX || l->pipeline < 1 || l->pipeline > WAITING_MAX)
        bench_die("connections or pipeline");
    write_requests(l, argv[2]);
    connect_all(l, argv[1]);
    run(l, atoll(argv[6]));
    printf("{\"requests\": %llu, \"refused\": %llu, \"per_second\": %.1f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"p999_us\": %.2f}\n",
           (unsigned long long)l->answered, (unsigned long long)l->refused,
           (double)l->answered * 1e9 / (double)(l->end_ns - l->begin_ns), quantile_us(l, 0.5), quantile_us(l, 0.99),
           quantile_us(l, 0.999));
    return 0;
}
