/* attach.c -- finds or creates the anchor for a path.  Checks that the anchor matches the options, and that the store
 * is the one that granted the anchor's leases.  Servers and `vesta doctor` use the same code. */
#include "base/error.h"
#include "id/id.h"
#include "keeper/file.h"
#include "os/lock.h"
#include "store/lineage.h"
#include "store/store.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the store */

bool vs_same_address(const char *a, const char *b) {
    char one[VS_URI_MAX], other[VS_URI_MAX];
    return strcmp(vs_store_public(a, one), vs_store_public(b, other)) == 0;
}

/* Returns true if the store is on this machine and its file or folder exists. */
static bool is_there(const char *uri) {
    char path[VS_URI_MAX];
    return vs_store_place(uri, path) && access(path, F_OK) == 0;
}

bool vs_store_is_gone(const char *uri, uint64_t incarnation) {
    char folder[VS_URI_MAX];
    return incarnation && vs_store_folder(uri, folder) && !is_there(uri);
}

/* Reads the namespace's record from a store on this machine.  For other stores, leaves *ns empty, because reading the
 * record would wait for the network. */
static int look_at_namespace(const char *uri, const struct vs_settings *settings, const struct vs_header *header,
                             struct vs_ns_record *ns, struct vesta_error *err) {
    struct vs_store_opts opts = {
        .namespace_ = header->namespace_, .group = header->group, .clock = settings->clock, .secret = settings->secret};
    struct vs_store *store;
    struct vs_reply reply;
    assert(!vs_process_is_locked());
    memset(ns, 0, sizeof *ns);
    int rc = vs_store_open(uri, &opts, &store, err);
    if (rc != VESTA_OK) return rc;
    if (store->backend->is_local) store->leases->ns_read(store, &reply);
    if (store->backend->is_local && reply.outcome == VS_STORE_OK) *ns = reply.ns;
    store->backend->close(store);
    return VESTA_OK;
}

/* Detects early that the namespace must not be created, and returns the reason.  The keeper checks again before it
 * creates the namespace in a store on this machine. */
static int may_be_made(const struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err) {
    const struct vs_lineage lineage = {.uri = header->store, .name = header->namespace_, .clock = settings->clock};
    struct vesta_error why;
    bool is_of_another = vs_store_is_local(header->store) && strchr(header->namespace_, '.');
    if (!is_of_another || vs_lineage_admit(&lineage, &settings->layout, &why) != VESTA_EMISMATCH) return VESTA_OK;
    return vs_fail(err, VESTA_EMISMATCH, "%s", why.text);
}

/* Rejects a layout that differs from the namespace's layout.  Must be called before the file is created, because a file
 * with another layout could never get a lease. */
static int check_layout(const struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err) {
    struct vs_ns_record ns;
    char why[VS_DEPARTURE_MAX];
    assert(!header->incarnation); /* no store has granted a lease to a file that does not exist yet */
    int rc = look_at_namespace(header->store, settings, header, &ns, err);
    if (rc != VESTA_OK) return rc;
    if (!ns.ver) return may_be_made(settings, header, err);
    if (ns.fingerprint == header->fingerprint && vs_layout_departs(&settings->layout, ns.layout, why))
        return vs_fail(err, VESTA_EMISMATCH,
                       "namespace %s has %s: write that constant into the layout, or use another namespace",
                       header->namespace_, why);
    if (ns.fingerprint == header->fingerprint) return VESTA_OK;
    return vs_fail(err, VESTA_EMISMATCH,
                   "namespace %s was created with layout %.150s, not %.150s. Use another namespace, or give this one a "
                   "further layout with `vesta store relayout`",
                   header->namespace_, vs_layout_shown(ns.layout), vs_layout_shown(header->layout));
}

/* Checks a store address that differs from the address in the file.  The address may change if it leads to the same
 * store. Before the first lease, only the address identifies the store, so a different address is rejected. */
static int check_address(const struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err) {
    struct vs_ns_record ns = {.ver = 0};
    char has[VS_URI_MAX], asked[VS_URI_MAX];
    assert(settings->store[0]);
    bool is_local = vs_store_is_local(settings->store);
    int rc = is_there(settings->store) ? look_at_namespace(settings->store, settings, header, &ns, err) : VESTA_OK;
    if (rc != VESTA_OK) return rc;
    bool is_same = ns.ver && ns.incarnation == header->incarnation;
    if (header->incarnation && is_local == vs_store_is_local(header->store) && (!is_local || is_same)) return VESTA_OK;
    vs_store_public(header->store, has);
    vs_store_public(settings->store, asked);
    if (!header->incarnation)
        return vs_fail(err, VESTA_EMISMATCH,
                       "%.100s has the store %.90s, not %.90s, and no store has granted it a lease yet. Stop the "
                       "processes that use the file, delete it, and start again",
                       settings->path, has, asked);
    return vs_fail(
        err, VESTA_EMISMATCH,
        "%.100s has its leases from the store %.90s, but %.90s is another store. Name the current address of "
        "the first one. To move, see docs/stores.md, Moving to another store",
        settings->path, has, asked);
}

/* Finds the store of a state folder that was moved as a whole.  The file in the folder still has the store's old
 * address, so this looks for the store next to the file. */
static int follow_store(struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err) {
    struct vs_ns_record ns;
    char folder[PATH_MAX], beside[VS_URI_MAX];
    if (!vs_store_is_gone(header->store, header->incarnation)) return VESTA_OK;
    if (settings->store[0] && !vs_same_address(settings->store, header->store)) return VESTA_OK;
    snprintf(folder, sizeof folder, "%s", settings->path);
    char *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    bool is_named = folder[0] == '/' && vs_uri_of_path("file", folder, beside, NULL) == VESTA_OK;
    if (!settings->store[0] && is_named && look_at_namespace(beside, settings, header, &ns, err) == VESTA_OK &&
        ns.ver && ns.incarnation == header->incarnation) {
        memcpy(settings->store, beside, sizeof beside);
        return VESTA_OK;
    }
    return vs_fail(err, VESTA_EIO,
                   "the folder %.120s, the store of %.120s, is gone: restore it, or name its new path with "
                   "--store file:DIR",
                   vs_store_folder(header->store, (char[VS_URI_MAX]){0}), settings->path);
}

/* ------------------------------------------------------------------ the anchor */

static int check_found(struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err) {
    int rc = vs_settings_matches(settings, header, err);
    if (rc == VESTA_OK) rc = follow_store(settings, header, err);
    if (rc == VESTA_OK && settings->store[0] && !vs_same_address(settings->store, header->store))
        rc = check_address(settings, header, err);
    return rc;
}

/* Checks the options before the file is created, so that no unusable file is left behind. */
static int check_wanted(const struct vs_settings *settings, struct vs_header *header, struct vesta_error *err) {
    char warning[256];
    uint64_t values[VESTA_FIELDS_MAX];
    int rc = vs_check_lifetime(&settings->layout, settings->clock, warning, sizeof warning, err);
    if (rc == VESTA_OK)
        rc = vs_fields_parse(&settings->layout, settings->opts.fields, settings->opts.method, values, err);
    if (rc == VESTA_OK) rc = vs_settings_header(settings, header, err);
    return rc;
}

void vs_no_file_text(const char *path, int no_file, char *out, size_t size) {
    size_t length = strlen(path);
    assert(no_file);
    snprintf(
        out, size,
        "cannot create %s: %.30s: ids continue with a map that only this user's processes with the same options share. "
        "If it is lost, an assigned worker id waits 5 s. Make the folder writable, or name another path",
        length > 70 ? path + length - 70 : path, strerror(no_file));
}

int vs_anchor_find(struct vs_settings *settings, bool makes, bool *found, struct vs_anchor *out,
                   struct vesta_error *err) {
    struct vs_header header;
    assert(settings->path[0]);       /* a private generator has no file */
    assert(!vs_process_is_locked()); /* this function does disk I/O */
    int rc = vs_anchor_read(settings->path, settings->group, found, out, err);
    /* Ignore an error if this user has no state folder, because the file may belong to another user's service. */
    if (rc != VESTA_OK && !(settings->has_no_folder && settings->blocked)) return rc;
    if (*found) vs_uri_of_kept(out->header.store);
    if (*found) return check_found(settings, &out->header, err);
    /* If no store is named, the default store would be used.  It is in the same folder, so it cannot be written either.
     */
    bool is_derived = settings->blocked && settings->store[0];
    if (!makes && !is_derived) return VESTA_OK;
    if ((rc = check_wanted(settings, &header, err)) != VESTA_OK) return rc;
    if ((rc = check_layout(settings, &header, err)) != VESTA_OK) return rc;
    vs_store_hide(header.store); /* other users may read the file and its map, so do not store the password */
    if (is_derived) {
        vs_anchor_derive(&header, header.store, settings->blocked, out);
        *found = true;
        return VESTA_OK;
    }
    if ((rc = vs_anchor_make(settings->path, &header, out, err)) != VESTA_OK) return rc;
    vs_uri_of_kept(out->header.store);
    return check_found(settings, &out->header, err); /* another process may have created the file with other settings */
}

int vs_anchor_look(const struct vesta_opts *opts, struct vs_header *header, struct vesta_error *err) {
    struct vs_settings settings;
    struct vs_anchor anchor;
    bool found;
    int rc = vs_settings_read(opts, &settings, err);
    if (rc == VESTA_OK) rc = vs_anchor_find(&settings, true, &found, &anchor, err);
    if (rc == VESTA_OK) *header = anchor.header;
    return rc;
}

int vs_default_layout(char text[VESTA_LAYOUT_TEXT_MAX], struct vesta_error *err) {
    struct vesta_opts opts = VESTA_OPTS_INIT;
    struct vs_settings settings;
    struct vs_anchor anchor;
    struct vs_header header;
    struct vs_ns_record ns;
    bool found = false;
    opts.any_worker = 1;
    int rc = vs_settings_look(&opts, &settings, err);
    if (rc == VESTA_OK) rc = vs_anchor_find(&settings, false, &found, &anchor, err);
    text[0] = '\0';
    if (rc == VESTA_OK && found) {
        memcpy(text, anchor.header.layout, VESTA_LAYOUT_TEXT_MAX);
        return VESTA_OK;
    }
    if (rc == VESTA_OK) rc = vs_settings_header(&settings, &header, err);
    if (rc == VESTA_OK && is_there(header.store)) {
        rc = look_at_namespace(header.store, &settings, &header, &ns, err);
        if (rc == VESTA_OK && ns.ver) snprintf(text, VESTA_LAYOUT_TEXT_MAX, "%s", ns.layout);
    }
    return rc;
}
