/* declared.c -- what a policy declares of its options, for people and programs to read.  Checks nothing: policy.c does,
 * and what a policy's functions made of the table since then is shown as far as it can be. */
#include "policy/loaded.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct declared {
    int rules; /* a reference */
    struct vs_policy_option *option;
    int count;
};

enum { DECLARED = 1, RULES, NAME, RULE }; /* places on the stack */

/* The text on top of the stack, which it takes away; "" for what is none. */
static void take_text(lua_State *L, char *buf, size_t size) {
    size_t length = 0;
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &length) : "";
    vs_calm(buf, size, text, length);
    lua_pop(L, 1);
}

static int64_t whole(lua_Number value) {
    if (!(value > -0x1p63)) return INT64_MIN;
    return value < 0x1p63 ? (int64_t)value : INT64_MAX;
}

static int64_t take_number(lua_State *L) {
    int64_t value = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : whole(lua_tonumber(L, -1));
    lua_pop(L, 1);
    return value;
}

static void take_words(lua_State *L, struct vs_policy_option *option) {
    for (int i = 1; lua_rawgeti(L, RULE, i) == LUA_TSTRING && i <= VS_OPTION_WORDS_MAX; i++)
        take_text(L, option->word[option->words++], sizeof option->word[0]);
    lua_pop(L, 1);
    lua_getfield(L, RULE, "default");
    option->has_default = lua_type(L, -1) == LUA_TSTRING;
    take_text(L, option->default_word, sizeof option->default_word);
}

static void take_range(lua_State *L, struct vs_policy_option *option) {
    lua_rawgeti(L, RULE, 1);
    option->least = take_number(L);
    lua_rawgeti(L, RULE, 2);
    option->most = take_number(L);
    option->has_default = lua_getfield(L, RULE, "default") == LUA_TNUMBER;
    option->default_number = take_number(L);
}

static bool flag(lua_State *L, const char *name) {
    lua_getfield(L, RULE, name);
    bool is_set = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return is_set;
}

static void take_rule(lua_State *L, struct vs_policy_option *option) {
    *option = (struct vs_policy_option){.kind = VS_OPTION_WORD, .needed = flag(L, "needed")};
    lua_pushvalue(L, NAME);
    take_text(L, option->name, sizeof option->name);
    lua_getfield(L, RULE, "unit");
    take_text(L, option->unit, sizeof option->unit);
    lua_getfield(L, RULE, "about");
    take_text(L, option->about, sizeof option->about);
    bool is_list = flag(L, "list"), is_range = lua_rawgeti(L, RULE, 1) == LUA_TNUMBER;
    lua_pop(L, 1);
    if (is_list)
        option->kind = VS_OPTION_LIST;
    else if (is_range)
        option->kind = VS_OPTION_NUMBER, take_range(L, option);
    else
        take_words(L, option);
}

static int body(lua_State *L) {
    struct declared *declared = lua_touserdata(L, DECLARED);
    lua_rawgeti(L, LUA_REGISTRYINDEX, declared->rules);
    for (lua_pushnil(L); declared->count < VS_POLICY_OPTIONS_MAX && lua_next(L, RULES); lua_settop(L, NAME))
        if (lua_type(L, NAME) == LUA_TSTRING && lua_istable(L, RULE))
            take_rule(L, &declared->option[declared->count++]);
    return 0;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct vs_policy_option *)a)->name, ((const struct vs_policy_option *)b)->name);
}

int vs_policy_options(struct vs_vm *vm, int policy, struct vs_policy_option *option, int *count,
                      struct vesta_error *err) {
    assert(policy >= 0 && policy < vm->count);
    struct declared declared = {.rules = vm->policy[policy]->rules, .option = option};
    *count = -1;
    if (declared.rules == LUA_NOREF) return VESTA_OK;
    if (vs_lua_run(vm->policy[policy]->lua, body, &declared, err) != VS_CALL_OK) return err->code;
    qsort(option, (size_t)declared.count, sizeof *option, by_name);
    *count = declared.count;
    return VESTA_OK;
}
