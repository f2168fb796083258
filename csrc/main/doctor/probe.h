/* probe.h -- examines a machine, a config's namespaces and their stores for `vesta doctor`.  Changes nothing and claims
 * nothing.  lua/cli/doctor.lua draws the conclusions and prints them.
 *
 *   probe.c   the config, and the module `probe`
 *   machine.c the clock, limits, addresses, the certificate, folders
 *   state.c   generator files and their maps
 *   store.c   the stores of worker ids */
#ifndef VS_PROBE_H
#define VS_PROBE_H

#include "config/config.h"
#include "main/modules.h"
#include "modules/tables.h"

/* A config, and facts from the generator file of the namespace that was examined last. */
struct vs_probe {
    struct vs_config *config;
    const struct vesta_clock *clock;
    struct vesta_layout layout; /* all zero: the layout is unknown */
    uint64_t incarnation; /* incarnation of the store that granted the file's leases (0: no store has granted any) */
};

/* vs_probe_self returns the probe at index 1.  vs_probe_namespace returns a namespace of the probe.  Its number is at
 * index 2, and numbers begin at 1. */
struct vs_probe *vs_probe_self(lua_State *L);
const struct vs_conf_namespace *vs_probe_namespace(lua_State *L);

/* Functions and methods of the module `probe`. */
int vs_probe_clock(lua_State *L);
int vs_probe_free(lua_State *L);
int vs_probe_certificate(lua_State *L);
int vs_probe_state_folder(lua_State *L);
int vs_probe_limits(lua_State *L);
int vs_probe_folder(lua_State *L);
int vs_probe_file(lua_State *L);
int vs_probe_store(lua_State *L);

#endif
