/* past.c -- vesta_past.h: leases a range of past ticks by the options of a generator, and issues its ids. */
#include "past/past.h"
#include "base/error.h"
#include "generator/generator.h"
#include "keeper/file.h"
#include "os/host.h"
#include "os/process.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define PAST_UNLIKELY(x) __builtin_expect(!!(x), 0)

struct vesta_past {
    uint64_t cursor;  /* the next tick.  From range.until on, there is none */
    uint64_t latest;  /* the first tick of the last row's time unit */
    uint64_t process; /* vs_process_token of the process that leased the range */
    struct vs_shape shape;
    int64_t from_ms, until_ms;
    bool is_released;
    struct vesta_gen
        gen; /* only the shape and the base, and of the slot the worker id and the turn, for vs_gen_start */
    struct vs_slot slot;
    struct vs_past_range range;
    char uri[VS_URI_MAX], name[VESTA_NAMESPACE_MAX];
    char *secret;
    const struct vesta_clock *clock;
};

/* ------------------------------------------------------------------ issuing */

static const char *past_time(int64_t unix_ms, char buf[VESTA_ISO_MAX]) {
    vesta_iso(unix_ms, buf);
    return buf;
}
#define PAST_TIME(unix_ms) past_time((unix_ms), (char[VESTA_ISO_MAX]){0})

/* Rounds up, so that a row at the result is in the unit of the tick. */
static int64_t past_ms_of(const struct vs_shape *shape, uint64_t tick) {
    return (vs_tick_unix_us(shape, tick) + 999) / 1000;
}

/* Reports why a row gets no id. */
static __attribute__((cold, noinline)) int past_reject(const struct vesta_past *past, int64_t unix_ms,
                                                       struct vesta_error *err) {
    if (past->process != vs_process_token())
        return vs_fail(err, VESTA_ECLOSED,
                       "this process was forked from the one that leased the range: lease a range in each process");
    if (past->is_released) return vs_fail(err, VESTA_ECLOSED, "the range was released: lease another one");
    if (unix_ms < past->from_ms || unix_ms >= past->until_ms)
        return vs_fail(err, VESTA_EOPTION,
                       "the row's time %s is not in the range, which is from %s until %s: lease a "
                       "range that includes it",
                       PAST_TIME(unix_ms), PAST_TIME(past->from_ms), PAST_TIME(past->until_ms));
    if (vs_tick_at(&past->shape, unix_ms * 1000) < past->latest)
        return vs_fail(err, VESTA_EOPTION, "the row's time %s is before the last row's, %s: sort the rows by time",
                       PAST_TIME(unix_ms), PAST_TIME(past_ms_of(&past->shape, past->latest)));
    return vs_fail(err, VESTA_EFULL, "the range has no id left from %s until its end, %s: lease one that ends later",
                   PAST_TIME(unix_ms), PAST_TIME(past->until_ms));
}

/* Returns the tick at which the sequence of a time unit starts, as for live ids. */
static uint64_t past_start(struct vesta_past *past, uint64_t unit) {
    uint64_t start = past->cursor < unit ? vs_gen_start(&past->gen, &past->slot, past->cursor, unit) : unit;
    past->slot.turn = (uint32_t)(start - unit) + 1;
    return start;
}

int vesta_past_next(struct vesta_past *past, int64_t unix_ms, uint64_t *id, struct vesta_error *err) {
    bool is_bad = unix_ms < past->from_ms || unix_ms >= past->until_ms || past->process != vs_process_token();
    if (PAST_UNLIKELY(is_bad)) return past_reject(past, unix_ms, err);
    uint64_t unit = vs_tick_at(&past->shape, unix_ms * 1000), tick = unit > past->cursor ? unit : past->cursor;
    if (PAST_UNLIKELY(unit < past->latest || tick >= past->range.until)) return past_reject(past, unix_ms, err);
    if (past->shape.spread && past->cursor <= unit) tick = past_start(past, unit);
    past->cursor = tick + 1;
    past->latest = unit;
    *id = past->range.base + vs_place_tick(&past->shape, tick);
    return VESTA_OK;
}

void vs_past_describe(const struct vs_past_range *range, struct vesta_past_info *out) {
    struct vs_shape shape;
    vs_shape_of(&range->layout, &shape);
    *out = (struct vesta_past_info){.layout = range->layout,
                                    .worker = range->worker,
                                    .from_ms = past_ms_of(&shape, range->from),
                                    .until_ms = past_ms_of(&shape, range->until),
                                    .block = {range->base, range->from, range->until - range->from},
                                    .left = range->until - range->from,
                                    .others = range->others};
    vs_past_text(range, out->text);
}

void vesta_past_get_info(const struct vesta_past *past, struct vesta_past_info *out) {
    vs_past_describe(&past->range, out);
    out->left = past->range.until - past->cursor;
}

/* ------------------------------------------------------------------ opening */

static int past_open_store(const struct vesta_past *past, struct vs_store **store, struct vesta_error *err) {
    struct vs_store_opts opts = {.namespace_ = past->name,
                                 .group = -1,
                                 .clock = past->clock,
                                 .secret = past->secret,
                                 .call_ms_max = vs_lease_preset("balanced")->call_ms};
    return vs_store_open(past->uri, &opts, store, err);
}

int vs_past_open_at(const struct vs_lineage *at, const struct vs_past_ask *ask, struct vesta_past **out,
                    struct vesta_error *err) {
    struct vesta_past *past = aligned_alloc(_Alignof(struct vesta_past), sizeof *past);
    if (!past) return vs_fail(err, VESTA_ENOMEM, "no memory");
    memset(past, 0, sizeof *past);
    struct vs_lineage here = *at;
    past->process = vs_process_token();
    past->clock = at->clock;
    snprintf(past->uri, sizeof past->uri, "%s", at->uri);
    snprintf(past->name, sizeof past->name, "%s", at->name);
    past->secret = at->secret ? strdup(at->secret) : NULL;
    int rc = past_open_store(past, &here.store, err);
    if (rc == VESTA_OK) {
        rc = vs_past_claim(&here, ask, &past->range, err);
        here.store->backend->close(here.store);
    }
    if (rc != VESTA_OK) {
        vesta_past_close(past);
        return rc;
    }
    vs_shape_of(&past->range.layout, &past->shape);
    past->gen.shape = past->shape;
    past->gen.base = past->range.base - past->range.worker * past->shape.worker_unit;
    past->slot.worker = past->range.worker;
    past->cursor = past->latest = past->range.from;
    past->from_ms = past_ms_of(&past->shape, past->range.from);
    past->until_ms = past_ms_of(&past->shape, past->range.until);
    *out = past;
    return VESTA_OK;
}

/* Finds the store, the namespace and the layout that vesta_open would use.  Creates nothing. */
static int past_find(const struct vesta_opts *given, struct vs_settings *settings, struct vs_header *header,
                     struct vesta_error *err) {
    struct vs_anchor anchor;
    bool found;
    int rc = vs_settings_look(given, settings, err);
    if (rc == VESTA_OK && settings->opts.flags)
        rc = vs_fail(err, VESTA_EOPTION, "flags are %#x: set none for a past range", settings->opts.flags);
    settings->opts.any_worker = 1; /* a worker id belongs to the range, not to the generator file */
    settings->opts.has_worker = 0;
    if (rc == VESTA_OK) rc = vs_anchor_find(settings, false, &found, &anchor, err);
    if (rc != VESTA_OK) return rc;
    if (!found) return vs_settings_header(settings, header, err);
    *header = anchor.header;
    /* a password is in the options' URI, not in the file's */
    if (settings->store[0]) snprintf(header->store, sizeof header->store, "%s", settings->store);
    settings->has_layout = true;
    return VESTA_OK;
}

int vesta_past_open(const struct vesta_opts *given, const struct vesta_past_span *span, struct vesta_past **past,
                    struct vesta_error *err) {
    struct vs_settings settings;
    struct vs_header header;
    struct vesta_layout layout;
    char host[64], holder[VS_HOLDER_MAX];
    int rc = past_find(given, &settings, &header, err);
    if (rc == VESTA_OK) rc = vesta_layout_parse(header.layout, &layout, err);
    if (rc != VESTA_OK) return rc;
    vs_host_name(host, sizeof host);
    snprintf(holder, sizeof holder, "%s pid %d", host, (int)getpid());
    const struct vs_lineage at = {
        .uri = header.store, .secret = settings.secret, .name = header.namespace_, .clock = settings.clock};
    const struct vs_past_ask ask = {.layout = settings.has_layout ? &layout : NULL,
                                    .fallback = &layout,
                                    .span = *span,
                                    .has_worker = given->has_worker,
                                    .worker = given->worker,
                                    .fields = settings.opts.fields,
                                    .method = settings.opts.method,
                                    .holder = holder};
    return vs_past_open_at(&at, &ask, past, err);
}

/* ------------------------------------------------------------------ ending */

int vesta_past_release(struct vesta_past *past, struct vesta_error *err) {
    struct vs_store *store;
    if (past->process != vs_process_token()) return past_reject(past, 0, err);
    int rc = past_open_store(past, &store, err);
    if (rc != VESTA_OK) return rc;
    uint64_t next = past->cursor;
    past->is_released = true; /* the store may return the ids to others, even if it does not confirm that */
    past->cursor = past->range.until;
    rc = vs_past_give_back(store, &past->range, next, err);
    store->backend->close(store);
    return rc;
}

void vesta_past_close(struct vesta_past *past) {
    if (!past) return;
    if (past->secret) explicit_bzero(past->secret, strlen(past->secret));
    free(past->secret);
    explicit_bzero(past->uri, sizeof past->uri);
    free(past);
}
