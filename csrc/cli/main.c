/* main.c -- the program: one table of commands, and what is done around each of them. */
#include "cli/cli.h"
#include "command/command.h"

#include "base/array.h"
#include "base/nearest.h"
#include "mapping/mapping.h"
#include "store/store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VS_COMMAND_ROW(name) &vs_##name##_command,
const struct vs_command *const vs_commands[] = {VS_COMMANDS(VS_COMMAND_ROW) NULL};
#undef VS_COMMAND_ROW

const struct vs_command *vs_command_find(const char *name) {
    for (size_t i = 0; vs_commands[i]; i++)
        if (strcmp(vs_commands[i]->name, name) == 0) return vs_commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[VS_COUNT(vs_commands)] = {0};
    for (size_t i = 0; vs_commands[i]; i++)
        names[i] = vs_commands[i]->name;
    const char *near = vs_nearest(name, names);
    if (near) return vs_usage("there is no command %s; did you mean %s?", vs_shown_text(name), near);
    return vs_usage("there is no command %s", vs_shown_text(name));
}

int vs_run(int argc, char **argv) {
    const struct vs_command *command = vs_command_find(argv[0]);
    if (!command) return unknown_command(argv[0]);
    vs_command_begin(command);
    return command->run(argc, argv);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return vs_run(1, (char *[]){"help", NULL});
    if (strcmp(argv[1], "--version") == 0) {
        vs_outf("vesta %s\n", VESTA_VERSION);
        return VS_DONE;
    }
    if (argv[1][0] == '-') return vs_usage("the command must come first, but %s is an option", vs_shown_text(argv[1]));
    return vs_run(argc - 1, argv + 1);
}

/* A program started with stdout closed would get 1 as the descriptor of the next file it opens, and write ids into
 * it: occupy 0 to 2 with something that can be neither read nor written as it should be. */
static void occupy_standard_files(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(VS_FAILED);
}

/* Whoever lists processes sees the arguments of all: the program works with copies, and a password in a store's URI is
 * blotted out where the kernel shows it. */
static void hide_passwords(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        size_t at, length = vs_store_password(argv[i], &at);
        char *shown = argv[i], *copy = length > 0 ? strdup(shown) : NULL;
        if (!copy) continue;
        argv[i] = copy;
        memset(shown + at, '*', length);
    }
}

int main(int argc, char **argv) {
    hide_passwords(argc, argv);
    occupy_standard_files();
    (void)vs_guard_on();
    signal(SIGPIPE, SIG_IGN); /* a reader who has seen enough is no failure: out.c meets EPIPE */
    return vs_out_end(dispatch(argc, argv));
}
