/* errand.h -- work that may take longer than a call, in a thread of its own: looking up names, making a connection.
 * Calls wait for it as far as their deadlines go, the next one goes on waiting where the last gave up, and who needs it
 * no more leaves it to itself.  A forked child forgets its parent's. */
#ifndef VS_STORE_ERRAND_H
#define VS_STORE_ERRAND_H

#include "store/store.h"

struct vs_errand;

/* Runs run(work) beside the caller, with all signals blocked.  `work` must be whole in itself: it may outlive whoever
 * sent it.  drop(work) frees it where it was left.  NULL: no thread can be had; work is still the caller's. */
struct vs_errand *vs_errand_send(void (*run)(void *work), void (*drop)(void *work), void *work);

/* Waits until it is done, the call of this store is over, or the store is cut: true if it is done. */
bool vs_errand_wait(struct vs_errand *errand, const struct vs_store *store);

bool vs_errand_is_done(struct vs_errand *errand);

/* It is done: the work is the caller's again, and the errand is gone. */
void *vs_errand_take(struct vs_errand *errand);

/* Whatever comes of it is dropped. */
void vs_errand_leave(struct vs_errand *errand);

#endif
