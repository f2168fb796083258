/* place.c -- a single value of a config, checked against its row of the schema and put in its place.  Knows no Lua, no
 * file and no environment. */
#include "access/accounts.h"
#include "base/error.h"
#include "base/slice.h"
#include "config/schema.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES_MAX 250 /* of a list: an address, a tag */

/* ------------------------------------------------------------------ memory */

struct vs_conf_text {
    struct vs_conf_text *next;
    max_align_t bytes[];
};

void *vs_conf_keep(struct vs_config *config, const void *bytes, size_t length) {
    struct vs_conf_text *kept = calloc(1, sizeof *kept + length + 1);
    if (!kept) return NULL;
    if (bytes) memcpy(kept->bytes, bytes, length);
    kept->next = config->texts;
    config->texts = kept;
    return kept->bytes;
}

void vs_config_free(struct vs_config *config) {
    if (!config) return;
    for (struct vs_conf_text *text = config->texts, *next; text; text = next) {
        next = text->next;
        free(text);
    }
    for (int i = 0; i < config->ns_count; i++)
        vs_policy_text_free(&config->ns[i].policy.text), vs_policy_text_free(&config->ns[i].shadow.text);
    vs_accounts_let(config->clients);
    free(config->ns);
    free(config->store);
    free(config->segment);
    free(config);
}

static int no_memory(struct vesta_error *err) {
    return vs_fail(err, VESTA_ENOMEM, "no memory for the config");
}

void vs_conf_add_note(struct vs_config *config, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (config->note_count == VS_CONF_NOTES_MAX) return;
    const char *kept = vs_conf_keep(config, text, strlen(text));
    config->note[config->note_count++] = kept ? kept : "no memory for a note";
}

/* ------------------------------------------------------------------ numbers */

/* The config's -1, nothing said, and 0, none at all, are vesta_opts' 0 and -1: the same step both ways. */
static int64_t turn_ahead(int64_t number) {
    return number == 0 ? -1 : number < 0 ? 0 : number;
}

int64_t vs_conf_number(const struct vs_conf_key *key, const void *base) {
    const void *at = (const char *)base + key->offset;
    const struct vesta_opts *opts = at;
    switch (key->stored) {
    case VS_CONF_AS_ENUM: return *(const int *)at;
    case VS_CONF_AS_WORKER: return opts->has_worker ? (int64_t)opts->worker : -1;
    case VS_CONF_AS_AHEAD: return turn_ahead(*(const int64_t *)at);
    default: return *(const int64_t *)at;
    }
}

static void store_number(const struct vs_conf_place *where, int64_t number) {
    void *at = (char *)where->base + where->key->offset;
    struct vesta_opts *opts = at;
    switch (where->key->stored) {
    case VS_CONF_AS_INT64: *(int64_t *)at = number; return;
    case VS_CONF_AS_ENUM: *(int *)at = (int)number; return;
    case VS_CONF_AS_WORKER:
        opts->has_worker = number >= 0;
        opts->worker = number >= 0 ? (uint64_t)number : 0;
        return;
    case VS_CONF_AS_AHEAD: *(int64_t *)at = turn_ahead(number); return;
    }
}

/* ------------------------------------------------------------------ parts */

const struct vs_conf_part *vs_conf_part_of(const char *path) {
    for (int i = 0; i < vs_conf_part_count; i++)
        if (strncmp(path, vs_conf_parts[i].prefix, strlen(vs_conf_parts[i].prefix)) == 0) return &vs_conf_parts[i];
    return NULL;
}

int vs_conf_part_size(const struct vs_config *config, const struct vs_conf_part *part) {
    return *(const int *)((const char *)config + part->count);
}

void *vs_conf_part_at(const struct vs_config *config, const struct vs_conf_part *part, int i) {
    return *(char **)((char *)config + part->array) + (size_t)i * part->size;
}

/* Room for one more, all zero: twice as much each time that there is none. */
static bool grow(struct vs_config *config, const struct vs_conf_part *part, size_t count) {
    char **array = (char **)((char *)config + part->array);
    if ((count & (count - 1)) == 0) { /* 0 and the powers of two: as many as there is room for */
        char *more = realloc(*array, (count ? 2 * count : 1) * part->size);
        if (!more) return false;
        *array = more;
    }
    memset(*array + count * part->size, 0, part->size);
    return true;
}

int vs_conf_part_add(struct vs_config *config, const struct vs_conf_part *part, const char *name, void **entry,
                     struct vesta_error *err) {
    int *count = (int *)((char *)config + part->count);
    assert(*count < part->max);
    int rc = part->check ? part->check(name, err) : VESTA_OK;
    if (rc != VESTA_OK) return rc;
    const char *kept = vs_conf_keep(config, name, strlen(name));
    if (!kept || !grow(config, part, (size_t)*count)) return no_memory(err);
    void *base = vs_conf_part_at(config, part, *count);
    memcpy(base, &kept, sizeof kept); /* `name` is the first member of every part */
    if ((rc = vs_conf_defaults(config, part->prefix, base, err)) != VESTA_OK) return rc;
    (*count)++;
    *entry = base;
    return VESTA_OK;
}

unsigned char *vs_conf_origin(const struct vs_conf_key *key, void *base) {
    return &((struct vs_conf_namespace *)base)->origin[key - vs_conf_keys]; /* at the same place in every part */
}

const char *vs_conf_path(const struct vs_conf_key *key, const void *base, char *buf) {
    const char *mark = strpbrk(key->path, "*#"), *name = *(const char *const *)base;
    if (!mark)
        snprintf(buf, VS_CONF_PATH_MAX, "%s", key->path);
    else if (*mark == '*')
        snprintf(buf, VS_CONF_PATH_MAX, "%.*s%s%s", (int)(mark - key->path), key->path, name, mark + 1);
    else
        snprintf(buf, VS_CONF_PATH_MAX, "%.*s[%s]%s", (int)(mark - key->path) - 1, key->path, name, mark + 1);
    return buf;
}

int vs_conf_defaults(struct vs_config *config, const char *prefix, void *base, struct vesta_error *err) {
    for (int i = 0; i < vs_conf_key_count; i++) {
        const struct vs_conf_place at = {config, &vs_conf_keys[i], base};
        const struct vs_conf_part *part = vs_conf_part_of(at.key->path);
        if (strcmp(part ? part->prefix : "", prefix) != 0) continue;
        int rc = VESTA_OK;
        if (at.key->initial)
            rc = vs_conf_put_written(&at, at.key->initial, err);
        else if (at.key->kind == VS_CONF_INTEGER || at.key->kind == VS_CONF_CHOICE)
            store_number(&at, at.key->min - 1);
        if (rc != VESTA_OK) return rc;
    }
    return VESTA_OK;
}

/* ------------------------------------------------------------------ values */

const char *vs_conf_word(const char *words, int64_t i, size_t *length) {
    for (; i > 0 && *words; i--) {
        words += strcspn(words, "|");
        words += *words == '|';
    }
    *length = strcspn(words, "|");
    return i == 0 && *length > 0 ? words : NULL;
}

const char *vs_conf_expected(const struct vs_conf_key *key, char *buf) {
    size_t at = 0;
    switch (key->kind) {
    case VS_CONF_TEXT:
    case VS_CONF_SECRET: return "a text";
    case VS_CONF_SWITCH: return "true or false";
    case VS_CONF_SECRETS:
    case VS_CONF_LIST: return "a text, or a list of texts";
    case VS_CONF_POLICY: return "a policy's name or file, or a table such as { \"borrow\", borrow_ms_max = 500 }";
    case VS_CONF_FIELDS: return "a table such as { version = 1 }";
    case VS_CONF_INTEGER:
        snprintf(buf, VS_CONF_EXPECTED_MAX, "a whole number from %" PRId64 " to %" PRId64, key->min, key->max);
        return buf;
    case VS_CONF_CHOICE:
    case VS_CONF_WORD:
        snprintf(buf, VS_CONF_EXPECTED_MAX, "one of \"%s", key->words);
        for (at = strlen(buf); strchr(buf, '|');) { /* "a", "b" */
            char *bar = strchr(buf, '|');
            memmove(bar + 4, bar + 1, strlen(bar));
            memcpy(bar, "\", \"", 4);
            at += 3;
        }
        memcpy(buf + at, "\"", 2);
        return buf;
    }
    return buf;
}

#define EXPECTED(key) vs_conf_expected((key), (char[VS_CONF_EXPECTED_MAX]){0})

/* What holds for every text, wherever it stands. */
static int check_text(const struct vs_conf_key *key, const char *text, size_t length, struct vesta_error *err) {
    if (length == 0) return vs_fail(err, VESTA_EOPTION, "is empty; leave the key out instead");
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return vs_fail(err, VESTA_EOPTION, "has the control character \\x%02x at byte %zu%s",
                           (unsigned char)text[i], i + 1, text[i] == '\n' ? ": it must be one line" : "");
    if (!key->words && length > (size_t)key->max && key->kind != VS_CONF_LIST && key->kind != VS_CONF_SECRETS)
        return vs_fail(err, VESTA_EOPTION, "has %zu bytes, at most %" PRId64 " are possible", length, key->max);
    return VESTA_OK;
}

static int check_words(const struct vs_conf_place *at, const char *text, size_t length, int64_t *place,
                       struct vesta_error *err) {
    *place = vs_slice_place((struct vs_slice){text, length}, at->key->words, '|');
    if (*place >= 0) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "is '%s', which must be %s", VS_QUOTE(text, length), EXPECTED(at->key));
}

static int keep(const struct vs_conf_place *at, const char *text, size_t length, const char **into,
                struct vesta_error *err) {
    int rc = check_text(at->key, text, length, err);
    if (rc != VESTA_OK) return rc;
    const char *kept = vs_conf_keep(at->config, text, length);
    if (!kept) return no_memory(err);
    /* flags are words of somebody who is there: who uses the value says what is wrong with it */
    if (at->key->check && *vs_conf_origin(at->key, at->base) != VS_FROM_FLAG &&
        (rc = at->key->check(kept, err)) != VESTA_OK)
        return rc;
    *into = kept;
    return VESTA_OK;
}

int vs_conf_put_text(const struct vs_conf_place *at, const char *text, size_t length, struct vesta_error *err) {
    int64_t place = 0;
    int rc = at->key->words ? check_words(at, text, length, &place, err) : VESTA_OK;
    if (rc != VESTA_OK) return rc;
    if (at->key->kind == VS_CONF_CHOICE) {
        store_number(at, at->key->min + place);
        return VESTA_OK;
    }
    return keep(at, text, length, (const char **)((char *)at->base + at->key->offset), err);
}

int vs_conf_put_integer(const struct vs_conf_place *at, int64_t value, struct vesta_error *err) {
    if (at->key->kind == VS_CONF_INTEGER && (value < at->key->min || value > at->key->max))
        return vs_fail(err, VESTA_EOPTION, "is %" PRId64 ", which must be %s", value, EXPECTED(at->key));
    store_number(at, value);
    return VESTA_OK;
}

/* ------------------------------------------------------------------ lists */

static struct vs_conf_list *list_at(const struct vs_conf_place *at) {
    return (struct vs_conf_list *)((char *)at->base + at->key->offset);
}

int vs_conf_list_begin(const struct vs_conf_place *at, struct vesta_error *err) {
    void *room = vs_conf_keep(at->config, NULL, (size_t)at->key->max * sizeof(char *));
    if (!room) return no_memory(err);
    *list_at(at) = (struct vs_conf_list){0, room};
    return VESTA_OK;
}

int vs_conf_list_add(const struct vs_conf_place *at, const char *text, size_t length, struct vesta_error *err) {
    struct vs_conf_list *list = list_at(at);
    if (list->count == at->key->max)
        return vs_fail(err, VESTA_EOPTION, "has more than %" PRId64 " entries", at->key->max);
    int rc = length > ENTRY_BYTES_MAX ? vs_fail(err, VESTA_EOPTION, "has an entry of %zu bytes, at most %d are allowed",
                                                length, ENTRY_BYTES_MAX)
                                      : keep(at, text, length, &list->text[list->count], err);
    if (rc != VESTA_OK) return rc;
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->text[i], list->text[list->count]) == 0)
            return at->key->kind == VS_CONF_SECRETS
                       ? vs_fail(err, VESTA_EOPTION, "has the same twice, at places %d and %d", i + 1, list->count + 1)
                       : vs_fail(err, VESTA_EOPTION, "has '%s' twice", VS_QUOTE(text, length));
    list->count++;
    return VESTA_OK;
}

int vs_conf_put_policy(const struct vs_conf_place *at, const char *name, size_t length, const char *options,
                       struct vesta_error *err) {
    struct vs_conf_policy *policy = (struct vs_conf_policy *)((char *)at->base + at->key->offset);
    const char *kept = NULL;
    if (options && !(kept = vs_conf_keep(at->config, options, strlen(options)))) return no_memory(err);
    int rc = keep(at, name, length, &policy->name, err);
    if (rc == VESTA_OK) policy->options = kept;
    return rc;
}

/* ------------------------------------------------------------------ as text */

static int put_list_written(const struct vs_conf_place *at, const char *text, struct vesta_error *err) {
    int rc = vs_conf_list_begin(at, err);
    for (const char *end; rc == VESTA_OK; text = end + 1) {
        end = text + strcspn(text, ",");
        rc = vs_conf_list_add(at, text, (size_t)(end - text), err);
        if (!*end) break;
    }
    return rc;
}

int vs_conf_put_written(const struct vs_conf_place *at, const char *text, struct vesta_error *err) {
    uint64_t n;
    size_t length = strlen(text);
    switch (at->key->kind) {
    case VS_CONF_INTEGER:
        if (vesta_parse(VESTA_DECIMAL, text, length, &n) == VESTA_OK && n <= INT64_MAX)
            return vs_conf_put_integer(at, (int64_t)n, err);
        break;
    case VS_CONF_SWITCH:
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) return vs_conf_put_integer(at, *text == 't', err);
        break;
    case VS_CONF_SECRETS:
    case VS_CONF_LIST: return put_list_written(at, text, err);
    case VS_CONF_POLICY: return vs_conf_put_policy(at, text, length, NULL, err);
    default: return vs_conf_put_text(at, text, length, err);
    }
    return vs_fail(err, VESTA_EOPTION, "is '%s', which must be %s", VS_QUOTE(text, length), EXPECTED(at->key));
}
