/* named.h -- writes a reply with named values in the client's format: a JSON object, a RESP3 map, or in RESP2 an array
 * of alternating names and values. */
#ifndef VS_SERVER_NAMED_H
#define VS_SERVER_NAMED_H

#include "server/request.h"

void vs_named_open(struct vs_request *request, int count);
void vs_named_close(struct vs_request *request);
void vs_named_int(struct vs_request *request, const char *name, int64_t value);
void vs_named_text(struct vs_request *request, const char *name, const char *value);
/* Writes a 64-bit value as a string, because neither protocol's numbers can represent every 64-bit value. */
void vs_named_wide(struct vs_request *request, const char *name, uint64_t value);
/* Writes the values of a block of ticks, VS_NAMED_BLOCK values.  An id is base | time << time_shift | the sequence,
 * which has one or two parts. */
#define VS_NAMED_BLOCK 11
void vs_named_block(struct vs_request *request, const char *ns, const struct vesta_layout *layout,
                    const struct vesta_block *block);

#endif
