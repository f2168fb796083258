/* snapshot.c -- leases that end without a release: dropped, or suspended before the machine's memory is copied. The ids
 * of the copies are collected and counted. */
#include "check.h"
#include "keeper/file.h"
#include "opened.h"
#include "said.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAYOUT "sign:1 time:41 seq:4 worker:18 unit=1ms epoch=2020-01-01T00:00:00Z"
#define LONG_US 20000000
#define MS INT64_C(1000)
#define IDS 30000

/* ------------------------------------------------------------------ a clock that the test moves */

static _Atomic int64_t passed_us;

static int64_t unix_us(void *self) {
    (void)self;
    return INT64_C(1700000000000000) + atomic_load(&passed_us);
}

static int64_t boot_us(void *self) {
    (void)self;
    return INT64_C(1000000000) + atomic_load(&passed_us);
}

static void sleep_us(void *self, int64_t us) {
    (void)self;
    atomic_fetch_add(&passed_us, us);
    usleep(100);
}

static const struct vesta_clock own_clock = {NULL, unix_us, boot_us, sleep_us};

static struct vesta_gen *open_as(const char *name, struct vesta_opts opts) {
    opts.size = sizeof opts;
    return open_in_state(name, LAYOUT, opts);
}

static uint64_t next_of(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t id = 0;
    if (vesta_next_wait(gen, &id, LONG_US, &pause) != VESTA_OK) CHECK_FAIL("no id: %s", vesta_why_name(pause.why));
    return id;
}

static struct vesta_info info_of(struct vesta_gen *gen) {
    struct vesta_info info;
    vesta_get_info(gen, &info);
    return info;
}

/* ------------------------------------------------------------------ dropping */

static void a_dropped_lease_gives_nothing(void) {
    struct vesta_gen *gen = open_as("a.gen", (struct vesta_opts){.any_worker = 1});
    struct vesta_pause pause;
    char away[96], back[96];
    uint64_t id = 0;
    next_of(gen);
    snprintf(back, sizeof back, "%s/default", state);
    snprintf(away, sizeof away, "%s/away", state);
    if (rename(back, away) != 0) CHECK_FAIL("the store is not at %s", back);
    CHECK(vesta_drop(gen) == VESTA_OK);
    CHECK(!info_of(gen).holds_lease);
    CHECK(vesta_next_wait(gen, &id, 200 * MS, &pause) == VESTA_EPAUSE && id == 0);
    CHECK(rename(away, back) == 0);
    vesta_close(gen);
}

static void after_a_drop_another_lease_is_claimed(void) {
    struct vesta_gen *gen = open_as("a.gen", (struct vesta_opts){.any_worker = 1});
    uint64_t first = next_of(gen);
    struct vesta_info before = info_of(gen);
    CHECK(vesta_drop(gen) == VESTA_OK);
    CHECK(vesta_drop(gen) == VESTA_OK); /* no lease is held, so there is nothing to drop */
    uint64_t second = next_of(gen);
    struct vesta_info after = info_of(gen);
    CHECK(first != second);
    CHECK(after.slot != before.slot);
    CHECK(after.worker != before.worker || after.tick > before.limit);
    vesta_close(gen);
}

/* ------------------------------------------------------------------ snapshots */

static void nothing_is_claimed_until_ids_are_asked_for(void) {
    struct vesta_gen *gen = open_as("a.gen", (struct vesta_opts){.any_worker = 1});
    struct vesta_error err = {0};
    uint64_t first = next_of(gen);
    CHECK(vesta_prepare_snapshot(gen, &err) == VESTA_OK);
    CHECK_STR(err.text, "");
    uint32_t slots = info_of(gen).slots_used;
    usleep(1200 * MS); /* longer than a keeper sleeps */
    struct vesta_info info = info_of(gen);
    CHECK(!info.holds_lease);
    CHECK_EQ_U64(info.slots_used, slots);
    await_keeper_text(gen, "at rest until ids are requested");
    CHECK(vesta_prepare_snapshot(gen, &err) == VESTA_OK);
    CHECK(next_of(gen) != first);
    vesta_close(gen);
}

/* Two keepers claimed at the same time, and each published its own slot. A caller that issued from the first one last
 * would issue from it first. */
static void no_slot_is_left_open(void) {
    struct vesta_gen *gen = open_as("a.gen", (struct vesta_opts){.any_worker = 1});
    struct vs_map *map = atomic_load(&gen->map);
    struct vesta_error err = {0};
    struct vesta_pause pause;
    uint64_t id, cursor;
    next_of(gen);
    struct vesta_info info = info_of(gen);
    int second = vs_slot_take(map, &(struct vs_claim){.worker = info.worker ^ 1, .owner = {1, 2}, .from = info.limit});
    vs_slot_publish(map, second, info.limit + 100, 0);
    CHECK(second == (int)info.slot + 1 && vs_slot_cursor(&map->slot[info.slot], &cursor));
    CHECK(vesta_prepare_snapshot(gen, &err) == VESTA_OK);
    CHECK_STR(err.text, "");
    for (int i = 0; i <= second; i++)
        CHECK(!vs_slot_cursor(&map->slot[i], &cursor));
    CHECK(vesta_next(gen, &id, &pause) == VESTA_EPAUSE);
    vesta_close(gen);
}

static void a_file_that_never_had_a_lease_may_be_copied(void) {
    struct vesta_gen *gen = open_as("a.gen", (struct vesta_opts){.any_worker = 1});
    struct vesta_error err = {0};
    CHECK(vesta_prepare_snapshot(gen, &err) == VESTA_OK);
    CHECK_STR(err.text, "");
    CHECK(!info_of(gen).holds_lease);
    next_of(gen);
    vesta_close(gen);
}

/* Otherwise a keeper that had just suspended its lease would claim at once, and the call would fail. */
static void the_call_requests_no_id(void) {
    struct vesta_gen *gen = open_as("a.gen", (struct vesta_opts){.any_worker = 1});
    next_of(gen);
    _Atomic uint32_t *wishes = &atomic_load(&gen->map)->shared.want;
    uint32_t before = atomic_load(wishes);
    CHECK(vesta_prepare_snapshot(gen, NULL) == VESTA_OK);
    CHECK_EQ_U64(atomic_load(wishes), before);
    vesta_close(gen);
}

static void the_keeper_of_another_process_rests_too(void) {
    int ready[2], go[2];
    char byte;
    CHECK(pipe(ready) == 0 && pipe(go) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct vesta_gen *gen = open_as("a.gen", (struct vesta_opts){.any_worker = 1});
        next_of(gen);
        if (write(ready[1], "r", 1) != 1 || read(go[0], &byte, 1) != 1) _exit(2);
        _exit(0);
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    struct vesta_gen *gen = open_as("a.gen", (struct vesta_opts){.any_worker = 1});
    CHECK(info_of(gen).holds_lease);
    CHECK(vesta_prepare_snapshot(gen, NULL) == VESTA_OK);
    CHECK(!info_of(gen).holds_lease);
    CHECK(write(go[1], "g", 1) == 1);
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    next_of(gen);
    vesta_close(gen);
}

static void private_generators_are_refused(void) {
    struct vesta_gen *gen = open_as("", (struct vesta_opts){.has_worker = 1, .flags = VESTA_UNSAFE_PRIVATE});
    struct vesta_error err;
    CHECK(vesta_drop(gen) == VESTA_EOPTION);
    CHECK(vesta_prepare_snapshot(gen, &err) == VESTA_EOPTION);
    CHECK(strstr(err.text, "copies of it would issue duplicates") != NULL);
    vesta_close(gen);
}

/* ------------------------------------------------------------------ a file that another process keeps */

static void only_the_keeper_ends_a_lease(void) {
    struct vesta_gen *gen = open_as("a.gen", (struct vesta_opts){.any_worker = 1, .flags = VESTA_NO_KEEPER});
    struct vesta_pause pause;
    struct vesta_error err;
    char text[512];
    uint64_t id = 0;
    CHECK(vesta_keep(gen) == VESTA_OK);
    CHECK(vesta_next_wait(gen, &id, 300 * MS, &pause) == VESTA_EPAUSE && pause.why == VESTA_LEASE);
    vesta_pause_text(gen, &pause, text, sizeof text);
    CHECK_HAS(text, "no lease. A server must keep this file: vesta serve --path ");
    CHECK_HAS(text, "/a.gen");
    CHECK(vesta_prepare_snapshot(gen, &err) == VESTA_EOPTION);
    CHECK(vesta_release(gen, &err) == VESTA_EOPTION);
    CHECK_HAS(err.text, "another process keeps this file's lease");
    struct vesta_gen *keeper =
        open_as("a.gen", (struct vesta_opts){.flags = VESTA_FILE_KEEPER}); /* a store of the scheme file: */
    next_of(keeper);
    next_of(gen);
    CHECK(vesta_release(gen, NULL) == VESTA_EOPTION);
    CHECK(info_of(gen).holds_lease);
    CHECK(vesta_release(keeper, NULL) == VESTA_OK);
    CHECK(!info_of(gen).holds_lease);
    vesta_close(keeper);
    vesta_close(gen);
}

/* ------------------------------------------------------------------ copies, counted */

/* Copies the map like a snapshot of the machine does: two maps with the same words, and each machine has its own
 * cursor. The program does not take part in such a copy, so ThreadSanitizer must not see it. */
__attribute__((no_sanitize("thread"))) static void copy_map(struct vesta_gen *to, struct vesta_gen *from) {
    volatile uint64_t *into = (volatile uint64_t *)(void *)&atomic_load(&to->map)->shared;
    const volatile uint64_t *of = (const volatile uint64_t *)(void *)&atomic_load(&from->map)->shared;
    for (size_t i = 0; i < (sizeof(struct vs_map) - offsetof(struct vs_map, shared)) / sizeof *of; i++)
        into[i] = of[i]; /* whole words, because a machine's memory has no torn words */
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t duplicates(uint64_t *ids, size_t count) {
    size_t found = 0;
    qsort(ids, count, sizeof *ids, by_value);
    for (size_t i = 1; i < count; i++)
        found += ids[i] == ids[i - 1];
    return found;
}

/* Issues ids from both copies by turns. Returns the number of duplicates. */
static size_t repeated_by_copies(bool prepared, struct vesta_opts opts) {
    static uint64_t ids[IDS];
    size_t count = 0;
    struct vesta_gen *gen[2];
    struct vesta_pause pause;
    opts.identity = "the same machine";
    opts.clock = &own_clock;
    gen[0] = open_as("a.gen", opts);
    gen[1] = open_as("b.gen", opts);
    ids[count++] = next_of(gen[0]);
    if (prepared) CHECK(vesta_prepare_snapshot(gen[0], NULL) == VESTA_OK);
    copy_map(gen[1], gen[0]);
    uint64_t given[2] = {0, 0};
    for (int i = 0; i < 400 * IDS && count < IDS; i++) {
        int turn = i / 100 % 2;
        if (vesta_next(gen[turn], &ids[count], &pause) == VESTA_OK) {
            count++, given[turn]++;
            continue;
        }
        if (pause.why == VESTA_LEASE) CHECK(vesta_keep(gen[turn]) == VESTA_OK);
        sleep_us(NULL, pause.why == VESTA_LEASE ? 20 * MS : MS);
    }
    CHECK_EQ_U64(count, IDS);
    CHECK(given[0] > IDS / 20 && given[1] > IDS / 20);
    vesta_close(gen[1]);
    vesta_close(gen[0]);
    return duplicates(ids, count);
}

static void copies_share_no_id(void) {
    CHECK_EQ_U64(repeated_by_copies(true, (struct vesta_opts){.any_worker = 1}), 0);
}

static void copies_with_one_number_share_no_id(void) {
    CHECK_EQ_U64(repeated_by_copies(true, (struct vesta_opts){.has_worker = 1, .worker = 5}), 0);
}

static void copies_with_history_pacing_share_no_id(void) {
    struct vesta_opts opts = {.size = sizeof opts, .any_worker = 1, .pacing = VESTA_PACING_HISTORY};
    CHECK_EQ_U64(repeated_by_copies(true, opts), 0);
}

/* Shows that the call is needed, and that the count above finds duplicates. */
static void copies_that_were_not_prepared_repeat_ids(void) {
    CHECK(repeated_by_copies(false, (struct vesta_opts){.any_worker = 1}) > 0);
}

IN_NEW_STATE(a_dropped_lease_gives_nothing)
IN_NEW_STATE(after_a_drop_another_lease_is_claimed)
IN_NEW_STATE(nothing_is_claimed_until_ids_are_asked_for)
IN_NEW_STATE(no_slot_is_left_open)
IN_NEW_STATE(a_file_that_never_had_a_lease_may_be_copied)
IN_NEW_STATE(the_call_requests_no_id)
IN_NEW_STATE(the_keeper_of_another_process_rests_too)
IN_NEW_STATE(private_generators_are_refused)
IN_NEW_STATE(only_the_keeper_ends_a_lease)
IN_NEW_STATE(copies_share_no_id)
IN_NEW_STATE(copies_with_one_number_share_no_id)
IN_NEW_STATE(copies_with_history_pacing_share_no_id)
IN_NEW_STATE(copies_that_were_not_prepared_repeat_ids)

static const struct check_case cases[] = {
    {"a dropped lease issues nothing while the store is unreachable", a_dropped_lease_gives_nothing_},
    {"after a drop another lease is claimed, and the old window is not used again",
     after_a_drop_another_lease_is_claimed_},
    {"after vesta_prepare_snapshot nothing is claimed until an id is requested",
     nothing_is_claimed_until_ids_are_asked_for_},
    {"of two open slots none stays open", no_slot_is_left_open_},
    {"a file that never had a lease may be copied", a_file_that_never_had_a_lease_may_be_copied_},
    {"a call of vesta_prepare_snapshot does not count as a request for an id", the_call_requests_no_id_},
    {"the keeper of another process suspends its lease too", the_keeper_of_another_process_rests_too_},
    {"private generators are rejected", private_generators_are_refused_},
    {"a process that does not keep a lease does not end it, and reports which process must keep it",
     only_the_keeper_ends_a_lease_},
    {"prepared copies of a map issue no duplicates", copies_share_no_id_},
    {"prepared copies of a map with a fixed worker id issue no duplicates", copies_with_one_number_share_no_id_},
    {"prepared copies of a map with history pacing issue no duplicates", copies_with_history_pacing_share_no_id_},
    {"copies that were not prepared do issue duplicates", copies_that_were_not_prepared_repeat_ids_},
};

CHECK_MAIN(cases)
