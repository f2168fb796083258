/* ask.c -- questions to an admin listener; see ask.h. */
#include "cli/top/ask.h"
#include "cli/top/value.h"

#include <stdio.h>
#include <string.h>

#define SILENT_MS 5000

static void end(struct vs_ask *ask, const char *why) {
    snprintf(ask->trouble, sizeof ask->trouble, "%.255s", why);
    vs_wire_close(&ask->wire);
}

void vs_ask_begin(struct vs_ask *ask, const struct vs_wire_to *to, const char *request) {
    struct vesta_error err;
    ask->body = (struct vs_slice){"", 0};
    ask->trouble[0] = '\0';
    if (!vs_wire_ask(&ask->wire, to, request, &err)) end(ask, err.text);
}

bool vs_ask_is_busy(const struct vs_ask *ask) {
    return ask->wire.fd >= 0;
}

void vs_ask_close(struct vs_ask *ask) {
    vs_wire_free(&ask->wire);
}

/* The server's own sentence; a route that it does not know is one that came later. */
static void take_refusal(struct vs_ask *ask, int status) {
    char code[32], why[200];
    vs_value_text(vs_value_member(ask->body, "code"), code, sizeof code);
    vs_value_text(vs_value_member(ask->body, "detail"), why, sizeof why);
    if (status == 404 && strcmp(code, "unknown_name") != 0)
        snprintf(why, sizeof why, "this server does not tell: it is older than this program");
    else if (!*why)
        snprintf(why, sizeof why, status ? "the server answers with status %d" : "the server's answer is no HTTP",
                 status);
    end(ask, why);
}

/* A body that ends before its length was cut. */
static bool is_whole(const struct vs_ask *ask, size_t head) {
    int64_t length = vs_wire_length(&ask->wire, head);
    return length < 0 || (size_t)length == ask->body.length;
}

static void take(struct vs_ask *ask) {
    int status;
    size_t head = vs_wire_head(&ask->wire, &status);
    ask->body = (struct vs_slice){ask->wire.buf + head, ask->wire.used - head};
    if (head == 0 || !is_whole(ask, head))
        end(ask, "the server closed the connection before its answer was whole");
    else if (status != 200 && status != 202)
        take_refusal(ask, status);
    else
        vs_wire_close(&ask->wire); /* the memory stays, and the body in it */
}

bool vs_ask_read(struct vs_ask *ask) {
    if (!vs_ask_is_busy(ask)) return *ask->trouble != '\0';
    if (!vs_wire_read(&ask->wire))
        end(ask, "the answer is longer than any of a server's");
    else if (ask->wire.has_ended)
        take(ask);
    else if (vs_wire_now_ms() > ask->wire.heard_ms + SILENT_MS)
        end(ask, "nothing came for 5 s");
    return !vs_ask_is_busy(ask);
}
