/* vesta.h -- 64-bit ids that never repeat and sort by time.
 *
 * This header is the manual of the library.  The library issues ids, reads their fields back (vesta_explain), and makes
 * ids by hand from given fields (vesta_make), for example for tests and for queries by time.
 *
 * A store leases a worker id and a range of its ticks to a process.  The generator takes the next tick of that range
 * for each id.  No two leases overlap, so ids stay unique even if clocks are wrong.  Ids made by hand are not checked
 * against issued ids, so they may duplicate issued ids.
 *
 *     #include <inttypes.h>
 *     #include <stdio.h>
 *     #include <vesta.h>
 *
 *     int main(void) {
 *         struct vesta_opts opts = VESTA_OPTS_INIT;
 *         struct vesta_gen *gen;
 *         struct vesta_error err;
 *         struct vesta_pause pause;
 *         uint64_t id;
 *         opts.layout = "vesta-milli";
 *         opts.any_worker = 1;
 *         if (vesta_open(&opts, &gen, &err) != VESTA_OK) return fprintf(stderr, "%s\n", err.text), 1;
 *         int rc = vesta_next_wait(gen, &id, 2000 * 1000, &pause);
 *         if (rc == VESTA_OK) printf("%" PRIu64 "\n", id);
 *         vesta_close(gen);
 *         return rc != VESTA_OK;
 *     }
 *
 * Terms: a *layout* defines the fields of the 64 bits.  A *tick* is time << seq_bits | seq, a number that only grows.
 * A *worker id* is the number in an id that the store leases.  A *pause* explains why a generator cannot issue an id
 * now.  A *slot* is the generator's record of one lease.  The *keeper* is the thread that claims and renews leases.
 *
 * Conventions: functions return VESTA_OK (0) or a negative enum vesta_code.  Results are output arguments, set
 * only on success.  `err` may be NULL.  Strings are UTF-8 and NUL-terminated.  Names end in their unit (_ms, _us).
 * "Threads: any" means that several threads may call the function with the same object at once.
 * The library prints nothing, never exits and installs no signal handler.  The library is never
 * unloaded by dlclose, because its threads may still run.  They may also run while the process exits, for example if a
 * store does not respond, so the library keeps OpenSSL from freeing its data in an exit handler.  If your program
 * initializes OpenSSL before it opens a store, call OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) first, or end the
 * program with _exit.
 */
#ifndef VESTA_H
#define VESTA_H

#include "vesta_options.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_VERSION "0.2.0"
#define VESTA_API __attribute__((visibility("default")))

/* ------------------------------------------------------------------ limits */

#define VESTA_BATCH_MAX 10000            /* ids in one batch, in C, Lua, HTTP and RESP */
#define VESTA_FIELDS_MAX 16              /* fields of a layout */
#define VESTA_NAME_MAX 16                /* bytes of a field's name, with the NUL */
#define VESTA_NAMESPACE_MAX 65           /* bytes of a namespace, [A-Za-z0-9_.:-]{1,64}, with the NUL */
#define VESTA_LAYOUT_TEXT_MAX 512        /* bytes of a layout as canonical text, with the NUL */
#define VESTA_FORMAT_MAX 24              /* bytes of an id in any text form, with the NUL */
#define VESTA_ISO_MAX 32                 /* bytes of an RFC 3339 time, with the NUL */
#define VESTA_BORROW_MS_MAX 60000        /* the furthest that vesta_borrow may let ids run ahead of the clock */
#define VESTA_VERDICT_MS 1000            /* how long a policy's verdict is valid unless it is repeated */
#define VESTA_VALUE_MAX 9007199254740991 /* the largest value of a field of 53 bits */

/* ------------------------------------------------------------------ errors */

/* Each code has one meaning in every function, and a name that never changes. */
enum vesta_code {
    VESTA_OK = 0,
    VESTA_EPAUSE = -1,    /* pause: no id can be issued now. struct vesta_pause has the reason and the time to wait */
    VESTA_ELAYOUT = -2,   /* bad_layout: an invalid layout text, or an unknown preset */
    VESTA_EFIELD = -3,    /* bad_field: a field's value is missing, too large, unknown, or differs from its constant */
    VESTA_EID = -4,       /* bad_id: not an id of this layout, or not an id at all */
    VESTA_EMISMATCH = -5, /* mismatch: an existing file or namespace has different values. The text states both */
    VESTA_ENOGEN = -6,    /* no_generator: there is no generator file, and too few options to create one */
    VESTA_ECLOSED = -7,   /* closed: the handle was closed (only in languages that detect this) */
    VESTA_EEPOCH = -8,    /* epoch_end: the layout cannot represent a time */
    VESTA_ENAME = -9,     /* unknown_name: no policy has this name */
    VESTA_EOPTION = -10,  /* bad_option: an option is wrong, or conflicts with another option or with this call */
    VESTA_EIO = -11,      /* io: the system or the store reported an error. The text contains its message */
    VESTA_ENOMEM = -12,   /* no_memory: malloc failed */
    VESTA_EFULL = -13,    /* too_many: the result does not fit into the caller's memory */
    VESTA_ENOTNOW = -14   /* not_now: the call refers to an object that does not exist (any more). Nothing changed */
};

/* The text is a sentence that states the rejected value and, if possible, the next step. */
struct vesta_error {
    int code; /* enum vesta_code */
    char text[512];
};

/* Returns the stable name of a code, such as "bad_layout" for VESTA_ELAYOUT.  Never NULL.  Threads: any. */
VESTA_API const char *vesta_code_name(int code);

/* ------------------------------------------------------------------ layouts
 *
 * A layout is written as text, from the highest bit to the lowest:
 *
 *     version:1 type:1=1 method:2 time:40 seq:10 machine:10 unit=1ms epoch=2014-12-31T16:00:00Z
 *
 * A field is `name:width` or `name:width=constant`.  `time` is required.  `seq` is optional: without it each time unit
 * has one id.  A field has at most 53 bits.  The widths add up to 64.  If they add up to 63, a leading field sign:1=0
 * is added.  If time and sequence have more than 62 bits together, ids can be read but not issued.  The leased field is
 * called `worker` or `machine`. The sequence may have two parts below the time.  For example, `time:41 seq:8 worker:13
 * seq:1` has a sequence of 9 bits whose lowest bit is below the worker id. `unit` is between 1us and 1s and must divide
 * a second, such as 10us, 1ms, 5ms or 100ms.  `epoch` is RFC 3339 or Unix milliseconds. `seq_start=spread:N` starts the
 * sequence of each time unit at hash(time, worker) % N.  This requires that the sequence, or its second part, is the
 * lowest field.  `seq_start=rotate:N` starts the sequence of each time unit one higher than that of the last unit with
 * ids, modulo N.  `seq_start=shards:N` starts it so that (id >> K) % N is one higher than for the id before, modulo N,
 * where K is the lowest bit of the sequence's first part.  A unit that follows an exhausted unit starts at 0.  The text
 * may begin with a preset's name, followed by overrides: `uid epoch=2026-01-01T00:00:00Z`, `uid
 * time:29 worker:21`. */

struct vesta_field {
    char name[VESTA_NAME_MAX];
    uint8_t width;                /* bits, 1 to 53. For a sequence with two parts, the sum of both */
    uint8_t shift;                /* the lowest bit, 0 to 63. For a sequence with two parts, that of the upper part */
    uint8_t fixed;                /* 1: written as name:width=constant, so `value` is its only value */
    uint8_t low_width, low_shift; /* bits and lowest bit of the lower part of a sequence with two parts. Otherwise 0 */
    uint64_t value;               /* the constant. 0 for a field that is not fixed */
    uint64_t max;                 /* (1 << width) - 1 */
};

/* Where the sequence of a time unit starts. */
enum vesta_start {
    VESTA_SPREAD = 0, /* at a hash */
    VESTA_ROTATE = 1, /* one higher than in the last unit with ids */
    VESTA_SHARDS = 2  /* so that each id belongs to the shard after that of the id before it */
};

/* A parsed layout.  It may be copied, and shared between threads. */
struct vesta_layout {
    struct vesta_field field[VESTA_FIELDS_MAX]; /* from the highest bit to the lowest */
    int field_count;
    int time, seq, worker; /* indexes into field. seq or worker is -1 if the layout has no such field */
    int64_t epoch_ms;      /* Unix milliseconds of time 0 */
    int32_t unit_us;       /* the time unit in microseconds, 1 to 1000000, a divisor of 1000000 */
    uint32_t spread : 30;  /* N of seq_start=spread:N, rotate:N or shards:N. 0: the sequence starts at 0 */
    uint32_t start : 2;    /* enum vesta_start */
    uint64_t fingerprint;  /* a hash of names, widths, order, unit and epoch, without constants and seq_start */
    const char *read_only; /* why ids can be read and made by hand but not issued. NULL if they can be issued */
};

/* Parses a layout or a preset's name.  Threads: any.  Errors: VESTA_ELAYOUT with the invalid part. */
VESTA_API int vesta_layout_parse(const char *text, struct vesta_layout *out, struct vesta_error *err);

/* Writes the canonical text.  Parsing this text returns an equal layout.
 * Shape: buf of VESTA_LAYOUT_TEXT_MAX bytes, returns the length without the NUL.  Threads: any. */
VESTA_API size_t vesta_layout_text(const struct vesta_layout *layout, char *buf);

/* Returns the end of the layout's time: the first Unix millisecond at which no id can be issued any more.  Threads:
 * any. */
VESTA_API int64_t vesta_layout_end_ms(const struct vesta_layout *layout);

/* Returns the index of the field with this name, or -1.  `worker` and `machine` both name the leased field.  Threads:
 * any. */
VESTA_API int vesta_layout_find(const struct vesta_layout *layout, const char *name);

/* Returns the i-th preset, or NULL after the last one.  `about` is one line of description, `source` the address of a
 * longer one.  Threads: any. */
struct vesta_preset {
    const char *name, *text, *about, *source;
    int may_issue;   /* 0: vesta_open rejects the preset's name, but accepts the same fields written as text */
    const char *why; /* if may_issue: a caution, or NULL. Otherwise the reason why its ids can only be read */
};
VESTA_API const struct vesta_preset *vesta_preset_at(int i);

/* ------------------------------------------------------------------ ids */

/* The fields of an id. */
struct vesta_parts {
    uint64_t values[VESTA_FIELDS_MAX]; /* in the order of layout->field */
    uint64_t time, seq, worker;        /* 0 if the layout has no such field */
    int64_t unix_ms;                   /* the start of the id's time unit, rounded down */
};

/* Joins values, in the order of layout->field, into an id.  Threads: any.
 * Errors: VESTA_EFIELD with the field, the value and its maximum, or the constant that it must have. */
VESTA_API int vesta_compose(const struct vesta_layout *layout, const uint64_t *values, uint64_t *id,
                            struct vesta_error *err);

/* Splits an id into its fields: the exact inverse of vesta_compose.  Threads: any.
 * Errors: VESTA_EID if a constant field has a different value, which means that the id was made with a different
 * layout. */
VESTA_API int vesta_explain(const struct vesta_layout *layout, uint64_t id, struct vesta_parts *out,
                            struct vesta_error *err);

struct vesta_value {
    const char *name;
    uint64_t value;
};

/* Makes an id by hand from named values.  `time`, `seq` and the leased field (by its name or as `worker`) are required
 * if the layout has them.  Other fields default to their constant, or 0.  This reserves nothing: a generator can still
 * issue the same id.  Threads: any.
 * Errors: VESTA_EFIELD with the field that is missing, unknown, repeated or too large. */
VESTA_API int vesta_make(const struct vesta_layout *layout, const struct vesta_value *given, size_t count, uint64_t *id,
                         struct vesta_error *err);

/* Computes the smallest and largest ids of the interval [from_ms, until_ms).  Ids sort by time only if the fields above
 * `time` are equal.  So the result has one pair for each combination of values of these fields.  A field that `given`
 * names or the layout fixes has only one value.  If until_ms == from_ms, the interval consists of the time units that
 * overlap this millisecond.
 * Shape: pairs->pair[0..count), count set on success only.  Each id of the interval lies in one pair: min <= id <= max.
 * Threads: any.
 * Errors: VESTA_EFULL if more than max pairs are needed (the text states how many, and which fields to name in
 * `given`).  VESTA_EEPOCH if the interval is outside the layout's time.  VESTA_EFIELD. */
struct vesta_interval {
    int64_t from_ms, until_ms;
    const struct vesta_value *given;
    size_t given_count;
};
struct vesta_pair {
    uint64_t min, max;
};
struct vesta_pairs {
    struct vesta_pair *pair; /* the caller's memory */
    size_t max;              /* size of pair[] */
    size_t count;            /* pairs written */
};
VESTA_API int vesta_range(const struct vesta_layout *layout, const struct vesta_interval *interval,
                          struct vesta_pairs *pairs, struct vesta_error *err);

/* Lists the presets that could have made an id by now_ms.  Presets that have the time field in the same bits form a
 * group.  The likeliest group is first, and in each group the likeliest preset is first.  An id does not contain its
 * layout, so this is a guess: a recent time and a low sequence make a layout likely, but prove nothing.
 * Shape: returns the count of candidates in out[], at most max.  Threads: any. */
struct vesta_candidate {
    const struct vesta_preset *preset;
    struct vesta_parts parts;
};
VESTA_API size_t vesta_guess(uint64_t id, int64_t now_ms, struct vesta_candidate *out, size_t max);

/* Proposes a layout for a given rate, node count and lifetime.  Threads: any.
 * Errors: VESTA_EFIELD if these three do not fit into 63 bits together.  The text names the one that is too large. */
struct vesta_fit_need {
    double rate;      /* ids per second that one node must be able to issue, > 0 */
    uint64_t nodes;   /* nodes that run at the same time, >= 1 */
    double years;     /* how long the time field must last after epoch_ms, > 0 */
    int64_t epoch_ms; /* Unix milliseconds of time 0 */
};
struct vesta_proposal {
    struct vesta_layout layout;
    double rate_max; /* ids per second per node */
    uint64_t nodes_max;
    double years_max;
    int64_t end_ms;
};
VESTA_API int vesta_fit(const struct vesta_fit_need *need, struct vesta_proposal *out, struct vesta_error *err);

/* Decides whether an id can belong to both of two layouts.  The answer is exact, assuming that every value of a field
 * that is not constant can occur.  Returns out->by.  Threads: any. */
struct vesta_made {
    const struct vesta_layout *layout;
    int64_t from_ms, until_ms; /* only ids whose time unit overlaps this interval. INT64_MIN, INT64_MAX: all ids */
};
enum vesta_disjoint { VESTA_COLLIDE, VESTA_DISJOINT_BITS /* by a constant bit */, VESTA_DISJOINT_TIMES };
struct vesta_proof {
    enum vesta_disjoint by;
    uint64_t id;  /* VESTA_COLLIDE: the smallest id that both layouts can make */
    int bit;      /* VESTA_DISJOINT_BITS: the highest constant bit that differs */
    int field[2]; /* VESTA_DISJOINT_BITS: the index of the field with this bit, in each layout */
};
VESTA_API int vesta_layout_prove(const struct vesta_made *a, const struct vesta_made *b, struct vesta_proof *out);

/* ------------------------------------------------------------------ text */

enum vesta_base { VESTA_DECIMAL, VESTA_HEX, VESTA_BASE32 /* Crockford's */, VESTA_BASE62 };

/* Writes an id as text.  Decimal is unsigned.  Hex has 16 digits, base32 has 13 and base62 has 11.  Hex, base32 and
 * base62 are padded with zeros, so that the strings sort like the ids.
 * Shape: buf of VESTA_FORMAT_MAX bytes, returns the length without the NUL.  Threads: any. */
VESTA_API size_t vesta_format(enum vesta_base base, uint64_t id, char *buf);

/* Parses an id, which must consist of digits of that base and not exceed 64 bits.  Leading zeros are accepted.  Base32
 * accepts lower case, O for 0, and I and L for 1 (Crockford).  Threads: any.
 * Errors: VESTA_EID. */
VESTA_API int vesta_parse(enum vesta_base base, const char *text, size_t length, uint64_t *id);

/* Writes Unix milliseconds as RFC 3339 in UTC, without a fraction if it is 0.
 * Shape: buf of VESTA_ISO_MAX bytes, returns the length without the NUL.  Threads: any. */
VESTA_API size_t vesta_iso(int64_t unix_ms, char *buf);

/* Parses RFC 3339 or Unix milliseconds.  Threads: any.  Errors: VESTA_EFIELD. */
VESTA_API int vesta_time_parse(const char *text, int64_t *unix_ms, struct vesta_error *err);

/* ------------------------------------------------------------------ generators
 *
 * A generator file stores the generator's layout and options.  Its state is in a *map*, a file of shared memory in
 * /dev/shm, or in $VESTA_MAPS as set when the generator file was created.  All processes that open the same path share
 * one cursor.  So forks, nginx workers and reloads need no special handling, and after kill -9 the next process
 * continues at the exact tick.
 */

struct vesta_gen;

enum vesta_why {
    VESTA_FULL = 1,    /* the sequence of this time unit is exhausted */
    VESTA_CLOCK_BACK,  /* the clock went back: it is earlier than a time that was read before */
    VESTA_CLOCK_AHEAD, /* the clock jumped forward compared to CLOCK_BOOTTIME, and the jump is not confirmed yet */
    VESTA_AHEAD,       /* the cursor is ahead of the clock (at a lease's start, or after borrowing) */
    VESTA_LEASE,       /* no lease is held, or its ticks are exhausted. The keeper must claim or renew */
    VESTA_CHOOSE,      /* a policy of this process must choose a worker id: vesta_choose */
    VESTA_END,         /* the layout's time has ended */
    VESTA_CLOSED,      /* the map is full or was removed. vesta_keep moves the handle to the next map */
    VESTA_FAILSTOP,    /* the store lost confirmed writes or contradicts a granted lease: an operator must act */
    VESTA_RANGE        /* a segment has no range (or a client no block) at present, and is fetching one */
};

struct vesta_pause {
    enum vesta_why why;
    uint32_t slot;        /* the slot that paused, to which a verdict applies */
    uint64_t ahead_ticks; /* how far the cursor is ahead of the clock */
    int64_t back_us;      /* how far the clock is behind the latest time read, or 0 */
    int64_t wait_us;      /* how long to wait before the next attempt. -1: waiting will not help */
};

/* Returns the name of a reason: "full", "clock_back", "clock_ahead", "ahead", "lease", "choose", "epoch_end", "closed",
 * "failstop" or "range".  Never NULL. */
VESTA_API const char *vesta_why_name(enum vesta_why why);

/* The clock that a generator reads.  If the option `clock` is NULL, the generator reads the machine's clock.  In this
 * case an id may have a time unit that ended up to 10 ms ago. */
struct vesta_clock {
    void *self;
    int64_t (*unix_us)(void *self); /* CLOCK_REALTIME, microseconds */
    int64_t (*boot_us)(void *self); /* CLOCK_BOOTTIME, microseconds: monotonic, and counts suspend */
    void (*sleep_us)(void *self, int64_t us);
};

/* Opens the generator of a path, and creates it if needed.  <state> is $VESTA_STATE, else /var/lib/vesta if writable,
 * else ${XDG_STATE_HOME:-~/.local/state}/vesta.  All handles of a process on the same file share one mapping.  This
 * call claims no lease: the first vesta_next pauses with VESTA_LEASE and wakes the keeper.
 * Threads: any.  Own: close with vesta_close.
 *
 * Errors: VESTA_EFIELD, VESTA_EIO, VESTA_ENOMEM, and
 *
 *     VESTA_ELAYOUT    the layout is invalid, its ids can only be read, or its epoch is in the future
 *     VESTA_EOPTION    an option is wrong, opts was not set with VESTA_OPTS_INIT, or an option needs a newer library
 *     VESTA_ENOGEN     the file does not exist, and none of worker, any_worker and store is set
 *     VESTA_EMISMATCH  the file exists, with different values
 *     VESTA_EEPOCH     the layout's time has ended */
VESTA_API int vesta_open(const struct vesta_opts *opts, struct vesta_gen **gen, struct vesta_error *err);

/* Like vesta_open, with options as a string, for other languages: "layout=vesta-milli worker=7".  The names are those
 * in vesta_options.h ("namespace" without underscore) and unsafe_private.  Quote a value with spaces as '...' or
 * "...".  The values of switches are true and false.  Threads, Own, Errors: as vesta_open. */
VESTA_API int vesta_open_text(const char *options, struct vesta_gen **gen, struct vesta_error *err);

/* Closes this handle only.  The lease remains, for other handles and for the next start.  gen may be NULL.
 * Threads: no other call on this handle may run at the same time or follow. */
VESTA_API void vesta_close(struct vesta_gen *gen);

/* Issues one id.  Never sleeps, blocks, locks, allocates, calls back or enters the kernel (it reads the clock through
 * the vdso).  Threads: any, also after fork() in parent and child.
 * Errors: VESTA_EPAUSE, *id unchanged. */
VESTA_API int vesta_next(struct vesta_gen *gen, uint64_t *id, struct vesta_pause *pause);

/* Issues up to n ids with contiguous ticks in one step.  Issues at least one id, or returns a pause.
 * Shape: ids[0..*got), n >= 1.  The ids ascend if their fields above the time are equal.  Threads: any.
 * Errors: VESTA_EPAUSE. */
VESTA_API int vesta_next_n(struct vesta_gen *gen, uint64_t *ids, size_t n, size_t *got, struct vesta_pause *pause);

/* A range of ticks from which the receiver composes ids.  Id i has the tick first + i.  Its time is the tick shifted
 * right by the width of seq, and its sequence is the bits that this removes.  `base` has all other fields. */
struct vesta_block {
    uint64_t base, first, count;
};

/* Takes up to n contiguous ticks in one step, like vesta_next_n, but composes no ids.  The ticks count as issued, even
 * if the caller never composes the ids.
 * Shape: n must be at least 1.  out->count is between 1 and n.  Threads: any.
 * Errors: VESTA_EPAUSE. */
VESTA_API int vesta_next_block(struct vesta_gen *gen, uint64_t n, struct vesta_block *out, struct vesta_pause *pause);

/* Returns the i-th id of a block, i < block->count.  `layout` is that of the generator that issued the block.  Threads:
 * any. */
VESTA_API uint64_t vesta_block_id(const struct vesta_layout *layout, const struct vesta_block *block, uint64_t i);

/* Like vesta_next, but waits during pauses, for up to wait_us_max in total.  It sleeps, and spins only for the last
 * microseconds.  It starts this process's keeper, and wakes the keeper if a lease is needed.  Threads: any.  May block.
 * Errors: VESTA_EPAUSE with the last pause. */
VESTA_API int vesta_next_wait(struct vesta_gen *gen, uint64_t *id, int64_t wait_us_max, struct vesta_pause *pause);

/* Issues exactly n ids, or fails.  Waits like vesta_next_wait.  If a pause makes the call fail, the ids already taken
 * are lost and are never issued.  Shape: ids[0..n).  Threads: any.  May block.  Errors: VESTA_EPAUSE. */
VESTA_API int vesta_batch_wait(struct vesta_gen *gen, uint64_t *ids, size_t n, int64_t wait_us_max,
                               struct vesta_pause *pause);

/* Returns the result that vesta_next would return now, without issuing an id or moving the cursor.
 * Shape: *pause is set with VESTA_EPAUSE only.  Threads: any.  Errors: VESTA_EPAUSE. */
VESTA_API int vesta_peek(struct vesta_gen *gen, struct vesta_pause *pause);

/* Returns how many ids can be issued now without a pause, or 0.  It is exact for this instant: other threads and
 * processes take ids from the same generator, and the clock permits more as it moves on.  Threads: any. */
VESTA_API uint64_t vesta_room(struct vesta_gen *gen);

/* Describes a pause in one sentence, with the keeper's last report.  Shape: buf[0..size).  Threads: any. */
VESTA_API void vesta_pause_text(struct vesta_gen *gen, const struct vesta_pause *pause, char *buf, size_t size);

/* ------------------------------------------------------------------ verdicts: how a policy may answer a pause */

/* Lets the slot that paused issue ticks up to `tick` (exclusive), but never past its lease.  Has no effect if another
 * slot is active now.  The verdict expires after VESTA_VERDICT_MS.  From then on, the slot pauses again unless the
 * clock has caught up, and the next verdict replaces the expired one.  A verdict that is given before the previous one
 * has expired extends its time, and the higher tick of the two applies.
 * Threads: any.  Errors: VESTA_ENOTNOW if the pause is not about a slot of this generator. */
VESTA_API int vesta_allow_ahead(struct vesta_gen *gen, const struct vesta_pause *pause, uint64_t tick);

/* Like vesta_allow_ahead, but measured in time: the slot may run up to `ahead_ms` past the latest time read.  If the
 * clock went back, this time is later than the clock.  A second call does not borrow additional time.  If ahead_ms < 0,
 * the slot may run as far as the clock is behind, plus one time unit.  ahead_ms is limited to VESTA_BORROW_MS_MAX.
 * Threads: any.
 * Errors: VESTA_ENOTNOW if the pause is not about a slot of this generator. */
VESTA_API int vesta_borrow(struct vesta_gen *gen, const struct vesta_pause *pause, int64_t ahead_ms);

/* Asks the file's keeper to replace the worker id of the slot that paused because the clock is behind its ids.  Has no
 * effect if another slot is active now.  Until the keeper has decided, calls pause with VESTA_LEASE or VESTA_CHOOSE.
 * If another worker id can issue ids at once, the keeper releases the old worker id and claims the new one.  Otherwise
 * it keeps the old one, which still pauses.  The new worker id's ids begin at the present clock: they may sort before
 * earlier ids, but do not repeat any.
 * Threads: any.  Errors: VESTA_ENOTNOW if the last such request was less than a minute ago, or the pause is not about a
 * slot of this generator.  VESTA_EOPTION if the worker id was set by hand, or the generator is private. */
VESTA_API int vesta_switch(struct vesta_gen *gen, const struct vesta_pause *pause);

/* ------------------------------------------------------------------ choosing a worker id
 *
 * If a process has a handle with VESTA_CHOOSES, its keeper does not choose a worker id.  Instead, calls pause with
 * VESTA_CHOOSE, vesta_get_choice returns the store's records, and vesta_choose answers the keeper's question.  The
 * answer is a hint: the store decides whether the claim succeeds.  If another process wins the claim, the keeper asks
 * again with new records.  It also repeats its question after five seconds without an answer.  If the file's keeper
 * runs in another process, that process chooses. */

/* A worker id as recorded in the store. */
struct vesta_record {
    uint64_t worker, epoch;
    int held;           /* 1: it is leased */
    int expired;        /* 1: it is leased, but its holder has not renewed it for longer than the lease */
    int64_t until_ms;   /* Unix milliseconds: no id with this worker id has a later time */
    int64_t written_ms; /* the time of the last write, by the store's clock */
    int64_t seen_ms;    /* the time of the last write, by the holder's clock */
    char holder[128], identity[256];
};

/* The question that vesta_choose answers. */
struct vesta_choice {
    unsigned attempt; /* 1 + the number of claims that other processes won since the keeper first asked */
    int is_fixed;     /* 1: the worker id was set by hand. Choose it, or call vesta_choose_none */
    int was_lost;     /* 1: this generator held `lost`, and another process holds it now */
    uint64_t lost;
    int is_switch; /* 1: vesta_switch asked to replace `leaving`, which is still held. Choose `leaving` to keep it */
    uint64_t leaving;
    uint64_t first, last; /* the lowest and highest worker id of the layout */
    int64_t store_ms;     /* Unix milliseconds of the store's clock when the records were read */
    size_t count;
    struct vesta_record *record; /* ascending by worker. A worker id that was never claimed has no record */
};

/* Returns the question that this process's keeper is asking.  Own: free with vesta_choice_free.  Threads: any, may
 * block for a moment.  Errors: VESTA_ENOTNOW if the keeper is not asking, VESTA_ENOMEM. */
VESTA_API int vesta_get_choice(struct vesta_gen *gen, struct vesta_choice **choice, struct vesta_error *err);
VESTA_API void vesta_choice_free(struct vesta_choice *choice); /* may be NULL */

/* Answers a VESTA_CHOOSE pause: the keeper claims this worker id.  With VESTA_ANY_WORKER the keeper chooses as it does
 * without VESTA_CHOOSES.  Threads: any.
 * Errors: VESTA_EFIELD if the layout has no such worker id.  VESTA_ENOTNOW if the keeper is not asking (any more). */
#define VESTA_ANY_WORKER UINT64_MAX
VESTA_API int vesta_choose(struct vesta_gen *gen, const struct vesta_pause *pause, uint64_t worker);

/* Like vesta_choose, for a worker id that is derived from this generator's configuration or host name.  Its leases are
 * as short as for a worker id set by hand, so a process that is killed and restarts without its file gets the worker id
 * back soon. */
VESTA_API int vesta_choose_fixed(struct vesta_gen *gen, const struct vesta_pause *pause, uint64_t worker);

/* Answers a VESTA_CHOOSE pause: the keeper does not claim a worker id now.  `reason` is a human-readable explanation.
 * The keeper asks again after a second. */
VESTA_API int vesta_choose_none(struct vesta_gen *gen, const struct vesta_pause *pause, const char *reason);

/* ------------------------------------------------------------------ keeping */

/* Starts or wakes this process's keeper.  vesta_next_wait calls this itself.  If your program calls only vesta_next,
 * call this at the start, after fork() in the child, and after each VESTA_LEASE or VESTA_CLOSED pause.  It is cheap: a
 * lock and a futex wake.  A few threads keep all generators of a process, and they block all signals but SIGBUS. If
 * several processes of the host use the file, one of them is elected to run its keeper.  A handle that does not start a
 * keeper wakes the keeper in that process.  Threads: any.
 * Errors: VESTA_EIO, VESTA_ENOMEM, VESTA_EOPTION if the generator is private. */
VESTA_API int vesta_keep(struct vesta_gen *gen);

/* Releases the lease: closes the slot at its exact cursor, and releases the worker id in the store.  If other processes
 * have the file open, it only stops this process's keeper, and the keeper of another process takes over.  Later calls
 * for ids need a new claim.  Threads: any.  May block on the store.
 * Errors: VESTA_EIO if the store did not release the worker id.  The text states how long other processes must wait for
 * it.  VESTA_EOPTION if this handle does not start a keeper, because the file's keeper runs in another process. */
VESTA_API int vesta_release(struct vesta_gen *gen, struct vesta_error *err);

/* Ends the lease on this host at once, without releasing it in the store.  No id is issued until the keeper has claimed
 * again, which needs the store.  Use it if no id may be issued while the store is unreachable.  Threads: any.
 * Errors: VESTA_EOPTION for a private generator. */
VESTA_API int vesta_drop(struct vesta_gen *gen);

/* Call this before you copy the memory of this machine or container (a VM snapshot, a checkpoint).  It ends the lease
 * and the keeper's work, and prevents all keepers from claiming until an id is requested.  Each copy then claims a
 * lease of its own, and these leases cannot overlap.  Request no id before the copy is made, because the request would
 * cause a claim.  Ids that the program already has (batches, blocks, the result of a call that is returning) are copied
 * with it.
 *
 * A claim is identified by a token of 16 bytes from getrandom(2), drawn when the claim begins, which is after the copy.
 * If two copies drew the same token, each would take the other's lease for its own, and both would issue the same ids.
 * So their kernels must return different bytes:
 *
 *     a checkpoint  is safe, because no kernel is copied
 *     a clone of a  is safe at once if the hypervisor sets a generation id (vmgenid, Linux 5.18 and later).  Otherwise
 *     VM            request no id in any clone until its kernel has added fresh entropy, which takes up to a minute
 *
 * Threads: any, blocks until the keeper of this file is idle, in whichever process it runs.
 * Errors: VESTA_EIO if that takes longer than 15 s: then do not copy.  VESTA_EOPTION for a private generator, and for a
 * handle that does not start a keeper. */
VESTA_API int vesta_prepare_snapshot(struct vesta_gen *gen, struct vesta_error *err);

/* The current state of a generator. */
struct vesta_info {
    struct vesta_layout layout;
    char namespace_[VESTA_NAMESPACE_MAX];
    const char *path, *store, *lease, *identity; /* the values in use, "" if there is none. The URI's password is *** */
    /* The keeper's state: "claiming", "active", "renewing", "suspect", "drained", "fenced" or "failstop".  Whether ids
     * can be issued depends on the lease, not on this state. */
    const char *state;
    enum vesta_pacing pacing;
    int64_t ahead_ms_max;
    int holds_lease; /* 1: `worker`, `tick` and `limit` are valid */
    int drew_worker; /* 1: this process drew the worker id at random */
    uint64_t worker;
    uint64_t tick, limit; /* the next tick, and the end of the lease (exclusive) */
    uint32_t slot, slots_used;
    int64_t lease_end_ms;   /* Unix ms at which issuing stops unless the lease is renewed. Idle holders renew rarely */
    int64_t clock_drift_us; /* how far CLOCK_REALTIME moved against CLOCK_BOOTTIME since the last confirmation */
    struct {
        uint64_t ok, conflict, refused, down, unknown;
    } renewals;        /* counts over all leases of this file, by the store's answer */
    char keeper[192];  /* the keeper's last report, "" if there is none */
    char warning[256]; /* for example that the layout's time ends within a year. "" if there is none */
};
VESTA_API void vesta_get_info(struct vesta_gen *gen, struct vesta_info *out);

/* The handle's layout, valid as long as the handle.  Threads: any. */
VESTA_API const struct vesta_layout *vesta_gen_layout(const struct vesta_gen *gen);

#ifdef __cplusplus
}
#endif

#include "vesta_past.h"    /* ids of past times, for imports */
#include "vesta_plain.h"   /* functions without structs, for FFIs */
#include "vesta_segment.h" /* counters, whose numbers a database grants */
#endif
