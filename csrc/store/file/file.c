/* file.c -- the store of one host: one folder per namespace, one file per record.
 *
 *     <place>/<namespace>/namespace     the namespace record
 *     <place>/<namespace>/<worker>      the lease record of one worker id, as text (lease/record.h)
 *     <place>/<namespace>/lock          the turns of writers
 *     <place>/~counters/                see counter.c
 *
 * Records are read without a lock, and replaced as folder.h describes.  Therefore, a stopped process never blocks
 * others, and forks or two copies of this library in a process are safe.  No descriptor stays open between calls.
 *
 * A swap is durable before it returns: it writes a new file, syncs it, renames it over the old file, and syncs the
 * folder.  The store's clock is the host's. */
#include "store/file/file.h"
#include "base/error.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/random.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMESPACE "namespace"
#define PLACE_NAMESPACE 0             /* the namespace's place (vs_folder_turn).  The place of worker id N is N + 1 */
#define DIR_BYTES_MAX (PATH_MAX - 64) /* leaves room for a record's file name */
#define FENCED_US_MAX 2000000
#define FENCED_NAP_US 2000
_Static_assert(sizeof NAMESPACE <= VS_FOLDER_NAME_MAX, "the namespace's file name fits");
_Static_assert(sizeof "18446744073709551615" <= VS_FOLDER_NAME_MAX, "every worker id's file name fits");

static struct file_store *file_self_of(struct vs_store *store) {
    assert(store->backend == &vs_store_file);
    return (struct file_store *)store;
}

static void file_name_of(uint64_t worker, char *name) {
    snprintf(name, VS_FOLDER_NAME_MAX, "%" PRIu64, worker);
}

static bool file_begin(struct file_store *self, struct vs_reply *reply) {
    vs_reply_clear(reply);
    if (!vs_folder_enter(&self->folder, reply)) return false;
    int64_t now_ms = self->base.clock->unix_us(self->base.clock->self) / 1000;
    reply->store_ms = now_ms > 0 ? now_ms : 0;
    return true;
}

/* ------------------------------------------------------------------ reading */

static bool file_load_record(const struct file_store *self, uint64_t worker, struct vs_reply *reply) {
    char name[VS_FOLDER_NAME_MAX], text[VS_RECORD_TEXT_MAX];
    file_name_of(worker, name);
    reply->record = (struct vs_record){0};
    ssize_t length = vs_folder_load(&self->folder, name, text, reply);
    return length == 0 || (length > 0 && vs_take_record(reply, text, (size_t)length, self->dir, worker));
}

static bool file_load_ns(const struct file_store *self, struct vs_reply *reply) {
    char text[VS_RECORD_TEXT_MAX];
    reply->ns = (struct vs_ns_record){0};
    ssize_t length = vs_folder_load(&self->folder, NAMESPACE, text, reply);
    return length == 0 || (length > 0 && vs_take_ns(reply, text, (size_t)length, self->dir));
}

static void file_read(struct vs_store *store, uint64_t worker, struct vs_reply *reply) {
    struct file_store *self = file_self_of(store);
    if (!file_begin(self, reply)) return;
    if (file_load_record(self, worker, reply)) vs_done(reply);
    assert(reply->outcome != VS_STORE_UNKNOWN); /* only a write can have the outcome UNKNOWN */
    vs_folder_leave(&self->folder);
}

static void file_ns_read(struct vs_store *store, struct vs_reply *reply) {
    struct file_store *self = file_self_of(store);
    if (!file_begin(self, reply)) return;
    if (file_load_ns(self, reply)) {
        vs_meet(&self->met, reply);
        vs_done(reply);
    }
    assert(reply->outcome != VS_STORE_UNKNOWN);
    vs_folder_leave(&self->folder);
}

/* ------------------------------------------------------------------ swaps */

struct change {
    char name[VS_FOLDER_NAME_MAX], text[VS_RECORD_TEXT_MAX];
    size_t length;
    uint64_t place, places;
    uint64_t worker, old_ver;
    const struct vs_record *record; /* NULL: the namespace's record */
};

/* Returns whether the stored record is still the record on which the change is based.  If not, fills the reply, for
 * example with CONFLICT. */
static bool file_is_due(struct file_store *self, const struct change *change, struct vs_reply *reply) {
    /* a record's turn covers one place, and the namespace's turn covers all places */
    assert((change->place == PLACE_NAMESPACE) == !change->record);
    assert((change->places == 0) == !change->record);
    if (!file_load_ns(self, reply)) return false;
    if (change->record && (!vs_is_met(&self->met, reply) || !file_load_record(self, change->worker, reply)))
        return false;
    bool due =
        change->record ? vs_follows(change->record, &reply->record, change->old_ver) : reply->ns.ver == change->old_ver;
    if (!due) vs_not_first(reply);
    return due;
}

/* Checks, after a lease was written, that the namespace's record is still the same.  If that record was repaired during
 * the write, the outcome is UNKNOWN. */
static void file_look_behind(struct file_store *self, const struct change *change, struct vs_reply *reply) {
    struct vs_reply now;
    vs_reply_clear(&now);
    if (!vs_folder_settle(&self->folder, reply)) return;
    if (!change->record || (file_load_ns(self, &now) && vs_is_met(&self->met, &now)))
        vs_done(reply);
    else
        vs_answer(reply, VS_STORE_UNKNOWN, "the namespace's record changed during a write: read it again");
}

/* Announces the change, compares the record, and replaces it.  Does this during a turn, or without a turn if the wait
 * for one was too long. */
static bool file_make(struct file_store *self, const struct change *change, struct vs_reply *reply, bool *fenced) {
    struct vs_folder *folder = &self->folder;
    bool made = vs_folder_turn(folder, change->place, change->places, true, reply) &&
                vs_folder_announce(folder, change->name, reply, fenced) && file_is_due(self, change, reply) &&
                vs_folder_make(folder, change->name, reply, fenced);
    assert(!made || !*fenced);
    if (!made) vs_folder_drop(folder);
    vs_folder_end_turn(folder);
    return made;
}

/* Tries the change once.  Returns true if another writer removed the announced change, so that nothing was changed. */
static bool file_try_change(struct file_store *self, const struct change *change, struct vs_reply *reply) {
    bool fenced = false;
    if (!file_is_due(self, change, reply) ||
        !vs_folder_write(&self->folder, change->name, change->text, change->length, reply))
        return false;
    if (file_make(self, change, reply, &fenced)) file_look_behind(self, change, reply);
    assert(!fenced || reply->outcome != VS_STORE_OK); /* otherwise an acknowledged write would be repeated */
    return fenced;
}

static void file_nap(const struct file_store *self) {
    uint32_t dice = 0;
    (void)vs_random(&dice, sizeof dice);
    self->base.clock->sleep_us(self->base.clock->self, dice % FENCED_NAP_US);
}

static void file_change(struct file_store *self, const struct change *change, struct vs_reply *reply) {
    const struct vesta_clock *clock = vs_clock_system();
    int64_t until_us = clock->boot_us(clock->self) + FENCED_US_MAX;
    while (file_try_change(self, change, reply)) {
        vs_answer(reply, VS_STORE_DOWN, "other writers of %.90s/%s were faster for %d s: try again", self->dir,
                  change->name, FENCED_US_MAX / 1000000);
        if (clock->boot_us(clock->self) >= until_us) return;
        file_nap(self);
    }
}

static void file_swap(struct vs_store *store, uint64_t worker, uint64_t old_ver, const struct vs_record *record,
                      struct vs_reply *reply) {
    struct file_store *self = file_self_of(store);
    struct vs_record stamped = *record;
    struct change change = {
        .place = PLACE_NAMESPACE + 1 + worker, .places = 1, .worker = worker, .old_ver = old_ver, .record = &stamped};
    if (!file_begin(self, reply)) return;
    stamped.written_ms = reply->store_ms;
    file_name_of(worker, change.name);
    change.length = vs_record_write(&stamped, change.text);
    file_change(self, &change, reply);
    if (reply->outcome == VS_STORE_OK) reply->record = stamped;
    vs_folder_leave(&self->folder);
}

static void file_ns_swap(struct vs_store *store, uint64_t old_ver, const struct vs_ns_record *record,
                         struct vs_reply *reply) {
    struct file_store *self = file_self_of(store);
    struct change change = {.name = NAMESPACE, .place = PLACE_NAMESPACE, .old_ver = old_ver};
    assert(record->ver == old_ver + 1);
    if (!file_begin(self, reply)) return;
    change.length = vs_ns_record_write(record, change.text);
    file_change(self, &change, reply);
    if (reply->outcome == VS_STORE_OK) reply->ns = *record;
    vs_folder_leave(&self->folder);
}

/* ------------------------------------------------------------------ listing */

static bool file_scan(struct file_store *self, DIR *dir, struct vs_listed **listed, size_t *count,
                      struct vs_reply *reply) {
    struct vs_growing_list list = {listed, count, 0};
    struct dirent *entry;
    errno = 0; /* readdir returns NULL both at the end and on errors */
    while ((entry = readdir(dir))) {
        uint64_t worker;
        if (!vs_is_number(entry->d_name, &worker)) continue;
        if (!file_load_record(self, worker, reply) || !vs_list_add(&list, worker, reply)) return false;
        errno = 0;
    }
    return errno == 0 || vs_answer_fault(reply, VS_STORE_DOWN, vs_fault_of_errno(errno), "cannot list %.90s: %.40s",
                                         self->dir, strerror(errno));
}

/* Lists the records in a turn that excludes all writers, because a file that is replaced during a scan may appear twice
 * or not at all.  A process that has only read access cannot take a turn, so its list is only a hint. */
static void file_list(struct vs_store *store, struct vs_listed **listed, size_t *count, struct vs_reply *reply) {
    struct file_store *self = file_self_of(store);
    *listed = NULL;
    *count = 0;
    if (!file_begin(self, reply)) return;
    reply->is_hint = !vs_folder_turn(&self->folder, PLACE_NAMESPACE, 0, false, reply);
    int fd = openat(self->folder.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir) {
        if (file_scan(self, dir, listed, count, reply)) vs_done(reply);
        closedir(dir);
    } else {
        vs_answer_fault(reply, VS_STORE_REFUSED, vs_fault_of_errno(errno), "cannot list %.90s: %.40s", self->dir,
                        strerror(errno));
        if (fd >= 0) close(fd);
    }
    vs_folder_leave(&self->folder);
    vs_list_sort(*listed, *count);
}

static bool file_has(struct vs_store *store, const char *name) {
    const struct file_store *self = file_self_of(store);
    char path[PATH_MAX + 300];
    assert(!strchr(name, '/'));
    snprintf(path, sizeof path, "%.*s/%s/" NAMESPACE, (int)self->place_length, self->dir, name);
    return access(path, F_OK) == 0;
}

static void file_names(struct vs_store *store, const char *of, void (*tell)(void *to, const char *name), void *to,
                       struct vs_reply *reply) {
    struct file_store *self = file_self_of(store);
    char place[PATH_MAX];
    struct dirent *entry;
    (void)of; /* unused, because all names are read anyway.  file_has checks a single name */
    vs_reply_clear(reply);
    assert(self->dir[self->place_length] == '/'); /* the namespace's name follows the slash */
    snprintf(place, sizeof place, "%.*s", (int)self->place_length, self->dir);
    DIR *dir = opendir(place);
    if (!dir && errno == ENOENT) { /* the store has not been used yet */
        vs_done(reply);
        return;
    }
    if (!dir) {
        vs_answer_fault(reply, VS_STORE_REFUSED, vs_fault_of_errno(errno), "cannot list %.90s: %.40s", place,
                        strerror(errno));
        return;
    }
    while ((errno = 0, entry = readdir(dir)))
        if (entry->d_name[0] != '.' && file_has(store, entry->d_name)) tell(to, entry->d_name);
    if (errno == 0)
        vs_done(reply);
    else
        vs_answer_fault(reply, VS_STORE_DOWN, vs_fault_of_errno(errno), "cannot list %.90s: %.40s", place,
                        strerror(errno));
    closedir(dir);
}

/* ------------------------------------------------------------------ opening */

static void file_close(struct vs_store *store) {
    struct file_store *self = file_self_of(store);
    assert(self->folder.fd < 0); /* no call is in progress */
    free(self);
}

static int file_check(const char *uri, struct vesta_error *err) {
    char place[VS_URI_MAX];
    return vs_uri_path(&vs_store_file, uri, place, err);
}

/* Creates the folder if it is missing.  Checks its owner, and that it is on this machine. */
static int file_make_folder(struct file_store *self, struct vesta_error *err) {
    struct vs_reply reply;
    char text[sizeof err->text];
    if (vs_make_dirs(self->dir, self->folder.group) != 0)
        return vs_fail(err, VESTA_EIO, "cannot create %.150s: %s. Create it for this user, or name another store",
                       self->dir, strerror(errno));
    vs_reply_clear(&reply);
    if (!vs_folder_enter(&self->folder, &reply))
        return vs_fail(err, VESTA_EIO, "%s", vs_reply_say(&reply, "", text, sizeof text));
    int rc = vs_file_system_check(self->folder.fd, self->dir, "a store", err);
    vs_folder_leave(&self->folder);
    return rc;
}

/* Rejects a name that ends in .gen.  The folder of a namespace default.gen would have the path of the generator file of
 * `default`. */
static int check_name(const char *name, struct vesta_error *err) {
    size_t length = strlen(name);
    if (length < 4 || strcmp(name + length - 4, ".gen") != 0) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION,
                   "a namespace in a file: store must not end in .gen, as %.100s does, because its folder would have "
                   "the name of a generator file",
                   name);
}

static int file_open(const char *uri, const struct vs_store_opts *opts, struct vs_store **store,
                     struct vesta_error *err) {
    char place[VS_URI_MAX];
    int rc = vs_uri_path(&vs_store_file, uri, place, err);
    if (rc == VESTA_OK) rc = check_name(opts->namespace_, err);
    if (rc != VESTA_OK) return rc;
    size_t dir_bytes = strlen(place) + 1 + strlen(opts->namespace_) + 1;
    size_t counters_bytes = strlen(place) + sizeof "/" VS_FILE_COUNTERS;
    if (dir_bytes > DIR_BYTES_MAX || counters_bytes > DIR_BYTES_MAX)
        return vs_fail(err, VESTA_EIO, "the store's path is too long: %.100s", place);
    struct file_store *self = calloc(1, sizeof *self + dir_bytes + counters_bytes);
    if (!self) return vs_fail(err, VESTA_ENOMEM, "no memory");
    self->dir = self->paths;
    self->counters_dir = self->paths + dir_bytes;
    snprintf(self->dir, dir_bytes, "%s/%s", place, opts->namespace_);
    snprintf(self->counters_dir, counters_bytes, "%s/" VS_FILE_COUNTERS, place);
    self->base = vs_store_base(&vs_store_file, opts);
    self->folder = (struct vs_folder){.path = self->dir, .group = opts->group, .fd = -1, .turn_fd = -1};
    self->counters = (struct vs_folder){.path = self->counters_dir, .group = opts->group, .fd = -1, .turn_fd = -1};
    self->place_length = strlen(place);
    rc = file_make_folder(self, err);
    if (rc != VESTA_OK) {
        file_close(&self->base);
        return rc;
    }
    *store = &self->base;
    return VESTA_OK;
}

static const struct vs_store_leases file_leases = {
    .list = file_list,
    .read = file_read,
    .names = file_names,
    .has = file_has,
    .swap = file_swap,
    .ns_read = file_ns_read,
    .ns_swap = file_ns_swap,
};

static const struct vs_store_counters file_counters = {
    .take = vs_file_take,
    .untake = vs_file_untake,
    .tags = vs_file_tags,
    .tag_add = vs_file_tag_add,
    .tag_step = vs_file_tag_step,
    .lift = vs_file_lift,
    .share = vs_file_share,
    .keep_form = vs_file_form,
};

const struct vs_backend vs_store_file = {
    .scheme = "file",
    .form = "file:/DIR",
    .is_local = true,
    .is_folder = true,
    .made = "nothing needs to be created: files appear with the first worker id",
    .rights = "a process that leases needs write access",
    .check = file_check,
    .open = file_open,
    .close = file_close,
    .leases = &file_leases,
    .counters = &file_counters,
};
