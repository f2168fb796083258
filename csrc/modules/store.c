/* store.c -- the module `store`: stores, their namespaces, worker ids and counters, for the commands in lua/cli.  Does
 * not depend on any command, and prints nothing.
 *
 * A call that fails returns nil, a text and a word.  The word is the error's code, or the outcome of a write:
 * "conflict", "moved", "refused", "down", "unknown".  Every method that writes is one atomic step of the store, or
 * repeats a step that may safely be repeated.  Numbers of 64 bits appear as negative from 2^63 on. */
#include "modules/at.h"
#include "modules/host.h"
#include "modules/slow.h"
#include "modules/tables.h"

#include "command/command.h"
#include "keeper/options.h"
#include "number/form.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/random.h"
#include "store/lineage.h"
#include "store/watermark.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORES_CLASS "vesta.store"
#define STORES_WORKERS "vesta.store.workers"
#define STORES_COUNTERS "vesta.store.counters"
#define STORES_FORM "vesta.store.form"
#define STORES_TRIES_MAX 5   /* maximum attempts to write a mark while other processes write the same record */
#define STORES_TAKES_MAX 50  /* maximum attempts to take numbers while other writers are faster */
#define STORES_SLACK_MS 1000 /* a mark that ends at most this much earlier counts as unchanged */
/* Prefix of the identity of marks (no holder has this prefix unless its operator chose it). */
#define STORES_MARK "import:"

/* ------------------------------------------------------------------ results */

static const char *stores_outcome(enum vs_outcome outcome) {
    static const char *const names[] = {
        [VS_STORE_OK] = "ok",           [VS_STORE_CONFLICT] = "conflict", [VS_STORE_MOVED] = "moved",
        [VS_STORE_REFUSED] = "refused", [VS_STORE_DOWN] = "down",         [VS_STORE_UNKNOWN] = "unknown"};
    return names[outcome];
}

/* Pushes true, or nil, text, outcome, words, remedy.  text: a human-readable message, or "" for a conflict without a
 * reason.  words and remedy: the two parts of the reason.  remedy may be nil.  If the store gave no reason, words is ""
 * and remedy is nil. */
static int stores_done(lua_State *L, const struct vs_reply *reply) {
    char text[VS_REPLY_TEXT_MAX + 200];
    if (reply->outcome == VS_STORE_OK) return lua_pushboolean(L, 1), 1;
    lua_pushnil(L);
    const char *otherwise = reply->outcome == VS_STORE_CONFLICT ? "" : "the store gave no reason";
    lua_pushstring(L, vs_reply_say(reply, otherwise, text, sizeof text));
    lua_pushstring(L, stores_outcome(reply->outcome));
    lua_pushstring(L, reply->text);
    lua_pushstring(L, vs_fault_remedy(reply->fault));
    return 5;
}

/* ------------------------------------------------------------------ a store */

static struct vs_at *stores_self(lua_State *L) {
    struct vs_at *at = luaL_checkudata(L, 1, STORES_CLASS);
    luaL_argcheck(L, at->store, 1, "the store is closed");
    return at;
}

/* store.open(uri, namespace or nil, secret or nil) -> store | nil, text, code
 * Connects to no server. */
static int stores_open(lua_State *L) {
    struct vesta_error err;
    lua_settop(L, 3);
    struct vs_at *at = lua_newuserdatauv(L, sizeof *at, 3);
    *at = (struct vs_at){
        .uri = luaL_checkstring(L, 1), .name = luaL_optstring(L, 2, NULL), .secret = luaL_optstring(L, 3, NULL)};
    for (int i = 1; i <= 3; i++) { /* the user values keep the strings alive */
        lua_pushvalue(L, i);
        lua_setiuservalue(L, -2, i);
    }
    luaL_setmetatable(L, STORES_CLASS);
    return vs_at_open(at, &err) == VESTA_OK ? 1 : host_fail(L, &err);
}

static int stores_close(lua_State *L) {
    vs_at_close(luaL_checkudata(L, 1, STORES_CLASS));
    return 0;
}

/* store:about() -> { scheme, made, rights, has_counters, makes_table }
 * made: a description of what init creates.  rights: a description of the rights that users need.  makes_table: an
 * operator must create a table of counters. */
static int stores_about(lua_State *L) {
    const struct vs_backend *backend = stores_self(L)->store->backend;
    lua_createtable(L, 0, 5);
    host_set_text(L, "scheme", backend->scheme);
    host_set_text(L, "made", backend->made);
    host_set_text(L, "rights", backend->rights);
    host_set_flag(L, "has_counters", backend->counters);
    host_set_flag(L, "makes_table", backend->counters && backend->counters->tag_init);
    return 1;
}

/* store:init() -> true | nil, text, outcome.  Creates the tables or nodes that are missing. */
static int stores_init(lua_State *L) {
    struct vs_reply reply;
    vs_store_init(stores_self(L)->store, &reply);
    return stores_done(L, &reply);
}

static void stores_add_name(void *to, const char *name) {
    lua_State *L = to;
    if (vs_namespace_check(name, NULL) != VESTA_OK) return; /* the namespace belongs to another program */
    lua_pushstring(L, name);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/* store:names() -> the names of the store's namespaces, in no order | nil, text, outcome */
static int stores_names(lua_State *L) {
    struct vs_at *at = stores_self(L);
    struct vs_reply reply;
    lua_newtable(L);
    at->store->leases->names(at->store, NULL, stores_add_name, L, &reply);
    return reply.outcome == VS_STORE_OK ? 1 : stores_done(L, &reply);
}

/* ------------------------------------------------------------------ a namespace */

static void stores_hex(lua_State *L, const char *key, uint64_t value) {
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, value);
    host_set_text(L, key, text);
}

static int stores_push_namespace(lua_State *L, const struct vs_at *at) {
    lua_createtable(L, 0, 10);
    host_set_flag(L, "is_there", at->ns.ver != 0);
    host_set_integer(L, "store_ms", at->store_ms);
    if (at->ns.ver == 0) return 1;
    host_set_text(L, "layout", at->ns.layout);
    stores_hex(L, "fingerprint", at->ns.fingerprint);
    stores_hex(L, "incarnation", at->ns.incarnation);
    host_set_integer(L, "worker_max", (int64_t)at->worker_max);
    if (at->ns.floor_ms) host_set_integer(L, "floor_ms", at->ns.floor_ms);
    if (at->ns.mark_ms) host_set_integer(L, "mark_ms", at->ns.mark_ms);
    if (at->ns.static_count) {
        host_set_integer(L, "static_first", (int64_t)at->ns.static_first);
        host_set_integer(L, "static_last", (int64_t)(at->ns.static_first + at->ns.static_count - 1));
    }
    return 1;
}

/* store:namespace() -> { is_there, store_ms, layout, fingerprint, incarnation, worker_max, floor_ms, mark_ms,
 * static_first, static_last } | nil, text, code
 * floor_ms and the members after it may be nil.  store:need() returns the same, but fails if the namespace does
 * not exist. */
static int stores_namespace(lua_State *L) {
    struct vs_at *at = stores_self(L);
    struct vesta_error err;
    return vs_at_read(at, &err) == VESTA_OK ? stores_push_namespace(L, at) : host_fail(L, &err);
}

static int stores_need(lua_State *L) {
    struct vs_at *at = stores_self(L);
    struct vesta_error err;
    return vs_at_need(at, &err) == VESTA_OK ? stores_push_namespace(L, at) : host_fail(L, &err);
}

static uint64_t stores_number(lua_State *L, int arg, const char *key) {
    lua_getfield(L, arg, key);
    uint64_t number = (uint64_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return number;
}

/* Creates the first record of a namespace from { layout, static_first, static_last } at `arg`.  Returns false if there
 * are no random bytes. */
static bool stores_fresh(lua_State *L, int arg, struct vs_ns_record *ns) {
    const char *text = host_get_text(L, arg, "layout");
    struct vesta_layout layout;
    luaL_argcheck(L, vesta_layout_parse(text ? text : "", &layout, NULL) == VESTA_OK, arg, "a layout");
    *ns = (struct vs_ns_record){.ver = 1, .fingerprint = layout.fingerprint};
    vesta_layout_text(&layout, ns->layout);
    if (host_get_text(L, arg, "static_first")) {
        ns->static_first = stores_number(L, arg, "static_first");
        ns->static_count = stores_number(L, arg, "static_last") - ns->static_first + 1;
    }
    if (vs_random(&ns->incarnation, sizeof ns->incarnation) != 0) return false;
    ns->incarnation |= 1;
    return true;
}

static int stores_no_random(lua_State *L) {
    lua_pushnil(L);
    lua_pushliteral(L, "no random bits");
    return 2;
}

static const struct vs_lease_timing *stores_timing(lua_State *L, int arg) {
    const struct vs_lease_timing *timing = vs_lease_preset(luaL_checkstring(L, arg));
    luaL_argcheck(L, timing, arg, "the name of a lease preset");
    return timing;
}

/* store:create({ layout, static_first, static_last }, lease or nil) -> the namespace | nil, text, outcome
 * "conflict": the namespace already exists.  `lease` is set if the store had the namespace and lost it.  In this case
 * the namespace gets a floor as in store:advance(), and store:namespace() must be called first. */
static int stores_create(lua_State *L) {
    struct vs_at *at = stores_self(L);
    struct vs_ns_record fresh;
    struct vs_reply reply;
    if (!stores_fresh(L, 2, &fresh)) return stores_no_random(L);
    if (!lua_isnoneornil(L, 3)) {
        fresh.ver = 0;
        vs_ns_put_right(&fresh, stores_timing(L, 3), at->store_ms, fresh.incarnation);
    }
    at->store->leases->ns_swap(at->store, 0, &fresh, &reply);
    return reply.outcome == VS_STORE_OK ? stores_need(L) : stores_done(L, &reply);
}

/* store:advance({ layout, static_first, static_last }, lease) -> true | nil, text, outcome
 * Begins a new incarnation with a floor above everything that was granted with this lease.  Creates the namespace if it
 * is missing. */
static int stores_advance(lua_State *L) {
    struct vs_at *at = stores_self(L);
    struct vs_ns_record fresh;
    struct vs_reply reply;
    if (!stores_fresh(L, 2, &fresh)) return stores_no_random(L);
    vs_store_advance(at->store, &fresh, stores_timing(L, 3), &reply);
    return stores_done(L, &reply);
}

/* store:lower(floor_ms or nil, mark_ms) -> true | nil, text, outcome
 * Begins a new incarnation with a lower floor, and limits the mark of watermarks to mark_ms, if the record has not
 * changed since store:namespace() last returned it. */
static int stores_lower(lua_State *L) {
    struct vs_at *at = stores_self(L);
    struct vs_ns_record next = at->ns;
    struct vs_reply reply;
    next.ver++;
    if (!lua_isnoneornil(L, 2)) {
        next.floor_ms = luaL_checkinteger(L, 2);
        if (vs_random(&next.incarnation, sizeof next.incarnation) != 0) return stores_no_random(L);
        next.incarnation |= 1;
    }
    if (next.mark_ms > luaL_checkinteger(L, 3)) next.mark_ms = luaL_checkinteger(L, 3);
    at->store->leases->ns_swap(at->store, at->ns.ver, &next, &reply);
    return stores_done(L, &reply);
}

/* store:watermark(starts) -> { id, time_ms, store_ms, sorts, why, off_ms, text, worker, holder, since_ms, passes_ms }
 * | nil, text, code
 * id is nil if the ids do not sort by time.  `why` is then the reason.  off_ms: how far this machine's clock is ahead,
 * or nil if it agrees with the store's.  text describes what holds the watermark back.
 * worker and the following members are of the holder that does.  They may be nil. */
static int stores_watermark(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    char text[VS_WATERMARK_TEXT_MAX];
    struct vs_watermark mark;
    struct vesta_error err;
    if (vs_watermark_read(at->store, at->name, lua_toboolean(L, 2), &mark, &err) != VESTA_OK) return host_fail(L, &err);
    lua_createtable(L, 0, 10);
    if (mark.sorts) host_set_integer(L, "id", (int64_t)mark.id);
    if (!mark.sorts) host_set_text(L, "why", mark.why);
    host_set_flag(L, "sorts", mark.sorts);
    host_set_integer(L, "time_ms", mark.time_us / 1000);
    host_set_integer(L, "store_ms", mark.store_ms);
    if (mark.off_ms) host_set_integer(L, "off_ms", mark.off_ms);
    if (*vs_watermark_text(&mark, text)) host_set_text(L, "text", text);
    if (!mark.holder.record.ver) return 1;
    host_set_integer(L, "worker", (int64_t)mark.holder.worker);
    host_set_text(L, "holder", mark.holder.record.holder);
    host_set_integer(L, "since_ms", mark.holder.record.written_ms);
    host_set_integer(L, "passes_ms", mark.passes_ms);
    return 1;
}

/* store:tick(unix_ms or nil) -> the namespace's tick at that time (nil: the tick after the layout's last) */
static int stores_tick(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    bool has_time = !lua_isnoneornil(L, 2);
    lua_pushinteger(
        L, (lua_Integer)(has_time ? vs_tick_at(&at->shape, luaL_checkinteger(L, 2) * 1000) : vs_tick_end(&at->shape)));
    return 1;
}

/* ------------------------------------------------------------------ generations of a namespace */

static struct vs_lineage stores_lineage(const struct vs_at *at) {
    return (struct vs_lineage){.uri = at->uri,
                               .secret = at->secret,
                               .name = at->name,
                               .clock = vs_clock_system(),
                               .call_ms_max = VS_OPERATOR_CALL_MS};
}

/* store:admit(layout) -> true | nil, text, code
 * Checks by the namespace's name whether it may be created with this layout. */
static int stores_admit(lua_State *L) {
    struct vs_lineage lineage = stores_lineage(stores_self(L));
    struct vesta_layout layout;
    struct vesta_error err;
    if (vesta_layout_parse(luaL_checkstring(L, 2), &layout, &err) != VESTA_OK ||
        vs_lineage_admit(&lineage, &layout, &err) != VESTA_OK)
        return host_fail(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

/* store:extend(layout) -> { leased_as, layout, is_new } | nil, text, code
 * Creates the next generation of the namespace, after proving that its ids differ from those of earlier generations. */
static int stores_extend(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    struct vs_lineage lineage = stores_lineage(at);
    struct vesta_layout layout;
    struct vesta_error err;
    char name[VESTA_NAMESPACE_MAX], text[VESTA_LAYOUT_TEXT_MAX];
    unsigned n;
    bool is_new;
    if (vesta_layout_parse(luaL_checkstring(L, 2), &layout, &err) != VESTA_OK ||
        vs_lineage_extend(&lineage, &layout, &n, &is_new, &err) != VESTA_OK)
        return host_fail(L, &err);
    vesta_layout_text(&layout, text);
    lua_createtable(L, 0, 3);
    host_set_text(L, "leased_as", vs_generation_name(at->name, n, name));
    host_set_text(L, "layout", text);
    host_set_flag(L, "is_new", is_new);
    return 1;
}

/* store.lifetime(layout) -> a warning or "", the layout's last instant in Unix milliseconds | nil, text, code
 * Checks whether ids of this layout can be made now. */
static int stores_lifetime(lua_State *L) {
    struct vesta_layout layout;
    struct vesta_error err;
    char warning[256];
    luaL_argcheck(L, vesta_layout_parse(luaL_checkstring(L, 1), &layout, NULL) == VESTA_OK, 1, "a layout");
    if (vs_check_lifetime(&layout, vs_clock_system(), warning, sizeof warning, &err) != VESTA_OK)
        return host_fail(L, &err);
    lua_pushstring(L, warning);
    lua_pushinteger(L, vesta_layout_end_ms(&layout));
    return 2;
}

/* store.is_leased(layout, theirs) -> whether a process with the layout `layout` can lease from a namespace with the
 * layout `theirs` */
static int stores_is_leased(lua_State *L) {
    struct vesta_layout layout, own;
    struct vs_ns_record ns = {0};
    luaL_argcheck(L, vesta_layout_parse(luaL_checkstring(L, 1), &layout, NULL) == VESTA_OK, 1, "a layout");
    luaL_argcheck(L, vesta_layout_parse(luaL_checkstring(L, 2), &own, NULL) == VESTA_OK, 2, "a layout");
    vesta_layout_text(&own, ns.layout);
    ns.fingerprint = own.fingerprint;
    lua_pushboolean(L, vs_is_leased_to(&layout, &ns));
    return 1;
}

/* ------------------------------------------------------------------ worker ids */

struct stores_workers {
    struct vs_at at; /* the store and the namespace at the time when the worker ids were listed */
    struct vs_workers workers;
};

static struct stores_workers *stores_workers_self(lua_State *L, int arg) {
    return luaL_checkudata(L, arg, STORES_WORKERS);
}

static int stores_workers_gc(lua_State *L) {
    struct stores_workers *list = stores_workers_self(L, 1);
    free(list->workers.listed);
    list->workers = (struct vs_workers){0};
    return 0;
}

/* store:workers() -> list | nil, text, code
 * Call store:need() first.  #list is the number of worker ids that were ever used.  list:row(i) returns a row.  See
 * also list:counts(). */
static int stores_list(lua_State *L) {
    struct vs_at *at = stores_self(L);
    struct vesta_error err;
    struct stores_workers *list = lua_newuserdatauv(L, sizeof *list, 0);
    list->workers = (struct vs_workers){0};
    luaL_setmetatable(L, STORES_WORKERS);
    if (vs_at_list(at, &list->workers, &err) != VESTA_OK) return host_fail(L, &err);
    list->at = *at;
    return 1;
}

static int stores_workers_count(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)stores_workers_self(L, 1)->workers.count);
    return 1;
}

/* list:counts() -> { held, expired, free, never, store_ms }.  Counts the worker ids that the layout has. */
static int stores_workers_counts(lua_State *L) {
    const struct stores_workers *list = stores_workers_self(L, 1);
    lua_createtable(L, 0, VS_STANDINGS + 2);
    for (int i = 0; i < VS_STANDINGS; i++)
        host_set_integer(L, vs_standing_name((enum vs_standing)i), (int64_t)list->workers.standing[i]);
    host_set_integer(L, "never", (int64_t)list->workers.never);
    host_set_integer(L, "store_ms", list->at.store_ms);
    return 1;
}

/* list:row(i) -> { worker, state, left_ms, clock_ms, until, until_ms, written_ms, lease_ms, epoch, holder, identity,
 * is_own, is_in_range }
 * left_ms: set only if the worker id is leased.  clock_ms: how far the holder's clock is ahead of the store's clock.
 * until, until_ms: no id from this tick on was granted.  until_ms is nil if it is too large for a date.  is_own: the
 * record belongs to the layout.  is_in_range: the layout has that worker id. */
static int stores_workers_row(lua_State *L) {
    const struct stores_workers *list = stores_workers_self(L, 1);
    lua_Integer i = luaL_checkinteger(L, 2);
    luaL_argcheck(L, i >= 1 && (size_t)i <= list->workers.count, 2, "an index of the list");
    const struct vs_listed *listed = &list->workers.listed[i - 1];
    const struct vs_record *r = &listed->record;
    enum vs_standing standing = vs_standing_of(r, &list->at.shape, list->at.store_ms);
    int64_t until_us = vs_tick_unix_us(&list->at.shape, r->until);
    lua_createtable(L, 0, 13);
    host_set_integer(L, "worker", (int64_t)listed->worker);
    host_set_text(L, "state", vs_standing_name(standing));
    int64_t age_ms = list->at.store_ms > r->written_ms ? list->at.store_ms - r->written_ms : 0;
    if (standing == VS_STANDS_HELD)
        host_set_integer(L, "left_ms", vs_standing_length_ms(r, &list->at.shape) - age_ms);
    if (r->seen_ms && r->written_ms) host_set_integer(L, "clock_ms", r->seen_ms - r->written_ms);
    host_set_integer(L, "until", (int64_t)r->until);
    if (r->until < vs_tick_end(&list->at.shape) && until_us != INT64_MAX)
        host_set_integer(L, "until_ms", until_us / 1000);
    host_set_integer(L, "written_ms", r->written_ms);
    host_set_integer(L, "lease_ms", r->lease_ms);
    host_set_integer(L, "epoch", (int64_t)r->epoch);
    host_set_text(L, "holder", r->holder);
    host_set_text(L, "identity", r->identity);
    host_set_flag(L, "is_own", r->fingerprint == list->at.ns.fingerprint);
    host_set_flag(L, "is_in_range", listed->worker <= list->at.worker_max);
    return 1;
}

/* ------------------------------------------------------------------ marks: worker ids in use by another generator */

enum stores_deed { STORES_MARK_NEW, STORES_RAISE, STORES_SAME, STORES_CLASH };

static bool stores_is_mark(const struct vs_record *r) {
    return strncmp(r->identity, STORES_MARK, strlen(STORES_MARK)) == 0;
}

/* Returns what must be done to turn the existing record into the wanted record.  A mark must never end earlier than
 * before. */
static enum stores_deed stores_judge(const struct vs_at *at, const struct vs_record *now, struct vs_record *wanted) {
    int64_t store_ms = at->store_ms;
    if (now->ver == 0) return STORES_MARK_NEW;
    if (!stores_is_mark(now) && vs_standing_of(now, &at->shape, store_ms) == VS_STANDS_HELD) return STORES_CLASH;
    bool lasts = !wanted->held ||
                 (now->held && now->lease_ms >= store_ms + wanted->lease_ms - now->written_ms - STORES_SLACK_MS);
    if (stores_is_mark(now) && lasts && now->held == wanted->held && now->until >= wanted->until) return STORES_SAME;
    if (wanted->until < now->until) wanted->until = now->until;
    return STORES_RAISE;
}

/* Sets the members for watermarks.  An earlier holder may still issue ids, and then watermarks must wait for it.  While
 * the mark is held, there is no watermark. */
static void stores_mark_low(const struct vs_at *at, const struct vs_record *now, struct vs_record *next) {
    const struct vesta_clock *clock = at->store->clock;
    struct vs_mark_now time = {at->store_ms, clock->boot_us(clock->self) / 1000, at->store->backend->is_local};
    struct vs_mark_write write = {.claims = true, .stop_ms = time.boot_ms + 1, .cursor = next->until};
    struct vs_record was = *now;
    was.held &= !stores_is_mark(now); /* another generator has no position */
    vs_mark_put(next, &was, &at->shape, &write, &time);
    if (next->held) next->low = VS_LOW_NONE;
}

/* Writes the mark, unless the existing record makes that unnecessary or wrong.  If another process changed the record
 * first, decides again. */
static enum vs_outcome stores_write_mark(const struct vs_at *at, uint64_t worker, const struct vs_record *wanted,
                                         struct vs_record *now, enum stores_deed *deed, struct vs_reply *reply) {
    for (int tries = 0; tries < STORES_TRIES_MAX; tries++) {
        struct vs_record next = *wanted;
        *deed = stores_judge(at, now, &next);
        if (*deed == STORES_SAME || *deed == STORES_CLASH) return VS_STORE_OK;
        next.ver = now->ver + 1;
        next.epoch = now->epoch + 1;
        if (at->ns.mark_ms) stores_mark_low(at, now, &next);
        if (vs_random(next.owner, sizeof next.owner) != 0) {
            snprintf(reply->text, sizeof reply->text, "no random bits");
            return reply->outcome = VS_STORE_REFUSED;
        }
        at->store->leases->swap(at->store, worker, now->ver, &next, reply);
        if (reply->outcome != VS_STORE_CONFLICT) return reply->outcome;
        *now = reply->record;
    }
    return reply->outcome;
}

/* store:mark(list, worker, { until, is_held, lease_ms, identity, holder }, writes)
 *   -> "mark"|"raise"|"same"|"clash", the holder of the old record | nil, text, outcome
 * If `writes` is false, only returns what it would do according to the list. */
static int stores_mark(lua_State *L) {
    static const char *const deeds[] = {"mark", "raise", "same", "clash"};
    const struct vs_at *at = stores_self(L);
    const struct vs_record *listed =
        vs_workers_find(&stores_workers_self(L, 2)->workers, (uint64_t)luaL_checkinteger(L, 3));
    struct vs_record now = listed ? *listed : (struct vs_record){.ver = 0};
    struct vs_record wanted = {.fingerprint = at->ns.fingerprint,
                               .seen_ms = vs_now_ms(),
                               .until = stores_number(L, 4, "until"),
                               .lease_ms = (int64_t)stores_number(L, 4, "lease_ms")};
    struct vs_reply reply = {.outcome = VS_STORE_OK};
    enum stores_deed deed;
    lua_getfield(L, 4, "is_held");
    wanted.held = lua_toboolean(L, -1);
    snprintf(wanted.identity, sizeof wanted.identity, STORES_MARK "%s", host_get_text(L, 4, "identity"));
    snprintf(wanted.holder, sizeof wanted.holder, "%s", host_get_text(L, 4, "holder"));
    if (lua_toboolean(L, 5)) {
        if (stores_write_mark(at, (uint64_t)lua_tointeger(L, 3), &wanted, &now, &deed, &reply) != VS_STORE_OK)
            return stores_done(L, &reply);
    } else
        deed = stores_judge(at, &now, &wanted);
    lua_pushstring(L, deeds[deed]);
    lua_pushstring(L, now.holder);
    return 2;
}

/* The words for enum vs_foreign_kind. */
static const char *const stores_foreign_kinds[] = {[VS_BUTTERFLY_DB] = "butterfly-db",
                                                   [VS_BUTTERFLY_ZK] = "butterfly-zk",
                                                   [VS_LEAF] = "leaf",
                                                   [VS_UID] = "uid",
                                                   [VS_VESTA_DB] = "vesta",
                                                   [VS_FOREIGN_KINDS] = NULL};

/* store:foreign(kind, { name, table, worker_max, skip_first, skip_beyond }) -> { { worker, until_ms, wall_ms, who },
 * ... } in no order, { issued_first, issued_until, doubt, beyond } | nil, text, outcome
 * All members of the argument except worker_max may be nil.  beyond: how many worker ids exceed worker_max.  A few of
 * them are listed.  until_ms is nil if the holder never releases the worker id.  issued_until: every worker id from
 * issued_first to below it was issued (0: the generator does not count).  doubt: why issued_until may be too low, or
 * nil. */
static int stores_foreign(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    enum vs_foreign_kind kind = (enum vs_foreign_kind)luaL_checkoption(L, 2, NULL, stores_foreign_kinds);
    struct vs_foreign_list list = {.count = 0};
    struct vs_reply reply = {.outcome = VS_STORE_REFUSED};
    const struct vs_foreign_ask ask = {.kind = kind,
                                       .name = host_get_text(L, 3, "name"),
                                       .table = host_get_text(L, 3, "table"),
                                       .worker_max = stores_number(L, 3, "worker_max"),
                                       .skip_first = stores_number(L, 3, "skip_first"),
                                       .skip_beyond = stores_number(L, 3, "skip_beyond")};
    at->store->admin->foreign(at->store, &ask, &list, &reply);
    if (reply.outcome != VS_STORE_OK) return free(list.rows), stores_done(L, &reply);
    lua_createtable(L, (int)list.count, 0);
    for (size_t i = 0; i < list.count; i++) {
        lua_createtable(L, 0, 4);
        host_set_integer(L, "worker", (int64_t)list.rows[i].worker);
        if (list.rows[i].until_ms != VS_FOREIGN_EVER) host_set_integer(L, "until_ms", list.rows[i].until_ms);
        host_set_integer(L, "wall_ms", list.rows[i].wall_ms);
        host_set_text(L, "who", list.rows[i].who);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    free(list.rows);
    lua_createtable(L, 0, 4);
    host_set_integer(L, "beyond", (int64_t)list.beyond);
    host_set_integer(L, "issued_first", (int64_t)list.issued_first);
    host_set_integer(L, "issued_until", (int64_t)list.issued_until);
    host_set_text(L, "doubt", list.doubt);
    return 2;
}

/* ------------------------------------------------------------------ counters */

static struct vs_tag_list *stores_counters_self(lua_State *L) {
    return luaL_checkudata(L, 1, STORES_COUNTERS);
}

static int stores_counters_gc(lua_State *L) {
    struct vs_tag_list *list = stores_counters_self(L);
    free(list->rows);
    *list = (struct vs_tag_list){.count = 0};
    return 0;
}

static int stores_by_tag(const void *a, const void *b) {
    return strcmp(((const struct vs_tag_listed *)a)->tag, ((const struct vs_tag_listed *)b)->tag);
}

/* store:counters(table or nil) -> list, passed, strange | nil, text, outcome
 * Returns the rows of a table, sorted by name: #list, list:row(i), list:find(tag).  passed: the number of rows whose
 * names are not valid tags.  strange: the first such name. */
static int stores_counters(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    struct vs_reply reply;
    struct vs_tag_list *list = lua_newuserdatauv(L, sizeof *list, 0);
    *list = (struct vs_tag_list){.count = 0};
    luaL_setmetatable(L, STORES_COUNTERS);
    at->store->counters->tags(at->store, luaL_optstring(L, 2, NULL), list, &reply);
    if (reply.outcome != VS_STORE_OK) return stores_done(L, &reply);
    if (list->count > 1) qsort(list->rows, list->count, sizeof *list->rows, stores_by_tag);
    lua_pushinteger(L, (lua_Integer)list->passed);
    lua_pushstring(L, list->strange);
    return 3;
}

static int stores_counters_count(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)stores_counters_self(L)->count);
    return 1;
}

/* Pushes { tag, max, step, delta, remainder, updated_ms or nil }, or { tag, why } if the row cannot be used.  `why` is
 * the end of a sentence. */
static int stores_push_counter(lua_State *L, const struct vs_tag_listed *listed) {
    const char *why;
    const struct vs_tag *row = vs_tag_usable(listed, &why);
    lua_createtable(L, 0, 6);
    host_set_text(L, "tag", listed->tag);
    if (!row) return host_set_text(L, "why", why), 1;
    host_set_integer(L, "max", row->max);
    host_set_integer(L, "step", row->step);
    host_set_integer(L, "delta", row->delta);
    host_set_integer(L, "remainder", row->remainder);
    if (row->updated_ms) host_set_integer(L, "updated_ms", row->updated_ms);
    return 1;
}

static int stores_counters_row(lua_State *L) {
    const struct vs_tag_list *list = stores_counters_self(L);
    lua_Integer i = luaL_checkinteger(L, 2);
    luaL_argcheck(L, i >= 1 && (size_t)i <= list->count, 2, "an index of the list");
    return stores_push_counter(L, &list->rows[i - 1]);
}

/* list:find(tag) -> the tag's row, or nil */
static int stores_counters_find(lua_State *L) {
    const struct vs_tag_list *list = stores_counters_self(L);
    struct vs_tag_listed wanted;
    size_t length;
    const char *tag = luaL_checklstring(L, 2, &length);
    if (list->count == 0 || length >= sizeof wanted.tag) return lua_pushnil(L), 1;
    memcpy(wanted.tag, tag, length + 1);
    const struct vs_tag_listed *found = bsearch(&wanted, list->rows, list->count, sizeof *list->rows, stores_by_tag);
    return found ? stores_push_counter(L, found) : (lua_pushnil(L), 1);
}

/* Returns the counter in the arguments 2 (a table or nil) and 3 (a tag). */
static struct vs_counter stores_counter(lua_State *L) {
    return (struct vs_counter){luaL_optstring(L, 2, NULL), luaL_checkstring(L, 3)};
}

/* store:init_counters(table or nil) -> true | nil, text, outcome */
static int stores_init_counters(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    struct vs_reply reply;
    at->store->counters->tag_init(at->store, luaL_optstring(L, 2, NULL), &reply);
    return stores_done(L, &reply);
}

/* store:add(table, tag, from, step), store:set_step(table, tag, step), store:raise(table, tag, to)
 *   -> true | nil, text, outcome */
static int stores_add(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    const struct vs_counter counter = stores_counter(L);
    struct vs_reply reply;
    at->store->counters->tag_add(at->store, &counter, (uint64_t)luaL_checkinteger(L, 4),
                                 (uint64_t)luaL_checkinteger(L, 5), &reply);
    return stores_done(L, &reply);
}

static int stores_set_step(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    const struct vs_counter counter = stores_counter(L);
    struct vs_reply reply;
    at->store->counters->tag_step(at->store, &counter, (uint64_t)luaL_checkinteger(L, 4), &reply);
    return stores_done(L, &reply);
}

static int stores_raise(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    const struct vs_counter counter = stores_counter(L);
    struct vs_reply reply;
    at->store->counters->lift(at->store, &counter, (uint64_t)luaL_checkinteger(L, 4), &reply);
    return stores_done(L, &reply);
}

/* ------------------------------------------------------------------ numbers of a counter */

struct stores_form {
    struct vs_form form;
    struct vs_zone_file zone;
    const char *text; /* the first user value keeps the string alive */
};

/* store.form(text, zone) -> form | nil, text, code */
static int stores_open_form(lua_State *L) {
    struct vesta_error err;
    const char *text = luaL_checkstring(L, 1), *zone = luaL_checkstring(L, 2);
    struct stores_form *form = lua_newuserdatauv(L, sizeof *form, 1);
    luaL_setmetatable(L, STORES_FORM);
    form->text = text;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    if (vs_form_parse(text, &form->form, &err) != VESTA_OK || vs_zone_load(zone, &form->zone, &err) != VESTA_OK)
        return host_fail(L, &err);
    return 1;
}

/* form:write(number) -> text | nil, text, code */
static int stores_form_write(lua_State *L) {
    const struct stores_form *form = luaL_checkudata(L, 1, STORES_FORM);
    struct vesta_error err;
    char text[VS_FORM_TEXT_MAX];
    if (vs_form_write(&form->form, (uint64_t)luaL_checkinteger(L, 2), text, &err) != VESTA_OK)
        return host_fail(L, &err);
    lua_pushstring(L, text);
    return 1;
}

/* store:try_counter(table, tag, is_dense) -> true | nil, text, outcome
 * Tests whether this user may write the counter.  Each statement names a value that no row has, so the test changes
 * nothing: rows end below VS_NUMBER_MAX, and no reservation has a new token. */
static int stores_try_counter(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    const struct vs_counter counter = stores_counter(L);
    struct vs_reservation none = {.number = 1};
    struct vs_reply reply;
    at->store->counters->untake(at->store, &counter, VS_NUMBER_MAX - 1, VS_NUMBER_MAX, &reply);
    if (reply.outcome == VS_STORE_CONFLICT) reply.outcome = VS_STORE_OK;
    if (reply.outcome != VS_STORE_OK || !lua_toboolean(L, 4)) return stores_done(L, &reply);
    if (vs_random(none.token, sizeof none.token) != 0) return stores_no_random(L);
    at->store->counters->settle(at->store, &counter, &none, false, &reply);
    if (reply.outcome == VS_STORE_REFUSED && reply.by == VS_BY_RESERVATION) reply.outcome = VS_STORE_OK;
    return stores_done(L, &reply);
}

static void stores_add_fault(void *to, const char *what, const char *todo) {
    lua_State *L = to;
    lua_createtable(L, 0, 2);
    host_set_text(L, "what", what);
    host_set_text(L, "todo", todo);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

void host_push_faults(lua_State *L, struct vs_store *store, struct vs_reply *reply) {
    *reply = (struct vs_reply){.outcome = VS_STORE_OK};
    lua_newtable(L);
    if (store->admin) store->admin->inspect(store, stores_add_fault, L, reply);
}

/* store:faults() -> a list of { what, todo } | nil, text, outcome
 * Returns settings of the store that must be changed for leases or counters. */
static int stores_faults(lua_State *L) {
    const struct vs_at *at = stores_self(L);
    struct vs_reply reply;
    host_push_faults(L, at->store, &reply);
    return reply.outcome == VS_STORE_OK ? 1 : stores_done(L, &reply);
}

static uint64_t stores_first_of_day(void *self, int64_t unix_ms) {
    const struct stores_form *form = self;
    return vs_form_first(&form->form, &form->zone.zone, unix_ms);
}

static int stores_fits_form(void *self, uint64_t number) {
    const struct stores_form *form = self;
    return vs_form_fits(&form->form, number);
}

/* store:take(table, tag, count, form or nil) -> from, until, delta | nil, text, outcome
 * Takes the numbers from `from` to before `until`.  If the counter is spread over `delta` databases, takes only every
 * delta-th number. */
static int stores_take(lua_State *L) {
    static const struct vs_share all = {.delta = 1, .remainder = 0};
    const struct vs_at *at = stores_self(L);
    const struct vs_counter counter = stores_counter(L);
    uint64_t count = (uint64_t)luaL_checkinteger(L, 4);
    struct stores_form *form = lua_isnoneornil(L, 5) ? NULL : luaL_checkudata(L, 5, STORES_FORM);
    bool has_day = form && form->form.period != VS_FORM_NEVER;
    const struct vs_floor floor = {.at = has_day ? stores_first_of_day : NULL,
                                   .self = form,
                                   .fits = has_day ? stores_fits_form : NULL,
                                   .form = form ? form->text : NULL};
    struct vs_reply reply;
    vs_store_share(at->store, &counter, &all, &reply);
    if (reply.outcome != VS_STORE_OK) return stores_done(L, &reply);
    for (int tries = 0; tries < STORES_TAKES_MAX; tries++) {
        vs_store_take(at->store, &counter, count, &floor, &reply);
        if (reply.outcome != VS_STORE_CONFLICT) break;
    }
    if (reply.outcome != VS_STORE_OK) return stores_done(L, &reply);
    lua_pushinteger(L, (lua_Integer)reply.grant.from);
    lua_pushinteger(L, (lua_Integer)reply.grant.until);
    lua_pushinteger(L, (lua_Integer)reply.grant.delta);
    return 3;
}

/* store.resume(places, table or nil, tag, "trend"|"strict", even_lower) -> true | false | nil, text, code
 * Returns false if the counter has not gone back.  A place is { uri, secret }. */
static int stores_resume(lua_State *L) {
    static const char *const orders[] = {"trend", "strict", NULL};
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_segment *seg;
    struct vesta_error err;
    luaL_checktype(L, 1, LUA_TTABLE);
    opts.table = luaL_optstring(L, 2, NULL);
    opts.tag = luaL_checkstring(L, 3);
    opts.order = luaL_checkoption(L, 4, NULL, orders) == 0 ? VESTA_TREND : VESTA_STRICT;
    opts.flags = VESTA_NO_KEEPER; /* the processes that use the counter notice the change and ask the database */
    luaL_argcheck(L, lua_rawlen(L, 1) <= VESTA_DATABASES_MAX, 1, "too many places");
    for (int i = 0; lua_rawgeti(L, 1, i + 1) != LUA_TNIL; i++) {
        opts.stores[i] = host_get_text(L, -1, "uri");
        opts.secrets[i] = host_get_text(L, -1, "secret");
    }
    if (vesta_segment_open(&opts, &seg, &err) != VESTA_OK) return host_fail(L, &err);
    lua_pushboolean(L, vesta_segment_resume(seg, lua_toboolean(L, 5), &err) == VESTA_OK);
    vesta_segment_close(seg);
    return 1;
}

/* ------------------------------------------------------------------ the module */

/* store.public(uri) -> the URI without its password */
static int stores_public(lua_State *L) {
    char shown[VS_URI_MAX];
    lua_pushstring(L, vs_store_public(luaL_checkstring(L, 1), shown));
    return 1;
}

static int stores_is_tag(lua_State *L) {
    lua_pushboolean(L, vs_tag_is_named(luaL_checkstring(L, 1)));
    return 1;
}

/* store.state() -> the folder with the leases of processes without --store, or nil if the folder does not exist */
static int stores_state(lua_State *L) {
    char state[PATH_MAX];
    bool is_there = vs_state_dir(state, sizeof state) == 0 && access(state, F_OK) == 0;
    lua_pushstring(L, is_there ? state : NULL);
    return 1;
}

/* Calls the method in the upvalue, and shows at a terminal how long the call takes. */
static int stores_call(lua_State *L) {
    char shown[VS_URI_MAX];
    vs_slow_begin(vs_store_public(stores_self(L)->uri, shown));
    int count = lua_tocfunction(L, lua_upvalueindex(1))(L);
    vs_slow_end();
    return count;
}

int host_open_store(lua_State *L) {
    static const luaL_Reg calls[] = {{"init", stores_init},
                                     {"names", stores_names},
                                     {"namespace", stores_namespace},
                                     {"need", stores_need},
                                     {"create", stores_create},
                                     {"advance", stores_advance},
                                     {"lower", stores_lower},
                                     {"admit", stores_admit},
                                     {"extend", stores_extend},
                                     {"workers", stores_list},
                                     {"mark", stores_mark},
                                     {"watermark", stores_watermark},
                                     {"foreign", stores_foreign},
                                     {"counters", stores_counters},
                                     {"init_counters", stores_init_counters},
                                     {"add", stores_add},
                                     {"set_step", stores_set_step},
                                     {"raise", stores_raise},
                                     {"try_counter", stores_try_counter},
                                     {"faults", stores_faults},
                                     {"take", stores_take},
                                     {"__gc", stores_close},
                                     {"__close", stores_close},
                                     {NULL, NULL}};
    static const luaL_Reg methods[] = {{"about", stores_about}, {"tick", stores_tick},     {"close", stores_close},
                                       {"__gc", stores_close},  {"__close", stores_close}, {NULL, NULL}};
    static const luaL_Reg workers[] = {{"counts", stores_workers_counts},
                                       {"row", stores_workers_row},
                                       {"close", stores_workers_gc},
                                       {"__close", stores_workers_gc},
                                       {"__len", stores_workers_count},
                                       {"__gc", stores_workers_gc},
                                       {NULL, NULL}};
    static const luaL_Reg counters[] = {{"row", stores_counters_row},  {"find", stores_counters_find},
                                        {"close", stores_counters_gc}, {"__len", stores_counters_count},
                                        {"__gc", stores_counters_gc},  {NULL, NULL}};
    static const luaL_Reg form[] = {{"write", stores_form_write}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"open", stores_open},         {"form", stores_open_form},      {"resume", stores_resume},
        {"lifetime", stores_lifetime}, {"is_leased", stores_is_leased}, {"is_tag", stores_is_tag},
        {"public", stores_public},     {"state", stores_state},         {NULL, NULL}};
    host_class(L, STORES_CLASS, methods);
    luaL_getmetatable(L, STORES_CLASS);
    for (const luaL_Reg *call = calls; call->name; call++) {
        lua_pushcfunction(L, call->func);
        lua_pushcclosure(L, stores_call, 1);
        lua_setfield(L, -2, call->name);
    }
    lua_pop(L, 1);
    host_class(L, STORES_WORKERS, workers);
    host_class(L, STORES_COUNTERS, counters);
    host_class(L, STORES_FORM, form);
    luaL_newlib(L, functions);
    host_set_text(L, "FORMS", VS_STORE_FORMS);
    host_set_integer(L, "RANGE_MAX", (int64_t)VS_RANGE_MAX);
    host_set_integer(L, "NUMBER_MAX", (int64_t)VS_NUMBER_MAX);
    host_set_integer(L, "FOREIGN_MAX", VS_FOREIGN_MAX);
    host_set_integer(L, "DATABASES_MAX", VESTA_DATABASES_MAX);
    return 1;
}
