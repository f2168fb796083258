/* origin.c -- where a value came from: errors that say so, all effective values, what differs between two configs. */
#include "base/error.h"
#include "config/schema.h"
#include "host/vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_TAIL_MAX 120 /* of a long path the end is shown */

/* ------------------------------------------------------------------ who is to blame */

static int in_front(const char *front, struct vesta_error *err) {
    char text[sizeof err->text];
    snprintf(text, sizeof text, "%s", err->text);
    return vs_fail(err, err->code, "%s%s%s", front, *text == '\'' && front[strlen(front) - 1] != ':' ? ": " : " ",
                   text);
}

const char *vs_conf_shown_path(const char *path, char *buf) {
    size_t length = strlen(path), from = length > PATH_TAIL_MAX ? length - PATH_TAIL_MAX : 0;
    strcpy(buf, from ? "..." : "");
    vs_calm(buf + strlen(buf), VS_CONF_SHOWN_MAX - strlen(buf), path + from, length - from);
    return buf;
}

int vs_conf_blame_line(const struct vs_conf_source *source, int line, struct vesta_error *err) {
    char front[VS_CONF_SHOWN_MAX + 32];
    const char *file = VS_CONF_SHOWN(source->path);
    if (line > 0)
        snprintf(front, sizeof front, "%s:%d:", file, line);
    else
        snprintf(front, sizeof front, "%s:", file);
    return in_front(front, err);
}

int vs_conf_blame_path(const struct vs_conf_reading *reading, const char *path, struct vesta_error *err) {
    const char *dot = strrchr(path, '.');
    in_front(path, err);
    return reading->source.path
               ? vs_conf_blame_line(&reading->source, vs_conf_line_of(reading->source.text, dot ? dot + 1 : path), err)
               : err->code;
}

int vs_conf_blame(const struct vs_conf_reading *reading, const struct vs_conf_key *key, void *base,
                  struct vesta_error *err) {
    char path[VS_CONF_PATH_MAX];
    enum vs_origin origin = *vs_conf_origin(key, base);
    if (err->code == VESTA_ENOMEM) return err->code;
    vs_conf_path(key, base, path);
    if (origin == VS_FROM_ENV) return in_front(key->variable, err);
    for (int i = 0; origin == VS_FROM_FLAG && i < reading->opts->flag_count; i++)
        if (strcmp(reading->opts->flag[i].key, key->path) == 0) return in_front(reading->opts->flag[i].flag, err);
    return vs_conf_blame_path(reading, path, err);
}

/* ------------------------------------------------------------------ values as text */

static bool print_list(FILE *out, const struct vs_conf_list *list) {
    for (int i = 0; i < list->count; i++)
        fprintf(out, "%s%s", i ? ", " : "", list->text[i]);
    return list->count > 0;
}

/* The value as text on `out`; false: there is none. */
static bool print_value(FILE *out, const struct vs_conf_key *key, const void *base) {
    const void *at = (const char *)base + key->offset;
    const char *text = *(const char *const *)at;
    int64_t number = vs_conf_number(key, base);
    const struct vs_conf_policy *policy = at;
    size_t length;
    switch (key->kind) {
    case VS_CONF_TEXT:
    case VS_CONF_WORD:
    case VS_CONF_SECRET:
    case VS_CONF_FIELDS:
        if (text) fputs(text, out);
        return text != NULL;
    case VS_CONF_INTEGER:
        if (number >= key->min) fprintf(out, "%lld", (long long)number);
        return number >= key->min;
    case VS_CONF_SWITCH: return fputs(number ? "true" : "false", out), true;
    case VS_CONF_CHOICE:
        text = number < key->min ? NULL : vs_conf_word(key->words, number - key->min, &length);
        if (text) fprintf(out, "%.*s", (int)length, text);
        return text != NULL;
    case VS_CONF_SECRETS:
    case VS_CONF_LIST: return print_list(out, at);
    case VS_CONF_POLICY:
        if (policy->name)
            fprintf(out, "%s%s%s", policy->name, policy->options ? " " : "", policy->options ? policy->options : "");
        return policy->name != NULL;
    }
    return false;
}

/* *text: the value as text, to be freed; NULL where there is none. */
static int text_of(const struct vs_conf_key *key, const void *base, char **text) {
    size_t size;
    char *written = NULL;
    FILE *out = open_memstream(&written, &size);
    if (!out) return VESTA_ENOMEM;
    bool is_there = print_value(out, key, base), failed = fclose(out) != 0 || !written;
    if (!is_there || failed) {
        free(written);
        written = NULL;
    }
    *text = written;
    return failed ? VESTA_ENOMEM : VESTA_OK;
}

static int visit_value(const struct vs_conf_key *key, void *base, vs_conf_visit *visit, void *self) {
    char path[VS_CONF_PATH_MAX], *text;
    int rc = text_of(key, base, &text);
    if (rc != VESTA_OK) return rc;
    const struct vs_conf_list *list = (const void *)((char *)base + key->offset);
    visit(self, &(struct vs_conf_value){
                    .path = vs_conf_path(key, base, path),
                    .text = text,
                    .absent = key->absent,
                    .list = key->kind == VS_CONF_LIST ? list : NULL,
                    .origin = *vs_conf_origin(key, base),
                    .variable = key->variable,
                    .is_secret = key->kind == VS_CONF_SECRET || key->kind == VS_CONF_SECRETS,
                    .is_bare = key->kind == VS_CONF_INTEGER || key->kind == VS_CONF_SWITCH,
                });
    free(text);
    return VESTA_OK;
}

static int visit_part(const struct vs_config *config, const struct vs_conf_part *part, vs_conf_visit *visit,
                      void *self) {
    int rc = VESTA_OK;
    for (int i = 0; i < vs_conf_part_size(config, part); i++)
        for (int k = 0; rc == VESTA_OK && k < vs_conf_key_count; k++)
            if (vs_conf_part_of(vs_conf_keys[k].path) == part)
                rc = visit_value(&vs_conf_keys[k], vs_conf_part_at(config, part, i), visit, self);
    return rc;
}

int vs_config_each(const struct vs_config *config, vs_conf_visit *visit, void *self) {
    const struct vs_conf_part *last = NULL;
    int rc = VESTA_OK;
    for (int i = 0; rc == VESTA_OK && i < vs_conf_key_count; i++) {
        const struct vs_conf_part *part = vs_conf_part_of(vs_conf_keys[i].path);
        if (!part)
            rc = visit_value(&vs_conf_keys[i], (void *)config, visit, self);
        else if (part != last) /* its rows stand together */
            rc = visit_part(config, last = part, visit, self);
    }
    return rc;
}

/* ------------------------------------------------------------------ two configs */

struct names {
    char *buf;
    size_t size, used;
    int count;
};

static void add_name(struct names *names, const char *name) {
    size_t left = names->size - names->used;
    int n = snprintf(names->buf + names->used, left, "%s%s", names->count++ ? ", " : "", name);
    if ((size_t)n < left) {
        names->used += (size_t)n;
    } else if (names->size >= sizeof "...") {
        size_t last = names->size - sizeof "...";
        strcpy(names->buf + (names->used < last ? names->used : last), "...");
    }
}

static void compare_values(const char *prefix, void *old, void *new_, struct names *names) {
    for (int i = 0; i < vs_conf_key_count; i++) {
        const struct vs_conf_key *key = &vs_conf_keys[i];
        const struct vs_conf_part *part = vs_conf_part_of(key->path);
        if (key->is_live || strcmp(part ? part->prefix : "", prefix) != 0) continue;
        char path[VS_CONF_PATH_MAX], *a = NULL, *b = NULL;
        bool known = text_of(key, old, &a) == VESTA_OK && text_of(key, new_, &b) == VESTA_OK;
        if (!known || !a != !b || (a && strcmp(a, b) != 0)) add_name(names, vs_conf_path(key, new_, path));
        free(a);
        free(b);
    }
}

/* Entries stand in the same order in both configs, so it is looked for from where the one before it was found. */
static void *find_entry(const struct vs_config *config, const struct vs_conf_part *part, const char *name, int *hint) {
    int count = vs_conf_part_size(config, part);
    for (int i = 0; i < count; i++) {
        int at = (*hint + i) % count;
        void *entry = vs_conf_part_at(config, part, at);
        if (strcmp(*(const char *const *)entry, name) != 0) continue;
        *hint = at + 1;
        return entry;
    }
    return NULL;
}

/* Entries of `in` that `other` does not have, as "namespaces.orders". */
static void name_strangers(const struct vs_config *in, const struct vs_config *other, const struct vs_conf_part *part,
                           struct names *names) {
    char path[VS_CONF_PATH_MAX];
    int hint = 0;
    for (int i = 0; i < vs_conf_part_size(in, part); i++) {
        const char *name = *(const char *const *)vs_conf_part_at(in, part, i);
        snprintf(path, sizeof path, "%.*s%s", (int)strcspn(part->prefix, "*#"), part->prefix, name);
        if (!find_entry(other, part, name, &hint)) add_name(names, path);
    }
}

int vs_config_differences(const struct vs_config *old, const struct vs_config *new_, char *buf, size_t size) {
    struct names names = {buf, size, 0, 0};
    if (size > 0) buf[0] = '\0';
    for (int p = 0; p < vs_conf_part_count; p++) {
        const struct vs_conf_part *part = &vs_conf_parts[p];
        int hint = 0;
        name_strangers(old, new_, part, &names);
        name_strangers(new_, old, part, &names);
        for (int i = 0; i < vs_conf_part_size(new_, part); i++) {
            void *entry = vs_conf_part_at(new_, part, i);
            void *before = find_entry(old, part, *(const char *const *)entry, &hint);
            if (before) compare_values(part->prefix, before, entry, &names);
        }
    }
    compare_values("", (void *)old, (void *)new_, &names);
    return names.count;
}
