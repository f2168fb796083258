/* multi.c -- the memory of a transaction (see multi.h).  Contains no command code. */
#include "server/resp/multi.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The source of a wanted id: a namespace or a tag.  `run` > 1: the id is the last of that many consecutive numbers. */
struct demand {
    /* index in server->names.at, or VS_NAMESPACES_MAX plus the index in the transaction's set of tags */
    uint16_t source;
    uint32_t run;
};
_Static_assert(VS_NAMESPACES_MAX + VS_SERVED_TAGS_MAX <= UINT16_MAX && VESTA_NUMBERS_MAX <= UINT32_MAX,
               "a demand can hold every source and run");

static void multi_forget(struct vs_session *s, struct vs_heap *heap) {
    free(heap->at);
    vs_session_give(s, heap->size);
    *heap = (struct vs_heap){0};
}

static void forget_queue(struct vs_session *s) {
    multi_forget(s, &s->multi->queue);
    multi_forget(s, &s->multi->demands);
    multi_forget(s, &s->multi->asked);
}

/* Updates the number of queued commands in the roster. */
static void show_count(struct vs_session *s) {
    vs_set(&s->member.commands, s->multi ? s->multi->count + 1 : 0);
}

void vs_multi_end(struct vs_session *s) {
    if (!s->multi) return;
    forget_queue(s);
    vs_tags_let(s->multi->tags);
    free(s->multi);
    s->multi = NULL;
    show_count(s);
}

void vs_multi_fail(struct vs_session *s) {
    if (!s->multi) return;
    s->multi->failed = true;
    forget_queue(s);
}

static bool multi_append(struct vs_session *s, struct vs_heap *heap, const void *bytes, size_t length) {
    if (heap->size - heap->used < length) {
        size_t size = 2 * (heap->used + length);
        if (!vs_session_take(s, size - heap->size)) return false;
        char *more = realloc(heap->at, size);
        if (!more) return vs_session_give(s, size - heap->size), false;
        heap->at = more;
        heap->size = size;
    }
    memcpy(heap->at + heap->used, bytes, length);
    heap->used += length;
    return true;
}

bool vs_multi_begin(struct vs_session *s) {
    s->multi = calloc(1, sizeof *s->multi);
    if (!s->multi) return false;
    s->multi->tags = vs_tags_now(&s->server->tags);
    vs_tags_hold(s->multi->tags);
    show_count(s);
    return true;
}

struct queued {
    const struct vs_call *call;
    size_t length;
};

bool vs_multi_add(struct vs_session *s, const struct vs_call *call, struct vs_slice bytes) {
    struct vs_multi *m = s->multi;
    struct queued head = {call, bytes.length};
    size_t used = m->queue.used;
    if (!multi_append(s, &m->queue, &head, sizeof head)) return false;
    if (!multi_append(s, &m->queue, bytes.at, bytes.length)) return m->queue.used = used, false;
    m->count++;
    m->bytes += bytes.length;
    show_count(s);
    return true;
}

const struct vs_call *vs_multi_next(struct vs_session *s, struct vs_slice *bytes) {
    struct vs_multi *m = s->multi;
    struct queued head;
    memcpy(&head, m->queue.at + m->at, sizeof head);
    *bytes = (struct vs_slice){m->queue.at + m->at + sizeof head, head.length};
    m->at += sizeof head + head.length;
    return head.call;
}

/* ------------------------------------------------------------------ ids */

static uint16_t source_of(struct vs_request *r) {
    const struct vs_tag_set *tags = r->session->multi->tags;
    if (!r->tag) return (uint16_t)(r->ns - r->session->server->names.at);
    return (uint16_t)(VS_NAMESPACES_MAX + vs_tag_after(tags, r->tag->name, r->tag->name_length) - 1);
}

static void turn_to_source(struct vs_request *r, uint16_t source) {
    if (source < VS_NAMESPACES_MAX)
        vs_request_turn(r, &r->session->server->names.at[source]);
    else
        r->tag = r->session->multi->tags->at[source - VS_NAMESPACES_MAX];
}

/* If there is no memory, the id is counted but not recorded, which vs_multi_is_noted detects. */
bool vs_multi_want(struct vs_request *r, uint64_t run) {
    struct demand one = {source_of(r), (uint32_t)run};
    struct vs_multi *m = r->session->multi;
    return ++m->wanted <= VESTA_BATCH_MAX && multi_append(r->session, &m->demands, &one, sizeof one);
}

bool vs_multi_is_noted(const struct vs_session *s) {
    return s->multi->demands.used == s->multi->wanted * sizeof(struct demand);
}

static struct demand demand_at(const struct vs_multi *m, size_t i) {
    struct demand one;
    memcpy(&one, m->demands.at + i * sizeof one, sizeof one);
    return one;
}

size_t vs_multi_turn(struct vs_request *r, size_t i, uint64_t *run) {
    const struct vs_multi *m = r->session->multi;
    struct demand first = demand_at(m, i);
    size_t same = 1;
    turn_to_source(r, first.source);
    *run = first.run;
    for (; first.run == 1 && i + same < m->wanted; same++) {
        struct demand next = demand_at(m, i + same);
        if (next.source != first.source || next.run != 1) break;
    }
    return same;
}

const uint64_t *vs_multi_hand_out(struct vs_session *s, size_t n) {
    struct vs_multi *m = s->multi;
    assert(m->mode == VS_MULTI_ANSWERING && m->taken + n <= s->waiting.ids_count);
    m->taken += n;
    return s->waiting.ids + m->taken - n;
}

/* ------------------------------------------------------------------ requests */

bool vs_multi_asks(const struct vs_session *s, size_t i, struct vs_asked_of *of) {
    const struct vs_heap *asked = &s->multi->asked;
    if ((i + 1) * sizeof *of > asked->used) return false;
    memcpy(of, asked->at + i * sizeof *of, sizeof *of);
    return true;
}

bool vs_multi_ask(struct vs_request *r) {
    struct vs_multi *m = r->session->multi;
    struct vs_asked_of of = {.ns = UINT32_MAX}, next = {(uint32_t)(r->ns - r->session->server->names.at), 1};
    size_t count = m->asked.used / sizeof of;
    if (count > 0) vs_multi_asks(r->session, count - 1, &of);
    if (of.ns == next.ns) {
        next.requests += of.requests;
        m->asked.used -= sizeof of;
    }
    if (multi_append(r->session, &m->asked, &next, sizeof next)) return true;
    vs_refuse_memory(r);
    m->cannot = true;
    return false;
}
