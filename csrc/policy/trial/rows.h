/* rows.h -- rows of a Lua table as ctx.records and ctx.peers have them: what records.c and trial.c share. */
#ifndef VS_ROWS_H
#define VS_ROWS_H

#include "policy/trial/trial.h"
#include "policy/shipped.h"

/* Reads the list at the top of the stack.  The arrays are the Lua state's and lie on its stack, in the list's place;
 * the texts are those of the list, which stays below them.  Raises, with row and field.  Stack: +2. */
void vs_rows_read(lua_State *L, struct vs_records *out);

#endif
