/* steps.h -- a server without sockets, controlled by a spec: bytes in, replies out, with a manual clock. */
#ifndef SPEC_STEPS_H
#define SPEC_STEPS_H

#include "base/array.h"
#include "check.h"
#include "hand_clock.h"
#include "server/commands.h"

#include <stdlib.h>

#define FOUR_A_MS "sign:1 time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z"
#define GET_ONE "*2\r\n$3\r\nGET\r\n$7\r\ndefault\r\n"
#define START_US INT64_C(1700000000000000)

static struct vs_server server;
static struct vs_scratch scratch;
static struct vs_session session;
static char replies[VS_OUT_MAX];
static struct vs_out out = {.at = replies, .size = sizeof replies};

/* Adds a namespace with the next worker id.  The first is called "default". */
static void add_namespace(const char *name, const char *layout, int64_t wait_ms, unsigned flags) {
    struct vs_namespace *ns = vs_namespace_add(&server.names, name);
    struct vesta_opts opts = {.size = sizeof opts, .layout = layout, .has_worker = 1, .flags = flags, .clock = &fake};
    struct vesta_error err = {0};
    opts.worker = 4 + (uint64_t)server.names.count;
    ns->wait_us_max = wait_ms * 1000;
    if (vesta_open(&opts, &ns->gen[VS_RESP], &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    ns->gen[VS_HTTP] = ns->gen[VS_RESP];
    ns->layout = vesta_gen_layout(ns->gen[VS_RESP]);
}

static const struct vs_limits limits = {.connections_max = 16, .memory_max = 4 << 20};

#define NAMESPACES_MAX 8

static bool make_scratch(void) {
    scratch = (struct vs_scratch){.loop = 0};
    return vs_scratch_make(&scratch, NAMESPACES_MAX);
}

static void open_server(const char *layout, enum vs_protocol protocol, int64_t wait_ms, unsigned flags) {
    unix_now_us = START_US;
    boot_now_us = INT64_C(1000000000);
    server = (struct vs_server){.clock = &fake, .ledger = ledger_new(&limits)};
    if (!vs_namespaces_make(&server.names, NAMESPACES_MAX) || !make_scratch()) abort();
    add_namespace("default", layout, wait_ms, flags);
    session = (struct vs_session){.server = &server, .scratch = &scratch, .protocol = protocol};
}

static void close_server(void) {
    vs_session_end(&session);
    for (int i = 0; i < server.names.count; i++)
        vesta_close(server.names.at[i].gen[VS_RESP]);
    ledger_free(server.ledger);
    vs_namespaces_free(&server.names);
    vs_scratch_free(&scratch);
}

/* Handles a waiting request as csrc/net does: it is resumed from its own copy, and its bytes are gone. */
static int step(const char *request) {
    bool is_resp = session.protocol == VS_RESP, waits = session.waiting.request;
    size_t length = strlen(request), bytes = session.waiting.bytes;
    out.used = 0;
    int rc = waits ? (is_resp ? vs_resp_again : vs_http_again)(&session, &out)
                   : (is_resp ? vs_resp_step : vs_http_step)(&session, request, length, &out);
    replies[out.used] = '\0';
    return waits && rc > 0 ? (int)bytes : rc;
}

__attribute__((unused)) static int count_bulks(void) {
    int count = 0;
    for (const char *at = replies; (at = strchr(at, '$')); at++)
        count++;
    return count;
}

/* A state folder of its own, which is removed at the end. */
#define CHECK_MAIN_OF_STEPS(cases)                                                                                     \
    int main(int argc, char **argv) {                                                                                  \
        char state[] = "/tmp/vesta-steps-XXXXXX", command[64];                                                         \
        if (!mkdtemp(state) || setenv("VESTA_STATE", state, 1) != 0) return 1;                                         \
        int rc = check_main((cases), VS_COUNT(cases), argc > 1 ? argv[1] : NULL);                                      \
        snprintf(command, sizeof command, "rm -rf %s", state);                                                         \
        return system(command) == 0 ? rc : 1;                                                                          \
    }

#endif
