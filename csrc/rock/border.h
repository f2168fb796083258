/* border.h -- declarations shared by the files of this folder.  A C function here checks its arguments, calls the
 * library, and pushes the result.  A wrong type raises an error at the caller's line.  Other failures return nil, text,
 * code.
 *
 * The same sources compile with Lua 5.1 to 5.4 and LuaJIT.  They only use functions that all of them export, so a
 * module built with 5.1's headers loads in lua5.1, in LuaJIT and in nginx. */
#ifndef VS_LUA_BORDER_H
#define VS_LUA_BORDER_H

#include "vesta.h"

#include <lauxlib.h>
#include <lua.h>

#include <stdbool.h>

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

/* LuaJIT's type tag of cdata, which plain Lua 5.1 does not use. */
#define VS_LUA_TCDATA 10

/* Pairs that one range may have: the limit of the other interfaces, too. */
#define VS_LUA_PAIRS_MAX VESTA_BATCH_MAX

/* Named values in one table: a layout's fields, and `worker`, the second name of the leased field. */
#define VS_LUA_VALUES_MAX (VESTA_FIELDS_MAX + 1)

struct vs_lua_function {
    const char *name;
    lua_CFunction call;
};

/* Makes a metatable in the registry.  Names with __ go into it, the others into its __index.  Stack: +1. */
void vs_lua_class(lua_State *L, const char *name, const struct vs_lua_function *methods);

/* Sets functions in the table on top. */
void vs_lua_functions(lua_State *L, const struct vs_lua_function *functions);

/* Every object of this module begins with the address of its class's name.  A userdata with the right size and first
 * word is accepted, because looking up the metatable would cost as much as issuing the id. */
struct vs_lua_object {
    const char *class;
};

/* Raises an error, because argument 1 is not a `class`. */
int vs_lua_not_self(lua_State *L, const char *class);

/* Returns the object in argument 1.  Inline, because it runs for every id.  Errors: raises if it is something else. */
static inline void *vs_lua_self(lua_State *L, const char *class, size_t size) {
    struct vs_lua_object *object = lua_touserdata(L, 1);
    /* Check the size first: a light userdata has size 0, and its memory must not be read. */
    if (!object || lua_rawlen(L, 1) != size || object->class != class) vs_lua_not_self(L, class);
    return object;
}

/* A text argument.  Errors: raises for another type or a NUL inside. */
const char *vs_lua_text(lua_State *L, int arg, const char *what);

/* An id argument: decimal string, integer, 64-bit cdata, or a double of at most 2^53.
 * Errors: VESTA_EID names the value; raises for another type. */
int vs_lua_id(lua_State *L, int arg, uint64_t *id, struct vesta_error *err);

/* A time: Unix milliseconds as a number, or RFC 3339.  Errors: VESTA_EFIELD; raises for another type. */
int vs_lua_time(lua_State *L, int arg, int64_t *unix_ms, struct vesta_error *err);

/* The number of requested ids: argument 2, which becomes the top of the stack.  Errors: raises if it is not a whole
 * number from 1 to VESTA_BATCH_MAX. */
size_t vs_lua_count(lua_State *L);

/* Reads a Lua table of named values for vesta_make into out[0..*count), with room for VS_LUA_VALUES_MAX.  The names point
 * into the table.  `time` may be an RFC 3339 text.
 *
 * A caller can change a field in a result of explain and pass it here.  So members that explain derives from others are
 * ignored: iso and unix_ms next to `time`, and the second name of the leased field.  If there is no `time`, unix_ms or
 * iso sets it.
 *
 * Errors: VESTA_EFIELD.  Raises if the argument is not a table of names and integers. */
int vs_lua_values(lua_State *L, int arg, const struct vesta_layout *layout, struct vesta_value *out, size_t *count,
                  struct vesta_error *err);

/* Push results.  Each returns how many values it pushed. */
int vs_lua_push_id(lua_State *L, uint64_t id);
int vs_lua_push_native(lua_State *L, uint64_t id); /* as an integer; raises if this Lua has none */
int vs_lua_push_parts(lua_State *L, const struct vesta_layout *layout, const struct vesta_parts *parts);
int vs_lua_push_ids(lua_State *L, const uint64_t *ids, size_t n); /* a table of texts */
int vs_lua_push_natives(lua_State *L, const uint64_t *ids, size_t n);
int vs_lua_push_fail(lua_State *L, int code, const char *text);
int vs_lua_push_error(lua_State *L, const struct vesta_error *err);

/* A number up to 2^53: an integer if this Lua has them. */
void vs_lua_push_integer(lua_State *L, int64_t value);
void vs_lua_set_integer(lua_State *L, const char *key, int64_t value);
void vs_lua_set_text(lua_State *L, const char *key, const char *text);
void vs_lua_set_id(lua_State *L, const char *key, uint64_t value);
void vs_lua_set_iso(lua_State *L, const char *key, int64_t unix_ms);

/* Stores the function on top as the reader of cdata, which returns a decimal string, or nil.  Stack: -1. */
void vs_lua_set_cdata_reader(lua_State *L);

/* Methods of layouts and generators.  Arguments start at 2. */
int vs_lua_explain(lua_State *L, const struct vesta_layout *layout);
int vs_lua_make(lua_State *L, const struct vesta_layout *layout);
int vs_lua_range(lua_State *L, const struct vesta_layout *layout);

/* Pushes the table from which a policy chooses a worker id.  Returns 0 if the keeper does not ask. */
int vs_lua_push_choice(lua_State *L, struct vesta_gen *gen);

/* Keeps the generator at arg open until vs_lua_leave_gen.  Its close method then only ends its use from Lua.  NULL: it
 * is not an open generator. */
void *vs_lua_hold_gen(lua_State *L, int arg, struct vesta_gen **gen);
void vs_lua_leave_gen(lua_State *L, void *held);

/* Each sets a file's functions in the module table on top. */
void vs_lua_open_layout(lua_State *L);
void vs_lua_open_gen(lua_State *L);
void vs_lua_open_choice(lua_State *L);
void vs_lua_open_segment(lua_State *L);
void vs_lua_open_client(lua_State *L);
void vs_lua_open_zone(lua_State *L);
void vs_lua_open_fast(lua_State *L);

#endif
