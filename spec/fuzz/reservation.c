/* reservation.c -- reserves, commits and cancels under any token in a SQLite file into which other programs may write
 * any row. No call ends the program. As long as no other program has written, a committed number is never reserved
 * again, and a token has one number. */
#include "fuzz.h"
#include "base/array.h"
#include "os/clock.h"
#include "store/reservation.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <unistd.h>

#define TOKENS 6 /* the first is all zeros, which no caller uses */
#define NUMBERS 64

static struct vs_store *store;
static char path[64];
static const struct vs_counter counter = {NULL, "orders"};

static const uint8_t *in, *end;

static unsigned dice(unsigned limit) {
    return in < end ? *in++ % limit : 0;
}

static void run(const char *sql) {
    sqlite3 *db;
    MUST(sqlite3_open(path, &db) == SQLITE_OK);
    sqlite3_exec(db, sql, NULL, NULL, NULL); /* a statement that SQLite rejects writes nothing */
    sqlite3_close(db);
}

static void remove_file(void) {
    unlink(path);
}

static void open_store(void) {
    char uri[sizeof path + 8];
    struct vs_reply reply;
    if (store) return;
    snprintf(path, sizeof path, "/dev/shm/vesta-fuzz-reservation-%d.db", (int)getpid());
    unlink(path);
    atexit(remove_file);
    snprintf(uri, sizeof uri, "sqlite:%s", path);
    struct vs_store_opts opts = {.namespace_ = "default", .group = -1, .clock = vs_clock_system()};
    MUST(vs_store_open(uri, &opts, &store, NULL) == VESTA_OK);
    store->counters->tag_add(store, &counter, 1, 1, &reply);
    MUST(reply.outcome == VS_STORE_OK);
}

static void begin_anew(void) {
    open_store();
    run("DROP TRIGGER IF EXISTS hostile; DROP TABLE IF EXISTS vesta_reservation; DROP TABLE IF EXISTS leaf_alloc;"
        "CREATE TABLE leaf_alloc (biz_tag TEXT NOT NULL PRIMARY KEY, max_id INTEGER NOT NULL, step INTEGER NOT NULL,"
        " update_time INTEGER) WITHOUT ROWID; INSERT INTO leaf_alloc VALUES ('orders', 1, 1, 0)");
}

/* ------------------------------------------------------------------ writes of other programs */

static const char *value(void) {
    static const char *const values[] = {"NULL",
                                         "0",
                                         "1",
                                         "2",
                                         "-1",
                                         "'x'",
                                         "''",
                                         "1.5",
                                         "9e99",
                                         "9223372036854775807",
                                         "9223372036854775806",
                                         "-9223372036854775808",
                                         "x'00000000000000000000000000000000'",
                                         "x'0000000000000001', 0) --",
                                         "zeroblob(16)",
                                         "zeroblob(17)",
                                         "x''",
                                         "1e18"};
    return values[dice(VS_COUNT(values))];
}

static void write_by_hand(void) {
    char sql[400];
    switch (dice(6)) {
    case 0: snprintf(sql, sizeof sql, "UPDATE leaf_alloc SET max_id = %s", value()); break;
    case 1: snprintf(sql, sizeof sql, "UPDATE leaf_alloc SET step = %s", value()); break;
    case 2:
        snprintf(sql, sizeof sql,
                 "INSERT OR REPLACE INTO vesta_reservation (counters, tag, number, token, free_ms) VALUES"
                 " ('leaf_alloc', 'orders', %s, %s, %s)",
                 value(), value(), value());
        break;
    case 3:
        snprintf(sql, sizeof sql, "UPDATE vesta_reservation SET %s = %s",
                 (const char *const[]){"number", "token", "free_ms"}[dice(3)], value());
        break;
    case 4: snprintf(sql, sizeof sql, dice(2) ? "DROP TABLE vesta_reservation" : "DELETE FROM leaf_alloc"); break;
    default:
        snprintf(sql, sizeof sql,
                 "CREATE TRIGGER hostile BEFORE %s ON vesta_reservation BEGIN SELECT RAISE(%s, 'no'); END",
                 dice(2) ? "INSERT" : "UPDATE", (const char *const[]){"ABORT", "ROLLBACK", "IGNORE", "FAIL"}[dice(4)]);
    }
    run(sql);
}

/* ------------------------------------------------------------------ callers */

static struct {
    uint64_t of_token[TOKENS]; /* the number reserved under it; 0: none */
    bool is_committed[NUMBERS];
    bool is_ours; /* no other program has written */
} known;

static struct vs_reservation reservation_of(unsigned token) {
    return (struct vs_reservation){
        .token = {token, 0}, .hold_ms = dice(2) ? 1 : 3600000, .granted = dice(4) ? 0 : dice(8)};
}

static void reserve(void) {
    unsigned token = 1 + dice(TOKENS - 1);
    struct vs_reservation wanted = reservation_of(token);
    struct vs_reply reply;
    store->counters->reserve(store, &counter, &wanted, &reply);
    MUST(reply.outcome == VS_STORE_OK || *reply.text);
    if (reply.outcome != VS_STORE_OK) return;
    MUST(reply.grant.from < VS_NUMBER_MAX && reply.grant.until == reply.grant.from + 1);
    if (!known.is_ours) return;
    MUST(reply.grant.from > 0 && reply.grant.from < NUMBERS && !known.is_committed[reply.grant.from]);
    MUST(known.of_token[token] == 0 || known.of_token[token] == reply.grant.from);
    for (unsigned other = 0; other < TOKENS; other++) /* an expired reservation has lost its number */
        if (known.of_token[other] == reply.grant.from) known.of_token[other] = 0;
    known.of_token[token] = reply.grant.from;
}

static void settle(void) {
    static const uint64_t numbers[] = {0, 1, 2, 3, VS_NUMBER_MAX - 1, VS_NUMBER_MAX};
    unsigned token = dice(TOKENS);
    struct vs_reservation asked = reservation_of(token);
    struct vs_reply reply;
    bool commit = dice(2);
    asked.number = dice(3) ? known.of_token[token] : numbers[dice(VS_COUNT(numbers))];
    store->counters->settle(store, &counter, &asked, commit, &reply);
    MUST(reply.outcome == VS_STORE_OK || *reply.text);
    if (reply.outcome != VS_STORE_OK || !known.is_ours) return;
    MUST(token != 0 && asked.number == known.of_token[token]);
    if (commit) known.is_committed[asked.number] = true;
    MUST(commit || !known.is_committed[asked.number]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    in = data, end = data + size;
    begin_anew();
    memset(&known, 0, sizeof known);
    known.is_ours = dice(2);
    for (int steps = 0; in < end && steps < 24; steps++) {
        if (!known.is_ours && dice(3) == 0)
            write_by_hand();
        else
            (dice(2) ? reserve : settle)();
    }
    return 0;
}
