/* fill.c -- fills the members of a config from the values that lua/config read, with one function per kind of key.  The
 * rows are generated from lua/config/schema.lua. */
#include "base/array.h"
#include "base/slice.h"
#include "config/inside.h"
#include "id/id.h"
#include "keeper/options.h"
#include "number/form.h"

#include <stdlib.h>
#include <string.h>

#define SAME(row, constant) _Static_assert((row) == (constant), "a row of schema.lua and " #constant);
VS_CONF_SAME(SAME)

#define OPTIONS_INDEX "fields that are options of a generator"

enum conf_kind {
    CONF_TEXT,
    CONF_SECRET,
    CONF_WORD,
    CONF_FIELDS,
    CONF_INTEGER, /* int64_t */
    CONF_SWITCH,
    CONF_CHOICE, /* int64_t: the index of a word */
    CONF_LIST,
    CONF_SECRETS,
    CONF_POLICY,
    CONF_ENUM,   /* an enum of struct vesta_opts: 1 for the first word */
    CONF_WORKER, /* sets two members of struct vesta_opts */
    CONF_AHEAD   /* int64_t of struct vesta_opts: -1 means 0, and 0 means no value */
};

struct conf_field {
    const char *key;
    enum conf_kind kind;
    size_t offset;
    int64_t min;
    const char *words;
};

#define FIELD_OF(type, key, kind, member, min, words) {key, CONF_##kind, offsetof(struct type, member), min, words},
#define TOP(...) FIELD_OF(vs_config, __VA_ARGS__)
#define STORE(...) FIELD_OF(vs_conf_store, __VA_ARGS__)
#define NAMESPACE(...) FIELD_OF(vs_conf_namespace, __VA_ARGS__)
#define SEGMENT(...) FIELD_OF(vs_conf_segment, __VA_ARGS__)

/* The rows of vesta_options.h. */
#define OPTION(type, member, kind, max, flag, values, ...) OPTION_##kind(member, #member, values)
#define OPTS(member) offsetof(struct vs_conf_namespace, opts.member)
#define OPTION_TEXT(member, key, values) {key, CONF_TEXT, OPTS(member), 0, NULL},
#define OPTION_LAYOUT OPTION_TEXT
#define OPTION_PATH OPTION_TEXT
#define OPTION_NAME OPTION_TEXT
#define OPTION_FIELDS OPTION_TEXT
#define OPTION_WORD OPTION_TEXT
#define OPTION_URI(member, key, values) /* lua/config/stores.lua resolves the value, see below */
#define OPTION_CHOICE(member, key, values) {key, CONF_ENUM, OPTS(member), 1, values},
#define OPTION_WORKER(member, key, values) {key, CONF_WORKER, offsetof(struct vs_conf_namespace, opts), 0, NULL},
#define OPTION_AHEAD(member, key, values) {key, CONF_AHEAD, OPTS(member), 0, NULL},

static const struct conf_field conf_top_fields[] = {VS_CONF_FIELDS(TOP)};
static const struct conf_field conf_store_fields[] = {VS_CONF_STORE_FIELDS(STORE)};
static const struct conf_field conf_segment_fields[] = {VS_CONF_SEGMENT_FIELDS(SEGMENT)};
static const struct conf_field conf_ns_fields[] = {
    VS_CONF_NAMESPACE_FIELDS(NAMESPACE) VESTA_NAMESPACE_OPTIONS(OPTION)
    {"store", CONF_TEXT, offsetof(struct vs_conf_namespace, store), 0, NULL},
    {"opts.store", CONF_TEXT, OPTS(store), 0, NULL},
    {"opts.secret", CONF_SECRET, OPTS(secret), 0, NULL},
    {"opts.namespace", CONF_TEXT, OPTS(namespace_), 0, NULL}};

/* ------------------------------------------------------------------ one value */

/* Returns the string on top of the stack.  With a config, returns a copy that the config owns.  If `config` is NULL,
 * Lua remains the owner of the string. */
static const char *conf_text(lua_State *L, struct vs_config *config) {
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    if (!text || !config) return text;
    const char *kept = conf_keep(config, text, length);
    if (!kept) conf_raise(L, VESTA_ENOMEM);
    return kept;
}

static void conf_put_list(lua_State *L, struct vs_config *config, struct vs_conf_list *list) {
    size_t count = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
    list->text = conf_keep(config, NULL, (count + 1) * sizeof *list->text);
    if (!list->text) conf_raise(L, VESTA_ENOMEM);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        list->text[i] = conf_text(L, config);
        lua_pop(L, 1);
    }
    list->count = (int)count;
}

static void conf_put_policy(lua_State *L, struct vs_config *config, struct vs_conf_policy *policy) {
    lua_getfield(L, -1, "name");
    policy->name = conf_text(L, config);
    lua_getfield(L, -2, "options");
    policy->options = conf_text(L, config);
    lua_getfield(L, -3, "text");
    struct vs_policy_text *text = lua_touserdata(L, -1);
    policy->text = *text;
    *text = (struct vs_policy_text){0}; /* the config now owns the text */
    lua_pop(L, 3);
}

static void conf_put(lua_State *L, struct vs_config *config, const struct conf_field *field, void *base) {
    void *at = (char *)base + field->offset;
    struct vesta_opts *opts = at;
    bool is_there = !lua_isnil(L, -1);
    int64_t number = is_there ? lua_tointeger(L, -1) : field->min - 1;
    if (field->words && is_there) {
        const char *word = lua_tostring(L, -1);
        number = field->min + vs_slice_place((struct vs_slice){word, strlen(word)}, field->words, '|');
    }
    switch (field->kind) {
    case CONF_TEXT:
    case CONF_SECRET:
    case CONF_WORD:
    case CONF_FIELDS: *(const char **)at = conf_text(L, config); return;
    case CONF_INTEGER:
    case CONF_CHOICE: *(int64_t *)at = number; return;
    case CONF_SWITCH: *(int64_t *)at = lua_toboolean(L, -1); return;
    case CONF_LIST:
    case CONF_SECRETS: conf_put_list(L, config, at); return;
    case CONF_POLICY:
        if (is_there) conf_put_policy(L, config, at);
        return;
    case CONF_ENUM: *(int *)at = (int)number; return;
    case CONF_WORKER:
        opts->has_worker = is_there;
        opts->worker = is_there ? (uint64_t)number : 0;
        return;
    case CONF_AHEAD: *(int64_t *)at = !is_there ? 0 : number == 0 ? -1 : number; return;
    }
}

/* Sets every field from the table on top of the stack. */
static void conf_put_all(lua_State *L, struct vs_config *config, const struct conf_field *field, size_t count, void *base) {
    for (size_t i = 0; i < count; i++) {
        lua_getfield(L, -1, field[i].key);
        conf_put(L, config, &field[i], base);
        lua_pop(L, 1);
    }
}

/* Sets the fields for which the table on top of the stack has a value.  The table below it maps keys to fields. */
static void conf_put_some(lua_State *L, struct vs_config *config, void *base) {
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_rawget(L, -5);
        const struct conf_field *field = lua_touserdata(L, -1);
        lua_pop(L, 1);
        if (field) conf_put(L, config, field, base);
    }
}

static void conf_index(lua_State *L, const struct conf_field *field) {
    lua_pushlightuserdata(L, (void *)field);
    lua_setfield(L, -2, field->key);
}

static void conf_push_index(lua_State *L, const struct conf_field *field, size_t count) {
    lua_createtable(L, 0, (int)count);
    for (size_t i = 0; i < count; i++)
        conf_index(L, &field[i]);
}

/* ------------------------------------------------------------------ options of a generator */

void conf_fill_opts(lua_State *L, struct vesta_opts *opts) {
    struct vs_conf_namespace ns = {.opts = VESTA_OPTS_INIT};
    const size_t first = offsetof(struct vs_conf_namespace, opts), end = first + sizeof ns.opts;
    if (!luaL_getsubtable(L, LUA_REGISTRYINDEX, OPTIONS_INDEX))
        for (size_t i = 0; i < VS_COUNT(conf_ns_fields); i++)
            if (conf_ns_fields[i].offset >= first && conf_ns_fields[i].offset < end) conf_index(L, &conf_ns_fields[i]);
    lua_insert(L, -2);
    conf_put_some(L, NULL, &ns);
    *opts = ns.opts;
}

/* Pushes a field's value.  Returns false if the field is not an option of a generator or has no value. */
static bool conf_push_given(lua_State *L, const struct conf_field *field, const struct vs_conf_namespace *ns) {
    const void *at = (const char *)ns + field->offset;
    const struct vesta_opts *opts = &ns->opts;
    int64_t number = field->kind == CONF_ENUM ? *(const int *)at : 0;
    switch (field->kind) {
    case CONF_TEXT: return *(const char *const *)at ? lua_pushstring(L, *(const char *const *)at), true : false;
    case CONF_WORKER: return opts->has_worker ? lua_pushinteger(L, (lua_Integer)opts->worker), true : false;
    case CONF_AHEAD:
        number = *(const int64_t *)at;
        return number ? lua_pushinteger(L, number < 0 ? 0 : number), true : false;
    case CONF_ENUM:
        for (const char *word = field->words; number > 0; number--, word += strcspn(word, "|") + 1)
            if (number == field->min) return lua_pushlstring(L, word, strcspn(word, "|")), true;
        return false;
    default: return false;
    }
}

void conf_push_opts(lua_State *L, const struct vesta_opts *opts) {
    const struct vs_conf_namespace ns = {.opts = *opts, .store = opts->store};
    lua_newtable(L);
    for (size_t i = 0; i < VS_COUNT(conf_ns_fields); i++)
        if (conf_push_given(L, &conf_ns_fields[i], &ns)) lua_setfield(L, -2, conf_ns_fields[i].key);
}

/* ------------------------------------------------------------------ parts */

struct conf_part {
    const char *name;
    /* Offsets of the array's pointer and count in struct vs_config, and the size of an entry. */
    size_t array, count, size;
    const struct conf_field *field;
    size_t fields;
    void (*finish)(lua_State *L, struct vs_config *config, void *entry);
};

static void conf_finish_namespace(lua_State *L, struct vs_config *config, void *entry) {
    struct vs_conf_namespace *ns = entry;
    (void)L, (void)config;
    if (ns->opts.namespace_) ns->opts.size = sizeof ns->opts;
}

static void conf_finish_segment(lua_State *L, struct vs_config *config, void *entry) {
    struct vs_conf_segment *segment = entry;
    struct vs_conf_list uris, secrets;
    lua_getfield(L, -1, "uris");
    conf_put_list(L, config, &uris);
    lua_getfield(L, -2, "secrets");
    conf_put_list(L, config, &secrets);
    lua_pop(L, 2);
    for (int i = 0; i < uris.count; i++) {
        segment->uri[i] = uris.text[i];
        segment->secret[i] = *secrets.text[i] ? secrets.text[i] : NULL;
    }
    segment->uri_count = uris.count;
}

#define PART(name, member, type, fields, finish)                                                                       \
    { name, offsetof(struct vs_config, member), offsetof(struct vs_config, member##_count), sizeof(struct type), fields, VS_COUNT(fields), finish }
static const struct conf_part conf_parts[] = {
    PART("namespaces", ns, vs_conf_namespace, conf_ns_fields, conf_finish_namespace),
    PART("stores", store, vs_conf_store, conf_store_fields, NULL),
    PART("segments", segment, vs_conf_segment, conf_segment_fields, conf_finish_segment)};

/* Fills the array.  Stack: names, entries by name, fields by key. */
static void conf_fill_entries(lua_State *L, struct vs_config *config, const struct conf_part *part, char *array, int count) {
    for (int i = 0; i < count; i++) {
        void *entry = array + (size_t)i * part->size;
        memcpy(entry, array + (size_t)count * part->size, part->size); /* begin with the defaults */
        lua_rawgeti(L, -3, i + 1);
        *(const char **)entry = conf_text(L, config); /* `name` is the first member of every part */
        lua_rawget(L, -3);
        conf_put_some(L, config, entry);
        if (part->finish) part->finish(L, config, entry);
        lua_pop(L, 1);
    }
}

static void conf_fill_part(lua_State *L, struct vs_config *config, const struct conf_part *part) {
    lua_getfield(L, -1, part->name);
    lua_getfield(L, -1, "names");
    size_t count = lua_rawlen(L, -1);
    char *array = calloc(count + 1, part->size); /* the last entry has the defaults */
    if (!array) conf_raise(L, VESTA_ENOMEM);
    *(char **)((char *)config + part->array) = array;
    *(int *)((char *)config + part->count) = (int)count;
    lua_getfield(L, -2, "defaults");
    conf_put_all(L, config, part->field, part->fields, array + count * part->size);
    lua_pop(L, 1);
    lua_getfield(L, -2, "at");
    conf_push_index(L, part->field, part->fields);
    conf_fill_entries(L, config, part, array, (int)count);
    lua_pop(L, 4);
}

static const char *conf_get_text(lua_State *L, struct vs_config *config, const char *key) {
    lua_getfield(L, -1, key);
    const char *text = conf_text(L, config);
    lua_pop(L, 1);
    return text;
}

void conf_fill(lua_State *L, struct vs_config *config) {
    for (size_t i = 0; i < VS_COUNT(conf_parts); i++)
        conf_fill_part(L, config, &conf_parts[i]);
    lua_getfield(L, -1, "top");
    conf_put_all(L, config, conf_top_fields, VS_COUNT(conf_top_fields), config);
    lua_pop(L, 1);
    lua_getfield(L, -1, "notes");
    conf_put_list(L, config, &config->notes);
    lua_pop(L, 1);
    config->unnumbered = conf_get_text(L, config, "unnumbered");
    config->closed = conf_get_text(L, config, "closed");
    lua_getfield(L, -1, "said");
    config->said_length = lua_rawlen(L, -1);
    config->said = conf_text(L, config);
    lua_pop(L, 1);
}

/* ------------------------------------------------------------------ the module config.options */

#define OPTION_ROW(type, member, kind, max, flag, values, about, without)                                             \
    {#member, #kind, max, flag, values, about, without},

int vs_conf_open_options(lua_State *L) {
    static const struct {
        const char *member, *kind;
        int64_t max;
        const char *flag, *value, *help, *without;
    } rows[] = {VESTA_NAMESPACE_OPTIONS(OPTION_ROW)};
    lua_createtable(L, (int)VS_COUNT(rows), 0);
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        const char *texts[][2] = {{"member", rows[i].member}, {"kind", rows[i].kind}, {"flag", rows[i].flag},
                                  {"value", rows[i].value},   {"help", rows[i].help}, {"without", rows[i].without}};
        lua_createtable(L, 0, (int)VS_COUNT(texts) + 1);
        for (size_t t = 0; t < VS_COUNT(texts); t++) {
            lua_pushstring(L, texts[t][1]);
            lua_setfield(L, -2, texts[t][0]);
        }
        lua_pushinteger(L, rows[i].max);
        lua_setfield(L, -2, "max");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}
