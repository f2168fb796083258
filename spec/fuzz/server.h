/* server.h -- a server without sockets for fuzz targets: a private generator, one connection, and a buffer for
 * replies. */
#ifndef SPEC_FUZZ_SERVER_H
#define SPEC_FUZZ_SERVER_H

#include "fuzz.h"
#include "os/clock.h"
#include "server/commands.h"
#include "server/desk.h"

typedef int step(struct vs_session *, const char *, size_t, struct vs_out *);

static struct vs_server server;
static struct vs_scratch scratch;
static char replies[VS_OUT_MAX];

/* A desk that takes no job, because there is no thread for it. */
static bool take_none(struct vs_desk *desk, struct vs_desk_job *job) {
    (void)desk, (void)job;
    return false;
}
static struct vs_desk no_desk = {.take = take_none};

static void open_once(void) {
    static const char layout[] = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z";
    if (server.names.count) return;
    MUST(vs_namespaces_make(&server.names, 1));
    struct vs_namespace *ns = vs_namespace_add(&server.names, "default");
    MUST(vs_scratch_make(&scratch, server.names.count));
    struct vesta_opts opts = {
        .size = sizeof opts, .layout = layout, .has_worker = 1, .worker = 5, .flags = VESTA_UNSAFE_PRIVATE};
    MUST(vesta_open(&opts, &ns->gen[VS_RESP], NULL) == VESTA_OK);
    ns->gen[VS_HTTP] = ns->gen[VS_RESP];
    ns->layout = vesta_gen_layout(ns->gen[VS_RESP]);
    server.monitor.counts[0] = scratch.counts;
    server.monitor.loop_count = 1;
    server.clock = vs_clock_system();
    server.marks = &no_desk;
    server.ledger = ledger_new(&(struct vs_limits){.connections_max = 16, .memory_max = 64 << 20});
}

/* Answers a whole stream like the server does. Returns the number of bytes used, and the replies' length in *length. */
static size_t answer_all(enum vs_protocol protocol, step *step, const char *bytes, size_t size, size_t *length) {
    struct vs_session session = {.server = &server, .scratch = &scratch, .protocol = protocol};
    struct vs_out out = {.at = replies, .size = sizeof replies};
    size_t at = 0;
    *length = 0;
    while (at < size || session.waiting.request) {
        bool waited = session.waiting.request;
        int used = !waited               ? step(&session, bytes + at, size - at, &out)
                   : protocol == VS_RESP ? vs_resp_again(&session, &out)
                                         : vs_http_again(&session, &out);
        *length += out.used;
        MUST(out.used <= VS_REPLY_MAX);
        out.used = 0;
        if (used == NET_PART && !waited) at += session.waiting.bytes;
        if (used == NET_PART) continue;
        if (used <= 0) break;
        if (!waited) at += (size_t)used;
        MUST(at <= size);
    }
    vs_session_end(&session);
    return at;
}

#endif
