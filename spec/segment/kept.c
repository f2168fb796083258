/* kept.c -- tests segments through the API: opening on a database, giving back, stopping, notifications, and maps that
 * are used up or removed: segment_kept [PART OF A CLAIM [sqlite:|file:]]. */
#include "counters.h"
#include "keeper/segment/counter.h"
#include "os/lock.h"

#include <fcntl.h>

static struct vesta_segment_opts orders(void) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    opts.stores[0] = uri_of("one.db");
    opts.tag = "orders";
    return opts;
}

/* Creates a counter in an empty folder, with separate maps. */
static void start(uint64_t from, uint64_t step) {
    empty_folder();
    mkdir(in_folder("maps"), 0700);
    setenv("VESTA_MAPS", in_folder("maps"), 1);
    add_tag(uri_of("one.db"), "orders", from, step);
}

/* ------------------------------------------------------------------ one process */

static void numbers_follow_each_other(void) {
    start(5, 10);
    struct vesta_segment *seg = must_open_segment(orders());
    for (uint64_t want = 5; want < 100; want++)
        CHECK_EQ_U64(number_of(seg), want);
    vesta_segment_close(seg);
}

static void a_call_that_does_not_wait_pauses_until_a_range_came(void) {
    struct vesta_pause pause = {.why = 0};
    uint64_t number = 77;
    start(1, 10);
    struct vesta_segment *seg = must_open_segment(orders());
    CHECK_EQ_I64(vesta_segment_next(seg, &number, &pause), VESTA_EPAUSE);
    CHECK_EQ_U64(pause.why, VESTA_RANGE);
    CHECK_STR(vesta_why_name(pause.why), "range");
    CHECK_EQ_U64(number, 77);
    AWAIT(vesta_segment_next(seg, &number, &pause) == VESTA_OK);
    CHECK_EQ_U64(number, 1);
    vesta_segment_close(seg);
}

static void a_segment_that_is_opened_again_goes_on(void) {
    start(1, 100);
    struct vesta_segment *seg = must_open_segment(orders()), *same = must_open_segment(orders());
    CHECK(seg == same);
    CHECK_EQ_U64(number_of(seg), 1);
    vesta_segment_close(same);
    vesta_segment_close(seg);
    seg = must_open_segment(orders());
    CHECK_EQ_U64(number_of(seg), 2);
    vesta_segment_close(seg);
}

static void several_are_taken_at_once(void) {
    struct vesta_numbers got;
    struct vesta_pause pause;
    start(1, 50);
    struct vesta_segment *seg = must_open_segment(orders());
    CHECK_EQ_I64(vesta_segment_batch_wait(seg, 20, &got, LONG_US, &pause), VESTA_OK);
    CHECK_EQ_U64(got.first, 1);
    CHECK_EQ_U64(got.count, 20);
    CHECK_EQ_U64(got.stride, 1);
    CHECK_EQ_I64(vesta_segment_batch_wait(seg, 20, &got, LONG_US, &pause), VESTA_OK);
    CHECK_EQ_U64(got.first, 21);
    CHECK_EQ_I64(vesta_segment_batch_wait(seg, 20, &got, LONG_US, &pause), VESTA_OK); /* 41 to 50 are too few */
    CHECK_EQ_U64(got.first, 51);
    CHECK_EQ_I64(vesta_segment_next_n(seg, 1000, &got, &pause), VESTA_OK);
    CHECK_EQ_U64(got.first, 71);
    CHECK_EQ_U64(got.count, 30);
    vesta_segment_close(seg);
}

static void more_than_a_range_holds_is_refused_and_nothing_is_dropped(void) {
    struct vesta_numbers got = {.count = 0};
    struct vesta_pause pause;
    start(1, 50);
    struct vesta_segment *seg = must_open_segment(orders());
    CHECK_EQ_U64(number_of(seg), 1);
    CHECK_EQ_I64(vesta_segment_batch_wait(seg, 51, &got, LONG_US, &pause), VESTA_EFULL);
    CHECK_EQ_I64(vesta_segment_batch_wait(seg, VESTA_NUMBERS_MAX + 1, &got, LONG_US, &pause), VESTA_EFULL);
    CHECK_EQ_I64(vesta_segment_batch_wait(seg, UINT64_MAX, &got, LONG_US, &pause), VESTA_EFULL);
    CHECK_EQ_U64(got.count, 0);
    CHECK_EQ_U64(number_of(seg), 2);
    vesta_segment_close(seg);
}

static void who_waits_has_a_deadline_and_is_told_why(void) {
    struct vesta_pause pause = {.why = 0};
    char text[512];
    uint64_t number;
    start(1, 10);
    struct vesta_segment_opts opts = orders();
    opts.tag = "unknown";
    struct vesta_segment *seg = must_open_segment(opts);
    CHECK_EQ_I64(vesta_segment_next_wait(seg, &number, 1, &pause), VESTA_EPAUSE);
    CHECK_EQ_U64(pause.why, VESTA_RANGE);
    struct vesta_segment_info info;
    AWAIT((vesta_segment_get_info(seg, &info), info.database[0].refused > 0));
    AWAIT((vesta_segment_get_info(seg, &info), info.database[0].said[0]));
    vesta_segment_pause_text(seg, &pause, text, sizeof text);
    CHECK_HAS(text, "unknown");
    vesta_segment_close(seg);
}

/* ------------------------------------------------------------------ the end */

static void what_is_left_is_given_back(void) {
    struct vesta_error err = {.text = ""};
    start(1, 1000);
    struct vesta_segment *seg = must_open_segment(orders());
    for (int i = 0; i < 300; i++)
        number_of(seg);
    struct vesta_segment_info info;
    AWAIT((vesta_segment_get_info(seg, &info), info.next_left > 0)); /* the next range was fetched */
    if (vesta_segment_release(seg, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), 301);
    CHECK_EQ_U64(number_of(seg), 301); /* fetched again */
    vesta_segment_close(seg);
}

static void what_others_were_granted_above_is_not_given_back(void) {
    struct vesta_error err = {.text = ""};
    start(1, 1000);
    struct vesta_segment *seg = must_open_segment(orders());
    for (uint64_t want = 1; want <= 300; want++)
        CHECK_EQ_U64(number_of(seg), want);
    struct vesta_segment_info info;
    AWAIT((vesta_segment_get_info(seg, &info), info.next_left > 0)); /* two ranges are kept */
    uint64_t counter = counter_at(uri_of("one.db"), "orders");
    raise_counter(uri_of("one.db"), "orders", 10);
    CHECK_EQ_I64(vesta_segment_release(seg, &err), VESTA_EIO);
    CHECK_HAS(err.text, "kept for the next start");
    CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), counter + 10);
    vesta_segment_close(seg);
    seg = must_open_segment(orders());
    for (uint64_t want = 301; want < counter; want++)
        CHECK_EQ_U64(number_of(seg), want);
    CHECK_EQ_U64(number_of(seg), counter + 10);
    vesta_segment_close(seg);
}

/* Another host takes exactly the numbers that were put back, before the first process ends.  If the rest were put back
 * a second time, the counter would be lowered below the other host's numbers. */
static void a_rest_is_given_back_once(bool by_close) {
    static const char *const maps[] = {NULL, "/proc"};
    for (int lone = 0; lone < 2; lone++) {
        start(1, 1000);
        if (maps[lone]) setenv("VESTA_MAPS", maps[lone], 1);
        struct vesta_segment *seg = must_open_segment(orders());
        for (uint64_t want = 1; want <= 5; want++)
            CHECK_EQ_U64(number_of(seg), want);
        if (by_close) { /* closes the first of two handles */
            struct vesta_segment *same = must_open_segment(orders());
            CHECK(same == seg);
            vesta_segment_close(same);
        }
        for (int times = 0; times < 3; times++) {
            CHECK_EQ_I64(vesta_segment_release(seg, NULL), VESTA_OK);
            if (times == 0) CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), 6);
            if (times == 0) raise_counter(uri_of("one.db"), "orders", 995);
        }
        CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), 1001);
        vesta_segment_close(seg);
        CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), 1001);
    }
}

static void release_then_close(void) {
    a_rest_is_given_back_once(false);
}

static void close_then_release(void) {
    a_rest_is_given_back_once(true);
}

/* The child has a copy of its parent's memory, also of a rest that is being put back. */
static void a_childs_end_gives_nothing_of_its_parents_back(void) {
    start(1, 1000);
    struct vesta_segment *seg = must_open_segment(orders());
    CHECK_EQ_U64(number_of(seg), 1);
    struct vs_live *live = atomic_load(&seg->live);
    vs_segment_leave(seg);
    vs_process_lock();
    vs_live_take_rest(live, false);
    vs_process_unlock();
    pid_t child = fork();
    if (child == 0) {
        char said[VS_SAID_MAX];
        (void)vs_segment_give_back(seg, live, said);
        _exit(0);
    }
    reap(child, false);
    CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), 1001);
    vesta_segment_close(seg);
}

/* ------------------------------------------------------------------ what a clean stop remembers */

static void set_counter(uint64_t to) {
    nftw(in_folder("one.db"), remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    add_tag(uri_of("one.db"), "orders", to, 10);
}

static void a_clean_stop_remembers_what_was_granted(void) {
    struct vesta_pause pause = {.why = 0};
    uint64_t number = 0;
    start(1, 10);
    struct vesta_segment *seg = must_open_segment(orders());
    for (uint64_t want = 1; want <= 1500; want++)
        CHECK_EQ_U64(number_of(seg), want);
    CHECK_EQ_I64(vesta_segment_release(seg, NULL), VESTA_OK);
    vesta_segment_close(seg);
    CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), 1501);
    set_counter(1);
    seg = must_open_segment(orders());
    CHECK_EQ_I64(vesta_segment_next_wait(seg, &number, LONG_US, &pause), VESTA_EPAUSE);
    CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
    AWAIT(counter_at(uri_of("one.db"), "orders") >= 1501); /* above all granted numbers, including those put back */
    vesta_segment_close(seg);
    mkdir(in_folder("others"), 0700);
    setenv("VESTA_MAPS", in_folder("others"), 1);
    seg = must_open_segment(orders());
    CHECK(number_of(seg) >= 1501); /* another host does not repeat these numbers either */
    vesta_segment_close(seg);
}

/* A used-up map is replaced by another one, which also remembers the grants, even if its process was killed in
 * between. */
static void a_used_up_map_hands_on_what_was_granted(void) {
    struct vesta_pause pause = {.why = 0};
    struct vs_unused unused[2];
    uint64_t number = 0;
    int count;
    start(1, 10);
    struct vesta_segment *seg = must_open_segment(orders());
    CHECK_EQ_U64(number_of(seg), 1);
    struct vesta_segment_info info;
    AWAIT((vesta_segment_get_info(seg, &info), info.next_left > 0));
    pid_t child = fork();
    if (child == 0) {
        CHECK(vs_segment_close(atomic_load(&seg->words), unused, &count));
        _exit(0);
    }
    reap(child, false);
    vesta_segment_close(seg);
    set_counter(1);
    seg = must_open_segment(orders());
    vesta_segment_get_info(seg, &info);
    CHECK_EQ_U64(info.database[0].granted, 2); /* 2 to 20 were not issued, and are lost with that process */
    CHECK_EQ_I64(vesta_segment_next_wait(seg, &number, LONG_US, &pause), VESTA_EPAUSE);
    CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
    vesta_segment_close(seg);
}

static void where_there_is_no_memory_to_share_a_close_gives_back(void) {
    start(1, 1000);
    setenv("VESTA_MAPS", "/proc", 1);
    struct vesta_segment *seg = must_open_segment(orders());
    struct vesta_segment_info info;
    vesta_segment_get_info(seg, &info);
    CHECK_HAS(info.warning, "separate ranges");
    CHECK_EQ_U64(number_of(seg), 1);
    CHECK_EQ_U64(number_of(seg), 2);
    vesta_segment_close(seg);
    CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), 3);
}

/* ------------------------------------------------------------------ maps */

static struct vs_segment *words_of(struct vesta_segment *seg) {
    return atomic_load(&seg->words);
}

static void a_map_that_is_spent_is_followed_by_another(void) {
    start(1, 100);
    struct vesta_segment *seg = must_open_segment(orders());
    uint64_t last = number_of(seg);
    const struct vs_segment *spent = words_of(seg);
    atomic_store(&words_of(seg)->drawn, VS_GENERATION_MAX);
    while (words_of(seg) == spent) {
        uint64_t number = number_of(seg);
        CHECK(number > last);
        last = number;
    }
    CHECK(number_of(seg) > last);
    vesta_segment_close(seg);
}

static void remove_maps(void) {
    nftw(in_folder("maps"), remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    mkdir(in_folder("maps"), 0700);
}

static void a_map_that_was_removed_is_given_back_at_the_end(void) {
    start(1, 1000);
    struct vesta_segment *seg = must_open_segment(orders());
    CHECK_EQ_U64(number_of(seg), 1);
    remove_maps();
    CHECK_EQ_U64(number_of(seg), 2);
    vesta_segment_close(seg);
    CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), 3);
}

static void whose_orders_differ_share_no_map(void) {
    start(1, 1000);
    struct vesta_segment_opts other = orders();
    other.order = VESTA_STRICT;
    struct vesta_segment *seg = must_open_segment(orders()), *same_tag = must_open_segment(other);
    CHECK(seg != same_tag);
    CHECK_EQ_U64(number_of(seg), 1);
    CHECK_EQ_U64(number_of(same_tag), counter_at(uri_of("one.db"), "orders") - 1);
    vesta_segment_close(seg);
    vesta_segment_close(same_tag);
}

static void draw_one(uint64_t want) {
    struct vesta_segment *seg = must_open_segment(orders());
    CHECK_EQ_U64(number_of(seg), want);
    vesta_segment_close(seg);
}

static void a_handle_without_a_thread_takes_what_another_process_fetched(void) {
    struct vesta_pause pause = {.why = 0};
    struct vesta_error err = {.text = ""};
    uint64_t number = 0;
    char text[512];
    start(1, 10);
    struct vesta_segment_opts opts = orders();
    opts.flags = VESTA_NO_KEEPER;
    struct vesta_segment *seg = must_open_segment(opts);
    CHECK_EQ_I64(vesta_segment_next_wait(seg, &number, 1000, &pause), VESTA_EPAUSE);
    vesta_segment_pause_text(seg, &pause, text, sizeof text);
    CHECK_HAS(text, "Another process");
    vesta_segment_close(seg);
    reap(spawn(draw_one, 1), false);
    seg = must_open_segment(opts);
    CHECK_EQ_U64(number_of(seg), 2);
    CHECK_EQ_I64(vesta_segment_release(seg, &err), VESTA_EOPTION);
    vesta_segment_close(seg);
}

/* ------------------------------------------------------------------ being told */

static void is_ready(void *self) {
    atomic_fetch_add((_Atomic unsigned *)self, 1);
}

static void an_event_loop_is_told_of_a_range(void) {
    struct vesta_pause pause;
    uint64_t number;
    _Atomic unsigned told = 0;
    start(1, 3);
    struct vesta_segment *seg = must_open_segment(orders());
    vesta_segment_on_ready(seg, is_ready, &told);
    for (uint64_t want = 1; want < 40; want++) {
        unsigned before = atomic_load(&told);
        while (vesta_segment_next(seg, &number, &pause) != VESTA_OK) {
            AWAIT(atomic_load(&told) > before);
            before = atomic_load(&told);
        }
        CHECK_EQ_U64(number, want);
    }
    CHECK(atomic_load(&told) > 0);
    vesta_segment_on_ready(seg, NULL, NULL);
    vesta_segment_close(seg);
}

/* ------------------------------------------------------------------ a counter that went back */

/* Resumes like `vesta segments resume`, while no process here takes numbers. */
static void resume_beside(struct vesta_segment_opts opts, int even_lower) {
    opts.flags = VESTA_NO_KEEPER;
    struct vesta_segment *seg = must_open_segment(opts);
    CHECK_EQ_I64(vesta_segment_resume(seg, even_lower, NULL), VESTA_OK);
    vesta_segment_close(seg);
}

static void a_counter_that_went_back_stops_and_both_values_are_named(void) {
    struct vesta_pause pause = {.why = 0};
    struct vesta_error err = {.text = ""};
    char text[512];
    uint64_t number = 0;
    start(1000, 10);
    struct vesta_segment *seg = must_open_segment(orders());
    CHECK_EQ_U64(number_of(seg), 1000);
    struct vesta_segment_info info;
    AWAIT((vesta_segment_get_info(seg, &info), info.next_left > 0));
    set_counter(500);
    for (uint64_t want = 1001; want < 1020; want++)
        CHECK_EQ_U64(number_of(seg), want); /* granted numbers are issued */
    CHECK_EQ_I64(vesta_segment_next_wait(seg, &number, LONG_US, &pause), VESTA_EPAUSE);
    CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
    CHECK_EQ_I64(pause.wait_us, -1);
    vesta_segment_pause_text(seg, &pause, text, sizeof text);
    CHECK_HAS(text, "grants 500 again");
    CHECK_HAS(text, "below 1020");
    CHECK_EQ_I64(vesta_segment_release(seg, &err), VESTA_ENOTNOW);
    vesta_segment_close(seg);
    seg = must_open_segment(orders()); /* another process knows it as well */
    CHECK_EQ_I64(vesta_segment_next(seg, &number, &pause), VESTA_EPAUSE);
    CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
    AWAIT(counter_at(uri_of("one.db"), "orders") == 1020); /* no other host is granted its numbers from here on */
    vesta_segment_close(seg);
    set_counter(500);
    resume_beside(orders(), 0); /* the counter is still too low */
    seg = must_open_segment(orders());
    CHECK_EQ_I64(vesta_segment_next_wait(seg, &number, LONG_US, &pause), VESTA_EPAUSE);
    CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
    set_counter(2000);
    CHECK_EQ_I64(vesta_segment_resume(seg, 0, &err), VESTA_OK);
    CHECK_EQ_U64(number_of(seg), 2000);
    CHECK_EQ_I64(vesta_segment_resume(seg, 0, &err), VESTA_ENOTNOW);
    vesta_segment_close(seg);
}

static void a_person_may_lower_a_counter_all_the_same(void) {
    struct vesta_pause pause = {.why = 0};
    uint64_t number = 0;
    start(1000, 10);
    struct vesta_segment *seg = must_open_segment(orders());
    CHECK_EQ_U64(number_of(seg), 1000);
    set_counter(1);
    while (vesta_segment_next_wait(seg, &number, LONG_US, &pause) == VESTA_OK)
        CHECK(number > 1000 && number < 1100);
    CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
    AWAIT(counter_at(uri_of("one.db"), "orders") > 1000); /* raised above the numbers that this host was granted */
    vesta_segment_close(seg);
    resume_beside(orders(), 1);
    set_counter(1);
    seg = must_open_segment(orders());
    CHECK_EQ_U64(number_of(seg), 1);
    vesta_segment_close(seg);
}

/* A host that does not remember its grants would repeat the numbers of this one. */
static void a_counter_that_is_lowered_again_is_raised_again(void) {
    static const enum vesta_order each[] = {VESTA_TREND, VESTA_STRICT};
    for (size_t i = 0; i < 2; i++) {
        struct vesta_pause pause = {.why = 0};
        struct vesta_segment_opts opts = orders();
        uint64_t number = 0, granted;
        start(1000, 10);
        opts = orders();
        opts.order = each[i];
        struct vesta_segment *seg = must_open_segment(opts);
        number_of(seg);
        set_counter(1);
        while (vesta_segment_next_wait(seg, &number, LONG_US, &pause) == VESTA_OK)
            ;
        CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
        struct vesta_segment_info info;
        vesta_segment_get_info(seg, &info);
        granted = info.database[0].granted;
        CHECK(granted > 1000);
        for (int times = 0; times < 3; times++) {
            AWAIT(counter_at(uri_of("one.db"), "orders") >= granted);
            set_counter(1);
        }
        AWAIT(counter_at(uri_of("one.db"), "orders") >= granted);
        set_counter(5000); /* a higher counter is not changed */
        usleep(2 * VS_REFILL_RAISE_US);
        CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), 5000);
        vesta_segment_close(seg);
    }
}

/* The same database with another spelling of its URI. */
static const char *uri_again(const char *name) {
    static char uri[200];
    snprintf(uri, sizeof uri, "%s//%s", scheme, in_folder(name));
    return uri;
}

static void a_stores_spellings_share_one_memory(void) {
    struct vesta_pause pause = {.why = 0};
    struct vesta_error err = {.text = ""};
    uint64_t number = 0;
    start(1000, 10);
    struct vesta_segment_opts opts = orders(), again = orders();
    again.stores[0] = uri_again("one.db");
    struct vesta_segment *seg = must_open_segment(opts), *same = must_open_segment(again), *none;
    CHECK(seg == same);
    CHECK_STR(seg->anchor.header.store, opts.stores[0]); /* the spelling without slashes keeps its map */
    CHECK_STR(seg->part[0].database->uri, opts.stores[0]);
    vesta_segment_close(same);
    CHECK_EQ_U64(number_of(seg), 1000);
    set_counter(1);
    while (vesta_segment_next_wait(seg, &number, LONG_US, &pause) == VESTA_OK)
        ;
    CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
    AWAIT(counter_at(uri_of("one.db"), "orders") > 1000);
    resume_beside(again, 0);
    CHECK(number_of(seg) > 1000);
    vesta_segment_close(seg);
    opts.stores[1] = again.stores[0];
    CHECK_EQ_I64(vesta_segment_open(&opts, &none, &err), VESTA_EOPTION);
    CHECK_HAS(err.text, "are one");
}

/* ------------------------------------------------------------------ maps that are swept */

#define DAY_US (24 * 3600 * INT64_C(1000000))

static _Atomic int64_t later_us; /* how far this clock is ahead of the machine's */

static int64_t later_unix_us(void *self) {
    const struct vesta_clock *clock = vs_clock_system();
    (void)self;
    return clock->unix_us(clock->self) + atomic_load(&later_us);
}

static int64_t seen_us(const struct vesta_segment *seg) {
    const struct vs_segment_map *map = atomic_load(&seg->live)->mapping.at;
    return atomic_load(&map->seen_us);
}

/* A map that no process used for a week is removed, with its memory of grants. */
static void a_map_is_in_use_as_long_as_its_segment_is(void) {
    static const enum vesta_order each[] = {VESTA_TREND, VESTA_STRICT};
    struct vesta_clock clock = *vs_clock_system();
    clock.unix_us = later_unix_us;
    for (size_t i = 0; i < 2; i++) {
        start(1, 100000);
        atomic_store(&later_us, 0);
        struct vesta_segment_opts opts = orders();
        opts.order = each[i];
        opts.clock = &clock;
        struct vesta_segment *seg = must_open_segment(opts);
        number_of(seg);
        atomic_fetch_add(&later_us, 8 * DAY_US);
        number_of(seg); /* from a range that was fetched 8 days ago, or by a call to the store */
        AWAIT(seen_us(seg) > later_unix_us(NULL) - DAY_US); /* it holds even if this process is killed from here on */
        atomic_fetch_add(&later_us, 8 * DAY_US);
        AWAIT(seen_us(seg) > later_unix_us(NULL) - DAY_US); /* also while no number is taken */
        atomic_fetch_add(&later_us, 8 * DAY_US);
        int64_t seen = 0;
        int fd = open(seg->first.mapping.name, O_RDONLY | O_CLOEXEC);
        vesta_segment_close(seg);
        CHECK(pread(fd, &seen, sizeof seen, offsetof(struct vs_segment_map, seen_us)) == (ssize_t)sizeof seen);
        CHECK(seen > later_unix_us(NULL) - DAY_US);
        close(fd);
    }
}

/* ------------------------------------------------------------------ order strict */

static struct vesta_segment_opts strict(void) {
    struct vesta_segment_opts opts = orders();
    opts.order = VESTA_STRICT;
    return opts;
}

static void strict_takes_no_more_than_is_asked_for(void) {
    struct vesta_pause pause = {.why = 0};
    struct vesta_numbers got;
    uint64_t number = 0;
    start(1, 1000);
    struct vesta_segment *seg = must_open_segment(strict());
    for (uint64_t want = 1; want <= 20; want++)
        CHECK_EQ_U64(number_of(seg), want);
    CHECK_EQ_U64(counter_at(uri_of("one.db"), "orders"), 21);
    raise_counter(uri_of("one.db"), "orders", 100); /* like another host */
    CHECK_EQ_U64(number_of(seg), 121);
    CHECK_EQ_I64(vesta_segment_batch_wait(seg, 5000, &got, LONG_US, &pause), VESTA_OK);
    CHECK_EQ_U64(got.first, 122);
    CHECK_EQ_U64(got.count, 5000);
    CHECK_EQ_U64(got.stride, 1);
    CHECK_EQ_I64(vesta_segment_batch_wait(seg, VESTA_NUMBERS_MAX + 1, &got, LONG_US, &pause), VESTA_EFULL);
    CHECK_EQ_I64(vesta_segment_next(seg, &number, &pause), VESTA_EPAUSE);
    CHECK_EQ_U64(pause.why, VESTA_RANGE);
    CHECK_EQ_I64(vesta_segment_next_wait(seg, &number, 0, &pause), VESTA_EPAUSE);
    CHECK_EQ_U64(number_of(seg), 5122); /* no number was used */
    vesta_segment_close(seg);
}

static void strict_is_asked_and_answers(void) {
    struct vesta_pause pause;
    struct vesta_numbers got;
    uint64_t one = 0, two = 0;
    _Atomic unsigned told = 0;
    start(1, 1000);
    struct vesta_segment *seg = must_open_segment(strict());
    vesta_segment_on_ready(seg, is_ready, &told);
    CHECK_EQ_I64(vesta_segment_ask(seg, 3, &one), VESTA_OK);
    int rc;
    unsigned before = 0;
    while ((rc = vesta_segment_answer(seg, one, 3, &got, &pause)) == VESTA_EPAUSE) {
        AWAIT(atomic_load(&told) > before); /* a caller that was told to pause is notified */
        before = atomic_load(&told);
    }
    CHECK_EQ_I64(rc, VESTA_OK);
    CHECK_EQ_U64(got.first, 1);
    CHECK_EQ_U64(got.count, 3);
    CHECK_EQ_I64(vesta_segment_ask(seg, 1, &two), VESTA_OK);
    CHECK_EQ_I64(vesta_segment_await(seg, two, LONG_US), VESTA_OK);
    CHECK_EQ_I64(vesta_segment_answer(seg, two, 1, &got, &pause), VESTA_OK);
    CHECK_EQ_U64(got.first, 4);
    CHECK_EQ_I64(vesta_segment_await(seg, two + 1, 0), VESTA_EPAUSE); /* that one was not drawn */
    CHECK_EQ_I64(vesta_segment_ask(seg, 0, &two), VESTA_EFULL);
    CHECK_EQ_I64(vesta_segment_ask(seg, VESTA_NUMBERS_MAX + 1, &two), VESTA_EFULL);
    vesta_segment_on_ready(seg, NULL, NULL);
    vesta_segment_close(seg);
    seg = must_open_segment(orders());
    CHECK_EQ_I64(vesta_segment_ask(seg, 1, &two), VESTA_EOPTION);
    CHECK_EQ_I64(vesta_segment_answer(seg, 0, 1, &got, &pause), VESTA_EOPTION);
    CHECK_EQ_I64(vesta_segment_await(seg, 0, LONG_US), VESTA_EOPTION);
    vesta_segment_close(seg);
}

static void strict_sees_a_counter_that_went_back(void) {
    struct vesta_pause pause = {.why = 0};
    uint64_t number = 0, ticket;
    struct vesta_numbers got;
    char text[512];
    start(1000, 10);
    struct vesta_segment *seg = must_open_segment(strict());
    CHECK_EQ_U64(number_of(seg), 1000);
    set_counter(500);
    CHECK_EQ_I64(vesta_segment_next_wait(seg, &number, LONG_US, &pause), VESTA_EPAUSE);
    CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
    vesta_segment_pause_text(seg, &pause, text, sizeof text);
    CHECK_HAS(text, "grants 500 again");
    CHECK_HAS(text, "below 1001");
    CHECK_EQ_I64(vesta_segment_ask(seg, 1, &ticket), VESTA_OK);
    int rc = VESTA_EPAUSE;
    AWAIT((rc = vesta_segment_answer(seg, ticket, 1, &got, &pause)) != VESTA_EPAUSE);
    CHECK_EQ_I64(rc, VESTA_ENOTNOW);
    CHECK_EQ_U64(pause.why, VESTA_FAILSTOP);
    set_counter(2000);
    CHECK_EQ_I64(vesta_segment_resume(seg, 0, NULL), VESTA_OK);
    CHECK_EQ_U64(number_of(seg), 2000);
    vesta_segment_close(seg);
}

static uint64_t floor_of(void *self, int64_t unix_ms) {
    return unix_ms > 0 ? *(const uint64_t *)self : 0;
}

static void strict_has_a_floor(void) {
    uint64_t least = 10, other = 10;
    struct vesta_error err = {.text = ""};
    struct vesta_segment_opts opts = strict();
    struct vesta_segment *seg, *again;
    start(1, 1000);
    opts.floor = floor_of;
    opts.floor_self = &least;
    seg = must_open_segment(opts);
    CHECK_EQ_U64(number_of(seg), 10);
    CHECK_EQ_U64(number_of(seg), 11);
    opts.floor_self = &other;
    CHECK_EQ_I64(vesta_segment_open(&opts, &again, &err), VESTA_EOPTION);
    CHECK_HAS(err.text, "is already open with a different floor");
    vesta_segment_close(seg);
    opts.order = VESTA_TREND;
    CHECK_EQ_I64(vesta_segment_open(&opts, &again, &err), VESTA_EOPTION);
    CHECK_HAS(err.text, "a floor needs order strict");
}

/* ------------------------------------------------------------------ options */

static void refuses(struct vesta_segment_opts opts, const char *because) {
    struct vesta_error err = {.text = ""};
    struct vesta_segment *seg;
    CHECK_EQ_I64(vesta_segment_open(&opts, &seg, &err), VESTA_EOPTION);
    CHECK_HAS(err.text, because);
}

static void options_are_checked(void) {
    start(1, 10);
    static char too_long[70];
    memset(too_long, 'a', 65);
    static const char *const tags[] = {"", ".hidden", "a b", "a'; DROP TABLE leaf_alloc; --", "\xff", too_long};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        struct vesta_segment_opts opts = orders();
        opts.tag = tags[i];
        refuses(opts, "is not a tag");
    }
    struct vesta_segment_opts opts = orders();
    opts.tag = NULL;
    refuses(opts, "needs a tag");
    opts = orders(), opts.stores[0] = NULL;
    refuses(opts, "needs a store");
    opts = orders(), opts.stores[2] = opts.stores[0];
    refuses(opts, "stores[2] is set, but stores[1] is not");
    opts = orders(), opts.stores[1] = opts.stores[0];
    refuses(opts, "are one");
    opts = orders(), opts.stores[0] = "oracle:/x";
    refuses(opts, "oracle");
    opts = orders(), opts.step = UINT64_C(1) << 33;
    refuses(opts, "step 8589934592");
    opts = orders(), opts.step_max = UINT64_MAX;
    refuses(opts, "step_max");
    opts = orders(), opts.order = (enum vesta_order)7;
    refuses(opts, "order 7");
    opts = strict(), opts.stores[1] = uri_of("two.db");
    refuses(opts, "'orders' has 2");
    opts = orders(), opts.flags = 64;
    refuses(opts, "flags");
    opts = orders(), opts.table = "";
    refuses(opts, "table");
    opts = orders(), opts.group = "no-such-group";
    refuses(opts, "no-such-group");
    opts = orders(), opts.size = 3;
    refuses(opts, "VESTA_SEGMENT_OPTS_INIT");
}

static const struct check_case cases[] = {
    {"numbers are consecutive across ranges", numbers_follow_each_other},
    {"a call that does not wait pauses until a range is fetched", a_call_that_does_not_wait_pauses_until_a_range_came},
    {"a segment that is opened again continues where it was", a_segment_that_is_opened_again_goes_on},
    {"several numbers of one range are taken together", several_are_taken_at_once},
    {"a request for more than a range is refused, and no number is dropped",
     more_than_a_range_holds_is_refused_and_nothing_is_dropped},
    {"a waiting caller has a deadline, and gets the reason if there is no number",
     who_waits_has_a_deadline_and_is_told_why},
    {"the rest of a range is given back", what_is_left_is_given_back},
    {"a rest is not given back if another host was granted numbers above it",
     what_others_were_granted_above_is_not_given_back},
    {"a rest is given back once by a release and a following close", release_then_close},
    {"a rest is given back once by a close and following releases", close_then_release},
    {"the end of a child gives back nothing of its parent's", a_childs_end_gives_nothing_of_its_parents_back},
    {"a clean stop remembers the grants", a_clean_stop_remembers_what_was_granted},
    {"a used-up map passes its grants on", a_used_up_map_hands_on_what_was_granted},
    {"without shared memory, a close gives the rest back", where_there_is_no_memory_to_share_a_close_gives_back},
    {"a map that is used up is replaced", a_map_that_is_spent_is_followed_by_another},
    {"the rest in a removed map is given back at the end", a_map_that_was_removed_is_given_back_at_the_end},
    {"segments with different orders share no map", whose_orders_differ_share_no_map},
    {"a handle without a thread takes numbers that another process fetched",
     a_handle_without_a_thread_takes_what_another_process_fetched},
    {"an event loop is notified of a range", an_event_loop_is_told_of_a_range},
    {"after a counter went back the segment stops, and names both values",
     a_counter_that_went_back_stops_and_both_values_are_named},
    {"a person may lower a counter deliberately", a_person_may_lower_a_counter_all_the_same},
    {"a counter that is lowered again after the stop is raised again", a_counter_that_is_lowered_again_is_raised_again},
    {"spellings of one store share one memory", a_stores_spellings_share_one_memory},
    {"a map counts as used while its segment is open", a_map_is_in_use_as_long_as_its_segment_is},
    {"strict takes no more than requested", strict_takes_no_more_than_is_asked_for},
    {"strict can be requested and polled without waiting", strict_is_asked_and_answers},
    {"strict detects a counter that went back", strict_sees_a_counter_that_went_back},
    {"strict issues no number below its floor", strict_has_a_floor},
    {"each option is checked, and errors name it", options_are_checked},
};

int main(int argc, char **argv) {
    if (argc > 2) scheme = argv[2];
    return run_in_folder(cases, sizeof cases / sizeof *cases, argc > 1 && *argv[1] ? argv[1] : NULL);
}
