/* state.c -- the folder for state, generator files, and how long their layouts last: read only. */
#include "id/id.h"
#include "keeper/file.h"
#include "main/doctor/doctor.h"
#include "serve/serving.h"
#include "os/become.h"
#include "os/files.h"

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
    if (bytes < sizeof(struct vs_header) || (fs.f_files > 0 && fs.f_favail == 0))
        vs_doctor_found(doctor, VS_SICK, "state", "free some space", "%s is full", path);
    else if (bytes < FREE_BYTES_MIN)
        vs_doctor_found(doctor, VS_WARN, "state", "free some space", "%s has %s bytes left", path,
                        vs_grouped(bytes, room));
}

/* Where every namespace names its store, ids can go on without a file, which vs_doctor_namespace says. */
static enum vs_health folder_state(const struct vs_doctor *doctor) {
    for (int i = 0; i < doctor->config->ns_count; i++)
        if (!doctor->config->ns[i].store) return VS_SICK;
    return VS_WARN;
}

/* The folder itself, or the parent that it will be made in. */
static void look_at_folder(struct vs_doctor *doctor, const char *path) {
    struct stat st;
    struct vesta_error err;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        int blocked = vs_anchor_blocked(path);
        if (blocked)
            vs_doctor_found(doctor, folder_state(doctor), "state", "create it, or choose another folder",
                            "%s does not exist and cannot be created: %s", path, strerror(blocked));
        else
            vs_doctor_found(doctor, VS_FINE, "state", NULL, "%s does not exist yet and will be created", path);
        return;
    }
    if (fd < 0 || fstat(fd, &st) != 0) {
        vs_doctor_found(doctor, VS_SICK, "state", "run as its owner (`sudo -u`), or choose another folder",
                        "%s cannot be examined: %s", path, strerror(errno));
        if (fd >= 0) close(fd);
        return;
    }
    const char *who = doctor->config->user ? doctor->config->user : "who asks";
    if (vs_file_system_check(fd, path, "a generator file", &err) != VESTA_OK)
        vs_doctor_found(doctor, VS_SICK, "state", "set VESTA_STATE, or the namespace's path", "%s", err.text);
    else if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) != 0)
        vs_doctor_found(doctor, folder_state(doctor), "state", "run as its owner, or change the owner with chown",
                        "%s belongs to user %ld, has mode %o and is not writable: %s", path, (long)st.st_uid,
                        st.st_mode & 07777, strerror(errno));
    else if (!user_may_write(doctor, &st))
        vs_doctor_found(doctor, VS_SICK, "state", "change the owner with chown",
                        "%s belongs to user %ld, has mode %o and is not writable for %s", path, (long)st.st_uid,
                        st.st_mode & 07777, who);
    else if (vs_anchor_folder_check(path, &err) != VESTA_OK)
        vs_doctor_found(doctor, VS_SICK, "state", NULL, "%s", err.text);
    else if (st.st_mode & S_IWOTH)
        vs_doctor_found(doctor, VS_WARN, "state", "chmod o-w", "%s is writable by everyone (mode %o)", path,
                        st.st_mode & 07777);
    else
        vs_doctor_found(doctor, VS_FINE, "state", NULL, "%s is writable", path);
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
        vs_doctor_found(doctor, folder_state(doctor), "state", "set VESTA_STATE, or make /var/lib/vesta writable",
                        "there is no state folder");
    else
        look_at_folder(doctor, state);
    for (int i = 0; i < config->ns_count; i++) {
        if (!config->ns[i].opts.path) continue;
        folder_of(config->ns[i].opts.path, folder);
        if (strcmp(folder, last) != 0 && strcmp(folder, state) != 0) look_at_folder(doctor, folder);
        strcpy(last, folder);
    }
}

/* ------------------------------------------------------------------ a generator file */

static void look_at_layout(struct vs_doctor *doctor, const char *name, const struct vesta_layout *layout) {
    struct vesta_error err;
    char warning[256], iso[VESTA_ISO_MAX];
    if (vs_check_lifetime(layout, doctor->clock, warning, sizeof warning, &err) != VESTA_OK)
        vs_doctor_found(doctor, VS_SICK, name, NULL, "%s", err.text);
    else if (*warning)
        vs_doctor_found(doctor, VS_WARN, name, "plan a new namespace with a later epoch or more time bits", "%s",
                        warning);
    else
        vs_doctor_found(doctor, VS_FINE, name, NULL, "the layout's time lasts until %s",
                        vs_iso(vesta_layout_end_ms(layout), iso));
}

/* The clock against what it was when ids were given from this file. */
static void look_at_seen(struct vs_doctor *doctor, const char *name, const struct vs_map *map) {
    int64_t now_us = doctor->clock->unix_us(doctor->clock->self), boot_us = doctor->clock->boot_us(doctor->clock->self);
    int64_t behind_us = atomic_load(&map->shared.seen_us) - now_us;
    int64_t set_us = now_us - boot_us - atomic_load(&map->shared.offset_us);
    if (behind_us > 0)
        vs_doctor_found(doctor, behind_us > BEHIND_US_MAX ? VS_SICK : VS_WARN, name,
                        "correct the clock, or wait that long",
                        "the clock is %.3f s behind the time of ids already given", (double)behind_us / 1e6);
    else if (set_us > STEP_US || set_us < -STEP_US)
        vs_doctor_found(doctor, VS_WARN, name, "find out what sets it",
                        "the clock was set %s by %.3f s since this file began", set_us > 0 ? "forward" : "back",
                        (double)(set_us > 0 ? set_us : -set_us) / 1e6);
}

static void look_at_lease(struct vs_doctor *doctor, const char *name, const struct vs_map *map,
                          const struct vesta_layout *layout) {
    char said[VS_SAID_MAX], left[64] = "no lease at the moment: no process is serving it";
    uint32_t used = atomic_load(&map->shared.slots_used);
    int active = vs_map_active(map);
    uint64_t cursor;
    for (int i = 0; i < VS_SAID_MAX; i++)
        said[i] = atomic_load_explicit(&map->shared.keeper[i], memory_order_relaxed);
    said[VS_SAID_MAX - 1] = '\0';
    if (active >= 0 && vs_slot_cursor(&map->slot[active], &cursor)) {
        int64_t until_ms = vs_time_ms(layout, atomic_load(&map->slot[active].limit) >> vs_seq(layout)->width);
        snprintf(left, sizeof left, "worker %" PRIu64 ", its lease ends in %" PRId64 " s unless renewed", map->slot[active].worker,
                 (until_ms - vs_now_ms()) / 1000);
    }
    if (atomic_load(&map->shared.stopped) == VESTA_FAILSTOP)
        vs_doctor_found(doctor, VS_SICK, name, "an operator must check: two processes may have used one number",
                        "stopped for good: %s", *said ? said : "the keeper gave no reason");
    else
        vs_doctor_found(doctor, VS_FINE, name, NULL, "%s; %u of the %d leases in its map are used", left, used,
                        VS_SLOTS_MAX);
    if (*said) vs_doctor_found(doctor, VS_WARN, name, NULL, "the keeper's last message: %s", said);
}

/* map is NULL where nobody has used the file since the boot. */
static void look_at_file(struct vs_doctor *doctor, const char *name, const char *path, const struct vs_header *header,
                         const struct vs_map *map) {
    struct vesta_layout layout;
    if (vesta_layout_parse(header->layout, &layout, NULL) != VESTA_OK) {
        vs_doctor_found(doctor, VS_SICK, name, "move it away; a new one will be created", "%s has no layout", path);
        return;
    }
    look_at_layout(doctor, name, &layout);
    if (!map) {
        vs_doctor_found(doctor, VS_FINE, name, NULL, "nobody has used %s since this machine booted", path);
        return;
    }
    look_at_lease(doctor, name, map, &layout);
    look_at_seen(doctor, name, map);
}

/* The live map of a file; its name says where it is, for who asks what lies there. */
static void look_at_map(struct vs_doctor *doctor, const char *name, const struct vs_anchor *anchor,
                        struct vs_mapping *mapping) {
    struct vesta_error err;
    enum vs_found found;
    char at[VS_MAP_NAME_MAX];
    if (vs_mapping_name(&anchor->header, at) != 0) return;
    if (vs_mapping_attach(at, anchor, &found, mapping, &err) != VESTA_OK)
        vs_doctor_found(doctor, VS_SICK, name, NULL, "%s", err.text);
    else if (*err.text)
        vs_doctor_found(doctor, VS_WARN, name, NULL, "%s; the map has another name meanwhile", err.text);
    else if (found == VS_FOUND_STALE)
        vs_doctor_found(doctor, VS_FINE, name, NULL, "its map %s is no longer usable and will be replaced", at);
}

/* Whether there is memory that all processes of this machine share. */
static void look_at_maps(struct vs_doctor *doctor, const char *name, const char *maps) {
    struct statvfs fs;
    if (!vs_maps_are_shared(maps))
        vs_doctor_found(doctor, VS_WARN, name, "mount a tmpfs there, or name one with VESTA_MAPS",
                        "%s is not in memory (tmpfs): each process takes its own lease", maps);
    else if (statvfs(maps, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < sizeof(struct vs_map))
        vs_doctor_found(doctor, VS_WARN, name, "make it larger (docker: --shm-size)",
                        "%s is full: each process takes its own lease", maps);
}

/* What vesta_open would say to it, by the same code. */
void vs_doctor_namespace(struct vs_doctor *doctor, const struct vs_conf_namespace *ns, struct vesta_layout *layout) {
    struct vs_mapping mapping = {.map = NULL};
    struct vs_anchor anchor;
    struct vs_settings settings;
    struct vesta_error err;
    char maps[VS_MAPS_MAX];
    bool found;
    if (vs_settings_look(&ns->opts, &settings, &err) != VESTA_OK ||
        vs_anchor_find(&settings, false, &found, &anchor, &err) != VESTA_OK) {
        vs_doctor_found(doctor, VS_SICK, ns->name, NULL, "%s", err.text);
        doctor->is_at_odds = true;
        return;
    }
    *layout = settings.layout;
    if (found) memcpy(maps, anchor.header.maps, sizeof maps);
    if (found || vs_maps_dir(maps) == 0) look_at_maps(doctor, ns->name, maps);
    if (!found) {
        vs_doctor_found(doctor, VS_FINE, ns->name, NULL, "%s does not exist yet and will be created", settings.path);
        look_at_layout(doctor, ns->name, layout);
        return;
    }
    if (anchor.no_file) {
        char text[256];
        vs_no_file_text(settings.path, anchor.no_file, text, sizeof text);
        vs_doctor_found(doctor, VS_WARN, ns->name, NULL, "%s", text);
    }
    look_at_map(doctor, ns->name, &anchor, &mapping);
    look_at_file(doctor, ns->name, settings.path, &anchor.header, mapping.map);
    doctor->incarnation = mapping.map ? vs_map_incarnation(mapping.map) : anchor.header.incarnation;
    if (!ns->opts.layout) vesta_layout_parse(anchor.header.layout, layout, NULL); /* a file keeps the one that it has */
    if (mapping.map) vs_mapping_close(&mapping);
}
