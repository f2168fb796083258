/* calls.c -- calls every command and route of the table with hostile parameters: names of namespaces and of tags of
 * each order, numbers at their limits, tokens, or any bytes. The desk of the tags replies with anything, at once, later
 * or never. Each request must be answered or end its connection, and RESP replies must be well-formed. */
#include "../support/hand_clock.h"
#include "base/array.h"
#include "reply.h"
#include "server/commands.h"
#include "vesta_segment.h"

#include <unistd.h>

#define LAYOUT "sign:1 time:41 seq:6 worker:16 unit=1ms epoch=2020-01-01T00:00:00Z"
#define FORM "INV-{number:6}-{luhn}"
#define REQUEST_MAX 16384
#define STEPS_MAX 2000

static struct vs_server server;
static struct vs_scratch scratch;
static char replies[VS_OUT_MAX];

/* ------------------------------------------------------------------ choices of the fuzzer */

static const uint8_t *in, *end;

static unsigned dice(unsigned limit) {
    return in < end ? *in++ % limit : 0;
}

static uint64_t number(void) {
    static const uint64_t numbers[] = {0, 1, 2, 999999, 1000000, INT64_MAX - 1, INT64_MAX, UINT64_MAX};
    return numbers[dice(VS_COUNT(numbers))];
}

/* ------------------------------------------------------------------ the desk */

static struct vs_desk_job *pending; /* at most one, because there is one connection */

static void finish(struct vs_desk_job *job) {
    job->answer = (enum vs_desk_answer)dice(VS_DESK_UNKNOWN + 1);
    job->pause = (struct vesta_pause){.why = dice(2) ? VESTA_RANGE : VESTA_FAILSTOP, .wait_us = dice(2) ? 1000 : -1};
    job->numbers = (struct vesta_numbers){.first = number(), .count = job->count, .stride = 1 + dice(3)};
    if (job->ask == VS_DESK_RESERVE) job->number = number();
    job->held_until_ms = dice(2) ? INT64_MAX : 0;
    job->mark.id = number();
    job->mark.sorts = dice(2);
    job->mark.time_ms = (int64_t)number() >> 16;
    snprintf(job->text, sizeof job->text, "%s", dice(2) ? "" : "any 'words'\n of \"a\" database");
    vs_tags_let(job->tags);
    atomic_store(&job->is_done, true);
    vs_desk_job_let(job);
}

static bool take(struct vs_desk *self, struct vs_desk_job *job) {
    (void)self;
    switch (dice(4)) {
    case 0: return false;
    case 1:
        MUST(!pending);
        pending = job;
        return true;
    default: finish(job); return true;
    }
}

static void finish_pending(void) {
    if (pending) finish(pending);
    pending = NULL;
}

/* ------------------------------------------------------------------ the server */

static struct vs_desk desk = {.take = take};
static struct vs_form form;
static char store[64];

static struct vesta_segment *segment_of(const char *tag, enum vesta_order order) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_segment *seg;
    opts.stores[0] = store;
    opts.tag = tag;
    opts.order = order;
    opts.flags = VESTA_NO_KEEPER;
    opts.clock = &fake;
    MUST(vesta_segment_open(&opts, &seg, NULL) == VESTA_OK);
    return seg;
}

static void add_tags(void) {
    static const char *const names[] = {"dense", "form", "strict", "trend"};
    static const char *const stores[] = {"a"};
    struct vs_served_tag *tags[VS_COUNT(names)];
    snprintf(store, sizeof store, "file:/tmp/vesta-fuzz-calls-%d", (int)getpid());
    MUST(vs_form_parse(FORM, &form, NULL) == VESTA_OK);
    for (int i = 0; i < (int)VS_COUNT(names); i++) {
        MUST(tags[i] = vs_tag_new(names[i], 1));
        tags[i]->place = i;
        tags[i]->table = "leaf_alloc";
        tags[i]->stores = stores;
        tags[i]->wait_us_max = 20000;
        if (i < 3) tags[i]->desk = &desk;
        if (i == 1) tags[i]->form = &form;
        struct vesta_segment *seg = segment_of(names[i], i < 3 ? VESTA_STRICT : VESTA_TREND);
        *(i == 0 ? &tags[i]->memory : &tags[i]->seg) = seg;
    }
    MUST(vs_tags_replace(&server.tags, vs_tag_set_new(tags, VS_COUNT(names))) == NULL);
}

static void open_once(void) {
    if (server.names.count) return;
    MUST(vs_namespaces_make(&server.names, 1));
    struct vs_namespace *ns = vs_namespace_add(&server.names, "default");
    struct vesta_opts opts = {.size = sizeof opts,
                              .layout = LAYOUT,
                              .has_worker = 1,
                              .worker = 5,
                              .flags = VESTA_UNSAFE_PRIVATE,
                              .clock = &fake};
    MUST(vesta_open(&opts, &ns->gen[VS_RESP], NULL) == VESTA_OK);
    ns->gen[VS_HTTP] = ns->gen[VS_RESP];
    ns->layout = vesta_gen_layout(ns->gen[VS_RESP]);
    ns->wait_us_max = 20000;
    server.clock = &fake;
    server.rules.leaf_any_key = true;
    MUST(vs_scratch_make(&scratch, server.names.count));
    server.monitor.counts[0] = scratch.counts;
    server.monitor.loop_count = 1;
    server.marks = &desk;
    server.ledger = ledger_new(&(struct vs_limits){.connections_max = 16, .memory_max = 64 << 20});
    add_tags();
}

/* ------------------------------------------------------------------ a request */

static char request[REQUEST_MAX];
static size_t used;

static void put(const void *bytes, size_t length) {
    if (length > REQUEST_MAX - used) length = REQUEST_MAX - used;
    memcpy(request + used, bytes, length);
    used += length;
}

static void put_text(const char *text) {
    put(text, strlen(text));
}

static size_t value(char buf[300]) {
    static const char *const values[] = {"default",
                                         "dense",
                                         "strict",
                                         "form",
                                         "trend",
                                         "nobody",
                                         "",
                                         "0",
                                         "1",
                                         "-1",
                                         "+1",
                                         "1.0",
                                         "1e9",
                                         "2",
                                         "10000",
                                         "10001",
                                         "65536",
                                         "65537",
                                         "100000",
                                         "999",
                                         "1000",
                                         "604800000",
                                         "604800001",
                                         "9223372036854775806",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "00000000000000000000000000000000",
                                         "ffffffffffffffffffffffffffffffff",
                                         "0123456789abcdef0123456789ABCDEF",
                                         "json",
                                         "text",
                                         "time",
                                         "seq",
                                         "worker",
                                         "3",
                                         "2020-01-01T00:00:00Z",
                                         "*",
                                         "GET",
                                         "LIST",
                                         "KILL",
                                         "ID",
                                         "USER",
                                         "SETNAME",
                                         "AUTH",
                                         "yes",
                                         "'; --",
                                         "\r\n",
                                         "%00",
                                         "../x"};
    if (dice(4) > 0) return (size_t)snprintf(buf, 300, "%s", values[dice(VS_COUNT(values))]);
    size_t length = dice(4) ? dice(40) : dice(256);
    for (size_t i = 0; i < length; i++)
        buf[i] = (char)dice(256);
    return length;
}

static void put_resp(const struct vs_call *call) {
    char header[48], text[300];
    int most = call->args_max < 9 ? call->args_max + 2 : 9;
    int count = dice(8) ? call->args_min + (int)dice((unsigned)(most - call->args_min + 1)) : (int)dice(9);
    snprintf(header, sizeof header, "*%d\r\n$%zu\r\n%s\r\n", count + 1, strlen(call->name), call->name);
    put_text(header);
    for (int i = 0; i < count; i++) {
        size_t length = value(text);
        snprintf(header, sizeof header, "$%zu\r\n", length);
        put_text(header);
        put(text, length);
        put_text("\r\n");
    }
}

static void put_encoded(void) {
    char text[300], hex[4];
    size_t length = value(text);
    for (size_t i = 0; i < length; i++) {
        snprintf(hex, sizeof hex, "%%%02x", (unsigned char)text[i]);
        put_text(hex);
    }
}

static void put_params(const struct vs_call *call) {
    const char *at = call->params ? call->params : "ns";
    if (*at == '*') at = "time,seq,machine,version,worker";
    for (; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        if (dice(6) > 0) {
            put(at, length);
            put_text("=");
            put_encoded();
            put_text("&");
        }
        at += length;
    }
}

static void put_http(const struct vs_call *call) {
    static const char *const methods[] = {"GET", "POST", "HEAD", "OPTIONS", "DELETE"};
    put_text(methods[dice(4) ? (call->methods & VS_GET ? 0 : 1) : dice(VS_COUNT(methods))]);
    put_text(" ");
    put_text(call->route);
    if (call->route[strlen(call->route) - 1] == '/' && call->route[1]) put_encoded();
    put_text("?");
    put_params(call);
    put_text(" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
}

/* ------------------------------------------------------------------ its reply */

/* Returns whether the request was answered or the connection ended. */
static bool answer(enum vs_protocol protocol, size_t *length) {
    struct vs_session session = {.server = &server, .scratch = &scratch, .protocol = protocol, .id = 1, .local = true};
    bool is_resp = protocol == VS_RESP;
    size_t at = 0;
    int result = NET_PART;
    *length = 0;
    for (int steps = 0; steps < STEPS_MAX && (at < used || session.waiting.request); steps++) {
        struct vs_out out = {.at = replies, .size = sizeof replies};
        bool waited = session.waiting.request;
        result = waited ? (is_resp ? vs_resp_again : vs_http_again)(&session, &out)
                        : (is_resp ? vs_resp_step : vs_http_step)(&session, request + at, used - at, &out);
        *length += out.used;
        MUST(out.used <= VS_OUT_MAX);
        if ((result == NET_WAITS || result == NET_PART) && !waited) at += session.waiting.bytes;
        if (result == NET_WAITS) {
            pass_us(session.waiting.wait_us);
            if (dice(2)) finish_pending();
        } else if (result > 0 && !waited) {
            at += (size_t)result;
        } else if (result == NET_CLOSE || result == NET_MORE) {
            break;
        }
        if (is_resp && out.used > 0 && result != NET_PART) {
            bool resp3 = out.resp3;
            struct text text = {replies, replies + out.used};
            if (session.listing == NULL && *length == out.used && result != NET_CLOSE)
                read_resp(&text, &resp3, NULL, 0);
        }
    }
    vs_session_end(&session);
    finish_pending();
    return *length > 0 || result == NET_CLOSE || result == NET_MORE;
}

static const struct vs_call *pick_call(enum vs_protocol protocol) {
    const struct vs_call *call;
    int count = 0, at;
    while (vs_call_at(count))
        count++;
    for (at = (int)dice((unsigned)count);; at = (at + 1) % count) {
        call = vs_call_at(at);
        if (vs_call_is_at(call, protocol) && (protocol == VS_RESP ? call->name : call->route)) return call;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    open_once();
    in = data, end = data + size;
    for (int requests = 0; requests < 8 && in < end; requests++) {
        enum vs_protocol protocol = dice(2) ? VS_HTTP : VS_RESP;
        const struct vs_call *call = pick_call(protocol);
        size_t length;
        used = 0;
        (protocol == VS_RESP ? put_resp : put_http)(call);
        MUST(answer(protocol, &length));
        pass_us(1000);
    }
    return 0;
}
