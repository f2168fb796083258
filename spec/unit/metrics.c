/* metrics.c -- the counters in /metrics and /admin/status: the sum over all event loops, every digit, and space for the
 * most namespaces with the longest names. */
#include "check.h"
#include "hand_clock.h"
#include "server/handlers/metrics.h"
#include "server/rights.h"
#include "server/monitor/feed.h"
#include "server/monitor/recent.h"
#include "tools.h"

#define LAYOUT "sign:1 time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z"
#define ASK(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static const struct vs_limits limits = {.connections_max = 16};
static struct vs_server server;
static struct vs_scratch scratch, other; /* of two event loops */
static struct vs_session session;
static char replies[VS_OUT_MAX];
static struct vs_out out = {.at = replies, .size = sizeof replies};

static void open_server(int namespaces) {
    char name[VESTA_NAMESPACE_MAX] = {0};
    memset(&scratch, 0, sizeof scratch);
    memset(&other, 0, sizeof other);
    server = (struct vs_server){.clock = &fake, .monitor.loop_count = 2, .ledger = ledger_new(&limits)};
    server.monitor.feed = vs_feed_new();
    if (!(server.monitor.recent = vs_recent_new())) abort();
    if (!vs_namespaces_make(&server.names, namespaces)) abort();
    memset(name, 'n', sizeof name - 1);
    for (int i = 0; i < namespaces; i++) {
        struct vesta_opts opts = {.size = sizeof opts,
                                  .layout = LAYOUT,
                                  .has_worker = 1,
                                  .worker = (uint64_t)i,
                                  .flags = VESTA_UNSAFE_PRIVATE,
                                  .clock = &fake};
        name[0] = (char)('A' + i % 26), name[1] = (char)('A' + i / 26);
        struct vs_namespace *ns = vs_namespace_add(&server.names, name);
        struct vesta_error err;
        if (vesta_open(&opts, &ns->gen[VS_RESP], &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
        ns->gen[VS_HTTP] = ns->gen[VS_RESP];
        ns->layout = vesta_gen_layout(ns->gen[VS_RESP]);
    }
    if (!vs_scratch_make(&scratch, server.names.count) || !vs_scratch_make(&other, server.names.count)) abort();
    server.monitor.counts[0] = scratch.counts, server.monitor.counts[1] = other.counts;
    session = (struct vs_session){.server = &server, .scratch = &scratch, .protocol = VS_HTTP};
}

static void close_server(void) {
    for (int i = 0; i < server.names.count; i++)
        vesta_close(server.names.at[i].gen[VS_RESP]);
    vs_feed_free(server.monitor.feed);
    vs_recent_free(server.monitor.recent);
    vs_namespaces_free(&server.names);
    vs_scratch_free(&scratch);
    vs_scratch_free(&other);
    ledger_free(server.ledger);
}

static const char *ask(const char *request) {
    out.used = 0;
    vs_http_step(&session, request, strlen(request), &out);
    replies[out.used] = '\0';
    return replies;
}

/* Checks for one line of /metrics, with the namespace's name. */
static void has_line(const char *family, const char *rest) {
    char line[256];
    snprintf(line, sizeof line, "\n%s{namespace=\"%s\"%s\n", family, server.names.at[0].name, rest);
    CHECK_HAS(replies, line);
}

static void counts_ids_and_pauses(void) {
    open_server(1);
    for (int i = 0; i < 5; i++)
        ask(ASK("/genid"));
    unix_now_us -= 3000000;
    ask(ASK("/genid"));
    unix_now_us += 3000000;
    ask(ASK("/v1/ids?n=0"));
    ask(ASK("/metrics"));
    has_line("vesta_ids_issued_total", ",proto=\"http\"} 4");
    has_line("vesta_ids_issued_total", ",proto=\"resp\"} 0");
    has_line("vesta_sequence_exhausted_total", "} 1");
    has_line("vesta_clock_backwards_total", "} 1");
    has_line("vesta_pauses_total", ",why=\"clock_back\"} 1");
    CHECK_HAS(replies, "\nvesta_requests_total{proto=\"http\",code=\"ok\"} 4\n");
    CHECK_HAS(replies, "\nvesta_requests_total{proto=\"http\",code=\"full\"} 1\n");
    CHECK_HAS(replies, "\nvesta_requests_total{proto=\"http\",code=\"clock_back\"} 1\n");
    CHECK_HAS(replies, "\nvesta_requests_total{proto=\"http\",code=\"bad_count\"} 1\n");
    close_server();
}

static void adds_up_exactly(void) {
    open_server(1);
    vs_add(&scratch.counts->ns[0].ids[VS_RESP], UINT64_C(9007199254740993)); /* 2^53 + 1 */
    vs_add(&other.counts->ns[0].ids[VS_RESP], 2);
    vs_add(&other.counts->accepted[VS_RESP], 7);
    vs_add(&scratch.counts->closed[VS_RESP], 3);
    ask(ASK("/metrics"));
    has_line("vesta_ids_issued_total", ",proto=\"resp\"} 9007199254740995");
    CHECK_HAS(replies, "\nvesta_connections{proto=\"resp\"} 4\n");
    close_server();
}

static void reports_durations(void) {
    open_server(1);
    vs_count_durations(scratch.counts, VS_RESP, 50, 3);
    vs_count_durations(other.counts, VS_RESP, 51, 1);
    vs_count_durations(other.counts, VS_RESP, 60000000, 2);
    ask(ASK("/metrics"));
    CHECK_HAS(replies, "_duration_seconds_bucket{proto=\"resp\",le=\"0.00005\"} 3\n");
    CHECK_HAS(replies, "_duration_seconds_bucket{proto=\"resp\",le=\"0.0001\"} 4\n");
    CHECK_HAS(replies, "_duration_seconds_bucket{proto=\"resp\",le=\"5.0\"} 4\n");
    CHECK_HAS(replies, "_duration_seconds_bucket{proto=\"resp\",le=\"+Inf\"} 6\n");
    CHECK_HAS(replies, "_duration_seconds_sum{proto=\"resp\"} 120.000201\n");
    CHECK_HAS(replies, "_duration_seconds_count{proto=\"resp\"} 6\n");
    close_server();
}

/* Namespaces after the first 64 are listed in sums, and by name. */
static void adds_up_the_others(void) {
    char path[128];
    open_server(VS_NAMESPACES_TOLD + 3);
    const struct vs_namespace *last = &server.names.at[server.names.count - 1];
    vs_add(&scratch.counts->ns[server.names.count - 1].ids[VS_RESP], 40);
    vs_add(&other.counts->ns[server.names.count - 2].ids[VS_RESP], 2);
    vs_namespace_seen(&server.names, &server.names.at[server.names.count - 2], true);
    ask(ASK("/metrics"));
    CHECK_HAS(replies, "\nvesta_namespaces 67\n");
    CHECK_HAS(replies, "\nvesta_namespaces_unready 2\n");
    CHECK_HAS(replies, "\nvesta_ids_issued_total{namespace=\"(other)\",proto=\"resp\"} 42\n");
    CHECK(!strstr(replies, last->name));
    ask(ASK("/readyz"));
    CHECK_HAS(replies, "HTTP/1.1 200 OK\r\n"); /* the other two became ready in the meantime */
    session.protocol = VS_ADMIN, session.local = true;
    ask(ASK("/admin/status"));
    CHECK_HAS(replies, "\"other_namespaces\":{\"count\":3,\"unready\":2,\"ids\":42,\"refused\":0}");
    CHECK(!strstr(replies, last->name));
    snprintf(path, sizeof path, "GET /admin/status?ns=%s HTTP/1.1\r\nHost: a\r\n\r\n", last->name);
    CHECK_HAS(ask(path), "\"resp\":40");
    CHECK_HAS(replies, last->name);
    close_server();
}

static void names_few_that_are_not_ready(void) {
    open_server(2 * VS_NAMESPACES_TOLD + 3);
    for (int i = 0; i < server.names.count; i++)
        vs_namespace_set(&server.names.at[i], i < 60 ? VS_NAMESPACE_OPEN : VS_NAMESPACE_OPENING, "its store is away");
    ask(ASK("/readyz"));
    CHECK_HAS(replies, "\"detail\":\"71 reasons\"");
    CHECK_HAS(replies, server.names.at[60 + VS_NAMESPACES_TOLD - 1].name);
    CHECK(!strstr(replies, server.names.at[60 + VS_NAMESPACES_TOLD].name));
    CHECK_HAS(replies, "],\"more_namespaces\":7}");
    close_server();
}

static void fill(void *counts, size_t size) {
    memset(counts, 0x7f, size); /* counts of 19 digits */
}

/* Adds as many clients as are listed by name, with the longest names. */
static void add_clients(void) {
    static char text[VS_COUNTED_MAX * 256];
    char name[VS_ACCOUNT_NAME_MAX] = {0};
    struct vs_accounts *accounts;
    size_t used = 0;
    memset(name, 'c', sizeof name - 1);
    server.gate = vs_gate_new();
    for (int i = 1; i < VS_COUNTED_MAX; i++) {
        name[0] = (char)('a' + i % 26), name[1] = (char)('a' + i / 26);
        used +=
            (size_t)sprintf(text + used, "%s names=* calls=read secret=random:2026-01-01T00:00:00Z:%064d\n", name, i);
        CHECK_EQ_I64(vs_gate_count_of(server.gate, name), i);
    }
    CHECK_EQ_I64(vs_accounts_parse(text, used, &accounts, NULL), VESTA_OK);
    vs_gate_set(server.gate, accounts);
}

static void has_room(void) {
    open_server(VS_NAMESPACES_TOLD + 3);
    add_clients();
    fill(scratch.counts, vs_counts_size(server.names.count));
    ask(ASK("/metrics"));
    CHECK_HAS(replies, "HTTP/1.1 200 OK\r\n");
    size_t longest = 0, lines = 0, of_client = 0;
    for (const char *at = strstr(replies, "\r\n\r\n") + 4, *end; (end = strchr(at, '\n')); at = end + 1) {
        bool of_last = strstr(at, server.names.at[VS_NAMESPACES_TOLD - 1].name) &&
                       strstr(at, server.names.at[VS_NAMESPACES_TOLD - 1].name) < end;
        lines += of_last;
        of_client += strstr(at, "client=\"bb") && strstr(at, "client=\"bb") < end;
        if (of_last && (size_t)(end - at) > longest) longest = (size_t)(end - at);
    }
    CHECK(lines >= 20 && longest > 100);
    CHECK_EQ_U64(of_client, VS_METRICS_LINES_PER_CLIENT);
    CHECK(out.used < VS_REPLY_MAX);
    access_grant_end(&session.grant);
    vs_gate_free(server.gate);
    close_server();
}

static void has_room_for_status(void) {
    open_server(VS_NAMESPACES_TOLD + 3);
    fill(scratch.counts, vs_counts_size(server.names.count));
    session.protocol = VS_ADMIN, session.local = true;
    ask(ASK("/admin/status"));
    CHECK_HAS(replies, "HTTP/1.1 200 OK\r\n");
    CHECK_HAS(replies, server.names.at[VS_NAMESPACES_TOLD - 1].name);
    CHECK(out.used > VS_NAMESPACES_TOLD * 300 && out.used < VS_REPLY_MAX);
    close_server();
}

/* A server may listen over TCP without a token if a service manager passed it the socket. */
static void wants_a_token(void) {
    open_server(1);
    session.protocol = VS_ADMIN;
    ask(ASK("/admin/status"));
    CHECK_HAS(replies, "HTTP/1.1 401 ");
    CHECK_HAS(replies, "VESTA_ADMIN_TOKEN");
    server.rules.admin_token = "";
    ask("GET /admin/status HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n\r\n");
    CHECK_HAS(replies, "HTTP/1.1 401 ");
    close_server();
}

/* ------------------------------------------------------------------ ready */

static void tell_stuck(void *self, struct vs_policies_status *status) {
    *status = (struct vs_policies_status){.stuck = *(bool *)self, .generation = 1, .reload_ok = true};
}

static void is_not_ready(const char *code) {
    char part[64];
    ask(ASK("/readyz"));
    CHECK_HAS(replies, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n");
    CHECK_HAS(replies, "\r\nRetry-After: 1\r\n");
    CHECK_HAS(replies, "\"code\":\"not_ready\",\"detail\":\"1 reason\",\"reasons\":[{");
    const char *reasons = strstr(replies, "reasons");
    snprintf(part, sizeof part, "\"code\":\"%s\",\"detail\":\"", code);
    CHECK_HAS(reasons ? reasons : "", part);
}

static void is_ready(void) {
    ask(ASK("/readyz"));
    CHECK_HAS(replies, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n");
    CHECK_HAS(replies, "\r\n\r\n{\"status\":\"ready\",\"warnings\":[");
}

static void reports_why_not_ready(void) {
    bool stuck = false;
    int64_t was_us = unix_now_us;
    open_server(1);
    server.above.policies = (struct vs_policies){.self = &stuck, .status = tell_stuck};
    server.names.at[0].wait_us_max = 100000;
    is_ready();
    ask(ASK("/genid")); /* the server remembers the clock's present time */
    unix_now_us -= 50000;
    is_ready(); /* requests may wait that long, so the server is ready */
    unix_now_us -= 3000000;
    is_not_ready("clock_back");
    CHECK_HAS(replies, server.names.at[0].name);
    unix_now_us = was_us;
    is_ready();
    stuck = true;
    is_not_ready("policy_stuck");
    stuck = false;
    session.draining = true;
    is_not_ready("draining");
    close_server();
    session.draining = false;
}

static void reports_the_end(void) {
    open_server(1);
    int64_t left_us = vesta_layout_end_ms(server.names.at[0].layout) * 1000 - unix_now_us;
    is_ready();
    pass_us(left_us);
    is_not_ready("epoch_end");
    pass_us(-left_us);
    close_server();
}

static const struct check_case cases[] = {
    {"ids, pauses and responses are counted under their names", counts_ids_and_pauses},
    {"the counts of all loops are added up, to the last digit", adds_up_exactly},
    {"namespaces after the first 64 are added up, and listed by name", adds_up_the_others},
    {"at most 64 namespaces that are not ready are named", names_few_that_are_not_ready},
    {"durations are reported in cumulative buckets, with sum and count", reports_durations},
    {"64 namespaces with names of 64 bytes and counts of 19 digits fit a response", has_room},
    {"/readyz reports which namespace is not ready and why, and all other reasons", reports_why_not_ready},
    {"/readyz reports the end of a layout's time", reports_the_end},
    {"the admin's status of 64 namespaces fits a response", has_room_for_status},
    {"over TCP the admin's routes need a token, even if none is configured", wants_a_token},
};

CHECK_MAIN(cases)
