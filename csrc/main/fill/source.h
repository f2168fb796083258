/* source.h -- where the ids come from that `vesta fill` puts into a list: a generator, or a tag's counter. */
#ifndef VS_FILL_SOURCE_H
#define VS_FILL_SOURCE_H

#include "command/command.h"

#include <stdbool.h>
#include <stddef.h>

struct vs_config;

struct vs_source {
    struct vesta_opts opts;
    const char *tag, *table; /* of a counter, instead of a namespace */
    const char *config_path; /* NULL: `opts` are the flags' */
    struct vs_config *config;
    struct vesta_gen *gen;
    struct vesta_segment *seg;
    bool is_strict; /* its numbers come by asking the database */
};

/* `--effective`: where they would come from, and who said so.  VS_DONE, or an exit code after a message. */
int vs_source_print(struct vs_source *source, int json);
/* VS_GO, or an exit code after a message. */
int vs_source_open(struct vs_source *source);
void vs_source_close(struct vs_source *source);

/* Takes 1 to n ids, waiting up to `wait_ms` for the first.  0: there are none yet; `why` says why. */
#define VS_SOURCE_WHY_MAX 320
size_t vs_source_take(struct vs_source *source, uint64_t *ids, size_t n, int wait_ms, char *why);

#endif
