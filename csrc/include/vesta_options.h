/* vesta_options.h -- the options of a generator: the part of vesta.h that lists them, one row each.
 *
 * Each row defines a member of struct vesta_opts, a name of vesta_open_text and an option of Lua's vesta.open, with
 * range and help.  Zero is the default of each.
 *
 *     OPTION(type, member, kind, max, "flag of the program", "values", "help", "default")
 *
 *     kind     member                            as text
 *     TEXT     const char *                      of max bytes
 *     LAYOUT   const char *                      the same: a layout or a preset
 *     PATH     const char *                      the same: a file
 *     URI      const char *                      the same: a store
 *     NAME     const char *                      the same: of A-Z a-z 0-9 _ -
 *     SECRET   const char *                      the same, never printed
 *     FIELDS   const char *                      the same: "method=1 version=0"
 *     WORD     const char *                      one of its values
 *     CHOICE   an enum: 1 for the first value    one of its values
 *     WORKER   uint64_t, if has_worker is set    a number to max
 *     AHEAD    int64_t, -1 for none at all       milliseconds to max, 0 for none at all
 *     SWITCH   int                               true or false
 *
 * VESTA_NAMESPACE_OPTIONS are also keys of a config's namespaces.  A new option is added at the end and padded to 8
 * bytes, so that programs that were compiled without it get its default.  No other list of the options exists. */
#ifndef VESTA_OPTIONS_H
#define VESTA_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum vesta_pacing {
    VESTA_PACING_DEFAULT = 0, /* that of the file, or clock for a new file */
    VESTA_PACING_CLOCK = 1,   /* jump forward to the clock: the time field is the time of the call (Snowflake) */
    VESTA_PACING_HISTORY = 2  /* never jump: time is counted up from the start, so idle time remains usable
                                 (Butterfly) */
};

enum vesta_flags {
    VESTA_UNSAFE_PRIVATE = 1, /* an anonymous mapping without a lease, so its ids may be duplicates */
    VESTA_NO_KEEPER = 2,      /* this handle never starts a keeper thread: another process keeps the file */
    VESTA_CHOOSES = 4,        /* this process answers VESTA_CHOOSE: its keeper claims only after an answer */
    VESTA_FILE_KEEPER = 8     /* VESTA_NO_KEEPER unless the store is file: (a keeper in nginx can use no other store) */
};

#define VESTA_NAMESPACE_OPTIONS(OPTION)                                                                                \
    OPTION(const char *, layout, LAYOUT, VESTA_LAYOUT_TEXT_MAX - 1, "layout", "TEXT|PRESET",                           \
           "the fields of the 64 bits: a text or a preset", "the generator file's, else vesta-second")                 \
    OPTION(uint64_t, worker, WORKER, VESTA_VALUE_MAX, "worker", "N", "claim exactly this worker id",                   \
           "a worker id drawn at random and kept")                                                                     \
    OPTION(const char *, store, URI, 1000, "store", "URI",                                                             \
           "the store that leases worker ids: a URI, or in a config a name under stores", "file:<state>")              \
    OPTION(const char *, lease, WORD, 0, "lease", "local|strict|balanced|autonomous", "how leases are timed",          \
           "local if the store is on this machine, else balanced")                                                     \
    OPTION(const char *, identity, TEXT, 250, "identity", "TEXT",                                                      \
           "the name by which the store knows this generator: the same identity gets its worker id back sooner",       \
           "the generator file's path, after the host's name if the store is shared")                                  \
    OPTION(enum vesta_pacing, pacing, CHOICE, 0, "pacing", "clock|history",                                            \
           "follow the clock, or count up from the start", "the generator file's, else clock")                         \
    OPTION(int64_t, ahead_ms_max, AHEAD, 86400000, "ahead-ms", "MS", "how far ids may run ahead of the clock",         \
           "0, or one unit if the layout counts seconds")                                                                 \
    OPTION(const char *, path, PATH, 250, "path", "FILE", "the generator file", "<state>/NAME.gen")                    \
    OPTION(const char *, group, NAME, 63, "group", "NAME", "the group that may share the generator file",              \
           "the owner alone")                                                                                          \
    OPTION(const char *, fields, FIELDS, 240, "fields", "\"NAME=N ...\"", "values of the layout's other fields", "0")  \
    OPTION(const char *, method, WORD, 0, "method", "0|1|2|3|by_protocol",                                             \
           "the value of the layout's field method, if it has one (by_protocol: 0 in a program, 1 over the Redis "     \
           "protocol, 2 over HTTP)",                                                                                    \
           "2")

/* Options of a handle only.  In a config the namespace is a key, and its store has the secret. */
#define VESTA_HANDLE_OPTIONS(OPTION)                                                                                   \
    OPTION(const char *, namespace_, TEXT, VESTA_NAMESPACE_MAX - 1, "namespace", "NAME",                               \
           "ids are unique within a namespace", "the generator file's, else default")                                  \
    OPTION(const char *, secret, SECRET, 511, NULL, "TEXT",                                                            \
           "the credentials for the store, kept in memory only: a password, or ZooKeeper's user:password",             \
           "the credentials in the store's URI")                                                                       \
    OPTION(int, any_worker, SWITCH, 0, NULL, NULL, "draw a free worker id and keep it in the store, like `vesta gen`", \
           "false")

struct vesta_clock;

/* Options of vesta_open, all but size may be 0. */
struct vesta_opts {
    size_t size;                     /* sizeof the caller's struct, set by VESTA_OPTS_INIT */
    const struct vesta_clock *clock; /* must outlive the handle. NULL: the machine's clock */
    unsigned flags;                  /* enum vesta_flags */
    int has_worker;                  /* 1: claim exactly `worker`, even if it is 0 */
#define VESTA_OPTION_MEMBER(type, member, ...) type member;
    VESTA_HANDLE_OPTIONS(VESTA_OPTION_MEMBER)
    VESTA_NAMESPACE_OPTIONS(VESTA_OPTION_MEMBER)
#undef VESTA_OPTION_MEMBER
};

/* First write struct vesta_opts opts = VESTA_OPTS_INIT, then set the options that differ. */
#define VESTA_OPTS_INIT                                                                                                \
    { .size = sizeof(struct vesta_opts) }

#endif
