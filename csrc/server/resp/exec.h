/* exec.h -- queues the commands of a transaction. */
#ifndef VS_SERVER_EXEC_H
#define VS_SERVER_EXEC_H

#include "server/request.h"

/* Queues a request until EXEC.  Always VS_ANSWERED. */
enum vs_reply_state vs_exec_queue(struct vs_request *request);

#endif
