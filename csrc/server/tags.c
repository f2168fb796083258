/* tags.c -- sets of tags, with lookup by a hash of the name and listing in order of the names.  Contains no request or
 * database code. */
#include "server/tags.h"

#include "log/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vs_served_tag *vs_tag_new(const char *name, int loop_count) {
    struct vs_served_tag *tag = calloc(1, sizeof *tag);
    if (!tag) return NULL;
    size_t size = (size_t)loop_count * sizeof *tag->counts;
    tag->counts = aligned_alloc(_Alignof(struct vs_tag_counts), size);
    if (!tag->counts) return free(tag), NULL;
    memset(tag->counts, 0, size);
    snprintf(tag->name, sizeof tag->name, "%s", name);
    tag->name_length = strlen(tag->name);
    return tag;
}

void vs_tag_free(struct vs_served_tag *tag) {
    if (!tag) return;
    vs_mask_close(tag->mask);
    free(tag->counts);
    free(tag);
}

/* ------------------------------------------------------------------ sets */

static int tags_by_name(const void *a, const void *b) {
    return strcmp((*(struct vs_served_tag *const *)a)->name, (*(struct vs_served_tag *const *)b)->name);
}

struct vs_tag_set *vs_tag_set_new(struct vs_served_tag *const *tags, size_t count) {
    struct vs_tag_set *set = calloc(1, sizeof *set);
    if (!set) return NULL;
    assert(count <= VS_SERVED_TAGS_MAX);
    set->count = count;
    size_t width = vs_table_width(count);
    set->at = calloc(count + 1, sizeof(struct vs_served_tag *));
    set->names = (struct vs_table){calloc(width, sizeof *set->names.slot), width - 1};
    if (!set->at || !set->names.slot) return vs_tag_set_free(set), NULL;
    if (count > 0) memcpy(set->at, tags, count * sizeof *tags);
    qsort(set->at, count, sizeof *set->at, tags_by_name);
    for (size_t i = 0; i < count; i++)
        vs_table_put(&set->names, vs_table_hash(set->at[i]->name, set->at[i]->name_length, 0), (uint32_t)i);
    return set;
}

void vs_tag_set_free(struct vs_tag_set *set) {
    if (!set) return;
    free(set->at);
    free(set->names.slot);
    free(set);
}

struct vs_served_tag *vs_tag_named(const struct vs_tag_set *set, const char *name, size_t length) {
    if (!set || length == 0 || length >= VESTA_TAG_MAX) return NULL;
    uint64_t hash = vs_table_hash(name, length, 0);
    size_t at = vs_table_begin(&set->names, hash);
    uint32_t item;
    while (vs_table_next(&set->names, hash, &at, &item)) {
        struct vs_served_tag *tag = set->at[item];
        if (tag->name_length == length && memcmp(tag->name, name, length) == 0) return tag;
    }
    return NULL;
}

size_t vs_tag_after(const struct vs_tag_set *set, const char *name, size_t length) {
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct vs_served_tag *tag = set->at[middle];
        size_t common = tag->name_length < length ? tag->name_length : length;
        int order = memcmp(tag->name, name, common);
        bool is_above = order != 0 ? order > 0 : tag->name_length > length;
        *(is_above ? &high : &low) = is_above ? middle : middle + 1;
    }
    return low;
}

/* ------------------------------------------------------------------ the served set */

struct vs_tag_set *vs_tags_now(struct vs_tags *tags) {
    /* acquire: pairs with vs_tags_replace, so that the set and its tags are completely written */
    return atomic_load_explicit(&tags->set, memory_order_acquire);
}

struct vs_tag_set *vs_tags_replace(struct vs_tags *tags, struct vs_tag_set *set) {
    /* release: pairs with vs_tags_now */
    return atomic_exchange_explicit(&tags->set, set, memory_order_acq_rel);
}

void vs_tags_hold(struct vs_tag_set *set) {
    /* relaxed: before a set is freed, vs_serve_passed must return true, which orders this before vs_tags_are_held */
    if (set) atomic_fetch_add_explicit(&set->holders, 1, memory_order_relaxed);
}

void vs_tags_let(struct vs_tag_set *set) {
    /* release: pairs with vs_tags_are_held, so that all uses of the set precede its freeing */
    if (set) atomic_fetch_sub_explicit(&set->holders, 1, memory_order_release);
}

bool vs_tags_are_held(struct vs_tag_set *set) {
    return atomic_load_explicit(&set->holders, memory_order_acquire) != 0;
}

/* ------------------------------------------------------------------ counts */

struct vs_tag_total vs_tag_total(const struct vs_monitor *monitor, const struct vs_served_tag *tag) {
    struct vs_tag_total total = {{0}, 0};
    for (int i = 0; i < monitor->loop_count; i++) {
        for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
            total.given[protocol] += atomic_load_explicit(&tag->counts[i].given[protocol], memory_order_relaxed);
        total.pauses += atomic_load_explicit(&tag->counts[i].pauses, memory_order_relaxed);
    }
    return total;
}

/* ------------------------------------------------------------------ business numbers */

/* After a number did not fit the form or mask, no number is taken for this time.  So an exhausted tag costs its
 * database at most one transaction in this time, and the first number of a new day is delayed by at most this time. */
#define USED_UP_US 1000000

void vs_tag_rest(struct vs_served_tag *tag, uint64_t number, const struct vesta_clock *clock) {
    if (atomic_exchange(&tag->used_up, number) == 0) /* once, not once per second */
        vs_log(
            VS_LOG_WARN,
            "a counter has no number left that fits its mask or form, so its requests are rejected: create a counter "
            "with more digits",
            "tag", tag->name, NULL);
    atomic_store(&tag->rests_until_us, clock->boot_us(clock->self) + USED_UP_US);
}

int vs_tag_write(struct vs_served_tag *tag, uint64_t number, const struct vesta_clock *clock, char *buf,
                 struct vesta_error *err) {
    int rc = vs_form_write(tag->form, number, buf, err);
    if (rc != VESTA_OK) vs_tag_rest(tag, number, clock);
    return rc;
}

bool vs_tag_is_used_up(const struct vs_served_tag *tag, const struct vesta_clock *clock, struct vesta_error *err) {
    char buf[VS_FORM_TEXT_MAX];
    int64_t until_us = atomic_load(&tag->rests_until_us);
    if (until_us == 0 || clock->boot_us(clock->self) >= until_us) return false;
    uint64_t number = atomic_load(&tag->used_up);
    int rc = tag->mask ? vs_mask_admits(tag->mask, number, err) : vs_form_write(tag->form, number, buf, err);
    return rc != VESTA_OK;
}
