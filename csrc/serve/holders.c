/* holders.c -- reads the leases of worker ids (see holders.h).  Contains no socket code.
 *
 * While viewers request a namespace's leases, a thread reads them from the store every few seconds.  When the viewers
 * stop requesting them, the thread closes its connection and ends.  Event loops copy the last list and its age. */
#include "serve/holders.h"
#include "base/error.h"
#include "keeper/file.h"
#include "os/thread.h"
#include "proto/json.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDERS_EVERY_US 5000000
#define HOLDERS_WANTED_US 30000000            /* the thread ends this long after the last request of a viewer */
#define HOLDERS_SILENT_US 2000000             /* a reading that takes longer is reported as an error */
#define HOLDERS_TEXT_MAX VS_HOLDERS_BYTES_MAX /* worker ids that do not fit are counted, not listed */
#define HOLDERS_ROW_MAX 4096

struct holders;
struct holders_reader {
    struct holders *of;
    int ns;
    bool runs;
    int64_t wanted_us;               /* when a viewer last requested the list (in boot time, like all times here) */
    struct vs_out list;              /* members of an object (`at` is NULL until the store was read) */
    uint64_t list_number, readings;  /* how often the list changed, and how often it was read */
    int64_t read_unix_ms, store_ms;  /* when the list was read, by this host's clock and the store's */
    int64_t asked_us, asked_unix_ms; /* when the current reading began (0: no reading is in progress) */
    bool is_down;                    /* the last reading failed */
    char why[VS_REPLY_TEXT_MAX];     /* reason of the failure */
};

struct holders {
    struct vs_serving *serving;
    pthread_mutex_t lock; /* guards the following members */
    pthread_cond_t woken;
    _Atomic int64_t cut_us; /* store calls must end at this instant (0: no limit) */
    int running;
    bool ending;
    struct holders_reader reader[]; /* one element per namespace */
};

static int64_t holders_now_us(const struct holders *h) {
    return h->serving->server.clock->boot_us(h->serving->server.clock->self);
}

/* ------------------------------------------------------------------ a list as JSON */

static void holders_put_worker(struct vs_out *out, const struct vs_listed *listed, const struct vs_shape *shape,
                               int64_t store_ms) {
    const struct vs_record *r = &listed->record;
    enum vs_standing standing = vs_standing_of(r, shape, store_ms);
    char digits[VESTA_FORMAT_MAX];
    vesta_format(VESTA_DECIMAL, listed->worker, digits);
    vs_json_open(out, NULL, '{');
    vs_json_text(out, "worker", digits);
    vs_json_text(out, "state", vs_standing_name(standing));
    if (standing == VS_STANDS_HELD) vs_json_int(out, "end_ms", r->written_ms + vs_standing_length_ms(r, shape));
    if (r->seen_ms && r->written_ms) vs_json_int(out, "clock_ms", r->seen_ms - r->written_ms);
    vs_json_int(out, "written_ms", r->written_ms);
    vs_json_text(out, "holder", r->holder);
    vs_json_text(out, "identity", r->identity);
    vs_put(out, "}", 1);
}

/* Puts leased worker ids first, because most viewers look for them.  shape: NULL while the namespace is not open. */
static void holders_put_list(struct vs_out *out, const struct vs_listed *listed, size_t count,
                             const struct vs_shape *shape, int64_t store_ms) {
    uint64_t standing[VS_STANDINGS] = {0}, told = 0;
    for (size_t i = 0; i < count; i++)
        standing[vs_standing_of(&listed[i].record, shape, store_ms)]++;
    for (int i = 0; i < VS_STANDINGS; i++)
        vs_json_uint(out, vs_standing_name((enum vs_standing)i), standing[i]);
    vs_json_open(out, "workers", '[');
    for (int now = 0; now < VS_STANDINGS; now++)
        for (size_t i = 0; i < count && out->used < HOLDERS_TEXT_MAX - HOLDERS_ROW_MAX; i++)
            if ((int)vs_standing_of(&listed[i].record, shape, store_ms) == now)
                holders_put_worker(out, &listed[i], shape, store_ms), told++;
    vs_put(out, "]", 1);
    vs_json_uint(out, "more", count - told);
}

/* ------------------------------------------------------------------ reading */

/* Opens the store that the config names.  If the config names none, opens the store that the generator file names. */
static struct vs_store *holders_open_store(struct holders_reader *reader, struct vesta_error *err) {
    const struct vs_serving *serving = reader->of->serving;
    const struct vs_conf_namespace *conf = &serving->config->ns[reader->ns];
    struct vs_header header = {.store = ""};
    struct vs_store_opts opts = {.namespace_ =
                                     conf->leased_as ? conf->leased_as : serving->server.names.at[reader->ns].name,
                                 .group = -1,
                                 .clock = serving->server.clock,
                                 .secret = conf->opts.secret,
                                 .cut_us = &reader->of->cut_us};
    struct vs_store *store;
    const char *uri = conf->opts.store;
    if (!uri && vs_anchor_look(&conf->opts, &header, err) != VESTA_OK) return NULL;
    return vs_store_open(uri ? uri : header.store, &opts, &store, err) == VESTA_OK ? store : NULL;
}

/* Replaces the list.  If its text is unchanged, the list's number does not change. */
static void holders_take_list(struct holders_reader *reader, struct vs_out *fresh, int64_t store_ms) {
    const struct vs_out *list = &reader->list;
    reader->store_ms = store_ms;
    if (list->used == fresh->used && memcmp(list->at, fresh->at, fresh->used) == 0) return;
    struct vs_out old = *list;
    char *text = realloc(fresh->at, fresh->used);
    if (text) fresh->at = text;
    reader->list = *fresh;
    reader->list_number++;
    *fresh = old; /* the caller frees the old list */
}

static void holders_begin_reading(struct holders_reader *reader, int64_t unix_ms) {
    pthread_mutex_lock(&reader->of->lock);
    if (reader->asked_us == 0) reader->asked_us = holders_now_us(reader->of), reader->asked_unix_ms = unix_ms;
    pthread_mutex_unlock(&reader->of->lock);
}

/* Records the end of a reading.  fresh: the list, or NULL if the reading failed for the reason in `reply`. */
static void holders_end_reading(struct holders_reader *reader, struct vs_out *fresh, const struct vs_reply *reply,
                                int64_t unix_ms) {
    pthread_mutex_lock(&reader->of->lock);
    reader->readings++;
    reader->is_down = fresh == NULL && reply->outcome != VS_STORE_REFUSED;
    if (fresh)
        reader->why[0] = '\0';
    else
        vs_reply_say(reply, "", reader->why, sizeof reader->why);
    if (!reader->is_down) reader->asked_us = 0;
    if (fresh) {
        reader->read_unix_ms = unix_ms;
        holders_take_list(reader, fresh, reply->store_ms);
    }
    pthread_mutex_unlock(&reader->of->lock);
}

static void holders_read_store(struct holders_reader *reader, struct vs_store **store) {
    const struct vesta_clock *clock = reader->of->serving->server.clock;
    struct vs_out fresh = {.at = malloc(HOLDERS_TEXT_MAX), .size = HOLDERS_TEXT_MAX};
    struct vs_listed *listed = NULL;
    struct vesta_error err = {.text = ""};
    size_t count = 0;
    struct vs_reply reply = {.outcome = VS_STORE_REFUSED};
    if (!fresh.at) return;
    holders_begin_reading(reader, clock->unix_us(clock->self) / 1000);
    if (!*store) *store = holders_open_store(reader, &err);
    if (*store)
        (*store)->leases->list(*store, &listed, &count, &reply);
    else
        snprintf(reply.text, sizeof reply.text, "%.*s", (int)sizeof reply.text - 1, err.text);
    int64_t unix_ms = clock->unix_us(clock->self) / 1000;
    if (reply.store_ms <= 0) reply.store_ms = unix_ms;
    vs_put(&fresh, "{", 1); /* the brace becomes a comma before the first member */
    const struct vs_namespace *ns = &reader->of->serving->server.names.at[reader->ns];
    const struct vs_shape *shape = vs_namespace_is_open(ns) ? &ns->gen[VS_RESP]->shape : NULL;
    if (reply.outcome == VS_STORE_OK) holders_put_list(&fresh, listed, count, shape, reply.store_ms);
    holders_end_reading(reader, reply.outcome == VS_STORE_OK ? &fresh : NULL, &reply, unix_ms);
    free(listed);
    free(fresh.at);
}

/* Returns whether the reader's thread must continue.  The caller must hold the lock. */
static bool holders_is_wanted(const struct holders_reader *reader) {
    return !reader->of->ending && holders_now_us(reader->of) - reader->wanted_us < HOLDERS_WANTED_US;
}

static void *holders_work(void *arg) {
    struct holders_reader *reader = arg;
    struct holders *h = reader->of;
    struct vs_store *store = NULL;
    pthread_mutex_lock(&h->lock);
    while (holders_is_wanted(reader)) {
        pthread_mutex_unlock(&h->lock);
        holders_read_store(reader, &store);
        int64_t until_us = vs_monotonic_us() + HOLDERS_EVERY_US;
        pthread_mutex_lock(&h->lock);
        while (!h->ending && vs_cond_wait(&h->woken, &h->lock, until_us))
            ;
    }
    pthread_mutex_unlock(&h->lock);
    if (store) store->backend->close(store);
    pthread_mutex_lock(&h->lock);
    reader->runs = false;
    h->running--;
    pthread_cond_broadcast(&h->woken);
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* Starts the reader's thread.  The caller must hold the lock.  The thread is detached: vs_server_holders_end waits
 * until no thread is running. */
static void holders_start(struct holders_reader *reader) {
    pthread_t thread;
    reader->runs = vs_thread_start(&thread, holders_work, reader) == 0;
    if (!reader->runs) return;
    reader->of->running++;
    pthread_detach(thread);
}

/* ------------------------------------------------------------------ asking */

/* The caller must hold the lock, also for the next two functions. */
static bool holders_is_silent(const struct holders_reader *reader) {
    return reader->asked_us != 0 &&
           (reader->is_down || holders_now_us(reader->of) - reader->asked_us >= HOLDERS_SILENT_US);
}

static void holders_put_trouble(const struct holders_reader *reader, struct vs_out *out) {
    char iso[VESTA_ISO_MAX], text[sizeof reader->why + 80];
    if (holders_is_silent(reader)) {
        vesta_iso(reader->asked_unix_ms, iso);
        snprintf(text, sizeof text, "the store has been unreachable since %s%s%s", iso, *reader->why ? ": " : "",
                 reader->why);
        vs_json_text(out, "error", text);
    } else if (!reader->runs) {
        vs_json_text(out, "error", "the namespace is not open, or there is no thread to read its store");
    } else {
        vs_json_text(out, "error", reader->why);
    }
}

static void holders_put_members(const struct holders_reader *reader, bool with_list, struct vs_out *out) {
    const char *leased_as = reader->of->serving->config->ns[reader->ns].leased_as;
    if (leased_as) vs_json_text(out, "leased_as", leased_as);
    if (reader->read_unix_ms) {
        vs_json_int(out, "read_unix_ms", reader->read_unix_ms);
        vs_json_int(out, "store_ms", reader->store_ms);
    }
    holders_put_trouble(reader, out);
    if (!with_list) return;
    if (reader->list.at) {
        vs_put(out, ",", 1);
        vs_put(out, reader->list.at + 1, reader->list.used - 1);
    } else {
        vs_json_open(out, "workers", '[');
        vs_put(out, "]", 1);
    }
}

static bool holders_put(void *self, int ns, struct vs_holders_seen *seen, struct vs_out *out) {
    struct holders *h = self;
    struct holders_reader *reader = &h->reader[ns];
    pthread_mutex_lock(&h->lock);
    reader->wanted_us = holders_now_us(h);
    if (!reader->runs && vs_namespace_is_open(&h->serving->server.names.at[ns])) holders_start(reader);
    struct vs_holders_seen now = {reader->list_number,
                                  4 * reader->readings + 2 * holders_is_silent(reader) + !reader->runs};
    bool is_news = !seen || now.list != seen->list || now.reading != seen->reading;
    if (is_news) holders_put_members(reader, !seen || now.list != seen->list, out);
    if (seen) *seen = now;
    pthread_mutex_unlock(&h->lock);
    return is_news;
}

bool vs_server_holders_begin(struct vs_serving *serving) {
    int count = serving->server.names.count;
    struct holders *h = calloc(1, sizeof *h + (size_t)count * sizeof h->reader[0]);
    if (!h) return false;
    h->serving = serving;
    for (int i = 0; i < count; i++)
        h->reader[i].of = h, h->reader[i].ns = i;
    pthread_mutex_init(&h->lock, NULL);
    vs_cond_init(&h->woken);
    serving->server.above.holders_self = h;
    serving->server.above.holders = holders_put;
    return true;
}

bool vs_server_holders_end(struct vs_serving *serving, int64_t until_us) {
    struct holders *h = serving->server.above.holders_self;
    if (!h) return true;
    pthread_mutex_lock(&h->lock);
    h->ending = true;
    atomic_store(&h->cut_us, holders_now_us(h));
    pthread_cond_broadcast(&h->woken);
    while (h->running > 0 && vs_cond_wait(&h->woken, &h->lock, until_us))
        ;
    bool ended = h->running == 0;
    pthread_mutex_unlock(&h->lock);
    if (!ended) return false;
    for (int i = 0; i < serving->server.names.count; i++)
        free(h->reader[i].list.at);
    pthread_cond_destroy(&h->woken);
    pthread_mutex_destroy(&h->lock);
    free(h);
    serving->server.above.holders_self = NULL;
    return true;
}
