/* describe.c -- describes a server by its config, as one Lua table, for commands that examine a server or send requests
 * to it. */
#include "modules/describe.h"
#include "modules/tables.h"
#include "os/address.h"
#include "store/store.h"

static void describe_append(lua_State *L) {
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static void describe_set_list(lua_State *L, const char *key, const struct vs_conf_list *list) {
    lua_createtable(L, list->count, 0);
    for (int i = 0; i < list->count; i++) {
        lua_pushstring(L, list->text[i]);
        describe_append(L);
    }
    lua_setfield(L, -2, key);
}

static void describe_addresses(lua_State *L, const char *protocol, const struct vs_conf_list *list) {
    for (int i = 0; i < list->count; i++) {
        const char *address = list->text[i];
        struct vesta_error unused;
        lua_createtable(L, 0, 5);
        host_set_text(L, "protocol", protocol);
        host_set_text(L, "address", address);
        host_set_text(L, "plain", vs_address_plain(address));
        host_set_flag(L, "is_tls", vs_address_is_secure(address));
        host_set_flag(L, "is_local", vs_address_is_local(address, &unused) == 1);
        describe_append(L);
    }
}

static void describe_tls(lua_State *L, const struct vs_config *config) {
    static const char *const asks[] = {"off", "optional", "required"};
    if (!config->tls_certificate) return;
    lua_createtable(L, 0, 4);
    host_set_text(L, "certificate", config->tls_certificate);
    host_set_text(L, "key", config->tls_key);
    host_set_text(L, "client_ca", config->tls_client_ca);
    host_set_text(L, "asks", asks[config->tls_client_certificates]);
    lua_setfield(L, -2, "tls");
}

/* Sets the file or folder of a store on this machine. */
static void describe_set_place(lua_State *L, const char *uri) {
    char place[VS_URI_MAX];
    if (uri && vs_store_place(uri, place)) host_set_text(L, "place", place);
}

static void describe_namespace(lua_State *L, const struct vs_conf_namespace *ns) {
    lua_createtable(L, 0, 8);
    host_set_text(L, "name", ns->name);
    host_set_text(L, "path", ns->opts.path);
    host_set_text(L, "store", ns->opts.store);
    host_set_text(L, "policy", ns->policy.name);
    host_set_text(L, "lease", ns->opts.lease);
    host_set_text(L, "layout", ns->opts.layout);
    host_set_flag(L, "names_store", ns->store);
    describe_set_place(L, ns->opts.store);
}

static void describe_segment(lua_State *L, const struct vs_conf_segment *segment) {
    static const char *const orders[] = {[VS_CONF_TREND] = "trend", [VS_CONF_STRICT] = "strict", [VS_CONF_DENSE] = "dense"};
    lua_createtable(L, 0, 8);
    host_set_text(L, "place", segment->name);
    host_set_integer(L, "step", segment->step);
    host_set_text(L, "table", vs_conf_segment_table(segment));
    host_set_text(L, "order", orders[segment->order]);
    host_set_text(L, "form", segment->form);
    host_set_flag(L, "is_any", vs_conf_segment_is_any(segment));
    describe_set_list(L, "tags", &segment->tags);
    lua_createtable(L, segment->uri_count, 0);
    for (int i = 0; i < segment->uri_count; i++) {
        lua_createtable(L, 0, 4);
        host_set_text(L, "uri", segment->uri[i]);
        host_set_text(L, "secret", segment->secret[i]);
        host_set_text(L, "shown", vs_store_public(segment->uri[i], (char[VS_URI_MAX]){0}));
        describe_set_place(L, segment->uri[i]);
        describe_append(L);
    }
    lua_setfield(L, -2, "stores");
}

void host_push_description(lua_State *L, const struct vs_config *config) {
    lua_createtable(L, 0, 13);
    host_set_text(L, "path", config->name);
    host_set_text(L, "user", config->user);
    host_set_text(L, "group", config->group);
    host_set_text(L, "clients", config->clients_file);
    host_set_flag(L, "has_password", config->resp_password);
    host_set_text(L, "log", config->log_file);
    host_set_text(L, "access_log", config->log_access);
    describe_set_list(L, "notes", &config->notes);
    describe_set_list(L, "proxies", &config->proxies);
    lua_newtable(L);
    describe_addresses(L, "http", &config->http);
    describe_addresses(L, "resp", &config->resp);
    describe_addresses(L, "admin", &config->admin);
    lua_setfield(L, -2, "addresses");
    describe_tls(L, config);
    lua_createtable(L, config->ns_count, 0);
    for (int i = 0; i < config->ns_count; i++) {
        describe_namespace(L, &config->ns[i]);
        describe_append(L);
    }
    lua_setfield(L, -2, "namespaces");
    lua_createtable(L, config->segment_count, 0);
    for (int i = 0; i < config->segment_count; i++) {
        describe_segment(L, &config->segment[i]);
        describe_append(L);
    }
    lua_setfield(L, -2, "segments");
}
