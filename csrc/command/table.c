/* table.c -- tables for people: as wide as a terminal is, whole elsewhere.  Knows no command. */
#include "command/command.h"

#include <stdlib.h>
#include <string.h>

#define CELL_MIN 8 /* of the last column, however narrow the terminal is */

static size_t size_of(int width) {
    return (size_t)abs(width);
}

/* Where a terminal has no room for all columns, some are narrower there, and some left out. */
static bool is_narrow(const struct vs_column *columns) {
    size_t all = 0;
    for (; columns->title; columns++)
        all += size_of(columns->width) + 2;
    return vs_out_columns() && vs_out_columns() < all - 2;
}

bool vs_table_is_narrow(const struct vs_column *columns) {
    return is_narrow(columns);
}

/* The last cell: as much of it as the line has room for. */
static void put_last(const char *text, size_t at) {
    size_t columns = vs_out_columns(), room = columns > at + CELL_MIN ? columns - at : CELL_MIN;
    if (columns && strlen(text) > room)
        vs_outf("%.*s...\n", (int)room - 3, text);
    else
        vs_outf("%s\n", text);
}

static void put(const char *text, int width, bool narrow) {
    if (narrow && width < 0 && strlen(text) > size_of(width))
        vs_outf("%.*s...", (int)size_of(width) - 3, text);
    else
        vs_outf("%*s", width, text);
}

void vs_table_row(const struct vs_column *columns, const struct vs_cell *cells) {
    bool narrow = is_narrow(columns);
    size_t at = 0;
    for (; columns[1].title; columns++, cells++) {
        int width = narrow ? columns->narrow : columns->width;
        if (width == 0) continue;
        const char *paint = cells->paint ? cells->paint : "";
        vs_outf("%s", paint);
        put(cells->text, width, narrow);
        vs_outf("%s  ", *paint ? VS_PLAIN : "");
        at += size_of(width) + 2;
    }
    put_last(cells->text, at);
}

void vs_table_head(const struct vs_column *columns) {
    struct vs_cell titles[VS_TABLE_COLUMNS_MAX];
    for (size_t i = 0; i < VS_TABLE_COLUMNS_MAX && columns[i].title; i++)
        titles[i] = (struct vs_cell){columns[i].title, NULL};
    vs_table_row(columns, titles);
}
