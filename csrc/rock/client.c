/* client.c -- the methods of vesta.client.  Uses only public functions of the client.  A fallback is a generator of
 * gen.c, which stays open as long as the client. */
#include "rock/border.h"
#include "vesta_client.h"

#include <stdlib.h>
#include <string.h>

static const char CLASS[] = "vesta.client";

struct client_box {
    struct vs_lua_object object;
    struct vesta_client *client; /* NULL after close */
    void *fallback;              /* result of vs_lua_hold_gen, or NULL if there is no fallback */
    int64_t wait_us_max;         /* 0: never wait */
};

static struct client_box *client_self(lua_State *L) {
    return vs_lua_self(L, CLASS, sizeof(struct client_box));
}

static int client_push_closed(lua_State *L) {
    return vs_lua_push_fail(L, VESTA_ECLOSED, "the client is closed");
}

static int client_push_pause(lua_State *L, struct client_box *box, const struct vesta_pause *pause) {
    char text[2048];
    vesta_client_pause_text(box->client, pause, text, sizeof text);
    lua_pushnil(L);
    lua_pushstring(L, text);
    lua_pushstring(L, vesta_why_name(pause->why));
    lua_pushnumber(L, (lua_Number)pause->wait_us / 1e6);
    return 4;
}

/* Takes an id.  Returns VESTA_OK, or the number of pushed values after a failure. */
static int client_take(lua_State *L, uint64_t *id) {
    struct client_box *box = client_self(L);
    struct vesta_pause pause;
    if (!box->client) return client_push_closed(L);
    if (vesta_client_next(box->client, id, &pause) == VESTA_OK) return VESTA_OK;
    return vesta_client_next_wait(box->client, id, box->wait_us_max, &pause) == VESTA_OK
               ? VESTA_OK
               : client_push_pause(L, box, &pause);
}

static int client_next(lua_State *L) {
    uint64_t id;
    int rc = client_take(L, &id);
    return rc == VESTA_OK ? vs_lua_push_id(L, id) : rc;
}

static int client_next_int(lua_State *L) {
    uint64_t id = 0;
    if (LUA_VERSION_NUM < 503) return vs_lua_push_native(L, id); /* raises before an id is taken */
    int rc = client_take(L, &id);
    return rc == VESTA_OK ? vs_lua_push_native(L, id) : rc;
}

static int client_push_batch(lua_State *L, int (*push)(lua_State *L, const uint64_t *ids, size_t n)) {
    uint64_t ids[VESTA_BATCH_MAX];
    struct vesta_pause pause;
    struct client_box *box = client_self(L);
    size_t n = vs_lua_count(L);
    if (!box->client) return client_push_closed(L);
    if (vesta_client_batch_wait(box->client, ids, n, box->wait_us_max, &pause) != VESTA_OK)
        return client_push_pause(L, box, &pause);
    return push(L, ids, n);
}

static int client_batch(lua_State *L) {
    return client_push_batch(L, vs_lua_push_ids);
}

static int client_batch_int(lua_State *L) {
    return LUA_VERSION_NUM < 503 ? vs_lua_push_native(L, 0) : client_push_batch(L, vs_lua_push_natives);
}

/* Reads the shape at index 2, or uuid7. */
static enum vesta_shape client_shape(lua_State *L) {
    size_t length;
    const char *name = luaL_optlstring(L, 2, "uuid7", &length);
    int shape = vesta_shape_find(name, lua_isnoneornil(L, 2) ? 5 : length);
    luaL_argcheck(L, shape, 2, "must be uuid7, uuid8, ulid or hex32");
    return (enum vesta_shape)shape;
}

static int client_push_uuid(lua_State *L, enum vesta_shape shape, const unsigned char *uuid) {
    char text[VESTA_UUID_TEXT_MAX];
    vesta_uuid_format(shape, uuid, text);
    lua_pushstring(L, text);
    return 1;
}

static int client_push_shapeless(lua_State *L, enum vesta_shape shape) {
    char text[160];
    snprintf(text, sizeof text,
             "the ids of this name have no %s: it is a tag, or its layout has no room for the counter. Use uuid8, or a "
             "namespace",
             vesta_shape_name(shape));
    return vs_lua_push_fail(L, VESTA_EOPTION, text);
}

/* client:next_uuid([shape]) -> text */
static int client_next_uuid(lua_State *L) {
    struct client_box *box = client_self(L);
    enum vesta_shape shape = client_shape(L);
    unsigned char uuid[VESTA_UUID_BYTES];
    struct vesta_pause pause;
    if (!box->client) return client_push_closed(L);
    int rc = vesta_client_batch_uuid_wait(box->client, shape, uuid, 1, box->wait_us_max, &pause);
    if (rc == VESTA_OK) return client_push_uuid(L, shape, uuid);
    return rc == VESTA_EOPTION ? client_push_shapeless(L, shape) : client_push_pause(L, box, &pause);
}

static void client_push_source(lua_State *L, const struct vesta_client_source *source) {
    lua_createtable(L, 0, 7);
    vs_lua_set_text(L, "address", source->address);
    lua_pushboolean(L, source->is_up);
    lua_setfield(L, -2, "is_up");
    vs_lua_set_integer(L, "requests", (int64_t)source->requests);
    vs_lua_set_integer(L, "blocks", (int64_t)source->blocks);
    vs_lua_set_integer(L, "ids", (int64_t)source->ids);
    vs_lua_set_integer(L, "errors", (int64_t)source->errors);
    if (*source->error) vs_lua_set_text(L, "error", source->error);
}

static void set_counts(lua_State *L, const struct vesta_client_info *info) {
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"ids", info->ids},
                  {"blocks", info->blocks},
                  {"requests", info->requests},
                  {"drops", info->drops},
                  {"dropped", info->dropped},
                  {"errors", info->errors},
                  {"left", info->left},
                  {"next_left", info->next_left},
                  {"block_ids", info->block_ids},
                  {"fallback_blocks", info->fallback_blocks}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        vs_lua_set_integer(L, counts[i].name, (int64_t)counts[i].value);
}

static int client_info(lua_State *L) {
    struct client_box *box = client_self(L);
    struct vesta_client_info info;
    if (!box->client) return client_push_closed(L);
    vesta_client_get_info(box->client, &info);
    lua_createtable(L, 0, 13);
    vs_lua_set_text(L, "name", info.name);
    set_counts(L, &info);
    lua_createtable(L, info.server_count, 0);
    for (int i = 0; i < info.server_count; i++) {
        client_push_source(L, &info.server[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "servers");
    if (!box->fallback) return 1;
    client_push_source(L, &info.fallback);
    lua_setfield(L, -2, "fallback");
    return 1;
}

/* Closes the client before its fallback, because the client's thread may be using the fallback. */
static int client_close(lua_State *L) {
    struct client_box *box = client_self(L);
    vesta_client_close(box->client);
    box->client = NULL;
    if (box->fallback) vs_lua_leave_gen(L, box->fallback);
    box->fallback = NULL;
    return 0;
}

static int client_text(lua_State *L) {
    struct client_box *box = client_self(L);
    struct vesta_client_info info;
    if (!box->client) {
        lua_pushliteral(L, "vesta client (closed)");
        return 1;
    }
    vesta_client_get_info(box->client, &info);
    lua_pushfstring(L, "vesta client (%s, %d servers)", info.name, info.server_count);
    return 1;
}

static const struct vs_lua_function METHODS[] = {
    {"next", client_next},
    {"next_int", client_next_int},
    {"batch", client_batch},
    {"batch_int", client_batch_int},
    {"next_uuid", client_next_uuid},
    {"info", client_info},
    {"close", client_close},
    {"__gc", client_close},
    {"__close", client_close},
    {"__tostring", client_text},
    {NULL, NULL},
};

/* ------------------------------------------------------------------ opening */

/* Reads a string option.  The string stays on the stack, so that it is valid until vesta_client_open has copied it. */
static const char *client_text_option(lua_State *L, const char *key) {
    lua_getfield(L, 1, key);
    return lua_isnil(L, -1) ? NULL : vs_lua_text(L, -1, key);
}

static int64_t client_number_option(lua_State *L, const char *key, int times) {
    lua_getfield(L, 1, key);
    int64_t value = (int64_t)(lua_tonumber(L, -1) * times);
    lua_pop(L, 1);
    return value;
}

static void client_read_options(lua_State *L, struct vesta_client_opts *opts) {
    opts->servers = client_text_option(L, "servers");
    opts->name = client_text_option(L, "name");
    opts->password = client_text_option(L, "password");
    opts->user = client_text_option(L, "user");
    opts->secret_file = client_text_option(L, "secret_file");
    opts->tls_ca = client_text_option(L, "tls_ca");
    opts->tls_certificate = client_text_option(L, "tls_certificate");
    opts->tls_key = client_text_option(L, "tls_key");
    lua_getfield(L, 1, "tls_unverified");
    opts->tls_unverified = lua_toboolean(L, -1);
    lua_pop(L, 1);
    opts->block_min = client_number_option(L, "block_min", 1);
    opts->block_max = client_number_option(L, "block_max", 1);
    opts->ttl_ms = client_number_option(L, "ttl_ms", 1);
    opts->timeout_ms = client_number_option(L, "timeout_ms", 1);
}

/* Implements core.client(options).  lua/vesta/client.lua has checked names, types and bounds. */
static int core_client(lua_State *L) {
    struct vesta_error err;
    struct vesta_client_opts opts = VESTA_CLIENT_OPTS_INIT;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    client_read_options(L, &opts);
    struct client_box *box = lua_newuserdata(L, sizeof *box);
    *box = (struct client_box){.object = {CLASS}, .wait_us_max = client_number_option(L, "wait_ms_max", 1000)};
    luaL_getmetatable(L, CLASS);
    lua_setmetatable(L, -2); /* set the metatable before the client exists, so that Lua closes it after a later error */
    lua_getfield(L, 1, "fallback");
    if (!lua_isnil(L, -1)) {
        box->fallback = vs_lua_hold_gen(L, -1, &opts.fallback);
        if (!box->fallback) return vs_lua_push_fail(L, VESTA_EOPTION, "fallback must be an open generator");
    }
    lua_pop(L, 1);
    return vesta_client_open(&opts, &box->client, &err) == VESTA_OK ? 1 : vs_lua_push_error(L, &err);
}

static const struct vs_lua_function FUNCTIONS[] = {{"client", core_client}, {NULL, NULL}};

void vs_lua_open_client(lua_State *L) {
    vs_lua_functions(L, FUNCTIONS);
    vs_lua_class(L, CLASS, METHODS);
    lua_setfield(L, -2, "servers"); /* stores the metatable for fast.lua */
}
