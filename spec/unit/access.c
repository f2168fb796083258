/* access.c -- clients with names, without a server: patterns, lines of the file, hashes, and what a guesser meets, under a
 * clock that the test moves. */
#include "access/gate.h"
#include "base/array.h"
#include "check.h"

#include <sched.h>
#include <stdlib.h>

static struct vs_slice text(const char *at) {
    return (struct vs_slice){at, strlen(at)};
}

/* ------------------------------------------------------------------ names and hashes */

static void patterns_match(void) {
    static const struct {
        const char *pattern, *name;
        bool has;
    } rows[] = {{"*", "", true},          {"*", "orders", true},    {"orders", "orders", true}, {"orders", "order", false},
                {"orders", "orders2", false}, {"orders*", "orders", true}, {"orders*", "orders.eu", true}, {"orders*", "order", false},
                {"*s", "orders", true},   {"*s", "order", false},   {"o*r*s", "orders", true},  {"o*r*s", "ors", true},
                {"o*x*s", "orders", false}, {"**", "a", true},        {"", "", true},             {"", "a", false}};
    for (size_t i = 0; i < VS_COUNT(rows); i++)
        if (vs_pattern_has(text(rows[i].pattern), text(rows[i].name)) != rows[i].has)
            CHECK_FAIL("'%s' and '%s'", rows[i].pattern, rows[i].name);
}

/* Of FIPS 180-4's examples, and where a block is just full. */
static void sha256_is_sha256(void) {
    static const struct {
        const char *text, *digest;
    } rows[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
                {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                 "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"}};
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        unsigned char digest[VS_SHA256_BYTES];
        char hex[2 * VS_SHA256_BYTES + 1];
        vs_secret_digest(text(rows[i].text), digest);
        for (int k = 0; k < VS_SHA256_BYTES; k++)
            sprintf(hex + 2 * k, "%02x", digest[k]);
        CHECK(strcmp(hex, rows[i].digest) == 0);
    }
}

static void sha256_of_a_million_in_pieces(void) {
    static const char digest_of_it[] = "\xcd\xc7\x6e\x5c\x99\x14\xfb\x92\x81\xa1\xc7\xe2\x84\xd7\x3e\x67\xf1\x80\x9a\x48\xa4\x97\x20\x0e\x04\x6d\x39\xcc\xc7\x11\x2c\xd0";
    struct vs_sha256 hash;
    unsigned char digest[VS_SHA256_BYTES];
    char piece[1000];
    memset(piece, 'a', sizeof piece);
    vs_sha256_begin(&hash);
    for (size_t left = 1000000, n = 1; left > 0; left -= n, n = (n * 7 + 3) % 997) {
        n = n < left ? n : left;
        vs_sha256_add(&hash, piece, n);
    }
    vs_sha256_end(&hash, digest);
    CHECK(memcmp(digest, digest_of_it, sizeof digest) == 0);
}

/* Of every length, from any address, and with each single bit. */
static void same_is_same_in_each_bit(void) {
    unsigned char a[48], b[48];
    for (size_t length = 0; length <= 41; length++) {
        for (size_t i = 0; i < length; i++)
            a[i + 1] = b[i + 3] = (unsigned char)(length + 37 * i);
        CHECK(vs_secret_same(a + 1, b + 3, length));
        for (size_t bit = 0; bit < 8 * length; bit++) {
            b[3 + bit / 8] ^= (unsigned char)(1 << bit % 8);
            if (vs_secret_same(a + 1, b + 3, length)) CHECK_FAIL("length %zu, bit %zu", length, bit);
            b[3 + bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
}

static void a_line_is_what_it_was(void) {
    static const char line[] = "orders names=orders*,web calls=give,operate n=7 "
                               "secret=random:2026-11-23T15:30:00Z:abababababababababababababababababababababababababababababababab";
    struct vs_account account;
    struct vesta_error err = {.text = ""};
    char written[VS_ACCOUNT_LINE_MAX];
    if (vs_account_parse(text(line), &account, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    CHECK(account.calls == (VS_GIVE | VS_OPERATE) && account.n_max == 7 && account.secret_count == 1);
    CHECK(vs_account_parse(text(vs_account_write(&account, written)), &account, &err) == VESTA_OK);
    if (strcmp(written, line) != 0) CHECK_FAIL("%s", written);
    for (size_t length = 0; length < sizeof line - 30; length++) { /* every prefix is read without a step past its end */
        char *exact = malloc(length + 1);
        memcpy(exact, line, length);
        (void)vs_account_parse((struct vs_slice){exact, length}, &account, &err);
        free(exact);
    }
}

/* ------------------------------------------------------------------ wrong ones cost time */

#define SECOND INT64_C(1000000)

static struct vs_guard_peer peer(uint64_t i) {
    return (struct vs_guard_peer){.family = 4, .prefix = i};
}

/* How many wrong ones `addresses` get looked at in so many seconds, who all ask whenever they may. */
static int guesses(struct vs_guard *guard, int addresses, int64_t seconds) {
    int64_t *turn = calloc((size_t)addresses, sizeof *turn);
    int count = 0;
    for (int64_t now = SECOND; now < (1 + seconds) * SECOND; now += 1000)
        for (int i = 0; i < addresses; i++) {
            struct vs_guard_peer at = peer((uint64_t)i);
            if (turn[i] <= 0) turn[i] = vs_guard_turn(guard, &at, now);
            if (turn[i] <= 0 || turn[i] > now) continue;
            vs_guard_wrong(guard, &at, now);
            turn[i] = 0;
            count++;
        }
    free(turn);
    return count;
}

static void one_address_has_few(void) {
    struct vs_guard *guard = vs_guard_new();
    int count = guesses(guard, 1, 10);
    CHECK(count >= 5 && count <= 5 * 10);
    vs_guard_free(guard);
}

static void a_thousand_have_few_together(void) {
    struct vs_guard *guard = vs_guard_new();
    int first = guesses(guard, 1000, 1), count;
    if (first < 100 || first > 500) CHECK_FAIL("%d in the first second", first);
    vs_guard_free(guard);
    guard = vs_guard_new();
    count = guesses(guard, 1000, 10);
    CHECK(count >= 1000 && count <= 500 * 10);
    struct vs_guard_peer other = peer(1 << 20);
    CHECK_EQ_I64(vs_guard_turn(guard, &other, 11 * SECOND), 11 * SECOND); /* who said none wrong waits for none of them */
    vs_guard_free(guard);
}

static void many_at_once_are_no_way_round(void) {
    struct vs_guard *guard = vs_guard_new();
    struct vs_guard_peer at = peer(7);
    int64_t before = 0;
    int waits = 0;
    vs_guard_wrong(guard, &at, SECOND);
    for (int64_t turn; (turn = vs_guard_turn(guard, &at, SECOND)) > 0; before = turn, waits++)
        CHECK(turn - before >= VS_GUARD_STEP_US || before == 0);
    CHECK(waits > 0 && waits <= VS_GUARD_PATIENCE_US / VS_GUARD_STEP_US);
    CHECK(vs_guard_turn(guard, &at, SECOND + VS_GUARD_PATIENCE_US) > 0);
    vs_guard_free(guard);
}

static void a_storm_passes_those_who_are_known(void) {
    struct vs_guard *guard = vs_guard_new();
    struct vs_guard_peer known = peer(1 << 20), unknown = peer(1 << 21);
    vs_guard_right(guard, &known, SECOND);
    for (uint64_t i = 0; i < 500; i++)
        (void)vs_guard_turn(guard, &(struct vs_guard_peer){.family = 6, .prefix = i}, SECOND);
    CHECK_EQ_I64(vs_guard_turn(guard, &known, SECOND), SECOND);
    CHECK(vs_guard_turn(guard, &unknown, SECOND) > SECOND);
    vs_guard_free(guard);
}

/* Addresses that are right at once, by the thousand: none of them waits for the others. */
static void those_who_are_right_wait_for_nobody(void) {
    struct vs_guard *guard = vs_guard_new();
    for (uint64_t i = 0; i < 5000; i++) {
        struct vs_guard_peer at = peer(i);
        CHECK_EQ_I64(vs_guard_turn(guard, &at, SECOND), SECOND);
        vs_guard_right(guard, &at, SECOND);
    }
    vs_guard_free(guard);
}

/* ------------------------------------------------------------------ the gate */

static atomic_int wakes;

static void wake(void *self) {
    (void)self;
    atomic_fetch_add(&wakes, 1);
}

static struct vs_accounts *accounts_of(const char *lines) {
    struct vs_accounts *accounts = NULL;
    struct vesta_error err = {.text = ""};
    if (vs_accounts_parse(lines, strlen(lines), &accounts, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return accounts;
}

static struct vs_accounts *with_a_chosen_one(const char *secret) {
    struct vs_account account = {.name = "web", .names = "*", .calls = VS_GIVE, .n_max = UINT64_MAX, .weight = 1, .secret_count = 1};
    struct vesta_error err = {.text = ""};
    char line[VS_ACCOUNT_LINE_MAX];
    if (vs_secret_hash(text(secret), VS_SECRET_CHOSEN, 0, &account.secret[0], &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return accounts_of(vs_account_write(&account, line));
}

/* Asks until it is known; how often it was not. */
static enum vs_proof settle(struct vs_gate *gate, struct vs_asked *asked, int *later) {
    const struct vs_account *account;
    const struct vs_secret *which;
    struct vs_proving proving = {0};
    enum vs_proof proof;
    *later = 0;
    while ((proof = vs_gate_prove(gate, asked, &proving, &account, &which)) == VS_PROOF_LATER) {
        if (proving.turn_us > asked->now_us) asked->now_us = proving.turn_us;
        sched_yield();
        ++*later;
    }
    vs_proving_end(&proving);
    return proof;
}

static void a_chosen_one_is_hashed_once(void) {
    struct vs_gate *gate = vs_gate_new(wake, NULL);
    vs_gate_set(gate, with_a_chosen_one("correct horse battery"));
    struct vs_asked asked = {.accounts = vs_gate_hold(gate), .peer = peer(1), .name = text("web"), .secret = text("correct horse battery"), .now_us = SECOND};
    int later;
    CHECK(settle(gate, &asked, &later) == VS_PROOF_RIGHT && later > 0 && atomic_load(&wakes) > 0);
    CHECK(settle(gate, &asked, &later) == VS_PROOF_RIGHT && later == 0);
    asked.peer = peer(2);
    CHECK(settle(gate, &asked, &later) == VS_PROOF_RIGHT && later == 0);
    asked.secret = text("correct horse batterY");
    CHECK(settle(gate, &asked, &later) == VS_PROOF_WRONG && later > 0);
    vs_accounts_let((struct vs_accounts *)asked.accounts);
    vs_gate_set(gate, with_a_chosen_one("another one of those")); /* it is known no more than it is in the file */
    asked = (struct vs_asked){.accounts = vs_gate_hold(gate), .peer = peer(3), .name = text("web"), .secret = text("correct horse battery"), .now_us = SECOND};
    CHECK(settle(gate, &asked, &later) == VS_PROOF_WRONG);
    vs_accounts_let((struct vs_accounts *)asked.accounts);
    vs_gate_free(gate);
}

/* Others at the same address say wrong ones: a random secret passes at once, a chosen one waits for its turn. */
static void a_random_one_never_waits(void) {
    struct vs_gate *gate = vs_gate_new(wake, NULL);
    struct vesta_error err;
    char drawn[VS_SECRET_NEW_MAX], line[VS_ACCOUNT_LINE_MAX];
    struct vs_account account = {.name = "orders", .names = "*", .calls = VS_GIVE, .n_max = UINT64_MAX, .weight = 1, .secret_count = 1};
    CHECK(vs_secret_draw(drawn, &err) == VESTA_OK);
    CHECK(vs_secret_hash(text(drawn), VS_SECRET_RANDOM, 0, &account.secret[0], &err) == VESTA_OK);
    vs_gate_set(gate, accounts_of(vs_account_write(&account, line)));
    struct vs_asked wrong = {.accounts = vs_gate_hold(gate), .peer = peer(1), .secret = text("no"), .now_us = SECOND}, right = wrong;
    right.secret = text(drawn);
    int later;
    for (int i = 0; i < 20; i++) {
        CHECK(settle(gate, &wrong, &later) != VS_PROOF_RIGHT);
        wrong.now_us = SECOND;
        CHECK(settle(gate, &right, &later) == VS_PROOF_RIGHT && later == 0);
    }
    vs_accounts_let((struct vs_accounts *)wrong.accounts);
    vs_gate_free(gate);
}

static struct vs_asked asked_of(struct vs_gate *gate, const char *name, const char *secret) {
    return (struct vs_asked){.accounts = vs_gate_hold(gate), .peer = peer(1), .name = text(name), .secret = text(secret), .now_us = SECOND};
}

/* At its address somebody guesses other names, without rest: it was right from there, and is let in at once. */
static void a_name_that_was_right_waits_for_no_other(void) {
    struct vs_gate *gate = vs_gate_new(wake, NULL);
    vs_gate_set(gate, with_a_chosen_one("correct horse battery"));
    struct vs_asked right = asked_of(gate, "web", "correct horse battery"), other = asked_of(gate, "ops", "no"), wrong = asked_of(gate, "web", "no");
    int later, put_off = 0;
    CHECK(settle(gate, &right, &later) == VS_PROOF_RIGHT);
    for (int i = 0; i < 40; i++, other.now_us = SECOND) {
        put_off += settle(gate, &other, &later) == VS_PROOF_PUT_OFF;
        CHECK(settle(gate, &right, &later) == VS_PROOF_RIGHT && later == 0);
    }
    CHECK(put_off > 0);
    CHECK(settle(gate, &wrong, &later) == VS_PROOF_WRONG); /* of the same name: from here on it cannot be told from a guess */
    CHECK(settle(gate, &right, &later) == VS_PROOF_PUT_OFF);
    right.now_us += VS_GUARD_NAME_FORGETS_US + SECOND;
    CHECK(settle(gate, &right, &later) == VS_PROOF_RIGHT && later == 0);
    vs_accounts_let((struct vs_accounts *)right.accounts);
    vs_accounts_let((struct vs_accounts *)other.accounts);
    vs_accounts_let((struct vs_accounts *)wrong.accounts);
    vs_gate_free(gate);
}

/* A hundred that ask at the same moment, before the first of them is known to be wrong: the others line up behind it. */
static void asked_together_is_asked_in_turn(void) {
    struct vs_gate *gate = vs_gate_new(wake, NULL);
    const struct vs_account *account;
    const struct vs_secret *which;
    struct vs_proving proving[100] = {{0}};
    int count[VS_PROOF_PUT_OFF + 1] = {0};
    vs_gate_set(gate, with_a_chosen_one("correct horse battery"));
    struct vs_asked asked = asked_of(gate, "web", "no");
    for (int i = 0; i < 100; i++)
        CHECK(vs_gate_prove(gate, &asked, &proving[i], &account, &which) == VS_PROOF_LATER);
    while (vs_gate_prove(gate, &asked, &proving[0], &account, &which) == VS_PROOF_LATER)
        sched_yield();
    for (int i = 1; i < 100; i++)
        count[vs_gate_prove(gate, &asked, &proving[i], &account, &which)]++;
    CHECK(count[VS_PROOF_WRONG] == 0 && count[VS_PROOF_LATER] > 0);
    CHECK(count[VS_PROOF_LATER] <= VS_GUARD_PATIENCE_US / VS_GUARD_STEP_US && count[VS_PROOF_PUT_OFF] == 99 - count[VS_PROOF_LATER]);
    for (int i = 0; i < 100; i++)
        vs_proving_end(&proving[i]);
    vs_accounts_let((struct vs_accounts *)asked.accounts);
    vs_gate_free(gate);
}

static void counts_are_bounded(void) {
    struct vs_gate *gate = vs_gate_new(wake, NULL);
    char name[16];
    int first = vs_gate_count_of(gate, "a");
    for (int i = 0; i < 2 * VS_COUNTED_MAX; i++) {
        snprintf(name, sizeof name, "c%d", i);
        CHECK(vs_gate_count_of(gate, name) < VS_COUNTED_MAX);
    }
    CHECK_EQ_I64(vs_gate_count_of(gate, "a"), first);
    CHECK_EQ_I64(vs_gate_count_of(gate, "one more"), 0);
    CHECK(strcmp(vs_gate_counted(gate, first), "a") == 0);
    vs_gate_free(gate);
}

static const struct check_case cases[] = {
    {"a pattern has the names that it should", patterns_match},
    {"SHA-256 is that of FIPS 180-4", sha256_is_sha256},
    {"... of a million letters in pieces of any length", sha256_of_a_million_in_pieces},
    {"secrets are the same where each bit of them is", same_is_same_in_each_bit},
    {"a client's line is written as it was read, and no part of one is read past its end", a_line_is_what_it_was},
    {"one address has 5 guesses a second at most", one_address_has_few},
    {"a thousand have 500 together, and hold up nobody else", a_thousand_have_few_together},
    {"addresses that are right wait for nobody, however many come at once", those_who_are_right_wait_for_nobody},
    {"to ask many at once is no way round", many_at_once_are_no_way_round},
    {"in a storm of addresses those that were right before go on", a_storm_passes_those_who_are_known},
    {"a chosen secret is hashed once, beside the asker, and only while it is in the file", a_chosen_one_is_hashed_once},
    {"a random secret that is right never waits for others' wrong ones", a_random_one_never_waits},
    {"a name that was right from an address waits for nobody who guesses others there", a_name_that_was_right_waits_for_no_other},
    {"secrets that are asked together are asked in turn once the first is wrong", asked_together_is_asked_in_turn},
    {"how many clients are counted by name is bounded", counts_are_bounded},
};
CHECK_MAIN(cases)
