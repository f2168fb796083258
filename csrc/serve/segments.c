/* segments.c -- the thread that serves tags.  It reads the tables of the tags at the start and every minute, logs tags
 * without numbers, and returns ranges when the server stops.  tables.c contains the code for tables. */
#include "serve/segments.h"
#include "command/options.h"
#include "os/clock.h"
#include "os/thread.h"
#include "serve/crews/threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TICK_US 1000000
#define READ_US 60000000  /* interval between two readings of the tables, as in Leaf */
#define RELEASERS 8       /* threads that return ranges at the same time */
#define RELEASE_US 700000 /* no range is returned when less than this time is left */

/* ------------------------------------------------------------------ every second */

static bool segments_is_ending(struct vs_segments *segments) {
    pthread_mutex_lock(&segments->lock);
    bool ending = segments->ending;
    pthread_mutex_unlock(&segments->lock);
    return ending;
}

static void tell_status(struct vs_segments *segments) {
    pthread_mutex_lock(&segments->lock);
    struct vs_tags_status *status = &segments->status;
    status->rows = segments->row_count;
    status->unread = 0;
    status->is_reading = false;
    status->passed = status->unusable = 0;
    for (int i = segments->row_count - 1; i >= 0; i--) {
        const struct vs_tag_row *row = &segments->row[i];
        status->passed += row->passed;
        status->unusable += row->unusable;
        if (row->unusable > 0) {
            snprintf(status->unusable_tag, sizeof status->unusable_tag, "%s", row->unusable_tag);
            snprintf(status->unusable_why, sizeof status->unusable_why, "%s", row->unusable_why);
        }
        status->unread += !row->is_read || *row->refused;
        status->is_reading |= !row->is_read && !*row->why;
        if (*row->refused) snprintf(status->unread_why, sizeof status->unread_why, "%s", row->refused);
        if (!row->is_read)
            snprintf(status->unread_why, sizeof status->unread_why, "%s",
                     *row->why ? row->why : "its table is about to be read");
    }
    pthread_mutex_unlock(&segments->lock);
}

static void read_rows(struct vs_segments *segments, bool all) {
    for (int i = 0; i < segments->row_count && !segments_is_ending(segments); i++)
        if (all || !segments->row[i].is_read) vs_tag_row_read(segments, &segments->row[i]);
    tell_status(segments);
}

/* Tests the row's databases.  Databases that do not reply are tested only when all tables are read (`all`), because
 * each such test takes its whole timeout. */
static void try_rows(struct vs_segments *segments, bool all) {
    for (int i = 0; i < segments->row_count && !segments_is_ending(segments); i++) {
        struct vs_tag_row *row = &segments->row[i];
        if (!row->is_writable && (all || *row->refused)) vs_tag_row_try(segments, row);
    }
    tell_status(segments);
}

/* Logs tags if requests for them were rejected since the last check. */
static void look_at_refusals(struct vs_segments *segments) {
    for (size_t i = 0; i < segments->tag_count; i++) {
        const struct vs_served_tag *tag = segments->tag[i];
        uint64_t refused = atomic_load_explicit(&tag->refused, memory_order_relaxed), told = segments->told[tag->place];
        struct vesta_pause pause = {.why = VESTA_RANGE};
        char why[256];
        segments->told[tag->place] = refused;
        if (refused == told) continue;
        snprintf(why, sizeof why, "the database does not answer in time");
        if (tag->seg) vesta_segment_pause_text(tag->seg, &pause, why, sizeof why);
        vs_log(VS_LOG_WARN, "no numbers can be issued now", "tag", tag->name, "why", why, "refused",
               VS_DIGITS((int64_t)(refused - told)), NULL);
    }
}

/* Waits for the next second.  Returns false if the thread must end.  Sets *asked if the tables must be read now. */
static bool rest(struct vs_segments *segments, bool *asked) {
    int64_t until_us = vs_monotonic_us() + TICK_US;
    pthread_mutex_lock(&segments->lock);
    while (!segments->ending && !segments->asked &&
           vs_cond_wait(&segments->woken, &segments->lock, until_us))
        ;
    bool goes_on = !segments->ending;
    *asked = segments->asked;
    segments->asked = false;
    pthread_mutex_unlock(&segments->lock);
    return goes_on;
}

static void open_desks(struct vs_segments *segments) {
    for (int i = 0; i < segments->row_count; i++) {
        struct vs_tag_row *row = &segments->row[i];
        if (row->conf->order != VS_CONF_TREND) row->desk = vs_desk_open(segments, row->conf);
    }
}

static void *serve_tags(void *arg) {
    struct vs_segments *segments = arg;
    int64_t read_us = vs_monotonic_us();
    bool asked;
    open_desks(segments);
    read_rows(segments, true);
    vs_start_segments_settled(segments->serving->start);
    try_rows(segments, true);
    while (rest(segments, &asked)) {
        bool has_places = segments->lacks_places && !segments->retired;
        bool due = asked || has_places || vs_monotonic_us() - read_us >= READ_US;
        if (due) read_us = vs_monotonic_us(), segments->lacks_places = false;
        read_rows(segments, due);
        try_rows(segments, due);
        vs_tags_sweep(segments);
        look_at_refusals(segments);
        vs_databases_look(segments);
    }
    pthread_mutex_lock(&segments->lock);
    segments->ended = true;
    pthread_cond_broadcast(&segments->woken);
    pthread_mutex_unlock(&segments->lock);
    return NULL;
}

static void reread(void *self) {
    struct vs_segments *segments = self;
    pthread_mutex_lock(&segments->lock);
    segments->asked = true;
    pthread_cond_broadcast(&segments->woken);
    pthread_mutex_unlock(&segments->lock);
}

static void segments_get_status(void *self, struct vs_tags_status *status) {
    struct vs_segments *segments = self;
    pthread_mutex_lock(&segments->lock);
    *status = segments->status;
    pthread_mutex_unlock(&segments->lock);
}

/* ------------------------------------------------------------------ begin */

struct vs_tags_plan vs_segments_plan(const struct vs_config *config) {
    struct vs_tags_plan plan = {0};
    for (int i = 0; i < config->segment_count; i++) {
        const struct vs_conf_segment *conf = &config->segment[i];
        plan.connections += 2 * conf->uri_count; /* one connection fetches ranges, and one reads the table */
        if (conf->order != VS_CONF_TREND) plan.connections += VS_DESK_THREADS;
        if (vs_conf_segment_is_any(conf))
            plan.found_max = VS_SERVED_TAGS_MAX;
        else
            plan.listed += conf->tags.count;
    }
    return plan;
}

/* Loads the row's form and time zone.  The config was checked with both, but the zone's file may have been removed
 * since then. */
static int read_form(struct vs_tag_row *row) {
    const char *zone = row->conf->zone ? row->conf->zone : "UTC";
    struct vesta_error err;
    if (!row->conf->form) return VS_GO;
    row->form = calloc(1, sizeof *row->form);
    row->zone = calloc(1, sizeof *row->zone);
    if (!row->form || !row->zone) return vs_say("no memory"), VS_FAILED;
    if (vs_form_parse(row->conf->form, row->form, &err) == VESTA_OK && vs_zone_load(zone, row->zone, &err) == VESTA_OK)
        return VS_GO;
    return vs_say("segments[%s]: %s", row->conf->name, err.text), VS_FAILED;
}

/* Reads the keys of the row's mask, before the server switches its user. */
static int read_mask(struct vs_segments *segments, struct vs_tag_row *row) {
    struct vesta_error err;
    if (row->conf->mask_secret_file.count == 0) return VS_GO;
    row->mask = calloc(1, sizeof *row->mask);
    if (!row->mask) return vs_say("no memory"), VS_FAILED;
    if (vs_conf_segment_mask(row->conf, row->mask, &err) != VESTA_OK)
        return vs_say("segments[%s].mask: %s", row->conf->name, err.text), VS_FAILED;
    row->mask->opts.threads = segments->serving->threads;
    return VS_GO;
}

static void fill_row(struct vs_tag_row *row, const struct vs_conf_segment *conf) {
    row->conf = conf;
    if (conf->store) row->stores[0] = conf->store;
    for (int i = 0; i < conf->stores.count; i++)
        row->stores[i] = conf->stores.text[i];
}

int vs_segments_prepare(struct vs_serving *serving) {
    const struct vs_config *config = serving->config;
    if (config->segment_count == 0) return VS_GO;
    struct vs_segments *segments = calloc(1, sizeof *segments);
    if (!segments) return vs_say("no memory"), VS_FAILED;
    segments->serving = serving;
    segments->row_count = config->segment_count;
    for (int i = 0; i < config->segment_count; i++)
        fill_row(&segments->row[i], &config->segment[i]);
    segments->retired_end = &segments->retired;
    pthread_mutex_init(&segments->lock, NULL);
    vs_cond_init(&segments->woken);
    tell_status(segments);
    serving->segments = segments;
    for (int i = 0; i < segments->row_count; i++)
        if (read_form(&segments->row[i]) != VS_GO || read_mask(segments, &segments->row[i]) != VS_GO) return VS_FAILED;
    serving->server.tags.self = segments;
    serving->server.tags.reread = reread;
    serving->server.tags.status = segments_get_status;
    return VS_GO;
}

bool vs_segments_begin(struct vs_serving *serving) {
    struct vs_segments *segments = serving->segments;
    segments->has_thread = vs_thread_start(&segments->thread, serve_tags, segments) == 0;
    return segments->has_thread;
}

/* ------------------------------------------------------------------ end */

/* Ends the thread.  Returns false if the thread still hangs in a store call at until_us. */
static bool end_thread(struct vs_segments *segments, int64_t until_us) {
    if (!segments->has_thread) return true;
    pthread_mutex_lock(&segments->lock);
    segments->ending = true;
    pthread_cond_broadcast(&segments->woken);
    while (!segments->ended && vs_cond_wait(&segments->woken, &segments->lock, until_us))
        ;
    bool ended = segments->ended;
    pthread_mutex_unlock(&segments->lock);
    if (ended) pthread_join(segments->thread, NULL);
    segments->has_thread = !ended;
    return ended;
}

struct segments_release {
    struct vs_segments *segments;
    int64_t until_us; /* no range is returned after this instant */
    _Atomic size_t next;
    uint64_t kept;
    pthread_mutex_t lock; /* guards `kept` and `why` */
    char why[VS_NAMESPACE_WHY_MAX];
};

static void keep(struct segments_release *release, const struct vs_served_tag *tag, const char *why) {
    pthread_mutex_lock(&release->lock);
    if (release->kept++ == 0) snprintf(release->why, sizeof release->why, "%s: %.400s", tag->name, why);
    pthread_mutex_unlock(&release->lock);
}

static int64_t release_some(void *self, int unused) {
    struct segments_release *release = self;
    struct vs_segments *segments = release->segments;
    size_t i;
    (void)unused;
    while ((i = atomic_fetch_add(&release->next, 1)) < segments->tag_count) {
        struct vesta_error err;
        const struct vs_served_tag *tag = segments->tag[i];
        if (!tag->seg) continue;
        if (vs_monotonic_us() >= release->until_us)
            keep(release, tag, "there was no time left");
        else if (vesta_segment_release(tag->seg, &err) != VESTA_OK && err.code != VESTA_ENOTNOW)
            keep(release, tag, err.text);
    }
    return VS_THREADS_DONE;
}

static void tell_kept(const struct vs_segments *segments, uint64_t kept, const char *why) {
    if (kept == 0) return;
    vs_log(VS_LOG_WARN, "ranges were not returned: the next start on this machine uses the rest of them",
           "tags", VS_DIGITS((int64_t)kept), "of", VS_DIGITS((int64_t)segments->tag_count), "why", why, NULL);
}

bool vs_segments_release(struct vs_serving *serving, int64_t until_us) {
    struct vs_segments *segments = serving->segments;
    const struct vesta_clock *clock = serving->server.clock;
    if (!segments) return true;
    int64_t left_us = until_us - vs_monotonic_us();
    atomic_store(&segments->cut_us, clock->boot_us(clock->self) + (left_us > 0 ? left_us / 2 : 1));
    if (!end_thread(segments, until_us)) return false;
    for (int i = 0; i < segments->row_count; i++)
        if (!vs_desk_end(segments->row[i].desk, until_us)) return false;
    struct segments_release *release = calloc(1, sizeof *release);
    if (!release) return true;
    release->segments = segments;
    release->until_us = until_us - RELEASE_US;
    pthread_mutex_init(&release->lock, NULL);
    static const struct vs_crews crews = {.count = RELEASERS, .threads = RELEASERS};
    struct vs_threads *threads = vs_threads_start(&crews, release_some, release);
    if (threads && (threads = vs_threads_end(threads, until_us))) {
        tell_kept(segments, segments->tag_count, "a store does not answer");
        return false;
    }
    tell_kept(segments, release->kept, release->why);
    pthread_mutex_destroy(&release->lock);
    free(release);
    return true;
}

void vs_segments_close(struct vs_serving *serving) {
    struct vs_segments *segments = serving->segments;
    if (!segments) return;
    vs_tags_sweep(segments);
    for (size_t i = 0; i < segments->tag_count; i++) {
        vesta_segment_close(segments->tag[i]->seg);
        vesta_segment_close(segments->tag[i]->memory);
        vs_tag_free(segments->tag[i]);
    }
    vs_tag_set_free(vs_tags_replace(&serving->server.tags, NULL));
    for (int i = 0; i < segments->row_count; i++) {
        free(segments->row[i].form);
        free(segments->row[i].zone);
        if (segments->row[i].mask) explicit_bzero(segments->row[i].mask, sizeof *segments->row[i].mask);
        free(segments->row[i].mask);
    }
    pthread_cond_destroy(&segments->woken);
    pthread_mutex_destroy(&segments->lock);
    free(segments);
    serving->segments = NULL;
}

void vs_segments_state(const struct vs_serving *serving) {
    struct vs_segments *segments = serving->segments;
    struct vs_tags_status status;
    if (!segments) return;
    segments_get_status(segments, &status);
    const struct vs_tag_set *set = vs_tags_now(&segments->serving->server.tags);
    vs_log(VS_LOG_INFO, "state of the tags", "tags", VS_DIGITS(set ? (int64_t)set->count : 0), "not_served",
           VS_DIGITS((int64_t)status.passed), "unread_tables", VS_DIGITS(status.unread), "why",
           status.unread > 0 ? status.unread_why : NULL, NULL);
}
