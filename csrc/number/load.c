/* load.c -- loads a time zone by name from the files of Debian's tzdata, and applies the process's TZ. */
#include "number/zone.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "/usr/share/zoneinfo"

/* Returns whether a name is a relative path that cannot leave the folder: dots are not allowed. */
static bool zone_is_name(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
    size_t length = strnlen(name, VS_ZONE_NAME_MAX);
    return length > 0 && length < VS_ZONE_NAME_MAX && *name != '/' && strspn(name, letters) == length;
}

/* Reads a file.  If the name is a folder, such as Europe, read(2) fails with EISDIR. */
static ssize_t zone_read_all(int fd, unsigned char *buf, size_t room) {
    size_t used = 0;
    ssize_t got;
    while ((got = read(fd, buf + used, room - used)) > 0)
        used += (size_t)got;
    return got < 0 ? -1 : (ssize_t)used;
}

/* Names that users often try although they do not exist, and the names to use. */
static const struct {
    const char *name, *meant;
} not_zones[] = {{"Asia/Beijing", "Asia/Shanghai"},
                 {"Asia/Peking", "Asia/Shanghai"},
                 {"Asia/Shenzhen", "Asia/Shanghai"},
                 {"Asia/Mumbai", "Asia/Kolkata"},
                 {"CST", "Asia/Shanghai or America/Chicago"},
                 {"IST", "Asia/Kolkata, Europe/Dublin or Asia/Jerusalem"},
                 {"PST", "America/Los_Angeles"},
                 {"BST", "Europe/London"},
                 {"JST", "Asia/Tokyo"}};

static int no_zone(const char *name, struct vesta_error *err) {
    for (size_t i = 0; i < sizeof not_zones / sizeof *not_zones; i++)
        if (strcmp(name, not_zones[i].name) == 0)
            return vs_fail(err, VESTA_EOPTION, "there is no time zone %s: write %s", name, not_zones[i].meant);
    return vs_fail(err, VESTA_EOPTION,
                   "there is no time zone %s: " FOLDER " has their names (Debian's tzdata), such as Asia/Shanghai",
                   name);
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
    if (why == ENOENT || why == EISDIR || why == ENOTDIR) return no_zone(name, err);
    return vs_fail(err, VESTA_EIO, "%s: %s", path, strerror(why));
}

int vs_zone_load(const char *name, struct vs_zone_file *out, struct vesta_error *err) {
    bool is_java;
    if (vs_zone_read_name(name, &out->zone, &is_java)) return VESTA_OK;
    if (!zone_is_name(name))
        return vs_fail(err, VESTA_EOPTION, "'%s' is not the name of a time zone, such as Europe/Berlin or UTC",
                       VS_QUOTE(name, strnlen(name, VS_ZONE_NAME_MAX)));
    return zone_load(name, out, err);
}

/* Sets TZ to the POSIX rule for a zone with a Java name, such as <+0800>-8:00. */
static int zone_set_rule(const struct vs_zone *zone, struct vesta_error *err) {
    char rule[32];
    int minutes = (int)(zone->rule.winter_s / 60), far = abs(minutes);
    char sign = minutes < 0 ? '-' : '+', back = minutes < 0 ? '+' : '-';
    snprintf(rule, sizeof rule, "<%c%02d%02d>%c%d:%02d", sign, far / 60, far % 60, back, far / 60, far % 60);
    return setenv("TZ", rule, 1) == 0 ? VESTA_OK : vs_fail(err, VESTA_ENOMEM, "no memory");
}

int vs_zone_adopt(struct vesta_error *err) {
    const char *name = getenv("TZ");
    struct vesta_error why;
    bool is_java = false;
    if (!name || !*name || *name == '/') return tzset(), VESTA_OK;
    if (*name == ':') name++;
    struct vs_zone_file *file = malloc(sizeof *file);
    if (!file) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = vs_zone_read_name(name, &file->zone, &is_java) ? VESTA_OK : vs_zone_load(name, file, &why);
    if (rc != VESTA_OK) rc = vs_fail(err, rc, "TZ is %s: %s", name, why.text);
    if (rc == VESTA_OK && is_java) rc = zone_set_rule(&file->zone, err);
    free(file);
    tzset();
    return rc;
}
