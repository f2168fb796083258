/* explain_wide.c -- prints the fields of UUIDs, ULIDs, trace ids and TypeIDs, also of those that were made elsewhere.
 */
#include "main/ids/explain_wide.h"

#include "id/id.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ JSON */

static void wide_print_json(const struct vs_wide_view *view, const struct vs_wide_found *found,
                            const struct vs_wide_facts *facts) {
    char iso[VESTA_ISO_MAX];
    vs_outf("{\"id\":\"%s\",\"kind\":\"%s\",\"uuid\":\"%s\",\"ulid\":\"%s\"", facts->text, facts->kind, facts->uuid,
            facts->ulid);
    if (found->text == VS_WIDE_TYPEID) vs_outf(",\"prefix\":\"%.*s\"", (int)found->prefix.length, found->prefix.at);
    if (found->text != VS_WIDE_ULID)
        vs_outf(",\"version\":%u,\"variant\":%u", vs_wide_version(found->id), vs_wide_variant(found->id));
    if (facts->shape) {
        vs_outf(",\"layout\":");
        vs_out_json(facts->layout_name);
        vs_outf(",\"counter\":%" PRIu64 ",\"time\":%" PRIu64 ",\"seq\":%" PRIu64, facts->parts.counter,
                facts->parts.time, facts->parts.seq);
    }
    if (facts->parts.has_id) vs_outf(",\"from\":\"%" PRIu64 "\"", facts->parts.id);
    if (facts->parts.has_id && facts->layout.worker >= 0) vs_outf(",\"worker\":%" PRIu64, facts->fields.worker);
    if (facts->has_time)
        vs_outf(",\"unix_ms\":%" PRId64 ",\"iso\":\"%s\"", facts->unix_ms, vs_iso(facts->unix_ms, iso));
    if (facts->parts.has_id) vs_holders_json(view->holders, &facts->fields);
    vs_outf("}\n");
}

/* ------------------------------------------------------------------ text */

static void wide_print_title(const struct vs_wide_found *found, const struct vs_wide_facts *facts) {
    static const char *const titles[] = {[VS_WIDE_ULID] = "ULID", [VS_WIDE_HEX32] = "32 hex digits"};
    vs_outf("%s  ", facts->text);
    if (found->text == VS_WIDE_TYPEID)
        vs_outf("TypeID, prefix %.*s, ", (int)found->prefix.length, found->prefix.at);
    else if (titles[found->text])
        vs_outf("%s", titles[found->text]);
    if (found->text == VS_WIDE_HEX32 && vs_wide_is_uuid(found->id)) vs_outf(", ");
    if (strcmp(facts->kind, "nil") == 0 || strcmp(facts->kind, "max") == 0)
        vs_outf("%sthe %s UUID", titles[found->text] ? ", " : "", facts->kind);
    else if (found->text != VS_WIDE_ULID && vs_wide_is_uuid(found->id))
        vs_outf("UUID of version %u", vs_wide_version(found->id));
    else if (found->text == VS_WIDE_UUID || found->text == VS_WIDE_TYPEID)
        vs_outf("128 bits, not a UUID of RFC 9562");
    if (facts->shape) vs_outf(", read as %s of %s", vesta_shape_name(facts->shape), facts->layout_name);
    vs_outf("\n\n");
}

/* Prints the time with which a trace id begins if vesta issued it.  Other programs make random trace ids. */
static void wide_print_time_of_trace(int64_t unix_ms, int64_t now_ms) {
    const int64_t day_ms = 86400000, years_ms = 20 * 365 * day_ms;
    char iso[VESTA_ISO_MAX];
    if (unix_ms < now_ms - years_ms || unix_ms > now_ms + day_ms)
        vs_outf("  time     none that vesta knows\n");
    else
        vs_outf("  time     %s, if vesta issued this trace id: add --namespace NAME\n", vs_iso(unix_ms, iso));
}

static void wide_print_fields(const struct vs_wide_view *view, const struct vs_wide_found *found,
                              const struct vs_wide_facts *facts) {
    struct vs_wide id = found->id;
    char iso[VESTA_ISO_MAX], ago[VS_AGO_MAX];
    if (facts->has_time)
        vs_outf("  time     %" PRId64 "  %s, %s%s\n", facts->unix_ms, vs_iso(facts->unix_ms, iso),
                vs_ago(facts->unix_ms, view->now_ms, ago), facts->unix_ms > view->now_ms ? ": in the future" : "");
    if (strcmp(facts->kind, "hex32") == 0 && !facts->shape) {
        wide_print_time_of_trace((int64_t)(id.high >> 16), view->now_ms);
    } else if (found->text != VS_WIDE_ULID && !(found->text == VS_WIDE_HEX32 && facts->shape)) {
        const char *about = vs_wide_is_uuid(id) ? vs_wide_about(vs_wide_version(id)) : NULL;
        vs_outf("  version  %u%s%s\n  variant  %u\n", vs_wide_version(id), about ? ": " : "", about ? about : "",
                vs_wide_variant(id));
    }
    if (strcmp(facts->kind, "uuid1") == 0 || strcmp(facts->kind, "uuid6") == 0)
        vs_outf("  clock    %u\n  node     %012" PRIx64 "\n", (unsigned)(id.low >> 48 & 0x3fff),
                id.low & ((UINT64_C(1) << 48) - 1));
    if (facts->shape)
        vs_outf("  counter  %" PRIu64 ", of %u bits: seq %" PRIu64 "\n", facts->parts.counter,
                facts->parts.counter_bits, facts->parts.seq);
    if (facts->shape && facts->parts.random_bits) vs_outf("  random   %u bits\n", facts->parts.random_bits);
    if (facts->parts.has_id) {
        vs_outf("  from     %" PRIu64 "\n\n", facts->parts.id);
        vs_draw_id(&facts->layout, facts->parts.id, &facts->fields, view->now_ms);
    }
    if (*facts->why) {
        vs_outf("  ");
        vs_out_fittedf(4, 2, "Not issued by this namespace: %s.", facts->why);
    }
}

static void wide_print_forms(const struct vs_wide_found *found, const struct vs_wide_facts *facts) {
    static const struct vs_slice any = {"PREFIX", 6};
    char hex[VS_WIDE_TEXT_MAX], typeid[VS_WIDE_TEXT_MAX];
    vs_wide_write(VS_WIDE_HEX32, found->id, hex);
    typeid[vs_typeid_write(found->text == VS_WIDE_TYPEID ? found->prefix : any, found->id, typeid)] = '\0';
    vs_outf("\n  uuid %s   ulid %s\n  hex  %s       typeid %s\n", facts->uuid, facts->ulid, hex, typeid);
}

bool vs_wide_explain(const struct vs_wide_view *view, const struct vs_wide_found *found, struct vs_moment *moment) {
    struct vs_wide_facts facts;
    vs_wide_facts_of(found, view->layout, view->name, &facts);
    if (view->json) {
        wide_print_json(view, found, &facts);
    } else {
        wide_print_title(found, &facts);
        wide_print_fields(view, found, &facts);
        wide_print_forms(found, &facts);
        if (facts.parts.has_id) vs_holders_draw(view->holders, &facts.fields);
    }
    strcpy(moment->text, facts.text);
    moment->from_ms = facts.unix_ms;
    moment->end_ms = moment->from_ms + 1;
    return facts.has_time;
}
