/* named.c -- writes replies with named values in both protocols.  Contains no command code. */
#include "server/named.h"

void vs_named_open(struct vs_request *r, int count) {
    if (r->protocol == VS_RESP)
        vs_resp_map(r->out, (size_t)count);
    else
        vs_put(r->out, "{", 1);
}

void vs_named_close(struct vs_request *r) {
    if (r->protocol != VS_RESP) vs_put_text(r->out, "}\n");
}

static void put_key(struct vs_request *r, const char *name) {
    if (r->protocol == VS_RESP)
        vs_resp_word(r->out, name);
    else
        vs_json_key(r->out, name);
}

void vs_named_int(struct vs_request *r, const char *name, int64_t value) {
    put_key(r, name);
    if (r->protocol == VS_RESP)
        vs_resp_int(r->out, value);
    else
        vs_put_int(r->out, value);
}

void vs_named_text(struct vs_request *r, const char *name, const char *value) {
    put_key(r, name);
    if (r->protocol == VS_RESP)
        vs_resp_word(r->out, value);
    else
        vs_put_json(r->out, value);
}

void vs_named_wide(struct vs_request *r, const char *name, uint64_t value) {
    char digits[VESTA_FORMAT_MAX];
    vesta_format(VESTA_DECIMAL, value, digits);
    vs_named_text(r, name, digits);
}
