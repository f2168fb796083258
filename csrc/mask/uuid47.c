/* uuid47.c -- see uuid47.h. */
#include "mask/uuid47.h"
#include "id/siphash.h"

#include <string.h>

static uint64_t uuid47_load(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, 8);
    return value; /* little-endian, like all machines that vesta supports */
}

/* Returns SipHash-2-4 of the 10 bytes with the 74 bits that the mask does not change. */
static uint64_t uuid47_hash(const uint8_t key[VS_UUID47_KEY], const uint8_t uuid[16]) {
    uint64_t k0 = uuid47_load(key), k1 = uuid47_load(key + 8);
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
    uint8_t block[16] = {uuid[6] & 0x0f, uuid[7], uuid[8] & 0x3f, [15] = 10}; /* the last byte is the length */
    memcpy(block + 3, uuid + 9, 7);
    sip_add(v, uuid47_load(block));
    sip_add(v, uuid47_load(block + 8));
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void uuid47_apply(const uint8_t key[VS_UUID47_KEY], uint8_t uuid[16], int version) {
    uint64_t mask = uuid47_hash(key, uuid);
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
