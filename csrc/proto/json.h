/* json.h -- writing JSON: strings, and the members of an object. */
#ifndef VS_JSON_H
#define VS_JSON_H

#include "base/out.h"

/* A string.  Control characters become blanks. */
void vs_put_json(struct vs_out *out, const char *text);
/* A member of an object, behind the comma that it needs. */
void vs_json_key(struct vs_out *out, const char *name);
void vs_json_uint(struct vs_out *out, const char *name, uint64_t value);
void vs_json_int(struct vs_out *out, const char *name, int64_t value);
void vs_json_bool(struct vs_out *out, const char *name, bool value);
void vs_json_text(struct vs_out *out, const char *name, const char *value);
/* Begins an object or array, as a member or (name NULL) as an element.  vs_put writes the closing bracket. */
void vs_json_open(struct vs_out *out, const char *name, char bracket);

#endif
