/* mask.c -- numbers masked with 10 digits and a check digit, in turn with a yardstick: an atomic add, or the ten blocks
 * of AES that FF1 needs.
 *
 *     bench_mask one|batch|aes SAMPLES      one JSON object per line */
#include "bench.h"
#include "mask/mask.h"
#include "tls/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 10

static const struct vs_aes aes = {0, vs_aes_key_open, vs_aes_encrypt, vs_aes_key_close};
const struct vs_aes *vs_aes_find(struct vesta_error *err) { /* linked with the module's sources */
    (void)err;
    return &aes;
}

static struct bench {
    _Alignas(VS_LINE) _Atomic uint64_t word; /* the yardstick. bench_add needs it first */
    struct vs_mask *mask;
    struct vs_aes_key *key;
    uint64_t id[BENCH_STRIDE];
    uint8_t block[VS_AES_BLOCK];
    char text[BENCH_STRIDE * VS_MASK_TEXT_MAX];
} bench;

static void op_aes(void *arg) {
    struct bench *b = arg;
    for (int i = 0; i < ROUNDS * BENCH_STRIDE; i++)
        vs_aes_encrypt(b->key, b->block, 1);
}

static void op_one(void *arg) {
    struct bench *b = arg;
    for (int i = 0; i < BENCH_STRIDE; i++)
        if (vs_mask_write(b->mask, 0, &b->id[i], 1, b->text, NULL) != VESTA_OK) bench_die("a number has no text");
}

static void op_batch(void *arg) {
    struct bench *b = arg;
    if (vs_mask_write(b->mask, 0, b->id, BENCH_STRIDE, b->text, NULL) != VESTA_OK) bench_die("a number has no text");
}

int main(int argc, char **argv) {
    bool is_batch = argc == 3 && strcmp(argv[1], "batch") == 0, is_aes = argc == 3 && strcmp(argv[1], "aes") == 0;
    if (argc != 3 || (!is_batch && !is_aes && strcmp(argv[1], "one") != 0)) {
        fputs("usage: bench_mask one|batch|aes SAMPLES\n", stderr);
        return 2;
    }
    static const struct vs_mask_key key = {.length = 32, .bytes = "a key of 32 bytes, and 31 more."};
    static const struct vs_mask_opts opts = {
        .digits = 10, .check = VS_MASK_LUHN, .name = "orders", .key = &key, .key_count = 1, .threads = 1};
    if (vs_mask_open(&opts, &bench.mask, NULL) != VESTA_OK) bench_die("the mask cannot be opened");
    bench.key = vs_aes_key_open(key.bytes, key.length);
    for (int i = 0; i < BENCH_STRIDE; i++)
        bench.id[i] = 1000000 + (uint64_t)i;
    for (int n = atoi(argv[2]); n > 0; n--)
        bench_sample(is_batch ? op_batch : op_one, is_aes ? op_aes : bench_add, &bench, 1);
    puts("{}"); /* Nothing is counted. */
    return 0;
}
