/* machine.c -- the clock, limits, addresses, certificate and folders of this machine, as far as a server needs them. */
#include "main/doctor/probe.h"

#include "base/error.h"
#include "generator/map.h"
#include "keeper/file.h"
#include "os/address.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/process.h"
#include "os/thread.h"
#include "serve/serving.h"
#include "tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PROBE_ASK_MS 1000

/* probe.clock() -> { now_ms, in_step, error_ms }.  in_step: a time source sets the clock; nil: the kernel does not say.
 */
int vs_probe_clock(lua_State *L) {
    int64_t error_us = 0;
    int in_step = vs_clock_in_step(&error_us);
    lua_createtable(L, 0, 3);
    host_set_integer(L, "now_ms", vs_now_ms());
    host_set_integer(L, "error_ms", error_us / 1000);
    if (in_step == 0 || in_step == 1) host_set_flag(L, "in_step", in_step);
    return 1;
}

/* ------------------------------------------------------------------ limits */

/* Of a server with this config, once its log and its addresses are open. */
static struct vs_limits_plan probe_plan(const struct vs_config *config) {
    struct vs_process_usage usage = {.open_fds = 3};
    struct vs_limits_plan plan = {
        .threads = (int)config->threads,
        .namespaces = config->ns_count,
        .listeners = {
            [VS_RESP] = config->resp.count, [VS_HTTP] = config->http.count, [VS_ADMIN] = config->admin.count}};
    struct vs_crews crews;
    if (vs_crews_make(&crews, config)) plan.keepers = vs_crews_keepers(&crews);
    vs_crews_free(&crews);
    vs_process_measure(&usage);
    plan.open = (int)usage.open_fds + 1; /* the log */
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        plan.open += plan.listeners[protocol];
    return plan;
}

/* probe:limits() -> { descriptors, reserved, connections, configured, remedy } | nil, text
 * configured: how many connections the config has, if there are descriptors for fewer only. */
int vs_probe_limits(lua_State *L) {
    const struct vs_config *config = vs_probe_self(L)->config;
    struct vs_limits limits = vs_limits_of(config);
    struct vs_limits_plan plan = probe_plan(config);
    struct vesta_error err;
    if (vs_limits_fit(&limits, &plan, &err) != VESTA_OK) return host_fail(L, &err);
    lua_createtable(L, 0, 5);
    host_set_integer(L, "descriptors", limits.descriptors);
    host_set_integer(L, "reserved", limits.reserved);
    host_set_integer(L, "connections", limits.connections_max);
    if (limits.cut_from) host_set_integer(L, "configured", limits.cut_from);
    host_set_text(L, "remedy", VS_RAISE_DESCRIPTORS);
    return 1;
}

/* ------------------------------------------------------------------ addresses */

/* A connection of the doctor's, with TLS or without. */
struct probe_line {
    int fd;
    const struct vs_tls *tls; /* NULL: without */
    struct vs_tls_conn *conn;
};

/* The server's certificate is not verified: probe:certificate() judges it, and a name of this machine may not be in it. */
static int probe_shake_hands(struct probe_line *line, struct vesta_error *err) {
    const struct vs_tls_client_opts opts = {.is_unverified = true};
    const struct vesta_clock *clock = vs_clock_system();
    struct vs_tls_wait wait = {line->fd, clock->boot_us(clock->self) + PROBE_ASK_MS * 1000, NULL};
    struct vs_tls_client *client;
    if (!(line->tls = vs_tls_find(err))) return VESTA_EOPTION;
    int rc = line->tls->client_open(&opts, &client, err);
    if (rc != VESTA_OK) return rc;
    line->conn = line->tls->connect(client, line->fd, "localhost");
    line->tls->client_close(client);
    return line->conn ? vs_tls_greet(line->tls, line->conn, &wait, err) : vs_fail(err, VESTA_ENOMEM, "no memory for TLS");
}

static ssize_t probe_read_some(const struct probe_line *line, char *to, size_t room) {
    bool more = false;
    if (!line->tls) return recv(line->fd, to, room, 0);
    ssize_t got = line->tls->read(line->conn, to, room, &more);
    return got;
}

/* Until the server ends the connection or the time is over. */
static size_t probe_read_all(const struct probe_line *line, char *to, size_t room) {
    int64_t until_us = vs_monotonic_us() + PROBE_ASK_MS * 1000;
    size_t used = 0;
    while (used < room) {
        ssize_t got = probe_read_some(line, to + used, room - used);
        int64_t left_ms = (until_us - vs_monotonic_us()) / 1000;
        if (got > 0) {
            used += (size_t)got;
            continue;
        }
        struct pollfd at = {.fd = line->fd, .events = POLLIN};
        if (got == 0 || (errno != EAGAIN && errno != EINTR) || left_ms <= 0 || poll(&at, 1, (int)left_ms) <= 0) break;
    }
    return used;
}

static void probe_hang_up(const struct probe_line *line) {
    if (line->tls) line->tls->free(line->conn);
    close(line->fd);
}

/* probe.ask(address, text) -> the reply, what broke TLS or nil | nil, text: no program listens there
 * Sends the text, over TLS if the address says so.  The reply is "" if the program there sends nothing. */
int vs_probe_ask(lua_State *L) {
    const char *address = luaL_checkstring(L, 1);
    size_t length;
    const char *text = luaL_checklstring(L, 2, &length);
    char reply[4096];
    struct vesta_error err = {.text = ""};
    struct probe_line line = {.fd = vs_connect(address, PROBE_ASK_MS, &err)};
    size_t used = 0;
    if (line.fd < 0) return host_fail(L, &err);
    bool is_open = !vs_address_is_secure(address) || probe_shake_hands(&line, &err) == VESTA_OK;
    if (is_open && (line.tls ? line.tls->write(line.conn, text, length) : send(line.fd, text, length, MSG_NOSIGNAL)) > 0)
        used = probe_read_all(&line, reply, sizeof reply);
    const char *why = is_open ? line.tls ? line.tls->why(line.conn) : "" : err.text;
    lua_pushlstring(L, reply, used);
    lua_pushstring(L, *why ? why : NULL);
    probe_hang_up(&line);
    return 2;
}

/* probe.free(address) -> true | nil, text: no server can listen there */
int vs_probe_free(lua_State *L) {
    const char *address = luaL_checkstring(L, 1);
    struct vesta_error err;
    int fd = -1;
    if (vs_listen(address, 0600, &fd, &err) != VESTA_OK) return host_fail(L, &err);
    vs_unlisten(address, fd);
    lua_pushboolean(L, 1);
    return 1;
}

/* probe:certificate() -> { name, expires_ms } of the certificate of the config | nil, text */
int vs_probe_certificate(lua_State *L) {
    struct vs_tls_facts facts = {0};
    struct vesta_error err;
    if (vs_secure_try(vs_probe_self(L)->config, &facts, &err) != VESTA_OK) return host_fail(L, &err);
    lua_createtable(L, 0, 2);
    host_set_text(L, "name", facts.name);
    host_set_integer(L, "expires_ms", facts.expires_unix_s * 1000);
    return 1;
}

/* ------------------------------------------------------------------ folders */

/* probe.state_folder() -> its path, or nil */
int vs_probe_state_folder(lua_State *L) {
    char path[PATH_MAX];
    lua_pushstring(L, vs_state_dir(path, sizeof path) == 0 ? path : NULL);
    return 1;
}

static void probe_push_folder(lua_State *L, const char *path, int fd, const struct stat *st) {
    struct statvfs fs;
    struct vesta_error err;
    host_set_integer(L, "user", st->st_uid);
    host_set_integer(L, "mode", st->st_mode & 07777);
    if (vs_file_system_check(fd, path, "a generator file", &err) != VESTA_OK) host_set_text(L, "file_system", err.text);
    if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0) host_set_text(L, "unwritable", strerror(errno));
    if (vs_anchor_folder_check(path, &err) != VESTA_OK) host_set_text(L, "is_unsafe", err.text);
    host_set_flag(L, "is_open", st->st_mode & S_IWOTH);
    if (statvfs(path, &fs) != 0) return;
    uint64_t bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    host_set_flag(L, "is_full", bytes < sizeof(struct vs_header) || (fs.f_files > 0 && fs.f_favail == 0));
    host_set_integer(L, "room_bytes", bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX);
}

/* probe:folder(path) -> { will_be_created } | { blocked = why it cannot be created } | { unreadable = why } |
 * { user, mode, file_system, unwritable, is_unsafe, is_open, is_full, room_bytes }
 * file_system, unwritable and is_unsafe are texts if there is such a trouble. */
int vs_probe_folder(lua_State *L) {
    const char *path = luaL_checkstring(L, 2);
    struct stat st;
    vs_probe_self(L);
    lua_newtable(L);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), why = errno;
    if (fd < 0 && why == ENOENT) {
        int blocked = vs_anchor_blocked(path);
        if (blocked) host_set_text(L, "blocked", strerror(blocked));
        host_set_flag(L, "will_be_created", !blocked);
    } else if (fd < 0 || fstat(fd, &st) != 0) {
        host_set_text(L, "unreadable", strerror(fd < 0 ? why : errno));
    } else {
        probe_push_folder(L, path, fd, &st);
    }
    if (fd >= 0) close(fd);
    return 1;
}
