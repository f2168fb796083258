/* session.c -- the memory and ids of a connection, and the working memory of a loop.  Contains no socket or
 * protocol code. */
#include "server/session.h"

#include <stdlib.h>

static void show_memory(struct vs_session *s) {
    vs_set(&s->member.memory, s->entry.bytes);
}

bool vs_scratch_make(struct vs_scratch *scratch, int namespaces) {
    int queues = vs_queues_of(namespaces);
    scratch->queue = calloc((size_t)queues, sizeof *scratch->queue);
    scratch->counts = vs_counts_new(namespaces);
    TAILQ_INIT(&scratch->waited_for);
    for (int i = 0; scratch->queue && i < queues; i++)
        TAILQ_INIT(&scratch->queue[i].waiters);
    return scratch->queue && scratch->counts;
}

void vs_scratch_free(struct vs_scratch *scratch) {
    free(scratch->queue);
    free(scratch->counts);
}

bool vs_session_take(struct vs_session *s, size_t bytes) {
    if (!ledger_hold(s->server->ledger, &s->entry, bytes)) return false;
    show_memory(s);
    return true;
}

void vs_session_give(struct vs_session *s, size_t bytes) {
    ledger_release(s->server->ledger, &s->entry, bytes);
    show_memory(s);
}

bool vs_session_keep(struct vs_session *s, size_t count) {
    if (count <= s->waiting.ids_size) return true;
    size_t more = (count - s->waiting.ids_size) * sizeof *s->waiting.ids;
    if (!vs_session_take(s, more)) return false;
    uint64_t *ids = realloc(s->waiting.ids, count * sizeof *ids);
    if (!ids) return vs_session_give(s, more), false;
    s->waiting.ids = ids;
    s->waiting.ids_size = count;
    return true;
}

bool vs_session_is_due(const struct vs_session *s, int64_t now_us) {
    const struct vs_waiting *waiting = &s->waiting;
    bool has_answer = waiting->job && atomic_load(&waiting->job->is_done);
    return has_answer || (waiting->by_policy && waiting->policy_until_us <= now_us);
}
