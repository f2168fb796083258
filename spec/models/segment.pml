/* segment.pml -- the double buffer of csrc/segment/cursor.c, with every order of its steps: takers, publishers, a
 * closer.  A step here is one access to a shared word there.  Names are those of the C code.
 *
 * Numbers are 0, 1, ...: a database grants each once, in ranges of COUNT.  No number may be taken twice, or after it
 * was returned.  The next range is written while the current one is used, and then the takers switch to it.  A killed
 * process is one that takes no further step.  Spin tries all orders, so in some the others continue without it.
 *
 * T1 and T2 are how often two takers take a number, P1 and P2 how often two publishers fetch a range.  CMakeLists.txt
 * runs several combinations, because all of them at once have too many states.  Spin must find each of these mistakes:
 *   READS_TORN         the range's tag is not checked after its words were read
 *   SWITCHES_BLINDLY   the cursor is set to the next range without checking its present value
 *   WRITES_UNMARKED    a range keeps its old tag while its words are written
 *   CLOSES_TORN        the closer reads the rest of the range before it closes, instead of in one step
 */
#define COUNT 2
#define PLACES 2  /* VS_RANGES */
#define NUMBERS 8
#define WRITING 64
#define ENDED 255
#define BIAS 1    /* a segment begins with the empty generation 1 */

byte generation = BIAS, offset = 0; /* one word */
bool closed = false;

byte next = BIAS, drawn = BIAS, granted = 0;
byte tag[PLACES], first[PLACES], count[PLACES];
bool taken[NUMBERS];
bool given_back[NUMBERS];

inline take_number(n) {
    assert(!taken[n]);
    assert(!given_back[n]);
    taken[n] = true;
}

/* vs_segment_take of one number, and cursor_move_on.  `dry` is omitted, because it only saves work */
proctype taker(byte tries) {
    byte at, off, f, c, g, n;
    bool was_closed;
    do
    :: tries > 0 ->
        tries--;
        atomic { at = generation; off = offset; was_closed = closed; offset = (offset < 6 -> offset + 1 : offset) }
        if
        :: was_closed -> break
        :: else
        fi;
        c = count[at % PLACES];
        f = first[at % PLACES];
#ifdef READS_TORN
        g = at;
#else
        g = tag[at % PLACES];
#endif
        if
        :: g == at && off < c ->
            d_step { take_number(f + off) }
        :: else ->
            n = next;
            if
            :: n != ENDED && n > at ->
                /* the loop of the CAS as one step: it ends if the generation has changed or the CAS succeeds */
                atomic {
                    if
#ifdef SWITCHES_BLINDLY
                    :: !closed -> generation = n; offset = 0
#else
                    :: !closed && generation == at -> generation = n; offset = 0
#endif
                    :: else
                    fi
                }
            :: else
            fi
        fi
    :: tries == 0 -> break
    od
}

/* A refill, and vs_segment_publish with cursor_take_place and write_range.  A range that is not needed stays unused. */
proctype publisher(byte tries) {
    byte n, current, mine, begin, t;
    bool was_closed, done;
    do
    :: tries > 0 ->
        tries--;
        atomic { begin = granted * COUNT; granted++ }
        n = next;
        atomic { current = generation; was_closed = closed }
        if
        :: was_closed || n == ENDED -> break
        :: n > current -> skip /* one is ready */
        :: else ->
            atomic { drawn++; mine = drawn }
            t = tag[mine % PLACES];
            atomic {
                done = (t < WRITING && t < current && tag[mine % PLACES] == t);
                if
#ifdef WRITES_UNMARKED
                :: done -> skip
#else
                :: done -> tag[mine % PLACES] = mine + WRITING
#endif
                :: else
                fi
            }
            if
            :: done ->
                first[mine % PLACES] = begin;
                count[mine % PLACES] = COUNT;
                tag[mine % PLACES] = mine;
                atomic {
                    if
                    :: next == n -> next = mine
                    :: else
                    fi
                }
            :: else
            fi
        fi
    :: tries == 0 -> break
    od
}

/* vs_segment_close: returns the rest of the current range, and the next range. */
proctype closer() {
    byte at, off, n, i;
#ifdef CLOSES_TORN
    atomic { at = generation; off = offset }
    closed = true;
#else
    atomic { at = generation; off = offset; closed = true }
#endif
    atomic { n = next; next = ENDED }
    d_step {
        if
        :: n > at && n != ENDED ->
            i = 0;
            do
            :: i < count[n % PLACES] -> assert(!taken[first[n % PLACES] + i]); given_back[first[n % PLACES] + i] = true; i++
            :: else -> break
            od
        :: else
        fi;
        if
        :: tag[at % PLACES] == at ->
            i = off;
            do
            :: i < count[at % PLACES] -> assert(!taken[first[at % PLACES] + i]); given_back[first[at % PLACES] + i] = true; i++
            :: else -> break
            od
        :: else
        fi
    }
}

init {
    atomic {
        tag[BIAS % PLACES] = BIAS;
        run taker(T1);
        run taker(T2);
        run publisher(P1);
        run publisher(P2);
#ifdef CLOSER
        run closer();
#endif
        skip
    }
}
