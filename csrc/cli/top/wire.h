/* wire.h -- one request to an admin listener, and what comes of it: bytes, not yet judged. */
#ifndef VS_TOP_WIRE_H
#define VS_TOP_WIRE_H

#include "base/slice.h"
#include "command/command.h"

#define VS_WIRE_BYTES_MAX (4 << 20) /* of what may come before somebody takes it: more than a server says at once */

/* Where to, and the token, NULL for none. */
struct vs_wire_to {
    const char *address, *token;
};

struct vs_wire {
    int fd;           /* -1: none is under way */
    int64_t heard_ms; /* of the clock since the boot */
    char *buf;
    size_t used, room;
    bool has_ended; /* the other side closed: nothing more will come */
};

int64_t vs_wire_now_ms(void); /* since the boot */

/* Connects and sends; false: it cannot, and err says why.  Waits two seconds for the connection at most. */
bool vs_wire_ask(struct vs_wire *wire, const struct vs_wire_to *to, const char *request, struct vesta_error *err);
/* Reads what is there.  false: that is more than a server says. */
bool vs_wire_read(struct vs_wire *wire);
/* Where the head is whole: its length with the empty line behind it, and the status, 0 if it is no HTTP; else 0. */
size_t vs_wire_head(const struct vs_wire *wire, int *status);
/* What the head, of so many bytes, says is the length of what is behind it; -1: it does not. */
int64_t vs_wire_length(const struct vs_wire *wire, size_t head);
void vs_wire_drop(struct vs_wire *wire, size_t bytes);
/* Ends it; the memory stays for the next one until vs_wire_free. */
void vs_wire_close(struct vs_wire *wire);
void vs_wire_free(struct vs_wire *wire);

#endif
