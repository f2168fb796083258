/* state.c -- events of a server as what is shown of it; see state.h.  Pure. */
#include "cli/top/state.h"

#include <stdio.h>
#include <stdlib.h>

static double rate(uint64_t now, uint64_t then, int64_t ms) {
    return ms > 0 && now >= then ? (double)(now - then) * 1000 / (double)ms : 0;
}

static void text(struct vs_slice object, const char *name, char *buf, size_t size) {
    vs_value_text(vs_value_member(object, name), buf, size);
}

static const struct vs_top_namespace *find(const struct vs_top_state *state, const char *name) {
    for (size_t i = 0; i < state->ns_count; i++)
        if (strcmp(state->ns[i].name, name) == 0) return &state->ns[i];
    return NULL;
}

/* An older server names the layout alone. */
static int64_t layout_end_ms(struct vs_slice object) {
    char layout_text[VESTA_LAYOUT_TEXT_MAX];
    struct vesta_layout layout;
    int64_t said = vs_value_span(vs_value_member(object, "layout_end_ms"));
    if (said > 0) return said;
    text(object, "layout", layout_text, sizeof layout_text);
    return vesta_layout_parse(layout_text, &layout, NULL) == VESTA_OK ? vesta_layout_end_ms(&layout) : 0;
}

/* Which pauses there were: "full 12, lease 3". */
static void take_pauses(struct vs_top_namespace *ns, struct vs_slice pauses, const struct vs_top_namespace *before) {
    struct vs_slice name, value;
    size_t used = 0;
    for (size_t i = 0; i < 16 && vs_value_next(&pauses, &name, &value); i++) {
        ns->pause[i] = (uint64_t)vs_value_number(value);
        ns->pauses += ns->pause[i];
        uint64_t more = before && ns->pause[i] > before->pause[i] ? ns->pause[i] - before->pause[i] : 0;
        if (more && used < sizeof ns->pausing)
            used += (size_t)snprintf(ns->pausing + used, sizeof ns->pausing - used, "%s%.*s %llu", used ? ", " : "",
                                     (int)(name.length < 32 ? name.length : 32), name.at, (unsigned long long)more);
    }
}

static void take_history(struct vs_top_namespace *ns, const struct vs_top_namespace *before) {
    for (int i = 0; i < VS_TOP_HISTORY; i++)
        ns->history[i] = before && i + 1 < VS_TOP_HISTORY ? before->history[i + 1] : -1;
    if (before) ns->history[VS_TOP_HISTORY - 1] = (float)ns->ids_s;
}

static void take_namespace(struct vs_top_namespace *ns, struct vs_slice object, const struct vs_top_state *then,
                           int64_t ms) {
    struct vs_slice counts = vs_value_member(object, "ids"), name, value;
    struct vs_slice drift = vs_value_member(object, "clock_drift_ms"), shadow = vs_value_member(object, "shadow");
    text(object, "name", ns->name, sizeof ns->name);
    const struct vs_top_namespace *before = find(then, ns->name);
    text(object, "why", ns->why, sizeof ns->why);
    text(object, "detail", ns->detail, sizeof ns->detail);
    text(object, "keeper", ns->keeper, sizeof ns->keeper);
    text(object, "warning", ns->warning, sizeof ns->warning);
    ns->is_ready = vs_value_is_true(vs_value_member(object, "ready"));
    ns->has_lease = vs_value_is_true(vs_value_member(object, "holds_lease"));
    ns->worker = (uint64_t)vs_value_number(vs_value_member(object, "worker"));
    ns->lease_end_ms = vs_value_span(vs_value_member(object, "lease_end_ms"));
    ns->layout_end_ms = layout_end_ms(object);
    ns->has_drift = drift.length > 0;
    ns->drift_ms = vs_value_number(drift);
    ns->differs = vs_value_number(vs_value_member(shadow, "differed")) > 0 ||
                  vs_value_number(vs_value_member(shadow, "failed")) > 0;
    ns->refused = (uint64_t)vs_value_number(vs_value_member(object, "refused"));
    while (vs_value_next(&counts, &name, &value))
        ns->ids += (uint64_t)vs_value_number(value);
    take_pauses(ns, vs_value_member(object, "pauses"), before);
    ns->ids_s = before ? rate(ns->ids, before->ids, ms) : 0;
    ns->pauses_s = before ? rate(ns->pauses, before->pauses, ms) : 0;
    ns->refused_s = before ? rate(ns->refused, before->refused, ms) : 0;
    take_history(ns, before);
}

static void take_others(struct vs_top_state *state, struct vs_slice others, const struct vs_top_state *then,
                        int64_t ms) {
    state->others.count = (uint64_t)vs_value_number(vs_value_member(others, "count"));
    state->others.unready = (uint64_t)vs_value_number(vs_value_member(others, "unready"));
    state->others.ids = (uint64_t)vs_value_number(vs_value_member(others, "ids"));
    state->others.refused = (uint64_t)vs_value_number(vs_value_member(others, "refused"));
    if (!then->is_known) return;
    state->others.ids_s = rate(state->others.ids, then->others.ids, ms);
    state->others.refused_s = rate(state->others.refused, then->others.refused, ms);
}

static void take_requests(struct vs_top_state *state, struct vs_slice requests, const struct vs_top_state *then,
                          int64_t ms) {
    struct vs_slice name, value;
    while (vs_value_next(&requests, &name, &value) && state->code_count < VS_TOP_CODES) {
        struct vs_top_code *code = &state->code[state->code_count];
        snprintf(code->name, sizeof code->name, "%.*s", (int)name.length, name.at);
        code->count = (uint64_t)vs_value_number(value);
        if (strcmp(code->name, "ok") == 0) {
            state->answered = code->count;
            state->answered_s = then->is_known ? rate(code->count, then->answered, ms) : 0;
            memset(code, 0, sizeof *code);
            continue;
        }
        uint64_t before = 0;
        for (size_t i = 0; i < then->code_count; i++)
            if (strcmp(then->code[i].name, code->name) == 0) before = then->code[i].count;
        code->a_second = then->is_known ? rate(code->count, before, ms) : 0;
        state->code_count++;
    }
}

static void take_policies(struct vs_top_state *state, struct vs_slice policies) {
    state->has_policies = policies.length > 0;
    state->generation = vs_value_number(vs_value_member(policies, "generation"));
    state->is_stuck = vs_value_is_true(vs_value_member(policies, "stuck"));
    state->has_reloaded = vs_value_is_true(vs_value_member(policies, "reload_ok"));
    text(policies, "last_error", state->policy_error, sizeof state->policy_error);
}

void vs_top_take(struct vs_top_state *state, struct vs_slice event, int64_t now_ms) {
    static struct vs_top_state then; /* too large for a stack */
    struct vs_slice spaces = vs_value_member(event, "namespaces"), name, value;
    int64_t pid = vs_value_number(vs_value_member(event, "pid"));
    then = *state;
    if (then.pid != pid)
        then.ns_count = then.code_count = 0, then.is_known = false; /* another server: it begins anew */
    memset(state, 0, sizeof *state);
    state->is_known = true;
    state->pid = pid;
    state->seen_ms = now_ms;
    state->unix_ms = vs_value_span(vs_value_member(event, "unix_ms"));
    state->uptime_s = vs_value_span(vs_value_member(event, "uptime_s"));
    state->connections = vs_value_number(vs_value_member(event, "connections"));
    state->waiting = vs_value_number(vs_value_member(event, "waiting"));
    state->is_draining = vs_value_is_true(vs_value_member(event, "draining"));
    text(event, "version", state->version, sizeof state->version);
    int64_t ms = then.is_known ? state->unix_ms - then.unix_ms : 0;
    take_policies(state, vs_value_member(event, "policies"));
    take_others(state, vs_value_member(event, "other_namespaces"), &then, ms);
    take_requests(state, vs_value_member(event, "requests"), &then, ms);
    while (state->ns_count < VS_TOP_NAMESPACES && vs_value_next(&spaces, &name, &value)) {
        struct vs_top_namespace *ns = &state->ns[state->ns_count++];
        take_namespace(ns, value, &then, ms);
    }
}
