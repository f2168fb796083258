/* import.c -- `vesta workers import`: the numbers that another generator has given out become numbers that nobody
 * leases here.  What the original may have made under a number lies below the mark that it gets: a later holder of it
 * starts above. */
#include "main/ops/stores.h"

#include "os/random.h"
#include "store/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARGIN_MS 60000 /* how far the clocks of the original's machines may be ahead of the store's */
#define DAY_MS INT64_C(86400000)
#define SLACK_MS 1000 /* a mark that ends so little earlier is the same */
#define TRIES_MAX 5
#define BUTTERFLY_KEEPS_MS DAY_MS /* how far ahead a Butterfly at work writes its time */
#define CLOCKS_APART_MS 600000    /* more than that is no clock, but a zone */
#define IDENTITY "import:"        /* of marks: no holder has it, unless its operator says so */

static const struct kind {
    const char *name, *scheme;
    bool has_name;          /* there may be several in one place */
    const char *lost;       /* it counts the numbers that it issued, and this is how one looks that no row shows */
    const char *layouts[3]; /* of its ids, unless its operator configured another: --original */
} kinds[VS_FOREIGN_KINDS] = {
    [VS_BUTTERFLY_DB] = {"butterfly-db", "mysql", true, NULL, {NULL}}, /* butterflies[] */
    [VS_BUTTERFLY_ZK] = {"butterfly-zk", "zk", true, NULL, {NULL}},
    [VS_LEAF] = {"leaf", "zk", true, "its node was deleted", {"leaf"}},
    [VS_UID] = {"uid", "mysql", false, "its row was deleted", {"uid", "uid time:29 worker:21"}},
    [VS_VESTA_DB] = {"vesta", "mysql", false, NULL, {"vesta-second", "vesta-milli"}},
};

/* Butterfly's layouts, in the order of --butterfly's words. */
static const char *const butterflies[] = {"butterfly-v1.0.1", "butterfly"};

enum deed { DEED_MARK, DEED_RAISE, DEED_SAME, DEED_CLASH, DEEDS };
static const char *const deeds[] = {"mark", "raise", "same", "clash"};

struct asked {
    struct vs_at at, from; /* from: where the original keeps its numbers; its name there */
    int kind, yes, from_given, butterfly, butterfly_given;
    const char *original;  /* the layout of its ids; NULL: one of its kind's */
    const char *zone;      /* of the original's JVMs */
    int64_t zone_ms;       /* how far it is ahead of UTC; unused where the zone is the database's */
    uint64_t days, issued; /* issued: the highest number that the original ever issued, by its operator */
    int issued_given;
    uint64_t done[DEEDS];
};

static bool is_butterfly(const struct asked *asked) {
    return asked->kind == VS_BUTTERFLY_DB || asked->kind == VS_BUTTERFLY_ZK;
}

static bool is_databases_zone(const struct asked *asked) {
    return asked->kind == VS_BUTTERFLY_DB && strcmp(asked->zone, "database") == 0;
}

/* ------------------------------------------------------------------ what a number becomes */

/* When nobody may have it before, by the store's clock; 0: it is free at once. */
static int64_t held_until_ms(const struct asked *asked, const struct vs_foreign *row) {
    int64_t end_ms = vesta_layout_end_ms(&asked->at.layout);
    if (row->until_ms == VS_FOREIGN_EVER) {
        int64_t days_ms = asked->at.store_ms + (int64_t)asked->days * DAY_MS;
        return asked->days && days_ms < end_ms ? days_ms : end_ms;
    }
    if (row->until_ms <= asked->at.store_ms - MARGIN_MS) return 0;
    return row->until_ms < end_ms - MARGIN_MS ? row->until_ms + MARGIN_MS : end_ms;
}

/* The record that a number shall have at least. */
static void wanted_of(const struct asked *asked, const struct vs_foreign *row, struct vs_record *out) {
    const struct vs_at *at = &asked->at;
    int64_t held_ms = held_until_ms(asked, row), used_ms = held_ms ? held_ms : at->store_ms;
    bool is_ever = held_ms >= vesta_layout_end_ms(&at->layout);
    *out = (struct vs_record){.fingerprint = at->ns.fingerprint, .seen_ms = vs_now_ms(), .held = held_ms != 0};
    out->until = is_ever ? vs_tick_end(&at->shape) : vs_tick_at(&at->shape, (used_ms + MARGIN_MS) * 1000);
    out->lease_ms = held_ms > at->store_ms ? held_ms - at->store_ms : 0;
    snprintf(out->identity, sizeof out->identity, IDENTITY "%s", kinds[asked->kind].name);
    snprintf(out->holder, sizeof out->holder, "%s %.100s", kinds[asked->kind].name, row->who);
}

static bool is_mark(const struct vs_record *r) {
    return strncmp(r->identity, IDENTITY, strlen(IDENTITY)) == 0;
}

/* Compares with what stands there; `wanted` becomes what has to be written. */
static enum deed judge(const struct asked *asked, const struct vs_record *now, struct vs_record *wanted) {
    int64_t store_ms = asked->at.store_ms;
    if (now->ver == 0) return DEED_MARK;
    if (!is_mark(now) && vs_standing_of(now, store_ms) == VS_STANDS_HELD) return DEED_CLASH;
    bool lasts =
        !wanted->held || (now->held && now->lease_ms >= store_ms + wanted->lease_ms - now->written_ms - SLACK_MS);
    if (is_mark(now) && lasts && now->held == wanted->held && now->until >= wanted->until) return DEED_SAME;
    if (wanted->until < now->until) wanted->until = now->until;
    return DEED_RAISE;
}

/* Writes over what stands there; where somebody was faster, judges anew. */
static int write_one(struct asked *asked, uint64_t worker, struct vs_record *now, const struct vs_record *wanted,
                     enum deed *deed) {
    struct vs_store *store = asked->at.store;
    struct vs_reply reply = {.outcome = VS_STORE_CONFLICT};
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct vs_record next = *wanted;
        *deed = judge(asked, now, &next);
        if (*deed == DEED_SAME || *deed == DEED_CLASH) return VS_GO;
        next.ver = now->ver + 1;
        next.epoch = now->epoch + 1;
        if (vs_random(next.owner, sizeof next.owner) != 0) return vs_say("no random bits"), VS_FAILED;
        store->leases->swap(store, worker, now->ver, &next, &reply);
        if (reply.outcome == VS_STORE_OK) return VS_GO;
        if (reply.outcome != VS_STORE_CONFLICT) break;
        *now = reply.record;
    }
    vs_say("number %" PRIu64 " was not marked; those already marked stay marked: run the import again", worker);
    return vs_at_told(&asked->at, &reply);
}

/* ------------------------------------------------------------------ telling */

static void print_one(const struct asked *asked, const struct vs_foreign *row, const struct vs_record *wanted,
                      const struct vs_record *now, enum deed deed) {
    char iso[VESTA_ISO_MAX];
    int64_t held_ms = held_until_ms(asked, row);
    bool is_ever = held_ms >= vesta_layout_end_ms(&asked->at.layout);
    if (asked->at.json) {
        vs_outf("{\"worker\":%" PRIu64 ",\"deed\":\"%s\",\"held\":%s", row->worker, deeds[deed],
                wanted->held ? "true" : "false");
        if (wanted->held && !is_ever) vs_outf(",\"held_until_ms\":%" PRId64, held_ms);
        vs_outf(",\"until\":\"%" PRIu64 "\",\"who\":", wanted->until);
        vs_out_json(row->who);
        vs_outf("}");
    } else {
        vs_outf("%6" PRIu64 "  %-5s  %s%-24s  ", row->worker, deeds[deed], wanted->held ? "held until " : "free       ",
                !wanted->held ? ""
                : is_ever     ? "the layout's end"
                              : vs_iso(held_ms, iso));
        vs_out_fitted(row->who, 52, 52);
    }
    if (deed == DEED_CLASH)
        vs_say("number %" PRIu64 " is in use by the original (%s) and is also held here by %s: one of them must stop",
               row->worker, vs_shown_text(row->who), vs_shown_text(now->holder));
}

static void print_end(const struct asked *asked, size_t count) {
    const uint64_t *done = asked->done;
    if (asked->at.json) {
        vs_outf("]");
        for (int i = 0; i < DEEDS; i++)
            vs_outf(",\"%s\":%" PRIu64, deeds[i], done[i]);
        if (kinds[asked->kind].lost && count) vs_outf(",\"issued_to\":%" PRIu64, asked->issued);
        vs_outf(",\"found\":%zu,\"written\":%s}\n", count, asked->yes ? "true" : "false");
        return;
    }
    if (kinds[asked->kind].lost && count)
        vs_out_fittedf(2, 0, "%s has issued numbers up to %" PRIu64, kinds[asked->kind].name, asked->issued);
    vs_out_fittedf(2, 0,
                   "%zu numbers found: %" PRIu64 " to mark, %" PRIu64 " to raise, %" PRIu64 " already marked, %" PRIu64
                   " in conflict; %s",
                   count, done[DEED_MARK], done[DEED_RAISE], done[DEED_SAME], done[DEED_CLASH],
                   asked->yes ? "done" : "nothing was written: add --yes to write");
}

/* ------------------------------------------------------------------ the run */

static const struct vs_record *find(const struct vs_workers *workers, uint64_t worker) {
    static const struct vs_record none;
    size_t low = 0, high = workers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (workers->listed[middle].worker < worker)
            low = middle + 1;
        else
            high = middle;
    }
    return low < workers->count && workers->listed[low].worker == worker ? &workers->listed[low].record : &none;
}

static int by_worker(const void *a, const void *b) {
    uint64_t x = ((const struct vs_foreign *)a)->worker, y = ((const struct vs_foreign *)b)->worker;
    return x < y ? -1 : x > y;
}

/* A client that sends dates without a zone wrote its own: the database took them for its zone's. */
static void take_zone(const struct asked *asked, struct vs_foreign *rows, size_t count) {
    if (asked->kind != VS_BUTTERFLY_DB || is_databases_zone(asked)) return;
    for (size_t i = 0; i < count; i++)
        rows[i].until_ms = rows[i].wall_ms - asked->zone_ms;
}

/* Later than a Butterfly writes: it was in another zone than was said. */
static bool is_too_late(const struct asked *asked, const struct vs_foreign *row) {
    return asked->kind == VS_BUTTERFLY_DB && row->until_ms > asked->at.store_ms + BUTTERFLY_KEEPS_MS + CLOCKS_APART_MS;
}

static int fits(const struct asked *asked, const struct vs_foreign *rows, size_t count) {
    char iso[VESTA_ISO_MAX];
    for (size_t i = 0; i < count; i++)
        if (is_too_late(asked, &rows[i])) {
            vs_say("number %" PRIu64 " (%s) would be held until %s, but Butterfly writes 24 hours ahead: its JVM is in "
                   "a time zone other than --zone %s; nothing was written",
                   rows[i].worker, vs_shown_text(rows[i].who), vs_iso(rows[i].until_ms, iso), asked->zone);
            return VS_FAILED;
        } else if (rows[i].worker > asked->at.worker_max) {
            vs_say("number %" PRIu64 " (%s) is beyond the namespace's layout, which ends at %" PRIu64
                   ": nothing was written",
                   rows[i].worker, vs_shown_text(rows[i].who), asked->at.worker_max);
            return VS_FAILED;
        }
    return VS_GO;
}

static int mark_all(struct asked *asked, const struct vs_foreign *rows, size_t count,
                    const struct vs_workers *workers) {
    struct vs_progress progress = {.began_us = 0};
    int rc = VS_GO;
    if (asked->at.json) vs_outf("{\"from\":\"%s\",\"numbers\":[", kinds[asked->kind].name);
    for (size_t i = 0; i < count && rc == VS_GO; i++) {
        struct vs_record wanted, now = *find(workers, rows[i].worker), judged;
        enum deed deed;
        wanted_of(asked, &rows[i], &wanted);
        judged = wanted;
        deed = judge(asked, &now, &judged);
        if (asked->yes) rc = write_one(asked, rows[i].worker, &now, &wanted, &deed);
        if (rc != VS_GO) break;
        asked->done[deed]++;
        if (asked->at.json && i > 0) vs_outf(",");
        print_one(asked, &rows[i], &wanted, &now, deed);
        if (!isatty(STDOUT_FILENO)) vs_progress_show(&progress, "numbers", i + 1, count); /* else they are seen */
    }
    vs_progress_end();
    if (rc == VS_GO) print_end(asked, count);
    return rc == VS_GO ? (asked->done[DEED_CLASH] ? VS_FAILED : VS_DONE) : rc;
}

/* ------------------------------------------------------------------ the original's layout */

static bool has_fields_of(const struct vesta_layout *layout, const struct vesta_layout *other) {
    if (layout->field_count != other->field_count || layout->worker != other->worker) return false;
    for (int i = 0; i < layout->field_count; i++) {
        const struct vesta_field *a = &layout->field[i], *b = &other->field[i];
        if (strcmp(a->name, b->name) != 0 || a->width != b->width || a->low_width != b->low_width) return false;
    }
    return true;
}

/* Whether the marks keep ids apart only if the time in a new id is later than that in any old one: numbers that are
 * free, or will be, may have old ids of any time under another epoch. */
static bool rests_on_time(const struct asked *asked) {
    return !kinds[asked->kind].lost || asked->days;
}

/* Whether ids of the namespace and of the original differ wherever their numbers differ, or their real times do. */
static bool is_apart(const struct asked *asked, const struct vesta_layout *original) {
    const struct vesta_layout *layout = &asked->at.layout;
    if (!has_fields_of(layout, original)) return false;
    return !rests_on_time(asked) || (layout->unit_us == original->unit_us && layout->epoch_ms <= original->epoch_ms);
}

static bool fits_text(const struct asked *asked, const char *text) {
    struct vesta_layout original;
    return vesta_layout_parse(text, &original, NULL) == VESTA_OK && is_apart(asked, &original);
}

static int check_layout(const struct asked *asked) {
    const struct kind *kind = &kinds[asked->kind];
    const char *text = asked->original       ? asked->original
                       : is_butterfly(asked) ? butterflies[asked->butterfly]
                                             : kind->layouts[0];
    if (fits_text(asked, text)) return VS_GO;
    for (int i = 1; !asked->original && !is_butterfly(asked) && kind->layouts[i]; i++)
        if (fits_text(asked, kind->layouts[i])) return VS_GO;
    vs_say(
        "the namespace has the layout %s, and the original's ids have %s%s, so ids could collide: the namespace needs "
        "%s; nothing was written%s",
        asked->at.ns.layout, text,
        asked->original || is_butterfly(asked) || !kind->layouts[1] ? "" : " or a known variant",
        rests_on_time(asked) ? "the same fields and time unit, and no later epoch" : "the same fields",
        asked->original ? "" : ". If the original was configured with another layout, add --original LAYOUT");
    return VS_FAILED;
}

/* ------------------------------------------------------------------ numbers without a row */

/* The numbers that were issued end below this; 0: the original keeps no count.  VS_GO, or an exit code. */
static int issued_until(const struct asked *asked, const struct vs_foreign_list *list, uint64_t *until) {
    const struct kind *kind = &kinds[asked->kind];
    *until = 0;
    if (!kind->lost) return VS_GO;
    if (list->doubt && !asked->issued_given) {
        vs_say(
            "the highest number that %s issued is not known, because %s: a deleted row could have had any number. Find "
            "the highest one in its ids with `vesta explain`, and add --issued N; nothing was written",
            kind->name, list->doubt);
        return VS_FAILED;
    }
    if (list->issued_until <= list->issued_first && list->count == 0 && !asked->issued_given) {
        vs_say(
            "%s has issued no number, by its records: either it never started, or they were truncated or created "
            "again. Find the highest number in its ids with `vesta explain`, and add --issued N; nothing was written",
            kind->name);
        return VS_FAILED;
    }
    *until = list->issued_until;
    if (asked->issued_given && asked->issued >= *until) *until = asked->issued + 1;
    if (list->count && list->rows[list->count - 1].worker >= *until) *until = list->rows[list->count - 1].worker + 1;
    if (*until <= asked->at.worker_max + 1) return VS_GO;
    vs_say("%s has issued the number %" PRIu64 ", beyond the namespace's layout, which ends at %" PRIu64
           ": nothing was written",
           kind->name, *until - 1, asked->at.worker_max);
    return VS_FAILED;
}

/* Shape: the list is sorted, and so it is behind it. */
static int add_lost(struct asked *asked, struct vs_foreign_list *list) {
    const struct kind *kind = &kinds[asked->kind];
    size_t rows = list->count, row = 0;
    struct vs_reply reply;
    uint64_t until;
    int rc = issued_until(asked, list, &until);
    if (rc != VS_GO || until == 0) return rc;
    asked->issued = until - 1;
    bool is_many = until > VS_FOREIGN_MAX; /* then a namespace excludes them, and no record need do so */
    for (uint64_t n = list->issued_first; n < until; n++) {
        while (row < rows && list->rows[row].worker < n)
            row++;
        if ((row < rows && list->rows[row].worker == n) || (is_many && vs_is_static(&asked->at.ns, n))) continue;
        if (vs_foreign_add(list, n, VS_FOREIGN_EVER, kind->lost, &reply)) continue;
        if (reply.outcome == VS_STORE_REFUSED)
            vs_say("%s has issued the numbers %" PRIu64 " to %" PRIu64
                   ", more than %d: create a namespace that excludes "
                   "them: vesta store init --static %" PRIu64 "-%" PRIu64 "; nothing was written",
                   kind->name, list->issued_first, until - 1, VS_FOREIGN_MAX, list->issued_first, until - 1);
        else
            vs_say("%s", reply.text);
        return VS_FAILED;
    }
    return VS_GO;
}

static void sort(struct vs_foreign_list *list) {
    if (list->count) qsort(list->rows, list->count, sizeof *list->rows, by_worker);
}

static int run(struct asked *asked) {
    struct vs_store *source = asked->from.store;
    struct vs_foreign_list list = {.count = 0};
    struct vs_workers workers = {0};
    struct vs_reply reply;
    int rc = vs_at_need(&asked->at);
    if (rc == VS_GO) rc = check_layout(asked);
    if (rc != VS_GO) return rc;
    source->admin->foreign(source, (enum vs_foreign_kind)asked->kind,
                           kinds[asked->kind].has_name ? asked->from.name : NULL, &list, &reply);
    if (reply.outcome != VS_STORE_OK) rc = vs_at_told(&asked->from, &reply);
    take_zone(asked, list.rows, list.count);
    sort(&list);
    if (rc == VS_GO) rc = add_lost(asked, &list);
    sort(&list);
    if (rc == VS_GO) rc = fits(asked, list.rows, list.count);
    if (rc == VS_GO) rc = vs_at_list(&asked->at, &workers);
    if (rc == VS_GO) rc = mark_all(asked, list.rows, list.count, &workers);
    free(workers.listed);
    free(list.rows);
    return rc;
}

/* "+08:00", "Z": how far ahead of UTC. */
static int read_zone(struct asked *asked) {
    char text[40];
    int64_t unix_ms;
    snprintf(text, sizeof text, "1970-01-02T00:00:00%s", asked->zone);
    if (strlen(asked->zone) > 6 || vesta_time_parse(text, &unix_ms, NULL) != VESTA_OK)
        return vs_usage("--zone is %s, which must be an offset such as +08:00 or Z, or database",
                        vs_shown_text(asked->zone));
    asked->zone_ms = DAY_MS - unix_ms;
    return VS_GO;
}

/* A table does not show in which zone its dates were written. */
static int check_zone(struct asked *asked) {
    bool is_needed = asked->kind == VS_BUTTERFLY_DB;
    if (is_needed && asked->zone) return is_databases_zone(asked) ? VS_GO : read_zone(asked);
    if (asked->zone) return vs_usage("--zone does not apply to %s", kinds[asked->kind].name);
    if (!is_needed) return VS_GO;
    return vs_usage(
        "--zone is missing: the time zone of Butterfly's JVMs, such as +08:00 or Z, since they write last_expire_time "
        "in it; or database, if the database is in the same zone or their driver converts");
}

static int check_butterfly(const struct asked *asked) {
    if (is_butterfly(asked) && !asked->butterfly_given)
        return vs_usage("--butterfly is missing: 1.0.1 for ids of that version or earlier, 1.0.2 for ids of that "
                        "version or later; three consecutive ids show which: docs/migrate.md, Butterfly");
    if (!is_butterfly(asked) && asked->butterfly_given)
        return vs_usage("--butterfly does not apply to %s", kinds[asked->kind].name);
    return VS_GO;
}

static int check_original(const struct asked *asked) {
    struct vesta_layout layout;
    if (asked->issued_given && !kinds[asked->kind].lost)
        return vs_usage("--issued does not apply to %s, which issues no numbers in sequence", kinds[asked->kind].name);
    int rc = asked->original ? vs_read_layout(asked->original, &layout) : VS_DONE;
    return rc == VS_DONE ? VS_GO : rc;
}

static int check(const struct asked *asked) {
    const struct kind *kind = &kinds[asked->kind];
    size_t length = asked->from.uri ? strcspn(asked->from.uri, ":") : 0;
    if (!asked->from_given) return vs_usage("--from is missing: butterfly-db, butterfly-zk, leaf, uid or vesta");
    if (!asked->from.uri) return vs_usage("--source is missing: the %s: URI of what %s uses", kind->scheme, kind->name);
    if (length != strlen(kind->scheme) || memcmp(asked->from.uri, kind->scheme, length) != 0)
        return vs_usage("--from %s reads from a %s: source", kind->name, kind->scheme);
    if (!kind->has_name && asked->from.name) return vs_usage("--name does not apply to %s", kind->name);
    if (kind->has_name && !asked->from.name)
        return vs_usage("--name is missing: %s", asked->kind == VS_LEAF ? "leaf.name" : "Butterfly's namespace");
    if (asked->from.name &&
        (strchr(asked->from.name, '/') || strlen(asked->from.name) > VS_FOREIGN_NAME_MAX || *asked->from.name == '.'))
        return vs_usage("--name is %s, which must have 250 bytes at most, no '/', and no '.' in front",
                        vs_shown_text(asked->from.name));
    return VS_GO;
}

int vs_workers_import(int argc, char **argv) {
    struct asked asked = {.kind = 0};
    const struct vs_option table[] = {
        {"from", 0, VS_OPT_CHOICE, &asked.kind, "butterfly-db|butterfly-zk|leaf|uid|vesta", "which generator's numbers",
         0, 0, &asked.from_given},
        VS_TEXT("source", &asked.from.uri, "URI",
                "where they are: mysql://USER@HOST/DB, zk://HOSTS/butterfly, /snowflake"),
        VS_TEXT("name", &asked.from.name, "NAME", "Butterfly's namespace, or Leaf's leaf.name"),
        {"butterfly", 0, VS_OPT_CHOICE, &asked.butterfly, "1.0.1|1.0.2",
         "the version that its ids come from: 1.0.1 or earlier, 1.0.2 or later", 0, 0, &asked.butterfly_given},
        VS_TEXT("zone", &asked.zone, "+HH:MM|database", "the time zone of Butterfly's JVMs"),
        VS_TEXT("original", &asked.original, "LAYOUT",
                "the layout of the original's ids, if it was configured (default: its preset)"),
        {"issued", 0, VS_OPT_COUNT, &asked.issued, "N",
         "the highest number that Leaf or UidGenerator ever issued, if its records no longer show it", 0, UINT32_MAX,
         &asked.issued_given},
        VS_AT_OPTIONS(&asked.at),
        {"days", 0, VS_OPT_COUNT, &asked.days, "N",
         "how long numbers that the original never frees stay out of use (default: for ever)", 1, 36500, NULL},
        VS_SWITCH("yes", &asked.yes, "write the changes; without it nothing is written"),
        VS_SWITCH("dry-run", &(int){0}, "only show what would be written (the default)"),
        VS_SWITCH("json", &asked.at.json, "print one JSON object"),
        {0},
    };
    vs_say_as("workers import");
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc > 0) return vs_usage("unexpected operand %s", vs_shown_text(argv[0]));
    if ((rc = check(&asked)) != VS_GO || (rc = check_butterfly(&asked)) != VS_GO ||
        (rc = check_zone(&asked)) != VS_GO || (rc = check_original(&asked)) != VS_GO)
        return rc;
    if ((rc = vs_at_find(&asked.at, true)) == VS_GO && (rc = vs_at_open(&asked.at)) == VS_GO) {
        struct vs_at source = {.uri = asked.from.uri}; /* its name there need be none of ours */
        rc = vs_at_open(&source);
        asked.from.store = source.store;
        if (rc == VS_GO) rc = run(&asked);
        vs_at_close(&source);
    }
    vs_at_free(&asked.at);
    return rc;
}
