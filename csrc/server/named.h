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

#endif
