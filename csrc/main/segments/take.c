/* take.c -- `vesta segments take`: numbers by hand, each call one durable step of the database; as business numbers,
 * where a form says how they are written. */
#include "main/segments/places.h"

#include "number/form.h"

#include <inttypes.h>
#include <string.h>

#define NUMBERS_MAX 65536
#define TRIES_MAX 50 /* while other writers are faster */

struct taking {
    struct vs_places places;
    const char *tag, *form_text, *zone_name;
    uint64_t count;
    struct vs_form form;
    struct vs_zone_file zone;
};

static int read_form(struct taking *taking) {
    struct vesta_error err;
    if (!taking->form_text) return taking->zone_name ? vs_usage("--zone goes with --form") : VS_GO;
    if (vs_form_parse(taking->form_text, &taking->form, &err) != VESTA_OK ||
        vs_zone_load(taking->zone_name ? taking->zone_name : "UTC", &taking->zone, &err) != VESTA_OK)
        return vs_report(&err);
    return VS_GO;
}

static uint64_t first_of_day(void *self, int64_t unix_ms) {
    const struct taking *taking = self;
    return vs_form_first(&taking->form, &taking->zone.zone, unix_ms);
}

static int fits_form(void *self, uint64_t number) {
    const struct taking *taking = self;
    return vs_form_fits(&taking->form, number);
}

static int write_text(const struct taking *taking, uint64_t number, char *text) {
    struct vesta_error err;
    if (!taking->form_text)
        vesta_format(VESTA_DECIMAL, number, text);
    else if (vs_form_write(&taking->form, number, text, &err) != VESTA_OK)
        return vs_say("%s: %s", taking->tag, err.text), VS_FAILED;
    return VS_GO;
}

/* All or none: a number that does not fit its form is behind those that do. */
static int print_all(const struct taking *taking, const struct vs_grant *grant) {
    char text[VS_FORM_TEXT_MAX];
    int rc = write_text(taking, grant->until - 1, text);
    for (uint64_t number = grant->from; number < grant->until && rc == VS_GO; number++) {
        rc = write_text(taking, number, text);
        if (rc != VS_GO) break;
        if (taking->places.json) {
            vs_outf("{\"text\":");
            vs_out_json(text);
            vs_outf(",\"counter\":\"%" PRIu64 "\"}\n", number);
        } else
            vs_outf("%s\n", text);
    }
    return rc == VS_GO ? VS_DONE : rc;
}

static int take(struct taking *taking) {
    const struct vs_place *place = &taking->places.at[0];
    const struct vs_counter counter = {place->table, taking->tag};
    const bool has_day = taking->form_text && taking->form.period != VS_FORM_NEVER;
    const struct vs_floor floor = {.at = has_day ? first_of_day : NULL,
                                   .self = taking,
                                   .fits = has_day ? fits_form : NULL,
                                   .form = taking->form_text};
    struct vs_reply reply;
    if (taking->places.count > 1)
        return vs_usage("the numbers of %s come from %d databases in turn, and this command asks one: take them from a "
                        "server, for example by redis-cli INCR %s",
                        taking->tag, taking->places.count, taking->tag);
    static const struct vs_share all = {.delta = 1, .remainder = 0};
    vs_store_share(place->store, &counter, &all, &reply);
    if (reply.outcome != VS_STORE_OK) return vs_place_told(place, taking->tag, &reply);
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        vs_store_take(place->store, &counter, taking->count, &floor, &reply);
        if (reply.outcome != VS_STORE_CONFLICT) break;
    }
    if (reply.outcome != VS_STORE_OK) return vs_place_told(place, taking->tag, &reply);
    if (reply.grant.delta != 1)
        return vs_say("%s has a delta of %" PRIu64 ": its numbers are spread over several databases", taking->tag,
                      reply.grant.delta),
               VS_FAILED;
    return print_all(taking, &reply.grant);
}

int vs_segments_take(int argc, char **argv) {
    static struct taking taking = {.count = 1};
    const struct vs_option table[] = {
        {"count", 'n', VS_OPT_COUNT, &taking.count, "N", "how many numbers (default: 1)", 1, NUMBERS_MAX, NULL},
        VS_TEXT("form", &taking.form_text, "TEXT", "how they are written: 'INV-{day:%Y%m%d}-{number:6}-{luhn}'"),
        VS_TEXT("zone", &taking.zone_name, "NAME", "the time zone whose days they count (default: UTC)"),
        VS_SWITCH("json", &taking.places.json, "print one JSON object a number"),
        VS_PLACES_OPTIONS(&taking.places),
        {0},
    };
    vs_say_as("segments take");
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc != 1) return vs_usage("give one tag: vesta segments take TAG");
    taking.tag = argv[0];
    if ((rc = vs_segments_check_tag(taking.tag)) == VS_GO) rc = read_form(&taking);
    if (rc == VS_GO && (rc = vs_places_open(&taking.places, taking.tag)) == VS_GO) rc = take(&taking);
    vs_places_close(&taking.places);
    return rc;
}
