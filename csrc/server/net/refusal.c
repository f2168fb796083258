/* refusal.c -- the last that a connection hears before it is closed, in the words of its protocol. */
#include "server/net/net.h"

#include <sys/socket.h>

const struct vs_refusal vs_too_many = {
    .resp = "ERR max number of clients reached", .status = "503 Service Unavailable", .again = true};

size_t vs_refusal_write(const struct vs_refusal *refusal, enum vs_protocol protocol, char buf[VS_REFUSAL_MAX]) {
    struct vs_out out = {.at = buf, .size = VS_REFUSAL_MAX};
    if (protocol != VS_RESP)
        vs_http_goodbye(&out, refusal->status, refusal->text, refusal->again);
    else if (refusal->resp)
        vs_put(&out, "-", 1), vs_put_text(&out, refusal->resp), vs_put(&out, "\r\n", 2);
    return out.used;
}

void vs_refusal_send(const struct vs_refusal *refusal, enum vs_protocol protocol, int fd) {
    char text[VS_REFUSAL_MAX];
    send(fd, text, vs_refusal_write(refusal, protocol, text), MSG_DONTWAIT | MSG_NOSIGNAL);
}
