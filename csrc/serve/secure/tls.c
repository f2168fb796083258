/* tls.c -- a server's certificate: read at the start, on HUP and when its files change.  Logs a warning before the
 * certificate expires.  Contains no OpenSSL code. */
#include "tls/tls.h"
#include "base/error.h"
#include "command/options.h"
#include "os/thread.h"
#include "serve/serving.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_US 2000000 /* interval between checks (a change is complete when two checks find the same files) */
#define FILES 3
#define DAY_S 86400

static const int64_t days[] = {30, 7, 1, 0}; /* days before the expiry at which a warning is logged */
#define STAGES ((int)(sizeof days / sizeof *days))

/* Identifies the contents of a file, after following links.  `changed` is the file's ctime, which changes with the
 * contents, owner and mode. */
struct stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct vs_secure {
    const struct vs_tls *tls;
    struct vs_tls_server *server;
    /* The following members are used only by the life thread. */
    struct stamp used[FILES], seen[FILES];
    int64_t looked_us;
    int stage; /* the last stage of warnings that was logged */
    int64_t warned_of;
    /* Other threads also read the following members. */
    pthread_mutex_t lock;
    struct vs_tls_status status;
};

/* ------------------------------------------------------------------ opening */

static int open_server(const struct vs_config *config, const struct vs_tls *tls, struct vs_tls_server **server,
                       struct vesta_error *err) {
    return tls->server_open(
        &(struct vs_tls_server_opts){.certificate = config->tls_certificate,
                                     .key = config->tls_key,
                                     .client_ca = config->tls_client_ca,
                                     .client_certificates = (enum vs_tls_asks)config->tls_client_certificates,
                                     .is_1_3_only = config->tls_version_min != 0},
        server, err);
}

int vs_secure_try(const struct vs_config *config, struct vs_tls_facts *facts, struct vesta_error *err) {
    struct vs_tls_server *server;
    if (!config->tls_certificate) return VESTA_OK;
    const struct vs_tls *tls = vs_tls_find(err);
    int rc = tls ? open_server(config, tls, &server, err) : VESTA_EOPTION;
    if (rc != VESTA_OK) return rc;
    tls->server_facts(server, facts);
    tls->server_close(server);
    return VESTA_OK;
}

static void stamp_all(const struct vs_config *config, struct stamp stamp[FILES]) {
    const char *const path[FILES] = {config->tls_certificate, config->tls_key, config->tls_client_ca};
    memset(stamp, 0, FILES * sizeof *stamp); /* stamps are compared as bytes, so padding must be zero */
    for (int i = 0; i < FILES; i++) {
        struct stat st;
        if (!path[i] || stat(path[i], &st) != 0) continue;
        stamp[i].device = st.st_dev, stamp[i].inode = st.st_ino;
        stamp[i].size = st.st_size, stamp[i].changed = st.st_ctim;
    }
}

static void secure_get_status(void *self, struct vs_tls_status *status) {
    struct vs_secure *secure = self;
    pthread_mutex_lock(&secure->lock);
    *status = secure->status;
    pthread_mutex_unlock(&secure->lock);
}

static void set_status(struct vs_secure *secure, const char *error) {
    struct vs_tls_facts facts;
    secure->tls->server_facts(secure->server, &facts);
    pthread_mutex_lock(&secure->lock);
    secure->status.expires_unix_s = facts.expires_unix_s;
    snprintf(secure->status.name, sizeof secure->status.name, "%s", facts.name);
    snprintf(secure->status.error, sizeof secure->status.error, "%s", error);
    pthread_mutex_unlock(&secure->lock);
}

static bool secure_is_wanted(const struct vs_serving *serving) {
    for (int i = 0; i < serving->listener_count; i++)
        if (serving->listener[i].is_secure) return true;
    return false;
}

int vs_secure_open(struct vs_serving *serving) {
    const struct vs_config *config = serving->config;
    struct vesta_error err;
    if (!secure_is_wanted(serving)) return VS_GO;
    if (!config->tls_certificate)
        return vs_usage(
            "a socket from the service manager is named for TLS, which requires --tls-certificate and --tls-key");
    struct vs_secure *secure = calloc(1, sizeof *secure);
    if (!secure) return vs_say("no memory"), VS_FAILED;
    pthread_mutex_init(&secure->lock, NULL);
    serving->secure = secure;
    stamp_all(config, secure->used); /* before the files are read, so that a later change is noticed */
    secure->tls = vs_tls_find(&err);
    if (!secure->tls || open_server(config, secure->tls, &secure->server, &err) != VESTA_OK) return vs_report(&err);
    secure->status.path = config->tls_certificate;
    set_status(secure, "");
    serving->server.above.tls_status = secure_get_status;
    serving->server.above.tls_self = secure;
    return VS_GO;
}

void vs_secure_use(struct vs_serving *serving, struct vs_serve_opts *opts) {
    if (!serving->secure) return;
    opts->tls = serving->secure->tls;
    opts->tls_server = serving->secure->server;
}

void vs_secure_close(struct vs_serving *serving) {
    struct vs_secure *secure = serving->secure;
    if (!secure) return;
    if (secure->server) secure->tls->server_close(secure->server);
    pthread_mutex_destroy(&secure->lock);
    free(secure);
}

void vs_secure_tell_rights(const struct vs_serving *serving) {
    const struct vs_config *config = serving->config;
    const char *const path[] = {config->tls_certificate, config->tls_key};
    for (int i = 0; serving->secure && i < 2; i++)
        if (access(path[i], R_OK) != 0)
            vs_log(VS_LOG_WARN,
                   "a TLS file was read as root, but the server's user cannot read it again when it changes", "file",
                   path[i], "do", "allow the server's user to read it", NULL);
}

/* ------------------------------------------------------------------ while it serves */

static const char *day_of(int64_t unix_s, char buf[VESTA_ISO_MAX]) {
    return vesta_iso(unix_s * 1000, buf), buf;
}

static void renew(struct vs_secure *secure) {
    struct vesta_error err = {.text = ""};
    char when[VESTA_ISO_MAX];
    memcpy(secure->used, secure->seen, sizeof secure->used);
    int rc = secure->tls->server_renew(secure->server, &err);
    set_status(secure, rc == VESTA_OK ? "" : err.text);
    if (rc == VESTA_OK)
        vs_log(VS_LOG_INFO, "the certificate was reloaded", "file", secure->status.path, "name", secure->status.name,
               "expires", day_of(secure->status.expires_unix_s, when), NULL);
    else
        vs_log(VS_LOG_ERROR, "the certificate cannot be reloaded: the previous one stays in use", "error", err.text,
               NULL);
}

/* Warns once per certificate for each entry of `days`. */
static void warn(struct vs_secure *secure, int64_t now_s) {
    int64_t expires_s = secure->status.expires_unix_s, left_s = expires_s - now_s;
    char when[VESTA_ISO_MAX];
    int stage = 0;
    while (stage < STAGES && left_s <= days[stage] * DAY_S)
        stage++;
    bool is_news = stage > (secure->warned_of == expires_s ? secure->stage : 0);
    secure->stage = stage;
    secure->warned_of = expires_s;
    if (!is_news) return;
    vs_log(stage == STAGES ? VS_LOG_ERROR : VS_LOG_WARN,
           stage == STAGES ? "the certificate has expired: clients reject it" : "the certificate expires soon", "file",
           secure->status.path, "expires", day_of(expires_s, when), "days_left", VS_DIGITS(left_s / DAY_S), "do",
           "replace the file: the server reads it without a restart", NULL);
}

void vs_secure_look(struct vs_serving *serving, bool is_asked) {
    struct vs_secure *secure = serving->secure;
    const struct vesta_clock *clock = serving->server.clock;
    struct stamp now[FILES];
    if (!secure || (!is_asked && secure->looked_us && vs_monotonic_us() - secure->looked_us < LOOK_US)) return;
    stamp_all(serving->config, now);
    bool is_settled = memcmp(now, secure->seen, sizeof now) == 0;
    bool has_changed = memcmp(now, secure->used, sizeof now) != 0;
    memcpy(secure->seen, now, sizeof now);
    secure->looked_us = vs_monotonic_us();
    if (is_asked || (has_changed && is_settled)) renew(secure);
    warn(secure, clock->unix_us(clock->self) / 1000000);
}
