/* access.c -- named clients without a server: patterns, lines of the clients file, hashes, and the cost of wrong
 * secrets, under a clock that the test moves. */
#include "access/grant.h"
#include "base/array.h"
#include "check.h"

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

/* The examples of FIPS 180-4, and lengths at which a block is exactly full. */
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

/* Tests every length and alignment, and a difference in each single bit. */
static void secrets_are_compared_in_each_bit(void) {
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

static void a_line_is_written_as_read(void) {
    static const char line[] = "orders names=orders*,web calls=give,operate n=7 "
                               "secret=random:2026-11-23T15:30:00Z:abababababababababababababababababababababababababababababababab";
    struct vs_account account;
    struct vesta_error err = {.text = ""};
    char written[VS_ACCOUNT_LINE_MAX];
    if (vs_account_parse(text(line), &account, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    CHECK(account.calls == (VS_GIVE | VS_OPERATE) && account.n_max == 7 && account.secret_count == 1);
    CHECK(vs_account_parse(text(vs_account_write(&account, written)), &account, &err) == VESTA_OK);
    if (strcmp(written, line) != 0) CHECK_FAIL("%s", written);
    for (size_t length = 0; length < sizeof line - 30; length++) {
        char *exact = malloc(length + 1);
        memcpy(exact, line, length);
        (void)vs_account_parse((struct vs_slice){exact, length}, &account, &err);
        free(exact);
    }
}

#define SECOND INT64_C(1000000)

/* ------------------------------------------------------------------ the gate */

static struct vs_accounts *accounts_of(const char *lines) {
    struct vs_accounts *accounts = NULL;
    struct vesta_error err = {.text = ""};
    if (vs_accounts_parse(lines, strlen(lines), &accounts, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return accounts;
}

static void a_token_belongs_to_its_client(void) {
    struct vs_gate *gate = vs_gate_new();
    struct vesta_error err;
    char token[VS_SECRET_NEW_MAX], lines[2 * VS_ACCOUNT_LINE_MAX];
    struct vs_account account = {.name = "orders", .names = "*", .calls = VS_GIVE, .n_max = UINT64_MAX, .weight = 1, .secret_count = 1};
    const struct vs_account *whose = NULL;
    const struct vs_secret *which = NULL;
    CHECK(vs_secret_draw(token, 0, &account.secret[0], &err) == VESTA_OK);
    vs_account_write(&account, lines);
    strcat(lines, "\nweb names=* calls=give secret=random:2026-11-23T15:30:00Z:abababababababababababababababababababababababababababababababab\n");
    vs_gate_set(gate, accounts_of(lines));
    struct vs_accounts *held = vs_gate_hold(gate);
    static const struct vs_slice none = {NULL, 0};
    CHECK(vs_gate_prove(gate, held, none, text(token), &whose, &which) == VS_PROOF_RIGHT && strcmp(whose->name, "orders") == 0);
    CHECK(which == &whose->secret[0]);
    CHECK(vs_gate_prove(gate, held, text("orders"), text(token), &whose, &which) == VS_PROOF_RIGHT);
    CHECK(vs_gate_prove(gate, held, text("web"), text(token), &whose, &which) == VS_PROOF_WRONG);
    CHECK(vs_gate_prove(gate, held, text("nobody"), text(token), &whose, &which) == VS_PROOF_WRONG);
    CHECK(vs_gate_prove(gate, held, text("orders"), text(""), &whose, &which) == VS_PROOF_WRONG);
    CHECK(vs_gate_prove(gate, held, text("orders"), (struct vs_slice){token, strlen(token) - 1}, &whose, &which) == VS_PROOF_WRONG);
    CHECK_EQ_U64(vs_gate_proofs(gate, VS_PROOF_WRONG), 4);
    vs_accounts_let(held);
    vs_gate_free(gate);
}

static void only_guessable_secrets_are_delayed(void) {
    struct vs_gate *gate = vs_gate_new();
    struct vs_limits limits = {.connections_max = 1, .proto_max = {[VS_HTTP] = 1}, .tcp_max = {[VS_HTTP] = 1}, .of_address = {[VS_HTTP] = 1}};
    struct ledger *ledger = ledger_new(&limits);
    struct vs_peer peer = {.family = 4, .at = {10, 0, 0, 1}};
    struct ledger_entry at;
    CHECK(ledger_enter(ledger, &at, VS_HTTP, &peer, false) == VS_LET_IN);
    static const char short_[] = "sesame", long_[] = "abcdefghijklmnopqrstuv";
    int64_t wait_us = 0;
    for (int i = 0; i < LEDGER_LOGINS_FREE; i++) {
        CHECK(vs_gate_prove_plain(gate, ledger, &at, text("no"), short_, SECOND, &wait_us) == VS_PROOF_WRONG);
        CHECK(vs_gate_prove_plain(gate, ledger, &at, text(short_), short_, SECOND, &wait_us) == VS_PROOF_RIGHT);
    }
    CHECK(vs_gate_prove_plain(gate, ledger, &at, text("no"), short_, SECOND, &wait_us) == VS_PROOF_WRONG);
    CHECK(vs_gate_prove_plain(gate, ledger, &at, text(short_), short_, SECOND, &wait_us) == VS_PROOF_PUT_OFF);
    CHECK_EQ_I64(wait_us, LEDGER_LOGIN_STEP_US);
    CHECK(vs_gate_prove_plain(gate, ledger, &at, text("no"), long_, SECOND, &wait_us) == VS_PROOF_WRONG);
    CHECK(vs_gate_prove_plain(gate, ledger, &at, text(long_), long_, SECOND, &wait_us) == VS_PROOF_RIGHT);
    CHECK(vs_gate_prove_plain(gate, ledger, &at, text(short_), short_, SECOND + wait_us, &wait_us) == VS_PROOF_RIGHT);
    ledger_free(ledger);
    vs_gate_free(gate);
}

static void secrets_of_a_line(void) {
    static const struct {
        const char *line, *error; /* NULL: the line is valid */
    } rows[] = {{"a names=* calls=give secret=none", NULL},
                {"a names=* calls=give secret=chosen:2026-01-01T00:00:00Z:$y$j9T$x", NULL},
                {"a names=* calls=give", "client 'a' has no secret"},
                {"default names=* calls=give", NULL},
                {"default names=* calls=give secret=none", "no certificate can prove it"},
                {"a names=* calls=give secret=none secret=chosen:x", "delete one of them"},
                {"a names=* calls=give secret=plain:2026-01-01T00:00:00Z:ab", "has the kind 'plain'"}};
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        struct vs_account account;
        struct vesta_error err = {.text = ""};
        int rc = vs_account_parse(text(rows[i].line), &account, &err);
        if (rows[i].error ? rc == VESTA_OK || !strstr(err.text, rows[i].error) : rc != VESTA_OK)
            CHECK_FAIL("%s: %s", rows[i].line, err.text);
    }
}

static void counts_are_bounded(void) {
    struct vs_gate *gate = vs_gate_new();
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

/* ------------------------------------------------------------------ credentials and rights of connections */

static bool is_text(struct vs_slice slice, const char *expected) {
    return expected ? slice.at && vs_slice_is(slice, expected) : !slice.at;
}

static void credentials_are_read(void) {
    static const struct {
        const char *header, *name, *secret; /* secret NULL: the header is rejected */
    } rows[] = {{"Bearer abc", NULL, "abc"},
                {"bearer  abc", NULL, " abc"},
                {"Basic b3JkZXJzOnNlY3JldA==", "orders", "secret"},
                {"Basic b3JkZXJzOnNlY3JldA", "orders", "secret"},
                {"Basic OnNlY3JldA==", NULL, "secret"},
                {"Basic b3JkZXJz", NULL, NULL},
                {"Basic b3JkZ*Jz", NULL, NULL},
                {"Bearer ", NULL, NULL},
                {"Digest abc", NULL, NULL},
                {"", NULL, NULL}};
    for (size_t i = 0; i < VS_COUNT(rows); i++) {
        char buf[ACCESS_CREDENTIAL_MAX];
        struct vs_slice name, secret;
        bool is_read = access_credential_read(text(rows[i].header), buf, &name, &secret);
        if (is_read != (rows[i].secret != NULL)) CHECK_FAIL("'%s'", rows[i].header);
        if (is_read && !(is_text(name, rows[i].name) && is_text(secret, rows[i].secret)))
            CHECK_FAIL("'%s'", rows[i].header);
        for (size_t length = 0; length < strlen(rows[i].header); length++) {
            char *exact = malloc(length + 1);
            memcpy(exact, rows[i].header, length);
            (void)access_credential_read((struct vs_slice){exact, length}, buf, &name, &secret);
            free(exact);
        }
    }
    static char long_[ACCESS_CREDENTIAL_MAX + 2] = "Basic ";
    char buf[ACCESS_CREDENTIAL_MAX];
    struct vs_slice name, secret;
    memset(long_ + 6, 'A', sizeof long_ - 7);
    CHECK(!access_credential_read(text(long_), buf, &name, &secret));
}

#define HEX "abababababababababababababababababababababababababababababababab"

static void a_removed_secret_leaves_no_rights(void) {
    struct vs_gate *gate = vs_gate_new();
    struct access_grant g = {.accounts = NULL};
    const struct access_origin here = {NULL, true}, elsewhere = {NULL, false}, certified = {"web", false};
    static const char orders[] = "orders names=orders* calls=give secret=random:2026-11-23T15:30:00Z:" HEX "\n",
                      read_only[] = "orders names=orders* calls=read secret=random:2026-11-23T15:30:00Z:" HEX "\n",
                      web[] = "web names=* calls=give,read secret=none\n";
    vs_gate_set(gate, accounts_of(orders));
    CHECK(access_grant_renew(&g, gate, &elsewhere) && !g.account && !access_grant_may(&g, 0));
    access_grant_reset(&g, gate, &here);
    CHECK(g.account == &vs_account_local && access_grant_has_all(&g) && !access_grant_may(&g, VS_OPERATE));
    access_grant_set(&g, gate, &g.accounts->at[0], &g.accounts->at[0].secret[0]);
    access_grant_keep(&g, text("Bearer abc"), false);
    CHECK(access_grant_may(&g, VS_GIVE) && !access_grant_may(&g, VS_GIVE | VS_READ));
    for (int i = 0; i < 2; i++) /* the second iteration uses the cache */
        CHECK(access_grant_has(&g, 3, text("orders.eu")) && !access_grant_has(&g, 3 + ACCESS_KNOWN, text("invoices")));
    vs_gate_set(gate, accounts_of(read_only));
    CHECK(!access_grant_renew(&g, gate, &here) && access_grant_may(&g, VS_READ) && !access_grant_may(&g, VS_GIVE));
    CHECK(access_grant_is_kept(&g, text("Bearer abc"), false) && !access_grant_is_kept(&g, text("Bearer abc"), true));
    vs_gate_set(gate, accounts_of(web));
    CHECK(!access_grant_renew(&g, gate, &here) && g.is_lost && !g.account && strcmp(access_grant_name(&g), "default") == 0);
    CHECK(!access_grant_is_kept(&g, text("Bearer abc"), false));
    /* the client is back in the file, but the connection must authenticate again */
    vs_gate_set(gate, accounts_of(orders));
    CHECK(access_grant_renew(&g, gate, &here) && g.is_lost && !g.account);
    vs_gate_set(gate, accounts_of(web));
    access_grant_end(&g);
    (void)access_grant_renew(&g, gate, &certified);
    CHECK(g.account && strcmp(access_grant_name(&g), "web") == 0 && !g.is_lost);
    access_grant_end(&g);
    vs_gate_free(gate);
}

static const struct check_case cases[] = {
    {"a pattern matches exactly the names that it should", patterns_match},
    {"SHA-256 matches the examples of FIPS 180-4", sha256_is_sha256},
    {"SHA-256 of a million letters does not depend on how they are divided", sha256_of_a_million_in_pieces},
    {"secrets are equal only if every bit is", secrets_are_compared_in_each_bit},
    {"a client's line is written as it was read, and no prefix is read past its end", a_line_is_written_as_read},
    {"a token is accepted alone and with its client's name, and with no other name", a_token_belongs_to_its_client},
    {"only attempts with guessable secrets are delayed after failures", only_guessable_secrets_are_delayed},
    {"a client's line has a token, a certificate or a chosen secret, or is rejected", secrets_of_a_line},
    {"the number of clients that are counted by name is bounded", counts_are_bounded},
    {"Bearer and Basic credentials are read, and other headers are rejected", credentials_are_read},
    {"a connection loses its rights when its secret is removed from the file", a_removed_secret_leaves_no_rights},
};
CHECK_MAIN(cases)
