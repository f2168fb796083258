/* file.c -- replaces the file of clients: locks its folder, writes a new file and renames it. */
#include "access/file.h"
#include "base/error.h"
#include "os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

struct access_file {
    char bytes[VS_ACCOUNTS_BYTES_MAX + VS_ACCOUNT_LINE_MAX + 2];
    size_t length;
};

struct access_place {
    int folder;
    char name[256], fresh[272]; /* names of the file and the new file in the folder */
    struct stat st, was;        /* st: the folder.  was: the file (st_nlink is 0 if it does not exist) */
};

/* ------------------------------------------------------------------ text */

static int access_read_file(const struct access_place *place, struct access_file *text, struct vesta_error *err) {
    int fd = openat(place->folder, place->name, O_RDONLY | O_CLOEXEC);
    text->length = 0;
    if (fd < 0) return errno == ENOENT ? VESTA_OK : vs_fail(err, VESTA_EIO, "cannot read it: %s", strerror(errno));
    ssize_t got = 1;
    while (got != 0 && text->length <= VS_ACCOUNTS_BYTES_MAX) {
        got = read(fd, text->bytes + text->length, VS_ACCOUNTS_BYTES_MAX + 1 - text->length);
        if (got < 0 && errno != EINTR) break;
        if (got > 0) text->length += (size_t)got;
    }
    close(fd);
    if (got < 0) return vs_fail(err, VESTA_EIO, "cannot read it: %s", strerror(errno));
    if (text->length <= VS_ACCOUNTS_BYTES_MAX) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "it has more than %d bytes", VS_ACCOUNTS_BYTES_MAX);
}

/* Returns the line of a client, with its line end.  If there is no such line, returns an empty slice at the end. */
static struct vs_slice access_line_of(const struct access_file *text, const char *name) {
    const char *at = text->bytes, *end = at + text->length;
    size_t length = strlen(name);
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at)), *word = at;
        stop = stop ? stop + 1 : end;
        while (word < stop && (*word == ' ' || *word == '\t'))
            word++;
        size_t left = (size_t)(stop - word);
        if (left >= length && memcmp(word, name, length) == 0 && (left == length || strchr(" \t\r\n", word[length])))
            return (struct vs_slice){at, (size_t)(stop - at)};
        at = stop;
    }
    return (struct vs_slice){end, 0};
}

static void access_replace_line(struct access_file *text, struct vs_slice old, const char *line) {
    size_t at = (size_t)(old.at - text->bytes), behind = at + old.length, length = strlen(line);
    bool has_end = at == 0 || text->bytes[at - 1] == '\n';
    /* appends a line end to the last line if it has none */
    if (length > 0 && !has_end) text->bytes[at++] = '\n', behind = text->length = at;
    memmove(text->bytes + at + length, text->bytes + behind, text->length - behind);
    memcpy(text->bytes + at, line, length);
    text->length = text->length - (behind - at) + length;
}

/* ------------------------------------------------------------------ the file */

static int access_open_place(const char *path, struct access_place *place, struct vesta_error *err) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char folder[4096] = ".";
    if (slash) snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (!*name || strlen(name) >= sizeof place->name) return vs_fail(err, VESTA_EOPTION, "is not the path of a file");
    strcpy(place->name, name);
    snprintf(place->fresh, sizeof place->fresh, ".%s.new", name);
    place->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place->folder < 0) return vs_fail(err, VESTA_EIO, "cannot open its folder: %s", strerror(errno));
    if (flock(place->folder, LOCK_EX) != 0 || fstat(place->folder, &place->st) != 0) {
        close(place->folder);
        return vs_fail(err, VESTA_EIO, "cannot lock its folder: %s", strerror(errno));
    }
    if (fstatat(place->folder, place->name, &place->was, AT_SYMLINK_NOFOLLOW) != 0) place->was.st_nlink = 0;
    return VESTA_OK;
}

/* Sets the new file's owner and mode to those of the old file, but gives other users no access.  If there is no old
 * file, only the folder's owner has access. */
static int access_own_file(const struct access_place *place, int fd) {
    if (!place->was.st_nlink) return vs_own_file(fd, &place->st, -1);
    bool is_ours = place->was.st_uid == geteuid() && place->was.st_gid == getegid();
    if (!is_ours && fchown(fd, place->was.st_uid, place->was.st_gid) != 0) return -1;
    return fchmod(fd, place->was.st_mode & 0640);
}

static bool access_write_file(int fd, const char *at, size_t length) {
    while (length > 0) {
        ssize_t put = write(fd, at, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        at += put, length -= (size_t)put;
    }
    return true;
}

static int access_put_file(const struct access_place *place, const struct access_file *text, struct vesta_error *err) {
    if (place->was.st_nlink && !S_ISREG(place->was.st_mode))
        return vs_fail(err, VESTA_EIO, "it is not a regular file: use the path of the file itself");
    (void)unlinkat(place->folder, place->fresh, 0); /* left by a killed process */
    int fd = openat(place->folder, place->fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool done = fd >= 0 && access_own_file(place, fd) == 0 && access_write_file(fd, text->bytes, text->length) && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0) close(fd);
    if (done && renameat(place->folder, place->fresh, place->folder, place->name) == 0 && fsync(place->folder) == 0)
        return VESTA_OK;
    if (done) why = errno;
    if (fd >= 0) (void)unlinkat(place->folder, place->fresh, 0);
    return vs_fail(err, VESTA_EIO, "cannot write it: %s", strerror(why));
}

/* ------------------------------------------------------------------ changing */

static int access_change_text(struct access_file *text, const char *name, vs_account_change *change, void *self,
                       struct vesta_error *err) {
    struct vs_accounts *accounts;
    struct vs_account will;
    struct vesta_error why;
    char line[VS_ACCOUNT_LINE_MAX + 1] = "";
    if (vs_accounts_parse(text->bytes, text->length, &accounts, &why) != VESTA_OK)
        return vs_fail(err, VESTA_EOPTION, "%s", why.text);
    const struct vs_account *was = vs_account_named(accounts, (struct vs_slice){name, strlen(name)});
    bool is_full = !was && accounts->count == VS_ACCOUNTS_MAX;
    int rc = is_full ? vs_fail(err, VESTA_EOPTION, "it has %d clients already", VS_ACCOUNTS_MAX)
                     : change(self, was, line, err);
    vs_accounts_let(accounts);
    if (rc == VESTA_OK && *line) rc = vs_account_parse((struct vs_slice){line, strlen(line)}, &will, err);
    if (rc != VESTA_OK) return rc;
    if (*line) strcat((char *)vs_account_write(&will, line), "\n");
    access_replace_line(text, access_line_of(text, name), line);
    return vs_accounts_parse(text->bytes, text->length, &accounts, err) == VESTA_OK ? vs_accounts_let(accounts),
           VESTA_OK                                                                 : err->code;
}

int vs_accounts_change(const char *path, const char *name, vs_account_change *change, void *self,
                       struct vesta_error *err) {
    struct access_file *text = malloc(sizeof *text);
    struct access_place place;
    struct vesta_error why = {.text = ""};
    if (!text) return vs_fail(err, VESTA_ENOMEM, "no memory for clients");
    int rc = access_open_place(path, &place, &why);
    if (rc == VESTA_OK) {
        rc = access_read_file(&place, text, &why);
        if (rc == VESTA_OK) rc = access_change_text(text, name, change, self, &why);
        if (rc == VESTA_OK) rc = access_put_file(&place, text, &why);
        close(place.folder);
    }
    free(text);
    return rc == VESTA_OK ? rc : vs_fail(err, rc, "%.150s: %s", path, why.text);
}
