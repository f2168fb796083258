/* problem.c -- the table of error codes, and error replies in both protocols.  Contains no handler code. */
#include "base/array.h"
#include "server/commands.h"
#include "server/problem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct fault {
    const char *code;
    int status;         /* HTTP */
    const char *prefix; /* prefix of the error in the Redis protocol */
} faults[] = {
#define FAULT(code, status, prefix, meaning) {#code, status, prefix},
#include "server/faults.h"
};
_Static_assert(VS_COUNT(faults) < VS_CODES_MAX, "every code can be counted");

int vs_code_named(const char *name) {
    for (size_t i = 0; i < VS_COUNT(faults); i++)
        if (strcmp(faults[i].code, name) == 0) return (int)i + 1;
    assert(!"the code is not in the table");
    return 1;
}

const char *vs_code_name(int code) {
    if (code == 0) return "ok";
    return code <= (int)VS_COUNT(faults) ? faults[code - 1].code : NULL;
}

enum vs_client_count vs_code_reason(int code) {
    switch (faults[code - 1].status) {
    case 401:
    case 403:
    case 421: return VS_CLIENT_REFUSED_RIGHTS;
    case 429: return VS_CLIENT_REFUSED_RATE;
    case 503: return VS_CLIENT_REFUSED_PAUSE;
    default: return VS_CLIENT_REFUSED_REQUEST;
    }
}

const char *vs_code_of_status(int status) {
    for (size_t i = 0; i < VS_COUNT(faults); i++)
        if (faults[i].status == status) return faults[i].code;
    assert(!"the status is not in the table");
    return faults[0].code;
}

/* Replaces control characters, because they would end a RESP line or break a JSON string. */
static void calm(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f) *text = ' ';
}

/* Writes the body as in RFC 9457. */
static void put_problem(struct vs_request *r, const char *code, const char *text) {
    vs_put(r->out, "{", 1);
    vs_json_text(r->out, "type", "about:blank");
    vs_json_text(r->out, "title", vs_http_reason(r->status));
    vs_json_uint(r->out, "status", (uint64_t)r->status);
    vs_json_text(r->out, "code", code);
    vs_json_text(r->out, "detail", text);
    vs_put_text(r->out, "}\n");
}

enum vs_reply_state vs_refuse(struct vs_request *r, const char *code, const char *format, ...) {
    int number = vs_code_named(code);
    const struct fault *fault = &faults[number - 1];
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    calm(text);
    r->out->used = r->start; /* discards the reply that the handler had begun */
    r->code = number;
    if (r->protocol == VS_RESP) {
        vs_resp_error(r->out, fault->prefix, text);
        return VS_ANSWERED;
    }
    r->status = fault->status;
    if (r->status == 503 && r->retry_after_s == 0) r->retry_after_s = 1;
    r->json = r->call ? r->call->json : r->json; /* uses the route's default type, regardless of Accept */
    if (r->fail) {
        r->fail(r, text);
    } else if (r->json) {
        put_problem(r, code, text);
    } else {
        vs_put_text(r->out, text);
        vs_put(r->out, "\n", 1);
    }
    return VS_ANSWERED;
}

void vs_unrefuse(struct vs_request *r) {
    r->out->used = r->start;
    r->code = 0;
    r->status = r->http ? 200 : 0;
    r->retry_after_s = 0;
}

enum vs_reply_state vs_refuse_memory(struct vs_request *r) {
    return vs_refuse(r, "overloaded",
                     "the memory for clients (%lld MiB) is used up: read your replies, or try again later",
                     (long long)(ledger_limits(r->session->server->ledger)->memory_max >> 20));
}
