/* ctx.c -- the fields of ctx, as lua/vesta/hooks.lua lists them: who is told which, of what kind, and what stands there
 * when a policy is tried. */
#include "policy/loaded.h"

#include "base/array.h"
#include "base/slice.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(upper, name, kind, hooks, value) {name, VS_CTX_##upper, hooks, value},
static const struct field {
    const char *name;
    enum vs_ctx_kind kind;
    const char *hooks, *value;
} fields[] = {VS_FIELD_ROWS(FIELD)};

static bool is_told(const struct field *field, enum vs_hook hook) {
    const char *name = vs_hook_name(hook);
    return strcmp(field->hooks, "all") == 0 ||
           vs_slice_place((struct vs_slice){name, strlen(name)}, field->hooks, ' ') >= 0;
}

static const struct field *find(const char *name) {
    for (size_t i = 0; i < VS_COUNT(fields); i++)
        if (strcmp(fields[i].name, name) == 0) return &fields[i];
    return NULL;
}

enum vs_ctx_kind vs_ctx_kind_of(const char *name, enum vs_ctx_kind other) {
    const struct field *field = find(name);
    return field ? field->kind : other;
}

bool vs_ctx_is_of(const struct vs_ctx *ctx, size_t count, enum vs_hook hook) {
    for (size_t i = 0; i < count; i++) {
        const struct field *field = find(ctx[i].name);
        bool is_number = ctx[i].kind == VS_CTX_INTEGER && field && field->kind == VS_CTX_MOMENT;
        if (!field || !is_told(field, hook) || (field->kind != ctx[i].kind && !is_number)) return false;
    }
    return true;
}

/* ------------------------------------------------------------------ out of texts */

/* A whole number, with a sign or without. */
static bool read_integer(const char *text, int64_t *out) {
    char *end;
    bool digits = *(text + (*text == '-')) >= '0' && *(text + (*text == '-')) <= '9';
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *out = value;
    return digits && !*end && errno == 0;
}

/* "0-923" */
static bool read_range(const char *text, int64_t *from, int64_t *to) {
    char first[24];
    const char *dash = strchr(text, '-');
    return dash && (size_t)snprintf(first, sizeof first, "%.*s", (int)(dash - text), text) < sizeof first &&
           read_integer(first, from) && read_integer(dash + 1, to) && *from <= *to;
}

bool vs_ctx_read(struct vs_ctx *field, const char *text) {
    field->is_nil = false;
    switch (field->kind) {
    case VS_CTX_TEXT: field->text = text; return true;
    case VS_CTX_INTEGER:
    case VS_CTX_MOMENT: return read_integer(text, &field->integer);
    case VS_CTX_RANGE: return read_range(text, &field->integer, &field->last);
    default: return false;
    }
}

/* ------------------------------------------------------------------ as a policy is tried */

static struct vs_ctx tried(const struct field *field, int64_t now_ms) {
    struct vs_ctx ctx = {.name = field->name, .kind = field->kind};
    bool has_rows = field->kind == VS_CTX_RECORDS || field->kind == VS_CTX_PEERS;
    bool is_read = field->value && vs_ctx_read(&ctx, field->value);
    assert(is_read == !!field->value);
    ctx.is_nil = !is_read && !has_rows;
    if (field->kind == VS_CTX_MOMENT) ctx.integer += now_ms;
    return ctx;
}

size_t vs_ctx_fill(struct vs_ctx ctx[VS_CTX_MAX], enum vs_hook hook, int64_t now_ms) {
    size_t count = 0;
    for (size_t i = 0; i < VS_COUNT(fields); i++) {
        if (!is_told(&fields[i], hook)) continue;
        assert(count < VS_CTX_MAX);
        ctx[count++] = tried(&fields[i], now_ms);
    }
    return count;
}

struct vs_ctx *vs_ctx_find(struct vs_ctx *ctx, size_t count, const char *name, size_t length) {
    for (size_t i = 0; i < count; i++)
        if (strlen(ctx[i].name) == length && memcmp(ctx[i].name, name, length) == 0) return &ctx[i];
    return NULL;
}
