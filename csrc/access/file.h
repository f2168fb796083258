/* file.h -- changes the file of clients: a line at a time, and all others stay as they were written. */
#ifndef VS_ACCESS_FILE_H
#define VS_ACCESS_FILE_H

#include "access/accounts.h"

/* Writes the new line of an account, without its end, into `line`; "" removes the account.  `was` is what the file has,
 * or NULL.  An error of its own: nothing is written, and vs_accounts_change returns it. */
typedef int vs_account_change(void *self, const struct vs_account *was, char line[VS_ACCOUNT_LINE_MAX],
                              struct vesta_error *err);
/* Calls `change`, and puts the line where that of the name stood, or behind the last, in the form of vs_account_write.
 * The file is replaced by a whole one: 0600 and its folder's owner's, or as the one before.  One writer at a time. */
int vs_accounts_change(const char *path, const char *name, vs_account_change *change, void *self,
                       struct vesta_error *err);

#endif
