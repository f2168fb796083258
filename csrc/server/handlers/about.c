/* about.c -- handlers of commands that describe the server: its commands, namespaces and layouts.  Does not issue
 * ids. */
#include "base/array.h"
#include "base/error.h"
#include "server/commands.h"
#include "server/rights.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ COMMAND */

static void put_lower(struct vs_out *out, const char *name) {
    char lower[VS_CALL_NAME_MAX];
    vs_resp_bulk(out, lower, vs_call_lower(name, lower));
}

/* Commands that issue ids have the flag `write`, so that clients neither send them to a replica nor repeat them. */
static void put_flags(struct vs_out *out, unsigned flags) {
    static const struct {
        unsigned bit;
        const char *text;
    } texts[] = {{VS_CALL_GIVES, "write"}, {VS_CALL_STRANGER, "no_auth"}, {VS_CALL_ALONE, "no_multi"}};
    size_t count = 1;
    for (size_t i = 0; i < VS_COUNT(texts); i++)
        count += (flags & texts[i].bit) != 0;
    vs_resp_array(out, count);
    vs_resp_simple(out, "fast");
    for (size_t i = 0; i < VS_COUNT(texts); i++)
        if (flags & texts[i].bit) vs_resp_simple(out, texts[i].text);
}

/* Writes the ten elements of COMMAND INFO.  The last four have no meaning in vesta and are empty. */
static void about_put_command(struct vs_out *out, const struct vs_call *call) {
    bool has_key = call->flags & (VS_CALL_KEY | VS_CALL_KEYS);
    vs_resp_array(out, 10);
    put_lower(out, call->name);
    vs_resp_int(out, call->args_min == call->args_max ? call->args_min + 1 : -(call->args_min + 1));
    put_flags(out, call->flags);
    vs_resp_int(out, has_key);
    vs_resp_int(out, call->flags & VS_CALL_KEYS ? -1 : has_key);
    vs_resp_int(out, has_key);
    for (int i = 0; i < 4; i++)
        vs_resp_array(out, 0);
}

static void put_docs(struct vs_out *out, const struct vs_call *call) {
    const char *mark = strstr(call->help, " -- "); /* separates the arguments from the description */
    put_lower(out, call->name);
    vs_resp_map(out, 2);
    vs_resp_word(out, "summary"), vs_resp_word(out, mark ? mark + strlen(" -- ") : call->help);
    vs_resp_word(out, "group"), vs_resp_word(out, "generic");
}

/* Iterates over the commands that the request names, or over all commands if it names none.  Sets *call to NULL for an
 * unknown name. */
static bool next_command(const struct vs_request *r, int *i, const struct vs_call **call) {
    if (r->arg_count > 1) {
        if (++*i >= r->arg_count) return false;
        *call = vs_call_named(r->arg[*i]);
        return true;
    }
    while ((*call = vs_call_at((*i)++)))
        if ((*call)->name) return true;
    return false;
}

enum vs_reply_state vs_on_command(struct vs_request *r) {
    struct vs_slice what = vs_arg(r, 0);
    const struct vs_call *call;
    int all = 0, known = 0, names = r->arg_count - 1;
    for (int i = 0; next_command(r, &i, &call); all++)
        known += call != NULL;
    if (names == 0 && vs_slice_is_case(what, "COUNT")) {
        vs_resp_int(r->out, all);
    } else if (names == 0 && vs_slice_is_case(what, "LIST")) {
        vs_resp_array(r->out, (size_t)all);
        for (int i = 0; next_command(r, &i, &call);)
            put_lower(r->out, call->name);
    } else if (vs_slice_is_case(what, "DOCS")) {
        vs_resp_map(r->out, (size_t)known);
        for (int i = 0; next_command(r, &i, &call);)
            if (call) put_docs(r->out, call);
    } else if (!what.at || vs_slice_is_case(what, "INFO")) {
        vs_resp_array(r->out, (size_t)all);
        for (int i = 0; next_command(r, &i, &call);)
            call ? about_put_command(r->out, call) : vs_resp_null_array(r->out);
    } else {
        return vs_refuse(r, "bad_command", "unknown subcommand '%s' or wrong number of arguments: use %s",
                         VS_QUOTE(what.at, what.length), r->call->help);
    }
    return VS_ANSWERED;
}

/* ------------------------------------------------------------------ VESTA.INFO, VESTA.LAYOUTS */

static void about_put_namespace(struct vs_request *r, const struct vs_namespace *ns) {
    struct vs_out *out = r->out;
    struct vesta_info info;
    char layout[VESTA_LAYOUT_TEXT_MAX], why[VS_NAMESPACE_WHY_MAX];
    vs_resp_word(out, ns->name);
    if (!vs_namespace_is_open(ns)) {
        vs_resp_map(out, 1);
        bool is_shown = vs_rights_sees_reasons(r->session);
        vs_resp_word(out, "not_open");
        vs_resp_word(out, is_shown ? vs_namespace_why(ns, why) : "the server's log has the reason");
        return;
    }
    vesta_get_info(ns->gen[VS_RESP], &info);
    vesta_layout_text(ns->layout, layout);
    vs_resp_map(out, 3);
    vs_resp_word(out, "layout"), vs_resp_word(out, layout);
    vs_resp_word(out, "pacing"), vs_resp_word(out, info.pacing == VESTA_PACING_HISTORY ? "history" : "clock");
    vs_resp_word(out, "worker");
    if (info.holds_lease)
        vs_resp_int(out, (int64_t)info.worker);
    else
        vs_resp_null(out);
}

enum vs_reply_state vs_on_vesta_info(struct vs_request *r) {
    const struct vs_server *server = r->session->server;
    const struct vs_tag_set *tags = vs_request_tags(r);
    int others = vs_rights_sees_all(r->session) ? server->names.count - vs_told(&server->names) : 0;
    vs_resp_map(r->out, 2 + (tags != NULL) + (others > 0));
    if (others > 0) vs_resp_word(r->out, "other_namespaces"), vs_resp_int(r->out, others);
    if (tags) vs_resp_word(r->out, "tags"), vs_resp_int(r->out, (int64_t)tags->count);
    vs_resp_word(r->out, "version"), vs_resp_word(r->out, VESTA_VERSION);
    size_t seen = 0;
    for (int i = 0; i < vs_told(&server->names); i++)
        seen += vs_rights_sees(r->session, server->names.at[i].name);
    vs_resp_word(r->out, "namespaces"), vs_resp_map(r->out, seen);
    for (int i = 0; i < vs_told(&server->names); i++)
        if (vs_rights_sees(r->session, server->names.at[i].name)) about_put_namespace(r, &server->names.at[i]);
    return VS_ANSWERED;
}

enum vs_reply_state vs_on_layouts(struct vs_request *r) {
    const struct vesta_preset *preset;
    size_t count = 0;
    while (vesta_preset_at((int)count))
        count++;
    vs_resp_map(r->out, count);
    for (int i = 0; (preset = vesta_preset_at(i)); i++)
        vs_resp_word(r->out, preset->name), vs_resp_word(r->out, preset->text);
    return VS_ANSWERED;
}
