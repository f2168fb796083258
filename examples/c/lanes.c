/* lanes.c -- hundreds of millions of ids per second: each thread takes runs of ids.  Needs only vesta.h and vesta_lane.h.
 *
 *     cc lanes.c $(pkg-config --cflags --libs vesta) -pthread -o lanes && ./lanes
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include <vesta_lane.h>

#define THREADS 2
#define EACH 1000000
#define RUN 64
#define WAIT_US_MAX (1000 * 1000)

struct worker {
    pthread_t thread;
    struct vesta_gen *gen;
    uint64_t given, last;
    int rc;
};

/* A lane belongs to the thread that uses it first, and its ids ascend. */
static void *work(void *arg) {
    struct worker *self = arg;
    struct vesta_pause pause;
    struct vesta_lane *lane;
    uint64_t id;
    self->rc = vesta_lane_open(self->gen, RUN, &lane, NULL);
    if (self->rc != VESTA_OK) return NULL;
    for (; self->given < EACH && self->rc == VESTA_OK; self->given++) {
        self->rc = vesta_lane_next_wait(lane, &id, WAIT_US_MAX, &pause);
        if (self->rc == VESTA_OK && id <= self->last) break;
        self->last = id;
    }
    vesta_lane_close(lane); /* returns its unused ids, unless other threads have taken ids since */
    return NULL;
}

int main(void) {
    struct worker workers[THREADS] = {{0}};
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vesta_gen *gen;
    struct vesta_error err;
    uint64_t given = 0;
    opts.layout = "vesta-second"; /* a million ids per second, which may run slightly ahead of the clock */
    opts.namespace_ = "lanes";
    opts.pacing = VESTA_PACING_HISTORY; /* runs of ids need this pacing, which counts up from the start */
    opts.ahead_ms_max = 60000;
    opts.has_worker = 1;
    opts.worker = 7;
    if (vesta_open(&opts, &gen, &err) != VESTA_OK) {
        fprintf(stderr, "lanes: %s\n", err.text);
        return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        workers[i].gen = gen;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        given += workers[i].given;
    }
    printf("%" PRIu64 " ids by %d threads, each thread's ascending\n", given, THREADS);
    vesta_close(gen);
    return given != (uint64_t)THREADS * EACH;
}
