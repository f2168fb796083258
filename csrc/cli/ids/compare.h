/* compare.h -- two ids of one layout beside each other. */
#ifndef VS_COMPARE_H
#define VS_COMPARE_H

#include "command/command.h"

/* Says which was made first, how far apart they are, and whether by the same worker: for people, or as an object.  Both
 * are ids of the layout. */
void vs_compare_print(const struct vesta_layout *layout, const uint64_t ids[2], int json);

#endif
