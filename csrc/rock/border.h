/* border.h -- what the files of this folder share.  A C function here checks its arguments (and may raise), calls
 * the library, pushes the answer.  A wrong type raises at the caller's line; a failing world is nil, text, code.
 *
 * The same sources compile against Lua 5.1 to 5.4 and LuaJIT.  Only functions that every one of them exports are
 * used, so a module built with 5.1's headers loads in lua5.1, in LuaJIT and in nginx. */
#ifndef VS_LUA_BORDER_H
#define VS_LUA_BORDER_H

#include "vesta.h"

#include <lauxlib.h>
#include <lua.h>

#include <stdbool.h>

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

/* LuaJIT's type tag of cdata; plain Lua 5.1 has no value with it. */
#define VS_LUA_TCDATA 10

/* Pairs that one range may have: the cap that holds everywhere. */
#define VS_LUA_PAIRS_MAX VESTA_BATCH_MAX

/* Named values in one table: a layout's fields, and the leased one by its second name. */
#define VS_LUA_VALUES_MAX (VESTA_FIELDS_MAX + 1)

struct vs_lua_function {
    const char *name;
    lua_CFunction call;
};

/* Makes a metatable in the registry; names with __ go into it, the others into its __index.  Stack: +1. */
void vs_lua_class(lua_State *L, const char *name, const struct vs_lua_function *methods);

/* Sets functions in the table on top. */
void vs_lua_functions(lua_State *L, const struct vs_lua_function *functions);

/* What every object of ours begins with: the address of its class's name.  A userdata of that size with that word in
 * front is ours; looking the metatable up would cost as much as giving the id. */
struct vs_lua_object {
    const char *class;
};

/* Raises: argument 1 is no `class`. */
int vs_lua_not_self(lua_State *L, const char *class);

/* The object in argument 1.  Inline, because every id passes here.  Errors: raises where it is something else. */
static inline void *vs_lua_self(lua_State *L, const char *class, size_t size) {
    struct vs_lua_object *object = lua_touserdata(L, 1);
    /* the size first: a light userdata has none, and nothing smaller may be read */
    if (!object || lua_rawlen(L, 1) != size || object->class != class) vs_lua_not_self(L, class);
    return object;
}

/* How many of a batch: argument 2.  Errors: raises where it is no whole number of 1 to VESTA_BATCH_MAX. */
size_t vs_lua_count(lua_State *L);

/* A text argument.  Errors: raises for another type or a NUL inside. */
const char *vs_lua_text(lua_State *L, int arg, const char *what);

/* An id argument: decimal string, integer, 64-bit cdata, or a double of at most 2^53.
 * Errors: VESTA_EID names the value; raises for another type. */
int vs_lua_id(lua_State *L, int arg, uint64_t *id, struct vesta_error *err);

/* A moment: Unix milliseconds as a number, or RFC 3339.  Errors: VESTA_EFIELD; raises for another type. */
int vs_lua_time(lua_State *L, int arg, int64_t *unix_ms, struct vesta_error *err);

/* How many ids are asked for, argument 2; the last one then.  Errors: raises where it is no whole number from 1 to
 * VESTA_BATCH_MAX. */
size_t vs_lua_count(lua_State *L);

/* A table of named values, as vesta_make takes them.  What explain adds on its own (iso and unix_ms beside time, the
 * leased field under both its names) is taken as read, so that explain's answer can be changed and made again.
 * Without `time`, unix_ms or iso names the time unit; `time` itself may be an RFC 3339 text.
 * Shape: out[0..*count), room for VS_LUA_VALUES_MAX; names live as long as the table.
 * Errors: VESTA_EFIELD; raises where it is no table of names and integers. */
int vs_lua_values(lua_State *L, int arg, const struct vesta_layout *layout, struct vesta_value *out, size_t *count,
                  struct vesta_error *err);

/* Answers.  Each returns how many values it pushed. */
int vs_lua_push_id(lua_State *L, uint64_t id);
int vs_lua_push_native(lua_State *L, uint64_t id); /* as an integer; raises where Lua has none */
int vs_lua_push_parts(lua_State *L, const struct vesta_layout *layout, const struct vesta_parts *parts);
int vs_lua_push_ids(lua_State *L, const uint64_t *ids, size_t n); /* a table of texts */
int vs_lua_push_natives(lua_State *L, const uint64_t *ids, size_t n);
int vs_lua_push_fail(lua_State *L, int code, const char *text);
int vs_lua_push_error(lua_State *L, const struct vesta_error *err);

/* A number up to 2^53: an integer where Lua has them. */
void vs_lua_push_integer(lua_State *L, int64_t value);
void vs_lua_set_integer(lua_State *L, const char *key, int64_t value);
void vs_lua_set_text(lua_State *L, const char *key, const char *text);
void vs_lua_set_id(lua_State *L, const char *key, uint64_t value);
void vs_lua_set_iso(lua_State *L, const char *key, int64_t unix_ms);

/* Keeps the function on top as the reader of cdata: it gives a decimal string, or nil.  Stack: -1. */
void vs_lua_set_cdata_reader(lua_State *L);

/* What layouts and generators both offer; arguments start at 2. */
int vs_lua_explain(lua_State *L, const struct vesta_layout *layout);
int vs_lua_make(lua_State *L, const struct vesta_layout *layout);
int vs_lua_range(lua_State *L, const struct vesta_layout *layout);

/* What a policy is told that chooses a worker number, as a table; nil where the keeper does not ask. */
int vs_lua_push_choice(lua_State *L, struct vesta_gen *gen);

/* The generator at arg, which stays open until it is left; close by itself only ends its use from Lua.  NULL: it is
 * none that is open. */
void *vs_lua_hold_gen(lua_State *L, int arg, struct vesta_gen **gen);
void vs_lua_leave_gen(lua_State *L, void *held);

/* Each file's part of the module: sets functions in the module table on top. */
void vs_lua_open_layout(lua_State *L);
void vs_lua_open_gen(lua_State *L);
void vs_lua_open_choice(lua_State *L);
void vs_lua_open_segment(lua_State *L);
void vs_lua_open_client(lua_State *L);
void vs_lua_open_zone(lua_State *L);
void vs_lua_open_fast(lua_State *L);

#endif
