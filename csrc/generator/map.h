/* map.h -- the memory of a generator, shared by all processes that use it.  Every word that changes is here and nowhere
 * else: that is why fork, reload and kill -9 can neither lose nor repeat a tick.  It lies in memory that dies with the
 * boot, so nothing can bring an older state of it back; what lasts, the anchor, is its header alone, in a file.
 *
 *     header   written once, before the map has a name
 *     shared   which slot is active, what the clock was last seen at
 *     slot[i]  one lease each, append-only: fields first, then published; closed for ever by one exchange of `tick`
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
#ifndef VS_SLOTS_MAX /* leases in the life of a map; then a new one is made.  43 KB: containers have 64 MB for all */
#define VS_SLOTS_MAX 100
#endif
#define VS_KEY_BYTES 16
#define VS_URI_MAX 1024
#define VS_IDENTITY_MAX 256
#define VS_MAPS_MAX 128
#define VS_SAID_MAX 192
#define VS_RENEWALS 6 /* answers of a store to a renewal */
#define VS_LINE 128   /* two cache lines: the adjacent-line prefetcher pairs them */

/* Bits above every tick (time and seq have 62 at most). */
#define VS_CLOSED ((uint64_t)1 << 63)              /* the lease has ended */
#define VS_FRESH (VS_CLOSED | ((uint64_t)1 << 62)) /* taken, not published yet */
_Static_assert((VS_FRESH & VS_CLOSED) && VS_FRESH != VS_CLOSED, "what is fresh gives nothing, and can be told apart");

/* Before a snapshot keepers are to rest: to end what they had begun, and to claim nothing until somebody wants it. */
enum vs_rest { VS_AWAKE = 0, VS_REST_ASKED, VS_RESTING };

enum vs_slot_state { VS_SLOT_EMPTY = 0, VS_SLOT_CLAIMING = 1 };

/* What a generator is: the whole of an anchor, and the head of a map. */
struct vs_header {
    char magic[8];
    uint32_t format;
    uint32_t pacing;                 /* enum vesta_pacing, never the default */
    uint64_t size;                   /* bytes of the whole file */
    unsigned char key[VS_KEY_BYTES]; /* random: an anchor's maps are known by it, wherever a copy of the anchor lies */
    /* of a map only: its very own inode, so that no copy passes for it */
    uint64_t dev, ino;
    int64_t born_ns; /* where the file system says: a removed file's inode may be used again */
    uint64_t fingerprint;
    uint64_t ahead_ticks_max;
    uint64_t worker; /* the number to claim, where has_worker */
    uint32_t has_worker;
    int32_t group;    /* gid that shares the files, or -1 */
    char boot_id[40]; /* of a map only */
    char layout[VESTA_LAYOUT_TEXT_MAX];
    char namespace_[VESTA_NAMESPACE_MAX + 7];
    char store[VS_URI_MAX];
    char lease[16];                 /* a preset's name */
    char identity[VS_IDENTITY_MAX]; /* who asks the store */
    uint32_t own_identity;          /* 1: it was given; 0: it follows from the path that the anchor was made at */
    uint32_t is_proved;             /* 1: its ids are no other layout's of the namespace; noted in the anchor alone */
    uint64_t mount;       /* of a map only: the mount namespace that it was made in, where `path` means something */
    uint64_t incarnation; /* of the namespace that granted this generator's leases; 0: not known yet */
    char path[VS_IDENTITY_MAX]; /* where the anchor was made */
    char maps[VS_MAPS_MAX];     /* the folder of its maps */
};

struct vs_shared {
    _Alignas(VS_LINE) _Atomic uint32_t active; /* slot index + 1, only raised; 0: none yet */
    _Atomic uint32_t slots_used;               /* indexes given out, by fetch-add; may pass VS_SLOTS_MAX */
    _Atomic uint32_t stopped;                  /* VESTA_FAILSTOP, VESTA_CLOSED (another map takes over), 0 */
    /* what the clock was last seen at; written when a time unit opens, not per id */
    _Alignas(VS_LINE) _Atomic int64_t seen_us;
    _Atomic int64_t offset_us; /* confirmed REALTIME - BOOTTIME */
    _Atomic uint64_t leap;     /* an unconfirmed offset: generator.c, pack_leap */
    /* between issuers and the keeper */
    _Alignas(VS_LINE) _Atomic uint32_t want; /* futex: raised by whoever meets VESTA_LEASE */
    _Atomic uint32_t lease_state;            /* enum vs_lease_state, by the last keeper that looked */
    _Atomic uint32_t drew;                   /* pid of the keeper that drew the number at random, 0 if none */
    _Atomic uint32_t rest;                   /* enum vs_rest */
    _Atomic uint32_t rest_want;              /* what `want` was when the rest began: another value ends it */
    _Atomic uint64_t failed_in;              /* with stopped == VESTA_FAILSTOP: the incarnation that went back */
    _Atomic int64_t retry_boot_us;           /* when the keeper tries next; 0: as soon as it is asked */
    _Atomic uint64_t renewals[VS_RENEWALS];  /* by enum vs_outcome of the store's answer */
    _Atomic char keeper[VS_SAID_MAX];        /* its last sentence; may be read torn, never unterminated */
    _Atomic uint32_t leave;                  /* index + 1 of the slot whose number is to be left for another; 0: none */
    _Atomic int64_t left_boot_us;            /* when that was asked for last; 0: never */
    /* between keepers: whose term it is.  It decides who does the I/O, nothing else */
    _Alignas(VS_LINE) _Atomic uint64_t keeper_token; /* drawn as a term begins; 0: nobody has */
    _Atomic int64_t pulse_boot_us; /* until then its silence means nothing; later it may be replaced */
    _Atomic uint32_t keeper_pid;   /* for people */
};

struct vs_slot {
    /* written by the taker, immutable once published */
    _Alignas(VS_LINE) uint64_t worker;
    uint64_t owner[2]; /* the claim's token: here before the claim is sent, so that a successor can adopt it */
    uint64_t from;
    uint64_t incarnation;   /* of the namespace that it was claimed in */
    uint32_t is_fixed;      /* 1: its number follows from what the generator is, and its window is small */
    _Atomic uint32_t state; /* enum vs_slot_state */
    /* read-mostly; every word is only raised, but for a verdict that has expired */
    _Alignas(VS_LINE) _Atomic uint64_t limit; /* the lease's end, exclusive */
    _Atomic uint64_t pass;                    /* history pacing: below this no clock is read */
    _Atomic uint64_t full_at;                 /* history pacing: equal to pass where pass was met */
    _Atomic uint64_t allowed;                 /* a policy's verdict: the cursor may run up to here, */
    _Atomic int64_t deadline_boot_us;         /* 0: none */
    _Atomic uint32_t ended;                   /* 1: it is closed, or about to be: no run of a lane goes on */
    _Atomic int64_t allowed_until_us;         /* ... as long as CLOCK_BOOTTIME is below this; see vs_slot_allow */
    /* the hot word, alone */
    _Alignas(VS_LINE) _Atomic uint64_t tick; /* the next tick, or VS_CLOSED, or VS_FRESH */
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
               "words that processes share need atomics without a lock: one would lie in one process alone");
_Static_assert(sizeof(_Atomic uint64_t) == 8 && sizeof(_Atomic int64_t) == 8, "a shared word is what it counts");
_Static_assert(sizeof(struct vs_header) <= 4096, "the header fits its page");
_Static_assert(sizeof(struct vs_shared) == 6 * VS_LINE, "the shared words are six lines");
_Static_assert(sizeof(struct vs_slot) == 3 * VS_LINE, "a slot is three lines");
/* Processes of the version before and after an upgrade share a map, so a word never moves within one format. */
_Static_assert(VS_MAP_FORMAT == 5 && offsetof(struct vs_slot, state) == 44 &&
                   offsetof(struct vs_slot, limit) == VS_LINE && offsetof(struct vs_slot, allowed) == VS_LINE + 24 &&
                   offsetof(struct vs_slot, deadline_boot_us) == VS_LINE + 32 &&
                   offsetof(struct vs_slot, ended) == VS_LINE + 40 &&
                   offsetof(struct vs_slot, allowed_until_us) == VS_LINE + 48,
               "a word of a slot has moved: raise VS_MAP_FORMAT");
_Static_assert(offsetof(struct vs_slot, tick) == 2 * VS_LINE, "what is written with every id shares no line");
_Static_assert(offsetof(struct vs_map, shared) == 4096, "the header's page is its own");

/* A word that only rises.  Release: pairs with the acquire loads of issuers; what made the bound right comes first. */
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

/* What the world says of a file, for the one question whether its cursor may be trusted. */
struct vs_file_identity {
    char boot_id[40];
    uint64_t dev, ino;
    int64_t born_ns;
};

/* True if and only if this very file was made in this boot.  Machine ids prove nothing: disks are cloned. */
bool vs_map_trusted(const struct vs_header *header, const struct vs_file_identity *now);

/* Whether a map of the right kind is one of this anchor: of its key, and of the same generator. */
bool vs_map_is_of(const struct vs_header *map, const struct vs_header *anchor);

/* Why a header is no anchor of ours, as the end of a sentence, or NULL if it is; `bytes` is the file's size. */
const char *vs_anchor_reject(const struct vs_header *header, uint64_t bytes);

/* Writes the changing words of a new map; the header is the caller's, and stands there. */
void vs_map_format(struct vs_map *map, const struct vesta_clock *clock);

/* A keeper shall end its term, and rest before it begins another. */
static inline bool vs_map_must_rest(const struct vs_map *map) {
    return atomic_load(&map->shared.rest) == VS_REST_ASKED;
}

/* The active slot's index, or -1. */
int vs_map_active(const struct vs_map *map);

/* Which namespace's store granted the newest lease; before the first, what the anchor says.  0: not known yet. */
uint64_t vs_map_incarnation(const struct vs_map *map);

/* ---- slots: called by keepers only */

/* A claim that is about to be sent; see struct vs_slot. */
struct vs_claim {
    uint64_t worker, owner[2], from, incarnation;
    bool is_fixed;
};

/* Takes the next slot and fills in a claim; -1 when the map has none left. */
int vs_slot_take(struct vs_map *map, const struct vs_claim *claim);
/* Opens a claimed slot and makes it the active one; harmless when another keeper was first. */
void vs_slot_publish(struct vs_map *map, int index, uint64_t limit, int64_t deadline_boot_us);
/* Raises what an acknowledged renewal granted; never reopens, never lowers. */
void vs_slot_raise(struct vs_slot *slot, uint64_t limit, int64_t deadline_boot_us);

/* A verdict lets the cursor run up to `tick`, for VESTA_VERDICT_MS from now on. */
void vs_slot_allow(struct vs_slot *slot, uint64_t tick, int64_t boot_us);
/* How far the verdict in force lets it run; 0: there is none. */
uint64_t vs_slot_allowed(const struct vs_slot *slot, const struct vesta_clock *clock);
/* Ends a slot for ever.  True for the one caller that ended it; *cursor is then the exact next tick. */
bool vs_slot_close(struct vs_slot *slot, uint64_t *cursor);
/* min(tick, limit) of an open slot; false if it is closed or fresh. */
bool vs_slot_cursor(const struct vs_slot *slot, uint64_t *cursor);

#endif
