/* audit.h -- shared by the two parts of `audit`: reading ids and examining them. */
#ifndef VS_AUDIT_H
#define VS_AUDIT_H

#include "command/command.h"

/* The file and line of ids[index].  Each id after it, up to the next mark, is one line further. */
struct vs_mark {
    size_t index;
    const char *file;
    uint64_t line;
};

struct vs_marked {
    struct vs_mark *at;
    size_t count, room;
};

/* The ids of 128 bits in the order they were read, and what their texts tell. */
struct vs_wides {
    struct vs_wide *ids;
    size_t count, room;
    struct vs_marked marks;
    uint64_t kinds[17]; /* number of UUIDs by version, and at 16 the number of ULIDs */
    uint64_t timed, future;
    size_t future_at;
    int64_t first_ms, last_ms; /* the earliest and latest time, if timed > 0 */
};
#define VS_KIND_ULID 16

/* All ids in the order they were read.  Owns its arrays. */
struct vs_ids {
    uint64_t *ids;
    size_t count, room;
    struct vs_marked marks;
    struct vs_wides wides;
    const struct vesta_layout *layout; /* NULL: unknown.  Otherwise UUIDs of version 8 have times */
    int64_t now_ms;
    uint64_t bad_lines; /* lines that are not ids (the first few were reported on stderr) */
};

/* Reads a file ("-": stdin) and appends its ids: one id per line, in the first column.  Returns VS_DONE, or an exit
 * code after a message. */
int vs_ids_read(struct vs_ids *self, enum vs_notation notation, const char *file);
void vs_ids_free(struct vs_ids *self);

/* Returns the file and line of the id with this index, for the marks of its list. */
void vs_marks_where(const struct vs_marked *marks, size_t index, const char **file, uint64_t *line);
static inline void vs_ids_where(const struct vs_ids *self, size_t index, const char **file, uint64_t *line) {
    vs_marks_where(&self->marks, index, file, line);
}

/* Prints the row of a count of suspicious ids.  If it is not 0, the row ends without a newline, and the caller completes
 * it.  Returns whether the count is not 0. */
bool vs_audit_count(const char *name, uint64_t count);

#define VS_DUPLICATES_SHOWN 10
#define VS_LINES_SHOWN 4 /* maximum lines shown per duplicate */

/* What the ids of 128 bits have in common. */
struct vs_wide_finding {
    uint64_t distinct, inversions, burst; /* burst: the most ids with the same time */
    size_t inversions_at;
    struct vs_wide min, max;
    struct {
        struct vs_wide id;
        uint64_t times;
    } shown[VS_DUPLICATES_SHOWN];
    int shown_count;
};
/* Returns VS_DONE, or an exit code after a message. */
int vs_wides_find(const struct vs_wides *wides, struct vs_wide_finding *out);
void vs_wides_print_duplicates(const struct vs_wides *wides, const struct vs_wide_finding *found);
void vs_wides_print(const struct vs_wides *wides, const struct vs_wide_finding *found);
void vs_wides_print_json(const struct vs_wides *wides, const struct vs_wide_finding *found);

/* Examines the fields of ids under a layout.  vs_oddities_print prints the results, as a part of the report. */
struct vs_oddities;
int vs_oddities_find(const struct vs_ids *ids, const struct vesta_layout *layout, int64_t now_ms,
                     struct vs_oddities **out);
void vs_oddities_print(struct vs_oddities *self, int json); /* call it only once */
void vs_oddities_free(struct vs_oddities *self);

/* Counts the ids of each shard, where the shard of an id is (id >> shift) % n. */
struct vs_mod {
    uint64_t n, shift; /* n: 0, or from 2 to VS_MOD_MAX.  shift: at most 63 */
};
#define VS_MOD_MAX 65536
struct vs_shards;
struct vs_shards *vs_shards_count(const struct vs_ids *ids, const struct vs_mod *mod); /* NULL after a message */
void vs_shards_print(const struct vs_shards *self, bool json);                         /* the caller frees `self` */

#endif
