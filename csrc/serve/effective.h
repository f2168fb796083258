/* effective.h -- `--effective`: prints the values that apply to a command, and their sources.  Every command with this
 * option prints its rows with these functions, and then ends. */
#ifndef VS_EFFECTIVE_H
#define VS_EFFECTIVE_H

#include "command/options.h"
#include "config/config.h"

/* The option, which sets an int. */
#define VS_EFFECTIVE(into) VS_SWITCH("effective", into, "only print the effective values and their sources")

/* Prints a row: origin, key, value and, if `by` is set, the source in words.  Passwords are not shown. */
void vs_effective_print(const struct vs_conf_value *value, int json);

/* Prints the paths of the folders that other values abbreviate as `<state>` and `<maps>`. */
void vs_effective_folders(int json);

/* Prints every value of a config, and the folders.  Returns VS_DONE, or an exit code after a message. */
int vs_effective_config(const struct vs_config *config, int json);

#endif
