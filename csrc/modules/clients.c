/* clients.c -- the module `clients`: the file of clients, for `vesta client`.  Does not depend on any command. */
#include "access/file.h"
#include "base/error.h"
#include "command/command.h"
#include "modules/host.h"
#include "modules/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void clients_count(lua_State *L, const char *key, uint64_t count, bool is_set) {
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, count);
    if (is_set) host_set_text(L, key, digits);
}

static void clients_push(lua_State *L, const struct vs_account *a) {
    char calls[VS_ACCOUNT_NAME_MAX], entry[VS_SECRET_TEXT_MAX];
    lua_newtable(L);
    host_set_text(L, "name", a->name);
    host_set_text(L, "names", a->names);
    host_set_text(L, "calls", vs_classes_write(a->calls, calls));
    clients_count(L, "n", a->n_max, a->n_max != UINT64_MAX);
    clients_count(L, "rate", a->rate, a->rate > 0);
    clients_count(L, "requests", a->requests, a->requests > 0);
    clients_count(L, "leases", a->leases, a->leases > 0);
    clients_count(L, "weight", a->weight, a->weight > 1);
    host_set_flag(L, "by_certificate", a->by_certificate);
    host_set_flag(L, "has_chosen", a->has_chosen);
    lua_createtable(L, a->secret_count, 0);
    for (int i = 0; i < a->secret_count; i++) {
        lua_createtable(L, 0, 2);
        host_set_text(L, "entry", vs_secret_write(&a->secret[i], entry));
        host_set_integer(L, "made_ms", a->secret[i].made_ms);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "secrets");
}

/* clients.read(path) -> accounts, others | nil, text, code
 * An account has: name, names, calls, n, rate, requests, leases and weight (digits, if the line has them), by_certificate,
 * has_chosen, and secrets, a list of { entry, made_ms }, the newest first.  others: how other users of the machine may
 * access the file, "read", "write", "read and write" or nil. */
static int clients_read(lua_State *L) {
    struct vs_accounts *accounts;
    struct vesta_error err;
    const char *others = NULL;
    if (vs_accounts_read_all(luaL_checkstring(L, 1), &accounts, &others, &err) != VESTA_OK) return host_fail(L, &err);
    lua_createtable(L, accounts->count, 0);
    for (int i = 0; i < accounts->count; i++) {
        clients_push(L, &accounts->at[i]);
        lua_rawseti(L, -2, i + 1);
    }
    vs_accounts_let(accounts);
    lua_pushstring(L, others);
    return 2;
}

struct clients_edit {
    lua_State *L;
    bool has_raised; /* an error of the Lua function is on the stack */
};

/* Calls the function at index 3.  An error in the function must not propagate, because the file is locked. */
static int clients_edit(void *self, const struct vs_account *was, char line[VS_ACCOUNT_LINE_MAX],
                        struct vesta_error *err) {
    struct clients_edit *edit = self;
    lua_State *L = edit->L;
    lua_pushvalue(L, 3);
    if (was)
        clients_push(L, was);
    else
        lua_pushnil(L);
    edit->has_raised = lua_pcall(L, 1, 2, 0) != LUA_OK;
    if (edit->has_raised) return vs_fail(err, VESTA_EOPTION, "the file was not changed");
    const char *text = lua_tostring(L, -2), *trouble = lua_tostring(L, -1);
    if (!text) return vs_fail(err, VESTA_EOPTION, "%s", trouble);
    if (strlen(text) >= VS_ACCOUNT_LINE_MAX)
        return vs_fail(err, VESTA_EOPTION, "the new line of the client is too long");
    strcpy(line, text);
    return VESTA_OK;
}

/* clients.change(path, name, edit) -> true | nil, text, code
 * edit(account or nil) -> the new line of the account, or "" to remove the account | nil, text.  The file is locked
 * during the call, and replaced as a whole. */
static int clients_change(lua_State *L) {
    struct clients_edit edit = {L, false};
    struct vesta_error err;
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_settop(L, 3);
    int rc = vs_accounts_change(luaL_checkstring(L, 1), luaL_checkstring(L, 2), clients_edit, &edit, &err);
    if (edit.has_raised) return lua_error(L);
    if (rc != VESTA_OK) return host_fail(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

/* clients.draw() -> a new token, its entry for the file | nil, text, code */
static int clients_draw(lua_State *L) {
    char token[VS_SECRET_NEW_MAX], entry[VS_SECRET_TEXT_MAX];
    struct vs_secret secret;
    struct vesta_error err;
    if (vs_secret_draw(token, vs_now_ms(), &secret, &err) != VESTA_OK) return host_fail(L, &err);
    lua_pushstring(L, token);
    lua_pushstring(L, vs_secret_write(&secret, entry));
    return 2;
}

int host_open_clients(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"read", clients_read}, {"change", clients_change}, {"draw", clients_draw}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
