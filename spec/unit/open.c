/* open.c -- opening generator files: which are made, which are rejected, and a second handle. */
#include "check.h"
#include "hand_clock.h"
#include "vesta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char state[64];

static struct vesta_gen *must_open(const struct vesta_opts *opts) {
    struct vesta_gen *gen = NULL;
    struct vesta_error err = {0};
    int rc = vesta_open(opts, &gen, &err);
    CHECK_STR(err.text, "");
    CHECK(rc == VESTA_OK);
    return gen;
}

static void first_id_of_a_machine(void) {
    struct vesta_gen *gen = must_open(&(struct vesta_opts){.size = sizeof(struct vesta_opts), .any_worker = 1});
    struct vesta_pause pause;
    struct vesta_parts parts;
    uint64_t id;
    CHECK(vesta_next_wait(gen, &id, 5000000, &pause) == VESTA_OK);
    CHECK(vesta_explain(vesta_gen_layout(gen), id, &parts, NULL) == VESTA_OK);
    struct vesta_info info;
    vesta_get_info(gen, &info);
    CHECK(info.holds_lease);
    CHECK(info.drew_worker);
    CHECK_EQ_U64(parts.worker, info.worker);
    vesta_close(gen);
}

static void two_handles_share_one_cursor(void) {
    struct vesta_gen *a = must_open(&(struct vesta_opts){.size = sizeof(struct vesta_opts), .any_worker = 1});
    struct vesta_gen *b = must_open(&(struct vesta_opts)VESTA_OPTS_INIT);
    struct vesta_pause pause;
    uint64_t one, two;
    CHECK(vesta_next_wait(a, &one, 5000000, &pause) == VESTA_OK);
    CHECK(vesta_next_wait(b, &two, 5000000, &pause) == VESTA_OK);
    CHECK(one < two);
    vesta_close(a);
    vesta_close(b);
}

static void the_worker_id_has_no_default(void) {
    struct vesta_gen *gen;
    struct vesta_error err;
    CHECK(vesta_open(&(struct vesta_opts){.size = sizeof(struct vesta_opts), .namespace_ = "nobody"}, &gen, &err) ==
          VESTA_ENOGEN);
    CHECK(strstr(err.text, "there is no default") != NULL);
}

/* A tick has 40 bits of sequence below the time. An allowance of 2^24 ms would shift out of 64 bits completely, and one
 * more would leave only the lowest bit. */
static void ahead_of_the_whole_layout(int64_t ahead_ms) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vesta_pause pause;
    struct vesta_block block = {.count = 0};
    struct vesta_info info;
    /* starts 20 s before the time of `fake` */
    opts.layout = "sign:1 time:22 seq:40 worker:1 unit=1ms epoch=2023-11-14T22:13:00Z";
    opts.ahead_ms_max = ahead_ms;
    opts.has_worker = 1;
    opts.flags = VESTA_UNSAFE_PRIVATE;
    opts.clock = &fake;
    struct vesta_gen *gen = must_open(&opts);
    NEED(gen);
    vesta_get_info(gen, &info);
    CHECK_EQ_I64(info.ahead_ms_max, INT64_C(1) << 22);
    CHECK(vesta_next_block(gen, UINT64_MAX, &block, &pause) == VESTA_OK);
    CHECK_EQ_U64(block.first + block.count, (uint64_t)1 << 62);
    CHECK(vesta_next_block(gen, 1, &block, &pause) == VESTA_EPAUSE);
    CHECK_STR(vesta_why_name(pause.why), "epoch_end");
    vesta_close(gen);
}

static void as_far_ahead_as_the_layouts_end(void) {
    ahead_of_the_whole_layout(INT64_C(1) << 22);
    ahead_of_the_whole_layout(INT64_C(1) << 24);
    ahead_of_the_whole_layout((INT64_C(1) << 24) + 1);
    ahead_of_the_whole_layout(24 * 3600 * 1000);
}

static const struct check_case cases[] = {
    {"the first id of a machine draws a worker id", first_id_of_a_machine},
    {"two handles on a file share one cursor", two_handles_share_one_cursor},
    {"the worker id has no default", the_worker_id_has_no_default},
    {"ids run ahead up to the layout's end if ahead_ms_max is larger", as_far_ahead_as_the_layouts_end},
};

int main(int argc, char **argv) {
    char command[128];
    snprintf(state, sizeof state, "/tmp/vesta-open-spec-%d", (int)getpid());
    setenv("VESTA_STATE", state, 1);
    int rc = check_main(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : NULL);
    snprintf(command, sizeof command, "rm -rf %s", state);
    return system(command) == 0 ? rc : 1;
}
