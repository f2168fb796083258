/* systemd.h -- what a service manager is told, and the sockets that it hands over: sd_notify(3) and
 * sd_listen_fds(3), spoken without their library. */
#ifndef VS_SYSTEMD_H
#define VS_SYSTEMD_H

#include "vesta.h"

/* Sends lines like "READY=1\nSTATUS=..." to $NOTIFY_SOCKET; does nothing where there is none.  A socket that cannot be
 * told is one log line until that changes, never a failure.  Threads: any. */
void vs_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How often the manager wants to hear WATCHDOG=1 at the least, in microseconds; 0: never. */
int64_t vs_watchdog_us(void);

#define VS_HANDED_MAX 24
#define VS_HANDED_NAME_MAX 256
#define VS_HANDED_ADDRESS_MAX 128
struct vs_handed {
    int fd;                              /* listening, close-on-exec */
    char name[VS_HANDED_NAME_MAX];       /* "" for none */
    char address[VS_HANDED_ADDRESS_MAX]; /* as serve's flags write it: "[::1]:8088", "unix:/run/x" */
};

/* Takes the sockets that $LISTEN_FDS says were handed over to this process, and the variables out of the environment.
 * Returns how many.  Errors: VESTA_EIO: a descriptor that is no listening stream socket, more than `max`; the text
 * names it.  Call it before anything else opens a file. */
int vs_handed_sockets(struct vs_handed *out, int max, struct vesta_error *err);

#endif
