/* roster.c -- the open connections of all loops (see roster.h).  Contains no protocol code. */
#include "server/clients/roster.h"
#include "base/array.h"
#include "os/thread.h"
#include "server/session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct last {
    struct vs_peer peer;
    int64_t unix_ms; /* time of the last event (0: never) */
};

/* The open connections of one loop. */
struct roster_part {
    pthread_mutex_t lock;                   /* guards `members` and `last` */
    TAILQ_HEAD(members, vs_member) members; /* ordered by id */
    struct last last[VS_LASTS];
    atomic_bool some_are_to_end;
};

struct vs_roster {
    int loops;
    struct roster_part part[];
};

struct vs_roster *vs_roster_new(int loops) {
    struct vs_roster *roster = calloc(1, sizeof *roster + (size_t)loops * sizeof *roster->part);
    if (!roster) return NULL;
    roster->loops = loops;
    for (int i = 0; i < loops; i++) {
        pthread_mutex_init(&roster->part[i].lock, NULL);
        TAILQ_INIT(&roster->part[i].members);
    }
    return roster;
}

void vs_roster_free(struct vs_roster *roster) {
    if (!roster) return;
    for (int i = 0; i < roster->loops; i++)
        pthread_mutex_destroy(&roster->part[i].lock);
    free(roster);
}

/* ------------------------------------------------------------------ connections come and go */

static void count_as(struct vs_session *s, int count) {
    struct vs_member *m = &s->member;
    struct vs_counts *counts = s->scratch->counts;
    if (m->count >= 0) vs_add(&counts->of_client[m->count][VS_CLIENT_OPEN], (uint64_t)-1);
    if (count >= 0) vs_add(&counts->of_client[count][VS_CLIENT_OPEN], 1);
    m->count = count;
}

void vs_roster_leave(struct vs_session *s) {
    struct vs_member *m = &s->member;
    if (!m->part) return;
    pthread_mutex_lock(&m->part->lock);
    TAILQ_REMOVE(&m->part->members, m, all);
    count_as(s, -1);
    pthread_mutex_unlock(&m->part->lock);
    m->part = NULL;
}

void vs_roster_name(struct vs_session *s, struct vs_slice name) {
    struct vs_member *m = &s->member;
    if (m->part) pthread_mutex_lock(&m->part->lock);
    memcpy(m->name, name.at, name.length);
    m->name[name.length] = '\0';
    if (m->part) pthread_mutex_unlock(&m->part->lock);
}

/* Requires the lock. */
static void note(struct roster_part *part, const struct vs_server *server, int what, const struct vs_peer *peer) {
    part->last[what] = (struct last){*peer, server->clock->unix_us(server->clock->self) / 1000};
}

void vs_roster_note(struct vs_server *server, int loop, int what, const struct vs_peer *peer) {
    struct roster_part *part = &server->monitor.roster->part[loop];
    pthread_mutex_lock(&part->lock);
    note(part, server, what, peer);
    pthread_mutex_unlock(&part->lock);
}

/* Requires the lock. */
static void roster_know(struct vs_session *s, const char *client, int count) {
    struct vs_member *m = &s->member;
    m->peer = *s->peer;
    strcpy(m->client, client);
    count_as(s, count);
    note(m->part, s->server, count, &m->peer);
}

void vs_roster_know(struct vs_session *s, const char *client, int count) {
    struct vs_member *m = &s->member;
    if (!m->part) return;
    pthread_mutex_lock(&m->part->lock);
    roster_know(s, client, count);
    pthread_mutex_unlock(&m->part->lock);
}

void vs_roster_enter(struct vs_session *s, int fd) {
    struct vs_member *m = &s->member;
    s->began_us = s->server->clock->boot_us(s->server->clock->self);
    m->session = s;
    m->fd = fd;
    m->part = &s->server->monitor.roster->part[s->scratch->loop];
    m->count = -1;
    pthread_mutex_lock(&m->part->lock);
    roster_know(s, access_grant_name(&s->grant), s->grant.count);
    TAILQ_INSERT_TAIL(&m->part->members, m, all);
    pthread_mutex_unlock(&m->part->lock);
}

void vs_roster_move(struct vs_session *s) {
    struct vs_member *m = &s->member;
    pthread_mutex_lock(&m->part->lock);
    m->peer = *s->peer;
    pthread_mutex_unlock(&m->part->lock);
}

bool vs_roster_is_to_end(struct vs_roster *roster, int loop) {
    return atomic_exchange(&roster->part[loop].some_are_to_end, false);
}

/* ------------------------------------------------------------------ filters */

/* Returns the local address of a connection.  The socket is open as long as the connection is a member. */
static struct vs_peer own_address(const struct vs_member *m) {
    struct sockaddr_storage address = {.ss_family = AF_UNIX};
    socklen_t length = sizeof address;
    (void)getsockname(m->fd, (struct sockaddr *)&address, &length);
    return vs_peer_of(&address);
}

static bool roster_is_peer(const struct vs_peer *peer, struct vs_slice text) {
    char buf[VS_PEER_TEXT_MAX];
    return vs_slice_is(text, vs_peer_text(peer, buf));
}

static bool is_host(const struct vs_peer *peer, struct vs_slice text) {
    char buf[VS_PEER_TEXT_MAX];
    return vs_slice_is(text, vs_peer_host(peer, buf));
}

static bool has_id(const struct vs_wanted *w, uint64_t id) {
    if (id <= w->after || id == w->but) return false;
    if (!w->ids) return true;
    for (size_t i = 0; i < w->id_count; i++)
        if (w->ids[i] == id) return true;
    return false;
}

/* Returns whether a connection matches, testing the cheapest conditions first. */
static bool is_meant(const struct vs_wanted *w, const struct vs_member *m) {
    if (!has_id(w, m->session->id)) return false;
    if (w->client.at && !vs_slice_is(w->client, m->client)) return false;
    if (w->peer.at && !roster_is_peer(&m->peer, w->peer)) return false;
    if (w->host.at && !is_host(&m->peer, w->host)) return false;
    struct vs_peer own;
    return !w->own.at || (own = own_address(m), roster_is_peer(&own, w->own));
}

/* Returns the number of loops, or 0 in a test without loops, which has no roster. */
static int count_parts(const struct vs_server *server) {
    return server->monitor.roster ? server->monitor.roster->loops : 0;
}

/* ------------------------------------------------------------------ reading */

static struct roster_seen see(const struct vs_member *m, int64_t now_us) {
    const struct vs_session *s = m->session;
    const struct vesta_clock *clock = s->server->clock;
    struct roster_seen seen = {.id = s->id,
                           .protocol = s->protocol,
                           .peer = m->peer,
                           .own = own_address(m),
                           .fd = m->fd,
                           .loop = s->scratch->loop,
                           .multi = (int)vs_get(&m->commands) - 1,
                           .age_us = clock->boot_us(clock->self) - s->began_us,
                           .idle_ms = now_us / 1000 - (int64_t)net_active_ms(m->session->conn),
                           .resp3 = atomic_load(&m->resp3),
                           .waits = vs_get(&m->waits) != 0,
                           .requests = vs_get(&m->requests),
                           .refused = vs_get(&m->refused),
                           .ids = vs_get(&m->ids),
                           .memory = vs_get(&m->memory),
                           .call = atomic_load_explicit(&m->call, memory_order_relaxed)};
    strcpy(seen.name, m->name);
    strcpy(seen.client, m->client);
    if (seen.idle_ms < 0) seen.idle_ms = 0;
    return seen;
}

static int by_id(const void *a, const void *b) {
    uint64_t x = ((const struct roster_seen *)a)->id, y = ((const struct roster_seen *)b)->id;
    return x < y ? -1 : x > y;
}

struct sight {
    struct roster_seen *at;
    size_t count, size;
};

/* Makes room for one more element. */
static bool grow(struct sight *all) {
    if (all->count < all->size) return true;
    size_t more = all->size ? 2 * all->size : 16;
    struct roster_seen *to = realloc(all->at, more * sizeof *to);
    if (!to) return false;
    all->at = to;
    all->size = more;
    return true;
}

/* Requires the lock. */
static bool look_at_me(const struct vs_wanted *wanted, struct sight *all, int64_t now_us) {
    const struct vs_member *me = &wanted->me->member;
    if (!is_meant(wanted, me)) return true;
    if (!grow(all)) return false;
    all->at[all->count++] = see(me, now_us);
    return true;
}

/* Appends the first `max` matching connections of a part. */
static bool look_at_part(struct roster_part *part, const struct vs_wanted *wanted, size_t max, struct sight *all) {
    const struct vs_member *m;
    int64_t now_us = vs_monotonic_us();
    size_t until = max ? all->count + max : SIZE_MAX;
    bool done = true;
    if (wanted->me && wanted->me->member.part != part) return true;
    pthread_mutex_lock(&part->lock);
    if (wanted->me) {
        done = look_at_me(wanted, all, now_us);
        pthread_mutex_unlock(&part->lock);
        return done;
    }
    TAILQ_FOREACH(m, &part->members, all) {
        if (all->count == until) break;
        if (!is_meant(wanted, m)) continue;
        if (!(done = grow(all))) break;
        all->at[all->count++] = see(m, now_us);
    }
    pthread_mutex_unlock(&part->lock);
    return done;
}

struct roster_seen *vs_roster_look(struct vs_server *server, const struct vs_wanted *wanted, size_t max, size_t *count) {
    struct sight all = {.at = NULL};
    bool done = grow(&all);
    for (int i = 0; done && i < count_parts(server); i++)
        done = look_at_part(&server->monitor.roster->part[i], wanted, max, &all);
    if (!done) return free(all.at), NULL;
    qsort(all.at, all.count, sizeof *all.at, by_id);
    *count = max && all.count > max ? max : all.count;
    return all.at;
}

int64_t vs_roster_last(struct vs_server *server, int count, struct vs_peer *peer) {
    int64_t unix_ms = 0;
    for (int i = 0; i < count_parts(server); i++) {
        struct roster_part *part = &server->monitor.roster->part[i];
        pthread_mutex_lock(&part->lock);
        if (part->last[count].unix_ms > unix_ms) *peer = part->last[count].peer, unix_ms = part->last[count].unix_ms;
        pthread_mutex_unlock(&part->lock);
    }
    return unix_ms;
}

/* ------------------------------------------------------------------ ending */

static size_t end_in_part(struct roster_part *part, const struct vs_wanted *wanted) {
    struct vs_member *m;
    size_t count = 0;
    pthread_mutex_lock(&part->lock);
    TAILQ_FOREACH(m, &part->members, all)
    if ((!wanted->me || m->session == wanted->me) && is_meant(wanted, m) && !atomic_exchange(&m->is_to_end, true))
        count++;
    pthread_mutex_unlock(&part->lock);
    if (count) atomic_store(&part->some_are_to_end, true);
    return count;
}

size_t vs_roster_end(struct vs_server *server, const struct vs_wanted *wanted) {
    size_t count = 0;
    for (int i = 0; i < count_parts(server); i++)
        count += end_in_part(&server->monitor.roster->part[i], wanted);
    if (count) net_wake(&server->net);
    return count;
}
