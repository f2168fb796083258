/* segment.h -- the words of one segment, shared by all processes that take numbers from it, and the cursor over its two
 * ranges: the current one and the next.  No step waits for another process, and none that is killed or sleeps anywhere
 * makes a number come twice.
 *
 *     cursor     generation of the current range << 40 | how many of its numbers were taken: one fetch-add takes n
 *     range[i]   what a generation's range is: written by one publisher, then never until the cursor has left it
 *     next       the newest generation that was published; above the cursor's: it is ready to be switched to
 *
 * Generations are drawn from a counter and never twice, so nothing here comes back to an earlier value, and a range's
 * words bear its generation: who reads them late sees that they are another's. */
#ifndef VS_SEGMENT_H
#define VS_SEGMENT_H

#include "generator/map.h"
#include "segment/range.h"

#define VS_SEGMENT_MAGIC "vesta.s"
#define VS_SEGMENT_FORMAT 1
#ifndef VS_OFFSET_BITS                    /* spec/segment has smaller ones, to see them used up */
#define VS_RANGES 8                       /* the current one, the next, and some for who was killed writing his */
#define VS_OFFSET_BITS 40                 /* of the cursor; above them is the generation */
#define VS_TAKE_MAX ((uint64_t)1 << 16)   /* numbers in one take */
#define VS_TAKERS_MAX ((uint64_t)1 << 22) /* threads of a host: Linux's own most */
/* Who meets a used-up range has pushed the offset in vain: once until that is known, once more when the next range is
 * there, before the cursor moves on. */
_Static_assert(VS_RANGE_MAX + 2 * VS_TAKERS_MAX * VS_TAKE_MAX < (uint64_t)1 << VS_OFFSET_BITS,
               "an offset that every thread of a host has pushed in vain does not reach the generation");
#endif
#define VS_OFFSET_MASK (((uint64_t)1 << VS_OFFSET_BITS) - 1)
#define VS_GENERATION_MAX (((uint64_t)1 << (63 - VS_OFFSET_BITS)) - 1)
#define VS_ENDED UINT64_MAX            /* in `next` and `dry`: closed; above every generation */
#define VS_WRITING ((uint64_t)1 << 63) /* in a tag: the range's words are being written */

#define VS_INHERITED ((uint64_t)1 << 63) /* in `granted`: another map goes on from this value, so it is lowered no more */

struct vs_range_words {
    _Alignas(VS_LINE / 2) _Atomic uint64_t tag; /* its generation, or that | VS_WRITING */
    _Atomic uint64_t first, count, stride, until, mark;
    _Atomic uint32_t database;
    _Atomic uint32_t before_of; /* the lower half of the generation that `before` is of: an older version leaves both
                                   as they were for an earlier range */
    _Atomic uint64_t before;    /* 1 + what this host was granted of that database before it; 0: not known */
};

#define VS_COMMITTED_WORDS (VS_RANGES * sizeof(struct vs_range_words) / sizeof(uint64_t))

struct vs_segment {
    /* written once, before others see it */
    _Alignas(VS_LINE) char magic[8];
    uint32_t format;
    uint32_t reserved;
    uint64_t size;
    unsigned char pad[VS_LINE - 24];
    /* read with every number, written once a range; all of them only rise */
    _Atomic uint64_t next;
    _Atomic uint64_t
        dry; /* the newest generation that was met used up, or VS_ENDED: no further taker pushes the cursor */
    _Atomic uint64_t want;  /* the newest generation of which it was said that its successor is wanted */
    _Atomic uint64_t ahead; /* the generation that the cursor was moved to last; only a hint, where to read first */
    unsigned char pad_words[VS_LINE - 32];
    /* the hot word, alone */
    _Atomic uint64_t cursor; /* generation << VS_OFFSET_BITS | offset, and VS_CLOSED */
    unsigned char pad_cursor[VS_LINE - 8];
    /* of those who refill */
    _Atomic uint64_t drawn;    /* generations given out */
    _Atomic uint64_t refiller; /* token of who asks the store for the next range, 0: nobody.  It decides who does the
                                  I/O, nothing else */
    _Atomic int64_t pulse_boot_us; /* until then the refiller's silence means nothing */
    _Atomic uint32_t stopped; /* a bit for each database: its counter went back, and no range is taken until a person
                                 has acted.  Older versions set bits from the 16th on, too */
    _Atomic uint32_t told;    /* futex: raised when who waits is to look again */
    _Atomic uint32_t forgone; /* how often a word of `granted` was lowered: an answer to what was asked before tells
                                 nothing of a counter that went back */
    uint32_t reserved_refill;
    /* by database: the highest end of a range that this host was granted, used or not; an untake that is still on its
     * way finds no counter there that was raised above */
    _Atomic uint64_t answered[VS_DATABASES_MAX];
    unsigned char pad_refill[VS_LINE - 40 - 8 * VS_DATABASES_MAX];
    /* by database */
    _Atomic uint64_t granted[VS_DATABASES_MAX]; /* the end of what was issued from, or may be: its counter never stands
                                                   below it */
    _Atomic uint64_t lowered[VS_DATABASES_MAX]; /* where it is stopped: what its counter granted again */
    union {
        struct vs_range_words range[VS_RANGES]; /* by generation % VS_RANGES */
        /* order dense, which has no ranges: a bit a number, see keeper/segment/memory.h */
        _Atomic uint64_t committed[VS_COMMITTED_WORDS];
    };
};
_Static_assert(sizeof(struct vs_range_words) == VS_LINE / 2, "a range is one cache line");
_Static_assert(offsetof(struct vs_segment, next) == VS_LINE, "what is read with every number has its line");
_Static_assert(offsetof(struct vs_segment, cursor) == 2 * VS_LINE, "what is written with every number shares no line");
_Static_assert(offsetof(struct vs_segment, drawn) == 3 * VS_LINE, "and nothing follows on the cursor's");
_Static_assert(sizeof(struct vs_segment) == 5 * VS_LINE + VS_RANGES * VS_LINE / 2, "the words are what is named here");
/* Processes of the version before and after an upgrade share a map, so a word never moves within one format. */
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
                   offsetof(struct vs_range_words, before_of) == 52 &&
                   offsetof(struct vs_range_words, before) == 56,
               "a word of a range has moved: raise VS_SEGMENT_FORMAT");

/* Makes the words of a segment without a range, before others see them: of what this host was granted before, nothing
 * is known. */
void vs_segment_format(struct vs_segment *seg);

/* Why these bytes are no segment of this build, as the end of a sentence, or NULL if they are. */
const char *vs_segment_reject(const struct vs_segment *seg, uint64_t bytes);

/* Numbers that belong to the caller alone: first, first + stride, ..., `count` of them. */
struct vs_taken {
    uint64_t first, count, stride;
    bool wanted; /* the caller is the one who tells the refiller that the next range is wanted; also with a pause */
};

/* Takes min(n, VS_TAKE_MAX, what is left of the range) numbers, with one atomic operation where there are any.
 * Shape: n >= 1; out->count is 1 to n.  Threads: any.  Errors: VESTA_EPAUSE: both ranges are used up;
 * VESTA_ECLOSED; out->count is 0 then. */
int vs_segment_take(struct vs_segment *seg, uint64_t n, struct vs_taken *out);

/* The next number.  Shape: *number is set with VESTA_OK only; *wanted becomes true where the caller is to tell, and is
 * left alone else.  Threads: any.  Errors: as vs_segment_take. */
int vs_segment_next(struct vs_segment *seg, uint64_t *number, bool *wanted);

/* ---- for refillers; any number of them may be at work, of which some slept */

enum vs_published {
    VS_PUBLISHED,
    VS_NOT_NEEDED,     /* a next range stands ready: this one is still the caller's */
    VS_SEGMENT_CLOSED, /* likewise: nobody will take from it */
    VS_SEGMENT_SPENT   /* likewise: its generations, or places for ranges, are used up: a new map is to be made */
};

/* Makes a range the next one. */
enum vs_published vs_segment_publish(struct vs_segment *seg, const struct vs_range *range);

/* Whether the next range is to be asked for: there is none yet, and the mark of the current one was reached. */
bool vs_segment_is_due(const struct vs_segment *seg);

/* Makes the caller the refiller: nobody is, or who was has been silent since `pulse_boot_us`. */
bool vs_segment_begin_refill(struct vs_segment *seg, uint64_t token, int64_t boot_us, int64_t pulse_boot_us);
void vs_segment_end_refill(struct vs_segment *seg, uint64_t token);

/* ---- the end.  A rest has one owner at a time: the words, then the caller that took it out of them, then the caller
 * that claimed it, which sends it to the store once or puts it back. */

/* Numbers from, from + stride and so on, below `until`, that no caller received and none will receive.  If the
 * database's counter still stands at `until`, it may go back to `from`. */
struct vs_unused {
    uint64_t from, until, stride;
    uint64_t issued_until; /* its host was granted no number from here on, but for this rest */
    uint32_t database;
    bool is_last; /* nothing above it was granted to this host: only then may the store be asked to take it back */
};

/* Takes what is left of both ranges out of the words, in one atomic step.  The words stay in use, and what this host
 * was granted stays known: `granted` is lowered to the end of what was issued, because the counter may go back so far.
 * Shape: unused[0..*count) belong to the caller.  Of one database the highest comes first, the order in which they may
 * be given back.  False: closed, or no place is free; nothing was taken out. */
bool vs_segment_take_rest(struct vs_segment *seg, struct vs_unused unused[2], int *count);

/* Makes a rest that the store did not take back a range again.  False: the words cannot take it, and its numbers
 * stay unused. */
bool vs_segment_put_back(struct vs_segment *seg, const struct vs_unused *unused);

/* Ends a segment for ever.  True for the one caller that ended it: unused[0..*count) are then its own, ordered as by
 * vs_segment_take_rest. */
bool vs_segment_close(struct vs_segment *seg, struct vs_unused unused[2], int *count);

/* Goes on in new words where the old ones ended: what this host was granted, and which counters went back, stays
 * known.  If the process that closed the old words has not lowered `granted` there yet, it gives no rest back: the new
 * words would take the lower counter for one that went back. */
void vs_segment_inherit(struct vs_segment *seg, struct vs_segment *old);

/* What this host was granted of a database: its counter never stands below that. */
static inline uint64_t vs_segment_granted(const struct vs_segment *seg, uint32_t database) {
    return atomic_load(&seg->granted[database]) & ~VS_INHERITED;
}

/* A rest on its way from the thread that took it out to the thread that gives it back.  Only the process that took it
 * out can claim it, and only once: a forked child inherits the bytes, but has another token. */
struct vs_unclaimed {
    struct vs_unused unused;
    _Atomic uint64_t owner; /* vs_process_token of that process, with the database; 0: it was claimed */
};
#define VS_RESTS_MAX 4

/* False: no slot is free, and the rest stays the caller's.  Threads: one at a time. */
bool vs_rest_keep(struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, const struct vs_unused *unused);
/* Whether a rest of a database waits to be claimed.  Threads: any. */
bool vs_rest_waits(const struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, uint32_t database);
/* Claims the rests of a database.  Shape: out[0..result), the highest first.  Threads: any. */
int vs_rest_claim(struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, uint32_t database,
                  struct vs_unused out[VS_RESTS_MAX]);

/* How it stands, for people and metrics. */
struct vs_segment_state {
    uint64_t generation;
    uint64_t left, next_left; /* numbers of the current range, and of the next one, 0 where none stands ready */
    uint64_t count, mark;     /* of the current range: how many it held, and at which the next one is wanted */
    uint64_t stride;          /* of the range that the next number is from; 0: there is none */
    uint64_t position;        /* the number to be given next, where there is one */
    bool is_closed;
};
void vs_segment_get_state(const struct vs_segment *seg, struct vs_segment_state *out);

#endif
