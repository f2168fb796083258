/* holders.c -- who holds which worker number; see holders.h.  Knows no socket.
 *
 * A namespace that is asked about has a thread, which reads its store's list every few seconds while somebody goes on
 * asking, and ends with its connection when nobody does.  A loop takes what was read last, and how old that is. */
#include "serve/holders.h"
#include "base/error.h"
#include "keeper/file.h"
#include "os/thread.h"
#include "server/reply.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define EVERY_US 5000000
#define WANTED_US 30000000   /* nobody has asked for so long: the thread ends */
#define TEXT_MAX (200 * 1024) /* of one namespace's list: what is more is counted and not told */
#define ROW_MAX 4096

struct holders;
struct reader {
    struct holders *of;
    int ns;
    bool runs;
    int64_t wanted_us; /* when somebody asked last; boot time, as all here */
    struct vs_out text; /* an object without its end; at is NULL until something was read */
};

struct holders {
    struct vs_serving *serving;
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t woken;
    _Atomic int64_t cut_us; /* no store is waited for past that instant; 0: nobody ends */
    int running;
    bool ending;
    struct reader reader[VS_NAMESPACES_MAX];
};

static int64_t now_us(const struct holders *h) {
    return h->serving->app.clock->boot_us(h->serving->app.clock->self);
}

/* ------------------------------------------------------------------ what is told of a list */

static void put_worker(struct vs_out *out, const struct vs_listed *listed, int64_t store_ms) {
    const struct vs_record *r = &listed->record;
    enum vs_standing standing = vs_standing_of(r, store_ms);
    char digits[VESTA_FORMAT_MAX];
    vesta_format(VESTA_DECIMAL, listed->worker, digits);
    vs_json_open(out, NULL, '{');
    vs_json_text(out, "worker", digits);
    vs_json_text(out, "state", vs_standing_name(standing));
    if (standing == VS_STANDS_HELD) vs_json_int(out, "left_ms", vs_standing_left_ms(r, store_ms));
    if (r->seen_ms && r->written_ms) vs_json_int(out, "clock_ms", r->seen_ms - r->written_ms);
    vs_json_int(out, "written_ms", r->written_ms);
    vs_json_text(out, "holder", r->holder);
    vs_json_text(out, "identity", r->identity);
    vs_put(out, "}", 1);
}

/* Those that are held come first: they are what is looked for. */
static void put_list(struct vs_out *out, const struct vs_listed *listed, size_t count, int64_t store_ms) {
    uint64_t standing[VS_STANDINGS] = {0}, told = 0;
    for (size_t i = 0; i < count; i++)
        standing[vs_standing_of(&listed[i].record, store_ms)]++;
    for (int i = 0; i < VS_STANDINGS; i++)
        vs_json_uint(out, vs_standing_name((enum vs_standing)i), standing[i]);
    vs_json_open(out, "workers", '[');
    for (int now = 0; now < VS_STANDINGS; now++)
        for (size_t i = 0; i < count && out->used < TEXT_MAX - ROW_MAX; i++)
            if ((int)vs_standing_of(&listed[i].record, store_ms) == now) put_worker(out, &listed[i], store_ms), told++;
    vs_put(out, "]", 1);
    vs_json_uint(out, "more", count - told);
}

static void put_trouble(struct vs_out *out, const char *text) {
    vs_json_open(out, "workers", '[');
    vs_put(out, "]", 1);
    vs_json_text(out, "error", text);
}

/* ------------------------------------------------------------------ reading */

/* The store's address is the config's, or the generator file's where the config names none. */
static struct vs_store *open_store(struct reader *reader, struct vesta_error *err) {
    const struct vs_serving *serving = reader->of->serving;
    const struct vs_conf_namespace *conf = &serving->config->ns[reader->ns];
    struct vs_header header = {.store = ""};
    struct vs_store_opts opts = {.namespace_ = conf->leased_as ? conf->leased_as : serving->app.ns[reader->ns].name,
                                 .group = -1,
                                 .clock = serving->app.clock,
                                 .secret = conf->opts.secret,
                                 .cut_us = &reader->of->cut_us};
    struct vs_store *store;
    const char *uri = conf->opts.store;
    if (!uri && vs_anchor_look(&conf->opts, &header, err) != VESTA_OK) return NULL;
    return vs_store_open(uri ? uri : header.store, &opts, &store, err) == VESTA_OK ? store : NULL;
}

static void publish(struct reader *reader, struct vs_out *fresh) {
    char *text = realloc(fresh->at, fresh->used);
    if (text) fresh->at = text;
    pthread_mutex_lock(&reader->of->lock);
    free(reader->text.at);
    reader->text = *fresh;
    pthread_mutex_unlock(&reader->of->lock);
}

static void read_store(struct reader *reader, struct vs_store **store) {
    const struct vesta_clock *clock = reader->of->serving->app.clock;
    struct vs_out fresh = {.at = malloc(TEXT_MAX), .size = TEXT_MAX};
    struct vs_listed *listed = NULL;
    struct vesta_error err = {.text = ""};
    size_t count = 0;
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    if (!fresh.at) return;
    if (!*store) *store = open_store(reader, &err);
    if (*store) (*store)->ops->list(*store, &listed, &count, &reply);
    vs_put(&fresh, "{", 1); /* which a comma takes the place of */
    vs_json_int(&fresh, "read_unix_ms", clock->unix_us(clock->self) / 1000);
    const char *leased_as = reader->of->serving->config->ns[reader->ns].leased_as;
    if (leased_as) vs_json_text(&fresh, "leased_as", leased_as);
    if (reply.outcome == VS_STORE_OK)
        put_list(&fresh, listed, count, reply.store_ms > 0 ? reply.store_ms : clock->unix_us(clock->self) / 1000);
    else
        put_trouble(&fresh, *store ? reply.text : err.text);
    free(listed);
    publish(reader, &fresh);
}

/* With the lock held. */
static bool is_wanted(const struct reader *reader) {
    return !reader->of->ending && now_us(reader->of) - reader->wanted_us < WANTED_US;
}

static void *work(void *arg) {
    struct reader *reader = arg;
    struct holders *h = reader->of;
    struct vs_store *store = NULL;
    pthread_mutex_lock(&h->lock);
    while (is_wanted(reader)) {
        pthread_mutex_unlock(&h->lock);
        read_store(reader, &store);
        int64_t until_us = vs_monotonic_us() + EVERY_US;
        struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
        pthread_mutex_lock(&h->lock);
        while (!h->ending && pthread_cond_timedwait(&h->woken, &h->lock, &until) == 0)
            ;
    }
    pthread_mutex_unlock(&h->lock);
    if (store) store->ops->close(store);
    pthread_mutex_lock(&h->lock);
    reader->runs = false;
    h->running--;
    pthread_cond_broadcast(&h->woken);
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* With the lock held.  Nobody joins it: who ends waits until none runs. */
static void start(struct reader *reader) {
    pthread_t thread;
    sigset_t all, were;
    vs_signals_to_block(&all);
    pthread_sigmask(SIG_SETMASK, &all, &were);
    reader->runs = pthread_create(&thread, NULL, work, reader) == 0;
    pthread_sigmask(SIG_SETMASK, &were, NULL);
    if (!reader->runs) return;
    reader->of->running++;
    pthread_detach(thread);
}

/* ------------------------------------------------------------------ asking */

static void put(void *self, int ns, struct vs_out *out) {
    struct holders *h = self;
    struct reader *reader = &h->reader[ns];
    pthread_mutex_lock(&h->lock);
    reader->wanted_us = now_us(h);
    if (!reader->runs && vs_namespace_is_open(&h->serving->app.ns[ns])) start(reader);
    if (reader->text.at) {
        vs_put(out, ",", 1);
        vs_put(out, reader->text.at + 1, reader->text.used - 1);
    } else {
        put_trouble(out, reader->runs ? "" : "the namespace is not open, or there is no thread to read its store");
    }
    pthread_mutex_unlock(&h->lock);
}

bool vs_server_holders_begin(struct vs_serving *serving) {
    struct holders *h = calloc(1, sizeof *h);
    pthread_condattr_t monotonic;
    if (!h) return false;
    h->serving = serving;
    for (int i = 0; i < VS_NAMESPACES_MAX; i++)
        h->reader[i].of = h, h->reader[i].ns = i;
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&h->woken, &monotonic);
    pthread_condattr_destroy(&monotonic);
    serving->app.holders_self = h;
    serving->app.holders = put;
    return true;
}

bool vs_server_holders_end(struct vs_serving *serving, int64_t until_us) {
    struct holders *h = serving->app.holders_self;
    struct timespec until = {.tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000};
    if (!h) return true;
    pthread_mutex_lock(&h->lock);
    h->ending = true;
    atomic_store(&h->cut_us, now_us(h));
    pthread_cond_broadcast(&h->woken);
    while (h->running > 0 && pthread_cond_timedwait(&h->woken, &h->lock, &until) == 0)
        ;
    bool ended = h->running == 0;
    pthread_mutex_unlock(&h->lock);
    if (!ended) return false;
    for (int i = 0; i < VS_NAMESPACES_MAX; i++)
        free(h->reader[i].text.at);
    pthread_cond_destroy(&h->woken);
    pthread_mutex_destroy(&h->lock);
    free(h);
    serving->app.holders_self = NULL;
    return true;
}
