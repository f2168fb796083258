/* holders.c -- finds which process held a worker id when an id was made.
 *
 * A store has one record per worker id: its last holder, how often it was claimed, and a tick that is above all granted
 * ids.  So two facts are certain: an id at or after that tick was never granted, and if a worker id was claimed once,
 * its holder made the id. */
#include "main/ids/holders.h"

#include "id/id.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Reads the namespace.  Also reads its worker ids unless `workers` is NULL.  Returns VS_GO, or an exit code after a
 * message. */
static int holders_ask(struct vs_at *at, struct vs_workers *workers) {
    struct vesta_error err;
    if (vs_at_open(at, &err) != VESTA_OK) return vs_report(&err);
    if (vs_at_need(at, &err) == VESTA_OK && (!workers || vs_at_list(at, workers, &err) == VESTA_OK)) return VS_GO;
    vs_say("%s", err.text);
    return VS_FAILED;
}

int vs_holders_read(struct vs_holders *holders, struct vs_where *where) {
    struct vs_at *at = &holders->at;
    *holders = (struct vs_holders){.is_known = false};
    if (!where->text[VS_W_STORE]) return VS_GO;
    at->uri = where->text[VS_W_STORE];
    at->name = vs_where_leased(where);
    holders->public_ = at->name ? vs_where_public(where, at->name) : NULL;
    at->secret = where->secret;
    bool is_told = where->text[VS_W_LAYOUT];
    int rc = holders_ask(at, &holders->workers);
    if (rc != VS_GO && !is_told) return rc;
    if (rc != VS_GO) return vs_say("so the output does not show which processes held the worker ids"), VS_GO;
    holders->is_known = true;
    vs_store_public(at->uri, holders->shown);
    if (is_told) {
        struct vesta_layout layout;
        if ((rc = vs_read_layout(where->text[VS_W_LAYOUT], &layout)) != VS_DONE) return rc;
        if (layout.fingerprint == at->layout.fingerprint) return VS_GO;
        return vs_usage(
            "the layout %s of %s differs from that of the namespace %s in its store, %s. Leave out "
            "the former, or name the namespace that has it",
            vs_shown_text(where->text[VS_W_LAYOUT]), where->from[VS_W_LAYOUT], at->name, at->ns.layout);
    }
    vs_where_put(where, VS_W_LAYOUT, at->ns.layout, VS_FROM_STORE, "the store");
    return VS_GO;
}

void vs_holders_free(struct vs_holders *holders) {
    free(holders->workers.listed);
    holders->workers.listed = NULL;
    vs_at_close(&holders->at);
}

static int holders_ask_store(struct vs_where *where, struct vs_at *at) {
    at->uri = where->text[VS_W_STORE];
    at->name = vs_where_leased(where);
    at->secret = where->secret;
    int rc = holders_ask(at, NULL);
    if (rc == VS_GO) vs_where_put(where, VS_W_LAYOUT, at->ns.layout, VS_FROM_STORE, "the store");
    return rc;
}

int vs_where_layout(struct vs_where *where, struct vesta_layout *layout) {
    struct vs_at at = {.uri = NULL};
    int rc = vs_where_read(where);
    if (rc == VS_GO && where->text[VS_W_STORE] && !where->text[VS_W_LAYOUT]) rc = holders_ask_store(where, &at);
    vs_where_put(where, VS_W_LAYOUT, VS_LAYOUT_DEFAULT, VS_FROM_DEFAULT, "default");
    if (rc == VS_GO && where->effective)
        rc = vs_where_print(where);
    else if (rc == VS_GO && (rc = vs_read_layout(where->text[VS_W_LAYOUT], layout)) == VS_DONE)
        rc = VS_GO;
    vs_at_close(&at);
    return rc;
}

static uint64_t holders_tick_of(const struct vesta_layout *layout, const struct vesta_parts *parts) {
    return parts->time << vs_seq(layout)->width | parts->seq;
}

static const char *holders_ordinal(uint64_t n, char buf[24]) {
    static const char *const tails[] = {"th", "st", "nd", "rd"};
    uint64_t digit = n % 100 - n % 10 == 10 ? 0 : n % 10;
    snprintf(buf, 24, "%" PRIu64 "%s", n, tails[digit < 4 ? digit : 0]);
    return buf;
}

static void holders_draw_holder(const struct vs_holders *holders, const struct vs_record *r) {
    char ago[VS_AGO_MAX], iso[VESTA_ISO_MAX];
    int64_t end_ms = r->written_ms + vs_standing_length_ms(r, &holders->at.shape);
    enum vs_standing standing = vs_standing_of(r, &holders->at.shape, holders->at.store_ms);
    vs_outf("    ");
    vs_out_fittedf(6, 4, "%s %s, identity %s", standing == VS_STANDS_HELD ? "held by" : "last held by",
                   *r->holder ? r->holder : "a process without a name", *r->identity ? r->identity : "-");
    vs_outf("    ");
    if (standing == VS_STANDS_HELD)
        vs_out_fittedf(4, 4, "last renewed %s, and its lease ends at %s unless renewed",
                       vs_ago(r->written_ms, holders->at.store_ms, ago), vs_iso(end_ms, iso));
    else if (standing == VS_STANDS_EXPIRED)
        vs_outf("not renewed since %s: its lease ended %s\n", vs_iso(r->written_ms, iso),
                vs_ago(end_ms, holders->at.store_ms, ago));
    else
        vs_outf("released at %s, %s\n", vs_iso(r->written_ms, iso), vs_ago(r->written_ms, holders->at.store_ms, ago));
}

/* Prints what the record proves about the id. */
static void holders_draw_proof(const struct vs_holders *holders, const struct vs_record *r,
                               const struct vesta_parts *parts) {
    char iso[VESTA_ISO_MAX], th[24];
    int64_t until_us = vs_tick_unix_us(&holders->at.shape, r->until);
    if (r->fingerprint != holders->at.ns.fingerprint)
        vs_outf("    the record belongs to another layout and proves nothing about this id\n");
    else if (holders_tick_of(&holders->at.layout, parts) >= r->until)
        vs_outf("%s    !! this id was never granted: all granted ids are before\n"
                "    !! %s.  It was made by hand, in another namespace,\n"
                "    !! or before this store lost data%s\n",
                VS_YELLOW, until_us == INT64_MAX ? "the layout's end" : vs_iso(until_us / 1000, iso), VS_PLAIN);
    else if (r->epoch == 1)
        vs_outf("    it is the only process that ever claimed the worker id, so it made the id\n");
    else
        vs_outf("    it is the %s to claim the worker id: an earlier process may have made the id\n",
                holders_ordinal(r->epoch, th));
}

void vs_holders_draw(const struct vs_holders *holders, const struct vesta_parts *parts) {
    const struct vs_record *r = vs_workers_find(&holders->workers, parts->worker);
    const char *public_ = holders->public_;
    if (!holders->is_known || holders->at.layout.worker < 0) return;
    vs_outf("\n  ");
    vs_out_fittedf(4, 2, "worker %" PRIu64 " of %s%s%s, by %s", parts->worker, holders->at.name,
                   public_ ? ", leased for " : "", public_ ? public_ : "", holders->shown);
    if (r) {
        holders_draw_holder(holders, r);
        holders_draw_proof(holders, r, parts);
    } else if (vs_is_static(&holders->at.ns, parts->worker))
        vs_outf("    reserved for assignment by hand: the store has no lease of it\n");
    else
        vs_outf("%s    !! never leased: the id was made by hand, in another namespace,\n"
                "    !! or before this store lost data%s\n",
                VS_YELLOW, VS_PLAIN);
}

void vs_holders_json(const struct vs_holders *holders, const struct vesta_parts *parts) {
    const struct vs_record *r = vs_workers_find(&holders->workers, parts->worker);
    if (!holders->is_known || holders->at.layout.worker < 0) return;
    vs_outf(",\"namespace\":\"%s\",\"state\":\"%s\"", holders->at.name,
            r                                              ? vs_standing_name(vs_standing_of(r, &holders->at.shape, holders->at.store_ms))
            : vs_is_static(&holders->at.ns, parts->worker) ? "static"
                                                           : "never");
    if (!r) return;
    vs_outf(",\"holder\":");
    vs_out_json(r->holder);
    vs_outf(",\"identity\":");
    vs_out_json(r->identity);
    vs_outf(",\"written_ms\":%" PRId64 ",\"lease_ms\":%" PRId64 ",\"claims\":%" PRIu64 ",\"granted\":%s", r->written_ms,
            r->lease_ms, r->epoch,
            r->fingerprint == holders->at.ns.fingerprint && holders_tick_of(&holders->at.layout, parts) < r->until
                ? "true"
                : "false");
}
