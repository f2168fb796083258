/* commands.c -- the module `commands`: help texts and options of all commands, for `vesta help`.  Knows no command. */
#include "main/cli.h"
#include "main/modules.h"

static void commands_text(lua_State *L, const char *key, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

/* commands.list() -> { { name, line, usage, about }, ... } in the order of the overview */
static int commands_list(lua_State *L) {
    const struct vs_command *command;
    lua_newtable(L);
    for (size_t i = 0; (command = vs_command_at(i)) != NULL; i++) {
        lua_createtable(L, 0, 4);
        commands_text(L, "name", command->name);
        commands_text(L, "line", command->line);
        commands_text(L, "usage", command->usage);
        commands_text(L, "about", command->about);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* ------------------------------------------------------------------ run */

#define RUN_WORDS_MAX 3

/* commands.run(word, ...) -> exit code.  The first word is the command. */
static int commands_run(lua_State *L) {
    char *words[RUN_WORDS_MAX + 1] = {NULL};
    int count = lua_gettop(L);
    luaL_argcheck(L, count <= RUN_WORDS_MAX, count, "too many words");
    for (int i = 0; i < count; i++)
        words[i] = (char *)luaL_checkstring(L, i + 1); /* the stack holds it */
    lua_pushinteger(L, vs_command_run(count, words));
    return 1;
}

/* ------------------------------------------------------------------ options */

static void commands_push_option(lua_State *L, const struct vs_option *option) {
    static const char *const kinds[] = {
        [VS_OPT_SWITCH] = "switch", [VS_OPT_TEXT] = "text",   [VS_OPT_TEXTS] = "texts",
        [VS_OPT_COUNT] = "count",   [VS_OPT_AHEAD] = "ahead", [VS_OPT_CHOICE] = "choice",
    };
    lua_createtable(L, 0, 5);
    commands_text(L, "name", option->name);
    commands_text(L, "kind", kinds[option->kind]);
    commands_text(L, "value", option->value);
    commands_text(L, "help", option->help);
    if (!option->letter) return;
    lua_pushlstring(L, &option->letter, 1);
    lua_setfield(L, -2, "letter");
}

static lua_State *gathering; /* the state whose registry receives the rows */
static const char gathered;  /* its address is their key */

/* Called instead of printing help.  The command may be running in Lua itself, so the stack must stay as it is. */
static void commands_gather(const struct vs_command *command, const struct vs_option *table) {
    lua_State *L = gathering;
    lua_Integer count = 0;
    (void)command;
    lua_newtable(L);
    for (; table->name; table++) {
        commands_push_option(L, table);
        lua_rawseti(L, -2, ++count);
    }
    commands_push_option(L, &vs_option_help);
    lua_rawseti(L, -2, ++count);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &gathered);
}

/* commands.options(name, word) -> { { name, letter, kind, value, help }, ... } of the command, or of its subcommand if
 * `word` is not nil.  Later messages begin with its name. */
static int commands_options(lua_State *L) {
    char *words[] = {(char *)luaL_checkstring(L, 1), (char *)luaL_optstring(L, 2, NULL), "--help", NULL};
    int count = 3;
    if (!words[1]) {
        words[1] = words[2];
        words[2] = NULL;
        count = 2;
    }
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &gathered);
    gathering = L;
    vs_help_by(commands_gather);
    vs_command_run(count, words);
    vs_help_by(NULL);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &gathered);
    return 1;
}

int modules_open_commands(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"list", commands_list}, {"run", commands_run}, {"options", commands_options}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
