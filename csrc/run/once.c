/* once.c -- claims a worker id without renewing its lease. */
#include "run/caller.h"
#include "base/error.h"
#include "os/clock.h"

int vs_run_once(const struct vs_run_opts *opts, struct vs_run_lease *out, struct vesta_error *err) {
    static struct vs_run_caller caller;
    const struct vesta_clock *clock = vs_clock_system();
    int64_t patience_ms = opts->times.patience_ms > VS_RUN_PATIENCE_MS_MIN ? opts->times.patience_ms : VS_RUN_PATIENCE_MS_MIN;
    int64_t until_us = clock->boot_us(clock->self) + patience_ms * 1000;
    caller.opts = opts;
    for (;;) {
        vs_run_call(&caller, VS_RUN_CLAIM, 0);
        if (caller.end == VS_WORKER_HELD) break;
        int64_t now_us = clock->boot_us(clock->self), retry_us = caller.w.retry_boot_us;
        if (caller.is_hopeless || retry_us >= until_us || now_us >= until_us)
            return vs_fail(err, VESTA_EIO, "%s", caller.err.text);
        clock->sleep_us(clock->self, retry_us > now_us ? retry_us - now_us : 1000);
    }
    const struct vs_worker *w = &caller.w;
    int64_t start_ms = w->earlier_ms + opts->times.skew_ms, now_ms = clock->unix_us(clock->self) / 1000;
    *out = (struct vs_run_lease){w->key.worker, w->fence, start_ms, w->expires_ms};
    while (now_ms < start_ms) {
        clock->sleep_us(clock->self, (start_ms - now_ms) * 1000);
        now_ms = clock->unix_us(clock->self) / 1000;
    }
    if (clock->boot_us(clock->self) < w->deadline_boot_us && now_ms < w->expires_ms) return VESTA_OK;
    return vs_fail(err, VESTA_EIO, "worker id %llu can be used only after its last holder's ids end, and the lease ended "
                   "before that: use a longer --ttl", (unsigned long long)w->key.worker);
}
