/* cli.h -- the commands in the order of `vesta --help`; each is defined, with its help, in its own file. */
#ifndef VS_CLI_H
#define VS_CLI_H

#include "command/command.h"

/* clang-format off */
#define VS_COMMANDS(X) \
    X(gen) \
    X(explain) \
    X(make) \
    X(range) \
    X(guess) \
    X(fit) \
    X(plan) \
    X(layout) \
    X(serve) \
    X(fill) \
    X(check) \
    X(doctor) \
    X(health) \
    X(client) \
    X(top) \
    X(store) \
    X(workers) \
    X(segments) \
    X(policy) \
    X(audit) \
    X(help)
/* clang-format on */

#define VS_COMMAND_DECLARED(name) extern const struct vs_command vs_##name##_command;
VS_COMMANDS(VS_COMMAND_DECLARED)
#undef VS_COMMAND_DECLARED

/* main.c: the same as a list that ends with NULL; the one of that name, or NULL; runs argv[0]. */
extern const struct vs_command *const vs_commands[];
const struct vs_command *vs_command_find(const char *name);
int vs_run(int argc, char **argv);

#endif
