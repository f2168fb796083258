/* leases.c -- leases of worker ids for programs that have their own generator (see docs/worker-leases.md).  A desk
 * thread makes the calls to the store, and the request waits for its result. */
#include "base/error.h"
#include "base/time.h"
#include "server/commands.h"
#include "server/counts.h"
#include "server/named.h"
#include "server/rights.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_S 30
#define TTL_S_MAX 86400        /* the desk knows the store, and the smaller limit of that store */
#define LEASE_WAIT_US 10000000 /* how long a request waits for the store */
#define KEY_DIGITS 48          /* owner and incarnation */

const char *const vs_lease_result_name[VS_LEASE_RESULTS] = {"leased", "renewed", "released", "busy", "limited", "lost", "failed"};

static void count_lease(struct vs_request *r, enum vs_lease_result result) {
    vs_add(&r->session->scratch->counts->leases[result], 1);
}

/* ------------------------------------------------------------------ arguments */

/* Finds the namespace among those that may be leased, and checks the client's right to its name. */
static bool find_leased(struct vs_request *r, struct vs_slice name, int *of) {
    const struct vs_leases *leases = &r->session->server->leases;
    if (!name.at) return vs_refuse(r, "bad_field", "ns is missing: send ns=NAME"), false;
    if (!vs_rights_may_name(r, name)) return false;
    for (*of = 0; *of < leases->count; ++*of)
        if (vs_slice_is(name, leases->name[*of])) return true;
    vs_refuse(r, "unknown_name",
              "this server does not lease worker ids of '%s': add the name to `leases` in its config",
              VS_QUOTE(name.at, name.length));
    return false;
}

static bool lease_read_ttl(struct vs_request *r, struct vs_slice text, int64_t *ttl_ms) {
    uint64_t s = TTL_S;
    bool is_fit = !text.at || (vesta_parse(VESTA_DECIMAL, text.at, text.length, &s) == VESTA_OK && s <= TTL_S_MAX);
    *ttl_ms = (int64_t)s * 1000;
    if (!is_fit)
        vs_refuse(r, "bad_field", "ttl '%s' must be a whole number of seconds", VS_QUOTE(text.at, text.length));
    return is_fit;
}

static bool lease_read_worker(struct vs_request *r, struct vs_slice text, struct vs_desk_lease *lease) {
    if (!text.at || vs_slice_is(text, "*")) return true;
    lease->has_worker = vesta_parse(VESTA_DECIMAL, text.at, text.length, &lease->worker) == VESTA_OK;
    if (!lease->has_worker)
        vs_refuse(r, "bad_field", "worker '%s' must be a decimal number", VS_QUOTE(text.at, text.length));
    return lease->has_worker;
}

static bool lease_read_name(struct vs_request *r, struct vs_slice text, char name[VESTA_NAMESPACE_MAX]) {
    if (!text.at) return true;
    if (!vs_slice_is_name(text, VESTA_NAMESPACE_MAX - 1))
        return vs_refuse(r, "bad_field", "the program's name '%s' must be 1 to %d of A-Z a-z 0-9 _ . : -",
                         VS_QUOTE(text.at, text.length), VESTA_NAMESPACE_MAX - 1),
               false;
    snprintf(name, VESTA_NAMESPACE_MAX, "%.*s", (int)text.length, text.at);
    return true;
}

static int lease_digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads a lease: 48 hex digits, the worker id and the namespace, with dots in between. */
static bool lease_read_key(struct vs_request *r, struct vs_slice text, struct vs_desk_lease *lease) {
    uint64_t word[3] = {0};
    struct vs_slice key = text, rest = {NULL, 0}, worker, name = {NULL, 0};
    bool is_fit = text.at && vs_slice_split(text, '.', &key, &rest) && key.length == KEY_DIGITS;
    for (size_t i = 0; is_fit && i < KEY_DIGITS; i++) {
        int digit = lease_digit_of(key.at[i]);
        is_fit = digit >= 0;
        word[i / 16] = word[i / 16] << 4 | (uint64_t)(digit & 15);
    }
    is_fit = is_fit && vs_slice_split(rest, '.', &worker, &name) &&
             vesta_parse(VESTA_DECIMAL, worker.at, worker.length, &lease->worker) == VESTA_OK;
    if (!is_fit)
        return vs_refuse(r, "bad_field", "the lease is malformed: send the text that the reply to the request had"),
               false;
    lease->owner[0] = word[0], lease->owner[1] = word[1], lease->incarnation = word[2];
    return find_leased(r, name, &lease->of);
}

/* ------------------------------------------------------------------ replies */

static void lease_put_instant(struct vs_request *r, const char *iso_name, const char *ms_name, int64_t unix_ms) {
    char iso[VESTA_ISO_MAX];
    vesta_iso(unix_ms, iso);
    vs_named_text(r, iso_name, iso);
    vs_named_int(r, ms_name, unix_ms);
}

static enum vs_reply_state put_lease(struct vs_request *r, const struct vs_desk_job *job) {
    const struct vs_desk_lease *lease = &job->lease;
    const char *name = r->session->server->leases.name[lease->of];
    bool is_new = job->ask == VS_DESK_LEASE;
    char text[VS_LEASE_TEXT_MAX];
    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 ".%" PRIu64 ".%s", lease->owner[0],
             lease->owner[1], lease->incarnation, lease->worker, name);
    vs_named_open(r, is_new ? 9 : 7);
    vs_named_text(r, "ns", name);
    vs_named_int(r, "worker", (int64_t)lease->worker);
    vs_named_text(r, "lease", text);
    vs_named_int(r, "fence", (int64_t)lease->fence);
    vs_named_int(r, "ttl", lease->ttl_ms / 1000);
    if (is_new) lease_put_instant(r, "starts_at", "starts_ms", lease->starts_ms);
    lease_put_instant(r, "expires_at", "expires_ms", lease->expires_ms);
    vs_named_close(r);
    count_lease(r, is_new ? VS_LEASE_LEASED : VS_LEASE_RENEWED);
    return VS_ANSWERED;
}

/* Writes a range of past ids as a block.  A protocol's numbers cannot represent every count of 64 bits. */
static enum vs_reply_state put_past(struct vs_request *r, const struct vs_desk_job *job) {
    const struct vesta_past_info *info = &job->lease.past->info;
    struct vesta_block block = info->block;
    if (block.count > VESTA_VALUE_MAX) block.count = VESTA_VALUE_MAX;
    vs_named_open(r, VS_NAMED_BLOCK + 7);
    vs_named_block(r, r->session->server->leases.name[job->lease.of], &info->layout, &block);
    vs_named_int(r, "worker", (int64_t)info->worker);
    lease_put_instant(r, "from", "from_ms", info->from_ms);
    lease_put_instant(r, "until", "until_ms", info->until_ms);
    vs_named_int(r, "others", (int64_t)info->others);
    vs_named_text(r, "lease", info->text);
    vs_named_close(r);
    count_lease(r, VS_LEASE_LEASED);
    return VS_ANSWERED;
}

static enum vs_reply_state put_released(struct vs_request *r) {
    count_lease(r, VS_LEASE_RELEASED);
    if (r->protocol == VS_RESP) {
        vs_resp_simple(r->out, "OK");
        return VS_ANSWERED;
    }
    vs_named_open(r, 1);
    vs_named_text(r, "status", "released");
    vs_named_close(r);
    return VS_ANSWERED;
}

static enum vs_reply_state lease_failed(struct vs_request *r, const struct vs_desk_job *job) {
    count_lease(r, job->answer == VS_DESK_BUSY    ? VS_LEASE_BUSY
                   : job->answer == VS_DESK_LIMIT ? VS_LEASE_LIMITED
                   : job->answer == VS_DESK_LOST  ? VS_LEASE_GONE
                                                  : VS_LEASE_FAILED);
    switch (job->answer) {
    case VS_DESK_BUSY: r->retry_after_s = 1; return vs_refuse_why(r, "lease_busy", "no worker id is free", job->text);
    case VS_DESK_LIMIT: r->retry_after_s = 1; return vs_refuse(r, "lease_limit", "%s", job->text);
    case VS_DESK_LOST: return vs_refuse(r, "lease_lost", "%s", job->text);
    case VS_DESK_BAD: return vs_refuse(r, "bad_field", "%s", job->text);
    case VS_DESK_NO_NAME: return vs_refuse(r, "unknown_name", "%s", job->text);
    case VS_DESK_REJECTED: return vs_refuse_why(r, "not_served", "an operator must act", job->text);
    default:
        r->retry_after_s = 1;
        return vs_refuse_why(r, "lease_unknown", "the store did not confirm the change", job->text);
    }
}

static enum vs_reply_state lease_answered(struct vs_request *r) {
    const struct vs_desk_job *job = r->session->waiting.job;
    if (!atomic_load(&job->is_done)) return vs_wait_for(r, VS_FOR_LEASE, lease_answered);
    if (job->answer != VS_DESK_DONE) return lease_failed(r, job);
    if (job->ask == VS_DESK_PAST) return put_past(r, job);
    return job->ask == VS_DESK_RELEASE ? put_released(r) : put_lease(r, job);
}

/* ------------------------------------------------------------------ requests */

static void say_client(const struct vs_request *r, struct vs_desk_lease *lease) {
    char address[VS_PEER_TEXT_MAX];
    const char *client = access_grant_name(&r->session->grant);
    snprintf(lease->client, sizeof lease->client, "%s", client);
    lease->held_max = r->session->grant.account ? r->session->grant.account->leases : 0;
    snprintf(lease->from, sizeof lease->from, "client %.40s at %.40s", client, vs_peer_host(r->session->peer, address));
}

static enum vs_reply_state ask_leases(struct vs_request *r, struct vs_desk_job *what) {
    const struct vesta_clock *clock = r->session->server->clock;
    struct vs_desk *desk = r->session->server->leases.desk;
    struct vs_desk_job *job;
    say_client(r, &what->lease);
    what->asked_us = clock->boot_us(clock->self);
    what->until_us = what->asked_us + LEASE_WAIT_US;
    if (!(job = vs_desk_job_new(what))) {
        free(what->lease.past);
        return vs_refuse_memory(r);
    }
    if (desk->take(desk, job)) {
        r->session->waiting.job = job;
        return lease_answered(r);
    }
    vs_desk_job_let(job);
    vs_desk_job_let(job);
    return vs_refuse(r, "lease_unknown",
                     "nothing was done, because too many requests wait for the store: try again later");
}

enum vs_reply_state vs_on_lease(struct vs_request *r) {
    struct vs_desk_job what = {.ask = VS_DESK_LEASE};
    struct vs_desk_lease *lease = &what.lease;
    bool is_right = find_leased(r, vs_arg(r, 0), &lease->of) && lease_read_ttl(r, vs_arg(r, 1), &lease->ttl_ms) &&
                    lease_read_worker(r, vs_arg(r, 2), lease) && lease_read_name(r, vs_arg(r, 3), lease->name);
    return is_right ? ask_leases(r, &what) : VS_ANSWERED;
}

enum vs_reply_state vs_on_renew(struct vs_request *r) {
    struct vs_desk_job what = {.ask = VS_DESK_RENEW};
    return lease_read_key(r, vs_arg(r, 0), &what.lease) ? ask_leases(r, &what) : VS_ANSWERED;
}

enum vs_reply_state vs_on_release(struct vs_request *r) {
    struct vs_desk_job what = {.ask = VS_DESK_RELEASE, .lease.ended_ms = INT64_MAX};
    struct vs_slice ended = vs_arg(r, 1);
    uint64_t ms;
    if (!lease_read_key(r, vs_arg(r, 0), &what.lease)) return VS_ANSWERED;
    if (ended.at && (vesta_parse(VESTA_DECIMAL, ended.at, ended.length, &ms) != VESTA_OK || ms > INT64_MAX / 2000))
        return vs_refuse(r, "bad_field", "ended_ms '%s' must be a Unix time in milliseconds",
                         VS_QUOTE(ended.at, ended.length));
    if (ended.at) what.lease.ended_ms = (int64_t)ms;
    return ask_leases(r, &what);
}

enum vs_reply_state vs_on_lease_route(struct vs_request *r) {
    bool renews = r->http->method == VS_PUT;
    if (renews && vs_arg(r, 1).at)
        return vs_refuse(r, "bad_field", "ended_ms belongs to DELETE, which releases a lease");
    return renews ? vs_on_renew(r) : vs_on_release(r);
}

/* ------------------------------------------------------------------ past ids */

/* Returns whether the client may lease, because a range of past ids uses up a worker id for its dates. */
static bool past_is_allowed(struct vs_request *r) {
    const struct access_grant *grant = &r->session->grant;
    if (r->protocol != VS_RESP && r->http->method != VS_POST)
        return vs_refuse(r, "bad_field", "a block with from and until changes the store: send it with POST"), false;
    if (!grant->accounts || access_grant_may(grant, VS_LEASE)) return true;
    vs_refuse(r, "not_allowed",
              "client '%s' may not lease, which a block with from and until requires: add lease to "
              "its calls",
              access_grant_name(grant));
    return false;
}

/* Returns whether a block may show the namespace's ids, which a mask forbids. */
static bool past_is_plain(struct vs_request *r, struct vs_slice name) {
    const struct vs_namespace *ns = vs_namespace_named(&r->session->server->names, name.at, name.length);
    if (!ns || !ns->mask) return true;
    vs_refuse(r, "bad_command",
              "the ids of '%s' are masked, and a block would show plain ids: import with vesta range lease", ns->name);
    return false;
}

static bool past_read_time(struct vs_request *r, const char *name, struct vs_slice text, int64_t *unix_ms) {
    struct vesta_error err;
    if (text.at && vs_time_read(text, unix_ms, &err) == VESTA_OK) return true;
    vs_refuse(r, "bad_field", "%s %s", name, text.at ? err.text : "is missing: send both from and until");
    return false;
}

enum vs_reply_state vs_on_past_block(struct vs_request *r) {
    struct vs_desk_job what = {.ask = VS_DESK_PAST};
    struct vesta_past_span span;
    struct vs_slice n = vs_arg(r, 1);
    if (!past_is_allowed(r) || !find_leased(r, vs_arg(r, 0), &what.lease.of) || !past_is_plain(r, vs_arg(r, 0)))
        return VS_ANSWERED;
    if (!n.at || vesta_parse(VESTA_DECIMAL, n.at, n.length, &span.count) != VESTA_OK || span.count == 0)
        return vs_refuse(r, "bad_field", "n '%s' must be how many ids the dates must have, 1 or more",
                         VS_QUOTE(n.at ? n.at : "", n.length));
    if (!past_read_time(r, "from", vs_arg(r, 2), &span.from_ms) ||
        !past_read_time(r, "until", vs_arg(r, 3), &span.until_ms))
        return VS_ANSWERED;
    if (!(what.lease.past = calloc(1, sizeof *what.lease.past))) return vs_refuse_memory(r);
    what.lease.past->span = span;
    return ask_leases(r, &what);
}
