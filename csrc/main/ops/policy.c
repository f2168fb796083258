/* policy.c -- `vesta policy check|run|test`: policies tried out before a server judges by them.  Knows their functions
 * and no Lua. */
#include "main/cli.h"
#include "base/array.h"
#include "base/nearest.h"
#include "policy/trial/trial.h"
#include "command/options.h"
#include "os/clock.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX 1000

struct asked {
    const char *options; /* Lua text of ctx.options */
    const char *names;   /* of variables, with commas */
    char *env;           /* their table */
    int json;
};

/* A policy's own fault is no wrong call: the exit code is 1, whatever the error's code. */
static int say_error(const struct vesta_error *err) {
    vs_say("%s", err->text);
    return VS_FAILED;
}

/* "REGION,ROLE" */
static int read_env(struct asked *asked) {
    const char *name[VS_POLICY_ENV_MAX];
    struct vesta_error err;
    int count = 0, rc = VS_DONE;
    if (!asked->names) return VS_DONE;
    char *names = strdup(asked->names), *rest = names;
    for (char *at; names && (at = strsep(&rest, ","));)
        if (count < VS_POLICY_ENV_MAX)
            name[count++] = at;
        else
            rc = vs_usage("--env names more than %d variables", VS_POLICY_ENV_MAX);
    if (!names || (rc == VS_DONE && vs_policy_env(name, count, &asked->env, &err) != VESTA_OK))
        rc = names ? vs_usage("--env: %s", err.text) : VS_FAILED;
    free(names);
    return rc;
}

static int read_text(const struct asked *asked, const char *name, struct vs_policy_text *text,
                     struct vesta_error *err) {
    int rc = vs_policy_read(name, asked->options, text, err);
    if (rc != VESTA_OK) return rc;
    if ((rc = vs_policy_grant(text, asked->env, err)) != VESTA_OK) vs_policy_text_free(text);
    return rc;
}

/* What a policy says while it is tried by hand is for who tries it. */
static void hear(void *self, int policy, const char *said) {
    (void)policy;
    vs_say("%s says: %s", (const char *)self, said);
}

static int load(const struct asked *asked, const char *name, struct vs_vm **vm, int *policy) {
    struct vesta_error err;
    struct vs_policy_text text = {0};
    if (vs_vm_open(NULL, vm, &err) != VESTA_OK) return say_error(&err);
    vs_vm_listen(*vm, hear, (void *)name);
    int rc = read_text(asked, name, &text, &err);
    if (rc == VESTA_OK) rc = vs_policy_load_text(*vm, &text, policy, &err);
    vs_policy_text_free(&text);
    if (rc == VESTA_OK) return VS_DONE;
    vs_vm_close(*vm);
    return say_error(&err);
}

/* ------------------------------------------------------------------ what a function is told */

struct ctx {
    struct vs_ctx field[VS_CTX_MAX];
    size_t count;
    struct vs_records rows;
};

static int read_rows(struct ctx *ctx, struct vs_ctx *field, const char *path) {
    struct vesta_error err;
    vs_records_free(&ctx->rows);
    if (vs_records_read(path, &ctx->rows, &err) != VESTA_OK) return say_error(&err);
    field->records = ctx->rows.record;
    field->peers = ctx->rows.peer;
    field->count = ctx->rows.count;
    return VS_DONE;
}

static int unknown_field(const char *hook, const struct ctx *ctx, const char *given, size_t length) {
    const char *names[VS_CTX_MAX + 1] = {0};
    char word[64];
    for (size_t i = 0; i < ctx->count; i++)
        names[i] = ctx->field[i].name;
    snprintf(word, sizeof word, "%.*s", (int)length, given);
    const char *near = vs_nearest(word, names);
    if (near) return vs_usage("%s is given no %s; did you mean %s?", hook, vs_shown(given, length), near);
    return vs_usage("%s is given no %s; docs/policies.md lists what it is given", hook, vs_shown(given, length));
}

/* "back_ms=3000" */
static int set_field(enum vs_hook hook, struct ctx *ctx, const char *given) {
    const char *value = strchr(given, '=');
    if (!value) return vs_usage("a function's input is given as name=value, not as %s", vs_shown_text(given));
    size_t length = (size_t)(value++ - given);
    struct vs_ctx *field = vs_ctx_find(ctx->field, ctx->count, given, length);
    if (!field) return unknown_field(vs_hook_name(hook), ctx, given, length);
    if (field->kind == VS_CTX_RECORDS || field->kind == VS_CTX_PEERS) return read_rows(ctx, field, value);
    if (vs_ctx_read(field, value)) return VS_DONE;
    if (field->kind != VS_CTX_RANGE)
        return vs_usage("%s must be a whole number, not %s", field->name, vs_shown_text(value));
    return vs_usage("%s must be two whole numbers such as 0-923, not %s", field->name, vs_shown_text(value));
}

static int ask(struct vs_vm *vm, int policy, enum vs_hook hook, const struct ctx *ctx, struct vs_verdict *verdict) {
    struct vesta_error err;
    const struct vs_hook_input input = {hook, ctx->field, ctx->count};
    enum vs_call_result result = vs_policy_call(vm, policy, &input, verdict, &err);
    if (result == VS_CALL_OK) return VS_DONE;
    vs_say("%s failed (%s): %s", vs_hook_name(hook), vs_call_result_name(result), err.text);
    return VS_FAILED;
}

/* ------------------------------------------------------------------ check */

static void print_text_json(const char *name, const char *text) {
    if (!*text) return;
    vs_outf(",\"%s\":", name);
    vs_out_json(text);
}

static void print_words(const struct vs_policy_option *option, int json) {
    for (int i = 0; i < option->words; i++) {
        vs_outf(i == 0 ? "" : json ? "," : " or ");
        json ? vs_out_json(option->word[i]) : vs_outf("\"%s\"", option->word[i]);
    }
}

static void print_option_json(const struct vs_policy_option *option) {
    static const char *const kinds[] = {
        [VS_OPTION_NUMBER] = "number", [VS_OPTION_WORD] = "word", [VS_OPTION_LIST] = "list"};
    vs_outf("{\"name\":");
    vs_out_json(option->name);
    vs_outf(",\"kind\":\"%s\",\"needed\":%s", kinds[option->kind], option->needed ? "true" : "false");
    if (option->kind == VS_OPTION_NUMBER) {
        if (option->has_default) vs_outf(",\"default\":%" PRId64, option->default_number);
        vs_outf(",\"least\":%" PRId64 ",\"most\":%" PRId64, option->least, option->most);
    } else if (option->kind == VS_OPTION_WORD) {
        print_text_json("default", option->default_word);
        vs_outf(",\"words\":[");
        print_words(option, true);
        vs_outf("]");
    }
    print_text_json("unit", option->unit);
    print_text_json("about", option->about);
    vs_outf("}");
}

/* "  borrow_ms_max: 1000 ms unless given, from 0 to 86400000; how far ahead of the clock ids may go" */
static void print_option(const struct vs_policy_option *option) {
    const char *gap = *option->unit ? " " : "";
    vs_outf("  %s: ", option->name);
    if (option->has_default && option->kind == VS_OPTION_NUMBER)
        vs_outf("%" PRId64 "%s%s unless given, ", option->default_number, gap, option->unit);
    else if (option->has_default)
        vs_outf("\"%s\" unless given, ", option->default_word);
    else if (option->needed)
        vs_outf("needed, ");
    if (option->kind == VS_OPTION_NUMBER)
        vs_outf("from %" PRId64 " to %" PRId64 "%s%s", option->least, option->most, option->has_default ? "" : gap,
                option->has_default ? "" : option->unit);
    else if (option->kind == VS_OPTION_LIST)
        vs_outf("a list");
    else
        print_words(option, false);
    vs_outf("%s%s\n", *option->about ? "; " : "", option->about);
}

/* A count of -1: it declares none, and takes whatever it is given. */
static void print_options(const struct vs_policy_option *option, int count, int json) {
    if (json) vs_outf(count < 0 ? ",\"options\":null" : ",\"options\":[");
    for (int i = 0; i < count; i++) {
        if (json && i > 0) vs_outf(",");
        json ? print_option_json(&option[i]) : print_option(&option[i]);
    }
    if (json && count >= 0) vs_outf("]");
}

static void print_functions(const char *name, const struct vs_vm *vm, int policy, int json) {
    int count = 0;
    if (json) vs_outf("{\"policy\":");
    if (json) vs_out_json(name);
    vs_outf(json ? ",\"functions\":[" : "%s: ", name);
    for (int hook = 0; hook < VS_HOOKS; hook++)
        if (vs_policy_has(vm, policy, (enum vs_hook)hook))
            vs_outf(json ? "%s\"%s\"" : "%s%s", count++ ? (json ? "," : ", ") : "", vs_hook_name((enum vs_hook)hook));
    vs_outf(json ? "]" : "%s\n", count ? "" : "no functions, so the fixed rules hold in every case");
}

static int print_policy(const char *name, struct vs_vm *vm, int policy, int json) {
    static struct vs_policy_option option[VS_POLICY_OPTIONS_MAX];
    struct vesta_error err;
    int count;
    if (vs_policy_options(vm, policy, option, &count, &err) != VESTA_OK) return say_error(&err);
    print_functions(name, vm, policy, json);
    print_options(option, count, json);
    if (json) vs_outf("}\n");
    return VS_DONE;
}

/* As a server does that loads it: a function that fails when it is needed is found now. */
static int check_text(const char *name, const struct vs_policy_text *text, int json) {
    struct vs_vm *vm;
    struct vesta_error err;
    int policy, done = VS_FAILED;
    if (vs_policy_try(text, "default", vs_now_ms(), &err) != VESTA_OK || vs_vm_open(NULL, &vm, &err) != VESTA_OK)
        return say_error(&err);
    if (vs_policy_load_text(vm, text, &policy, &err) == VESTA_OK)
        done = print_policy(name, vm, policy, json);
    else
        say_error(&err);
    vs_vm_close(vm);
    return done;
}

static int check(const struct asked *asked, int count, char **names) {
    int worst = VS_DONE;
    if (count == 0) return vs_usage("check needs at least one FILE or NAME");
    for (int i = 0; i < count; i++) {
        struct vs_policy_text text = {0};
        struct vesta_error err;
        int done = read_text(asked, names[i], &text, &err) == VESTA_OK ? check_text(names[i], &text, asked->json)
                                                                       : say_error(&err);
        vs_policy_text_free(&text);
        if (done != VS_DONE) worst = VS_FAILED;
    }
    return worst;
}

/* ------------------------------------------------------------------ run */

static void print_verdict(enum vs_hook hook, const struct vs_verdict *verdict, int64_t took_us) {
    if (verdict->kind == VS_VERDICT_WORKER)
        vs_outf("%" PRIu64, verdict->worker);
    else
        vs_outf("%s", verdict->kind == VS_VERDICT_NOTHING ? "no worker" : vs_verdict_name(verdict->kind));
    if (verdict->amount_ms >= 0) vs_outf(" %" PRId64 " ms", verdict->amount_ms);
    if (*verdict->reason) vs_outf(": %s", verdict->reason);
    vs_outf("\n(%s answered within %" PRId64 " us)\n", vs_hook_name(hook), took_us);
}

static void print_verdict_json(enum vs_hook hook, const struct vs_verdict *verdict, int64_t took_us) {
    vs_outf("{\"function\":\"%s\",\"verdict\":\"%s\"", vs_hook_name(hook), vs_verdict_name(verdict->kind));
    if (verdict->kind == VS_VERDICT_WORKER) vs_outf(",\"worker\":%" PRIu64, verdict->worker);
    if (verdict->amount_ms >= 0) vs_outf(",\"amount_ms\":%" PRId64, verdict->amount_ms);
    if (*verdict->reason) vs_outf(",\"reason\":");
    if (*verdict->reason) vs_out_json(verdict->reason);
    vs_outf(",\"took_us\":%" PRId64 "}\n", took_us);
}

static int call(const struct asked *asked, struct vs_vm *vm, int policy, enum vs_hook hook, const struct ctx *ctx) {
    const struct vesta_clock *clock = vs_clock_system();
    struct vs_verdict verdict;
    int64_t from_us = clock->boot_us(clock->self);
    int rc = ask(vm, policy, hook, ctx, &verdict);
    int64_t took_us = clock->boot_us(clock->self) - from_us + 1;
    if (rc == VS_DONE) (asked->json ? print_verdict_json : print_verdict)(hook, &verdict, took_us);
    return rc;
}

static int unknown_hook(const char *given) {
    const char *names[VS_HOOKS + 1] = {0};
    char all[160] = "";
    for (int hook = 0; hook < VS_HOOKS; hook++) {
        names[hook] = vs_hook_name((enum vs_hook)hook);
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", hook ? ", " : "", names[hook]);
    }
    const char *near = vs_nearest(given, names);
    if (near) return vs_usage("a policy has no function %s; did you mean %s?", vs_shown_text(given), near);
    return vs_usage("a policy has no function %s; it may have %s", vs_shown_text(given), all);
}

static int run(const struct asked *asked, int count, char **operands) {
    struct ctx ctx = {.count = 0};
    struct vs_vm *vm = NULL;
    int policy, rc = VS_DONE;
    if (count < 2) return vs_usage("run needs a function and a FILE or NAME: run on_clock_back borrow back_ms=3000");
    enum vs_hook hook = vs_hook_named(operands[0]);
    if (hook == VS_HOOKS) return unknown_hook(operands[0]);
    ctx.count = vs_ctx_fill(ctx.field, hook, vs_now_ms());
    for (int i = 2; i < count && rc == VS_DONE; i++)
        rc = set_field(hook, &ctx, operands[i]);
    if (rc == VS_DONE && (rc = load(asked, operands[1], &vm, &policy)) == VS_DONE) {
        if (vs_policy_has(vm, policy, hook)) {
            rc = call(asked, vm, policy, hook, &ctx);
        } else {
            vs_say("%s has no %s: the fixed rules hold then", operands[1], operands[0]);
            rc = VS_FAILED;
        }
        vs_vm_close(vm);
    }
    vs_records_free(&ctx.rows);
    return rc;
}

/* ------------------------------------------------------------------ test */

static int is_spec(const struct dirent *entry) {
    static const char end[] = "_spec.lua";
    size_t length = strlen(entry->d_name);
    return length > strlen(end) && strcmp(entry->d_name + length - strlen(end), end) == 0;
}

struct files {
    char *path[FILES_MAX];
    int count;
};

static int add_file(struct files *files, const char *folder, const char *name) {
    if (files->count == FILES_MAX) return vs_usage("more than %d spec files", FILES_MAX);
    char **path = &files->path[files->count];
    if (asprintf(path, "%s%s%s", folder, *folder ? "/" : "", name) < 0) return VS_FAILED;
    files->count++;
    return VS_DONE;
}

static int add_folder(struct files *files, const char *folder) {
    struct dirent **entry;
    int rc = VS_DONE, count = scandir(folder, &entry, is_spec, alphasort);
    if (count < 0) {
        vs_say("cannot list %s: %s", vs_shown_text(folder), strerror(errno));
        return VS_FAILED;
    }
    for (int i = 0; i < count; i++) {
        if (rc == VS_DONE) rc = add_file(files, folder, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    return rc;
}

static int add(struct files *files, const char *operand) {
    struct stat st;
    if (stat(operand, &st) != 0) {
        vs_say("cannot open %s: %s", vs_shown_text(operand), strerror(errno));
        return VS_FAILED;
    }
    if (S_ISDIR(st.st_mode)) return add_folder(files, operand);
    if (S_ISREG(st.st_mode)) return add_file(files, "", operand);
    vs_say("%s is neither a file nor a folder", vs_shown_text(operand)); /* a pipe would be waited for */
    return VS_FAILED;
}

static int run_files(const struct files *files) {
    struct vesta_error err;
    struct vs_trial trial = {(const char *const *)files->path, files->count, vs_out_write, 0, 0};
    if (vs_trial_run(&trial, &err) != VESTA_OK) return say_error(&err);
    vs_outf("%d passed, %d failed\n", trial.passed, trial.failed);
    if (trial.passed + trial.failed > 0) return trial.failed ? VS_FAILED : VS_DONE;
    vs_say("no tests were found: write them with describe and it, in a file, or in a folder's files that end in "
           "_spec.lua");
    return VS_FAILED;
}

static int test(int count, char **operands) {
    struct files files = {.count = 0};
    int rc = count ? VS_DONE : vs_usage("test needs at least one FILE or FOLDER of specs");
    for (int i = 0; i < count && rc == VS_DONE; i++)
        rc = add(&files, operands[i]);
    if (rc == VS_DONE) rc = run_files(&files);
    for (int i = 0; i < files.count; i++)
        free(files.path[i]);
    return rc;
}

/* ------------------------------------------------------------------ the command */

static int run_policy(int argc, char **argv) {
    static const char *const subcommands[] = {"check", "run", "test", NULL};
    struct asked asked = {.options = NULL};
    const struct vs_option table[] = {
        VS_TEXT("options", &asked.options, "'{...}'", "the policy's options, as Lua: '{ borrow_ms_max = 500 }'"),
        VS_TEXT("env", &asked.names, "NAME,...", "variables of the environment that it may read (check and run)"),
        VS_SWITCH("json", &asked.json, "print one JSON object per line (check and run)"),
        {0},
    };
    int rc = vs_options(table, &argc, argv);
    if (rc != VS_GO) return rc;
    if (argc == 0) return vs_usage("the subcommand is missing: check, run or test");
    if (strcmp(argv[0], "test") == 0) {
        if (asked.options || asked.names || asked.json)
            return vs_usage("test takes no options: the specs give each policy its own");
        return test(argc - 1, argv + 1);
    }
    bool is_check = strcmp(argv[0], "check") == 0;
    if (is_check || strcmp(argv[0], "run") == 0) {
        if ((rc = read_env(&asked)) == VS_DONE) rc = (is_check ? check : run)(&asked, argc - 1, argv + 1);
        free(asked.env);
        return rc;
    }
    const char *near = vs_nearest(argv[0], subcommands);
    if (near) return vs_usage("there is no subcommand %s; did you mean %s?", vs_shown_text(argv[0]), near);
    return vs_usage("there is no subcommand %s; there are check, run and test", vs_shown_text(argv[0]));
}

const struct vs_command vs_policy_command = {
    "policy", run_policy, "try out the Lua policies that judge pauses",
    "policy check NAME|FILE... [OPTION...]\n       vesta policy run FUNCTION NAME|FILE [NAME=VALUE...] [OPTION...]\n"
    "       vesta policy test FILE|FOLDER...",
    "A policy is a Lua file with functions that say what to do when the clock goes back, when ids run out,\n"
    "and the like: docs/policies.md.  Each subcommand runs it as a server does, within the same limits.\n"
    "\n"
    "  check NAME|FILE...     whether it loads, and which functions it has\n"
    "  run FUNCTION NAME|FILE [NAME=VALUE...]\n"
    "                         what a function answers when given these values\n"
    "  test FILE|FOLDER...    specs (describe, it, assert), which require\n"
    "                         \"vesta.testing\"\n"
    "\n"
    "  $ vesta policy check borrow ./mine.lua\n"
    "  borrow: on_clock_back, on_exhausted\n"
    "  ./mine.lua: on_clock_back\n"
    "\n"
    "  $ vesta policy run on_clock_back wait back_ms=3000 \\\n"
    "    --options '{ wait_ms_max = 1000 }'\n"
    "  refuse: the clock is back by 3000 ms, and the longest wait is 1000\n"
    "  (on_clock_back answered within 41 us)\n"
    "\n"
    "  $ vesta policy test spec/policy\n"
    "  ok - borrow goes on, up to its bound, however far the clock is back\n"
    "  ...\n"
    "  18 passed, 0 failed\n"};
