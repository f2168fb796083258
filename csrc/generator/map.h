/* map.h -- the memory of a generator, shared by all processes that use it.  All of its changing state is here, so fork,
 * reload and kill -9 can neither lose nor repeat a tick.  The memory is lost at a reboot, so no older state of it can
 * be restored.  Only the header is permanent: it is stored in a file, the anchor.
 *
 *     header   written once, before the map has a name
 *     shared   the active slot, the latest time read
 *     slot[i]  one lease each, append-only: fields first, then published, and closed for ever by one exchange of `tick`
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
#ifndef VS_SLOTS_MAX /* leases per map; then a new map is made. 43 KB, because containers have 64 MB for all maps */
#define VS_SLOTS_MAX 100
#endif
#define VS_KEY_BYTES 16
#define VS_URI_MAX 1024
#define VS_IDENTITY_MAX 256
#define VS_MAPS_MAX 128
#define VS_SAID_MAX 192
#define VS_RENEWALS 6 /* kinds of answers of a store to a renewal */
#define VS_LINE 128   /* two cache lines, because the adjacent-line prefetcher loads pairs */

/* Flags above the bits of every tick, which has at most 62. */
#define VS_CLOSED ((uint64_t)1 << 63)              /* the lease has ended */
#define VS_FRESH (VS_CLOSED | ((uint64_t)1 << 62)) /* taken, but not published yet */
_Static_assert((VS_FRESH & VS_CLOSED) && VS_FRESH != VS_CLOSED,
               "a fresh slot issues nothing, and differs from a closed one");

/* Before a snapshot keepers must rest: end their leases and claims, and claim nothing until an id is requested. */
enum vs_rest { VS_AWAKE = 0, VS_REST_ASKED, VS_RESTING };

enum vs_slot_state { VS_SLOT_EMPTY = 0, VS_SLOT_CLAIMING = 1 };

/* The options of a generator: the whole contents of an anchor, and the start of a map. */
struct vs_header {
    char magic[8];
    uint32_t format;
    uint32_t pacing;                 /* enum vesta_pacing, never the default */
    uint64_t size;                   /* bytes of the whole file */
    unsigned char key[VS_KEY_BYTES]; /* random; finds the maps of an anchor and of its copies */
    /* in maps only: the inode of this map, so that a copy is detected */
    uint64_t dev, ino;
    int64_t born_ns; /* if the file system records it, because an inode number may be reused */
    uint64_t fingerprint;
    uint64_t ahead_ticks_max;
    uint64_t worker; /* the worker id to claim if has_worker */
    uint32_t has_worker;
    int32_t group;    /* gid that shares the files, or -1 */
    char boot_id[40]; /* in maps only */
    char layout[VESTA_LAYOUT_TEXT_MAX];
    char namespace_[VESTA_NAMESPACE_MAX + 7];
    char store[VS_URI_MAX];
    char lease[16];                 /* name of a preset */
    char identity[VS_IDENTITY_MAX]; /* the name of this generator in the store */
    uint32_t own_identity;          /* 1: set by the user. 0: derived from the path at which the anchor was made */
    uint32_t is_proved;             /* 1: its ids belong to no other layout of the namespace. Recorded in the anchor
                                       only */
    uint64_t mount;                 /* in maps only: the mount namespace in which `path` is valid */
    uint64_t incarnation;           /* of the namespace that granted the leases. 0: unknown */
    char path[VS_IDENTITY_MAX];     /* where the anchor was made */
    char maps[VS_MAPS_MAX];         /* the folder of its maps */
};

struct vs_shared {
    _Alignas(VS_LINE) _Atomic uint32_t active; /* slot index + 1, only rises. 0: none yet */
    _Atomic uint32_t slots_used;               /* slots taken, by fetch-add; may exceed VS_SLOTS_MAX */
    _Atomic uint32_t stopped;                  /* VESTA_FAILSTOP, VESTA_CLOSED (another map takes over), or 0 */
    /* the latest time read; written when a time unit begins, not for each id */
    _Alignas(VS_LINE) _Atomic int64_t seen_us;
    _Atomic int64_t offset_us; /* confirmed REALTIME - BOOTTIME */
    _Atomic uint64_t leap;     /* an unconfirmed offset, see pack_leap in tick.c */
    /* between issuers and the keeper */
    _Alignas(VS_LINE) _Atomic uint32_t want; /* futex: incremented by each caller that pauses with VESTA_LEASE */
    _Atomic uint32_t lease_state;            /* enum vs_lease_state, set by the last keeper */
    _Atomic uint32_t drew;                   /* pid of the keeper that drew the worker id at random, or 0 */
    _Atomic uint32_t rest;                   /* enum vs_rest */
    _Atomic uint32_t rest_want;              /* the value of `want` when the rest began; another value ends the rest */
    _Atomic uint64_t failed_in;              /* with VESTA_FAILSTOP: the incarnation that went back */
    _Atomic int64_t retry_boot_us;           /* when the keeper tries next. 0: when it is asked */
    _Atomic uint64_t renewals[VS_RENEWALS];  /* counts, by enum vs_outcome of the store's answer */
    _Atomic char keeper[VS_SAID_MAX];        /* its last message; may be read torn, but always with an end */
    _Atomic uint32_t leave;                  /* index + 1 of the slot whose worker id a policy wants to replace. 0:
                                                none */
    _Atomic int64_t left_boot_us;            /* time of the last such request. 0: never */
    /* between keepers: decides which one does the I/O, and nothing else */
    _Alignas(VS_LINE) _Atomic uint64_t keeper_token; /* drawn when a term begins. 0: no keeper */
    _Atomic int64_t pulse_boot_us; /* silence until then is normal; later the keeper may be replaced */
    _Atomic uint32_t keeper_pid;   /* for people */
};

struct vs_slot {
    /* written by the taker, immutable once published */
    _Alignas(VS_LINE) uint64_t worker;
    uint64_t owner[2]; /* the claim's token, stored before the claim is sent so that a successor can adopt it */
    uint64_t from;
    uint64_t incarnation;   /* of the namespace in which it was claimed */
    uint32_t is_fixed;      /* 1: the worker id is derived from the generator's configuration, and its window is
                               small */
    _Atomic uint32_t state; /* enum vs_slot_state */
    /* Mostly read.  Every word only rises, except after a verdict has expired. */
    _Alignas(VS_LINE) _Atomic uint64_t limit; /* the lease's end, exclusive */
    _Atomic uint64_t pass;                    /* history pacing: below this tick no clock is read */
    _Atomic uint64_t full_at;                 /* history pacing: equals pass when the cursor has reached pass */
    _Atomic uint64_t allowed;                 /* a policy's verdict: the cursor may run up to this tick, */
    _Atomic int64_t deadline_boot_us;         /* 0: none */
    _Atomic uint32_t ended;                   /* 1: closed or about to be closed, so lanes drop their runs */
    _Atomic int64_t allowed_until_us;         /* ... while CLOCK_BOOTTIME is below this; see vs_slot_allow */
    /* the hot word, on its own cache lines */
    _Alignas(VS_LINE) _Atomic uint64_t tick; /* the next tick, VS_CLOSED or VS_FRESH */
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
/* Processes of two versions share a map during an upgrade, so a word must not move within one format. */
_Static_assert(VS_MAP_FORMAT == 5 && offsetof(struct vs_slot, state) == 44 &&
                   offsetof(struct vs_slot, limit) == VS_LINE && offsetof(struct vs_slot, allowed) == VS_LINE + 24 &&
                   offsetof(struct vs_slot, deadline_boot_us) == VS_LINE + 32 &&
                   offsetof(struct vs_slot, ended) == VS_LINE + 40 &&
                   offsetof(struct vs_slot, allowed_until_us) == VS_LINE + 48,
               "a word of a slot has moved: raise VS_MAP_FORMAT");
_Static_assert(offsetof(struct vs_slot, tick) == 2 * VS_LINE, "the word that each id writes has its own cache lines");
_Static_assert(offsetof(struct vs_map, shared) == 4096, "the header has its own page");

/* Raises a word that never falls.  Release: pairs with the acquire loads of issuers, which must see everything that
 * justified the bound. */
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

/* The properties of a file that show whether its cursor can be trusted. */
struct vs_file_identity {
    char boot_id[40];
    uint64_t dev, ino;
    int64_t born_ns;
};

/* Whether this file was made in this boot and is not a copy.  Machine ids do not prove that, because disks are cloned.
 */
bool vs_map_trusted(const struct vs_header *header, const struct vs_file_identity *now);

/* Whether a map of the right kind belongs to this anchor: it has the same key and the same options. */
bool vs_map_is_of(const struct vs_header *map, const struct vs_header *anchor);

/* Returns why a header is not a valid anchor, as the end of a sentence, or NULL.  `bytes` is the file's size. */
const char *vs_anchor_reject(const struct vs_header *header, uint64_t bytes);

/* Initializes the changing state of a new map.  The caller has written the header. */
void vs_map_format(struct vs_map *map, const struct vesta_clock *clock);

/* Whether a keeper must end its term, and rest before it begins another one. */
static inline bool vs_map_must_rest(const struct vs_map *map) {
    return atomic_load(&map->shared.rest) == VS_REST_ASKED;
}

/* The active slot's index, or -1. */
int vs_map_active(const struct vs_map *map);

/* The incarnation of the namespace that granted the newest lease, or the anchor's before the first lease.  0: unknown.
 */
uint64_t vs_map_incarnation(const struct vs_map *map);

/* ---- slots: called by keepers only */

/* A claim that is about to be sent.  See struct vs_slot. */
struct vs_claim {
    uint64_t worker, owner[2], from, incarnation;
    bool is_fixed;
};

/* Takes the next slot and stores a claim in it.  -1 if the map has no slot left. */
int vs_slot_take(struct vs_map *map, const struct vs_claim *claim);
/* Opens a claimed slot and makes it the active one.  Harmless if another keeper was first. */
void vs_slot_publish(struct vs_map *map, int index, uint64_t limit, int64_t deadline_boot_us);
/* Raises the bounds to those of an acknowledged renewal.  Never reopens a slot, never lowers a bound. */
void vs_slot_raise(struct vs_slot *slot, uint64_t limit, int64_t deadline_boot_us);

/* Applies a verdict: the cursor may run up to `tick` for VESTA_VERDICT_MS from now on. */
void vs_slot_allow(struct vs_slot *slot, uint64_t tick, int64_t boot_us);
/* The tick up to which the present verdict lets the cursor run, or 0 if there is none. */
uint64_t vs_slot_allowed(const struct vs_slot *slot, const struct vesta_clock *clock);
/* Ends a slot for ever.  True for the one caller that ended it: *cursor is then the exact next tick. */
bool vs_slot_close(struct vs_slot *slot, uint64_t *cursor);
/* Sets min(tick, limit) of an open slot.  False if it is closed or fresh. */
bool vs_slot_cursor(const struct vs_slot *slot, uint64_t *cursor);

#endif
