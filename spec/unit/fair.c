/* fair.c -- token buckets and fair shares without a server, under a clock that the test moves. The source of ids
 * refills like the time units of a layout. */
#include "access/bucket.h"
#include "access/fair.h"
#include "base/array.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>

#define SECOND_NS 1000000000ll
#define PATIENCE_NS (1500 * 1000000ll)

/* ------------------------------------------------------------------ buckets */

/* Returns how many tokens the bucket has at that instant, taken one by one. */
static int at_once(struct access_bucket *bucket, int64_t now_ns) {
    int n = 0;
    while (n < 100000 && access_bucket_take(bucket, 1, now_ns, 0) == 0)
        n++;
    return n;
}

static void a_rate_holds(void) {
    static const uint64_t rates[] = {1, 7, 100, 1000};
    for (size_t i = 0; i < VS_COUNT(rates); i++) {
        struct access_bucket bucket = {0};
        int64_t now = 5 * SECOND_NS, given = 0;
        access_bucket_set(&bucket, rates[i], now);
        CHECK_EQ_I64(at_once(&bucket, now), (int64_t)rates[i]);
        for (int ms = 1; ms <= 10000; ms++)
            given += at_once(&bucket, now + ms * SECOND_NS / 1000);
        CHECK(given >= (int64_t)(10 * rates[i] - 1) && given <= (int64_t)(10 * rates[i] + 1));
    }
}

static void no_rate_is_no_limit(void) {
    struct access_bucket bucket = {0};
    CHECK_EQ_I64(access_bucket_take(&bucket, UINT64_MAX, 0, 0), 0);
    CHECK(access_bucket_room(&bucket, 0) == UINT64_MAX);
    access_bucket_set(&bucket, ACCESS_RATE_MAX, SECOND_NS);
    CHECK_EQ_I64(access_bucket_take(&bucket, ACCESS_RATE_MAX, SECOND_NS, 0), 0);
    CHECK_EQ_I64(access_bucket_take(&bucket, 1, 2 * SECOND_NS, 0), 0);
}

/* A leap forward fills the bucket once, however long it is. A clock that goes back or does not move adds no tokens. */
static void a_clock_that_steps_refills_once(void) {
    struct access_bucket bucket = {0};
    int64_t now = 1000 * SECOND_NS;
    access_bucket_set(&bucket, 100, now);
    CHECK_EQ_I64(at_once(&bucket, now), 100);
    CHECK_EQ_I64(at_once(&bucket, now), 0);
    CHECK_EQ_I64(at_once(&bucket, now + 86400 * SECOND_NS), 100);
    CHECK_EQ_I64(at_once(&bucket, now), 0);
    CHECK_EQ_I64(at_once(&bucket, 0), 0);
    CHECK_EQ_I64(at_once(&bucket, now + 86400 * SECOND_NS), 0);
    CHECK_EQ_I64(at_once(&bucket, INT64_MAX / 4), 100);
}

/* A request may take more tokens than the bucket has. Later requests wait until the debt is paid. */
static void a_large_request_is_paid_later(void) {
    struct access_bucket bucket = {0};
    int64_t now = 50 * SECOND_NS;
    access_bucket_set(&bucket, 1000, now);
    CHECK_EQ_I64(access_bucket_take(&bucket, 5000, now, 0), 0);
    CHECK(access_bucket_room(&bucket, now) == 0);
    int64_t wait = -access_bucket_take(&bucket, 1, now, 0);
    CHECK(wait > 4 * SECOND_NS && wait <= 4 * SECOND_NS + SECOND_NS / 500);
    access_bucket_give(&bucket, 5000);
    CHECK_EQ_I64(access_bucket_take(&bucket, 1, now, 0), 0);
    for (uint64_t n = 1; n != 0; n *= 4) {
        access_bucket_set(&bucket, 1, now);
        (void)access_bucket_take(&bucket, n, now, INT64_MAX / 8);
        CHECK(access_bucket_take(&bucket, UINT64_MAX, now, PATIENCE_NS) <= PATIENCE_NS);
    }
}

static void turns_are_in_order(void) {
    struct access_bucket bucket = {0};
    int64_t now = SECOND_NS;
    access_bucket_set(&bucket, 10, now);
    CHECK_EQ_I64(at_once(&bucket, now), 10);
    for (int i = 1; i <= 15; i++)
        CHECK_EQ_I64(access_bucket_take(&bucket, 1, now, PATIENCE_NS), i * SECOND_NS / 10);
    CHECK_EQ_I64(access_bucket_take(&bucket, 1, now, PATIENCE_NS), -16 * SECOND_NS / 10);
    CHECK_EQ_I64(access_bucket_take(&bucket, 1, now + SECOND_NS, PATIENCE_NS), 6 * SECOND_NS / 10);
}

static void a_late_request_is_charged(void) {
    struct access_bucket bucket = {0};
    int64_t now = SECOND_NS;
    access_bucket_set(&bucket, 10, now);
    for (int i = 0; i < 10; i++)
        CHECK_EQ_I64(access_bucket_take(&bucket, 1, now, -SECOND_NS), 0);
    CHECK_EQ_I64(access_bucket_take(&bucket, 1, now, -SECOND_NS), -SECOND_NS / 10);
}

static void another_rate_holds_at_once(void) {
    struct access_bucket bucket = {0};
    int64_t now = SECOND_NS;
    access_bucket_set(&bucket, 10, now);
    (void)access_bucket_take(&bucket, 1000, now, 0); /* 100 s of debt, less the saved tokens */
    access_bucket_set(&bucket, 1000, now);
    CHECK(-access_bucket_take(&bucket, 1, now, 0) <= SECOND_NS);
    access_bucket_set(&bucket, 1, now);
    CHECK(-access_bucket_take(&bucket, 1, now, 0) >= 900 * SECOND_NS);
    access_bucket_set(&bucket, 0, now);
    CHECK_EQ_I64(access_bucket_take(&bucket, 1, now, 0), 0);
}

static struct access_bucket shared_bucket;
static void *take_shared(void *given) {
    for (int i = 0; i < 100000; i++)
        *(int *)given += access_bucket_take(&shared_bucket, 1, SECOND_NS, 0) == 0;
    return NULL;
}

static void threads_share_a_bucket(void) {
    pthread_t thread[4];
    int given[4] = {0}, sum = 0;
    access_bucket_set(&shared_bucket, 100000, SECOND_NS);
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, take_shared, &given[i]);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        sum += given[i];
    }
    CHECK_EQ_I64(sum, 100000);
}

/* ------------------------------------------------------------------ shares: a model of one source and its consumers */

#define WANTERS_MAX 64
#define PARTIES_MAX 32

struct wanter {
    int party;
    int64_t wants;  /* ids per second; 0: as many as it can get */
    uint64_t piece; /* ids per request */
    double due;     /* ids that it should have requested by now */
    uint64_t got, pending;
    int64_t until_us, longest_us, since_us;
    struct access_claim claim;
};

struct world {
    struct access_pool pool;
    struct access_stake stake[PARTIES_MAX];
    struct wanter wanter[WANTERS_MAX];
    int count;
    int64_t now_us, unit_us;
    uint64_t unit, given, total; /* given: in this time unit */
};

static struct world world;

static void begin(int64_t unit_us, uint64_t unit) {
    memset(&world, 0, sizeof world);
    world.unit_us = unit_us, world.unit = unit, world.now_us = 1000 * unit_us;
    for (int i = 0; i < PARTIES_MAX; i++)
        world.stake[i].weight = 1;
}

static struct wanter *want(int party, int64_t wants, uint64_t piece) {
    struct wanter *w = &world.wanter[world.count++];
    *w = (struct wanter){.party = party, .wants = wants, .piece = piece};
    return w;
}

static struct access_supply supply(void) {
    int64_t next_us = world.unit_us - world.now_us % world.unit_us;
    return (struct access_supply){.rate = world.unit * 1000000 / (uint64_t)world.unit_us,
                              .filled_us = world.unit_us,
                              .room = world.unit - world.given,
                              .kept = world.unit / 8 * (uint64_t)next_us / (uint64_t)world.unit_us,
                              .next_us = next_us};
}

/* Takes the rest of a request as far as share and source allow. Returns false if the request must wait. */
static bool serve(struct wanter *w) {
    struct access_supply s = supply();
    uint64_t may = w->pending;
    int64_t took_us;
    if (!access_pool_is_shared(&world.pool) && access_supply_is_low(&s, may)) access_pool_share(&world.pool, &s, world.now_us);
    if (access_pool_is_shared(&world.pool)) {
        if ((took_us = access_pool_due(&world.pool, world.now_us))) access_pool_update(&world.pool, &s, took_us, world.now_us);
        may = access_claim_may(&w->claim, &world.stake[w->party], &world.pool, w->pending, world.now_us);
        if (may == 0) return w->until_us = world.now_us + w->claim.wait_us, false;
    }
    if (may > s.room) may = s.room;
    if (may == 0) {
        access_pool_share(&world.pool, &s, world.now_us);
        access_claim_waits(&w->claim, &world.stake[w->party], &world.pool, world.now_us);
        return w->until_us = world.now_us + (s.next_us < 20000 ? s.next_us : 20000), false;
    }
    world.given += may, world.total += may, w->got += may, w->pending -= may;
    if (access_pool_is_shared(&world.pool)) access_claim_took(&w->claim, &world.stake[w->party], &world.pool, may);
    return w->pending == 0;
}

static void act(struct wanter *w, int64_t step_us) {
    if (w->wants) w->due += (double)w->wants * (double)step_us / 1e6;
    for (int i = 0; i < 2000 && w->until_us <= world.now_us; i++) {
        if (w->pending == 0) {
            if (w->wants && w->due < (double)w->piece) return;
            if (w->wants) w->due -= (double)w->piece;
            w->pending = w->piece, w->since_us = world.now_us;
        }
        if (!serve(w)) return;
        if (world.now_us - w->since_us > w->longest_us) w->longest_us = world.now_us - w->since_us;
    }
}

/* Advances time in steps of 0.1 ms. Some steps take longer, as on a busy machine. */
static void run(int64_t for_us) {
    static uint64_t luck = 88172645463325252u;
    for (int64_t end = world.now_us + for_us; world.now_us < end;) {
        luck ^= luck << 13, luck ^= luck >> 7, luck ^= luck << 17;
        int64_t step_us = luck % 50 == 0 ? 1500 : 100, unit = world.now_us / world.unit_us;
        world.now_us += step_us;
        if (world.now_us / world.unit_us != unit) world.given = 0;
        int first = (int)((luck >> 33) % (uint64_t)world.count);
        for (int i = 0; i < world.count; i++)
            act(&world.wanter[(first + i) % world.count], step_us);
    }
}

static void forget_counts(void) {
    world.total = 0;
    for (int i = 0; i < world.count; i++)
        world.wanter[i].got = 0, world.wanter[i].longest_us = 0;
}

/* Time units of a second and a millisecond, and two narrow layouts of UidGenerator. */
static const struct {
    int64_t unit_us;
    uint64_t unit;
} layouts[] = {{1000000, 1 << 20}, {1000, 1 << 10}, {1000000, 1 << 13}, {10000, 256}};

/* The part of all ids that must be issued at least. Short time units are lost if no request arrives in them. */
static double least_of(size_t layout) {
    return layouts[layout].unit_us < ACCESS_SHORT_US ? 0.6 : 0.85;
}

static void a_greedy_party_leaves_others_their_shares(void) {
    for (size_t l = 0; l < VS_COUNT(layouts); l++) {
        begin(layouts[l].unit_us, layouts[l].unit);
        int64_t rate = (int64_t)(layouts[l].unit * 1000000 / (uint64_t)layouts[l].unit_us);
        for (int i = 0; i < 24; i++)
            want(0, 0, 100000);
        run(300000);
        for (int i = 1; i < 20; i++)
            want(i, rate / 40, 1);
        run(2000000);
        forget_counts();
        run(2000000);
        for (int i = 24; i < world.count; i++) {
            if (world.wanter[i].got < (uint64_t)(rate / 40 * 2 * 9 / 10))
                CHECK_FAIL("layout %zu, %d: %" PRIu64 " of %" PRId64, l, i, world.wanter[i].got, rate / 20);
            if (world.wanter[i].longest_us > 60000) CHECK_FAIL("layout %zu, %d waited %" PRId64 " us", l, i, world.wanter[i].longest_us);
        }
        CHECK((double)world.total > (double)rate * 2 * least_of(l)); /* the ids that the others leave are not lost */
    }
}

static void greedy_parties_have_equal_shares(void) {
    for (size_t l = 0; l < VS_COUNT(layouts); l++) {
        begin(layouts[l].unit_us, layouts[l].unit);
        for (int i = 0; i < 20; i++)
            for (int c = 0; c < (i == 0 ? 24 : 1); c++)
                want(i, 0, i % 3 == 0 ? 10000 : 1);
        uint64_t got[20] = {0}, rate = layouts[l].unit * 1000000 / (uint64_t)layouts[l].unit_us;
        run(1500000);
        forget_counts();
        run(2000000);
        for (int i = 0; i < world.count; i++)
            got[world.wanter[i].party] += world.wanter[i].got;
        for (int i = 0; i < 20; i++)
            if (got[i] < world.total / 20 * 9 / 10)
                CHECK_FAIL("layout %zu, party %d: %" PRIu64 " of %" PRIu64, l, i, got[i], world.total / 20);
        CHECK((double)world.total > (double)rate * 2 * least_of(l));
    }
}

static void connections_of_a_party_have_equal_parts(void) {
    for (size_t l = 0; l < 2; l++) {
        begin(layouts[l].unit_us, layouts[l].unit);
        for (int i = 0; i < 10; i++)
            want(0, 0, i == 0 ? 10000 : 1);
        for (int i = 0; i < 9; i++)
            want(0, 5000, 1); /* light connections of the same address */
        want(1, 0, 1);
        run(1500000);
        forget_counts();
        run(2000000);
        uint64_t first = world.wanter[0].got, other = world.wanter[19].got;
        for (int i = 1; i < 10; i++)
            CHECK(world.wanter[i].got * 11 / 10 > first && world.wanter[i].got * 10 / 11 < first);
        for (int i = 10; i < 19; i++)
            CHECK(world.wanter[i].got >= 9000);
        CHECK(other > world.total * 45 / 100 && other < world.total * 55 / 100);
    }
}

static void weights_are_kept(void) {
    begin(1000, 1024);
    world.stake[1].weight = 3;
    want(0, 0, 1), want(1, 0, 1);
    run(1000000);
    forget_counts();
    run(1000000);
    CHECK(world.wanter[1].got > world.wanter[0].got * 27 / 10 && world.wanter[1].got < world.wanter[0].got * 33 / 10);
}

static void a_single_party_gets_nearly_all(void) {
    begin(1000000, 1 << 20);
    want(0, 0, 10000);
    run(50000);
    CHECK(world.wanter[0].got >= (1 << 20) * 7 / 10 && world.wanter[0].got < (1 << 20) * 15 / 16);
    run(3000000);
    CHECK(world.wanter[0].got > 3 * (1 << 20) * 9 / 10);
    begin(1000, 1024);
    want(0, 0, 1);
    run(2000000);
    CHECK(world.total > 2 * 1024000 * 9 / 10 * 6 / 10); /* steps of 1.5 ms skip time units */
    begin(1000000, 1 << 20);
    want(0, 100000, 1), want(1, 100000, 1);
    run(2000000);
    CHECK(!access_pool_is_shared(&world.pool)); /* nothing is shared while there are enough ids for all */
}

static void a_pause_ends_sharing(void) {
    begin(1000000, 1 << 20);
    want(0, 0, 10000);
    run(2000000);
    CHECK(access_pool_is_shared(&world.pool));
    world.wanter[0].wants = 1000, world.wanter[0].piece = 1, world.wanter[0].pending = 0;
    run(3000000);
    CHECK(!access_pool_is_shared(&world.pool));
}

static void a_clock_that_steps_adds_no_share(void) {
    struct access_pool pool = {0};
    struct access_stake stake = {.weight = 1};
    struct access_claim claim = {0};
    struct access_supply s = {.rate = 1000000, .filled_us = 1000000, .room = 1000000, .kept = 125000, .next_us = 500000};
    int64_t now = 1000000000;
    access_pool_share(&pool, &s, now);
    for (int i = 0; i < 8; i++) {
        static const int64_t steps[] = {0, 0, -1000000, 3600000000, 0, -7200000000, 1, INT64_MAX / 8};
        uint64_t may;
        now += steps[i];
        while ((may = access_claim_may(&claim, &stake, &pool, UINT64_MAX, now)))
            access_claim_took(&claim, &stake, &pool, may);
        CHECK(claim.ids >= 0 && claim.ids <= 4000000.0 / 10 + 2);
        CHECK(claim.wait_us >= 1000 && claim.wait_us <= 20000);
    }
    s.rate = ACCESS_POOL_RATE_MAX, s.room = UINT64_MAX;
    access_pool_update(&pool, &s, ACCESS_TURN_US, now);
    CHECK(access_pool_part(&pool, ACCESS_WEIGHT_MAX) > 0);
}

static const struct check_case cases[] = {
    {"a bucket allows its rate, and a burst of one second", a_rate_holds},
    {"rate 0 is unlimited, and the largest rate never delays a request", no_rate_is_no_limit},
    {"a clock that leaps forward fills a bucket once, and one that goes back or stops adds nothing",
     a_clock_that_steps_refills_once},
    {"a request larger than the saved tokens is paid later, and can be returned", a_large_request_is_paid_later},
    {"waiting requests are served in order", turns_are_in_order},
    {"a request past its deadline is charged too", a_late_request_is_charged},
    {"a changed rate applies at once, also to debts", another_rate_holds_at_once},
    {"threads that share a bucket take exactly its rate", threads_share_a_bucket},
    {"a greedy party leaves nineteen others their shares, and few ids are lost",
     a_greedy_party_leaves_others_their_shares},
    {"twenty greedy parties have equal shares, however many connections each has", greedy_parties_have_equal_shares},
    {"connections of a party share equally, and light ones do not wait", connections_of_a_party_have_equal_parts},
    {"a party of weight three has three times as much", weights_are_kept},
    {"a single party gets all but a small reserve, and nothing is shared while there is enough for all",
     a_single_party_gets_nearly_all},
    {"sharing ends when no request has waited for a while", a_pause_ends_sharing},
    {"a clock that steps adds nothing to a share", a_clock_that_steps_adds_no_share},
};
CHECK_MAIN(cases)
