/* watermark.c -- reads a namespace's watermark.  The order of the calls matters: the mark is written before the records
 * are listed from which the watermark follows, and a lease is ended before the watermark passes it. */
#include "store/watermark.h"
#include "base/error.h"
#include "id/id.h"
#include "store/reply.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WATERMARK_TRIES 5 /* how often other processes may change the namespace's record first */

/* What a reading has read. */
struct watermark_reading {
    struct vs_store *store;
    const char *name;
    struct vs_ns_record ns;
    struct vesta_layout layout;
    struct vs_shape shape;
    struct vs_mark_now now;
    int64_t store_ms, off_ms; /* off_ms: how far this host's clock is ahead of the store's.  0: they agree */
    struct vs_listed *listed;
    size_t count;
};

static int watermark_fail(const struct vs_reply *reply, struct vesta_error *err) {
    char text[sizeof err->text - 40];
    return vs_fail(err, VESTA_EIO, "the watermark is unknown: %s",
                   vs_reply_say(reply, "the store did not answer", text, sizeof text));
}

/* Sets the time of the reading.  If the store's clock differs from this host's, one of them is wrong.  Then the time is
 * unknown, so the reading raises no mark and ends no lease. */
static void watermark_set_now(struct watermark_reading *r, const struct vs_reply *reply) {
    const struct vesta_clock *clock = r->store->clock;
    int64_t off_ms = clock->unix_us(clock->self) / 1000 - reply->store_ms;
    bool is_off = off_ms > VS_MARK_LAG_MS || off_ms < -VS_MARK_LAG_MS;
    r->now = (struct vs_mark_now){is_off ? 0 : reply->store_ms, clock->boot_us(clock->self) / 1000,
                                  r->store->backend->is_local};
    r->store_ms = reply->store_ms;
    r->off_ms = is_off ? off_ms : 0;
}

static int watermark_read_ns(struct watermark_reading *r, struct vesta_error *err) {
    struct vs_reply reply;
    vs_reply_clear(&reply);
    r->store->leases->ns_read(r->store, &reply);
    if (reply.outcome != VS_STORE_OK) return watermark_fail(&reply, err);
    r->ns = reply.ns;
    if (!r->ns.ver)
        return vs_fail(err, VESTA_ENOGEN, "namespace %s is not in the store: check its name (vesta store show)",
                       r->name);
    if (vesta_layout_parse(r->ns.layout, &r->layout, NULL) != VESTA_OK || r->layout.fingerprint != r->ns.fingerprint)
        return vs_fail(err, VESTA_EIO, "the layout of namespace %s cannot be read: %.160s", r->name, r->ns.layout);
    vs_shape_of(&r->layout, &r->shape);
    watermark_set_now(r, &reply);
    return VESTA_OK;
}

static int watermark_list(struct watermark_reading *r, struct vesta_error *err) {
    struct vs_reply reply;
    free(r->listed);
    r->listed = NULL;
    r->count = 0;
    vs_reply_clear(&reply);
    r->store->leases->list(r->store, &r->listed, &r->count, &reply);
    if (reply.outcome != VS_STORE_OK) return watermark_fail(&reply, err);
    if (reply.is_hint)
        return vs_fail(err, VESTA_EIO,
                       "the watermark is unknown: this user may not write to the store of namespace %s, so its list "
                       "may lack a lease. Run the command as a user that may",
                       r->name);
    return VESTA_OK;
}

/* Ends the leases of holders that have passed their deadline.  If another process changes the record first, the record
 * stays as it was listed, and holds the watermark back until the next reading. */
static void watermark_end_leases(struct watermark_reading *r) {
    for (size_t i = 0; i < r->count; i++) {
        struct vs_record next = r->listed[i].record;
        struct vs_reply reply;
        if (!vs_mark_is_over(&next, &r->shape, &r->now)) continue;
        vs_mark_end(&next);
        vs_reply_clear(&reply);
        r->store->leases->swap(r->store, r->listed[i].worker, next.ver - 1, &next, &reply);
        if (reply.outcome == VS_STORE_OK) r->listed[i].record = next;
    }
}

/* Raises the mark to `to_ms`.  Sets *is_raised, unless another process has changed the namespace's record first. */
static int watermark_raise(struct watermark_reading *r, int64_t to_ms, bool *is_raised, struct vesta_error *err) {
    struct vs_ns_record next = r->ns;
    struct vs_reply reply;
    next.ver++;
    next.mark_ms = to_ms;
    vs_reply_clear(&reply);
    r->store->leases->ns_swap(r->store, r->ns.ver, &next, &reply);
    *is_raised = reply.outcome == VS_STORE_OK;
    return reply.outcome == VS_STORE_REFUSED || reply.outcome == VS_STORE_DOWN ? watermark_fail(&reply, err) : VESTA_OK;
}

/* Reads the namespace and its records, and raises the mark if it is due.  After a raise it reads both again, because a
 * lease may have been claimed below the new mark in the meantime, and because the store accepts the ends of leases only
 * from a caller that has read the namespace's present record. */
static int watermark_collect(struct watermark_reading *r, bool starts, struct vesta_error *err) {
    bool is_raised = false;
    int rc = VESTA_OK;
    for (int i = 0; i < WATERMARK_TRIES && rc == VESTA_OK; i++) {
        rc = watermark_read_ns(r, err);
        if (rc == VESTA_OK && !r->ns.mark_ms && !starts)
            return vs_fail(err, VESTA_EOPTION,
                           "namespace %s has no watermarks yet. Check that each of its holders uses clock pacing and "
                           "this version of vesta or a later one. Then run: vesta watermark %s --start",
                           r->name, r->name);
        if (rc == VESTA_OK) rc = watermark_list(r, err);
        if (rc != VESTA_OK) return rc;
        watermark_end_leases(r);
        int64_t to_ms = vs_mark_due_ms((struct vs_listing){r->listed, r->count, r->now.store_ms}, &r->shape,
                                       r->ns.fingerprint, r->ns.mark_ms, &r->now);
        if (!r->ns.mark_ms && !to_ms) to_ms = vs_mark_first_ms(&r->shape);
        if (is_raised || !to_ms) return VESTA_OK;
        rc = watermark_raise(r, to_ms, &is_raised, err);
    }
    if (rc != VESTA_OK || r->ns.mark_ms) return rc; /* the earlier mark is a lower, but valid mark */
    return vs_fail(err, VESTA_EIO, "the watermark is unknown: other processes change namespace %s: try again", r->name);
}

static int watermark_none(const struct vs_watermark *mark, const char *name, struct vesta_error *err) {
    char text[VS_WATERMARK_TEXT_MAX];
    return vs_fail(err, mark->by == VS_MARK_BY_HISTORY ? VESTA_EMISMATCH : VESTA_ENOTNOW,
                   "namespace %s has no watermark now. %s", name, vs_watermark_text(mark, text));
}

/* Finds the field above the time that keeps ids from sorting by time. */
static void watermark_sort(const struct watermark_reading *r, struct vs_watermark *out) {
    out->sorts = true;
    for (int i = 0; i < r->layout.time && out->sorts; i++) {
        const struct vesta_field *field = &r->layout.field[i];
        out->sorts = field->fixed;
        if (!field->fixed)
            snprintf(out->why, sizeof out->why,
                     "ids of this layout do not sort by time, because %s is above the time and its value differs",
                     i == r->layout.worker ? "the worker id" : field->name);
    }
}

static void watermark_take(const struct watermark_reading *r, const struct vs_lease_mark *mark,
                           struct vs_watermark *out) {
    uint64_t time = mark->tick >> r->shape.seq_bits, values[VESTA_FIELDS_MAX] = {0};
    for (int i = 0; i < r->layout.time; i++)
        values[i] = r->layout.field[i].value;
    out->time_us = vs_tick_unix_us(&r->shape, mark->tick);
    out->id = vs_field_put(&r->layout.field[r->layout.time], time);
    for (int i = 0; i < r->layout.time; i++)
        out->id |= vs_field_put(&r->layout.field[i], values[i]);
    out->id -= 1; /* an id whose time is one less and whose lower bits are all ones */
}

int vs_watermark_read(struct vs_store *store, const char *name, bool starts, struct vs_watermark *out,
                      struct vesta_error *err) {
    struct watermark_reading r = {.store = store, .name = name};
    memset(out, 0, sizeof *out);
    int rc = watermark_collect(&r, starts, err);
    if (rc == VESTA_OK) {
        struct vs_lease_mark mark = vs_mark_of((struct vs_listing){r.listed, r.count, r.now.store_ms}, &r.shape,
                                               r.ns.fingerprint, r.ns.mark_ms, &r.now);
        out->store_ms = r.store_ms;
        out->off_ms = r.off_ms;
        out->by = mark.by;
        if (mark.holder) out->holder = *mark.holder;
        if (mark.holder)
            out->passes_ms =
                out->holder.record.written_ms + vs_standing_length_ms(&out->holder.record, &r.shape) + VS_MARK_LAG_MS;
        watermark_sort(&r, out);
        if (mark.tick >> r.shape.seq_bits)
            watermark_take(&r, &mark, out);
        else
            rc = watermark_none(out, name, err);
    }
    free(r.listed);
    return rc;
}

/* Writes what the holder is doing, and what to do. */
static void watermark_put_reason(const struct vs_watermark *mark, char *buf, size_t size) {
    const struct vs_record *r = &mark->holder.record;
    char since[VESTA_ISO_MAX] = "", passes[VESTA_ISO_MAX] = "", who[256];
    vesta_iso(r->written_ms, since);
    vesta_iso(mark->passes_ms, passes);
    bool is_own = strncmp(r->identity, "net:", 4) == 0 || strncmp(r->identity, "lease ", 6) == 0;
    bool is_reserved = strncmp(r->identity, "import:", 7) == 0;
    snprintf(who, sizeof who, "worker id %" PRIu64 ", held by %.120s", mark->holder.worker,
             r->holder[0] ? r->holder : r->identity);
    if (mark->by == VS_MARK_BY_CLOCK)
        buf[0] = '\0';
    else if (mark->by == VS_MARK_BY_NONE)
        snprintf(buf, size,
                 "No worker id is held, so the watermark stays after the last id. It rises when a process leases a "
                 "worker id");
    else if (mark->by == VS_MARK_BY_HISTORY)
        snprintf(buf, size,
                 "%s, has history pacing, so its ids may have any past time. Stop that generator, so that it releases "
                 "its worker id. If it was killed, start it again first, before another process gets the worker id. Then "
                 "give it clock pacing and a new file, or use another namespace",
                 who);
    else if (mark->by == VS_MARK_BY_EARLIER)
        snprintf(buf, size,
                 "%s, was claimed before the lease of an earlier process had expired, and that process may still run. "
                 "Wait until its lease has expired",
                 who);
    else if (is_reserved)
        snprintf(buf, size,
                 "%s, is reserved for another generator, whose position is unknown. The watermark rises when the "
                 "reservation ends (vesta workers)",
                 who);
    else if (mark->by == VS_MARK_BY_SILENT)
        snprintf(buf, size,
                 "%s, has not reported its position. It was last seen at %s. A running process reports within a "
                 "minute, or with history pacing at its next id. Upgrade an older vesta. If it has ended for good, "
                 "delete its generator file, and run: vesta lease run --worker %" PRIu64 " -- true",
                 who, since, mark->holder.worker);
    else if (is_own)
        snprintf(buf, size,
                 "%s, is leased by a program with its own generator, which may use any time of its lease. The "
                 "watermark rises when that program ends its lease",
                 who);
    else
        snprintf(buf, size,
                 "%s, reported its position at %s. If the process was killed or stopped, start or resume it, or wait: "
                 "unless it reports, the watermark passes it at %s",
                 who, since, passes);
}

const char *vs_watermark_text(const struct vs_watermark *mark, char *buf) {
    int n = 0;
    if (mark->off_ms)
        n = snprintf(buf, VS_WATERMARK_TEXT_MAX,
                     "This machine's clock and the store's differ by %.1f s, so the watermark passes no process that "
                     "was killed or stopped: correct them. ",
                     (double)mark->off_ms / 1000);
    watermark_put_reason(mark, buf + n, VS_WATERMARK_TEXT_MAX - (size_t)n);
    return buf;
}
