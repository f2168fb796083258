/* health.c -- handlers for liveness, readiness, versions and the list of routes.  Does not issue ids. */
#include "generator/generator.h"
#include "server/commands.h"
#include "server/rights.h"

#include <stdio.h>
#include <string.h>

#define TAGS_TOLD 16 /* maximum number of tags without numbers that /readyz lists */

enum vs_reply_state vs_on_healthz(struct vs_request *r) {
    vs_put_text(r->out, "ok\n");
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ ready */

/* The number of tags in some state, and the first of these tags. */
struct few {
    int count;
    const struct vs_served_tag *at[TAGS_TOLD];
};

/* The reasons why a load balancer should not send requests to this server. */
struct health_seen {
    bool draining, stuck;
    int unready;
    int told;    /* number of elements of `at` */
    struct {
        const struct vs_namespace *ns;
        struct vesta_pause pause;
    } at[VS_NAMESPACES_TOLD];
    int served; /* how many of the first namespaces (vs_told) have a layout that has not ended */
    struct vs_tags_status tags;
    struct few dry;    /* requested tags that have no numbers */
    struct few faulty; /* tags that have no numbers on any server, because of their rows */
    bool is_unusable;  /* no tag has a valid row */
};

static void health_add(struct few *few, const struct vs_served_tag *tag) {
    if (few->count < TAGS_TOLD) few->at[few->count] = tag;
    few->count++;
}

static void health_look_at_tag(const struct vs_server *server, const struct vs_served_tag *tag, struct health_seen *seen) {
    struct vesta_segment_info info;
    int troubled = 0, faults = 0; /* counts of databases */
    if (tag->memory) {
        vesta_segment_get_info(tag->memory, &info);
        if (info.database[0].is_stopped) health_add(&seen->faulty, tag);
        return;
    }
    /* no request has needed numbers yet, so no range was fetched */
    if (vs_tag_total(&server->monitor, tag).pauses == 0) return;
    vesta_segment_get_info(tag->seg, &info);
    if (info.left > 0 || info.next_left > 0) return;
    for (int i = 0; i < info.stores; i++) {
        troubled += *info.database[i].said || info.database[i].is_stopped;
        faults += info.database[i].is_refused || info.database[i].is_stopped;
    }
    if (troubled > 0) health_add(faults == info.stores ? &seen->faulty : &seen->dry, tag);
}

/* A wrong row of a table does not make the server unready, unless all tags are affected. */
static void look_at_tags(const struct vs_server *server, const struct vs_tag_set *set, struct health_seen *seen) {
    if (server->tags.status) server->tags.status(server->tags.self, &seen->tags);
    seen->is_unusable = set && seen->tags.unusable > 0 && seen->tags.unusable >= set->count;
    for (size_t i = 0; set && i < set->count; i++)
        health_look_at_tag(server, set->at[i], seen);
    if (seen->faulty.count == 0 || (size_t)(seen->faulty.count + seen->dry.count) < set->count) return;
    for (int i = 0; i < seen->faulty.count && i < TAGS_TOLD; i++)
        health_add(&seen->dry, seen->faulty.at[i]);
    seen->faulty.count = 0;
}

static bool add_unready(const struct vs_server *server, struct health_seen *seen, const struct vs_namespace *ns) {
    if (vs_namespace_is_ready(server, ns, &seen->at[seen->told].pause)) return false;
    seen->at[seen->told++].ns = ns;
    return true;
}

/* Checks each of the first namespaces.  Of the other namespaces, checks only the first of those that were unready at
 * the last check, and counts the remaining unready namespaces as at that check. */
static void health_look_at_namespaces(const struct vs_server *server, bool has_tags, struct health_seen *seen) {
    int others = vs_others_unready(&server->names), left = others;
    char why[VS_NAMESPACE_WHY_MAX];
    for (int i = 0; i < vs_told(&server->names); i++) {
        if (vs_namespace_has_ended(&server->names.at[i], why)) continue;
        seen->served++;
        add_unready(server, seen, &server->names.at[i]);
    }
    /* A server that can only decode ids is not ready. */
    bool only_reads = seen->served == 0 && others == 0 && !has_tags;
    for (int i = 0; only_reads && i < vs_told(&server->names); i++)
        add_unready(server, seen, &server->names.at[i]);
    seen->unready = seen->told + others;
    for (int i = VS_NAMESPACES_TOLD; left > 0 && i < server->names.count && seen->told < VS_NAMESPACES_TOLD; i++) {
        if (atomic_load(&server->names.at[i].was_ready)) continue;
        seen->unready -= !add_unready(server, seen, &server->names.at[i]); /* this namespace is ready now */
        left--;
    }
}

/* Fills *seen and returns the number of reasons why the server is not ready. */
static int health_look(struct vs_request *r, struct health_seen *seen) {
    const struct vs_server *server = r->session->server;
    *seen = (struct health_seen){.dry = 0};
    struct vs_policies_status policies = {.stuck = false};
    if (server->above.policies.status) server->above.policies.status(server->above.policies.self, &policies);
    seen->draining = r->session->draining;
    seen->stuck = policies.stuck;
    const struct vs_tag_set *tags = vs_request_tags(r);
    health_look_at_namespaces(server, server->names.count > vs_told(&server->names) || (tags && tags->count > 0), seen);
    look_at_tags(server, tags, seen);
    return seen->draining + seen->stuck + seen->unready + seen->dry.count + (seen->tags.unread > 0) + seen->is_unusable;
}

static void put_reason_of(struct vs_out *out, const char *what, const char *name, const char *code,
                          const char *detail) {
    vs_json_open(out, NULL, '{');
    if (name) vs_json_text(out, what, name);
    vs_json_text(out, "code", code);
    vs_json_text(out, "detail", detail);
    vs_put(out, "}", 1);
}

static void put_reason(struct vs_out *out, const char *ns, const char *code, const char *detail) {
    put_reason_of(out, "namespace", ns, code, detail);
}

static void put_dry(struct vs_request *r, const struct few *few) {
    for (int i = 0; i < few->count && i < TAGS_TOLD; i++) {
        char text[256] = "the server's log has the reason";
        struct vesta_segment *memory = few->at[i]->memory;
        struct vesta_pause pause = {.why = memory ? VESTA_FAILSTOP : VESTA_RANGE};
        if (vs_rights_sees_reasons_of(r->session, few->at[i]))
            vesta_segment_pause_text(memory ? memory : few->at[i]->seg, &pause, text, sizeof text);
        put_reason_of(r->out, "tag", few->at[i]->name, vesta_why_name(pause.why), text);
    }
}

static void put_unusable(struct vs_out *out, const struct health_seen *seen) {
    put_reason_of(out, "tag", seen->tags.unusable_tag, "row_unusable", seen->tags.unusable_why);
}

static void put_reasons(struct vs_request *r, const struct health_seen *seen) {
    struct vs_out *out = r->out;
    vs_json_open(out, "reasons", '[');
    if (seen->draining) put_reason(out, NULL, "draining", "the server is stopping");
    if (seen->stuck) put_reason(out, NULL, "policy_stuck", "a policy is running that cannot be interrupted");
    for (int i = 0; i < seen->told; i++) {
        const struct vs_namespace *ns = seen->at[i].ns;
        const struct vesta_pause *pause = &seen->at[i].pause;
        char text[VS_PAUSE_TEXT_MAX], why[VS_NAMESPACE_WHY_MAX];
        if (!vs_namespace_is_open(ns)) {
            put_reason(out, ns->name, "not_open", vs_namespace_why(ns, why));
            continue;
        }
        vs_namespace_pause_text(r->session->server, ns, pause, text);
        put_reason(out, ns->name, vesta_why_name(pause->why), text);
    }
    if (seen->tags.unread > 0) put_reason(out, NULL, "tags_unread", seen->tags.unread_why);
    put_dry(r, &seen->dry);
    if (seen->is_unusable) put_unusable(out, seen);
    vs_put(out, "]", 1);
    if (seen->unready > seen->told) vs_json_uint(out, "more_namespaces", (uint64_t)(seen->unready - seen->told));
}

static void put_warnings(struct vs_request *r, const struct health_seen *seen) {
    const struct vs_server *server = r->session->server;
    vs_json_open(r->out, "warnings", '[');
    for (int i = 0; i < vs_told(&server->names); i++) {
        struct vesta_info info = {.warning = ""};
        char why[VS_NAMESPACE_WHY_MAX];
        bool has_ended = vs_namespace_has_ended(&server->names.at[i], why);
        if (!has_ended && vs_namespace_is_open(&server->names.at[i]))
            vesta_get_info(server->names.at[i].gen[VS_RESP], &info);
        if (!has_ended && !*info.warning) continue;
        vs_json_open(r->out, NULL, '{');
        vs_json_text(r->out, "namespace", server->names.at[i].name);
        vs_json_text(r->out, "detail", has_ended ? why : info.warning);
        vs_put(r->out, "}", 1);
    }
    put_dry(r, &seen->faulty);
    if (seen->tags.unusable > 0) put_unusable(r->out, seen);
    vs_put_text(r->out, "]}\n");
}

#define READY_US 10000 /* cache time of results, because clients without rights may send any number of requests */

/* Any client may see whether the server is ready.  The reasons are hidden, because they contain names, databases and
 * paths. */
static enum vs_reply_state answer_stranger(struct vs_request *r) {
    struct vs_scratch *scratch = r->session->scratch;
    struct health_seen seen;
    if (scratch->ready.at_us == 0 || scratch->now_us - scratch->ready.at_us >= READY_US) {
        scratch->ready.is_ready = health_look(r, &seen) == 0;
        scratch->ready.at_us = scratch->now_us;
    }
    if (!scratch->ready.is_ready || r->session->draining)
        return vs_refuse(r, "not_ready",
                         "the reasons are only shown on the admin listener and to clients that may read all names");
    vs_put_text(r->out, "{\"status\":\"ready\"}\n");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_readyz(struct vs_request *r) {
    struct health_seen seen;
    if (!vs_rights_sees_reasons(r->session)) return answer_stranger(r);
    int count = health_look(r, &seen);
    if (count == 0) {
        vs_put_text(r->out, "{\"status\":\"ready\"");
        put_warnings(r, &seen);
        return VS_ANSWERED;
    }
    vs_refuse(r, "not_ready", "%d reason%s", count, count == 1 ? "" : "s");
    r->out->used -= strlen("}\n"); /* removes the end of the object, to add a member */
    put_reasons(r, &seen);
    vs_put_text(r->out, "}\n");
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ versions and routes */

enum vs_reply_state vs_on_version(struct vs_request *r) {
    const char *lua = r->session->server->above.policies.lua;
    vs_put(r->out, "{", 1);
    vs_json_text(r->out, "version", VESTA_VERSION);
    if (lua) vs_json_text(r->out, "lua", lua);
    vs_put_text(r->out, "}\n");
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_index(struct vs_request *r) {
    if (vs_put_page(r)) return VS_ANSWERED;
    vs_put_text(r->out, "vesta " VESTA_VERSION ": 64-bit ids that never repeat\n\n");
    for (int i = 0; vs_call_at(i); i++) {
        const struct vs_call *call = vs_call_at(i);
        if (!call->route || !vs_call_is_at(call, r->session->protocol) || vs_call_is_kept(call, r->session)) continue;
        if (call->methods == VS_POST) vs_put_text(r->out, "POST ");
        if (call->methods == VS_LEASE_METHODS) vs_put_text(r->out, "PUT|DELETE ");
        vs_put_text(r->out, call->route_help);
        vs_put(r->out, "\n", 1);
    }
    return VS_ANSWERED;
}
