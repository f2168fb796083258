/* during_a_connect.c URI FILE [unclosed] -- a user's program that ends while its store does not respond.
 *
 * Its exit handler runs after those of the libraries that it uses, because it was registered first. It creates FILE and
 * waits until FILE is removed, so that a spec can continue the handshake of the abandoned connect in the meantime. */
#include "vesta.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *file;

static void linger(void) {
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    for (int i = 0; i < 60000 && access(file, F_OK) == 0; i++)
        usleep(1000);
}

int main(int argc, char **argv) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    static struct vesta_gen *gen; /* reachable, so that it is no leak if it is not closed */
    struct vesta_error err;
    struct vesta_pause pause;
    uint64_t id;
    if (argc < 3) return 2;
    file = argv[2];
    atexit(linger);
    opts.layout = "vesta-milli";
    opts.store = argv[1];
    if (vesta_open(&opts, &gen, &err) != VESTA_OK) return fprintf(stderr, "%s\n", err.text), 2;
    int rc = vesta_next_wait(gen, &id, 500 * 1000, &pause);
    if (argc < 4) vesta_close(gen);
    return rc == VESTA_EPAUSE ? 0 : 3;
}
