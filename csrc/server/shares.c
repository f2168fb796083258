/* shares.c -- charges requests to rate limits and fair shares (see shares.h). */
#include "generator/generator.h"
#include "log/log.h"
#include "server/commands.h"
#include "server/resp/multi.h"
#include "server/shares.h"

#include <inttypes.h>
#include <stdio.h>

#define UNIT_MIN 64 /* time units with fewer ids are not divided fairly, but first come, first served */
#define LOOKS 64    /* checks of the remaining ids per time unit, if ids are taken one by one */
#define KEPT_PART 8

const char *const vs_share_name[VS_SHARES] = {[VS_SHARE_NONE] = "none",
                                              [VS_SHARE_UNIT] = "unit",
                                              [VS_SHARE_CLIENT_IDS] = "client_ids",
                                              [VS_SHARE_CLIENT_REQUESTS] = "client_requests",
                                              [VS_SHARE_ADDRESS_IDS] = "address_ids",
                                              [VS_SHARE_ADDRESS_REQUESTS] = "address_requests",
                                              [VS_SHARE_NAMESPACE_IDS] = "namespace_ids",
                                              [VS_SHARE_NAMESPACE_REQUESTS] = "namespace_requests"};

void vs_shares_look(struct vs_session *s) {
    const struct vs_account *account = s->protocol == VS_ADMIN ? NULL : s->grant.account;
    if (!s->entry.address) return;
    ledger_know(s->server->ledger, &s->entry, account ? account->name : NULL, s->grant.secret || s->certified,
                s->scratch->now_us);
    s->is_metered =
        s->protocol != VS_ADMIN && (s->server->rules.has_rates || ledger_is_metered(s->server->ledger, &s->entry));
}

/* ------------------------------------------------------------------ rates */

static struct ledger_rates *share_namespace(const struct vs_request *r) {
    return r->tag ? NULL : &r->ns->rates;
}

/* Returns how long the request may still wait. */
static int64_t share_patience_us(const struct vs_request *r) {
    const struct vs_waiting *waiting = &r->session->waiting;
    const struct vesta_clock *clock = r->session->server->clock;
    int64_t most = r->tag ? r->tag->wait_us_max : r->ns->wait_us_max;
    return waiting->deadline_us == 0 ? most : waiting->deadline_us - clock->boot_us(clock->self);
}

static bool share_hold(struct vs_request *r, int kind, int64_t wait_us) {
    r->held = kind;
    r->pause = (struct vesta_pause){.why = VESTA_FULL, .wait_us = wait_us > 1000 ? wait_us : 1000};
    return false;
}

/* Charges n to the entry and the namespace, either of which may be NULL.  If the request would have to wait too long,
 * charges nothing and returns false. */
static bool share_charge(struct vs_request *r, struct ledger_entry *entry, struct ledger_rates *of_namespace,
                         enum ledger_kind kind, uint64_t n) {
    struct vs_charged *charged = &r->session->waiting.charged;
    int64_t now_us = r->session->scratch->now_us;
    enum ledger_owner who = LEDGER_CLIENT;
    int64_t wait_us = ledger_charge(entry, of_namespace, kind, n, now_us, share_patience_us(r), &who);
    int held = VS_SHARE_CLIENT_IDS + LEDGER_KINDS * (int)who + (int)kind;
    if (wait_us < 0) return share_hold(r, held, -wait_us);
    if (wait_us > 0 && now_us + wait_us > charged->due_us) charged->due_us = now_us + wait_us, charged->kind = held;
    return true;
}

bool vs_shares_is_early(struct vs_request *r) {
    struct vs_charged *charged = &r->session->waiting.charged;
    int64_t wait_us = charged->due_us - r->session->scratch->now_us;
    if (charged->due_us == 0) return false;
    if (wait_us > 0) return !share_hold(r, charged->kind, wait_us);
    charged->due_us = 0;
    return false;
}

/* Charges all requests of a transaction to their namespaces. */
static bool share_charge_transaction(struct vs_request *r) {
    struct vs_asked_of of;
    for (size_t i = 0; vs_multi_asks(r->session, i, &of); i++) {
        vs_request_turn(r, &r->session->server->names.at[of.ns]);
        if (!share_charge(r, NULL, &r->ns->rates, LEDGER_REQUESTS, of.requests)) return false;
    }
    return true;
}

bool vs_shares_admit(struct vs_request *r) {
    struct vs_session *s = r->session;
    bool is_exec = r->call->flags & VS_CALL_EXEC && s->multi;
    if (s->protocol == VS_ADMIN || r->call->flags & VS_CALL_OPEN) return true;
    return share_charge(r, &s->entry, NULL, LEDGER_REQUESTS, is_exec ? s->multi->count + 1 : 1) &&
           (!is_exec || share_charge_transaction(r)) && !vs_shares_is_early(r);
}

bool vs_shares_enter(struct vs_request *r) {
    struct vs_session *s = r->session;
    uint64_t *charged_run = &s->scratch->queue[VS_QUEUE_OF_IDS + (r->ns - s->server->names.at)].charged_run;
    bool is_transaction = vs_multi_hands_out(s);
    if (s->protocol == VS_ADMIN || !access_bucket_rate(&r->ns->rates.of[LEDGER_REQUESTS])) return true;
    if (*charged_run == s->scratch->run || (is_transaction && !vs_multi_is_counting(s))) return true;
    *charged_run = s->scratch->run;
    return is_transaction ? vs_multi_ask(r) : share_charge(r, NULL, &r->ns->rates, LEDGER_REQUESTS, 1);
}

void vs_shares_also(struct vs_request *r, uint64_t n) {
    enum ledger_owner who;
    struct vs_session *s = r->session;
    (void)ledger_charge(&s->entry, share_namespace(r), LEDGER_REQUESTS, n, s->scratch->now_us, LEDGER_PATIENCE_US_MAX,
                        &who);
}

static bool share_charge_ids(struct vs_request *r, uint64_t want, bool exact, uint64_t *may) {
    struct vs_session *s = r->session;
    struct vs_charged *charged = &s->waiting.charged;
    if (charged->ids == 0) {
        struct ledger_rates *of_namespace = share_namespace(r);
        uint64_t n = exact ? want : ledger_room(&s->entry, of_namespace, LEDGER_IDS, want, s->scratch->now_us);
        if (!share_charge(r, &s->entry, of_namespace, LEDGER_IDS, n)) return false;
        charged->ids = n;
        charged->client = ledger_client_of(&s->entry);
        charged->of = r->tag ? NULL : r->ns;
    }
    if (vs_shares_is_early(r)) return false;
    if (*may > charged->ids) *may = charged->ids;
    return true;
}

void vs_shares_settle(struct vs_session *s) {
    struct vs_charged *charged = &s->waiting.charged;
    if (charged->ids > 0)
        ledger_return(&s->entry, charged->client, charged->of ? &charged->of->rates : NULL, LEDGER_IDS, charged->ids);
    *charged = (struct vs_charged){0};
}

/* ------------------------------------------------------------------ fair shares */

static uint32_t share_number(const struct vs_request *r) {
    return (uint32_t)(r->ns - r->session->server->names.at);
}

/* Computes how many ids the namespace can issue, and how many are reserved for new clients.  If ids may be taken ahead
 * of the clock, a fixed fraction of them is reserved.  Otherwise a fraction of the time unit is reserved, which shrinks
 * as the unit passes.  A single client does not notice either reserve.  Returns false if the ids are not divided. */
static bool share_supply(struct vs_request *r, struct access_supply *out) {
    struct vs_room room;
    if (!r->gen || !vs_gen_room(r->gen, &room) || room.unit < UNIT_MIN) return false;
    double units = (double)room.span / (double)room.unit;
    bool is_long = room.unit_us >= ACCESS_SHORT_US, is_wide = room.span > room.unit;
    int64_t span_us = units * (double)room.unit_us < 1e15 ? (int64_t)(units * (double)room.unit_us) : (int64_t)1e15;
    uint64_t kept = is_wide ? room.span / KEPT_PART
                            : (uint64_t)((double)room.unit / KEPT_PART * (double)room.next_us / (double)room.unit_us);
    double rate = (double)room.unit * 1e6 / (double)room.unit_us;
    *out = (struct access_supply){.rate = rate < 1      ? 1
                                          : rate < 1e12 ? (uint64_t)rate
                                                        : ACCESS_POOL_RATE_MAX,
                                  .filled_us = is_long ? room.unit_us : span_us,
                                  .room = room.ids,
                                  .kept = kept,
                                  .next_us = is_long ? room.next_us : 0};
    r->session->scratch->look_every = room.unit / LOOKS > 0 ? room.unit / LOOKS : 1;
    return true;
}

static void share_look(struct vs_request *r, uint64_t n) {
    struct access_supply supply;
    struct vs_scratch *scratch = r->session->scratch;
    scratch->unlooked = 0;
    if (share_supply(r, &supply) && access_supply_is_low(&supply, n))
        access_pool_share(&r->ns->pool, &supply, scratch->now_us);
}

void vs_shares_full(struct vs_request *r) {
    struct access_supply supply;
    struct vs_session *s = r->session;
    if (r->tag || !s->entry.address || s->protocol == VS_ADMIN || !share_supply(r, &supply)) return;
    access_pool_share(&r->ns->pool, &supply, s->scratch->now_us);
    ledger_empty(s->server->ledger, &s->entry, &r->ns->pool, share_number(r), s->scratch->now_us);
}

static bool share_part(struct vs_request *r, uint64_t *may) {
    struct vs_session *s = r->session;
    struct access_supply supply;
    int64_t now_us = s->scratch->now_us, took_us = access_pool_due(&r->ns->pool, now_us);
    if (took_us && share_supply(r, &supply)) access_pool_update(&r->ns->pool, &supply, took_us, now_us);
    uint64_t has = ledger_part(s->server->ledger, &s->entry, &r->ns->pool, share_number(r), *may, now_us);
    if (has == 0) return share_hold(r, VS_SHARE_UNIT, s->entry.claim.wait_us);
    *may = has;
    return true;
}

bool vs_shares_ask(struct vs_request *r, uint64_t want, bool exact, uint64_t *may) {
    *may = want;
    r->held = VS_SHARE_NONE;
    if (!r->session->entry.address) return true;
    if (r->session->is_metered && !share_charge_ids(r, want, exact, may)) return false;
    if (r->tag) return true;
    if (want >= VS_SHARES_FROM && !access_pool_is_shared(&r->ns->pool)) share_look(r, *may);
    return !access_pool_is_shared(&r->ns->pool) || share_part(r, may);
}

void vs_shares_took(struct vs_request *r, uint64_t n) {
    struct vs_session *s = r->session;
    struct vs_charged *charged = &s->waiting.charged;
    if (!s->entry.address) return;
    charged->ids -= n < charged->ids ? n : charged->ids;
    if (r->tag) return;
    if (access_pool_is_shared(&r->ns->pool))
        ledger_took(s->server->ledger, &s->entry, &r->ns->pool, share_number(r), n, s->scratch->now_us);
    else if (s->scratch->unlooked >= s->scratch->look_every)
        share_look(r, 0);
}

/* ------------------------------------------------------------------ counts, and replies */

void vs_shares_note(struct vs_request *r, bool is_refused) {
    struct vs_session *s = r->session;
    struct ledger_party *party = ledger_party_of(&s->entry);
    struct ledger_counts counts;
    char text[LEDGER_TEXT_MAX];
    if (!is_refused && s->waiting.charged.is_held) return;
    s->waiting.charged.is_held = true;
    vs_add(is_refused ? &s->scratch->counts->over[r->held] : &s->scratch->counts->held[r->held], 1);
    if (!ledger_note(party, is_refused, s->scratch->now_us, &counts)) return;
    vs_log(VS_LOG_WARN, "a client exceeds its share, so its requests wait or are rejected", "who",
           ledger_text(party, text), "share", vs_share_name[r->held], "namespace",
           r->tag   ? r->tag->name
           : r->gen ? r->ns->name
                    : NULL,
           "held", VS_DIGITS((int64_t)counts.held), "refused", VS_DIGITS((int64_t)counts.refused), NULL);
}

/* Writes a sentence about the exhausted share. */
static void share_describe(struct vs_request *r, char *text, size_t size) {
    char buf[LEDGER_TEXT_MAX];
    const struct ledger_entry *e = &r->session->entry;
    int owner = (r->held - VS_SHARE_CLIENT_IDS) / LEDGER_KINDS;
    enum ledger_kind kind = (r->held - VS_SHARE_CLIENT_IDS) % LEDGER_KINDS ? LEDGER_REQUESTS : LEDGER_IDS;
    const char *what = kind == LEDGER_IDS ? "ids" : "requests";
    if (r->held == VS_SHARE_UNIT) {
        const struct ledger_party *party = ledger_party_of(e);
        snprintf(text, size,
                 "%s has taken its fair share of '%s', %" PRIu64 " ids a second while other clients want ids",
                 ledger_text(party, buf), r->ns->name, access_pool_part(&r->ns->pool, ledger_weight(party)));
    } else if (owner == LEDGER_NAMESPACE) {
        snprintf(text, size, "'%s' has reached its rate limit, %" PRIu64 " %s a second", r->ns->name,
                 access_bucket_rate(&r->ns->rates.of[kind]), what);
    } else {
        const struct ledger_party *party = owner == LEDGER_CLIENT && e->client ? e->client : e->address;
        snprintf(text, size, "%s has reached its rate limit, %" PRIu64 " %s a second", ledger_text(party, buf),
                 ledger_rate(party, kind), what);
    }
}

enum vs_reply_state vs_shares_refuse(struct vs_request *r) {
    char text[400];
    int64_t wait_ms = r->pause.wait_us > 1000 ? (r->pause.wait_us + 999) / 1000 : 1;
    share_describe(r, text, sizeof text);
    vs_shares_note(r, true);
    r->retry_after_s = wait_ms / 1000 < 86400 ? (int)((wait_ms + 999) / 1000) : 86400;
    return vs_refuse(r, "over_share", "%s: try again in %" PRId64 ".%03" PRId64 " s", text, wait_ms / 1000,
                     wait_ms % 1000);
}
