/* json.c -- writes JSON.  Contains no request code. */
#include "proto/json.h"

void vs_put_json(struct vs_out *out, const char *text) {
    vs_put(out, "\"", 1);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') vs_put(out, "\\", 1);
        vs_put(out, (unsigned char)*text < ' ' ? " " : text, 1);
    }
    vs_put(out, "\"", 1);
}

void vs_json_key(struct vs_out *out, const char *name) {
    char last = out->at[out->used - 1];
    if (last != '{' && last != '[') vs_put(out, ",", 1);
    vs_put_json(out, name);
    vs_put(out, ":", 1);
}

void vs_json_uint(struct vs_out *out, const char *name, uint64_t value) {
    vs_json_key(out, name);
    vs_put_uint(out, value);
}

void vs_json_int(struct vs_out *out, const char *name, int64_t value) {
    vs_json_key(out, name);
    vs_put_int(out, value);
}

void vs_json_bool(struct vs_out *out, const char *name, bool value) {
    vs_json_key(out, name);
    vs_put_text(out, value ? "true" : "false");
}

void vs_json_text(struct vs_out *out, const char *name, const char *value) {
    vs_json_key(out, name);
    vs_put_json(out, value);
}

void vs_json_open(struct vs_out *out, const char *name, char bracket) {
    char last = out->used ? out->at[out->used - 1] : '[';
    if (name)
        vs_json_key(out, name);
    else if (last == '}' || last == ']')
        vs_put(out, ",", 1);
    vs_put(out, &bracket, 1);
}
