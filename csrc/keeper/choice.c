/* choice.c -- passes the keeper's question, which worker id to claim, to the handle in this process that chooses worker
 * ids.  Passes the answer back.  The answer is only a proposal, because the store decides which claim gets the worker
 * id. */
#include "base/error.h"
#include "id/id.h"
#include "keeper/file.h"
#include "os/lock.h"
#include "os/process.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ANSWER_US 5000000 /* after this time, the records are too old to choose from */
#define LOOK_US 500000    /* poll interval, so that the keeper notices a stop even if a wake-up is lost */
_Static_assert(LOOK_US < VS_PULSE_US, "a keeper that waits for an answer still beats in time");

/* ------------------------------------------------------------------ the keeper's side */

void vs_question_ask(struct vs_file *file, const struct vs_term *term, struct vs_listing all) {
    const struct vs_lease *lease = &term->lease;
    struct vs_question *q = &file->question;
    struct vs_listing listing = vs_listing_up_to(all, vs_worker_max(&file->layout));
    assert(term->map == file->mapping.map);
    assert(lease->phase == VS_PH_CHOOSE || lease->phase == VS_PH_SWITCH);
    q->listing = listing;
    q->until_boot_us = term->clock->boot_us(term->clock->self) + ANSWER_US;
    vs_process_lock();
    assert(file->keeper_in == vs_process_token()); /* only the keeper asks, one question at a time */
    assert(!atomic_load(&q->open));
    q->listed = listing.listed;
    q->choice = (struct vesta_choice){
        .attempt = lease->attempt,
        .is_fixed = lease->has_worker,
        .was_lost = lease->was_lost,
        .lost = lease->lost_worker,
        .is_switch = lease->phase == VS_PH_SWITCH,
        .leaving = lease->worker,
        .last = vs_worker_max(&file->layout),
        .store_ms = listing.store_ms,
        .count = listing.count,
    };
    q->none = true;
    q->fixed = false;
    snprintf(q->reason, sizeof q->reason, "no worker id has been chosen yet");
    atomic_store(&q->open, 1);
    vs_process_unlock();
}

static bool is_awaited(struct vs_file *file, struct vs_term *term) {
    uint32_t want = atomic_load_explicit(&term->map->shared.want, memory_order_acquire);
    int64_t now_us = term->boot_us, until_us = file->question.until_boot_us;
    if (!atomic_load(&file->question.open) || now_us >= until_us || vs_file_is_to_stop(file) ||
        vs_map_must_rest(term->map))
        return false;
    vs_term_beat(term, 0);
    vs_file_waits(file, want, until_us - now_us < LOOK_US ? until_us : now_us + LOOK_US);
    return true;
}

bool vs_question_is_over(struct vs_file *file, struct vs_term *term, struct vs_event *ev) {
    struct vs_question *q = &file->question;
    if (is_awaited(file, term)) return false;
    vs_process_lock();
    atomic_store(&q->open, 0);
    q->listed = NULL;
    bool any = !q->none && q->worker == VESTA_ANY_WORKER;
    assert(q->none || any || q->worker <= vs_worker_max(&file->layout)); /* vesta_choose has checked the range */
    ev->found = !q->none;
    ev->worker = q->worker;
    ev->is_fixed = q->fixed;
    term->was_named = true;
    memcpy(ev->text, q->reason, sizeof ev->text);
    vs_process_unlock();
    if (any) vs_term_choose(term, q->listing, ev);
    return true;
}
_Static_assert(sizeof(struct vs_question){0}.reason == sizeof(struct vs_event){0}.text,
               "an event has room for every reason");

/* ------------------------------------------------------------------ the other side */

/* Returns true if this process's keeper is waiting for an answer.  Call with the process lock held. */
static bool choice_is_asked(const struct vs_file *file) {
    assert(vs_process_is_locked());
    return file && file->keeper_in == vs_process_token() && atomic_load(&file->question.open);
}

static void copy_record(const struct vs_shape *shape, const struct vs_listed *listed, int64_t store_ms,
                        struct vesta_record *out) {
    const struct vs_record *r = &listed->record;
    *out = (struct vesta_record){.worker = listed->worker,
                                 .epoch = r->epoch,
                                 .held = r->held,
                                 .expired = store_ms - r->written_ms > r->lease_ms,
                                 .until_ms = vs_tick_unix_us(shape, r->until) / 1000,
                                 .written_ms = r->written_ms,
                                 .seen_ms = r->seen_ms};
    snprintf(out->holder, sizeof out->holder, "%s", r->holder);
    snprintf(out->identity, sizeof out->identity, "%s", r->identity);
}

int vesta_get_choice(struct vesta_gen *gen, struct vesta_choice **out, struct vesta_error *err) {
    vs_process_lock();
    const struct vs_file *file = gen->handle->file;
    bool asked = choice_is_asked(file);
    const struct vs_question *q = asked ? &file->question : NULL;
    struct vesta_choice *choice = asked ? malloc(sizeof *choice + q->choice.count * sizeof *choice->record) : NULL;
    if (choice) {
        assert(q->listed || q->choice.count == 0);
        *choice = q->choice;
        choice->record = (struct vesta_record *)(choice + 1);
        for (size_t i = 0; i < choice->count; i++)
            copy_record(&gen->shape, &q->listed[i], choice->store_ms, &choice->record[i]);
    }
    vs_process_unlock();
    if (!asked) return vs_fail(err, VESTA_ENOTNOW, "the keeper is not asking for a worker id at the moment");
    if (!choice) return vs_fail(err, VESTA_ENOMEM, "no memory");
    *out = choice;
    return VESTA_OK;
}

void vesta_choice_free(struct vesta_choice *choice) {
    free(choice);
}

static int choice_answer(struct vesta_gen *gen, const struct vesta_pause *pause, uint64_t worker, bool fixed,
                         const char *reason) {
    vs_process_lock();
    struct vs_file *file = gen->handle->file;
    bool asked = pause->why == VESTA_CHOOSE && choice_is_asked(file);
    if (asked) {
        file->question.none = reason != NULL;
        file->question.worker = worker;
        file->question.fixed = fixed;
        snprintf(file->question.reason, sizeof file->question.reason, "%s", reason ? reason : "");
        atomic_store(&file->question.open, 0);
    }
    vs_process_unlock();
    if (asked) vs_keeper_want(atomic_load_explicit(&gen->map, memory_order_acquire));
    return asked ? VESTA_OK : VESTA_ENOTNOW;
}

int vesta_choose(struct vesta_gen *gen, const struct vesta_pause *pause, uint64_t worker) {
    if (worker > vs_worker_max(&gen->layout) && worker != VESTA_ANY_WORKER) return VESTA_EFIELD;
    return choice_answer(gen, pause, worker, false, NULL);
}

int vesta_choose_fixed(struct vesta_gen *gen, const struct vesta_pause *pause, uint64_t worker) {
    if (worker > vs_worker_max(&gen->layout)) return VESTA_EFIELD;
    return choice_answer(gen, pause, worker, true, NULL);
}

int vesta_choose_none(struct vesta_gen *gen, const struct vesta_pause *pause, const char *reason) {
    return choice_answer(gen, pause, 0, false, reason);
}
