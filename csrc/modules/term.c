/* term.c -- the module `term`: the functions of csrc/command for the commands in lua/cli.  Does not depend on any
 * command.
 *
 * Texts may contain any byte.  A wrong argument raises an error, because only the program itself calls these
 * functions. */
#include "base/nearest.h"
#include "command/times.h"
#include "modules/host.h"
#include "modules/tables.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ options */

union term_value {
    const char *text;
    struct vs_texts texts;
    uint64_t count;
    int64_t ahead;
    int number;
};

struct term_options {
    struct vs_option table[VS_OPTIONS_MAX];
    union term_value value[VS_OPTIONS_MAX];
    int given[VS_OPTIONS_MAX];
    int count;
};

static uint64_t term_bound(lua_State *L, int row, const char *key, uint64_t otherwise) {
    lua_getfield(L, row, key);
    uint64_t bound = lua_isnil(L, -1) ? otherwise : (uint64_t)luaL_checkinteger(L, -1);
    lua_pop(L, 1);
    return bound;
}

static const char *const term_kinds[] = {
    [VS_OPT_SWITCH] = "switch",
    [VS_OPT_TEXT] = "text",
    [VS_OPT_TEXTS] = "texts",
    [VS_OPT_COUNT] = "count",
    [VS_OPT_AHEAD] = "ahead",
    [VS_OPT_CHOICE] = "choice",
    NULL,
};

static enum vs_option_kind term_kind(lua_State *L, int row) {
    lua_getfield(L, row, "kind");
    enum vs_option_kind kind = (enum vs_option_kind)luaL_checkoption(L, -1, "text", term_kinds);
    lua_pop(L, 1);
    return kind;
}

/* Adds the row on top of the stack. */
static void term_add_option(lua_State *L, struct term_options *options) {
    int row = lua_gettop(L), i = options->count;
    if (i + 1 >= VS_OPTIONS_MAX) luaL_error(L, "a command has at most %d options", VS_OPTIONS_MAX - 1);
    const char *letter = host_get_text(L, row, "letter");
    options->table[i] = (struct vs_option){
        .name = host_get_text(L, row, "name"),
        .letter = letter ? *letter : 0,
        .kind = term_kind(L, row),
        .into = &options->value[i],
        .value = host_get_text(L, row, "value"),
        .help = host_get_text(L, row, "help"),
        .min = term_bound(L, row, "min", 0),
        .max = term_bound(L, row, "max", UINT64_MAX),
        .given = &options->given[i],
    };
    if (options->table[i].kind == VS_OPT_CHOICE) options->table[i].min = 0;
    options->count++;
}

static void term_push_value(lua_State *L, const struct vs_option *option) {
    const union term_value *value = option->into;
    switch (option->kind) {
    case VS_OPT_SWITCH: lua_pushboolean(L, 1); break;
    case VS_OPT_TEXT: lua_pushstring(L, value->text); break;
    case VS_OPT_AHEAD: lua_pushinteger(L, value->ahead); break;
    case VS_OPT_COUNT: lua_pushinteger(L, (lua_Integer)value->count); break;
    case VS_OPT_TEXTS:
        lua_createtable(L, (int)value->texts.count, 0);
        for (size_t i = 0; i < value->texts.count; i++) {
            lua_pushstring(L, value->texts.text[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        break;
    case VS_OPT_CHOICE: {
        const char *word = option->value;
        for (int i = 0; i < value->number; i++)
            word += strcspn(word, "|") + 1;
        lua_pushlstring(L, word, strcspn(word, "|"));
        break;
    }
    }
}

char **host_words(lua_State *L, int arg, int first, int *count) {
    luaL_checktype(L, arg, LUA_TTABLE);
    *count = (int)luaL_len(L, arg) + 1 - first;
    char **words = lua_newuserdata(L, ((size_t)*count + 1) * sizeof *words);
    for (int i = 0; i < *count; i++) {
        lua_rawgeti(L, arg, first + i);
        words[i] = (char *)luaL_checkstring(L, -1);
        lua_pop(L, 1);
    }
    words[*count] = NULL;
    return words;
}

void host_push_options(lua_State *L, const struct vs_option *options) {
    lua_newtable(L);
    for (lua_Integer i = 1; options->name; options++, i++) {
        lua_createtable(L, 0, 5);
        host_set_text(L, "name", options->name);
        host_set_text(L, "kind", term_kinds[options->kind]);
        host_set_text(L, "value", options->value);
        host_set_text(L, "help", options->help);
        if (options->kind == VS_OPT_COUNT || options->kind == VS_OPT_AHEAD) {
            host_set_integer(L, "min", (int64_t)options->min);
            host_set_integer(L, "max", (int64_t)options->max);
        }
        if (options->letter) host_set_text(L, "letter", (const char[]){options->letter, '\0'});
        lua_rawseti(L, -2, i);
    }
}

/* term.options(rows, words) -> code | "help" | nil, options, operands
 * A row has: name; value, the value's name in help; help; kind: "text" (the default), "texts", "switch", "count" with
 * min and max, "ahead" (see options.h) with max, "choice" with value "a|b|c"; letter.  words[0] is the command.  `code`
 * is set after a message and is the exit code of the command.  "help": the words request help.  options[name] is true,
 * a string, a list of strings or a number. */
static int term_options(lua_State *L) {
    struct term_options options = {.count = 0};
    luaL_checktype(L, 1, LUA_TTABLE);
    for (lua_Integer i = 1; lua_rawgeti(L, 1, i) != LUA_TNIL; i++) {
        term_add_option(L, &options);
        lua_pop(L, 1);
    }
    int count;
    char **words = host_words(L, 2, 0, &count);
    if (vs_help_wanted(count, words)) return lua_pushliteral(L, "help"), 1;
    int code = vs_options(options.table, &count, words);
    if (code != VS_GO) return lua_pushinteger(L, code), 1;
    lua_pushnil(L);
    lua_createtable(L, 0, options.count);
    for (int i = 0; i < options.count; i++) {
        if (!options.given[i]) continue;
        term_push_value(L, &options.table[i]);
        lua_setfield(L, -2, options.table[i].name);
    }
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushstring(L, words[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 3;
}

/* ------------------------------------------------------------------ messages */

static int term_say(lua_State *L) {
    vs_say("%s", luaL_checkstring(L, 1));
    return 0;
}

/* term.say_as(name): messages begin with "vesta NAME: ". */
static int term_say_as(lua_State *L) {
    luaL_checkstring(L, 1);
    lua_pushvalue(L, 1);
    vs_say_as(lua_tostring(L, -1));
    luaL_ref(L, LUA_REGISTRYINDEX); /* keeps the string alive */
    return 0;
}

/* term.usage(text) -> 2 */
static int term_usage(lua_State *L) {
    lua_pushinteger(L, vs_usage("%s", luaL_checkstring(L, 1)));
    return 1;
}

/* term.report(text, code) -> exit code.  `code` is the error name that vesta's functions return as their third
 * value. */
static int term_report(lua_State *L) {
    struct vesta_error err = {0};
    const char *code = luaL_optstring(L, 2, "");
    for (int number = -1; number > -100 && err.code == 0; number--)
        if (strcmp(vesta_code_name(number), code) == 0) err.code = number;
    snprintf(err.text, sizeof err.text, "%s", luaL_checkstring(L, 1));
    lua_pushinteger(L, vs_report(&err));
    return 1;
}

/* term.shown(text) -> untrusted text for a message, in quotes */
static int term_shown(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_pushstring(L, vs_shown(text, length));
    return 1;
}

/* term.nearest(word, names) -> the most similar name, or nil */
static int term_nearest(lua_State *L) {
    int count;
    char **names = host_words(L, 2, 1, &count);
    lua_pushstring(L, vs_nearest(luaL_checkstring(L, 1), (const char *const *)names));
    return 1;
}

/* term.secret(flag, path) -> the secret that a file contains, or nil, exit code */
static int term_secret(lua_State *L) {
    const char *secret;
    int code = vs_read_secret(luaL_checkstring(L, 1), luaL_checkstring(L, 2), &secret);
    if (code == VS_GO) return lua_pushstring(L, secret), 1;
    return host_end(L, code);
}

static int term_status(lua_State *L) {
    vs_status("%s", luaL_checkstring(L, 1));
    return 0;
}

/* term.progress(what, done, all): shows a progress line at a terminal when a command takes longer than two seconds. */
static int term_progress(lua_State *L) {
    static struct vs_progress progress;
    vs_progress_show(&progress, luaL_checkstring(L, 1), (uint64_t)luaL_checkinteger(L, 2),
                     (uint64_t)luaL_optinteger(L, 3, 0));
    return 0;
}

static int term_progress_end(lua_State *L) {
    (void)L;
    vs_progress_end();
    return 0;
}

/* ------------------------------------------------------------------ output */

static int term_out(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    vs_out_write(text, length);
    return 0;
}

static int term_flush(lua_State *L) {
    (void)L;
    vs_out_flush();
    return 0;
}

static int term_columns(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)vs_out_columns());
    return 1;
}

/* term.clean(text) -> text that is safe for a terminal */
static int term_clean(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    luaL_Buffer buffer;
    char *copy = luaL_buffinitsize(L, &buffer, length + 1);
    memcpy(copy, text, length + 1);
    luaL_pushresultsize(&buffer, strlen(vs_clean(copy)));
    return 1;
}

/* term.paint("red"|"yellow"|"cyan"|"plain") -> the code of a colour, or "" if stdout shows no colours */
static int term_paint(lua_State *L) {
    static const char *const names[] = {"red", "yellow", "cyan", "plain", NULL};
    const char *const codes[] = {VS_RED, VS_YELLOW, VS_CYAN, VS_PLAIN};
    lua_pushstring(L, codes[luaL_checkoption(L, 1, NULL, names)]);
    return 1;
}

/* term.wrapped(text, indent, used) and term.fitted(text, indent, used) print like vs_out_wrapped and vs_out_fitted. */
static int term_wrapped(lua_State *L) {
    vs_out_wrapped(luaL_checkstring(L, 1), (size_t)luaL_checkinteger(L, 2), (size_t)luaL_checkinteger(L, 3));
    return 0;
}

static int term_fitted(lua_State *L) {
    vs_out_fitted(luaL_checkstring(L, 1), (size_t)luaL_checkinteger(L, 2), (size_t)luaL_checkinteger(L, 3));
    return 0;
}

/* ------------------------------------------------------------------ layouts, times, counts */

/* term.draw_layout(text): draws the bits of a layout. */
static int term_draw_layout(lua_State *L) {
    struct vesta_layout layout;
    if (vesta_layout_parse(luaL_checkstring(L, 1), &layout, NULL) != VESTA_OK) return luaL_error(L, "no layout");
    vs_draw_layout(&layout);
    return 0;
}

/* term.grouped(1048576) -> "1,048,576" */
static int term_grouped(lua_State *L) {
    char buf[VS_GROUPED_MAX];
    lua_pushstring(L, vs_grouped((uint64_t)luaL_checkinteger(L, 1), buf));
    return 1;
}

static int term_now_ms(lua_State *L) {
    lua_pushinteger(L, vs_now_ms());
    return 1;
}

/* term.ago(then_ms, now_ms) -> "3 days ago", "in 2 hours" */
static int term_ago(lua_State *L) {
    char buf[VS_AGO_MAX];
    lua_pushstring(L, vs_ago(luaL_checkinteger(L, 1), luaL_checkinteger(L, 2), buf));
    return 1;
}

/* term.span(ms) -> "3 days" */
static int term_span(lua_State *L) {
    char buf[VS_AGO_MAX];
    lua_pushstring(L, vs_span((uint64_t)luaL_checkinteger(L, 1), buf));
    return 1;
}

/* term.iso(unix_ms) -> RFC 3339 */
static int term_iso(lua_State *L) {
    char buf[VESTA_ISO_MAX];
    lua_pushstring(L, vs_iso(luaL_checkinteger(L, 1), buf));
    return 1;
}

/* term.time(text) -> Unix milliseconds, or nil, text, code */
static int term_time(lua_State *L) {
    struct vesta_error err;
    int64_t unix_ms;
    if (vesta_time_parse(luaL_checkstring(L, 1), &unix_ms, &err) == VESTA_OK) return lua_pushinteger(L, unix_ms), 1;
    return host_fail(L, &err);
}

/* term.time_operand(text, now_ms) -> Unix milliseconds, length | nil, exit code
 * Reads now, today, -1h, a day, RFC 3339.  length: the length of the day if the text is a day, otherwise 0. */
static int term_time_operand(lua_State *L) {
    int64_t unix_ms;
    int code = vs_time_operand(luaL_checkstring(L, 1), luaL_checkinteger(L, 2), &unix_ms);
    if (code == VS_GO)
        lua_pushinteger(L, unix_ms);
    else
        lua_pushnil(L);
    lua_pushinteger(L, code == VS_GO ? vs_time_length(lua_tostring(L, 1)) : code);
    return 2;
}

/* ------------------------------------------------------------------ ids */

/* Calls the function at index 3. */
static int term_take_id(void *self, const struct vs_found_id *found) {
    lua_State *L = self;
    lua_pushvalue(L, 3);
    lua_pushinteger(L, (lua_Integer)found->id);
    lua_call(L, 1, 1);
    int code = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return code;
}

/* Calls the function at index 4 with the canonical text. */
static int term_take_wide(void *self, const struct vs_wide_found *found) {
    lua_State *L = self;
    char text[VS_WIDE_TEXT_MAX];
    if (found->text == VS_WIDE_TYPEID)
        vs_typeid_write(found->prefix, found->id, text);
    else
        vs_wide_write(found->text, found->id, text);
    lua_pushvalue(L, 4);
    lua_pushstring(L, text);
    lua_call(L, 1, 1);
    int code = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return code;
}

/* term.each_id(notation, operands, take, take_wide or nil) -> exit code
 * Calls take(id) for each id of the operands, or of stdin, and take_wide(text) for each id of 128 bits.  Both return an
 * exit code.  `notation` is a word of VS_NOTATION. */
static int term_each_id(lua_State *L) {
    static const char *const notations[] = {"any", "dec", "hex", "base32", "base62", NULL};
    int count;
    struct vs_id_input input = {(enum vs_notation)luaL_checkoption(L, 1, "any", notations), term_take_id,
                                lua_isnoneornil(L, 4) ? NULL : term_take_wide, L};
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_settop(L, 4);
    char **operands = host_words(L, 2, 1, &count);
    lua_pushinteger(L, vs_each_id(&input, count, operands));
    return 1;
}

int host_open_term(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"options", term_options},
        {"say", term_say},
        {"say_as", term_say_as},
        {"usage", term_usage},
        {"report", term_report},
        {"shown", term_shown},
        {"nearest", term_nearest},
        {"secret", term_secret},
        {"status", term_status},
        {"progress", term_progress},
        {"progress_end", term_progress_end},
        {"out", term_out},
        {"flush", term_flush},
        {"columns", term_columns},
        {"clean", term_clean},
        {"paint", term_paint},
        {"wrapped", term_wrapped},
        {"fitted", term_fitted},
        {"draw_layout", term_draw_layout},
        {"grouped", term_grouped},
        {"now_ms", term_now_ms},
        {"ago", term_ago},
        {"span", term_span},
        {"iso", term_iso},
        {"time", term_time},
        {"time_operand", term_time_operand},
        {"each_id", term_each_id},
        {NULL, NULL},
    };
    luaL_newlib(L, functions);
    return 1;
}
