/* policies.h -- where server and policies meet: the server asks what to do about a pause, and a policy judges.  The
 * server knows no Lua, and policies know no socket.  serve connects them. */
#ifndef VS_POLICIES_H
#define VS_POLICIES_H

#include "host/run.h"
#include "policy/hooks.h"
#include "vesta.h"

#include <stdbool.h>

/* What the server does next about a pause. */
enum vs_next_step {
    VS_NO_VERDICT, /* no policy applies, or it failed: use the fixed rules */
    VS_PENDING,    /* the policy is being asked: let the request wait, and ask again when woken or a little later */
    VS_WAIT,       /* wait until *until_boot_us at most */
    VS_TRY_AGAIN,  /* the verdict was carried out (borrow, switch): ask the generator again, now */
    VS_REFUSE      /* reject the request at once */
};

/* The functions of a policy: VS_CHOOSE_WORKER, VS_ON_CLOCK_BACK, ... */
#define VS_HOOK(upper, name, verdicts, fixed) VS_##upper,
enum vs_hook { VS_HOOK_ROWS(VS_HOOK) VS_HOOKS };
#undef VS_HOOK

/* The verdicts of these functions: VS_VERDICT_WAIT, VS_VERDICT_BORROW, ... */
#define VS_VERDICT(upper, name) VS_VERDICT_##upper,
enum vs_verdict_kind {
    VS_VERDICT_NOTHING, /* choose_worker: no worker id, with the reason */
    VS_VERDICT_WORKER,
    VS_VERDICT_ROWS(VS_VERDICT) VS_VERDICTS
};
#undef VS_VERDICT

/* Verdicts of shadow policies, compared with the verdicts that were carried out: of all namespaces ... */
struct vs_shadow_counts {
    bool any;
    uint64_t agreed[VS_HOOKS][VS_VERDICTS], differed[VS_HOOKS][VS_VERDICTS]; /* by the shadow's verdict */
    uint64_t failed[VS_HOOKS][VS_CALL_RESULTS];
    uint64_t dropped; /* questions that were not asked: the policy was busy, or has just failed */
};

/* ... and of one namespace.  Texts are fit for a line and for JSON. */
struct vs_shadow_seen {
    char policy[64]; /* "": it has no shadow policy */
    uint64_t agreed, differed, failed;
    int64_t last_unix_ms; /* of the last answer.  0: there is none yet, and the members below are empty */
    enum vs_hook hook;
    char said[48], done[48]; /* "borrow 1500 ms" or "7".  After a failure its name, and "" */
    char why[256];           /* the reason or the error, or "" */
};

/* The policy of a namespace, for its status and its error messages. */
#define VS_REFUSAL_MAX 512
struct vs_policy_seen {
    char policy[64]; /* the policy in force.  "": none */
    /* If the verdict in force about the pause was to refuse, for example "policy night.lua refused: it is day".  Else
     * "". */
    char refusal[VS_REFUSAL_MAX];
};

/* The state of the policies, for /readyz, /metrics and the admin's routes. */
struct vs_policies_status {
    uint64_t calls[VS_HOOKS][VS_CALL_RESULTS];
    uint64_t call_us[VS_HOOKS]; /* total time of the calls */
    uint64_t verdicts[VS_HOOKS][VS_VERDICTS];
    bool stuck;              /* a call has run for seconds and cannot be ended: the fixed rules hold */
    uint64_t generation;     /* sets of policies put in force so far.  1 after the start */
    uint64_t reloads;        /* finished reloads, successful or not */
    bool reload_ok;          /* the last reload, or the start, succeeded */
    int64_t reload_unix_ms;  /* of the last successful reload */
    char reload_result[512]; /* result of the last reload: its changes, or why it was rejected.  "": there was none */
    char last_error[512];    /* of a call or a reload, or "" */
    int64_t last_error_unix_ms;
    struct vs_shadow_counts shadow;
};

struct vs_policies {
    void *self;
    /* Judges a pause that is longer than a request may wait; `ns` is the namespace's index in struct vs_server.
     * Never blocks.  Threads: any.  *until_boot_us is set with VS_WAIT. */
    enum vs_next_step (*judge)(void *self, int ns, struct vesta_gen *gen, const struct vesta_pause *pause,
                               int64_t *until_boot_us);
    /* Returns whether requests that run into this pause get ids, because the policy's last verdict about it was to
     * borrow or to switch.  Asks again if that verdict has expired.  Never blocks.  Threads: any. */
    bool (*lends)(void *self, int ns, struct vesta_gen *gen, const struct vesta_pause *pause);
    /* Starts a reload, and returns at once.  Log and status report its end.  Threads: any. */
    void (*reload)(void *self);
    /* Threads: any. */
    void (*status)(void *self, struct vs_policies_status *out);
    /* The policy of a namespace, and its refusal of a pause (NULL: none).  Never blocks: both are "" if the policies
     * are just being replaced.  Threads: any. */
    void (*look)(void *self, int ns, const struct vesta_pause *pause, struct vs_policy_seen *out);
    /* The state of a namespace's shadow policy.  Threads: any. */
    void (*shadow)(void *self, int ns, struct vs_shadow_seen *out);
    /* The name of a verdict.  NULL: the function cannot return it. */
    const char *(*verdict_name)(enum vs_hook hook, enum vs_verdict_kind kind);
    /* Names for /metrics.  Set if `status` is set. */
    const char *(*hook_name)(enum vs_hook hook);
    const char *(*result_name)(enum vs_call_result result);
    const char *lua; /* "5.4.6".  NULL: none */
};

#endif
