/* layout.c -- vesta.layout: splits ids into values, and makes ids from values.  Needs no generator and no file. */
#include "rock/border.h"

static const char CLASS[] = "vesta.layout";

/* Contains only plain data, so it needs no __gc. */
struct layout_box {
    struct vs_lua_object object;
    struct vesta_layout layout;
};

/* ------------------------------------------------------------------ shared with generators */

int vs_lua_explain(lua_State *L, const struct vesta_layout *layout) {
    struct vesta_error err;
    struct vesta_parts parts;
    uint64_t id;
    if (vs_lua_id(L, 2, &id, &err) != VESTA_OK || vesta_explain(layout, id, &parts, &err) != VESTA_OK)
        return vs_lua_push_error(L, &err);
    return vs_lua_push_parts(L, layout, &parts);
}

int vs_lua_make(lua_State *L, const struct vesta_layout *layout) {
    struct vesta_value given[VS_LUA_VALUES_MAX];
    struct vesta_error err;
    size_t count;
    uint64_t id;
    lua_settop(L, 2);
    if (vs_lua_values(L, 2, layout, given, &count, &err) != VESTA_OK ||
        vesta_make(layout, given, count, &id, &err) != VESTA_OK)
        return vs_lua_push_error(L, &err);
    return vs_lua_push_id(L, id);
}

static int push_pairs(lua_State *L, const struct vesta_pair *pairs, size_t count) {
    lua_createtable(L, (int)count, 0);
    for (size_t i = 0; i < count; i++) {
        lua_createtable(L, 0, 2);
        vs_lua_set_id(L, "min", pairs[i].min);
        vs_lua_set_id(L, "max", pairs[i].max);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

int vs_lua_range(lua_State *L, const struct vesta_layout *layout) {
    struct vesta_value given[VS_LUA_VALUES_MAX];
    struct vesta_error err;
    struct vesta_interval interval = {.given = given};
    lua_settop(L, 4);
    if (vs_lua_time(L, 2, &interval.from_ms, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    interval.until_ms = interval.from_ms;
    if (!lua_isnil(L, 3) && vs_lua_time(L, 3, &interval.until_ms, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    if (!lua_isnil(L, 4) && vs_lua_values(L, 4, layout, given, &interval.given_count, &err) != VESTA_OK)
        return vs_lua_push_error(L, &err);
    /* Lua owns the buffer, because pushing the result may raise an error */
    struct vesta_pairs pairs = {.pair = lua_newuserdata(L, VS_LUA_PAIRS_MAX * sizeof *pairs.pair),
                                .max = VS_LUA_PAIRS_MAX};
    if (vesta_range(layout, &interval, &pairs, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    return push_pairs(L, pairs.pair, pairs.count);
}

/* ------------------------------------------------------------------ methods */

static const struct vesta_layout *layout_self(lua_State *L) {
    return &((struct layout_box *)vs_lua_self(L, CLASS, sizeof(struct layout_box)))->layout;
}

static int layout_explain(lua_State *L) {
    return vs_lua_explain(L, layout_self(L));
}
static int layout_make(lua_State *L) {
    return vs_lua_make(L, layout_self(L));
}
static int layout_range(lua_State *L) {
    return vs_lua_range(L, layout_self(L));
}

static int layout_time(lua_State *L) {
    const struct vesta_layout *layout = layout_self(L);
    struct vesta_error err;
    struct vesta_parts parts;
    uint64_t id;
    if (vs_lua_id(L, 2, &id, &err) != VESTA_OK || vesta_explain(layout, id, &parts, &err) != VESTA_OK)
        return vs_lua_push_error(L, &err);
    vs_lua_push_integer(L, parts.unix_ms);
    return 1;
}

/* Returns true, or false and the reason.  If the argument is not an id, returns nil, text, code. */
static int layout_fits(lua_State *L) {
    const struct vesta_layout *layout = layout_self(L);
    struct vesta_error err;
    struct vesta_parts parts;
    uint64_t id;
    if (vs_lua_id(L, 2, &id, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    int rc = vesta_explain(layout, id, &parts, &err);
    lua_pushboolean(L, rc == VESTA_OK);
    if (rc == VESTA_OK) return 1;
    lua_pushstring(L, err.text);
    return 2;
}

static int layout_text(lua_State *L) {
    char text[VESTA_LAYOUT_TEXT_MAX];
    lua_pushlstring(L, text, vesta_layout_text(layout_self(L), text));
    return 1;
}

static int layout_fields(lua_State *L) {
    const struct vesta_layout *layout = layout_self(L);
    lua_createtable(L, layout->field_count, 0);
    for (int i = 0; i < layout->field_count; i++) {
        const struct vesta_field *field = &layout->field[i];
        lua_createtable(L, 0, field->low_width ? 7 : 5);
        vs_lua_set_text(L, "name", field->name);
        vs_lua_set_integer(L, "width", field->width);
        vs_lua_set_integer(L, "shift", field->shift);
        vs_lua_set_integer(L, "max", (int64_t)field->max);
        if (field->low_width) {
            vs_lua_set_integer(L, "low_width", field->low_width);
            vs_lua_set_integer(L, "low_shift", field->low_shift);
        }
        if (field->fixed) vs_lua_set_integer(L, "constant", (int64_t)field->value);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int layout_ends(lua_State *L) {
    int64_t end_ms = vesta_layout_end_ms(layout_self(L));
    char iso[VESTA_ISO_MAX];
    vs_lua_push_integer(L, end_ms);
    lua_pushlstring(L, iso, vesta_iso(end_ms, iso));
    return 2;
}

static const struct vs_lua_function METHODS[] = {
    {"explain", layout_explain}, {"make", layout_make}, {"range", layout_range},   {"time", layout_time},
    {"fits", layout_fits},       {"text", layout_text}, {"fields", layout_fields}, {"ends", layout_ends},
    {"__tostring", layout_text}, {NULL, NULL},
};

/* ------------------------------------------------------------------ module functions */

static int core_layout(lua_State *L) {
    struct vesta_error err;
    struct vesta_layout layout;
    if (vesta_layout_parse(vs_lua_text(L, 1, "layout"), &layout, &err) != VESTA_OK) return vs_lua_push_error(L, &err);
    struct layout_box *box = lua_newuserdata(L, sizeof *box);
    *box = (struct layout_box){{CLASS}, layout};
    luaL_getmetatable(L, CLASS);
    lua_setmetatable(L, -2);
    return 1;
}

static int core_presets(lua_State *L) {
    const struct vesta_preset *preset;
    lua_newtable(L);
    for (int i = 0; (preset = vesta_preset_at(i)) != NULL; i++) {
        lua_createtable(L, 0, 6);
        vs_lua_set_text(L, "name", preset->name);
        vs_lua_set_text(L, "text", preset->text);
        vs_lua_set_text(L, "about", preset->about);
        vs_lua_set_text(L, "source", preset->source);
        vs_lua_set_text(L, "why", preset->why);
        lua_pushboolean(L, preset->may_issue);
        lua_setfield(L, -2, "may_issue");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static const struct vs_lua_function FUNCTIONS[] = {
    {"layout", core_layout},
    {"presets", core_presets},
    {NULL, NULL},
};

void vs_lua_open_layout(lua_State *L) {
    vs_lua_functions(L, FUNCTIONS);
    vs_lua_class(L, CLASS, METHODS);
    lua_setfield(L, -2, "layout_class"); /* stores the metatable, by which vesta.open recognizes a layout */
}
