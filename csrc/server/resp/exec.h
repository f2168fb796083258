#ifndef VS_SERVER_EXEC_H
#define VS_SERVER_EXEC_H

#include "server/request.h"

/* Queues a command of a transaction until EXEC.  Always returns VS_ANSWERED. */
enum vs_reply_state vs_exec_queue(struct vs_request *request);

#endif
