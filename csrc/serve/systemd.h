/* systemd.h -- notifies a service manager and takes over sockets from it, as sd_notify(3) and sd_listen_fds(3) do,
 * without their library. */
#ifndef VS_SYSTEMD_H
#define VS_SYSTEMD_H

#include "vesta.h"

/* Sends lines like "READY=1\nSTATUS=..." to $NOTIFY_SOCKET, if it is set.  Logs only the first of several consecutive
 * failures.  Threads: any. */
void vs_notify(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns the longest interval of WATCHDOG=1 that the manager accepts, in microseconds (0: no watchdog). */
int64_t vs_watchdog_us(void);

#define VS_HANDED_MAX 24
#define VS_HANDED_NAME_MAX 256
#define VS_HANDED_ADDRESS_MAX 128
struct vs_handed {
    int fd;                              /* a listening socket, which is close-on-exec */
    char name[VS_HANDED_NAME_MAX];       /* "" if the socket has no name */
    char address[VS_HANDED_ADDRESS_MAX]; /* in the form of serve's flags: "[::1]:8088", "unix:/run/x" */
};

/* Takes the sockets that this process inherits through $LISTEN_FDS, and removes the variables from the environment.
 * Returns the number of sockets.  Call it before anything else opens a file.  Errors: VESTA_EIO if a descriptor is not
 * a listening stream socket, or if there are more than `max` sockets.  The message names the descriptor. */
int vs_handed_sockets(struct vs_handed *out, int max, struct vesta_error *err);

#endif
