/* rows.h -- the rows of vesta_options.h as a table, for callers that set options by name from a string or a Lua table.
 */
#ifndef VS_ROWS_H
#define VS_ROWS_H

#include "vesta.h"

#include <stdbool.h>

enum vs_row_kind {
    VS_ROW_TEXT,
    VS_ROW_LAYOUT,
    VS_ROW_PATH,
    VS_ROW_URI,
    VS_ROW_NAME,
    VS_ROW_SECRET,
    VS_ROW_FIELDS,
    VS_ROW_WORD,
    VS_ROW_CHOICE,
    VS_ROW_WORKER,
    VS_ROW_AHEAD,
    VS_ROW_SWITCH,
    VS_ROW_FLAG /* a bit of `flags` */
};

struct vs_row {
    const char *member; /* vs_row_name converts it to the option's name */
    enum vs_row_kind kind;
    size_t offset;      /* offset in struct vesta_opts */
    uint64_t max;       /* the largest allowed number, or the bit of a flag */
    const char *values; /* the allowed words, as "a|b|c" */
};

/* Returns the i-th row, or NULL after the last one. */
const struct vs_row *vs_row_at(int i);

/* Returns the option's name for users. */
const char *vs_row_name(const struct vs_row *row);

/* Sets an option from a string, which is not copied, or from a number, where 1 means true and 0 means false.
 * Errors: VESTA_EOPTION, with a text that begins with the option's name. */
int vs_row_put(const struct vs_row *row, struct vesta_opts *opts, const char *text, struct vesta_error *err);
int vs_row_put_number(const struct vs_row *row, struct vesta_opts *opts, uint64_t number, struct vesta_error *err);

#endif
