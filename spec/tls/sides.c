/* sides.c -- tests both sides of the TLS module over a socket pair: verification, data, and files that are replaced. */
#include "check.h"
#include "os/clock.h"
#include "tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

extern const struct vs_tls vs_tls_module;
static const struct vs_tls *const tls = &vs_tls_module;

static char folder[] = "/tmp/vesta-tls.XXXXXX/made";
#define PATHS 16
static const char *path(const char *name) {
    static _Thread_local char buf[PATHS][96];
    static _Thread_local int at;
    char *to = buf[at++ % PATHS];
    snprintf(to, sizeof buf[0], "%s/%s", folder, name);
    return to;
}

static void run(const char *format, const char *argument) {
    char command[400];
    snprintf(command, sizeof command, format, argument);
    if (system(command) != 0) CHECK_FAIL("%s", command);
}

/* A folder of certificates that no case changes, made once. */
static void make_folder(void) {
    char *slash = strrchr(folder, '/');
    *slash = '\0';
    if (!mkdtemp(folder)) CHECK_FAIL("mkdtemp: %s", strerror(errno));
    *slash = '/';
    run(CERTIFICATES " %s", folder);
}

/* ------------------------------------------------------------------ a pair */

struct end {
    struct vs_tls_conn *conn;
    int fd;
    enum vs_tls_step step;
};

struct pair {
    struct vs_tls_server *server;
    struct vs_tls_client *client;
    struct end at[2]; /* server, client */
};

static struct vs_tls_server *opened(struct vs_tls_server_opts opts) {
    struct vs_tls_server *server = NULL;
    struct vesta_error err;
    if (!opts.certificate) opts.certificate = path("server.pem"), opts.key = path("server.key");
    if (opts.client_certificates) opts.client_ca = path("ca.pem");
    if (tls->server_open(&opts, &server, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return server;
}

/* Continues both handshakes until neither makes progress. */
static void shake(struct end at[2]) {
    for (int i = 0; i < 200; i++) {
        bool more = false;
        struct end *end = &at[i % 2];
        if (end->step == VS_TLS_WANTS_READ || end->step == VS_TLS_WANTS_WRITE) end->step = tls->shake(end->conn, &more);
        if (end->step == VS_TLS_FAILED) shutdown(end->fd, SHUT_WR);
    }
}

static void meet(struct pair *p, const char *name) {
    int fd[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    p->at[0] = (struct end){tls->accept(p->server, fd[0], "http/1.1"), fd[0], VS_TLS_WANTS_READ};
    p->at[1] = (struct end){tls->connect(p->client, fd[1], name), fd[1], VS_TLS_WANTS_WRITE};
    shake(p->at);
}

static void part(struct pair *p) {
    for (int i = 0; i < 2; i++) {
        tls->free(p->at[i].conn);
        close(p->at[i].fd);
    }
    tls->client_close(p->client);
    tls->server_close(p->server);
}

static struct pair made(struct vs_tls_server_opts server, struct vs_tls_client_opts client, const char *name) {
    struct pair p = {.server = opened(server)};
    struct vesta_error err;
    if (!client.ca) client.ca = path("ca.pem");
    if (tls->client_open(&client, &p.client, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    meet(&p, name);
    return p;
}

/* ------------------------------------------------------------------ verified and unverified peers */

static void names_are_verified(void) {
    static const struct {
        const char *name, *ca, *why;
    } rows[] = {{"ids.example.com", "ca.pem", NULL},
                {"localhost", "ca.pem", NULL},
                {"127.0.0.1", "ca.pem", NULL},
                {"orders.example.com", "ca.pem", "hostname mismatch"},
                {"127.0.0.2", "ca.pem", "IP address mismatch"},
                {"::1", "ca.pem", "IP address mismatch"},
                {"localhost", "other.pem", "unable to get local issuer certificate"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pair p =
            made((struct vs_tls_server_opts){0}, (struct vs_tls_client_opts){.ca = path(rows[i].ca)}, rows[i].name);
        CHECK_EQ_I64(p.at[1].step, rows[i].why ? VS_TLS_FAILED : VS_TLS_DONE);
        CHECK_HAS(tls->why(p.at[1].conn), rows[i].why ? rows[i].why : "");
        CHECK(tls->is_refused(p.at[1].conn) == (rows[i].why != NULL));
        part(&p);
    }
}

/* A side that verifies no peer must not report a rejected certificate if something else is wrong. */
static void what_is_not_verified_is_not_refused(void) {
    struct pair p = made((struct vs_tls_server_opts){.client_certificates = VS_TLS_REQUIRED},
                         (struct vs_tls_client_opts){.ca = path("other.pem"), .is_unverified = true}, "elsewhere");
    char byte;
    bool more = false;
    CHECK_EQ_I64(p.at[1].step, VS_TLS_DONE);
    CHECK(tls->read(p.at[1].conn, &byte, 1, &more) < 0);
    CHECK_HAS(tls->why(p.at[1].conn), "certificate required");
    CHECK(!strstr(tls->why(p.at[1].conn), "refused"));
    part(&p);
}

static struct pair shown(const char *name, enum vs_tls_asks asks) {
    char certificate[64], key[64];
    struct vs_tls_client_opts opts = {0};
    snprintf(certificate, sizeof certificate, "%s.pem", name);
    snprintf(key, sizeof key, "%s.key", name);
    if (*name) opts.certificate = path(certificate), opts.key = path(key);
    return made((struct vs_tls_server_opts){.client_certificates = asks}, opts, "localhost");
}

static void a_certificate_is_its_clients_name(void) {
    static const struct {
        const char *shows;
        enum vs_tls_asks asks;
        const char *name, *why;
    } rows[] = {{"orders", VS_TLS_OFF, NULL, NULL},
                {"orders", VS_TLS_OPTIONAL, "orders", NULL},
                {"orders", VS_TLS_REQUIRED, "orders", NULL},
                {"nameless", VS_TLS_REQUIRED, "invoices", NULL},
                {"", VS_TLS_OPTIONAL, NULL, NULL},
                {"", VS_TLS_REQUIRED, NULL, "peer did not return a certificate"},
                {"stranger", VS_TLS_OPTIONAL, NULL, "unable to get local issuer certificate"},
                {"expired", VS_TLS_OPTIONAL, NULL, "certificate has expired"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char buf[VS_TLS_NAME_MAX];
        struct pair p = shown(rows[i].shows, rows[i].asks);
        CHECK_EQ_I64(p.at[0].step, rows[i].why ? VS_TLS_FAILED : VS_TLS_DONE);
        CHECK_HAS(tls->why(p.at[0].conn), rows[i].why ? rows[i].why : "");
        const char *name = rows[i].why ? NULL : tls->peer(p.at[0].conn, buf);
        CHECK(!name == !rows[i].name);
        if (name && rows[i].name) CHECK_STR(name, rows[i].name);
        part(&p);
    }
}

/* ------------------------------------------------------------------ bytes */

#define LOT (1 << 20)

static void a_socket_that_is_full_goes_on_where_it_stopped(void) {
    struct pair p = made((struct vs_tls_server_opts){0}, (struct vs_tls_client_opts){0}, "localhost");
    char *bytes = malloc(LOT), *got = calloc(1, LOT), *moved = malloc(LOT);
    size_t sent = 0, read = 0;
    bool more = false, was_full = false;
    for (int i = 0; i < LOT; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    for (int round = 0; read < LOT && round < 100000; round++) {
        memcpy(moved, bytes + sent, LOT - sent); /* from another address each time */
        ssize_t n = sent < LOT ? tls->write(p.at[0].conn, moved, LOT - sent) : 0;
        CHECK(n >= 0 || errno == EAGAIN);
        was_full |= n < 0;
        if (n > 0) sent += (size_t)n;
        memset(moved, 0, LOT);
        n = tls->read(p.at[1].conn, got + read, LOT - read < 5000 ? LOT - read : 5000, &more);
        if (n > 0) read += (size_t)n;
        CHECK(n >= 0 || errno == EAGAIN);
    }
    CHECK(was_full);
    CHECK(read == LOT && memcmp(bytes, got, LOT) == 0);
    free(bytes), free(got), free(moved);
    part(&p);
}

static void records_that_came_together_are_read_together(void) {
    struct pair p = made((struct vs_tls_server_opts){0}, (struct vs_tls_client_opts){0}, "localhost");
    char got[4096];
    bool more = false;
    for (int i = 0; i < 50; i++)
        CHECK_EQ_I64(tls->write(p.at[1].conn, "PING\r\n", 6), 6);
    CHECK_EQ_I64(tls->read(p.at[0].conn, got, sizeof got, &more), 300);
    CHECK(!more); /* no second read of the socket is needed to know it */
    CHECK(tls->read(p.at[0].conn, got, sizeof got, &more) == -1 && errno == EAGAIN);
    CHECK(!tls->is_reversed(p.at[0].conn));
    part(&p);
}

/* The event for data that arrived in the meantime was already reported, and no other event follows. */
static void what_is_read_of_memory_says_nothing_of_the_socket(void) {
    struct pair p = made((struct vs_tls_server_opts){0}, (struct vs_tls_client_opts){0}, "localhost");
    char got[4096];
    bool more = false;
    for (int i = 0; i < 50; i++)
        CHECK_EQ_I64(tls->write(p.at[1].conn, "PING\r\n", 6), 6);
    CHECK_EQ_I64(tls->read(p.at[0].conn, got, 6, &more), 6);
    CHECK(more);
    CHECK_EQ_I64(tls->write(p.at[1].conn, "PING\r\n", 6), 6);
    more = false;
    CHECK_EQ_I64(tls->read(p.at[0].conn, got, sizeof got, &more), 294);
    CHECK(more);
    CHECK_EQ_I64(tls->read(p.at[0].conn, got, sizeof got, &more), 6);
    part(&p);
}

/* Data from a peer that sends continuously is read in parts, and each call reports that there is more. */
static void a_call_reads_the_socket_once(void) {
    struct pair p = made((struct vs_tls_server_opts){0}, (struct vs_tls_client_opts){0}, "localhost");
    static char bytes[60000], got[65536];
    size_t total = 0;
    int calls = 0;
    bool more = true;
    CHECK_EQ_I64(tls->write(p.at[1].conn, bytes, sizeof bytes), sizeof bytes);
    for (; more && calls < 100; calls++) {
        ssize_t n = tls->read(p.at[0].conn, got, sizeof got, &more);
        if (n > 0) total += (size_t)n;
    }
    CHECK_EQ_U64(total, sizeof bytes);
    CHECK(calls >= 4); /* about 16 KiB each */
    part(&p);
}

static void an_end_is_an_end_and_a_cut_record_is_none(void) {
    char got[64];
    bool more = false;
    struct pair p = made((struct vs_tls_server_opts){0}, (struct vs_tls_client_opts){0}, "localhost");
    CHECK_EQ_I64(tls->write(p.at[1].conn, "GET", 3), 3);
    tls->end(p.at[1].conn);
    CHECK_EQ_I64(tls->read(p.at[0].conn, got, sizeof got, &more), 3);
    CHECK(more);
    CHECK_EQ_I64(tls->read(p.at[0].conn, got, sizeof got, &more), 0);
    part(&p);
    p = made((struct vs_tls_server_opts){0}, (struct vs_tls_client_opts){0}, "localhost");
    CHECK(send(p.at[1].fd, "\x17\x03\x03\x00\x40 half", 10, 0) == 10);
    CHECK(tls->read(p.at[0].conn, got, sizeof got, &more) == -1 && errno == EAGAIN);
    CHECK(send(p.at[1].fd, "................................................................", 59, 0) == 59);
    CHECK(tls->read(p.at[0].conn, got, sizeof got, &more) == -1 && errno == EPROTO);
    CHECK_HAS(tls->why(p.at[0].conn), "bad record mac");
    part(&p);
}

/* Data and end arrived with one edge: no other event reports the end. */
static void an_end_behind_a_part_of_a_record_is_seen(void) {
    char got[64];
    bool more = true;
    struct pair p = made((struct vs_tls_server_opts){0}, (struct vs_tls_client_opts){0}, "localhost");
    CHECK(send(p.at[1].fd, "\x17\x03\x03\x00\x40 half", 10, 0) == 10 && shutdown(p.at[1].fd, SHUT_WR) == 0);
    CHECK(tls->read(p.at[0].conn, got, sizeof got, &more) == -1 && errno == EAGAIN && more);
    CHECK_EQ_I64(tls->read(p.at[0].conn, got, sizeof got, &more), 0);
    part(&p);
}

/* ------------------------------------------------------------------ a deadline */

static void a_greeting_has_a_deadline(void) {
    const struct vesta_clock *clock = vs_clock_system();
    struct vs_tls_client *client = NULL;
    struct vesta_error err;
    atomic_bool cut = true;
    int fd[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    CHECK(tls->client_open(&(struct vs_tls_client_opts){.ca = path("ca.pem")}, &client, &err) == VESTA_OK);
    struct vs_tls_conn *conn = tls->connect(client, fd[1], "localhost");
    struct vs_tls_wait wait = {fd[1], clock->boot_us(clock->self) + 60000, NULL}; /* no reply comes */
    CHECK_EQ_I64(vs_tls_greet(tls, conn, &wait, &err), VESTA_EIO);
    CHECK_HAS(err.text, "no handshake before the deadline");
    wait = (struct vs_tls_wait){fd[1], clock->boot_us(clock->self) + 60000000, &cut};
    CHECK_EQ_I64(vs_tls_greet(tls, conn, &wait, &err), VESTA_EIO);
    wait.is_cut = NULL;
    CHECK(send(fd[0], "HTTP/1.1 400 Bad Request\r\n\r\n", 28, 0) == 28);
    CHECK_EQ_I64(vs_tls_greet(tls, conn, &wait, &err), VESTA_EOPTION);
    CHECK_HAS(err.text, "the peer does not use TLS");
    tls->free(conn);
    tls->client_close(client);
    close(fd[0]), close(fd[1]);
}

/* ------------------------------------------------------------------ files */

static void refuse(const char *certificate, const char *key, const char *why) {
    struct vs_tls_server *server = NULL;
    struct vesta_error err = {.text = ""};
    struct vs_tls_server_opts opts = {.certificate = path(certificate), .key = path(key)};
    CHECK_EQ_I64(tls->server_open(&opts, &server, &err), VESTA_EOPTION);
    CHECK_HAS(err.text, why);
    CHECK_HAS(err.text, *certificate == 's' ? path(key) : path(certificate));
}

static void files_that_cannot_be_used_are_named(void) {
    run("cd %s && : > empty.pem && head -c 200 server.pem > cut.pem && "
        "openssl pkey -in server.key -aes128 -passout pass:secret -out locked.key && openssl genrsa -out rsa.key 2048 "
        "2>/dev/null",
        folder);
    refuse("server.pem", "next.key", "this private key is not that of the certificate in ");
    refuse("server.pem", "rsa.key", "this private key is not that of the certificate in ");
    refuse("server.pem", "missing.key", "no private key can be read from it: No such file or directory");
    refuse("server.pem", "locked.key", "no private key can be read from it");
    refuse("server.pem", "empty.pem", "no private key can be read from it");
    refuse("missing.pem", "server.key", "no certificate can be read from it: No such file or directory");
    refuse("empty.pem", "server.key", "no certificate can be read from it");
    refuse("cut.pem", "server.key", "no certificate can be read from it");
    struct vs_tls_client *client = NULL;
    struct vesta_error err;
    CHECK_EQ_I64(tls->client_open(&(struct vs_tls_client_opts){.ca = path("missing.pem")}, &client, &err),
                 VESTA_EOPTION);
    CHECK_HAS(err.text, path("missing.pem"));
}

static atomic_bool stop;

static void *come_and_go(void *server) {
    struct vesta_error err;
    int made_it = 0;
    do {
        struct pair p = {.server = server};
        CHECK(tls->client_open(&(struct vs_tls_client_opts){.ca = path("ca.pem")}, &p.client, &err) == VESTA_OK);
        meet(&p, "127.0.0.1");
        CHECK_EQ_I64(p.at[0].step, VS_TLS_DONE);
        CHECK_EQ_I64(p.at[1].step, VS_TLS_DONE);
        p.server = NULL;
        part(&p);
        made_it++;
    } while (!atomic_load(&stop) || made_it < 20);
    return NULL;
}

static void a_certificate_is_exchanged_while_others_connect(void) {
    struct vs_tls_facts facts;
    struct vesta_error err;
    pthread_t thread[2];
    run("cd %s && cp server.pem own.pem && cp server.key own.key", folder);
    struct vs_tls_server *server =
        opened((struct vs_tls_server_opts){.certificate = path("own.pem"), .key = path("own.key")});
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, come_and_go, server);
    run("cd %s && cp next.pem own.pem", folder);
    CHECK_EQ_I64(tls->server_renew(server, &err), VESTA_EOPTION); /* its key follows in a moment */
    CHECK_HAS(err.text, "own.key");
    tls->server_facts(server, &facts);
    CHECK_STR(facts.name, "ids.example.com");
    int64_t before_s = facts.expires_unix_s;
    run("cd %s && cp next.key own.key", folder);
    CHECK_EQ_I64(tls->server_renew(server, &err), VESTA_OK);
    tls->server_facts(server, &facts);
    CHECK_STR(facts.name, "next.example.com");
    CHECK_EQ_I64(before_s - facts.expires_unix_s >= 80 * 86400 - 60, 1);
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    tls->server_close(server);
}

static const struct check_case cases[] = {
    {"a server's name and CA are verified", names_are_verified},
    {"without verification, any certificate is accepted", what_is_not_verified_is_not_refused},
    {"a client's certificate determines its name", a_certificate_is_its_clients_name},
    {"a write to a full socket continues where it stopped", a_socket_that_is_full_goes_on_where_it_stopped},
    {"records that arrive together are read together", records_that_came_together_are_read_together},
    {"data in memory does not tell the state of the socket", what_is_read_of_memory_says_nothing_of_the_socket},
    {"a call reads the socket once", a_call_reads_the_socket_once},
    {"a TLS end is reported as an end, and a truncated record is not", an_end_is_an_end_and_a_cut_record_is_none},
    {"an end after a part of a record is detected", an_end_behind_a_part_of_a_record_is_seen},
    {"a handshake has a deadline", a_greeting_has_a_deadline},
    {"errors name unusable files", files_that_cannot_be_used_are_named},
    {"a certificate is replaced while others connect", a_certificate_is_exchanged_while_others_connect},
};

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_DFL); /* no call may raise it */
    make_folder();
    int rc = check_main(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : NULL);
    *strrchr(folder, '/') = '\0';
    run("rm -rf %s", folder);
    return rc;
}
