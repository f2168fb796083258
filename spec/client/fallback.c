/* fallback.c -- the client's chain of sources: a server, another server, a generator in this process with its own
 * lease, and back.  The bits of an id tell its source. */
#include "check.h"
#include "fault_server.h"
#include "opened.h"
#include "vesta_client.h"

#define WORKER 77

static _Atomic uint64_t ticks;

static struct vesta_gen *own_generator(void) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    opts.has_worker = 1;
    opts.worker = WORKER;
    return open_in_state("own.gen", "vesta-milli", opts);
}

/* It waits for a worker id that is never chosen. */
static struct vesta_gen *idle_generator(void) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    opts.any_worker = 1;
    opts.flags = VESTA_CHOOSES;
    return open_in_state("idle.gen", "vesta-milli", opts);
}

static struct vesta_client *opened(const char *servers, struct vesta_gen *gen, int64_t timeout_ms) {
    struct vesta_client_opts opts = VESTA_CLIENT_OPTS_INIT;
    struct vesta_client *client = NULL;
    struct vesta_error err = {.text = ""};
    opts.servers = servers;
    opts.name = "orders";
    opts.fallback = gen;
    opts.timeout_ms = timeout_ms;
    opts.block_max = 200;
    if (vesta_client_open(&opts, &client, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return client;
}

/* Ids of servers end in 1 or 2, ids of the generator in its worker id. */
static uint64_t way(struct vesta_client *client) {
    struct vesta_pause pause;
    char text[1024];
    uint64_t id = 0;
    if (vesta_client_next_wait(client, &id, 30000000, &pause) == VESTA_OK) return id & 1023;
    vesta_client_pause_text(client, &pause, text, sizeof text);
    CHECK_FAIL("no id: %s", text);
    return 0;
}

static void await_way(struct vesta_client *client, uint64_t wanted) {
    AWAIT(way(client) == wanted);
}

static void uuids_of_the_fallback(void) {
    struct vesta_gen *gen = own_generator();
    struct vesta_client *client = opened("127.0.0.1:1", gen, 1000);
    const struct vesta_layout *layout = vesta_gen_layout(gen);
    unsigned char uuid[1000 * VESTA_UUID_BYTES];
    struct vesta_uuid_parts parts;
    struct vesta_pause pause;
    uint64_t last = 0;
    for (enum vesta_shape shape = VESTA_UUID7; shape <= VESTA_HEX32; shape++) {
        NEED(vesta_client_batch_uuid_wait(client, shape, uuid, 1000, 30000000, &pause) == VESTA_OK);
        for (int i = 0; i < 1000; i++) {
            NEED(vesta_uuid_explain(layout, shape, uuid + i * VESTA_UUID_BYTES, &parts, NULL) == VESTA_OK);
            CHECK(parts.tick > last);
            last = parts.tick;
            if (shape == VESTA_UUID8) CHECK_EQ_U64(parts.id & 1023, WORKER);
        }
    }
    uint64_t id = 0;
    NEED(vesta_client_next_wait(client, &id, 30000000, &pause) == VESTA_OK);
    struct vesta_parts fields;
    CHECK_EQ_I64(vesta_explain(layout, id, &fields, NULL), VESTA_OK);
    CHECK((fields.time << 10 | fields.seq) > last);
    NEED(vesta_client_next_uuid(client, VESTA_UUID8, uuid, &pause) == VESTA_OK);
    CHECK_EQ_I64(vesta_client_next_uuid(client, (enum vesta_shape)5, uuid, &pause), VESTA_EOPTION);
    vesta_client_close(client);
    vesta_close(gen);
}
IN_NEW_STATE(uuids_of_the_fallback)

static void chain(void) {
    struct fault_server first, second;
    struct vesta_client_info info;
    char servers[80];
    fault_server_begin(&first, &ticks, 1);
    fault_server_begin(&second, &ticks, 2);
    snprintf(servers, sizeof servers, "%s,%s", first.address, second.address);
    struct vesta_gen *gen = own_generator();
    struct vesta_client *client = opened(servers, gen, 30000);
    for (int i = 0; i < 2000; i++)
        CHECK_EQ_U64(way(client), 1);
    atomic_store(&first.fault, BUSY);
    await_way(client, 2);
    atomic_store(&second.fault, BUSY);
    await_way(client, WORKER);
    vesta_client_get_info(client, &info);
    CHECK(info.fallback_blocks >= 1);
    CHECK_EQ_U64(info.fallback_blocks, info.fallback.blocks);
    CHECK(info.fallback.is_up);
    CHECK(info.fallback.ids > 0);
    atomic_store(&second.fault, GOOD);
    await_way(client, 2);
    atomic_store(&first.fault, GOOD);
    await_way(client, 1);
    uint64_t blocks = (vesta_client_get_info(client, &info), info.fallback_blocks);
    for (int i = 0; i < 2000; i++)
        CHECK_EQ_U64(way(client), 1);
    vesta_client_get_info(client, &info);
    CHECK_EQ_U64(info.fallback_blocks, blocks);
    CHECK(!info.fallback.is_up && info.server[0].is_up);
    vesta_client_close(client);
    vesta_close(gen);
    fault_server_end(&first);
    fault_server_end(&second);
}
IN_NEW_STATE(chain)

/* The generator is not used while a server may still reply within its deadline.  After that, it is used at once, and
 * permanently. */
static void silence(void) {
    struct fault_server s;
    struct vesta_client_info info;
    fault_server_begin(&s, &ticks, 1);
    atomic_store(&s.fault, SILENT);
    struct vesta_gen *gen = own_generator();
    struct vesta_client *client = opened(s.address, gen, 300);
    int64_t began_ms = check_now_ms();
    CHECK_EQ_U64(way(client), WORKER);
    CHECK(check_now_ms() - began_ms >= 300);
    for (int i = 0; i < 2000; i++)
        CHECK_EQ_U64(way(client), WORKER);
    vesta_client_get_info(client, &info);
    CHECK_EQ_U64(info.requests, 0); /* its greeting got no reply */
    atomic_store(&s.fault, GOOD);
    await_way(client, 1);
    vesta_client_close(client);
    vesta_close(gen);
    fault_server_end(&s);
}
IN_NEW_STATE(silence)

/* No server listens: the generator is used without a wait.  Its blocks repeat no ids either. */
static void nobody(void) {
    static uint64_t ids[3000];
    struct vesta_pause pause;
    struct vesta_client_info info;
    struct vesta_gen *gen = own_generator();
    struct vesta_client *client = opened("127.0.0.1:1,unix:/nowhere/x.sock,nowhere.invalid:1", gen, 1000);
    CHECK_EQ_I64(vesta_client_batch_wait(client, ids, 3000, 30000000, &pause), VESTA_OK);
    for (int i = 1; i < 3000; i++)
        CHECK(ids[i] > ids[i - 1]);
    vesta_client_get_info(client, &info);
    CHECK_EQ_U64(info.blocks, info.fallback_blocks);
    for (int i = 0; i < 3; i++)
        CHECK(*info.server[i].error);
    vesta_client_close(client);
    vesta_close(gen);
}
IN_NEW_STATE(nobody)

/* Ids of the server's layout can be ids of the generator's layout.  The source that issued ids first stays in use. */
static void two_layouts(void) {
    struct fault_server s;
    struct vesta_client_info info;
    struct vesta_pause pause;
    uint64_t id;
    fault_server_begin(&s, &ticks, 1);
    s.layout = "version:1 type:1 method:2 time:30 seq:20 machine:10 unit=1s epoch=2014-12-31T16:00:00Z";
    atomic_store(&s.fault, BUSY);
    struct vesta_gen *gen = idle_generator();
    struct vesta_client *client = opened(s.address, gen, 30000);
    CHECK_EQ_I64(vesta_client_next(client, &id, &pause), VESTA_EPAUSE);
    AWAIT((vesta_client_get_info(client, &info), info.fallback.errors > 0)); /* it was asked, and its ids were not
                                                                                used */
    atomic_store(&s.fault, GOOD);
    CHECK_EQ_U64(way(client), 1);
    atomic_store(&s.fault, BUSY);
    while (vesta_client_next(client, &id, &pause) == VESTA_OK)
        ;
    AWAIT((vesta_client_get_info(client, &info), strstr(info.fallback.error, "an id can belong to both")));
    vesta_client_close(client);
    vesta_close(gen);

    gen = own_generator();
    client = opened(s.address, gen, 30000);
    CHECK_EQ_U64(way(client), WORKER);
    atomic_store(&s.fault, GOOD);
    int others = 0;
    AWAIT((others += way(client) != WORKER, vesta_client_get_info(client, &info),
           strstr(info.server[0].error, "an id can belong to both")));
    CHECK_EQ_I64(others, 0);
    vesta_client_close(client);
    vesta_close(gen);
    fault_server_end(&s);
}
IN_NEW_STATE(two_layouts)

/* If no source has ids, the message of a pause lists each of them with its error. */
static void none_at_all(void) {
    struct vesta_pause pause;
    uint64_t id;
    char text[1024];
    struct vesta_client *client = opened("127.0.0.1:1,unix:/nowhere/x.sock", NULL, 30000);
    CHECK_EQ_I64(vesta_client_next_wait(client, &id, 300000, &pause), VESTA_EPAUSE);
    vesta_client_pause_text(client, &pause, text, sizeof text);
    CHECK_HAS(text, "no block of 'orders' is available");
    CHECK_HAS(text, "127.0.0.1:1: cannot connect: Connection refused");
    CHECK_HAS(text, "unix:/nowhere/x.sock: cannot connect: No such file or directory");
    char small[8];
    vesta_client_pause_text(client, &pause, small, sizeof small);
    CHECK_STR(small, "no bloc");
    vesta_client_pause_text(client, &pause, small, 0);
    vesta_client_close(client);
}

static const struct check_case cases[] = {
    {"UUIDs of each shape are made from the ids of blocks, and share no tick with another id", uuids_of_the_fallback_},
    {"a server, another, the generator, and back in that order", chain_},
    {"the generator issues ids when a server has been silent for its deadline", silence_},
    {"if no server listens, the generator issues ids at once", nobody_},
    {"a generator whose ids could be duplicates of a server's excludes it, but only after it has issued ids",
     two_layouts_},
    {"the message of a pause has each server and its error", none_at_all},
};
CHECK_MAIN(cases)
