/* rows.c -- options by name: the rows of vesta_options.h as a table, and vesta_open_text, which takes all options as
 * one string. */
#include "keeper/rows.h"
#include "base/array.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/slice.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 32

#define ROW(type, member, kind, max, flag, values, ...)                                                                \
    {#member, VS_ROW_##kind, offsetof(struct vesta_opts, member), max, values},
static const struct vs_row rows[] = {
    VESTA_NAMESPACE_OPTIONS(ROW) VESTA_HANDLE_OPTIONS(ROW)
    /* `unsafe_private` is the only flag that is an option in every language. */
    {"unsafe_private", VS_ROW_FLAG, offsetof(struct vesta_opts, flags), VESTA_UNSAFE_PRIVATE, NULL}};
_Static_assert(VS_COUNT(rows) < NAMES_MAX, "unknown_option has room for every name");
_Static_assert(sizeof(enum vesta_pacing) == sizeof(int), "a choice is put as an int");

const struct vs_row *vs_row_at(int i) {
    return i >= 0 && i < (int)VS_COUNT(rows) ? &rows[i] : NULL;
}

/* The member is named namespace_ because `namespace` is a keyword in C++. */
const char *vs_row_name(const struct vs_row *row) {
    return strcmp(row->member, "namespace_") == 0 ? "namespace" : row->member;
}

static const struct vs_row *find_row(const char *name) {
    for (size_t i = 0; i < VS_COUNT(rows); i++)
        if (strcmp(vs_row_name(&rows[i]), name) == 0) return &rows[i];
    return NULL;
}

static int unknown_option(const char *name, struct vesta_error *err) {
    const char *names[NAMES_MAX] = {NULL};
    for (size_t i = 0; i < VS_COUNT(rows); i++)
        names[i] = vs_row_name(&rows[i]);
    const char *near = vs_nearest(name, names);
    return vs_fail(err, VESTA_EOPTION, "%s is not an option%s%s%s", VS_QUOTE(name, strlen(name)),
                   near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
}

/* ------------------------------------------------------------------ one value */

int vs_row_put_number(const struct vs_row *row, struct vesta_opts *opts, uint64_t number, struct vesta_error *err) {
    char *at = (char *)opts + row->offset;
    /* row must be an element of `rows`, because its offset is not checked */
    assert((size_t)(row - rows) < VS_COUNT(rows));
    uint64_t max = row->kind == VS_ROW_SWITCH || row->kind == VS_ROW_FLAG ? 1 : row->max;
    if (number > max)
        return vs_fail(err, VESTA_EOPTION, "%s is %" PRIu64 ", which must be a whole number from 0 to %" PRIu64,
                       vs_row_name(row), number, max);
    switch (row->kind) {
    case VS_ROW_WORKER:
        *(uint64_t *)at = number;
        opts->has_worker = 1;
        return VESTA_OK;
    case VS_ROW_AHEAD: *(int64_t *)at = number ? (int64_t)number : -1; return VESTA_OK;
    case VS_ROW_SWITCH: *(int *)at = (int)number; return VESTA_OK;
    case VS_ROW_FLAG: opts->flags |= number ? (unsigned)row->max : 0; return VESTA_OK;
    default: return vs_fail(err, VESTA_EOPTION, "%s must be a string, not a number", vs_row_name(row));
    }
}

/* Sets an enum option.  The values of all enums begin with 1. */
static int put_choice(const struct vs_row *row, struct vesta_opts *opts, const char *text, struct vesta_error *err) {
    assert(row->values);
    int value = vs_slice_place((struct vs_slice){text, strlen(text)}, row->values, '|') + 1;
    char hint[VS_HINT_MAX];
    if (!value)
        return vs_fail(err, VESTA_EOPTION, "%s is '%s', which must be one of %s%s", vs_row_name(row),
                       VS_QUOTE(text, strlen(text)), row->values,
                       vs_nearest_hint(text, strlen(text), row->values, hint));
    memcpy((char *)opts + row->offset, &value, sizeof value);
    return VESTA_OK;
}

int vs_row_put(const struct vs_row *row, struct vesta_opts *opts, const char *text, struct vesta_error *err) {
    uint64_t number;
    assert((size_t)(row - rows) < VS_COUNT(rows));
    assert(text); /* NULL would silently select the default */
    switch (row->kind) {
    case VS_ROW_TEXT:
    case VS_ROW_LAYOUT:
    case VS_ROW_PATH:
    case VS_ROW_URI:
    case VS_ROW_NAME:
    case VS_ROW_SECRET:
    case VS_ROW_FIELDS:
    case VS_ROW_WORD: memcpy((char *)opts + row->offset, &text, sizeof text); return VESTA_OK;
    case VS_ROW_CHOICE: return put_choice(row, opts, text, err);
    case VS_ROW_SWITCH:
    case VS_ROW_FLAG:
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
            return vs_row_put_number(row, opts, *text == 't', err);
        return vs_fail(err, VESTA_EOPTION, "%s is '%s', which must be true or false", vs_row_name(row),
                       VS_QUOTE(text, strlen(text)));
    default: break;
    }
    if (vesta_parse(VESTA_DECIMAL, text, strlen(text), &number) != VESTA_OK)
        return vs_fail(err, VESTA_EOPTION, "%s is '%s', which must be a whole number from 0 to %" PRIu64,
                       vs_row_name(row), VS_QUOTE(text, strlen(text)), row->max);
    return vs_row_put_number(row, opts, number, err);
}

/* ------------------------------------------------------------------ all of them as one text */

#define SPACE " \t\r\n"

/* Terminates the value that begins at `at` with a NUL, and removes its quotes.  Returns the position after the value,
 * or NULL if a quote is not closed, or is not followed by a space. */
static char *end_value(char *at, char **value) {
    char quote = *at == '"' || *at == '\'' ? *at : 0;
    char *end = quote ? strchr(++at, quote) : at + strcspn(at, SPACE);
    *value = at;
    if (!end || (quote && end[1] && !strchr(SPACE, end[1]))) return NULL;
    bool is_last = !*end;
    *end = '\0';
    return is_last ? end : end + 1;
}

/* Sets each NAME=VALUE in a string.  Modifies the string, which must outlive opts.  Error texts do not include values
 * that may be secrets. */
static int put_all(char *text, struct vesta_opts *opts, struct vesta_error *err) {
    for (text += strspn(text, SPACE); *text; text += strspn(text, SPACE)) {
        char *name = text, *value, *sign = name + strcspn(name, "=" SPACE);
        if (*sign != '=' || sign == name) {
            *sign = '\0';
            return vs_fail(err, VESTA_EOPTION,
                           "'%s' is not an option: write NAME=VALUE, and VALUE in quotes if it has spaces",
                           VS_QUOTE(name, strlen(name)));
        }
        *sign = '\0';
        if (!(text = end_value(sign + 1, &value)))
            return vs_fail(err, VESTA_EOPTION, "%s begins with a quote that does not end its value",
                           VS_QUOTE(name, strlen(name)));
        const struct vs_row *row = find_row(name);
        int rc = row ? vs_row_put(row, opts, value, err) : unknown_option(name, err);
        if (rc != VESTA_OK) return rc;
    }
    return VESTA_OK;
}

int vesta_open_text(const char *options, struct vesta_gen **gen, struct vesta_error *err) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    char *text = strdup(options);
    if (!text) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = put_all(text, &opts, err);
    if (rc == VESTA_OK) rc = vesta_open(&opts, gen, err);
    explicit_bzero(text, strlen(options)); /* it may contain a secret */
    free(text);
    return rc;
}
