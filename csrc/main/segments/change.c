/* change.c -- `vesta segments add` and `step`: one counter, in each of its databases. */
#include "main/segments/places.h"

#include <inttypes.h>

#define STEP_DEFAULT 1000

struct change {
    struct vs_places places;
    const char *tag;
    uint64_t from, step;
};

int vs_segments_check_tag(const char *tag) {
    if (vs_tag_is_named(tag)) return VS_GO;
    return vs_usage("%s is not a tag: use 1 to %d of A-Z a-z 0-9 _ . : - and no dot in front", vs_shown_text(tag),
                    VESTA_NAMESPACE_MAX - 1);
}

static void add(const struct change *change, const struct vs_place *place, struct vs_reply *reply) {
    const struct vs_counter counter = {place->table, change->tag};
    place->store->counters->tag_add(place->store, &counter, change->from, change->step, reply);
}

static void set_step(const struct change *change, const struct vs_place *place, struct vs_reply *reply) {
    const struct vs_counter counter = {place->table, change->tag};
    place->store->counters->tag_step(place->store, &counter, change->step, reply);
}

/* Each database is asked for itself: one that fails is said, and the others are done. */
static int change_all(struct change *change,
                      void (*one)(const struct change *, const struct vs_place *, struct vs_reply *)) {
    int rc = vs_places_open(&change->places, change->tag);
    if (rc == VS_GO)
        rc = VS_DONE;
    else
        return rc;
    for (int i = 0; i < change->places.count; i++) {
        struct vs_reply reply;
        one(change, &change->places.at[i], &reply);
        if (reply.outcome != VS_STORE_OK) rc = vs_place_told(&change->places.at[i], change->tag, &reply);
    }
    return rc;
}

int vs_segments_add(int argc, char **argv) {
    struct change change = {.from = 1, .step = STEP_DEFAULT};
    char from[VS_GROUPED_MAX], step[VS_GROUPED_MAX];
    const struct vs_option table[] = {
        {"from", 0, VS_OPT_COUNT, &change.from, "N", "its first number (default: 1)", 0, VS_NUMBER_MAX - 1, NULL},
        {"step", 0, VS_OPT_COUNT, &change.step, "N", "numbers in a range (default: 1000)", 1, VS_RANGE_MAX, NULL},
        VS_PLACES_OPTIONS(&change.places),
        {0},
    };
    vs_say_as("segments add");
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc != 1) return vs_usage("give one tag: vesta segments add TAG");
    change.tag = argv[0];
    if ((rc = vs_segments_check_tag(change.tag)) != VS_GO) return rc;
    rc = change_all(&change, add);
    if (rc == VS_DONE && !change.places.effective)
        vs_outf("%s begins with %s, in steps of %s\n", change.tag, vs_grouped(change.from, from),
                vs_grouped(change.step, step));
    vs_places_close(&change.places);
    return rc;
}

int vs_segments_step(int argc, char **argv) {
    struct change change = {.from = 0};
    char step[VS_GROUPED_MAX];
    const struct vs_option table[] = {VS_PLACES_OPTIONS(&change.places), {0}};
    vs_say_as("segments step");
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc != 2) return vs_usage("give a tag and its step: vesta segments step TAG N");
    change.tag = argv[0];
    if ((rc = vs_segments_check_tag(change.tag)) != VS_GO) return rc;
    if (!vs_read_count(argv[1], VS_RANGE_MAX, &change.step) || change.step == 0)
        return vs_usage("the step is %s, which must be a whole number from 1 to %" PRIu64, vs_shown_text(argv[1]),
                        VS_RANGE_MAX);
    rc = change_all(&change, set_step);
    if (rc == VS_DONE && !change.places.effective)
        vs_outf("%s has steps of %s\n", change.tag, vs_grouped(change.step, step));
    vs_places_close(&change.places);
    return rc;
}
