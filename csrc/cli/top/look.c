/* look.c -- what a view asks for; see look.h. */
#include "cli/top/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AFTER_TROUBLE_MS 5000 /* who has no answer is not asked each second */

static void forget(struct vs_look *look) {
    free(look->said);
    look->said = NULL;
    look->is_asked = false;
    look->next_ms = 0;
    look->scroll = 0;
    look->trouble[0] = '\0';
    vs_wire_close(&look->ask.wire);
}

void vs_look_at(struct vs_look *look, int view) {
    if (view == look->view) return;
    forget(look);
    look->view = view;
    look->after[0] = '\0';
}

void vs_look_close(struct vs_look *look) {
    forget(look);
    vs_ask_close(&look->ask);
}

/* ------------------------------------------------------------------ of what */

/* Where the picked namespace stands among those there are; -1: it is not there, or none is picked. */
static int place_of(const struct vs_look *look, const struct vs_top_state *state) {
    for (size_t i = 0; i < state->ns_count; i++)
        if (strcmp(state->ns[i].name, look->of) == 0) return (int)i;
    return -1;
}

/* A view that needs one has the first where none is picked. */
static const char *subject(const struct vs_look *look, const struct vs_top_state *state) {
    enum vs_top_pick picks = vs_top_views[look->view].picks;
    int at = place_of(look, state);
    if (picks == VS_PICKS_NOTHING || picks == VS_PICKS_A_PAGE) return "";
    if (at < 0 && picks == VS_PICKS_A_NAMESPACE && state->ns_count) at = 0;
    return at < 0 ? "" : state->ns[at].name;
}

static void pick_namespace(struct vs_look *look, const struct vs_top_state *state, int step, bool has_all) {
    int count = (int)state->ns_count, first = has_all ? -1 : 0;
    int at = place_of(look, state) < first ? first : place_of(look, state);
    if (count == 0) return;
    at = at + step < first ? count - 1 : at + step >= count ? first : at + step;
    snprintf(look->of, sizeof look->of, "%s", at < 0 ? "" : state->ns[at].name);
}

static void pick_page(struct vs_look *look, int step) {
    struct vs_slice said = {look->said ? look->said : "", look->said ? strlen(look->said) : 0};
    char next[VESTA_NAMESPACE_MAX];
    vs_value_text(vs_value_member(said, "next"), next, sizeof next);
    snprintf(look->after, sizeof look->after, "%s", step > 0 ? next : "");
}

void vs_look_pick(struct vs_look *look, const struct vs_top_state *state, int step) {
    enum vs_top_pick picks = vs_top_views[look->view].picks;
    if (picks == VS_PICKS_NOTHING) return;
    if (picks == VS_PICKS_A_PAGE)
        pick_page(look, step);
    else
        pick_namespace(look, state, step, picks == VS_PICKS_ALL_OR_ONE);
    forget(look);
}

/* ------------------------------------------------------------------ asking */

/* A name in a request: a server may have called it anything. */
static void put_escaped(char *to, const char *name) {
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || strchr("-_.", c);
        to += is_plain ? sprintf(to, "%c", c) : sprintf(to, "%%%02X", c);
    }
    *to = '\0';
}

static void begin(struct vs_look *look, const struct vs_wire_to *to, const struct vs_top_state *state) {
    const struct vs_top_view *view = &vs_top_views[look->view];
    bool is_page = view->picks == VS_PICKS_A_PAGE;
    char name[3 * VESTA_NAMESPACE_MAX], request[4 * VESTA_NAMESPACE_MAX];
    put_escaped(name, is_page ? look->after : subject(look, state));
    snprintf(request, sizeof request, "GET %s%s%s", view->path, !*name ? "" : is_page ? "?after=" : "?ns=", name);
    vs_ask_begin(&look->ask, to, request);
    look->is_asked = true;
    look->next_ms = vs_wire_now_ms() + view->every_ms;
}

/* The last answer stays where a newer one fails to come: it says how old it is. */
static void take(struct vs_look *look) {
    look->is_asked = false;
    memcpy(look->trouble, look->ask.trouble, sizeof look->trouble);
    if (*look->trouble) {
        look->next_ms = vs_wire_now_ms() + AFTER_TROUBLE_MS;
        return;
    }
    free(look->said);
    look->said = strndup(look->ask.body.at, look->ask.body.length);
    look->said_ms = vs_now_ms();
}

bool vs_look_step(struct vs_look *look, const struct vs_wire_to *to, const struct vs_top_state *state) {
    if (!vs_top_views[look->view].path || !state->is_known) return false;
    if (!look->is_asked && to && vs_wire_now_ms() >= look->next_ms) begin(look, to, state);
    if (!look->is_asked || !vs_ask_read(&look->ask)) return false;
    take(look);
    return true;
}

struct vs_top_seen vs_look_seen(const struct vs_look *look, const struct vs_top_state *state, struct vs_slice event) {
    return (struct vs_top_seen){.state = state,
                                .event = event,
                                .said = {look->said ? look->said : "", look->said ? strlen(look->said) : 0},
                                .said_ms = look->said_ms,
                                .trouble = look->trouble,
                                .of = subject(look, state),
                                .after = look->after,
                                .now_ms = vs_now_ms()};
}
