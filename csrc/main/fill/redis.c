/* redis.c -- the module `redis`: a connection to a Redis server, for `vesta fill`. */
#include "main/fill/hiredis.h"
#include "main/modules.h"
#include "store/module.h"

#include <string.h>

#define REDIS_CLASS "vesta.redis"

static const struct vs_redis_client *redis_find(struct vesta_error *err) {
    static const struct vs_module_file file = {"fill/redis", "vs_redis_module", "Redis client of vesta fill",
                                               "apt-get install libhiredis-dev and build vesta again"};
    const struct vs_redis_client *client = vs_module_load(&file, err);
    if (!client || (client->abi == VS_REDIS_ABI && client->redis_bytes == sizeof(struct vs_redis))) return client;
    return vs_module_foreign(&file, err);
}

static struct vs_redis *redis_self(lua_State *L) {
    return luaL_checkudata(L, 1, REDIS_CLASS);
}

/* redis.open(address, call_ms, tls) -> redis | nil, text.  Connects to no server. */
static int redis_open(lua_State *L) {
    struct vesta_error err;
    const char *address = luaL_checkstring(L, 1);
    const struct vs_redis_client *client = redis_find(&err);
    if (!client) {
        lua_pushnil(L);
        lua_pushstring(L, err.text);
        return 2;
    }
    lua_settop(L, 3);
    struct vs_redis *redis = lua_newuserdatauv(L, sizeof *redis, 2);
    *redis = (struct vs_redis){
        .client = client, .address = address, .call_ms_max = luaL_checkinteger(L, 2), .link = {.fd = -1}};
    lua_pushvalue(L, 1); /* the user value keeps the string alive */
    lua_setiuservalue(L, -2, 1);
    lua_pushvalue(L, 3);
    lua_setiuservalue(L, -2, 2);
    luaL_setmetatable(L, REDIS_CLASS);
    return 1;
}

/* Pushes the outcome, and either the reply (a number, a string or nil) or the reason for the failure. */
static int redis_end(lua_State *L, const struct vs_redis *redis, enum vs_redis_outcome outcome) {
    static const char *const names[] = {"ok", "refused", "down", "unknown"};
    lua_pushstring(L, names[outcome]);
    if (outcome == VS_REDIS_OK && redis->is_number)
        lua_pushinteger(L, redis->number);
    else if (redis->text)
        lua_pushlstring(L, redis->text, redis->length);
    else
        lua_pushnil(L);
    return 2;
}

/* redis:connect() -> "ok", whether the connection is new | "down", text */
static int redis_connect(lua_State *L) {
    struct vs_redis *redis = redis_self(L);
    struct vs_link_opts opts = {.address = redis->address, .timeout_ms = redis->call_ms_max};
    struct vesta_error err = {.text = "no memory"};
    bool is_new = redis->link.fd < 0;
    lua_getiuservalue(L, 1, 2);
    host_link_opts(L, lua_gettop(L), &opts);
    if (is_new && (vs_link_open(&opts, &redis->link, &err) != VESTA_OK || !redis->client->begin(redis))) {
        size_t length = strlen(redis->address); /* the caller prints the address before the text */
        bool names_it = strncmp(err.text, redis->address, length) == 0 && strncmp(err.text + length, ": ", 2) == 0;
        redis->client->close(redis);
        lua_pushliteral(L, "down");
        lua_pushstring(L, err.text + (names_it ? length + 2 : 0));
        return 2;
    }
    lua_pushliteral(L, "ok");
    lua_pushboolean(L, is_new);
    return 2;
}

/* redis:call(words, more) -> "ok", reply | outcome, text
 * `more`: nil, or words that follow `words`.  Outcomes: "refused": the server did nothing.  "down": nothing was sent.
 * "unknown": the server may execute the command, now or later. */
static int redis_call(lua_State *L) {
    struct vs_redis *redis = redis_self(L);
    int count, more = 0;
    lua_settop(L, 3);
    if (lua_istable(L, 3)) more = (int)luaL_len(L, 3);
    char **words = host_words(L, 2, 1, &count);
    const char **argv = lua_newuserdatauv(L, (size_t)(count + more) * sizeof *argv, 0);
    memcpy(argv, words, (size_t)count * sizeof *argv);
    for (int i = 0; i < more; i++) {
        lua_rawgeti(L, 3, i + 1);
        argv[count + i] = luaL_checkstring(L, -1); /* the table keeps the string alive */
        lua_pop(L, 1);
    }
    return redis_end(L, redis, redis->client->call(redis, count + more, argv));
}

static int redis_close(lua_State *L) {
    struct vs_redis *redis = redis_self(L);
    redis->client->close(redis);
    return 0;
}

int modules_open_redis(lua_State *L) {
    static const luaL_Reg functions[] = {{"open", redis_open}, {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"connect", redis_connect}, {"call", redis_call}, {"close", redis_close}, {"__gc", redis_close}, {NULL, NULL}};
    luaL_newmetatable(L, REDIS_CLASS);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    luaL_newlib(L, functions);
    return 1;
}
