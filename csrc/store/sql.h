/* sql.h -- what the stores in database servers share: the text of one statement, and leases in rows.
 *
 *     vesta_namespace (ns, ver, incarnation, record)
 *     vesta_lease     (ns, worker, ver, written_us, record) */
#ifndef VS_STORE_SQL_H
#define VS_STORE_SQL_H

#include "store/reply.h"

#include <stddef.h>

#define VS_SQL_MAX 8192
struct vs_sql {
    size_t length;
    char text[VS_SQL_MAX];
};

__attribute__((format(printf, 2, 3))) void vs_sql_add(struct vs_sql *sql, const char *format, ...);
/* Adds bytes in hex digits. */
void vs_sql_hex(struct vs_sql *sql, const void *bytes, size_t length);

/* The result of a write.  NONE: no row matched the condition, or a unique key was violated.  TOLD: the reply has been
 * filled. */
enum vs_fate { VS_FATE_DONE, VS_FATE_NONE, VS_FATE_TOLD };

/* ------------------------------------------------------------------ rows */

/* A row of either table. */
struct vs_sql_row {
    char record[VS_RECORD_TEXT_MAX];
    size_t length;        /* length of the record, limited to the buffer */
    uint64_t ver, number; /* number: the worker id, or the incarnation */
    int64_t written_us;
};

/* Parse a row into reply->record (or ns).  Return false if the record is invalid, or if the row was changed by hand.
 * `where` names the store. */
bool vs_sql_take_record(const struct vs_sql_row *row, const char *where, struct vs_reply *reply);
bool vs_sql_take_ns(const struct vs_sql_row *row, const char *where, struct vs_reply *reply);

/* A swap overwrites only a complete record with version `ver` that vs_follows would accept.  These write the LIKE
 * patterns of such records: those of next's claim, and those of the claim before.  Return the length. */
#define VS_SQL_LIKE_MAX 160
size_t vs_sql_like_own(char like[VS_SQL_LIKE_MAX], uint64_t ver, const struct vs_record *next);
size_t vs_sql_like_last(char like[VS_SQL_LIKE_MAX], uint64_t ver, const struct vs_record *next);

/* ------------------------------------------------------------------ swaps */

/* How to read the records of a store again. */
struct vs_sql_leases {
    struct vs_store *store;
    const char *where;
    struct vs_met *met;
    /* Read into reply->ns (or record), with ver 0 if there is no record. */
    bool (*load_ns)(struct vs_store *store, struct vs_reply *reply);
    bool (*load_record)(struct vs_store *store, uint64_t worker, struct vs_reply *reply);
};

/* Reads the namespace's record before the first swap, unless this object has already read it. */
bool vs_sql_knows_namespace(const struct vs_sql_leases *leases, struct vs_reply *reply);
/* Fill the reply to a swap.  DONE needs reply->store_ms.  With NONE, they read why no row was written.  The server
 * executes the statements of a connection one after another, so a write that was not done before this reply will never
 * be done. */
void vs_sql_swapped(const struct vs_sql_leases *leases, enum vs_fate fate, uint64_t worker, uint64_t old_ver,
                    const struct vs_record *record, struct vs_reply *reply);
void vs_sql_ns_swapped(const struct vs_sql_leases *leases, enum vs_fate fate, const struct vs_ns_record *record,
                       struct vs_reply *reply);

/* ------------------------------------------------------------------ URIs */

/* Checks the parts of scheme://user@host/database?tls= that are alike in all these stores.  The path may have at most
 * path_max bytes. */
int vs_sql_check_uri(const char *scheme, const struct vs_uri *uri, const char *tls, size_t path_max,
                     struct vesta_error *err);

#endif
