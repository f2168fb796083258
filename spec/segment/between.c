/* between.c -- tests a segment's range if another process acts between two steps of its owner. */
#include "check.h"
#include "segment/segment.h"
#include "generator/point.h"

#include <pthread.h>
#include <semaphore.h>

static struct vs_segment seg;
static const char *point; /* where the other process acts, once */
static void (*other)(void);

static _Thread_local bool is_publisher; /* runs in its own thread, which waits before it links its range */
static sem_t has_drawn, may_link;

void vs_sim_point(const char *name) {
    if (is_publisher && strcmp(name, "links") == 0) {
        sem_post(&has_drawn);
        sem_wait(&may_link);
        return;
    }
    if (!point || strcmp(name, point) != 0) return;
    point = NULL;
    other();
}

static void act_at(const char *name, void (*what)(void)) {
    point = name;
    other = what;
}

static struct vs_range range(uint64_t from) {
    return (struct vs_range){.first = from, .count = 100, .stride = 1, .until = from + 100, .mark = 10};
}

static void use(uint64_t count) {
    uint64_t number;
    bool wanted;
    for (; count > 0; count--)
        CHECK_EQ_I64(vs_segment_next(&seg, &number, &wanted), VESTA_OK);
}

static struct vs_unused unused[2];
static int unused_count;

static void take_rest(void) {
    CHECK(vs_segment_take_rest(&seg, unused, &unused_count));
}

static void a_range_that_is_linked_too_late_is_dropped(void) {
    const struct vs_range first = range(1), second = range(101);
    vs_segment_format(&seg);
    CHECK_EQ_I64(vs_segment_publish(&seg, &first), VS_PUBLISHED);
    use(60);
    act_at("links", take_rest);
    CHECK_EQ_I64(vs_segment_publish(&seg, &second), VS_NOT_NEEDED);
    CHECK_EQ_I64(unused_count, 1);
    CHECK_EQ_U64(unused[0].from, 61);
    CHECK(!unused[0].is_last); /* the store granted the range above it */
    CHECK_EQ_U64(atomic_load(&seg.granted[0]), 201);
    CHECK_EQ_I64(vs_segment_publish(&seg, &second), VS_NOT_NEEDED); /* its end is known, as if it was issued */
}

static void *publisher(void *arg) {
    const struct vs_range second = range(101);
    (void)arg;
    is_publisher = true;
    CHECK_EQ_I64(vs_segment_publish(&seg, &second), VS_PUBLISHED);
    return NULL;
}

static pthread_t publishing;

static void link_now(void) {
    sem_post(&may_link);
    pthread_join(publishing, NULL);
}

static void a_range_that_is_linked_meanwhile_is_taken_out(void) {
    static const char *const points[] = {"takes_out", "took_out"};
    for (size_t i = 0; i < 2; i++) {
        const struct vs_range first = range(1);
        vs_segment_format(&seg);
        CHECK_EQ_I64(vs_segment_publish(&seg, &first), VS_PUBLISHED);
        use(60);
        sem_init(&has_drawn, 0, 0);
        sem_init(&may_link, 0, 0);
        CHECK(pthread_create(&publishing, NULL, publisher, NULL) == 0);
        sem_wait(&has_drawn);
        act_at(points[i], link_now);
        take_rest();
        CHECK_EQ_I64(unused_count, 2);
        CHECK_EQ_U64(unused[0].from, 101);
        CHECK_EQ_U64(unused[0].until, 201);
        CHECK(unused[0].is_last);
        CHECK_EQ_U64(unused[1].from, 61);
        CHECK(unused[1].is_last);
        CHECK_EQ_U64(atomic_load(&seg.granted[0]), 61);
    }
}

/* A process of an older version writes a range into a used place, and leaves members that it does not know. */
static void what_an_older_version_left_is_not_known(void) {
    const struct vs_range low = range(1), high = range(5001);
    vs_segment_format(&seg);
    CHECK_EQ_I64(vs_segment_publish(&seg, &low), VS_PUBLISHED);
    use(100);
    CHECK_EQ_I64(vs_segment_publish(&seg, &high), VS_PUBLISHED);
    struct vs_range_words *words = &seg.range[atomic_load(&seg.next) % VS_RANGES];
    CHECK_EQ_U64(atomic_load(&words->before), 1 + 101);
    atomic_store(&words->before_of, 0);
    take_rest();
    CHECK_EQ_I64(unused_count, 1);
    CHECK_EQ_U64(unused[0].from, 5001);
    CHECK_EQ_U64(unused[0].issued_until, 5001);
    CHECK_EQ_U64(atomic_load(&seg.granted[0]), 5001);
}

static struct vs_segment fresh;

static void inherit(void) {
    vs_segment_format(&fresh);
    vs_segment_inherit(&fresh, &seg);
}

/* Otherwise, after a give-back, the new words would wrongly report a counter that went back. */
static void new_words_never_expect_more_than_the_counter_has(void) {
    static const char *const points[] = {"closed", "none"};
    for (size_t i = 0; i < 2; i++) {
        const struct vs_range first = range(1);
        vs_segment_format(&seg);
        CHECK_EQ_I64(vs_segment_publish(&seg, &first), VS_PUBLISHED);
        use(60);
        act_at(points[i], inherit);
        CHECK(vs_segment_close(&seg, unused, &unused_count));
        if (point) inherit(); /* after the close, as usual */
        inherit();            /* another process */
        point = NULL;
        CHECK_EQ_I64(unused_count, 1);
        CHECK_EQ_U64(unused[0].from, 61);
        CHECK_EQ_U64(unused[0].is_last, i);
        CHECK_EQ_U64(vs_segment_granted(&fresh, 0), i == 0 ? 101 : 61);
        CHECK_EQ_U64(vs_segment_granted(&seg, 0), i == 0 ? 101 : 61);
    }
}

static const struct check_case cases[] = {
    {"a range that is linked after a rest was taken out is dropped",
     a_range_that_is_linked_too_late_is_dropped},
    {"a range that is linked while a rest is taken out is taken out as well",
     a_range_that_is_linked_meanwhile_is_taken_out},
    {"new words never expect more than the counter has", new_words_never_expect_more_than_the_counter_has},
    {"values that an older version left from an earlier range are ignored", what_an_older_version_left_is_not_known},
};

CHECK_MAIN(cases)
