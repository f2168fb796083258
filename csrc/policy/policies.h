/* policies.h -- where server and policies meet: the server asks what to do about a pause, the policies judge.  The
 * server knows no Lua, policies know no socket; serve puts the one into the other's hands. */
#ifndef VS_POLICIES_H
#define VS_POLICIES_H

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

enum vs_call_result { /* of one call of a policy's function */
                      VS_CALL_OK,
                      VS_CALL_ERROR,        /* it raised an error */
                      VS_CALL_GARBAGE,      /* it returned what is no verdict */
                      VS_CALL_TIME,         /* it ran too long */
                      VS_CALL_INSTRUCTIONS, /* ... or too far */
                      VS_CALL_MEMORY,
                      VS_CALL_RESULTS
};

/* A policy's functions: VS_CHOOSE_WORKER, VS_ON_CLOCK_BACK, ... */
#define VS_HOOK(upper, name, verdicts) VS_##upper,
enum vs_hook { VS_HOOK_ROWS(VS_HOOK) VS_HOOKS };
#undef VS_HOOK

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
};

struct vs_policies {
    void *self;
    /* Judges a pause that outlasts what a request may wait; `ns` is the namespace's index in struct vs_app.
     * Never blocks.  Threads: any.  *until_boot_us is set with VS_WAIT. */
    enum vs_next_step (*judge)(void *self, int ns, struct vesta_gen *gen, const struct vesta_pause *pause,
                               int64_t *until_boot_us);
    /* Starts a reload; log and status say how it went.  Threads: any; returns at once. */
    void (*reload)(void *self);
    /* Threads: any. */
    void (*status)(void *self, struct vs_policies_status *out);
    /* Names for /metrics; set where status is. */
    const char *(*hook_name)(enum vs_hook hook);
    const char *(*result_name)(enum vs_call_result result);
    const char *lua; /* "5.4.6"; NULL: none */
};

#endif
