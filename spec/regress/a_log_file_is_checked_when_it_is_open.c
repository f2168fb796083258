/* Regression: a log file was checked by name before it was opened. In between, another user could create the file,
 * or link the name to a file of root, and the log was written there. In this spec, `between` runs once after the
 * next lstat, and acts between the check and the open. */
#include "check.h"
#include "crowd.h"
#include "log/writer.h"

#include <fcntl.h>
#include <stdlib.h>

#define OTHER 65534

static void (*between)(void);
static char path[200], fresh[200];

int __real_lstat(const char *name, struct stat *st);
int __wrap_lstat(const char *name, struct stat *st);
int __wrap_lstat(const char *name, struct stat *st) {
    int rc = __real_lstat(name, st), why = errno;
    void (*event)(void) = between;
    between = NULL;
    if (event) event();
    errno = why;
    return rc;
}

/* ------------------------------------------------------------------ files */

static void create(const char *name, uid_t owner) {
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    CHECK(fd >= 0 && fchown(fd, owner, owner) == 0);
    close(fd);
}

static void begin_in(mode_t mode, uid_t owner) {
    empty_folder();
    CHECK(mkdir(in_folder("logs"), 0700) == 0 && chmod(in_folder("logs"), mode) == 0 && chown(in_folder("logs"), owner, owner) == 0);
    snprintf(path, sizeof path, "%s", in_folder("logs/log"));
    snprintf(fresh, sizeof fresh, "%s", in_folder("logs/fresh"));
}

static void is_opened(uid_t owner) {
    struct vesta_error err = {.text = ""};
    struct stat st = {0}, named = {0};
    int fd = -1;
    if (vs_log_open_file("log file", path, &fd, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    CHECK(fstat(fd, &st) == 0 && stat(path, &named) == 0 && st.st_ino == named.st_ino && st.st_uid == owner);
    close(fd);
}

static void is_rejected(const char *why) {
    struct vesta_error err = {.text = ""};
    int fd = -1;
    CHECK_EQ_I64(vs_log_open_file("log file", path, &fd, &err), VESTA_EIO);
    CHECK_EQ_I64(fd, -1);
    CHECK_HAS(err.text, why);
    CHECK_HAS(err.text, path);
}

static void other_creates(void) {
    create(path, OTHER);
}

static void rotation_creates(void) {
    create(path, 0);
}

static void other_replaces(void) {
    create(fresh, OTHER);
    CHECK(rename(fresh, path) == 0);
}

static void rotation_moves(void) {
    CHECK(rename(path, fresh) == 0);
}

/* ------------------------------------------------------------------ claims */

static void what_is_opened_is_checked(void) {
    begin_in(01777, 0);
    between = other_creates;
    is_rejected("is a file of user 65534");
    begin_in(01777, 0);
    create(path, 0);
    between = other_replaces;
    is_rejected("is a file of user 65534");
    begin_in(0755, OTHER); /* The file's owner allows the link. */
    between = other_creates;
    is_opened(OTHER);
}

static void rotation_is_no_error(void) {
    begin_in(01777, 0);
    between = rotation_creates;
    is_opened(0);
    between = rotation_moves;
    is_opened(0);
}

static void a_link_by_others_is_rejected(void) {
    begin_in(01777, 0);
    create(in_folder("shadow"), 0);
    CHECK(link(in_folder("shadow"), path) == 0);
    is_rejected("is a hard link");
    begin_in(01777, 0);
    create(path, 0);
    CHECK(symlink(path, in_folder("symlink")) == 0 && unlink(path) == 0 && link(in_folder("symlink"), path) == 0);
    is_rejected("is a hard link");
    begin_in(0755, OTHER);
    create(in_folder("shadow"), 0);
    CHECK(link(in_folder("shadow"), path) == 0);
    is_rejected("is a hard link");
}

static void a_backup_is_no_error(void) {
    begin_in(0755, 0);
    create(path, 0);
    CHECK(link(path, in_folder("backup")) == 0);
    is_opened(0);
    begin_in(0755, OTHER);
    create(path, OTHER);
    CHECK(link(path, in_folder("backup")) == 0);
    is_opened(OTHER);
}

static const struct check_case cases[] = {
    {"a log file that another user creates after the check is rejected", what_is_opened_is_checked},
    {"a log that is created or moved away during the open is opened", rotation_is_no_error},
    {"a hard link that another user may have created is rejected", a_link_by_others_is_rejected},
    {"hard-linked backups are accepted if only the files' owner can create links", a_backup_is_no_error},
};

int main(int argc, char **argv) {
    if (geteuid() != 0) return printf("    skipped: only root can make another user's files\n"), 0;
    return run_in_folder(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : NULL);
}
