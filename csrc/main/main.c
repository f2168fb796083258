/* main.c -- the program: one table of commands, and what is done around each of them. */
#include "main/cli.h"
#include "main/modules.h"
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

#define COMMAND_DECLARED(name) extern const struct vs_command vs_##name##_command;
#define COMMAND_NONE(name)
VS_COMMANDS(COMMAND_DECLARED, COMMAND_NONE)

/* `command` is NULL until a command in Lua is described. */
struct command_row {
    const char *name;
    const struct vs_command *command;
    struct vs_command in_lua;
};
#define COMMAND_C_ROW(name) {#name, &vs_##name##_command, {0}},
#define COMMAND_LUA_ROW(name) {#name, NULL, {.run = vs_host_run}},
static struct command_row command_rows[] = {VS_COMMANDS(COMMAND_C_ROW, COMMAND_LUA_ROW)};

const struct vs_command *vs_command_at(size_t place) {
    if (place >= VS_COUNT(command_rows)) return NULL;
    struct command_row *row = &command_rows[place];
    if (!row->command) {
        vs_host_describe(row->name, &row->in_lua);
        row->command = &row->in_lua;
    }
    return row->command;
}

static const struct vs_command *command_find(const char *name) {
    for (size_t i = 0; i < VS_COUNT(command_rows); i++)
        if (strcmp(command_rows[i].name, name) == 0) return vs_command_at(i);
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[VS_COUNT(command_rows) + 1] = {0};
    for (size_t i = 0; i < VS_COUNT(command_rows); i++)
        names[i] = command_rows[i].name;
    const char *near = vs_nearest(name, names);
    if (near) return vs_usage("there is no command %s; did you mean %s?", vs_shown_text(name), near);
    return vs_usage("there is no command %s", vs_shown_text(name));
}

int vs_command_run(int argc, char **argv) {
    const struct vs_command *command = command_find(argv[0]);
    if (!command) return unknown_command(argv[0]);
    vs_command_begin(command);
    return command->run(argc, argv);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return vs_command_run(1, (char *[]){"help", NULL});
    if (strcmp(argv[1], "--version") == 0) {
        vs_outf("vesta %s\n", VESTA_VERSION);
        return VS_DONE;
    }
    if (argv[1][0] == '-') return vs_usage("the command must come first, but %s is an option", vs_shown_text(argv[1]));
    return vs_command_run(argc - 1, argv + 1);
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
    vs_host_modules(vs_modules);
    hide_passwords(argc, argv);
    occupy_standard_files();
    (void)vs_guard_on();
    signal(SIGPIPE, SIG_IGN); /* a reader who has seen enough is no failure: out.c meets EPIPE */
    return vs_out_end(dispatch(argc, argv));
}
