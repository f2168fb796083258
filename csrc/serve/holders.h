/* holders.h -- reads the leases of worker ids from the stores, for viewers of the admin routes. */
#ifndef VS_HOLDERS_OF_SERVER_H
#define VS_HOLDERS_OF_SERVER_H

#include "serve/serving.h"

/* Sets server->above.holders.  Returns false if there is no memory. */
bool vs_server_holders_begin(struct vs_serving *serving);
/* Call it after the event loops have ended.  Returns false if at until_us (vs_monotonic_us) a thread still hangs in a
 * store call. */
bool vs_server_holders_end(struct vs_serving *serving, int64_t until_us);

#endif
