/* constant.h -- shared by the other servers: a socket to listen on, and the body of every reply. */
#ifndef CONSTANT_H
#define CONSTANT_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

#define BODY "2319542600899494910"

static int listening(const char *port) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (void *)&in, sizeof in) != 0 || listen(fd, 4096) != 0) exit(1);
    return fd;
}

#endif
