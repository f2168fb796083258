/* vm.h -- a Lua 5.4 state with limits on instructions, memory and time: policies and config files run in one.
 * Knows no policy and no config. */
#ifndef VS_VM_H
#define VS_VM_H

#include "host/run.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* A text that is run: more is no policy and no config, and would keep the compiler busy, which no budget ends. */
#define VS_SOURCE_BYTES_MAX ((size_t)64 * 1024)

/* No single string or table may take more.  It bounds what one step of Lua, which no budget ends either, can cost. */
#define VS_BLOCK_BYTES_MAX ((size_t)1024 * 1024)

struct vs_lua;

/* Errors: VESTA_EOPTION: limits that cannot be; VESTA_ENOMEM. */
int vs_lua_open(const struct vs_vm_limits *limits, struct vs_lua **out, struct vesta_error *err);
void vs_lua_close(struct vs_lua *lua);

/* The state, for reading what a run has left in its registry.  Call no function that can raise. */
lua_State *vs_lua_state(const struct vs_lua *lua);

/* Runs the program's own Lua, before anything else: body(L) with one argument, `arg` as light userdata, without limits.
 * The memory that it keeps does not count.  Errors: VESTA_ENOMEM; VESTA_EOPTION: it raised an error. */
int vs_lua_boot(struct vs_lua *lua, lua_CFunction body, void *arg, struct vesta_error *err);

/* The chunk of the program's own Lua: a message about a spent limit never names a line of it. */
#define VS_LUA_OWN_CHUNK "=[vesta]"

/* The program's own Lua runs from here on: only its memory is limited.  No foreign code may run in the state again. */
void vs_lua_trust(struct vs_lua *lua, size_t memory_bytes);

/* Calls body(L) with one argument, `arg` as light userdata, within a new budget; body may raise.  The stack is empty
 * afterwards.  Anything but VS_CALL_OK: err says what happened, with file and line where there is one; its code is
 * VESTA_EOPTION, or VESTA_ENOMEM where the machine, not the limit, had no more memory. */
enum vs_call_result vs_lua_run(struct vs_lua *lua, lua_CFunction body, void *arg, struct vesta_error *err);

/* Compiles source text (never bytecode) and leaves its function on the stack; `chunk` is "@" and the path, as errors
 * shall name it.  Its globals are the value at the top of the stack, which it replaces.  Raises. */
void vs_lua_compile(lua_State *L, const char *text, size_t length, const char *chunk);

/* A file, and what it is ("the policy"), as errors call it. */
struct vs_source {
    const char *what, *path;
};
/* Reads up to `size` bytes of it, and drops a byte order mark.  Errors: VESTA_EIO.
 * A buffer of VS_SOURCE_BYTES_MAX + 1 shows vs_lua_compile that a source is too long. */
int vs_source_read(const struct vs_source *source, char *buf, size_t size, size_t *length, struct vesta_error *err);

/* Counts what a function of C is about to do, an element for an instruction. */
void vs_lua_work(lua_State *L, uint64_t elements);

/* What pcall asks: raises again if the budget is spent, so that no caught error is a way out. */
void vs_lua_go_on(lua_State *L, int status);

/* A file of lua/ that is part of the program, made by vesta_embed; the last of a list has no name. */
struct vs_shipped {
    const char *name; /* without its ending */
    const char *text;
    size_t length;
};
/* NULL: the list has none of that name. */
const struct vs_shipped *vs_shipped_in(const struct vs_shipped *list, const char *name);

/* Opens Lua's libraries for the program's own Lua, without functions that load code.  Functions that a policy may use
 * (lua/vesta/engine.lua lists them) are guarded: a limit ends each of them.  Raises. */
void vs_sandbox_open(lua_State *L);

/* Copies a value from one state to another and pushes it: nil, a boolean, a number, a text, or a table of them.  A
 * float without a fraction becomes an integer.  Raises in `to` only. */
void vs_lua_carry(lua_State *from, int index, lua_State *to);

/* Foreign text made fit for a log line and a JSON body: whole UTF-8 characters stay, controls and broken bytes become
 * \xNN, what does not fit is cut and ends in "...".  size >= 8. */
void vs_calm(char *buf, size_t size, const char *text, size_t length);

#endif
