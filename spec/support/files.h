/* files.h -- generator files and maps that a spec makes: modified, rejected, opened as another user. */
#ifndef SPEC_FILES_H
#define SPEC_FILES_H

#include "crowd.h"

#include "mapping/mapping.h"

#include <fcntl.h>
#include <grp.h>

#define NOBODY 65534

__attribute__((unused)) static struct vs_header header_of(void) {
    struct vs_header header = {.pacing = VESTA_PACING_CLOCK, .group = -1, .worker = 7, .has_worker = 1};
    struct vesta_layout layout = parsed(FAST);
    header.fingerprint = layout.fingerprint;
    vesta_layout_text(&layout, header.layout);
    snprintf(header.namespace_, sizeof header.namespace_, "default");
    CHECK(vs_maps_dir(header.maps) == 0);
    return header;
}

__attribute__((unused)) static int make(const char *path, struct vs_anchor *out, struct vesta_error *err) {
    struct vs_header header = header_of();
    snprintf(header.path, sizeof header.path, "%s", path);
    memset(err, 0, sizeof *err);
    return vs_anchor_make(path, &header, out, err);
}

/* Makes a valid file in an empty folder. */
__attribute__((unused)) static struct vs_anchor made(const char *path) {
    struct vs_anchor anchor;
    struct vesta_error err;
    empty_folder();
    if (make(path, &anchor, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return anchor;
}

__attribute__((unused)) static int look_at(const char *path, struct vesta_error *err) {
    struct vs_anchor anchor;
    bool found;
    memset(err, 0, sizeof *err);
    int rc = vs_anchor_read(path, -1, &found, &anchor, err);
    CHECK(found == (rc == VESTA_OK));
    return rc;
}

__attribute__((unused)) static uint64_t inode_of(const char *path) {
    struct stat st = {.st_ino = 0};
    CHECK(lstat(path, &st) == 0);
    return st.st_ino;
}

__attribute__((unused)) static void refuses(const char *path, const char *because) {
    struct vesta_error err;
    struct vs_anchor out;
    CHECK(look_at(path, &err) == VESTA_EIO);
    CHECK_HAS(err.text, because);
    CHECK_HAS(err.text, path);
    /* it is not replaced either, because it may belong to another program */
    CHECK(make(path, &out, &err) == VESTA_EIO);
    CHECK_HAS(err.text, because);
}

__attribute__((unused)) static void patch(const char *path, size_t at, const void *bytes, size_t length) {
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, bytes, length, (off_t)at) == (ssize_t)length);
    close(fd);
}

/* Runs in a child as user nobody, who is also in that group, because root is never denied access. */
__attribute__((unused)) static void as_member(gid_t group, void (*run)(uint64_t)) {
    pid_t pid = fork();
    if (pid == 0) {
        atomic_store(&check_failures, 0);
        if (setgroups(1, &group) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
            setresuid(NOBODY, NOBODY, NOBODY) == 0)
            run(0);
        else if (geteuid() == 0)
            CHECK_FAIL("cannot become nobody");
        if (atomic_load(&check_failures)) fprintf(stderr, "%s\n", check_first);
        _exit(atomic_load(&check_failures) ? 9 : 0);
    }
    reap(pid, false);
}

__attribute__((unused)) static void as_nobody(void (*run)(uint64_t)) {
    as_member(NOBODY, run);
}

#endif
