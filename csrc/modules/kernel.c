/* kernel.c -- the module `kernel`: facts about files, users and listening processes, for commands that examine a server
 * from outside. */
#include "modules/host.h"
#include "modules/tables.h"
#include "os/address.h"
#include "os/become.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_CONNECT_MS 1000

/* ------------------------------------------------------------------ files */

/* kernel.may(path, "r"|"w"|"x", user or nil, group or nil) -> true | false, reason | nil | nil, text
 * Returns whether a user (nil: the user of this process) may access a path.  Returns nil if only root or that user can
 * find out.  Returns nil and a text if there is no such user. */
static int kernel_may(lua_State *L) {
    static const char *const words[] = {"r", "w", "x", NULL};
    static const int modes[] = {R_OK, W_OK, X_OK};
    const char *path = luaL_checkstring(L, 1), *user = luaL_optstring(L, 3, NULL), *group = luaL_optstring(L, 4, "");
    int mode = modes[luaL_checkoption(L, 2, NULL, words)];
    struct vs_identity who = {.uid = geteuid()};
    struct vesta_error err;
    if (user && vs_identity_find(user, group, &who, &err) != VESTA_OK) return host_fail(L, &err);
    int why = vs_identity_try(&who, path, mode);
    if (why < 0) return lua_pushnil(L), 1;
    lua_pushboolean(L, why == 0);
    if (why) lua_pushstring(L, strerror(why));
    return why ? 2 : 1;
}

/* kernel.real(path) -> the path without links, or nil */
static int kernel_real(lua_State *L) {
    char *real = realpath(luaL_checkstring(L, 1), NULL);
    lua_pushstring(L, real);
    free(real);
    return 1;
}

/* kernel.share(path, user, group or nil) -> true | nil, text
 * Allows the group of a user to read a file.  The owner does not change. */
static int kernel_share(lua_State *L) {
    const char *path = luaL_checkstring(L, 1), *user = luaL_checkstring(L, 2), *group = luaL_optstring(L, 3, "");
    struct vs_identity who;
    struct vesta_error err;
    if (vs_identity_find(user, group, &who, &err) != VESTA_OK) return host_fail(L, &err);
    if (chown(path, (uid_t)-1, who.gid) == 0 && chmod(path, 0640) == 0) return lua_pushboolean(L, 1), 1;
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
}

/* kernel.user(uid or nil) -> the name of a user, or its digits.  Without a uid: the user of this process. */
static int kernel_user(lua_State *L) {
    uid_t uid = (uid_t)luaL_optinteger(L, 1, (lua_Integer)geteuid());
    const struct passwd *found = getpwuid(uid);
    if (found)
        lua_pushstring(L, found->pw_name);
    else
        lua_pushfstring(L, "%I", (LUAI_UACINT)uid);
    return 1;
}

/* kernel.group(user, group or nil) -> the name of the group that a server run by this user has, or nil */
static int kernel_group(lua_State *L) {
    struct vs_identity who;
    if (vs_identity_find(luaL_checkstring(L, 1), luaL_optstring(L, 2, ""), &who, NULL) != VESTA_OK) return 0;
    const struct group *found = getgrgid(who.gid);
    if (found)
        lua_pushstring(L, found->gr_name);
    else
        lua_pushfstring(L, "%I", (LUAI_UACINT)who.gid);
    return 1;
}

/* ------------------------------------------------------------------ processes */

static bool kernel_holds(int process, const char *socket_name) {
    int folder = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = folder >= 0 ? fdopendir(folder) : NULL;
    const struct dirent *entry;
    bool holds = false;
    if (!list && folder >= 0) close(folder);
    while (list && !holds && (entry = readdir(list))) {
        char to[64];
        ssize_t length = readlinkat(folder, entry->d_name, to, sizeof to - 1);
        to[length > 0 ? length : 0] = '\0';
        holds = strcmp(to, socket_name) == 0;
    }
    if (list) closedir(list);
    return holds;
}

/* kernel.holders(inode) -> the pids of the processes that have this socket open, as far as this user may see them */
static int kernel_holders(lua_State *L) {
    char name[64];
    snprintf(name, sizeof name, "socket:[%lld]", (long long)luaL_checkinteger(L, 1));
    DIR *list = opendir("/proc");
    const struct dirent *entry;
    lua_newtable(L);
    while (list && (entry = readdir(list))) {
        if (!isdigit((unsigned char)*entry->d_name)) continue;
        int process = openat(dirfd(list), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (process < 0) continue;
        if (kernel_holds(process, name)) {
            lua_pushinteger(L, atoll(entry->d_name));
            lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
        }
        close(process);
    }
    if (list) closedir(list);
    return 1;
}

/* kernel.peer(address) -> the pid and uid of the process that listens at a unix: address, or nothing */
static int kernel_peer(lua_State *L) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    int fd = vs_connect(luaL_checkstring(L, 1), KERNEL_CONNECT_MS, NULL);
    bool is_known = fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    if (fd >= 0) close(fd);
    if (!is_known) return 0;
    lua_pushinteger(L, peer.pid);
    lua_pushinteger(L, peer.uid);
    return 2;
}

int host_open_kernel(lua_State *L) {
    static const luaL_Reg functions[] = {{"may", kernel_may},         {"real", kernel_real}, {"share", kernel_share},
                                         {"group", kernel_group},
                                         {"user", kernel_user},       {"holders", kernel_holders},
                                         {"peer", kernel_peer},       {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
