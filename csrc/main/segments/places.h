/* places.h -- where counters are, as the words of `vesta segments` see it: tables in stores, by flags or by a config.
 */
#ifndef VS_PLACES_H
#define VS_PLACES_H

#include "main/ops/stores.h"
#include "config/config.h"

#define VS_PLACES_MAX (VS_CONF_SEGMENTS_MAX * VS_CONF_SEGMENT_STORES_MAX)

struct vs_place {
    const char *uri, *secret;
    const char *table; /* NULL: leaf_alloc */
    struct vs_store *store;
    char shown[VS_URI_MAX]; /* the URI without its password */
};

struct vs_places {
    const char *uri, *table, *config_path; /* as the options said */
    struct vs_config *config;
    struct vs_place at[VS_PLACES_MAX];
    int count;
    int effective, json; /* options */
};

/* Rows of options: every word of the command has them. */
/* clang-format off */
#define VS_PLACES_OPTIONS(places) \
    VS_TEXT("store", &(places)->uri, "URI", VS_STORE_FORMS), \
    VS_TEXT("table", &(places)->table, "NAME", "which of its tables (default: leaf_alloc)"), \
    {"config", 'c', VS_OPT_TEXT, &(places)->config_path, "FILE", "a config: the tables of its segments", 0, 0, NULL}, \
    VS_EFFECTIVE(&(places)->effective)
/* clang-format on */

/* Opens them, and asks nobody yet; of a config those that have the tag (NULL: all).  VS_GO, or an exit code after a
 * message, or after --effective; close it either way. */
int vs_places_open(struct vs_places *places, const char *tag);
void vs_places_close(struct vs_places *places);
/* One place by its URI. */
int vs_place_open(struct vs_place *place);

/* Reads the tags of a place, by name.  VS_GO, or an exit code after a message; free list->rows. */
int vs_place_list(const struct vs_place *place, struct vs_tag_list *list);
/* The tag's row: its values are those of vs_tag_usable.  NULL: there is none. */
const struct vs_tag_listed *vs_place_find(const struct vs_tag_list *list, const char *tag);
/* Says what an answer means that is not OK.  Returns VS_FAILED. */
int vs_place_told(const struct vs_place *place, const char *tag, const struct vs_reply *reply);

/* VS_GO, or an exit code after a message. */
int vs_segments_check_tag(const char *tag);

/* The words, with argv[0] = "segments". */
int vs_segments_add(int argc, char **argv);
int vs_segments_step(int argc, char **argv);
int vs_segments_take(int argc, char **argv);
int vs_segments_import(int argc, char **argv);
int vs_segments_resume(int argc, char **argv);

#endif
