/* policy.c -- a set of policies: finding one, running its file, checking the table it returns.  Calls none of its
 * functions. */
#include "policy/loaded.h"

#include "base/error.h"
#include "base/nearest.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SHOWN_MAX 200

/* ------------------------------------------------------------------ the set */

int vs_vm_open(const struct vs_vm_limits *limits, struct vs_vm **out, struct vesta_error *err) {
    struct vs_lua *probe;
    int rc = vs_lua_open(limits, &probe, err); /* wrong limits are an error now, not with the first policy */
    if (rc != VESTA_OK) return rc;
    vs_lua_close(probe);
    struct vs_vm *vm = calloc(1, sizeof *vm);
    if (!vm) return vs_fail(err, VESTA_ENOMEM, "no memory");
    if (limits) vm->limits = *limits;
    *out = vm;
    return VESTA_OK;
}

void vs_vm_close(struct vs_vm *vm) {
    if (!vm) return;
    for (int i = 0; i < vm->count; i++)
        vs_lua_close(vm->policy[i]->lua), free(vm->policy[i]);
    free(vm->policy);
    free(vm);
}

void vs_vm_listen(struct vs_vm *vm, vs_heard_fn *heard, void *self) {
    vm->heard = heard;
    vm->hearer = self;
}

bool vs_policy_has(const struct vs_vm *vm, int policy, enum vs_hook hook) {
    assert(policy >= 0 && policy < vm->count && hook < VS_HOOKS);
    return vm->policy[policy]->hook[hook] != LUA_NOREF;
}

bool vs_policy_is_fixed(const struct vs_vm *vm, int policy) {
    assert(policy >= 0 && policy < vm->count);
    return vm->policy[policy]->fixed;
}

/* ------------------------------------------------------------------ what ships */

static const char helpers[] = "helpers"; /* no policy: what every policy has among its globals */

const struct vs_shipped *vs_shipped_find(const char *name) {
    for (const struct vs_shipped *at = vs_shipped; at->name; at++)
        if (strcmp(at->name, name) == 0) return at;
    return NULL;
}

const char *vs_policy_shipped(int i) {
    for (const struct vs_shipped *at = vs_shipped; at->name; at++)
        if (strcmp(at->name, helpers) != 0 && i-- == 0) return at->name;
    return NULL;
}

static int unknown_policy(const char *name, struct vesta_error *err) {
    char names[256] = "";
    size_t used = 0;
    for (int i = 0; vs_policy_shipped(i) && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", vs_policy_shipped(i));
    return vs_fail(err, VESTA_ENAME, "there is no policy '%s'; there are %s, and files: ./NAME.lua",
                   VS_QUOTE(name, strlen(name)), names);
}

/* ------------------------------------------------------------------ running and checking a file */

struct load {
    struct vs_policy *policy;
    const struct vs_policy_text *text;
};

/* As luaL_error, behind the file's name: the table that it returned has no line. */
#define COMPLAIN(L, load, ...) (lua_pushfstring((L), __VA_ARGS__), complain((L), (load)))
static int complain(lua_State *L, const struct load *load) {
    lua_pushfstring(L, "%s: ", load->text->chunk + 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
    return lua_error(L);
}

static void unknown_key(lua_State *L, const struct load *load, const char *key) {
    const char *names[VS_HOOKS + 6] = {"api", "name", "about", "options", "fixed"};
    for (int hook = 0; hook < VS_HOOKS; hook++)
        names[5 + hook] = vs_hook_name((enum vs_hook)hook);
    const char *near = vs_nearest(key, names);
    COMPLAIN(L, load, "'%s' is not a key of a policy%s%s%s", key, near ? "; did you mean '" : "", near ? near : "",
             near ? "'?" : "");
}

/* The key is below the value, which is at the top and is taken away. */
static void take_entry(lua_State *L, const struct load *load) {
    if (lua_type(L, -2) != LUA_TSTRING)
        COMPLAIN(L, load, "a %s among the keys of a policy, which are names", luaL_typename(L, -2));
    const char *key = lua_tostring(L, -2);
    enum vs_hook hook = vs_hook_named(key);
    if (hook < VS_HOOKS) {
        if (!lua_isfunction(L, -1)) COMPLAIN(L, load, "%s is a %s, not a function", key, luaL_typename(L, -1));
        load->policy->hook[hook] = luaL_ref(L, LUA_REGISTRYINDEX);
        return;
    }
    if (strcmp(key, "name") == 0 || strcmp(key, "about") == 0) {
        if (lua_type(L, -1) != LUA_TSTRING) COMPLAIN(L, load, "%s is a %s, not a text", key, luaL_typename(L, -1));
    } else if (strcmp(key, "fixed") == 0) {
        if (!lua_isboolean(L, -1)) COMPLAIN(L, load, "fixed is a %s, not true or false", luaL_typename(L, -1));
        load->policy->fixed = lua_toboolean(L, -1);
    } else if (strcmp(key, "options") == 0) {
        if (!lua_istable(L, -1)) COMPLAIN(L, load, "options is a %s, not a table of rules", luaL_typename(L, -1));
    } else if (strcmp(key, "api") != 0) {
        unknown_key(L, load, key);
    }
    lua_pop(L, 1);
}

static void take_table(lua_State *L, const struct load *load) {
    if (!lua_istable(L, -1))
        COMPLAIN(L, load, "a policy returns a table, return { api = 1, ... }, and not a %s", luaL_typename(L, -1));
    lua_pushliteral(L, "api");
    int type = lua_rawget(L, -2);
    if (type != LUA_TNUMBER || lua_tonumber(L, -1) != 1)
        COMPLAIN(L, load, "api is %s; a policy for this vesta says api = 1", luaL_tolstring(L, -1, NULL));
    lua_pop(L, 1);
    lua_pushnil(L);
    while (lua_next(L, -2))
        take_entry(L, load);
    lua_pop(L, 1);
}

/* Pushes a function that returns the table that a text is of. */
static void push_data(lua_State *L, const char *data, const char *what) {
    const char *text = lua_pushfstring(L, "return %s", data), *chunk = lua_pushfstring(L, "=%s", what);
    lua_newtable(L);
    vs_sandbox_seal(L, "global ", what);
    vs_lua_compile(L, text, strlen(text), chunk);
    lua_replace(L, -3);
    lua_pop(L, 1);
}

static void push_environment(lua_State *L, const char *env) {
    lua_pushnil(L);
    if (!env) return;
    push_data(L, env, "environment");
    lua_call(L, 0, 1);
    lua_replace(L, -2);
}

/* The options' text becomes a function, so that no call sees what another did to its ctx.options. */
static void take_options(lua_State *L, const struct load *load) {
    push_data(L, load->text->options, "options");
    lua_pushvalue(L, -1);
    lua_call(L, 0, 1);
    if (!lua_istable(L, -1))
        luaL_error(L, "options: a table like { first = 0 } is expected, not a %s", luaL_typename(L, -1));
    lua_pop(L, 1);
    load->policy->options = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* By what the policy declares, once for all its calls, and keeps them whole: `rules` and `reader`, which is
 * read_options, are places on the stack.  A policy that declares nothing gets whatever is given. */
static void check_options(lua_State *L, int rules, int reader, const struct load *load) {
    if (lua_isnil(L, rules)) return;
    lua_pushvalue(L, reader);
    lua_newtable(L);
    if (load->text->options) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, load->policy->options);
        lua_call(L, 0, 1);
    } else {
        lua_newtable(L);
    }
    lua_setfield(L, -2, "options");
    lua_pushvalue(L, rules);
    lua_call(L, 2, 2);
    if (lua_isnil(L, -2)) COMPLAIN(L, load, "%s", lua_tostring(L, -1));
    lua_pop(L, 1);
    load->policy->whole = luaL_ref(L, LUA_REGISTRYINDEX);
}

enum { LOAD = 1, READER, RESULT, RULES };

static int load_body(lua_State *L) {
    const struct load *load = lua_touserdata(L, LOAD);
    push_environment(L, load->text->env);
    vs_world_set(L, load->policy);
    vs_sandbox_push(L, vs_world, vs_shipped_find("helpers"));
    lua_getfield(L, -1, "read_options");
    lua_insert(L, READER);
    vs_lua_compile(L, load->text->text, load->text->length, load->text->chunk);
    lua_call(L, 0, 1);
    if (lua_istable(L, RESULT))
        lua_getfield(L, RESULT, "options");
    else
        lua_pushnil(L);
    lua_pushvalue(L, RESULT);
    take_table(L, load);
    if (load->text->options) take_options(L, load);
    check_options(L, RULES, READER, load);
    lua_pushvalue(L, RULES);
    if (!lua_isnil(L, RULES)) load->policy->rules = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

/* Room for one more; NULL: no memory. */
static struct vs_policy *make(struct vs_vm *vm) {
    struct vs_policy **more = realloc(vm->policy, (size_t)(vm->count + 1) * sizeof(struct vs_policy *));
    if (!more) return NULL;
    vm->policy = more;
    return vm->policy[vm->count] = malloc(sizeof **more);
}

int vs_policy_load_text(struct vs_vm *vm, const struct vs_policy_text *text, int *policy, struct vesta_error *err) {
    struct vs_policy *made = make(vm);
    struct vesta_error why = {0};
    if (!made) return vs_fail(err, VESTA_ENOMEM, "no memory");
    *made = (struct vs_policy){
        .options = LUA_NOREF, .whole = LUA_NOREF, .rules = LUA_NOREF, .vm = vm, .index = vm->count};
    for (int hook = 0; hook < VS_HOOKS; hook++)
        made->hook[hook] = LUA_NOREF;
    int rc = vs_lua_open(&vm->limits, &made->lua, err);
    if (rc != VESTA_OK) return free(made), rc;
    struct load load = {made, text};
    if (vs_lua_run(made->lua, load_body, &load, &why) != VS_CALL_OK) {
        vs_lua_close(made->lua);
        free(made);
        return vs_fail(err, why.code, "%s", why.text);
    }
    *policy = vm->count++;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ finding a policy */

/* Regular files only: a device or a pipe could keep us waiting for ever. */
int vs_source_read(const struct vs_source *source, char *buf, size_t size, size_t *length, struct vesta_error *err) {
    const char *what = source->what;
    char shown[PATH_SHOWN_MAX];
    int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    ssize_t got = 0;
    int error = errno;
    vs_calm(shown, sizeof shown, source->path, strlen(source->path));
    if (fd < 0) return vs_fail(err, VESTA_EIO, "cannot open %s %s: %s", what, shown, strerror(error));
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    for (*length = 0; regular && *length < size; *length += (size_t)got)
        if ((got = read(fd, buf + *length, size - *length)) <= 0) break;
    error = errno;
    close(fd);
    if (!regular) return vs_fail(err, VESTA_EIO, "%s %s is not a regular file", what, shown);
    if (got < 0) return vs_fail(err, VESTA_EIO, "cannot read %s %s: %s", what, shown, strerror(error));
    return VESTA_OK;
}

/* A text's end, behind the copy; NULL stays NULL. */
static char *copy_text(const char *text, char *at, const char **out) {
    *out = text ? strcpy(at, text) : NULL;
    return text ? at + strlen(text) + 1 : at;
}

static size_t size_of(const char *text) {
    return text ? strlen(text) + 1 : 0;
}

/* In one piece of memory, which begins with the chunk. */
int vs_policy_text_copy(const struct vs_policy_text *from, struct vs_policy_text *out, struct vesta_error *err) {
    char *at =
        malloc(size_of(from->chunk) + size_of(from->options) + size_of(from->name) + size_of(from->env) + from->length);
    if (!at) return vs_fail(err, VESTA_ENOMEM, "no memory");
    at = copy_text(from->chunk, at, &out->chunk);
    at = copy_text(from->options, at, &out->options);
    at = copy_text(from->name, at, &out->name);
    at = copy_text(from->env, at, &out->env);
    out->text = memcpy(at, from->text, from->length);
    out->length = from->length;
    return VESTA_OK;
}

void vs_policy_text_free(struct vs_policy_text *text) {
    free((char *)text->chunk);
    *text = (struct vs_policy_text){0};
}

int vs_policy_grant(struct vs_policy_text *text, const char *env, struct vesta_error *err) {
    struct vs_policy_text granted = *text, copy;
    granted.env = env;
    int rc = vs_policy_text_copy(&granted, &copy, err);
    if (rc != VESTA_OK) return rc;
    vs_policy_text_free(text);
    *text = copy;
    return VESTA_OK;
}

static int read_file(const char *path, const char *options, struct vs_policy_text *out, struct vesta_error *err) {
    char chunk[PATH_MAX + 1];
    size_t length, size = VS_SOURCE_BYTES_MAX + 1; /* one more, to see that a file has too many */
    if (snprintf(chunk, sizeof chunk, "@%s", path) >= (int)sizeof chunk)
        return vs_fail(err, VESTA_EIO, "the policy's path is too long: %.200s...", path);
    char *text = malloc(size);
    if (!text) return vs_fail(err, VESTA_ENOMEM, "no memory");
    int rc = vs_source_read(&(struct vs_source){"the policy", path}, text, size, &length, err);
    if (rc == VESTA_OK)
        rc = vs_policy_text_copy(
            &(struct vs_policy_text){.chunk = chunk, .text = text, .length = length, .options = options, .name = path},
            out, err);
    free(text);
    return rc;
}

int vs_policy_read(const char *name, const char *options, struct vs_policy_text *out, struct vesta_error *err) {
    size_t length = strlen(name);
    if (strchr(name, '/') || (length > 4 && strcmp(name + length - 4, ".lua") == 0))
        return read_file(name, options, out, err);
    const struct vs_shipped *shipped = strcmp(name, helpers) == 0 ? NULL : vs_shipped_find(name);
    if (!shipped) return unknown_policy(name, err);
    char chunk[64];
    snprintf(chunk, sizeof chunk, "@%s.lua", name);
    const struct vs_policy_text text = {
        .chunk = chunk, .text = shipped->text, .length = shipped->length, .options = options, .name = name};
    return vs_policy_text_copy(&text, out, err);
}

int vs_policy_load(struct vs_vm *vm, const char *name, const char *options, int *policy, struct vesta_error *err) {
    struct vs_policy_text text;
    int rc = vs_policy_read(name, options, &text, err);
    if (rc != VESTA_OK) return rc;
    rc = vs_policy_load_text(vm, &text, policy, err);
    vs_policy_text_free(&text);
    return rc;
}
