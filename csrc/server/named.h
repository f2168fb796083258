/* named.h -- a reply of named values, in the form of whoever asked: a JSON object, a map of RESP3, or RESP2's array of
 * names and values in turn. */
#ifndef VS_SERVER_NAMED_H
#define VS_SERVER_NAMED_H

#include "server/request.h"

void vs_named_open(struct vs_request *request, int count);
void vs_named_close(struct vs_request *request);
void vs_named_int(struct vs_request *request, const char *name, int64_t value);
void vs_named_text(struct vs_request *request, const char *name, const char *value);
/* As a string: 64 bits do not fit the numbers of either protocol. */
void vs_named_wide(struct vs_request *request, const char *name, uint64_t value);

#endif
