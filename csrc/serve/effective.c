/* effective.c -- prints effective values and their sources, as text or JSON (see effective.h). */
#include "serve/effective.h"

#include "mapping/mapping.h"
#include "os/files.h"
#include "os/host.h"
#include "store/store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *effective_origin_name(enum vs_origin origin) {
    static const char *const names[] = {"default", "file", "env", "flag", "map", "store"};
    return names[origin];
}

/* Returns the value with secrets removed, or NULL if the key has no value. */
static const char *effective_shown(const struct vs_conf_value *value, char buf[VS_URI_MAX]) {
    if (!value->text || value->list) return value->text;
    if (value->is_secret) return "(set)";
    return strstr(value->text, "://") ? vs_store_public(value->text, buf) : value->text;
}

static const char *effective_by(const struct vs_conf_value *value) {
    return value->origin == VS_FROM_ENV && !value->by ? value->variable : value->by;
}

/* ------------------------------------------------------------------ one row */

#define TEXT_AT 43 /* column at which values begin */
#define INDENT 13  /* indentation of a value's continuation lines */

static void effective_print_text(const struct vs_conf_value *value) {
    char buf[VS_URI_MAX];
    const char *text = effective_shown(value, buf), *who = effective_by(value);
    size_t length = strlen(value->path), used = TEXT_AT + (length > 32 ? length - 32 : 0);
    vs_outf("%s%-7s%s  %-32s  ", VS_CYAN, effective_origin_name(value->origin), VS_PLAIN, value->path);
    vs_out_fittedf(INDENT, used, "%s%s%s%s%s", text ? "" : "(", text ? text : value->absent, text ? "" : ")",
                   who ? "  by " : "", who ? who : "");
}

static void effective_print_list_json(const struct vs_conf_list *list) {
    vs_outf("[");
    for (int i = 0; i < list->count; i++) {
        if (i) vs_outf(",");
        vs_out_json(list->text[i]);
    }
    vs_outf("]");
}

static void effective_print_json(const struct vs_conf_value *value) {
    char buf[VS_URI_MAX];
    const char *text = effective_shown(value, buf);
    vs_outf("{\"key\":");
    vs_out_json(value->path);
    vs_outf(",\"value\":");
    if (value->list)
        effective_print_list_json(value->list);
    else if (!text || value->is_bare)
        vs_outf("%s", text ? text : "null");
    else
        vs_out_json(text);
    vs_outf(",\"origin\":\"%s\"", effective_origin_name(value->origin));
    if (value->origin == VS_FROM_ENV && value->variable) vs_outf(",\"variable\":\"%s\"", value->variable);
    if (effective_by(value)) {
        vs_outf(",\"by\":");
        vs_out_json(effective_by(value));
    }
    vs_outf("}\n");
}

void vs_effective_print(const struct vs_conf_value *value, int json) {
    (json ? effective_print_json : effective_print_text)(value);
}

/* ------------------------------------------------------------------ folders */

static void effective_print_folder(const char *name, const char *variable, const char *text, int json) {
    struct vs_conf_value value = {.path = name, .text = text, .variable = variable};
    value.origin = vs_environment(variable) ? VS_FROM_ENV : VS_FROM_DEFAULT;
    vs_effective_print(&value, json);
}

void vs_effective_folders(int json) {
    char state[PATH_MAX], maps[VS_MAPS_MAX];
    if (vs_state_dir(state, sizeof state) == 0) effective_print_folder("<state>", "VESTA_STATE", state, json);
    if (vs_maps_dir(maps) == 0) effective_print_folder("<maps>", "VESTA_MAPS", maps, json);
}

/* ------------------------------------------------------------------ a config */

static void effective_print_value(void *self, const struct vs_conf_value *value) {
    vs_effective_print(value, *(const int *)self);
}

int vs_effective_config(const struct vs_config *config, int json) {
    vs_effective_folders(json);
    return vs_config_each(config, effective_print_value, &json) == VESTA_OK ? VS_DONE : (vs_say("no memory"), VS_FAILED);
}
