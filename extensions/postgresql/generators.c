/* generators.c -- the generators that this session has opened, and errors of libvesta as errors of SQL. */
#include <postgres.h>

#include "extension.h"

#include <fcntl.h>
#include <pwd.h>
#include <sql.h>
#include <storage/fd.h>
#include <unistd.h>
#include <utils/memutils.h>

static struct vpg_generator *generators;

static int sqlstate_of(int code) {
    switch (code) {
    case VESTA_ENOGEN: return ERRCODE_UNDEFINED_FILE;
    case VESTA_EIO: return ERRCODE_IO_ERROR;
    case VESTA_ENOMEM: return ERRCODE_OUT_OF_MEMORY;
    case VESTA_EEPOCH: return ERRCODE_DATETIME_VALUE_OUT_OF_RANGE;
    case VESTA_EFULL: return ERRCODE_FEATURE_NOT_SUPPORTED;
    case VESTA_ELAYOUT:
    case VESTA_EFIELD:
    case VESTA_EOPTION:
    case VESTA_EID: return ERRCODE_INVALID_PARAMETER_VALUE;
    default: return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    }
}

void vpg_raise(const struct vesta_error *err) {
    ereport(ERROR, errcode(sqlstate_of(err->code)), errmsg("%s", err->text));
}

/* The server's user must create the file, because the background worker must be able to write to its store. */
static pg_attribute_noreturn() void raise_missing(const char *path) {
    const struct passwd *user = getpwuid(geteuid());
    ereport(ERROR, errcode(ERRCODE_UNDEFINED_FILE), errmsg("there is no generator file %s", path),
            errhint("Correct the name or vesta.directory, or create the file as user %s: vesta gen --path %s --store file:%s "
                    "--namespace NAME --layout LAYOUT",
                    user ? user->pw_name : "of the server", path, vpg_directory));
}

static pg_attribute_noreturn() void raise_open(const char *path, const struct vesta_error *err) {
    bool is_denied = faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 && errno == EACCES;
    if (err->code == VESTA_ENOGEN) raise_missing(path);
    if (!is_denied) vpg_raise(err);
    ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("%s", err->text));
}

/* Ignores a generator that was opened before vesta.directory changed. */
static bool is_named(const struct vpg_generator *generator, const char *name, int length) {
    return generator->directory_set == vpg_directory_set && strncmp(generator->name, name, (size_t)length) == 0 &&
           generator->name[length] == '\0';
}

/* vs_sql_open rejects a name with a slash. */
static struct vpg_generator *find_generator(const char *name, int length) {
    struct vesta_error err;
    struct vesta_gen *gen;
    char path[VPG_PATH_MAX];
    for (struct vpg_generator *at = generators; at; at = at->next)
        if (is_named(at, name, length)) return at;
    if (length == 0) /* vs_sql_open would open the default generator */
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the name of a generator must not be empty"),
                errhint("Omit the name to use the generator that vesta.name names."));
    snprintf(path, sizeof path, "%s/%.*s.gen", vpg_directory, length, name);
    struct vpg_generator *generator = MemoryContextAllocZero(TopMemoryContext, sizeof *generator);
    if (vs_sql_open(vpg_directory, name, (size_t)length, &gen, &err) != VESTA_OK) {
        pfree(generator);
        raise_open(path, &err);
    }
    ReserveExternalFD(); /* the descriptor of the map */
    generator->gen = gen;
    generator->directory_set = vpg_directory_set;
    strlcpy(generator->path, path, sizeof generator->path);
    snprintf(generator->name, sizeof generator->name, "%.*s", length, name);
    generator->next = generators;
    return generators = generator;
}

struct vpg_generator *vpg_generator_of(FunctionCallInfo fcinfo, int arg) {
    struct vpg_generator *cached = fcinfo->flinfo->fn_extra; /* the previous row's, which usually has the same name */
    const char *name = vpg_default_name;
    int length;
    if (PG_NARGS() > arg) {
        if (PG_ARGISNULL(arg))
            ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("the name of a generator must not be null"));
        const text *given = PG_GETARG_TEXT_PP(arg);
        name = VARDATA_ANY(given);
        length = (int)VARSIZE_ANY_EXHDR(given);
    } else
        length = (int)strlen(name);
    if (!cached || !is_named(cached, name, length)) cached = fcinfo->flinfo->fn_extra = find_generator(name, length);
    return cached;
}
