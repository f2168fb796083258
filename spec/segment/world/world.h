/* world.h -- simulates segments in virtual time.  Databases are slow, lose replies, execute late, and go back.  Maps
 * are on hosts that reboot and are copied.  Processes are killed, stopped, forked and ended.  Clients hold blocks.  The
 * tested code is real: the cursor, the refiller, ranges, what a write does to a row, when a map is trusted, and what a
 * client takes from a block.  Everything follows from one seed. */
#ifndef WORLD_H
#define WORLD_H

#include "client/block.h"
#include "generator/map.h"
#include "segment/refill.h"
#include "store/counter.h"

#define DATABASES_MAX 3
#define PATHS 3      /* places where processes look for a map */
#define MAPS_MAX 200 /* in one seed */
#define PROCS 10
#define CLIENTS 5
#define MESSAGES 64
#define NUMBERS 40000
#define MS ((int64_t)1000)
#define SEC ((int64_t)1000000)

#define COUNTS(X)                                                                                                      \
    X(numbers)                                                                                                         \
    X(grants)                                                                                                          \
    X(unknowns)                                                                                                        \
    X(late) X(untaken) X(kept) X(raised) X(spent) X(kills) X(stops) X(forks) X(ends) X(reboots) X(copies) X(restored)  \
        X(failovers) X(noticed) X(blocks) X(foreign)
struct counts {
#define COUNT_FIELD(name) uint64_t name;
    COUNTS(COUNT_FIELD)
#undef COUNT_FIELD
};

struct message {
    bool is_used, is_done, is_lost, is_heard; /* is_heard: the caller does not wait for its reply any more */
    int64_t done_us, answer_us;               /* when the database does it, and when the caller gets the reply or gives
                                                 up */
    enum vs_outcome outcome;                  /* that the caller gets */
    int database;
    struct vs_counter_change change;
    unsigned life; /* of the map that the request is for */
    struct vs_reply reply;
};

struct map {
    struct vs_header header;
    struct vs_segment words;
    struct vs_unclaimed rest[PROCS][VS_RESTS_MAX]; /* each process's own memory: rests that it took out */
    unsigned life;                                 /* of its words: new words have another life.  0: unused */
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
    int ended; /* how often it has given back the rest */
    int path;
    struct map *map;
    int64_t stopped_us;
    struct refiller refiller[DATABASES_MAX];
    uint64_t taken; /* since the end of the faults */
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
    bool is_calm, restores; /* restores: in this seed, a single host's database goes back */
    struct vs_tag row[DATABASES_MAX], saved[DATABASES_MAX];
    int64_t down_us[DATABASES_MAX], most[DATABASES_MAX]; /* most: the highest granted end */
    struct map *at[PATHS];
    unsigned boot[PATHS], lives, tokens;
    struct map maps[MAPS_MAX];
    int maps_count;
    struct proc proc[PROCS];
    struct client client[CLIENTS];
    struct message message[MESSAGES];
    unsigned granted_to[NUMBERS];     /* life of the map that it was granted to last */
    unsigned granted_before[NUMBERS]; /* life of the map before: a database that went back grants it again, and a client
                                         may still hold it from the first grant */
    unsigned char held_by[NUMBERS];
    bool is_given[NUMBERS];
    struct counts counts;
    char found[200]; /* "": nothing */
};
extern struct world world;

uint64_t roll(uint64_t below);
bool chance(uint64_t percent);
__attribute__((format(printf, 1, 2))) void found(const char *format, ...);

void database_reset(void);
/* NULL: too many messages */
struct message *database_ask(int database, const struct vs_counter_change *change, unsigned life);
void database_work(void); /* executes the messages that are due */
void database_foreign(void);
void database_save_or_restore(int database);
void database_put_right(int database);

#endif
