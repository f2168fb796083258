/* note.h -- a line of the access log for each request that was answered. */
#ifndef VS_NOTE_H
#define VS_NOTE_H

#include "server/request.h"

void vs_note_request(struct vs_request *request, size_t bytes);

/* It was answered, with those that were answered with it, by so many bytes in all. */
static inline void vs_note(struct vs_request *request, size_t bytes) {
    if (request->session->server->monitor.access) vs_note_request(request, bytes);
}

#endif
