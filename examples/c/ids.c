/* ids.c -- uses the library in C: takes ids, decodes one, and builds it again from its fields.  Needs only vesta.h.
 *
 *     cc ids.c $(pkg-config --cflags --libs vesta) -o ids && ./ids
 */
#include <inttypes.h>
#include <stdio.h>

#include <vesta.h>

#define BATCH 1000
#define WAIT_US_MAX (1000 * 1000)

static int die(const char *what, const char *why) {
    fprintf(stderr, "ids: %s: %s\n", what, why);
    return 1;
}

/* Prints why there is no id at the moment: the pause, and the keeper's last message. */
static int die_paused(struct vesta_gen *gen, const struct vesta_pause *pause) {
    char text[256];
    vesta_pause_text(gen, pause, text, sizeof text);
    return die("no id", text);
}

/* Decodes an id, and builds it again from its named fields. */
static int read_and_make(const struct vesta_layout *layout, uint64_t id) {
    struct vesta_error err;
    struct vesta_parts parts;
    char iso[VESTA_ISO_MAX], hex[VESTA_FORMAT_MAX];
    uint64_t again;
    if (vesta_explain(layout, id, &parts, &err) != VESTA_OK) return die("cannot read it", err.text);
    vesta_iso(parts.unix_ms, iso);
    vesta_format(VESTA_HEX, id, hex);
    printf("an id       %" PRIu64 ", in hex %s\n", id, hex);
    printf("says        worker %" PRIu64 ", number %" PRIu64 " of %s\n", parts.worker, parts.seq, iso);
    struct vesta_value given[VESTA_FIELDS_MAX]; /* absent fields are 0 or their constant */
    for (int i = 0; i < layout->field_count; i++)
        given[i] = (struct vesta_value){layout->field[i].name, parts.values[i]};
    if (vesta_make(layout, given, (size_t)layout->field_count, &again, &err) != VESTA_OK)
        return die("cannot make it", err.text);
    printf("by hand     %s\n", again == id ? "the same" : "another");
    return again != id;
}

static int take_many(struct vesta_gen *gen) {
    static uint64_t ids[BATCH];
    struct vesta_pause pause;
    int ascending = 1;
    if (vesta_batch_wait(gen, ids, BATCH, WAIT_US_MAX, &pause) != VESTA_OK) return die_paused(gen, &pause);
    for (int i = 1; i < BATCH; i++)
        ascending &= ids[i - 1] < ids[i];
    printf("a batch     %d ids, %s\n", BATCH, ascending ? "ascending" : "in disorder");
    return !ascending;
}

int main(void) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vesta_gen *gen;
    struct vesta_error err;
    struct vesta_pause pause;
    uint64_t id;
    opts.layout = "vesta-milli";
    opts.namespace_ = "example";
    opts.has_worker = 1;
    opts.worker = 7;
    if (vesta_open(&opts, &gen, &err) != VESTA_OK) return die("cannot open the generator", err.text);
    int rc = vesta_next_wait(gen, &id, WAIT_US_MAX, &pause) != VESTA_OK ? die_paused(gen, &pause)
                                                                        : read_and_make(vesta_gen_layout(gen), id);
    if (rc == 0) rc = take_many(gen);
    vesta_close(gen);
    return rc;
}
