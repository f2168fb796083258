/* source.c -- the module `source`: ids of a namespace or numbers of a counter in batches, for `vesta fill`.  Contains
 * no Redis code. */
#include "base/slice.h"
#include "config/config.h"
#include "main/modules.h"
#include "main/where.h"
#include "modules/tables.h"

#include <string.h>

#define SOURCE_CLASS "vesta.source"
#define SOURCE_WHY_MAX 320

struct fill_source {
    struct vesta_opts opts;
    const char *tag, *table; /* tag of a counter and its table (tag NULL: ids of a namespace) */
    const char *config_path; /* NULL: `opts` come from flags */
    struct vs_config *config;
    struct vesta_gen *gen;
    struct vesta_segment *seg;
    bool is_strict; /* the numbers are requested from the database */
};

/* ------------------------------------------------------------------ options */

static int64_t source_integer(lua_State *L, int arg, const char *key, bool *is_given) {
    lua_getfield(L, arg, key);
    int64_t value = lua_tointeger(L, -1);
    *is_given = !lua_isnil(L, -1);
    lua_pop(L, 1);
    return value;
}

/* Reads the options of a generator, as term.options returns them. */
static void source_read_opts(lua_State *L, int arg, struct vesta_opts *opts) {
    bool is_given;
#define TAKE(type, member, kind, max, flag, values, ...) TAKE_##kind(flag, member, values)
#define TAKE_TEXT(flag, member, values) opts->member = host_get_text(L, arg, flag);
#define TAKE_LAYOUT TAKE_TEXT
#define TAKE_PATH TAKE_TEXT
#define TAKE_URI TAKE_TEXT
#define TAKE_NAME TAKE_TEXT
#define TAKE_FIELDS TAKE_TEXT
#define TAKE_WORD TAKE_TEXT
#define TAKE_CHOICE(flag, member, values)                                                                              \
    if (host_get_text(L, arg, flag))                                                                                   \
        opts->member =                                                                                                 \
            1 + vs_slice_place((struct vs_slice){host_get_text(L, arg, flag), strlen(host_get_text(L, arg, flag))},    \
                               values, '|');
#define TAKE_WORKER(flag, member, values)                                                                              \
    opts->member = (uint64_t)source_integer(L, arg, flag, &is_given);                                                  \
    opts->has_##member = is_given;
#define TAKE_AHEAD(flag, member, values) opts->member = source_integer(L, arg, flag, &is_given);
    *opts = (struct vesta_opts)VESTA_OPTS_INIT;
    VESTA_NAMESPACE_OPTIONS(TAKE)
    opts->namespace_ = host_get_text(L, arg, "namespace");
#undef TAKE
}

/* source.has_flags(options) -> whether the generator's options set more than its namespace */
static int source_has_flags(lua_State *L) {
    struct vesta_opts opts;
    source_read_opts(L, 1, &opts);
    lua_pushboolean(L, vs_where_has_flags(&opts));
    return 1;
}

/* ------------------------------------------------------------------ a namespace */

static int source_open_namespace(struct fill_source *source) {
    struct vesta_error err;
    struct vesta_info info;
    int rc = vs_where_opts(source->config_path, &source->opts, &source->config);
    if (rc != VS_GO) return rc;
    source->opts.any_worker = !source->opts.has_worker; /* relevant only if there is no generator file yet */
    if (vesta_open(&source->opts, &source->gen, &err) != VESTA_OK) return vs_report(&err);
    vesta_get_info(source->gen, &info);
    if (info.warning[0]) vs_say("warning: %s", info.warning);
    return VS_GO;
}

/* ------------------------------------------------------------------ a tag */

static int source_choose_row(const struct fill_source *source, struct vesta_segment_opts *opts) {
    const struct vs_conf_segment *row;
    struct vesta_error err;
    if (vs_conf_segment_of(source->config, source->tag, &row, &err) != VESTA_OK) return vs_report(&err);
    for (int i = 0; i < row->uri_count; i++) {
        opts->stores[i] = row->uri[i];
        opts->secrets[i] = row->secret[i];
    }
    opts->table = vs_conf_segment_table(row);
    opts->step = (uint64_t)row->step;
    opts->step_max = (uint64_t)row->step_max;
    if (row->order == VS_CONF_DENSE)
        return vs_usage("the tag '%s' is dense, and numbers in a list cannot be committed", source->tag),
               VS_USAGE;
    opts->order = row->order == VS_CONF_STRICT ? VESTA_STRICT : VESTA_TREND;
    return VS_GO;
}

static int source_read_config(struct fill_source *source) {
    struct vs_conf_opts from = {.path = source->config_path};
    struct vesta_error err;
    if (!from.path || vs_config_read(&from, &source->config, &err) == VESTA_OK) return VS_GO;
    vs_say("%s", err.text);
    return VS_FAILED;
}

static int source_open_tag(struct fill_source *source) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_segment_info info;
    struct vesta_error err;
    opts.stores[0] = source->opts.store;
    opts.table = source->table;
    opts.group = source->opts.group;
    int rc = source->config ? source_choose_row(source, &opts) : VS_GO;
    if (rc != VS_GO) return rc;
    opts.tag = source->tag;
    if (vesta_segment_open(&opts, &source->seg, &err) != VESTA_OK) return vs_report(&err);
    vesta_segment_get_info(source->seg, &info);
    source->is_strict = info.order == VESTA_STRICT;
    if (info.warning[0]) vs_say("warning: %s", info.warning);
    return VS_GO;
}

static int source_print_tag(const struct fill_source *source, int json) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    opts.stores[0] = source->opts.store;
    opts.table = source->table;
    int rc = source->config ? source_choose_row(source, &opts) : VS_GO;
    if (rc != VS_GO) return rc;
    struct vs_conf_value row = {
        .path = "config", .text = source->config_path, .origin = VS_FROM_FLAG, .by = "--config"};
    if (row.text) vs_effective_print(&row, json);
    row = (struct vs_conf_value){.path = "tag", .text = source->tag, .origin = VS_FROM_FLAG, .by = "--tag"};
    vs_effective_print(&row, json);
    row.origin = source->config ? VS_FROM_FILE : VS_FROM_FLAG;
    for (int i = 0; i < VESTA_DATABASES_MAX && opts.stores[i]; i++) {
        row.path = "store", row.text = opts.stores[i], row.by = source->config ? "the config" : "--store";
        vs_effective_print(&row, json);
    }
    row.path = "table", row.text = opts.table ? opts.table : "leaf_alloc", row.by = NULL;
    if (!opts.table) row.origin = VS_FROM_DEFAULT;
    vs_effective_print(&row, json);
    return VS_DONE;
}

/* ------------------------------------------------------------------ either */

static struct fill_source *source_self(lua_State *L) {
    return luaL_checkudata(L, 1, SOURCE_CLASS);
}

/* Closes the source.  Returns the unused remainder of a counter's range to the database, unless another process on this
 * host uses the range. */
static int source_close(lua_State *L) {
    struct fill_source *source = source_self(L);
    vesta_close(source->gen);
    if (source->seg) vesta_segment_release(source->seg, NULL);
    vesta_segment_close(source->seg);
    vs_config_free(source->config);
    *source = (struct fill_source){.gen = NULL};
    return 0;
}

/* Pushes a new source, which keeps the options alive. */
static struct fill_source *source_new(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    struct fill_source *source = lua_newuserdatauv(L, sizeof *source, 1);
    *source = (struct fill_source){.tag = host_get_text(L, 1, "tag"),
                              .table = host_get_text(L, 1, "table"),
                              .config_path = host_get_text(L, 1, "config")};
    source_read_opts(L, 1, &source->opts);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, SOURCE_CLASS);
    return source;
}

/* source.open(options) -> source | nil, exit code after a message.  If options.tag is set, the source is a counter. */
static int source_open(lua_State *L) {
    struct fill_source *source = source_new(L);
    int code = source->tag ? source_read_config(source) : source_open_namespace(source);
    if (code == VS_GO && source->tag) code = source_open_tag(source);
    return code == VS_GO ? 1 : host_end(L, code);
}

/* source.print(options, json) -> exit code.  Prints `--effective`: the source that would be used. */
static int source_print(lua_State *L) {
    struct fill_source *source = source_new(L);
    int json = lua_toboolean(L, 2), code = source->tag ? source_read_config(source) : VS_GO;
    if (code == VS_GO)
        code = source->tag ? source_print_tag(source, json)
                           : vs_where_print_opts(source->config_path, &source->opts, json);
    lua_pushinteger(L, code);
    return 1;
}

/* Takes numbers.  In strict order, one transaction takes all n numbers.  In other orders, up to n numbers come from the
 * current range. */
static int source_ask(struct fill_source *source, size_t n, int64_t wait_us, struct vesta_numbers *numbers,
                      struct vesta_pause *pause) {
    if (source->is_strict) return vesta_segment_batch_wait(source->seg, n, numbers, wait_us, pause);
    if (vesta_segment_next_n(source->seg, n, numbers, pause) == VESTA_OK) return VESTA_OK;
    numbers->count = numbers->stride = 1;
    return vesta_segment_next_wait(source->seg, &numbers->first, wait_us, pause);
}

static size_t source_take_numbers(struct fill_source *source, uint64_t *ids, size_t n, int64_t wait_us, char *why) {
    struct vesta_numbers numbers;
    struct vesta_pause pause;
    if (source_ask(source, n, wait_us, &numbers, &pause) != VESTA_OK)
        return vesta_segment_pause_text(source->seg, &pause, why, SOURCE_WHY_MAX), 0;
    for (uint64_t i = 0; i < numbers.count; i++)
        ids[i] = numbers.first + i * numbers.stride;
    return numbers.count;
}

static size_t source_take_ids(struct fill_source *source, uint64_t *ids, size_t n, int64_t wait_us, char *why) {
    struct vesta_pause pause;
    size_t got = 0;
    if (vesta_next_n(source->gen, ids, n, &got, &pause) == VESTA_OK) return got;
    if (vesta_next_wait(source->gen, ids, wait_us, &pause) == VESTA_OK) return 1;
    vesta_pause_text(source->gen, &pause, why, SOURCE_WHY_MAX);
    return 0;
}

/* source:take(n, wait_ms, base) -> 1 to n ids as texts, at most VESTA_BATCH_MAX | nil, why there are none yet
 * Waits up to wait_ms for the first id. */
static int source_take(lua_State *L) {
    static const char *const bases[] = {"dec", "hex", "base32", "base62", NULL};
    static uint64_t ids[VESTA_BATCH_MAX];
    struct fill_source *source = source_self(L);
    char why[SOURCE_WHY_MAX], text[VESTA_FORMAT_MAX];
    lua_Integer wanted = luaL_checkinteger(L, 2);
    size_t n = wanted < VESTA_BATCH_MAX ? (size_t)wanted : VESTA_BATCH_MAX;
    int64_t wait_us = luaL_checkinteger(L, 3) * 1000;
    enum vesta_base base = (enum vesta_base)luaL_checkoption(L, 4, "dec", bases);
    luaL_argcheck(L, source->gen || source->seg, 1, "the source is closed");
    luaL_argcheck(L, wanted > 0, 2, "a count of ids");
    size_t got =
        source->seg ? source_take_numbers(source, ids, n, wait_us, why) : source_take_ids(source, ids, n, wait_us, why);
    if (got == 0) {
        lua_pushnil(L);
        lua_pushstring(L, why);
        return 2;
    }
    lua_createtable(L, (int)got, 0);
    for (size_t i = 0; i < got; i++) {
        vesta_format(base, ids[i], text);
        lua_pushstring(L, text);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* Opens `source`: the functions above, and OPTIONS (the rows of a generator's options). */
int modules_open_source(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"open", source_open}, {"print", source_print}, {"has_flags", source_has_flags}, {NULL, NULL}};
    static const luaL_Reg methods[] = {{"take", source_take},
                                       {"close", source_close},
                                       {"__gc", source_close},
                                       {"__close", source_close},
                                       {NULL, NULL}};
    struct vesta_opts unused, *opts = &unused;
    const struct vs_option options[] = {VS_GENERATOR_OPTIONS, {0}};
    luaL_newmetatable(L, SOURCE_CLASS);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    luaL_newlib(L, functions);
    host_push_options(L, options);
    lua_setfield(L, -2, "OPTIONS");
    return 1;
}
