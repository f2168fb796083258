/* Regression: a namespace opens on its own thread while other threads answer requests about it. They must see it as
 * not open or as open, and nothing in between. Three reads raced with the opening: readiness used the generator
 * before it existed, the reasons used a pause that had not occurred, and the reason for not being open was cleared
 * too early. */
#include "steps.h"

#include <pthread.h>

#define LAYOUT "sign:1 time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z"
#define ROUNDS 200

static const char *const asked[] = {"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n",
                                    "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n",
                                    "GET /admin/status HTTP/1.1\r\nHost: a\r\n\r\n"};

static void *open_it(void *arg) {
    struct vs_namespace *ns = arg;
    struct vesta_opts opts = {.size = sizeof opts,
                              .layout = LAYOUT,
                              .has_worker = 1,
                              .worker = 5,
                              .flags = VESTA_UNSAFE_PRIVATE,
                              .clock = &fake};
    struct vesta_error err;
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
        if (vesta_open(&opts, &ns->gen[protocol], &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    ns->layout = vesta_gen_layout(ns->gen[VS_RESP]);
    vs_namespace_set(ns, VS_NAMESPACE_OPEN, NULL);
    return NULL;
}

static void asked_meanwhile(void) {
    for (int round = 0; round < ROUNDS && atomic_load(&check_failures) == 0; round++) {
        pthread_t opener;
        bool ready = false;
        open_server(LAYOUT, VS_ADMIN, 0, VESTA_UNSAFE_PRIVATE);
        server.monitor.counts[0] = scratch.counts, server.monitor.loop_count = 1;
        struct vs_namespace *ns = &server.names.at[server.names.count++];
        *ns = (struct vs_namespace){.name = "orders", .name_length = 6};
        vs_namespace_set(ns, VS_NAMESPACE_OPENING, "just started");
        NEED(pthread_create(&opener, NULL, open_it, ns) == 0);
        while (!ready) {
            for (size_t i = 1; i < VS_COUNT(asked); i++)
                CHECK_EQ_I64(step(asked[i]), (int)strlen(asked[i]));
            step(asked[0]);
            ready = strstr(replies, " 200 OK\r\n");
            if (!ready && !strstr(replies, "just started") && !strstr(replies, "\"code\":\"lease\""))
                CHECK_FAIL("%s", replies);
        }
        pthread_join(opener, NULL);
        vesta_close(ns->gen[VS_HTTP]);
        close_server();
    }
}

static const struct check_case cases[] = {
    {"while a namespace opens, requests see it as not open or as open, and nothing in between", asked_meanwhile},
};

CHECK_MAIN_OF_STEPS(cases)
