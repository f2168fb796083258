/* secret.h -- a secret that a file contains: every password, token and store secret is read here. */
#ifndef VS_OS_SECRET_H
#define VS_OS_SECRET_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>

/* `what` and its path begin a message. */
struct vs_secret_file {
    const char *what, *path;
    bool is_alone; /* the file must have no second line */
};

/* Reads the first line, of 1 to size-1 bytes.  A byte order mark before it, and CR or LF behind it, are no part of it.
 * Errors: VESTA_EIO: the file cannot be read; VESTA_EOPTION: it has no such line. */
int vs_secret_of_file(const struct vs_secret_file *file, char *buf, size_t size, struct vesta_error *err);

#endif
