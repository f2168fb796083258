/* crowd.c -- counts the numbers of segments under load: threads, processes, forks, kill -9, and two databases of which
 * one is unreachable.  segment_crowd [PART OF A CLAIM [TIMES]]: TIMES multiplies the numbers and kills of a test. */
#include "counters.h"
#include "keeper/segment/counter.h"

#include <fcntl.h>
#include <sys/syscall.h>

#define EACH (2000 * times)
static size_t times = 1;
static struct vesta_segment_opts opts;

static void start(int databases, uint64_t step) {
    static char uris[2][200];
    empty_folder();
    tally_clear();
    mkdir(in_folder("maps"), 0700);
    setenv("VESTA_MAPS", in_folder("maps"), 1);
    opts = (struct vesta_segment_opts)VESTA_SEGMENT_OPTS_INIT;
    opts.tag = "orders";
    opts.step_max = step;
    for (int i = 0; i < databases; i++) {
        snprintf(uris[i], sizeof uris[i], "%s", uri_of(i ? "two.db" : "one.db"));
        opts.stores[i] = uris[i];
        add_tag(uris[i], "orders", 1, step);
    }
}

/* Draws numbers one by one, in batches, and without waiting. */
static void draw(struct vesta_segment *seg, size_t count, uint64_t dice) {
    struct vesta_numbers got;
    struct vesta_pause pause;
    uint64_t numbers[64];
    while (count > 0) {
        uint64_t way = roll_below(&dice, 3), n = 1 + roll_below(&dice, 20);
        got = (struct vesta_numbers){0, 1, 1};
        if (way == 0 && vesta_segment_batch_wait(seg, n, &got, LONG_US, &pause) != VESTA_OK) {
            CHECK_FAIL("no batch: %s", vesta_why_name(pause.why));
            return;
        }
        if (way == 1 && vesta_segment_next_n(seg, n, &got, &pause) != VESTA_OK) way = 2;
        if (way == 2 && !(got.first = number_of(seg))) return;
        for (uint64_t i = 0; i < got.count; i++)
            numbers[i] = got.first + i * got.stride;
        tally_add(numbers, got.count);
        count -= got.count < count ? got.count : count;
    }
}

static void open_and_draw(uint64_t dice) {
    struct vesta_segment *seg = must_open_segment(opts);
    draw(seg, EACH, dice);
    vesta_segment_close(seg);
}

/* ------------------------------------------------------------------ threads, processes, forks */

static struct vesta_segment *shared;

static void *draw_shared(void *dice) {
    draw(shared, EACH, *(uint64_t *)dice);
    return NULL;
}

static void threads_of_a_process(void) {
    pthread_t threads[4];
    uint64_t dice[4] = {1, 2, 3, 4};
    start(1, 500);
    shared = must_open_segment(opts);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, draw_shared, &dice[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    vesta_segment_close(shared);
    check_tally(4 * EACH);
}

static void processes_of_a_host(void) {
    pid_t pids[6];
    start(1, 500);
    for (uint64_t i = 0; i < 6; i++)
        pids[i] = spawn(open_and_draw, i);
    for (int i = 0; i < 6; i++)
        reap(pids[i], false);
    check_tally(6 * EACH);
    /* all share one cursor: all granted numbers were used, except two ranges and numbers that batches dropped */
    uint64_t granted = counter_at(opts.stores[0], "orders") - 1, used = atomic_load(&tally->used);
    if (granted > used + used / 10 + 2000) CHECK_FAIL("%" PRIu64 " numbers were granted for %" PRIu64, granted, used);
}

/* A sanitizer's runtime does not support a fork next to a thread: it loses its locks and the threads that it knows. */
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define FORKS_BESIDE_THREADS
static void draw_inherited(uint64_t dice) {
    draw(shared, EACH / 4, dice);
    vesta_segment_close(shared);
}

static void forks_of_a_process_at_work(void) {
    pid_t pids[8];
    start(2, 200);
    shared = must_open_segment(opts);
    uint64_t dice = 9;
    pthread_t thread;
    pthread_create(&thread, NULL, draw_shared, &dice); /* so that calls to the databases are in progress */
    for (uint64_t i = 0; i < 8; i++)
        pids[i] = spawn(draw_inherited, i);
    for (int i = 0; i < 8; i++)
        reap(pids[i], false);
    pthread_join(thread, NULL);
    vesta_segment_close(shared);
    check_tally(EACH + 8 * (EACH / 4));
}
#endif

#ifdef FORKS_BESIDE_THREADS
/* clone(2) without libc: no fork handler runs, and the child may only use memory.  A tenth of a range is more than all
 * children take, so no child requests the next one. */
static void raw_clones(void) {
    enum { CLONES = 4, TAKEN = 2000 };
    static uint64_t numbers[TAKEN];
    struct vesta_pause pause;
    long pids[CLONES];
    start(1, 1000000);
    shared = must_open_segment(opts);
    numbers[0] = number_of(shared);
    tally_add(numbers, 1);
    for (int i = 0; i < CLONES; i++) {
        pids[i] = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (pids[i] != 0) continue;
        size_t have = 0;
        for (int tries = 0; have < TAKEN && tries < 10000000; tries++)
            have += vesta_segment_next(shared, &numbers[have], &pause) == VESTA_OK;
        tally_add(numbers, have);
        syscall(SYS_exit_group, have == TAKEN ? 0 : 9);
    }
    for (int n = 0; n < TAKEN; n++)
        numbers[n] = number_of(shared);
    tally_add(numbers, TAKEN);
    for (int i = 0; i < CLONES; i++)
        reap((pid_t)pids[i], false);
    vesta_segment_close(shared);
    check_tally(1 + (CLONES + 1) * TAKEN);
}
#endif

/* ------------------------------------------------------------------ kills */

static void draw_for_ever(uint64_t dice) {
    struct vesta_segment *seg = must_open_segment(opts);
    for (;;)
        draw(seg, 100, dice++);
}

static void processes_that_are_killed(void) {
    pid_t pids[3];
    uint64_t dice = 5;
    start(2, 100);
    for (uint64_t i = 0; i < 3; i++)
        pids[i] = spawn(draw_for_ever, i);
    for (size_t kill_number = 0; kill_number < 30 * times; kill_number++) {
        size_t used = atomic_load(&tally->used), victim = kill_number % 3;
        AWAIT(atomic_load(&tally->used) > used + roll_below(&dice, 60)); /* the living ones continue */
        kill(pids[victim], SIGKILL);
        reap(pids[victim], true);
        pids[victim] = spawn(draw_for_ever, 100 + kill_number);
    }
    for (int i = 0; i < 3; i++) {
        kill(pids[i], SIGKILL);
        reap(pids[i], true);
    }
    check_tally(30 * times);
}

/* ------------------------------------------------------------------ a map that is truncated */

#ifdef FORKS_BESIDE_THREADS /* a sanitizer handles SIGBUS itself */
/* A program handles SIGBUS for its maps, as vesta does, and continues with new numbers. */
static void a_map_that_is_cut_short_is_followed_by_another(void) {
    start(1, 10);
    NEED(vs_guard_on() == 0);
    struct vesta_segment *seg = must_open_segment(opts);
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        for (int n = 0; n < 25; n++) {
            uint64_t number = number_of(seg);
            CHECK(number > last);
            last = number;
        }
        char name[VS_MAP_NAME_MAX];
        snprintf(name, sizeof name, "%s", atomic_load(&seg->live)->mapping.name);
        CHECK(truncate(name, 0) == 0);
    }
    CHECK(number_of(seg) > last);
    vesta_segment_close(seg);
}
#endif

/* ------------------------------------------------------------------ databases in another order */

/* Opens these databases, in this order, on another host.  Writes its error into text, or "" if it gets numbers. */
static void as_another_host(const char *maps, const char *const names[3], char *text, size_t size) {
    struct vesta_segment_opts named = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_pause pause;
    uint64_t number;
    static char uris[3][200];
    named.tag = "orders";
    for (int i = 0; i < 3 && names[i]; i++) {
        snprintf(uris[i], sizeof uris[i], "%s", uri_of(names[i]));
        named.stores[i] = uris[i];
    }
    mkdir(in_folder(maps), 0700);
    setenv("VESTA_MAPS", in_folder(maps), 1);
    struct vesta_segment *seg = must_open_segment(named);
    text[0] = '\0';
    while (!strstr(text, "their original order")) {
        if (vesta_segment_next_wait(seg, &number, 100000, &pause) == VESTA_OK) {
            text[0] = '\0';
            break;
        }
        vesta_segment_pause_text(seg, &pause, text, size);
    }
    vesta_segment_close(seg);
}

static void another_order_of_databases_is_refused(void) {
    char text[512];
    start(2, 10);
    add_tag(uri_of("three.db"), "orders", 1, 10);
    as_another_host("a", (const char *const[3]){"one.db", "two.db"}, text, sizeof text);
    CHECK_STR(text, "");
    uint64_t one = counter_at(uri_of("one.db"), "orders"), two = counter_at(uri_of("two.db"), "orders");
    as_another_host("b", (const char *const[3]){"two.db", "one.db"}, text, sizeof text);
    CHECK_HAS(text, " of 2 stores, and is now number ");
    as_another_host("c", (const char *const[3]){"two.db", "three.db"}, text, sizeof text); /* two.db refuses */
    CHECK_HAS(text, "this store was number 1 of 2 stores, and is now number 0 of 2");
    as_another_host("d", (const char *const[3]){"one.db", "two.db", "three.db"}, text, sizeof text);
    CHECK_HAS(text, " of 2 stores, and is now number ");
    CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), one);
    CHECK_EQ_U64(counter_at(uri_of("two.db"), "orders"), two);
    CHECK_EQ_U64(counter_at(uri_of("three.db"), "orders"), 1); /* nothing is taken from the others either */
    as_another_host("e", (const char *const[3]){"one.db", "two.db"}, text, sizeof text);
    CHECK_STR(text, "");
}

/* One of two databases, each alone.  Then both, next to a first host that listed only one. */
static void a_part_of_the_databases_is_refused(void) {
    char text[512];
    start(2, 10);
    add_tag(uri_of("three.db"), "orders", 1, 10);
    as_another_host("a", (const char *const[3]){"one.db", "two.db"}, text, sizeof text);
    CHECK_STR(text, "");
    uint64_t one = counter_at(uri_of("one.db"), "orders"), two = counter_at(uri_of("two.db"), "orders");
    as_another_host("b", (const char *const[3]){"one.db"}, text, sizeof text);
    CHECK_HAS(text, "this store was number 0 of 2 stores, and is now number 0 of 1");
    CHECK_HAS(text, "including number 1");
    as_another_host("c", (const char *const[3]){"two.db"}, text, sizeof text);
    CHECK_HAS(text, "including number 0");
    CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), one);
    CHECK_EQ_U64(counter_at(uri_of("two.db"), "orders"), two);
    as_another_host("d", (const char *const[3]){"three.db"}, text, sizeof text);
    CHECK_STR(text, "");
    as_another_host("e", (const char *const[3]){"three.db", "one.db"}, text, sizeof text);
    CHECK_HAS(text, "this store was number 0 of");
    CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), one);
}

/* ------------------------------------------------------------------ two databases, of which one is away */

/* Locks the database like a stopped process, so that calls time out. */
static void hold(uint64_t unused) {
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000000, .l_len = 512};
    int fd = open(opts.stores[0] + strlen(scheme), O_RDWR | O_CLOEXEC);
    (void)unused;
    while (fcntl(fd, F_SETLKW, &all) != 0)
        ;
    atomic_store(&tally->mark, 1);
    for (;;)
        pause();
}

static uint64_t ranges_of(struct vesta_segment *seg, int database) {
    struct vesta_segment_info info;
    vesta_segment_get_info(seg, &info);
    return info.database[database].ranges;
}

static void one_of_two_databases_is_away_and_comes_back(void) {
    start(2, 50);
    shared = must_open_segment(opts);
    while (ranges_of(shared, 0) < 2 || ranges_of(shared, 1) < 2)
        draw(shared, 20, 1);
    pid_t holder = spawn(hold, 0);
    AWAIT(atomic_load(&tally->mark));
    struct vesta_segment_info info;
    do
        draw(shared, 50, 2);
    while (vesta_segment_get_info(shared, &info), info.database[0].down == 0);
    uint64_t before = ranges_of(shared, 1);
    while (ranges_of(shared, 1) < before + 20) /* the other database continues */
        draw(shared, 50, 3);
    kill(holder, SIGKILL);
    reap(holder, true);
    before = ranges_of(shared, 0);
    while (ranges_of(shared, 0) < before + 2) { /* and it is tried again */
        draw(shared, 10, 4);
        usleep(1000);
    }
    vesta_segment_close(shared);
    check_tally(300); /* at least 20 ranges of 25 */
}

/* ------------------------------------------------------------------ order strict */

#define CALLS_MAX 200000

/* The calls of all processes, by one clock. */
static struct calls {
    _Atomic size_t used;
    struct call {
        int64_t began_us, ended_us; /* ended_us 0: killed during the call */
        uint64_t number;
    } call[CALLS_MAX];
} * calls;

static void *call_for_ever(void *self) {
    struct vesta_segment *seg = self;
    uint64_t dice = (uint64_t)now_us();
    for (;;) {
        usleep((useconds_t)roll_below(&dice, 1500)); /* a process with a whole range would use it for long */
        int64_t began_us = now_us();
        uint64_t number = number_of(seg);
        int64_t ended_us = now_us();
        size_t at = atomic_fetch_add(&calls->used, 1);
        if (at >= CALLS_MAX) return NULL;
        calls->call[at] = (struct call){began_us, ended_us, number};
    }
}

/* Each process is its own host: it shares no map. */
static void call_in_threads(uint64_t host) {
    pthread_t threads[2];
    char maps[32];
    snprintf(maps, sizeof maps, "host-%" PRIu64, host);
    mkdir(in_folder(maps), 0700);
    setenv("VESTA_MAPS", in_folder(maps), 1);
    struct vesta_segment *seg = must_open_segment(opts);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, call_for_ever, seg);
    call_for_ever(seg);
}

static int by_end(const void *a, const void *b) {
    int64_t x = ((const struct call *)a)->ended_us, y = ((const struct call *)b)->ended_us;
    return x < y ? -1 : x > y;
}

static int by_beginning(const void *a, const void *b) {
    int64_t x = ((const struct call *)a)->began_us, y = ((const struct call *)b)->began_us;
    return x < y ? -1 : x > y;
}

/* Each call's number must be above the numbers of all calls that ended before it began. */
static void check_order(size_t count) {
    static struct call ended[CALLS_MAX];
    size_t past = 0, wrong = 0;
    uint64_t most = 0;
    memcpy(ended, calls->call, count * sizeof *ended);
    qsort(ended, count, sizeof *ended, by_end);
    qsort(calls->call, count, sizeof *calls->call, by_beginning);
    for (size_t i = 0; i < count; i++) {
        const struct call *call = &calls->call[i];
        for (; past < count && ended[past].ended_us < call->began_us; past++)
            if (ended[past].number > most) most = ended[past].number;
        if (call->number && call->number <= most && wrong++ == 0)
            CHECK_FAIL("%" PRIu64 " was given after %" PRIu64, call->number, most);
        if (call->number) tally_add(&call->number, 1);
    }
    CHECK_EQ_U64(wrong, 0);
}

static void strict_numbers_grow_in_the_order_of_calls(void) {
    pid_t pids[3];
    start(1, 100);
    opts.order = VESTA_STRICT;
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    NEED(calls != MAP_FAILED);
    for (uint64_t i = 0; i < 3; i++)
        pids[i] = spawn(call_in_threads, i);
    for (size_t kill_number = 0; kill_number < 12 * times; kill_number++) {
        size_t used = atomic_load(&calls->used), victim = kill_number % 3;
        AWAIT(atomic_load(&calls->used) > used + 100);
        kill(pids[victim], SIGKILL);
        reap(pids[victim], true);
        pids[victim] = spawn(call_in_threads, victim);
    }
    for (int i = 0; i < 3; i++) {
        kill(pids[i], SIGKILL);
        reap(pids[i], true);
    }
    size_t count = atomic_load(&calls->used);
    check_order(count < CALLS_MAX ? count : CALLS_MAX);
    check_tally(1000 * times);
    munmap(calls, sizeof *calls);
}

static _Atomic bool is_busy;

/* Its thread checks the part again and again, also while the words are being closed. */
static void *keep_busy(void *self) {
    struct vs_segment_part *part = self;
    while (atomic_load(&is_busy)) {
        atomic_store(&part->wanted, 1);
        vs_database_poke(part->database);
        usleep(20);
    }
    return NULL;
}

static void that_a_rest_stays_unused_is_always_said(void) {
    struct vesta_error err = {.text = ""};
    pthread_t busy;
    start(1, 1000);
    struct vesta_segment *seg = must_open_segment(opts);
    atomic_store(&is_busy, true);
    CHECK(pthread_create(&busy, NULL, keep_busy, &seg->part[0]) == 0);
    for (int i = 0; i < 600; i++) {
        number_of(seg);
        raise_counter(uri_of("one.db"), "orders", 10);
        CHECK_EQ_I64(vesta_segment_release(seg, &err), VESTA_EIO);
    }
    atomic_store(&is_busy, false);
    pthread_join(busy, NULL);
    vesta_segment_close(seg);
}

static const struct check_case cases[] = {
    {"threads of a process take no number twice", threads_of_a_process},
    {"processes of a host share one cursor, and take no number twice", processes_of_a_host},
#ifdef FORKS_BESIDE_THREADS
    {"children that are forked while ranges are fetched take no number twice", forks_of_a_process_at_work},
    {"children by clone(2) take no number twice", raw_clones},
    {"a map that is truncated is replaced", a_map_that_is_cut_short_is_followed_by_another},
#endif
    {"numbers of killed processes are not issued again", processes_that_are_killed},
    {"databases in another order, or with an additional one, are refused", another_order_of_databases_is_refused},
    {"a host that lists only some of the databases is refused, whichever host comes first",
     a_part_of_the_databases_is_refused},
    {"one of two databases may be unreachable, and is tried again when it is back",
     one_of_two_databases_is_away_and_comes_back},
    {"an unused rest is reported, whatever its thread does in the meantime", that_a_rest_stays_unused_is_always_said},
    {"strict numbers rise in the order of calls, also across hosts with killed processes",
     strict_numbers_grow_in_the_order_of_calls},
};

int main(int argc, char **argv) {
    if (argc > 2) times = (size_t)atoi(argv[2]);
    return run_in_folder(cases, sizeof cases / sizeof *cases, argc > 1 && *argv[1] ? argv[1] : NULL);
}
