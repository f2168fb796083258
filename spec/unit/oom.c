/* oom.c -- every allocation fails once: opening reports the error, leaks nothing and can be repeated, and a keeper
 * retries. */
#include "crowd.h"
#include "scarce.h"

static const struct vesta_opts drawn = {.size = sizeof(struct vesta_opts), .layout = FAST, .any_worker = 1};
static const struct vesta_opts private_ = {
    .size = sizeof(struct vesta_opts), .layout = FAST, .has_worker = 1, .flags = VESTA_UNSAFE_PRIVATE};

/* Lets the first allocation fail, then the second, and so on until opening succeeds. */
static void open_without_memory(const struct vesta_opts *opts) {
    struct vesta_gen *const untouched = (struct vesta_gen *)&fails_at;
    int n = 0, rc;
    do {
        struct vesta_gen *gen = untouched;
        struct vesta_error err = {.text = ""};
        atomic_store(&fails_at, ++n);
        rc = vesta_open(opts, &gen, &err);
        bool failed = atomic_exchange(&fails_at, 0) == 0;
        CHECK(failed == (rc != VESTA_OK));
        if (rc == VESTA_OK) {
            vesta_close(gen);
        } else {
            CHECK_EQ_I64(rc, VESTA_ENOMEM);
            CHECK_HAS(err.text, "no memory");
            CHECK(gen == untouched);
        }
    } while (rc != VESTA_OK && n < 100);
    CHECK(n > 2);
}

static void opening(void) {
    empty_folder();
    open_without_memory(&drawn);
    open_without_memory(&private_);
    struct vesta_gen *gen = must_open(drawn); /* a second handle while the first is open */
    open_without_memory(&drawn);
    vesta_close(gen);
    tally_clear();
    gen = must_open(drawn);
    CHECK(gen && issue(gen, 100, 1));
    vesta_close(gen);
    check_tally(100);
}

static void keeping(void) {
    struct vesta_pause pause;
    uint64_t id;
    bool failed = true;
    int n = 0;
    while (failed && n < 20) {
        empty_folder();
        struct vesta_gen *gen = must_open(drawn);
        NEED(gen != NULL);
        atomic_store(&fails_at, ++n);
        CHECK(vesta_next_wait(gen, &id, 10 * 1000000, &pause) == VESTA_OK); /* the keeper retries after a second */
        failed = atomic_exchange(&fails_at, 0) == 0;
        vesta_close(gen);
    }
    CHECK(n > 2);
}

static const struct check_case cases[] = {
    {"opening reports an error if the n-th allocation fails, for every n", opening},
    {"a keeper issues an id later if its n-th allocation fails, for every n", keeping},
};

CHECK_MAIN_IN_FOLDER(cases)
