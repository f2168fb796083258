/* places.c -- tables of counters in stores; see places.h. */
#include "main/segments/places.h"

#include "os/clock.h"

#include <stdlib.h>
#include <string.h>

int vs_place_open(struct vs_place *place) {
    struct vesta_error err;
    struct vs_store_opts opts = {.namespace_ = "default", /* counters belong to none */
                                 .group = -1,
                                 .clock = vs_clock_system(),
                                 .secret = place->secret,
                                 .call_ms_max = VS_OPERATOR_CALL_MS};
    vs_store_public(place->uri, place->shown);
    if (vs_store_open(place->uri, &opts, &place->store, &err) != VESTA_OK) return vs_report(&err);
    if (place->store->counters) return VS_GO;
    return vs_usage("the store %s: holds no counters", place->store->backend->scheme);
}

/* ------------------------------------------------------------------ which */

static void add_row(struct vs_places *places, const struct vs_conf_segment *segment) {
    for (int i = 0; i < segment->uri_count && places->count < VS_PLACES_MAX; i++)
        places->at[places->count++] = (struct vs_place){
            .uri = segment->uri[i], .secret = segment->secret[i], .table = vs_conf_segment_table(segment)};
}

static int read_config(struct vs_places *places, const char *tag) {
    struct vs_conf_opts from = {.path = places->config_path};
    const struct vs_conf_segment *only = NULL;
    struct vesta_error err;
    if (places->uri || places->table)
        return vs_usage("--config has the stores and tables: leave out --store and --table");
    if (vs_config_read(&from, &places->config, &err) != VESTA_OK) return vs_say("%s", err.text), VS_FAILED;
    if (tag && vs_conf_segment_of(places->config, tag, &only, &err) != VESTA_OK) return vs_report(&err);
    for (int i = 0; i < places->config->segment_count; i++)
        if (!only || only == &places->config->segment[i]) add_row(places, &places->config->segment[i]);
    if (places->count == 0) return vs_usage("%s has no segments", vs_shown_text(places->config_path));
    return VS_GO;
}

static void print_row(const struct vs_places *places, const char *key, const char *text, const struct vs_where *where) {
    enum vs_where_word word = places->config ? VS_W_CONFIG : VS_W_STORE;
    struct vs_conf_value row = {.path = key, .text = text, .origin = VS_FROM_FILE, .by = "the config"};
    if (!places->config || strcmp(key, "config") == 0) row.origin = where->origin[word], row.by = where->from[word];
    vs_effective_print(&row, places->json);
}

/* The places, store and table in turn. */
static int print_places(const struct vs_places *places, const struct vs_where *where) {
    struct vs_conf_value table = {.path = "table", .text = "leaf_alloc", .origin = VS_FROM_DEFAULT};
    if (places->config) print_row(places, "config", places->config_path, where);
    for (int i = 0; i < places->count; i++) {
        print_row(places, "store", places->at[i].uri, where);
        if (places->at[i].table) table.text = places->at[i].table;
        if (places->at[i].table) table.origin = places->config ? VS_FROM_FILE : VS_FROM_FLAG;
        vs_effective_print(&table, places->json);
    }
    return VS_DONE;
}

int vs_places_open(struct vs_places *places, const char *tag) {
    struct vs_where where = {.text = {[VS_W_CONFIG] = places->config_path, [VS_W_STORE] = places->uri}};
    bool is_told = places->config_path;
    int rc = vs_where_environment(&where);
    if (rc != VS_GO) return rc;
    places->config_path = where.text[VS_W_CONFIG], places->uri = where.text[VS_W_STORE];
    if (places->config_path && !is_told && places->table)
        return vs_usage("VESTA_CONFIG has the stores and tables: unset it, or name the store, too");
    if (places->config_path)
        rc = read_config(places, tag);
    else if (places->uri)
        places->at[places->count++] = (struct vs_place){.uri = places->uri, .table = places->table};
    else
        rc = vs_usage("--store is missing: %s; or -c FILE", VS_STORE_FORMS);
    if (rc == VS_GO && places->effective) return print_places(places, &where);
    for (int i = 0; i < places->count && rc == VS_GO; i++)
        rc = vs_place_open(&places->at[i]);
    return rc;
}

void vs_places_close(struct vs_places *places) {
    for (int i = 0; i < places->count; i++)
        if (places->at[i].store) places->at[i].store->backend->close(places->at[i].store);
    vs_config_free(places->config);
}

/* ------------------------------------------------------------------ asking */

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct vs_tag_listed *)a)->tag, ((const struct vs_tag_listed *)b)->tag);
}

int vs_place_list(const struct vs_place *place, struct vs_tag_list *list) {
    struct vs_reply reply;
    *list = (struct vs_tag_list){.count = 0};
    place->store->counters->tags(place->store, place->table, list, &reply);
    if (reply.outcome != VS_STORE_OK) return vs_place_told(place, NULL, &reply);
    if (list->count > 1) qsort(list->rows, list->count, sizeof *list->rows, by_name);
    return VS_GO;
}

const struct vs_tag_listed *vs_place_find(const struct vs_tag_list *list, const char *tag) {
    struct vs_tag_listed wanted;
    if (list->count == 0 || strlen(tag) >= sizeof wanted.tag) return NULL;
    memcpy(wanted.tag, tag, strlen(tag) + 1);
    return bsearch(&wanted, list->rows, list->count, sizeof *list->rows, by_name);
}

int vs_place_told(const struct vs_place *place, const char *tag, const struct vs_reply *reply) {
    const char *text = *reply->text ? reply->text : "it does not say why";
    switch (reply->outcome) {
    case VS_STORE_CONFLICT:
        vs_say("%s has changed meanwhile, or is there already: look at it with vesta segments, and try again",
               tag ? tag : place->shown);
        break;
    case VS_STORE_UNKNOWN:
        vs_say("no answer came, so it may have been done, or may still be: look with vesta segments (%s)", text);
        break;
    default: vs_say("%s: %s", place->shown, text);
    }
    return VS_FAILED;
}
