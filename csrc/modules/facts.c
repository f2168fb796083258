/* facts.c -- the module `facts`: facts of the lower layers about layouts, leases and policies, as tables.  Pure. */
#include "base/slice.h"
#include "command/command.h"
#include "generator/map.h"
#include "modules/host.h"
#include "modules/tables.h"
#include "id/id.h"
#include "lease/lease.h"
#include "lease/record.h"
#include "policy/policy.h"

#include <inttypes.h>
#include <stdio.h>

static void facts_field(lua_State *L, const struct vesta_field *field) {
    lua_createtable(L, 0, 7);
    host_set_text(L, "name", field->name);
    host_set_integer(L, "width", field->width);
    host_set_integer(L, "shift", field->shift);
    host_set_integer(L, "max", (int64_t)field->max);
    if (field->low_width) {
        host_set_integer(L, "low_width", field->low_width);
        host_set_integer(L, "low_shift", field->low_shift);
    }
    if (field->fixed) host_set_integer(L, "constant", (int64_t)field->value);
}

/* Pushes how shards are chosen evenly.  `wider` is nil if the layout needs no more bits or cannot have them. */
static void facts_push_shards(lua_State *L, const struct vesta_layout *layout) {
    static const char *const starts[] = {"spread", "rotate", "shards"};
    struct vs_shards_plan plan;
    vs_shards_plan(layout, &plan);
    lua_createtable(L, 0, 8);
    host_set_integer(L, "below", plan.below);
    host_set_integer(L, "shift", plan.shift);
    host_set_integer(L, "max", plan.max);
    if (plan.wider[0]) {
        host_set_text(L, "wider", plan.wider);
        host_set_integer(L, "wider_shift", plan.wider_shift);
    }
    lua_pushboolean(L, plan.by_history);
    lua_setfield(L, -2, "by_history");
    if (layout->spread) host_set_text(L, "start", starts[layout->start]);
    host_set_integer(L, "starts", layout->spread);
}

static void facts_push_layout(lua_State *L, const struct vesta_layout *layout) {
    char text[VESTA_LAYOUT_TEXT_MAX], unit[VS_UNIT_MAX], fingerprint[17];
    vesta_layout_text(layout, text);
    snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, layout->fingerprint);
    lua_createtable(L, 0, 19);
    host_set_text(L, "text", text);
    host_set_text(L, "unit", vs_unit(layout, unit));
    host_set_text(L, "fingerprint", fingerprint);
    host_set_integer(L, "unit_us", layout->unit_us);
    host_set_integer(L, "epoch_ms", layout->epoch_ms);
    host_set_integer(L, "end_ms", vesta_layout_end_ms(layout));
    host_set_integer(L, "per_second", (int64_t)vs_per_second(layout));
    host_set_integer(L, "workers", layout->worker < 0 ? 1 : (int64_t)layout->field[layout->worker].max + 1);
    host_set_integer(L, "per_unit", (int64_t)vs_seq(layout)->max + 1);
    host_set_integer(L, "time_bits", layout->field[layout->time].width);
    host_set_integer(L, "worker_bits", layout->worker < 0 ? 0 : layout->field[layout->worker].width);
    host_set_integer(L, "seq_bits", vs_seq(layout)->width);
    host_set_integer(L, "time", layout->time + 1);
    if (layout->worker >= 0) host_set_integer(L, "worker", layout->worker + 1);
    if (layout->seq >= 0) host_set_integer(L, "seq", layout->seq + 1);
    if (layout->read_only) host_set_text(L, "read_only", layout->read_only);
    lua_createtable(L, layout->field_count, 0);
    for (int i = 0; i < layout->field_count; i++) {
        facts_field(L, &layout->field[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "fields");
    facts_push_shards(L, layout);
    lua_setfield(L, -2, "shards");
}

/* facts.layout(text) -> { text, unit = "1ms", unit_us, epoch_ms, end_ms, per_second, per_unit, workers, time_bits,
 * worker_bits, seq_bits, fingerprint, read_only = reason or nil, fields = {...},
 * shards = { below, shift, max, wider, wider_shift, by_history, start, starts } } | nil, text, code
 * time, worker, seq: the index of that field, or nil. */
static int facts_layout(lua_State *L) {
    struct vesta_layout layout;
    struct vesta_error err;
    if (vesta_layout_parse(luaL_checkstring(L, 1), &layout, &err) == VESTA_OK) return facts_push_layout(L, &layout), 1;
    return host_fail(L, &err);
}

static const struct vesta_layout *facts_parse(lua_State *L, int arg, struct vesta_layout *layout) {
    luaL_argcheck(L, vesta_layout_parse(luaL_checkstring(L, arg), layout, NULL) == VESTA_OK, arg, "a layout");
    return layout;
}

/* facts.unit("10us") -> microseconds, or nil if a layout cannot have this time unit */
static int facts_unit(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    int32_t unit_us = vs_unit_read((struct vs_slice){text, length});
    if (unit_us)
        lua_pushinteger(L, unit_us);
    else
        lua_pushnil(L);
    return 1;
}

/* facts.prove(text, text, from_ms, until_ms) -> { by = "collide"|"bits"|"times", id, bit, field = {index, index} }
 * Assumes that ids of the first layout can have any time before until_ms, and that ids of the second layout have times
 * from from_ms to before until_ms. */
static int facts_prove(lua_State *L) {
    static const char *const by[] = {"collide", "bits", "times"};
    struct vesta_layout first, second;
    struct vesta_proof proof;
    char id[24];
    int64_t from_ms = luaL_checkinteger(L, 3), until_ms = luaL_checkinteger(L, 4);
    const struct vesta_made a = {facts_parse(L, 1, &first), INT64_MIN, until_ms};
    const struct vesta_made b = {facts_parse(L, 2, &second), from_ms, until_ms};
    vesta_layout_prove(&a, &b, &proof);
    lua_createtable(L, 0, 4);
    host_set_text(L, "by", by[proof.by]);
    snprintf(id, sizeof id, "%" PRIu64, proof.id);
    if (proof.by == VESTA_COLLIDE) host_set_text(L, "id", id);
    if (proof.by != VESTA_DISJOINT_BITS) return 1;
    host_set_integer(L, "bit", proof.bit);
    lua_createtable(L, 2, 0);
    for (int i = 0; i < 2; i++) {
        lua_pushinteger(L, proof.field[i] + 1);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "field");
    return 1;
}

/* facts.lease(name, has_worker) -> { name, window_ms, renew_ms, idle_ms, lease_ms, deadline_ms, call_ms, skew_ms }
 * Returns a preset.  has_worker: the worker id was assigned by hand. */
static int facts_lease(lua_State *L) {
    const struct vs_lease_timing *preset = vs_lease_preset(luaL_checkstring(L, 1));
    luaL_argcheck(L, preset, 1, "the name of a lease preset");
    struct vs_lease_timing timing = vs_lease_timing_for(preset, lua_toboolean(L, 2));
    lua_createtable(L, 0, 6);
    host_set_text(L, "name", preset->name);
    host_set_integer(L, "window_ms", timing.window_ms);
    host_set_integer(L, "renew_ms", timing.renew_ms);
    host_set_integer(L, "idle_ms", timing.idle_ms);
    host_set_integer(L, "lease_ms", timing.lease_ms);
    host_set_integer(L, "deadline_ms", timing.deadline_ms);
    host_set_integer(L, "call_ms", timing.call_ms);
    host_set_integer(L, "skew_ms", timing.skew_ms);
    return 1;
}

/* facts.policies() -> the names of the policies that are part of the program */
static int facts_policies(lua_State *L) {
    lua_newtable(L);
    for (int i = 0; vs_policy_shipped(i); i++) {
        lua_pushstring(L, vs_policy_shipped(i));
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

int host_open_facts(lua_State *L) {
    static const luaL_Reg functions[] = {{"layout", facts_layout}, {"prove", facts_prove},       {"unit", facts_unit},
                                         {"lease", facts_lease},   {"policies", facts_policies}, {NULL, NULL}};
    luaL_newlib(L, functions);
    host_set_text(L, "VERSION", VESTA_VERSION);
    host_set_text(L, "UNITS", VS_UNITS);
    host_set_integer(L, "FIELDS_MAX", VESTA_FIELDS_MAX);
    host_set_integer(L, "MAP_BYTES", sizeof(struct vs_map));
    host_set_integer(L, "RECORD_BYTES_MAX", VS_RECORD_TEXT_MAX);
    return 1;
}
