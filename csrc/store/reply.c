#include "store/reply.h"
#include "base/error.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void vs_sent(struct vs_reply *reply) {
    assert(reply->outcome != VS_STORE_OK);    /* a write that succeeded must not be sent again */
    assert(reply->outcome != VS_STORE_MOVED); /* a write to a changed namespace must not be sent again, either */
    reply->outcome = VS_STORE_UNKNOWN;
}

void vs_not_done(struct vs_reply *reply) {
    /* a known outcome must not be weakened */
    assert(reply->outcome == VS_STORE_UNKNOWN || reply->outcome == VS_STORE_DOWN);
    reply->outcome = VS_STORE_DOWN;
}

void vs_done(struct vs_reply *reply) {
    /* after a conflict, the caller must start another call */
    assert(reply->outcome != VS_STORE_CONFLICT);
    assert(reply->outcome != VS_STORE_MOVED);
    reply->outcome = VS_STORE_OK;
    reply->fault = VS_FAULT_NONE;
    reply->text[0] = '\0';
}

void vs_not_first(struct vs_reply *reply) {
    assert(reply->outcome != VS_STORE_OK);
    reply->outcome = VS_STORE_CONFLICT;
    reply->fault = VS_FAULT_NONE;
    reply->text[0] = '\0';
}

static bool reply_answer(struct vs_reply *reply, enum vs_outcome outcome, enum vs_fault fault, const char *format,
                         va_list args) {
    assert(outcome != VS_STORE_OK);
    /* otherwise `outcome` is uninitialized, because no call has cleared the reply */
    assert(outcome <= VS_STORE_UNKNOWN);
    vsnprintf(reply->text, sizeof reply->text, format, args);
    vs_end_whole(reply->text); /* the format may truncate the store's text */
    const char *conversion = format + strcspn(format, "s");
    bool has_place = format[0] == '%' && strncmp(conversion, "s: ", 3) == 0;
    const char *colon = has_place ? strstr(reply->text, ": ") : NULL;
    reply->words = colon ? (size_t)(colon + 2 - reply->text) : 0;
    reply->outcome = outcome;
    reply->fault = fault;
    return false;
}

bool vs_answer(struct vs_reply *reply, enum vs_outcome outcome, const char *format, ...) {
    va_list args;
    va_start(args, format);
    reply_answer(reply, outcome, VS_FAULT_NONE, format, args);
    va_end(args);
    return false;
}

bool vs_answer_fault(struct vs_reply *reply, enum vs_outcome outcome, enum vs_fault fault, const char *format, ...) {
    va_list args;
    va_start(args, format);
    reply_answer(reply, outcome, fault, format, args);
    va_end(args);
    return false;
}

bool vs_answer_as(struct vs_reply *reply, enum vs_outcome outcome, const struct vs_reply *as) {
    vs_answer_fault(reply, outcome, as->fault, "%s", as->text);
    reply->words = as->words;
    return false;
}

bool vs_take_record(struct vs_reply *reply, const char *text, size_t length, const char *where, uint64_t worker) {
    const char *why = length > 0 ? vs_record_read(text, length, &reply->record) : "it is empty";
    assert(why || reply->record.ver > 0); /* version 0 means that there is no record */
    return !why ||
           vs_answer(reply, VS_STORE_REFUSED, "record %.90s/%" PRIu64 " cannot be used: %s", where, worker, why);
}

bool vs_take_ns(struct vs_reply *reply, const char *text, size_t length, const char *where) {
    const char *why = length > 0 ? vs_ns_record_read(text, length, &reply->ns) : "it is empty";
    assert(why || reply->ns.ver > 0);
    return !why || vs_answer(reply, VS_STORE_REFUSED, "record %.90s/namespace cannot be used: %s", where, why);
}

void vs_meet(struct vs_met *met, const struct vs_reply *reply) {
    /* without a record, the reply must not contain parts of an earlier one */
    assert(reply->ns.ver || !reply->ns.incarnation);
    *met = (struct vs_met){reply->ns.ver, reply->ns.incarnation};
}

bool vs_is_met(struct vs_met *met, struct vs_reply *reply) {
    assert(met->ver || !met->incarnation);
    if (met->ver == 0) vs_meet(met, reply);
    if (reply->ns.ver && reply->ns.ver == met->ver && reply->ns.incarnation == met->incarnation) return true;
    return vs_answer(reply, VS_STORE_MOVED,
                     reply->ns.ver ? "the namespace's record was changed" : "the namespace is not in the store");
}

bool vs_follows(const struct vs_record *next, const struct vs_record *stands, uint64_t old_ver) {
    assert(next->ver == old_ver + 1);
    bool same_owner = next->owner[0] == stands->owner[0] && next->owner[1] == stands->owner[1];
    bool goes_on = (same_owner && next->epoch == stands->epoch) || next->epoch == stands->epoch + 1;
    return stands->ver == old_ver && (old_ver == 0 || goes_on);
}

bool vs_is_same_write(const struct vs_record *record, const struct vs_record *stands) {
    return record->ver == stands->ver && record->epoch == stands->epoch && record->until == stands->until &&
           record->held == stands->held && record->seen_ms == stands->seen_ms &&
           memcmp(record->owner, stands->owner, sizeof record->owner) == 0 &&
           strcmp(record->holder, stands->holder) == 0;
}

bool vs_list_add(struct vs_growing_list *list, uint64_t worker, struct vs_reply *reply) {
    size_t count = *list->count;
    assert(count <= list->room);
    assert(!*list->listed == !list->room);
    if (count == list->room) {
        size_t more = count ? count * 2 : 64;
        struct vs_listed *grown = realloc(*list->listed, more * sizeof *grown);
        if (!grown) return vs_answer(reply, VS_STORE_DOWN, "no memory for %zu records", count + 1);
        *list->listed = grown;
        list->room = more;
    }
    (*list->listed)[count] = (struct vs_listed){worker, reply->record};
    *list->count = count + 1;
    return true;
}

bool vs_is_number(const char *name, uint64_t *number) {
    char canonical[32];
    if (vesta_parse(VESTA_DECIMAL, name, strlen(name), number) != VESTA_OK) return false;
    snprintf(canonical, sizeof canonical, "%" PRIu64, *number);
    return strcmp(name, canonical) == 0;
}

static int by_worker(const void *a, const void *b) {
    uint64_t x = ((const struct vs_listed *)a)->worker, y = ((const struct vs_listed *)b)->worker;
    return x < y ? -1 : x > y;
}

void vs_list_sort(struct vs_listed *listed, size_t count) {
    if (count) qsort(listed, count, sizeof *listed, by_worker);
}

struct vs_store vs_store_base(const struct vs_backend *backend, const struct vs_store_opts *opts) {
    return (struct vs_store){.backend = backend,
                             .leases = backend->leases,
                             .counters = backend->counters,
                             .admin = backend->admin,
                             .clock = opts->clock,
                             .cut_us = opts->cut_us};
}

/* ------------------------------------------------------------------ a call's time */

#define SLICE_MS 50
_Static_assert(SLICE_MS < VS_STORE_CALL_MS, "a cut must be noticed before the call ends");
_Static_assert(VS_STORE_CALL_MS <= VS_STORE_LIST_MS, "a listing may take longer than a call");

int64_t vs_call_begin(struct vs_store *store, int64_t ms_max) {
    assert(ms_max > 0);
    int64_t now_us = store->clock->boot_us(store->clock->self);
    store->until_us = now_us + ms_max * 1000;
    return now_us;
}

int64_t vs_call_left_ms(const struct vs_store *store) {
    assert(store->until_us != 0);
    int64_t cut_us = store->cut_us ? atomic_load(store->cut_us) : 0;
    int64_t until_us = cut_us && cut_us < store->until_us ? cut_us : store->until_us;
    int64_t left_us = until_us - store->clock->boot_us(store->clock->self);
    return left_us > 0 ? (left_us + 999) / 1000 : 0;
}

int64_t vs_call_slice_ms(const struct vs_store *store) {
    int64_t left_ms = vs_call_left_ms(store);
    return left_ms < SLICE_MS ? left_ms : SLICE_MS;
}
