/* tags.c -- sets of tags: each tag is found by its name, they are sorted, and a replaced set stays valid for the
 * threads that still use it. */
#include "check.h"
#include "server/tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct vs_served_tag *tags[VS_SERVED_TAGS_MAX];

static void make_tags(size_t count) {
    char name[VESTA_TAG_MAX + 16];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "t%zu.%0*zu", i * 7919 % count, (int)(i % 50), i);
        tags[i] = vs_tag_new(name, 2);
        CHECK(tags[i] != NULL);
    }
}

static void free_tags(size_t count) {
    for (size_t i = 0; i < count; i++)
        vs_tag_free(tags[i]);
}

static void finds(size_t count) {
    char longest[VESTA_TAG_MAX + 8];
    memset(longest, 'x', sizeof longest);
    make_tags(count);
    struct vs_tag_set *set = vs_tag_set_new(tags, count);
    CHECK(set != NULL);
    CHECK_EQ_U64(set->count, count);
    for (size_t i = 0; i < count; i++) {
        const char *name = tags[i]->name;
        size_t length = strlen(name);
        CHECK(vs_tag_named(set, name, length) == tags[i]);
        CHECK(vs_tag_named(set, name, length - 1) != tags[i]);
        size_t after = vs_tag_after(set, name, length);
        CHECK(after >= 1 && set->at[after - 1] == tags[i]);
        CHECK(after == count || strcmp(set->at[after]->name, name) > 0);
    }
    CHECK(vs_tag_named(set, "", 0) == NULL);
    CHECK(vs_tag_named(set, longest, sizeof longest) == NULL);
    CHECK(vs_tag_named(set, "t0\0", 3) == NULL);
    CHECK_EQ_U64(vs_tag_after(set, "", 0), 0);
    CHECK_EQ_U64(vs_tag_after(set, longest, sizeof longest), count);
    vs_tag_set_free(set);
    free_tags(count);
}

static void are_found_by_name(void) {
    CHECK(vs_tag_named(NULL, "a", 1) == NULL);
    finds(0);
    finds(1);
    finds(2);
    finds(VS_SERVED_TAGS_MAX);
}

static void are_replaced_as_a_whole(void) {
    static struct vs_server server;
    make_tags(1);
    struct vs_tag_set *first = vs_tag_set_new(tags, 1), *second = vs_tag_set_new(NULL, 0);
    CHECK(vs_tags_now(&server.tags) == NULL);
    CHECK(vs_tags_replace(&server.tags, first) == NULL);
    vs_tags_hold(vs_tags_now(&server.tags));
    CHECK(vs_tags_replace(&server.tags, second) == first);
    CHECK(vs_tags_are_held(first) && !vs_tags_are_held(second));
    vs_tags_let(first);
    CHECK(!vs_tags_are_held(first));
    vs_tags_hold(NULL);
    vs_tags_let(NULL);
    CHECK(vs_tags_replace(&server.tags, NULL) == second);
    vs_tag_set_free(first);
    vs_tag_set_free(second);
    free_tags(1);
}

static void counts_of_all_loops(void) {
    static struct vs_server server = {.monitor.loop_count = 2};
    make_tags(1);
    vs_add(&tags[0]->counts[0].given[VS_HTTP], 3);
    vs_add(&tags[0]->counts[1].given[VS_HTTP], 4);
    vs_add(&tags[0]->counts[1].pauses, 5);
    struct vs_tag_total total = vs_tag_total(&server.monitor, tags[0]);
    CHECK_EQ_U64(total.given[VS_HTTP], 7);
    CHECK_EQ_U64(total.given[VS_RESP], 0);
    CHECK_EQ_U64(total.pauses, 5);
    free_tags(1);
}

static const struct check_case cases[] = {
    {"each of 4096 tags is found by its name, nothing else is found, and tags are sorted", are_found_by_name},
    {"a set is replaced as a whole, and a thread that uses the old one keeps it", are_replaced_as_a_whole},
    {"a tag's counts are the sum of all loops", counts_of_all_loops},
};

CHECK_MAIN(cases)
