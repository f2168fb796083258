/* charge.c -- what a request is charged, and what it may have now; see shares.h.  Knows no table of parties. */
#include "server/shares/party.h"
#include "generator/generator.h"
#include "log/log.h"
#include "server/commands.h"
#include "server/resp/multi.h"
#include "server/rights/rights.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define UNIT_MIN 64 /* what is less than that is first come, first served: there is nothing to divide */
#define LOOKS 64    /* of a unit, while ids are taken one by one */
#define KEPT_PART 8
#define TELL_US 60000000

const char *const vs_share_name[VS_SHARES] = {[VS_SHARE_NONE] = "none",
                                              [VS_SHARE_UNIT] = "unit",
                                              [VS_SHARE_CLIENT_IDS] = "client_ids",
                                              [VS_SHARE_CLIENT_REQUESTS] = "client_requests",
                                              [VS_SHARE_ADDRESS_IDS] = "address_ids",
                                              [VS_SHARE_ADDRESS_REQUESTS] = "address_requests",
                                              [VS_SHARE_NAMESPACE_IDS] = "namespace_ids",
                                              [VS_SHARE_NAMESPACE_REQUESTS] = "namespace_requests"};

/* ------------------------------------------------------------------ rates */

/* The buckets that a request is charged to, with what each is. */
struct buckets {
    int count;
    struct {
        struct vs_bucket *bucket;
        int kind;
    } at[3];
};

static void add_bucket(struct buckets *b, struct vs_bucket *bucket, int kind) {
    if (!vs_bucket_rate(bucket)) return;
    b->at[b->count].bucket = bucket;
    b->at[b->count++].kind = kind;
}

/* `ns` NULL: no namespace is charged. */
static struct buckets buckets_of(struct vs_request *r, bool requests, struct vs_namespace *ns) {
    struct vs_party *client = r->session->share.client, *address = vs_address_of(r->session);
    struct buckets b = {.count = 0};
    if (client) add_bucket(&b, requests ? &client->requests : &client->ids, VS_SHARE_CLIENT_IDS + requests);
    if (address) add_bucket(&b, requests ? &address->requests : &address->ids, VS_SHARE_ADDRESS_IDS + requests);
    if (ns) add_bucket(&b, requests ? &ns->requests : &ns->ids, VS_SHARE_NAMESPACE_IDS + requests);
    return b;
}

static struct vs_namespace *namespace_of(const struct vs_request *r) {
    return r->tag ? NULL : r->ns;
}

static int64_t now_ns(const struct vs_session *s) {
    return s->scratch->now_us * 1000;
}

/* How long the request may wait yet. */
static int64_t patience_us(const struct vs_request *r) {
    const struct vs_waiting *waiting = &r->session->waiting;
    const struct vesta_clock *clock = r->session->app->clock;
    int64_t most = r->tag ? r->tag->wait_us_max : r->ns->wait_us_max;
    return waiting->deadline_us == 0 ? most : waiting->deadline_us - clock->boot_us(clock->self);
}

static bool hold(struct vs_request *r, int kind, int64_t wait_us) {
    r->held = kind;
    r->pause = (struct vesta_pause){.why = VESTA_FULL, .wait_us = wait_us > 1000 ? wait_us : 1000};
    return false;
}

/* Charges n to all of them, or to none if the turn at one is too late: false.  The turn may come later. */
static bool charge(struct vs_request *r, const struct buckets *b, uint64_t n) {
    struct vs_charged *charged = &r->session->waiting.charged;
    int64_t now = now_ns(r->session), patience = patience_us(r) * 1000;
    for (int i = 0; i < b->count; i++) {
        int64_t wait = vs_bucket_take(b->at[i].bucket, n, now, patience);
        if (wait < 0) {
            for (int before = 0; before < i; before++)
                vs_bucket_give(b->at[before].bucket, n);
            return hold(r, b->at[i].kind, -wait / 1000 + 1);
        }
        int64_t due_us = wait > 0 ? r->session->scratch->now_us + wait / 1000 + 1 : 0;
        if (due_us > charged->due_us) charged->due_us = due_us, charged->kind = b->at[i].kind;
    }
    return true;
}

bool vs_shares_is_early(struct vs_request *r) {
    struct vs_charged *charged = &r->session->waiting.charged;
    int64_t wait_us = charged->due_us - r->session->scratch->now_us;
    if (charged->due_us == 0) return false;
    if (wait_us > 0) return !hold(r, charged->kind, wait_us);
    charged->due_us = 0;
    return false;
}

static bool charge_namespace(struct vs_request *r, uint64_t n) {
    struct buckets b = {.count = 0};
    add_bucket(&b, &r->ns->requests, VS_SHARE_NAMESPACE_REQUESTS);
    return charge(r, &b, n);
}

/* All that a transaction asks of namespaces, before any of it is answered. */
static bool charge_transaction(struct vs_request *r) {
    struct vs_asked_of of;
    for (size_t i = 0; vs_multi_asks(r->session, i, &of); i++) {
        vs_request_turn(r, &r->session->app->ns[of.ns]);
        if (!charge_namespace(r, of.requests)) return false;
    }
    return true;
}

bool vs_shares_admit(struct vs_request *r) {
    const struct vs_session *s = r->session;
    bool is_exec = r->call->handler == vs_on_exec && s->multi;
    if (s->protocol == VS_ADMIN || r->call->flags & VS_CALL_OPEN) return true;
    struct buckets b = buckets_of(r, true, NULL);
    return charge(r, &b, is_exec ? vs_get(&s->member.commands) : 1) && (!is_exec || charge_transaction(r)) &&
           !vs_shares_is_early(r);
}

bool vs_shares_enter(struct vs_request *r) {
    struct vs_session *s = r->session;
    uint64_t *charged_run = &s->scratch->queue[VS_QUEUE_OF_IDS + (r->ns - s->app->ns)].charged_run;
    bool is_transaction = vs_multi_hands_out(s);
    if (s->protocol == VS_ADMIN || !vs_bucket_rate(&r->ns->requests)) return true;
    if (*charged_run == s->scratch->run || (is_transaction && !vs_multi_is_counting(s))) return true;
    *charged_run = s->scratch->run;
    return is_transaction ? vs_multi_ask(r) : charge_namespace(r, 1);
}

void vs_shares_also(struct vs_request *r, uint64_t n) {
    struct buckets b = buckets_of(r, true, namespace_of(r));
    for (int i = 0; i < b.count; i++)
        (void)vs_bucket_take(b.at[i].bucket, n, now_ns(r->session), INT64_MAX / 4);
}

/* What can be had without owing any, one at least. */
static uint64_t at_once(struct vs_session *s, const struct buckets *b, uint64_t want) {
    for (int i = 0; i < b->count; i++) {
        uint64_t room = vs_bucket_room(b->at[i].bucket, now_ns(s));
        if (want > room) want = room > 0 ? room : 1;
    }
    return want;
}

static bool charge_ids(struct vs_request *r, uint64_t want, bool exact, uint64_t *may) {
    struct vs_charged *charged = &r->session->waiting.charged;
    if (charged->ids == 0) {
        struct buckets b = buckets_of(r, false, namespace_of(r));
        if (b.count == 0) return true;
        uint64_t n = exact ? want : at_once(r->session, &b, want);
        if (!charge(r, &b, n)) return false;
        charged->ids = n;
        charged->client = r->session->share.client;
        charged->of = r->tag ? NULL : r->ns;
    }
    if (vs_shares_is_early(r)) return false;
    if (*may > charged->ids) *may = charged->ids;
    return true;
}

void vs_shares_settle(struct vs_session *s) {
    uint64_t n = s->waiting.charged.ids;
    if (n > 0 && s->waiting.charged.client) vs_bucket_give(&s->waiting.charged.client->ids, n);
    if (n > 0 && s->share.address) vs_bucket_give(&s->share.address->ids, n);
    if (n > 0 && s->waiting.charged.of) vs_bucket_give(&s->waiting.charged.of->ids, n);
    s->waiting.charged = (struct vs_charged){0};
}

/* ------------------------------------------------------------------ what there is */

/* Where ids may be ahead of the clock, or are borrowed, a part of that is for those who come anew, always; else one of
 * what the unit has, as long as it lasts.  Nobody reaches either alone. */
static bool supply_of(struct vs_request *r, struct vs_supply *out) {
    struct vs_room room;
    if (!r->gen || !vs_gen_room(r->gen, &room) || room.unit < UNIT_MIN) return false;
    double units = (double)room.span / (double)room.unit;
    bool is_long = room.unit_us >= VS_SHORT_US, is_wide = room.span > room.unit;
    int64_t span_us = units * (double)room.unit_us < 1e15 ? (int64_t)(units * (double)room.unit_us) : (int64_t)1e15;
    uint64_t kept = is_wide ? room.span / KEPT_PART
                            : (uint64_t)((double)room.unit / KEPT_PART * (double)room.next_us / (double)room.unit_us);
    double rate = (double)room.unit * 1e6 / (double)room.unit_us;
    *out = (struct vs_supply){.rate = rate < 1 ? 1 : rate < 1e12 ? (uint64_t)rate : VS_SHARE_RATE_MAX,
                              .filled_us = is_long ? room.unit_us : span_us,
                              .room = room.ids,
                              .kept = kept,
                              .next_us = is_long ? room.next_us : 0};
    r->session->scratch->look_every = room.unit / LOOKS > 0 ? room.unit / LOOKS : 1;
    return true;
}

static void look(struct vs_request *r, uint64_t n) {
    struct vs_supply supply;
    struct vs_scratch *scratch = r->session->scratch;
    scratch->unlooked = 0;
    if (supply_of(r, &supply) && vs_supply_is_low(&supply, n)) vs_pot_share(&r->ns->pot, &supply, scratch->now_us);
}

void vs_shares_full(struct vs_request *r) {
    struct vs_supply supply;
    struct vs_session *s = r->session;
    if (r->tag || !s->app->shares || s->protocol == VS_ADMIN || !supply_of(r, &supply)) return;
    vs_pot_share(&r->ns->pot, &supply, s->scratch->now_us);
    vs_purse_waits(&s->share.purse, vs_stake_of(r), &r->ns->pot, s->scratch->now_us);
}

static bool share_unit(struct vs_request *r, uint64_t *may) {
    struct vs_session *s = r->session;
    struct vs_supply supply;
    int64_t now_us = s->scratch->now_us, took_us = vs_pot_due(&r->ns->pot, now_us);
    if (took_us && supply_of(r, &supply)) vs_pot_reckon(&r->ns->pot, &supply, took_us, now_us);
    uint64_t has = vs_purse_may(&s->share.purse, vs_stake_of(r), &r->ns->pot, *may, now_us);
    if (has == 0) return hold(r, VS_SHARE_UNIT, s->share.purse.wait_us);
    *may = has;
    return true;
}

bool vs_shares_ask(struct vs_request *r, uint64_t want, bool exact, uint64_t *may) {
    struct vs_session *s = r->session;
    *may = want;
    r->held = VS_SHARE_NONE;
    if (!s->app->shares) return true;
    if (s->share.is_metered && !charge_ids(r, want, exact, may)) return false;
    if (r->tag) return true;
    if (want >= VS_SHARES_FROM && !vs_pot_is_shared(&r->ns->pot)) look(r, *may);
    return !vs_pot_is_shared(&r->ns->pot) || share_unit(r, may);
}

void vs_shares_took(struct vs_request *r, uint64_t n) {
    struct vs_session *s = r->session;
    struct vs_charged *charged = &s->waiting.charged;
    if (!s->app->shares) return;
    charged->ids -= n < charged->ids ? n : charged->ids;
    if (r->tag) return;
    if (vs_pot_is_shared(&r->ns->pot))
        vs_purse_took(&s->share.purse, vs_stake_of(r), &r->ns->pot, n);
    else if (s->scratch->unlooked >= s->scratch->look_every)
        look(r, 0);
}

/* ------------------------------------------------------------------ what is said */

static void tell(struct vs_request *r, struct vs_party *party) {
    char text[VS_PARTY_TEXT_MAX];
    int64_t now_us = r->session->scratch->now_us;
    int64_t told_us = atomic_load_explicit(&party->told_us, memory_order_relaxed);
    if (told_us != 0 && now_us - told_us < TELL_US) return;
    if (!atomic_compare_exchange_strong_explicit(&party->told_us, &told_us, now_us, memory_order_relaxed,
                                                 memory_order_relaxed))
        return; /* another loop does */
    vs_log(VS_LOG_WARN, "a client is held to its share", "who", vs_party_text(party, text), "share",
           vs_share_name[r->held], "namespace", r->tag ? r->tag->name : r->gen ? r->ns->name : NULL, "held",
           VS_DIGITS((int64_t)atomic_load_explicit(&party->held, memory_order_relaxed)), "refused",
           VS_DIGITS((int64_t)atomic_load_explicit(&party->refused, memory_order_relaxed)), NULL);
}

void vs_shares_note(struct vs_request *r, bool is_refused) {
    struct vs_session *s = r->session;
    struct vs_party *party = vs_party_of(s);
    if (!is_refused && s->waiting.charged.is_held) return;
    s->waiting.charged.is_held = true;
    vs_add(is_refused ? &s->scratch->counts->over[r->held] : &s->scratch->counts->held[r->held], 1);
    atomic_fetch_add_explicit(is_refused ? &party->refused : &party->held, 1, memory_order_relaxed); /* a count */
    tell(r, party);
}

/* Whose it is, and how much it has. */
static void describe(struct vs_request *r, char *text, size_t size) {
    char who[VS_PARTY_TEXT_MAX];
    struct vs_session *s = r->session;
    bool of_requests = r->held != VS_SHARE_UNIT && (r->held - VS_SHARE_CLIENT_IDS) % 2;
    const char *what = of_requests ? "requests" : "ids";
    struct buckets b = buckets_of(r, of_requests, namespace_of(r));
    uint64_t rate = 0;
    for (int i = 0; i < b.count; i++)
        if (b.at[i].kind == r->held) rate = vs_bucket_rate(b.at[i].bucket);
    if (r->held == VS_SHARE_UNIT) {
        struct vs_party *party = vs_party_of(s);
        uint64_t part = vs_pot_part(&r->ns->pot, atomic_load_explicit(&party->weight, memory_order_relaxed));
        snprintf(text, size, "%s has had its part of '%s', %" PRIu64 " ids a second while others want them",
                 vs_party_text(party, who), r->ns->name, part);
    } else if (r->held >= VS_SHARE_NAMESPACE_IDS) {
        snprintf(text, size, "'%s' has given its rate, %" PRIu64 " %s a second", r->ns->name, rate, what);
    } else {
        struct vs_party *party = r->held < VS_SHARE_ADDRESS_IDS ? s->share.client : vs_address_of(s);
        snprintf(text, size, "%s has had its rate, %" PRIu64 " %s a second", vs_party_text(party, who), rate, what);
    }
}

enum vs_reply_state vs_shares_refuse(struct vs_request *r) {
    char text[400];
    int64_t wait_ms = (r->pause.wait_us + 999) / 1000;
    describe(r, text, sizeof text);
    vs_shares_note(r, true);
    r->retry_after_s = wait_ms / 1000 < 86400 ? (int)((wait_ms + 999) / 1000) : 86400;
    return vs_refuse(r, "over_share", "%s: again in %" PRId64 ".%01" PRId64 " s", text, wait_ms / 1000,
                     wait_ms % 1000 / 100);
}
