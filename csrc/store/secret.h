/* secret.h -- a secret that stands in a file of its own. */
#ifndef VS_STORE_SECRET_H
#define VS_STORE_SECRET_H

#include "vesta.h"

/* The first line of a file, of 1 to size-1 bytes; `what` and its path begin the message.  Errors: VESTA_EIO. */
int vs_secret_of_file(const char *what, const char *path, char *buf, size_t size, struct vesta_error *err);

#endif
