/* serve.c -- `vesta serve`: opens a generator for each face, binds, serves until TERM.  Knows no protocol. */
#include "main/main.h"
#include "main/options.h"
#include "os/os.h"
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HTTP_DEFAULT "127.0.0.1:8088" /* the port of Vesta's server */
#define RESP_DEFAULT "127.0.0.1:8089"
#define WAIT_MS_DEFAULT 100
#define WAIT_MS_MAX 60000
#define LEASE_MS_MAX 60000     /* how long the start may take */
#define LEASE_PROGRESS_MS 2000 /* nobody should look at a silent program for longer */
#define LEASE_STEP_US 100000
#define FIELDS_MAX 256

struct serving {
    struct vesta_opts opts;
    const char *address[VS_FACES]; /* NULL: off */
    uint64_t threads, wait_ms;
    int fd[VS_FACES];
    struct vs_app app;
};

static const char *const face_flag[VS_FACES] = {[VS_RESP] = "--resp", [VS_HTTP] = "--http"};

/* ------------------------------------------------------------------ what was asked for */

/* Who can be reached by other machines must not serve ids of a number that this machine drew for itself. */
static int check_address(const struct serving *self, enum vs_face face) {
    struct vesta_error err;
    const char *address = self->address[face];
    int local = address ? vs_address_is_local(address, &err) : 1;
    if (local < 0) return vs_usage("%s: %s", face_flag[face], err.text);
    if (local) return VS_GO;
    if (face == VS_RESP)
        return vs_usage("--resp %s: other machines could reach it, and the Redis face has no password yet; serve it on "
                        "127.0.0.1 or on unix:PATH",
                        address);
    if (self->opts.has_worker || self->opts.store) return VS_GO;
    return vs_usage(
        "%s %s: other machines can reach it, so say which worker number this server has (--worker N), or where "
        "numbers are leased (--store file:DIR)",
        face_flag[face], address);
}

static int read_options(struct serving *self, int *argc, char **argv) {
    const struct vs_option table[] = {
        {"http", 0, VS_OPT_TEXT, &self->address[VS_HTTP], "ADDR",
         "HOST:PORT, [IPv6]:PORT, unix:PATH or off (default: " HTTP_DEFAULT ")", 0, 0, NULL},
        {"resp", 0, VS_OPT_TEXT, &self->address[VS_RESP], "ADDR",
         "the Redis protocol's address, or off (default: " RESP_DEFAULT ")", 0, 0, NULL},
        {"threads", 0, VS_OPT_COUNT, &self->threads, "N", "loops, one a thread (default: 1)", 1, VS_THREADS_MAX, NULL},
        {"wait-ms", 0, VS_OPT_COUNT, &self->wait_ms, "MS", "how long a request may wait for an id (default: 100)", 0,
         WAIT_MS_MAX, NULL},
        VS_GENERATOR_OPTIONS(&self->opts),
        {NULL, 0, 0, NULL, NULL, NULL, 0, 0, NULL}};
    int rc = vs_options(table, argc, argv);
    if (rc != VS_GO) return rc;
    if (*argc > 0) return vs_usage("unexpected operand %s", vs_shown_text(argv[0]));
    for (int face = 0; face < VS_FACES; face++)
        if (strcmp(self->address[face], "off") == 0) self->address[face] = NULL;
    if (!self->address[VS_HTTP] && !self->address[VS_RESP])
        return vs_usage("both --http and --resp are off: nothing would be served");
    rc = check_address(self, VS_HTTP);
    return rc == VS_GO ? check_address(self, VS_RESP) : rc;
}

/* ------------------------------------------------------------------ opening */

static int bind_all(struct serving *self) {
    struct vesta_error err;
    for (int face = 0; face < VS_FACES; face++)
        if (self->address[face] && vs_listen(self->address[face], &self->fd[face], &err) != VESTA_OK)
            return vs_report(&err);
    return VS_GO;
}

static void unbind_all(struct serving *self) {
    for (int face = 0; face < VS_FACES; face++)
        if (self->fd[face] >= 0) vs_unlisten(self->address[face], self->fd[face]);
}

/* One handle a face, because the `method` field, where a layout has one, says which face made an id. */
static int open_face(struct serving *self, const struct vesta_layout *layout, enum vs_face face) {
    static const int method[VS_FACES] = {[VS_RESP] = 1, [VS_HTTP] = 2};
    struct vesta_opts opts = self->opts;
    struct vesta_error err;
    char fields[FIELDS_MAX];
    int at = vesta_layout_find(layout, "method");
    if (at >= 0 && !layout->field[at].fixed) {
        int length = snprintf(fields, sizeof fields, "%s method=%d", opts.fields ? opts.fields : "", method[face]);
        if (length >= (int)sizeof fields) return vs_usage("--fields is longer than %d bytes", FIELDS_MAX);
        opts.fields = fields;
    }
    return vesta_open(&opts, &self->app.gen[face], &err) == VESTA_OK ? VS_GO : vs_report(&err);
}

/* The layout may be the file's own, so a first handle is opened to ask for it. */
static int open_all(struct serving *self) {
    struct vesta_error err;
    struct vesta_gen *first;
    self->opts.any_worker = !self->opts.has_worker && !self->opts.store;
    if (vesta_open(&self->opts, &first, &err) != VESTA_OK) return vs_report(&err);
    int rc = open_face(self, vesta_gen_layout(first), VS_RESP);
    if (rc == VS_GO) rc = open_face(self, vesta_gen_layout(first), VS_HTTP);
    vesta_close(first);
    return rc;
}

/* Waits for the first lease, so that "serving" is true when it is said. */
static int get_lease(struct serving *self) {
    struct vesta_gen *gen = self->app.gen[VS_RESP];
    const struct vesta_clock *clock = self->app.clock;
    int64_t from_us = clock->boot_us(clock->self), said_us = from_us;
    struct vesta_pause pause;
    char text[256];
    uint64_t id;
    if (vesta_keep(gen) != VESTA_OK) return vs_say("cannot start the keeper of the lease"), VS_FAILED;
    while (vesta_next_wait(gen, &id, LEASE_STEP_US, &pause) != VESTA_OK) {
        int64_t now_us = clock->boot_us(clock->self);
        vesta_pause_text(gen, &pause, text, sizeof text);
        if (pause.why != VESTA_LEASE && pause.wait_us >= 0) return VS_GO; /* a request may meet that at any time */
        if (pause.wait_us < 0 || now_us - from_us >= LEASE_MS_MAX * 1000) return vs_say("%s", text), VS_FAILED;
        if (now_us - said_us < LEASE_PROGRESS_MS * 1000) continue;
        vs_say("waiting for a worker number: %s", text);
        said_us = now_us;
    }
    return VS_GO;
}

/* ------------------------------------------------------------------ telling */

static void say_http(const char *address) {
    if (strncmp(address, "unix:", 5) == 0)
        vs_say("HTTP on %s: curl -s --unix-socket %s http://localhost/genid", address, address + 5);
    else
        vs_say("HTTP on %s: curl -s http://%s/genid", address, address);
}

static void say_resp(const char *address, const char *namespace_) {
    const char *port = strrchr(address, ':');
    if (strncmp(address, "unix:", 5) == 0)
        vs_say("Redis protocol on %s: redis-cli -s %s GET %s", address, address + 5, namespace_);
    else if (strncmp(address, "127.0.0.1:", 10) == 0)
        vs_say("Redis protocol on %s: redis-cli -p %s GET %s", address, port + 1, namespace_);
    else
        vs_say("Redis protocol on %s: redis-cli -h %.*s -p %s GET %s", address, (int)(port - address), address,
               port + 1, namespace_);
}

static void say_serving(void *serving) {
    const struct serving *self = serving;
    struct vesta_info info;
    vesta_get_info(self->app.gen[VS_RESP], &info);
    if (*info.warning) vs_say("%s", info.warning);
    vs_say("serving ids of '%s', worker %llu%s", info.namespace_, (unsigned long long)info.worker,
           info.drew_worker ? ", a number that this machine drew at random and keeps" : "");
    if (self->address[VS_HTTP]) say_http(self->address[VS_HTTP]);
    if (self->address[VS_RESP]) say_resp(self->address[VS_RESP], info.namespace_);
}

/* ------------------------------------------------------------------ the command */

static int run(struct serving *self) {
    const struct vs_serve_opts opts = {.app = &self->app,
                                       .fd = {self->fd[0], self->fd[1]},
                                       .threads = (int)self->threads,
                                       .ready = say_serving,
                                       .self = self};
    struct vesta_error err;
    struct vesta_info info;
    vesta_get_info(self->app.gen[VS_RESP], &info);
    strcpy(self->app.namespace_, info.namespace_);
    self->app.layout = vesta_gen_layout(self->app.gen[VS_RESP]);
    self->app.wait_us_max = (int64_t)self->wait_ms * 1000;
    self->app.started_us = self->app.clock->boot_us(self->app.clock->self);
    tzset(); /* localtime_r need not look: /transtime writes the server's zone */
    int rc = vs_serve(&opts, &err) == VESTA_OK ? VS_DONE : vs_report(&err);
    if (vesta_release(self->app.gen[VS_RESP], &err) != VESTA_OK) {
        vs_say("the worker number was not given back: %s", err.text);
        rc = VS_FAILED;
    }
    return rc;
}

int vs_cmd_serve(int argc, char **argv) {
    struct serving self = {.address = {[VS_RESP] = RESP_DEFAULT, [VS_HTTP] = HTTP_DEFAULT},
                           .threads = 1,
                           .wait_ms = WAIT_MS_DEFAULT,
                           .fd = {-1, -1},
                           .app = {.clock = vs_clock_system()}};
    int rc = read_options(&self, &argc, argv);
    if (rc != VS_GO) return rc;
    vs_serve_init();
    rc = bind_all(&self); /* first: who finds the port taken has claimed nothing */
    if (rc == VS_GO) rc = open_all(&self);
    if (rc == VS_GO) rc = get_lease(&self);
    if (rc == VS_GO) rc = run(&self);
    for (int face = 0; face < VS_FACES; face++)
        vesta_close(self.app.gen[face]);
    unbind_all(&self);
    return rc;
}
