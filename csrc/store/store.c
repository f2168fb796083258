/* store.c -- finds the backend of a URI, and implements what all backends have in common.
 *
 * A backend is a module (store/mysql.so) that is loaded when a URI first names it.  Therefore, the program, the library
 * and the rock do not depend on a database's client library unless that database is used.  Tests link the backends. */
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

/* Asserts that a backend's table is complete and consistent, at its first use. */
static void check_row(const struct vs_backend *backend) {
    size_t length = strlen(backend->scheme);
    assert(strncmp(backend->form, backend->scheme, length) == 0);
    assert(backend->form[length] == ':');
    assert(backend->form[length + 1] == '/'); /* the fixed part must not be empty (vs_store_is_formed) */
    assert(strstr(VS_STORE_FORMS, backend->form));
    assert(backend->is_local || !backend->is_folder);
    /* administrators create the tables of a shared store with `vesta store init` */
    assert(backend->is_local || backend->admin);
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
    assert(used + (size_t)length < VS_STORE_LIST_MAX); /* otherwise VS_STORE_LIST_MAX is too small */
}

const char *vs_store_list(bool (*is)(const struct vs_backend *backend, const char *of), const char *of, char *buf) {
    const char *one = NULL; /* the last store found.  At the end of the list, " or " comes before it */
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

/* Returns the folder of a store that is a folder.  Does not load modules, because nginx workers call this for stores
 * with client libraries that the workers must not load. */
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
    if (backend->is_local)
        return vs_uri_path(backend, uri, path, err) == VESTA_OK ? vs_uri_of_path(backend->scheme, path, out, err)
                                                                : err->code;
    snprintf(out, VS_URI_MAX, "%s", uri); /* vs_store_check has checked the length */
    return VESTA_OK;
}

int vs_store_check(const char *uri, struct vesta_error *err) {
    const struct vs_backend *backend = vs_store_of(uri, err);
    if (!backend) return VESTA_EOPTION;
    if (strlen(uri) >= VS_URI_MAX)
        return vs_fail(err, VESTA_EOPTION, "the store's URI is longer than %d bytes: use a shorter path or name",
                       VS_URI_MAX - 1);
    return backend->check(uri, err);
}

size_t vs_store_password(const char *uri, size_t *at) {
    const char *user = strstr(uri, "://"), *end = strrchr(uri, '@'), *mark = user ? strchr(user + 3, ':') : NULL;
    if (!mark || !end || mark >= end) return 0;
    *at = (size_t)(mark + 1 - uri);
    /* up to the last '@', because hiding too much is better than printing part of a password */
    return (size_t)(end - mark) - 1;
}

#define HIDDEN "***"

/* Returns whether vs_store_public has replaced the password. */
static bool is_hidden(const char *uri) {
    size_t at, length = vs_store_password(uri, &at);
    /* also matches a shorter row of stars, such as "*" */
    return length > 0 && length < sizeof HIDDEN && memcmp(uri + at, HIDDEN, length) == 0;
}

/* Asserts that the backend has copied these options.  Without cut_us, its calls would delay a stop. */
static void check_opened(const struct vs_store *store, const struct vs_backend *backend,
                         const struct vs_store_opts *opts) {
    assert(store->backend == backend);
    assert(store->leases == backend->leases);
    assert(store->clock == opts->clock);
    assert(store->cut_us == opts->cut_us);
    /* With a shorter limit, a keeper that waits for a reply would be considered dead. */
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
                       "the store's URI has *** instead of a password, because a generator file does not keep "
                       "passwords: name the store with its password, pass the secret separately, or add "
                       "secret_file=FILE to the store's URI, which is kept");
    const struct vs_backend *backend = vs_store_of(uri, err);
    rc = backend->open(uri, opts, store, err);
    if (rc == VESTA_OK) check_opened(*store, backend, opts);
    return rc;
}

const char *vs_store_public(const char *uri, char *buf) {
    size_t at, length = vs_store_password(uri, &at);
    /* a password shorter than *** may leave no room for it */
    bool is_room = strlen(uri) - length + sizeof HIDDEN <= VS_URI_MAX;
    if (length > 0)
        snprintf(buf, VS_URI_MAX, "%.*s%s%s", (int)at, uri, is_room ? HIDDEN : "*", uri + at + length);
    else
        snprintf(buf, VS_URI_MAX, "%s", uri);
    return buf;
}

void vs_store_hide(char uri[VS_URI_MAX]) {
    char shown[VS_URI_MAX] = ""; /* zeroed to the last byte, because all of it is written to a file */
    memcpy(uri, vs_store_public(uri, shown), sizeof shown);
}

void vs_store_init(struct vs_store *store, struct vs_reply *reply) {
    vs_reply_clear(reply);
    if (store->admin)
        store->admin->init(store, reply);
    else
        vs_done(reply);
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
    /* keepers detect a repaired store by its new incarnation, and 0 is not a valid incarnation */
    assert(fresh->incarnation);
    store->leases->ns_read(store, reply);
    if (reply->outcome != VS_STORE_OK) return;
    uint64_t old_ver = reply->ns.ver;
    struct vs_ns_record next = old_ver ? reply->ns : *fresh;
    next.ver = old_ver;
    vs_ns_put_right(&next, timing, reply->store_ms, fresh->incarnation);
    assert(next.floor_ms >= reply->ns.floor_ms);
    store->leases->ns_swap(store, old_ver, &next, reply);
}

#define BEFORE_ANY_MS INT64_C(946771200000) /* 2 January 2000 in every time zone */

/* Returns whether another application uses the counter, because it has issued numbers that no floor has ever allowed.
 * Lifting such a counter would raise that application's numbers permanently.  If so, also gives the range of the first
 * take back to the counter. */
static bool is_anothers(struct vs_store *store, const struct vs_counter *counter, const struct vs_floor *floor,
                        uint64_t least, struct vs_reply *reply) {
    const struct vs_grant granted = reply->grant;
    if (granted.from <= 2 || granted.from >= floor->at(floor->self, BEFORE_ANY_MS)) return false;
    store->counters->untake(store, counter, granted.from, granted.until, reply);
    if (reply->outcome == VS_STORE_CONFLICT)
        return true; /* the counter has moved, perhaps because another host has lifted it, so try again */
    vs_answer(reply, VS_STORE_REFUSED,
              "tag '%s' has issued numbers up to %" PRIu64 " without a date, so it cannot be lifted to %" PRIu64
              ", today's lowest number: create another tag for numbers with a date (vesta segments add)",
              counter->tag, granted.from - 1, least);
    return true;
}

/* Takes a range above the floor.  The order of the steps matters.  The floor is computed from the time of the take that
 * granted the range, so it is the floor of exactly that time.  The counter alone decides the order of the callers. */
static void take_above_floor(struct vs_store *store, const struct vs_counter *counter, uint64_t step,
                             const struct vs_floor *floor, struct vs_reply *reply) {
    store->counters->take(store, counter, step, reply);
    if (!floor->at || reply->outcome != VS_STORE_OK) return;
    uint64_t least = floor->at(floor->self, reply->store_ms);
    if (least == 0) {
        vs_answer(
            reply, VS_STORE_REFUSED,
            "no number exists for the time of the store's clock: correct that clock, or use a form for this date");
        return;
    }
    if (reply->grant.from >= least || is_anothers(store, counter, floor, least, reply)) return;
    store->counters->lift(store, counter, least, reply);
    if (reply->outcome == VS_STORE_OK) store->counters->take(store, counter, step, reply);
    if (reply->outcome == VS_STORE_OK && reply->grant.from < least)
        vs_answer(reply, VS_STORE_REFUSED,
                  "the counter was lowered while it was lifted to today's first number, so numbers would be issued "
                  "twice: find the program that lowers it");
}

/* Gives the range back to the counter, unless another caller has taken a range since. */
static void store_give_back(struct vs_store *store, const struct vs_counter *counter, const struct vs_reply *reply) {
    struct vs_reply given_back = {.outcome = VS_STORE_DOWN};
    store->counters->untake(store, counter, reply->grant.from, reply->grant.until, &given_back);
}

static void refuse_period(struct vs_store *store, const struct vs_counter *counter, struct vs_reply *reply) {
    store_give_back(store, counter, reply);
    vs_answer(reply, VS_STORE_REFUSED,
              "tag '%s' is in a period of another form, so this form can use it only in its next period: create a tag "
              "for each form (vesta segments add)",
              counter->tag);
}

uint64_t vs_form_fingerprint(const char *form) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *form; form++)
        hash = (hash ^ (unsigned char)*form) * 0x100000001b3u;
    return hash >> 2 | 1;
}
_Static_assert(UINT64_MAX >> 2 < VS_NUMBER_MAX, "a fingerprint must be a valid counter value");

/* Returns whether the caller may continue without a stored form.  A user without rights to the table of forms still
 * gets numbers if the caller records the form elsewhere. */
static bool may_forget(const struct vs_floor *floor, const struct vs_reply *kept) {
    return floor->is_kept && kept->outcome == VS_STORE_REFUSED && kept->by == VS_BY_RIGHTS;
}

/* Returns whether the counter's stored form is this one, or whether there is none yet, which sets *is_new. */
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

/* Stores the form of a counter's first numbers.  If that fails, gives the range back to the counter. */
static void keep_form(struct vs_store *store, const struct vs_counter *counter, const struct vs_floor *floor,
                      struct vs_reply *reply) {
    struct vs_reply kept = {.outcome = VS_STORE_DOWN};
    store->counters->keep_form(store, counter, vs_form_fingerprint(floor->form), &kept);
    reply->forgets_form = may_forget(floor, &kept);
    if (kept.outcome == VS_STORE_OK || reply->forgets_form) return;
    store_give_back(store, counter, reply);
    vs_answer_as(reply, kept.outcome == VS_STORE_REFUSED ? VS_STORE_REFUSED : VS_STORE_UNKNOWN, &kept);
}

/* Takes a range.  The form is checked before the take, so that the counter is not raised for a caller with a different
 * form. A new form is stored after the take, so that a caller that gets no number does not exclude other forms. */
void vs_store_take(struct vs_store *store, const struct vs_counter *counter, uint64_t step,
                   const struct vs_floor *floor, struct vs_reply *reply) {
    bool is_new = false;
    if (floor->form && !may_write(store, counter, floor, &is_new, reply)) return;
    take_above_floor(store, counter, step, floor, reply);
    if (reply->outcome == VS_STORE_OK && floor->fits && !floor->fits(floor->self, reply->grant.from))
        refuse_period(store, counter, reply);
    if (reply->outcome == VS_STORE_OK && is_new) keep_form(store, counter, floor, reply);
}
