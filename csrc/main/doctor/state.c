/* state.c -- examines generator files and their maps as vesta_open would, read-only. */
#include "main/doctor/probe.h"

#include "id/id.h"
#include "keeper/file.h"
#include "os/clock.h"

#include <string.h>
#include <sys/statvfs.h>

/* Pushes the lease in a map, and what the map records about the clock. */
static void probe_push_map(lua_State *L, const struct vs_probe *probe, const struct vs_map *map,
                           const struct vesta_layout *layout) {
    int64_t now_us = probe->clock->unix_us(probe->clock->self), boot_us = probe->clock->boot_us(probe->clock->self);
    int active = vs_map_active(map);
    char said[VS_SAID_MAX];
    uint64_t cursor;
    for (int i = 0; i < VS_SAID_MAX; i++)
        said[i] = atomic_load_explicit(&map->shared.keeper[i], memory_order_relaxed);
    said[VS_SAID_MAX - 1] = '\0';
    lua_newtable(L);
    if (active >= 0 && vs_slot_cursor(&map->slot[active], &cursor)) {
        int64_t until_ms = vs_time_ms(layout, atomic_load(&map->slot[active].limit) >> vs_seq(layout)->width);
        host_set_integer(L, "worker", (int64_t)map->slot[active].worker);
        host_set_integer(L, "left_s", (until_ms - vs_now_ms()) / 1000);
    }
    host_set_flag(L, "is_stopped", atomic_load(&map->shared.stopped) == VESTA_FAILSTOP);
    host_set_text(L, "said", *said ? said : NULL);
    host_set_integer(L, "used", atomic_load(&map->shared.slots_used));
    host_set_integer(L, "leases", VS_SLOTS_MAX);
    host_set_integer(L, "behind_us", atomic_load(&map->shared.seen_us) - now_us);
    host_set_integer(L, "set_us", now_us - boot_us - atomic_load(&map->shared.offset_us));
    lua_setfield(L, -2, "map");
}

/* Pushes facts about the folder of maps: whether all processes of this machine share it, and whether a map fits. */
static void probe_push_maps(lua_State *L, const char *maps) {
    struct statvfs fs;
    bool is_full = statvfs(maps, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < sizeof(struct vs_map);
    host_set_text(L, "maps", maps);
    host_set_flag(L, "maps_are_shared", vs_maps_are_shared(maps));
    host_set_flag(L, "maps_are_full", is_full);
}

/* Pushes the live map of a generator file, or a text if another file has the name of the map. */
static void probe_push_live(lua_State *L, struct vs_probe *probe, const struct vs_anchor *anchor,
                            const struct vesta_layout *layout) {
    struct vs_mapping mapping = {.map = NULL};
    struct vesta_error err;
    enum vs_found found;
    char at[VS_MAP_NAME_MAX];
    if (vs_mapping_name(&anchor->header, at) != 0) return;
    if (vs_mapping_attach(at, anchor, &found, &mapping, &err) != VESTA_OK)
        host_set_text(L, "map_trouble", err.text);
    else if (*err.text)
        host_set_text(L, "map_renamed", err.text);
    else if (found == VS_FOUND_STALE)
        host_set_text(L, "map_stale", at);
    if (!mapping.map) return;
    if (layout) probe_push_map(L, probe, mapping.map, layout);
    probe->incarnation = vs_map_incarnation(mapping.map);
    vs_mapping_close(&mapping);
}

/* probe:file(i) -> { path, layout, maps, maps_are_shared, maps_are_full, is_there, no_file, map_trouble, map_renamed,
 * map_stale, map = { worker, left_s, is_stopped, said, used, leases, behind_us, set_us } } | nil, text
 * Describes the files that vesta_open would find for the i-th namespace.  `layout`: the layout of the generator file
 * ("": invalid).  If there is no generator file yet, it is the layout that the file will get.  The texts from no_file
 * to map_stale describe problems.  `map` is nil if no process has used the generator file since the boot.  Call it
 * before probe:store(i). */
int vs_probe_file(lua_State *L) {
    struct vs_probe *probe = vs_probe_self(L);
    const struct vs_conf_namespace *ns = vs_probe_namespace(L);
    struct vs_settings settings;
    struct vs_anchor anchor;
    struct vesta_layout layout;
    struct vesta_error err;
    char maps[VS_MAPS_MAX], text[VESTA_LAYOUT_TEXT_MAX];
    bool found;
    probe->incarnation = 0;
    memset(&probe->layout, 0, sizeof probe->layout);
    if (vs_settings_look(&ns->opts, &settings, &err) != VESTA_OK ||
        vs_anchor_find(&settings, false, &found, &anchor, &err) != VESTA_OK)
        return host_fail(L, &err);
    probe->layout = settings.layout;
    lua_newtable(L);
    host_set_text(L, "path", settings.path);
    host_set_flag(L, "is_there", found);
    if (found) memcpy(maps, anchor.header.maps, sizeof maps);
    if (found || vs_maps_dir(maps) == 0) probe_push_maps(L, maps);
    if (!found) {
        vesta_layout_text(&settings.layout, text);
        return host_set_text(L, "layout", text), 1;
    }
    if (anchor.no_file) {
        char why[256];
        vs_no_file_text(settings.path, anchor.no_file, why, sizeof why);
        host_set_text(L, "no_file", why);
    }
    bool has_layout = vesta_layout_parse(anchor.header.layout, &layout, NULL) == VESTA_OK;
    host_set_text(L, "layout", has_layout ? anchor.header.layout : "");
    probe->incarnation = anchor.header.incarnation;
    probe_push_live(L, probe, &anchor, has_layout ? &layout : NULL);
    if (!ns->opts.layout && has_layout) probe->layout = layout; /* the layout of an existing file does not change */
    return 1;
}
