/* mysql_link.c -- the connection under mysql.c; see mysql_link.h.  Knows no record. */
#include "store/mysql_link.h"
#include "core/core.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* Nobody waits long for a row; text is refused, not cut; an abandoned connection ends by itself. */
static const char session[] = "SET SESSION autocommit = 1, innodb_lock_wait_timeout = 1, wait_timeout = 3600,"
                              " sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'";

/* ------------------------------------------------------------------ errors */

/* What a server's error means for a statement that it names: it was not done.  Others may have come too late to know.
 */
static const struct meaning {
    unsigned error;
    enum vs_outcome outcome;
    const char *advice; /* NULL: what the server said */
} meanings[] = {
    {ER_NO_SUCH_TABLE, VS_STORE_REFUSED,
     "its tables are missing: run `vesta store init` with the right to CREATE (--again, if they were there)"},
    {ER_OPTION_PREVENTS_STATEMENT, VS_STORE_REFUSED, "the server is read-only: the URI must name the primary"},
    {1792 /* ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION */, VS_STORE_REFUSED, "the session is read-only"},
    {1836 /* ER_READ_ONLY_MODE */, VS_STORE_REFUSED, "the server is read-only: the URI must name the primary"},
    {ER_ACCESS_DENIED_ERROR, VS_STORE_REFUSED, NULL},
    {ER_DBACCESS_DENIED_ERROR, VS_STORE_REFUSED, NULL},
    {1698 /* ER_ACCESS_DENIED_NO_PASSWORD_ERROR */, VS_STORE_REFUSED, NULL},
    {ER_TABLEACCESS_DENIED_ERROR, VS_STORE_REFUSED, NULL},
    {ER_COLUMNACCESS_DENIED_ERROR, VS_STORE_REFUSED, NULL},
    {ER_SPECIFIC_ACCESS_DENIED_ERROR, VS_STORE_REFUSED, NULL},
    {ER_BAD_DB_ERROR, VS_STORE_REFUSED, "there is no such database: CREATE DATABASE, and then `vesta store init`"},
    {ER_BAD_FIELD_ERROR, VS_STORE_REFUSED, NULL},
    {ER_DATA_TOO_LONG, VS_STORE_REFUSED, NULL},
    {ER_RECORD_FILE_FULL, VS_STORE_REFUSED, NULL},
    {CR_SSL_CONNECTION_ERROR, VS_STORE_REFUSED, NULL},
    {CR_AUTH_PLUGIN_CANNOT_LOAD, VS_STORE_REFUSED, NULL},
    {ER_LOCK_WAIT_TIMEOUT, VS_STORE_DOWN, "somebody keeps the row locked"},
    {ER_LOCK_DEADLOCK, VS_STORE_DOWN, NULL},
    {ER_CON_COUNT_ERROR, VS_STORE_DOWN, NULL},
    {ER_TOO_MANY_USER_CONNECTIONS, VS_STORE_DOWN, NULL},
    {ER_UNKNOWN_COM_ERROR, VS_STORE_DOWN, NULL}, /* a Galera node without its cluster */
    {ER_UNKNOWN_STMT_HANDLER, VS_STORE_DOWN, NULL},
    {1615 /* ER_NEED_REPREPARE */, VS_STORE_DOWN, NULL},
};

/* `otherwise`: UNKNOWN for a write that was sent, DOWN for all else. */
void vs_mysql_trouble(struct mysql_store *self, unsigned error, const char *said, enum vs_outcome otherwise,
                      struct vs_reply *reply) {
    for (size_t i = 0; i < VS_COUNT(meanings); i++) {
        if (meanings[i].error != error) continue;
        bool sent = otherwise == VS_STORE_UNKNOWN && error == CR_SSL_CONNECTION_ERROR;
        vs_answer(reply, sent ? otherwise : meanings[i].outcome, "%.60s: %.129s", self->where,
                  meanings[i].advice ? meanings[i].advice : said);
        return;
    }
    vs_answer(reply, otherwise, "%.60s: %.129s", self->where, said[0] ? said : "it does not answer");
}

/* ------------------------------------------------------------------ the connection */

/* To close an inherited connection would say goodbye in the parent's name. */
static void leave_to_parent(struct mysql_store *self) {
    if (self->pid == getpid()) return;
    self->pid = getpid();
    self->my = NULL;
    memset(self->stmt, 0, sizeof self->stmt);
}

void vs_mysql_drop(struct mysql_store *self) {
    leave_to_parent(self);
    if (self->my) mysql_close(self->my); /* first: a statement would read what is still to come of its rows */
    self->my = NULL;
    for (int i = 0; i < ST_COUNT; i++) {
        if (self->stmt[i]) mysql_stmt_close(self->stmt[i]);
        self->stmt[i] = NULL;
    }
}

int64_t vs_mysql_left_ms(const struct mysql_store *self) {
    return (self->until_us - self->clock->boot_us(self->clock->self)) / 1000;
}

/* One cell of a query without parameters; false where it failed (the reply says so) or has no row. */
static bool ask_cell(struct mysql_store *self, const char *query, unsigned column, char *out, size_t size,
                     struct vs_reply *reply) {
    out[0] = '\0';
    if (vs_mysql_left_ms(self) <= 0) {
        vs_answer(reply, VS_STORE_DOWN, "%.60s: no answer in time", self->where);
        return false;
    }
    MYSQL_RES *result = mysql_query(self->my, query) == 0 ? mysql_store_result(self->my) : NULL;
    if (!result) {
        vs_mysql_trouble(self, mysql_errno(self->my), mysql_error(self->my), VS_STORE_DOWN, reply);
        return false;
    }
    MYSQL_ROW row = mysql_fetch_row(result);
    bool found = row && row[column];
    if (found) snprintf(out, size, "%s", row[column]);
    mysql_free_result(result);
    return found;
}

static bool is_off(const char *value) {
    return strcmp(value, "0") == 0 || strcmp(value, "OFF") == 0;
}

bool vs_mysql_check_read_only(struct mysql_store *self, const char *value, struct vs_reply *reply) {
    if (is_off(value)) return true;
    vs_mysql_trouble(self, ER_OPTION_PREVENTS_STATEMENT, "", VS_STORE_REFUSED, reply);
    return false;
}

/* As init makes them.  Without its primary key a table takes two first claims of one number. */
static bool check_tables(struct mysql_store *self, struct vs_reply *reply) {
    static const char query[] =
        "SELECT CONCAT(COUNT(*), '/', COALESCE(SUM(t.engine = 'InnoDB' AND"
        " (SELECT GROUP_CONCAT(s.column_name ORDER BY s.seq_in_index) FROM information_schema.statistics AS s"
        " WHERE s.table_schema = t.table_schema AND s.table_name = t.table_name AND s.index_name = 'PRIMARY')"
        " = IF(t.table_name = 'vesta_lease', 'ns,worker', 'ns')), 0)) FROM information_schema.tables AS t"
        " WHERE t.table_schema = DATABASE() AND t.table_name IN ('vesta_namespace', 'vesta_lease')";
    char cell[64];
    if (!ask_cell(self, query, 0, cell, sizeof cell, reply) || strcmp(cell, "2/2") == 0)
        return reply->outcome == VS_STORE_OK;
    if (cell[0] == '2')
        vs_answer(reply, VS_STORE_REFUSED,
                  "%.50s: its tables are not as `vesta store init` makes them: InnoDB, and their primary keys",
                  self->where);
    else
        vs_mysql_trouble(self, ER_NO_SUCH_TABLE, "", VS_STORE_REFUSED, reply);
    return false;
}

/* Whether this is a server that can be a store: the primary, not a cluster of many writers, with our tables. */
bool vs_mysql_check(struct mysql_store *self, bool needs_tables, struct vs_reply *reply) {
    char cell[64];
    reply->outcome = VS_STORE_OK;
    if (!ask_cell(self, "SELECT " VS_SQL_READ_ONLY, 0, cell, sizeof cell, reply) ||
        !vs_mysql_check_read_only(self, cell, reply))
        return false;
    ask_cell(self, "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'", 1, cell, sizeof cell, reply);
    if (strcmp(cell, "ON") == 0 && !self->uri.value[KEY_GALERA][0]) {
        vs_answer(
            reply, VS_STORE_REFUSED,
            "%.60s: a Galera cluster loses updates of several writers: send all to one node, say galera=single-writer",
            self->where);
        return false;
    }
    if (!needs_tables || reply->outcome != VS_STORE_OK) return reply->outcome == VS_STORE_OK;
    return check_tables(self, reply);
}

/* A network is trusted no further than this machine. */
static bool wants_tls(const struct mysql_store *self) {
    const char *said = self->uri.value[KEY_TLS];
    if (said[0]) return strcmp(said, "verify") == 0;
    bool is_here = self->uri.value[KEY_SOCKET][0] || strcmp(self->host, "localhost") == 0 ||
                   strcmp(self->host, "127.0.0.1") == 0 || strcmp(self->host, "::1") == 0;
    return !is_here || self->uri.value[KEY_CA][0];
}

static void set_options(const struct mysql_store *self, MYSQL *my) {
    unsigned seconds = (unsigned)((self->call_ms_max + 999) / 1000), off = 0; /* the client counts in whole seconds */
    unsigned tcp = MYSQL_PROTOCOL_TCP; /* else "localhost" would mean a socket somewhere */
    my_bool yes = 1;
    if (!self->uri.value[KEY_SOCKET][0]) mysql_options(my, MYSQL_OPT_PROTOCOL, &tcp);
    mysql_options(my, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_options(my, MYSQL_OPT_READ_TIMEOUT, &seconds);
    mysql_options(my, MYSQL_OPT_WRITE_TIMEOUT, &seconds);
    mysql_options(my, MYSQL_OPT_LOCAL_INFILE, &off);
    mysql_options(my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (!wants_tls(self)) return;
    mysql_ssl_set(my, NULL, NULL, self->uri.value[KEY_CA][0] ? self->uri.value[KEY_CA] : NULL, NULL, NULL);
    mysql_options(my, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(my, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
}

static void init_library(void) {
    mysql_library_init(0, NULL, NULL);
}

static bool connect_to(struct mysql_store *self, bool needs_tables, struct vs_reply *reply) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_library);
    MYSQL *my = mysql_init(NULL);
    if (!my) {
        vs_answer(reply, VS_STORE_DOWN, "no memory for a connection");
        return false;
    }
    set_options(self, my);
    const char *socket = self->uri.value[KEY_SOCKET][0] ? self->uri.value[KEY_SOCKET] : NULL;
    self->my = my;
    if (!mysql_real_connect(my, socket ? "localhost" : self->host, self->uri.user, self->secret, self->uri.path + 1,
                            self->port, socket, CLIENT_FOUND_ROWS) ||
        mysql_query(my, session) != 0)
        vs_mysql_trouble(self, mysql_errno(my), mysql_error(my), VS_STORE_DOWN, reply);
    else if (vs_mysql_check(self, needs_tables, reply))
        return true;
    vs_mysql_drop(self);
    return false;
}

/* A server that has closed an idle connection has left its goodbye to be read. */
static bool is_stale(const struct mysql_store *self) {
    struct pollfd fd = {.fd = mysql_get_socket(self->my), .events = POLLIN};
    return poll(&fd, 1, 0) != 0;
}

/* Opens the call: connected, with a deadline. */
bool vs_mysql_begin(struct mysql_store *self, int64_t ms_max, bool needs_tables, struct vs_reply *reply) {
    vs_reply_clear(reply);
    leave_to_parent(self);
    self->until_us = self->clock->boot_us(self->clock->self) + ms_max * 1000;
    if (self->my && is_stale(self)) vs_mysql_drop(self);
    if (!self->my) return connect_to(self, needs_tables, reply);
    reply->outcome = VS_STORE_OK;
    return true;
}
