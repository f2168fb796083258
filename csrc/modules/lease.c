/* lease.c -- the module `lease`: runs a program under a lease of a worker id, or leases a worker id without a program. */
#include "command/command.h"
#include "modules/host.h"
#include "modules/tables.h"
#include "run/run.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define LEASE_LINE_MAX 1100
#define LEASE_SAY_MS 20

/* Writes a line in one call, because two processes write.  Drops the line if stderr is a full pipe or a stopped terminal,
 * because the keeper must not miss a deadline. */
static void lease_say(const char *text) {
    char line[LEASE_LINE_MAX];
    int length = snprintf(line, sizeof line, "vesta lease run: %s\n", text);
    size_t used = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
    struct pollfd at = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&at, 1, LEASE_SAY_MS) > 0) (void)!write(STDERR_FILENO, line, used);
}

static int64_t lease_number(lua_State *L, const char *key) {
    lua_getfield(L, 1, key);
    int64_t number = luaL_checkinteger(L, -1);
    lua_pop(L, 1);
    return number;
}

/* Reads the options from the table at 1, which keeps the strings alive. */
static struct vs_run_opts lease_opts(lua_State *L) {
    int unused;
    luaL_checktype(L, 1, LUA_TTABLE);
    struct vs_run_opts opts = {.uri = host_get_text(L, 1, "uri"),
                               .namespace_ = host_get_text(L, 1, "namespace"),
                               .secret = host_get_text(L, 1, "secret"),
                               .layout = host_get_text(L, 1, "layout"),
                               .fallback = host_get_text(L, 1, "fallback"),
                               .identity = host_get_text(L, 1, "identity"),
                               .has_worker = host_get_flag(L, 1, "worker"),
                               .times = {.ttl_ms = lease_number(L, "ttl_ms"),
                                         .skew_ms = lease_number(L, "skew_ms"),
                                         .kill_after_ms = lease_number(L, "kill_after_ms"),
                                         .patience_ms = lease_number(L, "patience_ms")},
                               .datacenter_bits = (unsigned)lease_number(L, "datacenter_bits"),
                               .is_verbose = host_get_flag(L, 1, "verbose"),
                               .say = lease_say};
    if (opts.has_worker) opts.worker = (uint64_t)lease_number(L, "worker");
    lua_getfield(L, 1, "names");
    opts.names = host_words(L, lua_gettop(L), 1, &unused);
    lua_getfield(L, 1, "command");
    opts.command = host_words(L, lua_gettop(L), 1, &unused);
    return opts;
}

/* lease.run(options) -> exit code
 * options: uri, namespace, secret, layout, fallback, identity, worker, verbose as in struct vs_run_opts, and ttl_ms,
 * skew_ms, kill_after_ms, patience_ms, datacenter_bits, names (a list), command (a list). */
static int lease_run(lua_State *L) {
    const struct vs_run_opts opts = lease_opts(L);
    vs_out_flush();
    lua_pushinteger(L, vs_run(&opts));
    return 1;
}

/* lease.once(options) -> { worker, fence, starts_ms, expires_ms } | nil, text, code */
static int lease_once(lua_State *L) {
    const struct vs_run_opts opts = lease_opts(L);
    struct vs_run_lease lease;
    struct vesta_error err;
    if (vs_run_once(&opts, &lease, &err) != VESTA_OK) return host_fail(L, &err);
    lua_createtable(L, 0, 4);
    host_set_integer(L, "worker", (int64_t)lease.worker);
    host_set_integer(L, "fence", (int64_t)lease.fence);
    host_set_integer(L, "starts_ms", lease.starts_ms);
    host_set_integer(L, "expires_ms", lease.expires_ms);
    return 1;
}

/* lease.name_trouble(name, has_parts) -> nil, or why NAME or NAME=TEXT cannot be set */
static int lease_name_trouble(lua_State *L) {
    lua_pushstring(L, vs_run_name_trouble(luaL_checkstring(L, 1), lua_toboolean(L, 2)));
    return 1;
}

/* lease.kill_after_ms(ttl_ms) -> the default, the longest */
static int lease_kill_after_ms(lua_State *L) {
    int64_t ttl_ms = luaL_checkinteger(L, 1);
    lua_pushinteger(L, vs_run_kill_after_ms(ttl_ms));
    lua_pushinteger(L, vs_run_kill_after_ms_max(ttl_ms));
    return 2;
}

int host_open_lease(lua_State *L) {
    static const luaL_Reg functions[] = {{"run", lease_run},
                                         {"once", lease_once},
                                         {"name_trouble", lease_name_trouble},
                                         {"kill_after_ms", lease_kill_after_ms},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
