/* serve.c -- implements the callbacks of the network layer (struct net_calls), sets limits of clients, and logs
 * rejected connections. */
#include "base/error.h"
#include "log/log.h"
#include "os/process.h"
#include "os/thread.h"
#include "server/monitor/feed.h"
#include "server/monitor/history.h"
#include "server/monitor/recent.h"
#include "server/clients/client.h"
#include "server/problem.h"
#include "server/resp/multi.h"
#include "server/rights.h"
#include "server/session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

_Static_assert(NET_KINDS == VS_PROTOCOLS && NET_LISTENERS_MAX == VS_LISTENERS_MAX && NET_THREADS_MAX == VS_THREADS_MAX,
               "net.h and server.h agree");

/* The state of one call of vs_serve. */
struct served {
    const struct vs_serve_opts *opts;
    struct vs_scratch *scratch[VS_THREADS_MAX];
    struct net_told told_turned[VS_PROTOCOLS], told_shed, told_rests; /* times of log lines (net_untold) */
    uint64_t told_address[VS_PROTOCOLS]; /* rejections by the limit per address when last logged */
};

static struct vs_server *server_of(const struct vs_scratch *scratch) {
    return scratch->opts->server;
}

/* ------------------------------------------------------------------ connections */

static void count_turned(struct vs_scratch *scratch, int kind, enum vs_turned why, const struct vs_peer *peer) {
    vs_add(&scratch->counts->turned[kind][why], 1);
    vs_roster_note(server_of(scratch), scratch->loop, VS_LAST_TURNED + kind, peer);
}

static bool session_admit(void *of, void *loop, int kind, const struct vs_peer *peer, bool is_proxied) {
    struct vs_session *s = of;
    struct vs_scratch *scratch = loop;
    enum vs_turned why = ledger_enter(server_of(scratch)->ledger, &s->entry, (enum vs_protocol)kind, peer, is_proxied);
    if (why == VS_LET_IN) return true;
    vs_add(&scratch->counts->accepted[kind], 1);
    count_turned(scratch, kind, why, peer);
    vs_add(&scratch->counts->closed[kind], 1);
    return false;
}

static bool session_rename(void *of, const struct vs_peer *peer) {
    struct vs_session *s = of;
    if (ledger_name(s->server->ledger, &s->entry, peer, s->scratch->now_us)) return true;
    count_turned(s->scratch, (int)s->protocol, VS_TURNED_ADDRESS, peer);
    return false;
}

static void session_begin(void *of, void *loop, const struct net_arrival *arrival) {
    struct vs_session *s = of;
    struct vs_scratch *scratch = loop;
    struct vs_server *server = server_of(scratch);
    s->conn = arrival->conn;
    s->server = server;
    s->scratch = scratch;
    s->protocol = (enum vs_protocol)arrival->kind;
    s->peer = arrival->peer;
    s->proxied = arrival->is_proxied;
    s->local = s->peer->family == 0 && !s->proxied;
    s->secure = arrival->is_secure;
    s->draining = scratch->draining;
    s->stranger_ms = (uint64_t)scratch->now_us / 1000;
    s->id =
        /* relaxed: only a serial number */
        atomic_fetch_add_explicit(&server->monitor.clients, 1, memory_order_relaxed) + 1;
    vs_rights_begin(s);
    vs_roster_enter(s, arrival->fd);
    vs_add(&scratch->counts->accepted[s->protocol], 1);
}

static void session_named(void *of) {
    vs_roster_move(of);
}

/* If there is no memory for the name, the handshake fails, because the client must not be treated as a client without a
 * certificate. */
static bool session_shaken(void *of, const char *name) {
    struct vs_session *s = of;
    char address[VS_PEER_TEXT_MAX];
    s->stranger_ms = (uint64_t)s->scratch->now_us / 1000;
    if (!name) return true;
    if (!(s->certified = strdup(name))) return false;
    vs_rights_forget(s); /* sets the client that the certificate names */
    if (s->grant.accounts && !s->grant.account)
        vs_log(VS_LOG_WARN,
               "a client's certificate names no account: the client needs a secret.  Add an account of that name, or "
               "check the certificate",
               "name", name, "address", vs_peer_text(s->peer, address), NULL);
    return true;
}

static const struct session_protocol {
    int (*step)(struct vs_session *, const char *, size_t, struct vs_out *);
    int (*again)(struct vs_session *, struct vs_out *);
} session_protocols[VS_PROTOCOLS] = {[VS_RESP] = {vs_resp_step, vs_resp_again},
                                     [VS_HTTP] = {vs_http_step, vs_http_again},
                                     [VS_ADMIN] = {vs_http_step, vs_http_again}};

/* Counts the requests of a step.  Their duration is counted at the end of the round.  Requests that waited arrived in
 * an earlier round, so their duration is counted here. */
static void session_count(struct vs_session *s, uint64_t came_ns) {
    struct vs_scratch *scratch = s->scratch;
    if (came_ns == 0)
        scratch->answered_now[s->protocol] += scratch->answered;
    else
        vs_count_durations(scratch->counts, s->protocol, (uint64_t)vs_monotonic_us() - came_ns / 1000, scratch->answered);
    scratch->answered = 0;
}

static int session_step(void *of, struct net_input *in, struct vs_out *out) {
    struct vs_session *s = of;
    const struct session_protocol *protocol = &session_protocols[s->protocol];
    s->scratch->began_ns = in->came_ns ? in->came_ns : (uint64_t)s->scratch->now_us * 1000;
    int used = in->is_pending ? protocol->again(s, out) : protocol->step(s, in->bytes, in->length, out);
    in->used = s->waiting.bytes;
    in->streams = s->viewer != NULL;
    if (s->scratch->answered > 0) session_count(s, in->came_ns);
    return used;
}

static void session_wait(void *of) {
    vs_waiters_enter(of);
}

static void session_unwait(void *of) {
    vs_waiters_leave(of);
}

static void session_half_closed(void *of) {
    struct vs_session *s = of;
    if (s->waiting.job) atomic_store(&s->waiting.job->is_half_closed, true);
}

/* Returns whether the connection must be closed because its client has not authenticated within auth_ms. */
static bool has_said_no_password(struct vs_session *s, uint64_t now_ms) {
    bool stranger = vs_session_is_stranger(s);
    if (!stranger || s->stranger_ms == 0) s->stranger_ms = stranger ? now_ms : 0;
    return stranger && now_ms - s->stranger_ms >= s->scratch->opts->auth_ms;
}

static bool session_look(void *of, uint64_t now_ms, struct vs_out *out) {
    struct vs_session *s = of;
    if (has_said_no_password(s, now_ms) || (s->viewer && !vs_rights_watches(s))) return false;
    if (out) vs_feed_put(s->server->monitor.feed, s->server, s->viewer, out);
    return true;
}

void vs_session_end(struct vs_session *s) {
    vs_roster_leave(s);
    vs_request_forget(s);
    vs_multi_end(s);
    vs_listing_end(s);
    access_grant_end(&s->grant);
    if (s->viewer) vs_feed_leave(s->server->monitor.feed, s->viewer);
    s->viewer = NULL;
}

static void session_end(void *of) {
    vs_session_end(of);
}

static void session_leave(void *of) {
    struct vs_session *s = of;
    assert(s->entry.bytes == 0);
    free((char *)s->certified);
    vs_add(&s->scratch->counts->closed[s->protocol], 1);
    ledger_leave(s->server->ledger, &s->entry, s->scratch->now_us);
}

static bool session_take(void *of, size_t bytes) {
    return vs_session_take(of, bytes);
}

static void session_give(void *of, size_t bytes) {
    vs_session_give(of, bytes);
}

static bool session_is_short(void *of) {
    struct vs_session *s = of;
    return s->entry.bytes > 0 && ledger_is_short(s->server->ledger, &s->entry);
}

static void session_shed(void *loop, int kind, const struct vs_peer *peer) {
    struct vs_scratch *scratch = loop;
    vs_add(&scratch->counts->shed[kind], 1);
    if (peer) vs_roster_note(server_of(scratch), scratch->loop, VS_LAST_SHED, peer);
}

static int session_unfinished(void *of, int change) {
    struct vs_session *s = of;
    return ledger_shake(&s->entry, change);
}

static struct ledger_memory *shaking(struct vs_scratch *scratch, bool is_first) {
    return is_first ? NULL : &scratch->shaking;
}

static bool session_take_shake(void *loop, bool is_first, size_t bytes) {
    struct vs_scratch *scratch = loop;
    return ledger_hold_apart(server_of(scratch)->ledger, shaking(scratch, is_first), bytes);
}

static void session_give_shake(void *loop, bool is_first, size_t bytes) {
    struct vs_scratch *scratch = loop;
    ledger_release_apart(server_of(scratch)->ledger, shaking(scratch, is_first), bytes);
}

/* ------------------------------------------------------------------ the last reply */

/* The last reply to a connection that the network layer closes.  `resp` is a RESP error without line end, or NULL if
 * there is no reply.  `text` is the HTTP body, or NULL. */
static const struct refusal {
    const char *resp, *status, *text;
    const char *code; /* error code under which the request is counted */
    bool again;       /* the reply has Retry-After */
} refusals[] = {
    [NET_FULL] = {.resp = "ERR max number of clients reached", .status = "503 Service Unavailable", .again = true},
    [NET_SHED] = {.resp = "OOM the memory for clients is used up: read your replies, or try again later",
                  .status = "503 Service Unavailable",
                  .code = "overloaded",
                  .again = true},
    [NET_SLOW] = {.status = "408 Request Timeout", .code = "too_slow"},
    [NET_SPOKEN] = {.resp = "ERR this address speaks TLS: use rediss://, or redis-cli --tls",
                    .status = "400 Bad Request",
                    .text = "this address speaks TLS: use https://"},
    [NET_UNSPOKEN] = {.resp = "ERR Protocol error: this address speaks no TLS", .status = "400 Bad Request"},
#define HEADER(what, why) [NET_HEADER + NET_PROXY_##what] = {.resp = "ERR " why, .status = "400 Bad Request", .text = why}
    HEADER(MISSING, "this address is listed in proxies, so the connection must begin with a PROXY header"),
    HEADER(V1, "a PROXY header must have version 2: use send-proxy-v2"),
    HEADER(BROKEN, "the PROXY header is malformed"),
    HEADER(LATE, "the PROXY header did not arrive in time"),
    HEADER(UNLISTED, "a PROXY header is only accepted from addresses listed in proxies"),
#undef HEADER
};

static void session_refuse(void *of, int kind, enum net_refusal why, int detail, struct vs_out *out) {
    const struct refusal *refusal = &refusals[(int)why + detail];
    struct vs_session *s = of;
    if (s && refusal->code) vs_add(&s->scratch->counts->requests[kind][vs_code_named(refusal->code)], 1);
    if (kind != VS_RESP)
        vs_http_goodbye(out, refusal->status, refusal->text, refusal->again);
    else if (refusal->resp)
        vs_put(out, "-", 1), vs_put_text(out, refusal->resp), vs_put(out, "\r\n", 2);
}

/* ------------------------------------------------------------------ the log */

static uint64_t serve_turned(const struct vs_server *server, enum vs_protocol protocol, enum vs_turned why) {
    return vs_total(&server->monitor, &server->monitor.counts[0]->turned[protocol][why]);
}

/* Returns the address of the last client for an event VS_LAST_..., or NULL. */
static const char *last_address(struct served *served, int what, char buf[VS_PEER_TEXT_MAX]) {
    struct vs_peer peer = {.family = 0};
    return vs_roster_last(served->opts->server, what, &peer) ? vs_peer_host(&peer, buf) : NULL;
}

/* Each protocol has its own sentence, because the log drops a sentence that repeats within a second. */
static void tell_turned(struct served *served, enum vs_protocol protocol, uint64_t now_ms) {
    char last[VS_PEER_TEXT_MAX];
    static const char *const sentences[VS_PROTOCOLS] = {
        [VS_RESP] = "clients of the Redis protocol were rejected: too many connections",
        [VS_HTTP] = "HTTP clients were rejected: too many connections",
        [VS_ADMIN] = "clients of the admin routes were rejected: too many connections"};
    const struct vs_server *server = served->opts->server;
    const struct vs_limits *limits = ledger_limits(server->ledger);
    uint64_t address = serve_turned(server, protocol, VS_TURNED_ADDRESS), proto = serve_turned(server, protocol, VS_TURNED_PROTO),
             all = serve_turned(server, protocol, VS_TURNED_TOTAL), *was = &served->told_address[protocol],
             more = net_untold(&served->told_turned[protocol], address + proto + all, now_ms);
    if (more == 0) return;
    vs_log(VS_LOG_WARN, sentences[protocol], "turned_away", VS_DIGITS((int64_t)more), "of_one_address",
           VS_DIGITS((int64_t)(address - *was)), "limit_of_one_address", VS_DIGITS(limits->of_address[protocol]),
           "connections", VS_DIGITS(ledger_open(server->ledger, protocol)), "limit",
           VS_DIGITS(limits->proto_max[protocol]), "limit_over_tcp", VS_DIGITS(limits->tcp_max[protocol]),
           "limit_of_all", VS_DIGITS(limits->connections_max), "last_address",
           last_address(served, VS_LAST_TURNED + (int)protocol, last), NULL);
    *was = address;
}

static uint64_t total_shed(const struct vs_server *server) {
    uint64_t sum = 0;
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        sum += vs_total(&server->monitor, &server->monitor.counts[0]->shed[protocol]);
    return sum;
}

static void tell_full(struct served *served, uint64_t now_ms) {
    const struct vs_server *server = served->opts->server;
    char last[VS_PEER_TEXT_MAX];
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        tell_turned(served, (enum vs_protocol)protocol, now_ms);
    uint64_t shed = net_untold(&served->told_shed, total_shed(server), now_ms);
    if (shed)
        vs_log(VS_LOG_WARN, "connections were closed, because clients held too much memory", "closed",
               VS_DIGITS((int64_t)shed),
               "memory_mib", VS_DIGITS(ledger_limits(server->ledger)->memory_max >> 20), "last_address",
               last_address(served, VS_LAST_SHED, last), NULL);
    uint64_t rests =
        net_untold(&served->told_rests, vs_total(&server->monitor, &server->monitor.counts[0]->net.rests), now_ms);
    if (rests)
        vs_log(VS_LOG_WARN, "new connections had to wait, because the process or machine has no free file descriptors",
               "rests", VS_DIGITS((int64_t)rests), NULL);
}

/* ------------------------------------------------------------------ loops */

/* Updates the Date header.  It is called twice a second, so that requests need not read the clock. */
static void tell_time(struct vs_scratch *scratch) {
    const struct vesta_clock *clock = server_of(scratch)->clock;
    vs_http_tick(&scratch->http, clock->unix_us(clock->self) / 1000000);
}

static bool served_loop(void *self, int index, struct net_loop *loop, struct net_upper *upper) {
    struct served *served = self;
    struct vs_server *server = served->opts->server;
    struct vs_scratch *scratch = calloc(1, sizeof *scratch);
    if (!scratch) return false;
    served->scratch[index] = scratch;
    if (!vs_scratch_make(scratch, server->names.count)) return false;
    scratch->served = served;
    scratch->opts = served->opts;
    scratch->net = loop;
    scratch->loop = index;
    scratch->shaking.divisor = served->opts->threads; /* each loop may use an equal share of the handshake memory */
    tell_time(scratch);
    server->monitor.counts[index] = scratch->counts;
    server->monitor.loop_count = index + 1;
    *upper = (struct net_upper){scratch, &scratch->quantum, &scratch->now_us, &scratch->counts->net};
    return true;
}

static void served_replied(void *loop, uint64_t us) {
    struct vs_scratch *scratch = loop;
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++) {
        if (scratch->answered_now[protocol] == 0) continue;
        vs_count_durations(scratch->counts, (enum vs_protocol)protocol, us, scratch->answered_now[protocol]);
        scratch->answered_now[protocol] = 0;
    }
}

static void served_retry(void *loop) {
    vs_waiters_retry(loop);
}

static void end_if_asked(void *of, struct net_conn *conn) {
    struct vs_session *s = of;
    if (atomic_load(&s->member.is_to_end)) net_end(conn);
}

static void served_woken(void *loop) {
    struct vs_scratch *scratch = loop;
    if (vs_roster_is_to_end(server_of(scratch)->monitor.roster, scratch->loop)) net_each(scratch->net, end_if_asked);
    vs_waiters_retry_all(scratch);
}

static void served_sweep(void *loop, uint64_t now_ms) {
    struct vs_scratch *scratch = loop;
    struct vs_server *server = server_of(scratch);
    tell_time(scratch);
    if (scratch->loop != 0) return;
    vs_history_look(server->monitor.history, server);
    vs_recent_look(server->monitor.recent, server);
    tell_full(scratch->served, now_ms);
}

static void begin_draining(void *of, struct net_conn *conn) {
    struct vs_session *s = of;
    (void)conn;
    s->draining = true;
}

static void served_drain(void *loop) {
    struct vs_scratch *scratch = loop;
    scratch->draining = true;
    net_each(scratch->net, begin_draining);
}

static const struct net_calls served_calls = {
    .loop = served_loop,
    .replied = served_replied,
    .retry = served_retry,
    .woken = served_woken,
    .sweep = served_sweep,
    .drain = served_drain,
    .admit = session_admit,
    .rename = session_rename,
    .begin = session_begin,
    .named = session_named,
    .shaken = session_shaken,
    .step = session_step,
    .wait = session_wait,
    .unwait = session_unwait,
    .half_closed = session_half_closed,
    .look = session_look,
    .end = session_end,
    .leave = session_leave,
    .take = session_take,
    .give = session_give,
    .is_short = session_is_short,
    .shed = session_shed,
    .unfinished = session_unfinished,
    .take_shake = session_take_shake,
    .give_shake = session_give_shake,
    .refuse = session_refuse};

/* ------------------------------------------------------------------ starting */

static void tell_limits(const struct vs_limits *l) {
    static const char few[] =
        "the limit of file descriptors allows fewer connections than configured: " VS_RAISE_DESCRIPTORS
        " or lower connections_max";
    vs_log(VS_LOG_INFO, "client limits", "connections", VS_DIGITS(l->connections_max), "http",
           VS_DIGITS(l->proto_max[VS_HTTP]), "resp", VS_DIGITS(l->proto_max[VS_RESP]), "admin",
           VS_DIGITS(l->proto_max[VS_ADMIN]), "http_of_one_address", VS_DIGITS(l->of_address[VS_HTTP]),
           "resp_of_one_address", VS_DIGITS(l->of_address[VS_RESP]), "memory_mib", VS_DIGITS(l->memory_max >> 20),
           "descriptors", VS_DIGITS(l->descriptors), "reserved", VS_DIGITS(l->reserved), "tags",
           VS_DIGITS(l->tags.listed + l->tags.found_max), NULL);
    if (l->cut_from)
        vs_log(VS_LOG_WARN, few, "configured", VS_DIGITS(l->cut_from), "connections", VS_DIGITS(l->connections_max),
               NULL);
}

static bool is_unix(int fd) {
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &length) == 0 && address.ss_family == AF_UNIX;
}

/* Adapts the configured limits to those of the process, and creates the ledger. */
static int make_ledger(const struct vs_serve_opts *opts, struct vesta_error *err) {
    struct vs_limits limits = opts->limits;
    struct vs_process_usage usage = {.open_fds = 32};
    vs_process_measure(&usage);
    struct vs_limits_plan plan = {.open = (int)usage.open_fds,
                           .threads = opts->threads,
                           .namespaces = opts->server->names.count,
                           .keepers = opts->keepers};
    for (int i = 0; i < opts->listener_count; i++) {
        plan.listeners[opts->listener[i].protocol]++;
        plan.unix_listeners[opts->listener[i].protocol] += is_unix(opts->listener[i].fd);
    }
    int rc = vs_limits_fit(&limits, &plan, err);
    if (rc != VESTA_OK) return rc;
    struct vs_accounts *accounts = opts->server->gate ? vs_gate_hold(opts->server->gate) : NULL;
    opts->server->ledger = ledger_new(&limits);
    if (opts->server->ledger && accounts) ledger_set(opts->server->ledger, accounts, vs_monotonic_us());
    vs_accounts_let(accounts);
    if (!opts->server->ledger)
        return vs_fail(err, VESTA_ENOMEM, "there is no memory for %d connections, or the kernel returned no random bytes: reduce connections_max, or "
                       "permit getrandom",
                       limits.connections_max);
    tell_limits(&limits);
    return VESTA_OK;
}

static void free_monitor(struct vs_server *server) {
    vs_feed_free(server->monitor.feed);
    vs_history_free(server->monitor.history);
    vs_recent_free(server->monitor.recent);
    vs_roster_free(server->monitor.roster);
    server->monitor.feed = NULL;
    server->monitor.history = NULL;
    server->monitor.recent = NULL;
    server->monitor.roster = NULL;
}

static int make_monitor(struct vs_server *server, int loops, struct vesta_error *err) {
    server->monitor.feed = vs_feed_new();
    server->monitor.history = vs_history_new(server->names.count);
    server->monitor.recent = vs_recent_new();
    server->monitor.roster = vs_roster_new(loops);
    return server->monitor.feed && server->monitor.history && server->monitor.recent &&
                   server->monitor.roster
               ? VESTA_OK
               : vs_fail(err, VESTA_ENOMEM, "no memory for the admin page's history");
}

void vs_serve_hold_signals(void) {
    net_hold_signals();
}

void vs_serve_wake(struct vs_server *server) {
    net_wake(&server->net);
}

void vs_serve_stop(struct vs_server *server) {
    net_stop(&server->net);
}

bool vs_serve_passed(struct vs_server *server, int64_t since_us) {
    return net_passed(&server->net, since_us);
}

bool vs_serve_alive(struct vs_server *server, int64_t within_ms) {
    return net_alive(&server->net, within_ms);
}

int vs_serve(const struct vs_serve_opts *opts, struct vesta_error *err) {
    struct vs_server *server = opts->server;
    struct served served = {.opts = opts};
    struct net_opts net = {.calls = &served_calls,
                           .self = &served,
                           .listener_count = opts->listener_count,
                           .threads = opts->threads,
                           .proxy = opts->proxy,
                           .proxy_count = opts->proxy_count,
                           .kind_name = vs_protocol_name,
                           .urgent_kind = VS_ADMIN,
                           .alpn = {[VS_HTTP] = "http/1.1", [VS_ADMIN] = "http/1.1"},
                           .of_size = sizeof(struct vs_session),
                           .reply_max = VS_REPLY_MAX,
                           .out_max = VS_OUT_MAX,
                           .tls = opts->tls,
                           .tls_server = opts->tls_server,
                           .ready = opts->ready,
                           .on_signal = opts->on_signal,
                           .stopping = opts->stopping,
                           .of_signals = opts->self};
    for (int i = 0; i < opts->listener_count; i++) {
        const struct vs_listener *from = &opts->listener[i];
        net.listener[i] = (struct net_listener){from->fd, (int)from->protocol, from->handed, from->is_secure};
    }
    memcpy(net.idle_ms, server->rules.idle_ms, sizeof net.idle_ms);
    int rc = make_ledger(opts, err);
    if (rc == VESTA_OK) rc = make_monitor(server, opts->threads, err);
    if (rc == VESTA_OK) rc = net_serve(&net, &server->net, err);
    server->monitor.loop_count = 0;
    free_monitor(server);
    for (int i = 0; i < opts->threads; i++) {
        if (served.scratch[i]) vs_scratch_free(served.scratch[i]);
        free(served.scratch[i]);
    }
    return rc;
}
