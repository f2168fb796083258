/* relayout.h -- `vesta store relayout`: the next layout of a live namespace. */
#ifndef VS_RELAYOUT_H
#define VS_RELAYOUT_H

#include "cli/ops/stores.h"

/* Returns an exit code, after a message. */
int vs_relayout(struct vs_at *at, const char *layout);

#endif
