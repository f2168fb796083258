/* enter.c -- finds the namespace or tag that a request names, checks that the command can be used with it, and charges
 * the request to it.  Contains no protocol code. */
#include "base/error.h"
#include "server/request.h"
#include "server/resp/multi.h"
#include "server/rights.h"
#include "server/shares.h"

#include <stdio.h>

struct vs_tag_set *vs_request_tags(struct vs_request *r) {
    if (!r->tags) r->tags = r->session->multi ? r->session->multi->tags : vs_tags_now(&r->session->server->tags);
    return r->tags;
}

static bool prefers_tag(const struct vs_request *r) {
    return r->kind > VS_KIND_LAYOUT;
}

bool vs_request_find(struct vs_request *r, struct vs_slice name) {
    struct vs_names *names = &r->session->server->names;
    struct vs_served_tag *tag =
        name.at && prefers_tag(r) ? vs_tag_named(vs_request_tags(r), name.at, name.length) : NULL;
    struct vs_namespace *ns = tag ? NULL : vs_namespace_named(names, name.at, name.length);
    if (!tag && !ns && name.at) tag = vs_tag_named(vs_request_tags(r), name.at, name.length);
    if (ns) vs_request_turn(r, ns);
    if (tag) r->tag = tag;
    return ns || tag;
}

static struct vs_slice enter_name_of(const struct vs_request *r) {
    return vs_arg(r, r->name == VS_NO_NAME ? VS_NO_NAME : r->name + r->entered);
}

/* Returns whether a table of tags has not been read yet, so that an unknown name may be in that table. */
static bool is_unread(struct vs_server *server, struct vs_tags_status *status) {
    status->unread = 0, status->is_reading = false;
    if (server->tags.status) server->tags.status(server->tags.self, status);
    return status->unread > 0;
}

static enum vs_reply_state refuse_unread(struct vs_request *r, const struct vs_tags_status *status) {
    char what[160];
    struct vs_slice name = enter_name_of(r);
    snprintf(what, sizeof what, "'%s' is not known yet", VS_QUOTE(name.at, name.length));
    return vs_refuse_why(r, "not_ready", what, status->unread_why);
}

/* Returns whether the request needs a tag. */
static bool enter_counts(const struct vs_request *r) {
    return r->kind == VS_KIND_TAG || r->kind == VS_KIND_COUNTER || r->kind == VS_KIND_DENSE;
}

static enum vs_reply_state refuse_unknown(struct vs_request *r, struct vs_slice name) {
    struct vs_server *server = r->session->server;
    const struct vs_tag_set *tags = vs_request_tags(r);
    size_t count = (size_t)server->names.count + (tags ? tags->count : 0);
    const char *first = server->names.count > 0 ? server->names.at[0].name : count > 0 ? tags->at[0]->name : "";
    if (!name.at)
        return vs_refuse(r, "unknown_name", "the request needs a name: this server has tags but no namespace%s%s%s",
                         count > 0 ? ", such as '" : "", first, count > 0 ? "'" : "");
    if (count == 0 || !vs_rights_sees_all(r->session))
        return vs_refuse(r, "unknown_name", "unknown name '%s'%s", VS_QUOTE(name.at, name.length),
                         count == 0 ? ": this server has no namespaces and no tags" : "");
    bool counts = enter_counts(r) || r->kind == VS_KIND_ANY_TAG;
    if (counts && !(tags && tags->count > 0))
        return vs_refuse(r, "unknown_name",
                         "unknown name '%s': this server has no tags. To serve tags, add a table to segments in its "
                         "config",
                         VS_QUOTE(name.at, name.length));
    if (count == 1)
        return vs_refuse(r, "unknown_name", "unknown name '%s': this server has '%s'", VS_QUOTE(name.at, name.length),
                         first);
    return vs_refuse(r, "unknown_name", "unknown name '%s': this server has '%s' and %zu more",
                     VS_QUOTE(name.at, name.length), first, count - 1);
}

static enum vs_reply_state refuse_closed(struct vs_request *r) {
    char why[VS_NAMESPACE_WHY_MAX], what[VESTA_NAMESPACE_MAX + 32];
    const struct vs_namespace *ns = r->ns;
    enum vs_namespace_state state = vs_namespace_state_of(ns);
    bool for_good = state == VS_NAMESPACE_REFUSED;
    if (state == VS_NAMESPACE_ENDED) return vs_refuse(r, "epoch_end", "'%s': %s", ns->name, vs_namespace_why(ns, why));
    snprintf(what, sizeof what, "'%s' %s", ns->name, for_good ? "is not served" : "is not open yet");
    return vs_refuse_why(r, for_good ? "not_served" : "not_ready", what, vs_namespace_why(ns, why));
}

enum vs_reply_state vs_request_not_entered(struct vs_request *r) {
    struct vs_tags_status status;
    if (r->waits_for == VS_FOR_OPENING) return refuse_closed(r);
    return is_unread(r->session->server, &status) ? refuse_unread(r, &status) : refuse_unknown(r, enter_name_of(r));
}

/* Returns whether the request waits for a job that reserves a number or ends a reservation.  Such a job may already be
 * applied, so its result must reach the client. */
static bool must_hear_desk(const struct vs_request *r) {
    const struct vs_desk_job *job = r->session->waiting.job;
    return job && job->ask != VS_DESK_NUMBERS;
}

static bool is_tag_lost(struct vs_request *r, const struct vs_tag_set *now, struct vs_slice name) {
    if (!prefers_tag(r) && vs_namespace_named(&r->session->server->names, name.at, name.length)) return false;
    if (!vs_tag_named(r->tags, name.at, name.length) || vs_tag_named(now, name.at, name.length)) return false;
    refuse_unknown(r, name);
    return true;
}

bool vs_request_is_lost(struct vs_request *r) {
    const struct vs_tag_set *now = vs_tags_now(&r->session->server->tags);
    if (!r->tags || r->session->multi || now == r->tags || r->waits_for == VS_FOR_TABLES || must_hear_desk(r))
        return false;
    if (r->tag && is_tag_lost(r, now, (struct vs_slice){r->tag->name, r->tag->name_length})) return true;
    for (int i = 0; r->names > 1 && i < r->names; i++)
        if (is_tag_lost(r, now, vs_arg(r, i))) return true;
    return false;
}

static enum vs_reply_state enter_names(struct vs_request *r);

/* Lets the request wait if a table is being read.  A transaction does not wait, because it uses the set of tags with
 * which it began. */
static enum vs_reply_state not_found(struct vs_request *r) {
    struct vs_tags_status status;
    if (!enter_name_of(r).at || !is_unread(r->session->server, &status)) return refuse_unknown(r, enter_name_of(r));
    if (status.is_reading && !r->session->multi) return vs_wait_for(r, VS_FOR_TABLES, enter_names);
    return refuse_unread(r, &status);
}

/* Returns whether an unread table may contain a tag with the namespace's name, and the request would prefer that
 * tag. */
static bool may_become_tag(const struct vs_request *r) {
    struct vs_tags_status status;
    return prefers_tag(r) && !r->tag && is_unread(r->session->server, &status);
}

/* Lets the request wait for the namespace, except in a transaction. */
static enum vs_reply_state not_open(struct vs_request *r) {
    if (vs_namespace_state_of(r->ns) != VS_NAMESPACE_OPENING) return refuse_closed(r);
    (void)vs_wait_for(r, VS_FOR_OPENING, enter_names);
    return vs_multi_hands_out(r->session) ? refuse_closed(r) : VS_WAITS;
}

static bool enter_is_used_up(struct vs_request *r) {
    struct vesta_error err;
    bool takes = r->kind != VS_KIND_MASKED && !r->session->multi;
    if (!takes || !vs_request_has_text(r) || !vs_tag_is_used_up(r->tag, r->session->server->clock, &err)) return false;
    vs_refuse(r, "used_up", "'%s': %s", r->tag->name, err.text);
    return true;
}

/* Returns whether the command can be used with the tag.  If not, the reply suggests a different command. */
static bool is_tag_of_use(struct vs_request *r) {
    const char *name = r->tag->name;
    bool is_dense = !r->tag->seg;
    if (is_dense && r->kind != VS_KIND_DENSE)
        vs_refuse(r, "bad_command", "the numbers of '%s' are gapless: reserve one with VESTA.RESERVE %s", name, name);
    else if (!is_dense && r->kind == VS_KIND_DENSE)
        vs_refuse(r, "bad_command",
                  "the numbers of '%s' may have gaps and cannot be reserved: take the next one with INCR %s", name,
                  name);
    else if (enter_is_used_up(r))
        return false;
    else if (r->kind == VS_KIND_NAMESPACE || r->kind == VS_KIND_LAYOUT)
        vs_refuse(r, "bad_command", "'%s' is a tag, and its numbers have no parts%s", name,
                  r->tag->mask ? ": to read a masked number, add mask=1, or MASK with the Redis protocol" : "");
    else if (r->kind == VS_KIND_MASKED && !r->tag->mask)
        vs_refuse(r, "bad_command", "the numbers of '%s' have no mask", name);
    else if (r->kind == VS_KIND_COUNTER && vs_request_has_text(r))
        vs_refuse(
            r, "bad_command",
            "the numbers of '%s' are text and cannot be added up: take one with GET %s, or n with VESTA.NEXT %s n",
            name, name, name);
    return r->code == 0;
}

static bool is_namespace_of_use(struct vs_request *r) {
    const char *name = r->ns->name;
    if (r->kind == VS_KIND_MASKED && !r->ns->mask && !r->ns->uuid_key)
        return vs_refuse(r, "bad_command", "the ids of '%s' have no mask", name), false;
    if (!enter_counts(r)) return true;
    vs_refuse(r, "bad_command",
              "'%s' is a namespace, not a counter: take an id with GET %s, or n ids with VESTA.NEXT %s n", name, name,
              name);
    return false;
}

/* Charges the request once to each of its namespaces.  Increments `run` first, so that a namespace which is named twice
 * is charged only once. */
static bool charge(struct vs_request *r) {
    r->session->scratch->run++;
    for (r->entered = 0; r->entered < r->names; r->entered++) {
        if (r->names > 1) (void)vs_request_find(r, enter_name_of(r));
        if (!r->tag && !vs_shares_enter(r)) return false;
    }
    return true;
}

static enum vs_reply_state entered(struct vs_request *r) {
    return r->then(r);
}

static enum vs_reply_state enter_names(struct vs_request *r) {
    if (r->waits_for == VS_FOR_TABLES) r->tags = NULL, r->entered = 0;
    for (; r->entered < r->names; r->entered++) {
        if (!vs_request_find(r, enter_name_of(r)) || may_become_tag(r)) return not_found(r);
        bool is_open = r->tag || vs_namespace_is_open(r->ns);
        bool is_read = r->kind == VS_KIND_LAYOUT || r->kind == VS_KIND_MASKED;
        if (!is_open && !(is_read && vs_namespace_state_of(r->ns) == VS_NAMESPACE_ENDED)) return not_open(r);
        if (!(r->tag ? is_tag_of_use : is_namespace_of_use)(r)) return VS_ANSWERED;
        r->has_form |= vs_request_has_text(r);
    }
    if (!r->session->is_metered) return r->then(r);
    if (!charge(r)) return r->code != 0 ? VS_ANSWERED : vs_wait_for(r, VS_FOR_SHARE, entered);
    return vs_shares_is_early(r) ? vs_wait_for(r, VS_FOR_SHARE, entered) : r->then(r);
}

enum vs_reply_state vs_request_enter(struct vs_request *r, int name, enum vs_kind kind, vs_handler *then) {
    r->name = name;
    r->names = 1;
    r->kind = kind;
    r->then = then;
    return vs_rights_may_name(r, enter_name_of(r)) ? enter_names(r) : VS_ANSWERED;
}

enum vs_reply_state vs_request_enter_all(struct vs_request *r, vs_handler *then) {
    r->names = r->arg_count;
    r->then = then;
    for (int i = 0; i < r->arg_count; i++)
        if (!vs_rights_may_name(r, r->arg[i])) return VS_ANSWERED;
    return enter_names(r);
}
