/* refusal.c -- the last that a connection hears before it is closed, in the words of its protocol. */
#include "server/net/net.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

const struct vs_refusal vs_too_many = {
    .resp = "ERR max number of clients reached", .status = "503 Service Unavailable", .again = true};

size_t vs_refusal_write(const struct vs_refusal *refusal, enum vs_protocol protocol, char buf[VS_REFUSAL_MAX]) {
    const char *text = refusal->text ? refusal->text : "", *end = *text ? "\n" : "";
    int length;
    if (protocol == VS_RESP)
        length = refusal->resp ? snprintf(buf, VS_REFUSAL_MAX, "-%s\r\n", refusal->resp) : 0;
    else
        length = snprintf(buf, VS_REFUSAL_MAX,
                          "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\nCache-Control: no-store\r\n%sConnection: close\r\n\r\n%s%s",
                          refusal->status, *text ? "Content-Type: text/plain\r\n" : "", strlen(text) + strlen(end),
                          refusal->again ? "Retry-After: 1\r\n" : "", text, end);
    assert(length >= 0 && length < VS_REFUSAL_MAX);
    return (size_t)length;
}

void vs_refusal_send(const struct vs_refusal *refusal, enum vs_protocol protocol, int fd) {
    char text[VS_REFUSAL_MAX];
    send(fd, text, vs_refusal_write(refusal, protocol, text), MSG_DONTWAIT | MSG_NOSIGNAL);
}
