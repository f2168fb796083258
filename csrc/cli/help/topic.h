/* topic.h -- what there is help about, as the forms of it are made of: a page of the manual, a shell's completion. */
#ifndef VS_CLI_HELP_TOPIC_H
#define VS_CLI_HELP_TOPIC_H

#include "command/options.h"

#define VS_TOPICS_MAX 64
#define VS_WORD_MAX 24

/* A command, or one of its subcommands. */
struct vs_topic {
    const struct vs_command *command;
    char word[VS_WORD_MAX]; /* the subcommand, or "" */
    const char *usage;      /* what stands behind it, in the first usage_length bytes */
    int usage_length;
    bool is_own; /* its options are others than the command's */
    struct vs_option options[VS_OPTIONS_MAX];
    int count;
};

/* All of them, a command before its subcommands; *count of them.  Lives to the end of the program. */
const struct vs_topic *vs_topics(int *count);
/* The command or subcommand of that name, or NULL.  `word` is "" for the command. */
const struct vs_topic *vs_topic_find(const char *command, const char *word);
bool vs_has_words(const struct vs_command *command);

/* A page of the manual on stdout: of the program for NULL, else of a command with its subcommands. */
void vs_manual(const struct vs_command *command);

/* What may stand in a place of the command line. */
struct vs_values {
    char words[1024]; /* with a blank between them, or "" */
    bool files;       /* or names of files */
};
/* The values of an option; of the operands of a command, the subcommands aside. */
void vs_option_values(const struct vs_option *option, struct vs_values *out);
void vs_operand_values(const struct vs_topic *topic, struct vs_values *out);

/* A shell's completion on stdout. */
void vs_complete_bash(void);
void vs_complete_zsh(void);
void vs_complete_fish(void);

#endif
