/* ledger.c -- connection limits, memory, rates, fair shares and failed logins of clients and addresses, under a clock
 * that the test moves, and compared with simple models. */
#include "access/ledger.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>

#define SECOND INT64_C(1000000)

static struct vs_limits limits_of(int connections, int address_max, int64_t memory_max) {
    struct vs_limits l = {.connections_max = connections, .memory_max = memory_max};
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        l.proto_max[protocol] = l.tcp_max[protocol] = connections, l.of_address[protocol] = address_max;
    return l;
}

static struct vs_peer host(uint32_t i) {
    struct vs_peer peer = {.family = i % 2 ? 6 : 4, .port = (uint16_t)rand()};
    peer.at[0] = 10, peer.at[1] = (unsigned char)(i >> 16), peer.at[2] = (unsigned char)(i >> 8),
    peer.at[3] = (unsigned char)i;
    if (peer.family == 6) peer.at[15] = (unsigned char)rand(); /* the host is identified by the first 64 bits */
    return peer;
}

static const struct vs_peer local = {.family = 0};

static struct ledger *ledger; /* of the running case */

static void begin(const struct vs_limits *limits) {
    ledger = ledger_new(limits);
    if (!ledger) abort();
}

static void name_clients(const char *lines, int64_t now_us) {
    struct vs_accounts *accounts = NULL;
    struct vesta_error err = {.text = ""};
    if (vs_accounts_parse(lines, strlen(lines), &accounts, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    ledger_set(ledger, accounts, now_us);
    vs_accounts_let(accounts);
}

static enum vs_turned enter(struct ledger_entry *entry, enum vs_protocol protocol, uint32_t i) {
    struct vs_peer peer = host(i);
    return ledger_enter(ledger, entry, protocol, &peer, false);
}

/* ------------------------------------------------------------------ connections */

static void handshakes_are_counted_by_address_and_protocol(void) {
    struct vs_limits l = limits_of(20, 10, 0);
    struct ledger_entry client[4], other, unix_;
    begin(&l);
    for (int i = 0; i < 3; i++)
        CHECK_EQ_I64(enter(&client[i], VS_HTTP, 0), VS_LET_IN);
    CHECK_EQ_I64(enter(&client[3], VS_RESP, 0), VS_LET_IN);
    CHECK_EQ_I64(enter(&other, VS_HTTP, 2), VS_LET_IN);
    CHECK_EQ_I64(ledger_enter(ledger, &unix_, VS_HTTP, &local, false), VS_LET_IN);
    CHECK_EQ_I64(ledger_shake(&client[0], 1), 1);
    CHECK_EQ_I64(ledger_shake(&client[1], 1), 2);
    CHECK_EQ_I64(ledger_shake(&client[2], 0), 2);
    CHECK_EQ_I64(ledger_shake(&client[0], -1), 1);
    CHECK_EQ_I64(ledger_shake(&client[3], 0), 0);
    CHECK_EQ_I64(ledger_shake(&other, 0), 0);
    CHECK_EQ_I64(ledger_shake(&unix_, 1), 0);
    ledger_free(ledger);
}

static void a_unix_socket_has_no_limit_of_an_address(void) {
    struct vs_limits l = limits_of(10, 1, 0);
    struct ledger_entry entry[11];
    begin(&l);
    for (int i = 0; i < 10; i++)
        CHECK_EQ_I64(ledger_enter(ledger, &entry[i], VS_HTTP, &local, false), VS_LET_IN);
    CHECK_EQ_I64(ledger_enter(ledger, &entry[10], VS_HTTP, &local, false), VS_TURNED_PROTO);
    ledger_leave(ledger, &entry[0], 0);
    CHECK_EQ_I64(ledger_enter(ledger, &entry[0], VS_HTTP, &local, false), VS_LET_IN);
    ledger_free(ledger);
}

static void clients_over_tcp_leave_room_for_unix_sockets(void) {
    struct vs_limits l = limits_of(10, 10, 0);
    struct ledger_entry entry[10];
    l.tcp_max[VS_HTTP] = 8;
    begin(&l);
    for (int i = 0; i < 8; i++)
        CHECK_EQ_I64(enter(&entry[i], VS_HTTP, (uint32_t)i), VS_LET_IN);
    CHECK_EQ_I64(enter(&entry[8], VS_HTTP, 9), VS_TURNED_PROTO);
    /* a connection from a balancer */
    CHECK_EQ_I64(ledger_enter(ledger, &entry[8], VS_HTTP, &local, true), VS_TURNED_PROTO);
    CHECK_EQ_I64(ledger_enter(ledger, &entry[8], VS_HTTP, &local, false), VS_LET_IN);
    ledger_free(ledger);
}

static void a_balancers_connection_counts_for_no_address_before_it_is_named(void) {
    struct vs_limits l = limits_of(10, 2, 0);
    struct vs_peer balancer = host(8), client = host(0), other = host(2);
    struct ledger_entry entry[11];
    begin(&l);
    for (int i = 0; i < 10; i++)
        CHECK_EQ_I64(ledger_enter(ledger, &entry[i], VS_HTTP, &balancer, true), VS_LET_IN);
    CHECK_EQ_I64(ledger_enter(ledger, &entry[10], VS_HTTP, &balancer, true), VS_TURNED_PROTO);
    CHECK(ledger_name(ledger, &entry[0], &client, 0) && ledger_name(ledger, &entry[1], &client, 0));
    CHECK(!ledger_name(ledger, &entry[2], &client, 0) && ledger_name(ledger, &entry[3], &other, 0));
    ledger_leave(ledger, &entry[2], 0);
    ledger_leave(ledger, &entry[0], 0);
    CHECK(ledger_name(ledger, &entry[4], &client, 0));
    CHECK_EQ_I64(ledger_open(ledger, VS_HTTP), 8);
    ledger_free(ledger);
}

/* ------------------------------------------------------------------ memory */

/* Takes all memory that the entry may have, in pieces of 100 bytes. */
static int64_t take_all(struct ledger_entry *e) {
    int64_t bytes = 0;
    while (ledger_hold(ledger, e, 100))
        bytes += 100;
    return bytes;
}

/* Enters named clients, each from its own address. */
static void enter_clients(struct ledger_entry *entry, int count) {
    char lines[4096] = "", name[16];
    for (int i = 0; i < count; i++)
        sprintf(lines + strlen(lines), "c%d names=* calls=give secret=none\n", i);
    name_clients(lines, 0);
    for (int i = 0; i < count; i++) {
        sprintf(name, "c%d", i);
        CHECK_EQ_I64(enter(&entry[i], VS_HTTP, (uint32_t)i), VS_LET_IN);
        ledger_know(ledger, &entry[i], name, true, 0);
    }
}

static void a_client_holds_as_much_as_it_leaves_free(void) {
    struct vs_limits l = limits_of(1000, 100, 1000000);
    struct ledger_entry client[9], address;
    begin(&l);
    CHECK_EQ_I64(enter(&address, VS_HTTP, 100), VS_LET_IN);
    int64_t has = take_all(&address);
    CHECK_EQ_I64(has, 333300);
    ledger_release(ledger, &address, (size_t)has);
    enter_clients(client, 9);
    for (int i = 0; i < 9; i++) { /* each client gets half of what the clients before it left */
        int64_t left = 1000000 - ledger_bytes_held(ledger);
        has = take_all(&client[i]);
        CHECK(has > left / 2 - 600 && has <= left / 2 + 600);
    }
    CHECK(ledger_is_short(ledger, &client[8]) && ledger_is_short(ledger, &client[0]) &&
          !ledger_is_short(ledger, &address));
    struct ledger_memory apart = {.divisor = 1};
    CHECK(ledger_hold_apart(ledger, NULL, 100) && !ledger_hold_apart(ledger, &apart, 100000));
    ledger_release_apart(ledger, NULL, 100);
    for (int i = 0; i < 9; i++)
        ledger_release(ledger, &client[i], client[i].bytes);
    CHECK_EQ_I64(ledger_bytes_held(ledger), 0);
    ledger_free(ledger);
}

static void a_connection_has_a_little_memory_of_its_own(void) {
    struct vs_limits l = limits_of(20, 20, 1000000);
    struct ledger_entry greedy, beside;
    begin(&l);
    CHECK(enter(&greedy, VS_HTTP, 0) == VS_LET_IN && enter(&beside, VS_HTTP, 0) == VS_LET_IN);
    (void)take_all(&greedy);
    CHECK(ledger_hold(ledger, &beside, 20000)); /* a twentieth of the address's half */
    CHECK(!ledger_hold(ledger, &beside, 5001));
    ledger_free(ledger);
}

static void memory_moves_with_the_name(void) {
    struct vs_limits l = limits_of(100, 100, 1000000);
    struct ledger_entry client[2], beside;
    begin(&l);
    enter_clients(client, 2);
    ledger_know(ledger, &client[0], NULL, false, 0);
    (void)take_all(&client[0]);
    CHECK(ledger_is_short(ledger, &client[0]));
    ledger_know(ledger, &client[0], "c1", true, 0);
    CHECK(client[0].bytes > 300000 && ledger_hold(ledger, &client[0], 100));
    CHECK(enter(&beside, VS_HTTP, 0) == VS_LET_IN &&
          ledger_hold(ledger, &beside, 100000)); /* its address no longer holds that memory */
    ledger_release(ledger, &beside, beside.bytes);
    ledger_know(ledger, &client[0], "c0", true, 0);
    CHECK(!ledger_is_short(ledger, &client[1]));
    ledger_release(ledger, &client[0], client[0].bytes);
    CHECK_EQ_I64(ledger_bytes_held(ledger), 0);
    ledger_free(ledger);
}

/* ------------------------------------------------------------------ failed logins */

static void one_address_has_few_guesses(void) {
    struct vs_limits l = limits_of(10, 10, 0);
    struct ledger_entry e;
    int count = 0;
    begin(&l);
    for (int64_t now = SECOND; now < 11 * SECOND; now += 1000) { /* each attempt over a new connection */
        CHECK(enter(&e, VS_HTTP, 7) == VS_LET_IN);
        count += ledger_login(ledger, &e, false, now) == 0;
        ledger_leave(ledger, &e, now);
    }
    if (count < 5 || count > 5 * 10) CHECK_FAIL("%d", count);
    CHECK(enter(&e, VS_HTTP, 7) == VS_LET_IN);
    CHECK_EQ_I64(ledger_login(ledger, &e, false, 20 * SECOND), 0);
    /* even with the right secret, so that the delay does not reveal it */
    CHECK(ledger_login(ledger, &e, true, 20 * SECOND + 1) > 0);
    CHECK_EQ_I64(ledger_login(ledger, &e, true, 20 * SECOND + LEDGER_LOGIN_STEP_US_MAX), 0);
    ledger_free(ledger);
}

static void addresses_do_not_wait_for_each_other(void) {
    struct vs_limits l = limits_of(10, 10, 0);
    struct ledger_entry e;
    begin(&l);
    for (uint32_t i = 0; i < 20000; i++) { /* more addresses than are remembered */
        CHECK(enter(&e, VS_HTTP, i) == VS_LET_IN);
        CHECK_EQ_I64(ledger_login(ledger, &e, false, SECOND), 0);
        ledger_leave(ledger, &e, SECOND);
    }
    CHECK(enter(&e, VS_HTTP, 1 << 20) == VS_LET_IN);
    CHECK_EQ_I64(ledger_login(ledger, &e, true, SECOND), 0);
    ledger_free(ledger);
}

/* ------------------------------------------------------------------ rates */

static int64_t charge(struct ledger_entry *e, struct ledger_rates *ns, uint64_t n, int64_t now_us,
                      enum ledger_owner *who) {
    return ledger_charge(e, ns, LEDGER_IDS, n, now_us, 0, who);
}

static void all_owners_are_charged_or_none(void) {
    struct vs_limits l = limits_of(10, 10, 0);
    struct ledger_rates ns = {0};
    struct ledger_entry e;
    enum ledger_owner who = LEDGER_OWNERS;
    int64_t now = 100 * SECOND;
    l.address_rate[LEDGER_IDS] = 50;
    begin(&l);
    name_clients("orders names=* calls=give rate=100 secret=none\n", now);
    access_bucket_set(&ns.of[LEDGER_IDS], 10, now);
    CHECK(enter(&e, VS_HTTP, 0) == VS_LET_IN && ledger_is_metered(ledger, &e));
    ledger_know(ledger, &e, "orders", true, now);
    CHECK(charge(&e, &ns, 10, now, &who) == 0);
    CHECK(charge(&e, &ns, 1, now, &who) < 0 && who == LEDGER_NAMESPACE);
    CHECK(charge(&e, NULL, 40, now, &who) == 0); /* the rejected request was not charged */
    CHECK(charge(&e, NULL, 1, now, &who) < 0 && who == LEDGER_ADDRESS);
    CHECK_EQ_I64(ledger_charge(&e, NULL, LEDGER_IDS, 1, now, SECOND, &who), SECOND / 50 + 1);
    CHECK(charge(NULL, &ns, 1, now, &who) < 0 && who == LEDGER_NAMESPACE);
    ledger_return(&e, ledger_client_of(&e), &ns, LEDGER_IDS, 5);
    CHECK_EQ_I64((int64_t)ledger_room(&e, &ns, LEDGER_IDS, 1000, now), 4);
    CHECK(charge(&e, &ns, 5, now + SECOND / 100, &who) == 0);
    uint64_t was = ledger_client_of(&e);
    ledger_know(ledger, &e, NULL, false, now);
    ledger_return(&e, was, NULL, LEDGER_IDS, 1000);
    ledger_know(ledger, &e, "orders", true, now);
    CHECK(charge(&e, NULL, 500, now, &who) == 0 && charge(&e, NULL, 1, now, &who) < 0 && who == LEDGER_CLIENT);
    ledger_free(ledger);
}

/* A reload may reuse the memory of a removed client for a new one. */
static void a_client_is_not_credited_for_another(void) {
    struct vs_limits l = limits_of(10, 10, 0);
    struct ledger_entry e;
    enum ledger_owner who = LEDGER_OWNERS;
    int64_t now = 100 * SECOND;
    begin(&l);
    name_clients("orders names=* calls=give rate=100 secret=none\n", now);
    CHECK(enter(&e, VS_HTTP, 0) == VS_LET_IN);
    ledger_know(ledger, &e, "orders", true, now);
    CHECK(charge(&e, NULL, 50, now, &who) == 0);
    const struct ledger_party *orders = e.client;
    uint64_t was = ledger_client_of(&e);
    ledger_know(ledger, &e, NULL, false, now + 10 * SECOND);
    name_clients("users names=* calls=give rate=100 secret=none\n", now + 10 * SECOND);
    ledger_know(ledger, &e, "users", true, now + 10 * SECOND);
    CHECK(e.client == orders);
    CHECK(charge(&e, NULL, 100, now + 10 * SECOND, &who) == 0);
    ledger_return(&e, was, NULL, LEDGER_IDS, 50);
    CHECK(charge(&e, NULL, 1, now + 10 * SECOND, &who) < 0 && who == LEDGER_CLIENT);
    ledger_free(ledger);
}

/* Connections end after each request, and many other addresses come in between. */
static void no_new_connection_forgives_a_debt(void) {
    struct vs_limits l = limits_of(100, 10, 0);
    struct ledger_entry e;
    enum ledger_owner who;
    int64_t now = 100 * SECOND, given = 0;
    uint32_t other = 1000;
    l.address_rate[LEDGER_IDS] = 10;
    begin(&l);
    CHECK(enter(&e, VS_HTTP, 2) == VS_LET_IN && charge(&e, NULL, 10000, now, &who) == 0); /* 1000 s of debt */
    ledger_leave(ledger, &e, now);
    for (int ms = 0; ms < 10000; ms++, now += 1000) {
        CHECK(enter(&e, VS_HTTP, 1) == VS_LET_IN);
        given += charge(&e, NULL, 1, now, &who) == 0;
        ledger_leave(ledger, &e, now);
        for (int i = 0; i < 3; i++) { /* 30,000: more than are remembered */
            CHECK(enter(&e, VS_HTTP, other++) == VS_LET_IN && charge(&e, NULL, 1, now, &who) == 0);
            ledger_leave(ledger, &e, now);
        }
    }
    if (given < 100 || given > 115) CHECK_FAIL("%" PRId64 " ids at a rate of 10 in 10 s", given);
    CHECK(enter(&e, VS_HTTP, 2) == VS_LET_IN && charge(&e, NULL, 1, now, &who) < 0);
    ledger_free(ledger);
}

static void usage_stays_with_the_name(void) {
    struct vs_limits l = limits_of(100, 10, 0);
    struct ledger_entry e;
    struct ledger_client seen;
    enum ledger_owner who;
    int64_t now = 100 * SECOND;
    begin(&l);
    name_clients("orders names=* calls=give rate=10 weight=3 secret=none\n", now);
    CHECK(enter(&e, VS_HTTP, 0) == VS_LET_IN);
    ledger_know(ledger, &e, "orders", true, now);
    CHECK(charge(&e, NULL, 100, now, &who) == 0);
    ledger_leave(ledger, &e, now);
    CHECK(ledger_seen(ledger, "orders", &seen) && seen.ids == 10 && seen.requests == 0 && seen.weight == 3);
    name_clients("web names=* calls=give secret=none\n", now);
    name_clients("orders names=* calls=give rate=10 secret=none\n", now);
    CHECK(ledger_seen(ledger, "orders", &seen) && seen.weight == 1);
    CHECK(enter(&e, VS_HTTP, 1) == VS_LET_IN); /* the client connects from another address */
    ledger_know(ledger, &e, "orders", true, now);
    CHECK(charge(&e, NULL, 1, now, &who) < 0 && who == LEDGER_CLIENT);
    ledger_leave(ledger, &e, now);
    name_clients("web names=* calls=give secret=none\n", now + 100 * SECOND);
    CHECK(!ledger_seen(ledger, "orders", &seen));
    ledger_free(ledger);
}

/* ------------------------------------------------------------------ fair shares of time units of a second */

#define UNIT 100000

/* Each of `count` entries takes all it can get for `seconds`. Returns the total, and the parts in `got`. */
static uint64_t share_out(struct ledger_entry *entry, int count, int seconds, uint64_t *got, int reconnects) {
    static struct access_pool pool;
    int64_t until[64] = {0}, now = 1000 * SECOND;
    uint64_t given = 0, all = 0;
    memset(&pool, 0, sizeof pool);
    memset(got, 0, (size_t)count * sizeof *got);
    for (int64_t end = now + seconds * SECOND; now < end; now += 500) {
        if (now % SECOND == 0) given = 0;
        for (int i = 0; i < count; i++) {
            int64_t next = SECOND - now % SECOND, took;
            struct access_supply s = {UNIT, SECOND, UNIT - given, UNIT / 8 * (uint64_t)next / SECOND, next};
            if (until[i] > now) continue;
            access_pool_share(&pool, &s, now);
            if ((took = access_pool_due(&pool, now))) access_pool_update(&pool, &s, took, now);
            uint64_t may = ledger_part(ledger, &entry[i], &pool, 3, 1000, now);
            if (may > s.room) may = s.room;
            given += may, all += may, got[i] += may;
            if (given > UNIT) CHECK_FAIL("%" PRIu64 " of %d", given, UNIT);
            if (may)
                ledger_took(ledger, &entry[i], &pool, 3, may, now);
            else
                until[i] = now + (entry[i].claim.wait_us > 500 ? entry[i].claim.wait_us : 500);
            if (i < reconnects && !may) {
                ledger_leave(ledger, &entry[i], now);
                CHECK(enter(&entry[i], VS_HTTP, 0) == VS_LET_IN);
            }
        }
    }
    return all;
}

static void parties_have_equal_parts_however_many_connections_they_have(void) {
    struct vs_limits l = limits_of(100, 50, 0);
    struct ledger_entry entry[24];
    uint64_t got[24], first = 0;
    begin(&l);
    for (uint32_t i = 0; i < 24; i++) /* 20 connections of one address, and 4 addresses with one */
        CHECK(enter(&entry[i], VS_HTTP, i < 20 ? 0 : i) == VS_LET_IN);
    uint64_t all = share_out(entry, 24, 10, got, 0), part = all / 5;
    CHECK(all > UNIT * 10 * 8 / 10);
    for (int i = 0; i < 20; i++)
        first += got[i];
    CHECK(first < part * 12 / 10 && first > part * 8 / 10);
    for (int i = 20; i < 24; i++)
        if (got[i] < part * 8 / 10) CHECK_FAIL("%d: %" PRIu64 " of %" PRIu64, i, got[i], part);
    ledger_free(ledger);
}

static void new_connections_gain_no_larger_part(void) {
    struct vs_limits l = limits_of(100, 50, 0);
    struct ledger_entry entry[8];
    uint64_t got[8], first = 0;
    begin(&l);
    for (uint32_t i = 0; i < 8; i++) /* 4 connections of one address reconnect after each wait */
        CHECK(enter(&entry[i], VS_HTTP, i < 4 ? 0 : i) == VS_LET_IN);
    uint64_t all = share_out(entry, 8, 10, got, 4), part = all / 5;
    for (int i = 0; i < 4; i++)
        first += got[i];
    if (first > part * 14 / 10) CHECK_FAIL("%" PRIu64 " of %" PRIu64, first, part);
    for (int i = 4; i < 8; i++)
        if (got[i] < part * 8 / 10) CHECK_FAIL("%d: %" PRIu64 " of %" PRIu64, i, got[i], part);
    ledger_free(ledger);
}

static void weights_are_those_of_the_clients_file(void) {
    struct vs_limits l = limits_of(100, 50, 0);
    struct ledger_entry entry[2];
    uint64_t got[2];
    begin(&l);
    name_clients("a names=* calls=give weight=3 secret=none\nb names=* calls=give secret=none\n", 0);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK(enter(&entry[i], VS_HTTP, 0) == VS_LET_IN);
        ledger_know(ledger, &entry[i], i ? "b" : "a", true, 0);
    }
    (void)share_out(entry, 2, 10, got, 0);
    if (got[0] < got[1] * 27 / 10 || got[0] > got[1] * 33 / 10) CHECK_FAIL("%" PRIu64 " and %" PRIu64, got[0], got[1]);
    ledger_free(ledger);
}

/* ------------------------------------------------------------------ random steps against a plain model */

#define CONNECTIONS 60
#define HOSTS 40
#define STEPS 300000
#define RATE 20

static struct {
    struct ledger_entry entry;
    bool is_open;
    int protocol, host, client; /* -1: no client */
} conn[CONNECTIONS + 1];

static struct {
    int count[VS_PROTOCOLS][HOSTS], open[VS_PROTOCOLS];
    int64_t memory, given[HOSTS];
} model;

static void arrive(int c) {
    int protocol = rand() % VS_PROTOCOLS, at = rand() % HOSTS;
    enum vs_turned want = model.open[protocol] == 40                                                ? VS_TURNED_PROTO
                          : protocol != VS_ADMIN && model.open[VS_RESP] + model.open[VS_HTTP] == 50 ? VS_TURNED_TOTAL
                          : model.count[protocol][at] == 5                                          ? VS_TURNED_ADDRESS
                                                                                                    : VS_LET_IN;
    CHECK_EQ_I64(enter(&conn[c].entry, (enum vs_protocol)protocol, (uint32_t)at), want);
    if (want != VS_LET_IN) return;
    model.open[protocol]++, model.count[protocol][at]++;
    conn[c].is_open = true, conn[c].protocol = protocol, conn[c].host = at, conn[c].client = -1;
}

static void depart(int c, int64_t now) {
    struct ledger_entry *e = &conn[c].entry;
    model.memory -= (int64_t)e->bytes;
    ledger_release(ledger, e, e->bytes);
    ledger_leave(ledger, e, now);
    model.open[conn[c].protocol]--, model.count[conn[c].protocol][conn[c].host]--;
    conn[c].is_open = false;
}

static void act(int c, int64_t now) {
    static const char *const names[] = {"c0", "c1", "c2", "gone"};
    struct ledger_entry *e = &conn[c].entry;
    size_t bytes = (size_t)(rand() % 20000);
    enum ledger_owner who;
    switch (rand() % 5) {
    case 0: ledger_know(ledger, e, rand() % 2 ? names[rand() % 4] : NULL, rand() % 2, now); break;
    case 1:
        if (ledger_hold(ledger, e, bytes)) model.memory += (int64_t)bytes;
        break;
    case 2:
        if (bytes > e->bytes) bytes = e->bytes;
        ledger_release(ledger, e, bytes), model.memory -= (int64_t)bytes;
        break;
    case 3: (void)ledger_login(ledger, e, rand() % 2, now); break;
    case 4:
        if (ledger_charge(e, NULL, LEDGER_IDS, 1, now, 0, &who) == 0) model.given[conn[c].host]++;
        break;
    }
}

static void random_steps_match_a_model(void) {
    struct vs_limits l = limits_of(50, 5, 1000000);
    int64_t now = SECOND;
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        l.proto_max[protocol] = l.tcp_max[protocol] = 40;
    l.address_rate[LEDGER_IDS] = RATE;
    begin(&l);
    for (int step = 0; step < STEPS; step++, now += rand() % 200) {
        int c = rand() % CONNECTIONS;
        if (!conn[c].is_open)
            arrive(c);
        else if (rand() % 8 == 0)
            depart(c, now);
        else
            act(c, now);
        if (step % 1000 == 0)
            name_clients(step % 2000
                             ? "c0 names=* calls=give rate=100000 secret=none\n"
                             : "c0 names=* calls=give secret=none\nc1 names=* calls=give weight=2 secret=none\n",
                         now);
        CHECK_EQ_I64(ledger_bytes_held(ledger), model.memory);
        CHECK(model.memory <= l.memory_max);
        CHECK_EQ_I64(ledger_open(ledger, (enum vs_protocol)(step % VS_PROTOCOLS)), model.open[step % VS_PROTOCOLS]);
    }
    for (int i = 0; i < HOSTS; i++) /* the steps took 30 s */
        if (model.given[i] > RATE * (now / SECOND + 2)) CHECK_FAIL("host %d: %" PRId64 " ids", i, model.given[i]);
    for (int c = 0; c < CONNECTIONS; c++)
        if (conn[c].is_open) depart(c, now);
    CHECK_EQ_I64(ledger_bytes_held(ledger), 0);
    CHECK_EQ_I64(ledger_open(ledger, VS_PROTOCOLS), 0);
    for (uint32_t i = 0; i < HOSTS; i++) /* each address has all its connections again */
        for (int n = 0; n < 6; n++) {
            CHECK_EQ_I64(enter(&conn[n].entry, VS_HTTP, i), n < 5 ? VS_LET_IN : VS_TURNED_ADDRESS);
            if (n == 5)
                while (n-- > 0)
                    ledger_leave(ledger, &conn[n].entry, now);
            if (n < 0) break;
        }
    ledger_free(ledger);
}

/* ------------------------------------------------------------------ threads */

static atomic_int let_in;
static void *come_and_go(void *given) {
    uint32_t seed = (uint32_t)(uintptr_t)given;
    for (int i = 0; i < 20000; i++) {
        struct ledger_entry e;
        struct vs_peer peer = {.family = 4, .at = {10, 0, 0, (unsigned char)(rand_r(&seed) % 4)}};
        enum ledger_owner who;
        if (ledger_enter(ledger, &e, VS_HTTP, &peer, false) != VS_LET_IN) continue;
        ledger_know(ledger, &e, i % 3 ? "c0" : NULL, i % 2, i);
        if (ledger_hold(ledger, &e, 100)) ledger_release(ledger, &e, 100);
        (void)ledger_shake(&e, 1), (void)ledger_shake(&e, -1);
        (void)ledger_login(ledger, &e, false, i);
        let_in += ledger_charge(&e, NULL, LEDGER_REQUESTS, 1, SECOND, 0, &who) == 0;
        ledger_leave(ledger, &e, i);
    }
    return NULL;
}

static void threads_share_the_ledger(void) {
    struct vs_limits l = limits_of(3, 2, 300);
    pthread_t thread[4];
    l.address_rate[LEDGER_REQUESTS] = 1000;
    begin(&l);
    name_clients("c0 names=* calls=give secret=none\n", 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, come_and_go, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    CHECK_EQ_I64(ledger_open(ledger, VS_PROTOCOLS), 0);
    CHECK_EQ_I64(ledger_bytes_held(ledger), 0);
    CHECK_EQ_I64(let_in, 4000); /* 1000 each from 4 addresses */
    ledger_free(ledger);
}

static const struct check_case cases[] = {
    {"unfinished handshakes are counted by address and protocol", handshakes_are_counted_by_address_and_protocol},
    {"connections over unix sockets have no limit of an address", a_unix_socket_has_no_limit_of_an_address},
    {"clients over TCP leave connections for unix sockets", clients_over_tcp_leave_room_for_unix_sockets},
    {"a balancer's connection counts for no address until its client is known",
     a_balancers_connection_counts_for_no_address_before_it_is_named},
    {"a client may hold as much memory as it leaves free, and an address half of that",
     a_client_holds_as_much_as_it_leaves_free},
    {"a connection has a small allowance of its own, whatever its client holds",
     a_connection_has_a_little_memory_of_its_own},
    {"a connection's memory is counted for its current client", memory_moves_with_the_name},
    {"one address has at most 5 guesses a second, over any number of connections", one_address_has_few_guesses},
    {"an address does not wait because of another address's wrong secrets", addresses_do_not_wait_for_each_other},
    {"a request is charged to all owners that have a rate, or to none", all_owners_are_charged_or_none},
    {"a client is not credited for charges of another client", a_client_is_not_credited_for_another},
    {"neither a new connection nor a flood of addresses forgives a debt", no_new_connection_forgives_a_debt},
    {"a client's usage stays with its name", usage_stays_with_the_name},
    {"greedy parties have equal shares, however many connections each has",
     parties_have_equal_parts_however_many_connections_they_have},
    {"an address gains no larger share by new connections", new_connections_gain_no_larger_part},
    {"clients have shares by their weights", weights_are_those_of_the_clients_file},
    {"after random steps connections, memory and charges match a simple model", random_steps_match_a_model},
    {"threads that share the ledger leave no connection and no memory counted", threads_share_the_ledger},
};
CHECK_MAIN(cases)
