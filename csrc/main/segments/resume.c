/* resume.c -- `vesta segments resume`: a person says that a counter which went back is right again. */
#include "main/segments/places.h"

/* In the map of one order, if it is stopped there. */
static int resume(const struct vs_places *places, const char *tag, enum vesta_order order, int even_lower) {
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    struct vesta_segment *seg;
    struct vesta_error err;
    opts.tag = tag;
    opts.table = places->at[0].table;
    opts.order = order;
    opts.flags = VESTA_NO_KEEPER; /* the processes that use it are told, and ask */
    for (int i = 0; i < places->count; i++) {
        opts.stores[i] = places->at[i].uri;
        opts.secrets[i] = places->at[i].secret;
    }
    int rc = vesta_segment_open(&opts, &seg, &err);
    if (rc != VESTA_OK) return vs_report(&err);
    rc = vesta_segment_resume(seg, even_lower, &err);
    vesta_segment_close(seg);
    return rc == VESTA_OK ? VS_DONE : VS_FAILED;
}

int vs_segments_resume(int argc, char **argv) {
    static struct vs_places places;
    int even_lower = 0;
    const struct vs_option table[] = {
        VS_SWITCH("even-lower", &even_lower, "take smaller numbers, which may have been given before"),
        VS_PLACES_OPTIONS(&places),
        {0},
    };
    vs_say_as("segments resume");
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc != 1) return vs_usage("give one tag: vesta segments resume TAG");
    rc = vs_places_open(&places, argv[0]);
    if (rc == VS_GO && places.count > VESTA_DATABASES_MAX)
        rc = vs_usage("%s is in more than one row of the config: name its --store", vs_shown_text(argv[0]));
    if (rc == VS_GO) {
        rc = resume(&places, argv[0], VESTA_TREND, even_lower);
        if (places.count == 1 && resume(&places, argv[0], VESTA_STRICT, even_lower) == VS_DONE) rc = VS_DONE;
        if (rc == VS_DONE)
            vs_outf("%s is asked again\n", argv[0]);
        else
            vs_say("%s has not gone back, as far as this user's processes here know", vs_shown_text(argv[0]));
    }
    vs_places_close(&places);
    return rc;
}
