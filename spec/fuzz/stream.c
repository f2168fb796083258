/* stream.c -- sends sequences of valid requests, built from the fuzzer's bytes and cut anywhere. Every command must
 * have one well-formed reply, a transaction must be complete, and no id may repeat. Garbage may follow at the end.
 *
 * The target has its own clock, which moves while a request waits. So sequences are exhausted, and some requests reach
 * their deadline. */
#include "../support/hand_clock.h"
#include "base/array.h"
#include "reply.h"
#include "server/commands.h"

#define LAYOUT "sign:1 time:41 seq:6 worker:16 unit=1ms epoch=2020-01-01T00:00:00Z"
#define SPACES 2
#define STREAM_MAX 16384
#define COMMAND_BYTES_MAX 1024
#define COMMANDS_MAX 256
#define GRANTS_MAX 400000

/* ------------------------------------------------------------------ the server */

static struct vs_server server;
static struct vs_scratch scratch;
static char replies[VS_OUT_MAX];

static void open_once(void) {
    static const char *const names[SPACES] = {"default", "orders"};
    if (!server.names.at) MUST(vs_namespaces_make(&server.names, SPACES));
    while (server.names.count < SPACES) {
        struct vs_namespace *ns = vs_namespace_add(&server.names, names[server.names.count]);
        struct vesta_opts opts = {
            .size = sizeof opts, .layout = LAYOUT, .has_worker = 1, .flags = VESTA_UNSAFE_PRIVATE, .clock = &fake};
        opts.worker = (uint64_t)server.names.count;
        MUST(vesta_open(&opts, &ns->gen[VS_RESP], NULL) == VESTA_OK);
        ns->gen[VS_HTTP] = ns->gen[VS_RESP];
        ns->layout = vesta_gen_layout(ns->gen[VS_RESP]);
        ns->wait_us_max = 20000;
    }
    server.clock = &fake;
    if (!scratch.queue) MUST(vs_scratch_make(&scratch, server.names.count));
    if (!server.ledger) server.ledger = ledger_new(&(struct vs_limits){.connections_max = 16, .memory_max = 64 << 20});
}

/* ------------------------------------------------------------------ requests */

struct run {
    const uint8_t *in, *end;
    char stream[STREAM_MAX];
    size_t used;
    struct {
        bool gives; /* replies with ids, and nothing else that looks like one */
        bool block, no_body;
    } command[COMMANDS_MAX];
    int count;
    bool in_multi, multi_gives; /* the reply to EXEC has ids, and nothing else that looks like one */
    bool wild;                  /* garbage was sent, so the number of replies is unknown */
};
static struct run run;

static unsigned dice(unsigned limit) {
    return run.in < run.end ? *run.in++ % limit : 0;
}

static void put(const char *text) {
    size_t length = strlen(text);
    MUST(length <= STREAM_MAX - run.used);
    memcpy(run.stream + run.used, text, length);
    run.used += length;
}

static void expect(bool gives) {
    run.command[run.count].gives = gives;
    run.command[run.count].block = run.command[run.count].no_body = false;
    run.count++;
}

static const char *pick_name(void) {
    static const char *const names[] = {"default", "orders", "nowhere", "default"};
    return names[dice(4)];
}

/* Sends the words of `line` as an array, or inline. */
static void put_command(const char *line) {
    char header[32];
    if (dice(3) == 0) {
        put(line);
        put(dice(2) ? "\r\n" : "\n");
        return;
    }
    int words = 1;
    for (const char *p = line; *p; p++)
        words += *p == ' ';
    snprintf(header, sizeof header, "*%d\r\n", words);
    put(header);
    for (const char *from = line; *from;) {
        size_t length = strcspn(from, " ");
        char word[64];
        snprintf(word, sizeof word, "$%zu\r\n%.*s\r\n", length, (int)length, from);
        put(word);
        from += length + (from[length] == ' ');
    }
}

static void put_giving(void) {
    char line[1024];
    int used;
    switch (dice(4)) {
    case 0:
    case 1: snprintf(line, sizeof line, "GET %s", pick_name()); break;
    case 2:
        used = snprintf(line, sizeof line, "MGET %s", pick_name());
        for (unsigned more = dice(12); more > 0; more--)
            used += snprintf(line + used, sizeof line - (size_t)used, " %s", pick_name());
        break;
    default: snprintf(line, sizeof line, "VESTA.NEXT %s %u", pick_name(), dice(2) ? dice(256) : 60 * dice(256)); break;
    }
    put_command(line);
    expect(true);
}

/* Sends commands whose replies contain digits, but no new ids. */
static void put_telling(void) {
    static const char *const lines[] = {"PING",
                                        "PING hello",
                                        "ECHO hello",
                                        "INFO",
                                        "INFO stats",
                                        "COMMAND",
                                        "COMMAND DOCS",
                                        "COMMAND INFO a",
                                        "COMMAND COUNT",
                                        "COMMAND x",
                                        "VESTA.INFO",
                                        "VESTA.LAYOUTS",
                                        "TIME",
                                        "DBSIZE",
                                        "CLIENT GETNAME",
                                        "CLIENT LIST",
                                        "CLIENT SETNAME me",
                                        "CLIENT x",
                                        "SELECT 1",
                                        "SELECT 99",
                                        "CONFIG GET x",
                                        "WAIT 0 0",
                                        "WATCH a",
                                        "UNWATCH",
                                        "INCR default",
                                        "INCRBY nowhere 1",
                                        "NOSUCH",
                                        "SET a b",
                                        "SUBSCRIBE a",
                                        "GET",
                                        "VESTA.EXPLAIN 4398046511109",
                                        "VESTA.EXPLAIN x",
                                        "VESTA.MAKE default time 1 seq 2",
                                        "VESTA.MAKE default time",
                                        "READONLY",
                                        "AUTH",
                                        "ECHO",
                                        "EXEC now"};
    const char *line = lines[dice(VS_COUNT(lines))];
    put_command(line);
    expect(false);
    /* Numbers in their replies look like ids, for example the microseconds of INFO. */
    run.multi_gives &= strncmp(line, "VESTA.", 6) != 0 && strncmp(line, "INFO", 4) != 0;
    if (strcmp(line, "EXEC now") == 0) run.in_multi = false;
}

static void put_changing(void) {
    static const char *const lines[] = {"HELLO 2",
                                        "HELLO 3",
                                        "HELLO 9",
                                        "HELLO 3 AUTH default secret SETNAME me",
                                        "RESET",
                                        "AUTH secret",
                                        "AUTH default secret",
                                        "AUTH wrong",
                                        "QUIT"};
    const char *line = lines[dice(VS_COUNT(lines))];
    put_command(line);
    expect(false);
    if (strcmp(line, "RESET") == 0) run.in_multi = false;
}

static void put_transaction(void) {
    switch (dice(3)) {
    case 0:
        put_command("MULTI");
        expect(false);
        if (!run.in_multi) run.multi_gives = true;
        run.in_multi = true;
        break;
    case 1:
        put_command("EXEC");
        expect(run.in_multi && run.multi_gives);
        run.in_multi = false;
        break;
    default:
        put_command("DISCARD");
        expect(false);
        run.in_multi = false;
    }
}

static void put_block(void) {
    char line[64];
    snprintf(line, sizeof line, "VESTA.BLOCK %s %u", pick_name(), 1 + 400 * dice(256));
    put_command(line);
    expect(false);
    run.command[run.count - 1].block = true;
}

static void put_resp(void) {
    switch (dice(16)) {
    case 0:
    case 1:
    case 2: put_telling(); break;
    case 3: put_changing(); break;
    case 4:
    case 5:
    case 6: put_transaction(); break;
    case 7: put_block(); break;
    case 8: put(dice(2) ? "\r\n" : "*0\r\n"); break;
    default: put_giving();
    }
}

static void put_http(void) {
    static const char *const paths[] = {"/genid",
                                        "/v1/ids",
                                        "/v1/ids?n=%u",
                                        "/v1/ids?ns=orders&n=%u",
                                        "/v1/ids?n=0",
                                        "/v1/ids?n=%u&format=text",
                                        "/v1/ids?ns=nowhere",
                                        "/expid?id=%u",
                                        "/nosuch",
                                        "/transtime?time=%u",
                                        "/makeid?time=%u&seq=1",
                                        "/healthz",
                                        "/v1/ids/%u"};
    static const char *const methods[] = {"GET", "GET", "GET", "POST", "HEAD", "DELETE"};
    char path[64], head[256];
    unsigned which = dice(VS_COUNT(paths)), method = dice(VS_COUNT(methods)), body = method == 3 ? dice(40) : 0;
    snprintf(path, sizeof path, paths[which], 40 * dice(256));
    snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %u\r\n%s\r\n%.*s", methods[method], path,
             body, dice(30) == 29 ? "Connection: close\r\n" : "", (int)body,
             "0123456789012345678901234567890123456789");
    put(head);
    expect(which <= 6);
    run.command[run.count - 1].no_body = method == 4;
}

static void build(enum vs_protocol protocol) {
    run.used = 0, run.count = 0, run.in_multi = run.multi_gives = run.wild = false;
    while (run.in < run.end && run.count < COMMANDS_MAX && run.used < STREAM_MAX - COMMAND_BYTES_MAX) {
        if (dice(64) == 63) {
            run.wild = true;
            for (unsigned left = dice(64); left > 0 && run.used < STREAM_MAX; left--)
                run.stream[run.used++] = (char)dice(256);
        }
        (protocol == VS_RESP ? put_resp : put_http)();
    }
}

/* ------------------------------------------------------------------ replies */

static char none[1], *answers = none;
static size_t answered, room;

static void keep_answer(const struct vs_out *out) {
    MUST(out->used <= VS_OUT_MAX);
    if (room - answered < out->used) {
        room = 2 * (answered + out->used);
        answers = realloc(answers == none ? NULL : answers, room);
        MUST(answers);
    }
    if (out->used) memcpy(answers + answered, out->at, out->used);
    answered += out->used;
}

/* Does one step like the server, on a copy of exactly the available bytes. Returns false if they hold no further
 * complete request. */
static bool one_step(struct vs_session *session, size_t *at, size_t have, bool *closed) {
    struct vs_out out = {.at = replies, .size = sizeof replies};
    bool is_resp = session->protocol == VS_RESP, waited = session->waiting.request;
    char *bytes = text_of((const uint8_t *)run.stream + *at, have - *at);
    int used = waited ? (is_resp ? vs_resp_again : vs_http_again)(session, &out)
                      : (is_resp ? vs_resp_step : vs_http_step)(session, bytes, have - *at, &out);
    free(bytes);
    keep_answer(&out);
    MUST(waited || used <= (int)(have - *at));
    if (used == NET_WAITS) {
        MUST(out.used == 0 && session->waiting.request && session->waiting.wait_us > 0);
        if (!waited) *at += session->waiting.bytes;
        pass_us(session->waiting.wait_us);
    }
    if (used == NET_PART) {
        MUST(out.used > 0 && session->waiting.request);
        if (!waited) *at += session->waiting.bytes;
    }
    if (used > 0 && !waited) *at += (size_t)used;
    *closed = used == NET_CLOSE;
    return used != NET_MORE && !*closed;
}

/* Returns whether the server ended the connection. */
static bool answer(enum vs_protocol protocol, unsigned piece) {
    struct vs_session session = {.server = &server, .scratch = &scratch, .protocol = protocol, .id = 1};
    size_t at = 0, have = 0;
    bool closed = false;
    answered = 0;
    while (have < run.used && !closed) {
        have = run.used - have > piece ? have + piece : run.used;
        while ((at < have || session.waiting.request) && one_step(&session, &at, have, &closed))
            ;
    }
    MUST(closed || run.wild || at == run.used);
    vs_session_end(&session);
    return closed;
}

/* ------------------------------------------------------------------ checks */

/* Issued ids: ticks [first, first + count) of a worker id. */
static struct grant { uint64_t worker, first, count; } grants[GRANTS_MAX];
static size_t grant_count;
static uint64_t given[SPACES + 1]; /* the end of the ticks issued by earlier runs */

static void collect(uint64_t worker, uint64_t first, uint64_t count) {
    MUST(grant_count < GRANTS_MAX && worker >= 1 && worker <= SPACES && first >= given[worker]);
    grants[grant_count++] = (struct grant){worker, first, count};
}

static void collect_id(uint64_t id) {
    collect(id & 0xffff, id >> 16, 1);
}

static uint64_t value_behind(struct text reply, const char *key) {
    const char *at = memmem(reply.at, (size_t)(reply.end - reply.at), key, strlen(key));
    MUST(at);
    at += strlen(key);
    if (*at == '$') at = strchr(at, '\n');
    return strtoull(at + 1, NULL, 10);
}

static void collect_block(struct text reply) {
    if (*reply.at == '*' || *reply.at == '%')
        collect(value_behind(reply, "\r\nbase\r\n"), value_behind(reply, "\r\nfirst\r\n"),
                value_behind(reply, "\r\ncount\r\n"));
}

static int by_place(const void *a, const void *b) {
    const struct grant *x = a, *y = b;
    if (x->worker != y->worker) return x->worker < y->worker ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static void check_grants(void) {
    qsort(grants, grant_count, sizeof *grants, by_place);
    for (size_t i = 0; i < grant_count; i++) {
        struct grant *g = &grants[i];
        MUST(g->count >= 1 && g->first >= given[g->worker]);
        given[g->worker] = g->first + g->count;
    }
}

static void check_replies(enum vs_protocol protocol, bool closed) {
    struct text in = {answers, answers + answered};
    bool resp3 = false, ended = false;
    int count = 0;
    grant_count = 0;
    for (; in.at < in.end; count++) {
        bool known = !run.wild && count < run.count;
        const char *from = in.at;
        id_fn *found = known && run.command[count].gives ? collect_id : NULL;
        MUST(!ended && (known || run.wild));
        if (protocol == VS_HTTP && !known) return; /* whether a reply has a body depends on the request */
        ended = protocol == VS_RESP ? read_resp(&in, &resp3, found, 0)
                                    : read_http(&in, known && run.command[count].no_body, found);
        if (known && run.command[count].block) collect_block((struct text){from, in.at});
    }
    MUST(!ended || closed);
    if (run.wild) return;
    MUST(closed || count == run.count);
    check_grants();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    open_once();
    run.in = data, run.end = data + size;
    enum vs_protocol protocol = dice(4) == 3 ? VS_HTTP : VS_RESP;
    server.rules.resp_password = dice(4) == 3 ? "secret" : NULL;
    unsigned piece = 1 + dice(4) * dice(256);
    build(protocol);
    bool closed = answer(protocol, piece);
    check_replies(protocol, closed);
    pass_us(1000);
    return 0;
}
