/* vm.h -- a Lua 5.4 state with limits on instructions, memory and time.  Policies and config files run in such a state.
 */
#ifndef VS_VM_H
#define VS_VM_H

#include "host/run.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Maximum size of a source.  No reasonable policy or config is longer, and no budget can interrupt the compiler. */
#define VS_SOURCE_BYTES_MAX ((size_t)64 * 1024)

/* Maximum size of a single string or table.  It bounds the cost of one Lua instruction, which no budget can interrupt.
 */
#define VS_BLOCK_BYTES_MAX ((size_t)1024 * 1024)

struct vs_lua;

/* Opens a state.  Errors: VESTA_EOPTION if the limits are out of range.  VESTA_ENOMEM. */
int vs_lua_open(const struct vs_vm_limits *limits, struct vs_lua **out, struct vesta_error *err);
void vs_lua_close(struct vs_lua *lua);

/* Returns the Lua state, to read values that a run left in its registry.  Do not call functions that can raise an
 * error. */
lua_State *vs_lua_state(const struct vs_lua *lua);

/* Runs the program's own Lua code without limits, before any other code: body(L) with `arg` as light userdata.  Memory
 * that remains in use is not counted.  Errors: VESTA_ENOMEM.  VESTA_EOPTION if the code raised an error. */
int vs_lua_boot(struct vs_lua *lua, lua_CFunction body, void *arg, struct vesta_error *err);

/* Chunk name of the program's own Lua code.  Messages about a spent limit never name lines of it. */
#define VS_LUA_OWN_CHUNK "=[vesta]"

/* Marks the state as trusted: from now on, it runs only the program's own Lua code, and only its memory is limited.  Do
 * not run foreign code in it again. */
void vs_lua_trust(struct vs_lua *lua, size_t memory_bytes);

/* Calls body(L) with `arg` as light userdata and a new budget.  body may raise an error.  The stack is empty
 * afterwards.  If the result is not VS_CALL_OK, err has the reason, with file and line if known.  Its code is
 * VESTA_ENOMEM if the machine had no memory, and VESTA_EOPTION otherwise. */
enum vs_call_result vs_lua_run(struct vs_lua *lua, lua_CFunction body, void *arg, struct vesta_error *err);

/* Compiles source text, but not bytecode, and pushes the resulting function.  `chunk` is "@" followed by the path for
 * error messages.  The value at the top of the stack becomes the function's globals, and is replaced by the function.
 * Raises. */
void vs_lua_compile(lua_State *L, const char *text, size_t length, const char *chunk);

/* A file, and its kind for error messages ("the policy"). */
struct vs_source {
    const char *what, *path;
};
/* Reads up to `size` bytes and removes a byte order mark.  With a buffer of VS_SOURCE_BYTES_MAX + 1 bytes,
 * vs_lua_compile detects a source that is too long.  Errors: VESTA_EIO. */
int vs_source_read(const struct vs_source *source, char *buf, size_t size, size_t *length, struct vesta_error *err);

/* Adds to the budget's count the work that a C function is about to do: one instruction per element. */
void vs_lua_work(lua_State *L, uint64_t elements);

/* Raises the error again if the budget is spent, so that a policy's pcall cannot catch it. */
void vs_lua_go_on(lua_State *L, int status);

/* A file of lua/ that vesta_embed built into the program.  The last entry of a list has no name. */
struct vs_shipped {
    const char *name; /* without its extension */
    const char *text;
    size_t length;
};
/* Returns the file with that name, or NULL. */
const struct vs_shipped *vs_shipped_in(const struct vs_shipped *list, const char *name);

/* Opens Lua's libraries for the program's own Lua code, without functions that load code.  The functions that a policy
 * may use (lua/vesta/engine.lua lists them) have guards, so that a limit can end each of them.  Raises. */
void vs_sandbox_open(lua_State *L);

/* Copies a value from one state to another and pushes it: nil, a boolean, a number, a string, or a table of these.  A
 * float without a fraction becomes an integer.  Raises only in `to`. */
void vs_lua_carry(lua_State *from, int index, lua_State *to);

/* Makes foreign text safe for a log line and for JSON.  Keeps valid UTF-8 characters.  Replaces control characters and
 * invalid bytes by \xNN.  A text that does not fit is truncated and ends in "...".  Range: size is at least 8. */
void vs_calm(char *buf, size_t size, const char *text, size_t length);

#endif
