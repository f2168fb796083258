/* policies.h -- where server and policies meet: the server asks what to do about a pause, the policies judge.  The
 * server knows no Lua, policies know no socket; serve puts the one into the other's hands. */
#ifndef VS_POLICIES_H
#define VS_POLICIES_H

#include "host/run.h"
#include "policy/hooks.h"
#include "vesta.h"

#include <stdbool.h>

/* What the server does next about a pause. */
enum vs_next_step {
    VS_NO_VERDICT, /* no policy has a say, or it failed: the fixed rules hold */
    VS_PENDING,    /* the policy is being asked: let the request wait, come again when woken or a little later */
    VS_WAIT,       /* wait on, until *until_boot_us at the most */
    VS_TRY_AGAIN,  /* something was done about it (borrow, switch): ask the generator again, now */
    VS_REFUSE      /* tell the client at once */
};

/* A policy's functions: VS_CHOOSE_WORKER, VS_ON_CLOCK_BACK, ... */
#define VS_HOOK(upper, name, verdicts, fixed) VS_##upper,
enum vs_hook { VS_HOOK_ROWS(VS_HOOK) VS_HOOKS };
#undef VS_HOOK

/* What a function may return: VS_VERDICT_WAIT, VS_VERDICT_BORROW, ... */
#define VS_VERDICT(upper, name) VS_VERDICT_##upper,
enum vs_verdict_kind {
    VS_VERDICT_NOTHING, /* choose_worker: no number; see reason */
    VS_VERDICT_WORKER,
    VS_VERDICT_ROWS(VS_VERDICT) VS_VERDICTS
};
#undef VS_VERDICT

/* What the policies said that are tried without being obeyed, and what was done instead: of all namespaces ... */
struct vs_shadow_counts {
    bool any;                                                                /* such a policy */
    uint64_t agreed[VS_HOOKS][VS_VERDICTS], differed[VS_HOOKS][VS_VERDICTS]; /* by what they said */
    uint64_t failed[VS_HOOKS][VS_CALL_RESULTS];
    uint64_t dropped; /* questions that none was asked: it was busy, or is left alone for a while */
};

/* ... and of one.  Texts are fit for a line and for JSON. */
struct vs_shadow_seen {
    char policy[64]; /* "": it has none */
    uint64_t agreed, differed, failed;
    int64_t last_unix_ms; /* when it was heard last; 0: not yet, and what follows is empty */
    enum vs_hook hook;
    char said[48], done[48]; /* "borrow 1500 ms", "7"; of a failure its name, and "" */
    char why[256];           /* its reason, or what is wrong with it; "" */
};

/* How the policies are, for /readyz, /metrics and the admin's routes. */
struct vs_policies_status {
    uint64_t calls[VS_HOOKS][VS_CALL_RESULTS];
    uint64_t call_us[VS_HOOKS]; /* spent in calls, in all */
    bool stuck;                 /* a call has run for seconds and cannot be ended: the fixed rules hold */
    uint64_t generation;        /* how many sets of policies were put to work; 1 after the start */
    uint64_t reloads;           /* that have come to an end, well or not */
    bool reload_ok;             /* the last reload, or the start */
    int64_t reload_unix_ms;     /* when the last good one was */
    char last_error[512];       /* of a call or reload; "" */
    int64_t last_error_unix_ms;
    struct vs_shadow_counts shadow;
};

struct vs_policies {
    void *self;
    /* Judges a pause that outlasts what a request may wait; `ns` is the namespace's index in struct vs_server.
     * Never blocks.  Threads: any.  *until_boot_us is set with VS_WAIT. */
    enum vs_next_step (*judge)(void *self, int ns, struct vesta_gen *gen, const struct vesta_pause *pause,
                               int64_t *until_boot_us);
    /* Whether requests that meet this pause get ids, because the policy's last verdict about it was to borrow or to
     * switch.  Asks again if that verdict has expired.  Never blocks.  Threads: any. */
    bool (*lends)(void *self, int ns, struct vesta_gen *gen, const struct vesta_pause *pause);
    /* Starts a reload; log and status say how it went.  Threads: any; returns at once. */
    void (*reload)(void *self);
    /* Threads: any. */
    void (*status)(void *self, struct vs_policies_status *out);
    /* What the shadow policy of a namespace said.  Threads: any. */
    void (*shadow)(void *self, int ns, struct vs_shadow_seen *out);
    /* The name of what a function may answer; NULL: it may not. */
    const char *(*verdict_name)(enum vs_hook hook, enum vs_verdict_kind kind);
    /* Names for /metrics; set where status is. */
    const char *(*hook_name)(enum vs_hook hook);
    const char *(*result_name)(enum vs_call_result result);
    const char *lua; /* "5.4.6"; NULL: none */
};

#endif
