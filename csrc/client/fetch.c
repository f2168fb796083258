/* fetch.c -- the thread that fetches blocks from the first server that is up, or from the fallback if no server is up.
 * Other threads make the connections (dial.c), so a server that does not reply does not delay blocks from the other
 * servers. */
#include "client/fetch.h"
#include "base/error.h"
#include "client/layouts.h"
#include "client/peer.h"
#include "client/shared.h"
#include "os/random.h"
#include "os/thread.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* how long a connection attempt delays the attempt to connect to the next server */
#define STAGGER_US INT64_C(100000)
#define NO_THREAD_US INT64_C(100000)     /* how long to wait before trying again to start the thread */
#define ROUSE_US INT64_C(100000)         /* minimum interval between early attempts for a waiting caller */
#define FALLBACK_US INT64_C(1000)        /* minimum wait after a pause of the fallback */
#define FALLBACK_MAX_US INT64_C(1000000) /* maximum wait, because the pause may end earlier than reported */

#define GIVEN 8 /* number of recent blocks remembered, to reject a reply that arrives twice */

struct vs_fetcher {
    struct vesta_client *client;
    pthread_t thread;
    int wake_fd;
    atomic_bool is_ended;
    uint64_t dice;
    int64_t fallback_us; /* boot time before which the fallback is not called */
    int64_t roused_us;   /* time of the last early attempt */
    struct vs_client_peer peer[VESTA_SERVERS_MAX];
    struct vs_block given[GIVEN]; /* the last blocks.  count 0: slot not used yet */
    unsigned given_count;
    struct vs_layouts layouts; /* layouts of all blocks so far */
    struct vs_wire_answer answer;
};

static int64_t fetch_sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static uint64_t fetch_roll(struct vs_fetcher *f) {
    f->dice = f->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return f->dice >> 33;
}

/* ------------------------------------------------------------------ status for vesta_client_get_info */

/* Copies a server's text, which may be logged.  Replaces control characters, and truncates a text that is too long. */
static void fetch_copy_text(char *to, size_t size, const char *text) {
    size_t i = 0;
    for (; i + 1 < size && text[i]; i++)
        to[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    to[i] = '\0';
}

static void note_error(struct vs_fetcher *f, int source, const char *text) {
    struct vesta_client *client = f->client;
    struct vesta_client_source *at = &client->shared->source[source];
    vs_client_lock(client);
    at->errors++;
    client->shared->info.errors++;
    fetch_copy_text(at->error, sizeof at->error, text);
    vs_client_unlock(client);
}

static void note_request(struct vs_fetcher *f, int source) {
    vs_client_lock(f->client);
    f->client->shared->source[source].requests++;
    vs_client_unlock(f->client);
}

/* Records which servers are up, and the time of the next attempt. */
static void note_state(struct vs_fetcher *f, int64_t now_us, int64_t until_us) {
    vs_client_lock(f->client);
    bool all_refuse = !f->client->setup.fallback;
    for (int i = 0; i < f->client->setup.server_count; i++) {
        f->client->shared->source[i].is_up = vs_peer_is_up(&f->peer[i], now_us);
        all_refuse &= f->peer[i].is_refusing;
    }
    f->client->shared->retry_us = until_us;
    vs_client_unlock(f->client);
    vs_shared_set_refused(f->client, all_refuse);
}

/* ------------------------------------------------------------------ a server */

/* Returns true if an id of this block was in an earlier block.  A proxy may deliver a reply twice. */
static bool was_given(const struct vs_fetcher *f, const struct vs_block *block) {
    for (int i = 0; i < GIVEN; i++)
        if (f->given[i].count > 0 && vs_block_overlaps(&f->given[i], block)) return true;
    return false;
}

/* Publishes a block.  `layout` is the text of its layout, or empty. */
static void fetch_publish(struct vs_fetcher *f, int source, const struct vs_block *block, struct vs_slice layout,
                          int64_t sent_us) {
    struct vs_held held = {.block = *block, .sent_us = sent_us};
    struct vesta_layout parsed;
    char text[VESTA_LAYOUT_TEXT_MAX];
    bool fits = block->is_ticks && layout.length > 0 && layout.length < sizeof text;
    if (fits) snprintf(text, sizeof text, "%.*s", (int)layout.length, layout.at);
    if (fits && vesta_layout_parse(text, &parsed, NULL) == VESTA_OK) vs_uuid_of(&parsed, &held.uuid);
    vs_shared_publish(f->client, source, &held);
}

/* Publishes the reply's block.  Returns false if the reply has no valid block. */
static bool read_answer(struct vs_fetcher *f, int i, uint64_t asked, int64_t sent_us) {
    struct vs_block block;
    struct vesta_error err;
    const struct vs_setup *setup = &f->client->setup;
    const struct vs_client_values values = {f->answer.at, f->answer.count};
    if (vs_reply_read(&values, setup->name, asked, &block, &err) != VESTA_OK) {
        note_error(f, i, err.text);
        return false;
    }
    if (was_given(f, &block)) {
        note_error(f, i, "a block arrived that this client has already received");
        return false;
    }
    if (block.is_ticks && vs_layouts_take(&f->layouts, vs_reply_layout(&values), &err) != VESTA_OK) {
        note_error(f, i, err.text);
        return false;
    }
    f->given[f->given_count++ % GIVEN] = block;
    fetch_publish(f, i, &block, vs_reply_layout(&values), sent_us);
    return true;
}

/* Returns true if a connection that has served a block ended for an ordinary reason, which does not count as a failure.
 * A server may close an idle connection, or its secret may have been replaced, in which case the secret file contains
 * the new secret. */
static bool has_served_its_time(const struct vs_client_peer *peer, const struct vs_wire_answer *answer) {
    bool is_old_secret = answer->heard == VS_HEARD_ERROR &&
                         (strncmp(answer->text, "NOAUTH", 6) == 0 || strncmp(answer->text, "NOPERM", 6) == 0);
    return peer->has_served && (answer->heard == VS_HEARD_END || is_old_secret);
}

/* Handles a server's error or failure. */
static void fail_peer(struct vs_fetcher *f, int i, int64_t now_us) {
    struct vs_client_peer *peer = &f->peer[i];
    enum vs_heard heard = f->answer.heard;
    if (has_served_its_time(peer, &f->answer)) {
        vs_peer_hang_up(peer);
        return;
    }
    /* read_answer has recorded the error of a reply with values */
    if (heard != VS_HEARD_VALUES) note_error(f, i, f->answer.text);
    if (heard != VS_HEARD_ERROR) vs_peer_hang_up(peer);
    bool refuses = heard == VS_HEARD_ERROR && !vs_wire_passes(f->answer.text);
    (refuses ? vs_peer_refuse : vs_peer_rest)(peer, now_us, fetch_roll(f));
}

static void ask_server(struct vs_fetcher *f, int i, uint64_t ids) {
    char count[24];
    struct vs_client_peer *peer = &f->peer[i];
    const char *words[] = {"VESTA.BLOCK", f->client->setup.name, count};
    int64_t now_us = vs_client_now_us();
    struct vs_wire_question q = {.link = &peer->link,
                                 .words = words,
                                 .count = 3,
                                 .until_boot_us = now_us + f->client->setup.timeout_us,
                                 .is_cut = &f->is_ended};
    snprintf(count, sizeof count, "%llu", (unsigned long long)ids);
    note_request(f, i);
    f->client->wire->ask(&q, &f->answer);
    if (f->answer.heard == VS_HEARD_VALUES && read_answer(f, i, ids, now_us)) {
        peer->failures = 0;
        peer->has_served = true;
    } else if (!atomic_load(&f->is_ended)) {
        fail_peer(f, i, vs_client_now_us());
    }
}

/* ------------------------------------------------------------------ the fallback */

/* Fetches a block from the fallback.  The fallback's ids must not be duplicates of the servers' ids, so its layout is
 * checked, and is added to the client's layouts when its first block arrives. */
static void ask_fallback(struct vs_fetcher *f, uint64_t ids, int64_t now_us) {
    struct vesta_gen *gen = f->client->setup.fallback;
    struct vs_layouts with = f->layouts;
    struct vesta_block given;
    struct vesta_pause pause;
    struct vesta_error err;
    struct vs_block block;
    char text[512], layout[VESTA_LAYOUT_TEXT_MAX];
    struct vs_slice its = {layout, vesta_layout_text(vesta_gen_layout(gen), layout)};
    if (vs_layouts_take(&with, its, &err) != VESTA_OK) {
        note_error(f, VS_FALLBACK, err.text);
        f->fallback_us = now_us + FALLBACK_MAX_US;
        return;
    }
    if (vesta_next_block(gen, ids, &given, &pause) == VESTA_OK) {
        f->layouts = with;
        vs_block_of(vesta_gen_layout(gen), &given, &block);
        fetch_publish(f, VS_FALLBACK, &block, its, now_us);
        return;
    }
    if (pause.why == VESTA_LEASE || pause.why == VESTA_CLOSED)
        vesta_keep(gen); /* fails for a private generator, which needs no lease */
    vesta_pause_text(gen, &pause, text, sizeof text);
    note_error(f, VS_FALLBACK, text);
    int64_t wait_us = pause.wait_us < 0 ? FALLBACK_MAX_US : fetch_sooner(pause.wait_us, FALLBACK_MAX_US);
    f->fallback_us = now_us + (wait_us > FALLBACK_US ? wait_us : FALLBACK_US);
}

/* Returns true if the fallback may be called, which is the case if every server has failed since its last block. */
static bool is_fallback_due(const struct vs_fetcher *f, int64_t now_us) {
    if (!f->client->setup.fallback || now_us < f->fallback_us) return false;
    for (int i = 0; i < f->client->setup.server_count; i++)
        if (vs_peer_is_promising(&f->peer[i])) return false;
    return true;
}

/* Makes one attempt to get a block.  Returns false if no server is up, and the fallback must not be called now. */
static bool fetch_begin(struct vs_fetcher *f, const struct vs_client_plan *plan, int64_t now_us) {
    for (int i = 0; i < f->client->setup.server_count; i++)
        if (vs_peer_is_up(&f->peer[i], now_us)) {
            ask_server(f, i, plan->asks);
            return true;
        }
    if (!is_fallback_due(f, now_us)) return false;
    ask_fallback(f, plan->asks, now_us);
    return true;
}

/* ------------------------------------------------------------------ connections */

static void reap_dial(struct vs_fetcher *f, int i, int64_t now_us) {
    struct vesta_error err;
    struct vs_client_peer *peer = &f->peer[i];
    bool is_there = vs_dial_end(peer->dial, &peer->link, &err);
    peer->dial = NULL;
    if (is_there) return;
    note_error(f, i, err.text);
    (err.code == VESTA_EOPTION ? vs_peer_refuse : vs_peer_rest)(peer, now_us, fetch_roll(f));
}

static void begin_dial(struct vs_fetcher *f, int i, int64_t now_us) {
    struct vesta_error err;
    struct vs_client_peer *peer = &f->peer[i];
    const struct vs_setup *setup = &f->client->setup;
    peer->dialed_us = now_us;
    peer->dial = vs_dial_begin(&(struct vs_dial_opts){.wire = f->client->wire,
                                                      .tls = f->client->tls,
                                                      .place = &setup->server[i],
                                                      .access = &setup->access,
                                                      .timeout_ms = setup->timeout_us / 1000,
                                                      .wake_fd = f->wake_fd},
                               &err);
    if (peer->dial) return;
    note_error(f, i, err.text);
    vs_peer_rest(peer, now_us, fetch_roll(f));
}

/* Returns true if the dial has exceeded its time, because its name lookup hangs. */
static bool is_overdue(const struct vs_fetcher *f, const struct vs_client_peer *peer, int64_t now_us) {
    return now_us - peer->dialed_us > 2 * f->client->setup.timeout_us + STAGGER_US;
}

static void leave_dial(struct vs_fetcher *f, int i, int64_t now_us) {
    struct vs_client_peer *peer = &f->peer[i];
    vs_dial_leave(peer->dial);
    peer->dial = NULL;
    note_error(f, i, "its name is still being looked up");
    vs_peer_rest(peer, now_us, fetch_roll(f));
}

/* Does the next step of connecting to a server.  Returns true if the servers after it in the list must wait until
 * *until_us. */
static bool go_on_dialing(struct vs_fetcher *f, int i, bool is_active, int64_t *until_us) {
    struct vs_client_peer *peer = &f->peer[i];
    int64_t now_us = vs_client_now_us();
    if (peer->dial && vs_dial_is_done(peer->dial)) reap_dial(f, i, now_us);
    if (peer->dial && is_overdue(f, peer, now_us)) leave_dial(f, i, now_us);
    if (peer->link.fd < 0 && !peer->dial && is_active && now_us >= peer->retry_us) begin_dial(f, i, now_us);
    if (peer->dial) {
        bool is_first = now_us - peer->dialed_us < STAGGER_US;
        *until_us = fetch_sooner(*until_us, is_first ? peer->dialed_us + STAGGER_US : now_us + STAGGER_US);
        return is_first;
    }
    if (now_us < peer->retry_us && (is_active || peer->link.fd >= 0))
        *until_us = fetch_sooner(*until_us, peer->retry_us);
    return false;
}

/* Connects to the servers in the order of the list, up to the first one that is up.  Servers listed before the one in
 * use are therefore tried again while it is in use.  Returns the time of the next step. */
static int64_t connect_servers(struct vs_fetcher *f, bool is_active) {
    int64_t until_us = INT64_MAX;
    for (int i = 0; i < f->client->setup.server_count; i++)
        if (vs_peer_is_up(&f->peer[i], vs_client_now_us()) || go_on_dialing(f, i, is_active, &until_us) ||
            vs_peer_is_up(&f->peer[i], vs_client_now_us()))
            break;
    return until_us;
}

static bool is_any_up(const struct vs_fetcher *f) {
    int64_t now_us = vs_client_now_us();
    for (int i = 0; i < f->client->setup.server_count; i++)
        if (vs_peer_is_up(&f->peer[i], now_us)) return true;
    return false;
}

/* ------------------------------------------------------------------ the thread */

static void fetch_rest(struct vs_fetcher *f, int64_t until_us) {
    uint64_t times;
    struct pollfd woken = {.fd = f->wake_fd, .events = POLLIN};
    int64_t left_us = until_us - vs_client_now_us(), ms = left_us / 1000 + 1;
    if (left_us <= 0) return;
    if (poll(&woken, 1, until_us == INT64_MAX || ms > 3600000 ? 3600000 : (int)ms) <= 0) return;
    ssize_t got = read(f->wake_fd, &times, sizeof times);
    (void)got;
}

/* If all servers are pausing after failures, and a caller is waiting without a fallback, tries the server whose pause
 * ends first.  Ids therefore resume soon after a server is back.  Returns the time of the next such attempt. */
static int64_t rouse_a_server(struct vs_fetcher *f, int64_t now_us) {
    struct vs_client_peer *soonest = NULL;
    if (now_us - f->roused_us < ROUSE_US) return f->roused_us + ROUSE_US;
    if (f->client->setup.fallback && now_us >= f->fallback_us) return INT64_MAX;
    for (int i = 0; i < f->client->setup.server_count; i++) {
        struct vs_client_peer *peer = &f->peer[i];
        /* a dial or a request is under way, which may still succeed */
        if (peer->dial || now_us >= peer->retry_us) return INT64_MAX;
        if (!peer->is_refusing && (!soonest || peer->retry_us < soonest->retry_us)) soonest = peer;
    }
    if (!soonest) return INT64_MAX;
    soonest->retry_us = now_us;
    f->roused_us = now_us;
    return now_us + ROUSE_US;
}

static void *fetch_main(void *arg) {
    struct vs_fetcher *f = arg;
    while (!atomic_load(&f->is_ended)) {
        struct vs_client_plan plan;
        vs_shared_plan(f->client, &plan);
        int64_t now_us = vs_client_now_us(), rouse_us = plan.is_missed ? rouse_a_server(f, now_us) : INT64_MAX;
        int64_t until_us = fetch_sooner(connect_servers(f, plan.is_active), rouse_us);
        if (plan.is_due && fetch_begin(f, &plan, now_us)) continue;
        if (plan.is_due && is_any_up(f)) continue; /* a server has come up since fetch_begin */
        if (plan.is_due && is_fallback_due(f, INT64_MAX)) until_us = fetch_sooner(until_us, f->fallback_us);
        until_us = fetch_sooner(until_us, plan.expiry_us);
        note_state(f, now_us, until_us);
        fetch_rest(f, until_us);
    }
    return NULL;
}

static void hang_up_all(struct vs_fetcher *f) {
    for (int i = 0; i < VESTA_SERVERS_MAX; i++) {
        if (f->peer[i].dial) vs_dial_leave(f->peer[i].dial);
        vs_peer_hang_up(&f->peer[i]);
    }
}

/* ------------------------------------------------------------------ start and end of the thread */

static struct vs_fetcher *make_fetcher(struct vesta_client *client) {
    struct vs_fetcher *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->client = client;
    f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (vs_random(&f->dice, sizeof f->dice) != 0) f->dice = (uint64_t)vs_client_now_us();
    for (int i = 0; i < VESTA_SERVERS_MAX; i++)
        f->peer[i].link.fd = -1;
    if (f->wake_fd >= 0) return f;
    free(f);
    return NULL;
}

/* Returns false and sets errno if the thread could not be started. */
static bool fetch_start(struct vs_fetcher *f) {
    errno = vs_thread_start(&f->thread, fetch_main, f);
    return errno == 0;
}

struct vs_fetcher *vs_fetch_started(struct vesta_client *client, int64_t now_us) {
    struct vs_client_shared *shared = client->shared;
    if (shared->fetcher || now_us < shared->retry_us) return shared->fetcher;
    struct vs_fetcher *f = make_fetcher(client);
    if (f && fetch_start(f)) return shared->fetcher = f;
    int why = errno;
    if (f) close(f->wake_fd);
    free(f);
    shared->retry_us = now_us + NO_THREAD_US;
    shared->source[0].errors++;
    shared->info.errors++;
    snprintf(shared->source[0].error, sizeof shared->source[0].error, "cannot start the thread that fetches blocks: %s",
             strerror(why));
    return NULL;
}

void vs_fetch_wake(struct vs_fetcher *f) {
    uint64_t one = 1;
    /* fails if the eventfd is full, but then the thread is already awake */
    ssize_t told = write(f->wake_fd, &one, sizeof one);
    (void)told;
}

void vs_fetch_stop(struct vs_fetcher *f) {
    atomic_store(&f->is_ended, true);
    vs_fetch_wake(f);
    pthread_join(f->thread, NULL);
    hang_up_all(f);
    close(f->wake_fd);
    free(f);
}
