/* host.h -- runs the program's commands that are written in Lua.
 *
 * A command is a file directly in lua/cli.  lua/cli/lib/commands.lua lists what such a file returns.  lua/cli/lib
 * contains modules that several commands share, and the parts of large commands.
 *
 * Threads: the main thread only. */
#ifndef VS_HOST_H
#define VS_HOST_H

#include "command/options.h"
#include "host/vm.h"

#include <lauxlib.h>

extern const struct vs_shipped host_rock_files[]; /* lua/vesta, without vs_shipped_engine[] */
extern const struct vs_shipped host_cli_files[];  /* lua/cli: the commands, required as cli.NAME */
extern const struct vs_shipped host_lib_files[];  /* lua/cli/lib: required as cli.lib.NAME */

/* Adds Lua modules for the program's commands.  A row without a name ends the list.  Call it before any function below. */
void vs_host_modules(const luaL_Reg *modules);

/* Runs the command argv[0].  If there is no such command, reports that.  Returns the exit code. */
int vs_host_run(int argc, char **argv);

/* Prints the help of a command in C.  Returns an exit code. */
int vs_host_help(const struct vs_command *command, const struct vs_option *table);

/* Pushes the help texts of a command in C, in the form described in lua/cli/lib/commands.lua.  Stack: +1. */
void host_push_command(lua_State *L, const struct vs_command *command);

/* Loads a module of lua/ as Lua text and pushes its function.  Returns false if the program contains no such file.
 * Raises. */
bool host_load(lua_State *L, const char *module);

/* term.c: opens the module `term`.  Stack: +1. */
int host_open_term(lua_State *L);
/* term.c: returns the strings of the list at `arg`, from index `first` on, followed by NULL.  The list keeps the
 * strings alive, and the value that this function pushes keeps the array alive.  Stack: +1. */
char **host_words(lua_State *L, int arg, int first, int *count);
/* term.c: pushes rows for term.options.  The last element of `options` has no name.  Stack: +1. */
void host_push_options(lua_State *L, const struct vs_option *options);
/* facts.c: opens the module `facts`.  Stack: +1. */
int host_open_facts(lua_State *L);
/* clients.c: opens the module `clients`.  Stack: +1. */
int host_open_clients(lua_State *L);
/* config.c: opens the module `config`.  Stack: +1. */
int host_open_config(lua_State *L);
/* kernel.c: opens the module `kernel`.  Stack: +1. */
int host_open_kernel(lua_State *L);
/* lease.c: opens the module `lease`.  Stack: +1. */
int host_open_lease(lua_State *L);
/* past.c: opens the module `past`.  Stack: +1. */
int host_open_past(lua_State *L);
/* wire.c: opens the module `wire`.  Stack: +1. */
int host_open_wire(lua_State *L);
/* wire.c: sets the TLS options from the table at `arg`, which keeps the strings alive (nil: no options). */
struct vs_link_opts;
void host_link_opts(lua_State *L, int arg, struct vs_link_opts *opts);
/* sandbox.c: opens the module `sandbox`.  Stack: +1. */
int host_open_sandbox(lua_State *L);
/* screen.c: opens the module `screen`.  Stack: +1. */
int host_open_screen(lua_State *L);
/* store.c: opens the module `store`.  Stack: +1. */
int host_open_store(lua_State *L);
/* store.c: pushes a list of { what, todo }: settings of the store that should be changed although the store works.
 * Stack: +1. */
struct vs_store;
struct vs_reply;
void host_push_faults(lua_State *L, struct vs_store *store, struct vs_reply *reply);
/* ids.c: opens the module `ids`.  Stack: +1. */
int host_open_ids(lua_State *L);

#endif
