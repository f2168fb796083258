/* serve.c -- `vesta serve`: what is asked for, binding, serving until TERM.  Knows no protocol. */
#include "main/options.h"
#include "main/serving.h"
#include "os/os.h"

#include <errno.h>
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

static const char *const face_name[VS_FACES] = {[VS_RESP] = "resp", [VS_HTTP] = "http", [VS_ADMIN] = "admin"};

/* ------------------------------------------------------------------ what was asked for */

/* Who can be reached by other machines must not serve ids of a number that this machine drew for itself. */
static int check_address(const struct vs_serving *serving, const struct vs_serving_listener *at) {
    struct vesta_error err;
    int local = vs_address_is_local(at->address, &err);
    if (local < 0) return vs_usage("--%s: %s", face_name[at->face], err.text);
    if (local) return VS_GO;
    if (at->face == VS_RESP && !serving->app.resp_password)
        return vs_usage("--resp %s: other machines could reach it, so it needs a password (--resp-password-file FILE); "
                        "or serve it on 127.0.0.1 or on unix:PATH",
                        at->address);
    for (int i = 0; i < serving->space_count; i++)
        if (!serving->space[i].opts.has_worker && !serving->space[i].opts.store)
            return vs_usage("--%s %s: other machines can reach it, so say which worker number this server has "
                            "(--worker N), or where numbers are leased (--store file:DIR)",
                            face_name[at->face], at->address);
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

static void listen_at(struct vs_serving *serving, enum vs_face face, const char *address) {
    if (strcmp(address, "off") == 0) return;
    serving->listener[serving->listener_count++] =
        (struct vs_serving_listener){.face = face, .address = address, .fd = -1};
}

static int read_options(struct vs_serving *serving, int *argc, char **argv) {
    const char *http = HTTP_DEFAULT, *resp = RESP_DEFAULT, *password_file = NULL;
    uint64_t threads = 1, wait_ms = WAIT_MS_DEFAULT, idle_ms = VS_RESP_IDLE_MS;
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
        VS_GENERATOR_OPTIONS(opts),
        {NULL, 0, 0, NULL, NULL, NULL, 0, 0, NULL}};
    int rc = vs_options(table, argc, argv);
    if (rc != VS_GO) return rc;
    if (*argc > 0) return vs_usage("unexpected operand %s", vs_shown_text(argv[0]));
    if ((rc = read_secret(password_file, &serving->app.resp_password)) != VS_GO) return rc;
    serving->resp_idle_ms = idle_ms;
    serving->threads = (int)threads;
    serving->space_count = 1;
    serving->space[0].wait_ms_max = (int64_t)wait_ms;
    listen_at(serving, VS_HTTP, http);
    listen_at(serving, VS_RESP, resp);
    if (serving->listener_count == 0) return vs_usage("both --http and --resp are off: nothing would be served");
    for (int i = 0; i < serving->listener_count && rc == VS_GO; i++)
        rc = check_address(serving, &serving->listener[i]);
    return rc;
}

/* ------------------------------------------------------------------ binding */

static int bind_all(struct vs_serving *serving) {
    struct vesta_error err;
    for (int i = 0; i < serving->listener_count; i++)
        if (vs_listen(serving->listener[i].address, &serving->listener[i].fd, &err) != VESTA_OK) return vs_report(&err);
    return VS_GO;
}

static void unbind_all(struct vs_serving *serving) {
    for (int i = 0; i < serving->listener_count; i++)
        if (serving->listener[i].fd >= 0) vs_unlisten(serving->listener[i].address, serving->listener[i].fd);
}

/* ------------------------------------------------------------------ telling */

static void say_http(const char *address) {
    if (strncmp(address, "unix:", 5) == 0)
        vs_say("HTTP on %s: curl -s --unix-socket %s http://localhost/genid", address, address + 5);
    else
        vs_say("HTTP on %s: curl -s http://%s/genid", address, address);
}

static void say_resp(const char *address, const char *name) {
    const char *port = strrchr(address, ':');
    if (strncmp(address, "unix:", 5) == 0)
        vs_say("Redis protocol on %s: redis-cli -s %s GET %s", address, address + 5, name);
    else if (strncmp(address, "127.0.0.1:", 10) == 0)
        vs_say("Redis protocol on %s: redis-cli -p %s GET %s", address, port + 1, name);
    else
        vs_say("Redis protocol on %s: redis-cli -h %.*s -p %s GET %s", address, (int)(port - address), address,
               port + 1, name);
}

static void say_serving(void *self) {
    const struct vs_serving *serving = self;
    vs_spaces_say(serving);
    for (int i = 0; i < serving->listener_count; i++) {
        const struct vs_serving_listener *at = &serving->listener[i];
        if (at->face == VS_HTTP) say_http(at->address);
        if (at->face == VS_RESP) say_resp(at->address, serving->app.space[0].name);
    }
}

/* ------------------------------------------------------------------ the command */

static int run(struct vs_serving *serving) {
    struct vs_serve_opts opts = {.app = &serving->app,
                                 .listener_count = serving->listener_count,
                                 .threads = serving->threads,
                                 .resp_idle_ms = serving->resp_idle_ms,
                                 .ready = say_serving,
                                 .self = serving};
    struct vesta_error err;
    for (int i = 0; i < serving->listener_count; i++)
        opts.listener[i] = (struct vs_listener){serving->listener[i].face, serving->listener[i].fd};
    serving->app.started_us = serving->app.clock->boot_us(serving->app.clock->self);
    tzset(); /* localtime_r need not look: /transtime writes the server's zone */
    int rc = vs_serve(&opts, &err) == VESTA_OK ? VS_DONE : vs_report(&err);
    return vs_spaces_release(serving) == VS_DONE ? rc : VS_FAILED;
}

int vs_cmd_serve(int argc, char **argv) {
    struct vs_serving *serving = calloc(1, sizeof *serving);
    if (!serving) return vs_say("no memory"), VS_FAILED;
    serving->app.clock = vs_clock_system();
    int rc = read_options(serving, &argc, argv);
    if (rc == VS_GO) {
        vs_serve_init();
        rc = bind_all(serving); /* first: who finds the port taken has claimed nothing */
        if (rc == VS_GO) rc = vs_spaces_open(serving);
        if (rc == VS_GO) rc = vs_spaces_lease(serving);
        if (rc == VS_GO) rc = run(serving);
        vs_spaces_close(serving);
        unbind_all(serving);
    }
    free(serving);
    return rc;
}
