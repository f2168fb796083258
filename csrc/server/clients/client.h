/* client.h -- what CLIENT leaves behind at a connection. */
#ifndef VS_CLIENT_H
#define VS_CLIENT_H

#include "server/request.h"

/* Names a connection, as CLIENT SETNAME does.  false: it may not be called so, and the reply says why. */
bool vs_client_name(struct vs_request *request, struct vs_slice name);

/* Forgets a list of which a part was answered. */
void vs_listing_end(struct vs_session *session);

#endif
