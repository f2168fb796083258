/* help.c -- `vesta help`: the overview, a command's own text, and the same as a page of the manual or a completion. */
#include "cli/cli.h"
#include "cli/help/topic.h"

#include <string.h>

static int print_overview(void) {
    vs_outf("vesta %s -- 64-bit ids that never repeat, sort by time and can be read back\n\n", VESTA_VERSION);
    vs_outf("Usage: vesta COMMAND ...\n\n");
    for (size_t i = 0; vs_command_at(i); i++)
        vs_outf("  %-8s  %s\n", vs_command_at(i)->name, vs_command_at(i)->line);
    vs_outf("\n`vesta help COMMAND` explains a command; `vesta --version` prints the version.\n"
            "Exit codes: 0 success, 1 failure (or a duplicate was found), 2 usage error.\n");
    return VS_DONE;
}

/* Of a command that is there, and of a subcommand that it has: help workers import, help store init. */
static int print_help(int count, char **words) {
    int topics;
    if (count == 0) return print_overview();
    if (count == 1 || !vs_command_find(words[0])) return vs_run(2, (char *[]){words[0], "--help", NULL});
    vs_topics(&topics);
    vs_say_as("help");
    if (count > 2 || !vs_topic_find(words[0], words[1]))
        return vs_usage("unexpected operand %s; help takes one command", vs_shown_text(words[1]));
    return vs_run(3, (char *[]){words[0], words[1], "--help", NULL});
}

static int print_manual(int count, char **words) {
    const struct vs_command *command = count ? vs_command_find(words[0]) : NULL;
    if (count > 1) return vs_usage("unexpected operand %s; a page is of one command", vs_shown_text(words[1]));
    if (count && !command) return vs_usage("there is no command %s", vs_shown_text(words[0]));
    vs_manual(command);
    return VS_DONE;
}

static int print_completion(int shell, int count, char **words) {
    static void (*const print[])(void) = {NULL, vs_complete_bash, vs_complete_zsh, vs_complete_fish};
    if (count) return vs_usage("unexpected operand %s; a completion is of all commands", vs_shown_text(words[0]));
    print[shell]();
    return VS_DONE;
}

static int run_help(int argc, char **argv) {
    int man = 0, shell = 0;
    const struct vs_option table[] = {
        VS_SWITCH("man", &man, "print the page of the manual, for man -l"),
        VS_ENUM("completion", &shell, "bash|zsh|fish", "print what that shell completes vesta's command line by"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (man && shell) return vs_usage("--man and --completion cannot be combined");
    if (man) return print_manual(argc, argv);
    return shell ? print_completion(shell, argc, argv) : print_help(argc, argv);
}

const struct vs_command vs_help_command = {
    "help", run_help, "explain a command; its manual page, and completions for shells",
    "help [COMMAND [SUBCOMMAND]]\n       vesta help --man [COMMAND]\n       vesta help --completion bash|zsh|fish",
    "Without a word it lists the commands; with one it explains it, as `vesta COMMAND --help` does.  Where\n"
    "vesta is installed, man vesta-COMMAND shows the same, and shells complete its commands and options.\n"
    "Where it is not installed, ask for a page, or put a completion where the shell looks for it.\n"
    "\n"
    "  $ vesta help --man gen | man -l -\n"
    "\n"
    "  $ vesta help --completion bash \\\n"
    "    > ~/.local/share/bash-completion/completions/vesta\n"};
