/* Regression: a failure of getrandom was treated as a file without a free slot. One file after another was retired
 * without a message. A failure now uses nothing up and is reported. */
#include "crowd.h"

#include <sys/random.h>

static atomic_bool fails;

ssize_t __real_getrandom(void *buf, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t size, unsigned flags);

ssize_t __wrap_getrandom(void *buf, size_t size, unsigned flags) {
    if (!atomic_load(&fails)) return __real_getrandom(buf, size, flags);
    errno = ENOSYS;
    return -1;
}

static void is_said(struct vesta_gen *gen) {
    struct vesta_pause pause = {.why = VESTA_LEASE};
    struct vesta_info info;
    char text[512] = "";
    uint64_t id;
    for (int i = 0; i < 30000 && !strstr(text, "random"); i++) {
        CHECK(vesta_next_wait(gen, &id, 1000, &pause) == VESTA_EPAUSE);
        vesta_pause_text(gen, &pause, text, sizeof text);
    }
    CHECK_HAS(text, "the kernel returned no random bytes");
    CHECK_STR(vesta_why_name(pause.why), "lease");
    vesta_get_info(gen, &info);
    CHECK_EQ_U64(info.slots_used, 0);
}

static void a_claim_waits_for_them(void) {
    empty_folder();
    tally_clear();
    struct vesta_gen *gen = must_open((struct vesta_opts){.layout = FAST, .any_worker = 1});
    NEED(gen != NULL);
    atomic_store(&fails, true);
    is_said(gen);
    atomic_store(&fails, false);
    CHECK(issue(gen, 100, 1)); /* The generator has no keeper. */
    check_tally(100);
    vesta_close(gen);
}

static void a_keeper_in_its_term_waits_for_them(void) {
    struct vesta_info info;
    struct vesta_pause pause = {.why = VESTA_LEASE};
    uint64_t id;
    empty_folder();
    tally_clear();
    struct vesta_gen *gen = must_open((struct vesta_opts){.layout = FAST, .has_worker = 1, .worker = 5});
    NEED(gen != NULL);
    CHECK(issue(gen, 100, 1)); /* Its keeper is running and has all that it needs. */
    vesta_get_info(gen, &info);
    atomic_store(&fails, true);
    CHECK(vesta_drop(gen) == VESTA_OK);
    for (int i = 0; i < 2000; i++) {
        CHECK(vesta_next_wait(gen, &id, 1000, &pause) == VESTA_EPAUSE);
        CHECK(pause.why != VESTA_CLOSED);
    }
    uint32_t used = info.slots_used;
    vesta_get_info(gen, &info);
    CHECK_EQ_U64(info.slots_used, used);
    atomic_store(&fails, false);
    CHECK(issue(gen, 100, 1));
    check_tally(200);
    vesta_close(gen);
}

static const struct check_case cases[] = {
    {"a claim waits for random bytes, reports that, and uses nothing up", a_claim_waits_for_them},
    {"a keeper without random bytes uses nothing up during its term", a_keeper_in_its_term_waits_for_them},
};

CHECK_MAIN_IN_FOLDER(cases)
