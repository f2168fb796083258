/* uuid47.c -- see uuid47.h. */
#include "mask/uuid47.h"

#include <string.h>

static uint64_t uuid47_load(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, 8);
    return value; /* little-endian, like all machines that vesta supports */
}

static uint64_t uuid47_turn(uint64_t value, int bits) {
    return value << bits | value >> (64 - bits);
}

static void uuid47_rounds(uint64_t v[4], int count) {
    while (count-- > 0) {
        v[0] += v[1], v[1] = uuid47_turn(v[1], 13) ^ v[0], v[0] = uuid47_turn(v[0], 32);
        v[2] += v[3], v[3] = uuid47_turn(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = uuid47_turn(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = uuid47_turn(v[1], 17) ^ v[2], v[2] = uuid47_turn(v[2], 32);
    }
}

uint64_t vs_siphash(const uint8_t key[VS_UUID47_KEY], const uint8_t *bytes, size_t length) {
    uint64_t k0 = uuid47_load(key), k1 = uuid47_load(key + 8);
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
    for (size_t at = 0; at <= length; at += 8) { /* the last block has the rest and the length, even if there is no rest */
        uint8_t block[8] = {[7] = (uint8_t)length};
        size_t rest = length - at < 8 ? length - at : 8;
        memcpy(block, bytes + at, rest);
        uint64_t word = uuid47_load(block);
        v[3] ^= word;
        uuid47_rounds(v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    uuid47_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The mask is symmetric: it depends only on the bits that it does not change. */
static void uuid47_apply(const uint8_t key[VS_UUID47_KEY], uint8_t uuid[16], int version) {
    uint8_t random[10] = {uuid[6] & 0x0f, uuid[7], uuid[8] & 0x3f};
    memcpy(random + 3, uuid + 9, 7);
    uint64_t mask = vs_siphash(key, random, sizeof random);
    for (int i = 0; i < 6; i++)
        uuid[i] ^= (uint8_t)(mask >> (40 - 8 * i));
    uuid[6] = (uint8_t)(version << 4 | (uuid[6] & 0x0f));
    uuid[8] = (uint8_t)(0x80 | (uuid[8] & 0x3f));
}

void vs_uuid47_hide(const uint8_t key[VS_UUID47_KEY], uint8_t uuid[16]) {
    uuid47_apply(key, uuid, 4);
}

void vs_uuid47_show(const uint8_t key[VS_UUID47_KEY], uint8_t uuid[16]) {
    uuid47_apply(key, uuid, 7);
}
