/* file.h -- changes one line of the file of clients and leaves all other lines unchanged. */
#ifndef VS_ACCESS_FILE_H
#define VS_ACCESS_FILE_H

#include "access/accounts.h"

/* A callback that writes the account's new line to `line`, without line end.  An empty line removes the account.  `was`
 * is the current account, or NULL.  If the callback returns an error, the file is not changed, and vs_accounts_change
 * returns that error. */
typedef int vs_account_change(void *self, const struct vs_account *was, char line[VS_ACCOUNT_LINE_MAX],
                              struct vesta_error *err);
/* Calls `change` and writes the line in the form of vs_account_write.  The line replaces the old line, or is appended.
 * The file is replaced atomically, with the same owner and mode.  A file that did not exist gets mode 0600 and the
 * folder's owner.  A lock prevents simultaneous changes. */
int vs_accounts_change(const char *path, const char *name, vs_account_change *change, void *self,
                       struct vesta_error *err);

#endif
