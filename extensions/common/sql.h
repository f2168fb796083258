/* sql.h -- functions that all database extensions share: they open a generator by name, and issue ids for signed
 * columns.
 *
 * Any thread may call these functions, also after fork.  They print nothing.  An error's text is a complete message for
 * the user of the database. */
#ifndef VESTA_EXTENSIONS_SQL_H
#define VESTA_EXTENSIONS_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vesta.h>
#include <vesta_uuid.h>

/* The generator of a call without a name. */
#define VS_SQL_NAME "default"

/* The flags of vesta_open.  VESTA_FILE_KEEPER unless the extension sets other flags, before its first call. */
extern unsigned vs_sql_flags;

/* Finds the generator <folder>/<name>.gen, and opens it at the first call.  Never creates the file.  A name follows the
 * rules for namespaces, so it contains no slash.  Length 0 means VS_SQL_NAME.  If folder is NULL, the folder is the
 * state folder of this user, as for `vesta gen`.  The handle is valid until the process ends: do not close it.  Finding
 * an open generator compares a few strings and takes no lock.
 *
 * With VESTA_FILE_KEEPER, this process runs the generator's keeper only if the store is a file on this host.  Otherwise
 * `vesta serve` must run the keeper, so that no client library of a store enters the process of a database.
 *
 * Errors: VESTA_EOPTION for an invalid name.  VESTA_ENOGEN if there is no such file.  VESTA_EIO with the file, its
 * owner and this user if this user may not use it.  The errors of vesta_open. */
int vs_sql_open(const char *folder, const char *name, size_t length, struct vesta_gen **gen, struct vesta_error *err);

/* Issues one id that fits a signed 64-bit column.  Waits for up to 2 s during a pause.  While it waits, it calls
 * is_stopped(self) every 10 ms, and stops waiting if the result is true.  is_stopped may be NULL.
 * Errors: VESTA_EPAUSE with the reason and the time to wait.  VESTA_ENOTNOW if is_stopped returned true.  VESTA_EID if
 * the id exceeds INT64_MAX. */
int vs_sql_next(struct vesta_gen *gen, bool (*is_stopped)(void *), void *self, int64_t *id, struct vesta_error *err);

/* Issues one UUID, like vs_sql_next, and returns its shape.  `shape` is its name, or empty for uuid7.  Never blocks
 * because the clock went back. Errors: as vs_sql_next, but not VESTA_EID.  VESTA_EOPTION if there is no such shape, or
 * if the layout cannot have it. */
int vs_sql_next_uuid(struct vesta_gen *gen, const char *shape, size_t length, bool (*is_stopped)(void *), void *self,
                     unsigned char uuid[VESTA_UUID_BYTES], struct vesta_error *err);

/* Reads a shape's name.  Returns 0 and sets err if there is no such shape. */
enum vesta_shape vs_sql_shape(const char *name, size_t length, struct vesta_error *err);

/* Reads a UUID, ULID or TypeID, and returns the time in it, in Unix microseconds.
 * Errors: VESTA_EID if the text is none of these, or if it contains no time. */
int vs_sql_uuid_time(const char *text, size_t length, int64_t *unix_us, struct vesta_error *err);

/* Writes a UUID, ULID or TypeID as a TypeID with this prefix.  Shape: buf has VESTA_UUID_TEXT_MAX bytes.
 * Errors: VESTA_EID, VESTA_EFIELD. */
int vs_sql_typeid(const char *prefix, size_t prefix_length, const char *text, size_t length, char *buf,
                  struct vesta_error *err);

/* The fields of an id that SQL functions return. */
struct vs_sql_parts {
    int64_t time_us; /* Unix microseconds of the id's time unit */
    int64_t worker;  /* -1 if the layout has no worker id */
};

/* Splits an id of a signed column into its fields.  A negative number is an id above INT64_MAX.
 * Errors: as vesta_explain.  VESTA_EEPOCH if the time exceeds INT64_MAX. */
int vs_sql_explain(struct vesta_gen *gen, int64_t id, struct vs_sql_parts *out, struct vesta_error *err);

/* Computes the smallest and largest id that vs_sql_next can issue in [from_us, until_us), in Unix microseconds.
 * INT64_MIN as from_us and INT64_MAX as until_us are the ends of the layout's time.  The interval is extended to whole
 * milliseconds, and otherwise treated as in vesta_range.
 * Errors: as vesta_range.  VESTA_EFULL if these ids are not contiguous, because the worker id is above the time.
 * VESTA_EID if an id exceeds INT64_MAX. */
struct vs_sql_range {
    int64_t min, max;
};
int vs_sql_range(struct vesta_gen *gen, int64_t from_us, int64_t until_us, struct vs_sql_range *out,
                 struct vesta_error *err);

/* Reads a time, such as 2026-11-26, 2026-11-26 12:30:00.5 or 2026-11-26T12:30:00+01:00.  Without an offset, the time is
 * read as UTC, and has_offset is false.
 * Errors: VESTA_EFIELD. */
struct vs_sql_time {
    int64_t unix_us;
    bool has_offset;
};
int vs_sql_time_parse(const char *text, size_t length, struct vs_sql_time *out, struct vesta_error *err);

#endif
