/* policy.h -- policies: Lua files that decide about worker ids and pauses.  Each policy has a separate Lua 5.4 state,
 * so that no policy can read another one, change its data, or use up its memory.
 *
 *     engine.c       runs lua/vesta/engine.lua in that state: loads a policy's text, calls its functions
 *     call.c         builds ctx for a function, and reads the verdict that it returns
 *     policy.c       source texts of policies
 *     world.c        log and time zones for policies
 *     environment.c  the environment variables that policies may read
 *
 * Threads: one at a time for each policy. */
#ifndef VS_POLICY_H
#define VS_POLICY_H

#include "policy/policies.h"

#include <stdatomic.h>
#include <stddef.h>

/* The source text of a policy.  The text is stored, so that the text that was test-run is put in force even if its file
 * has changed since.  `chunk` is the policy's name in errors ("=stdin", "@rules.lua").  NULL means no policy. */
struct vs_policy_text {
    const char *chunk, *text;
    size_t length;
    const char *options, *name; /* name: as in the config or on the command line.  Both may be NULL */
    /* the environment variables that the policy may read, as a Lua table: {REGION="eu",ROLE=false}, with false for an
     * unset variable.  NULL: the policy may read none */
    const char *env;
};
/* Reads a policy.  A name without '/' and ".lua" selects a shipped policy ("wait").  Any other name is the path of a
 * file. `options` is the Lua text of a table ("{first=0,last=923}"), which the policy gets as ctx.options, or NULL.
 * Own: free with vs_policy_text_free.  Errors: VESTA_ENAME if there is no such policy, with the known names.
 * VESTA_EIO.  VESTA_ENOMEM. */
int vs_policy_read(const char *name, const char *options, struct vs_policy_text *text, struct vesta_error *err);
int vs_policy_text_copy(const struct vs_policy_text *from, struct vs_policy_text *text, struct vesta_error *err);
void vs_policy_text_free(struct vs_policy_text *text);
/* Sets `env` of a policy's text.  `env` may be NULL. */
int vs_policy_grant(struct vs_policy_text *text, const char *env, struct vesta_error *err);
/* Builds `env` from the process's environment.  Own: free `env`.  Range: names of letters, digits and _.  Errors:
 * VESTA_EOPTION for an invalid name.  VESTA_ENOMEM. */
#define VS_POLICY_ENV_MAX 32
int vs_policy_env(const char *const *name, int count, char **env, struct vesta_error *err);
/* Receives a line that a policy wrote with log().  Called during a call of the policy, on the same thread.  `said` is
 * safe for a log.  A policy cannot write many lines, because each line costs SAY_WORK instructions (world.c). */
typedef void vs_heard_fn(void *self, const char *said);
#define VS_HEARD_MAX 512 /* maximum size of a line, with its NUL.  A longer line is truncated and ends in "..." */

struct lua_State;
struct vs_policy_opts {
    const struct vs_vm_limits *limits; /* NULL selects the defaults */
    vs_heard_fn *heard;                /* NULL: the policy's lines are dropped */
    void *self;
    /* If not NULL, the options and env are the values at these indexes of that Lua state (strings, tables or nil), not
     * those of the text. */
    struct lua_State *from;
    int options, env;
};

/* Loads a policy.  `opts` may be NULL.  Own: end with vs_policy_close.  Errors: VESTA_EOPTION if the policy is invalid,
 * with file and line, or if the limits are out of range.  VESTA_ENOMEM. */
struct vs_policy;
int vs_policy_open(const struct vs_policy_text *text, const struct vs_policy_opts *opts, struct vs_policy **policy,
                   struct vesta_error *err);
void vs_policy_close(struct vs_policy *policy); /* may be NULL */

/* Directs the policy's further lines to `heard`. */
void vs_policy_listen(struct vs_policy *policy, vs_heard_fn *heard, void *self);

/* Returns the name of the i-th shipped policy, or NULL after the last one. */
const char *vs_policy_shipped(int i);

/* Returns whether the policy's worker ids follow from the generator's own properties, on a host with or without an
 * ordinal.  Such worker ids are as reliable as those assigned by hand. */
bool vs_policy_is_fixed(const struct vs_policy *policy, bool has_ordinal);

bool vs_policy_has(const struct vs_policy *policy, enum vs_hook hook);

const char *vs_hook_name(enum vs_hook hook);                 /* "on_clock_back" */
const char *vs_call_result_name(enum vs_call_result result); /* "ok", "error", "garbage", "time", ... */

/* The types of the fields of ctx. */
enum vs_ctx_kind { VS_CTX_INTEGER, VS_CTX_TEXT, VS_CTX_RANGE, VS_CTX_RECORDS, VS_CTX_PEERS };

struct vs_ctx_peer { /* an element of ctx.peers */
    uint64_t worker;
    int64_t seen_ms;
};

struct vs_ctx {
    const char *name;
    enum vs_ctx_kind kind;
    int64_t integer, last;              /* a range extends from integer to last */
    const char *text;                   /* NULL: nil */
    const struct vesta_record *records; /* the members of a record are the fields listed in lua/vesta/hooks.lua */
    const struct vs_ctx_peer *peers;
    size_t count; /* number of records or peers */
};

static inline struct vs_ctx vs_ctx_integer(const char *name, int64_t value) {
    return (struct vs_ctx){.name = name, .kind = VS_CTX_INTEGER, .integer = value};
}

static inline struct vs_ctx vs_ctx_text(const char *name, const char *text) {
    return (struct vs_ctx){.name = name, .kind = VS_CTX_TEXT, .text = text};
}

#define VS_CTX_MAX 16

const char *vs_verdict_name(enum vs_verdict_kind kind);
/* returns NULL if this function must not return the verdict */
const char *vs_verdict_name_of(enum vs_hook hook, enum vs_verdict_kind kind);

#define VS_AMOUNT_MS_MAX (24 * 60 * 60 * 1000)

struct vs_verdict {
    enum vs_verdict_kind kind;
    uint64_t worker; /* for VS_VERDICT_WORKER */
    /* milliseconds after "wait" (how long) or "borrow" (how far ahead of the clock).  -1: none given */
    int64_t amount_ms;
    char reason[256]; /* text after the verdict, or "".  Valid UTF-8 without control characters */
};

/* The function to call, and the fields of ctx that the caller sets. */
struct vs_hook_input {
    enum vs_hook hook;
    const struct vs_ctx *ctx;
    size_t count;
};

/* Calls a function of the policy.  If the result is not VS_CALL_OK, *verdict is unchanged and err has the reason, with
 * file and line.  Each call has a full budget.  A function that reaches a limit cannot continue, even if it catches the
 * error. */
enum vs_call_result vs_policy_call(struct vs_policy *policy, const struct vs_hook_input *input,
                                   struct vs_verdict *verdict, struct vesta_error *err);

/* Opens the policy and calls each of its functions in the situations of lua/vesta/hooks.lua.  Accepts every verdict.
 * Closes the policy afterwards, because the policy may have counted these calls.  Errors: those of vs_policy_open.
 * VESTA_EOPTION if a function failed, with the function's name, the situation, file and line. */
int vs_policy_try(const struct vs_policy_text *text, const char *namespace_, int64_t now_ms, struct vesta_error *err);

/* Calls a function of lua/vesta/engine.lua with the policy and `count` values of `from`, starting at index `first`.
 * Pushes a table with the results at 1 to n onto the stack of `from`.  May raise an error in `from`. */
struct vs_policy_question {
    const char *function;
    struct lua_State *from;
    int first, count;
};
enum vs_call_result vs_policy_ask(struct vs_policy *policy, const struct vs_policy_question *question,
                                  struct vesta_error *err);

#endif
