/* import.c -- `vesta segments import`: takes over the counters of tinyid's, Leaf's or a ticket server's tables, each
 * past every number that was given.  A counter's several databases are read together, since each has numbers that the
 * others lack.  Only shows what it would write, unless told otherwise. */
#include "main/segments/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOURCES_MAX 16
#define STEP_DEFAULT 1000
#define LOOK_AGAIN_MS 500 /* a source whose counters stand still for so long has no writers, or slow ones */

enum deed { DEED_ADD, DEED_RAISE, DEED_SAME, DEEDS };
static const char *const deeds[] = {"add", "raise", "same"};

struct asked {
    struct vs_places places;
    struct vs_place source[SOURCES_MAX];
    struct vs_tag_list list[SOURCES_MAX];
    int sources;
    const char *table, *tag, *as;
    uint64_t step, ahead;
    int yes;
    uint64_t done[DEEDS];
};

/* A counter as all sources together have it. */
struct found {
    const char *tag;
    uint64_t from; /* past every number that was given, so far */
    uint64_t step;
};

/* ------------------------------------------------------------------ reading */

static int read_sources(struct asked *asked) {
    int rc = VS_GO;
    for (int i = 0; i < asked->sources && rc == VS_GO; i++) {
        free(asked->list[i].rows);
        rc = vs_place_list(&asked->source[i], &asked->list[i]);
    }
    return rc;
}

/* What a row's own database says of it cannot be so, or is not all. */
static int check_row(const struct vs_place *source, const struct vs_tag *row) {
    if (row->max < 0 || row->max >= INT64_MAX)
        return vs_say("%s: %s stands at %" PRId64 ", from which no numbers can go on", source->shown, row->tag,
                      row->max),
               VS_FAILED;
    if (row->delta < 1 || row->remainder < 0 || row->remainder >= row->delta)
        return vs_say("%s: %s has a delta of %" PRId64 " and a remainder of %" PRId64 ", which cannot be",
                      source->shown, row->tag, row->delta, row->remainder),
               VS_FAILED;
    return VS_GO;
}

static int refuse_unusable(const struct vs_place *place, const char *tag, const char *why) {
    vs_say("%s: the row of tag '%s' cannot be used: %s. So it is not known which numbers it gave: set its row above "
           "all of "
           "them, or choose other tags by --tag",
           place->shown, tag, why);
    return VS_FAILED;
}

/* The counter as all sources have it; not first: an earlier one has it, too. */
static int gather(const struct asked *asked, int source, const char *tag, struct found *out, bool *is_first) {
    uint64_t step = asked->step;
    int64_t databases = 0, delta = 1;
    *out = (struct found){.tag = asked->as ? asked->as : tag};
    *is_first = true;
    for (int i = 0; i < asked->sources; i++) {
        const struct vs_tag_listed *listed = vs_place_find(&asked->list[i], tag);
        const char *why;
        if (!listed) continue;
        if (i < source) *is_first = false;
        const struct vs_tag *there = vs_tag_usable(listed, &why);
        if (!there) return refuse_unusable(&asked->source[i], listed->tag, why);
        int rc = check_row(&asked->source[i], there);
        if (rc != VS_GO) return rc;
        databases++;
        if (there->delta > delta) delta = there->delta;
        if ((uint64_t)there->max > out->from) out->from = (uint64_t)there->max;
        if (!step && there->step > 0 && (uint64_t)there->step <= VS_RANGE_MAX) step = (uint64_t)there->step;
    }
    out->step = step ? step : STEP_DEFAULT;
    if (databases < delta)
        return vs_say("%s has a delta of %" PRId64 ", and is in %" PRId64
                      " of the databases: the others have numbers of their own, so name all of them",
                      tag, delta, databases),
               VS_FAILED;
    if (asked->ahead >= VS_NUMBER_MAX - out->from)
        return vs_say("%s stands at %" PRIu64 ": --ahead leads past 2^63 - 1", tag, out->from), VS_FAILED;
    out->from += asked->ahead;
    return VS_GO;
}

static bool is_asked_for(const struct asked *asked, const struct vs_tag_listed *listed) {
    return !asked->tag || strcmp(asked->tag, listed->tag) == 0;
}

static int check_still(const struct vs_place *source, const struct vs_tag_listed *listed,
                       const struct vs_tag_list *before) {
    const struct vs_tag_listed *was = vs_place_find(before, listed->tag);
    const char *why;
    const struct vs_tag *then = was ? vs_tag_usable(was, &why) : NULL, *now = vs_tag_usable(listed, &why);
    if (!now) return refuse_unusable(source, listed->tag, why);
    if (then && then->max == now->max) return VS_GO;
    vs_say("%s: %s still moves, from %" PRId64 " to %" PRId64
           " meanwhile: end its writers first; or --ahead N begins so far above it that they cannot catch up",
           source->shown, now->tag, then ? then->max : 0, now->max);
    return VS_FAILED;
}

/* Numbers that a source gives from now on would be given here as well. */
static int check_rest(struct asked *asked, int wait_ms) {
    struct vs_tag_list before[SOURCES_MAX];
    if (asked->ahead) return VS_GO;
    memcpy(before, asked->list, sizeof before);
    memset(asked->list, 0, sizeof asked->list);
    usleep((useconds_t)wait_ms * 1000);
    int rc = read_sources(asked);
    for (int i = 0; i < asked->sources && rc == VS_GO; i++)
        for (size_t r = 0; r < asked->list[i].count && rc == VS_GO; r++)
            if (is_asked_for(asked, &asked->list[i].rows[r]))
                rc = check_still(&asked->source[i], &asked->list[i].rows[r], &before[i]);
    for (int i = 0; i < asked->sources; i++)
        free(before[i].rows);
    return rc;
}

/* ------------------------------------------------------------------ writing */

static int write_one(const struct vs_place *place, const struct found *found, enum deed deed) {
    const struct vs_counter counter = {place->table, found->tag};
    struct vs_reply reply;
    if (deed == DEED_SAME) return VS_GO;
    if (deed == DEED_RAISE)
        place->store->counters->lift(place->store, &counter, found->from, &reply);
    else
        place->store->counters->tag_add(place->store, &counter, found->from, found->step, &reply);
    return reply.outcome == VS_STORE_OK ? VS_GO : vs_place_told(place, found->tag, &reply);
}

static void print_one(const struct asked *asked, const struct vs_place *place, const struct found *found,
                      enum deed deed) {
    char from[VS_GROUPED_MAX], step[VS_GROUPED_MAX];
    if (asked->places.json) {
        vs_outf("{\"store\":");
        vs_out_json(place->shown);
        vs_outf(",\"tag\":\"%s\",\"deed\":\"%s\",\"from\":\"%" PRIu64 "\",\"step\":%" PRIu64 ",\"written\":%s}\n",
                found->tag, deeds[deed], found->from, found->step, asked->yes ? "true" : "false");
        return;
    }
    vs_outf("%-24s  %-5s  ", found->tag, deeds[deed]);
    vs_out_fittedf(33, 33, "%s%s, in steps of %s", deed == DEED_SAME ? "is at or past " : "begins with ",
                   vs_grouped(found->from, from), vs_grouped(found->step, step));
}

static int import_one(struct asked *asked, const struct vs_place *place, const struct found *found,
                      const struct vs_tag_list *there) {
    const struct vs_tag_listed *listed = vs_place_find(there, found->tag);
    const char *why = NULL;
    const struct vs_tag *stands = listed ? vs_tag_usable(listed, &why) : NULL;
    if (why) return refuse_unusable(place, found->tag, why);
    enum deed deed = !stands                                                    ? DEED_ADD
                     : stands->max >= 0 && (uint64_t)stands->max >= found->from ? DEED_SAME
                                                                                : DEED_RAISE;
    if (!vs_tag_is_named(found->tag)) return vs_usage("--as is %s, which is no tag", vs_shown_text(found->tag));
    if (stands && (stands->max < 0 || stands->delta != 1))
        return vs_say("%s: %s is there with a delta, or below 0: import into another table", place->shown, found->tag),
               VS_FAILED;
    int rc = asked->yes ? write_one(place, found, deed) : VS_GO;
    if (rc != VS_GO) return rc;
    asked->done[deed]++;
    print_one(asked, place, found, deed);
    return VS_GO;
}

static size_t count_rows(const struct asked *asked) {
    size_t rows = 0;
    for (int i = 0; i < asked->sources; i++)
        for (size_t r = 0; r < asked->list[i].count; r++)
            rows += is_asked_for(asked, &asked->list[i].rows[r]);
    return rows;
}

static int import_into(struct asked *asked, const struct vs_place *place) {
    struct vs_tag_list there;
    struct found found;
    struct vs_progress progress = {.began_us = 0};
    uint64_t looked_at = 0;
    bool is_first;
    int rc = vs_place_list(place, &there);
    for (int i = 0; i < asked->sources && rc == VS_GO; i++)
        for (size_t r = 0; r < asked->list[i].count && rc == VS_GO; r++) {
            const struct vs_tag_listed *listed = &asked->list[i].rows[r];
            if (!is_asked_for(asked, listed)) continue;
            rc = gather(asked, i, listed->tag, &found, &is_first);
            if (rc == VS_GO && is_first) rc = import_one(asked, place, &found, &there);
            if (!isatty(STDOUT_FILENO)) vs_progress_show(&progress, "tags", ++looked_at, count_rows(asked));
        }
    vs_progress_end();
    free(there.rows);
    return rc;
}

/* ------------------------------------------------------------------ the run */

static int check_rows(const struct asked *asked) {
    for (int i = 0; i < asked->sources; i++)
        if (asked->list[i].passed)
            vs_say("%s: %zu rows are passed over, whose names are no tags, such as '%s'", asked->source[i].shown,
                   asked->list[i].passed, asked->list[i].strange);
    for (int i = 0; i < asked->sources; i++)
        for (size_t r = 0; r < asked->list[i].count; r++) {
            const struct vs_tag_listed *listed = &asked->list[i].rows[r];
            const char *why;
            if (is_asked_for(asked, listed) && !vs_tag_usable(listed, &why))
                return refuse_unusable(&asked->source[i], listed->tag, why);
        }
    if (count_rows(asked) == 0)
        return vs_say("there is no tag to import%s%s", asked->tag ? " of that name: " : "",
                      asked->tag ? asked->tag : ""),
               VS_FAILED;
    if (asked->as && !asked->tag && count_rows(asked) > (size_t)asked->sources)
        return vs_usage("--as names one tag, but there are several: choose one by --tag");
    return VS_GO;
}

static int run(struct asked *asked) {
    int rc = read_sources(asked);
    if (rc == VS_GO) rc = check_rows(asked);
    if (rc == VS_GO) rc = check_rest(asked, LOOK_AGAIN_MS);
    for (int i = 0; i < asked->places.count && rc == VS_GO; i++)
        rc = import_into(asked, &asked->places.at[i]);
    if (rc == VS_GO && asked->yes) rc = check_rest(asked, 0); /* what was given while it was written */
    if (rc != VS_GO) return rc;
    if (!asked->places.json)
        vs_out_fittedf(2, 0, "%" PRIu64 " to add, %" PRIu64 " to raise, %" PRIu64 " already there; %s",
                       asked->done[DEED_ADD], asked->done[DEED_RAISE], asked->done[DEED_SAME],
                       asked->yes ? "done" : "nothing was written: add --yes to write");
    return VS_DONE;
}

static int open_sources(struct asked *asked, int argc, char **argv) {
    if (argc < 2) return vs_usage("give the table and where it is: vesta segments import TABLE URI...");
    if (argc - 1 > SOURCES_MAX) return vs_usage("%d databases: a counter has at most %d", argc - 1, SOURCES_MAX);
    asked->table = argv[0];
    int rc = VS_GO;
    for (int i = 1; i < argc && rc == VS_GO; i++) {
        asked->source[asked->sources] = (struct vs_place){.uri = argv[i], .table = asked->table};
        rc = vs_place_open(&asked->source[asked->sources++]);
    }
    return rc;
}

static void close_all(struct asked *asked) {
    for (int i = 0; i < asked->sources; i++) {
        if (asked->source[i].store) asked->source[i].store->backend->close(asked->source[i].store);
        free(asked->list[i].rows);
    }
    vs_places_close(&asked->places);
}

int vs_segments_import(int argc, char **argv) {
    static struct asked asked;
    const struct vs_option table[] = {
        VS_PLACES_OPTIONS(&asked.places),
        VS_TEXT("tag", &asked.tag, "TAG", "only this one of the table (default: all)"),
        VS_TEXT("as", &asked.as, "TAG", "what it is to be called here (default: the same)"),
        {"step", 0, VS_OPT_COUNT, &asked.step, "N", "numbers in a range (default: the source's, else 1000)", 1,
         VS_RANGE_MAX, NULL},
        {"ahead", 0, VS_OPT_COUNT, &asked.ahead, "N",
         "begin so far above the source, which may move on (default: it must not)", 1, VS_NUMBER_MAX, NULL},
        VS_SWITCH("yes", &asked.yes, "write the changes; without it nothing is written"),
        VS_SWITCH("dry-run", &(int){0}, "only show what would be written (the default)"),
        VS_SWITCH("json", &asked.places.json, "print one JSON object a tag"),
        {0},
    };
    vs_say_as("segments import");
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if ((rc = open_sources(&asked, argc, argv)) == VS_GO)
        rc = vs_places_open(&asked.places, asked.as ? asked.as : asked.tag);
    if (rc == VS_GO) rc = run(&asked);
    close_all(&asked);
    return rc;
}
