/* time.h -- RFC 3339 texts of a slice. */
#ifndef VS_TIME_H
#define VS_TIME_H

#include "base/slice.h"
#include "vesta.h"

#define VS_EPOCH_MS_MAX INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z: the last that RFC 3339 can write */

/* vesta_time_parse of a view. */
int vs_time_read(struct vs_slice text, int64_t *unix_ms, struct vesta_error *err);

#endif
