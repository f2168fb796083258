/* machine.c -- examines the clock, limits, addresses, certificate and folders of this machine for a server. */
#include "main/doctor/probe.h"

#include "generator/map.h"
#include "keeper/file.h"
#include "os/address.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/process.h"
#include "serve/serving.h"
#include "tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* probe.clock() -> { now_ms, in_step, error_ms }.  in_step: a time source synchronizes the clock (nil: unknown). */
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

/* Calculates how many descriptors a server with this config needs, with its log and addresses open. */
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
 * configured: the configured number of connections.  It is set only if there are too few descriptors for it. */
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

/* probe.free(address) -> true | nil, text
 * Fails if a server cannot listen on the address. */
int vs_probe_free(lua_State *L) {
    const char *address = luaL_checkstring(L, 1);
    struct vs_addresses all;
    struct vesta_error err;
    int fd = -1, rc = vs_addresses_of(address, &all, &err);
    for (int i = 0; rc == VESTA_OK && i < (all.count ? all.count : 1); i++) {
        const char *one = all.count ? all.text[i] : address;
        if ((rc = vs_listen(one, 0600, &fd, &err)) == VESTA_OK) vs_unlisten(one, fd);
    }
    if (rc != VESTA_OK) return host_fail(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

/* probe:certificate() -> { name, expires_ms } | nil, text
 * Describes the certificate of the config. */
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

/* probe.state_folder() -> the path of the state folder, or nil */
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
 *   { user, mode, file_system, unwritable, is_unsafe, is_open, is_full, room_bytes }
 * file_system, unwritable and is_unsafe each describe a problem, or are nil. */
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
