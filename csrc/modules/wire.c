/* wire.c -- the module `wire`: non-blocking connections for a screen, and waiting for input.  Contains no protocol
 * code. */
#include "base/array.h"
#include "base/rest.h"
#include "client/link.h"
#include "command/command.h"
#include "modules/host.h"
#include "modules/tables.h"
#include "os/address.h"
#include "os/clock.h"

#include <errno.h>
#include <lauxlib.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WIRE_PIECE 65536
#define WIRE_WAITS_MAX 8
#define WIRE_CLASS "vesta.wire"

static struct vs_link *wire_self(lua_State *L) {
    return luaL_checkudata(L, 1, WIRE_CLASS);
}

static int wire_close(lua_State *L) {
    vs_link_close(wire_self(L));
    return 0;
}

/* Sets the TLS options from a table (cli/lib/secure.lua), which keeps the strings alive. */
void host_link_opts(lua_State *L, int arg, struct vs_link_opts *opts) {
    if (!lua_istable(L, arg)) return;
    const char *pinned = host_get_text(L, arg, "pinned");
    opts->is_tls = host_get_flag(L, arg, "tls");
    opts->tls = (struct vs_tls_client_opts){.ca = pinned ? pinned : host_get_text(L, arg, "cacert"),
                                            .certificate = host_get_text(L, arg, "cert"),
                                            .key = host_get_text(L, arg, "key"),
                                            .is_unverified = host_get_flag(L, arg, "insecure"),
                                            .is_pinned = pinned != NULL};
    if (!opts->tls.key) opts->tls.key = opts->tls.certificate; /* one file may contain both */
}

/* wire.check(address) -> true | nil, text, code
 * Fails if the address is not of the form HOST:PORT, [v6]:PORT or unix:PATH. */
static int wire_check(lua_State *L) {
    struct vesta_error err;
    if (vs_address_check(luaL_checkstring(L, 1), &err) == VESTA_OK) return lua_pushboolean(L, 1), 1;
    return host_fail(L, &err);
}

static bool wire_send_all(const struct vs_link *link, const char *text, size_t length, int patience_ms) {
    while (length > 0) {
        ssize_t sent = vs_link_write(link, text, length);
        struct pollfd at = vs_link_poll(link, POLLOUT);
        if (sent > 0) text += sent, length -= (size_t)sent;
        if (sent <= 0 && (!vs_link_is_for_later(sent) || poll(&at, 1, patience_ms) <= 0)) return false;
    }
    return true;
}

/* wire.ask(address, text, patience_ms, tls) -> connection | nil, text
 * Connects, with TLS if the address or the table `tls` requires it, and sends the text.  Connecting may block for
 * patience_ms per address of the host, and the TLS handshake for another patience_ms.  No method of a connection
 * blocks. */
static int wire_ask(lua_State *L) {
    struct vesta_error err;
    size_t length;
    const char *text = luaL_checklstring(L, 2, &length);
    struct vs_link_opts opts = {.address = luaL_checkstring(L, 1), .timeout_ms = luaL_checkinteger(L, 3)};
    struct vs_link *link = lua_newuserdatauv(L, sizeof *link, 0);
    *link = (struct vs_link){.fd = -1};
    luaL_setmetatable(L, WIRE_CLASS);
    host_link_opts(L, 4, &opts);
    if (vs_link_open(&opts, link, &err) != VESTA_OK) {
        lua_pushnil(L);
        lua_pushstring(L, err.text);
        return 2;
    }
    if (wire_send_all(link, text, length, (int)opts.timeout_ms)) return 1;
    vs_link_close(link);
    lua_pushnil(L);
    lua_pushstring(L, "the server closed the connection at once");
    return 2;
}

/* connection:read(max) -> bytes, is_end, reason
 * bytes: the bytes that have arrived, about max if more are available.  is_end: no more bytes can follow.  reason: why
 * TLS ended the connection, or nil.  If fewer than max bytes are returned, TLS has no buffered bytes left. */
static int wire_read(lua_State *L) {
    const struct vs_link *link = wire_self(L);
    size_t max = (size_t)luaL_checkinteger(L, 2), used = 0;
    bool has_ended = link->fd < 0;
    const char *why = NULL;
    luaL_Buffer buffer;
    luaL_buffinit(L, &buffer);
    while (!has_ended && used < max) {
        ssize_t n = vs_link_read(link, luaL_prepbuffsize(&buffer, WIRE_PIECE), WIRE_PIECE);
        if (n < 0 && errno == EINTR) continue;
        if (vs_link_is_for_later(n)) break;
        if (n <= 0) {
            has_ended = true;
            if (n < 0 && link->conn) why = vs_link_why(link);
            break;
        }
        luaL_addsize(&buffer, (size_t)n);
        used += (size_t)n;
    }
    luaL_pushresult(&buffer);
    lua_pushboolean(L, has_ended);
    lua_pushstring(L, why);
    return 3;
}

static volatile sig_atomic_t wire_has_signal; /* a signal that ends the command has arrived */

static void wire_on_signal(int number) {
    if (number != SIGWINCH) wire_has_signal = 1;
}

static const int wire_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};

/* Like poll, but a signal that arrives between the check of wire_has_signal and the wait also ends the wait. */
static int wire_poll(struct pollfd *at, nfds_t count, int ms) {
    const struct timespec span = {ms / 1000, ms % 1000 * 1000000L};
    sigset_t ends, before, open;
    sigemptyset(&ends);
    for (size_t i = 0; i < VS_COUNT(wire_signals); i++)
        sigaddset(&ends, wire_signals[i]);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    open = before;
    for (size_t i = 0; i < VS_COUNT(wire_signals); i++)
        sigdelset(&open, wire_signals[i]);
    int got = wire_has_signal ? 0 : ppoll(at, count, ms < 0 ? NULL : &span, &open);
    int why = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return got;
}

/* wire.wait(connections, has_keys, ms) -> is_running, has_key
 * Returns when bytes or a key arrive, or after ms.  is_running: false after a signal that ends the command.  has_key: a
 * key was typed.  `connections` is a list, which contains false for missing connections. */
static int wire_wait(lua_State *L) {
    struct pollfd at[WIRE_WAITS_MAX + 1] = {{.fd = lua_toboolean(L, 2) ? STDIN_FILENO : -1, .events = POLLIN}};
    int count = (int)lua_rawlen(L, 1), ms = (int)luaL_checkinteger(L, 3);
    luaL_argcheck(L, count <= WIRE_WAITS_MAX, 1, "too many connections");
    for (int i = 1; i <= count; i++) {
        lua_rawgeti(L, 1, i);
        const struct vs_link *link = luaL_testudata(L, -1, WIRE_CLASS);
        at[i] = link ? vs_link_poll(link, POLLIN) : (struct pollfd){.fd = -1};
        lua_pop(L, 1);
    }
    bool is_fine = wire_poll(at, (nfds_t)count + 1, ms) >= 0 || errno == EINTR;
    lua_pushboolean(L, is_fine && !wire_has_signal);
    lua_pushboolean(L, is_fine && at[0].revents != 0);
    return 2;
}

/* wire.clock_ms() -> milliseconds since the machine started */
static int wire_clock_ms(lua_State *L) {
    const struct vesta_clock *clock = vs_clock_system();
    lua_pushinteger(L, clock->boot_us(clock->self) / 1000);
    return 1;
}

/* wire.catch_signals(in_waits_only): from now on, Ctrl-C, TERM and a hang-up end a wait instead of the program.
 * in_waits_only: the signals interrupt no other call. */
static int wire_catch_signals(lua_State *L) {
    const struct sigaction act = {.sa_handler = wire_on_signal}; /* without SA_RESTART, so that a signal ends a wait */
    struct sigaction before;
    sigset_t ends;
    sigemptyset(&ends);
    for (size_t i = 0; i < VS_COUNT(wire_signals); i++) {
        bool is_ignored = sigaction(wire_signals[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN;
        if (wire_signals[i] == SIGHUP && is_ignored) continue; /* nohup has set SIGHUP to be ignored */
        sigaction(wire_signals[i], &act, NULL);
        sigaddset(&ends, wire_signals[i]);
    }
    if (lua_toboolean(L, 1)) pthread_sigmask(SIG_BLOCK, &ends, NULL);
    return 0;
}

/* wire.rest_ms(failures) -> how long to wait after a server has failed this many times in a row */
static int wire_rest_ms(lua_State *L) {
    const struct vesta_clock *clock = vs_clock_system();
    unsigned failures = (unsigned)luaL_checkinteger(L, 1);
    uint64_t dice = (uint64_t)clock->boot_us(clock->self) * 2654435761u;
    lua_pushinteger(L, vs_rest_us(failures - 1, VS_REST_MIN_US, dice) / 1000);
    return 1;
}

static int wire_interrupted(lua_State *L) {
    lua_pushboolean(L, wire_has_signal);
    return 1;
}

int host_open_wire(lua_State *L) {
    static const luaL_Reg methods[] = {{"read", wire_read}, {"close", wire_close}, {"__gc", wire_close}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"check", wire_check},
                                         {"ask", wire_ask},
                                         {"wait", wire_wait},
                                         {"clock_ms", wire_clock_ms},
                                         {"catch_signals", wire_catch_signals},
                                         {"rest_ms", wire_rest_ms},
                                         {"interrupted", wire_interrupted},
                                         {NULL, NULL}};
    host_class(L, WIRE_CLASS, methods);
    luaL_newlib(L, functions);
    return 1;
}
