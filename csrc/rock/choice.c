/* choice.c -- pushes the keeper's question, which worker id to claim, as a table, for lua/vesta/judge.lua.  Uses only
 * public functions of vesta_gen. */
#include "rock/border.h"
#include "os/host.h"
#include "os/random.h"

static const char CLASS[] = "vesta.choice";

/* Owns the choice while it is pushed.  If Lua runs out of memory and raises an error, the garbage collector frees the
 * choice. */
struct choice_box {
    struct vs_lua_object object;
    struct vesta_choice *choice;
};

static int choice_free(lua_State *L) {
    struct choice_box *box = vs_lua_self(L, CLASS, sizeof *box);
    vesta_choice_free(box->choice);
    box->choice = NULL;
    return 0;
}

static void choice_set_flag(lua_State *L, const char *key, int set) {
    lua_pushboolean(L, set);
    lua_setfield(L, -2, key);
}

static void choice_push_record(lua_State *L, const struct vesta_record *r) {
    lua_createtable(L, 0, 9);
    vs_lua_set_integer(L, "worker", (int64_t)r->worker);
    vs_lua_set_integer(L, "epoch", (int64_t)r->epoch);
    vs_lua_set_text(L, "holder", r->holder);
    vs_lua_set_text(L, "identity", r->identity);
    choice_set_flag(L, "held", r->held);
    choice_set_flag(L, "expired", r->expired);
    vs_lua_set_integer(L, "until_ms", r->until_ms);
    vs_lua_set_integer(L, "written_ms", r->written_ms);
    vs_lua_set_integer(L, "seen_ms", r->seen_ms);
}

static void set_records(lua_State *L, const struct vesta_choice *choice) {
    lua_createtable(L, (int)choice->count, 0);
    for (size_t i = 0; i < choice->count; i++) {
        choice_push_record(L, &choice->record[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "records");
    lua_createtable(L, 0, 2);
    vs_lua_set_integer(L, "first", (int64_t)choice->first);
    vs_lua_set_integer(L, "last", (int64_t)choice->last);
    lua_setfield(L, -2, "range");
}

static void set_machine(lua_State *L) {
    char host[64], address[VS_ADDRESS_MAX];
    uint32_t random = 0;
    vs_host_name(host, sizeof host);
    int64_t ordinal = vs_host_ordinal(host);
    (void)vs_random(&random, sizeof random); /* if this fails, 0 is also valid */
    vs_lua_set_text(L, "host", host);
    if (vs_host_address(address) == 0) vs_lua_set_text(L, "ip", address);
    if (ordinal >= 0) vs_lua_set_integer(L, "ordinal", ordinal);
    vs_lua_set_integer(L, "random", random);
}

int vs_lua_push_choice(lua_State *L, struct vesta_gen *gen) {
    struct vesta_info info;
    struct choice_box *box = lua_newuserdata(L, sizeof *box);
    *box = (struct choice_box){.object = {CLASS}};
    luaL_getmetatable(L, CLASS);
    lua_setmetatable(L, -2);
    if (vesta_get_choice(gen, &box->choice, NULL) != VESTA_OK) return 0;
    vesta_get_info(gen, &info);
    lua_createtable(L, 0, 12);
    set_records(L, box->choice);
    set_machine(L);
    vs_lua_set_text(L, "identity", info.identity);
    vs_lua_set_integer(L, "now_ms", box->choice->store_ms);
    vs_lua_set_integer(L, "attempt", box->choice->attempt);
    choice_set_flag(L, "is_fixed", box->choice->is_fixed);
    if (box->choice->was_lost) vs_lua_set_integer(L, "lost", (int64_t)box->choice->lost);
    if (box->choice->is_switch) vs_lua_set_integer(L, "leaving", (int64_t)box->choice->leaving);
    vesta_choice_free(box->choice);
    box->choice = NULL;
    return 1;
}

static const struct vs_lua_function METHODS[] = {{"__gc", choice_free}, {NULL, NULL}};

void vs_lua_open_choice(lua_State *L) {
    vs_lua_class(L, CLASS, METHODS);
    lua_pop(L, 1);
}
