/* cli.h -- the commands of the program that are written in C, because they must start or run fast, or share much code
 * with the server.  All other commands are files in lua/cli. */
#ifndef VS_CLI_H
#define VS_CLI_H

#include "command/command.h"

/* clang-format off */
/* C(name, order): csrc/main defines vs_NAME_command.  `order` is its position in `vesta --help`, as in the files of
 * lua/cli. */
#define VS_COMMANDS(C) \
    C(gen, 10) \
    C(explain, 20) \
    C(serve, 90) \
    C(audit, 200)
/* clang-format on */

struct vs_command_row {
    const struct vs_command *command; /* NULL: the end of the list */
    int order;
};
extern const struct vs_command_row vs_command_rows[];

/* main.c: runs the command argv[0], which may be a file of lua/cli.  Returns its exit code. */
int vs_command_run(int argc, char **argv);
/* Returns the command in C that is running. */
const struct vs_command *vs_command_running(void);

#endif
