/* client.c -- takes ids from vesta servers through libvesta-client, which computes them from blocks.
 *
 *     cc client.c $(pkg-config --cflags --libs vesta-client) -o client && ./client 127.0.0.1:8089
 */
#include <inttypes.h>
#include <stdio.h>
#include <vesta_client.h>

static int fail(const char *text) {
    fprintf(stderr, "client: %s\n", text);
    return 1;
}

static int take(struct vesta_client *client) {
    struct vesta_pause pause;
    uint64_t id = 0, batch[1000];
    char text[1024];
    int rc = vesta_client_next_wait(client, &id, 5000 * 1000, &pause);
    if (rc == VESTA_OK) rc = vesta_client_batch_wait(client, batch, 1000, 5000 * 1000, &pause);
    if (rc != VESTA_OK) {
        vesta_client_pause_text(client, &pause, text, sizeof text);
        return fail(text);
    }
    printf("an id       %" PRIu64 "\n", id);
    printf("a batch     1000 ids, from %" PRIu64 "\n", batch[0]);
    return 0;
}

static void say_info(struct vesta_client *client) {
    struct vesta_client_info info;
    vesta_client_get_info(client, &info);
    for (int i = 0; i < info.server_count; i++)
        printf("%s  %" PRIu64 " ids in %" PRIu64 " blocks, %" PRIu64 " errors\n", info.server[i].address,
               info.server[i].ids, info.server[i].blocks, info.server[i].errors);
}

int main(int argc, char **argv) {
    struct vesta_client_opts opts = VESTA_CLIENT_OPTS_INIT;
    struct vesta_client *client;
    struct vesta_error err;
    opts.servers = argc > 1 ? argv[1] : "127.0.0.1:8089";
    if (vesta_client_open(&opts, &client, &err) != VESTA_OK) return fail(err.text);
    int rc = take(client);
    if (rc == 0) say_info(client);
    vesta_client_close(client);
    return rc;
}
