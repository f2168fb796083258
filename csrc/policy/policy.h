/* policy.h -- policies: Lua files that decide about worker ids and pauses.  Each has its own Lua 5.4 state, so that no
 * policy can see another one, change its data, or use up its memory.
 *
 *     engine.c       lua/vesta/engine.lua in that state: loads a policy's text, calls its functions
 *     call.c         ctx for a function, and the verdict that it returns
 *     policy.c       source texts of policies
 *     world.c        log and time zones for policies
 *     environment.c  the variables that they may read
 *
 * Threads: one at a time for a policy. */
#ifndef VS_POLICY_H
#define VS_POLICY_H

#include "policy/policies.h"

#include <stdatomic.h>
#include <stddef.h>

/* The source text of a policy.  It is kept, so that the text that was tried is put in force even if its file has
 * changed since.  `chunk` is its name in errors ("=stdin", "@rules.lua").  NULL: no policy. */
struct vs_policy_text {
    const char *chunk, *text;
    size_t length;
    const char *options, *name; /* name: as in the config or on the command line.  May be NULL */
    const char *env; /* the variables that it may read, as Lua text of a table: {REGION="eu",ROLE=false}, with false for
                        an unset variable.  NULL: it may read none */
};
/* Reads a policy: a shipped one by its name ("wait"), else a file by its path (which contains a '/' or ends in ".lua").
 * `options` is Lua text of a table ("{first=0,last=923}") or NULL.  The policy gets it as ctx.options.  Own: free with
 * vs_policy_text_free.  Errors: VESTA_ENAME: no such policy, with the known names.  VESTA_EIO.  VESTA_ENOMEM. */
int vs_policy_read(const char *name, const char *options, struct vs_policy_text *text, struct vesta_error *err);
int vs_policy_text_copy(const struct vs_policy_text *from, struct vs_policy_text *text, struct vesta_error *err);
void vs_policy_text_free(struct vs_policy_text *text);
/* Sets `env`, which may be NULL. */
int vs_policy_grant(struct vs_policy_text *text, const char *env, struct vesta_error *err);
/* Makes `env` from the process's environment.  Own: free.  Shape: each name as a program may set one.  Errors:
 * VESTA_EOPTION: an invalid name.  VESTA_ENOMEM. */
#define VS_POLICY_ENV_MAX 32
int vs_policy_env(const char *const *name, int count, char **env, struct vesta_error *err);
/* Receives a line that a policy wrote with log(), during a call of the policy and on its thread.  `said` is safe for a
 * log.  A policy cannot write many lines, because each costs SAY_WORK instructions (world.c). */
typedef void vs_heard_fn(void *self, const char *said);
#define VS_HEARD_MAX 512 /* bytes of one line, with its NUL.  A longer one is cut and ends in "..." */

struct lua_State;
struct vs_policy_opts {
    const struct vs_vm_limits *limits; /* NULL: the defaults */
    vs_heard_fn *heard;                /* NULL: lines are dropped */
    void *self;
    /* If not NULL: options and env are the values at these indexes of that state (texts, tables or nil), not those of
     * the text. */
    struct lua_State *from;
    int options, env;
};

/* Loads a policy.  Own: end with vs_policy_close.  opts may be NULL.  Errors: VESTA_EOPTION: it is not a valid policy,
 * with file and line, or the limits are impossible.  VESTA_ENOMEM. */
struct vs_policy;
int vs_policy_open(const struct vs_policy_text *text, const struct vs_policy_opts *opts, struct vs_policy **policy,
                   struct vesta_error *err);
void vs_policy_close(struct vs_policy *policy); /* may be NULL */

/* From now on, `heard` receives its lines. */
void vs_policy_listen(struct vs_policy *policy, vs_heard_fn *heard, void *self);

/* Returns the name of the i-th policy that comes with vesta.  NULL after the last. */
const char *vs_policy_shipped(int i);

/* Whether its worker ids follow from the generator's own properties, on a host with or without an ordinal.  Such worker
 * ids are as reliable as those assigned by hand. */
bool vs_policy_is_fixed(const struct vs_policy *policy, bool has_ordinal);

bool vs_policy_has(const struct vs_policy *policy, enum vs_hook hook);

const char *vs_hook_name(enum vs_hook hook);                 /* "on_clock_back" */
const char *vs_call_result_name(enum vs_call_result result); /* "ok", "error", "garbage", "time", ... */

/* The fields of ctx, by name. */
enum vs_ctx_kind { VS_CTX_INTEGER, VS_CTX_TEXT, VS_CTX_RANGE, VS_CTX_RECORDS, VS_CTX_PEERS };

struct vs_ctx_peer { /* one of ctx.peers */
    uint64_t worker;
    int64_t seen_ms;
};

struct vs_ctx {
    const char *name;
    enum vs_ctx_kind kind;
    int64_t integer, last;              /* a range is from integer to last */
    const char *text;                   /* NULL: nil */
    const struct vesta_record *records; /* their members are the fields of lua/vesta/hooks.lua */
    const struct vs_ctx_peer *peers;
    size_t count; /* of records or peers */
};

static inline struct vs_ctx vs_ctx_integer(const char *name, int64_t value) {
    return (struct vs_ctx){.name = name, .kind = VS_CTX_INTEGER, .integer = value};
}

static inline struct vs_ctx vs_ctx_text(const char *name, const char *text) {
    return (struct vs_ctx){.name = name, .kind = VS_CTX_TEXT, .text = text};
}

#define VS_CTX_MAX 16

const char *vs_verdict_name(enum vs_verdict_kind kind);
const char *vs_verdict_name_of(enum vs_hook hook, enum vs_verdict_kind kind); /* NULL: this function must not return
                                                                                 it */

#define VS_AMOUNT_MS_MAX (24 * 60 * 60 * 1000)

struct vs_verdict {
    enum vs_verdict_kind kind;
    uint64_t worker;   /* VS_VERDICT_WORKER */
    int64_t amount_ms; /* milliseconds after "wait" (how long) or "borrow" (how far ahead of the clock).  -1: none */
    char reason[256];  /* the text after that, or "".  Valid UTF-8 without control characters */
};

/* The function to call, and the fields of ctx that the caller sets. */
struct vs_hook_input {
    enum vs_hook hook;
    const struct vs_ctx *ctx;
    size_t count;
};

/* Calls one of the policy's functions.  If the result is not VS_CALL_OK, *verdict is unchanged and err has the reason,
 * with file and line.  Each call has a full budget.  A function that reaches a limit cannot continue, even if it
 * catches the error. */
enum vs_call_result vs_policy_call(struct vs_policy *policy, const struct vs_hook_input *input,
                                   struct vs_verdict *verdict, struct vesta_error *err);

/* Opens the policy and calls each of its functions in the situations of lua/vesta/hooks.lua.  Accepts every verdict.
 * The policy is closed afterwards, because it may have counted these calls.  Errors: those of vs_policy_open.
 * VESTA_EOPTION: a function failed, with its name, the situation, file and line. */
int vs_policy_try(const struct vs_policy_text *text, const char *namespace_, int64_t now_ms, struct vesta_error *err);

/* Calls a function of lua/vesta/engine.lua with the policy and `count` values of `from`, starting at index `first`.
 * Pushes a table of the results, at 1 to n, on the stack of `from`, which may raise. */
struct vs_policy_question {
    const char *function;
    struct lua_State *from;
    int first, count;
};
enum vs_call_result vs_policy_ask(struct vs_policy *policy, const struct vs_policy_question *question,
                                  struct vesta_error *err);

#endif
