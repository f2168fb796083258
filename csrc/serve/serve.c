/* serve.c -- the command `vesta serve`: the order in which a server starts.  Contains no protocol or option
 * code. */
#include "access/gate.h"
#include "os/address.h"
#include "command/options.h"
#include "log/access.h"
#include "number/zone.h"
#include "serve/holders.h"
#include "serve/serving.h"
#include "os/clock.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------ checks of listeners */

/* Determines whether other machines can reach a listener.  Addresses of flags and configs were checked when they were
 * read, but addresses of inherited sockets were not checked. */
static int serve_look_at(struct vs_serving_listener *at) {
    struct vesta_error err;
    int local = vs_address_is_local(at->address, &err);
    at->is_reached = local == 0;
    return local < 0 && at->handed ? vs_usage("--%s: %s", vs_protocol_names[at->protocol], err.text) : VS_GO;
}

/* Rejects an inherited socket that other machines can reach if clients need no secret, or if a worker id was drawn that
 * is unique only on this machine. */
static int check_handed(const struct vs_serving *serving, const struct vs_serving_listener *at) {
    if (!at->handed) return VS_GO;
    if (at->protocol == VS_ADMIN && !serving->config->admin_token && !serving->config->clients && strncmp(at->address, "unix:", 5) != 0)
        return vs_usage(
            "--admin %s: every client that can connect could control the server. Set a token (VESTA_ADMIN_TOKEN, or "
            "admin.token in the config), or use a unix socket, whose file mode limits the clients",
            at->address);
    if (!at->is_reached || at->protocol == VS_ADMIN) return VS_GO;
    if (at->protocol == VS_RESP && !serving->server.rules.resp_password && !serving->config->clients)
        return vs_usage("--resp %s: other machines could reach it. Set a password (--resp-password-file FILE), "
                        "or listen on 127.0.0.1 or on unix:PATH",
                        at->address);
    if (serving->config->unnumbered)
        return vs_usage("--%s %s: %s", vs_protocol_names[at->protocol], at->address, serving->config->unnumbered);
    const char *closed = serving->config->closed;
    if (at->protocol == VS_HTTP && closed) return vs_usage("--http %s: %s", at->address, closed);
    return VS_GO;
}

/* Decides for which protocols the Host header is checked.  If only this machine can connect, the check prevents DNS
 * rebinding, in which a web page's host name resolves to this machine.  If other machines can connect, the server does
 * not know its own host names unless they are configured. */
static void judge_hosts(struct vs_serving *serving) {
    bool is_reached[VS_PROTOCOLS] = {false};
    for (int i = 0; i < serving->listener_count; i++)
        if (serving->listener[i].is_reached) is_reached[serving->listener[i].protocol] = true;
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        serving->server.rules.judges_hosts[protocol] = !is_reached[protocol] || serving->server.rules.host_count > 0;
}

static int check_listeners(struct vs_serving *serving) {
    int rc = vs_bind_resolve(serving);
    if (serving->listener_count == 0) return vs_usage("both --http and --resp are off: nothing would be served");
    for (int i = 0; i < serving->listener_count && rc == VS_GO; i++)
        if ((rc = serve_look_at(&serving->listener[i])) == VS_GO) rc = check_handed(serving, &serving->listener[i]);
    judge_hosts(serving);
    return rc;
}

/* ------------------------------------------------------------------ the log */

static void write_secure_trial(const struct vs_serving_listener *at, const char *name, char *buf, size_t size) {
    const char *host = vs_address_plain(at->written), *port = strrchr(host, ':');
    int length = (int)(port - host);
    /* No certificate contains these addresses. */
    if (strncmp(host, "0.0.0.0:", 8) == 0 || strncmp(host, "[::]:", 5) == 0) host = "HOST", length = 4;
    if (at->protocol == VS_HTTP)
        snprintf(buf, size, "curl -s --cacert CA https://%.*s%s/genid", length, host, port);
    else
        snprintf(buf, size, "redis-cli --tls --cacert CA -h %.*s -p %s GET %s", length, host, port + 1, name);
}

/* Writes a command with which the user can test the address. */
static void write_trial(const struct vs_serving_listener *at, const char *name, char *buf, size_t size) {
    const char *port = strrchr(at->written, ':');
    bool local = strncmp(at->written, "unix:", 5) == 0;
    if (at->is_secure && !local)
        write_secure_trial(at, name, buf, size);
    else if (at->protocol == VS_HTTP && local)
        snprintf(buf, size, "curl -s --unix-socket %s http://localhost/genid", at->written + 5);
    else if (at->protocol == VS_HTTP)
        snprintf(buf, size, "curl -s http://%s/genid", at->written);
    else if (local)
        snprintf(buf, size, "redis-cli -s %s GET %s", at->written + 5, name);
    else if (strncmp(at->written, "127.0.0.1:", 10) == 0)
        snprintf(buf, size, "redis-cli -p %s GET %s", port + 1, name);
    else
        snprintf(buf, size, "redis-cli -h %.*s -p %s GET %s", (int)(port - at->written), at->written, port + 1, name);
}

/* Prints a link that opens the admin page with its token.  Prints it only to a terminal, never to a log.  Browsers do
 * not send the part of a link after the #. */
static void show_page(const struct vs_serving *serving, const struct vs_serving_listener *at) {
    const char *address = vs_address_plain(at->written), *port = strrchr(address, ':');
    if (!serving->server.rules.admin_token || !isatty(STDERR_FILENO) || strncmp(address, "unix:", 5) == 0) return;
    bool is_any = strncmp(address, "0.0.0.0:", 8) == 0 || strncmp(address, "[::]:", 5) == 0;
    fprintf(stderr, "admin page: %s://%s%s/#token=", at->is_secure ? "https" : "http", is_any ? "127.0.0.1" : "",
            is_any ? port : address);
    for (const char *c = serving->server.rules.admin_token; *c; c++)
        fprintf(stderr, isalnum((unsigned char)*c) ? "%c" : "%%%02X", (unsigned char)*c);
    fputc('\n', stderr);
}

/* Logs one line for a protocol, with all its addresses. */
static void tell_protocol(const struct vs_serving *serving, enum vs_protocol protocol) {
    static const char *const sentences[VS_PROTOCOLS] = {
        [VS_RESP] = "serving the Redis protocol", [VS_HTTP] = "serving HTTP", [VS_ADMIN] = "serving the admin routes"};
    char addresses[1024] = "", trial[512];
    const struct vs_serving_listener *first = NULL;
    for (int i = 0; i < serving->listener_count; i++) {
        const struct vs_serving_listener *at = &serving->listener[i];
        size_t used = strlen(addresses);
        if (at->protocol != protocol) continue;
        snprintf(addresses + used, sizeof addresses - used, "%s%s", first ? " " : "", at->address);
        if (!first) first = at;
    }
    if (!first) return;
    bool has_trial = protocol != VS_ADMIN && serving->server.names.count > 0;
    if (has_trial) write_trial(first, serving->server.names.at[0].name, trial, sizeof trial);
    vs_log(VS_LOG_INFO, sentences[protocol], "address", addresses, "try", has_trial ? trial : NULL, NULL);
    if (protocol == VS_ADMIN) show_page(serving, first);
}

/* Called when the event loops run.  From now on health checks are answered even if the stores are unreachable. */
static void on_ready(void *self) {
    struct vs_serving *serving = self;
    for (int protocol = VS_PROTOCOLS - 1; protocol >= 0; protocol--)
        tell_protocol(serving, protocol);
    vs_start_begin(serving->start);
}

/* ------------------------------------------------------------------ the command */

static int run(struct vs_serving *serving) {
    struct vs_serve_opts opts = {.server = &serving->server,
                                 .listener_count = serving->listener_count,
                                 .threads = serving->threads,
                                 .keepers = vs_crews_keepers(&serving->crews),
                                 .ready = on_ready,
                                 .on_signal = vs_life_signal,
                                 .stopping = vs_life_stopping,
                                 .self = serving};
    struct vesta_error err;
    opts.limits = serving->limits;
    opts.auth_ms = serving->auth_ms;
    opts.proxy = serving->proxy;
    opts.proxy_count = serving->proxy_count;
    for (int i = 0; i < serving->listener_count; i++) {
        const struct vs_serving_listener *at = &serving->listener[i];
        opts.listener[i] = (struct vs_listener){at->protocol, at->fd, at->handed, at->is_secure};
    }
    vs_secure_use(serving, &opts);
    serving->server.monitor.started_us = serving->server.clock->boot_us(serving->server.clock->self);
    if (!vs_server_holders_begin(serving) || !vs_marks_begin(serving) || !(serving->start = vs_start_make(serving)))
        return vs_say("no memory"), VS_FAILED;
    int rc = vs_leasing_begin(serving);
    if (rc == VS_GO) rc = vs_life_begin(serving);
    if (rc != VS_GO) return rc;
    rc = vs_serve(&opts, &err) == VESTA_OK ? VS_DONE : vs_report(&err);
    int released = vs_ending_release(serving), started = vs_start_result(serving->start);
    if (rc == VS_DONE) rc = started != VS_GO ? started : released;
    if (rc == VS_DONE) { /* before the life thread ends, because that thread may hang on a disk */
        vs_log(VS_LOG_INFO, "stopped: all worker ids are released", NULL);
        vs_ending_given_back();
    }
    vs_life_end(serving);
    return rc;
}

static void log_error(const char *text) {
    vs_log(VS_LOG_ERROR, text, NULL);
}

/* Starts the log first, so that the log contains the reason if the start of the server fails. */
static int begin_log(const struct vs_serving *serving) {
    struct vs_log_opts opts = serving->log;
    struct vesta_error err;
    opts.path = NULL; /* opened later, by the user that the server switches to */
    if (vs_log_setup(&opts, &err) != VESTA_OK) return vs_report(&err);
    vs_say_by(log_error);
    return VS_GO;
}

static int begin_log_file(struct vs_serving *serving) {
    struct vesta_error err;
    if (serving->log.path && vs_log_setup(&serving->log, &err) != VESTA_OK) return vs_report(&err);
    if (vs_log_begin(&err) != VESTA_OK) return vs_report(&err);
    if (serving->access_path && vs_access_open(serving->access_path, serving->log.format, serving->threads,
                                               &serving->server.monitor.access, &err) != VESTA_OK)
        return vs_report(&err);
    vs_tell_rights(serving);
    vs_secure_tell_rights(serving);
    return VS_GO;
}

/* Runs the steps of a start.  If a port is in use, the start fails before anything is claimed.  No generator file is
 * opened as root.  The namespaces are opened last, when the event loops run (start.c), so that no namespace delays
 * another namespace or a signal. */
static int serve(struct vs_serving *serving) {
    int rc = begin_log(serving);
    if (rc == VS_GO) vs_flags_tell(serving);
    if (rc == VS_GO) rc = vs_bind_all(serving);
    if (rc == VS_GO) rc = vs_secure_open(serving);
    if (rc == VS_GO) rc = vs_drop_rights(serving);
    if (rc == VS_GO) rc = begin_log_file(serving);
    if (rc == VS_GO) rc = vs_namespaces_prepare(serving);
    if (rc == VS_GO) rc = vs_segments_prepare(serving);
    if (rc == VS_GO) rc = vs_policies_open(serving);
    if (rc == VS_GO) rc = vs_clients_open(serving);
    return rc == VS_GO ? run(serving) : rc;
}

/* Loads the server's time zone, in which /transtime writes times. */
static int adopt_zone(void) {
    struct vesta_error err;
    int rc = vs_zone_adopt(&err);
    if (rc == VESTA_OK) return VS_GO;
    int code = vs_report(&err);
    return rc == VESTA_EIO ? VS_GO : code; /* without tzdata the C library uses UTC */
}

static int run_serve(int argc, char **argv) {
    struct vs_serving *serving = calloc(1, sizeof *serving);
    if (!serving) return vs_say("no memory"), VS_FAILED;
    serving->server.clock = vs_clock_system();
    vs_ending_prepare();
    int rc = vs_flags_read(serving, argc, argv);
    if (rc == VS_GO) rc = adopt_zone();
    if (rc == VS_GO) rc = vs_take_handed(serving);
    if (rc == VS_GO) rc = check_listeners(serving);
    if (rc == VS_GO) {
        vs_serve_hold_signals();
        rc = serve(serving);
        vs_policies_close(serving);
        if (serving->ended_us) vs_ending_close(serving);
        vs_start_free(serving->start);
        vs_unbind_all(serving);
        vs_namespaces_free(&serving->server.names);
        vs_crews_free(&serving->crews);
        ledger_free(serving->server.ledger);
        vs_gate_free(serving->server.gate);
        vs_secure_close(serving);
        vs_ending_log(serving);
    }
    vs_flags_free(serving);
    free(serving);
    return rc;
}

const struct vs_command vs_serve_command = {
    "serve", run_serve, "serve ids over HTTP and the Redis protocol", "serve [OPTION...]",
    "Issues ids over HTTP and over the Redis protocol.  HTTP has the routes of Vesta (Java) and of /v1, and any\n"
    "Redis client can connect.  By default only this machine can connect.  After TERM or Ctrl-C, the server\n"
    "answers the requests in flight and exits.  A second signal stops it at once.  The log has one event per\n"
    "line.  USR1 reopens the log files, and USR2 logs the state of each namespace.\n"
    "\n"
    "  $ vesta serve &\n"
    "  $ curl -s http://127.0.0.1:8088/genid\n"
    "  2319542600899494910\n"
    "\n"
    "  $ vesta client add shop --file clients\n"
    "  k3vw9bp2xr7mtd5nqhyac4gfs8ju6e2z\n"
    "  $ vesta serve --http 0.0.0.0:8088 --clients clients \\\n"
    "    --resp unix:resp.sock --worker 7 &\n"
    "  $ redis-cli -s resp.sock GET default\n"
    "  \"1166621096292647943\"\n"
    "\n"
    "  $ vesta serve --store 'zk://zk1,zk2/vesta?secret_file=/etc/vesta/zk.auth' \\\n"
    "    --namespace orders --layout snowflake &\n"
    "  (first prepare a store that hosts share with `vesta store init`)\n"
    "\n"
    "  $ vesta serve -c /etc/vesta/vesta.lua --threads 2\n"};
