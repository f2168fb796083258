/* constant.c -- a server that parses nothing and answers each read with the same id, in the Redis protocol. It shows
 * the cost of the system calls that every server needs.
 *
 *     bench_constant HOST:PORT | unix:PATH */
#include "bench.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ROUND_MAX 256

static const char reply[] = "$19\r\n2319542600899494910\r\n";

static int listening(const char *address) {
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool is_local = strncmp(address, "unix:", 5) == 0;
    int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM, 0), rc;
    if (is_local) {
        snprintf(local.sun_path, sizeof local.sun_path, "%s", address + 5);
        rc = bind(fd, (void *)&local, sizeof local);
    } else {
        in.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
        rc = bind(fd, (void *)&in, sizeof in);
    }
    if (rc != 0 || listen(fd, 1024) != 0) bench_die(address);
    return fd;
}

static void watch(int epoll, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) bench_die("epoll");
}

static void let_in(int epoll, int listener) {
    int fd = accept(listener, NULL, NULL), one = 1;
    if (fd < 0) bench_die("accept");
    setsockopt(fd, 6 /* TCP */, 1 /* NODELAY */, &one, sizeof one);
    watch(epoll, fd, EPOLLIN | EPOLLRDHUP | (uint32_t)EPOLLET);
}

/* Like our server: edge-triggered events, and all reads of a round before its replies. */
static void serve_round(int epoll, int listener) {
    static char in[65536];
    struct epoll_event events[ROUND_MAX];
    int asked[ROUND_MAX], count = 0, n = epoll_wait(epoll, events, ROUND_MAX, -1);
    for (int i = 0; i < n; i++) {
        int fd = events[i].data.fd;
        if (fd == listener) {
            let_in(epoll, listener);
            continue;
        }
        ssize_t got = recv(fd, in, sizeof in, MSG_DONTWAIT);
        if (got > 0) asked[count++] = fd;
        if (got == 0) close(fd);
    }
    for (int i = 0; i < count; i++)
        send(asked[i], reply, sizeof reply - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int main(int argc, char **argv) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (argc != 2 || epoll < 0 || !strchr(argv[1], ':')) {
        fputs("usage: bench_constant HOST:PORT | unix:PATH (see constant.c)\n", stderr);
        return 2;
    }
    int listener = listening(argv[1]);
    watch(epoll, listener, EPOLLIN);
    for (;;)
        serve_round(epoll, listener);
}
