/* vesta_options.h -- how to open a generator: the part of vesta.h that lists its options, one row each.
 *
 * A row is all that there is to say of one: a member of struct vesta_opts, a word of vesta_open_text, an option of
 * Lua's vesta.open, with its range and help.  Zero is the default of each.
 *
 *     OPTION(type, member, kind, max, "flag of the program", "values", "help", "what holds without it")
 *
 *     kind     member                            as text
 *     TEXT     const char *                      of max bytes
 *     LAYOUT   const char *                      the same: a layout, or a preset
 *     PATH     const char *                      the same: where a file is
 *     URI      const char *                      the same: where a store is
 *     NAME     const char *                      the same: of A-Z a-z 0-9 _ -
 *     SECRET   const char *                      the same, never shown
 *     FIELDS   const char *                      the same: "method=1 version=0"
 *     WORD     const char *                      one of its values
 *     CHOICE   an enum: 1 for the first value    one of its values
 *     WORKER   uint64_t, if has_worker is set    a number to max
 *     AHEAD    int64_t, -1 for none at all       milliseconds to max, 0 for none at all
 *     SWITCH   int                               true or false
 *
 * Each of VESTA_NAMESPACE_OPTIONS is a key of a config's namespaces, too.  One more comes last, and fills its place up
 * to 8 bytes: who was compiled without it gets its default.  Nothing else lists them. */
#ifndef VESTA_OPTIONS_H
#define VESTA_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum vesta_pacing {
    VESTA_PACING_DEFAULT = 0, /* the file's; clock where there is no file yet */
    VESTA_PACING_CLOCK = 1,   /* jump forward to the clock: the time field is the time of the call (Snowflake) */
    VESTA_PACING_HISTORY = 2  /* never jump: time is counted up from the start, idle time stays usable (Butterfly) */
};

enum vesta_flags {
    VESTA_UNSAFE_PRIVATE = 1, /* an anonymous mapping without a lease: outside every guarantee */
    VESTA_NO_KEEPER = 2,      /* this handle never starts a keeper thread: another process keeps the file */
    VESTA_CHOOSES = 4,        /* this process answers VESTA_CHOOSE: its keeper claims nothing without being told */
    VESTA_FILE_KEEPER = 8     /* VESTA_NO_KEEPER unless the store is file: (nginx, which talks to no other) */
};

#define VESTA_NAMESPACE_OPTIONS(OPTION)                                                                                \
    OPTION(const char *, layout, LAYOUT, VESTA_LAYOUT_TEXT_MAX - 1, "layout", "TEXT|PRESET",                           \
           "what the 64 bits mean: a text or a preset", "the generator file's, else vesta-second")                     \
    OPTION(uint64_t, worker, WORKER, VESTA_VALUE_MAX, "worker", "N", "claim exactly this worker number",               \
           "a number drawn at random and kept")                                                                        \
    OPTION(const char *, store, URI, 1000, "store", "URI",                                                             \
           "where worker numbers are leased: a URI, or in a config a name under stores", "file:<state>")               \
    OPTION(const char *, lease, WORD, 0, "lease", "local|strict|balanced|autonomous", "how leases are timed",          \
           "local if the store is on this machine, else balanced")                                                     \
    OPTION(const char *, identity, TEXT, 250, "identity", "TEXT",                                                      \
           "the name by which the store knows this generator: the same identity gets its number back sooner",          \
           "the generator file's path, after the host's name if the store is shared")                                  \
    OPTION(enum vesta_pacing, pacing, CHOICE, 0, "pacing", "clock|history",                                            \
           "follow the clock, or count up from the start", "the generator file's, else clock")                         \
    OPTION(int64_t, ahead_ms_max, AHEAD, 86400000, "ahead-ms", "MS", "how far ids may run ahead of the clock",         \
           "0; one unit if the layout counts seconds")                                                                 \
    OPTION(const char *, path, PATH, 250, "path", "FILE", "the generator file", "<state>/NAME.gen")                    \
    OPTION(const char *, group, NAME, 63, "group", "NAME", "the group that may share the generator file",              \
           "the owner alone")                                                                                          \
    OPTION(const char *, fields, FIELDS, 240, "fields", "\"NAME=N ...\"", "values of the layout's other fields", "0")    \
    OPTION(const char *, method, WORD, 0, "method", "0|1|2|3|by_protocol",                                             \
           "the value of the layout's field method, if it has one; by_protocol: 0 in a program, 1 over the Redis "     \
           "protocol, 2 over HTTP",                                                                                    \
           "2")

/* These are a handle's alone: a config's namespace has its name as its key, and its store's secret beside that. */
#define VESTA_HANDLE_OPTIONS(OPTION)                                                                                   \
    OPTION(const char *, namespace_, TEXT, VESTA_NAMESPACE_MAX - 1, "namespace", "NAME",                               \
           "ids are unique within a namespace", "the generator file's, else default")                                  \
    OPTION(const char *, secret, SECRET, 511, NULL, "TEXT",                                                            \
           "what authenticates us to the store, kept in memory only: a password, or ZooKeeper's user:password",        \
           "what the store's URI says")                                                                                \
    OPTION(int, any_worker, SWITCH, 0, NULL, NULL, "draw a free number and keep it in the store, as `vesta gen` does", \
           "false")

struct vesta_clock;

/* What vesta_open is told; all but size may be 0. */
struct vesta_opts {
    size_t size;                     /* of the struct that the caller knows: VESTA_OPTS_INIT sets it */
    const struct vesta_clock *clock; /* outlives the handle; NULL: the machine's */
    unsigned flags;                  /* enum vesta_flags */
    int has_worker;                  /* 1: `worker` is a claim of exactly that number, be it 0 */
#define VESTA_OPTION_MEMBER(type, member, ...) type member;
    VESTA_HANDLE_OPTIONS(VESTA_OPTION_MEMBER)
    VESTA_NAMESPACE_OPTIONS(VESTA_OPTION_MEMBER)
#undef VESTA_OPTION_MEMBER
};

/* struct vesta_opts opts = VESTA_OPTS_INIT; then set what is not the default. */
#define VESTA_OPTS_INIT                                                                                                \
    { .size = sizeof(struct vesta_opts) }

#endif
