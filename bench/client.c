/* client.c -- an id from a block against an atomic add, in the same run, and requests per block.
 *
 *     bench_client ADDRESS NAME SAMPLES       one JSON object per sample, then the counts */
#include "bench.h"
#include "vesta_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_NS 20000000
#define PIECES 5
#define COUNTED 1000000
#define WAIT_US 10000000

static struct vesta_client *client;
static _Alignas(VS_LINE) _Atomic uint64_t word; /* the yardstick */

static void op_add(void *arg) {
    (void)arg;
    for (int i = 0; i < BENCH_STRIDE; i++)
        atomic_fetch_add_explicit(&word, 1, memory_order_acq_rel);
}

static uint64_t must(void) {
    struct vesta_pause pause;
    uint64_t id;
    if (vesta_client_next(client, &id, &pause) == VESTA_OK ||
        vesta_client_next_wait(client, &id, WAIT_US, &pause) == VESTA_OK)
        return id;
    char text[1024];
    vesta_client_pause_text(client, &pause, text, sizeof text);
    errno = 0;
    bench_die(text);
}

static void op_next(void *arg) {
    (void)arg;
    for (int i = 0; i < BENCH_STRIDE; i++)
        must();
}

static void sample(void) {
    double ours = 0, yard = 0;
    for (int i = 0; i < PIECES; i++) {
        yard += bench_run(op_add, NULL, 1, false, PIECE_NS).per_second / PIECES;
        ours += bench_run(op_next, NULL, 1, false, PIECE_NS).per_second / PIECES;
    }
    printf("{\"ours\": %.0f, \"yard\": %.0f}\n", ours, yard);
    fflush(stdout);
}

static void count(void) {
    static uint64_t ids[COUNTED];
    struct vesta_client_info info;
    size_t n = bench_counted(COUNTED);
    for (size_t i = 0; i < n; i++)
        ids[i] = must();
    size_t duplicates = bench_duplicates(ids, n);
    vesta_client_get_info(client, &info);
    printf("{\"ids\": %zu, \"duplicates\": %zu, \"blocks\": %llu, \"requests\": %llu}\n", n, duplicates,
           (unsigned long long)info.blocks, (unsigned long long)info.requests);
}

int main(int argc, char **argv) {
    struct vesta_client_opts opts = VESTA_CLIENT_OPTS_INIT;
    struct vesta_error err;
    if (argc != 4) {
        fputs("usage: bench_client ADDRESS NAME SAMPLES\n", stderr);
        return 2;
    }
    opts.servers = argv[1];
    opts.name = argv[2];
    opts.block_max = VESTA_BLOCK_IDS_MAX;
    errno = 0;
    if (vesta_client_open(&opts, &client, &err) != VESTA_OK) bench_die(err.text);
    for (int i = 0; i < 2000; i++) /* until blocks have grown to the size for this rate */
        op_next(NULL);
    for (int i = atoi(argv[3]); i > 0; i--)
        sample();
    count();
    vesta_client_close(client);
    return 0;
}
