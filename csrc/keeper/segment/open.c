/* open.c -- vesta_segment_open and vesta_segment_close: checks the options, and creates, shares and frees segments. */
#include "keeper/segment/counter.h"
#include "base/error.h"
#include "keeper/file.h"
#include "store/counter.h"
#include "os/clock.h"
#include "os/lock.h"
#include "os/process.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ options */

struct settings {
    struct vesta_segment_opts opts;
    const struct vesta_clock *clock;
    uint32_t count; /* number of stores */
    int group;
    struct vs_anchor anchor;
    char stores[VESTA_DATABASES_MAX][VS_URI_MAX]; /* canonical URIs, referenced by opts.stores */
};

static int check_stores(struct settings *settings, struct vesta_error *err) {
    struct vesta_segment_opts *opts = &settings->opts;
    uint32_t count = 0;
    while (count < VESTA_DATABASES_MAX && opts->stores[count])
        count++;
    if (count == 0) return vs_fail(err, VESTA_EOPTION, "a segment needs a store: %s", VS_STORE_FORMS);
    for (uint32_t i = count; i < VESTA_DATABASES_MAX; i++)
        if (opts->stores[i])
            return vs_fail(err, VESTA_EOPTION, "stores[%" PRIu32 "] is set, but stores[%" PRIu32 "] is not", i, count);
    for (uint32_t i = 0; i < count; i++) {
        int rc = vs_store_canonical(opts->stores[i], settings->stores[i], err);
        if (rc != VESTA_OK) return rc;
        opts->stores[i] = settings->stores[i];
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(opts->stores[i], opts->stores[j]) == 0)
                return vs_fail(err, VESTA_EOPTION,
                               "stores[%" PRIu32 "] and stores[%" PRIu32 "] are one database: name each database once",
                               j, i);
        if (opts->secrets[i] && strlen(opts->secrets[i]) >= VS_SECRET_MAX)
            return vs_fail(err, VESTA_EOPTION, "secrets[%" PRIu32 "] is longer than %d bytes", i, VS_SECRET_MAX - 1);
    }
    settings->count = count;
    return VESTA_OK;
}

static int seg_check_numbers(const struct settings *settings, struct vesta_error *err) {
    const struct vesta_segment_opts *opts = &settings->opts;
    if (opts->step > VS_RANGE_MAX)
        return vs_fail(err, VESTA_EOPTION, "step %" PRIu64 " is out of range: use 1 to %" PRIu64, opts->step,
                       VS_RANGE_MAX);
    if (opts->step_max > VS_RANGE_MAX)
        return vs_fail(err, VESTA_EOPTION, "step_max %" PRIu64 " is out of range: use 1 to %" PRIu64, opts->step_max,
                       VS_RANGE_MAX);
    if (opts->flags & ~(unsigned)(VESTA_NO_KEEPER | VESTA_FILE_KEEPER))
        return vs_fail(err, VESTA_EOPTION, "unknown flags in %#x", opts->flags);
    if (opts->order != VESTA_TREND && opts->order != VESTA_STRICT)
        return vs_fail(err, VESTA_EOPTION, "order %d does not exist: trend is %d, strict is %d", (int)opts->order,
                       VESTA_TREND, VESTA_STRICT);
    if (opts->order == VESTA_STRICT && settings->count > 1)
        return vs_fail(err, VESTA_EOPTION,
                       "order strict needs a single database that issues all numbers, but '%s' has %" PRIu32
                       ": their numbers cannot be put in one order",
                       opts->tag, settings->count);
    if (opts->floor && opts->order != VESTA_STRICT)
        return vs_fail(err, VESTA_EOPTION,
                       "a floor needs order strict: in trend, ranges are taken long before their use");
    return VESTA_OK;
}

static int check_names(const struct settings *settings, struct vesta_error *err) {
    const struct vesta_segment_opts *opts = &settings->opts;
    if (!opts->tag) return vs_fail(err, VESTA_EOPTION, "a segment needs a tag");
    if (!vs_tag_is_named(opts->tag))
        return vs_fail(err, VESTA_EOPTION, "'%s' is not a tag: use 1 to %d of A-Z a-z 0-9 _ . : - and no dot in front",
                       VS_QUOTE(opts->tag, strlen(opts->tag)), VESTA_TAG_MAX - 1);
    if (opts->table && (!*opts->table || strlen(opts->table) >= sizeof((struct vesta_segment *)NULL)->table))
        return vs_fail(err, VESTA_EOPTION, "'%s' is not a valid table name",
                       VS_QUOTE(opts->table, strlen(opts->table)));
    return VESTA_OK;
}

/* Derives the map's key from all options that must be equal for two handles to share a cursor.  Excludes secrets. */
static int seg_derive(struct settings *settings, struct vesta_error *err) {
    const struct vesta_segment_opts *opts = &settings->opts;
    char address[VS_URI_MAX], all[VESTA_DATABASES_MAX * (VS_URI_MAX + 1)] = "";
    struct vs_header header = {.group = settings->group};
    if (vs_maps_dir(header.maps) != 0)
        return vs_fail(err, VESTA_EIO, "VESTA_MAPS is not an absolute path of less than %d bytes", VS_MAPS_MAX);
    for (uint32_t i = 0; i < settings->count; i++) {
        strcat(all, vs_store_public(opts->stores[i], address));
        strcat(all, "\n");
    }
    vs_store_public(opts->stores[0], header.store);
    snprintf(header.namespace_, sizeof header.namespace_, "%s", opts->tag);
    /* so that options that name the default table lead to the same key */
    const char *table = opts->table ? opts->table : VS_COUNTER_TABLE;
    snprintf(header.identity, sizeof header.identity, "%s", table);
    snprintf(header.lease, sizeof header.lease, "%s", opts->order == VESTA_STRICT ? "strict" : "trend");
    vs_anchor_derive(&header, all, 0, &settings->anchor);
    settings->anchor.kind = &vs_segment_map;
    return VESTA_OK;
}

static int seg_read_settings(const struct vesta_segment_opts *opts, struct settings *settings,
                             struct vesta_error *err) {
    static const struct vs_opts_kind kind = {"vesta_segment_opts", "VESTA_SEGMENT_OPTS_INIT", sizeof *opts};
    int rc = vs_opts_take(&kind, opts, &settings->opts, err);
    if (rc == VESTA_OK) rc = check_names(settings, err);
    if (rc == VESTA_OK) rc = check_stores(settings, err);
    if (rc == VESTA_OK) rc = seg_check_numbers(settings, err);
    if (rc == VESTA_OK) rc = vs_group_find(settings->opts.group, &settings->group, err);
    if (rc == VESTA_OK) rc = seg_derive(settings, err);
    settings->clock = settings->opts.clock ? settings->opts.clock : vs_clock_system();
    return rc;
}

/* ------------------------------------------------------------------ open and close */

static struct vesta_segment *seg_find(const struct vs_anchor *anchor) {
    struct vesta_segment *seg = vs_segments_first();
    while (seg && memcmp(seg->anchor.header.key, anchor->header.key, VS_KEY_BYTES) != 0)
        seg = seg->next;
    return seg;
}

static void seg_fill(struct vesta_segment *seg, const struct settings *settings) {
    const struct vesta_segment_opts *opts = &settings->opts;
    seg->clock = settings->clock;
    seg->anchor = settings->anchor;
    seg->step = opts->step;
    seg->order = opts->order;
    seg->floor = (struct vs_floor){opts->floor, opts->floor_self, opts->fits, opts->form, true /* in the map */};
    seg->keeps = true;
    seg->parts_count = settings->count;
    snprintf(seg->tag, sizeof seg->tag, "%s", opts->tag);
    snprintf(seg->table, sizeof seg->table, "%s", opts->table ? opts->table : "");
    for (uint32_t i = 0; i < settings->count; i++) {
        struct vs_segment_part *part = &seg->part[i];
        part->segment = seg;
        part->index = i;
        part->step_max = opts->step_max ? opts->step_max : VESTA_STEP_MAX;
        atomic_store(&part->fetch_us, -1);
        vs_store_public(opts->stores[i], part->shown);
        seg->keeps = seg->keeps && vs_may_keep(opts->flags, opts->stores[i]);
    }
}

static void leave_databases(struct vesta_segment *seg) {
    for (uint32_t i = 0; i < seg->parts_count; i++)
        if (seg->part[i].database) vs_database_leave(seg->part[i].database);
}

static bool enter_databases(struct vesta_segment *seg, const struct settings *settings) {
    for (uint32_t i = 0; i < settings->count; i++) {
        seg->part[i].database =
            vs_database_enter(settings->opts.stores[i], settings->opts.secrets[i], settings->group, settings->clock);
        if (!seg->part[i].database) return false;
        vs_part_reset(&seg->part[i]);
    }
    return true;
}

/* Creates a segment.  Call with the process lock held. */
static int seg_make(const struct settings *settings, struct vesta_segment **out, struct vesta_error *err) {
    assert(vs_process_is_locked());
    assert(settings->count > 0 && settings->count <= VESTA_DATABASES_MAX);
    struct vesta_segment *seg = calloc(1, sizeof *seg + settings->count * sizeof *seg->part);
    if (!seg) return vs_fail(err, VESTA_ENOMEM, "no memory");
    seg_fill(seg, settings);
    if (seg->order == VESTA_STRICT && !(seg->strict = calloc(1, sizeof *seg->strict))) {
        free(seg);
        return vs_fail(err, VESTA_ENOMEM, "no memory");
    }
    int rc = vs_segment_map_first(seg, err);
    if (rc != VESTA_OK) {
        free(seg->strict);
        free(seg);
        return rc;
    }
    atomic_store(&seg->live, &seg->first);
    atomic_store(&seg->words, seg->first.words);
    vs_segments_add(seg);
    *out = seg;
    return enter_databases(seg, settings) ? VESTA_OK : vs_fail(err, VESTA_ENOMEM, "no memory");
}

/* Returns true if the settings have the segment's floor and form.  All handles of a counter must have the same floor,
 * because otherwise a caller could get numbers below its floor. */
static bool has_floor(const struct vesta_segment *seg, const struct settings *settings) {
    const char *form = seg->floor.form, *asked = settings->opts.form;
    bool is_form = form && asked ? strcmp(form, asked) == 0 : form == asked;
    return is_form && seg->floor.at == settings->opts.floor && seg->floor.self == settings->opts.floor_self;
}

int vesta_segment_open(const struct vesta_segment_opts *opts, struct vesta_segment **out, struct vesta_error *err) {
    struct settings settings;
    int rc = seg_read_settings(opts, &settings, err);
    if (rc != VESTA_OK) return rc;
    struct vesta_segment *seg;
    for (;;) {
        vs_process_lock();
        seg = seg_find(&settings.anchor);
        if (!seg || seg->closing_in != vs_process_token()) break;
        vs_process_unlock();
        usleep(1000);
    }
    if (seg && !has_floor(seg, &settings)) {
        vs_process_unlock();
        return vs_fail(err, VESTA_EOPTION,
                       "'%s' is already open with a different floor or form: use the same floor and form", seg->tag);
    }
    if (!seg) rc = seg_make(&settings, &seg, err);
    if (seg) seg->users++;
    vs_process_unlock();
    if (rc == VESTA_OK)
        *out = seg;
    else
        vesta_segment_close(seg);
    return rc;
}

/* Returns true if no other process uses the map or can find it later. */
static bool is_lost(struct vesta_segment *seg, struct vs_live *live) {
    bool is_alone = vs_lock_byte(live->mapping.fd, VS_BYTE_HERE, true);
    return seg->keeps && is_alone && (!live->mapping.name[0] || !vs_mapping_is_named(&live->mapping));
}

void vesta_segment_close(struct vesta_segment *seg) {
    if (!seg) return;
    vs_process_lock();
    assert(seg->users > 0);
    bool last = --seg->users == 0;
    seg->closing_in = last ? vs_process_token() : 0;
    vs_process_unlock();
    if (!last) return;
    struct vs_live *live = atomic_load(&seg->live);
    char said[VS_SAID_MAX];
    if (is_lost(seg, live))
        (void)vs_segment_give_back(seg, live, said); /* if this fails, these numbers stay unused */
    else
        vs_segment_leave(seg);
    leave_databases(seg);
    vs_segment_see(seg);
    vs_process_lock();
    vs_segments_remove(seg);
    vs_segment_unmap(seg); /* call this under the lock, because it drops this process's locks on the map */
    vs_process_unlock();
    free(seg->strict);
    free(seg->nothing);
    free(seg);
}
