/* segment.c -- the segment's methods.  Uses only public functions of vesta_segment.  In nginx, lua/vesta/resty.lua does
 * the waiting. */
#include "rock/border.h"

#include <string.h>

static const char CLASS[] = "vesta.segment";

struct segment_box {
    struct vs_lua_object object;
    struct vesta_segment *seg; /* NULL after close */
    int64_t wait_us_max;
};

static struct segment_box *segment_self(lua_State *L) {
    return vs_lua_self(L, CLASS, sizeof(struct segment_box));
}

static int segment_push_closed(lua_State *L) {
    return vs_lua_push_fail(L, VESTA_ECLOSED, "the segment is closed");
}

static int segment_push_pause(lua_State *L, const struct segment_box *box, const struct vesta_pause *pause) {
    char text[512];
    vesta_segment_pause_text(box->seg, pause, text, sizeof text);
    lua_pushnil(L);
    lua_pushstring(L, text);
    lua_pushstring(L, vesta_why_name(pause->why));
    if (pause->wait_us < 0) return 3;
    lua_pushnumber(L, (lua_Number)pause->wait_us / 1e6);
    return 4;
}

/* Takes a number.  Returns VESTA_OK, or the number of pushed values after a failure. */
static int segment_take(lua_State *L, uint64_t *number) {
    const struct segment_box *box = segment_self(L);
    struct vesta_pause pause;
    if (!box->seg) return segment_push_closed(L);
    if (vesta_segment_next(box->seg, number, &pause) == VESTA_OK) return VESTA_OK;
    if (vesta_segment_next_wait(box->seg, number, box->wait_us_max, &pause) == VESTA_OK) return VESTA_OK;
    return segment_push_pause(L, box, &pause);
}

static int segment_next(lua_State *L) {
    uint64_t number;
    int rc = segment_take(L, &number);
    return rc == VESTA_OK ? vs_lua_push_id(L, number) : rc;
}

static int segment_next_int(lua_State *L) {
    uint64_t number = 0;
    if (LUA_VERSION_NUM < 503) return vs_lua_push_native(L, number); /* raises before a number is taken */
    int rc = segment_take(L, &number);
    return rc == VESTA_OK ? vs_lua_push_native(L, number) : rc;
}

static int push_too_many(lua_State *L, const struct segment_box *box, size_t n) {
    char text[256];
    struct vesta_segment_info info;
    vesta_segment_get_info(box->seg, &info);
    snprintf(text, sizeof text, "cannot take %zu numbers from one range: a range of '%s' has %llu. Increase its step",
             n, info.tag, (unsigned long long)info.count);
    return vs_lua_push_fail(L, VESTA_EFULL, text);
}

static int segment_batch(lua_State *L) {
    const struct segment_box *box = segment_self(L);
    size_t n = vs_lua_count(L);
    struct vesta_numbers got;
    struct vesta_pause pause;
    if (!box->seg) return segment_push_closed(L);
    int rc = vesta_segment_batch_wait(box->seg, n, &got, box->wait_us_max, &pause);
    if (rc == VESTA_EFULL) return push_too_many(L, box, n);
    if (rc != VESTA_OK) return segment_push_pause(L, box, &pause);
    lua_createtable(L, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        vs_lua_push_id(L, got.first + i * got.stride);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

static void push_database(lua_State *L, const struct vesta_segment_info *info, int i) {
    lua_createtable(L, 0, 10);
    vs_lua_set_text(L, "store", info->database[i].store);
    vs_lua_set_text(L, "said", info->database[i].said);
    vs_lua_set_integer(L, "step", (int64_t)info->database[i].step);
    vs_lua_set_integer(L, "ranges", (int64_t)info->database[i].ranges);
    vs_lua_set_integer(L, "refused", (int64_t)info->database[i].refused);
    vs_lua_set_integer(L, "down", (int64_t)info->database[i].down);
    vs_lua_set_integer(L, "unknown", (int64_t)info->database[i].unknown);
    vs_lua_set_integer(L, "conflict", (int64_t)info->database[i].conflict);
    vs_lua_set_id(L, "granted", info->database[i].granted);
    lua_pushboolean(L, info->database[i].is_stopped);
    lua_setfield(L, -2, "stopped");
}

static int segment_info(lua_State *L) {
    const struct segment_box *box = segment_self(L);
    struct vesta_segment_info info;
    if (!box->seg) return segment_push_closed(L);
    vesta_segment_get_info(box->seg, &info);
    lua_createtable(L, 0, 10);
    vs_lua_set_text(L, "tag", info.tag);
    vs_lua_set_text(L, "order", info.order == VESTA_STRICT ? "strict" : "trend");
    vs_lua_set_text(L, "warning", info.warning);
    vs_lua_set_id(L, "position", info.position);
    vs_lua_set_integer(L, "count", (int64_t)info.count);
    vs_lua_set_integer(L, "left", (int64_t)info.left);
    vs_lua_set_integer(L, "next_left", (int64_t)info.next_left);
    vs_lua_set_integer(L, "until_refill", (int64_t)info.until_refill);
    lua_pushnumber(L, info.per_s);
    lua_setfield(L, -2, "per_s");
    lua_createtable(L, info.stores, 0);
    for (int i = 0; i < info.stores; i++) {
        push_database(L, &info, i);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "databases");
    return 1;
}

static int segment_release(lua_State *L) {
    const struct segment_box *box = segment_self(L);
    struct vesta_error err;
    if (!box->seg) return segment_push_closed(L);
    if (vesta_segment_release(box->seg, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

static int segment_close(lua_State *L) {
    struct segment_box *box = segment_self(L);
    vesta_segment_close(box->seg);
    box->seg = NULL;
    return 0;
}

static int segment_text(lua_State *L) {
    const struct segment_box *box = segment_self(L);
    struct vesta_segment_info info = {.tag = ""};
    if (box->seg) vesta_segment_get_info(box->seg, &info);
    lua_pushfstring(L, "vesta segment (%s)", box->seg ? info.tag : "closed");
    return 1;
}

static const struct vs_lua_function METHODS[] = {
    {"next", segment_next},       {"next_int", segment_next_int},
    {"batch", segment_batch},     {"info", segment_info},
    {"release", segment_release}, {"close", segment_close},
    {"__gc", segment_close},      {"__close", segment_close},
    {"__tostring", segment_text}, {NULL, NULL},
};

/* ------------------------------------------------------------------ opening */

/* Reads a string option.  The string stays on the stack, so that it is valid until vesta_segment_open has copied it. */
static const char *segment_text_option(lua_State *L, const char *key) {
    lua_getfield(L, 1, key);
    return lua_isnil(L, -1) ? NULL : vs_lua_text(L, -1, key);
}

static lua_Number segment_number_option(lua_State *L, const char *key) {
    lua_getfield(L, 1, key);
    return lua_tonumber(L, -1);
}

/* Reads a list of strings.  lua/vesta/segment.lua has checked their number and types. */
static void list_option(lua_State *L, const char *key, const char *out[VESTA_DATABASES_MAX]) {
    lua_getfield(L, 1, key);
    int list = lua_gettop(L);
    for (int i = 0; lua_istable(L, list) && i < VESTA_DATABASES_MAX; i++) {
        lua_rawgeti(L, list, i + 1);
        out[i] = lua_type(L, -1) == LUA_TSTRING ? vs_lua_text(L, -1, key) : NULL;
    }
}

/* Implements core.segment(options).  lua/vesta/segment.lua has checked names, types and bounds. */
static int core_segment(lua_State *L) {
    struct vesta_error err;
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 2 * VESTA_DATABASES_MAX + 16, NULL);
    list_option(L, "stores", opts.stores);
    list_option(L, "secrets", opts.secrets);
    opts.tag = segment_text_option(L, "tag");
    opts.table = segment_text_option(L, "table");
    opts.group = segment_text_option(L, "group");
    opts.step = (uint64_t)segment_number_option(L, "step");
    opts.step_max = (uint64_t)segment_number_option(L, "step_max");
    const char *order = segment_text_option(L, "order");
    opts.order = order && strcmp(order, "strict") == 0 ? VESTA_STRICT : VESTA_TREND;
    lua_getfield(L, 1, "file_keeper");
    if (lua_toboolean(L, -1)) opts.flags |= VESTA_FILE_KEEPER;
    struct segment_box *box = lua_newuserdata(L, sizeof *box);
    *box = (struct segment_box){.object = {CLASS}, .wait_us_max = 0};
    luaL_getmetatable(L, CLASS);
    /* set the metatable before the segment exists, so that Lua closes the segment after a later error */
    lua_setmetatable(L, -2);
    lua_getfield(L, 1, "wait_ms_max");
    box->wait_us_max = (int64_t)(lua_tonumber(L, -1) * 1000);
    lua_pop(L, 1);
    return vesta_segment_open(&opts, &box->seg, &err) == VESTA_OK ? 1 : vs_lua_push_error(L, &err);
}

static const struct vs_lua_function FUNCTIONS[] = {{"segment", core_segment}, {NULL, NULL}};

void vs_lua_open_segment(lua_State *L) {
    vs_lua_functions(L, FUNCTIONS);
    vs_lua_class(L, CLASS, METHODS);
    lua_setfield(L, -2, "segment_class"); /* stores the metatable, in which resty.lua replaces `next` */
}
