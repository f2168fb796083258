/* source.c -- the config file as text: where a key stands, and what a file that is no Lua seems to be.  Pure; knows
 * Lua's comments and strings, not its grammar. */
#include "config/schema.h"

#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t word_length(const char *at) {
    size_t n = 0;
    while (is_letter(at[n]) || is_digit(at[n]))
        n++;
    return n;
}

/* Behind "[==[ ... ]==]", or `at` where none begins there. */
static const char *skip_long(const char *at) {
    if (at[0] != '[') return at;
    size_t level = strspn(at + 1, "=");
    if (at[1 + level] != '[') return at;
    for (at += level + 2; *at; at++)
        if (*at == ']' && strspn(at + 1, "=") == level && at[1 + level] == ']') return at + level + 2;
    return at;
}

static const char *skip_quoted(const char *at) {
    char quote = *at++;
    while (*at && *at != quote && *at != '\n')
        at += at[0] == '\\' && at[1] ? 2 : 1;
    return at + (*at == quote);
}

static const char *skip_comment(const char *at) {
    const char *behind = skip_long(at + 2);
    return behind != at + 2 ? behind : at + strcspn(at, "\n");
}

static const char *skip_space(const char *at) {
    return at + strspn(at, " \t\r\n");
}

static bool assigns(const char *at) {
    at = skip_space(at);
    return at[0] == '=' && at[1] != '=';
}

/* The token that begins at `at`; *is_key: it is `key`, written as a table's key. */
static const char *next_token(const char *at, const char *key, bool *is_key) {
    size_t length = strlen(key), n = word_length(at);
    const char *behind;
    *is_key = false;
    if (n > 0) {
        *is_key = n == length && memcmp(at, key, n) == 0 && assigns(at + n);
        return at + n;
    }
    if (at[0] == '-' && at[1] == '-') return skip_comment(at);
    if (at[0] == '[' && (behind = skip_long(at)) != at) return behind;
    if (at[0] == '"' || at[0] == '\'') {
        behind = skip_quoted(at);
        const char *close = skip_space(behind);
        *is_key = (size_t)(behind - at) == length + 2 && memcmp(at + 1, key, length) == 0 && *close == ']' &&
                  assigns(close + 1);
        return behind;
    }
    return at + 1;
}

int vs_conf_line_of(const char *text, const char *key) {
    int line = 1, found = 0;
    for (const char *at = text; *at;) {
        bool is_key;
        const char *behind = next_token(at, key, &is_key);
        if (is_key && found) return 0;
        if (is_key) found = line;
        for (; at < behind; at++)
            line += *at == '\n';
    }
    return found;
}

/* ------------------------------------------------------------------ what it seems to be */

static const char *line_at(const char *text, int line) {
    while (line > 1 && (text = strchr(text, '\n'))) {
        text++;
        line--;
    }
    return text ? text : "";
}

/* "name:" or "name: value", and "- name". */
static bool like_yaml(const char *at) {
    size_t n = word_length(at);
    while (n > 0 && at[n] == '-')
        n += 1 + word_length(at + n + 1);
    if (n > 0 && at[n] == ':') return strchr(" \t\r\n", at[n + 1]) != NULL; /* or the text's end */
    return at[0] == '-' && at[1] == ' ' && word_length(at + 2) > 0 && at[2 + word_length(at + 2)] == ':';
}

static bool like_comment(const char *at) {
    at += strspn(at, " \t");
    if (at[0] == '-' && at[1] != '-') return true;
    for (size_t n = strcspn(at, "\n"); n > 0; n--, at++) {
        if (at[0] == '-' && at[1] == '-') return false;
        if (at[0] == '#' || (at[0] == '/' && at[1] == '/')) return true;
    }
    return false;
}

/* The first line that is neither empty nor a comment, in any of the usual ways. */
static const char *first_word(const char *text) {
    for (;;) {
        text = skip_space(text);
        if (text[0] == '-' && text[1] == '-')
            text = skip_comment(text);
        else if (text[0] == '#' || (text[0] == '/' && text[1] == '/'))
            text += strcspn(text, "\n");
        else
            return text;
    }
}

const char *vs_conf_hint(const char *text, int line) {
    const char *first = first_word(text);
    if (*first == '{' && strchr("\"}", *skip_space(first + 1)))
        return "this looks like JSON; the config is a Lua file that returns a table: return { threads = 2 }";
    if (*first == '{') return "write return in front of the table";
    if (*first == '[' && is_letter(first[1]))
        return "this looks like TOML or INI; the config is a Lua file that returns a table: return { threads = 2 }";
    if (*first == '[')
        return "this looks like JSON; the config is a Lua file that returns a table: return { threads = 2 }";
    if (like_yaml(first))
        return "this looks like YAML; the config is a Lua file that returns a table: return { threads = 2 }";
    if (*first == '<') return "this looks like XML; the config is a Lua file that returns a table";
    if (like_comment(line_at(text, line))) return "Lua comments start with --";
    return NULL;
}
