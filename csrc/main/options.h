/* options.h -- one option parser for every command: a table in, values and operands out. */
#ifndef VS_OPTIONS_H
#define VS_OPTIONS_H

#include "main/main.h"

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

/* The options of a command that opens a generator; o is a struct vesta_opts *. */
#define VS_GENERATOR_OPTIONS(o)                                                                                        \
    {"layout", 0, VS_OPT_TEXT, &(o)->layout, "TEXT|PRESET", "what the 64 bits mean (default: the file's, else vesta-second)", 0, 0, NULL}, \
    {"worker", 0, VS_OPT_COUNT, &(o)->worker, "N", "claim exactly this worker number", 0, UINT64_MAX, &(o)->has_worker},  \
    {"path", 0, VS_OPT_TEXT, &(o)->path, "FILE", "the generator file (default: the namespace's in the state folder)", 0, 0, NULL}, \
    {"store", 0, VS_OPT_TEXT, &(o)->store, "URI", "where worker numbers are leased: file:DIR", 0, 0, NULL},               \
    {"namespace", 0, VS_OPT_TEXT, &(o)->namespace_, "NAME", "ids are unique within a namespace (default: default)", 0, 0, NULL}, \
    {"fields", 0, VS_OPT_TEXT, &(o)->fields, "\"NAME=N ...\"", "values of the layout's other fields", 0, 0, NULL},        \
    {"pacing", 0, VS_OPT_CHOICE, &(o)->pacing, "clock|history", "follow the clock, or count up from the start", VESTA_PACING_CLOCK, 0, NULL}, \
    {"ahead-ms", 0, VS_OPT_AHEAD, &(o)->ahead_ms_max, "MS", "how far ids may run ahead of the clock", 0, 86400000, NULL}

#define VS_GO (-1) /* go on */

/* Reads the options of a command; `table` ends with a row without a name.  Options and operands may stand in any
 * order, "--" ends the options, and "-" or "-5" is an operand.  Operands are left at argv[0..*argc).
 * Returns VS_GO, or the exit code to end with: help was printed (0), or a message (2). */
int vs_options(const struct vs_option *table, int *argc, char **argv);

#endif
