/* errors.c -- the outcome and the fault of each error: SQLSTATEs of the server, and errors while a connection is
 * opened. */
#include "base/array.h"
#include "store/postgresql/link.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* One row per error that is not just a broken connection.  A state of two characters is a class of errors, and comes
 * after its exceptions.  For REFUSED, CONFLICT and DOWN, the server has rolled the transaction back.  AS_SENT means
 * that the transaction may have been committed, so a write that was sent stays UNKNOWN. */
#define AS_SENT VS_STORE_OK
static const struct pg_meaning {
    const char *state;
    enum vs_outcome outcome;
    enum vs_fault fault;
} pg_meanings[] = {
    /* faults of the database user */
    {"28000", VS_STORE_REFUSED, VS_FAULT_LOGIN}, /* the error's text may select another fault */
    {"28P01", VS_STORE_REFUSED, VS_FAULT_LOGIN},
    {"42501", VS_STORE_REFUSED, VS_FAULT_GRANT},
    /* faults of the objects that a store needs */
    {"3D000", VS_STORE_REFUSED, VS_FAULT_NO_DATABASE},
    {"3F000", VS_STORE_REFUSED, VS_FAULT_NO_SCHEMA},
    {"42P01", VS_STORE_REFUSED, VS_FAULT_NO_TABLES},
    {"42703", VS_STORE_REFUSED, VS_FAULT_SCHEMA}, /* a column is missing */
    {"42804", VS_STORE_REFUSED, VS_FAULT_SCHEMA}, /* a column has another type */
    {"42883", VS_STORE_REFUSED, VS_FAULT_SCHEMA}, /* the same, if no operator exists for the type */
    {"42P10", VS_STORE_REFUSED, VS_FAULT_SCHEMA}, /* the primary key is missing */
    {"22", VS_STORE_REFUSED, VS_FAULT_SCHEMA},    /* a column is too narrow */
    {"23505", VS_STORE_CONFLICT, VS_FAULT_NONE},
    {"23", VS_STORE_REFUSED, VS_FAULT_SCHEMA}, /* an administrator has added a constraint */
    {"42601", VS_STORE_REFUSED, VS_FAULT_VERSION},
    {"42704", VS_STORE_REFUSED, VS_FAULT_VERSION}, /* an unknown setting or type */
    /* faults of the server's state and settings */
    {"0A000", VS_STORE_REFUSED, VS_FAULT_STANDBY}, /* SET TRANSACTION READ WRITE on a standby */
    {"25006", VS_STORE_REFUSED, VS_FAULT_STANDBY},
    {"40003", AS_SENT, VS_FAULT_SILENT},
    {"40", VS_STORE_DOWN, VS_FAULT_NONE}, /* a deadlock or a conflict of transactions: the next attempt succeeds */
    {"55P03", VS_STORE_DOWN, VS_FAULT_LOCKED_ROW},
    {"57014", VS_STORE_DOWN, VS_FAULT_LOCKED_ROW}, /* the statement was canceled, before its commit */
    {"53100", AS_SENT, VS_FAULT_FULL},
    {"53300", VS_STORE_DOWN, VS_FAULT_CONNECTIONS},
    {"57P01", AS_SENT, VS_FAULT_UNREACHABLE}, /* the server stops */
    {"57P02", AS_SENT, VS_FAULT_UNREACHABLE},
    {"57P03", VS_STORE_DOWN, VS_FAULT_UNREACHABLE}, /* the server starts */
    {"08", AS_SENT, VS_FAULT_SILENT},
};

static struct pg_meaning pg_meaning_of(const char *state, const char *said) {
    struct pg_meaning meaning = {state, AS_SENT, *state ? VS_FAULT_SERVER : VS_FAULT_SILENT};
    for (size_t i = 0; i < VS_COUNT(pg_meanings); i++)
        if (strncmp(pg_meanings[i].state, state, strlen(pg_meanings[i].state)) == 0) {
            meaning = pg_meanings[i];
            break;
        }
    if (strcmp(state, "28000") == 0 && strstr(said, "pg_hba.conf")) meaning.fault = VS_FAULT_HBA;
    return meaning;
}

bool vs_pg_trouble(const struct pg_place *place, const char *state, const char *said, enum vs_outcome otherwise,
                   struct vs_reply *reply) {
    assert(otherwise != VS_STORE_CONFLICT); /* CONFLICT would be left over from an earlier statement */
    struct pg_meaning meaning = pg_meaning_of(state, said);
    return vs_answer_fault(reply, meaning.outcome == AS_SENT ? otherwise : meaning.outcome, meaning.fault,
                           "%.60s: %.600s", place->where, *said ? said : "the server does not respond");
}

/* ------------------------------------------------------------------ connections that were not opened */

/* The client library reports no SQLSTATE of such an error, but its verbose text contains it.  Moves it from the first
 * line of the text, as in "FATAL:  28P01: password authentication failed", to `state`. */
static void pg_split_said(const char *said, char *line, size_t size, char state[6]) {
    snprintf(line, size, "%.*s", (int)strcspn(said, "\n"), said);
    state[0] = '\0';
    for (char *at = line; (at = strstr(at, ":  ")); at += 3) {
        char *code = at + 3;
        size_t length = strspn(code, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (length != 5 || strncmp(code + 5, ": ", 2) != 0) continue;
        snprintf(state, 6, "%.5s", code);
        memmove(code, code + 7, strlen(code + 7) + 1);
        return;
    }
}

/* The client library's own errors have only a text. */
static const struct pg_words {
    const char *part;
    enum vs_outcome outcome;
    enum vs_fault fault;
} pg_words[] = {
    {"Connection refused", VS_STORE_DOWN, VS_FAULT_UNREACHABLE},
    {"invalid response to SSL negotiation", VS_STORE_DOWN, VS_FAULT_STRANGER},
    {"expected authentication request", VS_STORE_DOWN, VS_FAULT_STRANGER},
    {"no password supplied", VS_STORE_REFUSED, VS_FAULT_LOGIN},
    {"authentication method", VS_STORE_REFUSED, VS_FAULT_METHOD},
    {"SYSCALL", VS_STORE_DOWN, VS_FAULT_SILENT}, /* the network broke during the TLS handshake */
    {"SSL", VS_STORE_REFUSED, VS_FAULT_TLS},
    {"certificate", VS_STORE_REFUSED, VS_FAULT_TLS},
};

bool vs_pg_dial_trouble(const struct pg_place *place, const char *said, struct vs_reply *reply) {
    char line[600], state[6];
    pg_split_said(said, line, sizeof line, state);
    if (*state) return vs_pg_trouble(place, state, line, VS_STORE_DOWN, reply);
    for (size_t i = 0; i < VS_COUNT(pg_words); i++)
        if (strstr(line, pg_words[i].part))
            return vs_answer_fault(reply, pg_words[i].outcome, pg_words[i].fault, "%.60s: %.600s", place->where, line);
    return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_UNREACHABLE, "%.60s: %.600s", place->where, line);
}
