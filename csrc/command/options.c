/* options.c -- parses a command's options according to the command's table.  getopt_long is not used, because it can
 * neither suggest a similar option nor list the possible values. */
#include "command/options.h"

#include "base/nearest.h"
#include "base/slice.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int (*help_by)(const struct vs_option *table);

void vs_help_by(int (*by)(const struct vs_option *table)) {
    help_by = by;
}

static const struct vs_option *options_find_long(const struct vs_option *table, const char *name, size_t length) {
    for (; table->name; table++)
        if (strlen(table->name) == length && memcmp(table->name, name, length) == 0) return table;
    return NULL;
}

static const struct vs_option *options_find_letter(const struct vs_option *table, char letter) {
    for (; table->name; table++)
        if (table->letter == letter) return table;
    return NULL;
}

static int options_unknown_option(const struct vs_option *table, const char *text) {
    const char *names[VS_OPTIONS_MAX] = {"help"};
    char word[32];
    size_t n = 1;
    for (; table->name; table++) {
        assert(n + 1 < VS_OPTIONS_MAX); /* the last element ends the list */
        names[n++] = table->name;
    }
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text + 2, "="), text + 2);
    const char *near = text[1] == '-' ? vs_nearest(word, names) : NULL;
    /* Misspellings of --http and --resp also resemble --help. */
    if (near == names[0] && !(*word == 'h' && strchr(word, 'e'))) near = NULL;
    if (near) return vs_usage("unknown option %s, did you mean --%s?", vs_shown_text(text), near);
    return vs_usage("unknown option %s", vs_shown_text(text));
}

static int options_store_number(const struct vs_option *o, const char *text) {
    uint64_t n;
    if (!vs_read_count(text, o->max, &n) || n < o->min)
        return vs_usage("--%s is %s, which must be a whole number from %" PRIu64 " to %" PRIu64, o->name,
                        vs_shown_text(text), o->min, o->max);
    if (o->kind == VS_OPT_COUNT)
        *(uint64_t *)o->into = n;
    else
        *(int64_t *)o->into = n ? (int64_t)n : -1;
    return VS_GO;
}

static int options_store_choice(const struct vs_option *o, const char *text) {
    int i = vs_slice_place((struct vs_slice){text, strlen(text)}, o->value, '|');
    char hint[VS_HINT_MAX];
    if (i < 0)
        return vs_usage("--%s is %s, which must be one of %s%s", o->name, vs_shown_text(text), o->value,
                        vs_nearest_hint(text, strlen(text), o->value, hint));
    *(int *)o->into = (int)o->min + i;
    return VS_GO;
}

static int options_store_one_more(const struct vs_option *o, const char *text) {
    struct vs_texts *texts = o->into;
    if (!*text) return vs_usage("--%s needs a value: %s", o->name, o->value);
    if (texts->count == VS_TEXTS_MAX) return vs_usage("--%s can be given %d times at most", o->name, VS_TEXTS_MAX);
    texts->text[texts->count++] = text;
    return VS_GO;
}

static int options_store(const struct vs_option *o, const char *text) {
    int rc = VS_GO;
    switch (o->kind) {
    case VS_OPT_SWITCH: *(int *)o->into = 1; break;
    case VS_OPT_TEXT:
        if (!*text) return vs_usage("--%s needs a value: %s", o->name, o->value);
        *(const char **)o->into = text;
        break;
    case VS_OPT_TEXTS: rc = options_store_one_more(o, text); break;
    case VS_OPT_COUNT:
    case VS_OPT_AHEAD: rc = options_store_number(o, text); break;
    case VS_OPT_CHOICE: rc = options_store_choice(o, text); break;
    }
    if (rc == VS_GO && o->given) *o->given = 1;
    return rc;
}

static bool options_is_operand(const char *text) {
    return text[0] != '-' || text[1] == '\0' || (text[1] >= '0' && text[1] <= '9');
}

/* Reads argv[*i] as an option, and the next word as its value if it needs one. */
static int options_read_option(const struct vs_option *table, int argc, char **argv, int *i) {
    char *text = argv[*i], *value = NULL;
    const struct vs_option *o;
    if (text[1] == '-') {
        size_t length = strcspn(text + 2, "=");
        o = options_find_long(table, text + 2, length);
        if (text[2 + length] == '=') value = text + 3 + length;
    } else {
        o = options_find_letter(table, text[1]);
        if (text[2]) value = text + 2;
    }
    if (!o) return options_unknown_option(table, text);
    if (o->kind == VS_OPT_SWITCH)
        return value ? vs_usage("--%s takes no value, but %s has one", o->name, vs_shown_text(text))
                     : options_store(o, "");
    if (!value && (*i + 1 >= argc || strncmp(argv[*i + 1], "--", 2) == 0))
        return vs_usage("--%s needs a value: %s", o->name, o->value);
    return options_store(o, value ? value : argv[++*i]);
}

static bool options_asks_for_help(const char *text) {
    return strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0;
}

bool vs_help_wanted(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (options_asks_for_help(argv[i])) return true;
    return false;
}

int vs_options(const struct vs_option *table, int *argc, char **argv) {
    int operands = 0, end = 1;
    if (vs_help_wanted(*argc, argv)) return help_by(table);
    while (end < *argc && strcmp(argv[end], "--") != 0)
        end++;
    for (int i = 1; i < *argc; i++) {
        if (i == end) continue;
        if (i > end || options_is_operand(argv[i])) {
            argv[operands++] = argv[i];
            continue;
        }
        int rc = options_read_option(table, end, argv, &i);
        if (rc != VS_GO) return rc;
    }
    *argc = operands;
    return VS_GO;
}
