/* file.h -- changes the file of clients: a line at a time, and all others stay as they were written. */
#ifndef VS_ACCESS_FILE_H
#define VS_ACCESS_FILE_H

#include "access/accounts.h"

/* Puts an account's line where its name's stood, or behind the last; NULL takes the name's away.  The file is another
 * one then, whole at each instant: 0600 and its folder's owner's, or as the one before.  One writer at a time.
 * `change` gets what stood there (NULL: nothing) and what to write; not VESTA_OK: nothing is written, and that is
 * returned. */
typedef int vs_account_change(void *self, const struct vs_account *was, struct vs_account *will, bool *goes,
                              struct vesta_error *err);
int vs_accounts_change(const char *path, const char *name, vs_account_change *change, void *self,
                       struct vesta_error *err);

#endif
