/* vesta_options.h -- lists the options of a generator, one row each.  Included by vesta.h.
 *
 * Each row defines a member of struct vesta_opts, a name for vesta_open_text, and an option of Lua's vesta.open.  A
 * member that is 0 selects the default.
 *
 *     OPTION(type, member, kind, max, "flag of the program", "values", "help", "default")
 *
 *     kind     type of the member                value as text
 *     TEXT     const char *                      at most max bytes, as in the six kinds that follow
 *     LAYOUT   const char *                      a layout or a preset
 *     PATH     const char *                      a file
 *     URI      const char *                      a store
 *     NAME     const char *                      characters from A-Z a-z 0-9 _ -
 *     SECRET   const char *                      never printed
 *     FIELDS   const char *                      "method=1 version=0"
 *     WORD     const char *                      one of its values
 *     CHOICE   an enum: 1 for the first value    one of its values
 *     WORKER   uint64_t, read if has_worker is 1 an integer from 0 to max
 *     AHEAD    int64_t in ms; -1 for 0 ms        milliseconds from 0 to max
 *     SWITCH   int                               true or false
 *
 * VESTA_NAMESPACE_OPTIONS are also keys of a config's namespaces.  Add a new option at the end and pad it to 8 bytes,
 * so that programs that were compiled without it get its default.  No other list of the options exists. */
#ifndef VESTA_OPTIONS_H
#define VESTA_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum vesta_pacing {
    VESTA_PACING_DEFAULT = 0, /* the generator file's pacing, or clock for a new file */
    VESTA_PACING_CLOCK = 1,   /* jump forward to the clock: the time field is the time of the call (Snowflake) */
    VESTA_PACING_HISTORY = 2  /* count up from the start, so that time units of idle periods are used later
                                 (Butterfly) */
};

enum vesta_flags {
    VESTA_UNSAFE_PRIVATE = 1, /* use an anonymous mapping without a lease, so ids may be duplicates */
    VESTA_NO_KEEPER = 2,      /* never start a keeper thread, because another process runs the file's keeper */
    VESTA_CHOOSES = 4,        /* this process handles VESTA_CHOOSE, and its keeper waits for the chosen worker id */
    VESTA_FILE_KEEPER = 8     /* VESTA_NO_KEEPER unless the store is file: (a keeper in nginx can use no other store) */
};

#define VESTA_NAMESPACE_OPTIONS(OPTION)                                                                                \
    OPTION(const char *, layout, LAYOUT, VESTA_LAYOUT_TEXT_MAX - 1, "layout", "TEXT|PRESET",                           \
           "the layout of an id's 64 bits: a list of fields, or a preset", "the generator file's, else vesta-second")  \
    OPTION(uint64_t, worker, WORKER, VESTA_VALUE_MAX, "worker", "N", "claim exactly this worker id",                   \
           "a random free worker id, claimed again after a restart")                                                   \
    OPTION(const char *, store, URI, 1000, "store", "URI",                                                             \
           "the store that leases worker ids: a URI, or in a config the name of a store", "file:<state>")              \
    OPTION(const char *, lease, WORD, 0, "lease", "local|strict|balanced|autonomous", "the timing preset of leases",   \
           "local if the store is on this machine, else balanced")                                                     \
    OPTION(const char *, identity, TEXT, 250, "identity", "TEXT",                                                      \
           "this generator's name in the store, so that a restart gets its worker id back sooner",                     \
           "the generator file's path, prefixed with the host name if the store is shared")                            \
    OPTION(enum vesta_pacing, pacing, CHOICE, 0, "pacing", "clock|history",                                            \
           "whether the time field follows the clock or counts up from the start",                                     \
           "the generator file's, else clock")                                                                         \
    OPTION(int64_t, ahead_ms_max, AHEAD, 86400000, "ahead-ms", "MS", "how far ids may run ahead of the clock",         \
           "0, or one time unit if the layout counts seconds")                                                         \
    OPTION(const char *, path, PATH, 250, "path", "FILE", "the generator file", "<state>/NAME.gen")                    \
    OPTION(const char *, group, NAME, 63, "group", "NAME", "the group that may share the generator file",              \
           "the owner only")                                                                                           \
    OPTION(const char *, fields, FIELDS, 240, "fields", "\"NAME=N ...\"", "values of the layout's other fields", "0")  \
    OPTION(const char *, method, WORD, 0, "method", "0|1|2|3|by_protocol",                                             \
           "the value of the `method` field, if the layout has one (by_protocol: 0 for a program, 1 for the Redis "    \
           "protocol, 2 for HTTP)",                                                                                    \
           "2")

/* Options of a handle that are not keys of a namespace in a config.  There the namespace is the key itself, and the
 * secret belongs to the store. */
#define VESTA_HANDLE_OPTIONS(OPTION)                                                                                   \
    OPTION(const char *, namespace_, TEXT, VESTA_NAMESPACE_MAX - 1, "namespace", "NAME",                               \
           "the namespace, within which ids are unique", "the generator file's, else default")                         \
    OPTION(const char *, secret, SECRET, 511, NULL, "TEXT",                                                            \
           "the credentials for the store, kept in memory only: a password, or ZooKeeper's user:password",             \
           "the credentials in the store's URI")                                                                       \
    OPTION(int, any_worker, SWITCH, 0, NULL, NULL,                                                                     \
           "claim a random free worker id and record it in the store, like `vesta gen`", "false")

struct vesta_clock;

/* Options of vesta_open.  Every member except size may be 0. */
struct vesta_opts {
    size_t size;                     /* sizeof the caller's struct, set by VESTA_OPTS_INIT */
    const struct vesta_clock *clock; /* must outlive the handle; NULL for the machine's clock */
    unsigned flags;                  /* enum vesta_flags */
    int has_worker;                  /* 1 to claim exactly `worker`, even if it is 0 */
#define VESTA_OPTION_MEMBER(type, member, ...) type member;
    VESTA_HANDLE_OPTIONS(VESTA_OPTION_MEMBER)
    VESTA_NAMESPACE_OPTIONS(VESTA_OPTION_MEMBER)
#undef VESTA_OPTION_MEMBER
};

/* First write struct vesta_opts opts = VESTA_OPTS_INIT, then set the options that differ. */
#define VESTA_OPTS_INIT                                                                                                \
    { .size = sizeof(struct vesta_opts) }

#endif
