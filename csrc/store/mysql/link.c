/* link.c -- see link.h.  Does not interpret records. */
#include "store/mysql/link.h"
#include "base/array.h"
#include "os/process.h"
#include "os/random.h"

#include <assert.h>
#include <errmsg.h>
#include <errno.h>
#include <inttypes.h>
#include <mysqld_error.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LATE_US 1500000 /* how long to wait for a late statement.  Longer than innodb_lock_wait_timeout */
#define CONNECT_S 10    /* limit for opening a connection.  Each call waits only until the call's deadline */

/* Session settings that results depend on, so that the server's defaults and init_connect cannot change them. */
static const char *const session[] = {
    /* The settings have these effects, in their order.  Each statement is committed automatically.  Lists are not
     * truncated. Strings use the client's character set, and a string that is too long is an error.  Unique keys are
     * checked.  A statement ends in the server soon after its call, because lock waits are limited, and an abandoned
     * connection ends by itself. */
    "SET SESSION autocommit = 1, completion_type = 0, sql_select_limit = 18446744073709551615, sql_big_selects = 1,"
    " group_concat_max_len = 1024, sql_safe_updates = 0, unique_checks = 1, character_set_client = utf8mb4,"
    " character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci,"
    " sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 1, lock_wait_timeout = 1,"
    " wait_timeout = 3600 /*M! , max_statement_time = 20 */"
    /* without this, AUTO_INCREMENT is read from a cache */
    " /*!80000 , max_execution_time = 20000, information_schema_stats_expiry = 0 */",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
};
_Static_assert(VS_STORE_LIST_MS < 20000, "must be less than the statement limit");

/* ------------------------------------------------------------------ errors */

/* One row per error that is not just a broken connection.  For REFUSED, CONFLICT and DOWN, the server did not execute
 * the statement.  AS_SENT means that the error does not decide this, so a write that was sent stays UNKNOWN. */
#define AS_SENT VS_STORE_OK
static const struct meaning {
    unsigned error;
    enum vs_outcome outcome;
    enum vs_fault fault;
} meanings[] = {
    /* faults of the connection to the server, reported by the client library */
    {CR_CONNECTION_ERROR, AS_SENT, VS_FAULT_UNREACHABLE},
    {CR_CONN_HOST_ERROR, AS_SENT, VS_FAULT_UNREACHABLE},
    {CR_UNKNOWN_HOST, AS_SENT, VS_FAULT_NAME},
    {CR_VERSION_ERROR, AS_SENT, VS_FAULT_STRANGER},
    {CR_SERVER_HANDSHAKE_ERR, AS_SENT, VS_FAULT_STRANGER},
    {CR_MALFORMED_PACKET, AS_SENT, VS_FAULT_STRANGER},
    {CR_OUT_OF_MEMORY, AS_SENT, VS_FAULT_MEMORY},
    {CR_SSL_CONNECTION_ERROR, VS_STORE_REFUSED, VS_FAULT_TLS},
    {3159 /* ER_SECURE_TRANSPORT_REQUIRED */, VS_STORE_REFUSED, VS_FAULT_WANTS_TLS},
    /* faults of the database user */
    {ER_ACCESS_DENIED_ERROR, VS_STORE_REFUSED, VS_FAULT_LOGIN},
    {1698 /* ER_ACCESS_DENIED_NO_PASSWORD_ERROR */, VS_STORE_REFUSED, VS_FAULT_SOCKET_LOGIN},
    {ER_HOST_IS_BLOCKED, VS_STORE_REFUSED, VS_FAULT_HOST},
    {ER_HOST_NOT_PRIVILEGED, VS_STORE_REFUSED, VS_FAULT_HOST},
    {4150 /* ER_USER_IS_BLOCKED */, VS_STORE_REFUSED, VS_FAULT_LOCKED_ACCOUNT},
    {4151 /* ER_ACCOUNT_HAS_BEEN_LOCKED, MariaDB */, VS_STORE_REFUSED, VS_FAULT_LOCKED_ACCOUNT},
    {3118 /* ER_ACCOUNT_HAS_BEEN_LOCKED, MySQL */, VS_STORE_REFUSED, VS_FAULT_LOCKED_ACCOUNT},
    {3955 /* ..._BLOCKED_BY_PASSWORD_LOCK, MySQL */, VS_STORE_REFUSED, VS_FAULT_LOCKED_ACCOUNT},
    {1820 /* ER_MUST_CHANGE_PASSWORD */, VS_STORE_REFUSED, VS_FAULT_EXPIRED_PASSWORD},
    {1862 /* ER_MUST_CHANGE_PASSWORD_LOGIN */, VS_STORE_REFUSED, VS_FAULT_EXPIRED_PASSWORD},
    {ER_NOT_SUPPORTED_AUTH_MODE, VS_STORE_REFUSED, VS_FAULT_METHOD},
    {1524 /* ER_PLUGIN_IS_NOT_LOADED */, VS_STORE_REFUSED, VS_FAULT_METHOD},
    {CR_AUTH_PLUGIN_CANNOT_LOAD, VS_STORE_REFUSED, VS_FAULT_METHOD},
    {CR_AUTH_PLUGIN_ERR, VS_STORE_REFUSED, VS_FAULT_METHOD},
    {ER_DBACCESS_DENIED_ERROR, VS_STORE_REFUSED, VS_FAULT_RIGHTS},
    {ER_TABLEACCESS_DENIED_ERROR, VS_STORE_REFUSED, VS_FAULT_RIGHTS},
    {ER_COLUMNACCESS_DENIED_ERROR, VS_STORE_REFUSED, VS_FAULT_RIGHTS},
    {ER_SPECIFIC_ACCESS_DENIED_ERROR, VS_STORE_REFUSED, VS_FAULT_RIGHTS},
    {ER_PROCACCESS_DENIED_ERROR, VS_STORE_REFUSED, VS_FAULT_RIGHTS},
    /* faults of the objects that a store needs */
    {ER_BAD_DB_ERROR, VS_STORE_REFUSED, VS_FAULT_NO_DATABASE},
    {ER_NO_SUCH_TABLE, VS_STORE_REFUSED, VS_FAULT_NO_TABLES},
    {1932 /* ER_NO_SUCH_TABLE_IN_ENGINE */, VS_STORE_REFUSED, VS_FAULT_DISK},
    {ER_BAD_FIELD_ERROR, VS_STORE_REFUSED, VS_FAULT_SCHEMA},
    {ER_DATA_TOO_LONG, VS_STORE_REFUSED, VS_FAULT_SCHEMA},
    {ER_WARN_DATA_OUT_OF_RANGE, VS_STORE_REFUSED, VS_FAULT_SCHEMA},
    {ER_DATA_OUT_OF_RANGE, VS_STORE_REFUSED, VS_FAULT_SCHEMA},
    {ER_NO_DEFAULT_FOR_FIELD, VS_STORE_REFUSED, VS_FAULT_SCHEMA},
    {ER_UNKNOWN_STORAGE_ENGINE, VS_STORE_REFUSED, VS_FAULT_OPTION},
    {ER_UNKNOWN_SYSTEM_VARIABLE, VS_STORE_REFUSED, VS_FAULT_VERSION},
    {ER_PARSE_ERROR, VS_STORE_REFUSED, VS_FAULT_VERSION},
    /* faults of the server's state and settings */
    /* the error's text may select another fault */
    {ER_OPTION_PREVENTS_STATEMENT, VS_STORE_REFUSED, VS_FAULT_OPTION},
    {1792 /* ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION */, VS_STORE_REFUSED, VS_FAULT_READ_ONLY},
    {1836 /* ER_READ_ONLY_MODE */, VS_STORE_REFUSED, VS_FAULT_READ_ONLY},
    {ER_OPEN_AS_READONLY, VS_STORE_REFUSED, VS_FAULT_READ_ONLY},
    {ER_BINLOG_LOGGING_IMPOSSIBLE, VS_STORE_REFUSED, VS_FAULT_BINLOG},
    {1661 /* ER_BINLOG_ROW_ENGINE_AND_STMT_ENGINE */, VS_STORE_REFUSED, VS_FAULT_BINLOG},
    {1662 /* ER_BINLOG_ROW_MODE_AND_STMT_ENGINE */, VS_STORE_REFUSED, VS_FAULT_BINLOG},
    {1663 /* ER_BINLOG_UNSAFE_AND_STMT_ENGINE */, VS_STORE_REFUSED, VS_FAULT_BINLOG},
    {1665 /* ER_BINLOG_STMT_MODE_AND_ROW_ENGINE */, VS_STORE_REFUSED, VS_FAULT_BINLOG},
    {ER_CON_COUNT_ERROR, VS_STORE_DOWN, VS_FAULT_CONNECTIONS},
    {ER_TOO_MANY_USER_CONNECTIONS, VS_STORE_DOWN, VS_FAULT_CONNECTIONS},
    {ER_USER_LIMIT_REACHED, VS_STORE_DOWN, VS_FAULT_CONNECTIONS},
    {ER_LOCK_WAIT_TIMEOUT, VS_STORE_DOWN, VS_FAULT_LOCKED},
    {ER_LOCK_DEADLOCK, VS_STORE_DOWN, VS_FAULT_NONE},         /* the next attempt succeeds */
    {ER_UNKNOWN_COM_ERROR, VS_STORE_DOWN, VS_FAULT_MAJORITY}, /* reported by a Galera node that has lost its cluster */
    {ER_UNKNOWN_STMT_HANDLER, VS_STORE_DOWN, VS_FAULT_NONE},
    {1615 /* ER_NEED_REPREPARE */, VS_STORE_DOWN, VS_FAULT_NONE},
    {ER_DUP_ENTRY, VS_STORE_CONFLICT, VS_FAULT_NONE},
    {ER_RECORD_FILE_FULL, VS_STORE_REFUSED, VS_FAULT_FULL},
    {ER_DISK_FULL, AS_SENT, VS_FAULT_FULL},
    {ER_OUTOFMEMORY, AS_SENT, VS_FAULT_SERVER},
    {ER_OUT_OF_RESOURCES, AS_SENT, VS_FAULT_SERVER},
    {ER_SERVER_SHUTDOWN, AS_SENT, VS_FAULT_UNREACHABLE},
    {ER_GET_ERRNO, AS_SENT, VS_FAULT_SERVER},
    {ER_CRASHED_ON_USAGE, AS_SENT, VS_FAULT_DISK},
    {ER_CRASHED_ON_REPAIR, AS_SENT, VS_FAULT_DISK},
};

static bool is_clients(unsigned error) {
    return (error >= CR_MIN_ERROR && error <= CR_MAX_ERROR) || error >= CR_EVENT_CREATE_FAILED;
}

/* Returns the meaning of an error.  Errors without a row get a default meaning. */
static struct meaning meaning_of(unsigned error, const char *said) {
    struct meaning meaning = {error, AS_SENT, error == 0 || is_clients(error) ? VS_FAULT_SILENT : VS_FAULT_SERVER};
    for (size_t i = 0; i < VS_COUNT(meanings); i++)
        if (meanings[i].error == error) meaning = meanings[i];
    bool names_reading = strstr(said, "read-only") || strstr(said, "read_only");
    if (error == ER_OPTION_PREVENTS_STATEMENT && names_reading) meaning.fault = VS_FAULT_READ_ONLY;
    if (error == ER_OPTION_PREVENTS_STATEMENT && strstr(said, "ENGINE_SUBSTITUTION")) meaning.fault = VS_FAULT_ENFORCED;
    return meaning;
}

bool vs_mysql_trouble(const struct mysql_place *place, unsigned error, const char *said, enum vs_outcome otherwise,
                      struct vs_reply *reply) {
    assert(otherwise != VS_STORE_CONFLICT); /* CONFLICT would be left over from an earlier statement */
    struct meaning meaning = meaning_of(error, said);
    bool is_open = meaning.outcome == AS_SENT || (otherwise == VS_STORE_UNKNOWN && is_clients(error));
    return vs_answer_fault(reply, is_open ? otherwise : meaning.outcome, meaning.fault, "%.60s: %.640s", place->where,
                           said[0] ? said : "the server does not respond");
}

bool vs_mysql_said_no(struct mysql_store *self, struct vs_reply *reply) {
    assert(self->my); /* vs_mysql_drop has not been called */
    unsigned error = mysql_errno(self->my);
    vs_mysql_trouble(&self->place, error, mysql_error(self->my), reply->outcome, reply);
    bool is_told = reply->outcome == VS_STORE_REFUSED || reply->outcome == VS_STORE_CONFLICT;
    if (error == CR_SERVER_LOST || error == CR_SERVER_GONE_ERROR) self->losses = vs_pool_lose(self->pool);
    if (error >= CR_MIN_ERROR || !is_told) vs_mysql_drop(self);
    return false;
}

bool vs_mysql_no_answer(struct mysql_store *self, const char *why, struct vs_reply *reply) {
    vs_mysql_drop(self);
    return vs_answer(reply, reply->outcome, "%.60s: %s", self->place.where, why);
}

/* ------------------------------------------------------------------ checks */

static bool is_off(const char *value) {
    return strcmp(value, "0") == 0 || strcmp(value, "OFF") == 0;
}

bool vs_mysql_check_read_only(const struct mysql_place *place, const char *value, struct vs_reply *reply) {
    return is_off(value) ||
           vs_answer_fault(reply, VS_STORE_REFUSED, VS_FAULT_READ_ONLY, "%.60s: the server is read-only", place->where);
}

/* Runs a query and returns the complete result. */
static MYSQL_RES *mysql_query_text(const struct mysql_place *place, MYSQL *my, const char *text, unsigned columns,
                                   struct vs_reply *reply) {
    MYSQL_RES *result = mysql_query(my, text) == 0 ? mysql_store_result(my) : NULL;
    if (result && mysql_num_fields(result) == columns) return result;
    vs_mysql_trouble(place, mysql_errno(my), mysql_error(my), VS_STORE_DOWN, reply);
    mysql_free_result(result);
    return NULL;
}

/* Checks that the tables are as `vesta store init` creates them.  Without the primary key, a table would accept two
 * first claims of one worker id. */
static bool check_tables(const struct mysql_place *place, MYSQL *my, struct vs_reply *reply) {
    static const char text[] =
        "SELECT COUNT(*), COALESCE(SUM((SELECT GROUP_CONCAT(s.column_name ORDER BY s.seq_in_index)"
        " FROM information_schema.statistics AS s"
        " WHERE s.table_schema = t.table_schema AND s.table_name = t.table_name AND s.index_name = 'PRIMARY')"
        " = IF(t.table_name = 'vesta_lease', 'ns,worker', 'ns')), 0), SUM(t.engine = 'InnoDB'),"
        " " VS_SQL_UNSAFE("'vesta_namespace', 'vesta_lease'") " FROM information_schema.tables AS t"
                                                              " WHERE t.table_schema = DATABASE() AND t.table_name IN "
                                                              "('vesta_namespace', 'vesta_lease')";
    enum { COL_TABLES, COL_KEYS, COL_SAFE, COL_UNSAFE, COLUMNS };
    MYSQL_RES *result = mysql_query_text(place, my, text, COLUMNS, reply);
    if (!result) return false;
    MYSQL_ROW row = mysql_fetch_row(result);
    bool is_whole = row && row[COL_TABLES] && row[COL_KEYS], is_there = is_whole && strcmp(row[COL_TABLES], "2") == 0;
    bool is_safe = is_there && row[COL_SAFE] && strcmp(row[COL_SAFE], "2") == 0;
    bool is_well = is_safe && strcmp(row[COL_KEYS], "2") == 0;
    if (!is_whole)
        vs_answer(reply, VS_STORE_DOWN, "%.60s: " VS_MYSQL_NO_ROW, place->where);
    else if (!is_there)
        vs_answer_fault(reply, VS_STORE_REFUSED, VS_FAULT_NO_TABLES, "%.60s: its tables are missing", place->where);
    else if (!is_safe)
        vs_answer_fault(reply, VS_STORE_REFUSED, VS_FAULT_ENGINE, "%.60s: %.160s", place->where,
                        row[COL_UNSAFE] ? row[COL_UNSAFE] : "one of the tables is a view");
    else if (!is_well)
        vs_answer_fault(reply, VS_STORE_REFUSED, VS_FAULT_SCHEMA,
                        "%.60s: the tables do not have the primary keys that `vesta store init` creates", place->where);
    mysql_free_result(result);
    return is_well;
}

/* The server's variables.  `version` is "" if they could not be read. */
struct self_portrait {
    char version[64], read_only[16], wsrep_on[16];
};

static void keep_variable(struct self_portrait *portrait, const char *name, const char *value) {
    if (strcasecmp(name, "version") == 0) snprintf(portrait->version, sizeof portrait->version, "%s", value);
    if (strcasecmp(name, "read_only") == 0) snprintf(portrait->read_only, sizeof portrait->read_only, "%s", value);
    if (strcasecmp(name, "wsrep_on") == 0) snprintf(portrait->wsrep_on, sizeof portrait->wsrep_on, "%s", value);
}

static bool check_server(const struct mysql_place *place, MYSQL *my, struct vs_reply *reply) {
    struct self_portrait portrait = {"", "", ""};
    MYSQL_ROW row;
    MYSQL_RES *result = mysql_query_text(
        place, my, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'read_only', 'wsrep_on')", 2, reply);
    if (!result) return false;
    while ((row = mysql_fetch_row(result)))
        if (row[0] && row[1]) keep_variable(&portrait, row[0], row[1]);
    mysql_free_result(result);
    if (!portrait.version[0] || !portrait.read_only[0])
        return vs_answer(reply, VS_STORE_DOWN, "%.60s: " VS_MYSQL_NO_ROW, place->where);
    if (!vs_mysql_check_read_only(place, portrait.read_only, reply)) return false;
    if (strcmp(portrait.wsrep_on, "ON") == 0 && !place->uri.value[KEY_GALERA][0])
        return vs_answer(reply, VS_STORE_REFUSED,
                         "%.60s: a Galera cluster with several writers loses updates: send all writes to one node and "
                         "set galera=single-writer",
                         place->where);
    return true;
}

bool vs_mysql_check(const struct mysql_place *place, MYSQL *my, bool needs_tables, struct vs_reply *reply) {
    return check_server(place, my, reply) && (!needs_tables || check_tables(place, my, reply));
}

/* ------------------------------------------------------------------ making a connection */

/* Returns whether to use TLS, which is the default for all hosts except this machine. */
static bool wants_tls(const struct mysql_place *place) {
    const char *said = place->uri.value[KEY_TLS];
    if (said[0]) return strcmp(said, "verify") == 0;
    bool is_here = place->uri.value[KEY_SOCKET][0] || strcmp(place->host, "localhost") == 0 ||
                   strcmp(place->host, "127.0.0.1") == 0 || strcmp(place->host, "::1") == 0;
    return !is_here || place->uri.value[KEY_CA][0];
}

static void set_options(const struct mysql_place *place, MYSQL *my) {
    unsigned seconds = CONNECT_S, off = 0;
    assert(place->read_s > 0);         /* the client library treats 0 as no limit */
    unsigned tcp = MYSQL_PROTOCOL_TCP; /* without this, "localhost" selects a socket */
    my_bool yes = 1;
    if (!place->uri.value[KEY_SOCKET][0]) mysql_options(my, MYSQL_OPT_PROTOCOL, &tcp);
    mysql_options(my, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_options(my, MYSQL_OPT_READ_TIMEOUT, &place->read_s);
    mysql_options(my, MYSQL_OPT_WRITE_TIMEOUT, &place->read_s);
    mysql_options(my, MYSQL_OPT_LOCAL_INFILE, &off);
    mysql_options(my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (!wants_tls(place)) return;
    mysql_ssl_set(my, NULL, NULL, place->uri.value[KEY_CA][0] ? place->uri.value[KEY_CA] : NULL, NULL, NULL);
    mysql_options(my, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(my, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
}

/* A connection that another thread is opening.  Everything is copied, because in the meantime the store may be closed
 * and the process may be forked. */
struct mysql_making {
    struct mysql_place place;
    bool needs_tables;
    MYSQL *my; /* NULL after a failure, with the reason in the reply */
    struct vs_reply reply;
};

static void init_library(void) {
    mysql_library_init(0, NULL, NULL);
}

static bool set_session(MYSQL *my) {
    for (size_t i = 0; i < VS_COUNT(session); i++)
        if (mysql_query(my, session[i]) != 0) return false;
    return true;
}

static void mysql_make_link(void *work) {
    struct mysql_making *making = work;
    const struct mysql_place *place = &making->place;
    const char *socket = place->uri.value[KEY_SOCKET][0] ? place->uri.value[KEY_SOCKET] : NULL;
    assert(!making->my);
    assert(place->uri.path[0] == '/'); /* the database's name follows the slash */
    assert(making->reply.outcome == VS_STORE_DOWN);
    MYSQL *my = mysql_init(NULL);
    if (!my) {
        vs_answer(&making->reply, VS_STORE_DOWN, "no memory for a connection");
        return;
    }
    set_options(place, my);
    if (!mysql_real_connect(my, socket ? "localhost" : place->host, place->uri.user, place->secret, place->uri.path + 1,
                            place->port, socket, CLIENT_FOUND_ROWS) ||
        !set_session(my))
        vs_mysql_trouble(place, mysql_errno(my), mysql_error(my), VS_STORE_DOWN, &making->reply);
    else if (vs_mysql_check(place, my, making->needs_tables, &making->reply))
        making->my = my;
    if (!making->my) mysql_close(my);
}

static void drop_making(void *work) {
    struct mysql_making *making = work;
    if (making->my) mysql_close(making->my);
    explicit_bzero(making->place.secret, sizeof making->place.secret);
    explicit_bzero(&making->place.uri, sizeof making->place.uri);
    free(making);
}

static bool mysql_start_making(struct mysql_store *self, bool needs_tables, struct vs_reply *reply) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_library);
    assert(!self->making); /* otherwise `making` would leak */
    assert(!self->my);
    struct mysql_making *making = calloc(1, sizeof *making);
    if (!making) return vs_answer(reply, VS_STORE_DOWN, "no memory for a connection");
    making->place = self->place;
    making->needs_tables = needs_tables;
    vs_reply_clear(&making->reply);
    self->making = vs_errand_send(mysql_make_link, drop_making, making);
    if (self->making) return true;
    drop_making(making);
    return vs_answer(reply, VS_STORE_DOWN, "no thread for a connection");
}

/* Waits for the connection until the call's deadline.  If the connection takes longer, the next call continues to wait.
 */
static bool mysql_await_making(struct mysql_store *self, struct vs_reply *reply) {
    assert(!self->my); /* otherwise `my` would leak */
    if (!vs_errand_wait(self->making, &self->base))
        return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_SILENT,
                               "%.60s: the connection was not open before the deadline", self->place.where);
    struct mysql_making *making = vs_errand_take(self->making);
    self->making = NULL;
    self->my = making->my;
    self->has_tables = making->needs_tables;
    making->my = NULL;
    if (!self->my) *reply = making->reply;
    drop_making(making);
    assert(self->my || reply->outcome != VS_STORE_OK);
    return self->my != NULL;
}

/* ------------------------------------------------------------------ the connection */

/* Forgets the parent's connection in a forked child.  The child must not close it, because that would send a message on
 * it. */
static void mysql_leave_to_parent(struct mysql_store *self) {
    if (self->process == vs_process_token()) return;
    self->process = vs_process_token();
    self->my = NULL;
    self->making = NULL;
    self->late = NULL;
}

static void end_late(struct mysql_store *self) {
    if (self->late) mysql_close(self->late);
    self->late = NULL;
}

void vs_mysql_drop(struct mysql_store *self) {
    mysql_leave_to_parent(self);
    end_late(self);
    if (self->my) mysql_close(self->my);
    if (self->making) vs_errand_leave(self->making);
    self->my = NULL;
    self->making = NULL;
}

/* Returns whether the idle connection is readable.  If it is, the server has closed it, or has sent data that would be
 * read as the next reply. */
static bool is_stale(MYSQL *my) {
    struct pollfd fd = {.fd = mysql_get_socket(my), .events = POLLIN};
    return poll(&fd, 1, 0) != 0;
}

/* A pooled connection, or a connection that is being opened. */
struct mysql_parked {
    MYSQL *my;
    bool has_tables;
    struct vs_errand *making;
};

static bool mysql_parked_is_lost(void *link) {
    const struct mysql_parked *parked = link;
    return parked->my && is_stale(parked->my);
}

static void mysql_end_parked(void *link) {
    struct mysql_parked *parked = link;
    if (parked->my) mysql_close(parked->my);
    if (parked->making) vs_errand_leave(parked->making);
    free(parked);
}

#define IDLE_US 10000000
static const struct vs_pool_kind kind = {IDLE_US, mysql_parked_is_lost, mysql_end_parked};

bool vs_mysql_enter(struct mysql_store *self) {
    self->pool = vs_pool_enter(&kind, &self->place, sizeof self->place);
    return self->pool != NULL;
}

static int64_t mysql_clock_us(const struct mysql_store *self) {
    return self->base.clock->boot_us(self->base.clock->self);
}

void vs_mysql_leave(struct mysql_store *self) {
    void *links[VS_POOL_MAX];
    if (!self->pool) return;
    vs_mysql_park(self, mysql_clock_us(self));
    end_late(self);
    for (unsigned left = vs_pool_leave(self->pool, links); left > 0; left--)
        mysql_end_parked(links[left - 1]);
}

void vs_mysql_park(struct mysql_store *self, int64_t now_us) {
    mysql_leave_to_parent(self);
    if (!self->my && !self->making) return;
    struct mysql_parked *parked = malloc(sizeof *parked);
    if (!parked) vs_mysql_drop(self);
    if (!parked) return;
    *parked = (struct mysql_parked){self->my, self->has_tables, self->making};
    self->my = NULL;
    self->making = NULL;
    vs_pool_put(self->pool, parked, now_us);
}

static void mysql_take_parked(struct mysql_store *self, int64_t now_us) {
    struct mysql_parked *parked = NULL;
    if (self->my || self->making)
        self->losses = vs_pool_losses(self->pool, now_us);
    else
        parked = vs_pool_take(self->pool, now_us, &self->losses);
    if (!parked) return;
    self->my = parked->my;
    self->has_tables = parked->has_tables;
    self->making = parked->making;
    free(parked);
}

bool vs_mysql_stirred(struct vs_store *store, int64_t now_boot_us) {
    const struct mysql_store *self = (const struct mysql_store *)store;
    if (self->process != vs_process_token()) return false;
    return self->my ? is_stale(self->my) : vs_pool_losses(self->pool, now_boot_us) != self->losses;
}

/* Drops a connection that the server has closed, and counts the loss for other stores that use the pool. */
static void mysql_drop_stale(struct mysql_store *self) {
    if (!self->my || !is_stale(self->my)) return;
    self->losses = vs_pool_lose(self->pool);
    vs_mysql_drop(self);
}

/* Checks the tables if the connection was opened for a call that did not need them. */
static bool has_tables(struct mysql_store *self, bool needs_tables, struct vs_reply *reply) {
    assert(self->my);
    if (!needs_tables || self->has_tables) return true;
    self->has_tables = vs_mysql_check(&self->place, self->my, true, reply);
    if (!self->has_tables) vs_mysql_drop(self);
    return self->has_tables;
}

/* Retains the connection of an unanswered statement, because the server may still execute the statement, for example
 * when a table lock ends. */
static void keep_late(struct mysql_store *self) {
    end_late(self);
    self->late = self->my;
    self->late_until_us = mysql_clock_us(self) + LATE_US;
    self->my = NULL;
}

/* Waits until the unanswered statement has ended.  Call this before another connection is opened. */
static bool await_late(struct mysql_store *self, struct vs_reply *reply) {
    while (self->late && !is_stale(self->late) && mysql_clock_us(self) < self->late_until_us) {
        struct pollfd fd = {.fd = mysql_get_socket(self->late), .events = POLLIN};
        int64_t slice_ms = vs_call_slice_ms(&self->base),
                left_ms = (self->late_until_us - mysql_clock_us(self) + 999) / 1000;
        if (slice_ms <= 0)
            return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_LOCKED,
                                   "%.60s: the server did not end the last statement before the deadline",
                                   self->place.where);
        poll(&fd, 1, (int)(slice_ms < left_ms ? slice_ms : left_ms));
    }
    end_late(self);
    return true;
}

bool vs_mysql_begin(struct mysql_store *self, int64_t ms_max, bool needs_tables, struct vs_reply *reply) {
    vs_reply_clear(reply);
    mysql_leave_to_parent(self);
    int64_t now_us = vs_call_begin(&self->base, ms_max);
    if (!await_late(self, reply)) return false;
    mysql_take_parked(self, now_us);
    assert(!self->my || !self->making); /* a store never has an open connection and one that is being opened */
    mysql_drop_stale(self);
    if (self->my) return has_tables(self, needs_tables, reply);
    if (self->making && vs_errand_is_done(self->making) && !mysql_await_making(self, reply))
        vs_reply_clear(reply); /* retry after an error that occurred between two calls, and report the new error */
    mysql_drop_stale(self);
    if (self->my) return has_tables(self, needs_tables, reply);
    if ((!self->making && !mysql_start_making(self, needs_tables, reply)) || !mysql_await_making(self, reply))
        return false;
    /* opening had a separate deadline, because otherwise the first call to a distant server would always fail */
    vs_call_begin(&self->base, ms_max);
    return has_tables(self, needs_tables, reply);
}

/* ------------------------------------------------------------------ statements */

uint64_t vs_mysql_nonce(struct mysql_store *self) {
    if (self->nonce == 0 && vs_random(&self->nonce, sizeof self->nonce) != 0)
        self->nonce = (uint64_t)self->base.until_us;
    return ++self->nonce;
}

void vs_sql_bytes(struct vs_sql *sql, const void *bytes, size_t length) {
    vs_sql_add(sql, "x'");
    vs_sql_hex(sql, bytes, length);
    vs_sql_add(sql, "'");
}

/* Waits for the start of the reply.  The client library's own timeout has a resolution of whole seconds. */
static bool await_answer(struct mysql_store *self) {
    struct pollfd fd = {.fd = mysql_get_socket(self->my), .events = POLLIN};
    int64_t slice_ms;
    while ((slice_ms = vs_call_slice_ms(&self->base)) > 0)
        if (poll(&fd, 1, (int)slice_ms) > 0) return true;
    return false;
}

bool vs_mysql_send(struct mysql_store *self, const struct vs_sql *sql, struct vs_reply *reply) {
    assert(self->my);
    assert(self->process == vs_process_token()); /* never use a parent's connection */
    assert(sql->text[sql->length] == '\0');
    if (mysql_send_query(self->my, sql->text, sql->length) != 0) return vs_mysql_said_no(self, reply);
    if (!await_answer(self)) {
        keep_late(self);
        return vs_answer_fault(reply, reply->outcome, VS_FAULT_SILENT, "%.60s: no reply before the deadline",
                               self->place.where);
    }
    return mysql_read_query_result(self->my) == 0 || vs_mysql_said_no(self, reply);
}

bool vs_mysql_rows(struct mysql_store *self, const struct vs_sql *sql, unsigned columns, struct vs_rows *rows,
                   struct vs_reply *reply) {
    assert(columns > 1); /* the nonce, and at least one result */
    *rows = (struct vs_rows){.result = NULL};
    if (!vs_mysql_send(self, sql, reply)) return false;
    rows->result = mysql_field_count(self->my) == columns ? mysql_use_result(self->my) : NULL;
    return rows->result || vs_mysql_no_answer(self, "the reply belongs to another statement", reply);
}

bool vs_mysql_list(struct mysql_store *self, const struct vs_sql *sql, unsigned columns, struct vs_rows *rows,
                   struct vs_reply *reply) {
    if (!vs_mysql_rows(self, sql, columns, rows, reply)) return false;
    rows->count_column = columns - 1;
    return true;
}

/* Returns whether all rows have arrived.  An empty list still has one row, from the LEFT JOIN. */
static bool is_whole(const struct vs_rows *rows) {
    return rows->count_column == 0 || rows->seen == 0 || rows->seen == (rows->counted ? rows->counted : 1);
}

/* Frees the result without reading its remaining rows, because the connection was dropped. */
static int give_up_rows(struct vs_rows *rows) {
    rows->result->handle = NULL;
    vs_mysql_rows_done(rows);
    return -1;
}

int vs_mysql_fetch(struct mysql_store *self, struct vs_rows *rows, struct vs_reply *reply) {
    assert(rows->result); /* after -1, the result has already been freed */
    assert(self->my);
    if (vs_call_slice_ms(&self->base) <= 0) {
        vs_mysql_no_answer(self, "the list did not end before the deadline", reply);
        return give_up_rows(rows);
    }
    rows->row = mysql_fetch_row(rows->result);
    if (!rows->row && mysql_errno(self->my) == 0 && is_whole(rows)) return 0;
    if (!rows->row && mysql_errno(self->my) == 0) {
        vs_mysql_no_answer(self, "the list does not have all of its rows", reply);
        return give_up_rows(rows);
    }
    if (!rows->row) {
        vs_mysql_said_no(self, reply);
        return give_up_rows(rows);
    }
    rows->length = mysql_fetch_lengths(rows->result);
    char nonce[24];
    snprintf(nonce, sizeof nonce, "%" PRIu64, self->nonce);
    rows->seen++;
    bool counts = !rows->count_column || vs_mysql_count(rows, (int)rows->count_column, &rows->counted);
    if (counts && rows->row[0] && strcmp(rows->row[0], nonce) == 0) return 1;
    vs_mysql_no_answer(self, "the reply belongs to another statement", reply);
    return give_up_rows(rows);
}

void vs_mysql_rows_done(struct vs_rows *rows) {
    if (rows->result) mysql_free_result(rows->result);
    rows->result = NULL;
}

bool vs_mysql_cell(const struct vs_rows *rows, int column, int64_t *out) {
    char *end;
    const char *cell = rows->row[column];
    errno = 0;
    if (cell) *out = strtoll(cell, &end, 10);
    return cell && errno == 0 && rows->length[column] > 0 && end == cell + rows->length[column];
}

bool vs_mysql_count(const struct vs_rows *rows, int column, uint64_t *out) {
    char *end;
    const char *cell = rows->row[column];
    errno = 0;
    if (!cell || *cell == '-') return false;
    *out = strtoull(cell, &end, 10);
    return errno == 0 && rows->length[column] > 0 && end == cell + rows->length[column];
}

static bool ask_stamp(struct mysql_store *self, uint64_t *stamp, struct vs_reply *reply) {
    struct vs_sql sql = {.length = 0};
    struct vs_rows rows;
    vs_sql_add(&sql, "SELECT %" PRIu64 ", LAST_INSERT_ID()", vs_mysql_nonce(self));
    if (!vs_mysql_rows(self, &sql, 2, &rows, reply)) return false;
    int found = vs_mysql_fetch(self, &rows, reply);
    if (found < 0) return false;
    bool is_read = found == 1 && vs_mysql_count(&rows, 1, stamp);
    vs_mysql_rows_done(&rows);
    return is_read || vs_mysql_no_answer(self, VS_MYSQL_NO_ROW, reply);
}

bool vs_mysql_stamp(struct mysql_store *self, uint64_t mask, uint64_t mark, uint64_t *stamp, struct vs_reply *reply) {
    assert((mark & ~mask) == 0);
    *stamp = mysql_insert_id(self->my);
    if (*stamp && (*stamp & mask) == mark) return true;
    if (!ask_stamp(self, stamp, reply)) return false;
    return (*stamp && (*stamp & mask) == mark) ||
           vs_mysql_no_answer(self, "the reply belongs to another statement", reply);
}
