/* vesta_plain.h -- the part of vesta.h for foreign function interfaces (FFIs): functions without structs.
 *
 * Every argument and result is a number, a string or a buffer, so that a language with an FFI needs no layout of a
 * struct.  The classes in examples/inprocess use only this header.
 *
 *     char answer[VESTA_ANSWER_MAX];
 *     uint64_t handle = vesta_plain_open("namespace=orders any_worker=true", answer), id;
 *     if (!handle) return puts(answer), 1;
 *     if ((id = vesta_plain_next(handle)) || (id = vesta_plain_next_wait(handle, 2000, answer))) use(id);
 *     else puts(answer);
 *     vesta_plain_close(handle);
 *
 * A *handle* is the number of an open generator, never 0.  Each function accepts 0 as a closed handle, and fails with
 * VESTA_ECLOSED.  So a class sets its handle to 0 when it closes.
 *
 * An *answer* is the caller's buffer of VESTA_ANSWER_MAX bytes.  A function writes lines NAME=VALUE into it, each with
 * a newline at its end.  A control character in a value is written as a space.  A function that fails writes:
 *
 *     code=pause              vesta_code_name
 *     reason=clock_back       vesta_why_name, only if the code is pause
 *     wait_ms=1500            how long to wait before the next attempt, -1 if waiting will not help. Only for a pause
 *     text=the clock is 1.500 s behind the latest time seen, and ids resume in 1.500 s
 *
 * Functions return a negative enum vesta_code, or 0 if their result is a handle or an id, when they fail. */
#ifndef VESTA_PLAIN_H
#define VESTA_PLAIN_H

#include "vesta.h"
#include "vesta_uuid.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VESTA_ANSWER_MAX 4096 /* bytes of an answer, with the NUL */

/* Opens a generator like vesta_open_text.  Returns its handle, or 0.  Threads: any.  Own: close with
 * vesta_plain_close. */
VESTA_API uint64_t vesta_plain_open(const char *options, char *answer);

/* Closes a handle.  Threads: no other call with this handle may run at the same time or follow. */
VESTA_API void vesta_plain_close(uint64_t handle);

/* Issues one id like vesta_next, and starts this process's keeper if it has none.  Returns 0 if no id is available now:
 * then call vesta_plain_next_wait, which can wait and returns the reason.  Skips the id 0.  Never blocks, so it may be
 * called while a lock of the language's runtime is held.  Threads: any, also after fork() in parent and child. */
VESTA_API uint64_t vesta_plain_next(uint64_t handle);

/* Issues one id like vesta_next_wait.  Returns 0 on failure.  Skips the id 0.  Threads: any.  May block. */
VESTA_API uint64_t vesta_plain_next_wait(uint64_t handle, int64_t wait_ms_max, char *answer);

/* Issues exactly n ids like vesta_batch_wait.  Shape: ids[0..n), n from 1 to VESTA_BATCH_MAX.  Threads: any.  May
 * block.  Errors: VESTA_EPAUSE, VESTA_ECLOSED, and VESTA_EOPTION for another n. */
VESTA_API int vesta_plain_batch(uint64_t handle, uint64_t *ids, int64_t n, int64_t wait_ms_max, char *answer);

/* Issues one UUID like vesta_next_uuid_wait (vesta_uuid.h), and writes it as text: a UUID in lower case with hyphens, a
 * ULID, or 32 hex digits.  shape is "uuid7", "uuid8", "ulid" or "hex32".
 * Shape: text has VESTA_UUID_TEXT_MAX bytes.  Threads: any, also after fork() in parent and child.  May block.
 * Errors: VESTA_EPAUSE, VESTA_ECLOSED, and VESTA_EOPTION for another shape, or one that the layout cannot have. */
VESTA_API int vesta_plain_next_uuid(uint64_t handle, const char *shape, char *text, int64_t wait_ms_max, char *answer);

/* Splits an id into the fields of the generator's layout.  The answer has a line for each field, and unix_ms.  Threads:
 * any.  Errors: VESTA_EID, VESTA_ECLOSED. */
VESTA_API int vesta_plain_explain(uint64_t handle, uint64_t id, char *answer);

/* Makes an id by hand, like vesta_make, from "time=5 seq=1 worker=3".  The answer is id=N.  Threads: any.
 * Errors: VESTA_EFIELD, VESTA_ECLOSED. */
VESTA_API int vesta_plain_make(uint64_t handle, const char *fields, char *answer);

/* Writes the members of struct vesta_info.  `layout` is the layout's text.  worker, tick, limit and lease_end_ms are
 * written only if a lease is held.  Threads: any.  Errors: VESTA_ECLOSED. */
VESTA_API int vesta_plain_info(uint64_t handle, char *answer);

/* Writes an id as text=TEXT, and reads `length` bytes back as id=N.  base is "decimal", "hex", "base32" or "base62".
 * Threads: any.  Errors: VESTA_EOPTION for another base, VESTA_EID. */
VESTA_API int vesta_plain_format(const char *base, uint64_t id, char *answer);
VESTA_API int vesta_plain_parse(const char *base, const char *text, uint64_t length, char *answer);

#ifdef __cplusplus
}
#endif
#endif
