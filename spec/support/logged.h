/* logged.h -- a log in the spec's own folder, with a manual clock, and its contents. */
#ifndef SPEC_LOGGED_H
#define SPEC_LOGGED_H

#include "base/array.h"
#include "crowd.h"
#include "log/log.h"

#include <fcntl.h>

#define START_US INT64_C(1795289536045000) /* 2026-11-21T19:32:16.045Z */
#define SECOND 1000000

static _Atomic int64_t passed_us; /* since the case began */
static char text[16 << 20];

static int64_t fake_unix_us(void *clock) {
    (void)clock;
    return START_US + atomic_load(&passed_us);
}

static int64_t fake_boot_us(void *clock) {
    (void)clock;
    return 500 * SECOND + atomic_load(&passed_us);
}

static const struct vesta_clock fake_clock = {NULL, fake_unix_us, fake_boot_us, NULL};

__attribute__((unused)) static void log_to(const char *path, enum vs_log_level level, enum vs_log_format format) {
    struct vesta_error err = {.text = ""};
    const struct vs_log_opts opts = {level, format, path, &fake_clock};
    atomic_store(&passed_us, 0);
    if (vs_log_setup(&opts, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
}

/* Opens a fresh file "log" in the folder. */
__attribute__((unused)) static void begin(enum vs_log_format format) {
    vs_log_end(VS_LOG_END_MS); /* and the pending lines of the previous case */
    empty_folder();
    log_to(in_folder("log"), VS_LOG_DEBUG, format);
}

__attribute__((unused)) static const char *drained(int fd) {
    ssize_t got, used = 0;
    while ((got = read(fd, text + used, sizeof text - 1 - (size_t)used)) > 0)
        used += got;
    text[used] = '\0';
    CHECK(used < (ssize_t)sizeof text - 1); /* otherwise the rest was not read */
    return text;
}

__attribute__((unused)) static const char *logged_in(const char *name) {
    int fd = open(in_folder(name), O_RDONLY);
    CHECK(fd >= 0);
    drained(fd);
    close(fd);
    return text;
}

__attribute__((unused)) static const char *logged(void) {
    return logged_in("log");
}

__attribute__((unused)) static size_t count_of(const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* Checks a line of JSON: only strings, colons and commas, and no control characters. */
__attribute__((unused)) static bool is_sound(const char *line, size_t length) {
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f) return false;
        if (c == '"')
            quoted = !quoted;
        else if (quoted && c == '\\')
            i++;
        else if (!quoted && !strchr("{},:0123456789true", c))
            return false;
    }
    return !quoted && line[0] == '{' && line[length - 1] == '}';
}

#endif
