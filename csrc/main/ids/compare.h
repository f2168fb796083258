/* compare.h -- compares two ids. */
#ifndef VS_COMPARE_H
#define VS_COMPARE_H

#include "command/command.h"

/* Prints which id was made first, how far apart the ids are and, if layouts[0] == layouts[1], whether one worker made
 * both ids.  The output is text or a JSON object.  Each id must be valid in its layout. */
void vs_compare_print(const struct vesta_layout *const layouts[2], const uint64_t ids[2], int json);

#endif
