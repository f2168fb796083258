/* reply.c -- how a backend fills in an answer. */
#include "store/reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void vs_answer(struct vs_reply *reply, enum vs_outcome outcome, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(reply->text, sizeof reply->text, format, args);
    va_end(args);
    reply->outcome = outcome;
}

void vs_answer_record(struct vs_reply *reply, const char *text, size_t length, const char *where, uint64_t worker) {
    const char *why = length > 0 ? vs_record_read(text, length, &reply->record) : "it is empty";
    reply->outcome = VS_STORE_OK;
    if (why) vs_answer(reply, VS_STORE_REFUSED, "%.90s/%" PRIu64 " cannot be used: %s", where, worker, why);
}

void vs_answer_ns(struct vs_reply *reply, const char *text, size_t length, const char *where) {
    const char *why = length > 0 ? vs_ns_record_read(text, length, &reply->ns) : "it is empty";
    reply->outcome = VS_STORE_OK;
    if (why) vs_answer(reply, VS_STORE_REFUSED, "%.90s/namespace cannot be used: %s", where, why);
}

void vs_meet(struct vs_met *met, const struct vs_reply *reply) {
    if (reply->outcome == VS_STORE_OK) *met = (struct vs_met){reply->ns.ver, reply->ns.incarnation};
}

bool vs_is_met(struct vs_met *met, struct vs_reply *reply) {
    if (met->ver == 0) vs_meet(met, reply);
    if (reply->ns.ver && reply->ns.ver == met->ver && reply->ns.incarnation == met->incarnation) return true;
    vs_answer(reply, VS_STORE_MOVED,
              reply->ns.ver ? "the namespace's record has changed" : "the namespace is not in the store");
    return false;
}

bool vs_follows(const struct vs_record *next, const struct vs_record *stands, uint64_t old_ver) {
    bool same_owner = next->owner[0] == stands->owner[0] && next->owner[1] == stands->owner[1];
    bool goes_on = (same_owner && next->epoch == stands->epoch) || next->epoch == stands->epoch + 1;
    return stands->ver == old_ver && (old_ver == 0 || goes_on);
}

struct vs_listed *vs_list_room(struct vs_listed **listed, size_t count, size_t *room) {
    if (count == *room) {
        size_t more = *room ? *room * 2 : 64;
        struct vs_listed *grown = realloc(*listed, more * sizeof *grown);
        if (!grown) return NULL;
        *listed = grown;
        *room = more;
    }
    return *listed + count;
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
