/* trial.h -- trying policies out: `vesta policy test` and the ctx of `vesta policy run`. */
#ifndef VS_TRIAL_H
#define VS_TRIAL_H

#include "policy/policy.h"

/* Spec files, run one after the other in one Lua state.  `say` gets what there is to read, whole lines.  A file that
 * does not compile, or raises, is a failed claim. Errors: VESTA_ENOMEM; what had passed and failed by then is counted.
 */
typedef void vs_say_fn(const char *text, size_t length);
struct vs_trial {
    const char *const *files;
    int count;
    vs_say_fn *say;
    int passed, failed; /* set by the run */
};
int vs_trial_run(struct vs_trial *trial, struct vesta_error *err);

/* Workers' records out of a file of Lua data: return { { worker = 7, held = true, ... }, ... }.
 * The peers are the same rows' worker and seen_ms.  Own: vs_records_free.
 * Errors: VESTA_EIO, VESTA_EOPTION with the row and the field that is wrong, VESTA_ENOMEM. */
#define VS_RECORDS_MAX 10000
struct vs_records {
    struct vs_ctx_record *record;
    struct vs_ctx_peer *peer;
    size_t count;
    struct vs_lua *lua; /* the texts are its */
};
int vs_records_read(const char *path, struct vs_records *out, struct vesta_error *err);
void vs_records_free(struct vs_records *records);

#endif
