/* sharer.c -- one process with several generator files of one namespace.  It requests an id of each ten times a second.
 *
 *     sharer OUT FOLDER STORE NS LEASE FILES
 *
 * OUT gets lines of 21 bytes, one per id.  Each round prints a line to stdout: how many files issued an id, and the
 * smallest number of renewals of a lease.  It ends when its stdin ends, and releases its leases. */
#include "vesta.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILES_MAX 200
#define ROUND_MS 100

static struct vesta_gen *gens[FILES_MAX];

static _Noreturn void die(const char *what, const char *why) {
    fprintf(stderr, "sharer: %s: %s\n", what, why);
    exit(1);
}

static struct vesta_gen *open_one(char **argv, int i) {
    char path[300], identity[32];
    struct vesta_gen *gen;
    struct vesta_error err = {.text = ""};
    snprintf(path, sizeof path, "%s/shared%d.gen", argv[2], i);
    snprintf(identity, sizeof identity, "shared%d", i);
    struct vesta_opts opts = {.size = sizeof opts,
                              .layout = "snowflake",
                              .path = path,
                              .store = argv[3],
                              .namespace_ = argv[4],
                              .lease = argv[5],
                              .identity = identity,
                              .any_worker = 1};
    if (vesta_open(&opts, &gen, &err) != VESTA_OK || vesta_keep(gen) != VESTA_OK) die("open", err.text);
    return gen;
}

static void one_round(int files, int out) {
    uint64_t id, least = UINT64_MAX;
    struct vesta_pause pause;
    struct vesta_info info;
    int given = 0;
    for (int i = 0; i < files; i++) {
        if (vesta_next(gens[i], &id, &pause) == VESTA_OK)
            given += dprintf(out, "%020" PRIu64 "\n", id) > 0;
        else if (pause.why == VESTA_LEASE)
            vesta_keep(gens[i]);
        vesta_get_info(gens[i], &info);
        if (info.renewals.ok < least) least = info.renewals.ok;
    }
    printf("%d %" PRIu64 "\n", given, least);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int files = argc == 7 ? atoi(argv[6]) : 0,
        out = argc == 7 ? open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0644) : -1;
    struct pollfd in = {.fd = 0, .events = POLLIN};
    struct vesta_error err = {.text = ""};
    if (files < 1 || files > FILES_MAX || out < 0) die("usage", "sharer OUT FOLDER STORE NS LEASE FILES");
    for (int i = 0; i < files; i++)
        gens[i] = open_one(argv, i);
    while (poll(&in, 1, ROUND_MS) == 0)
        one_round(files, out);
    for (int i = 0; i < files; i++)
        if (vesta_release(gens[i], &err) != VESTA_OK) die("release", err.text);
    for (int i = 0; i < files; i++)
        vesta_close(gens[i]);
    return 0;
}
