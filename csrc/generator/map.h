/* map.h -- the memory of a generator, shared by all processes that use it.  All of a generator's changing state is
 * here, so fork, reload and kill -9 can neither lose nor repeat a tick.  The memory is lost at a reboot, so an older
 * state can never be restored.  Only the header is also stored on disk, in a file that is called the anchor.
 *
 *     header   written once, before the map has a name
 *     shared   the active slot, the latest time read
 *     slot[i]  one lease each, never reused: written, published, and permanently closed by one exchange of `tick`
 */
#ifndef VS_MAP_H
#define VS_MAP_H

#include "vesta.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define VS_ANCHOR_MAGIC "vesta.g"
#define VS_MAP_MAGIC "vesta.m"
#define VS_ANCHOR_FORMAT 3
#define VS_MAP_FORMAT 5
/* Leases per map.  When all are used, a new map replaces this one.  This keeps a map as small as 43 KB, because
 * containers often have 64 MB of shared memory for all maps. */
#ifndef VS_SLOTS_MAX
#define VS_SLOTS_MAX 100
#endif
#define VS_KEY_BYTES 16
#define VS_URI_MAX 1024
#define VS_IDENTITY_MAX 256
#define VS_MAPS_MAX 128
#define VS_SAID_MAX 192
#define VS_RENEWALS 6 /* the number of values of enum vs_outcome, a store's answer */
#define VS_LINE 128   /* two cache lines, because the adjacent-line prefetcher loads pairs */

/* Values of vs_slot.tick that are above every tick, because a tick has at most 62 bits. */
#define VS_CLOSED ((uint64_t)1 << 63)              /* the lease has ended */
#define VS_FRESH (VS_CLOSED | ((uint64_t)1 << 62)) /* the slot is taken, but not published yet */
_Static_assert((VS_FRESH & VS_CLOSED) && VS_FRESH != VS_CLOSED,
               "a fresh slot issues nothing, and differs from a closed one");

/* Before a snapshot of the memory, keepers must rest: they end their leases and claims, and claim nothing until an id
 * is requested. */
enum vs_rest { VS_AWAKE = 0, VS_REST_ASKED, VS_RESTING };

/* The namespace has watermarks, so each call with clock pacing checks clock and deadline. */
#define VS_LEAP_MARKED ((uint64_t)1 << 63)

enum vs_slot_state { VS_SLOT_EMPTY = 0, VS_SLOT_CLAIMING = 1 };

/* The options of a generator.  An anchor consists of this header, and a map begins with it. */
struct vs_header {
    char magic[8];
    uint32_t format;
    uint32_t pacing;                 /* enum vesta_pacing, never VESTA_PACING_DEFAULT */
    uint64_t size;                   /* bytes of the whole file */
    unsigned char key[VS_KEY_BYTES]; /* random, or derived if there is no file. Part of the map's name */
    /* In maps only: device and inode of the map's file.  A copy of the file has another inode. */
    uint64_t dev, ino;
    int64_t born_ns; /* in maps only: the file's creation time, because an inode number may be reused. 0: unknown */
    uint64_t fingerprint;
    uint64_t ahead_ticks_max;
    uint64_t worker; /* the worker id to claim if has_worker */
    uint32_t has_worker;
    int32_t group;    /* the gid of the group that shares the files, or -1 */
    char boot_id[40]; /* in maps only: the boot in which the map was made */
    char layout[VESTA_LAYOUT_TEXT_MAX];
    char namespace_[VESTA_NAMESPACE_MAX + 7];
    char store[VS_URI_MAX];
    char lease[16];                 /* the name of a lease preset */
    char identity[VS_IDENTITY_MAX]; /* the name of this generator in the store */
    uint32_t own_identity;          /* 1: set by the user. 0: derived from the path at which the anchor was made */
    uint32_t is_proved;             /* 1: the ids were proved to belong to no other layout. In the anchor only */
    uint64_t mount;                 /* in maps only: the mount namespace in which `path` is valid */
    uint64_t incarnation;           /* the incarnation of the namespace that granted the leases. 0: unknown */
    char path[VS_IDENTITY_MAX];     /* the path at which the anchor was made */
    char maps[VS_MAPS_MAX];         /* the folder of the maps */
};

struct vs_shared {
    _Alignas(VS_LINE) _Atomic uint32_t active; /* index of the active slot + 1. Only rises. 0: none yet */
    _Atomic uint32_t slots_used;               /* slots taken so far. May exceed VS_SLOTS_MAX */
    _Atomic uint32_t stopped;                  /* VESTA_FAILSTOP, VESTA_CLOSED (another map takes over), or 0 */
    /* The latest time that an issuer has read.  Written when a time unit begins, not for each id. */
    _Alignas(VS_LINE) _Atomic int64_t seen_us;
    _Atomic int64_t offset_us; /* the confirmed difference CLOCK_REALTIME - CLOCK_BOOTTIME */
    /* An unconfirmed difference, as packed by pack_leap in tick.c, and VS_LEAP_MARKED.  0: neither */
    _Atomic uint64_t leap;
    _Atomic uint64_t uuid_span; /* the number of the latest span of UUIDs (vs_span_bits). 0: none was issued */
    _Atomic int64_t slow_us;    /* the clock of leading UUIDs minus CLOCK_BOOTTIME / 2. 0: not set yet */
    /* Words through which issuers and the keeper communicate. */
    _Alignas(VS_LINE) _Atomic uint32_t want; /* a futex. Each caller that pauses with VESTA_LEASE increments it */
    _Atomic uint32_t lease_state;            /* enum vs_lease_state, set by the last keeper */
    _Atomic uint32_t drew;                   /* the pid of the keeper that drew the worker id at random, or 0 */
    _Atomic uint32_t rest;                   /* enum vs_rest */
    _Atomic uint32_t rest_want;              /* `want` when the rest began. A change of `want` ends the rest */
    _Atomic uint64_t failed_in;              /* with VESTA_FAILSTOP: the incarnation of the store that lost writes */
    _Atomic int64_t retry_boot_us;           /* when the keeper tries again. 0: when `want` changes */
    _Atomic uint64_t renewals[VS_RENEWALS];  /* counts of renewals by the store's answer, enum vs_outcome */
    _Atomic char keeper[VS_SAID_MAX];        /* its last message. May be a mix of two, but always ends with a NUL */
    _Atomic uint32_t leave;                  /* index + 1 of the slot whose worker id to replace (vesta_switch), or 0 */
    _Atomic int64_t left_boot_us;            /* the time of the last vesta_switch. 0: never */
    /* Words that decide which keeper works.  They are not needed for uniqueness. */
    _Alignas(VS_LINE) _Atomic uint64_t keeper_token; /* random, drawn when the keeper's term begins. 0: no keeper */
    _Atomic int64_t pulse_boot_us;                   /* a keeper still unresponsive at this time may be replaced */
    _Atomic uint32_t keeper_pid;                     /* shown to people only */
};

struct vs_slot {
    /* Written by the keeper that takes the slot, and constant once the slot is published. */
    _Alignas(VS_LINE) uint64_t worker;
    uint64_t owner[2];      /* the claim's token. Stored before the claim is sent, so that a successor can adopt it */
    uint64_t from;          /* the first tick of the lease */
    uint64_t incarnation;   /* the incarnation of the namespace in which the worker id was claimed */
    uint32_t is_fixed;      /* 1: the worker id is derived from the configuration, so the window is small */
    _Atomic uint32_t state; /* enum vs_slot_state */
    /* Words that are read for each id but rarely written.  Each of them only rises, except that the words of a verdict
     * (allowed, allowed_until_us) are replaced after it has expired. */
    _Alignas(VS_LINE) _Atomic uint64_t limit; /* the end of the lease, a tick, exclusive */
    _Atomic uint64_t pass;                    /* history pacing: ticks below this need no clock reading */
    _Atomic uint64_t full_at;                 /* history pacing: equal to `pass` once the cursor has reached it */
    _Atomic uint64_t allowed;                 /* a policy's verdict: the cursor may run up to this tick */
    _Atomic int64_t deadline_boot_us;         /* CLOCK_BOOTTIME at which issuing must stop. 0: never */
    _Atomic uint32_t ended;           /* 1: the slot is closed or about to be closed, so lanes drop their runs */
    _Atomic int64_t allowed_until_us; /* `allowed` is valid until this time, by CLOCK_BOOTTIME */
    _Atomic uint32_t
        turn; /* seq_start=rotate:N: the start of the next time unit's sequence. Not needed for uniqueness */
    /* The word that changes with each id.  No other word shares its cache lines. */
    _Alignas(VS_LINE) _Atomic uint64_t tick; /* the cursor: the next tick, or VS_CLOSED or VS_FRESH */
};

struct vs_map {
    union {
        struct vs_header header;
        char page[4096];
    };
    struct vs_shared shared;
    struct vs_slot slot[VS_SLOTS_MAX];
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_LONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2 &&
                   ATOMIC_CHAR_LOCK_FREE == 2,
               "words that processes share need lock-free atomics: a lock would exist in one process only");
_Static_assert(sizeof(_Atomic uint64_t) == 8 && sizeof(_Atomic int64_t) == 8,
               "an atomic word has the size of its value");
_Static_assert(sizeof(struct vs_header) <= 4096, "the header fits its page");
_Static_assert(sizeof(struct vs_shared) == 6 * VS_LINE, "the shared words are six lines");
_Static_assert(sizeof(struct vs_slot) == 3 * VS_LINE, "a slot is three lines");
/* During an upgrade, processes of two versions share a map, so a member must not move while the format is the same. */
_Static_assert(VS_MAP_FORMAT == 5 && offsetof(struct vs_slot, state) == 44 &&
                   offsetof(struct vs_slot, limit) == VS_LINE && offsetof(struct vs_slot, allowed) == VS_LINE + 24 &&
                   offsetof(struct vs_slot, deadline_boot_us) == VS_LINE + 32 &&
                   offsetof(struct vs_slot, ended) == VS_LINE + 40 &&
                   offsetof(struct vs_slot, allowed_until_us) == VS_LINE + 48 &&
                   offsetof(struct vs_slot, turn) == VS_LINE + 56,
               "a word of a slot has moved: raise VS_MAP_FORMAT");
_Static_assert(VS_MAP_FORMAT == 5 && offsetof(struct vs_shared, leap) == VS_LINE + 16 &&
                   offsetof(struct vs_shared, uuid_span) == VS_LINE + 24 &&
                   offsetof(struct vs_shared, slow_us) == VS_LINE + 32 &&
                   offsetof(struct vs_shared, want) == 2 * VS_LINE,
               "a shared word has moved: raise VS_MAP_FORMAT");
_Static_assert(offsetof(struct vs_slot, tick) == 2 * VS_LINE, "the word that each id writes has its own cache lines");
_Static_assert(offsetof(struct vs_map, shared) == 4096, "the header has its own page");

/* Raises a word, unless it is higher already.  Release: pairs with the acquire loads of issuers, which must see the
 * writes on which the bound is based. */
static inline void vs_raise_u64(_Atomic uint64_t *word, uint64_t to) {
    uint64_t was = atomic_load_explicit(word, memory_order_relaxed);
    while (was < to &&
           !atomic_compare_exchange_weak_explicit(word, &was, to, memory_order_acq_rel, memory_order_relaxed))
        ;
}

static inline void vs_raise_i64(_Atomic int64_t *word, int64_t to) {
    int64_t was = atomic_load_explicit(word, memory_order_relaxed);
    while (was < to &&
           !atomic_compare_exchange_weak_explicit(word, &was, to, memory_order_acq_rel, memory_order_relaxed))
        ;
}

/* The properties of a map's file that show whether its cursor can be trusted. */
struct vs_file_identity {
    char boot_id[40];
    uint64_t dev, ino;
    int64_t born_ns;
};

/* Returns whether the map's file was created since the last boot and is not a copy.  A machine id could not show that,
 * because disks are cloned. */
bool vs_map_trusted(const struct vs_header *header, const struct vs_file_identity *now);

/* Returns whether a map of the right kind belongs to this anchor: it has the same key and options. */
bool vs_map_is_of(const struct vs_header *map, const struct vs_header *anchor);

/* Returns NULL if a header is a valid anchor.  Otherwise returns the reason, as the end of a sentence.  `bytes` is the
 * file's size. */
const char *vs_anchor_reject(const struct vs_header *header, uint64_t bytes);

/* Initializes a new map, except for its header. */
void vs_map_format(struct vs_map *map, const struct vesta_clock *clock);

/* Returns whether a keeper must end its term and rest before the next one. */
static inline bool vs_map_must_rest(const struct vs_map *map) {
    return atomic_load(&map->shared.rest) == VS_REST_ASKED;
}

/* Returns the index of the active slot, or -1. */
int vs_map_active(const struct vs_map *map);

/* Returns the incarnation of the namespace that granted the newest lease.  Before the first lease, returns the anchor's
 * incarnation.  0: unknown. */
uint64_t vs_map_incarnation(const struct vs_map *map);

/* ---- slots: called by keepers only */

/* A claim that is about to be sent.  For the members see struct vs_slot. */
struct vs_claim {
    uint64_t worker, owner[2], from, incarnation;
    bool is_fixed;
};

/* Takes the next slot and stores a claim in it.  Returns its index, or -1 if the map has no slot left. */
int vs_slot_take(struct vs_map *map, const struct vs_claim *claim);
/* Opens a claimed slot and makes it the active one.  Safe if another keeper has already opened it, or has published a
 * newer slot. */
void vs_slot_publish(struct vs_map *map, int index, uint64_t limit, int64_t deadline_boot_us);
/* Raises the bounds to those of an acknowledged renewal.  Never reopens a slot and never lowers a bound. */
void vs_slot_raise(struct vs_slot *slot, uint64_t limit, int64_t deadline_boot_us);

/* Applies a verdict: for VESTA_VERDICT_MS from now, the cursor may run up to `tick`. */
void vs_slot_allow(struct vs_slot *slot, uint64_t tick, int64_t boot_us);
/* Returns the tick up to which the current verdict lets the cursor run, or 0 if no verdict is valid. */
uint64_t vs_slot_allowed(const struct vs_slot *slot, const struct vesta_clock *clock);
/* Closes a slot permanently.  Returns true to the one caller that closed it, and sets *cursor to the exact next tick.
 */
bool vs_slot_close(struct vs_slot *slot, uint64_t *cursor);
/* Moves the cursor of an open slot up to `to`, or to the limit if that is lower.  Requires clock pacing. */
void vs_slot_skip(struct vs_slot *slot, uint64_t to);
/* Sets *cursor to min(tick, limit) of an open slot.  Returns false if the slot is closed or fresh. */
bool vs_slot_cursor(const struct vs_slot *slot, uint64_t *cursor);

#endif
