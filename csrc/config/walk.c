/* walk.c -- through the table that a config file returned, by the schema: a key that it does not know is refused by its
 * path, with what was probably meant.  Knows tables, not what a value may be. */
#include "config/walk.h"
#include "base/error.h"
#include "base/nearest.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_MAX (VS_CONF_PATH_MAX + VS_QUOTE_MAX)
#define SEGMENT_MAX 32

/* The part of a key's path behind `pattern` up to the next dot; false where the path begins otherwise. */
static bool segment_of(const struct vs_conf_key *key, const char *pattern, char *segment) {
    size_t length = strlen(pattern);
    if (strncmp(key->path, pattern, length) != 0) return false;
    snprintf(segment, SEGMENT_MAX, "%.*s", (int)strcspn(key->path + length, "."), key->path + length);
    return true;
}

/* ------------------------------------------------------------------ keys that are none */

struct siblings {
    char text[VS_CONF_KEYS_MAX][SEGMENT_MAX];
    const char *name[VS_CONF_KEYS_MAX + 1]; /* ended by NULL */
    int count;
};

static void find_siblings(const char *pattern, struct siblings *s) {
    s->count = 0;
    for (int i = 0; i < vs_conf_key_count; i++) {
        char *segment = s->text[s->count];
        if (!segment_of(&vs_conf_keys[i], pattern, segment)) continue;
        if (s->count && strcmp(segment, s->text[s->count - 1]) == 0) continue; /* a table's rows stand together */
        s->name[s->count++] = segment;
    }
    s->name[s->count] = NULL;
}

static bool is_sibling(const struct siblings *s, const char *name) {
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->name[i], name) == 0) return true;
    return false;
}

/* "namespaces.NAME" for a key that stands there and not here, or NULL. */
static const char *home_of(const char *name, char *buf) {
    for (int i = 0; i < vs_conf_key_count; i++) {
        const char *path = vs_conf_keys[i].path, *dot = strrchr(path, '.');
        if (!dot || strcmp(dot + 1, name) != 0) continue;
        int length = (int)strcspn(path, "*#");
        if (path[length])
            snprintf(buf, SHOWN_MAX, path[length] == '*' ? "%.*sNAME" : "each of %.*s", length - (path[length] == '#'),
                     path);
        else
            snprintf(buf, SHOWN_MAX, "%.*s", (int)(dot - path), path);
        return buf;
    }
    return NULL;
}

static int unknown(struct walk *w, const struct siblings *s, const char *shown, const char *name) {
    char path[SHOWN_MAX], text[400], home[SHOWN_MAX];
    const char *near = vs_nearest(name, s->name);
    int used = 0;
    if (near)
        snprintf(text, sizeof text, "did you mean %s?", near);
    else if (home_of(name, home))
        snprintf(text, sizeof text, "it belongs in %s", home);
    else
        for (int i = 0; i < s->count; i++)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", i ? ", " : "keys here are ", s->name[i]);
    vs_fail(w->err, VESTA_EOPTION, "is not a key; %s", text);
    snprintf(path, sizeof path, "%s%s", shown, VS_QUOTE(name, strlen(name)));
    return vs_conf_blame_path(w->reading, path, w->err);
}

/* ------------------------------------------------------------------ tables */

static int walk_table(struct walk *w, const char *pattern, const char *shown, void *base);

/* What is wrong with the table `shown` ("namespaces.orders." or "") as a whole. */
static int blame_table(const struct walk *w, const char *shown) {
    char path[SHOWN_MAX];
    snprintf(path, sizeof path, "%.*s", *shown ? (int)strlen(shown) - 1 : 0, shown);
    return vs_conf_blame_path(w->reading, *path ? path : "the config", w->err);
}

static int need_table(const struct walk *w, const char *shown) {
    if (lua_type(w->L, -1) == LUA_TTABLE) return VESTA_OK;
    vs_fail(w->err, VESTA_EOPTION, "is %s, which must be a table", VS_CONF_GIVEN(w));
    return blame_table(w, shown);
}

/* The entry on top, of a part. */
static int walk_entry(struct walk *w, const struct vs_conf_part *part, const char *shown, const char *name) {
    char path[SHOWN_MAX];
    void *base;
    int rc = vs_conf_part_add(w->reading->config, part, name, &base, w->err);
    if (rc != VESTA_OK) return blame_table(w, shown);
    if (part->check)
        snprintf(path, sizeof path, "%s%s.", shown, name);
    else
        snprintf(path, sizeof path, "%.*s[%s].", (int)strlen(shown) - 1, shown, name);
    rc = need_table(w, path);
    return rc == VESTA_OK ? walk_table(w, part->prefix, path, base) : rc;
}

static bool is_default(const char *name) {
    return strcmp(name, "default") == 0;
}

static int by_name(const void *a, const void *b) {
    const char *left = *(const char *const *)a, *right = *(const char *const *)b;
    if (is_default(left) || is_default(right)) return is_default(right) - is_default(left);
    return strcmp(left, right);
}

/* The names of the table on top, `default` first; NULL: no memory.  They are the table's. */
static const char **sort_names(struct walk *w, size_t *count) {
    const char **names;
    *count = 0;
    for (lua_pushnil(w->L); lua_next(w->L, -2); lua_pop(w->L, 1))
        ++*count;
    if (!(names = vs_conf_keep(w->reading->config, NULL, *count * sizeof *names))) return NULL;
    *count = 0;
    for (lua_pushnil(w->L); lua_next(w->L, -2); lua_pop(w->L, 1))
        names[(*count)++] = lua_tostring(w->L, -2);
    qsort(names, *count, sizeof *names, by_name);
    return names;
}

static int walk_named(struct walk *w, const struct vs_conf_part *part, const char *shown) {
    size_t count;
    int rc = vs_conf_check_names(w, part->max, 0);
    if (rc != VESTA_OK) return blame_table(w, shown);
    const char **names = sort_names(w, &count);
    if (!names) return vs_fail(w->err, VESTA_ENOMEM, "no memory for the config");
    for (size_t i = 0; rc == VESTA_OK && i < count; i++) {
        lua_getfield(w->L, -1, names[i]);
        rc = walk_entry(w, part, shown, names[i]);
        lua_pop(w->L, 1);
    }
    if (rc != VESTA_OK || count > 0) return rc;
    vs_fail(w->err, VESTA_EOPTION, "is an empty table; leave the key out instead");
    return blame_table(w, shown);
}

static int walk_listed(struct walk *w, const struct vs_conf_part *part, const char *shown) {
    char place[24];
    size_t count;
    int rc = vs_conf_check_list(w, part->max, &count);
    if (rc != VESTA_OK) return blame_table(w, shown);
    for (size_t i = 1; rc == VESTA_OK && i <= count; i++) {
        snprintf(place, sizeof place, "%zu", i);
        lua_rawgeti(w->L, -1, (lua_Integer)i);
        rc = walk_entry(w, part, shown, place);
        lua_pop(w->L, 1);
    }
    return rc;
}

/* The value on top, under a key whose path goes on with `rest`. */
static int walk_child(struct walk *w, const struct vs_conf_key *key, const char *rest, const char *shown, void *base) {
    char pattern[SHOWN_MAX];
    int rc;
    if (*rest == '\0') return vs_conf_read_value(w, key, base);
    if ((rc = need_table(w, shown)) != VESTA_OK) return rc;
    if (rest[1] == '*') return walk_named(w, vs_conf_part_of(key->path), shown);
    if (rest[1] == '#') return walk_listed(w, vs_conf_part_of(key->path), shown);
    snprintf(pattern, sizeof pattern, "%.*s", (int)(rest + 1 - key->path), key->path);
    return walk_table(w, pattern, shown, base);
}

static int walk_table(struct walk *w, const char *pattern, const char *shown, void *base) {
    struct siblings s;
    char path[SHOWN_MAX], last[SEGMENT_MAX] = "", segment[SEGMENT_MAX];
    int rc = vs_conf_check_names(w, INT32_MAX, 0);
    if (rc != VESTA_OK) return blame_table(w, shown);
    find_siblings(pattern, &s);
    for (const char *name = NULL; (name = vs_conf_name_after(w->L, -1, name));)
        if (!is_sibling(&s, name)) return unknown(w, &s, shown, name);
    for (int i = 0; rc == VESTA_OK && i < vs_conf_key_count; i++) {
        const struct vs_conf_key *key = &vs_conf_keys[i];
        if (!segment_of(key, pattern, segment) || strcmp(segment, last) == 0) continue;
        strcpy(last, segment);
        snprintf(path, sizeof path, "%s%s.", shown, segment);
        if (lua_getfield(w->L, -1, segment) != LUA_TNIL)
            rc = walk_child(w, key, key->path + strlen(pattern) + strlen(segment), path, base);
        lua_pop(w->L, 1);
    }
    return rc;
}

int vs_conf_walk(lua_State *L, const struct vs_conf_reading *reading, struct vesta_error *err) {
    struct walk w = {L, reading, err};
    luaL_checkstack(L, 64, "config");
    int rc = need_table(&w, "");
    return rc == VESTA_OK ? walk_table(&w, "", "", reading->config) : rc;
}
