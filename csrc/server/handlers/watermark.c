/* watermark.c -- the id up to which an event table is complete (see docs/watermark.md).  A desk thread reads the store,
 * and the request waits for the result. */
#include "base/error.h"
#include "server/commands.h"
#include "server/named.h"
#include "server/rights.h"

#include <inttypes.h>
#include <stdio.h>

#define MARK_WAIT_US 15000000 /* how long a request waits for the store, which lists all leases */

static bool mark_is_by_time(const struct vs_request *r) {
    struct vs_slice by = vs_arg(r, 1);
    return by.at && vs_slice_is_case(by, "time");
}

static enum vs_reply_state mark_put(struct vs_request *r, const struct vs_desk_job *job) {
    const struct vs_desk_mark *mark = &job->mark;
    bool has_why = *job->text && vs_rights_sees_reasons(r->session), has_id = mark->sorts && !r->ns->mask;
    char iso[VESTA_ISO_MAX];
    if (!has_id && !mark_is_by_time(r))
        return vs_refuse(r, "bad_command", "'%s' has no watermark as an id: %s. Ask for the time: by=time", r->ns->name,
                         mark->sorts ? "its ids are masked, so they do not sort by time" : mark->why);
    vesta_iso(mark->time_ms, iso);
    vs_named_open(r, 4 + has_id + has_why + (*mark->leased_as != '\0'));
    vs_named_text(r, "ns", r->ns->name);
    if (*mark->leased_as) vs_named_text(r, "leased_as", mark->leased_as);
    if (has_id) vs_named_wide(r, "id", mark->id);
    vs_named_text(r, "time", iso);
    vs_named_int(r, "time_ms", mark->time_ms);
    vs_named_int(r, "behind_ms", mark->behind_ms);
    if (has_why) vs_named_text(r, "held_by", job->text);
    vs_named_close(r);
    return VS_ANSWERED;
}

static enum vs_reply_state mark_answered(struct vs_request *r) {
    const struct vs_desk_job *job = r->session->waiting.job;
    if (!atomic_load(&job->is_done)) return vs_wait_for(r, VS_FOR_LEASE, mark_answered);
    switch (job->answer) {
    case VS_DESK_DONE: return mark_put(r, job);
    case VS_DESK_BAD: return vs_refuse(r, "bad_field", "%s", job->text);
    case VS_DESK_SETTLED: return vs_refuse(r, "bad_command", "%s", job->text);
    case VS_DESK_REJECTED: return vs_refuse_why(r, "not_served", "the namespace has no watermark", job->text);
    case VS_DESK_BUSY: return vs_refuse_why(r, "watermark_unknown", "the watermark is unknown, try again later", job->text);
    default: return vs_refuse_why(r, "watermark_unknown", "the store did not answer", job->text);
    }
}

static enum vs_reply_state mark_ask(struct vs_request *r) {
    const struct vesta_clock *clock = r->session->server->clock;
    struct vs_desk *desk = r->session->server->marks;
    struct vs_desk_job what = {.ask = VS_DESK_WATERMARK, .asked_us = clock->boot_us(clock->self)};
    struct vs_slice by = vs_arg(r, 1), leased_as = vs_arg(r, 2);
    what.mark.of = (int)(r->ns - r->session->server->names.at);
    what.until_us = what.asked_us + MARK_WAIT_US;
    if (by.at && !mark_is_by_time(r) && !vs_slice_is_case(by, "id"))
        return vs_refuse(r, "bad_field", "by '%s' must be id or time", VS_QUOTE(by.at, by.length));
    if (leased_as.at && !vs_slice_is_name(leased_as, sizeof what.mark.leased_as - 1))
        return vs_refuse(r, "bad_field", "leased_as '%s' must be a namespace's name",
                         VS_QUOTE(leased_as.at, leased_as.length));
    snprintf(what.mark.leased_as, sizeof what.mark.leased_as, "%.*s", (int)leased_as.length,
             leased_as.at ? leased_as.at : "");
    struct vs_desk_job *job = vs_desk_job_new(&what);
    if (!job) return vs_refuse_memory(r);
    if (desk->take(desk, job)) {
        r->session->waiting.job = job;
        return mark_answered(r);
    }
    vs_desk_job_let(job);
    vs_desk_job_let(job);
    return vs_refuse(r, "watermark_unknown", "too many requests wait for the store: try again later");
}

enum vs_reply_state vs_on_watermark(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_NAMESPACE, mark_ask);
}
