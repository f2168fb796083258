/* border.h -- declarations shared by this folder's files.  Each C function checks its arguments, calls the library, and
 * pushes the result.  A wrong type raises an error at the caller's line.  Other failures return nil, text, code.
 *
 * The same sources compile with Lua 5.1 to 5.4 and LuaJIT.  They only use functions that all of them export, so a
 * module that was built with the headers of 5.1 loads in lua5.1, in LuaJIT and in nginx. */
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

/* Maximum number of pairs in one range, as in the other interfaces. */
#define VS_LUA_PAIRS_MAX VESTA_BATCH_MAX

/* Maximum number of named values in one table: a layout's fields, and `worker`, the second name of the leased field. */
#define VS_LUA_VALUES_MAX (VESTA_FIELDS_MAX + 1)

struct vs_lua_function {
    const char *name;
    lua_CFunction call;
};

/* Creates a metatable in the registry.  Functions with names that begin with __ go into the metatable, and all other
 * functions go into its __index.  Stack: +1. */
void vs_lua_class(lua_State *L, const char *name, const struct vs_lua_function *methods);

/* Sets functions in the table at the top of the stack. */
void vs_lua_functions(lua_State *L, const struct vs_lua_function *functions);

/* The start of every object of this module: the address of its class's name.  A userdata with the right size and first
 * word is accepted as an object.  Looking up the metatable instead would cost as much as issuing an id. */
struct vs_lua_object {
    const char *class;
};

/* Raises the error that argument 1 is not a `class`. */
int vs_lua_not_self(lua_State *L, const char *class);

/* Returns the object in argument 1.  Inline, because it runs for every id.  Errors: raises if the argument is not such
 * an object. */
static inline void *vs_lua_self(lua_State *L, const char *class, size_t size) {
    struct vs_lua_object *object = lua_touserdata(L, 1);
    /* Check the size first: a light userdata has size 0, and its memory must not be read. */
    if (!object || lua_rawlen(L, 1) != size || object->class != class) vs_lua_not_self(L, class);
    return object;
}

/* Returns a string argument.  Errors: raises for another type, or for a NUL inside the string. */
const char *vs_lua_text(lua_State *L, int arg, const char *what);

/* Reads an id argument: a decimal string, an integer, a 64-bit cdata, or a double of at most 2^53.
 * Errors: VESTA_EID with the value in the text.  Raises for another type. */
int vs_lua_id(lua_State *L, int arg, uint64_t *id, struct vesta_error *err);

/* Reads a time, as Unix milliseconds in a number, or as an RFC 3339 string.  Errors: VESTA_EFIELD.  Raises for another
 * type. */
int vs_lua_time(lua_State *L, int arg, int64_t *unix_ms, struct vesta_error *err);

/* Returns the number of requested ids from argument 2, and makes that argument the top of the stack.  Errors: raises if
 * it is not a whole number from 1 to VESTA_BATCH_MAX. */
size_t vs_lua_count(lua_State *L);

/* Reads a Lua table of named values for vesta_make into out[0..*count), which has room for VS_LUA_VALUES_MAX.  The
 * names point into the table.  `time` may be an RFC 3339 string.
 *
 * A caller can change a field in a result of explain and pass the result here.  Therefore, members that explain derives
 * from others are ignored: iso and unix_ms if there is a `time`, and the second name of the leased field.  If there is
 * no `time`, unix_ms or iso sets it.
 *
 * Errors: VESTA_EFIELD.  Raises if the argument is not a table of names and integers. */
int vs_lua_values(lua_State *L, int arg, const struct vesta_layout *layout, struct vesta_value *out, size_t *count,
                  struct vesta_error *err);

/* These push results.  Each returns the number of pushed values. */
int vs_lua_push_id(lua_State *L, uint64_t id);
/* pushes an integer, and raises if this Lua has no exact 64-bit integers */
int vs_lua_push_native(lua_State *L, uint64_t id);
int vs_lua_push_parts(lua_State *L, const struct vesta_layout *layout, const struct vesta_parts *parts);
int vs_lua_push_ids(lua_State *L, const uint64_t *ids, size_t n); /* pushes a table of strings */
int vs_lua_push_natives(lua_State *L, const uint64_t *ids, size_t n);
int vs_lua_push_fail(lua_State *L, int code, const char *text);
int vs_lua_push_error(lua_State *L, const struct vesta_error *err);

/* Pushes a number up to 2^53, as an integer if this Lua has integers. */
void vs_lua_push_integer(lua_State *L, int64_t value);
void vs_lua_set_integer(lua_State *L, const char *key, int64_t value);
void vs_lua_set_text(lua_State *L, const char *key, const char *text);
void vs_lua_set_id(lua_State *L, const char *key, uint64_t value);
void vs_lua_set_iso(lua_State *L, const char *key, int64_t unix_ms);

/* Stores the function at the top of the stack as the reader of cdata.  The function returns a decimal string, or nil.
 * Stack: -1. */
void vs_lua_set_cdata_reader(lua_State *L);

/* Methods that layouts and generators share.  Arguments start at 2. */
int vs_lua_explain(lua_State *L, const struct vesta_layout *layout);
int vs_lua_make(lua_State *L, const struct vesta_layout *layout);
int vs_lua_range(lua_State *L, const struct vesta_layout *layout);

/* Reads the options of vesta.open from the table at 1, which must be the only argument.  The strings stay on the stack,
 * so that they are valid until the caller returns.  Errors: VESTA_EOPTION. */
int vs_lua_read_options(lua_State *L, struct vesta_opts *opts, struct vesta_error *err);

/* Pushes the table from which a policy chooses a worker id.  Returns 0 if the keeper is not asking for one. */
int vs_lua_push_choice(lua_State *L, struct vesta_gen *gen);

/* Keeps the generator at `arg` open until vs_lua_leave_gen.  Until then, its close method only ends its use from Lua.
 * Returns NULL if the argument is not an open generator. */
void *vs_lua_hold_gen(lua_State *L, int arg, struct vesta_gen **gen);
void vs_lua_leave_gen(lua_State *L, void *held);

/* Each of these adds the functions of one file to the module table at the top of the stack. */
void vs_lua_open_layout(lua_State *L);
void vs_lua_open_gen(lua_State *L);
void vs_lua_open_choice(lua_State *L);
void vs_lua_open_past(lua_State *L);
void vs_lua_open_segment(lua_State *L);
void vs_lua_open_client(lua_State *L);
void vs_lua_open_zone(lua_State *L);
void vs_lua_open_fast(lua_State *L);

#endif
