/* foreign.c -- collects rows of other generators, and parses the JSON that they write. */
#include "store/foreign.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts the row.  Returns whether it is also listed. */
static bool foreign_counts(struct vs_foreign_list *list, const struct vs_foreign_ask *ask, uint64_t worker) {
    if (worker >= ask->skip_first && worker < ask->skip_beyond) return false;
    if (worker > ask->worker_max) return list->beyond++ < VS_FOREIGN_BEYOND_MAX;
    if (list->usable == 0 || worker < list->lowest) list->lowest = worker;
    if (list->usable == 0 || worker > list->highest) list->highest = worker;
    return list->usable++ < VS_FOREIGN_MAX;
}

bool vs_foreign_add(struct vs_foreign_list *list, const struct vs_foreign_ask *ask, const struct vs_foreign *row,
                    struct vs_reply *reply) {
    assert(list->count <= list->room);
    assert(list->count <= VS_FOREIGN_MAX + VS_FOREIGN_BEYOND_MAX);
    if (!foreign_counts(list, ask, row->worker)) return true;
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        struct vs_foreign *more = realloc(list->rows, room * sizeof *more);
        if (!more) return vs_answer(reply, VS_STORE_DOWN, "no memory for %zu numbers", room);
        list->rows = more;
        list->room = room;
    }
    list->rows[list->count++] = *row;
    return true;
}

bool vs_foreign_end(const struct vs_foreign_list *list, const struct vs_foreign_ask *ask, struct vs_reply *reply) {
    if (list->usable <= VS_FOREIGN_MAX) return true;
    uint64_t highest = list->highest;
    if (list->issued_until > highest) highest = list->issued_until - 1;
    if (highest > ask->worker_max) highest = ask->worker_max;
    return vs_answer(reply, VS_STORE_REFUSED,
                     "more than %d numbers are in use: exclude them when you create the namespace: vesta store init "
                     "--static %" PRIu64 "-%" PRIu64,
                     VS_FOREIGN_MAX, list->lowest, highest);
}

/* Returns the position after "key" and its colon.  A key inside a JSON string does not match, because its closing quote
 * is escaped there. */
static const char *value_of(const char *json, const char *key) {
    char quoted[40];
    int length = snprintf(quoted, sizeof quoted, "\"%s\"", key);
    assert((size_t)length < sizeof quoted); /* otherwise `at` would be beyond the match */
    const char *at = strstr(json, quoted);
    if (!at) return NULL;
    at += length;
    at += strspn(at, " \t\r\n");
    if (*at++ != ':') return NULL;
    return at + strspn(at, " \t\r\n");
}

bool vs_foreign_number(const char *json, const char *key, int64_t *out) {
    const char *at = value_of(json, key);
    size_t length = at ? strspn(at, "0123456789") : 0;
    if (length == 0 || length > 18 || !strchr(",} \t\r\n", at[length])) return false;
    *out = strtoll(at, NULL, 10);
    assert(*out >= 0); /* -1 would be VS_FOREIGN_FREE */
    return true;
}

bool vs_foreign_text(const char *json, const char *key, char *out, size_t size) {
    const char *at = value_of(json, key);
    if (!at || *at != '"') return false;
    snprintf(out, size, "%.*s", (int)strcspn(at + 1, "\"\\"), at + 1);
    return true;
}
