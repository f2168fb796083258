/* world.h -- a world for segments, in virtual time: databases that are slow, lose answers, do things late, go back;
 * maps on hosts that reboot and are copied; processes that are killed, stopped, forked and end; clients that hold
 * blocks. In the middle the real cursor, refiller and ranges, what a store's row becomes, when a map is trusted, what a
 * client takes from a block.  Everything follows from one seed. */
#ifndef WORLD_H
#define WORLD_H

#include "client/block.h"
#include "generator/map.h"
#include "segment/refill.h"
#include "store/counter.h"

#define DATABASES_MAX 3
#define PATHS 3      /* places where processes look for a map */
#define MAPS_MAX 200 /* in the life of a seed */
#define PROCS 10
#define CLIENTS 5
#define MESSAGES 64
#define NUMBERS 40000
#define MS ((int64_t)1000)
#define SEC ((int64_t)1000000)

#define COUNTS(X)                                                                                                      \
    X(numbers)                                                                                                         \
    X(grants) X(unknowns) X(late) X(untaken) X(kept) X(raised) X(spent) X(kills) X(stops) X(forks) X(ends) X(reboots) X(copies) X(restored)       \
        X(noticed) X(blocks) X(foreign)
struct counts {
#define COUNT_FIELD(name) uint64_t name;
    COUNTS(COUNT_FIELD)
#undef COUNT_FIELD
};

struct message {
    bool is_used, is_done, is_lost, is_heard; /* is_heard: nobody waits for its answer any more */
    int64_t done_us, answer_us;               /* when the database does it, and when its asker hears, or gives up */
    enum vs_outcome outcome;                  /* that the asker hears */
    int database;
    struct vs_counter_change change;
    unsigned life; /* of the map for which it asks */
    struct vs_reply reply;
};

struct map {
    struct vs_header header;
    struct vs_segment words;
    struct vs_unclaimed rest[PROCS][VS_RESTS_MAX]; /* in the memory of each process: what it took out */
    unsigned life; /* of its words: whoever makes them anew has another; 0: the place is free */
};

struct refiller {
    struct vs_refill machine;
    struct vs_refill_action did;
    struct map *map;
    struct message *asked;
};

struct proc {
    bool is_alive, ends;
    uint64_t token;
    int ended; /* how often it gave back what was left, so far */
    int path;
    struct map *map;
    int64_t stopped_us;
    struct refiller refiller[DATABASES_MAX];
    uint64_t taken; /* since the faults are over */
};

struct client {
    bool is_alive;
    unsigned life; /* of the map that its block is from */
    struct vs_block block;
};

struct world {
    uint64_t dice, seed;
    int64_t now_us;
    int databases;
    bool is_calm, restores; /* restores: this seed is one of a single host whose database goes back */
    struct vs_tag row[DATABASES_MAX], saved[DATABASES_MAX];
    int64_t down_us[DATABASES_MAX], most[DATABASES_MAX]; /* most: the highest end that was granted */
    struct map *at[PATHS];
    unsigned boot[PATHS], lives, tokens;
    struct map maps[MAPS_MAX];
    int maps_count;
    struct proc proc[PROCS];
    struct client client[CLIENTS];
    struct message message[MESSAGES];
    unsigned granted_to[NUMBERS]; /* the life of the map that it was granted to last, */
    unsigned granted_before[NUMBERS]; /* and before: a database that went back grants it again, and a client may still
                                         have it from the first */
    unsigned char held_by[NUMBERS];
    bool is_given[NUMBERS];
    struct counts counts;
    char found[200]; /* "": nothing */
};
extern struct world world;

uint64_t roll(uint64_t below);
bool chance(uint64_t percent);
__attribute__((format(printf, 1, 2))) void found(const char *format, ...);

/* database.c */
void database_reset(void);
/* NULL: no room for a message. */
struct message *database_ask(int database, const struct vs_counter_change *change, unsigned life);
void database_work(void); /* does what is due */
void database_foreign(void);
void database_save_or_restore(int database);
void database_put_right(int database);

#endif
