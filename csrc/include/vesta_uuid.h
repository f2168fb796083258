/* vesta_uuid.h -- ids of 128 bits: UUIDs of versions 7 and 8, ULIDs and trace ids.  The part of vesta.h for them.
 *
 *     unsigned char uuid[VESTA_UUID_BYTES];
 *     int rc = vesta_next_uuid_wait(gen, VESTA_UUID7, uuid, 2000 * 1000, &pause);
 *
 * Each of them is made from one 64-bit id, which the generator issues for this purpose and for no other.  So two of
 * them never share a tick, and none shares a tick with a 64-bit id.  In all shapes, the first 48 bits are the Unix
 * milliseconds of the tick.  The *counter* follows, which has the tick's other bits.  So all shapes sort by tick.
 *
 * VESTA_UUID7, VESTA_ULID and VESTA_HEX32 do not contain the worker id.  On one generator file they are unique by their
 * ticks, and between generators by their random bits.
 *
 * UUIDs of a generator file ascend, across processes, fork, restarts, kill -9 and leases of other worker ids.  They may
 * begin below earlier ones only after a reboot, after the shared memory was removed, and after vesta_switch, if the
 * worker id is another one and the clock is behind.  Lanes ascend only within a lane.
 *
 * If the clock is set back, ids pause until it has caught up, and UUIDs do not.  Their times run up to
 * VESTA_UUID_LEAD_MS ahead of the clock, as section 6.1 of RFC 9562 permits, and only within the lease.  Meanwhile they
 * have half of the layout's rate, so ids resume after at most twice the time by which the clock went back. */
#ifndef VESTA_UUID_H
#define VESTA_UUID_H

#include "vesta.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_UUID_BYTES 16
#define VESTA_UUID_KEY_BYTES 16
/* How far UUIDs may run ahead of a clock that went back, in addition to the option ahead_ms_max. */
#define VESTA_UUID_LEAD_MS 60000

enum vesta_shape {
    VESTA_UUID7 = 1, /* RFC 9562, version 7: random bits follow the counter (section 6.2, method 1) */
    /* RFC 9562, version 8: all other bits of the id follow the counter, and then bits of the layout's fingerprint.  So
     * it is unique if the id is, and vesta_uuid_explain returns the id. */
    VESTA_UUID8 = 2,
    VESTA_ULID = 3,  /* like VESTA_UUID7, without version and variant */
    VESTA_HEX32 = 4, /* a trace id of W3C Trace Context: like VESTA_ULID, with at least 56 random bits */
};
#define VESTA_SHAPES 4 /* shapes are numbered from 1 to this */

/* Returns the name of a shape: "uuid7", "uuid8", "ulid" or "hex32".  NULL if there is no such shape.  Threads: any. */
VESTA_API const char *vesta_shape_name(enum vesta_shape shape);

/* Returns the shape with this name of `length` bytes, or 0.  Threads: any. */
VESTA_API int vesta_shape_find(const char *name, size_t length);

/* Checks whether ids of a layout can have a shape.  Threads: any.
 * Errors: VESTA_EOPTION if the counter does not fit.  The text states the sizes. */
VESTA_API int vesta_shape_check(const struct vesta_layout *layout, enum vesta_shape shape, struct vesta_error *err);

/* Checks whether a generator can issue UUIDs of a shape.  Threads: any.
 * Errors: as vesta_shape_check.  VESTA_EOPTION also if the shape has random bits, and the kernel returned none to
 * vesta_open. */
VESTA_API int vesta_gen_shape_check(const struct vesta_gen *gen, enum vesta_shape shape, struct vesta_error *err);

/* ------------------------------------------------------------------ issuing */

/* Issues one UUID.  Like vesta_next it never sleeps, blocks, locks, allocates, calls back or enters the kernel.
 * Shape: out[0..VESTA_UUID_BYTES), most significant byte first.  Threads: any, also after fork() in parent and child.
 * Errors: VESTA_EPAUSE, *out unchanged.  VESTA_EOPTION, *pause unchanged, if the generator cannot issue the shape:
 * vesta_gen_shape_check returns the reason. */
VESTA_API int vesta_next_uuid(struct vesta_gen *gen, enum vesta_shape shape, unsigned char *out,
                              struct vesta_pause *pause);

/* Issues up to n UUIDs with contiguous ticks in one step.  Issues at least one, or returns a pause.
 * Shape: UUID i is in out[i * VESTA_UUID_BYTES], i < *got, n >= 1.  They ascend.  Threads: any.
 * Errors: as vesta_next_uuid. */
VESTA_API int vesta_next_uuid_n(struct vesta_gen *gen, enum vesta_shape shape, unsigned char *out, size_t n,
                                size_t *got, struct vesta_pause *pause);

/* Like vesta_next_uuid, but waits during pauses, as vesta_next_wait does.  Threads: any.  May block.
 * Errors: as vesta_next_uuid. */
VESTA_API int vesta_next_uuid_wait(struct vesta_gen *gen, enum vesta_shape shape, unsigned char *out,
                                   int64_t wait_us_max, struct vesta_pause *pause);

/* Issues exactly n UUIDs, or fails, as vesta_batch_wait does.  Threads: any.  May block.
 * Errors: as vesta_next_uuid. */
VESTA_API int vesta_batch_uuid_wait(struct vesta_gen *gen, enum vesta_shape shape, unsigned char *out, size_t n,
                                    int64_t wait_us_max, struct vesta_pause *pause);

/* Issues one UUID from a lane, whose run has the ticks (vesta_lane.h).  While the clock is behind, takes a single tick.
 * Threads: the lane's own thread, like vesta_lane_next.
 * Errors: as vesta_next_uuid.  VESTA_EOPTION also if the lane belongs to another thread. */
struct vesta_lane;
VESTA_API int vesta_lane_next_uuid(struct vesta_lane *lane, enum vesta_shape shape, unsigned char *out,
                                   struct vesta_pause *pause);

/* ------------------------------------------------------------------ converting */

/* Converts an id to the UUID of a shape.  `key` is 16 random bytes, which the process draws once.  The random bits are
 * the SipHash-2-4 of the id under this key.  NULL is permitted for VESTA_UUID8 only, which has no random bits.  The
 * same id and key always result in the same UUID.  This is for programs that receive ids from a server or a database:
 * convert each id once, and do not use it as an id as well.
 * Shape: out[0..VESTA_UUID_BYTES).  Threads: any.
 * Errors: as vesta_shape_check.  VESTA_EEPOCH if the id's time does not fit into 48 bits of milliseconds.
 * VESTA_EOPTION if the key is missing. */
VESTA_API int vesta_uuid_make(const struct vesta_layout *layout, enum vesta_shape shape, uint64_t id,
                              const unsigned char *key, unsigned char *out, struct vesta_error *err);

/* The fields of a UUID that was made from an id of a layout. */
struct vesta_uuid_parts {
    int64_t unix_ms;  /* the first 48 bits */
    uint64_t counter; /* the tick's other bits: the part of a millisecond in time units, then the sequence */
    unsigned counter_bits, random_bits;
    uint64_t tick, time, seq; /* of the id from which it was made */
    int has_id;               /* 1: `id` is valid.  Only VESTA_UUID8 contains the whole id */
    uint64_t id;
};

/* Reads the fields of a UUID back.  Threads: any.
 * Errors: as vesta_shape_check.  VESTA_EID if it has another version or variant, or if no id of this layout has its
 * time and counter.  For VESTA_UUID8, also if it was made with another layout. */
VESTA_API int vesta_uuid_explain(const struct vesta_layout *layout, enum vesta_shape shape, const unsigned char *uuid,
                                 struct vesta_uuid_parts *out, struct vesta_error *err);

/* ------------------------------------------------------------------ text */

#define VESTA_UUID_TEXT_MAX 91 /* bytes of any text of a UUID, with the NUL: a TypeID with the longest prefix */

/* Writes a UUID in the text of its shape: 36 characters for VESTA_UUID7 and VESTA_UUID8, 26 for VESTA_ULID, 32 hex
 * digits for VESTA_HEX32.  Shape: buf of VESTA_UUID_TEXT_MAX bytes, returns the length without the NUL.  Threads: any.
 */
VESTA_API size_t vesta_uuid_format(enum vesta_shape shape, const unsigned char *uuid, char *buf);

/* Writes a UUID as a TypeID: the prefix, an underscore and 26 characters.  The prefix may be "".
 * Shape: buf of VESTA_UUID_TEXT_MAX bytes.  Threads: any.
 * Errors: VESTA_EFIELD if the prefix has more than 63 characters, other characters than a to z and _, or begins or ends
 * with _. */
VESTA_API int vesta_typeid_format(const char *prefix, const unsigned char *uuid, char *buf, struct vesta_error *err);

/* Reads a UUID (in any case, also in braces or after urn:uuid:), a ULID, 32 hex digits or a TypeID.  For a TypeID,
 * returns the UUID of its suffix.  Shape: uuid[0..VESTA_UUID_BYTES).  Threads: any.
 * Errors: VESTA_EID with the text, and what it should be. */
VESTA_API int vesta_uuid_parse(const char *text, size_t length, unsigned char *uuid, struct vesta_error *err);

/* Returns the time in a UUID of version 1, 6 or 7, in Unix microseconds.  Threads: any.
 * Errors: VESTA_EID if it contains none, with its version. */
VESTA_API int vesta_uuid_unix_us(const unsigned char *uuid, int64_t *unix_us, struct vesta_error *err);

#ifdef __cplusplus
}
#endif
#endif
