/* options.c -- checks a caller's options and converts them into the header of a generator file.  Does not open the
 * file. */
#include "keeper/options.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/slice.h"
#include "id/id.h"
#include "generator/generator.h"
#include "lease/lease.h"
#include "mapping/mapping.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/host.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFAULT_LAYOUT "vesta-second"
#define DEFAULT_NAMESPACE "default"
#define AHEAD_MS_MAX (24 * 3600 * 1000ll)
/* must be smaller than the S + 2W of an advance, and the difference must exceed the longest time unit */
#define LOCAL_AHEAD_MS_MAX (360 * 1000ll)
#define OPTS_BYTES_MAX 4096 /* a larger value cannot be the size of an options struct */
#define WARN_MS (365 * 86400000ll)
/* a smaller epoch was probably meant in seconds, not in milliseconds */
#define EPOCH_SECONDS_MS_MAX INT64_C(10000000000)

/* The struct must not end in padding.  Padding bytes are undefined, and a later version would read them as an option.
 */
#define END(type, member, ...) offsetof(struct vesta_opts, member) + sizeof(type) == sizeof(struct vesta_opts) ||
_Static_assert(VESTA_NAMESPACE_OPTIONS(END) 0, "the last option fills its place");
#undef END

/* ------------------------------------------------------------------ single options */

int vs_namespace_check(const char *name, struct vesta_error *err) {
    size_t length = strlen(name);
    if (!vs_slice_is_name((struct vs_slice){name, length}, VESTA_NAMESPACE_MAX - 1))
        return vs_fail(err, VESTA_EOPTION,
                       "'%s' is not a namespace: use 1 to %d of A-Z a-z 0-9 _ . : - and no dot in front",
                       VS_QUOTE(name, length), VESTA_NAMESPACE_MAX - 1);
    return VESTA_OK;
}

int vs_group_find(const char *name, int *gid, struct vesta_error *err) {
    *gid = -1;
    if (!name) return VESTA_OK;
    const struct group *group = getgrnam(name);
    if (!group)
        return vs_fail(err, VESTA_EOPTION, "there is no group '%s' on this machine", VS_QUOTE(name, strlen(name)));
    *gid = (int)group->gr_gid;
    return VESTA_OK;
}

static int keeper_check_numbers(const struct vesta_opts *opts, struct vesta_error *err) {
    if (opts->pacing < VESTA_PACING_DEFAULT || opts->pacing > VESTA_PACING_HISTORY)
        return vs_fail(err, VESTA_EOPTION, "pacing %d does not exist: clock is 1, history is 2", (int)opts->pacing);
    if (opts->ahead_ms_max < -1 || opts->ahead_ms_max > AHEAD_MS_MAX)
        return vs_fail(err, VESTA_EOPTION, "ahead_ms_max %" PRId64 " is out of range: use -1 to %lld (a day)",
                       opts->ahead_ms_max, AHEAD_MS_MAX);
    if (opts->flags & ~(unsigned)(VESTA_UNSAFE_PRIVATE | VESTA_NO_KEEPER | VESTA_CHOOSES | VESTA_FILE_KEEPER))
        return vs_fail(err, VESTA_EOPTION, "unknown flags in %#x", opts->flags);
    return VESTA_OK;
}

int vs_worker_check(const struct vesta_layout *layout, uint64_t worker, struct vesta_error *err) {
    if (layout->worker >= 0) return vs_field_check(layout, layout->worker, worker, err);
    return worker == 0
               ? VESTA_OK
               : vs_fail(err, VESTA_EFIELD,
                         "the layout has no worker field, so worker %" PRIu64 " is out of range: only 0", worker);
}

/* ------------------------------------------------------------------ paths */

static bool is_by_hand(const struct vesta_opts *opts) {
    return opts->path || vs_environment("VESTA_STATE");
}

/* Returns true if ids can be issued although the file's folder does not exist and cannot be created.  The store must be
 * named, because the default store is in that folder.  If the caller named the path, missing permissions are an error,
 * because the path may be mistyped.  A read-only file system is not an error, because no other path would help. */
static bool goes_without(const struct vesta_opts *opts, int blocked, const char *folder) {
    bool is_forbidden = blocked == EROFS || (!is_by_hand(opts) && (blocked == EACCES || blocked == EPERM));
    return opts->store && is_forbidden && folder[0] == '/';
}

/* Creates the folder, or only checks whether it could be created if `looks_only` is set.  Resolves the folder's real
 * path. */
static int find_folder(const struct vesta_opts *opts, struct vs_settings *settings, char folder[PATH_MAX],
                       char real[PATH_MAX], struct vesta_error *err) {
    assert(folder[0]);
    settings->blocked = vs_anchor_blocked(folder);
    int failed = settings->looks_only ? settings->blocked : vs_make_dirs(folder, settings->group) != 0 ? errno : 0;
    if (!failed || access(folder, F_OK) == 0) {
        if (realpath(folder, real)) return VESTA_OK;
        if (!settings->looks_only || errno != ENOENT)
            return vs_fail(err, VESTA_EIO, "cannot find the folder %.150s: %s", folder, strerror(errno));
    } else if (!goes_without(opts, settings->blocked, folder)) {
        return vs_fail(err, VESTA_EIO, "cannot create the folder %.150s: %s. %s", folder, strerror(failed),
                       is_by_hand(opts) ? "Create it for this user, or name another folder"
                                        : "Set VESTA_STATE to a folder that this user can write");
    }
    memcpy(real, folder, PATH_MAX);
    return VESTA_OK;
}

/* Rejects control characters.  The path must be one line, because logs print it, and a store records it as an identity.
 */
static int check_path(const char *path, struct vesta_error *err) {
    for (const char *at = path; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return vs_fail(err, VESTA_EOPTION, "the path has the control character \\x%02x at byte %zu",
                           (unsigned char)*at, (size_t)(at - path) + 1);
    return VESTA_OK;
}

/* Determines the path: the option `path`, or else <state>/<namespace>.gen.  The path is absolute, because it is the
 * default identity. */
static int find_path(const struct vesta_opts *opts, const char *state, struct vs_settings *settings,
                     struct vesta_error *err) {
    char given[PATH_MAX], folder[PATH_MAX], real[PATH_MAX];
    const char *ns = opts->namespace_ ? opts->namespace_ : DEFAULT_NAMESPACE;
    assert(opts->path || state[0]);
    int length = opts->path ? snprintf(given, sizeof given, "%s", opts->path)
                            : snprintf(given, sizeof given, "%s/%s.gen", state, ns);
    if (length <= 0 || (size_t)length >= sizeof given)
        return vs_fail(err, VESTA_EOPTION, "the path is empty or longer than %d bytes", PATH_MAX - 1);
    int rc = check_path(given, err);
    if (rc != VESTA_OK) return rc;
    const char *slash = strrchr(given, '/'), *name = slash ? slash + 1 : given;
    if (*name == '\0')
        return vs_fail(err, VESTA_EOPTION, "the path '%s' names a folder, not a file", VS_QUOTE(given, strlen(given)));
    snprintf(folder, sizeof folder, "%.*s", slash == given ? 1 : slash ? (int)(slash - given) : 1, slash ? given : ".");
    if ((rc = find_folder(opts, settings, folder, real, err)) != VESTA_OK) return rc;
    length = snprintf(settings->path, sizeof settings->path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
    if ((size_t)length >= VS_IDENTITY_MAX)
        return vs_fail(err, VESTA_EOPTION, "the path is longer than %d bytes: %.100s...", VS_IDENTITY_MAX - 1,
                       settings->path);
    return VESTA_OK;
}

static int find_places(const struct vesta_opts *opts, struct vs_settings *settings, struct vesta_error *err) {
    char state[PATH_MAX] = "";
    bool is_nowhere = !opts->path && vs_state_dir(state, sizeof state) != 0;
    if (is_nowhere && !opts->store)
        return vs_fail(err, VESTA_EIO, "no state folder: set VESTA_STATE, or make /var/lib/vesta writable");
    settings->has_no_folder = is_nowhere;
    /* the file cannot be written there, so the path is only part of the identity */
    if (is_nowhere) snprintf(state, sizeof state, "/var/lib/vesta");
    int rc = find_path(opts, state, settings, err);
    if (rc != VESTA_OK) return rc;
    return opts->store ? vs_store_canonical(opts->store, settings->store, err) : VESTA_OK;
}

static int check_lease(const struct vesta_opts *opts, struct vesta_error *err) {
    static const char leases[] = "local, strict, balanced, autonomous";
    char hint[VS_HINT_MAX];
    if (opts->lease && !vs_lease_preset(opts->lease))
        return vs_fail(err, VESTA_EOPTION, "there is no lease '%s': %s%s", VS_QUOTE(opts->lease, strlen(opts->lease)),
                       leases, vs_nearest_hint(opts->lease, strlen(opts->lease), leases, hint));
    return VESTA_OK;
}

static int check_identity(const struct vesta_opts *opts, struct vesta_error *err) {
    const char *identity = opts->identity ? opts->identity : "none";
    size_t length = strlen(identity);
    if (length == 0 || length >= VS_IDENTITY_MAX || strpbrk(identity, "\r\n"))
        return vs_fail(err, VESTA_EOPTION, "'%s' is not an identity: use 1 to %d bytes in one line",
                       VS_QUOTE(identity, length), VS_IDENTITY_MAX - 1);
    return VESTA_OK;
}

static int check_secret(const struct vesta_opts *opts, struct vesta_error *err) {
    size_t length = opts->secret ? strlen(opts->secret) : 1;
    if (length > 0 && length < VS_SECRET_MAX) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION, "the store's secret must have 1 to %d bytes", VS_SECRET_MAX - 1);
}

/* ------------------------------------------------------------------ the settings */

/* Copies an options struct.  Later versions add members at the end.  Members that the caller's version lacks become 0.
 * Members that this library lacks must be 0. */
int vs_opts_take(const struct vs_opts_kind *kind, const void *from, void *to, struct vesta_error *err) {
    size_t size = *(const size_t *)from;
    if (size < sizeof size || size > OPTS_BYTES_MAX || size % _Alignof(struct vesta_opts))
        return vs_fail(err, VESTA_EOPTION, "%s.size is %zu: begin with struct %s opts = %s", kind->name, size,
                       kind->name, kind->init);
    for (size_t i = kind->size; i < size; i++)
        if (((const char *)from)[i])
            return vs_fail(err, VESTA_EOPTION,
                           "%s has %zu bytes, and byte %zu is set, but libvesta " VESTA_VERSION
                           " has only %zu: do not set newer options, or use the library that belongs to your vesta.h",
                           kind->name, size, i, kind->size);
    memset(to, 0, kind->size);
    memcpy(to, from, size < kind->size ? size : kind->size);
    *(size_t *)to = kind->size;
    return VESTA_OK;
}

static int keeper_read_settings(const struct vesta_opts *given, struct vs_settings *settings, struct vesta_error *err) {
    const struct vesta_opts *opts = &settings->opts;
    static const struct vs_opts_kind kind = {"vesta_opts", "VESTA_OPTS_INIT", sizeof *opts};
    int rc = vs_opts_take(&kind, given, &settings->opts, err);
    if (rc != VESTA_OK) return rc;
    settings->secret = opts->secret;
    settings->clock = opts->clock ? opts->clock : vs_clock_system();
    settings->has_layout = opts->layout != NULL;
    rc = vesta_layout_parse(opts->layout ? opts->layout : DEFAULT_LAYOUT, &settings->layout, err);
    if (rc == VESTA_OK && opts->namespace_) rc = vs_namespace_check(opts->namespace_, err);
    if (rc == VESTA_OK) rc = keeper_check_numbers(opts, err);
    if (rc == VESTA_OK) rc = check_lease(opts, err);
    if (rc == VESTA_OK) rc = check_identity(opts, err);
    if (rc == VESTA_OK) rc = check_secret(opts, err);
    if (rc == VESTA_OK) rc = vs_group_find(opts->group, &settings->group, err);
    if (rc == VESTA_OK && !(opts->flags & VESTA_UNSAFE_PRIVATE)) rc = find_places(opts, settings, err);
    return rc;
}

int vs_settings_read(const struct vesta_opts *opts, struct vs_settings *settings, struct vesta_error *err) {
    memset(settings, 0, sizeof *settings);
    return keeper_read_settings(opts, settings, err);
}

int vs_settings_look(const struct vesta_opts *opts, struct vs_settings *settings, struct vesta_error *err) {
    memset(settings, 0, sizeof *settings);
    settings->looks_only = true;
    return keeper_read_settings(opts, settings, err);
}

/* Converts ahead_ms_max to ticks, in whole time units, limited to the total time of the layout. */
static uint64_t ahead_ticks(const struct vesta_opts *opts, const struct vesta_layout *layout) {
    assert(layout->unit_us > 0);
    uint64_t units_max = layout->field[layout->time].max + 1;
    int64_t units = opts->ahead_ms_max * 1000 / layout->unit_us;
    if (opts->ahead_ms_max == 0)
        units = layout->unit_us == 1000000
                    ? 1
                    : 0; /* with units of 1 s, a small step back must not stop ids for a second */
    if (units <= 0) return 0;
    return ((uint64_t)units < units_max ? (uint64_t)units : units_max) << vs_seq(layout)->width;
}

/* Sets the store to the option `store`, or else to the store in the state folder. */
static int name_store(const struct vs_settings *settings, struct vs_header *header, struct vesta_error *err) {
    char state[PATH_MAX];
    assert(!header->store[0]);
    if (settings->store[0]) {
        snprintf(header->store, sizeof header->store, "%s", settings->store);
        return VESTA_OK;
    }
    if (vs_state_dir(state, sizeof state) != 0)
        return vs_fail(err, VESTA_EIO, "no state folder: set VESTA_STATE, or make /var/lib/vesta writable");
    if (*state != '/')
        return vs_fail(err, VESTA_EOPTION, "VESTA_STATE is '%s': set it to a path that begins with /",
                       VS_QUOTE(state, strlen(state)));
    int rc = vs_uri_of_path("file", state, header->store, err);
    return rc == VESTA_OK ? vs_store_check(header->store, err) : rc;
}

int vs_settings_identity(const char *path, bool is_local, struct vs_header *header, struct vesta_error *err) {
    char host[64] = "";
    assert(path[0]); /* with an empty path, all generators of a host would share one identity */
    if (header->own_identity) return VESTA_OK;
    if (!is_local) vs_host_name(host, sizeof host);
    int length = snprintf(header->identity, sizeof header->identity, "%s%s%s", host, is_local ? "" : ":", path);
    if (length < (int)sizeof header->identity) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION,
                   "%s:%.100s... is too long for an identity: set an identity, or use a shorter path", host, path);
}

int vs_opts_together(const struct vesta_opts *opts, const char **member, struct vesta_error *err) {
    bool is_local = opts->lease && strcmp(opts->lease, "local") == 0;
    *member = "lease";
    if (opts->lease && strcmp(opts->lease, "autonomous") == 0 && opts->pacing != VESTA_PACING_HISTORY)
        return vs_fail(
            err, VESTA_EOPTION,
            "is autonomous, which needs history pacing: ids that follow the clock would use up its window in minutes");
    if (is_local && opts->store && !vs_store_is_local(opts->store))
        return vs_fail(err, VESTA_EOPTION, "is local, which is for a store on this machine: use strict or balanced");
    *member = "ahead_ms_max";
    if (is_local && opts->ahead_ms_max > LOCAL_AHEAD_MS_MAX)
        return vs_fail(err, VESTA_EOPTION,
                       "%" PRId64 " is more than the %lld ms that a local lease has room for: if its store "
                       "were lost, `vesta store advance` would not pass such ids. Use at most that",
                       opts->ahead_ms_max, LOCAL_AHEAD_MS_MAX);
    return VESTA_OK;
}

/* Checks the combination of the options with the defaults. */
static int check_together(const struct vesta_opts *opts, const struct vs_header *header, struct vesta_error *err) {
    struct vesta_opts whole = *opts;
    struct vesta_error why;
    const char *member;
    assert(header->store[0]);
    assert(header->pacing != VESTA_PACING_DEFAULT);
    whole.lease = header->lease;
    whole.store = header->store;
    whole.pacing = (enum vesta_pacing)header->pacing;
    int rc = vs_opts_together(&whole, &member, &why);
    return rc == VESTA_OK ? rc : vs_fail(err, rc, "%s %s", member, why.text);
}

static int name_lease(const struct vs_settings *settings, struct vs_header *header, struct vesta_error *err) {
    const struct vesta_opts *opts = &settings->opts;
    assert(!(opts->flags & VESTA_UNSAFE_PRIVATE));
    const char *lease = opts->lease ? opts->lease : vs_store_is_local(header->store) ? "local" : "balanced";
    snprintf(header->lease, sizeof header->lease, "%s", lease);
    int rc = check_together(opts, header, err);
    if (rc != VESTA_OK) return rc;
    header->own_identity = opts->identity != NULL;
    if (opts->identity) snprintf(header->identity, sizeof header->identity, "%s", opts->identity);
    return vs_settings_identity(settings->path, vs_store_is_local(header->store), header, err);
}

int vs_settings_header(const struct vs_settings *settings, struct vs_header *header, struct vesta_error *err) {
    const struct vesta_opts *opts = &settings->opts;
    assert(settings->clock); /* keeper_read_settings has set the clock */
    memset(header, 0, sizeof *header);
    if ((opts->flags & VESTA_UNSAFE_PRIVATE) && !opts->has_worker)
        return vs_fail(err, VESTA_ENOGEN, "a private generator needs a worker id: there is no default");
    if (!opts->has_worker && !opts->any_worker && !opts->store)
        return vs_fail(err, VESTA_ENOGEN,
                       "there is no generator file %.120s. To create it, set worker, any_worker or store: there is no "
                       "default worker id",
                       settings->path);
    int rc = opts->has_worker ? vs_worker_check(&settings->layout, opts->worker, err) : VESTA_OK;
    if (rc != VESTA_OK) return rc;
    if (!(opts->flags & VESTA_UNSAFE_PRIVATE) && (rc = name_store(settings, header, err)) != VESTA_OK) return rc;
    header->pacing = opts->pacing ? opts->pacing : VESTA_PACING_CLOCK;
    header->fingerprint = settings->layout.fingerprint;
    header->ahead_ticks_max = ahead_ticks(opts, &settings->layout);
    header->has_worker = opts->has_worker != 0;
    header->worker = opts->has_worker ? opts->worker : 0;
    header->group = settings->group;
    vesta_layout_text(&settings->layout, header->layout);
    snprintf(header->namespace_, sizeof header->namespace_, "%s",
             opts->namespace_ ? opts->namespace_ : DEFAULT_NAMESPACE);
    memcpy(header->path, settings->path, sizeof header->path);
    if (vs_maps_dir(header->maps) != 0)
        return vs_fail(err, VESTA_EOPTION, "VESTA_MAPS is not an absolute path, or is longer than %d bytes",
                       VS_MAPS_MAX - 1);
    return opts->flags & VESTA_UNSAFE_PRIVATE ? VESTA_OK : name_lease(settings, header, err);
}

/* ------------------------------------------------------------------ an existing file */

/* Writes the error text.  `own` names what a second generator would need, such as "a path", so that each value can have
 * a generator. */
static int keeper_mismatch(struct vesta_error *err, const struct vs_settings *settings, const char *what,
                           const char *has, const char *asked, const char *own) {
    size_t length = strlen(settings->path);
    const char *path = length > 60 ? settings->path + length - 60 : settings->path;
    return vs_fail(err, VESTA_EMISMATCH,
                   "%s was created with %s %.120s, not %.120s. To use both, give the second one %s of its own. To "
                   "replace the file, stop the processes that use it and delete it",
                   path, what, has, asked, own);
}

static const char *pacing_name(enum vesta_pacing pacing) {
    return pacing == VESTA_PACING_HISTORY ? "history" : "clock";
}

static int match_worker(const struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err) {
    char has[32] = "drawn at random", asked[32];
    if (!settings->opts.has_worker || (header->has_worker && header->worker == settings->opts.worker)) return VESTA_OK;
    snprintf(asked, sizeof asked, "%" PRIu64, settings->opts.worker);
    if (header->has_worker) snprintf(has, sizeof has, "%" PRIu64, header->worker);
    return keeper_mismatch(err, settings, "worker id", has, asked, "a path");
}

static const char *group_name(int gid, char buf[32]) {
    const struct group *group = gid >= 0 ? getgrgid((gid_t)gid) : NULL;
    if (group) return group->gr_name;
    snprintf(buf, 32, gid >= 0 ? "%d" : "none", gid);
    return buf;
}

/* Rejects a group that differs from the file's group, because the file and its map were created with that group's
 * permissions. */
static int match_group(const struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err) {
    char has[32], asked[64];
    if (!settings->opts.group || header->group == settings->group) return VESTA_OK;
    snprintf(asked, sizeof asked, "%s", settings->opts.group);
    return keeper_mismatch(err, settings, "group", group_name(header->group, has), asked, "a path");
}

/* Rejects a layout that differs from the file's layout, even if only a constant differs, because the file's lease is
 * for that layout. */
static int match_layout(const struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err) {
    char asked[VESTA_LAYOUT_TEXT_MAX], why[VS_DEPARTURE_MAX];
    if (!settings->has_layout) return VESTA_OK;
    bool is_same = header->fingerprint == settings->layout.fingerprint;
    if (is_same && !vs_layout_departs(&settings->layout, header->layout, why)) return VESTA_OK;
    vesta_layout_text(&settings->layout, asked);
    return keeper_mismatch(err, settings, "layout", vs_layout_shown(header->layout), vs_layout_shown(asked),
                           settings->opts.path ? "a namespace and a path" : "a namespace");
}

int vs_settings_matches(const struct vs_settings *settings, const struct vs_header *header, struct vesta_error *err) {
    const struct vesta_opts *opts = &settings->opts;
    char asked[VESTA_LAYOUT_TEXT_MAX];
    assert(header->format == VS_ANCHOR_FORMAT);
    int rc = match_layout(settings, header, err);
    if (rc != VESTA_OK) return rc;
    if (opts->namespace_ && strcmp(header->namespace_, opts->namespace_) != 0)
        return keeper_mismatch(err, settings, "namespace", header->namespace_, opts->namespace_, "a path");
    if (opts->lease && strcmp(header->lease, opts->lease) != 0)
        return keeper_mismatch(err, settings, "lease", header->lease, opts->lease, "a path");
    if (opts->identity && strcmp(header->identity, opts->identity) != 0)
        return keeper_mismatch(err, settings, "identity", header->identity, opts->identity, "a path");
    if (opts->pacing && opts->pacing != (enum vesta_pacing)header->pacing)
        return keeper_mismatch(err, settings, "pacing", pacing_name((enum vesta_pacing)header->pacing),
                               pacing_name(opts->pacing), "a path");
    struct vesta_layout own;
    if (opts->ahead_ms_max != 0 && vesta_layout_parse(header->layout, &own, NULL) == VESTA_OK &&
        header->ahead_ticks_max != ahead_ticks(opts, &own)) {
        char has[40];
        uint64_t units = header->ahead_ticks_max >> vs_seq(&own)->width;
        snprintf(has, sizeof has, "%" PRIu64 " ms", units * (uint64_t)own.unit_us / 1000);
        snprintf(asked, sizeof asked, "%" PRId64 " ms", opts->ahead_ms_max);
        return keeper_mismatch(err, settings, "ahead_ms_max", has, asked, "a path");
    }
    if ((rc = match_group(settings, header, err)) != VESTA_OK) return rc;
    return match_worker(settings, header, err);
}

int vs_check_lifetime(const struct vesta_layout *layout, const struct vesta_clock *clock, char *warning, size_t size,
                      struct vesta_error *err) {
    char iso[VESTA_ISO_MAX];
    int64_t now_ms = clock->unix_us(clock->self) / 1000, end_ms = vesta_layout_end_ms(layout);
    if (layout->read_only)
        return vs_fail(err, VESTA_ELAYOUT, "ids of this layout can be read, not issued: %s", layout->read_only);
    if (now_ms < layout->epoch_ms) {
        vesta_iso(layout->epoch_ms, iso);
        return vs_fail(err, VESTA_ELAYOUT,
                       "the layout's epoch %s is in the future: use an earlier epoch, or correct the clock", iso);
    }
    vesta_iso(end_ms, iso);
    if (now_ms >= end_ms)
        return vs_fail(err, VESTA_EEPOCH,
                       "the layout's time ended at %s: its ids can be read, not issued. Use a later epoch or more time "
                       "bits, under a new namespace",
                       iso);
    warning[0] = '\0';
    if (layout->epoch_ms > 0 && layout->epoch_ms < EPOCH_SECONDS_MS_MAX) {
        char began[VESTA_ISO_MAX];
        vesta_iso(layout->epoch_ms, began), vesta_iso(layout->epoch_ms * 1000, iso);
        snprintf(warning, size, "the layout's epoch is %s: if %lld are seconds, write epoch=%s", began,
                 (long long)layout->epoch_ms, iso);
    } else if (end_ms - now_ms < WARN_MS)
        snprintf(warning, size, "the layout's time ends at %s, in %lld days", iso,
                 (long long)(end_ms - now_ms) / 86400000);
    return VESTA_OK;
}

bool vs_may_keep(unsigned flags, const char *store) {
    return !(flags & VESTA_NO_KEEPER) &&
           (!(flags & VESTA_FILE_KEEPER) || vs_store_folder(store, (char[VS_URI_MAX]){0}));
}
