/* walk.h -- what walk.c and values.c share: a walk through the table that a config file returned.
 * Errors are texts that go on from the key's name. */
#ifndef VS_WALK_H
#define VS_WALK_H

#include "config/schema.h"

#include <lua.h>

struct walk {
    lua_State *L; /* the value that is read is on top */
    const struct vs_conf_reading *reading;
    struct vesta_error *err;
};

/* The value on top in a message: 65, the text 'abc', true, a table. */
#define VS_CONF_GIVEN_MAX 64
#define VS_CONF_GIVEN(w) vs_conf_given((w)->L, (char[VS_CONF_GIVEN_MAX]){0})
const char *vs_conf_given(lua_State *L, char *buf);

/* The smallest key of the table at `index` that is greater than `last` (NULL: the smallest), all being texts. */
const char *vs_conf_name_after(lua_State *L, int index, const char *last);

/* The keys of the table on top are at most `max` texts.  Places 1 to `places` are not counted. */
int vs_conf_check_names(struct walk *w, int max, size_t places);

/* The table on top is 1, 2, 3 and so on up to `max`, without a hole and with nothing else. */
int vs_conf_check_list(struct walk *w, int64_t max, size_t *count);

/* Puts the value on top in its place.  On failure file, line and key stand in front of the text. */
int vs_conf_read_value(struct walk *w, const struct vs_conf_key *key, void *base);

#endif
