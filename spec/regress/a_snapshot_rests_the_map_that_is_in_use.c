/* Regression, found by the simulator: vesta_prepare_snapshot put the map of its handle to rest. If that map was used
 * up and another process used its successor, the machine could be copied while the successor's lease was open. */
#include "check.h"
#include "keeper/file.h"
#include "opened.h"

#include <sys/wait.h>
#include <unistd.h>

#define LAYOUT "sign:1 time:41 seq:4 worker:18 unit=1ms epoch=2020-01-01T00:00:00Z"
#define LONG_US 20000000

static bool has_open_slot(struct vesta_gen *gen) {
    const struct vs_map *map = atomic_load(&gen->map);
    uint64_t cursor;
    int active = vs_map_active(map);
    return active >= 0 && vs_slot_cursor(&map->slot[active], &cursor);
}

static bool gives(struct vesta_gen *gen) {
    struct vesta_pause pause;
    uint64_t id;
    return vesta_next_wait(gen, &id, LONG_US, &pause) == VESTA_OK;
}

/* Another process of the path. It is forked before there are threads, because AddressSanitizer's allocator keeps its
 * locks over a fork. It begins on request, reports its first id, and ends on request. */
static void be_another(int tell, int told) {
    char byte = 0;
    if (read(told, &byte, 1) != 1) _exit(1);
    struct vesta_gen *gen = open_in_state("a.gen", LAYOUT, (struct vesta_opts){.any_worker = 1});
    byte = gen && gives(gen);
    if (write(tell, &byte, 1) == 1 && read(told, &byte, 1) >= 0) _exit(0);
    _exit(1);
}

static void a_handle_that_is_at_a_used_up_map_rests_the_one_in_use(void) {
    int up[2], down[2], status;
    char byte = 0;
    struct vesta_error err;
    NEED(pipe(up) == 0 && pipe(down) == 0);
    pid_t other = fork();
    if (other == 0) {
        close(down[1]);
        be_another(up[1], down[0]);
    }
    close(up[1]);
    struct vesta_gen *late = open_in_state("a.gen", LAYOUT, (struct vesta_opts){.any_worker = 1});
    NEED(late && gives(late));
    vs_map_retire(atomic_load(&late->map)); /* This retires the map, as after its last lease. */
    CHECK(write(down[1], "", 1) == 1);
    CHECK(read(up[0], &byte, 1) == 1 && byte == 1);
    int rc = vesta_prepare_snapshot(late, &err);
    if (rc != VESTA_OK) CHECK_FAIL("%s", err.text);
    struct vesta_gen *newcomer = open_in_state("a.gen", LAYOUT, (struct vesta_opts){.any_worker = 1});
    CHECK(atomic_load(&newcomer->map) == atomic_load(&late->map));
    CHECK(!has_open_slot(newcomer));
    CHECK(gives(late));
    close(down[1]);
    CHECK(waitpid(other, &status, 0) == other && status == 0);
    vesta_close(newcomer);
    vesta_close(late);
}

static void a_rest_ends_with_an_id_and_can_be_had_again(void) {
    struct vesta_error err;
    struct vesta_gen *gen = open_in_state("b.gen", LAYOUT, (struct vesta_opts){.any_worker = 1});
    NEED(gen && gives(gen));
    CHECK(vesta_prepare_snapshot(gen, &err) == VESTA_OK);
    CHECK(gives(gen));
    CHECK(vesta_prepare_snapshot(gen, &err) == VESTA_OK);
    CHECK(!has_open_slot(gen));
    vesta_close(gen);
}

/* Its keeper must also not retry to leave the map in a busy loop. */
static void a_map_at_rest_that_nobody_finds_any_more_is_left(void) {
    struct vesta_error err;
    struct vesta_gen *gen = open_in_state("c.gen", LAYOUT, (struct vesta_opts){.any_worker = 1});
    NEED(gen && gives(gen));
    CHECK(vesta_prepare_snapshot(gen, &err) == VESTA_OK);
    struct vs_map *map = atomic_load(&gen->map);
    vs_mapping_remove(&gen->handle->file->mapping);
    AWAIT(vs_is_used_up(map));
    CHECK(gives(gen));
    CHECK(atomic_load(&gen->map) != map);
    vesta_close(gen);
}

IN_NEW_STATE(a_handle_that_is_at_a_used_up_map_rests_the_one_in_use)
IN_NEW_STATE(a_rest_ends_with_an_id_and_can_be_had_again)
IN_NEW_STATE(a_map_at_rest_that_nobody_finds_any_more_is_left)

static const struct check_case cases[] = {
    {"a snapshot rests the current map, not a used-up one", a_handle_that_is_at_a_used_up_map_rests_the_one_in_use_},
    {"an id ends the rest, and another rest can follow", a_rest_ends_with_an_id_and_can_be_had_again_},
    {"a keeper leaves a map at rest that no path leads to any more", a_map_at_rest_that_nobody_finds_any_more_is_left_},
};

CHECK_MAIN(cases)
