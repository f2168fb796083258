/* main.c -- the program: runs the command that its first argument names, and prepares the process for it. */
#include "main/cli.h"
#include "main/commit.h"
#include "main/modules.h"
#include "command/options.h"

#include "mapping/mapping.h"
#include "store/store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COMMAND_DECLARED(name, order) extern const struct vs_command vs_##name##_command;
VS_COMMANDS(COMMAND_DECLARED)

#define COMMAND_ROW(name, order) {&vs_##name##_command, order},
const struct vs_command_row vs_command_rows[] = {VS_COMMANDS(COMMAND_ROW){NULL, 0}};

static const struct vs_command *running;

const struct vs_command *vs_command_running(void) {
    return running;
}

int vs_command_run(int argc, char **argv) {
    for (const struct vs_command_row *row = vs_command_rows; row->command; row++) {
        if (strcmp(row->command->name, argv[0]) != 0) continue;
        running = row->command;
        vs_say_as(running->name);
        return running->run(argc, argv);
    }
    return vs_host_run(argc, argv);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return vs_command_run(1, (char *[]){"help", NULL});
    if (strcmp(argv[1], "--version") == 0) {
        vs_outf(*VS_COMMIT ? "vesta %s (commit %s)\n" : "vesta %s\n", VESTA_VERSION, VS_COMMIT);
        return VS_DONE;
    }
    if (argv[1][0] == '-') return vs_usage("the command must come first, but %s is an option", vs_shown_text(argv[1]));
    return vs_command_run(argc - 1, argv + 1);
}

/* Opens descriptors 0 to 2 if they are closed, in a mode in which reads and writes fail.  Otherwise the next file that
 * is opened could get descriptor 1, and ids would be written to it. */
static void occupy_standard_files(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(VS_FAILED);
}

/* Overwrites the passwords in store URIs in the process's arguments, because every user can list these arguments.  The
 * program works with copies. */
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
    vs_help_by(modules_help);
    hide_passwords(argc, argv);
    occupy_standard_files();
    (void)vs_guard_on();
    signal(SIGPIPE, SIG_IGN); /* it is not an error if the reader has ended: out.c handles EPIPE */
    return vs_out_end(dispatch(argc, argv));
}
