/* files.c -- the registry of this process's files: one mapping and one keeper per map. */
#include "base/error.h"
#include "id/id.h"
#include "keeper/file.h"
#include "os/lock.h"
#include "os/process.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LISTS 4096
/* Hash table of the open files by their key, which is random.  Each list begins with its newest file.  Guarded by the
 * process lock. */
static struct vs_file *files[LISTS];

static struct vs_file **list_of(const struct vs_anchor *anchor) {
    uint32_t bits;
    memcpy(&bits, anchor->header.key, sizeof bits);
    return &files[bits % LISTS];
}

bool vs_is_used_up(const struct vs_map *map) {
    return atomic_load(&map->shared.stopped) == VESTA_CLOSED;
}

/* Returns the open file of an anchor.  Call this before you open the map again, because closing any descriptor of a map
 * drops all locks that the process has on it. */
static struct vs_file *keeper_find_file(const struct vs_anchor *anchor) {
    char name[VS_MAP_NAME_MAX];
    assert(vs_process_is_locked());
    /* make no system call if the list is empty */
    if (!*list_of(anchor) || vs_mapping_name(&anchor->header, name) != 0) return NULL;
    for (struct vs_file *file = *list_of(anchor); file; file = file->next) {
        bool same_key = memcmp(file->anchor.header.key, anchor->header.key, VS_KEY_BYTES) == 0;
        bool same_name = !file->mapping.name[0] || vs_mapping_has_name(&file->mapping, name);
        if (same_key && same_name && !vs_is_used_up(file->mapping.map) && vs_mapping_is_named(&file->mapping))
            return file;
    }
    return NULL;
}

bool vs_file_has(const char *name) {
    assert(vs_process_is_locked());
    assert(!strchr(name, '/'));
    for (int i = 0; i < LISTS; i++)
        for (const struct vs_file *file = files[i]; file; file = file->next) {
            const char *slash = strrchr(file->mapping.name, '/');
            if (slash && strcmp(slash + 1, name) == 0) return true;
        }
    return false;
}

/* Rejects a header with values that contradict each other.  For example, a worker id that is too large would change
 * other fields of the ids. */
static int check_header(const char *path, const struct vs_header *header, const struct vesta_layout *layout,
                        struct vesta_error *err) {
    struct vs_shape shape;
    vs_shape_of(layout, &shape);
    bool is_in_range = header->worker <= vs_worker_max(layout) && header->ahead_ticks_max <= vs_tick_end(&shape);
    bool has_lease = memchr(header->lease, '\0', sizeof header->lease) && vs_lease_preset(header->lease);
    if (layout->fingerprint == header->fingerprint && is_in_range && has_lease) return VESTA_OK;
    return vs_fail(err, VESTA_EIO,
                   "%.150s cannot be used: its header is damaged. Move it away, and a new one will be created", path);
}

/* Replaces the string in *at by a copy of `text`.  Erases the old string first, because it may be a secret. */
static bool keep_text(char **at, const char *text) {
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) return false;
    if (*at) explicit_bzero(*at, strlen(*at));
    free(*at);
    *at = copy;
    return true;
}

static int fill_file(struct vs_file *file, const struct vs_anchor *anchor, const struct vs_settings *settings,
                     struct vesta_error *err) {
    struct vs_header *header = &file->anchor.header;
    char why[VS_WHY_MAX] = "";
    file->anchor = *anchor;
    int rc = vesta_layout_parse(header->layout, &file->layout, err);
    if (rc == VESTA_OK) rc = check_header(settings->path, header, &file->layout, err);
    /* Give a copied file a new identity.  The old identity shows whether an identity needs a host name.  The store's
     * backend could report that, too, but then every process would have to load the backend, even one that keeps no
     * lease. */
    bool is_local = strcmp(header->identity, header->path) == 0;
    if (rc == VESTA_OK) rc = vs_settings_identity(settings->path, is_local, header, err);
    if (rc == VESTA_OK) rc = vs_mapping_open(&file->anchor, settings->clock, &file->mapping, why, err);
    /* if there is no memory, the warning is lost */
    if (rc == VESTA_OK && why[0]) (void)keep_text(&file->why_lone, why);
    return rc;
}

/* Call only if the map is closed or was never opened. */
static void free_file(struct vs_file *file) {
    keep_text(&file->path, NULL);
    keep_text(&file->why_lone, NULL);
    keep_text(&file->store, NULL);
    keep_text(&file->secret, NULL);
    free(file);
}

/* Copies the store and the secret of the settings, if they are set. */
static bool keep_words(struct vs_file *file, const struct vs_settings *settings) {
    return (!settings->store[0] || keep_text(&file->store, settings->store)) &&
           (!settings->secret || keep_text(&file->secret, settings->secret));
}

static int make_file(const struct vs_anchor *anchor, const struct vs_settings *settings, struct vs_file **out,
                     struct vesta_error *err) {
    struct vs_file *file = calloc(1, sizeof *file);
    bool is_room = file && keep_text(&file->path, settings->path) && keep_text(&file->store, anchor->header.store) &&
                   keep_words(file, settings);
    int rc = is_room ? fill_file(file, anchor, settings, err) : vs_fail(err, VESTA_ENOMEM, "no memory");
    if (rc == VESTA_OK)
        *out = file;
    else if (file)
        free_file(file);
    return rc;
}

static int new_file(const struct vs_anchor *anchor, const struct vs_settings *settings, struct vs_file **out,
                    struct vesta_error *err) {
    struct vs_file *file;
    int rc = make_file(anchor, settings, &file, err);
    if (rc != VESTA_OK) return rc;
    assert(file->mapping.fd >= 0); /* the election locks bytes of this file */
    vs_lock_byte(file->mapping.fd, VS_BYTE_HERE, false);
    if (file->mapping.is_new && file->mapping.name[0]) vs_sweep(&file->mapping, settings->clock);
    file->clock = settings->clock;
    struct vs_file **list = list_of(&file->anchor);
    file->next = *list;
    *list = file;
    *out = file;
    return VESTA_OK;
}

int vs_file_enter(const struct vs_anchor *anchor, const struct vs_settings *settings, struct vs_file **out,
                  struct vesta_error *err) {
    struct vs_file *file = keeper_find_file(anchor);
    int rc = VESTA_OK;
    assert(settings->clock);
    if (file && file->closing_in == vs_process_token()) return VESTA_EPAUSE;
    if (file && !keep_words(file, settings)) return vs_fail(err, VESTA_ENOMEM, "no memory");
    if (!file && (rc = new_file(anchor, settings, &file, err)) != VESTA_OK) return rc;
    file->handles++;
    *out = file;
    return VESTA_OK;
}

int vs_file_enter_next(const struct vs_file *old, struct vs_file **out, struct vesta_error *err) {
    assert(old->handles > 0);
    struct vs_settings settings = {.clock = old->clock, .secret = old->secret};
    snprintf(settings.path, sizeof settings.path, "%s", old->path);
    snprintf(settings.store, sizeof settings.store, "%s", old->store);
    return vs_file_enter(&old->anchor, &settings, out, err);
}

/* Returns true if no process can find this map any more.  Either the generator file that leads to the map is gone.  Or
 * the map was created without a generator file, and a generator file that was created later leads to another map. */
static bool is_forlorn(const struct vs_file *file) {
    struct stat st;
    assert(!vs_process_is_locked());
    if (!file->mapping.name[0]) return false;
    bool is_there = lstat(file->path, &st) == 0;
    return file->anchor.no_file ? is_there : !is_there && errno == ENOENT;
}

static void keeper_forget_file(struct vs_file *file, bool is_forlorn) {
    struct vs_file **at = list_of(&file->anchor);
    assert(vs_process_is_locked());
    assert(file->handles == 0);
    assert(file->keeper_in != vs_process_token()); /* the keeper's thread would use freed memory */
    for (; *at != file; at = &(*at)->next)
        assert(*at);
    *at = file->next;
    if (is_forlorn && vs_lock_byte(file->mapping.fd, VS_BYTE_HERE, true)) vs_mapping_remove(&file->mapping);
    vs_mapping_close(&file->mapping); /* also drops the locks */
}

/* Stops the keeper without the process lock, because the keeper may need that lock.  Meanwhile `closing_in` makes other
 * threads wait.  `closing_in` does not affect a child that is forked at this moment, because the child has no thread
 * that closes the file. */
void vs_file_leave(const struct vs_handle *handle, struct vs_file *file) {
    vs_process_lock();
    assert(file->handles > 0);
    assert(file->closing_in != vs_process_token());
    assert(!handle || file->question.choosers >= handle->chooses);
    if (handle) file->question.choosers -= handle->chooses;
    bool last = --file->handles == 0;
    file->closing_in = last ? vs_process_token() : 0;
    vs_process_unlock();
    if (!last) return;
    bool forlorn = is_forlorn(file), lone = !file->mapping.name[0];
    vs_keeper_stop(file, forlorn || lone ? VS_GIVE_BACK : VS_HAND_OVER);
    vs_process_lock();
    keeper_forget_file(file, forlorn);
    vs_process_unlock();
    free_file(file);
}
