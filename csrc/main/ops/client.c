/* client.c -- `vesta client`: adds, changes, lists and removes the lines of a file of clients.  A token is printed once,
 * when it is created; the file has its hash. */
#include "access/file.h"
#include "main/cli.h"
#include "command/options.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_DEFAULT "/etc/vesta/clients"
#define VS_FILE_OPTION(into) VS_TEXT("file", into, "FILE", "the file of clients (default: " FILE_DEFAULT ")")

struct asked {
    const char *file, *name, *names, *calls, *n, *rate, *requests, *weight;
    int by_certificate, drop_old;
    bool is_new; /* a client that is not there; else one that is */
    bool gets_secret;
    char drawn[VS_SECRET_NEW_MAX]; /* the token; "": none was created */
    struct vs_secret secret;
};

/* ------------------------------------------------------------------ changing */

static const char *file_of(const struct asked *asked) {
    return asked->file ? asked->file : FILE_DEFAULT;
}

struct words {
    char text[VS_ACCOUNT_LINE_MAX];
    size_t length;
};

/* "off": the limit is taken away. */
static void put_word(struct words *line, const char *key, const char *value) {
    if (!value || strcmp(value, "off") == 0) return;
    size_t room = sizeof line->text - line->length;
    line->length += (size_t)snprintf(line->text + line->length, room, " %s=%s", key, value);
    if (line->length >= sizeof line->text) line->length = sizeof line->text - 1; /* what was cut off is no word */
}

static const char *digits_of(uint64_t n, bool is_said, char buf[32]) {
    snprintf(buf, 32, "%" PRIu64, n);
    return is_said ? buf : NULL;
}

/* What is not said stays; the words are read as the file's are. */
static int take_words(const struct asked *asked, struct vs_account *will, struct vesta_error *err) {
    char calls[VS_ACCOUNT_NAME_MAX], digits[4][32];
    struct words line = {.text = VS_ACCOUNT_DEFAULT, .length = sizeof VS_ACCOUNT_DEFAULT - 1};
    struct vs_account read;
    put_word(&line, "names", asked->names ? asked->names : will->names);
    put_word(&line, "calls", asked->calls ? asked->calls : vs_classes_write(will->calls, calls));
    put_word(&line, "n", asked->n ? asked->n : digits_of(will->n_max, will->n_max != UINT64_MAX, digits[0]));
    put_word(&line, "rate", asked->rate ? asked->rate : digits_of(will->rate, will->rate, digits[1]));
    put_word(&line, "requests", asked->requests ? asked->requests : digits_of(will->requests, will->requests, digits[2]));
    put_word(&line, "weight", asked->weight ? asked->weight : digits_of(will->weight, will->weight > 1, digits[3]));
    if (line.length >= sizeof line.text - 1) return vs_fail(err, VESTA_EOPTION, "what is asked for is too long");
    int rc = vs_account_parse((struct vs_slice){line.text, line.length}, &read, err);
    if (rc != VESTA_OK) return rc;
    memcpy(will->names, read.names, sizeof read.names);
    will->calls = read.calls;
    will->n_max = read.n_max;
    will->rate = read.rate, will->requests = read.requests, will->weight = read.weight;
    return VESTA_OK;
}

static int drop_older(const struct asked *asked, struct vs_account *will, struct vesta_error *err) {
    if (will->secret_count < 2)
        return vs_fail(err, VESTA_EOPTION, "client '%s' has %s, so there is no older one to drop", asked->name,
                       will->secret_count == 1 ? "one token" : "no token");
    will->secret_count = 1;
    return VESTA_OK;
}

/* The new token comes first, and the newest of the others stays valid.  It replaces what is no token. */
static int take_secret(const struct asked *asked, struct vs_account *will, struct vesta_error *err) {
    if (asked->drop_old) return drop_older(asked, will, err);
    if (asked->by_certificate) will->by_certificate = true;
    if (!asked->gets_secret) return VESTA_OK;
    will->secret[1] = will->secret[0];
    will->secret[0] = asked->secret;
    if (will->secret_count < VS_ACCOUNT_SECRETS_MAX) will->secret_count++;
    will->by_certificate = will->has_chosen = false;
    return VESTA_OK;
}

/* A line that is written anew has no old hash: its client must get a token with it. */
static int check_chosen(const struct asked *asked, const struct vs_account *will, struct vesta_error *err) {
    if (!will->has_chosen) return VESTA_OK;
    return vs_fail(err, VESTA_EOPTION,
                   "client '%s' has a secret that a person chose, and such secrets are no longer accepted: replace it "
                   "first by `vesta client rotate %s`",
                   asked->name, asked->name);
}

static int change(void *self, const struct vs_account *was, struct vs_account *will, bool *goes,
                  struct vesta_error *err) {
    struct asked *asked = self;
    *goes = false;
    if (asked->is_new && was)
        return vs_fail(err, VESTA_EOPTION,
                       "client '%s' exists already: `vesta client rotate` creates another token for it, and `set` "
                       "changes its rights",
                       asked->name);
    if (!asked->is_new && !was) return vs_fail(err, VESTA_EOPTION, "there is no client '%s'", asked->name);
    if (was) *will = *was;
    snprintf(will->name, sizeof will->name, "%s", asked->name);
    int rc = take_words(asked, will, err);
    if (rc == VESTA_OK) rc = take_secret(asked, will, err);
    return rc == VESTA_OK ? check_chosen(asked, will, err) : rc;
}

static int take_away(void *self, const struct vs_account *was, struct vs_account *will, bool *goes,
                     struct vesta_error *err) {
    const struct asked *asked = self;
    (void)will;
    *goes = true;
    return was ? VESTA_OK : vs_fail(err, VESTA_EOPTION, "there is no client '%s'", asked->name);
}

static int write_down(struct asked *asked, vs_account_change *how) {
    struct vesta_error err;
    if (vs_accounts_change(file_of(asked), asked->name, how, asked, &err) != VESTA_OK)
        return vs_say("%s", err.text), err.code == VESTA_EOPTION ? VS_USAGE : VS_FAILED;
    return VS_DONE;
}

/* ------------------------------------------------------------------ secrets */

static int make_secret(struct asked *asked) {
    struct vesta_error err;
    if (vs_secret_draw(asked->drawn, vs_now_ms(), &asked->secret, &err) != VESTA_OK) return vs_report(&err);
    asked->gets_secret = true;
    return VS_GO;
}

/* Prints the token alone on stdout, so that a script can store it. */
static void show_secret(struct asked *asked, const char *what) {
    if (*asked->drawn) {
        vs_outf("%s\n", asked->drawn);
        vs_say("%s: stdout has the token, which is printed only this once; send HUP to a running server", what);
        explicit_bzero(asked->drawn, sizeof asked->drawn);
    } else {
        vs_say("%s; send HUP to a running server", what);
    }
}

static int read_name(struct asked *asked, int argc, char **argv, const char *word) {
    if (argc != 1) return vs_usage("give one name: vesta client %s NAME", word);
    asked->name = argv[0];
    struct vs_slice name = {argv[0], strlen(argv[0])};
    if (vs_slice_is_name(name, VS_ACCOUNT_NAME_MAX - 1) && !strchr(argv[0], ':')) return VS_GO;
    return vs_usage("%s is not a client's name: 1 to %d of A-Z a-z 0-9 _ . - and no dot in front", vs_shown_text(argv[0]),
                    VS_ACCOUNT_NAME_MAX - 1);
}

/* ------------------------------------------------------------------ the words */

#define VS_RIGHTS_OPTIONS(asked)                                                                                       \
    VS_TEXT("names", &(asked)->names, "NAME,...", "namespaces and tags that it may ask; * stands for any letters"),    \
        VS_TEXT("calls", &(asked)->calls, "CLASS,...", "what it may do: give, block, read, make, operate"),            \
        VS_TEXT("n", &(asked)->n, "N", "the most ids of one request, or off"),                                         \
        VS_TEXT("rate", &(asked)->rate, "N", "ids a second, or off"),                                                  \
        VS_TEXT("requests", &(asked)->requests, "N", "requests a second, or off"),                                     \
        VS_TEXT("weight", &(asked)->weight, "N", "of its part, where ids are short (1 to 1000; default: 1)")

static int add(int argc, char **argv) {
    struct asked asked = {.is_new = true};
    const struct vs_option table[] = {
        VS_FILE_OPTION(&asked.file), VS_RIGHTS_OPTIONS(&asked),
        VS_SWITCH("certificate", &asked.by_certificate, "create no token: a client certificate alone proves this client"), {0}};
    vs_say_as("client add");
    int rc = vs_options(table, &argc, argv);
    if (rc == VS_GO) rc = read_name(&asked, argc, argv, "add");
    if (rc != VS_GO) return rc;
    if (!asked.names) asked.names = "*";
    if (!asked.calls) asked.calls = "give,read";
    bool is_default = strcmp(asked.name, VS_ACCOUNT_DEFAULT) == 0;
    if (is_default && asked.by_certificate) return vs_usage("no certificate can prove `default`: omit --certificate");
    if (!is_default && !asked.by_certificate) rc = make_secret(&asked);
    if (rc == VS_GO) rc = write_down(&asked, change);
    if (rc == VS_DONE)
        show_secret(&asked, asked.gets_secret    ? "added"
                            : asked.by_certificate ? "added; only a client certificate proves it"
                                                   : "added, for clients without credentials");
    return rc;
}

static int set(int argc, char **argv) {
    struct asked asked = {.is_new = false};
    const struct vs_option table[] = {VS_FILE_OPTION(&asked.file), VS_RIGHTS_OPTIONS(&asked), {0}};
    vs_say_as("client set");
    int rc = vs_options(table, &argc, argv);
    if (rc == VS_GO) rc = read_name(&asked, argc, argv, "set");
    if (rc != VS_GO) return rc;
    if (!asked.names && !asked.calls && !asked.n && !asked.rate && !asked.requests && !asked.weight)
        return vs_usage("nothing to set: --names, --calls, --n, --rate, --requests or --weight");
    if ((rc = write_down(&asked, change)) == VS_DONE) show_secret(&asked, "set");
    return rc;
}

static int rotate(int argc, char **argv) {
    struct asked asked = {.is_new = false};
    const struct vs_option table[] = {
        VS_FILE_OPTION(&asked.file),
        VS_SWITCH("drop-old", &asked.drop_old, "create no token: end the older of the two that are valid"), {0}};
    vs_say_as("client rotate");
    int rc = vs_options(table, &argc, argv);
    if (rc == VS_GO) rc = read_name(&asked, argc, argv, "rotate");
    if (rc != VS_GO) return rc;
    if (!asked.drop_old) rc = make_secret(&asked);
    if (rc == VS_GO) rc = write_down(&asked, change);
    if (rc == VS_DONE) show_secret(&asked, asked.drop_old ? "the older token is no longer valid" : "a new token; the one before stays valid");
    return rc;
}

static int take_out(int argc, char **argv) {
    struct asked asked = {.is_new = false};
    const struct vs_option table[] = {VS_FILE_OPTION(&asked.file), {0}};
    vs_say_as("client remove");
    int rc = vs_options(table, &argc, argv);
    if (rc == VS_GO) rc = read_name(&asked, argc, argv, "remove");
    if (rc != VS_GO) return rc;
    if ((rc = write_down(&asked, take_away)) == VS_DONE) show_secret(&asked, "removed");
    return rc;
}

/* ------------------------------------------------------------------ listing */

static const struct vs_column columns[] = {{"CLIENT", -16, -12}, {"NAMES", -24, -14}, {"CALLS", -24, -14},
                                           {"N", 7, 7},          {"SECRETS", -30, -16}, {NULL, 0, 0}};

static void print_row(const struct vs_account *a) {
    char calls[VS_ACCOUNT_NAME_MAX], n[VS_GROUPED_MAX] = "-", ago[VS_AGO_MAX];
    char ages[160] = "none";
    if (a->n_max != UINT64_MAX) vs_grouped(a->n_max, n);
    if (a->by_certificate) strcpy(ages, "certificate only");
    if (a->has_chosen) strcpy(ages, "chosen: rejected, rotate it");
    for (int i = 0, used = 0; i < a->secret_count && !a->has_chosen; i++)
        used += snprintf(ages + used, sizeof ages - (size_t)used, "%s%s", i ? ", " : "",
                         vs_ago(a->secret[i].made_ms, vs_now_ms(), ago));
    vs_table_row(columns, (struct vs_cell[]){
                              {a->name, NULL}, {a->names, NULL}, {vs_classes_write(a->calls, calls), NULL}, {n, NULL}, {ages, NULL}});
}

static void print_json(const struct vs_account *a) {
    char calls[VS_ACCOUNT_NAME_MAX], made[VESTA_ISO_MAX];
    vs_outf("{\"client\":\"%s\",\"names\":\"%s\",\"calls\":\"%s\"", a->name, a->names, vs_classes_write(a->calls, calls));
    if (a->n_max != UINT64_MAX) vs_outf(",\"n\":%" PRIu64, a->n_max);
    if (a->rate) vs_outf(",\"rate\":%" PRIu64, a->rate);
    if (a->requests) vs_outf(",\"requests\":%" PRIu64, a->requests);
    vs_outf(",\"weight\":%u", a->weight);
    if (a->by_certificate) vs_outf(",\"certificate\":true");
    if (a->has_chosen) vs_outf(",\"chosen\":true");
    vs_outf(",\"secrets\":[");
    for (int i = 0; i < a->secret_count; i++)
        vs_outf("%s{\"kind\":\"random\",\"made\":\"%s\"}", i ? "," : "", vs_iso(a->secret[i].made_ms, made));
    vs_outf("]}\n");
}

static int list(int argc, char **argv) {
    struct asked asked = {.is_new = false};
    struct vs_accounts *accounts;
    struct vesta_error err;
    const char *others = NULL;
    int json = 0;
    const struct vs_option table[] = {
        VS_FILE_OPTION(&asked.file), VS_SWITCH("json", &json, "print a JSON object for each client"), {0}};
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc > 0 && strcmp(argv[0], "list") != 0)
        return vs_usage("unexpected operand %s; there are `vesta client` add, set, list, rotate and remove",
                        vs_shown_text(argv[0]));
    if (vs_accounts_read_all(file_of(&asked), &accounts, &others, &err) != VESTA_OK)
        return vs_say("%s", err.text), VS_FAILED;
    if (others) vs_say("others may %s %s: chmod o= on it", others, vs_shown_text(file_of(&asked)));
    if (!json) vs_table_head(columns);
    for (int i = 0; i < accounts->count; i++)
        (json ? print_json : print_row)(&accounts->at[i]);
    vs_accounts_let(accounts);
    return VS_DONE;
}

static int run_client(int argc, char **argv) {
    static const struct vs_word words[] = {{"add", add}, {"set", set}, {"rotate", rotate}, {"remove", take_out}, {0}};
    int code;
    return vs_word_ran(words, argc, argv, &code) ? code : list(argc, argv);
}

const struct vs_command vs_client_command = {
    "client", run_client, "the clients of a server: names, tokens and rights",
    "client [list] [--json] [--file FILE]\n"
    "       vesta client add NAME [--names NAME,...] [--calls CLASS,...] [OPTION...]\n"
    "       vesta client set NAME [--names NAME,...] [--calls CLASS,...] [OPTION...]\n"
    "       vesta client rotate NAME [--drop-old] [OPTION...]\n"
    "       vesta client remove NAME [--file FILE]",
    "Manages the file of clients for `vesta serve --clients FILE`.  A client has namespaces and tags by\n"
    "pattern, classes of calls (give: ids one by one and in batches; block: ranges; read: what an id means,\n"
    "and metrics; make: ids by hand; operate: the admin routes) and a random token.  `add` and `rotate` print\n"
    "the token once, and the file stores its SHA-256.  Two tokens can be valid at once: run rotate, bring the\n"
    "new token to all hosts of the client, then run rotate --drop-old.  The line `default` is for clients\n"
    "without credentials.  If the file has no such line, they may do everything but operate from the server's\n"
    "own machine, and nothing from other machines.  Send HUP to a running server to apply your changes.\n"
    "\n"
    "  $ vesta client add orders --names 'orders*' --calls give,block --file clients\n"
    "  k3vw9bp2xr7mtd5nqhyac4gfs8ju6e2z\n"
    "\n"
    "  $ vesta client list --file clients\n"
    "  CLIENT        NAMES           CALLS                 N  SECRETS\n"
    "  orders        orders*         give,block            -  5 seconds ago\n"};
