/* relayout.c -- `vesta store relayout`: proves that a layout's ids differ from all that a namespace can have given, and
 * makes the namespace from which they are leased.  Hosts move to it one by one, by their configs. */
#include "main/ops/relayout.h"

#include "keeper/options.h"
#include "os/clock.h"
#include "store/lineage.h"

static int tell(const struct vs_at *at, const struct vesta_layout *layout, unsigned n, bool made) {
    char name[VESTA_NAMESPACE_MAX], text[VESTA_LAYOUT_TEXT_MAX];
    vs_generation_name(at->name, n, name);
    vesta_layout_text(layout, text);
    if (at->json) {
        vs_outf("{\"namespace\":\"%s\",\"leased_as\":\"%s\",\"layout\":\"%s\",\"created\":%s}\n", at->name, name, text,
                made ? "true" : "false");
        return VS_DONE;
    }
    vs_outf("proved: no id of this layout can be equal to one that %s has given or will give\n", at->name);
    vs_outf("%s %s: %s\n", name, made ? "was created" : "is there already", text);
    vs_outf("host by host, put this into the config and restart:\n");
    vs_outf("  namespaces = { [\"%s\"] = { leased_as = \"%s\", layout = \"%s\", ...\n", at->name, name, text);
    return VS_DONE;
}

static struct vs_lineage lineage_of(const struct vs_at *at) {
    return (struct vs_lineage){.uri = at->uri,
                               .secret = at->secret,
                               .name = at->name,
                               .clock = vs_clock_system(),
                               .call_ms_max = VS_OPERATOR_CALL_MS};
}

static int admit(const struct vs_at *at, const struct vs_ns_record *fresh, const char *done) {
    const struct vs_lineage lineage = lineage_of(at);
    struct vesta_layout layout;
    struct vesta_error err;
    int rc = vesta_layout_parse(fresh->layout, &layout, &err);
    if (rc == VESTA_OK) rc = vs_lineage_admit(&lineage, &layout, &err);
    if (rc == VESTA_OK) return VS_GO;
    vs_say("%s: %s", done, err.text);
    return VS_FAILED;
}

int vs_admit(const struct vs_at *at, const struct vs_ns_record *fresh) {
    return admit(at, fresh, "nothing was done");
}

int vs_admit_made(const struct vs_at *at, const struct vs_ns_record *made) {
    return admit(at, made, "the namespace was made, but let nothing lease from it: another came at the same time");
}

int vs_relayout(struct vs_at *at, const char *text) {
    const struct vs_lineage lineage = lineage_of(at);
    struct vesta_layout layout;
    struct vesta_error err;
    char warning[256];
    unsigned n;
    bool is_new;
    int rc = vs_read_layout(text, &layout);
    if (rc != VS_DONE) return rc;
    rc = vs_check_lifetime(&layout, lineage.clock, warning, sizeof warning, &err); /* who moves could give no id */
    if (rc == VESTA_OK && *warning) vs_say("%s", warning);
    if (rc == VESTA_OK) rc = vs_lineage_extend(&lineage, &layout, &n, &is_new, &err);
    if (rc == VESTA_OK) return tell(at, &layout, n, is_new);
    if (rc != VESTA_EMISMATCH && rc != VESTA_ELAYOUT && rc != VESTA_EEPOCH) return vs_report(&err);
    vs_say("nothing was done: %s", err.text);
    return VS_FAILED;
}
