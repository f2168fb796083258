/* day_old.c -- makes a generator file with a day of spare ids, like a generator with history pacing after a day of
 * little use. The worker id is claimed with clocks that show yesterday, and the next process that opens the file has
 * today's.
 *
 *     bench_day_old FOLDER      makes FOLDER/w.gen, leased from file:FOLDER */
#include "bench.h"
#include "os/clock.h"

#include <errno.h>
#include <stdio.h>

static int64_t unix_us(void *self) {
    (void)self;
    return vs_clock_system()->unix_us(NULL) - BENCH_DAY_US;
}

/* Both clocks show yesterday, because a day of difference between them would look like a changed clock. */
static int64_t boot_us(void *self) {
    (void)self;
    return vs_clock_system()->boot_us(NULL) - BENCH_DAY_US;
}

static void sleep_us(void *self, int64_t us) {
    (void)self;
    vs_clock_system()->sleep_us(NULL, us);
}

int main(int argc, char **argv) {
    static const struct vesta_clock yesterday = {NULL, unix_us, boot_us, sleep_us};
    char path[4096], store[4096];
    struct vesta_gen *gen;
    struct vesta_error err;
    struct vesta_pause pause;
    uint64_t id;
    if (argc != 2) {
        fputs("usage: bench_day_old FOLDER\n", stderr);
        return 2;
    }
    snprintf(path, sizeof path, "%s/w.gen", argv[1]);
    snprintf(store, sizeof store, "file:%s", argv[1]);
    struct vesta_opts opts = {.size = sizeof opts,
                              .layout = BENCH_W,
                              .path = path,
                              .store = store,
                              .has_worker = 1,
                              .worker = 1,
                              .pacing = VESTA_PACING_HISTORY,
                              .clock = &yesterday};
    errno = 0;
    if (vesta_open(&opts, &gen, &err) != VESTA_OK) bench_die(err.text);
    if (vesta_next_wait(gen, &id, 5000000, &pause) != VESTA_OK) {
        char text[512];
        vesta_pause_text(gen, &pause, text, sizeof text);
        bench_die(text);
    }
    vesta_close(gen);
    puts(path);
    return 0;
}
