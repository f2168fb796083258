/* databases.c -- logs the state of the databases of tags, before the ranges of the tags are exhausted.  Logs one line
 * per database, regardless of how many tags it has.  The tags' thread calls these functions every second. */
#include "os/thread.h"
#include "serve/segments.h"

#include <assert.h>
#include <string.h>

#define AGAIN_US 60000000 /* minimum time between two log lines about counters that went back */

/* Returns the last logged state of a store.  Several rows of the config may name the same store. */
static struct vs_database_seen *seen_of(struct vs_segments *segments, const char *name) {
    size_t i = 0;
    while (i < segments->database_count && strcmp(segments->database[i].name, name) != 0)
        i++;
    assert(i < sizeof segments->database / sizeof *segments->database);
    struct vs_database_seen *seen = &segments->database[i];
    if (i == segments->database_count) *seen = (struct vs_database_seen){.name = name}, segments->database_count++;
    return seen;
}

/* The result of one check of a database. */
struct found {
    bool answered;       /* it replied since the last check, for at least one tag */
    size_t failed, back; /* tags whose calls failed, and tags whose counters went back */
    const char *failed_tag, *back_tag;
    uint64_t grants, granted; /* values of back_tag, as in struct vesta_segment_info */
    char why[sizeof((struct vesta_segment_info *)0)->database->said];
    const char *warned_tag;
    char warning[sizeof((struct vesta_segment_info *)0)->warning];
};

static void look_at_tag(struct vs_segments *segments, const struct vs_served_tag *tag, struct found *found) {
    struct vesta_segment_info info;
    vesta_segment_get_info(tag->seg ? tag->seg : tag->memory, &info);
    for (int i = 0; i < info.stores; i++) {
        struct vs_met_database *met = &segments->met[tag->place][i];
        struct found *one = &found[seen_of(segments, tag->stores[i]) - segments->database];
        uint64_t failures = info.database[i].down + info.database[i].unknown;
        uint64_t answers = info.database[i].ranges + info.database[i].refused + info.database[i].conflict;
        one->answered |= answers != met->answers;
        if (failures != met->failures && one->failed++ == 0) {
            one->failed_tag = tag->name;
            memcpy(one->why, info.database[i].said, sizeof one->why);
        }
        if (info.database[i].is_stopped && one->back++ == 0) {
            one->back_tag = tag->name;
            one->grants = info.database[i].lowered;
            one->granted = info.database[i].granted;
        }
        if (*info.warning && !one->warned_tag) {
            one->warned_tag = tag->name;
            memcpy(one->warning, info.warning, sizeof one->warning);
        }
        *met = (struct vs_met_database){failures, answers};
    }
}

static void tell_answers(struct vs_database_seen *seen, const struct found *found) {
    if (found->failed > 0 && !found->answered && !seen->is_away) {
        vs_log(VS_LOG_WARN, "a database of tags is unreachable", "store", seen->name, "tag", found->failed_tag, "why",
               *found->why ? found->why : NULL, NULL);
        seen->is_away = true;
    } else if (found->answered && found->failed == 0 && seen->is_away) {
        vs_log(VS_LOG_INFO, "a database of tags is reachable again", "store", seen->name, NULL);
        seen->is_away = false;
    }
}

static void tell_back(struct vs_database_seen *seen, const struct found *found, int64_t now_us) {
    if (found->back > seen->back) {
        if (seen->back > 0 && now_us - seen->told_us < AGAIN_US) return;
        vs_log(VS_LOG_WARN, "a counter in a database went back, so no more of its numbers are used", "store",
               seen->name, "tag", found->back_tag, "tags", VS_DIGITS((int64_t)found->back), "grants",
               VS_DIGITS((int64_t)found->grants), "granted", VS_DIGITS((int64_t)found->granted), "do",
               "set the counter above every number that a host was granted, then run: vesta segments resume", NULL);
        seen->told_us = now_us;
    } else if (found->back == 0 && seen->back > 0) {
        vs_log(VS_LOG_INFO, "all counters of a database are correct again", "store", seen->name, NULL);
    }
    seen->back = found->back;
}

static void tell_warning(struct vs_database_seen *seen, const struct found *found) {
    if (found->warned_tag && !seen->is_warned)
        vs_log(VS_LOG_WARN, found->warning, "store", seen->name, "tag", found->warned_tag, NULL);
    seen->is_warned = found->warned_tag != NULL;
}

void vs_databases_look(struct vs_segments *segments) {
    struct found found[VS_DATABASES_SEEN_MAX];
    memset(found, 0, sizeof found);
    for (size_t i = 0; i < segments->tag_count; i++)
        look_at_tag(segments, segments->tag[i], found);
    for (size_t i = 0; i < segments->database_count; i++) {
        tell_answers(&segments->database[i], &found[i]);
        tell_back(&segments->database[i], &found[i], vs_monotonic_us());
        tell_warning(&segments->database[i], &found[i]);
    }
}
