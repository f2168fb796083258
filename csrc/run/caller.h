/* caller.h -- a thread that calls the store, so that a slow store delays no signal and no deadline. */
#ifndef VS_RUN_CALLER_H
#define VS_RUN_CALLER_H

#include "run/run.h"
#include "worker/worker.h"

#include <pthread.h>

struct vs_run_caller {
    const struct vs_run_opts *opts;
    /* The result of the last call.  Read it only after vs_run_caller_take. */
    struct vs_worker w;
    enum vs_worker_end end;
    bool is_hopeless; /* a setting is wrong, so the same call cannot succeed */
    struct vesta_error err;
    struct vs_run_now sent; /* when the call began */
    int ready;              /* an eventfd, readable when a call has ended */
    /* Private. */
    struct vs_store *store;
    bool is_prepared;
    struct vesta_clock clock; /* the lease engine's clock, which does not go back while the program runs */
    int64_t high_offset_ms;
    char holder[VS_HOLDER_MAX];
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t asked;
    enum vs_run_step step; /* SLEEP: no call is wanted.  END: the thread ends */
    int64_t ended_ms;
};

/* Makes one call in the calling thread: VS_RUN_CLAIM, VS_RUN_RENEW or VS_RUN_RELEASE. */
void vs_run_call(struct vs_run_caller *caller, enum vs_run_step step, int64_t ended_ms);

/* Starts the thread.  Returns 0, or an errno. */
int vs_run_caller_start(struct vs_run_caller *caller);
/* Requests a call, after the previous one has ended.  high_offset_ms: see vs_run_high_ms. */
void vs_run_caller_ask(struct vs_run_caller *caller, enum vs_run_step step, int64_t ended_ms, int64_t high_offset_ms);
/* Returns whether a call has ended since this function last returned true. */
bool vs_run_caller_take(struct vs_run_caller *caller);
void vs_run_caller_close(struct vs_run_caller *caller);

#endif
