/* holders.h -- who holds which worker number, read from the stores for those who watch the server. */
#ifndef VS_HOLDERS_OF_SERVER_H
#define VS_HOLDERS_OF_SERVER_H

#include "serve/serving.h"

/* Sets server->above.holders.  false: no memory. */
bool vs_server_holders_begin(struct vs_serving *serving);
/* The loops have ended: nobody asks any more.  false: a thread hangs in a store's call at that instant
 * (vs_monotonic_us). */
bool vs_server_holders_end(struct vs_serving *serving, int64_t until_us);

#endif
