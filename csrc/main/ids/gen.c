/* gen.c -- `gen`: prints ids.  Waits through pauses, and prints the reason if a wait is noticeable. */
#include "base/text.h"
#include "main/cli.h"
#include "main/ids/masks.h"
#include "main/where.h"
#include "id/id.h"
#include "id/wide.h"
#include "keeper/file.h"
#include "os/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define IDS_MAX UINT64_C(1000000000000)
#define WAIT_MS_DEFAULT 10000
#define WAIT_MS_MAX 86400000
#define QUIET_US 2000000 /* a wait up to this long is not reported */
#define POLL_US 100000   /* interval between two attempts in a long pause, because the clock may be corrected */
#define WHY_MAX 320
#define ID_LINE_MAX 40                        /* maximum bytes of a line with an id in JSON */
#define WIDE_LINE_MAX (VS_WIDE_TEXT_MAX + 16) /* the same for an id of 128 bits */
#define ROW 256                               /* lines written before the buffer's free space is checked again */

struct gen_run {
    struct vesta_gen *gen;
    uint64_t left;
    int64_t patience_us;
    int base, json;
    uint64_t count; /* total number of ids to print */
    struct vs_progress progress;
    bool told_worker, shows_progress;
    struct vs_digits digits;
    struct vs_mask *mask; /* NULL: the ids are not masked */
    uint8_t uuid_key[VS_UUID47_KEY];
    bool hides_uuids; /* UUIDs of version 7 are shown as version 4 */
    int shape;          /* enum vesta_shape (0: ids of 64 bits) */
    const char *prefix; /* of TypeIDs (NULL: no TypeIDs) */
    union {
        uint64_t ids[VESTA_BATCH_MAX];
        uint8_t wide[VESTA_BATCH_MAX * VESTA_UUID_BYTES];
    };
};

static int64_t gen_boot_us(void) {
    const struct vesta_clock *clock = vs_clock_system();
    return clock->boot_us(clock->self);
}

static void gen_sleep_us(int64_t us) {
    const struct vesta_clock *clock = vs_clock_system();
    clock->sleep_us(clock->self, us);
}

/* ------------------------------------------------------------------ printing */

/* Writes a line and returns its length. */
static inline size_t gen_write_id(struct gen_run *run, uint64_t id, char *at) {
    char *end = at;
    if (run->json) end = (char *)memcpy(end, "{\"id\":\"", 7) + 7;
    end += run->base == VESTA_DECIMAL ? vs_digits_put(&run->digits, id, end)
                                      : vesta_format((enum vesta_base)run->base, id, end);
    if (run->json) end = (char *)memcpy(end, "\"}", 2) + 2;
    *end++ = '\n';
    return (size_t)(end - at);
}

static size_t gen_write_wide(const struct gen_run *run, const uint8_t *bytes, char *at) {
    uint8_t shown[VESTA_UUID_BYTES];
    memcpy(shown, bytes, sizeof shown);
    if (run->hides_uuids) vs_uuid47_hide(run->uuid_key, shown);
    struct vs_wide id = vs_wide_of(shown);
    char *end = at;
    if (run->json) end = (char *)memcpy(end, "{\"id\":\"", 7) + 7;
    end += run->prefix ? vs_typeid_write((struct vs_slice){run->prefix, strlen(run->prefix)}, id, end)
                       : vs_wide_write(vs_wide_text_of((enum vesta_shape)run->shape), id, end);
    if (run->json) end = (char *)memcpy(end, "\"}", 2) + 2;
    *end++ = '\n';
    return (size_t)(end - at);
}

static void gen_write_wides(const struct gen_run *run, size_t count) {
    for (size_t i = 0; i < count; i++)
        vs_out_took(gen_write_wide(run, run->wide + i * VESTA_UUID_BYTES, vs_out_room(WIDE_LINE_MAX)));
}

static void gen_write_ids(struct gen_run *run, const uint64_t *ids, size_t count) {
    while (count > 0) {
        size_t row = count < ROW ? count : ROW;
        char *at = vs_out_room(ROW * ID_LINE_MAX), *end = at;
        for (size_t i = 0; i < row; i++)
            end += gen_write_id(run, ids[i], end);
        vs_out_took((size_t)(end - at));
        ids += row, count -= row;
    }
}

/* Writes masked ids.  All ids fit the mask, because gen_open_mask has checked the layout. */
static void gen_write_masked(struct gen_run *run, const uint64_t *ids, size_t count) {
    char texts[ROW * VS_MASK_TEXT_MAX];
    int length = (int)vs_mask_length(run->mask);
    for (size_t from = 0; from < count; from += ROW) {
        size_t row = count - from < ROW ? count - from : ROW;
        int rc = vs_mask_write(run->mask, 0, ids + from, row, texts, NULL);
        assert(rc == VESTA_OK);
        (void)rc;
        for (size_t i = 0; i < row; i++)
            vs_outf(run->json ? "{\"id\":\"%.*s\"}\n" : "%.*s\n", length, texts + i * (size_t)length);
    }
}

/* If no worker id was assigned, a worker id is drawn.  Prints the drawn worker id. */
static void gen_tell_worker(struct gen_run *run) {
    struct vesta_info info;
    if (run->told_worker) return;
    run->told_worker = true;
    vesta_get_info(run->gen, &info);
    if (info.drew_worker) vs_say("drew worker id %" PRIu64 " at random and stored it in %s", info.worker, info.store);
}

/* Prints the ids in run->ids or run->wide. */
static void gen_take(struct gen_run *run, size_t count) {
    gen_tell_worker(run);
    if (run->shape)
        gen_write_wides(run, count);
    else
        (run->mask ? gen_write_masked : gen_write_ids)(run, run->ids, count);
    run->left -= count;
}

/* ------------------------------------------------------------------ waiting */

static int gen_give_up(struct gen_run *run, const struct vesta_pause *pause) {
    char why[WHY_MAX];
    vesta_pause_text(run->gen, pause, why, sizeof why);
    vs_say("%s (%s)", why, vesta_why_name(pause->why));
    if (pause->wait_us >= 0)
        vs_say("gave up after waiting %.1f s. --wait-ms sets the limit", (double)run->patience_us / 1e6);
    return VS_FAILED;
}

static void gen_say_why(struct gen_run *run, const struct vesta_pause *pause) {
    char why[WHY_MAX];
    vesta_pause_text(run->gen, pause, why, sizeof why);
    vs_say("waiting: %s (%s)", why, vesta_why_name(pause->why));
}

/* Waits for an id.  The library waits through a short pause with microsecond accuracy, but returns at once if the pause
 * is long.  In a long pause this function tries again from time to time, because an operator may correct the clock
 * before it has caught up. */
static int gen_ask_again(struct gen_run *run, int64_t left_us, struct vesta_pause *pause) {
    int64_t before = gen_boot_us(), slice_us = left_us < POLL_US ? left_us : POLL_US;
    int rc = run->shape ? vesta_next_uuid_wait(run->gen, (enum vesta_shape)run->shape, run->wide, slice_us, pause)
                        : vesta_next_wait(run->gen, run->ids, slice_us, pause);
    if (rc == VESTA_OK || pause->wait_us < 0) return rc;
    int64_t rest_us = slice_us - (gen_boot_us() - before);
    if (rest_us > 0) gen_sleep_us(pause->wait_us < rest_us ? pause->wait_us : rest_us);
    return rc;
}

/* Waits for an id, at most as long as the limit for one pause.  Prints each message once. */
static int gen_wait_for_id(struct gen_run *run) {
    struct vesta_pause pause;
    int64_t start = gen_boot_us(), waited = 0;
    bool said = false;
    vs_out_flush();
    while (gen_ask_again(run, run->patience_us - waited, &pause) != VESTA_OK) {
        waited = gen_boot_us() - start;
        if (pause.wait_us < 0 || waited >= run->patience_us) return gen_give_up(run, &pause);
        if (!said && (waited >= QUIET_US || pause.wait_us > QUIET_US)) {
            gen_say_why(run, &pause);
            said = true;
        }
    }
    if (said) vs_say("resumed after %.1f s", (double)(gen_boot_us() - start) / 1e6);
    gen_take(run, 1);
    if (run->shows_progress) vs_progress_show(&run->progress, "ids", run->count - run->left, run->count);
    return VS_DONE;
}

static int gen_ask_n(struct gen_run *run, size_t n, size_t *got, struct vesta_pause *pause) {
    return run->shape ? vesta_next_uuid_n(run->gen, (enum vesta_shape)run->shape, run->wide, n, got, pause)
                      : vesta_next_n(run->gen, run->ids, n, got, pause);
}

static int gen_print_ids(struct gen_run *run) {
    struct vesta_pause pause;
    while (run->left > 0 && !vs_out_gone()) {
        size_t n = run->left < VESTA_BATCH_MAX ? (size_t)run->left : VESTA_BATCH_MAX, got;
        if (gen_ask_n(run, n, &got, &pause) == VESTA_OK) {
            gen_take(run, got);
            if (run->shows_progress) vs_progress_show(&run->progress, "ids", run->count - run->left, run->count);
            continue;
        }
        int rc = gen_wait_for_id(run);
        if (rc != VS_DONE) return rc;
    }
    return VS_DONE;
}

/* Opens the mask of the config's namespace, if there is one. */
static int gen_open_mask(const struct vs_config *config, const struct vesta_opts *opts, struct gen_run *run) {
    const struct vs_conf_namespace *ns = vs_masks_find(config, opts);
    int rc = ns ? vs_masks_of_namespace(ns, &run->mask) : VS_GO;
    if (rc == VS_GO && ns) rc = vs_masks_uuid_key(ns, run->uuid_key, &run->hides_uuids);
    if (rc == VS_GO && run->shape && (run->hides_uuids ? run->shape != VESTA_UUID7 : run->mask != NULL))
        return vs_usage("--shape %s would show the plain ids of %s, which has a mask: %s",
                        vesta_shape_name((enum vesta_shape)run->shape), ns->name,
                        run->hides_uuids ? "use --shape uuid7" : "leave it out");
    if (rc == VS_GO && run->mask && run->base != VESTA_DECIMAL)
        return vs_usage("--format cannot be combined with the mask of %s: leave it out", ns->name);
    return rc;
}

static int gen_open_and_print(const struct vesta_opts *opts, struct gen_run *run) {
    struct vesta_error err;
    struct vesta_info info;
    if (vesta_open(opts, &run->gen, &err) != VESTA_OK) return vs_report(&err);
    vesta_get_info(run->gen, &info);
    if (info.warning[0]) vs_say("warning: %s", info.warning);
    if (run->shape && vesta_gen_shape_check(run->gen, (enum vesta_shape)run->shape, &err) != VESTA_OK) {
        vesta_close(run->gen);
        return vs_report(&err);
    }
    if (run->mask && vs_mask_fits(opts, &info.layout, vs_mask_last(run->mask), &err) != VESTA_OK) {
        vs_say("the mask %s", err.text);
        vesta_close(run->gen);
        return VS_FAILED;
    }
    run->count = run->left;
    run->shows_progress = !isatty(STDOUT_FILENO); /* otherwise the ids themselves show the progress */
    int rc = gen_print_ids(run);
    vs_progress_end();
    vs_out_flush();
    vesta_close(run->gen);
    return rc;
}

/* Returns whether neither a flag nor the environment names a generator. */
static bool gen_is_default(const char *config_path, const struct vesta_opts *opts) {
    struct vs_where where = {.text = {[VS_W_CONFIG] = config_path,
                                      [VS_W_NAMESPACE] = opts->namespace_,
                                      [VS_W_PATH] = opts->path,
                                      [VS_W_STORE] = opts->store}};
    return vs_where_environment(&where) == VS_GO && !vs_where_is_named(&where);
}

/* Chooses a separate namespace for a command such as `gen --layout snowflake` if the default generator has a different
 * layout.  The namespace is named after the fingerprint, so that all layouts that can make the same ids share a
 * namespace and its leases. */
static void gen_choose_namespace(struct vesta_opts *opts, char name[VESTA_NAMESPACE_MAX]) {
    struct vesta_layout asked, own;
    char text[VESTA_LAYOUT_TEXT_MAX], why[VS_DEPARTURE_MAX];
    if (vesta_layout_parse(opts->layout, &asked, NULL) != VESTA_OK) return; /* vesta_open reports the error */
    if (vs_default_layout(text, NULL) != VESTA_OK || !*text || vesta_layout_parse(text, &own, NULL) != VESTA_OK) return;
    if (own.fingerprint == asked.fingerprint && !vs_layout_departs(&asked, text, why)) return;
    const struct vesta_preset *preset = vs_preset_of(asked.fingerprint);
    if (preset)
        snprintf(name, VESTA_NAMESPACE_MAX, "%s", preset->name);
    else
        snprintf(name, VESTA_NAMESPACE_MAX, "layout-%016" PRIx64, asked.fingerprint);
    opts->namespace_ = name;
    vs_say("the namespace default has layout %s, so this uses the namespace %s", vs_layout_shown(text), name);
}

/* Checks the options about ids of 128 bits.  Returns VS_GO, or an exit code after a message. */
static int gen_check_shape(struct gen_run *run, int has_format) {
    struct vesta_error err;
    if (run->prefix && vs_typeid_check((struct vs_slice){run->prefix, strlen(run->prefix)}, &err) != VESTA_OK)
        return vs_report(&err);
    if (run->prefix && (run->shape == VESTA_ULID || run->shape == VESTA_HEX32))
        return vs_usage("--type-prefix cannot be combined with --shape %s: a TypeID is a uuid7 or uuid8",
                        vesta_shape_name((enum vesta_shape)run->shape));
    if (run->prefix && !run->shape) run->shape = VESTA_UUID7;
    if (run->shape && has_format) return vs_usage("--format is for ids of 64 bits: leave it out, or leave out --shape");
    return VS_GO;
}

static int gen_run(int argc, char **argv) {
    static struct gen_run run;
    struct vesta_opts given = VESTA_OPTS_INIT, *const opts = &given;
    struct vs_config *config = NULL;
    const char *config_path = NULL;
    char name[VESTA_NAMESPACE_MAX];
    uint64_t wait_ms = WAIT_MS_DEFAULT;
    int effective = 0, has_format = 0;
    run.left = 1;
    const struct vs_option table[] = {
        {"count", 'n', VS_OPT_COUNT, &run.left, "N", "how many ids to print (default: 1)", 1, IDS_MAX, NULL},
        {"format", 0, VS_OPT_CHOICE, &run.base, "dec|hex|base32|base62", "how ids are written (default: dec)", 0, 0,
         &has_format},
        VS_ENUM("shape", &run.shape, "uuid7|uuid8|ulid|hex32", "print ids of 128 bits"),
        VS_TEXT("type-prefix", &run.prefix, "PREFIX", "write ids of 128 bits as TypeIDs, such as order_01h455vb4p..."),
        VS_SWITCH("json", &run.json, "print one JSON object per line, {\"id\":\"...\"}"),
        {"wait-ms", 0, VS_OPT_COUNT, &wait_ms, "MS", "how long to wait for an id (default: 10000)", 0, WAIT_MS_MAX,
         NULL},
        {"config", 'c', VS_OPT_TEXT, &config_path, "FILE", "a server's config that contains the namespace", 0, 0, NULL},
        VS_GENERATOR_OPTIONS,
        VS_EFFECTIVE(&effective),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc) return vs_usage("unexpected operand %s: for several ids use -n N", vs_shown_text(argv[0]));
    if ((rc = gen_check_shape(&run, has_format)) != VS_GO) return rc;
    if (opts->layout && gen_is_default(config_path, opts)) gen_choose_namespace(opts, name);
    if (effective) return vs_where_print_opts(config_path, opts, run.json);
    if ((rc = vs_where_opts(config_path, opts, &config)) != VS_GO) return vs_config_free(config), rc;
    opts->any_worker = !opts->has_worker; /* relevant only if there is no generator file yet */
    run.patience_us = (int64_t)wait_ms * 1000;
    if ((rc = gen_open_mask(config, opts, &run)) == VS_GO) rc = gen_open_and_print(opts, &run);
    vs_mask_close(run.mask);
    vs_config_free(config);
    return rc;
}

const struct vs_command vs_gen_command = {
    "gen", gen_run, "print new ids", "gen [-n N] [OPTION...]",
    "Prints new ids, one per line.  They never repeat, even if other programs issue ids in the same namespace.\n"
    "The first call on a machine claims a random worker id.  Later calls and other programs share its\n"
    "generator file.  If the namespace `default` has a different layout than --layout, and you name no\n"
    "namespace, path, store or config, the command uses a namespace named after the preset, or after the\n"
    "layout's fingerprint.  It waits while the clock is behind or the sequence is exhausted, and prints the\n"
    "reason if it waits longer than two seconds.  If the config has a mask for the namespace, the ids are masked.\n"
    "\n"
    "  $ vesta gen\n"
    "  vesta gen: drew worker id 417 at random and stored it in file:/...\n"
    "  403041233137828257\n"
    "\n"
    "  $ vesta gen -n 2 --namespace orders --layout snowflake --worker 7\n"
    "  2183926093211201536\n"
    "  2183926093211201537\n"
    "\n"
    "With --shape the command prints UUIDs, ULIDs or trace ids.  More: docs/uuids.md.\n"
    "\n"
    "  $ vesta gen --shape uuid7\n"
    "  019ac0b5-9c5e-7000-a81f-3b6e2f1d0c47\n"
    "\n"
    "  $ vesta gen --type-prefix order\n"
    "  order_01kb0bb72ye00agfsvdwqht32q\n"};
