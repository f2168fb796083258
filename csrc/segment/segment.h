/* segment.h -- the words of one segment, shared by all processes that take numbers from it, and the cursor over its two
 * ranges, the current one and the next one.  No step waits for another process.  A process that is killed or sleeps at
 * any point cannot cause a duplicate.
 *
 *     cursor     current generation << 40 | how many numbers of its range were taken.  A fetch-add takes n numbers
 *     range[i]   the range of a generation.  One publisher writes it.  The slot is reused only after the cursor left it
 *     next       the newest published generation.  If it is above the cursor's, the next range is ready
 *
 * Each generation is drawn once from a counter, so no word returns to an earlier value.  A range's words include its
 * generation, so a late reader detects that they were overwritten. */
#ifndef VS_SEGMENT_H
#define VS_SEGMENT_H

#include "generator/map.h"
#include "segment/range.h"

#define VS_SEGMENT_MAGIC "vesta.s"
#define VS_SEGMENT_FORMAT 1
#ifndef VS_OFFSET_BITS /* spec/segment defines smaller values, to exhaust them quickly */
/* slots for the current range, the next one, and publishers that are killed while writing */
#define VS_RANGES 8
#define VS_OFFSET_BITS 40                 /* number of offset bits in the cursor.  The generation is above them */
#define VS_TAKE_MAX ((uint64_t)1 << 16)   /* maximum count of numbers in one take */
#define VS_TAKERS_MAX ((uint64_t)1 << 22) /* maximum number of threads on a Linux host */
/* Each thread may push the offset of an exhausted range twice without a result: once before `dry` is set, and once
 * after the next range was published, before the cursor moves to it. */
_Static_assert(VS_RANGE_MAX + 2 * VS_TAKERS_MAX * VS_TAKE_MAX < (uint64_t)1 << VS_OFFSET_BITS,
               "the offset stays below the generation's bits even if every thread of a host pushes it in vain");
#endif
#define VS_OFFSET_MASK (((uint64_t)1 << VS_OFFSET_BITS) - 1)
#define VS_GENERATION_MAX (((uint64_t)1 << (63 - VS_OFFSET_BITS)) - 1)
#define VS_ENDED UINT64_MAX            /* value of `next` and `dry` in closed words, above every generation */
#define VS_WRITING ((uint64_t)1 << 63) /* bit of a tag while the range's words are being written */

/* bit of `granted` after a new map has copied the value, which is final then */
#define VS_INHERITED ((uint64_t)1 << 63)

struct vs_range_words {
    _Alignas(VS_LINE / 2) _Atomic uint64_t tag; /* the range's generation, or generation | VS_WRITING */
    _Atomic uint64_t first, count, stride, until, mark;
    _Atomic uint32_t database;
    /* Low 32 bits of the generation that `before` belongs to.  An older version of vesta writes neither word, so both
     * may belong to an earlier range. */
    _Atomic uint32_t before_of;
    _Atomic uint64_t before; /* 1 + the host's `granted` for this database before this range.  0: unknown */
};

#define VS_COMMITTED_WORDS (VS_RANGES * sizeof(struct vs_range_words) / sizeof(uint64_t))

struct vs_segment {
    /* written once, before other processes map the segment */
    _Alignas(VS_LINE) char magic[8];
    uint32_t format;
    uint32_t reserved;
    uint64_t size;
    unsigned char pad[VS_LINE - 24];
    /* read for every number, and written once per range.  These words only increase */
    _Atomic uint64_t next;
    /* the newest exhausted generation, or VS_ENDED.  Takers do not push the cursor in it any more */
    _Atomic uint64_t dry;
    _Atomic uint64_t want; /* the newest generation whose successor a taker has requested */
    /* the generation to which the cursor was last moved.  Only a hint about which range to read */
    _Atomic uint64_t ahead;
    unsigned char pad_words[VS_LINE - 32];
    /* the most frequently written word, alone in its cache line */
    _Atomic uint64_t cursor; /* generation << VS_OFFSET_BITS | offset, and VS_CLOSED */
    unsigned char pad_cursor[VS_LINE - 8];
    /* written by refillers */
    _Atomic uint64_t drawn; /* the newest generation drawn */
    /* Token of the process that requests the next range.  0: none.  It only selects the process that does the I/O. */
    _Atomic uint64_t refiller;
    _Atomic int64_t pulse_boot_us; /* until this boot time, an unresponsive refiller is not replaced */
    /* One bit per database.  Set if the database's counter was rolled back, in which case no range is taken until an
     * operator has acted. Older versions also set bits from the 16th on. */
    _Atomic uint32_t stopped;
    _Atomic uint32_t told; /* futex, incremented to make waiting threads check again */
    /* Counts how often a word of `granted` was lowered.  If it has changed since a request was sent, a low reply does
     * not prove that the counter was rolled back. */
    _Atomic uint32_t forgone;
    uint32_t reserved_refill;
    /* for each database, the highest end of a range that this host was granted, used or not.  A stopped counter is
     * raised to this value, so that a late untake does not find the counter at its range's end */
    _Atomic uint64_t answered[VS_DATABASES_MAX];
    unsigned char pad_refill[VS_LINE - 40 - 8 * VS_DATABASES_MAX];
    /* the following arrays have one element per database */
    /* End of the highest range from which numbers were or may be issued.  The counter is not below this value, unless
     * it was rolled back. */
    _Atomic uint64_t granted[VS_DATABASES_MAX];
    /* if the database is stopped, the value that its counter granted again */
    _Atomic uint64_t lowered[VS_DATABASES_MAX];
    union {
        struct vs_range_words range[VS_RANGES]; /* indexed by generation % VS_RANGES */
        /* one bit per number of order dense, which has no ranges (keeper/segment/memory.h) */
        _Atomic uint64_t committed[VS_COMMITTED_WORDS];
    };
};
_Static_assert(sizeof(struct vs_range_words) == VS_LINE / 2, "a range is one cache line");
_Static_assert(offsetof(struct vs_segment, next) == VS_LINE, "the words read for every number have their own line");
_Static_assert(offsetof(struct vs_segment, cursor) == 2 * VS_LINE, "the cursor begins its own line");
_Static_assert(offsetof(struct vs_segment, drawn) == 3 * VS_LINE, "no other word is in the cursor's line");
_Static_assert(sizeof(struct vs_segment) == 5 * VS_LINE + VS_RANGES * VS_LINE / 2, "the struct has no other words");
/* During an upgrade, processes of both versions share a map.  Therefore, no word moves within one format. */
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

/* Initializes the words of a segment without a range.  Call this before other processes map the words.  `granted`
 * starts at 0. */
void vs_segment_format(struct vs_segment *seg);

/* Returns why these bytes are not a segment of this build, as the end of a sentence.  Returns NULL if they are one. */
const char *vs_segment_reject(const struct vs_segment *seg, uint64_t bytes);

/* Numbers that only the caller owns: first, first + stride, ..., `count` of them. */
struct vs_taken {
    uint64_t first, count, stride;
    /* true if the caller must notify the refiller that the next range is wanted.  May be set with VESTA_EPAUSE, too */
    bool wanted;
};

/* Takes at most n numbers, limited to VS_TAKE_MAX and to the end of the range.  If the range has any numbers left, this
 * needs one atomic operation.
 * Range: n is at least 1.  out->count becomes 1 to n, or 0 with an error.  Threads: any.  Errors: VESTA_EPAUSE if both
 * ranges are exhausted.  VESTA_ECLOSED. */
int vs_segment_take(struct vs_segment *seg, uint64_t n, struct vs_taken *out);

/* Takes the next number.  Sets *number only if it returns VESTA_OK.  Sets *wanted to true if the caller must notify the
 * refiller, and otherwise leaves it unchanged.  Threads: any.  Errors: the same as vs_segment_take. */
int vs_segment_next(struct vs_segment *seg, uint64_t *number, bool *wanted);

/* ---- functions for refillers.  Several refillers may run at once, and each may sleep at any point. */

/* After every result except VS_PUBLISHED, the caller still owns the range. */
enum vs_published {
    VS_PUBLISHED,
    VS_NOT_NEEDED,     /* another range is already the next one, or this host was granted later numbers */
    VS_SEGMENT_CLOSED, /* no more numbers are taken from this segment */
    VS_SEGMENT_SPENT   /* generations or slots for ranges are used up, so create a new map */
};

/* Publishes a range as the next one. */
enum vs_published vs_segment_publish(struct vs_segment *seg, const struct vs_range *range);

/* Returns true if the next range should be requested, because there is none yet, and takers have passed the mark of the
 * current range. */
bool vs_segment_is_due(const struct vs_segment *seg);

/* Makes the caller the refiller until `pulse_boot_us`.  Returns false if another process is the refiller, and its time
 * is not over. */
bool vs_segment_begin_refill(struct vs_segment *seg, uint64_t token, int64_t boot_us, int64_t pulse_boot_us);
void vs_segment_end_refill(struct vs_segment *seg, uint64_t token);

/* ---- the end.  The unused part of a range ("rest" in names) has one owner at a time.  First the words own it, then
 * the caller that took it out of the words, and then the caller that claimed it.  That caller sends it to the store
 * once, or puts it back into the words. */

/* Numbers from, from + stride and so on, below `until`, that no caller has received and none will receive.  If the
 * database's counter is still at `until`, it may be lowered to `from`. */
struct vs_unused {
    uint64_t from, until, stride;
    uint64_t issued_until; /* this host was granted no number from here on, except for these unused numbers */
    uint32_t database;
    /* true if this host was granted no higher number.  Only then may the store be asked to take the numbers back */
    bool is_last;
};

/* Takes the unused numbers of both ranges out of the words, in one atomic step.  The words stay in use.  `granted` is
 * lowered to the end of what was issued, because the counter may be lowered to that value.  On success, the caller owns
 * unused[0..*count), with the highest range of a database first, which is the order in which they may be returned.
 * Returns false if the segment is closed, or if no slot is free.  In that case, nothing was taken out. */
bool vs_segment_take_rest(struct vs_segment *seg, struct vs_unused unused[2], int *count);

/* Makes a range of unused numbers that the store did not take back.  Returns false if the words have no slot for it, in
 * which case its numbers stay unused. */
bool vs_segment_put_back(struct vs_segment *seg, const struct vs_unused *unused);

/* Closes a segment permanently.  Returns true to the one caller that closed it.  That caller then owns
 * unused[0..*count), in the same order as after vs_segment_take_rest. */
bool vs_segment_close(struct vs_segment *seg, struct vs_unused unused[2], int *count);

/* Copies from the old words what this host was granted, and which counters were rolled back.  If the process that
 * closed the old words has not yet lowered their `granted`, that process cannot return unused numbers any more.
 * Otherwise the lowered counter would look in the new words like a counter that was rolled back. */
void vs_segment_inherit(struct vs_segment *seg, struct vs_segment *old);

/* Returns the end of what this host was granted by a database.  The counter is not below this value, unless it was
 * rolled back. */
static inline uint64_t vs_segment_granted(const struct vs_segment *seg, uint32_t database) {
    return atomic_load(&seg->granted[database]) & ~VS_INHERITED;
}

/* Passes an unused range from the thread that took it out of the words to the thread that returns it to the store.
 * Only the process that took it out can claim it, and only once.  A forked child inherits the bytes, but has another
 * token. */
struct vs_unclaimed {
    struct vs_unused unused;
    _Atomic uint64_t owner; /* vs_process_token of that process, combined with the database.  0: claimed */
};
#define VS_RESTS_MAX 4

/* Stores an unused range.  Returns false if no slot is free, in which case the caller still owns the range.  Threads:
 * one at a time. */
bool vs_rest_keep(struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, const struct vs_unused *unused);
/* Returns true if an unused range of this database can be claimed.  Threads: any. */
bool vs_rest_waits(const struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, uint32_t database);
/* Claims the unused ranges of a database in descending order: out[0..result).  Threads: any. */
int vs_rest_claim(struct vs_unclaimed rests[VS_RESTS_MAX], uint64_t owner, uint32_t database,
                  struct vs_unused out[VS_RESTS_MAX]);

/* For status reports and metrics. */
struct vs_segment_state {
    uint64_t generation;
    /* count of numbers left in the current range, and in the next one, or 0 if none is ready */
    uint64_t left, next_left;
    /* of the current range: the count of its numbers, and the mark, after which the next range is requested */
    uint64_t count, mark;
    uint64_t stride;   /* stride of the range that contains the next number.  0: no number is left */
    uint64_t position; /* the next number to be issued, if any is left */
    bool is_closed;
};
void vs_segment_get_state(const struct vs_segment *seg, struct vs_segment_state *out);

#endif
