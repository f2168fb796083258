/* policy.h -- policies: Lua files that judge.  A vm holds the policies of all namespaces, each in a Lua 5.4 state of
 * its own: none can see another, change what it sees, or eat its memory.
 *
 *   vm.c       a state: its allocator, the budget of a call, what happens when it is spent
 *   sandbox.c  what a policy can see: whitelisted libraries, no patterns, nothing that could escape the budget
 *   policy.c   loading a policy and checking its table
 *   declared.c what it declares of its options
 *   ctx.c      what its functions are told
 *   world.c    what they may ask of the world, and say to it: log, env, localtime
 *   call.c     calling its functions, reading verdicts
 *   rehearse.c calling them before they are put to work, in situations as they come
 *   shipped.c  the policies that come with vesta, as text (made from lua/vesta/policy at build time)
 *
 * Threads: one at a time for a vm. */
#ifndef VS_POLICY_H
#define VS_POLICY_H

#include "policy/policies.h"

#include <stdatomic.h>
#include <stddef.h>

struct vs_vm;
int vs_vm_open(const struct vs_vm_limits *limits, struct vs_vm **vm, struct vesta_error *err);
void vs_vm_close(struct vs_vm *vm);

/* Who listens to what the policies of a vm say with log(): called within a call of theirs, by its thread, and not
 * often: a line costs SAY_WORK instructions (world.c).  `said` is one line of calm text.  Without it nobody does. */
typedef void vs_heard_fn(void *self, int policy, const char *said);
void vs_vm_listen(struct vs_vm *vm, vs_heard_fn *heard, void *self);
#define VS_HEARD_MAX 512 /* bytes of one line, with its NUL; more is cut, and ends in "..." */

/* Loads a policy: a shipped one by its name ("wait"), else a file by its path (which has a '/' or ends in ".lua").
 * `options` is Lua text of a table ("{first=0,last=923}") or NULL; the policy gets it as ctx.options.
 * Errors: VESTA_ENAME: no such policy, with the names there are; VESTA_EOPTION: not a policy, with file and line;
 * VESTA_EIO; VESTA_ENOMEM.  A failed load leaves the vm as it was. */
int vs_policy_load(struct vs_vm *vm, const char *name, const char *options, int *policy, struct vesta_error *err);

/* As vs_policy_load, in two steps: a policy as text, so that what is put to work is what was tried, whatever became of
 * its file.  `chunk` names it in errors ("=stdin", "@rules.lua"); NULL: there is none. */
struct vs_policy_text {
    const char *chunk, *text;
    size_t length;
    const char *options, *name; /* name: as it was asked for; may be NULL */
    const char *env; /* Lua text of a table, of the variables that it may read: {REGION="eu",ROLE=false}, false where
                        there is none of that name; NULL: it may read none */
};
/* Own: free with vs_policy_text_free. */
int vs_policy_read(const char *name, const char *options, struct vs_policy_text *text, struct vesta_error *err);
int vs_policy_text_copy(const struct vs_policy_text *from, struct vs_policy_text *text, struct vesta_error *err);
void vs_policy_text_free(struct vs_policy_text *text);
/* Gives it an environment: the text of that table, which may be NULL. */
int vs_policy_grant(struct vs_policy_text *text, const char *env, struct vesta_error *err);
/* Such a text, of the process's environment.  Own: free.  Shape: each name as a program may set one.
 * Errors: VESTA_EOPTION: what is no variable's name; VESTA_ENOMEM. */
#define VS_POLICY_ENV_MAX 32
int vs_policy_env(const char *const *name, int count, char **env, struct vesta_error *err);
int vs_policy_load_text(struct vs_vm *vm, const struct vs_policy_text *text, int *policy, struct vesta_error *err);

/* The i-th policy that comes with vesta, by name; NULL behind the last. */
const char *vs_policy_shipped(int i);

/* Whether the numbers that it chooses follow from what a generator is, and so are as good as given by hand. */
bool vs_policy_is_fixed(const struct vs_vm *vm, int policy);

/* An option as a policy declares it.  Texts are fit for a line and for JSON; "" where there is none. */
#define VS_POLICY_OPTIONS_MAX 64 /* more are refused when it is loaded */
#define VS_OPTION_WORDS_MAX 16   /* more are allowed, and not shown */
enum vs_option_kind { VS_OPTION_NUMBER, VS_OPTION_WORD, VS_OPTION_LIST };
struct vs_policy_option {
    char name[64], unit[24], about[256]; /* about: what it means */
    enum vs_option_kind kind;
    bool needed, has_default;
    int64_t least, most, default_number; /* VS_OPTION_NUMBER */
    int words;                           /* VS_OPTION_WORD: one of so many */
    char word[VS_OPTION_WORDS_MAX][48], default_word[48];
};

/* The options that the policy declares, by name: option[0..*count) of VS_POLICY_OPTIONS_MAX; *count is -1 where it
 * declares nothing, and takes whatever it is given.  Errors: VESTA_ENOMEM, VESTA_EOPTION: its memory is used up. */
int vs_policy_options(struct vs_vm *vm, int policy, struct vs_policy_option *option, int *count,
                      struct vesta_error *err);

/* Whether the policy has that function. */
bool vs_policy_has(const struct vs_vm *vm, int policy, enum vs_hook hook);

/* "on_clock_back"; VS_HOOKS for a name that is none. */
const char *vs_hook_name(enum vs_hook hook);
enum vs_hook vs_hook_named(const char *name);
const char *vs_call_result_name(enum vs_call_result result); /* "ok", "error", "garbage", "time", ... */

/* What a call is told: ctx's fields, by name.  A moment is an integer, in Unix milliseconds. */
enum vs_ctx_kind { VS_CTX_INTEGER, VS_CTX_MOMENT, VS_CTX_TEXT, VS_CTX_RANGE, VS_CTX_RECORDS, VS_CTX_PEERS };

struct vs_ctx_record { /* one of ctx.records, as lua/vesta/hooks.lua has it: a number's record at the store */
    uint64_t worker, epoch;
    const char *holder, *identity;
    bool held, expired;
    int64_t until_ms, written_ms, seen_ms; /* unix milliseconds */
};

struct vs_ctx_peer { /* one of ctx.peers */
    uint64_t worker;
    int64_t seen_ms;
};

struct vs_ctx {
    const char *name;
    enum vs_ctx_kind kind;
    bool is_nil;
    int64_t integer, last; /* of a range: from integer to last */
    const char *text;      /* NULL: nil */
    const struct vs_ctx_record *records;
    const struct vs_ctx_peer *peers;
    size_t count; /* of records or peers */
};

static inline struct vs_ctx vs_ctx_integer(const char *name, int64_t value) {
    return (struct vs_ctx){.name = name, .kind = VS_CTX_INTEGER, .integer = value};
}

static inline struct vs_ctx vs_ctx_text(const char *name, const char *text) {
    return (struct vs_ctx){.name = name, .kind = VS_CTX_TEXT, .text = text};
}

/* The fields that a function is told, as lua/vesta/hooks.lua has them where a policy is tried; how many. */
#define VS_CTX_MAX 16
size_t vs_ctx_fill(struct vs_ctx ctx[VS_CTX_MAX], enum vs_hook hook, int64_t now_ms);
/* NULL: there is none of that name. */
struct vs_ctx *vs_ctx_find(struct vs_ctx *ctx, size_t count, const char *name, size_t length);
/* Sets a field by a text, "1000", "0-923" or "host-0", which it keeps; false: it is none of the field's kind. */
bool vs_ctx_read(struct vs_ctx *field, const char *text);
/* Whether these are fields that the function is told, each of its kind. */
bool vs_ctx_is_of(const struct vs_ctx *ctx, size_t count, enum vs_hook hook);
/* The kind of a field by its name, `other` where no function is told such a field. */
enum vs_ctx_kind vs_ctx_kind_of(const char *name, enum vs_ctx_kind other);

const char *vs_verdict_name(enum vs_verdict_kind kind);
const char *vs_verdict_name_of(enum vs_hook hook, enum vs_verdict_kind kind); /* NULL: it may not answer that */

#define VS_AMOUNT_MS_MAX (24 * 60 * 60 * 1000)

struct vs_verdict {
    enum vs_verdict_kind kind;
    uint64_t worker;   /* VS_VERDICT_WORKER */
    int64_t amount_ms; /* a number after "wait" (for how long) or "borrow" (how far ahead of the clock); -1: none */
    char reason[256];  /* a text after that, "" if none; whole UTF-8, without controls */
};

/* Which function is called, and with what of ctx (and ctx.options). */
struct vs_hook_input {
    enum vs_hook hook;
    const struct vs_ctx *ctx;
    size_t count;
};

/* Calls one of the policy's functions.  Anything but VS_CALL_OK: *verdict is untouched and err says what happened,
 * with file and line. The budget is the vm's, anew; a function that spends it cannot go on, whatever it catches. */
enum vs_call_result vs_policy_call(struct vs_vm *vm, int policy, const struct vs_hook_input *input,
                                   struct vs_verdict *verdict, struct vesta_error *err);

/* Loads the policy into a vm of its own and calls each of its functions in the situations of lua/vesta/hooks.lua.  Any
 * answer will do.  Nothing of it is kept: a policy may count its calls.
 * Errors: vs_policy_load's; VESTA_EOPTION: a function fails; with its name, the situation, file and line. */
int vs_policy_try(const struct vs_policy_text *text, const char *namespace_, int64_t now_ms, struct vesta_error *err);

#endif
