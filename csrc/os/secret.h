/* secret.h -- reads a secret from a file.  All passwords, tokens and store secrets are read here. */
#ifndef VS_OS_SECRET_H
#define VS_OS_SECRET_H

#include "vesta.h"

#include <stdbool.h>
#include <stddef.h>

/* The file to read.  Messages begin with `what` and the path. */
struct vs_secret_file {
    const char *what, *path;
    bool is_alone; /* the file must have no second line */
};

/* Reads the first line without its byte order mark, CR and LF.  The line must have 1 to size - 1 bytes.
 * Errors: VESTA_EIO if the file cannot be read, VESTA_EOPTION if the line is too long or missing. */
int vs_secret_of_file(const struct vs_secret_file *file, char *buf, size_t size, struct vesta_error *err);

#endif
