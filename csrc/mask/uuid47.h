/* uuid47.h -- shows a version 7 UUID as a version 4 UUID, and turns it back, as the project uuidv47 does
 * (https://github.com/stateless-me/uuidv47): the 48 bits of time are combined with SipHash-2-4 of the other 74 bits.
 * Pure. */
#ifndef VS_UUID47_H
#define VS_UUID47_H

#include "vesta.h"

#define VS_UUID47_KEY 16 /* bytes of a key: k0, then k1, little-endian, as SipHash's paper writes them */

/* vs_uuid47_hide makes a version 4 of a version 7, and vs_uuid47_show the reverse, in place.  Both set version and
 * variant. */
void vs_uuid47_hide(const uint8_t key[VS_UUID47_KEY], uint8_t uuid[16]);
void vs_uuid47_show(const uint8_t key[VS_UUID47_KEY], uint8_t uuid[16]);

#endif
