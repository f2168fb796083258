/* dial.c -- opens a connection to the first host of a list that accepts writes.  Name lookups block, so this code runs
 * in a separate thread (errand.h). */
#include "base/slice.h"
#include "os/thread.h"
#include "store/postgresql/link.h"

#include <assert.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DIAL_MS 10000   /* limit for all hosts together.  Each call waits only until the call's deadline */
#define ATTEMPT_MS 3000 /* limit for one address, if there are others */
#define VERSION_MIN 120000
#define NO_FILE "/dev/null/-" /* a path that never exists.  An empty value would select a file in the home directory   \
                               */

void vs_pg_end_link(struct pg_link *link) {
    if (!link) return;
    PQfinish(link->pg);
    free(link);
}

void vs_pg_drop_making(void *work) {
    struct pg_making *making = work;
    vs_pg_end_link(making->link);
    explicit_bzero(making->place.secret, sizeof making->place.secret);
    explicit_bzero(&making->place.uri, sizeof making->place.uri);
    free(making);
}

/* ------------------------------------------------------------------ options of the client library */

static bool pg_is_here(const char *host) {
    return strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 || strcmp(host, "::1") == 0;
}

/* Returns whether to use TLS, which is the default for all hosts except this machine. */
static bool pg_wants_tls(const struct pg_place *place, const char *host) {
    const char *said = place->uri.value[KEY_TLS];
    if (said[0]) return strcmp(said, "verify") == 0;
    return (!place->uri.value[KEY_SOCKET][0] && !pg_is_here(host)) || place->uri.value[KEY_CA][0];
}

/* Returns the file with the trusted CAs.  Since version 16, the client library finds the system's CAs itself. */
static const char *pg_ca_of(const struct pg_place *place) {
    static const char *const files[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem", NULL};
    if (place->uri.value[KEY_CA][0]) return place->uri.value[KEY_CA];
    if (PQlibVersion() >= 160000) return "system";
    size_t i = 0;
    while (files[i + 1] && access(files[i], R_OK) != 0)
        i++;
    return files[i];
}

/* Sets all options that the client library would otherwise read from the environment or the home directory, because a
 * URI must have the same meaning for every user. */
static PGconn *pg_start(const struct pg_place *place, const struct pg_host *host, const char *address) {
    const char *socket = place->uri.value[KEY_SOCKET];
    bool is_tls = pg_wants_tls(place, host->name);
    char port[8], sockets[2 * sizeof place->uri.value[0]];
    snprintf(port, sizeof port, "%u", host->port);
    snprintf(sockets, sizeof sockets, "%s,%s", socket, socket);
    const char *const options[][2] = {
        {"host", *socket ? sockets : host->name},
        {"hostaddr", *socket ? "," : address}, /* one entry per host: without them, libpq reads PGHOSTADDR */
        {"port", port},
        {"dbname", place->uri.path + 1},
        {"user", place->uri.user},
        {"password", place->secret},
        {"passfile", NO_FILE},
        {"sslmode", is_tls ? "verify-full" : "disable"},
        {"sslrootcert", is_tls ? pg_ca_of(place) : NO_FILE},
        {"sslcert", NO_FILE},
        {"sslkey", NO_FILE},
        {"sslcrl", NO_FILE},
        {"gssencmode", "disable"},
        {"target_session_attrs", "any"},  /* pg_try finds out whether the server accepts writes */
        {"client_encoding", "SQL_ASCII"}, /* vesta's data is ASCII, and vesta reads other rows as bytes */
        {"application_name", "vesta"},
        {NULL, NULL},
    };
    const char *keys[sizeof options / sizeof *options], *values[sizeof options / sizeof *options];
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        keys[i] = options[i][0];
        values[i] = options[i][1];
    }
    return PQconnectStartParams(keys, values, 0);
}

/* ------------------------------------------------------------------ one address */

/* If an administrator cancels the wait for the standby, the server commits, and only sends a warning. */
static void pg_on_notice(void *arg, const PGresult *notice) {
    struct pg_link *link = arg;
    const char *function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
    if (function && strcmp(function, "SyncRepWaitForLSN") == 0) link->is_unreplicated = true;
}

static bool pg_await_link(const struct pg_making *making, PGconn *pg, const struct pg_wait *wait,
                          struct vs_reply *reply) {
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (status != PGRES_POLLING_OK) {
        if (status == PGRES_POLLING_FAILED || PQstatus(pg) == CONNECTION_BAD)
            return vs_pg_dial_trouble(&making->place, PQerrorMessage(pg), reply);
        bool is_reached = PQstatus(pg) != CONNECTION_STARTED && PQstatus(pg) != CONNECTION_NEEDED;
        if (!vs_pg_wait(pg, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, wait))
            return vs_answer_fault(reply, VS_STORE_DOWN, is_reached ? VS_FAULT_SILENT : VS_FAULT_UNREACHABLE,
                                   "%.60s: the server does not respond", making->place.where);
        status = PQconnectPoll(pg);
    }
    return true;
}

static bool pg_check_version(const struct pg_making *making, PGconn *pg, struct vs_reply *reply) {
    int version = PQserverVersion(pg);
    return version >= VERSION_MIN || vs_answer_fault(reply, VS_STORE_REFUSED, VS_FAULT_VERSION,
                                                     "%.60s: the server has version %d, and vesta needs %d",
                                                     making->place.where, version / 10000, VERSION_MIN / 10000);
}

/* Returns whether the server accepts writes, and has the tables if the call needs them.  Every transaction requests
 * write access, which a standby rejects. */
static bool pg_check(const struct pg_making *making, struct pg_link *link, const struct pg_wait *wait,
                     struct vs_reply *reply) {
    static const struct vs_sql nothing = {8, "SELECT 1"};
    PGresult *result = NULL;
    if (making->needs_tables) return vs_pg_check_tables(&making->place, link, wait, reply);
    bool well = vs_pg_exec(&making->place, link, wait, 1, &nothing, &result, reply) == PG_WELL;
    PQclear(result);
    return well;
}

static bool pg_try(struct pg_making *making, unsigned host, const char *address, int64_t until_us,
                   struct vs_reply *reply) {
    struct pg_link *link = calloc(1, sizeof *link);
    struct pg_wait wait = {NULL, until_us};
    vs_reply_clear(reply);
    if (link) link->pg = pg_start(&making->place, &making->place.host[host], address);
    if (!link || !link->pg) {
        free(link);
        return vs_answer_fault(reply, VS_STORE_DOWN, VS_FAULT_MEMORY, "no memory for a connection");
    }
    PQsetErrorVerbosity(link->pg, PQERRORS_VERBOSE); /* the text of a failure then contains its SQLSTATE */
    PQsetNoticeReceiver(link->pg, pg_on_notice, link);
    link->host = host;
    link->has_tables = making->needs_tables;
    if (pg_await_link(making, link->pg, &wait, reply) && pg_check_version(making, link->pg, reply) &&
        PQsetnonblocking(link->pg, 1) == 0 && pg_check(making, link, &wait, reply)) {
        making->link = link;
        return true;
    }
    vs_pg_end_link(link);
    return false;
}

/* ------------------------------------------------------------------ a list of hosts */

/* Ranks a failure by its importance to users.  An unreachable host may be the primary, so it ranks above a standby. */
static int pg_rank(const struct vs_reply *reply) {
    if (!*reply->text) return 0;
    return reply->outcome == VS_STORE_DOWN ? 3 : reply->fault == VS_FAULT_STANDBY ? 1 : 2;
}

static void pg_keep_reason(struct pg_making *making, const struct vs_reply *reply) {
    if (pg_rank(reply) > pg_rank(&making->reply)) making->reply = *reply;
}

static bool pg_try_addresses(struct pg_making *making, unsigned host, const struct addrinfo *at, int64_t until_us,
                             struct vs_reply *reply) {
    char address[NI_MAXHOST];
    for (; at && vs_monotonic_us() < until_us; at = at->ai_next) {
        int64_t attempt_us = vs_monotonic_us() + ATTEMPT_MS * 1000;
        bool is_only = making->place.hosts == 1 && !at->ai_next;
        if (getnameinfo(at->ai_addr, at->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST) != 0) continue;
        if (pg_try(making, host, address, is_only || attempt_us > until_us ? until_us : attempt_us, reply)) return true;
        pg_keep_reason(making, reply);
    }
    return false;
}

static bool pg_try_host(struct pg_making *making, unsigned host, int64_t until_us) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct vs_reply reply;
    const char *name = making->place.host[host].name;
    vs_reply_clear(&reply);
    if (making->place.uri.value[KEY_SOCKET][0]) {
        bool well = pg_try(making, host, NULL, until_us, &reply);
        pg_keep_reason(making, &reply);
        return well;
    }
    int rc = getaddrinfo(name, NULL, &hints, &found);
    if (rc != 0) {
        vs_answer_fault(&reply, VS_STORE_DOWN, VS_FAULT_NAME, "%.60s: the name of the host %.100s: %s",
                        making->place.where, name, gai_strerror(rc));
        pg_keep_reason(making, &reply);
        return false;
    }
    bool well = pg_try_addresses(making, host, found, until_us, &reply);
    freeaddrinfo(found);
    return well;
}

void vs_pg_dial(void *work) {
    struct pg_making *making = work;
    int64_t until_us = vs_monotonic_us() + DIAL_MS * 1000;
    assert(making->place.hosts > 0);
    assert(!making->link);
    for (unsigned i = 0; i < making->place.hosts; i++)
        if (pg_try_host(making, (making->host + i) % making->place.hosts, until_us)) return;
    assert(making->reply.outcome != VS_STORE_OK);
    if (!*making->reply.text)
        vs_answer_fault(&making->reply, VS_STORE_DOWN, VS_FAULT_UNREACHABLE, "%.60s: no address was reached",
                        making->place.where);
}
