/* next.c -- issues ids: vesta_next(), alone and in batches, and the wait during a pause. */
#include <postgres.h>

#include "extension.h"

#include <access/xlog.h>
#include <funcapi.h>
#include <miscadmin.h>
#include <portability/instr_time.h>
#include <sql.h>
#include <storage/latch.h>
#include <tcop/utility.h>
#include <utils/uuid.h>
#include <utils/wait_event.h>
#include <vesta_uuid.h>

PG_FUNCTION_INFO_V1(vpg_next);
PG_FUNCTION_INFO_V1(vpg_next_set);
PG_FUNCTION_INFO_V1(vpg_next_uuid);

#define SHORT_US 1000     /* vesta_next_wait does waits up to this length, because it is exact */
#define NAP_MS_MAX 50     /* the pause may end earlier, if the clock is corrected or the lease is granted */
#define LEASE_NAP_MS 2    /* a worker grants a lease within milliseconds */
#define ASK_AGAIN_MS 500  /* the worker may have ended since it was asked */

/* ------------------------------------------------------------------ pauses */

static bool needs_keeper(enum vesta_why why) {
    return why == VESTA_LEASE || why == VESTA_CLOSED || why == VESTA_FAILSTOP;
}

static int sqlstate_of_pause(enum vesta_why why) {
    switch (why) {
    case VESTA_END: return ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED;
    case VESTA_FAILSTOP: return ERRCODE_SYSTEM_ERROR;
    default: return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
    }
}

/* Returns why there is no lease.  vesta_pause_text would advise the user to start a server, but here the background
 * worker renews leases. */
static const char *lease_text(const struct vpg_generator *generator, const char *no_worker) {
    struct vesta_info info;
    vesta_get_info(generator->gen, &info);
    if (info.warning[0]) return pstrdup(info.warning);
    if (info.keeper[0]) return pstrdup(info.keeper);
    return no_worker ? "no process renews the lease of this generator" : "the keeper is asking the store";
}

static pg_attribute_noreturn()
    void raise_pause(const struct vpg_generator *generator, const struct vesta_pause *pause, const char *no_worker) {
    char text[512];
    const char *why = vesta_why_name(pause->why);
    if (pause->why == VESTA_LEASE)
        snprintf(text, sizeof text, "no lease: %s", lease_text(generator, no_worker));
    else
        vesta_pause_text(generator->gen, pause, text, sizeof text);
    ereport(ERROR, errcode(sqlstate_of_pause(pause->why)),
            errmsg("generator \"%s\" can issue no id now: %s", generator->name, text),
            pause->wait_us >= 0
                ? errdetail("The reason is \"%s\". The wait is %.3f s.", why, (double)pause->wait_us / 1e6)
                : errdetail("The reason is \"%s\". Waiting does not help.", why),
            no_worker ? errhint("%s Or run vesta serve --path %s.", no_worker, generator->path)
            : pause->wait_us >= 0
                ? errhint("Retry after this time. vesta.wait_ms sets how long a call waits, now %d ms.", vpg_wait_ms)
                : errhint("See docs/database-functions.md for the reason \"%s\".", why));
}

static int64 elapsed_ms(instr_time begun) {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    INSTR_TIME_SUBTRACT(now, begun);
    return (int64)INSTR_TIME_GET_MILLISEC(now);
}

/* Sleeps on the latch, so that a cancel, a timeout or a shutdown ends the wait. */
static void nap(int64 ms) {
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
}

/* What a call issues. */
struct issued {
    enum vesta_shape shape; /* 0: a bigint */
    uint64_t id;
    unsigned char uuid[VESTA_UUID_BYTES];
};

static int try_shortly(struct vesta_gen *gen, struct issued *issued, struct vesta_pause *pause) {
    if (issued->shape) return vesta_next_uuid_wait(gen, issued->shape, issued->uuid, SHORT_US, pause);
    return vesta_next_wait(gen, &issued->id, SHORT_US, pause);
}

/* Waits until an id is available, or raises an error. */
static pg_noinline void next_after_pause(struct vpg_generator *generator, struct issued *issued) {
    struct vesta_pause pause;
    instr_time begun;
    int64 ask_ms = 0;
    const char *no_worker = NULL;
    INSTR_TIME_SET_CURRENT(begun);
    while (try_shortly(generator->gen, issued, &pause) != VESTA_OK) {
        int64 spent_ms = elapsed_ms(begun), left_ms = vpg_wait_ms - spent_ms;
        int64 wait_ms = needs_keeper(pause.why) ? LEASE_NAP_MS : pause.wait_us / 1000 + 1;
        CHECK_FOR_INTERRUPTS();
        if (needs_keeper(pause.why) && spent_ms >= ask_ms) {
            no_worker = vpg_keeper_ask(generator);
            ask_ms = spent_ms + ASK_AGAIN_MS;
        }
        if (pause.wait_us < 0 || wait_ms > left_ms) raise_pause(generator, &pause, no_worker);
        nap(Min(wait_ms, NAP_MS_MAX));
    }
}

/* ------------------------------------------------------------------ ids */

/* An id above 2^63 - 1 would be a negative bigint, which sorts before all others. */
static pg_noinline pg_attribute_noreturn() void raise_large(const struct vpg_generator *generator, uint64 id) {
    ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
            errmsg("generator \"%s\" issued " UINT64_FORMAT ", which exceeds the largest bigint", generator->name, id),
            errhint("Use a generator whose layout begins with a constant bit: sign:1=0."));
}

static inline void announce(struct vpg_generator *generator) {
    if (likely(generator->is_announced)) return;
    (void)vpg_keeper_ask(generator); /* if it fails and no other program keeps the file, a pause reports it */
    generator->is_announced = true;
}

static int64 issue(struct vpg_generator *generator) {
    struct vesta_pause pause;
    struct issued issued = {.shape = 0};
    announce(generator);
    if (unlikely(vesta_next(generator->gen, &issued.id, &pause) != VESTA_OK)) next_after_pause(generator, &issued);
    if (unlikely(issued.id > PG_INT64_MAX)) raise_large(generator, issued.id);
    return (int64)issued.id;
}

/* A standby must not use the primary's worker id.  It is another host, or a copy that may become one. */
static struct vpg_generator *generator_to_issue(FunctionCallInfo fcinfo, const char *function) {
    PreventCommandDuringRecovery(function);
    return vpg_generator_of(fcinfo, 0);
}

Datum vpg_next(PG_FUNCTION_ARGS) {
    PG_RETURN_INT64(issue(generator_to_issue(fcinfo, "vesta_next()")));
}

/* Returns the shape in the second argument, or uuid7. */
static enum vesta_shape shape_of(FunctionCallInfo fcinfo, struct vesta_gen *gen) {
    enum vesta_shape shape = VESTA_UUID7;
    struct vesta_error err;
    if (PG_NARGS() > 1 && PG_ARGISNULL(1))
        ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("the shape of a UUID must not be null"));
    if (PG_NARGS() > 1) {
        const text *given = PG_GETARG_TEXT_PP(1);
        shape = vs_sql_shape(VARDATA_ANY(given), VARSIZE_ANY_EXHDR(given), &err);
        if (!shape) vpg_raise(&err);
    }
    if (vesta_gen_shape_check(gen, shape, &err) != VESTA_OK) vpg_raise(&err);
    return shape;
}

Datum vpg_next_uuid(PG_FUNCTION_ARGS) {
    struct vpg_generator *generator = generator_to_issue(fcinfo, "vesta_next_uuid()");
    struct issued issued = {.shape = shape_of(fcinfo, generator->gen)};
    pg_uuid_t *uuid = palloc(sizeof *uuid);
    struct vesta_pause pause;
    announce(generator);
    if (unlikely(vesta_next_uuid(generator->gen, issued.shape, issued.uuid, &pause) != VESTA_OK))
        next_after_pause(generator, &issued);
    memcpy(uuid->data, issued.uuid, UUID_LEN);
    PG_RETURN_UUID_P(uuid);
}

Datum vpg_next_set(PG_FUNCTION_ARGS) {
    FuncCallContext *calls;
    if (SRF_IS_FIRSTCALL()) {
        int32 count = PG_ARGISNULL(1) ? -1 : PG_GETARG_INT32(1);
        if (count < 0)
            ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("the number of ids must be 0 or more"));
        struct vpg_generator *generator = generator_to_issue(fcinfo, "vesta_next()");
        fcinfo->flinfo->fn_extra = NULL; /* vpg_generator_of left its cache where a set keeps its state */
        calls = SRF_FIRSTCALL_INIT();
        calls->max_calls = (uint64)count;
        calls->user_fctx = generator;
    }
    calls = SRF_PERCALL_SETUP();
    if (calls->call_cntr >= calls->max_calls) SRF_RETURN_DONE(calls);
    SRF_RETURN_NEXT(calls, Int64GetDatum(issue(calls->user_fctx)));
}
