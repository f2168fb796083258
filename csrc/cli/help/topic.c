/* topic.c -- gathers what --help prints, from the tables that it is printed of: nothing is listed a second time. */
#include "cli/help/topic.h"
#include "cli/cli.h"
#include "policy/vm.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static struct vs_topic topics[VS_TOPICS_MAX];
static int topic_count;

/* Help may have been put together on the stack of the command that is asked. */
static const char *keep(const char *text) {
    static char kept[32768];
    static size_t used;
    size_t size = strlen(text) + 1;
    assert(used + size <= sizeof kept);
    used += size;
    return memcpy(kept + used - size, text, size);
}

/* What a command hands over instead of printing it. */
static void gather(const struct vs_command *command, const struct vs_option *table) {
    struct vs_topic *topic = &topics[topic_count];
    topic->command = command;
    for (topic->count = 0; table->name; table++) {
        assert(topic->count + 1 < VS_OPTIONS_MAX);
        topic->options[topic->count] = *table;
        topic->options[topic->count++].help = keep(table->help);
    }
    topic->options[topic->count++] = vs_option_help;
}

static bool is_alike(const struct vs_topic *a, const struct vs_topic *b) {
    bool alike = a->count == b->count;
    for (int i = 0; alike && i < a->count; i++)
        alike = strcmp(a->options[i].name, b->options[i].name) == 0;
    return alike;
}

static void add(const struct vs_command *command, const char *word, int length, const char *usage) {
    assert(topic_count < VS_TOPICS_MAX && length < VS_WORD_MAX);
    struct vs_topic *topic = &topics[topic_count];
    char *argv[] = {(char *)command->name, topic->word, "--help", NULL};
    snprintf(topic->word, sizeof topic->word, "%.*s", length, word);
    topic->usage = usage;
    topic->usage_length = (int)strcspn(usage, "\n");
    if (length == 0) argv[1] = argv[2];
    vs_run(length ? 3 : 2, argv);
    topic->is_own = length == 0 || !is_alike(topic, vs_topic_find(command->name, ""));
    topic_count++;
}

/* The subcommands stand in the usage: "store init|show", and in further lines "vesta segments add TAG". */
static void add_command(const struct vs_command *command) {
    size_t name = strlen(command->name);
    const char *first = command->usage + name + strspn(command->usage + name, " ");
    add(command, "", 0, islower((unsigned char)*first) ? "" : first);
    for (const char *line = command->usage; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n ");
        if (strncmp(line, "vesta ", 6) == 0) line += 6;
        assert(strncmp(line, command->name, name) == 0);
        const char *word = line + name + strspn(line + name, " "), *operands = word + strcspn(word, " \n");
        while (islower((unsigned char)*word)) {
            size_t length = strcspn(word, "| \n");
            add(command, word, (int)length, operands);
            word += length + (word[length] == '|');
        }
    }
}

const struct vs_topic *vs_topics(int *count) {
    if (topic_count == 0) {
        vs_help_by(gather);
        for (size_t i = 0; vs_command_at(i); i++)
            add_command(vs_command_at(i));
        vs_help_by(NULL);
    }
    *count = topic_count;
    return topics;
}

const struct vs_topic *vs_topic_find(const char *command, const char *word) {
    for (int i = 0; i < topic_count; i++)
        if (strcmp(topics[i].command->name, command) == 0 && strcmp(topics[i].word, word) == 0) return &topics[i];
    return NULL;
}

/* ------------------------------------------------------------------ values */

static void add_value(struct vs_values *out, const char *word, size_t length) {
    size_t used = strlen(out->words);
    assert(used + length + 2 < sizeof out->words);
    snprintf(out->words + used, sizeof out->words - used, "%s%.*s", used ? " " : "", (int)length, word);
}

/* `text` names what may stand there, as help does: "TEXT|PRESET", "NAME|FILE" (a policy), "FILE...". */
static void find_values(const char *text, struct vs_values *out) {
    out->files = strstr(text, "FILE") || strstr(text, "FOLDER");
    if (strstr(text, "PRESET"))
        for (int i = 0; vesta_preset_at(i); i++)
            add_value(out, vesta_preset_at(i)->name, strlen(vesta_preset_at(i)->name));
    if (strstr(text, "NAME|FILE"))
        for (const struct vs_shipped *one = vs_shipped; one->name; one++)
            if (strcmp(one->name, "helpers") != 0) add_value(out, one->name, strlen(one->name));
}

void vs_option_values(const struct vs_option *option, struct vs_values *out) {
    *out = (struct vs_values){.files = false};
    if (option->kind == VS_OPT_TEXT) find_values(option->value, out);
    if (option->kind != VS_OPT_CHOICE) return;
    for (const char *word = option->value; *word;) {
        size_t length = strcspn(word, "|");
        add_value(out, word, length);
        word += length + (word[length] == '|');
    }
}

void vs_operand_values(const struct vs_topic *topic, struct vs_values *out) {
    char usage[256];
    snprintf(usage, sizeof usage, "%.*s", topic->usage_length, topic->usage);
    *out = (struct vs_values){.files = false};
    find_values(usage, out);
}

bool vs_has_words(const struct vs_command *command) {
    for (int i = 0; i < topic_count; i++)
        if (topics[i].command == command && topics[i].word[0]) return true;
    return false;
}
