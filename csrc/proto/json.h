/* json.h -- writes JSON: strings, and the members of an object. */
#ifndef VS_JSON_H
#define VS_JSON_H

#include "base/out.h"

/* Writes a JSON string.  Control characters are replaced by blanks. */
void vs_put_json(struct vs_out *out, const char *text);
/* Writes a member's name and colon, after a comma unless the member is the first. */
void vs_json_key(struct vs_out *out, const char *name);
void vs_json_uint(struct vs_out *out, const char *name, uint64_t value);
void vs_json_int(struct vs_out *out, const char *name, int64_t value);
void vs_json_bool(struct vs_out *out, const char *name, bool value);
void vs_json_text(struct vs_out *out, const char *name, const char *value);
/* Writes the opening bracket of an object or array.  If name is NULL, the object is an array element, otherwise a
 * member.  The caller writes the closing bracket with vs_put. */
void vs_json_open(struct vs_out *out, const char *name, char bracket);

#endif
