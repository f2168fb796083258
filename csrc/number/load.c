/* zone.c -- the file of a named time zone, as Debian's tzdata has it. */
#include "number/zone.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "/usr/share/zoneinfo"

/* A relative path without a way out of the folder. */
static bool zone_is_name(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
    size_t length = strnlen(name, VS_ZONE_NAME_MAX);
    return length > 0 && length < VS_ZONE_NAME_MAX && *name != '/' && strspn(name, letters) == length;
}

/* read(2) fails with EISDIR where it is Europe, not Europe/Berlin. */
static ssize_t zone_read_all(int fd, unsigned char *buf, size_t room) {
    size_t used = 0;
    ssize_t got;
    while ((got = read(fd, buf + used, room - used)) > 0)
        used += (size_t)got;
    return got < 0 ? -1 : (ssize_t)used;
}

static int zone_load(const char *name, struct vs_zone_file *out, struct vesta_error *err) {
    char path[sizeof FOLDER + 1 + VS_ZONE_NAME_MAX];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : zone_read_all(fd, out->bytes, sizeof out->bytes);
    int why = errno;
    if (fd >= 0) close(fd);
    if (got >= 0) return vs_zone_read(out->bytes, (size_t)got, &out->zone, err);
    if (why == ENOENT && access(FOLDER, F_OK) != 0)
        return vs_fail(err, VESTA_EIO, "no time zones are installed here, so %s is not known: install tzdata", name);
    if (why == ENOENT || why == EISDIR || why == ENOTDIR)
        return vs_fail(err, VESTA_EOPTION, "there is no time zone %s: " FOLDER " has their names (Debian's tzdata)",
                       name);
    return vs_fail(err, VESTA_EIO, "%s: %s", path, strerror(why));
}

int vs_zone_load(const char *name, struct vs_zone_file *out, struct vesta_error *err) {
    if (!zone_is_name(name))
        return vs_fail(err, VESTA_EOPTION, "'%s' is no name of a time zone, such as Europe/Berlin or UTC",
                       VS_QUOTE(name, strnlen(name, VS_ZONE_NAME_MAX)));
    if (strcmp(name, "UTC") != 0) return zone_load(name, out, err);
    out->zone = vs_zone_utc;
    return VESTA_OK;
}
