/* segment.h -- the words of one segment, shared by all processes that take numbers from it, and the cursor over its two
 * ranges, the current one and the next.  No step waits for another process.  A process that is killed or sleeps at any
 * point cannot cause a duplicate.
 *
 *     cursor     generation of the current range << 40 | how many of its numbers were taken: one fetch-add takes n
 *     range[i]   the range of a generation: written by one publisher, and again only after the cursor has left it
 *     next       the newest published generation; if it is above the cursor's, the next range is ready
 *
 * Each generation is drawn once from a counter, so no word returns to an earlier value.  A range's words include its
 * generation, so a late reader detects that they were overwritten. */
#ifndef VS_SEGMENT_H
#define VS_SEGMENT_H

#include "generator/map.h"
#include "segment/range.h"

#define VS_SEGMENT_MAGIC "vesta.s"
#define VS_SEGMENT_FORMAT 1
#ifndef VS_OFFSET_BITS                    /* spec/segment defines smaller values, to exhaust them quickly */
#define VS_RANGES 8                       /* current, next, and spares for publishers that are killed while writing */
#define VS_OFFSET_BITS 40                 /* lower bits of the cursor; the generation is above them */
#define VS_TAKE_MAX ((uint64_t)1 << 16)   /* numbers in one take */
#define VS_TAKERS_MAX ((uint64_t)1 << 22) /* threads of a host: Linux's limit */
/* Each thread may push the offset of an exhausted range twice in vain: once before `dry` is set, and once after the
 * next range was published, before the cursor moves to it. */
_Static_assert(VS_RANGE_MAX + 2 * VS_TAKERS_MAX * VS_TAKE_MAX < (uint64_t)1 << VS_OFFSET_BITS,
               "the offset stays below the generation's bits even if every thread of a host pushes it in vain");
#endif
#define VS_OFFSET_MASK (((uint64_t)1 << VS_OFFSET_BITS) - 1)
#define VS_GENERATION_MAX (((uint64_t)1 << (63 - VS_OFFSET_BITS)) - 1)
#define VS_ENDED UINT64_MAX            /* in `next` and `dry`: closed; above every generation */
#define VS_WRITING ((uint64_t)1 << 63) /* in a tag: the range's words are being written */

#define VS_INHERITED ((uint64_t)1 << 63) /* in `granted`: a new map has copied this value, so it is final */

struct vs_range_words {
    _Alignas(VS_LINE / 2) _Atomic uint64_t tag; /* the range's generation, or generation | VS_WRITING */
    _Atomic uint64_t first, count, stride, until, mark;
    _Atomic uint32_t database;
    _Atomic uint32_t before_of; /* low 32 bits of the generation that `before` belongs to: an older version of vesta
                                   writes neither word, so both may be of an earlier range */
    _Atomic uint64_t before;    /* 1 + this host's `granted` of the database before this range; 0: unknown */
};

#define VS_COMMITTED_WORDS (VS_RANGES * sizeof(struct vs_range_words) / sizeof(uint64_t))

struct vs_segment {
    /* written once, before other processes map it */
    _Alignas(VS_LINE) char magic[8];
    uint32_t format;
    uint32_t reserved;
    uint64_t size;
    unsigned char pad[VS_LINE - 24];
    /* read for every number, written once per range; these words only rise */
    _Atomic uint64_t next;
    _Atomic uint64_t dry;   /* the newest exhausted generation, or VS_ENDED: takers do not push the cursor any more */
    _Atomic uint64_t want;  /* the newest generation whose successor a taker has requested */
    _Atomic uint64_t ahead; /* the generation that the cursor was last moved to; only a hint which range to read */
    unsigned char pad_words[VS_LINE - 32];
    /* the hot word, alone in its cache line */
    _Atomic uint64_t cursor; /* generation << VS_OFFSET_BITS | offset, and VS_CLOSED */
    unsigned char pad_cursor[VS_LINE - 8];
    /* written by refillers */
    _Atomic uint64_t drawn;        /* the newest generation drawn */
    _Atomic uint64_t refiller;     /* token of the process that requests the next range; 0: none.  It only selects the
                                      process that does the I/O */
    _Atomic int64_t pulse_boot_us; /* until then, a silent refiller is not replaced */
    _Atomic uint32_t stopped; /* one bit per database: its counter went back, and no range is taken until an operator
                                 has acted.  Older versions set bits from the 16th on, too */
    _Atomic uint32_t told;    /* futex: raised to make waiting threads check again */
    _Atomic uint32_t forgone; /* how often a word of `granted` was lowered.  If it changed since a request was sent, a
                                 low reply does not prove that the counter went back */
    uint32_t reserved_refill;
    /* by database: the highest end of a range that this host was granted, used or not.  A stopped counter is raised to
     * it, so that an untake still under way does not find the counter at its range's end */
    _Atomic uint64_t answered[VS_DATABASES_MAX];
    unsigned char pad_refill[VS_LINE - 40 - 8 * VS_DATABASES_MAX];
    /* by database */
    _Atomic uint64_t granted[VS_DATABASES_MAX]; /* end of the highest range that was or may be issued from.  The counter
                                                   is never lower, unless it went back */
    _Atomic uint64_t lowered[VS_DATABASES_MAX]; /* if stopped: the value that its counter granted again */
    union {
        struct vs_range_words range[VS_RANGES]; /* by generation % VS_RANGES */
        /* order dense, which has no ranges: one bit per number, see keeper/segment/memory.h */
        _Atomic uint64_t committed[VS_COMMITTED_WORDS];
    };
};
_Static_assert(sizeof(struct vs_range_words) == VS_LINE / 2, "a range is one cache line");
_Static_assert(offsetof(struct vs_segment, next) == VS_LINE, "the words read for every number have their own line");
_Static_assert(offsetof(struct vs_segment, cursor) == 2 * VS_LINE, "the cursor begins its own line");
_Static_assert(offsetof(struct vs_segment, drawn) == 3 * VS_LINE, "no other word is in the cursor's line");
_Static_assert(sizeof(struct vs_segment) == 5 * VS_LINE + VS_RANGES * VS_LINE / 2, "the struct has no other words");
/* During an upgrade, processes of both versions share a map.  So a word never moves within one format. */
_Static_assert(VS_SEGMENT_FORMAT == 1 && offsetof(struct vs_segment, dry) == VS_LINE + 8 &&
                   offsetof(struct vs_segment, want) == VS_LINE + 16 &&
                   offsetof(struct vs_segment, ahead) == VS_LINE + 24 &&
                   offsetof(struct vs_segment, refiller) == 3 * VS_LINE + 8 &&
                   offsetof(struct vs_segment, pulse_boot_us) == 3 * VS_LINE + 16 &&
                   offsetof(struct vs_segment, stopped) == 3 * VS_LINE + 24 &&
                   offsetof(struct vs_segment, told) == 3 * VS_LINE + 28 &&
                   offsetof(struct vs_segment, forgone) == 3 * VS_LINE + 32 &&
                   offsetof(struct vs_segment, answered) == 3 * VS_LINE + 40 &&
                   offsetof(struct vs_segment, granted) == 4 * VS_LINE &&
                   offsetof(struct vs_segment, lowered) == 4 * VS_LINE + 64 &&
                   offsetof(struct vs_segment, range) == 5 * VS_LINE &&
                   offsetof(struct vs_segment, committed) == 5 * VS_LINE,
               "a word of a segment has moved: raise VS_SEGMENT_FORMAT");
_Static_assert(VS_SEGMENT_FORMAT == 1 && offsetof(struct vs_range_words, first) == 8 &&
                   offsetof(struct vs_range_words, count) == 16 && offsetof(struct vs_range_words, stride) == 24 &&
                   offsetof(struct vs_range_words, until) == 32 && offsetof(struct vs_range_words, mark) == 40 &&
                   offsetof(struct vs_range_words, database) == 48 &&
                   offsetof(struct vs_range_words, before_of) == 52 && offsetof(struct vs_range_words, before) == 56,
               "a word of a range has moved: raise VS_SEGMENT_FORMAT");

/* Initializes the words of a segment without a range, before other processes map them.  `granted` starts at 0. */
void vs_segment_format(struct vs_segment *seg);

/* Returns why these bytes are not a segment of this build, as the end of a sentence, or NULL if they are one. */
const char *vs_segment_reject(const struct vs_segment *seg, uint64_t bytes);

/* Numbers that belong to the caller alone: first, first + stride, ..., `count` of them. */
struct vs_taken {
    uint64_t first, count, stride;
    bool wanted; /* the caller must notify the refiller that the next range is wanted; also set with VESTA_EPAUSE */
};

/* Takes min(n, VS_TAKE_MAX, the rest of the range) numbers, with one atomic operation if the range has any.
 * Shape: n >= 1; out->count is 1 to n, or 0 with an error.  Threads: any.  Errors: VESTA_EPAUSE: both ranges are
 * exhausted; VESTA_ECLOSED. */
int vs_segment_take(struct vs_segment *seg, uint64_t n, struct vs_taken *out);

/* Takes the next number.  Shape: *number is set with VESTA_OK only.  *wanted becomes true if the caller must notify the
 * refiller, and is otherwise unchanged.  Threads: any.  Errors: as vs_segment_take. */
int vs_segment_next(struct vs_segment *seg, uint64_t *number, bool *wanted);

/* ---- for refillers.  Several may run at once, and each may sleep at any point. */

/* Unless VS_PUBLISHED, the range still belongs to the caller. */
enum vs_published {
    VS_PUBLISHED,
    VS_NOT_NEEDED,     /* a next range is ready */
    VS_SEGMENT_CLOSED, /* no more numbers are taken from this segment */
    VS_SEGMENT_SPENT   /* generations or places for ranges are used up: make a new map */
};

/* Makes a range the next one. */
enum vs_published vs_segment_publish(struct vs_segment *seg, const struct vs_range *range);

/* True if the next range should be requested: there is none yet, and the mark of the current one was reached. */
bool vs_segment_is_due(const struct vs_segment *seg);

/* Makes the caller the refiller until `pulse_boot_us`.  False: another process is, and its own time is not over. */
bool vs_segment_begin_refill(struct vs_segment *seg, uint64_t token, int64_t boot_us, int64_t pulse_boot_us);
void vs_segment_end_refill(struct vs_segment *seg, uint64_t token);

/* ---- the end.  A rest is the unissued part of a range.  It has one owner at a time: the words, then the caller that
 * took it out of them, then the caller that claimed it, which sends it to the store once or puts it back. */

/* Numbers from, from + stride and so on, below `until`, that no caller received and none will receive.  If the
 * database's counter is still at `until`, it may be lowered to `from`. */
struct vs_unused {
    uint64_t from, until, stride;
    uint64_t issued_until; /* this host was granted no number from here on, except for this rest */
    uint32_t database;
    bool is_last; /* nothing above it was granted to this host: only then may the store be asked to take it back */
};

/* Takes the rests of both ranges out of the words, in one atomic step.  The words stay in use.  `granted` is lowered to
 * the end of what was issued, because the counter may be lowered so far.
 * Shape: unused[0..*count) belong to the caller, the highest of a database first, the order in which they may be given
 * back.  False: closed, or no place is free, and nothing was taken out. */
bool vs_segment_take_rest(struct vs_segment *seg, struct vs_unused unused[2], int *count);

/* Makes a range of a rest that the store did not take back.  False: the words have no place for it, and its numbers
 * stay unused. */
bool vs_segment_put_back(struct vs_segment *seg, const struct vs_unused *unused);

/* Ends a segment for ever.  True for the one caller that ended it.  It then owns unused[0..*count), ordered as by
 * vs_segment_take_rest. */
bool vs_segment_close(struct vs_segment *seg, struct vs_unused unused[2], int *count);

/* Copies from the old words what this host was granted, and which counters went back.  If the process that closed the
 * old words has not lowered `granted` there yet, it can give no rest back afterwards.  Otherwise the lowered counter
 * would look, in the new words, like one that went back. */
void vs_segment_inherit(struct vs_segment *seg, struct vs_segment *old);

/* The end of what this host was granted of a database.  Unless the counter went back, it is not below this. */
static inline uint64_t vs_segment_granted(const struct vs_segment *seg, uint32_t database) {
    return atomic_load(&seg->granted[database]) & ~VS_INHERITED;
}

/* Passes a rest from the thread that took it out to the thread that gives it back.  Only the process that took it out
 * can claim it, and only once: a forked child inherits the bytes, but has another token. */
struct vs_unclaimed {
    struct vs_unused unused;
    _Atomic uint64_t owner; /* vs_process_token of that process, with the database; 0: it was claimed */
};
#define VS_RESTS_MAX 4

/* False: no slot is free, and the caller still owns the rest.  Threads: one at a time. */
bool vs_rest_keep(struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, const struct vs_unused *unused);
/* True if a rest of this database can be claimed.  Threads: any. */
bool vs_rest_waits(const struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, uint32_t database);
/* Claims the rests of a database.  Shape: out[0..result), the highest first.  Threads: any. */
int vs_rest_claim(struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, uint32_t database,
                  struct vs_unused out[VS_RESTS_MAX]);

/* For status reports and metrics. */
struct vs_segment_state {
    uint64_t generation;
    uint64_t left, next_left; /* numbers left in the current range, and in the next one (0: none is ready) */
    uint64_t count, mark;     /* of the current range: its numbers, and after how many the next one is requested */
    uint64_t stride;          /* of the range that the next number is from; 0: none is left */
    uint64_t position;        /* the next number to be issued, if one is left */
    bool is_closed;
};
void vs_segment_get_state(const struct vs_segment *seg, struct vs_segment_state *out);

#endif
