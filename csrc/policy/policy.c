/* policy.c -- the source texts of policies, from files and from the program itself. */
#include "policy/policy.h"
#include "policy/shipped.h"

#include "base/error.h"
#include "base/nearest.h"
#include "base/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SHOWN_MAX 200

/* ------------------------------------------------------------------ what ships */

static const char helpers[] = "helpers"; /* not a policy, but a module among the globals of every policy */

const char *vs_policy_shipped(int i) {
    for (const struct vs_shipped *at = vs_shipped; at->name; at++)
        if (strcmp(at->name, helpers) != 0 && i-- == 0) return at->name;
    return NULL;
}

static int policy_unknown(const char *name, struct vesta_error *err) {
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; vs_policy_shipped(i) && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", vs_policy_shipped(i));
    char hint[VS_HINT_MAX];
    return vs_fail(err, VESTA_ENAME, "there is no policy '%s': use one of %s, or a file (./NAME.lua)%s",
                   VS_QUOTE(name, strlen(name)), names, vs_nearest_hint(name, strlen(name), names, hint));
}

/* ------------------------------------------------------------------ finding a policy */

/* Reads only regular files, because a device or a pipe could block for ever. */
int vs_source_read(const struct vs_source *source, char *buf, size_t size, size_t *length, struct vesta_error *err) {
    const char *what = source->what;
    char shown[PATH_SHOWN_MAX];
    int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    ssize_t got = 0;
    int error = errno;
    vs_calm(shown, sizeof shown, source->path, strlen(source->path));
    if (fd < 0) return vs_fail(err, VESTA_EIO, "cannot open %s %s: %s", what, shown, strerror(error));
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    for (*length = 0; regular && *length < size; *length += (size_t)got)
        if ((got = read(fd, buf + *length, size - *length)) <= 0) break;
    error = errno;
    close(fd);
    if (!regular) return vs_fail(err, VESTA_EIO, "%s %s is not a regular file", what, shown);
    if (got < 0) return vs_fail(err, VESTA_EIO, "cannot read %s %s: %s", what, shown, strerror(error));
    struct vs_slice text = vs_slice_without_mark((struct vs_slice){buf, *length});
    memmove(buf, text.at, text.length);
    *length = text.length;
    return VESTA_OK;
}

/* Copies a string to `at`, sets *out to the copy, and returns its end.  If `text` is NULL, sets *out to NULL. */
static char *policy_copy_text(const char *text, char *at, const char **out) {
    *out = text ? strcpy(at, text) : NULL;
    return text ? at + strlen(text) + 1 : at;
}

static size_t policy_size_of(const char *text) {
    return text ? strlen(text) + 1 : 0;
}

/* Copies all strings into one block of memory, which starts with the chunk. */
int vs_policy_text_copy(const struct vs_policy_text *from, struct vs_policy_text *out, struct vesta_error *err) {
    char *at = malloc(policy_size_of(from->chunk) + policy_size_of(from->options) + policy_size_of(from->name) +
                      policy_size_of(from->env) + from->length);
    if (!at) return vs_fail(err, VESTA_ENOMEM, "no memory");
    at = policy_copy_text(from->chunk, at, &out->chunk);
    at = policy_copy_text(from->options, at, &out->options);
    at = policy_copy_text(from->name, at, &out->name);
    at = policy_copy_text(from->env, at, &out->env);
    out->text = memcpy(at, from->text, from->length);
    out->length = from->length;
    return VESTA_OK;
}

void vs_policy_text_free(struct vs_policy_text *text) {
    free((char *)text->chunk);
    *text = (struct vs_policy_text){0};
}

int vs_policy_grant(struct vs_policy_text *text, const char *env, struct vesta_error *err) {
    struct vs_policy_text granted = *text, copy;
    granted.env = env;
    int rc = vs_policy_text_copy(&granted, &copy, err);
    if (rc != VESTA_OK) return rc;
    vs_policy_text_free(text);
    *text = copy;
    return VESTA_OK;
}

static int policy_read_file(const char *path, const char *options, struct vs_policy_text *out,
                            struct vesta_error *err) {
    char chunk[PATH_MAX + 1];
    size_t length, size = VS_SOURCE_BYTES_MAX + 1; /* one extra byte, to detect a file that is too long */
    if (snprintf(chunk, sizeof chunk, "@%s", path) >= (int)sizeof chunk)
        return vs_fail(err, VESTA_EIO, "the policy's path is too long: %.200s...", path);
    char *text = malloc(size);
    if (!text) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = vs_source_read(&(struct vs_source){"the policy", path}, text, size, &length, err);
    if (rc == VESTA_OK)
        rc = vs_policy_text_copy(
            &(struct vs_policy_text){.chunk = chunk, .text = text, .length = length, .options = options, .name = path},
            out, err);
    free(text);
    return rc;
}

int vs_policy_read(const char *name, const char *options, struct vs_policy_text *out, struct vesta_error *err) {
    size_t length = strlen(name);
    if (strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".lua") == 0))
        return policy_read_file(name, options, out, err);
    const struct vs_shipped *shipped = strcmp(name, helpers) == 0 ? NULL : vs_shipped_in(vs_shipped, name);
    if (!shipped) return policy_unknown(name, err);
    char chunk[64];
    snprintf(chunk, sizeof chunk, "@%s.lua", name);
    const struct vs_policy_text text = {
        .chunk = chunk, .text = shipped->text, .length = shipped->length, .options = options, .name = name};
    return vs_policy_text_copy(&text, out, err);
}
