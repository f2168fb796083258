/* namespace.c -- the state of a namespace: whether it is open and ready, or why not.  A server listens before its
 * namespaces are open, so an unreachable store does not affect the other namespaces.  Contains no request code and does
 * not open namespaces. */
#include "generator/generator.h"
#include "server/server.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER; /* guards `why` of all namespaces */

void vs_namespace_set(struct vs_namespace *ns, enum vs_namespace_state state, const char *why) {
    pthread_mutex_lock(&telling);
    if (why) snprintf(ns->why, sizeof ns->why, "%s", why);
    pthread_mutex_unlock(&telling);
    /* release: pairs with vs_namespace_state_of, so that readers see gen and layout, which were set before */
    atomic_store_explicit(&ns->state, state, memory_order_release);
}

const char *vs_namespace_why(const struct vs_namespace *ns, char buf[VS_NAMESPACE_WHY_MAX]) {
    pthread_mutex_lock(&telling);
    memcpy(buf, ns->why, VS_NAMESPACE_WHY_MAX);
    pthread_mutex_unlock(&telling);
    return buf;
}

bool vs_namespace_has_ended(const struct vs_namespace *ns, char why[VS_NAMESPACE_WHY_MAX]) {
    struct vesta_pause pause;
    if (vs_namespace_state_of(ns) == VS_NAMESPACE_ENDED) return vs_namespace_why(ns, why), true;
    if (!vs_namespace_is_open(ns) || vesta_peek(ns->gen[VS_RESP], &pause) == VESTA_OK || pause.why != VESTA_END)
        return false;
    vesta_pause_text(ns->gen[VS_RESP], &pause, why, VS_NAMESPACE_WHY_MAX);
    return true;
}

static bool is_lent(const struct vs_server *server, const struct vs_namespace *ns, const struct vesta_pause *pause) {
    const struct vs_policies *policies = &server->above.policies;
    return policies->lends && policies->lends(policies->self, (int)(ns - server->names.at), ns->gen[VS_RESP], pause);
}

bool vs_namespace_is_ready(const struct vs_server *server, const struct vs_namespace *ns, struct vesta_pause *pause) {
    *pause = (struct vesta_pause){.why = VESTA_LEASE}; /* callers may read *pause even if the namespace is not open */
    if (!vs_namespace_is_open(ns)) return false;
    if (vesta_peek(ns->gen[VS_RESP], pause) == VESTA_OK || is_lent(server, ns, pause)) return true;
    /* If the keeper must act, the time until there is a lease is unknown, so the namespace is not ready. */
    return !vs_pause_wakes_keeper(pause->why) && vs_pause_step_us(pause, ns->wait_us_max) >= 0;
}

bool vs_namespace_pause_text(const struct vs_server *server, const struct vs_namespace *ns,
                             const struct vesta_pause *pause, char text[VS_PAUSE_TEXT_MAX]) {
    const struct vs_policies *policies = &server->above.policies;
    struct vs_policy_seen seen = {.policy = ""};
    vesta_pause_text(ns->gen[VS_RESP], pause, text, VS_PAUSE_TEXT_MAX);
    if (policies->look) policies->look(policies->self, (int)(ns - server->names.at), pause, &seen);
    size_t used = strlen(text);
    if (*seen.refusal) snprintf(text + used, VS_PAUSE_TEXT_MAX - used, "; %s", seen.refusal);
    return *seen.refusal != '\0';
}

uint64_t vs_namespace_capacity(const struct vs_namespace *ns) {
    const struct vesta_layout *layout = ns->layout;
    uint64_t per_unit = layout->seq < 0 ? 1 : layout->field[layout->seq].max + 1, capacity;
    uint64_t rate = access_bucket_rate(&ns->rates.of[LEDGER_IDS]);
    if (__builtin_mul_overflow(per_unit, 1000000u / (unsigned)layout->unit_us, &capacity)) capacity = UINT64_MAX;
    return rate && rate < capacity ? rate : capacity;
}

uint64_t vs_namespace_refused(const struct vs_namespace *ns, struct vesta_pause *pause) {
    uint64_t refused = atomic_load(&ns->refused);
    *pause = (struct vesta_pause){.why = (enum vesta_why)atomic_load(&ns->refused_why),
                                  .wait_us = atomic_load(&ns->refused_wait_us)};
    return refused;
}
