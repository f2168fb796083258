/* mysql_link.h -- the connection under mysql.c: made, checked, dropped, left to a parent; and what a server's errors
 * mean.
 */
#ifndef VS_STORE_MYSQL_LINK_H
#define VS_STORE_MYSQL_LINK_H

#include "store/reply.h"

#include <mysql.h>

enum statement { ST_READ, ST_LIST, ST_INSERT, ST_UPDATE, ST_NS_READ, ST_NS_INSERT, ST_NS_UPDATE, ST_COUNT };

/* "0" or "OFF" where the server takes writes: some versions name it, some count it. */
#define VS_SQL_READ_ONLY "CAST(@@global.read_only AS CHAR)"

/* Of the URI. */
enum { KEY_TLS, KEY_CA, KEY_SECRET_FILE, KEY_SOCKET, KEY_GALERA };

struct mysql_store {
    struct vs_store base;
    const struct vesta_clock *clock;
    int64_t call_ms_max, until_us; /* until_us: when the call under way is over, in boot time */
    struct vs_uri uri;
    char host[256], secret[256], namespace_[VESTA_NAMESPACE_MAX], where[160];
    unsigned port;
    struct vs_met met;
    pid_t pid; /* whose connection it is */
    MYSQL *my; /* NULL: not connected */
    MYSQL_STMT *stmt[ST_COUNT];
};

/* Opens a call: connected to a server that can be a store, with a deadline.  False with the reply filled. */
bool vs_mysql_begin(struct mysql_store *self, int64_t ms_max, bool needs_tables, struct vs_reply *reply);
int64_t vs_mysql_left_ms(const struct mysql_store *self);

/* Fills the reply by an error.  `otherwise`, where the error does not say: UNKNOWN for a write that was sent. */
void vs_mysql_trouble(struct mysql_store *self, unsigned error, const char *said, enum vs_outcome otherwise,
                      struct vs_reply *reply);

/* Closes the connection; in a forked child it only forgets the parent's. */
void vs_mysql_drop(struct mysql_store *self);

/* A server that can be written to and, where needs_tables, has ours. */
bool vs_mysql_check(struct mysql_store *self, bool needs_tables, struct vs_reply *reply);
bool vs_mysql_check_read_only(struct mysql_store *self, const char *value, struct vs_reply *reply);

/* mysql_foreign.c: other generators' tables. */
void vs_mysql_foreign(struct vs_store *store, enum vs_foreign_kind kind, const char *name, struct vs_foreign **rows,
                      size_t *count, struct vs_reply *reply);

#endif
