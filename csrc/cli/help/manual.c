/* manual.c -- a page of the manual, in roff's man macros, of what --help prints.  Knows no command. */
#include "cli/cli.h"
#include "cli/help/topic.h"

#include <string.h>

/* ------------------------------------------------------------------ text in roff */

/* What roff would print as another character, in text that is to be typed. */
static const char *typed(char c) {
    switch (c) {
    case '\\': return "\\e";
    case '-': return "\\-";
    case '\'': return "\\(aq";
    case '`': return "\\(ga";
    case '^': return "\\(ha";
    case '~': return "\\(ti";
    case '"': return "\\(dq";
    default: return NULL;
    }
}

/* A dot or an apostrophe in front would be an order to roff. */
static void print_typed(const char *text, size_t length) {
    if (length && text[0] == '.') vs_outf("\\&");
    for (size_t i = 0; i < length; i++) {
        const char *as = typed(text[i]);
        as ? vs_outf("%s", as) : vs_outf("%c", text[i]);
    }
}

/* Prose, in which `...` and --option are to be typed. */
static void print_prose(const char *text, size_t length) {
    bool bold = false;
    if (length && strchr(".'", text[0])) vs_outf("\\&");
    for (size_t i = 0; i < length; i++) {
        bool is_option = text[i] == '-' && (bold || i == 0 || text[i - 1] == ' ' || text[i - 1] == '-');
        if (text[i] == '`')
            vs_outf("%s", (bold = !bold) ? "\\fB" : "\\fR");
        else if (text[i] == '\\' || is_option)
            print_typed(text + i, 1);
        else
            vs_outf("%c", text[i]);
    }
    vs_outf("%s", bold ? "\\fR" : "");
}

static size_t line_length(const char *line) {
    return strcspn(line, "\n");
}

/* From one empty line to the next as it stands. */
static const char *print_example(const char *text) {
    vs_outf(".nf\n.RS 2\n");
    while (*text && *text != '\n') {
        size_t length = line_length(text), indent = strspn(text, " ") < 2 ? strspn(text, " ") : 2;
        print_typed(text + indent, length - indent);
        vs_outf("\n");
        text += length + (text[length] == '\n');
    }
    vs_outf(".RE\n.fi\n");
    return text;
}

static const char *print_paragraph(const char *text) {
    while (*text && *text != '\n') {
        size_t length = line_length(text);
        print_prose(text, length);
        vs_outf("\n");
        text += length + (text[length] == '\n');
    }
    return text;
}

/* Paragraphs, and what is indented as it stands; the first that is typed at a prompt begins the examples. */
static void print_about(const char *text) {
    bool examples = false, first = true;
    vs_outf(".SH DESCRIPTION\n");
    while (*text) {
        if (!examples && strncmp(text, "  $ ", 4) == 0) {
            examples = first = true;
            vs_outf(".SH EXAMPLES\n");
        }
        if (!first) vs_outf(".PP\n");
        first = false;
        text = strncmp(text, "  ", 2) == 0 ? print_example(text) : print_paragraph(text);
        text += strspn(text, "\n");
    }
}

/* ------------------------------------------------------------------ the page of a command */

static void print_title(const char *name, const char *line) {
    vs_outf(".\\\" Made by `vesta help --man`.\n.TH \"");
    for (const char *c = name; *c; c++)
        vs_outf("%c", *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    vs_outf("\" 1 \"\" \"vesta %s\" \"vesta\"\n.SH NAME\n", VESTA_VERSION);
    print_typed(name, strlen(name));
    vs_outf(" \\- ");
    print_prose(line, strlen(line));
    vs_outf("\n");
}

static void print_usage(const char *usage) {
    vs_outf(".SH SYNOPSIS\n.nf\n");
    for (const char *line = usage; *line;) {
        line += strspn(line, " ");
        if (strncmp(line, "vesta ", 6) == 0) line += 6;
        size_t length = line_length(line), name = strcspn(line, " \n");
        vs_outf("\\fBvesta %.*s\\fR", (int)name, line);
        print_typed(line + name, length - name);
        vs_outf("\n");
        line += length + (line[length] == '\n');
    }
    vs_outf(".fi\n");
}

static void print_option(const struct vs_option *o) {
    vs_outf(".TP\n");
    if (o->letter) vs_outf("\\fB\\-%c\\fR, ", o->letter);
    vs_outf("\\fB\\-\\-");
    print_typed(o->name, strlen(o->name));
    vs_outf("\\fR");
    if (o->value) {
        vs_outf(" \\fI");
        print_typed(o->value, strlen(o->value));
        vs_outf("\\fR");
    }
    vs_outf("\n");
    print_prose(o->help, strlen(o->help));
    vs_outf("\n");
}

static void print_options(const struct vs_command *command) {
    int count;
    const struct vs_topic *topics = vs_topics(&count);
    vs_outf(".SH OPTIONS\n");
    for (int i = 0; i < count; i++) {
        if (topics[i].command != command || !topics[i].is_own) continue;
        if (topics[i].word[0]) vs_outf(".SS vesta %s %s\n", command->name, topics[i].word);
        for (int k = 0; k < topics[i].count; k++)
            print_option(&topics[i].options[k]);
    }
}

static void print_command(const struct vs_command *command) {
    char name[64] = "vesta-";
    strncat(name, command->name, sizeof name - strlen(name) - 1);
    print_title(name, command->line);
    print_usage(command->usage);
    print_options(command);
    print_about(command->about);
    vs_outf(".SH EXIT STATUS\n0 success, 1 failure, 2 usage error.\n.SH SEE ALSO\n.BR vesta (1)\n");
}

/* ------------------------------------------------------------------ the page of the program */

static void print_program(void) {
    print_title("vesta", "64-bit ids that never repeat, sort by time and can be read back");
    vs_outf(".SH SYNOPSIS\n.nf\n\\fBvesta\\fR \\fICOMMAND\\fR ...\n\\fBvesta help\\fR [\\fICOMMAND\\fR]\n"
            "\\fBvesta \\-\\-version\\fR\n.fi\n"
            ".SH DESCRIPTION\nEach command has a page of its own, which `vesta help` prints as well.\n"
            ".SH COMMANDS\n");
    for (size_t i = 0; vs_command_at(i); i++) {
        vs_outf(".TP\n.BR vesta\\-%s (1)\n", vs_command_at(i)->name);
        print_prose(vs_command_at(i)->line, strlen(vs_command_at(i)->line));
        vs_outf("\n");
    }
    vs_outf(".SH EXIT STATUS\n0 success, 1 failure (or a duplicate was found), 2 usage error.\n"
            ".SH ENVIRONMENT\n.TP\n.B VESTA_STATE\nthe folder of generator files and of the store that needs none, "
            "instead of /var/lib/vesta or, where that is not writable, ~/.local/state/vesta\n"
            ".PP\nEach key of a config has a variable as well; \\fBvesta check \\-\\-keys\\fR lists them.\n"
            ".SH FILES\n.TP\n.I /etc/vesta/vesta.lua\nthe config of the service, see vesta\\-check(1)\n"
            ".TP\n.I /var/lib/vesta\nthe state of the service\n");
}

void vs_manual(const struct vs_command *command) {
    command ? print_command(command) : print_program();
}
