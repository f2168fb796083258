/* store.c -- from a URI to the backend that serves it, and what all backends do alike.
 *
 * A backend is a module beside this code (store/mysql.so) that is loaded when a URI first names it, so that program,
 * library and rock need no database's client where nobody uses that database; tests have theirs linked in. */
#include "store/store.h"
#include "base/error.h"
#include "store/counter.h"
#include "store/module.h"
#include "store/reply.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static struct vs_slice scheme_of(const char *uri) {
    return (struct vs_slice){uri, strcspn(uri, ":")};
}

/* An engineer who adds a store learns at its first use what its row lacks or contradicts. */
static void check_row(const struct vs_backend *backend) {
    size_t length = strlen(backend->scheme);
    assert(strncmp(backend->form, backend->scheme, length) == 0);
    assert(backend->form[length] == ':');
    assert(backend->form[length + 1] == '/'); /* before any capital: see vs_store_is_formed */
    assert(strstr(VS_STORE_FORMS, backend->form));
    assert(backend->is_local || !backend->is_folder);
    assert(backend->is_local || backend->admin); /* its tables do not appear with the first number */
    assert(backend->is_local == !backend->tls);
    assert(backend->is_local == !backend->secret);
    assert(backend->leases);
    if (backend->counters) assert(!backend->counters->reserve == !backend->counters->settle);
}

const struct vs_backend *vs_store_of(const char *uri, struct vesta_error *err) {
    struct vs_slice scheme = scheme_of(uri);
    if (uri[scheme.length] != ':') return vs_module_unknown(scheme, err);
    const struct vs_backend *backend =
        vs_slice_is(scheme, vs_store_file.scheme) ? &vs_store_file : vs_module_find(scheme, err);
    if (backend) check_row(backend);
    return backend;
}

bool vs_store_is_known(const char *uri) {
    struct vs_slice scheme = scheme_of(uri);
    return uri[scheme.length] == ':' && (vs_slice_is(scheme, vs_store_file.scheme) || vs_module_is_known(scheme));
}

static void store_put(char *buf, const char *between, const char *one) {
    size_t used = strlen(buf);
    int length = snprintf(buf + used, VS_STORE_LIST_MAX - used, "%s%s:", used ? between : "", one);
    assert(used + (size_t)length < VS_STORE_LIST_MAX); /* one store more than there is room for */
}

const char *vs_store_list(bool (*is)(const struct vs_backend *backend, const char *of), const char *of, char *buf) {
    const char *one = NULL; /* the last that was found, before it is known whether another follows */
    const struct vs_backend *backend = &vs_store_file;
    buf[0] = '\0';
    for (size_t i = 0; backend; backend = vs_module_here(i++)) {
        if (!is(backend, of)) continue;
        if (one) store_put(buf, ", ", one);
        one = backend->scheme;
    }
    if (one) store_put(buf, " or ", one);
    return buf;
}

bool vs_store_is_formed(const char *uri) {
    const struct vs_backend *backend = vs_store_of(uri, NULL);
    size_t fixed = backend ? strcspn(backend->form, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
    return backend && strncmp(uri, backend->form, fixed) == 0 && uri[fixed];
}

bool vs_store_is_local(const char *uri) {
    const struct vs_backend *backend = vs_store_of(uri, NULL);
    return backend && backend->is_local;
}

/* Loads nothing, for nginx's workers ask it of stores whose clients they are not to have: a folder needs no module. */
const char *vs_store_folder(const char *uri, char *buf) {
    struct vs_slice scheme = scheme_of(uri);
    const struct vs_backend *backend = &vs_store_file;
    for (size_t i = 0; backend && !vs_slice_is(scheme, backend->scheme); i++)
        backend = vs_module_present(i);
    return backend && backend->is_folder && uri[scheme.length] && vs_uri_place(uri, buf) ? buf : NULL;
}

bool vs_store_place(const char *uri, char path[VS_URI_MAX]) {
    return vs_store_is_local(uri) && vs_uri_place(uri, path);
}

int vs_store_canonical(const char *uri, char out[VS_URI_MAX], struct vesta_error *err) {
    char path[VS_URI_MAX];
    const struct vs_backend *backend = vs_store_of(uri, err);
    int rc = backend ? vs_store_check(uri, err) : VESTA_EOPTION;
    if (rc != VESTA_OK) return rc;
    if (backend->is_local) return vs_uri_path(backend, uri, path, err) == VESTA_OK ? vs_uri_of_path(backend->scheme, path, out, err) : err->code;
    snprintf(out, VS_URI_MAX, "%s", uri); /* it fits: vs_store_check */
    return VESTA_OK;
}

int vs_store_check(const char *uri, struct vesta_error *err) {
    const struct vs_backend *backend = vs_store_of(uri, err);
    if (!backend) return VESTA_EOPTION;
    if (strlen(uri) >= VS_URI_MAX)
        return vs_fail(err, VESTA_EOPTION, "the store's URI is longer than %d bytes", VS_URI_MAX - 1);
    return backend->check(uri, err);
}

size_t vs_store_password(const char *uri, size_t *at) {
    const char *user = strstr(uri, "://"), *end = strrchr(uri, '@'), *mark = user ? strchr(user + 3, ':') : NULL;
    if (!mark || !end || mark >= end) return 0;
    *at = (size_t)(mark + 1 - uri);
    return (size_t)(end - mark) - 1; /* to the last '@': too much is better hidden than too little shown */
}

#define HIDDEN "***"

/* What a generator file keeps of a URI that had a password. */
static bool is_hidden(const char *uri) {
    size_t at, length = vs_store_password(uri, &at);
    return length > 0 && length < sizeof HIDDEN && memcmp(uri + at, HIDDEN, length) == 0; /* "*", too */
}

/* What every backend takes over from the options.  Without cut_us its calls would outlast a stop. */
static void check_opened(const struct vs_store *store, const struct vs_backend *backend,
                         const struct vs_store_opts *opts) {
    assert(store->backend == backend);
    assert(store->leases == backend->leases);
    assert(store->clock == opts->clock);
    assert(store->cut_us == opts->cut_us);
    /* less, and a keeper that waits for an answer would be taken for a dead one */
    assert(backend->is_local || store->call_ms_max > opts->call_ms_max);
    assert(backend->is_local || store->list_ms_max > VS_STORE_LIST_MS);
}

int vs_store_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store, struct vesta_error *err) {
    assert(opts->clock);
    assert(opts->call_ms_max >= 0);
    int rc = vs_store_check(uri, err);
    if (rc != VESTA_OK) return rc;
    if (!opts->secret && is_hidden(uri))
        return vs_fail(err, VESTA_EOPTION,
                       "the store's password is kept in no generator file: name the store with it, give the secret "
                       "beside it, or write secret_file=FILE into the store's URI, which is kept");
    const struct vs_backend *backend = vs_store_of(uri, err);
    rc = backend->open(uri, opts, store, err);
    if (rc == VESTA_OK) check_opened(*store, backend, opts);
    return rc;
}

const char *vs_store_public(const char *uri, char *buf) {
    size_t at, length = vs_store_password(uri, &at);
    bool is_room =
        strlen(uri) - length + sizeof HIDDEN <= VS_URI_MAX; /* a password may be shorter than what hides it */
    if (length > 0)
        snprintf(buf, VS_URI_MAX, "%.*s%s%s", (int)at, uri, is_room ? HIDDEN : "*", uri + at + length);
    else
        snprintf(buf, VS_URI_MAX, "%s", uri);
    return buf;
}

void vs_store_hide(char uri[VS_URI_MAX]) {
    char shown[VS_URI_MAX] = ""; /* to its last byte, for it goes into a file */
    memcpy(uri, vs_store_public(uri, shown), sizeof shown);
}

void vs_store_init(struct vs_store *store, struct vs_reply *reply) {
    vs_reply_clear(reply);
    if (store->admin)
        store->admin->init(store, reply);
    else
        vs_done(reply); /* nothing to make */
}

void vs_store_share(struct vs_store *store, const struct vs_counter *counter, const struct vs_share *share,
                    struct vs_reply *reply) {
    assert(share->delta > 0);
    assert(share->remainder < share->delta);
    vs_reply_clear(reply);
    if (store->counters && store->counters->share)
        store->counters->share(store, counter, share, reply);
    else
        vs_done(reply);
}

void vs_store_advance(struct vs_store *store, const struct vs_ns_record *fresh, const struct vs_lease_timing *timing,
                      struct vs_reply *reply) {
    assert(fresh->incarnation); /* 0 is nobody's: who holds a lease would not see that the store is another now */
    store->leases->ns_read(store, reply);
    if (reply->outcome != VS_STORE_OK) return;
    uint64_t old_ver = reply->ns.ver;
    struct vs_ns_record next = old_ver ? reply->ns : *fresh;
    next.ver = old_ver;
    vs_ns_put_right(&next, timing, reply->store_ms, fresh->incarnation);
    assert(next.floor_ms >= reply->ns.floor_ms); /* a floor only rises */
    store->leases->ns_swap(store, old_ver, &next, reply);
}

#define BEFORE_ANY_MS INT64_C(946771200000) /* 2 January 2000 in every zone */

/* Whether the counter, which now stands where a range was granted below the floor, has given numbers that no floor was
 * ever under: whoever takes them would be raised as well, for good. */
static bool is_anothers(struct vs_store *store, const struct vs_counter *counter, const struct vs_floor *floor,
                        uint64_t least, struct vs_reply *reply) {
    const struct vs_grant granted = reply->grant;
    if (granted.from <= 2 || granted.from >= floor->at(floor->self, BEFORE_ANY_MS)) return false;
    store->counters->untake(store, counter, granted.from, granted.until, reply);
    if (reply->outcome == VS_STORE_CONFLICT) return true; /* it moves: perhaps another host has just lifted it */
    vs_answer(reply, VS_STORE_REFUSED,
              "tag '%s' has given numbers without a day, up to %" PRIu64 ", and would go on from %" PRIu64
              " for everybody: make one of its own with vesta segments add",
              counter->tag, granted.from - 1, least);
    return true;
}

/* In this order: a floor that is asked for by the time of the take that brought the numbers cannot rise between them,
 * and the counter alone says who comes first. */
static void take_above_floor(struct vs_store *store, const struct vs_counter *counter, uint64_t step,
                             const struct vs_floor *floor, struct vs_reply *reply) {
    store->counters->take(store, counter, step, reply);
    if (!floor->at || reply->outcome != VS_STORE_OK) return;
    uint64_t least = floor->at(floor->self, reply->store_ms);
    if (least == 0) {
        vs_answer(reply, VS_STORE_REFUSED, "there is no number for the time that the store's clock has");
        return;
    }
    if (reply->grant.from >= least || is_anothers(store, counter, floor, least, reply)) return;
    store->counters->lift(store, counter, least, reply);
    if (reply->outcome == VS_STORE_OK) store->counters->take(store, counter, step, reply);
    if (reply->outcome == VS_STORE_OK && reply->grant.from < least)
        vs_answer(reply, VS_STORE_REFUSED, "the counter was lowered while its day began: numbers would come twice");
}

/* If the counter still stands at the grant's end. */
static void store_give_back(struct vs_store *store, const struct vs_counter *counter, const struct vs_reply *reply) {
    struct vs_reply given_back = {.outcome = VS_STORE_DOWN};
    store->counters->untake(store, counter, reply->grant.from, reply->grant.until, &given_back);
}

static void refuse_period(struct vs_store *store, const struct vs_counter *counter, struct vs_reply *reply) {
    store_give_back(store, counter, reply);
    vs_answer(reply, VS_STORE_REFUSED,
              "tag '%s' stands in a period of another form, so this form waits for its next one. Give each form a tag "
              "of its own with vesta segments add",
              counter->tag);
}

uint64_t vs_form_fingerprint(const char *form) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *form; form++)
        hash = (hash ^ (unsigned char)*form) * 0x100000001b3u;
    return hash >> 2 | 1;
}
_Static_assert(UINT64_MAX >> 2 < VS_NUMBER_MAX, "a fingerprint is a number that a counter may have");

/* A user that was given no right to the table of forms keeps its numbers where the caller remembers the form. */
static bool may_forget(const struct vs_floor *floor, const struct vs_reply *kept) {
    return floor->is_kept && kept->outcome == VS_STORE_REFUSED && kept->by == VS_BY_RIGHTS;
}

/* Whether the counter's form is that one, or none yet (*is_new).  False with the reply filled. */
static bool may_write(struct vs_store *store, const struct vs_counter *counter, const struct vs_floor *floor,
                      bool *is_new, struct vs_reply *reply) {
    uint64_t form = vs_form_fingerprint(floor->form);
    store->counters->keep_form(store, counter, 0, reply);
    if (may_forget(floor, reply)) {
        vs_reply_clear(reply);
        return *is_new = true;
    }
    if (reply->outcome != VS_STORE_OK) return false;
    uint64_t stands = reply->grant.from;
    *is_new = stands == 0;
    if (stands && stands != form) vs_form_answer(counter->tag, stands, form, reply);
    return reply->outcome == VS_STORE_OK;
}

/* Remembers the form that the numbers of a grant are the first of. */
static void keep_form(struct vs_store *store, const struct vs_counter *counter, const struct vs_floor *floor,
                      struct vs_reply *reply) {
    struct vs_reply kept = {.outcome = VS_STORE_DOWN};
    store->counters->keep_form(store, counter, vs_form_fingerprint(floor->form), &kept);
    reply->forgets_form = may_forget(floor, &kept);
    if (kept.outcome == VS_STORE_OK || reply->forgets_form) return;
    store_give_back(store, counter, reply);
    vs_answer_as(reply, kept.outcome == VS_STORE_REFUSED ? VS_STORE_REFUSED : VS_STORE_UNKNOWN, &kept);
}

/* Another form is refused first, so that the counter is not raised for it.  A new one is remembered last: one that gets
 * no number stands in no other's way. */
void vs_store_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step,
                   const struct vs_floor *floor, struct vs_reply *reply) {
    bool is_new = false;
    if (floor->form && !may_write(store, counter, floor, &is_new, reply)) return;
    take_above_floor(store, counter, step, floor, reply);
    if (reply->outcome == VS_STORE_OK && floor->fits && !floor->fits(floor->self, reply->grant.from))
        refuse_period(store, counter, reply);
    if (reply->outcome == VS_STORE_OK && is_new) keep_form(store, counter, floor, reply);
}
