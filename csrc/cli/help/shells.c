/* shells.c -- completions for bash, zsh and fish: tables of the commands' options and values in each shell's words.
 * What is said of an option is quoted for that shell; names and values are plain words. */
#include "cli/cli.h"
#include "cli/help/topic.h"

#include <string.h>

/* With a backslash in front of the characters of `special`. */
static void print_escaped(const char *text, const char *special) {
    for (; *text; text++)
        vs_outf("%s%c", strchr(special, *text) ? "\\" : "", *text);
}

/* The same between zsh's single quotes: one within stands beside them. */
static void print_quoted(const char *text, const char *special) {
    for (; *text; text++)
        if (*text == '\'')
            vs_outf("'\\''");
        else
            vs_outf("%s%c", strchr(special, *text) ? "\\" : "", *text);
}

/* ------------------------------------------------------------------ bash */

static void bash_option_names(const struct vs_topic *topic) {
    vs_outf("        options='");
    for (int i = 0; i < topic->count; i++) {
        const struct vs_option *o = &topic->options[i];
        vs_outf("%s--%s", i ? " " : "", o->name);
        if (o->letter) vs_outf(" -%c", o->letter);
    }
    vs_outf("'\n");
}

static void bash_values(const struct vs_topic *topic) {
    vs_outf("        case $before in\n");
    for (int i = 0; i < topic->count; i++) {
        const struct vs_option *o = &topic->options[i];
        struct vs_values values;
        if (o->kind == VS_OPT_SWITCH) continue;
        vs_option_values(o, &values);
        vs_outf("        --%s", o->name);
        if (o->letter) vs_outf(" | -%c", o->letter);
        vs_outf(") _vesta_reply '%s' %d; return ;;\n", values.words, values.files);
    }
    vs_outf("        esac\n");
}

static void bash_topic(const struct vs_topic *topic) {
    struct vs_values values;
    int count;
    const struct vs_topic *topics = vs_topics(&count);
    vs_operand_values(topic, &values);
    vs_outf("    '%s%s%s')\n", topic->command->name, topic->word[0] ? " " : "", topic->word);
    bash_option_names(topic);
    vs_outf("        operands='%s", values.words);
    for (int i = 0; i < count && !topic->word[0]; i++)
        if (topics[i].command == topic->command && topics[i].word[0]) vs_outf(" %s", topics[i].word);
    if (topic->command == vs_command_find("help"))
        for (size_t i = 0; vs_command_at(i); i++)
            vs_outf(" %s", vs_command_at(i)->name);
    vs_outf("'\n        files=%d\n", values.files);
    bash_values(topic);
    vs_outf("        ;;\n");
}

/* COMP_WORDS has --name=value in three words. */
static const char bash_head[] =
    "# vesta for bash; made by `vesta help --completion bash`.\n"
    "_vesta_reply() {\n"
    "    COMPREPLY=($(compgen -W \"$1\" -- \"$current\"))\n"
    "    [ \"$2\" = 0 ] || { compopt -o filenames; mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- "
    "\"$current\"); }\n"
    "}\n"
    "_vesta() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} topic=${COMP_WORDS[1]}\n"
    "    local options= operands= files=0 commands='";
static const char bash_middle[] = "    if [ \"$current\" = = ]; then\n"
                                  "        current=\n"
                                  "    elif [ \"$before\" = = ]; then\n"
                                  "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
                                  "    fi\n"
                                  "    COMPREPLY=()\n"
                                  "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                                  "        _vesta_reply \"$commands --help --version\" 0\n"
                                  "        return\n"
                                  "    fi\n"
                                  "    if [ \"$COMP_CWORD\" -gt 2 ]; then\n"
                                  "        case \" $words \" in *\" $topic:${COMP_WORDS[2]} \"*) topic=\"$topic "
                                  "${COMP_WORDS[2]}\" ;; esac\n"
                                  "    fi\n"
                                  "    case $topic in\n";
static const char bash_tail[] = "    *) return ;;\n"
                                "    esac\n"
                                "    case $current in\n"
                                "    -*) _vesta_reply \"$options\" 0 ;;\n"
                                "    *) _vesta_reply \"$operands\" \"$files\" ;;\n"
                                "    esac\n"
                                "}\n"
                                "complete -F _vesta vesta\n";

void vs_complete_bash(void) {
    int count;
    const struct vs_topic *topics = vs_topics(&count);
    vs_outf("%s", bash_head);
    for (size_t i = 0; vs_command_at(i); i++)
        vs_outf("%s%s", i ? " " : "", vs_command_at(i)->name);
    vs_outf("'\n    local words='");
    for (int i = 0; i < count; i++)
        if (topics[i].word[0]) vs_outf("%s:%s ", topics[i].command->name, topics[i].word);
    vs_outf("'\n%s", bash_middle);
    for (int i = 0; i < count; i++)
        bash_topic(&topics[i]);
    vs_outf("%s", bash_tail);
}

/* ------------------------------------------------------------------ zsh: the specs of _arguments */

static void zsh_values(const struct vs_values *values) {
    if (values->files && values->words[0])
        vs_outf("{ compadd %s; _files }", values->words);
    else if (values->files)
        vs_outf("_files");
    else if (values->words[0])
        vs_outf("(%s)", values->words);
}

static void zsh_option(const struct vs_option *o, const char *name, const char *dashes) {
    struct vs_values values;
    bool takes = o->kind != VS_OPT_SWITCH;
    vs_outf(" \\\n            '%s%s%s[", dashes, name, takes && dashes[1] ? "=" : "");
    print_quoted(o->help, "[]\\:");
    vs_outf("]");
    if (takes) {
        vs_option_values(o, &values);
        vs_outf(":");
        print_quoted(o->value, "\\:");
        vs_outf(":");
        zsh_values(&values);
    }
    vs_outf("'");
}

static void zsh_topic(const struct vs_topic *topic) {
    struct vs_values values;
    vs_operand_values(topic, &values);
    vs_outf("        '%s%s%s')\n        _arguments", topic->command->name, topic->word[0] ? " " : "", topic->word);
    for (int i = 0; i < topic->count; i++) {
        const struct vs_option *o = &topic->options[i];
        zsh_option(o, o->name, "--");
        if (o->letter) zsh_option(o, (char[]){o->letter, '\0'}, "-");
    }
    if (strcmp(topic->command->name, "help") == 0)
        vs_outf(" \\\n            '1:command:($commands)'");
    else if (!topic->word[0] && vs_has_words(topic->command))
        vs_outf(" \\\n            \"1:subcommand:($subcommands)\"");
    else if (values.files || values.words[0]) {
        vs_outf(" \\\n            '*:operand:");
        zsh_values(&values);
        vs_outf("'");
    }
    vs_outf(" ;;\n");
}

void vs_complete_zsh(void) {
    int count;
    const struct vs_topic *topics = vs_topics(&count);
    vs_outf("#compdef vesta\n# vesta for zsh; made by `vesta help --completion zsh`.\n_vesta() {\n"
            "    local topic=$words[2]\n    local -a commands subcommands described\n    commands=(");
    for (size_t i = 0; vs_command_at(i); i++)
        vs_outf("%s%s", i ? " " : "", vs_command_at(i)->name);
    vs_outf(")\n    described=(");
    for (size_t i = 0; vs_command_at(i); i++) {
        vs_outf("\n        '%s:", vs_command_at(i)->name);
        print_quoted(vs_command_at(i)->line, "\\:");
        vs_outf("'");
    }
    vs_outf(")\n    if (( CURRENT == 2 )); then\n        _describe command described\n        return\n    fi\n"
            "    case $topic in\n");
    for (int i = 0; i < count; i++) {
        if (topics[i].word[0]) continue;
        vs_outf("    %s) subcommands=(", topics[i].command->name);
        for (int k = i + 1; k < count && topics[k].word[0]; k++)
            vs_outf("%s%s", k > i + 1 ? " " : "", topics[k].word);
        vs_outf(") ;;\n");
    }
    vs_outf("    esac\n    shift words\n    (( CURRENT-- ))\n"
            "    if (( CURRENT > 2 )) && [[ -n $words[2] && $subcommands[(Ie)$words[2]] -gt 0 ]]; then\n"
            "        topic=\"$topic $words[2]\"\n        shift words\n        (( CURRENT-- ))\n    fi\n"
            "    case $topic in\n");
    for (int i = 0; i < count; i++)
        zsh_topic(&topics[i]);
    vs_outf("    esac\n}\nif [ \"$funcstack[1]\" = _vesta ]; then _vesta \"$@\"; else compdef _vesta vesta; fi\n");
}

/* ------------------------------------------------------------------ fish */

/* Where an option of this topic may stand: behind its words, and not behind a subcommand with options of its own. */
static void fish_where(const struct vs_topic *topic) {
    int count;
    const struct vs_topic *topics = vs_topics(&count);
    vs_outf("complete -c vesta -n '__vesta_is %s%s%s", topic->command->name, topic->word[0] ? " " : "", topic->word);
    for (int i = 0; i < count && !topic->word[0]; i++)
        if (topics[i].command == topic->command && topics[i].word[0] && topics[i].is_own)
            vs_outf("; and not __vesta_is %s %s", topic->command->name, topics[i].word);
    vs_outf("'");
}

static void fish_values(const struct vs_values *values) {
    vs_outf(values->files ? " -F" : " -f");
    if (values->words[0]) vs_outf(" -a '%s'", values->words);
}

static void fish_option(const struct vs_topic *topic, const struct vs_option *o) {
    struct vs_values values;
    fish_where(topic);
    vs_outf(" -l %s", o->name);
    if (o->letter) vs_outf(" -s %c", o->letter);
    if (o->kind != VS_OPT_SWITCH) {
        vs_option_values(o, &values);
        vs_outf(" -r");
        fish_values(&values);
    }
    vs_outf(" -d '");
    print_escaped(o->help, "'\\");
    vs_outf("'\n");
}

static void fish_topic(const struct vs_topic *topic) {
    struct vs_values values;
    vs_operand_values(topic, &values);
    if (topic->word[0]) {
        vs_outf("complete -c vesta -n '__vesta_is %s; and __vesta_has 2' -a %s", topic->command->name, topic->word);
    } else {
        vs_outf("complete -c vesta -n '__vesta_has 1' -a %s -d '", topic->command->name);
        print_escaped(topic->command->line, "'\\");
        vs_outf("'");
    }
    vs_outf("\n");
    for (int i = 0; topic->is_own && i < topic->count; i++)
        fish_option(topic, &topic->options[i]);
    if (!values.files && !values.words[0]) return;
    fish_where(topic);
    fish_values(&values);
    vs_outf("\n");
}

/* __vesta_is COMMAND [SUBCOMMAND]: these were typed; __vesta_has N: so many words. */
static const char fish_head[] = "# vesta for fish; made by `vesta help --completion fish`.\n"
                                "function __vesta_is\n"
                                "    set -l words (commandline -opc)\n"
                                "    set -l last (math 1 + (count $argv))\n"
                                "    test \"$argv\" = \"$words[2..$last]\"\n"
                                "end\n"
                                "function __vesta_has\n"
                                "    test (count (commandline -opc)) = $argv[1]\n"
                                "end\n"
                                "complete -c vesta -f\n";

void vs_complete_fish(void) {
    int count;
    const struct vs_topic *topics = vs_topics(&count);
    vs_outf("%s", fish_head);
    for (int i = 0; i < count; i++)
        fish_topic(&topics[i]);
    vs_outf("complete -c vesta -n '__vesta_is help; and __vesta_has 2' -a '");
    for (size_t i = 0; vs_command_at(i); i++)
        vs_outf("%s%s", i ? " " : "", vs_command_at(i)->name);
    vs_outf("'\n");
}
