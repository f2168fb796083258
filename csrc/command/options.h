/* options.h -- one option parser for every command: a table in, values and operands out. */
#ifndef VS_COMMAND_OPTIONS_H
#define VS_COMMAND_OPTIONS_H

#include "command/command.h"

enum vs_kind {
    VS_OPT_SWITCH, /* int: 1; takes no value */
    VS_OPT_TEXT,   /* const char * */
    VS_OPT_COUNT,  /* uint64_t, digits only, from min to max */
    VS_OPT_AHEAD,  /* int64_t milliseconds to max, where 0 is stored as -1: vesta_opts' word for "not at all" */
    VS_OPT_CHOICE  /* int: min + the index of the word in `value`, "a|b|c" */
};

struct vs_option {
    const char *name; /* without the dashes */
    char letter;      /* 'n' for -n, or 0 */
    enum vs_kind kind;
    void *into;
    const char *value; /* what help calls the value; the words of a VS_OPT_CHOICE */
    const char *help;
    uint64_t min, max;
    int *given; /* set to 1 when the option was given; may be NULL */
};

/* Rows of the simple kinds. */
#define VS_TEXT(name, into, value, help)                                                                               \
    { name, 0, VS_OPT_TEXT, into, value, help, 0, 0, NULL }
#define VS_SWITCH(name, into, help)                                                                                    \
    { name, 0, VS_OPT_SWITCH, into, NULL, help, 0, 0, NULL }
#define VS_CHOICE(name, into, words, help)                                                                             \
    { name, 0, VS_OPT_CHOICE, into, words, help, 0, 0, NULL }
#define VS_FORMAT(into, help) VS_CHOICE("format", into, "dec|hex|base32|base62", help " (default: dec)")
#define VS_PACING(into, help)                                                                                          \
    { "pacing", 0, VS_OPT_CHOICE, into, "clock|history", help, VESTA_PACING_CLOCK, 0, NULL }

/* The options of a command that opens a generator; o is a struct vesta_opts *. */
/* clang-format off */
#define VS_GENERATOR_OPTIONS(o) \
    VS_TEXT("layout", &(o)->layout, "TEXT|PRESET", "what the 64 bits mean (default: the file's, else vesta-second)"), \
    {"worker", 0, VS_OPT_COUNT, &(o)->worker, "N", "claim this very worker number", 0, UINT64_MAX, &(o)->has_worker}, \
    VS_TEXT("path", &(o)->path, "FILE", "the generator file (default: the namespace's in the state folder)"), \
    VS_TEXT("store", &(o)->store, "URI", "where worker numbers are leased (default: files in the state folder)"), \
    VS_TEXT("lease", &(o)->lease, "NAME", "how it is timed: local, strict, balanced, autonomous (default: by the store)"), \
    VS_TEXT("identity", &(o)->identity, "TEXT", "who asks the store: the same one has its number back sooner"), \
    VS_TEXT("namespace", &(o)->namespace_, "NAME", "ids are unique within a namespace (default: default)"), \
    VS_TEXT("fields", &(o)->fields, "\"NAME=N ...\"", "values of the layout's other fields"), \
    VS_PACING(&(o)->pacing, "follow the clock, or count up from the start"), \
    {"ahead-ms", 0, VS_OPT_AHEAD, &(o)->ahead_ms_max, "MS", "how far ids may run ahead of the clock", 0, 86400000, NULL}
/* clang-format on */

#define VS_GO (-1) /* go on */

/* Reads the options of a command; `table` ends with a row without a name.  Options and operands may stand in any
 * order, "--" ends the options, and "-" or "-5" is an operand.  Operands are left at argv[0..*argc).
 * Returns VS_GO, or the exit code to end with: help was printed (0), or a message (2). */
int vs_options(const struct vs_option *table, int *argc, char **argv);

#endif
