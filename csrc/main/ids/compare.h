/* compare.h -- two ids beside each other. */
#ifndef VS_COMPARE_H
#define VS_COMPARE_H

#include "command/command.h"

/* Says which was made first, how far apart they are, and, where layouts[0] == layouts[1], whether by the same worker: for
 * people, or as an object.  Each is an id of its layout. */
void vs_compare_print(const struct vesta_layout *const layouts[2], const uint64_t ids[2], int json);

#endif
