/* gen.c -- the generator's methods.  Uses only public functions of vesta_gen.
 *
 * If an id is available, a call only needs vesta_next.  In a pause, the waiting path starts or wakes the keeper.  When
 * the waiting time is over, and there is a policy, the waiting path calls lua/vesta/judge.lua.  In nginx this path is
 * off (wait_us_max is -1), because only lua/vesta/resty.lua knows when an nginx worker may wait, and in which process a
 * thread survives. */
#include "rock/border.h"
#include "keeper/rows.h"
#include "os/clock.h"

#include <stddef.h>

static const char CLASS[] = "vesta.gen";

#define OPTIONS_MAX 40 /* stack slots for the strings of options, and a few more */
#define VERDICTS_MAX 3 /* maximum number of a policy's verdicts per call */

/* The clock of a test generator.  It only moves when the test moves it, and while a call waits. */
struct gen_hand {
    struct vesta_clock clock;
    int64_t unix_us, boot_us;
    bool is_used;
};

/* `begun` must stay the second word, because lua/vesta/fast.lua reads it through LuaJIT's FFI. */
struct gen_box {
    struct vs_lua_object object;
    struct vesta_gen *begun; /* equal to `gen` after the first request for an id, NULL before */
    struct vesta_gen *gen;   /* NULL after close */
    int64_t wait_us_max;     /* -1: never wait, and do not start the keeper */
    /* the same for a pause without a lease.  This limit is longer, because a claim needs several disk writes */
    int64_t lease_wait_us_max;
    bool judged;            /* the generator has a policy */
    unsigned holders;       /* number of clients that use the generator as a fallback, and keep it open */
    struct vesta_gen *held; /* the generator after its close method, as long as it has holders.  Otherwise NULL */
    struct gen_hand hand;
    /* the last pause that ended a call or was passed to the policy.  `why` is 0 if there was none */
    struct vesta_pause pause;
};

_Static_assert(offsetof(struct gen_box, begun) == sizeof(void *), "begun is the second word");
_Static_assert(sizeof(struct vesta_pause) <= 64, "a pause fits the buffer that fast.lua reserves");

/* ------------------------------------------------------------------ help */

static struct gen_box *gen_self(lua_State *L) {
    return vs_lua_self(L, CLASS, sizeof(struct gen_box));
}

static int gen_push_closed(lua_State *L) {
    return vs_lua_push_fail(L, VESTA_ECLOSED, "the generator is closed");
}

/* Pushes a pause.  Includes the policy's message if that is the second value on the stack. */
static int gen_push_pause(lua_State *L, struct gen_box *box, const struct vesta_pause *pause) {
    char text[512];
    box->pause = *pause;
    vesta_pause_text(box->gen, pause, text, sizeof text);
    lua_pushnil(L);
    if (lua_type(L, 2) == LUA_TSTRING)
        lua_pushvalue(L, 2);
    else
        lua_pushstring(L, text);
    lua_pushstring(L, vesta_why_name(pause->why));
    if (pause->wait_us < 0) return 3;
    lua_pushnumber(L, (lua_Number)pause->wait_us / 1e6);
    return 4;
}

static int64_t patience_us(const struct gen_box *box, const struct vesta_pause *pause) {
    bool needs_lease = pause->why == VESTA_LEASE || pause->why == VESTA_CHOOSE;
    return needs_lease ? box->lease_wait_us_max : box->wait_us_max;
}

static int64_t gen_now_us(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self);
}

/* The state of a call that waits for an id. */
struct gen_waiting {
    int64_t us_max;   /* length of the next wait.  -1: do not wait any more */
    int64_t until_us; /* deadline for a lease, which does not depend on how often a worker id must be chosen */
    int verdicts;     /* number of verdicts that the policy has returned so far */
};

static struct gen_waiting gen_begin_waiting(const struct gen_box *box, const struct vesta_pause *pause) {
    struct gen_waiting w = {.us_max = patience_us(box, pause)};
    w.until_us = gen_now_us() + w.us_max;
    return w;
}

static char judge_key; /* its address is the registry key */

/* Returns the time left to wait for the claim after a worker id was chosen, or -1. */
static int64_t gen_left_us(const struct gen_waiting *w) {
    int64_t left_us = w->until_us - gen_now_us();
    return left_us > 0 ? left_us : -1;
}

/* Decides how a call continues after it has waited without a result.  Sets w->us_max to the length of the next wait.
 * If it sets -1, the call ends with this pause, and with the policy's message if there is one.  Leaves the generator on
 * the stack, and the message if any.  The caller must not hold a resource here, because a policy is Lua code, which may
 * raise an error or close the generator. */
static void ask_judge(lua_State *L, struct gen_box *box, const struct vesta_pause *pause, struct gen_waiting *w) {
    box->pause = *pause;
    lua_settop(L, 1);
    w->us_max = -1;
    if (!box->judged || (pause->why != VESTA_CHOOSE && w->verdicts++ == VERDICTS_MAX)) return;
    lua_pushlightuserdata(L, &judge_key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 2);
    if (lua_type(L, 2) != LUA_TNUMBER) {
        lua_remove(L, 2);
        return;
    }
    lua_Number ms = lua_tonumber(L, 2);
    if (ms > 0) w->verdicts = VERDICTS_MAX; /* the policy named a time, so it is not asked again after that time */
    lua_settop(L, 1);
    if (pause->why != VESTA_CHOOSE) w->until_us = gen_now_us() + (int64_t)(ms * 1000);
    w->us_max = pause->why == VESTA_CHOOSE ? gen_left_us(w) : (int64_t)(ms * 1000);
}

/* A UUID that a call of next_uuid requests. */
struct gen_uuid {
    enum vesta_shape shape;
    unsigned char bytes[VESTA_UUID_BYTES];
};

/* Waits in a call that found no id, or no UUID if `id` is NULL.  Cold and noinline, so that the fast path stays small.
 */
static __attribute__((cold, noinline)) int gen_wait(lua_State *L, struct gen_box *box, uint64_t *id,
                                                    struct gen_uuid *uuid, struct vesta_pause *pause) {
    struct gen_waiting w = gen_begin_waiting(box, pause);
    lua_settop(L, 1);
    while (w.us_max >= 0 && box->gen) {
        int rc = id ? vesta_next_wait(box->gen, id, w.us_max, pause)
                    : vesta_next_uuid_wait(box->gen, uuid->shape, uuid->bytes, w.us_max, pause);
        if (rc == VESTA_OK) return VESTA_OK;
        ask_judge(L, box, pause, &w);
    }
    return box->gen ? gen_push_pause(L, box, pause) : gen_push_closed(L);
}

/* Starts this process's keeper in the first call, by waiting for 0 ids.  Without this, a process that finds another
 * process's lease would get no pause, and so would never start its keeper.  Returns false if the generator is closed.
 */
static __attribute__((cold, noinline)) bool gen_begin(struct gen_box *box) {
    struct vesta_pause pause;
    if (box->gen && box->wait_us_max >= 0) vesta_batch_wait(box->gen, NULL, 0, 0, &pause);
    box->begun = box->gen;
    return box->gen;
}

/* Takes an id.  Returns VESTA_OK, or the number of pushed values after a failure. */
static inline int gen_take_id(lua_State *L, uint64_t *id) {
    struct gen_box *box = gen_self(L);
    struct vesta_pause pause;
    if (!box->begun && !gen_begin(box)) return gen_push_closed(L);
    return vesta_next(box->gen, id, &pause) == VESTA_OK ? VESTA_OK : gen_wait(L, box, id, NULL, &pause);
}

/* Takes n ids.  Returns VESTA_OK, or the number of pushed values after a failure.  The first call finds out whether a
 * lease is missing. */
static int gen_take_batch(lua_State *L, struct gen_box *box, uint64_t *ids, size_t n) {
    size_t have = 0;
    struct vesta_pause pause = {.why = VESTA_FULL};
    if (vesta_next_n(box->gen, ids, n, &have, &pause) == VESTA_OK && have == n) return VESTA_OK;
    struct gen_waiting w = gen_begin_waiting(box, &pause);
    while (have < n && box->gen) {
        if (vesta_batch_wait(box->gen, ids + have, n - have, w.us_max, &pause) == VESTA_OK) return VESTA_OK;
        ask_judge(L, box, &pause, &w);
        if (w.us_max < 0 && box->gen) return gen_push_pause(L, box, &pause);
    }
    return box->gen ? VESTA_OK : gen_push_closed(L);
}

static int gen_push_batch(lua_State *L, int (*push)(lua_State *L, const uint64_t *ids, size_t n)) {
    uint64_t ids[VESTA_BATCH_MAX];
    struct gen_box *box = gen_self(L);
    size_t n = vs_lua_count(L);
    if (!box->begun && !gen_begin(box)) return gen_push_closed(L);
    int rc = gen_take_batch(L, box, ids, n);
    return rc == VESTA_OK ? push(L, ids, n) : rc;
}

/* ------------------------------------------------------------------ methods */

static int gen_next(lua_State *L) {
    uint64_t id;
    int rc = gen_take_id(L, &id);
    return rc == VESTA_OK ? vs_lua_push_id(L, id) : rc;
}

static int gen_next_int(lua_State *L) {
    uint64_t id = 0;
    if (LUA_VERSION_NUM < 503) return vs_lua_push_native(L, id); /* raises before an id is taken */
    int rc = gen_take_id(L, &id);
    return rc == VESTA_OK ? vs_lua_push_native(L, id) : rc;
}

/* Pushes why the generator cannot issue a shape. */
static int gen_push_no_shape(lua_State *L, const struct gen_box *box, enum vesta_shape shape) {
    struct vesta_error err;
    vesta_gen_shape_check(box->gen, shape, &err);
    return vs_lua_push_error(L, &err);
}

static enum vesta_shape gen_shape(lua_State *L, int arg) {
    size_t length;
    const char *name = luaL_optlstring(L, arg, "uuid7", &length);
    int shape = vesta_shape_find(name, length);
    if (!shape) luaL_argerror(L, arg, lua_pushfstring(L, "the shape '%s' must be uuid7, uuid8, ulid or hex32", name));
    return (enum vesta_shape)shape;
}

/* Implements gen:next_uuid([shape [, form]]).  `form` is "text" or "bytes". */
static int gen_next_uuid(lua_State *L) {
    static const char *const FORMS[] = {"text", "bytes", NULL};
    struct gen_box *box = gen_self(L);
    struct gen_uuid uuid = {.shape = gen_shape(L, 2)};
    bool is_text = luaL_checkoption(L, 3, "text", FORMS) == 0;
    char text[VESTA_UUID_TEXT_MAX];
    struct vesta_pause pause;
    if (!box->begun && !gen_begin(box)) return gen_push_closed(L);
    int rc = vesta_next_uuid(box->gen, uuid.shape, uuid.bytes, &pause);
    if (rc == VESTA_EOPTION) return gen_push_no_shape(L, box, uuid.shape);
    if (rc != VESTA_OK && (rc = gen_wait(L, box, NULL, &uuid, &pause)) != VESTA_OK) return rc;
    if (is_text)
        lua_pushlstring(L, text, vesta_uuid_format(uuid.shape, uuid.bytes, text));
    else
        lua_pushlstring(L, (const char *)uuid.bytes, sizeof uuid.bytes);
    return 1;
}

static int gen_batch(lua_State *L) {
    return gen_push_batch(L, vs_lua_push_ids);
}

static int gen_batch_int(lua_State *L) {
    return LUA_VERSION_NUM < 503 ? vs_lua_push_native(L, 0) : gen_push_batch(L, vs_lua_push_natives);
}

static int gen_explain(lua_State *L) {
    struct gen_box *box = gen_self(L);
    return box->gen ? vs_lua_explain(L, vesta_gen_layout(box->gen)) : gen_push_closed(L);
}

static int gen_make(lua_State *L) {
    struct gen_box *box = gen_self(L);
    return box->gen ? vs_lua_make(L, vesta_gen_layout(box->gen)) : gen_push_closed(L);
}

static int gen_range(lua_State *L) {
    struct gen_box *box = gen_self(L);
    return box->gen ? vs_lua_range(L, vesta_gen_layout(box->gen)) : gen_push_closed(L);
}

static void set_lease(lua_State *L, const struct vesta_info *info) {
    vs_lua_set_integer(L, "worker", (int64_t)info->worker);
    vs_lua_set_id(L, "tick", info->tick);
    vs_lua_set_id(L, "limit", info->limit);
    lua_pushboolean(L, info->drew_worker);
    lua_setfield(L, -2, "drew_worker");
}

static int gen_info(lua_State *L) {
    struct gen_box *box = gen_self(L);
    struct vesta_info info;
    char layout[VESTA_LAYOUT_TEXT_MAX];
    if (!box->gen) return gen_push_closed(L);
    vesta_get_info(box->gen, &info);
    vesta_layout_text(&info.layout, layout);
    lua_createtable(L, 0, 16);
    vs_lua_set_text(L, "layout", layout);
    vs_lua_set_text(L, "namespace", info.namespace_);
    vs_lua_set_text(L, "path", info.path);
    vs_lua_set_text(L, "store", info.store);
    vs_lua_set_text(L, "pacing", info.pacing == VESTA_PACING_HISTORY ? "history" : "clock");
    vs_lua_set_text(L, "keeper", info.keeper);
    vs_lua_set_text(L, "warning", box->hand.is_used ? "for tests only: its ids repeat" : info.warning);
    vs_lua_set_integer(L, "ahead_ms_max", info.ahead_ms_max);
    vs_lua_set_integer(L, "slot", info.slot);
    vs_lua_set_integer(L, "slots_used", info.slots_used);
    lua_pushboolean(L, info.holds_lease);
    lua_setfield(L, -2, "holds_lease");
    if (info.holds_lease) set_lease(L, &info);
    return 1;
}

static int gen_keep(lua_State *L) {
    struct gen_box *box = gen_self(L);
    if (!box->gen) return gen_push_closed(L);
    int rc = vesta_keep(box->gen);
    const char *text = rc == VESTA_EOPTION ? "a private generator has no lease to keep" : "cannot start the keeper";
    if (rc != VESTA_OK) return vs_lua_push_fail(L, rc, text);
    lua_pushboolean(L, 1);
    return 1;
}

static int gen_release(lua_State *L) {
    struct gen_box *box = gen_self(L);
    struct vesta_error err;
    if (!box->gen) return gen_push_closed(L);
    if (vesta_release(box->gen, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

static int gen_close(lua_State *L) {
    struct gen_box *box = gen_self(L);
    if (box->holders && box->gen)
        box->held = box->gen;
    else
        vesta_close(box->gen);
    box->gen = box->begun = NULL;
    return 0;
}

/* A reference in the registry prevents Lua from collecting the box while it has holders. */
void *vs_lua_hold_gen(lua_State *L, int arg, struct vesta_gen **gen) {
    struct gen_box *box = lua_touserdata(L, arg);
    if (!box || lua_rawlen(L, arg) != sizeof *box || box->object.class != CLASS || !box->gen) return NULL;
    lua_pushlightuserdata(L, box);
    lua_pushvalue(L, arg < 0 ? arg - 1 : arg);
    lua_rawset(L, LUA_REGISTRYINDEX);
    box->holders++;
    *gen = box->gen;
    return box;
}

void vs_lua_leave_gen(lua_State *L, void *held) {
    struct gen_box *box = held;
    if (--box->holders > 0) return;
    vesta_close(box->held);
    box->held = NULL;
    lua_pushlightuserdata(L, box);
    lua_pushnil(L);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

static int gen_text(lua_State *L) {
    struct gen_box *box = gen_self(L);
    struct vesta_info info;
    if (!box->gen) {
        lua_pushliteral(L, "vesta generator (closed)");
        return 1;
    }
    vesta_get_info(box->gen, &info);
    lua_pushfstring(L, "vesta generator (%s, %s)", info.namespace_, *info.path ? info.path : "private");
    return 1;
}

/* Implements gen:room(), which returns how many ids can be issued now without a pause. */
static int gen_room(lua_State *L) {
    struct gen_box *box = gen_self(L);
    lua_pushnumber(L, box->gen ? (lua_Number)vesta_room(box->gen) : 0);
    return 1;
}

static const struct vs_lua_function METHODS[] = {
    {"next", gen_next},
    {"next_int", gen_next_int},
    {"batch", gen_batch},
    {"batch_int", gen_batch_int},
    {"next_uuid", gen_next_uuid},
    {"explain", gen_explain},
    {"make", gen_make},
    {"range", gen_range},
    {"info", gen_info},
    {"keep", gen_keep},
    {"release", gen_release},
    {"close", gen_close},
    {"__gc", gen_close},
    {"__close", gen_close},
    {"__tostring", gen_text},
    {"room", gen_room},
    {NULL, NULL},
};

/* ------------------------------------------------------------------ opening */

static lua_Number gen_number_option(lua_State *L, const char *key, lua_Number otherwise) {
    lua_getfield(L, 1, key);
    lua_Number n = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : otherwise;
    lua_pop(L, 1);
    return n;
}

static int64_t wait_option(lua_State *L, const char *key) {
    lua_Number ms = gen_number_option(L, key, -1);
    return ms < 0 ? -1 : (int64_t)(ms * 1000);
}

static int flag_option(lua_State *L, const char *key) {
    lua_getfield(L, 1, key);
    int set = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return set;
}

/* Reads an option.  A string stays on the stack, so that it is valid until vesta_open has copied it. */
static int read_option(lua_State *L, const struct vs_row *row, struct vesta_opts *opts, struct vesta_error *err) {
    lua_getfield(L, 1, vs_row_name(row));
    switch (lua_type(L, -1)) {
    case LUA_TNIL: return VESTA_OK;
    case LUA_TNUMBER: return vs_row_put_number(row, opts, (uint64_t)lua_tonumber(L, -1), err);
    case LUA_TBOOLEAN: return vs_row_put_number(row, opts, (uint64_t)lua_toboolean(L, -1), err);
    default: return vs_row_put(row, opts, vs_lua_text(L, -1, vs_row_name(row)), err);
    }
}

int vs_lua_read_options(lua_State *L, struct vesta_opts *opts, struct vesta_error *err) {
    const struct vs_row *row;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, OPTIONS_MAX, NULL);
    if (flag_option(L, "chooses")) opts->flags |= VESTA_CHOOSES;
    if (flag_option(L, "file_keeper")) opts->flags |= VESTA_FILE_KEEPER;
    for (int i = 0; (row = vs_row_at(i)); i++) {
        int rc = read_option(L, row, opts, err);
        if (rc != VESTA_OK) return rc;
    }
    return VESTA_OK;
}

/* Implements core.options(), which returns { { name =, kind =, values =, max = }, ... } for the checks in init.lua. */
static int core_options(lua_State *L) {
    static const char *const kinds[] = {
        [VS_ROW_TEXT] = "text",   [VS_ROW_LAYOUT] = "layout", [VS_ROW_PATH] = "text",      [VS_ROW_URI] = "text",
        [VS_ROW_NAME] = "text",   [VS_ROW_SECRET] = "secret", [VS_ROW_FIELDS] = "fields",  [VS_ROW_WORD] = "word",
        [VS_ROW_CHOICE] = "word", [VS_ROW_WORKER] = "whole",  [VS_ROW_AHEAD] = "whole_ms", [VS_ROW_SWITCH] = "flag",
        [VS_ROW_FLAG] = "flag"};
    const struct vs_row *row;
    lua_newtable(L);
    for (int i = 0; (row = vs_row_at(i)); i++) {
        lua_createtable(L, 0, 4);
        vs_lua_set_text(L, "name", vs_row_name(row));
        vs_lua_set_text(L, "kind", kinds[row->kind]);
        if (row->values) vs_lua_set_text(L, "values", row->values);
        vs_lua_set_integer(L, "max", (int64_t)row->max);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int64_t hand_unix_us(void *self) {
    return ((const struct gen_hand *)self)->unix_us;
}

static int64_t hand_boot_us(void *self) {
    return ((const struct gen_hand *)self)->boot_us;
}

static void hand_sleep_us(void *self, int64_t us) {
    struct gen_hand *hand = self;
    hand->unix_us += us;
    hand->boot_us += us;
}

/* Sets a test clock if the option clock_ms is given.  Only for private generators, whose ids are not guaranteed to be
 * unique anyway. */
static void gen_take_hand(lua_State *L, struct gen_box *box, struct vesta_opts *opts) {
    lua_Number now_ms = gen_number_option(L, "clock_ms", -1);
    if (now_ms < 0 || !(opts->flags & VESTA_UNSAFE_PRIVATE)) return;
    box->hand = (struct gen_hand){.clock = {&box->hand, hand_unix_us, hand_boot_us, hand_sleep_us},
                                  .unix_us = (int64_t)now_ms * 1000,
                                  .boot_us = 3600 * 1000000ll,
                                  .is_used = true};
    opts->clock = &box->hand.clock;
}

/* Implements core.move_clock(gen, step_ms, pass_ms), which steps the clock of a test generator, and lets time pass.
 * Returns the clock's new time. */
static int core_move_clock(lua_State *L) {
    struct gen_box *box = gen_self(L);
    int64_t step_us = (int64_t)(luaL_checknumber(L, 2) * 1000), pass_us = (int64_t)(luaL_checknumber(L, 3) * 1000);
    luaL_argcheck(L, box->hand.is_used, 1, "a generator for tests");
    box->hand.unix_us += step_us;
    hand_sleep_us(&box->hand, pass_us);
    vs_lua_push_integer(L, box->hand.unix_us / 1000);
    return 1;
}

/* Implements core.open(options).  init.lua has checked names, types and bounds. */
static int core_open(lua_State *L) {
    struct vesta_error err;
    struct vesta_opts opts = VESTA_OPTS_INIT;
    if (vs_lua_read_options(L, &opts, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    struct gen_box *box = lua_newuserdata(L, sizeof *box);
    *box = (struct gen_box){.object = {CLASS},
                            .wait_us_max = wait_option(L, "wait_ms_max"),
                            .lease_wait_us_max = wait_option(L, "lease_wait_ms_max"),
                            .judged = flag_option(L, "judged")};
    gen_take_hand(L, box, &opts);
    luaL_getmetatable(L, CLASS);
    /* set the metatable before the generator exists, so that Lua closes the generator after a later error */
    lua_setmetatable(L, -2);
    return vesta_open(&opts, &box->gen, &err) == VESTA_OK ? 1 : vs_lua_push_error(L, &err);
}

/* Implements core.take(gen, n), which takes the ids that are available at once, 1 to n, for callers that wait
 * themselves. */
static int core_take(lua_State *L) {
    uint64_t ids[VESTA_BATCH_MAX];
    struct gen_box *box = gen_self(L);
    size_t n = vs_lua_count(L), got;
    struct vesta_pause pause;
    if (!box->gen) return gen_push_closed(L);
    int rc = vesta_next_n(box->gen, ids, n, &got, &pause);
    if (rc != VESTA_OK && box->hand.is_used) /* the caller's sleep would not move the test clock */
        rc = vesta_batch_wait(box->gen, ids, got = 1, box->wait_us_max, &pause);
    return rc == VESTA_OK ? vs_lua_push_ids(L, ids, got) : gen_push_pause(L, box, &pause);
}

/* ------------------------------------------------------------------ pauses, for lua/vesta/judge.lua */

/* Implements core.set_judge(f).  f(gen) decides about the generator's last pause.  It returns milliseconds to wait, or
 * nil and a message. */
static int core_set_judge(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushlightuserdata(L, &judge_key);
    lua_pushvalue(L, 1);
    lua_rawset(L, LUA_REGISTRYINDEX);
    return 0;
}

/* Implements core.pause(gen), which returns the last pause with the current time of the generator's clock, or nil. */
static int core_pause(lua_State *L) {
    struct gen_box *box = gen_self(L);
    const struct vesta_pause *pause = &box->pause;
    const struct vesta_clock *clock = box->hand.is_used ? &box->hand.clock : vs_clock_system();
    if (!pause->why) return 0;
    lua_createtable(L, 0, 4);
    vs_lua_set_integer(L, "now_ms", clock->unix_us(clock->self) / 1000);
    vs_lua_set_text(L, "code", vesta_why_name(pause->why));
    vs_lua_set_integer(L, "back_ms", (pause->back_us + 999) / 1000);
    vs_lua_set_integer(L, "ahead_ticks", (int64_t)pause->ahead_ticks);
    return 1;
}

/* Implements core.borrow(gen, ms), which lets the slot of the last pause run that far ahead of the clock.  The pause is
 * stored in C, so that Lua code cannot pass a wrong one. */
static int core_borrow(lua_State *L) {
    struct gen_box *box = gen_self(L);
    lua_Number ms = lua_type(L, 2) == LUA_TNUMBER ? lua_tonumber(L, 2) : -1;
    if (!box->gen || !box->pause.why) return 0;
    /* !(ms >= 0) is also true for NaN, and the limit avoids a conversion that overflows. */
    vesta_borrow(box->gen, &box->pause, !(ms >= 0) ? -1 : ms < VESTA_BORROW_MS_MAX ? (int64_t)ms : VESTA_BORROW_MS_MAX);
    return 0;
}

/* Implements core.switch(gen), which requests a worker id other than that of the last pause.  Returns false if this is
 * not possible. */
static int core_switch(lua_State *L) {
    struct gen_box *box = gen_self(L);
    lua_pushboolean(L, box->gen && box->pause.why && vesta_switch(box->gen, &box->pause) == VESTA_OK);
    return 1;
}

/* Implements core.choice(gen), which returns the records to choose from, or nil if the keeper is not asking, or no
 * longer asking. */
static int core_choice(lua_State *L) {
    struct gen_box *box = gen_self(L);
    return box->gen ? vs_lua_push_choice(L, box->gen) : 0;
}

/* Implements core.choose(gen, worker), core.choose(gen, nil, reason) to choose none, and core.choose(gen) for the
 * default choice. Returns false if the layout has no such worker id. */
static int core_choose(lua_State *L) {
    static const struct vesta_pause asked = {.why = VESTA_CHOOSE};
    struct gen_box *box = gen_self(L);
    int rc = VESTA_OK;
    lua_settop(L, 3);
    if (box->gen && lua_type(L, 3) == LUA_TSTRING)
        rc = vesta_choose_none(box->gen, &asked, lua_tostring(L, 3));
    else if (box->gen) /* judge.lua has checked that the worker id is a whole number of at most 2^53 */
        rc = (lua_toboolean(L, 4) && !lua_isnil(L, 2) ? vesta_choose_fixed : vesta_choose)(
            box->gen, &asked, lua_isnil(L, 2) ? VESTA_ANY_WORKER : (uint64_t)luaL_checknumber(L, 2));
    lua_pushboolean(L, rc != VESTA_EFIELD); /* VESTA_ENOTNOW counts as true: another thread has answered */
    return 1;
}

static const struct vs_lua_function FUNCTIONS[] = {
    {"choice", core_choice}, {"choose", core_choose},         {"open", core_open},   {"options", core_options},
    {"take", core_take},     {"set_judge", core_set_judge},   {"pause", core_pause}, {"borrow", core_borrow},
    {"switch", core_switch}, {"move_clock", core_move_clock}, {NULL, NULL},
};

void vs_lua_open_gen(lua_State *L) {
    vs_lua_functions(L, FUNCTIONS);
    vs_lua_class(L, CLASS, METHODS);
    lua_setfield(L, -2, "gen"); /* stores the metatable, in which fast.lua and resty.lua replace `next` */
}
