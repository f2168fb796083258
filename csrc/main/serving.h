/* serving.h -- what `vesta serve` is told, from flags or from a config file, and the files that act on it.
 *
 *   serve.c    the command: options, addresses, the life of the server
 *   spaces.c   namespaces: opening them, waiting for their leases, giving them back */
#ifndef VS_SERVING_H
#define VS_SERVING_H

#include "main/main.h"
#include "server/server.h"

struct vs_serving_space {
    struct vesta_opts opts;
    int64_t wait_ms_max;
};

struct vs_serving_listener {
    enum vs_face face;
    const char *address;
    int fd; /* -1: not bound yet */
};

struct vs_serving {
    struct vs_serving_space space[VS_SPACES_MAX];
    int space_count;
    struct vs_serving_listener listener[VS_LISTENERS_MAX];
    int listener_count;
    int threads;
    uint64_t resp_idle_ms;
    struct vs_app app;
};

/* Opens a generator for each namespace and face.  VS_GO, or an exit code after a message. */
int vs_spaces_open(struct vs_serving *serving);

/* Waits for the first lease of each, so that "serving" is true when it is said.  VS_GO, or an exit code. */
int vs_spaces_lease(struct vs_serving *serving);

/* Says what is served. */
void vs_spaces_say(const struct vs_serving *serving);

/* Gives the worker numbers back.  VS_DONE, or VS_FAILED after a message. */
int vs_spaces_release(struct vs_serving *serving);
void vs_spaces_close(struct vs_serving *serving);

#endif
