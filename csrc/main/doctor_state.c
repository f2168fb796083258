/* doctor_state.c -- the folder for state, generator files, and how long their layouts last: read only. */
#include "core/core.h"
#include "keeper/options.h"
#include "main/doctor.h"
#include "os/become.h"
#include "os/mapping.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FREE_BYTES_MIN (16 << 20)
#define STEP_US 1000000 /* clocks are slewed by less between two looks */
#define BEHIND_US_MAX 60000000

/* ------------------------------------------------------------------ folders */

/* Whether the user that the server becomes may write there; the kernel's word is about us. */
static bool user_may_write(const struct vs_doctor *doctor, const struct stat *st) {
    const struct vs_config *config = doctor->config;
    struct vs_identity who;
    if (geteuid() != 0 || !config->user) return true;
    if (vs_identity_find(config->user, config->group ? config->group : "", &who, NULL) != VESTA_OK) return true;
    mode_t needed = who.uid == st->st_uid ? 0300 : who.gid == st->st_gid ? 0030 : 0003;
    return who.uid == 0 || (st->st_mode & needed) == needed;
}

static void look_at_room(struct vs_doctor *doctor, const char *path) {
    struct statvfs fs;
    if (statvfs(path, &fs) != 0) return;
    uint64_t bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    char room[VS_GROUPED_MAX];
    if (bytes < sizeof(struct vs_map) || (fs.f_files > 0 && fs.f_favail == 0))
        vs_found(doctor, VS_SICK, "state", "make room", "%s is full", path);
    else if (bytes < FREE_BYTES_MIN)
        vs_found(doctor, VS_WARN, "state", "make room", "%s has %s bytes left", path, vs_grouped(bytes, room));
}

/* The folder itself, or the parent that it will be made in. */
static void look_at_folder(struct vs_doctor *doctor, const char *path) {
    struct stat st;
    struct vesta_error err;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        vs_found(doctor, VS_FINE, "state", NULL, "%s is not there yet, and will be made", path);
        return;
    }
    if (fd < 0 || fstat(fd, &st) != 0) {
        vs_found(doctor, VS_SICK, "state", "give its owner's name to `sudo -u`, or choose another folder",
                 "%s cannot be looked at: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return;
    }
    const char *who = doctor->config->user ? doctor->config->user : "who asks";
    if (vs_file_system_check(fd, path, "a generator file", &err) != VESTA_OK)
        vs_found(doctor, VS_SICK, "state", "set VESTA_STATE, or the namespace's path", "%s", err.text);
    else if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0)
        vs_found(doctor, VS_SICK, "state", "run as its owner, or give it away with chown",
                 "%s is user %ld's with mode %o, and not writable: %s", path, (long)st.st_uid, st.st_mode & 07777,
                 strerror(errno));
    else if (!user_may_write(doctor, &st))
        vs_found(doctor, VS_SICK, "state", "give it away with chown",
                 "%s is user %ld's with mode %o, and not writable for %s", path, (long)st.st_uid, st.st_mode & 07777,
                 who);
    else if (st.st_mode & S_IWOTH)
        vs_found(doctor, VS_WARN, "state", "chmod o-w", "%s can be written by everybody (mode %o)", path,
                 st.st_mode & 07777);
    else
        vs_found(doctor, VS_FINE, "state", NULL, "%s is writable", path);
    look_at_room(doctor, path);
    close(fd);
}

static void folder_of(const char *file, char *folder) {
    const char *slash = strrchr(file, '/');
    if (slash == file || !slash)
        strcpy(folder, slash ? "/" : ".");
    else
        snprintf(folder, PATH_MAX, "%.*s", (int)(slash - file), file);
}

void vs_doctor_folders(struct vs_doctor *doctor) {
    const struct vs_config *config = doctor->config;
    char state[PATH_MAX], folder[PATH_MAX], last[PATH_MAX] = "";
    if (vs_state_dir(state, sizeof state) != 0)
        vs_found(doctor, VS_SICK, "state", "set VESTA_STATE, or make /var/lib/vesta writable", "no folder for state");
    else
        look_at_folder(doctor, state);
    for (int i = 0; i < config->space_count; i++) {
        if (!config->space[i].path) continue;
        folder_of(config->space[i].path, folder);
        if (strcmp(folder, last) != 0 && strcmp(folder, state) != 0) look_at_folder(doctor, folder);
        strcpy(last, folder);
    }
}

/* ------------------------------------------------------------------ a generator file */

static void look_at_layout(struct vs_doctor *doctor, const char *name, const struct vesta_layout *layout) {
    struct vesta_error err;
    char warning[256], iso[VESTA_ISO_MAX];
    if (vs_check_lifetime(layout, doctor->clock, warning, sizeof warning, &err) != VESTA_OK)
        vs_found(doctor, VS_SICK, name, NULL, "%s", err.text);
    else if (*warning)
        vs_found(doctor, VS_WARN, name, "plan a new namespace with a later epoch or more time bits", "%s", warning);
    else
        vs_found(doctor, VS_FINE, name, NULL, "the layout's time lasts until %s",
                 vs_iso(vesta_layout_end_ms(layout), iso));
}

/* The clock against what it was when ids were given from this file. */
static void look_at_seen(struct vs_doctor *doctor, const char *name, const struct vs_map *map) {
    int64_t now_us = doctor->clock->unix_us(doctor->clock->self), boot_us = doctor->clock->boot_us(doctor->clock->self);
    int64_t behind_us = atomic_load(&map->shared.seen_us) - now_us;
    int64_t set_us = now_us - boot_us - atomic_load(&map->shared.offset_us);
    if (behind_us > 0)
        vs_found(doctor, behind_us > BEHIND_US_MAX ? VS_SICK : VS_WARN, name, "set the clock right, or wait as long",
                 "the clock is %.3f s behind what ids were given for", (double)behind_us / 1e6);
    else if (set_us > STEP_US || set_us < -STEP_US)
        vs_found(doctor, VS_WARN, name, "see what sets it", "the clock was set %s by %.3f s since this file began",
                 set_us > 0 ? "forward" : "back", (double)(set_us > 0 ? set_us : -set_us) / 1e6);
}

static void look_at_lease(struct vs_doctor *doctor, const char *name, const struct vs_map *map,
                          const struct vesta_layout *layout) {
    char said[VS_SAID_MAX], left[64] = "no lease just now: nobody serves it";
    uint32_t used = atomic_load(&map->shared.slots_used);
    int active = vs_map_active(map);
    uint64_t cursor;
    for (int i = 0; i < VS_SAID_MAX; i++)
        said[i] = atomic_load_explicit(&map->shared.keeper[i], memory_order_relaxed);
    said[VS_SAID_MAX - 1] = '\0';
    if (active >= 0 && vs_slot_cursor(&map->slot[active], &cursor)) {
        int64_t until_ms =
            vs_time_ms(layout, atomic_load(&map->slot[active].limit) >> layout->field[layout->seq].width);
        snprintf(left, sizeof left, "worker %" PRIu64 ", its lease has %" PRId64 " s", map->slot[active].worker,
                 (until_ms - vs_now_ms()) / 1000);
    }
    if (atomic_load(&map->shared.stopped) == VESTA_FAILSTOP)
        vs_found(doctor, VS_SICK, name, "a person must look: two may have had one number", "stopped for good: %s",
                 *said ? said : "the keeper left no word");
    else
        vs_found(doctor, VS_FINE, name, NULL, "%s, %u of %d leases of its file are used", left, used, VS_SLOTS_MAX);
    if (*said) vs_found(doctor, VS_WARN, name, NULL, "the keeper's last words: %s", said);
}

/* A file against what it should be; wanted may be NULL. */
static void look_at_header(struct vs_doctor *doctor, const char *name, const char *path, const struct vs_header *header,
                           const struct vesta_layout *wanted) {
    char text[VESTA_LAYOUT_TEXT_MAX];
    if (!doctor->any_namespace && strcmp(header->namespace_, name) != 0)
        vs_found(doctor, VS_SICK, name, "choose another path", "%s is of the namespace '%s'", path, header->namespace_);
    if (!wanted || wanted->fingerprint == header->fingerprint) return;
    vesta_layout_text(wanted, text);
    vs_found(doctor, VS_SICK, name, "keep the layout, or take a new namespace", "%s is of the layout %s, not %s", path,
             header->layout, text);
}

/* map is NULL for a file of an earlier boot. */
static void look_at_file(struct vs_doctor *doctor, const struct vs_conf_space *space, const char *path,
                         const struct vs_header *header, const struct vs_map *map) {
    struct vesta_layout wanted, layout;
    bool wants = space->layout && vesta_layout_parse(space->layout, &wanted, NULL) == VESTA_OK;
    look_at_header(doctor, space->name, path, header, wants ? &wanted : NULL);
    if (vesta_layout_parse(header->layout, &layout, NULL) != VESTA_OK) {
        vs_found(doctor, VS_SICK, space->name, "move it away, a new one will be made", "%s has no layout", path);
        return;
    }
    look_at_layout(doctor, space->name, &layout);
    if (!map) {
        vs_found(doctor, VS_FINE, space->name, NULL, "%s is of an earlier boot, and will be made anew", path);
        return;
    }
    look_at_lease(doctor, space->name, map, &layout);
    look_at_seen(doctor, space->name, map);
}

void vs_doctor_space(struct vs_doctor *doctor, const struct vs_conf_space *space, struct vesta_layout *layout) {
    char state[PATH_MAX], path[PATH_MAX];
    struct vs_header header;
    struct vs_mapping mapping;
    struct vesta_error err;
    enum vs_found found;
    if (vesta_layout_parse(space->layout ? space->layout : VS_LAYOUT_DEFAULT, layout, &err) != VESTA_OK) {
        vs_found(doctor, VS_SICK, space->name, NULL, "%s", err.text);
        return;
    }
    if (space->path)
        snprintf(path, sizeof path, "%s", space->path);
    else if (vs_state_dir(state, sizeof state) != 0 ||
             snprintf(path, sizeof path, "%s/%s.gen", state, space->name) >= PATH_MAX)
        return;
    if (vs_mapping_attach(path, &found, &mapping, &header, &err) != VESTA_OK) {
        vs_found(doctor, VS_SICK, space->name, NULL, "%s", err.text);
        return;
    }
    if (found == VS_FOUND_NONE) {
        vs_found(doctor, VS_FINE, space->name, NULL, "%s is not there yet, and will be made", path);
        look_at_layout(doctor, space->name, layout);
        return;
    }
    const struct vs_header *own = found == VS_FOUND_TRUSTED ? &mapping.map->header : &header;
    look_at_file(doctor, space, path, own, found == VS_FOUND_TRUSTED ? mapping.map : NULL);
    if (!space->layout) vesta_layout_parse(own->layout, layout, NULL); /* a file keeps the one that it has */
    if (found == VS_FOUND_TRUSTED) vs_mapping_unmap(mapping.map);
}
