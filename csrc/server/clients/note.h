/* note.h -- the access log: one line per request. */
#ifndef VS_NOTE_H
#define VS_NOTE_H

#include "server/request.h"

void vs_note_request(struct vs_request *request, size_t bytes);

/* Logs a request and all requests answered together with it.  `bytes` is the length of all replies. */
static inline void vs_note(struct vs_request *request, size_t bytes) {
    if (request->session->server->monitor.access) vs_note_request(request, bytes);
}

#endif
