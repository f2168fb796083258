/* client.h -- the name and the unfinished CLIENT LIST of a connection. */
#ifndef VS_CLIENT_H
#define VS_CLIENT_H

#include "server/request.h"

/* Names a connection, as CLIENT SETNAME does.  If the name is invalid, returns false, and the reply is an error. */
bool vs_client_name(struct vs_request *request, struct vs_slice name);

/* Discards a partly written list. */
void vs_listing_end(struct vs_session *session);

#endif
