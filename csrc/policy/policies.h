/* policies.h -- the interface between the server and the policies: the server asks what to do about a pause, and a
 * policy decides.  The server does not depend on Lua, and the policies do not depend on sockets.  The command serve
 * connects them. */
#ifndef VS_POLICIES_H
#define VS_POLICIES_H

#include "host/run.h"
#include "policy/hooks.h"
#include "vesta.h"

#include <stdbool.h>

/* The server's next step in a pause. */
enum vs_next_step {
    VS_NO_VERDICT, /* no policy applies, or the policy failed: use the fixed rules */
    VS_PENDING,    /* the policy is being asked: let the request wait, and ask again when woken, or a little later */
    VS_WAIT,       /* wait until *until_boot_us at most */
    VS_TRY_AGAIN,  /* the verdict was carried out (borrow, switch): call the generator again at once */
    VS_REFUSE      /* reject the request at once */
};

/* The functions of a policy: VS_CHOOSE_WORKER, VS_ON_CLOCK_BACK, and so on. */
#define VS_HOOK(upper, name, verdicts, fixed) VS_##upper,
enum vs_hook { VS_HOOK_ROWS(VS_HOOK) VS_HOOKS };
#undef VS_HOOK

/* The verdicts of these functions: VS_VERDICT_WAIT, VS_VERDICT_BORROW, and so on. */
#define VS_VERDICT(upper, name) VS_VERDICT_##upper,
enum vs_verdict_kind {
    VS_VERDICT_NOTHING, /* choose_worker returned no worker id, but a reason */
    VS_VERDICT_WORKER,
    VS_VERDICT_ROWS(VS_VERDICT) VS_VERDICTS
};
#undef VS_VERDICT

/* Counts of the shadow policies' verdicts in all namespaces, compared with the verdicts that were carried out. */
struct vs_shadow_counts {
    bool any;
    /* indexed by the shadow policy's verdict */
    uint64_t agreed[VS_HOOKS][VS_VERDICTS], differed[VS_HOOKS][VS_VERDICTS];
    uint64_t failed[VS_HOOKS][VS_CALL_RESULTS];
    uint64_t dropped; /* questions that were not asked, because the policy was busy or had just failed */
};

/* The state of one namespace's shadow policy.  Its texts are safe for a log line and for JSON. */
struct vs_shadow_seen {
    char policy[64]; /* "": the namespace has no shadow policy */
    uint64_t agreed, differed, failed;
    int64_t last_unix_ms; /* time of the last verdict.  0: there is none yet, and the members below are empty */
    enum vs_hook hook;
    /* for example "borrow 1500 ms" or "7".  After a failure, `said` is the failure's name, and `done` is "" */
    char said[48], done[48];
    char why[256]; /* the reason or the error, or "" */
};

/* The policy of a namespace, for its status and its error messages. */
#define VS_REFUSAL_MAX 512
struct vs_policy_seen {
    char policy[64]; /* the policy in force.  "": none */
    /* If the verdict in force about the pause is "refuse", its text, for example "policy night.lua refused: it is day".
     * Otherwise "". */
    char refusal[VS_REFUSAL_MAX];
};

/* The state of the policies, for /readyz, /metrics and the admin's routes. */
struct vs_policies_status {
    uint64_t calls[VS_HOOKS][VS_CALL_RESULTS];
    uint64_t call_us[VS_HOOKS]; /* total duration of the calls */
    uint64_t verdicts[VS_HOOKS][VS_VERDICTS];
    bool stuck;              /* a call has run for seconds and cannot be ended, so the fixed rules apply */
    uint64_t generation;     /* number of policy sets put in force so far, including the first set at the start */
    uint64_t reloads;        /* number of finished reloads, successful or not */
    bool reload_ok;          /* true if the last reload, or the start, succeeded */
    int64_t reload_unix_ms;  /* time of the last successful reload */
    char reload_result[512]; /* changes of the last reload, or why the reload was rejected.  "": there was none */
    char last_error[512];    /* last error of a call or a reload, or "" */
    int64_t last_error_unix_ms;
    struct vs_shadow_counts shadow;
};

struct vs_policies {
    void *self;
    /* Decides about a pause that is longer than a request may wait.  `ns` is the namespace's index in struct vs_server.
     * With VS_WAIT, sets *until_boot_us.  Never blocks.  Threads: any. */
    enum vs_next_step (*judge)(void *self, int ns, struct vesta_gen *gen, const struct vesta_pause *pause,
                               int64_t *until_boot_us);
    /* Returns whether requests in this pause get ids, because the policy's last verdict about the pause was to borrow
     * or to switch. Asks the policy again if that verdict has expired.  Never blocks.  Threads: any. */
    bool (*lends)(void *self, int ns, struct vesta_gen *gen, const struct vesta_pause *pause);
    /* Starts a reload, and returns at once.  The log and the status report its end.  Threads: any. */
    void (*reload)(void *self);
    /* Returns the state of the policies.  Threads: any. */
    void (*status)(void *self, struct vs_policies_status *out);
    /* Returns a namespace's policy, and its refusal of a pause if `pause` is not NULL.  Never blocks.  Both texts are
     * "" if the policies are being replaced at this moment.  Threads: any. */
    void (*look)(void *self, int ns, const struct vesta_pause *pause, struct vs_policy_seen *out);
    /* Returns the state of a namespace's shadow policy.  Threads: any. */
    void (*shadow)(void *self, int ns, struct vs_shadow_seen *out);
    /* Returns the name of a verdict, or NULL if the function cannot return the verdict. */
    const char *(*verdict_name)(enum vs_hook hook, enum vs_verdict_kind kind);
    /* These two return names for /metrics.  They are set if `status` is set. */
    const char *(*hook_name)(enum vs_hook hook);
    const char *(*result_name)(enum vs_call_result result);
    const char *lua; /* version, for example "5.4.6".  NULL: no Lua */
};

#endif
