/* counters.c -- tests a store's counters against the contract in store.h: store_counters URI [TABLE [PART OF A CLAIM]].
 * TABLE "-" is the store's default table.  Each case uses its own tags. */
#include "shares.h"
#include "tagged.h"

static enum vs_outcome take(struct vs_store *store, const char *tag, uint64_t step) {
    store->counters->take(store, &(struct vs_counter){table, tag}, step, &reply);
    return reply.outcome;
}

static enum vs_outcome untake(struct vs_store *store, const char *tag, uint64_t from, uint64_t until) {
    store->counters->untake(store, &(struct vs_counter){table, tag}, from, until, &reply);
    return reply.outcome;
}

static enum vs_outcome add(struct vs_store *store, const char *tag, uint64_t from, uint64_t step) {
    store->counters->tag_add(store, &(struct vs_counter){table, tag}, from, step, &reply);
    return reply.outcome;
}

static enum vs_outcome lift(struct vs_store *store, const char *tag, uint64_t floor) {
    store->counters->lift(store, &(struct vs_counter){table, tag}, floor, &reply);
    return reply.outcome;
}

static enum vs_outcome set_step(struct vs_store *store, const char *tag, uint64_t step) {
    store->counters->tag_step(store, &(struct vs_counter){table, tag}, step, &reply);
    return reply.outcome;
}

#define GRANTED(from_, until_)                                                                                         \
    do {                                                                                                               \
        CHECK_EQ_U64(reply.grant.from, (from_));                                                                       \
        CHECK_EQ_U64(reply.grant.until, (until_));                                                                     \
    } while (0)

static struct vs_tag tag_of(struct vs_store *store, const char *tag) {
    struct vs_tag_list list = {.rows = NULL};
    struct vs_tag found = {.tag = ""};
    store->counters->tags(store, table, &list, &reply);
    if (reply.outcome != VS_STORE_OK) CHECK_FAIL("tags: %s", reply.text);
    for (size_t i = 0; i < list.count; i++) {
        const char *why;
        const struct vs_tag *row = vs_tag_usable(&list.rows[i], &why);
        if (row && strcmp(row->tag, tag) == 0) found = *row;
    }
    free(list.rows);
    return found;
}

/* ------------------------------------------------------------------ one caller */

static void a_take_grants_what_it_passes_over(void) {
    struct vs_store *store = fresh(1);
    IS(take(store, tag_name, 0), VS_STORE_OK);
    GRANTED(1, 11);
    CHECK_EQ_U64(reply.grant.step, 10);
    CHECK_EQ_U64(reply.grant.delta, 1);
    CHECK_EQ_U64(reply.grant.remainder, 0);
    CHECK_STR(reply.text, "");
    IS(take(store, tag_name, 5), VS_STORE_OK);
    GRANTED(11, 16);
    CHECK_EQ_U64(reply.grant.step, 10); /* the row's own step, whatever was requested */
    IS(take(store, tag_name, VS_RANGE_MAX), VS_STORE_OK);
    GRANTED(16, 16 + VS_RANGE_MAX);
    IS(set_step(store, tag_name, 7), VS_STORE_OK);
    IS(take(store, tag_name, 0), VS_STORE_OK);
    GRANTED(16 + VS_RANGE_MAX, 23 + VS_RANGE_MAX);
    CHECK_EQ_U64(reply.grant.step, 7);
    store->backend->close(store);
    store = opened(); /* as another process sees it */
    IS(take(store, tag_name, 1), VS_STORE_OK);
    GRANTED(23 + VS_RANGE_MAX, 24 + VS_RANGE_MAX);
    store->backend->close(store);
}

static void an_unknown_tag_says_the_next_step(void) {
    struct vs_store *store = fresh(1);
    char unknown[80], todo[160];
    snprintf(unknown, sizeof unknown, "%s.x", tag_name);
    snprintf(todo, sizeof todo, "vesta segments add %s", unknown);
    IS(take(store, unknown, 0), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, todo);
    IS(take(store, unknown, 5), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, todo);
    IS(set_step(store, unknown, 5), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, todo);
    IS(untake(store, unknown, 1, 5), VS_STORE_CONFLICT);
    memset(unknown, 'x', 64);
    unknown[64] = '\0';
    IS(take(store, unknown, 5), VS_STORE_REFUSED);
    snprintf(todo, sizeof todo, "vesta segments add %s", unknown);
    CHECK_HAS(reply.text, todo);               /* the longest name is not cut, and the remedy is there */
    CHECK_STR(tag_of(store, unknown).tag, ""); /* no tag was created */
    store->backend->close(store);
}

static void a_tag_is_made_once(void) {
    struct vs_store *store = fresh(100);
    IS(add(store, tag_name, 1, 10), VS_STORE_CONFLICT);
    IS(add(store, tag_name, 500, 20), VS_STORE_CONFLICT);
    IS(take(store, tag_name, 0), VS_STORE_OK);
    GRANTED(100, 110);
    char zero[80];
    snprintf(zero, sizeof zero, "%s.0", tag_name);
    IS(add(store, zero, 0, 1), VS_STORE_OK);
    IS(take(store, zero, 0), VS_STORE_OK);
    GRANTED(0, 1);
    store->backend->close(store);
}

static void hostile_names_are_refused(void) {
    static const char *const names[] = {
        "",     ".",    "..",  ".x", "a b", "a/b",      "../../etc", "a'b",  "'; DROP TABLE leaf_alloc; -- ",
        "a\"b", "a\\b", "a%b", "a*", "a\n", "\xc3\xa4", "\xff",      "a\x7f"};
    struct vs_store *store = fresh(1);
    char lengthy[70];
    memset(lengthy, 'x', 65);
    lengthy[65] = '\0';
    for (size_t i = 0; i <= VS_COUNT(names); i++) {
        const char *name = i < VS_COUNT(names) ? names[i] : lengthy;
        IS(take(store, name, 5), VS_STORE_REFUSED);
        CHECK_HAS(reply.text, "is not a valid tag: use");
        IS(untake(store, name, 1, 5), VS_STORE_REFUSED);
        IS(add(store, name, 1, 10), VS_STORE_REFUSED);
        CHECK_HAS(reply.text, "is not a valid tag: use");
        IS(set_step(store, name, 10), VS_STORE_REFUSED);
    }
    lengthy[64] = '\0';
    IS(take(store, lengthy, 5), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "does not exist");
    IS(take(store, tag_name, 1), VS_STORE_OK);
    GRANTED(1, 2);
    store->backend->close(store);
}

static void hostile_tables_are_refused(void) {
    static const char *const names[] = {"", "a b", "a\"b", "a`b", "leaf_alloc; DROP", "../x", "x/y", "\xc3\xa4"};
    struct vs_store *store = fresh(1);
    for (size_t i = 0; i < VS_COUNT(names); i++) {
        struct vs_tag_list list = {.rows = NULL};
        const struct vs_counter counter = {names[i], tag_name};
        store->counters->take(store, &counter, 5, &reply);
        IS(reply.outcome, VS_STORE_REFUSED);
        store->counters->tag_add(store, &counter, 1, 5, &reply);
        IS(reply.outcome, VS_STORE_REFUSED);
        store->counters->untake(store, &counter, 1, 5, &reply);
        IS(reply.outcome, VS_STORE_REFUSED);
        store->counters->tag_step(store, &counter, 5, &reply);
        IS(reply.outcome, VS_STORE_REFUSED);
        store->counters->tags(store, names[i], &list, &reply);
        IS(reply.outcome, VS_STORE_REFUSED);
        CHECK(list.count == 0);
    }
    store->backend->close(store);
}

static void no_counter_passes_its_end(void) {
    struct vs_store *store = fresh(VS_NUMBER_MAX - 3);
    IS(take(store, tag_name, 4), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "2^63 - 1");
    CHECK_HAS(reply.text, tag_name);
    IS(take(store, tag_name, 0), VS_STORE_REFUSED);
    IS(take(store, tag_name, VS_RANGE_MAX), VS_STORE_REFUSED);
    IS(take(store, tag_name, 3), VS_STORE_OK);
    GRANTED(VS_NUMBER_MAX - 3, VS_NUMBER_MAX);
    IS(take(store, tag_name, 1), VS_STORE_REFUSED);
    IS(untake(store, tag_name, VS_NUMBER_MAX - 1, VS_NUMBER_MAX), VS_STORE_OK);
    IS(take(store, tag_name, 1), VS_STORE_OK);
    GRANTED(VS_NUMBER_MAX - 1, VS_NUMBER_MAX);
    char other[80];
    snprintf(other, sizeof other, "%s.x", tag_name);
    static const uint64_t froms[] = {VS_NUMBER_MAX, VS_NUMBER_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < VS_COUNT(froms); i++)
        IS(add(store, other, froms[i], 1), VS_STORE_REFUSED);
    static const uint64_t steps[] = {0, VS_RANGE_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < VS_COUNT(steps); i++) {
        IS(add(store, other, 1, steps[i]), VS_STORE_REFUSED);
        IS(set_step(store, tag_name, steps[i]), VS_STORE_REFUSED);
        CHECK_HAS(reply.text, "a step of");
    }
    store->backend->close(store);
}

static void what_is_left_goes_back_only_from_its_end(void) {
    struct vs_store *store = fresh(1), *other = opened();
    IS(take(store, tag_name, 10), VS_STORE_OK); /* [1, 11) */
    IS(untake(store, tag_name, 5, 10), VS_STORE_CONFLICT);
    IS(untake(store, tag_name, 5, 12), VS_STORE_CONFLICT);
    IS(untake(store, tag_name, 5, 11), VS_STORE_OK);
    IS(untake(store, tag_name, 5, 11), VS_STORE_CONFLICT); /* only once */
    IS(take(other, tag_name, 6), VS_STORE_OK);
    GRANTED(5, 11);
    IS(take(other, tag_name, 10), VS_STORE_OK); /* [11, 21): the counter's end is above the first range now */
    IS(untake(store, tag_name, 5, 11), VS_STORE_CONFLICT);
    IS(take(store, tag_name, 1), VS_STORE_OK);
    GRANTED(21, 22);
    CHECK_EQ_I64(tag_of(store, tag_name).max, 22);
    CHECK_EQ_I64(tag_of(store, tag_name).step, 10); /* unchanged */
    other->backend->close(other);
    store->backend->close(store);
}

static void names_that_look_alike(void) {
    static const char *const tails[] = {"A", "a", ".", "_", "-", ":", "00", "0"};
    struct vs_store *store = fresh(1);
    char names[VS_COUNT(tails)][80];
    for (uint64_t i = 0; i < VS_COUNT(tails); i++) {
        snprintf(names[i], sizeof names[i], "%s%s", tag_name, tails[i]);
        enum vs_outcome outcome = add(store, names[i], 1000 * (i + 1), 10);
        /* if the table's collation treats two names as equal, the second one is rejected */
        if (i == 1 && outcome == VS_STORE_CONFLICT) names[i][0] = '\0';
        CHECK(outcome == VS_STORE_OK || !names[i][0]);
    }
    for (uint64_t i = 0; i < VS_COUNT(tails); i++) {
        if (!names[i][0]) continue;
        IS(take(store, names[i], 1), VS_STORE_OK);
        GRANTED(1000 * (i + 1), 1000 * (i + 1) + 1);
    }
    IS(take(store, tag_name, 1), VS_STORE_OK);
    GRANTED(1, 2);
    store->backend->close(store);
}

static void a_lift_never_lowers(void) {
    struct vs_store *store = fresh(5);
    uint64_t far = UINT64_C(20779) << 40; /* further than the longest range */
    IS(lift(store, tag_name, 5), VS_STORE_OK);
    IS(lift(store, tag_name, 0), VS_STORE_OK);
    CHECK_EQ_I64(tag_of(store, tag_name).max, 5);
    IS(lift(store, tag_name, 6), VS_STORE_OK);
    IS(take(store, tag_name, 0), VS_STORE_OK);
    GRANTED(6, 16);
    IS(lift(store, tag_name, far), VS_STORE_OK);
    CHECK_STR(reply.text, "");
    IS(lift(store, tag_name, far), VS_STORE_OK);
    IS(lift(store, tag_name, 16), VS_STORE_OK);
    IS(take(store, tag_name, 3), VS_STORE_OK);
    GRANTED(far, far + 3);
    IS(untake(store, tag_name, 10, 16), VS_STORE_CONFLICT); /* the rest of an earlier range is not reused */
    CHECK_EQ_I64(tag_of(store, tag_name).step, 10);
    IS(lift(store, tag_name, VS_NUMBER_MAX), VS_STORE_REFUSED);
    IS(lift(store, tag_name, UINT64_MAX), VS_STORE_REFUSED);
    IS(lift(store, tag_name, VS_NUMBER_MAX - 1), VS_STORE_OK);
    IS(lift(store, "nobody's", 7), VS_STORE_REFUSED);
    IS(lift(store, "nobody", 7), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "vesta segments add nobody");
    store->backend->close(store);
}

/* A floor with a value that the case sets.  It keeps the instant for which it was asked. */
struct said {
    uint64_t least, long_ago;
    int64_t asked_ms;
};

static uint64_t say_least(void *self, int64_t unix_ms) {
    struct said *said = self;
    if (unix_ms < INT64_C(1000000000000)) return said->long_ago;
    said->asked_ms = unix_ms;
    return said->least;
}

static enum vs_outcome take_above(struct vs_store *store, const char *tag, uint64_t step, struct said *said) {
    const struct vs_floor floor = {.at = say_least, .self = said};
    vs_store_take(store, &(struct vs_counter){table, tag}, step, &floor, &reply);
    return reply.outcome;
}

static void a_floor_is_asked_by_the_stores_clock(void) {
    struct vs_store *store = fresh(1);
    uint64_t far = UINT64_C(20779) << 40;
    struct said said = {.least = 1};
    int64_t begun_ms = vs_clock_system()->unix_us(NULL) / 1000;
    IS(take_above(store, tag_name, 3, &said), VS_STORE_OK);
    GRANTED(1, 4);
    CHECK(said.asked_ms >= begun_ms - 2000 && said.asked_ms < begun_ms + 600000);
    said.least = 4;
    IS(take_above(store, tag_name, 1, &said), VS_STORE_OK);
    GRANTED(4, 5);
    said.least = far;
    said.long_ago = far / 2;
    IS(take_above(store, tag_name, 3, &said), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "numbers up to 4 without a date");
    said.long_ago = 0;
    IS(take_above(store, tag_name, 3, &said), VS_STORE_OK);
    GRANTED(far, far + 3);
    said.least = 5; /* a clock that went back */
    IS(take_above(store, tag_name, 0, &said), VS_STORE_OK);
    GRANTED(far + 3, far + 13);
    said.least = 0;
    IS(take_above(store, tag_name, 1, &said), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "no number exists for the time of the store's clock");
    said.least = VS_NUMBER_MAX;
    IS(take_above(store, tag_name, 1, &said), VS_STORE_REFUSED);
    said.asked_ms = 0;
    IS(take_above(store, "nobody", 1, &said), VS_STORE_REFUSED);
    CHECK_HAS(reply.text, "vesta segments add nobody");
    CHECK_EQ_I64(said.asked_ms, 0);
    store->backend->close(store);
}

static void tags_are_listed(void) {
    struct vs_store *store = fresh(7);
    struct vs_tag_list list = {.rows = NULL};
    int64_t begun_ms = vs_clock_system()->unix_us(NULL) / 1000;
    char name[80];
    for (uint64_t i = 0; i < 70; i++) { /* more than the initial size of a list */
        snprintf(name, sizeof name, "%s-%" PRIu64, tag_name, i);
        IS(add(store, name, i, i + 1), VS_STORE_OK);
    }
    store->counters->tags(store, table, &list, &reply);
    IS(reply.outcome, VS_STORE_OK);
    CHECK_EQ_U64(list.passed, 0);
    size_t seen = 0, length = strlen(tag_name);
    for (size_t i = 0; i < list.count; i++) {
        const char *why;
        const struct vs_tag *row = vs_tag_usable(&list.rows[i], &why);
        NEED(row != NULL);
        if (strncmp(row->tag, tag_name, length) != 0 || row->tag[length] != '-') continue;
        int64_t number = atoll(row->tag + length + 1);
        CHECK(row->max == number && row->step == number + 1 && row->delta == 1 && row->remainder == 0);
        CHECK(row->updated_ms >= begun_ms - 2000 && row->updated_ms < begun_ms + 600000);
        seen++;
    }
    CHECK_EQ_U64(seen, 70);
    free(list.rows);
    store->backend->close(store);
}

/* ------------------------------------------------------------------ a crowd */

#define TAKERS 6
#define TAKES 60
#define STEP_MAX 5

static void count_grant(void) {
    uint64_t numbers[STEP_MAX], count = reply.grant.until - reply.grant.from;
    CHECK(count > 0 && count <= STEP_MAX);
    for (uint64_t i = 0; i < count && i < STEP_MAX; i++)
        numbers[i] = reply.grant.from + i;
    tally_add(numbers, count);
}

/* A lock timeout or a concurrent change takes nothing. */
static bool take_some(struct vs_store *store, uint64_t step) {
    enum vs_outcome outcome = take(store, tag_name, step);
    if (outcome == VS_STORE_OK)
        count_grant();
    else if (outcome != VS_STORE_DOWN && outcome != VS_STORE_CONFLICT)
        CHECK_FAIL("%s: %s", outcome_name(outcome), reply.text);
    return outcome == VS_STORE_OK;
}

static void take_many(uint64_t dice) {
    struct vs_store *store = opened();
    for (int i = 0; i < TAKES; i += take_some(store, 1 + roll_below(&dice, STEP_MAX)))
        if (atomic_load(&check_failures)) return;
    store->backend->close(store);
}

static void takers_overlap_nowhere(void) {
    pid_t pids[TAKERS];
    struct vs_store *store = fresh(1);
    tally_clear();
    for (uint64_t i = 0; i < TAKERS; i++)
        pids[i] = spawn(take_many, i);
    for (int i = 0; i < TAKERS; i++)
        reap(pids[i], false);
    check_tally(TAKERS * TAKES);
    IS(take(store, tag_name, 1), VS_STORE_OK);
    CHECK_EQ_U64(reply.grant.from, atomic_load(&tally->used) + 1); /* no number was skipped */
    store->backend->close(store);
}

#define DAY (UINT64_C(1) << 40)

/* Notes the highest number that was granted so far. */
static void show(uint64_t number) {
    size_t was = atomic_load(&tally->mark);
    while (was < number && !atomic_compare_exchange_weak(&tally->mark, &was, number))
        ;
}

/* Simulates a host that learns of each new day `late` takes after the first host. */
static void take_over_midnights(uint64_t late) {
    struct vs_store *store = opened();
    for (uint64_t i = 0; i < TAKES && !atomic_load(&check_failures);) {
        struct said today = {.least = (i + 20 - 4 * late) / 20 * DAY + 1};
        uint64_t shown = atomic_load(&tally->mark);
        if (take_above(store, tag_name, 1, &today) == VS_STORE_OK) {
            CHECK(reply.grant.from > shown); /* so no number of yesterday follows the first number of today */
            CHECK(reply.grant.from >= today.least);
            show(reply.grant.from);
            count_grant();
            i++;
        } else if (reply.outcome != VS_STORE_DOWN && reply.outcome != VS_STORE_CONFLICT) {
            CHECK_FAIL("%s: %s", outcome_name(reply.outcome), reply.text);
        }
    }
    store->backend->close(store);
}

static void midnights_on_three_hosts(void) {
    pid_t pids[3];
    struct vs_store *store = fresh(1);
    tally_clear();
    atomic_store(&tally->mark, 0);
    for (uint64_t i = 0; i < VS_COUNT(pids); i++)
        pids[i] = spawn(take_over_midnights, i);
    for (size_t i = 0; i < VS_COUNT(pids); i++)
        reap(pids[i], false);
    check_tally(VS_COUNT(pids) * TAKES);
    CHECK(tag_of(store, tag_name).max > (int64_t)(3 * DAY));
    store->backend->close(store);
}

/* A number is in the tally as soon as the process has received it. */
static void take_until_killed(uint64_t dice) {
    struct vs_store *store = opened();
    for (;;)
        if (take_some(store, 1 + roll_below(&dice, STEP_MAX))) atomic_fetch_add(&tally->mark, 1);
}

static void takers_are_killed(void) {
    uint64_t dice = 3, last = 0;
    struct vs_store *store = fresh(1);
    tally_clear();
    for (int round = 0; round < 12; round++) {
        pid_t pids[3];
        size_t was = atomic_load(&tally->mark);
        for (uint64_t i = 0; i < VS_COUNT(pids); i++)
            pids[i] = spawn(take_until_killed, roll(&dice));
        for (int ms = 0; ms < 20000 && atomic_load(&tally->mark) < was + 3; ms++)
            usleep(1000);
        usleep((useconds_t)roll_below(&dice, 10000));
        for (size_t i = 0; i < VS_COUNT(pids); i++)
            kill(pids[i], SIGKILL);
        for (size_t i = 0; i < VS_COUNT(pids); i++)
            reap(pids[i], true);
        while (take(store, tag_name, 1) == VS_STORE_DOWN || reply.outcome == VS_STORE_CONFLICT)
            ; /* the killed processes' locks disappear soon */
        IS(reply.outcome, VS_STORE_OK);
        CHECK(reply.grant.from > last);
        count_grant();
        last = reply.grant.from;
    }
    check_tally(36);
    CHECK(last >= atomic_load(&tally->used)); /* numbers of killed processes may be lost */
    store->backend->close(store);
}

static struct vs_store *inherited;

static void use_inherited(uint64_t unused) {
    (void)unused;
    for (int i = 0; i < 5; i++) {
        IS(take(inherited, tag_name, 2), VS_STORE_OK);
        count_grant();
    }
    inherited->backend->close(inherited);
}

static void a_child_takes_for_itself(void) {
    inherited = fresh(1);
    tally_clear();
    for (int i = 0; i < 5; i++) {
        IS(take(inherited, tag_name, 2), VS_STORE_OK);
        count_grant();
        pid_t pid = spawn(use_inherited, 0);
        take_some(inherited, 2);
        reap(pid, false);
    }
    check_tally(60);
    inherited->backend->close(inherited);
}

static const struct check_case cases[] = {
    {"a take grants the range that it passes over, by the requested step or the row's own",
     a_take_grants_what_it_passes_over},
    {"an unknown tag is refused, with the command that creates it", an_unknown_tag_says_the_next_step},
    {"a tag is created only once", a_tag_is_made_once},
    {"invalid tag names are refused without a request", hostile_names_are_refused},
    {"invalid table names are refused without a request", hostile_tables_are_refused},
    {"a counter ends at 2^63 - 1, and a step at 2^32", no_counter_passes_its_end},
    {"the rest of a range is put back only if the counter is at the range's end",
     what_is_left_goes_back_only_from_its_end},
    {"a lift raises a counter to its floor, once, and never lowers it", a_lift_never_lowers},
    {"the floor is computed from the store's clock, and no number below it is granted",
     a_floor_is_asked_by_the_stores_clock},
    {"a database remembers its share of a counter's numbers and refuses another share", a_share_is_remembered},
    {"names that look alike are different tags", names_that_look_alike},
    {"a list of tags has the values of their rows", tags_are_listed},
    {"concurrent takers get disjoint ranges without gaps", takers_overlap_nowhere},
    {"across midnight on three hosts, no number repeats and no number of yesterday follows today's first",
     midnights_on_three_hosts},
    {"numbers of killed takers are not granted again", takers_are_killed},
    {"a forked child takes its own ranges", a_child_takes_for_itself},
};

int main(int argc, char **argv) {
    return tagged_main(argc, argv, cases, VS_COUNT(cases));
}
