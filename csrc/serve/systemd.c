/* systemd.c -- sd_notify(3) and sd_listen_fds(3) without their library: datagrams to a socket, and descriptors from 3
 * on.  Contains no server code. */
#include "serve/systemd.h"

#include "base/error.h"
#include "base/slice.h"
#include "log/log.h"
#include "os/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NOTICE_BYTES 1024
#define PATIENCE_MS 1000 /* maximum delay of a call if the manager does not read */
#define FIRST_FD 3

/* ------------------------------------------------------------------ notifying */

/* Sends a datagram.  Returns 0, or the errno of the failure. */
static int send_to(const char *path, const char *text, size_t length) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval patience = {PATIENCE_MS / 1000, PATIENCE_MS % 1000 * 1000};
    size_t path_length = strlen(path);
    if (path_length >= sizeof to.sun_path) return ENAMETOOLONG;
    if (*path != '/' && *path != '@') return EAFNOSUPPORT;
    memcpy(to.sun_path, path, path_length);
    /* An abstract name begins with a NUL and is not NUL-terminated, so only its length marks its end. */
    if (*path == '@') to.sun_path[0] = '\0';
    socklen_t to_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path_length);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int rc = sendto(fd, text, length, MSG_NOSIGNAL, (struct sockaddr *)&to, to_length) < 0 ? errno : 0;
    close(fd);
    return rc;
}

/* Logs the first of several consecutive failures, and the success that follows.  The watchdog is notified every few
 * seconds, so logging each failure would produce too many lines. */
static void tell_change(const char *path, const char *text, int rc) {
    static atomic_int before;
    if (atomic_exchange(&before, rc) == rc) return;
    if (rc != 0)
        vs_log(VS_LOG_WARN, "cannot notify the service manager: check NOTIFY_SOCKET", "socket", path, "error",
               strerror(rc), "notice", text, NULL);
    else
        vs_log(VS_LOG_INFO, "the service manager can be notified again", "socket", path, NULL);
}

void vs_notify(const char *format, ...) {
    const char *path = vs_environment("NOTIFY_SOCKET");
    char text[NOTICE_BYTES];
    va_list args;
    if (!path) return;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length >= (int)sizeof text) length = (int)sizeof text - 1;
    tell_change(path, text, send_to(path, text, (size_t)length));
}

/* Returns a number from the environment, or -1 if the variable is missing or not a number. */
static int64_t number_of(const char *name) {
    const char *text = vs_environment(name);
    char *end;
    if (!text || *text < '0' || *text > '9') return -1;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    return *end || errno ? -1 : number;
}

int64_t vs_watchdog_us(void) {
    int64_t us = number_of("WATCHDOG_USEC"), pid = number_of("WATCHDOG_PID");
    bool mine = !vs_environment("WATCHDOG_PID") || pid == getpid();
    return mine && us > 0 ? us : 0;
}

/* ------------------------------------------------------------------ sockets */

/* Removes the first name from the colon-separated list $LISTEN_FDNAMES. */
static void take_name(const char **names, char *name) {
    struct vs_slice all = {*names, strlen(*names)}, first = all, rest = {"", 0};
    vs_slice_split(all, ':', &first, &rest);
    snprintf(name, VS_HANDED_NAME_MAX, "%.*s", (int)first.length, first.at);
    *names = rest.at;
}

#define SHOWN(name) VS_QUOTE((name), strlen(name))

static int check_socket(int fd, const char *name, struct vesta_error *err) {
    int type = 0, family = 0, listens = 0;
    socklen_t length = sizeof type;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0)
        return vs_fail(err, VESTA_EIO, "descriptor %d ('%s'), handed over by LISTEN_FDS, is not a socket: %s", fd,
                       SHOWN(name), strerror(errno));
    if (family != AF_INET && family != AF_INET6 && family != AF_UNIX)
        return vs_fail(err, VESTA_EIO, "socket %d ('%s') must be an internet socket or a unix socket", fd,
                       SHOWN(name));
    if (type != SOCK_STREAM)
        return vs_fail(err, VESTA_EIO, "socket %d ('%s') is not a stream socket: use ListenStream= in the .socket unit",
                       fd, SHOWN(name));
    if (!listens)
        return vs_fail(err, VESTA_EIO, "socket %d ('%s') does not listen: use Accept=no in the .socket unit", fd,
                       SHOWN(name));
    return VESTA_OK;
}

static void write_address(int fd, char *buf) {
    union {
        struct sockaddr base;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
    } any = {.local = {.sun_path = ""}};
    socklen_t length = sizeof any;
    char host[INET6_ADDRSTRLEN];
    (void)getsockname(fd, &any.base, &length); /* can fail only for descriptors that were rejected before */
    if (any.base.sa_family == AF_UNIX) {
        bool abstract = any.local.sun_path[0] == '\0';
        snprintf(buf, VS_HANDED_ADDRESS_MAX, "unix:%s%.*s", abstract ? "@" : "", (int)sizeof any.local.sun_path - 1,
                 any.local.sun_path + abstract);
    } else if (any.base.sa_family == AF_INET) {
        inet_ntop(AF_INET, &any.v4.sin_addr, host, sizeof host);
        snprintf(buf, VS_HANDED_ADDRESS_MAX, "%s:%d", host, ntohs(any.v4.sin_port));
    } else {
        inet_ntop(AF_INET6, &any.v6.sin6_addr, host, sizeof host);
        snprintf(buf, VS_HANDED_ADDRESS_MAX, "[%s]:%d", host, ntohs(any.v6.sin6_port));
    }
}

/* Returns how many sockets this process inherited.  Errors: VESTA_EIO if there are more than `max` sockets, or the
 * variable is not a number. */
static int count_handed(int max, struct vesta_error *err) {
    const char *text = vs_environment("LISTEN_FDS");
    int64_t count = number_of("LISTEN_FDS");
    if (!text || number_of("LISTEN_PID") != getpid()) return 0; /* another process inherited them */
    if (count < 0 || count > max)
        return vs_fail(err, VESTA_EIO, "LISTEN_FDS is '%s', which must be a number of sockets from 0 to %d",
                       VS_QUOTE(text, strlen(text)), max);
    return (int)count;
}

int vs_handed_sockets(struct vs_handed *out, int max, struct vesta_error *err) {
    int count = count_handed(max, err), rc = count < 0 ? count : VESTA_OK;
    const char *names = vs_environment("LISTEN_FDNAMES");
    if (!names) names = "";
    for (int i = 0; i < count && rc == VESTA_OK; i++) {
        out[i].fd = FIRST_FD + i;
        take_name(&names, out[i].name);
        rc = check_socket(out[i].fd, out[i].name, err);
        if (rc == VESTA_OK) write_address(out[i].fd, out[i].address);
    }
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDNAMES");
    return rc == VESTA_OK ? count : rc;
}
