/* past.c -- the methods of a past range.  Uses only public functions of vesta_past. */
#include "rock/border.h"

static const char CLASS[] = "vesta.past";

struct past_box {
    struct vs_lua_object object;
    struct vesta_past *past; /* NULL after close */
};

static struct past_box *past_self(lua_State *L) {
    return vs_lua_self(L, CLASS, sizeof(struct past_box));
}

static int past_push_closed(lua_State *L) {
    return vs_lua_push_fail(L, VESTA_ECLOSED, "the range is closed");
}

static int past_next(lua_State *L) {
    const struct past_box *box = past_self(L);
    struct vesta_error err;
    int64_t unix_ms;
    uint64_t id;
    if (!box->past) return past_push_closed(L);
    if (vs_lua_time(L, 2, &unix_ms, &err) == VESTA_OK && vesta_past_next(box->past, unix_ms, &id, &err) == VESTA_OK)
        return vs_lua_push_id(L, id);
    return vs_lua_push_error(L, &err);
}

static int past_info(lua_State *L) {
    const struct past_box *box = past_self(L);
    struct vesta_past_info info;
    char text[VESTA_LAYOUT_TEXT_MAX];
    if (!box->past) return past_push_closed(L);
    vesta_past_get_info(box->past, &info);
    vesta_layout_text(&info.layout, text);
    lua_createtable(L, 0, 10);
    vs_lua_set_text(L, "layout", text);
    vs_lua_set_text(L, "lease", info.text);
    vs_lua_set_id(L, "worker", info.worker);
    vs_lua_set_integer(L, "from_ms", info.from_ms);
    vs_lua_set_integer(L, "to_ms", info.until_ms);
    vs_lua_set_id(L, "min", vesta_block_id(&info.layout, &info.block, 0));
    vs_lua_set_id(L, "max", vesta_block_id(&info.layout, &info.block, info.block.count - 1));
    vs_lua_set_id(L, "count", info.block.count);
    vs_lua_set_id(L, "left", info.left);
    vs_lua_set_id(L, "others", info.others);
    return 1;
}

static int past_release(lua_State *L) {
    const struct past_box *box = past_self(L);
    struct vesta_error err;
    if (!box->past) return past_push_closed(L);
    if (vesta_past_release(box->past, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

static int past_close(lua_State *L) {
    struct past_box *box = past_self(L);
    vesta_past_close(box->past);
    box->past = NULL;
    return 0;
}

static int past_tostring(lua_State *L) {
    lua_pushfstring(L, "vesta past range (%s)", past_self(L)->past ? "open" : "closed");
    return 1;
}

static const struct vs_lua_function METHODS[] = {
    {"next", past_next},  {"info", past_info},     {"release", past_release},     {"close", past_close},
    {"__gc", past_close}, {"__close", past_close}, {"__tostring", past_tostring}, {NULL, NULL},
};

/* Implements core.past(options).  lua/vesta/init.lua has checked names, types and bounds. */
static int core_past(lua_State *L) {
    struct vesta_error err;
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vesta_past_span span;
    if (vs_lua_read_options(L, &opts, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    lua_getfield(L, 1, "from");
    if (vs_lua_time(L, lua_gettop(L), &span.from_ms, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    lua_getfield(L, 1, "to");
    if (vs_lua_time(L, lua_gettop(L), &span.until_ms, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    lua_getfield(L, 1, "count");
    span.count = (uint64_t)lua_tonumber(L, -1);
    struct past_box *box = lua_newuserdata(L, sizeof *box);
    *box = (struct past_box){.object = {CLASS}};
    luaL_getmetatable(L, CLASS);
    /* set the metatable before the range exists, so that Lua closes it after a later error */
    lua_setmetatable(L, -2);
    return vesta_past_open(&opts, &span, &box->past, &err) == VESTA_OK ? 1 : vs_lua_push_error(L, &err);
}

static const struct vs_lua_function FUNCTIONS[] = {{"past", core_past}, {NULL, NULL}};

void vs_lua_open_past(lua_State *L) {
    vs_lua_functions(L, FUNCTIONS);
    vs_lua_class(L, CLASS, METHODS);
    lua_pop(L, 1);
}
