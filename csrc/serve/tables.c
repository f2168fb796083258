/* tables.c -- finds the tags in the config and in tables, and decides which tags are served.  If a table cannot be
 * read, nothing changes.  Contains no event loop or protocol code. */
#include "base/error.h"
#include "os/clock.h"
#include "os/thread.h"
#include "serve/segments.h"
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ opening a tag */

static void wake_loops(void *self) {
    vs_serve_wake(self);
}

/* Returns the number to which the row's counters are raised when a day begins in its zone. */
static uint64_t first_of_day(void *self, int64_t unix_ms) {
    const struct vs_tag_row *row = self;
    return vs_form_first(row->form, &row->zone->zone, unix_ms);
}

static int fits_form(void *self, uint64_t number) {
    const struct vs_tag_row *row = self;
    return vs_form_fits(row->form, number);
}

/* Opens a tag's segment.  A dense tag also gets a map, as a tag with the order strict does, but takes no numbers from
 * the map. */
static int open_segment(struct vs_segments *segments, struct vs_tag_row *row, struct vs_served_tag *tag,
                        struct vesta_error *err) {
    const struct vs_conf_segment *conf = row->conf;
    bool is_dense = conf->order == VS_CONF_DENSE;
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    for (int i = 0; i < conf->uri_count; i++) {
        opts.stores[i] = conf->uri[i];
        opts.secrets[i] = conf->secret[i];
    }
    opts.table = vs_conf_segment_table(conf);
    opts.tag = tag->name;
    opts.step = (uint64_t)conf->step;
    opts.step_max = (uint64_t)conf->step_max;
    opts.order = conf->order == VS_CONF_TREND ? VESTA_TREND : VESTA_STRICT;
    if (is_dense) opts.flags = VESTA_NO_KEEPER;
    if (row->form && row->form->period != VS_FORM_NEVER) {
        opts.floor = first_of_day;
        opts.fits = fits_form;
        opts.floor_self = row;
    }
    opts.form = conf->form;
    int rc = vesta_segment_open(&opts, is_dense ? &tag->memory : &tag->seg, err);
    if (rc == VESTA_OK && !is_dense) vesta_segment_on_ready(tag->seg, wake_loops, &segments->serving->server);
    return rc;
}

static int take_place(const struct vs_segments *segments) {
    int place = 0;
    while (place < VS_SERVED_TAGS_MAX && segments->is_taken[place])
        place++;
    return place;
}

/* Returns whether the tag was found in a table.  Such a tag uses one of the maps that are reserved for tags of
 * tables. */
static bool is_found(const struct vs_segments *segments, const struct vs_served_tag *tag) {
    return vs_conf_segment_is_any(segments->row[tag->row].conf);
}

static void free_tag(struct vs_segments *segments, struct vs_served_tag *tag) {
    segments->found_count -= is_found(segments, tag);
    vesta_segment_close(tag->seg);
    vesta_segment_close(tag->memory);
    vs_tag_free(tag);
}

static int open_tag_mask(const struct vs_tag_row *row, struct vs_served_tag *tag, struct vesta_error *err) {
    struct vs_mask_opts opts = row->mask->opts;
    opts.name = tag->name;
    return vs_mask_open(&opts, &tag->mask, err);
}

/* Opens a tag.  It is served once the next set is published. */
static int add_tag(struct vs_segments *segments, struct vs_tag_row *row, const char *name, struct vesta_error *err) {
    struct vs_served_tag *tag = vs_tag_new(name, segments->serving->threads);
    int place = take_place(segments);
    assert(place < VS_SERVED_TAGS_MAX);
    if (!tag) return vs_fail(err, VESTA_ENOMEM, "no memory for a tag");
    tag->place = place;
    tag->row = (int)(row - segments->row);
    tag->table = row->conf->table;
    tag->stores = row->stores;
    tag->wait_us_max = row->conf->wait_ms_max * 1000;
    tag->desk = row->desk;
    tag->form = row->form;
    bool needs_desk = row->conf->order != VS_CONF_TREND;
    int rc = needs_desk && !tag->desk ? vs_fail(err, VESTA_ENOMEM, "no memory for a desk") : VESTA_OK;
    if (rc == VESTA_OK && row->mask) rc = open_tag_mask(row, tag, err);
    if (rc == VESTA_OK) rc = open_segment(segments, row, tag, err);
    if (rc != VESTA_OK) return vs_tag_free(tag), rc;
    segments->is_taken[place] = true;
    segments->told[place] = 0;
    memset(segments->met[place], 0, sizeof segments->met[place]);
    segments->tag[segments->tag_count++] = tag;
    segments->found_count += is_found(segments, tag);
    return VESTA_OK;
}

/* ------------------------------------------------------------------ the served set */

/* Makes the current tags the served set, and retires `gone` with the old set. */
static void publish(struct vs_segments *segments, struct vs_tag_retired *gone) {
    struct vs_server *server = &segments->serving->server;
    struct vs_tag_set *set = vs_tag_set_new(segments->tag, segments->tag_count);
    if (!set) { /* the old set and its tags stay in use until memory is available */
        vs_log(VS_LOG_ERROR, "no memory for the changed tags: the previous ones stay in use", NULL);
        for (size_t i = 0; i < gone->count; i++)
            segments->tag[segments->tag_count++] = gone->tag[i];
        segments->leaving -= gone->count;
        free(gone);
        return;
    }
    gone->set = vs_tags_replace(&server->tags, set);
    gone->since_us = vs_monotonic_us();
    *segments->retired_end = gone;
    segments->retired_end = &gone->next;
    vs_serve_wake(server); /* rejects requests that wait for a removed tag */
    for (size_t i = 0; i < gone->count; i++)
        vs_log(VS_LOG_INFO, "a tag was removed", "tag", gone->tag[i]->name, "table",
               segments->row[gone->tag[i]->row].conf->table, NULL);
}

static void add_to_gone(struct vs_segments *segments, const struct vs_tag_retired *retired) {
    for (size_t i = 0; i < retired->count; i++) {
        struct vs_tag_total total = vs_tag_total(&segments->serving->server.monitor, retired->tag[i]);
        pthread_mutex_lock(&segments->lock);
        for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
            segments->status.gone_given[protocol] += total.given[protocol];
        segments->status.gone_pauses += total.pauses;
        pthread_mutex_unlock(&segments->lock);
    }
}

/* Frees retired sets in the order in which they were replaced.  A removed tag may be in every set that precedes the
 * first set without it. */
void vs_tags_sweep(struct vs_segments *segments) {
    struct vs_tag_retired *first;
    while ((first = segments->retired) && vs_serve_passed(&segments->serving->server, first->since_us) &&
           (!first->set || !vs_tags_are_held(first->set))) {
        segments->retired = first->next;
        if (!segments->retired) segments->retired_end = &segments->retired;
        add_to_gone(segments, first);
        for (size_t i = 0; i < first->count; i++) {
            segments->is_taken[first->tag[i]->place] = false;
            segments->leaving--;
            free_tag(segments, first->tag[i]);
        }
        vs_tag_set_free(first->set);
        free(first);
    }
}

/* ------------------------------------------------------------------ the tags of a table */

struct names {
    char (*at)[VESTA_TAG_MAX];
    size_t count, room;
    uint64_t passed; /* rows with a name that is not a valid tag */
    char strange[VS_QUOTE_MAX];
    uint64_t unusable; /* rows with unusable values: their tags are served, because otherwise they would look unknown */
    char unusable_tag[VESTA_TAG_MAX], unusable_why[VS_NAMESPACE_WHY_MAX]; /* the first such tag */
    bool whole;                                                           /* all databases of the row were read */
};

static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

static bool has_name(const struct names *names, const char *name) {
    return names->count > 0 && bsearch(name, names->at, names->count, sizeof *names->at, by_name);
}

static void look_at_row(struct names *names, const struct vs_tag_listed *listed, const char *table, const char *store) {
    const char *why;
    if (vs_tag_usable(listed, &why) || names->unusable++ > 0) return;
    snprintf(names->unusable_tag, sizeof names->unusable_tag, "%s", listed->tag);
    snprintf(names->unusable_why, sizeof names->unusable_why, "the row of tag '%s' in %s of %s cannot be used: %s",
             listed->tag, table, store, why);
}

static int add_names(struct names *names, const struct vs_tag_list *list, struct vesta_error *err) {
    size_t room = names->count + list->count;
    char(*at)[VESTA_TAG_MAX] = realloc(names->at, (room ? room : 1) * sizeof *at);
    if (!at) return vs_fail(err, VESTA_ENOMEM, "no memory for its tags");
    names->at = at;
    for (size_t i = 0; i < list->count; i++)
        memcpy(names->at[names->count++], list->rows[i].tag, sizeof *at);
    names->passed += list->passed;
    if (list->passed > 0 && !*names->strange) snprintf(names->strange, sizeof names->strange, "%s", list->strange);
    return VESTA_OK;
}

static int open_database(struct vs_segments *segments, const struct vs_tag_row *row, int i, struct vs_store **store,
                         struct vesta_error *err) {
    struct vs_store_opts opts = {.namespace_ = "default",
                                 .group = -1,
                                 .clock = segments->serving->server.clock,
                                 .secret = row->conf->secret[i],
                                 .cut_us = &segments->cut_us};
    return vs_store_open(row->conf->uri[i], &opts, store, err);
}

static int read_database(struct vs_segments *segments, const struct vs_tag_row *row, int i, struct names *names,
                         struct vesta_error *err) {
    const struct vs_conf_segment *conf = row->conf;
    struct vs_tag_list list = {.count = 0};
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    struct vs_store *store;
    int rc = open_database(segments, row, i, &store, err);
    if (rc != VESTA_OK) return rc;
    store->counters->tags(store, vs_conf_segment_table(conf), &list, &reply);
    if (reply.outcome != VS_STORE_OK)
        rc = vs_fail(err, VESTA_EIO, "%s", vs_reply_say(&reply, "it does not answer", (char[sizeof err->text]){0},
                                                         sizeof err->text));
    else
        rc = add_names(names, &list, err);
    for (size_t r = 0; r < list.count && rc == VESTA_OK; r++)
        look_at_row(names, &list.rows[r], conf->table, row->stores[i]);
    free(list.rows);
    store->backend->close(store);
    return rc;
}

/* Attempts a write that names a value that no row has.  The write changes nothing, but the database checks whether its
 * user may write. */
static enum vs_outcome try_database(struct vs_segments *segments, const struct vs_tag_row *row, int i,
                                    struct vs_counter counter, struct vs_reply *reply) {
    struct vs_store *store;
    struct vesta_error err;
    if (open_database(segments, row, i, &store, &err) != VESTA_OK) return VS_STORE_DOWN;
    if (store->backend->is_local)
        reply->outcome = VS_STORE_CONFLICT; /* nothing to test: the first take creates whatever is missing */
    else
        store->counters->untake(store, &counter, VS_NUMBER_MAX - 1, VS_NUMBER_MAX, reply);
    store->backend->close(store);
    return reply->outcome;
}

/* Returns a tag of the row for a test write.  Returns NULL if the row has no tag yet, or if a test is unnecessary
 * because a tag has numbers. */
static const char *tag_to_try(struct vs_segments *segments, struct vs_tag_row *row) {
    const char *name = NULL;
    for (size_t i = 0; i < segments->tag_count && !row->is_writable; i++) {
        const struct vs_served_tag *tag = segments->tag[i];
        struct vesta_segment_info info;
        if (tag->row != row - segments->row) continue;
        vesta_segment_get_info(tag->seg ? tag->seg : tag->memory, &info);
        row->is_writable = info.left > 0 || info.next_left > 0;
        name = tag->name;
    }
    return row->is_writable ? NULL : name;
}

void vs_tag_row_try(struct vs_segments *segments, struct vs_tag_row *row) {
    const struct vs_counter counter = {vs_conf_segment_table(row->conf), tag_to_try(segments, row)};
    const bool was_refused = *row->refused;
    struct vs_reply reply = {.outcome = VS_STORE_DOWN};
    int refused = 0;
    for (int i = 0; counter.tag && i < row->conf->uri_count && !row->is_writable; i++) {
        enum vs_outcome outcome = try_database(segments, row, i, counter, &reply);
        row->is_writable = outcome == VS_STORE_CONFLICT;
        refused += outcome == VS_STORE_REFUSED;
        if (outcome == VS_STORE_REFUSED && refused == 1 && !was_refused)
            snprintf(row->refused, sizeof row->refused, "%s of %s: %.400s", row->conf->table, row->stores[i], reply.text);
    }
    if (row->is_writable || refused < row->conf->uri_count) *row->refused = '\0';
    if (*row->refused && !was_refused)
        vs_log(VS_LOG_WARN, "the counters in a table cannot be raised", "why", row->refused, "do",
               "vesta doctor -c FILE describes the solution", NULL);
}

/* Reads the tags from all databases of the row that can be read, without duplicates.  Fails if none of the databases
 * can be read. */
static int read_names(struct vs_segments *segments, const struct vs_tag_row *row, struct names *names,
                      struct vesta_error *err) {
    const struct vs_conf_segment *conf = row->conf;
    struct vesta_error why;
    int failed = 0;
    for (int i = 0; i < conf->uri_count; i++)
        if (read_database(segments, row, i, names, &why) != VESTA_OK && failed++ == 0)
            vs_fail(err, why.code, "%s of %s: %.400s", conf->table, row->stores[i], why.text);
    names->whole = failed == 0;
    if (failed == conf->uri_count) return err->code;
    qsort(names->at, names->count, sizeof *names->at, by_name);
    size_t count = 0;
    for (size_t i = 0; i < names->count; i++)
        if (count == 0 || strcmp(names->at[i], names->at[count - 1]) != 0)
            memmove(names->at[count++], names->at[i], sizeof *names->at);
    names->count = count;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ changing the served set */

/* Returns why a name cannot be served from this row, or NULL. */
static const char *reason_against(const struct vs_segments *segments, const struct vs_tag_row *row) {
    const struct vs_limits *limits = ledger_limits(segments->serving->server.ledger);
    bool needs_map = vs_conf_segment_is_any(row->conf);
    if (take_place(segments) == VS_SERVED_TAGS_MAX) return "there are too many tags";
    if (needs_map && segments->found_count >= (size_t)limits->tags.found_max)
        return "no file descriptor is left for its map: " VS_RAISE_DESCRIPTORS;
    return NULL;
}

/* Warns if a namespace has the same name as a tag, because Leaf's clients use one key for both. */
static void tell_shared_name(struct vs_segments *segments, const struct vs_tag_row *row, const char *name) {
    if (!vs_namespace_named(&segments->serving->server.names, name, strlen(name))) return;
    vs_log(VS_LOG_WARN, "a tag and a namespace have the same name: GET uses the namespace, and INCR uses the tag",
           "tag", name, "table", row->conf->table, NULL);
}

static const struct vs_served_tag *served_as(const struct vs_segments *segments, const char *name) {
    for (size_t i = 0; i < segments->tag_count; i++)
        if (strcmp(segments->tag[i]->name, name) == 0) return segments->tag[i];
    return NULL;
}

/* Returns true if an unserved tag has not been logged yet, and records that it is logged. */
static bool is_news(struct vs_tag_row *row, const char *name) {
    for (int i = 0; i < row->told_count; i++)
        if (strcmp(row->told[i], name) == 0) return false;
    if (row->told_count == VS_TOLD_MAX) return false;
    snprintf(row->told[row->told_count++], VESTA_TAG_MAX, "%s", name);
    return true;
}

/* Serves a name.  If the name cannot be served, counts it in *passed and logs the reason once. */
static bool serve_name(struct vs_segments *segments, struct vs_tag_row *row, const char *name, uint64_t *passed) {
    const struct vs_served_tag *there = vs_tag_named(vs_tags_now(&segments->serving->server.tags), name, strlen(name));
    struct vesta_error err;
    if (!there) there = served_as(segments, name); /* the tag is new, and no published set has it yet */
    const char *why = there ? NULL : reason_against(segments, row);
    if (there && there->row == row - segments->row) return false;
    if (there) why = "another row of the segments has it";
    if (why && !there && segments->leaving > 0) return segments->lacks_places = true, ++*passed, false;
    if (!why && add_tag(segments, row, name, &err) == VESTA_OK) return tell_shared_name(segments, row, name), true;
    if (!why) why = err.text;
    ++*passed;
    if (is_news(row, name))
        vs_log(VS_LOG_WARN, "a tag is not served", "tag", name, "table", row->conf->table, "why", why, NULL);
    return false;
}

/* Removes the tags that are not in `names` from the served tags. */
static struct vs_tag_retired *take_gone(struct vs_segments *segments, const struct vs_tag_row *row,
                                        const struct names *names) {
    struct vs_tag_retired *gone = calloc(1, sizeof *gone + segments->tag_count * sizeof *gone->tag);
    size_t kept = 0;
    if (!gone) return NULL;
    for (size_t i = 0; i < segments->tag_count; i++) {
        struct vs_served_tag *tag = segments->tag[i];
        bool stays = !names->whole || tag->row != row - segments->row || has_name(names, tag->name);
        *(stays ? &segments->tag[kept++] : &gone->tag[gone->count++]) = tag;
    }
    segments->tag_count = kept;
    segments->leaving += gone->count;
    return gone;
}

static void tell_unread(struct vs_tag_row *row, const char *why) {
    snprintf(row->why, sizeof row->why, "%s", why);
    if (!row->is_told)
        vs_log(VS_LOG_WARN, "the tags of a table cannot be read: the known ones stay in use", "why", row->why, NULL);
    row->is_told = true;
}

static void tell_read(struct vs_tag_row *row, const struct names *names, size_t added) {
    if (row->is_told && names->whole)
        vs_log(VS_LOG_INFO, "the tags of a table can be read again", "table", row->conf->table, NULL);
    if (added > 0)
        vs_log(VS_LOG_INFO, "serving tags", "table", row->conf->table, "new", VS_DIGITS((int64_t)added), "of",
               VS_DIGITS((int64_t)names->count), NULL);
    if (names->passed > row->passed)
        vs_log(VS_LOG_WARN, "rows of a table are not valid tags and are ignored", "table", row->conf->table, "first",
               names->strange, "rows", VS_DIGITS((int64_t)names->passed), NULL);
    if (names->unusable > 0 && (names->unusable > row->unusable || strcmp(names->unusable_why, row->unusable_why) != 0))
        vs_log(VS_LOG_WARN, "a tag has no numbers, because its row cannot be used", "tag", names->unusable_tag, "why",
               names->unusable_why, "rows", VS_DIGITS((int64_t)names->unusable), NULL);
    if (names->unusable == 0 && row->unusable > 0)
        vs_log(VS_LOG_INFO, "the rows of a table can be used again", "table", row->conf->table, NULL);
    if (names->whole) row->is_told = false, *row->why = '\0';
}

static void keep_unusable(struct vs_tag_row *row, const struct names *names) {
    row->unusable = names->unusable;
    memcpy(row->unusable_tag, names->unusable_tag, sizeof row->unusable_tag);
    memcpy(row->unusable_why, names->unusable_why, sizeof row->unusable_why);
}

static void tables_settle(struct vs_segments *segments, struct vs_tag_row *row, const struct names *names) {
    struct vs_tag_retired *gone = take_gone(segments, row, names);
    uint64_t passed = names->passed;
    size_t added = 0;
    if (!gone) return tell_unread(row, "no memory");
    for (size_t i = 0; i < names->count; i++)
        added += serve_name(segments, row, names->at[i], &passed);
    if (added > 0 || gone->count > 0)
        publish(segments, gone);
    else
        free(gone);
    tell_read(row, names, added); /* logged only now, when the statement is true */
    keep_unusable(row, names);
    row->is_read = true;
    row->passed = passed;
}

/* Reads the tags that the config lists, which are never removed. */
static void read_listed(struct vs_segments *segments, struct vs_tag_row *row) {
    const struct vs_conf_list *tags = &row->conf->tags;
    struct names names = {.at = calloc((size_t)tags->count, sizeof *names.at), .whole = true};
    if (!names.at) return tell_unread(row, "no memory");
    for (int i = 0; i < tags->count; i++)
        snprintf(names.at[names.count++], sizeof *names.at, "%s", tags->text[i]);
    qsort(names.at, names.count, sizeof *names.at, by_name);
    tables_settle(segments, row, &names);
    free(names.at);
}

static bool serves_any(const struct vs_segments *segments, const struct vs_tag_row *row) {
    for (size_t i = 0; i < segments->tag_count; i++)
        if (segments->tag[i]->row == row - segments->row) return true;
    return false;
}

void vs_tag_row_read(struct vs_segments *segments, struct vs_tag_row *row) {
    struct names names = {.count = 0};
    struct vesta_error err = {.code = VESTA_OK};
    if (!vs_conf_segment_is_any(row->conf)) return read_listed(segments, row);
    int rc = read_names(segments, row, &names, &err);
    /* A lost table looks like an empty table. */
    if (rc == VESTA_OK && names.count == 0 && serves_any(segments, row))
        rc = vs_fail(&err, VESTA_EIO, "%s of %s is empty", row->conf->table, row->stores[0]);
    if (err.code != VESTA_OK) tell_unread(row, err.text);
    if (rc == VESTA_OK) tables_settle(segments, row, &names);
    free(names.at);
}
