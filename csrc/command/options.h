/* options.h -- parses the options of every command: takes a table and produces values and operands. */
#ifndef VS_COMMAND_OPTIONS_H
#define VS_COMMAND_OPTIONS_H

#include "command/command.h"

enum vs_option_kind {
    VS_OPT_SWITCH, /* int: set to 1 (the option takes no value) */
    VS_OPT_TEXT,   /* const char * */
    VS_OPT_TEXTS,  /* struct vs_texts: the option may be repeated */
    VS_OPT_COUNT,  /* uint64_t, digits only, from min to max */
    VS_OPT_AHEAD,  /* int64_t milliseconds, at most max (0 is stored as -1, which means "not at all" in vesta_opts) */
    VS_OPT_CHOICE  /* int: min + the index of the word in `value`, "a|b|c" */
};

struct vs_option {
    const char *name; /* the name without dashes */
    char letter;      /* 'n' for -n, or 0 for none */
    enum vs_option_kind kind;
    void *into;
    const char *value; /* the value's name in help (VS_OPT_CHOICE: its words) */
    const char *help;
    uint64_t min, max;
    int *given; /* set to 1 if the command line has the option (may be NULL) */
};

#define VS_TEXTS_MAX 16
struct vs_texts {
    const char *text[VS_TEXTS_MAX];
    size_t count;
};

/* Rows for common kinds of options. */
#define VS_TEXT(name, into, value, help)                                                                               \
    { name, 0, VS_OPT_TEXT, into, value, help, 0, 0, NULL }
#define VS_SWITCH(name, into, help)                                                                                    \
    { name, 0, VS_OPT_SWITCH, into, NULL, help, 0, 0, NULL }
#define VS_CHOICE(name, into, words, help)                                                                             \
    { name, 0, VS_OPT_CHOICE, into, words, help, 0, 0, NULL }
#define VS_FORMAT(into, help) VS_CHOICE("format", into, "dec|hex|base32|base62", help " (default: dec)")
/* The notation of ids to read, stored as enum vs_notation in an int. */
#define VS_NOTATION(into)                                                                                              \
    VS_CHOICE("format", into, "any|dec|hex|base32|base62", "how the ids are written (default: any)")
/* For an enum with 1 as its first value. */
#define VS_ENUM(name, into, words, help)                                                                               \
    { name, 0, VS_OPT_CHOICE, into, words, help, 1, 0, NULL }

/* The options of a command that opens a generator: the rows of vesta_options.h, which set members of a local struct
 * vesta_opts *opts. */
#define VS_FLAG(type, member, kind, limit, flag, values, about, without)                                               \
    VS_FLAG_##kind(flag, member, limit, values, about " (default: " without ")"),
#define VS_FLAG_TEXT(flag, member, limit, values, about) VS_TEXT(flag, &opts->member, values, about)
#define VS_FLAG_LAYOUT VS_FLAG_TEXT
#define VS_FLAG_PATH VS_FLAG_TEXT
#define VS_FLAG_URI VS_FLAG_TEXT
#define VS_FLAG_NAME VS_FLAG_TEXT
#define VS_FLAG_FIELDS VS_FLAG_TEXT
#define VS_FLAG_WORD VS_FLAG_TEXT
#define VS_FLAG_SWITCH(flag, member, limit, values, about) VS_SWITCH(flag, &opts->member, about)
#define VS_FLAG_CHOICE(flag, member, limit, values, about) VS_ENUM(flag, &opts->member, values, about)
#define VS_FLAG_WORKER(flag, member, limit, values, about)                                                             \
    { flag, 0, VS_OPT_COUNT, &opts->member, values, about, 0, UINT64_MAX, &opts->has_##member }
#define VS_FLAG_AHEAD(flag, member, limit, values, about)                                                              \
    { flag, 0, VS_OPT_AHEAD, &opts->member, values, about, 0, limit, NULL }
#define VS_GENERATOR_OPTIONS                                                                                           \
    VESTA_NAMESPACE_OPTIONS(VS_FLAG)                                                                                   \
    VS_TEXT("namespace", &opts->namespace_, "NAME", "the namespace, within which ids are unique (default: default)")

#define VS_GO (-1) /* the command continues */

/* Parses the options of a command.  `table` ends with a row without a name.  Options and operands may be mixed.  "--"
 * ends the options, and "-" or "-5" is an operand.  Operands remain in argv[0..*argc).  Returns VS_GO, or the exit code
 * of the command: 0 after help, 2 after a message. */
int vs_options(const struct vs_option *table, int *argc, char **argv);

#define VS_OPTIONS_MAX 64 /* maximum number of options of a command, including --help */

/* Returns whether the words before "--" request help. */
bool vs_help_wanted(int argc, char **argv);
/* Sets the function that vs_options calls to print help with a command's table.  `by` returns an exit code. */
void vs_help_by(int (*by)(const struct vs_option *table));

/* Reads a password from a file that contains it as the only line.  If a password were an argument, every user of the
 * machine could see it.  Returns VS_GO, or an exit code after a message.  *out is valid until the next call. */
#define VS_PASSWORD_MAX 1024 /* with its NUL */
int vs_read_secret(const char *flag, const char *path, const char **out);

#endif
