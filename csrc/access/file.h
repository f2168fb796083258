/* file.h -- changes one line of the file of clients and keeps all others as they are. */
#ifndef VS_ACCESS_FILE_H
#define VS_ACCESS_FILE_H

#include "access/accounts.h"

/* Writes the account's new line into `line`, without line end; "" removes the account.  `was` is the current account,
 * or NULL.  If it returns an error, nothing is written, and vs_accounts_change returns that error. */
typedef int vs_account_change(void *self, const struct vs_account *was, char line[VS_ACCOUNT_LINE_MAX],
                              struct vesta_error *err);
/* Calls `change` and writes the line in the form of vs_account_write, in place of the old one or at the end.  The whole
 * file is replaced.  A new file has mode 0600 and the folder's owner; otherwise owner and mode are kept.  A lock admits
 * one writer at a time. */
int vs_accounts_change(const char *path, const char *name, vs_account_change *change, void *self,
                       struct vesta_error *err);

#endif
