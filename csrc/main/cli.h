/* cli.h -- the commands of the program.
 *
 * A command is a file in lua/cli, or, if it must start or run fast or shares much with the server, a file in csrc/main. */
#ifndef VS_CLI_H
#define VS_CLI_H

#include "command/command.h"

/* clang-format off */
/* In the order of `vesta --help`.  C(name): csrc/main defines vs_NAME_command.  LUA(name): lua/cli/NAME.lua. */
#define VS_COMMANDS(C, LUA) \
    C(gen) \
    C(explain) \
    LUA(make) \
    LUA(range) \
    LUA(guess) \
    LUA(fit) \
    LUA(plan) \
    LUA(layout) \
    C(serve) \
    C(fill) \
    C(check) \
    C(doctor) \
    C(health) \
    C(client) \
    LUA(top) \
    C(store) \
    C(workers) \
    C(segments) \
    C(policy) \
    C(audit) \
    LUA(help)
/* clang-format on */

/* main.c: the command at this place of the list, or NULL behind the last. */
const struct vs_command *vs_command_at(size_t place);
/* main.c: runs argv[0].  Returns its exit code. */
int vs_command_run(int argc, char **argv);

#endif
