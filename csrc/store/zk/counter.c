/* counter.c -- counters in ZooKeeper: one node per tag, which contains the counter's row as text (lease/record.h).
 *
 *     /~counters/<tag>
 *     /~shares/<tag>     the store's share of the tag's numbers, as a row: step is the delta, max is the remainder
 *     /~forms/<tag>      the fingerprint of the form of its numbers, as a row: max is the fingerprint
 *
 * A write is a set over the version that was read after a sync.  The same message reads the node again, and the write
 * counts as done only if that read shows it.  If another write came first, the new row is computed again from the
 * resulting row. */
#include "store/counter.h"
#include "store/zk/nodes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES_MAX 8

struct zk_counter_call {
    struct zk_store *self;
    const char *tag, *folder;
    char path[VS_ZK_PATH_MAX];
    struct vs_reply *reply;
};

struct view {
    bool found;
    struct vs_tag row;
    uint64_t ver; /* 0: the node does not exist */
    struct Stat stat;
};

static void path_of(const struct zk_store *self, const char *tag, char path[static VS_ZK_PATH_MAX]) {
    vs_zk_path(self, path, VS_ZK_COUNTERS "/%s", tag);
}

static void turn_to(struct zk_counter_call *call, const char *folder) {
    call->folder = folder;
    vs_zk_path(call->self, call->path, "%s/%s", folder, call->tag);
}

/* Takes the next answer, which is the answer to a get of the tag's node.  Sets *text to the node's content. */
static bool next_node(const struct zk_counter_call *call, struct view *view, struct vs_slice *text,
                      struct vs_reply *reply) {
    const struct zk_answer *answer = vs_zk_next(call->self, reply);
    *view = (struct view){.found = false};
    if (!answer) return false;
    if (answer->rc == ZNONODE) return true;
    if (answer->rc != ZOK) return vs_zk_trouble(call->self, answer->rc, reply);
    *text = (struct vs_slice){answer->text, answer->length < VS_RECORD_TEXT_MAX ? answer->length : VS_RECORD_TEXT_MAX};
    view->found = true;
    view->stat = answer->stat;
    return true;
}

static bool next_row(const struct zk_counter_call *call, struct view *view, struct vs_reply *reply) {
    struct vs_slice text;
    return next_node(call, view, &text, reply) &&
           (!view->found || vs_counter_read(call->tag, text, &view->row, &view->ver, reply));
}

static bool zk_counter_look(const struct zk_counter_call *call, struct view *view) {
    vs_zk_ask(call->self, ZK_SYNC, call->self->root);
    vs_zk_ask(call->self, ZK_GET, call->path);
    vs_zk_ask(call->self, ZK_GET_ACL, call->path);
    return vs_zk_time(call->self, call->reply) && vs_zk_next_sync(call->self, call->reply) &&
           next_row(call, view, call->reply) && vs_zk_next_acl(call->self, call->folder, view->found, call->reply);
}

/* ------------------------------------------------------------------ writing */

/* Sends the multi that writes over the version that was read, and a get after it. */
static void zk_counter_put_row(const struct zk_counter_call *call, const struct view *view, const char *text,
                               size_t length) {
    struct zk_call *multi = vs_zk_multi(call->self);
    if (!multi) return;
    if (!view->found) vs_zk_op_create(multi, call->path, text, length, call->self->is_open);
    /* a set is also needed after a create, because only a set returns the time */
    vs_zk_op_set(multi, call->path, text, length, view->found ? view->stat.version : 0);
    vs_zk_send(call->self, multi);
    vs_zk_ask(call->self, ZK_GET, call->path);
}

/* Returns whether the get after the write shows that the write was done.  Either the node has the write's own
 * transaction, or later writes have replaced it and the answer shows the node's next change. */
static bool zk_counter_shows(const struct zk_counter_call *call, const struct vs_tag *row, uint64_t ver,
                             const struct zk_writing *writing) {
    struct vs_reply seen = {.outcome = call->reply->outcome};
    struct view view;
    if (!next_row(call, &view, &seen)) {
        vs_answer_as(call->reply, call->reply->outcome, &seen);
        return false;
    }
    const struct Stat *made = &writing->made.stat, *at = &view.stat;
    bool stands = vs_zk_is_of(at, made) && view.ver == ver && view.row.max == row->max && view.row.step == row->step;
    bool moved_on = at->mzxid > made->mzxid && vs_zk_version_is_later(at->version, made->version) && view.ver > ver;
    return (view.found && vs_zk_is_new(writing) && (stands || moved_on)) ||
           vs_zk_no_answer(call->self, "the written node cannot be read back", call->reply);
}

/* The result of a write.  OTHER: another write came first.  TOLD: the reply has been filled. */
enum zk_counter_fate { FATE_OK, FATE_OTHER, FATE_TOLD };

static enum zk_counter_fate zk_counter_write_row(const struct zk_counter_call *call, const struct view *view,
                                                 const struct vs_tag *row) {
    char text[VS_RECORD_TEXT_MAX];
    struct zk_writing writing = {.length = vs_counter_text(row, view->ver + 1, text),
                                 .version = view->found ? vs_zk_version_behind(view->stat.version) : 1,
                                 .before_zxid = view->found ? view->stat.mzxid : 0};
    assert(view->found == (view->ver > 0));
    zk_counter_put_row(call, view, text, writing.length);
    vs_sent(call->reply);
    if (!vs_zk_next_multi(call->self, &writing.made, call->reply)) return FATE_TOLD;
    int rc = writing.made.rc;
    if (rc == ZOK) {
        if (!zk_counter_shows(call, row, view->ver + 1, &writing)) return FATE_TOLD;
        vs_zk_learn_time(call->self, &writing.made.stat);
        call->reply->store_ms = writing.made.stat.mtime;
        return FATE_OK;
    }
    vs_zk_give_up(call->self); /* the node will be read again */
    vs_not_done(call->reply);
    if (rc == ZBADVERSION || rc == ZNODEEXISTS || (rc == ZNONODE && view->found)) return FATE_OTHER;
    vs_zk_trouble(call->self, rc, call->reply);
    return FATE_TOLD;
}

static bool zk_counter_begin(struct zk_counter_call *call, struct vs_store *store, const struct vs_counter *counter,
                             struct vs_reply *reply) {
    *call = (struct zk_counter_call){.self = (struct zk_store *)store, .tag = counter->tag, .reply = reply};
    assert(store->counters->take == vs_zk_take);
    vs_reply_clear(reply);
    if (!vs_counter_no_table(counter->table, reply) || !vs_counter_check(counter, reply) ||
        !vs_zk_begin(call->self, call->self->call_ms_max, reply))
        return false;
    turn_to(call, VS_ZK_COUNTERS);
    return true;
}

static void change_node(const struct zk_counter_call *of, const struct vs_counter_change *change) {
    struct zk_counter_call call = *of;
    struct vs_reply *reply = call.reply;
    struct vs_tag next;
    struct view view;
    char folder[VS_ZK_PATH_MAX];
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        if (!zk_counter_look(&call, &view) ||
            !vs_counter_decide(change, call.tag, view.found ? &view.row : NULL, &next, reply))
            return;
        if (!vs_zk_is_compared(call.self, &view.stat, call.tag, reply)) return;
        vs_zk_path(call.self, folder, "%s", call.folder);
        if (!view.found && !vs_zk_make_node(call.self, folder, reply)) return;
        next.updated_ms = reply->store_ms;
        enum zk_counter_fate fate = zk_counter_write_row(&call, &view, &next);
        if (fate == FATE_OK) vs_done(reply);
        if (fate != FATE_OTHER) return;
    }
    vs_answer(reply, VS_STORE_CONFLICT, "%.90s: other writers changed tag '%s' during each attempt: try again",
              call.self->place.where, call.tag);
}

static void zk_counter_change(struct vs_store *store, const struct vs_counter *counter,
                              const struct vs_counter_change *change, struct vs_reply *reply) {
    struct zk_counter_call call;
    if (zk_counter_begin(&call, store, counter, reply)) change_node(&call, change);
}

/* ------------------------------------------------------------------ operations */

void vs_zk_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply) {
    zk_counter_change(store, counter, &(struct vs_counter_change){.what = VS_TAKE, .step = step}, reply);
}

void vs_zk_untake(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t until,
                  struct vs_reply *reply) {
    zk_counter_change(store, counter, &(struct vs_counter_change){.what = VS_UNTAKE, .from = from, .until = until},
                      reply);
}

void vs_zk_tag_add(struct vs_store *store, const struct vs_counter *counter, uint64_t from, uint64_t step,
                   struct vs_reply *reply) {
    zk_counter_change(store, counter, &(struct vs_counter_change){.what = VS_TAG_ADD, .from = from, .step = step},
                      reply);
}

void vs_zk_tag_step(struct vs_store *store, const struct vs_counter *counter, uint64_t step, struct vs_reply *reply) {
    zk_counter_change(store, counter, &(struct vs_counter_change){.what = VS_TAG_STEP, .step = step}, reply);
}

void vs_zk_lift(struct vs_store *store, const struct vs_counter *counter, uint64_t floor, struct vs_reply *reply) {
    zk_counter_change(store, counter, &(struct vs_counter_change){.what = VS_LIFT, .from = floor}, reply);
}

void vs_zk_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                 struct vs_reply *reply) {
    const struct vs_counter_change change = {.what = VS_TAG_ADD, .from = share->remainder, .step = share->delta};
    struct zk_counter_call call;
    struct view view;
    if (!zk_counter_begin(&call, store, counter, reply) || !zk_counter_look(&call, &view)) return;
    if (!view.found) {
        vs_counter_unknown(call.tag, reply);
        return;
    }
    turn_to(&call, VS_ZK_SHARES);
    if (!zk_counter_look(&call, &view)) return;
    if (!view.found) {
        change_node(&call, &change); /* another host may have made the same change */
        if (reply->outcome != VS_STORE_OK && reply->outcome != VS_STORE_CONFLICT) return;
        vs_reply_clear(reply);
        if (!zk_counter_look(&call, &view)) return;
    }
    const struct vs_share stands = {.delta = view.found ? (uint64_t)view.row.step : 0,
                                    .remainder = view.found ? (uint64_t)view.row.max : 0};
    vs_share_answer(&stands, share, reply);
}

void vs_zk_form(struct vs_store *store, const struct vs_counter *counter, uint64_t fingerprint,
                struct vs_reply *reply) {
    const struct vs_counter_change add = {.what = VS_TAG_ADD, .from = fingerprint, .step = 1};
    struct zk_counter_call call;
    struct view view;
    if (!zk_counter_begin(&call, store, counter, reply)) return;
    turn_to(&call, VS_ZK_FORMS);
    if (!zk_counter_look(&call, &view)) return;
    if (!view.found && fingerprint) {
        change_node(&call, &add); /* another host may have made the same change */
        if (reply->outcome != VS_STORE_OK && reply->outcome != VS_STORE_CONFLICT) return;
        vs_reply_clear(reply);
        if (!zk_counter_look(&call, &view)) return;
    }
    vs_form_answer(call.tag, view.found ? (uint64_t)view.row.max : 0, fingerprint, reply);
}

/* ------------------------------------------------------------------ listing */

/* NUL-terminated names, one after another in memory. */
struct zk_counter_names {
    char *at;
    size_t length;
};

/* Takes the next answer, which is a list of children.  A missing node has no children. */
static bool next_names(struct zk_store *self, struct zk_counter_names *names, struct vs_reply *reply) {
    const struct zk_answer *answer = vs_zk_next(self, reply);
    if (!answer) return false;
    if (answer->rc == ZNONODE) return true;
    if (answer->rc != ZOK) return vs_zk_trouble(self, answer->rc, reply);
    assert(!answer->length || !answer->text[answer->length - 1]);
    names->at = malloc(answer->length + 1);
    if (!names->at) return vs_answer(reply, VS_STORE_DOWN, "no memory for a list");
    memcpy(names->at, answer->text, answer->length);
    names->length = answer->length;
    return true;
}

/* Takes the next answer, which is the get of that tag.  Skips a tag that was deleted since.  Lists a tag with a damaged
 * record. */
static bool zk_counter_list_row(const struct zk_counter_call *call, const char *tag, struct vs_tag_list *list) {
    const struct vs_slice name = {tag, strlen(tag)};
    struct vs_slice text;
    struct view view;
    if (!next_node(call, &view, &text, call->reply)) return false;
    if (!view.found) return true;
    const char *why = vs_counter_parse(tag, text, &view.row, &view.ver);
    return why ? vs_tags_add_unusable(list, name, why, call->reply) : vs_tags_add(list, name, &view.row, call->reply);
}

/* Sends all gets at once, then takes the answers. */
static bool zk_counter_list_rows(const struct zk_counter_call *call, const struct zk_counter_names *names,
                                 struct vs_tag_list *list) {
    char path[VS_ZK_PATH_MAX];
    size_t asked = 0;
    for (size_t i = 0; i < names->length; i += strlen(names->at + i) + 1) {
        if (!vs_tag_is_named(names->at + i)) {
            vs_tags_pass(list, (struct vs_slice){names->at + i, strlen(names->at + i)});
            continue;
        }
        if (asked++ == VS_TAGS_MAX)
            return vs_answer(call->reply, VS_STORE_REFUSED, "the store has more than %d tags, which is the limit",
                             VS_TAGS_MAX);
        path_of(call->self, names->at + i, path);
        vs_zk_ask(call->self, ZK_GET, path);
    }
    for (size_t i = 0; i < names->length; i += strlen(names->at + i) + 1)
        if (vs_tag_is_named(names->at + i) && !zk_counter_list_row(call, names->at + i, list)) return false;
    return true;
}

void vs_zk_tags(struct vs_store *store, const char *table, struct vs_tag_list *list, struct vs_reply *reply) {
    const struct zk_counter_call call = {.self = (struct zk_store *)store, .reply = reply};
    struct zk_counter_names names = {NULL, 0};
    char path[VS_ZK_PATH_MAX];
    assert(list->count == 0); /* rows that are already in the list would appear as rows of this store */
    vs_reply_clear(reply);
    if (!vs_counter_no_table(table, reply) || !vs_zk_begin(call.self, VS_STORE_LIST_MS, reply)) return;
    vs_zk_path(call.self, path, VS_ZK_COUNTERS);
    vs_zk_ask(call.self, ZK_SYNC, call.self->root);
    vs_zk_ask(call.self, ZK_CHILDREN, path);
    if (vs_zk_time(call.self, reply) && vs_zk_next_sync(call.self, reply) && next_names(call.self, &names, reply) &&
        zk_counter_list_rows(&call, &names, list))
        vs_done(reply);
    free(names.at);
}
