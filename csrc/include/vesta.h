/* vesta.h -- 64-bit ids that never repeat, sort by time, can be read back and can be made by hand.
 *
 * This header is the manual of the library.  Every id comes from a range that was granted once:
 * a store grants a worker number and a range of its ticks to a process (a lease), the generator grants
 * the next tick to a caller.  Two grants never overlap, so ids are unique whatever clocks do.
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
 * Words: a *layout* says what the 64 bits mean.  A *tick* is time << seq_bits | seq, one number that only grows.
 * A *worker* is the leased number in the id.  A *pause* is the answer of a generator that has no id to give now.
 *
 * Conventions: functions return VESTA_OK (0) or a negative enum vesta_code; the result comes last and is set only
 * on success.  `err` may be NULL.  Texts are UTF-8 and NUL-terminated.  Names end in their unit (_ms, _us).
 * The library prints nothing, never exits and installs no signal handler.  Once loaded it stays in the process: its
 * threads may outlive the handle of dlopen, and dlclose unloads nothing. 
 */
#ifndef VESTA_H
#define VESTA_H

#include "vesta_options.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_VERSION "0.1.0"
#define VESTA_API __attribute__((visibility("default")))

/* ------------------------------------------------------------------ limits */

#define VESTA_BATCH_MAX 10000            /* ids in one batch, in C, Lua, HTTP and RESP */
#define VESTA_FIELDS_MAX 16              /* fields of a layout */
#define VESTA_NAME_MAX 16                /* a field's name, with its NUL */
#define VESTA_NAMESPACE_MAX 65           /* a namespace: [A-Za-z0-9_.:-]{1,64}, with its NUL */
#define VESTA_LAYOUT_TEXT_MAX 512        /* a layout as canonical text, with its NUL */
#define VESTA_FORMAT_MAX 24              /* an id in any text form, with its NUL */
#define VESTA_ISO_MAX 32                 /* an RFC 3339 time, with its NUL */
#define VESTA_BORROW_MS_MAX 60000        /* how far a verdict may let ids run ahead of the time */
#define VESTA_VERDICT_MS 1000            /* how long it lets them do so, until it is given again */
#define VESTA_VALUE_MAX 9007199254740991 /* of a field: none is wider than 53 bits */

/* ------------------------------------------------------------------ errors */

/* What failed; each has one meaning, wherever it is returned, and a name that never changes. */
enum vesta_code {
    VESTA_OK = 0,
    VESTA_EPAUSE = -1,    /* pause: no id at the moment; struct vesta_pause says why and for how long */
    VESTA_ELAYOUT = -2,   /* bad_layout: a layout text that is invalid, or a preset that does not exist */
    VESTA_EFIELD = -3,    /* bad_field: a field's value is missing, too large, unknown or another constant */
    VESTA_EID = -4,       /* bad_id: not an id of this layout, or not an id at all */
    VESTA_EMISMATCH = -5, /* mismatch: the existing file or namespace differs; both values are named */
    VESTA_ENOGEN = -6,    /* no_generator: no generator file, and too few options to create one */
    VESTA_ECLOSED = -7,   /* closed: the handle was closed (in languages where that does not crash) */
    VESTA_EEPOCH = -8,    /* epoch_end: a time outside those that the layout can hold */
    VESTA_ENAME = -9,     /* unknown_name: there is no policy of that name */
    VESTA_EOPTION = -10, /* bad_option: an option that is wrong, or cannot be combined with another or with this call */
    VESTA_EIO = -11,     /* io: the system or the store refused; its message is in the text */
    VESTA_ENOMEM = -12,  /* no_memory: malloc failed */
    VESTA_EFULL = -13,   /* too_many: the answer is larger than what the caller has room for */
    VESTA_ENOTNOW = -14  /* not_now: what the call is about is over, or does not exist yet; nothing was changed */
};

/* What went wrong, as a sentence that names the value and, if there is one, the remedy. */
struct vesta_error {
    int code; /* enum vesta_code */
    char text[512];
};

/* The stable name of a code: "bad_layout" for VESTA_ELAYOUT.  Never NULL.  Threads: any. */
VESTA_API const char *vesta_code_name(int code);

/* ------------------------------------------------------------------ layouts
 *
 * A layout is written as text, from the highest bit to the lowest:
 *
 *     version:1 type:1=1 method:2 time:40 seq:10 machine:10 unit=1ms epoch=2014-12-31T16:00:00Z
 *
 * `name:width` or `name:width=constant`; `time` once, `seq` at most once: without it there is one id in a time unit; no
 * field wider than 53; the widths add up to 64 (63 gets a leading sign:1=0).  Of a layout with a time and a sequence of
 * more than 62 bits together ids can be read, and none issued.  The leased field is called `worker` or `machine`.
 * A sequence may have two parts below the time: `time:41 seq:8 worker:13 seq:1` is one of 9 bits, of which the
 * lowest is below the worker.
 * `unit` is 1us to 1s, a whole part of a second: 10us, 1ms, 5ms, 100ms; `epoch` is RFC 3339 or Unix milliseconds;
 * `seq_start=spread:N` starts the sequence of a new time unit at hash(time, worker) % N, and needs the sequence, or its
 * second part, to be lowest.  A preset's name may come first, followed by overrides: `uid epoch=2026-01-01T00:00:00Z`,
 * `uid time:29 worker:21`.
 */

struct vesta_field {
    char name[VESTA_NAME_MAX];
    uint8_t width; /* bits, 1 to 53; of a sequence in two parts those of both */
    uint8_t shift; /* the field's lowest bit, 0 to 63; of a sequence in two parts that of its upper one */
    uint8_t fixed; /* 1: written as name:width=constant, only `value` is possible */
    uint8_t low_width, low_shift; /* a sequence in two parts: its low bits are here; else 0 */
    uint64_t value;               /* the constant; 0 for a field that is not fixed */
    uint64_t max;                 /* (1 << width) - 1 */
};

/* A layout is plain data: copy it freely, share it between threads.  Made by vesta_layout_parse only. */
struct vesta_layout {
    struct vesta_field field[VESTA_FIELDS_MAX]; /* from the highest bit to the lowest */
    int field_count;
    int time, seq, worker; /* indexes into field; seq is -1 if there is none, worker if no field is leased */
    int64_t epoch_ms;      /* Unix milliseconds of time 0 */
    int32_t unit_us;       /* microseconds, 1 to 1000000; a second is a multiple */
    uint32_t spread;       /* seq_start=spread:N; 0: the sequence starts at 0 */
    uint64_t fingerprint;  /* of names, widths, order, unit and epoch; not of constants or spread */
    const char *read_only; /* why no ids may be issued under it, only read and made by hand; NULL: they may */
};

/* Reads a layout or preset text.  Threads: any.  Errors: VESTA_ELAYOUT, naming the part that is wrong. */
VESTA_API int vesta_layout_parse(const char *text, struct vesta_layout *out, struct vesta_error *err);

/* Writes the canonical text; parsing it gives the same layout, and writing that the same text.
 * Shape: buf of VESTA_LAYOUT_TEXT_MAX bytes; returns the length without the NUL.  Threads: any. */
VESTA_API size_t vesta_layout_text(const struct vesta_layout *layout, char *buf);

/* The first unusable instant, in Unix milliseconds, rounded up.  Threads: any. */
VESTA_API int64_t vesta_layout_end_ms(const struct vesta_layout *layout);

/* The index of a field by name, or -1.  `worker` and `machine` both name the leased field.  Threads: any. */
VESTA_API int vesta_layout_find(const struct vesta_layout *layout, const char *name);

/* The i-th preset, or NULL behind the last: name, layout text, one line about it, the address of its description; and
 * whether ids may be issued under it, with what to mind, or why they can only be read.  Threads: any. */
struct vesta_preset {
    const char *name, *text, *about, *source;
    int may_issue; /* 0: a generator is refused under this name; who writes out the fields is not */
    const char *why;
};
VESTA_API const struct vesta_preset *vesta_preset_at(int i);

/* ------------------------------------------------------------------ ids */

/* What an id says.  values[] follows layout->field[]. */
struct vesta_parts {
    uint64_t values[VESTA_FIELDS_MAX];
    uint64_t time, seq, worker; /* seq is 0 where there is none, worker where no field is leased */
    int64_t unix_ms;            /* when the id's time unit began, rounded down */
};

/* Joins values (in the order of layout->field) into an id.  Threads: any.
 * Errors: VESTA_EFIELD names the field, the value and its maximum, or the constant it must have. */
VESTA_API int vesta_compose(const struct vesta_layout *layout, const uint64_t *values, uint64_t *id,
                            struct vesta_error *err);

/* Takes an id apart; the exact inverse of vesta_compose.  Threads: any.
 * Errors: VESTA_EID where a fixed field has another value: another layout made this id. */
VESTA_API int vesta_explain(const struct vesta_layout *layout, uint64_t id, struct vesta_parts *out,
                            struct vesta_error *err);

struct vesta_value {
    const char *name;
    uint64_t value;
};

/* Makes an id by hand from named values.  `time`, `seq` and the leased field (by its own name, or as `worker`) are
 * needed where the layout has them, other fields are 0 or their constant unless given.  Not a grant: nobody else is
 * kept from the same id. Threads: any.  Errors: VESTA_EFIELD names the field that is missing, unknown, given twice or
 * too large. */
VESTA_API int vesta_make(const struct vesta_layout *layout, const struct vesta_value *given, size_t count, uint64_t *id,
                         struct vesta_error *err);

/* The smallest and largest id of [from_ms, until_ms): ids sort by time within equal higher fields, so there is one
 * pair per combination of the fields above `time` that `given` does not name and the layout does not fix.
 * until_ms == from_ms means every unit with a part of that millisecond: one, unless units are finer or end within it.
 * Shape: pairs->pair[0..count), count set on success only; an id x of the interval has min <= x <= max of one pair.
 * Threads: any.  Errors: VESTA_EFULL when more than max pairs are needed (the text says how many, and which fields to
 * name); VESTA_EEPOCH when the interval lies outside the layout's time; VESTA_EFIELD. */
struct vesta_interval {
    int64_t from_ms, until_ms;
    const struct vesta_value *given;
    size_t given_count;
};
struct vesta_pair {
    uint64_t min, max;
};
struct vesta_pairs {
    struct vesta_pair *pair; /* the caller's room, */
    size_t max;              /* for so many */
    size_t count;            /* so many were found */
};
VESTA_API int vesta_range(const struct vesta_layout *layout, const struct vesta_interval *interval,
                          struct vesta_pairs *pairs, struct vesta_error *err);

/* Which presets could have made an id by now_ms: the likeliest first, and beside it those that find the time in the
 * same bits.  An id carries no marker of its layout: a late time and a low sequence speak for one, and prove nothing.
 * Shape: out[0..return value), at most max.  Threads: any. */
struct vesta_candidate {
    const struct vesta_preset *preset;
    struct vesta_parts parts;
};
VESTA_API size_t vesta_guess(uint64_t id, int64_t now_ms, struct vesta_candidate *out, size_t max);

/* Proposes a layout for a need.  Threads: any.
 * Errors: VESTA_EFIELD when 63 bits cannot hold the need; the text says which part is too much. */
struct vesta_fit_need {
    double rate;      /* ids per second that one node must be able to give, > 0 */
    uint64_t nodes;   /* workers alive at a time, >= 1 */
    double years;     /* how long the time field must last from epoch_ms on, > 0 */
    int64_t epoch_ms; /* when time 0 is */
};
struct vesta_proposal {
    struct vesta_layout layout;
    double rate_max; /* ids per second and node */
    uint64_t nodes_max;
    double years_max;
    int64_t end_ms;
};
VESTA_API int vesta_fit(const struct vesta_fit_need *need, struct vesta_proposal *out, struct vesta_error *err);

/* Whether an id of one layout can be equal to one of another: exactly, by what the texts say.  Every worker, sequence
 * and value of a field that is not constant counts as possible.  Returns out->by.  Threads: any. */
struct vesta_made {
    const struct vesta_layout *layout;
    int64_t from_ms, until_ms; /* ids whose time unit overlaps [from_ms, until_ms); INT64_MIN, INT64_MAX: all */
};
enum vesta_disjoint { VESTA_COLLIDE, VESTA_DISJOINT_BITS /* by a constant bit */, VESTA_DISJOINT_TIMES };
struct vesta_proof {
    enum vesta_disjoint by;
    uint64_t id;       /* COLLIDE: the smallest that both can make */
    int bit, field[2]; /* DISJOINT_BITS: the highest that differs, and the index of the constant field that has it */
};
VESTA_API int vesta_layout_prove(const struct vesta_made *a, const struct vesta_made *b, struct vesta_proof *out);

/* ------------------------------------------------------------------ text */

enum vesta_base { VESTA_DECIMAL, VESTA_HEX, VESTA_BASE32 /* Crockford's */, VESTA_BASE62 };

/* Writes an id.  Decimal is unsigned; hex has 16 digits, base32 13 and base62 11, zero-padded so that texts sort as
 * ids do.  Shape: buf of VESTA_FORMAT_MAX bytes; returns the length without the NUL.  Threads: any. */
VESTA_API size_t vesta_format(enum vesta_base base, uint64_t id, char *buf);

/* Reads an id: digits of that base only, no sign, no space, no overflow; leading zeros are accepted.  Base32 reads
 * lower case, and O as 0, I and L as 1 (Crockford).  Threads: any.  Errors: VESTA_EID. */
VESTA_API int vesta_parse(enum vesta_base base, const char *text, size_t length, uint64_t *id);

/* Writes Unix milliseconds as RFC 3339 in UTC, milliseconds only where they are not 0.
 * Shape: buf of VESTA_ISO_MAX bytes; returns the length.  Threads: any. */
VESTA_API size_t vesta_iso(int64_t unix_ms, char *buf);

/* Reads RFC 3339 or Unix milliseconds.  Threads: any.  Errors: VESTA_EFIELD. */
VESTA_API int vesta_time_parse(const char *text, int64_t *unix_ms, struct vesta_error *err);

/* ------------------------------------------------------------------ generators
 *
 * A generator file says what a generator is; all its mutable words live in shared memory, in a map that the file names
 * by a key (/dev/shm, or $VESTA_MAPS where the file is made).  Every process that opens the same path shares one
 * cursor, so forks, nginx workers and reloads need no care, and kill -9 leaves an exact cursor behind.
 */

struct vesta_gen;

enum vesta_why {
    VESTA_FULL = 1,    /* the time unit's sequence is used up */
    VESTA_CLOCK_BACK,  /* the clock is behind a time already seen */
    VESTA_CLOCK_AHEAD, /* the clock jumped forward against the machine's uptime and is not confirmed yet */
    VESTA_AHEAD,       /* the cursor is ahead of the clock (a lease's start, borrowed ticks) */
    VESTA_LEASE,       /* no lease is held, or its range is used up; the keeper is asked for more */
    VESTA_CHOOSE,      /* a policy of this process must pick a worker: vesta_choose */
    VESTA_END,         /* the layout's time is over */
    VESTA_CLOSED,      /* the map is used up, or was removed; vesta_keep moves the handle to the next one */
    VESTA_FAILSTOP,    /* the store went back or denies what it granted: an operator must act */
    VESTA_RANGE        /* no range, or block, is here just now; one is being fetched */
};

struct vesta_pause {
    enum vesta_why why;
    uint32_t slot;        /* the slot that paused; a verdict applies to it alone */
    uint64_t ahead_ticks; /* how far the cursor is ahead of the clock */
    int64_t back_us;      /* how far the clock is behind what was seen; 0 if it is not */
    int64_t wait_us;      /* when to try again; -1: waiting will not help */
};

/* "full", "clock_back", "clock_ahead", "ahead", "lease", "choose", "epoch_end", "closed", "failstop", "range".
 * Never NULL. */
VESTA_API const char *vesta_why_name(enum vesta_why why);

/* The clock that a generator reads; NULL: the machine's, by which a layout's second may go on 10 ms past its end. */
struct vesta_clock {
    void *self;
    int64_t (*unix_us)(void *self); /* CLOCK_REALTIME, microseconds */
    int64_t (*boot_us)(void *self); /* CLOCK_BOOTTIME, microseconds: monotonic, counts suspend */
    void (*sleep_us)(void *self, int64_t us);
};

/* Opens, or creates, the generator of a path.  <state> is $VESTA_STATE, else /var/lib/vesta if writable, else
 * ${XDG_STATE_HOME:-~/.local/state}/vesta.  Two opens of one file in a process share one mapping.  No lease is
 * claimed yet: the first vesta_next says VESTA_LEASE and wakes the keeper.
 * Threads: any.  Own: close with vesta_close.
 * Errors: VESTA_ELAYOUT, VESTA_EOPTION (also if opts was not initialized with VESTA_OPTS_INIT, or sets an option that
 * only a newer library knows), VESTA_EFIELD; VESTA_ENOGEN: no file, and no worker, any_worker or store given;
 * VESTA_EMISMATCH; VESTA_EEPOCH; VESTA_EIO; VESTA_ENOMEM. */
VESTA_API int vesta_open(const struct vesta_opts *opts, struct vesta_gen **gen, struct vesta_error *err);

/* The same from a text of NAME=VALUE, for languages that have no struct for it: "layout=vesta-milli worker=7".  Names
 * are those of the options in vesta_options.h, "namespace" without its underscore, and unsafe_private.  A value with
 * spaces is quoted by '...' or "..."; switches are true or false.  Threads, Own, Errors: as vesta_open. */
VESTA_API int vesta_open_text(const char *options, struct vesta_gen **gen, struct vesta_error *err);

/* Unmaps this handle only; the lease stays held for other handles and for the next start.  gen may be NULL.
 * Threads: no other call on this handle may run or follow. */
VESTA_API void vesta_close(struct vesta_gen *gen);

/* Gives one id.  Never sleeps, blocks, locks, allocates, calls back or enters the kernel (the clock is the vdso's).
 * Threads: any; after fork() in parent and child.  Errors: VESTA_EPAUSE, *id untouched. */
VESTA_API int vesta_next(struct vesta_gen *gen, uint64_t *id, struct vesta_pause *pause);

/* Gives up to n ids of contiguous ticks in one step: at least one, or a pause.
 * Shape: ids[0..*got) ascending within equal higher fields; n >= 1.  Threads: any.  Errors: VESTA_EPAUSE. */
VESTA_API int vesta_next_n(struct vesta_gen *gen, uint64_t *ids, size_t n, size_t *got, struct vesta_pause *pause);

/* A range of ticks that was handed out as a whole, for the receiver to compose ids from: id i has the tick first + i,
 * of which the time is (first + i) >> bits of seq, and the sequence the bits below; `base` has all other fields in
 * place. */
struct vesta_block {
    uint64_t base, first, count;
};

/* Takes up to n contiguous ticks in one step, as vesta_next_n does, and composes nothing: they are given, whether an
 * id is ever made of them or not.  Shape: out->count is 1 to n; n >= 1.  Threads: any.  Errors: VESTA_EPAUSE. */
VESTA_API int vesta_next_block(struct vesta_gen *gen, uint64_t n, struct vesta_block *out, struct vesta_pause *pause);

/* The i-th id of a block, i < block->count; the layout is that of the generator that gave it.  Threads: any. */
VESTA_API uint64_t vesta_block_id(const struct vesta_layout *layout, const struct vesta_block *block, uint64_t i);

/* As vesta_next, but sleeps through pauses for up to wait_us_max in all, spinning only the last microseconds.  Starts
 * this process's keeper, and wakes it where a lease is needed.  Threads: any; blocks.
 * Errors: VESTA_EPAUSE with the last pause. */
VESTA_API int vesta_next_wait(struct vesta_gen *gen, uint64_t *id, int64_t wait_us_max, struct vesta_pause *pause);

/* Exactly n ids, or none that the caller may use: waits like vesta_next_wait.  Ids taken before a failing pause are
 * spent, not repeated.  Shape: ids[0..n).  Threads: any; blocks.  Errors: VESTA_EPAUSE. */
VESTA_API int vesta_batch_wait(struct vesta_gen *gen, uint64_t *ids, size_t n, int64_t wait_us_max,
                               struct vesta_pause *pause);

/* What vesta_next would return now: VESTA_OK if it would give an id, else the pause.  Takes nothing and moves no
 * cursor.  Shape: *pause is set with VESTA_EPAUSE only.  Threads: any.  Errors: VESTA_EPAUSE. */
VESTA_API int vesta_peek(struct vesta_gen *gen, struct vesta_pause *pause);

/* One sentence about a pause, with what the keeper last reported.  Shape: buf[0..size).  Threads: any. */
VESTA_API void vesta_pause_text(struct vesta_gen *gen, const struct vesta_pause *pause, char *buf, size_t size);

/* ------------------------------------------------------------------ verdicts: what a policy may do about a pause */

/* Lets the slot that paused run up to `tick` (exclusive), never above its lease; ignored if the slot has changed.  This
 * expires after VESTA_VERDICT_MS: then the slot pauses again, unless the clock permits more, and the next verdict
 * replaces this one.  A verdict in that time extends it; the higher tick holds.
 * Threads: any.  Errors: VESTA_ENOTNOW when the pause is not one of this generator's slots. */
VESTA_API int vesta_allow_ahead(struct vesta_gen *gen, const struct vesta_pause *pause, uint64_t tick);

/* The same in time: the slot may run `ahead_ms` past the latest instant that was seen, be that the clock's or, where
 * the clock is behind it, an earlier reading's.  Calling it twice borrows no more.  ahead_ms < 0: as far as the clock
 * is behind, and one time unit.  More than VESTA_BORROW_MS_MAX is cut to that. Threads: any.  Errors: VESTA_ENOTNOW
 * when the pause is not one of this generator's slots. */
VESTA_API int vesta_borrow(struct vesta_gen *gen, const struct vesta_pause *pause, int64_t ahead_ms);

/* Asks the keeper of the file for another worker number in place of the one that paused, because the clock is behind
 * its ids; ignored if the slot has changed.  While it is at work pauses say VESTA_LEASE or VESTA_CHOOSE.  It changes
 * only to a number that gives ids at once, and gives the last one back; where there is none, the pause is what it was.
 * The ids then begin with the clock as it stands: they may sort before earlier ones, and repeat none.
 * Threads: any.  Errors: VESTA_ENOTNOW when that was asked less than a minute ago, and when the pause is not one of
 * this generator's slots; VESTA_EOPTION for a number that was given by hand, and for a private generator. */
VESTA_API int vesta_switch(struct vesta_gen *gen, const struct vesta_pause *pause);

/* ------------------------------------------------------------------ choosing a worker
 *
 * Where a process has a handle with VESTA_CHOOSES, its keeper does not claim a number by itself: pauses say
 * VESTA_CHOOSE, vesta_get_choice says what the store lists, and vesta_choose answers.  An answer is a hint: the claim
 * decides, and where it is lost the keeper asks again with fresh records.  A question that nobody answers for five
 * seconds is asked again.  If another process keeps the file, that process chooses. */

/* A worker number as the store knows it. */
struct vesta_record {
    uint64_t worker, epoch;
    int held, expired;                     /* expired: its holder has been silent for longer than its lease */
    int64_t until_ms, written_ms, seen_ms; /* Unix: its ids end before; by the store's clock; by its holder's clock */
    char holder[128], identity[256];
};

/* What is to be chosen from. */
struct vesta_choice {
    unsigned attempt; /* 1, and one more for each claim that another process won */
    int is_fixed;     /* 1: the number was given by hand; the answer can only be to claim it, or not to */
    int was_lost;     /* 1: `lost` was held, and another process holds it now */
    uint64_t lost;
    int is_switch; /* 1: `leaving` is held, and to be left for another (vesta_switch); to answer it is to keep it */
    uint64_t leaving;
    uint64_t first, last; /* the layout's numbers */
    int64_t store_ms;     /* the store's clock, Unix milliseconds, when the records were read */
    size_t count;
    struct vesta_record *record; /* ascending by worker; without those that were never claimed */
};

/* What the keeper of this process is asking.  Own: free with vesta_choice_free.  Threads: any; may block for a
 * moment.  Errors: VESTA_ENOTNOW if it asks nothing; VESTA_ENOMEM. */
VESTA_API int vesta_get_choice(struct vesta_gen *gen, struct vesta_choice **choice, struct vesta_error *err);
VESTA_API void vesta_choice_free(struct vesta_choice *choice); /* may be NULL */

/* Answers a pause VESTA_CHOOSE: that number is to be claimed.  VESTA_ANY_WORKER: the one that would be claimed without
 * VESTA_CHOOSES.  Threads: any.  Errors: VESTA_EFIELD: the layout has no such number; VESTA_ENOTNOW if nothing is
 * asked (any more). */
#define VESTA_ANY_WORKER UINT64_MAX
VESTA_API int vesta_choose(struct vesta_gen *gen, const struct vesta_pause *pause, uint64_t worker);

/* The same, of a number that follows from what this generator is: its configuration, its host's name.  Its window is as
 * short as that of a number given by hand, so that a process that was killed, and returns without its file, has it
 * soon. */
VESTA_API int vesta_choose_fixed(struct vesta_gen *gen, const struct vesta_pause *pause, uint64_t worker);

/* The same: no number is to be claimed for now; `reason` says why, for people.  The keeper asks again after a second.
 */
VESTA_API int vesta_choose_none(struct vesta_gen *gen, const struct vesta_pause *pause, const char *reason);

/* ------------------------------------------------------------------ keeping */

/* Starts this process's keeper, or wakes it, in a thread with all signals but SIGBUS blocked; a few threads keep all
 * maps of a process.  One process on the host is elected to do the work.  vesta_next_wait does this by itself; a
 * program that calls only vesta_next calls this at the start, after fork() in the child, and whenever a pause says
 * VESTA_LEASE or VESTA_CLOSED.  Cheap: a lock and a futex wake.  If this handle starts none, it wakes the keeper of
 * whichever process keeps the file.  Threads: any.  Errors: VESTA_EIO, VESTA_ENOMEM; VESTA_EOPTION: a private one. */
VESTA_API int vesta_keep(struct vesta_gen *gen);

/* Gives the lease back: closes the slot at its exact cursor and, if no other process has the file open, releases
 * the worker number.  Otherwise only this process's keeper stops, and another takes over.  Ids may be requested
 * afterwards: they need a new claim.  Threads: any; blocks for the store.
 * Errors: VESTA_EIO: the store did not take it back, and how long others have to wait for the number; VESTA_EOPTION
 * if this handle starts no keeper: another process keeps the file. */
VESTA_API int vesta_release(struct vesta_gen *gen, struct vesta_error *err);

/* Ends the lease here at once and does not give it back: no id until the keeper has claimed again, for which the store
 * must answer.  For programs that must not continue within a window while the store is silent.  Threads: any.
 * Errors: VESTA_EOPTION for a private generator. */
VESTA_API int vesta_drop(struct vesta_gen *gen);

/* Call it before the memory of this machine or container is copied (a VM's snapshot, a checkpoint): ends the lease and
 * whatever the keeper had begun, and lets no keeper claim until an id is asked for.  Both copies then claim by
 * themselves, and what they are granted cannot overlap.  Nobody should ask for ids before the copy is made: that would
 * claim at once.  Ids that a program keeps (batches, blocks) are copied with it, and so is one that a call for ids was
 * about to return.
 * What tells the copies' claims apart is a token: 16 bytes of getrandom(2), drawn when a claim begins, so after the
 * copy.  Copies that draw equal ones take each other's lease for their own, and repeat ids: their kernels must give
 * different bytes.  Those of a checkpoint do: no kernel is copied with it.  Those of a virtual machine's clones are
 * copies themselves: they do at once where the hypervisor gives the machine a generation id (vmgenid, Linux 5.18 and
 * later), else only after the kernel has taken in fresh entropy, once a minute: until then no clone may ask for ids.
 * Threads: any; blocks until the keeper of this file is at rest, whichever process it is.
 * Errors: VESTA_EIO when it is not within 15 s: then do not copy; VESTA_EOPTION for a private generator, and where this
 * handle starts no keeper. */
VESTA_API int vesta_prepare_snapshot(struct vesta_gen *gen, struct vesta_error *err);

/* What a generator is at the moment. */
struct vesta_info {
    struct vesta_layout layout;
    char namespace_[VESTA_NAMESPACE_MAX];
    const char *path, *store, *lease, *identity; /* the handle's; "" where there is none; a password
                                                       in the store's URI is *** */
    const char *state; /* "claiming", "active", "renewing", "suspect", "drained", "fenced", "failstop", as the keeper
                          stands with its store; ids end only with the lease */
    enum vesta_pacing pacing;
    int64_t ahead_ms_max;
    int holds_lease; /* 1: `worker`, `tick` and `limit` mean something */
    int drew_worker; /* 1: this process drew the number at random */
    uint64_t worker;
    uint64_t tick, limit; /* the next tick, and the lease's end (exclusive) */
    uint32_t slot, slots_used;
    int64_t lease_end_ms;   /* Unix milliseconds at which ids end unless the lease is renewed; idle holders need not */
    int64_t clock_drift_us; /* how far REALTIME moved against BOOTTIME since the offset was last confirmed */
    struct {
        uint64_t ok, conflict, refused, down, unknown;
    } renewals;        /* of all leases of this file, by the store's answer */
    char keeper[192];  /* what the keeper last said, "" if nothing */
    char warning[256]; /* e.g. that the layout's time ends within a year; "" if nothing */
};
VESTA_API void vesta_get_info(struct vesta_gen *gen, struct vesta_info *out);

/* The handle's layout; lives as long as the handle.  Threads: any. */
VESTA_API const struct vesta_layout *vesta_gen_layout(const struct vesta_gen *gen);

#ifdef __cplusplus
}
#endif

#include "vesta_segment.h" /* counters: numbers out of ranges that a database grants */
#endif
