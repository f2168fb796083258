/* commands.c -- lookups in the table of commands.  Contains no socket or handler code. */
#include "base/array.h"
#include "server/commands.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CALL(...) {__VA_ARGS__},
static const struct vs_call calls[] = {
#include "server/table.h"
};
#undef CALL
#define CALL_COUNT ((int)VS_COUNT(calls))

const struct vs_call *vs_call_at(int i) {
    return i >= 0 && i < CALL_COUNT ? &calls[i] : NULL;
}

const struct vs_call *vs_call_named(struct vs_slice name) {
    if (name.length == 0) return NULL;
    for (int i = 0; i < CALL_COUNT; i++) {
        const char *at = calls[i].name;
        /* first compares one letter, ignoring case, which excludes most names */
        if (at && !((*at ^ *name.at) & ~0x20) && vs_slice_is_case(name, at)) return &calls[i];
    }
    return NULL;
}

bool vs_call_is_at(const struct vs_call *call, enum vs_protocol protocol) {
    return protocol == VS_ADMIN ? (call->flags & (VS_CALL_OPS | VS_CALL_ADMIN)) != 0 : !(call->flags & VS_CALL_ADMIN);
}

bool vs_call_is_kept(const struct vs_call *call, const struct vs_session *session) {
    return call->flags & VS_CALL_STATE && session->protocol == VS_HTTP && session->server->rules.state_is_admins;
}

const struct vs_call *vs_call_routed(struct vs_slice path, enum vs_protocol protocol, struct vs_slice *rest) {
    for (int i = 0; i < CALL_COUNT; i++) {
        const char *route = calls[i].route;
        size_t length = route ? strlen(route) : 0;
        if (length == 0 || path.length < length || memcmp(path.at, route, length) != 0) continue;
        if (!vs_call_is_at(&calls[i], protocol)) continue;
        *rest = (struct vs_slice){NULL, 0};
        if (path.length == length && (length == 1 || route[length - 1] != '/')) return &calls[i];
        if (length == 1) continue; /* "/" is only the index, not a prefix of all routes */
        *rest = (struct vs_slice){path.at + length, path.length - length};
        if (rest->length > 0 && route[length - 1] == '/' && !memchr(rest->at, '/', rest->length)) return &calls[i];
    }
    return NULL;
}
