/* session.c -- what is held for a connection: memory, and the request that waits.  Knows no socket and no protocol. */
#include "server/session.h"
#include "server/multi.h"

#include <assert.h>
#include <stdlib.h>

bool vs_session_take(struct vs_session *s, size_t bytes) {
    if (!vs_budget_take(s->app->budget, bytes)) return false;
    s->memory += bytes;
    return true;
}

void vs_session_give(struct vs_session *s, size_t bytes) {
    assert(bytes <= s->memory);
    vs_budget_give(s->app->budget, bytes);
    s->memory -= bytes;
}

bool vs_session_keep(struct vs_session *s, size_t count) {
    if (count <= s->kept_size) return true;
    size_t more = (count - s->kept_size) * sizeof *s->kept;
    if (!vs_session_take(s, more)) return false;
    uint64_t *kept = realloc(s->kept, count * sizeof *kept);
    if (!kept) return vs_session_give(s, more), false;
    s->kept = kept;
    s->kept_size = count;
    return true;
}

void vs_session_settle(struct vs_session *s) {
    s->deadline_us = s->held_until_us = s->judged_until_us = 0;
    if (s->held) {
        atomic_fetch_sub_explicit(&s->app->held, 1, memory_order_relaxed);
        s->held = false;
    }
    if (s->kept) {
        free(s->kept);
        vs_session_give(s, s->kept_size * sizeof *s->kept);
        s->kept = NULL;
        s->kept_count = s->kept_size = 0;
    }
}

void vs_session_end(struct vs_session *s) {
    vs_session_settle(s);
    vs_multi_end(s);
}

bool vs_session_is_due(const struct vs_session *s, int64_t now_us) {
    return s->held && s->held_until_us <= now_us;
}
