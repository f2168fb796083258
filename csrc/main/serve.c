/* serve.c -- `vesta serve`: what is asked for, and the order in which a server comes to life.  Knows no protocol. */
#include "main/options.h"
#include "main/serving.h"
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HTTP_DEFAULT "127.0.0.1:8088" /* the port of Vesta's server */
#define RESP_DEFAULT "127.0.0.1:8089"
#define WAIT_MS_DEFAULT 100
#define WAIT_MS_MAX 60000
#define IDLE_MS_MIN 100
#define IDLE_MS_MAX 86400000
#define SECRET_MAX 1024 /* of a password, with its NUL */

/* ------------------------------------------------------------------ what was asked for */

/* Who can be reached by other machines must not serve ids of a number that this machine drew for itself. */
static int check_address(const struct vs_serving *serving, const struct vs_serving_listener *at) {
    struct vesta_error err;
    int local = vs_address_is_local(at->address, &err);
    if (local < 0) return vs_usage("--%s: %s", vs_face_names[at->face], err.text);
    if (local) return VS_GO;
    if (at->face == VS_RESP && !serving->app.resp_password)
        return vs_usage("--resp %s: other machines could reach it, so it needs a password (--resp-password-file FILE); "
                        "or serve it on 127.0.0.1 or on unix:PATH",
                        at->address);
    for (int i = 0; i < serving->space_count; i++)
        if (!serving->space[i].opts.has_worker && !serving->space[i].opts.store)
            return vs_usage("--%s %s: other machines can reach it, so say which worker number this server has "
                            "(--worker N), or where numbers are leased (--store file:DIR)",
                            vs_face_names[at->face], at->address);
    return VS_GO;
}

/* The first line of a file that holds nothing else.  Not read from an argument: those are for everybody to see. */
static int read_secret(const char *path, const char **out) {
    static char secret[SECRET_MAX + 1];
    if (!path) return VS_GO;
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(secret, 1, sizeof secret, file) : 0;
    bool failed = !file || ferror(file);
    if (failed) vs_say("--resp-password-file %s: %s", vs_shown_text(path), strerror(errno));
    if (file) fclose(file);
    if (failed) return VS_FAILED;
    if (length > 0 && length < sizeof secret && secret[length - 1] == '\n') length--;
    if (length == 0 || length >= SECRET_MAX || strcspn(secret, "\r\n") < length || memchr(secret, '\0', length))
        return vs_usage("--resp-password-file %s: a password is one line of 1 to %d bytes", vs_shown_text(path),
                        SECRET_MAX - 1);
    secret[length] = '\0';
    *out = secret;
    return VS_GO;
}

static int check_listeners(const struct vs_serving *serving) {
    int rc = VS_GO;
    if (serving->listener_count == 0) return vs_usage("both --http and --resp are off: nothing would be served");
    for (int i = 0; i < serving->listener_count && rc == VS_GO; i++)
        rc = check_address(serving, &serving->listener[i]);
    return rc;
}

static void listen_at(struct vs_serving *serving, enum vs_face face, const char *address) {
    if (strcmp(address, "off") == 0) return;
    serving->listener[serving->listener_count++] =
        (struct vs_serving_listener){.face = face, .address = address, .fd = -1};
}

static int read_options(struct vs_serving *serving, int *argc, char **argv) {
    const char *http = HTTP_DEFAULT, *resp = RESP_DEFAULT, *password_file = NULL;
    uint64_t threads = 1, wait_ms = WAIT_MS_DEFAULT, idle_ms = VS_RESP_IDLE_MS;
    int level = VS_LOG_INFO, format = VS_LOG_LOGFMT;
    struct vesta_opts *opts = &serving->space[0].opts;
    const struct vs_option table[] = {
        {"http", 0, VS_OPT_TEXT, &http, "ADDR", "HOST:PORT, [IPv6]:PORT, unix:PATH or off (default: " HTTP_DEFAULT ")",
         0, 0, NULL},
        {"resp", 0, VS_OPT_TEXT, &resp, "ADDR", "the Redis protocol's address, or off (default: " RESP_DEFAULT ")", 0,
         0, NULL},
        {"resp-password-file", 0, VS_OPT_TEXT, &password_file, "FILE",
         "the password that Redis clients must give, alone on a line (default: none)", 0, 0, NULL},
        {"resp-idle-ms", 0, VS_OPT_COUNT, &idle_ms, "MS",
         "how long a Redis client may rest before it is cut off (default: 300000)", IDLE_MS_MIN, IDLE_MS_MAX, NULL},
        {"threads", 0, VS_OPT_COUNT, &threads, "N", "loops, one a thread (default: 1)", 1, VS_THREADS_MAX, NULL},
        {"wait-ms", 0, VS_OPT_COUNT, &wait_ms, "MS", "how long a request may wait for an id (default: 100)", 0,
         WAIT_MS_MAX, NULL},
        VS_TEXT("policy", &serving->space[0].policy, "NAME|FILE",
                "who judges pauses that outlast --wait-ms; HUP loads it anew (default: nobody)"),
        VS_TEXT("user", &serving->user, "NAME[:GROUP]", "whom to become once the addresses are bound"),
        VS_CHOICE("log-level", &level, "debug|info|warn|error", "what the log leaves out is below it (default: info)"),
        VS_CHOICE("log-format", &format, "logfmt|json", "how an event is written (default: logfmt)"),
        VS_TEXT("log-file", &serving->log.path, "FILE", "where events go (default: stderr); USR1 opens it anew"),
        VS_GENERATOR_OPTIONS(opts),
        {NULL, 0, 0, NULL, NULL, NULL, 0, 0, NULL}};
    int rc = vs_options(table, argc, argv);
    if (rc != VS_GO) return rc;
    if (*argc > 0) return vs_usage("unexpected operand %s", vs_shown_text(argv[0]));
    if ((rc = read_secret(password_file, &serving->app.resp_password)) != VS_GO) return rc;
    serving->log.level = (enum vs_log_level)level;
    serving->log.format = (enum vs_log_format)format;
    serving->resp_idle_ms = idle_ms;
    serving->threads = (int)threads;
    serving->space_count = 1;
    serving->space[0].wait_ms_max = (int64_t)wait_ms;
    serving->space[0].park_ms_max = VS_PARK_MS_DEFAULT;
    listen_at(serving, VS_HTTP, http);
    listen_at(serving, VS_RESP, resp);
    return VS_GO;
}

/* ------------------------------------------------------------------ telling */

/* A command that shows that the address answers. */
static void write_trial(const struct vs_serving_listener *at, const char *name, char *buf, size_t size) {
    const char *port = strrchr(at->address, ':');
    bool local = strncmp(at->address, "unix:", 5) == 0;
    if (at->face == VS_HTTP && local)
        snprintf(buf, size, "curl -s --unix-socket %s http://localhost/genid", at->address + 5);
    else if (at->face == VS_HTTP)
        snprintf(buf, size, "curl -s http://%s/genid", at->address);
    else if (local)
        snprintf(buf, size, "redis-cli -s %s GET %s", at->address + 5, name);
    else if (strncmp(at->address, "127.0.0.1:", 10) == 0)
        snprintf(buf, size, "redis-cli -p %s GET %s", port + 1, name);
    else
        snprintf(buf, size, "redis-cli -h %.*s -p %s GET %s", (int)(port - at->address), at->address, port + 1, name);
}

/* One event a face, with all its addresses. */
static void tell_face(const struct vs_serving *serving, enum vs_face face) {
    static const char *const sentences[VS_FACES] = {[VS_RESP] = "serving the Redis protocol",
                                                    [VS_HTTP] = "serving HTTP",
                                                    [VS_ADMIN] = "serving the admin's routes"};
    char addresses[1024] = "", trial[512];
    const struct vs_serving_listener *first = NULL;
    for (int i = 0; i < serving->listener_count; i++) {
        const struct vs_serving_listener *at = &serving->listener[i];
        size_t used = strlen(addresses);
        if (at->face != face) continue;
        snprintf(addresses + used, sizeof addresses - used, "%s%s", first ? " " : "", at->address);
        if (!first) first = at;
    }
    if (!first) return;
    write_trial(first, serving->app.space[0].name, trial, sizeof trial);
    vs_log(VS_LOG_INFO, sentences[face], "address", addresses, "try", face == VS_ADMIN ? NULL : trial, NULL);
}

static void on_ready(void *self) {
    vs_spaces_say(self);
    for (int face = VS_FACES - 1; face >= 0; face--)
        tell_face(self, face);
    vs_life_ready(self);
}

/* ------------------------------------------------------------------ the command */

static int run(struct vs_serving *serving) {
    struct vs_serve_opts opts = {.app = &serving->app,
                                 .listener_count = serving->listener_count,
                                 .threads = serving->threads,
                                 .resp_idle_ms = serving->resp_idle_ms,
                                 .ready = on_ready,
                                 .on_signal = vs_life_signal,
                                 .stopping = vs_life_stopping,
                                 .self = serving};
    struct vesta_error err;
    for (int i = 0; i < serving->listener_count; i++) {
        const struct vs_serving_listener *at = &serving->listener[i];
        opts.listener[i] = (struct vs_listener){at->face, at->fd, at->handed};
    }
    serving->app.started_us = serving->app.clock->boot_us(serving->app.clock->self);
    tzset(); /* localtime_r need not look: /transtime writes the server's zone */
    int rc = vs_life_begin(serving);
    if (rc != VS_GO) return rc;
    rc = vs_serve(&opts, &err) == VESTA_OK ? VS_DONE : vs_report(&err);
    if (vs_spaces_release(serving) != VS_DONE) rc = VS_FAILED;
    vs_life_end(serving);
    if (rc == VS_DONE) vs_log(VS_LOG_INFO, "stopped: all worker numbers are given back", NULL);
    return rc;
}

static void log_error(const char *text) {
    vs_log(VS_LOG_ERROR, text, NULL);
}

/* From here on messages are events: who reads the log finds there, too, why a server did not start. */
static int begin_log(const struct vs_serving *serving) {
    struct vs_log_opts opts = serving->log;
    struct vesta_error err;
    opts.path = NULL; /* a file is made by the user whom the server becomes */
    if (vs_log_setup(&opts, &err) != VESTA_OK) return vs_report(&err);
    vs_say_by(log_error);
    return VS_GO;
}

static int begin_log_file(const struct vs_serving *serving) {
    struct vesta_error err;
    if (serving->log.path && vs_log_setup(&serving->log, &err) != VESTA_OK) return vs_report(&err);
    vs_tell_rights(serving);
    return VS_GO;
}

/* Each needs what is before it: who finds a port taken has claimed nothing, and root opens no generator file. */
static int serve(struct vs_serving *serving) {
    int rc = begin_log(serving);
    if (rc == VS_GO) rc = vs_bind_all(serving);
    if (rc == VS_GO) rc = vs_drop_rights(serving);
    if (rc == VS_GO) rc = begin_log_file(serving);
    if (rc == VS_GO) rc = vs_spaces_open(serving);
    if (rc == VS_GO) rc = vs_policies_open(serving);
    if (rc == VS_GO) rc = vs_spaces_lease(serving);
    return rc == VS_GO ? run(serving) : rc;
}

int vs_cmd_serve(int argc, char **argv) {
    struct vs_serving *serving = calloc(1, sizeof *serving);
    if (!serving) return vs_say("no memory"), VS_FAILED;
    serving->app.clock = vs_clock_system();
    int rc = read_options(serving, &argc, argv);
    if (rc == VS_GO) rc = vs_take_handed(serving);
    if (rc == VS_GO) rc = check_listeners(serving);
    if (rc == VS_GO) {
        for (int i = 0; i < 3; i++)
            signal((int[]){SIGHUP, SIGUSR1, SIGUSR2}[i], SIG_IGN); /* until the loops watch for them */
        vs_serve_init();
        rc = serve(serving);
        vs_policies_close(serving);
        vs_spaces_close(serving);
        vs_unbind_all(serving);
        vs_log_end();
    }
    free(serving);
    return rc;
}
