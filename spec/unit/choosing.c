/* choosing.c -- a process that chooses its own worker ids: the keeper asks it, waits, claims the chosen one, and asks
 * again. */
#include "check.h"
#include "opened.h"
#include "os/clock.h"
#include "said.h"
#include "store/store.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LAYOUT "sign:1 time:41 seq:12 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z"
#define LONG_US 20000000

static struct vesta_gen *open_as(const char *name, struct vesta_opts opts) {
    opts.size = sizeof opts;
    return open_in_state(name, LAYOUT, opts);
}

static struct vesta_gen *chooser(const char *name) {
    return open_as(name, (struct vesta_opts){.any_worker = 1, .flags = VESTA_CHOOSES});
}

/* Returns the pause of a keeper that asks for a choice. */
static struct vesta_pause asked(struct vesta_gen *gen) {
    struct vesta_pause pause = {.why = VESTA_CLOSED};
    uint64_t id;
    CHECK(vesta_next_wait(gen, &id, LONG_US, &pause) == VESTA_EPAUSE);
    CHECK_STR(vesta_why_name(pause.why), "choose");
    return pause;
}

static uint64_t worker_of_next(struct vesta_gen *gen) {
    struct vesta_pause pause;
    struct vesta_parts parts = {.worker = UINT64_MAX};
    uint64_t id;
    if (vesta_next_wait(gen, &id, LONG_US, &pause) != VESTA_OK) {
        CHECK_FAIL("no id: %s", vesta_why_name(pause.why));
        return UINT64_MAX;
    }
    CHECK(vesta_explain(vesta_gen_layout(gen), id, &parts, NULL) == VESTA_OK);
    return parts.worker;
}

static struct vesta_gen *holder_of(uint64_t worker) {
    char name[32];
    snprintf(name, sizeof name, "holder%d.gen", (int)worker);
    struct vesta_gen *gen = open_as(name, (struct vesta_opts){.has_worker = 1, .worker = worker});
    CHECK_EQ_U64(worker_of_next(gen), worker);
    return gen;
}

static struct vesta_choice *choice_of(struct vesta_gen *gen) {
    struct vesta_choice *choice = NULL;
    struct vesta_error err = {0};
    if (vesta_get_choice(gen, &choice, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return choice;
}

/* ------------------------------------------------------------------ asking and answering */

static void a_choice_is_claimed(void) {
    struct vesta_gen *five = holder_of(5), *seven = holder_of(7), *gen = chooser("a.gen");
    CHECK(vesta_release(seven, NULL) == VESTA_OK);
    struct vesta_pause pause = asked(gen);
    struct vesta_choice *choice = choice_of(gen);
    NEED(choice && choice->count == 2);
    CHECK_EQ_U64(choice->attempt, 1);
    CHECK_EQ_U64(choice->first, 0);
    CHECK_EQ_U64(choice->last, 1023);
    CHECK(!choice->is_fixed && !choice->was_lost);
    const struct vesta_record *r = choice->record;
    CHECK_EQ_U64(r[0].worker, 5);
    CHECK(r[0].held && !r[0].expired && r[0].epoch == 1);
    CHECK(strstr(r[0].identity, "/holder5.gen") && strstr(r[0].holder, " pid "));
    CHECK(r[0].until_ms > choice->store_ms && r[0].until_ms <= choice->store_ms + 6000);
    CHECK(r[0].written_ms <= choice->store_ms && r[0].seen_ms <= choice->store_ms);
    CHECK_EQ_U64(r[1].worker, 7);
    CHECK(!r[1].held);
    vesta_choice_free(choice);
    CHECK(vesta_choose(gen, &pause, 9) == VESTA_OK);
    CHECK_EQ_U64(worker_of_next(gen), 9);
    vesta_close(gen);
    vesta_close(seven);
    vesta_close(five);
}

static void a_choice_is_a_hint_and_the_claim_decides(void) {
    struct vesta_gen *five = holder_of(5), *gen = chooser("a.gen");
    struct vesta_pause pause = asked(gen);
    CHECK(vesta_choose(gen, &pause, 5) == VESTA_OK);
    pause = asked(gen);
    struct vesta_info info;
    vesta_get_info(gen, &info);
    CHECK(!info.holds_lease);
    CHECK(strstr(info.keeper, "worker id 5 is held by") != NULL);
    CHECK(vesta_choose(gen, &pause, 6) == VESTA_OK);
    CHECK_EQ_U64(worker_of_next(gen), 6);
    CHECK_EQ_U64(worker_of_next(five), 5);
    vesta_close(gen);
    vesta_close(five);
}

static void a_reserved_worker_id_cannot_be_chosen(void) {
    char uri[96];
    struct vs_store *store;
    struct vs_reply reply;
    struct vesta_layout layout;
    struct vs_store_opts opts = {.namespace_ = "default", .group = -1, .clock = vs_clock_system()};
    snprintf(uri, sizeof uri, "file:%s", state);
    NEED(vesta_layout_parse(LAYOUT, &layout, NULL) == VESTA_OK);
    NEED(vs_store_open(uri, &opts, &store, NULL) == VESTA_OK);
    struct vs_ns_record ns = {
        .ver = 1, .fingerprint = layout.fingerprint, .incarnation = 5, .static_first = 4, .static_count = 2};
    vesta_layout_text(&layout, ns.layout);
    store->leases->ns_swap(store, 0, &ns, &reply);
    store->backend->close(store);
    NEED(reply.outcome == VS_STORE_OK);
    struct vesta_gen *gen = chooser("a.gen"), *five = holder_of(5);
    struct vesta_pause pause = asked(gen);
    CHECK(vesta_choose(gen, &pause, 4) == VESTA_OK);
    pause = asked(gen);
    struct vesta_info info;
    vesta_get_info(gen, &info);
    CHECK(!info.holds_lease);
    CHECK(strstr(info.keeper, "worker id 4 was chosen, but the namespace reserves it for assignment by hand") != NULL);
    CHECK(vesta_choose(gen, &pause, 6) == VESTA_OK);
    CHECK_EQ_U64(worker_of_next(gen), 6);
    vesta_close(gen);
    vesta_close(five);
}

static void any_worker_is_the_default_choice(void) {
    struct vesta_gen *gen = chooser("a.gen");
    struct vesta_pause pause = asked(gen);
    CHECK(vesta_choose(gen, &pause, VESTA_ANY_WORKER) == VESTA_OK);
    CHECK(worker_of_next(gen) < 1024);
    vesta_close(gen);
}

static void no_choice_has_a_reason(void) {
    struct vesta_gen *gen = chooser("a.gen");
    struct vesta_pause pause = asked(gen);
    char reason[1000];
    memset(reason, 'x', sizeof reason); /* longer than a message may be */
    memcpy(reason, "numbers 0 to 3 are ours, and they are taken ", 44);
    reason[sizeof reason - 1] = '\0';
    CHECK(vesta_choose_none(gen, &pause, reason) == VESTA_OK);
    await_pause_text(gen, &pause, "no lease: numbers 0 to 3 are ours, and they are taken xxx");
    CHECK_STR(vesta_why_name(pause.why), "lease");
    pause = asked(gen);
    CHECK(vesta_choose(gen, &pause, 3) == VESTA_OK);
    CHECK_EQ_U64(worker_of_next(gen), 3);
    vesta_close(gen);
}

static void invalid_answers_are_rejected(void) {
    struct vesta_gen *gen = chooser("a.gen"), *private_gen;
    struct vesta_opts opts = {
        .size = sizeof opts, .layout = LAYOUT, .has_worker = 1, .worker = 1, .flags = VESTA_UNSAFE_PRIVATE};
    struct vesta_pause none = {.why = VESTA_CHOOSE}, other;
    struct vesta_choice *choice = NULL;
    struct vesta_error err = {0};
    CHECK(vesta_choose(gen, &none, 3) == VESTA_ENOTNOW); /* the keeper has not asked yet */
    CHECK(vesta_get_choice(gen, &choice, &err) == VESTA_ENOTNOW);
    CHECK(strstr(err.text, "is not asking") != NULL);
    struct vesta_pause pause = asked(gen);
    CHECK(vesta_choose(gen, &pause, 1024) == VESTA_EFIELD);
    CHECK(vesta_choose(gen, &pause, UINT64_MAX - 1) == VESTA_EFIELD);
    other = pause, other.why = VESTA_LEASE;
    CHECK(vesta_choose(gen, &other, 3) == VESTA_ENOTNOW);
    CHECK(vesta_choose(gen, &pause, 1023) == VESTA_OK);
    CHECK(vesta_choose(gen, &pause, 3) == VESTA_ENOTNOW); /* the question was answered already */
    CHECK_EQ_U64(worker_of_next(gen), 1023);
    CHECK(vesta_open(&opts, &private_gen, NULL) == VESTA_OK);
    CHECK(vesta_choose(private_gen, &pause, 3) == VESTA_ENOTNOW);
    CHECK(vesta_get_choice(private_gen, &choice, NULL) == VESTA_ENOTNOW && !choice);
    vesta_close(private_gen);
    vesta_close(gen);
}

static void an_assigned_worker_id_needs_consent(void) {
    struct vesta_gen *gen = open_as("a.gen", (struct vesta_opts){.has_worker = 1, .worker = 4, .flags = VESTA_CHOOSES});
    struct vesta_pause pause = asked(gen);
    struct vesta_choice *choice = choice_of(gen);
    CHECK(choice && choice->is_fixed);
    vesta_choice_free(choice);
    CHECK(vesta_choose(gen, &pause, 8) == VESTA_OK);
    CHECK_EQ_U64(worker_of_next(gen), 4);
    vesta_close(gen);
}

/* ------------------------------------------------------------------ which handle is asked */

static void *answer_later(void *gen) {
    struct vesta_pause pause = asked(gen);
    usleep(20000);
    CHECK(vesta_choose(gen, &pause, 12) == VESTA_OK);
    return NULL;
}

static void a_handle_that_does_not_choose_waits_for_one_that_does(void) {
    struct vesta_gen *gen = chooser("a.gen"), *other = open_as("a.gen", (struct vesta_opts){0});
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, answer_later, gen) == 0);
    CHECK_EQ_U64(worker_of_next(other), 12);
    pthread_join(thread, NULL);
    vesta_close(other);
    vesta_close(gen);
}

static void a_child_is_not_asked_its_parents_question(void) {
    struct vesta_gen *gen = chooser("a.gen");
    struct vesta_pause pause = asked(gen);
    pid_t child = fork();
    if (child == 0) {
        struct vesta_choice *choice;
        bool good =
            vesta_choose(gen, &pause, 3) == VESTA_ENOTNOW && vesta_get_choice(gen, &choice, NULL) == VESTA_ENOTNOW;
        uint64_t id;
        for (int i = 0; good && vesta_next_wait(gen, &id, 1000000, &pause) != VESTA_OK; i++)
            good = i < 20; /* until the parent's keeper finishes its term */
        _exit(good ? 0 : 1);
    }
    int status = 1;
    usleep(50000);
    CHECK(vesta_choose(gen, &pause, 14) == VESTA_OK);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_EQ_U64(worker_of_next(gen), 14);
    vesta_close(gen);
}

static bool is_asked_and_gets(struct vesta_gen *gen, uint64_t worker) {
    struct vesta_pause pause;
    struct vesta_info info;
    uint64_t id;
    alarm(60);
    while (vesta_next_wait(gen, &id, 1000000, &pause) != VESTA_OK)
        if (vesta_choose(gen, &pause, worker) != VESTA_OK) usleep(1000);
    vesta_get_info(gen, &info);
    return info.worker == worker;
}

/* The child inherits its parent's question, and the records that the parent's keeper listed. It must not use them. */
static void a_childs_own_keeper_asks_anew(void) {
    vesta_close(holder_of(5)); /* so that the store has a record of it */
    struct vesta_gen *gen = chooser("a.gen");
    int status = 1;
    asked(gen);
    pid_t child = fork();
    if (child == 0) _exit(is_asked_and_gets(gen, 15) ? 0 : 1);
    vesta_close(gen); /* so that the child's keeper can start */
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* ------------------------------------------------------------------ losing */

static void a_lost_worker_id_is_reported(void) {
    struct vesta_gen *gen = chooser("a.gen");
    struct vesta_pause pause = asked(gen);
    uint64_t id;
    CHECK(vesta_choose(gen, &pause, 20) == VESTA_OK);
    CHECK_EQ_U64(worker_of_next(gen), 20);
    take_over(20, vs_clock_system());
    while (vesta_next_wait(gen, &id, LONG_US, &pause) == VESTA_OK)
        usleep(1000); /* until its keeper renews */
    CHECK_STR(vesta_why_name(pause.why), "choose");
    struct vesta_choice *choice = choice_of(gen);
    CHECK(choice && choice->was_lost && choice->lost == 20);
    vesta_choice_free(choice);
    CHECK(vesta_choose(gen, &pause, 21) == VESTA_OK);
    CHECK_EQ_U64(worker_of_next(gen), 21);
    CHECK(vesta_drop(gen) == VESTA_OK); /* no other process claimed the dropped one */
    pause = asked(gen);
    choice = choice_of(gen);
    CHECK(choice && !choice->was_lost);
    vesta_choice_free(choice);
    vesta_close(gen);
}

/* ------------------------------------------------------------------ a question without an answer */

static void is_asked_anew_with_fresh_records(void) {
    struct vesta_gen *gen =
        open_as("a.gen", (struct vesta_opts){.any_worker = 1, .flags = VESTA_CHOOSES, .clock = &ahead_clock});
    asked(gen);
    struct vesta_choice *first = choice_of(gen), *second = NULL;
    struct vesta_gen *two = holder_of(2);
    NEED(first);
    atomic_fetch_add(&passed_us, 5000000); /* The keeper waits too long for the answer, then pauses for a second. */
    for (int i = 0; i < 2000 && vesta_get_choice(gen, &second, NULL) == VESTA_OK; i++) {
        if (second->count == 1) break;
        vesta_choice_free(second);
        second = NULL;
        usleep(1000);
    }
    atomic_fetch_add(&passed_us, 1000000);
    struct vesta_pause pause = asked(gen);
    second = choice_of(gen);
    CHECK_EQ_U64(first->count, 0);
    CHECK(second && second->count == 1);
    CHECK(second && second->store_ms >= first->store_ms + 5000);
    vesta_choice_free(first);
    vesta_choice_free(second);
    CHECK(vesta_choose(gen, &pause, 3) == VESTA_OK);
    CHECK_EQ_U64(worker_of_next(gen), 3);
    vesta_close(two);
    vesta_close(gen);
}

static int64_t stopped_us(void *self) {
    (void)self;
    return INT64_C(1700000000000000);
}

/* This clock does not move, so the keeper waits for an answer forever. Closing must still work. */
static void does_not_delay_closing(void) {
    static const struct vesta_clock clock = {NULL, stopped_us, stopped_us, ahead_sleep_us};
    struct vesta_gen *gen =
        open_as("a.gen", (struct vesta_opts){.any_worker = 1, .flags = VESTA_CHOOSES, .clock = &clock});
    asked(gen);
    vesta_close(gen);
}

IN_NEW_STATE(a_choice_is_claimed)
IN_NEW_STATE(a_choice_is_a_hint_and_the_claim_decides)
IN_NEW_STATE(a_reserved_worker_id_cannot_be_chosen)
IN_NEW_STATE(any_worker_is_the_default_choice)
IN_NEW_STATE(no_choice_has_a_reason)
IN_NEW_STATE(invalid_answers_are_rejected)
IN_NEW_STATE(an_assigned_worker_id_needs_consent)
IN_NEW_STATE(a_handle_that_does_not_choose_waits_for_one_that_does)
IN_NEW_STATE(a_child_is_not_asked_its_parents_question)
IN_NEW_STATE(a_childs_own_keeper_asks_anew)
IN_NEW_STATE(a_lost_worker_id_is_reported)
IN_NEW_STATE(is_asked_anew_with_fresh_records)
IN_NEW_STATE(does_not_delay_closing)

static const struct check_case cases[] = {
    {"a worker id chosen from the store's records is claimed", a_choice_is_claimed_},
    {"a choice is a hint: a held worker id is not claimed, and the keeper asks again",
     a_choice_is_a_hint_and_the_claim_decides_},
    {"a worker id reserved for assignment by hand cannot be chosen, but a process may claim it by hand",
     a_reserved_worker_id_cannot_be_chosen_},
    {"VESTA_ANY_WORKER is the default choice", any_worker_is_the_default_choice_},
    {"a refusal to choose is passed on with its reason, and the keeper asks again", no_choice_has_a_reason_},
    {"invalid answers are rejected", invalid_answers_are_rejected_},
    {"a worker id assigned by hand is claimed once the process agrees, whichever worker id it names",
     an_assigned_worker_id_needs_consent_},
    {"a handle that does not choose waits for one that does", a_handle_that_does_not_choose_waits_for_one_that_does_},
    {"a forked child is not asked its parent's question", a_child_is_not_asked_its_parents_question_},
    {"a forked child's own keeper asks anew", a_childs_own_keeper_asks_anew_},
    {"the next question reports that the worker id was lost", a_lost_worker_id_is_reported_},
    {"a question without an answer is asked again with fresh records", is_asked_anew_with_fresh_records_},
    {"an open question does not delay closing", does_not_delay_closing_},
};

CHECK_MAIN(cases)
