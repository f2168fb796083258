/* unique_files.c -- maps that are used up after four leases are closed and replaced while threads and processes issue,
 * and all ids are counted.  Linked with a library that is built with VS_SLOTS_MAX=4. */
#include "crowd.h"

#include "generator/map.h"

#define ISSUERS 3

static struct vesta_gen *open_default(enum vesta_pacing pacing) {
    return must_open((struct vesta_opts){.layout = FAST, .pacing = pacing, .any_worker = 1});
}

static void *issue_until_marked(void *arg) {
    for (uint64_t dice = 1; atomic_load(&tally->mark) == 0 && issue(arg, 200, dice); dice++)
        usleep(200);
    return NULL;
}

/* Every release needs a new slot, and every fifth one a new map. */
static void release_often(struct vesta_gen *gen, int times) {
    struct vesta_error err = {.text = ""};
    for (int i = 0; i < times; i++) {
        size_t before = atomic_load(&tally->used);
        if (vesta_release(gen, &err) != VESTA_OK) CHECK_FAIL("vesta_release: %s", err.text);
        for (int wait = 0; wait < 5000 && atomic_load(&tally->used) == before; wait++)
            usleep(1000);
    }
}

static void used_up_under_threads(void) {
    pthread_t threads[ISSUERS];
    CHECK_EQ_I64(VS_SLOTS_MAX, 4);
    for (int pacing = VESTA_PACING_CLOCK; pacing <= VESTA_PACING_HISTORY; pacing++) {
        empty_folder();
        tally_clear();
        struct vesta_gen *gen = open_default((enum vesta_pacing)pacing);
        struct vesta_gen *other = open_default((enum vesta_pacing)pacing); /* moves to the next map by itself */
        NEED(gen && other);
        for (int i = 0; i < ISSUERS; i++)
            CHECK(pthread_create(&threads[i], NULL, issue_until_marked, i ? gen : other) == 0);
        release_often(gen, 40);
        atomic_store(&tally->mark, 1);
        for (int i = 0; i < ISSUERS; i++)
            pthread_join(threads[i], NULL);
        check_tally(40);
        vesta_close(gen);
        vesta_close(other);
    }
}

static void issue_in_process(uint64_t pacing) {
    struct vesta_gen *gen = open_default((enum vesta_pacing)pacing);
    if (gen) issue_until_marked(gen);
    vesta_close(gen);
}

/* Four leases, each of them released. */
static void use_up(struct vesta_gen *gen) {
    struct vesta_error err;
    struct vesta_info info = {.slots_used = 0};
    while (info.slots_used < VS_SLOTS_MAX) {
        NEED(issue(gen, 10, 1) && vesta_release(gen, &err) == VESTA_OK);
        vesta_get_info(gen, &info);
    }
}

static void use_up_in_process(uint64_t pacing) {
    struct vesta_gen *gen = open_default((enum vesta_pacing)pacing);
    if (gen) use_up(gen);
    vesta_close(gen);
}

/* All processes have the map open when it is used up.  One makes the next map in its place, and all continue there. */
static void used_up_under_processes(void) {
    pid_t pids[ISSUERS];
    for (int round = 0; round < 10; round++) {
        enum vesta_pacing pacing = round % 2 ? VESTA_PACING_CLOCK : VESTA_PACING_HISTORY;
        empty_folder();
        tally_clear();
        reap(spawn(use_up_in_process, (uint64_t)pacing), false);
        for (int i = 0; i < ISSUERS; i++)
            pids[i] = spawn(issue_in_process, (uint64_t)pacing);
        struct vesta_gen *gen = open_default(pacing);
        CHECK(gen && issue(gen, 5000, 3));
        atomic_store(&tally->mark, 1);
        for (int i = 0; i < ISSUERS; i++)
            reap(pids[i], false);
        check_tally(5040);
        vesta_close(gen);
    }
}

/* The file of a map was removed, and its path belongs to another generator now.  A handle continues with its own. */
static void another_generator_in_place_of_a_removed_file(void) {
    struct vesta_info info;
    empty_folder();
    tally_clear();
    struct vesta_gen *gen = open_default(VESTA_PACING_CLOCK);
    NEED(gen != NULL);
    use_up(gen);
    CHECK(unlink(in_folder("default.gen")) == 0);
    struct vesta_gen *stranger = must_open((struct vesta_opts){
        .layout = TIGHT, .namespace_ = "theirs", .any_worker = 1, .path = in_folder("default.gen")});
    NEED(stranger != NULL);
    CHECK(issue(gen, 10, 1)); /* a fifth lease, which needs a second map */
    vesta_get_info(gen, &info);
    CHECK_STR(info.namespace_, "default");
    CHECK_EQ_U64(info.slots_used, 1);
    check_tally(50);
    tally_clear();
    CHECK(issue(stranger, 10, 1));
    vesta_get_info(stranger, &info);
    CHECK_STR(info.namespace_, "theirs");
    vesta_close(stranger);
    vesta_close(gen);
}

static const struct check_case cases[] = {
    {"files are used up by threads: no duplicate", used_up_under_threads},
    {"files are used up by processes: no duplicate", used_up_under_processes},
    {"another generator's file in place of a removed one is not used", another_generator_in_place_of_a_removed_file},
};

CHECK_MAIN_IN_FOLDER(cases)
