/* file.c -- the functions that a config file can call: env() and file(), and no other functions.  Does not depend on
 * any key. */
#include "base/error.h"
#include "config/inside.h"
#include "os/files.h"
#include "os/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES_MAX 65536 /* maximum size of a file that file() reads */

/* env(name, default): returns an environment variable, converted to the type of the default. */
static int conf_env(lua_State *L) {
    size_t length;
    const char *name = luaL_checklstring(L, 1, &length), *value;
    if (length == 0 || strlen(name) != length || strchr(name, '='))
        return luaL_error(L, "env: '%s' is not a variable's name: use letters, digits and _", VS_QUOTE(name, length));
    if ((value = vs_environment(name))) {
        int kind = lua_type(L, 2);
        if (kind == LUA_TNUMBER && lua_stringtonumber(L, value) == 0)
            return luaL_error(L, "env: %s is '%s', which must be a number, as its default is", VS_QUOTE(name, length),
                              VS_QUOTE(value, strlen(value)));
        if (kind == LUA_TBOOLEAN && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return luaL_error(L, "env: %s is '%s', which must be true or false, as its default is",
                              VS_QUOTE(name, length), VS_QUOTE(value, strlen(value)));
        if (kind == LUA_TBOOLEAN)
            lua_pushboolean(L, *value == 't');
        else if (kind != LUA_TNUMBER)
            lua_pushstring(L, value);
        return 1;
    }
    if (lua_gettop(L) < 2)
        return luaL_error(L, "env: %s is not set or empty, and has no default: write env(\"%s\", DEFAULT)",
                          VS_QUOTE(name, length), VS_QUOTE(name, length));
    lua_pushvalue(L, 2);
    return 1;
}

/* Resolves a path relative to the folder of the config file, not to the working directory. */
static void conf_resolve(lua_State *L, const char *path) {
    const char *config = lua_tostring(L, lua_upvalueindex(1)), *slash = strrchr(config, '/');
    if (path[0] == '/' || !slash)
        lua_pushstring(L, path);
    else
        lua_pushfstring(L, "%s/%s", lua_pushlstring(L, config, (size_t)(slash - config)), path);
}

/* Records that other users may access the file, because its contents may become a password. */
static void conf_note_if_open(lua_State *L, const char *path) {
    struct stat st;
    const char *others = stat(path, &st) == 0 ? vs_open_to_others(&st) : NULL;
    if (!others) return;
    lua_getfield(L, LUA_REGISTRYINDEX, CONF_OPEN_FILES);
    lua_pushvalue(L, -2);
    lua_pushfstring(L, "%s, which others may %s", path, others);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* Records the beginning of a text that file() read.  Messages must not show such texts. */
static void conf_note_read(lua_State *L, const char *bytes, size_t length) {
    struct conf_reading *reading = conf_reading_of(L);
    if (reading->read_count == CONF_READS_MAX)
        luaL_error(L, "file: a config can read at most %d files", CONF_READS_MAX);
    snprintf(reading->read[reading->read_count++], CONF_READ_BYTES, "%s",
             VS_QUOTE(bytes, strnlen(bytes, length < 30 ? length : 30)));
}

/* file(path): returns the contents of a file without the last newline. */
static int conf_file(lua_State *L) {
    char bytes[FILE_BYTES_MAX + 1];
    struct vesta_error why;
    size_t length;
    const char *name = luaL_checklstring(L, 1, &length);
    if (length == 0 || strlen(name) != length) return luaL_error(L, "file: '%s' is not a path", VS_QUOTE(name, length));
    conf_resolve(L, name);
    const char *path = lua_tostring(L, -1);
    if (vs_source_read(&(struct vs_source){"the file", path}, bytes, sizeof bytes, &length, &why) != VESTA_OK)
        return luaL_error(L, "%s", why.text);
    if (length > FILE_BYTES_MAX)
        return luaL_error(L, "the file %s is longer than the %d bytes that file() reads", VS_CONF_SHOWN(path),
                          FILE_BYTES_MAX);
    if (length > 0 && bytes[length - 1] == '\n') length--;
    if (length > 0 && bytes[length - 1] == '\r') length--;
    conf_note_read(L, bytes, length);
    lua_pushlstring(L, bytes, length);
    conf_note_if_open(L, path);
    return 1;
}

static int conf_no_global(lua_State *L) {
    size_t length;
    const char *name = luaL_tolstring(L, 2, &length), *way = "";
    if (strcmp(name, "os") == 0) way = ".  Instead of os.getenv(\"X\") write env(\"X\")";
    if (strcmp(name, "io") == 0) way = ".  To read a file write file(path)";
    return luaL_error(L, "'%s' is not known here: a config can only call env(name, default) and file(path)%s",
                      VS_QUOTE(name, length), way);
}

static int conf_no_assignment(lua_State *L) {
    size_t length;
    const char *name = luaL_tolstring(L, 2, &length);
    return luaL_error(L,
                      "'%s' would become a global, and a config has none: write return { %s = ... }, or local %s = ...",
                      VS_QUOTE(name, length), VS_QUOTE(name, length), VS_QUOTE(name, length));
}

void conf_push_world(lua_State *L, const char *path) {
    lua_newtable(L);
    lua_pushcfunction(L, conf_env);
    lua_setfield(L, -2, "env");
    lua_pushstring(L, path);
    lua_pushcclosure(L, conf_file, 1);
    lua_setfield(L, -2, "file");
    lua_newtable(L);
    lua_pushcfunction(L, conf_no_global);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, conf_no_assignment);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
}
