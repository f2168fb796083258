/* main.c -- the program: one table of commands, and what is done around each of them. */
#include "cli/cli.h"
#include "command/command.h"

#include "base/nearest.h"
#include "mapping/mapping.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define VS_COMMAND_ROW(name) &vs_##name##_command,
static const struct vs_command *const commands[] = {VS_COMMANDS(VS_COMMAND_ROW)};
#undef VS_COMMAND_ROW
#define COMMANDS (sizeof commands / sizeof *commands)

static const struct vs_command *find(const char *name) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *names[COMMANDS + 2] = {0};
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    names[COMMANDS] = "help";
    const char *near = vs_nearest(name, names);
    if (near) return vs_usage("there is no command %s; did you mean %s?", vs_shown_text(name), near);
    return vs_usage("there is no command %s", vs_shown_text(name));
}

/* ------------------------------------------------------------------ help and version */

static int print_overview(void) {
    vs_outf("vesta %s -- 64-bit ids that never repeat, sort by time and can be read back\n\n", VESTA_VERSION);
    vs_outf("Usage: vesta COMMAND ...\n\n");
    for (size_t i = 0; i < COMMANDS; i++)
        vs_outf("  %-8s  %s\n", commands[i]->name, commands[i]->line);
    vs_outf("\n`vesta help COMMAND` explains a command; `vesta --version` prints the version.\n"
            "Exit codes: 0 success, 1 failure (or a duplicate was found), 2 usage error.\n");
    return VS_DONE;
}

static int run_command(int argc, char **argv) {
    const struct vs_command *command = find(argv[0]);
    if (!command) return unknown_command(argv[0]);
    vs_command_begin(command);
    return command->run(argc, argv);
}

static int print_help(int argc, char **argv) {
    if (argc == 0) return print_overview();
    const struct vs_command *command = find(argv[0]);
    bool has_word = argc == 2 && command && strstr(command->usage, argv[1]); /* help workers import, store init */
    if (has_word) return run_command(3, (char *[]){argv[0], argv[1], "--help", NULL});
    if (argc > 1) return vs_usage("unexpected operand %s; help takes one command", vs_shown_text(argv[1]));
    return run_command(2, (char *[]){argv[0], "--help", NULL});
}

static int dispatch(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_overview();
    if (strcmp(argv[1], "help") == 0) return print_help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0) {
        vs_outf("vesta %s\n", VESTA_VERSION);
        return VS_DONE;
    }
    if (argv[1][0] == '-') return vs_usage("the command must come first, but %s is an option", vs_shown_text(argv[1]));
    return run_command(argc - 1, argv + 1);
}

/* A program started with stdout closed would get 1 as the descriptor of the next file it opens, and write ids into
 * it: occupy 0 to 2 with something that can be neither read nor written as it should be. */
static void occupy_standard_files(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(VS_FAILED);
}

int main(int argc, char **argv) {
    occupy_standard_files();
    (void)vs_guard_on();
    signal(SIGPIPE, SIG_IGN); /* a reader who has seen enough is no failure: out.c meets EPIPE */
    return vs_out_end(dispatch(argc, argv));
}
