/* database.c -- the counters that refillers use.  The stores' own code decides what a write does to a row.  Chance
 * decides when it happens, and whether its reply arrives. */
#include "world.h"

#include <string.h>

#define CALL_US (1 * SEC)

void database_reset(void) {
    memset(world.message, 0, sizeof world.message);
    for (int i = 0; i < world.databases; i++) {
        world.row[i] =
            (struct vs_tag){.tag = "orders", .max = 1 + (int64_t)roll(100), .delta = world.databases, .remainder = i};
        world.row[i].step = 12 + (int64_t)roll(30);
        world.saved[i] = world.row[i];
    }
}

static void granted(int database, const struct vs_grant *grant, unsigned life) {
    world.counts.grants++;
    if (world.most[database] < (int64_t)grant->until) world.most[database] = (int64_t)grant->until;
    for (uint64_t n = grant->from; n < grant->until && n < NUMBERS; n++)
        if (n % (uint64_t)world.databases == (uint64_t)database && world.granted_to[n] != life)
            world.granted_before[n] = world.granted_to[n], world.granted_to[n] = life;
}

static void work_on(struct message *m) {
    struct vs_tag next;
    m->is_done = true;
    m->reply.outcome = VS_STORE_DOWN;
    if (!vs_counter_decide(&m->change, "orders", &world.row[m->database], &next, &m->reply)) return;
    m->reply.outcome = VS_STORE_OK;
    if (m->change.what == VS_TAKE) granted(m->database, &m->reply.grant, m->life);
    world.counts.untaken += m->change.what == VS_UNTAKE;
    world.counts.raised += m->change.what == VS_LIFT;
    world.row[m->database] = next;
}

/* A reply without a range contains values that a careless caller might use: the values of the row. */
static void believe(struct message *m) {
    uint64_t max = (uint64_t)world.row[m->database].max;
    m->reply.grant = (struct vs_grant){.from = max, .until = max + (m->change.step ? m->change.step : 20)};
}

struct message *database_ask(int database, const struct vs_counter_change *change, unsigned life) {
    struct message *m = world.message;
    while (m < world.message + MESSAGES && m->is_used && !(m->is_heard && (m->is_done || m->is_lost)))
        m++;
    if (m == world.message + MESSAGES) return NULL;
    int64_t took_us = 1 + (int64_t)roll(chance(20) ? 900 * MS : 30 * MS);
    uint64_t luck = world.is_calm ? 99 : roll(100);
    *m = (struct message){
        .is_used = true, .database = database, .change = *change, .life = life, .outcome = VS_STORE_OK};
    m->answer_us = world.now_us + took_us;
    m->done_us = world.now_us + took_us / 2;
    believe(m);
    if (world.now_us < world.down_us[database]) luck = luck % 12;
    if (luck < 4) m->outcome = VS_STORE_DOWN, m->is_lost = true;
    if (luck >= 4 && luck < 12) { /* done in time, late, or never.  The reply is lost */
        world.counts.unknowns++;
        m->outcome = VS_STORE_UNKNOWN;
        m->answer_us = world.now_us + CALL_US;
        m->is_lost = luck < 6;
        if (luck >= 9) m->done_us = world.now_us + (int64_t)roll(8 * SEC), world.counts.late++;
    }
    if (luck == 12) m->outcome = VS_STORE_CONFLICT, m->is_lost = true;
    if (luck == 13) m->outcome = VS_STORE_REFUSED, m->is_lost = true;
    return m;
}

void database_work(void) {
    for (struct message *m = world.message; m < world.message + MESSAGES; m++)
        if (m->is_used && !m->is_done && !m->is_lost && m->done_us <= world.now_us) work_on(m);
}

/* A Leaf server: runs its own UPDATE and issues all granted numbers at once. */
void database_foreign(void) {
    int database = (int)roll((uint64_t)world.databases);
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    struct vs_counter_change take = {.what = VS_TAKE, .step = (uint64_t)world.databases * (1 + roll(3))};
    struct vs_tag next;
    if (!vs_counter_decide(&take, "orders", &world.row[database], &next, &reply)) return;
    world.row[database] = next;
    world.counts.foreign++;
    for (uint64_t n = reply.grant.from; n < reply.grant.until && n < NUMBERS; n++) {
        if (n % (uint64_t)world.databases != (uint64_t)database) continue;
        if (world.is_given[n]) found("number %llu was issued before another server issued it", (unsigned long long)n);
        world.is_given[n] = true;
        world.granted_to[n] = 0;
    }
}

/* A failover to a replica that lacks the last writes.  Requests in transit are executed by the replica. */
static void fail_over(int database) {
    world.counts.failovers++;
    world.row[database] = world.saved[database];
}

/* A backup and its later restore.  The server is down in the meantime, and requests in transit are lost. */
void database_save_or_restore(int database) {
    if (world.now_us < world.down_us[database]) return;
    if (chance(50)) {
        world.saved[database] = world.row[database];
        return;
    }
    if (world.row[database].max <= world.saved[database].max) return;
    if (chance(50)) {
        fail_over(database);
        return;
    }
    world.counts.restored++;
    for (struct message *m = world.message; m < world.message + MESSAGES; m++)
        if (m->is_used && m->database == database && !m->is_done) m->is_lost = true;
    for (struct message *m = world.message; m < world.message + MESSAGES; m++)
        if (m->is_used && m->database == database && m->answer_us > world.now_us) m->outcome = VS_STORE_UNKNOWN;
    world.row[database] = world.saved[database];
    world.down_us[database] = world.now_us + 2 * SEC;
}

/* The operator's repair: raises the counter above everything that was granted. */
void database_put_right(int database) {
    if (world.row[database].max < world.most[database]) world.row[database].max = world.most[database];
    world.saved[database] = world.row[database];
    for (int i = 0; i < world.maps_count; i++)
        atomic_fetch_and(&world.maps[i].words.stopped, ~(UINT32_C(1) << database));
}
