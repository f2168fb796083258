/* secret.c -- see secret.h. */
#include "os/secret.h"
#include "base/error.h"
#include "base/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SECRET_FILE_BYTES_MAX 4096 /* further bytes of the file are not read */

/* Reads until the end of the file, because a read from a pipe may return only a part. */
static ssize_t secret_read_all(int fd, char *buf, size_t size) {
    size_t length = 0;
    ssize_t got = 0;
    while (length < size) {
        got = read(fd, buf + length, size - length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        length += (size_t)got;
    }
    return got < 0 ? -1 : (ssize_t)length;
}

/* Returns the first line of a text.  Sets *more to whether another line follows. */
static struct vs_slice secret_line(struct vs_slice text, bool *more) {
    struct vs_slice line = text, rest = {"", 0};
    vs_slice_split(text, '\n', &line, &rest);
    if (line.length > 0 && line.at[line.length - 1] == '\r') line.length--;
    *more = rest.length > 0;
    return line;
}

int vs_secret_of_file(const struct vs_secret_file *file, char *buf, size_t size, struct vesta_error *err) {
    char bytes[SECRET_FILE_BYTES_MAX];
    bool more;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC), why, rc = VESTA_OK;
    ssize_t got = fd < 0 ? -1 : secret_read_all(fd, bytes, sizeof bytes);
    why = errno;
    if (fd >= 0) close(fd);
    if (got < 0) return vs_fail(err, VESTA_EIO, "cannot read %s %.120s: %s", file->what, file->path, strerror(why));
    struct vs_slice line = secret_line(vs_slice_without_mark((struct vs_slice){bytes, (size_t)got}), &more);
    bool is_one = line.length > 0 && line.length < size && !memchr(line.at, '\r', line.length) &&
                  !memchr(line.at, '\0', line.length);
    if (is_one && !(file->is_alone && more)) {
        memcpy(buf, line.at, line.length);
        buf[line.length] = '\0';
    } else {
        rc = vs_fail(err, VESTA_EOPTION, "%s %.120s: %s of 1 to %zu bytes", file->what, file->path,
                     file->is_alone ? "the file must have only one line, a secret" : "its first line must be a secret", size - 1);
    }
    explicit_bzero(bytes, sizeof bytes);
    return rc;
}
