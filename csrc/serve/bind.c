/* bind.c -- binds sockets or uses those inherited from a service manager, and then switches to an unprivileged user,
 * because only root may bind ports below 1024.  Contains no protocol code. */
#include "os/address.h"
#include "base/array.h"
#include "serve/serving.h"
#include "command/options.h"
#include "serve/systemd.h"
#include "os/become.h"
#include "os/files.h"
#include "store/store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VS_USER_MAX 64

const char *const vs_protocol_names[VS_PROTOCOLS] = {[VS_RESP] = "resp", [VS_HTTP] = "http", [VS_ADMIN] = "admin"};

/* ------------------------------------------------------------------ sockets of a service manager */

/* Returns the protocol in a socket's name, which may end in "-tls".  Of the sockets with other names, the first serves
 * HTTP and the second serves RESP.  Returns VS_PROTOCOLS for any further socket. */
static enum vs_protocol protocol_of(const char *name, bool *is_secure, int *unnamed) {
    static const enum vs_protocol in_order[] = {VS_HTTP, VS_RESP};
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++) {
        size_t length = strlen(vs_protocol_names[protocol]);
        *is_secure = strcmp(name + strnlen(name, length), "-tls") == 0;
        if (strncmp(name, vs_protocol_names[protocol], length) == 0 && (*is_secure || !name[length])) return protocol;
    }
    *is_secure = false;
    return *unnamed < (int)VS_COUNT(in_order) ? in_order[(*unnamed)++] : VS_PROTOCOLS;
}

/* Removes the configured addresses of a protocol for which a socket was inherited. */
static void forget_gen(struct vs_serving *serving, enum vs_protocol protocol) {
    int kept = 0;
    for (int i = 0; i < serving->listener_count; i++)
        if (serving->listener[i].protocol != protocol || serving->listener[i].handed)
            serving->listener[kept++] = serving->listener[i];
    serving->listener_count = kept;
}

static int take_one(struct vs_serving *serving, const struct vs_handed *from, int *unnamed) {
    bool is_secure;
    enum vs_protocol protocol = protocol_of(from->name, &is_secure, unnamed);
    if (protocol == VS_PROTOCOLS)
        return vs_say("socket %d (%s), handed over by LISTEN_FDS: name it http, resp or admin (or http-tls ...) with "
                      "FileDescriptorName= in its .socket unit",
                      from->fd, vs_shown_text(from->name)),
               VS_FAILED;
    forget_gen(serving, protocol);
    if (serving->listener_count == VS_LISTENERS_MAX)
        return vs_say("there are more than %d listening sockets", VS_LISTENERS_MAX), VS_FAILED;
    serving->listener[serving->listener_count++] =
        (struct vs_serving_listener){
            .protocol = protocol, .address = from->address, .written = from->address, .fd = from->fd, .handed = true, .is_secure = is_secure};
    return VS_GO;
}

int vs_take_handed(struct vs_serving *serving) {
    struct vesta_error err;
    int count = vs_handed_sockets(serving->handed, VS_HANDED_MAX, &err), unnamed = 0, rc = VS_GO;
    if (count < 0) return vs_report(&err);
    for (int i = 0; i < count && rc == VS_GO; i++)
        rc = take_one(serving, &serving->handed[i], &unnamed);
    return rc;
}

/* ------------------------------------------------------------------ binding */

static bool bind_has(const struct vs_serving *serving, enum vs_protocol protocol, const char *address) {
    for (int i = 0; i < serving->listener_count; i++)
        if (serving->listener[i].protocol == protocol && strcmp(vs_address_plain(serving->listener[i].address), address) == 0)
            return true;
    return false;
}

/* Replaces a listener by one listener per address of its host.  The first address reuses the slot, and the others are
 * appended. */
static int bind_each_address(struct vs_serving *serving, int i) {
    struct vs_addresses found;
    struct vesta_error err;
    struct vs_serving_listener written = serving->listener[i];
    int place = i;
    if (vs_addresses_of(written.address, &found, &err) != VESTA_OK)
        return vs_usage("--%s: %s", vs_protocol_names[written.protocol], err.text);
    for (int k = 0; k < found.count; k++) {
        if (bind_has(serving, written.protocol, found.text[k])) continue;
        if (place == VS_LISTENERS_MAX) return vs_say("there are more than %d addresses to listen on", VS_LISTENERS_MAX), VS_FAILED;
        char *text = serving->host_address[place];
        snprintf(text, VS_ADDRESS_TEXT_MAX, "%s%s", written.is_secure ? "tls:" : "", found.text[k]);
        serving->listener[place] = written;
        serving->listener[place].address = text;
        if (place == serving->listener_count) serving->listener_count++;
        place = serving->listener_count;
    }
    return VS_GO;
}

int vs_bind_resolve(struct vs_serving *serving) {
    int rc = VS_GO, written_count = serving->listener_count;
    for (int i = 0; i < written_count && rc == VS_GO; i++)
        if (!serving->listener[i].handed) rc = bind_each_address(serving, i);
    return rc;
}

int vs_bind_all(struct vs_serving *serving) {
    struct vesta_error err;
    for (int i = 0; i < serving->listener_count; i++) {
        struct vs_serving_listener *at = &serving->listener[i];
        if (!at->handed && vs_listen(at->address, at->mode, &at->fd, &err) != VESTA_OK) return vs_report(&err);
    }
    return VS_GO;
}

void vs_unbind_all(struct vs_serving *serving) {
    for (int i = 0; i < serving->listener_count; i++) {
        const struct vs_serving_listener *at = &serving->listener[i];
        if (!at->handed && at->fd >= 0) vs_unlisten(at->address, at->fd);
    }
}

/* ------------------------------------------------------------------ rights */

/* Creates the folder of a file, owned by the user, if it is missing. */
static int own_folder_of(const struct vs_identity *who, const char *path, struct vesta_error *err) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path || slash - path >= PATH_MAX) return VESTA_OK;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return vs_identity_own_dir(who, folder, err);
}

static int own_store(const struct vs_identity *who, const char *uri, struct vesta_error *err) {
    char where[VS_URI_MAX];
    if (vs_store_folder(uri, where)) return vs_identity_own_dir(who, where, err);
    return vs_store_place(uri, where) ? own_folder_of(who, where, err) : VESTA_OK;
}

/* Prepares files for the new user: makes the user the owner of socket files, and creates missing state folders. */
static int hand_on(const struct vs_serving *serving, const struct vs_identity *who, struct vesta_error *err) {
    char folder[PATH_MAX];
    int rc = VESTA_OK;
    for (int i = 0; i < serving->listener_count && rc == VESTA_OK; i++) {
        const struct vs_serving_listener *at = &serving->listener[i];
        if (!at->handed && strncmp(at->address, "unix:", 5) == 0) rc = vs_identity_own_file(who, at->address + 5, err);
    }
    if (rc == VESTA_OK && vs_state_dir(folder, sizeof folder) == 0) rc = vs_identity_own_dir(who, folder, err);
    for (int i = 0; i < serving->config->ns_count && rc == VESTA_OK; i++) {
        const struct vesta_opts *opts = &serving->config->ns[i].opts;
        if (opts->path) rc = own_folder_of(who, opts->path, err);
        if (rc == VESTA_OK && opts->store) rc = own_store(who, opts->store, err);
    }
    for (int i = 0; i < serving->config->segment_count && rc == VESTA_OK; i++)
        for (int k = 0; k < serving->config->segment[i].uri_count && rc == VESTA_OK; k++)
            rc = own_store(who, serving->config->segment[i].uri[k], err);
    return rc;
}

/* Splits NAME:GROUP.  Returns false if a part is too long. */
static bool split_user(const char *text, char *user, char *group) {
    size_t length = strcspn(text, ":");
    const char *rest = text[length] ? text + length + 1 : "";
    if (length >= VS_USER_MAX || strlen(rest) >= VS_USER_MAX) return false;
    memcpy(user, text, length);
    user[length] = '\0';
    strcpy(group, rest);
    return true;
}

static bool uri_has_secret(const char *uri) {
    return strchr(uri, '@') || strstr(uri, "secret_file");
}

/* Returns whether a secret is in the process's memory: a password or token of clients, the admin token, or a store's
 * secret. */
static bool bind_has_secret(const struct vs_serving *serving) {
    const struct vs_config *config = serving->config;
    bool any = config->resp_password || config->admin_token || config->tinyid_tokens.count > 0 ||
               config->clients_file || config->tls_key;
    for (int i = 0; i < config->store_count; i++)
        any = any || config->store[i].auth || config->store[i].password || uri_has_secret(config->store[i].uri);
    for (int i = 0; i < config->ns_count; i++) {
        const struct vesta_opts *opts = &config->ns[i].opts;
        any = any || opts->secret || (opts->store && uri_has_secret(opts->store));
    }
    return any;
}

int vs_drop_rights(const struct vs_serving *serving) {
    char user[VS_USER_MAX], group[VS_USER_MAX];
    struct vs_identity who;
    struct vesta_error err;
    vs_no_new_rights();
    if (serving->user || bind_has_secret(serving)) vs_no_core_file();
    if (!serving->user) return VS_GO;
    if (!split_user(serving->user, user, group))
        return vs_usage("--user %s: a name has at most %d bytes", vs_shown_text(serving->user), VS_USER_MAX - 1);
    if (vs_identity_find(user, group, &who, &err) != VESTA_OK || hand_on(serving, &who, &err) != VESTA_OK ||
        vs_identity_become(&who, &err) != VESTA_OK)
        return vs_report(&err);
    vs_no_core_file(); /* again, because the kernel resets this when the user changes */
    return VS_GO;
}

/* Warns about secrets that are sent unencrypted. */
static void tell_readable(const struct vs_serving *serving) {
    const struct vs_config *config = serving->config;
    for (int i = 0; i < serving->listener_count; i++) {
        const struct vs_serving_listener *at = &serving->listener[i];
        bool has_secrets = config->clients || (at->protocol == VS_RESP && config->resp_password) ||
                           (at->protocol == VS_ADMIN && config->admin_token);
        if (has_secrets && at->is_reached && !at->is_secure)
            vs_log(VS_LOG_WARN,
                   "clients send their secrets to this address unencrypted: listen on tls:HOST:PORT, or encrypt the "
                   "network",
                   "proto", vs_protocol_names[at->protocol], "address", at->address, NULL);
    }
}

static bool serving_is_reached(const struct vs_serving *serving) {
    for (int i = 0; i < serving->listener_count; i++)
        if (serving->listener[i].is_reached) return true;
    return false;
}

void vs_tell_rights(const struct vs_serving *serving) {
    tell_readable(serving);
    if (serving->user)
        vs_log(VS_LOG_INFO, "switched to an unprivileged user", "user", serving->user, "uid", VS_DIGITS(geteuid()),
               "gid", VS_DIGITS(getegid()), NULL);
    /* If only this machine can connect, it is probably a trial. */
    else if (geteuid() == 0 && serving_is_reached(serving))
        vs_log(VS_LOG_WARN, "running as root, and other machines can connect. Use --user NAME to drop privileges", NULL);
}
