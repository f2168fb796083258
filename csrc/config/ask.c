/* ask.c -- the module config.ask: functions with which lua/config checks layouts, stores, forms, addresses, clients,
 * policies and this machine.  A check returns nil or the reason for an error.  Does not depend on any key. */
#include "access/accounts.h"
#include "base/array.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/uri.h"
#include "config/inside.h"
#include "id/id.h"
#include "keeper/options.h"
#include "mask/mask.h"
#include "number/form.h"
#include "os/address.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/host.h"
#include "store/lineage.h"
#include "store/store.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_NAMES_MAX 80 /* maximum number of names that nearest() compares */
#define ASK_POLICY "policy that was test-run"

/* Pushes nil if rc is VESTA_OK, otherwise the error text. */
static int ask_why(lua_State *L, int rc, const struct vesta_error *err) {
    if (rc == VESTA_ENOMEM) conf_raise(L, VESTA_ENOMEM);
    if (rc == VESTA_OK)
        lua_pushnil(L);
    else
        lua_pushstring(L, err->text);
    return 1;
}

/* Pushes nil, followed by the error text. */
static int ask_nil_why(lua_State *L, int rc, const struct vesta_error *err) {
    lua_pushnil(L);
    return 1 + ask_why(L, rc, err);
}

static int ask_fail(lua_State *L) {
    vs_fail(conf_reading_of(L)->err, VESTA_EOPTION, "%s", luaL_checkstring(L, 1));
    return conf_raise(L, VESTA_EOPTION);
}

/* ------------------------------------------------------------------ texts */

static int ask_quote(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    return lua_pushstring(L, VS_QUOTE(text, length)), 1;
}

static int ask_shown(lua_State *L) {
    return lua_pushstring(L, VS_CONF_SHOWN(luaL_checkstring(L, 1))), 1;
}

/* nearest(name, names) -> the most similar name, or nil */
static int ask_nearest(lua_State *L) {
    const char *names[ASK_NAMES_MAX + 1] = {NULL};
    for (int i = 0; i < ASK_NAMES_MAX && lua_rawgeti(L, 2, i + 1) == LUA_TSTRING; i++)
        names[i] = lua_tostring(L, -1); /* the list keeps the string alive */
    return lua_pushstring(L, vs_nearest(luaL_checkstring(L, 1), names)), 1;
}

static int ask_getenv(lua_State *L) {
    return lua_pushstring(L, vs_environment(luaL_checkstring(L, 1))), 1;
}

/* ------------------------------------------------------------------ layouts, forms, names */

static int ask_layout(lua_State *L) {
    struct vesta_layout layout;
    struct vesta_error why;
    return ask_why(L, vesta_layout_parse(luaL_checkstring(L, 1), &layout, &why), &why);
}

/* lifetime(layout) -> error, is_permanent, warning
 * error: why the layout issues no ids now, or nil.  is_permanent: the layout is read-only.  warning: a string or
 * nil. */
static int ask_lifetime(lua_State *L) {
    struct vesta_layout layout;
    struct vesta_error why;
    char warning[256] = "";
    if (vesta_layout_parse(luaL_checkstring(L, 1), &layout, &why) != VESTA_OK) return 0;
    int rc = vs_check_lifetime(&layout, vs_clock_system(), warning, sizeof warning, &why);
    ask_why(L, rc, &why);
    lua_pushboolean(L, layout.read_only != NULL);
    lua_pushstring(L, rc == VESTA_OK && *warning ? warning : NULL);
    return 3;
}

static const char *ask_find_misfit(const struct vesta_opts *opts, struct vesta_error *why) {
    struct vesta_layout layout;
    uint64_t values[VESTA_FIELDS_MAX];
    if (!opts->layout || vesta_layout_parse(opts->layout, &layout, why) != VESTA_OK) return NULL;
    if (opts->has_worker && vs_worker_check(&layout, opts->worker, why) != VESTA_OK) return "worker";
    if (opts->fields && vs_fields_parse(&layout, opts->fields, NULL, values, why) != VESTA_OK) return "fields";
    if (opts->method && vs_fields_parse(&layout, opts->fields, opts->method, values, why) != VESTA_OK) return "method";
    return NULL;
}

/* misfit(namespace) -> member, reason, is_about_layout, or nothing
 * member: an option that conflicts with another option or does not fit the layout.  is_about_layout: the option does
 * not fit the layout. */
static int ask_misfit(lua_State *L) {
    struct vesta_opts opts;
    struct vesta_error why;
    const char *member = NULL;
    lua_settop(L, 1);
    conf_fill_opts(L, &opts);
    bool is_together = vs_opts_together(&opts, &member, &why) == VESTA_OK;
    if (is_together) member = ask_find_misfit(&opts, &why);
    if (!member) return 0;
    lua_pushstring(L, member);
    lua_pushstring(L, why.text);
    lua_pushboolean(L, is_together);
    return 3;
}

static int ask_namespace(lua_State *L) {
    struct vesta_error why;
    return ask_why(L, vs_namespace_check(luaL_checkstring(L, 1), &why), &why);
}

/* generation(name, leased) -> which generation of `name` the leased name is (0: none) */
static int ask_generation(lua_State *L) {
    return lua_pushinteger(L, vs_generation_of(luaL_checkstring(L, 1), luaL_checkstring(L, 2))), 1;
}

/* form(text) -> an error or nil, and whether the form's counter restarts each day, month or year */
static int ask_form(lua_State *L) {
    struct vs_form form = {.period = VS_FORM_NEVER};
    struct vesta_error why;
    ask_why(L, vs_form_parse(luaL_checkstring(L, 1), &form, &why), &why);
    lua_pushboolean(L, form.period != VS_FORM_NEVER);
    return 2;
}

static int ask_zone(lua_State *L) {
    struct vesta_error why;
    const char *name = luaL_checkstring(L, 1);
    struct vs_zone_file *zone = malloc(sizeof *zone);
    int rc = zone ? vs_zone_load(name, zone, &why) : VESTA_ENOMEM;
    free(zone);
    return ask_why(L, rc, &why);
}

/* ------------------------------------------------------------------ masks */

static int64_t ask_integer(lua_State *L, const char *key) {
    lua_getfield(L, 1, key);
    int64_t value = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return value;
}

static int ask_word(lua_State *L, const char *key, const char *const words[]) {
    lua_getfield(L, 1, key);
    int word = luaL_checkoption(L, -1, NULL, words);
    lua_pop(L, 1);
    return word;
}

/* Reads all keys of a mask, so that errors in them are found early.  Only a server needs them. */
static int ask_read_keys(lua_State *L, struct vesta_error *why) {
    struct vs_mask_key key;
    int rc = VESTA_OK;
    lua_getfield(L, 1, "mask.secret_file");
    for (lua_Integer i = 1; rc == VESTA_OK && lua_rawgeti(L, -1, i) == LUA_TSTRING; i++, lua_pop(L, 1))
        rc = conf_read_key(lua_tostring(L, -1), &key, why);
    explicit_bzero(&key, sizeof key);
    return rc;
}

static int ask_mask_fits(lua_State *L, const struct vesta_layout *layout, uint64_t max, struct vesta_error *why) {
    struct vesta_opts opts;
    lua_pushvalue(L, 1);
    conf_fill_opts(L, &opts);
    return vs_mask_fits(&opts, layout, max, why);
}

/* mask(entry, layout) -> an error and the key that it is about, or nil */
static int ask_mask(lua_State *L) {
    static const char *const alphabets[] = {"decimal", "base32", NULL};
    static const char *const checks[] = {"none", "luhn", "damm", "iso7064", NULL};
    struct vs_mask_opts opts = {.alphabet = (enum vs_mask_alphabet)ask_word(L, "mask.alphabet", alphabets),
                                .check = (enum vs_mask_check)ask_word(L, "mask.check", checks),
                                .digits = (int)ask_integer(L, "mask.digits"),
                                .max = (uint64_t)ask_integer(L, "mask.max")};
    struct vesta_layout layout;
    struct vesta_error why;
    const char *text = luaL_optstring(L, 2, NULL), *key;
    int rc = vs_mask_check(&opts, &key, &why);
    if (rc == VESTA_OK) key = "digits";
    if (rc == VESTA_OK && text && vesta_layout_parse(text, &layout, NULL) == VESTA_OK)
        rc = ask_mask_fits(L, &layout, vs_mask_max(&opts), &why);
    if (rc == VESTA_OK && !conf_reading_of(L)->opts->serves_no_clients) {
        key = "secret_file";
        rc = ask_read_keys(L, &why);
    }
    ask_why(L, rc, &why);
    lua_pushstring(L, key);
    return 2;
}

/* uuid_key(path) -> why the key of UUIDs cannot be used, or nil */
static int ask_uuid_key(lua_State *L) {
    uint8_t key[16];
    struct vesta_error why;
    bool is_needed = !conf_reading_of(L)->opts->serves_no_clients;
    int rc = is_needed ? vs_mask_uuid_key_read(luaL_checkstring(L, 1), key, &why) : VESTA_OK;
    explicit_bzero(key, sizeof key);
    return ask_why(L, rc, &why);
}

/* ------------------------------------------------------------------ stores */

/* store(uri) -> { secret, tls, is_local, is_formed, counters, reservations }, or nil and why this build does not
 * support it */
static int ask_store(lua_State *L) {
    struct vesta_error why;
    const char *uri = luaL_checkstring(L, 1);
    const struct vs_backend *store = vs_store_of(uri, &why);
    if (!store) return ask_nil_why(L, VESTA_EOPTION, &why);
    const struct {
        const char *name;
        bool is;
    } facts[] = {{"is_local", store->is_local},
                 {"is_formed", vs_store_is_formed(uri)},
                 {"counters", store->counters},
                 {"reservations", store->counters && store->counters->reserve}};
    lua_newtable(L);
    lua_pushstring(L, store->secret);
    lua_setfield(L, -2, "secret");
    lua_pushstring(L, store->tls);
    lua_setfield(L, -2, "tls");
    for (size_t i = 0; i < VS_COUNT(facts); i++) {
        lua_pushboolean(L, facts[i].is);
        lua_setfield(L, -2, facts[i].name);
    }
    return 1;
}

static int ask_store_check(lua_State *L) {
    struct vesta_error why;
    return ask_why(L, vs_store_check(luaL_checkstring(L, 1), &why), &why);
}

static int ask_is_known(lua_State *L) {
    return lua_pushboolean(L, vs_store_is_known(luaL_checkstring(L, 1))), 1;
}

static int ask_is_local(lua_State *L) {
    return lua_pushboolean(L, vs_store_is_local(luaL_checkstring(L, 1))), 1;
}

static bool ask_has_secret(const struct vs_backend *store, const char *key) {
    return store->secret && strcmp(store->secret, key) == 0;
}

static bool ask_has_counters(const struct vs_backend *store, const char *unused) {
    (void)unused;
    return store->counters != NULL;
}

static bool ask_has_reservations(const struct vs_backend *store, const char *unused) {
    (void)unused;
    return store->counters && store->counters->reserve;
}

static bool ask_is_shared(const struct vs_backend *store, const char *unused) {
    (void)unused;
    return !store->is_local;
}

/* stores(kind, key) -> the schemes of the installed stores of a kind, such as "mysql: or zk:" */
static int ask_stores(lua_State *L) {
    static const char *const kinds[] = {"secret", "counters", "reservations", "shared", NULL};
    static bool (*const is[])(const struct vs_backend *, const char *) = {ask_has_secret, ask_has_counters,
                                                                          ask_has_reservations, ask_is_shared};
    int kind = luaL_checkoption(L, 1, NULL, kinds);
    return lua_pushstring(L, vs_store_list(is[kind], luaL_optstring(L, 2, NULL), (char[VS_STORE_LIST_MAX]){0})), 1;
}

static int ask_password(lua_State *L) {
    size_t at;
    const char *uri = luaL_checkstring(L, 1);
    size_t length = vs_store_password(uri, &at);
    if (length == 0) return 0;
    return lua_pushlstring(L, uri + at, length), 1;
}

/* secret_file(uri) -> the path in the URI's parameter secret_file, or nil */
static int ask_secret_file(lua_State *L) {
    char path[256];
    size_t length;
    const char *uri = luaL_checklstring(L, 1, &length);
    struct vs_uri_parts parts;
    struct vs_slice key, value;
    if (vs_uri_split((struct vs_slice){uri, length}, &parts)) return 0;
    while (parts.query.length > 0)
        if (vs_uri_next_key(&parts.query, &key, &value) && vs_slice_is(key, "secret_file"))
            return vs_slice_decode(value, path, sizeof path) == VS_DECODED ? (lua_pushstring(L, path), 1) : 0;
    return 0;
}

/* ------------------------------------------------------------------ this machine */

static int ask_group(lua_State *L) {
    return lua_pushboolean(L, getgrnam(luaL_checkstring(L, 1)) != NULL), 1;
}

static int ask_user(lua_State *L) {
    return lua_pushboolean(L, getpwnam(luaL_checkstring(L, 1)) != NULL), 1;
}

/* open_to(path) -> how users other than the owner may access the file, such as "read", or nil */
static int ask_open_to(lua_State *L) {
    struct stat st;
    const char *path = luaL_checkstring(L, 1);
    return lua_pushstring(L, stat(path, &st) == 0 && S_ISREG(st.st_mode) ? vs_open_to_others(&st) : NULL), 1;
}

/* address(text) -> whether only this machine can reach the address, or nil and the error */
static int ask_address(lua_State *L) {
    struct vesta_error why;
    int is_local = vs_address_is_local(luaL_checkstring(L, 1), &why);
    if (is_local < 0) return ask_nil_why(L, is_local, &why);
    return lua_pushboolean(L, is_local), 1;
}

static int ask_is_secure(lua_State *L) {
    return lua_pushboolean(L, vs_address_is_secure(luaL_checkstring(L, 1))), 1;
}

static int ask_proxy(lua_State *L) {
    struct vs_network network;
    struct vesta_error why;
    return ask_why(L, vs_network_read(luaL_checkstring(L, 1), &network, &why), &why);
}

/* ------------------------------------------------------------------ clients */

static void ask_push_client(lua_State *L, const struct vs_account *account) {
    struct vs_slice pattern;
    lua_newtable(L);
    lua_pushstring(L, account->name);
    lua_setfield(L, -2, "name");
    lua_pushboolean(L, account->by_certificate);
    lua_setfield(L, -2, "by_certificate");
    lua_newtable(L);
    for (int i = 0; vs_account_pattern(account, i, &pattern); i++) {
        lua_pushlstring(L, pattern.at, pattern.length);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "patterns");
}

/* clients(path) -> clients, access | nil, error, kind
 * clients: a list of { name, by_certificate, patterns }.  access: how other users may access the file, or nil.  kind:
 * "absent" or "unreadable" if the file itself is the problem.  The config keeps the accounts. */
static int ask_clients(lua_State *L) {
    struct vs_config *config = conf_reading_of(L)->config;
    struct vesta_error why;
    const char *others = NULL;
    int rc = vs_accounts_read(luaL_checkstring(L, 1), &config->clients, &others, &why);
    if (rc == VESTA_EIO && conf_reading_of(L)->opts->serves_no_clients) {
        lua_newtable(L);
        return 1;
    }
    if (rc != VESTA_OK) {
        ask_nil_why(L, rc, &why);
        int error = rc == VESTA_EIO && access(lua_tostring(L, 1), R_OK) != 0 ? errno : 0;
        lua_pushstring(L, error == ENOENT ? "absent" : error == EACCES ? "unreadable" : NULL);
        return 3;
    }
    lua_createtable(L, config->clients->count, 0);
    for (int i = 0; i < config->clients->count; i++) {
        ask_push_client(L, &config->clients->at[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushstring(L, others);
    return 2;
}

/* matches(pattern, names) -> whether the pattern matches one of the names */
static int ask_matches(lua_State *L) {
    struct vs_slice pattern = {0}, name;
    pattern.at = luaL_checklstring(L, 1, &pattern.length);
    bool found = false;
    for (lua_Integer i = 1; !found && lua_rawgeti(L, 2, i) == LUA_TSTRING; i++, lua_pop(L, 1)) {
        name.at = lua_tolstring(L, -1, &name.length);
        found = vs_pattern_has(pattern, name);
    }
    return lua_pushboolean(L, found), 1;
}

/* ------------------------------------------------------------------ policies */

static int ask_forget_policy(lua_State *L) {
    vs_policy_text_free(lua_touserdata(L, 1));
    return 0;
}

static struct vs_policy_text *ask_push_policy(lua_State *L) {
    struct vs_policy_text *text = lua_newuserdatauv(L, sizeof *text, 0);
    *text = (struct vs_policy_text){0};
    if (luaL_newmetatable(L, ASK_POLICY)) {
        lua_pushcfunction(L, ask_forget_policy);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return text;
}

/* policy(name, options, env, namespace) -> the policy's source, after a test run; or nil and the error */
static int ask_policy(lua_State *L) {
    const char *name = luaL_checkstring(L, 1), *options = luaL_optstring(L, 2, NULL);
    const char *env = luaL_optstring(L, 3, NULL), *namespace_ = luaL_checkstring(L, 4);
    const struct vesta_clock *clock = vs_clock_system();
    struct vs_policy_text *text = ask_push_policy(L);
    struct vesta_error why;
    int rc = vs_policy_read(name, options, text, &why);
    if (rc == VESTA_OK && env) rc = vs_policy_grant(text, env, &why);
    if (rc == VESTA_OK) rc = vs_policy_try(text, namespace_, clock->unix_us(clock->self) / 1000, &why);
    return rc == VESTA_OK ? 1 : ask_nil_why(L, rc, &why);
}

/* policy_env(names) -> the values of these environment variables as Lua text; or nil and the error */
static int ask_policy_env(lua_State *L) {
    const char *names[VS_POLICY_ENV_MAX];
    struct vesta_error why;
    char *env = NULL;
    int count = 0;
    while (count < VS_POLICY_ENV_MAX && lua_rawgeti(L, 1, count + 1) == LUA_TSTRING)
        names[count++] = lua_tostring(L, -1); /* the list keeps the string alive */
    int rc = vs_policy_env(names, count, &env, &why);
    if (rc != VESTA_OK) return ask_nil_why(L, rc, &why);
    /* Copied before lua_pushstring, which may raise. */
    char *kept = conf_keep(conf_reading_of(L)->config, env, strlen(env));
    free(env);
    if (!kept) conf_raise(L, VESTA_ENOMEM);
    return lua_pushstring(L, kept), 1;
}

int conf_open_ask(lua_State *L) {
    static const luaL_Reg functions[] = {{"address", ask_address},
                                         {"clients", ask_clients},
                                         {"fail", ask_fail},
                                         {"form", ask_form},
                                         {"generation", ask_generation},
                                         {"getenv", ask_getenv},
                                         {"group", ask_group},
                                         {"is_known", ask_is_known},
                                         {"is_local", ask_is_local},
                                         {"is_secure", ask_is_secure},
                                         {"layout", ask_layout},
                                         {"lifetime", ask_lifetime},
                                         {"mask", ask_mask},
                                         {"matches", ask_matches},
                                         {"misfit", ask_misfit},
                                         {"namespace", ask_namespace},
                                         {"nearest", ask_nearest},
                                         {"open_to", ask_open_to},
                                         {"password", ask_password},
                                         {"policy", ask_policy},
                                         {"policy_env", ask_policy_env},
                                         {"proxy", ask_proxy},
                                         {"quote", ask_quote},
                                         {"secret_file", ask_secret_file},
                                         {"shown", ask_shown},
                                         {"store", ask_store},
                                         {"store_check", ask_store_check},
                                         {"stores", ask_stores},
                                         {"user", ask_user},
                                         {"uuid_key", ask_uuid_key},
                                         {"zone", ask_zone},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_pushliteral(L, VS_STORE_FORMS);
    lua_setfield(L, -2, "store_forms");
    return 1;
}
