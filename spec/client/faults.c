/* faults.c -- a client with servers that fail in every known way.  It uses no id of a wrong reply, drops the connection
 * after one, and continues as soon as a server replies correctly. */
#include "check.h"
#include "fault_server.h"
#include "vesta_client.h"

static _Atomic uint64_t ticks;

static struct vesta_client *opened(const char *servers, int64_t timeout_ms) {
    struct vesta_client_opts opts = VESTA_CLIENT_OPTS_INIT;
    struct vesta_client *client = NULL;
    struct vesta_error err = {.text = ""};
    opts.servers = servers;
    opts.name = "orders";
    opts.timeout_ms = timeout_ms;
    if (vesta_client_open(&opts, &client, &err) != VESTA_OK) CHECK_FAIL("open: %s", err.text);
    return client;
}

static bool is_poisoned(uint64_t id) {
    return (id >> TIME_SHIFT << SEQ_BITS) & POISON;
}

/* Takes an id.  It must be from a good reply, and above the last id of its server. */
static void take_good(struct vesta_client *client, uint64_t *last) {
    struct vesta_pause pause;
    uint64_t id = 0;
    char text[1024] = "";
    if (vesta_client_next_wait(client, &id, 30000000, &pause) != VESTA_OK) {
        vesta_client_pause_text(client, &pause, text, sizeof text);
        CHECK_FAIL("no id: %s", text);
        return;
    }
    if (is_poisoned(id)) CHECK_FAIL("id %" PRIu64 " is of a reply that was to be thrown away", id);
    if (id <= *last) CHECK_FAIL("id %" PRIu64 " comes after %" PRIu64, id, *last);
    *last = id;
}

static void a_request_a_block(void) {
    struct fault_server s;
    struct vesta_client_info info;
    uint64_t last = 0;
    fault_server_begin(&s, &ticks, 1);
    struct vesta_client *client = opened(s.address, 30000);
    for (int i = 0; i < 100000; i++)
        take_good(client, &last);
    /* A request may be in progress or start late. */
    AWAIT(
        (vesta_client_get_info(client, &info), info.requests == info.blocks && atomic_load(&s.blocks) == info.blocks));
    CHECK_EQ_U64(atomic_load(&s.requests), info.requests);
    CHECK(info.ids >= 100000 && info.ids < 100064);
    CHECK_EQ_U64(info.errors + info.drops + info.fallback_blocks, 0);
    CHECK_EQ_U64(atomic_load(&s.connections), 1);
    vesta_client_close(client);
    fault_server_end(&s);
}

/* All replies of a server are faulty.  Then it replies correctly. */
static void meets(int fault, const char *said) {
    bool is_silent = fault == SILENT || fault == STALLED || fault == LATE || fault == DRIPPING || fault == HUGE_STRING;
    bool is_kept = fault == BUSY; /* a valid reply, but without ids */
    struct fault_server s;
    struct vesta_client_info info;
    struct vesta_pause pause;
    uint64_t last = 0, id;
    fault_server_begin(&s, &ticks, 1);
    atomic_store(&s.fault, fault);
    struct vesta_client *client = opened(s.address, is_silent ? 100 : 30000);
    CHECK_EQ_I64(vesta_client_next(client, &id, &pause), VESTA_EPAUSE);
    CHECK_EQ_I64(pause.why, VESTA_RANGE);
    CHECK(pause.wait_us > 0); /* no server has rejected a request yet */
    AWAIT((vesta_client_get_info(client, &info), info.errors > 0));
    CHECK_EQ_U64(info.blocks, 0);
    CHECK_HAS(info.server[0].error, said);
    atomic_store(&s.fault, GOOD);
    for (int i = 0; i < 1000; i++)
        take_good(client, &last);
    CHECK_EQ_U64(atomic_load(&s.connections) == 1, is_kept);
    vesta_client_close(client);
    fault_server_end(&s);
}

/* A good reply is followed by another client's reply: the next block is requested over a new connection. */
static void unasked(void) {
    struct fault_server s;
    struct vesta_client_info info;
    uint64_t last = 0;
    fault_server_begin(&s, &ticks, 1);
    atomic_store(&s.fault, UNASKED);
    struct vesta_client *client = opened(s.address, 30000);
    take_good(client, &last); /* the good one was read, and the next one is not requested yet */
    atomic_store(&s.fault, GOOD);
    AWAIT(atomic_load(&s.unasked) == 1); /* it was sent */
    for (int i = 0; i < 5000; i++)
        take_good(client, &last);
    vesta_client_get_info(client, &info);
    CHECK_EQ_U64(info.errors, 1);
    CHECK_EQ_U64(atomic_load(&s.connections), 2);
    vesta_client_close(client);
    fault_server_end(&s);
}

static void cut_short(void) {
    meets(HALF, "in the middle of a reply");
    meets(STALLED, "no reply before the deadline");
}

static void too_late(void) {
    meets(LATE, "no reply before the deadline");
    meets(DRIPPING, "no reply before the deadline");
    meets(SILENT, "no reply before the deadline");
}

static void for_others(void) {
    meets(OTHER_NAME, "about 'other', not 'orders'");
    meets(OTHER_KIND, "'beads'");
    meets(TWICE, "more than one reply");
}

/* A block that is repeated issues none of its ids again. */
static void told_again(void) {
    struct fault_server s;
    struct vesta_client_info info;
    uint64_t last = 0, before;
    fault_server_begin(&s, &ticks, 1);
    struct vesta_client *client = opened(s.address, 30000);
    take_good(client, &last);
    AWAIT((vesta_client_get_info(client, &info), info.blocks == info.requests));
    before = info.blocks;
    atomic_store(&s.fault, TOLD_AGAIN);
    struct vesta_pause pause;
    uint64_t id;
    while (vesta_client_next(client, &id, &pause) == VESTA_OK)
        ;
    AWAIT((vesta_client_get_info(client, &info), info.errors >= 2));
    CHECK_EQ_U64(info.blocks, before);
    CHECK_HAS(info.server[0].error, "has already received");
    atomic_store(&s.fault, GOOD);
    for (int i = 0; i < 1000; i++)
        take_good(client, &last);
    vesta_client_close(client);
    fault_server_end(&s);
}

static void impossible(void) {
    meets(NO_IDS, "it has no ids");
    meets(TOO_MANY, "more ids than the client requested");
    meets(HUGE_COUNT, "more ids than the client requested");
    meets(OVERFLOWING, "more ticks than a layout allows");
    meets(BASE_IN_TIME, "base overlaps");
    meets(WIDE_SHIFT, "its shifts or widths is too large");
}

static void hostile(void) {
    meets(NUMBER, "unexpected reply");
    meets(NIL, "unexpected reply");
    meets(NESTED, "unexpected reply");
    meets(HUGE_ARRAY, "unexpected reply");
    meets(HUGE_STRING, "no reply before the deadline");
    meets(ENDLESS, "reply");
    meets(HTTP, "unexpected reply");
    meets(NOISE, "unexpected reply");
}

static void refusing(void) {
    meets(BUSY, "TRYAGAIN");
}

/* ------------------------------------------------------------------ lists */

/* A server that accepts connections and never replies: the next server still issues ids, and no call waits for both
 * deadlines. */
static void black_hole(void) {
    struct fault_server hole, good;
    struct vesta_client_info info;
    uint64_t last = 0;
    char servers[80];
    fault_server_begin(&hole, &ticks, 1);
    fault_server_begin(&good, &ticks, 2);
    atomic_store(&hole.fault, SILENT);
    snprintf(servers, sizeof servers, "%s,%s", hole.address, good.address);
    struct vesta_client *client = opened(servers, 60000);
    for (int i = 0; i < 50000; i++)
        take_good(client, &last);
    vesta_client_get_info(client, &info);
    CHECK_EQ_U64(info.server[0].blocks, 0);
    CHECK(info.server[1].blocks > 0);
    CHECK_EQ_U64(info.errors, 0); /* its deadline is a minute, and no call waited for it */
    vesta_client_close(client);
    fault_server_end(&hole);
    fault_server_end(&good);
}

/* Ids come from the second server while the first one fails, and from the first one again soon after it is back. */
static void goes_back(void) {
    struct fault_server first, second;
    struct vesta_client_info info;
    uint64_t last = 0, then;
    char servers[80];
    fault_server_begin(&first, &ticks, 1);
    fault_server_begin(&second, &ticks, 2);
    snprintf(servers, sizeof servers, "%s,%s", first.address, second.address);
    struct vesta_client *client = opened(servers, 30000);
    do
        take_good(client, &last); /* on a busy machine the second one may be faster at first */
    while ((last & 1023) != 1);
    atomic_store(&first.fault, BUSY);
    while ((last & 1023) == 1)
        take_good(client, &last);
    CHECK_EQ_U64(last & 1023, 2);
    atomic_store(&first.fault, GOOD);
    then = atomic_load(&first.blocks);
    while (atomic_load(&first.blocks) < then + 3)
        take_good(client, &last);
    vesta_client_get_info(client, &info);
    CHECK(info.server[0].errors > 0);
    CHECK(info.server[0].is_up);
    CHECK_STR(info.server[0].error, ""); /* it has delivered a block since */
    CHECK_EQ_U64(info.server[1].errors, 0);
    vesta_client_close(client);
    fault_server_end(&first);
    fault_server_end(&second);
}

#define FIRST_LAYOUT "version:1=0 type:1=0 method:2 time:30 seq:20 machine:10 unit=1s epoch=2014-12-31T16:00:00Z"
#define APART "version:1=0 type:1=1 method:2 time:30 seq:20 machine:10 unit=1s epoch=2020-12-31T16:00:00Z"
#define NOT_APART "version:1=0 type:1 method:2 time:30 seq:20 machine:10 unit=1s epoch=2020-12-31T16:00:00Z"

/* One server changes to another layout, as servers do during a change of layouts. */
static void two_layouts(void) {
    struct fault_server first, second;
    struct vesta_client_info info;
    uint64_t last = 0;
    char servers[80];
    fault_server_begin(&first, &ticks, 1);
    fault_server_begin(&second, &ticks, 2);
    first.layout = second.layout = FIRST_LAYOUT;
    snprintf(servers, sizeof servers, "%s,%s", first.address, second.address);
    struct vesta_client *client = opened(servers, 30000);
    for (int i = 0; i < 1000; i++)
        take_good(client, &last);
    CHECK_EQ_U64(last & 1023, 1);
    first.layout = NOT_APART;
    for (int i = 0; i < 100000 && (last & 1023) == 1; i++) /* the client still has good ids of it */
        take_good(client, &last);
    CHECK_EQ_U64(last & 1023, 2);
    vesta_client_get_info(client, &info);
    CHECK_HAS(info.server[0].error, "its layout differs from the layout of earlier blocks, and an id can belong to both");
    uint64_t blocks = info.server[0].blocks;
    for (int i = 0; i < 5000; i++)
        take_good(client, &last);
    vesta_client_get_info(client, &info);
    CHECK_EQ_U64(info.server[0].blocks, blocks);
    CHECK_EQ_U64(info.server[1].errors, 0);
    first.layout = APART;
    while ((last & 1023) == 2) /* it is asked again soon */
        take_good(client, &last);
    vesta_client_close(client);
    fault_server_end(&first);
    fault_server_end(&second);
}

/* An error that only a person can correct is returned at once by every call.  A server that works again is used. */
static void told_at_once(void) {
    struct fault_server first, second;
    struct vesta_pause pause;
    uint64_t ids[2], last = 0;
    char servers[80], text[512];
    fault_server_begin(&first, &ticks, 1);
    fault_server_begin(&second, &ticks, 2);
    snprintf(servers, sizeof servers, "%s,%s", first.address, second.address);
    atomic_store(&first.fault, REFUSING);
    atomic_store(&second.fault, REFUSING);
    struct vesta_client *client = opened(servers, 30000);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_I64(vesta_client_next_wait(client, ids, INT64_MAX, &pause), VESTA_EPAUSE);
        CHECK_EQ_I64(pause.wait_us, -1);
        CHECK_EQ_I64(vesta_client_batch_wait(client, ids, 2, INT64_MAX, &pause), VESTA_EPAUSE);
        vesta_client_pause_text(client, &pause, text, sizeof text);
        CHECK_HAS(text, "there is no namespace 'orders'");
    }
    CHECK_EQ_U64(atomic_load(&first.requests), 1);
    CHECK_EQ_U64(atomic_load(&second.requests), 1);
    atomic_store(&second.fault, GOOD);
    AWAIT(vesta_client_next(client, ids, &pause) == VESTA_OK);
    CHECK_EQ_U64(ids[0] & 1023, 2);
    take_good(client, &last);
    vesta_client_close(client);
    fault_server_end(&first);
    fault_server_end(&second);
}

/* The number of requests to a failing server in ms, by its back-off alone: the minimal intervals are 0.075 s, 0.15 s,
 * 0.3 s, and so on. */
static uint64_t by_back_off(int64_t took_ms) {
    uint64_t most = 1;
    for (int64_t at_ms = 75, ms = 75; at_ms <= took_ms; at_ms += ms *= 2)
        most++;
    return most;
}

static void backs_off(void) {
    struct fault_server s;
    struct vesta_pause pause;
    uint64_t id;
    fault_server_begin(&s, &ticks, 1);
    atomic_store(&s.fault, BUSY);
    struct vesta_client *client = opened(s.address, 30000);
    int64_t began_ms = check_now_ms();
    CHECK_EQ_I64(vesta_client_next(client, &id, &pause), VESTA_EPAUSE);
    AWAIT(atomic_load(&s.requests) >= 1);
    usleep(1500000);
    CHECK(atomic_load(&s.requests) <= by_back_off(check_now_ms() - began_ms) + 2); /* plus those of a caller that has
                                                                                      left */
    vesta_client_close(client);
    fault_server_end(&s);
}

#define REQUESTS 8      /* by its back-off alone, a server gets this many requests in ... */
#define SOONEST_MS 9450 /* ... at least this time */

static void waited_for(void) {
    struct fault_server s;
    struct vesta_pause pause;
    uint64_t id, last = 0;
    fault_server_begin(&s, &ticks, 1);
    atomic_store(&s.fault, BUSY);
    struct vesta_client *client = opened(s.address, 30000);
    int64_t began_ms = check_now_ms(), took_ms = 0;
    for (; atomic_load(&s.requests) < REQUESTS && took_ms < SOONEST_MS; took_ms = check_now_ms() - began_ms)
        CHECK_EQ_I64(vesta_client_next_wait(client, &id, 100000, &pause), VESTA_EPAUSE);
    uint64_t asked = atomic_load(&s.requests);
    took_ms = check_now_ms() - began_ms;
    CHECK(asked >= REQUESTS);
    CHECK(asked <= (uint64_t)took_ms / 100 + 1 + by_back_off(took_ms));
    atomic_store(&s.fault, GOOD);
    take_good(client, &last);
    vesta_client_close(client);
    fault_server_end(&s);
}

/* ------------------------------------------------------------------ several threads, and ends */

#define THREADS 4
#define EACH 40000

struct taker {
    pthread_t thread;
    struct vesta_client *client;
    uint64_t ids[EACH];
};

static void *take_many(void *arg) {
    struct taker *t = arg;
    struct vesta_pause pause;
    for (size_t i = 0; i < EACH;) {
        size_t n = i % 7 == 0 && EACH - i >= 70 ? 70 : 1;
        int rc = n == 1 ? vesta_client_next_wait(t->client, &t->ids[i], 60000000, &pause)
                        : vesta_client_batch_wait(t->client, &t->ids[i], n, 60000000, &pause);
        if (rc != VESTA_OK) CHECK_FAIL("no id");
        i += n;
    }
    return NULL;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void none_twice(void) {
    static struct taker takers[THREADS];
    static uint64_t all[THREADS * EACH];
    struct fault_server s;
    fault_server_begin(&s, &ticks, 1);
    struct vesta_client *client = opened(s.address, 30000);
    for (int i = 0; i < THREADS; i++) {
        takers[i].client = client;
        NEED(pthread_create(&takers[i].thread, NULL, take_many, &takers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(takers[i].thread, NULL);
        memcpy(all + i * EACH, takers[i].ids, sizeof takers[i].ids);
    }
    qsort(all, THREADS * EACH, sizeof *all, by_value);
    uint64_t twice = 0;
    for (int i = 1; i < THREADS * EACH; i++)
        twice += all[i] == all[i - 1];
    CHECK_EQ_U64(twice, 0);
    CHECK(all[0] > 0);
    vesta_client_close(client);
    fault_server_end(&s);
}

static void *take_one(void *client) {
    uint64_t last = 0;
    take_good(client, &last);
    return NULL;
}

/* Ids that a thread holds of one client are never issued by another client, even in the same memory. */
static void clients_in_turn(void) {
    struct fault_server s;
    uint64_t last = 0;
    fault_server_begin(&s, &ticks, 1);
    for (int i = 0; i < 40; i++) {
        struct vesta_client *client = opened(s.address, 30000);
        pthread_t thread; /* only this thread has taken ids of this client */
        NEED(pthread_create(&thread, NULL, take_one, client) == 0);
        pthread_join(thread, NULL);
        for (int j = 0; j < 20; j++)
            take_good(client, &last);
        vesta_client_close(client);
    }
    fault_server_end(&s);
}

/* Its deadlines are a minute, but closing the client does not wait for them. */
static void ends_soon(void) {
    struct fault_server s;
    struct vesta_pause pause;
    uint64_t id;
    fault_server_begin(&s, &ticks, 1);
    for (int fault = SILENT; fault <= STALLED; fault += STALLED - SILENT) {
        atomic_store(&s.fault, fault);
        struct vesta_client *client = opened(s.address, 60000);
        CHECK_EQ_I64(vesta_client_next_wait(client, &id, 50000, &pause), VESTA_EPAUSE);
        int64_t began_ms = check_now_ms();
        vesta_client_close(client);
        CHECK(check_now_ms() - began_ms < 30000);
    }
    fault_server_end(&s);
}

/* An old block is dropped, including the ids that a thread holds of it.  The next id is of another block. */
static void drops_stale(void) {
    struct fault_server s;
    struct vesta_client_opts opts = VESTA_CLIENT_OPTS_INIT;
    struct vesta_client_info info;
    struct vesta_client *client;
    uint64_t last = 0, before;
    fault_server_begin(&s, &ticks, 1);
    opts.servers = s.address;
    opts.name = "orders";
    opts.ttl_ms = 200;
    NEED(vesta_client_open(&opts, &client, NULL) == VESTA_OK);
    for (int i = 0; i < 20; i++) /* some are held by this thread */
        take_good(client, &last);
    before = last;
    AWAIT((vesta_client_get_info(client, &info), info.drops >= 1 && info.left == 0));
    take_good(client, &last);
    vesta_client_get_info(client, &info);
    CHECK(last >> SEQ_SHIFT >= (before >> SEQ_SHIFT) + 64); /* no id of the old block's rest */
    CHECK(info.dropped > 0);
    CHECK_EQ_U64(info.errors, 0);
    vesta_client_close(client);
    fault_server_end(&s);
}

static const struct check_case cases[] = {
    {"100,000 ids need one request per block, over one connection", a_request_a_block},
    {"a truncated reply yields no id, and its connection is dropped", cut_short},
    {"a late reply yields no id, and its connection is dropped", too_late},
    {"a reply to another request yields no id", for_others},
    {"an unsolicited reply yields no id", unasked},
    {"a repeated reply yields no id again", told_again},
    {"an impossible block yields no id", impossible},
    {"bytes that are not a reply yield no id", hostile},
    {"a busy server is asked again, over the same connection", refusing},
    {"a server that never replies delays no id of the next one", black_hole},
    {"ids come from the second server while the first one fails, and then from the first one again", goes_back},
    {"servers of two layouts whose ids could be duplicates are not mixed, and servers of distinct layouts are",
     two_layouts},
    {"if every server rejects requests, a waiting caller gets the error at once", told_at_once},
    {"a failing server is asked less and less often if no caller waits", backs_off},
    {"a failing server is asked at most ten times a second for a waiting caller", waited_for},
    {"four threads get no duplicate", none_twice},
    {"ids that a thread holds of one client are never another client's", clients_in_turn},
    {"closing a client waits for no server", ends_soon},
    {"an old block is dropped", drops_stale},
};
CHECK_MAIN(cases)
