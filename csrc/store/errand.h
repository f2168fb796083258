/* errand.h -- runs work in a separate thread if it may take longer than a call, for example a name lookup or a connect.
 * A call waits for the work until the call's deadline.  The next call continues to wait.  A store that no longer needs
 * the result abandons the errand.  A forked child forgets its parent's errands. */
#ifndef VS_STORE_ERRAND_H
#define VS_STORE_ERRAND_H

#include "store/store.h"

struct vs_errand;

/* Runs run(work) in a new thread with all signals blocked.  `work` must not refer to the caller's data, because it may
 * outlive the caller.  If the errand is abandoned, drop(work) frees `work`.  Returns NULL if no thread could be
 * created, and the caller then still owns `work`. */
struct vs_errand *vs_errand_send(void (*run)(void *work), void (*drop)(void *work), void *work);

/* Waits until the work is done, the deadline of the store's current call has passed, or the store's calls are cut
 * (cut_us).  Returns whether the work is done. */
bool vs_errand_wait(struct vs_errand *errand, const struct vs_store *store);

bool vs_errand_is_done(struct vs_errand *errand);

/* Returns the finished work to the caller, and frees the errand. */
void *vs_errand_take(struct vs_errand *errand);

/* Abandons the errand.  Its result is dropped. */
void vs_errand_leave(struct vs_errand *errand);

#endif
