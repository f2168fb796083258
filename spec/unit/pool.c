/* pool.c -- connections between two calls: which caller has one, when it is closed, and which process owns it. */
#include "store/pool.h"
#include "check.h"

#include <stdlib.h>
#include <sys/wait.h>

#define IDLE_US 1000

struct link {
    bool is_lost, is_ended;
};

static bool is_lost(void *link) {
    return ((struct link *)link)->is_lost;
}

static void end(void *link) {
    ((struct link *)link)->is_ended = true;
}

static const struct vs_pool_kind kind = {IDLE_US, is_lost, end};

static void leave(struct vs_pool *pool, unsigned links) {
    void *left[VS_POOL_MAX];
    CHECK_EQ_I64(vs_pool_leave(pool, left), links);
}

static void *take_at(struct vs_pool *pool, int64_t boot_us) {
    unsigned losses;
    return vs_pool_take(pool, boot_us, &losses);
}

static void one_address_has_one(void) {
    struct vs_pool *a = vs_pool_enter(&kind, "a", 2), *again = vs_pool_enter(&kind, "a", 2),
                   *b = vs_pool_enter(&kind, "b", 2);
    CHECK(a && a == again && b && b != a);
    CHECK(vs_pool_is_one_stores(b) && !vs_pool_is_one_stores(a));
    leave(a, 0);
    CHECK(vs_pool_is_one_stores(again));
    leave(again, 0);
    leave(b, 0);
}

static void a_connection_has_one_user(void) {
    struct link first = {false, false}, second = {false, false};
    struct vs_pool *pool = vs_pool_enter(&kind, "a", 2);
    CHECK(take_at(pool, 0) == NULL);
    vs_pool_put(pool, &first, 0);
    vs_pool_put(pool, &second, 0);
    CHECK(take_at(pool, 0) == &second); /* last in, first out, so that surplus connections become idle */
    CHECK(take_at(pool, 0) == &first);
    CHECK(take_at(pool, 0) == NULL);
    vs_pool_put(pool, &first, 0);
    CHECK(!first.is_ended && !second.is_ended);
    leave(pool, 1);
    CHECK(!first.is_ended); /* the caller closes connections that it still has */
}

static void a_closed_connection_is_counted(void) {
    struct link links[3] = {{false, false}, {true, false}, {false, false}};
    struct vs_pool *pool = vs_pool_enter(&kind, "a", 2);
    for (int i = 0; i < 3; i++)
        vs_pool_put(pool, &links[i], 0);
    CHECK_EQ_I64(vs_pool_losses(pool, INT64_C(1000000)), 1);
    CHECK(links[1].is_ended);
    CHECK(links[0].is_ended && links[2].is_ended); /* the idle ones are closed too */
    leave(pool, 0);
}

static void a_broken_connection_is_counted(void) {
    struct vs_pool *pool = vs_pool_enter(&kind, "a", 2), *others = vs_pool_enter(&kind, "a", 2);
    unsigned before = vs_pool_losses(others, INT64_C(1000000));
    CHECK_EQ_I64(vs_pool_lose(pool), before + 1);
    /* visible to others at once, not after their next check */
    CHECK_EQ_I64(vs_pool_losses(others, INT64_C(1000000)), before + 1);
    leave(pool, 0);
    leave(others, 0);
}

static void an_idle_connection_is_closed(void) {
    struct link old = {false, false}, young = {false, false};
    struct vs_pool *pool = vs_pool_enter(&kind, "a", 2);
    vs_pool_put(pool, &old, 0);
    vs_pool_put(pool, &young, IDLE_US);
    CHECK(take_at(pool, IDLE_US + 1) == &young);
    CHECK(old.is_ended && !young.is_ended);
    leave(pool, 0);
}

static void few_connections_are_kept(void) {
    static struct link links[VS_POOL_MAX + 1];
    struct vs_pool *pool = vs_pool_enter(&kind, "a", 2);
    for (int i = 0; i <= VS_POOL_MAX; i++)
        vs_pool_put(pool, &links[i], 0);
    CHECK(links[VS_POOL_MAX].is_ended && !links[VS_POOL_MAX - 1].is_ended);
    leave(pool, VS_POOL_MAX);
}

static void a_child_has_no_connections(void) {
    struct link link = {false, false};
    struct vs_pool *pool = vs_pool_enter(&kind, "a", 2);
    vs_pool_put(pool, &link, 0);
    pid_t child = fork();
    if (child == 0) {
        bool has_none = take_at(pool, 0) == NULL && !link.is_ended;
        link.is_lost = true;
        _exit(has_none && vs_pool_losses(pool, INT64_C(1000000)) == 0 && !link.is_ended ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    CHECK(take_at(pool, 0) == &link);
    leave(pool, 0);
}

static const struct check_case cases[] = {
    {"stores of one address have one pool", one_address_has_one},
    {"a connection belongs to one caller at a time, and the last one returned is used first",
     a_connection_has_one_user},
    {"a connection that the server closed is closed and counted as lost", a_closed_connection_is_counted},
    {"a connection that breaks in the middle of a call is counted as lost", a_broken_connection_is_counted},
    {"a connection that was idle for too long is closed", an_idle_connection_is_closed},
    {"at most as many connections are kept as there are places", few_connections_are_kept},
    {"a forked child uses none of its parent's connections", a_child_has_no_connections},
};

CHECK_MAIN(cases)
