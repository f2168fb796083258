/* wide_facts.c -- reads the facts in an id of 128 bits, also if another program made it. */
#include "id/id.h"
#include "id/wide.h"

#include <stdio.h>
#include <string.h>

const char *vs_wide_about(unsigned version) {
    static const char *const about[] = {
        [1] = "time since 1582 and a node",
        [2] = "DCE security, with a part of a time",
        [3] = "an MD5 hash of a name",
        [4] = "random",
        [5] = "an SHA-1 hash of a name",
        [6] = "time since 1582, sortable, and a node",
        [7] = "Unix time, then a counter or random bits",
        [8] = "fields of the issuer's choice",
    };
    return version < sizeof about / sizeof *about ? about[version] : NULL;
}

static bool wide_is_all(struct vs_wide id, uint64_t word) {
    return id.high == word && id.low == word;
}

bool vs_wide_is_uuid(struct vs_wide id) {
    return vs_wide_variant(id) == VS_WIDE_VARIANT && vs_wide_about(vs_wide_version(id));
}

/* Reads the id as one that vesta issued with this layout.  Returns whether it is one. */
static bool wide_read_shape(struct vs_wide_facts *facts, const struct vesta_layout *layout, const char *name,
                            enum vesta_shape shape, const uint8_t *bytes) {
    struct vesta_error err;
    if (vesta_uuid_explain(layout, shape, bytes, &facts->parts, &err) != VESTA_OK) {
        if (!*facts->why) snprintf(facts->why, sizeof facts->why, "%.*s", (int)sizeof facts->why - 1, err.text);
        return false;
    }
    facts->shape = shape;
    facts->layout = *layout;
    facts->layout_name = name;
    *facts->why = '\0';
    if (facts->parts.has_id) vesta_explain(layout, facts->parts.id, &facts->fields, NULL);
    return true;
}

/* A UUID of version 8 contains its layout's fingerprint, so the presets can be tried. */
static void wide_try_presets(struct vs_wide_facts *facts, const uint8_t *bytes) {
    const struct vesta_preset *preset;
    struct vesta_layout layout;
    for (int i = 0; (preset = vesta_preset_at(i)); i++)
        if (vesta_layout_parse(preset->text, &layout, NULL) == VESTA_OK &&
            wide_read_shape(facts, &layout, preset->name, VESTA_UUID8, bytes))
            return;
    *facts->why = '\0';
}

static int64_t wide_ms(int64_t unix_us) {
    return unix_us / 1000 - (unix_us % 1000 < 0);
}

/* Returns the shape that the text, version and variant suggest, or 0. */
static enum vesta_shape wide_shape_of(const struct vs_wide_found *found, bool is_uuid) {
    if (found->text == VS_WIDE_ULID) return VESTA_ULID;
    if (is_uuid && vs_wide_version(found->id) == 7) return VESTA_UUID7;
    if (is_uuid && vs_wide_version(found->id) == 8) return VESTA_UUID8;
    return found->text == VS_WIDE_HEX32 ? VESTA_HEX32 : 0;
}

static void wide_name_kind(const struct vs_wide_found *found, bool is_uuid, char kind[VS_WIDE_KIND_MAX]) {
    if (wide_is_all(found->id, 0) || wide_is_all(found->id, UINT64_MAX))
        strcpy(kind, found->id.low ? "max" : "nil");
    else if (is_uuid)
        snprintf(kind, VS_WIDE_KIND_MAX, "uuid%u", vs_wide_version(found->id));
    else
        strcpy(kind, found->text == VS_WIDE_ULID ? "ulid" : found->text == VS_WIDE_HEX32 ? "hex32" : "uuid");
}

void vs_wide_facts_of(const struct vs_wide_found *found, const struct vesta_layout *layout, const char *name,
                      struct vs_wide_facts *out) {
    bool is_uuid = found->text != VS_WIDE_ULID && vs_wide_is_uuid(found->id);
    enum vesta_shape shape = wide_shape_of(found, is_uuid);
    uint8_t bytes[VESTA_UUID_BYTES];
    int64_t unix_us;
    *out = (struct vs_wide_facts){.shape = 0};
    vs_wide_bytes(found->id, bytes);
    if (layout && shape) wide_read_shape(out, layout, name, shape, bytes);
    if (!out->shape && shape == VESTA_UUID8) wide_try_presets(out, bytes);
    wide_name_kind(found, is_uuid, out->kind);
    if (out->shape) {
        out->has_time = true;
        out->unix_ms = out->parts.unix_ms;
    } else if (vs_wide_time_us(found, &unix_us, NULL) == VESTA_OK) {
        out->has_time = true;
        out->unix_ms = wide_ms(unix_us);
    }
    vs_wide_write(VS_WIDE_UUID, found->id, out->uuid);
    vs_wide_write(VS_WIDE_ULID, found->id, out->ulid);
    if (found->text == VS_WIDE_TYPEID)
        vs_typeid_write(found->prefix, found->id, out->text);
    else
        vs_wide_write(found->text, found->id, out->text);
}
