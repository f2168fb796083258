/* ask.h -- a question beside the stream: one at a time, its answer when it is whole. */
#ifndef VS_TOP_ASK_H
#define VS_TOP_ASK_H

#include "cli/top/wire.h"

struct vs_ask {
    struct vs_wire wire;
    char trouble[256];    /* of the last question, why it has no answer; "": it has */
    struct vs_slice body; /* its answer; lives until the next question */
};

/* Asks; what was asked before is forgotten.  A trouble is told by vs_ask_read. */
void vs_ask_begin(struct vs_ask *ask, const struct vs_wire_to *to, const char *request);
bool vs_ask_is_busy(const struct vs_ask *ask);
/* Reads what is there.  true: the question is over, and body or trouble says how. */
bool vs_ask_read(struct vs_ask *ask);
void vs_ask_close(struct vs_ask *ask);

#endif
