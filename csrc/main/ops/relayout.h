/* relayout.h -- `vesta store relayout`: the next layout of a live namespace, and what made by hand would be one. */
#ifndef VS_RELAYOUT_H
#define VS_RELAYOUT_H

#include "main/ops/stores.h"

/* Returns an exit code, after a message. */
int vs_relayout(struct vs_at *at, const char *layout);
/* Whether the namespace, which is not there, may be made; and once it is, as another may have come meanwhile.  VS_GO, or
 * an exit code after a message. */
int vs_admit(const struct vs_at *at, const struct vs_ns_record *fresh);
int vs_admit_made(const struct vs_at *at, const struct vs_ns_record *made);

#endif
