/* effective.h -- `--effective`: what holds for a command, and who said so.  One row a value; all commands print theirs
 * by these, before they do anything else. */
#ifndef VS_EFFECTIVE_H
#define VS_EFFECTIVE_H

#include "command/options.h"
#include "config/config.h"

/* The option, into an int. */
#define VS_EFFECTIVE(into) VS_SWITCH("effective", into, "only show which values hold, and their sources")

/* A row: origin, key, value, and in words who said so where `by` is set.  Passwords are not shown. */
void vs_effective_print(const struct vs_conf_value *value, int json);

/* The folders that `<state>` and `<maps>` stand for in other values. */
void vs_effective_folders(int json);

/* Every value of a config, and the folders.  VS_DONE, or an exit code after a message. */
int vs_effective_config(const struct vs_config *config, int json);

#endif
